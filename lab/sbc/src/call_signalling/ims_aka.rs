//! VoLTE with IMS-AKA: phones attach with AKA, then their calls go by their associations.
//!
//! The flow is that of VoLTE, the core speaks plain UDP. ESP leaves packet by packet, so the row is
//! judged beside VoLTE without runs of datagrams, itself without them too (`detail`); its value is
//! that of the default, with runs between SSC and core.

use super::super::ims::ImsGround;
use super::super::measure::{Measured, Plan, highest_rate};
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

impl Bench<'_> {
    /// The row. `beside` is VoLTE without runs, if it was part of this run; a full run measures it
    /// otherwise.
    pub(super) fn ims_aka(
        &self,
        row: &PublishedRow,
        beside: Option<f64>,
        broken: &mut Vec<String>,
    ) -> anyhow::Result<Row> {
        let Self { options, progress, .. } = *self;
        let of = |[full, quick]: [f64; 2]| if options.quick { quick } else { full };
        progress.say(&format!("{NAME}: Tandem"));
        let (found, _) = self.search(true, of(FIRST_RATES))?;
        let value = rate(&found);
        let beside = match beside {
            Some(beside) => Some(beside),
            None => self.volte_without_runs()?,
        };
        let mut without = None;
        if !options.quick {
            progress.say(&format!("{NAME}: Tandem without runs of datagrams"));
            let first = value.unwrap_or(of(FIRST_RATES)) * APART_SHARE;
            without = rate(&self.search(false, first)?.0);
        }
        let part = without.zip(beside).map(|(own, beside)| own / beside);
        match &found.best {
            None => broken.push(format!("{NAME}: no rate was held")),
            Some((_, best)) if best.report.captured == 0 => {
                broken.push(format!("{NAME}: nothing was captured"));
            }
            Some(_) => {}
        }
        if !options.quick {
            if value.is_some_and(|value| value < RATE_MIN) {
                broken.push(format!("{NAME}: {:.0} calls/s", value.unwrap_or_default()));
            }
            if part.is_some_and(|part| part < PART_MIN) {
                let part = part.unwrap_or_default();
                broken.push(format!("{NAME}: {part:.2} of VoLTE without runs"));
            }
        }
        let calls = value.unwrap_or_default();
        let messages = Ladder::built_in(BESIDE)?.messages();
        let note = part.map(|part| format!("x {part:.2} of VoLTE, both without runs"));
        Ok(Row {
            scenario: row.scenario.clone(),
            unit: "calls/s".into(),
            published: row.value,
            peer: None,
            tandem: value,
            detail: json!({
                "note": note,
                "messages_per_call": messages,
                "messages_per_s_with_phones": calls * messages as f64,
                "phones": self.phones(),
                "runs": "between SSC and core; ESP has none",
                "without_udp_runs": without,
                "volte_without_udp_runs": beside,
                "part_of_volte": part,
                "priority": self.priority,
                "peer": "none: see docs/lab.md",
                "tandem": side(&found),
            }),
        })
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
