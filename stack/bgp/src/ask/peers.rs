//! Peers, as they are shown.

use super::Answer;
use crate::Tables;
use crate::config::Limit;
use crate::{Connection, Departed, Ending, Held, Peer};
use bgp::codec::{MessageType, Offer};
use bgp::family::{Family, FamilySet};
use bgp::{ConnectionId, Negotiated, PeerAs};
use machine::Time;
use question::rows;
use rib::PeerId;
use runtime::Ask;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

rows! {
    /// A peer.
    pub(crate) struct BgpSummaryRow {
        peer: String,
        address: String,
        asn: Option<u32>,
        identifier: Option<String>,
        /// `client`, `non-client` or `external`.
        kind: &'static str,
        group: Option<String>,
        /// The routing table of a provider edge that it is a customer of.
        vrf: Option<String>,
        dynamic: bool,
        description: String,
        state: &'static str,
        since_us: u64,
        last_seen_us: Option<u64>,
        families: Vec<&'static str>,
        routes_in: u64,
        routes_accepted: u64,
        /// Those that it was told, its own among them; with constrained route targets, those that
        /// any peer of its update cohort wanted.
        routes_out: usize,
        messages_in: u64,
        messages_out: u64,
        waiting_octets: u64,
        flaps: u64,
        why: Option<String>,
    }

    /// A connection of a peer.
    pub(crate) struct ConnectionRow {
        local: String,
        remote: String,
        established: bool,
        heard_us: u64,
        waiting_octets: u64,
    }

    /// The timers of a session.
    pub(crate) struct Timers {
        connect_retry_s: u64,
        delay_open_s: u64,
        idle_hold_s: u64,
        idle_hold_max_s: u64,
        stale_s: u64,
    }

    /// What happened last, and when.
    pub(crate) struct Noted {
        at_us: u64,
        text: String,
    }

    /// How many routes of a family a peer may have.
    pub(crate) struct BgpLimitRow {
        family: &'static str,
        routes: u32,
        warn: u64,
        max: u64,
    }

    /// Graceful restart, as an OPEN says it.
    pub(crate) struct Restart {
        time_s: u16,
        restarting: bool,
        notification: bool,
        families: Vec<&'static str>,
        forwarding: Vec<&'static str>,
    }

    /// Long-lived graceful restart of a family.
    pub(crate) struct LongLived {
        family: &'static str,
        time_s: u32,
    }

    /// What an OPEN says.
    pub(crate) struct Offered {
        asn: u32,
        identifier: String,
        hold_time_s: u16,
        families: Vec<&'static str>,
        four_octet_as: bool,
        route_refresh: bool,
        enhanced_refresh: bool,
        extended_message: bool,
        extended_next_hop: Vec<&'static str>,
        add_path_send: Vec<&'static str>,
        add_path_receive: Vec<&'static str>,
        multiple_labels: Vec<&'static str>,
        role: Option<&'static str>,
        graceful_restart: Option<Restart>,
        long_lived: Option<Vec<LongLived>>,
    }

    /// What holds on both sides.
    pub(crate) struct Agreed {
        families: Vec<&'static str>,
        hold_time_s: u64,
        keepalive_s: u64,
        send_hold_s: u64,
        message_max: usize,
        four_octet_as: bool,
        route_refresh: bool,
        enhanced_refresh: bool,
        add_path_send: Vec<&'static str>,
        add_path_receive: Vec<&'static str>,
        extended_next_hop: Vec<&'static str>,
        multiple_labels: Vec<&'static str>,
        graceful_restart: Vec<&'static str>,
        long_lived: Vec<&'static str>,
    }

    /// What a peer and this node offer and hold to.
    pub(crate) struct Agreement {
        offered_here: Offered,
        offered_there: Option<Offered>,
        agreed: Option<Agreed>,
        connections: Vec<ConnectionRow>,
        timers: Timers,
        last_error: Option<Noted>,
        last_offence: Option<Noted>,
        limits: Vec<BgpLimitRow>,
        import: Option<String>,
        export: Option<String>,
        password: bool,
        ttl_security_hops: Option<u8>,
    }

    /// Messages by their type.
    pub(crate) struct Messages {
        open: u64,
        update: u64,
        notification: u64,
        keepalive: u64,
        route_refresh: u64,
    }

    /// What was counted of a peer and its session.
    pub(crate) struct Counted {
        received: Messages,
        sent: Messages,
        received_octets: u64,
        established: u64,
        connects: u64,
        collisions: u64,
        refused: u64,
        hold_expired: u64,
        send_hold_expired: u64,
        offences_tolerated: u64,
        routes_withdrawn: u64,
        routes_treated_as_withdrawn: u64,
        routes_looped: u64,
        routes_refused: u64,
        /// Attribute sets with next hops that it may not name, where next hops are followed.
        next_hops_foreign: u64,
        /// Attribute sets that are not reached since it has as many next hops as it may.
        next_hops_excess: usize,
    }
}

/// A peer: everything about one that is there, and what is remembered of one that is away.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PeerSheet {
    /// There is a session, whatever its state.
    There(Box<PeerRow>),
    /// It came from a range and has gone: `state` is `away`.
    Away(Box<BgpSummaryRow>),
}

/// Everything about a peer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PeerRow {
    #[serde(flatten)]
    summary: BgpSummaryRow,
    #[serde(flatten)]
    agreement: Agreement,
    #[serde(flatten)]
    counted: Counted,
}

fn names(families: FamilySet) -> Vec<&'static str> {
    families.iter().map(Family::name).collect()
}

fn identifier(number: u32) -> String {
    Ipv4Addr::from_bits(number).to_string()
}

/// The families of its session.
pub(super) fn families(peer: &Peer) -> FamilySet {
    peer.negotiated.as_ref().map_or(FamilySet::EMPTY, |it| it.context.families)
}

/// What the operator calls the state of a session.
fn state(peer: &Peer) -> &'static str {
    match peer.held {
        Some(Held::Configured | Held::Operator) => "shut down",
        Some(Held::Excess(_)) => "too many routes",
        None => peer.session.state().name(),
    }
}

impl Tables<'_> {
    /// A row for each peer, by address.
    pub(super) fn show_summary(&mut self, now: Time) -> Vec<BgpSummaryRow> {
        self.speaker.forget_expired(now);
        let told = self.routes_announced();
        let there =
            self.speaker.peers().iter().map(|(id, peer)| self.summary(now, id, peer, &told));
        let mut rows: Vec<_> = there.chain(self.speaker.away().map(|it| self.away(it))).collect();
        rows.sort_by_cached_key(|row| row.address.parse::<IpAddr>().ok());
        rows
    }

    /// A peer that came from a range and is away.
    fn away(&self, it: &Departed) -> BgpSummaryRow {
        let kind = match (it.asn == Some(self.asn), it.client) {
            (true, true) => "client",
            (true, false) => "non-client",
            (false, _) => "external",
        };
        BgpSummaryRow {
            peer: it.name.clone(),
            address: it.address.to_string(),
            asn: it.asn,
            identifier: it.identifier.map(identifier),
            kind,
            group: Some(it.group.clone()),
            vrf: self.beside.vrf().map(str::to_owned),
            dynamic: true,
            description: String::new(),
            state: "away",
            since_us: it.at.as_micros(),
            last_seen_us: Some(it.at.as_micros()),
            families: Vec::new(),
            routes_in: 0,
            routes_accepted: 0,
            routes_out: 0,
            messages_in: 0,
            messages_out: 0,
            waiting_octets: 0,
            flaps: it.flaps,
            why: Some(it.why.clone()),
        }
    }

    /// How many routes each peer was told.
    pub(super) fn routes_announced(&self) -> BTreeMap<PeerId, usize> {
        let mut told = BTreeMap::new();
        for group in self.rib.groups() {
            for (members, _, _, routes) in group.cohorts {
                members.into_iter().for_each(|peer| *told.entry(peer).or_insert(0) += routes);
            }
        }
        told
    }

    fn summary(
        &self,
        now: Time,
        id: PeerId,
        peer: &Peer,
        told: &BTreeMap<PeerId, usize>,
    ) -> BgpSummaryRow {
        let counters = peer.session.counters();
        let heard = peer.connections.values().map(|it| it.heard.as_micros()).max();
        let offered = peer.negotiated.as_ref().map(|it| &it.peer);
        let families = families(peer);
        let routes: u64 = families.iter().map(|it| u64::from(self.rib.accepted(id, it))).sum();
        let counted = self.rib.peer_counters(id).unwrap_or_default();
        BgpSummaryRow {
            peer: peer.settings.name.clone(),
            address: peer.settings.address.to_string(),
            asn: offered.map(|it| it.asn).or_else(|| self.expected_asn(peer)),
            identifier: offered.map(|it| identifier(it.identifier)),
            kind: self.kind(peer),
            group: peer.settings.group.clone(),
            vrf: peer.settings.vrf.clone(),
            dynamic: peer.settings.is_dynamic,
            description: peer.settings.description.clone(),
            state: state(peer),
            since_us: peer.since.as_micros(),
            last_seen_us: heard,
            families: names(families),
            routes_in: counted.announced,
            routes_accepted: routes,
            routes_out: told.get(&id).copied().unwrap_or(0),
            messages_in: counters.received.iter().sum::<u64>(),
            messages_out: counters.sent.iter().sum::<u64>(),
            waiting_octets: peer.waiting(),
            flaps: peer.flaps(),
            why: self.speaker.why(now, peer),
        }
    }

    /// The AS that a peer is to have, as its configuration says.
    fn expected_asn(&self, peer: &Peer) -> Option<u32> {
        match peer.settings.session.peer_as {
            PeerAs::Internal => Some(self.asn),
            PeerAs::Is(asn) => Some(asn),
            PeerAs::External | PeerAs::Any => None,
        }
    }

    fn kind(&self, peer: &Peer) -> &'static str {
        let is_internal = match &peer.negotiated {
            Some(negotiated) => negotiated.is_internal(),
            None => peer.settings.session.peer_as.admits(self.asn, self.asn),
        };
        match (is_internal, peer.settings.client) {
            (true, true) => "client",
            (true, false) => "non-client",
            (false, _) => "external",
        }
    }

    /// Everything about a peer.
    pub(super) fn show_peer(&mut self, now: Time, ask: &Ask) -> Answer<Vec<PeerSheet>> {
        self.speaker.forget_expired(now);
        let name = ask.params.get("peer");
        if let Some(gone) = self.speaker.away().find(|it| Some(&it.name) == name) {
            return Ok(vec![PeerSheet::Away(Box::new(self.away(gone)))]);
        }
        let id = self.named_peer(ask)?;
        let Some(peer) = self.speaker.peers().get(id) else { return Ok(Vec::new()) };
        let settings = peer.session.settings();
        let noted = |it: &Option<Ending>| {
            it.as_ref().map(|it| Noted { at_us: it.at.as_micros(), text: it.text.to_string() })
        };
        let connections = peer.connections.iter();
        let agreement = Agreement {
            offered_here: offer(&settings.offer),
            offered_there: peer.negotiated.as_ref().map(|it| offer(&it.peer)),
            agreed: peer.negotiated.as_ref().map(|it| agreed(it)),
            connections: connections.map(|(id, it)| connection(peer, *id, it)).collect(),
            timers: Timers {
                connect_retry_s: settings.connect_retry.as_secs(),
                delay_open_s: settings.delay_open.as_secs(),
                idle_hold_s: settings.idle_hold.as_secs(),
                idle_hold_max_s: settings.idle_hold_max.as_secs(),
                stale_s: settings.stale.as_secs(),
            },
            last_error: noted(&peer.ending),
            last_offence: noted(&peer.violation),
            limits: self.show_limits(id, peer),
            import: peer.settings.import.clone(),
            export: peer.settings.export.clone(),
            password: peer.settings.guard.password.is_some(),
            ttl_security_hops: peer.settings.guard.hops,
        };
        let (summary, counted) =
            (self.summary(now, id, peer, &self.routes_announced()), self.counted(id, peer));
        Ok(vec![PeerSheet::There(Box::new(PeerRow { summary, agreement, counted }))])
    }

    /// What was counted of a peer and its session.
    fn counted(&self, id: PeerId, peer: &Peer) -> Counted {
        let counted = self.rib.peer_counters(id).unwrap_or_default();
        let counters = peer.session.counters();
        let messages = |of: &[u64; 5]| Messages {
            open: of[MessageType::Open as usize],
            update: of[MessageType::Update as usize],
            notification: of[MessageType::Notification as usize],
            keepalive: of[MessageType::Keepalive as usize],
            route_refresh: of[MessageType::RouteRefresh as usize],
        };
        Counted {
            received: messages(&counters.received),
            sent: messages(&counters.sent),
            received_octets: counters.received_bytes,
            established: counters.established,
            connects: counters.connects,
            collisions: counters.collisions,
            refused: counters.refused,
            hold_expired: counters.hold_expired,
            send_hold_expired: counters.send_hold_expired,
            offences_tolerated: peer.tolerated,
            routes_withdrawn: counted.withdrawn,
            routes_treated_as_withdrawn: counted.treated_as_withdrawn,
            routes_looped: counted.looped,
            routes_refused: counted.refused,
            next_hops_foreign: counted.foreign_next_hops,
            next_hops_excess: self.rib.excess_next_hops(id),
        }
    }

    fn show_limits(&self, id: PeerId, peer: &Peer) -> Vec<BgpLimitRow> {
        let limit = |limit: &Limit| BgpLimitRow {
            family: limit.family.name(),
            routes: self.rib.received(id, limit.family),
            warn: limit.warn,
            max: limit.max,
        };
        peer.settings.limits.iter().map(limit).collect()
    }
}

/// A connection of a peer.
fn connection(peer: &Peer, id: ConnectionId, it: &Connection) -> ConnectionRow {
    ConnectionRow {
        local: it.flow.local.to_string(),
        remote: it.flow.remote.to_string(),
        established: peer.up == Some(id),
        heard_us: it.heard.as_micros(),
        waiting_octets: it.left,
    }
}

/// What an OPEN says.
fn offer(offer: &Offer) -> Offered {
    let restart = offer.graceful_restart.as_ref().map(|it| Restart {
        time_s: it.time_s,
        restarting: it.restarting,
        notification: it.notification,
        families: names(it.families),
        forwarding: names(it.forwarding),
    });
    let long_lived = offer.long_lived.as_ref().map(|it| {
        let times = it
            .families
            .iter()
            .map(|family| LongLived { family: family.name(), time_s: it.time_s[family as usize] });
        times.collect()
    });
    Offered {
        asn: offer.asn,
        identifier: identifier(offer.identifier),
        hold_time_s: offer.hold_time_s,
        families: names(offer.families),
        four_octet_as: offer.four_octet_as,
        route_refresh: offer.route_refresh,
        enhanced_refresh: offer.enhanced_refresh,
        extended_message: offer.extended_message,
        extended_next_hop: names(offer.extended_next_hop),
        add_path_send: names(offer.add_path_send),
        add_path_receive: names(offer.add_path_receive),
        multiple_labels: names(labelled(offer)),
        role: offer.role.map(|role| role.name()),
        graceful_restart: restart,
        long_lived,
    }
}

fn labelled(offer: &Offer) -> FamilySet {
    let has = |family: &Family| offer.labels_max[*family as usize] > 1;
    Family::ALL.iter().copied().filter(has).collect()
}

/// What holds on both sides.
fn agreed(it: &Negotiated) -> Agreed {
    Agreed {
        families: names(it.context.families),
        hold_time_s: it.hold_time.as_secs(),
        keepalive_s: it.keepalive_time.as_secs(),
        send_hold_s: it.send_hold_time.as_secs(),
        message_max: it.message_max,
        four_octet_as: it.context.four_octet_as,
        route_refresh: it.route_refresh,
        enhanced_refresh: it.enhanced_refresh,
        add_path_send: names(it.add_path_send),
        add_path_receive: names(it.context.add_path),
        extended_next_hop: names(it.context.extended_next_hop),
        multiple_labels: names(it.context.multiple_labels),
        graceful_restart: names(it.graceful_restart),
        long_lived: names(it.long_lived),
    }
}
