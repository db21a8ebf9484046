//! Worlds by seed: two nodes of a pair with a disk each, which is slow, fails or is full, a link
//! that is slow or cut, and deaths at any step. What was answered stands wherever the rows are
//! served next.

use crate::embedded::Embedded;
use crate::journal::Journal;
use crate::pair::CHANGE_MAX;
use crate::record::Record;
use crate::words::{
    LOG, OPENED, ROW, SNAPSHOT, STOOD, SYNC_NOW, SYNC_SOON, SYNCED, TERM, WHOLE, Words, number,
    number_of, word,
};
use crate::{Answer, Limits, Promise, Question};
use machine::{Duration, Time};
use runtime::{ChannelEvent, ChannelOrder, Effects, In, Mirrored, PortId, Term};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

const PORT: PortId = PortId(1);
const LIMITS: Limits = Limits { rows_max: 4_000, octets_max: 8 << 20 };
const STEPS: usize = 400;
const KEYS: u64 = 40;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Numbers from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % most
    }

    fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }
}

/// What outlives a process: records of a snapshot, and of logs.
#[derive(Default)]
struct Disk {
    snapshot: Vec<Vec<u8>>,
    log: Vec<Vec<u8>>,
    /// A snapshot that is being written, and where in the log it begins.
    part: Option<(Vec<Vec<u8>>, usize)>,
    /// Words that wait: the disk is slow.
    waiting: VecDeque<u8>,
    mark: Option<u64>,
    term: Option<Term>,
}

impl Disk {
    /// All that waits is written; what is said to that.
    fn works(&mut self) -> Vec<u8> {
        let octets: Vec<u8> = self.waiting.drain(..).collect();
        for (letter, content) in Words(&octets) {
            match letter {
                LOG => self.log.push(content.to_vec()),
                SYNC_NOW | SYNC_SOON => self.mark = Some(number_of(content)),
                TERM => {
                    let epoch = number_of(&content[..8]);
                    self.term = Some(Term { epoch, served: content[8] == 1 });
                }
                SNAPSHOT => self.part = Some((Vec::new(), self.log.len())),
                ROW => self.part.as_mut().expect("it began").0.push(content.to_vec()),
                WHOLE => {
                    let (rows, from) = self.part.take().expect("it began");
                    (self.snapshot, self.log) = (rows, self.log.split_off(from));
                }
                _ => {}
            }
        }
        let mut said = Vec::new();
        self.mark.take().into_iter().for_each(|it| number(&mut said, SYNCED, it));
        said
    }

    /// What stands, as it is told to whoever opens it.
    fn opened(&mut self) -> Vec<u8> {
        (self.part, self.mark) = (None, None);
        self.waiting.clear();
        let mut said = Vec::new();
        for record in self.snapshot.iter().chain(&self.log) {
            word(&mut said, STOOD, |out| out.extend_from_slice(record));
        }
        number(&mut said, OPENED, 0);
        said
    }
}

/// What passes between the nodes, in its order.
enum LinkMessage {
    Forget,
    Delta(Vec<u8>),
    Mark(u64),
}

struct Node {
    store: Option<Embedded>,
    disk: Disk,
    is_open: bool,
    /// What the disk says next.
    says: Vec<u8>,
}

impl Node {
    fn new() -> Self {
        Self { store: None, disk: Disk::default(), is_open: false, says: Vec::new() }
    }

    fn start(&mut self, now: Time) {
        let journal = Journal { directory: PathBuf::from("/nowhere") };
        let mut store = Embedded::new(LIMITS, Some(Arc::new(journal)), PORT, now);
        store.mirrored(now, Mirrored::Deactivate);
        self.store = Some(store);
        (self.is_open, self.says) = (false, Vec::new());
    }

    fn rows(&self, now: Time) -> Rows {
        let store = self.store.as_ref().expect("it lives");
        store.beginning(now, b"").map(|it| (it.0.to_vec(), it.1.to_vec())).collect()
    }
}

struct World {
    now: Time,
    draw: Draw,
    nodes: [Node; 2],
    /// Who serves, and whether the other one has all of it.
    active: usize,
    is_whole: bool,
    flying: VecDeque<LinkMessage>,
    is_cut: bool,
    snapshots: u64,
    epoch: u64,
    tickets: u64,
    /// What was asked, by its ticket.
    asked: BTreeMap<u64, (Vec<u8>, Vec<u8>)>,
    /// What stands at the node that serves, as far as anybody outside can know.
    left: Rows,
    /// Rows that were promised to the disk and answered, and not touched since.
    kept: Rows,
    /// Keys of which a later row was refused: until the journal is opened again it may have that
    /// one in the place of the one before.
    doubtful: BTreeSet<Vec<u8>>,
    seed: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let now = Time::from_millis(1_000);
        let mut world = Self {
            now,
            draw: Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            nodes: [Node::new(), Node::new()],
            active: 0,
            is_whole: false,
            flying: VecDeque::new(),
            is_cut: false,
            snapshots: 0,
            epoch: 0,
            tickets: 0,
            asked: BTreeMap::new(),
            left: Rows::new(),
            kept: Rows::new(),
            doubtful: BTreeSet::new(),
            seed,
        };
        world.nodes.iter_mut().for_each(|it| it.start(now));
        world.serves(0);
        world.follows();
        world
    }

    fn store(&mut self, node: usize) -> Option<&mut Embedded> {
        self.nodes[node].store.as_mut()
    }

    fn mirrored(&mut self, node: usize, input: Mirrored<'_>) {
        let now = self.now;
        self.store(node).into_iter().for_each(|it| it.mirrored(now, input));
    }

    fn serves(&mut self, node: usize) {
        self.active = node;
        self.is_whole = false;
        self.flying.clear();
        self.epoch += 1;
        // A pair may say so before.
        self.snapshots += 1;
        self.mirrored(node, Mirrored::Snapshot(self.snapshots));
        self.mirrored(node, Mirrored::Activate { is_current: true });
        self.mirrored(node, Mirrored::Term(Term { epoch: self.epoch, served: true }));
        self.mirrored(node, Mirrored::Followed(None));
        self.flush(node);
    }

    /// The other node is told everything anew.
    fn follows(&mut self) {
        self.flying.clear();
        self.flying.push_back(LinkMessage::Forget);
        self.snapshots += 1;
        self.is_whole = false;
        self.mirrored(self.active, Mirrored::Snapshot(self.snapshots));
        self.flush(self.active);
    }

    /// What every step of a node ends with.
    fn flush(&mut self, node: usize) {
        let (now, mut out) = (self.now, Effects::default());
        let Some(store) = self.store(node) else { return };
        store.flush(now, &mut out);
        if node == self.active {
            let deltas = out.deltas().map(|it| LinkMessage::Delta(it.to_vec())).collect::<Vec<_>>();
            self.flying.extend(deltas);
            self.flying.extend(out.marked().map(LinkMessage::Mark));
            self.left = self.nodes[node].rows(now);
        }
        let it = &mut self.nodes[node];
        for (_, order) in out.channels.drain(..) {
            match order {
                ChannelOrder::Connect(_) => {
                    it.is_open = true;
                    it.says = it.disk.opened();
                }
                ChannelOrder::Write(octets) if it.is_open => it.disk.waiting.extend(octets),
                ChannelOrder::Write(_) | ChannelOrder::Send(_) => {}
                ChannelOrder::HangUp => it.is_open = false,
            }
        }
        if node == self.active {
            self.answered();
        }
    }

    /// Answers leave behind what was told of them.
    fn answered(&mut self) {
        while let Some((ticket, answer)) = self.store(self.active).and_then(Embedded::answer) {
            let Some((key, row)) = self.asked.remove(&ticket) else { continue };
            if answer == Answer::Failed {
                self.doubtful.insert(key);
            } else {
                // Another one may have been asked for in its place by now.
                let is_last = self.left.get(&key) == Some(&row) && !self.doubtful.contains(&key);
                is_last.then(|| self.kept.insert(key, row));
            }
        }
    }

    fn asks(&mut self) {
        let (now, key) = (self.now, self.draw.below(KEYS).to_be_bytes().to_vec());
        self.tickets += 1;
        let ticket = self.tickets;
        self.kept.remove(&key);
        self.doubtful.remove(&key);
        let question = match self.draw.below(4) {
            0 => Question::Take(key),
            n => {
                let row = ticket.to_be_bytes().to_vec();
                let promise = if n == 1 { Promise::Memory } else { Promise::Disk };
                if promise == Promise::Disk {
                    self.asked.insert(ticket, (key.clone(), row.clone()));
                }
                Question::Put { key, row, until: now + Duration::from_secs(9_000), promise }
            }
        };
        self.store(self.active).expect("it serves").ask(now, ticket, question);
        if !self.draw.one_in(40) {
            self.flush(self.active);
        } // Else it may die before anything of it has left.
    }

    fn disk(&mut self, node: usize) {
        let (now, fails) = (self.now, self.draw.one_in(15));
        let it = &mut self.nodes[node];
        if !it.is_open {
            return;
        }
        let Some(store) = it.store.as_mut() else { return };
        let event = |store: &mut Embedded, event| {
            store.takes(now, &In::Channel { port: PORT, event });
        };
        if fails {
            it.is_open = false;
            event(store, ChannelEvent::Down("it is full"));
        } else {
            let mut said = std::mem::take(&mut it.says);
            said.extend(it.disk.works());
            event(store, ChannelEvent::Message(&said));
        }
        self.flush(node);
    }

    /// The other node hears some of what it was told.
    fn link(&mut self, most: usize) {
        let standby = 1 - self.active;
        for _ in 0..most {
            if self.is_cut || self.nodes[standby].store.is_none() {
                return;
            }
            match self.flying.pop_front() {
                None => return,
                Some(LinkMessage::Forget) => self.mirrored(standby, Mirrored::Forget),
                Some(LinkMessage::Delta(delta)) => {
                    let is_whole = delta == b"w";
                    self.is_whole |= is_whole;
                    self.mirrored(standby, Mirrored::Delta(&delta));
                    let term = Term { epoch: self.epoch, served: false };
                    is_whole.then(|| self.mirrored(standby, Mirrored::Term(term)));
                }
                Some(LinkMessage::Mark(mark)) => {
                    self.mirrored(self.active, Mirrored::Followed(Some(mark)));
                    self.flush(self.active);
                }
            }
            self.flush(standby);
        }
    }

    fn passes(&mut self, time: Duration) {
        self.now += time;
        for node in [0, 1] {
            let now = self.now;
            let Some(store) = self.store(node) else { continue };
            if store.deadline().is_some_and(|it| it <= now) {
                store.tick(now);
            }
            self.flush(node);
        }
    }

    /// A process dies. What it told is with the kernel; what it has written is, too.
    fn dies(&mut self, node: usize) {
        let torn = self.draw.one_in(3);
        let it = &mut self.nodes[node];
        it.store = None;
        it.is_open = false;
        // A record is written whole, or the start does not read it.
        if !torn {
            it.disk.works();
        }
    }

    /// The active node dies, and the other one has everything: it serves.
    fn takes_over(&mut self) {
        let (dead, heir) = (self.active, 1 - self.active);
        self.dies(dead);
        self.link(usize::MAX);
        let (now, left) = (self.now, self.left.clone());
        assert_eq!(self.nodes[heir].rows(now), left, "seed {}", self.seed);
        self.asked.clear();
        self.serves(heir);
        self.nodes[dead].start(now);
        self.follows();
    }

    /// All die: the one whose disk has the latest state begins with it.
    fn all_die(&mut self) {
        [0, 1].into_iter().for_each(|it| self.dies(it));
        self.asked.clear();
        let now = self.now;
        let last = usize::from(self.nodes[1].disk.term > self.nodes[0].disk.term);
        self.nodes[last].start(now);
        self.is_cut = false;
        self.serves(last);
        for _ in 0..8 {
            self.disk(last);
            self.passes(Duration::from_secs(6));
        }
        let stands = self.nodes[last].rows(now);
        for (key, row) in &self.kept {
            assert_eq!(stands.get(key), Some(row), "seed {}", self.seed);
        }
        self.left = stands;
        self.nodes[1 - last].start(now);
        self.follows();
    }

    fn step(&mut self) {
        let standby = 1 - self.active;
        match self.draw.below(40) {
            0 => self.is_cut = true,
            1 | 2 if self.is_cut => {
                // What was on its way is lost with the stream.
                self.is_cut = false;
                self.mirrored(self.active, Mirrored::Followed(None));
                self.follows();
            }
            3 if self.is_whole && !self.is_cut => self.takes_over(),
            4 => {
                self.dies(standby);
                self.nodes[standby].start(self.now);
                self.follows();
            }
            5 if self.draw.one_in(4) => self.all_die(),
            6..=14 => {
                let most = 1 + self.draw.below(9);
                self.link(usize::try_from(most).expect("it is small"));
            }
            15..=20 => {
                let node = usize::try_from(self.draw.below(2)).expect("it is small");
                self.disk(node);
            }
            21..=24 => {
                let ms = self.draw.below(400);
                self.passes(Duration::from_millis(ms));
            }
            _ => self.asks(),
        }
    }
}

#[test]
fn what_was_answered_stands_wherever_rows_are_served_next() {
    let seeds = std::env::var("SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(300);
    let (mut takeovers, mut answered) = (0, BTreeSet::new());
    for seed in 1..=seeds {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            let before = world.active;
            world.step();
            takeovers += u64::from(before != world.active);
            answered.extend(world.kept.keys().cloned());
        }
        // When nothing more happens, the other node has the same rows, in memory and on disk.
        world.is_cut = false;
        world.follows();
        for _ in 0..40 {
            world.passes(Duration::from_secs(6));
            world.link(usize::MAX);
            [0, 1].into_iter().for_each(|it| world.disk(it));
        }
        let rows = [0, 1].map(|it| world.nodes[it].rows(world.now));
        assert_eq!(rows[0], rows[1], "seed {seed}");
    }
    assert!(takeovers > seeds && !answered.is_empty(), "{takeovers} takeovers");
}

#[test]
fn what_another_version_tells_is_refused_in_words() {
    let mut node = Node::new();
    let now = Time::from_millis(1_000);
    node.start(now);
    let store = node.store.as_mut().expect("it lives");
    let mut told = Vec::new();
    let until = Time::from_millis(9_000);
    Record::Put { key: b"a", row: b"1", until }.write_body(&mut told);
    for version in [0, 9] {
        store.mirrored(now, Mirrored::Forget);
        store.mirrored(now, Mirrored::Delta(&[b'v', version]));
        store.mirrored(now, Mirrored::Delta(&told));
        store.mirrored(now, Mirrored::Delta(b"w"));
        let status = store.status();
        let why = status.pair.and_then(|it| it.trouble).expect("it says why");
        assert!(why.contains(&format!("version {version}")), "{why}");
        assert_eq!(status.rows, 0);
        let mut out = Effects::default();
        store.flush(now, &mut out);
        let wants = [out.is_unreadable(), out.is_unreadable(), out.asks_for_all()];
        assert_eq!(wants, [true, false, false], "the other node hears it, once");
    }
    store.mirrored(now, Mirrored::Forget);
    store.mirrored(now, Mirrored::Delta(b"v\x01"));
    store.mirrored(now, Mirrored::Delta(&told));
    let status = store.status();
    assert_eq!((status.rows, status.pair.and_then(|it| it.trouble)), (1, None));
}

#[test]
fn a_snapshot_has_every_row_however_long_its_neighbours_are() {
    let mut world = World::new(1);
    for _ in 0..8 {
        [0, 1].into_iter().for_each(|it| world.disk(it));
        world.passes(Duration::from_secs(6));
    }
    let until = world.now + Duration::from_secs(900);
    let longest = CHANGE_MAX - 1;
    let mut draw = Draw(7);
    for n in 0..60_u8 {
        let octets = match n % 4 {
            0 => usize::try_from(draw.below(1_200)).expect("it is small"),
            1 => longest - usize::try_from(draw.below(60)).expect("it is small"),
            2 => 1_000,
            _ => longest,
        };
        let question =
            Question::Put { key: vec![n], row: vec![n; octets], until, promise: Promise::Memory };
        let now = world.now;
        world.store(0).expect("it lives").ask(now, n.into(), question);
    }
    let question = Question::Put {
        key: vec![200],
        row: vec![0; longest + 1],
        until,
        promise: Promise::Memory,
    };
    let now = world.now;
    world.store(0).expect("it lives").ask(now, 200, question);
    world.flush(0);
    world.follows();
    for _ in 0..60 {
        world.passes(Duration::from_millis(1));
        let is_told = |it: &LinkMessage| match it {
            LinkMessage::Delta(delta) => delta.len() <= 60_000,
            LinkMessage::Forget | LinkMessage::Mark(_) => true,
        };
        assert!(world.flying.iter().all(is_told), "the link leaves out what is longer");
        world.link(usize::MAX);
    }
    assert!(world.is_whole);
    let rows = [0, 1].map(|it| world.nodes[it].rows(now));
    assert_eq!((rows[0].len(), rows[0] == rows[1]), (60, true));
}
