//! What policies cost a route: prefix lists of 10,000 lines, communities, expressions over ASes,
//! and whole policies. `valgrind --tool=callgrind --toggle-collect='*::ask'` counts instructions.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use bgp::codec::{SegmentKind, prepend, write_attribute};
use bgp::family::Family;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use policy::{
    MatchConfig, Peer, Policies, Policy, PolicyConfig, RuleConfig, Scratch, Subject, Then, Verdict,
};
use std::hint::black_box;

const LINES: u32 = 10_000;
const ROUTES: u32 = 4_096;

fn mixed(number: u32) -> u32 {
    let number = number.wrapping_mul(2_654_435_761);
    (number ^ number >> 15).wrapping_mul(0x85EB_CA6B)
}

/// As in the Internet's table: more than half have 24 bits, few have less than 16.
fn prefix(number: u32) -> (u32, u32) {
    let bits = [24, 24, 24, 24, 24, 23, 22, 22, 21, 20, 19, 16][number as usize % 12];
    (mixed(number) >> (32 - bits) << (32 - bits), bits)
}

fn line(number: u32, bounds: &str) -> String {
    let (address, bits) = prefix(number);
    format!("{}/{bits}{bounds}", std::net::Ipv4Addr::from(address))
}

fn line_v6(number: u32) -> String {
    let address = (0x2001_0000_u128 | u128::from(mixed(number) >> 16)) << 96;
    let address = address | u128::from(mixed(number + 1) >> 16) << 80;
    format!("{}/48", std::net::Ipv6Addr::from(address))
}

fn policy(matches: MatchConfig) -> Policy {
    let mut rule = RuleConfig::new(Then::Accept);
    rule.matches = matches;
    rules(vec![rule])
}

fn rules(rule: Vec<RuleConfig>) -> Policy {
    let config = PolicyConfig { name: "bench".into(), rule, ..PolicyConfig::default() };
    let policies = Policies::compile(&[config]).expect("it can be meant");
    policies.policy(policies.named("bench").expect("it is there")).clone()
}

/// ORIGIN, an AS_PATH of four, NEXT_HOP, LOCAL_PREF, three communities and a route target.
fn attributes(number: u32) -> Vec<u8> {
    let (mut path, mut out) = (Vec::new(), Vec::new());
    // The origin is one of 64496 to 64527: half of them are what the expression asks for.
    for asn in [64_495 + number % 32, 3_356, 1_299, 64_499] {
        let before = std::mem::take(&mut path);
        prepend(&before, SegmentKind::Sequence, asn + 1, &mut path);
    }
    let communities = [65_000 << 16 | number, 65_001 << 16 | 7, 0xFFFF_FF01u32];
    let communities: Vec<u8> = communities.iter().flat_map(|it| it.to_be_bytes()).collect();
    write_attribute(0x40, 1, &[0], &mut out);
    write_attribute(0x40, 2, &path, &mut out);
    write_attribute(0x40, 3, &[192, 0, 2, 1], &mut out);
    write_attribute(0x40, 5, &[0, 0, 0, 100], &mut out);
    write_attribute(0xC0, 8, &communities, &mut out);
    write_attribute(0xC0, 16, &[0, 2, 0xFD, 0xE8, 0, 0, 0, 7], &mut out);
    out
}

struct Route {
    family: Family,
    key: Vec<u8>,
    attributes: Vec<u8>,
}

fn routes() -> Vec<Route> {
    let key = |number: u32| {
        // Every other route is one of the lines.
        let (address, bits) =
            prefix(if number.is_multiple_of(2) { number } else { number + LINES });
        let octets = (bits as usize).div_ceil(8);
        [&[bits as u8][..], &address.to_be_bytes()[..octets]].concat()
    };
    let route = |number| Route {
        family: Family::Ipv4Unicast,
        key: key(number),
        attributes: attributes(number % 64),
    };
    (0..ROUTES).map(route).collect()
}

fn routes_v6() -> Vec<Route> {
    let key = |number: u32| {
        let line = line_v6(if number.is_multiple_of(2) { number } else { number + LINES });
        let address: std::net::Ipv6Addr = line.trim_end_matches("/48").parse().expect("an address");
        [&[48][..], &address.octets()[..6]].concat()
    };
    let route = |number| Route {
        family: Family::Ipv6Unicast,
        key: key(number),
        attributes: attributes(number % 64),
    };
    (0..ROUTES).map(route).collect()
}

/// Asks about every route; how many are accepted as they are, and changed.
#[inline(never)]
fn ask(policy: &Policy, routes: &[Route], scratch: &mut Scratch) -> (usize, usize) {
    let (mut accepted, mut changed) = (0, 0);
    for route in routes {
        let subject = Subject {
            family: route.family,
            key: &route.key,
            attributes: &route.attributes,
            next_hop: &[192, 0, 2, 1],
            validation: None,
            peer: Peer { name: "pe1", group: "edges", address: [192, 0, 2, 9].into(), asn: 65_001 },
        };
        match policy.evaluate(&subject, scratch) {
            Verdict::Accept => accepted += 1,
            Verdict::Changed { attributes, .. } => changed += usize::from(!attributes.is_empty()),
            Verdict::Reject => {}
        }
    }
    (accepted, changed)
}

/// An import policy as operators write them: bogons, too long paths, customers, tags.
fn import(lines: Vec<String>) -> Policy {
    let text = r#"
        name = "import"
        [[rule]]
        match.prefixes = ["0.0.0.0/8 le 32", "127.0.0.0/8 le 32", "224.0.0.0/3 le 32"]
        then = "reject"
        [[rule]]
        match.as_path = "[0 23456 64496-64499 4294967295]"
        then = "reject"
        [[rule]]
        match.as_path_length = "50-"
        then = "reject"
        [[rule]]
        match.communities = ["65535:0"]
        set.local_pref = 0
        then = "accept"
        [[rule]]
        match.prefixes = ["0.0.0.0/0"]
        set.local_pref = 200
        set.communities = { add = ["65000:1"], remove = ["65001:*"] }
        then = "accept"
    "#;
    let mut config: PolicyConfig = toml::from_str(text).expect("a policy");
    config.rule[4].matches.prefixes = Some(lines);
    rules(config.rule)
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("policy");
    group.throughput(Throughput::Elements(ROUTES.into()));
    let (v4, v6) = (routes(), routes_v6());
    let mut scratch = Scratch::default();
    let all = |bounds: &str| Some((0..LINES).map(|number| line(number, bounds)).collect());
    let plain = MatchConfig::default;
    let list = |prefixes| MatchConfig { prefixes, ..plain() };
    let communities = (0..1_000).map(|number| format!("65000:{}", 2 * number)).collect();
    let cases = [
        ("prefixes_10000", policy(list(all(""))), &v4),
        ("prefixes_10000_le_24", policy(list(all(" le 24"))), &v4),
        ("prefixes_10000_ipv6", policy(list(Some((0..LINES).map(line_v6).collect()))), &v6),
        (
            "communities_1000",
            policy(MatchConfig { communities: Some(communities), ..plain() }),
            &v4,
        ),
        (
            "as_path",
            policy(MatchConfig { as_path: Some("^.* (3357|1300) 64496-64511$".into()), ..plain() }),
            &v4,
        ),
        ("import_of_five_rules", import(all(" le 24").expect("lines")), &v4),
    ];
    for (name, policy, routes) in &cases {
        let told = ask(policy, routes, &mut scratch);
        assert!(told != (0, 0), "{name} takes some routes");
        group.bench_function(*name, |b| {
            b.iter(|| ask(black_box(policy), black_box(routes), &mut scratch));
        });
    }
    group.finish();
}

criterion_group!(policy_costs, benches);
criterion_main!(policy_costs);
