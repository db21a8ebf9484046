//! What a port counts: packets and octets both ways, and every drop with its reason.

/// Why packets were dropped on their way in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveDrop {
    /// The queue before the port was full: the worker was too slow.
    QueueFull,
    /// The kernel had no cell to write into: the pool was empty.
    NoCell,
    /// Longer than a cell.
    TooLong,
    /// Several packets joined into one by the kernel (GRO) or left to be cut by hardware (GSO).
    Joined,
    /// Not as its length, offset or link-layer header say.
    Malformed,
}

impl ReceiveDrop {
    /// All of them, in the order of [`Counters::receive_drops`].
    pub const ALL: [Self; 5] =
        [Self::QueueFull, Self::NoCell, Self::TooLong, Self::Joined, Self::Malformed];

    /// Its name in counters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::NoCell => "no-cell",
            Self::TooLong => "too-long",
            Self::Joined => "joined",
            Self::Malformed => "malformed",
        }
    }
}

/// Why packets were dropped on their way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendDrop {
    /// The queue behind the port was full (tail drop).
    QueueFull,
    /// Longer than the interface takes.
    TooLong,
    /// The interface or the other end is down.
    Down,
    /// The kernel did not like it otherwise.
    Refused,
}

impl SendDrop {
    /// All of them, in the order of [`Counters::send_drops`].
    pub const ALL: [Self; 4] = [Self::QueueFull, Self::TooLong, Self::Down, Self::Refused];

    /// Its name in counters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::TooLong => "too-long",
            Self::Down => "down",
            Self::Refused => "refused",
        }
    }
}

/// Packets and octets, from the Ethernet header on, without the frame check sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Octets of them.
    pub octets: u64,
}

impl Count {
    /// One more, of `octets`.
    #[inline]
    pub(super) fn add(&mut self, octets: usize) {
        self.packets += 1;
        self.octets += octets as u64;
    }
}

/// Counters of a port since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Handed to the worker.
    pub received: Count,
    /// Taken by the queue behind the port.
    pub sent: Count,
    /// By [`ReceiveDrop`].
    pub receive_drops: [u64; ReceiveDrop::ALL.len()],
    /// By [`SendDrop`].
    pub send_drops: [u64; SendDrop::ALL.len()],
    /// Vectors whose first packet had a checksum that its sender left to hardware, where the port
    /// does not hear of that (`xdp`): one of each vector is looked at.
    pub unfinished: u64,
}

impl Counters {
    /// Packets dropped on their way in for that reason.
    #[must_use]
    pub const fn not_received(&self, why: ReceiveDrop) -> u64 {
        self.receive_drops[why as usize]
    }

    /// Packets dropped on their way out for that reason.
    #[must_use]
    pub const fn not_sent(&self, why: SendDrop) -> u64 {
        self.send_drops[why as usize]
    }

    pub(super) fn drop_received(&mut self, why: ReceiveDrop, packets: u64) {
        self.receive_drops[why as usize] += packets;
    }

    pub(super) fn drop_sent(&mut self, why: SendDrop, packets: u64) {
        self.send_drops[why as usize] += packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_place_and_a_name_of_its_own() {
        let mut counters = Counters::default();
        for (at, why) in ReceiveDrop::ALL.into_iter().enumerate() {
            counters.drop_received(why, at as u64 + 1);
        }
        for (at, why) in SendDrop::ALL.into_iter().enumerate() {
            counters.drop_sent(why, at as u64 + 1);
        }
        assert_eq!((counters.receive_drops, counters.send_drops), ([1, 2, 3, 4, 5], [1, 2, 3, 4]));
        let mut names: Vec<_> = ReceiveDrop::ALL.map(ReceiveDrop::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ReceiveDrop::ALL.len());
    }
}
