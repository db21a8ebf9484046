//! What happens to a vector of packets at their flows: plain ones one after the other, those of
//! SRTP together, so that the cipher fills its lanes.
//!
//! ```text
//!   arrivals ─┬ clear ── judge ── headers ─────────────────────────────────┐
//!             └ gathered ─ unprotect ─→ judge ─┬─→ headers ────────────────┼→ verdicts, in order
//!               (cells are held)               └→ protect ─→ headers ──────┘
//! ```
//! A packet is opened before anything of it is believed, and protected when all else is done.
//! Verdicts stand in the order of the packets, so what goes on does so as it came.

use crate::arrival::Arrival;
use crate::cell::{CLEAR, Held, Known, NONE};
use crate::departure::{Came, Check, Departure, Way, check, leave, shorten};
use crate::flow::{Arrived, Verdict as Judged};
use crate::lines::ask_lines;
use crate::program::Place;
use crate::reason;
use crate::reports::Reports;
use crate::table::{HeldSender, Table};
use crate::watch::STEP;
use graph::{Context, Pool, VECTOR_MAX, Verdict};
use machine::Time;
use rtp::Datagram;
use srtp::{Directions, Packet, Receiver, Sender};

/// The classes of a node's packets that go up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Classes {
    pub stun: u32,
    pub dtls: u32,
    pub frames: u32,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It goes on, or is dropped.
    Next(Verdict),
    /// It goes up under a class.
    Up(u32),
}

/// Packets whose flows are held, until they are opened and protected together.
struct Gathered<'t> {
    cells: Vec<Held<'t>>,
    senders: Vec<HeldSender<'t>>,
    /// By number of flow, by number of sender: which of those that are held.
    cell_places: Places,
    sender_places: Places,
    packets: Vec<Waiting>,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Its place in the vector.
    at: usize,
    /// Its flow and who protects it, in those that are held.
    cell: usize,
    sender: Option<usize>,
    /// Where it leaves, if not by its flow's way.
    branch: Option<u8>,
    /// Octets of its payload, which change when it is opened and protected.
    octets: usize,
    is_opened: bool,
    outcome: Option<Outcome>,
}

impl<'t> Gathered<'t> {
    fn new(packets: usize) -> Self {
        Self {
            cells: Vec::with_capacity(packets),
            senders: Vec::with_capacity(packets),
            cell_places: Places::new(),
            sender_places: Places::new(),
            packets: Vec::with_capacity(packets),
        }
    }

    /// Lets all go.
    fn release(&mut self) {
        self.packets.clear();
        if !self.cells.is_empty() {
            self.cells.clear();
            self.senders.clear();
            (self.cell_places, self.sender_places) = (Places::new(), Places::new());
        }
    }

    fn known(&mut self, cell: usize) -> Option<&mut Known> {
        self.cells.get_mut(cell)?.as_mut()
    }

    fn hold(&mut self, flow: u32, held: Held<'t>) -> usize {
        let place = self.cells.len();
        self.cell_places.set(flow, place);
        self.cells.push(held);
        place
    }

    fn hold_sender(&mut self, number: u32, held: HeldSender<'t>) -> usize {
        let place = self.senders.len();
        self.sender_places.set(number, place);
        self.senders.push(held);
        place
    }
}

/// Packets that are opened and protected together: with what they need they stay near the
/// processor, and by the time that the last is gathered what was asked for is there.
const TOGETHER: usize = 64;

/// Numbers of a vector and where they are held: a few lines that stay in the first cache.
struct Places([(u32, u16); Places::ROWS]);

impl Places {
    /// Twice as many as there are packets.
    const ROWS: usize = 2 * TOGETHER;

    const fn new() -> Self {
        Self([(NONE, 0); Self::ROWS])
    }

    /// The row of a number: its own, or the first free one.
    fn row(&mut self, number: u32) -> &mut (u32, u16) {
        let mut at = number as usize % Self::ROWS;
        while self.0[at].0 != NONE && self.0[at].0 != number {
            at = (at + 1) % Self::ROWS;
        }
        &mut self.0[at]
    }

    fn find(&mut self, number: u32) -> Option<usize> {
        let row = self.row(number);
        (row.0 == number).then_some(usize::from(row.1))
    }

    fn set(&mut self, number: u32, place: usize) {
        *self.row(number) = (number, machine::narrow::index(place));
    }
}

/// Flows that are held, as the cipher asks for receivers.
struct Receivers<'a, 't>(&'a mut [Held<'t>]);

impl Directions<Receiver> for Receivers<'_, '_> {
    fn direction(&self, number: usize) -> Option<&Receiver> {
        self.0.get(number)?.as_ref()?.receiver.as_deref()
    }

    fn direction_mut(&mut self, number: usize) -> Option<&mut Receiver> {
        self.0.get_mut(number)?.as_mut()?.receiver.as_deref_mut()
    }
}

/// Senders that are held, as the cipher asks for them.
struct Senders<'a, 't>(&'a mut [HeldSender<'t>]);

impl Directions<Sender> for Senders<'_, '_> {
    fn direction(&self, number: usize) -> Option<&Sender> {
        self.0.get(number)?.as_ref()
    }

    fn direction_mut(&mut self, number: usize) -> Option<&mut Sender> {
        self.0.get_mut(number)?.as_mut()
    }
}

/// Whether a packet may go its way.
#[inline]
fn way_on(way: Option<&Way>) -> Result<(), Outcome> {
    match way {
        None => Err(Outcome::Next(reason::NO_OTHER)),
        Some(way) if way.sender == NONE => Err(Outcome::Next(reason::NO_KEYS)),
        Some(_) => Ok(()),
    }
}

/// The payload of a packet as it came.
#[inline]
fn octets_of<'p>(arrival: &Arrival, pool: &'p Pool) -> &'p [u8] {
    &pool.cell(arrival.slot)[arrival.payload()..][..arrival.octets]
}

/// Lines of a receiver that its packets need.
const RECEIVER_LINES: usize = 5;

/// A vector at its flows.
pub(crate) struct Batch<'t, 'v> {
    pub table: &'t Table,
    pub arrivals: &'v [Arrival],
    pub classes: Classes,
    pub now: Time,
    /// Counts packets of IPv4.
    pub identification: u16,
    /// Whether packets are to leave from their flow's place, not come to it.
    pub leaves: bool,
    outcomes: [Outcome; VECTOR_MAX],
    /// Flows whose other direction goes elsewhere from now on: the one that leads there, and the
    /// one whose source was taken.
    turned: Vec<(u32, u32)>,
    /// What reports said that passed.
    reports: Reports,
}

impl<'t, 'v> Batch<'t, 'v> {
    pub fn new(table: &'t Table, arrivals: &'v [Arrival], cx: &Context<'_>) -> Self {
        Self {
            table,
            arrivals,
            classes: Classes { stun: 0, dtls: 0, frames: 0 },
            now: cx.now,
            identification: 0,
            leaves: false,
            outcomes: [Outcome::Next(reason::NO_FLOW); VECTOR_MAX],
            turned: Vec::new(),
            reports: Reports::default(),
        }
    }

    /// What became of the packets, in their order.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes[..self.arrivals.len().min(VECTOR_MAX)]
    }

    /// Handles all packets.
    pub fn run(&mut self, pool: &mut Pool) {
        let mut gathered: Option<Gathered<'t>> = None;
        for at in 0..self.arrivals.len().min(VECTOR_MAX) {
            self.packet(at, &mut gathered, pool);
            if let Some(all) = gathered.as_mut().filter(|all| all.packets.len() == TOGETHER) {
                self.settle(all, pool);
            }
        }
        if let Some(gathered) = &mut gathered {
            self.settle(gathered, pool);
        }
    }

    /// Handles one packet, or gathers it.
    #[inline]
    fn packet(&mut self, at: usize, gathered: &mut Option<Gathered<'t>>, pool: &mut Pool) {
        let arrival = &self.arrivals[at];
        let Some(cell) = self.table.cell(arrival.flow) else { return };
        if let Some(all) = gathered
            && let Some(place) = all.cell_places.find(arrival.flow)
        {
            return self.gather(at, place, all, pool);
        }
        let mut held = match (cell.try_hold(), &mut *gathered) {
            (Some(held), _) => held,
            (None, Some(all)) => {
                self.settle(all, pool);
                cell.hold()
            }
            (None, None) => cell.hold(),
        };
        // The port became another's since it was looked at.
        let Some(known) = held.as_mut().filter(|it| it.port == arrival.port) else {
            return;
        };
        if known.is_clear() && !self.leaves {
            self.outcomes[at] = self.clear(known, arrival, pool);
            drop(held);
            if gathered.as_ref().is_none_or(|all| all.cells.is_empty()) {
                self.turn();
            }
            return;
        }
        if let Some(receiver) = &known.receiver {
            ask_lines(core::ptr::from_ref(&**receiver).cast(), RECEIVER_LINES);
        }
        let branch = known.branch(octets_of(arrival, pool));
        self.table.ask_sender(self.sender(known, branch));
        let all = gathered.get_or_insert_with(|| Gathered::new(self.arrivals.len().min(TOGETHER)));
        let place = all.hold(arrival.flow, held);
        self.gather(at, place, all, pool);
    }

    /// Who protects packets of a flow, or that nobody does.
    fn sender(&self, known: &Known, branch: Option<u8>) -> u32 {
        match known.way_of(branch) {
            _ if self.leaves => known.sender,
            Some(way) => way.sender,
            None => CLEAR,
        }
    }

    /// A packet that is neither opened nor protected.
    #[inline]
    fn clear(&mut self, known: &mut Known, arrival: &Arrival, pool: &mut Pool) -> Outcome {
        let (meta, octets) = pool.parts(arrival.slot);
        let start = usize::from(meta.offset);
        let changes = known.changes();
        let check = check(octets, start, arrival.udp, changes);
        let came = Came::read(octets, start);
        let payload = &mut octets[arrival.payload()..][..arrival.octets];
        let branch = known.branch(payload);
        let is_rewritten = match self.judge(known, arrival, payload, branch) {
            Ok(is_rewritten) => is_rewritten,
            Err(outcome) => return outcome,
        };
        let Some(way) = known.way_of(branch) else { return Outcome::Next(reason::NO_OTHER) };
        // Sources stand anywhere in reports.
        let check = if is_rewritten { Check::Anew } else { check };
        let departure = self.departure(arrival, arrival.octets, check, came);
        Outcome::Next(leave(meta, octets, departure, way))
    }

    fn departure(
        &mut self,
        arrival: &Arrival,
        octets: usize,
        check: Check,
        came: Came,
    ) -> Departure {
        self.identification = self.identification.wrapping_add(1);
        Departure { udp: arrival.udp, octets, check, identification: self.identification, came }
    }

    /// What becomes of a packet that is in the clear: that it goes its way, and whether it is a
    /// report that was changed; or its end.
    #[inline]
    fn judge(
        &mut self,
        known: &mut Known,
        arrival: &Arrival,
        payload: &mut [u8],
        branch: Option<u8>,
    ) -> Result<bool, Outcome> {
        let (now, source) = (self.now, arrival.source);
        let mut is_rewritten = false;
        let payload_type = payload.get(1).map_or(0, |octet| octet & 0x7f);
        let judged = known.flow.packet(Arrived { now, source, payload: &mut *payload });
        match judged {
            Judged::Forward { is_rtcp, relatched } => {
                if relatched {
                    self.turned.push((known.from, arrival.flow));
                    self.table.note(arrival.flow, &mut known.is_noted);
                }
                if let Some(extras) = known.extras.as_mut().filter(|_| !is_rtcp) {
                    extras.branches.hear(payload);
                }
                if is_rtcp {
                    is_rewritten = self.report(known, arrival, payload);
                } else if known.special.as_ref().is_some_and(|it| it.all.has(payload_type)) {
                    self.special(known, arrival, (payload_type, payload))?;
                }
                if known.flow.rewrites() && !is_rtcp {
                    self.reports.named(self.now, known);
                }
                way_on(known.way_of(branch)).map(|()| is_rewritten)
            }
            Judged::Up(Datagram::Stun) => Err(Outcome::Up(self.classes.stun)),
            Judged::Up(_) => Err(Outcome::Up(self.classes.dtls)),
            Judged::Drop(why) => Err(Outcome::Next(reason::of_flow(why))),
        }
    }

    /// A report passes; whether it was changed.
    #[cold]
    fn report(&mut self, known: &Known, arrival: &Arrival, octets: &mut [u8]) -> bool {
        self.reports.pass(self.now, arrival.flow, known, octets)
    }

    /// What is special to a payload type: digits, types that go up, types that become another.
    #[cold]
    fn special(
        &mut self,
        known: &mut Known,
        arrival: &Arrival,
        packet: (u8, &mut [u8]),
    ) -> Result<(), Outcome> {
        let (payload_type, octets) = packet;
        let clock = known.flow.settings().clock;
        let Some(special) = &known.special else { return Ok(()) };
        if special.digits.has(payload_type) {
            let extras = known.extras.get_or_insert_default();
            if extras.hear(self.now, clock, octets) {
                self.table.note(arrival.flow, &mut known.is_noted);
            }
        }
        if special.up.has(payload_type) {
            let extras = known.extras.get_or_insert_default();
            if !extras.up.passes(self.now, special.up_rate) {
                known.flow.unreadable();
                return Err(Outcome::Next(reason::FRAMES));
            }
            return Err(Outcome::Up(self.classes.frames));
        }
        let becomes = special.becomes.iter().find(|(before, _)| *before == payload_type);
        if let (Some((_, after)), Some(octet)) = (becomes, octets.get_mut(1)) {
            *octet = *octet & 0x80 | after;
        }
        Ok(())
    }

    /// Sees to what was noted while cells were held; none is any more.
    #[inline]
    fn turn(&mut self) {
        if self.turned.is_empty() && self.reports.is_empty() {
            return;
        }
        for (from, to) in self.turned.drain(..) {
            self.table.turn(from, to);
        }
        self.reports.tell(self.table);
    }

    /// Takes a packet of a flow that is held into the batch.
    fn gather(&self, at: usize, cell: usize, all: &mut Gathered<'t>, pool: &Pool) {
        let arrival = &self.arrivals[at];
        let octets = arrival.octets;
        let branch = all.known(cell).and_then(|known| known.branch(octets_of(arrival, pool)));
        let (sender, is_opened, outcome) = (None, false, None);
        let waiting = Waiting { at, cell, sender, branch, octets, is_opened, outcome };
        all.packets.push(waiting);
    }

    /// Holds who protects the packets that were gathered. Where somebody else holds one just now,
    /// the packets from there on are taken out: they are for [`Batch::alone`].
    fn hold_senders(&self, all: &mut Gathered<'t>) -> Vec<Waiting> {
        for at in 0..all.packets.len() {
            let Waiting { cell, branch, .. } = all.packets[at];
            let known = all.cells[cell].as_ref();
            let number = known.map_or(CLEAR, |known| self.sender(known, branch));
            if number >= CLEAR {
                continue;
            }
            let place = match all.sender_places.find(number) {
                Some(place) => place,
                None => match self.table.try_sender(number) {
                    Some(held) => all.hold_sender(number, held),
                    None => return all.packets.split_off(at),
                },
            };
            all.packets[at].sender = Some(place);
        }
        Vec::new()
    }

    /// Opens, judges and protects all that was gathered, and lets all go.
    fn settle(&mut self, all: &mut Gathered<'t>, pool: &mut Pool) {
        let rest = self.hold_senders(all);
        self.carry_out(all, pool);
        for waiting in rest {
            self.alone(waiting.at, all, pool);
        }
    }

    /// One packet by itself, waiting for who holds its flow and its sender; nothing else is held.
    #[cold]
    fn alone(&mut self, at: usize, all: &mut Gathered<'t>, pool: &mut Pool) {
        let arrival = &self.arrivals[at];
        let Some(cell) = self.table.cell(arrival.flow) else { return };
        let held = cell.hold();
        let Some(known) = held.as_ref().filter(|it| it.port == arrival.port) else {
            return;
        };
        let number = self.sender(known, known.branch(octets_of(arrival, pool)));
        let place = all.hold(arrival.flow, held);
        self.gather(at, place, all, pool);
        if number < CLEAR
            && let Some(sender) = self.table.sender(number)
        {
            all.packets[0].sender = Some(all.hold_sender(number, sender));
        }
        self.carry_out(all, pool);
    }

    /// Opens, judges and protects packets whose flows and senders are held.
    fn carry_out(&mut self, all: &mut Gathered<'t>, pool: &mut Pool) {
        if !self.leaves {
            self.open(all, pool);
        }
        for at in 0..all.packets.len() {
            let mut waiting = all.packets[at];
            if waiting.outcome.is_none()
                && let Some(known) = all.known(waiting.cell)
            {
                waiting.outcome = self.decide(&waiting, known, pool);
            }
            all.packets[at] = waiting;
        }
        self.protect(all, pool);
        for at in 0..all.packets.len() {
            let waiting = all.packets[at];
            let known = all.cells[waiting.cell].as_ref();
            self.outcomes[waiting.at] = match (waiting.outcome, known) {
                (Some(outcome), _) => outcome,
                (None, None) => Outcome::Next(reason::NO_FLOW),
                (None, Some(known)) => self.finish(&waiting, known, pool),
            };
        }
        all.release();
        self.turn();
    }

    /// Opens what is SRTP.
    fn open(&self, all: &mut Gathered<'t>, pool: &mut Pool) {
        let stride = pool.stride();
        let mut packets: Vec<Packet> = Vec::with_capacity(all.packets.len());
        let mut of: Vec<usize> = Vec::with_capacity(all.packets.len());
        for (number, waiting) in all.packets.iter_mut().enumerate() {
            let arrival = &self.arrivals[waiting.at];
            let Some(known) = all.cells[waiting.cell].as_mut() else { continue };
            if known.comes_clear {
                continue;
            }
            let payload = &pool.cell(arrival.slot)[arrival.payload()..][..arrival.octets];
            let is_rtcp = match Datagram::of(payload) {
                Datagram::Rtp => false,
                Datagram::Rtcp => true,
                _ => continue,
            };
            if known.flow.latched().refuses(self.now, arrival.source) {
                // It would be dropped whatever is in it: no cipher is asked.
                known.flow.unreadable();
                let other = crate::flow::Reason::OtherSource;
                waiting.outcome = Some(Outcome::Next(reason::of_flow(other)));
                continue;
            }
            if known.receiver.is_none() {
                known.flow.unreadable();
                waiting.outcome = Some(Outcome::Next(reason::NO_KEYS));
                continue;
            }
            let at = arrival.slot.0 as usize * stride + arrival.payload();
            let packet = Packet::rtp(waiting.cell, at, arrival.octets, arrival.octets);
            packets.push(Packet { is_rtcp, ..packet });
            of.push(number);
        }
        if packets.is_empty() {
            return;
        }
        srtp::unprotect(&mut Receivers(&mut all.cells), pool.memory_mut(), &mut packets);
        for (packet, number) in packets.iter().zip(of) {
            let waiting = &mut all.packets[number];
            match packet.verdict {
                Ok(()) => (waiting.octets, waiting.is_opened) = (packet.length, true),
                Err(why) => {
                    waiting.outcome = Some(Outcome::Next(reason::of_srtp(why)));
                    if let Some(known) = all.cells[waiting.cell].as_mut() {
                        known.extras.get_or_insert_default().unprotected += 1;
                        known.flow.unreadable();
                    }
                }
            }
        }
    }

    /// Judges a packet that is in the clear now; its end, if it does not go on.
    fn decide(&mut self, waiting: &Waiting, known: &mut Known, pool: &mut Pool) -> Option<Outcome> {
        let arrival = &self.arrivals[waiting.at];
        if self.leaves {
            let is_ready = known.sender != NONE;
            return (!is_ready).then_some(Outcome::Next(reason::NO_KEYS));
        }
        let octets = pool.cell_mut(arrival.slot);
        let payload = &mut octets[arrival.payload()..][..waiting.octets];
        let outcome = self.judge(known, arrival, payload, waiting.branch).err()?;
        if outcome == Outcome::Up(self.classes.frames) && waiting.is_opened {
            let (meta, cell) = pool.parts(arrival.slot);
            shorten(meta, cell, arrival.udp, waiting.octets);
        }
        Some(outcome)
    }

    /// Protects what leaves as SRTP.
    fn protect(&self, all: &mut Gathered<'t>, pool: &mut Pool) {
        let stride = pool.stride();
        let mut packets: Vec<Packet> = Vec::with_capacity(all.packets.len());
        let mut of: Vec<usize> = Vec::with_capacity(all.packets.len());
        for number in 0..all.packets.len() {
            let waiting = all.packets[number];
            let known = all.cells[waiting.cell].as_ref();
            let way = known.map_or(NONE, |known| self.sender(known, waiting.branch));
            if waiting.outcome.is_some() || way == CLEAR {
                continue;
            }
            let Some(sender) = waiting.sender else {
                // Never in the clear for want of who protects.
                all.packets[number].outcome = Some(Outcome::Next(reason::NO_KEYS));
                continue;
            };
            let arrival = &self.arrivals[waiting.at];
            let payload = &pool.cell(arrival.slot)[arrival.payload()..][..waiting.octets];
            let is_rtcp = Datagram::of(payload) == Datagram::Rtcp;
            let at = arrival.slot.0 as usize * stride + arrival.payload();
            let room = stride.saturating_sub(arrival.payload());
            packets.push(Packet { is_rtcp, ..Packet::rtp(sender, at, waiting.octets, room) });
            of.push(number);
        }
        if packets.is_empty() {
            return;
        }
        srtp::protect(&mut Senders(&mut all.senders), pool.memory_mut(), &mut packets);
        for (packet, number) in packets.iter().zip(of) {
            let waiting = &mut all.packets[number];
            match packet.verdict {
                Ok(()) => (waiting.octets, waiting.is_opened) = (packet.length, true),
                Err(why) => waiting.outcome = Some(Outcome::Next(reason::of_srtp(why))),
            }
            if let Some(sender) = all.senders[packet.direction].as_mut()
                && sender.is_to_tell(STEP)
            {
                let waiting = all.packets[number];
                self.far(&waiting, all);
            }
        }
    }

    /// Who protects a packet has come so far that a standby is to be told at once.
    #[cold]
    fn far(&self, waiting: &Waiting, all: &mut Gathered<'t>) {
        let known = all.cells[waiting.cell].as_ref();
        let flow = match known.and_then(|known| known.way_of(waiting.branch)) {
            _ if self.leaves => self.arrivals[waiting.at].flow,
            Some(way) => way.to,
            None => return,
        };
        if !self.table.note_sender(flow)
            && let Some(sender) = waiting.sender.and_then(|at| all.senders[at].as_mut())
        {
            sender.unnoted();
        }
    }

    /// Writes the headers of what goes on.
    fn finish(&mut self, waiting: &Waiting, known: &Known, pool: &mut Pool) -> Outcome {
        let arrival = &self.arrivals[waiting.at];
        // What is neither opened nor protected here is rare: its flow just changed.
        let (meta, cell) = pool.parts(arrival.slot);
        let came = match self.leaves {
            true => Came::HERE,
            false => Came::read(cell, usize::from(meta.offset)),
        };
        let departure = self.departure(arrival, waiting.octets, Check::Anew, came);
        let verdict = match known.way_of(waiting.branch) {
            _ if self.leaves => {
                let (vrf, from) = (meta.vrf, arrival.source);
                let at = Place { vrf, address: from.ip(), port: from.port() };
                let way = known.leaving(arrival.flow, at, |place| self.table.is_media(place));
                leave(meta, cell, departure, &way)
            }
            Some(way) => leave(meta, cell, departure, way),
            None => reason::NO_OTHER,
        };
        Outcome::Next(verdict)
    }
}
