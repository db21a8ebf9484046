//! Dialogues of TCAP whose messages somebody has written who wants to disturb or to harm.

use crate::bench::{Bench, Leg, SSC, UA};
use crate::dialogues::{
    ANSWERED, ANSWERS, ASKED, ASKS, End, Envelope, HLR, RELAY, SMSC, STP_WEST, begin, m3ua, result,
    tcap,
};
use sas::config::Sas;
use sas::trail::{Kind, Outcome};
use tcap::codec::{Code, PAbortCause, TransactionId, Writer};

fn asked() -> TransactionId {
    TransactionId::of(ASKED)
}

fn answered() -> TransactionId {
    TransactionId::of(ANSWERED)
}

fn envelope() -> Envelope {
    Envelope::from(ANSWERS.point_code, RELAY)
}

#[test]
fn who_speaks_alone_keeps_no_trail_for_hours() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let more = tcap(Writer::go_on(answered(), asked()), |_| ());
    bench.there(&more);
    bench.wait_ms(201_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    // Both have spoken.
    bench.there(&begin());
    bench.back(&more);
    bench.wait_ms(201_000);
    assert_eq!(bench.metric("sas_trails_live"), 1);
}

#[test]
fn dialogues_make_room_for_each_other_and_take_none_of_calls() {
    let directory = tempfile::tempdir().unwrap();
    let config = Sas { live_max: 1_000, ..Sas::default() };
    let now = machine::Time::from_millis(1_800_000_000_000);
    let mut bench = Bench::with(directory.path(), config, now);
    for n in 0..500 {
        let leg = Leg::new("alice", "bob", &format!("call-{n}"));
        bench.protocol = hep::UDP;
        bench.sip(UA, SSC, &leg.request("INVITE", 1), "");
    }
    for n in 0..700 {
        let data = tcap(Writer::begin(TransactionId::of(n)), |_| ());
        bench.m3ua(SMSC, STP_WEST, &m3ua(ASKS, ANSWERS, envelope(), &data));
    }
    assert_eq!(bench.metric("sas_trails_live"), 1_000);
    assert_eq!(bench.metric("sas_trails_evicted_total"), 200);
    bench.protocol = hep::UDP;
    for n in 0..500 {
        let leg = Leg::new("alice", "bob", &format!("call-{n}"));
        bench.sip(SSC, UA, &leg.response(200, 1, "INVITE"), "");
    }
    assert_eq!(bench.metric("sas_trails_opened_total"), 1_200, "every call is still known");
}

#[test]
fn a_call_that_is_called_like_a_transaction_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.there(&begin());
    let leg = Leg::new("alice", "bob", "0a000001@447800000001");
    bench.protocol = hep::UDP;
    bench.sip(UA, SSC, &leg.request("OPTIONS", 1), "");
    bench.back(&result());
    let trail = bench.only(&[("kind", "dialogue")]);
    assert_eq!((trail.kind, trail.outcome), (Kind::Dialogue, Outcome::Ok));
    assert_eq!(trail.places.len(), 4);
    bench.only(&[("kind", "options")]);
}

#[test]
fn a_stranger_ends_no_dialogue() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let stranger = End { title: Some("999000000001"), ..ANSWERS };
    bench.there(&begin());
    bench.back(&tcap(Writer::go_on(answered(), asked()), |_| ()));
    let of_stranger = [
        tcap(Writer::go_on(TransactionId::of(7), asked()), |out| {
            out.error(1, Code::Local(1), None);
        }),
        tcap(Writer::p_abort(asked(), PAbortCause::ResourceLimitation), |_| ()),
    ];
    for data in of_stranger {
        bench.m3ua(HLR, STP_WEST, &m3ua(stranger, ASKS, envelope(), &data));
        let trail = bench.only(&[("kind", "dialogue")]);
        assert_eq!((trail.outcome, trail.ended_us), (Outcome::InProgress, 0));
    }
    bench.wait_ms(5_000);
    bench.back(&result());
    let trail = bench.only(&[("kind", "dialogue")]);
    assert_eq!((trail.outcome, trail.places.len()), (Outcome::Ok, 8));
}

#[test]
fn what_goes_on_behind_an_end_is_kept_as_a_trail_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.there(&begin());
    // Nobody has answered: it may be anybody's.
    let stranger = End { title: Some("999000000001"), ..ANSWERS };
    let abort = tcap(Writer::p_abort(asked(), PAbortCause::ResourceLimitation), |_| ());
    bench.m3ua(HLR, STP_WEST, &m3ua(stranger, ASKS, envelope(), &abort));
    bench.wait_ms(5_000);
    bench.back(&tcap(Writer::go_on(answered(), asked()), |_| ()));
    assert_eq!(bench.search(&[("kind", "dialogue")]).trails.len(), 2);
    assert_eq!(bench.metric("sas_late_messages_total"), 0);
}
