//! `docs/diameter.md` has every key of a section, every metric, and an example that is valid.

use crate::world::Site;
use diameter_stack::config::{Node, Peer, Route};
use diameter_stack::{ConnectionMetric, PeerMetric};
use event::Metric as _;
use schemars::{JsonSchema, schema_for};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const BEGIN: &str = "<!-- keys and metrics of stack/diameter -->\n";
const END: &str = "<!-- end of keys and metrics -->\n";
/// What stands in front of the example.
const EXAMPLE: &str = "<!-- a section -->\n\n```text\n";

/// Rows of the keys of a table: of those within it too, but for SCTP's, which have a page.
fn keys(table: &str, schema: &Value, of: &Value, text: &mut String) {
    // In the order of their names, whatever order the library of JSON keeps.
    let all: BTreeMap<_, _> = of["properties"].as_object().into_iter().flatten().collect();
    for (key, value) in all {
        let named = [&value["$ref"], &value["anyOf"][0]["$ref"], &value["items"]["$ref"]];
        let named = named.into_iter().find_map(|it| it.as_str()).unwrap_or_default();
        let name = named.rsplit('/').next().unwrap_or_default();
        let doc = value["description"].as_str().unwrap_or_default().replace('\n', " ");
        let must = of["required"].as_array().is_some_and(|all| all.iter().any(|it| it == key));
        let begun = match &value["default"] {
            _ if must => String::from("refused"),
            Value::Null | Value::Object(_) => String::new(),
            other => format!("`{other}`"),
        };
        writeln!(text, "| `{table}{key}` | {doc} | {begun} |").unwrap();
        if !matches!(name, "" | "Config" | "Carriage") {
            keys(&format!("{table}{key}."), schema, &schema["$defs"][name], text);
        }
    }
}

fn table<T: JsonSchema>(name: &str, text: &mut String) {
    let schema = schema_for!(T).to_value();
    keys(&format!("{name}."), &schema, &schema, text);
}

fn written() -> String {
    let mut text = String::from("\n| key | what | where it is absent |\n|---|---|---|\n");
    table::<Node>("diameter", &mut text);
    table::<Peer>("peer", &mut text);
    table::<Route>("route", &mut text);
    text.push_str("\n| metric | what |\n|---|---|\n");
    let connections = ConnectionMetric::ROWS.iter().chain(PeerMetric::ROWS);
    for row in diameter::Metric::ROWS.iter().chain(connections) {
        writeln!(text, "| `{}` | {} |", row.name, row.help()).unwrap();
    }
    text.push('\n');
    text
}

#[test]
fn the_page_has_every_key_and_metric_and_its_example_is_valid() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diameter.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (tables, tail) = rest.split_once(END).unwrap();
    let expected = written();
    if std::env::var_os("TANDEM_WRITE_DOCS").is_some() {
        std::fs::write(path, [head, BEGIN, &expected, END, tail].concat()).unwrap();
        return;
    }
    let how = "TANDEM_WRITE_DOCS=1 cargo test -p tandem-stack-diameter writes it";
    assert!(tables == expected, "{how}");
    let (_, example) = page.split_once(EXAMPLE).unwrap();
    let site = Site::read(example.split("```").next().unwrap());
    let mut issues = Vec::new();
    site.section().validate(&mut issues);
    assert_eq!(issues, []);
    assert!(!site.peer.is_empty() && !site.route.is_empty());
}
