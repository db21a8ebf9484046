//! The memory of a packet channel between a forwarder and a function's process: rings, one up for
//! each worker and one down, whose records have what is known of a packet.
//!
//! ```text
//!   worker 0 ─ Up ring 1 ─→ ┐                        memory   ring 0 │ ring 1 … │ cells …
//!   worker 1 ─ Up ring 2 ─→ ┴ Far::receive           record   time 8 │ interface 4 │ vrf 4 │
//!   a worker ←─ Down ring 0 ── Far::send                      class 1 │ to 1 │ 0 × 6 │ packet
//! ```
//! The forwarder makes the memory and says by [`Geometry`] what it looks like. Neither side
//! believes the other: what is read is copied out once and then looked at, places are those of a
//! side's own counting, and a ring that cannot be so closes the packet channel ([`Corrupt`]).
//!
//! Each class of packets up has its share of every ring, and the shares together are no more than
//! the ring: a class that is not taken in time sheds its own packets and no other's. Within a share
//! that flows have in common each may have as much as is still free: one that sends more than is
//! taken sheds its own, and leaves room for those that do not.

use channel::{PacketRecord, PacketTo};
use machine::narrow::{index, place, slot};
use ports::bell::{Bell, Interrupt};
use ports::shared::{Descriptor, Ring, Segment, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Classes of a packet channel at most.
pub const CLASSES_MAX: usize = 64;
/// Rings up at most.
pub const UPS_MAX: u16 = 32;
/// Octets before the packet in a cell.
pub const HEADER: usize = 24;
/// Octets of a cell at least …
const CELL_MIN: u32 = 64;
/// … and at most.
const CELL_MAX: u32 = 16 << 10;
/// 2 to this many records of a ring at most.
const LOG2_MAX: u8 = 12;
/// Sets of flows that are told apart: few of those that wait at once fall into one.
const FLOWS: usize = 1 << 10;
/// The packet goes to an interface, as it is.
const TO_INTERFACE: u8 = 0;
/// The packet is routed.
const TO_VRF: u8 = 1;
/// The packet goes to the feature whose class it bears.
const TO_FEATURE: u8 = 2;
/// The packet is for a group of the interface's link.
const TO_LINK: u8 = 3;

/// What the memory looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Rings up.
    pub ups: u16,
    /// A ring has 2 to this many records.
    pub log2_size: u8,
    /// Octets of a record, [`HEADER`] included.
    pub cell: u32,
}

/// Why a packet was not put into a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shed {
    /// Its class has no share.
    NoClass,
    /// The share of its class is used up.
    ClassFull,
    /// Its flow has as much of the share of its class as is left for others.
    FlowFull,
    /// The ring is full.
    RingFull,
    /// It is longer than a cell.
    TooLong,
    /// The other side wrote what cannot be: the packet channel closes.
    Corrupt(Corrupt),
}

impl Shed {
    /// As a key of an answer.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoClass => "no_class",
            Self::ClassFull => "class_full",
            Self::FlowFull => "flow_full",
            Self::RingFull => "ring_full",
            Self::TooLong => "too_long",
            Self::Corrupt(_) => "corrupt",
        }
    }
}

/// The other side wrote what cannot be: the packet channel closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// More records wait than the ring has.
    #[error("more records wait than the ring has")]
    Count,
    /// A record that is shorter than its header, or longer than a cell.
    #[error("a record of an impossible length")]
    Length,
    /// A packet down that goes nowhere that there is.
    #[error("a packet that goes nowhere")]
    Destination,
    /// It has so many wait at what it is woken by that waking it takes too long.
    #[error("waking it takes too long")]
    Slow,
}

impl Geometry {
    fn size(self) -> u32 {
        1 << self.log2_size
    }

    fn ring_octets(self) -> usize {
        Ring::octets(self.log2_size).next_multiple_of(64)
    }

    /// Where the cells of a ring start.
    fn cells_at(self, ring: u16) -> usize {
        let rings = usize::from(self.ups) + 1;
        let before = usize::from(ring) * self.size() as usize * self.cell as usize;
        rings * self.ring_octets() + before
    }

    /// Octets of all.
    fn octets(self) -> usize {
        self.cells_at(self.ups + 1)
    }

    /// Whether such memory can be: also of one that another process tells of.
    #[must_use]
    pub fn is_possible(self) -> bool {
        (1..=UPS_MAX).contains(&self.ups)
            && (1..=LOG2_MAX).contains(&self.log2_size)
            && (CELL_MIN..=CELL_MAX).contains(&self.cell)
            && self.cell.is_multiple_of(64)
    }
}

/// One ring with its cells, as one side sees it.
#[derive(Debug)]
struct Lane {
    ring: Ring,
    segment: Arc<Segment>,
    cells: u32,
    cell: u32,
    /// The next record to be read or written.
    at: u16,
}

impl Lane {
    fn new(
        segment: &Arc<Segment>,
        geometry: Geometry,
        number: u16,
        interrupt: &Arc<Interrupt>,
    ) -> io::Result<Self> {
        let at = place(usize::from(number) * geometry.ring_octets());
        let ring = Ring::at(segment, at, geometry.log2_size, interrupt);
        let ring = ring.ok_or(io::ErrorKind::InvalidData)?;
        let (segment, cells) = (Arc::clone(segment), place(geometry.cells_at(number)));
        Ok(Self { ring, segment, cells, cell: geometry.cell, at: 0 })
    }

    fn cell_of(&self, number: u16) -> u32 {
        self.cells + u32::from(number & (self.ring.size() - 1)) * self.cell
    }

    /// Writes a record that fits.
    fn write(&mut self, header: [u8; HEADER], packet: &[u8]) {
        let to = self.cell_of(self.at);
        self.segment.write(to, &header);
        self.segment.write(to + place(HEADER), packet);
        let length = place(HEADER + packet.len());
        self.ring.set_descriptor(self.at, Descriptor { length, ..Descriptor::default() });
        self.at = self.at.wrapping_add(1);
    }

    /// Records that were written and not taken yet, as the reader tells.
    fn taken(&self, since: u16) -> Result<u16, Corrupt> {
        let tail = self.ring.tail();
        let (taken, there) = (tail.wrapping_sub(since), self.at.wrapping_sub(since));
        if taken <= there { Ok(tail) } else { Err(Corrupt::Count) }
    }

    /// Whether waking the other side, or being woken by it, takes no longer than it may.
    fn wakes(&self) -> Result<(), Corrupt> {
        if self.ring.interrupts().is_slow() { Err(Corrupt::Slow) } else { Ok(()) }
    }

    /// Records that wait to be read.
    fn waiting(&self) -> Result<u16, Corrupt> {
        let count = self.ring.head().wrapping_sub(self.at);
        if count <= self.ring.size() { Ok(count) } else { Err(Corrupt::Count) }
    }

    /// Copies the next record out.
    fn read<'a>(&mut self, into: &'a mut Vec<u8>) -> Result<(&'a [u8; HEADER], &'a [u8]), Corrupt> {
        let length = self.ring.descriptor(self.at).length;
        if length > self.cell || length as usize <= HEADER {
            return Err(Corrupt::Length);
        }
        into.resize(length as usize, 0);
        self.segment.read(self.cell_of(self.at), into);
        self.at = self.at.wrapping_add(1);
        into.split_first_chunk::<HEADER>().ok_or(Corrupt::Length)
    }
}

/// A worker's end of its ring up.
#[derive(Debug)]
pub struct Up {
    lane: Lane,
    /// What of the ring each class may fill.
    shares: Box<[u16]>,
    /// What of it each class fills.
    filled: Box<[u16]>,
    /// What of it each set of flows fills.
    flows: Box<[u16]>,
    /// The class of each record that was written, and its flows, if they share.
    of: Box<[(u8, Option<u16>)]>,
    /// The reader had taken the records before this one when it was asked last.
    taken: u16,
    has_written: bool,
}

impl Up {
    /// Puts a packet into the ring; the reader sees it after [`Up::publish`]. `flow`: a number of
    /// its flow, which no sender can choose, where flows share what their class has.
    ///
    /// # Errors
    /// Why it was shed.
    pub fn push(
        &mut self,
        record: PacketRecord,
        flow: Option<u64>,
        packet: &[u8],
    ) -> Result<(), Shed> {
        let class = usize::from(record.class);
        let share = self.shares.get(class).copied().filter(|share| *share > 0);
        let share = share.ok_or(Shed::NoClass)?;
        if packet.is_empty() || HEADER + packet.len() > self.lane.cell as usize {
            return Err(Shed::TooLong);
        }
        self.account().map_err(Shed::Corrupt)?;
        if self.filled[class] >= share {
            return Err(Shed::ClassFull);
        }
        let flow = flow.map(|flow| index(slot(flow, FLOWS)));
        if flow.is_some_and(|flow| self.flows[usize::from(flow)] >= share - self.filled[class]) {
            return Err(Shed::FlowFull);
        }
        if self.lane.at.wrapping_sub(self.taken) >= self.lane.ring.size() {
            return Err(Shed::RingFull);
        }
        let at = usize::from(self.lane.at) & (self.of.len() - 1);
        self.of[at] = (record.class, flow);
        self.filled[class] += 1;
        if let Some(flow) = flow {
            self.flows[usize::from(flow)] += 1;
        }
        self.lane.write(header_of(record, TO_INTERFACE), packet);
        self.has_written = true;
        Ok(())
    }

    /// Gives shares of what was taken back to their classes.
    fn account(&mut self) -> Result<(), Corrupt> {
        let tail = self.lane.taken(self.taken)?;
        while self.taken != tail {
            let (class, flow) = self.of[usize::from(self.taken) & (self.of.len() - 1)];
            let filled = &mut self.filled[usize::from(class)];
            *filled = filled.saturating_sub(1);
            if let Some(flow) = flow {
                let filled = &mut self.flows[usize::from(flow)];
                *filled = filled.saturating_sub(1);
            }
            self.taken = self.taken.wrapping_add(1);
        }
        Ok(())
    }

    /// Lets the reader see what was pushed.
    ///
    /// # Errors
    /// Waking it takes too long: the packet channel closes.
    pub fn publish(&mut self) -> Result<(), Corrupt> {
        if std::mem::take(&mut self.has_written) {
            self.lane.wakes()?;
            self.lane.ring.set_head(self.lane.at);
            self.lane.ring.interrupt();
        }
        self.lane.wakes()
    }
}

/// A worker's end of the ring down.
#[derive(Debug)]
pub struct Down {
    lane: Lane,
    buffer: Vec<u8>,
}

impl Down {
    /// Takes at most so many packets; how many there were.
    ///
    /// # Errors
    /// The other side wrote what cannot be: the packet channel closes.
    pub fn receive(
        &mut self,
        most: u16,
        mut take: impl FnMut(PacketTo, &[u8]),
    ) -> Result<u16, Corrupt> {
        let count = self.lane.waiting()?.min(most);
        let mut over = Ok(count);
        for _ in 0..count {
            match self.lane.read(&mut self.buffer) {
                Ok((header, packet)) => match to_of(header) {
                    Some(to) => take(to, packet),
                    None => over = Err(Corrupt::Destination),
                },
                Err(corrupt) => over = Err(corrupt),
            }
            if over.is_err() {
                break;
            }
        }
        self.lane.ring.set_tail(self.lane.at);
        over
    }

    /// The worker is about to sleep; false when something came meanwhile, and it must not.
    pub fn doze(&mut self) -> bool {
        self.lane.ring.want_interrupts(true);
        self.lane.waiting() == Ok(0)
    }

    /// The worker is awake: it looks by itself.
    ///
    /// # Errors
    /// Being woken takes too long: the packet channel closes.
    pub fn rise(&mut self) -> Result<(), Corrupt> {
        self.lane.ring.want_interrupts(false);
        self.lane.ring.interrupts().forget();
        self.lane.wakes()
    }
}

impl AsFd for Down {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lane.ring.interrupts().as_fd()
    }
}

/// The end of a feature's process.
#[derive(Debug)]
pub struct Far {
    ups: Vec<Lane>,
    down: Lane,
    /// The reader had taken the records before this one when it was asked last.
    taken: u16,
    rung: Arc<Interrupt>,
    buffer: Vec<u8>,
}

impl Far {
    /// Maps the memory that a forwarder gives: the memory, what is rung when packets come up, and
    /// what is to be rung when they go down.
    ///
    /// # Errors
    /// The kernel's; `InvalidData`: it is no such memory.
    pub fn join(geometry: Geometry, [memory, up, down]: &[OwnedFd; 3]) -> io::Result<Self> {
        if !geometry.is_possible() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let segment = Arc::new(Segment::map(memory, geometry.octets() as u64)?);
        let bell = the_bell()?;
        let rung = Interrupt::new(up.try_clone()?, &bell);
        let lane = |number, interrupt| Lane::new(&segment, geometry, number, interrupt);
        let ups =
            (1..=geometry.ups).map(|number| lane(number, &rung)).collect::<Result<Vec<_>, _>>()?;
        let down = lane(0, &Interrupt::new(down.try_clone()?, &bell))?;
        if !ups.iter().chain([&down]).all(|lane| lane.ring.is_ring()) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self { ups, down, taken: 0, rung, buffer: Vec::new() })
    }

    /// Takes at most so many packets of each ring. When more wait, [`Far::as_fd`] stays readable.
    ///
    /// # Errors
    /// The forwarder wrote what cannot be: the packet channel closes.
    pub fn receive(
        &mut self,
        most: u16,
        take: &mut dyn FnMut(PacketRecord, &[u8]),
    ) -> Result<(), Corrupt> {
        self.rung.forget();
        self.down.wakes()?;
        let mut has_more = false;
        for lane in &mut self.ups {
            lane.wakes()?;
            let waiting = lane.waiting()?;
            has_more |= waiting > most;
            for _ in 0..waiting.min(most) {
                let (header, packet) = lane.read(&mut self.buffer)?;
                take(record_of(header), packet);
            }
            lane.ring.set_tail(lane.at);
        }
        if has_more {
            // It is an eventfd, or was never rung.
            let _ = self.rung.ring();
        }
        Ok(())
    }

    /// Sends a packet; the forwarder sees it after [`Far::publish`].
    ///
    /// # Errors
    /// Why it was shed.
    pub fn send(&mut self, to: PacketTo, packet: &[u8]) -> Result<(), Shed> {
        if packet.is_empty() || HEADER + packet.len() > self.down.cell as usize {
            return Err(Shed::TooLong);
        }
        self.taken = self.down.taken(self.taken).map_err(Shed::Corrupt)?;
        if self.down.at.wrapping_sub(self.taken) >= self.down.ring.size() {
            return Err(Shed::RingFull);
        }
        let record = PacketRecord::default();
        let (record, kind) = match to {
            PacketTo::Interface(interface) => (PacketRecord { interface, ..record }, TO_INTERFACE),
            PacketTo::Link(interface) => (PacketRecord { interface, ..record }, TO_LINK),
            PacketTo::Vrf(vrf) => (PacketRecord { vrf, ..record }, TO_VRF),
            PacketTo::Feature { class, interface, vrf } => {
                (PacketRecord { class, interface, vrf, ..record }, TO_FEATURE)
            }
        };
        self.down.write(header_of(record, kind), packet);
        Ok(())
    }

    /// Lets the forwarder see what was sent.
    pub fn publish(&mut self) {
        self.down.ring.set_head(self.down.at);
        self.down.ring.interrupt();
    }
}

impl AsFd for Far {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.rung.as_fd()
    }
}

/// The forwarder's ends of the rings, and what the other process is given.
#[derive(Debug)]
pub struct Rings {
    /// The rings up, one for each worker.
    pub ups: Vec<Up>,
    /// The ring down.
    pub down: Down,
    /// For [`Far::join`].
    pub given: [OwnedFd; 3],
}

impl Rings {
    /// Makes them, where each class has its share of every ring.
    ///
    /// # Errors
    /// The kernel's; `InvalidInput`: such memory cannot be, or the shares are more than a ring.
    pub fn new(geometry: Geometry, shares: &[u16]) -> io::Result<Self> {
        let sum: u32 = shares.iter().map(|share| u32::from(*share)).sum();
        if !geometry.is_possible() || sum > geometry.size() || shares.len() > CLASSES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (segment, memory) = Segment::create(geometry.octets())?;
        let (segment, bell) = (Arc::new(segment), the_bell()?);
        let (up, down) = (eventfd()?, eventfd()?);
        let rung = |fd: &OwnedFd| fd.try_clone().map(|fd| Interrupt::new(fd, &bell));
        let (up_rung, down_rung) = (rung(&up)?, rung(&down)?);
        let lane = |number: u16, interrupt| {
            let at = place(usize::from(number) * geometry.ring_octets());
            Ring::format(&segment, at);
            Lane::new(&segment, geometry, number, interrupt)
        };
        let ups = (1..=geometry.ups).map(|number| {
            Ok(Up {
                lane: lane(number, &up_rung)?,
                shares: shares.into(),
                filled: vec![0; shares.len()].into(),
                flows: vec![0; FLOWS].into(),
                of: vec![(0, None); geometry.size() as usize].into(),
                taken: 0,
                has_written: false,
            })
        });
        let ups = ups.collect::<io::Result<Vec<_>>>()?;
        let lane = lane(0, &down_rung)?;
        Ok(Self { ups, down: Down { lane, buffer: Vec::new() }, given: [memory, up, down] })
    }
}

/// The bell of this process. The kernel takes tens of milliseconds to undo one (io_destroy(2)),
/// which no worker and no shard has when a packet channel closes.
fn the_bell() -> io::Result<Arc<Bell>> {
    static BELL: Mutex<Option<Arc<Bell>>> = Mutex::new(None);
    let mut bell = BELL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bell) = &*bell {
        return Ok(Arc::clone(bell));
    }
    let made = Arc::new(Bell::new()?);
    *bell = Some(Arc::clone(&made));
    Ok(made)
}

fn header_of(record: PacketRecord, to: u8) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&record.time_ns.to_ne_bytes());
    header[8..12].copy_from_slice(&record.interface.to_ne_bytes());
    header[12..16].copy_from_slice(&record.vrf.to_ne_bytes());
    (header[16], header[17]) = (record.class, to);
    header
}

fn word(header: &[u8; HEADER], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|n| header[at + n]))
}

fn record_of(header: &[u8; HEADER]) -> PacketRecord {
    let time_ns = u64::from_ne_bytes(std::array::from_fn(|n| header[n]));
    PacketRecord { time_ns, interface: word(header, 8), vrf: word(header, 12), class: header[16] }
}

fn to_of(header: &[u8; HEADER]) -> Option<PacketTo> {
    let PacketRecord { interface, vrf, class, .. } = record_of(header);
    match header[17] {
        TO_INTERFACE if interface != 0 => Some(PacketTo::Interface(interface)),
        TO_LINK if interface != 0 => Some(PacketTo::Link(interface)),
        TO_VRF => Some(PacketTo::Vrf(vrf)),
        TO_FEATURE => Some(PacketTo::Feature { class, interface, vrf }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
