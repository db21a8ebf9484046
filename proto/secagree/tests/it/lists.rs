//! Lists as they are written, by the standard and by phones.

use crate::{PHONE, list, written};
use secagree::{Alg, Ealg, LIST_MAX, List, Mode, Name, OCTETS_MAX, Protocol, Q};

#[test]
fn a_phones_list_is_read_whole() {
    let list = list(PHONE);
    let pairs: Vec<_> =
        list.0.iter().filter_map(|it| it.ipsec()).map(|it| (it.alg, it.ealg)).collect();
    assert_eq!(
        pairs,
        [
            (Alg::HmacSha1_96, Ealg::AesCbc),
            (Alg::HmacMd5_96, Ealg::DesEde3Cbc),
            (Alg::Null, Ealg::AesGcm),
        ]
    );
    for mechanism in &list.0 {
        let ipsec = mechanism.ipsec().expect("IPsec");
        assert_eq!((ipsec.spi_c.0, ipsec.spi_s.0), (2857, 2858));
        assert_eq!((ipsec.port_c, ipsec.port_s), (32_001, 32_002));
        assert_eq!((ipsec.mode, ipsec.protocol), (Mode::Transport, Protocol::Esp));
    }
    assert_eq!(crate::list(&written(&list)), list);
    // In several lines it is the same list.
    let lines: Vec<&[u8]> = PHONE.split(',').map(str::as_bytes).collect();
    assert_eq!(List::read(lines), Ok(list));
}

#[test]
fn the_lists_of_rfc_3329_are_read_and_written() {
    for (text, again) in [
        ("digest;q=0.1,tls;q=0.2", "digest;q=0.1, tls;q=0.2"),
        ("tls;q=0.2", "tls;q=0.2"),
        ("ipsec-ike;q=0.1, tls;q=0.2", "ipsec-ike;q=0.1, tls;q=0.2"),
        (
            "digest;d-alg=MD5;q=0.3;d-ver=\"0000000000000000000000000000a,c;\"",
            "digest;d-alg=MD5;d-ver=\"0000000000000000000000000000a,c;\";q=0.3",
        ),
        ("TLS , , Digest", "tls, digest"),
    ] {
        assert_eq!(written(&list(text)), again);
        assert!(list(text).is_same(&list(again)));
    }
    assert_eq!(list("tls;q=0.2").0[0].q, Q::thousandths(200));
}

#[test]
fn what_is_not_ours_is_kept_as_it_is() {
    let text = "ipsec-3gpp;alg=hmac-sha-9;ealg=aes-cbc;spi-c=1000;spi-s=1001;port-c=1;port-s=2";
    let unknown = list(text);
    assert!(matches!(unknown.0[0].name, Name::Other(_)));
    assert_eq!(written(&unknown), text);
    let more =
        "ipsec-3gpp;alg=hmac-sha-1-96;ealg=null;spi-c=1000;spi-s=1001;port-c=1;port-s=2;new=x";
    assert!(list(more).0[0].ipsec().is_some());
    assert_eq!(written(&list(more)), more);
    assert!(!list(more).is_same(&list(more.trim_end_matches(";new=x"))));
}

#[test]
fn order_and_spelling_do_not_make_lists_differ_and_everything_else_does() {
    let one = "ipsec-3gpp;q=0.5;alg=hmac-sha-1-96;spi-c=300;spi-s=301;port-c=1;port-s=2, tls;q=0.3";
    let other = "TLS;q=0.300, ipsec-3gpp;port-s=2;port-c=1;spi-s=301;spi-c=300;prot=ESP;\
        mod=trans;ealg=null;alg=HMAC-SHA-1-96;q=0.5";
    assert!(list(one).is_same(&list(other)));
    for (from, to) in [
        ("0.5", "0.6"),
        ("sha-1", "md5"),
        ("spi-c=300", "spi-c=302"),
        ("port-s=2", "port-s=3"),
        (", tls;q=0.3", ""),
    ] {
        assert!(!list(one).is_same(&list(&one.replace(from, to))), "{from}");
    }
}

#[test]
fn what_is_no_list_is_told_with_its_place() {
    let whole = "ipsec-3gpp;alg=null;spi-c=300;spi-s=301;port-c=1;port-s=2";
    for (text, at) in [
        (";q=1", 0),
        ("a b", 0),
        ("tls;q=2", 4),
        ("tls;q=0.5;q=0.5", 10),
        ("tls;=5", 4),
        ("a;b=\"c, tls", 2),
        ("a;b=\"c\\\"", 2),
        ("a;b=c\"", 2),
        ("tls, ipsec-3gpp", 4),
        (&whole.replace("alg=null;", ""), 0),
        (&whole.replace("spi-c=300", "spi-c=4294967296"), 20),
        (&whole.replace("spi-c=300", "spi-c=-1"), 20),
        (&whole.replace("spi-c=300", "spi-c=+300"), 20),
        (&whole.replace("spi-c=300", "spi-c="), 20),
        (&whole.replace("port-c=1", "port-c=65536"), 42 - 2),
    ] {
        let violation = List::read([text.as_bytes()]).expect_err(text);
        assert_eq!(violation.at, at, "{text}");
    }
    let many = vec!["tls"; LIST_MAX + 1].join(",");
    assert!(List::read([many.as_bytes()]).is_err());
    assert!(List::read([&[b','; 5_000][..]]).is_err());
}

#[test]
fn nothing_that_is_read_panics_and_what_is_read_is_written() {
    let mut state = 5u64;
    let mut random = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % limit
    };
    let mut read = 0;
    for _ in 0..30_000 {
        let mut text = PHONE.as_bytes().to_vec();
        for _ in 0..=random(4) {
            let (at, octet) = (random(text.len()), b";,=\" \\9a\xff"[random(9)]);
            match random(3) {
                0 => text[at] = octet,
                1 => drop(text.remove(at)),
                _ => text.insert(at, octet),
            }
        }
        let Ok(list) = List::read([&text[..]]) else { continue };
        let mut out = Vec::new();
        list.write(&mut out);
        let again = List::read([&out[..]]).expect("what is written is a list");
        assert!(again.is_same(&list), "{}", String::from_utf8_lossy(&text));
        read += 1;
    }
    assert!(read > 3_000, "{read}");
}

#[test]
fn a_list_as_long_as_may_be_is_read_again_as_it_is_written() {
    let first = "ipsec-3gpp;alg=hmac-sha-1-96;spi-c=1;spi-s=2;port-c=3;port-s=4";
    let others = (1..LIST_MAX).map(|number| format!("x{number};y={}", "z".repeat(122)));
    let mut text = [first.to_owned()].into_iter().chain(others).collect::<Vec<_>>().join(",");
    text += &"z".repeat(OCTETS_MAX - text.len());
    let list = List::read([text.as_bytes()]).expect("it is as long as may be");
    let mut written = Vec::new();
    list.write(&mut written);
    assert!(written.len() > OCTETS_MAX, "{}", written.len());
    assert!(List::read([written.as_slice()]).is_err(), "from a phone it is too long");
    assert_eq!(List::read_written(&written), Ok(list));
}
