//! What the management side may ask: peers, routes, groups, attributes; and what it may tell:
//! clear, shut down, enable.

mod dump;
mod origins;
mod peers;
mod routes;
mod stations;

use crate::Reflector;
use crate::facts::Fact;
use bgp::codec::{CEASE_COMMUNICATION_BYTES_MAX, RefreshKind};
use machine::Time;
use rib::PeerId;
use runtime::{Ask, AskError, Effects};
use serde_json::{Value, json};

/// The question that comes every second.
const ALARMS: &str = "alarms";

type Answer = Result<Value, AskError>;

impl Reflector {
    /// Answers a question.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        self.gauges();
        if ask.path == ALARMS {
            self.show_peers();
        }
        match ask.path.as_str() {
            "bgp/summary" => Ok(self.show_summary(now)),
            "bgp/peer" => self.show_peer(ask),
            "bgp/routes" => self.show_routes(ask),
            "bgp/route" => self.show_route(ask),
            "bgp/groups" => Ok(self.show_groups()),
            "bgp/families" => Ok(self.show_families()),
            "bgp/bmp" => Ok(self.stations.show()),
            "bgp/dump" => self.show_dump(now, ask),
            "bgp/rpki" => Ok(self.origins.show(now)),
            "bgp/origin" => self.origins.show_covering(ask),
            "bgp/rpki-refresh" => {
                self.refresh_caches(now, out);
                Ok(self.origins.show(now))
            }
            "bgp/clear" => self.clear(now, ask, out),
            "bgp/shutdown" => self.shut_down(now, ask, out),
            "bgp/enable" => self.enable(now, ask, out),
            "bgp/forget" => self.forget(ask),
            ALARMS => Ok(self.show_alarms(now)),
            other => Err(AskError::NotFound(other.to_owned())),
        }
    }

    /// Brings the gauges up to date.
    fn gauges(&self) {
        let facts = &self.facts;
        let peers = || self.speaker.peers().iter().map(|(_, peer)| peer);
        let up = peers().filter(|peer| peer.is_up()).count();
        let waiting: u64 = peers().map(bgp_stack::Peer::waiting).sum();
        facts.set(Fact::Peers, self.speaker.peers().len() as u64);
        facts.set(Fact::DynamicPeers, self.speaker.peers().dynamic() as u64);
        facts.set(Fact::PeersEstablished, up as u64);
        facts.set(Fact::PeersDown, peers().filter(|peer| peer.is_missed()).count() as u64);
        facts.set(Fact::PeersAway, self.speaker.missed().count() as u64);
        facts.set(Fact::Waiting, waiting);
        let stations = || self.stations.all.iter();
        let down = stations().filter(|it| it.sender.state() != bmp::State::Up).count();
        let waiting: usize = stations().map(|it| it.sender.waiting_bytes()).sum();
        facts.set(Fact::StationsDown, down as u64);
        facts.set(Fact::StationsWaiting, waiting as u64);
        let (ipv4, ipv6) = self.origins.records.lock().client.table().len();
        facts.set(Fact::CacheRecords, (ipv4 + ipv6) as u64);
        facts.set(Fact::CachesDown, self.origins.lost().0.len() as u64);
        let tables = self.rib.counters();
        facts.set(Fact::Routes, tables.entries as u64);
        facts.set(Fact::Paths, tables.paths as u64);
        facts.set(Fact::PathsRefused, tables.refused as u64);
        facts.set(Fact::AttributeSets, tables.sets as u64);
        facts.set(Fact::TableOctets, tables.bytes as u64);
        facts.set(Fact::Groups, tables.groups as u64);
        facts.set(Fact::Cohorts, tables.cohorts as u64);
    }

    /// Brings the facts of each peer up to date.
    fn show_peers(&self) {
        let told = self.told();
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

    /// The facts that the speaker has counted.
    pub(crate) fn publish_counts(&self) {
        let counts = self.speaker.counts();
        let rows = [
            (Fact::Established, counts.established),
            (Fact::Dropped, counts.dropped),
            (Fact::Failed, counts.failed),
            (Fact::Attempts, counts.attempts),
            (Fact::Refused, counts.refused),
            (Fact::RangeFull, counts.range_full),
            (Fact::RangeSilent, counts.range_silent),
            (Fact::HoldExpired, counts.hold_expired),
            (Fact::SendHoldExpired, counts.send_hold_expired),
            (Fact::Offended, counts.offended),
            (Fact::Tolerated, counts.tolerated),
            (Fact::Exceeded, counts.exceeded),
            (Fact::Refreshes, counts.refreshes),
        ];
        rows.into_iter().for_each(|(fact, count)| self.facts.set(fact, count));
    }

    fn named_peer(&self, ask: &Ask) -> Result<PeerId, AskError> {
        let name = ask.params.get("peer");
        let name = name.ok_or_else(|| AskError::BadParameter("peer names a peer".into()))?;
        self.speaker.peers().find(name).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// Begins the session of a peer anew: `soft` exchanges the routes again without ending it,
    /// `hard` ends it without graceful restart (RFC 8538).
    fn clear(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        let id = self.named_peer(ask)?;
        let text = told(ask)?;
        let how = ask.params.get("how").map_or("", String::as_str);
        match how {
            "" => self.speaker.reset(now, id, text, out),
            "soft" => self.clear_soft(now, id, out)?,
            "hard" if self.speaker.reset_hard(now, id, text.as_deref(), out) => {}
            "hard" => return Err(not_up()),
            _ => return Err(AskError::BadParameter("how: soft, hard, or nothing".into())),
        }
        self.follow(now, &[], out);
        Ok(json!([{ "peer": self.speaker.name_of(id), "cleared": how }]))
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
    fn shut_down(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        let id = self.named_peer(ask)?;
        let text = told(ask)?;
        let name = self.speaker.name_of(id).to_owned();
        self.speaker.shut_down(now, id, text, out);
        self.follow(now, &[], out);
        Ok(json!([{ "peer": name, "enabled": false }]))
    }

    /// Forgets a peer from a range that is away, or all of them.
    fn forget(&mut self, ask: &Ask) -> Answer {
        let wrong = || AskError::BadParameter("peer is an address, or absent for all".into());
        let peer = ask.params.get("peer").map(|text| text.parse().map_err(|_| wrong()));
        let peer = peer.transpose()?;
        let forgotten = self.speaker.forget(peer);
        match peer.filter(|_| forgotten == 0) {
            Some(peer) => Err(AskError::NotFound(format!("no peer {peer} is away"))),
            None => Ok(json!([{ "forgotten": forgotten }])),
        }
    }

    /// Lets a peer back that the operator or a limit of routes held.
    fn enable(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        let id = self.named_peer(ask)?;
        let name = self.speaker.name_of(id).to_owned();
        if !self.speaker.enable(now, id, out) {
            let what = "the configuration says `enabled = false`";
            return Err(AskError::BadParameter(what.into()));
        }
        self.follow(now, &[], out);
        Ok(json!([{ "peer": name, "enabled": true }]))
    }
}

fn not_up() -> AskError {
    AskError::BadParameter("its session does not stand".into())
}

/// What the operator says to the peer (RFC 9003).
fn told(ask: &Ask) -> Result<Option<String>, AskError> {
    let text = ask.params.get("text").filter(|text| !text.is_empty());
    if text.is_some_and(|text| text.len() > CEASE_COMMUNICATION_BYTES_MAX) {
        let what = format!("text: at most {CEASE_COMMUNICATION_BYTES_MAX} octets");
        return Err(AskError::BadParameter(what));
    }
    Ok(text.cloned())
}
