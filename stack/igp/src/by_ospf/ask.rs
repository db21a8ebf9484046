//! What OSPF says of itself to the management side.

use super::OspfRouter;
use crate::around::Protocol;
use crate::config::Network;
use crate::rows::{
    IgpInterfaceRow, IgpLsaRow, IgpNeighbourRow, IgpRouteRow, IgpRow, IgpSpfRow, IgpWayRow,
    LINKS_MAX, REFUSED, wrong,
};
use crate::watch::Watch;
use machine::{Duration, Time};
use ospf::lsa::{External, Header, LinkKind, LsaType, Network as Members, Scope, Summary};
use ospf::{AreaKind, Doubted, InterfaceState, NeighbourState, Prefix, Route, RouteKind};
use runtime::{Ask, AskError};
use std::net::{IpAddr, Ipv4Addr};

const PROTOCOL: &str = Protocol::Ospf.name();
/// The state of an interface where nothing is spoken.
const PASSIVE: &str = "passive";

/// An area, as four numbers or as one.
fn area(ask: &Ask) -> Result<Option<Ipv4Addr>, AskError> {
    let read = |text: &String| {
        crate::config::area_id(text).ok_or_else(|| wrong("area: four numbers, as 0.0.0.0, or one"))
    };
    ask.params.get("area").map(read).transpose()
}

fn address(ask: &Ask, key: &str) -> Result<Option<Ipv4Addr>, AskError> {
    let read = |text: &String| {
        text.parse().map_err(|_| wrong(&format!("{key}: four numbers, as 192.0.2.1")))
    };
    ask.params.get(key).map(read).transpose()
}

const fn kind_of(kind: AreaKind) -> &'static str {
    match kind {
        AreaKind::Normal => "normal",
        AreaKind::Stub { is_totally: false, .. } => "stub",
        AreaKind::Stub { is_totally: true, .. } => "totally-stub",
        AreaKind::Nssa { is_totally: false, .. } => "nssa",
        AreaKind::Nssa { is_totally: true, .. } => "totally-nssa",
    }
}

const fn name_of(kind: RouteKind) -> &'static str {
    match kind {
        RouteKind::IntraArea => "intra-area",
        RouteKind::InterArea => "inter-area",
        RouteKind::External1 => "external-1",
        RouteKind::External2 => "external-2",
    }
}

fn set(address: Ipv4Addr) -> Option<Ipv4Addr> {
    Some(address).filter(|it| !it.is_unspecified())
}

impl OspfRouter {
    /// How it stands.
    pub(crate) fn summary(&self, now: Time, watch: &Watch, door_open: bool) -> IgpRow {
        let (bfd_sessions, bfd_up) = watch.counts(Protocol::Ospf);
        let mut row = IgpRow {
            protocol: PROTOCOL,
            state: if self.instance.is_restarting() { "restarting" } else { "running" },
            router_id: self.section.router_id.to_string(),
            areas: self.instance.areas().count(),
            interfaces: self.instance.interfaces().count(),
            neighbours: 0,
            adjacencies: 0,
            lsas: self.instance.lsas(),
            routes: self.routes().count(),
            bfd_up,
            bfd_sessions,
            door_open,
        };
        for index in self.instance.interfaces() {
            for it in self.instance.neighbourhood(index, now) {
                row.neighbours += 1;
                row.adjacencies += usize::from(it.state == NeighbourState::Full);
            }
        }
        row
    }

    /// The neighbours.
    pub(crate) fn neighbours(&self, now: Time, watch: &Watch) -> Vec<IgpNeighbourRow> {
        let all = self.instance.interfaces().filter_map(|index| {
            let settings = self.instance.settings_of(index)?;
            let (_, designated, backup) = self.instance.interface(index)?;
            let doubted = self.doubted(now, index);
            let is_stranger = |it: &Doubted| !self.history.since.contains_key(&(index, it.source));
            let stranger = doubted.filter(is_stranger).map(|it| IgpNeighbourRow {
                protocol: PROTOCOL,
                interface: self.name_of(index).to_owned(),
                area: Ipv4Addr::from(settings.area).to_string(),
                address: Some(it.source.into()),
                router_id: Ipv4Addr::from(it.router).to_string(),
                name: None,
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
            });
            let rows = self.instance.neighbourhood(index, now).map(move |it| {
                let why = doubted.filter(|doubted| doubted.source == it.address);
                let role = match it.address {
                    _ if designated.is_unspecified() => None,
                    own if own == designated => Some(InterfaceState::Designated.name()),
                    own if own == backup => Some(InterfaceState::Backup.name()),
                    _ => Some(InterfaceState::Other.name()),
                };
                IgpNeighbourRow {
                    protocol: PROTOCOL,
                    interface: self.name_of(index).to_owned(),
                    area: Ipv4Addr::from(settings.area).to_string(),
                    address: Some(it.address.into()),
                    router_id: Ipv4Addr::from(it.router).to_string(),
                    name: None,
                    state: it.state.name(),
                    role,
                    priority: it.priority,
                    state_s: self.history.since(now, (index, it.address)),
                    dead_s: it.dead_in.map(|it| it.as_secs()),
                    restart_s: it.grace.map(|it| it.as_secs()),
                    bfd: watch.state((index, it.address)).map(bfd::State::name),
                    unacknowledged: Some(it.unacknowledged),
                    requested: Some(it.requested),
                    why: why.map(|it| it.why.to_string()),
                }
            });
            Some(rows.chain(stranger))
        });
        all.flatten().collect()
    }

    /// The interfaces.
    pub(crate) fn interface_rows(&self, now: Time) -> Vec<IgpInterfaceRow> {
        let sections = self.section.interfaces().map(|(_, it)| it);
        let networks: Vec<(&str, Network)> =
            sections.map(|it| (it.name.as_str(), it.network)).collect();
        let all = self.instance.interfaces().filter_map(|index| {
            let it = self.instance.settings_of(index)?;
            let (state, designated, backup) = self.instance.interface(index)?;
            let name = self.name_of(index);
            let network = networks.iter().find(|(known, _)| *known == name).map(|(_, it)| *it);
            let heard = self.instance.neighbourhood(index, now);
            let states: Vec<NeighbourState> = heard.map(|it| it.state).collect();
            Some(IgpInterfaceRow {
                protocol: PROTOCOL,
                interface: name.to_owned(),
                area: Ipv4Addr::from(it.area).to_string(),
                address: Some(it.address.into()),
                length: Some(it.length),
                network: network.unwrap_or_default().name(),
                state: if it.is_passive && state != InterfaceState::Down {
                    PASSIVE
                } else {
                    state.name()
                },
                cost: it.cost.into(),
                priority: it.priority,
                designated: set(designated).map(|it| it.to_string()),
                backup: set(backup),
                hello_s: it.hello_s,
                dead_s: it.dead_s,
                passive: it.is_passive,
                neighbours: states.len(),
                adjacencies: states.iter().filter(|it| **it == NeighbourState::Full).count(),
            })
        });
        all.collect()
    }

    /// The LSAs with their areas: of an `area`, of a `kind`, of a router.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub(crate) fn headers(&self, now: Time, ask: &Ask) -> Result<Vec<(u32, Header)>, AskError> {
        let (area, router) = (area(ask)?, address(ask, "router")?);
        let kind = ask.params.get("kind");
        if let Some(name) = kind
            && !LsaType::ALL.iter().any(|it| it.name() == name)
        {
            let names: Vec<&str> = LsaType::ALL.iter().map(|it| it.name()).collect();
            return Err(wrong(&format!("kind: one of {}", names.join(", "))));
        }
        let mut has_domain = false;
        let mut all: Vec<(u32, Header)> = Vec::new();
        for (id, _) in self.instance.areas() {
            if area.is_some_and(|area| u32::from(area) != id) {
                continue;
            }
            let headers = self.instance.headers(id, now).into_iter();
            let mut heard = false;
            all.extend(headers.filter_map(|header| {
                let is_domain = header.key.kind.scope() == Scope::Domain;
                heard |= is_domain;
                (!is_domain || !has_domain).then_some((id, header))
            }));
            has_domain |= heard;
        }
        let wanted = all.into_iter().filter(|(_, header)| {
            router.is_none_or(|router| u32::from(router) == header.key.router)
                && kind.is_none_or(|kind| header.key.kind.name() == kind)
        });
        Ok(wanted.collect())
    }

    pub(crate) fn lsa(&self, area: u32, header: &Header) -> IgpLsaRow {
        let key = header.key;
        let body = self.instance.body(area, key).unwrap_or_default();
        let is_domain = key.kind.scope() == Scope::Domain;
        IgpLsaRow {
            protocol: PROTOCOL,
            area: (!is_domain).then(|| Ipv4Addr::from(area).to_string()),
            kind: key.kind.name(),
            id: Ipv4Addr::from(key.id).to_string(),
            router_id: Ipv4Addr::from(key.router).to_string(),
            age_s: Some(header.age),
            lives_s: None,
            sequence: format!("{:08x}", header.sequence),
            octets: Some(header.length),
            own: key.router == u32::from(self.section.router_id),
            says: says(key.kind, key.id, body),
        }
    }

    /// A route for people to see.
    pub(crate) fn route_row(
        &self,
        prefix: Prefix,
        route: &Route,
        held_by: Option<&'static str>,
    ) -> IgpRouteRow {
        let ways = route.hops.iter().map(|hop| IgpWayRow {
            interface: self.name_of(hop.interface).to_owned(),
            gateway: hop.gateway.map(IpAddr::V4),
        });
        IgpRouteRow {
            protocol: PROTOCOL,
            prefix: prefix.to_string(),
            kind: name_of(route.kind),
            area: route.area.map(|it| Ipv4Addr::from(it).to_string()),
            distance: self.section.distance,
            cost: route.cost,
            metric: (route.kind == RouteKind::External2).then_some(route.metric2),
            tag: route.tag,
            held_by,
            via: ways.collect(),
            repair: None,
        }
    }

    /// What SPF does, an area a row.
    pub(crate) fn spf(&self, now: Time) -> Vec<IgpSpfRow> {
        let last = self.history.last_run();
        let next = self.instance.spf_due().map(|at| at.since(now));
        let rows = self.instance.areas().map(|(id, kind)| {
            let [full_runs, updates] = self.instance.runs(id).unwrap_or_default();
            let own = self.instance.headers(id, now).into_iter();
            IgpSpfRow {
                protocol: PROTOCOL,
                area: Ipv4Addr::from(id).to_string(),
                kind: kind_of(kind),
                lsas: own.filter(|it| it.key.kind.scope() != Scope::Domain).count(),
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

/// What an LSA says, in short.
fn says(kind: LsaType, id: u32, body: &[u8]) -> String {
    let of_mask = |mask: u32| Prefix::of_mask(id, mask).to_string();
    match kind {
        LsaType::Router => ospf::lsa::Router::read(body).map(|it| links(&it)),
        LsaType::Network => Members::read(body).map(|it| {
            let shown = it.routers.iter().take(LINKS_MAX).map(|id| Ipv4Addr::from(*id).to_string());
            let all: Vec<String> = shown.collect();
            format!("{}: {}", of_mask(it.mask), all.join(", "))
        }),
        LsaType::Summary => {
            Summary::read(body).map(|it| format!("{} cost {}", of_mask(it.mask), it.metric))
        }
        LsaType::AsbrSummary => Summary::read(body).map(|it| format!("cost {}", it.metric)),
        LsaType::External | LsaType::Nssa => External::read(body).map(|it| {
            let type_of = if it.is_type2 { 2 } else { 1 };
            let tag = if it.tag == 0 { String::new() } else { format!(" tag {}", it.tag) };
            let forward = set(it.forward).map_or(String::new(), |to| format!(" by {to}"));
            format!("{} type {type_of} metric {}{tag}{forward}", of_mask(it.mask), it.metric)
        }),
        LsaType::OpaqueLink | LsaType::OpaqueArea | LsaType::OpaqueDomain => {
            Ok(format!("opaque type {}", id >> 24))
        }
    }
    .unwrap_or_default()
}

fn links(it: &ospf::lsa::Router) -> String {
    let shown = it.links.iter().take(LINKS_MAX).map(|link| {
        let id = Ipv4Addr::from(link.id);
        match link.kind {
            LinkKind::Stub => format!("{} {}", Prefix::of_mask(link.id, link.data), link.metric),
            LinkKind::Transit => format!("to network {id} {}", link.metric),
            LinkKind::PointToPoint | LinkKind::Virtual => format!("to {id} {}", link.metric),
        }
    });
    let mut all: Vec<String> = shown.collect();
    if it.links.len() > LINKS_MAX {
        all.push(format!("{} more", it.links.len() - LINKS_MAX));
    }
    let flags = [(it.flags.is_border, "border"), (it.flags.is_boundary, "boundary")];
    let flags: String =
        flags.iter().filter(|(is, _)| *is).map(|(_, name)| format!("{name}; ")).collect();
    flags + &all.join(", ")
}
