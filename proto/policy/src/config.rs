//! `[[policy]]`: the shape of routing policies in a site file, and its help.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A routing policy: rules in their order, the first that takes a route and accepts or rejects it
/// decides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyConfig {
    /// Name by which peers and groups choose it.
    pub name: String,
    /// What becomes of routes that no rule decides: `accept` or `reject`.
    #[serde(default)]
    pub default: Disposition,
    /// The rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rule: Vec<RuleConfig>,
}

/// What becomes of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// It is taken.
    Accept,
    /// It is not.
    #[default]
    Reject,
}

/// A rule: which routes it takes, how it changes them, and how it goes on with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// What the rule is for, in a few words; shown where it decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Conditions that must all hold; without any the rule takes every route.
    #[serde(default, rename = "match", skip_serializing_if = "is_default")]
    pub matches: MatchConfig,
    /// Changes of the route, in the order of this table.
    #[serde(default, skip_serializing_if = "is_default")]
    pub set: SetConfig,
    /// `accept`, `reject`, or `next`: on with the rules below, which see the changed route.
    pub then: Then,
}

impl RuleConfig {
    /// A rule without conditions and changes.
    #[must_use]
    pub fn new(then: Then) -> Self {
        let (name, matches, set) = Default::default();
        Self { name, matches, set, then }
    }
}

/// How a rule goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    /// The route is taken.
    Accept,
    /// The route is not.
    Reject,
    /// The next rule is asked.
    Next,
}

/// Conditions on a route.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatchConfig {
    /// Prefixes, one of which must be the route's: `10.0.0.0/8` alone means that prefix,
    /// `10.0.0.0/8 le 24` also those inside of it of up to 24 bits, `ge 20` those of 20 bits and
    /// more, `ge 20 le 24` both. Of VPNs the prefix behind the distinguisher counts, of EVPN that
    /// of type 5; other routes have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefixes: Option<Vec<String>>,
    /// Families, as `ipv4-unicast` or `evpn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<String>>,
    /// Communities, any one of which the route must have: `65000:100`, `no-export`,
    /// `large 65000:1:2`, `rt 65000:7`, `ro 10.0.0.1:7`, an extended one as `0x0003fde800000007`;
    /// a number may be `*` or a range as `100-199`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communities: Option<Vec<String>>,
    /// The same, but the route must have a community for every line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_communities: Option<Vec<String>>,
    /// Expression over the ASes of the path: `^65001( 65002)*$`. An AS is a letter of it, `.` any
    /// AS, `64512-65534` a range, `[65001 65010-65020]` one of these, `[^65001]` any other;
    /// `* + ? {2,5} | ( ) ^ $` as everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_path: Option<String>,
    /// Length of the path as the choice of the best one counts it: `3`, `1-5`, `6-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_path_length: Option<Bounds>,
    /// `igp`, `egp` or `incomplete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginConfig>,
    /// MULTI_EXIT_DISC: `10`, `10-20`, `10-`; a route without does not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub med: Option<Bounds>,
    /// LOCAL_PREF: `100`, `100-200`, `-99`; a route without does not match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_pref: Option<Bounds>,
    /// Addresses and prefixes in which the next hop must lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hops: Option<Vec<String>>,
    /// What origin validation (RFC 6811) says: `valid`, `invalid` or `not-found`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    /// The peer that a route comes from (import) or goes to (export) must be one of these: a
    /// peer's or group's name, an address, a prefix of addresses, or `as 65001`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<Vec<String>>,
}

/// A number or bounds of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number, or bounds as \"10-20\", \"10-\" or \"-20\"")]
pub enum Bounds {
    /// That number.
    Exactly(u32),
    /// `10-20`, `10-`, `-20`.
    Text(String),
}

/// ORIGIN (RFC 4271 §5.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OriginConfig {
    /// From inside of its AS.
    Igp,
    /// By the protocol EGP.
    Egp,
    /// Otherwise.
    Incomplete,
}

/// What origin validation says of a route (RFC 6811 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Validation {
    /// Its AS may announce it.
    Valid,
    /// Another AS may.
    Invalid,
    /// Nobody said who may.
    NotFound,
}

/// Changes of a route.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    /// LOCAL_PREF: `200`, `"+5"` or `"-5"`; a route without counts as 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_pref: Option<AmountConfig>,
    /// MULTI_EXIT_DISC: `10`, `"+5"`, `"-5"`, or `"none"` to take it out; a route without counts
    /// as 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub med: Option<AmountConfig>,
    /// Communities of every kind: some removed, then some added; or replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communities: Option<CommunitiesConfig>,
    /// `self` (the address of our end of the session) or an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_hop: Option<String>,
    /// ASes in front of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepend: Option<PrependConfig>,
    /// `igp`, `egp` or `incomplete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginConfig>,
    /// The metric of AIGP (RFC 7311): `10`, `"+5"`, `"-5"`, or `"none"` to take it out. A route
    /// without has nothing to add to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aigp: Option<AmountConfig>,
}

/// A number, or how it changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number that is not negative, or \"+5\", \"-5\" or \"none\"")]
pub enum AmountConfig {
    /// That number.
    Exactly(u64),
    /// `+5`, `-5`, `none`.
    Text(String),
}

/// Communities that go and come, written as in `match.communities`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommunitiesConfig {
    /// To be added where they lack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<String>,
    /// To be taken out; `*` and ranges are allowed here: `*:*` are all of four octets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// To stand in place of all others of the same kind (four octets, extended, large).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replace: Vec<String>,
}

/// An AS in front of the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrependConfig {
    /// The AS.
    pub asn: u32,
    /// How many times.
    #[serde(default = "once")]
    pub times: u8,
}

const fn once() -> u8 {
    1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
