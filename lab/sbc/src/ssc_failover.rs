//! `ssc-failover`: a pair of SSCs in two namespaces; the active one is killed under load, comes
//! back, takes over again as planned, and is told to end. Then what else may happen to a pair:
//! see [`super::failover_scenes`].
//!
//! ```text
//!  tq-N-gen: caller, callee ── bridge ──┬── tq-N-a: SSC, 10.213.0.10/.11 while active
//!                                       └── tq-N-b: SSC
//! ```
//! | what | how |
//! |---|---|
//! | load | 1,000 calls/s; each is changed by a re-INVITE halfway and ended by either side |
//! | lost | a call that stood at the kill and was not changed and ended on both sides |
//! | outage | from the kill to the last new call whose first INVITE brought no answer in 450 ms |

use super::failover_ends::{Call, Ends, Places, Plan};
use super::failover_pair::{Network, Node, paired, settle, wait};
use super::failover_scenes::{self, Scenes};
use super::failover_tracked::{self, Tracked};
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use report::site_file::SiteFile;
use serde_json::{Value, json};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "ssc-failover";
/// The row that the experiment is about. The report failed a media controller instead, by command
/// (its table `high-availability`): it has no figures for a signalling controller.
const KILLED: &str = "calls lost by kill -9";
const RATE: f64 = 1_000.0;
const HOLD: Duration = Duration::from_secs(3);
/// Load before the kill, and after it.
const BEFORE: Duration = Duration::from_secs(4);
const AFTER: Duration = Duration::from_secs(4);
/// Longest time for calls to end.
const DRAIN: Duration = Duration::from_secs(13);
/// New calls may fail for this long after a kill.
const OUTAGE_MAX_MS: f64 = 200.0;

/// The controller of one node. Both agents are trunks.
fn ssc(at: usize, site: SiteFile) -> SiteFile {
    paired(at, site, "", ["10.213.0.21:5999", "10.213.0.22:5999"])
        .with(r#"addresses = ["10.213.0.10/24@eth0", "10.213.0.11/24@eth0"]"#)
        .with("[ssc.shield]\ntrusted = [\"10.213.0.0/24\"]")
        .realm("access", "access", &["udp:10.213.0.10:5060"])
        .realm("core", "core", &["udp:10.213.0.11:5060"])
        .with("trusted = true")
        .next_hop("far-end", "udp:10.213.0.2:5060")
        .route("access", "far-end")
}

/// What was found.
struct Found {
    standing: usize,
    lost: Vec<String>,
    outage_ms: f64,
    late_calls: usize,
    catch_up_ms: f64,
    /// When the switchover was asked for.
    switched: Option<Instant>,
    switchover_ms: f64,
    switchover_calls: usize,
    switchover_lost: Vec<String>,
    /// What the API of the node that was told to end had to say of that, and the calls it cost.
    leave_ended: bool,
    leave_ms: f64,
    leave_lost: Vec<String>,
    /// How often the pair changed places since it was started, its first election included.
    epoch: u64,
    scenes: Option<Scenes>,
    tracked: Option<Tracked>,
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
    let progress = Progress::new(NAME, 6);
    let found = thread::scope(|scope| {
        let work = scope.spawn(|| {
            network.enter(0)?;
            let (path, binary) = (scratch.path(), &options.tandem);
            let mut found = measure(&network, path, binary, &progress)?;
            progress.say("a pair that tracks its interfaces: one is taken down, a cable is pulled");
            found.tracked = Some(failover_tracked::run(&network, path, binary)?);
            if !options.quick {
                progress.say("a second pair: IPv6, two shards, an arbiter, TCP; links are cut");
                let scenes = failover_scenes::run(&network, path, binary);
                found.scenes = Some(scenes.unwrap_or_else(|error| Scenes::failed(&error)));
            }
            Ok(found)
        });
        work.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the measurement crashed")))
    })?;
    Ok(outcome(options, &found))
}

fn measure(
    network: &Network,
    scratch: &Path,
    binary: &Path,
    progress: &Progress,
) -> anyhow::Result<Found> {
    let node = |at| {
        let directory = scratch.join(["a", "b"][at]);
        Node::new(at, network, directory, binary, ssc)
    };
    let mut nodes = [node(0)?, node(1)?];
    nodes[0].start()?;
    nodes[1].start()?;
    settle(&nodes)?;
    let places = Places {
        caller: "10.213.0.1:5060".parse()?,
        callee: "10.213.0.2:5060".parse()?,
        access: "10.213.0.10:5060".parse()?,
    };
    let plan = |name| Plan { rate: RATE, hold: HOLD, name };
    let mut ends = Ends::new(places, plan("killed"))?;
    progress.say("calls, then the active node is killed");
    ends.run(BEFORE, true);
    let dead = usize::from(!nodes[0].is_active());
    ends.run(Duration::from_millis(50), true);
    nodes[dead].kill();
    let killed = Instant::now();
    ends.run(AFTER, true);
    ends.run(DRAIN, false);
    let calls = std::mem::take(&mut ends.calls);
    drop(ends);
    let mut found = after_kill(&calls, killed);
    progress.say("the killed node comes back under load, takes over as planned, is told to end");
    let mut ends = Ends::new(places, plan("planned"))?;
    ends.run(Duration::from_secs(2), true);
    nodes[dead].spawn()?;
    let left = thread::scope(|scope| {
        let work = scope.spawn(|| {
            network.enter(0)?;
            planned(&mut nodes, dead, &mut found)
        });
        while !work.is_finished() {
            ends.run(Duration::from_millis(100), true);
        }
        work.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a node crashed")))
    })?;
    ends.run(AFTER, true);
    ends.run(DRAIN, false);
    drop(nodes);
    found.switchover_calls = ends.calls.len();
    let (after, before) = ends.calls.iter().partition(|call: &&Call| call.started > left - HOLD);
    let switched = found.switched.unwrap_or(left);
    found.switchover_lost = lost(switched, Vec::into_iter(before));
    found.leave_lost = lost(left, Vec::into_iter(after));
    drop(ends);
    Ok(found)
}

/// The restarted node catches up, takes over as planned, and is then told to end (SIGTERM). Returns
/// when it was told.
fn planned(nodes: &mut [Node; 2], dead: usize, found: &mut Found) -> anyhow::Result<Instant> {
    nodes[dead].ready()?;
    found.catch_up_ms = wait("it has not caught up", || nodes[dead].is_synced())?;
    thread::sleep(Duration::from_secs(1));
    found.switched = Some(Instant::now());
    let answer = nodes[1 - dead].call("POST", "switchover")?;
    found.switchover_ms = answer[0]["took_ms"].as_f64().unwrap_or_default();
    anyhow::ensure!(nodes[dead].is_active(), "the other node serves after a switchover");
    thread::sleep(HOLD + Duration::from_secs(1));
    let left = Instant::now();
    found.leave_ended = nodes[dead].stop().is_some_and(|status| status.success());
    found.leave_ms = left.elapsed().as_secs_f64() * 1_000.0;
    anyhow::ensure!(nodes[1 - dead].is_active(), "the other node serves after one has left");
    found.epoch = nodes[1 - dead].call("GET", "replica")?[0]["epoch"].as_u64().unwrap_or_default();
    Ok(left)
}

/// Why calls were lost, and when they began and failed, seen from `event`.
fn lost<'a>(event: Instant, calls: impl Iterator<Item = &'a Call>) -> Vec<String> {
    let bad = calls.filter(|call| !call.is_good());
    bad.map(|call| {
        let failure = call.failure.as_deref().unwrap_or("it did not end");
        let began = from(event, call.started);
        let failed = call.failed.map_or(f64::NAN, |failed| from(event, failed));
        format!("{failure}; begun at {began:+.3} s, failed at {failed:+.3} s")
    })
    .collect()
}

/// Seconds from `event` to `at`, negative when that was before.
fn from(event: Instant, at: Instant) -> f64 {
    (at.saturating_duration_since(event)).as_secs_f64()
        - event.saturating_duration_since(at).as_secs_f64()
}

fn after_kill(calls: &[Call], killed: Instant) -> Found {
    let stood = |call: &&Call| {
        call.established.is_some_and(|at| at < killed)
            && call.ended.is_none_or(|ended| ended > killed)
    };
    let late = calls.iter().filter(|call| call.started >= killed && !call.is_prompt);
    let outages = late.map(|call| (call.started - killed).as_secs_f64() * 1_000.0);
    Found {
        standing: calls.iter().filter(stood).count(),
        lost: lost(killed, calls.iter().filter(stood)),
        late_calls: outages.clone().count(),
        outage_ms: outages.fold(0.0, f64::max),
        catch_up_ms: 0.0,
        switched: None,
        switchover_ms: 0.0,
        switchover_calls: 0,
        switchover_lost: Vec::new(),
        leave_ended: false,
        leave_ms: 0.0,
        leave_lost: Vec::new(),
        epoch: 0,
        scenes: None,
        tracked: None,
    }
}

fn without_namespaces(options: &Options, error: &anyhow::Error) -> Outcome {
    let why = format!("needs root, network namespaces and ip(8): {error:#}");
    let rows = options.wants(KILLED).then(|| Row::absent(KILLED, "calls", None, &why));
    let rows = rows.into_iter().collect();
    Outcome { experiment: NAME, host: host::describe(), rows, broken: vec![why] }
}

fn outcome(options: &Options, found: &Found) -> Outcome {
    let mut broken = Vec::new();
    let mut hold = |held: bool, what: String| {
        if !held {
            broken.push(what);
        }
    };
    hold(found.standing > 1_000, format!("only {} calls stood at the kill", found.standing));
    hold(found.lost.is_empty(), format!("{} established calls were lost", found.lost.len()));
    hold(
        found.outage_ms < OUTAGE_MAX_MS,
        format!("new calls failed for {:.0} ms", found.outage_ms),
    );
    hold(
        found.switchover_lost.is_empty(),
        format!("{} calls were lost by a planned switchover", found.switchover_lost.len()),
    );
    hold(found.leave_ended, "the node that was told to end did not end well".into());
    hold(
        found.leave_lost.is_empty(),
        format!("{} calls were lost by a node that was told to end", found.leave_lost.len()),
    );
    broken.extend(found.tracked.iter().flat_map(Tracked::broken));
    broken.extend(found.scenes.iter().flat_map(Scenes::broken));
    let causes = |lost: &[String]| json!(lost.iter().take(5).collect::<Vec<_>>());
    let figure = |scenario: &str, unit: &str, value: f64, detail: Value| Row {
        scenario: scenario.into(),
        unit: unit.into(),
        published: None,
        peer: None,
        tandem: Some(value),
        detail,
    };
    let mut rows = Vec::new();
    let detail = json!({ "calls_standing": found.standing, "calls_per_s": RATE,
        "causes": causes(&found.lost) });
    rows.push(figure(KILLED, "calls", found.lost.len() as f64, detail));
    let detail = json!({ "calls": found.late_calls });
    rows.push(figure("new calls fail for", "ms", found.outage_ms, detail));
    let detail = json!({ "after": "the API of the restarted node answered" });
    rows.push(figure("catch-up of a restarted node", "ms", found.catch_up_ms, detail));
    let detail = json!({ "took_ms": found.switchover_ms, "calls": found.switchover_calls,
        "causes": causes(&found.switchover_lost) });
    let lost = found.switchover_lost.len() as f64;
    rows.push(figure("calls lost by a planned switchover", "calls", lost, detail));
    let detail = json!({ "ended_within_ms": found.leave_ms,
        "epoch": found.epoch, "causes": causes(&found.leave_lost) });
    let lost = found.leave_lost.len() as f64;
    rows.push(figure("calls lost by ending the active node", "calls", lost, detail));
    let scenes = found.scenes.iter().flat_map(Scenes::rows);
    let scenes = found.tracked.iter().flat_map(Tracked::rows).chain(scenes);
    rows.extend(
        scenes.map(|(scenario, unit, value, detail)| figure(scenario, unit, value, detail)),
    );
    rows.retain(|row| options.wants(&row.scenario));
    Outcome { experiment: NAME, host: host::describe(), rows, broken }
}
