//! By seed, through a whole gateway: connections of an application and coupled ones, associations
//! that break, nodes, programs and shards that crash. At rest no section is alone.

use super::SHARDS;
use crate::world::asp::point_code;
use crate::world::{Asp, Program, World};
use bytes::Bytes;
use m3ua::In as Said;
use machine::identity::mix;
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, ConnectionClass, Digits, LocalReference, Title};
use sccp::{
    Accept, Connect, ConnectionEvent, ConnectionInput as Input, ConnectionParameters, Disconnect,
    In, Indication, Node, Out, Parameters, Rules, Settings,
};
use std::collections::BTreeSet;
use tcu::{Hello, NetworkIndication as Told, NetworkRequest as Ask, Request, Service, Spelling};

const GATEWAY: &str = "10.0.0.1:2905";
const SITE: &str = r#"
name = "relay"
point_code_format = "decimal"
point_codes = ["9"]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 100 }
peer = [
  { name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] },
  { name = "b", role = "asp", transport = "tcp", addresses = ["10.0.2.1"] },
]
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["b"], routing_context = 2, destination = [{ point_code = "2" }] },
]
subsystem = [{ name = "bssap", number = 254, user = "sccp" }]
application = [
  { name = "bssap", subsystem = "bssap", listen = ["tcp:127.0.0.1:7700", "tcp:127.0.0.1:7701"] },
]
translation = [
  { name = "two", digits = "44", target = [{ point_code = "2", subsystem = 254 }] },
  { name = "one", digits = "33", target = [{ point_code = "1", subsystem = 254 }] },
]
[sccp.connections]
coupled = true
t_conn_est_ms = 4000
t_ias_ms = 2000
t_iar_ms = 5000
t_rel_ms = 1000
t_int_ms = 3000
"#;

/// Accepts what is offered.
struct Accepts;

impl Service for Accepts {
    fn indicated(&mut self, _now: Time, it: tcu::Indication, wants: &mut Vec<Request>) {
        let answer = match it {
            tcu::Indication::Network(Told::Connect { connection, .. }) => {
                Ask::Accept { connection, class: None, data: Bytes::new() }
            }
            tcu::Indication::Network(Told::Reset { connection, .. }) => {
                Ask::ResetResponse { connection }
            }
            _ => return,
        };
        wants.push(Request::Network(answer));
    }
}

/// A node of SCCP behind an association.
struct End {
    asp: usize,
    number: u32,
    node: Node,
}

fn node(number: u32, reference_first: u32, now: Time) -> Node {
    let seconds = Duration::from_secs;
    let connections = ConnectionParameters {
        establishment: seconds(4),
        inactivity_send: seconds(2),
        inactivity_receive: seconds(5),
        release: seconds(1),
        release_repeat: seconds(1),
        release_most: seconds(3),
        guard: Duration::ZERO,
        freeze: seconds(1),
        reference_first,
        ..ConnectionParameters::q714()
    };
    let settings = Settings {
        network: None,
        point_code: point_code(number),
        aliases: Vec::new(),
        network_indicator: 2,
        concerned: Vec::new(),
        parameters: Parameters { connections, ..Parameters::q714() },
    };
    let mut node = Node::new(settings, Rules::default());
    for input in [In::State(254, true), In::Connection(Input::Serve(254, true))] {
        node.step(now, input, &mut Vec::new());
    }
    node
}

struct Line {
    world: World,
    gateway: usize,
    ends: [End; 2],
    programs: Vec<usize>,
    seed: u64,
    lives: u32,
}

impl Line {
    fn new(seed: u64) -> Self {
        let mut world = World::on(SHARDS);
        let gateway = world.gateway(SITE);
        let asps = [1, 2].map(|it| world.asp(Asp::of(&format!("10.0.{it}.1"), GATEWAY, it, it)));
        world.pass(Duration::from_millis(800));
        let now = world.now;
        let end = |at: usize| {
            let number = at as u32 + 1;
            End { asp: asps[at], number, node: node(number, 1, now) }
        };
        let ends = [end(0), end(1)];
        Self { world, gateway, ends, programs: Vec::new(), seed, lives: 1 }
    }

    fn chance(&mut self, of: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.seed) % of
    }

    fn step(&mut self, at: usize, input: In) {
        let mut out = Vec::new();
        self.ends[at].node.step(self.world.now, input, &mut out);
        self.carry_out(at, out);
    }

    fn carry_out(&mut self, at: usize, mut outs: Vec<Out>) {
        while !outs.is_empty() {
            for out in core::mem::take(&mut outs) {
                let answer = match out {
                    Out::Transfer(msu) => {
                        let asp = self.ends[at].asp;
                        self.world.at(asp, |asp, now| asp.tell(now, Said::Transfer(msu)));
                        continue;
                    }
                    Out::Indicate(Indication::Connection(of, event)) => match event {
                        ConnectionEvent::Offered { class, .. } => {
                            let accept = Accept { class, responding: None, data: Bytes::new() };
                            Input::Accept(of, accept)
                        }
                        ConnectionEvent::Reset(_) => Input::ResetResponse(of),
                        _ => continue,
                    },
                    Out::Indicate(_) => continue,
                };
                let now = self.world.now;
                self.ends[at].node.step(now, In::Connection(answer), &mut outs);
            }
        }
    }

    /// Lets time pass, in small steps.
    fn pass(&mut self, steps: u32, step: Duration) {
        for _ in 0..steps {
            self.world.pass(step);
            for at in 0..2 {
                let came = core::mem::take(&mut self.world.asp_of(self.ends[at].asp).received);
                for msu in came {
                    self.step(at, In::Transfer(msu));
                }
                let mut out = Vec::new();
                self.ends[at].node.tick(self.world.now, &mut out);
                self.carry_out(at, out);
            }
        }
    }

    fn active(&self, at: usize) -> Vec<LocalReference> {
        let all = self.ends[at].node.connection_status();
        all.filter(|it| it.state == "active").map(|it| it.reference).collect()
    }

    /// Connections that a program knows.
    fn known(&mut self, program: usize) -> BTreeSet<u32> {
        let mut known = BTreeSet::new();
        for it in &self.world.program_of(program).told {
            match it {
                tcu::Indication::Network(
                    Told::Connect { connection, .. } | Told::Connecting { connection, .. },
                ) => drop(known.insert(*connection)),
                tcu::Indication::Network(Told::Disconnect { connection: Some(it), .. }) => {
                    known.remove(it);
                }
                _ => {}
            }
        }
        known
    }

    fn connect(&mut self, at: usize) {
        let title = |digits| Address::title(Title::e164(Digits::parse(digits).unwrap()), 254);
        let own = Address::subsystem(Some(point_code(9)), 254);
        let digits = if self.ends[at].number == 1 { "44" } else { "33" };
        let mut called = if self.chance(2) == 0 { own } else { title(digits) };
        called.point_code = Some(point_code(9));
        let class = match self.chance(2) {
            0 => ConnectionClass::Basic,
            _ => ConnectionClass::FlowControl,
        };
        let (tag, calling, importance, data) = (0, None, None, Bytes::new());
        let connect = Connect { tag, called, calling, class, importance, data };
        self.step(at, In::Connection(Input::Connect(connect)));
    }

    fn act(&mut self, number: u32) {
        let at = self.chance(2) as usize;
        let there = self.active(at);
        let any = (!there.is_empty()).then(|| there[self.chance(there.len() as u64) as usize]);
        let program = self.programs.last().copied();
        match (self.chance(16), any) {
            (0..=4, _) => self.connect(at),
            (5, Some(it)) => {
                let what = Disconnect { cause: 3, data: Bytes::new() };
                self.step(at, In::Connection(Input::Disconnect(it, what)));
            }
            (6 | 7, Some(it)) => {
                let length = 1 + self.chance(800) as usize;
                self.step(at, In::Connection(Input::Data(it, vec![7; length].into())));
            }
            (8, Some(it)) => self.step(at, In::Connection(Input::Reset(it, 0))),
            (9, _) => {
                let asp = self.ends[at].asp;
                self.world.deafen(asp);
                self.pass(3, Duration::from_millis(50));
                self.world.hear(asp);
                self.pass(10, Duration::from_millis(100));
            }
            (10, _) => {
                self.lives += 1;
                let (number, now) = (self.ends[at].number, self.world.now);
                self.ends[at].node = node(number, self.lives << 12, now);
            }
            (11, _) if SHARDS > 1 => {
                let shard = self.chance(SHARDS.into()) as u16;
                self.world.crash(self.gateway, shard);
                self.pass(15, Duration::from_millis(100));
            }
            (12, _) | (_, None) => {
                let listener = ["127.0.0.1:7700", "127.0.0.1:7701"][self.chance(2) as usize];
                let hello = Hello::new("bssap", "", &format!("i-{number}"));
                let program = Program::new(listener, hello, Spelling::Tagged).doing(Accepts);
                self.programs.push(self.world.program(program));
            }
            (13, _) if program.is_some() => {
                let at = self.chance(self.programs.len() as u64) as usize;
                let dies = self.programs.swap_remove(at);
                self.world.deafen(dies);
            }
            (_, _) => {
                let Some(program) = program else { return };
                let called = Address::subsystem(Some(point_code(at as u32 + 1)), 254);
                let calling = Address::subsystem(Some(point_code(9)), 254);
                let (reference, class, data) = (number.into(), 2, Bytes::new());
                let ask = Ask::Connect { reference, called, calling, class, data };
                self.world.at_program(program, |it| it.ask(&Request::Network(ask)));
            }
        }
        let steps = self.chance(4) as u32;
        self.pass(steps, Duration::from_millis(20));
        let world = &mut self.world;
        self.programs.retain(|it| !world.program_of(*it).is_down);
    }

    /// Long times pass; then every section has its other half, and every one of an application a
    /// program that knows it.
    fn rest(&mut self, seed: u64) -> usize {
        self.pass(300, Duration::from_millis(100));
        let world = &mut self.world;
        self.programs.retain(|it| !world.program_of(*it).is_down);
        let rows = self.world.ask(self.gateway, "sccp/connections", &[]);
        let rows = rows.as_array().cloned().unwrap_or_default();
        let number = |row: &serde_json::Value, key: &str| row[key].as_u64().map(|it| it as u32);
        let (mut here, mut of_applications) = (BTreeSet::new(), BTreeSet::new());
        for row in &rows {
            assert_eq!(row["state"], "active", "seed {seed}: {row}");
            let own = number(row, "reference").unwrap();
            let there = number(row, "other").unwrap();
            let remote: u32 = row["point_code"].as_str().unwrap().parse().unwrap();
            here.insert((remote, own, there));
            if number(row, "subsystem") == Some(254) {
                of_applications.insert(own);
            } else {
                assert!(number(row, "coupled").is_some(), "seed {seed}: {row}");
            }
        }
        let mut elsewhere = BTreeSet::new();
        for end in &self.ends {
            for it in end.node.connection_status() {
                assert_eq!(it.state, "active", "seed {seed}: {it:?}");
                let other = it.other.unwrap().number();
                elsewhere.insert((end.number, other, it.reference.number()));
            }
        }
        assert_eq!(here, elsewhere, "seed {seed}");
        let mut known = BTreeSet::new();
        for program in self.programs.clone() {
            known.extend(self.known(program));
        }
        assert_eq!(of_applications, known, "seed {seed}");
        rows.len()
    }
}

#[test]
fn whatever_breaks_or_crashes_at_rest_no_section_is_alone() {
    let mut stayed = 0;
    for seed in 0..24 {
        let mut line = Line::new(seed << 20 | 3);
        for number in 0..50 {
            line.act(number);
        }
        stayed += line.rest(seed);
    }
    assert!(stayed > 20, "{stayed} sections stayed");
}
