use super::*;
use driver::{Interest, Poll};

const GEOMETRY: Geometry = Geometry { ups: 2, log2_size: 4, cell: 256 };

fn shares(of: &[(usize, u16)]) -> [u16; 20] {
    let mut shares = [0; 20];
    of.iter().for_each(|&(class, share)| shares[class] = share);
    shares
}

fn pair(of: &[(usize, u16)]) -> (Rings, Far) {
    let channel = Rings::new(GEOMETRY, &shares(of)).unwrap();
    let far = Far::join(GEOMETRY, &channel.given).unwrap();
    (channel, far)
}

fn record(class: u8, number: u32) -> PacketRecord {
    PacketRecord { time_ns: 1 << 40, interface: number, vrf: 7, class }
}

fn received(far: &mut Far) -> Result<Vec<(PacketRecord, Vec<u8>)>, Corrupt> {
    let mut all = Vec::new();
    far.receive(64, &mut |record, packet| all.push((record, packet.to_vec())))?;
    Ok(all)
}

#[test]
fn packets_go_up_with_what_is_known_of_them_and_down_to_where_they_shall() {
    let (mut channel, mut far) = pair(&[(16, 8), (3, 8)]);
    for round in 0..100_u32 {
        let packet = vec![round as u8; 1 + round as usize];
        channel.ups[0].push(record(16, round), None, &packet).unwrap();
        channel.ups[1].push(record(3, round), None, b"other").unwrap();
        assert_eq!(received(&mut far).unwrap(), [], "nothing before it is published");
        channel.ups.iter_mut().for_each(|up| up.publish().unwrap());
        let came = received(&mut far).unwrap();
        assert_eq!(came, [(record(16, round), packet), (record(3, round), b"other".to_vec())]);
        far.send(PacketTo::Interface(round + 1), b"frame").unwrap();
        far.send(PacketTo::Vrf(round), b"packet").unwrap();
        far.send(PacketTo::Link(round + 2), b"to a group").unwrap();
        far.publish();
        let mut down = Vec::new();
        let take = |to, packet: &[u8]| down.push((to, packet.to_vec()));
        assert_eq!(channel.down.receive(8, take), Ok(3));
        let wanted = [
            (PacketTo::Interface(round + 1), &b"frame"[..]),
            (PacketTo::Vrf(round), b"packet"),
            (PacketTo::Link(round + 2), b"to a group"),
        ];
        assert_eq!(down, wanted.map(|(to, packet)| (to, packet.to_vec())));
    }
}

#[test]
fn a_class_that_is_not_taken_sheds_its_own_packets_and_no_others() {
    let (mut channel, mut far) = pair(&[(16, 12), (17, 4)]);
    let up = &mut channel.ups[0];
    let flood = (0..1_000).map(|n| up.push(record(16, n), None, b"flood"));
    let (passed, shed): (Vec<_>, Vec<_>) = flood.partition(Result::is_ok);
    assert_eq!(passed.len(), 12);
    assert!(shed.into_iter().all(|it| it == Err(Shed::ClassFull)));
    for number in 0..4 {
        up.push(record(17, number), None, b"other").unwrap();
    }
    assert_eq!(up.push(record(17, 4), None, b"other"), Err(Shed::ClassFull));
    assert_eq!(up.push(record(18, 0), None, b"nobody's"), Err(Shed::NoClass));
    assert_eq!(up.push(record(200, 0), None, b"nobody's"), Err(Shed::NoClass));
    assert_eq!(up.push(record(17, 0), None, &[0; 256]), Err(Shed::TooLong));
    up.publish().unwrap();
    assert_eq!(received(&mut far).unwrap().len(), 16);
    up.push(record(16, 0), None, b"flood").unwrap();
    assert!(Rings::new(GEOMETRY, &shares(&[(16, 12), (17, 5)])).is_err(), "more than a ring");
}

/// A number of a flow that falls into a set of its own.
fn hash(flow: u64) -> u64 {
    flow << 54 | flow
}

#[test]
fn a_flow_that_sends_more_than_is_taken_leaves_room_for_those_that_do_not() {
    let (mut channel, mut far) = pair(&[(16, 12), (17, 4)]);
    let up = &mut channel.ups[0];
    let mut push = |flow, number| up.push(record(16, number), Some(hash(flow)), b"frame");
    let floods = (0..1_000).filter(|number| push(7, *number).is_ok()).count();
    assert_eq!((floods, push(7, 0)), (6, Err(Shed::FlowFull)), "half of what there is");
    let again = (0..1_000).filter(|number| push(8, *number).is_ok()).count();
    assert_eq!(again, 3, "half of what is left");
    for number in 0..3 {
        assert_eq!(push(9 + u64::from(number), number), Ok(()), "whoever sends little has room");
    }
    assert_eq!(push(12, 0), Err(Shed::ClassFull));
    up.publish().unwrap();
    assert_eq!(received(&mut far).unwrap().len(), 12);
    let up = &mut channel.ups[0];
    let mut push = |flow| up.push(record(16, 0), Some(hash(flow)), b"frame");
    assert!((0..6).all(|_| push(7).is_ok()), "what was taken is free again");
}

#[test]
fn what_goes_down_and_is_not_taken_is_shed() {
    let (mut channel, mut far) = pair(&[(16, 1)]);
    for _ in 0..16 {
        far.send(PacketTo::Vrf(0), b"packet").unwrap();
    }
    assert_eq!(far.send(PacketTo::Vrf(0), b"packet"), Err(Shed::RingFull));
    assert_eq!(far.send(PacketTo::Vrf(0), &[0; 233]), Err(Shed::TooLong));
    far.publish();
    assert!(!channel.down.doze(), "there is something");
    assert_eq!(channel.down.receive(10, |_, _| {}), Ok(10));
    assert_eq!(channel.down.receive(10, |_, _| {}), Ok(6));
    assert!(channel.down.doze());
    assert_eq!(far.send(PacketTo::Vrf(0), &[0; 232]), Ok(()));
}

/// Has whoever rings an eventfd, or reads it, walk over tens of thousands of waiters.
fn crowd(fd: &OwnedFd) -> (Vec<OwnedFd>, Vec<Poll>) {
    let copies: Vec<_> = (0..60).map(|_| fd.try_clone().unwrap()).collect();
    let polls: Vec<_> = (0..300).map(|_| Poll::new().unwrap()).collect();
    for poll in &polls {
        copies.iter().for_each(|copy| poll.add(copy, 0, Interest::Read).unwrap());
    }
    (copies, polls)
}

#[test]
fn a_packet_channel_whose_other_side_takes_long_to_be_woken_or_to_wake_is_closed() {
    let (mut channel, mut far) = pair(&[(16, 8)]);
    let slow = crowd(&channel.given[1]);
    let closed = (0..200).find_map(|number| {
        channel.ups[0].push(record(16, number), None, b"packet").unwrap();
        let over = channel.ups[0].publish().err();
        let _ = received(&mut far);
        over
    });
    assert_eq!(closed, Some(Corrupt::Slow));
    drop(slow);
    let (mut channel, mut far) = pair(&[(16, 8)]);
    let _slow = crowd(&channel.given[2]);
    let closed = (0..200).find_map(|_| {
        channel.down.doze();
        far.publish();
        channel.down.rise().err()
    });
    assert_eq!(closed, Some(Corrupt::Slow));
}

/// A number of a sequence that looks random.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// The whole memory, as whoever has it may write it.
fn memory(channel: &Rings) -> Segment {
    Segment::map(&channel.given[0], GEOMETRY.octets() as u64).unwrap()
}

#[test]
fn a_forwarder_whose_control_writes_garbage_closes_the_packet_channel_and_reads_nothing_else() {
    let mut state = 7;
    let mut closed = 0;
    for _ in 0..2_000 {
        let (mut channel, mut far) = pair(&[(16, 8)]);
        channel.ups[0].push(record(16, 1), None, b"packet").unwrap();
        far.send(PacketTo::Vrf(0), b"packet").unwrap();
        far.publish();
        let memory = memory(&channel);
        for _ in 0..8 {
            let at = next(&mut state) % (GEOMETRY.octets() as u64 - 2);
            memory.write(at as u32, &(next(&mut state) as u16).to_ne_bytes());
        }
        // Lengths, heads and tails above all.
        let ring = (next(&mut state) % 3) as u32 * GEOMETRY.ring_octets() as u32;
        let at = [6, 64, 132][next(&mut state) as usize % 3];
        memory.write(ring + at, &(next(&mut state) as u32).to_ne_bytes());
        let pushed = channel.ups[0].push(record(16, 2), None, b"packet");
        let mut octets = 0;
        let taken = channel.down.receive(64, |_, packet| octets += packet.len());
        assert!(octets <= 16 * 256);
        closed += u32::from(pushed == Err(Shed::Corrupt(Corrupt::Count)) || taken.is_err());
    }
    assert!(closed > 500, "{closed} of 2,000");
}

#[test]
fn a_control_whose_forwarder_writes_garbage_closes_the_packet_channel_too() {
    let (mut channel, mut far) = pair(&[(16, 8)]);
    let memory = memory(&channel);
    let ring = GEOMETRY.ring_octets() as u32;
    memory.write(ring + 6, &17_u16.to_ne_bytes());
    assert_eq!(received(&mut far), Err(Corrupt::Count));
    memory.write(ring + 6, &1_u16.to_ne_bytes());
    for length in [0, 24, 257, u32::MAX] {
        memory.write(ring + 132, &u32::to_ne_bytes(length));
        assert_eq!(received(&mut far), Err(Corrupt::Length), "{length}");
    }
    memory.write(64, &9_u16.to_ne_bytes());
    assert_eq!(
        far.send(PacketTo::Vrf(0), b"packet"),
        Err(Shed::Corrupt(Corrupt::Count)),
        "more taken than was sent"
    );
    memory.write(64, &0_u16.to_ne_bytes());
    far.send(PacketTo::Interface(0), b"packet").unwrap();
    far.publish();
    assert_eq!(channel.down.receive(1, |_, _| {}), Err(Corrupt::Destination));
}

#[test]
fn memory_that_is_not_what_it_is_said_to_be_is_not_joined() {
    let channel = Rings::new(GEOMETRY, &shares(&[(16, 8)])).unwrap();
    let longer = [
        Geometry { ups: 3, ..GEOMETRY },
        Geometry { log2_size: 5, ..GEOMETRY },
        Geometry { cell: 320, ..GEOMETRY },
    ];
    let never = [
        Geometry { ups: 0, ..GEOMETRY },
        Geometry { ups: u16::MAX, ..GEOMETRY },
        Geometry { log2_size: 200, ..GEOMETRY },
        Geometry { cell: u32::MAX, ..GEOMETRY },
    ];
    for geometry in longer.into_iter().chain(never) {
        assert!(Far::join(geometry, &channel.given).is_err(), "{geometry:?}");
    }
    memory(&channel).write(0, &[0; 4]);
    assert!(Far::join(GEOMETRY, &channel.given).is_err(), "no ring");
}
