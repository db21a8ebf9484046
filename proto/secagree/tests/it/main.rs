//! Security agreement: lists, choices, associations, and what is refused.
#![allow(missing_docs, reason = "a test program")]

mod agreement;
mod lists;
mod refusals;

use esp::Spi;
use secagree::{Alg, Ealg, Ipsec, List, Mode, Protocol};

/// What a phone says, as those of one maker do.
const PHONE: &str = "ipsec-3gpp;prot=esp;mod=trans;spi-c=2857;spi-s=2858;port-c=32001;\
    port-s=32002;alg=hmac-sha-1-96;ealg=aes-cbc, \
    ipsec-3gpp; prot=esp; mod=trans; spi-c=2857; spi-s=2858; port-c=32001; \
    port-s=32002; alg=hmac-md5-96; ealg=des-ede3-cbc,\
    ipsec-3gpp;spi-c=2857;spi-s=2858;port-c=32001;port-s=32002;alg=null;ealg=aes-gcm";

fn list(text: &str) -> List {
    List::read([text.as_bytes()]).expect("a list")
}

fn written(list: &List) -> String {
    let mut out = Vec::new();
    list.write(&mut out);
    String::from_utf8(out).expect("text")
}

/// What a network says of itself.
fn network() -> Ipsec {
    Ipsec {
        alg: Alg::Null,
        ealg: Ealg::Null,
        protocol: Protocol::Esp,
        mode: Mode::Transport,
        spi_c: Spi(70_000),
        spi_s: Spi(70_001),
        port_c: 5063,
        port_s: 5062,
    }
}
