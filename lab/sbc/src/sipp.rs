//! `sipp`: SIPp's own scenarios through the SSC at a set rate, and every call in the SAS.

use anyhow::Context;
use peers::{Sipp, SippCounts, SippSpec};
use report::contract::{Options, Outcome, Peer, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use report::site::{Site, address};
use report::site_file::SiteFile;
use serde_json::json;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Calls that are live at once at most, in SIPp.
const LIVE_MAX: u32 = 15_000;
/// Longest time until the SAS shows the last call.
const SHOWN_MAX: Duration = Duration::from_secs(30);
const SETTLE: Duration = Duration::from_millis(500);
/// Missing calls that are named.
const EXAMPLES_MAX: usize = 5;

/// What to check.
#[derive(Debug, Clone)]
pub struct SippCheck {
    /// The `tandem` binary.
    pub tandem: PathBuf,
    /// Calls per second.
    pub rate: f64,
    /// How many calls.
    pub calls: u64,
    /// Percentage of messages that the calling SIPp drops on purpose, received and sent, so that
    /// they must be repeated. The answering one drops none: when both its answers to an INVITE
    /// are lost it takes the repeated INVITE for a violation and gives the call up.
    pub lost_percent: u8,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct SippFound {
    /// What the calling SIPp counted.
    pub counts: SippCounts,
    /// Calls that the SAS has, found by their Call-ID.
    pub in_sas: u64,
    /// Some that it has not.
    pub missing: Vec<String>,
    /// The first errors of the calling SIPp.
    pub errors: String,
    /// From the first call to the last.
    pub elapsed: Duration,
}

impl SippFound {
    /// Whether no call failed and none is missing.
    #[must_use]
    pub fn held(&self, calls: u64) -> bool {
        self.counts.failed == 0 && self.counts.succeeded == calls && self.in_sas == calls
    }
}

/// Runs SIPp's `uac` and `uas` through a site with SSC and SAS.
///
/// # Errors
/// When something does not start, or SIPp does not end.
pub fn sipp_check(check: &SippCheck) -> anyhow::Result<SippFound> {
    let scratch = Scratch::new("tandem-sipp-")?;
    let directory = scratch.path();
    let loopback = |last: u8| IpAddr::from([127, 0, 0, last]);
    let (caller, answerer) = (address(loopback(31), 5060)?, address(loopback(32), 5060)?);
    let (access, core) = (address(loopback(1), 5070)?, address(loopback(2), 5070)?);
    let (api, collector) = (address(loopback(1), 8070)?, address(loopback(1), 9070)?);
    let text = SiteFile::new("sipp", directory, api)
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\"]"))
        .with(format_args!("[[ssc]]\nname = \"ssc1\"\ncapture = \"tcp:{collector}\""))
        .realm("access", "access", &[format!("udp:{access}")])
        .realm("core", "core", &[format!("udp:{core}")])
        .next_hop("far-end", format_args!("udp:{answerer}"))
        .route("access", "far-end")
        .text();
    let site = Site::start(&Site::spec(&check.tandem, directory), &text, api)?;
    let _answerer = Sipp::start(&SippSpec::new("uas", "uas", answerer), directory)?;
    let mut spec = SippSpec::new("uac", "uac", caller);
    (spec.remote, spec.calls, spec.rate) = (Some(access), Some(check.calls), check.rate);
    if check.lost_percent > 0 {
        spec.arguments = vec!["-lost".to_owned(), check.lost_percent.to_string()];
    }
    let more = ["-l", &LIVE_MAX.to_string(), "-cid_str", "sipp-%u@%s"].map(str::to_owned);
    spec.arguments.extend(more);
    let begun = Instant::now();
    let mut sipp = Sipp::start(&spec, directory)?;
    let limit = Duration::from_secs_f64(check.calls as f64 / check.rate * 2.0 + 60.0);
    sipp.wait(limit).with_context(|| sipp.log_end())?;
    let elapsed = begun.elapsed();
    let id = |number| format!("sipp-{number}@{}", caller.ip());
    let ids: Vec<String> = (1..=check.calls).map(id).collect();
    let (in_sas, missing) = look_up(&site, &ids)?;
    Ok(SippFound { counts: sipp.counts()?, in_sas, missing, errors: sipp.errors(), elapsed })
}

/// How many of the calls the SAS shows as answered, and some that it does not. Waits for the last
/// of them.
pub(crate) fn look_up(site: &Site, ids: &[String]) -> anyhow::Result<(u64, Vec<String>)> {
    let until = Instant::now() + SHOWN_MAX;
    loop {
        let answered = site.answered()?;
        let in_sas = ids.iter().filter(|id| answered.contains(*id)).count();
        if in_sas == ids.len() || Instant::now() > until {
            let missing = ids.iter().filter(|id| !answered.contains(*id)).take(EXAMPLES_MAX);
            return Ok((in_sas as u64, missing.cloned().collect()));
        }
        std::thread::sleep(SETTLE);
    }
}

/// Runs the experiment.
///
/// # Errors
/// When something does not start.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome {
        experiment: "sipp",
        host: host::describe(),
        rows: Vec::new(),
        broken: Vec::new(),
    };
    let seconds = if options.quick { 10 } else { 60 };
    let scenarios = [("uac/uas", 0, 1_000.0), ("uac/uas, 2 % lost", 2, 200.0)];
    let progress = Progress::new("sipp", scenarios.len() as u64);
    for (name, lost_percent, rate) in scenarios.into_iter().filter(|s| options.wants(s.0)) {
        progress.say(&format!("{name}: {rate} calls/s for {seconds} s"));
        let calls = (rate * f64::from(seconds)) as u64;
        let tandem = options.tandem.clone();
        let found = sipp_check(&SippCheck { tandem, rate, calls, lost_percent })?;
        if !found.held(calls) {
            outcome.broken.push(format!("{name}: {}", complaint(&found, calls)));
        }
        outcome.rows.push(row(name, calls, &found));
        progress.step();
    }
    Ok(outcome)
}

fn complaint(found: &SippFound, calls: u64) -> String {
    let SippCounts { succeeded, failed, .. } = found.counts;
    format!(
        "of {calls} calls {succeeded} succeeded, {failed} failed, {} in the SAS (missing: {}) {}",
        found.in_sas,
        found.missing.join(", "),
        found.errors.lines().take(10).collect::<Vec<_>>().join(" | "),
    )
}

fn row(name: &str, calls: u64, found: &SippFound) -> Row {
    let seconds = found.elapsed.as_secs_f64();
    Row {
        scenario: name.into(),
        unit: "calls/s".into(),
        published: None,
        peer: None::<Peer>,
        tandem: Some(found.counts.succeeded as f64 / seconds),
        detail: json!({
            "calls": calls,
            "succeeded": found.counts.succeeded,
            "failed": found.counts.failed,
            "retransmissions": found.counts.retransmissions,
            "in_sas": found.in_sas,
            "missing": found.missing,
        }),
    }
}
