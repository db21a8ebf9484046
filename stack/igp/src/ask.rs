//! What the management side may ask of all protocols: neighbours, interfaces, databases, routes,
//! runs of SPF.

use crate::around::Protocol;
use crate::router::Router;
use machine::Time;
use question::{Page, rows};
use runtime::{Ask, AskError};
use std::net::{IpAddr, Ipv4Addr};

/// Rows of one answer at most, and unless `limit` asks for fewer.
const ROWS_MAX: usize = 1_000;
const ROWS: usize = 100;
/// Links of an LSA that its row shows at most.
pub(crate) const LINKS_MAX: usize = 16;

rows! {
    /// How a protocol stands.
    pub struct IgpRow {
        /// `ospf` or `isis`.
        protocol: &'static str,
        /// `running`, or `restarting` while neighbours bear that.
        state: &'static str,
        /// Of IS-IS the system ID.
        router_id: String,
        /// Of IS-IS levels.
        areas: usize,
        interfaces: usize,
        neighbours: usize,
        adjacencies: usize,
        /// Of IS-IS LSPs.
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
        protocol: &'static str,
        interface: String,
        /// `0.0.0.0`; of IS-IS `level-1`, `level-2` or `level-1-2`.
        area: String,
        address: Option<IpAddr>,
        /// Of IS-IS the system ID.
        router_id: String,
        /// Its name, if it says one.
        name: Option<String>,
        state: &'static str,
        /// `DR`, `Backup` or `DR Other` on a link with a designated router, `DIS` of IS-IS.
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
        /// LSAs; null of IS-IS.
        unacknowledged: Option<usize>,
        requested: Option<usize>,
    }

    /// An interface.
    pub struct IgpInterfaceRow {
        protocol: &'static str,
        interface: String,
        area: String,
        address: Option<IpAddr>,
        length: Option<u8>,
        network: &'static str,
        state: &'static str,
        cost: u32,
        priority: u8,
        /// The designated router's address; of IS-IS pseudonodes, by level.
        designated: Option<String>,
        backup: Option<Ipv4Addr>,
        hello_s: u16,
        dead_s: u32,
        passive: bool,
        neighbours: usize,
        adjacencies: usize,
    }

    /// An LSA, or a fragment of an LSP.
    pub struct IgpLsaRow {
        protocol: &'static str,
        /// Its area or level; null: the whole domain.
        area: Option<String>,
        kind: &'static str,
        id: String,
        /// Of IS-IS the system ID.
        router_id: String,
        /// Seconds since it was said; null of IS-IS.
        age_s: Option<u16>,
        /// Seconds that it lives on; null of OSPF.
        lives_s: Option<u16>,
        /// In hexadecimal digits, as in RFC 2328 §12.1.6.
        sequence: String,
        octets: Option<u16>,
        /// This router says it.
        own: bool,
        /// What it says, in short.
        says: String,
    }

    /// A way of a route.
    pub struct IgpWayRow {
        interface: String,
        /// Null: on the link itself.
        gateway: Option<IpAddr>,
    }

    /// A route.
    pub struct IgpRouteRow {
        protocol: &'static str,
        prefix: String,
        /// `intra-area`, `inter-area`, `external-1` or `external-2`; `level-1`, `level-2`, `leaked`
        /// or `attached`.
        kind: &'static str,
        area: Option<String>,
        /// Its preference: of several routes to the prefix the one with the lowest holds.
        distance: u8,
        cost: u32,
        /// The metric of an external route of type 2.
        metric: Option<u32>,
        tag: u32,
        via: Vec<IgpWayRow>,
    }

    /// What SPF does in an area or a level.
    pub struct IgpSpfRow {
        protocol: &'static str,
        area: String,
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

pub(crate) fn wrong(why: &str) -> AskError {
    AskError::BadParameter(why.to_owned())
}

fn number(ask: &Ask, key: &str, otherwise: usize) -> Result<usize, AskError> {
    match ask.params.get(key) {
        None => Ok(otherwise),
        Some(text) => text.parse().map_err(|_| wrong(&format!("{key}: a number from 0"))),
    }
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

/// A thing of one protocol or of the other.
enum Of<A, B> {
    Ospf(A),
    Isis(B),
}

/// The protocol that a question is about; none: both.
fn protocol(ask: &Ask) -> Result<Option<Protocol>, AskError> {
    let Some(text) = ask.params.get("protocol") else { return Ok(None) };
    let found = Protocol::ALL.into_iter().find(|it| it.name() == text);
    found.map(Some).ok_or_else(|| wrong("protocol: `ospf` or `isis`"))
}

impl Router {
    /// How the protocols stand.
    #[must_use]
    pub fn summary(&self, now: Time) -> Vec<IgpRow> {
        let ospf = self.ospf.iter().map(|it| it.summary(now, self));
        ospf.chain(self.isis.iter().map(|it| it.summary(now, self))).collect()
    }

    /// The neighbours.
    #[must_use]
    pub fn neighbours(&self, now: Time) -> Vec<IgpNeighbourRow> {
        let ospf = self.ospf.iter().flat_map(|it| it.neighbours(now, &self.watch));
        ospf.chain(self.isis.iter().flat_map(|it| it.neighbours(now, &self.watch))).collect()
    }

    /// The interfaces.
    #[must_use]
    pub fn interface_rows(&self, now: Time) -> Vec<IgpInterfaceRow> {
        let ospf = self.ospf.iter().flat_map(|it| it.interface_rows(now));
        ospf.chain(self.isis.iter().flat_map(|it| it.interface_rows(now))).collect()
    }

    /// The databases: of an `area` or a level, of a `kind`, of a router; a page of them.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn database(&self, now: Time, ask: &Ask) -> Result<Page<IgpLsaRow>, AskError> {
        let of = protocol(ask)?;
        let ospf = self.ospf.as_ref().filter(|_| of != Some(Protocol::Isis));
        let isis = self.isis.as_ref().filter(|_| of != Some(Protocol::Ospf));
        // What only one of the two can have is asked of that one.
        let ospf = match ospf {
            Some(it) if isis.is_none() => Some((it, it.headers(now, ask)?)),
            other => other.and_then(|it| Some((it, it.headers(now, ask).ok()?))),
        };
        let isis = match isis {
            Some(it) if ospf.is_none() => Some((it, it.fragments(now, ask)?)),
            other => other.and_then(|it| Some((it, it.fragments(now, ask).ok()?))),
        };
        let own = ospf.into_iter().flat_map(|(it, all)| {
            all.into_iter().map(move |(area, header)| Of::Ospf((it, area, header)))
        });
        let others = isis.into_iter().flat_map(|(it, all)| {
            all.into_iter().map(move |(level, summary)| Of::Isis((it, level, summary)))
        });
        paged(ask, own.chain(others), |one| match one {
            Of::Ospf((it, area, header)) => it.lsa(area, &header),
            Of::Isis((it, level, summary)) => it.fragment(level, &summary),
        })
    }

    /// The routes: those `within` a prefix and those that are `covering` an address; a page.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn route_rows(&self, ask: &Ask) -> Result<Page<IgpRouteRow>, AskError> {
        let of = protocol(ask)?;
        let covering = match ask.params.get("covering") {
            None => None,
            Some(text) => {
                let address: IpAddr = text
                    .parse()
                    .map_err(|_| wrong("covering: an address, as 192.0.2.1 or 2001:db8::1"))?;
                Some(address)
            }
        };
        let within = match ask.params.get("within") {
            None => None,
            Some(text) => {
                let read = dataplane::section::prefix(text);
                let (address, length) =
                    read.ok_or_else(|| wrong("within: a prefix, as 10.0.0.0/8"))?;
                Some(isis::Prefix::new(address, length))
            }
        };
        let has = |outer: isis::Prefix, address: IpAddr| {
            outer.address.is_ipv4() == address.is_ipv4()
                && isis::Prefix::new(address, outer.length) == outer
        };
        let is_wanted = |prefix: isis::Prefix| {
            covering.is_none_or(|it| has(prefix, it))
                && within.is_none_or(|it| it.length <= prefix.length && has(it, prefix.address))
        };
        let ospf = self.ospf.iter().filter(|_| of != Some(Protocol::Isis));
        let ospf = ospf.flat_map(|it| {
            let all = it.instance.routes().map(|(prefix, route)| (*prefix, route));
            all.filter(|(prefix, _)| is_wanted(crate::by_ospf::wide(*prefix)))
                .map(move |(prefix, route)| Of::Ospf((it, prefix, route)))
        });
        let isis = self.isis.iter().filter(|_| of != Some(Protocol::Ospf));
        let isis = isis.flat_map(|it| {
            let all = it.routes().filter(|(prefix, _)| is_wanted(*prefix));
            all.map(move |(prefix, route)| Of::Isis((it, prefix, route)))
        });
        paged(ask, ospf.chain(isis), |one| match one {
            Of::Ospf((it, prefix, route)) => it.route_row(prefix, route),
            Of::Isis((it, prefix, route)) => it.route_row(prefix, route),
        })
    }

    /// What SPF does, an area or a level a row.
    #[must_use]
    pub fn spf(&self, now: Time) -> Vec<IgpSpfRow> {
        let ospf = self.ospf.iter().flat_map(|it| it.spf(now));
        ospf.chain(self.isis.iter().flat_map(|it| it.spf(now))).collect()
    }
}
