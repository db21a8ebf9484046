//! Tables out of MRT files (RFC 6396): what somebody's routers knew once, announced again.

use crate::table::Table;
use bgp::codec::{
    AttributeType, Attributes, Community, Flags, WellKnownCommunity, write_attribute,
};
use bgp::family::{Family, Ipv4Prefix};
use mrt::RibEntries;
use std::collections::{HashMap, HashSet};

/// Attributes that the feeder writes itself, or that a reflector adds: they are left out.
const OWN: [AttributeType; 5] = [
    AttributeType::NextHop,
    AttributeType::LocalPref,
    AttributeType::OriginatorId,
    AttributeType::ClusterList,
    AttributeType::MpReachNlri,
];
/// Octets of attributes at most: what leaves room for routes in any message.
const ATTRIBUTES_BYTES_MAX: usize = 3_000;

/// What was read from a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// IPv4 prefixes, each with the first path that the file has for it.
    pub table: Table,
    /// Paths that were passed over: further ones of a prefix, other families, what nobody may be
    /// told (no-advertise).
    pub passed_over: usize,
    /// Records that are malformed.
    pub malformed: usize,
}

impl Recorded {
    /// Reads a whole file.
    #[must_use]
    pub fn read(file: &[u8]) -> Self {
        let mut recorded = Self::default();
        let (mut sets, mut known) = (HashMap::new(), HashSet::new());
        for entry in RibEntries::new(file) {
            let Ok(entry) = entry else {
                recorded.malformed += 1;
                continue;
            };
            let prefix = entry.ipv4().filter(|_| entry.family == Family::Ipv4Unicast);
            let cut = cut(&entry.attributes);
            let (Some(prefix), Some(cut)) = (prefix, cut) else {
                recorded.passed_over += 1;
                continue;
            };
            if !known.insert(prefix) {
                recorded.passed_over += 1;
                continue;
            }
            recorded.put(&mut sets, cut, prefix);
        }
        recorded
    }

    fn put(
        &mut self,
        sets: &mut HashMap<[Vec<u8>; 2], usize>,
        cut: [Vec<u8>; 2],
        prefix: Ipv4Prefix,
    ) {
        let table = &mut self.table;
        let at = *sets.entry(cut).or_insert_with_key(|cut| {
            table.sets.push(cut.clone());
            table.prefixes.push(Vec::new());
            table.sets.len() - 1
        });
        table.prefixes[at].push(prefix);
    }
}

/// The attributes in front of NEXT_HOP, and those behind without LOCAL_PREF; `None` where a route
/// with them is told nobody.
fn cut(attributes: &[u8]) -> Option<[Vec<u8>; 2]> {
    let (mut front, mut back) = (Vec::new(), Vec::new());
    let all = Attributes::new(attributes);
    let communities = all.value(AttributeType::Communities).unwrap_or_default();
    let silent = WellKnownCommunity::NoAdvertise.number();
    if Community::all(communities).any(|it| it.0 == silent) {
        return None;
    }
    for attribute in all.flatten() {
        if OWN.iter().any(|own| own.number() == attribute.number) {
            continue;
        }
        let out = if attribute.number < 3 { &mut front } else { &mut back };
        // Lengths as everybody writes them.
        write_attribute(
            attribute.flags.0 & !Flags::EXTENDED_LENGTH,
            attribute.number,
            attribute.value,
            out,
        );
    }
    let fits = front.len() + back.len() <= ATTRIBUTES_BYTES_MAX;
    (fits && !front.is_empty()).then_some([front, back])
}
