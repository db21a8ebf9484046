//! The function itself: HEP in, trails kept, questions answered.
//!
//! ```text
//!  packet ─ HEP ─ SIP ─▶ which trail? (Call-ID, correlation, X-CID, Session-ID, icid)
//!                          │ none: begin one
//!                          ▼
//!                        seen before? ─ repetition marked, second capture counted
//!                          ▼
//!                        store.append ─▶ trail.observe ─▶ over and quiet ─▶ store.record
//! ```

use crate::config;
use crate::entry::{Entry, MALFORMED, RETRANSMISSION};
use crate::facts::Fact;
use crate::live::{Live, Repeat};
use crate::redact;
use crate::sources::Sources;
use crate::table::{Believed, Slot, Table};
use crate::tail::{Subscribe, Tail};
use crate::trail::{Kind, MESSAGES_MAX};
use event::Sheet;
use machine::{Duration, Time, Wheel};
use runtime::{Ask, AskError, Effects, Frame, Function, In, PortId, Seed};
use std::net::SocketAddr;
use std::sync::Arc;
use store::{Store, Writer};

/// Trails whose state is written when a partition begins, per tick.
const SNAPSHOT_BATCH: u32 = 512;
/// Pause between two such ticks.
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(2);
/// Pause between two looks at the store when nothing is to do.
const IDLE_PAUSE: Duration = Duration::from_millis(500);
/// A capture time further in the future than this is replaced by ours.
const FUTURE_MAX_US: u64 = 60_000_000;
/// Octets that a deflated payload may have when it is opened.
const INFLATED_BYTES_MAX: usize = 65_535;

/// The service assurance server on its shard.
#[derive(Debug)]
pub struct Sas {
    pub(crate) config: Arc<config::Sas>,
    /// Dropped before the store, so that what it holds is written.
    pub(crate) writer: Writer,
    pub(crate) store: Arc<Store>,
    pub(crate) table: Table,
    pub(crate) wheel: Wheel<Slot>,
    pub(crate) sheet: Sheet<Fact>,
    tail: Tail,
    last_id: u64,
    /// Next slot of the snapshot that a new partition needs.
    snapshot: Option<u32>,
    snapshot_at: Time,
    look_at: Time,
    pub(crate) shed_us: Option<u64>,
    /// Who sends packets without the key.
    pub(crate) strangers: Sources,
    due: Vec<Slot>,
    /// Cells that others write and this function shows with its own.
    beside: Vec<event::Cells>,
}

/// One packet, understood as far as it can be.
struct Arrival<'a, 'm> {
    entry: Entry<'a>,
    message: Option<&'m sip::Message<'a>>,
}

impl Sas {
    /// A server on an opened store; takes up the trails that ran when the last process ended.
    #[must_use]
    pub fn new(
        seed: &Seed,
        config: Arc<config::Sas>,
        opened: store::Opened,
        tail: Subscribe,
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
            sheet: Sheet::new(),
            tail: Tail::new(tail),
            last_id: 0,
            snapshot: Some(0),
            snapshot_at: seed.now,
            look_at: seed.now,
            shed_us: None,
            strangers: Sources::default(),
            due: Vec::new(),
            beside: Vec::new(),
        };
        it.recover(seed.now, recovery);
        it
    }

    /// The same server, showing `cells` with its own.
    #[must_use]
    pub fn with_cells(mut self, cells: event::Cells) -> Self {
        self.beside.push(cells);
        self
    }

    /// Whether the disk lags so far behind that the next message would be shed.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.writer.is_full()
    }

    fn packet(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        self.sheet.add(Fact::Packets, 1);
        let packet = match hep::Packet::parse(bytes) {
            Ok(packet) => packet,
            Err(_) => return self.sheet.add(Fact::MalformedPackets, 1),
        };
        if !self.config.admits(packet.auth_key) {
            self.strangers.add(now.as_micros(), from.ip());
            return self.sheet.add(Fact::Unauthenticated, 1);
        }
        if !packet.payload.is_empty() {
            return self.captured(now, &packet);
        }
        let inflate = |deflated| {
            let limit = INFLATED_BYTES_MAX;
            miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(deflated, limit).ok()
        };
        match hep::compressed_payload(bytes).and_then(inflate) {
            Some(payload) => self.captured(now, &hep::Packet { payload: &payload, ..packet }),
            None => self.sheet.add(Fact::Refused, 1),
        }
    }

    fn captured(&mut self, now: Time, packet: &hep::Packet<'_>) {
        let now_us = now.as_micros();
        let at_us = u64::from(packet.seconds) * 1_000_000 + u64::from(packet.micros);
        let entry = Entry {
            at_us: if at_us == 0 || at_us > now_us + FUTURE_MAX_US { now_us } else { at_us },
            protocol: packet.protocol,
            kind: packet.kind,
            flags: 0,
            capture_id: packet.capture_id,
            source: packet.source,
            destination: packet.destination,
            correlation: packet.correlation,
            payload: packet.payload,
        };
        let is_keep_alive = packet.payload.iter().all(|b| matches!(b, b'\r' | b'\n' | 0));
        let mut room = None;
        match packet.kind {
            hep::KIND_SIP if !is_keep_alive => {
                match sip::Message::parse_in(&mut room, packet.payload) {
                    Ok(message) if !redact::concerns(message, &self.config.keep) => {
                        self.arrive(now_us, &Arrival { entry, message: Some(message) });
                    }
                    Ok(_) => {
                        self.sheet.add(Fact::Redacted, 1);
                        self.clean(now_us, entry);
                    }
                    Err(_) => {
                        self.sheet.add(Fact::MalformedMessages, 1);
                        self.clean(now_us, entry);
                    }
                }
            }
            hep::KIND_LOG => self.arrive(now_us, &Arrival { entry, message: None }),
            kind if hep::signalling(kind).is_some() => {
                self.arrive(now_us, &Arrival { entry, message: None });
            }
            _ => self.sheet.add(Fact::Refused, 1),
        }
    }

    /// Takes a message without what is secret in it.
    fn clean(&mut self, now_us: u64, mut entry: Entry<'_>) {
        let payload = redact::redacted(entry.payload, &self.config.keep);
        let mut room = None;
        let message = sip::Message::parse_in(&mut room, &payload).ok();
        if message.is_none() {
            entry.flags |= MALFORMED;
        }
        self.arrive(now_us, &Arrival { entry: Entry { payload: &payload, ..entry }, message });
    }

    /// Finds the trail, keeps the message, lets the trail learn from it.
    fn arrive(&mut self, now_us: u64, arrival: &Arrival<'_, '_>) {
        let Arrival { mut entry, message } = *arrival;
        if self.writer.is_full() {
            self.writer.tick(now_us);
            if self.writer.is_full() {
                return self.shed(now_us);
            }
        }
        let index = self.trail_of(now_us, arrival);
        let Some(live) = self.table.at(index) else { return };
        if message.is_some() {
            match live.recognise(entry.payload, entry.source, entry.destination, entry.capture_id) {
                Repeat::New => {}
                Repeat::Duplicate => return self.sheet.add(Fact::Duplicates, 1),
                Repeat::Retransmission => {
                    entry.flags |= RETRANSMISSION;
                    live.trail.retransmissions += 1;
                    self.sheet.add(Fact::Retransmissions, 1);
                }
            }
        }
        let id = live.trail.id;
        let Some(place) = self.writer.append(now_us, id, |out| entry.encode(out)) else {
            return self.shed(now_us);
        };
        let fact = if entry.kind == hep::KIND_LOG { Fact::Events } else { Fact::Messages };
        self.sheet.add(fact, 1);
        live.trail.places.push(place);
        self.learn(now_us, index, &entry, message);
    }

    /// Lets the trail in slot `index` learn from a message that was kept.
    pub(crate) fn learn(
        &mut self,
        now_us: u64,
        index: u32,
        entry: &Entry<'_>,
        message: Option<&sip::Message<'_>>,
    ) {
        let hash = message.map(|message| self.table.hash(message.call_id()));
        let Some(live) = self.table.at(index) else { return };
        live.last_us = now_us;
        let is_first = live.trail.places.len() == 1;
        if entry.kind != hep::KIND_LOG {
            live.add_host(entry.source);
            live.add_host(entry.destination);
        }
        let mut changed = is_first;
        if let (Some(message), Some(hash)) = (message, hash) {
            let leg = live.leg(hash, message.call_id());
            if !entry.is_retransmission() {
                changed |= live.observe(entry.at_us, leg, message);
            }
        } else if is_first && entry.flags & MALFORMED != 0 {
            live.trail.kind = Kind::Rejected;
        } else if is_first && hep::signalling(entry.kind).is_some() {
            live.trail.kind = Kind::Session;
        }
        changed |= live.hear(entry);
        if changed && self.tail.show(now_us, &live.trail) {
            self.sheet.add(Fact::TailDropped, 1);
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
        self.sheet.add(Fact::Shed, 1);
        self.shed_us = Some(now_us);
    }

    /// The slot of the trail that a message belongs to; begins one if there is none.
    fn trail_of(&mut self, now_us: u64, arrival: &Arrival<'_, '_>) -> u32 {
        let Arrival { entry, message } = arrival;
        let own = self.table.locate(*message, entry.correlation);
        if let Some(index) = own.and_then(|index| self.with_room(now_us, index)) {
            // Marks are learnt from the message that begins a trail, or a leg of it.
            if message.is_some_and(|message| !self.table.has_leg(index, message.call_id())) {
                self.adopt(index, entry, *message);
            }
            self.table.correlate(index, entry.correlation);
            return index;
        }
        let believed = self.believed(entry, *message);
        let marked = message.map(|message| self.table.marked(message, believed));
        let found = match marked {
            Some(Ok(index)) => index.and_then(|index| self.with_room(now_us, index)),
            Some(Err(_)) => {
                self.sheet.add(Fact::Unjoined, 1);
                None
            }
            None => None,
        };
        let index = found.unwrap_or_else(|| self.begin(now_us, entry.at_us));
        if let (Some(_), Some(live)) = (found, self.table.at(index)) {
            live.marked = live.marked.saturating_add(1);
        }
        self.adopt(index, entry, *message);
        index
    }

    /// How far the headers of a message are believed when they name a call.
    fn believed(&self, entry: &Entry<'_>, message: Option<&sip::Message<'_>>) -> Believed {
        let is_own = |message: &sip::Message<'_>| {
            // Some agents give the Call-ID, which says nothing of their own.
            !entry.correlation.is_empty() && entry.correlation != message.call_id()
        };
        match message {
            _ if self.config.joins.contains(&entry.capture_id) => Believed::Always,
            Some(message) if is_own(message) => Believed::Never,
            _ => Believed::FromHosts(entry.source.ip()),
        }
    }

    /// Lets what a message may be joined by lead to its trail.
    pub(crate) fn adopt(
        &mut self,
        index: u32,
        entry: &Entry<'_>,
        message: Option<&sip::Message<'_>>,
    ) {
        let believed = self.believed(entry, message);
        self.table.adopt(index, message, entry.correlation, believed);
    }

    /// A trail with as many messages as one may have is closed; what follows begins another.
    fn with_room(&mut self, now_us: u64, index: u32) -> Option<u32> {
        let full = self.table.at(index).is_none_or(|live| live.trail.places.len() >= MESSAGES_MAX);
        if full && self.close(now_us, index) {
            return None;
        }
        Some(index)
    }

    /// Begins a trail; the quietest goes when there are too many.
    fn begin(&mut self, now_us: u64, at_us: u64) -> u32 {
        if self.table.len() >= self.config.live_max as usize
            && let Some(slot) = self.table.quiet()
            && self.close(now_us, slot.index)
        {
            self.sheet.add(Fact::Evicted, 1);
        }
        // Milliseconds in 42 bits, then a count: unique, and in the order of beginning.
        self.last_id = (self.last_id + 1).max((now_us / 1_000) << 22);
        let slot = self.table.insert(Live::new(self.last_id, at_us, now_us));
        self.sheet.add(Fact::Opened, 1);
        self.sheet.set(Fact::Live, self.table.len() as u64);
        slot.index
    }

    /// Writes the record of a trail and forgets it; `false` when the disk lags behind.
    pub(crate) fn close(&mut self, now_us: u64, index: u32) -> bool {
        let Some(live) = self.table.at(index) else { return true };
        if !self.writer.record(now_us, live.record()) {
            return false;
        }
        let trail = &live.trail;
        if let Some(ms) = trail.post_dial_delay_ms() {
            self.sheet.observe(Fact::PostDialDelay, ms);
        }
        if let Some(ms) = trail.duration_ms() {
            self.sheet.observe(Fact::CallDuration, ms);
        }
        self.sheet.add(Fact::Closed, 1);
        self.table.remove(index);
        self.sheet.set(Fact::Live, self.table.len() as u64);
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
                self.sheet.add(Fact::TailDropped, 1);
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
}

impl Function for Sas {
    type Config = config::Sas;

    fn step(&mut self, now: Time, input: In<'_>, _out: &mut Effects) {
        match input {
            In::Message { flow, bytes } => self.packet(now, flow.remote, bytes),
            // What is accepted is kept; there is nothing to finish that a restart would not take
            // up again.
            In::Drain => {
                self.writer.flush(now.as_micros());
            }
            In::Up { .. }
            | In::Proved { .. }
            | In::Written { .. }
            | In::Down { .. }
            | In::Returned { .. }
            | In::Ready { .. }
            | In::Channel { .. }
            | In::Resolved { .. }
            | In::Work { .. }
            | In::HandedBack { .. } => {}
        }
    }

    fn tick(&mut self, now: Time, _out: &mut Effects) {
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

    fn deadline(&self) -> Option<Time> {
        let writer = self.writer.deadline_us().map(|us| Time::from_nanos(us * 1_000));
        let snapshot = self.snapshot.map(|_| self.snapshot_at);
        [Some(self.look_at), self.wheel.deadline(), writer, snapshot].into_iter().flatten().min()
    }

    fn configure(&mut self, _now: Time, config: Arc<config::Sas>, _out: &mut Effects) {
        self.config = config;
    }

    fn frame(_port: PortId, buffer: &[u8]) -> Frame {
        match hep::frame(buffer) {
            hep::Framing::Partial => Frame::Partial,
            hep::Framing::Packet(length) => Frame::Message(length),
            hep::Framing::Broken(offence) => Frame::Broken(offence.what),
        }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        _out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        self.answer(now.as_micros(), ask)
    }

    fn is_idle(&self) -> bool {
        !self.writer.is_full()
    }

    fn cells(&self) -> Vec<event::Cells> {
        let own = [self.sheet.cells(), self.store.cells()];
        own.into_iter().chain(self.beside.iter().cloned()).collect()
    }
}
