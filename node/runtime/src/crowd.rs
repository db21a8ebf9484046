//! Who fills a table that is full. Accepted connections count for their source, an IPv4 address or
//! an IPv6 /56 (a site is given one or a /48, RFC 6177 §2, and could open a connection from each
//! of 65,536 /64s). What is full makes room at the cost of the sources that have more than their
//! share: those that have said nothing go first, then those that have been idle longest.

use machine::Time;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

/// Where connections come from, as far as they count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Source(u128);

impl Source {
    /// Ourselves; no other has it, for those end in zeros or are those of IPv4.
    pub(crate) const HERE: Self = Self(u128::MAX);

    /// The source of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.to_ipv6_mapped().to_bits()),
            IpAddr::V6(address) => Self(address.to_bits() >> 72 << 72),
        }
    }
}

/// One that may lose its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<K> {
    pub(crate) key: K,
    pub(crate) source: Source,
    /// It has said something whole.
    pub(crate) spoke: bool,
    /// When it did last, or came.
    pub(crate) active: Time,
}

/// How many members there are, by source: kept as they come and go, so that a look for victims that
/// would be in vain costs nothing.
#[derive(Debug, Default)]
pub(crate) struct Census {
    counts: HashMap<Source, usize>,
    /// How many sources have so many.
    sizes: BTreeMap<usize, usize>,
    members: usize,
    silent: usize,
}

impl Census {
    /// A member comes, silent as all are then.
    pub(crate) fn add(&mut self, source: Source) {
        let count = self.counts.entry(source).or_default();
        *count += 1;
        let count = *count;
        self.members += 1;
        self.silent += 1;
        self.resize(count - 1, count);
    }

    /// A member goes.
    pub(crate) fn remove(&mut self, source: Source, spoke: bool) {
        let Some(count) = self.counts.get_mut(&source) else { return };
        *count -= 1;
        let count = *count;
        if count == 0 {
            self.counts.remove(&source);
        }
        self.members -= 1;
        self.silent -= usize::from(!spoke);
        self.resize(count + 1, count);
    }

    /// A silent member has spoken.
    pub(crate) const fn heard(&mut self) {
        self.silent -= 1;
    }

    fn resize(&mut self, from: usize, to: usize) {
        if let Some(sources) = self.sizes.get_mut(&from) {
            *sources -= 1;
            if *sources == 0 {
                self.sizes.remove(&from);
            }
        }
        if to > 0 {
            *self.sizes.entry(to).or_default() += 1;
        }
    }

    /// Whether [`victims`] would find some for this newcomer.
    pub(crate) fn has_victims(&self, newcomer: Source) -> bool {
        let sources = self.counts.len() + usize::from(!self.counts.contains_key(&newcomer));
        let share = (self.members / sources).max(1);
        let largest = self.sizes.last_key_value().map_or(0, |(&size, _)| size);
        self.silent > 0 || largest > share
    }
}

/// Up to `most` members that make room for a newcomer: of sources above their share, and none of
/// them falls below it. The newcomer's source has a share as well, or a single source that fills
/// the room would be at its own. The share of those that never spoke is of what then remains, so
/// that where a few sources have all of it in equal parts, who looks for room need not look again
/// at once. Where every source has one, those that never spoke.
pub(crate) fn victims<K: Copy>(
    mut members: Vec<Member<K>>,
    newcomer: Source,
    most: usize,
) -> Vec<K> {
    let mut counts: HashMap<Source, usize> = HashMap::new();
    for member in &members {
        *counts.entry(member.source).or_default() += 1;
    }
    let sources = counts.len() + usize::from(!counts.contains_key(&newcomer));
    let share = (members.len() / sources).max(1);
    let silent_share = (members.len().saturating_sub(most) / sources).max(1);
    members.sort_unstable_by_key(|member| (member.spoke, member.active));
    let mut chosen = Vec::new();
    for member in &members {
        let count = counts.entry(member.source).or_default();
        let share = if member.spoke { share } else { silent_share };
        if chosen.len() < most && *count > share {
            *count -= 1;
            chosen.push(member.key);
        }
    }
    if chosen.is_empty() {
        let silent = members.iter().filter(|member| !member.spoke);
        chosen.extend(silent.take(most).map(|member| member.key));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> Source {
        Source::of([10, 0, 0, last].into())
    }

    fn member(key: u32, last: u8, spoke: bool) -> Member<u32> {
        Member { key, source: source(last), spoke, active: Time::from_millis(u64::from(key)) }
    }

    #[test]
    fn who_has_more_than_its_share_makes_room_and_silent_ones_go_first() {
        let mut members: Vec<_> = (0..90).map(|n| member(n, 1, n % 2 == 0)).collect();
        members.extend((90..100).map(|n| member(n, n as u8, false)));
        let gone = victims(members, source(100), 8);
        assert_eq!(gone, [1, 3, 5, 7, 9, 11, 13, 15], "silent ones of 10.0.0.1, the oldest first");
    }

    #[test]
    fn where_every_source_has_one_the_silent_make_room_and_speakers_stay() {
        let members: Vec<_> = (0..10).map(|n| member(n, n as u8, n != 4)).collect();
        assert_eq!(victims(members, source(100), 3), [4]);
        let members: Vec<_> = (0..10).map(|n| member(n, n as u8, true)).collect();
        assert!(victims(members, source(100), 3).is_empty());
    }

    #[test]
    fn sources_that_have_all_in_equal_parts_give_room_for_as_many_as_are_wanted() {
        let crowd = |spoke| (0..400).map(|n| member(n, (n % 4) as u8, spoke)).collect::<Vec<_>>();
        let of_them = victims(crowd(true), source(3), 16);
        assert!(of_them.is_empty(), "one of those who have all makes no room for itself");
        assert_eq!(victims(crowd(true), source(9), 16).len(), 16, "who has none finds some");
        let members = crowd(false);
        let gone = victims(members.clone(), source(9), 16);
        assert_eq!(gone, (0..16).collect::<Vec<_>>());
        let beside: Vec<_> = members.into_iter().chain([member(400, 9, false)]).collect();
        assert!(!victims(beside, source(9), 16).contains(&400), "who has little keeps it");
    }

    #[test]
    fn one_source_that_fills_the_room_and_speaks_makes_room_for_others() {
        let members: Vec<_> = (0..90).map(|n| member(n, 1, true)).collect();
        assert!(victims(members.clone(), source(1), 8).is_empty());
        assert_eq!(victims(members, source(2), 8), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn the_census_knows_without_a_look_whether_one_would_be_in_vain() {
        let mut members: Vec<Member<u32>> = Vec::new();
        let (mut census, mut random) = (Census::default(), 1u32);
        for key in 0..4_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (what, one) = (random >> 30, (random >> 8) as usize);
            if what < 2 && members.len() < 24 {
                let new = member(key, (one % 12) as u8, false);
                census.add(new.source);
                members.push(new);
            } else if what == 2 && !members.is_empty() {
                let at = one % members.len();
                let gone = members.swap_remove(at);
                census.remove(gone.source, gone.spoke);
            } else if let Some(silent) = members.iter_mut().find(|it| !it.spoke) {
                silent.spoke = true;
                census.heard();
            }
            for newcomer in [source(3), source(200)] {
                let found = !victims(members.clone(), newcomer, 4).is_empty();
                assert_eq!(census.has_victims(newcomer), found, "{members:?}");
            }
        }
    }

    #[test]
    fn the_addresses_of_a_subscriber_count_together() {
        let of = |text: &str| Source::of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:ff:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:101::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
