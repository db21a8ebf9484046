//! A media controller that NG drives, for tests.

use anchor::row::Statistics;
use anchor::{Block, Local, Pool};
use core::net::IpAddr;
use core::time::Duration;
use machine::Time;
use ng::bencode::{Value, Writer};
use ng::{Around, Counters, Effect, Engine, World};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use srtp::dtls::{Fingerprint, Hash};
use std::collections::BTreeSet;

pub struct Place {
    pools: [Pool; 4],
    pub taken: BTreeSet<Local>,
    fingerprint: Fingerprint,
}

const ADDRESSES: [&str; 4] = ["127.0.0.1", "::1", "127.0.0.2", "::2"];

impl World for Place {
    fn take(&mut self, interface: Option<&[u8]>, is_v6: bool) -> Option<Local> {
        let at = if interface == Some(b"outside") { 2 } else { 0 } + usize::from(is_v6);
        let local = self.pools[at].take(Time::ZERO)?;
        assert!(self.taken.insert(local));
        Some(local)
    }

    fn give_back(&mut self, local: Local) {
        assert!(self.taken.remove(&local));
    }

    fn address(&self, number: u16) -> IpAddr {
        ADDRESSES[usize::from(number)].parse().expect("an address")
    }

    fn has_interface(&self, name: &[u8]) -> bool {
        matches!(name, b"inside" | b"outside")
    }

    fn fingerprint(&self) -> Option<&Fingerprint> {
        Some(&self.fingerprint)
    }
}

/// So many packets came from A on every stream.
pub struct Counted(pub u64);

impl Counters for Counted {
    fn of(&self, _call: u64, _line: u8) -> [Statistics; 2] {
        let octets = self.0 * 160;
        [Statistics { packets: self.0, octets, ..Statistics::default() }, Statistics::default()]
    }
}

pub struct Controller {
    pub engine: Engine,
    pub place: Place,
    pub effects: Vec<Effect>,
    pub now: Time,
    pub packets: u64,
    random: ChaCha8Rng,
    serial: u32,
}

/// A value of a command.
#[derive(Debug, Clone)]
pub enum Says {
    Text(&'static str),
    Long(String),
    Number(u64),
    List(&'static [&'static str]),
    Lists(&'static [(&'static str, &'static [&'static str])]),
}

fn say(says: &Says, out: &mut Writer<'_>) {
    match says {
        Says::Text(text) => drop(out.text(text.as_bytes())),
        Says::Long(text) => drop(out.text(text.as_bytes())),
        Says::Number(number) => drop(out.number(*number)),
        Says::List(list) => drop(out.list(|out| {
            for word in *list {
                out.text(word.as_bytes());
            }
        })),
        Says::Lists(lists) => drop(out.dictionary(|out| {
            for (name, list) in *lists {
                out.text(name.as_bytes());
                say(&Says::List(list), out);
            }
        })),
    }
}

/// A command as octets.
pub fn write(cookie: &str, entries: &[(&str, Says)]) -> Vec<u8> {
    let mut text = format!("{cookie} ").into_bytes();
    Writer::new(&mut text).dictionary(|out| {
        for (key, says) in entries {
            out.text(key.as_bytes());
            say(says, out);
        }
    });
    text
}

/// A reply.
#[derive(Debug, Clone)]
pub struct Reply(pub Vec<u8>);

impl Reply {
    pub fn text(&self, key: &str) -> Option<String> {
        let at = self.0.iter().position(|octet| *octet == b' ').expect("a cookie") + 1;
        let (value, length) = Value::read(&self.0[at..]).expect("sound").expect("whole");
        assert_eq!(at + length, self.0.len());
        let text = value.at(key)?.text()?;
        Some(String::from_utf8(text.to_vec()).expect("UTF-8"))
    }
}

impl Controller {
    pub fn new() -> Self {
        let pool = |address| {
            let mut pool = Pool::new(Duration::from_secs(1));
            assert!(pool.add(Block { address, first: 30_000, pairs: 2_000 }));
            pool
        };
        Self {
            engine: Engine::new(Time::ZERO, 7),
            place: Place {
                pools: [0, 1, 2, 3].map(pool),
                taken: BTreeSet::new(),
                fingerprint: Fingerprint::of(Hash::Sha256, b"a certificate"),
            },
            effects: Vec::new(),
            now: Time::from_millis(1_000),
            packets: 3,
            random: ChaCha8Rng::seed_from_u64(1),
            serial: 0,
        }
    }

    pub fn take(&mut self, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut fill = |octets: &mut [u8]| self.random.fill_bytes(octets);
        let counters = Counted(self.packets);
        let mut around = Around { world: &mut self.place, counters: &counters, random: &mut fill };
        self.effects.extend(self.engine.take(self.now, message, &mut around, &mut out));
        out
    }

    /// Time passes, a second at a time, in which so many packets come each.
    pub fn pass(&mut self, seconds: u64, packets: u64) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.packets += packets;
            let mut fill = |octets: &mut [u8]| self.random.fill_bytes(octets);
            let counters = Counted(self.packets);
            let mut around =
                Around { world: &mut self.place, counters: &counters, random: &mut fill };
            self.effects.extend(self.engine.tick(self.now, &mut around));
            assert!(self.engine.deadline().is_none_or(|it| it > self.now));
        }
    }

    pub fn ask(&mut self, entries: &[(&str, Says)]) -> Reply {
        self.serial += 1;
        let cookie = format!("c{}", self.serial);
        let text = self.take(&write(&cookie, entries));
        assert!(text.starts_with(format!("{cookie} ").as_bytes()));
        Reply(text)
    }
}
