//! Keys that come back, as often as they like, find all that left under them.

use super::*;
use core::net::Ipv4Addr;
use srtp::{MasterKey, Mki, Parameters, SKIP_MAX, Suite};
use std::sync::Arc;

const SUITE: Suite = Suite::AesCm128HmacSha1_80;

fn at(port: u16) -> Place {
    Place { vrf: 0, address: Ipv4Addr::LOCALHOST.into(), port }
}

/// Keys of these numbers, with identifiers where there are several.
fn keys(numbers: &[u16]) -> Keys {
    let entry = |number: &u16| {
        let octets: Vec<u8> = number.to_be_bytes().into_iter().cycle().take(30).collect();
        let entry = KeyEntry::alone(MasterKey::of(SUITE, &octets).unwrap());
        let mki = if numbers.len() > 1 { Mki::new(u64::from(*number), 2) } else { None };
        KeyEntry { mki, ..entry }
    };
    Keys { parameters: Parameters::of(SUITE), entries: numbers.iter().map(entry).collect() }
}

/// Senders at a time, each flow with what it has.
struct World {
    senders: Senders,
    table: Arc<Table>,
    now: Time,
    flows: BTreeMap<u16, u32>,
}

impl World {
    fn new() -> Self {
        let (senders, table) = (Senders::default(), Table::new());
        Self { senders, table, now: Time::from_millis(1), flows: BTreeMap::new() }
    }

    fn resumes(
        &mut self,
        port: u16,
        numbers: &[u16],
        resume: Option<&Snapshot>,
    ) -> Result<(), Refused> {
        let before = self.flows.get(&port).copied();
        let keys = &keys(numbers);
        let wanted = Wanted { at: at(port), keys, before, resume, follows: false };
        let number = self.senders.take(&self.table, wanted, self.now)?;
        if let Some(before) = before.filter(|it| *it != number) {
            self.senders.give_back(&self.table, before, &at(port), self.now);
        }
        self.flows.insert(port, number);
        Ok(())
    }

    fn says(&mut self, port: u16, numbers: &[u16]) -> Result<(), Refused> {
        self.resumes(port, numbers, None)
    }

    fn ends(&mut self, port: u16) {
        let number = self.flows.remove(&port).unwrap();
        self.senders.give_back(&self.table, number, &at(port), self.now);
    }

    /// Whether a packet of this number leaves.
    fn sends(&self, port: u16, sequence: u16) -> bool {
        let mut packet = vec![0x80, 8];
        packet.extend(sequence.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(77_u32.to_be_bytes());
        let length = packet.len();
        packet.resize(length + 64, 0);
        let mut held = self.table.sender(self.flows[&port]).unwrap();
        held.as_mut().unwrap().protect(&mut packet, length).is_ok()
    }

    fn highest(&self, port: u16) -> u64 {
        let held = self.table.sender(self.flows[&port]).unwrap();
        held.as_ref().unwrap().stream(77).unwrap().highest.unwrap().number()
    }
}

#[test]
fn a_key_that_comes_back_a_second_time_goes_on_where_it_was_last() {
    let mut world = World::new();
    for (round, sequence) in [10, 20, 30, 40].into_iter().enumerate() {
        world.says(2, &[1]).unwrap();
        assert!(round == 0 || !world.sends(2, sequence - 10), "it was used");
        assert!(world.sends(2, sequence));
        world.ends(2);
        assert_eq!(world.senders.retired.len(), 1, "one entry a key");
    }
    // Beside another key, too.
    world.says(2, &[2]).unwrap();
    world.says(2, &[1, 2]).unwrap();
    assert!(!world.sends(2, 40) && world.sends(2, 41));
}

#[test]
fn what_is_left_of_a_key_is_no_more_when_it_comes_back() {
    let mut world = World::new();
    let left = |world: &World| {
        let held = world.table.sender(world.flows[&2]).unwrap();
        let sender = held.as_ref().unwrap();
        sender.keys().map(|entry| entry.allowance.rtp).collect::<Vec<_>>()
    };
    let full = Allowance::FULL.rtp;
    for used in [2, 4] {
        world.says(2, &[1]).unwrap();
        assert!(world.sends(2, used) && world.sends(2, used + 1));
        assert_eq!(left(&world), [full - u64::from(used)]);
        world.ends(2);
    }
    // In a flow that goes on with another key, and back.
    world.says(2, &[2]).unwrap();
    assert!(world.sends(2, 10));
    world.says(2, &[2, 3]).unwrap();
    assert_eq!(left(&world), [full - 1, full]);
    world.says(2, &[3]).unwrap();
    world.says(2, &[2, 1]).unwrap();
    assert_eq!(left(&world), [full - 1, full - 4]);
}

#[test]
fn counters_of_a_flow_never_go_back_with_a_key_that_does() {
    let mut world = World::new();
    world.says(2, &[1]).unwrap();
    assert!(world.sends(2, 100));
    world.says(2, &[2]).unwrap();
    assert!(world.sends(2, 900));
    world.says(2, &[1]).unwrap();
    assert!(!world.sends(2, 900), "a standby that knows the flow alone is ahead of both keys");
    assert!(world.sends(2, 901));
}

#[test]
fn no_key_is_forgotten_whose_owner_may_come_back_and_where_there_is_no_room_none_begins() {
    let mut world = World::new();
    world.senders.limits = Limits { kept: 4, keys: 12, of_owner: 3 };
    // A call that goes on, and gave its first key up.
    world.says(2, &[1]).unwrap();
    assert!(world.sends(2, 10));
    world.says(2, &[2]).unwrap();
    assert!(world.sends(2, 11));
    // Other calls come and end, with a key each, until there is no room.
    let mut refused = 0;
    for key in 100..120 {
        match world.says(4, &[key]) {
            Ok(()) => {
                assert!(world.sends(4, 1));
                world.ends(4);
            }
            Err(why) => {
                assert_eq!(why.to_string(), "keys that were given up and may come back: no room");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 10);
    world.says(4, &[100]).unwrap();
    assert!(!world.sends(4, 1), "one that is known comes back");
    world.ends(4);
    world.now += KEEP;
    world.says(4, &[120]).expect("those that are gone so long are forgotten");
    assert_eq!(world.senders.retired.len(), 4);
    world.says(2, &[1]).unwrap();
    assert!(!world.sends(2, 10), "however long its call lasts");
    // A call that changes its keys without end gets no further one.
    for key in 200..203 {
        assert!(world.sends(4, key));
        let _ = world.says(4, &[key]);
    }
    let why = world.says(4, &[300]).unwrap_err();
    assert!(why.to_string().ends_with("no room"), "{why}");
}

#[test]
fn what_is_resumed_is_ahead_even_where_nothing_was_told() {
    let mut world = World::new();
    world.resumes(2, &[1], Some(&Snapshot::default())).unwrap();
    assert!(world.sends(2, 10));
    assert_eq!(world.highest(2), 10 + u64::from(SKIP_MAX));
    world.says(4, &[2]).unwrap();
    assert!(world.sends(4, 10));
    assert_eq!(world.highest(4), 10);
    // Nothing left under a key that was resumed, and still it is not new when it comes back.
    world.resumes(6, &[3], Some(&Snapshot::default())).unwrap();
    world.ends(6);
    world.says(6, &[3]).unwrap();
    assert!(world.sends(6, 10));
    assert_eq!(world.highest(6), 10 + u64::from(SKIP_MAX));
}

#[test]
fn a_forwarder_that_another_one_took_over_from_goes_ahead_of_what_that_one_told() {
    let mut world = World::new();
    world.says(2, &[1]).unwrap();
    assert!(world.sends(2, 10));
    let (streams, past) = {
        let held = world.table.sender(world.flows[&2]).unwrap();
        let sender = held.as_ref().unwrap();
        (sender.streams().collect::<Vec<_>>(), sender.past())
    };
    let mut told = Snapshot { send: streams, past, ..Snapshot::default() };
    world.resumes(2, &[1], Some(&told)).unwrap();
    assert!(world.sends(2, 11));
    assert_eq!(world.highest(2), 11, "it was this one that told");
    told.send[0].highest = srtp::Index::of(5_000);
    world.resumes(2, &[1], Some(&told)).unwrap();
    assert!(world.sends(2, 5_001));
    assert!(world.highest(2) > 5_000 + u64::from(SKIP_MAX));
}

#[test]
fn what_a_sender_must_not_forget_goes_to_the_standby_and_on_from_it() {
    let mut world = World::new();
    world.resumes(2, &[1], Some(&Snapshot::default())).unwrap();
    let past = world.table.sender(world.flows[&2]).unwrap().as_ref().unwrap().past();
    assert!(past.is_some());
    let told = Snapshot { past: past.clone(), ..Snapshot::default() };
    let mut standby = World::new();
    standby.resumes(2, &[1], Some(&told)).unwrap();
    let handed = standby.table.sender(standby.flows[&2]).unwrap().as_ref().unwrap().past();
    assert_eq!(handed, past);
}

#[test]
fn keys_of_a_sender_change_for_its_own_flows_only() {
    let mut world = World::new();
    world.says(2, &[1, 2]).unwrap();
    world.says(3, &[1, 2]).unwrap();
    // RTP and its RTCP change one after the other.
    world.says(2, &[2, 3]).unwrap();
    world.says(3, &[2, 3]).unwrap();
    assert_eq!(world.flows[&2], world.flows[&3]);
    // Another flow may have all of them, and none of its own beside them.
    world.says(8, &[2, 3]).unwrap();
    let why = world.says(9, &[3, 4]).unwrap_err();
    assert_eq!(why.to_string(), "another flow protects with one of the keys, not with all");
    assert!(world.says(2, &[3, 4]).is_err());
    let held = world.table.sender(world.flows[&2]).unwrap();
    assert!(is_of(held.as_ref().unwrap(), &keys(&[2, 3])), "nothing changed");
}
