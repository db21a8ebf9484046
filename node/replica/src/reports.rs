//! How a node of a pair stands: rows, alarms and figures for people and programs.

use crate::backlog::Stuck;
use crate::election::Role;
use crate::locking::lock;
use crate::metrics::ReplicaMetric;
use crate::node::{Node, Shared};
use crate::pair::{PROTOCOL, Standing, fit};
use machine::{Duration, Time};
use question::Condition;
use runtime::{Pace, Replication as _};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::Ordering::Relaxed;

/// A standby that asks for its vote for longer raises an alarm.
const VOTE_PATIENCE: Duration = Duration::from_secs(1);
/// A standby that is behind for longer raises one, too: a snapshot of a big table takes less.
const BEHIND_PATIENCE: Duration = Duration::from_secs(5);

/// How a node of a pair stands, for people and programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NodeRow {
    /// Its number in the pair.
    pub node: crate::config::Node,
    /// `active` or `standby`.
    pub role: &'static str,
    /// How often the active one changed.
    pub epoch: u64,
    /// Where the other one listens.
    pub peer: String,
    /// Whether that one is heard.
    pub peer_alive: bool,
    /// Where the arbiter listens, if there is one.
    pub arbiter: Option<String>,
    /// Whether that one answers.
    pub arbiter_alive: Option<bool>,
    /// Whether it would serve, had it the arbiter's vote.
    pub waits_for_vote: bool,
    /// Version of what the nodes say to each other.
    pub version: u32,
    /// That of the other one.
    pub peer_version: Option<u32>,
    /// Whether it answers the network.
    pub speaks: bool,
    /// Whether the standby has everything.
    pub synced: bool,
    /// Changes that the standby does not have yet.
    pub lag: u64,
    /// Changes that this node took from the other one.
    pub applied: u64,
    /// Whether the two change places.
    pub switching_over: bool,
    /// Whether all that this node tracks is good.
    pub fit: bool,
    /// Whether the other one says the same of itself.
    pub peer_fit: bool,
    /// How the standby keeps up: `current`, `busy` (a snapshot waits), `behind` (half of the log is
    /// full) or `lost`.
    pub pace: &'static str,
}

/// Something that a node of a pair tracks, for people and programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrackRow {
    /// As the site file writes it: an interface, or the address of a gateway.
    pub target: String,
    /// Whether the interface has a carrier, or the gateway answers.
    pub good: bool,
    /// For how many seconds it has been so.
    pub since_s: u64,
    /// Whether the node counts as fit.
    pub fit: bool,
}

const fn word(pace: Pace) -> &'static str {
    match pace {
        Pace::Current => "current",
        Pace::Busy => "busy",
        Pace::Behind => "behind",
        Pace::Lost => "lost",
    }
}

impl Node {
    /// Its row for people and programs.
    #[must_use]
    pub fn row(&self) -> NodeRow {
        let standing = self.standing();
        NodeRow {
            node: self.shared.config.node,
            role: if standing.role == Role::Active { "active" } else { "standby" },
            epoch: standing.epoch,
            peer: self.shared.peer().to_string(),
            peer_alive: standing.is_peer_alive,
            arbiter: self.shared.arbiter().map(|votes| votes.arbiter.to_string()),
            arbiter_alive: standing.is_arbiter_alive,
            waits_for_vote: standing.waits_for_vote.is_some(),
            version: PROTOCOL,
            peer_version: standing.peer_version,
            speaks: self.may_speak(),
            synced: standing.is_synced,
            lag: standing.lag,
            applied: standing.applied,
            switching_over: standing.is_handing_over,
            fit: standing.is_fit,
            peer_fit: standing.is_peer_fit,
            pace: word(standing.pace),
        }
    }

    /// What it tracks.
    #[must_use]
    pub fn tracked(&self) -> Vec<TrackRow> {
        let (now, track) = (self.shared.now(), lock(&self.shared.track));
        let fit = track.is_fit();
        let rows = track.rows().map(|row| TrackRow {
            target: row.name.to_owned(),
            good: row.is_good,
            since_s: now.since(row.since).as_secs(),
            fit,
        });
        rows.collect()
    }

    /// The alarms that stand.
    #[must_use]
    pub fn alarms(&self) -> Vec<Condition> {
        let standing = self.standing();
        let peer = self.shared.peer().to_string();
        let mut rows = Vec::new();
        let mut alarm = |name: &str, severity: &str, text: String| {
            let row = Condition::new(name, peer.as_str(), severity, text);
            rows.push(row.caused_by("communications-subsystem-failure"));
        };
        let is_strange = standing.peer_version.is_some_and(|other| !fit(PROTOCOL, other));
        if standing.is_peer_alive && is_strange {
            let text = "the versions of the two nodes are further apart than one: nothing is kept";
            alarm("replica-version", "critical", text.into());
        } else if !standing.is_peer_alive {
            alarm("replica-peer-lost", "major", self.shared.unheard(&standing));
        } else if !standing.is_synced {
            let text = "the standby does not have everything: a failure now would lose calls";
            alarm("replica-out-of-date", "major", text.into());
        }
        if let (Some(false), Some(votes)) = (standing.is_arbiter_alive, self.shared.arbiter()) {
            let text = format!(
                "the arbiter, {}, does not answer: without its vote no node serves alone",
                votes.arbiter
            );
            alarm("arbiter-lost", "major", text);
        }
        let now = self.shared.now();
        if standing.waits_for_vote.is_some_and(|since| now >= since + VOTE_PATIENCE) {
            let text = format!(
                "the other node, {peer}, is not heard, and the arbiter gives no vote: this node \
                 stays the standby. Mend the way to one of them; `ctl replica` at the other node \
                 says whether it serves"
            );
            alarm("replica-waits-for-vote", "critical", text);
        }
        if let Some(count) = lock(&self.shared.refusals).last(self.shared.now()) {
            let text = format!(
                "{count} datagrams of late were not sealed by the other node: it has another key, \
                 or the `node` of this one, or somebody forges them"
            );
            alarm("replica-refuses", "major", text);
        }
        if standing.behind_since.is_some_and(|since| now >= since + BEHIND_PATIENCE) {
            let text = "it or the link to it is too slow";
            let text = format!("the standby is behind by {} changes: {text}", standing.lag);
            alarm("replica-behind", "major", text);
        }
        if !standing.is_fit {
            let failed = lock(&self.shared.track).failed();
            let (severity, what) = match (standing.role, standing.is_peer_fit) {
                (Role::Active, true) => ("critical", "this node hands over"),
                (Role::Active, false) => ("critical", "no other node could serve better"),
                (Role::Standby, _) => ("major", "this node takes over only if the other one dies"),
            };
            let failed = if failed.is_empty() { "nothing for long enough" } else { &failed };
            alarm("replica-unfit", severity, format!("what is tracked fails ({failed}): {what}"));
        }
        for stuck in lock(&self.shared.inner).backlog.stuck(now) {
            alarm("replica-shard-stuck", "critical", stuck_text(now, stuck));
        }
        if let Some(trouble) = &*lock(&self.shared.trouble) {
            alarm("replica-address", "critical", trouble.clone());
        }
        // Who was never heard is starting, for a moment.
        let is_starting = !standing.was_peer_heard && !standing.is_alone(now);
        let lost = rows.iter_mut().filter(|row| row.name == "replica-peer-lost");
        lost.for_each(|row| row.starting = is_starting);
        rows
    }

    /// What it counts.
    #[must_use]
    pub fn cells(&self) -> event::MetricCells {
        let standing = self.standing();
        let waiting = lock(&self.shared.inner).backlog.len();
        let metrics = lock(&self.shared.metrics);
        metrics.add(ReplicaMetric::Told, self.shared.told.swap(0, Relaxed));
        metrics.set(ReplicaMetric::Active, u64::from(standing.role == Role::Active));
        metrics.set(ReplicaMetric::Epoch, standing.epoch);
        metrics.set(ReplicaMetric::ArbiterAlive, (standing.is_arbiter_alive == Some(true)).into());
        metrics.set(ReplicaMetric::WaitsForVote, standing.waits_for_vote.is_some().into());
        metrics.set(ReplicaMetric::Lag, standing.lag);
        metrics.set(ReplicaMetric::Waiting, waiting as u64);
        metrics.set(ReplicaMetric::Fit, standing.is_fit.into());
        metrics.set(ReplicaMetric::Behind, standing.behind_since.is_some().into());
        metrics.set(ReplicaMetric::Overflows, standing.overflows);
        metrics.set(ReplicaMetric::TooLong, standing.too_long);
        metrics.cells()
    }
}

impl Shared {
    /// That the other node is not heard, and what that means; what speaks here from elsewhere.
    pub(crate) fn unheard(&self, standing: &Standing) -> String {
        let (peer, now) = (self.peer(), self.now());
        let mut text = match standing.was_peer_heard {
            true => format!("the other node, {peer}, is not heard"),
            false => format!("the other node, {peer} (`peer`), was never heard"),
        };
        if standing.is_alone(now) {
            text += ": this node is active alone";
            text += match self.arbiter() {
                Some(_) => ", by the arbiter's vote",
                None => ", and without an arbiter that one may be as well",
            };
        }
        if let Some(from) = lock(&self.refusals).stranger(now) {
            text += &format!("; datagrams come here from {from}, which is not `peer`");
        }
        text
    }
}

/// What is wrong with a shard that takes nothing.
pub(crate) fn stuck_text(now: Time, stuck: Stuck) -> String {
    format!(
        "shard {} of this node has taken nothing for {} s, and {} changes that other nodes have \
         told wait for it: nothing is acknowledged, and this node can serve nothing. Restart it",
        stuck.shard,
        now.since(stuck.since).as_secs(),
        stuck.orders
    )
}
