//! What is sent at live ports of media: RTP, RTCP, STUN and DTLS of whom nobody called.
//!
//! Sources of RTP and RTCP are now strangers, now those that the lab's own speech counts from
//! (`0x10000000` on), so that some forged packets name good streams.

use crate::Kind;

/// The first source of the lab's speech, and how many of them are named.
const SPEECH: u32 = 0x1000_0000;
const NAMED: u32 = 0xff;
/// Octets of 20 ms of G.711.
const SPEECH_OCTETS: usize = 160;
/// RFC 8489 §5.
const MAGIC: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];

/// The template of a kind; empty for what is no media.
pub(crate) fn template(kind: Kind) -> Vec<u8> {
    match kind {
        Kind::Rtp => rtp(),
        Kind::Rtcp => bye(),
        Kind::Stun => check(),
        Kind::Dtls => hello(),
        _ => Vec::new(),
    }
}

/// Makes a payload another one than the one before.
pub(crate) fn change(kind: Kind, random: u64, payload: &mut [u8]) {
    let (low, high) = (random as u32, (random >> 32) as u32);
    let source = if random & 1 == 0 { low } else { SPEECH | (high & NAMED) };
    match kind {
        Kind::Rtp => {
            payload[2..4].copy_from_slice(&(high as u16).to_be_bytes());
            payload[4..8].copy_from_slice(&low.to_be_bytes());
            payload[8..12].copy_from_slice(&source.to_be_bytes());
        }
        Kind::Rtcp => {
            payload[4..8].copy_from_slice(&source.to_be_bytes());
            payload[12..16].copy_from_slice(&source.to_be_bytes());
        }
        // The transaction, and an integrity that nobody made.
        Kind::Stun => {
            payload[8..16].copy_from_slice(&random.to_be_bytes());
            let end = payload.len();
            payload[end - 8..].copy_from_slice(&random.rotate_left(17).to_be_bytes());
        }
        // The client's random.
        Kind::Dtls => payload[31..39].copy_from_slice(&random.to_be_bytes()),
        _ => {}
    }
}

/// Speech (RFC 3550 §5.1).
fn rtp() -> Vec<u8> {
    let mut packet = vec![0x80, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    packet.extend([0xd5; SPEECH_OCTETS]);
    packet
}

/// An empty report and a farewell (RFC 3550 §6.1, §6.6).
fn bye() -> Vec<u8> {
    vec![0x80, 201, 0, 1, 0, 0, 0, 0, 0x81, 203, 0, 1, 0, 0, 0, 0]
}

/// A binding request of a connectivity check (RFC 8445 §7.1).
fn check() -> Vec<u8> {
    const USERNAME: &[u8] = b"abcd:wxyz";
    let mut attributes = vec![0, 6, 0, USERNAME.len() as u8];
    attributes.extend(USERNAME);
    attributes.extend([0; 3]);
    attributes.extend([0x00, 0x24, 0, 4, 0x6e, 0x7f, 0x1e, 0xff]); // PRIORITY
    attributes.extend([0x80, 0x2a, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]); // ICE-CONTROLLING
    attributes.extend([0x00, 0x25, 0, 0]); // USE-CANDIDATE
    attributes.extend([0x00, 0x08, 0, 20]); // MESSAGE-INTEGRITY
    attributes.extend([0xee; 20]);
    let mut packet = vec![0, 1];
    packet.extend((attributes.len() as u16).to_be_bytes());
    packet.extend(MAGIC);
    packet.extend([0; 12]);
    packet.extend(attributes);
    packet
}

/// A ClientHello without a cookie (RFC 6347 §4.2, RFC 5764 §4.1).
fn hello() -> Vec<u8> {
    let mut body = vec![0xfe, 0xfd];
    body.extend([0x11; 32]);
    body.extend([0, 0]); // no session, no cookie
    body.extend([0, 4, 0xc0, 0x2b, 0xc0, 0x2f]);
    body.extend([1, 0]);
    let extensions: [&[u8]; 4] = [
        &[0, 10, 0, 4, 0, 2, 0, 23],         // supported_groups: P-256
        &[0, 11, 0, 2, 1, 0],                // ec_point_formats
        &[0, 13, 0, 6, 0, 4, 4, 3, 4, 1],    // signature_algorithms
        &[0, 14, 0, 7, 0, 4, 0, 1, 0, 7, 0], // use_srtp
    ];
    let extensions = extensions.concat();
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let length = (body.len() as u32).to_be_bytes();
    let mut handshake = vec![1, length[1], length[2], length[3], 0, 0, 0, 0, 0];
    handshake.extend(&length[1..]);
    handshake.extend(body);
    let mut record = vec![22, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
    record.extend((handshake.len() as u16).to_be_bytes());
    record.extend(handshake);
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtp::{Datagram, Header, Packet, rtcp};

    fn of(kind: Kind, random: u64) -> Vec<u8> {
        let mut packet = template(kind);
        change(kind, random, &mut packet);
        packet
    }

    #[test]
    fn each_is_what_it_claims_to_be() {
        let kinds = [
            (Kind::Rtp, Datagram::Rtp),
            (Kind::Rtcp, Datagram::Rtcp),
            (Kind::Stun, Datagram::Stun),
            (Kind::Dtls, Datagram::Dtls),
        ];
        for (kind, datagram) in kinds {
            assert_eq!(Datagram::of(&of(kind, 7)), datagram);
            assert_ne!(of(kind, 7), of(kind, 8), "{kind:?}");
        }
        assert!(Packet::read(&of(Kind::Rtp, 9)).is_ok());
        assert!(rtcp::Compound::read(&of(Kind::Rtcp, 9), rtcp::Form::Compound).is_ok());
        let message = of(Kind::Stun, 9);
        assert!(stun::Message::read(&message).is_ok(), "{message:02x?}");
        let hello = of(Kind::Dtls, 9);
        assert_eq!(usize::from(u16::from_be_bytes([hello[11], hello[12]])), hello.len() - 13);
        let fragment = &hello[22..25];
        assert_eq!(usize::from(fragment[2]) | usize::from(fragment[1]) << 8, hello.len() - 25);
    }

    #[test]
    fn some_sources_are_those_of_good_streams() {
        let sources = (0..100u64).map(|at| {
            let packet = of(Kind::Rtp, at << 32 | at);
            Header::peek(&packet).unwrap().ssrc
        });
        let named = sources.filter(|ssrc| ssrc & !NAMED == SPEECH).count();
        assert!((40..60).contains(&named), "{named}");
    }
}
