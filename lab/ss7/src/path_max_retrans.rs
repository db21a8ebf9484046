//! `sctp-path-max-retrans`: Figure 4 of the failover report, by the words of its text: how much
//! longer a failover takes with one more retransmission before a path is given up, and up to which
//! number Q.706's changeover holds. Telecom(2) to Telecom(5) at 10 ms, in virtual time.

use super::failover_rows::CHANGEOVER_MAX;
use super::sctp_failover::{REPETITIONS, courses};
use anyhow::Context;
use failover::arithmetic::ms;
use failover::configuration::{Configuration, Test};
use failover::course::{Case, Course, Load};
use failover::statistics::Sample;
use report::contract::{Options, Outcome, Row};
use report::{host, published};
use serde_json::json;

const NAME: &str = "sctp-path-max-retrans";
const FROM: u16 = 2;
const TO: u16 = 5;
const DELAY_MS: u64 = 10;

/// Means of one configuration's runs, ms.
#[derive(Debug, Clone, Copy)]
struct Means {
    p: u16,
    failover: f64,
    transfer: f64,
}

/// Runs it.
///
/// # Errors
/// When the endpoints cannot be set up, or a run tells no failure.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let report = published::ss7();
    let table = report.table(NAME).context("the published table is part of the program")?;
    let means = (FROM..=TO).map(measure).collect::<anyhow::Result<Vec<_>>>()?;
    let told: Vec<_> = means
        .iter()
        .map(|it| json!({ "p": it.p, "failover_ms": it.failover, "max_transfer_ms": it.transfer }))
        .collect();
    let rows = table.rows.iter().filter(|row| options.wants(&row.scenario)).map(|row| Row {
        scenario: row.scenario.clone(),
        unit: row.unit.clone().unwrap_or_else(|| table.unit.clone()),
        published: row.value,
        peer: None,
        tandem: value(&row.scenario, &means),
        detail: json!({ "means": told, "runs_of_each": REPETITIONS }),
    });
    let mut outcome =
        Outcome { experiment: NAME, host: host::describe(), rows: rows.collect(), broken: vec![] };
    let unknown = outcome.rows.iter().filter(|row| row.tandem.is_none());
    outcome.broken = unknown.map(|row| format!("{}: no such comparison", row.scenario)).collect();
    Ok(outcome)
}

fn measure(p: u16) -> anyhow::Result<Means> {
    let test: Test = (Configuration::telecom(p), DELAY_MS);
    let cases: Vec<Case> =
        (1..=REPETITIONS).map(|seed| Case::of(&test, Load::REPORT, seed)).collect();
    let courses: Vec<Course> = courses(&cases)?;
    let failover = Sample::of(courses.iter().filter_map(|it| it.failover).map(ms));
    let transfer = Sample::of(courses.iter().map(|it| ms(it.max_transfer)));
    let (failover, transfer) = failover.zip(transfer).context("no run told a failure")?;
    Ok(Means { p, failover: failover.mean, transfer: transfer.mean })
}

/// What the row of that name asks for.
fn value(scenario: &str, means: &[Means]) -> Option<f64> {
    let of = |p: u16| means.iter().find(|it| it.p == p);
    let more = |from: u16, to: u16, what: fn(&Means) -> f64| {
        Some((what(of(to)?) / what(of(from)?) - 1.0) * 100.0)
    };
    match scenario {
        "failover, p 2 -> 3" => more(2, 3, |it| it.failover),
        "failover, p 3 -> 4" => more(3, 4, |it| it.failover),
        "failover, p 4 -> 5" => more(4, 5, |it| it.failover),
        "longest transfer, p 2 -> 5" => more(2, 5, |it| it.transfer),
        "highest p that meets Q.706 (800 ms)" => {
            let meets = means.iter().filter(|it| it.failover <= CHANGEOVER_MAX);
            meets.map(|it| f64::from(it.p)).reduce(f64::max)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_text_has_its_comparison() {
        let means = |p: u16, failover: f64| Means { p, failover, transfer: failover / 2.0 };
        let means = [means(2, 400.0), means(3, 560.0), means(4, 672.0), means(5, 840.0)];
        let report = published::ss7();
        let rows = &report.table(NAME).unwrap().rows;
        let values: Vec<_> =
            rows.iter().map(|row| value(&row.scenario, &means).unwrap().round()).collect();
        assert_eq!(values, [40.0, 20.0, 25.0, 110.0, 4.0]);
    }

    #[test]
    fn the_configurations_are_those_that_the_report_prints() {
        let report = published::ss7();
        let table = report.table("sctp-configurations").unwrap();
        for (name, configuration) in
            [("RFC2960", Configuration::rfc2960()), ("Telecom(p)", Configuration::telecom(3))]
        {
            let printed = |key| table.row(name).unwrap().number(key).unwrap();
            let path = &configuration.parameters.path;
            let heartbeat = path.hb_interval.unwrap();
            let sack = configuration.parameters.sack_delay;
            let ours = [path.rto_initial, path.rto_min, path.rto_max, heartbeat, sack].map(ms);
            let keys = ["rto_initial", "rto_min", "rto_max", "heartbeat", "sack_delay"];
            assert_eq!(ours, keys.map(printed), "{name}");
        }
    }
}
