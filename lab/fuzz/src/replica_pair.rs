//! Two nodes of a pair and their arbiter, and somebody between them who holds datagrams back, sends
//! them again, changes them and makes his own. Nothing panics and the deadlines advance; where the
//! pair has a key, nothing that was changed is heard and never do both nodes speak.

use crate::script::Script;
use machine::{Duration, Time};
use replica::guard::{End, Seal, Verifier, guard};
use replica::{Arbiter, In, Keys, Name, Out, PROTOCOL, Pair, Params, Terms, envelope};

const PAIR: u64 = 7;
const LANES: u16 = 2;
const ARBITER: usize = 2;
/// Datagrams that are remembered to be sent again.
const HEARD_MAX: usize = 64;
/// Steps of one input, and answers to one of them.
const STEPS_MAX: usize = 256;
const ANSWERS_MAX: usize = 64;

struct Node {
    pair: Pair,
    peer: (Seal, Verifier),
    votes: (Seal, Verifier),
    speaks: bool,
}

/// A datagram on its way: from, to.
#[derive(Clone)]
struct Flight(usize, usize, Vec<u8>);

struct World {
    now: Time,
    keys: Option<Keys>,
    nodes: [Node; 2],
    arbiter: Arbiter,
    flying: Vec<Flight>,
    /// All that was ever sent, the last of it.
    heard: Vec<Flight>,
    lives: u64,
}

fn name(at: usize) -> Name {
    if at == 0 { Name::A } else { Name::B }
}

fn node(at: usize, keys: Option<&Keys>, life: u64, now: Time) -> Node {
    let params = Params {
        pair: PAIR,
        node: name(at),
        priority: u8::from(at == 0),
        incarnation: life,
        heartbeat: Duration::from_millis(10),
        detect: Duration::from_millis(50),
        lease: Duration::from_millis(40),
        has_arbiter: true,
        lanes: LANES,
        version: PROTOCOL,
    };
    let ends = |theirs, part| guard(keys, PAIR, End::Node(name(at)), theirs, life << 8 | part);
    let peer = ends(End::Node(name(1 - at)), 1);
    Node { pair: Pair::new(params, now), peer, votes: ends(End::Arbiter, 2), speaks: false }
}

impl World {
    fn new(is_sealed: bool) -> Self {
        let now = Time::from_millis(1_000_000);
        let keys = is_sealed.then(|| Keys::parse("the key of the pair").expect("a key"));
        let pairs = keys.iter().map(|keys| (PAIR, keys.clone())).collect();
        let terms = Terms { promise_max: Duration::from_secs(1), pairs };
        let mut lives = 0;
        let arbiter = Arbiter::new(now, &terms, || {
            lives += 1;
            lives
        });
        let nodes = [0, 1].map(|at| node(at, keys.as_ref(), at as u64 + 1, now));
        Self { now, keys, nodes, arbiter, flying: Vec::new(), heard: Vec::new(), lives: 2 }
    }

    fn send(&mut self, from: usize, to: usize, message: &[u8]) {
        let node = &self.nodes[from];
        let seal = if to == ARBITER { &node.votes.0 } else { &node.peer.0 };
        let sealed = seal.seal(message).into_owned();
        self.depart(from, to, sealed);
    }

    fn depart(&mut self, from: usize, to: usize, sealed: Vec<u8>) {
        let is_enveloped = to == ARBITER && self.keys.is_some();
        let bytes = if is_enveloped { envelope(PAIR, name(from), &sealed) } else { sealed };
        let flight = Flight(from, to, bytes);
        if self.heard.len() == HEARD_MAX {
            self.heard.remove(0);
        }
        self.heard.push(flight.clone());
        if self.flying.len() < HEARD_MAX {
            self.flying.push(flight);
        }
    }

    fn act(&mut self, at: usize, outs: Vec<Out>) {
        for out in outs {
            match out {
                Out::ToPeer(bytes) => self.send(at, 1 - at, &bytes),
                Out::ToArbiter(bytes) => self.send(at, ARBITER, &bytes),
                Out::Activate { .. } => self.nodes[at].speaks = true,
                Out::Deactivate => {
                    self.nodes[at].speaks = false;
                    (0..LANES).for_each(|_| self.step(at, In::Quiet));
                }
                Out::Snapshot(number) => {
                    (0..LANES).for_each(|_| self.step(at, In::SnapshotEnded(number)));
                }
                Out::ActivateLane(_) | Out::Forget | Out::Whole(_) | Out::Apply(..) => {}
                Out::Followed(..) | Out::Unfollowed | Out::Outdated | Out::Paced(_) => {}
            }
        }
    }

    fn step(&mut self, at: usize, input: In<'_>) {
        let mut outs = Vec::new();
        self.nodes[at].pair.step(self.now, input, &mut outs);
        self.act(at, outs);
    }

    /// A datagram comes; `genuine`: as its sender made it.
    fn arrive(&mut self, flight: &Flight, genuine: bool) {
        let Flight(from, to, bytes) = flight;
        let mut answer = Vec::new();
        let may_be_heard = genuine || self.keys.is_none();
        if *to == ARBITER {
            let voted = self.arbiter.step(self.now, bytes, &mut answer).is_ok();
            assert!(may_be_heard || !voted, "the arbiter heard what nobody sealed");
            if !answer.is_empty() && self.flying.len() < HEARD_MAX {
                self.flying.push(Flight(ARBITER, *from % 2, answer));
            }
            return;
        }
        let node = &mut self.nodes[*to];
        let verifier = if *from == ARBITER { &mut node.votes.1 } else { &mut node.peer.1 };
        let plain = verifier.open(self.now, bytes, &mut answer).map(<[u8]>::to_vec);
        assert!(may_be_heard || plain.is_err(), "a node heard what nobody sealed");
        if !answer.is_empty() {
            self.depart(*to, *from, answer);
        }
        match plain {
            Ok(plain) if *from == ARBITER => self.step(*to, In::Answered(&plain)),
            Ok(plain) => self.step(*to, In::Heard(&plain)),
            Err(_) => {}
        }
    }

    fn deliver_all(&mut self) {
        for _ in 0..ANSWERS_MAX {
            if self.flying.is_empty() {
                return;
            }
            let flight = self.flying.remove(0);
            self.arrive(&flight, true);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for at in 0..2 {
            let mut outs = Vec::new();
            self.nodes[at].pair.tick(self.now, &mut outs);
            self.act(at, outs);
            assert!(self.nodes[at].pair.deadline(self.now) > self.now, "the deadline advances");
        }
        let speaks = |node: &Node| node.speaks && self.now < node.pair.lease();
        let both = self.nodes.iter().all(speaks);
        assert!(!both || self.keys.is_none(), "both nodes speak");
    }

    fn begin_anew(&mut self, at: usize) {
        self.lives += 1;
        self.nodes[at] = node(at, self.keys.as_ref(), self.lives, self.now);
    }

    /// One that was sent before comes again, changed as the script says.
    fn meddle(&mut self, script: &mut Script<'_>) {
        let count = self.heard.len().max(1);
        let Some(mut flight) = self.heard.get(script.number() % count).cloned() else { return };
        let before = flight.2.clone();
        for _ in 0..script.octet() % 4 {
            let (at, octet) = (script.number(), script.octet());
            let length = flight.2.len().max(1);
            if let Some(place) = flight.2.get_mut(at % length) {
                *place ^= octet;
            }
        }
        let genuine = before == flight.2;
        self.arrive(&flight, genuine);
    }
}

pub fn run(input: &[u8]) {
    let mut script = Script::new(input);
    let mut world = World::new(script.octet() & 1 == 0);
    for _ in 0..STEPS_MAX {
        if script.is_over() {
            break;
        }
        let (what, at) = (script.octet(), usize::from(script.octet()));
        match what % 8 {
            0 | 1 => world.deliver_all(),
            2 => world.pass(Duration::from_millis(u64::from(script.octet()) % 64)),
            3 => world.meddle(&mut script),
            4 => {
                let flight = Flight(at % 3, (at / 3) % 3, script.piece().to_vec());
                if flight.0 != flight.1 {
                    let genuine = world.heard.iter().any(|sent| sent.2 == flight.2);
                    world.arrive(&flight, genuine);
                }
            }
            5 => {
                let keep = script.number();
                let mut nth = 0;
                world.flying.retain(|_| {
                    nth += 1;
                    keep >> (nth % 16) & 1 == 1
                });
            }
            6 => {
                let (lane, delta) = (u16::from(script.octet()) % LANES, script.piece());
                let mut outs = Vec::new();
                let now = world.now;
                world.nodes[at % 2].pair.deltas(now, lane, [delta].into_iter(), &mut outs);
                world.act(at % 2, outs);
            }
            _ => match at % 8 {
                0 | 1 => world.step(at % 2, In::Switchover),
                2 | 3 => world.step(at % 2, In::LaneLost(u16::from(script.octet()) % LANES)),
                4 => world.step(at % 2, In::StateLost),
                5 => world.step(at % 2, In::Fit(script.octet() & 1 == 0)),
                _ => world.begin_anew(at % 2),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it the assertion that never both speak would hold of a world in which none does.
    #[test]
    fn a_world_that_nobody_disturbs_has_one_that_speaks_and_hands_over_when_asked() {
        let mut world = World::new(true);
        let live = |world: &mut World| {
            for _ in 0..400 {
                world.deliver_all();
                world.pass(Duration::from_millis(5));
            }
            let speaks = |node: &Node| node.speaks && world.now < node.pair.lease();
            world.nodes.iter().map(speaks).collect::<Vec<_>>()
        };
        assert_eq!(live(&mut world), [true, false]);
        world.step(0, In::Switchover);
        assert_eq!(live(&mut world), [false, true]);
    }
}
