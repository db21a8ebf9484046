//! What a speaker made for the runtime's streams wants, as packets.

use dataplane::PacketChannel;
use forwarder::ToPackets;
use igp::ip4::Packet;
use machine::{Duration, Time};
use runtime::{ChannelEvent, ChannelOrder, Effects, Flow, Frame, PacketRecord, PortId, Transport};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use streams::{Carried, Carrier, ListenTerms};
use tcp::{Flags, Segment};

const PACKET_CHANNEL: PortId = PortId(4);
const FLOWS: PortId = PortId(16);
const OWN: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 3);

struct Speaker {
    now: Time,
    carrier: Carrier,
}

impl Speaker {
    fn new() -> Self {
        let now = Time::from_millis(1_000_000);
        let to = ToPackets { socket: "/none".into(), keys: None, classes: Vec::new(), epoch: None };
        let channel = PacketChannel::new(now, PACKET_CHANNEL, to);
        let whole = |octets: &[u8]| Frame::Message(octets.len());
        let mut it = Self { now, carrier: Carrier::new(channel, whole, &[7; 16], 10) };
        let own = [(0, IpAddr::V4(OWN))].into_iter().collect();
        let guards = BTreeMap::new();
        it.carrier.configure(now, ListenTerms { port: 179, number: PortId(15), own, guards });
        it.carrier.tick(now, &mut Effects::default());
        for event in [ChannelEvent::Up, ChannelEvent::Message(&[])] {
            it.carrier.step(now, PACKET_CHANNEL, event, |_, _| true);
        }
        assert!(it.carrier.is_open());
        it
    }

    /// The far end of what it wants.
    fn target() -> Flow {
        let unsaid = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        Flow::to(FLOWS, Transport::Tcp, unsaid, SocketAddr::new(FAR.into(), 179))
    }

    /// Segments that leave: port, number, flags.
    fn carry(&mut self, want: impl FnOnce(&mut Effects)) -> Vec<(u16, u32, Flags)> {
        let (mut wanted, mut out) = (Effects::default(), Effects::default());
        want(&mut wanted);
        self.carrier.carry(self.now, 0, &mut wanted, |_| Some(OWN.into()));
        self.carrier.settle(self.now, &mut out);
        let mut left = Vec::new();
        for (_, order) in out.channels {
            let ChannelOrder::Send(packets) = order else { continue };
            for (_, packet) in packets.iter() {
                let packet = Packet::read(packet).expect("it is a packet");
                let it = Segment::read(packet.payload).expect("it is a segment");
                left.push((it.source, it.seq, it.flags));
            }
        }
        left
    }

    /// The far end takes a SYN.
    fn answer(&mut self, port: u16, seq: u32) {
        let mut octets = Vec::new();
        let (flags, ack) = (Flags::SYN.and(Flags::ACK), seq.wrapping_add(1));
        let (window, mss, payload) = (9_000, None, &[][..]);
        let (source, destination) = (179, port);
        let it = Segment { source, destination, seq: 1, ack, flags, window, mss, payload };
        assert!(it.write((FAR.into(), OWN.into()), &mut octets));
        let head = igp::ip4::Head { source: FAR, destination: OWN, ttl: 64, protocol: 6, id: 1 };
        let mut packet = Vec::new();
        igp::ip4::write(&head, &octets, 1_500, |header, part| packet = [header, part].concat());
        let event = ChannelEvent::Packet(PacketRecord::default(), &packet);
        self.carrier.step(self.now, PACKET_CHANNEL, event, |_, _| true);
    }
}

#[test]
fn who_gives_up_and_connects_again_in_one_turn_is_connected() {
    let mut it = Speaker::new();
    let [(_, _, Flags::SYN)] = it.carry(|out| out.open(Speaker::target()))[..] else {
        panic!("a SYN leaves");
    };
    // Nobody answers: again and again.
    for _ in 0..5 {
        it.now += Duration::from_secs(2);
        let left = it.carry(|out| {
            out.close(Speaker::target());
            out.open(Speaker::target());
        });
        let syns = left.iter().filter(|it| it.2 == Flags::SYN).count();
        assert_eq!((syns, it.carrier.len()), (1, 1), "{left:?}");
    }
    it.now += Duration::from_secs(2);
    let left = it.carry(|out| {
        out.close(Speaker::target());
        out.open(Speaker::target());
    });
    let (port, seq, _) = left[0];
    it.answer(port, seq);
    it.carry(|_| {});
    let Some((0, Carried::Up(flow))) = it.carrier.hear() else { panic!("it stands") };
    assert_eq!((flow.local, flow.remote.ip()), (SocketAddr::new(OWN.into(), port), FAR.into()));
    // What stands is closed behind what is sent.
    let left = it.carry(|out| {
        out.close(flow);
        out.send(flow, |octets| octets.extend(b"the last words"));
    });
    assert_eq!(left.last().map(|it| it.2.has(Flags::FIN)), Some(true), "{left:?}");
}
