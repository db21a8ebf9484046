//! What is done with a packet that leaves by a next hop: one cache line, ready for rewriting.

use std::fmt;

/// Octets of a rewrite at most: Ethernet with two VLAN tags (22) and four labels (16), and two.
pub const REWRITE_MAX: usize = 40;

/// What is done with the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Kind {
    /// It is dropped; [`Line::reason`] says why.
    #[default]
    Drop = 0,
    /// It is for this router.
    Local,
    /// The link address is not known: it waits, or asks, on [`Line::interface`]. For the packet's
    /// own destination if [`Line::argument`] is 0, else for the neighbour of that number.
    Glean,
    /// The rewrite goes before it, and it leaves on [`Line::interface`].
    Rewrite,
    /// It is looked up in the VRF [`Line::argument`].
    LookupVrf,
    /// It goes to the bridge domain [`Line::argument`].
    Bridge,
    /// It goes to the cross-connect [`Line::argument`].
    CrossConnect,
}

/// One next hop as the nodes of the graph read it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line {
    /// What is done.
    pub kind: Kind,
    pub(super) rewrite_bytes: u8,
    /// The number of the node that goes on, as the graph that made the hop gave it.
    pub next: u16,
    /// Octets that a packet may have when the rewrite is not counted; 0: any.
    pub mtu_bytes: u16,
    /// Why packets are dropped, as the graph numbers its reasons.
    pub reason: u16,
    /// The interface that it leaves by.
    pub interface: u32,
    /// The counter of the hop.
    pub counter: u32,
    /// What the kind says.
    pub argument: u32,
    /// The hop's own number: of the chosen member where the route leads to a group.
    pub hop: u32,
    pub(super) rewrite: [u8; REWRITE_MAX],
}

const _: () = assert!(size_of::<Line>() == 64, "a line is a cache line");

impl Line {
    /// A line without a rewrite.
    #[must_use]
    pub const fn new(kind: Kind, next: u16) -> Self {
        Self {
            kind,
            rewrite_bytes: 0,
            next,
            mtu_bytes: 0,
            reason: 0,
            interface: 0,
            counter: 0,
            argument: 0,
            hop: 0,
            rewrite: [0; REWRITE_MAX],
        }
    }

    /// A line that drops.
    #[must_use]
    pub const fn dropping(reason: u16, next: u16) -> Self {
        Self { reason, ..Self::new(Kind::Drop, next) }
    }

    /// A line that puts octets before a packet and sends it; `None` if there are more than
    /// [`REWRITE_MAX`].
    #[must_use]
    pub fn rewriting(next: u16, interface: u32, octets: &[u8]) -> Option<Self> {
        let line = Self { interface, ..Self::new(Kind::Rewrite, next) };
        line.with_rewrite(octets)
    }

    /// The same line with other octets before the packet; `None` if there are too many.
    #[must_use]
    pub fn with_rewrite(mut self, octets: &[u8]) -> Option<Self> {
        let start = REWRITE_MAX.checked_sub(octets.len())?;
        self.rewrite = [0; REWRITE_MAX];
        self.rewrite[start..].copy_from_slice(octets);
        #[allow(clippy::cast_possible_truncation, reason = "at most `REWRITE_MAX`")]
        let rewrite_bytes = octets.len() as u8;
        self.rewrite_bytes = rewrite_bytes;
        Some(self)
    }

    /// Octets that go before the packet.
    #[inline]
    #[must_use]
    pub fn rewrite(&self) -> &[u8] {
        &self.rewrite[REWRITE_MAX - self.rewrite_len()..]
    }

    /// How many octets go before the packet.
    #[inline]
    #[must_use]
    pub fn rewrite_len(&self) -> usize {
        usize::from(self.rewrite_bytes).min(REWRITE_MAX)
    }

    /// All [`REWRITE_MAX`] octets, the rewrite at their end: whoever has as much room before the
    /// packet copies them without looking at the length.
    #[inline]
    #[must_use]
    pub const fn rewrite_block(&self) -> &[u8; REWRITE_MAX] {
        &self.rewrite
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new(Kind::Drop, 0)
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("hop", &self.hop)
            .field("kind", &self.kind)
            .field("next", &self.next)
            .field("reason", &self.reason)
            .field("interface", &self.interface)
            .field("argument", &self.argument)
            .field("mtu_bytes", &self.mtu_bytes)
            .field("rewrite", &format_args!("{:02x?}", self.rewrite()))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_ends_where_the_packet_begins() {
        let line = Line::rewriting(3, 7, &[1, 2, 3]).unwrap();
        assert_eq!((line.rewrite(), line.next, line.interface), (&[1, 2, 3][..], 3, 7));
        assert_eq!(line.rewrite_block()[36..], [0, 1, 2, 3]);
        assert_eq!(Line::rewriting(0, 0, &[0; 41]), None);
        assert_eq!(Line::rewriting(0, 0, &[9; 40]).unwrap().rewrite(), [9; 40]);
    }
}
