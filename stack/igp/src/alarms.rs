//! What somebody should look at: adjacencies that were lost, and a number that another router has.

use crate::router::{DUPLICATE, DUPLICATE_LSAS, Router};
use machine::Time;
use question::Condition;
use std::net::Ipv4Addr;

/// Alarms of lost adjacencies at most; the others have one together.
const LOST_ALARMS_MAX: usize = 50;

impl Router {
    /// Alarms that stand.
    #[must_use]
    pub fn alarms(&self, now: Time) -> Vec<Condition> {
        let mut rows = Vec::new();
        for ((interface, address), lost) in self.lost.iter().take(LOST_ALARMS_MAX) {
            let (router, name) = (Ipv4Addr::from(lost.router), self.name_of(*interface));
            let text = format!("{router} at {name} is no neighbour any more: {}", lost.why);
            let subject = format!("{name} {address}");
            rows.push(alarm("igp-adjacency-lost", &subject, "major", text));
        }
        if let Some(more) = self.lost.len().checked_sub(LOST_ALARMS_MAX).filter(|it| *it > 0) {
            let text = format!("{more} more routers are no neighbours any more");
            rows.push(alarm("igp-adjacencies-lost", &self.function, "major", text));
        }
        rows.extend(self.duplicate(now));
        rows
    }

    /// Another router has this one's number.
    fn duplicate(&self, now: Time) -> Option<Condition> {
        let id = self.section.router_id;
        let is_recent = |at: Time| now.since(at) < DUPLICATE;
        let fought = self.duplicate.fought;
        let text = if self.duplicate.heard.is_some_and(is_recent) {
            format!("another router on a link of this one has its number {id}")
        } else if fought.count >= DUPLICATE_LSAS && is_recent(fought.since) {
            format!("another router of an area says LSAs as {id}, which is this one's number")
        } else {
            return None;
        };
        let text = format!("{text}: routes by either may be wrong; give one another `router_id`");
        Some(alarm("igp-duplicate-router-id", &self.function, "critical", text))
    }
}

fn alarm(name: &str, subject: &str, severity: &str, text: String) -> Condition {
    Condition::new(name, subject, severity, text).caused_by("communications-subsystem-failure")
}
