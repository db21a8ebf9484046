//! One node of the pair, as a machine: the election, the stream, and what both want done.

pub use crate::election::Params;
use crate::election::{Election, Merit, Role};
use crate::message::{self, Beat, Datagram};
use crate::sink::{Change, Sink};
use crate::source::Source;
use machine::{Duration, Time};
use runtime::Term;

/// Datagrams of the stream after which the standby acknowledges at once.
const ACKNOWLEDGE_EVERY: u32 = 16;
/// An arbiter that has answered nothing for so long is lost; nodes make themselves known to it each
/// second, and it answers that.
const ARBITER_SILENCE: Duration = Duration::from_secs(4);
/// Who is started at the same time is heard by then.
const ALONE_PATIENCE: Duration = Duration::from_secs(3);
/// Between two attempts to hand over because something that is tracked has failed.
const YIELD_PAUSE: Duration = Duration::from_secs(5);
/// A planned switchover that takes longer is given up.
const HANDOVER_MAX: Duration = Duration::from_secs(2);

/// What the peer tells cannot be read: it is looked again so much later.
const UNREADABLE: Duration = Duration::from_secs(60);

/// A node that remembers a state waits so long for the other one before it serves alone with it.
const RECALL_WAIT: Duration = Duration::from_secs(3);

/// Version of what the two nodes tell each other. It grows by one whenever a node of the version
/// before would be misled by what it does not know.
pub const PROTOCOL: u32 = 1;

/// Whether nodes of these versions can be a pair: the two of a rolling upgrade.
pub(crate) const fn fit(one: u32, other: u32) -> bool {
    one.abs_diff(other) <= 1
}

/// How shards keep up with what is to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// They have all of it.
    Current,
    /// One of them is behind.
    Behind,
    /// One of them takes nothing any more.
    Stuck,
}

/// What happened.
#[derive(Debug)]
pub enum In<'a> {
    /// The peer said this.
    Heard(&'a [u8]),
    /// The arbiter answered this.
    Answered(&'a [u8]),
    /// A lane has told everything for the snapshot of that number.
    SnapshotEnded(u64),
    /// A lane does nothing more after [`Out::Deactivate`].
    Quiet,
    /// The operator wants the peer to be active.
    Switchover,
    /// Whether all that this node tracks is good. While it is not, and the peer is there, has
    /// everything and is fit, that one serves.
    Fit(bool),
    /// The function was started again and has lost its state.
    StateLost,
    /// A lane has lost its state and began anew; the others stand.
    LaneLost(u16),
    /// What the peer tells is of a version that the function does not read.
    Unreadable,
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Send to the peer.
    ToPeer(Vec<u8>),
    /// Send to the arbiter.
    ToArbiter(Vec<u8>),
    /// Serve: take the addresses, announce them, speak. Until [`Out::Unfollowed`] a peer may be
    /// there that could take over and be current.
    Activate {
        /// In this epoch.
        epoch: u64,
        /// Whether what the node holds, or remembers of its last life, is of the last term: nobody
        /// has served since, or what that one told is applied up to two seconds ago.
        is_current: bool,
    },
    /// The peer has served at the same time, without an arbiter, and does so no more: what this
    /// node holds counts as of another term from now on. Lanes keep still and serve again.
    Outdated,
    /// One lane, which began anew, serves again.
    ActivateLane(u16),
    /// Be silent: give the addresses away; every lane answers [`In::Quiet`].
    Deactivate,
    /// Forget the replicated state of all lanes.
    Forget,
    /// Everything was told that stood in that epoch.
    Whole(u64),
    /// A change of one lane's state.
    Apply(u16, Vec<u8>),
    /// Tell everything that stands, as deltas, under this number.
    Snapshot(u64),
    /// The peer has applied all that a lane told before that mark. Zero: it is heard again, and
    /// follows.
    Followed(u16, u64),
    /// No peer could take over and be current: none was heard for longer than that lasts.
    Unfollowed,
    /// How the peer keeps up, when that changes.
    Paced(runtime::Pace),
}

/// What a node says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Its role.
    pub role: Role,
    /// Since when it serves, if it does.
    pub active_since: Option<Time>,
    /// The epoch it knows.
    pub epoch: u64,
    /// Whether the peer was heard within `detect`.
    pub is_peer_alive: bool,
    /// Whether it was ever heard in this life of the node.
    pub was_peer_heard: bool,
    /// Whether it says that it is the active one.
    pub is_peer_active: bool,
    /// Whether the arbiter answers; `None`: the pair has none.
    pub is_arbiter_alive: Option<bool>,
    /// Since when it is a standby that hears nobody and asks the arbiter in vain.
    pub waits_for_vote: Option<Time>,
    /// Version of what it says.
    pub peer_version: Option<u32>,
    /// Whether the standby of the two has everything.
    pub is_synced: bool,
    /// Deltas that the peer has not acknowledged.
    pub lag: u64,
    /// Deltas applied here in the present stream.
    pub applied: u64,
    /// Whether a planned switchover is under way.
    pub is_handing_over: bool,
    /// Whether all that it tracks is good.
    pub is_fit: bool,
    /// Whether the peer says the same of itself.
    pub is_peer_fit: bool,
    /// How the peer keeps up with what it is told.
    pub pace: runtime::Pace,
    /// Since when it has not kept up.
    pub behind_since: Option<Time>,
    /// Times that the log overflowed.
    pub overflows: u64,
    /// Deltas that are too long to be told.
    pub too_long: u64,
}

impl Standing {
    /// Whether it has served for so long without ever hearing the peer that it is not only
    /// starting.
    pub(crate) fn is_alone(&self, now: Time) -> bool {
        let is_late = self.active_since.is_some_and(|since| now >= since + ALONE_PATIENCE);
        is_late && !self.was_peer_heard
    }
}

/// A node of the pair.
#[derive(Debug)]
pub struct Pair {
    params: Params,
    election: Election,
    source: Source,
    sink: Sink,
    was: Role,
    next_beat: Time,
    unacknowledged: u32,
    /// The peer waits to hear what is applied.
    is_awaited: bool,
    /// Until when this node says that it cannot read what it is told.
    unreadable_until: Time,
    arbiter_heard: Time,
    /// Lanes that are not quiet yet, and when the switchover is given up.
    handover: Option<(u16, Time)>,
    /// When it may be tried again to hand over because this node is unfit.
    yields_at: Time,
    /// How the peer keeps up, as lanes were told last, and since when it has not.
    pace: runtime::Pace,
    behind_since: Option<Time>,
    /// What a lane knew is lost here: the peer has it, and this node is no heir before it was told
    /// everything anew.
    has_gap: bool,
    /// While this node is active and has told a peer: until when that one could be current, were
    /// it never heard again.
    followed_until: Option<Time>,
    changes: Vec<Change>,
    /// Since lanes are behind: how far the stream was acknowledged.
    held: Option<((u64, u64), u64)>,
}

impl Pair {
    /// A standby that knows nothing.
    #[must_use]
    pub fn new(params: Params, now: Time) -> Self {
        Self {
            params,
            election: Election::new(params, now),
            source: Source::new(params.lanes, params.heartbeat * 2),
            sink: Sink::default(),
            was: Role::Standby,
            next_beat: now,
            unacknowledged: 0,
            is_awaited: false,
            unreadable_until: Time::ZERO,
            arbiter_heard: now,
            handover: None,
            yields_at: Time::ZERO,
            pace: runtime::Pace::Current,
            behind_since: None,
            has_gap: false,
            followed_until: None,
            changes: Vec::new(),
            held: None,
        }
    }

    /// The node hears from now on. A function may take longer to start than a peer to count as
    /// dead.
    pub fn begin(&mut self, now: Time) {
        self.election.begin(now);
    }

    /// The node has a state on disk, and begins with it: it serves alone only when the other one
    /// was not heard for a while, and of two that begin at once the one with the later state does.
    pub fn recall(&mut self, now: Time, it: Term) {
        self.election.recall(it, now + RECALL_WAIT);
    }

    /// There is an arbiter from now on, or none any more: what was promised and lent stands.
    pub const fn set_arbiter(&mut self, has_arbiter: bool) {
        self.params.has_arbiter = has_arbiter;
        self.election.set_arbiter(has_arbiter);
    }

    /// Whether lanes are behind with what is to be applied: until they are not, the peer hears of
    /// no progress, and its window fills. While one of them takes nothing at all the node says that
    /// its state is not whole: no planned change leads to it.
    pub fn hold(&mut self, pace: Pace) {
        let here = (self.sink.stream, self.sink.applied);
        self.held = (pace != Pace::Current).then(|| self.held.unwrap_or(here));
        self.election.is_stuck = pace == Pace::Stuck;
    }

    /// Until when the node may speak; look at it before each send.
    #[must_use]
    pub const fn lease(&self) -> Time {
        match self.handover {
            Some(_) => Time::ZERO,
            None => self.election.lease(),
        }
    }

    /// What the node is now.
    #[must_use]
    pub fn standing(&self, now: Time) -> Standing {
        let peer = self.election.living(now);
        let is_active = self.election.role == Role::Active;
        Standing {
            role: self.election.role,
            active_since: is_active.then_some(self.election.active_since),
            epoch: self.election.epoch,
            is_peer_alive: peer.is_some(),
            was_peer_heard: self.election.peer.is_some(),
            is_peer_active: peer.is_some_and(|beat| beat.role == Role::Active),
            is_arbiter_alive: self
                .params
                .has_arbiter
                .then(|| now < self.arbiter_heard + ARBITER_SILENCE),
            waits_for_vote: self.election.waits_for_vote(),
            peer_version: peer.map(|beat| beat.version),
            is_synced: match is_active {
                true => peer.is_some_and(|beat| self.follows(beat)),
                false => self.election.merit().synced,
            },
            lag: self.source.lag(),
            applied: self.sink.applied,
            is_handing_over: self.handover.is_some(),
            is_fit: self.election.is_fit,
            is_peer_fit: peer.is_some_and(|beat| beat.merit.fit),
            pace: self.pace,
            behind_since: self.behind_since,
            overflows: self.source.overflows,
            too_long: self.source.too_long,
        }
    }

    fn follows(&self, beat: &Beat) -> bool {
        beat.merit.synced && beat.stream == self.source.stream && self.source.is_running()
    }

    /// Takes one input.
    pub fn step(&mut self, now: Time, input: In<'_>, out: &mut Vec<Out>) {
        match input {
            In::Heard(bytes) => self.heard(now, bytes, out),
            In::Answered(bytes) => self.answered(now, bytes),
            In::SnapshotEnded(number) => self.source.lane_ended(number),
            In::Quiet => self.quiet(now, out),
            In::Switchover => self.switch_over(now, out),
            In::Fit(is_fit) => self.election.is_fit = is_fit,
            In::StateLost => self.state_lost(now, out),
            In::LaneLost(lane) => self.lane_lost(now, lane, out),
            In::Unreadable => self.cannot_read(now, out),
        }
        self.yield_unfit(now, out);
        self.settle(now, out);
        self.follow(now, out);
        self.flush(now, out);
    }

    /// A lane is quiet. With the last one all is told: the peer need not wait until its next
    /// heartbeat to say that it has applied that.
    fn quiet(&mut self, now: Time, out: &mut Vec<Out>) {
        let Some((lanes, _)) = &mut self.handover else { return };
        *lanes = lanes.saturating_sub(1);
        if *lanes == 0 && !self.source.is_drained() {
            self.flush(now, out);
            self.beat(now, out);
        }
    }

    /// Hands over while something that this node needs has failed, and the peer lacks nothing.
    fn yield_unfit(&mut self, now: Time, out: &mut Vec<Out>) {
        let Some(peer) = self.election.living(now) else { return };
        let is_wanted = !self.election.is_fit && peer.merit.fit && now >= self.yields_at;
        if is_wanted && self.handover.is_none() {
            self.switch_over(now, out);
            if self.handover.is_some() {
                self.yields_at = now + YIELD_PAUSE;
            }
        }
    }

    /// What the peer was told before counts for it, as long as that is not too old.
    fn assume_followed(&mut self, now: Time) {
        self.followed_until = Some(now + self.election.freshness.lasts_at_most());
    }

    /// Tells lanes how far the peer has followed, or that it does so no more.
    fn follow(&mut self, now: Time, out: &mut Vec<Out>) {
        while let Some((lane, mark)) = self.source.marked() {
            out.push(Out::Followed(lane, mark));
        }
        self.pace(now, out);
        if self.election.role == Role::Standby {
            self.followed_until = None;
        } else if self.followed_until.take_if(|until| now >= *until).is_some() {
            out.push(Out::Unfollowed);
        }
    }

    /// Tells lanes how the peer keeps up, when that changes.
    fn pace(&mut self, now: Time, out: &mut Vec<Out>) {
        let pace = match self.source.pace() {
            // Nothing waits for a peer that is not there, but a snapshot need not be told to it.
            runtime::Pace::Behind if self.election.living(now).is_none() => runtime::Pace::Busy,
            pace => pace,
        };
        if core::mem::replace(&mut self.pace, pace) != pace {
            let is_behind = pace != runtime::Pace::Current;
            self.behind_since = is_behind.then(|| self.behind_since.unwrap_or(now));
            out.push(Out::Paced(pace));
        }
    }

    /// Takes deltas of a lane; what they lead to is [`Out::ToPeer`] and [`Out::Paced`].
    pub fn deltas<'a>(
        &mut self,
        now: Time,
        lane: u16,
        deltas: impl Iterator<Item = &'a [u8]>,
        out: &mut Vec<Out>,
    ) {
        self.publish(now, lane, None, deltas, out);
    }

    /// The same, and the lane wants to hear by [`Out::Followed`] when the peer has applied all that
    /// it has told: the peer is asked to say so at once.
    pub fn publish<'a>(
        &mut self,
        now: Time,
        lane: u16,
        mark: Option<u64>,
        deltas: impl Iterator<Item = &'a [u8]>,
        out: &mut Vec<Out>,
    ) {
        for delta in deltas {
            self.source.push(lane, delta);
        }
        mark.into_iter().for_each(|it| self.source.mark(lane, it));
        self.follow(now, out);
        self.flush(now, out);
    }

    fn flush(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.source.is_running() {
            self.source.flush(now, self.params.pair, |datagram| out.push(Out::ToPeer(datagram)));
        }
    }

    fn heard(&mut self, now: Time, bytes: &[u8], out: &mut Vec<Out>) {
        let Some((pair, datagram)) = message::read(bytes) else { return };
        if pair != self.params.pair {
            return;
        }
        match datagram {
            Datagram::Beat(beat) => self.beat_heard(now, &beat, out),
            Datagram::Deltas { stream, first, fields, asks } => {
                if self.election.role == Role::Active || stream.0 != self.election.epoch {
                    return;
                }
                self.election.noticed(now);
                self.sink.take(stream, first, fields, &mut self.changes);
                self.election.freshness.applied(self.sink.stream, self.sink.applied);
                self.apply(out);
                self.unacknowledged += 1;
                self.is_awaited |= asks;
                if self.unacknowledged >= ACKNOWLEDGE_EVERY {
                    self.beat(now, out);
                }
            }
            Datagram::Grant { .. } | Datagram::Request { .. } | Datagram::Present => {}
        }
    }

    /// The arbiter may give its vote or say that it is there, and nothing else.
    fn answered(&mut self, now: Time, bytes: &[u8]) {
        match message::read(bytes) {
            Some((pair, _)) if pair != self.params.pair => {}
            Some((_, Datagram::Present)) => self.arbiter_heard = now,
            Some((_, Datagram::Grant { stamp, held })) if stamp <= now => {
                self.arbiter_heard = now;
                self.election.granted(now, stamp, held);
            }
            _ => {}
        }
    }

    fn apply(&mut self, out: &mut Vec<Out>) {
        for change in self.changes.drain(..) {
            out.push(match change {
                Change::Forget => {
                    let priority = self.params.priority;
                    self.election.merit = Merit { priority, ..Merit::default() };
                    Out::Forget
                }
                Change::Apply(lane, delta) => Out::Apply(lane, delta),
                Change::Whole => {
                    self.election.merit.epoch = self.sink.stream.0;
                    self.election.merit.synced = true;
                    Out::Whole(self.sink.stream.0)
                }
                Change::Unknown => continue,
            });
        }
    }

    fn beat_heard(&mut self, now: Time, beat: &Beat, out: &mut Vec<Out>) {
        let voted = self.election.role == Role::Standby && beat.role == Role::Standby;
        if !self.election.hear(now, beat) {
            return;
        }
        self.election.freshness.applied(self.sink.stream, self.sink.applied);
        if self.election.take_rival() {
            self.source.end();
            out.push(Out::Outdated);
        }
        if self.election.role == Role::Active && beat.cannot_read {
            self.source.end();
            out.extend(self.followed_until.take().map(|_| Out::Unfollowed));
        } else if self.election.role == Role::Active && beat.role == Role::Standby {
            let until = now + self.election.freshness.lasts_at_most();
            if self.source.is_running() {
                if self.followed_until.is_none() {
                    out.extend((0..self.params.lanes).map(|lane| Out::Followed(lane, 0)));
                }
                self.followed_until = Some(until);
            }
            self.source.acknowledged(now, beat.stream, beat.applied);
            let is_current = self.source.stream.0 == self.election.epoch;
            if (!is_current || self.source.is_lost(beat.stream))
                && self.handover.is_none()
                && fit(self.params.version, beat.version)
                && self.source.begin(now, self.election.epoch)
            {
                self.followed_until = Some(until);
                out.push(Out::Snapshot(self.source.stream.1));
            }
        }
        if beat.asks && self.unacknowledged > 0 {
            self.beat(now, out);
        }
        if voted {
            self.settle(now, out);
            self.beat(now, out); // a vote, or the news that it was taken, does not wait
        }
    }

    fn switch_over(&mut self, now: Time, out: &mut Vec<Out>) {
        let is_ready = self.election.living(now).is_some_and(|beat| self.follows(beat));
        if self.election.role == Role::Active && is_ready && self.handover.is_none() {
            self.handover = Some((self.params.lanes, now + HANDOVER_MAX));
            out.push(Out::Deactivate);
        }
    }

    fn state_lost(&mut self, now: Time, out: &mut Vec<Out>) {
        let priority = self.params.priority;
        let is_safe = self.election.living(now).is_some_and(|beat| self.follows(beat));
        self.election.merit = Merit { priority, ..Merit::default() };
        self.sink = Sink::default();
        self.source.end();
        match self.election.role {
            Role::Active if is_safe => self.election.resign(now),
            Role::Active => {
                self.election.merit = self.election.held(priority);
                // Nobody else has served meanwhile.
                self.assume_followed(now);
                out.push(Out::Activate { epoch: self.election.epoch, is_current: true });
            }
            Role::Standby => {}
        }
    }

    /// A standby that cannot read what it is told follows nothing, and says so for a while.
    fn cannot_read(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.election.role == Role::Standby {
            self.unreadable_until = now + UNREADABLE;
            self.state_lost(now, out);
            self.beat(now, out);
        }
    }

    /// What a lane knew is with the peer alone. An active node hands over to a peer that has
    /// followed, as in a planned switchover: no call of the other lanes is lost by it. Where nobody
    /// follows, the lane serves with nothing. A standby is told everything anew.
    fn lane_lost(&mut self, now: Time, lane: u16, out: &mut Vec<Out>) {
        if self.election.role == Role::Standby {
            return self.state_lost(now, out);
        }
        self.switch_over(now, out);
        if self.handover.is_some() {
            self.has_gap = true;
            return;
        }
        // A snapshot that is under way lacks what the lane will not tell any more.
        self.source.end();
        self.assume_followed(now);
        out.push(Out::ActivateLane(lane));
    }

    /// Finishes a switchover, and tells what became of the role.
    fn settle(&mut self, now: Time, out: &mut Vec<Out>) {
        if let Some((lanes, until)) = self.handover {
            if lanes == 0 && self.source.is_drained() && self.election.living(now).is_some() {
                self.handover = None;
                self.was = Role::Standby;
                if core::mem::take(&mut self.has_gap) {
                    let priority = self.params.priority;
                    self.election.merit = Merit { priority, ..Merit::default() };
                    self.sink = Sink::default();
                }
                self.election.resign(now);
                self.source.end();
                self.beat(now, out);
            } else if now >= until || self.election.role == Role::Standby {
                self.handover = None;
                if core::mem::take(&mut self.has_gap) {
                    self.source.end(); // the peer has what the lane that was lost knew
                }
                self.was = Role::Standby;
            }
        }
        if self.handover.is_some() || self.was == self.election.role {
            return;
        }
        self.was = self.election.role;
        match self.was {
            Role::Active => {
                let has_hole = self.sink.rest(&mut self.changes);
                self.apply(out);
                // A switchover that is given up ends no term.
                let is_current = core::mem::replace(&mut self.election.is_current, true);
                // What ends a snapshot says that all was told, also where a part of it was lost.
                let is_current = is_current && !has_hole;
                // Who has served since this node's last term follows when it has heard of this one.
                let may_follow = !self.election.freshness.has_other_served();
                if may_follow {
                    self.assume_followed(now);
                }
                out.push(Out::Activate { epoch: self.election.epoch, is_current });
                out.extend((!may_follow).then_some(Out::Unfollowed));
            }
            Role::Standby => {
                self.source.end();
                out.push(Out::Deactivate);
            }
        }
        self.beat(now, out);
    }

    fn beat(&mut self, now: Time, out: &mut Vec<Out>) {
        let stream = self.sink.stream;
        let applied = match self.held {
            Some((held, applied)) if held == stream => applied,
            Some(_) => 0,
            None => self.sink.applied,
        };
        let mut beat = Beat { stream, applied, ..Beat::default() };
        if self.election.role == Role::Active {
            beat.tells = self.source.position();
        }
        beat.asks = self.handover.is_some();
        beat.cannot_read = self.election.role == Role::Standby && now < self.unreadable_until;
        self.election.write(now, &mut beat);
        (self.unacknowledged, self.is_awaited) = (0, false);
        out.push(Out::ToPeer(message::beat(self.params.pair, &beat)));
    }

    /// Lets time pass; everything that came in before `now` must have been told.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        let is_due = now >= self.next_beat;
        let asks = self.election.tick(now);
        self.yield_unfit(now, out);
        self.settle(now, out);
        self.follow(now, out);
        if is_due {
            self.beat(now, out);
            self.next_beat = now + self.params.heartbeat;
        } else if self.is_awaited {
            // Once for all that came in one turn.
            self.beat(now, out);
        }
        if asks && (is_due || self.election.role == Role::Standby) {
            let Params { pair, node, detect, .. } = self.params;
            out.push(Out::ToArbiter(message::request(pair, node, now, detect)));
        }
        self.source.tick(now);
        self.flush(now, out);
    }

    /// When [`Pair::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self, now: Time) -> Time {
        if self.is_awaited {
            return Time::ZERO;
        }
        let others = [self.election.deadline(now), self.source.deadline(), self.followed_until];
        others.into_iter().flatten().fold(self.next_beat, Time::min)
    }
}
