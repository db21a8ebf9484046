//! Packets of a generator, changed anywhere, cut, doubled and late, and any octets between them:
//! the analyser does not panic, takes no more than came, and settles.

use machine::Time;
use packet_load::{Layer, Plan, Stream};
use std::net::Ipv4Addr;

fn streams(is_short: bool) -> Vec<Stream> {
    let ethernet = Layer::Ethernet { destination: [2; 6], source: [4; 6] };
    let vlan = Layer::Vlan { is_service: false, priority: 0, id: 7 };
    let label = |label| Layer::Mpls { label, class: 0, ttl: 9 };
    let (source, destination) = (Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 19, 0, 1));
    let four = Layer::Ipv4 { source, destination, class: 0, ttl: 64 };
    let (source, destination) = (source.to_ipv6_mapped(), destination.to_ipv6_mapped());
    let six = Layer::Ipv6 { source, destination, class: 0, hop_limit: 64 };
    let udp = Layer::Udp { source: 1, destination: 2 };
    let stacks = [
        vec![ethernet.clone(), four.clone(), udp.clone()],
        vec![ethernet.clone(), vlan.clone(), vlan, six.clone(), udp.clone()],
        vec![ethernet.clone(), label(16), label(17), four, udp],
        vec![ethernet.clone(), label(18), six],
        vec![ethernet],
    ];
    // The shorter frames have room for the shorter signature only.
    let size = if is_short { 86 } else { 128 };
    let stream = |layers: Vec<Layer>| Stream { flows: 3, ..Stream::new("", layers, size) };
    stacks.into_iter().map(stream).collect()
}

pub fn run(octets: &[u8]) {
    let [form, seed, rest @ ..] = octets else { return };
    let mut rest = rest.iter().copied();
    let plan = Plan { streams: streams(form & 1 == 0), seed: u64::from(*seed) };
    let mut generator = plan.generator().expect("a sound plan");
    let mut analyser = generator.analyser();
    let mut packet = vec![0; generator.longest()];
    let (mut now, mut came, mut length) = (0_u64, 0_u64, 0);
    while let Some(how) = rest.next() {
        now += u64::from(how) * 1_000;
        if how & 1 == 0 || length == 0 {
            packet.resize(generator.longest(), 0);
            length = generator.write(Time::from_nanos(now), &mut packet);
            packet.truncate(length);
        }
        for _ in 0..how >> 1 & 3 {
            let (at, octet) = (rest.next().unwrap_or(0), rest.next().unwrap_or(0));
            match packet.get_mut(usize::from(at)) {
                Some(place) => *place = octet,
                None => packet.resize(usize::from(octet), octet),
            }
        }
        analyser.receive(Time::from_nanos(now), &packet);
        came += 1;
    }
    assert!(analyser.received() <= came);
    let report = analyser.settle(&generator);
    let all = &report.all;
    assert_eq!(all.received + all.duplicates + all.too_late + report.foreign, came);
}
