//! BGP of an edge: the speaker of `stack/bgp`, whose connections `stack/streams` carries through a
//! door of the forwarder, and the tables of its routes.
//!
//! ```text
//!   door ─ packets ─→ streams::Carrier ─→ bgp_stack::Speaker ─→ rib::Rib ─→ readers: routes of
//!        ←─ packets ─      ↑ opens, sends, closes ─┘  ↑ UPDATEs ──┘          the plane
//! ```

mod places;

use crate::Settings;
use crate::config::{BGP_PORT, Bgp, Pe};
use bgp::codec::Cease;
use bgp_stack::{Beside, In, Out, PeerTable, Speaker, Tables, frame, peer_table};
use dataplane::{Dataplane, PacketDoor};
use event::Metrics;
use forwarder::ToPackets;
use machine::{Duration, Time};
use places::Places;
use question::Condition;
use rib::{Rib, Sending};
use runtime::{Answered, Ask, ChannelEvent, Effects, PortId, Seed};
use std::net::IpAddr;
use std::sync::Arc;
use streams::{Carried, Carrier, Doors};

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

impl Beside for Alone {}

/// BGP of an edge, where its section speaks it.
pub(crate) struct Peering {
    speaking: Option<Speaking>,
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
    }
}

impl Peering {
    pub(crate) fn new(seed: &Seed) -> Self {
        let (metrics, peer_table) = (Metrics::new(), peer_table());
        Self { speaking: None, restarts: false, random: seed.random, metrics, peer_table }
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
            }
            return;
        };
        if let Some(it) = &mut self.speaking {
            return it.configure(now, &settings.pe, section, out);
        }
        let (socket, keys) = (settings.launch.socket.clone(), settings.launch.keys.clone());
        let classes = vec![(CLASS.0.to_owned(), CLASS.1)];
        let door = PacketDoor::new(now, BGP_DOOR, ToPackets { socket, keys, classes });
        let seed = Seed { shard: 0, shards: 1, random: self.random, now };
        let restarts = core::mem::take(&mut self.restarts);
        self.speaking = Some(Speaking::new(&seed, &settings.pe, section, door, restarts));
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
        let mut it = Self {
            function: pe.name.clone(),
            rib: Rib::new(tables(section, rib_seed, &speaker)),
            carrier: Carrier::new(door, frame, number(16), CONNECTIONS_MAX),
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
        }
        let listens = next.listens();
        self.tables(|it| it.set_policies(&next.speaker(&listens)));
        self.speaker.configure(now, &next.speaker(&listens), &mut self.wanted);
        self.place(now, pe);
        self.follow(now, &[]);
        self.has_work = true;
        self.settle(now, out);
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
            let Some(carried) = self.carrier.next() else { return };
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
            let function = &*self.function;
            match &said {
                Out::Up(id, it) => {
                    let (peer, asn) = (self.speaker.name_of(*id), it.negotiated.peer.asn);
                    let address = it.neighbour.address;
                    tracing::info!(target: "bgp", function, peer, %address, asn, "the session stands");
                }
                Out::Down(_, it) => {
                    let (peer, address, reason) = (&*it.name, it.address, &*it.reason);
                    tracing::warn!(target: "bgp", function, peer, %address, reason, "the session ended");
                }
                _ => {}
            }
            self.tables(|it| it.take(now, &said, &mut wanted));
        }
        self.wanted = wanted;
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        self.carrier.tick(now, out);
        self.speaker.tick(now, &mut self.wanted);
        self.follow(now, &[]);
        if self.rib.deadline().is_some_and(|at| at <= now) {
            self.rib.tick(now);
            self.has_work = true;
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
        if self.has_work {
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
        self.carrier.close(out);
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
