//! What the program `bpf/interface.c` and a filter write into the maps between them.

use crate::xdp::Target;
use std::collections::BTreeMap;
use std::net::IpAddr;

const NANOS: u64 = 1_000_000_000;
/// Values of a listener.
const POLICED: u32 = 1;
const TRUSTS: u32 = 2;
/// Different fates of frames; see [`Count`].
pub const COUNTS: usize = 7;

/// `struct target` but for the interface: address, port in network order, protocol, zero.
pub(super) type ListenerKey = [u8; 20];

/// What became of a frame towards a listener: index into [`crate::filter::Filter::counts`]. Frames
/// of connections that stand, and to listeners that trust everybody, are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// Of an unknown source, and it passed.
    Passed,
    /// Of a known or trusted source.
    Known,
    /// Dropped: its source is blacklisted.
    Blacklisted,
    /// Dropped: its source sends more than it may.
    Excess,
    /// Dropped: datagrams of all unknown sources together are too many.
    Crowded,
    /// Dropped: connections are opened too often.
    Syns,
    /// Dropped: echo requests are too many.
    Echoes,
}

/// So many frames a second, so many at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// A second.
    pub per_s: u32,
    /// At once.
    pub burst: u32,
}

impl Rate {
    /// The time that a frame takes, and how far ahead of its time one may come.
    fn words(self) -> [u64; 2] {
        let interval = NANOS / u64::from(self.per_s.max(1));
        [interval, interval * u64::from(self.burst.max(1) - 1)]
    }
}

/// What unknown sources may send; the first is each one's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Each source, frames of all kinds.
    pub source: Rate,
    /// All together: datagrams.
    pub datagrams: Rate,
    /// All together: SYNs towards listeners, and as many towards other ports of their addresses.
    pub syns: Rate,
    /// All together: echo requests.
    pub echoes: Rate,
}

/// What carries the bytes of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Protocol {
    /// Segments.
    Tcp = 6,
    /// Datagrams.
    Udp = 17,
}

/// Something that we listen at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listener {
    /// An address of this machine, no wildcard.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether everybody passes.
    pub trusts: bool,
}

/// `struct rules`: rate of a source, the secret, the number of trusted prefixes.
pub(super) fn rules(rates: &Rates, secret: [u64; 2], trusted: usize) -> [u8; 40] {
    let [[interval, span], [one, other]] = [rates.source.words(), secret];
    octets_of([interval, span, one, other, trusted as u64])
}

/// The buckets that all sources share, full, in the order of `enum shared`; so many syns go to
/// listeners, and as many elsewhere.
pub(super) fn shared_buckets(rates: &Rates) -> [[u8; 24]; 4] {
    [rates.datagrams, rates.syns, rates.syns, rates.echoes].map(|rate| {
        let [interval, span] = rate.words();
        octets_of([interval, span, 0])
    })
}

fn octets_of<const N: usize, const WORDS: usize>(words: [u64; WORDS]) -> [u8; N] {
    let octets = words.iter().flat_map(|word| word.to_ne_bytes());
    let mut all = [0; N];
    all.iter_mut().zip(octets).for_each(|(place, octet)| *place = octet);
    all
}

/// An address as IPv6 writes it.
pub(crate) fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The listeners, and each address that one is at; an address trusts when all of its listeners do.
pub(super) fn listeners(listeners: &[Listener]) -> BTreeMap<ListenerKey, u32> {
    let mut wanted = BTreeMap::new();
    for listener in listeners {
        let value = if listener.trusts { TRUSTS } else { POLICED };
        let mut key = [0; 20];
        key[..16].copy_from_slice(&octets(listener.address));
        let at_address = wanted.entry(key).or_insert(value);
        *at_address = value.min(*at_address);
        key[16..18].copy_from_slice(&listener.port.to_be_bytes());
        key[18] = listener.protocol as u8;
        wanted.insert(key, value);
    }
    wanted
}

/// The listener of an interface.
pub(super) fn target(listener: &ListenerKey, interface: u32) -> Target {
    let mut target = [0; 24];
    target[..20].copy_from_slice(listener);
    target[20..].copy_from_slice(&interface.to_ne_bytes());
    target
}

/// `struct prefix`: how many bits of owner and address count, those two; addresses as IPv6 writes
/// them.
pub(super) fn prefix(address: IpAddr, bits: u8, owner: u32) -> [u8; 24] {
    let more = if address.is_ipv4() { 32 + 96 } else { 32 };
    let mut key = [0; 24];
    key[..4].copy_from_slice(&(u32::from(bits) + more).to_ne_bytes());
    key[4..8].copy_from_slice(&owner.to_ne_bytes());
    key[8..].copy_from_slice(&octets(address));
    key
}

/// `struct source`: an IPv4 address, or the /64 of an IPv6 address, and the owner.
pub(super) fn source(address: IpAddr, owner: u32) -> [u8; 16] {
    let place = match address.to_canonical() {
        IpAddr::V4(ip) => u64::from(u32::from(ip)),
        IpAddr::V6(ip) => (u128::from(ip) >> 64) as u64,
    };
    let mut key = [0; 16];
    key[..8].copy_from_slice(&place.to_ne_bytes());
    key[8..12].copy_from_slice(&owner.to_ne_bytes());
    key
}
