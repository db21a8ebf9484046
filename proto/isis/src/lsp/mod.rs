//! What fragments say in their TLVs.

mod reach;
mod segment;

pub(crate) use reach::{LINK_UNUSABLE, PATH_METRIC_MAX};
pub use reach::{Neighbour, Reach};
pub use segment::{
    AdjacencySid, LabelRange, PrefixSid, SID_EXPLICIT_NULL, SID_NO_PHP, SID_NODE, SID_READVERTISED,
    SegmentRouting,
};

use crate::address::{AreaAddress, SystemId};
use crate::pdu::{Pdu, TlvKind, VALUE_MAX, read_areas, write_pieces, write_tlv};
use crate::settings::MetricStyle;
use std::net::Ipv4Addr;
use wire::Malformed;

/// The NLPID of IPv4.
pub const NLPID_IPV4: u8 = 0xCC;
/// The NLPID of IPv6.
pub const NLPID_IPV6: u8 = 0x8E;

/// What a fragment says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// Areas of the system.
    pub areas: Vec<AreaAddress>,
    /// Protocols that it routes (NLPIDs).
    pub protocols: Vec<u8>,
    /// Its name.
    pub hostname: Option<String>,
    /// Its addresses of IPv4.
    pub addresses: Vec<Ipv4Addr>,
    /// Its router ID of traffic engineering.
    pub router: Option<Ipv4Addr>,
    /// What it says of segment routing.
    pub segment_routing: Option<SegmentRouting>,
    /// Its neighbours.
    pub neighbours: Vec<Neighbour>,
    /// Prefixes that it reaches.
    pub reaches: Vec<Reach>,
    /// Who made a purge, and from whom that one had it.
    pub purged_by: Vec<SystemId>,
}

impl Content {
    /// Reads what a fragment says.
    ///
    /// # Errors
    /// When a TLV that is known is not as it must be.
    pub fn read(pdu: &Pdu<'_>) -> Result<Self, Malformed> {
        let mut found = Self::default();
        for tlv in pdu.tlvs() {
            let tlv = tlv?;
            match tlv.kind() {
                Some(TlvKind::AreaAddresses) => read_areas(&tlv, &mut found.areas)?,
                Some(TlvKind::Protocols) => found.protocols.extend_from_slice(tlv.value),
                Some(TlvKind::Hostname) => {
                    found.hostname = Some(String::from_utf8_lossy(tlv.value).into_owned());
                }
                Some(TlvKind::IpAddresses) => {
                    let mut cursor = tlv.cursor("RFC 1195 §5.3.5");
                    while !cursor.is_empty() {
                        found.addresses.push(cursor.be32("an address is cut off")?.into());
                    }
                }
                Some(TlvKind::RouterId) => {
                    let mut cursor = tlv.cursor("RFC 5305 §4.3");
                    found.router = Some(cursor.be32("a router ID is cut off")?.into());
                }
                Some(TlvKind::Capability) => {
                    if let Some(said) = SegmentRouting::read(&tlv)? {
                        found.segment_routing.get_or_insert(said);
                    }
                }
                Some(TlvKind::IsReachability | TlvKind::ExtendedIsReachability) => {
                    Neighbour::read_all(&tlv, &mut found.neighbours)?;
                }
                Some(
                    TlvKind::IpInternal | TlvKind::IpExternal | TlvKind::ExtendedIp | TlvKind::Ipv6,
                ) => Reach::read_all(&tlv, &mut found.reaches)?,
                Some(TlvKind::PurgeOriginator) => {
                    let mut cursor = tlv.cursor("RFC 6232 §3");
                    cursor.octet("a purge originator is cut off")?;
                    while !cursor.is_empty() {
                        let system = cursor.array("a purge originator is cut off")?;
                        found.purged_by.push(SystemId(system));
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// What is said in fragment 0 alone.
    fn head(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let areas = self.areas.iter().map(crate::pdu::area_piece);
        write_pieces(&mut out, TlvKind::AreaAddresses, areas);
        if !self.protocols.is_empty() {
            write_tlv(&mut out, TlvKind::Protocols.number(), &self.protocols);
        }
        if let Some(name) = &self.hostname {
            write_tlv(&mut out, TlvKind::Hostname.number(), name.as_bytes());
        }
        let addresses = self.addresses.iter().map(Ipv4Addr::octets);
        write_pieces(&mut out, TlvKind::IpAddresses, addresses);
        if let Some(router) = self.router {
            write_tlv(&mut out, TlvKind::RouterId.number(), &router.octets());
        }
        if let Some(said) = &self.segment_routing {
            let router = self.router.unwrap_or(Ipv4Addr::UNSPECIFIED);
            write_tlv(&mut out, TlvKind::Capability.number(), &said.capability(router));
        }
        out
    }

    /// The TLVs as fragments of at most `octets`: the first has what names the system.
    #[must_use]
    pub fn fragments(&self, style: MetricStyle, octets: usize) -> Vec<Vec<u8>> {
        let mut packing = Packing { fragments: vec![self.head()], open: None, octets };
        let neighbours = || self.neighbours.iter();
        if style.is_narrow() {
            let pieces = neighbours().map(Neighbour::narrow);
            packing.add(TlvKind::IsReachability, Some(0), pieces);
        }
        if style.is_wide() {
            packing.add(TlvKind::ExtendedIsReachability, None, neighbours().map(Neighbour::wide));
        }
        let of = |is_ipv6: bool, is_external: Option<bool>| {
            let mine = move |it: &&Reach| {
                it.prefix.is_ipv6() == is_ipv6
                    && is_external.is_none_or(|external| external == it.is_external)
            };
            self.reaches.iter().filter(mine)
        };
        if style.is_narrow() {
            let internal = of(false, Some(false)).filter_map(Reach::narrow);
            packing.add(TlvKind::IpInternal, None, internal);
            let external = of(false, Some(true)).filter_map(Reach::narrow);
            packing.add(TlvKind::IpExternal, None, external);
        }
        if style.is_wide() {
            packing.add(TlvKind::ExtendedIp, None, of(false, None).map(Reach::wide));
        }
        packing.add(TlvKind::Ipv6, None, of(true, None).map(Reach::wide));
        packing.fragments
    }
}

/// Pieces of TLVs on their way into fragments.
struct Packing {
    fragments: Vec<Vec<u8>>,
    /// Where the TLV begins that the next piece may stand in.
    open: Option<usize>,
    octets: usize,
}

impl Packing {
    /// Adds pieces, each whole in one TLV. `first` is what such a TLV begins with.
    fn add(&mut self, kind: TlvKind, first: Option<u8>, pieces: impl Iterator<Item = Vec<u8>>) {
        self.open = None;
        for piece in pieces {
            self.add_piece(kind, first, &piece);
        }
    }

    fn add_piece(&mut self, kind: TlvKind, first: Option<u8>, piece: &[u8]) {
        let Some(last) = self.fragments.last_mut() else { return };
        let has_room = last.len() + piece.len() <= self.octets;
        let open =
            self.open.filter(|at| has_room && last.len() - at - 2 + piece.len() <= VALUE_MAX);
        let at = match open {
            Some(at) => at,
            None => {
                if last.len() + 3 + piece.len() > self.octets {
                    self.fragments.push(Vec::new());
                }
                let Some(last) = self.fragments.last_mut() else { return };
                let at = last.len();
                last.extend_from_slice(&[kind.number(), 0]);
                last.extend(first);
                self.open = Some(at);
                at
            }
        };
        let Some(last) = self.fragments.last_mut() else { return };
        last.extend_from_slice(piece);
        last[at + 1] = machine::narrow::at_most((last.len() - at - 2) as u64, u8::MAX);
    }
}

/// The TLVs of a purge (RFC 6232, RFC 6233).
#[must_use]
pub fn purge(by: SystemId, from: Option<SystemId>, hostname: &str) -> Vec<u8> {
    let mut value = vec![1 + u8::from(from.is_some())];
    value.extend_from_slice(&by.0);
    from.iter().for_each(|it| value.extend_from_slice(&it.0));
    let mut out = Vec::new();
    write_tlv(&mut out, TlvKind::PurgeOriginator.number(), &value);
    if !hostname.is_empty() {
        write_tlv(&mut out, TlvKind::Hostname.number(), hostname.as_bytes());
    }
    out
}

/// Whether a purge has nothing in it that one may not have where purges are authenticated (RFC
/// 5304 §2, RFC 6233 §3).
pub(crate) fn is_plain_purge(pdu: &Pdu<'_>) -> bool {
    let may = [TlvKind::Authentication, TlvKind::PurgeOriginator, TlvKind::Hostname];
    pdu.tlvs().all(|tlv| tlv.is_ok_and(|tlv| tlv.kind().is_some_and(|it| may.contains(&it))))
}
