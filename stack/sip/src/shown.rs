//! What people are shown of next hops: their targets, and the conditions that stand.

use crate::border::Border;
use crate::next_hop::Health;
use machine::Time;
use question::{Condition, rows};

/// Probable cause of what cannot be reached, in the words of X.733.
const UNREACHED: &str = "communications-subsystem-failure";

rows! {
    /// A target of a next hop.
    pub struct NextHopRow {
        name: String,
        realm: String,
        target: String,
        transport: &'static str,
        /// `up` or `down`.
        state: &'static str,
        since_us: u64,
        failures: u32,
        unwanted_percent: u8,
    }
}

impl Border {
    /// The targets of the next hops.
    #[must_use]
    pub fn show_next_hops(&self, now: Time) -> Vec<NextHopRow> {
        let rows = self.hops.rows().iter().flat_map(|hop| {
            hop.endpoints.iter().map(|endpoint| NextHopRow {
                name: hop.name.clone(),
                realm: self.realms.row(hop.realm).name.clone(),
                target: endpoint.flow.remote.to_string(),
                transport: endpoint.flow.transport.word(),
                state: if endpoint.health == Health::Up { "up" } else { "down" },
                since_us: endpoint.since.as_micros(),
                failures: endpoint.failures,
                unwanted_percent: endpoint.loss(now),
            })
        });
        rows.collect()
    }

    /// Targets that do not answer, and domains that lead nowhere.
    #[must_use]
    pub fn alarms(&self) -> Vec<Condition> {
        let mut rows = Vec::new();
        for hop in self.hops.rows() {
            let all = hop.endpoints.iter().all(|e| e.health == Health::Down);
            for endpoint in hop.endpoints.iter().filter(|e| e.health == Health::Down) {
                let severity = if all { "critical" } else { "major" };
                let target = endpoint.flow.remote;
                let text = format!("{target} of next hop {} does not answer its probes", hop.name);
                let subject = format!("{}/{target}", hop.name);
                let row = Condition::new("next-hop-down", subject, severity, text);
                rows.push(row.caused_by(UNREACHED));
            }
        }
        for (hop, uri, why) in self.lookups.lost() {
            let hop = self.hops.rows().get(usize::from(hop)).map_or("", |hop| hop.name.as_str());
            let text = format!("{uri} of next hop {hop} leads nowhere: {why}");
            let subject = format!("{hop}/{uri}");
            let row = Condition::new("next-hop-unresolved", subject, "major", text);
            rows.push(row.caused_by(UNREACHED));
        }
        rows
    }
}
