//! Media controllers for people and programs.

use crate::client::Client;
use crate::metrics::MediaMetric;
use machine::Time;
use question::{Condition, rows};

/// Of 10 leased pairs so many in use are an alarm.
const SCARCE_TENTHS: u32 = 9;

rows! {
    /// A media controller, as a shard knows it.
    pub struct ControllerRow {
        shard: u16,
        name: String,
        /// The node that is spoken to, or that is tried.
        address: Option<String>,
        /// `up`, `draining`, `slow`, `down` or `removed`.
        state: &'static str,
        /// Calls of this shard that have ports of it.
        calls: u32,
        /// Streams of this shard.
        streams: u32,
        /// Streams that it has of all.
        streams_there: u32,
        /// Thousandths of what its forwarder can do.
        forwarder_permille: u16,
        /// Rows that it was told, and those that it has acknowledged.
        said: u64,
        acknowledged: u64,
        groups: Vec<GroupRow>,
    }

    /// What is leased of a group of addresses.
    pub struct GroupRow {
        name: String,
        pairs_in_use: u32,
        pairs_leased: u32,
        pairs_wanted: u32,
    }
}

impl Client {
    /// Rows for people and programs.
    #[must_use]
    pub fn show(&self) -> Vec<ControllerRow> {
        let rows = self.controllers.iter().filter(|it| !it.is_removed || it.calls > 0);
        rows.map(|it| {
            let load = it.load();
            let state = match () {
                () if it.is_removed => "removed",
                () if !it.connection.is_up() => "down",
                () if !it.connection.is_prompt() => "slow",
                () if load.is_draining => "draining",
                () => "up",
            };
            let groups = it.leases.groups().map(|(name, [in_use, leased, wanted])| GroupRow {
                name: name.to_owned(),
                pairs_in_use: in_use,
                pairs_leased: leased,
                pairs_wanted: wanted,
            });
            ControllerRow {
                shard: self.shard,
                name: it.name.to_string(),
                address: it.connection.address().map(|address| address.to_string()),
                state,
                calls: it.calls,
                streams: it.streams,
                streams_there: load.streams,
                forwarder_permille: load.forwarder_permille,
                said: it.connection.said(),
                acknowledged: it.connection.done(),
                groups: groups.collect(),
            }
        })
        .collect()
    }

    /// Brings the gauges up to date.
    pub fn gauges(&self) {
        let up = self.controllers.iter().filter(|it| it.connection.is_up()).count();
        self.metrics.set(MediaMetric::Calls, self.sessions.len() as u64);
        self.metrics.set(MediaMetric::ControllersUp, up as u64);
        let pairs = self.controllers.iter().map(|it| it.leases.pairs());
        let (in_use, leased) = pairs.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        self.metrics.set(MediaMetric::PairsInUse, in_use.into());
        self.metrics.set(MediaMetric::PairsLeased, leased.into());
    }

    /// Alarms that stand.
    #[must_use]
    pub fn alarms(&self, now: Time) -> Vec<Condition> {
        let mut rows = Vec::new();
        for it in self.controllers.iter().filter(|it| !it.is_removed && self.is_active) {
            if let Some(since) = it.lost_at {
                let seconds = now.since(since).as_secs();
                let why = it.violation.unwrap_or("it does not answer");
                let text = format!(
                    "the media controller {} is away for {seconds} s: {why}; {} calls are on it",
                    it.name, it.calls
                );
                let severity = if it.calls > 0 { "critical" } else { "major" };
                let row = Condition::new("media-controller-lost", &*it.name, severity, text);
                rows.push(
                    row.caused_by("communications-subsystem-failure")
                        .starting(it.epoch.is_none() && it.calls == 0),
                );
            }
            let max = self.settings.media.pairs_max;
            for (name, [in_use, leased, _]) in it.leases.groups() {
                let is_scarce = in_use > 0 && in_use * 10 >= leased * SCARCE_TENTHS;
                if is_scarce && (leased >= max || in_use == leased) {
                    let text = format!("{in_use} of {leased} pairs of ports of {name} are in use");
                    let subject = format!("{} {name}", it.name);
                    let row = Condition::new("media-ports-scarce", subject, "major", text);
                    rows.push(row.caused_by("resource-at-or-nearing-capacity"));
                }
            }
        }
        rows
    }
}
