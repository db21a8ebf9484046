//! Connections of SCCP in a cluster: each is of a partition, and goes on where that is served. By
//! seed: nodes that die at every step and come back, links that are cut, partitions that move. No
//! connection that stands is lost, none is doubled, and no local reference has two owners.

use crate::clusters::{Site, ms, section, seeds};
use crate::world::Program;
use crate::world::asp::point_code;
use bytes::Bytes;
use m3ua::{In as Said, Transfer};
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, ConnectionClass, LocalReference};
use sccp::{
    Accept, Connect, ConnectionEvent, ConnectionInput as Input, ConnectionParameters, Disconnect,
    In, Indication, Node, Out, Parameters, Rules, Settings,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tcu::{Hello, NetworkIndication as Told, NetworkRequest as Ask, Request, Service, Spelling};

/// A node of a cluster whose application has connections.
fn connected(node: u8, nodes: u8) -> String {
    let more = "[sccp.connections]\nt_conn_est_ms = 4000\nt_ias_ms = 2000\nt_iar_ms = 30000\n\
                t_rel_ms = 1000\nt_int_ms = 3000\n";
    let text = section(node, nodes, more);
    let text = text.replace(
        "name = \"hlr\", number = 6, user = \"tcap\"",
        "name = \"hlr\", number = 254, user = \"sccp\"",
    );
    assert!(text.contains("254"));
    text
}

/// Accepts what is offered, also where its answer may be lost.
struct Accepts;

impl Service for Accepts {
    fn indicated(&mut self, _: Time, it: tcu::Indication, wants: &mut Vec<Request>) {
        let tcu::Indication::Network(it) = it else { return };
        let answer = match it {
            Told::Connect { connection, .. } | Told::Resume { connection, is_there: false, .. } => {
                Ask::Accept { connection, class: None, data: Bytes::new() }
            }
            Told::Reset { connection, .. } => Ask::ResetResponse { connection },
            _ => return,
        };
        wants.push(Request::Network(answer));
    }
}

fn program(node: u8) -> Program {
    let hello = Hello::new("hlr", "", "i");
    Program::new(&format!("127.0.0.{node}:7700"), hello, Spelling::Tagged).doing(Accepts)
}

fn peer_node() -> Node {
    let seconds = Duration::from_secs;
    let connections = ConnectionParameters {
        establishment: seconds(4),
        inactivity_send: seconds(2),
        inactivity_receive: seconds(30),
        release: seconds(1),
        release_repeat: seconds(1),
        release_most: seconds(20),
        guard: Duration::ZERO,
        freeze: seconds(1),
        ..ConnectionParameters::q714()
    };
    let settings = Settings {
        network: None,
        point_code: point_code(1),
        aliases: Vec::new(),
        network_indicator: 2,
        concerned: Vec::new(),
        parameters: Parameters { connections, ..Parameters::q714() },
    };
    let mut node = Node::new(settings, Rules::default());
    for input in [In::State(254, true), In::Connection(Input::Serve(254, true))] {
        node.step(Time::ZERO, input, &mut Vec::new());
    }
    node
}

/// What data say: their number, and octets that make them need segments.
fn data(number: u32, length: u64) -> Bytes {
    let mut all = number.to_be_bytes().to_vec();
    all.resize(4 + length as usize, 7);
    all.into()
}

fn number_of(data: &[u8]) -> u32 {
    assert!(data[4..].iter().all(|it| *it == 7));
    u32::from_be_bytes(*data.first_chunk().unwrap())
}

/// The cluster, a node of SCCP that has an association to each of its nodes, and what both ends
/// know of their connections. The cluster's end is known by its local reference there.
struct Line {
    seed: u64,
    drawn: u64,
    site: Site,
    peer: Node,
    /// Those that stand, by their reference at the cluster: both ends know of them.
    standing: BTreeSet<u32>,
    /// Those that an end has asked to end.
    ending: BTreeSet<u32>,
    /// The node at which the application has a connection.
    places: BTreeMap<u32, usize>,
    /// The last number that came on each, at the peer and at the application.
    last: [BTreeMap<u32, u32>; 2],
    next: u32,
    dead: Option<usize>,
    cut: Option<(u8, u8)>,
    drained: Option<usize>,
}

impl Line {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            drawn: 0,
            site: Site::with(3, |it| connected(it, 3), program),
            peer: peer_node(),
            standing: BTreeSet::new(),
            ending: BTreeSet::new(),
            places: BTreeMap::new(),
            last: [BTreeMap::new(), BTreeMap::new()],
            next: 1,
            dead: None,
            cut: None,
            drained: None,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.drawn += 1;
        machine::identity::mix(self.seed << 20 | self.drawn) % below
    }

    fn living(&mut self) -> usize {
        loop {
            let at = self.draw(3) as usize;
            if self.dead != Some(at) {
                return at;
            }
        }
    }

    /// The reference at the cluster of a connection of the peer, where it is known.
    fn other(&self, reference: LocalReference) -> Option<u32> {
        let mut all = self.peer.connection_status();
        all.find(|it| it.reference == reference)?.other.map(LocalReference::number)
    }

    fn step(&mut self, input: In) {
        let mut outs = Vec::new();
        self.peer.step(self.site.world.now, input, &mut outs);
        self.carry_out(outs);
    }

    fn carry_out(&mut self, mut outs: Vec<Out>) {
        while !outs.is_empty() {
            for out in core::mem::take(&mut outs) {
                match out {
                    Out::Transfer(msu) => self.transfer(msu),
                    Out::Indicate(Indication::Connection(of, event)) => {
                        let answer = self.heard(of, event);
                        let now = self.site.world.now;
                        if let Some(input) = answer {
                            self.peer.step(now, In::Connection(input), &mut outs);
                        }
                    }
                    Out::Indicate(_) => {}
                }
            }
        }
    }

    /// An MSU of the peer leaves: those of one SLS by the same association, while it stands.
    fn transfer(&mut self, msu: Transfer) {
        let living: Vec<usize> = (0..3).filter(|at| self.dead != Some(*at)).collect();
        let by = self.site.asps[living[usize::from(msu.sls) % living.len()]];
        self.site.world.at(by, |asp, now| asp.tell(now, Said::Transfer(msu)));
    }

    /// The peer hears something of a connection.
    fn heard(&mut self, of: LocalReference, event: ConnectionEvent) -> Option<Input> {
        let seed = self.seed;
        match event {
            ConnectionEvent::Offered { class, .. } => {
                return Some(Input::Accept(
                    of,
                    Accept { class, responding: None, data: Bytes::new() },
                ));
            }
            ConnectionEvent::Reset(_) => return Some(Input::ResetResponse(of)),
            ConnectionEvent::Confirmed { .. } => {
                let here = self.other(of).unwrap();
                assert!(self.standing.insert(here), "{seed}: {here:x} has two owners");
            }
            ConnectionEvent::Data(data) => {
                let here = self.other(of).unwrap();
                self.came(0, here, number_of(&data));
            }
            ConnectionEvent::Disconnected { why, .. } => {
                let known: BTreeSet<u32> = self
                    .peer
                    .connection_status()
                    .filter_map(|it| Some(it.other?.number()))
                    .collect();
                // What it was is not in the table any more: those that stand still are.
                let gone: Vec<u32> = self.standing.difference(&known).copied().collect();
                for here in gone {
                    let is_asked = self.ending.contains(&here);
                    assert!(is_asked, "{seed}: {here:x} is lost: {why:?}");
                    self.standing.remove(&here);
                }
            }
            _ => {}
        }
        None
    }

    /// Data came; none twice, none behind a later one.
    fn came(&mut self, at: usize, connection: u32, number: u32) {
        let before = self.last[at].insert(connection, number);
        let seed = self.seed;
        assert!(before.is_none_or(|it| it < number), "{seed}: {number} after {before:?}");
    }

    /// What the instances of the application were told.
    fn told(&mut self) {
        let seed = self.seed;
        for at in 0..3 {
            let program = self.site.programs[at];
            for it in self.site.world.program_of(program).take_told() {
                let tcu::Indication::Network(it) = it else { continue };
                match it {
                    Told::Connect { connection, .. } | Told::Connecting { connection, .. } => {
                        self.places.insert(connection, at);
                    }
                    Told::Resume { connection, .. } => {
                        self.places.insert(connection, at);
                        if self.ending.contains(&connection) {
                            self.disconnect(connection);
                        }
                    }
                    Told::Connected { connection, .. } => {
                        let is_new = self.standing.insert(connection);
                        assert!(is_new, "{seed}: {connection:x} has two owners");
                    }
                    Told::Data { connection, data } => self.came(1, connection, number_of(&data)),
                    Told::Disconnect { connection: Some(connection), .. } => {
                        self.places.remove(&connection);
                        let stands = self.standing.contains(&connection);
                        let is_asked = self.ending.contains(&connection);
                        assert!(!stands || is_asked, "{seed}: {connection:x} is lost");
                    }
                    _ => {}
                }
            }
        }
    }

    fn pass(&mut self, most: u64) {
        let time = self.draw(most) + 1;
        self.pass_for(time);
    }

    fn pass_for(&mut self, time: u64) {
        for _ in 0..time.div_ceil(20) {
            self.site.world.pass(ms(time.min(20)));
            for at in 0..3 {
                let asp = self.site.asps[at];
                for msu in core::mem::take(&mut self.site.world.asp_of(asp).received) {
                    self.step(In::Transfer(msu));
                }
            }
            let mut outs = Vec::new();
            self.peer.tick(self.site.world.now, &mut outs);
            self.carry_out(outs);
            self.told();
        }
    }

    fn ask(&mut self, at: usize, it: Ask) {
        if self.dead != Some(at) {
            let program = self.site.programs[at];
            self.site.world.at_program(program, |it_is| it_is.ask(&Request::Network(it)));
        }
    }

    fn disconnect(&mut self, connection: u32) {
        self.ending.insert(connection);
        let Some(at) = self.places.get(&connection).copied() else { return };
        self.ask(at, Ask::Disconnect { connection, cause: 3, data: Bytes::new() });
    }

    fn connect(&mut self) {
        let at = |number| Address::subsystem(Some(point_code(number)), 254);
        let class = 2 + self.draw(2) as u8;
        if self.draw(2) == 0 {
            let by = self.living();
            let (reference, called, calling) = (self.next.into(), at(1), at(9));
            self.ask(by, Ask::Connect { reference, called, calling, class, data: Bytes::new() });
        } else {
            let class =
                if class == 2 { ConnectionClass::Basic } else { ConnectionClass::FlowControl };
            let (tag, called, calling) = (0, at(9), Some(at(1)));
            let (importance, data) = (None, Bytes::new());
            let connect = Connect { tag, called, calling, class, importance, data };
            self.step(In::Connection(Input::Connect(connect)));
        }
    }

    /// The peer's reference of a connection.
    fn there(&self, here: u32) -> Option<LocalReference> {
        let mut all = self.peer.connection_status().filter(|it| it.state == "active");
        all.find(|it| it.other.map(LocalReference::number) == Some(here)).map(|it| it.reference)
    }

    fn send(&mut self, here: u32, is_peer: bool) {
        self.next += 1;
        let length = self.draw(800);
        let data = data(self.next, length);
        match (self.there(here), self.places.get(&here).copied()) {
            (Some(there), _) if is_peer => {
                self.step(In::Connection(Input::Data(there, data)));
                // In class 2 nothing says that a part of them was lost with a node.
                self.pass_for(40);
            }
            (_, Some(at)) if !is_peer => self.ask(at, Ask::Data { connection: here, data }),
            _ => {}
        }
    }

    /// Something at a connection that stands.
    fn use_one(&mut self) {
        let all: Vec<u32> = self.standing.difference(&self.ending).copied().collect();
        if all.is_empty() {
            return self.connect();
        }
        let here = all[self.draw(all.len() as u64) as usize];
        match self.draw(12) {
            0 => self.disconnect(here),
            1 => {
                if let Some(there) = self.there(here) {
                    self.ending.insert(here);
                    let what = Disconnect { cause: 3, data: Bytes::new() };
                    self.step(In::Connection(Input::Disconnect(there, what)));
                }
            }
            other => self.send(here, other % 2 == 0),
        }
    }

    fn fail(&mut self) {
        if self.dead.is_some() || self.cut.is_some() || self.drained.is_some() {
            return self.mend();
        }
        let at = self.draw(3) as usize;
        match self.draw(4) {
            0 | 1 => {
                self.site.world.kill(self.site.gateways[at]);
                self.dead = Some(at);
            }
            2 => {
                let (a, b) = [(1, 2), (2, 3), (1, 3)][at];
                self.site.world.cut_link(a, b, true);
                self.cut = Some((a, b));
            }
            _ => {
                self.site.world.ask(self.site.gateways[at], "cluster/drain", &[]);
                self.drained = Some(at);
            }
        }
    }

    fn mend(&mut self) {
        if let Some(at) = self.dead {
            self.pass(1_000);
            self.pass_for(1_500);
            self.dead = None;
            self.site.world.revive(self.site.gateways[at]);
            let node = u8::try_from(at + 1).unwrap();
            self.site.programs[at] = self.site.world.program(program(node));
        }
        if let Some((a, b)) = self.cut.take() {
            self.site.world.cut_link(a, b, false);
        }
        if let Some(at) = self.drained.take() {
            self.site.world.ask(self.site.gateways[at], "cluster/undrain", &[]);
        }
        self.pass_for(6_000);
    }

    /// Sections at all nodes: their references here and there.
    fn sections(&mut self) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for at in 0..3 {
            let rows = self.site.world.ask(self.site.gateways[at], "sccp/connections", &[]);
            for row in rows.as_array().into_iter().flatten() {
                let number = |key: &str| row[key].as_u64().map(|it| it as u32);
                assert_eq!(row["state"], "active", "{}: {row}", self.seed);
                all.push((number("reference").unwrap(), number("other").unwrap()));
            }
        }
        all.sort_unstable();
        all
    }

    /// Everything is good: each section has its other half, each connection that stands its end at
    /// the application, and data pass on it both ways.
    fn rest(&mut self) -> usize {
        self.mend();
        self.pass_for(40_000);
        let seed = self.seed;
        for at in 0..3 {
            let rows = self.site.partitions(at);
            let settled = |it: &Value| it["active"] == it["first"];
            assert!(rows.iter().all(settled), "{seed}: partitions settle: {rows:?}");
        }
        let sections = self.sections();
        let mut there: Vec<(u32, u32)> = Vec::new();
        for it in self.peer.connection_status() {
            assert_eq!(it.state, "active", "{seed}: {it:?}");
            there.push((it.other.unwrap().number(), it.reference.number()));
        }
        there.sort_unstable();
        assert_eq!(sections, there, "{seed}");
        let here: BTreeSet<u32> = sections.iter().map(|it| it.0).collect();
        assert_eq!(here.len(), sections.len(), "{seed}: none has two owners");
        let lost: Vec<_> =
            self.standing.difference(&here).filter(|it| !self.ending.contains(it)).collect();
        assert!(lost.is_empty(), "{seed}: {lost:x?} are lost");
        for connection in here.iter().copied() {
            assert!(self.places.contains_key(&connection), "{seed}: {connection:x} has no user");
            for is_peer in [true, false] {
                self.send(connection, is_peer);
                self.pass_for(100);
                let last = self.last[usize::from(is_peer)].get(&connection);
                assert_eq!(last, Some(&self.next), "{seed}: {connection:x}, {is_peer}");
            }
        }
        here.len()
    }

    fn run(mut self) -> usize {
        for _ in 0..60 {
            match self.draw(10) {
                0 | 1 => self.connect(),
                2..=6 => self.use_one(),
                7 => self.fail(),
                _ => self.pass(200),
            }
            self.pass(20);
        }
        self.rest()
    }
}

#[test]
fn no_connection_is_lost_or_doubled_whatever_fails() {
    let count = seeds().count();
    let stood: usize = seeds().map(|seed| Line::new(seed).run()).sum();
    assert!(stood > count, "{stood} stood at the end");
}

#[test]
fn a_connection_goes_on_when_its_node_dies_and_one_of_class_3_is_reset() {
    for class in [ConnectionClass::Basic, ConnectionClass::FlowControl] {
        let mut line = Line::new(0);
        let at = |number| Address::subsystem(Some(point_code(number)), 254);
        for tag in 0..12 {
            let (called, calling, data) = (at(9), Some(at(1)), Bytes::new());
            let connect = Connect { tag, called, calling, class, importance: None, data };
            line.step(In::Connection(Input::Connect(connect)));
            line.pass_for(100);
        }
        let all = line.standing.clone();
        assert_eq!(all.len(), 12);
        for here in &all {
            line.send(*here, true);
            line.send(*here, false);
        }
        line.pass_for(200);
        let of_first = line.places.values().filter(|it| **it == 0).count();
        assert!(of_first > 0);
        line.site.world.kill(line.site.gateways[0]);
        line.dead = Some(0);
        line.pass_for(1_000);
        assert!(line.places.values().all(|it| *it != 0), "their instance hears where they go on");
        for here in &all {
            line.send(*here, true);
            line.pass_for(40);
            assert_eq!(line.last[1].get(here), Some(&line.next));
            line.send(*here, false);
            line.pass_for(40);
            assert_eq!(line.last[0].get(here), Some(&line.next));
        }
        assert_eq!(line.standing, all);
    }
}

#[test]
fn data_of_which_half_came_before_a_node_died_are_whole_behind_its_death() {
    let mut line = Line::new(0);
    let at = |number| Address::subsystem(Some(point_code(number)), 254);
    for tag in 0..12 {
        let (called, calling, data) = (at(9), Some(at(1)), Bytes::new());
        let (class, importance) = (ConnectionClass::Basic, None);
        let connect = Connect { tag, called, calling, class, importance, data };
        line.step(In::Connection(Input::Connect(connect)));
        line.pass_for(100);
    }
    assert!(line.places.values().any(|it| *it == 0));
    let mut halves = Vec::new();
    for (number, here) in (100..).zip(line.standing.clone()) {
        let (there, now) = (line.there(here).unwrap(), line.site.world.now);
        let mut outs = Vec::new();
        let input = In::Connection(Input::Data(there, data(number, 600)));
        line.peer.step(now, input, &mut outs);
        let mut all = outs.into_iter().filter_map(|it| match it {
            Out::Transfer(msu) => Some(msu),
            Out::Indicate(_) => None,
        });
        line.transfer(all.next().unwrap());
        line.transfer(all.next().unwrap());
        halves.push((here, number, all.collect::<Vec<_>>()));
    }
    line.pass_for(100);
    line.site.world.kill(line.site.gateways[0]);
    line.dead = Some(0);
    for (here, number, rest) in halves {
        assert_eq!(rest.len(), 1);
        rest.into_iter().for_each(|msu| line.transfer(msu));
        line.pass_for(1_000);
        assert_eq!(line.last[1].get(&here), Some(&number));
    }
}

#[test]
fn a_connection_whose_instance_does_not_follow_is_released_and_its_peer_hears_so_at_once() {
    let mut line = Line::new(0);
    while line.places.values().filter(|it| **it == 0).count() < 3 {
        line.connect();
        line.pass_for(200);
    }
    // The other nodes have no instance.
    line.ending.extend(line.standing.iter().copied());
    for at in [1, 2] {
        let of = line.site.programs[at];
        line.site.world.deafen(of);
    }
    line.pass_for(100);
    let of_first: BTreeSet<u32> =
        line.places.iter().filter(|it| *it.1 == 0).map(|it| *it.0).collect();
    line.site.world.kill(line.site.gateways[0]);
    line.dead = Some(0);
    line.pass_for(12_000);
    let left: Vec<_> = line.peer.connection_status().filter_map(|it| it.other).collect();
    assert!(left.iter().all(|it| !of_first.contains(&it.number())), "{left:?}");
}
