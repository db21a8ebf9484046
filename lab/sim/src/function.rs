//! A function of the runtime as a node of a world, over datagrams, on one shard or several.

use crate::{Node, Outbox};
use machine::Time;
use runtime::{Answer, Effects, Flow, Function, In, PortId, Query, Transport};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Names that a function may look up at once in one step.
const QUERIES_MAX: usize = 1024;
/// Pieces of work that wait between two shards, unless a test wants less.
const WORKS_MAX: usize = 65 * 1024;

/// A function with the ports it listens on. Streams do not exist here; a flow of another
/// transport is sent as datagrams all the same.
///
/// Of several shards, the owner of a message ([`Function::steer`]) gets it, else one that depends
/// on its source. What they hand to each other arrives at the same time, in the order in which it
/// was handed over: the same world runs the same way again.
pub struct Hosted<F: Function> {
    shards: Vec<Shard<F>>,
    /// What steers; of one shard nothing is steered.
    config: Option<Arc<F::Config>>,
    ports: HashMap<SocketAddr, PortId>,
    hosts: HashMap<String, Vec<IpAddr>>,
    works: VecDeque<Handed>,
    works_max: usize,
}

struct Shard<F> {
    function: F,
    effects: Effects,
}

/// Work on its way between two shards.
struct Handed {
    from: u16,
    to: u16,
    came_back: bool,
    work: Vec<u8>,
}

impl<F: Function> Hosted<F> {
    /// A function that listens at these addresses.
    #[must_use]
    pub fn new(function: F, ports: &[(PortId, SocketAddr)]) -> Self {
        Self::of(vec![function], None, ports)
    }

    /// The shards of a function, each made with its number, that listen at these addresses.
    #[must_use]
    pub fn sharded(
        functions: Vec<F>,
        config: Arc<F::Config>,
        ports: &[(PortId, SocketAddr)],
    ) -> Self {
        Self::of(functions, Some(config), ports)
    }

    fn of(
        functions: Vec<F>,
        config: Option<Arc<F::Config>>,
        ports: &[(PortId, SocketAddr)],
    ) -> Self {
        let shard = |function| Shard { function, effects: Effects::default() };
        Self {
            shards: functions.into_iter().map(shard).collect(),
            config,
            ports: ports.iter().map(|&(port, address)| (address, port)).collect(),
            hosts: HashMap::new(),
            works: VecDeque::new(),
            works_max: WORKS_MAX,
        }
    }

    /// A name that its DNS knows; others have no records.
    pub fn add_host(&mut self, name: &str, addresses: &[IpAddr]) {
        self.hosts.insert(name.to_owned(), addresses.to_vec());
    }

    /// So many pieces of work at most wait between two of its shards.
    pub const fn limit_works(&mut self, works_max: usize) {
        self.works_max = works_max;
    }

    /// The function: that of its first shard.
    #[must_use]
    pub fn function(&self) -> &F {
        &self.shards[0].function
    }

    /// The functions of all shards.
    pub fn functions(&self) -> impl Iterator<Item = &F> {
        self.shards.iter().map(|shard| &shard.function)
    }

    /// The function of its first shard, to be asked or configured; its effects leave with its next
    /// step.
    pub fn function_mut(&mut self) -> (&mut F, &mut Effects) {
        let Shard { function, effects } = &mut self.shards[0];
        (function, effects)
    }

    /// The shard that a message belongs to.
    fn owner(&self, flow: &Flow, bytes: &[u8]) -> usize {
        let count = self.shards.len();
        let Some(config) = self.config.as_ref().filter(|_| count > 1) else { return 0 };
        let shards = machine::narrow::index(count);
        let owner = F::steer(config, flow, bytes, shards).filter(|&owner| owner < shards);
        owner.map_or_else(|| usize::from(flow.remote.port()) % count, usize::from)
    }

    fn step(&mut self, now: Time, at: usize, input: In<'_>, out: &mut Outbox) {
        let Shard { function, effects } = &mut self.shards[at];
        function.step(now, input, effects);
        self.flush(now, at, out);
    }

    /// Carries out what one shard wants, then what others do with the work that it has handed over.
    fn flush(&mut self, now: Time, at: usize, out: &mut Outbox) {
        self.carry_out(now, at, out);
        while let Some(Handed { from, to, came_back, work }) = self.works.pop_front() {
            let (at, input) = match came_back {
                true => (from, In::HandedBack { to, work: &work }),
                false => (to, In::Work { from, work: &work }),
            };
            let Shard { function, effects } = &mut self.shards[usize::from(at)];
            function.step(now, input, effects);
            self.carry_out(now, usize::from(at), out);
        }
    }

    fn carry_out(&mut self, now: Time, at: usize, out: &mut Outbox) {
        for _ in 0..QUERIES_MAX {
            self.hand_over(at);
            let effects = &mut self.shards[at].effects;
            for (flow, bytes) in effects.sends() {
                out.send(flow.local, flow.remote, bytes);
            }
            let queries = std::mem::take(&mut effects.queries);
            effects.clear();
            if queries.is_empty() {
                return;
            }
            for (query, question) in queries {
                let answer = self.resolve(&question);
                let Shard { function, effects } = &mut self.shards[at];
                function.step(now, In::Resolved { query, answer }, effects);
            }
        }
    }

    fn hand_over(&mut self, at: usize) {
        let from = machine::narrow::index(at);
        for (to, work) in self.shards[at].effects.handed_work() {
            let waits = |it: &&Handed| (it.from, it.to, it.came_back) == (from, to, false);
            let is_full = self.works.iter().filter(waits).count() >= self.works_max;
            let came_back = is_full || usize::from(to) >= self.shards.len();
            self.works.push_back(Handed { from, to, came_back, work: work.to_vec() });
        }
    }

    fn resolve(&self, question: &Query) -> Answer {
        match question {
            Query::Naptr(_) => Answer::Naptr(Vec::new()),
            Query::Srv(_) => Answer::Srv(Vec::new()),
            Query::Host(name) => Answer::Host(self.hosts.get(name).cloned().unwrap_or_default()),
        }
    }
}

impl<F: Function> Node for Hosted<F> {
    fn receive(
        &mut self,
        now: Time,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
        out: &mut Outbox,
    ) {
        let Some(&port) = self.ports.get(&to) else { return };
        let flow = Flow::to(port, Transport::Udp, to, from);
        let owner = self.owner(&flow, bytes);
        self.step(now, owner, In::Message { flow, bytes }, out);
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        for at in 0..self.shards.len() {
            let Shard { function, effects } = &mut self.shards[at];
            if at == 0 || function.deadline().is_some_and(|due| due <= now) {
                function.tick(now, effects);
            }
            self.flush(now, at, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.shards.iter().filter_map(|shard| shard.function.deadline()).min()
    }
}
