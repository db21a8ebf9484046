//! Protection.

use crate::call::{Call, PHONE, Ports, at, streams};
use anchor::{Change, Guard, Policy, Protection, Reason, Side, Srtp};
use srtp::dtls::Role;
use srtp::{Suite, sdes};

const KEY: &str = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";

fn policy(protection: Protection) -> Policy {
    Policy { srtp: Srtp { protection, ..Srtp::default() }, ..Policy::default() }
}

fn secured(profile: &str, suites: &[&str]) -> String {
    let lines: String = (1..)
        .zip(suites)
        .map(|(tag, suite)| format!("a=crypto:{tag} {suite} inline:{KEY}\n"))
        .collect();
    format!("m=audio 4000 {profile} 8\n{lines}")
}

const SHA1_80: &str = "AES_CM_128_HMAC_SHA1_80";
const SHA1_32: &str = "AES_CM_128_HMAC_SHA1_32";

fn guard(call: &Call, side: Side) -> &Guard {
    &call.session.stream(0).expect("it stands").0.end(side).guard
}

#[test]
fn srtp_on_one_side_is_rtp_on_the_other() {
    let mut call = Call::new(policy(Protection::Required), policy(Protection::Off));
    let told = call
        .offer(Side::A, &at("192.0.2.1", &secured("RTP/SAVP", &["F8_128_HMAC_SHA1_80", SHA1_32])));
    assert!(told.contains("RTP/AVP 8\r\n") && !told.contains("crypto"), "{told}");
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert!(heard.contains("RTP/SAVP 8\r\n"));
    assert!(heard.contains(&format!("a=crypto:2 {SHA1_32} inline:")), "{heard}");
    assert!(!heard.contains(KEY));
    let Guard::Keys { receive, send } = guard(&call, Side::A) else { panic!("keys") };
    assert_eq!(
        (receive.suite, send.suite, send.tag),
        (Suite::AesCm128HmacSha1_32, Suite::AesCm128HmacSha1_32, 2)
    );
    assert_ne!(receive.keys, send.keys);
    assert_eq!(guard(&call, Side::B), &Guard::None);
    call.end();
}

#[test]
fn keys_stay_the_same_through_hold_and_re_offers_of_either_side() {
    let mut call = Call::new(policy(Protection::Off), policy(Protection::Required));
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert_eq!(streams(&told).matches("a=crypto:").count(), 2, "{told}");
    call.answer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    call.settle(0);
    let before = guard(&call, Side::B).clone();
    call.offer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\na=sendonly\n"));
    call.answer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    assert_eq!(guard(&call, Side::B), &before);
    call.offer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    call.answer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\n"));
    assert_eq!(guard(&call, Side::B), &before);
    call.end();
}

#[test]
fn opportunistic_keys_stand_in_a_plain_profile() {
    let open = Policy {
        srtp: Srtp { protection: Protection::Optional, opportunistic: true, ..Srtp::default() },
        ..Policy::default()
    };
    let mut call = Call::new(policy(Protection::Off), open);
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert!(told.contains(" RTP/AVP 0 8 101\r\n") && told.contains("a=crypto:1 "), "{told}");
    call.answer(Side::B, &at("192.0.2.9", &secured("RTP/AVP", &[SHA1_80])));
    assert!(matches!(guard(&call, Side::B), Guard::Keys { .. }));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 4000 RTP/AVP 8\n"));
    assert_eq!(guard(&call, Side::B), &Guard::None);
    call.end();
}

#[test]
fn what_is_not_protected_as_it_must_be_is_refused() {
    let table = [
        (Protection::Off, secured("RTP/SAVP", &[SHA1_80]), Some(Reason::Protected)),
        (Protection::Required, secured("RTP/AVP", &[]), Some(Reason::Unprotected)),
        (Protection::Required, secured("RTP/SAVP", &["AES_CM_128_NULL_AUTH"]), Some(Reason::Keys)),
        (Protection::Optional, secured("RTP/SAVP", &[]), Some(Reason::Keys)),
        (Protection::Optional, secured("RTP/AVP", &[]), None),
        (Protection::Required, secured("RTP/AVP", &[SHA1_80]), None),
    ];
    for (protection, lines, reason) in table {
        let mut call = Call::new(policy(protection), policy(Protection::Off));
        let offered = call.try_offer(Side::A, &at("192.0.2.1", &lines));
        assert_eq!(offered.as_ref().err().map(|it| it.reason), reason, "{lines}");
    }
    let mut call = Call::new(policy(Protection::Off), policy(Protection::Required));
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    for lines in [
        secured("RTP/AVP", &[]),
        secured("RTP/SAVP", &[]),
        secured("RTP/SAVP", &[SHA1_32]),
        secured("RTP/SAVP", &[SHA1_80]).replace("crypto:1", "crypto:7"),
    ] {
        let refused = call.try_answer(Side::B, 0, &at("192.0.2.9", &lines)).expect_err(&lines);
        let is_plain = lines.contains("RTP/AVP");
        let reason = if is_plain { Reason::UnprotectedAnswer } else { Reason::Keys };
        assert_eq!(refused.reason, reason, "{lines}");
    }
    call.reject();
    call.end();
}

#[test]
fn keys_pass_from_end_to_end_if_both_sides_want_it() {
    let mut call = Call::new(policy(Protection::EndToEnd), policy(Protection::EndToEnd));
    let told = call.offer(Side::A, &at("192.0.2.1", &secured("RTP/SAVP", &[SHA1_80])));
    assert!(told.contains(KEY) && told.contains("RTP/SAVP 8"), "{told}");
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    assert!(heard.contains(KEY));
    assert_eq!(guard(&call, Side::A), &Guard::None);
    call.end();
}

#[test]
fn dtls_is_offered_as_actpass_and_the_role_stays() {
    let dtls = Policy {
        srtp: Srtp {
            protection: Protection::Required,
            sdes: sdes::Policy::of(vec![]),
            dtls: true,
            ..Srtp::default()
        },
        ..Policy::default()
    };
    let print = format!("sha-256 {}", vec!["11"; 32].join(":"));
    let lines = |setup: &str| {
        format!("m=audio 4000 UDP/TLS/RTP/SAVP 8\na=setup:{setup}\na=fingerprint:{print}\n")
    };
    let mut call = Call::new(policy(Protection::Off), dtls);
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert!(told.contains("UDP/TLS/RTP/SAVP 0 8 101\r\n") && told.contains("a=setup:actpass\r\n"));
    call.answer(Side::B, &at("192.0.2.9", &lines("passive")));
    call.settle(0);
    assert!(matches!(guard(&call, Side::B), Guard::Dtls { role: Role::Client, .. }));
    call.offer(Side::B, &at("192.0.2.9", &lines("actpass")));
    let (heard, _) = call.answer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\n"));
    assert!(heard.contains("a=setup:active\r\n"), "{heard}");
    call.end();
}

#[test]
fn a_call_that_moves_to_another_media_controller_gets_new_ports_and_new_keys() {
    let mut call = Call::new(policy(Protection::Off), policy(Protection::Required));
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    call.answer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    call.settle(0);
    let before = guard(&call, Side::B).clone();
    let mut others = Ports::new(8);
    others.skip();
    let changes = call.session.relocate(&mut others).expect("there is room");
    assert_eq!(changes, [Change::Removed(0)]);
    call.ports = others;
    let again = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert!(again.contains("m=audio 20002 ") && told.contains("m=audio 20000 "), "{again}");
    call.answer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    let (Guard::Keys { send: old, .. }, Guard::Keys { send: new, .. }) =
        (&before, guard(&call, Side::B))
    else {
        panic!("keys")
    };
    assert_ne!(old.keys, new.keys);
    call.end();
    let mut call = Call::new(Policy::default(), Policy::default());
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    let mut full = Ports::new(1);
    full.skip();
    let refused = call.session.relocate(&mut full).expect_err("there is no room");
    assert_eq!((refused.reason, full.taken.len()), (Reason::Room, 0));
    call.end();
}

#[test]
fn a_side_that_has_keys_keeps_them_when_the_other_side_offers_without() {
    let mut call = Call::new(policy(Protection::Optional), policy(Protection::Off));
    call.offer(Side::A, &at("192.0.2.1", &secured("RTP/SAVP", &[SHA1_80])));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    call.settle(0);
    let before = guard(&call, Side::A).clone();
    let told = call.offer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert!(told.contains("RTP/SAVP 8\r\n") && told.contains("a=crypto:1 "), "{told}");
    call.answer(Side::A, &at("192.0.2.1", &secured("RTP/SAVP", &[SHA1_80])));
    assert_eq!(guard(&call, Side::A), &before);
}

#[test]
fn a_media_controller_that_begins_anew_never_gets_a_key_again() {
    let mut call = Call::new(policy(Protection::Off), policy(Protection::Required));
    let one = call.offer(Side::A, &at("192.0.2.1", PHONE));
    // Nobody was told of the keys yet: they can stay.
    assert_eq!(call.session.renew_keys(), []);
    call.answer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    let before = guard(&call, Side::B).clone();
    assert_eq!(call.session.renew_keys(), [Change::Removed(0)]);
    assert!(call.session.stream(0).is_none());
    assert_eq!(call.session.renew_keys(), []);
    // What was offered cannot be answered: it has the key.
    let refused = call.try_answer(Side::B, 0, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    assert_eq!(refused.expect_err("it is over").reason, Reason::Unasked);
    call.settle(0);
    let two = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert_eq!(streams(&one).split(' ').nth(1), streams(&two).split(' ').nth(1), "its port stays");
    call.answer(Side::B, &at("192.0.2.9", &secured("RTP/SAVP", &[SHA1_80])));
    call.settle(0);
    let (Guard::Keys { send: old, .. }, Guard::Keys { send: new, .. }) =
        (&before, guard(&call, Side::B))
    else {
        panic!("keys")
    };
    assert_ne!(old.keys, new.keys);
    call.end();
    // Streams without keys stand on.
    let mut call = Call::new(Policy::default(), Policy::default());
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert_eq!(call.session.renew_keys(), []);
    assert!(call.session.stream(0).is_some());
    call.settle(0);
    call.end();
}

/// Whether a secret is in a text, as letters or as a list of octets.
fn shows(text: &str, secret: &str) -> bool {
    let octets = format!("{:?}", &secret.as_bytes()[..8]);
    text.contains(&secret[..8]) || text.contains(octets.trim_matches(['[', ']']))
}

#[test]
fn no_key_and_no_password_is_shown() {
    let open = Policy { ice: anchor::Ice::Offer, ..policy(Protection::Required) };
    let mut call = Call::new(open.clone(), open);
    let password = "asecretpasswordof22chr";
    let lines =
        format!("{}a=ice-ufrag:abcd\na=ice-pwd:{password}\n", secured("RTP/SAVP", &[SHA1_80]));
    let offer = at("192.0.2.1", &lines);
    let told = call.offer(Side::A, &offer);
    let own = told
        .lines()
        .filter_map(|line| line.split_once("inline:").or_else(|| line.split_once("ice-pwd:")));
    let secrets: Vec<_> =
        own.map(|it| it.1.to_owned()).chain([KEY.into(), password.into()]).collect();
    assert!(secrets.len() > 3, "{told}");
    let shown = |call: &Call| {
        format!(
            "{:?}{:#?}{:?}",
            call.session,
            call.session,
            anchor::Heard::new(Side::A, offer.as_bytes())
        )
    };
    let offered = shown(&call);
    call.answer(Side::B, &at("192.0.2.9", &lines));
    for text in [offered, shown(&call)] {
        for secret in &secrets {
            assert!(!shows(&text, secret), "{secret}");
        }
    }
    call.end();
}
