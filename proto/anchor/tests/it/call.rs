//! A call with its ports, for tests.

use anchor::{
    Block, Change, Fork, Heard, Local, Means, Policy, Pool, Refusal, Session, Side, Source,
};
use core::net::IpAddr;
use core::time::Duration;
use machine::Time;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use srtp::dtls::{Fingerprint, Hash};
use std::collections::BTreeSet;

/// Ports of four addresses: A's and B's, of IPv4 and IPv6.
#[derive(Debug)]
pub struct Ports {
    pools: Vec<Pool>,
    pub now: Time,
    pub taken: BTreeSet<Local>,
    fingerprint: Option<Fingerprint>,
    pub codecs: u32,
}

const ADDRESSES: [&str; 4] = ["198.51.100.1", "2001:db8::1", "203.0.113.1", "2001:db8:1::1"];

impl Ports {
    pub fn new(pairs: u16) -> Self {
        let pool = |address| {
            let mut pool = Pool::new(Duration::from_secs(10));
            assert!(pool.add(Block { address, first: 20_000, pairs }));
            pool
        };
        Self {
            pools: (0..4).map(pool).collect(),
            now: Time::ZERO,
            taken: BTreeSet::new(),
            fingerprint: Some(Fingerprint::of(Hash::Sha256, b"a certificate")),
            codecs: u32::MAX,
        }
    }
}

impl Ports {
    /// The first pair of each address is not given.
    pub fn skip(&mut self) {
        for pool in &mut self.pools {
            pool.take(self.now).expect("fresh");
        }
    }
}

impl Source for Ports {
    fn take(&mut self, side: Side, is_v6: bool) -> Option<Local> {
        let at = if side == Side::A { 0 } else { 2 } + usize::from(is_v6);
        let local = self.pools[at].take(self.now)?;
        assert!(self.taken.insert(local), "{local:?} twice");
        Some(local)
    }

    fn give_back(&mut self, local: Local) {
        assert!(self.taken.remove(&local), "{local:?} was not taken");
        assert!(self.pools[usize::from(local.address)].give_back(local, self.now));
    }

    fn address(&self, number: u16) -> IpAddr {
        ADDRESSES[usize::from(number)].parse().expect("an address")
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    fn codecs(&self) -> u32 {
        self.codecs
    }
}

/// A call.
#[derive(Debug)]
pub struct Call {
    pub session: Session,
    pub ports: Ports,
    pub policies: [Policy; 2],
    random: ChaCha8Rng,
}

impl Call {
    pub fn new(a: Policy, b: Policy) -> Self {
        Self::seeded(a, b, 1)
    }

    pub fn seeded(a: Policy, b: Policy, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let session = Session::new(&mut |octets| random.fill_bytes(octets));
        Self { session, ports: Ports::new(64), policies: [a, b], random }
    }

    pub fn with<T>(&mut self, run: impl FnOnce(&mut Session, &mut Means<'_>) -> T) -> T {
        let random = &mut self.random;
        let mut fill = |octets: &mut [u8]| random.fill_bytes(octets);
        let mut means = Means {
            policies: [&self.policies[0], &self.policies[1]],
            ports: &mut self.ports,
            random: &mut fill,
        };
        run(&mut self.session, &mut means)
    }

    pub fn try_offer(&mut self, from: Side, text: &str) -> Result<String, Refusal> {
        let mut out = Vec::new();
        self.with(|session, means| {
            session.offer(Heard::new(from, text.as_bytes()), means, &mut out)
        })?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    pub fn offer(&mut self, from: Side, text: &str) -> String {
        self.try_offer(from, text).expect("it is taken")
    }

    pub fn try_answer(
        &mut self,
        from: Side,
        fork: u16,
        text: &str,
    ) -> Result<(String, Vec<Change>), Refusal> {
        let mut out = Vec::new();
        let heard = Heard { fork: Fork(fork), ..Heard::new(from, text.as_bytes()) };
        let changes = self.with(|session, means| session.answer(heard, means, &mut out))?;
        Ok((String::from_utf8(out).expect("UTF-8"), changes))
    }

    pub fn answer(&mut self, from: Side, text: &str) -> (String, Vec<Change>) {
        self.try_answer(from, 0, text).expect("it is taken")
    }

    pub fn settle(&mut self, fork: u16) -> Vec<Change> {
        self.with(|session, means| session.settle(Fork(fork), means))
    }

    pub fn reject(&mut self) {
        self.session.reject(&mut self.ports);
    }

    /// A standby goes on with what it was told.
    pub fn take_over(&mut self) {
        let mut told = Vec::new();
        self.session.record(&mut told);
        let session = Session::restore(&told).expect("it was recorded");
        let mut again = Vec::new();
        session.record(&mut again);
        assert_eq!(told, again);
        for cut in (1..told.len()).step_by(211) {
            // A record that is cut off is none, unless a whole field lacks.
            let _ = Session::restore(&told[..cut]);
        }
        self.session = session;
    }

    pub fn end(&mut self) {
        self.session.end(&mut self.ports);
        assert!(self.ports.taken.is_empty(), "{:?}", self.ports.taken);
    }
}

/// A description at an address, with these lines behind `t=`.
pub fn at(address: &str, lines: &str) -> String {
    let family = if address.contains(':') { "IP6" } else { "IP4" };
    let lines = lines.trim_start_matches('\n').replace('\n', "\r\n");
    format!(
        "v=0\r\no=- 7 3 IN {family} {address}\r\ns=call\r\nc=IN {family} {address}\r\nt=0 0\r\n\
         {lines}"
    )
}

/// The lines of a description behind `t=`.
pub fn streams(text: &str) -> String {
    let at = text.find("m=").unwrap_or(text.len());
    text[at..].replace("\r\n", "\n")
}

/// The version in `o=`.
pub fn version(text: &str) -> u64 {
    let origin = text.lines().find(|line| line.starts_with("o=")).expect("an origin");
    origin.split(' ').nth(2).expect("a version").parse().expect("a number")
}

pub const PHONE: &str = "
m=audio 4000 RTP/AVP 0 8 101
a=rtpmap:0 PCMU/8000
a=rtpmap:8 PCMA/8000
a=rtpmap:101 telephone-event/8000
a=fmtp:101 0-16
a=ptime:20
";
