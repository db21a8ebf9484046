//! Hold, and who sends.

use crate::call::{Call, PHONE, Ports, at};
use anchor::{Change, Fork, Heard, Policy, Reason, Side};

fn standing() -> Call {
    let mut call = Call::new(Policy::default(), Policy::default());
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    call.settle(0);
    call
}

fn passes(call: &Call) -> (bool, bool) {
    let (stream, _) = call.session.stream(0).expect("it stands");
    (stream.passes(Side::A), stream.passes(Side::B))
}

#[test]
fn hold_by_direction_and_back() {
    let mut call = standing();
    assert_eq!(passes(&call), (true, true));
    let told = call.offer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\na=sendonly\n"));
    assert!(told.contains("a=sendonly\r\n"));
    assert_eq!(passes(&call), (true, true), "not before the answer");
    let (heard, changes) =
        call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\na=recvonly\n"));
    assert!(heard.contains("a=recvonly\r\n"));
    assert_eq!((changes, passes(&call)), (vec![Change::Changed(0)], (true, false)));
    call.offer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\n"));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert_eq!(passes(&call), (true, true));
}

#[test]
fn hold_by_the_null_address() {
    let mut call = standing();
    let told = call.offer(Side::B, &at("0.0.0.0", "m=audio 6000 RTP/AVP 8\n"));
    assert!(told.contains("c=IN IP4 0.0.0.0\r\n"), "{told}");
    call.answer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\n"));
    assert_eq!(passes(&call), (false, true));
}

#[test]
fn an_answer_gives_no_more_than_was_offered() {
    let mut call = standing();
    call.offer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\na=sendonly\n"));
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert!(heard.contains("a=recvonly\r\n"), "{heard}");
    assert_eq!(passes(&call), (true, false));
}

#[test]
fn an_offer_that_is_withdrawn_leaves_what_was_agreed() {
    let mut call = standing();
    let before = format!("{:?}", call.session.stream(0));
    let ports = call.ports.taken.clone();
    let lines =
        "m=audio 4000 RTP/AVP 8\na=inactive\nm=video 5000 RTP/AVP 97\na=rtpmap:97 VP8/90000\n";
    call.offer(Side::B, &at("192.0.2.9", lines));
    assert_ne!(call.ports.taken, ports);
    call.reject();
    assert_eq!(format!("{:?}", call.session.stream(0)), before);
    assert_eq!(call.ports.taken, ports);
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    call.end();
}

#[test]
fn a_late_offer_comes_from_b() {
    let mut call = Call::new(Policy::default(), Policy::default());
    let told = call.offer(Side::B, &at("192.0.2.9", PHONE));
    assert!(told.contains("c=IN IP4 198.51.100.1\r\n"), "{told}");
    let (heard, _) = call.answer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 0\n"));
    assert!(heard.contains("c=IN IP4 203.0.113.1\r\n"), "{heard}");
    call.settle(0);
    assert_eq!(passes(&call), (true, true));
    call.end();
}

#[test]
fn a_plain_call_moves_to_another_media_controller_at_once() {
    let mut call = standing();
    let mut others = Ports::new(8);
    others.skip();
    let changes = call.session.relocate(&mut others).expect("there is room");
    assert_eq!((changes, passes(&call)), (vec![Change::Changed(0)], (true, true)));
    call.ports = others;
    let (stream, _) = call.session.stream(0).expect("it stands");
    assert_eq!(stream.end(Side::B).local.port, 20_002);
    let told = call.offer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert!(told.contains("m=audio 20002 "), "{told}");
    call.answer(Side::A, &at("192.0.2.1", PHONE));
    call.end();
}

#[test]
fn whoever_signals_is_told_and_anyone_only_where_the_policy_says_so() {
    let open = Policy { latching_anywhere: true, ..Policy::default() };
    let mut call = Call::new(Policy::default(), open);
    let hosts = ["203.0.113.7", "2001:db8::7"].map(|ip| Some(ip.parse().expect("an address")));
    let said = |from: Side, text| Heard {
        signaller: hosts[from.index()],
        fork: Fork(1),
        ..Heard::new(from, text)
    };
    let (offer, text) = (at("192.0.2.1", PHONE), at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    let offer = said(Side::A, offer.as_bytes());
    call.with(|session, means| session.offer(offer, means, &mut Vec::new())).expect("taken");
    call.take_over();
    let answer = said(Side::B, text.as_bytes());
    call.with(|session, means| session.answer(answer, means, &mut Vec::new())).expect("taken");
    // Another fork speaks last, of a host that is not known; the first one is chosen.
    call.try_answer(Side::B, 2, &text).expect("taken");
    call.take_over();
    call.settle(1);
    let (stream, _) = call.session.stream(0).expect("it stands");
    let said = stream.ends.each_ref().map(|end| (end.signaller, end.latching_anywhere));
    assert_eq!(said, [(hosts[0], false), (hosts[1], true)]);
    call.take_over();
    assert_eq!(call.session.stream(0).map(|it| it.0.ends[1].signaller), Some(hosts[1]));
}

#[test]
fn what_cannot_be_sent_to_from_a_port_is_refused_in_offers_and_in_each_answer() {
    let audio = "m=audio 6000 RTP/AVP 8\n";
    let far = ["127.0.0.1", "169.254.1.1", "2001:db8::9", "::1", "fe80::1"];
    let wanted = [Reason::Place, Reason::Place, Reason::Family, Reason::Family, Reason::Family];
    for (address, reason) in far.into_iter().zip(wanted) {
        let mut call = Call::new(Policy::default(), Policy::default());
        call.offer(Side::A, &at("192.0.2.1", PHONE));
        for fork in [1, 2] {
            let refused = call.try_answer(Side::B, fork, &at(address, audio)).expect_err(address);
            assert_eq!((refused.reason, refused.status()), (reason, 488), "{address}");
        }
        call.answer(Side::B, &at("192.0.2.9", audio));
        call.end();
    }
    for address in ["127.0.0.1", "169.254.1.1", "::1", "fe80::1", "::ffff:127.0.0.1"] {
        let mut call = Call::new(Policy::default(), Policy::default());
        let refused = call.try_offer(Side::A, &at(address, PHONE)).expect_err(address);
        assert_eq!(refused.reason, Reason::Place, "{address}");
        call.end();
    }
    let mut call = standing();
    let own = call.session.stream(0).expect("it stands").0.ends[1].local.port;
    let lines = format!("m=audio {own} RTP/AVP 8\n");
    let refused = call.try_offer(Side::A, &at("203.0.113.1", &lines)).expect_err("its own port");
    assert_eq!(refused.reason, Reason::Place);
    let moved = call.try_offer(Side::A, &at("2001:db8::1", PHONE)).expect_err("another family");
    assert_eq!(moved.reason, Reason::Family);
    assert_eq!(passes(&call), (true, true), "nothing has changed");
}
