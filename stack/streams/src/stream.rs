//! A connection, and what its far end must prove.

use crate::packet::{Arrived, Ends};
use crate::streams::Event;
use crate::waiting::Waiting;
use machine::{Duration, Time};
use runtime::Secret;
use tcp::{Connection, QUEUE_MAX, State, Why, has_signature, is_signed};

/// One that was closed passes what was on its way for so long.
pub(crate) const CLOSING: Duration = Duration::from_secs(30);

/// What the far end of a connection must prove, and how far our segments go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The hop limit of what leaves.
    pub hop_limit: u8,
    /// The least one that is taken (RFC 5082).
    pub hop_limit_min: u8,
    /// The key of all segments (RFC 2385).
    pub key: Option<Secret>,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) ends: Ends,
    pub(crate) connection: Connection,
    pub(crate) terms: Terms,
    /// It was asked for here.
    pub(crate) is_own: bool,
    /// It counts among those that have not got beyond their SYN.
    pub(crate) begins: bool,
    /// It has been told to stand.
    pub(crate) stands: bool,
    pub(crate) waiting: Waiting,
    /// Nobody is told of it any more; it is given up then.
    pub(crate) gone: Option<Time>,
    /// When it is looked at.
    pub(crate) armed: Option<Time>,
}

/// What a segment does not prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmet {
    /// It comes from further away than it may.
    TooFar,
    /// It is not signed.
    NoSignature,
    /// It is signed with another key.
    WrongSignature,
    /// It is signed, and nothing is known here to look at that with: what would be answered, the
    /// far end would not take.
    UnknownSignature,
}

/// Why nothing came of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It cannot be read, or nobody has such a connection.
    Unwanted,
    /// Its far end must prove more.
    Unmet(Unmet),
}

impl Terms {
    /// Looks at what a segment proves.
    pub(crate) fn look_at(&self, it: &Arrived<'_>) -> Result<(), Refused> {
        let between = (it.ends.far.ip(), it.ends.own.ip());
        let is_proven = |key: &Secret| is_signed(between, key.reveal(), it.octets);
        let unmet = match &self.key {
            _ if it.hop_limit < self.hop_limit_min => Unmet::TooFar,
            Some(key) if is_proven(key) => return Ok(()),
            Some(_) if has_signature(it.octets) => Unmet::WrongSignature,
            Some(_) => Unmet::NoSignature,
            None if has_signature(it.octets) => Unmet::UnknownSignature,
            None => return Ok(()),
        };
        Err(Refused::Unmet(unmet))
    }
}

impl Stream {
    pub(crate) fn new(ends: Ends, connection: Connection, terms: Terms, is_own: bool) -> Self {
        Self {
            ends,
            begins: connection.state() == State::SynReceived,
            connection,
            terms,
            is_own,
            stands: false,
            waiting: Waiting::default(),
            gone: None,
            armed: None,
        }
    }

    /// Gives the connection what waits, as far as it has room, and closes it behind that; how many
    /// octets it took.
    fn feed(&mut self) -> usize {
        let mut taken = 0;
        while self.stands && self.connection.is_open() {
            let room = QUEUE_MAX.saturating_sub(self.connection.waiting());
            let Some(some) = (room > 0).then(|| self.waiting.take(room)).flatten() else { break };
            self.connection.send(&some);
            taken += some.len();
        }
        if self.gone.is_some() && self.waiting.is_empty() {
            self.connection.close();
        }
        taken
    }

    /// Says what has happened, and lets what waits go on.
    pub(crate) fn take<K: Copy>(&mut self, id: K, events: &mut Vec<Event<K>>) {
        let begins = matches!(self.connection.state(), State::SynSent | State::SynReceived);
        let is_new = !self.stands && !begins && self.connection.why().is_none();
        if is_new && self.gone.is_none() {
            self.stands = true;
            events.push(if self.is_own { Event::Connected(id) } else { Event::Accepted(id) });
        }
        let octets = std::mem::take(self.connection.incoming());
        if !octets.is_empty() && self.gone.is_none() {
            events.push(Event::Octets(id, octets));
        }
        if self.connection.is_half_closed() && self.gone.is_none() {
            events.push(Event::Closed(id, Some(Why::Ended)));
            self.gone = Some(self.connection.passed() + CLOSING);
        }
        let written = self.feed();
        if written > 0 && self.gone.is_none() {
            events.push(Event::Written(id, written, self.waiting.len()));
        }
    }
}
