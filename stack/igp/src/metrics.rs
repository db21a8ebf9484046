//! What is counted, and shown as metrics.

use crate::router::Router;
use event::{MetricCells, Metrics, Table};
use machine::Time;
use ospf::{Discard, NeighbourState};

event::metrics! {
    /// The metrics of OSPF in a function.
    pub enum Metric {
        /// Neighbours that are heard.
        Neighbours = Gauge, "igp_neighbours";
        /// Neighbours whose databases are the same as this one's.
        Adjacencies = Gauge, "igp_adjacencies";
        /// Adjacencies that were lost.
        Lost = Counter, "igp_adjacencies_lost_total";
        /// LSAs of all databases.
        Lsas = Gauge, "igp_lsas";
        /// LSAs that were taken into a database.
        Installed = Counter, "igp_lsas_installed_total";
        /// LSAs that this router said.
        Originated = Counter, "igp_lsas_originated_total";
        /// LSAs that others said in this router's name, and that were taken back.
        FoughtBack = Counter, "igp_lsas_fought_back_total";
        /// Routes that lead to other routers.
        Routes = Gauge, "igp_routes";
        /// Runs of SPF.
        Runs = Counter, "igp_spf_runs_total";
        /// Packets of OSPF and BFD that the forwarder handed up.
        Received = Counter, "igp_packets_received_total";
        /// Packets of OSPF that were sent.
        Sent = Counter, "igp_packets_sent_total";
        /// Packets of OSPF and BFD that found no way to the forwarder.
        Shed = Counter, "igp_packets_shed_total";
        /// Packets that were none of IPv4, or cut.
        Unread = Counter, "igp_packets_unread_total";
        /// Neighbours that are watched by BFD.
        BfdSessions = Gauge, "igp_bfd_sessions";
        /// Those whose session is up.
        BfdUp = Gauge, "igp_bfd_sessions_up";
        /// Times that a session of BFD went down and ended an adjacency.
        BfdDowns = Counter, "igp_bfd_downs_total";
        /// 1 while neighbours are asked to bear a restart.
        Restarting = Gauge, "igp_restarting";
    }
}

event::metrics! {
    /// The metrics of one interface; its label is `interface`.
    pub enum InterfaceMetric {
        /// Neighbours that are heard by an interface.
        Neighbours = Gauge, "igp_interface_neighbours";
        /// Neighbours by an interface whose databases are the same as this one's.
        Adjacencies = Gauge, "igp_interface_adjacencies";
        /// What it costs to send by an interface.
        Cost = Gauge, "igp_interface_cost";
    }
}

event::metrics! {
    /// What was not believed, by its reason; its label is `reason`.
    pub enum DiscardMetric {
        /// Packets and LSAs of OSPF that were discarded.
        Discarded = Counter, "igp_discarded_total";
    }
}

/// What is shown of a router, which may come and go.
pub struct Shown {
    all: Metrics<Metric>,
    interfaces: Table<InterfaceMetric, 1>,
    discards: Table<DiscardMetric, 1>,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            all: Metrics::new(),
            interfaces: Table::new(&["interface"]),
            discards: Table::new(&["reason"]),
        }
    }
}

/// What is so now, and nothing without a router.
const GAUGES: [Metric; 7] = [
    Metric::Neighbours,
    Metric::Adjacencies,
    Metric::Lsas,
    Metric::Routes,
    Metric::BfdSessions,
    Metric::BfdUp,
    Metric::Restarting,
];

/// Tables without rows, for the page of all metrics.
#[must_use]
pub fn empty_tables() -> Vec<MetricCells> {
    Shown::default().cells()
}

impl Shown {
    /// Shows what a router counts; none is there: nothing of it.
    pub fn show(&self, router: Option<&Router>, now: Time) {
        match router {
            Some(router) => self.show_router(router, now),
            None => {
                self.interfaces.show(core::iter::empty::<([&str; 1], [_; 0])>());
                GAUGES.into_iter().for_each(|metric| self.all.set(metric, 0));
            }
        }
    }

    fn show_router(&self, it: &Router, now: Time) {
        let counts = it.instance.counts();
        let (watched, up) = it.watch.counts();
        let (mut neighbours, mut adjacencies) = (0, 0);
        let mut rows = Vec::new();
        for index in it.instance.interfaces() {
            let states = it.instance.neighbourhood(index, now).map(|it| it.state);
            let heard: Vec<NeighbourState> = states.collect();
            let full = heard.iter().filter(|state| **state == NeighbourState::Full).count();
            neighbours += heard.len() as u64;
            adjacencies += full as u64;
            let cost = it.instance.settings_of(index).map_or(0, |it| it.cost.into());
            let metrics = [
                (InterfaceMetric::Neighbours, heard.len() as u64),
                (InterfaceMetric::Adjacencies, full as u64),
                (InterfaceMetric::Cost, cost),
            ];
            rows.push(([it.name_of(index).to_owned()], metrics));
        }
        self.interfaces.show(rows);
        let discards = Discard::ALL.iter().map(|why| (why.name(), it.instance.discarded(*why)));
        let discards = discards.filter(|(_, count)| *count > 0);
        self.discards
            .show(discards.map(|(why, count)| ([why], [(DiscardMetric::Discarded, count)])));
        let values = [
            (Metric::Neighbours, neighbours),
            (Metric::Adjacencies, adjacencies),
            (Metric::Lost, it.tally.lost),
            (Metric::Lsas, it.instance.lsas() as u64),
            (Metric::Installed, counts.installed),
            (Metric::Originated, counts.originated),
            (Metric::FoughtBack, counts.fought_back),
            (Metric::Routes, it.instance.routes().len() as u64),
            (Metric::Runs, counts.runs),
            (Metric::Received, it.tally.received),
            (Metric::Sent, it.tally.sent),
            (Metric::Shed, it.door.tally().shed),
            (Metric::Unread, it.tally.unread),
            (Metric::BfdSessions, watched as u64),
            (Metric::BfdUp, up as u64),
            (Metric::BfdDowns, it.watch.downs),
            (Metric::Restarting, it.is_restarting().into()),
        ];
        values.into_iter().for_each(|(metric, value)| self.all.set(metric, value));
    }

    /// All of them.
    #[must_use]
    pub fn cells(&self) -> Vec<MetricCells> {
        vec![self.all.cells(), self.interfaces.cells(), self.discards.cells()]
    }
}
