//! Rule sets in the manner of ClassBench (Taylor and Turner, INFOCOM 2005), by seed: access lists,
//! firewalls, IP chains, and one that is meant to hurt. Headers are points of random rules.

use std::ops::RangeInclusive;
use table::classifier::{Address, Flags, Fragment, Header, Prefix, Rule};

/// Numbers that a seed decides (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let a = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let b = (a ^ (a >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        b ^ (b >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, of: u64) -> bool {
        self.below(100) < of
    }

    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    fn address(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }
}

/// What kind of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    AccessList,
    Firewall,
    Chain,
    /// Every rule differs from every other in every field.
    Hostile,
}

impl Flavour {
    pub const ALL: [Self; 4] = [Self::AccessList, Self::Firewall, Self::Chain, Self::Hostile];
}

/// Sites: prefixes under which those of rules lie, as in real networks.
struct Sites<A>(Vec<Prefix<A>>);

impl<A: Address> Sites<A> {
    fn new(random: &mut Random, count: usize) -> Self {
        let upper = if A::BITS == 32 { 8..17 } else { 28..49 };
        let mut site = || {
            let length = upper.start + random.below(upper.len() as u64) as u8;
            let bits = random.address();
            // IPv6: 2000::/3 as in the global table.
            let bits = if A::BITS == 128 { bits >> 3 | 1 << 125 } else { bits };
            Prefix::new(A::from_high(bits), length)
        };
        Self((0..count.max(1)).map(|_| site()).collect())
    }

    /// A prefix in one of the sites, of one of these lengths (of 32; four times for IPv6, but for
    /// whole addresses half of them end at the subnet).
    fn prefix(&self, random: &mut Random, lengths: &[u8]) -> Prefix<A> {
        let site = random.of(&self.0);
        let length = random.of(lengths);
        let length = if A::BITS == 32 { length } else { v6(random, length) };
        let below = u128::MAX.checked_shr(u32::from(site.length)).unwrap_or(0);
        let bits = site.address.high() & !below | random.address() & below;
        Prefix::new(A::from_high(bits), length)
    }
}

fn v6(random: &mut Random, length: u8) -> u8 {
    match length {
        0 => 0,
        1..=16 => 32 + length,
        17..=24 => 24 + length,
        _ if random.percent(50) => 64,
        _ => 128,
    }
}

fn port(random: &mut Random) -> u16 {
    let known = [20, 21, 22, 23, 25, 53, 80, 110, 123, 143, 161, 179, 389, 443, 445, 993, 1521];
    if random.percent(70) { random.of(&known) } else { 1024 + random.below(40_000) as u16 }
}

fn ports(random: &mut Random, wildcard: u64, exact: u64) -> Vec<RangeInclusive<u16>> {
    let first = port(random);
    match random.below(100) {
        roll if roll < wildcard => Vec::new(),
        roll if roll < wildcard + exact => vec![first..=first],
        roll if roll % 3 == 0 => vec![1024..=65_535],
        roll if roll % 3 == 1 => vec![first..=first.saturating_add(random.below(200) as u16)],
        _ => (0..4).map(|_| port(random)).map(|port| port..=port).collect(),
    }
}

fn realistic<A: Address>(
    random: &mut Random,
    flavour: Flavour,
    sites: &(Sites<A>, Sites<A>),
) -> Rule<A> {
    let (source, destination): (&[u8], &[u8]) = match flavour {
        Flavour::AccessList => (&[0, 0, 16, 24, 24, 28, 32], &[24, 27, 28, 30, 32, 32, 32]),
        Flavour::Firewall => (&[0, 0, 0, 16, 24, 32], &[0, 0, 24, 28, 32, 32]),
        _ => (&[0, 16, 22, 24, 24, 32, 32], &[0, 16, 22, 24, 24, 32, 32]),
    };
    let mut rule = Rule {
        source: sites.0.prefix(random, source),
        destination: sites.1.prefix(random, destination),
        ..Rule::default()
    };
    match random.below(100) {
        0..60 => rule.protocols = vec![6],
        60..85 => rule.protocols = vec![17],
        85..90 => {
            rule.protocols = vec![A::ICMP];
            rule.icmp = if random.percent(50) { vec![(8, 0..=0)] } else { Vec::new() };
        }
        90..93 => rule.protocols = vec![random.of(&[47, 50, 89, 112])],
        _ => {}
    }
    if matches!(rule.protocols[..], [6 | 17]) {
        let wild = if flavour == Flavour::AccessList { 95 } else { 70 };
        rule.source_ports = ports(random, wild, 20);
        rule.destination_ports = ports(random, 15, 60);
    }
    if rule.protocols == [6] && random.percent(10) {
        rule.tcp_flags = vec![random.of(&[
            Flags { value: 0x02, mask: 0x12 },
            Flags { value: 0x10, mask: 0x10 },
            Flags { value: 0x04, mask: 0x04 },
        ])];
    }
    if random.percent(3) {
        rule.fragments = vec![Fragment::Later];
        (rule.source_ports, rule.destination_ports) = (Vec::new(), Vec::new());
        (rule.icmp, rule.tcp_flags) = (Vec::new(), Vec::new());
    }
    rule
}

fn hostile<A: Address>(random: &mut Random) -> Rule<A> {
    let mut prefix = || {
        let length = random.below(u64::from(A::BITS) + 1) as u8;
        Prefix::new(A::from_high(random.address()), length)
    };
    let (source, destination) = (prefix(), prefix());
    let mut range = || {
        let (a, b) = (random.next() as u16, random.next() as u16);
        a.min(b)..=a.max(b)
    };
    let mut rule = Rule { source, destination, ..Rule::default() };
    rule.source_ports = vec![range()];
    rule.destination_ports = vec![range(), range()];
    rule.lengths = vec![range()];
    rule.protocols = vec![6, 17, random.below(256) as u8];
    rule.dscp = (0..random.below(8)).map(|_| random.below(64) as u8).collect();
    if random.percent(20) {
        let (value, mask) = (random.next() as u8, random.next() as u8);
        rule.tcp_flags = vec![Flags { value, mask }];
    }
    if random.percent(20) {
        (rule.source_ports, rule.destination_ports) = (Vec::new(), Vec::new());
        rule.tcp_flags = Vec::new();
        rule.protocols = vec![A::ICMP];
        let code = random.below(256) as u8;
        rule.icmp =
            vec![(random.below(256) as u8, code..=255), (random.below(256) as u8, 0..=code)];
    }
    if random.percent(20) {
        rule.fragments = vec![Fragment::Whole, Fragment::First];
    }
    rule
}

/// So many rules; the last one of a realistic set matches everything.
pub fn rules<A: Address>(flavour: Flavour, count: usize, seed: u64) -> Vec<Rule<A>> {
    let mut random = Random(seed);
    let sites = (Sites::new(&mut random, count / 30), Sites::new(&mut random, count / 30));
    let mut rules: Vec<Rule<A>> = (0..count)
        .map(|_| match flavour {
            Flavour::Hostile => hostile(&mut random),
            _ => realistic(&mut random, flavour, &sites),
        })
        .collect();
    if flavour != Flavour::Hostile && count > 2 {
        rules[count - 1] = Rule::default();
    }
    for (at, rule) in rules.iter_mut().enumerate() {
        rule.verdict = at as u32 % 7;
    }
    rules
}

fn inside(random: &mut Random, ranges: &[RangeInclusive<u16>]) -> u16 {
    if ranges.is_empty() {
        return random.next() as u16;
    }
    let range = random.of(ranges);
    match random.below(4) {
        0 => *range.start(),
        1 => *range.end(),
        _ => range.start() + random.below(u64::from(range.end() - range.start()) + 1) as u16,
    }
}

fn address<A: Address>(random: &mut Random, prefix: &Prefix<A>) -> A {
    let below = u128::MAX.checked_shr(u32::from(prefix.length)).unwrap_or(0);
    let host = match random.below(8) {
        0 => 0,
        1 => u128::MAX,
        _ => random.address(),
    };
    A::from_high(prefix.address.high() & !below | host & below)
}

/// A header that some rule wants, or nearly.
pub fn header<A: Address>(random: &mut Random, rules: &[Rule<A>]) -> Header<A> {
    let open = Rule::default();
    let rule = if rules.is_empty() || random.percent(10) { open } else { random.of(rules) };
    let protocol = if rule.protocols.is_empty() { 6 } else { random.of(&rule.protocols) };
    let mut header = Header {
        source: address(random, &rule.source),
        destination: address(random, &rule.destination),
        source_port: inside(random, &rule.source_ports),
        destination_port: inside(random, &rule.destination_ports),
        length: inside(random, &rule.lengths),
        protocol: if random.percent(5) { random.next() as u8 } else { protocol },
        tcp_flags: 0,
        dscp: if rule.dscp.is_empty() { random.below(64) as u8 } else { random.of(&rule.dscp) },
        fragment: Fragment::Whole,
    };
    if header.protocol == 6 {
        header.tcp_flags = rule.tcp_flags.first().map_or(random.next() as u8, |flags| flags.value);
    }
    if header.protocol == A::ICMP && random.percent(90) {
        let kind = rule.icmp.first().map_or((8, 0), |(kind, codes)| (*kind, *codes.start()));
        (header.source_port, header.destination_port) = (u16::from_be_bytes([kind.0, kind.1]), 0);
    }
    if random.percent(5) || rule.fragments == [Fragment::Later] {
        header.fragment = random.of(&[Fragment::First, Fragment::Later]);
    }
    if header.fragment == Fragment::Later {
        (header.source_port, header.destination_port, header.tcp_flags) = (0, 0, 0);
    }
    header
}
