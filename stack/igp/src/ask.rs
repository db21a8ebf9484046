//! What the management side may ask: neighbours, interfaces, the database, routes, runs of SPF.

use crate::config::Network;
use crate::router::Router;
use machine::{Duration, Time};
use ospf::lsa::{External, Header, LinkKind, LsaType, Network as Members, Scope, Summary};
use ospf::{AreaKind, InterfaceState, NeighbourState, Prefix, Route, RouteKind};
use question::{Page, rows};
use runtime::{Ask, AskError};
use std::net::Ipv4Addr;

/// Rows of one answer at most, and unless `limit` asks for fewer.
const ROWS_MAX: usize = 1_000;
const ROWS: usize = 100;
/// Links of an LSA that its row shows at most.
const LINKS_MAX: usize = 16;

rows! {
    /// How OSPF stands.
    pub struct IgpRow {
        /// `running`, or `restarting` while neighbours bear that.
        state: &'static str,
        router_id: Ipv4Addr,
        areas: usize,
        interfaces: usize,
        neighbours: usize,
        adjacencies: usize,
        lsas: usize,
        routes: usize,
        /// Neighbours whose BFD session is up, and those that have one.
        bfd_up: usize,
        bfd_sessions: usize,
        /// Whether packets come and go.
        door_open: bool,
    }

    /// A neighbour.
    pub struct IgpNeighbourRow {
        interface: String,
        area: Ipv4Addr,
        address: Ipv4Addr,
        router_id: Ipv4Addr,
        state: &'static str,
        /// `DR`, `Backup` or `DR Other` on a link with a designated router.
        role: Option<&'static str>,
        priority: u8,
        /// Seconds since its state is that one.
        state_s: u64,
        /// Seconds until it counts as dead; null while its restart is borne.
        dead_s: Option<u64>,
        /// Seconds for which its restart is borne.
        restart_s: Option<u64>,
        /// State of its BFD session.
        bfd: Option<&'static str>,
        unacknowledged: usize,
        requested: usize,
    }

    /// An interface.
    pub struct IgpInterfaceRow {
        interface: String,
        area: Ipv4Addr,
        address: Ipv4Addr,
        length: u8,
        network: &'static str,
        state: &'static str,
        cost: u16,
        priority: u8,
        designated: Option<Ipv4Addr>,
        backup: Option<Ipv4Addr>,
        hello_s: u16,
        dead_s: u32,
        passive: bool,
        neighbours: usize,
        adjacencies: usize,
    }

    /// An LSA.
    pub struct IgpLsaRow {
        /// Its area; null: the whole domain.
        area: Option<Ipv4Addr>,
        kind: &'static str,
        id: Ipv4Addr,
        router_id: Ipv4Addr,
        age_s: u16,
        /// In hexadecimal digits, as in RFC 2328 §12.1.6.
        sequence: String,
        octets: u16,
        /// This router says it.
        own: bool,
        /// What it says, in short.
        says: String,
    }

    /// A way of a route.
    pub struct IgpWayRow {
        interface: String,
        /// Null: on the link itself.
        gateway: Option<Ipv4Addr>,
    }

    /// A route.
    pub struct IgpRouteRow {
        prefix: String,
        /// `intra-area`, `inter-area`, `external-1` or `external-2`.
        kind: &'static str,
        area: Option<Ipv4Addr>,
        cost: u32,
        /// The metric of an external route of type 2.
        metric: Option<u32>,
        tag: u32,
        via: Vec<IgpWayRow>,
    }

    /// What SPF does in an area.
    pub struct IgpSpfRow {
        area: Ipv4Addr,
        kind: &'static str,
        lsas: usize,
        /// Runs that began from nothing, and those that followed single changes.
        full_runs: u64,
        updates: u64,
        /// Runs of all areas.
        runs: u64,
        /// Seconds since the last run of all areas, and routes that were others after it.
        last_run_s: Option<u64>,
        last_routes_changed: Option<usize>,
        /// Milliseconds until the next one, while one waits.
        next_run_ms: Option<u64>,
    }
}

fn wrong(why: &str) -> AskError {
    AskError::BadParameter(why.to_owned())
}

fn number(ask: &Ask, key: &str, otherwise: usize) -> Result<usize, AskError> {
    match ask.params.get(key) {
        None => Ok(otherwise),
        Some(text) => text.parse().map_err(|_| wrong(&format!("{key}: a number from 0"))),
    }
}

fn address(ask: &Ask, key: &str) -> Result<Option<Ipv4Addr>, AskError> {
    let read = |text: &String| {
        text.parse().map_err(|_| wrong(&format!("{key}: four numbers, as 192.0.2.1")))
    };
    ask.params.get(key).map(read).transpose()
}

/// The page that was asked for.
fn paged<T, R>(
    ask: &Ask,
    all: impl Iterator<Item = T>,
    row: impl Fn(T) -> R,
) -> Result<Page<R>, AskError> {
    let skip = number(ask, "skip", 0)?;
    let limit = number(ask, "limit", ROWS)?.min(ROWS_MAX);
    let mut all = all.skip(skip);
    let rows: Vec<R> = all.by_ref().take(limit).map(row).collect();
    let next = all.next().map(|_| skip + rows.len());
    Ok(Page { rows, next, total: None })
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

impl Router {
    /// How it stands.
    #[must_use]
    pub fn summary(&self, now: Time) -> Vec<IgpRow> {
        let (bfd_sessions, bfd_up) = self.watch.counts();
        let mut row = IgpRow {
            state: if self.is_restarting() { "restarting" } else { "running" },
            router_id: self.section.router_id,
            areas: self.instance.areas().count(),
            interfaces: self.instance.interfaces().count(),
            neighbours: 0,
            adjacencies: 0,
            lsas: self.instance.lsas(),
            routes: self.routes().count(),
            bfd_up,
            bfd_sessions,
            door_open: self.door.is_open(),
        };
        for index in self.instance.interfaces() {
            for it in self.instance.neighbourhood(index, now) {
                row.neighbours += 1;
                row.adjacencies += usize::from(it.state == NeighbourState::Full);
            }
        }
        vec![row]
    }

    /// The neighbours.
    #[must_use]
    pub fn neighbours(&self, now: Time) -> Vec<IgpNeighbourRow> {
        let all = self.instance.interfaces().filter_map(|index| {
            let settings = self.instance.settings_of(index)?;
            let (_, designated, backup) = self.instance.interface(index)?;
            let rows = self.instance.neighbourhood(index, now).map(move |it| {
                let role = match it.address {
                    _ if designated.is_unspecified() => None,
                    own if own == designated => Some(InterfaceState::Designated.name()),
                    own if own == backup => Some(InterfaceState::Backup.name()),
                    _ => Some(InterfaceState::Other.name()),
                };
                let since = self.since.get(&(index, it.address)).map(|(at, _)| now.since(*at));
                IgpNeighbourRow {
                    interface: self.name_of(index).to_owned(),
                    area: settings.area.into(),
                    address: it.address,
                    router_id: it.router.into(),
                    state: it.state.name(),
                    role,
                    priority: it.priority,
                    state_s: since.map_or(0, |it| it.as_secs()),
                    dead_s: it.dead_in.map(|it| it.as_secs()),
                    restart_s: it.grace.map(|it| it.as_secs()),
                    bfd: self.watch.state((index, it.address)).map(bfd::State::name),
                    unacknowledged: it.unacknowledged,
                    requested: it.requested,
                }
            });
            Some(rows)
        });
        all.flatten().collect()
    }

    /// The interfaces.
    #[must_use]
    pub fn interface_rows(&self, now: Time) -> Vec<IgpInterfaceRow> {
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
                interface: name.to_owned(),
                area: it.area.into(),
                address: it.address,
                length: it.length,
                network: match network {
                    Some(Network::PointToPoint) => "point-to-point",
                    Some(Network::Broadcast) | None => "broadcast",
                },
                state: state.name(),
                cost: it.cost,
                priority: it.priority,
                designated: set(designated),
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

    /// The LSAs: of an `area`, of a `kind`, of a router; a page of them.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn database(&self, now: Time, ask: &Ask) -> Result<Page<IgpLsaRow>, AskError> {
        let (area, router) = (address(ask, "area")?, address(ask, "router")?);
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
        paged(ask, wanted, |(area, header)| self.lsa(area, &header))
    }

    fn lsa(&self, area: u32, header: &Header) -> IgpLsaRow {
        let key = header.key;
        let body = self.instance.body(area, key).unwrap_or_default();
        let is_domain = key.kind.scope() == Scope::Domain;
        IgpLsaRow {
            area: (!is_domain).then_some(area.into()),
            kind: key.kind.name(),
            id: key.id.into(),
            router_id: key.router.into(),
            age_s: header.age,
            sequence: format!("{:08x}", header.sequence),
            octets: header.length,
            own: key.router == u32::from(self.section.router_id),
            says: says(key.kind, key.id, body),
        }
    }

    /// The routes: those `within` a prefix and those that are `covering` an address; a page.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn route_rows(&self, ask: &Ask) -> Result<Page<IgpRouteRow>, AskError> {
        let covering = address(ask, "covering")?;
        let within = match ask.params.get("within") {
            None => None,
            Some(text) => {
                let read =
                    dataplane::section::prefix(text).and_then(|(address, length)| match address {
                        std::net::IpAddr::V4(it) => Some(Prefix::new(it.into(), length)),
                        std::net::IpAddr::V6(_) => None,
                    });
                let why = "within: a prefix, as 10.0.0.0/8";
                Some(read.ok_or_else(|| wrong(why))?)
            }
        };
        let wanted = self.instance.routes().filter(|(prefix, _)| {
            covering.is_none_or(|it| prefix.has(it.into()))
                && within.is_none_or(|it| it.length <= prefix.length && it.has(prefix.address))
        });
        paged(ask, wanted, |(prefix, route)| self.route_row(*prefix, route))
    }

    fn route_row(&self, prefix: Prefix, route: &Route) -> IgpRouteRow {
        let ways = route.hops.iter().map(|hop| IgpWayRow {
            interface: self.name_of(hop.interface).to_owned(),
            gateway: hop.gateway,
        });
        IgpRouteRow {
            prefix: prefix.to_string(),
            kind: name_of(route.kind),
            area: route.area.map(Ipv4Addr::from),
            cost: route.cost,
            metric: (route.kind == RouteKind::External2).then_some(route.metric2),
            tag: route.tag,
            via: ways.collect(),
        }
    }

    /// What SPF does, an area a row.
    #[must_use]
    pub fn spf(&self, now: Time) -> Vec<IgpSpfRow> {
        let last = self.runs.back();
        let next = self.instance.spf_due().map(|at| at.since(now));
        let rows = self.instance.areas().map(|(id, kind)| {
            let [full_runs, updates] = self.instance.runs(id).unwrap_or_default();
            let own = self.instance.headers(id, now).into_iter();
            IgpSpfRow {
                area: id.into(),
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
