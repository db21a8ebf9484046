//! Router advertisements and errors to senders of the link itself.

use super::witness;
use super::world::{HOST, World, ethernet, mac, packet6, programs};
use nodes::program::{AdvertisedPrefix, Advertisement, Preference, Removed};
use nodes::{Out, Program};
use std::time::Duration;

fn said() -> Advertisement {
    let prefix = |prefix: &str, autonomous| AdvertisedPrefix {
        prefix: prefix.parse().unwrap(),
        length: 64,
        valid_s: 2_592_000,
        preferred_s: 604_800,
        on_link: true,
        autonomous,
    };
    Advertisement {
        interface: 1,
        interval_max_s: 600,
        interval_min_s: 200,
        lifetime_s: 1_800,
        hop_limit: 64,
        managed: false,
        other: true,
        reachable_ms: 30_000,
        retransmit_ms: 0,
        mtu: 1_480,
        preference: Preference::High,
        prefixes: vec![prefix("2001:db8:1::77", true), prefix("2001:db8:9::", false)],
        resolvers: vec!["2001:db8::53".parse().unwrap()],
    }
}

/// The advertisements among what the plane wants sent.
fn frames(out: Vec<Out>) -> Vec<Vec<u8>> {
    let sent = out.into_iter().filter_map(|out| match out {
        Out::Send { interface: 1, frame } => Some(frame),
        _ => None,
    });
    sent.filter(|frame| frame.get(54) == Some(&134)).collect()
}

/// Ticks every hundredth of a second; when each advertisement came, and the last one.
fn watched(world: &mut World, time: Duration) -> (Vec<u128>, Vec<u8>) {
    let (mut times, mut last) = (Vec::new(), Vec::new());
    for hundredth in 1..=time.as_millis() / 10 {
        for frame in frames(world.pass(Duration::from_millis(10))) {
            times.push(hundredth * 10);
            last = frame;
        }
    }
    (times, last)
}

fn solicitation(source: &str) -> Vec<u8> {
    let mut body = vec![133, 0, 0, 0, 0, 0, 0, 0];
    if source != "::" {
        body.extend([1, 1]);
        body.extend(HOST);
    }
    let mut frame = ethernet(0, 0x86dd, &packet6(source, "ff02::2", 255, 58, &body));
    frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 2]);
    frame
}

#[test]
fn an_interface_advertises_soon_then_now_and_then_and_takes_its_leave() {
    let mut world = World::of(&programs());
    world.apply(Program::Advertisement(said()));
    let (times, frame) = watched(&mut world, Duration::from_secs(50));
    assert_eq!(times.len(), 4, "three of the beginning, each 16 s after the one before: {times:?}");
    assert_eq!(frame[..14], [&[0x33, 0x33, 0, 0, 0, 1], &mac(0)[..], &[0x86, 0xdd]].concat());
    let filters = [
        "icmpv6.type == 134 && ipv6.src == fe80::ff:fe00:1 && ipv6.hlim == 255",
        "icmpv6.nd.ra.flag.m == 0 && icmpv6.nd.ra.flag.o == 1 && icmpv6.nd.ra.flag.prf == 1",
        "icmpv6.nd.ra.router_lifetime == 1800 && icmpv6.nd.ra.reachable_time == 30000",
        "icmpv6.opt.prefix == 2001:db8:1:: && icmpv6.opt.prefix == 2001:db8:9::",
        "icmpv6.opt.mtu == 1480 && icmpv6.opt.rdnss == 2001:db8::53",
    ];
    witness::sound(std::slice::from_ref(&frame), &filters);
    let (times, _) = watched(&mut world, Duration::from_secs(1_300));
    assert!((2..=7).contains(&times.len()), "every 200 to 600 s: {times:?}");
    world.apply(Program::Remove(Removed::Advertisement(1)));
    let [frame] = &frames(world.tick())[..] else { panic!("one last word") };
    assert_eq!(frame[60..62], [0, 0], "it is no router any more");
    assert_eq!(watched(&mut world, Duration::from_secs(700)).0, [0; 0]);
}

#[test]
fn a_solicitation_is_answered_within_half_a_second_unless_all_were_just_told() {
    let mut world = World::of(&programs());
    world.apply(Program::Advertisement(said()));
    watched(&mut world, Duration::from_secs(50));
    watched(&mut world, Duration::from_secs(10));
    for source in ["::", "fe80::9"] {
        world.send(0, &solicitation(source));
        let (times, _) = watched(&mut world, Duration::from_secs(2));
        assert!(matches!(times[..], [at] if at <= 510), "{source}: {times:?}");
        // The sender of a solicitation is a neighbour now, until it does not answer.
        let there = world.plane.neighbours().any(|it| it.1.to_string() == source);
        assert_eq!(there, source != "::");
        world.send(0, &solicitation(source));
        let (times, _) = watched(&mut world, Duration::from_secs(4));
        assert!(matches!(times[..], [1_000..=2_020]), "three seconds between two: {times:?}");
        watched(&mut world, Duration::from_secs(5));
    }
    let mut afar = solicitation("fe80::9");
    afar[14 + 7] = 254;
    world.send(0, &afar);
    assert_eq!(watched(&mut world, Duration::from_secs(2)).0, [0; 0], "not of this link");
}

#[test]
fn what_cannot_be_advertised_is_refused() {
    let mut world = World::of(&programs());
    let cases: [fn(&mut Advertisement); 5] = [
        |it| it.interval_max_s = 3,
        |it| it.interval_min_s = 601,
        |it| it.lifetime_s = 599,
        |it| it.interface = 9,
        |it| it.prefixes[0].preferred_s = u32::MAX,
    ];
    for change in cases {
        let mut said = said();
        change(&mut said);
        assert!(world.plane.apply(&Program::Advertisement(said.clone())).is_err(), "{said:?}");
    }
}

#[test]
fn a_link_local_sender_hears_of_an_error_by_the_interface_that_it_is_at() {
    let mut world = World::of(&programs());
    // Beyond its scope (RFC 4443 §3.1, code 2): no route leads back to the sender.
    let packet = packet6("fe80::9", "2001:db8:2::2", 64, 59, &[7; 20]);
    let left = world.send(0, &ethernet(0, 0x86dd, &packet));
    let [(0, frame)] = &left.sent[..] else { panic!("{:?} {:?}", left.sent, world.dropped()) };
    assert_eq!(frame[..14], [&HOST[..], &mac(0), &[0x86, 0xdd]].concat());
    assert_eq!((frame[54], frame[55]), (1, 2));
    assert_eq!(frame[54 + 8..], packet[..]);
    let filters = ["ipv6.dst == fe80::9 && ipv6.src == fe80::ff:fe00:1 && icmpv6.type == 1"];
    witness::sound(std::slice::from_ref(frame), &filters);
}
