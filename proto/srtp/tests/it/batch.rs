//! A batch does to each packet what would be done to it alone, in its order.

use crate::{ROOM, Random};
use srtp::{KeyDerivationRate, KeyEntry, Packet, Parameters, Receiver, Sender, Suite};

/// Directions of each suite, one with a rate that derives keys anew.
fn directions(seed: u64) -> (Vec<Sender>, Vec<Receiver>) {
    let mut random = Random(seed);
    let all = Suite::ALL.iter().map(|&suite| Parameters::of(suite));
    let often = KeyDerivationRate::every_power(2).unwrap();
    let rate = Parameters { kdr: often, ..Parameters::of(Suite::AesCm128HmacSha1_80) };
    all.chain([rate])
        .map(|parameters| crate::pair(parameters, &[KeyEntry::alone(random.key(parameters.suite))]))
        .unzip()
}

/// Packets one behind the other, each with its room; some lie outside, some belong to nobody.
fn laid_out(random: &mut Random, directions: u64, turn: u64) -> (Vec<u8>, Vec<Packet>) {
    let (mut buffer, mut packets) = (Vec::new(), Vec::new());
    for _ in 0..random.below(40) {
        let sequence = (65_500 + turn * 8 + random.below(12)) as u16;
        let is_rtcp = random.below(6) == 0;
        let plain = if is_rtcp { random.rtcp(7) } else { random.rtp(7, sequence) };
        let direction = random.below(directions + 1) as usize;
        let (at, room) = (buffer.len(), plain.len() + ROOM);
        buffer.extend(&plain);
        buffer.resize(at + room, 0xee);
        let mut packet = Packet::rtp(direction, at, plain.len(), room);
        packet.is_rtcp = is_rtcp;
        if random.below(30) == 0 {
            packet.room = usize::MAX - 3;
        }
        packets.push(packet);
    }
    (buffer, packets)
}

#[test]
fn a_batch_is_its_packets_one_by_one() {
    for seed in 0..12 {
        let (mut senders, mut receivers) = directions(seed);
        let (mut lone_senders, mut lone_receivers) = directions(seed);
        let mut random = Random(seed + 50);
        let mut passed = 0;
        for turn in 0..12 {
            let (plain, mut packets) = laid_out(&mut random, senders.len() as u64, turn);
            let (mut buffer, mut lone) = (plain.clone(), plain.clone());
            srtp::protect(&mut senders[..], &mut buffer, &mut packets);
            for packet in &packets {
                let Some(sender) = lone_senders.get_mut(packet.direction) else {
                    assert_eq!(packet.verdict, Err(srtp::Refused::NoStream));
                    continue;
                };
                let Some(place) = lone.get_mut(packet.at..packet.at.saturating_add(packet.room))
                else {
                    assert_eq!(packet.verdict, Err(srtp::Refused::NoRoom));
                    continue;
                };
                let length = original(&plain, packet);
                let verdict = match packet.is_rtcp {
                    true => sender.protect_rtcp(place, length),
                    false => sender.protect(place, length),
                };
                assert_eq!(verdict.map(|length| assert_eq!(length, packet.length)), packet.verdict);
                passed += usize::from(packet.verdict.is_ok());
            }
            assert!(buffer == lone, "the same octets");
            packets.retain(|packet| packet.verdict.is_ok());
            mix(&mut random, &mut packets, &mut buffer);
            let mut lone = buffer.clone();
            let before = packets.clone();
            srtp::unprotect(&mut receivers[..], &mut buffer, &mut packets);
            for (packet, before) in packets.iter().zip(&before) {
                let receiver = &mut lone_receivers[packet.direction];
                let octets = &mut lone[packet.at..packet.at + before.length];
                let verdict = match packet.is_rtcp {
                    true => receiver.unprotect_rtcp(octets),
                    false => receiver.unprotect(octets),
                };
                assert_eq!(verdict.is_ok(), packet.verdict.is_ok());
                if let Ok(length) = verdict {
                    assert_eq!(length, packet.length);
                    assert_eq!(octets[..length], buffer[packet.at..packet.at + length]);
                }
            }
        }
        assert!(passed > 60, "{passed}");
        for (one, other) in receivers.iter().zip(&lone_receivers) {
            assert!(one.streams().eq(other.streams()));
        }
    }
}

/// What a packet was long before.
fn original(plain: &[u8], packet: &Packet) -> usize {
    let rest = &plain[packet.at..packet.at + packet.room];
    rest.len() - ROOM
}

/// Other orders, copies behind each other, forgeries.
fn mix(random: &mut Random, packets: &mut Vec<Packet>, buffer: &mut Vec<u8>) {
    for at in 1..packets.len() {
        if random.below(4) == 0 {
            packets.swap(at, at - 1);
        }
        if random.below(8) == 0 {
            let mut copy = packets[at].clone();
            let octets = buffer[copy.at..copy.at + copy.room].to_vec();
            copy.at = buffer.len();
            buffer.extend(octets);
            packets.push(copy);
        }
        if random.below(8) == 0 {
            let packet = &packets[at];
            buffer[packet.at + random.below(packet.length as u64) as usize] ^= 1;
        }
    }
}
