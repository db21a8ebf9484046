//! BGP of an edge: the speaker of `stack/bgp`, whose connections `stack/streams` carries through a
//! packet channel of the forwarder, and the tables of its routes.
//!
//! ```text
//!   channel ─ packets ─→ streams::Carrier ─→ bgp_stack::Speaker ─→ rib::Rib ─→ readers: routes of
//!           ←─ packets ─      ↑ opens, sends, closes ─┘  ↑ UPDATEs ──┘          the plane
//! ```
//! The global table has a speaker and a base, and so has each table of a VPN.

mod ask;
mod fib;
mod own;
mod places;
mod resolver;
mod speaking;
#[cfg(test)]
mod tests;
mod underlay;
mod vrfs;

pub(crate) use ask::{BgpFibRow, BgpNextHopRow};
pub(crate) use fib::BgpRoute;

use crate::Settings;
use crate::config::Bgp;
use crate::hops::{Editing, Hops};
use crate::labelled::Labelled;
use bgp_stack::{Counts, PeerTable, peer_table};
use dataplane::{Dataplane, Edit, PacketChannel};
use event::Metrics;
use forwarder::ToPackets;
use igp::{Link, Prefix, Router};
use machine::Time;
use question::Condition;
use runtime::{Answered, Ask, ChannelEvent, Effects, PortId, Seed};
use speaking::Speaking;
use std::collections::BTreeSet;
use underlay::{Labelling, Underlay};

/// The port of its packet channel.
pub(crate) const BGP_CHANNEL: PortId = PortId(4);
/// The class of its packets, and its share of the packet channel's rings.
const CLASS: (&str, u16) = ("bgp", 512);
/// The note by which the next control knows whose routes the forwarder has.
const NOTE: &str = "bgp";

fn note(section: &Bgp) -> String {
    format!("{} {}", section.asn, section.identifier)
}

/// BGP of an edge, where its section speaks it.
pub(crate) struct Peering {
    speaking: Option<Speaking>,
    underlay: Underlay,
    /// Tables and prefixes of VPNs whose route the plane was told.
    told: BTreeSet<(u32, Prefix)>,
    /// Links, or what else next hops are reached by, are others than when they were last looked at.
    is_moved: bool,
    /// It has ended, and the plane was not told yet.
    has_ended: bool,
    /// The forwarder goes on with routes of a control before this one.
    restarts: bool,
    random: [u8; 32],
    metrics: Metrics<Metric>,
    peer_table: PeerTable,
}

event::metrics! {
    /// The metrics of BGP on an edge.
    pub enum Metric {
        /// Sessions that came to exchange routes.
        Established = Counter, "pe_bgp_sessions_established_total";
        /// Sessions that ended.
        Dropped = Counter, "pe_bgp_sessions_dropped_total";
        /// Connections that ended before routes were exchanged.
        Failed = Counter, "pe_bgp_sessions_failed_total";
        /// Connections from addresses of no peer, and those of ranges that are full.
        Refused = Counter, "pe_bgp_connections_refused_total";
        /// Messages of peers that ended their session.
        Offended = Counter, "pe_bgp_offences_total";
        /// UPDATEs that offended and were answered without an end of the session (RFC 7606).
        Tolerated = Counter, "pe_bgp_offences_tolerated_total";
        /// Packets that came.
        Packets = Counter, "pe_bgp_packets_received_total";
        /// Packets that came and belong to no connection, or do not prove what they must.
        Unread = Counter, "pe_bgp_packets_discarded_total";
        /// Packets that were sent.
        Sent = Counter, "pe_bgp_packets_sent_total";
        /// Peers whose session stands.
        Up = Gauge, "pe_bgp_peers_established";
        /// Peers whose session should stand and does not.
        Down = Gauge, "pe_bgp_peers_down";
        /// Routes of all families.
        Routes = Gauge, "pe_bgp_routes";
        /// Paths of all routes.
        Paths = Gauge, "pe_bgp_paths";
        /// Prefixes of the global table that BGP has a route to.
        Chosen = Gauge, "pe_bgp_prefixes";
        /// Prefixes that tables of VPNs have from other edges.
        OfVpns = Gauge, "pe_bgp_vpn_prefixes";
    }
}

impl Peering {
    pub(crate) fn new(seed: &Seed) -> Self {
        let (metrics, peer_table) = (Metrics::new(), peer_table());
        Self {
            speaking: None,
            underlay: Underlay::default(),
            told: BTreeSet::new(),
            is_moved: false,
            has_ended: false,
            restarts: false,
            random: seed.random,
            metrics,
            peer_table,
        }
    }

    /// A forwarder takes this control: whether routes of a control before it stand there.
    pub(crate) fn welcomed(&mut self, settings: &Settings, dataplane: &Dataplane) {
        let own = settings.pe.bgp.as_ref().map(note);
        let is_ours = own.is_some() && dataplane.numbers().note(NOTE) == own.as_deref();
        self.restarts = self.speaking.is_none() && is_ours;
    }

    /// The section as it is from now on, of a forwarder that was told everything.
    pub(crate) fn configure(
        &mut self,
        now: Time,
        settings: &Settings,
        links: Vec<Link>,
        dataplane: &mut Dataplane,
        out: &mut Effects,
    ) {
        let own = settings.pe.bgp.as_ref().map(note);
        if dataplane.numbers_mut().set_note(NOTE, own) {
            dataplane.keep(out);
        }
        let Some(section) = &settings.pe.bgp else {
            self.restarts = false;
            if let Some(it) = self.speaking.take() {
                it.end(now, out);
                self.has_ended = true;
            }
            return;
        };
        self.underlay = Underlay::of(&settings.pe, None, links);
        self.is_moved = true;
        if let Some(it) = &mut self.speaking {
            return it.configure(now, settings, dataplane, section, out);
        }
        let classes = vec![(CLASS.0.to_owned(), CLASS.1)];
        let channel =
            PacketChannel::new(now, BGP_CHANNEL, ToPackets::of(&settings.launch, classes));
        let seed = Seed { shard: 0, shards: 1, random: self.random, now };
        let restarts = core::mem::take(&mut self.restarts);
        let mut it = Speaking::new(&seed, settings, section, channel, restarts);
        it.configure(now, settings, dataplane, section, out);
        self.speaking = Some(it);
    }

    /// Links may be others than they were.
    pub(crate) fn links(
        &mut self,
        settings: &Settings,
        dataplane: &Dataplane,
        is_up: impl Fn(&str) -> bool,
    ) {
        self.underlay.links(is_up);
        self.is_moved = true;
        if let Some(it) = &mut self.speaking {
            it.links(settings, dataplane);
        }
    }

    /// Whether there may be something for [`Peering::learn`].
    pub(crate) fn has_news(&self) -> bool {
        self.speaking.as_ref().is_some_and(|it| self.is_moved || it.has_news)
    }

    /// Tells the tables how next hops are reached, and what this router tells as its own, where
    /// routes to prefixes have `changed`; reads what they chose. Whose routes are others then:
    /// prefixes of the global table, and of those of VPNs.
    pub(crate) fn learn(
        &mut self,
        router: Option<&Router>,
        labelled: &Labelled,
        changed: &BTreeSet<Prefix>,
    ) -> (BTreeSet<Prefix>, BTreeSet<(u32, Prefix)>) {
        let Some(it) = &mut self.speaking else { return Default::default() };
        let all = core::mem::take(&mut self.is_moved);
        if all {
            let learnt = router.into_iter().flat_map(Router::routes);
            learnt.for_each(|(prefix, _)| self.underlay.note(prefix));
        }
        changed.iter().for_each(|prefix| self.underlay.note(*prefix));
        it.learn(&self.underlay, router, labelled, changed, all);
        (it.fib.take_changed(), it.vrfs.take_changed())
    }

    /// The route to a prefix of the global table with its preference, where BGP has one that is no
    /// subnet of this router.
    pub(crate) fn route(&self, prefix: Prefix) -> Option<(u8, &BgpRoute)> {
        let it = self.speaking.as_ref()?;
        let route =
            it.fib.route(prefix, &it.next_hops).filter(|_| !self.underlay.connects(prefix))?;
        let distances = (it.section.distance_external, it.section.distance_internal);
        Some((if route.is_external { distances.0 } else { distances.1 }, route))
    }

    /// Every prefix of the global table that BGP may have a route to.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.speaking.iter().flat_map(|it| it.fib.prefixes())
    }

    /// The hop of a route.
    pub(crate) fn hop(&self, route: &BgpRoute, hops: &mut impl Hops) -> u32 {
        self.speaking.as_ref().map_or(0, |it| route.hop(&it.next_hops, hops))
    }

    /// The ways of a route.
    pub(crate) fn ways(&self, route: &BgpRoute) -> Vec<Labelling> {
        self.speaking.as_ref().map(|it| route.ways(&it.next_hops)).unwrap_or_default()
    }

    /// Says of next hops that are reached otherwise how they are now.
    pub(crate) fn say_moved(&mut self, hops: &mut impl Hops) {
        if let Some(it) = &mut self.speaking {
            it.next_hops.say_moved(hops);
            it.vrfs.say_moved(hops);
        }
    }

    /// The hop of a prefix of a table of a VPN.
    pub(crate) fn vpn_hop(&self, at: (u32, Prefix), hops: &mut impl Hops) -> Option<u32> {
        let it = self.speaking.as_ref()?;
        it.vrfs.hop(at, &it.next_hops, hops)
    }

    /// Says the route of a prefix of a table of a VPN; what the section says there holds.
    pub(crate) fn say_vpn(&mut self, at: (u32, Prefix), edit: &mut Edit<'_>, made: &mut usize) {
        let key = (at.0, at.1.address, at.1.length);
        if edit.said().has_route(key) && !self.told.contains(&at) {
            return;
        }
        let hop = self.vpn_hop(at, &mut Editing(edit, made));
        if hop.is_some() {
            self.told.insert(at);
            edit.route(key, hop);
        } else if self.told.remove(&at) {
            edit.route(key, None);
        }
    }

    /// Every table of a VPN and prefix that it may have a route to.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, Prefix)> + '_ {
        self.speaking.iter().flat_map(|it| it.vrfs.places())
    }

    /// Everything was said.
    pub(crate) fn said(&mut self, told: BTreeSet<(u32, Prefix)>) {
        self.told = told;
        self.has_ended = false;
        if let Some(it) = &mut self.speaking {
            it.fib.said();
            it.next_hops.said();
            it.vrfs.said();
        }
    }

    /// Whether everything must be said again, since it has ended.
    pub(crate) fn take_ended(&mut self) -> bool {
        core::mem::take(&mut self.has_ended)
    }

    /// Whether nothing of before a restart is waited for.
    pub(crate) fn is_settled(&self) -> bool {
        !self.restarts && self.speaking.as_ref().is_none_or(Speaking::is_settled)
    }

    pub(crate) fn step(
        &mut self,
        now: Time,
        port: PortId,
        event: ChannelEvent<'_>,
        out: &mut Effects,
    ) {
        if let Some(it) = &mut self.speaking {
            it.arrive(now, port, event);
            it.settle(now, out);
        }
    }

    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        if let Some(it) = &mut self.speaking {
            it.tick(now, out);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.speaking.as_ref()?.deadline()
    }

    pub(crate) fn drain(&mut self, now: Time, keeps: bool, out: &mut Effects) {
        if let Some(it) = &mut self.speaking {
            it.drain(now, keeps, out);
        }
    }

    /// Answers a question about BGP; `None`: there is none, or nobody has such a one.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Option<Answered> {
        self.speaking.as_mut()?.answer(now, ask, out)
    }

    pub(crate) fn alarms(&mut self, now: Time) -> Vec<Condition> {
        self.speaking.as_mut().map(|it| it.alarms(now)).unwrap_or_default()
    }

    /// Shows what was counted.
    pub(crate) fn show(&mut self) {
        let Some(it) = &mut self.speaking else { return };
        let (tally, tables) = (it.carrier.tally(), it.rib.counters());
        let (mut counts, mut up, mut down) = (Counts::default(), 0, 0);
        for speaker in it.speakers() {
            counts.add(speaker.counts());
            up += speaker.peers().iter().filter(|(_, peer)| peer.is_up()).count();
            down += speaker.peers().iter().filter(|(_, peer)| peer.is_missed()).count();
        }
        let values = [
            (Metric::Established, counts.established),
            (Metric::Dropped, counts.dropped),
            (Metric::Failed, counts.failed),
            (Metric::Refused, counts.refused + counts.range_full + counts.range_silent),
            (Metric::Offended, counts.offended),
            (Metric::Tolerated, counts.tolerated),
            (Metric::Packets, tally.received),
            (Metric::Unread, tally.unread),
            (Metric::Sent, tally.sent),
            (Metric::Up, up as u64),
            (Metric::Down, down as u64),
            (Metric::Routes, tables.entries as u64),
            (Metric::Paths, tables.paths as u64),
            (Metric::Chosen, it.fib.len() as u64),
            (Metric::OfVpns, it.vrfs.len() as u64),
        ];
        values.into_iter().for_each(|(metric, value)| self.metrics.set(metric, value));
        self.peer_table.show(it.peer_rows());
    }

    pub(crate) fn cells(&self) -> Vec<event::MetricCells> {
        vec![self.metrics.cells(), self.peer_table.cells()]
    }
}
