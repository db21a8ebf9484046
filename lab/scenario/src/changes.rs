//! What is otherwise than a file has it: places, values, tables and load of one run.

use crate::file::{File, Role};
use config::{Issue, meant};
use serde_json::Value;

/// Keys of a role that are numbers.
const NUMBERS: [&str; 3] = ["subsystem", "routing_context", "udp_port"];

/// What is otherwise.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Keys of roles: the role, the key, what it is.
    pub roles: Vec<(String, String, String)>,
    /// Values by name.
    pub values: Vec<(String, String)>,
    /// CSV files in place of tables, as seen from the folder of the file.
    pub tables: Vec<(String, String)>,
    /// Plays a second.
    pub rate: Option<f64>,
    /// Seconds in which the rate rises.
    pub ramp_s: Option<f64>,
    /// Seconds of the measurement.
    pub measure_s: Option<f64>,
    /// Seconds of the drain.
    pub drain_s: Option<f64>,
}

impl Changes {
    /// Makes them; what names nothing is an issue.
    pub(crate) fn apply(&self, file: &mut File, issues: &mut Vec<Issue>) {
        for (name, key, value) in &self.roles {
            let known: Vec<String> = file.role.iter().map(|it| it.name.clone()).collect();
            match file.role.iter_mut().find(|it| it.name == *name) {
                Some(role) => match changed(role, key, value) {
                    Ok(next) => *role = next,
                    Err(wrong) => issues.push(Issue::new("role", wrong, "docs/scenarios.md")),
                },
                None => issues.push(unknown("role", name, &known)),
            }
        }
        for (name, value) in &self.values {
            let known: Vec<String> = file.values.keys().cloned().collect();
            match file.values.get_mut(name) {
                Some(place) => *place = Value::String(value.clone()),
                None => issues.push(unknown("values", name, &known)),
            }
        }
        for (name, path) in &self.tables {
            let known: Vec<String> = file.table.iter().map(|it| it.name.clone()).collect();
            match file.table.iter_mut().find(|it| it.name == *name) {
                Some(table) => {
                    table.file = Some(path.clone());
                    table.row.clear();
                    table.make.clear();
                    table.count = None;
                }
                None => issues.push(unknown("table", name, &known)),
            }
        }
        let load = &mut file.load;
        load.rate = self.rate.unwrap_or(load.rate);
        load.ramp_s = self.ramp_s.unwrap_or(load.ramp_s);
        load.measure_s = self.measure_s.unwrap_or(load.measure_s);
        load.drain_s = self.drain_s.unwrap_or(load.drain_s);
    }
}

fn unknown(what: &str, name: &str, known: &[String]) -> Issue {
    let hint = meant(name, known.iter().map(String::as_str), "the file has none");
    Issue::new(what, format!("the file has no `{name}` here"), hint)
}

/// A role with another value of a key.
fn changed(role: &Role, key: &str, value: &str) -> Result<Role, String> {
    let mut all = serde_json::to_value(role).map_err(|wrong| wrong.to_string())?;
    let value = match value.parse::<u64>() {
        Ok(number) if NUMBERS.contains(&key) => Value::from(number),
        _ => Value::from(value),
    };
    if let Some(members) = all.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
    serde_json::from_value(all).map_err(|wrong| format!("{key} of {}: {wrong}", role.name))
}
