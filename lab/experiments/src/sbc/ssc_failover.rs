//! `ssc-failover`: a pair of SSCs in two namespaces; the active one is killed under load, comes
//! back, and then takes over again as planned.
//!
//! ```text
//!  ts-gen: caller, callee ── bridge ──┬── ts-a: SSC, 10.213.0.10/.11 while active
//!                                     └── ts-b: SSC
//! ```
//! | what | how |
//! |---|---|
//! | load | 1,000 calls/s; each is changed by a re-INVITE halfway and ended by either side |
//! | lost | a call that stood at the kill and was not changed and ended on both sides |
//! | outage | from the kill to the last new call whose first INVITE brought no answer in 450 ms |

use super::failover_ends::{Call, Ends, Places, Plan};
use crate::contract::{Options, Outcome, Row};
use crate::host;
use crate::progress::Progress;
use crate::published;
use crate::scratch::Scratch;
use anyhow::Context;
use peers::{Process, ProcessSpec};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const NAME: &str = "ssc-failover";
const TABLE: &str = "high-availability";
const RATE: f64 = 1_000.0;
const HOLD: Duration = Duration::from_secs(3);
/// Load before the kill, and after it.
const BEFORE: Duration = Duration::from_secs(4);
const AFTER: Duration = Duration::from_secs(4);
/// Longest time for calls to end.
const DRAIN: Duration = Duration::from_secs(13);
const READY_MAX: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);
/// New calls may fail for this long after a kill.
const OUTAGE_MAX_MS: f64 = 200.0;
const API_PORT: u16 = 8080;

/// Network namespaces of one run; dropping them removes them.
struct Network {
    names: [String; 3],
}

fn ip(arguments: &str) -> anyhow::Result<()> {
    let output = Command::new("ip").args(arguments.split_whitespace()).output()?;
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    anyhow::ensure!(output.status.success(), "ip {arguments}: {why}");
    Ok(())
}

impl Network {
    fn new() -> anyhow::Result<Self> {
        let id = std::process::id();
        let network = Self { names: ["gen", "a", "b"].map(|name| format!("ts-{name}-{id}")) };
        let [hub, ..] = &network.names;
        for name in &network.names {
            ip(&format!("netns add {name}"))?;
            ip(&format!("-n {name} link set lo up"))?;
        }
        ip(&format!("-n {hub} link add br0 type bridge"))?;
        ip(&format!("-n {hub} addr add 10.213.0.1/24 dev br0"))?;
        ip(&format!("-n {hub} addr add 10.213.0.2/24 dev br0"))?;
        ip(&format!("-n {hub} link set br0 up"))?;
        for (at, name) in network.names.iter().enumerate().skip(1) {
            ip(&format!("-n {hub} link add p{at} type veth peer name eth0 netns {name}"))?;
            ip(&format!("-n {hub} link set p{at} master br0 up"))?;
            ip(&format!("-n {name} addr add 10.213.0.{}/24 dev eth0", 20 + at))?;
            ip(&format!("-n {name} link set eth0 up"))?;
        }
        Ok(network)
    }

    /// Moves the calling thread to where the generator is.
    fn enter(&self) -> anyhow::Result<()> {
        let file = File::open(format!("/var/run/netns/{}", self.names[0]))?;
        let kind = rustix::thread::LinkNameSpaceType::Network;
        Ok(rustix::thread::move_into_link_name_space(file.as_fd(), Some(kind))?)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            // One that was never made is not there to be removed.
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

/// One node of the pair: its process, its API.
struct Node {
    at: usize,
    namespace: String,
    directory: PathBuf,
    binary: PathBuf,
    process: Option<Process>,
}

impl Node {
    fn new(at: usize, network: &Network, scratch: &Path, binary: &Path) -> anyhow::Result<Self> {
        let directory = scratch.join(["a", "b"][at]);
        fs::create_dir(&directory)?;
        fs::write(directory.join("site.toml"), site(at, &directory))?;
        let namespace = network.names[at + 1].clone();
        Ok(Self { at, namespace, directory, binary: binary.into(), process: None })
    }

    fn start(&mut self) -> anyhow::Result<()> {
        self.spawn()?;
        self.ready()
    }

    /// Starts the process. On a thread that outlives it: the process ends with its thread.
    fn spawn(&mut self) -> anyhow::Result<()> {
        let arguments = ["netns", "exec", &self.namespace];
        let spec = ProcessSpec::new("tandem", "ip", &self.directory).with(arguments).with([
            self.binary.clone().into_os_string(),
            "run".into(),
            "site.toml".into(),
        ]);
        self.process = Some(Process::start(&spec)?);
        Ok(())
    }

    /// Waits until its API answers.
    fn ready(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { anyhow::bail!("it was not started") };
        let ready = process.wait_until(READY_MAX, || self.ask("replica").is_ok());
        self.process = Some(process);
        ready
    }

    fn call(&self, method: &str, about: &str) -> anyhow::Result<Value> {
        let token = fs::read_to_string(self.directory.join("var/token"))?;
        let host = format!("10.213.0.{}:{API_PORT}", 21 + self.at);
        let url = format!("http://{host}/api/v1/functions/ssc/{about}");
        let bearer = format!("Bearer {}", token.trim());
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(20)))
            .http_status_as_error(false)
            .proxy(None)
            .build()
            .into();
        let mut answer = match method {
            "POST" => agent.post(&url).header("Authorization", bearer).send_json(json!({}))?,
            _ => agent.get(&url).header("Authorization", bearer).call()?,
        };
        let text = answer.body_mut().read_to_string()?;
        anyhow::ensure!(answer.status().is_success(), "{url}: {text}");
        Ok(serde_json::from_str(&text)?)
    }

    fn ask(&self, about: &str) -> anyhow::Result<Value> {
        self.call("GET", about)
    }

    fn is_active(&self) -> bool {
        self.process.is_some() && self.ask("replica").is_ok_and(|rows| rows[0]["role"] == "active")
    }

    fn is_synced(&self) -> bool {
        self.ask("replica").is_ok_and(|rows| rows[0]["synced"] == true)
    }

    fn log_end(&self) -> String {
        self.process.as_ref().map(Process::log_end).unwrap_or_default()
    }
}

fn site(at: usize, directory: &Path) -> String {
    let directory = directory.join("var");
    let (own, other) = (21 + at, 22 - at);
    let node = ["a", "b"][at];
    format!(
        r#"[site]
name = "failover-{node}"
directory = {directory:?}

[oam]
listen = "10.213.0.{own}:{API_PORT}"
allow_remote = true

[[ssc]]
name = "ssc"

[ssc.replica]
node = "{node}"
priority = {priority}
listen = "10.213.0.{own}:5999"
peer = "10.213.0.{other}:5999"
addresses = ["10.213.0.10/24@eth0", "10.213.0.11/24@eth0"]

[[ssc.realm]]
name = "access"
listen = ["udp:10.213.0.10:5060"]

[[ssc.realm]]
name = "core"
side = "core"
listen = ["udp:10.213.0.11:5060"]
trusted = true

[[ssc.next_hop]]
name = "far-end"
realm = "core"
targets = ["udp:10.213.0.2:5060"]
probe_interval_s = 0

[[ssc.route]]
from = "access"
to = ["far-end"]
"#,
        priority = 1 - at,
    )
}

/// What was found.
struct Found {
    standing: usize,
    lost: Vec<String>,
    outage_ms: f64,
    late_calls: usize,
    catch_up_ms: f64,
    switchover_ms: f64,
    switchover_calls: usize,
    switchover_lost: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// When the namespaces cannot be made (it needs root) or a node does not come up.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let scratch = Scratch::new("tandem-lab-")?;
    let network = Network::new().context("namespaces need root and iproute2")?;
    let progress = Progress::new(NAME, 4);
    let found = thread::scope(|scope| {
        let work = scope.spawn(|| {
            network.enter()?;
            measure(&network, scratch.path(), &options.tandem, &progress)
        });
        work.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the measurement crashed")))
    })?;
    Ok(outcome(options, &found))
}

fn wait(what: &str, until: impl Fn() -> bool) -> anyhow::Result<f64> {
    let begun = Instant::now();
    while begun.elapsed() < READY_MAX {
        if until() {
            return Ok(begun.elapsed().as_secs_f64() * 1_000.0);
        }
        thread::sleep(POLL);
    }
    anyhow::bail!("{what}: not within {READY_MAX:?}")
}

fn measure(
    network: &Network,
    scratch: &Path,
    binary: &Path,
    progress: &Progress,
) -> anyhow::Result<Found> {
    let mut nodes =
        [Node::new(0, network, scratch, binary)?, Node::new(1, network, scratch, binary)?];
    nodes[0].start()?;
    nodes[1].start()?;
    let settled = || nodes.iter().any(Node::is_active) && nodes.iter().all(Node::is_synced);
    wait("the pair has not settled", settled)
        .with_context(|| nodes.each_ref().map(Node::log_end).join("\n"))?;
    let places = Places {
        caller: "10.213.0.1:5060".parse()?,
        callee: "10.213.0.2:5060".parse()?,
        access: "10.213.0.10:5060".parse()?,
    };
    let mut ends = Ends::new(places, Plan { rate: RATE, hold: HOLD })?;
    progress.say("calls, then the active node is killed");
    ends.run(BEFORE, true);
    let dead = usize::from(!nodes[0].is_active());
    ends.run(Duration::from_millis(50), true);
    if let Some(process) = &mut nodes[dead].process {
        process.kill();
    }
    let killed = Instant::now();
    ends.run(AFTER, true);
    ends.run(DRAIN, false);
    let calls = std::mem::take(&mut ends.calls);
    drop(ends);
    let mut found = after_kill(&calls, killed);
    progress.say("the killed node comes back under load, then takes over as planned");
    let mut ends = Ends::new(places, Plan { rate: RATE, hold: HOLD })?;
    ends.run(Duration::from_secs(2), true);
    nodes[dead].spawn()?;
    let nodes = thread::scope(|scope| {
        let work = scope.spawn(|| {
            network.enter()?;
            nodes[dead].ready()?;
            found.catch_up_ms = wait("it has not caught up", || nodes[dead].is_synced())?;
            thread::sleep(Duration::from_secs(1));
            let answer = nodes[1 - dead].call("POST", "switchover")?;
            found.switchover_ms = answer[0]["took_ms"].as_f64().unwrap_or_default();
            anyhow::ensure!(nodes[dead].is_active(), "the other node serves after a switchover");
            anyhow::Ok(nodes)
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
    found.switchover_lost = lost(ends.calls.iter());
    Ok(found)
}

/// Why calls were lost.
fn lost<'a>(calls: impl Iterator<Item = &'a Call>) -> Vec<String> {
    let bad = calls.filter(|call| !call.is_good());
    bad.map(|call| call.failure.clone().unwrap_or_else(|| "it did not end".into())).collect()
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
        lost: lost(calls.iter().filter(stood)),
        late_calls: outages.clone().count(),
        outage_ms: outages.fold(0.0, f64::max),
        catch_up_ms: 0.0,
        switchover_ms: 0.0,
        switchover_calls: 0,
        switchover_lost: Vec::new(),
    }
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
    let why = "media flows between the far ends and is not touched";
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
    let report = published::sbc();
    for row in report.table(TABLE).map(|table| table.rows.as_slice()).unwrap_or_default() {
        let made = match row.scenario.as_str() {
            "calls lost" => {
                let detail = json!({ "calls_standing": found.standing,
                    "calls_per_s": RATE, "causes": causes(&found.lost) });
                figure(&row.scenario, "calls", found.lost.len() as f64, detail)
            }
            "degradation after forced failover" => {
                figure(&row.scenario, "s", found.outage_ms / 1_000.0, json!({}))
            }
            _ => Row::absent(&row.scenario, "packets", Some(row.value), why),
        };
        rows.push(Row { published: Some(row.value), ..made });
    }
    let detail = json!({ "calls": found.late_calls });
    rows.push(figure("new calls fail for", "ms", found.outage_ms, detail));
    let detail = json!({ "after": "the API of the restarted node answered" });
    rows.push(figure("catch-up of a restarted node", "ms", found.catch_up_ms, detail));
    let detail = json!({ "took_ms": found.switchover_ms, "calls": found.switchover_calls,
        "causes": causes(&found.switchover_lost) });
    let lost = found.switchover_lost.len() as f64;
    rows.push(figure("calls lost by a planned switchover", "calls", lost, detail));
    rows.retain(|row| options.wants(&row.scenario));
    Outcome { experiment: NAME, host: host::describe(), rows, broken }
}
