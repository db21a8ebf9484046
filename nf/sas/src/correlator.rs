//! The trails: what the receivers of all shards keep is joined here, on the first shard.
//!
//! ```text
//!  message ─▶ which trail? (Call-ID, correlation, X-CID, Session-ID, icid)
//!               │ none: begin one
//!               ▼
//!             seen before? ─ repetition marked, second capture counted
//!               ▼
//!             store.append ─▶ trail.observe ─▶ over and quiet ─▶ store.record
//! ```

use crate::config;
use crate::entry::{Entry, MALFORMED, RETRANSMISSION};
use crate::keys;
use crate::live::{Live, Phase, Repeat};
use crate::live_search::Searches;
use crate::losses::Losses;
use crate::media;
use crate::metrics::Metric;
use crate::protocol::{self, Signal};
use crate::receiver::{self, Arrival};
use crate::table::{Believed, Slot, Table};
use crate::tail::{Subscribe, Tail};
use crate::trail::{Kind, MESSAGES_MAX};
use event::Metrics;
use machine::{Duration, Time, Wheel};
use runtime::Seed;
use std::sync::Arc;
use store::{Store, Writer};

/// Trails whose state is written when a partition begins, per tick.
const SNAPSHOT_BATCH: u32 = 512;
/// Pause between two such ticks.
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(2);
/// Pause between two looks at the store when nothing is to do.
const IDLE_PAUSE: Duration = Duration::from_millis(500);

/// Joins messages to trails and keeps both.
#[derive(Debug)]
pub(crate) struct Correlator {
    pub(crate) config: Arc<config::Sas>,
    /// Dropped before the store, so that what it holds is written.
    pub(crate) writer: Writer,
    pub(crate) store: Arc<Store>,
    pub(crate) table: Table,
    pub(crate) wheel: Wheel<Slot>,
    pub(crate) metrics: Arc<Metrics<Metric>>,
    pub(crate) losses: Arc<Losses>,
    tail: Tail,
    last_id: u64,
    /// Next slot of the snapshot that a new partition needs.
    snapshot: Option<u32>,
    snapshot_at: Time,
    look_at: Time,
    due: Vec<Slot>,
    /// Searches that go on in later turns, and when the next one of them comes.
    pub(crate) searches: Searches,
    pub(crate) search_at: Time,
}

impl Correlator {
    /// One on an opened store; takes up the trails that ran when the last process ended.
    pub(crate) fn new(
        seed: &Seed,
        config: Arc<config::Sas>,
        opened: store::Opened,
        tail: Subscribe,
        losses: Arc<Losses>,
    ) -> Self {
        let mut octets = [0; 8];
        octets.copy_from_slice(&seed.random[..8]);
        let store::Opened { store, writer, recovery } = opened;
        let mut it = Self {
            config,
            store,
            writer,
            table: Table::new(u64::from_le_bytes(octets)),
            wheel: Wheel::new(seed.now),
            metrics: Arc::default(),
            losses,
            tail: Tail::new(tail),
            last_id: 0,
            snapshot: Some(0),
            snapshot_at: seed.now,
            look_at: seed.now,
            due: Vec::new(),
            searches: Searches::new(),
            search_at: seed.now,
        };
        it.recover(seed.now, recovery);
        it
    }

    /// Takes a message that the receiver of a sibling shard has handed over.
    pub(crate) fn handed(&mut self, now_us: u64, work: &[u8]) {
        let Some(entry) = receiver::decode(work) else { return };
        if entry.flags & MALFORMED != 0 {
            return self.arrive(now_us, &Arrival { entry, message: None });
        }
        protocol::read(entry.kind, entry.payload, &mut |message| {
            self.arrive(now_us, &Arrival { entry, message });
        });
    }

    /// Finds the trail, keeps the message, lets the trail learn from it.
    pub(crate) fn arrive(&mut self, now_us: u64, arrival: &Arrival<'_>) {
        let Arrival { mut entry, message } = *arrival;
        if self.writer.is_full() {
            self.writer.tick(now_us);
            if self.writer.is_full() {
                return self.shed(now_us);
            }
        }
        let Some(index) = self.trail_of(now_us, arrival) else {
            return self.metrics.add(Metric::Late, 1);
        };
        let Some(live) = self.table.at(index) else { return };
        if message.is_some() {
            match live.recognise(entry.payload, entry.source, entry.destination, entry.capture_id) {
                Repeat::New => {}
                Repeat::Duplicate => return self.metrics.add(Metric::Duplicates, 1),
                Repeat::Retransmission => {
                    entry.flags |= RETRANSMISSION;
                    live.trail.retransmissions += 1;
                    self.metrics.add(Metric::Retransmissions, 1);
                }
            }
        }
        if media::is_media(entry.kind, entry.payload) {
            self.metrics.add(Metric::Reports, 1);
            if media::is_report(entry.kind, entry.payload) && !live.keeps_report(now_us) {
                self.metrics.add(Metric::Thinned, 1);
                return self.learn(now_us, index, &entry, None);
            }
        }
        let id = live.trail.id;
        let Some(place) = self.writer.append(now_us, id, |out| entry.encode(out)) else {
            return self.shed(now_us);
        };
        let is_told = matches!(entry.kind, hep::KIND_LOG | hep::KIND_RTCP);
        let metric = if is_told { Metric::Events } else { Metric::Messages };
        self.metrics.add(metric, 1);
        live.trail.places.push(place);
        self.learn(now_us, index, &entry, message);
    }

    /// Lets the trail in slot `index` learn from a message that was kept.
    pub(crate) fn learn(
        &mut self,
        now_us: u64,
        index: u32,
        entry: &Entry<'_>,
        message: Option<&dyn Signal>,
    ) {
        let hash = message.and_then(|message| self.table.leg_of(message));
        let Some(live) = self.table.at(index) else { return };
        // Reports that come on and on do not keep a call that is over.
        let is_media = media::is_media(entry.kind, entry.payload);
        if !is_media || live.phase != Phase::Over {
            live.last_us = now_us;
        }
        let is_first = live.trail.places.len() == 1;
        if entry.kind != hep::KIND_LOG && !is_media {
            live.add_host(entry.source);
            live.add_host(entry.destination);
        }
        if is_media && live.trail.media.is_empty() {
            // A media controller names its streams by what joins them to their call.
            keys::add_call_id(&mut live.keys, entry.correlation);
        }
        let mut changed = is_first;
        if let Some(message) = message {
            let leg = message.leg().zip(hash).map_or(0, |(leg, hash)| live.leg(hash, leg));
            if !entry.is_retransmission() {
                changed |= protocol::observe(live, entry.at_us, leg, message);
            }
        } else if is_first && entry.flags & MALFORMED != 0 {
            live.trail.kind = Kind::Rejected;
        } else if is_first && hep::signalling(entry.kind).is_some() {
            live.trail.kind = Kind::Session;
        }
        changed |= live.hear(entry);
        self.table.count(index);
        let Some(live) = self.table.at(index) else { return };
        if changed && self.tail.show(now_us, &live.trail) {
            self.metrics.add(Metric::TailDropped, 1);
        }
        if changed || live.armed_us == 0 {
            self.arm(index);
        }
    }

    /// Makes the wheel look at a trail no later than when it is due.
    pub(crate) fn arm(&mut self, index: u32) {
        let slot = self.table.slot(index);
        let Some(live) = self.table.at(index) else { return };
        let due_us = live.due_us();
        if live.armed_us == 0 || due_us < live.armed_us {
            live.armed_us = due_us;
            self.wheel.arm(Time::from_nanos(due_us * 1_000), slot);
        }
    }

    fn shed(&mut self, now_us: u64) {
        self.metrics.add(Metric::Shed, 1);
        self.losses.shed(now_us);
    }

    /// The slot of the trail that a message belongs to; begins one if there is none. `None`: it
    /// comes late to one that was closed.
    fn trail_of(&mut self, now_us: u64, arrival: &Arrival<'_>) -> Option<u32> {
        let Arrival { entry, message } = arrival;
        let own = self.table.locate(*message, entry.correlation);
        if let Some(index) = own.and_then(|index| self.with_room(now_us, index, *message)) {
            // Marks are learnt from the message that begins a trail, or a leg of it.
            if let Some(message) = *message
                && let Some(leg) = self.table.leg_of(message)
                && (message.joins_more() || !self.table.has_leg(index, leg))
            {
                if self.believed(entry, Some(message)) == Believed::Never {
                    self.table.unite(index, entry, leg);
                    self.metrics.set(Metric::Live, self.table.len() as u64);
                }
                self.adopt(index, entry, Some(message));
            }
            self.table.correlate(index, entry.correlation);
            return Some(index);
        }
        let is_late = match *message {
            Some(message) => self.table.is_late(now_us, message),
            // The end of a stream may come after that of its call.
            None => {
                media::is_media(entry.kind, entry.payload)
                    && self.table.is_closed(now_us, entry.correlation)
            }
        };
        if is_late {
            return None;
        }
        let believed = self.believed(entry, *message);
        let marked = message.map(|message| self.table.marked(message, believed));
        let found = match marked {
            Some(Ok(index)) => index.and_then(|index| self.with_room(now_us, index, None)),
            Some(Err(_)) => {
                self.metrics.add(Metric::Unjoined, 1);
                None
            }
            None => None,
        };
        let index = found.unwrap_or_else(|| {
            let is_dialogue = message.is_some_and(Signal::is_of_dialogue);
            self.begin(now_us, entry.at_us, is_dialogue)
        });
        if let (Some(_), Some(live)) = (found, self.table.at(index)) {
            live.marked = live.marked.saturating_add(1);
        }
        self.adopt(index, entry, *message);
        Some(index)
    }

    /// How far the headers of a message are believed when they name a call.
    fn believed(&self, entry: &Entry<'_>, message: Option<&dyn Signal>) -> Believed {
        let is_own = |message: &dyn Signal| {
            // Some agents give the Call-ID, which says nothing of their own.
            !entry.correlation.is_empty() && Some(entry.correlation) != message.leg()
        };
        match message {
            _ if self.config.joins.contains(&entry.capture_id) => Believed::Always,
            Some(message) if is_own(message) => Believed::Never,
            _ => Believed::FromHosts(entry.source.ip()),
        }
    }

    /// Lets what a message may be joined by lead to its trail.
    pub(crate) fn adopt(&mut self, index: u32, entry: &Entry<'_>, message: Option<&dyn Signal>) {
        let believed = self.believed(entry, message);
        self.table.adopt(index, message, entry.correlation, believed);
    }

    /// A trail with as many messages as one may have is closed; what follows begins another. So
    /// does what begins anew with the names of one that is over.
    fn with_room(&mut self, now_us: u64, index: u32, message: Option<&dyn Signal>) -> Option<u32> {
        let is_done = self.table.at(index).is_none_or(|live| {
            live.trail.places.len() >= MESSAGES_MAX
                || live.phase == Phase::Over && message.is_some_and(Signal::begins_anew)
        });
        if is_done && self.close(now_us, index) {
            return None;
        }
        Some(index)
    }

    /// Begins a trail; the quietest goes when there are too many.
    fn begin(&mut self, now_us: u64, at_us: u64, is_dialogue: bool) -> u32 {
        let most = self.config.live_max as usize;
        if let Some(slot) = self.table.evicted_for(most, is_dialogue)
            && self.close(now_us, slot.index)
        {
            self.metrics.add(Metric::Evicted, 1);
        }
        // Milliseconds in 42 bits, then a count: unique, and in the order of beginning.
        self.last_id = (self.last_id + 1).max((now_us / 1_000) << 22);
        let slot = self.table.insert(Live::new(self.last_id, at_us, now_us));
        self.metrics.add(Metric::Opened, 1);
        self.metrics.set(Metric::Live, self.table.len() as u64);
        slot.index
    }

    /// Writes the record of a trail and forgets it; `false` when the disk lags behind. A record
    /// that no disk would ever take is forgotten as well.
    pub(crate) fn close(&mut self, now_us: u64, index: u32) -> bool {
        let Some(live) = self.table.at(index) else { return true };
        match self.writer.record(now_us, live.record()) {
            Ok(()) => {}
            Err(store::Refused::Full) => return false,
            Err(store::Refused::Unsound) => {
                self.metrics.add(Metric::Unsound, 1);
                self.table.remove(index);
                self.metrics.set(Metric::Live, self.table.len() as u64);
                return true;
            }
        }
        let trail = &live.trail;
        if let Some(ms) = trail.post_dial_delay_ms() {
            self.metrics.observe(Metric::PostDialDelay, ms);
        }
        if let Some(ms) = trail.duration_ms().filter(|_| trail.kind == Kind::Call) {
            self.metrics.observe(Metric::CallDuration, ms);
        }
        self.metrics.add(Metric::Closed, 1);
        if let Some(live) = self.table.remove(index).filter(|live| live.phase == Phase::Over) {
            self.table.note_closed(now_us, &live.legs);
            if !live.trail.media.is_empty() && live.correlation != 0 {
                self.table.note_closed(now_us, &[live.correlation]);
            }
        }
        self.metrics.set(Metric::Live, self.table.len() as u64);
        true
    }

    /// Closes what was quiet for too long.
    fn expire(&mut self, now: Time) {
        let now_us = now.as_micros();
        let mut due = core::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for slot in due.drain(..) {
            let Some(live) = self.table.live(slot) else { continue };
            if live.armed_us > now_us {
                // Armed again for later by someone else.
                continue;
            }
            live.armed_us = 0;
            if live.due_us() > now_us {
                self.arm(slot.index);
                continue;
            }
            live.give_up();
            if self.tail.show(now_us, &live.trail) {
                self.metrics.add(Metric::TailDropped, 1);
            }
            if !self.close(now_us, slot.index) {
                self.later(now_us, slot.index);
            }
        }
        self.due = due;
    }

    /// The disk lags: looks at a trail again after a while.
    fn later(&mut self, now_us: u64, index: u32) {
        if let Some(live) = self.table.at(index) {
            live.last_us = now_us;
        }
        self.arm(index);
    }

    /// Writes the state of some trails when a partition began; see [`Writer::roll`].
    fn snapshot(&mut self, now: Time) {
        let now_us = now.as_micros();
        let Some(start) = self.snapshot else { return };
        if now < self.snapshot_at {
            return;
        }
        self.snapshot_at = now + SNAPSHOT_PAUSE;
        let end = (start + SNAPSHOT_BATCH).min(self.table.slots());
        for index in start..end {
            let Some(live) = self.table.at(index) else { continue };
            if !self.writer.open_record(now_us, &live.record()) {
                self.snapshot = Some(index);
                return;
            }
        }
        self.snapshot = Some(end);
        if end == self.table.slots() {
            self.snapshot = None;
            self.writer.snapshot_done(now_us);
        }
    }

    pub(crate) fn tick(&mut self, now: Time) {
        let now_us = now.as_micros();
        self.expire(now);
        self.writer.tick(now_us);
        if self.writer.is_roll_due(now_us) && self.snapshot.is_none() {
            self.writer.roll(now_us);
            self.snapshot = Some(0);
        }
        self.snapshot(now);
        self.look_at = now + IDLE_PAUSE;
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let writer = self.writer.deadline_us().map(|us| Time::from_nanos(us * 1_000));
        let snapshot = self.snapshot.map(|_| self.snapshot_at);
        let search = (!self.searches.is_empty()).then_some(self.search_at);
        let all = [Some(self.look_at), self.wheel.deadline(), writer, snapshot, search];
        all.into_iter().flatten().min()
    }
}
