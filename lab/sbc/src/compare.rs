//! `compare`: what a call costs this binary and another one, in pairs at the same rate.
//!
//! | what | how |
//! |---|---|
//! | load | one generator for both, the flows and transports of `call-signalling` |
//! | rate | a part of what the other bears by a coarse search: below it a core sleeps and wakes |
//! | pair | each system once, started anew; who is first takes turns |
//! | figure | processor time of a call, the median of each; the median and spread of the ratios |
//! | without `--binary` | this binary beside itself: what the measure is worth on this machine |
//!
//! A search for the highest rate moves in steps of some per cent; a cost at a fixed rate does not,
//! so that one per cent is seen in a few minutes.

use super::call_signalling::SCENARIOS;
use super::measure::{Measured, Plan, highest_rate, trial};
use super::topology::{Load, System, Topology};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use serde_json::json;
use sip_load::{Ladder, Trial};
use std::path::Path;
use std::time::Duration;

const NAME: &str = "compare";
const UNIT: &str = "us CPU/call";
/// Calls a second, as a share of what the other binary bears.
const RATE_SHARE: f64 = 0.7;
/// Pairs of a quick run and of a full one.
const PAIRS: [usize; 2] = [3, 15];
const WARM_UP: Duration = Duration::from_millis(500);
const LENGTH: Duration = Duration::from_millis(2_500);
const HOLD: Duration = Duration::from_millis(200);

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up, or one of the binaries does not come up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let binaries = [options.tandem.clone(), std::env::current_exe()?];
    let pairs = PAIRS[usize::from(!options.quick)];
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    let wanted = SCENARIOS.iter().filter(|it| options.wants(it.name));
    let progress = Progress::new(NAME, (wanted.clone().count() * (pairs + 1)) as u64);
    for scenario in wanted {
        let topology = Topology::new()?;
        let load = Load::start(&topology, Ladder::built_in(scenario.flow)?, scenario.transport)?;
        let coarse = Plan { budget: None, ..Plan::QUICK };
        let first_rate = scenario.first_rates.1;
        let (found, _) = highest_rate(&coarse, &load, first_rate, &progress, || {
            Ok(Some(System::tandem(&topology, &binaries[0])?))
        })?;
        let Some((highest, _)) = found.best else {
            outcome.broken.push(format!("{}: the other held no rate", scenario.name));
            continue;
        };
        let rate = highest * RATE_SHARE;
        let asked = Trial { rate, length: LENGTH, hold: HOLD, ..Trial::default() };
        // Captures that were shed cost less than those that were sent: a reader has to know.
        let (mut costs, mut shed) = (Vec::new(), [0; 2]);
        for pair in 0..pairs {
            let mut both = [0.0; 2];
            for at in [pair % 2, 1 - pair % 2] {
                let measured = cost(&topology, &load, &binaries[at], asked)?;
                if let Some(violation) = measured.violation() {
                    let (name, path) = (scenario.name, binaries[at].display());
                    outcome.broken.push(format!("{name}: {path}: {violation}"));
                }
                shed[at] += measured.captures_shed();
                both[at] = measured.cpu_us_per_call;
            }
            progress.say(&format!(
                "{}: {:.2} beside {:.2} us a call, x {:.3}",
                scenario.name,
                both[1],
                both[0],
                both[1] / both[0]
            ));
            progress.step();
            costs.push(both);
        }
        let [other, own] = [0, 1].map(|at| sorted(costs.iter().map(|both| both[at])));
        let ratios = sorted(costs.iter().map(|[other, own]| own / other));
        let (ratio, least, most) = (median(&ratios), ratios[0], ratios[ratios.len() - 1]);
        outcome.rows.push(Row {
            scenario: scenario.name.into(),
            unit: UNIT.into(),
            published: None,
            peer: Some(Peer { name: name(&options.tandem), value: median(&other) }),
            tandem: Some(median(&own)),
            detail: json!({
                "note": note(ratio, [least, most], shed),
                "ratio": ratio,
                "pairs": costs,
                "captures_shed": shed,
                "rate": rate,
                "priority": priority.granted,
            }),
        });
    }
    Ok(outcome)
}

/// What stands beside a row.
fn note(ratio: f64, [least, most]: [f64; 2], [other, own]: [u64; 2]) -> String {
    let pairs = format!("x {ratio:.3} of the other, {least:.3} to {most:.3} by pairs");
    match other + own {
        0 => pairs,
        _ => format!("{pairs}; captures shed: {own}, the other {other}"),
    }
}

/// What the other binary is called: the last two parts of its path, for most are called `tandem`.
fn name(binary: &Path) -> String {
    let parts: Vec<_> = binary.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// One system, started anew, at this rate.
fn cost(topology: &Topology, load: &Load, binary: &Path, asked: Trial) -> anyhow::Result<Measured> {
    let system = System::tandem(topology, binary)?;
    trial(load, Some(&system), Trial { length: WARM_UP, ..asked })?;
    trial(load, Some(&system), asked)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The middle one of sorted values, the mean of two where there are two.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert!((median(&sorted([4.0, 1.0, 3.0].into_iter())) - 3.0).abs() < f64::EPSILON);
        assert!((median(&sorted([4.0, 1.0].into_iter())) - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn captures_that_were_shed_are_told_beside_the_ratio() {
        assert_eq!(note(1.0, [0.9, 1.1], [0, 0]), "x 1.000 of the other, 0.900 to 1.100 by pairs");
        let told = note(1.0, [0.9, 1.1], [3, 5]);
        assert!(told.ends_with("captures shed: 5, the other 3"), "{told}");
    }

    #[test]
    fn the_other_binary_is_named_by_what_tells_it_from_this_one() {
        assert_eq!(name(Path::new("/a/before/tandem")), "before/tandem");
    }
}
