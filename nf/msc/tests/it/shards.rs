//! A controller on one shard or several: what they hand to each other arrives at once and in order,
//! or comes back.

use super::keyed::{BROWSER, browser, talk};
use super::seeds::below;
use super::*;
use dtls::{Handshake, In as Told, Role};
use machine::Machine as _;
use media::program::Guard as FlowGuard;
use msc::{Shard, State};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use runtime::{AskError, Mirrored};
use srtp::Suite;
use srtp::dtls::{Description, Role as SrtpRole};
use std::collections::VecDeque;

/// Pieces of work that one event may lead to, at most.
const WORKS_MAX: usize = 100_000;

/// As many shards as its section says.
pub(super) struct Shards {
    all: Vec<Shard>,
    settings: Arc<Settings>,
    /// Those that take no work.
    pub full: BTreeSet<u16>,
    /// From, to, whether it came back, and what.
    works: VecDeque<(u16, u16, bool, Vec<u8>)>,
    lives: u8,
}

impl Shards {
    pub fn new(settings: Arc<Settings>, random: [u8; 32], now: Time) -> Self {
        let (full, works) = (BTreeSet::new(), VecDeque::new());
        let count = settings.msc.shards;
        let mut it = Self { all: Vec::new(), settings, full, works, lives: 0 };
        it.all = (0..count).map(|shard| it.born(random, now, shard)).collect();
        it
    }

    fn born(&self, mut random: [u8; 32], now: Time, shard: u16) -> Shard {
        random[31] ^= shard as u8 ^ self.lives;
        let seed = Seed { shard, shards: self.settings.msc.shards, random, now };
        Shard::new(seed, Arc::clone(&self.settings))
    }

    /// A further shard dies, and its function is made anew.
    pub fn anew(&mut self, now: Time, shard: u16, out: &mut Effects) {
        self.lives += 1;
        self.all[usize::from(shard)] = self.born([self.lives; 32], now, shard);
        self.all[usize::from(shard)].tick(now, out);
        self.work(now, shard, out);
    }

    pub fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        self.all[0].step(now, input, out);
        self.work(now, 0, out);
    }

    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        for shard in 0..self.settings.msc.shards {
            self.all[usize::from(shard)].tick(now, out);
            self.work(now, shard, out);
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.all.iter().filter_map(Shard::deadline).min()
    }

    pub fn configure(&mut self, now: Time, settings: Arc<Settings>, out: &mut Effects) {
        for shard in 0..self.settings.msc.shards {
            self.all[usize::from(shard)].configure(now, Arc::clone(&settings), out);
            self.work(now, shard, out);
        }
        self.settings = settings;
    }

    /// What a pair wants. Changes come from the first shard, and are for the first.
    pub fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        let is_of_one = matches!(input, Mirrored::Delta(_));
        for shard in (1..self.settings.msc.shards).filter(|_| !is_of_one) {
            let mut own = Effects::default();
            self.all[usize::from(shard)].replicate(now, input, &mut own);
            assert_eq!(own.deltas().count(), 0, "a further shard has nothing to tell");
            let is_asked = matches!(input, Mirrored::Snapshot(_));
            assert_eq!(own.snapshot_ended.is_some(), is_asked);
        }
        self.all[0].replicate(now, input, out);
        self.work(now, 0, out);
    }

    /// Asks all of them, as the runtime does: rows are joined.
    pub fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        let mut joined = self.all[0].ask(now, ask, out)?;
        for it in &mut self.all[1..] {
            match (it.ask(now, ask, out), &mut joined) {
                (Ok(serde_json::Value::Array(more)), serde_json::Value::Array(all)) => {
                    all.extend(more);
                }
                (Err(AskError::NotFound(_)), _) => {}
                (other, _) => panic!("{other:?}"),
            }
        }
        self.work(now, 0, out);
        Ok(joined)
    }

    pub fn state(&self) -> State<'_> {
        let Shard::First(first) = &self.all[0] else { panic!("the first one") };
        first.state()
    }

    /// What that shard has handed over, and what follows.
    fn work(&mut self, now: Time, shard: u16, out: &mut Effects) {
        self.take_hands(shard, out);
        for _ in 0..WORKS_MAX {
            let Some((from, to, came_back, work)) = self.works.pop_front() else { return };
            let (at, input) = match came_back {
                true => (from, In::HandedBack { to, work: &work }),
                false => (to, In::Work { from, work: &work }),
            };
            self.all[usize::from(at)].step(now, input, out);
            self.take_hands(at, out);
        }
        panic!("shards keep each other busy");
    }

    fn take_hands(&mut self, from: u16, out: &mut Effects) {
        for (to, work) in out.handed_work() {
            self.works.push_back((from, to, self.full.contains(&to), work.to_vec()));
        }
        out.clear_handed_work();
    }
}

/// The section on so many shards.
pub(super) fn site(shards: u16) -> String {
    format!("shards = {shards}\n{SITE}")
}

/// A call whose A is a browser.
struct Call {
    number: u64,
    generation: u32,
    stream: Stream,
    /// The browser's certificate, and what its description says of it.
    certificate: (dtls::Settings, Description),
    /// What it agreed on.
    keys: Option<dtls::Keys>,
    /// It has begun a handshake.
    has_begun: bool,
}

impl Call {
    fn described(&mut self) {
        let peer = Box::new(self.certificate.1.clone());
        self.stream.ends[0].guard = Guard::Dtls { peer, role: SrtpRole::Server };
        (self.keys, self.has_begun) = (None, false);
        self.generation += 1;
    }
}

struct Calls {
    world: World,
    random: ChaCha8Rng,
    shards: u16,
    all: Vec<Call>,
}

impl Calls {
    fn new(shards: u16, seed: u64) -> Self {
        let mut world = World::adopted(&site(shards));
        world.opens();
        world.greets(1, "ssc1", 7);
        let block = world.leases(1, "access", 32)[0];
        let all = (0..6).map(|number| {
            let mut stream = stream(at(block, 2 * number), at(block, 2 * number + 1));
            stream.ends[0].rtcp = Rtcp::Mux;
            let (number, certificate) = (number.into(), browser());
            let (keys, has_begun) = (None, false);
            let mut it = Call { number, generation: 0, stream, certificate, keys, has_begun };
            it.described();
            world.puts(1, it.number, it.generation, &it.stream);
            it
        });
        let all = all.collect();
        Self { world, random: ChaCha8Rng::seed_from_u64(seed), shards, all }
    }

    /// The browser of a call, or a stranger, talks with its port.
    fn talks(&mut self, at: usize, is_stranger: bool) {
        let it = &self.all[at];
        let certificate = if is_stranger { browser().0 } else { it.certificate.0.clone() };
        let local = it.stream.ends[0].local;
        let mut peer = Handshake::new(&certificate, Role::Client, self.world.now);
        peer.step(self.world.now, Told::Expect(Box::new(|_| true)), &mut Vec::new());
        let keys = talk(&mut self.world, &mut peer, BROWSER, local);
        let it = &mut self.all[at];
        if !is_stranger {
            it.has_begun = true;
            it.keys = keys.or(it.keys.take());
        }
    }

    fn round(&mut self) {
        let at = below(&mut self.random, self.all.len());
        let shard = below(&mut self.random, self.shards.into()) as u16;
        match below(&mut self.random, 8) {
            0 => self.talks(at, true),
            1 => {
                // Another certificate.
                let it = &mut self.all[at];
                it.certificate = browser();
                it.described();
                self.world.puts(1, it.number, it.generation, &it.stream);
            }
            2 => {
                // The port is another call's.
                let it = &mut self.all[at];
                self.world.removes(1, it.number, it.generation);
                it.number += 100;
                it.certificate = browser();
                it.described();
                self.world.puts(1, it.number, it.generation, &it.stream);
            }
            3 if shard > 0 => {
                let World { msc, now, out, .. } = &mut self.world;
                msc.anew(*now, shard, out);
                self.world.settle();
            }
            4 if self.shards > 1 => {
                self.world.msc.full.insert(shard);
                self.talks(at, false);
            }
            _ => self.talks(at, false),
        }
        // Whoever was crowded has time again, and what it was owed.
        self.world.msc.full.clear();
        self.world.passes(1);
    }

    fn holds(&self, seed: u64) {
        for it in &self.all {
            let port = it.stream.ends[0].local.port;
            let flow = self.world.plane.flows().into_iter().find(|flow| flow.at.port == port);
            let guard = flow.expect("it stands").guard;
            let case = format!("call {} on {} shards, seed {seed}", it.number, self.shards);
            match (&it.keys, guard) {
                (Some(keys), FlowGuard::Keys { receive, send }) => {
                    let suite = Suite::of_profile(keys.profile).expect("a suite");
                    let own = srtp::dtls::Keys::of(suite, &keys.material, SrtpRole::Client);
                    let own = own.expect("they fit");
                    assert!(receive.entries[0].key == own.ours, "{case}");
                    assert!(send.entries[0].key == own.theirs, "{case}");
                }
                (Some(_), other) => panic!("{other:?}: {case}"),
                (None, FlowGuard::Keys { .. }) => assert!(it.has_begun, "whose are they: {case}"),
                (None, _) => {}
            }
        }
    }
}

#[test]
fn keys_are_of_who_is_described_whatever_becomes_of_shards() {
    for (shards, seed) in [1, 2, 4].into_iter().flat_map(|it| (0..2).map(move |n| (it, n))) {
        let mut calls = Calls::new(shards, seed);
        for _ in 0..12 {
            calls.round();
            calls.holds(seed);
        }
        for at in 0..calls.all.len() {
            calls.talks(at, false);
            assert!(calls.all[at].keys.is_some(), "seed {seed}, {shards} shards");
        }
        calls.holds(seed);
        let rows = calls.world.asks("media/handshakes", &[]);
        assert_eq!(rows.as_array().map(Vec::len), Some(usize::from(shards)));
    }
}

#[test]
fn handshakes_are_dealt_to_all_further_shards_and_forgotten_with_their_ports() {
    let mut calls = Calls::new(4, 1);
    (0..3).for_each(|at| calls.talks(at, false));
    let under_way = |calls: &mut Calls| -> Vec<u64> {
        let rows = calls.world.asks("media/handshakes", &[]);
        let rows = rows.as_array().expect("rows").iter();
        rows.map(|row| row["handshakes"].as_u64().expect("a number")).collect()
    };
    assert_eq!(under_way(&mut calls), [0, 1, 1, 1]);
    for it in &calls.all {
        calls.world.removes(1, it.number, it.generation);
    }
    assert_eq!(under_way(&mut calls), [0; 4]);
}

#[test]
fn more_cores_than_shards_and_too_many_shards_are_refused() {
    let issues = |text: &str| {
        let msc: Msc = toml::from_str(&format!("{text}\n{SITE}")).expect("a section");
        let mut issues = Vec::new();
        msc.validate(&mut issues);
        issues.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    assert_eq!(issues("shards = 0"), ["shards"]);
    assert_eq!(issues("shards = 17"), ["shards"]);
    assert_eq!(issues("shards = 2\ncores = [0, 1, 2]"), ["cores"]);
    assert_eq!(issues("shards = 2\ncores = [0, 1]"), Vec::<String>::new());
}
