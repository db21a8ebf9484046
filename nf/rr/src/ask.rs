//! What the management side may ask beside what every speaker is asked: caches, stations, dumps.

mod dump;
mod origins;
mod stations;

use crate::Reflector;
use crate::metrics::Metric;
use crate::origins::Origins;
use crate::stations::{Stations, watching};
use bgp::family::Family;
use bgp_stack::{Beside, Tables};
use dump::DumpPage;
use machine::Time;
use origins::{CacheRow, OriginRow};
use question::{Condition, Parameter, Question, questions};
use rib::PeerId;
use runtime::{Ask, AskError, Effects};
use serde_json::Value;
use stations::StationRow;

type Answer<T> = Result<T, AskError>;

/// What a question comes with.
pub(crate) struct Asked<'a> {
    now: Time,
    ask: &'a Ask,
    out: &'a mut Effects,
}

type Serve = fn(&mut Reflector, &mut Asked<'_>) -> Answer<Value>;

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// The monitoring stations (BMP).
    Ask "bgp/bmp" [] -> Vec<StationRow>, |it, _| Ok(it.stations.show());
    /// The tables as an MRT file, a page at a time.
    Ask "bgp/dump" [Parameter::text("from", "`next` of the page before")]
        -> DumpPage, |it, asked| it.show_dump(asked.now, asked.ask);
    /// The caches of validated prefixes (RPKI).
    Ask "bgp/rpki" [] -> Vec<CacheRow>, |it, asked| Ok(it.origins.show(asked.now));
    /// The records that cover a prefix, and whether they let an AS announce it.
    Ask "bgp/origin" [
        Parameter::text("prefix", "as 10.0.0.0/8").required(),
        Parameter::number("asn", "the AS that announces it"),
    ] -> Vec<OriginRow>, |it, asked| it.origins.show_covering(asked.ask);
    /// Asks the caches for everything again.
    Act "bgp/rpki-refresh" [] -> Vec<CacheRow>, |it, asked| {
        it.refresh_caches(asked.now, asked.out);
        Ok(it.origins.show(asked.now))
    };
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| {
        it.show_peers();
        Ok(it.show_alarms(asked.now))
    };
}

/// What a reflector may be asked.
pub fn questions() -> Vec<Question> {
    let speaker = bgp_stack::ask::questions().into_iter();
    speaker.chain(question::listed(QUESTIONS)).collect()
}

/// What a reflector has beside its speaker and its tables.
struct Feeds<'a> {
    origins: &'a Origins,
    stations: &'a Stations,
}

impl Beside for Feeds<'_> {
    fn validity(&self, family: Family, key: &[u8], attributes: &[u8]) -> Option<&'static str> {
        self.origins.records.validity(family, key, attributes).map(rpki::Validity::name)
    }

    fn name_of(&self, id: PeerId) -> Option<String> {
        let station = watching(id).and_then(|(at, _)| self.stations.all.get(at))?;
        Some(format!("station {}", station.section.name))
    }
}

impl Reflector {
    /// Speaker and tables, with what is known beside them.
    pub(crate) fn tables<T>(&mut self, act: impl FnOnce(&mut Tables<'_>) -> T) -> T {
        let beside = &Feeds { origins: &self.origins, stations: &self.stations };
        let (speaker, rib, asn) = (&mut self.speaker, &mut self.rib, self.config.asn);
        act(&mut Tables { speaker, rib, asn, beside })
    }

    /// Answers a question.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Value> {
        self.gauges();
        if let Some(answer) = self.tables(|it| it.answer(now, ask, out)) {
            self.follow(now, &[], out);
            self.has_work = true;
            return answer;
        }
        let serve = question::find(QUESTIONS, &ask.path);
        let serve = serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?;
        serve(self, &mut Asked { now, ask, out })
    }

    /// Brings the metrics of each peer up to date.
    fn show_peers(&mut self) {
        let beside = &Feeds { origins: &self.origins, stations: &self.stations };
        let (speaker, rib, asn) = (&mut self.speaker, &mut self.rib, self.config.asn);
        Tables { speaker, rib, asn, beside }.show_peers(&self.peer_table);
    }

    /// What somebody should look at.
    fn show_alarms(&mut self, now: Time) -> Vec<Condition> {
        let name = self.config.name.clone();
        let mut rows: Vec<Condition> = self.tables(|it| it.alarms(now).collect());
        rows.extend(self.origins.alarms(&name));
        rows.extend(self.stations.alarms());
        rows.extend(self.recording.alarm(&name));
        rows.extend(self.tables(|it| it.away_alarms(now, &name)));
        rows
    }

    /// Brings the gauges up to date.
    fn gauges(&self) {
        let metrics = &self.metrics;
        let peers = || self.speaker.peers().iter().map(|(_, peer)| peer);
        let up = peers().filter(|peer| peer.is_up()).count();
        let waiting: u64 = peers().map(bgp_stack::Peer::waiting).sum();
        metrics.set(Metric::Peers, self.speaker.peers().len() as u64);
        metrics.set(Metric::DynamicPeers, self.speaker.peers().dynamic() as u64);
        metrics.set(Metric::PeersEstablished, up as u64);
        metrics.set(Metric::PeersDown, peers().filter(|peer| peer.is_missed()).count() as u64);
        metrics.set(Metric::PeersAway, self.speaker.missed().count() as u64);
        metrics.set(Metric::Waiting, waiting);
        let stations = || self.stations.all.iter();
        let down = stations().filter(|it| it.sender.state() != bmp::State::Up).count();
        let waiting: usize = stations().map(|it| it.sender.waiting_bytes()).sum();
        metrics.set(Metric::StationsDown, down as u64);
        metrics.set(Metric::StationsWaiting, waiting as u64);
        let (ipv4, ipv6) = self.origins.records.lock().client.table().len();
        metrics.set(Metric::CacheRecords, (ipv4 + ipv6) as u64);
        metrics.set(Metric::CachesDown, self.origins.lost().0.len() as u64);
        let tables = self.rib.counters();
        metrics.set(Metric::Routes, tables.entries as u64);
        metrics.set(Metric::Paths, tables.paths as u64);
        metrics.set(Metric::PathsRefused, tables.refused as u64);
        metrics.set(Metric::AttributeSets, tables.sets as u64);
        metrics.set(Metric::TableOctets, tables.bytes as u64);
        metrics.set(Metric::Groups, tables.groups as u64);
        metrics.set(Metric::Cohorts, tables.cohorts as u64);
    }

    /// The metrics that the speaker has counted.
    pub(crate) fn publish_counts(&self) {
        let counts = self.speaker.counts();
        let rows = [
            (Metric::Established, counts.established),
            (Metric::Dropped, counts.dropped),
            (Metric::Failed, counts.failed),
            (Metric::Attempts, counts.attempts),
            (Metric::Refused, counts.refused),
            (Metric::RangeFull, counts.range_full),
            (Metric::RangeSilent, counts.range_silent),
            (Metric::HoldExpired, counts.hold_expired),
            (Metric::SendHoldExpired, counts.send_hold_expired),
            (Metric::Offended, counts.offended),
            (Metric::Tolerated, counts.tolerated),
            (Metric::Exceeded, counts.exceeded),
            (Metric::Refreshes, counts.refreshes),
        ];
        rows.into_iter().for_each(|(metric, count)| self.metrics.set(metric, count));
    }
}
