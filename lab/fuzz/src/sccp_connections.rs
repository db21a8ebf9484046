//! Messages of connections from strangers, beside connections of class 2 and 3 with a node that
//! keeps to the rules, users that want any thing, and time that passes: nothing panics, the
//! deadline advances, what waits has its limits, and in the end no half of a connection is alone.
//!
//! ```text
//! input = (what, length, octets)…     what: the low bits name the source, the high ones the event
//! ```

use bytes::Bytes;
use m3ua::Transfer;
use m3ua::codec::PointCode;
use machine::{Duration, Machine, Time};
use sccp::codec::{Address, ConnectionClass, LocalReference};
use sccp::{
    Accept, Connect, ConnectionEvent as Event, ConnectionInput as Input, ConnectionParameters,
    Disconnect, In, Indication, Node, Out, Parameters, Rules, Settings,
};

const REFERENCES: usize = 64;
const WAITING_OCTETS: usize = 16 << 10;
/// Messages that one input leads to, at most: a window of both sides, and the answers.
const CARRIED_MAX: usize = 2_000;

fn node(number: u32) -> Node {
    let connections = ConnectionParameters {
        guard: Duration::ZERO,
        credit_max: 3,
        references_max: REFERENCES,
        waiting_octets_max: WAITING_OCTETS,
        ..ConnectionParameters::q714()
    };
    let settings = Settings {
        network: None,
        point_code: PointCode::truncated(number),
        aliases: Vec::new(),
        network_indicator: 2,
        concerned: Vec::new(),
        parameters: Parameters { connections, ..Parameters::q714() },
    };
    let mut node = Node::new(settings, Rules::default());
    let mut out = Vec::new();
    node.step(Time::ZERO, In::State(6, true), &mut out);
    node.step(Time::ZERO, In::Connection(Input::Serve(6, true)), &mut out);
    node
}

/// Two nodes; MSUs between them are carried at once.
struct Nodes {
    nodes: [Node; 2],
    now: Time,
    /// References that were heard of, at each.
    seen: [Vec<LocalReference>; 2],
}

impl Nodes {
    fn step(&mut self, side: usize, input: In) {
        let mut queue = vec![(side, input)];
        for _ in 0..CARRIED_MAX {
            let Some((side, input)) = queue.pop() else { return };
            let mut out = Vec::new();
            self.nodes[side].step(self.now, input, &mut out);
            // The last one goes first: those that come of it, in their order.
            let mut next = self.carry_out(side, out);
            next.reverse();
            queue.extend(next);
        }
        panic!("messages go in a circle");
    }

    fn carry_out(&mut self, side: usize, out: Vec<Out>) -> Vec<(usize, In)> {
        let mut next = Vec::new();
        for effect in out {
            match effect {
                Out::Transfer(msu) if (1..=2).contains(&msu.dpc.number()) => {
                    next.push((usize::from(msu.dpc.number() == 2), In::Transfer(msu)));
                }
                Out::Indicate(Indication::Connection(reference, event)) => {
                    next.extend(self.heard(side, reference, &event).map(|it| (side, it)));
                }
                Out::Transfer(_) | Out::Indicate(_) => {}
            }
        }
        next
    }

    fn heard(&mut self, side: usize, reference: LocalReference, event: &Event) -> Option<In> {
        match *event {
            Event::Begun(_) => self.seen[side].push(reference),
            Event::Offered { class, .. } => {
                self.seen[side].push(reference);
                let (responding, data) = (None, Bytes::new());
                let accept = Accept { class, responding, data };
                return Some(In::Connection(Input::Accept(reference, accept)));
            }
            Event::Reset(_) => return Some(In::Connection(Input::ResetResponse(reference))),
            _ => {}
        }
        None
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            let due = self.nodes.iter().filter_map(Machine::deadline).min();
            self.now = due.unwrap_or(until).clamp(self.now, until);
            for side in 0..2 {
                let mut out = Vec::new();
                self.nodes[side].tick(self.now, &mut out);
                assert!(self.nodes[side].deadline().is_none_or(|it| it > self.now));
                for (side, input) in self.carry_out(side, out) {
                    self.step(side, input);
                }
            }
        }
    }

    /// A user's wish of a connection that the octets choose.
    fn want(&mut self, side: usize, what: u8, octets: &[u8]) {
        let which = octets.first().copied().unwrap_or_default();
        let at = usize::from(which) % self.seen[side].len().max(1);
        let known = self.seen[side].get(at).copied();
        let reference = known.unwrap_or(LocalReference::truncated(which.into()));
        let data = Bytes::copy_from_slice(octets);
        self.step(
            side,
            In::Connection(match what % 6 {
                0 => Input::Connect(Connect {
                    tag: 0,
                    called: Address::subsystem(Some(PointCode::truncated(2)), 6),
                    calling: None,
                    class: match which % 2 {
                        0 => ConnectionClass::Basic,
                        _ => ConnectionClass::FlowControl,
                    },
                    importance: None,
                    data,
                }),
                1 => Input::Data(reference, data.repeat(3).into()),
                2 => Input::Expedited(reference, data),
                3 => Input::Reset(reference, which),
                4 => Input::Disconnect(reference, Disconnect { cause: which, data }),
                _ => Input::Accept(
                    reference,
                    Accept { class: ConnectionClass::FlowControl, responding: None, data },
                ),
            }),
        );
    }
}

pub fn run(bytes: &[u8]) {
    let mut world =
        Nodes { nodes: [node(1), node(2)], now: Time::ZERO, seen: [Vec::new(), Vec::new()] };
    let mut rest = bytes;
    while let [what, length, tail @ ..] = rest {
        let (octets, tail) = tail.split_at(usize::from(*length).min(tail.len()));
        rest = tail;
        let low = what & 0x0f;
        match what >> 4 {
            0 => world.pass(Duration::from_secs(u64::from(*length))),
            1 | 2 => world.want(usize::from(what >> 4 == 2), low, octets),
            3 => world.nodes[usize::from(low % 2)] = node(u32::from(low % 2) + 1),
            // A stranger, and who takes the name of the other node.
            _ => {
                let (opc, dpc) = (PointCode::truncated(u32::from(low)), PointCode::truncated(2));
                let (network, payload) = (None, Bytes::copy_from_slice(octets));
                let (si, ni, mp, sls) = (3, 2, 0, 0);
                world.step(
                    1,
                    In::Transfer(Transfer { network, opc, dpc, si, ni, mp, sls, payload }),
                );
            }
        }
        for node in &world.nodes {
            let (used, frozen) = node.connections();
            assert!(used + frozen <= REFERENCES && node.connection_octets() <= WAITING_OCTETS);
        }
    }
    world.pass(Duration::from_secs(2 * 3_600));
    // Both halves of a connection of node 2 with itself are there.
    let [here, there] = world.nodes.each_ref().map(|it| it.connections().0);
    assert!(here <= there && (there - here) % 2 == 0, "{here} halves here, {there} there");
}
