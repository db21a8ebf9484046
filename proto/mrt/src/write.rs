//! Writing records: tables and messages. Every function appends whole records.

use crate::messages::{Direction, Ends, FsmState};
use crate::peers::{IS_AS4, IS_IPV6, Peer};
use crate::records::{HEADER_BYTES, Kind, MessageSubtype, RECORD_BYTES_MAX, TableSubtype};
use crate::rib::subtype;
use bgp::codec::{AS_TRANS_SHORT, Asn, AttributeType, Edit, Identifier, rewrite};
use bgp::family::Family;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};

/// Something does not fit into a record: attributes, a name or peers past 65,535, or the record
/// past [`RECORD_BYTES_MAX`]. Nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it does not fit into the record")
    }
}

impl core::error::Error for Full {}

/// The time of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since 1970.
    pub seconds: u32,
    /// Microseconds, for records with extended timestamps.
    pub microseconds: Option<u32>,
}

/// Begins a record whose length [`end`] sets; gives the offset where it begins.
fn begin(seconds: u32, kind: Kind, subtype: u16, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&seconds.to_be_bytes());
    out.extend_from_slice(&kind.number().to_be_bytes());
    out.extend_from_slice(&subtype.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    start
}

fn end(start: usize, out: &mut [u8]) {
    let length = u32::try_from(out.len() - start - HEADER_BYTES).unwrap_or(u32::MAX);
    out[start + 8..start + HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
}

fn put_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
}

/// Appends a PEER_INDEX_TABLE (RFC 6396 §4.3.1). RIB records that follow name its peers by their
/// index.
///
/// # Errors
/// More than 65,535 peers, or octets in the name.
pub fn write_peer_index_table(
    seconds: u32,
    collector: Identifier,
    view: &str,
    peers: &[Peer],
    out: &mut Vec<u8>,
) -> Result<(), Full> {
    let count = u16::try_from(peers.len()).map_err(|_| Full)?;
    let name_bytes = u16::try_from(view.len()).map_err(|_| Full)?;
    let start = begin(seconds, Kind::TableDumpV2, TableSubtype::PeerIndexTable.number(), out);
    out.extend_from_slice(&collector.to_be_bytes());
    out.extend_from_slice(&name_bytes.to_be_bytes());
    out.extend_from_slice(view.as_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    for peer in peers {
        out.push(IS_AS4 | if peer.address.is_ipv6() { IS_IPV6 } else { 0 });
        out.extend_from_slice(&peer.identifier.to_be_bytes());
        put_address(peer.address, out);
        out.extend_from_slice(&peer.asn.to_be_bytes());
    }
    end(start, out);
    Ok(())
}

/// A path to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path<'a> {
    /// Whose path: an index into the peer index table.
    pub peer: u16,
    /// When it came, in seconds since 1970.
    pub originated_s: u32,
    /// Its path identifier, written if the record has them.
    pub id: u32,
    /// The octets of the next hop that stood in MP_REACH_NLRI, for families that have it there.
    pub next_hop: Option<&'a [u8]>,
    /// The attributes with ASes of four octets, as [`bgp::codec::Update::canonical`] gives them, or
    /// with MP_REACH_NLRI shortened already and no `next_hop`.
    pub attributes: &'a [u8],
}

/// A RIB record that is being written: a route, to which paths are added. Dropped without
/// [`RibRecord::finish`], it is taken back.
#[derive(Debug)]
pub struct RibRecord<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    count_at: usize,
    count: u16,
    add_path: bool,
}

impl<'o> RibRecord<'o> {
    /// Begins the record of a route: its number in the dump, its family, whether its paths are
    /// written with identifiers, and its octets on the wire, which must be of the family and
    /// have no path identifier.
    pub fn begin(
        seconds: u32,
        sequence: u32,
        family: Family,
        add_path: bool,
        nlri: &[u8],
        out: &'o mut Vec<u8>,
    ) -> Self {
        let subtype = subtype(family, add_path);
        let start = begin(seconds, Kind::TableDumpV2, subtype.number(), out);
        out.extend_from_slice(&sequence.to_be_bytes());
        if matches!(subtype, TableSubtype::RibGeneric | TableSubtype::RibGenericAddPath) {
            out.extend_from_slice(&family.afi().to_be_bytes());
            out.push(family.safi());
        }
        out.extend_from_slice(nlri);
        let count_at = out.len();
        out.extend_from_slice(&[0; 2]);
        Self { out, start, count_at, count: 0, add_path }
    }

    /// Adds a path.
    ///
    /// # Errors
    /// It does not fit: finish this record and begin another one of the same route. Attributes of
    /// more than 65,535 octets fit nowhere.
    pub fn path(&mut self, path: &Path<'_>) -> Result<(), Full> {
        let count = self.count.checked_add(1).ok_or(Full)?;
        let before = self.out.len();
        self.out.extend_from_slice(&path.peer.to_be_bytes());
        self.out.extend_from_slice(&path.originated_s.to_be_bytes());
        if self.add_path {
            self.out.extend_from_slice(&path.id.to_be_bytes());
        }
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0; 2]);
        self.put_attributes(path);
        let length = u16::try_from(self.out.len() - length_at - 2);
        let (Ok(length), true) = (length, self.out.len() - self.start <= RECORD_BYTES_MAX) else {
            self.out.truncate(before);
            return Err(Full);
        };
        self.out[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
        self.count = count;
        Ok(())
    }

    fn put_attributes(&mut self, path: &Path<'_>) {
        let Some(next_hop) = path.next_hop else {
            return self.out.extend_from_slice(path.attributes);
        };
        // A next hop is two addresses with distinguishers at most.
        let length = u8::try_from(next_hop.len()).unwrap_or(u8::MAX);
        let next_hop = &next_hop[..usize::from(length)];
        let mut short = [0; 256];
        short[0] = length;
        short[1..=next_hop.len()].copy_from_slice(next_hop);
        let value = Some(&short[..=next_hop.len()]);
        let edits = [Edit { kind: AttributeType::MpReachNlri, value }];
        let fits = rewrite(path.attributes, &edits, self.out);
        debug_assert!(fits, "256 octets at most");
    }

    /// Ends the record; how many paths it has. Without paths nothing is appended.
    pub fn finish(mut self) -> u16 {
        let count = core::mem::take(&mut self.count);
        if count == 0 {
            return 0;
        }
        self.out[self.count_at..self.count_at + 2].copy_from_slice(&count.to_be_bytes());
        end(self.start, self.out);
        self.start = self.out.len();
        count
    }
}

impl Drop for RibRecord<'_> {
    fn drop(&mut self) {
        self.out.truncate(self.start);
    }
}

/// What a BGP message is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageForm {
    /// Which way it went.
    pub direction: Direction,
    /// ASes in it have four octets: the session agreed on that.
    pub four_octet_as: bool,
    /// Its routes have path identifiers.
    pub add_path: bool,
}

impl MessageForm {
    const fn subtype(self) -> MessageSubtype {
        use MessageSubtype as S;
        match (self.direction, self.four_octet_as, self.add_path) {
            (Direction::Received, false, false) => S::Message,
            (Direction::Received, true, false) => S::MessageAs4,
            (Direction::Sent, false, false) => S::MessageLocal,
            (Direction::Sent, true, false) => S::MessageAs4Local,
            (Direction::Received, false, true) => S::MessageAddPath,
            (Direction::Received, true, true) => S::MessageAs4AddPath,
            (Direction::Sent, false, true) => S::MessageLocalAddPath,
            (Direction::Sent, true, true) => S::MessageAs4LocalAddPath,
        }
    }
}

fn begin_bgp4mp(stamp: Stamp, subtype: MessageSubtype, out: &mut Vec<u8>) -> usize {
    let kind = if stamp.microseconds.is_some() { Kind::Bgp4mpEt } else { Kind::Bgp4mp };
    let start = begin(stamp.seconds, kind, subtype.number(), out);
    out.extend(stamp.microseconds.into_iter().flat_map(u32::to_be_bytes));
    start
}

fn put_ends(ends: &Ends, four_octets: bool, out: &mut Vec<u8>) {
    let put_asn = |asn: Asn, out: &mut Vec<u8>| {
        let octets = asn.to_be_bytes();
        match u16::try_from(asn) {
            _ if four_octets => out.extend_from_slice(&octets),
            Ok(short) => out.extend_from_slice(&short.to_be_bytes()),
            Err(_) => out.extend_from_slice(&AS_TRANS_SHORT.to_be_bytes()),
        }
    };
    put_asn(ends.peer_as, out);
    put_asn(ends.local_as, out);
    out.extend_from_slice(&ends.interface.to_be_bytes());
    let mapped = |address: IpAddr| -> Ipv6Addr {
        match address {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        }
    };
    if let (IpAddr::V4(peer), IpAddr::V4(local)) = (ends.peer, ends.local) {
        out.extend_from_slice(&[0, 1]);
        out.extend_from_slice(&peer.octets());
        out.extend_from_slice(&local.octets());
    } else {
        out.extend_from_slice(&[0, 2]);
        out.extend_from_slice(&mapped(ends.peer).octets());
        out.extend_from_slice(&mapped(ends.local).octets());
    }
}

/// Appends a BGP message with its header (RFC 6396 §4.4.2 to §4.4.6, RFC 8050 §3). Where the form
/// says two octets, ASes of the ends that need four are written as AS_TRANS; an IPv4 address
/// beside an IPv6 one is written mapped.
pub fn write_message(
    stamp: Stamp,
    ends: &Ends,
    form: MessageForm,
    message: &[u8],
    out: &mut Vec<u8>,
) {
    let start = begin_bgp4mp(stamp, form.subtype(), out);
    put_ends(ends, form.four_octet_as, out);
    out.extend_from_slice(message);
    end(start, out);
}

/// Appends a change of state, with ASes of four octets (RFC 6396 §4.4.4).
pub fn write_state_change(
    stamp: Stamp,
    ends: &Ends,
    from: FsmState,
    to: FsmState,
    out: &mut Vec<u8>,
) {
    let start = begin_bgp4mp(stamp, MessageSubtype::StateChangeAs4, out);
    put_ends(ends, true, out);
    out.extend_from_slice(&from.number().to_be_bytes());
    out.extend_from_slice(&to.number().to_be_bytes());
    end(start, out);
}
