//! Signalling gateway: an M3UA node (RFC 4666) between ASPs, SGPs and IPSPs, over SCTP and TCP.
//!
//! ```text
//!            ┌──────────────────────── Gateway ────────────────────────┐
//!  SCTP, TCP │ links ──→ m3ua::Process ──→ relay ──→ user              │ SCTP, TCP
//!  ───────── │   ↑ associations   │          │ Application Server      │ ─────────
//!   a peer   │   └────────────────┴──────────┘ network: DUNA, DAVA …   │  a peer
//!            └─────────────────────────────────────────────────────────┘
//! ```
//! This page routes: what comes in goes to the links, which tell the M3UA process; what that wants
//! is sent, relayed to another peer, or given to a user of this node.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod alarms;
mod application_listeners;
mod applications;
mod apply;
mod ask;
mod clustered;
pub mod config;
mod filling;
mod metrics;
mod network;
mod operations;
mod ping;
mod relay;
mod rule_rows;
mod sccp_node;
mod screening;
mod services;
mod shards;
mod trace;
mod trails;
mod translations;
mod user;

pub use application_listeners::ApplicationTable;
pub use ask::questions;
pub use cluster::Nodes;
pub use clustered::{ClusterMetric, PartitionMetric, PartitionTable};
pub use metrics::{ApplicationMetric, Metric};
pub use operations::{FailureMetric, FailureTable, OperationMetric, OperationTable, empty_tables};

use config::{CAPTURE_PORT, Sgc};
use event::Metrics;
use m3ua::codec::ServerState;
use m3ua::{Availability, In as Input, Indication, Out, Process, ServerId};
use m3ua_stack::Links;
use machine::{Duration, Machine, Time};
use runtime::{
    Answered, Ask, AskError, Effects, Flow, Frame, Function, Grouped, In, Make, PortId, Running,
    RuntimeError, Seed, ShardSpec, Ticket,
};
use sccp_node::SccpNode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use user::Users;

/// The gateway, as its shard runs it.
pub struct Gateway {
    config: Arc<Sgc>,
    process: Process,
    links: Links,
    /// What may come from each peer, and what came in spite of it.
    screening: screening::Screening,
    /// Configured Application Servers by name.
    servers: BTreeMap<String, ServerId>,
    /// Application Servers of this node, and whether their traffic could be served when that was
    /// looked at last.
    followed: BTreeMap<ServerId, bool>,
    /// Application Servers that have been AS-ACTIVE: the others are starting.
    served: BTreeSet<ServerId>,
    /// Point codes of this node.
    own: screening::OwnPoints,
    users: Users,
    sccp: SccpNode,
    /// Where instances of applications connect.
    listeners: application_listeners::ApplicationListeners,
    tables: operations::Tables,
    told: relay::Told,
    metrics: Metrics<Metric>,
    peer_table: m3ua_stack::PeerTable,
    /// How long the messages of this turn have waited.
    delay: Duration,
    is_draining: bool,
    /// What the process wants.
    outs: Vec<Out>,
    /// What leaves for the service assurance.
    trails: trails::Trails,
}

impl Gateway {
    /// A gateway whose peers have yet to come.
    ///
    /// # Panics
    /// When the configuration was not checked ([`Sgc::validate`]).
    #[must_use]
    pub fn new(seed: Seed, config: Arc<Sgc>) -> Self {
        Self::made(seed, config, true)
    }

    /// The same in a simulated world, where the machine's own routes mean nothing.
    ///
    /// # Panics
    /// As [`Gateway::new`].
    #[must_use]
    pub fn simulated(seed: Seed, config: Arc<Sgc>) -> Self {
        Self::made(seed, config, false)
    }

    /// The same as a node of that cluster, of which its section says that it is one.
    #[must_use]
    pub fn of(mut self, nodes: Arc<dyn Nodes>) -> Self {
        if let Some(of) = &mut self.sccp.clustered {
            of.join(nodes);
        }
        self
    }

    /// The same as a node of the cluster of this process.
    #[must_use]
    pub fn of_groups(self, groups: Arc<replica::Groups>) -> Self {
        self.of(Arc::new(cluster::Joined::new(groups)))
    }

    fn made(seed: Seed, config: Arc<Sgc>, is_real: bool) -> Self {
        let config = shards::concerning(seed.shard, config);
        let process = Process::new(config.settings()).expect("the configuration was checked");
        let mut it = Self {
            process,
            links: match is_real {
                true => Links::new(&config.links(), seed),
                false => Links::simulated(&config.links(), seed),
            },
            screening: screening::Screening::default(),
            servers: BTreeMap::new(),
            followed: BTreeMap::new(),
            served: BTreeSet::new(),
            own: screening::OwnPoints::new(&config),
            users: Users::new(&config),
            sccp: SccpNode::new(seed, &config),
            listeners: application_listeners::ApplicationListeners::new(seed.now, is_real),
            tables: operations::Tables::new(),
            told: relay::Told::default(),
            metrics: Metrics::new(),
            peer_table: m3ua_stack::peer_table(),
            delay: Duration::ZERO,
            is_draining: false,
            outs: Vec::new(),
            trails: trails::Trails::new(&config),
            config: Arc::clone(&config),
        };
        it.announce_own(seed.now, config.network(), m3ua::codec::Affected::ALL);
        it.sccp.configure(seed.now, None, &config);
        // Nobody is connected yet: those concerned hear of subsystems when there is a way to them.
        it.sccp.tick(seed.now, &mut Vec::new());
        it.join(seed.now, &config);
        it
    }

    /// Carries out everything that follows from what has happened, in order.
    fn run(&mut self, now: Time, out: &mut Effects) {
        self.carry_out(now, out);
        while let Some(input) = self.links.next(now) {
            self.trails.input(now, &input, &self.links);
            self.process.step(now, input, &mut self.outs);
            self.carry_out(now, out);
        }
        if self.is_draining {
            self.leave(now, out);
        }
        self.settle_cluster(now, out);
        self.flush_listeners(now, out);
        shards::hand_over(self, out);
        ping::pings_heard(self, now, out);
        self.links.flush(out);
        self.publish_counts();
        self.trails.capture.flush(now, out);
    }

    /// Carries out what the M3UA process wants.
    fn carry_out(&mut self, now: Time, out: &mut Effects) {
        while !self.outs.is_empty() {
            let mut outs = core::mem::take(&mut self.outs);
            for wanted in outs.drain(..) {
                match wanted {
                    Out::Send(peer, stream, bytes) => {
                        self.trails.message(now, peer, &bytes, true, &self.links);
                        self.links.send(now, peer, stream, bytes, out);
                    }
                    Out::Abort(peer) => self.links.abort(now, peer, out),
                    Out::Indicate(indication) => self.route(now, indication),
                }
            }
            if self.outs.is_empty() {
                self.outs = outs; // keeps the allocation
            }
        }
    }

    /// The router: whom an indication concerns.
    fn route(&mut self, now: Time, indication: Indication) {
        if let Some(of) = &mut self.sccp.clustered {
            use Indication::{Pause, Restrict, Resume, Server};
            let is_of_ways = matches!(indication, Pause(..) | Restrict(..) | Resume(..));
            of.told.own_ways_changed |= is_of_ways || matches!(indication, Server(..));
        }
        match indication {
            Indication::Transfer(peer, _, _, transfer) => self.relay(now, peer, transfer),
            Indication::Pause(network, affected) => {
                self.reaches(now, network, affected, Availability::Unavailable);
            }
            Indication::Restrict(network, affected) => {
                self.reaches(now, network, affected, Availability::Restricted);
            }
            Indication::Resume(network, affected) => {
                self.reaches(now, network, affected, Availability::Available);
            }
            Indication::Status(network, affected, cause, _) => {
                self.status(now, network, affected, cause);
            }
            Indication::Said(peer, what) => {
                if self.screening.lets_say(peer, &what, self.context()) {
                    self.route(now, *what);
                }
            }
            Indication::AspActive(peer, server, is_active) => {
                let function = &*self.config.name;
                let (peer, server) = (self.peer_name(peer), self.server_name(server));
                tracing::info!(target: "m3ua", function, peer, server, is_active, "ASP status");
            }
            Indication::Server(server, ServerState::Active) => drop(self.served.insert(server)),
            // Seen by `tandem ctl m3ua`, counted by the process.
            Indication::Server(..)
            | Indication::Unroutable(..)
            | Indication::AspUp(..)
            | Indication::Notified(..)
            | Indication::Error(..)
            | Indication::Offended(..)
            | Indication::Unanswered(..)
            | Indication::Registered(..)
            | Indication::Deregistered(..) => {}
        }
    }

    /// Leaves the peers: as an ASP first, then the associations, once nothing waits for an ASP.
    fn leave(&mut self, now: Time, out: &mut Effects) {
        let waits = self.process.servers().any(|server| self.process.waiting(server) > 0);
        let is_up = |peer| self.process.peer_status(peer).is_some_and(|it| it.is_up_there);
        if !waits && !self.links.iter().any(|(peer, _)| is_up(peer)) {
            self.links.close_all(now, out);
        }
    }
}

impl Function for Gateway {
    type Config = Sgc;

    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        if self.trails.capture.takes(now, &input) {
            return;
        }
        if self.at_listener(now, &input, out) {
            return self.run(now, out);
        }
        match input {
            In::Work { from, work } => shards::worked(self, now, from, work),
            In::HandedBack { to, work } => shards::handed_back(self, now, to, work),
            In::Drain => {
                self.is_draining = true;
                if let Some(of) = &mut self.sccp.clustered {
                    of.leave(true);
                }
                for peer in self.links.iter().map(|(peer, _)| peer).collect::<Vec<_>>() {
                    self.process.step(now, Input::AspDown(peer), &mut self.outs);
                }
            }
            happened => self.links.step(now, &happened, out),
        }
        self.run(now, out);
    }

    fn waited(&mut self, _now: Time, delay: Duration) {
        self.delay = delay;
        let most = Duration::from_millis(self.config.tcap.begin_delay_max_ms.into());
        self.sccp.services.sheds_begins = !most.is_zero() && delay > most;
        let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.metrics.observe(Metric::QueueDelay, micros);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.links.tick(now, out);
        self.process.tick(now, &mut self.outs);
        if self.sccp.deadline().is_some_and(|at| at <= now) {
            let mut wants = Vec::new();
            if !self.sccp.tick(now, &mut wants) {
                self.metrics.add(Metric::Circular, 1);
            }
            self.send_all(now, wants);
        }
        self.run(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        let captured = self.trails.capture.deadline();
        let own = self.process.deadline().into_iter().chain(self.sccp.deadline());
        let own = own.chain(self.sccp.pings.deadline());
        let own = own.chain(self.listeners.deadline());
        self.links.deadline().into_iter().chain(own).chain(captured).min()
    }

    fn configure(&mut self, now: Time, config: Arc<Sgc>, out: &mut Effects) {
        let config = shards::concerning(self.sccp.shard(), config);
        self.trails.capture.configure(config.capture_settings());
        self.apply(now, config, out);
        // Who is turned away is told before the place goes.
        self.flush_listeners(now, out);
        self.open_listeners(now, out);
        self.run(now, out);
    }

    fn frame(port: PortId, buffer: &[u8]) -> Frame {
        if port == CAPTURE_PORT {
            return Frame::Skip(buffer.len()); // a collector has nothing to say
        }
        match config::application::is_listener(port) {
            true => tcu_stack::frame(buffer),
            false => m3ua_stack::frame(buffer),
        }
    }

    fn ends_frame(port: PortId, buffer: &[u8], seen: usize) -> bool {
        !config::application::is_listener(port) || tcu_stack::ends_frame(buffer, seen)
    }

    fn steer(config: &Sgc, flow: &Flow, _bytes: &[u8], shards: u16) -> Option<u16> {
        match flow.port {
            // Of several shards, each has its own way to the collector.
            CAPTURE_PORT if shards > 1 => None,
            port if shards > 1 && config::application::is_listener(port) => {
                Some(config.serving().shard_of_port(port))
            }
            _ => Some(0),
        }
    }

    fn ask(
        &mut self,
        now: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        let answer = self.answer(now, ask);
        self.run(now, out);
        answer
    }

    fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        if ask.path != ping::PING || !self.sccp.part().has_links() {
            return Some(self.ask(now, ask, out));
        }
        let answer = ping::ping(self, now, ask, ticket);
        self.run(now, out);
        answer
    }

    fn grouped(&mut self, now: Time, input: Grouped<'_>, out: &mut Effects) {
        self.of_group(now, input, out);
    }

    fn is_idle(&self) -> bool {
        let is_empty = |it: &cluster::Clustered| it.is_empty();
        self.links.is_closed() && self.sccp.clustered.as_deref().is_none_or(is_empty)
    }

    fn waits_for(&self) -> &'static str {
        if self.links.is_closed() {
            "other nodes to take its partitions"
        } else {
            "peers to end their associations"
        }
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        let endpoint = self.links.sctp().map(sctp_stack::SctpEndpoint::cells);
        let (sccp, tcap) = (self.sccp.node.metrics(), self.sccp.transactions.metrics());
        let own = [self.metrics.cells(), self.peer_table.cells(), self.process.metrics().cells()];
        let own = own.into_iter().chain([sccp.cells(), tcap.cells()]);
        let clustered = self.sccp.clustered.as_deref();
        let clustered = clustered.map(|it| [it.link_cells(), Some(self.tables.cluster.cells())]);
        let clustered = clustered.into_iter().flatten().flatten();
        own.chain(self.tables.cells()).chain(clustered).chain(endpoint).collect()
    }
}

/// Starts it. The loop of a shard is compiled here, with this crate's optimisation, not where a
/// site is put together.
///
/// # Errors
/// As [`runtime::start`].
pub fn start(
    spec: ShardSpec,
    config: Arc<Sgc>,
    make: Make<Gateway>,
) -> Result<Running<Gateway>, RuntimeError> {
    runtime::start(spec, config, move |seed, config| make(seed, config))
}
