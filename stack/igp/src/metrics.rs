//! What is counted, and shown as metrics.

use crate::around::Protocol;
use crate::by_isis::IsisRouter;
use crate::by_ospf::OspfRouter;
use crate::router::Router;
use event::{MetricCells, Metrics, Table};
use machine::Time;
use ospf::NeighbourState;

event::metrics! {
    /// The metrics of routing within a domain, OSPF and IS-IS together, in a function.
    pub enum Metric {
        /// Neighbours that are heard.
        Neighbours = Gauge, "igp_neighbours";
        /// Neighbours whose databases are the same as this one's.
        Adjacencies = Gauge, "igp_adjacencies";
        /// Adjacencies that were lost.
        Lost = Counter, "igp_adjacencies_lost_total";
        /// LSAs and LSPs of all databases.
        Lsas = Gauge, "igp_lsas";
        /// LSAs and LSPs that were taken into a database.
        Installed = Counter, "igp_lsas_installed_total";
        /// LSAs and LSPs that this router said.
        Originated = Counter, "igp_lsas_originated_total";
        /// LSAs and LSPs that others said in this router's name, and that were taken back.
        FoughtBack = Counter, "igp_lsas_fought_back_total";
        /// Routes that lead to other routers.
        Routes = Gauge, "igp_routes";
        /// Runs of SPF.
        Runs = Counter, "igp_spf_runs_total";
        /// Packets of OSPF and IS-IS that the forwarder handed up.
        Received = Counter, "igp_packets_received_total";
        /// Packets of OSPF and IS-IS that were sent.
        Sent = Counter, "igp_packets_sent_total";
        /// Packets of OSPF and IS-IS that found no way to the forwarder.
        Shed = Counter, "igp_packets_shed_total";
        /// Packets that were none of IPv4 and no frames of IS-IS, or cut.
        Unread = Counter, "igp_packets_unread_total";
        /// Neighbours that are watched by BFD.
        BfdSessions = Gauge, "igp_bfd_sessions";
        /// Those whose session is up.
        BfdUp = Gauge, "igp_bfd_sessions_up";
        /// Times that a session of BFD went down and ended an adjacency.
        BfdDowns = Counter, "igp_bfd_downs_total";
        /// Packets of BFD that came and were believed.
        BfdReceived = Counter, "igp_bfd_packets_received_total";
        /// Packets of BFD that left.
        BfdSent = Counter, "igp_bfd_packets_sent_total";
        /// Routes that have a repair.
        Repaired = Gauge, "igp_routes_repaired";
        /// Routes whose repair is in use.
        RepairsInUse = Gauge, "igp_repairs_in_use";
        /// Routes that a repair took over since their neighbour was lost.
        Repairs = Counter, "igp_repairs_total";
        /// 1 while neighbours are asked to bear a restart.
        Restarting = Gauge, "igp_restarting";
    }
}

event::metrics! {
    /// The metrics of one interface in one protocol; its labels are `interface` and `protocol`.
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
    /// What was not believed; its labels are `reason` and `protocol`.
    pub enum DiscardMetric {
        /// Packets, LSAs and LSPs that were discarded.
        Discarded = Counter, "igp_discarded_total";
    }
}

/// What is shown of a router, which may come and go.
pub struct Shown {
    all: Metrics<Metric>,
    interfaces: Table<InterfaceMetric, 2>,
    discards: Table<DiscardMetric, 2>,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            all: Metrics::new(),
            interfaces: Table::new(&["interface", "protocol"]),
            discards: Table::new(&["reason", "protocol"]),
        }
    }
}

/// What is so now, and nothing without a router.
const GAUGES: [Metric; 9] = [
    Metric::Neighbours,
    Metric::Adjacencies,
    Metric::Lsas,
    Metric::Routes,
    Metric::BfdSessions,
    Metric::BfdUp,
    Metric::Repaired,
    Metric::RepairsInUse,
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
                self.interfaces.show(core::iter::empty::<([&str; 2], [_; 0])>());
                GAUGES.into_iter().for_each(|metric| self.all.set(metric, 0));
            }
        }
    }

    fn show_router(&self, it: &Router, now: Time) {
        let ospf = it.ospf.as_ref().map(|it| of_ospf(it, now));
        let isis = it.isis.as_ref().map(|it| of_isis(it, now));
        let all: Vec<Said> = ospf.into_iter().chain(isis).collect();
        let (watched, up) = it.watch.all();
        let interfaces = all.iter().flat_map(|it| &it.interfaces);
        self.interfaces.show(interfaces.map(|(name, of, [heard, adjacent, cost])| {
            let metrics = [
                (InterfaceMetric::Neighbours, *heard),
                (InterfaceMetric::Adjacencies, *adjacent),
                (InterfaceMetric::Cost, *cost),
            ];
            ([name.as_str(), of.name()], metrics)
        }));
        let discards = all.iter().flat_map(|it| &it.discards).filter(|it| it.2 > 0);
        self.discards.show(
            discards
                .map(|(why, of, count)| ([*why, of.name()], [(DiscardMetric::Discarded, *count)])),
        );
        for (nth, (metric, _)) in all.first().map_or(&[][..], |it| &it.values).iter().enumerate() {
            let sum = all.iter().map(|it| it.values[nth].1).sum();
            self.all.set(*metric, sum);
        }
        let values = [
            (Metric::Received, it.arrived.received),
            (Metric::Shed, it.channel().1),
            (Metric::Unread, it.arrived.unread),
            (Metric::BfdSessions, watched as u64),
            (Metric::BfdUp, up as u64),
            (Metric::BfdDowns, it.watch.tally.downs),
            (Metric::BfdReceived, it.watch.tally.received),
            (Metric::BfdSent, it.watch.tally.sent),
            (Metric::Repaired, it.repairs.len() as u64),
            (Metric::RepairsInUse, it.repairs.in_use().values().sum::<usize>() as u64),
            (Metric::Repairs, it.repairs.taken_over),
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

/// Figures that both protocols have.
const FIGURES: usize = 10;

/// What a protocol counts.
struct Said {
    /// In the same order of every protocol.
    values: [(Metric, u64); FIGURES],
    /// By interface: neighbours, adjacencies, cost.
    interfaces: Vec<(String, Protocol, [u64; 3])>,
    discards: Vec<(&'static str, Protocol, u64)>,
}

/// Neighbours and adjacencies of all interfaces.
fn sums(interfaces: &[(String, Protocol, [u64; 3])]) -> [u64; 2] {
    [0, 1].map(|at| interfaces.iter().map(|it| it.2[at]).sum())
}

fn of_ospf(it: &OspfRouter, now: Time) -> Said {
    let of = Protocol::Ospf;
    let counts = it.instance.counts();
    let interfaces = it.instance.interfaces().map(|index| {
        let states = it.instance.neighbourhood(index, now).map(|it| it.state);
        let heard: Vec<NeighbourState> = states.collect();
        let full = heard.iter().filter(|state| **state == NeighbourState::Full).count();
        let cost = it.instance.settings_of(index).map_or(0, |it| it.cost.into());
        (it.name_of(index).to_owned(), of, [heard.len() as u64, full as u64, cost])
    });
    let interfaces: Vec<_> = interfaces.collect();
    let [neighbours, adjacencies] = sums(&interfaces);
    let discards = ospf::Discard::ALL.iter();
    Said {
        values: [
            (Metric::Neighbours, neighbours),
            (Metric::Adjacencies, adjacencies),
            (Metric::Lost, it.history.tally.lost),
            (Metric::Lsas, it.instance.lsas() as u64),
            (Metric::Installed, counts.installed),
            (Metric::Originated, counts.originated),
            (Metric::FoughtBack, counts.fought_back),
            (Metric::Routes, it.instance.routes().len() as u64),
            (Metric::Runs, counts.runs),
            (Metric::Sent, it.history.tally.sent),
        ],
        interfaces,
        discards: discards.map(|why| (why.name(), of, it.instance.discarded(*why))).collect(),
    }
}

fn of_isis(it: &IsisRouter, now: Time) -> Said {
    let of = Protocol::Isis;
    let counts = it.instance.counts();
    let interfaces = it.instance.circuits().map(|circuit| {
        let (heard, up) = it.heard(circuit, now);
        let cost = it.instance.settings_of(circuit).map_or(0, |it| it.metric.into());
        (it.name_of(circuit).to_owned(), of, [heard as u64, up as u64, cost])
    });
    let interfaces: Vec<_> = interfaces.collect();
    let [neighbours, adjacencies] = sums(&interfaces);
    let discards = isis::Discard::ALL.iter();
    Said {
        values: [
            (Metric::Neighbours, neighbours),
            (Metric::Adjacencies, adjacencies),
            (Metric::Lost, it.history.tally.lost),
            (Metric::Lsas, it.lsps() as u64),
            (Metric::Installed, counts.installed),
            (Metric::Originated, counts.originated),
            (Metric::FoughtBack, counts.fought_back),
            (Metric::Routes, it.routes().count() as u64),
            (Metric::Runs, counts.runs),
            (Metric::Sent, it.history.tally.sent),
        ],
        interfaces,
        discards: discards.map(|why| (why.name(), of, it.instance.discarded(*why))).collect(),
    }
}
