//! `media-capacity`: Table 5, calls with media, beside rtpengine.
//!
//! | rows | how |
//! |---|---|
//! | as printed | calls set up by SIP through SSC and MSC |
//! | `…, wires` | calls set up by NG; speech both ways over two veths, a core for the controller |

use crate::calls::{Access, Phones};
use crate::stand::{LOSS, Limit, Stand};
use packets::{Bench, Ground, Who};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::progress::Progress;
use report::scratch::Scratch;
use report::{host, published};
use serde_json::json;
use srtp::Suite;
use traffic::{Codec, Suppression};

pub(crate) const NAME: &str = "media-capacity";
const UNIT: &str = "kpps a core";
/// Calls of a trial on wires: rtpengine has four sockets for each, of the 20,000 descriptors that
/// a process may have.
const CALLS: u32 = 2_000;
const QUICK_CALLS: u32 = 400;
/// No sender here makes more on wires, packets a second.
const WIRE_PPS_MAX: f64 = 2e6;
const ABSENT: &str = "needs calls set up by SIP through SSC and MSC, which are not there yet";
const NO_CONTROLLER: &str = "needs the media controller, which Tandem does not have yet";

/// A row on wires.
struct Scenario {
    name: &'static str,
    codec: Codec,
    suppression: Option<Suppression>,
    access: Access,
}

const CM: Access = Access::Secure(Suite::AesCm128HmacSha1_80);
const GCM: Access = Access::Secure(Suite::AeadAes128Gcm);

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "Plain RTP, wires",
        codec: Codec::G711,
        suppression: None,
        access: Access::Plain,
    },
    Scenario {
        name: "SRTP (access) to RTP (core), wires",
        codec: Codec::G711,
        suppression: None,
        access: CM,
    },
    Scenario {
        name: "SRTP (access, GCM) to RTP (core), wires",
        codec: Codec::G711,
        suppression: None,
        access: GCM,
    },
    Scenario {
        name: "SRTP, silence suppression (G.729AB), wires",
        codec: Codec::G729,
        suppression: Some(Suppression::CONVERSATION),
        access: CM,
    },
];

/// Runs it.
///
/// # Errors
/// When there is no room for files.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let report = published::sbc();
    let table = report.table(NAME);
    let priority = Priority::claim();
    let bench = Bench { loss: LOSS, ..Bench::new(host::cores(), options.quick) };
    let wanted: Vec<_> = SCENARIOS.iter().filter(|one| options.wants(one.name)).collect();
    let progress = Progress::new(NAME, wanted.len() as u64);
    let published = table.into_iter().flat_map(|table| {
        let rows = table.rows.iter().filter(|row| options.wants(&row.scenario));
        rows.map(|row| table.absent(row, ABSENT))
    });
    let mut rows: Vec<Row> = published.collect();
    let mut broken = Vec::new();
    for scenario in wanted {
        progress.say(scenario.name);
        let mut row = row(scenario, bench, options.quick, &mut broken);
        row.detail["priority"] = json!(priority.granted);
        rows.push(row);
        progress.step();
    }
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

fn row(scenario: &Scenario, bench: Bench, is_quick: bool, broken: &mut Vec<String>) -> Row {
    let mut row = Row::absent(scenario.name, UNIT, None, NO_CONTROLLER);
    match rtpengine(scenario, bench, is_quick) {
        Ok((name, limit)) => {
            row.peer = Some(Peer { name, value: limit.pps_a_core() / 1e3 });
            row.detail["peer"] = limit.told();
        }
        Err(error) => broken.push(format!("{}, rtpengine: {error:#}", scenario.name)),
    }
    row
}

fn rtpengine(scenario: &Scenario, bench: Bench, is_quick: bool) -> anyhow::Result<(String, Limit)> {
    let scratch = Scratch::new("tandem-lab-")?;
    let ground = Ground::new(Who::Linux, bench.cores, scratch.path())?;
    let stand = Stand::rtpengine(ground, bench)?;
    let Scenario { codec, suppression, access, .. } = *scenario;
    let calls = if is_quick { QUICK_CALLS } else { CALLS };
    let calls = stand.call(Phones { calls, codec, suppression, access })?;
    let limit = stand.limit(&calls, WIRE_PPS_MAX, None)?;
    Ok((stand.name, limit))
}
