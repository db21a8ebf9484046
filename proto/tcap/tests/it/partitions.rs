//! Dialogues of partitions that nodes share: what one tells, another one goes on with.

use bytes::Bytes;
use machine::{Duration, Machine, Time};
use sccp::Unitdata;
use sccp::codec::{Address, Class};
use std::collections::BTreeSet;
use tcap::codec::{Code, Message, MessageType, TransactionId, Writer};
use tcap::{
    Begin, DialogueId, In, Indication, OperationClass, Out, PARTITIONS, Report, Say, Settings,
    Transactions,
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

/// The peer goes on, with its transaction 9. Its first message says that it takes the context.
fn go_on(to: TransactionId, is_first: bool) -> Unitdata {
    let mut message = Vec::new();
    let writer = Writer::go_on(TransactionId::of(9), to);
    let writer = if is_first { writer.accept(CONTEXT, &[]) } else { writer };
    writer.write(&mut message, |out| out.invoke(5, None, Code::Local(45), None));
    Unitdata {
        called: Address::subsystem(None, 6),
        calling: Address::subsystem(None, 8),
        class: Class { is_sequenced: false, returns: false },
        sls: 0,
        importance: None,
        data: Bytes::from(message),
    }
}

fn hear(of: &mut Transactions, now: Time, unitdata: Unitdata) -> Vec<Out> {
    let mut out = Vec::new();
    of.step(now, In::Unitdata(unitdata), &mut out);
    out
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
fn a_dialogue_that_stands_goes_on_at_another_node_and_its_timers_run_on() {
    let (mut one, mut two) = (node(100), node(100));
    let at = |seconds: u64| Time::from_millis(seconds * 1_000);
    one.serve(3, 0, 11);
    let (id, here) = begin(&mut one, at(0));
    assert!(changes(&mut one, at(0), false).is_empty(), "what only began costs nothing");
    hear(&mut one, at(1), go_on(here, true));
    let told = changes(&mut one, at(1), false);
    let [(3, slot, Some(fields))] = &told[..] else { panic!("{told:?}") };
    assert!(changes(&mut one, at(1), false).is_empty(), "nothing has changed since");
    assert!(fields.len() < 250, "{} octets", fields.len());

    one.owners(3).into_iter().for_each(|(owner, secret)| two.own(3, owner, secret));
    let restored = two.restore(at(1), 3, *slot, fields).unwrap();
    assert_eq!(restored.number(), id.number());
    two.serve(3, 1, 12);
    let came = hear(&mut two, at(2), go_on(here, false));
    let goes_on = |it: &Out| matches!(it, Out::Indicate(_, Indication::Continue(_)));
    assert!(came.iter().any(goes_on), "{came:?}");
    // Who begins there now takes no identifier of the first one.
    let (other, number) = begin(&mut two, at(2));
    assert_ne!(number, here);
    assert_eq!(Transactions::partition_of_number(other.number()), 3);
    // The operation that the first one has asked for is cancelled in its time.
    let mut out = Vec::new();
    two.tick(at(9), &mut out);
    assert!(out.is_empty(), "{out:?}");
    two.tick(Time::from_millis(10_100), &mut out);
    let cancelled = |it: &Out| matches!(it, Out::Indicate(_, Indication::Cancel(1)));
    assert!(out.iter().any(cancelled), "{out:?}");
}

#[test]
fn an_owner_that_knows_nothing_of_the_one_before_gives_none_of_its_identifiers() {
    let given = |owner: u32, secret| -> BTreeSet<TransactionId> {
        let mut of = node(100);
        of.serve(3, owner, secret);
        (0..50).map(|_| begin(&mut of, Time::ZERO).1).collect()
    };
    let (first, second) = (given(1, 11), given(1, 12));
    assert_eq!((first.len(), second.len()), (50, 50));
    assert!(first.is_disjoint(&second), "{first:?} {second:?}");
}

#[test]
fn dialogues_of_many_owners_stand_side_by_side() {
    let mut known: Vec<(u32, Vec<u8>)> = Vec::new();
    let (mut owners, mut given) = (Vec::new(), BTreeSet::new());
    for turn in 0..9 {
        let mut of = node(100);
        owners.iter().for_each(|(owner, secret)| of.own(7, *owner, *secret));
        for (slot, fields) in &known {
            of.restore(Time::ZERO, 7, *slot, fields).unwrap();
        }
        of.serve(7, turn, u64::from(turn) + 20);
        let (_, here) = begin(&mut of, Time::ZERO);
        assert!(given.insert(here), "{here:?} has two owners");
        hear(&mut of, Time::ZERO, go_on(here, true));
        for here in &given {
            let came = hear(&mut of, Time::ZERO, go_on(*here, false));
            let goes_on = |it: &Out| matches!(it, Out::Indicate(_, Indication::Continue(_)));
            assert!(came.iter().any(goes_on), "{here:?} in turn {turn}: {came:?}");
        }
        (known, owners) = (Vec::new(), of.owners(7));
        of.standing(Time::ZERO, 7, 0, false, &mut |it| {
            if let Report::Stands(_, slot, octets) = it {
                known.push((slot, octets.to_vec()));
            }
            true
        });
        assert_eq!(known.len(), given.len());
    }
}

#[test]
fn a_dialogue_is_told_from_its_beginning_where_all_are_and_when_it_is_over() {
    let mut one = node(100);
    one.serve(0, 2, 9);
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
    one.serve(1, 0, 9);
    one.serve(2, 0, 9);
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
    one.serve(5, 0, 9);
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
