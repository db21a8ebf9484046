//! The gateway's end of an application: share-out, the death of instances, slow readers, greetings.

use crate::values::Draw;
use crate::world::{World, invoke, result, settings};
use bytes::Bytes;
use machine::Duration;
use tcap::codec::{Diagnostic, InvokeProblem, Problem};
use tcu::{
    ClientEvent, Code, Component, Indication, InstanceId, Operations, Portion, Refusal, Request,
    Settings, Spelling,
};

const JSON: Spelling = Spelling::Json;
const STATE: &[u8] = b"balance 12";

fn go_on(dialogue: u64, state: Option<&'static [u8]>, portion: Portion) -> Request {
    Request::Continue { dialogue, state: state.map(Bytes::from_static), portion }
}

const fn end(dialogue: u64, portion: Portion) -> Request {
    Request::End { dialogue, is_prearranged: false, portion }
}

fn dialogue_of(told: &[Indication]) -> u64 {
    told.first().and_then(Indication::dialogue).expect("it was told of a dialogue")
}

#[test]
fn new_dialogues_are_shared_out_and_answered() {
    let mut world = World::new(settings());
    let [a, b] = [world.instance("", JSON), world.instance("", Spelling::Tagged)];
    for _ in 0..10 {
        world.begin(vec![invoke(1)]);
    }
    let dialogues = world.status().instances.iter().map(|it| it.dialogues).collect::<Vec<_>>();
    assert_eq!(dialogues, [5, 5]);
    for id in [a, b] {
        for told in world.told_to(id) {
            let portion = told.portion().expect("a BEGIN").clone();
            assert_eq!(portion.components, [invoke(1)]);
            world.ask(id, &end(told.dialogue().unwrap(), Portion::of(vec![result(1)])));
        }
    }
    let heard = world.heard();
    assert_eq!(heard.len(), 10);
    assert!(heard.iter().all(|it| it.portion().unwrap().components == [result(1)]));
    assert_eq!((world.status().dialogues, world.near.len(), world.far.len()), (0, 0, 0));
}

#[test]
fn what_is_asked_answered_and_refused_is_counted_by_its_name() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    let answers = [
        vec![result(1)],
        vec![Component::Error { id: 1, code: Code::Local(1), parameter: None }],
        vec![Component::Error { id: 1, code: Code::Local(4_711), parameter: None }],
        vec![Component::Reject {
            id: Some(1),
            problem: Problem::Invoke(InvokeProblem::MistypedParameter),
        }],
    ];
    for answer in answers {
        world.begin(vec![invoke(1)]);
        let dialogue = dialogue_of(&world.told_to(a));
        world.ask(a, &end(dialogue, Portion::of(answer)));
    }
    world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    world.ask(a, &Request::UAbort { dialogue, portion: Portion::default() });
    let tally = world.application.tally();
    let operations: Vec<_> = tally.operations().collect();
    let asked = Operations { asked_there: 5, ..Operations::default() };
    let answered = Operations { answered_here: 1, ..Operations::default() };
    assert_eq!(operations, [("other", answered), ("sendRoutingInfoForSM", asked)]);
    let causes: Vec<_> =
        tally.causes().map(|(name, it)| (name, it.said_here, it.said_there)).collect();
    let wanted = [
        ("abort/user", 1, 0),
        ("error/other", 1, 0),
        ("error/unknownSubscriber", 1, 0),
        ("reject/invoke/mistypedParameter", 1, 0),
    ];
    assert_eq!(causes, wanted);
}

#[test]
fn without_an_instance_a_dialogue_is_refused_and_one_that_leaves_gets_none() {
    let mut world = World::new(settings());
    world.begin(vec![invoke(1)]);
    let heard = world.heard();
    let [Indication::UAbort { refused: Some(Diagnostic::User(1)), .. }] = &heard[..] else {
        panic!("{heard:?}")
    };
    let a = world.instance("", JSON);
    assert!(world.application.is_available());
    world.ask(a, &Request::State { in_service: false });
    assert!(!world.application.is_available());
    world.begin(vec![invoke(1)]);
    assert!(matches!(world.heard()[..], [Indication::UAbort { .. }]));
    assert_eq!(world.status().counts.absent, 2);
}

#[test]
fn the_first_group_gets_all_as_long_as_it_is_there() {
    let mut world =
        World::new(Settings { groups: vec!["blue".into(), "green".into()], ..settings() });
    let [green, blue] = [world.instance("green", JSON), world.instance("blue", JSON)];
    let other = world.instance("red", JSON);
    assert!(world.instances[&other].is_closed);
    for _ in 0..4 {
        world.begin(vec![invoke(1)]);
    }
    assert_eq!((world.told_to(green).len(), world.told_to(blue).len()), (0, 4));
    world.kill(blue);
    // None was answered: all begin again at the other group.
    let told = world.told_to(green);
    assert!(told.iter().all(|it| matches!(it, Indication::Begin { is_again: true, .. })));
    assert_eq!((told.len(), world.status().counts.again), (4, 4));
}

/// What becomes of a dialogue when its instance dies after so many steps of it.
fn dies_after(steps: usize, with_state: bool) -> (World, InstanceId, Vec<Indication>) {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    let b = world.instance("", JSON);
    // The first one with no dialogue gets it.
    let begun = world.begin(vec![invoke(1)]);
    let (one, other) = if world.instances[&a].told.is_empty() { (b, a) } else { (a, b) };
    let dialogue = dialogue_of(&world.instances[&one].told);
    let state = with_state.then_some(STATE);
    if steps >= 1 {
        world.ask(one, &go_on(dialogue, state, Portion::of(vec![result(1)])));
    }
    if steps >= 2 {
        world.far(&go_on(begun.number(), None, Portion::of(vec![invoke(2)])));
    }
    if steps >= 3 {
        world.ask(one, &go_on(dialogue, None, Portion::of(vec![result(2)])));
    }
    if steps >= 4 {
        world.far(&end(begun.number(), Portion::default()));
    }
    world.heard();
    world.kill(one);
    let told = world.told_to(other);
    (world, other, told)
}

#[test]
fn a_dialogue_whose_instance_dies_goes_on_at_another_at_each_step() {
    // BEGIN came, and was not answered.
    let (mut world, other, told) = dies_after(0, true);
    let [Indication::Begin { dialogue, is_again: true, portion, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(portion.components, [invoke(1)]);
    world.ask(other, &end(*dialogue, Portion::of(vec![result(1)])));
    assert!(matches!(world.heard()[..], [Indication::End { .. }]));
    // Answered: it is resumed with its state.
    for steps in [1, 2, 3] {
        let (mut world, other, told) = dies_after(steps, true);
        let Indication::Resume { dialogue, state, context, peer, .. } = &told[0] else {
            panic!("{told:?}")
        };
        assert_eq!((&state[..], peer.subsystem), (STATE, Some(8)));
        assert_eq!(context.as_deref(), Some(crate::values::SHORT_MESSAGE));
        // What the first one was told and had not answered follows.
        match steps {
            2 => assert!(matches!(&told[1..], [Indication::Continue { portion, .. }]
                if portion.components == [invoke(2)])),
            _ => assert_eq!(told.len(), 1, "{told:?}"),
        }
        world.ask(other, &end(*dialogue, Portion::default()));
        assert!(matches!(world.heard()[..], [Indication::End { .. }]));
        assert_eq!((world.status().dialogues, world.near.len()), (0, 0));
    }
    // Over: nothing is resumed.
    let (world, _, told) = dies_after(4, true);
    assert_eq!((told.len(), world.near.len(), world.far.len()), (0, 0, 0));
}

#[test]
fn a_dialogue_without_a_state_ends_with_its_instance_and_its_peer_is_told() {
    let (mut world, _, told) = dies_after(1, false);
    assert!(told.is_empty(), "{told:?}");
    assert!(matches!(world.heard()[..], [Indication::UAbort { refused: None, .. }]));
    assert_eq!((world.near.len(), world.status().counts.lost), (0, 1));
}

#[test]
fn the_last_instance_may_come_back_in_time() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    let begun = world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    world.ask(a, &go_on(dialogue, Some(STATE), Portion::of(vec![result(1)])));
    world.kill(a);
    world.pass(Duration::from_secs(1));
    // Meanwhile the peer goes on.
    world.far(&go_on(begun.number(), None, Portion::of(vec![invoke(2)])));
    let b = world.instance("", Spelling::Tagged);
    let told = world.told_to(b);
    assert!(matches!(&told[..], [Indication::Resume { .. }, Indication::Continue { .. }]));
    assert_eq!(world.status().counts.resumed, 1);
    // Later it is too late.
    world.kill(b);
    world.heard();
    world.pass(Duration::from_secs(3));
    assert!(matches!(world.heard()[..], [Indication::UAbort { .. }]));
    assert_eq!((world.status().dialogues, world.near.len(), world.far.len()), (0, 0, 0));
}

#[test]
fn an_instance_begins_dialogues_and_is_told_their_numbers() {
    let mut world = World::new(settings());
    let [a, b] = [world.instance("", JSON), world.instance("", JSON)];
    let called = sccp::codec::Address::subsystem(None, 8);
    let calling = sccp::codec::Address::subsystem(None, 6);
    let context = Some(Bytes::from_static(crate::values::SHORT_MESSAGE));
    let portion = Portion { context, ..Portion::of(vec![invoke(1)]) };
    let state = Some(Bytes::from_static(STATE));
    world.ask(a, &Request::Begin { reference: 7, called, calling, state, portion });
    let told = world.told_to(a);
    let [Indication::Begun { reference: 7, dialogue }] = told[..] else { panic!("{told:?}") };
    let heard = world.heard();
    let [Indication::Begin { dialogue: far, .. }] = &heard[..] else { panic!("{heard:?}") };
    let portion = Portion::of(vec![result(1)]);
    world.far(&go_on(*far, None, portion));
    assert!(matches!(&world.told_to(a)[..], [Indication::Continue { portion, .. }]
        if portion.components == [result(1)]));
    // Another instance has no say in it, until it is resumed there.
    world.ask(b, &end(dialogue, Portion::default()));
    assert!(matches!(world.told_to(b)[..], [Indication::Refused { why: Refusal::Unknown, .. }]));
    world.kill(a);
    assert!(matches!(
        &world.told_to(b)[..],
        [Indication::Resume { .. }, Indication::Continue { .. }]
    ));
    world.ask(b, &end(dialogue, Portion::default()));
    assert_eq!((world.near.len(), world.far.len()), (0, 0));
}

#[test]
fn timers_of_operations_are_told_reset_and_cancelled() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    // sendRoutingInfoForSM is one of timer m: 30 seconds at most.
    let invokes = Portion::of(vec![invoke(1), invoke(2), invoke(3)]);
    world.ask(a, &go_on(dialogue, None, invokes));
    world.pass(Duration::from_secs(20));
    world.ask(a, &Request::TimerReset { dialogue, id: 2, time_ms: None });
    world.ask(a, &Request::Cancel { dialogue, id: 3 });
    world.ask(a, &Request::Cancel { dialogue, id: 9 });
    let told = world.told_to(a);
    assert!(matches!(told[..], [Indication::Refused { why: Refusal::InvokeId, .. }]), "{told:?}");
    world.pass(Duration::from_secs(11));
    assert_eq!(world.told_to(a), [Indication::Cancel { dialogue, id: 1 }]);
    world.pass(Duration::from_secs(20));
    assert_eq!(world.told_to(a), [Indication::Cancel { dialogue, id: 2 }]);
}

#[test]
fn a_slow_reader_is_told_gets_no_new_dialogues_and_those_that_wait_are_aborted() {
    let queue_octets_max = 8_192;
    let mut world = World::new(Settings { queue_octets_max, ..settings() });
    let a = world.instance("", JSON);
    world.stick(a, true);
    let mut begun = 0;
    while world.status().counts.shed_slow == 0 {
        world.begin(vec![invoke(1)]);
        begun += 1;
        assert!(begun < 1_000, "the queue has an end");
    }
    let waiting = world.status().instances[0].waiting_octets;
    assert!(waiting <= 65_536 + queue_octets_max as usize, "{waiting}");
    let heard = world.heard().len();
    assert_eq!(heard, 1, "the one that found no room");
    world.pass(Duration::from_millis(1_500));
    let shed = world.status().counts.shed_late;
    assert!(shed > 0);
    assert_eq!(world.heard().len() as u64, shed, "those that waited too long");
    world.begin(vec![invoke(1)]);
    world.pass(Duration::from_millis(1_500));
    assert_eq!(world.status().instances[0].state, "slow");
    world.stick(a, false);
    let told = world.told_to(a);
    assert!(told.contains(&Indication::Slow(true)), "{told:?}");
    assert_eq!(told.last(), Some(&Indication::Slow(false)));
    assert_eq!(world.status().instances[0].state, "ready");
    // Those that left before it read are there, and in order.
    let begins = told.iter().filter(|it| matches!(it, Indication::Begin { .. })).count();
    assert_eq!(begins, world.status().dialogues);
}

#[test]
fn dialogues_in_progress_pass_those_that_begin() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    let first = world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    world.ask(a, &go_on(dialogue, None, Portion::of(vec![result(1)])));
    world.stick(a, true);
    for _ in 0..400 {
        world.begin(vec![invoke(1)]);
    }
    world.far(&go_on(first.number(), None, Portion::of(vec![invoke(2)])));
    world.stick(a, false);
    let told = world.told_to(a);
    let place = told.iter().position(|it| matches!(it, Indication::Continue { .. })).unwrap();
    assert!(place < 330 && told.len() == 401, "{place} of {}", told.len());
}

#[test]
fn who_does_not_read_at_all_is_closed_and_another_goes_on() {
    let mut world = World::new(Settings { queue_octets_max: 4_096, ..settings() });
    let a = world.instance("", JSON);
    let begun = world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    world.ask(a, &go_on(dialogue, Some(STATE), Portion::of(vec![result(1)])));
    world.stick(a, true);
    let b = world.instance("", JSON);
    for _ in 0..3_000 {
        world.far(&go_on(begun.number(), None, Portion::default()));
    }
    world.pass(Duration::from_secs(3));
    let counts = world.status().counts;
    assert_eq!((world.instances[&a].is_closed, counts.too_slow), (true, 1));
    // More was held than is kept of one dialogue: it ends.
    assert_eq!((counts.lost, world.told_to(b).len()), (1, 0));
}

#[test]
fn a_key_is_proved_with_each_greeting() {
    let keys = |text: &str| authentication::Keys::parse(text).unwrap();
    let ours = keys("0123456789abcdef");
    let mut world = World::new(Settings { keys: Some(ours.clone()), ..settings() });
    for spelling in [JSON, Spelling::Tagged] {
        let a = world.instance_with("", spelling, true, Some(ours.clone()));
        assert!(matches!(world.instances[&a].events[..], [ClientEvent::Welcome(_)]));
        let b = world.instance_with("", spelling, true, Some(keys("fedcba9876543210")));
        assert!(matches!(&world.instances[&b].events[..], [ClientEvent::Bye(why)]
            if why == "the proof is not that of a key"));
        assert!(world.instances[&b].is_closed);
    }
    // Without keys nobody can prove anything.
    let mut world = World::new(settings());
    let a = world.instance_with("", JSON, true, Some(ours));
    assert!(world.instances[&a].is_closed && !world.application.is_available());
}

#[test]
fn what_is_no_message_is_answered_with_its_place_and_ends_a_connection_that_goes_on_with_it() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.instances.get_mut(&a).unwrap().events.clear();
    world.say(a, b"{\"tc\":\"end\"}\n");
    let [ClientEvent::Malformed(it)] = &world.instances[&a].events[..] else {
        panic!("{:?}", world.instances[&a].events)
    };
    assert!(it.at == 0 && it.what.starts_with("the dialogue lacks"), "{it:?}");
    world.say(a, b"\x16\x00\x00\x01\x10");
    world.ask(a, &Request::State { in_service: true });
    for _ in 0..15 {
        world.say(a, b"{nothing\n");
        assert!(!world.instances[&a].is_closed);
    }
    world.say(a, b"{nothing\n");
    assert!(world.instances[&a].is_closed);
    assert_eq!(world.status().counts.malformed, 18);
    // Who does not greet is turned away after a while.
    let silent = InstanceId(99);
    world.application.connected(world.now, silent, false, None);
    world.pass(Duration::from_secs(6));
    assert_eq!((world.status().instances.len(), world.status().counts.turned_away), (0, 1));
}

#[test]
fn who_says_nothing_keeps_nobody_out() {
    let mut world = World::new(Settings { instances_max: 2, ..settings() });
    for silent in 0..100 {
        world.application.connected(world.now, InstanceId(1_000 + silent), false, None);
        world.now += Duration::from_millis(1);
    }
    assert_eq!(world.status().instances.len(), tcu::GREETING_MAX);
    let [a, b, c] = [0; 3].map(|_| world.instance("", JSON));
    assert!(matches!(world.instances[&a].events[..], [ClientEvent::Welcome(_)]));
    assert!(matches!(world.instances[&b].events[..], [ClientEvent::Welcome(_)]));
    assert!(matches!(&world.instances[&c].events[..], [ClientEvent::Bye(why)]
        if why == "there are as many instances as there may be"));
}

#[test]
fn an_application_that_is_taken_away_leaves_no_dialogue() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.begin(vec![invoke(1)]);
    let mut outs = Vec::new();
    let mut side = tcu::Side { transactions: &mut world.near, outs: &mut outs };
    world.application.end(world.now, &mut side);
    assert!(world.near.is_empty() && outs.len() == 1);
    let _ = a;
}

/// Dialogues, instances that come, die, stick and answer, by seed: nothing is left over, and every
/// dialogue ends at its peer.
#[test]
fn whatever_happens_every_dialogue_ends() {
    for seed in 0..300 {
        let mut draw = Draw::new(seed);
        let mut world = World::new(Settings { queue_octets_max: 4_096, ..settings() });
        let mut open: Vec<u64> = Vec::new();
        for _ in 0..120 {
            let all: Vec<InstanceId> = world.instances.keys().copied().collect();
            let one = (!all.is_empty()).then(|| all[draw.below(all.len() as u32) as usize]);
            match (draw.below(10), one) {
                (0, _) if all.len() < 4 => {
                    let spelling = if draw.is() { JSON } else { Spelling::Tagged };
                    world.instance("", spelling);
                }
                (1, Some(id)) => world.kill(id),
                (2, Some(id)) => world.stick(id, draw.is()),
                (3..=5, _) => open.push(world.begin(vec![invoke(1)]).number()),
                (6 | 7, Some(id)) => {
                    for told in world.told_to(id) {
                        let Some(dialogue) = told.dialogue().filter(|_| !told.is_last()) else {
                            continue;
                        };
                        let state = draw.is().then_some(STATE);
                        match draw.below(3) {
                            0 => world.ask(id, &go_on(dialogue, state, Portion::default())),
                            1 => world.ask(id, &end(dialogue, Portion::default())),
                            _ => {}
                        }
                    }
                }
                (8, _) if !open.is_empty() => {
                    let far = open[draw.below(open.len() as u32) as usize];
                    let is_active = world.heard.iter().any(|it| {
                        matches!(it, Indication::Continue { dialogue, .. } if *dialogue == far)
                    });
                    if is_active && world.far.numbered(far).is_some() {
                        world.far(&go_on(far, None, Portion::of(vec![])));
                    }
                }
                _ => world.pass(Duration::from_millis(draw.below(1_500).into())),
            }
        }
        let all: Vec<InstanceId> = world.instances.keys().copied().collect();
        all.into_iter().for_each(|id| world.kill(id));
        world.pass(Duration::from_secs(200));
        let left = (world.status().dialogues, world.near.len(), world.far.len());
        assert_eq!(left, (0, 0, 0), "seed {seed}: {:?}", world.status());
        assert_eq!(world.application.deadline(), None, "seed {seed}");
        let ended = world.heard.iter().filter(|it| it.is_last()).count();
        assert_eq!(ended, open.len(), "seed {seed}");
    }
}
