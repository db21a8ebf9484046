//! One stream connection: what waits to be read whole, what waits to be written.

use crate::function::Effects;
use crate::port::Flow;
use crate::queue::{PARTS_MAX, Queue};
use driver::tcp;
use machine::Time;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use tls::Session;

/// Octets that one connection writes before others have their turn.
const PUSH_BYTES_MAX: usize = 256 << 10;

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
    /// The head of a message that is not whole yet.
    pub(crate) partial: Partial,
    /// Bytes for the network, as they go out.
    queue: Queue,
    /// Messages for when it stands.
    held: Held,
    /// Octets of a paced port's function that it was not told of yet as written.
    untold: u64,
    /// It stands in the list of those that shall be told.
    pub(crate) listed: bool,
    /// What the shard's sum of queues counts for this connection.
    pub(crate) counted: usize,
    /// When we opened it, until the far end said something.
    pub(crate) unheard_since: Option<Time>,
    /// It was accepted, not opened here.
    pub(crate) accepted: bool,
    /// When it came.
    pub(crate) since: Time,
    /// It has sent a whole message.
    pub(crate) spoke: bool,
    /// When something whole moved last.
    pub(crate) active: Time,
    /// Since when the kernel takes nothing more.
    pub(crate) blocked: Option<Time>,
    /// Not watched for a moment, because who owns what comes is behind.
    pub(crate) paused: bool,
    /// When it is looked at next, if nothing happens before.
    pub(crate) look_at: Option<Time>,
}

/// What came of a message that is not whole yet.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    pub(crate) octets: Vec<u8>,
    /// Its length when that is known.
    pub(crate) wanted: usize,
    /// So many of the octets the function has searched for the end of a message.
    pub(crate) searched: usize,
}

/// Messages that wait for a connection to stand.
#[derive(Default)]
struct Held {
    queue: Queue,
    messages: u64,
}

/// How much may wait for one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) octets_max: usize,
    /// A message that finds no room is not shed but ends the connection.
    pub(crate) paced: bool,
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
            partial: Partial::default(),
            queue: Queue::default(),
            held: Held::default(),
            untold: 0,
            listed: false,
            counted: 0,
            unheard_since: None,
            accepted: false,
            since: now,
            spoke: false,
            active: now,
            blocked: None,
            paused: false,
            look_at: None,
        }
    }

    /// Bytes that wait to go out.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len() + self.held.queue.len()
    }

    /// Messages that are lost when the connection never stands.
    pub(crate) fn held_messages(&self) -> u64 {
        self.held.messages
    }

    /// Appends what TLS wants to send back.
    pub(crate) fn wire<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        self.queue.append(write)
    }

    /// Octets of the function that the kernel took since this was asked last, and how many still
    /// wait. Under TLS the records are longer than what they carry: what waits is never more than
    /// was sent.
    pub(crate) fn written(&mut self) -> (u64, u64) {
        let left = self.untold.min(self.waiting() as u64);
        let octets = self.untold - left;
        self.untold = left;
        (octets, left)
    }

    /// Sends messages, all that the kernel takes at once, the rest queued up to the limit.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn send(
        &mut self,
        effects: &Effects,
        order: &[u32],
        room: Room,
        gather: &mut Vec<u8>,
    ) -> io::Result<Sent> {
        let mut sent = Sent::default();
        match self.phase {
            Phase::Closing => sent.shed = order.len() as u64,
            Phase::Connecting | Phase::Shaking => self.hold(effects, order, room, &mut sent),
            Phase::Open if self.session.is_some() => {
                self.seal(effects, order, room, gather, &mut sent)?;
            }
            Phase::Open => self.send_plain(effects, order, room, &mut sent)?,
        }
        if room.paced {
            self.untold += sent.bytes;
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
    pub(crate) fn answer(&mut self, bytes: &[u8], room: Room) -> io::Result<()> {
        if self.phase != Phase::Open || !self.fits(bytes.len(), room) {
            return Ok(());
        }
        if self.session.is_some() {
            self.encrypt(bytes)?;
        } else {
            self.queue.push(bytes);
        }
        if self.blocked.is_none() { self.push().map(drop) } else { Ok(()) }
    }

    fn fits(&self, bytes: usize, room: Room) -> bool {
        self.waiting() + bytes <= room.octets_max
    }

    fn hold(&mut self, effects: &Effects, order: &[u32], room: Room, sent: &mut Sent) {
        for &number in order {
            let (_, bytes) = effects.message(number as usize);
            if !self.fits(bytes.len(), room) {
                sent.shed += 1;
                continue;
            }
            match effects.shared(number as usize) {
                Some(piece) => self.held.queue.push_shared(piece.clone()),
                None => self.held.queue.push(bytes),
            }
            self.held.messages += 1;
            sent.took(bytes.len());
        }
    }

    /// Puts all messages into as few TLS records as possible.
    fn seal(
        &mut self,
        effects: &Effects,
        order: &[u32],
        room: Room,
        gather: &mut Vec<u8>,
        sent: &mut Sent,
    ) -> io::Result<()> {
        gather.clear();
        for &number in order {
            let (_, bytes) = effects.message(number as usize);
            if self.fits(gather.len() + bytes.len(), room) {
                gather.extend_from_slice(bytes);
                sent.took(bytes.len());
            } else {
                sent.shed += 1;
                if room.paced {
                    break; // behind a gap nothing may follow
                }
            }
        }
        self.encrypt(gather)?;
        if self.blocked.is_none() { self.push().map(drop) } else { Ok(()) }
    }

    fn encrypt(&mut self, plain: &[u8]) -> io::Result<()> {
        match &mut self.session {
            Some(session) if !plain.is_empty() => {
                self.queue.append(|wire| session.encrypt(plain, wire)).map_err(io::Error::other)
            }
            _ => Ok(()),
        }
    }

    fn send_plain(
        &mut self,
        effects: &Effects,
        order: &[u32],
        room: Room,
        sent: &mut Sent,
    ) -> io::Result<()> {
        let mut rest = order;
        while !rest.is_empty() && self.queue.is_empty() && !(room.paced && sent.shed > 0) {
            let count = self.write_chunk(effects, rest, room, sent)?;
            rest = &rest[count..];
        }
        for &number in rest {
            self.enqueue(effects, number, room, sent);
        }
        Ok(())
    }

    fn enqueue(&mut self, effects: &Effects, number: u32, room: Room, sent: &mut Sent) {
        let (_, bytes) = effects.message(number as usize);
        if self.fits(bytes.len(), room) {
            self.take(effects, number, 0);
            sent.took(bytes.len());
        } else {
            sent.shed += 1;
        }
    }

    /// Queues a message but its first `out` bytes.
    fn take(&mut self, effects: &Effects, number: u32, out: usize) {
        match effects.shared(number as usize) {
            Some(piece) => self.queue.push_shared(piece.slice(out..)),
            None => self.queue.push(&effects.message(number as usize).1[out..]),
        }
    }

    /// One vectored write straight from the effects; what the kernel does not take is queued.
    /// Returns how many messages are dealt with.
    fn write_chunk(
        &mut self,
        effects: &Effects,
        order: &[u32],
        room: Room,
        sent: &mut Sent,
    ) -> io::Result<usize> {
        let Some(stream) = &self.stream else { return Ok(order.len()) };
        let mut parts = [IoSlice::new(&[]); PARTS_MAX];
        let (used, count) = pieces(effects, order, &mut parts);
        let mut out = tcp::write(stream, &parts[..used])?.unwrap_or(0);
        for &number in &order[..count] {
            let (_, bytes) = effects.message(number as usize);
            if out >= bytes.len() {
                out -= bytes.len();
                sent.took(bytes.len());
            } else if out > 0 {
                // Its head is out: the rest must follow, whatever the limit says.
                self.take(effects, number, out);
                sent.took(bytes.len());
                out = 0;
            } else {
                self.enqueue(effects, number, room, sent);
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
        let mut held = std::mem::take(&mut self.held).queue;
        if self.session.is_some() {
            let mut plain = Vec::with_capacity(held.len());
            held.drain_into(&mut plain);
            self.encrypt(&plain)?;
        } else {
            self.queue = held; // nothing was written before
        }
        self.push().map(drop)
    }

    /// Writes what is queued, a turn's share of it; whether all of it is out.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) fn push(&mut self) -> io::Result<bool> {
        let Some(stream) = &self.stream else { return Ok(self.waiting() == 0) };
        let mut octets = 0;
        while !self.queue.is_empty() && octets < PUSH_BYTES_MAX {
            let mut parts = [IoSlice::new(&[]); PARTS_MAX];
            let used = self.queue.parts(&mut parts, PUSH_BYTES_MAX - octets);
            let Some(count) = tcp::write(stream, &parts[..used])? else { break };
            self.queue.advance(count);
            octets += count;
        }
        self.queue.compact();
        Ok(self.queue.is_empty())
    }

    /// Says goodbye after what is queued.
    pub(crate) fn say_goodbye(&mut self) {
        if let Some(session) = &mut self.session {
            self.queue.append(|wire| session.close(wire));
        }
    }
}

/// The first messages of `order` as pieces of one write: how many pieces, how many messages.
fn pieces<'a>(
    effects: &'a Effects,
    order: &[u32],
    parts: &mut [IoSlice<'a>; PARTS_MAX],
) -> (usize, usize) {
    let own = |at: usize| effects.shared(order[at] as usize).is_none();
    let (mut used, mut count) = (0, 0);
    while count < order.len() && used < PARTS_MAX {
        let first = count;
        count += 1;
        parts[used] = if own(first) {
            let next = |at: usize| order[at] == order[at - 1] + 1 && own(at);
            while count < order.len() && next(count) {
                count += 1; // neighbours in the arena are one piece
            }
            IoSlice::new(effects.span(order[first], order[count - 1]))
        } else {
            IoSlice::new(effects.message(order[first] as usize).1)
        };
        used += 1;
    }
    (used, count)
}
