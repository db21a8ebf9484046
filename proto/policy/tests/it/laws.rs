//! Laws by seed: prefix sets, expressions over ASes and whole policies beside the simplest
//! evaluator that could be right; any octets as attributes. `TANDEM_SEEDS` sets how many of each
//! (default 300).

use crate::given::{self, Route, ask, attributes, path_of, words};
use crate::reference;
use bgp::codec::{AttributeType, Attributes};
use bgp::family::Family;
use core::net::{Ipv4Addr, Ipv6Addr};
use policy::{
    AmountConfig, Bounds, CommunitiesConfig, Disposition, OriginConfig, Policies, Policy,
    PolicyConfig, PrependConfig, RuleConfig, Scratch, Then, Validation, Verdict,
};

fn seeds() -> u64 {
    std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(300)
}

struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound.max(1) as u64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

fn only(config: PolicyConfig) -> Policy {
    let policies = Policies::compile(std::slice::from_ref(&config));
    let policies = policies.unwrap_or_else(|faults| panic!("{config:#?}: {faults:#?}"));
    policies.iter().next().unwrap().1.clone()
}

fn accepting(change: impl FnOnce(&mut RuleConfig)) -> Policy {
    let mut rule = RuleConfig::new(Then::Accept);
    change(&mut rule);
    only(PolicyConfig { name: "p".into(), rule: vec![rule], ..PolicyConfig::default() })
}

/// A prefix close to others, so that they cover each other: address bits, length.
fn prefix(chance: &mut Rng, is_v4: bool) -> (u128, u8) {
    let width = if is_v4 { 32 } else { 128 };
    let bits = chance.below(width + 1) as u8;
    // Few octets differ, and these in few bits; the ends of the address space count as well.
    let octet = |chance: &mut Rng| chance.one(&[0u8, 1, 0x80, 0xFF, 0x7F]);
    let mut address = 0u128;
    for _ in 0..width / 8 {
        address = address << 8 | u128::from(octet(chance));
    }
    let behind = width as u32 - u32::from(bits);
    (address.checked_shr(behind).unwrap_or(0).checked_shl(behind).unwrap_or(0), bits)
}

fn show(address: u128, is_v4: bool) -> String {
    if is_v4 {
        Ipv4Addr::from_bits(address as u32).to_string()
    } else {
        Ipv6Addr::from_bits(address).to_string()
    }
}

/// The route of a prefix.
fn to(address: u128, bits: u8, is_v4: bool) -> Route {
    let octets = address.to_be_bytes();
    let octets = if is_v4 { &octets[12..] } else { &octets[..] };
    let key = [&[bits][..], &octets[..usize::from(bits).div_ceil(8)]].concat();
    let family = if is_v4 { Family::Ipv4Unicast } else { Family::Ipv6Unicast };
    Route { family, key, ..given::route() }
}

#[test]
fn a_prefix_set_has_what_one_of_its_lines_has() {
    let mut found = [0, 0];
    for seed in 0..seeds() {
        let mut chance = Rng::new(seed);
        let is_v4 = chance.below(2) == 0;
        let width = if is_v4 { 32 } else { 128 };
        let lines: Vec<(u128, u8, u8, u8)> = (0..chance.below(60) + 1)
            .map(|_| {
                let (address, bits) = prefix(&mut chance, is_v4);
                let least = bits + chance.below(usize::from(width - bits) + 1) as u8;
                let most = least + chance.below(usize::from(width - least) + 1) as u8;
                chance.one(&[(address, bits, least, most), (address, bits, bits, bits)])
            })
            .collect();
        let text = |(address, bits, least, most): &(u128, u8, u8, u8)| {
            let bounds = if least == most && least == bits {
                String::new()
            } else {
                format!(" ge {least} le {most}")
            };
            format!("{}/{bits}{bounds}", show(*address, is_v4))
        };
        let prefixes: Vec<String> = lines.iter().map(text).collect();
        let policy = accepting(|rule| rule.matches.prefixes = Some(prefixes.clone()));
        for _ in 0..60 {
            let (mut address, mut bits) = prefix(&mut chance, is_v4);
            if chance.below(2) == 0 {
                (address, bits, ..) = chance.one(&lines);
            }
            let is_in = lines.iter().any(|(line, length, least, most)| {
                let behind = u32::from(width - length);
                let cut = |it: u128| it.checked_shr(behind).unwrap_or(0);
                cut(*line) == cut(address) && (least..=most).contains(&&bits) && bits >= *length
            });
            found[usize::from(is_in)] += 1;
            let told = ask(&policy, &to(address, bits, is_v4));
            assert_eq!(told == "accept", is_in, "{} of {prefixes:?}", show(address, is_v4));
        }
    }
    assert!(found.iter().all(|count| *count > 10 * seeds()), "{found:?}");
}

/// The ASes of the tests: a letter each for the crate regex, which knows nothing of ASes.
const ASES: [u32; 6] = [1, 64_512, 65_001, 65_002, 4_200_000_000, u32::MAX];

fn letter(asn: u32) -> char {
    char::from(b'a' + ASES.iter().position(|known| *known == asn).unwrap() as u8)
}

/// An expression, and the same for the crate regex.
fn expression(chance: &mut Rng, depth: usize) -> (String, String) {
    let asn = chance.one(&ASES);
    let (first, last) = (chance.below(6), chance.below(6));
    let (first, last) = (first.min(last), first.max(last));
    let range = (
        format!("{}-{}", ASES[first], ASES[last]),
        format!("[{}-{}]", letter(ASES[first]), letter(ASES[last])),
    );
    let kind = if depth == 0 { chance.below(6) } else { chance.below(14) };
    match kind {
        0 | 1 => (asn.to_string(), letter(asn).to_string()),
        2 => (".".into(), ".".into()),
        3 => range,
        4 => {
            let inverse = chance.one(&["", "^"]);
            let inside = range.1.trim_matches(['[', ']']);
            let regex = format!("[{inverse}{}{inside}]", letter(asn));
            (format!("[{inverse}{asn} {}]", range.0), regex)
        }
        5 => {
            let end = chance.one(&["^", "$"]);
            (end.into(), end.into())
        }
        6..9 => {
            let (one, other) = (expression(chance, depth - 1), expression(chance, depth - 1));
            (format!("{} {}", one.0, other.0), format!("{}{}", one.1, other.1))
        }
        9 | 10 => {
            let (one, other) = (expression(chance, depth - 1), expression(chance, depth - 1));
            (format!("({}|{})", one.0, other.0), format!("(?:{}|{})", one.1, other.1))
        }
        _ => {
            let (mut ours, mut theirs) = expression(chance, depth - 1);
            let times = chance.one(&["*", "+", "?", "{2}", "{0,2}", "{1,}"]);
            // An end of the path alone is not repeated.
            let is_end = matches!(ours.as_str(), "^" | "$");
            ours = if is_end { format!("({ours}|{ours})") } else { format!("({ours})") };
            theirs = format!("(?:{theirs})");
            (format!("{ours}{times}"), format!("{theirs}{times}"))
        }
    }
}

#[test]
fn an_expression_matches_what_the_same_one_over_letters_matches() {
    let mut found = [0, 0];
    for seed in 0..4 * seeds() {
        let mut chance = Rng::new(seed);
        let (ours, theirs) = expression(&mut chance, 4);
        let regex = regex::Regex::new(&theirs).unwrap_or_else(|error| panic!("{theirs}: {error}"));
        let policy = accepting(|rule| rule.matches.as_path = Some(ours.clone()));
        for _ in 0..40 {
            let path: Vec<u32> = (0..chance.below(7)).map(|_| chance.one(&ASES)).collect();
            let letters: String = path.iter().map(|asn| letter(*asn)).collect();
            let all = attributes(&[(AttributeType::AsPath, path_of(&path))]);
            let route = Route { attributes: all, ..given::route() };
            let expected = regex.is_match(&letters);
            found[usize::from(expected)] += 1;
            assert_eq!(ask(&policy, &route) == "accept", expected, "{ours} ({theirs}) of {path:?}");
        }
    }
    assert!(found.iter().all(|count| *count > 10 * seeds()), "{found:?}");
}

fn community(chance: &mut Rng) -> String {
    chance
        .one(&["65000:1", "65000:2", "no-export", "large 1:2:3", "rt 65000:7", "ro 65000:7"])
        .to_owned()
}

fn communities(chance: &mut Rng) -> Vec<String> {
    let any = ["65000:*", "*:2", "rt *:*", "large 1:*:3", "65000:1-2"];
    (0..chance.below(3) + 1)
        .map(|_| if chance.below(3) == 0 { chance.one(&any).to_owned() } else { community(chance) })
        .collect()
}

fn amount(chance: &mut Rng) -> AmountConfig {
    match chance.below(3) {
        0 => AmountConfig::Exactly(chance.below(4) as u64 * 50),
        1 => AmountConfig::Text(format!("+{}", chance.one(&[50u32, 100, u32::MAX]))),
        _ => AmountConfig::Text("-50".into()),
    }
}

fn rule(chance: &mut Rng) -> RuleConfig {
    let then = chance.one(&[Then::Accept, Then::Reject, Then::Next, Then::Next]);
    let mut rule = RuleConfig::new(then);
    let some = |chance: &mut Rng| chance.below(5) == 0;
    let bounds = |chance: &mut Rng| Some(Bounds::Text(chance.one(&["-50", "51-", "0-100"]).into()));
    rule.matches.prefixes =
        some(chance).then(|| vec![chance.one(&["10.1.2.0/24", "11.0.0.0/8"]).into()]);
    rule.matches.communities = some(chance).then(|| communities(chance));
    rule.matches.all_communities = some(chance).then(|| communities(chance));
    rule.matches.med = some(chance).then(|| bounds(chance)).flatten();
    rule.matches.local_pref = some(chance).then(|| bounds(chance)).flatten();
    rule.matches.validation =
        some(chance).then(|| chance.one(&[Validation::Valid, Validation::Invalid]));
    rule.matches.origin = some(chance).then(|| chance.one(&[OriginConfig::Igp, OriginConfig::Egp]));
    if then == Then::Reject {
        // What stands below must be asked.
        rule.matches.med = bounds(chance);
        return rule;
    }
    rule.set.local_pref = some(chance).then(|| amount(chance));
    rule.set.aigp = some(chance).then(|| amount(chance));
    rule.set.origin = some(chance).then(|| chance.one(&[OriginConfig::Igp, OriginConfig::Egp]));
    rule.set.prepend =
        some(chance).then(|| PrependConfig { asn: 9, times: 1 + chance.below(3) as u8 });
    rule.set.communities = some(chance).then(|| CommunitiesConfig {
        add: vec![community(chance)],
        remove: communities(chance),
        replace: vec![],
    });
    let none = AmountConfig::Text("none".into());
    rule.set.med = Some(if some(chance) { none } else { amount(chance) });
    if then == Then::Accept {
        rule.matches.local_pref = bounds(chance);
    }
    rule
}

fn some_route(chance: &mut Rng) -> Route {
    use AttributeType::*;
    let mut all = vec![(Origin, vec![chance.below(3) as u8])];
    let mut put = |chance: &mut Rng, kind, value: Vec<u8>| {
        if chance.below(3) > 0 {
            all.push((kind, value));
        }
    };
    let path: Vec<u32> = (0..chance.below(4) + 1).map(|_| chance.one(&ASES)).collect();
    put(chance, AsPath, path_of(&path));
    let number = chance.one(&[0u32, 50, 100, u32::MAX]);
    put(chance, MultiExitDisc, words(&[number]));
    let number = chance.one(&[0u32, 50, 100, 200]);
    put(chance, LocalPref, words(&[number]));
    let of = [65_000 << 16 | 1, 65_000 << 16 | 2, 0xFFFF_FF01, 5];
    let values: Vec<u32> = (0..chance.below(3) + 1).map(|_| chance.one(&of)).collect();
    put(chance, Communities, words(&values));
    let target = [[0, 2, 0xFD, 0xE8, 0, 0, 0, 7], [2, 2, 0, 0, 0xFD, 0xE8, 0, 7]];
    let value = chance.one(&target).to_vec();
    put(chance, ExtendedCommunities, value);
    let number = chance.below(4) as u64 * 50;
    put(chance, Aigp, given::aigp(number));
    put(chance, LargeCommunities, words(&[1, 2, 3]));
    Route {
        attributes: attributes(&all),
        validation: chance.one(&[None, Some(Validation::Valid), Some(Validation::Invalid)]),
        ..given::route()
    }
}

#[test]
fn a_policy_says_what_the_simplest_evaluator_says() {
    let mut told = [0; 3];
    for seed in 0..4 * seeds() {
        let mut chance = Rng::new(seed);
        let rules: Vec<RuleConfig> = (0..chance.below(6) + 1).map(|_| rule(&mut chance)).collect();
        let default = chance.one(&[Disposition::Accept, Disposition::Reject]);
        let config = PolicyConfig { name: "p".into(), default, rule: rules };
        let policy = only(config.clone());
        let mut scratch = Scratch::default();
        for _ in 0..10 {
            let route = some_route(&mut chance);
            let expected = reference::evaluate(&config, &route);
            let verdict = policy.evaluate(&route.subject(), &mut scratch);
            let made = match verdict {
                Verdict::Reject => None,
                Verdict::Accept => Some(reference::Decoded::read(&route.attributes)),
                Verdict::Changed { attributes, .. } => Some(reference::Decoded::read(attributes)),
            };
            assert_eq!(made, expected, "seed {seed}: {config:#?} of {route:?}");
            told[match verdict {
                Verdict::Accept => 0,
                Verdict::Changed { .. } => 1,
                Verdict::Reject => 2,
            }] += 1;
        }
    }
    assert!(told.iter().all(|count| *count > seeds()), "{told:?}");
}

/// A policy that looks at everything and changes everything.
fn curious() -> Policy {
    given::policy(
        r#"
        [[policy]]
        name = "curious"
        default = "accept"
        [[policy.rule]]
        match.prefixes = ["0.0.0.0/0 le 32", "::/0 le 128"]
        match.next_hops = ["0.0.0.0/0", "::/0"]
        match.communities = ["*:*", "rt *:*", "large *:*:*"]
        match.as_path = "^. .* [^1-5]"
        match.as_path_length = "0-"
        match.med = "0-"
        set.next_hop = "self"
        then = "next"
        [[policy.rule]]
        match.prefixes = ["0.0.0.0/0 le 24"]
        set.communities = { remove = ["65000:*", "ro *:*"], add = ["1:1", "rt 1:1", "1:1:1"] }
        set.local_pref = "+1"
        set.med = "-1"
        set.prepend = { asn = 1, times = 32 }
        set.origin = "egp"
        set.aigp = "+1"
        then = "next"
        [[policy.rule]]
        set.communities.replace = ["1:2", "rt 1:2", "1:1:2"]
        set.aigp = 3
        then = "next"
        "#,
    )
}

#[test]
fn any_octets_as_attributes_key_and_next_hop_are_survived() {
    let policy = curious();
    let mut scratch = Scratch::default();
    for seed in 0..20 * seeds() {
        let mut chance = Rng::new(seed);
        let mut route = some_route(&mut chance);
        let odd = |chance: &mut Rng, most| -> Vec<u8> {
            (0..chance.below(most)).map(|_| chance.below(256) as u8).collect()
        };
        for _ in 0..chance.below(4) {
            let at = chance.below(route.attributes.len());
            let by = chance.one(&[0, 1, 2, 4, 8, 0xFF, 0x80]);
            match chance.below(3) {
                0 => route.attributes[at] = by,
                1 => route.attributes.truncate(at + 1),
                _ => route.attributes.insert(at, by),
            }
        }
        if chance.below(8) == 0 {
            route.attributes = odd(&mut chance, 400);
        }
        route.family = chance.one(Family::ALL);
        route.key = odd(&mut chance, 40);
        route.next_hop = odd(&mut chance, 50);
        match policy.evaluate(&route.subject(), &mut scratch) {
            Verdict::Accept => panic!("it changes every route"),
            Verdict::Reject => {}
            Verdict::Changed { attributes, .. } => {
                assert!(Attributes::new(attributes).all(|attribute| attribute.is_ok()));
            }
        }
    }
}
