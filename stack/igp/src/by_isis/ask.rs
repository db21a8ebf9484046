//! What IS-IS says of itself to the management side.

use super::IsisRouter;
use super::doubt::is_of;
use crate::around::Protocol;
use crate::rows::{
    IgpInterfaceRow, IgpLsaRow, IgpNeighbourRow, IgpRouteRow, IgpRow, IgpSpfRow, IgpWayRow,
    LINKS_MAX, REFUSED, wrong,
};
use crate::watch::Watch;
use isis::pdu::Summary;
use isis::{AdjacencyState, CircuitSettings, Level, Levels, LinkType, Prefix, Route, RouteKind};
use machine::{Duration, Time};
use runtime::{Ask, AskError};

const PROTOCOL: &str = Protocol::Isis.name();

const fn state(it: AdjacencyState) -> &'static str {
    match it {
        AdjacencyState::Down => "Down",
        AdjacencyState::Initializing => "Initializing",
        AdjacencyState::Up => "Up",
    }
}

const fn kind(it: RouteKind) -> (&'static str, Option<&'static str>) {
    match it {
        RouteKind::Level1 => ("level-1", Some("level-1")),
        RouteKind::Level2 => ("level-2", Some("level-2")),
        RouteKind::Leaked => ("leaked", Some("level-1")),
        RouteKind::Attached => ("attached", Some("level-1")),
    }
}

impl IsisRouter {
    fn levels(&self) -> impl Iterator<Item = Level> {
        self.section.level.levels().each()
    }

    /// LSPs of all levels.
    pub(crate) fn lsps(&self) -> usize {
        self.levels().map(|level| self.instance.lsps(level)).sum()
    }

    /// Neighbours that are heard by a circuit, and those that are adjacent: systems, whatever
    /// levels they share.
    pub(crate) fn heard(&self, circuit: u32, now: Time) -> (usize, usize) {
        let mut all: Vec<_> = self.instance.neighbourhood(circuit, now).collect();
        all.sort_by_key(|it| (it.system, it.state != AdjacencyState::Up));
        all.dedup_by_key(|it| it.system);
        (all.len(), all.iter().filter(|it| it.state == AdjacencyState::Up).count())
    }

    pub(crate) fn summary(&self, now: Time, watch: &Watch, door_open: bool) -> IgpRow {
        let (bfd_sessions, bfd_up) = watch.counts(Protocol::Isis);
        let heard = self.instance.circuits().map(|it| self.heard(it, now));
        let (neighbours, adjacencies) = heard.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        IgpRow {
            protocol: PROTOCOL,
            state: if self.instance.is_restarting() { "restarting" } else { "running" },
            router_id: self.instance.settings().system.to_string(),
            areas: self.levels().count(),
            interfaces: self.instance.circuits().count(),
            neighbours,
            adjacencies,
            lsas: self.lsps(),
            routes: self.routes().count(),
            bfd_up,
            bfd_sessions,
            door_open,
        }
    }

    pub(crate) fn neighbours(&self, now: Time, watch: &Watch) -> Vec<IgpNeighbourRow> {
        let all = self.instance.circuits().flat_map(|circuit| {
            let link = self.links.get(&circuit);
            let rows = self.instance.neighbourhood(circuit, now).map(move |it| {
                let near = link.and_then(|link| super::near(link, &it.addresses));
                let is_designated = it.levels.each().any(|level| {
                    let lan = self.instance.designated(circuit, level);
                    lan.is_some_and(|(lan, _)| lan.system == it.system)
                });
                let bfd = near.and_then(|address| watch.state((circuit, address)));
                let ipv6 = it.ipv6.first().copied().map(Into::into);
                IgpNeighbourRow {
                    protocol: PROTOCOL,
                    interface: self.name_of(circuit).to_owned(),
                    area: it.levels.name().to_owned(),
                    address: near.map(Into::into).or(ipv6),
                    router_id: it.system.to_string(),
                    name: self.instance.hostname(it.system),
                    state: state(it.state),
                    role: is_designated.then_some("DIS"),
                    priority: it.priority,
                    state_s: self.history.since(now, (circuit, it.system, it.levels.bits())),
                    dead_s: Some(it.holds.as_secs()).filter(|_| !it.is_restarting),
                    restart_s: Some(it.holds.as_secs()).filter(|_| it.is_restarting),
                    bfd: bfd.map(bfd::State::name),
                    unacknowledged: None,
                    requested: None,
                    why: self.against(now, circuit, &it),
                }
            });
            rows.chain(self.stranger(now, circuit))
        });
        all.collect()
    }

    /// Who is heard by a circuit, and no neighbour at all.
    fn stranger(&self, now: Time, circuit: u32) -> Option<IgpNeighbourRow> {
        let it = self.doubted(now, circuit)?;
        if self.instance.neighbourhood(circuit, now).any(|known| is_of(it, &known)) {
            return None;
        }
        Some(IgpNeighbourRow {
            protocol: PROTOCOL,
            interface: self.name_of(circuit).to_owned(),
            area: self.instance.settings_of(circuit)?.levels.name().to_owned(),
            address: None,
            router_id: it.system.to_string(),
            name: self.instance.hostname(it.system),
            state: REFUSED,
            role: None,
            priority: 0,
            state_s: now.since(it.at).as_secs(),
            dead_s: None,
            restart_s: None,
            bfd: None,
            unacknowledged: None,
            requested: None,
            why: Some(it.why.to_string()),
        })
    }

    pub(crate) fn interface_rows(&self, now: Time) -> Vec<IgpInterfaceRow> {
        let all = self.instance.circuits().filter_map(|circuit| {
            Some(self.interface_row(now, circuit, self.instance.settings_of(circuit)?))
        });
        all.collect()
    }

    fn interface_row(&self, now: Time, circuit: u32, it: &CircuitSettings) -> IgpInterfaceRow {
        let (neighbours, adjacencies) = self.heard(circuit, now);
        let lans = it.levels.each().filter_map(|level| self.instance.designated(circuit, level));
        let mut lans: Vec<String> = lans
            .map(|(lan, _)| format!("{}.{:02x}", self.called(lan.system), lan.pseudonode))
            .collect();
        lans.dedup();
        let (address, length) = it.addresses.first().copied().unzip();
        let is_lan = it.link == LinkType::Broadcast;
        IgpInterfaceRow {
            protocol: PROTOCOL,
            interface: self.name_of(circuit).to_owned(),
            area: it.levels.name().to_owned(),
            address,
            length,
            network: if is_lan { "broadcast" } else { "point-to-point" },
            state: if self.instance.is_up(circuit) { "Up" } else { "Down" },
            cost: it.metric,
            priority: it.priority,
            designated: (!lans.is_empty()).then(|| lans.join(" ")),
            backup: None,
            hello_s: it.hello_s,
            dead_s: u32::from(it.hello_s) * u32::from(it.multiplier),
            passive: it.is_passive,
            neighbours,
            adjacencies,
        }
    }

    /// The fragments with their levels: of a level (`area`), of a `kind`, of a system (`router`),
    /// by its ID or its name.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub(crate) fn fragments(
        &self,
        now: Time,
        ask: &Ask,
    ) -> Result<Vec<(Level, Summary)>, AskError> {
        let area = ask.params.get("area");
        let known = Level::ALL.map(|level| Levels::from(level).name());
        if area.is_some_and(|it| !known.contains(&it.as_str())) {
            return Err(wrong("area: `level-1` or `level-2`"));
        }
        let kinds = ["LSP", "Pseudonode"];
        let kind = ask.params.get("kind");
        if kind.is_some_and(|it| !kinds.contains(&it.as_str())) {
            return Err(wrong(&format!("kind: one of {}", kinds.join(", "))));
        }
        let router = ask.params.get("router");
        let mut found = Vec::new();
        for level in self.levels().filter(|it| area.is_none_or(|of| of == Levels::from(*it).name()))
        {
            let all = self.instance.database(level, now).into_iter();
            found.extend(all.map(|it| (level, it)).filter(|(_, it)| {
                let system = it.id.node.system;
                kind.is_none_or(|kind| kind == kind_of(it))
                    && router
                        .is_none_or(|of| *of == system.to_string() || *of == self.called(system))
            }));
        }
        Ok(found)
    }

    pub(crate) fn fragment(&self, level: Level, it: &Summary) -> IgpLsaRow {
        let system = it.id.node.system;
        IgpLsaRow {
            protocol: PROTOCOL,
            area: Some(Levels::from(level).name().to_owned()),
            kind: kind_of(it),
            id: it.id.to_string(),
            router_id: system.to_string(),
            age_s: None,
            lives_s: Some(it.lifetime_s),
            sequence: format!("{:08x}", it.sequence),
            octets: None,
            own: system == self.instance.settings().system,
            says: self.says(level, it),
        }
    }

    /// What a fragment says, in short.
    fn says(&self, level: Level, it: &Summary) -> String {
        let Some(content) = self.instance.content(level, it.id) else { return String::new() };
        let name = content.hostname.into_iter();
        let to = content.neighbours.iter().map(|it| {
            let (called, pseudonode) = (self.called(it.node.system), it.node.pseudonode);
            match pseudonode {
                0 => format!("to {called} {}", it.metric),
                _ => format!("to network {called}.{pseudonode:02x} {}", it.metric),
            }
        });
        let reaches = content.reaches.iter().map(|it| format!("{} {}", it.prefix, it.metric));
        let mut all: Vec<String> = name.chain(to.chain(reaches)).collect();
        if all.len() > LINKS_MAX {
            let more = all.len() - LINKS_MAX;
            all.truncate(LINKS_MAX);
            all.push(format!("{more} more"));
        }
        all.join(", ")
    }

    /// A route for people to see.
    pub(crate) fn route_row(
        &self,
        prefix: Prefix,
        route: &Route,
        held_by: Option<&'static str>,
    ) -> IgpRouteRow {
        let ways = route.hops.iter().map(|hop| IgpWayRow {
            interface: self.name_of(hop.circuit).to_owned(),
            gateway: Some(hop.gateway),
        });
        let (kind, area) = kind(route.kind);
        IgpRouteRow {
            protocol: PROTOCOL,
            prefix: prefix.to_string(),
            kind,
            area: area.map(str::to_owned),
            distance: self.section.distance,
            cost: route.cost,
            metric: None,
            tag: route.tag.unwrap_or(0),
            held_by,
            via: ways.collect(),
            repair: None,
        }
    }

    pub(crate) fn spf(&self, now: Time) -> Vec<IgpSpfRow> {
        let last = self.history.last_run();
        let next = self.instance.spf_due().map(|at| at.since(now));
        let rows = self.levels().map(|level| {
            let [full_runs, updates] = self.instance.runs(level);
            IgpSpfRow {
                protocol: PROTOCOL,
                area: Levels::from(level).name().to_owned(),
                kind: Levels::from(level).name(),
                lsas: self.instance.lsps(level),
                full_runs,
                updates,
                runs: self.instance.counts().runs,
                last_run_s: last.map(|it| now.since(it.at).as_secs()),
                last_routes_changed: last.map(|it| it.routes_changed),
                next_run_ms: next.map(|it: Duration| machine::narrow::millis(it)),
            }
        });
        rows.collect()
    }
}

const fn kind_of(it: &Summary) -> &'static str {
    if it.id.node.pseudonode == 0 { "LSP" } else { "Pseudonode" }
}
