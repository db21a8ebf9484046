//! What somebody should look at beside the peers: stations, caches, recordings.

use crate::origins::Origins;
use crate::recording::Recording;
use crate::stations::Stations;
use bgp_stack::alarm;
use question::Condition;

impl Stations {
    /// Those that are not connected.
    pub(crate) fn alarms(&self) -> impl Iterator<Item = Condition> {
        let all = self.all.iter();
        all.filter(|station| station.sender.state() != bmp::State::Up).map(|station| {
            let name = &station.section.name;
            let why = station.ending.as_ref().map_or("it has not answered yet", |it| &it.text);
            let text = format!("the BMP station {name} is not connected: {why}");
            let is_starting = station.ending.is_none();
            alarm("bmp-station-lost", name, "minor", &text).starting(is_starting)
        })
    }
}

impl Recording {
    /// Why nothing is recorded; `name` is the reflector's.
    pub(crate) fn alarm(&self, name: &str) -> Option<Condition> {
        let fault = self.fault()?;
        let text = format!("what comes is not recorded: {fault}");
        Some(alarm("mrt-not-recorded", name, "major", &text))
    }
}

impl Origins {
    /// Caches that are lost, and prefixes that expired; `name` is the reflector's.
    pub(crate) fn alarms(&self, name: &str) -> Vec<Condition> {
        let mut rows = Vec::new();
        let (lost, has_another) = self.lost();
        for cache in lost {
            let remote = cache.target.remote;
            let why = cache.ending.as_ref().map_or("it does not answer", |it| &it.text);
            let (severity, rest) = match has_another {
                true => ("minor", "another cache answers"),
                false => ("major", "no other cache answers"),
            };
            let text = format!("the RPKI cache {remote} is lost: {why}; {rest}");
            rows.push(alarm("rpki-cache-lost", &remote.to_string(), severity, &text));
        }
        if self.has_expired {
            let text = "no RPKI cache confirmed the validated prefixes in time: they are gone, \
                        and every origin is not-found";
            rows.push(alarm("rpki-data-expired", name, "critical", text));
        }
        rows
    }
}
