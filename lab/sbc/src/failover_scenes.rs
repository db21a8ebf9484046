//! What else may happen to a pair: IPv6 addresses, two shards on each node, an arbiter in a third
//! process, links that are cut, connections.
//!
//! | scene | what must hold |
//! |---|---|
//! | the link between the nodes is cut | one serves on by the arbiter's vote; no call is lost |
//! | the active node is cut off from all | it falls silent, the other takes over; no call is lost |
//! | all the time | never do both say that they speak |
//! | a call over TCP | connections end with their node; a BYE over new ones ends it on both legs |
//! | `ctl pardon`, `ctl reload-certificates` | both nodes take them |

use super::failover_ends::{Call, Ends, Places, Plan};
use super::failover_pair::{KEY_FILE, Network, Node, READY_MAX, make_key, paired, settle};
use super::failover_stream::{Ended, StreamCall};
use peers::Process;
use report::site::Site;
use report::site_file::SiteFile;
use serde_json::{Value, json};
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const RATE: f64 = 200.0;
const HOLD: Duration = Duration::from_secs(2);
/// Load before each cut, and while it lasts.
const LOAD: Duration = Duration::from_millis(1_500);
/// Longest time for calls to end.
const DRAIN: Duration = Duration::from_secs(13);
/// Between two questions to one node.
const LOOK: Duration = Duration::from_millis(10);
/// Where the arbiter listens.
const ARBITER: &str = "10.213.0.1:5998";
const API: &str = "10.213.0.1:8079";
/// New calls may fail for this long after the active node was cut off.
const OUTAGE_MAX_MS: f64 = 250.0;

/// What the scenes showed.
#[derive(Debug, Default)]
pub struct Scenes {
    calls: usize,
    lost: Vec<String>,
    outage_ms: f64,
    /// Answers of the two nodes, and times that both spoke.
    looks: usize,
    both: usize,
    /// Whether the preferred node was still the active one while the link was cut.
    held: bool,
    stream: Ended,
    is_ctl_taken: bool,
    /// Why the scenes were not played to their end.
    failure: Option<String>,
}

impl Scenes {
    /// Scenes that were not played to their end.
    pub fn failed(error: &anyhow::Error) -> Self {
        Self { failure: Some(format!("the second pair: {error:#}")), ..Self::default() }
    }

    /// The rows of the table: scenario, unit, value, detail.
    pub fn rows(&self) -> Vec<(&'static str, &'static str, f64, Value)> {
        if self.failure.is_some() {
            return Vec::new();
        }
        let causes: Vec<_> = self.lost.iter().take(5).collect();
        let detail = json!({ "calls": self.calls, "calls_per_s": RATE, "addresses": "IPv6",
            "shards": 2, "new_calls_fail_for_ms": self.outage_ms, "causes": causes });
        let both = json!({ "looks": self.looks, "arbiter": "a process of its own" });
        let stream = json!({ "status": self.stream.status, "connection": self.stream.connection,
            "old_connection_dead": self.stream.old_is_dead });
        vec![
            ("calls lost by links that were cut", "calls", self.lost.len() as f64, detail),
            ("both nodes spoke", "times", self.both as f64, both),
            ("BYE over a new TCP connection", "ms", self.stream.took_ms, stream),
        ]
    }

    /// What did not hold.
    pub fn broken(&self) -> Vec<String> {
        let checks = [
            (self.calls > 500, format!("only {} calls were made over IPv6", self.calls)),
            (self.lost.is_empty(), format!("{} calls were lost by cut links", self.lost.len())),
            (
                self.outage_ms < OUTAGE_MAX_MS,
                format!("new calls failed for {:.0} ms after a cut", self.outage_ms),
            ),
            (self.looks > 100, format!("the nodes were looked at only {} times", self.looks)),
            (self.both == 0, format!("both nodes spoke, {} times", self.both)),
            (self.held, "a cut link alone moved the activity".into()),
            (
                self.stream.status == "200" && self.stream.connection >= 2,
                format!("the BYE over a new TCP connection: {:?}", self.stream),
            ),
            (self.stream.old_is_dead, "a connection outlived its node".into()),
            (self.is_ctl_taken, "a node refused pardon or reload-certificates".into()),
        ];
        if let Some(failure) = &self.failure {
            return vec![failure.clone()];
        }
        checks.into_iter().filter(|(held, _)| !held).map(|(_, what)| what).collect()
    }
}

/// The controller of one node.
fn ssc(at: usize, site: SiteFile) -> SiteFile {
    paired(at, site, "shards = 2", ["10.214.0.1:5999", "10.214.0.2:5999"])
        .with(format_args!("pair = 6\narbiter = \"{ARBITER}\""))
        .with(format_args!(
            "addresses = {:?}",
            [10, 11, 12].map(|n| format!("fd00:213::{n}/64@eth0"))
        ))
        .with("[ssc.shield]\ntrusted = [\"fd00:213::/64\"]")
        .realm("access", "access", &["udp:[fd00:213::10]:5060"])
        .realm("streams", "access", &["tcp:[fd00:213::12]:5060"])
        .realm("core", "core", &["udp:[fd00:213::11]:5060", "tcp:[fd00:213::11]:5060"])
        .with("trusted = true")
        .next_hop("far-end", "udp:[fd00:213::2]:5060")
        .next_hop("far-stream", "tcp:[fd00:213::2]:5070")
        .route("access", "far-end")
        .route("streams", "far-stream")
}

/// Plays all scenes; on a thread that stands where the generator is.
///
/// # Errors
/// When a process does not come up, or a call over TCP does not come about.
pub fn run(network: &Network, scratch: &Path, binary: &Path) -> anyhow::Result<Scenes> {
    let _arbiter = arbiter(&scratch.join("arbiter"), binary)?;
    let node = |at| {
        let directory = scratch.join(["six-a", "six-b"][at]);
        Node::new(at, network, directory, binary, ssc)
    };
    let mut nodes = [node(0)?, node(1)?];
    for node in &mut nodes {
        node.start()?;
    }
    settle(&nodes)?;
    let mut scenes = Scenes::default();
    let is_over = AtomicBool::new(false);
    let looks = thread::scope(|scope| {
        let watch = |at: usize| {
            let (node, is_over) = (&nodes[at], &is_over);
            scope.spawn(move || network.enter(at + 1).map(|()| watch(node, is_over)))
        };
        let watchers = [watch(0), watch(1)];
        let played = play(network, &nodes, &mut scenes);
        is_over.store(true, Relaxed);
        let looks = watchers.map(|watcher| match watcher.join() {
            Ok(looks) => looks,
            Err(_) => Err(anyhow::anyhow!("a watcher crashed")),
        });
        played.map(|()| looks)
    })?;
    let [one, two] = looks;
    let (one, two) = (one?, two?);
    scenes.looks = one.len() + two.len();
    scenes.both = overlaps(&one, &two) + overlaps(&two, &one);
    Ok(scenes)
}

/// An arbiter in a process of its own.
fn arbiter(directory: &Path, binary: &Path) -> anyhow::Result<Process> {
    fs::create_dir_all(directory)?;
    make_key(directory)?;
    let site = SiteFile::new("arbiter", directory, API.parse()?)
        .with(format_args!("allow_remote = true\n[arbiter]\nlisten = \"{ARBITER}\""))
        .with(format_args!("[[arbiter.pair]]\npair = 6\nkey_file = \"{KEY_FILE}\""));
    fs::write(directory.join("site.toml"), site.text())?;
    let mut process = Process::start(&Site::spec(binary, directory))?;
    // Its address is taken when it is up.
    process.wait_until(READY_MAX, || UdpSocket::bind(ARBITER).is_err())?;
    Ok(process)
}

fn play(network: &Network, nodes: &[Node; 2], scenes: &mut Scenes) -> anyhow::Result<()> {
    let places = Places {
        caller: "[fd00:213::1]:5060".parse()?,
        callee: "[fd00:213::2]:5060".parse()?,
        access: "[fd00:213::10]:5060".parse()?,
    };
    let access = "[fd00:213::12]:5060".parse()?;
    let own = "[fd00:213::1]:5071".parse()?;
    let stream = StreamCall::make(access, own, "[fd00:213::2]:5070".parse()?)?;
    let mut ends = Ends::new(places, Plan { rate: RATE, hold: HOLD, name: "six" })?;
    ends.run(LOAD, true);
    let active = usize::from(!nodes[0].is_active());
    network.cut_pair(true)?;
    ends.run(LOAD, true);
    scenes.held = nodes[active].is_active() && !nodes[1 - active].is_active();
    network.cut_pair(false)?;
    thread::scope(|scope| {
        let settled = scope.spawn(|| network.enter(0).and_then(|()| settle(nodes)));
        while !settled.is_finished() {
            ends.run(LOOK, true);
        }
        settled.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a watcher crashed")))
    })?;
    ends.run(LOAD, true);
    network.cut_pair(true)?;
    network.cut_off(active, true)?;
    let cut = Instant::now();
    ends.run(LOAD, true);
    let ended = stream.end();
    network.cut_off(active, false)?;
    network.cut_pair(false)?;
    ends.run(LOAD, true);
    ends.run(DRAIN, false);
    scenes.stream = ended?;
    settle(nodes)?;
    scenes.is_ctl_taken = true;
    for node in nodes {
        for words in [["pardon", "ssc"], ["reload-certificates", "ssc"]] {
            scenes.is_ctl_taken &= node.ctl(&words)?;
        }
    }
    scenes.calls = ends.calls.len();
    scenes.lost = lost(&ends.calls);
    let late = ends.calls.iter().filter(|call| call.started >= cut && !call.is_prompt);
    let outages = late.map(|call| (call.started - cut).as_secs_f64() * 1_000.0);
    scenes.outage_ms = outages.fold(0.0, f64::max);
    Ok(())
}

fn lost(calls: &[Call]) -> Vec<String> {
    let bad = calls.iter().filter(|call| !call.is_good());
    bad.map(|call| call.failure.clone().unwrap_or_else(|| "it did not end".into())).collect()
}

/// What a node answered, when it was asked and when it had answered.
#[derive(Debug, Clone, Copy)]
struct Look {
    asked: Instant,
    answered: Instant,
    speaks: bool,
    epoch: u64,
}

/// Asks one node all the time, from where it is.
fn watch(node: &Node, is_over: &AtomicBool) -> Vec<Look> {
    let mut looks = Vec::new();
    while !is_over.load(Relaxed) {
        let asked = Instant::now();
        if let Ok(rows) = node.ask("replica") {
            let (speaks, epoch) = (rows[0]["speaks"] == true, rows[0]["epoch"].as_u64());
            let answered = Instant::now();
            looks.push(Look { asked, answered, speaks, epoch: epoch.unwrap_or(0) });
        }
        thread::sleep(LOOK);
    }
    looks
}

/// Times that a node spoke within a time through which the other one spoke in one epoch.
fn overlaps(one: &[Look], other: &[Look]) -> usize {
    let through = other
        .windows(2)
        .filter(|pair| pair.iter().all(|look| look.speaks) && pair[0].epoch == pair[1].epoch);
    through
        .map(|pair| {
            let within = |look: &&Look| {
                look.speaks && look.asked >= pair[0].answered && look.answered <= pair[1].asked
            };
            one.iter().filter(within).count()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_speak_in_turn_do_not_overlap_and_two_that_speak_at_once_do() {
        let begin = Instant::now();
        let look = |ms: u64, speaks| {
            let asked = begin + Duration::from_millis(ms);
            Look { asked, answered: asked + Duration::from_millis(1), speaks, epoch: 1 }
        };
        let one = [look(0, true), look(10, true), look(20, false)];
        let other = [look(5, false), look(25, true), look(35, true)];
        assert_eq!(overlaps(&one, &other) + overlaps(&other, &one), 0);
        let other = [look(5, true), look(25, true)];
        assert_eq!(overlaps(&other, &one), 1);
    }
}
