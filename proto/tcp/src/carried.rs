//! A connection that another process can go on with: where it stands, what waits until that one
//! has it, and the same connection there.
//!
//! ```text
//!   here   octets came ─→ told ─→ the other has them: they are acknowledged
//!          octets wait ─→ told ─→ the other has them: they leave
//!   there  Position, octets that are not acknowledged ─→ Connection::resume, established
//! ```
//! So the other process knows no less than the far end does: nothing was acknowledged that it has
//! not, and nothing left that it cannot send again.

use crate::connection::{Connection, MSS_LEAST, State, Window, after, between, is_before};
use machine::Time;

/// Where an established connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The number of the first octet that the far end has not acknowledged.
    pub una: u32,
    /// The number of the octet that comes next.
    pub nxt: u32,
    /// What the far end takes in a segment.
    pub mss: u16,
    /// What it takes at once.
    pub window: u16,
}

/// How far another process has what passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// The number before which it has all that came.
    pub came: u32,
    /// The number before which it has all that leaves.
    pub goes: u32,
    /// An acknowledgment of that has not left.
    pub has_news: bool,
}

/// Until the far end says what it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resumed {
    /// The number behind all octets that were told of.
    pub end: u32,
    /// It is to be asked.
    pub asks: bool,
}

impl Connection {
    /// Where it stands; `None`: it is not established, or one end closes it.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        let is_whole = self.state == State::Established && !self.out.closes;
        is_whole.then(|| Position {
            una: self.out.una,
            nxt: self.in_.nxt,
            mss: u16::try_from(self.out.mss).unwrap_or(u16::MAX),
            window: u16::try_from(self.out.window.octets).unwrap_or(u16::MAX),
        })
    }

    /// The octets from [`Position::una`] on, behind so many of them.
    pub fn unacknowledged(&self, behind: usize) -> impl Iterator<Item = &u8> {
        self.out.queue.iter().skip(behind)
    }

    /// From now on another process is told of all that passes: what it has not is not acknowledged
    /// and does not leave, until [`Connection::release`] says so. What has passed before has.
    pub fn hold(&mut self) {
        let (came, goes) = (self.in_.nxt, self.out.max);
        self.held.get_or_insert(Held { came, goes, has_news: false });
    }

    /// The other process has what came before the first number, and what leaves before the second.
    pub fn release(&mut self, came: u32, goes: u32) {
        let Some(held) = &mut self.held else { return };
        if is_before(held.came, came) && !is_before(self.in_.nxt, came) {
            (held.came, held.has_news) = (came, true);
            self.in_.acks = true;
        }
        if is_before(held.goes, goes) {
            held.goes = goes;
        }
    }

    /// Nobody is told any more: nothing waits.
    pub fn let_go(&mut self) {
        if let Some(held) = self.held.take() {
            self.in_.acks |= held.came != self.in_.nxt;
        }
    }

    /// The number that is acknowledged.
    pub(crate) fn acknowledges(&self) -> u32 {
        self.held.map_or(self.in_.nxt, |it| it.came)
    }

    /// Whether an acknowledgment says something, and takes note that it leaves: the same one again
    /// would be taken for a loss (RFC 5681 §2).
    pub(crate) fn takes_news(&mut self) -> bool {
        let nxt = self.in_.nxt;
        let Some(held) = &mut self.held else { return true };
        core::mem::take(&mut held.has_news) || held.came == nxt
    }

    /// How many octets of those that have not left may.
    pub(crate) fn released(&self, unsent: usize) -> usize {
        let up_to = |end: u32| match is_before(self.out.nxt, end) {
            true => between(self.out.nxt, end),
            false => 0,
        };
        let held = self.held.map_or(unsent, |it| up_to(it.goes));
        unsent.min(held).min(self.resumed.map_or(unsent, |it| up_to(it.end)))
    }

    /// Goes on with a connection of another process, from our port to the other's; `mss` is what
    /// one segment may carry, `octets` those from [`Position::una`] on. They leave at once, and the
    /// far end is asked what it has; nothing else leaves before it has said that it has all of
    /// them and no more.
    #[must_use]
    pub fn resume(
        now: Time,
        ports: (u16, u16),
        mss: u16,
        at: &Position,
        octets: impl ExactSizeIterator<Item = u8>,
    ) -> Self {
        let mut it = Self::open(now, ports, at.una, mss);
        it.state = State::Established;
        let out = &mut it.out;
        (out.syn, out.begun) = (false, true);
        out.takes(Some(at.mss.max(MSS_LEAST)), mss);
        let window = at.window.into();
        out.window = Window { octets: window, of: (at.nxt, at.una), most: usize::from(u16::MAX) };
        out.max = after(at.una, octets.len());
        out.recovers = out.max;
        out.queue.extend(octets);
        it.resumed = Some(Resumed { end: out.max, asks: true });
        (it.in_.nxt, it.in_.acks) = (at.nxt, true);
        it
    }

    /// Whether the far end of a connection that was gone on with has seen what this process knows
    /// nothing of: what was told of it was not all. Of the next number in order alone, which nobody
    /// guesses.
    pub(crate) fn knows_less(&self, seq: u32, ack: u32) -> bool {
        self.resumed.is_some_and(|it| is_before(it.end, ack)) && seq == self.in_.nxt
    }

    /// Something was acknowledged that could be.
    pub(crate) fn confirmed(&mut self, ack: u32) {
        if self.resumed.take_if(|it| it.end == ack).is_some() && self.out.in_flight() == 0 {
            (self.out.again_at, self.out.retries) = (None, 0);
        }
    }

    /// Whether the far end is to be asked now what it has: by a number that it has, which it
    /// answers (RFC 9293 §3.8.4).
    pub(crate) fn asks(&mut self) -> bool {
        self.resumed.as_mut().is_some_and(|it| core::mem::take(&mut it.asks))
    }
}
