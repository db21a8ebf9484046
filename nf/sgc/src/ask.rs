//! What the management side may ask: ASPs, Application Servers, routes, registered keys,
//! destinations, associations and their paths; and what it may tell: audit, block, activate.

use crate::Gateway;
use crate::alarms::blocked_why;
use crate::clustered::DrainRow;
use crate::config::{Carriage, PeerRole, Sgc, show_network};
use crate::metrics::Metric;
use crate::operations;
use crate::ping::PingRow;
use crate::rule_rows::{RuleHitRow, RuleSetRow, show_rules_of_sets, show_sets};
use crate::trace::TraceRow;
use crate::translations::{
    RemoteRow, SectionRow, StateRow, SubsystemRow, TcapRow, TranslatedRow, TranslationRow,
    show_rules, state,
};
use cluster::{ClusterRow, LinkRow, PartitionRow};
use m3ua::codec::{Affected, PointCode, ServerState};
use m3ua::{Availability, In, PeerId, Role, ServerId, Side};
use m3ua_stack::{Link, State, Way};
use machine::{Machine, Time};
use question::{Condition, Form, Parameter, Question, questions, rows};
use runtime::{Ask, AskError};
use schemars::JsonSchema;
use screening_stack::Set;
use sctp_stack::{SctpAssociationRow, SctpPathRow};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tcu_stack::serving::{ApplicationRow, InstanceRow};

/// Whose title a rule translates.
const OF: Form = Form::OneOf(&["called", "calling"]);
/// What shards without links may be asked as well.
const OF_DIALOGUES: [&str; 4] =
    ["tcap/dialogues", "applications", "applications/instances", "alarms"];
/// Rows of one answer.
const ROWS_MAX: usize = 20_000;

type Answer<T> = Result<T, AskError>;

rows! {
    /// A peer and its association.
    pub(crate) struct AspRow {
        name: String,
        /// `asp`, `sgp`, `ipsp` or `ipsp-double`.
        role: &'static str,
        transport: &'static str,
        address: String,
        /// `down`, `opening` or `up`.
        association: &'static str,
        since_us: u64,
        why: &'static str,
        /// `down`, `inactive` or `active`.
        state: &'static str,
        asp_identifier: Option<u32>,
        blocked: bool,
        congestion: u8,
        active_for: Vec<String>,
    }

    /// An Application Server.
    pub(crate) struct ServerRow {
        name: String,
        routing_context: Option<u32>,
        network: Option<u32>,
        point_codes: Vec<String>,
        /// `here` or `peers`.
        served_by: &'static str,
        state: &'static str,
        mode: Option<String>,
        waiting: usize,
        asps: Vec<String>,
        /// Whether a peer registered it.
        registered: bool,
    }

    /// Where MSUs to a point code go.
    pub(crate) struct Mtp3RouteRow {
        point_code: String,
        network: Option<u32>,
        service_indicators: Vec<u8>,
        originating: Vec<String>,
        to: String,
        state: &'static str,
    }

    /// A Routing Key that was registered.
    pub(crate) struct KeyRow {
        peer: String,
        registered_by: &'static str,
        routing_context: Option<u32>,
        network: Option<u32>,
        point_codes: Vec<String>,
        server: String,
    }

    /// A destination behind a gateway.
    pub(crate) struct DestinationRow {
        point_code: String,
        network: Option<u32>,
        told_by: String,
        state: &'static str,
        congestion: u8,
    }

    /// A question to a gateway.
    pub(crate) struct AuditRow {
        peer: String,
        asked: String,
    }

    /// A peer that was blocked, or is no more.
    pub(crate) struct BlockRow {
        peer: String,
        blocked: bool,
    }

    /// A peer that is to serve, or no more.
    pub(crate) struct ActivateRow {
        peer: String,
        server: String,
        wants_active: bool,
    }
}

/// A row of SCTP with the name of the peer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Named{T}")]
pub(crate) struct OfPeer<T> {
    #[serde(flatten)]
    row: T,
    /// The peer whose association it is.
    name: Option<String>,
}

/// What a question comes with.
pub(crate) struct Asked<'a> {
    now: Time,
    ask: &'a Ask,
}

type Serve = fn(&mut Gateway, &Asked<'_>) -> Answer<Value>;

const PEER: Parameter = Parameter::text("peer", "its name").required();
const SERVER: Parameter = Parameter::text("server", "an Application Server of it").required();
const SUBSYSTEM: Parameter = Parameter::text("subsystem", "its name or number").required();
const ASSOCIATION: Parameter = Parameter::text("association", "only this one");

fn no_node() -> AskError {
    AskError::BadParameter("this gateway is no node of a cluster: it has no [sgc.cluster]".into())
}

questions! {
    /// What may be asked, and who answers it.
    const QUESTIONS: Serve;
    /// The peers and their associations.
    Ask "m3ua/asps" [] -> Vec<AspRow>, |it, _| Ok(it.show_asps());
    /// The Application Servers.
    Ask "m3ua/servers" [] -> Vec<ServerRow>, |it, _| Ok(it.show_servers());
    /// Where MSUs go.
    Ask "m3ua/routes" [] -> Vec<Mtp3RouteRow>, |it, _| Ok(it.show_routes());
    /// The Routing Keys that were registered.
    Ask "m3ua/keys" [] -> Vec<KeyRow>, |it, _| Ok(it.show_keys());
    /// What is known of destinations.
    Ask "m3ua/destinations" [] -> Vec<DestinationRow>, |it, _| Ok(it.show_destinations());
    /// What would become of an MSU; nothing is sent.
    Ask "m3ua/trace" [
        Parameter::text("dpc", "its destination").required(),
        Parameter::text("opc", "its origin; that of this node if it is left out"),
        Parameter::number("si", "its service indicator"),
        Parameter::number("ni", "its network indicator"),
        Parameter::number("sls", "its signalling link selection"),
        Parameter::text("from", "the peer that it comes from; left out: this node"),
    ] -> TraceRow, |it, asked| it.trace(asked.ask);
    /// Asks a gateway for the status of a destination (DAUD).
    Act "m3ua/audit" [PEER, Parameter::text("point_code", "which, or all").required()]
        -> Vec<AuditRow>, |it, asked| it.audit(asked.now, asked.ask);
    /// Takes a peer out of service.
    Act "m3ua/block" [PEER] -> Vec<BlockRow>, |it, asked| it.block(asked.now, asked.ask, true);
    /// Lets a peer back into service.
    Act "m3ua/unblock" [PEER] -> Vec<BlockRow>,
        |it, asked| it.block(asked.now, asked.ask, false);
    /// Serves an Application Server at a peer.
    Act "m3ua/activate" [PEER, SERVER] -> Vec<ActivateRow>,
        |it, asked| it.activate(asked.now, asked.ask, true);
    /// Serves it there no more.
    Act "m3ua/deactivate" [PEER, SERVER] -> Vec<ActivateRow>,
        |it, asked| it.activate(asked.now, asked.ask, false);
    /// The SCTP associations.
    Ask "sctp/associations" [ASSOCIATION] -> Vec<OfPeer<SctpAssociationRow>>, |it, asked| {
        let rows = it.links.sctp().map(|endpoint| endpoint.show_associations(asked.ask));
        let rows = rows.transpose()?.unwrap_or_default();
        Ok(it.of_peers(rows, |row| &row.association))
    };
    /// The paths of the SCTP associations.
    Ask "sctp/paths" [ASSOCIATION] -> Vec<OfPeer<SctpPathRow>>, |it, asked| {
        let rows = it.links.sctp().map(|endpoint| endpoint.show_paths(asked.ask));
        let rows = rows.transpose()?.unwrap_or_default();
        Ok(it.of_peers(rows, |row| &row.association))
    };
    /// The subsystems of this node.
    Ask "sccp/subsystems" [] -> Vec<SubsystemRow>, |it, _| Ok(it.sccp.show_subsystems(&it.config));
    /// Nodes and subsystems elsewhere that are not as they should be.
    Ask "sccp/remotes" [] -> Vec<RemoteRow>, |it, _| {
        Ok(it.sccp.show_remotes(&it.config, &|dpc| it.no_way_in_words(dpc)))
    };
    /// The connections of classes 2 and 3.
    Ask "sccp/connections" [] -> Vec<SectionRow>,
        |it, asked| Ok(it.sccp.show_connections(asked.now, &it.config));
    /// Takes a subsystem of this node out of service.
    Act "sccp/block" [SUBSYSTEM] -> Vec<StateRow>,
        |it, asked| it.set_subsystem(asked.now, asked.ask, false);
    /// Puts a subsystem of this node into service again.
    Act "sccp/unblock" [SUBSYSTEM] -> Vec<StateRow>,
        |it, asked| it.set_subsystem(asked.now, asked.ask, true);
    /// Asks a node whether its SCCP is there, and a subsystem of it (SST).
    Act "sccp/ping" [
        Parameter::text("point_code", "the node").required(),
        Parameter::number("subsystem", "a subsystem of it; left out: its management alone"),
    ] -> Vec<PingRow>, |_, _| Err(AskError::Unreachable); // `Gateway::question` takes it before
    /// The rules for global titles.
    Ask "gtt/rules" [] -> Vec<TranslationRow>, |it, _| Ok(show_rules(&it.config));
    /// Where a global title goes now, and by which rules; nothing is sent.
    Ask "gtt/translate" [
        Parameter::text("digits", "those of the title; a plus in front is left out").required(),
        Parameter::new("of", OF, "whose title it is; left out: called"),
        Parameter::number("subsystem", "the subsystem that is called"),
        Parameter::number("indicator", "global title indicator, 1 to 4; left out: 4"),
        Parameter::number("translation_type", "left out: 0"),
        Parameter::number("numbering_plan", "left out: 1, E.164"),
        Parameter::number("nature_of_address", "left out: 4, international"),
        Parameter::number("sls", "signalling link selection; left out: 0"),
    ] -> TranslatedRow, |it, asked| {
        it.sccp.translate(&it.config, &|dpc| it.no_way_in_words(dpc), asked.ask)
    };
    /// The sets of rules for what peers send, and what became of that.
    Ask "screening/sets" [] -> Vec<RuleSetRow>, |it, _| Ok(show_sets(it));
    /// Their rules, and how often each held.
    Ask "screening/hits" [
        Parameter::text("set", "only this one"),
        Parameter::text("all", "`yes`: those that never held as well"),
    ] -> Vec<RuleHitRow>, |it, asked| Ok(show_rules_of_sets(it, asked.ask));
    /// The dialogues of TCAP.
    Ask "tcap/dialogues" [] -> Vec<TcapRow>, |it, _| Ok(it.sccp.show_tcap());
    /// The applications, and what became of their dialogues.
    Ask "applications" [] -> Vec<ApplicationRow>, |it, _| Ok(it.show_applications());
    /// Their instances.
    Ask "applications/instances" [] -> Vec<InstanceRow>, |it, _| Ok(it.show_instances());
    /// The nodes of the cluster.
    Ask "cluster" [] -> Vec<ClusterRow>, |it, asked| Ok(it.sccp.show_cluster(asked.now));
    /// Which node serves each partition, and who stands by.
    Ask "cluster/partitions" [] -> Vec<PartitionRow>, |it, _| Ok(it.sccp.show_partitions());
    /// Which node hears which other one.
    Ask "cluster/links" [] -> Vec<LinkRow>, |it, _| Ok(it.sccp.show_cluster_links());
    /// Gives the partitions of this node to the others, so that it can be stopped.
    Act "cluster/drain" [] -> Vec<DrainRow>,
        |it, _| it.drain_cluster(true).ok_or_else(no_node);
    /// Takes part in the cluster again.
    Act "cluster/undrain" [] -> Vec<DrainRow>,
        |it, _| it.drain_cluster(false).ok_or_else(no_node);
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| Ok(it.show_alarms(asked.now));
}

/// What a gateway may be asked.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

impl Gateway {
    fn drain_cluster(&mut self, drains: bool) -> Option<Vec<DrainRow>> {
        let config = &self.config;
        let all = config.application.iter();
        let served = all.filter_map(|it| Some((it.name.clone(), config.subsystem_of(it)?)));
        let served = served.collect();
        self.sccp.drain_cluster(drains, served)
    }

    /// Answers a question.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask) -> Answer<Value> {
        self.gauges();
        let serve = question::find(QUESTIONS, &ask.path);
        // A shard of dialogues knows of these alone.
        let serve =
            serve.filter(|_| self.sccp.part().has_links() || OF_DIALOGUES.contains(&&*ask.path));
        let serve = serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?;
        serve(self, &Asked { now, ask })
    }

    /// Brings the gauges up to date.
    fn gauges(&self) {
        let metrics = &self.metrics;
        let links = || self.links.iter().map(|(_, link)| link);
        let up = links().filter(|link| link.state == State::Up).count();
        metrics.set(Metric::Associated, up as u64);
        metrics.set(Metric::Lacking, (links().count() - up) as u64);
        let level = links().map(|link| link.congestion).max().unwrap_or(0);
        metrics.set(Metric::Congestion, level.into());
        let (mut active, mut pending, mut down, mut waiting) = (0, 0, 0, 0);
        for server in self.process.servers() {
            waiting += self.process.waiting(server) as u64;
            match self.process.server_state(server) {
                Some(ServerState::Active) => active += 1,
                Some(ServerState::Pending) => pending += 1,
                _ => down += 1,
            }
        }
        metrics.set(Metric::ServersActive, active);
        metrics.set(Metric::ServersPending, pending);
        metrics.set(Metric::ServersDown, down);
        metrics.set(Metric::Waiting, waiting);
        let places: usize = self.sccp.rules.iter().map(Set::known).sum();
        metrics.set(Metric::RuledPlaces, places as u64);
        self.show_application_metrics();
        self.sccp.show_cluster_metrics(&self.tables);
        operations::show(self);
        let transactions = &self.sccp.transactions;
        transactions.metrics().set(tcap::Metric::Dialogues, transactions.len() as u64);
        self.links.show(&self.peer_table, |peer| {
            let Some(status) = self.process.peer_status(peer) else { return (0, false) };
            let active = status.servers.iter().filter(|it| self.process.is_active(peer, **it));
            (active.count() as u64, !status.is_blocked)
        });
    }

    /// The metrics that the links have counted.
    pub(crate) fn publish_counts(&self) {
        let counts = self.links.counts();
        let rows = [
            (Metric::Attempts, counts.attempts),
            (Metric::Refused, counts.refused),
            (Metric::ClaimRefused, counts.claims_refused),
            (Metric::Unsent, counts.unsent),
            (Metric::TransportShed, counts.shed),
            (Metric::Lost, counts.lost),
        ];
        rows.into_iter().for_each(|(metric, count)| self.metrics.set(metric, count));
        self.sccp.count_cluster(&self.tables);
        let ruled = self.sccp.rules.totals();
        let rows = [
            (Metric::RuledJudged, ruled.judged),
            (Metric::RuledHits, ruled.hits),
            (Metric::RuledRefused, ruled.refused),
            (Metric::RuledUnreadable, ruled.unreadable),
            (Metric::RuledSegments, ruled.segments),
        ];
        rows.into_iter().for_each(|(metric, count)| self.metrics.set(metric, count));
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

    fn show_asps(&self) -> Vec<AspRow> {
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
            Some(AspRow {
                name: link.config.name.clone(),
                role: role(link.config.role),
                transport: carriage(link.config.transport),
                address: address(link),
                association: association(link.state),
                since_us: link.since.as_micros(),
                why: if status.is_blocked { blocked_why(link) } else { link.why },
                state,
                asp_identifier: status.asp_identifier,
                blocked: status.is_blocked,
                congestion: link.congestion,
                active_for: active,
            })
        });
        rows.collect()
    }

    fn show_servers(&self) -> Vec<ServerRow> {
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
            Some(ServerRow {
                name: self.server_name(id),
                routing_context: status.settings.routing_context.map(|it| it.0),
                network: show_network(status.settings.key.network),
                point_codes: dpcs.map(|dpc| format.show(dpc)).collect(),
                served_by: side(status.settings.side),
                state: status.state.name(),
                mode: status.mode.map(|mode| mode.name().to_lowercase()),
                waiting: status.waiting,
                asps: asps.collect(),
                registered: status.is_dynamic,
            })
        });
        rows.collect()
    }

    /// Where MSUs go: for each destination of a key, for this node, and for everything else.
    fn show_routes(&self) -> Vec<Mtp3RouteRow> {
        let format = self.config.point_code_format;
        let network = show_network(self.config.network());
        let own = self.own.codes.iter().map(|dpc| Mtp3RouteRow {
            point_code: format.show(*dpc),
            network,
            service_indicators: Vec::new(),
            originating: Vec::new(),
            to: "this node".to_owned(),
            state: "available",
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
                Mtp3RouteRow {
                    point_code: format.show(destination.dpc),
                    network,
                    service_indicators: destination.service_indicators.clone(),
                    originating: originating.collect(),
                    to: name.clone(),
                    state,
                }
            })
        });
        let gateways = self.links.iter().filter(|(_, link)| link.config.role == PeerRole::Sgp);
        let others = gateways.map(|(id, link)| {
            let servers = self.process.peer_status(id).map(|status| status.servers);
            let mut servers = servers.unwrap_or_default().into_iter();
            let is_usable = servers.any(|server| self.process.is_active(id, server));
            Mtp3RouteRow {
                point_code: "all others".to_owned(),
                network,
                service_indicators: Vec::new(),
                originating: Vec::new(),
                to: format!("gateway {} ({})", link.config.gateway, link.config.name),
                state: if is_usable { "available" } else { "unavailable" },
            }
        });
        own.chain(keys).chain(others).take(ROWS_MAX).collect()
    }

    /// Routing Keys that were registered, by peers here or by this node at peers.
    fn show_keys(&self) -> Vec<KeyRow> {
        let format = self.config.point_code_format;
        let servers = self.process.servers();
        let servers = servers.filter_map(|id| Some((id, self.process.server_status(id)?)));
        let rows = servers.flat_map(|(id, status)| {
            let dpcs = status.settings.key.destinations.iter().map(|it| format.show(it.dpc));
            let dpcs: Vec<String> = dpcs.collect();
            let (name, by) = (self.server_name(id), side(status.settings.side));
            let network = show_network(status.settings.key.network);
            let members = status.members.into_iter().filter(|member| member.is_registered);
            members.map(move |member| KeyRow {
                peer: self.peer_name(member.peer).to_owned(),
                registered_by: by,
                routing_context: member.routing_context.map(|it| it.0),
                network,
                point_codes: dpcs.clone(),
                server: name.clone(),
            })
        });
        rows.take(ROWS_MAX).collect()
    }

    fn show_destinations(&self) -> Vec<DestinationRow> {
        let format = self.config.point_code_format;
        let all = self.process.destinations(ROWS_MAX);
        // One teller's stand in a row, the wider ranges first: whoever comes behind lies within.
        let has_others = |at: usize| {
            let it = &all[at];
            let behind = all[at + 1..].iter();
            let mut same =
                behind.take_while(|of| (of.network, of.gateway) == (it.network, it.gateway));
            it.affected.mask > 0 && same.any(|of| it.affected.contains(of.affected.point_code))
        };
        let rows = all.iter().enumerate().map(|(at, it)| {
            let availability = match it.availability {
                None | Some(Availability::Available) => "available",
                Some(Availability::Restricted) => "restricted",
                Some(Availability::Unavailable) => "unavailable",
            };
            DestinationRow {
                point_code: match (format.show_range(it.affected), has_others(at)) {
                    (all, true) if all == "all" => "all others".to_owned(),
                    (range, true) => format!("others of {range}"),
                    (range, false) => range,
                },
                network: show_network(it.network),
                told_by: teller(it.gateway),
                state: availability,
                congestion: it.congestion,
            }
        });
        rows.collect()
    }

    /// Rows of SCTP with the name of the peer whose association it is.
    fn of_peers<T>(&self, rows: Vec<T>, of: fn(&T) -> &String) -> Vec<OfPeer<T>> {
        let named = |link: &Link| match link.way {
            Some(Way::Association(id)) => Some((id.to_string(), link.config.name.clone())),
            _ => None,
        };
        let names: BTreeMap<String, String> =
            self.links.iter().filter_map(|(_, link)| named(link)).collect();
        let row = |row: T| OfPeer { name: names.get(of(&row)).cloned(), row };
        rows.into_iter().map(row).collect()
    }

    fn named_peer(&self, ask: &Ask) -> Result<PeerId, AskError> {
        let name = ask.params.get("peer");
        let name = name.ok_or_else(|| AskError::BadParameter("peer names a peer".into()))?;
        self.links.find(name).ok_or_else(|| AskError::NotFound(format!("peer {name}")))
    }

    /// Asks a gateway for the status of a destination (DAUD); the answer changes what
    /// `m3ua/destinations` shows.
    fn audit(&mut self, now: Time, ask: &Ask) -> Answer<Vec<AuditRow>> {
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
        Ok(vec![AuditRow {
            peer: self.peer_name(peer).to_owned(),
            asked: format.show_range(affected),
        }])
    }

    /// N-STATE request: a subsystem of this node is in service, or out of service.
    fn set_subsystem(&mut self, now: Time, ask: &Ask, is: bool) -> Answer<Vec<StateRow>> {
        let given = ask.params.get("subsystem").map(String::as_str).unwrap_or_default();
        let config = Arc::clone(&self.config);
        let (name, number) = named_subsystem(&config, given)?;
        let changed = self.sccp.is_in_service(number) != is;
        let mut wants = Vec::new();
        self.sccp.set_state(now, number, is, &mut wants);
        let format = config.point_code_format;
        let concerned = config.sccp_settings().concerned;
        let is_told = |it: &PointCode| wants.iter().any(|msu| msu.dpc == *it);
        let (told, not_told): (Vec<PointCode>, _) = concerned.into_iter().partition(is_told);
        let show = |all: Vec<PointCode>| all.into_iter().map(|it| format.show(it)).collect();
        let not_told = if changed { not_told } else { Vec::new() };
        let (told, not_told) = (show(told), show(not_told));
        self.send_all(now, wants);
        Ok(vec![StateRow { subsystem: name.to_owned(), state: state(is), changed, told, not_told }])
    }

    fn block(&mut self, now: Time, ask: &Ask, is_blocked: bool) -> Answer<Vec<BlockRow>> {
        let peer = self.named_peer(ask)?;
        self.enable(now, peer, !is_blocked);
        Ok(vec![BlockRow { peer: self.peer_name(peer).to_owned(), blocked: is_blocked }])
    }

    /// M-ASP_ACTIVE and M-ASP_INACTIVE requests, which only an ASP or an IPSP that asks has (RFC
    /// 4666 §1.6.3).
    fn activate(&mut self, now: Time, ask: &Ask, is_active: bool) -> Answer<Vec<ActivateRow>> {
        let peer = self.named_peer(ask)?;
        let role = self.links.link(peer).map(|link| link.config.role());
        if matches!(role, Some(Role::Sgp | Role::IpspServer)) {
            let name = self.peer_name(peer);
            let what = format!(
                "{name} asks for traffic by itself: this node is not an ASP towards it; \
                 `m3ua block` and `m3ua unblock` keep it out and let it in"
            );
            return Err(AskError::BadParameter(what));
        }
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
        Ok(vec![ActivateRow {
            peer: self.peer_name(peer).to_owned(),
            server: name.clone(),
            wants_active: is_active,
        }])
    }
}

/// A subsystem by its name, or by its number.
fn named_subsystem<'c>(config: &'c Sgc, given: &str) -> Answer<(&'c str, u8)> {
    let all = || config.subsystem.iter();
    let by_number = given.parse::<u8>().ok();
    let found = all().find(|it| it.name == given);
    let found = found.or_else(|| all().find(|it| Some(it.number) == by_number));
    found.map(|it| (&*it.name, it.number)).ok_or_else(|| {
        let known = all().map(|it| &*it.name);
        let hint = config::meant(given, known, "this function has no subsystem");
        AskError::NotFound(format!("subsystem {given}; {hint}"))
    })
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
