//! memif 2.0: packets through memory that two processes share, as VPP, DPDK (`net_memif`) and
//! libmemif have it. Copied once on each side, from and into the worker's pool.
//!
//! One connection may serve several workers, each by a part of it. The first part speaks with the
//! other end; rings are dealt out in turn. Where there are fewer to send by than parts, parts share
//! them. Of several rings a packet takes that of its flow hash, where that is set.

mod control;
mod hub;
mod message;
mod queue;
mod talk;

use super::LINK_OCTETS;
use super::bell::Interrupt;
use super::counters::{Counters, SendDrop};
use control::{Control, SLOW, SLOW_PAUSE};
use driver::{Interest, Poll};
use graph::meta::HASHED;
use graph::{Pool, Slot};
use hub::Rings;
use machine::narrow;
use queue::{Broken, Queue};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

pub use control::{LOG2_SIZE_MAX, RINGS_MAX, Role, Spec};
pub use hub::Hub;
pub use message::SECRET;

/// A port to another process by shared memory. Meets the other end in [`super::Port::attend`].
#[derive(Debug)]
pub struct MemifPort {
    hub: Arc<Hub>,
    part: usize,
    /// Of the first part.
    control: Option<Control>,
    rings: Option<Rings>,
    /// The hub's when the rings were taken.
    generation: u64,
    /// The ring that is looked at first, so that none starves.
    first: usize,
    /// What the worker waits at: always the same, whoever the other end is.
    poll: Poll,
    /// What stands in it: the sockets and interrupts of now.
    watched: Poll,
    /// The ring that each packet of one vector takes.
    chosen: Vec<u8>,
    counters: Counters,
}

impl MemifPort {
    /// Opens it for one worker; a master listens from now on.
    ///
    /// # Errors
    /// `InvalidInput`: past the limits of a [`Spec`]. The kernel's: somebody listens there.
    pub fn open(spec: &Spec) -> io::Result<Self> {
        Self::join(&Hub::new(spec, 1), 0)
    }

    /// Opens a worker's part of it; a master listens once the first part is open, and the
    /// connection ends with that part.
    ///
    /// # Errors
    /// As [`MemifPort::open`]; `InvalidInput`: there is no such part.
    pub fn join(hub: &Arc<Hub>, part: usize) -> io::Result<Self> {
        if part >= hub.parts() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let control = (part == 0).then(|| Control::open(hub.spec())).transpose()?;
        let mut port = Self {
            hub: Arc::clone(hub),
            part,
            control,
            rings: None,
            generation: 0,
            first: 0,
            poll: Poll::new()?,
            watched: Poll::new()?,
            chosen: Vec::new(),
            counters: Counters::default(),
        };
        port.watch()?;
        Ok(port)
    }

    /// Puts everything to wait at into a fresh set.
    fn watch(&mut self) -> io::Result<()> {
        let watched = Poll::new()?;
        for fd in self.control.iter().flat_map(Control::descriptors) {
            watched.add(fd, 0, Interest::Read)?;
        }
        for queue in self.rings.iter().flat_map(|it| &it.receive) {
            watched.add(queue.ring.interrupts(), 0, Interest::Read)?;
        }
        self.poll.add(&watched, 0, Interest::Read)?;
        // The set of before leaves the poll by being closed: nobody else has it.
        self.watched = watched;
        Ok(())
    }

    /// Takes its rings of a new connection, or lets go of those that are over.
    #[inline]
    fn follow(&mut self) {
        if self.generation != self.hub.generation() {
            self.take_rings();
        }
    }

    #[cold]
    fn take_rings(&mut self) {
        (self.generation, self.rings) = self.hub.take(self.part);
        if self.watch().is_err() {
            self.rings = None;
            self.hub.break_off();
        }
    }

    pub(super) fn attend(&mut self, _: &mut Pool) {
        if let Some(control) = &mut self.control {
            let now = Instant::now();
            if self.hub.is_broken() {
                let (reason, pause) = if self.hub.is_slow() {
                    (SLOW, SLOW_PAUSE)
                } else {
                    ("ring is broken", Duration::ZERO)
                };
                control.end(reason, now, pause);
                self.hub.end();
            }
            let before = control.changes();
            match control.turn(now) {
                Some(connection) => self.hub.deal(connection),
                None if !control.stands() && self.hub.is_up() => self.hub.end(),
                // Other descriptors are waited at.
                None if before != control.changes() && self.watch().is_err() => {
                    self.hub.break_off();
                }
                None => {}
            }
        }
        self.follow();
    }

    pub(super) fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Slot>) -> usize {
        self.follow();
        let start = into.len();
        let Some(rings) = self.rings.as_mut().filter(|_| !self.hub.is_broken()) else { return 0 };
        let count = rings.receive.len();
        for step in 0..count {
            let queue = &mut rings.receive[(self.first + step) % count];
            if queue.receive(pool, into, start, &mut self.counters) == Err(Broken) {
                self.hub.break_off();
            }
        }
        self.first = self.first.wrapping_add(1);
        into.len() - start
    }

    pub(super) fn send(&mut self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        self.follow();
        let is_usable = |rings: &&Rings| !rings.send.is_empty() && !self.hub.is_broken();
        match self.rings.as_ref().filter(is_usable) {
            Some(rings) => {
                let count = rings.send.len();
                self.chosen.clear();
                self.chosen.extend(slots.iter().map(|slot| choose(pool, *slot, count)));
                let longest = self.hub.spec().mtu + LINK_OCTETS;
                for (at, queue) in rings.send.iter().enumerate() {
                    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                    let chosen = slots.iter().zip(&self.chosen);
                    let mine = chosen.filter(|(_, to)| usize::from(**to) == at).map(|(s, _)| *s);
                    let done = send_by(&mut queue, pool, mine, longest, &mut self.counters);
                    // Nobody waits for the queue while its reader is woken.
                    drop(queue);
                    match done {
                        Ok(None) => {}
                        Ok(Some(interrupt)) => {
                            // It was an eventfd when the ring was agreed on, and stays one.
                            let _ = interrupt.ring();
                            if interrupt.is_slow() {
                                self.hub.give_up();
                            }
                        }
                        Err(Broken) => self.hub.break_off(),
                    }
                }
            }
            None => self.counters.drop_sent(SendDrop::Down, slots.len() as u64),
        }
        pool.free_all(slots);
        slots.clear();
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }

    pub(super) fn doze(&mut self) -> bool {
        let queues = || self.rings.iter().flat_map(|it| &it.receive);
        queues().for_each(|queue| queue.ring.want_interrupts(true));
        !queues().any(Queue::is_waiting)
    }

    pub(super) fn rise(&mut self) {
        for queue in self.rings.iter().flat_map(|it| &it.receive) {
            queue.ring.want_interrupts(false);
            queue.ring.interrupts().forget();
            if queue.ring.interrupts().is_slow() {
                self.hub.give_up();
            }
        }
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn mac(&self) -> [u8; 6] {
        self.hub.spec().mac
    }

    pub(super) fn mtu(&self) -> usize {
        self.hub.spec().mtu
    }

    pub(super) fn is_up(&self) -> bool {
        self.hub.is_up()
    }

    pub(super) fn close(self, _: &mut Pool) -> usize {
        0
    }
}

impl Drop for MemifPort {
    fn drop(&mut self) {
        if self.control.is_some() {
            self.hub.end();
        } else if self.rings.is_some() && self.generation == self.hub.generation() {
            // Rings are dealt once: whoever comes in its place has some of a new connection.
            self.hub.break_off();
        }
    }
}

/// The ring of so many that a packet takes.
fn choose(pool: &Pool, slot: Slot, count: usize) -> u8 {
    let meta = pool.meta(slot);
    if meta.flags & HASHED != 0 {
        narrow::at_most(u64::from(meta.hash) % count as u64, u8::MAX)
    } else {
        0
    }
}

/// Writes packets into one ring; what is to be rung then.
fn send_by(
    queue: &mut Queue,
    pool: &Pool,
    slots: impl Iterator<Item = Slot>,
    longest: usize,
    counters: &mut Counters,
) -> Result<Option<Arc<Interrupt>>, Broken> {
    let mut slots = slots.peekable();
    if slots.peek().is_none() {
        return Ok(None);
    }
    let mut room = queue.room();
    let mut is_written = false;
    for slot in slots {
        let packet = pool.bytes(slot);
        let left = match room {
            Err(Broken) => Err(SendDrop::Down),
            Ok(_) if packet.len() > longest => Err(SendDrop::TooLong),
            Ok(_) if packet.is_empty() => Err(SendDrop::Refused),
            Ok(left) => Ok(left),
        };
        let written = left.map(|left| queue.write(packet, left));
        match written {
            Ok(Ok(Some(pieces))) => {
                room = room.map(|left| left - pieces);
                is_written = true;
                counters.sent.add(packet.len());
            }
            Ok(Ok(None)) => {
                // What comes after it shall not overtake it.
                room = Ok(0);
                counters.drop_sent(SendDrop::QueueFull, 1);
            }
            Ok(Err(Broken)) => {
                room = Err(Broken);
                counters.drop_sent(SendDrop::Down, 1);
            }
            Err(why) => counters.drop_sent(why, 1),
        }
    }
    let interrupt = if is_written { queue.publish() } else { None };
    room.map(|_| interrupt)
}

#[cfg(test)]
mod tests;
