//! The compiled classifier says what the rules say when they are read one by one.

use crate::rules::{Flavour, Random, header, rules};
use std::ops::RangeInclusive;
use table::classifier::{Address, Classifier, Flags, Fragment, Header, NO_RULE, NotCompiled, Rule};
use table::lanes::Lanes;

fn naive<A: Address>(rules: &[Rule<A>], header: &Header<A>) -> u32 {
    rules.iter().position(|rule| rule.matches(header)).map_or(NO_RULE, |at| at as u32)
}

fn agrees<A: Address>(rules: &[Rule<A>], bytes_max: usize, headers: usize, seed: u64) {
    let mut random = Random(seed);
    let headers: Vec<_> = (0..headers).map(|_| header(&mut random, rules)).collect();
    for lanes in Lanes::all() {
        let classifier = Classifier::compile_within(rules, bytes_max, lanes).expect("it compiles");
        assert!(classifier.bytes() <= bytes_max + 4 * rules.len());
        let mut found = vec![7; headers.len()];
        classifier.lookup(&headers, &mut found);
        for (header, found) in headers.iter().zip(&found) {
            assert_eq!(*found, naive(rules, header), "{lanes:?} {header:?}");
        }
    }
}

fn all_flavours<A: Address>(sizes: RangeInclusive<u64>, seeds: u64, headers: usize) {
    for flavour in Flavour::ALL {
        for seed in 0..seeds {
            let size = Random(seed).below(sizes.end() - sizes.start() + 1) + sizes.start();
            let rules = rules::<A>(flavour, size as usize, seed);
            agrees(&rules, 64 << 20, headers, seed + 1);
        }
    }
}

#[test]
fn a_few_rules_of_any_flavour_match_what_they_say() {
    let (seeds, headers) = if cfg!(miri) { (1, 20) } else { (40, 400) };
    all_flavours::<u32>(0..=if cfg!(miri) { 12 } else { 70 }, seeds, headers);
    if cfg!(not(miri)) {
        all_flavours::<u128>(0..=70, seeds, headers);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many rules to interpret")]
fn a_thousand_rules_of_any_flavour_match_what_they_say() {
    all_flavours::<u32>(900..=1_024, 2, 2_000);
    all_flavours::<u128>(900..=1_024, 2, 2_000);
}

#[test]
#[cfg_attr(miri, ignore = "too many rules to interpret")]
fn rules_behind_a_summary_match_what_they_say() {
    for flavour in Flavour::ALL {
        agrees(&rules::<u32>(flavour, 3_000, 5), 256 << 20, 1_000, 6);
        agrees(&rules::<u128>(flavour, 2_000, 5), 256 << 20, 1_000, 6);
    }
}

#[test]
#[cfg_attr(miri, ignore = "too many rules to interpret")]
fn rules_that_need_too_much_memory_are_cut_and_stay_right() {
    let rules = rules::<u32>(Flavour::Hostile, 3_000, 9);
    let whole = Classifier::compile(&rules).unwrap();
    assert_eq!(whole.runs(), 1);
    let cut = Classifier::compile_within(&rules, whole.bytes() / 2, Lanes::best()).unwrap();
    assert!(cut.runs() > 1);
    agrees(&rules, whole.bytes() / 2, 1_000, 10);
    let too_small = Classifier::compile_within(&rules, 10_000, Lanes::best());
    assert_eq!(too_small.err(), Some(NotCompiled::Memory));
}

#[test]
fn without_a_rule_nothing_matches() {
    let classifier = Classifier::<u32>::compile(&[]).unwrap();
    let mut found = [0; 3];
    classifier.lookup(&[Header::default(); 3], &mut found);
    assert_eq!(found, [NO_RULE; 3]);
    assert_eq!(classifier.verdict(NO_RULE), None);
}

#[test]
fn a_later_fragment_matches_no_rule_on_what_it_does_not_carry() {
    let rules = [
        Rule::<u32> { destination_ports: vec![0..=65_535], verdict: 1, ..Rule::default() },
        Rule { tcp_flags: vec![Flags { value: 0, mask: 2 }], verdict: 2, ..Rule::default() },
        Rule { protocols: vec![6], verdict: 3, ..Rule::default() },
    ];
    let classifier = Classifier::compile(&rules).unwrap();
    let whole = Header { protocol: 6, ..Header::default() };
    let later = Header { fragment: Fragment::Later, ..whole };
    let mut found = [0; 2];
    classifier.lookup(&[whole, later], &mut found);
    assert_eq!(found.map(|rule| classifier.verdict(rule)), [Some(1), Some(3)]);
}

#[test]
fn rules_that_can_match_nothing_are_refused_with_their_place() {
    let (high, low) = (9, 8);
    let odd = [
        Rule::<u32> { source_ports: vec![high..=low], ..Rule::default() },
        Rule { protocols: vec![17], tcp_flags: vec![Flags::default()], ..Rule::default() },
        Rule { source_ports: vec![1..=2], icmp: vec![(8, 0..=0)], ..Rule::default() },
        Rule {
            destination_ports: vec![80..=80],
            fragments: vec![Fragment::Later],
            ..Rule::default()
        },
        Rule { dscp: vec![64], ..Rule::default() },
    ];
    for rule in odd {
        let compiled = Classifier::compile(&[Rule::default(), rule]);
        assert_eq!(compiled.err(), Some(NotCompiled::Contradiction(1)));
    }
    let long = Rule::<u32> { lengths: vec![1..=1; 257], ..Rule::default() };
    assert_eq!(Classifier::compile(&[long]).err(), Some(NotCompiled::TooLong(0)));
}
