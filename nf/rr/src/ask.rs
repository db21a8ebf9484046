//! What the management side may ask: peers, routes, groups, attributes; and what it may tell:
//! clear, shut down, enable.

mod dump;
mod origins;
mod peers;
mod routes;
mod stations;

use crate::Reflector;
use crate::alarms;
use crate::metrics::Metric;
use bgp::codec::{CEASE_COMMUNICATION_BYTES_MAX, RefreshKind};
use dump::DumpPage;
use machine::Time;
use origins::{CacheRow, OriginRow};
use peers::{BgpSummaryRow, PeerSheet};
use question::{Condition, Form, Page, Parameter, Question, questions, rows};
use rib::PeerId;
use routes::{BgpPathRow, BgpRouteRow, CohortRow, FamilyRow};
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

rows! {
    /// A peer whose session begins anew.
    pub(crate) struct BgpClearedRow {
        peer: String,
        cleared: String,
    }

    /// How many peers were forgotten.
    pub(crate) struct ForgottenRow {
        forgotten: usize,
    }

    /// A peer that was shut down or let back.
    pub(crate) struct EnabledRow {
        peer: String,
        enabled: bool,
    }
}

const PEER: Parameter = Parameter::text("peer", "its name").required();
const TEXT: Parameter = Parameter::text("text", "what the peer is told (RFC 9003)");
const FAMILY: Parameter = Parameter::text("family", "left out: ipv4-unicast");

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// The peers.
    Ask "bgp/summary" [] -> Vec<BgpSummaryRow>, |it, asked| Ok(it.show_summary(asked.now));
    /// Everything about a peer; of one that is away what is remembered of it.
    Ask "bgp/peer" [PEER] -> Vec<PeerSheet>, |it, asked| it.show_peer(asked.now, asked.ask);
    /// The routes of a family, a page at a time, each with its best path.
    Ask "bgp/routes" [
        FAMILY,
        Parameter::text("received", "only those of this peer"),
        Parameter::text("advertised", "only those that this peer is told"),
        Parameter::text("within", "only those within this prefix"),
        Parameter::text("text", "only those that are shown with it"),
        Parameter::new("before", Form::Flag, "also what came before the import policy"),
        Parameter::number("skip", "where the page begins"),
        Parameter::number("limit", "rows of the page, 100 if it is left out, at most 1000"),
    ] -> Page<BgpRouteRow>, |it, asked| it.show_routes(asked.ask);
    /// All paths of the route that covers a prefix best.
    Ask "bgp/route" [
        Parameter::text("prefix", "a prefix; in families without prefixes, a text").required(),
        FAMILY,
    ] -> Vec<BgpPathRow>, |it, asked| it.show_route(asked.ask);
    /// The update groups: who is told the same, and how far they are.
    Ask "bgp/groups" [] -> Vec<CohortRow>, |it, _| Ok(it.show_groups());
    /// The tables that have routes.
    Ask "bgp/families" [] -> Vec<FamilyRow>, |it, _| Ok(it.show_families());
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
    /// Begins the session of a peer anew.
    Act "bgp/clear" [
        PEER,
        Parameter::new(
            "how",
            Form::OneOf(&["", "soft", "hard"]),
            "soft: the routes are exchanged again; hard: without graceful restart (RFC 8538)",
        ),
        TEXT,
    ] -> Vec<BgpClearedRow>, |it, asked| it.clear(asked.now, asked.ask, asked.out);
    /// Ends the session of a peer until it is enabled again.
    Act "bgp/shutdown" [PEER, TEXT] -> Vec<EnabledRow>,
        |it, asked| it.shut_down(asked.now, asked.ask, asked.out);
    /// Forgets peers from ranges that are away.
    Act "bgp/forget" [Parameter::text("peer", "only the one of this address")]
        -> Vec<ForgottenRow>, |it, asked| it.forget(asked.ask);
    /// Lets a peer back that the operator or a limit of routes held.
    Act "bgp/enable" [PEER] -> Vec<EnabledRow>,
        |it, asked| it.enable(asked.now, asked.ask, asked.out);
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| {
        it.show_peers();
        Ok(it.show_alarms(asked.now))
    };
}

/// What a reflector may be asked.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

impl Reflector {
    /// Answers a question.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Value> {
        self.gauges();
        let serve = question::find(QUESTIONS, &ask.path);
        let serve = serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?;
        serve(self, &mut Asked { now, ask, out })
    }

    /// What somebody should look at.
    fn show_alarms(&mut self, now: Time) -> Vec<Condition> {
        let name = &self.config.name;
        let away = alarms::away(&mut self.speaker, name, now);
        let peers = self.speaker.peers().iter();
        let rows = peers.flat_map(|(id, peer)| alarms::of_peer(&self.rib, id, peer));
        let feeds = self.origins.alarms(name).into_iter().chain(self.stations.alarms());
        rows.chain(feeds).chain(self.recording.alarm(name)).chain(away).collect()
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

    /// Brings the metrics of each peer up to date.
    fn show_peers(&self) {
        let told = self.routes_announced();
        self.speaker.show(&self.peer_table, |id| {
            let families = self.speaker.peers().get(id).map(peers::families);
            let families = || families.into_iter().flat_map(bgp::family::FamilySet::iter);
            bgp_stack::RouteCounts {
                received: families().map(|it| u64::from(self.rib.received(id, it))).sum(),
                accepted: families().map(|it| u64::from(self.rib.accepted(id, it))).sum(),
                sent: told.get(&id).map_or(0, |routes| *routes as u64),
            }
        });
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

    fn named_peer(&self, ask: &Ask) -> Result<PeerId, AskError> {
        let name = ask.params.get("peer");
        let name = name.ok_or_else(|| AskError::BadParameter("peer names a peer".into()))?;
        self.speaker.peers().find(name).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// Begins the session of a peer anew: `soft` exchanges the routes again without ending it,
    /// `hard` ends it without graceful restart (RFC 8538).
    fn clear(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Vec<BgpClearedRow>> {
        let id = self.named_peer(ask)?;
        let text = cease_text(ask)?;
        let how = ask.params.get("how").map_or("", String::as_str);
        match how {
            "" => self.speaker.reset(now, id, text, out),
            "soft" => self.clear_soft(now, id, out)?,
            "hard" if self.speaker.reset_hard(now, id, text.as_deref(), out) => {}
            "hard" => return Err(not_up()),
            _ => return Err(AskError::BadParameter("how: soft, hard, or nothing".into())),
        }
        self.follow(now, &[], out);
        let peer = self.speaker.name_of(id).to_owned();
        Ok(vec![BgpClearedRow { peer, cleared: how.to_owned() }])
    }

    /// Asks the peer for its routes, and sends it ours again.
    fn clear_soft(&mut self, now: Time, id: PeerId, out: &mut Effects) -> Result<(), AskError> {
        let families = self.speaker.request_routes(now, id, out).ok_or_else(not_up)?;
        for family in families.iter() {
            self.rib.refresh(id, family, RefreshKind::Request);
        }
        self.has_work = true;
        Ok(())
    }

    /// Ends the session of a peer until it is enabled again.
    fn shut_down(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Vec<EnabledRow>> {
        let id = self.named_peer(ask)?;
        let text = cease_text(ask)?;
        let peer = self.speaker.name_of(id).to_owned();
        self.speaker.shut_down(now, id, text, out);
        self.follow(now, &[], out);
        Ok(vec![EnabledRow { peer, enabled: false }])
    }

    /// Forgets a peer from a range that is away, or all of them.
    fn forget(&mut self, ask: &Ask) -> Answer<Vec<ForgottenRow>> {
        let wrong = || AskError::BadParameter("peer is an address, or absent for all".into());
        let peer = ask.params.get("peer").map(|text| text.parse().map_err(|_| wrong()));
        let peer = peer.transpose()?;
        let forgotten = self.speaker.forget(peer);
        match peer.filter(|_| forgotten == 0) {
            Some(peer) => Err(AskError::NotFound(format!("no peer {peer} is away"))),
            None => Ok(vec![ForgottenRow { forgotten }]),
        }
    }

    /// Lets a peer back that the operator or a limit of routes held.
    fn enable(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer<Vec<EnabledRow>> {
        let id = self.named_peer(ask)?;
        let peer = self.speaker.name_of(id).to_owned();
        if !self.speaker.enable(now, id, out) {
            let what = "the configuration says `enabled = false`";
            return Err(AskError::BadParameter(what.into()));
        }
        self.follow(now, &[], out);
        Ok(vec![EnabledRow { peer, enabled: true }])
    }
}

fn not_up() -> AskError {
    AskError::BadParameter("its session does not stand".into())
}

/// What the operator says to the peer (RFC 9003).
fn cease_text(ask: &Ask) -> Result<Option<String>, AskError> {
    let text = ask.params.get("text").filter(|text| !text.is_empty());
    if text.is_some_and(|text| text.len() > CEASE_COMMUNICATION_BYTES_MAX) {
        let what = format!("text: at most {CEASE_COMMUNICATION_BYTES_MAX} octets");
        return Err(AskError::BadParameter(what));
    }
    Ok(text.cloned())
}
