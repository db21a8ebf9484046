//! What the management side may ask of all protocols: neighbours, interfaces, databases, routes,
//! runs of SPF.

use crate::around::Protocol;
use crate::route::Repair;
use crate::router::{Router, by_isis, by_ospf};
use crate::rows::wrong;
use detection::program::{Notice, Said};
use isis::Prefix;
use machine::Time;
use question::Page;
use runtime::{Ask, AskError};
use std::net::IpAddr;

pub use crate::rows::{
    BfdRow, IgpChangeRow, IgpEdgeRow, IgpInterfaceRow, IgpLinkRow, IgpLsaRow, IgpNeighbourRow,
    IgpNodeRow, IgpPathRow, IgpRepairRow, IgpRouteRow, IgpRow, IgpSpfRow, IgpStepRow,
    IgpTopologyRow, IgpWayRow,
};

/// Rows of one answer at most, and unless `limit` asks for fewer.
const ROWS_MAX: usize = 1_000;
const ROWS: usize = 100;

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

fn repair_row(it: &Repair, interface: &str, state: &'static str) -> IgpRepairRow {
    IgpRepairRow {
        interface: interface.to_owned(),
        gateway: it.way.gateway,
        tunnel: it.tunnel.map(|end| end.address.to_string()),
        state,
    }
}

/// The protocol that a question is about; none: both.
pub(crate) fn protocol(ask: &Ask) -> Result<Option<Protocol>, AskError> {
    let Some(text) = ask.params.get("protocol") else { return Ok(None) };
    let found = Protocol::ALL.into_iter().find(|it| it.name() == text);
    found.map(Some).ok_or_else(|| wrong("protocol: `ospf` or `isis`"))
}

impl Router {
    /// How the protocols stand.
    #[must_use]
    pub fn summary(&self, now: Time) -> Vec<IgpRow> {
        let (watch, is_open) = (&self.watch, self.channel().0);
        let ospf = self.ospf.iter().map(|it| it.summary(now, watch, is_open));
        ospf.chain(self.isis.iter().map(|it| it.summary(now, watch, is_open))).collect()
    }

    /// The neighbours.
    #[must_use]
    pub fn neighbours(&self, now: Time) -> Vec<IgpNeighbourRow> {
        let ospf = self.ospf.iter().flat_map(|it| it.neighbours(now, &self.watch));
        ospf.chain(self.isis.iter().flat_map(|it| it.neighbours(now, &self.watch))).collect()
    }

    /// The name of an interface.
    pub(crate) fn name_of(&self, interface: u32) -> &str {
        let ospf = self.ospf.as_ref().filter(|it| it.links.contains_key(&interface));
        match (ospf, &self.isis) {
            (Some(it), _) => it.name_of(interface),
            (None, Some(it)) => it.name_of(interface),
            (None, None) => "an interface that is gone",
        }
    }

    /// The sessions of BFD.
    #[must_use]
    pub fn bfd_rows(&self, now: Time) -> Vec<BfdRow> {
        let row = |(said, notice, by): (Said, Option<&Notice>, Vec<Protocol>)| {
            let it = notice.copied().unwrap_or_default();
            let down_s = now.as_millis().saturating_sub(it.down_at_ms) / 1_000;
            BfdRow {
                interface: self.name_of(said.name.interface).to_owned(),
                address: said.name.address,
                by: by.into_iter().map(Protocol::name).collect(),
                state: it.state.map(bfd::State::name),
                remote_state: it.remote_state.map(bfd::State::name),
                lost: it.is_lost,
                diagnostic: it.diagnostic.filter(|_| it.down_at_ms > 0).map(bfd::Diagnostic::name),
                interval_us: it.interval_us,
                detection_us: it.detection_us,
                authentication: said.authentication.map(|it| it.kind().name()),
                downs: it.downs,
                down_s: (it.down_at_ms > 0).then_some(down_s),
                received: it.received,
                sent: it.sent,
                discriminator: it.discriminators[0],
                remote_discriminator: it.discriminators[1],
                misnamed: it.misnamed,
            }
        };
        self.watch.rows().map(row).collect()
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
    /// `holds` says of a prefix whether its route in the plane is a learnt one, once it has one;
    /// `carries`, whether there are labels for a repair of it.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn route_rows(
        &self,
        ask: &Ask,
        holds: impl Fn(Prefix) -> Option<bool>,
        carries: impl Fn(Prefix, &Repair) -> bool,
    ) -> Result<Page<IgpRouteRow>, AskError> {
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
                Some(Prefix::new(address, length))
            }
        };
        let has = |outer: Prefix, address: IpAddr| {
            outer.address.is_ipv4() == address.is_ipv4()
                && Prefix::new(address, outer.length) == outer
        };
        let is_wanted = |prefix: Prefix| {
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
        let holder = |prefix| self.holder(prefix, &holds);
        let state = |prefix, repair: &Repair| match () {
            () if !carries(prefix, repair) => "no label",
            () if self.repairs.is_in_use(prefix) => "in use",
            () => "ready",
        };
        paged(ask, ospf.chain(isis), |one| match one {
            Of::Ospf((it, prefix, route)) => {
                let to = crate::by_ospf::wide(prefix);
                let row = it.route_row(prefix, route, holder(to));
                let repair = by_ospf(&it.section, route).repair.map(|repair| {
                    repair_row(&repair, it.name_of(repair.way.interface), state(to, &repair))
                });
                IgpRouteRow { repair, ..row }
            }
            Of::Isis((it, prefix, route)) => {
                let row = it.route_row(prefix, route, holder(prefix));
                let repair = by_isis(&it.section, route).repair.map(|repair| {
                    repair_row(&repair, it.name_of(repair.way.interface), state(prefix, &repair))
                });
                IgpRouteRow { repair, ..row }
            }
        })
    }

    /// Whose route to a prefix holds.
    fn holder(
        &self,
        prefix: Prefix,
        holds: &impl Fn(Prefix) -> Option<bool>,
    ) -> Option<&'static str> {
        let is_connected = self.ospf.as_ref().is_some_and(|it| it.is_connected(prefix))
            || self.isis.as_ref().is_some_and(|it| it.is_connected(prefix));
        match self.route(prefix) {
            None => Some("connected"),
            Some(_) if is_connected => Some("connected"),
            Some(it) => {
                holds(prefix).map(|is_ours| if is_ours { it.protocol.name() } else { "static" })
            }
        }
    }

    /// What SPF does, an area or a level a row.
    #[must_use]
    pub fn spf(&self, now: Time) -> Vec<IgpSpfRow> {
        let ospf = self.ospf.iter().flat_map(|it| it.spf(now));
        ospf.chain(self.isis.iter().flat_map(|it| it.spf(now))).collect()
    }
}
