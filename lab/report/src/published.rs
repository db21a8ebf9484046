//! What the test reports print, as data; each file names its source.

use crate::contract::Row;
use serde::{Deserialize, Deserializer};

/// Why a published row with IMS-AKA has no value.
pub const NEEDS_IPSEC: &str =
    "comes with IPsec between terminal and SSC, which Tandem does not speak yet";

const SBC: &str = include_str!("../published/sbc.toml");
const SS7: &str = include_str!("../published/ss7.toml");
const ROUTER: &str = include_str!("../published/router.toml");

/// The tables of one report.
#[derive(Debug, Clone, Deserialize)]
pub struct Report {
    /// Where the figures come from.
    pub source: Source,
    /// One per printed table.
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
}

/// A report's own description.
#[derive(Debug, Clone, Deserialize)]
pub struct Source {
    /// The document.
    pub document: String,
    /// What was tested.
    pub system: String,
}

/// A printed table.
#[derive(Debug, Clone, Deserialize)]
pub struct Table {
    /// The experiment's name.
    pub id: String,
    /// Unit of its values.
    pub unit: String,
    /// Its rows.
    pub rows: Vec<PublishedRow>,
}

/// A printed row.
#[derive(Debug, Clone, Deserialize)]
pub struct PublishedRow {
    /// Its name.
    pub scenario: String,
    /// Its value in the table's unit; of several, the last.
    #[serde(deserialize_with = "last")]
    pub value: f64,
    /// Its own unit, where that is not the table's.
    #[serde(default)]
    pub unit: Option<String>,
    /// Its 99 % interval reaches so far to both sides.
    #[serde(default)]
    pub half_width: Option<f64>,
    /// The longest transfer of an MSU.
    #[serde(default)]
    pub max_transfer: Option<f64>,
    /// Its 99 % interval reaches so far to both sides.
    #[serde(default)]
    pub max_transfer_half_width: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Printed {
    One(f64),
    Several(Vec<f64>),
}

fn last<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = match Printed::deserialize(from)? {
        Printed::One(value) => Some(value),
        Printed::Several(values) => values.last().copied(),
    };
    value.ok_or_else(|| serde::de::Error::custom("a row without value"))
}

/// The session border controller's report.
#[must_use]
pub fn sbc() -> Report {
    toml::from_str(SBC).expect("the published figures are part of the program and tested")
}

/// The report on failover of SCTP under M3UA.
#[must_use]
pub fn ss7() -> Report {
    toml::from_str(SS7).expect("the published figures are part of the program and tested")
}

/// The virtual service router's report.
#[must_use]
pub fn router() -> Report {
    toml::from_str(ROUTER).expect("the published figures are part of the program and tested")
}

impl Table {
    /// One of its rows, without a value.
    #[must_use]
    pub fn absent(&self, row: &PublishedRow, why: &str) -> Row {
        let unit = row.unit.as_ref().unwrap_or(&self.unit);
        Row::absent(&row.scenario, unit, Some(row.value), why)
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
    fn the_failover_table_has_an_interval_in_every_row() {
        let report = ss7();
        let rows = &report.table("sctp-failover").unwrap().rows;
        assert_eq!(rows.len(), 9);
        for row in rows {
            let all = [row.half_width, row.max_transfer, row.max_transfer_half_width];
            assert!(all.into_iter().all(|value| value.is_some()), "{}", row.scenario);
        }
    }

    #[test]
    fn of_a_printed_range_the_last_value_counts() {
        let report = router();
        let value = |table: &str, row: usize| report.table(table).unwrap().rows[row].value;
        assert_eq!(value("reflection-ipv4", 2), 3_500_000.0);
        assert_eq!((value("reflection-ipv4", 3), value("reflection-evpn", 3)), (0.63, 32.0));
    }

    #[test]
    fn the_call_signalling_table_has_its_four_rows() {
        let report = sbc();
        let table = report.table("call-signalling").unwrap();
        let rows: Vec<_> = table.rows.iter().map(|r| (r.scenario.as_str(), r.value)).collect();
        assert_eq!(
            rows,
            [("SIP", 700.0), ("SIP+TLS", 600.0), ("VoLTE", 240.0), ("VoLTE+IMS-AKA", 228.0)]
        );
    }
}
