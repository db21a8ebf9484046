//! By seed: two nodes, messages that are lost and that pass those of other SLS, nodes that crash.
//! At rest each connection has both its halves or none.

use crate::connections::{BASIC, FLOW, parameters};
use crate::world::{at, node};
use bytes::Bytes;
use m3ua::Transfer;
use machine::identity::mix;
use machine::{Duration, Machine, Time};
use sccp::codec::LocalReference;
use sccp::{
    Accept, Connect, ConnectionEvent as Event, ConnectionInput as Input, Disconnect, In,
    Indication, Node, Out, Parameters,
};
use std::collections::BTreeMap;

/// What a user knows of a connection.
#[derive(Debug, Default)]
struct User {
    is_there: bool,
    is_class_3: bool,
    sent: u32,
    /// The number that has to come next; none: a reset took some.
    expected: Option<u32>,
    came: usize,
}

struct Pair {
    seed: u64,
    nodes: [Node; 2],
    users: [BTreeMap<LocalReference, User>; 2],
    wire: Vec<Transfer>,
    now: Time,
    /// Of 100 messages so many are lost.
    loss: u64,
    carried: usize,
    resets: usize,
}

impl Pair {
    fn new(seed: u64, loss: u64) -> Self {
        let nodes = [1, 2].map(|it| fresh(it, 1, Time::ZERO));
        let users = [BTreeMap::new(), BTreeMap::new()];
        let (wire, now) = (Vec::new(), Time::ZERO);
        Self { seed, nodes, users, wire, now, loss, carried: 0, resets: 0 }
    }

    fn chance(&mut self, of: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.seed) % of
    }

    fn step(&mut self, side: usize, input: In) {
        let mut out = Vec::new();
        self.nodes[side].step(self.now, input, &mut out);
        self.take(side, out);
    }

    fn take(&mut self, side: usize, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Transfer(msu) => self.wire.push(msu),
                Out::Indicate(Indication::Connection(reference, event)) => {
                    self.heard(side, reference, event);
                }
                Out::Indicate(_) => {}
            }
        }
    }

    fn heard(&mut self, side: usize, reference: LocalReference, event: Event) {
        let user = self.users[side].entry(reference).or_default();
        match event {
            Event::Begun(_) | Event::NotSent(_) | Event::Inform(_) | Event::Expedited(_) => {}
            Event::Offered { class, .. } => {
                *user = User { is_class_3: class == FLOW, expected: Some(0), ..User::default() };
                match self.chance(10) {
                    0 => self.disconnect(side, reference),
                    1 => {}
                    _ => {
                        self.users[side].get_mut(&reference).unwrap().is_there = true;
                        let accept = Accept { class, responding: None, data: Bytes::new() };
                        self.step(side, In::Connection(Input::Accept(reference, accept)));
                    }
                }
            }
            Event::Confirmed { class, .. } => {
                let (is_there, is_class_3) = (true, class == FLOW);
                *user = User { is_there, is_class_3, expected: Some(0), ..User::default() };
            }
            // Class 2 does not see that a segment lacks.
            Event::Data(_) if !user.is_class_3 => user.came += 1,
            Event::Data(data) => {
                let number = u32::from_le_bytes(data[..4].try_into().unwrap());
                assert!(data[4..].iter().all(|it| *it == data[0]), "whole and of one N-DATA");
                let expected = user.expected.unwrap_or(number);
                assert_eq!(number, expected, "class 3 loses nothing without a reset");
                user.expected = Some(number + 1);
                user.came += 1;
            }
            Event::Reset(_) => {
                user.expected = None;
                self.resets += 1;
                self.step(side, In::Connection(Input::ResetResponse(reference)));
            }
            Event::ResetConfirmed => user.expected = None,
            Event::Disconnected { .. } => drop(self.users[side].remove(&reference)),
        }
    }

    fn disconnect(&mut self, side: usize, reference: LocalReference) {
        self.users[side].remove(&reference);
        let what = Disconnect { cause: 3, data: Bytes::new() };
        self.step(side, In::Connection(Input::Disconnect(reference, what)));
    }

    fn connect(&mut self, side: usize, is_class_3: bool) {
        let number = |it: usize| u32::try_from(it + 1).unwrap();
        let (called, calling) = (at(number(1 - side), 6), Some(at(number(side), 6)));
        let class = if is_class_3 { FLOW } else { BASIC };
        let (tag, importance, data) = (0, None, Bytes::new());
        let connect = Connect { tag, called, calling, class, importance, data };
        self.step(side, In::Connection(Input::Connect(connect)));
    }

    fn send(&mut self, side: usize, reference: LocalReference, length: usize) {
        let user = self.users[side].get_mut(&reference).unwrap();
        let number = user.sent.to_le_bytes();
        user.sent += 1;
        let mut data = number.to_vec();
        data.resize(4 + length, number[0]);
        self.step(side, In::Connection(Input::Data(reference, Bytes::from(data))));
    }

    fn there(&self, side: usize) -> Vec<LocalReference> {
        self.users[side].iter().filter(|it| it.1.is_there).map(|it| *it.0).collect()
    }

    /// Carries a message: the first of any SLS of any side.
    fn carry_one(&mut self) -> bool {
        if self.wire.is_empty() {
            return false;
        }
        let any = self.chance(self.wire.len() as u64) as usize;
        let flow = (self.wire[any].opc, self.wire[any].sls);
        let first = self.wire.iter().position(|it| (it.opc, it.sls) == flow).unwrap();
        let msu = self.wire.remove(first);
        self.carried += 1;
        if self.chance(100) >= self.loss {
            let side = msu.dpc.number() as usize - 1;
            self.step(side, In::Transfer(msu));
        }
        true
    }

    fn carry(&mut self) {
        for _ in 0..100_000 {
            if !self.carry_one() {
                return;
            }
        }
        panic!("messages go in a circle");
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for _ in 0..100_000 {
            let due = self.nodes.iter().filter_map(Machine::deadline).min();
            self.now = due.unwrap_or(until).min(until).max(self.now);
            for side in 0..2 {
                let mut out = Vec::new();
                self.nodes[side].tick(self.now, &mut out);
                assert!(self.nodes[side].deadline().is_none_or(|it| it > self.now));
                self.take(side, out);
            }
            self.carry();
            if self.now == until {
                return;
            }
        }
        panic!("deadlines do not advance");
    }

    fn crash(&mut self, side: usize, reference_first: u32) {
        self.nodes[side] = fresh(side + 1, reference_first, self.now);
        self.users[side].clear();
    }

    /// Something that a user may do.
    fn act(&mut self) {
        let side = self.chance(2) as usize;
        let there = self.there(side);
        let any = (!there.is_empty()).then(|| self.chance(there.len() as u64) as usize);
        match (self.chance(12), any) {
            (0 | 1, _) | (_, None) => {
                let is_class_3 = self.chance(2) == 0;
                self.connect(side, is_class_3);
            }
            (2, Some(any)) => self.disconnect(side, there[any]),
            (3, Some(any)) => self.step(side, In::Connection(Input::Reset(there[any], 0))),
            (4, Some(any)) => {
                let data = Bytes::from_static(b"now");
                self.step(side, In::Connection(Input::Expedited(there[any], data)));
            }
            (5, _) => {
                let seconds = self.chance(40);
                self.pass(Duration::from_secs(seconds));
            }
            (_, Some(any)) => {
                let length = self.chance(700) as usize;
                self.send(side, there[any], length);
            }
        }
        for _ in 0..self.chance(6) {
            self.carry_one();
        }
    }

    /// Nothing is lost any more, and long times pass. Then each half has another one: what is sent
    /// on each comes.
    fn rest(&mut self) {
        self.loss = 0;
        self.carry();
        self.pass(Duration::from_secs(2 * 3_600));
        let seed = self.seed;
        let mut sides = [0, 1].map(|side| self.there(side));
        for (side, known) in sides.iter().enumerate() {
            let held = self.nodes[side].connections().0;
            assert_eq!(held, known.len(), "users know all of {side}, seed {seed:x}");
        }
        assert_eq!(sides[0].len(), sides[1].len(), "no half is alone, seed {seed:x}");
        let before = self.users.each_ref().map(|it| it.values().map(|it| it.came).sum::<usize>());
        for (side, references) in sides.each_mut().into_iter().enumerate() {
            references.iter().for_each(|it| self.send(side, *it, 9));
        }
        self.carry();
        let after = self.users.each_ref().map(|it| it.values().map(|it| it.came).sum::<usize>());
        for side in 0..2 {
            assert_eq!(after[side] - before[side], sides[1 - side].len(), "seed {seed:x}");
            assert_eq!(self.nodes[side].connection_octets(), 0, "seed {seed:x}");
        }
    }
}

fn fresh(number: usize, reference_first: u32, now: Time) -> Node {
    let mut connections = parameters().connections;
    connections.reference_first = reference_first;
    let parameters = Parameters { connections, ..parameters() };
    let mut node = node(u32::try_from(number).unwrap(), parameters, Vec::new());
    node.step(now, In::Connection(Input::Serve(6, true)), &mut Vec::new());
    node
}

#[test]
fn whatever_is_lost_or_passed_at_rest_no_connection_has_one_half() {
    let (mut resets, mut left) = (0, 0);
    for seed in 0..150 {
        let mut pair = Pair::new(seed << 32, [0, 3, 20][seed as usize % 3]);
        for _ in 0..150 {
            pair.act();
        }
        pair.rest();
        resets += pair.resets;
        left += pair.there(0).len();
    }
    assert!(resets > 100 && left > 100, "{resets} resets, {left} connections that stayed");
}

#[test]
fn whenever_a_node_crashes_at_rest_no_connection_has_one_half() {
    let script = |pair: &mut Pair, most: usize| {
        while pair.carried < most {
            pair.act();
            while pair.carried < most && pair.carry_one() {}
        }
    };
    for step in 0..60 {
        for side in 0..2 {
            // Once with references of before, once with others.
            for reference_first in [1, 0x80_0000] {
                let mut pair = Pair::new(step as u64 + 77, 0);
                script(&mut pair, step);
                pair.crash(side, reference_first);
                let most = pair.carried + 20;
                script(&mut pair, most);
                pair.rest();
            }
        }
    }
}

#[test]
fn nodes_that_crash_again_and_again_while_messages_are_lost_keep_no_half() {
    for seed in 0..60 {
        let mut pair = Pair::new(seed << 40 | 5, 10);
        for round in 0..6 {
            for _ in 0..40 {
                pair.act();
            }
            let side = pair.chance(2) as usize;
            pair.crash(side, round << 12);
        }
        pair.rest();
    }
}
