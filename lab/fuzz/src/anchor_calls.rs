//! Descriptions through a call, a zero octet between them: offers and answers of both sides, some
//! taken back. No port is given twice or lost, no version falls, every stream can be told and read.

use anchor::row::{read_stream, write_stream};
use anchor::{
    Block, CodecName, Dtmf, Fork, Heard, Ice, Local, Means, Policy, Pool, Protection, Session,
    Side, Source, Srtp,
};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::time::Duration;
use machine::Time;
use srtp::dtls::{Fingerprint, Hash};

/// Ports of two families, which must come back.
pub(crate) struct Ports {
    pools: [Pool; 2],
    fingerprint: Fingerprint,
}

impl Ports {
    pub(crate) fn new() -> Self {
        let pool = |address| {
            let mut pool = Pool::new(Duration::ZERO);
            assert!(pool.add(Block { address, first: 20_000, pairs: 100 }));
            pool
        };
        let fingerprint = Fingerprint::of(Hash::Sha256, b"a certificate");
        Self { pools: [pool(0), pool(1)], fingerprint }
    }

    pub(crate) fn in_use(&self) -> usize {
        self.pools.iter().map(|pool| pool.in_use() as usize).sum()
    }

    pub(crate) fn take_of(&mut self, is_v6: bool) -> Option<Local> {
        self.pools[usize::from(is_v6)].take(Time::ZERO)
    }

    pub(crate) fn put_back(&mut self, local: Local) {
        let is_taken = self.pools[usize::from(local.address)].give_back(local, Time::ZERO);
        assert!(is_taken, "{local:?} was given back twice");
    }

    pub(crate) fn address_of(number: u16) -> IpAddr {
        if number == 0 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
    }

    pub(crate) const fn print(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

impl Source for Ports {
    fn take(&mut self, _side: Side, is_v6: bool) -> Option<Local> {
        self.take_of(is_v6)
    }

    fn give_back(&mut self, local: Local) {
        self.put_back(local);
    }

    fn address(&self, number: u16) -> IpAddr {
        Self::address_of(number)
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        Some(self.print())
    }
}

/// A policy by the bits of an octet.
fn policy(bits: u8) -> Policy {
    let protection = match bits & 3 {
        0 => Protection::Off,
        1 => Protection::Optional,
        2 => Protection::Required,
        _ => Protection::EndToEnd,
    };
    let srtp = Srtp { protection, dtls: true, opportunistic: bits & 4 != 0, ..Srtp::default() };
    let mut policy = Policy {
        srtp,
        ice: if bits & 8 != 0 { Ice::Follow } else { Ice::Remove },
        bundle: bits & 16 != 0,
        other: bits & 32 != 0,
        dtmf: if bits & 64 != 0 { Dtmf::Info } else { Dtmf::Pass },
        bandwidth: anchor::Bandwidth { police: true, kbps_max: None },
        ..Policy::default()
    };
    if bits & 128 != 0 {
        policy
            .codecs
            .transcode
            .extend(["opus", "G722"].map(str::as_bytes).map(CodecName::read).into_iter().flatten());
    }
    policy
}

/// Numbers one after the other in the place of random ones.
pub(crate) fn counting() -> impl FnMut(&mut [u8]) {
    let mut next = 0_u8;
    move |octets| {
        for octet in octets {
            *octet = next;
            next = next.wrapping_add(1);
        }
    }
}

/// The version of a description's origin.
fn version(text: &[u8]) -> Option<u64> {
    sdp::Session::parse(text).ok().map(|session| session.origin().version)
}

pub fn run(octets: &[u8]) {
    let [a, b, rest @ ..] = octets else { return };
    let policies = [policy(*a), policy(*b)];
    let (mut ports, mut random) = (Ports::new(), counting());
    let mut session = Session::new(&mut random);
    let mut versions = [0; 2];
    for (step, text) in rest.split(|octet| *octet == 0).take(32).enumerate() {
        let Some((&how, text)) = text.split_first() else {
            session.reject(&mut ports);
            continue;
        };
        let from = if how & 1 == 0 { Side::A } else { Side::B };
        let mut means = Means {
            policies: [&policies[0], &policies[1]],
            ports: &mut ports,
            random: &mut random,
        };
        let heard = Heard { fork: Fork(u16::from(how >> 4)), ..Heard::new(from, text) };
        let mut out = Vec::new();
        let is_taken = if how & 2 == 0 {
            session.offer(heard, &mut means, &mut out).is_ok()
        } else {
            session.answer(heard, &mut means, &mut out).is_ok()
        };
        assert!(is_taken || out.is_empty(), "step {step}");
        if is_taken {
            let number = version(&out).expect("what is written can be read");
            let last = &mut versions[from.other().index()];
            assert!(*last <= number);
            *last = number;
        }
        if how & 4 != 0 {
            session.settle(Fork(u16::from(how >> 4)), &mut means);
        }
        assert_eq!(session.locals().count(), ports.in_use(), "step {step}");
        for (_, stream) in session.streams() {
            let mut told = Vec::new();
            write_stream(stream, &mut told);
            assert_eq!(read_stream(&told).as_ref(), Ok(stream));
        }
    }
    session.end(&mut ports);
    assert_eq!(ports.in_use(), 0);
}
