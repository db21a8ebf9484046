//! The commands of `tandem ctl` that only look.

use super::client::{Client, segment};
use crate::cli::Output;
use crate::exit::Exit;
use crate::output::{self, Column, plain, time};
use serde_json::Value;

pub const POOL: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("drawer", "DRAWER"),
    plain("keeper", "KEEPER"),
    plain("sessions", "SESSIONS"),
    plain("held", "HELD"),
    plain("live", "LIVE"),
    plain("refused", "REFUSED"),
    plain("grace_left_s", "GRACE LEFT S"),
];

pub const REPLICA: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("node", "NODE"),
    plain("role", "ROLE"),
    plain("epoch", "EPOCH"),
    plain("peer", "PEER"),
    plain("peer_alive", "ALIVE"),
    plain("arbiter_alive", "ARBITER"),
    plain("waits_for_vote", "WAITS FOR VOTE"),
    plain("synced", "SYNCED"),
    plain("lag", "LAG"),
    plain("version", "VERSION"),
    plain("peer_version", "OF PEER"),
];

const FUNCTIONS: &[Column] = &[
    plain("name", "NAME"),
    plain("kind", "KIND"),
    plain("state", "STATE"),
    plain("shards", "SHARDS"),
    plain("uptime_s", "UPTIME S"),
    plain("addresses", "PORTS"),
];

const COUNTERS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("shard", "SHARD"),
    plain("name", "NAME"),
    plain("value", "VALUE"),
    plain("help", "MEANING"),
];

const ALARMS: &[Column] = &[
    plain("id", "ID"),
    plain("severity", "SEVERITY"),
    plain("function", "FUNCTION"),
    plain("name", "NAME"),
    plain("subject", "SUBJECT"),
    plain("text", "TEXT"),
    time("raised_at_us", "RAISED"),
    time("cleared_at_us", "CLEARED"),
    plain("count", "COUNT"),
];

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The site and its functions.
pub fn site(client: &Client, form: Output) -> Result<(), Exit> {
    let site = client.get("/api/v1/site")?;
    let mut rows = array(&site["functions"]).to_vec();
    for row in &mut rows {
        let port = |port: &Value| {
            let word = |key| port[key].as_str().unwrap_or_default();
            Value::from(format!("{}:{}", word("transport"), word("address")))
        };
        row["addresses"] = array(&row["ports"]).iter().map(port).collect();
    }
    if form == Output::Table {
        let word = |key| site[key].as_str().unwrap_or_default();
        let since = output::clock(site["started_at_us"].as_u64().unwrap_or_default());
        output::text(&format!("{}  tandem {}  since {since}\n", word("name"), word("version")))?;
    }
    output::rows(form, &site, &rows, FUNCTIONS)
}

/// What one function or all functions answer; a function that knows nothing of it is passed over
/// when all are asked.
pub fn asked(
    client: &Client,
    form: Output,
    function: Option<String>,
    about: &str,
    columns: &[Column],
) -> Result<(), Exit> {
    let names = match &function {
        Some(name) => vec![name.clone()],
        None => names(client)?,
    };
    let mut rows = Vec::new();
    for name in names {
        let path = format!("/api/v1/functions/{}/{about}", segment(&name));
        let answer = match &function {
            Some(_) => client.get(&path)?,
            None => match client.find(&path)? {
                Some(answer) => answer,
                None => continue, // a function of another kind
            },
        };
        for mut row in array(&answer).iter().cloned() {
            if row.is_object() {
                row["function"] = Value::from(name.clone());
            }
            rows.push(row);
        }
    }
    let whole = Value::from(rows.clone());
    output::rows(form, &whole, &rows, columns)
}

fn names(client: &Client) -> Result<Vec<String>, Exit> {
    let site = client.get("/api/v1/site")?;
    let name = |row: &Value| row["name"].as_str().map(str::to_owned);
    Ok(array(&site["functions"]).iter().filter_map(name).collect())
}

/// Metrics; those at zero are left out unless `all`.
pub fn counters(
    client: &Client,
    form: Output,
    name: Option<String>,
    function: Option<String>,
    all: bool,
) -> Result<(), Exit> {
    let whole = client.get("/api/v1/counters")?;
    let wanted = |row: &&Value| {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        name.as_deref().is_none_or(|start| word("name").starts_with(start))
            && function.as_deref().is_none_or(|wanted| word("function") == wanted)
            && (all || row["value"] != 0)
    };
    let rows: Vec<Value> = array(&whole).iter().filter(wanted).cloned().collect();
    output::rows(form, &Value::from(rows.clone()), &rows, COUNTERS)
}

/// Alarms.
pub fn alarms(client: &Client, form: Output, history: bool) -> Result<(), Exit> {
    let whole = client.get(&format!("/api/v1/alarms?history={history}"))?;
    output::rows(form, &whole, array(&whole), ALARMS)
}
