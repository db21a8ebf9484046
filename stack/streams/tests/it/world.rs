//! Two sides, a link between them, and time.

use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use streams::{Arrived, Ends, Event, Leaving, Refused, Streams, Terms, write};
use tcp::Segment;

pub const PORT: u16 = 179;
pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
pub const HERE6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
pub const THERE6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2));
pub const TABLE: u32 = 7;
/// Connections, and octets that wait, of a side at most.
pub const CONNECTIONS: usize = 100;
pub const WAITING: usize = 1 << 21;
/// Numbers of connections that come follow this one.
pub const ACCEPTED: u32 = 1_000_000;
const DELAY: Duration = Duration::from_millis(2);

pub fn open() -> Terms {
    Terms { hop_limit: 255, hop_limit_min: 0, key: None }
}

/// Few connections, few octets.
fn streams(seed: u64) -> Streams<u32> {
    Streams::new(&u128::from(seed).to_le_bytes(), CONNECTIONS, WAITING)
}

pub struct World {
    pub now: Time,
    pub ends: [Streams<u32>; 2],
    pub told: [Vec<Event<u32>>; 2],
    pub sent: [usize; 2],
    /// Why nothing came of segments that a side got.
    pub refused: [Vec<Refused>; 2],
    /// What the second side demands.
    pub terms: Terms,
    /// The first side hears nothing.
    pub is_deaf: bool,
    /// The last segment that left.
    pub last: Vec<u8>,
    flying: VecDeque<(Time, usize, Vec<u8>)>,
    random: ChaCha8Rng,
    loss: u64,
    accepted: u32,
}

impl World {
    pub fn new(seed: u64, loss: u64) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            ends: [streams(seed), streams(seed ^ 99)],
            told: [Vec::new(), Vec::new()],
            sent: [0; 2],
            refused: [Vec::new(), Vec::new()],
            terms: open(),
            is_deaf: false,
            last: Vec::new(),
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
        self.ends[side] = streams(1_234);
    }

    fn take(&mut self, side: usize) {
        let (now, loss) = (self.now, self.loss);
        let (flying, random, sent) = (&mut self.flying, &mut self.random, &mut self.sent[side]);
        let last = &mut self.last;
        let events = self.ends[side].take(now, |to, segment| {
            *sent += 1;
            segment.clone_into(last);
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
                (*accepted + ACCEPTED, terms)
            })
        };
        self.refused[side].extend(self.ends[side].arrived(self.now, &it, may).err());
    }

    /// A packet of anybody comes to a side.
    pub fn forge(&mut self, side: usize, ends: (SocketAddr, SocketAddr), segment: Segment<'_>) {
        let (source, destination) = (ends.0.port(), ends.1.port());
        let segment = Segment { source, destination, ..segment };
        let mut octets = Vec::new();
        assert!(segment.write((ends.0.ip(), ends.1.ip()), &mut octets));
        let to = Leaving {
            ends: Ends { table: TABLE, own: ends.0, far: ends.1 },
            hop_limit: 255,
            id: 1,
        };
        let mut packet = Vec::new();
        write(&to, &octets, |header, part| packet = [header, part].concat());
        self.arrive(side, &packet);
        self.take(side);
    }
}
