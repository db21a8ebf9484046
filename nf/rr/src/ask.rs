//! What the management side may ask: peers, routes, groups, attributes; and what it may tell:
//! clear, shut down, enable.

mod dump;
mod origins;
mod peers;
mod routes;
mod stations;

use crate::Reflector;
use crate::alarms::is_missed;
use crate::facts::Fact;
use crate::peers::Held;
use bgp::codec::{CEASE_COMMUNICATION_BYTES_MAX, Cease, Notice, RefreshKind, write_communication};
use bgp::{In, State};
use machine::Time;
use rib::PeerId;
use runtime::{Ask, AskError, Effects};
use serde_json::{Value, json};

type Answer = Result<Value, AskError>;

impl Reflector {
    /// Answers a question.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        self.gauges();
        match ask.path.as_str() {
            "bgp/summary" => Ok(self.show_summary()),
            "bgp/peer" => self.show_peer(ask),
            "bgp/routes" => self.show_routes(ask),
            "bgp/route" => self.show_route(ask),
            "bgp/groups" => Ok(self.show_groups()),
            "bgp/families" => Ok(self.show_families()),
            "bgp/bmp" => Ok(self.show_stations()),
            "bgp/dump" => self.show_dump(now, ask),
            "bgp/rpki" => Ok(self.show_caches(now)),
            "bgp/origin" => self.show_origin(ask),
            "bgp/rpki-refresh" => {
                self.refresh_caches(now, out);
                Ok(self.show_caches(now))
            }
            "bgp/clear" => self.clear(now, ask, out),
            "bgp/shutdown" => self.shut_down(now, ask, out),
            "bgp/enable" => self.enable(now, ask, out),
            "alarms" => Ok(self.show_alarms()),
            other => Err(AskError::NotFound(other.to_owned())),
        }
    }

    /// Brings the gauges up to date.
    fn gauges(&self) {
        let facts = &self.facts;
        let peers = || self.peers.iter().map(|(_, peer)| peer);
        let is_up = |state| state == State::Established;
        let up = peers().filter(|peer| is_up(peer.session.state())).count();
        let waiting: u64 = peers().flat_map(|peer| peer.links.values()).map(|it| it.left).sum();
        facts.set(Fact::Peers, self.peers.len() as u64);
        facts.set(Fact::DynamicPeers, self.peers.dynamic() as u64);
        facts.set(Fact::PeersEstablished, up as u64);
        facts.set(Fact::PeersDown, peers().filter(|peer| is_missed(peer)).count() as u64);
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
        facts.set(Fact::AttributeSets, tables.sets as u64);
        facts.set(Fact::TableOctets, tables.bytes as u64);
        facts.set(Fact::Groups, tables.groups as u64);
        facts.set(Fact::Cohorts, tables.cohorts as u64);
    }

    fn named_peer(&self, ask: &Ask) -> Result<PeerId, AskError> {
        let name = ask.params.get("peer");
        let name = name.ok_or_else(|| AskError::BadParameter("peer names a peer".into()))?;
        self.peers.find(name).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// Begins the session of a peer anew: `soft` exchanges the routes again without ending it,
    /// `hard` ends it without graceful restart (RFC 8538).
    fn clear(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        let id = self.named_peer(ask)?;
        let text = told(ask)?;
        let how = ask.params.get("how").map_or("", String::as_str);
        match how {
            "" => self.tell(now, id, In::Reset(Cease::AdministrativeReset, text), out),
            "soft" => self.clear_soft(now, id, out)?,
            "hard" => self.clear_hard(now, id, text.as_deref(), out)?,
            _ => return Err(AskError::BadParameter("how: soft, hard, or nothing".into())),
        }
        Ok(json!([{ "peer": self.name_of(id), "cleared": how }]))
    }

    /// Asks the peer for its routes, and sends it ours again.
    fn clear_soft(&mut self, now: Time, id: PeerId, out: &mut Effects) -> Result<(), AskError> {
        let negotiated = self.peers.get(id).and_then(|peer| peer.negotiated.as_ref());
        let Some(negotiated) = negotiated else { return Err(not_up()) };
        let (families, may_ask) = (negotiated.context.families, negotiated.route_refresh);
        for family in families.iter() {
            if may_ask {
                self.tell(now, id, In::Refresh(family, RefreshKind::Request), out);
            }
            self.rib.refresh(id, family, RefreshKind::Request);
        }
        self.has_work = true;
        Ok(())
    }

    fn clear_hard(
        &mut self,
        now: Time,
        id: PeerId,
        text: Option<&str>,
        out: &mut Effects,
    ) -> Result<(), AskError> {
        let connection = self.peers.get(id).and_then(|peer| peer.up).ok_or_else(not_up)?;
        let inside = Notice::cease(Cease::AdministrativeReset);
        let mut data = vec![inside.code, inside.subcode];
        text.into_iter().for_each(|text| write_communication(text, &mut data));
        let notice = Notice::cease(Cease::HardReset);
        self.tell(now, id, In::Refuse(connection, notice, data), out);
        Ok(())
    }

    /// Ends the session of a peer until it is enabled again.
    fn shut_down(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        let id = self.named_peer(ask)?;
        let text = told(ask)?;
        if let Some(peer) = self.peers.get_mut(id) {
            peer.held = Some(Held::Operator);
        }
        let name = self.name_of(id);
        self.tell(now, id, In::Stop(Cease::AdministrativeShutdown, text), out);
        Ok(json!([{ "peer": name, "enabled": false }]))
    }

    /// Lets a peer back that the operator or a limit of routes held.
    fn enable(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answer {
        let id = self.named_peer(ask)?;
        let name = self.name_of(id);
        let Some(peer) = self.peers.get_mut(id) else { return Err(AskError::Unreachable) };
        if peer.held == Some(Held::Configured) {
            let what = "the configuration says `enabled = false`";
            return Err(AskError::BadParameter(what.into()));
        }
        peer.held = None;
        self.start(now, id, out);
        Ok(json!([{ "peer": name, "enabled": true }]))
    }

    pub(crate) fn name_of(&self, id: PeerId) -> String {
        self.peers.get(id).map(|peer| peer.speaker.name.clone()).unwrap_or_default()
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
