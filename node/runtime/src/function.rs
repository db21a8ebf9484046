//! The contract between a shard and the function it runs.
//!
//! The shard owns sockets, clock and random source; the function owns the protocol. Everything
//! goes in through [`In`], everything comes out through [`Effects`]; a simulation or a replay
//! drives a function the same way.

use crate::changes::Deltas;
use crate::grouped::{Grouped, Pace};
use crate::port::{Flow, PortId};
use crate::term::Term;
use ::channel::{Connect, PacketRecord, PacketTo, Packets};
use bytes::Bytes;
use driver::Why;
use machine::narrow::place;
use machine::{Duration, Time};
use policing::Change;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What happened on a shard.
#[derive(Debug)]
pub enum In<'a> {
    /// A whole message: a datagram, or what [`Function::frame`] cut from a stream.
    Message {
        /// Where it came from; answer here.
        flow: Flow,
        /// The bytes, valid during the step only.
        bytes: &'a [u8],
    },
    /// A stream connection stands: the far end opened it (`flow.local` has the listening port's
    /// number), or we did, by a send or [`Effects::open`] (`flow.remote` is the address that was
    /// given there, and the kernel chose the number of `flow.local`, never a listening one).
    Up {
        /// The connection.
        flow: Flow,
    },
    /// The far end of a TLS connection has proved who it is; [`In::Up`] follows.
    Proved {
        /// The connection.
        flow: Flow,
        /// What its certificate carries: DNS names and URIs (`sip:example.org`, RFC 5922 §7.1).
        names: &'a [String],
    },
    /// A stream connection ended or could not be opened; for datagrams: the far end is
    /// unreachable (ICMP). Messages that were waiting for it are lost. Of a listening port whose
    /// far ends must sign (RFC 2385), with `flow.remote` unspecified: the kernel has dropped
    /// segments that are not signed so.
    Down {
        /// The flow, as it was given to `send` when it never stood.
        flow: Flow,
        /// Why, in words for a person.
        why: &'static str,
    },
    /// The kernel took octets of a connection of a paced port ([`crate::StreamSpec::paced`]), at
    /// once or after they had waited; told at most once a turn and connection. Over the life of a
    /// connection the sum of `octets` is what was sent, less what still waits.
    Written {
        /// The connection.
        flow: Flow,
        /// Octets that the kernel took since this was told last.
        octets: u64,
        /// Octets that still wait in the runtime.
        left: u64,
    },
    /// A datagram of a port whose datagrams travel whole ([`crate::Carrier`]) came back.
    Returned {
        /// Where it was sent.
        flow: Flow,
        /// Why.
        why: Why,
        /// Its beginning, as far as the network quotes it. Strangers can forge all of this.
        quoted: &'a [u8],
    },
    /// A descriptor that the function has the shard watch can be read ([`Effects::watch`]); told
    /// again until it cannot.
    Ready {
        /// The number that the function gave it.
        port: PortId,
    },
    /// Something happened on a channel to another process ([`Effects::connect`]).
    Channel {
        /// The number that the function gave it.
        port: PortId,
        /// What.
        event: ChannelEvent<'a>,
    },
    /// The answer to [`Effects::resolve`].
    Resolved {
        /// The number the function gave its query.
        query: u64,
        /// The answer; empty when the name has no such record or nobody answered.
        answer: Answer,
    },
    /// A sibling shard handed this over ([`Effects::hand`]). What one shard hands to another
    /// arrives in order; what different ones hand over, in any.
    Work {
        /// The shard that did.
        from: u16,
        /// What it wrote, valid during the step only.
        work: &'a [u8],
    },
    /// Work that this shard handed over has found no room, or no shard: shed it, or hand it over
    /// again, by the function's own rule. What was handed to the same shard later may have found
    /// room meanwhile.
    HandedBack {
        /// The shard that did not take it.
        to: u16,
        /// What was written, valid during the step only.
        work: &'a [u8],
    },
    /// The site drains: finish what runs, take nothing new.
    Drain,
}

/// What happened on a channel to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelEvent<'a> {
    /// It stands.
    Up,
    /// A whole message.
    Message(&'a [u8]),
    /// A packet that a forwarder hands up, and what it knows of it.
    Packet(PacketRecord, &'a [u8]),
    /// So many packets of [`Effects::packet`] found no room and are lost.
    Shed(usize),
    /// It does not stand, and has not: the other process is being started, or why not.
    Absent(Option<&'a str>),
    /// It stood, and is over: why. What was not written is lost.
    Down(&'a str),
}

/// What is wanted of a channel to another process.
#[derive(Debug)]
pub enum ChannelOrder {
    /// Connects.
    Connect(Arc<dyn Connect>),
    /// Writes whole messages.
    Write(Vec<u8>),
    /// Sends packets.
    Send(Packets),
    /// Ends it. Nothing of it is told any more.
    HangUp,
}

/// What becomes of a message that was to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diverted {
    /// It is sent as it is.
    Stays,
    /// What was written is sent in its place.
    Instead {
        /// Where to.
        to: Flow,
        /// IP may fragment it where its port keeps datagrams whole.
        in_parts: bool,
    },
    /// Nothing is sent.
    Dropped,
}

/// A question to the DNS.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Query {
    /// NAPTR of a domain (RFC 3263 §4.1).
    Naptr(String),
    /// SRV of `_sip._udp.example.org` (RFC 2782).
    Srv(String),
    /// A and AAAA of a host.
    Host(String),
}

/// What the DNS said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// `(order, preference, flags, services, replacement)`.
    Naptr(Vec<(u16, u16, String, String, String)>),
    /// `(priority, weight, port, target)`.
    Srv(Vec<(u16, u16, u16, String)>),
    /// Addresses in the order to try.
    Host(Vec<IpAddr>),
}

/// What the pair that a function's node belongs to wants of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mirrored<'a> {
    /// This node serves from now on: timers run, messages are answered.
    Activate {
        /// Whether what was replicated, or what this node remembers of its own last term, is what
        /// stood last: nobody has served since, or it was told all until lately.
        is_current: bool,
    },
    /// The other node serves: keep still until told otherwise. A function with a mirror starts so.
    Deactivate,
    /// Forget what was replicated; a snapshot follows.
    Forget,
    /// A change that the active node made.
    Delta(&'a [u8]),
    /// Tell everything that stands by [`Effects::delta`], a little in each tick, and this number
    /// by [`Effects::snapshot_ended`] at the end.
    Snapshot(u64),
    /// The standby has applied all that was told before this [`Effects::mark`], or with zero: it
    /// follows again. `None`: no node could take over and be current, until one follows again or
    /// a snapshot is wanted. While nothing was said, one could.
    Followed(Option<u64>),
    /// How the standby keeps up, when that changes. While it is not [`Pace::Current`] no more of a
    /// snapshot shall be told.
    Paced(Pace),
    /// How recent the state is from now on, of a node that serves, or that has been told all: a
    /// function whose state outlives its process keeps that with it, for the next start.
    Term(Term),
}

/// How [`Function::frame`] sees the head of a stream's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Nothing whole yet.
    Partial,
    /// These first bytes are not part of a message (keep-alive); drop them.
    Skip(usize),
    /// These first bytes are not part of a message and want these in return (the pong to the
    /// ping of RFC 5626 §3.5.1).
    Answer(usize, &'static [u8]),
    /// The next message is this long. Longer than the buffer means: wait for the rest.
    Message(usize),
    /// The stream is broken for good: close it.
    Broken(&'static str),
}

/// A message to send: its place in the arena, and the conversation that it belongs to.
#[derive(Debug, Clone, Copy)]
struct Sending {
    to: Flow,
    start: u32,
    end: u32,
    about: u32,
    in_parts: bool,
    /// Not in the arena but the shared piece at `start`.
    shared: bool,
}

/// What a function on a shard wants done, in order.
///
/// Sends are written straight into one arena, so that a step allocates nothing.
#[derive(Debug, Default)]
pub struct Effects {
    arena: Vec<u8>,
    shares: Vec<Bytes>,
    sends: Vec<Sending>,
    /// What was to be sent last had nothing to say.
    was_empty: bool,
    about: u32,
    /// Connections to open before anything is sent.
    pub opens: Vec<Flow>,
    /// Connections to close once what was sent before is out.
    pub closes: Vec<Flow>,
    /// Names to look up: the function's own number and the question.
    pub queries: Vec<(u64, Query)>,
    /// Names that the TLS certificates of remotes must carry.
    pub names: Vec<(SocketAddr, String)>,
    /// Further addresses of far ends whose connections stand.
    pub aliases: Vec<(Flow, SocketAddr)>,
    /// Descriptors to watch.
    pub watches: Vec<(PortId, Arc<OwnedFd>)>,
    /// What is wanted of channels to other processes, in order.
    pub channels: Vec<(PortId, ChannelOrder)>,
    /// Answers to questions that were deferred.
    pub answers: Vec<(Ticket, Answered)>,
    /// What the kernel's part of the policing shall know.
    pub changes: Vec<Change>,
    work: Vec<u8>,
    hands: Vec<(u16, u32, u32)>,
    pub(crate) deltas: Deltas,
    /// Messages that [`Effects::divert`] has seen.
    diverted: usize,
    /// Number of the snapshot that was told to its end.
    pub snapshot_ended: Option<u64>,
    /// What this node of a pair serves with is gone: the other one shall serve, if it can.
    pub hands_over: bool,
}

impl Effects {
    /// What is sent from now on in this step belongs to one conversation: it keeps its order
    /// towards each far end. Datagrams of different conversations may change places when that lets
    /// more of them travel as one. Whatever has no conversation, or 0, keeps its order.
    pub const fn about(&mut self, conversation: u32) {
        self.about = conversation;
    }

    /// Sends what `write` appends to the buffer. Nothing is sent when it appends nothing.
    pub fn send(&mut self, to: Flow, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.arena.len();
        write(&mut self.arena);
        let end = self.arena.len();
        self.was_empty = end == start;
        if end > start {
            let (start, end, about) = (place(start), place(end), self.about);
            self.sends.push(Sending { to, start, end, about, in_parts: false, shared: false });
        }
    }

    /// Sends octets that several connections have in common, without copying them where the port
    /// is a plain stream; in order with [`Effects::send`]. Nothing is sent when there are none.
    pub fn send_shared(&mut self, to: Flow, bytes: Bytes) {
        let (start, end, about) = (place(self.shares.len()), place(bytes.len()), self.about);
        if end > 0 {
            self.was_empty = false;
            self.shares.push(bytes);
            self.sends.push(Sending { to, start, end, about, in_parts: false, shared: true });
        }
    }

    /// Like [`Effects::send`], but IP may fragment the datagram where its port keeps them whole.
    pub fn send_in_parts(&mut self, to: Flow, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.sends.len();
        self.send(to, write);
        self.sends[before..].iter_mut().for_each(|sending| sending.in_parts = true);
    }

    /// Hands work to a sibling shard, or to this one, as the octets that `write` appends: it
    /// arrives there as [`In::Work`], after the deltas of the same flush have left, or comes back
    /// as [`In::HandedBack`]. Nothing is handed over when it appends nothing.
    pub fn hand(&mut self, shard: u16, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.work.len();
        write(&mut self.work);
        let end = self.work.len();
        if end > start {
            self.hands.push((shard, place(start), place(end)));
        }
    }

    /// The work for sibling shards, in order.
    pub fn handed_work(&self) -> impl ExactSizeIterator<Item = (u16, &[u8])> + '_ {
        self.hands.iter().map(|&(to, start, end)| (to, &self.work[start as usize..end as usize]))
    }

    /// Forgets that work, once it was handed over.
    pub fn clear_handed_work(&mut self) {
        self.work.clear();
        self.hands.clear();
    }

    /// Looks a name up; the answer comes as [`In::Resolved`].
    pub fn resolve(&mut self, number: u64, query: Query) {
        self.queries.push((number, query));
    }

    /// When a TLS connection to `remote` is opened from now on, its certificate must carry
    /// `host` (RFC 5922 §7.1: the domain that RFC 3263 started from). Call it before the send.
    pub fn name(&mut self, remote: SocketAddr, host: &str) {
        self.names.push((remote, host.to_owned()));
    }

    /// What is sent to `remote` through the flow's port from now on goes over the flow's own
    /// connection while it stands (RFC 5923 §5). The function must know that the far end may
    /// speak for that address. On the shard that has the connection only.
    pub fn alias(&mut self, flow: Flow, remote: SocketAddr) {
        self.aliases.push((flow, remote));
    }

    /// Opens a connection ahead of the first message; [`In::Up`] or [`In::Down`] follows. Nothing
    /// happens when one stands.
    pub fn open(&mut self, flow: Flow) {
        self.opens.push(flow);
    }

    /// Watches a descriptor of the function's own for arrivals, which come as [`In::Ready`]; that
    /// ends when the last handle is dropped.
    pub fn watch(&mut self, port: PortId, descriptor: Arc<OwnedFd>) {
        self.watches.push((port, descriptor));
    }

    /// Opens a channel to another process under a number of the function's own; it goes on as
    /// [`In::Channel`]. One that stood under this number ends.
    pub fn connect(&mut self, port: PortId, to: Arc<dyn Connect>) {
        self.channels.push((port, ChannelOrder::Connect(to)));
    }

    /// Writes to a channel what `write` appends: whole messages. They are lost when it is over.
    pub fn write(&mut self, port: PortId, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some((last, ChannelOrder::Write(octets))) = self.channels.last_mut()
            && *last == port
        {
            return write(octets);
        }
        let mut octets = Vec::new();
        write(&mut octets);
        self.channels.push((port, ChannelOrder::Write(octets)));
    }

    /// Has a forwarder send the packet that `write` appends. One that finds no room is lost, and
    /// [`ChannelEvent::Shed`] says so.
    pub fn packet(&mut self, port: PortId, to: PacketTo, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some((last, ChannelOrder::Send(packets))) = self.channels.last_mut()
            && *last == port
        {
            return packets.push(to, write);
        }
        let mut packets = Packets::default();
        packets.push(to, write);
        self.channels.push((port, ChannelOrder::Send(packets)));
    }

    /// Ends a channel; what waits for the other side is lost.
    pub fn hang_up(&mut self, port: PortId) {
        self.channels.push((port, ChannelOrder::HangUp));
    }

    /// Answers a question that was deferred ([`Function::question`]). Whoever asked may have
    /// given up: then nothing happens.
    pub fn answer(&mut self, ticket: Ticket, answer: Answered) {
        self.answers.push((ticket, answer));
    }

    /// Closes a connection after the sends before it. No [`In::Down`] follows.
    pub fn close(&mut self, flow: Flow) {
        self.closes.push(flow);
    }

    /// The messages to send, in order.
    pub fn sends(&self) -> impl ExactSizeIterator<Item = (Flow, &[u8])> + '_ {
        (0..self.sends.len()).map(|at| self.message(at))
    }

    /// Shows each message that was sent since this was called last, and has something else leave in
    /// its place where `with` writes it: what stands between a function and its wire does so.
    pub fn divert(&mut self, mut with: impl FnMut(Flow, &[u8], &mut Vec<u8>) -> Diverted) {
        let mut text = Vec::new();
        let mut kept = self.diverted;
        for at in self.diverted..self.sends.len() {
            text.clear();
            let (flow, bytes) = self.message(at);
            let mut sending = self.sends[at];
            match with(flow, bytes, &mut text) {
                Diverted::Stays => {}
                Diverted::Dropped => continue,
                Diverted::Instead { to, in_parts } => {
                    let about = sending.about;
                    // Neighbours of a stream leave in one piece of the arena, which this one would
                    // not stand in.
                    let shared = to.transport.is_stream();
                    let start = if shared { self.shares.len() } else { self.arena.len() };
                    let end = if shared { text.len() } else { start + text.len() };
                    let (start, end) = (place(start), place(end));
                    sending = Sending { to, start, end, about, in_parts, shared };
                    if shared {
                        self.shares.push(Bytes::copy_from_slice(&text));
                    } else {
                        self.arena.extend_from_slice(&text);
                    }
                }
            }
            self.sends[kept] = sending;
            kept += 1;
        }
        self.sends.truncate(kept);
        self.diverted = kept;
    }

    /// How many of the messages that wait [`Effects::divert`] has seen: it goes on with the one of
    /// that number.
    #[must_use]
    pub const fn diverted(&self) -> usize {
        self.diverted
    }

    /// The message of the last [`Effects::send`]; `None` when that appended nothing: what goes on
    /// with the message must not take another for it.
    #[must_use]
    pub fn last(&self) -> Option<(Flow, &[u8])> {
        let last = self.sends.len().checked_sub(1)?;
        (!self.was_empty).then(|| self.message(last))
    }

    /// Number of messages waiting to be sent. Work for sibling shards is not among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sends.len()
    }

    /// Whether nothing is wanted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty()
            && self.opens.is_empty()
            && self.closes.is_empty()
            && self.queries.is_empty()
            && self.names.is_empty()
            && self.aliases.is_empty()
            && self.watches.is_empty()
            && self.channels.is_empty()
            && self.answers.is_empty()
            && self.hands.is_empty()
            && !self.hands_over
            && !self.lacks_some()
    }

    /// Forgets everything, keeps the allocations.
    pub fn clear(&mut self) {
        self.diverted = 0;
        self.arena.clear();
        self.shares.clear();
        self.sends.clear();
        self.opens.clear();
        self.closes.clear();
        self.queries.clear();
        self.names.clear();
        self.aliases.clear();
        self.watches.clear();
        self.channels.clear();
        self.answers.clear();
        self.changes.clear();
        self.clear_handed_work();
        self.drop_deltas();
        self.hands_over = false;
    }

    /// Bytes of all messages of our own; shared ones take no room here.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.len() + self.delta_bytes() + self.work.len()
    }

    /// The bytes of messages `first..=last`, which stand next to each other and are not shared.
    pub(crate) fn span(&self, first: u32, last: u32) -> &[u8] {
        let (start, end) = (self.sends[first as usize].start, self.sends[last as usize].end);
        &self.arena[start as usize..end as usize]
    }

    /// Message number `at`.
    pub(crate) fn message(&self, at: usize) -> (Flow, &[u8]) {
        let Sending { to, start, end, shared, .. } = self.sends[at];
        if shared {
            return (to, &self.shares[start as usize]);
        }
        (to, &self.arena[start as usize..end as usize])
    }

    /// Message number `at` of [`Effects::sends`] as it is shared; `None` for one of our own.
    #[must_use]
    pub fn shared(&self, at: usize) -> Option<&Bytes> {
        let Sending { start, shared, .. } = self.sends[at];
        shared.then(|| &self.shares[start as usize])
    }

    /// Whether IP may fragment message `at`.
    pub(crate) fn in_parts(&self, at: usize) -> bool {
        self.sends[at].in_parts
    }

    /// Which conversation message `at` belongs to, and how many octets it has.
    pub(crate) fn outline(&self, at: usize) -> (u32, usize) {
        let Sending { about, .. } = self.sends[at];
        (about, self.message(at).1.len())
    }
}

/// Why a question from the management side has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// No such thing to ask about.
    #[error("no such resource: {0}")]
    NotFound(String),
    /// A parameter is wrong.
    #[error("{0}")]
    BadParameter(String),
    /// The function does not answer (draining, crashed, too busy).
    #[error("the function does not answer")]
    Unreachable,
}

/// A question from the management side: `show calls`, `show registrations`, an action.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// What about: `"calls"`, `"registrations"`, `"calls/terminate"`.
    pub path: String,
    /// Parameters as in the URL's query.
    pub params: BTreeMap<String, String>,
}

/// What a question is answered with.
pub type Answered = Result<serde_json::Value, AskError>;

/// A question whose answer comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// A network function as one shard runs it.
pub trait Function: Send + 'static {
    /// Its validated configuration.
    type Config: Send + Sync + 'static;

    /// Takes one input.
    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects);

    /// The messages of the steps that follow waited this long between the network and their step:
    /// in the kernel's queue, behind others of their batch, on their way from another shard. Told
    /// before the messages of each buffer; what waits for nothing is told too.
    fn waited(&mut self, _now: Time, _delay: Duration) {}

    /// Lets time pass: every timer due at `now` fires.
    fn tick(&mut self, now: Time, out: &mut Effects);

    /// When [`Function::tick`] wants to be called next.
    fn deadline(&self) -> Option<Time>;

    /// Takes a new configuration; the function finds the difference itself and drops no call.
    fn configure(&mut self, now: Time, config: Arc<Self::Config>, out: &mut Effects);

    /// Cuts the head of a stream's buffer into messages.
    fn frame(port: PortId, buffer: &[u8]) -> Frame;

    /// Whether [`Function::frame`] may now find more than [`Frame::Partial`] in a buffer of whose
    /// first `seen` octets it made that. A function that searches for the end of a message, rather
    /// than to read its length from the first octets, looks behind `seen` only: else whoever sends
    /// octet by octet has the whole of it read anew with each.
    fn ends_frame(_port: PortId, _buffer: &[u8], _seen: usize) -> bool {
        true
    }

    /// Which of `shards` owns this message; `None` lets the receiving shard keep it. Pure: it is
    /// called on whichever shard the kernel chose. Without bytes: which one is told [`In::Up`] and
    /// [`In::Written`] of a connection of a paced port.
    fn steer(_config: &Self::Config, _flow: &Flow, _bytes: &[u8], _shards: u16) -> Option<u16> {
        None
    }

    /// Answers a question from the management side. A shard's answer is an array of its own rows
    /// or an object; the caller joins the arrays of all shards.
    ///
    /// # Errors
    /// [`AskError::NotFound`] and [`AskError::BadParameter`].
    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError>;

    /// Answers a question, or defers the answer: after `None` it comes by [`Effects::answer`]
    /// under this ticket. Only a function that has to ask somebody else needs this; it must not
    /// wait. [`DEFERRED_MAX`] questions at once are kept for [`DEFERRED_TIME`] each; those beyond
    /// have no answer ([`AskError::Unreachable`]).
    ///
    /// [`DEFERRED_MAX`]: crate::DEFERRED_MAX
    /// [`DEFERRED_TIME`]: crate::DEFERRED_TIME
    fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        _ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        Some(self.ask(now, ask, out))
    }

    /// Follows the other node of a pair, or becomes the one that serves. Functions without
    /// durable state need nothing of it.
    fn replicate(&mut self, _now: Time, _input: Mirrored<'_>, _out: &mut Effects) {}

    /// The same for one whose state is groups of a cluster, which each are served by one of its
    /// nodes.
    fn grouped(&mut self, _now: Time, _input: Grouped<'_>, _out: &mut Effects) {}

    /// Whether nothing runs any more (asked after [`In::Drain`]).
    fn is_idle(&self) -> bool;

    /// What the end of it waits for, in words for the log, while it is not idle.
    fn waits_for(&self) -> &'static str {
        "what is under way"
    }

    /// The cells of this shard, for the management side.
    fn cells(&self) -> Vec<event::MetricCells>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Transport;

    #[test]
    fn shared_messages_stand_among_the_others_for_whoever_looks_and_leave_with_them() {
        let address: SocketAddr = "127.0.0.1:179".parse().unwrap();
        let flow = Flow::to(PortId(0), Transport::Tcp, address, address);
        let mut out = Effects::default();
        out.send(flow, |b| b.extend_from_slice(b"first"));
        let piece = Bytes::from(vec![2; 3]);
        out.send_shared(flow, piece.clone());
        out.send_shared(flow, Bytes::new());
        out.send(flow, |b| b.push(3));
        let sends: Vec<&[u8]> = out.sends().map(|(_, bytes)| bytes).collect();
        assert_eq!(sends, [&b"first"[..], &[2, 2, 2], &[3]]);
        assert_eq!((out.len(), out.bytes(), out.outline(1)), (3, 6, (0, 3)));
        assert_eq!(out.last().map(|(_, bytes)| bytes), Some(&[3][..]));
        assert!(out.shared(1).is_some() && out.shared(2).is_none() && !piece.is_unique());
        out.clear();
        assert!(out.is_empty() && piece.is_unique());
    }

    #[test]
    fn what_is_diverted_leaves_in_its_place_and_is_shown_once() {
        let address: SocketAddr = "127.0.0.1:5060".parse().unwrap();
        let [one, two] = [0, 1].map(|id| Flow::to(PortId(id), Transport::Udp, address, address));
        let mut out = Effects::default();
        for (flow, octet) in [(one, 1), (two, 2), (one, 3), (two, 4)] {
            out.send(flow, |b| b.push(octet));
        }
        let mut shown = Vec::new();
        out.divert(|flow, bytes, text| {
            shown.push(bytes[0]);
            match bytes[0] {
                2 => Diverted::Dropped,
                _ if flow == two => {
                    text.extend_from_slice(b"other");
                    Diverted::Instead { to: one, in_parts: true }
                }
                _ => Diverted::Stays,
            }
        });
        out.send(two, |b| b.push(5));
        out.divert(|_, bytes, _| {
            shown.push(bytes[0]);
            Diverted::Stays
        });
        assert_eq!(shown, [1, 2, 3, 4, 5]);
        let sends: Vec<_> = out.sends().collect();
        assert_eq!(sends, [(one, &[1][..]), (one, &[3]), (one, b"other"), (two, &[5])]);
        assert_eq!([0, 1, 2].map(|at| out.in_parts(at)), [false, false, true]);
    }
}
