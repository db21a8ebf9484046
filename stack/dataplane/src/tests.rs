//! The control against a forwarder whose every word a test says.

use crate::{Channels, Dataplane, Desired, GLOBAL, Kind, Notification, Numbers, Rank};
use forwarder::Launch;
use forwarder::ipc::{self, Driver, PortSpec, Reply, Request};
use machine::{Duration, Time};
use nodes::Program;
use nodes::program::{Item, Removed};
use runtime::{Ask, AskError, ChannelEvent, ChannelOrder, Effects, PortId, Ticket};
use serde_json::json;

const CHANNELS: Channels = Channels { control: PortId(4), questions: PortId(9) };
const WIRE: PortId = CHANNELS.control;

/// A control, and what it wants.
struct World {
    dataplane: Dataplane,
    now: Time,
    out: Effects,
}

impl World {
    fn new() -> Self {
        let (socket, log) = ("/s".into(), "/".into());
        let launch = Launch { socket, command: vec![], log, ..Launch::default() };
        let now = Time::from_millis(1);
        Self { dataplane: Dataplane::new(now, launch, CHANNELS), now, out: Effects::default() }
    }

    /// One that a forwarder has welcomed, which keeps `memo`.
    fn welcomed(ports: Vec<PortSpec>, memo: &Numbers) -> Self {
        let mut it = Self::new();
        it.dataplane.tick(it.now, &mut it.out);
        assert_eq!(it.event(WIRE, ChannelEvent::Up), None);
        let memo = serde_json::to_vec(memo).expect("it can be written");
        assert_eq!(
            it.hears(WIRE, &Reply::Welcome { ports, memo, is_taken: false }),
            Some(Notification::Welcomed)
        );
        it.out.clear();
        it
    }

    fn event(&mut self, port: PortId, event: ChannelEvent<'_>) -> Option<Notification> {
        self.dataplane.step(self.now, port, event, &mut self.out)
    }

    fn hears(&mut self, port: PortId, reply: &Reply) -> Option<Notification> {
        let mut octets = Vec::new();
        ipc::write(reply, &mut octets).expect("it is short");
        self.event(port, ChannelEvent::Message(&octets))
    }

    fn says(&mut self, ports: &[&str]) {
        self.dataplane.say(self.now, &mut self.out, |numbers| desired(ports, numbers));
    }

    fn asks(&mut self, ticket: u64, params: &[(&str, &str)]) -> Option<runtime::Answered> {
        let params = params.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned()));
        let ask = Ask { path: "plane/ports".into(), params: params.collect() };
        self.dataplane.question(self.now, "ports", &ask, Ticket(ticket), &mut self.out)
    }

    /// What was written to a channel since, as the forwarder reads it.
    fn written(&mut self, port: PortId) -> Vec<Request> {
        let mut requests = Vec::new();
        for (to, order) in std::mem::take(&mut self.out.channels) {
            let ChannelOrder::Write(octets) = order else { continue };
            let mut at = 0;
            while to == port
                && let Some((request, used)) = ipc::read(&octets[at..]).expect("a message")
            {
                requests.push(request);
                at += used;
            }
        }
        requests
    }
}

fn spec(number: u16, name: &str) -> PortSpec {
    let driver = Driver::AfPacket { device: name.to_owned() };
    PortSpec { port: number, name: name.to_owned(), driver, mac: None, mtu: 1_500 }
}

/// Ports of these names, and a route over each.
fn desired(ports: &[&str], numbers: &mut Numbers) -> Desired {
    numbers.begin();
    let mut out = Desired::default();
    for name in ports {
        let number = numbers.of_port(name);
        out.ports.insert(number, spec(number, name));
        numbers.of(Kind::Interface, name);
        let bridge = numbers.of(Kind::Bridge, name);
        let hop = Program::Remove(Removed::Bridge(bridge));
        out.put(Rank::Table, Removed::Bridge(bridge), hop);
    }
    numbers.end();
    out
}

#[test]
fn a_forwarder_is_looked_for_until_it_stands_and_is_told_everything() {
    let mut world = World::new();
    world.dataplane.tick(world.now, &mut world.out);
    assert!(matches!(&world.out.channels[..], [(WIRE, ChannelOrder::Connect(_))]));
    assert_eq!(world.dataplane.deadline(), Some(world.now + Duration::from_secs(10)));
    world.event(WIRE, ChannelEvent::Absent(None));
    assert_eq!(world.dataplane.tally().refused, 0, "it is being started");
    let soon = world.now + Duration::from_millis(5);
    assert_eq!(world.dataplane.deadline(), Some(soon), "and looked for as soon as it may stand");
    world.now += Duration::from_secs(2);
    world.event(WIRE, ChannelEvent::Absent(None));
    let later = world.now + Duration::from_millis(250);
    assert_eq!(world.dataplane.deadline(), Some(later), "but not for ever");
    world.event(WIRE, ChannelEvent::Absent(Some("no such program")));
    assert_eq!(world.dataplane.refusals()[0].1, "no such program");
    let again = world.dataplane.deadline().expect("another attempt");
    assert_eq!(again, world.now + Duration::from_millis(250));
    world.out.clear();
    world.dataplane.tick(again, &mut world.out);
    world.event(WIRE, ChannelEvent::Up);
    assert_eq!(world.dataplane.deadline(), Some(world.now + Duration::from_secs(10)));
    assert!(!world.dataplane.is_controlled());
    let welcome = Reply::Welcome { ports: vec![], memo: vec![], is_taken: false };
    assert_eq!(world.hears(WIRE, &welcome), Some(Notification::Welcomed));
    world.says(&["a"]);
    let told = world.written(WIRE);
    let [Request::Open(port), Request::Apply(programs), Request::Keep(_)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((port.port, &*port.name), (0, "a"));
    assert!(matches!(
        &programs[..],
        [Program::Begin { .. }, Program::Remove(Removed::Bridge(1)), Program::End { .. }]
    ));
    assert!(world.dataplane.is_controlled() && world.dataplane.deadline().is_none());
}

#[test]
fn the_next_control_goes_on_with_the_numbers_of_the_one_before() {
    let mut numbers = Numbers::default();
    desired(&["gone", "a", "b"], &mut numbers);
    let mut world = World::welcomed(vec![spec(0, "gone"), spec(1, "a")], &numbers);
    world.says(&["b", "a"]);
    let told = world.written(WIRE);
    let [Request::Open(b), Request::Apply(_), Request::Close { port: 0 }, Request::Keep(memo)] =
        &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!((b.port, &*b.name), (2, "b"), "what stands as it shall is left alone");
    let kept: Numbers = serde_json::from_slice(memo).expect("numbers");
    assert_eq!((kept.known(Kind::Port, "b"), kept.known(Kind::Port, "gone")), (Some(2), None));
    world.says(&["a", "b"]);
    let told = world.written(WIRE);
    assert!(matches!(&told[..], [Request::Keep(_)]), "nothing differs: {told:?}");
    world.says(&["b"]);
    let told = world.written(WIRE);
    let [Request::Apply(programs), Request::Close { port: 1 }, Request::Keep(_)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(programs[..], [Program::Remove(Removed::Bridge(2))]);
}

#[test]
fn a_forwarder_that_does_not_welcome_its_control_is_given_up() {
    let mut world = World::new();
    world.dataplane.tick(world.now, &mut world.out);
    world.event(WIRE, ChannelEvent::Up);
    let until = world.dataplane.deadline().expect("a time");
    world.out.clear();
    world.dataplane.tick(until, &mut world.out);
    assert!(matches!(&world.out.channels[..], [(WIRE, ChannelOrder::HangUp)]));
    assert_eq!((world.dataplane.tally().lost, world.dataplane.tally().refused), (1, 1));
    let welcome = Reply::Welcome { ports: vec![], memo: vec![], is_taken: false };
    assert_eq!(world.hears(WIRE, &welcome), None, "what was on its way is nobody's");
    assert!(world.event(WIRE, ChannelEvent::Message(&[0, 0, 0, 1, 0xC1])).is_none());
    world.dataplane.drain(false, &mut world.out);
    assert_eq!(world.dataplane.deadline(), None, "and not looked for when the site drains");
}

#[test]
fn what_is_no_message_ends_the_channel() {
    let mut world = World::welcomed(vec![], &Numbers::default());
    world.says(&["a"]);
    world.out.clear();
    world.event(WIRE, ChannelEvent::Message(&[0, 0, 0, 1, 0xC1]));
    assert!(matches!(&world.out.channels[..], [(WIRE, ChannelOrder::HangUp)]));
    assert!(!world.dataplane.is_controlled());
    assert!(world.dataplane.refusals()[0].1.contains("not a message"));
}

#[test]
fn questions_are_answered_later_with_names_for_numbers() {
    let mut world = World::welcomed(vec![], &Numbers::default());
    world.says(&["a"]);
    world.out.clear();
    assert_eq!(
        world.asks(7, &[("port", "x")]),
        Some(Err(AskError::NotFound("port x".to_owned()))),
        "a name that nobody has needs no forwarder"
    );
    assert_eq!(world.asks(7, &[("port", "a"), ("vrf", GLOBAL)]), None);
    assert!(matches!(world.out.channels[0], (PortId(9), ChannelOrder::Connect(_))));
    let told = world.written(PortId(9));
    let [Request::Ask { id: 7, path, params }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(path, "ports");
    assert_eq!(params[0], ("port".to_owned(), "0".to_owned()));
    assert_eq!(params[1].1, GLOBAL);
    assert_eq!((world.asks(8, &[]), world.asks(9, &[])), (None, None));
    let note = "vrf 0 hop 10.0.0.2 at interface 1 out 1 then vrf 0 hop 3 out 0";
    let row = json!([{ "port": 0, "bridge": 1, "vrf": 5, "note": note }]);
    world.hears(PortId(9), &Reply::Answer { id: 7, answer: Ok(row.clone()) });
    world.hears(PortId(9), &Reply::Answer { id: 7, answer: Ok(row) });
    world.hears(PortId(9), &Reply::Answer { id: 8, answer: Err("no".to_owned()) });
    let note = "vrf global hop 10.0.0.2 at interface a out a then vrf global hop 3 out none";
    let named = Ok(json!([{ "port": "a", "bridge": "a", "vrf": 5, "note": note }]));
    let no = Err(AskError::BadParameter("no".to_owned()));
    let page = json!({ "rows": [{ "bridge": 1, "pseudowire": 7 }], "next": null });
    world.hears(PortId(9), &Reply::Answer { id: 9, answer: Ok(page) });
    let page = Ok(json!({ "rows": [{ "bridge": "a", "pseudowire": 7 }], "next": null }));
    assert_eq!(world.out.answers, [(Ticket(7), named), (Ticket(8), no), (Ticket(9), page)]);
}

#[test]
fn whoever_asks_a_forwarder_that_is_away_is_told_and_nothing_grows() {
    let mut world = World::new();
    let most = crate::QUESTIONS_MAX as u64;
    for ticket in 0..3 * most {
        // As the runtime does: what was asked first keeps its place.
        let refused = (ticket >= most).then_some(Err(AskError::Unreachable));
        assert_eq!(world.asks(ticket, &[]), refused);
    }
    world.now += runtime::DEFERRED_TIME;
    assert_eq!(world.asks(500, &[]), None, "those before were given up");
    for ticket in 501..500 + most {
        assert_eq!(world.asks(ticket, &[]), None);
    }
    let connects = world.out.channels.iter();
    let connects = connects.filter(|(_, order)| matches!(order, ChannelOrder::Connect(_))).count();
    assert_eq!(connects, 1);
    world.event(PortId(9), ChannelEvent::Absent(Some("nobody is there")));
    assert_eq!(world.out.answers.len(), crate::QUESTIONS_MAX);
    assert!(world.out.answers.iter().all(|(_, it)| *it == Err(AskError::Unreachable)));
    world.out.clear();
    assert_eq!(world.asks(1_000, &[]), None);
    assert!(matches!(world.out.channels[0], (PortId(9), ChannelOrder::Connect(_))));
    world.event(PortId(9), ChannelEvent::Down("it is gone"));
    assert_eq!(world.out.answers, [(Ticket(1_000), Err(AskError::Unreachable))]);
}

#[test]
fn who_is_turned_away_is_told_why_and_what_is_over_is_no_alarm() {
    let mut world = World::new();
    let refused = |why: &str| {
        let what = "control of the forwarder".to_owned();
        Reply::Refused { what, why: why.to_owned(), of: None }
    };
    for _ in 0..3 {
        let at = world.dataplane.deadline().expect("an attempt");
        world.now = world.now.max(at);
        world.dataplane.tick(world.now, &mut world.out);
        world.event(WIRE, ChannelEvent::Up);
        world.hears(WIRE, &refused("it does not have the key"));
        world.event(WIRE, ChannelEvent::Down("Broken pipe"));
    }
    let texts = |world: &World| -> Vec<String> {
        let alarms = world.dataplane.alarms(world.now, "pe1");
        alarms.iter().map(|it| it.text.clone()).collect()
    };
    assert_eq!(
        texts(&world),
        [
            "the forwarder takes no control from here: it does not have the key",
            "1 refused, the last: control of the forwarder: it does not have the key",
        ]
    );
    // Then it has it, and later the forwarder crashes and comes back.
    for why in ["it has the key now", "and after a crash"] {
        let at = world.dataplane.deadline().expect("an attempt");
        world.now = world.now.max(at);
        world.dataplane.tick(world.now, &mut world.out);
        world.event(WIRE, ChannelEvent::Up);
        world.hears(WIRE, &Reply::Welcome { ports: vec![], memo: vec![], is_taken: false });
        world.says(&[]);
        assert_eq!(texts(&world), Vec::<String>::new(), "{why}");
        world.event(WIRE, ChannelEvent::Down("the other side closed the connection"));
        assert_eq!(texts(&world).len(), 2);
    }
}

#[test]
fn one_that_stood_and_died_is_looked_for_at_once_and_one_that_comes_and_goes_is_not() {
    let mut world = World::welcomed(vec![], &Numbers::default());
    world.says(&["east"]);
    let gone = ChannelEvent::Down("the other side closed the connection");
    world.now += Duration::from_secs(60);
    world.event(WIRE, gone);
    assert_eq!(world.dataplane.deadline(), Some(world.now));
    let soon = Duration::from_millis(5);
    // Its socket is closed last: it lets its control in, and is gone.
    world.dataplane.tick(world.now, &mut world.out);
    world.event(WIRE, ChannelEvent::Up);
    world.event(WIRE, gone);
    assert_eq!(world.dataplane.deadline(), Some(world.now + soon));
    world.now += soon;
    world.dataplane.tick(world.now, &mut world.out);
    world.event(WIRE, ChannelEvent::Absent(None));
    assert_eq!(world.dataplane.deadline(), Some(world.now + soon));
    // The next one is told everything, and dies of it: nobody is in a hurry to see that again.
    world.now += soon;
    world.dataplane.tick(world.now, &mut world.out);
    world.event(WIRE, ChannelEvent::Up);
    world.hears(WIRE, &Reply::Welcome { ports: vec![], memo: vec![], is_taken: false });
    world.says(&["east"]);
    world.event(WIRE, gone);
    assert_eq!(world.dataplane.deadline(), Some(world.now + Duration::from_millis(250)));
}

#[test]
fn a_connection_of_which_nothing_is_heard_is_given_up() {
    let mut world = World::new();
    world.dataplane.tick(world.now, &mut world.out);
    world.now = world.dataplane.deadline().expect("a time");
    world.out.clear();
    world.dataplane.tick(world.now, &mut world.out);
    assert!(matches!(&world.out.channels[..], [(WIRE, ChannelOrder::HangUp)]));
    assert_eq!(world.dataplane.deadline(), Some(world.now + Duration::from_millis(250)));
}

#[test]
fn the_load_is_that_of_the_worker_that_has_most_to_do() {
    let mut world = World::welcomed(vec![], &Numbers::default());
    world.says(&["east"]);
    for (busy, permille) in [([700, 90], 0), ([900, 590], 500), ([950, 650], 60), ([10, 20], 0)] {
        world.dataplane.measure_load(world.now, &mut world.out);
        world.dataplane.measure_load(world.now, &mut world.out);
        let asked = world.written(CHANNELS.questions);
        let [Request::Ask { id, path, .. }] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!(path, "workers");
        let answer = Ok(json!([{ "busy_ms": busy[0] }, { "busy_ms": busy[1] }]));
        world.hears(CHANNELS.questions, &Reply::Answer { id: *id, answer });
        assert_eq!(world.dataplane.load_permille(), permille);
        world.now += Duration::from_secs(1);
    }
    world.event(WIRE, ChannelEvent::Down("it ended"));
    world.dataplane.measure_load(world.now, &mut world.out);
    assert_eq!(world.dataplane.load_permille(), 0);
}

#[test]
fn what_the_forwarder_has_counted_is_shown_by_port_interface_and_reason() {
    let mut world = World::welcomed(vec![], &Numbers::default());
    world.says(&["east"]);
    let number = world.dataplane.numbers().known(Kind::Interface, "east");
    world.dataplane.measure(world.now, &mut world.out);
    world.dataplane.measure(world.now, &mut world.out);
    let asked = world.written(CHANNELS.questions);
    assert_eq!(asked.len(), 3, "what was asked already is waited for: {asked:?}");
    for request in asked {
        let Request::Ask { id, path, .. } = request else { panic!("only questions") };
        let answer = match path.as_str() {
            "ports" => json!([{
                "port": "east", "up": true, "received": 5, "received_octets": 300, "sent": 2,
                "sent_octets": 99, "not_received_ring_full": 7, "not_sent_no_cell": 1,
            }]),
            "interfaces" => json!([{ "interface": number, "received": 4 }]),
            "graph" => json!([
                { "node": "ip4-lookup", "dropped": { "no-route": 3 } },
                { "node": "arp-input", "dropped": { "arp heard": 5, "arp form": 2 } },
            ]),
            other => panic!("{other}"),
        };
        world.hears(CHANNELS.questions, &Reply::Answer { id, answer: Ok(answer) });
    }
    let shown = |world: &World| -> Vec<String> {
        let cells = world.dataplane.cells();
        let all = cells.iter().flat_map(event::MetricCells::labelled);
        let moved = all.filter_map(|(row, labels, reading)| match reading {
            event::Sample::Value(value) if value > 0 => {
                let labels: Vec<_> = labels.iter().map(|(_, value)| &**value).collect();
                Some(format!("{} {} {value}", row.name, labels.join(" ")))
            }
            _ => None,
        });
        moved.collect()
    };
    let all = shown(&world);
    for expected in [
        "plane_port_up east 1",
        "plane_port_received_packets_total east 5",
        "plane_port_drops_total east received ring_full 7",
        "plane_port_drops_total east sent no_cell 1",
        "plane_interface_received_packets_total east 4",
        "plane_drops_total ip4-lookup no-route 3",
        "plane_drops_total arp-input arp form 2",
    ] {
        assert!(all.iter().any(|it| it == expected), "{expected}: {all:#?}");
    }
    assert!(!all.iter().any(|it| it.contains("arp heard")), "what was taken is no drop: {all:#?}");
    world.event(WIRE, ChannelEvent::Down("it ended"));
    world.dataplane.measure(world.now, &mut world.out);
    assert_eq!(shown(&world), Vec::<String>::new(), "nothing is known of one that is away");
}

#[test]
fn things_that_change_one_by_one_are_told_at_once_and_all_of_them_to_a_forwarder_that_comes() {
    let mut world = World::welcomed(vec![], &Numbers::default());
    let item = |key: u8| {
        let feature = "toy".to_owned();
        Program::Item(Item { feature, key: vec![key], value: vec![7] })
    };
    let World { dataplane, now, out } = &mut world;
    dataplane.tell(*now, out, &[item(1)]);
    assert!(out.channels.is_empty(), "nothing before everything");
    let standing = [item(1), item(2)];
    dataplane.say_with(*now, out, |numbers, is_whole| {
        assert!(is_whole);
        (desired(&[], numbers), standing.to_vec())
    });
    let told = world.written(WIRE);
    let [Request::Apply(programs), Request::Keep(_)] = &told[..] else { panic!("{told:?}") };
    assert!(matches!(programs[0], Program::Begin { .. }));
    assert_eq!(programs[1..3], [item(1), item(2)]);
    assert!(matches!(programs[3], Program::End { .. }));
    let World { dataplane, now, out } = &mut world;
    dataplane.tell(*now, out, &[item(3)]);
    dataplane.say_with(*now, out, |numbers, is_whole| {
        assert!(!is_whole);
        (desired(&[], numbers), Vec::new())
    });
    let told = world.written(WIRE);
    let Request::Apply(programs) = &told[0] else { panic!("{told:?}") };
    assert_eq!(programs[..], [item(3)], "what stands is not said again: {told:?}");
    assert_eq!(world.dataplane.tally().programs, 5);
}

#[test]
fn what_a_control_that_began_anew_has_not_heard_of_yet_stays_until_it_is_released() {
    let mut memo = Numbers::default();
    assert!(memo.set_note("life", Some("7".into())));
    let mut world = World::welcomed(vec![], &memo);
    assert_eq!(world.dataplane.numbers().note("life"), Some("7"), "of the control before");
    let numbers = world.dataplane.numbers_mut();
    assert!(!numbers.set_note("life", Some("7".into())), "that is known");
    world.dataplane.hold();
    world.says(&[]);
    let is_end = |it: &Program| matches!(it, Program::End { .. });
    let ends = |told: &[Request]| {
        let programs = told.iter().filter_map(|it| match it {
            Request::Apply(programs) => Some(programs.iter().filter(|it| is_end(it)).count()),
            _ => None,
        });
        programs.sum::<usize>()
    };
    let told = world.written(WIRE);
    assert_eq!(ends(&told), 0);
    let World { dataplane, now, out } = &mut world;
    dataplane.release(*now, out);
    dataplane.release(*now, out);
    let told = world.written(WIRE);
    assert_eq!(ends(&told), 1, "once");
    let World { dataplane, out, .. } = &mut world;
    dataplane.numbers_mut().set_note("life", None);
    dataplane.keep(out);
    let told = world.written(WIRE);
    let [Request::Keep(kept)] = &told[..] else { panic!("{told:?}") };
    let kept: Numbers = serde_json::from_slice(kept).expect("numbers");
    assert_eq!(kept.notes().count(), 0);
}

#[test]
fn hops_without_end_are_kept_now_and_then_and_no_control_gives_their_numbers_to_others() {
    let mut world = World::welcomed(vec![], &Numbers::default());
    world.says(&[]);
    world.written(WIRE);
    let (mut keeps, mut last) = (0, Vec::new());
    for number in 0..100 {
        let World { dataplane, now, out } = &mut world;
        let mut given = 0;
        dataplane.edit(*now, out, |edit| given = edit.number(Kind::Hop, &format!("{number}")));
        for told in world.written(WIRE) {
            let Request::Keep(memo) = told else { continue };
            (keeps, last) = (keeps + 1, memo);
        }
        let mut next: Numbers = serde_json::from_slice(&last).expect("numbers");
        assert!(next.is_sound());
        assert!(next.of(Kind::Hop, "another") > given, "hop {number}");
        next.begin();
        next.end();
        assert_eq!(next.of(Kind::Hop, "yet another"), 1, "what nobody asked for is free at last");
    }
    assert_eq!(keeps, 1);
    world.now = world.dataplane.deadline().expect("they are kept");
    let World { dataplane, now, out } = &mut world;
    dataplane.tick(*now, out);
    assert_eq!(dataplane.deadline(), None);
    let [Request::Keep(memo)] = &world.written(WIRE)[..] else { panic!("one") };
    let kept: Numbers = serde_json::from_slice(memo).expect("numbers");
    assert!(kept.known(Kind::Hop, "99").is_some());
}
