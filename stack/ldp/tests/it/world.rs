//! Routers in a row: router N has 10.N.0.1 on the link to the next one, whose address there is
//! 10.N.0.2; its own address is 10.255.0.(N + 1).

use dataplane::PacketChannel;
use forwarder::ToPackets;
use igp::Link;
use igp::ip4::Packet;
use ldp_stack::config::Ldp;
use ldp_stack::{Labels, NextHop, Prefix, Start};
use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use runtime::{ChannelEvent, ChannelOrder, Effects, PacketRecord, PacketTo, PortId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

pub const SECOND: Duration = Duration::from_secs(1);
const PACKET_CHANNEL: PortId = PortId(3);

/// Arrival, number, interface, router, octets.
type Flying = (Time, u64, u32, usize, Vec<u8>);

pub struct World {
    pub now: Time,
    pub routers: Vec<Option<Labels>>,
    pub lines: String,
    /// Packets of a thousand that are lost.
    pub loss: u64,
    /// Whether packets pass.
    pub passes: bool,
    pub sent: Vec<Vec<u8>>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    random: ChaCha8Rng,
}

impl World {
    pub fn new(seed: u64, routers: usize) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            routers: (0..routers).map(|_| None).collect(),
            lines: "hold_s = 5\nkeepalive_s = 9".to_owned(),
            loss: 0,
            passes: true,
            sent: Vec::new(),
            flying: BinaryHeap::new(),
            number: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    pub fn own(router: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 255, 0, router as u8 + 1)
    }

    /// The address of an end of the link between a router and the next one.
    pub fn address(link: usize, end: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, link as u8, 0, end as u8 + 1)
    }

    pub fn prefix(router: usize) -> Prefix {
        Prefix::new(Self::own(router).into(), 32)
    }

    fn links(&self, router: usize) -> Vec<Link> {
        let left = router.checked_sub(1).map(|link| (link, 1));
        let right = (router + 1 < self.routers.len()).then_some((router, 0));
        let all = left.into_iter().chain(right).map(|(link, end)| Link {
            name: format!("w{link}"),
            index: link as u32 + 1,
            address: Some((Self::address(link, end), 24)),
            addresses: vec![(IpAddr::V4(Self::address(link, end)), 24)],
            mtu: 1_500,
            is_up: true,
            ..Link::default()
        });
        all.collect()
    }

    pub fn section(&self, router: usize) -> Arc<Ldp> {
        let mut text = format!("router_id = \"{}\"\n{}\n", Self::own(router), self.lines);
        for link in self.links(router) {
            text += &format!("[[interface]]\nname = \"{}\"\n", link.name);
        }
        Arc::new(toml::from_str(&text).unwrap())
    }

    pub fn start(&mut self, router: usize, is_upper: bool) {
        let mut random = [0; 32];
        self.random.fill_bytes(&mut random);
        let to = ToPackets {
            socket: "/none".into(),
            keys: None,
            classes: ldp_stack::classes(),
            epoch: None,
        };
        let channel = PacketChannel::new(self.now, PACKET_CHANNEL, to);
        let start = Start { now: self.now, random, function: format!("pe{router}"), is_upper };
        self.routers[router] = Some(Labels::new(start, self.section(router), channel));
        self.with(router, |it, now, out| it.tick(now, out));
        for event in [ChannelEvent::Up, ChannelEvent::Message(&[])] {
            self.with(router, |it, now, out| it.step(now, PACKET_CHANNEL, event, out));
        }
        self.configure(router);
        // To each own address by the neighbour on its side.
        for to in 0..self.routers.len() {
            let ways = match to.cmp(&router) {
                std::cmp::Ordering::Equal => Vec::new(),
                std::cmp::Ordering::Less => vec![NextHop {
                    interface: router as u32,
                    gateway: Self::address(router - 1, 0).into(),
                }],
                std::cmp::Ordering::Greater => vec![NextHop {
                    interface: router as u32 + 1,
                    gateway: Self::address(router, 1).into(),
                }],
            };
            self.with(router, |it, now, out| it.routes(now, [(Self::prefix(to), Some(ways))], out));
        }
    }

    pub fn configure(&mut self, router: usize) {
        let (section, links) = (self.section(router), self.links(router));
        self.with(router, |it, now, out| it.configure(now, section, links, out));
    }

    pub fn start_all(&mut self) {
        (0..self.routers.len()).for_each(|it| self.start(it, false));
    }

    pub fn with(&mut self, router: usize, act: impl FnOnce(&mut Labels, Time, &mut Effects)) {
        let mut out = Effects::default();
        let now = self.now;
        let Some(it) = &mut self.routers[router] else { return };
        act(it, now, &mut out);
        for (_, order) in out.channels {
            let ChannelOrder::Send(packets) = order else { continue };
            for (to, packet) in packets.iter() {
                self.send(router, to, packet);
            }
        }
    }

    fn send(&mut self, from: usize, to: PacketTo, octets: &[u8]) {
        let packet = Packet::read(octets).unwrap();
        self.sent.push(octets.to_vec());
        for link in self.links(from) {
            let other = if from == link.index as usize { from - 1 } else { from + 1 };
            let link_number = link.index as usize - 1;
            let end = usize::from(other != link_number);
            let is_meant = match to {
                PacketTo::Link(index) => index == link.index,
                _ => {
                    let to = packet.destination;
                    to == Self::own(other) || to == Self::address(link_number, end)
                }
            };
            let is_lost = self.random.next_u64() % 1_000 < self.loss;
            if is_meant && self.passes && !is_lost {
                let at = self.now + Duration::from_micros(500 + self.random.next_u64() % 3_000);
                self.number += 1;
                let flying = (at, self.number, link.index, other, octets.to_vec());
                self.flying.push(Reverse(flying));
            }
        }
    }

    /// A packet comes to a router by an interface.
    pub fn give(&mut self, router: usize, interface: u32, octets: &[u8]) {
        self.give_by(router, PacketRecord { interface, ..PacketRecord::default() }, octets);
    }

    pub fn give_by(&mut self, router: usize, record: PacketRecord, octets: &[u8]) {
        let event = ChannelEvent::Packet(record, octets);
        self.with(router, |it, now, out| it.step(now, PACKET_CHANNEL, event, out));
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let due = self.routers.iter().flatten().filter_map(Labels::deadline);
            let next = due.chain(self.flying.peek().map(|it| it.0.0)).min();
            let Some(at) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            while self.flying.peek().is_some_and(|it| it.0.0 <= self.now) {
                let Some(Reverse((_, _, interface, router, octets))) = self.flying.pop() else {
                    break;
                };
                self.give(router, interface, &octets);
            }
            for router in 0..self.routers.len() {
                let now = self.now;
                let is_due = |it: &Labels| it.deadline().is_some_and(|at| at <= now);
                if self.routers[router].as_ref().is_some_and(is_due) {
                    self.with(router, |it, now, out| it.tick(now, out));
                    let due = self.routers[router].as_ref().and_then(Labels::deadline);
                    assert!(due.is_none_or(|at| at > now), "{due:?} at {now:?}");
                }
            }
        }
        self.now = end;
    }

    pub fn at(&self, router: usize) -> &Labels {
        self.routers[router].as_ref().unwrap()
    }

    /// Peers of a router whose session stands, by the last numbers of their addresses.
    pub fn standing(&self, router: usize) -> Vec<u8> {
        let rows = question::value(self.at(router).neighbours(self.now));
        let all = rows.as_array().unwrap().iter();
        let all = all.filter(|row| row["state"] == "Operational");
        all.map(|row| {
            let peer = row["peer"].as_str().unwrap().strip_suffix(":0").unwrap();
            peer.parse::<Ipv4Addr>().unwrap().octets()[3]
        })
        .collect()
    }
}
