//! memif 2.0: packets through memory that two processes share, as VPP, DPDK (`net_memif`) and
//! libmemif have it. Copied once on each side, from and into the worker's pool.
//!
//! One port is one connection, and all its rings are one worker's; several workers take several
//! identifiers. A packet goes into the ring of its flow hash, where that is set.

mod control;
mod message;
mod queue;
mod shared;

use super::LINK_OCTETS;
use super::counters::{Counters, SendDrop};
use crate::{Interest, Poll};
use control::{Connection, Control};
use graph::meta::HASHED;
use graph::{Pool, Slot};
use queue::Broken;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

pub use control::{LOG2_SIZE_MAX, RINGS_MAX, Role, Spec};
pub use message::SECRET;

/// A port to another process by shared memory. Meets the other end in [`super::Port::attend`].
#[derive(Debug)]
pub struct MemifPort {
    control: Control,
    connection: Option<Connection>,
    /// The ring that is looked at first, so that none starves.
    first: usize,
    is_broken: bool,
    /// What a worker waits at: the same for as long as the port is open.
    poll: Poll,
    /// In it: what there is to wait at now.
    watched: Poll,
    /// What each ring can take during one vector.
    rooms: Vec<u16>,
    counters: Counters,
}

impl MemifPort {
    /// Opens it; a master listens from now on.
    ///
    /// # Errors
    /// `InvalidInput`: past the limits of a [`Spec`]. The kernel's: somebody listens there.
    pub fn open(spec: &Spec) -> io::Result<Self> {
        let mut port = Self {
            control: Control::open(spec)?,
            connection: None,
            first: 0,
            is_broken: false,
            poll: Poll::new()?,
            watched: Poll::new()?,
            rooms: Vec::new(),
            counters: Counters::default(),
        };
        port.watch()?;
        Ok(port)
    }

    /// Puts everything to wait at into a fresh set.
    fn watch(&mut self) -> io::Result<()> {
        let fresh = Poll::new()?;
        // A second slave waits until the first is gone: its knock must not keep the worker awake.
        let [listener, socket] = self.control.descriptors();
        if let Some(fd) = socket.or(listener) {
            fresh.add(fd, 0, Interest::Read)?;
        }
        for queue in self.connection.iter().flat_map(|it| &it.receive) {
            fresh.add(queue.ring.interrupts(), 0, Interest::Read)?;
        }
        // The old set leaves with its descriptor.
        self.poll.add(&fresh, 0, Interest::Read)?;
        self.watched = fresh;
        Ok(())
    }

    pub(super) fn attend(&mut self, _: &mut Pool) {
        if self.is_broken {
            self.control.hang_up("ring is broken");
        }
        let was_met = self.control.is_met();
        let fresh = self.control.turn();
        let is_new = fresh.is_some();
        if is_new {
            self.connection = fresh;
        }
        if !self.control.is_met() {
            self.connection = None;
        }
        if (is_new || self.is_broken || was_met != self.control.is_met()) && self.watch().is_err() {
            self.control.hang_up("no descriptors");
            self.connection = None;
        }
        self.is_broken = false;
    }

    pub(super) fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Slot>) -> usize {
        let start = into.len();
        let Some(connection) = &mut self.connection else { return 0 };
        let count = connection.receive.len();
        for step in 0..count {
            let queue = &mut connection.receive[(self.first + step) % count];
            if queue.receive(pool, into, start, &mut self.counters) == Err(Broken) {
                self.is_broken = true;
            }
        }
        self.first = self.first.wrapping_add(1);
        into.len() - start
    }

    pub(super) fn send(&mut self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        for (at, &slot) in slots.iter().enumerate() {
            if let Err(why) = self.write(pool, slot, at == 0) {
                self.counters.drop_sent(why, 1);
            }
        }
        if let Some(connection) = &self.connection {
            for (queue, room) in connection.send.iter().zip(&mut self.rooms) {
                // What was written to is published.
                if std::mem::take(room) & WRITTEN != 0 {
                    queue.publish();
                }
            }
        }
        pool.free_all(slots);
        slots.clear();
    }

    /// Writes one packet into its ring.
    fn write(&mut self, pool: &Pool, slot: Slot, is_first: bool) -> Result<(), SendDrop> {
        let connection = self.connection.as_mut().filter(|_| !self.is_broken);
        let connection = connection.ok_or(SendDrop::Down)?;
        let packet = pool.bytes(slot);
        if packet.len() > self.control.spec().mtu + LINK_OCTETS {
            return Err(SendDrop::TooLong);
        }
        if packet.is_empty() {
            return Err(SendDrop::Refused);
        }
        if is_first {
            self.rooms.clear();
            for queue in &mut connection.send {
                let room = queue.room().inspect_err(|_| self.is_broken = true);
                self.rooms.push(room.map_err(|_| SendDrop::Down)?);
            }
        }
        let meta = pool.meta(slot);
        let hash = if meta.flags & HASHED != 0 { meta.hash as usize } else { 0 };
        let count = connection.send.len();
        let at = hash.checked_rem(count).ok_or(SendDrop::Down)?;
        let room = self.rooms[at] & !WRITTEN;
        let written = connection.send[at].write(packet, room);
        let pieces = written.map_err(|_| {
            self.is_broken = true;
            SendDrop::Down
        })?;
        let Some(pieces) = pieces else {
            // What comes after it shall not overtake it.
            self.rooms[at] &= WRITTEN;
            return Err(SendDrop::QueueFull);
        };
        self.rooms[at] = (room - pieces) | WRITTEN;
        self.counters.sent.add(packet.len());
        Ok(())
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.poll.as_fd()
    }

    pub(super) fn doze(&mut self) -> bool {
        let queues = || self.connection.iter().flat_map(|it| &it.receive);
        queues().for_each(|queue| queue.ring.want_interrupts(true));
        !queues().any(queue::Queue::is_waiting)
    }

    pub(super) fn rise(&mut self) {
        for queue in self.connection.iter().flat_map(|it| &it.receive) {
            queue.ring.want_interrupts(false);
            queue.ring.clear_interrupts();
        }
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn mac(&self) -> [u8; 6] {
        self.control.spec().mac
    }

    pub(super) fn mtu(&self) -> usize {
        self.control.spec().mtu
    }

    pub(super) fn is_up(&self) -> bool {
        self.connection.is_some()
    }

    pub(super) fn close(self, _: &mut Pool) -> usize {
        0
    }
}

/// Beside the room of a ring, which is at most 2^[`LOG2_SIZE_MAX`]: something was written.
const WRITTEN: u16 = 1 << 15;

#[cfg(test)]
mod tests;
