//! What a scenario's file says, as it is written.

use config::{Issue, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A file of scenarios.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What it is called.
    pub name: String,
    /// What it plays, in a sentence.
    #[serde(default)]
    pub about: String,
    /// How often, and for how long.
    #[serde(default)]
    pub load: Load,
    /// Values that all scenarios know by name.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
    /// Who takes part.
    pub role: Vec<Role>,
    /// Rows that scenarios take their values from.
    #[serde(default)]
    pub table: Vec<Table>,
    /// What is played.
    pub scenario: Vec<Scenario>,
}

/// How often scenarios are begun, and for how long.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Plays a second, of all scenarios that begin.
    pub rate: f64,
    /// Seconds in which the rate rises from nothing.
    pub ramp_s: f64,
    /// Seconds of the measurement.
    pub measure_s: f64,
    /// Seconds at most in which plays end that are under way; none begins.
    pub drain_s: f64,
    /// How plays are spread.
    pub spread: Spread,
    /// Plays that run at once, at most.
    pub plays_max: u32,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            rate: 1.0,
            ramp_s: 0.0,
            measure_s: 1.0,
            drain_s: 30.0,
            spread: Spread::Uniform,
            plays_max: 1_000_000,
        }
    }
}

/// How plays are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// The same distance between any two.
    Uniform,
    /// Independent of each other.
    Poisson,
}

/// Who takes part: a subsystem of TCAP, and where it is played.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// What it is called.
    pub name: String,
    /// Where it is: `unix:PATH` or `tcp:ADDRESS:PORT`, an application of a gateway;
    /// `m3ua:ADDRESS:PORT` or `m3ua+sctp:ADDRESS:PORT`, a stack of its own at a gateway;
    /// `sip:ADDRESS:PORT`, over UDP: where calls are sent, or where they are answered if no step of
    /// the role calls; `inside`: with the others that are so, inside this process. Absent for all
    /// roles: they are inside; for some of several: these are played elsewhere.
    pub at: Option<String>,
    /// Its subsystem; of SIP none.
    #[serde(default)]
    pub subsystem: u8,
    /// The digits of its title: it calls by them where a step says nothing else, and inside this
    /// process it is called by them.
    pub title: Option<String>,
    /// The application's name at the gateway; absent: that of the role.
    pub application: Option<String>,
    /// The group of its instance there.
    pub group: Option<String>,
    /// A file with the application's keys.
    pub key_file: Option<String>,
    /// How it speaks with the gateway.
    #[serde(default)]
    pub spelling: RoleSpelling,
    /// With `sip:`, the address and port that calls come from.
    pub local: Option<String>,
    /// With `sip:`, the flow of its calls; absent: `SIP` (docs/call-flows.md).
    pub flow: Option<String>,
    /// With `m3ua:`, its own point code.
    pub point_code: Option<String>,
    /// With `m3ua:`, the point code that messages are sent to: of the peer, or of who translates.
    pub peer: Option<String>,
    /// With `m3ua:`, the routing context of its Application Server.
    pub routing_context: Option<u32>,
    /// With `m3ua+sctp:`, the gateway's UDP port; absent: 9899 (RFC 6951).
    pub udp_port: Option<u16>,
}

/// How an application speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoleSpelling {
    /// Tagged fields.
    #[default]
    Tagged,
    /// Lines of JSON.
    Json,
}

/// A table: from a CSV file, from rows, or made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// What it is called.
    pub name: String,
    /// A CSV file whose first line names the columns; as seen from this file.
    pub file: Option<String>,
    /// Rows, by columns.
    #[serde(default)]
    pub row: Vec<BTreeMap<String, String>>,
    /// Rows that are made.
    pub count: Option<u32>,
    /// Columns of those: templates in which `{n}` counts from 0.
    #[serde(default)]
    pub make: BTreeMap<String, String>,
}

/// A scenario.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// Who plays it, where a step says nothing else.
    pub role: String,
    /// Its share of what is begun; of those that answer it means nothing.
    #[serde(default = "one")]
    pub weight: u32,
    /// The table of which each play has a row.
    pub table: Option<String>,
    /// Which row.
    #[serde(default)]
    pub order: Order,
    /// What is done, one after the other.
    pub step: Vec<Step>,
}

const fn one() -> u32 {
    1
}

/// Which row a play has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The next one.
    #[default]
    Turn,
    /// Any.
    Random,
}

/// A step: one of `send`, `await`, `pause_ms`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// A message of this kind is sent.
    pub send: Option<Sent>,
    /// A message of this kind is waited for.
    #[serde(rename = "await")]
    pub awaits: Option<Awaited>,
    /// Time passes: milliseconds, or any between two.
    pub pause_ms: Option<Pause>,
    /// Whose dialogue it is; absent: that of the scenario.
    pub role: Option<String>,
    /// Of a call, the number of the subscriber who calls: `{n}`.
    pub subscriber: Option<Value>,
    /// Which dialogue, where a play has several; absent: the role's name.
    pub dialogue: Option<String>,
    /// The application context: of a begin or uni; of an abort, the one that might be used.
    pub context: Option<String>,
    /// Where to: an address as in applications.md.
    pub called: Option<Value>,
    /// Where from.
    pub calling: Option<Value>,
    /// EXTERNALs for the user of the other side.
    pub user_information: Option<Value>,
    /// What a message has, or has to have.
    #[serde(default)]
    pub component: Vec<Component>,
    /// Paths in the message, and what stands there.
    #[serde(default)]
    pub check: BTreeMap<String, Value>,
    /// Values by name, and the paths in the message that they stand at.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// The row of a table with that value: it gives its columns from here on.
    pub find: Option<Find>,
    /// Milliseconds in which it has to come; absent: 30,000.
    pub within_ms: Option<u64>,
    /// The time from the message that was sent last to this one is measured by this name.
    pub time: Option<String>,
}

/// Messages that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sent {
    /// TC-BEGIN.
    Begin,
    /// TC-CONTINUE.
    Continue,
    /// TC-END.
    End,
    /// TC-END, prearranged: nothing is sent, both sides know.
    Prearranged,
    /// TC-U-ABORT.
    Abort,
    /// TC-UNI.
    Uni,
    /// A call by SIP begins.
    Call,
    /// It ends, once it has been answered.
    Release,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Awaited {
    /// TC-BEGIN: the first step of a scenario that answers.
    Begin,
    /// TC-UNI: the same.
    Uni,
    /// TC-CONTINUE.
    Continue,
    /// TC-END.
    End,
    /// TC-U-ABORT.
    Abort,
    /// TC-P-ABORT.
    PAbort,
    /// TC-NOTICE: a message came back.
    Notice,
    /// TC-L-CANCEL: an operation was not answered in time.
    Cancel,
    /// TC-L-REJECT.
    Reject,
    /// A call by SIP is answered.
    Answered,
    /// A call by SIP is over, as its flow says.
    Released,
}

/// A pause.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Pause {
    /// Milliseconds.
    Of(u64),
    /// Milliseconds, at least and at most.
    Between(u64, u64),
}

/// A component: one of `invoke`, `result`, `error`, `reject`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// An operation that is asked for, by its name.
    pub invoke: Option<String>,
    /// The result of that operation.
    pub result: Option<String>,
    /// An error, by its name.
    pub error: Option<String>,
    /// A problem: `invoke/mistypedParameter`.
    pub reject: Option<String>,
    /// The invoke identifier; absent: of an invoke the next one, of an answer that of the
    /// operation which is answered.
    pub id: Option<Value>,
    /// The peer's operation that an invoke is linked to, by its name.
    pub linked: Option<String>,
    /// The argument of an invoke.
    pub argument: Option<Value>,
    /// The value of a result.
    pub value: Option<Value>,
    /// The parameter of an error.
    pub parameter: Option<Value>,
    /// Another part of the result follows.
    #[serde(default)]
    pub part: bool,
    /// The class of an operation, against its row.
    pub class: Option<u8>,
    /// Milliseconds for its answer, against its row.
    pub timeout_ms: Option<u32>,
    /// Paths in a component that came, and what stands there.
    #[serde(default)]
    pub check: BTreeMap<String, Value>,
    /// Values by name, and the paths in it that they stand at.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
}

/// A row that is looked for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// In which table.
    pub table: String,
    /// In which column.
    pub column: String,
    /// What stands there.
    pub is: String,
}

impl Site for File {
    fn validate(&self, issues: &mut Vec<Issue>) {
        crate::validate::validate(self, issues);
    }
}
