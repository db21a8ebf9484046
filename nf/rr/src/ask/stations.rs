//! Monitoring stations, as they are shown.

use crate::stations::Stations;
use question::rows;

rows! {
    /// A monitoring station.
    pub(crate) struct StationRow {
        station: String,
        address: String,
        state: &'static str,
        tables: Vec<crate::config::BmpTable>,
        complete: bool,
        waiting_octets: usize,
        sent_octets: u64,
        connects: u64,
        established: u64,
        overflows: u64,
        why: Option<String>,
    }
}

impl Stations {
    /// A row for each station.
    pub(super) fn show(&self) -> Vec<StationRow> {
        let rows = self.all.iter().map(|station| {
            let counters = station.sender.counters();
            let is_up = station.sender.state() == bmp::State::Up;
            let ending = station.ending.as_ref().filter(|_| !is_up);
            StationRow {
                station: station.section.name.clone(),
                address: station.target.remote.to_string(),
                state: station.sender.state().name(),
                tables: station.section.tables.clone(),
                complete: station.sender.is_complete(),
                waiting_octets: station.sender.waiting_bytes(),
                sent_octets: counters.sent_bytes,
                connects: counters.connects,
                established: counters.established,
                overflows: counters.overflows,
                why: ending.map(|ending| ending.text.to_string()),
            }
        });
        rows.collect()
    }
}
