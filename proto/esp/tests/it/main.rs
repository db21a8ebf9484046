//! ESP: both ends, whatever comes between them, and others' implementations.
#![allow(missing_docs, reason = "a test program")]

mod ends;
mod hostile;
mod nat;
mod numbers;
mod scapy;
mod tshark;
mod vectors;

use esp::{
    Algorithm, Dropped, Encryption, HEADROOM, Inbound, Integrity, KeyLength, Material, Notice,
    Outbound, Packet, Parameters, Passed, Report, Spi, TAILROOM, protect, unprotect,
};
use std::net::IpAddr;

/// Numbers by seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn octets(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_be_bytes()[0]).collect()
    }

    /// A packet of UDP, of an odd length now and then.
    fn packet(&mut self, is_v6: bool) -> Vec<u8> {
        let payload = self.below(300) as usize;
        self.packet_of(is_v6, payload)
    }

    fn packet_of(&mut self, is_v6: bool, payload: usize) -> Vec<u8> {
        let payload = self.octets(payload);
        datagram(is_v6, &payload)
    }
}

/// A packet of UDP from port 40,000.
fn datagram(is_v6: bool, payload: &[u8]) -> Vec<u8> {
    let mut udp = [0x9c, 0x40, 0x9c, 0x41, 0, 0, 0, 0].to_vec();
    udp.extend(payload);
    let length = u16::try_from(udp.len()).expect("short");
    udp[4..6].copy_from_slice(&length.to_be_bytes());
    let ends = if is_v6 { ["2001:db8::1", "2001:db8::2"] } else { ["192.0.2.1", "192.0.2.2"] };
    let [source, destination] = ends.map(|it| it.parse().expect("an address"));
    let checksum = upper_checksum(source, destination, 17, &udp);
    udp[6..8].copy_from_slice(&checksum.to_be_bytes());
    ip(source, destination, 17, &udp)
}

/// An IP packet without options.
fn ip(source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let length = u16::try_from(20 + payload.len()).expect("short").to_be_bytes();
            let mut packet = vec![0x45, 0, length[0], length[1], 0x12, 0x34, 0x40, 0];
            packet.extend([64, protocol, 0, 0]);
            packet.extend(source.octets());
            packet.extend(destination.octets());
            let checksum = checksum(&packet);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            packet.extend(payload);
            packet
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let length = u16::try_from(payload.len()).expect("short").to_be_bytes();
            let mut packet = vec![0x60, 0, 0, 0, length[0], length[1], protocol, 64];
            packet.extend(source.octets());
            packet.extend(destination.octets());
            packet.extend(payload);
            packet
        }
        _ => panic!("of one version"),
    }
}

fn checksum(octets: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = octets.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// The checksum of UDP or TCP, whose own field is zero.
fn upper_checksum(source: IpAddr, destination: IpAddr, protocol: u8, upper: &[u8]) -> u16 {
    let mut text = Vec::new();
    for address in [source, destination] {
        match address {
            IpAddr::V4(it) => text.extend(it.octets()),
            IpAddr::V6(it) => text.extend(it.octets()),
        }
    }
    text.extend([0, protocol]);
    text.extend(u16::try_from(upper.len()).expect("short").to_be_bytes());
    text.extend(upper);
    match checksum(&text) {
        0 if protocol == 17 => u16::MAX,
        checksum => checksum,
    }
}

use Encryption::{AesCbc, AesGcm16, Null, TripleDesCbc};
use Integrity::{
    AesGmac, Combined, HmacMd5_96, HmacSha1_96, HmacSha256_128, HmacSha384_192, HmacSha512_256,
};
use KeyLength::{Bits128, Bits192, Bits256};

/// All pairs that are tried, with the names that scapy has for them.
const ALGORITHMS: [(Encryption, Integrity, &str, &str); 17] = [
    (Null, HmacSha1_96, "NULL", "HMAC-SHA1-96"),
    (Null, HmacSha256_128, "NULL", "SHA2-256-128"),
    (AesCbc(Bits128), HmacSha1_96, "AES-CBC", "HMAC-SHA1-96"),
    (AesCbc(Bits192), HmacSha1_96, "AES-CBC", "HMAC-SHA1-96"),
    (AesCbc(Bits256), HmacSha1_96, "AES-CBC", "HMAC-SHA1-96"),
    (AesCbc(Bits128), HmacSha256_128, "AES-CBC", "SHA2-256-128"),
    (AesCbc(Bits256), HmacSha384_192, "AES-CBC", "SHA2-384-192"),
    (AesCbc(Bits256), HmacSha512_256, "AES-CBC", "SHA2-512-256"),
    (AesGcm16(Bits128), Combined, "AES-GCM", "NULL"),
    (AesGcm16(Bits192), Combined, "AES-GCM", "NULL"),
    (AesGcm16(Bits256), Combined, "AES-GCM", "NULL"),
    (Null, AesGmac(Bits128), "NULL", "GMAC"),
    (Null, AesGmac(Bits256), "NULL", "GMAC"),
    (TripleDesCbc, HmacSha1_96, "3DES", "HMAC-SHA1-96"),
    (TripleDesCbc, HmacMd5_96, "3DES", "HMAC-MD5-96"),
    (AesCbc(Bits128), HmacMd5_96, "AES-CBC", "HMAC-MD5-96"),
    (Null, HmacMd5_96, "NULL", "HMAC-MD5-96"),
];

fn algorithms() -> impl Iterator<Item = Algorithm> {
    ALGORITHMS.iter().map(|it| Algorithm::new(it.0, it.1).expect("they go together"))
}

/// Keys by seed.
struct Keys {
    encryption: Vec<u8>,
    integrity: Vec<u8>,
}

impl Keys {
    fn new(algorithm: Algorithm, random: &mut Random) -> Self {
        Self {
            encryption: random.octets(algorithm.encryption().key_octets()),
            integrity: random.octets(algorithm.integrity().key_octets()),
        }
    }

    fn material(&self) -> Material<'_> {
        Material { encryption: &self.encryption, integrity: &self.integrity }
    }
}

/// An association of that algorithm, in transport mode.
fn parameters(algorithm: Algorithm) -> Parameters {
    Parameters { allows_legacy: true, ..Parameters::new(Spi(0x0102_0304), algorithm) }
}

/// Both ends of an association.
struct Ends {
    out: [Outbound; 1],
    into: [Inbound; 1],
    report: Report,
}

impl Ends {
    /// With parameters as the sender sees them and as the receiver sees them.
    fn of(parameters: [Parameters; 2], seed: u64) -> Self {
        let mut random = Random(seed);
        let [sender, receiver] = parameters;
        let keys = Keys::new(sender.algorithm, &mut random);
        let octets = random.octets(16).try_into().expect("sixteen");
        let out = Outbound::new(sender, keys.material(), octets).expect("it fits");
        let into = Inbound::new(receiver, keys.material()).expect("it fits");
        Self { out: [out], into: [into], report: Report::default() }
    }

    fn new(parameters: &Parameters, seed: u64) -> Self {
        Self::of([parameters.clone(), parameters.clone()], seed)
    }

    /// The packet protected.
    fn send(&mut self, packet: &[u8]) -> Result<Vec<u8>, Dropped> {
        self.send_as(packet, false)
    }

    fn send_as(&mut self, packet: &[u8], is_dummy: bool) -> Result<Vec<u8>, Dropped> {
        let mut buffer = [&[0xee; HEADROOM], packet, &[0xee; TAILROOM]].concat();
        let mut one = Packet::new(0, 0..buffer.len(), HEADROOM, packet.len());
        one.is_dummy = is_dummy;
        let mut packets = [one];
        protect(&mut self.out[..], &mut buffer, &mut packets, &mut self.report);
        let [Packet { at, length, verdict, .. }] = packets;
        verdict.map(|_| buffer[at..at + length].to_vec())
    }

    /// The packet opened: `None` of a dummy.
    fn open(&mut self, packet: &[u8]) -> Result<Option<Vec<u8>>, Dropped> {
        let mut buffer = packet.to_vec();
        let mut packets = [Packet::new(0, 0..buffer.len(), 0, buffer.len())];
        unprotect(&mut self.into[..], &mut buffer, &mut packets, &mut self.report);
        let [Packet { at, length, verdict, .. }] = packets;
        Ok(match verdict? {
            Passed::Data => Some(buffer[at..at + length].to_vec()),
            Passed::Dummy => None,
        })
    }

    fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.report.notices)
    }
}
