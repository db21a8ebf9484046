//! Numbers and addresses as text.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};

/// Digits of the largest 64-bit number.
const DECIMAL_DIGITS_MAX: usize = 20;

/// Appends a decimal number.
#[inline]
pub fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; DECIMAL_DIGITS_MAX];
    let mut at = DECIMAL_DIGITS_MAX;
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// An address and its port, as a URI has them. An IPv4 address costs a tenth of what formatting
/// takes.
pub(crate) fn host_port(out: &mut Vec<u8>, to: SocketAddr) {
    if to.is_ipv6() {
        return write!(out, "{to}").expect("writing to memory does not fail");
    }
    put_ip(out, to.ip());
    out.push(b':');
    decimal(out, to.port().into());
}

/// An IP address as text, without brackets.
pub(crate) fn put_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            for (at, octet) in ip.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                decimal(out, octet.into());
            }
        }
        IpAddr::V6(ip) => write!(out, "{ip}").expect("writing to memory does not fail"),
    }
}
