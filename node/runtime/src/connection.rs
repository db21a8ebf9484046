//! One stream connection: what waits to be read whole, what waits to be written.

use crate::function::Effects;
use crate::port::Flow;
use crate::spec::StreamLimits;
use driver::tcp;
use driver::tls::Session;
use machine::Time;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};

/// Pieces of one vectored write.
const PARTS_MAX: usize = 64;
/// A drained queue keeps at most this much room.
const QUEUE_KEPT_BYTES: usize = 256 << 10;

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The kernel connects.
    Connecting,
    /// The handshake thread has it.
    Shaking,
    /// It stands.
    Open,
    /// The function closed it: what is queued goes out, then the far end may finish.
    Closing,
}

/// A connection of a shard.
pub(crate) struct Connection {
    /// The far end, with the connection's number.
    pub(crate) flow: Flow,
    /// Further addresses that lead here.
    pub(crate) aliases: Vec<SocketAddr>,
    /// The flow that was given to `send`, until the connection stands.
    pub(crate) asked: Option<Flow>,
    pub(crate) phase: Phase,
    /// Absent while the handshake thread has it.
    pub(crate) stream: Option<TcpStream>,
    pub(crate) session: Option<Box<Session>>,
    /// The head of a message that is not whole yet, and its length when that is known.
    pub(crate) partial: Vec<u8>,
    pub(crate) wanted: usize,
    /// Bytes for the network, as they go out; those before `head` are out.
    queue: Vec<u8>,
    head: usize,
    /// Messages for when it stands.
    held: Vec<u8>,
    held_messages: u64,
    /// What the shard's sum of queues counts for this connection.
    pub(crate) counted: usize,
    /// When we opened it, until the far end said something.
    pub(crate) unheard_since: Option<Time>,
    /// When something moved last.
    pub(crate) active: Time,
    /// Since when the kernel takes nothing more.
    pub(crate) blocked: Option<Time>,
}

/// What became of messages given to a connection.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) shed: u64,
}

impl Sent {
    fn took(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

impl Connection {
    pub(crate) fn new(flow: Flow, phase: Phase, stream: Option<TcpStream>, now: Time) -> Self {
        Self {
            flow,
            aliases: Vec::new(),
            asked: None,
            phase,
            stream,
            session: None,
            partial: Vec::new(),
            wanted: 0,
            queue: Vec::new(),
            head: 0,
            held: Vec::new(),
            held_messages: 0,
            counted: 0,
            unheard_since: None,
            active: now,
            blocked: None,
        }
    }

    /// Bytes that wait to go out.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len() - self.head + self.held.len()
    }

    /// Messages that are lost when the connection never stands.
    pub(crate) fn held_messages(&self) -> u64 {
        self.held_messages
    }

    /// Where what TLS wants to send back is appended.
    pub(crate) fn wire(&mut self) -> &mut Vec<u8> {
        &mut self.queue
    }

    /// Sends messages, all that the kernel takes at once, the rest queued up to the limit.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn send(
        &mut self,
        effects: &Effects,
        order: &[u32],
        limits: &StreamLimits,
        gather: &mut Vec<u8>,
    ) -> io::Result<Sent> {
        let mut sent = Sent::default();
        match self.phase {
            Phase::Closing => sent.shed = order.len() as u64,
            Phase::Connecting | Phase::Shaking => self.hold(effects, order, limits, &mut sent),
            Phase::Open if self.session.is_some() => {
                self.seal(effects, order, limits, gather, &mut sent)?;
            }
            Phase::Open => self.send_plain(effects, order, limits, &mut sent)?,
        }
        Ok(sent)
    }

    /// Whether messages to this address may go over it.
    pub(crate) fn leads_to(&self, remote: SocketAddr) -> bool {
        self.flow.remote == remote || self.aliases.contains(&remote)
    }

    /// Sends the answer to a keep-alive; a queue that is full has no room for it.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn answer(&mut self, bytes: &[u8], limits: &StreamLimits) -> io::Result<()> {
        if self.phase != Phase::Open || !self.fits(bytes.len(), limits) {
            return Ok(());
        }
        if self.session.is_some() {
            self.encrypt(bytes)?;
        } else {
            self.queue.extend_from_slice(bytes);
        }
        if self.blocked.is_none() { self.push().map(drop) } else { Ok(()) }
    }

    fn fits(&self, bytes: usize, limits: &StreamLimits) -> bool {
        self.waiting() + bytes <= limits.queue_bytes_max
    }

    fn hold(&mut self, effects: &Effects, order: &[u32], limits: &StreamLimits, sent: &mut Sent) {
        for &number in order {
            let (_, bytes) = effects.message(number as usize);
            if self.fits(bytes.len(), limits) {
                self.held.extend_from_slice(bytes);
                self.held_messages += 1;
                sent.took(bytes.len());
            } else {
                sent.shed += 1;
            }
        }
    }

    /// Puts all messages into as few TLS records as possible.
    fn seal(
        &mut self,
        effects: &Effects,
        order: &[u32],
        limits: &StreamLimits,
        gather: &mut Vec<u8>,
        sent: &mut Sent,
    ) -> io::Result<()> {
        gather.clear();
        for &number in order {
            let (_, bytes) = effects.message(number as usize);
            if self.fits(gather.len() + bytes.len(), limits) {
                gather.extend_from_slice(bytes);
                sent.took(bytes.len());
            } else {
                sent.shed += 1;
            }
        }
        self.encrypt(gather)?;
        if self.blocked.is_none() { self.push().map(drop) } else { Ok(()) }
    }

    fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        match &mut self.session {
            Some(session) if !plain.is_empty() => {
                session.encrypt(plain, &mut self.queue).map_err(io::Error::other)
            }
            _ => Ok(()),
        }
    }

    fn send_plain(
        &mut self,
        effects: &Effects,
        order: &[u32],
        limits: &StreamLimits,
        sent: &mut Sent,
    ) -> io::Result<()> {
        let mut rest = order;
        while !rest.is_empty() && self.queue.len() == self.head {
            let count = self.write_chunk(effects, rest, limits, sent)?;
            rest = &rest[count..];
        }
        for &number in rest {
            let (_, bytes) = effects.message(number as usize);
            self.enqueue(bytes, limits, sent);
        }
        Ok(())
    }

    fn enqueue(&mut self, bytes: &[u8], limits: &StreamLimits, sent: &mut Sent) {
        if self.fits(bytes.len(), limits) {
            self.queue.extend_from_slice(bytes);
            sent.took(bytes.len());
        } else {
            sent.shed += 1;
        }
    }

    /// One vectored write straight from the effects; what the kernel does not take is queued.
    /// Returns how many messages are dealt with.
    fn write_chunk(
        &mut self,
        effects: &Effects,
        order: &[u32],
        limits: &StreamLimits,
        sent: &mut Sent,
    ) -> io::Result<usize> {
        let Some(stream) = &self.stream else { return Ok(order.len()) };
        let mut parts = [IoSlice::new(&[]); PARTS_MAX];
        let (mut used, mut count) = (0, 0);
        while count < order.len() && used < PARTS_MAX {
            let first = count;
            count += 1;
            while count < order.len() && order[count] == order[count - 1] + 1 {
                count += 1; // neighbours in the arena are one piece
            }
            parts[used] = IoSlice::new(effects.span(order[first], order[count - 1]));
            used += 1;
        }
        let mut out = tcp::write(stream, &parts[..used])?.unwrap_or(0);
        for &number in &order[..count] {
            let (_, bytes) = effects.message(number as usize);
            if out >= bytes.len() {
                out -= bytes.len();
                sent.took(bytes.len());
            } else if out > 0 {
                // Its head is out: the rest must follow, whatever the limit says.
                self.queue.extend_from_slice(&bytes[out..]);
                sent.took(bytes.len());
                out = 0;
            } else {
                self.enqueue(bytes, limits, sent);
            }
        }
        Ok(count)
    }

    /// The connection stands: what was held goes out.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn stand(&mut self) -> io::Result<()> {
        self.phase = Phase::Open;
        self.asked = None;
        self.held_messages = 0;
        let held = std::mem::take(&mut self.held);
        if self.session.is_some() {
            self.encrypt(&held)?;
        } else {
            self.queue.extend_from_slice(&held);
        }
        self.push().map(drop)
    }

    /// Writes what is queued; whether all of it is out.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn push(&mut self) -> io::Result<bool> {
        let Some(stream) = &self.stream else { return Ok(self.waiting() == 0) };
        while self.head < self.queue.len() {
            match tcp::write(stream, &[IoSlice::new(&self.queue[self.head..])])? {
                Some(count) => self.head += count,
                None => {
                    self.compact();
                    return Ok(false);
                }
            }
        }
        self.queue.clear();
        self.queue.shrink_to(QUEUE_KEPT_BYTES);
        self.head = 0;
        Ok(true)
    }

    /// Moves what waits to the front once more than half of the room is used up.
    fn compact(&mut self) {
        if self.head > self.queue.len() / 2 {
            self.queue.drain(..self.head);
            self.head = 0;
        }
    }

    /// Says goodbye after what is queued.
    pub(crate) fn say_goodbye(&mut self) {
        if let Some(session) = &mut self.session {
            session.close(&mut self.queue);
        }
    }
}
