//! What leaves the graph: packets for ports, and packets for the control plane.

use crate::pool::{Pool, Slot};

/// Ports (devices) of a worker at most.
pub const PORTS_MAX: usize = 256;

/// What leaves the graph of one worker, until its loop has handed it over.
#[derive(Default)]
pub struct Outbox {
    ports: Vec<Vec<Slot>>,
    punted: Vec<Slot>,
    has_news: bool,
}

impl Outbox {
    /// A packet for a port. One beyond [`PORTS_MAX`] is no port: the packet is handed back.
    ///
    /// # Errors
    /// The packet, when there can be no such port.
    #[inline]
    pub fn send(&mut self, port: usize, slot: Slot) -> Result<(), Slot> {
        match self.ports.get_mut(port) {
            Some(queue) => queue.push(slot),
            None if port < PORTS_MAX => {
                self.ports.resize_with(port + 1, Vec::new);
                self.ports[port].push(slot);
            }
            None => return Err(slot),
        }
        Ok(())
    }

    /// A vector for one port.
    ///
    /// # Errors
    /// When there can be no such port: nothing was taken.
    #[inline]
    pub fn send_all(&mut self, port: usize, batch: &[Slot]) -> Result<(), NoPort> {
        if port >= PORTS_MAX {
            return Err(NoPort);
        }
        if port >= self.ports.len() {
            self.ports.resize_with(port + 1, Vec::new);
        }
        self.ports[port].extend_from_slice(batch);
        Ok(())
    }

    /// A packet for the control plane.
    #[inline]
    pub fn punt(&mut self, slot: Slot) {
        self.punted.push(slot);
    }

    /// The tables' writer is to look at once what a node has to tell it.
    #[inline]
    pub const fn call_writer(&mut self) {
        self.has_news = true;
    }

    /// Whether the writer was called since this was asked last.
    #[inline]
    pub const fn take_call(&mut self) -> bool {
        core::mem::replace(&mut self.has_news, false)
    }

    /// What waits for a port; whoever takes it empties the queue.
    pub fn port(&mut self, port: usize) -> Option<&mut Vec<Slot>> {
        self.ports.get_mut(port)
    }

    /// What waits for the control plane; whoever takes it empties the queue.
    pub fn punted(&mut self) -> &mut Vec<Slot> {
        &mut self.punted
    }

    /// Gives every cell that waits back to the pool.
    pub fn clear(&mut self, packets: &mut Pool) {
        for queue in self.ports.iter_mut().chain([&mut self.punted]) {
            packets.free_all(queue);
            queue.clear();
        }
    }
}

/// There is no port of that number.
#[derive(Debug, PartialEq, Eq)]
pub struct NoPort;
