//! `media-capacity`: Table 5, calls with media, beside rtpengine.
//!
//! | rows | how |
//! |---|---|
//! | as printed | calls set up by SIP through SSC and MSC, memif; the last one by packet sockets |
//! | `…, in memory` | on one core a vector is made, forwarded, looked at; the second is timed |
//! | `…, rings` | the tester on one core, the plane on the other, rings between them |
//! | `…, wires` | over two veths: rtpengine told by NG, Tandem's forwarder told by the lab |
//! | `…, wires, calls by NG` | the same, a site with `[[msc]]` told by NG |

use crate::anchored::{self, Carried, Size};
use crate::calls::{Access, Calls, Phones};
use crate::test_bed::{LOSS, Limit, TestBed};
use forwarder_bench::{Bench, Memory, Rings, Testbed, Who};
use packet_load::{Codec, Suppression};
use peers::Priority;
use report::contract::{Options, Outcome, Peer, Row};
use report::progress::Progress;
use report::scratch::Scratch;
use report::{host, published};
use serde_json::{Value, json};
use srtp::Suite;
use std::path::Path;
use std::time::Duration;

pub(crate) const NAME: &str = "media-capacity";
const UNIT: &str = "kpps a core";
/// Calls of a trial on wires: rtpengine has four sockets for each, of the 20,000 descriptors that
/// a process may have.
const WIRE_CALLS: u32 = 2_000;
const QUICK_WIRE_CALLS: u32 = 400;
/// Calls in memory: those of the report.
const CALLS: u32 = 78_000;
const QUICK_CALLS: u32 = 20_000;
/// No sender here makes more, packets a second.
const WIRE_PPS_MAX: f64 = 2e6;
const RING_PPS_MAX: f64 = 12e6;
/// How long packets are forwarded in memory.
const TIME: Duration = Duration::from_secs(3);
const QUICK_TIME: Duration = Duration::from_secs(1);
/// Calls of the report's rows on two cores; of the first where there are more, as in the report.
const SIP_CALLS: [u32; 4] = [50_000, 24_000, 35_000, 8_000];
const SIP_QUICK_CALLS: u32 = 2_000;
/// What a call may cost the media controller's own process, octets: without keys and with them.
/// Tables grow by doubling, so that fewer calls say little.
const CALL_OCTETS_MAX: [u64; 2] = [1_024, 2_048];
const WEIGHED_CALLS: u32 = 10_000;
/// What is tried where those are not borne.
const SIP_PARTS: [f64; 4] = [1.0, 0.8, 0.6, 0.4];
/// Calls set up a second, and how long they speak: as in the report, and shorter.
const SIP_FULL: (f64, Duration) = (250.0, Duration::from_secs(300));
const SIP_RUN: (f64, Duration) = (1_000.0, Duration::from_secs(60));
const SIP_QUICK: (f64, Duration) = (1_000.0, Duration::from_secs(3));

/// Where packets go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Memory,
    Rings,
    Wires,
    /// On wires, calls set up by NG.
    Ng,
}

impl Way {
    const ALL: [Self; 4] = [Self::Memory, Self::Rings, Self::Wires, Self::Ng];

    const fn word(self) -> &'static str {
        match self {
            Self::Memory => "in memory",
            Self::Rings => "rings",
            Self::Wires => "wires",
            Self::Ng => "wires, calls by NG",
        }
    }
}

/// What is spoken.
#[derive(Debug, Clone, Copy)]
struct Speech {
    name: &'static str,
    codec: Codec,
    suppression: Option<Suppression>,
    access: Access,
    is_v6: bool,
}

const fn speech(name: &'static str, codec: Codec, access: Access) -> Speech {
    Speech { name, codec, suppression: None, access, is_v6: false }
}

const CM: Access = Access::Secure(Suite::AesCm128HmacSha1_80);
const GCM: Access = Access::Secure(Suite::AeadAes128Gcm);

const SPEECH: [Speech; 5] = [
    speech("Plain RTP", Codec::G729, Access::Plain),
    Speech { is_v6: true, ..speech("Plain RTP over IPv6", Codec::G729, Access::Plain) },
    speech("SRTP (access) to RTP (core)", Codec::G729, CM),
    speech("SRTP (access, GCM) to RTP (core)", Codec::G729, GCM),
    Speech {
        suppression: Some(Suppression::CONVERSATION),
        ..speech("SRTP, silence suppression (G.729AB)", Codec::G729, CM)
    },
];
/// The same with packets of G.711.
const LONG: [Speech; 2] = [
    speech("Plain RTP (G.711)", Codec::G711, Access::Plain),
    speech("SRTP (access) to RTP (core) (G.711)", Codec::G711, CM),
];

/// A row.
#[derive(Debug, Clone)]
struct Scenario {
    name: String,
    speech: Speech,
    way: Way,
}

fn scenarios() -> Vec<Scenario> {
    let all = Way::ALL.iter().flat_map(|way| SPEECH.iter().chain(&LONG).map(move |it| (way, it)));
    // rtpengine was told IPv4 addresses alone.
    let all = all.filter(|(way, speech)| !matches!(way, Way::Wires | Way::Ng) || !speech.is_v6);
    let named = |(way, speech): (&Way, &Speech)| Scenario {
        name: format!("{}, {}", speech.name, way.word()),
        speech: *speech,
        way: *way,
    };
    all.map(named).collect()
}

impl Scenario {
    /// Whether a quick run has room for it: those of the report alone.
    fn is_quick(&self) -> bool {
        let is_printed = PRINTED.iter().any(|(speech, _)| speech.name == self.speech.name);
        is_printed && self.way == Way::Memory
    }
}

impl Speech {
    const fn phones(&self, calls: u32) -> Phones {
        let Self { codec, suppression, access, is_v6, .. } = *self;
        Phones { calls, codec, suppression, access, is_v6, becomes: None }
    }
}

/// Runs it.
///
/// # Errors
/// When there is no room for files.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let report = published::sbc();
    let table = report.table(NAME);
    let priority = Priority::claim();
    let bench = Bench { loss: LOSS, ..Bench::new(host::cores(), options.quick) };
    let mut wanted = scenarios();
    wanted.retain(|one| options.wants(&one.name) && (one.is_quick() || !is_short(options)));
    let printed = table.map(|table| &table.rows[..]).unwrap_or_default();
    let printed: Vec<_> = printed.iter().filter(|row| options.wants(&row.scenario)).collect();
    let progress = Progress::new(NAME, (wanted.len() + printed.len()) as u64);
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for published in printed {
        progress.say(&published.scenario);
        let table = table.expect("its row is there");
        let row = table.absent(published, "it could not run");
        let mut row = by_sip(row, bench, options, &mut broken);
        row.detail["priority"] = json!(priority.granted);
        rows.push(row);
        progress.step();
    }
    for scenario in &wanted {
        progress.say(&scenario.name);
        let mut row = row(scenario, bench, options, &mut broken);
        row.detail["priority"] = json!(priority.granted);
        rows.push(row);
        progress.step();
    }
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

/// Whether not all rows have room: in a quick run of no certain ones.
fn is_short(options: &Options) -> bool {
    options.quick && options.scenarios.is_empty()
}

/// What a printed row is: speech and what carries it; by its place.
const PRINTED: [(Speech, Carried); 4] = [
    (SPEECH[0], Carried::Memif),
    (SPEECH[2], Carried::Memif),
    (SPEECH[4], Carried::Memif),
    (Speech { name: "Plain RTP, second virtualisation platform", ..SPEECH[0] }, Carried::Packet),
];

/// How many calls of a printed row are tried, and for how long they speak.
fn size(place: usize, options: &Options, cores: usize) -> Size {
    let calls = match (options.quick, place) {
        (true, _) => SIP_QUICK_CALLS,
        (false, 0) if cores > 2 => CALLS,
        (false, _) => SIP_CALLS[place],
    };
    let (rate, time) = match (options.quick, options.plane.full) {
        (true, _) => SIP_QUICK,
        (false, true) => SIP_FULL,
        (false, false) => SIP_RUN,
    };
    let level = |part: f64| (f64::from(calls) * part) as u32;
    Size { levels: SIP_PARTS.map(level).into(), rate, time }
}

/// A row as it is printed: the most calls that are borne.
fn by_sip(mut row: Row, bench: Bench, options: &Options, broken: &mut Vec<String>) -> Row {
    let place = PRINTED.iter().position(|(speech, _)| speech.name == row.scenario);
    let Some(place) = place else { return row };
    let (speech, carried) = PRINTED[place];
    let size = size(place, options, host::cores());
    match anchored::highest(speech.phones(0), carried, &size, bench, &options.tandem) {
        Ok(level) => {
            row.detail = json!({ "tandem": level.detail, "note": level.note });
            let most = CALL_OCTETS_MAX[usize::from(speech.access != Access::Plain)];
            let octets = level.detail["octets_per_call"]["msc"].as_u64().unwrap_or(u64::MAX);
            if level.calls >= WEIGHED_CALLS && octets > most {
                let name = &row.scenario;
                broken.push(format!("{name}: {octets} octets a call in the MSC and not {most}"));
            }
            match level.loss <= bench.loss {
                true => row.tandem = Some(level.calls.into()),
                false => broken.push(format!("{}: {}", row.scenario, level.note)),
            }
        }
        Err(error) => broken.push(format!("{}: {error:#}", row.scenario)),
    }
    row
}

fn row(scenario: &Scenario, bench: Bench, options: &Options, broken: &mut Vec<String>) -> Row {
    let mut row = Row::absent(&scenario.name, UNIT, None, "it could not run");
    let calls = match (scenario.way, options.quick) {
        (Way::Wires | Way::Ng, true) => QUICK_WIRE_CALLS,
        (Way::Wires | Way::Ng, false) => WIRE_CALLS,
        (_, true) => QUICK_CALLS,
        (_, false) => CALLS,
    };
    let phones = scenario.speech.phones(calls);
    let ours = match scenario.way {
        Way::Memory => in_memory(phones, options.quick, broken),
        Way::Rings => over_rings(phones, bench),
        Way::Wires => {
            let load_pps = match rtpengine(phones, bench) {
                Ok((name, limit)) => {
                    row.peer = Some(Peer { name, value: limit.pps_a_core() / 1e3 });
                    row.detail["peer"] = limit.detail();
                    row.detail["peer"]["note"] = json!(limit.note());
                    Some(limit.load_pps).filter(|pps| *pps > 0.0)
                }
                Err(error) => {
                    broken.push(format!("{}, rtpengine: {error:#}", scenario.name));
                    None
                }
            };
            plane(phones, bench, &options.tandem, load_pps)
        }
        Way::Ng => on_wires(TestBed::msc, phones, bench, &options.tandem, None),
    };
    match ours {
        Ok((value, mut detail)) => {
            row.tandem = Some(value);
            row.detail["note"] = detail["note"].take();
            row.detail["tandem"] = detail;
            row.detail["calls"] = json!(calls);
            row.detail.as_object_mut().map(|detail| detail.remove("why"));
        }
        Err(error) => broken.push(format!("{}: {error:#}", scenario.name)),
    }
    row
}

/// The plane alone: thousands of packets a second of its own time.
fn in_memory(
    phones: Phones,
    is_quick: bool,
    broken: &mut Vec<String>,
) -> anyhow::Result<(f64, Value)> {
    let calls = Calls::by_itself(phones, 0);
    let mut memory = Memory::new(&calls.programs())?;
    let found = memory.run(&calls.plan(), if is_quick { QUICK_TIME } else { TIME })?;
    if found.lost > 0 {
        broken.push(format!("{} of {} packets lost in memory", found.lost, found.sent));
    }
    let detail = json!({
        "note": format!("{:.0} clocks a packet", found.clocks),
        "clocks": found.clocks.round(),
        "sent": found.sent,
        "lost": found.lost,
        "calls_of_a_core": (found.pps / phones.pps() * f64::from(phones.calls)).round(),
        "voice": found.voice,
    });
    Ok((found.pps / 1e3, detail))
}

fn over_rings(phones: Phones, bench: Bench) -> anyhow::Result<(f64, Value)> {
    let calls = Calls::by_itself(phones, 0);
    let mut memory = Memory::new(&calls.programs())?;
    let (rings, mut tester) = Rings::new(&calls.plan(), bench.cores.1)?;
    let work = || Ok(bench.search(&mut tester, RING_PPS_MAX));
    let reached = rings.run(&mut memory, bench.cores, work)?;
    let mut detail = reached.detail();
    detail["note"] = json!(reached.note());
    Ok((reached.pps_a_core() / 1e3, detail))
}

fn rtpengine(phones: Phones, bench: Bench) -> anyhow::Result<(String, Limit)> {
    let scratch = Scratch::new("tandem-lab-")?;
    let ground = Testbed::new(Who::Linux, bench.cores, scratch.path())?;
    let bed = TestBed::rtpengine(ground, bench)?;
    let limit = bed.limit(phones, WIRE_PPS_MAX, None)?;
    Ok((bed.name, limit))
}

/// Tandem's forwarder; delays at the rate at which the peer's were looked at.
fn plane(
    phones: Phones,
    bench: Bench,
    tandem: &Path,
    load_pps: Option<f64>,
) -> anyhow::Result<(f64, Value)> {
    on_wires(TestBed::plane, phones, bench, tandem, load_pps)
}

fn on_wires(
    bed: impl Fn(&Path, Testbed, Bench) -> anyhow::Result<TestBed>,
    phones: Phones,
    bench: Bench,
    tandem: &Path,
    load_pps: Option<f64>,
) -> anyhow::Result<(f64, Value)> {
    let scratch = Scratch::new("tandem-lab-")?;
    let ground = Testbed::new(Who::Tandem, bench.cores, scratch.path())?;
    let bed = bed(tandem, ground, bench)?;
    let limit = bed.limit(phones, WIRE_PPS_MAX, load_pps)?;
    let mut detail = limit.detail();
    let theirs = if load_pps.is_some() { ", the peer's load" } else { "" };
    detail["note"] = json!(limit.note() + theirs);
    Ok((limit.pps_a_core() / 1e3, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_run_has_the_rates_and_times_of_the_report() {
        let mut options = Options::of_this_executable(false).unwrap();
        options.plane.full = true;
        let first = size(0, &options, 2);
        assert_eq!((first.levels[..2].to_vec(), first.rate), (vec![50_000, 40_000], 250.0));
        assert_eq!(first.time, Duration::from_secs(300));
        assert_eq!(size(0, &options, 8).levels[0], 78_000);
        assert_eq!(size(1, &options, 8).levels[0], 24_000);
        options.quick = true;
        assert_eq!(size(2, &options, 2).levels, [2_000, 1_600, 1_200, 800]);
    }

    #[test]
    fn the_rows_in_memory_and_on_wires_are_named_after_the_published_ones() {
        let names: Vec<_> = scenarios().into_iter().map(|one| one.name).collect();
        let report = published::sbc();
        let table = report.table(NAME).unwrap();
        for row in &table.rows[..3] {
            for way in Way::ALL {
                assert!(names.contains(&format!("{}, {}", row.scenario, way.word())), "{names:?}");
            }
        }
        for (row, (speech, _)) in table.rows.iter().zip(PRINTED) {
            assert_eq!(row.scenario, speech.name);
        }
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len());
    }
}
