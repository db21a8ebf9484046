//! Dialogues between two sides.

use crate::every::{CONTEXT, USER};
use machine::{Duration, Machine, Time};
use proptest::prelude::*;
use sccp::codec::Address;
use tcap::codec::{
    Code, Component, Diagnostic, Message, MessageType, PAbortCause, Payload, Problem,
    ReturnErrorProblem, ReturnResultProblem,
};
use tcap::{
    Begin, Close, DialogueId, In, Indication, Metric, OperationClass, Out, PAbort, Refused, Say,
    Settings, Transactions, UAbort,
};

const PARAMETER: &[u8] = &[0x30, 0];
const OTHER_CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 2];

/// Two sides; `heard` is what their users were told.
struct World {
    sides: [Transactions; 2],
    now: Time,
    heard: [Vec<(DialogueId, Indication)>; 2],
    /// The messages, in their order.
    sent: Vec<sccp::Unitdata>,
}

fn address(side: usize) -> Address {
    let point_code = m3ua::codec::PointCode::new(side as u32 + 1);
    Address::subsystem(point_code, 6)
}

fn begin(context: Option<&[u8]>) -> Begin<'_> {
    Begin { called: address(1), calling: address(0), context, user_information: &[] }
}

fn invoke(id: i8, class: OperationClass) -> Say<'static> {
    let (time, code) = (Duration::from_secs(10), Code::Local(45));
    Say::Invoke { id, linked_id: None, class, time, code, parameter: Some(PARAMETER) }
}

fn result(id: i8) -> Say<'static> {
    Say::Result { id, is_last: true, result: Some((Code::Local(45), Some(PARAMETER))) }
}

fn error(id: i8) -> Say<'static> {
    Say::Error { id, code: Code::Local(27), parameter: None }
}

impl World {
    fn new(dialogues_max: u32) -> Self {
        let idle = Duration::from_secs(60);
        let of = |shard| Settings {
            shard,
            secret: 7,
            dialogues_max,
            dialogues_per_source_max: dialogues_max + 1,
            sources_elsewhere: false,
            idle,
        };
        Self {
            sides: [0, 1].map(|shard| Transactions::new(of(shard), Time::ZERO)),
            now: Time::ZERO,
            heard: [Vec::new(), Vec::new()],
            sent: Vec::new(),
        }
    }

    /// Notes indications, carries messages until there are none.
    fn carry(&mut self, side: usize, out: Vec<Out>) {
        let mut all: Vec<(usize, Out)> = out.into_iter().map(|it| (side, it)).collect();
        for _ in 0..1_000 {
            if all.is_empty() {
                return;
            }
            let (from, effect) = all.remove(0);
            match effect {
                Out::Indicate(id, indication) => self.heard[from].push((id, indication)),
                Out::Unidirectional { .. } => {}
                Out::Unitdata(unitdata) => {
                    self.sent.push(unitdata.clone());
                    let mut out = Vec::new();
                    self.sides[1 - from].step(self.now, In::Unitdata(unitdata), &mut out);
                    all.extend(out.into_iter().map(|it| (1 - from, it)));
                }
            }
        }
        panic!("messages go back and forth for ever");
    }

    fn begin(&mut self, context: Option<&[u8]>, says: &[Say<'_>]) -> DialogueId {
        let mut out = Vec::new();
        let id = self.sides[0].begin(self.now, &begin(context), says, &mut out).unwrap();
        self.carry(0, out);
        id
    }

    /// The dialogue that the other side was told of last.
    fn other(&self) -> DialogueId {
        self.heard[1].last().unwrap().0
    }

    fn go_on(&mut self, side: usize, id: DialogueId, says: &[Say<'_>]) {
        let mut out = Vec::new();
        self.sides[side].go_on(self.now, id, &[], says, &mut out).unwrap();
        self.carry(side, out);
    }

    fn end(&mut self, side: usize, id: DialogueId, says: &[Say<'_>]) {
        let mut out = Vec::new();
        self.sides[side].end(self.now, id, &[], says, &mut out).unwrap();
        self.carry(side, out);
    }

    fn abort(&mut self, side: usize, id: DialogueId, close: Close<'_>) {
        let mut out = Vec::new();
        self.sides[side].abort(id, close, &mut out).unwrap();
        self.carry(side, out);
    }

    fn pass(&mut self, until: u64) {
        let until = Time::from_millis(until);
        for _ in 0..100_000 {
            let due = self.sides.iter().filter_map(Machine::deadline).min();
            self.now = due.unwrap_or(until).clamp(self.now, until);
            for side in 0..2 {
                let mut out = Vec::new();
                self.sides[side].tick(self.now, &mut out);
                assert!(self.sides[side].deadline().is_none_or(|it| it > self.now));
                self.carry(side, out);
            }
            if self.now == until {
                return;
            }
        }
        panic!("deadlines do not advance");
    }

    fn last(&self, side: usize) -> &Indication {
        &self.heard[side].last().unwrap().1
    }

    fn kinds(&self) -> Vec<MessageType> {
        self.sent.iter().map(|it| Message::read(&it.data).unwrap().kind).collect()
    }
}

#[test]
fn a_dialogue_is_begun_goes_on_and_ends() {
    for context in [None, Some(CONTEXT)] {
        let mut world = World::new(8);
        let id = world.begin(context, &[invoke(1, OperationClass::One)]);
        assert!(matches!(world.heard[1][0].1, Indication::Begin { .. }));
        let Indication::Component(octets) = world.last(1) else { panic!("its component") };
        let component = Component::read(&ber::Element::only(octets).unwrap()).unwrap();
        assert!(matches!(component.payload, Payload::Invoke { code: Code::Local(45), .. }));
        let other = world.other();
        let partly = Say::Result { id: 1, is_last: false, result: None };
        world.go_on(1, other, &[partly, invoke(1, OperationClass::Two)]);
        world.go_on(0, id, &[]);
        world.end(1, other, &[result(1)]);
        use MessageType as M;
        assert_eq!(world.kinds(), [M::Begin, M::Continue, M::Continue, M::End]);
        let heard: Vec<_> = world.heard[0].iter().map(|it| &it.1).collect();
        assert!(matches!(
            heard[..],
            [
                Indication::Continue(_),
                Indication::Component(_),
                Indication::Component(_),
                Indication::End(_),
                Indication::Component(_)
            ]
        ));
        assert!(world.sides.iter().all(Transactions::is_empty));
        let with_dialogue =
            |it: &sccp::Unitdata| Message::read(&it.data).unwrap().dialogue.is_some();
        let portions: Vec<bool> = world.sent.iter().map(with_dialogue).collect();
        let has = context.is_some();
        assert_eq!(portions, [has, has, false, false], "AARQ and AARE, once each");
        assert_eq!(world.sides[0].end_prearranged(id), Err(Refused::Unknown));
    }
}

#[test]
fn a_context_is_refused_with_another() {
    let mut world = World::new(8);
    world.begin(Some(CONTEXT), &[invoke(1, OperationClass::One)]);
    let other = world.other();
    let diagnostic = Diagnostic::User(2);
    world.abort(1, other, Close::Refuse(OTHER_CONTEXT, diagnostic));
    let Indication::UAbort(UAbort::Refused(told), octets) = world.last(0) else { panic!() };
    assert_eq!(*told, diagnostic);
    let message = Message::read(octets).unwrap();
    let dialogue = tcap::codec::Dialogue::read(&message.dialogue.unwrap()).unwrap();
    let tcap::codec::Dialogue::Response { context, .. } = dialogue else { panic!() };
    assert_eq!(context.contents(), OTHER_CONTEXT);
    assert!(world.sides.iter().all(Transactions::is_empty));
}

#[test]
fn a_context_that_is_longer_than_any_is_refused_and_not_kept() {
    let mut world = World::new(8);
    let context = [&[4][..], &[1; 64]].concat();
    // A user here may not begin with it, and of a peer it is refused.
    let mut out = Vec::new();
    let refused = world.sides[0].begin(world.now, &begin(Some(&context)), &[], &mut out);
    assert_eq!((refused, out.len(), world.sides[0].len()), (Err(Refused::Long), 0, 0));
    let mut octets = Vec::new();
    let otid = tcap::codec::TransactionId::of(9);
    tcap::codec::Writer::begin(otid).request(&context, &[]).write(&mut octets, |_| ());
    let unitdata = sccp::Unitdata {
        called: address(1),
        calling: address(0),
        class: sccp::codec::Class { is_sequenced: false, returns: false },
        sls: 0,
        importance: None,
        data: octets.into(),
    };
    world.sides[1].step(world.now, In::Unitdata(unitdata), &mut out);
    let [Out::Unitdata(answer)] = &out[..] else { panic!("{out:?}") };
    let answer = Message::read(&answer.data).unwrap();
    let dialogue = tcap::codec::Dialogue::read(&answer.dialogue.unwrap()).unwrap();
    let tcap::codec::Dialogue::Response { is_refused: true, diagnostic, .. } = dialogue else {
        panic!("{dialogue:?}")
    };
    assert_eq!((diagnostic, world.sides[1].len()), (Diagnostic::User(2), 0));
    world.begin(Some(&context[..64]), &[]);
    assert_eq!(world.sides[1].len(), 1);
}

#[test]
fn a_user_breaks_a_dialogue_off_with_its_reason_and_tells_nobody_who_has_not_answered() {
    let mut world = World::new(8);
    let id = world.begin(Some(CONTEXT), &[]);
    let other = world.other();
    world.go_on(1, other, &[]);
    world.abort(0, id, Close::User(USER));
    assert!(matches!(world.last(1), Indication::UAbort(UAbort::User, _)));
    let id = world.begin(Some(CONTEXT), &[]);
    let before = world.sent.len();
    world.abort(0, id, Close::User(&[]));
    assert_eq!((world.sent.len(), world.sides[0].len()), (before, 0));
}

#[test]
fn each_class_has_its_answers_and_others_are_rejected_with_the_next_message() {
    use OperationClass as C;
    let no_result = Problem::ReturnResult(ReturnResultProblem::Unexpected);
    let no_error = Problem::ReturnError(ReturnErrorProblem::Unexpected);
    let table = [
        (C::One, result(1), None),
        (C::One, error(1), None),
        (C::Two, result(1), Some(no_result)),
        (C::Two, error(1), None),
        (C::Three, result(1), None),
        (C::Three, error(1), Some(no_error)),
        (C::Four, result(1), Some(no_result)),
        (C::Four, error(1), Some(no_error)),
        (C::One, result(2), Some(Problem::ReturnResult(ReturnResultProblem::UnrecognizedInvokeId))),
        (C::One, error(2), Some(Problem::ReturnError(ReturnErrorProblem::UnrecognizedInvokeId))),
    ];
    for (class, answer, expected) in table {
        let mut world = World::new(8);
        let id = world.begin(None, &[invoke(1, class)]);
        let other = world.other();
        world.go_on(1, other, &[answer]);
        match (world.last(0), expected) {
            (Indication::Component(_), None) => {}
            (Indication::LocalReject(_, problem), Some(expected)) => assert_eq!(*problem, expected),
            other => panic!("{class:?} {answer:?}: {other:?}"),
        }
        world.go_on(0, id, &[]);
        let message = Message::read(&world.sent.last().unwrap().data).unwrap();
        let rejects: Vec<_> = message.components().map(|it| it.unwrap().payload).collect();
        match (&rejects[..], expected) {
            ([], None) => {}
            ([Payload::Reject(problem)], Some(expected)) => assert_eq!(*problem, expected),
            other => panic!("{class:?} {answer:?}: {other:?}"),
        }
    }
}

#[test]
fn a_linked_operation_belongs_to_one_that_stands() {
    for (linked, is_known) in [(1, true), (9, false)] {
        let mut world = World::new(8);
        world.begin(None, &[invoke(1, OperationClass::One)]);
        let other = world.other();
        let Say::Invoke { id, class, time, code, parameter, .. } = invoke(5, OperationClass::One)
        else {
            panic!()
        };
        let linked_id = Some(linked);
        world.go_on(1, other, &[Say::Invoke { id, linked_id, class, time, code, parameter }]);
        assert_eq!(matches!(world.last(0), Indication::Component(_)), is_known, "{linked}");
    }
}

#[test]
fn an_operation_without_an_answer_is_cancelled_and_an_answer_behind_it_rejected() {
    let mut world = World::new(8);
    let id = world.begin(None, &[invoke(1, OperationClass::One), invoke(2, OperationClass::Four)]);
    let other = world.other();
    world.pass(9_999);
    assert!(world.heard[0].is_empty());
    world.pass(10_001);
    let cancelled: Vec<_> = world.heard[0].iter().map(|it| it.1.clone()).collect();
    assert_eq!(cancelled, [Indication::Cancel(1), Indication::Cancel(2)]);
    world.go_on(1, other, &[result(1)]);
    assert!(matches!(world.last(0), Indication::LocalReject(Some(1), _)));
    world.go_on(0, id, &[invoke(1, OperationClass::One)]);
}

#[test]
fn an_idle_dialogue_is_broken_off_at_both_ends() {
    for context in [None, Some(CONTEXT)] {
        let mut world = World::new(8);
        world.begin(context, &[]);
        let other = world.other();
        world.go_on(1, other, &[]);
        world.pass(60_001);
        assert_eq!(world.last(0), &Indication::PAbort(PAbort::Idle));
        assert!(matches!(world.last(1), Indication::PAbort(_)));
        assert!(world.sides.iter().all(Transactions::is_empty));
    }
}

#[test]
fn what_is_of_no_transaction_is_aborted_or_discarded() {
    let mut world = World::new(8);
    let id = world.begin(None, &[]);
    world.sides[0].end_prearranged(id).unwrap();
    let other = world.other();
    world.go_on(1, other, &[]);
    let cause = PAbortCause::UnrecognizedTransactionId.number().into();
    assert_eq!(world.last(1), &Indication::PAbort(PAbort::Cause(cause)));
    assert!(world.sides.iter().all(Transactions::is_empty));
    let before = world.sent.len();
    for unitdata in world.sent.clone() {
        let kind = Message::read(&unitdata.data).unwrap().kind;
        if matches!(kind, MessageType::End | MessageType::Abort) {
            let mut out = Vec::new();
            world.sides[0].step(world.now, In::Unitdata(unitdata), &mut out);
            assert!(out.is_empty(), "an abort of nothing is not answered");
        }
    }
    assert_eq!(world.sent.len(), before);
}

#[test]
fn an_answer_to_a_dialogue_that_is_over_does_not_reach_the_next_one_in_its_slot() {
    let mut world = World::new(1);
    let id = world.begin(None, &[]);
    let old = world.other();
    world.sides[0].end_prearranged(id).unwrap();
    let mut out = Vec::new();
    world.sides[0].begin(world.now, &begin(None), &[], &mut out).unwrap();
    world.go_on(1, old, &[]);
    assert!(world.heard[0].is_empty());
    assert_eq!((world.sides[0].len(), world.sides[1].len()), (1, 0));
}

#[test]
fn a_continue_from_another_transaction_is_discarded() {
    let mut world = World::new(8);
    world.begin(None, &[]);
    let other = world.other();
    world.go_on(1, other, &[]);
    let answer = world.sent.last().unwrap().clone();
    let dtid = Message::read(&answer.data).unwrap().dtid.unwrap();
    let mut octets = Vec::new();
    let stranger = tcap::codec::TransactionId::of(9);
    tcap::codec::Writer::go_on(stranger, dtid).write(&mut octets, |_| ());
    let (data, mut out) = (bytes::Bytes::from(octets), Vec::new());
    let unitdata = sccp::Unitdata { data, ..answer };
    world.sides[0].step(world.now, In::Unitdata(unitdata), &mut out);
    assert!(out.is_empty());
    assert_eq!(world.sides[0].metrics().read(Metric::Unrecognized), 1);
}

#[test]
fn limits_change_while_dialogues_stand() {
    let mut world = World::new(1);
    let id = world.begin(Some(CONTEXT), &[]);
    let secret = world.sides[0].settings().secret;
    let more = Settings { dialogues_max: 2, secret: 9, shard: 5, ..*world.sides[0].settings() };
    world.sides.iter_mut().for_each(|side| side.set_settings(more));
    assert_eq!((world.sides[0].settings().secret, world.sides[0].settings().shard), (secret, 0));
    world.begin(Some(CONTEXT), &[]);
    assert_eq!((world.sides[0].len(), world.sides[1].len()), (2, 2));
    // The first one is found by its identifier as before.
    let other = world.heard[1][0].0;
    let mut out = Vec::new();
    world.sides[1].end(world.now, other, &[], &[], &mut out).unwrap();
    world.carry(1, out);
    assert!(world.heard[0].iter().any(|it| it.0 == id && matches!(it.1, Indication::End(_))));
    assert_eq!(world.sides[0].len(), 1);
}

#[test]
fn a_begin_without_room_and_one_that_is_wrong_are_aborted() {
    let mut world = World::new(1);
    world.begin(None, &[]);
    let mut out = Vec::new();
    let full = world.sides[0].begin(world.now, &begin(None), &[], &mut out);
    assert_eq!(full, Err(Refused::Full));
    // A second peer, whose own table has room.
    let mut second = World::new(8);
    let mut out = Vec::new();
    second.sides[0].begin(second.now, &begin(None), &[], &mut out).unwrap();
    let Some(Out::Unitdata(unitdata)) = out.pop() else { panic!() };
    world.sides[1].step(world.now, In::Unitdata(unitdata.clone()), &mut out);
    let Some(Out::Unitdata(answer)) = out.pop() else { panic!("it is aborted") };
    let message = Message::read(&answer.data).unwrap();
    assert_eq!(message.p_abort, Some(PAbortCause::ResourceLimitation.number().into()));
    assert_eq!(world.sides[1].metrics().read(Metric::Shed), 1);
    let mut octets = unitdata.data.to_vec();
    octets.extend([0x5f, 0x20, 0]);
    octets[1] += 3;
    let data = bytes::Bytes::from(octets);
    world.sides[1].step(world.now, In::Unitdata(sccp::Unitdata { data, ..unitdata }), &mut out);
    let Some(Out::Unitdata(answer)) = out.pop() else { panic!("it is aborted") };
    let message = Message::read(&answer.data).unwrap();
    assert_eq!(message.p_abort, Some(PAbortCause::BadlyFormatted.number().into()));
}

#[test]
fn an_answer_without_an_aare_to_an_aarq_is_abnormal() {
    let mut world = World::new(8);
    let mut out = Vec::new();
    world.sides[0].begin(world.now, &begin(Some(CONTEXT)), &[], &mut out).unwrap();
    let Some(Out::Unitdata(asked)) = out.pop() else { panic!() };
    let otid = Message::read(&asked.data).unwrap().otid.unwrap();
    let mut octets = Vec::new();
    let own = tcap::codec::TransactionId::of(9);
    tcap::codec::Writer::go_on(own, otid).write(&mut octets, |_| ());
    let (called, calling) = (asked.calling, asked.called);
    let answer = sccp::Unitdata { called, calling, data: octets.into(), ..asked };
    world.sides[0].step(world.now, In::Unitdata(answer), &mut out);
    let [Out::Unitdata(abort), Out::Indicate(_, indication)] = &out[..] else { panic!("{out:?}") };
    assert_eq!(*indication, Indication::PAbort(PAbort::AbnormalDialogue));
    assert_eq!(Message::read(&abort.data).unwrap().dtid, Some(own));
}

#[test]
fn an_invoke_identifier_is_used_once_at_a_time_and_nothing_is_sent_before_an_answer() {
    let mut world = World::new(8);
    let (one, mut out) = (OperationClass::One, Vec::new());
    let twice = [invoke(1, one), invoke(1, one)];
    let refused = world.sides[0].begin(world.now, &begin(None), &twice, &mut out);
    assert_eq!((refused, world.sides[0].len()), (Err(Refused::InvokeId), 0));
    let id = world.begin(None, &[invoke(1, one)]);
    let early = world.sides[0].go_on(world.now, id, &[], &[invoke(2, one)], &mut out);
    assert_eq!(early, Err(Refused::State));
    let other = world.other();
    world.go_on(1, other, &[]);
    let in_use = world.sides[0].go_on(world.now, id, &[], &[invoke(1, one)], &mut out);
    assert_eq!(in_use, Err(Refused::InvokeId));
    world.go_on(0, id, &[invoke(2, one)]);
}

#[test]
fn a_message_that_came_back_is_told_to_its_dialogue() {
    let mut world = World::new(8);
    let id = world.begin(None, &[]);
    let mut out = Vec::new();
    let data = world.sent[0].data.clone();
    world.sides[0].step(world.now, In::Notice(4, data), &mut out);
    assert_eq!(out, [Out::Indicate(id, Indication::Notice(4))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Messages of dialogues that go on, changed and doubled: nothing panics, the table keeps its
    /// limit, and when time has passed nothing is left.
    #[test]
    fn messages_of_strangers_take_bounded_room_and_leave_nothing(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 60),
    ) {
        let mut world = World::new(16);
        let id = world.begin(Some(CONTEXT), &[invoke(1, OperationClass::One)]);
        let other = world.other();
        world.go_on(1, other, &[invoke(3, OperationClass::One)]);
        world.go_on(0, id, &[result(3)]);
        let sent = world.sent.clone();
        for (at, to, which) in changes {
            let unitdata = &sent[usize::from(which) % sent.len()];
            let mut octets = unitdata.data.to_vec();
            let at = at.index(octets.len());
            octets[at] = to;
            let data = bytes::Bytes::from(octets);
            for side in 0..2 {
                let mut out = Vec::new();
                let unitdata = sccp::Unitdata { data: data.clone(), ..unitdata.clone() };
                world.sides[side].step(world.now, In::Unitdata(unitdata), &mut out);
                prop_assert!(world.sides[side].len() <= 16);
                let answers = out.iter().filter(|it| matches!(it, Out::Unitdata(_))).count();
                prop_assert!(answers <= 1, "one message is answered by one at most");
            }
        }
        world.pass(200_000);
        prop_assert!(world.sides.iter().all(Transactions::is_empty));
    }
}

#[test]
fn an_operation_that_is_owed_an_answer_is_not_asked_for_twice() {
    let mut world = World::new(8);
    world.begin(None, &[invoke(1, OperationClass::One)]);
    let other = world.other();
    let asks_again = |world: &mut World| {
        let mut octets = Vec::new();
        let local = Message::read(&world.sent[0].data).unwrap().otid.unwrap();
        let dtid = world.sent.iter().find_map(|it| {
            let message = Message::read(&it.data).unwrap();
            message.otid.filter(|otid| *otid != local)
        });
        tcap::codec::Writer::go_on(local, dtid.unwrap()).write(&mut octets, |out| {
            out.invoke(1, None, Code::Local(45), Some(PARAMETER));
        });
        let unitdata = sccp::Unitdata { data: octets.into(), ..world.sent[0].clone() };
        let mut out = Vec::new();
        world.sides[1].step(world.now, In::Unitdata(unitdata), &mut out);
        let problem = Problem::Invoke(tcap::codec::InvokeProblem::DuplicateInvokeId);
        let is_rejected = |it: &Out| match it {
            Out::Indicate(_, Indication::LocalReject(Some(1), why)) => *why == problem,
            _ => false,
        };
        out.iter().any(is_rejected)
    };
    world.go_on(1, other, &[]);
    // Whether it has an answer, TCAP does not know until its user says so.
    assert!(!asks_again(&mut world));
    world.sides[1].owe(other, 1).unwrap();
    assert!(asks_again(&mut world));
    world.go_on(1, other, &[result(1)]);
    assert!(!asks_again(&mut world));
    world.end(1, other, &[]);
    assert_eq!(world.sides[1].owe(other, 1), Err(Refused::Unknown));
}

#[test]
fn a_source_has_no_more_dialogues_than_its_share_and_has_them_again() {
    let idle = Duration::from_secs(60);
    let settings = Settings {
        shard: 0,
        secret: 9,
        dialogues_max: 100,
        dialogues_per_source_max: 3,
        sources_elsewhere: false,
        idle,
    };
    let mut side = Transactions::new(settings, Time::ZERO);
    let begun_of = |side: &mut Transactions, source: Option<u64>, from: usize, number: u32| {
        let mut octets = Vec::new();
        let otid = tcap::codec::TransactionId::of(number);
        tcap::codec::Writer::begin(otid).write(&mut octets, |_| ());
        let unitdata = sccp::Unitdata {
            called: address(9),
            calling: address(from),
            class: sccp::codec::Class { is_sequenced: true, returns: true },
            sls: 0,
            importance: None,
            data: octets.into(),
        };
        let mut out = Vec::new();
        let input = match source {
            Some(source) => In::UnitdataOf(source, unitdata),
            None => In::Unitdata(unitdata),
        };
        side.step(Time::ZERO, input, &mut out);
        out.into_iter().find_map(|it| match it {
            Out::Indicate(id, Indication::Begin { .. }) => Some(id),
            _ => None,
        })
    };
    let begun = |side: &mut Transactions, from, number| begun_of(side, None, from, number);
    let first: Vec<_> = (0..3).map(|it| begun(&mut side, 1, it).unwrap()).collect();
    assert_eq!(begun(&mut side, 1, 7), None);
    assert_eq!((side.metrics().read(Metric::ShedOfSource), side.len()), (1, 3));
    assert!(begun(&mut side, 2, 8).is_some(), "another one has its own");
    side.end(Time::ZERO, first[0], &[], &[], &mut Vec::new()).unwrap();
    assert!(begun(&mut side, 1, 9).is_some());
    // Who is known by what brought the message has no more by writing other addresses.
    let mut other = |source, from, number| begun_of(&mut side, Some(source), from, number);
    assert!((0..3).all(|it| other(77, 10 + it, 20 + it as u32).is_some()));
    assert_eq!(other(77, 14, 24), None);
    assert!(other(78, 14, 25).is_some());
}

#[test]
fn where_sources_are_counted_elsewhere_each_dialogue_that_is_over_is_told_once() {
    let settings = Settings {
        shard: 0,
        secret: 9,
        dialogues_max: 3,
        dialogues_per_source_max: 1,
        sources_elsewhere: true,
        idle: Duration::from_secs(60),
    };
    let mut side = Transactions::new(settings, Time::ZERO);
    let begin = |side: &mut Transactions, place: u16, context: &[u8]| {
        let mut octets = Vec::new();
        let otid = tcap::codec::TransactionId::of(place.into());
        let writer = tcap::codec::Writer::begin(otid).request(context, &[]);
        writer.write(&mut octets, |_| ());
        let unitdata = sccp::Unitdata {
            called: address(9),
            calling: address(1),
            class: sccp::codec::Class { is_sequenced: true, returns: true },
            sls: 0,
            importance: None,
            data: octets.into(),
        };
        let mut out = Vec::new();
        side.step(Time::ZERO, In::UnitdataAt(place, unitdata), &mut out);
        out.into_iter().find_map(|it| match it {
            Out::Indicate(id, Indication::Begin { .. }) => Some(id),
            _ => None,
        })
    };
    let known = [4, 0, 0, 1, 0, 20, 3];
    let all: Vec<_> = (0..3).map(|_| begin(&mut side, 7, &known).unwrap()).collect();
    assert_eq!(side.released(), [], "no limit of a source holds here");
    // Those that do not begin are over: without room, and with a context that is too long.
    assert_eq!(begin(&mut side, 8, &known), None);
    assert_eq!(begin(&mut side, 9, &[1; 65]), None);
    assert_eq!(side.released(), [8, 9]);
    side.end(Time::ZERO, all[0], &[], &[], &mut Vec::new()).unwrap();
    side.end_prearranged(all[1]).unwrap();
    assert_eq!(side.released(), [7, 7]);
    assert_eq!(side.released(), []);
    side.forget_sources();
    let (mut out, idle) = (Vec::new(), Time::from_millis(61_000));
    side.tick(idle, &mut out);
    assert_eq!((side.len(), side.released()), (0, vec![]), "nobody counts it any more");
}
