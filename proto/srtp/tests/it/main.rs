//! The laws of a direction, its peers and its limits.
#![allow(clippy::cast_possible_truncation, clippy::print_stdout, clippy::unwrap_used)]

mod batch;
mod keying;
mod laws;
mod libsrtp;
mod limits;
mod sdes;
mod takeover;

use srtp::{KeyEntry, MasterKey, Parameters, Receiver, Sender, Suite};

/// Octets behind a packet that it may grow into.
const ROOM: usize = 160;

/// Numbers by seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 20
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn octets(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    fn key(&mut self, suite: Suite) -> MasterKey {
        MasterKey::of(suite, &self.octets(MasterKey::octets_of(suite))).expect("it fits")
    }

    /// A packet of RTP, now and then with CSRCs, an extension, no payload.
    fn rtp(&mut self, ssrc: u32, sequence: u16) -> Vec<u8> {
        let (csrcs, extends) = (self.below(8).saturating_sub(5), self.below(5) == 0);
        let mut packet = vec![0x80 | csrcs as u8 | u8::from(extends) << 4, 0];
        packet.extend(sequence.to_be_bytes());
        packet.extend(self.octets(4));
        packet.extend(ssrc.to_be_bytes());
        packet.extend(self.octets(4 * csrcs as usize));
        if extends {
            let words = self.below(4) as usize;
            packet.extend([0xbe, 0xde, 0, words as u8]);
            packet.extend(self.octets(4 * words));
        }
        let payload = if self.below(20) == 0 { 0 } else { self.below(200) as usize };
        packet.extend(self.octets(payload));
        packet
    }

    /// A packet of RTCP.
    fn rtcp(&mut self, ssrc: u32) -> Vec<u8> {
        let words = 1 + self.below(20) as usize;
        let mut packet = vec![0x80, 200, 0, words as u8];
        packet.extend(ssrc.to_be_bytes());
        packet.extend(self.octets(4 * (words - 1)));
        packet
    }
}

/// Both ends of a direction.
fn pair(parameters: Parameters, keys: &[KeyEntry]) -> (Sender, Receiver) {
    let sender = Sender::new(parameters, keys).expect("sound keys");
    (sender, Receiver::new(parameters, keys).expect("sound keys"))
}

/// The packet protected.
fn sent(sender: &mut Sender, packet: &[u8]) -> Result<Vec<u8>, srtp::Refused> {
    let mut buffer = [packet, &[0xee; ROOM]].concat();
    let length = sender.protect(&mut buffer, packet.len())?;
    buffer.truncate(length);
    Ok(buffer)
}

/// The packet opened; one that is refused stays as it came.
fn opened(receiver: &mut Receiver, packet: &[u8]) -> Result<Vec<u8>, srtp::Refused> {
    let mut buffer = packet.to_vec();
    match receiver.unprotect(&mut buffer) {
        Ok(length) => {
            buffer.truncate(length);
            Ok(buffer)
        }
        Err(why) => {
            assert_eq!(buffer, packet, "{why}: it was changed");
            Err(why)
        }
    }
}

fn sent_rtcp(sender: &mut Sender, packet: &[u8]) -> Result<Vec<u8>, srtp::Refused> {
    let mut buffer = [packet, &[0xee; ROOM]].concat();
    let length = sender.protect_rtcp(&mut buffer, packet.len())?;
    buffer.truncate(length);
    Ok(buffer)
}

fn opened_rtcp(receiver: &mut Receiver, packet: &[u8]) -> Result<Vec<u8>, srtp::Refused> {
    let mut buffer = packet.to_vec();
    match receiver.unprotect_rtcp(&mut buffer) {
        Ok(length) => {
            buffer.truncate(length);
            Ok(buffer)
        }
        Err(why) => {
            assert_eq!(buffer, packet, "{why}: it was changed");
            Err(why)
        }
    }
}
