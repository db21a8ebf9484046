//! The speakers of an edge, one for each routing table, with the tables of their routes. All of
//! them have the connections of one packet channel.

use super::fib::Fib;
use super::own::{Here, Own, wanted};
use super::places::Places;
use super::resolver::Resolver;
use super::underlay::Underlay;
use super::vrfs::{self, Vrfs, Wished};
use crate::Settings;
use crate::config::{BGP_PORT, Bgp, Pe, Vrf};
use crate::labelled::Labelled;
use bgp::codec::Cease;
use bgp_stack::{Beside, In, Out, PeerMetrics, Refusal, Speaker, Tables, alarm, frame};
use dataplane::{Dataplane, PacketChannel};
use igp::{Prefix, Router};
use machine::{Duration, Time};
use question::Condition;
use rib::{PeerId, Rib, Sending};
use runtime::{Answered, Ask, AskError, ChannelEvent, Effects, PortId, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use streams::{Carried, Carrier, ListenTerms, Unmet};

/// The number of the global table.
const GLOBAL: u32 = 0;
/// The flows of who connects.
const ACCEPTED: PortId = PortId(15);
/// Connections at most: two of each peer while they collide.
const CONNECTIONS_MAX: usize = 2 * bgp_stack::config::PEERS_MAX;
/// What the tables do in one tick at most, in routes: packets are taken between two.
const WORK_MAX: usize = 20_000;
/// What a table counts for that has more to tell than it told at once.
const TELLS: usize = 1_000;
/// Time for which nobody is told anything beside a forwarder that went on.
const DEFERRAL_S: u32 = 60;

/// Beside a table nothing is known but this router itself, and its other tables.
struct Alone<'a>(Option<&'a str>);

impl Beside for Alone<'_> {
    fn vrf(&self) -> Option<&str> {
        self.0
    }

    fn name_of(&self, id: PeerId) -> Option<String> {
        match id {
            PeerId::OWN => Some("own".to_owned()),
            PeerId::IMPORTED => Some("vpn".to_owned()),
            _ => None,
        }
    }
}

/// The speaker of a routing table.
struct TableSpeaker {
    /// The name of the table; none: the global one.
    vrf: Option<String>,
    /// The section, with the peers of that table.
    section: Bgp,
    speaker: Speaker,
    places: Places,
    /// What the speaker wants of connections that no runtime has.
    wanted: Effects,
}

/// Speakers, their connections and their tables.
pub(crate) struct Speaking {
    pub(super) section: Bgp,
    function: String,
    random: [u8; 32],
    /// Of the global table, and of VPNs.
    pub(super) rib: Rib,
    speakers: BTreeMap<u32, TableSpeaker>,
    pub(super) carrier: Carrier,
    /// The tables have something to do.
    has_work: bool,
    /// The customers' table that works first.
    turn: u32,
    pub(super) next_hops: Resolver,
    pub(super) fib: Fib,
    pub(super) vrfs: Vrfs,
    own: Own,
    /// Tables have changed what they chose, perhaps.
    pub(super) has_news: bool,
    /// There is more of that than was read at once.
    has_more: bool,
}

/// What ties break by in the tables.
fn seed_of(random: &[u8; 32]) -> u64 {
    u64::from_le_bytes(core::array::from_fn(|n: usize| random[8 + n]))
}

/// A secret of its connections, which numbers that strangers see say nothing of.
fn secret_of(random: &[u8; 32]) -> [u8; 16] {
    machine::KeyedHash::derive(random, b"streams of bgp")
}

/// What the tables of peers are told of this router.
fn base(section: &Bgp, seed: u64, speaker: &Speaker) -> rib::Settings {
    rib::Settings {
        asn: section.asn,
        identifier: section.identifier.to_bits(),
        cluster: section.cluster.unwrap_or(section.identifier).to_bits(),
        policy: Some(Arc::clone(speaker.policies()) as Arc<dyn rib::Policy>),
        seed,
        bounds: rib::Bounds::default(),
    }
}

/// The same for those of VPNs.
fn vpns(section: &Bgp, seed: u64) -> l3vpn::Settings {
    l3vpn::Settings {
        asn: section.asn,
        identifier: section.identifier.to_bits(),
        next_hop: Ipv4Addr::UNSPECIFIED,
        policy: None,
        seed,
        bounds: rib::Bounds::default(),
        wishes: false,
    }
}

impl TableSpeaker {
    fn new(
        seed: &Seed,
        vrf: Option<String>,
        section: Bgp,
        deferral: Duration,
        tables: &[Vrf],
    ) -> Self {
        let listens = section.listens();
        let speaker = Speaker::new(seed, &section.speaker(&listens, tables), deferral, None);
        let (places, wanted) = (Places::default(), Effects::default());
        Self { vrf, section, speaker, places, wanted }
    }
}

impl Speaking {
    pub(super) fn new(
        seed: &Seed,
        settings: &Settings,
        section: &Bgp,
        channel: PacketChannel,
        restarts: bool,
    ) -> Self {
        let deferral_s = section.deferral_s.unwrap_or(DEFERRAL_S);
        let waits = restarts && section.restarts();
        let deferral = Duration::from_secs(if waits { deferral_s.into() } else { 0 });
        let own = section.by_table().remove(&None).unwrap_or_else(|| section.clone());
        let global = TableSpeaker::new(seed, None, own, deferral, &settings.pe.vrf);
        let secret = seed_of(&seed.random);
        let mut rib = Rib::new(base(section, secret, &global.speaker));
        rib.follow_next_hops();
        Self {
            next_hops: Resolver::new("bgp"),
            fib: Fib::new(&mut rib, section.paths_max),
            vrfs: Vrfs::new(&mut rib, vpns(section, secret), section.paths_max),
            own: Own::default(),
            has_news: true,
            has_more: false,
            turn: GLOBAL,
            function: settings.pe.name.clone(),
            random: seed.random,
            rib,
            speakers: BTreeMap::from([(GLOBAL, global)]),
            carrier: Carrier::new(channel, frame, &secret_of(&seed.random), CONNECTIONS_MAX),
            section: section.clone(),
            has_work: false,
        }
    }

    pub(super) fn configure(
        &mut self,
        now: Time,
        settings: &Settings,
        dataplane: &Dataplane,
        next: &Bgp,
        out: &mut Effects,
    ) {
        let old = core::mem::replace(&mut self.section, next.clone());
        if !old.is_same(next) {
            self.renew(now, next);
        } else if old.paths_max != next.paths_max {
            self.fib.share(&mut self.rib, next.paths_max);
        }
        let mut sections = next.by_table();
        if let Some(own) = sections.remove(&None) {
            self.set(now, GLOBAL, own, &settings.pe.vrf);
        }
        self.place(now, &settings.pe);
        self.serve(now, settings, dataplane, sections);
        self.settle(now, out);
    }

    /// Another router by its numbers: all sessions begin anew, with tables that know nothing.
    fn renew(&mut self, now: Time, next: &Bgp) {
        for table in self.speakers.keys().copied().collect::<Vec<_>>() {
            if let Some(it) = self.speakers.get_mut(&table) {
                it.speaker.stop_all(now, Cease::OtherConfigurationChange, &mut it.wanted);
            }
            self.follow(now, table, &[]);
        }
        let secret = seed_of(&self.random);
        let Some(global) = self.speakers.get(&GLOBAL) else { return };
        self.rib = Rib::new(base(next, secret, &global.speaker));
        self.rib.follow_next_hops();
        self.fib.renew(&mut self.rib, next.paths_max);
        let gone = self.vrfs.forget();
        self.vrfs = Vrfs::new(&mut self.rib, vpns(next, secret), next.paths_max);
        self.vrfs.take_back(gone);
        self.own = Own::default();
    }

    /// The speaker of a table as it is from now on.
    fn set(&mut self, now: Time, table: u32, next: Bgp, tables: &[Vrf]) {
        let listens = next.listens();
        self.tables(table, |it| it.set_policies(&next.speaker(&listens, tables)));
        self.vrfs.touch(table);
        if let Some(it) = self.speakers.get_mut(&table) {
            it.speaker.configure(now, &next.speaker(&listens, tables), &mut it.wanted);
            it.section = next;
        }
        self.follow(now, table, &[]);
        (self.has_work, self.has_news) = (true, true);
    }

    /// Links may be others than they were.
    pub(super) fn links(&mut self, settings: &Settings, dataplane: &Dataplane) {
        let wished = vrfs::wished(settings, dataplane, self.here());
        self.serve_tables(wished);
    }

    /// Where routes of this router lead to.
    fn here(&self) -> Here {
        self.speakers.get(&GLOBAL).map(|it| it.places.here()).unwrap_or_default()
    }

    fn serve_tables(&mut self, wished: Vec<Wished>) {
        let here = self.here().four.and_then(|it| match it {
            IpAddr::V4(it) => Some(it),
            IpAddr::V6(_) => None,
        });
        self.vrfs.serve(&mut self.rib, wished, here, self.section.paths_max);
        (self.has_work, self.has_news) = (true, true);
    }

    /// The tables of VPNs, and their speakers; the global one is placed.
    fn serve(
        &mut self,
        now: Time,
        settings: &Settings,
        dataplane: &Dataplane,
        mut sections: BTreeMap<Option<String>, Bgp>,
    ) {
        let wished = vrfs::wished(settings, dataplane, self.here());
        let names: BTreeMap<u32, String> =
            wished.iter().map(|it| (it.number, it.name.clone())).collect();
        let is_gone = |(table, it): (&u32, &TableSpeaker)| {
            let is_there = *table == GLOBAL || names.get(table) == it.vrf.as_ref();
            (!is_there).then_some(*table)
        };
        let gone: Vec<u32> = self.speakers.iter().filter_map(is_gone).collect();
        for table in gone {
            self.part(now, table);
        }
        self.serve_tables(wished);
        for (table, name) in names {
            let mut empty = Bgp { peer: Vec::new(), listen: Vec::new(), ..self.section.clone() };
            empty.group.iter_mut().for_each(|it| it.ranges.clear());
            let section = sections.remove(&Some(name.clone())).unwrap_or(empty);
            if !self.speakers.contains_key(&table) {
                self.join(now, table, name, section, &settings.pe.vrf);
            } else {
                self.set(now, table, section, &settings.pe.vrf);
            }
        }
        self.place(now, &settings.pe);
    }

    /// A table has a speaker from now on.
    fn join(&mut self, now: Time, table: u32, name: String, section: Bgp, tables: &[Vrf]) {
        let mut random = self.random;
        random.iter_mut().zip(table.to_be_bytes()).for_each(|(octet, it)| *octet ^= it);
        let seed = Seed { shard: 0, shards: 1, random, now };
        let waits = self.speakers.get(&GLOBAL).and_then(|it| it.speaker.deferral());
        let deferral = waits.map_or(Duration::from_secs(0), |until| until.since(now));
        let it = TableSpeaker::new(&seed, Some(name), section, deferral, tables);
        let policies = Arc::clone(it.speaker.policies()) as Arc<dyn rib::Policy>;
        let Some(rib) = self.vrfs.rib_mut(table) else { return };
        rib.set_policy(Some(policies), &[], &[]);
        self.speakers.insert(table, it);
        self.follow(now, table, &[]);
    }

    /// A table is no more: its sessions end.
    fn part(&mut self, now: Time, table: u32) {
        if let Some(it) = self.speakers.get_mut(&table) {
            it.speaker.stop_all(now, Cease::PeerDeconfigured, &mut it.wanted);
        }
        self.follow(now, table, &[]);
        self.carry(now, table);
        self.speakers.remove(&table);
    }

    /// Where connections begin and end.
    fn place(&mut self, now: Time, pe: &Pe) {
        let (mut own, mut guards) = (BTreeSet::new(), BTreeMap::new());
        for (table, it) in &mut self.speakers {
            it.places = Places::of(pe, &it.section, it.vrf.as_deref());
            own.extend(it.places.own().map(|address| (*table, address)));
            let listens = it.section.listens();
            guards.insert(*table, it.section.speaker(&listens, &pe.vrf).guards());
        }
        self.carrier.configure(now, ListenTerms { port: BGP_PORT, number: ACCEPTED, own, guards });
    }

    pub(super) fn learn(
        &mut self,
        underlay: &Underlay,
        router: Option<&Router>,
        labelled: &Labelled,
        changed: &BTreeSet<Prefix>,
        all: bool,
    ) {
        let here = self.here();
        let rib = &mut self.rib;
        if all || !changed.is_empty() {
            self.own.tell(rib, wanted(&self.section, here, underlay, router));
        }
        if all {
            self.next_hops.doubt_all();
        }
        changed.iter().for_each(|prefix| self.next_hops.doubt(*prefix));
        let learnt = Some((router, labelled));
        let has_told = self.next_hops.resolve(rib, |it| underlay.reach(it, learnt));
        let has_more = self.fib.read(rib);
        self.has_more = self.vrfs.learn() || has_more || self.next_hops.has_more();
        self.has_news = self.has_more;
        // Peers are told of what is reached otherwise, in tables of VPNs as well.
        self.has_work |= all || has_told || !changed.is_empty() || self.vrfs.has_work();
    }

    /// Acts on the speaker of a table, and on its routes.
    fn tables<T>(&mut self, table: u32, act: impl FnOnce(&mut Tables<'_>) -> T) -> Option<T> {
        let TableSpeaker { vrf, speaker, .. } = self.speakers.get_mut(&table)?;
        let rib = if table == GLOBAL { &mut self.rib } else { self.vrfs.rib_mut(table)? };
        let beside = &Alone(vrf.as_deref());
        Some(act(&mut Tables { speaker, rib, asn: self.section.asn, beside }))
    }

    /// Something came by the packet channel.
    pub(super) fn arrive(&mut self, now: Time, port: PortId, event: ChannelEvent<'_>) {
        let speakers = &self.speakers;
        let refused = self.carrier.step(now, port, event, |table, far: IpAddr| {
            speakers.get(&table).is_some_and(|it| it.speaker.welcomes(far))
        });
        let Some((table, far, unmet)) = refused else { return };
        let why = match unmet {
            None => Refusal::NoPeer,
            Some(Unmet::TooFar) => Refusal::TooFar,
            Some(Unmet::NoSignature) => Refusal::NoPassword,
            Some(Unmet::WrongSignature) => Refusal::WrongPassword,
            Some(Unmet::UnknownSignature) => Refusal::UnknownPassword,
        };
        if let Some(it) = self.speakers.get_mut(&table) {
            it.speaker.step(now, In::Refused(far, why), &mut it.wanted);
        }
    }

    /// Carries what the speaker of a table wants.
    fn carry(&mut self, now: Time, table: u32) {
        let Some(it) = self.speakers.get_mut(&table) else { return };
        let places = &it.places;
        self.carrier.carry(now, table, &mut it.wanted, |flow| places.from(flow));
    }

    /// Carries what the speakers want, and tells them what came of that, until nothing more does.
    pub(super) fn settle(&mut self, now: Time, out: &mut Effects) {
        for table in self.speakers.keys().copied().collect::<Vec<_>>() {
            self.carry(now, table);
        }
        loop {
            self.carrier.settle(now, out);
            let Some((table, carried)) = self.carrier.hear() else { return };
            let Some(it) = self.speakers.get_mut(&table) else { continue };
            let (speaker, wanted) = (&mut it.speaker, &mut it.wanted);
            let mut bytes: &[u8] = &[];
            match &carried {
                Carried::Up(flow) => speaker.step(now, In::Connected(*flow), wanted),
                Carried::Down(flow, why) => speaker.step(now, In::Lost(flow, why), wanted),
                Carried::Octets(flow, octets) => {
                    bytes = octets;
                    speaker.step(now, In::Octets(flow, octets), wanted);
                }
                Carried::Written(flow, octets, left) => {
                    speaker.step(now, In::Written(flow, *octets, *left), wanted);
                }
            }
            self.follow(now, table, bytes);
            self.carry(now, table);
        }
    }

    /// Tells the tables what the speaker of one has to say.
    fn follow(&mut self, now: Time, table: u32, bytes: &[u8]) {
        let Some(it) = self.speakers.get_mut(&table) else { return };
        let mut wanted = core::mem::take(&mut it.wanted);
        while let Some(it) = self.speakers.get_mut(&table)
            && let Some(mut said) = it.speaker.next(now, bytes, &mut wanted)
        {
            self.has_work |= !matches!(said, Out::Sent(_));
            self.has_news |= !matches!(said, Out::Sent(_) | Out::Written(..));
            let function = &*self.function;
            let vrf = it.vrf.as_deref().unwrap_or_default();
            match &mut said {
                Out::Up(id, up) => {
                    up.neighbour.subnets = it.places.around(up.neighbour.address);
                    up.neighbour.own_ipv6 = up.neighbour.subnets.iter().find_map(|it| match it.0 {
                        IpAddr::V6(own) if !own.is_unicast_link_local() => Some(own),
                        _ => None,
                    });
                    let (peer, asn) = (it.speaker.name_of(*id), up.negotiated.peer.asn);
                    let address = up.neighbour.address;
                    tracing::info!(
                        target: "bgp", function, vrf, peer, %address, asn, "the session stands"
                    );
                }
                Out::Down(_, it) => {
                    let (peer, address, reason) = (&*it.name, it.address, &*it.reason);
                    tracing::warn!(
                        target: "bgp", function, vrf, peer, %address, reason, "the session ended"
                    );
                }
                _ => {}
            }
            let is_news = !matches!(said, Out::Sent(_) | Out::Written(..));
            self.tables(table, |it| it.take(now, &said, &mut wanted));
            if is_news {
                self.vrfs.touch(table);
            }
        }
        if let Some(it) = self.speakers.get_mut(&table) {
            it.wanted = wanted;
        }
    }

    pub(super) fn tick(&mut self, now: Time, out: &mut Effects) {
        self.has_more = false;
        self.carrier.tick(now, out);
        for table in self.speakers.keys().copied().collect::<Vec<_>>() {
            let Some(it) = self.speakers.get_mut(&table) else { continue };
            self.has_work |= it.speaker.deferral().is_some_and(|at| at <= now);
            if it.speaker.deadline().is_some_and(|at| at <= now) {
                it.speaker.tick(now, &mut it.wanted);
                self.follow(now, table, &[]);
            }
            let due = |rib: &Rib| rib.deadline().is_some_and(|at| at <= now);
            let rib = if table == GLOBAL { Some(&mut self.rib) } else { self.vrfs.rib_mut(table) };
            if let Some(rib) = rib.filter(|rib| due(rib)) {
                rib.tick(now);
                self.vrfs.touch(table);
                (self.has_work, self.has_news) = (true, true);
            }
        }
        self.has_work |= self.vrfs.tick(now, &mut self.rib);
        self.work(now);
        self.settle(now, out);
    }

    /// Lets the tables work for a while; what they have to say leaves.
    fn work(&mut self, now: Time) {
        if !core::mem::take(&mut self.has_work) {
            return;
        }
        // What tables have taken goes to others first.
        let mut has_work = self.vrfs.work(&mut self.rib, WORK_MAX);
        // What customers have not told again yet, other edges would take for gone.
        let mut is_deferring = false;
        for it in self.speakers.values_mut() {
            is_deferring |= it.speaker.is_deferring(now, &mut it.wanted);
        }
        // The global table has its own, customers have one together.
        let (mut of_core, mut of_customers) = (WORK_MAX, WORK_MAX);
        let customers = GLOBAL + 1..;
        let after = self.speakers.range(self.turn.max(GLOBAL + 1)..);
        let before = self.speakers.range(customers).filter(|it| *it.0 < self.turn);
        let order = after.chain(before).map(|it| *it.0);
        let order: Vec<u32> = [GLOBAL].into_iter().chain(order).collect();
        for table in order {
            let Some(it) = self.speakers.get_mut(&table) else { continue };
            let (rib, left) = match table {
                GLOBAL => (Some(&mut self.rib), &mut of_core),
                table => (self.vrfs.rib_mut(table), &mut of_customers),
            };
            let Some(rib) = rib else { continue };
            if *left == 0 {
                // The others work first the next time.
                (has_work, self.turn) = (true, table);
                break;
            }
            if !is_deferring && rib.work_within(now, left) {
                has_work = true;
                *left = left.saturating_sub(TELLS);
            }
            while let Some(Sending { peer, bytes, updates }) = rib.next_sending() {
                it.speaker.send_updates(now, peer, bytes, updates.into(), &mut it.wanted);
            }
            // What went with a customer is chosen by this very work, and other edges hear of it.
            has_work |= self.vrfs.has_worked(table);
        }
        self.has_work = has_work;
        self.has_news = true;
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        if self.has_work || self.has_more {
            return Some(Time::ZERO);
        }
        let each = self.speakers.iter().flat_map(|(table, it)| {
            let rib = if *table == GLOBAL { Some(&self.rib) } else { self.vrfs.rib(*table) };
            [it.speaker.deadline(), rib.and_then(Rib::deadline)]
        });
        each.chain([self.carrier.deadline(), self.vrfs.deadline()]).flatten().min()
    }

    /// Whether nobody waits for routes of before a restart, and what came is worked up: imported
    /// into tables, decided, read.
    pub(super) fn is_settled(&self) -> bool {
        let waits = |it: &TableSpeaker| it.speaker.is_recovering();
        !self.has_work && !self.has_news && !self.speakers.values().any(waits)
    }

    /// The site ends in order. Beside a forwarder that goes on (`keeps`) peers that bear a restart
    /// hear nothing of it but that their connection is reset.
    pub(super) fn drain(&mut self, now: Time, keeps: bool, out: &mut Effects) {
        if !(keeps && self.section.restarts()) {
            let text = self.section.shutdown_text.clone();
            for table in self.speakers.keys().copied().collect::<Vec<_>>() {
                if let Some(it) = self.speakers.get_mut(&table) {
                    it.speaker.drain(now, text.as_deref(), &mut it.wanted);
                }
                self.follow(now, table, &[]);
            }
        }
        self.settle(now, out);
    }

    /// It ends: peers hear it, and the packet channel is closed.
    pub(super) fn end(mut self, now: Time, out: &mut Effects) {
        self.drain(now, false, out);
        self.carrier.end(out);
    }

    /// The table that a question is about: the one that it names, or that of the peer which it
    /// names.
    fn asked(&self, ask: &Ask) -> Result<u32, AskError> {
        if let Some(vrf) = ask.params.get("vrf") {
            let found = self.speakers.iter().find(|(_, it)| it.vrf.as_ref() == Some(vrf));
            let none = || AskError::NotFound(format!("routing table {vrf} with customers"));
            return found.map(|(table, _)| *table).ok_or_else(none);
        }
        let names = ["peer", "received", "advertised"];
        let Some(name) = names.iter().find_map(|it| ask.params.get(*it)) else {
            return Ok(GLOBAL);
        };
        let has = |it: &TableSpeaker| {
            let speaker = &it.speaker;
            speaker.peers().find(name).is_some() || speaker.away().any(|it| it.name == *name)
        };
        let found = self.speakers.iter().find(|(_, it)| has(it));
        Ok(found.map_or(GLOBAL, |(table, _)| *table))
    }

    pub(super) fn answer(&mut self, now: Time, ask: &Ask, out: &mut Effects) -> Option<Answered> {
        if ask.path == "bgp/summary" && !ask.params.contains_key("vrf") {
            return self.summary(now, ask);
        }
        let table = match self.asked(ask) {
            Ok(table) => table,
            Err(error) => {
                let is_ours = bgp_stack::ask::questions().iter().any(|it| it.path == ask.path);
                return is_ours.then_some(Err(error));
            }
        };
        let mut wanted = core::mem::take(&mut self.speakers.get_mut(&table)?.wanted);
        let answer = self.tables(table, |it| it.answer(now, ask, &mut wanted));
        self.speakers.get_mut(&table)?.wanted = wanted;
        let answer = answer??;
        self.follow(now, table, &[]);
        self.has_work = true;
        self.settle(now, out);
        Some(answer)
    }

    /// The peers of all tables.
    fn summary(&mut self, now: Time, ask: &Ask) -> Option<Answered> {
        let mut rows = Vec::new();
        for table in self.speakers.keys().copied().collect::<Vec<_>>() {
            let answer =
                self.tables(table, |it| it.answer(now, ask, &mut Effects::default()))??;
            match answer {
                Ok(serde_json::Value::Array(some)) => rows.extend(some),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(serde_json::Value::Array(rows)))
    }

    pub(super) fn alarms(&mut self, now: Time) -> Vec<Condition> {
        let function = self.function.clone();
        let mut rows = Vec::new();
        for table in self.speakers.keys().copied().collect::<Vec<_>>() {
            let found = self.tables(table, |it| {
                let mut rows: Vec<Condition> = it.alarms(now).collect();
                rows.extend(it.away_alarms(now, &function));
                rows
            });
            rows.extend(found.unwrap_or_default());
        }
        rows.extend(self.vrfs.full().map(|it| {
            let text = format!(
                "routing table {} has {} routes of {} that it may have (`routes_max`): {} of other \
                 edges were refused",
                it.name, it.routes, it.routes_max, it.refused
            );
            alarm("vrf-routes-exceeded", &it.name, "major", &text)
        }));
        rows.extend(self.vrfs.withheld().map(|it| {
            let text = format!(
                "routing table {} exports {} routes, as many as it may: {} were withheld",
                it.name, it.routes_max, it.refused
            );
            alarm("vrf-exports-exceeded", &it.name, "major", &text)
        }));
        rows
    }

    /// The speakers, to be counted.
    pub(super) fn speakers(&self) -> impl Iterator<Item = &Speaker> {
        self.speakers.values().map(|it| &it.speaker)
    }

    /// The metrics of all peers.
    pub(super) fn peer_rows(&mut self) -> Vec<PeerMetrics> {
        let tables: Vec<u32> = self.speakers.keys().copied().collect();
        let rows = tables.into_iter().filter_map(|it| self.tables(it, |it| it.peer_rows()));
        rows.flatten().collect()
    }
}
