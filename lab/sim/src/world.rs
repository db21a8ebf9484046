//! A world: nodes with addresses, one link between them all or pipes of their own between pairs
//! of addresses, and the time that passes.

use crate::{Counts, Link, LinkSpec};
use ::link::{Arrival, Change, Pipe};
use machine::{Machine as _, Time};
use std::any::Any;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// What lives at one or more addresses: a function ([`crate::Hosted`]) or a scripted endpoint.
pub trait Node: Any {
    /// A datagram came from `from` to our address `to`.
    fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
        out: &mut Outbox,
    );

    /// Lets time pass: every timer due at `now` fires.
    fn tick(&mut self, now: Time, out: &mut Outbox);

    /// When [`Node::tick`] wants to be called next.
    fn deadline(&self) -> Option<Time>;
}

/// What a node sends in one step.
#[derive(Debug, Default)]
pub struct Outbox {
    sends: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
}

impl Outbox {
    /// Sends `bytes` from our address `from` to `to`.
    pub fn send(&mut self, from: SocketAddr, to: SocketAddr, bytes: impl Into<Vec<u8>>) {
        self.sends.push((from, to, bytes.into()));
    }
}

/// A node of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(usize);

/// A pipe of a world: one way between two addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PipeId(usize);

/// From, to.
type Ends = (SocketAddr, SocketAddr);

/// Nodes, a link between all of them, and the time.
pub struct World {
    now: Time,
    link: Link<Ends>,
    pipes: Vec<Pipe<(Ends, Vec<u8>)>>,
    laid: HashMap<(IpAddr, IpAddr), usize>,
    arrivals: Vec<Arrival<(Ends, Vec<u8>)>>,
    nodes: Vec<Box<dyn Node>>,
    homes: HashMap<SocketAddr, usize>,
    outbox: Outbox,
    digest: u64,
    unreachable: u64,
    trace: Option<Vec<String>>,
}

impl World {
    /// An empty world at `now`; every datagram crosses a link like `spec`.
    #[must_use]
    pub fn new(seed: u64, spec: LinkSpec, now: Time) -> Self {
        Self {
            now,
            link: Link::new(seed, spec),
            pipes: Vec::new(),
            laid: HashMap::new(),
            arrivals: Vec::new(),
            nodes: Vec::new(),
            homes: HashMap::new(),
            outbox: Outbox::default(),
            digest: 0xcbf2_9ce4_8422_2325,
            unreachable: 0,
            trace: None,
        }
    }

    /// Keeps a line for each datagram that arrives from now on; see [`World::trace`].
    pub fn keep_trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// A line for each datagram: time, from, to, first line.
    #[must_use]
    pub fn trace(&self) -> &[String] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// Puts a node at `addresses`; what it wants at once happens in the next step.
    pub fn add(&mut self, node: impl Node, addresses: &[SocketAddr]) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(Box::new(node));
        self.homes.extend(addresses.iter().map(|&address| (address, id)));
        NodeId(id)
    }

    /// Lays a pipe for what is sent from one address to another, in place of the link. Datagrams
    /// in it are counted by their payload; headers are its overhead.
    pub fn lay(&mut self, from: IpAddr, to: IpAddr, pipe: Pipe<(Ends, Vec<u8>)>) -> PipeId {
        let id = self.pipes.len();
        self.pipes.push(pipe);
        self.laid.insert((from, to), id);
        PipeId(id)
    }

    /// Cuts a pipe, heals it, or makes it behave differently.
    pub fn change(&mut self, pipe: PipeId, change: Change) {
        self.pipes[pipe.0].change(self.now, change);
    }

    /// What became of the datagrams in a pipe.
    #[must_use]
    pub fn pipe_counts(&self, pipe: PipeId) -> ::link::Counts {
        self.pipes[pipe.0].counts()
    }

    /// The node, if it is a `T`.
    #[must_use]
    pub fn node<T: Node>(&self, id: NodeId) -> Option<&T> {
        let node: &dyn Any = &*self.nodes[id.0];
        node.downcast_ref()
    }

    /// The node, if it is a `T`, to be changed between two steps. What it then wants to send
    /// must wait for its next tick.
    pub fn node_mut<T: Node>(&mut self, id: NodeId) -> Option<&mut T> {
        let node: &mut dyn Any = &mut *self.nodes[id.0];
        node.downcast_mut()
    }

    /// The link behaves like this from now on.
    pub const fn set_spec(&mut self, spec: LinkSpec) {
        self.link.set_spec(spec);
    }

    /// The present time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// What became of the datagrams.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.link.counts()
    }

    /// Datagrams to an address where nobody lives.
    #[must_use]
    pub const fn unreachable(&self) -> u64 {
        self.unreachable
    }

    /// A hash over every datagram that arrived, with its time and its ends: equal for equal runs.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// When something happens next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let nodes = self.nodes.iter().filter_map(|node| node.deadline());
        let pipes = self.pipes.iter().filter_map(|pipe| pipe.deadline());
        nodes.chain(pipes).chain(self.link.deadline()).min()
    }

    /// Lets time pass until `end`, from deadline to deadline.
    pub fn run_until(&mut self, end: Time) {
        while let Some(at) = self.deadline().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Everything that is due at the present time: arrivals first, then timers.
    fn step(&mut self) {
        while let Some((ends, bytes)) = self.link.deliver(self.now) {
            self.hand_over(ends, &bytes);
        }
        for id in 0..self.pipes.len() {
            if self.pipes[id].deadline().is_some_and(|at| at <= self.now) {
                self.pipes[id].tick(self.now, &mut self.arrivals);
            }
        }
        // A pipe without delay hands over what a node sends in answer within this loop.
        while !self.arrivals.is_empty() {
            for Arrival { packet: (ends, bytes), .. } in std::mem::take(&mut self.arrivals) {
                self.hand_over(ends, &bytes);
            }
        }
        for id in 0..self.nodes.len() {
            if self.nodes[id].deadline().is_some_and(|at| at <= self.now) {
                self.nodes[id].tick(self.now, &mut self.outbox);
                self.dispatch();
            }
        }
    }

    fn hand_over(&mut self, ends: Ends, bytes: &[u8]) {
        let (from, to) = ends;
        self.note(from, to, bytes);
        let Some(&home) = self.homes.get(&to) else {
            self.unreachable += 1;
            return;
        };
        self.nodes[home].receive(self.now, from, to, bytes, &mut self.outbox);
        self.dispatch();
    }

    fn dispatch(&mut self) {
        for (from, to, bytes) in self.outbox.sends.drain(..) {
            match self.laid.get(&(from.ip(), to.ip())) {
                Some(&id) => {
                    let packet = ((from, to), bytes);
                    self.pipes[id].step(self.now, packet, &mut self.arrivals);
                }
                None => self.link.send(self.now, &bytes, (from, to)),
            }
        }
    }

    fn note(&mut self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        let head = format!("{:?} {from} {to} ", self.now);
        for &byte in head.as_bytes().iter().chain(bytes) {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if let Some(trace) = &mut self.trace {
            let line = bytes.split(|&byte| byte == b'\r').next().unwrap_or_default();
            trace.push(format!("{head}{}", String::from_utf8_lossy(line)));
        }
    }
}
