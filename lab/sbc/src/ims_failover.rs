//! `ims-failover`: the active P-CSCF of a pair is killed while phones with AKA call and others
//! attach.
//!
//! ```text
//!  tq-N-gen: phones, home ── bridge ──┬── tq-N-a: SSC, 10.213.0.10/.11 while active
//!                                     └── tq-N-b: SSC
//! ```
//! | what | how |
//! |---|---|
//! | load | 1,000 calls/s of phones that stand, 1,000 registrations/s of others, then `kill -9`; |
//! |      | `--quick`: 250 of each, which every build of the P-CSCF bears |
//! | calls | those that were established end as the flow says: what is not answered is sent again |
//! |       | (RFC 3261 §17) |
//! | new calls | for how long they had to send again, and failed: who has heard 180 sends no |
//! |           | INVITE again, and early dialogs are not told to the standby |
//! | registrations | phones send again too: none may fail |
//! | anew | afterwards each phone of both kinds calls once by the associations that it has |
//! | numbers | no packet comes to a phone with a number that was used under its key |

use super::failover_pair::{Network, Node, paired, settle};
use super::ims::Around;
use super::topology::Load;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use report::site_file::SiteFile;
use serde_json::json;
use sip_load::{Act, Ladder, Report, Trial};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "ims-failover";
const CALLS: &str = "IMS calls lost by kill -9";
const REGISTRATIONS: &str = "IMS registrations lost by kill -9";
const ANEW: &str = "IMS phones that must register anew";
const NUMBERS: &str = "ESP numbers used twice";
const ROWS: [(&str, &str); 4] =
    [(CALLS, "calls"), (REGISTRATIONS, "registrations"), (ANEW, "phones"), (NUMBERS, "packets")];
const RATE: f64 = 1_000.0;
const QUICK_RATE: f64 = 250.0;
const HOLD: Duration = Duration::from_secs(3);
/// Load before the kill, and after it.
const BEFORE: Duration = Duration::from_secs(4);
const AFTER: Duration = Duration::from_secs(4);
/// What is not over so long after that has failed.
const DRAIN: Duration = Duration::from_secs(36);
/// Phones that call, and those that attach: each once.
const CALLERS: u32 = 2_000;
const REGISTRANTS: u32 = 9_000;
/// Messages of a call that are sent again when they are lost: INVITE, 200, BYE.
const RESENT_OF_CALL: f64 = 3.0;
/// New calls may fail for this long.
const OUTAGE_MAX_MS: f64 = 200.0;
const POLL: Duration = Duration::from_millis(50);
const IPSEC: &str = "ipsec = { under_way_of_source_max = 100000, sets_of_source_max = 100000 }";

/// The P-CSCF of one node.
fn pcscf(at: usize, site: SiteFile) -> SiteFile {
    paired(at, site, "", ["10.213.0.21:5999", "10.213.0.22:5999"])
        .with(r#"addresses = ["10.213.0.10/24@eth0", "10.213.0.11/24@eth0"]"#)
        .with("[ssc.registrar]\nclient_expires_s = 3600\ncore_expires_s = 7200")
        .with("[ssc.shield]\ntrusted = [\"10.213.0.0/24\"]")
        .realm("access", "access", &["udp:10.213.0.10:5060"])
        .with(format_args!("register_required = true\n{IPSEC}"))
        .realm("core", "core", &["udp:10.213.0.11:5060"])
        .with("trusted = true")
        .next_hop("scscf", "udp:10.213.0.2:5060")
        .route("access", "scscf")
}

/// What was found.
struct Found {
    /// Calls a second, and registrations.
    rate: f64,
    calls: Report,
    registrations: Report,
    /// Each phone calls once more.
    again: Report,
}

/// Runs it.
///
/// # Errors
/// When a node does not come up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => return Ok(without_namespaces(options, &error)),
    };
    let scratch = Scratch::new("tandem-lab-")?;
    let progress = Progress::new(NAME, 1);
    let found = thread::scope(|scope| {
        let work = scope.spawn(|| {
            network.enter(0)?;
            measure(&network, scratch.path(), options, &progress)
        });
        work.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the measurement crashed")))
    })?;
    progress.step();
    Ok(outcome(options, &found))
}

fn without_namespaces(options: &Options, error: &anyhow::Error) -> Outcome {
    let why = format!("needs root, network namespaces and ip(8): {error:#}");
    let wanted = ROWS.iter().filter(|(name, _)| options.wants(name));
    let rows = wanted.map(|(name, unit)| Row::absent(name, unit, None, &why)).collect();
    Outcome { experiment: NAME, host: host::describe(), rows, broken: vec![why] }
}

fn measure(
    network: &Network,
    scratch: &Path,
    options: &Options,
    progress: &Progress,
) -> anyhow::Result<Found> {
    let node = |at: usize| {
        let directory = scratch.join(["a", "b"][at]);
        Node::new(at, network, directory, &options.tandem, pcscf)
    };
    let rate = if options.quick { QUICK_RATE } else { RATE };
    let mut nodes = [node(0)?, node(1)?];
    nodes[0].start()?;
    nodes[1].start()?;
    settle(&nodes)?;
    let around = Around {
        phones: vec!["10.213.0.1:5060".parse()?],
        pcscf: "10.213.0.10:5060".parse()?,
        server_port: 5_062,
        core: "10.213.0.2:5060".parse()?,
        capture: None,
        udp_runs: true,
    };
    let load = around.load(Ladder::built_in("SIP")?, CALLERS + REGISTRANTS, 0)?;
    load.attach(CALLERS)?;
    progress.say("phones call, others attach; then the active node is killed");
    let length = BEFORE + AFTER;
    let trial = Trial { rate, length, hold: HOLD, ..Trial::default() };
    load.begin(Trial { subscribers: CALLERS, ..trial })?;
    load.begin_phones(Act::Attach, &trial)?;
    thread::sleep(BEFORE);
    let active = usize::from(!nodes[0].is_active());
    nodes[active].kill();
    thread::sleep(AFTER);
    let registrations = load.phones_ended(DRAIN)?;
    let calls = ended(&load)?;
    progress.say("each phone calls once, by the associations that it has");
    let attached = registrations.completed + u64::from(CALLERS);
    let length = Duration::from_secs_f64((attached as f64 - 0.5) / rate);
    load.begin(Trial { rate, length, subscribers: attached as u32, ..Trial::default() })?;
    thread::sleep(length);
    let again = ended(&load)?;
    let registrations = Report { duplicates: load.phones()?.duplicates, ..registrations };
    Ok(Found { rate, calls, registrations, again })
}

/// The report once no call runs any more.
fn ended(load: &Load) -> anyhow::Result<Report> {
    let end = Instant::now() + DRAIN;
    loop {
        let report = load.report()?;
        if !report.running || Instant::now() > end {
            return Ok(report);
        }
        thread::sleep(POLL);
    }
}

fn outcome(options: &Options, found: &Found) -> Outcome {
    let Found { rate, calls, registrations, again } = found;
    let left = |report: &Report| report.started.saturating_sub(report.completed);
    let established = calls.setup.count;
    let unestablished = calls.started.saturating_sub(established);
    let sent_again = calls.retransmissions as f64 / RESENT_OF_CALL;
    let outage_ms = (sent_again + unestablished as f64) / rate * 1e3;
    let values = [
        established.saturating_sub(calls.completed),
        left(registrations).max(registrations.failed()),
        left(again).max(again.failed()),
        registrations.duplicates,
    ];
    let mut broken = Vec::new();
    if outage_ms > OUTAGE_MAX_MS {
        broken.push(format!("{CALLS}: new ones went unanswered for {outage_ms:.0} ms"));
    }
    let told = |report: &Report| {
        json!({
            "started": report.started,
            "completed": report.completed,
            "failed": report.failures,
            "refused": report.rejected,
            "examples": report.examples,
            "retransmissions": report.retransmissions,
            "setup_p99_us": report.setup.p99_us,
            "setup_max_us": report.setup.max_us,
        })
    };
    let details = [told(calls), told(registrations), told(again), json!({})];
    let mut rows = Vec::new();
    for (((name, unit), value), mut detail) in ROWS.into_iter().zip(values).zip(details) {
        if !options.wants(name) {
            continue;
        }
        if value > 0 {
            broken.push(format!("{name}: {value}"));
        }
        if name == CALLS {
            detail["per_s"] = json!(rate);
            detail["established"] = json!(established);
            detail["new_calls_failed"] = json!(unestablished);
            detail["outage_ms"] = json!(outage_ms);
        }
        rows.push(Row {
            scenario: name.into(),
            unit: unit.into(),
            published: None,
            peer: None,
            tandem: Some(value as f64),
            detail,
        });
    }
    Outcome { experiment: NAME, host: host::describe(), rows, broken }
}
