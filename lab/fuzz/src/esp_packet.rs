//! Packets to both ends of an association of any kind: the first two octets say which, and each
//! of the others' first what is done with a packet and how long it is. Nothing panics, nothing that
//! was not sent opens, and a batch says what its packets alone do.

use esp::{
    Algorithm, Encryption, HEADROOM, Inbound, Integrity, KeyLength, Material, Mode, Outbound,
    Packet, Parameters, Passed, Report, Spi, TAILROOM, Tunnel, Udp, arrival, protect, unprotect,
};
use std::collections::BTreeMap;

const ALGORITHMS: [(Encryption, Integrity); 8] = [
    (Encryption::Null, Integrity::HmacSha1_96),
    (Encryption::AesCbc(KeyLength::Bits128), Integrity::HmacSha1_96),
    (Encryption::AesCbc(KeyLength::Bits256), Integrity::HmacSha256_128),
    (Encryption::AesGcm16(KeyLength::Bits128), Integrity::Combined),
    (Encryption::AesGcm16(KeyLength::Bits256), Integrity::Combined),
    (Encryption::Null, Integrity::AesGmac(KeyLength::Bits128)),
    (Encryption::TripleDesCbc, Integrity::HmacMd5_96),
    (Encryption::AesCbc(KeyLength::Bits128), Integrity::HmacMd5_96),
];

fn algorithm(choice: u8) -> Algorithm {
    let (encryption, integrity) = ALGORITHMS[usize::from(choice) % ALGORITHMS.len()];
    Algorithm::new(encryption, integrity).expect("they go together")
}

fn parameters(choice: [u8; 2]) -> [Parameters; 2] {
    let ends = match choice[1] & 1 {
        0 => ["192.0.2.1", "192.0.2.2"],
        _ => ["2001:db8::1", "2001:db8::2"],
    };
    let [a, b] = ends.map(|it| it.parse().expect("an address"));
    [(a, b), (b, a)].map(|(a, b)| Parameters {
        allows_legacy: true,
        mode: match choice[1] & 2 {
            0 => Mode::Transport,
            _ => Mode::Tunnel(Tunnel::between(a, b)),
        },
        extended: choice[1] & 4 != 0,
        sole_key: true,
        udp: (choice[1] & 8 != 0).then_some(Udp { local: 4500, remote: 4500 }),
        window: if choice[1] & 16 == 0 { 64 } else { 512 },
        ..Parameters::new(Spi(0x0405_0607), algorithm(choice[0]))
    })
}

/// Both ends, and what has passed.
struct Association {
    out: [Outbound; 1],
    into: [Inbound; 1],
    /// By its double all packets pass three at once.
    doubles: [Inbound; 1],
    report: Report,
    /// What was sent, and of what.
    sent: BTreeMap<Vec<u8>, Vec<u8>>,
    is_tunnel: bool,
}

impl Association {
    /// The keys are of the whole script: what was sent in another run, of which libFuzzer learns by
    /// comparisons, opens nothing.
    fn new(choice: [u8; 2], script: &[u8]) -> Self {
        let mut state = script.iter().fold(1_u64, |state, octet| {
            (state ^ u64::from(*octet)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        });
        let mut octets = [0; 128];
        for octet in &mut octets {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *octet = state.to_be_bytes()[0];
        }
        let [sender, receiver] = parameters(choice);
        let material = Material {
            encryption: &octets[..sender.algorithm.encryption().key_octets()],
            integrity: &octets[64..64 + sender.algorithm.integrity().key_octets()],
        };
        let inbound = || Inbound::new(receiver.clone(), material).expect("sound");
        let is_tunnel = matches!(sender.mode, Mode::Tunnel(_));
        Self {
            out: [Outbound::new(sender, material, [state.to_be_bytes()[1]; 16]).expect("sound")],
            into: [inbound()],
            doubles: [inbound()],
            report: Report::default(),
            sent: BTreeMap::new(),
            is_tunnel,
        }
    }

    fn open(&mut self, packet: &[u8]) {
        let _ = arrival(packet);
        let mut alone = packet.to_vec();
        let whole = |at: usize| {
            let begin = at * packet.len();
            Packet::new(0, begin..begin + packet.len(), begin, packet.len())
        };
        let mut one = [whole(0)];
        unprotect(&mut self.into[..], &mut alone, &mut one, &mut self.report);
        if one[0].verdict == Ok(Passed::Data) {
            // The outer header is not authenticated: of it and of what a transport keeps of it no
            // more is known than that there is one.
            let known = self.sent.iter().find(|(sent, _)| {
                let tail = sent.len().min(packet.len()).min(28);
                sent[sent.len() - tail..] == packet[packet.len() - tail..]
            });
            let (_, plain) = known.expect("nobody sent this");
            let opened = &alone[one[0].at..one[0].at + one[0].length];
            assert!(!self.is_tunnel || opened.len() <= plain.len());
        }
        let mut batch = packet.repeat(3);
        let mut packets = [whole(0), whole(1), whole(2)];
        unprotect(&mut self.doubles[..], &mut batch, &mut packets, &mut self.report);
        assert_eq!(packets[0].verdict, one[0].verdict);
        assert!(packets[1].verdict.is_err() && packets[2].verdict.is_err());
    }

    fn send(&mut self, packet: &[u8], is_dummy: bool) -> Option<Vec<u8>> {
        let mut buffer = [&[0; HEADROOM], packet, &[0; TAILROOM]].concat();
        let mut packets = [Packet::new(0, 0..buffer.len(), HEADROOM, packet.len())];
        packets[0].is_dummy = is_dummy;
        protect(&mut self.out[..], &mut buffer, &mut packets, &mut self.report);
        let [Packet { at, length, verdict, .. }] = packets;
        verdict.ok()?;
        let sent = buffer[at..at + length].to_vec();
        assert!(self.sent.insert(sent.clone(), packet.to_vec()).is_none(), "the same octets twice");
        Some(sent)
    }
}

/// A packet of UDP around a payload.
fn datagram(payload: &[u8], is_v6: bool) -> Vec<u8> {
    let udp = u16::try_from(8 + payload.len()).expect("short");
    let mut packet = if is_v6 {
        let mut header = vec![0x60, 0, 0, 0, 0, 0, 17, 64];
        header[4..6].copy_from_slice(&udp.to_be_bytes());
        header.extend([0x20; 32]);
        header
    } else {
        let mut header = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
        header[2..4].copy_from_slice(&(20 + udp).to_be_bytes());
        header.extend([10; 8]);
        header
    };
    packet.extend([1, 2, 3, 4]);
    packet.extend(udp.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

pub fn run(octets: &[u8]) {
    let Some((&choice, mut rest)) = octets.split_first_chunk() else { return };
    let mut association = Association::new(choice, octets);
    let mut last = Vec::new();
    while let Some((&[how, length], tail)) = rest.split_first_chunk() {
        let (packet, tail) = tail.split_at(tail.len().min(usize::from(length)));
        rest = tail;
        match how & 3 {
            0 => association.open(packet),
            1 => {
                let plain = datagram(packet, how & 4 != 0);
                if let Some(sent) = association.send(&plain, how & 8 != 0) {
                    association.open(&sent);
                    last = sent;
                }
            }
            2 => {
                // The last one once more, with octets of the script over it.
                for (octet, other) in last.iter_mut().skip(usize::from(how >> 2)).zip(packet) {
                    *octet ^= other;
                }
                association.open(&last.clone());
            }
            _ => drop(association.send(packet, how & 8 != 0)),
        }
    }
    let edges = [&association.into[0], &association.doubles[0]].map(Inbound::edge);
    assert_eq!(edges[0], edges[1], "a batch leaves another state");
}
