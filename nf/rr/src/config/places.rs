//! How far next hops are, from here and from where peers stand (RFC 4271 §9.1.2.1, RFC 9107).

use super::Rr;
use bgp_stack::config::{Range, validate_name};
use config::Issue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Locations of one function at most.
const LOCATIONS_MAX: usize = 256;
/// Metrics of all locations at most.
const METRICS_MAX: usize = 100_000;

/// How far next hops in a prefix are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextHopMetric {
    /// The prefix, as `10.1.0.0/16`; an address alone is one next hop. The longest counts.
    pub prefix: String,
    /// The metric of the way there.
    pub metric: u32,
}

/// A place where peers stand (RFC 9107).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// Name, unique in the function; `location` of peers and groups names it.
    pub name: String,
    /// How far next hops are from there. Next hops in none of the prefixes cannot be reached;
    /// without any prefix all can.
    #[serde(default)]
    pub metrics: Vec<NextHopMetric>,
}

fn read(metrics: &[NextHopMetric]) -> rib::Location {
    let read = |it: &NextHopMetric| {
        let range = Range::read(&it.prefix, 0)?;
        Some((range.prefix, range.length, it.metric))
    };
    rib::Location::new(&metrics.iter().filter_map(read).collect::<Vec<(IpAddr, u8, u32)>>())
}

impl Rr {
    /// The metrics by location, this node's own first.
    pub(crate) fn distances(&self) -> rib::Metrics {
        let others = self.location.iter().map(|location| read(&location.metrics));
        rib::Metrics(core::iter::once(read(&self.metrics)).chain(others).collect())
    }

    pub(super) fn validate_places(&self, issues: &mut Vec<Issue>) {
        if self.location.len() > LOCATIONS_MAX {
            let what = format!("{} locations", self.location.len());
            issues.push(Issue::new("location", what, format!("use {LOCATIONS_MAX} or fewer")));
        }
        let of_places = self.location.iter().map(|it| it.metrics.len());
        let total = self.metrics.len() + of_places.sum::<usize>();
        if total > METRICS_MAX {
            let what = format!("{total} metrics of next hops");
            issues.push(Issue::new("metrics", what, format!("use {METRICS_MAX} or fewer")));
        }
        validate_metrics("metrics", &self.metrics, issues);
        for (n, location) in self.location.iter().enumerate() {
            let at = format!("location[{n}]");
            let twice = self.location[..n].iter().any(|it| it.name == location.name);
            validate_name(&location.name, twice, &at, issues);
            validate_metrics(&format!("{at}.metrics"), &location.metrics, issues);
        }
    }
}

fn validate_metrics(at: &str, metrics: &[NextHopMetric], issues: &mut Vec<Issue>) {
    for (n, metric) in metrics.iter().enumerate() {
        if Range::read(&metric.prefix, 0).is_none() {
            let hint = "write a prefix without bits behind its length: `10.1.0.0/16`";
            let what = format!("`{}` is no prefix", metric.prefix);
            issues.push(Issue::new(format!("{at}[{n}].prefix"), what, hint));
        }
    }
}
