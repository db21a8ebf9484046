//! Tables as feeders announce them: attribute sets and the prefixes of each, as octets of UPDATEs
//! and as the sum that others must hold.

use crate::digest::{self, Attributes, Sum};
use crate::keys::{Keys, NOBODY};
use crate::plan::Plan;
use crate::random::Random;
use bgp::codec::{
    AttributeType, Identifier, MESSAGE_BYTES_MAX, SegmentKind, prepend, write_attribute,
};
use bgp::family::{Family, Ipv4Prefix};
use bgp::pack::{Announcement, Limits, Withdrawal, end_of_rib};
use std::sync::Arc;

/// Feeders speak messages of the length that everybody takes.
pub(crate) const LIMITS: Limits = Limits { message_max: MESSAGE_BYTES_MAX, add_path: false };
/// LOCAL_PREF of what is announced first.
const LOCAL_PREF: u32 = 100;
/// Synthetic prefixes are consecutive addresses.
const SYNTHETIC_BITS: u8 = 32;
/// The first synthetic prefix.
const SYNTHETIC_FROM: u32 = u32::from_be_bytes([20, 0, 0, 0]);
/// Synthetic prefixes at most: what lies between 20.0.0.0 and 126.0.0.0.
const SYNTHETIC_MAX: u32 = 106 << 24;

/// Who announces, and behind which cluster others see it.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// The feeder.
    pub client: usize,
    /// The reflector's cluster.
    pub cluster: Identifier,
}

impl Origin {
    /// What a reflector makes of the attributes (RFC 4456 §8).
    pub(crate) fn reflected(&self, attributes: Attributes) -> Attributes {
        let identifier = Plan::identifier(self.client).to_be_bytes();
        attributes
            .with(AttributeType::OriginatorId, &identifier)
            .with(AttributeType::ClusterList, &self.cluster.to_be_bytes())
    }
}

/// What a feeder sends, and what others must hold afterwards.
#[derive(Debug, Clone)]
pub struct Feed {
    /// UPDATEs.
    pub octets: Arc<[u8]>,
    /// What others hold then of this feeder.
    pub sum: Sum,
    /// Routes that are announced or withdrawn.
    pub routes: u64,
    /// Number and tag of the last route of it, to be waited for.
    pub(crate) last: Option<(u32, u32)>,
}

/// IPv4 prefixes by attribute set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Attributes without NEXT_HOP and LOCAL_PREF: octets in the order of their types, cut where
    /// these two stand.
    pub sets: Vec<[Vec<u8>; 2]>,
    /// Prefixes of each set.
    pub prefixes: Vec<Vec<Ipv4Prefix>>,
}

/// ORIGIN and AS_PATH, the two attributes that stand in front.
pub(crate) fn head(origin: u8, path: &[u32]) -> Vec<u8> {
    let (mut value, mut out) = (Vec::new(), Vec::with_capacity(64));
    for asn in path.iter().rev() {
        let before = std::mem::take(&mut value);
        prepend(&before, SegmentKind::Sequence, *asn, &mut value);
    }
    let flags = |kind: AttributeType| kind.flags();
    write_attribute(flags(AttributeType::Origin), 1, &[origin], &mut out);
    write_attribute(flags(AttributeType::AsPath), 2, &value, &mut out);
    out
}

impl Table {
    /// Consecutive prefixes, so many of each attribute set (the report: "all have a limited BGP
    /// path distribution"). At most 1.7 thousand million.
    #[must_use]
    pub fn synthetic(prefixes: usize, per_set: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let prefixes = u32::try_from(prefixes).unwrap_or(SYNTHETIC_MAX).min(SYNTHETIC_MAX);
        let per_set = u32::try_from(per_set.max(1)).unwrap_or(u32::MAX);
        let mut table = Self::default();
        let mut next = 0;
        while next < prefixes {
            let path = [64_496 + random.below(16) as u32, 1 + next / per_set];
            table.sets.push([head(0, &path), Vec::new()]);
            let end = prefixes.min(next.saturating_add(per_set));
            let prefix = |at: u32| Ipv4Prefix::new((SYNTHETIC_FROM + at).into(), SYNTHETIC_BITS);
            table.prefixes.push((next..end).filter_map(prefix).collect());
            next = end;
        }
        table
    }

    /// How many prefixes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.prefixes.iter().map(Vec::len).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The attributes of a set as `origin` announces them, the `revision`th time.
    fn attributes(&self, set: usize, origin: &Origin, revision: u32) -> Vec<u8> {
        let [front, back] = &self.sets[set];
        let mut out = Vec::with_capacity(front.len() + back.len() + 32);
        out.extend_from_slice(front);
        let next_hop = Plan::next_hop(origin.client);
        write_attribute(AttributeType::NextHop.flags(), 3, &next_hop, &mut out);
        // MULTI_EXIT_DISC stands between the two.
        let (metric, rest) = match back.as_slice() {
            [_, 4, 4, ..] => back.split_at(7),
            _ => back.split_at(0),
        };
        out.extend_from_slice(metric);
        let preference = LOCAL_PREF + revision;
        write_attribute(AttributeType::LocalPref.flags(), 5, &preference.to_be_bytes(), &mut out);
        out.extend_from_slice(rest);
        out
    }

    /// All of it announced; another `revision` has other attributes.
    #[must_use]
    pub fn announce(&self, origin: &Origin, revision: u32, keys: &mut Keys) -> Feed {
        let all = self.prefixes.iter().map(Vec::as_slice).enumerate();
        self.feed(all, origin, revision, keys)
    }

    /// One of its prefixes announced anew.
    #[must_use]
    pub fn announce_one(&self, at: usize, origin: &Origin, revision: u32, keys: &mut Keys) -> Feed {
        let sets = self.prefixes.len().max(1);
        let set = self.prefixes.iter().enumerate().skip(at % sets).find(|(_, it)| !it.is_empty());
        let one = set.iter().map(|(set, prefixes)| (*set, &prefixes[..1]));
        self.feed(one, origin, revision, keys)
    }

    fn feed<'a>(
        &'a self,
        parts: impl Iterator<Item = (usize, &'a [Ipv4Prefix])>,
        origin: &Origin,
        revision: u32,
        keys: &mut Keys,
    ) -> Feed {
        let (mut octets, mut sum) = (Vec::new(), Sum::default());
        let (mut routes, mut last) = (0, None);
        let feeder = u16::try_from(origin.client).unwrap_or(NOBODY);
        for (set, prefixes) in parts {
            let attributes = self.attributes(set, origin, revision);
            let tag = origin.reflected(Attributes::of(&attributes)).tag(&[]);
            // Attributes of at most half a kilobyte leave room.
            let Ok(mut packing) = Announcement::plain(LIMITS, &attributes, &mut octets) else {
                continue;
            };
            for prefix in prefixes {
                packing.prefix(0, *prefix);
                let key = digest::ipv4_key(0, *prefix);
                sum.add(key, tag);
                last = keys.number(key, feeder).map(|number| (number, tag));
            }
            routes += packing.finish() as u64;
        }
        end_of_rib(Family::Ipv4Unicast, &mut octets);
        Feed { octets: octets.into(), sum, routes, last }
    }

    /// All of it withdrawn.
    #[must_use]
    pub fn withdraw(&self) -> Feed {
        let mut octets = Vec::new();
        let mut packing = Withdrawal::plain(LIMITS, &mut octets);
        self.prefixes.iter().flatten().for_each(|prefix| packing.prefix(0, *prefix));
        let routes = packing.finish() as u64;
        Feed { octets: octets.into(), sum: Sum::default(), routes, last: None }
    }
}
