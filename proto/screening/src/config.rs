//! The rules as they are written: a file of their own, or tables of a section.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file of rules.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuleFile {
    /// What is thought plausible of subscribers that move.
    pub velocity: Velocity,
    /// Networks: whose subscribers have which numbers, whose nodes have which titles, and where
    /// they are.
    pub operator: Vec<Operator>,
    /// The rules: the first one that holds decides, those that only count let others decide.
    pub rule: Vec<Rule>,
}

/// Whose subscribers and nodes are this network's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Own {
    /// What an IMSI of an own subscriber begins with.
    pub imsi: Vec<String>,
    /// What the title of an own node begins with.
    pub titles: Vec<String>,
}

/// A network, or all networks of a country.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// Name, unique among them.
    pub name: String,
    /// What an IMSI of its subscribers begins with (E.212: MCC, or MCC and MNC). No two networks
    /// have the same beginning; the longest one counts.
    #[serde(default)]
    pub imsi: Vec<String>,
    /// What a title of its nodes begins with (E.164, and E.214).
    #[serde(default)]
    pub titles: Vec<String>,
    /// Where it is: degrees of latitude, north, and of longitude, east; absent: it has no place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<[f64; 2]>,
    /// How far its nodes may be from there, kilometres.
    #[serde(default)]
    pub radius_km: u32,
}

/// What is thought plausible of subscribers that move (category 3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Velocity {
    /// The fastest way from one place to another, kilometres an hour.
    pub speed_kmh: u32,
    /// Subscribers whose last place is kept, 16,777,216 at most; 0: no place is.
    pub subscribers_max: u32,
    /// How long a last place is kept, seconds.
    pub kept_s: u32,
}

impl Default for Velocity {
    fn default() -> Self {
        Self { speed_kmh: 1_000, subscribers_max: 1 << 18, kept_s: 24 * 3_600 }
    }
}

/// Whose node has sent a message, or gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Its title is one of this network.
    Own,
    /// Its title is not of this network, or it has none.
    Foreign,
    /// Its title is one of the operator that the subscriber is of.
    OfSubscriber,
    /// It is not shown that its title is one of the operator that the subscriber is of.
    NotOfSubscriber,
}

/// Whose subscriber an operation is about, by the IMSI in its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Subscriber {
    /// This network's own.
    Own,
    /// Another network's.
    Foreign,
    /// The argument tells no IMSI.
    Untold,
}

/// How the place of who calls fits to where the subscriber was last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// Nobody gets there from the last place in that time.
    Implausible,
    /// It is not the last place.
    Elsewhere,
    /// The caller has no place: its title is of no network that is listed, or it has none.
    Nowhere,
}

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Do {
    /// It goes on, and no later rule is asked.
    Pass,
    /// The rule is counted, later rules are asked.
    Count,
    /// It goes nowhere, and nobody is told.
    #[default]
    Discard,
    /// Its sender gets the error `error`.
    Error,
    /// Its sender gets a reject: unrecognizedOperation.
    Reject,
    /// Its sender gets an abort of TCAP: resourceLimitation.
    Abort,
    /// It comes back with `return_cause` where that was asked for.
    Return,
}

/// A rule: it holds for an operation that has all that it names. A list that is empty, and what is
/// left out, is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// Name, unique in the set.
    pub name: String,
    /// Operations that are invoked: names of MAP and CAP (`updateLocation`, `cap:initialDP`),
    /// numbers (`map:2`), `unknown` (a number that neither has), `global` (an object identifier),
    /// `none` (a message that invokes none).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// Application contexts by name, of every version or of one (`shortMsgMO-RelayContext/3`);
    /// `none`: a dialogue begins without one; `unknown`: neither MAP nor CAP has it; `untold`: the
    /// dialogue has begun before, and the message does not say it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    /// What the calling title begins with: digits, `?`, `[1-3]`, `4470..4479`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calling: Vec<String>,
    /// What the called title begins with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub called: Vec<String>,
    /// Whose node calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calling_network: Option<Network>,
    /// Whose node is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called_network: Option<Network>,
    /// Subsystem numbers of who calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calling_subsystems: Vec<u8>,
    /// Subsystem numbers of who is called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub called_subsystems: Vec<u8>,
    /// Originating point codes, and ranges of them (`2-100-0..2-100-7`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub originating: Vec<String>,
    /// Destination point codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<String>,
    /// What the IMSI in the argument begins with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imsi: Vec<String>,
    /// Whose subscriber it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscriber: Option<Subscriber>,
    /// How it fits to where the subscriber was last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What becomes of the message.
    pub action: Do,
    /// The error of MAP that its sender gets with `action = "error"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The cause that it comes back with, with `action = "return"` (Q.713 §3.12).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_cause: Option<u8>,
}
