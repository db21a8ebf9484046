//! Dialogues of partitions that nodes share: what one tells, another one goes on with.

use machine::{Duration, Time};
use sccp::codec::Address;
use tcap::codec::{Code, Message, MessageType, TransactionId, Writer};
use tcap::{
    Begin, DialogueId, OperationClass, Out, PARTITIONS, Report, Say, Settings, Transactions,
};

const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];
const INVOKE: Say<'static> = Say::Invoke {
    id: 1,
    linked_id: None,
    class: OperationClass::One,
    time: Duration::from_secs(10),
    code: Code::Local(45),
    parameter: None,
};

fn node(dialogues_max: u32) -> Transactions {
    let settings = Settings {
        shard: 0,
        secret: 7,
        dialogues_max,
        dialogues_per_source_max: 100,
        sources_elsewhere: false,
        idle: Duration::from_secs(60),
    };
    Transactions::shared(settings, Time::ZERO)
}

fn begin(of: &mut Transactions, now: Time) -> (DialogueId, TransactionId) {
    let (called, calling) = (Address::subsystem(None, 8), Address::subsystem(None, 6));
    let begin = Begin { called, calling, context: Some(CONTEXT), user_information: &[] };
    let mut out = Vec::new();
    let id = of.begin(now, &begin, &[INVOKE], &mut out).unwrap();
    let [Out::Unitdata(it)] = &out[..] else { panic!("{out:?}") };
    (id, Message::read(&it.data).unwrap().otid.unwrap())
}

/// What is told: partition, slot, and the fields of what stands.
fn changes(of: &mut Transactions, now: Time, all: bool) -> Vec<(u8, u32, Option<Vec<u8>>)> {
    let mut told = Vec::new();
    of.changes(now, all, &mut |partition, it| match it {
        Report::Stands(_, slot, octets) => told.push((partition, slot, Some(octets.to_vec()))),
        Report::Gone(slot) => told.push((partition, slot, None)),
    });
    told
}

#[test]
fn a_dialogue_is_told_from_its_beginning_where_all_are_and_when_it_is_over() {
    let mut one = node(100);
    one.serve(0, 2);
    let (id, _) = begin(&mut one, Time::ZERO);
    let told = changes(&mut one, Time::ZERO, true);
    let [(0, slot, Some(_))] = told[..] else { panic!("{told:?}") };
    one.abort(id, tcap::Close::User(&[]), &mut Vec::new()).unwrap();
    assert_eq!(changes(&mut one, Time::ZERO, true), [(0, slot, None)]);
    // Of one that was never told there is nothing to say.
    let (id, _) = begin(&mut one, Time::ZERO);
    one.abort(id, tcap::Close::User(&[]), &mut Vec::new()).unwrap();
    assert!(changes(&mut one, Time::ZERO, false).is_empty());
}

#[test]
fn a_partition_that_is_left_is_forgotten_and_no_dialogue_begins_without_one() {
    let mut one = node(100);
    one.serve(1, 0);
    one.serve(2, 0);
    let (called, calling) = (Address::subsystem(None, 8), Address::subsystem(None, 6));
    (0..10).for_each(|_| _ = begin(&mut one, Time::ZERO));
    assert_eq!((one.len_of(1), one.len_of(2), one.len()), (5, 5, 10), "they are shared out");
    assert_eq!((one.owner(1), one.owner(3)), (Some(0), None));
    assert_eq!(one.leave(1), 5);
    assert_eq!((one.len_of(1), one.len()), (0, 5));
    assert_eq!(one.leave(2), 5);
    let begin = Begin { called, calling, context: None, user_information: &[] };
    let refused = one.begin(Time::ZERO, &begin, &[], &mut Vec::new());
    assert_eq!(refused, Err(tcap::Refused::Full));
}

#[test]
fn what_stands_is_told_in_pieces() {
    let mut one = node(100);
    one.serve(5, 0);
    (0..7).for_each(|_| _ = begin(&mut one, Time::ZERO));
    let (mut from, mut pieces, mut slots) = (Some(0), 0, Vec::new());
    while let Some(at) = from {
        let mut left = 3;
        from = one.standing(Time::ZERO, 5, at, true, &mut |it| {
            let Report::Stands(_, slot, _) = it else { return true };
            left -= 1;
            if left < 0 {
                return false;
            }
            slots.push(slot);
            true
        });
        pieces += 1;
    }
    assert_eq!(pieces, 3);
    let all = slots.len();
    slots.dedup();
    assert_eq!((all, slots.len()), (7, 7));
}

#[test]
fn records_that_lack_something_or_have_no_place_are_refused() {
    let mut one = node(100);
    for (partition, slot, fields) in [(PARTITIONS, 0, &[][..]), (0, 1 << 18, &[]), (0, 0, &[])] {
        assert!(one.restore(Time::ZERO, partition, slot, fields).is_err());
    }
    assert!(one.is_empty());
    let mut message = Vec::new();
    Writer::begin(TransactionId::of(1)).write(&mut message, |_| ());
    let read = Message::read(&message).unwrap();
    assert_eq!((read.kind, Transactions::partition_of(&read)), (MessageType::Begin, None));
}
