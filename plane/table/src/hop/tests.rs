//! What holds of hops, groups, pushes and pairs.

use super::*;
use crate::epoch::Reader;

struct World {
    hops: Hops,
    lookups: Arc<HopLookups>,
    reader: Reader,
}

fn world() -> World {
    let domain = Domain::new();
    let hops = Hops::new(&domain).unwrap();
    World { lookups: hops.lookups(), reader: domain.reader().unwrap(), hops }
}

fn adjacency(interface: u32) -> Hop {
    let mut ethernet = [interface as u8; 14];
    ethernet[12..].copy_from_slice(&[8, 0]);
    Hop::Line(Line { mtu_bytes: 1500, ..Line::rewriting(9, interface, &ethernet).unwrap() })
}

fn push(over: u32, octets: &[u8]) -> Hop {
    let octets = octets.to_vec();
    Hop::Push(Push { over, octets, ether_type: Some(0x8847), next: None, counter: 5 })
}

fn group(hops: &[u32]) -> Hop {
    Hop::Group(hops.iter().map(|hop| Member { hop: *hop, weight: 1 }).collect())
}

impl World {
    fn add(&mut self, hop: Hop) -> u32 {
        self.hops.add(hop).unwrap()
    }

    fn line(&self, hop: u32, hash: u32) -> Line {
        *self.lookups.resolve(&self.reader, hop, hash)
    }

    /// The interfaces by which 1,024 hashes leave, with their counts.
    fn ways(&self, hop: u32) -> Vec<(u32, usize)> {
        let mut ways = std::collections::BTreeMap::new();
        for hash in 0..1024 {
            *ways.entry(self.line(hop, hash).interface).or_insert(0) += 1;
        }
        ways.into_iter().collect()
    }
}

#[test]
fn a_changed_adjacency_repairs_the_group_and_the_push_over_it() {
    let mut world = world();
    let (a, b) = (world.add(adjacency(1)), world.add(adjacency(2)));
    let both = world.add(group(&[a, b]));
    let vpn = world.add(push(a, &[0, 1, 0x41, 64]));
    assert_eq!(world.ways(both), [(1, 512), (2, 512)]);
    let before = world.line(vpn, 0);
    assert_eq!(before.rewrite()[10..], [1, 1, 0x88, 0x47, 0, 1, 0x41, 64]);
    assert_eq!((before.mtu_bytes, before.next, before.hop, before.counter), (1496, 9, vpn, 5));
    world.hops.change(a, adjacency(7)).unwrap();
    assert_eq!(world.ways(both), [(2, 512), (7, 512)]);
    assert_eq!(world.line(vpn, 0).interface, 7);
    world.hops.change(a, Hop::Line(Line::new(Kind::Glean, 4))).unwrap();
    assert_eq!(world.line(vpn, 0).kind, Kind::Glean);
}

#[test]
fn a_member_that_is_down_is_replaced_and_comes_back_to_its_own() {
    let mut world = world();
    let members: Vec<u32> = (1..=4).map(|at| world.add(adjacency(at))).collect();
    let four = world.add(group(&members));
    let before: Vec<u32> = (0..64).map(|hash| world.line(four, hash).interface).collect();
    world.hops.mark(members[2], false).unwrap();
    for (hash, interface) in before.iter().enumerate() {
        let now = world.line(four, hash as u32).interface;
        assert!(now != 3 && (now == *interface || *interface == 3), "only its own moved");
    }
    for member in &members {
        world.hops.mark(*member, false).unwrap();
    }
    assert_eq!(world.line(four, 1).kind, Kind::Drop);
    assert_eq!(world.line(four, 1).hop, NO_MEMBER);
    assert!(!world.hops.is_up(four));
    world.hops.mark(members[1], true).unwrap();
    assert_eq!(world.ways(four), [(2, 1024)]);
}

#[test]
fn pushes_over_a_group_and_groups_of_them_are_taken_apart() {
    let mut world = world();
    let (a, b, c) = (world.add(adjacency(1)), world.add(adjacency(2)), world.add(adjacency(3)));
    let core = world.add(group(&[a, b]));
    let label = world.add(push(core, &[0, 0, 0x11, 64]));
    let other = world.add(push(c, &[0, 0, 0x21, 64]));
    let vpn = world
        .add(Hop::Group(vec![Member { hop: label, weight: 3 }, Member { hop: other, weight: 1 }]));
    assert_eq!(world.ways(vpn), [(1, 384), (2, 384), (3, 256)]);
    assert_eq!(world.line(label, 0).rewrite()[14..], [0, 0, 0x11, 64]);
    world.hops.mark(a, false).unwrap();
    assert_eq!(world.ways(label), [(2, 1024)]);
    assert_eq!(world.ways(vpn), [(2, 768), (3, 256)]);
    world.hops.change(b, adjacency(5)).unwrap();
    assert_eq!(world.ways(vpn), [(3, 256), (5, 768)]);
    world.hops.change(core, group(&[b, c])).unwrap();
    world.hops.mark(a, true).unwrap();
    assert_eq!(world.ways(label), [(3, 512), (5, 512)]);
    let twice = world.add(push(label, &[0, 0, 0x31, 64]));
    assert_eq!(world.line(twice, 0).rewrite()[12..], [0x88, 0x47, 0, 0, 0x11, 64, 0, 0, 0x31, 64]);
}

#[test]
fn a_backup_takes_over_while_the_primary_is_down() {
    let mut world = world();
    let (a, b, c) = (world.add(adjacency(1)), world.add(adjacency(2)), world.add(adjacency(3)));
    let core = world.add(group(&[a, b]));
    let pair = world.add(Hop::Backup { primary: core, backup: c });
    let vpn = world.add(push(pair, &[0, 0, 0x11, 64]));
    assert_eq!(world.ways(vpn), [(1, 512), (2, 512)]);
    world.hops.mark(a, false).unwrap();
    assert_eq!(world.ways(pair), [(2, 1024)]);
    world.hops.mark(b, false).unwrap();
    assert_eq!((world.ways(pair), world.ways(vpn)), (vec![(3, 1024)], vec![(3, 1024)]));
    world.hops.change(c, adjacency(4)).unwrap();
    assert_eq!(world.ways(vpn), [(4, 1024)]);
    world.hops.mark(a, true).unwrap();
    assert_eq!(world.ways(vpn), [(1, 1024)]);
}

#[test]
fn a_hop_that_becomes_a_group_of_nobody_gives_way_to_its_backup_and_comes_back() {
    let mut world = world();
    let (a, b) = (world.add(adjacency(1)), world.add(adjacency(2)));
    let guard = world.add(push(a, &[]));
    let labelled = world.add(push(guard, &[0, 0, 0x11, 64]));
    let pairs = [guard, labelled].map(|it| world.add(Hop::Backup { primary: it, backup: b }));
    let shared = world.add(group(&[guard, b]));
    let vpn = world.add(push(pairs[1], &[0, 0, 0x21, 64]));
    for _ in 0..2 {
        assert_eq!(pairs.map(|it| world.ways(it)), [vec![(1, 1024)], vec![(1, 1024)]]);
        assert_eq!(world.ways(shared), [(1, 512), (2, 512)]);
        world.hops.change(guard, group(&[])).unwrap();
        assert_eq!(pairs.map(|it| world.ways(it)), [vec![(2, 1024)], vec![(2, 1024)]]);
        assert_eq!((world.ways(shared), world.ways(vpn)), (vec![(2, 1024)], vec![(2, 1024)]));
        assert_eq!(world.line(guard, 0).kind, Kind::Drop);
        world.hops.change(guard, push(a, &[])).unwrap();
    }
    world.hops.mark(a, false).unwrap();
    assert_eq!(pairs.map(|it| world.ways(it)), [vec![(2, 1024)], vec![(2, 1024)]]);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut world = world();
    let a = world.add(adjacency(1));
    let one = world.add(group(&[a]));
    let two = world.add(group(&[one]));
    let count = world.hops.len();
    assert_eq!(world.hops.change(one, group(&[two])), Err(HopError::Nesting));
    assert_eq!(world.hops.add(group(&[999])), Err(HopError::Unknown));
    assert_eq!(world.hops.add(group(&[a; 65])), Err(HopError::Members));
    assert_eq!(world.hops.add(push(a, &[0; 27])), Err(HopError::Rewrite));
    assert_eq!(world.hops.remove(a), Err(HopError::InUse));
    assert_eq!(world.hops.remove(NO_ROUTE), Err(HopError::Unknown));
    let labels = world.add(push(two, &[0; 24]));
    let long = Line::rewriting(0, 8, &[1; 20]).unwrap();
    assert_eq!(world.hops.change(a, Hop::Line(long)), Err(HopError::Rewrite));
    assert_eq!(world.ways(labels), [(1, 1024)]);
    // It stands on three: three more are as many as may be.
    let top = (0..3).fold(labels, |below, _| world.add(group(&[below])));
    assert_eq!(world.hops.add(group(&[top])), Err(HopError::Nesting));
    assert_eq!(world.hops.len(), count + 4);
}

#[test]
fn a_number_is_given_again_once_no_worker_can_hold_it() {
    let mut world = world();
    let a = world.add(adjacency(1));
    world.hops.remove(a).unwrap();
    assert_eq!(world.hops.hop(a), None);
    assert_eq!(world.line(a, 0).interface, 1, "until the worker has quiesced");
    let b = world.add(adjacency(2));
    assert_ne!(a, b);
    world.reader.quiesce();
    world.hops.recycle();
    assert_eq!(world.line(a, 0).kind, Kind::Drop);
    assert_eq!(world.add(adjacency(3)), a);
    assert_eq!(world.line(HOPS_MAX as u32 + 9, 0).hop, NO_ROUTE);
}

#[test]
fn a_batch_finds_what_each_finds() {
    let mut world = world();
    let (a, b) = (world.add(adjacency(1)), world.add(adjacency(2)));
    let both = world.add(group(&[a, b]));
    let hops: Vec<u32> = (0..256).map(|at| [a, both, b, 77, NO_ROUTE][at % 5]).collect();
    let hashes: Vec<u32> = (0..256).map(|at: u32| at.wrapping_mul(0x9e37_79b9)).collect();
    let mut lines = [world.lookups.resolve(&world.reader, 0, 0); 256];
    world.lookups.resolve_batch(&world.reader, &hops, &hashes, &mut lines);
    for at in 0..256 {
        assert_eq!(*lines[at], world.line(hops[at], hashes[at]), "{at}");
    }
}

/// An adjacency all of whose octets say its version.
fn version(number: u32) -> Hop {
    let octets = [number as u8; 18];
    let mut line = Line::rewriting(1, number, &octets).unwrap();
    line.counter = number;
    Hop::Line(line)
}

#[test]
fn a_worker_sees_a_changing_adjacency_whole_and_never_an_older_one_again() {
    let mut world = world();
    let (a, b) = (world.add(version(0)), world.add(version(0)));
    let all = [a, world.add(group(&[a])), world.add(group(&[a, b]))];
    let rounds = if cfg!(miri) { 20 } else { 3_000 };
    let World { mut hops, lookups, mut reader } = world;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut last = [0; 3];
            while last.iter().any(|version| *version < rounds) {
                let mut lines = [lookups.resolve(&reader, a, 0); 3];
                lookups.resolve_batch(&reader, &all, &[7; 3], &mut lines);
                for (last, line) in last.iter_mut().zip(&lines) {
                    let number = line.interface;
                    assert!(line.rewrite().iter().all(|octet| *octet == number as u8));
                    assert!(line.counter == number && number >= *last, "{line:?} after {last}");
                    *last = number;
                }
                reader.quiesce();
            }
        });
        for number in 1..=rounds {
            hops.change(a, version(number)).unwrap();
            hops.change(b, version(number)).unwrap();
            hops.recycle();
        }
    });
}

#[test]
fn no_packet_goes_to_a_member_after_it_was_marked_down() {
    use std::sync::atomic::AtomicUsize;
    let mut world = world();
    let members: Vec<u32> = (1..=4).map(|at| world.add(adjacency(at))).collect();
    let core = world.add(group(&members));
    let vpn = world.add(push(core, &[0, 0, 0x11, 64]));
    let outer = world.add(group(&[vpn, members[0]]));
    // In state n, member n mod 5 is down: none where that is the fifth.
    let states = if cfg!(miri) { 20 } else { 4_000 };
    world.hops.mark(members[0], false).unwrap();
    let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let World { mut hops, lookups, mut reader } = world;
    std::thread::scope(|scope| {
        let (begun, done) = (&begun, &done);
        scope.spawn(move || {
            let mut hash = 1_u32;
            loop {
                hash = hash.wrapping_mul(0x9e37_79b9).wrapping_add(1);
                let first = done.load(Ordering::SeqCst);
                let asked = [core, vpn, outer];
                let mut lines = [lookups.resolve(&reader, core, hash); 3];
                lookups.resolve_batch(&reader, &asked, &[hash >> 8; 3], &mut lines);
                let last = begun.load(Ordering::SeqCst);
                for line in lines {
                    let used = line.interface as usize - 1;
                    assert!((first..=last).any(|state| state % 5 != used), "{line:?}");
                    assert!(last > first || used != first % 5, "{line:?} in {first}");
                }
                reader.quiesce();
                if first == states {
                    return;
                }
            }
        });
        for state in 1..=states {
            begun.store(state, Ordering::SeqCst);
            let (down, up) = (members.get(state % 5), members.get((state - 1) % 5));
            down.into_iter().for_each(|down| hops.mark(*down, false).unwrap());
            up.into_iter().for_each(|up| hops.mark(*up, true).unwrap());
            done.store(state, Ordering::SeqCst);
            hops.recycle();
        }
    });
    assert!(hops.len() < 20, "pushes over ways that went are gone");
}

#[test]
fn what_hops_say_agrees_with_what_they_are_after_any_changes() {
    for seed in 1..=if cfg!(miri) { 1 } else { 40 } {
        let mut world = world();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed);
        let mut below = |end: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 20) as usize % end
        };
        let (mut known, mut refused): (Vec<u32>, usize) = (Vec::new(), 0);
        for step in 0..if cfg!(miri) { 30 } else { 400 } {
            let pick = |below: &mut dyn FnMut(usize) -> usize| match known.len() {
                0 => NO_ROUTE,
                count => known[below(count)],
            };
            let hop = match below(8) {
                0..=2 => adjacency(1 + below(50) as u32),
                3 | 4 => push(pick(&mut below), &[0, 0, below(256) as u8, 64]),
                5 => Hop::Backup { primary: pick(&mut below), backup: pick(&mut below) },
                _ => group(&(0..1 + below(4)).map(|_| pick(&mut below)).collect::<Vec<_>>()),
            };
            // What is refused has changed nothing: the check below would see it.
            match below(6) {
                0 | 1 if known.len() < 60 => known.extend(world.hops.add(hop)),
                2 => world.hops.mark(pick(&mut below), below(2) == 0).unwrap(),
                3 => {
                    let number = pick(&mut below);
                    if world.hops.remove(number).is_ok() {
                        known.retain(|one| *one != number);
                    }
                }
                _ => refused += usize::from(world.hops.change(pick(&mut below), hop).is_err()),
            }
            world.reader.quiesce();
            if step % 8 == 7 {
                known.iter().for_each(|number| world.agrees(*number, seed));
            }
        }
        assert!(refused > 0 || cfg!(miri), "some circles were tried");
        // Users go before what they use: each round takes one at least.
        for _ in 0..known.len() {
            known.retain(|number| world.hops.remove(*number).is_err());
        }
        assert!(known.is_empty(), "seed {seed}: {known:?} are in use by nobody");
        assert_eq!(world.hops.len(), 2, "seed {seed}: all are gone, hidden ones too");
    }
}

impl World {
    /// Every hash leads to a line that a walk down what the hops are may end at.
    fn agrees(&self, number: u32, seed: u64) {
        let ways = self.reference(number);
        for hash in (0..1024).step_by(59) {
            let line = self.line(number, hash);
            let found = (line.kind, line.interface, line.rewrite().get(14..).map(<[u8]>::to_vec));
            assert!(ways.contains(&found), "seed {seed} hop {number}: {line:?} of {ways:?}");
        }
    }

    fn reference(&self, number: u32) -> Vec<(Kind, u32, Option<Vec<u8>>)> {
        let way =
            |line: &Line| (line.kind, line.interface, line.rewrite().get(14..).map(<[u8]>::to_vec));
        let none = || vec![way(&Line::default())];
        match self.hops.hop(number).unwrap() {
            Hop::Line(line) => vec![way(line)],
            Hop::Push(push) => {
                let mut ways = self.reference(push.over);
                for (kind, _, labels) in &mut ways {
                    if let (Kind::Rewrite, Some(labels)) = (*kind, labels) {
                        labels.extend_from_slice(&push.octets);
                    }
                }
                if !self.hops.is_up(number) {
                    ways.extend(none());
                }
                ways
            }
            Hop::Group(members) => {
                let up = members.iter().filter(|member| self.hops.is_up(member.hop));
                let mut ways: Vec<_> = up.flat_map(|up| self.reference(up.hop)).collect();
                if ways.is_empty() || !self.hops.is_up(number) {
                    ways.extend(none());
                }
                ways
            }
            Hop::Backup { primary, backup } => {
                let first = if self.hops.is_up(*primary) { primary } else { backup };
                let mut ways = self.reference(*first);
                if !self.hops.is_up(number) {
                    ways.extend(none());
                }
                ways
            }
        }
    }
}
