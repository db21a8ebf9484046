//! What a call costs: an offer, its answer, and the end; plain, and with SRTP on one side.
#![allow(missing_docs, reason = "criterion's macros write a function")]

use anchor::{
    Block, Fork, Heard, Local, Means, Policy, Pool, Protection, Session, Side, Source, Srtp,
};
use core::hint::black_box;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use criterion::{Criterion, criterion_group, criterion_main};
use machine::Time;
use srtp::dtls::Fingerprint;

struct Ports(Pool);

impl Source for Ports {
    fn take(&mut self, _side: Side, _is_v6: bool) -> Option<Local> {
        self.0.take(Time::ZERO)
    }

    fn give_back(&mut self, local: Local) {
        self.0.give_back(local, Time::ZERO);
    }

    fn address(&self, _number: u16) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        None
    }
}

const OFFER: &[u8] = b"v=0\r\no=alice 1 1 IN IP4 192.0.2.1\r\ns=call\r\nc=IN IP4 192.0.2.1\r\n\
    t=0 0\r\nm=audio 4000 RTP/AVP 0 8 18 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\n\
    a=rtpmap:18 G729/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-16\r\n\
    a=ptime:20\r\na=sendrecv\r\n";
const ANSWER: &[u8] = b"v=0\r\no=bob 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\n\
    t=0 0\r\nm=audio 6000 RTP/AVP 8 101\r\na=rtpmap:8 PCMA/8000\r\n\
    a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-16\r\na=ptime:20\r\na=sendrecv\r\n";
const SECURED: &[u8] = b"v=0\r\no=bob 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\n\
    t=0 0\r\nm=audio 6000 RTP/SAVP 8 101\r\na=rtpmap:8 PCMA/8000\r\n\
    a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-16\r\na=ptime:20\r\na=sendrecv\r\n\
    a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz\r\n";

fn call(ports: &mut Ports, policies: [&Policy; 2], answer: &[u8]) -> usize {
    let mut next = 0_u8;
    let mut random = |octets: &mut [u8]| {
        for octet in octets {
            *octet = next;
            next = next.wrapping_add(1);
        }
    };
    let mut session = Session::new(&mut random);
    let mut means = Means { policies, ports, random: &mut random };
    let (mut told, mut heard) = (Vec::with_capacity(1_024), Vec::with_capacity(1_024));
    session.offer(Heard::new(Side::A, OFFER), &mut means, &mut told).expect("taken");
    let changes = session.answer(Heard::new(Side::B, answer), &mut means, &mut heard);
    let count = changes.expect("taken").len();
    session.settle(Fork(0), &mut means);
    session.end(ports);
    count + told.len() + heard.len()
}

fn calls(criterion: &mut Criterion) {
    let mut pool = Pool::new(Duration::ZERO);
    assert!(pool.add(Block { address: 0, first: 10_000, pairs: 1_000 }));
    let mut ports = Ports(pool);
    let plain = Policy::default();
    let secured = Policy {
        srtp: Srtp { protection: Protection::Required, ..Srtp::default() },
        ..Policy::default()
    };
    criterion.bench_function("a call of RTP", |bencher| {
        bencher.iter(|| call(&mut ports, [&plain, &plain], black_box(ANSWER)));
    });
    criterion.bench_function("a call of RTP to SRTP", |bencher| {
        bencher.iter(|| call(&mut ports, [&plain, &secured], black_box(SECURED)));
    });
}

criterion_group!(benches, calls);
criterion_main!(benches);
