//! What border routers tell of other areas while prefixes come and go beside each other.

use crate::net::{Net, SECOND};
use machine::{Duration, Time};
use ospf::{AreaKind, Discard, In, InterfaceSettings, LinkType, Prefix, Redistributed, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// Prefixes of one address, and one whose address is the last of another: they compete for numbers
/// (RFC 2328 §E).
const COMPETING: [([u8; 4], u8); 5] = [
    ([11, 0, 0, 1], 8),
    ([11, 0, 0, 1], 16),
    ([11, 0, 0, 1], 24),
    ([11, 0, 0, 1], 30),
    ([11, 0, 255, 255], 32),
];

/// Interfaces of competing prefixes have numbers from here.
const FIRST: u32 = 100;

fn prefix(at: usize) -> Prefix {
    let (address, length) = COMPETING[at];
    Prefix::new(u32::from_be_bytes(address), length)
}

/// 0 - 1 = 2 - 3: areas 1, 0 and 2, with border routers 1 and 2; `owner` has the competing ones, in
/// area 2, with the intervals of the standard.
fn chain(seed: u64, owner: usize) -> Net {
    let mut net = Net::new(seed, 4);
    for area in 0..3 {
        net.areas.insert(area, AreaKind::Normal);
    }
    net.link(LinkType::PointToPoint, 1, &[(0, 3), (1, 3)]);
    net.link(LinkType::Broadcast, 0, &[(1, 5), (2, 5)]);
    net.link(LinkType::PointToPoint, 2, &[(2, 7), (3, 7)]);
    (0..4).for_each(|it| net.start_with(it, Settings::new(Net::id(it))));
    for (at, (address, length)) in COMPETING.into_iter().enumerate() {
        let index = FIRST + at as u32;
        let settings = InterfaceSettings::new(index, 2, Ipv4Addr::from(address), length);
        let router = net.routers[owner].as_mut().unwrap();
        assert!(router.add_interface(InterfaceSettings { is_passive: true, ..settings }));
    }
    net.run(SECOND * 30);
    net
}

/// Prefixes of the table that compete.
fn known(net: &Net, router: usize) -> BTreeSet<Prefix> {
    let all = (0..COMPETING.len()).map(prefix);
    all.filter(|it| net.told[router].contains_key(it)).collect()
}

/// What both know for so long is no remains of before.
const SETTLED: Duration = Duration::from_secs(8);

/// Of those that both routers have known for some time, all that the border router never lost
/// meanwhile stay known.
fn run_and_look(net: &mut Net, time: Duration, since: &mut BTreeMap<Prefix, Time>, what: &str) {
    let slice = Duration::from_millis(20);
    for _ in 0..time.as_millis() / 20 {
        net.run(slice);
        let (near, far) = (known(net, 2), known(net, 0));
        since.retain(|it, at| {
            let is_known = far.contains(it);
            let must = near.contains(it) && net.now.since(*at) >= SETTLED;
            assert!(is_known || !must, "{what}: {it} is forgotten at {:?}", net.now);
            is_known && near.contains(it)
        });
        for it in far.intersection(&near) {
            since.entry(*it).or_insert(net.now);
        }
    }
}

#[test]
fn a_summary_whose_prefix_stays_reachable_is_never_flushed() {
    for seed in 0..40 {
        let owner = if seed % 2 == 0 { 2 } else { 3 };
        let mut net = chain(seed, owner);
        let mut stays = BTreeMap::new();
        let mut up = [false; COMPETING.len()];
        for step in 0..30 {
            let at = net.below(COMPETING.len());
            up[at] = !up[at];
            let index = FIRST + at as u32;
            let input = if up[at] { In::InterfaceUp(index) } else { In::InterfaceDown(index) };
            net.step(owner, input);
            let pause = Duration::from_millis(100 + net.below(15_000) as u64);
            let what = format!("seed {seed}, step {step}");
            run_and_look(&mut net, pause, &mut stays, &what);
        }
        run_and_look(&mut net, SECOND * 30, &mut stays, "at rest");
        let (far, near) = (known(&net, 0), known(&net, 2));
        // One of two that have the same number alone is told.
        let untold: Vec<_> = near.difference(&far).collect();
        assert!(far.is_subset(&near) && untold.len() <= 1, "seed {seed}: {untold:?}");
        assert!(untold.iter().all(|it| it.length == 32), "seed {seed}: {untold:?}");
    }
}

#[test]
fn what_goes_and_comes_back_at_once_is_refused_by_nobody() {
    for seed in 0..20 {
        let mut net = chain(seed, 2);
        let refused = |net: &Net| {
            (0..4).map(|it| net.at(it).discarded(Discard::LsaTooSoon)).collect::<Vec<_>>()
        };
        let before = refused(&net);
        for _ in 0..20 {
            for input in [In::InterfaceUp(FIRST), In::InterfaceDown(FIRST)] {
                net.step(2, input);
                let pause = Duration::from_millis(net.below(2_500) as u64);
                net.run(pause);
            }
        }
        net.step(2, In::InterfaceUp(FIRST));
        net.run(SECOND * 15);
        assert!(net.told[0].contains_key(&prefix(0)), "seed {seed}");
        assert_eq!(refused(&net), before, "seed {seed}");
    }
}

#[test]
fn an_external_keeps_its_number_while_others_come_and_go() {
    let mut net = chain(1, 2);
    let outside = |at: usize| {
        let (address, length) = COMPETING[at];
        Prefix::new(u32::from_be_bytes(address) | 0x4000_0000, length)
    };
    let of = |metric| Redistributed { metric, is_type2: true, tag: 0 };
    for at in [2, 1, 0] {
        net.step(3, In::Redistribute(outside(at), of(at as u32 + 1)));
        net.run(SECOND * 8);
    }
    for gone in [1, 0] {
        net.step(3, In::WithdrawExternal(outside(gone)));
        for _ in 0..400 {
            net.run(Duration::from_millis(20));
            assert_eq!(net.told[0][&outside(2)].metric2, 3, "while {gone} goes");
        }
    }
}

#[test]
fn a_link_that_goes_and_comes_back_before_its_loss_was_told_leads_on_as_before() {
    for kind in [LinkType::PointToPoint, LinkType::Broadcast] {
        let mut net = Net::new(3, 3);
        net.link(kind, 0, &[(0, 5), (1, 5)]);
        net.link(LinkType::PointToPoint, 0, &[(1, 5), (2, 5)]);
        (0..3).for_each(|it| net.start_with(it, Settings::new(Net::id(it))));
        net.run(SECOND * 40);
        net.check("at first");
        for router in [0, 1] {
            net.step(router, In::InterfaceDown(0));
        }
        // Something far away has routes made anew meanwhile.
        net.step(1, In::InterfaceDown(1));
        net.run(Duration::from_millis(300));
        net.step(1, In::InterfaceUp(1));
        for router in [0, 1] {
            net.step(router, In::InterfaceUp(0));
        }
        net.run(SECOND * 40);
        net.check("at rest");
    }
}
