//! `high-availability`: nodes die under calls with media, and what each stream loses.
//!
//! | what happens | what may be lost |
//! |---|---|
//! | one of three media controllers is killed, both processes | 5 packets in a row, of its calls |
//! | it is cut off from all others | the same |
//! | another one whose pair has no arbiter is | as long as it takes to agree on other keys |
//! | its forwarder alone is killed | 2 |
//! | its control alone is killed; the active SSC is killed; a pair changes places as planned | 0 |
//!
//! Calls are set up by SIP through a pair of session controllers, which spreads them over three
//! media controllers: pairs, where the program has them.

mod network;
mod scenes;
mod streams;

use crate::calls::{Access, Phones};
use forwarder_bench::Bench;
use packet_load::Codec;
use peers::Priority;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::published;
use report::scratch::Scratch;
use scenes::{Played, Setting, Stand, Stream};
use serde_json::json;
use srtp::Suite;
use std::time::Duration;

pub(crate) const NAME: &str = "high-availability";
/// A packet of speech.
const PACKET_S: f64 = 0.02;
const NEEDS_PAIR: &str = "needs pairs of media controllers, which this program does not have yet";
/// The rows of the report, in its order.
const DEGRADATION: &str = "degradation after forced failover";
const LOST: &str = "lost packets per call";
const CALLS: &str = "calls lost";
/// Those of our own.
const SPREAD: &str = "spread over three MSCs";
const SPREAD_FOUR: &str = "spread over three MSCs, after a fourth is added";
const AFTER: &str = "MOS and delay after";
/// A pair without an arbiter, whose nodes both serve while they are
/// apart, and which has to agree on other keys with all ends when they meet.
const ALONE: &str = "packets lost in a row, MSC of a pair without an arbiter cut off";
/// A second and a half.
const RENEWED_MAX: u32 = 75;
/// What controllers may be away from an even spread, percent.
const SPREAD_MAX: f64 = 1.0;

/// How many calls, and how long is looked.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Calls that stand.
    calls: u32,
    /// Those of them with packets.
    speaking: u32,
    /// Calls set up a second.
    rate: f64,
    /// The time of a scene; what happens, happens after a third of it.
    time: Duration,
}

impl Size {
    const QUICK: Self =
        Self { calls: 300, speaking: 90, rate: 500.0, time: Duration::from_millis(2_500) };
    const RUN: Self =
        Self { calls: 7_500, speaking: 600, rate: 1_000.0, time: Duration::from_secs(5) };
    /// The report's calls; it had packets in all of them.
    const FULL: Self =
        Self { calls: 75_000, speaking: 3_000, rate: 1_000.0, time: Duration::from_secs(10) };

    const fn of(options: &Options) -> Self {
        match (options.quick, options.plane.full) {
            (true, _) => Self::QUICK,
            (false, true) => Self::FULL,
            (false, false) => Self::RUN,
        }
    }
}

/// What happens to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// Nothing, before all and after all.
    Before,
    SscKilled,
    ControlKilled,
    ForwarderKilled,
    Planned,
    MscKilled,
    CutOff,
    /// The same in a pair without an arbiter: both nodes serve meanwhile.
    CutOffAlone,
    After,
}

impl Event {
    const ALL: [Self; 9] = [
        Self::Before,
        Self::SscKilled,
        Self::ControlKilled,
        Self::ForwarderKilled,
        Self::Planned,
        Self::MscKilled,
        Self::CutOff,
        Self::CutOffAlone,
        Self::After,
    ];

    /// The row and the most packets of a stream that may be lost one after the other, of those that
    /// are not printed.
    const fn row(self) -> Option<(&'static str, u32)> {
        match self {
            Self::SscKilled => Some(("packets lost in a row, SSC killed", 0)),
            Self::ControlKilled => Some(("packets lost in a row, control of an MSC killed", 0)),
            Self::ForwarderKilled => Some(("packets lost in a row, forwarder killed", 2)),
            Self::Planned => Some(("packets lost in a row, planned switchover of an MSC", 0)),
            Self::CutOff => Some(("packets lost in a row, MSC cut off", 5)),
            Self::CutOffAlone => Some((ALONE, RENEWED_MAX)),
            Self::MscKilled => Some(("packets lost in a row, MSC killed", 5)),
            Self::Before | Self::After => None,
        }
    }

    /// Whether it is a pair of media controllers that it happens to.
    const fn needs_pair(self) -> bool {
        matches!(self, Self::Planned | Self::MscKilled | Self::CutOff | Self::CutOffAlone)
    }
}

/// Runs it.
///
/// # Errors
/// When there is no room for files.
pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let _priority = Priority::claim();
    let progress = Progress::new(NAME, Event::ALL.len() as u64 + 2);
    let scratch = Scratch::new("tandem-lab-")?;
    let size = Size::of(options);
    let bench = Bench::new(host::cores(), options.quick);
    let phones = Phones {
        calls: size.calls,
        codec: Codec::G729,
        suppression: None,
        access: Access::Secure(Suite::AesCm128HmacSha1_80),
        is_v6: false,
        becomes: None,
    };
    let played = Stand::play(&scratch, options, Setting { size, phones, bench }, &progress);
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    match played {
        Ok(played) => tell(&played, size, &mut outcome),
        Err(error) => {
            let why = format!("{error:#}");
            let report = published::sbc();
            let table = report.table(NAME);
            let rows = table.iter().flat_map(|table| &table.rows).zip(table.iter().cycle());
            outcome.rows.extend(rows.map(|(row, table)| table.absent(row, &why)));
            outcome.broken.push(why);
        }
    }
    outcome.rows.retain(|row| options.wants(&row.scenario));
    Ok(outcome)
}

/// The rows, and what did not hold.
fn tell(played: &Played, size: Size, outcome: &mut Outcome) {
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let about = json!({ "calls": size.calls, "speaking": size.speaking,
        "access": "SRTP, AES-CM", "core": "RTP", "pairs": played.is_paired });
    let failed = played.found(Event::MscKilled);
    let of_failed = failed.map(|streams| worst(streams.iter().filter(|it| it.is_hit)));
    let printed = [
        (DEGRADATION, of_failed.map(|it| f64::from(it.in_a_row) * PACKET_S)),
        (LOST, of_failed.map(|it| it.of_a_call as f64)),
        (CALLS, Some(played.calls_lost as f64)),
    ];
    for (name, value) in printed {
        let Some(published) = table.rows.iter().find(|row| row.scenario == name) else { continue };
        let mut row = table.absent(published, NEEDS_PAIR);
        if value.is_some() {
            row.detail = about.clone();
            row.tandem = value;
        }
        outcome.rows.push(row);
    }
    if played.calls_lost > 0 {
        outcome.broken.push(format!("{} calls lost{}", played.calls_lost, played.example));
    }
    for event in Event::ALL {
        events(event, played, outcome);
    }
    let others = Event::ALL.into_iter().filter_map(|event| played.found(event));
    let others = worst(others.flatten().filter(|stream| !stream.is_hit));
    outcome.rows.push(row("packets lost, other MSCs", "packets", others.lost as f64, json!({})));
    if others.lost > 0 {
        outcome.broken.push(format!("{} packets lost of other MSCs", others.lost));
    }
    for (name, spread) in [(SPREAD, &played.spread), (SPREAD_FOUR, &played.spread_of_four)] {
        let value = deviation(spread);
        let detail = json!({ "calls": spread, "note": format!("{spread:?}") });
        outcome.rows.push(row(name, "% of deviation, at most", value, detail));
        if value > SPREAD_MAX {
            outcome.broken.push(format!("{name}: {spread:?}"));
        }
    }
    quality(played, outcome);
}

fn events(event: Event, played: &Played, outcome: &mut Outcome) {
    let Some((name, may)) = event.row() else { return };
    let Some(streams) = played.found(event) else {
        let unit = "packets, at most";
        outcome.rows.push(Row::absent(name, unit, None, played.why(event)));
        return;
    };
    let found = worst(streams.iter().filter(|stream| stream.is_hit));
    let each: Vec<_> = streams.iter().map(Stream::detail).collect();
    let note = format!("{} lost of {} in all", found.lost, found.sent);
    let detail = json!({ "streams": each, "may": may, "note": note });
    outcome.rows.push(row(name, "packets, at most", found.in_a_row.into(), detail));
    if found.in_a_row > may {
        outcome.broken.push(format!("{name}: {} and not {may}", found.in_a_row));
    }
}

/// Quality after all beside that before all, as the tester heard it.
fn quality(played: &Played, outcome: &mut Outcome) {
    let of = |event| played.found(event).map(|streams| worst(streams.iter()));
    let (Some(before), Some(after)) = (of(Event::Before), of(Event::After)) else { return };
    let percent = (after.mos / before.mos.max(1.0) * 1e3).round() / 10.0;
    let note = format!(
        "MOS {:.2} after {:.2}, delay p99.9 {} us after {} us",
        after.mos,
        before.mos,
        after.delay_ns / 1_000,
        before.delay_ns / 1_000
    );
    let detail = json!({ "mos": { "before": before.mos, "after": after.mos },
        "delay_p999_us": { "before": before.delay_ns / 1_000, "after": after.delay_ns / 1_000 },
        "note": note });
    outcome.rows.push(row(AFTER, "% of MOS before", percent, detail));
    if percent < 99.0 {
        outcome.broken.push(format!("{AFTER}: {note}"));
    }
}

fn row(scenario: &str, unit: &str, value: f64, detail: serde_json::Value) -> Row {
    let mut row = Row::absent(scenario, unit, None, "");
    (row.tandem, row.detail) = (Some(value), detail);
    row
}

/// The worst of several streams.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Worst {
    sent: u64,
    lost: u64,
    of_a_call: u64,
    in_a_row: u32,
    delay_ns: u64,
    mos: f64,
}

fn worst<'a>(streams: impl Iterator<Item = &'a Stream>) -> Worst {
    streams.fold(Worst { mos: 5.0, ..Worst::default() }, |worst, stream| Worst {
        sent: worst.sent + stream.sent,
        lost: worst.lost + stream.lost,
        of_a_call: worst.of_a_call.max(stream.of_a_call),
        in_a_row: worst.in_a_row.max(stream.in_a_row),
        delay_ns: worst.delay_ns.max(stream.delay_ns),
        mos: worst.mos.min(stream.mos),
    })
}

/// How far the one that is furthest away is from an even spread, percent.
fn deviation(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64;
    let furthest = counts.iter().map(|count| (*count as f64 - mean).abs()).fold(0.0, f64::max);
    let percent = furthest / mean.max(1.0) * 100.0;
    (percent * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(lost: u32) -> Played {
        let stream = |is_hit, in_a_row: u32| Stream {
            name: "access, msc1".into(),
            is_hit,
            sent: 1_000,
            lost: in_a_row.into(),
            of_a_call: in_a_row.into(),
            in_a_row,
            replayed: 0,
            forged: 0,
            delay_ns: 80_000,
            mos: 4.1,
        };
        let found = |event| (event, vec![stream(true, lost), stream(false, 0)]);
        Played {
            is_paired: false,
            scenes: vec![
                found(Event::Before),
                found(Event::ForwarderKilled),
                found(Event::SscKilled),
                found(Event::After),
            ],
            why_not: Vec::new(),
            spread: vec![100, 100, 100],
            spread_of_four: vec![100, 100, 101, 99],
            calls_lost: 0,
            example: String::new(),
        }
    }

    fn told(played: &Played) -> Outcome {
        let (rows, broken) = (Vec::new(), Vec::new());
        let mut outcome = Outcome { experiment: NAME, host: json!({}), rows, broken };
        tell(played, Size::QUICK, &mut outcome);
        outcome
    }

    #[test]
    fn every_printed_row_is_told_and_what_needs_pairs_says_so() {
        let outcome = told(&played(0));
        let report = published::sbc();
        for row in &report.table(NAME).unwrap().rows {
            assert!(outcome.rows.iter().any(|told| told.scenario == row.scenario), "{row:?}");
        }
        let why = |name: &str| {
            let row = outcome.rows.iter().find(|row| row.scenario == name).unwrap();
            row.detail["why"].as_str().map(str::to_owned)
        };
        assert_eq!(why(LOST).as_deref(), Some(NEEDS_PAIR));
        assert_eq!(why(CALLS), None);
        assert!(outcome.broken.is_empty(), "{:?}", outcome.broken);
        let names: std::collections::BTreeSet<_> =
            outcome.rows.iter().map(|row| &row.scenario).collect();
        assert_eq!(names.len(), outcome.rows.len());
    }

    #[test]
    fn what_a_row_may_lose_is_its_own() {
        let broken = told(&played(2)).broken;
        assert_eq!(broken, ["packets lost in a row, SSC killed: 2 and not 0"]);
        assert_eq!(told(&played(3)).broken.len(), 2);
        let mut uneven = played(0);
        uneven.spread = vec![110, 95, 95];
        assert_eq!(told(&uneven).broken.len(), 1);
        assert!((deviation(&[110, 95, 95]) - 10.0).abs() < 1e-9 && deviation(&[]) == 0.0);
    }
}
