//! What the test reports print, as data; each file names its source.

use crate::contract::{Outcome, Row};
use anyhow::Context;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// Why a published row has no value.
pub const NO_EXPERIMENT: &str = "no experiment measures it yet";

const SBC: &str = include_str!("../published/sbc.toml");
const SS7: &str = include_str!("../published/ss7.toml");
const ROUTER: &str = include_str!("../published/router.toml");
const GATEWAY: &str = include_str!("../published/gateway.toml");
const IPSMGW: &str = include_str!("../published/ipsmgw.toml");

/// The tables of one report.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Where the figures come from.
    pub source: Source,
    /// One per printed table.
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
}

/// A report's own description.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The document.
    pub document: String,
    /// What was tested.
    pub system: String,
    /// On what it ran.
    #[serde(default)]
    pub host: Option<String>,
    /// What made the load.
    #[serde(default)]
    pub tools: Option<String>,
}

/// A printed table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The experiment's name.
    pub id: String,
    /// Unit of its values.
    pub unit: String,
    /// Its rows.
    #[serde(deserialize_with = "rows")]
    pub rows: Vec<PublishedRow>,
}

/// A printed row.
#[derive(Debug, Clone, Deserialize)]
pub struct PublishedRow {
    /// Its name.
    pub scenario: String,
    /// Its value in the table's unit; of several, the last. Absent where the report prints words
    /// or a picture.
    #[serde(skip)]
    pub value: Option<f64>,
    /// Its own unit, where that is not the table's.
    #[serde(default)]
    pub unit: Option<String>,
    /// Whatever else it prints, by the names of the file.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}

impl PublishedRow {
    /// One of its further numbers.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.further.get(name)?.as_f64()
    }

    /// With its one value: the number, the last of several, or none where it is words, which stay
    /// beside it as all of several do.
    fn with_value(mut self) -> Self {
        self.value = self.further.get("value").and_then(|value| match value {
            Value::Array(values) => values.last()?.as_f64(),
            one => one.as_f64(),
        });
        self.further.retain(|name, value| name != "value" || !value.is_number());
        self
    }

    /// A row for each delay of a row that has lists by delay, named after it; else the row itself.
    fn by_delay(self) -> Vec<Self> {
        let Some(delays) = self.further.get("delay_ms").and_then(Value::as_array).cloned() else {
            return vec![self.with_value()];
        };
        let at = |place: usize, delay: &Value| {
            let mut row = self.clone();
            row.scenario = format!("{}, {delay} ms", self.scenario);
            for value in row.further.values_mut() {
                if let Some(one) = value.as_array().and_then(|values| values.get(place)) {
                    *value = one.clone();
                }
            }
            if let Some(failover) = row.further.remove("failover") {
                row.further.insert("value".into(), failover);
            }
            row.with_value()
        };
        delays.iter().enumerate().map(|(place, delay)| at(place, delay)).collect()
    }
}

fn rows<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PublishedRow>, D::Error> {
    let rows = Vec::<PublishedRow>::deserialize(from)?;
    Ok(rows.into_iter().flat_map(PublishedRow::by_delay).collect())
}

/// The session border controller's report.
#[must_use]
pub fn sbc() -> Report {
    toml::from_str(SBC).expect("the published figures are part of the program and tested")
}

/// The reports on signalling over IP: the SS7 stack, and failover of SCTP under M3UA.
#[must_use]
pub fn ss7() -> Report {
    toml::from_str(SS7).expect("the published figures are part of the program and tested")
}

/// The virtual service router's report.
#[must_use]
pub fn router() -> Report {
    toml::from_str(ROUTER).expect("the published figures are part of the program and tested")
}

/// The mobile gateway's report, of which nothing is rerun yet.
#[must_use]
pub fn gateway() -> Report {
    toml::from_str(GATEWAY).expect("the published figures are part of the program and tested")
}

/// The IP short message gateway's report.
#[must_use]
pub fn ipsmgw() -> Report {
    toml::from_str(IPSMGW).expect("the published figures are part of the program and tested")
}

/// Every report. Of two tables of one name the first is the one that is rerun.
#[must_use]
pub fn all() -> [Report; 5] {
    [sbc(), ss7(), router(), gateway(), ipsmgw()]
}

impl Table {
    /// One of its rows, without a value.
    #[must_use]
    pub fn absent(&self, row: &PublishedRow, why: &str) -> Row {
        let unit = row.unit.as_ref().unwrap_or(&self.unit);
        Row::absent(&row.scenario, unit, row.value, why)
    }

    /// Whether it has settings only: no value that a run could have too.
    #[must_use]
    pub fn is_settings(&self) -> bool {
        self.rows.iter().all(|row| !row.further.contains_key("value") && row.value.is_none())
    }

    /// A row by its name.
    ///
    /// # Errors
    /// When there is none: the program's text and the published figures disagree.
    pub fn row(&self, scenario: &str) -> anyhow::Result<&PublishedRow> {
        let row = self.rows.iter().find(|row| row.scenario == scenario);
        row.with_context(|| format!("the published table {} has no row `{scenario}`", self.id))
    }
}

/// Puts what the report prints beside its value into the detail of each row: `detail.report`.
pub fn annotate(outcome: &mut Outcome, table: &Table) {
    for row in &mut outcome.rows {
        let published = table.rows.iter().find(|published| published.scenario == row.scenario);
        if let Some(published) = published.filter(|published| !published.further.is_empty()) {
            row.detail["report"] = json!(published.further);
        }
    }
}

impl Report {
    /// The table with this name.
    #[must_use]
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failover_table_has_a_row_for_each_delay_with_its_intervals() {
        let report = ss7();
        let rows = &report.table("sctp-failover").unwrap().rows;
        assert_eq!(rows.len(), 9);
        for row in rows {
            for name in ["half_width", "max_transfer", "max_transfer_half_width", "delay_ms"] {
                assert!(row.number(name).is_some(), "{}: {name}", row.scenario);
            }
        }
        let row = report.table("sctp-failover").unwrap().row("Telecom(2), 20 ms").unwrap();
        assert_eq!((row.value, row.number("max_transfer")), (Some(480.0), Some(495.0)));
    }

    #[test]
    fn every_report_is_read_and_the_sbcs_failover_is_not_the_gateways() {
        for report in all() {
            assert!(!report.tables.is_empty(), "{}", report.source.document);
        }
        let mut tables = all().into_iter().flat_map(|report| report.tables);
        let first = tables.find(|table| table.id == "high-availability").unwrap();
        assert!(first.row("lost packets per call").is_ok());
        assert_eq!(gateway().table("high-availability").unwrap().rows.len(), 1);
        assert_eq!(ipsmgw().table("call-rate").unwrap().rows[0].value, Some(2_000.0));
    }

    #[test]
    fn of_a_printed_range_the_last_value_counts_and_all_of_it_stays() {
        let report = router();
        let row = |table: &str, row: &str| report.table(table).unwrap().row(row).unwrap().clone();
        let range = row("reflection-ipv4", "synthetic, range");
        assert_eq!(range.value, Some(14_300_000.0));
        assert_eq!(range.further["value"], json!([12_800_000, 14_300_000]));
        let words = row("redundancy", "data-path VM failed (OSPF ECMP + BFD 100 ms)");
        assert_eq!(words.value, None);
        assert_eq!(words.further["value"], "recovers on the other path");
        assert!(report.table("redundancy").is_some_and(|table| !table.is_settings()));
        assert!(ss7().table("sctp-configurations").unwrap().is_settings());
    }

    #[test]
    fn what_the_report_prints_beside_its_value_stands_in_the_detail() {
        let report = sbc();
        let table = report.table("call-signalling").unwrap();
        let rows = table.rows.iter().map(|row| table.absent(row, "not run")).collect();
        let mut outcome =
            Outcome { experiment: "call-signalling", host: json!({}), rows, broken: Vec::new() };
        annotate(&mut outcome, table);
        assert_eq!(outcome.rows[0].detail["report"], json!({ "messages_per_call": 7 }));
        assert!(outcome.table().contains("report: messages per call 7"), "{}", outcome.table());
    }

    #[test]
    fn the_call_signalling_table_has_its_four_rows() {
        let report = sbc();
        let table = report.table("call-signalling").unwrap();
        let rows: Vec<_> = table.rows.iter().map(|r| (r.scenario.as_str(), r.value)).collect();
        assert_eq!(
            rows,
            [("SIP", 700.0), ("SIP+TLS", 600.0), ("VoLTE", 240.0), ("VoLTE+IMS-AKA", 228.0)]
                .map(|(name, value)| (name, Some(value)))
        );
    }
}
