//! BGP of an edge: the speaker of `stack/bgp`, whose connections `stack/streams` carries through a
//! door of the forwarder, and the tables of its routes.
//!
//! ```text
//!   door ─ packets ─→ streams::Carrier ─→ bgp_stack::Speaker ─→ rib::Rib ─→ readers: routes of
//!        ←─ packets ─      ↑ opens, sends, closes ─┘  ↑ UPDATEs ──┘          the plane
//! ```

mod ask;
mod fib;
mod own;
mod places;
mod underlay;
mod vpn;

pub(crate) use ask::{BgpFibRow, BgpNextHopRow};
pub(crate) use fib::BgpRoute;

use crate::Settings;
use crate::config::{BGP_PORT, Bgp, Pe};
use crate::hops::Editing;
use crate::hops::Hops;
use crate::labelled::Labelled;
use bgp::codec::Cease;
use bgp_stack::{Beside, In, Out, PeerTable, Speaker, Tables, frame, peer_table};
use dataplane::{Dataplane, Edit, PacketDoor};
use event::Metrics;
use fib::Fib;
use forwarder::ToPackets;
use igp::{Link, Prefix, Router};
use machine::{Duration, Time};
use own::Own;
use places::Places;
use question::Condition;
use rib::{PeerId, Rib, Sending};
use runtime::{Answered, Ask, ChannelEvent, Effects, PortId, Seed};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use streams::{Carried, Carrier, Doors};
use underlay::{Labelling, Underlay};
use vpn::Vpn;

/// The channel of its door.
pub(crate) const BGP_DOOR: PortId = PortId(4);
/// The flows of who connects.
const ACCEPTED: PortId = PortId(15);
/// The class of its packets, and its share of the door's rings.
const CLASS: (&str, u16) = ("bgp", 512);
/// Connections at most: two of each peer while they collide.
const CONNECTIONS_MAX: usize = 2 * bgp_stack::config::PEERS_MAX;
/// What the tables do in one tick at most, in routes: packets are taken between two.
const WORK_MAX: usize = 20_000;
/// Time for which nobody is told anything beside a forwarder that went on.
const DEFERRAL_S: u32 = 60;

/// The note by which the next control knows whose routes the forwarder has.
const NOTE: &str = "bgp";

fn note(section: &Bgp) -> String {
    format!("{} {}", section.asn, section.identifier)
}

/// Nothing is known beside them but this router itself.
struct Alone;

impl Beside for Alone {
    fn name_of(&self, id: PeerId) -> Option<String> {
        (id == PeerId::OWN).then(|| "own".to_owned())
    }
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
            if let Some(it) = self.speaking.take() {
                it.end(now, out);
                self.has_ended = true;
            }
            return;
        };
        self.underlay = Underlay::of(&settings.pe, links);
        self.is_moved = true;
        let tables = vpn::tables(settings, dataplane);
        if let Some(it) = &mut self.speaking {
            it.configure(now, &settings.pe, section, out);
            return it.serve(tables);
        }
        let classes = vec![(CLASS.0.to_owned(), CLASS.1)];
        let door = PacketDoor::new(now, BGP_DOOR, ToPackets::of(&settings.launch, classes));
        let seed = Seed { shard: 0, shards: 1, random: self.random, now };
        let restarts = core::mem::take(&mut self.restarts);
        let mut it = Speaking::new(&seed, &settings.pe, section, door, restarts);
        it.serve(tables);
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
            it.serve(vpn::tables(settings, dataplane));
        }
    }

    /// Whether there may be something for [`Peering::learn`].
    pub(crate) fn has_news(&self) -> bool {
        self.speaking.as_ref().is_some_and(|it| self.is_moved || it.has_news)
    }

    /// Tells the tables how next hops are reached, and what this router tells as its own, where
    /// what leads there `has_moved`; reads what they chose. Whose routes are others then: prefixes
    /// of the global table, and of those of VPNs.
    pub(crate) fn learn(
        &mut self,
        router: Option<&Router>,
        labelled: &Labelled,
        has_moved: bool,
    ) -> (BTreeSet<Prefix>, BTreeSet<(u32, Prefix)>) {
        let all = core::mem::take(&mut self.is_moved) || has_moved;
        let Some(it) = &mut self.speaking else { return Default::default() };
        it.learn(&self.underlay, router, labelled, all);
        let of_tables = it.vpn.take_changed(it.fib.moved());
        (it.fib.take_changed(), of_tables)
    }

    /// The route to a prefix of the global table with its preference, where BGP has one that is no
    /// subnet of this router.
    pub(crate) fn route(&self, prefix: Prefix) -> Option<(u8, &BgpRoute)> {
        let it = self.speaking.as_ref()?;
        let route = it.fib.route(prefix).filter(|_| !self.underlay.connects(prefix))?;
        let distances = (it.section.distance_external, it.section.distance_internal);
        Some((if route.is_external { distances.0 } else { distances.1 }, route))
    }

    /// Every prefix of the global table that BGP may have a route to.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.speaking.iter().flat_map(|it| it.fib.prefixes())
    }

    /// The hop of a route.
    pub(crate) fn hop(&self, route: &BgpRoute, hops: &mut impl Hops) -> u32 {
        self.speaking.as_ref().map_or(0, |it| it.fib.hop(route, hops))
    }

    /// The ways of a route.
    pub(crate) fn ways(&self, route: &BgpRoute) -> Vec<Labelling> {
        self.speaking.as_ref().map(|it| it.fib.ways(route)).unwrap_or_default()
    }

    /// Says of next hops that are reached otherwise how they are now.
    pub(crate) fn say_moved(&mut self, hops: &mut impl Hops) {
        if let Some(it) = &mut self.speaking {
            it.fib.say_moved(hops);
        }
    }

    /// The hop of a prefix of a table of a VPN.
    pub(crate) fn vpn_hop(&self, at: (u32, Prefix), hops: &mut impl Hops) -> Option<u32> {
        let it = self.speaking.as_ref()?;
        it.vpn.route(at, &it.fib)?.hop(&it.fib, hops)
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
        self.speaking.iter().flat_map(|it| it.vpn.places())
    }

    /// Everything was said.
    pub(crate) fn said(&mut self, told: BTreeSet<(u32, Prefix)>) {
        self.told = told;
        self.has_ended = false;
        if let Some(it) = &mut self.speaking {
            it.fib.said();
        }
    }

    /// Whether everything must be said again, since it has ended.
    pub(crate) fn take_ended(&mut self) -> bool {
        core::mem::take(&mut self.has_ended)
    }

    /// Whether nothing of before a restart is waited for.
    pub(crate) fn is_settled(&self) -> bool {
        self.speaking.as_ref().is_none_or(|it| it.speaker.deferral().is_none() && !it.has_news)
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
        let (counts, tally, tables) = (*it.speaker.counts(), it.carrier.tally(), it.rib.counters());
        let peers = || it.speaker.peers().iter().map(|(_, peer)| peer);
        let up = peers().filter(|peer| peer.is_up()).count();
        let down = peers().filter(|peer| peer.is_missed()).count();
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
            (Metric::OfVpns, it.vpn.len() as u64),
        ];
        values.into_iter().for_each(|(metric, value)| self.metrics.set(metric, value));
        it.tables(|it| it.show_peers(&self.peer_table));
    }

    pub(crate) fn cells(&self) -> Vec<event::MetricCells> {
        vec![self.metrics.cells(), self.peer_table.cells()]
    }
}

/// A speaker, its connections and its tables.
pub(crate) struct Speaking {
    section: Bgp,
    function: String,
    speaker: Speaker,
    rib: Rib,
    carrier: Carrier,
    places: Places,
    /// What the speaker wants of connections that no runtime has.
    wanted: Effects,
    rib_seed: u64,
    /// The tables have something to do.
    has_work: bool,
    fib: Fib,
    vpn: Vpn,
    own: Own,
    /// Tables have changed what they chose, perhaps.
    has_news: bool,
    /// There is more of that than was read at once.
    has_more: bool,
}

/// A secret of its connections, which numbers that strangers see say nothing of.
fn secret(seed: &Seed) -> [u8; 16] {
    machine::KeyedHash::derive(&seed.random, b"streams of bgp")
}

/// What the tables are told of this router.
fn tables(section: &Bgp, seed: u64, speaker: &Speaker) -> rib::Settings {
    rib::Settings {
        asn: section.asn,
        identifier: section.identifier.to_bits(),
        cluster: section.cluster.unwrap_or(section.identifier).to_bits(),
        policy: Some(Arc::clone(speaker.policies()) as Arc<dyn rib::Policy>),
        seed,
        bounds: rib::Bounds::default(),
    }
}

impl Speaking {
    fn new(seed: &Seed, pe: &Pe, section: &Bgp, door: PacketDoor, restarts: bool) -> Self {
        let number = |at| u64::from_le_bytes(core::array::from_fn(|n: usize| seed.random[at + n]));
        let deferral_s = section.deferral_s.unwrap_or(DEFERRAL_S);
        let waits = restarts && section.restarts();
        let deferral = Duration::from_secs(if waits { deferral_s.into() } else { 0 });
        let listens = section.listens();
        let speaker = Speaker::new(seed, &section.speaker(&listens), deferral, None);
        let rib_seed = number(8);
        let mut rib = Rib::new(tables(section, rib_seed, &speaker));
        rib.follow_next_hops();
        let mut it = Self {
            fib: Fib::new(&mut rib, section.paths_max),
            vpn: Vpn::new(&mut rib),
            own: Own::default(),
            has_news: true,
            has_more: false,
            function: pe.name.clone(),
            rib,
            carrier: Carrier::new(door, frame, &secret(seed), CONNECTIONS_MAX),
            places: Places::default(),
            wanted: Effects::default(),
            section: section.clone(),
            speaker,
            rib_seed,
            has_work: false,
        };
        it.place(seed.now, pe);
        it
    }

    /// Where connections begin and end.
    fn place(&mut self, now: Time, pe: &Pe) {
        self.places = Places::of(pe, &self.section);
        let listens = self.section.listens();
        let doors = Doors {
            port: BGP_PORT,
            number: ACCEPTED,
            own: self.places.own().collect(),
            guards: self.section.speaker(&listens).guards(),
        };
        self.carrier.configure(now, doors);
    }

    fn configure(&mut self, now: Time, pe: &Pe, next: &Bgp, out: &mut Effects) {
        let old = core::mem::replace(&mut self.section, next.clone());
        if !old.is_same(next) {
            let cease = Cease::OtherConfigurationChange;
            self.speaker.stop_all(now, cease, &mut self.wanted);
            self.follow(now, &[]);
            self.rib = Rib::new(tables(next, self.rib_seed, &self.speaker));
            self.rib.follow_next_hops();
            self.fib.renew(&mut self.rib, next.paths_max);
            self.vpn.renew(&mut self.rib);
            self.own.forget();
        } else if old.paths_max != next.paths_max {
            self.fib.share(&mut self.rib, next.paths_max);
        }
        let listens = next.listens();
        self.tables(|it| it.set_policies(&next.speaker(&listens)));
        self.speaker.configure(now, &next.speaker(&listens), &mut self.wanted);
        self.place(now, pe);
        self.follow(now, &[]);
        self.has_work = true;
        self.settle(now, out);
    }

    /// Tables that take part in VPNs.
    fn serve(&mut self, tables: Vec<vpn::Table>) {
        let here = self.places.here().four.and_then(|it| match it {
            IpAddr::V4(it) => Some(it),
            IpAddr::V6(_) => None,
        });
        self.vpn.configure(&mut self.rib, tables, here);
        (self.has_work, self.has_news) = (true, true);
    }

    fn learn(
        &mut self,
        underlay: &Underlay,
        router: Option<&Router>,
        labelled: &Labelled,
        all: bool,
    ) {
        let rib = &mut self.rib;
        if all {
            self.own.tell(rib, &self.section, self.places.here(), underlay, router);
        }
        let has_new = self.fib.resolve(rib, all, |it| underlay.reach(it, router, labelled));
        let has_more = self.fib.read(rib);
        self.has_more = self.vpn.read(rib) || has_more;
        self.has_news = self.has_more;
        // Peers are told of what is reached otherwise.
        self.has_work |= all || has_new;
    }

    fn tables<T>(&mut self, act: impl FnOnce(&mut Tables<'_>) -> T) -> T {
        let (speaker, rib, asn) = (&mut self.speaker, &mut self.rib, self.section.asn);
        act(&mut Tables { speaker, rib, asn, beside: &Alone })
    }

    /// Something came by the door.
    fn arrive(&mut self, now: Time, port: PortId, event: ChannelEvent<'_>) {
        let speaker = &self.speaker;
        self.carrier.step(now, port, event, |_, far: IpAddr| speaker.welcomes(far));
    }

    /// Carries what the speaker wants, and tells it what came of that, until nothing more does.
    fn settle(&mut self, now: Time, out: &mut Effects) {
        loop {
            let places = &self.places;
            self.carrier.carry(now, &mut self.wanted, |flow| places.from(flow));
            self.carrier.settle(now, out);
            let Some(carried) = self.carrier.hear() else { return };
            let wanted = &mut self.wanted;
            let mut bytes: &[u8] = &[];
            match &carried {
                Carried::Up(flow) => self.speaker.step(now, In::Connected(*flow), wanted),
                Carried::Down(flow, why) => self.speaker.step(now, In::Lost(flow, why), wanted),
                Carried::Octets(flow, octets) => {
                    bytes = octets;
                    self.speaker.step(now, In::Octets(flow, octets), wanted);
                }
                Carried::Written(flow, octets, left) => {
                    self.speaker.step(now, In::Written(flow, *octets, *left), wanted);
                }
            }
            self.follow(now, bytes);
        }
    }

    /// Tells the tables what the speaker has to say.
    fn follow(&mut self, now: Time, bytes: &[u8]) {
        let mut wanted = core::mem::take(&mut self.wanted);
        while let Some(said) = self.speaker.next(now, bytes, &mut wanted) {
            self.has_work |= !matches!(said, Out::Sent(_));
            self.has_news |= !matches!(said, Out::Sent(_) | Out::Written(..));
            let function = &*self.function;
            match &said {
                Out::Up(id, it) => {
                    let (peer, asn) = (self.speaker.name_of(*id), it.negotiated.peer.asn);
                    let address = it.neighbour.address;
                    tracing::info!(
                        target: "bgp", function, peer, %address, asn, "the session stands"
                    );
                }
                Out::Down(_, it) => {
                    let (peer, address, reason) = (&*it.name, it.address, &*it.reason);
                    tracing::warn!(
                        target: "bgp", function, peer, %address, reason, "the session ended"
                    );
                }
                _ => {}
            }
            self.tables(|it| it.take(now, &said, &mut wanted));
        }
        self.wanted = wanted;
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.has_more = false;
        self.carrier.tick(now, out);
        self.speaker.tick(now, &mut self.wanted);
        self.follow(now, &[]);
        if self.rib.deadline().is_some_and(|at| at <= now) {
            self.rib.tick(now);
            (self.has_work, self.has_news) = (true, true);
        }
        self.has_work |= self.speaker.deferral().is_some_and(|at| at <= now);
        self.work(now);
        self.settle(now, out);
    }

    /// Lets the tables work for a while; what they have to say leaves.
    fn work(&mut self, now: Time) {
        if !core::mem::take(&mut self.has_work) {
            return;
        }
        if !self.speaker.is_deferring(now, &mut self.wanted) {
            self.has_work = self.rib.work(now, WORK_MAX);
        }
        while let Some(Sending { peer, bytes, updates }) = self.rib.next_sending() {
            self.speaker.send_updates(now, peer, bytes, updates.into(), &mut self.wanted);
        }
    }

    fn deadline(&self) -> Option<Time> {
        if self.has_work || self.has_more {
            return Some(Time::ZERO);
        }
        let all = [self.speaker.deadline(), self.rib.deadline(), self.carrier.deadline()];
        all.into_iter().flatten().min()
    }

    /// The site ends in order. Beside a forwarder that goes on (`keeps`) peers that bear a restart
    /// hear nothing of it but that their connection is reset.
    fn drain(&mut self, now: Time, keeps: bool, out: &mut Effects) {
        if !(keeps && self.section.restarts()) {
            let text = self.section.shutdown_text.clone();
            self.speaker.drain(now, text.as_deref(), &mut self.wanted);
            self.follow(now, &[]);
        }
        self.settle(now, out);
    }

    /// It ends: peers hear it, and the door is closed.
    fn end(mut self, now: Time, out: &mut Effects) {
        self.drain(now, false, out);
        self.carrier.end(out);
    }

    fn answer(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Option<Answered> {
        let mut wanted = core::mem::take(&mut self.wanted);
        let answer = self.tables(|it| it.answer(now, ask, &mut wanted));
        self.wanted = wanted;
        if answer.is_some() {
            self.follow(now, &[]);
            self.has_work = true;
            self.settle(now, out);
        }
        answer
    }

    fn alarms(&mut self, now: Time) -> Vec<Condition> {
        let function = self.function.clone();
        let mut rows: Vec<Condition> = self.tables(|it| it.alarms().collect());
        rows.extend(self.tables(|it| it.away_alarms(now, &function)));
        rows
    }
}
