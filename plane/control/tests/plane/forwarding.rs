//! Packets on their way through.

use super::world::{
    HOST, World, echo4, ethernet, interface, mac, neighbour_mac, packet6, port, programs, udp4, via,
};
use nodes::Program;
use nodes::header::{sum_ip4, word};
use nodes::program::{Address, Class, Discard, Hop, Interface, Mode, Neighbour, Urpf};

fn with_routes() -> World {
    let mut world = World::new();
    world.apply(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    world.apply(Program::Hop { id: 2, hop: via(2, "2001:db8:2::2") });
    let routes = vec![("192.0.2.0".parse().unwrap(), 24, 1)];
    world.apply(Program::Routes4 { vrf: 0, routes });
    let routes = vec![("2001:db8:ff::".parse().unwrap(), 48, 2)];
    world.apply(Program::Routes6 { vrf: 0, routes });
    world
}

#[test]
fn a_packet_leaves_one_hop_older_with_the_neighbours_address_on_it() {
    let mut world = with_routes();
    let packet = udp4("10.0.1.9", "192.0.2.7", 64, 60);
    let left = world.send(0, &ethernet(0, 0x0800, &packet));
    let (out, frame) = &left.sent[0];
    assert_eq!((*out, frame.len()), (1, 74));
    assert_eq!((&frame[..6], &frame[6..12]), (&neighbour_mac(1)[..], &mac(1)[..]));
    assert_eq!((frame[22], word(frame, 12)), (63, 0x0800));
    assert_eq!(sum_ip4(frame[14..34].first_chunk().unwrap()), 0xffff);
    assert_eq!(frame[34..], packet[20..]);
    let packet = packet6("2001:db8:1::9", "2001:db8:ff::1", 9, 59, &[]);
    let left = world.send(0, &ethernet(0, 0x86dd, &packet));
    assert_eq!((left.sent[0].1[21], left.sent[0].1.len()), (8, 54));
    let counted: Vec<_> = world.plane.counters().map(|worker| worker.of(2)).collect();
    assert_eq!((counted[0].sent, counted[0].sent_bytes), (2, 128));
}

#[test]
fn padding_of_short_frames_does_not_leave() {
    let mut world = with_routes();
    let mut frame = ethernet(0, 0x0800, &udp4("10.0.1.9", "192.0.2.7", 64, 30));
    frame.resize(60, 0);
    assert_eq!(world.send(0, &frame).sent[0].1.len(), 44);
}

#[test]
fn tags_choose_the_interface_and_are_put_on_where_it_leaves() {
    let mut said = programs();
    let tagged =
        |index, outer, inner| Program::Interface(Interface { outer, inner, ..interface(index, 1) });
    said.push(tagged(3, Some(100), None));
    said.push(tagged(4, Some(200), Some(7)));
    for (interface, subnet) in [(3, "10.0.3."), (4, "10.0.4.")] {
        let address = format!("{subnet}1").parse().unwrap();
        said.push(Program::Address(Address { interface, address, length: 24 }));
        let address = format!("{subnet}2").parse().unwrap();
        said.push(Program::Neighbour(Neighbour { interface, address, mac: neighbour_mac(1) }));
    }
    let mut world = World::of(&said);
    let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.9", "10.0.3.2", 5, 40)));
    assert_eq!(left.sent[0].1[12..18], [0x81, 0, 0, 100, 8, 0]);
    let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.9", "10.0.4.2", 5, 40)));
    assert_eq!(left.sent[0].1[12..22], [0x88, 0xa8, 0, 200, 0x81, 0, 0, 7, 8, 0]);
    let mut tagged = vec![0, 200, 0x81, 0, 0, 7, 8, 0];
    tagged.extend(udp4("10.0.4.2", "10.0.1.2", 5, 40));
    let left = world.send(1, &ethernet(1, 0x88a8, &tagged));
    assert_eq!((left.sent[0].0, left.sent[0].1.len()), (0, 54));
    tagged[1] = 201;
    assert!(world.send(1, &ethernet(1, 0x88a8, &tagged)).sent.is_empty());
    assert_eq!(world.dropped()["no interface"], 1);
}

#[test]
fn a_packet_at_the_end_of_its_time_is_answered_and_not_sent_on() {
    let mut world = with_routes();
    let packet = udp4("10.0.1.2", "192.0.2.7", 1, 700);
    let left = world.send(0, &ethernet(0, 0x0800, &packet));
    let (out, frame) = &left.sent[0];
    let error = &frame[14..];
    assert_eq!((*out, error.len(), &error[20..22]), (0, 576, &[11, 0][..]));
    assert_eq!((&error[12..16], &error[16..20]), (&[10, 0, 1, 1][..], &[10, 0, 1, 2][..]));
    assert_eq!(error[28..], packet[..548]);
    let packet = packet6("2001:db8:1::2", "2001:db8:ff::1", 1, 59, &[]);
    let left = world.send(0, &ethernet(0, 0x86dd, &packet));
    assert_eq!((left.sent[0].0, &left.sent[0].1[54..56]), (0, &[3, 0][..]));
}

#[test]
fn no_error_is_sent_about_an_error_a_later_fragment_or_a_broadcast() {
    let mut world = with_routes();
    let mut error = udp4("10.0.1.2", "192.0.2.7", 1, 60);
    (error[9], error[20]) = (1, 3);
    nodes::header::seal_ip4(&mut error[..20]);
    assert!(world.send(0, &ethernet(0, 0x0800, &error)).sent.is_empty());
    let mut fragment = udp4("10.0.1.2", "192.0.2.7", 1, 60);
    fragment[7] = 9;
    nodes::header::seal_ip4(&mut fragment[..20]);
    assert!(world.send(0, &ethernet(0, 0x0800, &fragment)).sent.is_empty());
    let mut frame = ethernet(0, 0x0800, &udp4("10.0.1.2", "192.0.2.7", 1, 60));
    frame[..6].fill(0xff);
    assert!(world.send(0, &frame).sent.is_empty());
    assert_eq!(world.dropped()["ip4 error not due"], 2);
    assert_eq!(world.dropped()["ip4 unicast in a link-layer broadcast"], 1);
}

#[test]
fn long_packets_leave_in_fragments_or_their_sender_hears_of_it() {
    let mut said = programs();
    said.push(Program::Interface(Interface { mtu: 576, ..interface(2, 1) }));
    let mut world = World::of(&said);
    let packet = udp4("10.0.1.2", "10.0.2.2", 9, 1_400);
    let left = world.send(0, &ethernet(0, 0x0800, &packet));
    let payload: Vec<u8> = left.sent.iter().flat_map(|(_, frame)| frame[34..].to_vec()).collect();
    assert_eq!(payload, packet[20..]);
    let fields: Vec<u16> = left.sent.iter().map(|(_, frame)| word(frame, 20)).collect();
    assert_eq!(fields, [0x2000, 0x2000 | 69, 138], "552 octets each");
    assert!(left.sent.iter().all(|(_, frame)| frame.len() <= 590 && frame[22] == 8));
    let mut whole = packet.clone();
    whole[6] = 0x40;
    nodes::header::seal_ip4(&mut whole[..20]);
    let left = world.send(0, &ethernet(0, 0x0800, &whole));
    let error = &left.sent[0].1[14..];
    assert_eq!((&error[20..22], word(error, 26)), (&[3, 4][..], 576));
}

#[test]
fn discarding_hops_answer_as_they_should() {
    let mut world = World::new();
    let cases = [
        (1, Discard::Blackhole, None),
        (2, Discard::Unreachable, Some([3, 1])),
        (3, Discard::Prohibited, Some([3, 13])),
    ];
    for (id, reason, answer) in cases {
        world.apply(Program::Hop { id, hop: Hop::Drop { reason } });
        let routes = vec![("198.51.100.0".parse().unwrap(), 24, id)];
        world.apply(Program::Routes4 { vrf: 0, routes });
        let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", "198.51.100.1", 9, 60)));
        let said = left.sent.first().map(|(_, frame)| [frame[34], frame[35]]);
        assert_eq!(said, answer, "{reason:?}");
    }
    let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", "203.0.113.1", 9, 60)));
    assert_eq!(left.sent[0].1[34..36], [3, 0], "no route");
}

#[test]
fn echoes_are_answered_and_the_rest_goes_up_with_its_class() {
    let mut world = World::new();
    let question = echo4("10.0.1.2", "10.0.2.1", 84);
    let left = world.send(0, &ethernet(0, 0x0800, &question));
    let answer = &left.sent[0].1[14..];
    assert_eq!((left.sent[0].0, &answer[20..22], answer.len()), (0, &[0, 0][..], 84));
    assert_eq!((&answer[12..16], &answer[16..20]), (&[10, 0, 2, 1][..], &[10, 0, 1, 2][..]));
    assert_eq!(nodes::header::checksum(nodes::header::sum(&answer[20..], 0)), 0);
    let body = [128, 0, 0, 0, 0, 7, 0, 1, 1, 2, 3, 4];
    let question = packet6("2001:db8:1::2", "2001:db8:1::1", 64, 58, &body);
    let left = world.send(0, &ethernet(0, 0x86dd, &question));
    assert_eq!(left.sent[0].1[54], 129);
    let mut bgp = udp4("10.0.1.2", "10.0.1.1", 1, 60);
    bgp[9] = 6;
    bgp[22..24].copy_from_slice(&179_u16.to_be_bytes());
    nodes::header::seal_ip4(&mut bgp[..20]);
    let left = world.send(0, &ethernet(0, 0x0800, &bgp));
    assert_eq!((&left.punted, &left.classes), (&vec![bgp], &vec![Class::Bgp as u32]));
}

#[test]
fn fragments_for_own_addresses_are_put_together_and_answered() {
    let mut world = World::new();
    let question = echo4("10.0.1.2", "10.0.1.1", 1_220);
    let piece = |from: usize, to: usize, more: bool| {
        let mut piece = question[..20].to_vec();
        piece.extend(&question[20 + from..20 + to]);
        let length = piece.len() as u16;
        piece[2..4].copy_from_slice(&length.to_be_bytes());
        let field = (from / 8) as u16 | if more { 0x2000 } else { 0 };
        piece[6..8].copy_from_slice(&field.to_be_bytes());
        nodes::header::seal_ip4(&mut piece);
        ethernet(0, 0x0800, &piece)
    };
    // The seal is over the header alone.
    let piece = |from, to, more| {
        let mut frame = piece(from, to, more);
        nodes::header::seal_ip4(&mut frame[14..34]);
        frame
    };
    assert!(world.send(0, &piece(800, 1_200, false)).sent.is_empty());
    assert!(world.send(0, &piece(0, 400, true)).sent.is_empty());
    let left = world.send(0, &piece(400, 800, true));
    assert_eq!(left.sent[0].1[14 + 28..], question[28..]);
    assert!(world.send(0, &piece(0, 400, true)).sent.is_empty());
    assert!(world.send(0, &piece(392, 800, true)).sent.is_empty());
    assert_eq!(world.dropped()["fragment overlaps"], 1);
}

#[test]
fn spoofed_sources_are_stopped_where_they_are_checked() {
    let mut said = programs();
    said.push(Program::Interface(Interface { urpf: Urpf::Strict, ..interface(1, 0) }));
    let mut world = World::of(&said);
    let send = |world: &mut World, source: &str| {
        world.send(0, &ethernet(0, 0x0800, &udp4(source, "10.0.2.2", 9, 60))).sent.len()
    };
    assert_eq!(send(&mut world, "10.0.1.77"), 1);
    assert_eq!(send(&mut world, "10.0.2.77"), 0, "that is behind the other port");
    assert_eq!(send(&mut world, "10.0.1.1"), 0, "that is our own");
    let loose = Interface { urpf: Urpf::Loose, ..interface(1, 0) };
    world.apply(Program::Interface(loose));
    assert_eq!(send(&mut world, "10.0.2.77"), 1);
    assert_eq!(send(&mut world, "172.16.0.1"), 0, "nobody's");
    assert_eq!(world.dropped()["ip4 source not reachable that way"], 3);
}

#[test]
fn subnet_broadcasts_are_heard_here_and_sent_on_only_where_allowed() {
    let mut world = World::new();
    let frame = ethernet(0, 0x0800, &udp4("10.0.1.2", "10.0.2.255", 9, 60));
    assert!(world.send(0, &frame).sent.is_empty());
    assert_eq!(world.dropped()["ip4 directed broadcast"], 1);
    let allowed = Interface { directed_broadcast: true, ..interface(2, 1) };
    world.apply(Program::Interface(allowed));
    let left = world.send(0, &frame);
    assert_eq!((left.sent[0].0, &left.sent[0].1[..6]), (1, &[0xff; 6][..]));
    let mut frame = ethernet(0, 0x0800, &udp4("10.0.1.2", "10.0.1.255", 9, 60));
    frame[..6].fill(0xff);
    assert_eq!(world.send(0, &frame).punted.len(), 1);
}

#[test]
fn tables_are_apart_and_a_hop_may_lead_into_another() {
    let mut said = programs();
    said.push(Program::Vrf { vrf: 5 });
    said.push(Program::Port(port(2)));
    let mode = Mode::Routed { vrf: 5 };
    said.push(Program::Interface(Interface { mode, ..interface(5, 2) }));
    let mut world = World::of(&said);
    let frame = |to: &str| ethernet(2, 0x0800, &udp4("10.9.9.9", to, 9, 60));
    assert!(world.send(2, &frame("10.0.2.2")).sent.is_empty());
    world.apply(Program::Hop { id: 9, hop: Hop::Vrf { vrf: 0 } });
    let routes = vec![("10.0.0.0".parse().unwrap(), 8, 9)];
    world.apply(Program::Routes4 { vrf: 5, routes });
    assert_eq!(world.send(2, &frame("10.0.2.2")).sent[0].0, 1);
}

#[test]
fn a_group_spreads_flows_and_goes_on_without_a_member_that_is_lost() {
    let mut said = programs();
    said.push(Program::Port(port(2)));
    said.push(Program::Interface(interface(3, 2)));
    let address = "10.0.3.1".parse().unwrap();
    said.push(Program::Address(Address { interface: 3, address, length: 24 }));
    let address = "10.0.3.2".parse().unwrap();
    said.push(Program::Neighbour(Neighbour { interface: 3, address, mac: neighbour_mac(2) }));
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said.push(Program::Hop { id: 2, hop: via(3, "10.0.3.2") });
    said.push(Program::Hop {
        id: 3,
        hop: Hop::Group { members: vec![(1, 1), (2, 3)], resilient: true },
    });
    said.push(Program::Routes4 { vrf: 0, routes: vec![("192.0.2.0".parse().unwrap(), 24, 3)] });
    let mut world = World::of(&said);
    let count = |world: &mut World| {
        let mut ways = [0; 3];
        for flow in 0..400_u16 {
            let source = format!("172.16.{}.{}", flow / 250, flow % 250 + 1);
            let left = world.send(0, &ethernet(0, 0x0800, &udp4(&source, "192.0.2.9", 9, 60)));
            left.sent.iter().for_each(|(port, _)| ways[usize::from(*port)] += 1);
        }
        ways
    };
    let [_, one, two] = count(&mut world);
    assert!(one + two == 400 && (60..140).contains(&one), "{one} and {two}");
    let down = nodes::program::Port { up: false, ..port(2) };
    world.apply(Program::Port(down));
    assert_eq!(count(&mut world), [0, 400, 0]);
    world.apply(Program::Port(port(2)));
    let [_, one, two] = count(&mut world);
    assert!(one + two == 400 && (60..140).contains(&one), "it comes back: {one} and {two}");
}

/// What breaks a packet.
type Change = fn(&mut Vec<u8>);

#[test]
fn broken_headers_are_dropped_each_for_its_reason() {
    let mut world = with_routes();
    let good = udp4("10.0.1.9", "192.0.2.7", 64, 60);
    let change: [(&str, Change); 6] = [
        ("ip4 version", |packet| packet[0] = 0x55),
        ("ip4 length", |packet| packet[0] = 0x44),
        ("ip4 length", |packet| packet[3] = 61),
        ("ip4 martian source", |packet| packet[12] = 127),
        ("ip4 multicast not routed", |packet| packet[16] = 225),
        ("ip4 ttl zero", |packet| packet[8] = 0),
    ];
    for (at, (reason, change)) in change.into_iter().enumerate() {
        let mut packet = good.clone();
        change(&mut packet);
        nodes::header::seal_ip4(&mut packet[..20]);
        let before = world.dropped().get(reason).copied().unwrap_or(0);
        assert!(world.send(0, &ethernet(0, 0x0800, &packet)).sent.is_empty());
        assert_eq!(world.dropped().get(reason), Some(&(before + 1)), "case {at}");
    }
    let mut packet = good;
    packet[11] ^= 1;
    world.send(0, &ethernet(0, 0x0800, &packet));
    assert_eq!(world.dropped()["ip4 checksum"], 1);
    let mut frame = ethernet(0, 0x0800, &udp4("10.0.1.9", "192.0.2.7", 64, 60));
    frame[..6].copy_from_slice(&HOST);
    world.send(0, &frame);
    assert_eq!(world.dropped()["not our mac address"], 1);
}
