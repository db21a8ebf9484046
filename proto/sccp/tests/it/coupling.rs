//! Connections over a relay point that couples their sections: the ends know that node alone.

use crate::connections::{BASIC, FLOW, accept, data, disconnect, events, parameters};
use crate::every::point_code;
use crate::world::*;
use bytes::Bytes;
use m3ua::Transfer;
use m3ua::codec::Affected;
use machine::identity::mix;
use machine::{Duration, Machine, Time};
use sccp::codec::{
    ConnectionClass, ConnectionMessage, LocalReference, Message, RefusalCause, ReleaseCause,
    Routing,
};
use sccp::{
    Choice, Connect, ConnectionEvent as Event, ConnectionInput as Input, ConnectionParameters,
    Disconnected, In, Inform, Metric, Node, Parameters,
};

/// The end, the relay, and the other end.
const RELAY: usize = 2;

fn couples() -> Parameters {
    Parameters { couples: true, ..parameters() }
}

fn three(parameters: Parameters) -> World {
    let mut world = World::new((1..=3).map(|it| fresh(it, parameters)).collect());
    world.run(3, In::Connection(Input::Serve(6, true)));
    world
}

/// Titles of 44 are at the third node, and the first one leaves that to the relay.
fn fresh(number: u32, parameters: Parameters) -> Node {
    let rules = match number {
        1 => vec![rule("44", &[(Some(2), Routing::Title)], Choice::Backup)],
        2 => {
            let back = rule("55", &[(Some(1), Routing::Subsystem)], Choice::Backup);
            vec![rule("44", &[(Some(3), Routing::Subsystem)], Choice::Backup), back]
        }
        _ => Vec::new(),
    };
    node(number, parameters, rules)
}

fn connect(class: ConnectionClass) -> In {
    let (tag, called, calling) = (7, title("4477"), Some(at(1, 6)));
    let (importance, data) = (None, Bytes::from_static(b"hello"));
    In::Connection(Input::Connect(Connect { tag, called, calling, class, importance, data }))
}

/// A connection that stands: its reference at both ends.
fn stands(world: &mut World, class: ConnectionClass) -> [LocalReference; 2] {
    world.run(1, connect(class));
    let came = events(world, 3);
    let [(far, Event::Offered { data: hello, .. })] = &came[..] else { panic!("{came:?}") };
    assert_eq!(hello, &b"hello"[..]);
    let far = *far;
    world.run(3, In::Connection(Input::Accept(far, accept(class))));
    let came = events(world, 1);
    let [(near, Event::Begun(7)), (_, Event::Confirmed { class: agreed, data: yes, .. })] =
        &came[..]
    else {
        panic!("{came:?}")
    };
    assert_eq!((*agreed, &yes[..]), (class, &b"yes"[..]));
    [*near, far]
}

fn kinds(msus: &[Transfer]) -> Vec<(u32, u32, &'static str)> {
    let shown = msus.iter().map(|msu| {
        let message = Message::read(&msu.payload).unwrap();
        let name = message.kind.name();
        (msu.opc.number(), msu.dpc.number(), name)
    });
    shown.collect()
}

#[test]
fn both_classes_pass_a_relay_and_the_ends_know_that_alone() {
    for class in [BASIC, FLOW] {
        let mut world = three(couples());
        let [near, far] = stands(&mut world, class);
        assert_eq!(world.nodes[RELAY - 1].connections(), (2, 0));
        let long: Vec<u8> = (0..1_500_u32).map(|it| it.to_le_bytes()[0]).collect();
        world.run(1, data(near, &long));
        world.run(3, data(far, b"back"));
        let whole = |of, data: &[u8]| (of, Event::Data(Bytes::copy_from_slice(data)));
        assert_eq!(events(&mut world, 3), [whole(far, &long)]);
        assert_eq!(events(&mut world, 1), [whole(near, b"back")]);
        world.run(1, In::Connection(Input::Disconnect(near, disconnect(3, b"bye"))));
        let why = Disconnected::Released(3);
        let bye = Event::Disconnected { why, data: Bytes::from_static(b"bye") };
        assert_eq!(events(&mut world, 3), [(far, bye)]);
        // No MSU of a connection went from end to end.
        let apart = |msu: &Transfer| msu.opc.number() != 2 && msu.dpc.number() != 2;
        assert!(!world.msus.iter().any(apart), "{:?}", kinds(&world.msus));
        assert_eq!(world.nodes[RELAY - 1].connections().0, 0);
        assert_eq!(world.nodes[RELAY - 1].connection_octets(), 0);
        assert_eq!(world.count(RELAY, Metric::ConnectionsCoupled), 1);
        assert_eq!(world.nodes[RELAY - 1].connection_status().count(), 0);
    }
}

#[test]
fn without_coupling_the_ends_speak_to_each_other() {
    let mut world = three(parameters());
    let [near, _] = stands(&mut world, BASIC);
    world.msus.clear();
    world.run(1, data(near, b"x"));
    assert_eq!(kinds(&world.msus), [(1, 3, "DT1")]);
}

#[test]
fn a_refusal_and_what_no_way_leads_to_come_back_with_their_cause() {
    let mut world = three(couples());
    world.run(1, connect(FLOW));
    let [(far, Event::Offered { .. })] = events(&mut world, 3)[..] else { panic!() };
    world.run(3, In::Connection(Input::Disconnect(far, disconnect(4, b"no"))));
    let refused = |cause: u8, data: &'static [u8]| Event::Disconnected {
        why: Disconnected::Refused(cause),
        data: Bytes::from_static(data),
    };
    let came = events(&mut world, 1);
    assert_eq!(came[1].1, refused(4, b"no"), "{came:?}");
    assert_eq!(world.nodes[RELAY - 1].connections().0, 0);
    // No user takes it there.
    world.run(3, In::Connection(Input::Serve(6, false)));
    world.run(1, connect(BASIC));
    assert_eq!(events(&mut world, 1)[1].1, refused(RefusalCause::NoService.number(), b""));
    // MTP3 has no way for the CR that goes on.
    let mut sent = world.step(1, connect(BASIC));
    let onward = world.step(RELAY, In::Transfer(sent.remove(0)));
    let back = world.step(RELAY, In::Undeliverable(onward[0].clone()));
    world.carry(back);
    let cause = RefusalCause::DestinationInaccessible.number();
    assert_eq!(events(&mut world, 1)[1].1, refused(cause, b""));
    // Nobody answers: T(conn est).
    let sent = world.step(1, connect(BASIC));
    let _lost = world.step(RELAY, In::Transfer(sent[0].clone()));
    world.pass(Time::ZERO + Duration::from_secs(91));
    let came = events(&mut world, 1);
    assert_eq!(came[1].1, refused(RefusalCause::Expired.number(), b""), "{came:?}");
    assert_eq!(world.nodes[RELAY - 1].connections().0, 0);
}

#[test]
fn a_side_that_takes_nothing_stops_the_other_one() {
    let mut world = three(couples());
    let [near, far] = stands(&mut world, FLOW);
    let mut held = Vec::new();
    for number in 0..40_u8 {
        let mut msus = world.step(1, data(near, &[number; 200]));
        while let Some(msu) = msus.pop() {
            match msu.dpc.number() {
                3 => held.push(msu),
                number => msus.extend(world.step(number as usize, In::Transfer(msu))),
            }
        }
    }
    assert_eq!(held.len(), 4, "its window");
    let waiting = world.nodes[RELAY - 1].connection_octets();
    assert!((1..=8 * 264).contains(&waiting), "{waiting} octets wait at the relay");
    assert!(world.nodes[0].connection_octets() > 20 * 200, "and the rest where it comes from");
    world.carry(held);
    let came = events(&mut world, 3);
    let all: Vec<_> = (0..40_u8).map(|it| (far, Event::Data(vec![it; 200].into()))).collect();
    assert_eq!(came, all);
    assert_eq!(world.nodes[RELAY - 1].connection_octets(), 0);
}

/// What it sends itself says of what came no more than is asked for.
#[test]
fn a_side_that_takes_nothing_and_speaks_stops_the_other_one_as_well() {
    let mut world = three(couples());
    let [near, far] = stands(&mut world, FLOW);
    let mut held = Vec::new();
    for number in 0..60_u8 {
        let mut msus = world.step(1, data(near, &[number; 200]));
        if matches!(number, 10 | 15 | 20 | 25) {
            msus.extend(world.step(3, data(far, &[number])));
        }
        while let Some(msu) = msus.pop() {
            match msu.dpc.number() {
                3 => held.push(msu),
                number => msus.extend(world.step(number as usize, In::Transfer(msu))),
            }
        }
    }
    let waiting = world.nodes[RELAY - 1].connection_octets();
    assert!((1..=8 * 264).contains(&waiting), "{waiting} octets wait at the relay");
    world.carry(held);
    let all: Vec<_> = (0..60_u8).map(|it| (far, Event::Data(vec![it; 200].into()))).collect();
    assert_eq!(events(&mut world, 3), all);
    assert_eq!(events(&mut world, 1).len(), 4);
    assert_eq!(world.nodes[RELAY - 1].connection_octets(), 0);
}

/// The same message with other data.
fn with_data(msu: &Transfer, octets: &[u8]) -> Transfer {
    let message = Message::read(&msu.payload).unwrap();
    let mut message = ConnectionMessage::of(&message).unwrap().unwrap();
    match &mut message {
        ConnectionMessage::Confirm { data, .. }
        | ConnectionMessage::Refused { data, .. }
        | ConnectionMessage::Released { data, .. } => *data = Some(octets),
        other => panic!("{other:?}"),
    }
    let mut payload = Vec::new();
    message.write(&mut payload).unwrap();
    Transfer { payload: payload.into(), ..msu.clone() }
}

#[test]
fn data_of_every_length_that_is_read_pass_and_leave_no_section_alone() {
    for length in 1..=130 {
        let mut world = three(couples());
        let octets = vec![7; length];
        let [near, far] = stands(&mut world, FLOW);
        let sent = world.step(1, In::Connection(Input::Disconnect(near, disconnect(3, b"bye"))));
        world.carry(vec![with_data(&sent[0], &octets)]);
        let ended = |why| Event::Disconnected { why, data: octets.clone().into() };
        assert_eq!(events(&mut world, 3), [(far, ended(Disconnected::Released(3)))]);
        assert_eq!(world.nodes[RELAY - 1].connections().0, 0, "{length} octets");
        for is_accepted in [true, false] {
            world.run(1, connect(FLOW));
            let [(far, Event::Offered { .. })] = events(&mut world, 3)[..] else { panic!() };
            let answer = match is_accepted {
                true => Input::Accept(far, accept(FLOW)),
                false => Input::Disconnect(far, disconnect(4, b"no")),
            };
            let sent = world.step(3, In::Connection(answer));
            world.carry(vec![with_data(&sent[0], &octets)]);
            let came = events(&mut world, 1).pop().unwrap().1;
            let is_told = match is_accepted {
                true => matches!(&came, Event::Confirmed { data, .. } if *data == octets),
                false => came == ended(Disconnected::Refused(4)),
            };
            assert!(is_told, "{length} octets: {came:?}");
        }
        assert_eq!(world.nodes[RELAY - 1].connections().0, 2, "{length} octets");
    }
}

#[test]
fn who_was_not_asked_cannot_answer() {
    let mut world = three(couples());
    let sent = world.step(1, connect(BASIC));
    let onward = world.step(RELAY, In::Transfer(sent[0].clone()));
    let message = Message::read(&onward[0].payload).unwrap();
    let Some(ConnectionMessage::Request(request)) = ConnectionMessage::of(&message).unwrap() else {
        panic!("{message:?}")
    };
    let (destination, called, importance, data) = (request.source, None, None, None);
    let (source, class, credit) = (LocalReference::truncated(9), BASIC, None);
    let confirm =
        ConnectionMessage::Confirm { destination, source, class, credit, called, importance, data };
    let refused = ConnectionMessage::Refused { destination, cause: 0, called, importance, data };
    for forged in [confirm, refused] {
        let mut payload = Vec::new();
        forged.write(&mut payload).unwrap();
        let (opc, dpc, payload) = (point_code(7), point_code(2), Bytes::from(payload));
        let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 0, payload };
        let said = world.step(RELAY, In::Transfer(msu));
        assert!(said.iter().all(|it| it.dpc == point_code(7)), "{:?}", kinds(&said));
    }
    world.carry(onward);
    let [(far, Event::Offered { .. })] = events(&mut world, 3)[..] else { panic!() };
    world.run(3, In::Connection(Input::Accept(far, accept(BASIC))));
    assert!(matches!(events(&mut world, 1)[..], [_, (_, Event::Confirmed { .. })]));
}

#[test]
fn expedited_data_and_resets_pass() {
    let mut world = three(couples());
    let [near, far] = stands(&mut world, FLOW);
    let urgent = Bytes::from_static(b"now");
    world.run(1, In::Connection(Input::Expedited(near, urgent.clone())));
    assert_eq!(events(&mut world, 3), [(far, Event::Expedited(urgent))]);
    world.run(3, In::Connection(Input::Reset(far, 0)));
    assert_eq!(events(&mut world, 1), [(near, Event::Reset(0))]);
    world.run(1, In::Connection(Input::ResetResponse(near)));
    assert_eq!(events(&mut world, 3), [(far, Event::ResetConfirmed)]);
    world.run(3, data(far, b"anew"));
    world.run(1, data(near, b"as well"));
    assert_eq!(events(&mut world, 1), [(near, Event::Data(Bytes::from_static(b"anew")))]);
    assert_eq!(events(&mut world, 3), [(far, Event::Data(Bytes::from_static(b"as well")))]);
}

#[test]
fn a_node_that_is_lost_and_a_subsystem_that_fails_release_the_other_side() {
    let released = |cause: ReleaseCause| Event::Disconnected {
        why: Disconnected::Released(cause.number()),
        data: Bytes::new(),
    };
    let mut world = three(couples());
    let [near, _] = stands(&mut world, BASIC);
    world.run(RELAY, In::Pause(Affected::one(point_code(3))));
    assert_eq!(events(&mut world, 1), [(near, released(ReleaseCause::MtpFailure))]);
    // At an end its user hears of it, and may wait.
    let mut world = three(couples());
    let [near, far] = stands(&mut world, BASIC);
    world.run(3, In::Pause(Affected::one(point_code(2))));
    assert_eq!(events(&mut world, 3), [(far, Event::Inform(Inform::Failure))]);
    world.run(3, In::State(6, false));
    assert_eq!(events(&mut world, 3), [(far, released(ReleaseCause::SubsystemFailure))]);
    assert_eq!(events(&mut world, 1), [(near, released(ReleaseCause::SubsystemFailure))]);
    // Whoever was asked for and has not answered is refused.
    let mut world = three(couples());
    world.run(1, connect(FLOW));
    world.run(3, In::State(6, false));
    let came = events(&mut world, 1);
    let cause = RefusalCause::SubsystemFailure.number();
    assert!(
        matches!(&came[..], [_, (_, Event::Disconnected { why: Disconnected::Refused(it), .. })]
            if *it == cause),
        "{came:?}"
    );
}

#[test]
fn a_source_has_no_more_references_at_a_relay_than_its_share() {
    let connections = ConnectionParameters { references_max: 8, ..couples().connections };
    let mut world = three(couples());
    let wide = node(2, Parameters { connections, ..couples() }, Vec::new());
    let rules = vec![rule("44", &[(Some(3), Routing::Subsystem)], Choice::Backup)];
    world.nodes[RELAY - 1] = wide;
    world.nodes[RELAY - 1].set_rules(sccp::Rules::new(rules).unwrap());
    let mut refused = 0;
    for _ in 0..10 {
        world.run(1, connect(BASIC));
        let came = events(&mut world, 1);
        let cause = RefusalCause::NoServiceNow.number();
        refused += usize::from(came.iter().any(|(_, it)| {
            matches!(it, Event::Disconnected { why: Disconnected::Refused(it), .. } if *it == cause)
        }));
        events(&mut world, 3);
    }
    let (there, _) = world.nodes[RELAY - 1].connections();
    assert!(refused >= 6 && there <= 4, "{refused} refused, {there} sections");
    assert_eq!(there % 2, 0, "none is alone");
}

/// What passes a relay that couples, in both classes.
pub fn passes() -> Vec<Transfer> {
    let mut all = Vec::new();
    for class in [BASIC, FLOW] {
        let mut world = three(couples());
        let [near, far] = stands(&mut world, class);
        world.run(1, data(near, &[7; 900]));
        world.run(3, data(far, b"there"));
        if class == FLOW {
            world.run(1, In::Connection(Input::Expedited(near, Bytes::from_static(b"now"))));
            world.run(3, In::Connection(Input::Reset(far, 0)));
            world.run(1, In::Connection(Input::ResetResponse(near)));
        }
        world.pass(world.now + Duration::from_secs(8 * 60));
        world.run(1, In::Connection(Input::Disconnect(near, disconnect(3, b"so long"))));
        all.append(&mut world.msus);
    }
    all
}

/// Three nodes of which messages are lost, and that crash.
struct Line {
    world: World,
    seed: u64,
    wire: Vec<Transfer>,
    lives: u32,
}

impl Line {
    fn chance(&mut self, of: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.seed) % of
    }

    fn step(&mut self, number: usize, input: In) {
        let sent = self.world.step(number, input);
        self.wire.extend(sent);
        self.users();
    }

    /// Users accept what is offered, and respond to resets.
    fn users(&mut self) {
        for number in [1, 3] {
            for (of, event) in events(&mut self.world, number) {
                let answer = match event {
                    Event::Offered { class, .. } => Input::Accept(of, accept(class)),
                    Event::Reset(_) => Input::ResetResponse(of),
                    _ => continue,
                };
                let sent = self.world.step(number, In::Connection(answer));
                self.wire.extend(sent);
            }
        }
    }

    fn carry(&mut self, loss: u64) {
        for _ in 0..100_000 {
            if self.wire.is_empty() {
                return;
            }
            let any = self.chance(self.wire.len() as u64) as usize;
            let flow = (self.wire[any].opc, self.wire[any].dpc, self.wire[any].sls);
            let is_it = |it: &Transfer| (it.opc, it.dpc, it.sls) == flow;
            let first = self.wire.iter().position(is_it).unwrap();
            let msu = self.wire.remove(first);
            if self.chance(100) >= loss {
                self.step(msu.dpc.number() as usize, In::Transfer(msu));
            }
        }
        panic!("messages go in a circle");
    }

    fn pass(&mut self, time: Duration, loss: u64) {
        let until = self.world.now + time;
        for _ in 0..100_000 {
            let due = self.world.nodes.iter().filter_map(Machine::deadline).min();
            self.world.now = due.unwrap_or(until).min(until).max(self.world.now);
            for number in 1..=3 {
                let mut out = Vec::new();
                let now = self.world.now;
                self.world.nodes[number - 1].tick(now, &mut out);
                for effect in out {
                    match effect {
                        sccp::Out::Transfer(msu) => self.wire.push(msu),
                        sccp::Out::Indicate(it) => self.world.heard.push((number, it)),
                    }
                }
                self.users();
            }
            self.carry(loss);
            if self.world.now == until {
                return;
            }
        }
        panic!("deadlines do not advance");
    }

    fn references(&self, number: usize) -> Vec<LocalReference> {
        let all = self.world.nodes[number - 1].connection_status();
        all.filter(|it| it.state == "active").map(|it| it.reference).collect()
    }

    fn act(&mut self, loss: u64, crashes: bool) {
        let number = [1, 3][self.chance(2) as usize];
        let there = self.references(number);
        let any = (!there.is_empty()).then(|| there[self.chance(there.len() as u64) as usize]);
        match (self.chance(14), any) {
            (0..=2, _) | (_, None) => {
                let class = if self.chance(2) == 0 { FLOW } else { BASIC };
                self.step(1, connect(class));
            }
            (3, Some(it)) => {
                self.step(number, In::Connection(Input::Disconnect(it, disconnect(3, b""))));
            }
            (4, Some(it)) => self.step(number, In::Connection(Input::Reset(it, 0))),
            (5, Some(it)) => {
                let urgent = Bytes::from_static(b"now");
                self.step(number, In::Connection(Input::Expedited(it, urgent)));
            }
            (6, _) => {
                let seconds = self.chance(40);
                self.pass(Duration::from_secs(seconds), loss);
            }
            (7, _) if crashes => {
                let dies = 1 + self.chance(3) as u32;
                self.lives += 1;
                let reference_first = self.lives << 12;
                let connections = ConnectionParameters { reference_first, ..couples().connections };
                let now = self.world.now;
                let mut node = fresh(dies, Parameters { connections, ..couples() });
                node.step(now, In::Connection(Input::Serve(6, true)), &mut Vec::new());
                self.world.nodes[dies as usize - 1] = node;
            }
            (_, Some(it)) => {
                let length = 1 + self.chance(900) as usize;
                self.step(number, data(it, &vec![7; length]));
            }
        }
        self.carry(loss);
    }
}

#[test]
fn by_seed_whatever_is_lost_and_whoever_crashes_no_section_stays_alone() {
    let mut stayed = 0;
    for seed in 0..60 {
        let (wire, lives) = (Vec::new(), 1);
        let mut line = Line { world: three(couples()), seed: seed << 32, wire, lives };
        let (loss, crashes) = ([0, 5, 20][seed as usize % 3], seed % 2 == 1);
        for _ in 0..120 {
            line.act(loss, crashes);
        }
        line.pass(Duration::from_secs(2 * 3_600), 0);
        let ends = [1, 3].map(|it| line.references(it).len());
        assert_eq!(ends[0], ends[1], "seed {seed}");
        let counts = [1, 2, 3].map(|it| line.world.nodes[it - 1].connections().0);
        assert_eq!(counts, [ends[0], 2 * ends[0], ends[0]], "seed {seed}");
        for it in line.world.nodes[RELAY - 1].connection_status() {
            assert!(it.coupled.is_some(), "seed {seed}: {it:?}");
        }
        // What is sent comes at the other end.
        line.world.heard.clear();
        for number in [1, 3] {
            for reference in line.references(number) {
                let sent = line.world.step(number, data(reference, b"still there"));
                line.wire.extend(sent);
            }
        }
        let mut came = 0;
        while !line.wire.is_empty() {
            let msu = line.wire.remove(0);
            let to = msu.dpc.number() as usize;
            let sent = line.world.step(to, In::Transfer(msu));
            line.wire.extend(sent);
        }
        for (_, event) in events(&mut line.world, 3) {
            came += usize::from(matches!(event, Event::Data(_)));
        }
        assert_eq!(came, ends[0], "seed {seed}");
        for node in &line.world.nodes {
            assert_eq!(node.connection_octets(), 0, "seed {seed}");
        }
        stayed += came;
    }
    assert!(stayed > 60, "{stayed} connections stayed");
}

#[test]
fn what_comes_from_another_node_ends_nothing() {
    let mut world = three(couples());
    stands(&mut world, BASIC);
    let all: Vec<_> = world.nodes[RELAY - 1].connection_status().collect();
    for it in &all {
        let message = ConnectionMessage::Released {
            destination: it.reference,
            source: LocalReference::truncated(9),
            cause: 0,
            importance: None,
            data: None,
        };
        let mut payload = Vec::new();
        message.write(&mut payload).unwrap();
        let (opc, dpc, payload) = (point_code(7), point_code(2), Bytes::from(payload));
        let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 0, payload };
        world.step(RELAY, In::Transfer(msu));
    }
    assert_eq!(world.nodes[RELAY - 1].connections().0, 2);
}
