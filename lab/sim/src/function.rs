//! A function of the runtime as a node of a world, over datagrams.

use crate::{Node, Outbox};
use machine::Time;
use runtime::{Answer, Effects, Flow, Function, In, PortId, Query, Transport};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Names that a function may look up at once in one step.
const QUERIES_MAX: usize = 1024;

/// A function with the ports it listens on. Streams do not exist here; a flow of another
/// transport is sent as datagrams all the same.
pub struct Hosted<F> {
    function: F,
    ports: HashMap<SocketAddr, PortId>,
    hosts: HashMap<String, Vec<IpAddr>>,
    effects: Effects,
}

impl<F: Function> Hosted<F> {
    /// A function that listens at these addresses.
    #[must_use]
    pub fn new(function: F, ports: &[(PortId, SocketAddr)]) -> Self {
        let ports = ports.iter().map(|&(port, address)| (address, port)).collect();
        Self { function, ports, hosts: HashMap::new(), effects: Effects::default() }
    }

    /// A name that its DNS knows; others have no records.
    pub fn add_host(&mut self, name: &str, addresses: &[IpAddr]) {
        self.hosts.insert(name.to_owned(), addresses.to_vec());
    }

    /// The function.
    #[must_use]
    pub const fn function(&self) -> &F {
        &self.function
    }

    /// The function, to be asked or configured; its effects leave with its next step.
    pub const fn function_mut(&mut self) -> (&mut F, &mut Effects) {
        (&mut self.function, &mut self.effects)
    }

    fn flush(&mut self, now: Time, out: &mut Outbox) {
        for _ in 0..QUERIES_MAX {
            for (flow, bytes) in self.effects.sends() {
                out.send(flow.local, flow.remote, bytes);
            }
            let queries = std::mem::take(&mut self.effects.queries);
            self.effects.clear();
            if queries.is_empty() {
                return;
            }
            for (query, question) in queries {
                let answer = self.resolve(&question);
                self.function.step(now, In::Resolved { query, answer }, &mut self.effects);
            }
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
        self.function.step(now, In::Message { flow, bytes }, &mut self.effects);
        self.flush(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Outbox) {
        self.function.tick(now, &mut self.effects);
        self.flush(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.function.deadline()
    }
}
