//! What the program `bpf/fence.c` and this crate write into the maps between them.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Numbers in [`Rules`].
const RULE_WORDS: usize = 13;
const NANOS: u64 = 1_000_000_000;
/// Values of a door.
const POLICED: u32 = 1;
const TRUSTS: u32 = 2;
/// Different fates of frames; see [`Count`].
pub const COUNTS: usize = 7;

/// `struct rules`: interval and span of the source's bucket and of the four shared ones, two words
/// of secret, the number of trusted prefixes.
pub(super) type Rules = [u64; RULE_WORDS];
/// `struct door`: address, port in network order, protocol, zero.
pub(super) type DoorKey = [u8; 20];

/// What became of a frame towards a door: index into [`crate::fence::Fence::counts`]. Frames of
/// connections that stand, and to doors that trust everybody, are not counted.
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
    /// All together: SYNs towards doors, and as many towards other ports of their addresses.
    pub syns: Rate,
    /// All together: echo requests.
    pub echoes: Rate,
}

/// What carries the bytes of a door.
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
pub struct Door {
    /// An address of this machine, no wildcard.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether everybody passes.
    pub trusts: bool,
}

pub(super) fn rules(rates: &Rates, secret: [u64; 2], trusted: usize) -> Rules {
    let Rates { source, datagrams, syns, echoes } = *rates;
    let mut words = [0; RULE_WORDS];
    for (at, rate) in [source, datagrams, syns, syns, echoes].into_iter().enumerate() {
        words[2 * at..2 * at + 2].copy_from_slice(&rate.words());
    }
    words[10..12].copy_from_slice(&secret);
    words[12] = trusted as u64;
    words
}

/// An address as IPv6 writes it.
fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The doors, and each address that one is at; an address trusts when all of its doors do.
pub(super) fn doors(doors: &[Door]) -> BTreeMap<DoorKey, u32> {
    let mut wanted = BTreeMap::new();
    for door in doors {
        let value = if door.trusts { TRUSTS } else { POLICED };
        let mut key = [0; 20];
        key[..16].copy_from_slice(&octets(door.address));
        let at_address = wanted.entry(key).or_insert(value);
        *at_address = value.min(*at_address);
        key[16..18].copy_from_slice(&door.port.to_be_bytes());
        key[18] = door.protocol as u8;
        wanted.insert(key, value);
    }
    wanted
}

/// A prefix as IPv6 writes it.
pub(super) fn prefix((address, bits): (IpAddr, u8)) -> (u32, [u8; 16]) {
    let more = if address.is_ipv4() { 96 } else { 0 };
    (u32::from(bits) + more, octets(address))
}

/// The place of a source in the tables: an IPv4 address, or the /64 of an IPv6 address.
pub(super) fn place(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(ip) => u64::from(u32::from(ip)),
        IpAddr::V6(ip) => (u128::from(ip) >> 64) as u64,
    }
}
