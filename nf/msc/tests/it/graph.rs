//! From what a session controller says to packets: what this control tells goes into a plane, and
//! packets of the call into its graph.

use super::*;
use nodes::program::Item as Told;
use packet::datagram::Datagram;
use rtp::{Header, Packet};
use world::{Left, World as Router, ethernet};

#[allow(dead_code, reason = "a part of what the tests of the plane have")]
#[path = "../../../../plane/control/tests/plane/world.rs"]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod world;

/// Where the plane of `world` is.
pub(super) const HERE: &str = r#"
name = "msc1"
listen = "127.0.0.1:2970"
[[port]]
name = "port0"
driver = "af_packet"
[[port]]
name = "port1"
driver = "af_packet"
[[interface]]
name = "port0"
addresses = ["10.0.1.1/24"]
[[interface]]
name = "port1"
addresses = ["10.0.2.1/24"]
[[group]]
name = "access"
addresses = ["10.0.1.1"]
ports = "20000-20255"
[[group]]
name = "core"
addresses = ["10.0.2.1"]
ports = "30000-30255"
"#;
pub(super) const PHONE: &str = "10.0.1.2:4000";
pub(super) const CORE: &str = "10.0.2.2:5000";

/// A plane that was told what this control told its forwarder.
pub(super) fn router(world: &World) -> Router {
    let mut router = Router::new();
    for (key, value) in world.plane.items.clone() {
        router.apply(Program::Item(Told { feature: FEATURE.to_owned(), key, value }));
    }
    router
}

fn sends(router: &mut Router, port: u16, (from, to): (&str, &str), sequence: u16) -> Left {
    let timestamp = u32::from(sequence) * 160;
    let header = Header { payload_type: 8, sequence, timestamp, ssrc: 77, marker: false };
    router.send(port, &ethernet(port, 0x0800, &packet((from, to), header, &[0xd5; 160])))
}

fn packet((from, to): (&str, &str), header: Header, payload: &[u8]) -> Vec<u8> {
    let (mut octets, mut packet) = (Vec::new(), Vec::new());
    Packet { header, payload, ..Packet::default() }.write(&mut octets);
    let place = |text: &str| text.parse().expect("a place");
    Datagram { from: place(from), to: place(to), payload: &octets }.write(&mut packet);
    packet
}

/// A packet of RTP comes to the first port.
pub(super) fn rtp(router: &mut Router, way: (&str, &str), header: Header, payload: &[u8]) -> Left {
    router.send(0, &ethernet(0, 0x0800, &packet(way, header, payload)))
}

#[test]
fn packets_of_a_stream_without_a_bandwidth_pass_both_ways_alone_and_bundled() {
    let mut world = World::adopted(HERE);
    world.greets(1, "ssc1", 7);
    let (access, core) = (world.leases(1, "access", 32)[0], world.leases(1, "core", 32)[0]);
    let mut audio = stream(at(access, 0), at(core, 0));
    for (end, remote) in audio.ends.iter_mut().zip([PHONE, CORE]) {
        assert_eq!(end.police_bps, 0, "no bandwidth was agreed on");
        (end.remote, end.rtcp) = (Some(remote.parse().expect("a place")), Rtcp::Mux);
    }
    let mut video = audio.clone();
    (video.kind, video.ends[1].local) = (Kind::Video, at(core, 1));
    for (at, end) in [(0, &mut audio.ends[0]), (1, &mut video.ends[0])] {
        end.bundle = Some(Box::new(anchor::Bundle { lead: 0, mid: vec![b'0' + at].into() }));
    }
    for (line, what) in [(0, &audio), (1, &video)] {
        let what = Box::new(what.clone());
        world.says(1, Message::Put { stream: StreamId { call: 5, line }, generation: 1, what });
        let mut router = router(&world);
        let (there, back) = ((PHONE, "10.0.1.1:20000"), (CORE, "10.0.2.1:30000"));
        for sequence in 1..=20 {
            for (from, way, wanted) in [(0, there, back), (1, back, there)] {
                let left = sends(&mut router, from, way, sequence);
                let [(port, frame)] = &left.sent[..] else { panic!("{:?}", router.dropped()) };
                let sent = Datagram::read(&frame[14..]).expect("a datagram");
                let (to, at) = wanted;
                assert_eq!((sent.from.to_string(), sent.to.to_string()), (at.into(), to.into()));
                assert_eq!(*port, 1 - from);
            }
        }
    }
}
