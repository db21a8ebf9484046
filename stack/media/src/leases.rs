//! What one media controller leases: blocks of port pairs by group and family of addresses, and
//! how many are wanted.
//!
//! ```text
//! wanted = in use + (taken a second) x (quarantine + what a lease takes), a quarter more
//! ```
//! It is said once a second, and at once when three quarters are needed or a call found no pair:
//! calls take what is there and never wait for a lease.

use anchor::row::Message;
use anchor::{BLOCKS_MAX, Block, Local, Pool, Side, Source};
use machine::{Duration, Time};
use srtp::dtls::Fingerprint;
use std::net::{IpAddr, Ipv4Addr};

/// Seconds that a lease may take, beside the quarantine.
const LEASE_S: u32 = 3;
/// Seconds after which fewer pairs are wanted.
const SHRINK_S: u32 = 60;

/// How many pairs are leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub pairs_min: u32,
    pub pairs_max: u32,
    pub quarantine: Duration,
}

/// A group of addresses.
#[derive(Debug)]
struct Group {
    name: Box<str>,
    /// Of IPv4 and of IPv6.
    pools: [Pool; 2],
    wanted: u32,
    /// Taken since the last beat, and in the busiest second lately.
    taken: u32,
    taken_a_second: u32,
    /// Beats in a row with which fewer would have done.
    ample_s: u32,
    /// Pairs that calls have, and pairs of the grants: what the pools would count each time.
    held: u32,
    leased: u32,
    /// Pairs that can be had.
    most: u32,
}

impl Group {
    fn new(name: &str, sizes: &Sizes) -> Self {
        let pool = || Pool::new(sizes.quarantine);
        Self {
            name: name.into(),
            pools: [pool(), pool()],
            wanted: sizes.pairs_min,
            taken: 0,
            taken_a_second: 0,
            ample_s: 0,
            held: 0,
            leased: 0,
            most: sizes.pairs_max,
        }
    }

    /// Pairs that are wanted now: those that calls have, and those that rest meanwhile.
    fn need(&self, sizes: &Sizes) -> u32 {
        let rest_s = u32::try_from(sizes.quarantine.as_secs()).unwrap_or(u32::MAX);
        let moving = self.taken_a_second.max(self.taken);
        self.held.saturating_add(moving.saturating_mul(rest_s.saturating_add(LEASE_S)))
    }

    /// Pairs that can be had: a grant names so many blocks and no more.
    fn most(&self, sizes: &Sizes) -> u32 {
        let is_full = |pool: &&Pool| pool.blocks().count() >= BLOCKS_MAX;
        let full = self.pools.iter().filter(is_full).map(Pool::pairs).max();
        full.map_or(sizes.pairs_max, |pairs| pairs.min(sizes.pairs_max))
    }

    /// Whether what is leased will not do for long.
    fn is_low(&self, sizes: &Sizes) -> bool {
        self.wanted < self.most
            && self.leased < sizes.pairs_max
            && self.need(sizes) > self.leased / 4 * 3
    }

    fn in_use(&self) -> u32 {
        self.pools.iter().map(Pool::in_use).sum()
    }

    fn pairs(&self) -> u32 {
        self.pools.iter().map(Pool::pairs).sum()
    }

    /// A second has passed.
    fn beat(&mut self, sizes: &Sizes) {
        self.taken_a_second = self.taken.max(self.taken_a_second - self.taken_a_second / 8);
        self.taken = 0;
        let need = self.need(sizes);
        let need = need.saturating_add(need / 4).clamp(sizes.pairs_min, sizes.pairs_max);
        let need = need.min(self.most);
        if need > self.wanted {
            self.wanted = need.max(self.wanted.saturating_mul(2).min(self.most));
            self.ample_s = 0;
        } else if need < self.wanted / 4 {
            self.ample_s += 1;
            if self.ample_s >= SHRINK_S {
                self.wanted = (self.wanted / 2).max(sizes.pairs_min);
                self.ample_s = 0;
            }
        } else {
            self.ample_s = 0;
        }
    }
}

/// The leases of one media controller.
#[derive(Debug)]
pub(crate) struct Leases {
    groups: Vec<Group>,
    /// By number: an address, and its group.
    addresses: Vec<Option<(IpAddr, usize)>>,
    sizes: Sizes,
    fingerprint: Option<Fingerprint>,
    /// What the media controller codes anew: a bit for the number of each codec.
    pub codecs: u32,
    /// A call found no pair since the last beat.
    is_short: bool,
}

impl Leases {
    pub(crate) fn new(groups: &[Box<str>], sizes: Sizes) -> Self {
        let groups = groups.iter().map(|name| Group::new(name, &sizes)).collect();
        Self { groups, addresses: Vec::new(), sizes, fingerprint: None, codecs: 0, is_short: false }
    }

    /// Takes other sizes, and groups that were added behind those that are there.
    pub(crate) fn configure(&mut self, groups: &[Box<str>], sizes: Sizes) {
        self.sizes = sizes;
        for group in &mut self.groups {
            group.most = group.most(&sizes);
        }
        for name in &groups[self.groups.len().min(groups.len())..] {
            self.groups.push(Group::new(name, &sizes));
        }
    }

    pub(crate) const fn set_fingerprint(&mut self, fingerprint: Option<Fingerprint>) {
        self.fingerprint = fingerprint;
    }

    /// The media controller knows nothing of what it leased: neither do we.
    pub(crate) fn forget(&mut self) {
        let sizes = self.sizes;
        for group in &mut self.groups {
            group.pools = [Pool::new(sizes.quarantine), Pool::new(sizes.quarantine)];
            (group.held, group.leased, group.most) = (0, 0, sizes.pairs_max);
        }
        self.addresses.clear();
    }

    /// What is wanted of each group.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = Message> + '_ {
        self.groups
            .iter()
            .map(|group| Message::Lease { group: group.name.clone(), pairs: group.wanted })
    }

    /// A second has passed.
    pub(crate) fn beat(&mut self) {
        let sizes = self.sizes;
        self.groups.iter_mut().for_each(|group| group.beat(&sizes));
        self.is_short = false;
    }

    /// Whether a call found no pair, told once a beat; then more are wanted.
    pub(crate) fn runs_short(&mut self, groups: [u16; 2]) -> bool {
        if self.is_short {
            return false;
        }
        self.is_short = true;
        for at in groups {
            if let Some(group) = self.groups.get_mut(usize::from(at)) {
                let more = group.wanted.saturating_mul(2).max(group.need(&self.sizes));
                group.wanted = more.min(group.most);
            }
        }
        true
    }

    /// Whether one of these groups will run short soon.
    pub(crate) fn is_low(&self, groups: [u16; 2]) -> bool {
        let is_low = |at: &u16| {
            let group = self.groups.get(usize::from(*at));
            group.is_some_and(|group| group.is_low(&self.sizes))
        };
        !self.is_short && groups.iter().any(is_low)
    }

    /// Takes a grant: all blocks of one group and family. Those that are not among them give no
    /// more pairs, and go with their last one.
    pub(crate) fn grant(
        &mut self,
        group: &str,
        is_v6: bool,
        blocks: &[Block],
        addresses: &[(u16, IpAddr)],
    ) {
        let Some(at) = self.groups.iter().position(|it| &*it.name == group) else { return };
        for &(number, address) in addresses {
            let place = usize::from(number);
            if self.addresses.len() <= place {
                self.addresses.resize(place + 1, None);
            }
            self.addresses[place] = Some((address, at));
        }
        let known = |block: &Block| {
            let address = self.addresses.get(usize::from(block.address)).copied().flatten();
            address.is_some_and(|(ip, owner)| ip.is_ipv6() == is_v6 && owner == at)
        };
        // A block without an address, or of another group's, is none that can be used.
        let blocks: Vec<Block> = blocks.iter().copied().filter(known).collect();
        let pool = &mut self.groups[at].pools[usize::from(is_v6)];
        let gone: Vec<Block> = pool.blocks().filter(|block| !blocks.contains(block)).collect();
        gone.into_iter().for_each(|block| pool.end(block));
        let standing: Vec<Block> = pool.blocks().collect();
        for block in blocks.into_iter().filter(|block| !standing.contains(block)) {
            pool.add(block);
        }
        let group = &mut self.groups[at];
        group.leased = group.pairs();
        group.most = group.most(&self.sizes);
    }

    /// Takes that very pair, which a call that stands has.
    pub(crate) fn claim(&mut self, local: Local) -> bool {
        let Some((group, family)) = self.group_of(local) else { return false };
        let is_claimed = group.pools[family].claim(local);
        group.held += u32::from(is_claimed);
        is_claimed
    }

    pub(crate) fn give_back(&mut self, local: Local, now: Time) -> bool {
        let Some((group, family)) = self.group_of(local) else { return false };
        let was_held = group.pools[family].give_back(local, now);
        group.held -= u32::from(was_held);
        was_held
    }

    fn group_of(&mut self, local: Local) -> Option<(&mut Group, usize)> {
        let (ip, group) = self.addresses.get(usize::from(local.address)).copied().flatten()?;
        Some((self.groups.get_mut(group)?, usize::from(ip.is_ipv6())))
    }

    pub(crate) fn address(&self, number: u16) -> Option<IpAddr> {
        Some(self.addresses.get(usize::from(number)).copied().flatten()?.0)
    }

    /// Pairs in use and pairs leased.
    pub(crate) fn pairs(&self) -> (u32, u32) {
        let sum = |of: fn(&Group) -> u32| self.groups.iter().map(of).sum();
        (sum(Group::in_use), sum(Group::pairs))
    }

    /// The groups: name, pairs in use, leased, wanted.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&str, [u32; 3])> {
        let row = |group: &Group| [group.in_use(), group.pairs(), group.wanted];
        self.groups.iter().map(move |group| (&*group.name, row(group)))
    }
}

/// Where the ports of one call come from.
pub(crate) struct Ports<'l> {
    pub leases: &'l mut Leases,
    /// Those of A and of B.
    pub groups: [u16; 2],
    pub now: Time,
}

impl Source for Ports<'_> {
    fn take(&mut self, side: Side, is_v6: bool) -> Option<Local> {
        let group = self.leases.groups.get_mut(usize::from(self.groups[side.index()]))?;
        let local = group.pools[usize::from(is_v6)].take(self.now)?;
        group.taken += 1;
        group.held += 1;
        Some(local)
    }

    fn give_back(&mut self, local: Local) {
        self.leases.give_back(local, self.now);
    }

    fn address(&self, number: u16) -> IpAddr {
        self.leases.address(number).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        self.leases.fingerprint.as_ref()
    }

    fn codecs(&self) -> u32 {
        self.leases.codecs
    }
}

/// Where the ports of a call come from that moves from one media controller to another.
pub(crate) struct Moving<'l> {
    pub to: Ports<'l>,
    /// Whether an address of the old one, by number, is of IPv6.
    pub was_v6: &'l dyn Fn(u16) -> bool,
}

impl Source for Moving<'_> {
    fn take(&mut self, side: Side, is_v6: bool) -> Option<Local> {
        self.to.take(side, is_v6)
    }

    fn give_back(&mut self, local: Local) {
        self.to.give_back(local);
    }

    fn address(&self, number: u16) -> IpAddr {
        if (self.was_v6)(number) {
            IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        }
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        self.to.fingerprint()
    }

    fn codecs(&self) -> u32 {
        self.to.codecs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_pairs_are_wanted_than_the_blocks_of_a_grant_can_have() {
        let sizes =
            Sizes { pairs_min: 64, pairs_max: 1_000_000, quarantine: Duration::from_secs(30) };
        let mut leases = Leases::new(&["access".into()], sizes);
        let wanted = |leases: &Leases| match leases.wanted().next() {
            Some(Message::Lease { pairs, .. }) => pairs,
            other => panic!("{other:?}"),
        };
        let blocks: Vec<Block> = (0..BLOCKS_MAX)
            .map(|at| Block {
                address: u16::try_from(at / 512).expect("few"),
                first: 2_000 + u16::try_from(at % 512).expect("few") * 16,
                pairs: 8,
            })
            .collect();
        let addresses = [0, 1].map(|n| (n, IpAddr::from([192, 0, 2, 1 + n as u8])));
        leases.grant("access", false, &blocks[..BLOCKS_MAX - 1], &addresses);
        for _ in 0..20 {
            assert!(leases.runs_short([0, 0]));
            leases.beat();
        }
        assert_eq!(wanted(&leases), 1_000_000, "there may be more");
        leases.grant("access", false, &blocks, &addresses);
        assert!(leases.runs_short([0, 0]));
        assert_eq!(wanted(&leases), 8 * BLOCKS_MAX as u32, "those are all");
        leases.beat();
        assert!(!leases.is_low([0, 0]) && wanted(&leases) == 8 * BLOCKS_MAX as u32);
        leases.forget();
        assert!(leases.runs_short([0, 0]));
        assert!(wanted(&leases) > 8 * BLOCKS_MAX as u32, "another life may have other blocks");
    }
}
