//! Packets of both kinds to a direction of any suite: the first octet says which, and each of the
//! others' first how long a packet is and what it is done with. Nothing panics, nothing that was
//! not sent opens, what is refused stays as it was, and a batch says what its packets alone do.

use srtp::{KeyEntry, MasterKey, Packet, Parameters, Receiver, Sender, Suite};
use std::collections::BTreeSet;

/// Octets that a packet may grow by.
const ROOM: usize = 64;

/// Both ends of a direction, and what has passed.
struct Direction {
    sender: Sender,
    receiver: Receiver,
    /// By its double all packets pass in batches.
    doubles: [Receiver; 1],
    sent: BTreeSet<Vec<u8>>,
}

impl Direction {
    /// The key is of the whole script: what was sent in another run, of which libFuzzer learns by
    /// comparisons, opens nothing.
    fn new(choice: u8, script: &[u8]) -> Self {
        let suite = Suite::ALL[usize::from(choice) % Suite::ALL.len()];
        let usual = Parameters::of(suite);
        let parameters = Parameters {
            encrypts_rtp: usual.encrypts_rtp && choice & 0x40 == 0,
            encrypts_rtcp: usual.encrypts_rtcp && choice & 0x80 == 0,
            ..usual
        };
        let parameters = if parameters.are_sound() { parameters } else { usual };
        let mut state = script.iter().fold(1_u64, |state, octet| {
            (state ^ u64::from(*octet)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        let mut octets = vec![0; MasterKey::octets_of(suite)];
        for octet in &mut octets {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *octet = state.to_be_bytes()[0];
        }
        let key = MasterKey::of(suite, &octets).expect("it fits");
        let keys = [KeyEntry::alone(key)];
        let receiver = || Receiver::new(parameters, &keys).expect("sound keys");
        Self {
            sender: Sender::new(parameters, &keys).expect("sound keys"),
            receiver: receiver(),
            doubles: [receiver()],
            sent: BTreeSet::new(),
        }
    }

    fn open(&mut self, packet: &[u8], is_rtcp: bool) {
        let mut alone = packet.to_vec();
        let verdict = match is_rtcp {
            true => self.receiver.unprotect_rtcp(&mut alone),
            false => self.receiver.unprotect(&mut alone),
        };
        match verdict {
            Ok(_) => assert!(self.sent.contains(packet), "nobody sent this"),
            Err(_) => assert_eq!(alone, packet, "it was changed"),
        }
        let mut buffer = packet.to_vec();
        let mut batch = [Packet::rtp(0, 0, packet.len(), packet.len())];
        batch[0].is_rtcp = is_rtcp;
        srtp::unprotect(&mut self.doubles[..], &mut buffer, &mut batch);
        assert_eq!(batch[0].verdict, verdict.map(|_| ()));
        assert_eq!(buffer, alone);
    }

    fn send(&mut self, packet: &[u8], is_rtcp: bool) -> Option<Vec<u8>> {
        let mut buffer = [packet, &[0; ROOM]].concat();
        let verdict = match is_rtcp {
            true => self.sender.protect_rtcp(&mut buffer, packet.len()),
            false => self.sender.protect(&mut buffer, packet.len()),
        };
        let length = verdict.ok()?;
        buffer.truncate(length);
        assert!(self.sent.insert(buffer.clone()), "the same octets twice");
        Some(buffer)
    }
}

pub fn run(octets: &[u8]) {
    let Some((&choice, mut rest)) = octets.split_first() else { return };
    let mut direction = Direction::new(choice, octets);
    let mut last = Vec::new();
    while let Some((&[how, length], tail)) = rest.split_first_chunk() {
        let (packet, tail) = tail.split_at(tail.len().min(usize::from(length)));
        rest = tail;
        let is_rtcp = how & 1 == 1;
        match how >> 1 & 3 {
            0 => direction.open(packet, is_rtcp),
            1 => {
                if let Some(sent) = direction.send(packet, is_rtcp) {
                    direction.open(&sent, is_rtcp);
                    last = sent;
                }
            }
            2 => {
                // The last one once more, with octets of the script over it.
                for (octet, other) in last.iter_mut().zip(packet) {
                    *octet ^= other;
                }
                direction.open(&last.clone(), is_rtcp);
            }
            _ => {
                let full = direction.send(packet, is_rtcp);
                assert!(full.is_none_or(|sent| sent.len() > packet.len() || packet.is_empty()));
            }
        }
    }
    let both = direction.receiver.streams().eq(direction.doubles[0].streams());
    assert!(both, "a batch leaves another state");
}
