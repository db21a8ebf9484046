//! `[[ssc.rule]]`: the shape of header manipulation in a site file, and its help.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which way a message crosses the border of a realm.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the realm into the controller.
    In,
    /// From the controller into the realm.
    Out,
}

/// A header manipulation rule: which messages it takes, and what it does to them. Rules run in
/// their order; each sees what those before it made of the message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// What the rule is for, in a few words; shown beside it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Realm whose border the message crosses; absent: every realm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,
    /// `in` (from the realm into the controller) or `out`; absent: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// `request`, `response` or `any`.
    #[serde(default)]
    pub message: Kind,
    /// Only these methods (of a response: the method it answers); empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
    /// Only responses with this status: `486`, `2xx`, `400-499`, or several with commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Conditions that must all hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// What is done, in this order.
    #[serde(rename = "do", default)]
    pub actions: Vec<Action>,
}

/// Which messages a rule takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "MessageKind")]
pub enum Kind {
    /// Requests.
    Request,
    /// Responses.
    Response,
    /// Both.
    #[default]
    Any,
}

/// A condition on a header or on the Request-URI: one of `header` and `uri` is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Header to look at, long or compact name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Regular expression that the header's value must match (any one of its lines). What its
    /// groups catch is `$1` to `$9` in the actions, counted through all conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// `true`: the header must be there (what is asked when neither this nor `matches` is set);
    /// `false`: it must be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
    /// Regular expression that the Request-URI must match; its groups count like those of
    /// `matches`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// One action: exactly one of `add`, `set`, `remove`, `replace`, `rename`, `uri_user`, `uri_host`
/// and `reason` is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Header to add a line of, with `value`; one that may stand only once is not added again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,
    /// Header that shall stand once, with `value`: changed if it is there, added if not. Of From
    /// and To only name and URI change, the tag stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// Header to remove, all lines of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove: Option<String>,
    /// Header in whose lines every match of `pattern` becomes `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace: Option<String>,
    /// Header that shall be called `to`, its values unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rename: Option<String>,
    /// New user part of the Request-URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri_user: Option<String>,
    /// New host of the Request-URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri_host: Option<String>,
    /// New reason phrase of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Value for `add`, `set` and `replace`: `$1` to `$9` are what the conditions' groups caught
    /// (in `replace`: its own pattern's groups), `$$` is a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Regular expression for `replace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// New name for `rename`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}
