//! Two nodes of a pair with a peer: whichever dies, and whatever of its telling was on its way, no
//! number leaves twice under one key, and nothing is accepted again that was told as accepted.

use crate::world::{End, IN_UDP, LANES, RAW, Random, agreed, associations};
use esp::Udp;
use ipsec::{Address, BLOCK, Endpoint, Lane, Metric, Settings};
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::Effects;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const SECRET: u64 = 77;
const HEAD: &[u8] = &[4, 4];
/// A node that lacks what was told longer ago does not take over as current.
const FRESH_MAX: Duration = Duration::from_secs(4);

/// What is on its way to the standby.
#[derive(Debug)]
enum Item {
    Delta(Vec<u8>),
    Mark(u64),
}

/// A pair, and the peer of its one set.
struct Pair {
    active: End,
    standby: End,
    peer: End,
    now: Time,
    /// What is on its way to the standby, and since when.
    link: VecDeque<(Time, Item)>,
    /// Numbers that left, by index.
    left: BTreeSet<(u32, u32)>,
    /// Payloads that were accepted, and those of which the standby knows.
    accepted: BTreeSet<u32>,
    known: BTreeSet<u32>,
    /// What the telling on its way will have the standby know, by its place.
    telling: BTreeMap<usize, Vec<u32>>,
    place: usize,
    scratch: Vec<u8>,
    /// Everything that the peer has sent.
    air: Vec<Vec<u8>>,
    sent: u32,
}

fn node(set: Option<Key>, peer: &End) -> End {
    let ip = "192.0.2.2".parse().unwrap();
    let address = Address { ip, raw: RAW, bypass: false, in_udp: Some((IN_UDP, Udp::PORT)) };
    let settings = Settings { addresses: vec![address], sets_max: 8 };
    let endpoint = Endpoint::new(settings, 0, SECRET, Time::ZERO);
    let outside = "192.0.2.2:0".parse().unwrap();
    let mut end =
        End { endpoint, set: Key { index: 0, generation: 0 }, spis: peer.spis, ip, outside };
    if let Some(set) = set {
        end.set = set;
    } else {
        (end.set, end.spis) = end.endpoint.reserve().unwrap();
    }
    end
}

impl Pair {
    fn new() -> Self {
        let mut peer = End::new("192.0.2.1", "192.0.2.1:0", 11);
        let mut active = node(None, &peer);
        agreed(&mut peer, &mut active, false);
        let mut pair = Self {
            standby: node(Some(active.set), &peer),
            active,
            peer,
            now: Time::ZERO,
            link: VecDeque::new(),
            left: BTreeSet::new(),
            accepted: BTreeSet::new(),
            known: BTreeSet::new(),
            telling: BTreeMap::new(),
            place: 0,
            scratch: Vec::new(),
            air: Vec::new(),
            sent: 0,
        };
        pair.standby.spis = pair.active.spis;
        let made = associations(&pair.active, &pair.peer, false, BLOCK);
        assert!(pair.active.endpoint.install(pair.active.set, made));
        pair.active.endpoint.take_over();
        pair.follows();
        pair
    }

    /// The standby is told that the set stands, with its keys.
    fn follows(&mut self) {
        self.link.clear();
        self.telling.clear();
        self.standby.endpoint.clear();
        self.active.endpoint.tell_anew();
        let numbers = self.active.endpoint.numbers(self.active.set).unwrap();
        let made = associations(&self.active, &self.peer, false, BLOCK);
        assert!(self.standby.endpoint.put(self.active.set, made));
        self.standby.endpoint.follow(self.active.set, &numbers);
        (self.standby.set, self.standby.spis) = (self.active.set, self.active.spis);
        self.known.clone_from(&self.accepted);
    }

    /// A step of the active node is over.
    fn tell(&mut self, accepted: Vec<u32>) {
        let mut out = Effects::default();
        self.active.endpoint.tick(self.now);
        self.active.endpoint.tell(HEAD, &mut out, &mut self.scratch);
        for delta in out.deltas() {
            self.link.push_back((self.now, Item::Delta(delta[HEAD.len()..].to_vec())));
        }
        if !accepted.is_empty() {
            self.telling.insert(self.place + self.link.len(), accepted);
        }
        self.link.extend(out.marked().map(|mark| (self.now, Item::Mark(mark))));
    }

    /// The standby hears so much.
    fn hear(&mut self, items: usize) {
        for _ in 0..items {
            let Some((_, item)) = self.link.pop_front() else { return };
            self.place += 1;
            match item {
                Item::Delta(delta) => self.standby.endpoint.apply(&delta),
                Item::Mark(mark) => self.active.endpoint.followed(Some(mark)),
            }
            if let Some(known) = self.telling.remove(&self.place) {
                self.known.extend(known);
            }
        }
    }

    /// The active node sends; whether it could.
    fn send(&mut self, lane: Lane) -> bool {
        let sent = self.active.send(&self.peer, lane, b"OPTIONS");
        let Some((_, octets)) = sent else { return false };
        let word = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().unwrap());
        assert!(self.left.insert((word(0), word(4))), "{:#x} twice: {}", word(0), word(4));
        let came = self.peer.take(Time::ZERO, self.active.outside, false, &octets);
        assert!(came.is_some(), "the peer takes what is new");
        true
    }

    /// The peer sends, or somebody sends again what it has sent.
    fn receive(&mut self, octets: &[u8]) {
        let from = self.peer.outside;
        let came = self.active.take(Time::ZERO, from, false, octets);
        let number = came.map(|(_, payload)| u32::from_be_bytes(payload.try_into().unwrap()));
        if let Some(number) = number {
            assert!(!self.known.contains(&number), "{number} was told as accepted, and is again");
            self.accepted.insert(number);
        }
        self.tell(number.into_iter().collect());
    }

    /// Whether the standby has applied what was told until lately.
    fn is_current(&self) -> bool {
        self.link.front().is_none_or(|(told, _)| self.now < *told + FRESH_MAX)
    }

    /// The active node dies, with what is on its way.
    fn dies(&mut self) {
        self.link.clear();
        self.telling.clear();
        // What it accepted and nobody was told of is not known to have been.
        self.accepted.clone_from(&self.known);
        core::mem::swap(&mut self.active, &mut self.standby);
        self.active.endpoint.take_over();
        self.standby = node(Some(self.active.set), &self.peer);
        self.standby.spis = self.active.spis;
    }
}

#[test]
fn no_number_leaves_twice_and_nothing_told_is_accepted_again_whichever_node_dies() {
    let (mut blocks, mut waited, mut deaths) = (0, 0, 0);
    for seed in 0..24 {
        let mut random = Random(seed * 100_000);
        let mut pair = Pair::new();
        let mut is_cut = false;
        for _ in 0..600 {
            pair.now += Duration::from_millis(random.below(300));
            match random.below(10) {
                0..=3 => {
                    let lane = LANES[random.below(2) as usize];
                    for _ in 0..random.below(1_500) {
                        waited += u32::from(!pair.send(lane));
                    }
                    pair.tell(Vec::new());
                }
                4..=6 => {
                    pair.sent += 1;
                    let payload = pair.sent.to_be_bytes();
                    let to = &pair.active;
                    let (_, octets) = pair.peer.send(to, Lane::First, &payload).unwrap();
                    pair.air.push(octets.clone());
                    pair.receive(&octets);
                    let again = random.below(pair.air.len() as u64) as usize;
                    let octets = pair.air[again].clone();
                    pair.receive(&octets);
                }
                7 | 8 if !is_cut => pair.hear(random.below(30) as usize),
                _ if random.below(6) == 0 => {
                    // Another one begins with other keys: it is another world.
                    if !pair.is_current() {
                        break;
                    }
                    pair.dies();
                    pair.follows();
                    (deaths, is_cut) = (deaths + 1, false);
                }
                _ if random.below(3) == 0 => {
                    is_cut = !is_cut;
                    match is_cut {
                        false => pair.active.endpoint.followed(Some(0)),
                        true if random.below(2) == 0 => pair.active.endpoint.followed(None),
                        true => {}
                    }
                }
                _ => {}
            }
        }
        blocks += pair.active.endpoint.count(Metric::BlocksGranted);
    }
    assert!(blocks > 30 && deaths > 100, "{blocks} blocks at the last nodes, {deaths} died");
    assert!(waited > 0, "some had to wait for the standby");
}

#[test]
fn a_block_is_granted_once_the_standby_knows_it_and_what_leaves_before_is_dropped() {
    let mut pair = Pair::new();
    let block = BLOCK as usize;
    assert!((0..block).all(|_| pair.send(Lane::First)), "the first block is known with the keys");
    assert!(!pair.send(Lane::First));
    assert_eq!(pair.active.endpoint.count(Metric::Unpromised), 1);
    assert!(pair.send(Lane::Second), "each association has its own");
    pair.tell(Vec::new());
    pair.hear(1);
    assert!(!pair.send(Lane::First), "it was told, and nothing says that it was applied");
    pair.hear(9);
    assert!(pair.send(Lane::First));
    // Who takes over begins behind the promise.
    let promised = 2 * BLOCK;
    pair.dies();
    pair.send(Lane::First);
    assert_eq!(pair.left.iter().map(|it| it.1).max(), Some(promised + 1));
}

#[test]
fn a_block_of_which_nobody_says_that_it_was_applied_is_granted_when_who_lacks_it_is_not_current() {
    let mut pair = Pair::new();
    pair.active.endpoint.followed(None);
    assert!((0..BLOCK).all(|_| pair.send(Lane::First)));
    pair.tell(Vec::new());
    assert!(!pair.send(Lane::First));
    while pair.is_current() {
        pair.tell(Vec::new());
        assert!(!pair.send(Lane::First), "{:?}", pair.now);
        pair.now += Duration::from_millis(100);
    }
    pair.now += Duration::from_secs(1);
    pair.tell(Vec::new());
    assert!(pair.send(Lane::First));
}
