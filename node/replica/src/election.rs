//! Who is active: heartbeats heard, votes given and got, and the lease that follows from them.
//!
//! ```text
//!           the peer's vote · the arbiter's · (no arbiter) silence for `detect`
//! Standby ────────────────────────────────────────────────────────────────────→ Active
//!         ←──── a higher epoch is heard · the lease ran out (arbiter) · resigned
//! ```

use crate::freshness::{Elected, Freshness};
use crate::message::Beat;
use machine::{Duration, Time};
use runtime::Term;

/// What a node is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Number of the pair, the same at both nodes and no other pair's.
    pub pair: u64,
    /// Which of the two it is.
    pub node: Name,
    /// The higher is elected when both have the same state.
    pub priority: u8,
    /// Number of this life of the node, another one after each start.
    pub incarnation: u64,
    /// Time between two heartbeats.
    pub heartbeat: Duration,
    /// Silence after which the peer counts as dead.
    pub detect: Duration,
    /// How long a vote lasts; shorter than `detect` by more than the clocks may drift in it.
    pub lease: Duration,
    /// Whether an arbiter has the third vote.
    pub has_arbiter: bool,
    /// Shards, each with deltas of its own.
    pub lanes: u16,
    /// Version of what it says: [`crate::PROTOCOL`].
    pub version: u32,
}

/// A node of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Name {
    /// The one.
    #[default]
    A,
    /// The other.
    B,
}

impl Name {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    pub(crate) const fn number(self) -> u64 {
        match self {
            Self::A => 1,
            Self::B => 2,
        }
    }

    pub(crate) const fn of(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::A),
            2 => Some(Self::B),
            _ => None,
        }
    }
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// It follows and is silent.
    #[default]
    Standby,
    /// It serves.
    Active,
}

/// What a node has to offer; the greater is elected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Merit {
    /// Epoch of the state it holds; zero: none.
    pub epoch: u64,
    /// Whether that state is whole.
    pub synced: bool,
    /// Whether all that the node tracks is good.
    pub fit: bool,
    /// What the operator prefers.
    pub priority: u8,
}

/// How many times as long a standby that does not have everything waits for its active peer.
const PATIENCE: u32 = 10;

/// What is known of the peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) heard: Time,
    pub(crate) beat: Beat,
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Election {
    params: Params,
    pub(crate) role: Role,
    pub(crate) epoch: u64,
    pub(crate) merit: Merit,
    /// A shard takes nothing of that state: it is not whole, whatever has come.
    pub(crate) is_stuck: bool,
    /// All that the node tracks is good.
    pub(crate) is_fit: bool,
    pub(crate) peer: Option<Peer>,
    /// Since when it hears.
    started: Time,
    /// Since when it serves; `MAX`: it does not.
    pub(crate) active_since: Time,
    /// Until then nobody else is elected here.
    promised_until: Time,
    vote: (u64, Time),
    /// Until then the arbiter may answer our request: no vote for the peer meanwhile.
    asking_until: Time,
    /// Since when it has been asked in vain.
    asking_since: Option<Time>,
    lease: Time,
    /// The next vote goes to the peer whatever it has to offer.
    pub(crate) yields: bool,
    pub(crate) freshness: Freshness,
    /// Whether what the node held when it was elected was of the last term.
    pub(crate) is_current: bool,
    /// The peer that may serve, too: there is no arbiter, and this node was elected though that one
    /// may live.
    rival: Option<Rival>,
    /// It did, and stands by now.
    has_met_rival: bool,
    /// Until when this node may have served in its last term.
    served: Time,
}

/// A peer that may serve beside this node.
#[derive(Debug, Clone, Copy)]
struct Rival {
    /// Its life.
    life: u64,
    /// Its time when it said the last that this node had heard of it by its election; zero: it was
    /// not heard before.
    stamp: Time,
}

/// A peer that serves, too, for so short a time after it was heard last has used no more than this
/// node knows of: what it lets itself do alone it does no sooner than 5 s after it has told it, and
/// who is elected knows all that was told up to 4.04 s ago. One that was paused has not served: its
/// lease has run out meanwhile, and it hears who serves before it renews that.
const RIVAL_HARMLESS: Duration = Duration::from_millis(500);

impl Election {
    pub(crate) fn new(params: Params, now: Time) -> Self {
        let merit = Merit { priority: params.priority, ..Merit::default() };
        Self {
            params,
            role: Role::Standby,
            epoch: 0,
            merit,
            is_stuck: false,
            is_fit: true,
            peer: None,
            started: now,
            active_since: Time::MAX,
            promised_until: now + params.detect,
            vote: (0, Time::ZERO),
            asking_until: Time::ZERO,
            asking_since: None,
            lease: Time::ZERO,
            yields: false,
            freshness: Freshness::new(now, params.has_arbiter, params.heartbeat),
            is_current: true,
            rival: None,
            has_met_rival: false,
            served: Time::ZERO,
        }
    }

    /// The node hears from now on: that nobody was heard before says nothing of the peer.
    pub(crate) fn begin(&mut self, now: Time) {
        self.started = self.started.max(now);
        self.promised_until = self.promised_until.max(now + self.params.detect);
    }

    /// What the node has on disk is of that time. Until then it waits for the other one, which may
    /// have a later state, before it serves alone.
    pub(crate) fn recall(&mut self, it: Term, until: Time) {
        self.epoch = self.epoch.max(it.epoch);
        (self.merit.epoch, self.merit.synced) = (it.epoch, it.served);
        self.started = self.started.max(until);
    }

    /// There is an arbiter from now on, or none any more.
    pub(crate) const fn set_arbiter(&mut self, has_arbiter: bool) {
        self.params.has_arbiter = has_arbiter;
        self.freshness.set_arbiter(has_arbiter);
    }

    /// Until when the node may speak.
    pub(crate) const fn lease(&self) -> Time {
        match self.role {
            Role::Active => self.lease,
            Role::Standby => Time::ZERO,
        }
    }

    /// The peer, if it was heard lately.
    pub(crate) fn living(&self, now: Time) -> Option<&Beat> {
        let peer = self.peer.as_ref()?;
        (now < peer.heard + self.params.detect).then_some(&peer.beat)
    }

    /// The merit of an active node that begins anew with what it has: it is the state now.
    pub(crate) const fn held(&self, priority: u8) -> Merit {
        Merit { epoch: self.epoch, synced: true, fit: self.is_fit, priority }
    }

    /// What this node has to offer.
    pub(crate) const fn merit(&self) -> Merit {
        Merit { synced: self.merit.synced && !self.is_stuck, fit: self.is_fit, ..self.merit }
    }

    /// What a heartbeat says of the election.
    pub(crate) fn write(&self, now: Time, beat: &mut Beat) {
        beat.node = self.params.node;
        beat.incarnation = self.params.incarnation;
        beat.version = self.params.version;
        beat.stamp = now;
        beat.echo = self.peer.map_or(Time::ZERO, |peer| peer.beat.stamp);
        beat.role = self.role;
        beat.epoch = self.epoch;
        beat.merit = self.merit();
        beat.served = (self.role == Role::Standby).then_some(self.served);
        if now < self.promised_until && self.role == Role::Standby {
            (beat.vote, beat.vote_echo) = self.vote;
        }
    }

    /// Takes a heartbeat. Returns whether it is news.
    pub(crate) fn hear(&mut self, now: Time, beat: &Beat) -> bool {
        let is_old = self.peer.is_some_and(|known| {
            known.beat.incarnation == beat.incarnation && beat.stamp < known.beat.stamp
        });
        if beat.node == self.params.node || is_old {
            return false;
        }
        if self.peer.replace(Peer { heard: now, beat: *beat }).is_none() {
            self.started = self.started.min(now);
        }
        match (self.role, beat.role) {
            (Role::Active, Role::Active) => {
                if (beat.epoch, self.params.node) > (self.epoch, beat.node) {
                    self.step_down(now, beat.epoch);
                    self.freshness.heard(now, beat);
                    self.promised_until = now + self.params.detect;
                } else if !self.params.has_arbiter {
                    let life = beat.incarnation;
                    let known = self.rival.filter(|rival| rival.life == life);
                    self.rival = known.or(Some(Rival { life, stamp: Time::ZERO }));
                }
            }
            (Role::Active, Role::Standby) => self.acknowledged(now, beat),
            (Role::Standby, Role::Active) => {
                self.freshness.heard(now, beat);
                self.epoch = self.epoch.max(beat.epoch);
                self.promised_until = self.promised_until.max(now + self.params.detect);
                self.vote = (0, Time::ZERO);
            }
            (Role::Standby, Role::Standby) => self.both_standby(now, beat),
        }
        true
    }

    /// The active peer said something that is no heartbeat.
    pub(crate) fn noticed(&mut self, now: Time) {
        if let Some(peer) = &mut self.peer {
            peer.heard = now;
        }
    }

    /// The standby heard us: it will elect nobody for `detect` from then.
    fn acknowledged(&mut self, now: Time, beat: &Beat) {
        let rival = self.rival.take().filter(|rival| rival.life == beat.incarnation);
        let was_rival = rival.is_some_and(|rival| self.has_served_on(now, rival, beat))
            || beat.epoch > self.epoch && !self.params.has_arbiter;
        self.has_met_rival |= was_rival;
        if beat.epoch > self.epoch {
            self.epoch = beat.epoch + 1; // it had been active, while we did not hear each other
        }
        if beat.echo >= self.active_since {
            self.lease = self.lease.max(beat.echo + self.params.lease);
        }
    }

    /// Whether a rival that stands by has served for longer than does no harm.
    fn has_served_on(&self, now: Time, rival: Rival, beat: &Beat) -> bool {
        match beat.served {
            Some(served) => served > rival.stamp + RIVAL_HARMLESS,
            None => now >= self.active_since + RIVAL_HARMLESS,
        }
    }

    fn both_standby(&mut self, now: Time, beat: &Beat) {
        self.freshness.heard_standby(beat);
        self.epoch = self.epoch.max(beat.epoch);
        let is_free = now >= self.promised_until && now >= self.asking_until;
        let lease = beat.vote_echo + self.params.lease;
        // Who votes for us while we owe it a promise has given that promise back, unless it is a
        // vote of our own that crossed this one.
        let is_released = self.vote.0 == 0 && now >= self.asking_until;
        if beat.vote > self.epoch && now < lease && (is_free || is_released) {
            return self.activate(now, beat.vote, lease, Elected::ByPeer(beat));
        }
        let theirs = (beat.merit, self.params.node);
        let ours = (self.merit(), beat.node);
        if is_free && (self.yields || theirs > ours) {
            self.give_vote(now, beat);
        }
    }

    /// Votes for the peer, which said this.
    fn give_vote(&mut self, now: Time, beat: &Beat) {
        self.vote = (self.epoch + 1, beat.stamp);
        self.freshness.voted(self.epoch + 1, beat, self.params.detect);
        self.promised_until = now + self.params.detect;
        self.yields = false;
    }

    /// The arbiter answered our request of `stamp`: nobody else has had its vote for `held`.
    pub(crate) fn granted(&mut self, now: Time, stamp: Time, held: Duration) {
        let lease = stamp + self.params.lease;
        match self.role {
            Role::Active => self.lease = self.lease.max(lease),
            Role::Standby if now < lease && now >= self.promised_until => {
                self.activate(now, self.epoch + 1, lease, Elected::ByArbiter(held));
            }
            Role::Standby => {}
        }
    }

    /// Lets time pass. Returns whether the arbiter shall be asked.
    pub(crate) fn tick(&mut self, now: Time) -> bool {
        let has_arbiter = self.params.has_arbiter;
        if self.role == Role::Active {
            if has_arbiter && now >= self.lease {
                self.step_down(now, self.epoch);
            }
            if !has_arbiter {
                self.lease = now + self.params.lease;
            }
            return has_arbiter;
        }
        let is_settled = now >= self.started + self.params.detect * 2;
        let is_alone = now >= self.alone_at();
        if !is_alone {
            self.asking_since = None;
        }
        if !is_settled || !is_alone || now < self.promised_until {
            return false;
        }
        if has_arbiter {
            self.asking_until = now + self.params.lease;
            self.asking_since.get_or_insert(now);
            return true;
        }
        let peer = self.peer.map(|peer| peer.beat);
        let by = Elected::Alone(peer.as_ref());
        self.activate(now, self.epoch + 1, now + self.params.lease, by);
        false
    }

    /// From when on this node takes its peer for dead. One that does not have everything gives an
    /// active peer more time: to take over would end the calls of a peer that was only late.
    fn alone_at(&self) -> Time {
        let Some(peer) = &self.peer else { return Time::ZERO };
        let is_poor = peer.beat.role == Role::Active && !self.merit.synced;
        peer.heard + self.params.detect * if is_poor { PATIENCE } else { 1 }
    }

    /// Since when a standby that hears nobody has asked the arbiter for its vote, and got none.
    pub(crate) fn waits_for_vote(&self) -> Option<Time> {
        self.asking_since.filter(|_| self.role == Role::Standby)
    }

    /// Whether the peer has served beside this node, which does not know what it has used, and does
    /// so no more.
    pub(crate) const fn take_rival(&mut self) -> bool {
        core::mem::replace(&mut self.has_met_rival, false)
    }

    fn activate(&mut self, now: Time, epoch: u64, lease: Time, by: Elected<'_>) {
        self.rival = match by {
            Elected::Alone(peer) => {
                peer.map(|beat| Rival { life: beat.incarnation, stamp: beat.stamp })
            }
            Elected::ByPeer(_) | Elected::ByArbiter(_) => None,
        };
        self.is_current = self.freshness.is_current(now, by);
        self.asking_since = None;
        self.role = Role::Active;
        self.epoch = epoch;
        self.active_since = now;
        self.lease = lease;
        self.vote = (0, Time::ZERO);
        self.yields = false;
        self.merit.epoch = epoch;
        self.merit.synced = true;
    }

    /// Becomes the standby at once.
    pub(crate) fn step_down(&mut self, now: Time, epoch: u64) {
        if self.role == Role::Active {
            let life = self.peer.map(|peer| peer.beat.incarnation);
            self.served = now.min(self.lease);
            self.freshness.ended(self.served, life, self.epoch);
        }
        self.role = Role::Standby;
        (self.rival, self.has_met_rival) = (None, false);
        self.epoch = self.epoch.max(epoch);
        self.active_since = Time::MAX;
        self.lease = Time::ZERO;
    }

    /// Gives the activity to the peer.
    pub(crate) fn resign(&mut self, now: Time) {
        self.step_down(now, self.epoch);
        self.yields = true;
        if let Some(Peer { beat, .. }) = self.peer {
            self.give_vote(now, &beat);
        }
    }

    /// When something of the election is due beside the heartbeats.
    pub(crate) fn deadline(&self, now: Time) -> Option<Time> {
        let silent_at = self.alone_at();
        let settled_at = self.started + self.params.detect * 2;
        let at = self.promised_until.max(silent_at).max(settled_at);
        (self.role == Role::Standby && at > now).then_some(at)
    }
}

/// The shortest `detect` that heartbeats at this interval allow.
pub(crate) fn detect_min(heartbeat: Duration) -> Duration {
    heartbeat * 3
}
