//! What the management side may ask: how the router stands, and whatever the forwarder knows.

mod labels;
mod section;

pub(crate) use section::{RouteCounts, route_counts};

use labels::{LabelRow, LabelSpaceRow};
use section::{
    BridgeRow, CrossConnectRow, FilterRow, InterfaceRow, LearntRoutes, RouteRow, TableRow,
};

use crate::ProviderEdge;
use crate::peering::{BgpFibRow, BgpNextHopRow};
use crate::stations::Full;
use dataplane::{Kind, alarm};
use igp::Router;
use igp::ask::{
    BfdRow, IgpChangeRow, IgpInterfaceRow, IgpLsaRow, IgpNeighbourRow, IgpPathRow, IgpRouteRow,
    IgpRow, IgpSpfRow, IgpTopologyRow,
};
use ldp_stack::ask::{LdpBindingRow, LdpNeighbourRow, LdpRow};
use ldp_stack::{LSP, Labels};
use machine::Time;
use nodes::program::{BridgeMember, MacChange, MacLimit};
use question::{Condition, Page, Parameter, Question, questions, rows};
use runtime::{Answered, Ask, AskError, Effects, Ticket};
use std::collections::BTreeMap;

/// Questions to the forwarder begin so.
const PLANE: &str = "plane/";
/// The question that comes every second.
const ALARMS: &str = "alarms";

rows! {
    /// How a router stands.
    pub(crate) struct SummaryRow {
        /// `controlled` or `away`.
        forwarder: &'static str,
        ports: usize,
        ports_up: usize,
        interfaces: usize,
        vrfs: usize,
        cross_connects: usize,
        bridges: usize,
        routes: usize,
        refusals: usize,
    }

    /// What the forwarder refused.
    pub(crate) struct RefusalRow {
        what: String,
        why: String,
    }

    /// What happened to a MAC address.
    pub(crate) struct EventRow {
        seconds_ago: u64,
        bridge: String,
        mac: String,
        event: &'static str,
        from: Option<String>,
        at: Option<String>,
    }
}

/// What a question comes with.
pub(crate) struct Asked<'a> {
    now: Time,
    ask: &'a Ask,
}

type Serve = fn(&mut ProviderEdge, &Asked<'_>) -> Answered;

const PROTOCOL: Parameter = Parameter::text("protocol", "only of `ospf`, or of `isis`");
const AREA: Parameter = Parameter::text("area", "only of this area or level");
const SKIP: Parameter = Parameter::number("skip", "where the page begins");
const LIMIT: Parameter =
    Parameter::number("limit", "rows of the page, 100 if it is left out, at most 1000");

questions! {
    /// What this control answers itself, and who does.
    const QUESTIONS: Serve;
    /// How the router stands.
    Ask "pe/summary" [] -> Vec<SummaryRow>, |it, _| Ok(it.summary());
    /// What the forwarder refused.
    Ask "pe/refusals" [] -> Vec<RefusalRow>, |it, _| Ok(it.refusals());
    /// What happened to MAC addresses, the last first.
    Ask "pe/events" [] -> Vec<EventRow>, |it, asked| Ok(it.events(asked.now));
    /// The interfaces of the section, a page at a time.
    Ask "pe/interfaces" [SKIP, LIMIT] -> Page<InterfaceRow>,
        |it, asked| section::interfaces(&it.settings.pe, asked.ask);
    /// The routing tables, the global one first, a page at a time.
    Ask "pe/vrfs" [SKIP, LIMIT] -> Page<TableRow>,
        |it, asked| section::tables(&it.settings.pe, &it.route_counts, asked.ask);
    /// The routes of the section and of its files, and those that were learnt and hold, a page at a
    /// time.
    Ask "pe/routes" [
        Parameter::text("vrf", "only of this table; `global` is the one without a name"),
        Parameter::text("within", "only those within this prefix"),
        Parameter::text("covering", "only those that cover this prefix or address"),
        SKIP,
        LIMIT,
    ] -> Page<RouteRow>, |it, asked| {
        let learnt = LearntRoutes { learnt: &it.learnt, numbers: it.dataplane.numbers() };
        section::routes(&it.settings, &learnt, asked.ask)
    };
    /// The bridge domains, a page at a time.
    Ask "pe/bridges" [SKIP, LIMIT] -> Page<BridgeRow>,
        |it, asked| section::bridges(&it.settings.pe, asked.ask);
    /// The cross-connects, a page at a time.
    Ask "pe/cross-connects" [SKIP, LIMIT] -> Page<CrossConnectRow>,
        |it, asked| section::cross_connects(&it.settings.pe, asked.ask);
    /// The filters and their rules, a page at a time.
    Ask "pe/filters" [SKIP, LIMIT] -> Page<FilterRow>,
        |it, asked| section::filters(&it.settings.pe, asked.ask);
    /// How OSPF and IS-IS stand.
    Ask "igp/summary" [] -> Vec<IgpRow>, |it, asked| Ok(it.igp(|igp| igp.summary(asked.now)));
    /// The routers that OSPF and IS-IS hear, and how far the exchange with each has come.
    Ask "igp/neighbours" [] -> Vec<IgpNeighbourRow>,
        |it, asked| Ok(it.igp(|igp| igp.neighbours(asked.now)));
    /// The interfaces of OSPF and IS-IS.
    Ask "igp/interfaces" [] -> Vec<IgpInterfaceRow>,
        |it, asked| Ok(it.igp(|igp| igp.interface_rows(asked.now)));
    /// The link state databases, a page at a time.
    Ask "igp/database" [
        PROTOCOL,
        Parameter::text("area", "only of this area or level: `0.0.0.0` or `0`, `level-2`"),
        Parameter::text("kind", "only of this type: `Router`, `Network`, `Summary`, `LSP` …"),
        Parameter::text("router", "only what this router says"),
        SKIP,
        LIMIT,
    ] -> Page<IgpLsaRow>, |it, asked| it.igp_page(|igp| igp.database(asked.now, asked.ask));
    /// The routes that OSPF has, those on its own links included, and IS-IS; a page at a time.
    Ask "igp/routes" [
        PROTOCOL,
        Parameter::text("within", "only those within this prefix"),
        Parameter::text("covering", "only those that cover this address"),
        SKIP,
        LIMIT,
    ] -> Page<IgpRouteRow>, |it, asked| {
        let is_told = it.dataplane.is_controlled() && !it.learnt.holds();
        let holds = |to| is_told.then(|| it.learnt.holds_for(to));
        let carries = |to, repair: &_| it.learnt.labelled.carried(to, repair).is_some();
        it.igp_page(|igp| igp.route_rows(asked.ask, holds, carries))
    };
    /// What SPF does, by area and level.
    Ask "igp/spf" [] -> Vec<IgpSpfRow>, |it, asked| Ok(it.igp(|igp| igp.spf(asked.now)));
    /// The topologies that SPF sees, an area or a level a row.
    Ask "igp/topology" [PROTOCOL, AREA] -> Vec<IgpTopologyRow>,
        |it, asked| it.igp_rows(|igp| igp.topology(asked.ask));
    /// What runs of SPF saw change of them, the oldest first.
    Ask "igp/changes" [PROTOCOL, AREA] -> Vec<IgpChangeRow>,
        |it, asked| it.igp_rows(|igp| igp.changes(asked.now, asked.ask));
    /// The paths between two routers: the shortest ones, and the one of a repair.
    Ask "igp/path" [
        Parameter::text("from", "the first router: its number, of IS-IS its system ID or name"),
        Parameter::text("to", "the last one"),
        PROTOCOL,
        AREA,
    ] -> Vec<IgpPathRow>, |it, asked| it.igp_rows(|igp| igp.paths(asked.ask));
    /// The sessions of BFD.
    Ask "bfd/sessions" [] -> Vec<BfdRow>, |it, asked| Ok(it.igp(|igp| igp.bfd_rows(asked.now)));
    /// How LDP stands.
    Ask "ldp/summary" [] -> Vec<LdpRow>, |it, _| Ok(it.ldp(Labels::summary));
    /// The routers that LDP hears, and their sessions.
    Ask "ldp/neighbours" [] -> Vec<LdpNeighbourRow>,
        |it, asked| Ok(it.ldp(|ldp| ldp.neighbours(asked.now)));
    /// Prefixes and their labels, here and at neighbours, a page at a time.
    Ask "ldp/bindings" [
        Parameter::text("within", "only those within this prefix"),
        SKIP,
        LIMIT,
    ] -> Page<LdpBindingRow>, |it, asked| {
        let none = || Ok(Page { rows: Vec::new(), next: None, total: None });
        let labels = it.learnt.labelled.labels.as_ref();
        labels.map_or_else(none, |ldp| ldp.binding_rows(asked.ask))
    };
    /// Who gives labels of this router, and how many of them are given.
    Ask "labels/space" [] -> Vec<LabelSpaceRow>, |it, _| Ok(it.label_space());
    /// Labels that were given, and to what; a page at a time.
    Ask "labels/given" [Parameter::number("label", "only this one"), SKIP, LIMIT]
        -> Page<LabelRow>, |it, asked| it.labels_given(asked.ask);
    /// The next hops of BGP's routes, and how they are reached.
    Ask "bgp/next-hops" [] -> Vec<BgpNextHopRow>,
        |it, _| Ok(it.learnt.peering.next_hop_rows(it.dataplane.numbers()));
    /// The routes of BGP as the plane has them, those of the global table first, a page at a time.
    Ask "bgp/fib" [
        Parameter::text("within", "only those within this prefix"),
        SKIP,
        LIMIT,
    ] -> Page<BgpFibRow>, |it, asked| {
        let holds = |to| it.learnt.holds_of_bgp(to);
        it.learnt.peering.fib_rows(it.dataplane.numbers(), asked.ask, holds)
    };
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, asked| Ok(it.alarms(asked.now));
}

/// What a router may be asked: this control, and the forwarder through it.
pub fn questions() -> Vec<Question> {
    let own = question::listed(QUESTIONS).chain(bgp_stack::ask::questions());
    own.chain(ldp_stack::QUESTIONS).chain(dataplane::questions()).collect()
}

impl ProviderEdge {
    /// Answers a question, or has the forwarder asked: then the answer comes later.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        match ask.path.strip_prefix(PLANE) {
            Some(path) => self.dataplane.question(now, path, ask, ticket, out),
            None if ask.path.starts_with(LSP) => {
                let none = || AskError::BadParameter("there is no LDP here".to_owned());
                match &mut self.learnt.labelled.labels {
                    Some(labels) => labels.probe(now, ask, ticket),
                    None => Some(Err(none())),
                }
            }
            None => {
                if ask.path == ALARMS {
                    self.dataplane.measure(now, out);
                }
                Some(self.own(now, ask, out))
            }
        }
    }

    /// What this control knows itself.
    pub(crate) fn own(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Answered {
        if let Some(answer) = self.learnt.peering.answer(now, ask, out) {
            return answer;
        }
        let serve = question::find(QUESTIONS, &ask.path);
        serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?(self, &Asked { now, ask })
    }

    /// What the protocols say; nothing where there is none.
    fn igp<R>(&self, ask: impl FnOnce(&Router) -> Vec<R>) -> Vec<R> {
        self.learnt.router.as_ref().map(ask).unwrap_or_default()
    }

    /// What LDP says; nothing where there is none.
    fn ldp<R>(&self, ask: impl FnOnce(&Labels) -> Vec<R>) -> Vec<R> {
        self.learnt.labelled.labels.as_ref().map(ask).unwrap_or_default()
    }

    /// The same of a question that cannot always be.
    fn igp_rows<R>(
        &self,
        ask: impl FnOnce(&Router) -> Result<Vec<R>, AskError>,
    ) -> Result<Vec<R>, AskError> {
        self.learnt.router.as_ref().map_or_else(|| Ok(Vec::new()), ask)
    }

    /// The same of a page.
    fn igp_page<R>(
        &self,
        ask: impl FnOnce(&Router) -> Result<Page<R>, AskError>,
    ) -> Result<Page<R>, AskError> {
        let none = || Ok(Page { rows: Vec::new(), next: None, total: None });
        self.learnt.router.as_ref().map_or_else(none, ask)
    }

    fn summary(&self) -> Vec<SummaryRow> {
        let pe = &self.settings.pe;
        vec![SummaryRow {
            forwarder: if self.dataplane.is_controlled() { "controlled" } else { "away" },
            ports: pe.port.len(),
            ports_up: self.dataplane.ports().0,
            interfaces: pe.interface.len(),
            vrfs: pe.vrf.len(),
            cross_connects: pe.cross_connect.len(),
            bridges: pe.bridge.len(),
            routes: pe.route.len() + self.settings.routes.len(),
            refusals: self.dataplane.refusals().len(),
        }]
    }

    fn refusals(&self) -> Vec<RefusalRow> {
        let rows = self.dataplane.refusals().iter();
        rows.map(|(what, why)| RefusalRow { what: what.clone(), why: why.clone() }).collect()
    }

    /// What happened to MAC addresses, the last first.
    fn events(&self, now: Time) -> Vec<EventRow> {
        let rows = self.stations.recent.iter().rev().map(|(at, notice)| {
            let member = |member: BridgeMember| Some(self.member(member));
            let (event, from, to) = match notice.what {
                MacChange::Moved { from, to } => ("moved", member(from), member(to)),
                MacChange::Frozen { at } => ("frozen", None, member(at)),
                MacChange::Thawed => ("thawed", None, None),
                MacChange::Refused { at, limit } => {
                    let full = match limit {
                        MacLimit::Table => "the table is full",
                        MacLimit::Bridge => "the domain is full",
                        MacLimit::Member => "the member is full",
                    };
                    (full, None, member(at))
                }
            };
            EventRow {
                seconds_ago: now.since(*at).as_secs(),
                bridge: self.bridge(notice.bridge),
                mac: mac(notice.mac),
                event,
                from,
                at: to,
            }
        });
        rows.collect()
    }

    fn bridge(&self, number: u32) -> String {
        let name = self.dataplane.numbers().name(Kind::Bridge, number);
        name.map_or_else(|| format!("bridge {number}"), str::to_owned)
    }

    fn member(&self, member: BridgeMember) -> String {
        let (kind, word, number) = match member {
            BridgeMember::Interface(number) => (Kind::Interface, "interface", number),
            BridgeMember::Pseudowire(number) => (Kind::Pseudowire, "pseudowire", number),
        };
        let name = self.dataplane.numbers().name(kind, number);
        name.map_or_else(|| format!("{word} {number}"), str::to_owned)
    }

    fn mac_alarms(&self, now: Time, rows: &mut Vec<Condition>) {
        let mut frozen: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (bridge, address, at) in self.stations.frozen(now) {
            let text = format!("{} at {}", mac(address), self.member(at));
            frozen.entry(bridge).or_default().push(text);
        }
        for (bridge, addresses) in frozen {
            let count = addresses.len();
            let text = format!("{count} moved too often and stay: {} …", addresses[0]);
            rows.push(alarm("mac-frozen", &self.bridge(bridge), "major", &text));
        }
        for (bridge, full, address) in self.stations.refused(now) {
            let what = match full {
                Full::Domain => "the domain".to_owned(),
                Full::Interface(at) => self.member(BridgeMember::Interface(at)),
                Full::Pseudowire(at) => self.member(BridgeMember::Pseudowire(at)),
            };
            let text = format!("{what} has as many MAC addresses as it may: not {}", mac(address));
            rows.push(alarm("mac-limit", &self.bridge(bridge), "minor", &text));
        }
    }

    pub(crate) fn alarms(&mut self, now: Time) -> Vec<Condition> {
        let mut rows = self.dataplane.alarms(now, &self.settings.pe.name);
        self.mac_alarms(now, &mut rows);
        rows.extend(self.igp(|igp| igp.alarms(now)));
        rows.extend(self.ldp(Labels::alarms));
        rows.extend(self.learnt.peering.alarms(now));
        let without = self.settings.pe.without_label(self.dataplane.numbers());
        rows.extend(without.filter(|_| self.dataplane.is_controlled()).map(|it| {
            let text = format!(
                "routing table {} has no label, and other edges hear nothing of it: all of \
                 `vpn_labels` are given or were another table's within a day; widen the range",
                it.name
            );
            alarm("vpn-labels-used-up", &it.name, "major", &text)
        }));
        rows
    }
}

fn mac(octets: [u8; 6]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(":")
}
