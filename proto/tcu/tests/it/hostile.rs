//! Programs and peers that mean harm: what they can take, and what stays as it is.

use crate::values::{Draw, SHORT_MESSAGE};
use crate::world::{SECRET, World, invoke, result, settings};
use authentication::Keys;
use bytes::Bytes;
use core::net::IpAddr;
use m3ua::codec::PointCode;
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, Class, Digits, Title};
use tcap::codec::{Code, TransactionId, Writer};
use tcap::{In, Out, Transactions};
use tcu::{
    Application, Client, ClientEvent, Component, Hello, Indication, InstanceId, MESSAGE_OCTETS_MAX,
    Portion, Refusal, Request, Settings, Side, Speech, Spelling, ToApplication, Wanted,
    indications,
};

const JSON: Spelling = Spelling::Json;
const STATE: &[u8] = b"s";

const fn go_on(dialogue: u64, state: Option<Bytes>, portion: Portion) -> Request {
    Request::Continue { dialogue, state, portion }
}

fn dialogue_of(told: &[Indication]) -> u64 {
    told.first().and_then(Indication::dialogue).expect("it was told of a dialogue")
}

fn unitdata(data: Vec<u8>) -> sccp::Unitdata {
    sccp::Unitdata {
        called: Address::subsystem(None, 6),
        calling: Address::subsystem(None, 8),
        class: Class { is_sequenced: false, returns: false },
        sls: 0,
        importance: None,
        data: data.into(),
    }
}

#[test]
fn what_waits_for_a_program_that_hangs_has_an_end_without_a_tick() {
    let most = 8_192;
    let mut world = World::new(Settings { queue_octets_max: most, ..settings() });
    let a = world.instance("", JSON);
    let begun = world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    world.ask(a, &go_on(dialogue, None, Portion::of(vec![result(1)])));
    world.stick(a, true);
    // It counts as slow: no timer of it runs any more.
    world.far(&go_on(begun.number(), None, Portion::default()));
    world.pass(Duration::from_secs(3));
    let bound = 2 * MESSAGE_OCTETS_MAX + most as usize;
    let is_bound = |world: &World| {
        let waiting = world.status().instances[0].waiting_octets;
        assert!(waiting <= bound, "{waiting}");
    };
    for _ in 0..5_000 {
        world.far(&go_on(begun.number(), None, Portion::default()));
        is_bound(&world);
    }
    for in_service in [true, false].into_iter().cycle().take(5_000) {
        let point_code = PointCode::new(7).unwrap();
        let told = Indication::State { point_code, subsystem: 8, in_service };
        world.application.tell(world.now, &told);
        is_bound(&world);
    }
    world.pass(Duration::ZERO);
    assert!(world.instances[&a].is_closed && world.status().instances.is_empty());
    assert_eq!(world.status().counts.too_slow, 1);
}

#[test]
fn a_dialogue_that_two_instances_died_of_ends_before_a_third() {
    let mut world = World::new(settings());
    let all = [0; 4].map(|_| world.instance("", JSON));
    world.begin(vec![invoke(1)]);
    for _ in 0..2 {
        let has = |id: &&InstanceId| world.instances.get(id).is_some_and(|it| !it.told.is_empty());
        let holder = *all.iter().find(has).expect("one was told");
        world.told_to(holder);
        world.kill(holder);
    }
    let left = world.instances.values();
    assert_eq!(left.filter(|it| !it.told.is_empty()).count(), 0, "nobody else is told");
    assert!(matches!(world.heard()[..], [Indication::UAbort { .. }]));
    assert_eq!((world.status().dialogues, world.near.len()), (0, 0));
    // One that only waits for its peer goes from one to the next as often as it has to.
    let mut world = World::new(settings());
    let mut one = world.instance("", JSON);
    world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(one));
    let state = Some(Bytes::from_static(STATE));
    world.ask(one, &go_on(dialogue, state, Portion::of(vec![result(1)])));
    for _ in 0..5 {
        let next = world.instance("", JSON);
        world.kill(one);
        assert!(matches!(world.told_to(next)[..], [Indication::Resume { .. }]));
        one = next;
    }
}

/// The indications of a message, each written and read in both spellings.
fn are_read(message: Vec<u8>, seed: u64) {
    let settings = tcap::Settings {
        shard: 0,
        secret: 7,
        dialogues_max: 8,
        dialogues_per_source_max: 8,
        sources_elsewhere: false,
        idle: Duration::from_secs(60),
    };
    let mut transactions = Transactions::new(settings, Time::ZERO);
    let mut outs = Vec::new();
    transactions.step(Time::ZERO, In::Unitdata(unitdata(message)), &mut outs);
    for it in indications(&outs) {
        let speech = it.portion().map_or(Speech::Unknown, |portion| {
            Speech::of(portion.context.as_deref(), &portion.components)
        });
        for spelling in [Spelling::Tagged, JSON] {
            let mut octets = Vec::new();
            let message = ToApplication::Indication(it.clone());
            spelling.write(&message, speech, &mut octets);
            let read = spelling.read(&octets, &|_| speech);
            let text = String::from_utf8_lossy(&octets);
            assert_eq!(read, Ok(message), "seed {seed}: {text}");
        }
    }
}

#[test]
fn what_the_gateway_says_of_any_message_is_read() {
    let nothing = [0x05, 0x00];
    let mut plain = Vec::new();
    let of = TransactionId::of(1);
    Writer::begin(of).request(SHORT_MESSAGE, &nothing).write(&mut plain, |_| ());
    are_read(plain, 0);
    for seed in 0..20_000 {
        let mut draw = Draw::new(seed);
        let mut message = Vec::new();
        let mut user_information = Vec::new();
        map::dialogue::wrap(&mut user_information, &[0xa0, 0]);
        let writer = Writer::begin(of).request(SHORT_MESSAGE, &user_information);
        writer.write(&mut message, |out| {
            out.invoke(1, None, Code::Local(45), Some(&[0x30, 0]));
            out.result(2, true, None);
            out.error(3, Code::Local(27), Some(&[0x30, 0]));
        });
        for _ in 0..1 + draw.below(3) {
            let place = draw.below(u32::try_from(message.len()).unwrap()) as usize;
            message[place] ^= 1 << draw.below(8);
        }
        are_read(message, seed);
    }
}

#[test]
fn a_title_without_digits_is_read() {
    let title = Title::e164(Digits::parse("").expect("no digits"));
    let (called, calling) = (Address::subsystem(None, 6), Address::title(title, 8));
    let it = Indication::Uni { called, calling, portion: Portion::default() };
    let message = ToApplication::Indication(it);
    let mut octets = Vec::new();
    JSON.write(&message, Speech::Unknown, &mut octets);
    assert_eq!(JSON.read(&octets, &|_| Speech::Unknown), Ok(message));
}

#[test]
fn a_client_passes_over_what_it_cannot_read() {
    let mut client = Client::new(Hello::new("hlr", "", "i"), JSON, None);
    let mut told = Vec::new();
    let octets = b"{\"tc\":\"never heard of\"}\n{\"tc\":\"slow\",\"slow\":true}\n";
    client.received(octets, &mut |event| told.push(event)).expect("it goes on");
    assert!(
        matches!(told[..], [ClientEvent::Unread(_), ClientEvent::Indication(Indication::Slow(_))]),
        "{told:?}"
    );
}

fn asks(world: &mut World, a: InstanceId, calling: Address, portion: Portion) -> Vec<Indication> {
    let called = Address::subsystem(None, 8);
    world.ask(a, &Request::Begin { reference: 7, called, calling, state: None, portion });
    world.told_to(a)
}

#[test]
fn a_program_speaks_as_its_own_subsystem_alone() {
    let own = PointCode::new(9).unwrap();
    let mut world = World::new(Settings { point_codes: vec![own], ..settings() });
    let a = world.instance("", JSON);
    let title =
        |digits, subsystem| Address::title(Title::e164(Digits::parse(digits).unwrap()), subsystem);
    let foreign = [
        Address::subsystem(None, 8),
        Address { subsystem: None, ..Address::subsystem(None, 6) },
        Address::subsystem(PointCode::new(10), 6),
        title("447800", 6),
        title("447", 6),
        title("4477", 7),
    ];
    for calling in foreign {
        let told = asks(&mut world, a, calling, Portion::of(vec![invoke(1)]));
        let [Indication::Refused { reference: Some(7), why: Refusal::Calling, .. }] = told[..]
        else {
            panic!("{calling:?}: {told:?}")
        };
        let called = Address::subsystem(None, 8);
        world.ask(a, &Request::Uni { called, calling, portion: Portion::default() });
        assert!(matches!(
            world.told_to(a)[..],
            [Indication::Refused { why: Refusal::Calling, .. }]
        ));
    }
    assert!(world.heard().is_empty() && world.near.is_empty());
    for calling in
        [Address::subsystem(None, 6), Address::subsystem(Some(own), 6), title("447700900", 6)]
    {
        let told = asks(&mut world, a, calling, Portion::of(vec![invoke(1)]));
        assert!(matches!(told[..], [Indication::Begun { .. }]), "{calling:?}: {told:?}");
    }
}

#[test]
fn what_a_program_asks_for_is_bounded() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    let own = Address::subsystem(None, 6);
    let refused = |world: &mut World, portion| {
        let told = asks(world, a, own, portion);
        let [Indication::Refused { why, .. }] = told[..] else { panic!("{told:?}") };
        why
    };
    let context = Some(Bytes::from(vec![0x2a; 65]));
    let long = Portion { context, ..Portion::default() };
    assert_eq!(refused(&mut world, long), Refusal::Long);
    let many = Portion::of((0..33).map(invoke).collect());
    assert_eq!(refused(&mut world, many), Refusal::Full);
    let parameter = [&[0x04, 0x82, 0x0f, 0x80][..], &[7; 0xf80]].concat();
    let large = |id| {
        let (code, parameter) = (tcu::Code::Local(999), Some(Bytes::from(parameter.clone())));
        let (linked, class, time_ms) = (None, None, None);
        Component::Invoke { id, linked, code, parameter, class, time_ms }
    };
    assert_eq!(refused(&mut world, Portion::of(vec![large(1)])), Refusal::Long);
    assert!(world.near.is_empty() && world.heard().is_empty());
    // END with what SCCP cannot carry is refused, and its dialogue stands.
    world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    let portion = Portion::of(vec![large(1)]);
    world.ask(a, &Request::End { dialogue, is_prearranged: false, portion });
    assert!(matches!(world.told_to(a)[..], [Indication::Refused { why: Refusal::Long, .. }]));
    assert_eq!(world.near.len(), 1);
}

#[test]
fn what_is_held_does_not_keep_the_message_that_it_came_in() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.stick(a, true);
    let mut message = Vec::new();
    let writer = Writer::begin(TransactionId::of(1)).request(SHORT_MESSAGE, &[]);
    writer.write(&mut message, |out| {
        out.invoke(1, None, Code::Local(45), Some(&[0x30, 0]));
        // The rest is looked at by nobody.
        (0..2_000).for_each(|_| out.result(9, true, None));
    });
    let (data, mut outs) = (unitdata(message), Vec::new());
    let octets = data.data.clone();
    world.near.step(world.now, In::Unitdata(data), &mut outs);
    let told = indications(&outs);
    drop(outs);
    let mut outs = Vec::new();
    for it in told {
        let mut side = Side { transactions: &mut world.near, outs: &mut outs };
        world.application.indicated(world.now, it, &mut side);
    }
    assert!(octets.is_unique());
    assert_eq!(world.status().dialogues, 1);
}

#[test]
fn a_message_that_is_too_long_to_be_said_ends_its_dialogue_and_no_connection() {
    for spelling in [JSON, Spelling::Tagged] {
        let mut world = World::new(settings());
        let a = world.instance("", spelling);
        let mut message = Vec::new();
        let parameter = [&[0x04, 0x83, 0x01, 0x11, 0x70][..], &vec![7; 70_000]].concat();
        Writer::begin(TransactionId::of(1)).write(&mut message, |out| {
            out.invoke(1, None, Code::Local(45), Some(&parameter));
        });
        let mut outs = Vec::new();
        world.near.step(world.now, In::Unitdata(unitdata(message)), &mut outs);
        for it in indications(&outs) {
            let mut side = Side { transactions: &mut world.near, outs: &mut outs };
            world.application.indicated(world.now, it, &mut side);
        }
        assert!(outs.iter().any(|it| matches!(it, Out::Unitdata(_))), "its peer is told");
        world.begin(vec![invoke(1)]);
        assert!(matches!(world.told_to(a)[..], [Indication::Begin { .. }]));
        assert_eq!((world.status().counts.too_long, world.near.len()), (1, 1));
        assert!(!world.instances[&a].is_closed);
    }
}

#[test]
fn nothing_of_a_dialogue_passes_its_begin() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    world.stick(a, true);
    for _ in 0..400 {
        world.begin(vec![invoke(1)]);
    }
    // The answer to nothing is rejected, and its user told.
    let last = world.begin(vec![invoke(1), result(9)]);
    world.stick(a, false);
    let told = world.told_to(a);
    assert_eq!((told.len(), last.number() > 0), (402, true));
    let dialogue = told[told.len() - 1].dialogue();
    let of: Vec<_> = told.iter().filter(|it| it.dialogue() == dialogue).collect();
    assert!(matches!(of[..], [Indication::Begin { .. }, Indication::LocalReject { .. }]), "{of:?}");
}

#[test]
fn what_has_not_left_the_queue_is_not_known_to_who_says_something() {
    let mut world = World::new(settings());
    let a = world.instance("", JSON);
    let begun = world.begin(vec![invoke(1)]);
    let dialogue = dialogue_of(&world.told_to(a));
    let state = Some(Bytes::from_static(STATE));
    world.ask(a, &go_on(dialogue, state, Portion::of(vec![result(1)])));
    world.heard();
    // It reads nothing; other dialogues fill its connection.
    world.stick(a, true);
    for _ in 0..400 {
        world.begin(vec![invoke(1)]);
    }
    world.far(&go_on(begun.number(), None, Portion::of(vec![invoke(2)])));
    // What it says now crosses that.
    world.ask(a, &go_on(dialogue, None, Portion::default()));
    world.kill(a);
    let b = world.instance("", JSON);
    let told = world.told_to(b);
    let of: Vec<_> = told.iter().filter(|it| it.dialogue() == Some(dialogue)).collect();
    assert!(
        matches!(of[..], [Indication::Resume { .. }, Indication::Continue { portion, .. }]
            if portion.components == [invoke(2)]),
        "{of:?}"
    );
}

#[test]
fn who_only_keeps_a_state_is_still_owed_what_it_was_told() {
    let mut world = World::new(settings());
    let [a, b] = [0; 2].map(|_| world.instance("", JSON));
    world.begin(vec![invoke(1)]);
    let (one, other) = if world.instances[&a].told.is_empty() { (b, a) } else { (a, b) };
    let dialogue = dialogue_of(&world.told_to(one));
    world.ask(one, &Request::Keep { dialogue, state: Bytes::from_static(STATE) });
    world.kill(one);
    let told = world.told_to(other);
    let [Indication::Begin { is_again: true, portion, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(portion.components, [invoke(1)]);
}

#[test]
fn a_dialogue_of_version_1_is_resumed_by_its_names() {
    let mut world = World::new(settings());
    let [a, b] = [0; 2].map(|_| world.instance("", JSON));
    let (called, calling) = (Address::subsystem(None, 6), Address::subsystem(None, 8));
    let portion = Portion::of(vec![invoke(1)]);
    let begin = Request::Begin { reference: 0, called, calling, state: None, portion };
    let begun = world.far(&begin).expect("there is room");
    let (one, other) = if world.instances[&a].told.is_empty() { (b, a) } else { (a, b) };
    let dialogue = dialogue_of(&world.told_to(one));
    let state = Some(Bytes::from_static(STATE));
    world.ask(one, &go_on(dialogue, state, Portion::of(vec![result(1)])));
    world.far(&go_on(begun.number(), None, Portion::of(vec![invoke(2)])));
    world.instances.get_mut(&other).unwrap().events.clear();
    world.kill(one);
    let told = world.told_to(other);
    assert!(
        matches!(&told[..], [Indication::Resume { .. }, Indication::Continue { portion, .. }]
        if portion.components == [invoke(2)]),
        "{told:?}"
    );
    assert!(world.instances[&other].events.is_empty(), "{:?}", world.instances[&other].events);
}

#[test]
fn instances_of_a_group_that_is_configured_no_more_make_nothing_available() {
    let groups = |name: &str| Settings { groups: vec![name.into()], ..settings() };
    let mut world = World::new(groups("blue"));
    world.instance("blue", JSON);
    assert!(world.application.is_available());
    world.set_settings(groups("green"));
    assert!(!world.application.is_available());
    world.begin(vec![invoke(1)]);
    assert_eq!(world.status().counts.absent, 1);
}

#[test]
fn who_connects_again_and_again_pushes_out_nobody_but_itself() {
    let mut world = World::new(settings());
    let from = |last: u8| Some(IpAddr::from([192, 0, 2, last]));
    let honest = InstanceId(1_000);
    world.application.connected(world.now, honest, false, from(1));
    for other in 0..500 {
        world.now += Duration::from_millis(1);
        world.application.connected(world.now, InstanceId(2_000 + other), false, from(2));
    }
    let closed = world.application.take_wanted();
    assert!(closed.iter().any(|it| matches!(it, Wanted::Close(_))));
    assert!(!closed.contains(&Wanted::Close(honest)));
    assert_eq!(world.status().instances.len(), tcu::GREETING_MAX);
}

#[test]
fn the_dialogues_of_an_instance_that_is_lost_end_some_at_a_time() {
    let mut world = World::new(Settings { dialogues_max: 9_000, ..settings() });
    let a = world.instance("", Spelling::Tagged);
    for _ in 0..5_000 {
        world.told_to(a);
        world.heard();
        let told = asks(&mut world, a, Address::subsystem(None, 6), Portion::default());
        let [Indication::Begun { dialogue, .. }] = told[..] else { panic!("{told:?}") };
        let heard = dialogue_of(&world.heard());
        world.far(&go_on(heard, None, Portion::default()));
        world.ask(a, &go_on(dialogue, None, Portion::default()));
    }
    world.told_to(a);
    world.heard();
    world.kill(a);
    let first = world.heard().len();
    assert!((1..5_000).contains(&first), "{first} at once");
    world.pass(Duration::ZERO);
    assert_eq!(first + world.heard().len(), 5_000);
    assert_eq!((world.near.len(), world.status().dialogues), (0, 0));
}

#[test]
fn dialogues_that_nobody_takes_over_end_some_at_a_time() {
    let mut world = World::new(Settings { dialogues_max: 9_000, ..settings() });
    let a = world.instance("", Spelling::Tagged);
    for _ in 0..5_000 {
        world.told_to(a);
        world.heard();
        let told = asks(&mut world, a, Address::subsystem(None, 6), Portion::default());
        let [Indication::Begun { dialogue, .. }] = told[..] else { panic!("{told:?}") };
        // With a state another instance could go on.
        let state = Bytes::from_static(b"s");
        world.ask(a, &Request::Keep { dialogue, state });
        let heard = dialogue_of(&world.heard());
        world.far(&go_on(heard, None, Portion::default()));
        world.ask(a, &go_on(dialogue, None, Portion::default()));
    }
    world.told_to(a);
    world.heard();
    world.kill(a);
    assert_eq!(world.heard().len(), 0, "they wait for another one");
    world.now += settings().resume;
    let first = world.tick_once();
    assert!((1..5_000).contains(&first), "{first} at once");
    world.pass(Duration::ZERO);
    assert_eq!((world.near.len(), world.status().dialogues), (0, 0));
}

#[test]
fn timers_that_fire_together_are_looked_at_some_at_a_time() {
    let mut world = World::new(Settings { dialogues_max: 9_000, ..settings() });
    let begin = tcap::Begin {
        called: Address::subsystem(None, 8),
        calling: Address::subsystem(None, 6),
        context: None,
        user_information: &[],
    };
    let (mut outs, now) = (Vec::new(), world.now);
    for _ in 0..3_000 {
        let says = [tcap::Say::Invoke {
            id: 1,
            linked_id: None,
            class: tcap::OperationClass::One,
            time: Duration::from_secs(5),
            code: Code::Local(45),
            parameter: None,
        }];
        world.near.begin(now, &begin, &says, &mut outs).expect("there is room");
    }
    let later = now + Duration::from_secs(10);
    let (mut told, mut turns) = (0, 0);
    while world.near.deadline().is_some_and(|it| it <= later) {
        outs.clear();
        world.near.tick(later, &mut outs);
        assert!(outs.len() <= 1_024, "{} at once", outs.len());
        (told, turns) = (told + outs.len(), turns + 1);
        assert!(turns < 10);
    }
    assert_eq!(told, 3_000);
}

#[test]
fn a_challenge_is_new_and_tells_nothing_of_any_secret() {
    let keys = Keys::parse(SECRET).unwrap();
    let own = Keys::parse("a secret of its own").unwrap();
    let settings = Settings { keys: Some(keys), ..settings() };
    let mut application = Application::new(settings, own.clone());
    let mut transactions = World::new(crate::world::settings()).near;
    let mut outs = Vec::new();
    let mut challenges = Vec::new();
    for id in [1, 2].map(InstanceId) {
        let greeting = Client::new(Hello::new("hlr", "", "i"), JSON, None).greeting();
        let mut side = Side { transactions: &mut transactions, outs: &mut outs };
        application.connected(Time::ZERO, id, true, None);
        application.said(Time::ZERO, id, &greeting, &mut side);
        for wanted in application.take_wanted() {
            let Wanted::Send(_, octets) = wanted else { panic!("{wanted:?}") };
            let read = JSON.read(&octets, &|_| Speech::Unknown).unwrap();
            let ToApplication::Challenge(challenge) = read else { panic!("{read:?}") };
            challenges.push(challenge);
        }
    }
    // HMAC-SHA-256 under the key that was drawn for this alone.
    let expected = [1u64, 2].map(|it| own.prove(b"tcu challenge", &it.to_be_bytes()).remove(0));
    assert_eq!(challenges, expected.map(Bytes::from));
}

#[test]
fn who_has_a_key_that_is_none_any_more_goes() {
    let [old, new] = ["0123456789abcdef", "fedcba9876543210"];
    let keys = |text: &str| Some(Keys::parse(text).unwrap());
    let mut world = World::new(Settings { keys: keys(old), ..settings() });
    world.source = Some(IpAddr::from([192, 0, 2, 1]));
    let a = world.instance_with("", JSON, true, keys(old));
    world.set_settings(Settings { keys: keys(&format!("{new}\n{old}")), ..settings() });
    assert!(!world.instances[&a].is_closed, "it is one of two");
    let b = world.instance_with("", JSON, true, keys(new));
    world.set_settings(Settings { keys: keys(new), ..settings() });
    assert!(world.instances[&a].is_closed && !world.instances[&b].is_closed);
    assert_eq!(world.status().instances.len(), 1);
    // Who came before there was a key has none.
    let mut world = World::new(settings());
    world.source = Some(IpAddr::from([192, 0, 2, 1]));
    let c = world.instance("", JSON);
    world.source = None;
    let d = world.instance("", JSON);
    world.set_settings(Settings { keys: keys(new), ..settings() });
    assert!(world.instances[&c].is_closed && !world.instances[&d].is_closed);
}

#[test]
fn a_stranger_is_told_nothing_before_its_proof() {
    let keys = Some(Keys::parse("0123456789abcdef").unwrap());
    let other = Some(Keys::parse("fedcba9876543210").unwrap());
    let groups = vec!["blue".to_owned()];
    let mut world = World::new(Settings { keys, groups, instances_max: 1, ..settings() });
    for group in ["blue", "green"] {
        let a = world.instance_with(group, JSON, true, other.clone());
        assert!(matches!(&world.instances[&a].events[..], [ClientEvent::Bye(why)]
            if why == "the proof is not that of a key"));
    }
    let long = InstanceId(99);
    world.application.connected(world.now, long, true, None);
    world.say(long, &[b"{\"tc\":\"", &[b'x'; 5_000][..], b"\"}\n"].concat());
    assert!(world.status().instances.is_empty());
}
