//! `[ssc.overload]`, `[ssc.resources]` and the limits of realms, next hops and subscribers: their
//! shape, help and checks.

use config::Issue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Calls per second at most: more than any core carries.
const CALLS_PER_S_MAX: f64 = 1e6;

/// Overload control: what waited too long is refused, new calls first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overload {
    /// How long messages may wait for the controller, milliseconds: above it new calls are refused
    /// with 503, above twice and three times of it registrations and their refreshes. Messages of
    /// calls in progress and emergency calls never are. 0 is off.
    pub delay_target_ms: u32,
    /// Whether calls are captured in brief before any is refused: above half of the target fewer
    /// and fewer of them are captured whole, of the others the requests that come in and the final
    /// answers to them.
    pub thin_captures: bool,
}

impl Default for Overload {
    fn default() -> Self {
        Self { delay_target_ms: 10, thin_captures: true }
    }
}

/// Units that calls take from a shard's stock, by what they cost it; without stock a call is
/// refused with 503.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Resources {
    /// The stock of one shard.
    pub units_max: u32,
    /// Units of any call.
    pub call: u16,
    /// Further units of a caller's leg over TCP.
    pub tcp: u16,
    /// Further units of a caller's leg over TLS.
    pub tls: u16,
    /// Further units of a flow with reliable provisional responses (100rel), as VoLTE has it.
    pub reliable: u16,
    /// Further units of each media line beyond the first.
    pub media: u16,
    /// Further units of a call whose media are anchored.
    pub anchored: u16,
    /// Further units of each side of it whose media are protected (SRTP).
    pub srtp: u16,
    /// Further units of it where a realm has codecs that are transcoded.
    pub transcoding: u16,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            units_max: 10_000_000,
            call: 10,
            tcp: 2,
            tls: 6,
            reliable: 8,
            media: 2,
            anchored: 4,
            srtp: 6,
            transcoding: 40,
        }
    }
}

/// Limits of calls. A rate is divided among the shards, and so is a number of calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallLimit {
    /// Calls per second; absent: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_s: Option<f64>,
    /// Calls that may come at once when there were none before; absent: a twentieth of a second's
    /// worth, one at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    /// Calls at the same time; absent: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_max: Option<u32>,
    /// Answer to a call above the limit; absent: 486.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess_status: Option<u16>,
    /// Retry-After in that answer, seconds, when its status is 503; absent: that of `[ssc.limits]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u32>,
}

impl Overload {
    /// Finds what is wrong.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.delay_target_ms > 1_000 {
            let hint = "use 0 to 1000";
            issues.push(Issue::new("overload.delay_target_ms", "out of range", hint));
        }
    }
}

impl Resources {
    /// Finds what is wrong.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        if self.call == 0 {
            let hint = "use 1 or more";
            issues.push(Issue::new("resources.call", "a call takes a unit at least", hint));
        }
    }
}

impl CallLimit {
    /// Finds what is wrong; paths begin with `at`.
    pub fn validate(&self, at: &str, issues: &mut Vec<Issue>) {
        if self.calls_per_s.is_some_and(|rate| !(0.0..=CALLS_PER_S_MAX).contains(&rate)) {
            let path = format!("{at}.calls_per_s");
            issues.push(Issue::new(path, "out of range", "use 0 to 1000000"));
        }
        if self.burst == Some(0) {
            let hint = "use 1 or more; calls_per_s = 0 lets no call pass";
            issues.push(Issue::new(format!("{at}.burst"), "no call could ever pass", hint));
        }
        if self.excess_status.is_some_and(|status| !(300..700).contains(&status)) {
            let path = format!("{at}.excess_status");
            issues.push(Issue::new(path, "not a final failure", "use 300 to 699"));
        }
    }
}
