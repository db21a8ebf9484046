//! Who fills a table that is full. Accepted connections count for their source, an IPv4 address or
//! an IPv6 /56 (a site is given one or a /48, RFC 6177 §2, and could open a connection from each
//! of 65,536 /64s). What is full makes room at the cost of the sources that have more than their
//! share: those that have said nothing go first, then those that have been idle longest.

use machine::Time;
use std::collections::HashMap;
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
    fn the_addresses_of_a_subscriber_count_together() {
        let of = |text: &str| Source::of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:ff:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:101::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
