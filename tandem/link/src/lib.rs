//! `tandem lab link`: emulated links for packets of any program.
#![forbid(unsafe_code)]

pub mod command;

use clap::Parser as _;
use client::Exit;
use command::{Link, Reverse};
use link::{Emulator, Event, LinkPlan, LinkSummary, Plan, Summary, Way, WaySummary, What, Which};
use serde_json::{Value, json};
use show::{Listing, plain};
use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// How often a signal is looked for and cuts are told.
const LOOK: Duration = Duration::from_millis(100);
/// How often the status line is written anew.
const STATUS_S: f64 = 1.0;
/// Columns of [`rows`].
pub const WAYS: Listing = Listing::new(
    "no link stands",
    &[
        plain("link", "Link"),
        plain("way", "Way"),
        plain("offered", "Offered"),
        plain("delivered", "Delivered"),
        plain("mbit_s", "Mbit/s"),
        plain("lost", "Lost"),
        plain("dropped", "Dropped"),
        plain("cut", "Cut"),
        plain("duplicated", "Twice"),
        plain("reordered", "Held"),
        plain("corrupted", "Corrupt"),
        plain("late_p99_us", "Late p99 us"),
    ],
);

/// Runs links until a signal or the set time, and tells what passed them.
///
/// # Errors
/// Why they did not run.
pub fn run(asked: &Link) -> Result<Summary, Exit> {
    let mut plan = plan(asked)?;
    plan.seed = asked.seed.unwrap_or(plan.seed);
    plan.check().map_err(Exit::Usage)?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    let emulator = Emulator::start(&plan)?;
    for note in emulator.notes() {
        eprintln!("tandem: {note}");
    }
    let time = asked.seconds.map_or(Duration::MAX, Duration::from_secs);
    let begun = Instant::now();
    let mut status = Status::default();
    while emulator.runs() && !ended.load(SeqCst) && begun.elapsed() < time {
        std::thread::sleep(LOOK.min(time.saturating_sub(begun.elapsed())));
        status.show(emulator.summary());
    }
    status.clear();
    let summary = emulator.end()?;
    for way in ways(&summary).filter(|(.., way)| way.missed > 0) {
        eprintln!("tandem: {} {}: {} packets came too fast", way.0.name, way.1, way.2.missed);
    }
    Ok(summary)
}

/// A row for each way of each link, by [`WAYS`].
#[must_use]
pub fn rows(summary: &Summary) -> Vec<Value> {
    ways(summary).map(|way| row(summary, way)).collect()
}

fn plan(asked: &Link) -> Result<Plan, Exit> {
    let there = asked.way.way();
    if let Some(file) = &asked.file {
        if there != Way::default() {
            return Err(Exit::Usage("with --file, the file says how links behave".into()));
        }
        let unread = |why: std::io::Error| Exit::Failed(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(unread)?;
        let named = |why: String| Exit::Invalid(format!("{}: {}\n", file.display(), why.trim()));
        return Plan::read(&text).map_err(named);
    }
    let back = match Reverse::try_parse_from(&asked.reverse) {
        Ok(reverse) => reverse.way.way(),
        Err(error) => return Err(Exit::Usage(format!("after --reverse: {error}"))),
    };
    let event = |what: What| {
        move |&at: &link::Span| Event { at, way: Which::Both, what: Some(what), set: None }
    };
    let events: Vec<Event> = asked.cut.iter().map(event(What::Cut)).collect();
    let events = [events, asked.heal.iter().map(event(What::Heal)).collect()].concat();
    let Ok(between) = <[_; 2]>::try_from(asked.between.clone()) else {
        return Err(Exit::Usage("--between wants two interfaces".into()));
    };
    let name = "link".to_owned();
    let planned = LinkPlan::new(name, between, &there, &back, &events).map_err(Exit::Usage)?;
    Ok(Plan { seed: 1, links: vec![planned] })
}

/// A way of a link, with its arrow.
type Arrow<'a> = (&'a LinkSummary, &'static str, &'a WaySummary);

/// Each way of each link.
fn ways(summary: &Summary) -> impl Iterator<Item = Arrow<'_>> {
    fn both(link: &LinkSummary) -> [Arrow<'_>; 2] {
        [(link, "→", &link.forward), (link, "←", &link.reverse)]
    }
    summary.links.iter().flat_map(both)
}

fn row(summary: &Summary, way: Arrow<'_>) -> Value {
    let (link, arrow, way) = way;
    let mut row = json!(way.counts);
    row["link"] = json!(link.name);
    row["way"] = json!(arrow);
    let mbit_s = way.counts.delivered_octets as f64 * 8.0 / summary.seconds.max(1e-3) / 1e6;
    row["mbit_s"] = json!(format!("{mbit_s:.2}"));
    row["late_p99_us"] = json!(way.late_us.map(|late| late.p99));
    row
}

/// A line on a terminal, and a line for each cut.
#[derive(Default)]
struct Status {
    before: Summary,
    last: Summary,
    is_written: bool,
}

impl Status {
    fn show(&mut self, summary: Summary) {
        let was = ways(&self.last).map(|(.., way)| way.is_cut).collect::<Vec<_>>();
        for ((link, arrow, way), was) in ways(&summary).zip(was) {
            if way.is_cut != was {
                self.clear();
                let what = if way.is_cut { "cut" } else { "healed" };
                eprintln!("{:8.1} s  {} {arrow} {what}", summary.seconds, link.name);
            }
        }
        let due = summary.seconds - self.before.seconds >= STATUS_S;
        if due && std::io::stderr().is_terminal() {
            // Without wrapping: what does not fit is cut off.
            eprint!("\r\x1b[2K\x1b[?7l{}\x1b[?7h", line(&self.before, &summary));
            // Nowhere to complain when standard error is gone.
            let _ = std::io::stderr().flush();
            self.is_written = true;
        }
        if due {
            self.before = summary.clone();
        }
        self.last = summary;
    }

    /// Removes the line, if it stands.
    fn clear(&mut self) {
        if std::mem::take(&mut self.is_written) {
            eprint!("\r\x1b[2K");
        }
    }
}

/// What happened between two moments.
fn line(before: &Summary, now: &Summary) -> String {
    let seconds = (now.seconds - before.seconds).max(1e-3);
    let none = WaySummary::default();
    let olds = ways(before).map(|(.., way)| way).chain(std::iter::repeat(&none));
    let way = |((link, arrow, way), old): (Arrow<'_>, &WaySummary)| {
        let (new, old) = (&way.counts, &old.counts);
        let packets = (new.delivered - old.delivered) as f64 / seconds;
        let bits = (new.delivered_octets - old.delivered_octets) as f64 * 8.0 / seconds;
        let name = if arrow == "→" { &link.name } else { "" };
        let is_cut = if way.is_cut { " CUT" } else { "" };
        format!(
            "  {name} {arrow} {packets:.0}/s {:.1} Mbit/s lost {} dropped {} queue {}{is_cut}",
            bits / 1e6,
            new.lost + new.cut,
            new.dropped,
            way.waiting
        )
    };
    let ways: String = ways(now).zip(olds).map(way).collect();
    format!("{:.0} s{ways}", now.seconds)
}
