//! The connection to one media controller: opened, proved, greeted, kept alive, opened again.
//!
//! ```text
//! idle ─→ opening ─→ (proving ─→) greeting ─→ up        every step has its time
//!   ↑ after RETRY, to the other node of the pair ┘
//! ```
//! What is said while it is not up is not kept: with the next connection everything is said again.

use anchor::row::{
    Envelope, MEDIA_CONTROLLER, Message, Nonce, SESSION_CONTROLLER, VERSION, proved, read, write,
};
use authentication::Keys;
use machine::{Duration, Time};
use runtime::{Effects, Flow, Frame, PortId, Transport};
use std::net::SocketAddr;

/// After a connection ended the next one is opened this much later.
const RETRY: Duration = Duration::from_millis(200);
/// Time for each step until the greeting is answered.
const STEP: Duration = Duration::from_secs(3);
/// A media controller that says nothing for so long is not there. One of version 2 speaks four
/// times a second …
const SILENCE: Duration = Duration::from_secs(1);
/// … one before that once a second.
const SILENCE_1: Duration = Duration::from_secs(3);
/// Octets that wait for a media controller with which no new call goes there.
const SLOW_OCTETS: u64 = 4 << 20;
/// Octets that wait for it while everything is being said again.
const RESTATING_OCTETS: u64 = 256 << 10;

/// Where a media controller is, and what it must prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub port: PortId,
    pub transport: Transport,
    /// One, or those of the nodes of a pair.
    pub addresses: Vec<SocketAddr>,
    pub keys: Option<Keys>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is there until then.
    Idle(Time),
    /// It is being opened, until then.
    Opening(Time),
    /// The challenge of the far end is waited for, or its proof.
    Proving(Time),
    /// Its Hello is waited for.
    Greeting(Time),
    Up,
}

/// Who we are.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    /// Our name in the site; each shard has its own.
    pub name: Box<str>,
    pub epoch: u64,
}

/// What a message of the far end means beyond itself.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It has been dealt with.
    Nothing,
    Message(Message),
    /// It is nothing that could be understood, or proves nothing: why.
    Violation(&'static str),
}

#[derive(Debug)]
pub(crate) struct Connection {
    target: Target,
    /// Which of the addresses is tried.
    place: usize,
    state: State,
    flow: Flow,
    /// Of the last message.
    number: u64,
    acknowledged: u64,
    heard: Time,
    /// For how long it may say nothing.
    silence: Duration,
    /// Ours for this connection, and theirs once it is known.
    nonces: [Nonce; 2],
    /// Octets that the kernel has not taken.
    waiting: u64,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(target: Target, now: Time) -> Self {
        Self {
            target,
            place: 0,
            state: State::Idle(now),
            flow: Flow::NOWHERE,
            number: 0,
            acknowledged: 0,
            heard: now,
            silence: SILENCE_1,
            nonces: [[0; 32]; 2],
            waiting: 0,
            buffer: Vec::new(),
        }
    }

    pub(crate) const fn is_up(&self) -> bool {
        matches!(self.state, State::Up)
    }

    /// Whether it takes what it is told.
    pub(crate) const fn is_prompt(&self) -> bool {
        self.waiting < SLOW_OCTETS
    }

    /// Whether more of everything may be said now.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting + (self.buffer.len() as u64) < RESTATING_OCTETS
    }

    pub(crate) fn owns(&self, flow: &Flow) -> bool {
        flow.port == self.target.port
    }

    /// The address that it is, or was last, or is being tried.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.target.addresses.get(self.place).copied()
    }

    /// The number of the last message that was said.
    pub(crate) const fn said(&self) -> u64 {
        self.number
    }

    /// The number up to which everything is done there.
    pub(crate) const fn done(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let at = match self.state {
            State::Idle(at) | State::Opening(at) | State::Proving(at) | State::Greeting(at) => at,
            State::Up => self.heard + self.silence,
        };
        (at < Time::MAX).then_some(at)
    }

    /// Another target; one that changed is opened anew.
    pub(crate) fn retarget(&mut self, now: Time, target: Target, out: &mut Effects) {
        if self.target != target {
            self.hang_up(now, out);
            self.place = 0;
        }
        self.target = target;
    }

    /// Ends it until `again`.
    pub(crate) fn hang_up(&mut self, again: Time, out: &mut Effects) {
        if self.flow != Flow::NOWHERE {
            out.close(self.flow);
        }
        self.end(again);
    }

    fn end(&mut self, again: Time) {
        self.flow = Flow::NOWHERE;
        self.state = State::Idle(again);
        self.buffer.clear();
        self.waiting = 0;
    }

    /// Lets time pass. Returns whether a connection that was up is over.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) -> bool {
        match self.state {
            State::Idle(at) if at <= now => {
                let Some(&remote) = self.target.addresses.get(self.place) else { return false };
                let Target { port, transport, .. } = self.target;
                let any = match remote {
                    SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
                    SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
                };
                self.state = State::Opening(now + STEP);
                out.open(Flow::to(port, transport, any, remote));
                false
            }
            State::Opening(at) | State::Proving(at) | State::Greeting(at) if at <= now => {
                self.hang_up(now + RETRY, out);
                self.turn();
                false
            }
            State::Up if self.heard + self.silence <= now => {
                self.hang_up(now, out);
                self.turn();
                self.tick(now, out);
                true
            }
            _ => false,
        }
    }

    /// The other node of a pair is next.
    fn turn(&mut self) {
        self.place = (self.place + 1) % self.target.addresses.len().max(1);
    }

    /// It stands.
    pub(crate) fn opened(&mut self, now: Time, flow: Flow, own: &Own, nonce: Nonce) {
        if !matches!(self.state, State::Opening(_)) {
            return;
        }
        self.flow = flow;
        self.heard = now;
        (self.number, self.acknowledged, self.waiting) = (0, 0, 0);
        self.nonces = [nonce, [0; 32]];
        if self.target.keys.is_some() {
            self.state = State::Proving(now + STEP);
        } else {
            self.greet(now, own);
        }
    }

    fn greet(&mut self, now: Time, own: &Own) {
        self.state = State::Greeting(now + STEP);
        self.write(Message::Hello {
            version: VERSION,
            name: own.name.clone(),
            epoch: own.epoch,
            fingerprint: None,
        });
    }

    /// It is over, or could not be opened. Returns whether it was up.
    pub(crate) fn closed(&mut self, now: Time, flow: &Flow) -> bool {
        let is_ours = match self.state {
            State::Idle(_) => false,
            State::Opening(_) => self.address() == Some(flow.remote),
            _ => self.flow == *flow,
        };
        if !is_ours {
            return false;
        }
        let was_up = self.is_up();
        self.end(now + if was_up { Duration::ZERO } else { RETRY });
        self.turn();
        was_up
    }

    /// The kernel took something.
    pub(crate) fn written(&mut self, flow: &Flow, left: u64) {
        if self.flow == *flow {
            self.waiting = left;
        }
    }

    /// A message came.
    pub(crate) fn message(&mut self, now: Time, flow: &Flow, bytes: &[u8], own: &Own) -> Heard {
        if self.flow != *flow {
            return Heard::Nothing;
        }
        let message = match read(bytes) {
            Ok(Some((envelope, _))) => envelope.message,
            Ok(None) => return Heard::Violation("a message is cut off"),
            Err(violation) => return Heard::Violation(violation.what),
        };
        self.heard = now;
        match (self.state, message) {
            (State::Proving(_), Message::Challenge { nonce }) => self.prove(nonce),
            (State::Proving(_), Message::Prove { proofs, .. }) => {
                if !self.is_proved(&proofs) {
                    return Heard::Violation("the media controller does not have the key");
                }
                self.greet(now, own);
                Heard::Nothing
            }
            (State::Proving(_), _) => {
                Heard::Violation("something came before the proof of the key")
            }
            (State::Greeting(_), message @ Message::Hello { version, .. }) => {
                if version == 0 {
                    return Heard::Violation("the media controller has no version");
                }
                self.state = State::Up;
                self.silence = if version >= 2 { SILENCE } else { SILENCE_1 };
                Heard::Message(message)
            }
            (State::Greeting(_), Message::Challenge { .. }) => {
                Heard::Violation("the media controller wants a key")
            }
            (State::Up, Message::Ack { number }) => {
                if number > self.number {
                    return Heard::Violation("more is acknowledged than was said");
                }
                self.acknowledged = self.acknowledged.max(number);
                Heard::Message(Message::Ack { number })
            }
            (State::Up, message) => Heard::Message(message),
            _ => Heard::Nothing,
        }
    }

    fn prove(&mut self, theirs: Nonce) -> Heard {
        let Some(keys) = &self.target.keys else { return Heard::Nothing };
        if theirs == self.nonces[0] || self.nonces[1] != [0; 32] {
            return Heard::Violation("a challenge is ours, or a second one");
        }
        self.nonces[1] = theirs;
        let said = proved(&theirs, &self.nonces[0]);
        let proofs = keys.prove(SESSION_CONTROLLER, &said).into_iter().map(Into::into).collect();
        let nonce = self.nonces[0];
        self.write(Message::Prove { nonce, proofs });
        Heard::Nothing
    }

    fn is_proved(&self, proofs: &[Box<[u8]>]) -> bool {
        let said = proved(&self.nonces[1], &self.nonces[0]);
        let keys = self.target.keys.as_ref().filter(|_| self.nonces[1] != [0; 32]);
        keys.is_some_and(|keys| {
            proofs.iter().any(|proof| keys.is_proof(MEDIA_CONTROLLER, &said, proof))
        })
    }

    /// What it said is nothing that could be understood: it ends.
    pub(crate) fn refuse(&mut self, now: Time, out: &mut Effects) -> bool {
        let was_up = self.is_up();
        self.hang_up(now + STEP, out);
        self.turn();
        was_up
    }

    /// Says something; nothing when it is not up.
    pub(crate) fn say(&mut self, message: Message) {
        if self.is_up() {
            self.write(message);
        }
    }

    fn write(&mut self, message: Message) {
        let envelope = Envelope { number: self.number + 1, message };
        // What is too long for a message is no stream that a description of 64 KiB can make.
        if write(&envelope, &mut self.buffer).is_ok() {
            self.number += 1;
        }
    }

    /// Gives what was said to the runtime.
    pub(crate) fn flush(&mut self, out: &mut Effects) {
        if self.buffer.is_empty() || self.flow == Flow::NOWHERE {
            return;
        }
        self.waiting += self.buffer.len() as u64;
        let buffer = &self.buffer;
        out.send(self.flow, |bytes| bytes.extend_from_slice(buffer));
        self.buffer.clear();
        self.buffer.shrink_to(64 << 10);
    }
}

/// Cuts a message from a stream.
#[must_use]
pub fn frame(buffer: &[u8]) -> Frame {
    match read_length(buffer) {
        Ok(None) => Frame::Partial,
        Ok(Some(length)) if buffer.len() < length => Frame::Partial,
        Ok(Some(length)) => Frame::Message(length),
        Err(what) => Frame::Broken(what),
    }
}

fn read_length(buffer: &[u8]) -> Result<Option<usize>, &'static str> {
    let Some(length) = buffer.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    let shortest = anchor::row::HEAD_OCTETS - 4;
    if (shortest..=anchor::row::MESSAGE_OCTETS_MAX).contains(&length) {
        Ok(Some(length + 4))
    } else {
        Err("a message has a length that none has")
    }
}
