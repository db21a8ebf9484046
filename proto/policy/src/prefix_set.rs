//! Sets of prefixes, asked in the time of one binary search however they overlap.
//!
//! Every line of a list is a prefix with the lengths it allows. The address space falls into
//! segments at the borders of all lines; a segment holds the lengths that the lines around it allow
//! together. A line never allows lengths shorter than its own, so that what lies deeper than the
//! asked prefix does not count by itself.

use super::InvalidText;
use bgp::family::Family;
use core::net::IpAddr;
use std::collections::BTreeMap;

/// Prefixes of one list.
pub const PREFIXES_MAX: usize = 250_000;
/// Octets of key before the prefix of an EVPN route of type 5: type, distinguisher, tag.
const EVPN_PREFIX_AT: usize = 1 + 8 + 4;
/// The EVPN route type that is a prefix (RFC 9136 §3.1).
const EVPN_IP_PREFIX: u8 = 5;
/// Octets of a route distinguisher.
const RD_BYTES: usize = 8;

/// A prefix; what lies behind its length is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefix {
    /// Of IPv4, with its length.
    V4(u32, u8),
    /// Of IPv6, with its length.
    V6(u128, u8),
}

impl Prefix {
    /// The prefix in the key of a route. `None` for routes that have none.
    #[inline]
    pub fn of(family: Family, key: &[u8]) -> Option<Self> {
        let (&first, rest) = key.split_first()?;
        match family {
            Family::Ipv4Unicast | Family::Ipv4Multicast | Family::Ipv4Labelled => {
                Self::v4(first, rest)
            }
            Family::Ipv6Unicast | Family::Ipv6Multicast | Family::Ipv6Labelled => {
                Self::v6(first, rest)
            }
            Family::Vpnv4 => Self::v4(first.checked_sub(64)?, rest.get(RD_BYTES..)?),
            Family::Vpnv6 => Self::v6(first.checked_sub(64)?, rest.get(RD_BYTES..)?),
            Family::Evpn if first == EVPN_IP_PREFIX => {
                let (&bits, address) = key.get(EVPN_PREFIX_AT..)?.split_first()?;
                if address.len() == 4 { Self::v4(bits, address) } else { Self::v6(bits, address) }
            }
            _ => None,
        }
    }

    /// The prefix of one address.
    pub const fn host(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::V4(address.to_bits(), 32),
            IpAddr::V6(address) => Self::V6(address.to_bits(), 128),
        }
    }

    fn new(address: IpAddr, bits: u8) -> Option<Self> {
        match address {
            IpAddr::V4(address) => Self::v4(bits, &address.octets()),
            IpAddr::V6(address) => Self::v6(bits, &address.octets()),
        }
    }

    #[inline]
    fn v4(bits: u8, octets: &[u8]) -> Option<Self> {
        let address = u32::from_be_bytes(padded(octets));
        (bits <= 32).then(|| {
            Self::V4(address & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0), bits)
        })
    }

    #[inline]
    fn v6(bits: u8, octets: &[u8]) -> Option<Self> {
        let address = u128::from_be_bytes(padded(octets));
        (bits <= 128).then(|| {
            Self::V6(address & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0), bits)
        })
    }

    const fn bits(self) -> u8 {
        match self {
            Self::V4(_, bits) | Self::V6(_, bits) => bits,
        }
    }

    const fn bits_max(self) -> u8 {
        match self {
            Self::V4(..) => 32,
            Self::V6(..) => 128,
        }
    }

    fn address(self) -> IpAddr {
        match self {
            Self::V4(address, _) => IpAddr::V4(address.into()),
            Self::V6(address, _) => IpAddr::V6(address.into()),
        }
    }

    /// Reads `10.0.0.0/8`, or an address alone.
    fn parse(text: &str) -> Result<Self, InvalidText> {
        let wrong = || {
            InvalidText::new(format!("`{text}` is no prefix"), "write 10.0.0.0/8 or 2001:db8::/32")
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = bits.unwrap_or_else(|| Self::host(address).bits());
        let prefix = Self::new(address, bits).ok_or_else(|| {
            let most = Self::host(address).bits();
            InvalidText::new(
                format!("`{text}` is longer than an address"),
                format!("at most /{most}"),
            )
        })?;
        if prefix.address() != address {
            let what = format!("`{text}` has bits behind its length");
            return Err(InvalidText::new(what, format!("write {}/{bits}", prefix.address())));
        }
        Ok(prefix)
    }
}

/// The first octets, padded with zeros.
#[inline]
fn padded<const N: usize>(octets: &[u8]) -> [u8; N] {
    let mut address = [0; N];
    let length = octets.len().min(N);
    address[..length].copy_from_slice(&octets[..length]);
    address
}

/// A line of a list: a prefix, and the lengths it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    prefix: Prefix,
    least: u8,
    most: u8,
}

impl Line {
    /// Reads `10.0.0.0/8`, `10.0.0.0/8 le 24`, `10.0.0.0/8 ge 20`, `10.0.0.0/8 ge 20 le 24`.
    pub fn parse(text: &str) -> Result<Self, InvalidText> {
        let mut words = text.split_ascii_whitespace();
        let prefix = Prefix::parse(words.next().unwrap_or_default())?;
        let (mut least, mut most) = (None, None);
        while let Some(word) = words.next() {
            let bound = match word {
                "ge" => &mut least,
                "le" => &mut most,
                _ => {
                    let what = format!("`{word}` means nothing behind a prefix");
                    return Err(InvalidText::new(what, "write ge or le and a length"));
                }
            };
            let number = words.next().and_then(|it| it.parse::<u8>().ok());
            let number = number.filter(|it| (prefix.bits()..=prefix.bits_max()).contains(it));
            let Some(number) = number.filter(|_| bound.is_none()) else {
                let range = format!("{} to {}", prefix.bits(), prefix.bits_max());
                let what = format!("`{text}`: {word} takes one length from {range}");
                return Err(InvalidText::new(what, "lengths count from the start of the address"));
            };
            *bound = Some(number);
        }
        let none = if least.is_some() { prefix.bits_max() } else { prefix.bits() };
        let (least, most) = (least.unwrap_or(prefix.bits()), most.unwrap_or(none));
        if least > most {
            let what = format!("`{text}` allows no length");
            return Err(InvalidText::new(what, format!("write ge {most} le {least}")));
        }
        Ok(Self { prefix, least, most })
    }

    /// Reads an address, or a prefix that means every address inside of it.
    pub fn parse_addresses(text: &str) -> Result<Self, InvalidText> {
        let prefix = Prefix::parse(text)?;
        Ok(Self { prefix, least: prefix.bits(), most: prefix.bits_max() })
    }
}

/// Lengths that are allowed, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Lengths([u64; 3]);

impl Lengths {
    fn between(least: u8, most: u8) -> Self {
        let mut all = Self::default();
        (least..=most).for_each(|bits| all.0[usize::from(bits >> 6)] |= 1 << (bits & 63));
        all
    }

    #[inline]
    fn has(&self, bits: u8) -> bool {
        self.0.get(usize::from(bits >> 6)).is_some_and(|word| word >> (bits & 63) & 1 == 1)
    }

    fn or(self, other: Self) -> Self {
        Self(core::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

/// What segments need of an address.
trait Address: Copy + Ord {
    /// The last address of the prefix that begins here.
    fn last(self, bits: u8) -> Self;
    /// The address behind it.
    fn next(self) -> Option<Self>;
}

impl Address for u32 {
    fn last(self, bits: u8) -> Self {
        self | Self::MAX.checked_shr(bits.into()).unwrap_or(0)
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Address for u128 {
    fn last(self, bits: u8) -> Self {
        self | Self::MAX.checked_shr(bits.into()).unwrap_or(0)
    }

    fn next(self) -> Option<Self> {
        self.checked_add(1)
    }
}

/// The address space in segments, up to the next start each.
#[derive(Debug, Clone)]
struct Segments<A> {
    starts: Vec<A>,
    /// What holds in each, as an index of `kinds`.
    kind: Vec<u32>,
    kinds: Vec<Lengths>,
}

impl<A: Address> Segments<A> {
    fn new(mut lines: Vec<(A, u8, Lengths)>) -> Self {
        lines.sort_unstable_by_key(|(start, bits, _)| (*start, *bits));
        let mut borders = Borders(Vec::with_capacity(2 * lines.len()));
        let mut open: Vec<(A, Lengths)> = Vec::new();
        for (start, bits, lengths) in lines {
            while let Some((last, _)) = open.pop_if(|(last, _)| *last < start) {
                borders.put(last.next(), around(&open));
            }
            let lengths = lengths.or(around(&open));
            borders.put(Some(start), lengths);
            open.push((start.last(bits), lengths));
        }
        while let Some((last, _)) = open.pop() {
            borders.put(last.next(), around(&open));
        }
        let mut numbers = BTreeMap::new();
        let mut segments = Self { starts: Vec::new(), kind: Vec::new(), kinds: Vec::new() };
        for (start, lengths) in borders.0 {
            let number = *numbers.entry(lengths).or_insert_with(|| {
                segments.kinds.push(lengths);
                u32::try_from(segments.kinds.len() - 1).expect("fewer than 2^32 prefixes")
            });
            segments.starts.push(start);
            segments.kind.push(number);
        }
        segments
    }

    #[inline]
    fn has(&self, address: A, bits: u8) -> bool {
        let behind = self.starts.partition_point(|start| *start <= address);
        let Some(at) = behind.checked_sub(1) else { return false };
        self.kinds[self.kind[at] as usize].has(bits)
    }
}

/// What the innermost of the prefixes that are open allows, those around it included.
fn around<A>(open: &[(A, Lengths)]) -> Lengths {
    open.last().map(|(_, lengths)| *lengths).unwrap_or_default()
}

/// Where segments begin, and what holds from there on.
struct Borders<A>(Vec<(A, Lengths)>);

impl<A: Address> Borders<A> {
    fn put(&mut self, start: Option<A>, lengths: Lengths) {
        let Some(start) = start else { return };
        match self.0.last_mut() {
            Some(last) if last.0 == start => last.1 = lengths,
            Some(last) if last.1 == lengths => {}
            _ => self.0.push((start, lengths)),
        }
    }
}

/// Lists of prefixes of both kinds.
#[derive(Debug, Clone)]
pub struct PrefixSet {
    v4: Segments<u32>,
    v6: Segments<u128>,
}

impl PrefixSet {
    /// The set of those lines.
    pub fn new(lines: &[Line]) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for line in lines {
            let lengths = Lengths::between(line.least, line.most);
            match line.prefix {
                Prefix::V4(address, bits) => v4.push((address, bits, lengths)),
                Prefix::V6(address, bits) => v6.push((address, bits, lengths)),
            }
        }
        Self { v4: Segments::new(v4), v6: Segments::new(v6) }
    }

    /// Whether a line allows that prefix.
    #[inline]
    pub fn has(&self, prefix: Prefix) -> bool {
        match prefix {
            Prefix::V4(address, bits) => self.v4.has(address, bits),
            Prefix::V6(address, bits) => self.v6.has(address, bits),
        }
    }
}
