//! What a message costs: 100,000 rules about titles, IMSIs and operations; the message read and
//! judged, and judged alone.
#![allow(missing_docs, reason = "the macros of criterion make public items")]

use criterion::{Criterion, criterion_group, criterion_main};
use machine::identity::mix;
use machine::{Duration, Time};
use sccp::codec::{Address, Digits, Title};
use screening::config::{Own, Rule, RuleFile};
use screening::{LastPlaces, Screen, Subject, Way};
use std::hint::black_box;
use tcap::codec::{Code, TransactionId, Writer};

const RULES: u64 = 100_000;
const MESSAGES: u64 = 4_096;
const OPERATIONS: [&str; 5] = [
    "updateLocation",
    "sendAuthenticationInfo",
    "sendRoutingInfoForSM",
    "purgeMS",
    "cancelLocation",
];

/// Rules about calling titles of six to twelve digits, one operation each; of ten one about the
/// called title, one about the IMSI.
fn rules(count: u64) -> RuleFile {
    let rule = |n: u64| {
        let number = mix(n);
        let digits = format!("{:012}", number % 1_000_000_000_000);
        let digits = digits[..6 + (number >> 48) as usize % 7].to_owned();
        let operations = vec![OPERATIONS[(number >> 32) as usize % OPERATIONS.len()].to_owned()];
        let rule = Rule { name: n.to_string(), operations, ..Rule::default() };
        match n % 10 {
            0 => Rule { called: vec![digits], ..rule },
            1 => Rule { imsi: vec![digits], ..rule },
            _ => Rule { calling: vec![digits], ..rule },
        }
    };
    RuleFile { rule: (0..count).map(rule).collect(), ..RuleFile::default() }
}

/// Who is called, who calls, and the message.
type Sent = (Address, Address, &'static [u8]);

/// Updates of a location, from titles of which no rule speaks. They stand one behind the other, so
/// that they are in the cache as one is that has just come.
fn messages() -> &'static [Sent] {
    let message = |n: u64| {
        let number = mix(n ^ 0x5555) % 100_000_000_000;
        let digits = |text: String| Digits::parse(&text).expect("digits");
        let calling = Address::title(Title::e164(digits(format!("{number:012}"))), 7);
        let called = Address::title(Title::e164(digits(format!("49{number:011}"))), 6);
        let mut argument = vec![0x30, 10, 0x04, 8];
        let digits = number.to_le_bytes().map(|it| (((it >> 4) % 10) << 4) | (it % 10));
        argument.extend_from_slice(&digits);
        argument[11] |= 0xf0;
        let mut data = Vec::new();
        let writer = Writer::begin(TransactionId::of(7)).request(&[4, 0, 0, 1, 0, 1, 3], &[]);
        writer.write(&mut data, |out| out.invoke(1, None, Code::Local(2), Some(&argument)));
        (called, calling, data)
    };
    let made: Vec<_> = (0..MESSAGES).map(message).collect();
    let data: &'static [u8] = Vec::leak(made.iter().flat_map(|it| it.2.clone()).collect());
    let mut rest = data;
    let sent = made.into_iter().map(|(called, calling, data)| {
        let (data, behind) = rest.split_at(data.len());
        rest = behind;
        (called, calling, data)
    });
    Vec::leak(sent.collect())
}

fn screening(c: &mut Criterion) {
    let mut group = c.benchmark_group("screening");
    let (messages, now) = (messages(), Time::from_millis(1));
    let places = LastPlaces::new(0, Duration::ZERO, 0);
    for count in [100, RULES] {
        let screen = Screen::new(&rules(count), &Own::default(), &|_| None).expect("rules");
        let subject = |it: &'static Sent| {
            let way = Way { opc: 1, dpc: 2, called: &it.0, calling: &it.1 };
            Subject::read(way, it.2).expect("a message")
        };
        let mut at = 0;
        group.bench_function(format!("read and judged, {count} rules"), |b| {
            b.iter(|| {
                at = (at + 1) % messages.len();
                black_box(screen.judge(now, &subject(&messages[at]), &places))
            });
        });
        let read: Vec<_> = messages.iter().map(subject).collect();
        group.bench_function(format!("judged, {count} rules"), |b| {
            b.iter(|| {
                at = (at + 1) % read.len();
                black_box(screen.judge(now, &read[at], &places))
            });
        });
    }
    group.bench_function("read alone", |b| {
        let (called, calling, data) = &messages[0];
        let way = Way { opc: 1, dpc: 2, called, calling };
        b.iter(|| black_box(Subject::read(way, black_box(data)).is_ok()));
    });
    group.finish();
}

criterion_group!(benches, screening);
criterion_main!(benches);
