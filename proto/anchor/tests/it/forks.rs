//! Several answers to one offer.

use crate::call::{Call, PHONE, at, version};
use anchor::{Change, Policy, Reason, Side};
use core::net::SocketAddr;

fn remote(call: &Call) -> Option<SocketAddr> {
    call.session.stream(0).and_then(|(stream, _)| stream.end(Side::B).remote)
}

fn phone(last: u8) -> String {
    at(&format!("192.0.2.{last}"), "m=audio 6000 RTP/AVP 8\n")
}

#[test]
fn the_streams_follow_the_last_word_until_one_fork_is_chosen() {
    let mut call = Call::new(Policy::default(), Policy::default());
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    let (one, changes) = call.try_answer(Side::B, 1, &phone(10)).expect("early media");
    assert_eq!(changes, [Change::Added(0)]);
    let (two, changes) = call.try_answer(Side::B, 2, &phone(20)).expect("another fork");
    assert_eq!(
        (changes, remote(&call)),
        (vec![Change::Changed(0)], "192.0.2.20:6000".parse().ok())
    );
    // A sees the same port from both.
    assert_eq!((one.clone(), version(&two)), (two, version(&one)));
    assert_eq!(call.settle(1), [Change::Changed(0)]);
    assert_eq!(remote(&call), "192.0.2.10:6000".parse().ok());
    let late = call.try_answer(Side::B, 2, &phone(20)).expect_err("it is over");
    assert_eq!(late.reason, Reason::Unasked);
    call.end();
}

#[test]
fn ports_that_one_fork_refused_stay_for_the_next_one() {
    let mut call = Call::new(Policy::default(), Policy::default());
    let lines = format!("{PHONE}m=video 5000 RTP/AVP 97\na=rtpmap:97 VP8/90000\n");
    call.offer(Side::A, &at("192.0.2.1", &lines));
    let without = at("192.0.2.10", "m=audio 6000 RTP/AVP 8\nm=video 0 RTP/AVP 97\n");
    let with = at("192.0.2.20", "m=audio 6000 RTP/AVP 8\nm=video 6002 RTP/AVP 97\n");
    call.try_answer(Side::B, 1, &without).expect("taken");
    assert_eq!(call.ports.taken.len(), 4);
    let (_, changes) = call.try_answer(Side::B, 2, &with).expect("taken");
    assert_eq!(changes, [Change::Changed(0), Change::Added(1)]);
    assert_eq!(call.settle(1), [Change::Changed(0), Change::Removed(1)]);
    assert_eq!(call.ports.taken.len(), 2);
    call.end();
}

#[test]
fn an_answer_may_lack_streams_that_it_refuses_but_have_none_more() {
    let mut call = Call::new(Policy::default(), Policy::default());
    let lines = format!("{PHONE}m=video 5000 RTP/AVP 97\na=rtpmap:97 VP8/90000\n");
    call.offer(Side::A, &at("192.0.2.1", &lines));
    let (heard, _) = call.answer(Side::B, &phone(9));
    assert!(heard.ends_with("m=video 0 RTP/AVP 97\r\n"), "{heard}");
    let more = at("192.0.2.9", &"m=audio 6000 RTP/AVP 8\n".repeat(3));
    let refusal = call.try_answer(Side::B, 0, &more).expect_err("three of two");
    assert_eq!(refusal.reason, Reason::Lines);
}
