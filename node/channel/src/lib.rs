//! Channels: how a function speaks with another process of this machine, in whole messages. The
//! shard that runs the function owns the channel; whoever implements these traits does the IO.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

use std::fmt;
use std::os::fd::BorrowedFd;

/// The way to another process.
pub trait Connect: fmt::Debug + Send + Sync {
    /// Connects, without ever waiting.
    ///
    /// # Errors
    /// Nobody is at the other end.
    fn connect(&self) -> Result<Box<dyn Channel>, Absent>;
}

/// A channel that stands. Nothing here waits.
pub trait Channel: Send {
    /// Can be read when the other side has said something.
    fn descriptor(&self) -> BorrowedFd<'_>;

    /// Reads some of what has come, and gives each whole message and each packet to `take`.
    ///
    /// # Errors
    /// Why the channel is over, in words; every message that came before was given.
    fn read(&mut self, take: &mut dyn FnMut(Came<'_>)) -> Result<(), String>;

    /// Writes messages, and what waited before them; keeps what the other side does not take yet.
    ///
    /// # Errors
    /// Why the channel is over, in words.
    fn write(&mut self, messages: Vec<u8>) -> Result<(), String>;

    /// Whether something waits for the other side.
    fn waits(&self) -> bool;

    /// Sends packets, which are then on their way or shed; how many were shed.
    ///
    /// # Errors
    /// Why the channel is over, in words.
    fn send(&mut self, packets: &Packets) -> Result<usize, String> {
        // A channel of messages alone.
        Ok(packets.len())
    }
}

/// What came by a channel.
#[derive(Debug, Clone, Copy)]
pub enum Came<'a> {
    /// A whole message.
    Message(&'a [u8]),
    /// A packet, and what the forwarder knows of it.
    Packet(PacketRecord, &'a [u8]),
}

/// What is known of a packet that comes up from a forwarder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketRecord {
    /// When the forwarder handed it up, nanoseconds since the UNIX epoch, by its clock.
    pub time_ns: u64,
    /// The interface that it came by; 0: none.
    pub interface: u32,
    /// The routing table in force.
    pub vrf: u32,
    /// Its class: the place in the list of classes that this channel asked for.
    pub class: u8,
}

/// Where a packet goes that a forwarder is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketTo {
    /// Out of this interface: a whole frame.
    Interface(u32),
    /// Out of this interface, to a group of its link: an IP packet, whose frame the forwarder
    /// makes.
    Link(u32),
    /// By the routes of this table: an IP packet.
    Vrf(u32),
    /// To the feature of the forwarder whose class this is, as the feature takes it.
    Feature {
        /// The place in the list of classes that this channel asked for.
        class: u8,
        /// An interface, if the feature wants to know one.
        interface: u32,
        /// A routing table.
        vrf: u32,
    },
}

/// Packets to be sent, one behind the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packets {
    octets: Vec<u8>,
    ends: Vec<(PacketTo, usize)>,
}

impl Packets {
    /// One more: what `write` appends. Nothing is sent when it appends nothing.
    pub fn push(&mut self, to: PacketTo, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.octets.len();
        write(&mut self.octets);
        if self.octets.len() > start {
            self.ends.push((to, self.octets.len()));
        }
    }

    /// Forgets them, and keeps the room.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (PacketTo, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(to, end)| {
            let packet = &self.octets[start..end];
            start = end;
            (to, packet)
        })
    }
}

/// Why there is no channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absent {
    /// Nobody is there yet: the process is being started.
    Starting,
    /// In words.
    Failed(String),
}
