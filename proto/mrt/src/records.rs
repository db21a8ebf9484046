//! Records of a file: the common header and the kinds of bodies (RFC 6396 §2, §3, §4).

use crate::messages::{Message, StateChange};
use crate::peers::PeerIndexTable;
use crate::rib::Rib;
use crate::table_dump::TableDump;
use wire::Malformed;

/// Octets of the common header (RFC 6396 §2).
pub const HEADER_BYTES: usize = 12;
/// Octets of a record's body at most. A peer index table takes 1.7 MB, a RIB record of 2,000 paths
/// less than that; a length beyond is not believed.
pub const RECORD_BYTES_MAX: usize = 1 << 24;

wire::rows! {
    /// The types of records that are understood.
    pub enum Kind: u16 {
        /// One route of one peer, of two-octet ASes.
        TableDump = 12, "TABLE_DUMP", "RFC 6396 §4.2";
        /// A table: its peers once, then each prefix with its paths.
        TableDumpV2 = 13, "TABLE_DUMP_V2", "RFC 6396 §4.3";
        /// A message or a change of state.
        Bgp4mp = 16, "BGP4MP", "RFC 6396 §4.4";
        /// The same with microseconds.
        Bgp4mpEt = 17, "BGP4MP_ET", "RFC 6396 §4.5";
    }
}

wire::rows! {
    /// Subtypes of TABLE_DUMP_V2 that are understood.
    pub enum TableSubtype: u16 {
        /// The peers.
        PeerIndexTable = 1, "PEER_INDEX_TABLE", "RFC 6396 §4.3.1";
        /// IPv4 unicast.
        RibIpv4Unicast = 2, "RIB_IPV4_UNICAST", "RFC 6396 §4.3.2";
        /// IPv4 multicast.
        RibIpv4Multicast = 3, "RIB_IPV4_MULTICAST", "RFC 6396 §4.3.2";
        /// IPv6 unicast.
        RibIpv6Unicast = 4, "RIB_IPV6_UNICAST", "RFC 6396 §4.3.2";
        /// IPv6 multicast.
        RibIpv6Multicast = 5, "RIB_IPV6_MULTICAST", "RFC 6396 §4.3.2";
        /// Any other family.
        RibGeneric = 6, "RIB_GENERIC", "RFC 6396 §4.3.3";
        /// IPv4 unicast with path identifiers.
        RibIpv4UnicastAddPath = 8, "RIB_IPV4_UNICAST_ADDPATH", "RFC 8050 §4.1";
        /// IPv4 multicast with path identifiers.
        RibIpv4MulticastAddPath = 9, "RIB_IPV4_MULTICAST_ADDPATH", "RFC 8050 §4.1";
        /// IPv6 unicast with path identifiers.
        RibIpv6UnicastAddPath = 10, "RIB_IPV6_UNICAST_ADDPATH", "RFC 8050 §4.1";
        /// IPv6 multicast with path identifiers.
        RibIpv6MulticastAddPath = 11, "RIB_IPV6_MULTICAST_ADDPATH", "RFC 8050 §4.1";
        /// Any other family with path identifiers.
        RibGenericAddPath = 12, "RIB_GENERIC_ADDPATH", "RFC 8050 §4.2";
    }
}

wire::rows! {
    /// Subtypes of BGP4MP and BGP4MP_ET that are understood.
    pub enum MessageSubtype: u16 {
        /// A change of state, two-octet ASes.
        StateChange = 0, "BGP4MP_STATE_CHANGE", "RFC 6396 §4.4.1";
        /// A message that came, two-octet ASes.
        Message = 1, "BGP4MP_MESSAGE", "RFC 6396 §4.4.2";
        /// A message that came.
        MessageAs4 = 4, "BGP4MP_MESSAGE_AS4", "RFC 6396 §4.4.3";
        /// A change of state.
        StateChangeAs4 = 5, "BGP4MP_STATE_CHANGE_AS4", "RFC 6396 §4.4.4";
        /// A message that was sent, two-octet ASes.
        MessageLocal = 6, "BGP4MP_MESSAGE_LOCAL", "RFC 6396 §4.4.5";
        /// A message that was sent.
        MessageAs4Local = 7, "BGP4MP_MESSAGE_AS4_LOCAL", "RFC 6396 §4.4.6";
        /// A message that came, with path identifiers, two-octet ASes.
        MessageAddPath = 8, "BGP4MP_MESSAGE_ADDPATH", "RFC 8050 §3";
        /// A message that came, with path identifiers.
        MessageAs4AddPath = 9, "BGP4MP_MESSAGE_AS4_ADDPATH", "RFC 8050 §3";
        /// A message that was sent, with path identifiers, two-octet ASes.
        MessageLocalAddPath = 10, "BGP4MP_MESSAGE_LOCAL_ADDPATH", "RFC 8050 §3";
        /// A message that was sent, with path identifiers.
        MessageAs4LocalAddPath = 11, "BGP4MP_MESSAGE_AS4_LOCAL_ADDPATH", "RFC 8050 §3";
    }
}

/// A record, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Offset in the file of its header.
    pub at: usize,
    /// Seconds since 1970.
    pub seconds: u32,
    /// The number of its type.
    pub kind: u16,
    /// The number of its subtype.
    pub subtype: u16,
    /// All behind the common header, the microseconds of an extended timestamp included.
    pub body: &'a [u8],
}

/// The body of a record, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    /// The peers of the table that follows.
    PeerIndexTable(PeerIndexTable<'a>),
    /// A route and its paths.
    Rib(Rib<'a>),
    /// A session changed its state.
    StateChange(StateChange),
    /// A BGP message.
    Message(Message<'a>),
    /// A route of one peer.
    TableDump(TableDump<'a>),
    /// A type, a subtype or an address family that is not understood: to be passed over.
    Unknown,
}

impl<'a> Record<'a> {
    /// The type, if it is understood.
    #[must_use]
    pub const fn known_kind(&self) -> Option<Kind> {
        Kind::of(self.kind)
    }

    /// The microseconds of an extended timestamp.
    #[must_use]
    pub fn microseconds(&self) -> Option<u32> {
        match self.known_kind() {
            Some(Kind::Bgp4mpEt) => self.body.first_chunk().copied().map(u32::from_be_bytes),
            _ => None,
        }
    }

    /// Reads the body.
    ///
    /// # Errors
    /// It is malformed; the offset is that in the file.
    pub fn read(&self) -> Result<Body<'a>, Malformed> {
        let at = self.at + HEADER_BYTES;
        match self.known_kind() {
            Some(Kind::TableDump) => {
                known(TableDump::read(self.body, at, self.subtype), Body::TableDump)
            }
            Some(Kind::TableDumpV2) => match TableSubtype::of(self.subtype) {
                Some(TableSubtype::PeerIndexTable) => {
                    PeerIndexTable::read(self.body, at).map(Body::PeerIndexTable)
                }
                Some(subtype) => known(Rib::read(self.body, at, subtype), Body::Rib),
                None => Ok(Body::Unknown),
            },
            Some(Kind::Bgp4mp) => read_bgp4mp(self.subtype, self.body, at),
            Some(Kind::Bgp4mpEt) => match self.body.get(4..) {
                Some(body) => read_bgp4mp(self.subtype, body, at + 4),
                None => Err(Malformed::new(at, "the microseconds are cut off", "RFC 6396 §3")),
            },
            None => Ok(Body::Unknown),
        }
    }
}

/// A body that was read, unless its address family is not understood.
fn known<'a, T>(
    read: Result<Option<T>, Malformed>,
    body: impl FnOnce(T) -> Body<'a>,
) -> Result<Body<'a>, Malformed> {
    read.map(|it| it.map_or(Body::Unknown, body))
}

fn read_bgp4mp(subtype: u16, body: &[u8], at: usize) -> Result<Body<'_>, Malformed> {
    use MessageSubtype as Subtype;
    match Subtype::of(subtype) {
        Some(Subtype::StateChange) => known(StateChange::read(body, at, false), Body::StateChange),
        Some(Subtype::StateChangeAs4) => {
            known(StateChange::read(body, at, true), Body::StateChange)
        }
        Some(subtype) => known(Message::read(body, at, subtype), Body::Message),
        None => Ok(Body::Unknown),
    }
}

/// The records that `bytes` begin with.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
    at: usize,
    is_whole: bool,
}

impl<'a> Records<'a> {
    /// The records of a whole file: one that is cut off is a violation.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0, is_whole: true }
    }

    /// The records of a piece that begins `at` octets into the file: they end before one that is
    /// cut off.
    #[must_use]
    pub const fn piece(bytes: &'a [u8], at: usize) -> Self {
        Self { rest: bytes, at, is_whole: false }
    }

    /// What has not been read.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Offset in the file of what has not been read.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The record is cut off.
    fn cut_off(&mut self, what: &'static str) -> Option<Result<Record<'a>, Malformed>> {
        if !self.is_whole {
            return None;
        }
        self.rest = &[];
        Some(Err(Malformed::new(self.at, what, "RFC 6396 §2")))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((header, rest)) = self.rest.split_first_chunk::<HEADER_BYTES>() else {
            return self.cut_off("the header of a record is cut off");
        };
        let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let length = word(8) as usize;
        if length > RECORD_BYTES_MAX {
            self.rest = &[];
            let what = "no record is so long";
            return Some(Err(Malformed::new(self.at + 8, what, "RFC 6396 §2")));
        }
        let Some((body, rest)) = rest.split_at_checked(length) else {
            return self.cut_off("the record is cut off");
        };
        let record =
            Record { at: self.at, seconds: word(0), kind: half(4), subtype: half(6), body };
        self.rest = rest;
        self.at += HEADER_BYTES + length;
        Some(Ok(record))
    }
}
