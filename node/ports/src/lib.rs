//! Packet ports: what a worker receives vectors of packets from and sends them to.
//!
//! ```text
//!   Port ─┬─ packet   any interface of this kernel: AF_PACKET, TPACKET_V3
//!         ├─ xdp      a queue of an interface, the pool's memory shared with the kernel: AF_XDP
//!         ├─ tap      an interface that this process makes
//!         ├─ memif    another process, by shared memory: VPP, DPDK
//!         └─ ring     another worker of this process
//! ```
//! A port belongs to one worker, and so does the [`Pool`] that its packets live in; every call is
//! given that same pool. Nothing blocks. One round of a worker:
//!
//! ```text
//!   receive(pool, into) → nodes → send(pool, slots) …   attend() now and then
//!   nothing came anywhere for a while: doze() everywhere, epoll on descriptor(), rise()
//! ```
//! **The rule of the full queue** is tail drop: what a queue does not take at once is freed and
//! counted, the front of the vector goes first. **The rule of the empty pool**: no more packets are
//! taken than there are cells; the rest waits in the queue before the port, which sheds by itself.
#![allow(unsafe_code, reason = "memory is shared with the kernel and with other processes")]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod bell;
mod bypass;
mod checksum;
mod counters;
pub mod device;
pub mod memif;
pub mod packet;
pub mod ring;
pub mod shared;
pub mod tap;
pub mod xdp;

use graph::{Pool, Slot};
use std::os::fd::BorrowedFd;

pub use bypass::{Bypass, Lost};
pub use counters::{Count, Counters, ReceiveDrop, SendDrop};
pub use device::Device;
pub use memif::MemifPort;
pub use packet::PacketPort;
pub use ring::RingPort;
pub use tap::TapPort;
pub use xdp::XdpPort;

/// Packets of one call to [`Port::receive`].
pub const VECTOR: usize = 256;
/// Octets of a packet in front of what its MTU counts: an Ethernet header with two VLAN tags.
pub const LINK_OCTETS: usize = 22;

/// What packets come from and go to; closed, so that a worker's loop knows them all.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a worker has a handful of them and moves none")]
pub enum Port {
    /// An interface of this kernel, by `AF_PACKET`.
    Packet(PacketPort),
    /// Another worker of this process.
    Ring(RingPort),
    /// A queue of an interface, by `AF_XDP`.
    Xdp(XdpPort),
    /// A queue of an interface that this process made.
    Tap(TapPort),
    /// Another process, by memif.
    Memif(MemifPort),
}

macro_rules! each {
    ($self:expr, $port:ident => $what:expr) => {
        match $self {
            Self::Packet($port) => $what,
            Self::Ring($port) => $what,
            Self::Xdp($port) => $what,
            Self::Tap($port) => $what,
            Self::Memif($port) => $what,
        }
    };
}

impl Port {
    /// Receives what is there, at most [`VECTOR`] packets; their cells are put behind what `into`
    /// holds. Offset and length are set, the rest of what is known of a packet is as [`Pool::take`]
    /// leaves it. Returns how many.
    #[inline]
    pub fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Slot>) -> usize {
        each!(self, port => port.receive(pool, into))
    }

    /// Sends packets; `slots` is empty afterwards. What the queue does not take is freed and
    /// counted.
    #[inline]
    pub fn send(&mut self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        each!(self, port => port.send(pool, slots));
    }

    /// What is to be done besides packets: the state of the link, counters that the kernel keeps,
    /// handshakes; every 10 to 100 ms, and after each sleep. Packets that were sent and are done
    /// with go back to the pool here too.
    pub fn attend(&mut self, pool: &mut Pool) {
        each!(self, port => port.attend(pool));
    }

    /// What becomes readable when there is something to receive, after [`Port::doze`].
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        each!(self, port => port.descriptor())
    }

    /// The worker is about to sleep; false when something came meanwhile, and it must not.
    pub fn doze(&mut self) -> bool {
        each!(self, port => port.doze())
    }

    /// The worker is awake: its peers need not wake it.
    pub fn rise(&mut self) {
        each!(self, port => port.rise());
    }

    /// What went in and out so far, and what was dropped why.
    #[must_use]
    pub fn counters(&self) -> Counters {
        each!(self, port => port.counters())
    }

    /// Its Ethernet address.
    #[must_use]
    pub fn mac(&self) -> [u8; 6] {
        each!(self, port => port.mac())
    }

    /// Octets of the longest packet behind the Ethernet header (and its VLAN tags).
    #[must_use]
    pub fn mtu(&self) -> usize {
        each!(self, port => port.mtu())
    }

    /// Whether the other end of the link is there, as of the last [`Port::attend`].
    #[must_use]
    pub fn is_up(&self) -> bool {
        each!(self, port => port.is_up())
    }

    /// Closes it; cells that it holds go back to the pool. Returns how many could not, because
    /// somebody else may still read them: they are lost to the pool.
    pub fn close(self, pool: &mut Pool) -> usize {
        each!(self, port => port.close(pool))
    }
}
