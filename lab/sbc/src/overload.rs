//! `overload`: what is still served when twice and four times the maximum is offered.
//!
//! | what | how |
//! |---|---|
//! | maximum | as `call-signalling` has it: the highest rate at which no call fails or is refused |
//! | | and every message is captured; the larger one of two searches |
//! | load | open loop at 2 and 4 times that rate: the generator does not slow down when refused |
//! | machine | afterwards the maximum must still hold and a fifth more must not, else it is not |
//! | | as fast as it was and all is measured again |
//! | goodput | calls that ended as their flow says, of each second of the arrivals |
//! | feedback | the same load behind a neighbour that takes overload control feedback (RFC 7339) |
//! | | and withholds the share that it is asked to; not in a quick run |
//! | checks | no admitted call failed, goodput at 2 and 4 times the maximum, in-dialog latency |
//! | peer | Kamailio at 1.5 (not in a quick run) and 2 times its own maximum |

use super::measure::{Measured, Plan, highest_rate, trial};
use super::topology::{Load, System, Topology};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::published;
use runtime::Transport;
use serde_json::{Value, json};
use sip_load::{Ladder, Trial};
use std::time::{Duration, Instant};

const NAME: &str = "overload";
/// Goodput at 2 and at 4 times the maximum, as shares of it, that a run must reach.
const SHARES_MIN: [(f64, f64); 2] = [(2.0, 0.98), (4.0, 0.95)];
/// What the short trials of a quick run may be off by.
const QUICK_SLACK: f64 = 0.1;
/// In-dialog requests are answered within this, at whatever load, 99 of 100.
const IN_DIALOG_P99_MAX_US: u64 = 100_000;
/// Share of what was to be offered that a generator that was late must have offered.
const OFFERED_MIN: f64 = 0.9;
/// The second search begins at this share of what the first one found.
const SECOND_SEARCH: f64 = 0.85;
/// How often all is measured at most, until the maximum is still the maximum afterwards.
const ATTEMPTS: u32 = 2;
/// What must not hold then.
const TOO_MUCH: f64 = 1.2;
/// Share of a quick run's budget for the search of a maximum.
const QUICK_SEARCH: Duration = Duration::from_secs(6);

struct Scenario {
    name: &'static str,
    /// Where the searches begin: the peer's, Tandem's.
    first_rates: (f64, f64),
}

const SCENARIOS: &[Scenario] = &[
    Scenario { name: "SIP", first_rates: (6_000.0, 20_000.0) },
    Scenario { name: "VoLTE", first_rates: (2_000.0, 6_000.0) },
];

/// Length and hold time of a trial above the maximum: the hold time is short beside the length,
/// so that calls are ended at nearly the rate they begin at throughout.
const fn overload_times(quick: bool) -> (Duration, Duration) {
    if quick {
        (Duration::from_millis(2_500), Duration::from_millis(50))
    } else {
        (Duration::from_secs(10), Duration::from_millis(250))
    }
}

/// Runs it.
///
/// # Errors
/// When the topology cannot be set up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let report = published::sbc();
    let table = report.table(NAME).expect("the published table is part of the program and tested");
    let wanted = SCENARIOS.iter().filter(|scenario| options.wants(scenario.name));
    let wanted: Vec<&Scenario> = wanted.collect();
    let progress = Progress::new(NAME, 2 * wanted.len() as u64);
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: Vec::new(), broken: Vec::new() };
    for scenario in wanted {
        let topology = Topology::new()?;
        let load = Load::start(&topology, Ladder::built_in(scenario.name)?, Transport::Udp)?;
        let bench = Bench { options, load: &load, progress: &progress };
        let (peer_rate, tandem_rate) = scenario.first_rates;
        let kamailio = || System::kamailio(&topology, false);
        let factors: &[f64] = if options.quick { &[2.0] } else { &[1.5, 2.0] };
        let peer = bench.measure(peer_rate, factors, &kamailio)?;
        let tandem = || System::tandem(&topology, &options.tandem);
        let (found, listening) = bench.measure_well(tandem_rate, &tandem)?;
        outcome.broken.extend(found.violations(scenario.name, options.quick));
        let row = table.rows.iter().find(|row| row.scenario == scenario.name);
        outcome.rows.push(Row {
            scenario: scenario.name.into(),
            unit: table.unit.clone(),
            published: row.and_then(|row| row.value),
            peer: peer.goodput(2.0).map(|value| Peer { name: peer.name.clone(), value }),
            tandem: found.goodput(2.0),
            detail: detail(&found, &peer, priority.granted),
        });
        let Some(listening) = listening else { continue };
        let name = format!("{}, the neighbour takes feedback", scenario.name);
        outcome.broken.extend(listening.violations(&name, options.quick));
        outcome.rows.push(Row {
            scenario: name,
            unit: table.unit.clone(),
            published: None,
            peer: None,
            tandem: listening.goodput(2.0),
            detail: detail(&listening, &Found::nothing(), priority.granted),
        });
    }
    Ok(outcome)
}

struct Bench<'a> {
    options: &'a Options,
    load: &'a Load,
    progress: &'a Progress,
}

/// What one system did.
struct Found {
    name: String,
    /// The highest rate at which no call failed and all was captured; what shares are shares of.
    maximum: Option<f64>,
    /// Whether it was still the maximum afterwards.
    stood: Option<bool>,
    /// By factor.
    above: Vec<(f64, Above)>,
}

/// A trial above the maximum.
struct Above {
    measured: Measured,
    length: Duration,
}

impl Above {
    fn goodput(&self) -> f64 {
        self.measured.report.completed as f64 / self.length.as_secs_f64()
    }

    fn json(&self, maximum: f64) -> Value {
        let report = &self.measured.report;
        let mut json = self.measured.json();
        json["goodput"] = json!(self.goodput());
        json["share_of_max"] = json!(self.goodput() / maximum);
        json["rejected"] = json!(report.rejected);
        json["withheld"] = json!(report.withheld);
        json["refusal_p99_us"] = json!(report.refusal.p99_us);
        json["in_dialog_p99_us"] = json!(self.in_dialog_p99_us());
        json["offered"] = json!(self.offered());
        json["offered_share"] = json!(self.offered() / maximum);
        json
    }

    /// The slowest of the methods inside a dialog.
    fn in_dialog_p99_us(&self) -> u64 {
        let responses = self.measured.report.responses.iter();
        let inside = responses.filter(|(method, _)| *method != "INVITE");
        inside.map(|(_, times)| times.p99_us).max().unwrap_or(u64::MAX)
    }

    /// Calls per second that the generator really placed: it may have been late.
    fn offered(&self) -> f64 {
        let lag = Duration::from_micros(self.measured.report.lag_max_us);
        self.measured.report.started as f64 / (self.length + lag).as_secs_f64()
    }
}

impl Bench<'_> {
    /// Finds the maximum of a system, then offers it more.
    fn measure(
        &self,
        first_rate: f64,
        factors: &[f64],
        start: &dyn Fn() -> anyhow::Result<System>,
    ) -> anyhow::Result<Found> {
        let begun = Instant::now();
        let quick = self.options.quick;
        let plan = Plan::of(quick);
        let budget = plan.budget.map(|_| QUICK_SEARCH);
        let plan = Plan { budget, confirm_hold: overload_times(quick).1, ..plan };
        let search = |first: f64| {
            highest_rate(&plan, self.load, first, self.progress, || Ok(Some(start()?)))
        };
        let (first, name) = search(first_rate)?;
        let mut maximum = first.best.as_ref().map(|(rate, _)| *rate);
        if let Some((rate, measured)) = first.best.filter(|_| !quick) {
            // A peer that captures nothing has no second one.
            if measured.captures > 0 {
                let second = search(rate * SECOND_SEARCH)?.0.best.map(|(rate, _)| rate);
                maximum = second.map(|second| second.max(rate)).or(maximum);
            }
        }
        let mut found = Found { name, maximum, ..Found::nothing() };
        let Some(maximum) = maximum else { return Ok(found) };
        for &factor in factors {
            let above = self.above(&plan, maximum, factor, false, start()?)?;
            self.progress.say(&sentence(&found.name, maximum, factor, &above, begun.elapsed()));
            found.above.push((factor, above));
        }
        Ok(found)
    }

    /// The same, alone and, but for a quick run, behind a neighbour that takes feedback, until the
    /// machine is still as fast as it was.
    fn measure_well(
        &self,
        first_rate: f64,
        start: &dyn Fn() -> anyhow::Result<System>,
    ) -> anyhow::Result<(Found, Option<Found>)> {
        let factors = SHARES_MIN.map(|(factor, _)| factor);
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut alone = self.measure(first_rate, &factors, start)?;
            if self.options.quick {
                return Ok((alone, None));
            }
            let mut listening = self.behind_a_listener(&alone, start)?;
            let Some(maximum) = alone.maximum else { return Ok((alone, Some(listening))) };
            let stood = self.still_holds(&alone.name, (maximum, 1.0), start)?
                && !self.still_holds(&alone.name, (maximum, TOO_MUCH), start)?;
            (alone.stood, listening.stood) = (Some(stood), Some(stood));
            if stood || attempt == ATTEMPTS {
                return Ok((alone, Some(listening)));
            }
            self.progress.say("the machine is not as fast as it was: all of it again");
        }
    }

    /// Whether so many times the maximum holds, every message captured.
    fn still_holds(
        &self,
        name: &str,
        load: (f64, f64),
        start: &dyn Fn() -> anyhow::Result<System>,
    ) -> anyhow::Result<bool> {
        let begun = Instant::now();
        let (maximum, factor) = load;
        let plan = Plan::of(self.options.quick);
        let after = self.above(&plan, maximum, factor, false, start()?)?;
        self.progress.say(&sentence(name, maximum, factor, &after, begun.elapsed()));
        Ok(after.measured.held())
    }

    /// Offers a system the same again, by a neighbour that takes feedback.
    fn behind_a_listener(
        &self,
        alone: &Found,
        start: &dyn Fn() -> anyhow::Result<System>,
    ) -> anyhow::Result<Found> {
        let begun = Instant::now();
        let plan = Plan::of(self.options.quick);
        let name = format!("{} behind a neighbour that takes feedback", alone.name);
        let mut found = Found { name, maximum: alone.maximum, ..Found::nothing() };
        let Some(maximum) = alone.maximum else { return Ok(found) };
        for (factor, _) in SHARES_MIN {
            let above = self.above(&plan, maximum, factor, true, start()?)?;
            self.progress.say(&sentence(&found.name, maximum, factor, &above, begun.elapsed()));
            found.above.push((factor, above));
        }
        Ok(found)
    }

    /// Offers a fresh system so many times its maximum.
    fn above(
        &self,
        plan: &Plan,
        maximum: f64,
        factor: f64,
        obeys: bool,
        system: System,
    ) -> anyhow::Result<Above> {
        let (length, hold) = overload_times(self.options.quick);
        let subscribers = plan.subscribers;
        let rate = maximum / 4.0;
        let warm = Trial { rate, length: plan.warm_up, subscribers, ..Trial::default() };
        trial(self.load, Some(&system), warm)?;
        let rate = factor * maximum;
        let asked = Trial { rate, length, hold, subscribers, obeys, ..Trial::default() };
        let measured = trial(self.load, Some(&system), asked)?;
        Ok(Above { measured, length })
    }
}

fn sentence(name: &str, maximum: f64, factor: f64, above: &Above, spent: Duration) -> String {
    let report = &above.measured.report;
    format!(
        "{name}, {factor} x {maximum:.0} calls/s: {:.0} served ({:.1} %), {} refused, \
        {} withheld, {} failed, in-dialog p99 {:.1} ms ({:.0} s)",
        above.goodput(),
        above.goodput() / maximum * 100.0,
        report.refused(),
        report.withheld,
        report.failed(),
        above.in_dialog_p99_us() as f64 / 1e3,
        spent.as_secs_f64(),
    )
}

impl Found {
    const fn nothing() -> Self {
        Self { name: String::new(), maximum: None, stood: None, above: Vec::new() }
    }

    fn at(&self, factor: f64) -> Option<&Above> {
        let found = self.above.iter().find(|(at, _)| (at - factor).abs() < 1e-6);
        found.map(|(_, above)| above)
    }

    fn goodput(&self, factor: f64) -> Option<f64> {
        self.at(factor).map(Above::goodput)
    }

    /// Of the maximum: under overload messages are left out of captures, so that more may be
    /// served than it.
    fn share(&self, factor: f64) -> Option<f64> {
        Some(self.goodput(factor)? / self.maximum?)
    }

    /// What did not hold.
    fn violations(&self, scenario: &str, quick: bool) -> Vec<String> {
        let mut violations = Vec::new();
        if self.maximum.is_none() {
            violations.push(format!("{scenario}: {} held no rate", self.name));
        }
        let slack = if quick { QUICK_SLACK } else { 0.0 };
        for (factor, least) in SHARES_MIN {
            let (Some(above), Some(share)) = (self.at(factor), self.share(factor)) else {
                continue;
            };
            let report = &above.measured.report;
            if share < least - slack {
                let words = format!("{share:.3} of the maximum at {factor} x, wanted {least}");
                violations.push(format!("{scenario}: {words}"));
            }
            if report.failed() > 0 {
                let words = report.examples.first().cloned().unwrap_or_default();
                let count = report.failed();
                violations
                    .push(format!("{scenario} at {factor} x: {count} calls failed ({words})"));
            }
            let offered = above.offered() / self.maximum.unwrap_or(f64::INFINITY);
            if !quick && offered < factor * OFFERED_MIN {
                let words = format!("{offered:.2} x of the maximum was offered");
                violations.push(format!("{scenario} at {factor} x: {words}"));
            }
            if above.in_dialog_p99_us() > IN_DIALOG_P99_MAX_US {
                let us = above.in_dialog_p99_us();
                violations.push(format!("{scenario} at {factor} x: in-dialog p99 {us} us"));
            }
        }
        violations
    }
}

fn detail(tandem: &Found, peer: &Found, priority: bool) -> Value {
    let side = |found: &Found| {
        let maximum = found.maximum.unwrap_or(f64::NAN);
        let above =
            found.above.iter().map(|(factor, above)| (format!("{factor}x"), above.json(maximum)));
        let mut json = json!({ "maximum": found.maximum, "still_maximum": found.stood });
        json["above"] = Value::Object(above.collect());
        json
    };
    let mut detail = json!({
        "priority": priority,
        "share_of_max": tandem.share(2.0),
        "share_of_max_4x": tandem.share(4.0),
        "in_dialog_p99_us": tandem.at(2.0).map(Above::in_dialog_p99_us),
        "in_dialog_p99_us_4x": tandem.at(4.0).map(Above::in_dialog_p99_us),
        "peer_share_of_max": peer.share(2.0),
        "peer_share_of_max_1.5x": peer.share(1.5),
        "tandem": side(tandem),
        "peer": side(peer),
    });
    if let Some(above) = tandem.at(2.0) {
        detail["tandem"]["cpu_us_per_call"] = json!(above.measured.cpu_us_per_call);
        detail["tandem"]["setup_p99_us"] = json!(above.measured.report.setup.p99_us);
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;
    use sip_load::Report;

    fn above(served: u64, offered: u64) -> Above {
        let report = Report { started: offered, completed: served, ..Report::default() };
        let measured = Measured {
            rate: 0.0,
            report,
            cpu_us_per_call: 0.0,
            resident_bytes: 0,
            hold: Duration::ZERO,
            captures: 0,
        };
        Above { measured, length: Duration::from_secs(1) }
    }

    fn found(maximum: f64, above_maximum: [Above; 2]) -> Found {
        let [twice, four] = above_maximum;
        let above = vec![(2.0, twice), (4.0, four)];
        Found { name: "tandem".into(), maximum: Some(maximum), above, ..Found::nothing() }
    }

    #[test]
    fn shares_are_of_the_maximum_and_a_generator_that_was_late_is_seen() {
        let honest = found(1_000.0, [above(990, 2_000), above(940, 4_000)]);
        assert_eq!(honest.share(2.0), Some(0.99));
        let words = honest.violations("SIP", false).join("; ");
        assert!(words.contains("0.940 of the maximum at 4 x"), "{words}");
        assert!(!words.contains("of the maximum at 2 x"), "{words}");
        let late = found(1_000.0, [above(1_100, 1_700), above(960, 4_000)]);
        assert_eq!(late.share(2.0), Some(1.1));
        let words = late.violations("SIP", false).join("; ");
        assert!(words.contains("1.70 x of the maximum was offered"), "{words}");
    }
}
