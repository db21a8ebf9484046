//! Routes packed into UPDATEs: as many of one attribute set into a message as fit, and as many
//! messages into one buffer as the caller likes.
//!
//! ```
//! use bgp::codec::{Context, Messages, Peering, Update};
//! use bgp::family::{Family, Ipv4Prefix};
//! use bgp::pack::{Announcement, Limits};
//!
//! let attributes = [0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, 192, 0, 2, 1];
//! let mut buffer = Vec::new();
//! let limits = Limits { message_max: 4_096, add_path: false };
//! let mut packing = Announcement::plain(limits, &attributes, &mut buffer).expect("they fit");
//! for third in 0..2_000u32 {
//!     let address = (10 << 24 | third << 8).into();
//!     packing.prefix(0, Ipv4Prefix::new(address, 24).expect("24 bits"));
//! }
//! assert_eq!(packing.finish(), 2_000);
//! assert_eq!(Messages::new(&buffer, 4_096).count(), 2);
//! ```

use crate::codec::{Flags, HEADER_BYTES, MessageType, begin, end, octet, word};
use crate::family::{Family, Ipv4Prefix, Ipv6Prefix};

/// Octets of a path identifier.
const PATH_ID_BYTES: usize = 4;
/// Octets of an UPDATE without routes and attributes.
const EMPTY_BYTES: usize = HEADER_BYTES + 4;
/// Octets of flags, type and extended length.
const ATTRIBUTE_HEAD_BYTES: usize = 4;
/// MP_REACH_NLRI and MP_UNREACH_NLRI (RFC 4760 §3, §4).
const MP_REACH: u8 = 14;
const MP_UNREACH: u8 = 15;

/// What was negotiated, as far as UPDATEs are written by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Octets of a message at most.
    pub message_max: usize,
    /// Routes have path identifiers (RFC 7911 §3).
    pub add_path: bool,
}

/// The attributes leave no room for a route: it cannot be told to this peer, and a route that was
/// told before is to be withdrawn (RFC 8654 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// What stands around the routes of a message.
#[derive(Debug, Clone, Copy)]
enum Around<'a> {
    /// Routes of the last field, behind these attributes.
    Plain(&'a [u8]),
    /// Routes of MP_REACH_NLRI, in front of these attributes (RFC 7606 §5.1).
    Reach(Family, &'a [u8], &'a [u8]),
    /// Routes of the first field.
    Withdrawn,
    /// Routes of MP_UNREACH_NLRI.
    Unreach(Family),
}

impl Around<'_> {
    /// Octets of a message without its routes.
    const fn bytes(&self) -> usize {
        let octets = match self {
            Self::Plain(attributes) => attributes.len(),
            Self::Reach(_, next_hop, attributes) => {
                ATTRIBUTE_HEAD_BYTES + 5 + next_hop.len() + attributes.len()
            }
            Self::Withdrawn => 0,
            Self::Unreach(_) => ATTRIBUTE_HEAD_BYTES + 3,
        };
        EMPTY_BYTES + octets
    }

    /// Octets that follow the routes.
    const fn behind(&self) -> usize {
        match self {
            Self::Plain(_) | Self::Unreach(_) => 0,
            Self::Reach(_, _, attributes) => attributes.len(),
            Self::Withdrawn => 2,
        }
    }

    /// Appends what stands before the routes.
    fn open(&self, out: &mut Vec<u8>) {
        let attribute = |number, family: Family, out: &mut Vec<u8>| {
            let flags = Flags::OPTIONAL | Flags::EXTENDED_LENGTH;
            let [high, low] = family.afi().to_be_bytes();
            out.extend_from_slice(&[0, 0, 0, 0, flags, number, 0, 0, high, low, family.safi()]);
        };
        match self {
            Self::Plain(attributes) => {
                let [high, low] = word(attributes.len()).to_be_bytes();
                out.extend_from_slice(&[0, 0, high, low]);
                out.extend_from_slice(attributes);
            }
            Self::Reach(family, next_hop, _) => {
                attribute(MP_REACH, *family, out);
                out.push(octet(next_hop.len()));
                out.extend_from_slice(next_hop);
                out.push(0);
            }
            Self::Withdrawn => out.extend_from_slice(&[0, 0]),
            Self::Unreach(family) => attribute(MP_UNREACH, *family, out),
        }
    }

    /// Appends what stands behind the routes of the message that began at `start`, and sets every
    /// length.
    fn close(&self, start: usize, out: &mut Vec<u8>) {
        let body = start + HEADER_BYTES;
        let set = |at: usize, length: usize, out: &mut Vec<u8>| {
            out[at..at + 2].copy_from_slice(&word(length).to_be_bytes());
        };
        match self {
            Self::Plain(_) => {}
            Self::Withdrawn => {
                set(body, out.len() - body - 2, out);
                out.extend_from_slice(&[0, 0]);
            }
            Self::Reach(..) | Self::Unreach(_) => {
                set(body + 6, out.len() - body - 8, out);
                if let Self::Reach(_, _, attributes) = self {
                    out.extend_from_slice(attributes);
                }
                set(body + 2, out.len() - body - 4, out);
            }
        }
        end(start, out);
    }
}

/// Routes that are being packed. What was begun is whole after [`Packing::finish`] only.
#[derive(Debug)]
#[must_use = "the last message is whole after `finish` only"]
struct Packing<'a, 'o> {
    around: Around<'a>,
    out: &'o mut Vec<u8>,
    limits: Limits,
    /// Where the open message began; beyond the buffer when none is open.
    start: usize,
    /// The length of the buffer at which the open message is full.
    full: usize,
    count: usize,
}

/// No message is open.
const NONE: usize = usize::MAX;

impl<'a, 'o> Packing<'a, 'o> {
    fn new(around: Around<'a>, limits: Limits, out: &'o mut Vec<u8>) -> Self {
        Self { around, out, limits, start: NONE, full: 0, count: 0 }
    }

    /// Closes the open message and opens the next.
    #[cold]
    fn turn(&mut self) {
        self.close();
        self.start = begin(MessageType::Update, self.out);
        self.around.open(self.out);
        self.full = self.start + self.limits.message_max - self.around.behind();
    }

    fn close(&mut self) {
        if self.start != NONE {
            self.around.close(self.start, self.out);
        }
        (self.start, self.full) = (NONE, 0);
    }

    /// Makes room for `octets` and writes the path identifier.
    #[inline]
    fn room(&mut self, path_id: u32, octets: usize) {
        let path = if self.limits.add_path { PATH_ID_BYTES } else { 0 };
        if self.out.len() + path + octets > self.full {
            self.turn();
        }
        if self.limits.add_path {
            self.out.extend_from_slice(&path_id.to_be_bytes());
        }
        self.count += 1;
    }

    /// Whether a route of that many octets fits into an empty message.
    fn fits(&self, octets: usize) -> bool {
        let path = if self.limits.add_path { PATH_ID_BYTES } else { 0 };
        self.around.bytes() + path + octets <= self.limits.message_max
    }

    fn route(&mut self, path_id: u32, wire: &[u8]) -> Result<(), TooLong> {
        if !self.fits(wire.len()) {
            return Err(TooLong);
        }
        self.room(path_id, wire.len());
        self.out.extend_from_slice(wire);
        Ok(())
    }
}

macro_rules! packing {
    ($(#[$doc:meta])* $name:ident<$($life:lifetime),+>($packing:ty)) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "the last message is whole after `finish` only"]
        pub struct $name<$($life),+>($packing);

        impl<$($life),+> $name<$($life),+> {
            /// Adds a route: its octets without path identifier.
            ///
            /// # Errors
            /// It does not fit into a message, and nothing was added.
            pub fn route(&mut self, path_id: u32, wire: &[u8]) -> Result<(), TooLong> {
                self.0.route(path_id, wire)
            }

            /// Adds an IPv4 prefix.
            #[inline]
            pub fn prefix(&mut self, path_id: u32, prefix: Ipv4Prefix) {
                self.0.room(path_id, prefix.wire_bytes());
                prefix.write(self.0.out);
            }

            /// Adds an IPv6 prefix.
            #[inline]
            pub fn ipv6_prefix(&mut self, path_id: u32, prefix: Ipv6Prefix) {
                self.0.room(path_id, prefix.wire_bytes());
                prefix.write(self.0.out);
            }

            /// Octets in the buffer, those of the open message included.
            #[must_use]
            pub fn buffered(&self) -> usize {
                self.0.out.len()
            }

            /// Closes the last message; how many routes were added.
            pub fn finish(mut self) -> usize {
                self.0.close();
                self.0.count
            }
        }
    };
}

packing! {
    /// Routes of one attribute set.
    Announcement<'a, 'o>(Packing<'a, 'o>)
}

packing! {
    /// Routes that are withdrawn.
    Withdrawal<'o>(Packing<'static, 'o>)
}

/// Octets that any plain prefix takes, with its path identifier.
const PREFIX_BYTES_MAX: usize = PATH_ID_BYTES + 17;

impl<'a, 'o> Announcement<'a, 'o> {
    /// IPv4 routes of the last field; `attributes` have NEXT_HOP.
    ///
    /// # Errors
    /// The attributes leave no room.
    pub fn plain(
        limits: Limits,
        attributes: &'a [u8],
        out: &'o mut Vec<u8>,
    ) -> Result<Self, TooLong> {
        Self::around(Around::Plain(attributes), limits, out)
    }

    /// Routes of any family in MP_REACH_NLRI; `attributes` have neither it nor NEXT_HOP.
    ///
    /// # Errors
    /// The attributes leave no room.
    pub fn multiprotocol(
        limits: Limits,
        family: Family,
        next_hop: &'a [u8],
        attributes: &'a [u8],
        out: &'o mut Vec<u8>,
    ) -> Result<Self, TooLong> {
        Self::around(Around::Reach(family, next_hop, attributes), limits, out)
    }

    fn around(around: Around<'a>, limits: Limits, out: &'o mut Vec<u8>) -> Result<Self, TooLong> {
        let packing = Packing::new(around, limits, out);
        if packing.fits(PREFIX_BYTES_MAX) { Ok(Self(packing)) } else { Err(TooLong) }
    }
}

impl<'o> Withdrawal<'o> {
    /// IPv4 routes of the first field.
    pub fn plain(limits: Limits, out: &'o mut Vec<u8>) -> Self {
        Self(Packing::new(Around::Withdrawn, limits, out))
    }

    /// Routes of any family in MP_UNREACH_NLRI.
    pub fn multiprotocol(limits: Limits, family: Family, out: &'o mut Vec<u8>) -> Self {
        Self(Packing::new(Around::Unreach(family), limits, out))
    }
}

/// Appends the End-of-RIB of a family (RFC 4724 §2).
pub fn end_of_rib(family: Family, out: &mut Vec<u8>) {
    let around = match family {
        Family::Ipv4Unicast => Around::Plain(&[]),
        other => Around::Unreach(other),
    };
    let start = begin(MessageType::Update, out);
    around.open(out);
    around.close(start, out);
}
