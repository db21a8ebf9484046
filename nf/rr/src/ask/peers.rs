//! Peers, as they are shown.

use super::Answer;
use crate::Reflector;
use bgp::codec::{MessageType, Offer};
use bgp::family::{Family, FamilySet};
use bgp::{ConnectionId, Negotiated, PeerAs};
use bgp_stack::config::Limit;
use bgp_stack::{Connection, Departed, Ending, Held, Peer};
use machine::Time;
use rib::PeerId;
use runtime::Ask;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Types of messages, in the order in which the session counts them.
const MESSAGES: [(&str, MessageType); 5] = [
    ("open", MessageType::Open),
    ("update", MessageType::Update),
    ("notification", MessageType::Notification),
    ("keepalive", MessageType::Keepalive),
    ("route_refresh", MessageType::RouteRefresh),
];

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

impl Reflector {
    /// A row for each peer.
    pub(super) fn show_summary(&mut self, now: Time) -> Value {
        self.speaker.forget_expired(now);
        let told = self.told();
        let there = self.speaker.peers().iter().map(|(id, peer)| self.summary(id, peer, &told));
        there.chain(self.speaker.away().map(|it| self.away(it))).collect()
    }

    /// A peer that came from a range and is away.
    fn away(&self, it: &Departed) -> Value {
        let kind = match (it.asn == Some(self.config.asn), it.client) {
            (true, true) => "client",
            (true, false) => "non-client",
            (false, _) => "external",
        };
        json!({
            "peer": it.name,
            "address": it.address.to_string(),
            "asn": it.asn,
            "identifier": it.identifier.map(identifier),
            "kind": kind,
            "group": it.group,
            "dynamic": true,
            "description": "",
            "state": "away",
            "since_us": it.at.as_micros(),
            "last_seen_us": it.at.as_micros(),
            "families": [],
            "routes_in": 0,
            "routes_accepted": 0,
            "routes_out": 0,
            "messages_in": 0,
            "messages_out": 0,
            "waiting_octets": 0,
            "flaps": it.flaps,
            "why": it.why,
        })
    }

    /// How many routes each peer was told.
    pub(super) fn told(&self) -> BTreeMap<PeerId, usize> {
        let mut told = BTreeMap::new();
        for group in self.rib.groups() {
            for (members, _, _, routes) in group.cohorts {
                members.into_iter().for_each(|peer| *told.entry(peer).or_insert(0) += routes);
            }
        }
        told
    }

    fn summary(&self, id: PeerId, peer: &Peer, told: &BTreeMap<PeerId, usize>) -> Value {
        let counters = peer.session.counters();
        let heard = peer.connections.values().map(|it| it.heard.as_micros()).max();
        let offered = peer.negotiated.as_ref().map(|it| &it.peer);
        let families = families(peer);
        let routes: u64 = families.iter().map(|it| u64::from(self.rib.accepted(id, it))).sum();
        let counted = self.rib.peer_counters(id).unwrap_or_default();
        json!({
            "peer": peer.settings.name,
            "address": peer.settings.address.to_string(),
            "asn": offered.map(|it| it.asn).or_else(|| self.expected_asn(peer)),
            "identifier": offered.map(|it| identifier(it.identifier)),
            "kind": self.kind(peer),
            "group": peer.settings.group,
            "dynamic": peer.settings.is_dynamic,
            "description": peer.settings.description,
            "state": state(peer),
            "since_us": peer.since.as_micros(),
            "last_seen_us": heard,
            "families": names(families),
            "routes_in": counted.announced,
            "routes_accepted": routes,
            "routes_out": told.get(&id).copied().unwrap_or(0),
            "messages_in": counters.received.iter().sum::<u64>(),
            "messages_out": counters.sent.iter().sum::<u64>(),
            "waiting_octets": peer.waiting(),
            "flaps": peer.flaps(),
            "why": peer.ending.as_ref().filter(|_| !peer.is_up()).map(|ending| &ending.text),
        })
    }

    /// The AS that a peer is to have, as its configuration says.
    fn expected_asn(&self, peer: &Peer) -> Option<u32> {
        match peer.settings.session.peer_as {
            PeerAs::Internal => Some(self.config.asn),
            PeerAs::Is(asn) => Some(asn),
            PeerAs::External | PeerAs::Any => None,
        }
    }

    fn kind(&self, peer: &Peer) -> &'static str {
        let is_internal = match &peer.negotiated {
            Some(negotiated) => negotiated.is_internal(),
            None => peer.settings.session.peer_as.admits(self.config.asn, self.config.asn),
        };
        match (is_internal, peer.settings.client) {
            (true, true) => "client",
            (true, false) => "non-client",
            (false, _) => "external",
        }
    }

    /// Everything about a peer.
    pub(super) fn show_peer(&self, ask: &Ask) -> Answer {
        let id = self.named_peer(ask)?;
        let Some(peer) = self.speaker.peers().get(id) else { return Ok(json!([])) };
        let mut row = self.summary(id, peer, &self.told());
        let settings = peer.session.settings();
        row["offered_here"] = offer(&settings.offer);
        row["offered_there"] = peer.negotiated.as_ref().map_or(Value::Null, |it| offer(&it.peer));
        row["agreed"] = peer.negotiated.as_ref().map_or(Value::Null, |it| agreed(it));
        row["connections"] =
            peer.connections.iter().map(|(id, it)| connection(peer, *id, it)).collect();
        row["timers"] = json!({
            "connect_retry_s": settings.connect_retry.as_secs(),
            "delay_open_s": settings.delay_open.as_secs(),
            "idle_hold_s": settings.idle_hold.as_secs(),
            "idle_hold_max_s": settings.idle_hold_max.as_secs(),
            "stale_s": settings.stale.as_secs(),
        });
        let ending = |it: &Option<Ending>| {
            it.as_ref().map(|it| json!({ "at_us": it.at.as_micros(), "text": it.text }))
        };
        row["last_error"] = ending(&peer.ending).into();
        row["last_offence"] = ending(&peer.offence).into();
        row["limits"] = self.show_limits(id, peer);
        row["import"] = peer.settings.import.clone().into();
        row["export"] = peer.settings.export.clone().into();
        row["password"] = peer.settings.guard.password.is_some().into();
        row["ttl_security_hops"] = peer.settings.guard.hops.into();
        self.count(id, peer, &mut row);
        Ok(Value::Array(vec![row]))
    }

    /// What was counted of a peer and its session.
    fn count(&self, id: PeerId, peer: &Peer, row: &mut Value) {
        let counted = self.rib.peer_counters(id).unwrap_or_default();
        let counters = peer.session.counters();
        let messages = |of: &[u64; 5]| -> Value {
            let count = |(name, kind): &(&str, MessageType)| {
                ((*name).to_owned(), Value::from(of[*kind as usize]))
            };
            Value::Object(MESSAGES.iter().map(count).collect())
        };
        row["received"] = messages(&counters.received);
        row["sent"] = messages(&counters.sent);
        let numbers = [
            ("received_octets", counters.received_bytes),
            ("established", counters.established),
            ("connects", counters.connects),
            ("collisions", counters.collisions),
            ("refused", counters.refused),
            ("hold_expired", counters.hold_expired),
            ("send_hold_expired", counters.send_hold_expired),
            ("offences_tolerated", peer.tolerated),
            ("routes_withdrawn", counted.withdrawn),
            ("routes_treated_as_withdrawn", counted.treated_as_withdrawn),
            ("routes_looped", counted.looped),
            ("routes_refused", counted.refused),
        ];
        numbers.into_iter().for_each(|(key, number)| row[key] = number.into());
    }

    fn show_limits(&self, id: PeerId, peer: &Peer) -> Value {
        let limit = |limit: &Limit| {
            json!({
                "family": limit.family.name(),
                "routes": self.rib.received(id, limit.family),
                "warn": limit.warn,
                "max": limit.max,
            })
        };
        peer.settings.limits.iter().map(limit).collect()
    }
}

/// A connection of a peer.
fn connection(peer: &Peer, id: ConnectionId, it: &Connection) -> Value {
    json!({
        "local": it.flow.local.to_string(),
        "remote": it.flow.remote.to_string(),
        "established": peer.up == Some(id),
        "heard_us": it.heard.as_micros(),
        "waiting_octets": it.left,
    })
}

/// What an OPEN says.
fn offer(offer: &Offer) -> Value {
    let restart = offer.graceful_restart.as_ref().map(|it| {
        json!({
            "time_s": it.time_s, "restarting": it.restarting, "notification": it.notification,
            "families": names(it.families), "forwarding": names(it.forwarding),
        })
    });
    let long_lived = offer.long_lived.as_ref().map(|it| {
        let times = it
            .families
            .iter()
            .map(|family| json!({ "family": family.name(), "time_s": it.time_s[family as usize] }));
        times.collect::<Value>()
    });
    json!({
        "asn": offer.asn,
        "identifier": identifier(offer.identifier),
        "hold_time_s": offer.hold_time_s,
        "families": names(offer.families),
        "four_octet_as": offer.four_octet_as,
        "route_refresh": offer.route_refresh,
        "enhanced_refresh": offer.enhanced_refresh,
        "extended_message": offer.extended_message,
        "extended_next_hop": names(offer.extended_next_hop),
        "add_path_send": names(offer.add_path_send),
        "add_path_receive": names(offer.add_path_receive),
        "multiple_labels": names(labelled(offer)),
        "role": offer.role.map(|role| role.name()),
        "graceful_restart": restart,
        "long_lived": long_lived,
    })
}

fn labelled(offer: &Offer) -> FamilySet {
    let has = |family: &Family| offer.labels_max[*family as usize] > 1;
    Family::ALL.iter().copied().filter(has).collect()
}

/// What holds on both sides.
fn agreed(it: &Negotiated) -> Value {
    json!({
        "families": names(it.context.families),
        "hold_time_s": it.hold_time.as_secs(),
        "keepalive_s": it.keepalive_time.as_secs(),
        "send_hold_s": it.send_hold_time.as_secs(),
        "message_max": it.message_max,
        "four_octet_as": it.context.four_octet_as,
        "route_refresh": it.route_refresh,
        "enhanced_refresh": it.enhanced_refresh,
        "add_path_send": names(it.add_path_send),
        "add_path_receive": names(it.context.add_path),
        "extended_next_hop": names(it.context.extended_next_hop),
        "multiple_labels": names(it.context.multiple_labels),
        "graceful_restart": names(it.graceful_restart),
        "long_lived": names(it.long_lived),
    })
}
