//! What the management side may ask: ASPs, Application Servers, routes, registered keys,
//! destinations, associations and their paths; and what it may tell: audit, block, activate.

use crate::Gateway;
use crate::config::{Carriage, PeerRole, show_network};
use crate::facts::Fact;
use m3ua::codec::{Affected, ServerState};
use m3ua::{Availability, In, PeerId, ServerId, Side};
use m3ua_stack::{Link, State, Way};
use machine::{Machine, Time};
use runtime::{Ask, AskError};
use serde_json::{Value, json};

/// Rows of one answer.
const ROWS_MAX: usize = 20_000;

type Answer = Result<Value, AskError>;

impl Gateway {
    /// Answers a question.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask) -> Answer {
        self.gauges();
        match ask.path.as_str() {
            "m3ua/asps" => Ok(self.show_asps()),
            "m3ua/servers" => Ok(self.show_servers()),
            "m3ua/routes" => Ok(self.show_routes()),
            "m3ua/keys" => Ok(self.show_keys()),
            "m3ua/destinations" => Ok(self.show_destinations()),
            "m3ua/trace" => self.trace(ask),
            "m3ua/audit" => self.audit(now, ask),
            "m3ua/block" => self.block(now, ask, true),
            "m3ua/unblock" => self.block(now, ask, false),
            "m3ua/activate" => self.activate(now, ask, true),
            "m3ua/deactivate" => self.activate(now, ask, false),
            "sctp/associations" | "sctp/paths" => self.show_sctp(ask),
            "alarms" => Ok(self.show_alarms(now)),
            other => Err(AskError::NotFound(other.to_owned())),
        }
    }

    /// Brings the gauges up to date.
    fn gauges(&self) {
        let facts = &self.facts;
        let links = || self.links.iter().map(|(_, link)| link);
        let up = links().filter(|link| link.state == State::Up).count();
        facts.set(Fact::Associated, up as u64);
        facts.set(Fact::Lacking, (links().count() - up) as u64);
        let level = links().map(|link| link.congestion).max().unwrap_or(0);
        facts.set(Fact::Congestion, level.into());
        let (mut active, mut pending, mut down, mut waiting) = (0, 0, 0, 0);
        for server in self.process.servers() {
            waiting += self.process.waiting(server) as u64;
            match self.process.server_state(server) {
                Some(ServerState::Active) => active += 1,
                Some(ServerState::Pending) => pending += 1,
                _ => down += 1,
            }
        }
        facts.set(Fact::ServersActive, active);
        facts.set(Fact::ServersPending, pending);
        facts.set(Fact::ServersDown, down);
        facts.set(Fact::Waiting, waiting);
        self.links.show(&self.peer_table, |peer| {
            let Some(status) = self.process.peer_status(peer) else { return (0, false) };
            let active = status.servers.iter().filter(|it| self.process.is_active(peer, **it));
            (active.count() as u64, !status.is_blocked)
        });
    }

    /// The facts that the links have counted.
    pub(crate) fn publish_counts(&self) {
        let counts = self.links.counts();
        let rows = [
            (Fact::Attempts, counts.attempts),
            (Fact::Refused, counts.refused),
            (Fact::ClaimRefused, counts.claims_refused),
            (Fact::Unsent, counts.unsent),
            (Fact::TransportShed, counts.shed),
            (Fact::Lost, counts.lost),
        ];
        rows.into_iter().for_each(|(fact, count)| self.facts.set(fact, count));
    }

    /// The name of an Application Server: as configured, or that of its Routing Context.
    pub(crate) fn server_name(&self, id: ServerId) -> String {
        if let Some((name, _)) = self.servers.iter().find(|(_, known)| **known == id) {
            return name.clone();
        }
        let status = self.process.server_status(id);
        let context = status.and_then(|status| status.settings.routing_context);
        context.map_or_else(String::new, |context| format!("registered-{}", context.0))
    }

    pub(crate) fn peer_name(&self, id: PeerId) -> &str {
        self.links.link(id).map_or("", |link| &link.config.name)
    }

    fn show_asps(&self) -> Value {
        let rows = self.links.iter().take(ROWS_MAX).filter_map(|(id, link)| {
            let status = self.process.peer_status(id)?;
            let active = status.servers.iter().filter(|it| self.process.is_active(id, **it));
            let active: Vec<String> = active.map(|server| self.server_name(*server)).collect();
            let is_up = status.is_up_here || status.is_up_there;
            let state = match (is_up, active.is_empty()) {
                (_, false) => "active",
                (true, true) => "inactive",
                (false, true) => "down",
            };
            Some(json!({
                "name": link.config.name,
                "role": role(link.config.role),
                "transport": carriage(link.config.transport),
                "address": address(link),
                "association": association(link.state),
                "since_us": link.since.as_micros(),
                "why": link.why,
                "state": state,
                "asp_identifier": status.asp_identifier,
                "blocked": status.is_blocked,
                "congestion": link.congestion,
                "active_for": active,
            }))
        });
        Value::Array(rows.collect())
    }

    fn show_servers(&self) -> Value {
        let rows = self.process.servers().take(ROWS_MAX).filter_map(|id| {
            let status = self.process.server_status(id)?;
            let asps = status.members.iter().map(|member| {
                let state = match (member.is_active, member.is_up) {
                    (true, _) => "active",
                    (false, true) => "inactive",
                    (false, false) => "down",
                };
                format!("{} {state}", self.peer_name(member.peer))
            });
            let dpcs = status.settings.key.destinations.iter().map(|it| it.dpc);
            let format = self.config.point_code_format;
            Some(json!({
                "name": self.server_name(id),
                "routing_context": status.settings.routing_context.map(|it| it.0),
                "network": show_network(status.settings.key.network),
                "point_codes": dpcs.map(|dpc| format.show(dpc)).collect::<Vec<_>>(),
                "served_by": side(status.settings.side),
                "state": status.state.name(),
                "mode": status.mode.map(|mode| mode.name().to_lowercase()),
                "waiting": status.waiting,
                "asps": asps.collect::<Vec<_>>(),
                "registered": status.is_dynamic,
            }))
        });
        Value::Array(rows.collect())
    }

    /// Where MSUs go: for each destination of a key, for this node, and for everything else.
    fn show_routes(&self) -> Value {
        let format = self.config.point_code_format;
        let network = show_network(self.config.network());
        let own = self.own.iter().map(|dpc| {
            json!({
                "point_code": format.show(*dpc), "network": network, "service_indicators": [],
                "originating": [], "to": "this node", "state": "available",
            })
        });
        let there = self.process.servers().filter_map(|id| {
            let status = self.process.server_status(id)?;
            (status.settings.side == Side::There).then_some((id, status))
        });
        let keys = there.flat_map(|(id, status)| {
            let network = show_network(status.settings.key.network);
            let name = self.server_name(id);
            let serves = matches!(status.state, ServerState::Active | ServerState::Pending);
            let state = if serves { "available" } else { "unavailable" };
            let destinations = status.settings.key.destinations.clone();
            destinations.into_iter().map(move |destination| {
                let originating = destination.originating.iter().map(|opc| format.show(*opc));
                json!({
                    "point_code": format.show(destination.dpc), "network": network,
                    "service_indicators": destination.service_indicators,
                    "originating": originating.collect::<Vec<_>>(),
                    "to": name, "state": state,
                })
            })
        });
        let gateways = self.links.iter().filter(|(_, link)| link.config.role == PeerRole::Sgp);
        let others = gateways.map(|(id, link)| {
            let servers = self.process.peer_status(id).map(|status| status.servers);
            let mut servers = servers.unwrap_or_default().into_iter();
            let is_usable = servers.any(|server| self.process.is_active(id, server));
            json!({
                "point_code": "all others", "network": network, "service_indicators": [],
                "originating": [],
                "to": format!("gateway {} ({})", link.config.gateway, link.config.name),
                "state": if is_usable { "available" } else { "unavailable" },
            })
        });
        Value::Array(own.chain(keys).chain(others).take(ROWS_MAX).collect())
    }

    /// Routing Keys that were registered, by peers here or by this node at peers.
    fn show_keys(&self) -> Value {
        let format = self.config.point_code_format;
        let servers = self.process.servers();
        let servers = servers.filter_map(|id| Some((id, self.process.server_status(id)?)));
        let rows = servers.flat_map(|(id, status)| {
            let dpcs = status.settings.key.destinations.iter().map(|it| format.show(it.dpc));
            let dpcs: Vec<String> = dpcs.collect();
            let (name, by) = (self.server_name(id), side(status.settings.side));
            let network = show_network(status.settings.key.network);
            let members = status.members.into_iter().filter(|member| member.is_registered);
            members.map(move |member| {
                json!({
                    "peer": self.peer_name(member.peer),
                    "registered_by": by,
                    "routing_context": member.routing_context.map(|it| it.0),
                    "network": network,
                    "point_codes": dpcs,
                    "server": name,
                })
            })
        });
        Value::Array(rows.take(ROWS_MAX).collect())
    }

    fn show_destinations(&self) -> Value {
        let format = self.config.point_code_format;
        let rows = self.process.destinations(ROWS_MAX).into_iter().map(|it| {
            let availability = match it.availability {
                None | Some(Availability::Available) => "available",
                Some(Availability::Restricted) => "restricted",
                Some(Availability::Unavailable) => "unavailable",
            };
            json!({
                "point_code": format.show_range(it.affected),
                "network": show_network(it.network),
                "told_by": teller(it.gateway),
                "state": availability,
                "congestion": it.congestion,
            })
        });
        Value::Array(rows.collect())
    }

    fn show_sctp(&self, ask: &Ask) -> Answer {
        let Some(doorway) = self.links.doorway() else { return Ok(json!([])) };
        let mut answer = doorway.ask(ask)?;
        let names: Vec<(String, &str)> = self
            .links
            .iter()
            .filter_map(|(_, link)| match link.way {
                Some(Way::Association(id)) => Some((id.to_string(), &*link.config.name)),
                _ => None,
            })
            .collect();
        for row in answer.as_array_mut().into_iter().flatten() {
            let name = names.iter().find(|(id, _)| row["association"] == **id);
            row["name"] = name.map_or(Value::Null, |(_, name)| Value::from(*name));
        }
        Ok(answer)
    }

    fn named_peer(&self, ask: &Ask) -> Result<PeerId, AskError> {
        let name = ask.params.get("peer");
        let name = name.ok_or_else(|| AskError::BadParameter("peer names a peer".into()))?;
        self.links.find(name).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// Asks a gateway for the status of a destination (DAUD); the answer changes what
    /// `m3ua/destinations` shows.
    fn audit(&mut self, now: Time, ask: &Ask) -> Answer {
        let peer = self.named_peer(ask)?;
        if self.links.link(peer).map(|link| link.config.role) != Some(PeerRole::Sgp) {
            return Err(AskError::BadParameter("only an SGP is asked for destinations".into()));
        }
        let format = self.config.point_code_format;
        let text = ask.params.get("point_code").map(String::as_str).unwrap_or_default();
        let affected = match (text, format.read(text)) {
            ("all", _) => Affected::ALL,
            (_, Some(point_code)) => Affected::one(point_code),
            (_, None) => {
                let wrong = format!("point_code: {}, or all", format.example());
                return Err(AskError::BadParameter(wrong));
            }
        };
        let network = self.config.network();
        self.process.step(now, In::Audit(peer, network, vec![affected]), &mut self.outs);
        Ok(json!([{ "peer": self.peer_name(peer), "asked": format.show_range(affected) }]))
    }

    fn block(&mut self, now: Time, ask: &Ask, is_blocked: bool) -> Answer {
        let peer = self.named_peer(ask)?;
        self.enable(now, peer, !is_blocked);
        Ok(json!([{ "peer": self.peer_name(peer), "blocked": is_blocked }]))
    }

    /// M-ASP_ACTIVE and M-ASP_INACTIVE requests.
    fn activate(&mut self, now: Time, ask: &Ask, is_active: bool) -> Answer {
        let peer = self.named_peer(ask)?;
        let name = ask.params.get("server");
        let name = name.ok_or_else(|| AskError::BadParameter("server names one".into()))?;
        let server = self.servers.get(name).copied().filter(|it| self.process.is_member(peer, *it));
        let server = server.ok_or_else(|| {
            let peer = self.peer_name(peer);
            AskError::NotFound(format!("an Application Server {name} of {peer}"))
        })?;
        let input = match is_active {
            true => In::AspActive(peer, server),
            false => In::AspInactive(peer, server),
        };
        self.process.step(now, input, &mut self.outs);
        Ok(json!([{ "peer": self.peer_name(peer), "server": name, "wants_active": is_active }]))
    }
}

fn teller(gateway: Option<u16>) -> String {
    gateway.map_or_else(|| "this node".to_owned(), |number| format!("gateway {number}"))
}

fn address(link: &Link) -> String {
    match link.way {
        Some(Way::Stream(flow)) => flow.remote.to_string(),
        _ => {
            let texts: Vec<String> =
                link.config.addresses.iter().map(ToString::to_string).collect();
            texts.join(" ")
        }
    }
}

const fn role(role: PeerRole) -> &'static str {
    match role {
        PeerRole::Asp => "asp",
        PeerRole::Sgp => "sgp",
        PeerRole::Ipsp => "ipsp",
        PeerRole::IpspDouble => "ipsp-double",
    }
}

const fn carriage(carriage: Carriage) -> &'static str {
    match carriage {
        Carriage::Sctp => "sctp",
        Carriage::Tcp => "tcp",
    }
}

const fn association(state: State) -> &'static str {
    match state {
        State::Idle => "down",
        State::Opening => "opening",
        State::Up => "up",
    }
}

const fn side(side: Side) -> &'static str {
    match side {
        Side::Here => "here",
        Side::There => "peers",
    }
}
