//! A table dump as the paths it holds, of either form.

use crate::attributes::canonical;
use crate::peers::Peer;
use crate::records::{Body, Record, Records};
use crate::rib::{Entries, Entry};
use crate::table_dump::TableDump;
use bgp::codec::{AttributeType, Attributes, Edit, rewrite};
use bgp::family::{Family, Ipv4Prefix, Ipv6Prefix, Layout, Route, RouteKey, Routes};
use std::borrow::Cow;
use wire::Malformed;

/// A path of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RibEntry<'a> {
    /// Its family.
    pub family: Family,
    /// Its path identifier, zero without.
    pub path_id: u32,
    /// What is routed, as it stands on the wire, without path identifier.
    pub nlri: Cow<'a, [u8]>,
    /// Whose it is.
    pub peer: Peer,
    /// The index of that peer, zero in TABLE_DUMP.
    pub peer_index: u16,
    /// When it came, in seconds since 1970.
    pub originated_s: u32,
    /// The attributes: ASes of four octets, MP_REACH_NLRI no more than the next hop with its
    /// length (RFC 6396 §4.3.4).
    pub attributes: Cow<'a, [u8]>,
}

impl RibEntry<'_> {
    /// The route; `None` if nobody knows its type.
    #[must_use]
    pub fn route(&self) -> Option<Route<'_>> {
        let layout = Layout { add_path: false, multiple_labels: true, withdrawn: false };
        let route = Routes::new(self.family, layout, &self.nlri).next()?;
        Some(Route { path_id: self.path_id, ..route })
    }

    /// What is routed, as tables hold it; `None` if nobody knows its type.
    #[must_use]
    pub fn key(&self) -> Option<RouteKey> {
        self.route().map(|route| route.key())
    }

    /// The prefix, of IPv4 unicast and multicast.
    #[must_use]
    pub fn ipv4(&self) -> Option<Ipv4Prefix> {
        let is_it = matches!(self.family, Family::Ipv4Unicast | Family::Ipv4Multicast);
        if is_it { Ipv4Prefix::read(&self.nlri).map(|it| it.0) } else { None }
    }

    /// The prefix, of IPv6 unicast and multicast.
    #[must_use]
    pub fn ipv6(&self) -> Option<Ipv6Prefix> {
        let is_it = matches!(self.family, Family::Ipv6Unicast | Family::Ipv6Multicast);
        if is_it { Ipv6Prefix::read(&self.nlri).map(|it| it.0) } else { None }
    }

    /// The octets of the next hop: of MP_REACH_NLRI, or of NEXT_HOP.
    #[must_use]
    pub fn next_hop(&self) -> Option<&[u8]> {
        let all = Attributes::new(&self.attributes);
        let mp = all.value(AttributeType::MpReachNlri).and_then(|value| value.get(1..));
        mp.or_else(|| all.value(AttributeType::NextHop))
    }

    /// Appends the attributes without MP_REACH_NLRI, as [`bgp::codec::Update::canonical`] gives
    /// them and `bgp::pack` takes them.
    pub fn write_set(&self, out: &mut Vec<u8>) {
        let edits = [Edit { kind: AttributeType::MpReachNlri, value: None }];
        let fits = rewrite(&self.attributes, &edits, out);
        debug_assert!(fits, "nothing is put in");
    }
}

/// The paths of a table dump. What is malformed is told, and the next record comes; records that
/// hold no paths are passed over.
#[derive(Debug, Clone)]
pub struct RibEntries<'a> {
    records: Records<'a>,
    peers: Vec<Peer>,
    family: Family,
    nlri: &'a [u8],
    entries: Entries<'a>,
}

impl<'a> RibEntries<'a> {
    /// The paths of a whole file.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::of(Records::new(bytes), Vec::new())
    }

    /// The paths of further records, whose peers are known: see [`RibEntries::into_peers`].
    #[must_use]
    pub const fn of(records: Records<'a>, peers: Vec<Peer>) -> Self {
        let family = Family::Ipv4Unicast;
        Self { records, peers, family, nlri: &[], entries: Entries::NONE }
    }

    /// The peers of the last index table.
    #[must_use]
    pub fn peers(&self) -> &[Peer] {
        &self.peers
    }

    /// The peers of the last index table, for the next piece of the file.
    #[must_use]
    pub fn into_peers(self) -> Vec<Peer> {
        self.peers
    }

    /// The records that have not been read.
    #[must_use]
    pub const fn records(&self) -> &Records<'a> {
        &self.records
    }

    fn entry(&self, entry: &Entry<'a>) -> Result<RibEntry<'a>, Malformed> {
        let Some(peer) = self.peers.get(usize::from(entry.peer)) else {
            let what = "the peer does not stand in the index table";
            return Err(Malformed::new(entry.at, what, "RFC 6396 §4.3.4"));
        };
        Ok(RibEntry {
            family: self.family,
            path_id: entry.path_id,
            nlri: Cow::Borrowed(self.nlri),
            peer: *peer,
            peer_index: entry.peer,
            originated_s: entry.originated_s,
            attributes: canonical(entry.attributes, entry.at, self.family, false)?,
        })
    }

    /// Takes up a record; the path of a TABLE_DUMP.
    fn begin(&mut self, record: &Record<'a>) -> Result<Option<RibEntry<'a>>, Malformed> {
        match record.read()? {
            Body::PeerIndexTable(table) => {
                self.peers.clear();
                self.peers.extend(table.peers);
            }
            Body::Rib(rib) => {
                (self.family, self.nlri, self.entries) = (rib.family, rib.nlri, rib.entries);
            }
            Body::TableDump(dump) => return old_entry(&dump).map(Some),
            Body::StateChange(_) | Body::Message(_) | Body::Unknown => {}
        }
        Ok(None)
    }
}

fn old_entry<'a>(dump: &TableDump<'a>) -> Result<RibEntry<'a>, Malformed> {
    let mut nlri = Vec::with_capacity(1 + 16);
    dump.write_nlri(&mut nlri);
    Ok(RibEntry {
        family: dump.family(),
        path_id: 0,
        nlri: Cow::Owned(nlri),
        peer: dump.peer,
        peer_index: 0,
        originated_s: dump.originated_s,
        attributes: canonical(dump.attributes, dump.at, dump.family(), true)?,
    })
}

impl<'a> Iterator for RibEntries<'a> {
    type Item = Result<RibEntry<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(self.entry(&entry));
            }
            let begun = self.records.next()?.and_then(|record| self.begin(&record));
            if let Some(entry) = begun.transpose() {
                return Some(entry);
            }
        }
    }
}
