//! `transcoding`: streams that a core transcodes, beside rtpengine.
//!
//! More and more calls speak at a packet every 20 ms, until a packet in a hundred is lost. A
//! stream's share of a core is the processor time that the controller's processes used, so that
//! what else the machine does changes little; of all numbers of calls, the one at which a stream
//! costs least counts.

use crate::calls::{Access, Becomes, Phones};
use crate::test_bed::{LOSS, Spoken, TestBed};
use anyhow::Context as _;
use forwarder_bench::{Bench, Testbed, Who};
use packet_load::{Codec, PACKETS_PER_S};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use serde_json::{Value, json};
use std::path::Path;

pub(crate) const NAME: &str = "transcoding";
const UNIT: &str = "streams a core";
/// Calls that speak at a time, at first.
const CALLS: u32 = 60;
/// Times as many the next time.
const STEP: u32 = 2;
/// More calls than that are not tried.
const CALLS_MAX: u32 = 8_000;
/// Of what was said, what must be heard.
const HEARD: f64 = 0.99;
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
        let mut row = Row::absent(name, UNIT, None, "");
        row.detail = json!({ "priority": priority.granted });
        match own(*becomes, bench, &options.tandem) {
            Ok(borne) => {
                row.tandem = Some(streams_a_core(&borne.spoken));
                row.detail["tandem"] = detail(&borne);
            }
            Err(error) => broken.push(format!("{name}: {error:#}")),
        }
        if *becomes == Becomes::Amr {
            row.detail["peer"] = json!("Debian's rtpengine decodes AMR and does not encode it");
        } else {
            match rtpengine(*becomes, bench) {
                Ok((peer, borne)) => {
                    row.peer = Some(Peer { name: peer, value: streams_a_core(&borne.spoken) });
                    row.detail["peer"] = detail(&borne);
                }
                Err(error) => broken.push(format!("{name}, rtpengine: {error:#}")),
            }
        }
        rows.push(row);
        progress.step();
    }
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

/// Streams of 50 packets a second that a core would bear.
fn streams_a_core(spoken: &Spoken) -> f64 {
    (1e9 / spoken.process_ns.max(1.0) / f64::from(PACKETS_PER_S)).round()
}

fn detail(Borne { calls, spoken }: &Borne) -> Value {
    json!({
        "calls": calls,
        "process_us_a_packet": (spoken.process_ns / 10.0).round() / 100.0,
        "sent": spoken.found.report.all.sent,
        "arrived": spoken.found.report.foreign,
    })
}

/// All of the media controller's processes: control, forwarder and transcoder.
fn own(becomes: Becomes, bench: Bench, tandem: &Path) -> anyhow::Result<Borne> {
    let scratch = Scratch::new("tandem-lab-")?;
    let ground = Testbed::new(Who::Tandem, bench.cores, scratch.path())?;
    let bed = TestBed::msc(tandem, ground, bench)?;
    bed.transcodes()?;
    spoken(&bed, becomes)
}

fn phones(becomes: Becomes, calls: u32) -> Phones {
    Phones {
        calls,
        codec: Codec::G711,
        suppression: None,
        access: Access::Plain,
        is_v6: false,
        becomes: Some(becomes),
    }
}

/// What was heard of a number of calls.
struct Borne {
    calls: u32,
    spoken: Spoken,
}

/// What was heard of the number of calls at which a stream costs least.
fn spoken(bed: &TestBed, becomes: Becomes) -> anyhow::Result<Borne> {
    let mut best: Option<Borne> = None;
    let mut calls = CALLS;
    while calls <= CALLS_MAX {
        let spoken = bed.at_its_pace(phones(becomes, calls))?;
        let all = &spoken.found.report;
        if (all.foreign as f64) < HEARD * all.all.sent as f64 {
            let first = best.is_none();
            anyhow::ensure!(!first, "{} of {} were heard", all.foreign, all.all.sent);
            break;
        }
        if best.as_ref().is_none_or(|least| spoken.process_ns < least.spoken.process_ns) {
            best = Some(Borne { calls, spoken });
        }
        calls *= STEP;
    }
    best.context("no calls were placed")
}

fn rtpengine(becomes: Becomes, bench: Bench) -> anyhow::Result<(String, Borne)> {
    let scratch = Scratch::new("tandem-lab-")?;
    let ground = Testbed::new(Who::Linux, bench.cores, scratch.path())?;
    let bed = TestBed::rtpengine(ground, bench)?;
    let borne = spoken(&bed, becomes)?;
    Ok((bed.name, borne))
}
