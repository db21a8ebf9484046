//! RIB records of TABLE_DUMP_V2: a route and its paths (RFC 6396 §4.3.2 to §4.3.4, RFC 8050 §4).
//!
//! The path identifier of a RIB_GENERIC stands in the path, as those of the other families do: so
//! GoBGP and OpenBGPD write it, against RFC 8050 §4.2, which nobody follows.

use crate::records::TableSubtype;
use bgp::family::{Family, Layout};
use wire::{Cursor, Malformed};

const SPEC: &str = "RFC 6396 §4.3.4";

/// A route and its paths, as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rib<'a> {
    /// Its number in the dump.
    pub sequence: u32,
    /// The family.
    pub family: Family,
    /// The route as it stands on the wire, without path identifier.
    pub nlri: &'a [u8],
    /// The paths, checked.
    pub entries: Entries<'a>,
}

/// A path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Whose path: an index into the peer index table.
    pub peer: u16,
    /// When it came, in seconds since 1970.
    pub originated_s: u32,
    /// Its path identifier, zero without.
    pub path_id: u32,
    /// Offset in the file of its attributes.
    pub at: usize,
    /// Its attributes as they came; see [`crate::canonical`].
    pub attributes: &'a [u8],
}

/// The family of a subtype, unless the record tells it, and whether paths have identifiers.
const fn form(subtype: TableSubtype) -> (Option<Family>, bool) {
    use TableSubtype as T;
    match subtype {
        T::RibIpv4Unicast => (Some(Family::Ipv4Unicast), false),
        T::RibIpv4Multicast => (Some(Family::Ipv4Multicast), false),
        T::RibIpv6Unicast => (Some(Family::Ipv6Unicast), false),
        T::RibIpv6Multicast => (Some(Family::Ipv6Multicast), false),
        T::RibGeneric | T::PeerIndexTable => (None, false),
        T::RibIpv4UnicastAddPath => (Some(Family::Ipv4Unicast), true),
        T::RibIpv4MulticastAddPath => (Some(Family::Ipv4Multicast), true),
        T::RibIpv6UnicastAddPath => (Some(Family::Ipv6Unicast), true),
        T::RibIpv6MulticastAddPath => (Some(Family::Ipv6Multicast), true),
        T::RibGenericAddPath => (None, true),
    }
}

/// The subtype of records of a family.
pub(crate) const fn subtype(family: Family, add_path: bool) -> TableSubtype {
    use TableSubtype as T;
    match (family, add_path) {
        (Family::Ipv4Unicast, false) => T::RibIpv4Unicast,
        (Family::Ipv4Unicast, true) => T::RibIpv4UnicastAddPath,
        (Family::Ipv4Multicast, false) => T::RibIpv4Multicast,
        (Family::Ipv4Multicast, true) => T::RibIpv4MulticastAddPath,
        (Family::Ipv6Unicast, false) => T::RibIpv6Unicast,
        (Family::Ipv6Unicast, true) => T::RibIpv6UnicastAddPath,
        (Family::Ipv6Multicast, false) => T::RibIpv6Multicast,
        (Family::Ipv6Multicast, true) => T::RibIpv6MulticastAddPath,
        (_, false) => T::RibGeneric,
        (_, true) => T::RibGenericAddPath,
    }
}

impl<'a> Rib<'a> {
    /// `None`: its address family is not understood.
    pub(crate) fn read(
        body: &'a [u8],
        at: usize,
        subtype: TableSubtype,
    ) -> Result<Option<Self>, Malformed> {
        let mut cursor = Cursor::new(body, at, SPEC);
        let sequence = cursor.be32("the sequence number is cut off")?;
        let (family, add_path) = form(subtype);
        let family = match family {
            Some(family) => family,
            None => {
                let afi = cursor.be16("the address family is cut off")?;
                let safi = cursor.octet("the subsequent address family is cut off")?;
                // The length of a route of an unknown family is not known either.
                let Some(family) = Family::of(afi, safi) else { return Ok(None) };
                family
            }
        };
        let layout = Layout { add_path: false, multiple_labels: true, withdrawn: false };
        let here = cursor.at();
        let length = family.route_bytes(cursor.rest(), layout).map_err(|it| it.shifted(here))?;
        let nlri = cursor.take(length, "the route is cut off")?;
        let count = cursor.be16("the count of paths is cut off")?;
        let entries = Entries { left: count, octets: cursor.rest(), at: cursor.at(), add_path };
        for _ in 0..count {
            read_entry(&mut cursor, add_path)?;
        }
        match cursor.is_empty() {
            true => Ok(Some(Self { sequence, family, nlri, entries })),
            false => Err(cursor.violation("octets follow the last path")),
        }
    }
}

#[inline]
fn read_entry<'a>(cursor: &mut Cursor<'a>, add_path: bool) -> Result<Entry<'a>, Malformed> {
    let peer = cursor.be16("the index of a peer is cut off")?;
    let originated_s = cursor.be32("the time of a path is cut off")?;
    let path_id = if add_path { cursor.be32("a path identifier is cut off")? } else { 0 };
    let length = cursor.be16("the length of the attributes is cut off")?;
    let at = cursor.at();
    let attributes = cursor.take(usize::from(length), "the attributes are cut off")?;
    Ok(Entry { peer, originated_s, path_id, at, attributes })
}

/// The paths of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entries<'a> {
    left: u16,
    octets: &'a [u8],
    at: usize,
    add_path: bool,
}

impl Entries<'_> {
    /// No path.
    pub(crate) const NONE: Self = Self { left: 0, octets: &[], at: 0, add_path: false };

    /// Whether they have path identifiers (RFC 8050 §4).
    #[must_use]
    pub const fn have_path_ids(&self) -> bool {
        self.add_path
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    #[inline]
    fn next(&mut self) -> Option<Entry<'a>> {
        self.left = self.left.checked_sub(1)?;
        let mut cursor = Cursor::new(self.octets, self.at, SPEC);
        let entry = read_entry(&mut cursor, self.add_path).ok()?;
        (self.octets, self.at) = (cursor.rest(), cursor.at());
        Some(entry)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Entries<'_> {}
