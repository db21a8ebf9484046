//! A client in a world of caches that say what a test wants them to say.

use bgp::family::{Ipv4Prefix, Ipv6Prefix};
use machine::{Machine, Time};
use rpki::{
    CacheId, Client, Delta, Framing, In, Indication, Intervals, Out, Pdu, Settings, Version, Vrp4,
    Vrp6, frame,
};

/// Octets written as hexadecimal, with blanks.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|it| it.to_digit(16)).collect();
    digits.chunks(2).map(|two| (two[0] << 4 | two[1]) as u8).collect()
}

pub fn v4(comes: bool, prefix: &str, max: u8, asn: u32) -> Pdu<'static> {
    let (address, bits) = prefix.split_once('/').unwrap();
    let prefix = Ipv4Prefix::new(address.parse().unwrap(), bits.parse().unwrap()).unwrap();
    Pdu::Ipv4(comes, Vrp4 { prefix, max, asn })
}

pub fn v6(comes: bool, prefix: &str, max: u8, asn: u32) -> Pdu<'static> {
    let (address, bits) = prefix.split_once('/').unwrap();
    let prefix = Ipv6Prefix::new(address.parse().unwrap(), bits.parse().unwrap()).unwrap();
    Pdu::Ipv6(comes, Vrp6 { prefix, max, asn })
}

pub struct Cache {
    pub version: Version,
}

impl Cache {
    pub fn write(&self, pdus: &[Pdu<'_>]) -> Vec<u8> {
        let mut octets = Vec::new();
        pdus.iter().for_each(|pdu| pdu.write(self.version, &mut octets));
        octets
    }
}

pub struct World {
    pub client: Client,
    pub caches: Vec<Cache>,
    pub now: Time,
    pub out: Vec<Out>,
}

impl World {
    pub fn new(settings: Settings) -> Self {
        let caches = (0..settings.caches).map(|_| Cache { version: Version::V1 }).collect();
        Self { client: Client::new(settings), caches, now: Time::ZERO, out: Vec::new() }
    }

    /// A connection with a cache, whose query was sent.
    pub fn connect(&mut self, index: u8) {
        self.step(In::Start);
        self.step(In::Connected(CacheId(index)));
        self.out.clear();
    }

    /// Session 7, serial number 1: 192.0.2.0/24 up to 25 of 65001, 2001:db8::/32 up to 48 of 1.
    pub fn synchronised(settings: Settings) -> Self {
        let mut world = Self::new(settings);
        world.connect(0);
        world.hear(
            0,
            &[
                Pdu::CacheResponse(7),
                v4(true, "192.0.2.0/24", 25, 65_001),
                v6(true, "2001:db8::/32", 48, 1),
                Pdu::EndOfData(7, 1, Some(Intervals::DEFAULT)),
            ],
        );
        world.out.clear();
        world
    }

    pub fn step(&mut self, input: In) {
        self.client.step(self.now, input, &mut self.out);
    }

    pub fn tick(&mut self, now: Time) {
        self.now = now;
        self.client.tick(now, &mut self.out);
        assert!(self.client.deadline().is_none_or(|at| at > now));
    }

    pub fn hear(&mut self, index: u8, pdus: &[Pdu<'_>]) {
        let octets = self.caches[usize::from(index)].write(pdus);
        self.octets(index, &octets);
    }

    pub fn octets(&mut self, index: u8, octets: &[u8]) {
        let taken = self.client.receive(self.now, CacheId(index), octets, &mut self.out);
        assert_eq!(taken, octets.len());
    }

    /// What was sent to a cache since this was asked last, as it would be read.
    pub fn sent(&mut self, index: u8) -> Vec<Pdu<'static>> {
        let mut sent = Vec::new();
        self.out.retain(|out| {
            let Out::Send(CacheId(to), octets) = out else { return true };
            if *to == index {
                let octets: &'static [u8] = octets.clone().leak();
                let Framing::Pdu(_, pdu, all) = frame(octets) else { panic!("{octets:?}") };
                assert_eq!(all.len(), octets.len());
                sent.push(pdu);
            }
            *to != index
        });
        sent
    }

    /// The last delta.
    pub fn delta(&self) -> Option<Delta> {
        self.out.iter().rev().find_map(|out| match out {
            Out::Changed(delta) => Some(delta.clone()),
            _ => None,
        })
    }

    pub fn heard(&self, indication: &Indication) -> bool {
        self.out.iter().any(|out| matches!(out, Out::Indicate(it) if it == indication))
    }
}
