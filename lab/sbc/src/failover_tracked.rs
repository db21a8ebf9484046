//! A pair that tracks what it needs: the interface of the active node is taken down under load,
//! then the cable of the other one is pulled, while the link of the pair lives.
//!
//! ```text
//!  generator ── bridge ──┬─ eth0 of a ✗ taken down, then up again, and fit after a second
//!                        └─ eth0 of b ✗ its far end taken down: no carrier
//!  a eth1 ── eth1 b: heartbeats and changes all the time
//! ```

use super::failover_ends::{Call, Ends, Places, Plan};
use super::failover_pair::{Network, Node, paired, settle, wait};
use report::site_file::SiteFile;
use serde_json::{Value, json};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const RATE: f64 = 1_000.0;
const HOLD: Duration = Duration::from_secs(3);
/// Load before each cut, and while it lasts.
const LOAD: Duration = Duration::from_secs(4);
/// Longest time for calls to end.
const DRAIN: Duration = Duration::from_secs(13);
/// New calls may fail for this long after an interface failed.
const OUTAGE_MAX_MS: f64 = 200.0;

/// What was found.
#[derive(Debug, Default)]
pub struct Tracked {
    calls: usize,
    standing: usize,
    lost: Vec<String>,
    outages_ms: [f64; 2],
    moved: [bool; 2],
    is_told: bool,
}

/// The controller of one node, whose link to the other one has an interface of its own.
fn ssc(at: usize, site: SiteFile) -> SiteFile {
    paired(at, site, "", ["10.214.0.1:5997", "10.214.0.2:5997"])
        .with("pair = 7\ntrack = [\"eth0\"]\ntrack_recover_s = 1")
        .with(r#"addresses = ["10.213.0.10/24@eth0", "10.213.0.11/24@eth0"]"#)
        .with("[ssc.shield]\ntrusted = [\"10.213.0.0/24\"]")
        .realm("access", "access", &["udp:10.213.0.10:5060"])
        .realm("core", "core", &["udp:10.213.0.11:5060"])
        .with("trusted = true")
        .next_hop("far-end", "udp:10.213.0.2:5060")
        .route("access", "far-end")
}

/// Plays it; on a thread that stands where the generator is.
///
/// # Errors
/// When a node does not come up, or the pair does not settle.
pub fn run(network: &Network, scratch: &Path, binary: &Path) -> anyhow::Result<Tracked> {
    let node = |at| {
        let directory = scratch.join(["tracked-a", "tracked-b"][at]);
        Node::new(at, network, directory, binary, ssc)
    };
    let mut nodes = [node(0)?, node(1)?];
    for node in &mut nodes {
        node.start()?;
    }
    settle(&nodes)?;
    let places = Places {
        caller: "10.213.0.1:5060".parse()?,
        callee: "10.213.0.2:5060".parse()?,
        access: "10.213.0.10:5060".parse()?,
    };
    let mut ends = Ends::new(places, Plan { rate: RATE, hold: HOLD, name: "tracked" })?;
    let mut found = Tracked::default();
    ends.run(LOAD, true);
    let active = usize::from(!nodes[0].is_active());
    network.take_down(active, true)?;
    let first = Instant::now();
    ends.run(LOAD, true);
    found.moved[0] = nodes[1 - active].is_active();
    network.take_down(active, false)?;
    thread::scope(|scope| {
        let fit = scope.spawn(|| {
            network.enter(0)?;
            let is_fit = || nodes[active].ask("replica").is_ok_and(|rows| rows[0]["fit"] == true);
            wait("the node is not fit again", is_fit)?;
            settle(&nodes)
        });
        while !fit.is_finished() {
            ends.run(Duration::from_millis(100), true);
        }
        fit.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a watcher crashed")))
    })?;
    // It serves no more for that: the other one is good.
    found.moved[0] &= nodes[1 - active].is_active();
    network.cut_off(1 - active, true)?;
    let second = Instant::now();
    ends.run(LOAD, true);
    found.moved[1] = nodes[active].is_active();
    found.is_told = nodes[active].ask("replica")?[0]["peer_fit"] == false
        && nodes[active].ctl(&["track", "ssc"])?;
    network.cut_off(1 - active, false)?;
    ends.run(DRAIN, false);
    found.judge(&ends.calls, [first, second]);
    Ok(found)
}

impl Tracked {
    fn judge(&mut self, calls: &[Call], cuts: [Instant; 2]) {
        self.calls = calls.len();
        let stood = |call: &&Call| {
            let at = |cut: &Instant| {
                call.established.is_some_and(|at| at < *cut)
                    && call.ended.is_none_or(|ended| ended > *cut)
            };
            cuts.iter().any(at)
        };
        self.standing = calls.iter().filter(stood).count();
        let bad = calls.iter().filter(|call| !call.is_good());
        let why = |call: &Call| call.failure.clone().unwrap_or_else(|| "it did not end".into());
        self.lost = bad.map(why).collect();
        for (cut, outage) in cuts.iter().zip(&mut self.outages_ms) {
            let until = *cut + LOAD;
            let late = calls
                .iter()
                .filter(|call| call.started >= *cut && call.started < until && !call.is_prompt);
            let after = late.map(|call| (call.started - *cut).as_secs_f64() * 1_000.0);
            *outage = after.fold(0.0, f64::max);
        }
    }

    /// The rows of the table: scenario, unit, value, detail.
    pub fn rows(&self) -> Vec<(&'static str, &'static str, f64, Value)> {
        let causes: Vec<_> = self.lost.iter().take(5).collect();
        let detail = json!({ "calls": self.calls, "calls_standing": self.standing,
            "calls_per_s": RATE, "causes": causes });
        let outage = self.outages_ms.iter().copied().fold(0.0, f64::max);
        let each = json!({ "taken_down": self.outages_ms[0], "no_carrier": self.outages_ms[1] });
        vec![
            ("calls lost by an interface that failed", "calls", self.lost.len() as f64, detail),
            ("new calls fail for, interface failed", "ms", outage, each),
        ]
    }

    /// What did not hold.
    pub fn broken(&self) -> Vec<String> {
        let outage = self.outages_ms.iter().copied().fold(0.0, f64::max);
        let checks = [
            (self.standing > 2_000, format!("only {} calls stood at the cuts", self.standing)),
            (self.lost.is_empty(), format!("{} calls were lost by interfaces", self.lost.len())),
            (outage < OUTAGE_MAX_MS, format!("an interface failed, new calls for {outage:.0} ms")),
            (self.moved[0], "an interface that was taken down moved nothing".into()),
            (self.moved[1], "a cable that was pulled moved nothing".into()),
            (self.is_told, "the nodes do not say what they track".into()),
        ];
        checks.into_iter().filter(|(held, _)| !held).map(|(_, what)| what).collect()
    }
}
