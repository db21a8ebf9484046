//! Whether what a node holds is of the last term: it served then itself and nobody has since, or it
//! has applied all that whoever served had told until lately.
//!
//! ```text
//!   followed ── the active node's heartbeat: told so far ─ applied as far ─→ up to the time of
//!               this node's clock that the heartbeat answers
//!   served, or remembers ── the arbiter: since when nobody else had its vote ─→ proof, or none
//! ```

use crate::message::Beat;
use machine::{Duration, Time};

/// What is older than four heartbeats counts as out of date, but no less than the first and no more
/// than the second of these: so far counters of the active node may have moved.
const FRESH: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(4)];

/// How a node came to serve.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Elected<'a> {
    /// The other node voted for it.
    ByPeer(&'a Beat),
    /// The arbiter did, whose vote nobody else had for so long.
    ByArbiter(Duration),
    /// Nobody was heard, and there is no arbiter.
    Alone(Option<&'a Beat>),
}

/// How far the active node had come.
#[derive(Debug, Clone, Copy)]
struct Mark {
    stream: (u64, u64),
    number: u64,
    at: Time,
}

/// A vote that this node gave to the other one.
#[derive(Debug, Clone, Copy)]
struct Vote {
    epoch: u64,
    life: u64,
    /// The time of the other one from which on it cannot begin a term by it.
    until: Time,
}

/// What a node knows of the terms since its own.
#[derive(Debug)]
pub(crate) struct Freshness {
    has_arbiter: bool,
    fresh_max: Duration,
    /// The end of its last term, or its start.
    since: Time,
    /// The peer's life and the epoch in which that term ended.
    last: Option<(u64, u64)>,
    /// Whether the other node has served since.
    has_other_served: bool,
    /// A vote that it may have served by without being heard.
    vote: Option<Vote>,
    /// All that the active node had told then is applied.
    up_to: Option<Time>,
    /// What has to be applied before that moves on.
    awaited: Option<Mark>,
}

/// For how long what a standby was told last is of the last term.
pub(crate) fn fresh_max(heartbeat: Duration) -> Duration {
    let [least, most] = FRESH;
    (heartbeat * 4).clamp(least, most)
}

impl Freshness {
    pub fn new(now: Time, has_arbiter: bool, heartbeat: Duration) -> Self {
        Self {
            has_arbiter,
            fresh_max: fresh_max(heartbeat),
            since: now,
            last: None,
            has_other_served: false,
            vote: None,
            up_to: None,
            awaited: None,
        }
    }

    pub const fn set_arbiter(&mut self, has_arbiter: bool) {
        self.has_arbiter = has_arbiter;
    }

    /// For how long at most one that heard of this node last just now could be current: clocks may
    /// drift by a hundredth.
    pub fn lasts_at_most(&self) -> Duration {
        self.fresh_max + self.fresh_max / 100
    }

    /// Whether the peer was heard to serve since this node's last term. What it was told before
    /// that counts no more: it could be current only by what it is told from now on.
    pub const fn has_other_served(&self) -> bool {
        self.has_other_served
    }

    /// The node serves no more; `life` is that of its peer.
    pub fn ended(&mut self, now: Time, life: Option<u64>, epoch: u64) {
        *self = Self {
            since: now,
            last: Some((life.unwrap_or(0), epoch)),
            has_other_served: false,
            vote: None,
            up_to: None,
            awaited: None,
            ..*self
        };
    }

    /// The node votes for its peer, which said this; the vote lasts so long from then.
    pub fn voted(&mut self, epoch: u64, beat: &Beat, lease: Duration) {
        let until = beat.stamp + lease;
        self.vote = Some(Vote { epoch, life: beat.incarnation, until });
    }

    /// The peer was heard as a standby: a vote that it has let pass does not count.
    pub fn heard_standby(&mut self, beat: &Beat) {
        let is_unused = |vote: &mut Vote| {
            beat.incarnation == vote.life && beat.stamp >= vote.until && beat.epoch < vote.epoch
        };
        self.vote.take_if(is_unused);
    }

    /// The active peer was heard.
    pub fn heard(&mut self, now: Time, beat: &Beat) {
        self.has_other_served = true;
        let Some((stream, number)) = beat.tells else { return };
        // One mark after the other: a stream that is always behind gets somewhere, too.
        let is_next = self.awaited.is_none_or(|mark| mark.stream != stream);
        if is_next && beat.echo > Time::ZERO && beat.echo <= now {
            self.awaited = Some(Mark { stream, number, at: beat.echo });
        }
    }

    /// The stream is applied up to that number.
    pub fn applied(&mut self, stream: (u64, u64), applied: u64) {
        let is_reached = |mark: &mut Mark| mark.stream == stream && mark.number <= applied;
        if let Some(mark) = self.awaited.take_if(is_reached) {
            self.up_to = self.up_to.max(Some(mark.at));
        }
    }

    /// Whether what a node holds that serves from now on is of the last term.
    pub fn is_current(&self, now: Time, by: Elected<'_>) -> bool {
        if let Some(up_to) = self.up_to {
            return now < up_to + self.fresh_max;
        }
        if self.has_other_served {
            return false;
        }
        match by {
            // It had the vote in the term before, and at all times since, and gave its own away to
            // nobody who may have served by it.
            Elected::ByArbiter(held) => self.vote.is_none() && held > now.since(self.since),
            // Who voted has lived since then, and knows of no other term.
            Elected::ByPeer(beat) => match self.last {
                Some((life, epoch)) => beat.incarnation == life && beat.epoch <= epoch,
                None => !self.has_arbiter && beat.merit.epoch == 0,
            },
            Elected::Alone(peer) => peer.is_none_or(|beat| beat.merit.epoch == 0),
        }
    }
}
