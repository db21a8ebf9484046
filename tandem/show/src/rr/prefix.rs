//! Routes in the order of their prefixes.

use serde_json::Value;
use std::cmp::Ordering;
use std::net::IpAddr;

/// The prefix at the beginning of what a route is shown as; a route distinguisher stands before it
/// in families of VPNs.
fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let part = text.split_whitespace().find_map(|part| part.split_once('/'))?;
    Some((part.0.parse().ok()?, part.1.parse().ok()?))
}

fn order(a: &str, b: &str) -> Ordering {
    match (prefix(a), prefix(b)) {
        (Some(one), Some(other)) => one.cmp(&other).then_with(|| a.cmp(b)),
        _ => a.cmp(b),
    }
}

/// Rows by the prefix of their route, shorter ones first; others by their text.
pub fn sorted(rows: &mut [Value]) {
    let text = |row: &Value| row["route"].as_str().unwrap_or_default().to_owned();
    rows.sort_by(|a, b| order(&text(a), &text(b)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn prefixes_are_sorted_by_their_numbers() {
        let texts = ["10.0.0.0/8", "2001:db8::/32", "9.0.0.0/8", "10.0.0.0/16", "100.64.0.0/10"];
        let mut rows: Vec<Value> = texts.iter().map(|text| json!({ "route": text })).collect();
        sorted(&mut rows);
        let order: Vec<&str> = rows.iter().filter_map(|row| row["route"].as_str()).collect();
        let wanted = ["9.0.0.0/8", "10.0.0.0/8", "10.0.0.0/16", "100.64.0.0/10", "2001:db8::/32"];
        assert_eq!(order, wanted);
    }
}
