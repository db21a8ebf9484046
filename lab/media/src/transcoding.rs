//! `transcoding`: streams that a core transcodes, beside rtpengine.
//!
//! Some calls speak at a packet every 20 ms; a stream's share of a core is the processor time that
//! the controller's process used, so that what else the machine does changes little.

use crate::calls::{Access, Becomes, Phones};
use crate::test_bed::{LOSS, Spoken, TestBed};
use packets::{Bench, Ground, Who};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use serde_json::json;
use traffic::{Codec, PACKETS_PER_S};

pub(crate) const NAME: &str = "transcoding";
const UNIT: &str = "streams a core";
/// Calls that speak at a time.
const CALLS: u32 = 60;
const ABSENT: &str =
    "needs transcoding in the path of the media controller, which is not there yet";

const SCENARIOS: [(&str, Becomes); 3] = [
    ("G.711 and G.722", Becomes::G722),
    ("G.711 to Opus", Becomes::Opus),
    ("G.711 to AMR", Becomes::Amr),
];

/// Runs it.
///
/// # Errors
/// When there is no room for files.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let priority = Priority::claim();
    let bench = Bench { loss: LOSS, ..Bench::new(host::cores(), options.quick) };
    let wanted: Vec<_> = SCENARIOS.iter().filter(|(name, _)| options.wants(name)).collect();
    let progress = Progress::new(NAME, wanted.len() as u64);
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for (name, becomes) in wanted {
        progress.say(name);
        let mut row = Row::absent(name, UNIT, None, ABSENT);
        if *becomes == Becomes::Amr {
            row.detail["peer"] = json!("Debian's rtpengine decodes AMR and does not encode it");
            rows.push(row);
            continue;
        }
        match rtpengine(*becomes, bench) {
            Ok((peer, spoken)) => {
                let value = 1e9 / spoken.process_ns.max(1.0) / f64::from(PACKETS_PER_S);
                row.peer = Some(Peer { name: peer, value: value.round() });
                row.detail["peer"] = json!({
                    "calls": CALLS,
                    "process_us_a_packet": (spoken.process_ns / 10.0).round() / 100.0,
                    "sent": spoken.found.report.all.sent,
                    "arrived": spoken.found.report.foreign,
                });
            }
            Err(error) => broken.push(format!("{name}, rtpengine: {error:#}")),
        }
        row.detail["priority"] = json!(priority.granted);
        rows.push(row);
        progress.step();
    }
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

fn rtpengine(becomes: Becomes, bench: Bench) -> anyhow::Result<(String, Spoken)> {
    let scratch = Scratch::new("tandem-lab-")?;
    let ground = Ground::new(Who::Linux, bench.cores, scratch.path())?;
    let bed = TestBed::rtpengine(ground, bench)?;
    let spoken = bed.at_its_pace(Phones {
        calls: CALLS,
        codec: Codec::G711,
        suppression: None,
        access: Access::Plain,
        is_v6: false,
        becomes: Some(becomes),
    })?;
    let all = &spoken.found.report;
    // Some are still in its encoders.
    anyhow::ensure!(all.foreign * 2 > all.all.sent, "{} of {}", all.foreign, all.all.sent);
    Ok((bed.name, spoken))
}
