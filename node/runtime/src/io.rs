//! The outside of a shard: its ports, and the flush that carries a turn's effects out.

use crate::channel::Channels;
use crate::completion::Asked;
use crate::datagram::{DatagramPort, Sender};
use crate::deferred::Deferred;
use crate::dns::nothing;
use crate::function::{Effects, Query};
use crate::group::{FLUSH_MESSAGES_MAX, Groups};
use crate::metrics::RuntimeMetric;
use crate::news::{News, Token, tell};
use crate::port::{Flow, PortId, Transport};
use crate::replication::ReplicationRef;
use crate::ring::{Rings, ShardMessage};
use crate::spec::PortSpec;
use crate::stream::{StreamPort, Streams};
use driver::{Interest, Poll, Returned, Why};
use event::Metrics;
use machine::Time;
use policing::kernel::FilterRef;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

/// Bytes of effects after which a turn flushes early.
const FLUSH_BYTES: usize = 512 << 10;
/// ICMP errors that one turn takes from one socket.
const ERRORS_MAX: usize = 64;

/// A port that a shard has open.
pub(crate) struct OpenPort {
    pub(crate) spec: PortSpec,
    pub(crate) local: SocketAddr,
    pub(crate) kind: PortKind,
}

/// What stands behind a port.
pub(crate) enum PortKind {
    Datagrams(DatagramPort),
    Streams(StreamPort),
}

/// Everything of a shard that touches the kernel.
pub(crate) struct Io {
    pub(crate) poll: Poll,
    /// By number, and few numbers are taken: whoever wants all of one kind asks its list.
    pub(crate) ports: Vec<Option<OpenPort>>,
    /// Those of datagrams.
    pub(crate) datagram_ports: Vec<PortId>,
    pub(crate) news: VecDeque<News>,
    pub(crate) streams: Streams,
    pub(crate) channels: Channels,
    pub(crate) deferred: Deferred,
    pub(crate) metrics: Rc<Metrics<RuntimeMetric>>,
    /// The other node of the pair.
    pub(crate) mirror: Option<ReplicationRef>,
    /// The kernel's part of the policing.
    pub(crate) kernel_filter: Option<FilterRef>,
    /// How often the function was made anew.
    pub(crate) life: u32,
    groups: Groups,
    sender: Sender,
}

impl Io {
    pub(crate) fn new(
        metrics: Rc<Metrics<RuntimeMetric>>,
        seed: u64,
        streams: Streams,
        deferred: Deferred,
    ) -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            ports: Vec::new(),
            datagram_ports: Vec::new(),
            news: VecDeque::new(),
            streams,
            channels: Channels::default(),
            deferred,
            metrics,
            mirror: None,
            kernel_filter: None,
            life: 0,
            groups: Groups::new(seed),
            sender: Sender::new(),
        })
    }

    /// Whether a turn has gathered so much that it should flush before it takes more.
    pub(crate) fn is_heavy(effects: &Effects) -> bool {
        effects.bytes() >= FLUSH_BYTES
            || effects.len().max(effects.handed_work().len()) >= FLUSH_MESSAGES_MAX
    }

    /// Carries out what the function wants, in order, and forgets it.
    pub(crate) fn flush(&mut self, now: Time, effects: &mut Effects, rings: &mut Rings) {
        if let Some(FilterRef(kernel_filter)) = &self.kernel_filter {
            effects.changes.drain(..).for_each(|change| kernel_filter.tell(change));
        }
        for (port, descriptor) in effects.watches.drain(..) {
            let token = Token::Watched(port).bits();
            if let Err(error) = self.poll.add(&descriptor, token, Interest::Read) {
                tracing::error!(%error, port = port.0, "a descriptor cannot be watched");
            }
        }
        effects.changes.clear();
        for (ticket, answer) in effects.answers.drain(..) {
            self.deferred.answer(ticket, answer);
        }
        let mirror = self.mirror.as_ref().map(|ReplicationRef(mirror)| mirror);
        // Write before speaking; and whoever is not the active node does not speak.
        if let Some(mirror) = mirror.filter(|_| effects.has_deltas()) {
            mirror.publish(rings.own, effects);
            effects.clear_deltas();
        }
        rings.hand(now, effects, &self.metrics);
        // A node that keeps still may speak with other processes of its machine.
        self.channels.carry_out(&self.poll, effects);
        if let Some(mirror) = mirror.filter(|_| std::mem::take(&mut effects.hands_over)) {
            mirror.hand_over();
        }
        if let Some(mirror) = mirror.filter(|_| effects.asks_for_all()) {
            mirror.crashed(rings.own);
        }
        if let Some(mirror) = mirror.filter(|_| effects.is_unreadable()) {
            mirror.unreadable(rings.own);
        }
        if mirror.is_some_and(|mirror| !effects.is_empty() && !mirror.may_speak()) {
            // Whoever is connected here shall look for the other node.
            let closes = std::mem::take(&mut effects.closes);
            effects.clear();
            effects.closes = closes;
        }
        if effects.is_empty() {
            return;
        }
        for (remote, name) in effects.names.drain(..) {
            self.streams.name(remote, name);
        }
        for (flow, remote) in effects.aliases.drain(..) {
            self.streams.table.alias(flow, remote);
        }
        self.streams.start_flush();
        for flow in effects.opens.drain(..) {
            self.connection_to(now, flow);
        }
        let mut from = 0;
        while from < effects.len() {
            let to = effects.len().min(from + FLUSH_MESSAGES_MAX);
            self.groups.sort(effects, from, to);
            self.send_groups(now, effects, rings);
            from = to;
        }
        self.close_all(now, effects, rings);
        for (number, query) in effects.queries.drain(..) {
            self.resolve(rings.own, number, query);
        }
        effects.clear();
        rings.post(&self.metrics);
    }

    fn close_all(&mut self, now: Time, effects: &mut Effects, rings: &mut Rings) {
        for flow in effects.closes.drain(..) {
            match flow.conn.shard() {
                Some(shard) if rings.is_other(shard) => {
                    if self.is_paced(flow.port) {
                        rings.push_paced(shard, ShardMessage::Close, flow, &[], &self.metrics);
                    } else {
                        rings.push(shard, ShardMessage::Close, flow, &[], &self.metrics);
                    }
                }
                _ => self.close(now, flow),
            }
        }
    }

    /// Answers to questions of a life that is over are nobody's, and nobody answers others'; its
    /// channels end.
    pub(crate) fn begin_anew(&mut self) {
        self.life += 1;
        self.news.retain(|news| !matches!(news, News::Resolved(..)));
        self.channels = Channels::default();
        self.deferred.begin_anew();
    }

    fn resolve(&mut self, shard: u16, number: u64, query: Query) {
        let asked = Asked { shard, life: self.life, number };
        self.metrics.add(RuntimeMetric::Resolved, 1);
        let helper_threads = self.streams.helper_threads();
        let empty = nothing(&query);
        let answer = match helper_threads.known(&query) {
            Some(answer) => answer,
            None if helper_threads.resolve(asked, query) => return,
            None => {
                self.metrics.add(RuntimeMetric::ResolveShed, 1);
                empty
            }
        };
        tell(&mut self.news, News::Resolved(number, answer));
    }

    /// Bytes that wait for the queues of datagram ports.
    pub(crate) fn backlog(&self) -> usize {
        let port = |id: &PortId| self.ports.get(usize::from(id.0)).and_then(Option::as_ref);
        let ports = self.datagram_ports.iter().filter_map(port);
        let queued = ports.filter_map(|port| match &port.kind {
            PortKind::Datagrams(port) => Some(port.queued_bytes()),
            PortKind::Streams(_) => None,
        });
        queued.sum()
    }

    /// Sends the sorted groups, port by port.
    fn send_groups(&mut self, now: Time, effects: &Effects, rings: &mut Rings) {
        let mut groups = std::mem::take(&mut self.groups);
        for at in 0..groups.ports().len() {
            let id = groups.ports()[at];
            let port = self.ports.get(usize::from(id.0)).and_then(Option::as_ref);
            match port.map(|port| (&port.kind, port.spec.transport())) {
                Some((PortKind::Datagrams(port), _)) => {
                    if port.has_runs() {
                        groups.pack(effects, id);
                    }
                    self.send_datagrams(now, id, effects, &groups);
                }
                Some((PortKind::Streams(_), transport)) => {
                    for group in groups.of(id) {
                        if group.flow.transport == transport {
                            self.send_stream(now, effects, groups.members(group), rings);
                        } else {
                            self.unroutable(groups.members(group));
                        }
                    }
                }
                None => groups.of(id).for_each(|group| self.unroutable(groups.members(group))),
            }
        }
        self.groups = groups;
        for (flow, why) in self.sender.unreachable.drain(..) {
            tell(&mut self.news, News::Down(flow, why));
        }
    }

    fn unroutable(&self, messages: &[u32]) {
        self.metrics.add(RuntimeMetric::Unroutable, messages.len() as u64);
    }

    fn send_datagrams(&mut self, now: Time, id: PortId, effects: &Effects, groups: &Groups) {
        let port = self.ports.get_mut(usize::from(id.0)).and_then(Option::as_mut);
        let Some(OpenPort { kind: PortKind::Datagrams(port), .. }) = port else { return };
        for group in groups.of(id) {
            if group.flow.transport == Transport::Udp {
                self.sender.add(port, effects, groups.members(group), group.start as usize);
            } else {
                let lost = groups.members(group).len() as u64;
                self.metrics.add(RuntimeMetric::Unroutable, lost);
            }
        }
        let waited = port.waits();
        self.sender.bypass(now, port, effects, groups.order(), &self.metrics);
        self.sender.flush(port, effects, groups.order(), &self.metrics);
        if port.waits() && !waited {
            watch(&self.poll, port, id, Interest::ReadWrite);
        }
    }

    /// A datagram port can write again.
    pub(crate) fn resume(&mut self, id: PortId) {
        let port = self.ports.get_mut(usize::from(id.0)).and_then(Option::as_mut);
        if let Some(OpenPort { kind: PortKind::Datagrams(port), .. }) = port {
            self.sender.resume(port, &self.metrics);
            if !port.waits() {
                watch(&self.poll, port, id, Interest::Read);
            }
        }
    }

    /// Watches a port for arrivals; `known`: it is watched already, under another number.
    pub(crate) fn watch_port(&self, kind: &PortKind, id: PortId, known: bool) -> io::Result<()> {
        let token = Token::Port(id).bits();
        if let PortKind::Datagrams(DatagramPort { bypass: Some(bypass), .. }) = kind {
            let token = Token::Bypass(id).bits();
            for descriptor in bypass.descriptors() {
                match known {
                    true => self.poll.modify(&descriptor, token, Interest::Read)?,
                    false => self.poll.add(&descriptor, token, Interest::Read)?,
                }
            }
        }
        match kind {
            PortKind::Datagrams(port) if known => {
                let interest = if port.waits() { Interest::ReadWrite } else { Interest::Read };
                self.poll.modify(&port.socket, token, interest)
            }
            PortKind::Datagrams(port) => self.poll.add(&port.socket, token, Interest::Read),
            PortKind::Streams(StreamPort { listener: Some(listener), .. }) => {
                if known {
                    // Not watched while accepting pauses: then it is added.
                    self.poll
                        .modify(listener, token, Interest::Read)
                        .or_else(|_| self.poll.add(listener, token, Interest::Read))
                } else {
                    self.poll.add(listener, token, Interest::Read)
                }
            }
            PortKind::Streams(_) => Ok(()),
        }
    }

    /// Fetches the ICMP errors of a datagram port; they are told to all shards, because the
    /// kernel gives them to any.
    pub(crate) fn icmp_errors(&mut self, id: PortId, rings: &mut Rings) {
        let port = self.ports.get(usize::from(id.0)).and_then(Option::as_ref);
        let Some(OpenPort { kind: PortKind::Datagrams(port), local, spec }) = port else { return };
        let mut errors: Vec<Returned> = Vec::new();
        port.socket.errors(ERRORS_MAX, &mut errors);
        for error in errors {
            if spec.is_whole() {
                let flow = Flow::to(id, Transport::Udp, *local, error.remote);
                tell(&mut self.news, News::Returned(flow, error.why, error.quoted));
                continue;
            }
            if matches!(error.why, Why::TooBig(_)) {
                continue; // the kernel fragments by itself
            }
            self.metrics.add(RuntimeMetric::Unreachable, 1);
            let flow = Flow::to(id, Transport::Udp, *local, error.remote);
            let why = match io::Error::from_raw_os_error(error.errno).kind() {
                io::ErrorKind::ConnectionRefused => "nobody listens there (ICMP)",
                io::ErrorKind::HostUnreachable => "the host cannot be reached (ICMP)",
                io::ErrorKind::NetworkUnreachable => "the network cannot be reached (ICMP)",
                _ => "unreachable (ICMP)",
            };
            tell(&mut self.news, News::Down(flow, why));
            rings.broadcast_down(flow, why, false);
        }
    }
}

fn watch(poll: &Poll, port: &DatagramPort, id: PortId, interest: Interest) {
    if let Err(error) = poll.modify(&port.socket, Token::Port(id).bits(), interest) {
        tracing::error!(%error, port = id.0, "a port can no longer be watched");
    }
}
