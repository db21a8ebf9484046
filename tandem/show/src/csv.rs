//! Comma-separated values with a header line (RFC 4180).

use crate::cell::raw;
use crate::text::escaped;
use crate::{Column, Listing};
use serde_json::Value;

/// The rows; keys are the titles, values are as they came.
#[must_use]
pub fn csv(rows: &[Value], listing: &Listing) -> String {
    let columns: &[Column] = listing.columns;
    let line = |cells: Vec<String>| {
        cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\r\n"
    };
    let mut out = line(columns.iter().map(|column| column.key.to_owned()).collect());
    for row in rows {
        out += &line(columns.iter().map(|c| harmless(&row[c.key])).collect());
    }
    out
}

/// An answer without rows: a line for each value in it, and where it stands: `agreed.hold_time_s`.
#[must_use]
pub fn csv_of(whole: &Value) -> String {
    let mut out = "key,value\r\n".to_owned();
    leaves(String::new(), whole, &mut out);
    out
}

fn leaves(at: String, value: &Value, out: &mut String) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(below(key), value, out)),
        Value::Array(items) if items.iter().any(|it| it.is_object() || it.is_array()) => {
            items.iter().enumerate().for_each(|(n, it)| leaves(below(&n.to_string()), it, out));
        }
        Value::Null if at.is_empty() => {}
        leaf => *out += &format!("{},{}\r\n", quoted(&escaped(&at)), quoted(&harmless(leaf))),
    }
}

/// A cell that no spreadsheet takes for a formula, and no terminal for an order.
fn harmless(value: &Value) -> String {
    let text = escaped(&raw(value));
    let is_formula = !value.is_number() && text.starts_with(['=', '+', '-', '@']);
    if is_formula { format!("'{text}") } else { text }
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::steers;
    use crate::{Look, json, plain, table, time};
    use serde_json::json;

    #[test]
    fn csv_quotes_what_would_break_it() {
        let rows = [json!({"a": "x,\"y\"", "b": 1}), json!({"a": null, "b": [1, "z"]})];
        let listing = Listing::new("", const { &[plain("a", "A"), time("b", "B")] });
        assert_eq!(csv(&rows, &listing), "a,b\r\n\"x,\"\"y\"\"\",1\r\n,1 z\r\n");
    }

    #[test]
    fn an_answer_without_rows_has_a_line_for_each_value() {
        let answer = json!([{"peer": "a", "agreed": {"families": ["x", "y"], "hold": 9},
            "limits": [{"max": 7}], "why": null}]);
        let wanted = "key,value\r\n0.agreed.families,x y\r\n0.agreed.hold,9\r\n\
                      0.limits.0.max,7\r\n0.peer,a\r\n0.why,\r\n";
        assert_eq!(csv_of(&answer), wanted);
        assert_eq!(csv_of(&Value::Null), "key,value\r\n");
    }

    #[test]
    fn what_a_peer_says_steers_no_terminal_and_no_spreadsheet() {
        let hostile = "\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}ok";
        let rows =
            [json!({"a": hostile, "b": ["=HYPERLINK(1)", "\t"]}), json!({"a": -1, "b": "-1"})];
        let listing = Listing::new("", const { &[plain("a", "A"), plain("b", "B")] });
        let whole = Value::from(rows.to_vec());
        let look = Look { width: None, colour: false, now_us: 0 };
        for printed in [table(&look, &rows, &listing), csv(&rows, &listing), json(&whole)] {
            let left = printed.replace("\r\n", "\n").replace('\n', "");
            assert!(!left.contains(steers) && left.contains("ok"), "{printed:?}");
        }
        let escapes = r"\u{1b}]0;x\u{7}\r\u{9b}2J\u{202e}ok";
        assert_eq!(
            csv(&rows, &listing),
            format!("a,b\r\n{escapes},'=HYPERLINK(1) \\t\r\n-1,'-1\r\n")
        );
        assert_eq!(serde_json::from_str::<Value>(&json(&whole)).expect("it is JSON"), whole);
        assert_eq!(crate::harmless_lines("a\n\tb\u{7f}"), "a\n\tb\\u{7f}");
    }
}
