//! Every metric that a site can have, by the part that has it: a page of the reference, and what
//! dashboards and alert rules may name.

use crate::functions::ROWS;
use event::{Kind, Metric, MetricCells, Metrics, Row, TABLE_ROWS_MAX};
use oam::process::ProcessMetric;
use policing::kernel::KernelMetric;
use services::pool::PoolMetric;
use std::fmt::Write as _;

const HEAD: &str = "# Metrics

What `/metrics` of a site tells Prometheus, and `tandem ctl counters` people. Made by `tandem
reference`; a test keeps it so. How Prometheus gets at it, the dashboard and the alert rules that
come along: [Operations](operations.md#metrics).

Every metric but those of the process has the labels `function` and `shard`. Those of one peer, port
or next hop have further ones, and are shown once a second. ";

/// A part of a site: its title, and the cells that it has.
pub type Part = (&'static str, Vec<MetricCells>);

/// The cells of metrics, empty.
pub fn cells_of<F: Metric>() -> MetricCells {
    Metrics::<F>::new().cells()
}

/// The parts of a site: those of each kind of functions, and what all have.
pub fn parts() -> Vec<Part> {
    let mut parts: Vec<Part> = ROWS.iter().flat_map(|row| (row.metrics)()).collect();
    let shards = vec![cells_of::<runtime::RuntimeMetric>(), cells_of::<KernelMetric>()];
    let pairs = vec![cells_of::<replica::ReplicaMetric>(), cells_of::<replica::ArbiterMetric>()];
    parts.extend([
        ("Shards, ports and queues of every function", shards),
        ("Pairs and their arbiter", pairs),
        ("Clusters", vec![cells_of::<replica::ClusterMetric>()]),
        ("Pool of sessions", vec![cells_of::<PoolMetric>()]),
        ("Management side", oam::metrics::Metrics::default().cells().to_vec()),
        ("Process", vec![cells_of::<ProcessMetric>()]),
    ]);
    parts
}

/// The page.
pub fn page() -> String {
    let mut out = HEAD.to_owned();
    let bound = "thousand";
    debug_assert_eq!(TABLE_ROWS_MAX, 1_000);
    let _ = writeln!(
        out,
        "Of a shard there are a {bound} of\nthem at most: what is beyond is added up in one row \
         whose labels say `other`."
    );
    for (title, cells) in parts() {
        let _ = write!(
            out,
            "\n## {title}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n"
        );
        for cells in cells {
            let labels: Vec<String> =
                cells.label_names().iter().map(|name| format!("`{name}`")).collect();
            let labels = labels.join(" ");
            for row in cells.rows() {
                let Row { name, kind, .. } = row;
                let kind = kind_name(*kind);
                let _ = writeln!(out, "| `{name}` | {kind} | {labels} | {} |", row.help());
            }
        }
    }
    out
}

fn kind_name(kind: Kind) -> &'static str {
    oam::exposition::kind_name(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::{Path, PathBuf};

    /// Metrics of Prometheus itself.
    const OWN: [&str; 1] = ["up"];
    /// Labels that every series has: those of Prometheus, the function's.
    const LABELS: [&str; 6] = ["job", "instance", "function", "shard", "le", "alertname"];
    /// Words of PromQL that stand where a metric may.
    const WORDS: [&str; 17] = [
        "sum",
        "avg",
        "max",
        "min",
        "count",
        "by",
        "without",
        "on",
        "ignoring",
        "group_left",
        "group_right",
        "and",
        "or",
        "unless",
        "bool",
        "offset",
        "inf",
    ];

    fn packaging() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging")
    }

    /// Every name that a series can have, with its labels.
    fn series() -> BTreeMap<String, Vec<&'static str>> {
        let mut names = BTreeMap::new();
        for cells in parts().into_iter().flat_map(|(_, cells)| cells) {
            for row in cells.rows() {
                let endings: &[&str] = match row.kind {
                    Kind::Histogram => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                let names_of = endings.iter().map(|end| format!("{}{end}", row.name));
                names.extend(names_of.map(|name| (name, cells.label_names().to_vec())));
            }
        }
        names
    }

    /// The metrics of an expression of PromQL, and the labels that it selects or groups by.
    fn named(expression: &str) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut metrics, mut labels) = (BTreeSet::new(), BTreeSet::new());
        let (mut depth, mut grouping, mut word) = (0, 0, String::new());
        let (mut before, mut is_quoted, mut is_range) = (String::new(), false, false);
        for c in expression.chars().chain([' ']) {
            if c == '"' {
                is_quoted = !is_quoted;
            }
            if is_quoted || (is_range && c != ']') {
                continue;
            }
            if c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '$') {
                word.push(c);
                continue;
            }
            let is_name = word.starts_with(|c: char| c.is_ascii_lowercase());
            if is_name && (depth > 0 || grouping > 0) {
                labels.insert(word.clone());
            } else if is_name && c != '(' && !WORDS.contains(&&*word) {
                metrics.insert(word.clone());
            }
            if !word.is_empty() {
                before = std::mem::take(&mut word);
            }
            match c {
                '[' => is_range = true,
                ']' => is_range = false,
                '{' => depth += 1,
                '}' => depth -= 1,
                '(' => {
                    let groups = ["by", "without", "on", "ignoring", "group_left", "group_right"];
                    grouping += usize::from(grouping > 0 || groups.contains(&&*before));
                    before.clear();
                }
                ')' if grouping > 0 => grouping -= 1,
                _ => {}
            }
        }
        (metrics, labels)
    }

    /// Whatever stands under a key anywhere in a document.
    fn under(value: &Value, key: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                if let Some(text) = value.as_str().filter(|_| name == key) {
                    found.push(text.to_owned());
                }
                under(value, key, found);
            }),
            Value::Array(rows) => rows.iter().for_each(|row| under(row, key, found)),
            _ => {}
        }
    }

    /// The expressions of a file of rules: all that follows `expr:`, on its line or indented.
    fn expressions(rules: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut indent = None;
        for line in rules.lines() {
            let blanks = line.len() - line.trim_start().len();
            if let Some(text) = line.trim_start().strip_prefix("expr:") {
                found.push(text.trim_matches(['|', '>', '-', ' ']).to_owned());
                indent = Some(blanks);
            } else if indent.is_some_and(|indent| blanks > indent) {
                let last = found.last_mut().unwrap();
                *last = format!("{last} {}", line.trim());
            } else {
                indent = None;
            }
        }
        found
    }

    #[test]
    fn names_of_an_expression_are_found() {
        let (metrics, labels) = named(
            "sum by (function) (rate(a_total{peer=\"b_total\"}[5m])) / on(instance) c > 2 and d_e",
        );
        assert_eq!(metrics.into_iter().collect::<Vec<_>>(), ["a_total", "c", "d_e"]);
        assert_eq!(labels.into_iter().collect::<Vec<_>>(), ["function", "instance", "peer"]);
    }

    #[test]
    fn dashboard_and_rules_name_metrics_and_labels_that_there_are() {
        let read = |name: &str| std::fs::read_to_string(packaging().join(name)).unwrap();
        let dashboard: Value = serde_json::from_str(&read("grafana/tandem.json")).unwrap();
        let mut all = Vec::new();
        under(&dashboard, "expr", &mut all);
        assert!(all.len() > 20, "{all:?}");
        let rules = expressions(&read("prometheus/tandem.rules.yml"));
        assert!(rules.len() > 10, "{rules:?}");
        let series = series();
        for expression in all.iter().chain(&rules) {
            let (metrics, labels) = named(expression);
            assert!(!metrics.is_empty(), "{expression}");
            let mut known: BTreeSet<&str> = LABELS.into();
            for metric in &metrics {
                let of = series.get(metric).map(Vec::as_slice);
                let of = of.or(OWN.contains(&&**metric).then_some(&[]));
                known.extend(of.unwrap_or_else(|| panic!("no site has {metric}: {expression}")));
            }
            let others: Vec<_> = labels.iter().filter(|it| !known.contains(&***it)).collect();
            assert!(others.is_empty(), "{others:?} in {expression}");
        }
    }

    /// Two functions may have a part in common: it is the same there, and once in each.
    #[test]
    fn no_two_metrics_have_the_same_name() {
        let mut known = BTreeMap::new();
        for (part, (_, all)) in parts().into_iter().enumerate() {
            let mut names = BTreeSet::new();
            for row in all.iter().flat_map(|cells| cells.rows()) {
                assert!(names.insert(row.name), "{}", row.name);
                let (of, help) = *known.entry(row.name).or_insert((part, row.help()));
                assert!(of == part || help == row.help(), "{}", row.name);
            }
        }
    }
}
