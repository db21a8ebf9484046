//! A segment (RFC 9293 §3.1).

use core::net::IpAddr;
use wire::Malformed;

/// Octets of a header without options.
pub const HEADER: usize = 20;
/// Octets of a segment at most: what a packet of IPv4 has room for.
pub const OCTETS_MAX: usize = 65_515;
/// TCP in headers of IP.
pub const PROTOCOL: u8 = 6;
const SPEC: &str = "RFC 9293 §3.1";
const OPTION_END: u8 = 0;
const OPTION_NONE: u8 = 1;
const OPTION_MSS: u8 = 2;
const MSS_OCTETS: u8 = 4;

/// Where a segment comes from, and where it goes to.
pub type Ends = (IpAddr, IpAddr);

/// The control bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more octets come.
    pub const FIN: Self = Self(1);
    /// Numbers begin.
    pub const SYN: Self = Self(2);
    /// The connection is no more.
    pub const RST: Self = Self(4);
    /// To be handed on at once.
    pub const PSH: Self = Self(8);
    /// The acknowledgment says something.
    pub const ACK: Self = Self(16);

    /// Whether all of these are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The port that it comes from.
    pub source: u16,
    /// The port that it goes to.
    pub destination: u16,
    /// The number of its first octet.
    pub seq: u32,
    /// The next octet that its sender waits for.
    pub ack: u32,
    /// The control bits.
    pub flags: Flags,
    /// Octets that its sender takes.
    pub window: u16,
    /// Octets of a segment that its sender takes, in a SYN.
    pub mss: Option<u16>,
    /// What it carries.
    pub payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Reads what stands behind the header of IP. Its checksum is not looked at: [`is_sound`] does,
    /// where what carries it does not prove more (RFC 4303 §2.8).
    ///
    /// # Errors
    /// Its header, or an option, does not end where it should.
    pub fn read(octets: &'a [u8]) -> Result<Self, Malformed> {
        let short = || Malformed::new(octets.len(), "the segment is cut off", SPEC);
        let fixed: &[u8; HEADER] = octets.first_chunk().ok_or_else(short)?;
        let header = usize::from(fixed[12] >> 4) * 4;
        if header < HEADER {
            return Err(Malformed::new(12, "the header is too short", SPEC));
        }
        let (head, payload) = octets.split_at_checked(header).ok_or_else(short)?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        Ok(Self {
            source: word(0),
            destination: word(2),
            seq: long(4),
            ack: long(8),
            flags: Flags(fixed[13]),
            window: word(14),
            mss: mss(&head[HEADER..])?,
            payload,
        })
    }

    /// Appends it, with the checksum between two addresses; `false`, and nothing is appended: it
    /// carries too much.
    pub fn write(&self, ends: Ends, out: &mut Vec<u8>) -> bool {
        let options = if self.mss.is_some() { usize::from(MSS_OCTETS) } else { 0 };
        let header = HEADER + options;
        let Ok(length) = u16::try_from(header + self.payload.len()) else { return false };
        if usize::from(length) > OCTETS_MAX {
            return false;
        }
        let begin = out.len();
        out.extend_from_slice(&self.source.to_be_bytes());
        out.extend_from_slice(&self.destination.to_be_bytes());
        out.extend_from_slice(&self.seq.to_be_bytes());
        out.extend_from_slice(&self.ack.to_be_bytes());
        let words = if options == 0 { 5 } else { 6 };
        out.extend_from_slice(&[words << 4, self.flags.0]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        if let Some(mss) = self.mss {
            out.extend_from_slice(&[OPTION_MSS, MSS_OCTETS]);
            out.extend_from_slice(&mss.to_be_bytes());
        }
        out.extend_from_slice(self.payload);
        put_checksum(ends, &mut out[begin..]);
        true
    }

    /// The numbers that it takes: octets, SYN, FIN.
    #[must_use]
    pub fn span(&self) -> u32 {
        let octets = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        let controls = [Flags::SYN, Flags::FIN].into_iter().filter(|it| self.flags.has(*it));
        octets.saturating_add(u32::try_from(controls.count()).unwrap_or(0))
    }

    /// Whether it asks for a connection.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.flags.has(Flags::SYN) && !self.flags.has(Flags::ACK) && !self.flags.has(Flags::RST)
    }

    /// What answers a SYN that nobody remembers (RFC 4987 §3.6): whoever takes it comes again with
    /// that number, and [`crate::Connection::resume`] goes on from there.
    #[must_use]
    pub const fn answer(&self, iss: u32, mss: u16) -> Segment<'static> {
        let (source, destination) = (self.destination, self.source);
        let (seq, ack, flags) = (iss, self.seq.wrapping_add(1), Flags::SYN.and(Flags::ACK));
        let (window, mss) = (u16::MAX, Some(mss));
        Segment { source, destination, seq, ack, flags, window, mss, payload: &[] }
    }

    /// What answers a segment of no connection (RFC 9293 §3.10.7.1); `None`: nothing does.
    #[must_use]
    pub fn reset(&self) -> Option<Segment<'static>> {
        if self.flags.has(Flags::RST) {
            return None;
        }
        let (seq, ack, flags) = match self.flags.has(Flags::ACK) {
            true => (self.ack, 0, Flags::RST),
            false => (0, self.seq.wrapping_add(self.span()), Flags::RST.and(Flags::ACK)),
        };
        let (source, destination) = (self.destination, self.source);
        Some(Segment { source, destination, seq, ack, flags, window: 0, mss: None, payload: &[] })
    }
}

/// Whether the checksum of what stands behind the header of IP holds (RFC 9293 §3.1).
#[must_use]
pub fn is_sound(ends: Ends, octets: &[u8]) -> bool {
    octets.len() <= OCTETS_MAX && folded(pseudo(ends, octets) + sum(octets)) == u16::MAX
}

/// Puts the checksum into a whole segment.
pub(crate) fn put_checksum(ends: Ends, octets: &mut [u8]) {
    octets[16..18].copy_from_slice(&[0; 2]);
    let checksum = !folded(pseudo(ends, octets) + sum(octets));
    octets[16..18].copy_from_slice(&checksum.to_be_bytes());
}

/// What the pseudo-header adds.
fn pseudo(ends: Ends, octets: &[u8]) -> u64 {
    address(ends.0) + address(ends.1) + u64::from(PROTOCOL) + octets.len() as u64
}

/// The maximum segment size among options; others mean nothing here.
fn mss(mut options: &[u8]) -> Result<Option<u16>, Malformed> {
    let mut found = None;
    loop {
        options = match options {
            [] | [OPTION_END, ..] => return Ok(found),
            [OPTION_NONE, rest @ ..] => rest,
            [OPTION_MSS, MSS_OCTETS, high, low, rest @ ..] => {
                found = Some(u16::from_be_bytes([*high, *low]));
                rest
            }
            [_, length, ..] if *length >= 2 => {
                let rest = options.get(usize::from(*length)..);
                rest.ok_or_else(|| Malformed::new(HEADER, "an option is cut off", SPEC))?
            }
            _ => return Err(Malformed::new(HEADER, "an option has no length", SPEC)),
        }
    }
}

fn address(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    }
}

fn sum(octets: &[u8]) -> u64 {
    let pairs = octets.chunks_exact(2);
    let last = pairs.remainder().first().map_or(0, |octet| u64::from(*octet) << 8);
    pairs.map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u64>() + last
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(u16::MAX)
}
