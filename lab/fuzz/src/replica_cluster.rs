//! Three nodes of a cluster with two groups, and somebody between them who holds datagrams back,
//! sends them again, changes them and makes his own: what a link without a key, or a node with a
//! fault, may say. Nothing panics, deadlines advance; while nothing was changed never do two nodes
//! speak for a group.

use crate::script::Script;
use machine::{Duration, Time};
use replica::cluster::{Cluster, In, Out, PROTOCOL, Params, Placement, Roster, preference};
use runtime::{GroupId, GroupOrder, NodeId};

const NODES: usize = 3;
const GROUPS: u16 = 2;
/// Datagrams that are remembered to be sent again.
const HEARD_MAX: usize = 64;
/// Steps of one input, and rounds of answers to one of them.
const STEPS_MAX: usize = 256;
const ANSWERS_MAX: usize = 64;

struct Node {
    cluster: Cluster,
    active: [bool; GROUPS as usize],
}

/// A datagram on its way: from, to.
#[derive(Clone)]
struct Flight(usize, usize, Vec<u8>);

struct World {
    now: Time,
    nodes: Vec<Node>,
    flying: Vec<Flight>,
    /// All that was ever sent, the last of it.
    heard: Vec<Flight>,
    lives: u64,
    is_forged: bool,
}

fn id(at: usize) -> NodeId {
    NodeId(u8::try_from(at + 1).unwrap_or(u8::MAX))
}

impl World {
    fn new() -> Self {
        let now = Time::from_millis(1_000_000);
        let (flying, heard) = (Vec::new(), Vec::new());
        let mut world = Self { now, nodes: Vec::new(), flying, heard, lives: 0, is_forged: false };
        for at in 0..NODES {
            let node = world.node(at);
            world.nodes.push(node);
        }
        world
    }

    fn node(&mut self, at: usize) -> Node {
        self.lives += 1;
        let params = Params {
            cluster: 7,
            node: id(at),
            life: self.lives,
            heartbeat: Duration::from_millis(10),
            detect: Duration::from_millis(50),
            lease: Duration::from_millis(40),
            version: PROTOCOL,
            log_bytes_max: 1 << 16,
        };
        let voters = (0..NODES).map(id).collect();
        let roster = Roster { voters, ..Roster::default() };
        let mut cluster = Cluster::new(params, roster, self.now);
        for group in (0..GROUPS).map(GroupId) {
            let serve = preference(group, (0..NODES).map(id));
            let placement = Placement { group, serve, observe: Vec::new(), copies: 1 };
            cluster.step(self.now, In::Place(placement), &mut Vec::new());
        }
        Node { cluster, active: [false; GROUPS as usize] }
    }

    fn act(&mut self, at: usize, outs: Vec<Out>) {
        for out in outs {
            match out {
                Out::Send(to, bytes) => {
                    let flight = Flight(at, usize::from(to.0) - 1, bytes);
                    if self.heard.len() == HEARD_MAX {
                        self.heard.remove(0);
                    }
                    self.heard.push(flight.clone());
                    if self.flying.len() < HEARD_MAX {
                        self.flying.push(flight);
                    }
                }
                Out::Order(GroupOrder::Activate { group, .. }) => {
                    self.nodes[at].active[usize::from(group.0)] = true
                }
                Out::Order(GroupOrder::Deactivate { group }) => {
                    self.nodes[at].active[usize::from(group.0)] = false;
                    self.step(at, In::Quiet(group));
                }
                Out::Order(GroupOrder::Slice { group, number, .. }) => {
                    self.step(at, In::Sliced { group, number, next: None });
                }
                _ => {}
            }
        }
    }

    fn step(&mut self, at: usize, input: In<'_>) {
        let mut outs = Vec::new();
        self.nodes[at].cluster.step(self.now, input, &mut outs);
        self.act(at, outs);
    }

    fn deliver_all(&mut self) {
        for _ in 0..ANSWERS_MAX {
            if self.flying.is_empty() {
                return;
            }
            let Flight(from, to, bytes) = self.flying.remove(0);
            self.step(to, In::Heard(id(from), &bytes));
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        for at in 0..NODES {
            let mut outs = Vec::new();
            self.nodes[at].cluster.tick(self.now, &mut outs);
            self.act(at, outs);
            assert!(self.nodes[at].cluster.deadline() > self.now, "the deadline advances");
        }
        for group in (0..GROUPS).map(GroupId) {
            let speaks = |node: &&Node| {
                node.active[usize::from(group.0)] && self.now < node.cluster.lease(group)
            };
            let speakers = self.nodes.iter().filter(speaks).count();
            assert!(speakers <= 1 || self.is_forged, "two speak for a group");
        }
    }

    /// One that was sent before comes again, changed as the script says.
    fn meddle(&mut self, script: &mut Script<'_>) {
        let count = self.heard.len().max(1);
        let Some(mut flight) = self.heard.get(script.number() % count).cloned() else { return };
        for _ in 0..script.octet() % 4 {
            let (at, octet) = (script.number(), script.octet());
            let length = flight.2.len().max(1);
            if let Some(place) = flight.2.get_mut(at % length) {
                *place ^= octet;
            }
        }
        // Without a key what is played again is heard, too.
        self.is_forged = true;
        self.step(flight.1, In::Heard(id(flight.0), &flight.2));
    }
}

pub fn run(input: &[u8]) {
    let mut script = Script::new(input);
    let mut world = World::new();
    for _ in 0..STEPS_MAX {
        if script.is_over() {
            break;
        }
        let (what, at) = (script.octet(), usize::from(script.octet()) % NODES);
        let group = GroupId(u16::from(script.octet()) % GROUPS);
        match what % 8 {
            0 | 1 => world.deliver_all(),
            2 => world.pass(Duration::from_millis(u64::from(script.octet()) % 64)),
            3 => world.meddle(&mut script),
            4 => {
                world.is_forged = true;
                world.step(at, In::Heard(id((at + 1) % NODES), script.piece()));
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
                let (delta, mut outs, now) = (script.piece(), Vec::new(), world.now);
                let cluster = &mut world.nodes[at].cluster;
                cluster.delta(group, delta);
                cluster.post(now, id((at + 1) % NODES), (0, 1), delta, &mut outs);
                cluster.flush(now, &mut outs);
                world.act(at, outs);
                world.step(at, In::Marked(group, now.as_nanos()));
            }
            _ => match script.octet() % 8 {
                0 | 1 => world.step(at, In::Move(group, id((at + 1) % NODES))),
                2 => world.step(at, In::Lost(group)),
                3 => world.step(at, In::Leave(true)),
                4 => world.step(at, In::Leave(false)),
                5 => world.step(at, In::Hold(script.octet() & 1 == 0)),
                _ => {
                    let node = world.node(at);
                    world.nodes[at] = node;
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it the assertion that never two speak would hold of a world in which none does.
    #[test]
    fn a_world_that_nobody_disturbs_has_one_that_speaks_for_each_group() {
        let mut world = World::new();
        for _ in 0..400 {
            world.deliver_all();
            world.pass(Duration::from_millis(5));
        }
        for group in (0..GROUPS).map(GroupId) {
            let now = world.now;
            let speaks = |node: &&Node| now < node.cluster.lease(group);
            assert_eq!(world.nodes.iter().filter(speaks).count(), 1);
        }
    }
}
