//! `gtt-commit`: a file with a million rules for global titles is committed while questions pass.
//!
//! ```text
//!   questions at a rate, to a title ─ gateway 4: translates ══ SCTP in UDP ══ gateway 3 ─ HLR
//!                                         ↑ tandem ctl config commit: translation_files
//! ```
//! The commit reads, checks and makes tables of the rules in the process whose shard translates, on
//! its core; afterwards the same titles are translated among the million.

use super::flow::{Counts, Flow, msisdn};
use super::generator::{Found, Generator, Load, Pace, Span, times};
use super::nodes::{Answering, Carrier, FAR, Nodes, core};
use super::rows::row;
use super::wrongs;
use anyhow::Context;
use report::contract::{Options, Outcome};
use report::host;
use sccp::codec::{Address, Digits, Indicator, Title};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The files of rules: before, and from the commit on.
const FEW: &str = "few.csv";
const MANY: &str = "many.csv";
/// What the digits of all but one rule begin with; six or more follow.
const OTHERS: &str = "99";

struct Size {
    rules: usize,
    per_s: f64,
    span: Span,
    /// The commit begins then.
    after: Duration,
}

impl Size {
    const fn of(options: &Options) -> Self {
        let (second, after) = (Duration::from_secs(1), Duration::from_secs(2));
        match options.quick {
            true => Self {
                rules: 100_000,
                per_s: 1_000.0,
                span: Span::steady(second, Duration::from_secs(12)),
                after,
            },
            false => Self {
                rules: 1_000_000,
                per_s: 3_000.0,
                span: Span::steady(second, Duration::from_secs(60)),
                after,
            },
        }
    }
}

/// Runs it.
///
/// # Errors
/// When the gateways do not come up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let size = Size::of(options);
    let (rows, broken) = (Vec::new(), Vec::new());
    let mut outcome = Outcome { experiment: "gtt-commit", host: host::describe(), rows, broken };
    let files = [(FEW, rules(0)), (MANY, rules(size.rules))];
    let near = format!("translation_files = [\"{FEW}\"]\n");
    let nodes =
        Nodes::start_with(&options.tandem, Carrier::Sctp, Answering::Inside, &near, &files)?;
    let load = Load { flow: Flow::Routing, pace: Pace::PerSecond(size.per_s), span: size.span };
    let generator = Generator::new(&nodes.socket(), title(), load)?;
    let earlier = nodes.heard();
    let heard = || nodes.heard().since(earlier);
    let agrees = |said: &Counts| nodes.should_hear(*said) == heard();
    let (found, committed) = std::thread::scope(|scope| {
        let committed = scope.spawn(|| {
            std::thread::sleep(size.span.warm + size.after);
            commit(&options.tandem, &nodes.near_directory())
        });
        let found = peers::pinned(core(false), || generator.run(&mut || (), &agrees));
        (found, committed.join())
    });
    let mut found = found??;
    found.should_hear = nodes.should_hear(found.counts);
    let took = committed.map_err(|_| anyhow::anyhow!("the commit panicked"))??;
    let last = number(size.rules - 1);
    let path = format!("functions/near/gtt/translate?digits={last}");
    let rule = nodes.near().get(&path)?["rule"].as_str().unwrap_or_default().to_owned();
    let resident = nodes.used()[0].resident_bytes;
    let committed = Committed { took, rule, resident };
    put(&size, &found, &heard(), &committed, &mut outcome);
    Ok(outcome)
}

/// How long the commit took, the rule that holds for the last number then, and octets resident.
struct Committed {
    took: Duration,
    rule: String,
    resident: u64,
}

fn put(size: &Size, found: &Found, heard: &Counts, committed: &Committed, outcome: &mut Outcome) {
    let Committed { took, rule, resident } = committed;
    let detail = json!({ "rules": size.rules, "per_s": size.per_s, "answered":
        found.counts.answered, "unbegun": found.unbegun, "why": found.why, "bar": 0 });
    outcome.rows.push(row("dialogues lost by a commit", "dialogues", found.failed as f64, detail));
    let ms = times(&found.due);
    let slowest = found.due.max() as f64 / 1e3;
    let detail = json!({ "ms": ms, "slowest_ms": slowest });
    outcome.rows.push(row("p99 with the commit, from when due", "ms", ms[ms.len() - 1], detail));
    let detail = json!({ "note": "read, checked, made into tables, and taken by the shard" });
    outcome.rows.push(row("commit", "s", took.as_secs_f64(), detail));
    outcome.rows.push(row("resident with the rules", "MB", *resident as f64 / 1e6, json!({})));
    outcome.broken.extend(wrongs(found, heard));
    if *took >= size.span.measured - size.after {
        outcome.broken.push(format!("the commit took {took:?}, longer than the load"));
    }
    let wanted = format!("{MANY}:{}", size.rules + 2);
    if *rule != wanted {
        outcome.broken.push(format!("the last rule is not found: `{rule}`, not `{wanted}`"));
    }
}

/// The digits of one of the rules that nobody asks for.
fn number(of: usize) -> String {
    format!("{OTHERS}{of:06}")
}

/// So many rules, behind the one that is asked for.
fn rules(count: usize) -> String {
    let mut text = format!("digits,targets\n{},{FAR}/6\n", &msisdn()[..4]);
    for at in 0..count {
        let _ = writeln!(text, "{},{FAR}/7", number(at));
    }
    text
}

/// The title of the one who is asked for.
fn title() -> Address {
    let digits = Digits::parse(&msisdn()).expect("they are digits");
    let title = Title {
        indicator: Indicator::TypePlanNature,
        translation_type: 0,
        plan: 1,
        nature: 4,
        encoding: if digits.is_odd() { 1 } else { 2 },
        digits,
    };
    Address::title(title, 6)
}

/// Commits the other file; how long that took.
fn commit(tandem: &Path, directory: &Path) -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string(directory.join("site.toml"))?;
    let next = directory.join("next.toml");
    std::fs::write(&next, text.replace(FEW, MANY))?;
    let begun = Instant::now();
    for words in [["load", "next.toml"], ["commit", "--comment=many rules"]] {
        let mut command = Command::new(tandem);
        command.args(["ctl", "--site", "site.toml", "--timeout", "300", "config"]).args(words);
        let output = command.current_dir(directory).output().context("tandem ctl")?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "{}: {said}", words[0]);
    }
    Ok(begun.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_or_not_committed_breaks_the_run() {
        let options = Options::of_this_executable(true).expect("it is known");
        let size = Size::of(&options);
        let broken = |failed: u64, took: u64, rule: &str| {
            let (rows, broken) = (Vec::new(), Vec::new());
            let mut it = Outcome { experiment: "gtt-commit", host: host::describe(), rows, broken };
            let mut found = Found::new();
            (found.failed, found.counts.answered, found.should_hear.answered) = (failed, 9, 9);
            let heard = Counts { answered: 9, ..Counts::default() };
            let (took, rule) = (Duration::from_secs(took), rule.to_owned());
            put(&size, &found, &heard, &Committed { took, rule, resident: 0 }, &mut it);
            assert_eq!(it.rows.len(), 4);
            it.broken.len()
        };
        assert_eq!(broken(0, 1, "many.csv:100002"), 0);
        assert_eq!(broken(1, 1, "many.csv:100002"), 1);
        assert_eq!(broken(0, 10, "many.csv:100002"), 1);
        assert_eq!(broken(0, 1, "few.csv:2"), 1);
    }

    #[test]
    fn the_last_rule_stands_in_the_line_that_is_asked_for() {
        let text = rules(3);
        assert_eq!(text.lines().nth(4), Some(&*format!("{},3/7", number(2))));
        assert!(msisdn().starts_with(text.lines().nth(1).unwrap().split(',').next().unwrap()));
    }
}
