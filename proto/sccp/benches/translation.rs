//! What the translation of a global title costs among a million rules, its digits by chance.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
use sccp::codec::{Address, Digits, Routing, Title};
use sccp::{Change, Choice, Pattern, Rule, Rules, Selector, Target};
use std::hint::black_box;

const RULES: u64 = 1_000_000;
/// Titles in a round: far more than fit near the processor with what they touch.
const TITLES: usize = 1 << 16;

fn chance(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn number(state: &mut u64) -> String {
    format!("44{:08}", chance(state) % 100_000_000)
}

fn translation(criterion: &mut Criterion) {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let numbers: Vec<String> = (0..RULES).map(|_| number(&mut state)).collect();
    let rules = numbers.iter().enumerate();
    let rules = rules.map(|(n, it)| rule(n, Digits::parse(it).expect("ten digits").into()));
    let rules = Rules::new(rules.collect()).expect("they are few enough");
    let titles: Vec<Address> = (0..TITLES)
        .map(|_| {
            let of = chance(&mut state) as usize % numbers.len();
            let digits = format!("{}12", numbers[of]);
            Address::title(Title::e164(Digits::parse(&digits).expect("digits")), 6)
        })
        .collect();
    let mut next = 0;
    criterion.bench_function("translate among a million rules", |bench| {
        bench.iter(|| {
            next = (next + 1) % TITLES;
            black_box(rules.translate(&titles[next], 0, |_, _| true)).expect("there is a rule")
        });
    });
    let with_choices = with_choices(&numbers);
    criterion.bench_function("the same, a tenth of them with choices and ranges", |bench| {
        bench.iter(|| {
            next = (next + 1) % TITLES;
            let translated = with_choices.translate(&titles[next], 0, |_, _| true);
            black_box(translated).expect("there is a rule")
        });
    });
}

/// The rules again, every tenth one with any digit in one of two places, one of three digits, or
/// numbers from one to another.
fn with_choices(numbers: &[String]) -> Rules {
    let patterns = numbers.iter().enumerate().map(|(index, number)| {
        let text = match index % 40 {
            0 => format!("{}?{}", &number[..6], &number[7..]),
            10 => format!("{}?{}", &number[..8], &number[9..]),
            20 => format!("{}[135]{}", &number[..7], &number[8..]),
            30 => format!("{}1..{}8", &number[..9], &number[..9]),
            _ => number.clone(),
        };
        rule(index, Pattern::parse(&text).expect("a pattern"))
    });
    // A tenth of the titles would find nothing but this.
    let any = rule(0, Digits::parse("44").expect("digits").into());
    Rules::new(patterns.take(RULES as usize - 1).chain([any]).collect()).expect("few enough")
}

fn rule(index: usize, prefix: Pattern) -> Rule {
    let target = Target {
        point_code: m3ua::codec::PointCode::new(index as u32 % 500 + 1),
        subsystem: Some(6),
        routing: Routing::Subsystem,
        weight: 1,
    };
    Rule {
        selector: Selector::default(),
        prefix,
        change: Change::default(),
        targets: vec![target],
        choice: Choice::Backup,
    }
}

criterion_group!(benches, translation);
criterion_main!(benches);
