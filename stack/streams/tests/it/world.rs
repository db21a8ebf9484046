//! Two sides, a link between them, and time.

use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use streams::{Arrived, Ends, Event, Streams, Terms, write};

pub const PORT: u16 = 179;
pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
pub const HERE6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
pub const THERE6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2));
const TABLE: u32 = 7;
const DELAY: Duration = Duration::from_millis(2);

pub fn open() -> Terms {
    Terms { hop_limit: 255, hop_limit_min: 0, key: None }
}

pub struct World {
    pub now: Time,
    pub ends: [Streams<u32>; 2],
    pub told: [Vec<Event<u32>>; 2],
    pub sent: [usize; 2],
    /// What the second side demands.
    pub terms: Terms,
    /// The first side hears nothing.
    pub is_deaf: bool,
    flying: VecDeque<(Time, usize, Vec<u8>)>,
    random: ChaCha8Rng,
    loss: u64,
    accepted: u32,
}

impl World {
    pub fn new(seed: u64, loss: u64) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            ends: [Streams::new(seed, 100), Streams::new(seed ^ 99, 100)],
            told: [Vec::new(), Vec::new()],
            sent: [0; 2],
            terms: open(),
            is_deaf: false,
            flying: VecDeque::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
            loss,
            accepted: 0,
        }
    }

    pub fn open(&mut self, id: u32, from: IpAddr, to: IpAddr, terms: Terms) {
        self.ends[0].open(self.now, id, (TABLE, from), SocketAddr::new(to, PORT), terms);
    }

    /// A side knows nothing any more.
    pub fn restart(&mut self, side: usize) {
        self.ends[side] = Streams::new(1_234, 100);
    }

    fn take(&mut self, side: usize) {
        let (now, loss) = (self.now, self.loss);
        let (flying, random, sent) = (&mut self.flying, &mut self.random, &mut self.sent[side]);
        let events = self.ends[side].take(now, |to, segment| {
            *sent += 1;
            assert_eq!(to.ends.table, TABLE);
            write(to, segment, |header, part| {
                if random.next_u64() % 1_000 >= loss {
                    flying.push_back((now + DELAY, 1 - side, [header, part].concat()));
                }
            });
        });
        self.told[side].extend(events);
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            (0..2).for_each(|side| self.take(side));
            let arrives = self.flying.front().map(|it| it.0);
            let deadlines = self.ends.iter().filter_map(Streams::deadline);
            let next = deadlines.chain(arrives).min();
            let Some(next) = next.filter(|it| *it <= end) else { break };
            self.now = self.now.max(next);
            while let Some((_, side, packet)) =
                self.flying.front().filter(|it| it.0 <= self.now).cloned()
            {
                self.flying.pop_front();
                self.arrive(side, &packet);
            }
            let now = self.now;
            self.ends.iter_mut().for_each(|it| it.tick(now));
        }
        self.now = end;
    }

    fn arrive(&mut self, side: usize, packet: &[u8]) {
        if side == 0 && self.is_deaf {
            return;
        }
        let it = Arrived::read(TABLE, packet).expect("it was written whole");
        let mut cut = packet.to_vec();
        cut.pop();
        assert!(Arrived::read(TABLE, &cut).is_none());
        let (terms, accepted) = (self.terms.clone(), &mut self.accepted);
        let may = |ends: &Ends| {
            (side == 1 && ends.own.port() == PORT).then(|| {
                *accepted += 1;
                (*accepted, terms)
            })
        };
        self.ends[side].arrived(self.now, &it, may);
    }
}
