//! What is refused, and with what.

use crate::{PHONE, list, network};
use secagree::rules::{Asked, Refused, protected, unprotected, without_tag};
use secagree::{Kept, List, Mode, Preference};

const RIGHT: Asked = Asked { require: true, proxy_require: true, supported: false, vias: 1 };

#[test]
fn what_comes_unprotected_is_refused_with_its_section() {
    let own = Preference::usual();
    let client = list(PHONE);
    let none = List::default();
    let is = |asked, client: &List| unprotected(asked, client, &own).err();
    assert_eq!(is(RIGHT, &client), None);
    assert_eq!(is(Asked { require: false, ..RIGHT }, &client), None);
    let nothing = Asked { vias: 1, ..Asked::default() };
    for (asked, client, why, status) in [
        (nothing, &client, Refused::NotAsked, 421),
        (Asked { supported: true, ..nothing }, &client, Refused::NotAgreed, 494),
        (Asked { vias: 2, ..RIGHT }, &client, Refused::NotFirstHop, 502),
        (RIGHT, &none, Refused::NoClient, 494),
        (RIGHT, &list("tls, digest"), Refused::NothingInCommon, 494),
    ] {
        assert_eq!(is(asked, client), Some(why));
        assert_eq!(why.status(), status);
        assert_eq!((why.has_require(), why.has_server()), (status == 421, status == 494));
    }
    let shown = Refused::NotAsked.to_string();
    assert_eq!(shown, "the request does not ask for a security agreement (RFC 3329 §2.3.1)");
}

#[test]
fn lists_that_have_changed_on_the_way_are_refused() {
    let server = Preference::usual().list(&network(), Mode::Transport);
    let client = list(PHONE);
    let less = List(client.0[1..].to_vec());
    let other = List(server.0[..1].to_vec());
    let none = List::default();
    let is = |asked, client: &List, verify: &List, is_register| {
        let agreed = [&list(PHONE), &server].map(Kept::of);
        protected(asked, (client, Some(verify)), (&agreed[0], &agreed[1]), is_register).err()
    };
    assert_eq!(is(RIGHT, &client, &server, true), None);
    assert_eq!(is(RIGHT, &none, &server, false), None, "an INVITE has no Security-Client");
    assert_eq!(is(RIGHT, &client, &none, true), Some(Refused::NoVerify));
    assert_eq!(is(RIGHT, &client, &other, true), Some(Refused::OtherVerify));
    assert_eq!(is(RIGHT, &none, &server, true), Some(Refused::NoClient));
    assert_eq!(is(RIGHT, &less, &server, true), Some(Refused::OtherClient));
    assert_eq!(is(Asked { vias: 3, ..RIGHT }, &client, &server, true), Some(Refused::NotFirstHop));
    assert_eq!(is(Asked::default(), &client, &server, false), Some(Refused::NotAsked));
}

#[test]
fn the_option_tag_ends_at_the_proxy_that_agreed() {
    for (value, left) in [
        ("sec-agree", ""),
        ("Sec-Agree, path", "path"),
        ("path , sec-agree,gruu", "path, gruu"),
        (" ,", ""),
        ("sec-agree2", "sec-agree2"),
    ] {
        let mut out = Vec::new();
        assert_eq!(without_tag(value.as_bytes(), &mut out), !left.is_empty());
        assert_eq!(out, left.as_bytes());
    }
}
