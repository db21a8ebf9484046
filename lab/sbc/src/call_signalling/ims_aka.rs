//! VoLTE with IMS-AKA: phones attach with AKA, then their calls go by their associations.
//!
//! The flow is that of VoLTE, the core speaks plain UDP. ESP leaves packet by packet, so the row is
//! judged beside VoLTE without runs of datagrams, itself without them too (`detail`); its value is
//! that of the default, with runs between SSC and core. A full run has three rounds, and both are
//! medians.

use super::super::ims::ImsGround;
use super::super::measure::{Measured, Plan, highest_rate};
use super::super::rounds::{Rounds, notes, rounds};
use super::super::topology::System;
use super::{APART_SHARE, Bench, SCENARIOS, Scenario, apart, rate, side};
use report::contract::Row;
use report::published::PublishedRow;
use serde_json::json;
use sip_load::{Found, Ladder};

pub const NAME: &str = "VoLTE+IMS-AKA";
/// The row that it is judged beside.
pub const BESIDE: &str = "VoLTE";
/// Phones that call in rotation, in a full and in a quick run.
const PHONES: [u32; 2] = [20_000, 1_000];
/// Where the search begins, as calls a second.
const FIRST_RATES: [f64; 2] = [3_000.0, 800.0];
/// What a full run holds it to: calls a second, and part of VoLTE without runs.
const RATE_MIN: f64 = 6_000.0;
const PART_MIN: f64 = 0.75;

/// Searches that belong together: a ratio is one of the same round.
struct Round {
    found: Found<Measured>,
    /// Calls a second without runs of datagrams, and those of VoLTE.
    without: Option<f64>,
    volte: Option<f64>,
}

impl Round {
    fn part(&self) -> Option<f64> {
        self.without.zip(self.volte).map(|(own, volte)| own / volte)
    }
}

impl Bench<'_> {
    /// The row: the median of its rounds. `beside` is VoLTE without runs, if it was part of this
    /// run; a full run measures it otherwise, and in each further round.
    pub(super) fn ims_aka(
        &self,
        row: &PublishedRow,
        beside: Option<f64>,
        broken: &mut Vec<String>,
    ) -> anyhow::Result<Row> {
        let rounds = rounds(self.options.quick);
        let mut all = Vec::with_capacity(rounds);
        for number in 1..=rounds {
            // What VoLTE itself found is the first round's.
            let known = beside.filter(|_| number == 1);
            all.push(self.round(&format!("{NAME}: round {number} of {rounds}"), known)?);
        }
        let values = Rounds::of(all.iter().map(|it| rate(&it.found)));
        let parts = Rounds::of(all.iter().map(Round::part));
        broken.extend(self.violations(&all, &values, &parts));
        let value = values.median();
        let messages = Ladder::built_in(BESIDE)?.messages();
        let part = parts.median().map(|part| {
            let spread = parts.words(2);
            let words = format!("x {part:.2} of VoLTE, both without runs");
            if spread.is_empty() { words } else { format!("{words} ({spread})") }
        });
        let median = &all[values.median_at()];
        let beside = &all[parts.median_at()];
        Ok(Row {
            scenario: row.scenario.clone(),
            unit: "calls/s".into(),
            published: row.value,
            peer: None,
            tandem: value,
            detail: json!({
                "note": notes(&[values.words(0), part.unwrap_or_default()]),
                "messages_per_call": messages,
                "messages_per_s_with_phones": value.unwrap_or_default() * messages as f64,
                "phones": self.phones(),
                "runs": "between SSC and core; ESP has none",
                "without_udp_runs": beside.without,
                "volte_without_udp_runs": beside.volte,
                "part_of_volte": parts.json(),
                "values": values.json(),
                "priority": self.priority,
                "peer": "none: see docs/lab.md",
                "tandem": side(&median.found),
            }),
        })
    }

    /// The searches of one round, one after the other.
    fn round(&self, name: &str, volte: Option<f64>) -> anyhow::Result<Round> {
        let Self { options, progress, .. } = *self;
        let first = if options.quick { FIRST_RATES[1] } else { FIRST_RATES[0] };
        progress.say(&format!("{name}: Tandem"));
        let (found, _) = self.search(true, first)?;
        let volte = match volte {
            Some(volte) => Some(volte),
            None => self.volte_without_runs()?,
        };
        let mut without = None;
        if !options.quick {
            progress.say(&format!("{name}: Tandem without runs of datagrams"));
            let first = rate(&found).unwrap_or(first) * APART_SHARE;
            without = rate(&self.search(false, first)?.0);
        }
        Ok(Round { found, without, volte })
    }

    /// What did not hold: of the rounds each, of the medians in a full run.
    fn violations(&self, all: &[Round], values: &Rounds, parts: &Rounds) -> Vec<String> {
        let mut broken = Vec::new();
        for round in all {
            match &round.found.best {
                None => broken.push(format!("{NAME}: no rate was held")),
                Some((_, best)) if best.report.captured == 0 => {
                    broken.push(format!("{NAME}: nothing was captured"));
                }
                Some(_) => {}
            }
        }
        if self.options.quick {
            return broken;
        }
        if let Some(value) = values.median().filter(|value| *value < RATE_MIN) {
            broken.push(format!("{NAME}: {value:.0} calls/s"));
        }
        if let Some(part) = parts.median().filter(|part| *part < PART_MIN) {
            broken.push(format!("{NAME}: {part:.2} of VoLTE without runs"));
        }
        broken
    }

    const fn phones(&self) -> u32 {
        if self.options.quick { PHONES[1] } else { PHONES[0] }
    }

    fn search(&self, runs: bool, first: f64) -> anyhow::Result<(Found<Measured>, String)> {
        let mut ims = ImsGround::new(self.phones())?;
        ims.topology.udp_runs = runs;
        let load = ims.load(Ladder::built_in(BESIDE)?, 0, true)?;
        let plan = Plan { subscribers: ims.phones(), ..self.plan };
        highest_rate(&plan, &load, first, self.progress, || {
            let system: System = ims.system(&self.options.tandem, true)?;
            load.attach(ims.phones())?;
            Ok(Some(system))
        })
    }

    fn volte_without_runs(&self) -> anyhow::Result<Option<f64>> {
        let scenario: Option<&Scenario> = SCENARIOS.iter().find(|it| it.name == BESIDE);
        let Some(scenario) = scenario else { return Ok(None) };
        let found = apart(scenario, &self.plan, self.options, self.progress)?;
        Ok(found.and_then(|(found, _)| rate(&found)))
    }
}
