//! The tables as an MRT file (RFC 6396, RFC 8050), a page at a time.

use super::Answer;
use crate::Reflector;
use bgp::family::Family;
use bgp_stack::ask::{hex, wrong};
use machine::Time;
use mrt::{Path, RibRecord};
use question::rows;
use rib::{Page, PathView, RouteView};
use runtime::Ask;
use std::net::{IpAddr, Ipv4Addr};

/// Places of the tables that one page looks at, and octets after which it ends.
const PLACES_MAX: usize = 20_000;
const PAGE_BYTES: usize = 256 << 10;
/// Routes that are taken out of a table at once.
const ROUTES: usize = 500;
/// A peer that is not there: the index of a peer is its place.
const NOBODY: mrt::Peer =
    mrt::Peer { identifier: 0, address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), asn: 0 };

rows! {
    /// A page of the tables as an MRT file.
    pub(crate) struct DumpPage {
        /// In hexadecimal.
        octets: String,
        /// `from` of the next page; null: that was all.
        next: Option<String>,
    }
}

/// Where a page begins: the family, the place in its table, and a digest of the peers that the
/// asker has an index table of.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    family: usize,
    place: usize,
    peers: u64,
}

impl Cursor {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let mut next = || parts.next();
        let (family, place, peers) = (next()?, next()?, next()?);
        Some(Self {
            family: family.parse().ok()?,
            place: place.parse().ok()?,
            peers: u64::from_str_radix(peers, 16).ok()?,
        })
    }

    fn text(self) -> String {
        format!("{}:{}:{:x}", self.family, self.place, self.peers)
    }
}

impl Reflector {
    /// A page of the file, in hexadecimal; `next` is where to go on, absent at the end. The first
    /// page, and one before which peers came or went, begins with an index table.
    pub(super) fn show_dump(&self, now: Time, ask: &Ask) -> Answer<DumpPage> {
        let cursor = ask.params.get("from").map(|text| Cursor::read(text));
        let Some(mut cursor) = cursor.unwrap_or(Some(Cursor::default())) else {
            return Err(wrong("from: what the page before said"));
        };
        let seconds = crate::recording::stamp(now).seconds;
        let mut octets = Vec::new();
        let (peers, digest) = self.index();
        if cursor.peers != digest {
            cursor.peers = digest;
            let (identifier, view) = (self.config.identifier.to_bits(), &self.config.name);
            mrt::write_peer_index_table(seconds, identifier, view, &peers, &mut octets)
                .map_err(|full| wrong(&format!("the index of peers: {full}")))?;
        }
        let mut left = PLACES_MAX;
        while let Some(family) = Family::ALL.get(cursor.family).copied() {
            if left == 0 || octets.len() >= PAGE_BYTES {
                break;
            }
            let (place, limit) = (cursor.place, ROUTES);
            let mut page = Page { place, places: left, limit, ..Page::default() };
            let routes = self.rib.page(family, &mut page);
            left = left.saturating_sub(page.place - place);
            for route in &routes {
                write(
                    seconds,
                    family,
                    route,
                    u32::try_from(page.place).unwrap_or(u32::MAX),
                    &mut octets,
                );
            }
            cursor.place = page.place;
            if page.is_last {
                (cursor.family, cursor.place) = (cursor.family + 1, 0);
            }
        }
        let next = (cursor.family < Family::ALL.len()).then(|| cursor.text());
        Ok(DumpPage { octets: hex(&octets), next })
    }

    /// The peers by their place, and a digest of them.
    fn index(&self) -> (Vec<mrt::Peer>, u64) {
        let mut peers = Vec::new();
        for (id, peer) in self.speaker.peers().iter() {
            peers.resize(id.0 as usize, NOBODY);
            let offered = peer.negotiated.as_ref().map(|it| (it.peer.identifier, it.peer.asn));
            let (identifier, asn) = offered.unwrap_or((0, self.config.asn));
            let address = peer.settings.address.to_canonical();
            peers.push(mrt::Peer { identifier, address, asn });
        }
        let texts = peers.iter().map(|it| format!("{it:?}"));
        // FNV-1a, 64 bits; zero is nobody's.
        let digest = texts.fold(0xcbf2_9ce4_8422_2325, |hash: u64, text| {
            text.bytes().fold(hash, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
        });
        (peers, digest.max(1))
    }
}

/// Appends the records of a route: one for the paths of each payload, as labels are part of what
/// is routed there. Paths that a policy refuses are left out.
fn write(seconds: u32, family: Family, route: &RouteView, number: u32, out: &mut Vec<u8>) {
    let taken = route.paths.iter().filter(|path| !path.is_refused);
    let mut paths: Vec<&PathView> = taken.collect();
    paths.sort_by_key(|path| &path.payload);
    for alike in paths.chunk_by(|a, b| a.payload == b.payload) {
        let mut nlri = Vec::new();
        family.join(&route.key, &alike[0].payload, &mut nlri);
        let add_path = alike.iter().any(|path| path.path_id != 0);
        let mut rest = alike;
        while !rest.is_empty() {
            let mut record = RibRecord::begin(seconds, number, family, add_path, &nlri, &mut *out);
            let fitted =
                rest.iter().take_while(|path| record.path(&written(seconds, path)).is_ok());
            let count = fitted.count();
            record.finish();
            // A path that fits nowhere is left out.
            rest = &rest[count.max(1)..];
        }
    }
}

fn written<'a>(seconds: u32, path: &'a PathView) -> Path<'a> {
    Path {
        peer: u16::try_from(path.peer.0).expect("a node has fewer peers than 65,536"),
        originated_s: seconds,
        id: path.path_id,
        next_hop: Some(&path.next_hop[..]).filter(|octets| !octets.is_empty()),
        attributes: &path.attributes,
    }
}
