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
use crate::cell::{CLEAR, Held, Known, NONE, Opening};
use crate::departure::{Check, Departure, Way, check, leave, shorten};
use crate::flow::{Arrived, Verdict as Judged};
use crate::reason;
use crate::table::{HeldSender, Table};
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
pub(crate) enum Fate {
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
    /// Octets of its payload, which change when it is opened and protected.
    octets: usize,
    is_opened: bool,
    fate: Option<Fate>,
}

/// Numbers of a vector and where they are held: a few lines that stay in the first cache.
struct Places([(u32, u16); Places::ROWS]);

impl Places {
    /// Twice as many as there are packets.
    const ROWS: usize = 2 * VECTOR_MAX;

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
        match &self.0.get(number)?.as_ref()?.opening {
            Opening::Receiver(receiver) => Some(receiver),
            _ => None,
        }
    }

    fn direction_mut(&mut self, number: usize) -> Option<&mut Receiver> {
        match &mut self.0.get_mut(number)?.as_mut()?.opening {
            Opening::Receiver(receiver) => Some(receiver),
            _ => None,
        }
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
fn way_on(way: Option<&Way>) -> Result<(), Fate> {
    match way {
        None => Err(Fate::Next(reason::NO_OTHER)),
        Some(way) if way.sender == NONE => Err(Fate::Next(reason::NO_KEYS)),
        Some(_) => Ok(()),
    }
}

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
    fates: [Fate; VECTOR_MAX],
    /// Flows whose other direction goes elsewhere from now on: the one that leads there, and the
    /// one whose source was taken.
    turned: Vec<(u32, u32)>,
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
            fates: [Fate::Next(reason::NO_FLOW); VECTOR_MAX],
            turned: Vec::new(),
        }
    }

    /// What became of the packets, in their order.
    pub fn fates(&self) -> &[Fate] {
        &self.fates[..self.arrivals.len().min(VECTOR_MAX)]
    }

    /// Handles all packets.
    pub fn run(&mut self, pool: &mut Pool) {
        let mut gathered: Option<Gathered<'t>> = None;
        for at in 0..self.arrivals.len().min(VECTOR_MAX) {
            self.packet(at, &mut gathered, pool);
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
        let Some(known) = held.as_mut().filter(|it| it.own.at.port == arrival.port) else {
            return;
        };
        if known.is_clear() && !self.leaves {
            self.fates[at] = self.clear(known, arrival, pool);
            drop(held);
            if gathered.as_ref().is_none_or(|all| all.cells.is_empty()) {
                self.turn();
            }
            return;
        }
        let all = gathered.get_or_insert_with(|| Gathered {
            cells: Vec::with_capacity(self.arrivals.len()),
            senders: Vec::with_capacity(self.arrivals.len()),
            cell_places: Places::new(),
            sender_places: Places::new(),
            packets: Vec::with_capacity(self.arrivals.len()),
        });
        let place = all.cells.len();
        all.cell_places.set(arrival.flow, place);
        all.cells.push(held);
        self.gather(at, place, all, pool);
    }

    /// A packet that is neither opened nor protected.
    #[inline]
    fn clear(&mut self, known: &mut Known, arrival: &Arrival, pool: &mut Pool) -> Fate {
        let (meta, octets) = pool.parts(arrival.slot);
        let start = usize::from(meta.offset);
        let changes = known.changes();
        let check = check(octets, start, arrival.udp, changes);
        let payload = &mut octets[arrival.payload()..][..arrival.octets];
        if let Err(fate) = self.judge(known, arrival, payload) {
            return fate;
        }
        let Some(way) = &known.way else { return Fate::Next(reason::NO_OTHER) };
        let departure = self.departure(arrival, arrival.octets, check);
        Fate::Next(leave(meta, octets, departure, way))
    }

    fn departure(&mut self, arrival: &Arrival, octets: usize, check: Check) -> Departure {
        self.identification = self.identification.wrapping_add(1);
        Departure { udp: arrival.udp, octets, check, identification: self.identification }
    }

    /// What becomes of a packet that is in the clear: whether it goes its way, or its end.
    #[inline]
    fn judge(
        &mut self,
        known: &mut Known,
        arrival: &Arrival,
        payload: &mut [u8],
    ) -> Result<(), Fate> {
        let (now, source) = (self.now, arrival.source);
        let payload_type = payload.get(1).map_or(0, |octet| octet & 0x7f);
        let judged = known.flow.packet(Arrived { now, source, payload: &mut *payload });
        match judged {
            Judged::Forward { is_rtcp, relatched } => {
                if relatched {
                    self.turned.push((known.from, arrival.flow));
                    self.table.note(arrival.flow, &mut known.is_noted);
                }
                if known.extras.is_some() && !is_rtcp {
                    self.extra(known, arrival, (payload_type, payload))?;
                }
                way_on(known.way.as_ref())
            }
            Judged::Up(Datagram::Stun) => Err(Fate::Up(self.classes.stun)),
            Judged::Up(_) => Err(Fate::Up(self.classes.dtls)),
            Judged::Drop(why) => Err(Fate::Next(reason::of_flow(why))),
        }
    }

    /// What is special to a payload type: digits, types that go up, types that become another.
    #[cold]
    fn extra(
        &self,
        known: &mut Known,
        arrival: &Arrival,
        packet: (u8, &mut [u8]),
    ) -> Result<(), Fate> {
        let (payload_type, octets) = packet;
        let clock = known.flow.settings().clock;
        let Some(extras) = &mut known.extras else { return Ok(()) };
        if extras.digits.has(payload_type) && extras.hear(self.now, clock, octets) {
            self.table.note(arrival.flow, &mut known.is_noted);
        }
        if extras.up.has(payload_type) {
            return Err(Fate::Up(self.classes.frames));
        }
        let becomes = extras.becomes.iter().find(|(before, _)| *before == payload_type);
        if let (Some((_, after)), Some(octet)) = (becomes, octets.get_mut(1)) {
            *octet = *octet & 0x80 | after;
        }
        Ok(())
    }

    /// Sees to what was noted while cells were held; none is any more.
    fn turn(&mut self) {
        for (from, to) in self.turned.drain(..) {
            self.table.turn(from, to);
        }
    }

    /// Takes a packet of a flow that is held into the batch, with who protects it.
    fn gather(&mut self, at: usize, cell: usize, all: &mut Gathered<'t>, pool: &mut Pool) {
        let octets = self.arrivals[at].octets;
        let waiting = Waiting { at, cell, sender: None, octets, is_opened: false, fate: None };
        let Some(known) = all.cells[cell].as_ref() else { return };
        let way = if self.leaves { Some(known.leaving()) } else { known.way };
        let number = way.map_or(NONE, |way| way.sender);
        if number >= CLEAR {
            all.packets.push(waiting);
            return;
        }
        if let Some(place) = all.sender_places.find(number) {
            all.packets.push(Waiting { sender: Some(place), ..waiting });
            return;
        }
        if let Some(sender) = self.table.try_sender(number) {
            let place = all.senders.len();
            all.sender_places.set(number, place);
            all.senders.push(sender);
            all.packets.push(Waiting { sender: Some(place), ..waiting });
            return;
        }
        // Somebody else protects under that key just now: all that is held goes first.
        self.settle(all, pool);
        let Some(flow) = self.table.cell(self.arrivals[at].flow) else { return };
        let held = flow.hold();
        let Some(known) = held.as_ref().filter(|it| it.own.at.port == self.arrivals[at].port)
        else {
            return;
        };
        let way = if self.leaves { Some(known.leaving()) } else { known.way };
        let number = way.map_or(NONE, |way| way.sender);
        let sender = if number >= CLEAR { None } else { self.table.sender(number) };
        all.cell_places.set(self.arrivals[at].flow, 0);
        all.cells.push(held);
        let sender = sender.map(|sender| {
            all.sender_places.set(number, 0);
            all.senders.push(sender);
            0
        });
        all.packets.push(Waiting { cell: 0, sender, ..waiting });
    }

    /// Opens, judges and protects all that was gathered, and lets all go.
    fn settle(&mut self, all: &mut Gathered<'t>, pool: &mut Pool) {
        if !self.leaves {
            self.open(all, pool);
        }
        let mut ways: Vec<Option<Way>> = Vec::with_capacity(all.packets.len());
        for waiting in &mut all.packets {
            ways.push(self.decide(waiting, &mut all.cells, pool));
        }
        self.protect(all, &ways, pool);
        for (waiting, way) in all.packets.iter().zip(&ways) {
            self.fates[waiting.at] = self.finish(waiting, way.as_ref(), pool);
        }
        all.packets.clear();
        if !all.cells.is_empty() {
            all.cells.clear();
            all.senders.clear();
            (all.cell_places, all.sender_places) = (Places::new(), Places::new());
        }
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
            if matches!(known.opening, Opening::Clear) {
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
                waiting.fate = Some(Fate::Next(reason::of_flow(other)));
                continue;
            }
            if matches!(known.opening, Opening::Waiting) {
                known.flow.unreadable();
                waiting.fate = Some(Fate::Next(reason::NO_KEYS));
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
                    waiting.fate = Some(Fate::Next(reason::of_srtp(why)));
                    if let Some(known) = all.cells[waiting.cell].as_mut() {
                        known.unprotected += 1;
                        known.flow.unreadable();
                    }
                }
            }
        }
    }

    /// Judges a packet that is in the clear now; its way, if it goes on.
    fn decide(
        &mut self,
        waiting: &mut Waiting,
        cells: &mut [Held<'t>],
        pool: &mut Pool,
    ) -> Option<Way> {
        if waiting.fate.is_some() {
            return None;
        }
        let arrival = &self.arrivals[waiting.at];
        let known = cells[waiting.cell].as_mut()?;
        if self.leaves {
            let way = known.leaving();
            let goes = way_on(Some(&way)).map_err(|fate| waiting.fate = Some(fate));
            return goes.ok().map(|()| way);
        }
        let octets = pool.cell_mut(arrival.slot);
        let payload = &mut octets[arrival.payload()..][..waiting.octets];
        match self.judge(known, arrival, payload) {
            Ok(()) => known.way,
            Err(fate) => {
                if fate == Fate::Up(self.classes.frames) && waiting.is_opened {
                    let (meta, cell) = pool.parts(arrival.slot);
                    shorten(meta, cell, arrival.udp, waiting.octets);
                }
                waiting.fate = Some(fate);
                None
            }
        }
    }

    /// Protects what leaves as SRTP.
    fn protect(&self, all: &mut Gathered<'t>, ways: &[Option<Way>], pool: &mut Pool) {
        let stride = pool.stride();
        let mut packets: Vec<Packet> = Vec::with_capacity(all.packets.len());
        let mut of: Vec<usize> = Vec::with_capacity(all.packets.len());
        for (number, (waiting, way)) in all.packets.iter_mut().zip(ways).enumerate() {
            let Some(way) = way.filter(|way| way.sender != CLEAR) else { continue };
            let Some(sender) = waiting.sender else {
                // Never in the clear for want of who protects.
                debug_assert!(false, "sender {} is not held", way.sender);
                waiting.fate = Some(Fate::Next(reason::NO_KEYS));
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
                Err(why) => waiting.fate = Some(Fate::Next(reason::of_srtp(why))),
            }
        }
    }

    /// Writes the headers of what goes on.
    fn finish(&mut self, waiting: &Waiting, way: Option<&Way>, pool: &mut Pool) -> Fate {
        let arrival = &self.arrivals[waiting.at];
        match (waiting.fate, way) {
            (Some(fate), _) => fate,
            (None, None) => Fate::Next(reason::NO_FLOW),
            (None, Some(way)) => {
                // What is neither opened nor protected here is rare: its flow just changed.
                let departure = self.departure(arrival, waiting.octets, Check::Anew);
                let (meta, cell) = pool.parts(arrival.slot);
                Fate::Next(leave(meta, cell, departure, way))
            }
        }
    }
}
