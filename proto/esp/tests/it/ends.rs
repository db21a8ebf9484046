//! Both ends, every algorithm, transport and tunnel, batches and one by one.

use crate::{ALGORITHMS, Ends, Keys, Random, algorithms, ip, parameters};
use esp::{
    Algorithm, Df, Dropped, Dscp, Encryption, HEADROOM, Inbound, Integrity, KeyLength, Lifetime,
    Limit, Mode, Notice, Outbound, Packet, Parameters, Passed, Report, SELECTORS_MAX, Selector,
    Side, Spi, TAILROOM, Tunnel, Unfit, protect, unprotect,
};
use std::net::IpAddr;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// The parameters of both ends of a tunnel.
fn tunnel(algorithm: Algorithm, ends: [&str; 2]) -> [Parameters; 2] {
    let [a, b] = ends.map(address);
    [Tunnel::between(a, b), Tunnel::between(b, a)]
        .map(|it| Parameters { mode: Mode::Tunnel(it), ..parameters(algorithm) })
}

#[test]
fn what_one_end_protects_the_other_opens() {
    for (seed, algorithm) in (0..).zip(algorithms()) {
        for extended in [false, true] {
            let mut random = Random(seed);
            let transport = Parameters { extended, sole_key: true, ..parameters(algorithm) };
            let v4 = tunnel(algorithm, ["198.51.100.1", "198.51.100.2"]);
            let v6 = tunnel(algorithm, ["2001:db8:1::1", "2001:db8:1::2"]);
            let all = [[transport.clone(), transport], v4, v6];
            for both in all.map(|both| both.map(|it| Parameters { extended, sole_key: true, ..it }))
            {
                let mut ends = Ends::of(both, seed);
                for count in 0..40 {
                    let packet = random.packet(count % 2 == 1);
                    let sent = ends.send(&packet).expect("it passes");
                    let inside = &packet[packet.len() - 8..];
                    let shows = sent.windows(inside.len()).any(|it| it == inside);
                    let is_clear = algorithm.encryption() == Encryption::Null;
                    assert_eq!(shows, is_clear, "{algorithm:?}");
                    assert_eq!(ends.open(&sent), Ok(Some(packet)), "{algorithm:?}");
                    assert_eq!(ends.open(&sent), Err(Dropped::Replayed));
                }
                assert_eq!(ends.into[0].failures().replayed, 40);
                assert_eq!(ends.report.counters.dropped(Dropped::Replayed), 40);
                assert_eq!(ends.report.counters.packets, 80);
            }
        }
    }
}

#[test]
fn a_batch_of_many_associations_does_what_each_packet_alone_does() {
    let mut random = Random(3);
    let of = |number: usize| {
        let algorithm = algorithms().nth(number % ALGORITHMS.len()).expect("it is less");
        Parameters { extended: number.is_multiple_of(3), sole_key: true, ..parameters(algorithm) }
    };
    let keys: Vec<_> = (0..60).map(|at| Keys::new(of(at).algorithm, &mut random)).collect();
    let out = || -> Vec<_> {
        let one = |at: usize| Outbound::new(of(at), keys[at].material(), [7; 16]).expect("it fits");
        (0..60).map(one).collect()
    };
    let into = || -> Vec<_> {
        (0..60).map(|at| Inbound::new(of(at), keys[at].material()).expect("it fits")).collect()
    };
    let (mut out, mut out_alone, mut into, mut into_alone) = (out(), out(), into(), into());
    for _ in 0..30 {
        let (mut buffer, mut packets) = (Vec::new(), Vec::new());
        for _ in 0..random.below(200) {
            let is_v6 = random.below(2) == 1;
            let packet = random.packet(is_v6);
            let begin = buffer.len();
            buffer.extend([&[0; HEADROOM], &packet[..], &[0; TAILROOM]].concat());
            let number = random.below(61) as usize;
            packets.push(Packet::new(number, begin..buffer.len(), begin + HEADROOM, packet.len()));
        }
        let (mut alone, mut one_by_one) = (buffer.clone(), packets.clone());
        let (mut report, mut report_alone) = (Report::default(), Report::default());
        protect(&mut out[..], &mut buffer, &mut packets, &mut report);
        for packet in &mut one_by_one {
            let one = std::slice::from_mut(packet);
            protect(&mut out_alone[..], &mut alone, one, &mut report_alone);
        }
        assert!(packets == one_by_one);
        assert_eq!((&report, &buffer), (&report_alone, &alone));
        packets.retain(|it| it.verdict.is_ok());
        // Some are forged, and some come twice.
        let more: Vec<_> = packets.iter().step_by(5).cloned().collect();
        for packet in more {
            let begin = buffer.len();
            buffer.extend_from_within(packet.at..packet.at + packet.length);
            if begin % 3 == 0 {
                let at = begin + packet.length - 1 - random.below(20) as usize;
                buffer[at] ^= 1;
            }
            let room = begin..buffer.len();
            packets.push(Packet::new(packet.association, room, begin, packet.length));
        }
        let (mut alone, mut one_by_one) = (buffer.clone(), packets.clone());
        unprotect(&mut into[..], &mut buffer, &mut packets, &mut report);
        for packet in &mut one_by_one {
            let one = std::slice::from_mut(packet);
            unprotect(&mut into_alone[..], &mut alone, one, &mut report_alone);
        }
        assert!(packets == one_by_one);
        assert_eq!(report, report_alone);
        for packet in packets.iter().filter(|it| it.verdict.is_ok()) {
            let range = packet.at..packet.at + packet.length;
            assert_eq!(buffer[range.clone()], alone[range]);
        }
        let first = packets.iter().filter(|it| it.verdict == Ok(Passed::Data)).count();
        assert!(first > 0 || packets.is_empty());
    }
}

#[test]
fn extension_headers_for_the_way_stay_in_front_and_others_are_hidden() {
    for algorithm in algorithms() {
        let mut ends = Ends::new(&parameters(algorithm), 1);
        let [source, destination] = ["2001:db8::1", "2001:db8::2"].map(address);
        // Hop-by-hop, routing, destination options, UDP.
        let mut payload = vec![43, 0, 1, 4, 0, 0, 0, 0, 60, 0, 4, 0, 0, 0, 0, 0];
        payload.extend([17, 0, 1, 4, 0, 0, 0, 0, 0x13, 0xc4, 0x13, 0xc4, 0, 12, 0, 0, 1, 2, 3, 4]);
        let packet = ip(source, destination, 0, &payload);
        let sent = ends.send(&packet).expect("it passes");
        assert_eq!(sent[6], 0);
        assert_eq!((sent[40], sent[48]), (43, 50), "ESP follows the routing header");
        assert_eq!(sent[56..60], [1, 2, 3, 4], "its SPI");
        assert_eq!(ends.open(&sent), Ok(Some(packet)));
    }
}

#[test]
fn options_of_ipv4_stay_in_front() {
    let algorithm = algorithms().nth(2).expect("it is there");
    let mut ends = Ends::new(&parameters(algorithm), 1);
    let mut packet = Random(1).packet(false);
    packet.splice(20..20, [7, 7, 4, 0, 0, 0, 0, 0]);
    packet[0] = 0x47;
    packet[3] += 8;
    packet[10..12].fill(0);
    let checksum = crate::checksum(&packet[..28]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    let sent = ends.send(&packet).expect("it passes");
    assert_eq!((sent[0], sent[9], &sent[20..28]), (0x47, 50, &packet[20..28]));
    assert_eq!(crate::checksum(&sent[..28]), 0);
    assert_eq!(ends.open(&sent), Ok(Some(packet)));
}

#[test]
fn a_tunnel_copies_or_sets_what_its_header_says_and_takes_congestion_over() {
    let algorithm = algorithms().nth(8).expect("it is there");
    for (outer_v6, inner_v6, dscp, df) in [
        (false, false, Dscp::Copy, Df::Copy),
        (false, true, Dscp::Set(46), Df::Clear),
        (true, false, Dscp::Copy, Df::Copy),
        (true, true, Dscp::Set(0), Df::Set),
    ] {
        let ends = if outer_v6 {
            ["2001:db8:1::1", "2001:db8:1::2"]
        } else {
            ["198.51.100.1", "198.51.100.2"]
        };
        let both = tunnel(algorithm, ends).map(|it| {
            let Mode::Tunnel(tunnel) = it.mode else { panic!("a tunnel") };
            Parameters { mode: Mode::Tunnel(Tunnel { dscp, df, ..tunnel }), ..it }
        });
        let mut ends = Ends::of(both, 1);
        let mut packet = Random(1).packet(inner_v6);
        // DSCP 10, ECT(0).
        if inner_v6 {
            (packet[0], packet[1]) = (0x62, 0xa0);
        } else {
            packet[1] = 0x2a;
            packet[10..12].fill(0);
            let checksum = crate::checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        let mut sent = ends.send(&packet).expect("it passes");
        let class = if outer_v6 { sent[0] << 4 | sent[1] >> 4 } else { sent[1] };
        let expected = match dscp {
            Dscp::Copy => 0x2a,
            Dscp::Set(dscp) => dscp << 2 | 2,
        };
        assert_eq!(class, expected);
        if !outer_v6 {
            assert_eq!(sent[6], if df == Df::Clear { 0 } else { 0x40 });
            assert_eq!(crate::checksum(&sent[..20]), 0);
        }
        if outer_v6 {
            sent[1] |= 0x30
        } else {
            sent[1] |= 3
        }
        let opened = ends.open(&sent).expect("it passes").expect("data");
        let class = if inner_v6 { opened[0] << 4 | opened[1] >> 4 } else { opened[1] };
        assert_eq!(class, 0x2b, "congestion");
        assert!(inner_v6 || crate::checksum(&opened[..20]) == 0);
        // Who cannot be told of congestion loses the packet.
        let plain = Random(2).packet(inner_v6);
        let mut sent = ends.send(&plain).expect("it passes");
        if outer_v6 {
            sent[1] |= 0x30
        } else {
            sent[1] |= 3
        }
        assert_eq!(ends.open(&sent), Err(Dropped::Congested));
    }
}

#[test]
fn fragments_pass_a_tunnel_and_no_transport() {
    let algorithm = algorithms().nth(2).expect("it is there");
    let mut packet = Random(1).packet(false);
    packet[6] = 0x20;
    packet[10..12].fill(0);
    let checksum = crate::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    let mut ends = Ends::new(&parameters(algorithm), 1);
    assert_eq!(ends.send(&packet), Err(Dropped::Fragment));
    let mut ends = Ends::of(tunnel(algorithm, ["198.51.100.1", "198.51.100.2"]), 1);
    let mut sent = ends.send(&packet).expect("it passes");
    assert_eq!(ends.open(&sent), Ok(Some(packet)));
    sent[6] |= 0x20;
    assert_eq!(ends.open(&sent), Err(Dropped::Fragment), "ESP takes whole packets");
}

#[test]
fn dummies_are_dropped_silently_and_confidential_padding_is_taken_off() {
    for algorithm in algorithms() {
        let mut random = Random(4);
        let mut ends = Ends::of(tunnel(algorithm, ["198.51.100.1", "198.51.100.2"]), 1);
        let packet = random.packet(false);
        let dummy = ends.send_as(&packet, true).expect("it passes");
        assert_eq!(ends.open(&dummy), Ok(None));
        assert_eq!(ends.report.counters.dummies, 2);
        // The packet's length is its own: what stands behind it inside is padding. It is put there
        // by who believes a longer transport packet.
        let mut transport = Ends::new(&parameters(algorithm), 1);
        let mut padded = [&packet[..], &random.octets(37)].concat();
        let length = u16::try_from(padded.len()).expect("short").to_be_bytes();
        padded[2..4].copy_from_slice(&length);
        let sent = transport.send(&padded).expect("it passes");
        let opened = transport.open(&sent).expect("it passes").expect("data");
        assert_eq!(opened.len(), packet.len());
        assert_eq!(opened[20..], packet[20..]);
    }
}

#[test]
fn selectors_hold_both_ways() {
    let algorithm = algorithms().nth(2).expect("it is there");
    let [a, b] = ["192.0.2.1", "192.0.2.2"].map(address);
    let selector = |protocol, local, remote| Selector { protocol, local, remote };
    let both = |protocol, ports: [u16; 2]| {
        let [at_a, at_b] = [Side::port(a, ports[0]), Side::port(b, ports[1])];
        let sender = selector(protocol, at_a.clone(), at_b.clone());
        let receiver = selector(protocol, at_b, at_a);
        [sender, receiver].map(|it| Parameters { selectors: vec![it], ..parameters(algorithm) })
    };
    let packet = Random(1).packet(false);
    let mut ends = Ends::of(both(Some(17), [0x9c40, 0x9c41]), 1);
    let sent = ends.send(&packet).expect("it passes");
    assert_eq!(ends.open(&sent), Ok(Some(packet.clone())));
    for wrong in [both(Some(6), [0x9c40, 0x9c41]), both(None, [1, 0x9c41]), both(None, [0x9c40, 1])]
    {
        let [sender, receiver] = wrong;
        let mut ends = Ends::of([sender, parameters(algorithm)], 1);
        assert_eq!(ends.send(&packet), Err(Dropped::Policy));
        assert_eq!(ends.out[0].used(), 0, "no number is spent");
        let mut ends = Ends::of([parameters(algorithm), receiver], 1);
        let sent = ends.send(&packet).expect("it passes");
        assert_eq!(ends.open(&sent), Err(Dropped::Policy));
    }
    let all =
        Side { addresses: address("192.0.2.0")..=address("192.0.2.255"), ports: 0..=u16::MAX };
    let wide = selector(None, all.clone(), all);
    let parameters = Parameters { selectors: vec![wide], ..parameters(algorithm) };
    let mut ends = Ends::new(&parameters, 1);
    let icmp = ip(a, b, 1, &[8, 0, 0, 0]);
    let sent = ends.send(&icmp).expect("it passes");
    assert_eq!(ends.open(&sent), Ok(Some(icmp)));
}

#[test]
fn lifetimes_are_told_once_and_then_nothing_passes() {
    let algorithm = algorithms().nth(8).expect("it is there");
    let soft = Limit { packets: 3, octets: u64::MAX };
    let hard = Limit { packets: 5, octets: u64::MAX };
    let lifetime = Lifetime { soft, hard };
    let mut ends = Ends::new(&Parameters { lifetime, ..parameters(algorithm) }, 1);
    let mut random = Random(1);
    let mut told = Vec::new();
    for count in 1..=5 {
        let sent = ends.send(&random.packet(false)).expect("it passes");
        ends.open(&sent).expect("it passes");
        told.extend(ends.notices().into_iter().map(|notice| (count, notice)));
    }
    let [soft, hard] = [Notice::Soft { association: 0 }, Notice::Hard { association: 0 }];
    assert_eq!(told, [(3, soft), (3, soft), (5, hard), (5, hard)], "of both ends");
    assert_eq!(ends.send(&random.packet(false)), Err(Dropped::Expired));
    let octets = Limit { packets: u64::MAX, octets: 400 };
    let lifetime = Lifetime { soft: octets, hard: octets };
    let mut ends = Ends::new(&Parameters { lifetime, ..parameters(algorithm) }, 1);
    assert!(ends.send(&random.packet_of(false, 380)).is_ok());
    assert_eq!(ends.out[0].usage().octets, 392, "UDP, padding and trailer");
    assert!(ends.send(&random.packet_of(false, 0)).is_ok());
    assert_eq!(ends.send(&random.packet_of(false, 0)), Err(Dropped::Expired));
}

#[test]
fn what_does_not_fit_is_refused_and_growth_is_known_before() {
    for algorithm in algorithms() {
        let mut random = Random(9);
        let all = [
            Parameters { ..parameters(algorithm) },
            tunnel(algorithm, ["198.51.100.1", "198.51.100.2"])[0].clone(),
            tunnel(algorithm, ["2001:db8:1::1", "2001:db8:1::2"])[0].clone(),
        ];
        for parameters in all {
            let mut ends = Ends::new(&parameters, 1);
            for _ in 0..30 {
                let packet = random.packet(false);
                let growth = ends.out[0].growth(packet.len(), 20);
                assert!(growth <= HEADROOM + TAILROOM);
                let sent = ends.send(&packet).expect("it passes");
                assert_eq!(sent.len(), packet.len() + growth);
            }
            let big = random.packet_of(false, 65_500);
            assert_eq!(ends.send(&big).err(), Some(Dropped::NoRoom));
            let mut report = Report::default();
            let packet = random.packet(false);
            let mut buffer = [&[0; HEADROOM], &packet[..], &[0; TAILROOM]].concat();
            let whole = buffer.len();
            for (room, at, length) in [
                (HEADROOM..whole, HEADROOM, packet.len()),
                (0..HEADROOM + packet.len(), HEADROOM, packet.len()),
                (0..whole, whole, 1),
                (0..whole + 1, HEADROOM, packet.len()),
                (0..whole, usize::MAX, 2),
                (0..usize::MAX, HEADROOM, packet.len()),
            ] {
                let mut packets = [Packet::new(0, room, at, length)];
                protect(&mut ends.out[..], &mut buffer, &mut packets, &mut report);
                assert_eq!(packets[0].verdict, Err(Dropped::NoRoom));
                unprotect(&mut ends.into[..], &mut buffer, &mut packets[..], &mut report);
                assert!(packets[0].verdict.is_err());
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let cbc = Encryption::AesCbc(KeyLength::Bits128);
    let gcm = Encryption::AesGcm16(KeyLength::Bits128);
    let gmac = Integrity::AesGmac(KeyLength::Bits128);
    for (encryption, integrity, why) in [
        (cbc, Integrity::Combined, Unfit::Unauthenticated),
        (Encryption::Null, Integrity::Combined, Unfit::Unauthenticated),
        (gcm, Integrity::HmacSha1_96, Unfit::Twice),
        (cbc, gmac, Unfit::GmacEncrypts),
    ] {
        assert_eq!(Algorithm::new(encryption, integrity), Err(why));
    }
    let algorithm = Algorithm::new(cbc, Integrity::HmacSha1_96).expect("they go together");
    let mut random = Random(1);
    let keys = Keys::new(algorithm, &mut random);
    let usual = parameters(algorithm);
    let refused = |parameters, keys: &Keys| {
        Inbound::new(parameters, keys.material()).expect_err("it is refused")
    };
    assert_eq!(refused(Parameters { spi: Spi(255), ..usual.clone() }, &keys), Unfit::Spi);
    let no_window = Parameters { window: 0, extended: true, ..usual.clone() };
    assert_eq!(refused(no_window, &keys), Unfit::NoWindow);
    for algorithm in algorithms() {
        let keys = Keys::new(algorithm, &mut random);
        let shared = Parameters { extended: true, ..parameters(algorithm) };
        let is_counter = algorithm.iv() == 8 && !algorithm.is_legacy();
        let made = Inbound::new(shared.clone(), keys.material()).map(|_| ());
        let wanted = if is_counter { Err(Unfit::SharedKey) } else { Ok(()) };
        assert_eq!(made, wanted, "{algorithm:?}: numbers of 64 bits reach the SPI's half");
        let sole = Parameters { sole_key: true, ..shared };
        assert!(Inbound::new(sole, keys.material()).is_ok(), "{algorithm:?}");
    }
    let ends = Tunnel::between(address("192.0.2.1"), address("2001:db8::1"));
    let mixed = Parameters { mode: Mode::Tunnel(ends), ..usual.clone() };
    assert_eq!(refused(mixed, &keys), Unfit::TunnelEnds);
    let side = Side::address(address("192.0.2.1"));
    let selector = Selector { protocol: None, local: side.clone(), remote: side };
    let many = Parameters { selectors: vec![selector; SELECTORS_MAX + 1], ..usual.clone() };
    assert_eq!(refused(many, &keys), Unfit::Selectors);
    let short = Keys { encryption: vec![0; 15], integrity: vec![0; 20] };
    assert_eq!(refused(usual.clone(), &short), Unfit::EncryptionKey);
    let short = Keys { encryption: vec![0; 16], integrity: vec![0; 16] };
    assert_eq!(refused(usual, &short), Unfit::IntegrityKey);
    for algorithm in algorithms().filter(|it| it.is_legacy()) {
        let keys = Keys::new(algorithm, &mut random);
        let parameters = Parameters { allows_legacy: false, ..parameters(algorithm) };
        assert_eq!(refused(parameters, &keys), Unfit::Legacy);
    }
    let shown = format!("{:?}", Ends::new(&parameters(algorithm), 1).out);
    assert!(!shown.contains("salt") && !shown.contains("key:"), "{shown}");
}

#[test]
fn the_four_associations_of_a_phone_are_small() {
    let [a, b] = ["192.0.2.1", "192.0.2.2"].map(address);
    // As an agreement has them (TS 33.203 §7.1): of UDP and TCP.
    let selectors = [17, 6].map(|protocol| Selector {
        protocol: Some(protocol),
        local: Side::port(a, 5060),
        remote: Side::port(b, 5060),
    });
    for algorithm in algorithms().filter(|it| !it.is_legacy()) {
        let parameters = Parameters { selectors: selectors.to_vec(), ..parameters(algorithm) };
        let keys = Keys::new(algorithm, &mut Random(1));
        let keys = esp::Keys::new(algorithm, keys.material(), false).expect("it fits");
        let into = || Inbound::with_keys(parameters.clone(), &keys).expect("it fits");
        let out = || Outbound::with_keys(parameters.clone(), &keys, [1; 16]).expect("it fits");
        let (into, out) = ([into(), into()], [out(), out()]);
        drop(keys);
        let sizes = [into.each_ref().map(Inbound::size), out.each_ref().map(Outbound::size)];
        let all: usize = sizes.as_flattened().iter().sum();
        // Round keys of the back end that runs everywhere are kept, and take their room.
        let is_wide = cipher::BackEnd::best() == cipher::BackEnd::Wide;
        // Of the algorithms of phones (TS 33.203 Annex H) nothing stands elsewhere.
        let is_of_phones = matches!(
            (algorithm.encryption(), algorithm.integrity()),
            (Encryption::Null | Encryption::AesCbc(KeyLength::Bits128), Integrity::HmacSha1_96)
                | (Encryption::AesGcm16(KeyLength::Bits128), _)
                | (_, Integrity::AesGmac(KeyLength::Bits128))
        );
        let most = if is_of_phones { 768 } else { 1_024 };
        assert!(!is_wide || all <= most, "{algorithm:?}: {sizes:?}");
    }
}

#[test]
fn associations_that_share_keys_do_what_those_with_keys_of_their_own_do() {
    let mut random = Random(11);
    for algorithm in algorithms() {
        let other = algorithms().find(|it| *it != algorithm).expect("there are several");
        let keys = Keys::new(algorithm, &mut random);
        let shared = esp::Keys::new(algorithm, keys.material(), true).expect("it fits");
        let parameters = parameters(algorithm);
        let mut out = [
            Outbound::new(parameters.clone(), keys.material(), [7; 16]).expect("it fits"),
            Outbound::with_keys(parameters.clone(), &shared, [7; 16]).expect("it fits"),
        ];
        let packet = random.packet(false);
        let buffer = [&[0; HEADROOM][..], &packet, &[0; TAILROOM]].concat();
        let mut sent = Vec::new();
        for number in 0..2 {
            let mut buffer = buffer.clone();
            let room = 0..buffer.len();
            let mut packets = [Packet::new(number, room, HEADROOM, packet.len())];
            protect(&mut out[..], &mut buffer, &mut packets, &mut Report::default());
            assert_eq!(packets[0].verdict, Ok(Passed::Data));
            sent.push(buffer[packets[0].at..packets[0].at + packets[0].length].to_vec());
        }
        assert_eq!(sent[0], sent[1], "{algorithm:?}");
        let mut into = [Inbound::with_keys(parameters.clone(), &shared).expect("it fits")];
        let mut buffer = sent[1].clone();
        let mut packets = [Packet::new(0, 0..buffer.len(), 0, buffer.len())];
        unprotect(&mut into[..], &mut buffer, &mut packets, &mut Report::default());
        assert_eq!(buffer[packets[0].at..packets[0].at + packets[0].length], packet);
        assert!(out[1].size() < out[0].size(), "a part of the keys");
        for (wrong, why) in [
            (Parameters { sole_key: true, ..parameters.clone() }, Unfit::SharedKey),
            (Parameters { algorithm: other, ..parameters.clone() }, Unfit::EncryptionKey),
            (Parameters { spi: Spi(1), ..parameters.clone() }, Unfit::Spi),
        ] {
            assert_eq!(Inbound::with_keys(wrong.clone(), &shared).err(), Some(why));
            assert_eq!(Outbound::with_keys(wrong, &shared, [7; 16]).err(), Some(why));
        }
        if algorithm.is_legacy() {
            let strict = Parameters { allows_legacy: false, ..parameters };
            assert_eq!(Inbound::with_keys(strict, &shared).err(), Some(Unfit::Legacy));
        }
    }
}
