//! The outside of a shard: its ports, and the flush that carries a turn's effects out.

use crate::datagram::{DatagramPort, Sender};
use crate::facts::RuntimeFact;
use crate::function::Effects;
use crate::group::{FLUSH_MESSAGES_MAX, Groups};
use crate::port::{ConnId, Flow, PortId, Transport};
use crate::ring::Rings;
use crate::spec::PortSpec;
use driver::{Interest, Poll, Unreachable};
use event::Sheet;
use machine::Time;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

/// Bytes of effects after which a turn flushes early.
const FLUSH_BYTES: usize = 512 << 10;
/// ICMP errors that one turn takes from one socket.
const ERRORS_MAX: usize = 64;
/// Events that wait to be told to the function; more are as good as lost datagrams.
const NEWS_MAX: usize = 65_536;

/// A port of one shard.
pub(crate) struct Port {
    pub(crate) spec: PortSpec,
    pub(crate) local: SocketAddr,
    pub(crate) kind: PortKind,
}

/// What stands behind a port.
pub(crate) enum PortKind {
    Datagrams(DatagramPort),
    Streams,
}

/// What shall be told to the function at the next turn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum News {
    Up(Flow),
    Down(Flow, &'static str),
}

/// What an epoll token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Waker,
    Port(PortId),
    Connection(ConnId),
}

impl Token {
    pub(crate) fn bits(self) -> u64 {
        match self {
            Self::Waker => 0,
            Self::Port(id) => 1 << 32 | u64::from(id.0),
            Self::Connection(id) => 2 << 32 | u64::from(id.0),
        }
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        match bits >> 32 {
            1 => Self::Port(PortId(bits as u16)),
            2 => Self::Connection(ConnId(bits as u32)),
            _ => Self::Waker,
        }
    }
}

/// Everything of a shard that touches the kernel.
pub(crate) struct Io {
    pub(crate) poll: Poll,
    pub(crate) ports: Vec<Option<Port>>,
    pub(crate) news: VecDeque<News>,
    pub(crate) sheet: Rc<Sheet<RuntimeFact>>,
    groups: Groups,
    sender: Sender,
}

impl Io {
    pub(crate) fn new(sheet: Rc<Sheet<RuntimeFact>>, seed: u64) -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            ports: Vec::new(),
            news: VecDeque::new(),
            sheet,
            groups: Groups::new(seed),
            sender: Sender::new(),
        })
    }

    /// Whether a turn has gathered so much that it should flush before it takes more.
    pub(crate) fn is_heavy(effects: &Effects) -> bool {
        effects.bytes() >= FLUSH_BYTES || effects.len() >= FLUSH_MESSAGES_MAX
    }

    /// Carries out what the function wants, in order, and forgets it.
    pub(crate) fn flush(&mut self, now: Time, effects: &mut Effects, rings: &mut Rings) {
        if effects.is_empty() {
            return;
        }
        let mut from = 0;
        while from < effects.len() {
            let to = effects.len().min(from + FLUSH_MESSAGES_MAX);
            self.groups.sort(effects, from, to);
            self.send_groups(now, effects, rings);
            from = to;
        }
        effects.clear();
        rings.post(&self.sheet);
    }

    /// Sends the sorted groups, port by port.
    fn send_groups(&mut self, _now: Time, effects: &Effects, _rings: &mut Rings) {
        let (groups, order) = (self.groups.groups(), self.groups.order());
        for &id in self.groups.ports() {
            let mine = groups.iter().filter(|group| group.flow.port == id);
            let port = self.ports.get_mut(usize::from(id.0)).and_then(Option::as_mut);
            match port {
                Some(Port { kind: PortKind::Datagrams(port), .. }) => {
                    for group in mine {
                        let range = group.start as usize..group.end as usize;
                        self.sender.add(port, effects, &order[range], group.start as usize);
                    }
                    let waited = port.waits();
                    self.sender.flush(port, effects, order, &self.sheet);
                    if port.waits() && !waited {
                        watch(&self.poll, port, id, Interest::ReadWrite);
                    }
                }
                _ => {
                    let lost: u32 = mine.map(|group| group.end - group.start).sum();
                    self.sheet.add(RuntimeFact::Unroutable, u64::from(lost));
                }
            }
        }
        for (flow, why) in self.sender.unreachable.drain(..) {
            tell(&mut self.news, News::Down(flow, why));
        }
    }

    /// A datagram port can write again.
    pub(crate) fn resume(&mut self, id: PortId) {
        let port = self.ports.get_mut(usize::from(id.0)).and_then(Option::as_mut);
        if let Some(Port { kind: PortKind::Datagrams(port), .. }) = port {
            self.sender.resume(port, &self.sheet);
            if !port.waits() {
                watch(&self.poll, port, id, Interest::Read);
            }
        }
    }

    /// Fetches the ICMP errors of a datagram port; they are told to all shards, because the
    /// kernel gives them to any.
    pub(crate) fn icmp_errors(&mut self, id: PortId, rings: &mut Rings) {
        let port = self.ports.get(usize::from(id.0)).and_then(Option::as_ref);
        let Some(Port { kind: PortKind::Datagrams(port), local, .. }) = port else { return };
        let mut errors: Vec<Unreachable> = Vec::new();
        port.socket.errors(ERRORS_MAX, &mut errors);
        for error in errors {
            self.sheet.add(RuntimeFact::Unreachable, 1);
            let flow = Flow::to(id, Transport::Udp, *local, error.remote);
            let why = match io::Error::from_raw_os_error(error.errno).kind() {
                io::ErrorKind::ConnectionRefused => "nobody listens there (ICMP)",
                io::ErrorKind::HostUnreachable => "the host cannot be reached (ICMP)",
                io::ErrorKind::NetworkUnreachable => "the network cannot be reached (ICMP)",
                _ => "unreachable (ICMP)",
            };
            tell(&mut self.news, News::Down(flow, why));
            rings.broadcast_down(flow, why);
        }
    }
}

fn watch(poll: &Poll, port: &DatagramPort, id: PortId, interest: Interest) {
    if let Err(error) = poll.modify(&port.socket, Token::Port(id).bits(), interest) {
        tracing::error!(%error, port = id.0, "a port can no longer be watched");
    }
}

/// Puts news where the next turn finds it.
pub(crate) fn tell(news: &mut VecDeque<News>, what: News) {
    if news.len() < NEWS_MAX {
        news.push_back(what);
    }
}
