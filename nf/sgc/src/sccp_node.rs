//! SCCP and TCAP of this node, an MTP3 user: the end of what is addressed to it, and a relay point
//! that translates global titles.
//!
//! ```text
//!   MSU, SI 3, own point code ─→ sccp::Node ─┬─ another node ─→ MTP3
//!                                   ↑        ├─ subsystem of `echo` ─→ back
//!                                   │        └─ subsystem of `tcap` ─→ Transactions ⇄ services
//!                                   └──────────── N-UNITDATA ───────────────┘
//! ```
//! Of several shards the first has the node, the others have transactions and services: what
//! passes from one to the other is `handed` ([`crate::shards`]).

mod connections;

use crate::applications::Applications;
use crate::clustered::{clustered, settings};
use crate::config::Sgc;
use crate::config::sccp::{Dialogues, SubsystemUser};
use crate::services::Services;
use crate::shards::{Owed, Part, Releases, SourceCounts, Spread, Transit, Work};
use cluster::{Clustered, abort_of, aborted};
use core::hash::{Hash, Hasher};
use m3ua::Transfer;
use m3ua::codec::{Affected, PointCode};
use machine::identity::mix;
use machine::{Machine, Time};
use runtime::Seed;
use sccp::codec::{Address, Class, ReturnCause};
use sccp::{In, Indication, Node, Out, Unitdata};
use screening_stack::RuleSets;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::DefaultHasher;
use tcap::{Sources, Transactions};
use tcu::{PointCodeStatus, Side, Wanted};

/// Steps that one event may lead to here, at most: what goes on is discarded, and counted.
const STEPS_MAX: usize = 256;
const SECRET_OF_TCAP: u64 = 0x5443_4150;

/// Something that could not be delivered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undelivered {
    pub(crate) called: Address,
    pub(crate) calling: Address,
    pub(crate) cause: ReturnCause,
}

/// SCCP and TCAP of a shard.
pub(crate) struct SccpNode {
    pub(crate) node: Node,
    pub(crate) transactions: Transactions,
    /// This node as one of a cluster.
    pub(crate) clustered: Option<Box<Clustered>>,
    /// What becomes of the data of subsystems.
    users: BTreeMap<u8, (SubsystemUser, Dialogues)>,
    pub(crate) services: Services,
    /// The association that what is under way came by.
    pub(crate) by: Option<m3ua::PeerId>,
    /// What is to be done here before anything else.
    queue: VecDeque<In>,
    /// What could not be delivered in this turn.
    undelivered: Vec<Undelivered>,
    /// Nodes that an operator has asked.
    pub(crate) pings: crate::ping::Pings,
    pub(crate) outs: Vec<Out>,
    pub(crate) tcap_outs: Vec<tcap::Out>,
    part: Part,
    /// Work for other shards.
    handed: Vec<(u16, Work)>,
    /// What they did not take and have to be told.
    owed: Owed,
    /// Dialogues by source: of all shards at the first one, and what is over at the others.
    sources: SourceCounts,
    releases: Releases,
    shard: u16,
    pub(crate) secret: u64,
    /// What applications want that are gone.
    wanted: Vec<Wanted>,
    /// What rules say of what comes.
    pub(crate) rules: RuleSets,
}

impl SccpNode {
    /// A node without subsystems, until [`SccpNode::configure`].
    pub(crate) fn new(seed: Seed, config: &Sgc) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = seed.random;
        // Nothing else is made with the same number.
        let secret = mix(u64::from_be_bytes([a, b, c, d, e, f, g, h]) ^ SECRET_OF_TCAP);
        let clustered = clustered(seed.now, config);
        let settings = config.tcap_settings(seed.shard, secret);
        let transactions = match &clustered {
            Some(_) => Transactions::shared(settings, seed.now),
            None => Transactions::new(settings, seed.now),
        };
        let shard = seed.shard;
        let part = Part::of(&seed);
        let handed = match &part {
            Part::Whole => Vec::new(),
            Part::Links(spread) => spread.dialogues().map(|it| (it, Work::Born)).collect(),
            Part::Dialogues => vec![(0, Work::Born)],
        };
        Self {
            node: Node::new(config.sccp_settings_of(secret), config.rules()),
            transactions,
            clustered,
            users: BTreeMap::new(),
            services: Services::new(&seed),
            by: None,
            queue: VecDeque::new(),
            undelivered: Vec::new(),
            pings: crate::ping::Pings::default(),
            outs: Vec::new(),
            tcap_outs: Vec::new(),
            part,
            handed,
            owed: Owed::default(),
            sources: SourceCounts::default(),
            releases: Releases::default(),
            shard,
            secret,
            wanted: Vec::new(),
            rules: RuleSets::new(secret),
        }
    }

    /// Takes another configuration; what is under way goes on. `old` is the one before.
    pub(crate) fn configure(&mut self, now: Time, old: Option<&Sgc>, next: &Sgc) {
        if let (Some(of), Some(settings)) = (&mut self.clustered, settings(next)) {
            of.configure(settings);
        }
        let has_others = |old: &Sgc| {
            let is_read = old.filed.is_read() || next.filed.is_read();
            is_read || old.translation != next.translation
        };
        if old.is_some_and(has_others) {
            self.node.set_rules(next.rules());
        }
        self.node.set_settings(next.sccp_settings());
        if old.is_none_or(|old| old.screening != next.screening) {
            self.rules.configure(&next.screening, &|it| next.point_code_format.read_range(it));
        }
        self.rules.set_network(next.network(), next.sccp.network_indicator);
        self.transactions.set_settings(next.tcap_settings(self.shard, self.secret));
        let row = |it: &crate::config::sccp::Subsystem| (it.number, (it.user, it.dialogues));
        let before = core::mem::replace(&mut self.users, next.subsystem.iter().map(row).collect());
        for number in before.keys().filter(|it| !self.users.contains_key(*it)) {
            self.node.remove_subsystem(*number, &mut self.outs);
        }
        let served: BTreeSet<u8> =
            next.application.iter().filter_map(|it| next.subsystem_of(it)).collect();
        if self.part.has_dialogues() {
            let mut side = Side { transactions: &mut self.transactions, outs: &mut self.tcap_outs };
            let shard = self.shard;
            self.wanted.extend(self.services.applications.configure(now, next, shard, &mut side));
        }
        if self.part.has_links() {
            self.connections_follow(old, next);
            self.states_follow(old, next, &before, &served);
        }
        if let Part::Links(spread) = &mut self.part {
            // Shards say by themselves which instances are there.
            let news = served.iter().filter(|it| !spread.serves(**it)).copied();
            let news: Vec<u8> = news.collect();
            spread.serve(served);
            let applications = &self.services.applications;
            let is = |it: u8| spread.can_serve(it) && !applications.is_blocked(it);
            self.queue.extend(news.into_iter().map(|it| In::State(it, is(it))));
        }
    }

    /// Subsystems that no application serves are in service as the configuration says.
    fn states_follow(
        &mut self,
        old: Option<&Sgc>,
        next: &Sgc,
        before: &BTreeMap<u8, (SubsystemUser, Dialogues)>,
        served: &BTreeSet<u8>,
    ) {
        // One that an operator took out of service stays so.
        let enabled = |of: &Sgc, number: u8| {
            of.subsystem.iter().find(|it| it.number == number).map(|it| it.enabled)
        };
        let applications = &self.services.applications;
        let was_served = |of: &Sgc, number: u8| {
            of.application.iter().any(|it| of.subsystem_of(it) == Some(number))
        };
        // An application that is gone leaves its subsystem in service: it refuses.
        let left = before.keys().filter(|number| self.users.contains_key(*number));
        let left = left.filter(|number| {
            !served.contains(*number) && old.is_some_and(|old| was_served(old, **number))
        });
        let left = left.filter(|number| !applications.is_blocked(**number));
        self.queue.extend(left.map(|it| In::State(*it, enabled(next, *it) != Some(false))));
        let is_news = |it: &&crate::config::sccp::Subsystem| {
            let was = old.and_then(|old| enabled(old, it.number));
            let is_new = !before.contains_key(&it.number) || was != Some(it.enabled);
            // Those of applications are in service when these are.
            is_new && !served.contains(&it.number)
        };
        let news = next.subsystem.iter().filter(is_news);
        self.queue.extend(news.map(|it| In::State(it.number, it.enabled)));
    }

    /// MTP3 tells of destinations, or an MSU came for a point code of this node; what is to be sent
    /// is added to `wants`. Returns whether all was carried out.
    pub(crate) fn step(&mut self, now: Time, input: In, wants: &mut Vec<Transfer>) -> bool {
        self.queue.push_back(input);
        self.run(now, wants)
    }

    /// Timers.
    pub(crate) fn tick(&mut self, now: Time, wants: &mut Vec<Transfer>) -> bool {
        self.handed.extend(self.owed.take(now));
        if let Some(of) = &mut self.clustered {
            of.tick(now);
        }
        self.node.tick(now, &mut self.outs);
        self.services.tick(now, &mut self.transactions, &mut self.tcap_outs);
        self.run(now, wants)
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let own = self.node.deadline().into_iter().chain(self.transactions.deadline());
        let own = own.chain(self.services.deadline()).chain(self.owed.deadline());
        let cluster = self.clustered.as_ref().and_then(|it| it.deadline());
        own.chain(self.releases.deadline()).chain(cluster).min()
    }

    /// A subsystem goes out of service, or comes back.
    pub(crate) fn set_state(&mut self, now: Time, number: u8, is: bool, wants: &mut Vec<Transfer>) {
        let mut is = self.services.applications.block(number, !is);
        if let Part::Links(spread) = &self.part {
            is &= spread.can_serve(number);
        }
        self.step(now, In::State(number, is), wants);
    }

    /// What could not be delivered since this was asked last.
    pub(crate) fn take_undelivered(&mut self) -> impl Iterator<Item = Undelivered> {
        self.undelivered.drain(..)
    }

    /// Whether a point code is one of this node.
    pub(crate) fn is_own(&self, point_code: PointCode) -> bool {
        self.node.point_codes().any(|it| it == point_code)
    }

    pub(crate) fn run(&mut self, now: Time, wants: &mut Vec<Transfer>) -> bool {
        self.undelivered.clear();
        // Of dialogues there is nothing for a node without links.
        if !self.part.has_links() {
            self.queue.clear();
        }
        self.carry_out(now, wants);
        self.serve(now);
        // What waits already is no consequence: all dialogues may time out at once.
        for _ in 0..self.queue.len() + STEPS_MAX {
            let Some(input) = self.queue.pop_front() else { break };
            self.by = if let In::TransferBy(by, _) = &input { Some(*by) } else { None };
            self.node.step(now, input, &mut self.outs);
            self.carry_out(now, wants);
            self.serve(now);
        }
        // What follows has nothing to do with who sent the last one.
        self.by = None;
        let is_done = self.queue.is_empty();
        self.queue.clear();
        is_done
    }

    /// What the SCCP node wants.
    fn carry_out(&mut self, now: Time, wants: &mut Vec<Transfer>) {
        let mut outs = core::mem::take(&mut self.outs);
        for out in outs.drain(..) {
            match out {
                Out::Transfer(msu) if self.is_own(msu.dpc) => {
                    if self.serves_connection(&msu, 0) {
                        self.queue.push_back(In::Transfer(msu));
                    }
                }
                Out::Transfer(msu) => wants.push(msu),
                Out::Indicate(indication) => self.indicated(now, indication),
            }
        }
        self.outs = outs;
        self.tell_connections(now);
        self.rules.take_owed(wants);
    }

    fn indicated(&mut self, now: Time, indication: Indication) {
        if let Some(told) = management(&indication) {
            self.tell(now, told);
        }
        match indication {
            Indication::Unitdata(Some(from), unitdata) if self.rules.awaits => {
                self.whole(now, from, unitdata);
            }
            Indication::Unitdata(from, unitdata) => self.unitdata(now, from, unitdata),
            Indication::Notice { calling, cause, data, .. } if self.has_tcap(&calling) => {
                self.notice(cause, data);
            }
            Indication::Notice { called, calling, cause, data } if self.is_network(&calling) => {
                self.network_notice(now, (called, calling), cause, data);
            }
            Indication::Connection(of, event) => self.connection_event(now, of, event),
            Indication::NotConnected(tag, cause) => self.not_connected(now, tag, cause),
            Indication::Undelivered { called, calling, cause, .. } => {
                self.undelivered.push(Undelivered { called, calling, cause });
            }
            Indication::Tested(of, subsystem, is) => self.pings.heard(now, of, subsystem, is),
            // Nobody here asks a replicate, and none is asked for.
            Indication::Notice { .. }
            | Indication::State(..)
            | Indication::PointCode(..)
            | Indication::Sccp(..)
            | Indication::Congested(..)
            | Indication::Coordinate(..)
            | Indication::Coordinated(..) => {}
        }
    }

    pub(crate) fn user(&self, address: &Address) -> Option<(SubsystemUser, Dialogues)> {
        self.users.get(&address.subsystem?).copied()
    }

    fn has_tcap(&self, address: &Address) -> bool {
        self.user(address).is_some_and(|it| it.0 == SubsystemUser::Tcap)
    }

    fn is_network(&self, address: &Address) -> bool {
        self.user(address).is_some_and(|it| it.0 == SubsystemUser::Sccp)
    }

    /// N-STATE and N-PCSTATE, for all applications.
    fn tell(&mut self, now: Time, told: tcu::Indication) {
        match &self.part {
            Part::Links(spread) => {
                self.handed.extend(spread.dialogues().map(|it| (it, Work::Told(told.clone()))));
            }
            _ => self.services.applications.tell(now, &told),
        }
    }

    /// Data of a dialogue came back.
    fn notice(&mut self, cause: u8, data: bytes::Bytes) {
        match &self.part {
            Part::Links(spread) => {
                let shard = spread.sender_of(&data);
                self.handed.extend(shard.map(|it| (it, Work::Notice(cause, data))));
            }
            _ => self.notice_of(cause, data, 0),
        }
    }

    /// Data that came in segments: rules are asked about the whole.
    fn whole(&mut self, now: Time, from: PointCode, mut unitdata: Unitdata) {
        let own = self.node.point_codes().next().unwrap_or(from);
        if self.rules.lets_whole(now, (self.by, from), own, &mut unitdata) {
            self.unitdata(now, Some(from), unitdata);
        }
    }

    /// Data for a subsystem here.
    fn unitdata(&mut self, now: Time, from: Option<PointCode>, unitdata: Unitdata) {
        match self.user(&unitdata.called) {
            // What echoes send asks for no return: two of them do not keep each other busy.
            Some((SubsystemUser::Echo, _)) if from.is_some() && unitdata.class.returns => {
                let (called, calling) = (unitdata.calling, unitdata.called);
                let class = Class { returns: false, ..unitdata.class };
                self.queue.push_back(In::Unitdata(Unitdata { called, calling, class, ..unitdata }));
            }
            Some((SubsystemUser::Echo, _)) | None => {}
            Some((SubsystemUser::Sccp, _)) => self.network_unitdata(now, from, unitdata),
            Some((SubsystemUser::Tcap, _))
                if self.services.sheds_begins && Spread::is_begin(&unitdata.data) =>
            {
                self.transactions.shed_late();
                self.queue.extend(aborted(&unitdata).map(In::Unitdata));
            }
            Some((SubsystemUser::Tcap, _)) if let Part::Links(spread) = &mut self.part => {
                let number = unitdata.called.subsystem.unwrap_or_default();
                let shard = spread.of(now, number, &unitdata.data);
                let transit = Transit { by: self.by, from, place: None, unitdata };
                self.give(shard, transit);
            }
            Some((SubsystemUser::Tcap, _)) if self.clustered.is_some() => {
                self.unitdata_of(from, unitdata, 0);
            }
            Some((SubsystemUser::Tcap, dialogues)) => {
                // Its dialogues count as those of who has sent the MSU, whatever calls.
                let source = source(self.by, from, &unitdata.calling);
                self.services.unitdata(dialogues, tcap::In::UnitdataOf(source, unitdata));
            }
        }
    }

    /// A dialogue begins that the first shard has counted at that place.
    fn begins(&mut self, place: u16, unitdata: Unitdata) {
        match self.user(&unitdata.called) {
            Some((SubsystemUser::Tcap, _)) if self.services.sheds_begins => {
                self.transactions.shed_late();
                self.releases.again(Time::ZERO, vec![place]);
                let transit = |unitdata| Transit { by: self.by, from: None, place: None, unitdata };
                let abort = aborted(&unitdata).map(|it| (0, Work::Unitdata(transit(it))));
                self.handed.extend(abort);
            }
            Some((SubsystemUser::Tcap, dialogues)) => {
                self.services.unitdata(dialogues, tcap::In::UnitdataAt(place, unitdata));
            }
            // A commit came between.
            _ => self.releases.again(Time::ZERO, vec![place]),
        }
    }

    /// A message of a dialogue goes to a shard; one that begins a dialogue counts as one of its
    /// source there, if that may have another.
    fn give(&mut self, shard: u16, mut transit: Transit) {
        if Spread::is_begin(&transit.unitdata.data) {
            let source = source(self.by, transit.from, &transit.unitdata.calling);
            let place = Sources::numbered(self.secret, source);
            let most = self.transactions.settings().dialogues_per_source_max;
            if !self.sources.has_room(place, most) {
                self.transactions.shed_of_source();
                return self.queue.extend(aborted(&transit.unitdata).map(In::Unitdata));
            }
            self.sources.add(shard, place);
            transit.place = Some(place);
        }
        self.handed.push((shard, Work::Unitdata(transit)));
    }

    /// Tells the first shard which dialogues are over.
    fn tell_released(&mut self, now: Time) {
        let released = self.transactions.released();
        self.releases.add(now, released);
        self.handed.extend(self.releases.take(now).map(|it| (0, Work::Released(it))));
    }

    /// What is to be done before anything else.
    pub(crate) fn extend_queue(&mut self, all: impl IntoIterator<Item = In>) {
        self.queue.extend(all);
    }

    /// Messages of dialogues, and what becomes of these.
    fn serve(&mut self, now: Time) {
        self.services.serve(now, &mut self.transactions, &mut self.tcap_outs);
        self.tell_changes(now);
        for out in self.tcap_outs.drain(..) {
            let tcap::Out::Unitdata(unitdata) = out else { continue };
            match self.part {
                Part::Dialogues => {
                    let transit = Transit { by: self.by, from: None, place: None, unitdata };
                    self.handed.push((0, Work::Unitdata(transit)));
                }
                _ => match &mut self.clustered {
                    Some(of) if of.batches.now.tells() => of.batches.now.unitdata.push(unitdata),
                    _ => self.queue.push_back(In::Unitdata(unitdata)),
                },
            }
        }
        self.serve_network();
        match self.part {
            Part::Dialogues => {
                self.tell_released(now);
                let ranks = self.services.applications.ranks(now);
                let ranks = ranks.into_iter().map(|(number, rank)| Work::Rank(number, rank));
                self.handed.extend(ranks.map(|it| (0, it)));
            }
            _ if self.clustered.is_some() => {
                if !self.services.applications.changed().is_empty() {
                    self.cluster_states();
                }
            }
            _ => {
                let changed = self.services.applications.changed();
                self.queue.extend(changed.into_iter().map(|(number, is)| In::State(number, is)));
            }
        }
    }

    /// Another shard handed this over; what is to be sent is added to `wants`. The association that
    /// has led to it is the one whose rules hold for that.
    pub(crate) fn worked(
        &mut self,
        now: Time,
        from: u16,
        work: Work,
        wants: &mut Vec<Transfer>,
    ) -> Option<m3ua::PeerId> {
        let mut by = None;
        match (work, &mut self.part) {
            (Work::Unitdata(it), Part::Links(_)) => {
                by = it.by;
                self.queue.push_back(In::Unitdata(it.unitdata));
            }
            (Work::Rank(number, rank), Part::Links(spread)) => {
                let changed = spread.rank(from, number, rank);
                let is_blocked = self.services.applications.is_blocked(number);
                let changed = changed.filter(|_| !is_blocked);
                self.queue.extend(changed.map(|is| In::State(number, is)));
            }
            (Work::Born, Part::Links(spread)) => {
                let lost = spread.born(from);
                self.queue.extend(lost.into_iter().map(|it| In::State(it, false)));
                self.owed.forget(from);
                self.sources.forget(from);
                self.connections_lost(now, from);
            }
            (Work::Born, Part::Dialogues) => {
                self.owed.forget(from);
                self.releases.clear();
                self.transactions.forget_sources();
                self.services.applications.tell_again(None);
                self.services.applications.connections_lost(now);
            }
            (Work::Connection(input), Part::Links(_)) => self.input_of(from, input),
            (Work::Event(of, event), Part::Dialogues) => self.event_of(now, from, of, event),
            (Work::NotConnected(tag, cause), Part::Dialogues) => {
                self.not_connected(now, tag, cause);
            }
            (Work::Returned(cause, unitdata), Part::Dialogues) => {
                self.returned(now, cause, unitdata);
            }
            (Work::Unitdata(it), Part::Dialogues) => {
                self.by = it.by;
                match it.place {
                    Some(place) => self.begins(place, it.unitdata),
                    None => self.unitdata(now, it.from, it.unitdata),
                }
            }
            (Work::Released(places), Part::Links(_)) => {
                places.into_iter().for_each(|place| self.sources.remove(from, place));
            }
            (Work::Notice(cause, data), Part::Dialogues) => {
                self.services.notice(tcap::In::Notice(cause, data));
            }
            (Work::Told(told), Part::Dialogues) => self.services.applications.tell(now, &told),
            // Nothing of the kind is handed to this part.
            _ => {}
        }
        self.run(now, wants);
        self.by = None;
        by
    }

    /// A shard did not take this. What began goes to another one, or is aborted; whether it was
    /// lost.
    pub(crate) fn handed_back(&mut self, now: Time, to: u16, work: Work) -> bool {
        let has_tcap = matches!(&work, Work::Unitdata(it) if self.has_tcap(&it.unitdata.called));
        match (work, &mut self.part) {
            (Work::Unitdata(it), Part::Links(spread)) => {
                spread.rests(now, to);
                if let Some(place) = it.place {
                    self.sources.remove(to, place);
                }
                // No other subsystem has transactions that an abort could end.
                if !has_tcap {
                    return true;
                }
                if let Some(unitdata) = abort_of(&it.unitdata) {
                    let abort = Transit { by: it.by, from: it.from, place: None, unitdata };
                    self.owed.aborted(now, to, abort);
                }
                if Spread::is_abort(&it.unitdata.data) {
                    return false;
                }
                let is_begin = Spread::is_begin(&it.unitdata.data);
                if is_begin && spread.has_other(to) {
                    let number = it.unitdata.called.subsystem.unwrap_or_default();
                    let shard = spread.of(now, number, &it.unitdata.data);
                    if shard != to {
                        if let Some(place) = it.place {
                            self.sources.add(shard, place);
                        }
                        self.handed.push((shard, Work::Unitdata(it)));
                        return false;
                    }
                }
                self.queue.extend(aborted(&it.unitdata).map(In::Unitdata));
                true
            }
            (Work::Event(of, event), Part::Links(spread)) => {
                spread.rests(now, to);
                self.event_not_taken(now, to, of, event)
            }
            (Work::NotConnected(tag, cause), Part::Links(_)) => {
                self.owed.refused(now, to, tag, cause);
                false
            }
            (Work::Born, Part::Links(spread)) => {
                spread.rests(now, to);
                self.owed.begun(now, to);
                false
            }
            (Work::Connection(input), Part::Dialogues) => self.input_handed_back(now, to, input),
            (Work::Rank(..), Part::Dialogues) => {
                self.services.applications.tell_again(Some(now));
                false
            }
            (Work::Released(places), Part::Dialogues) => {
                self.releases.again(now, places);
                false
            }
            // With it the first shard forgets the ranks that it was told before.
            (Work::Born, Part::Dialogues) => {
                self.owed.begun(now, to);
                self.services.applications.tell_again(Some(now));
                false
            }
            _ => true,
        }
    }

    /// Where no instance of an application is there: whether one has been. Of a shard that cannot
    /// know, none.
    pub(crate) fn is_absent(&self, name: &str, subsystem: u8) -> Option<bool> {
        match &self.part {
            Part::Whole => {
                let (_, end) = self.services.applications.iter().find(|it| it.0 == name)?;
                (!end.is_available()).then(|| end.status().counts.welcomed > 0)
            }
            Part::Links(spread) => spread.is_absent(subsystem),
            Part::Dialogues => None,
        }
    }

    /// Work for other shards since this was asked last.
    pub(crate) fn take_handed(&mut self) -> impl Iterator<Item = (u16, Work)> {
        self.handed.drain(..)
    }

    /// The number of its shard.
    pub(crate) const fn shard(&self) -> u16 {
        self.shard
    }

    /// What it is of its gateway.
    pub(crate) const fn part(&self) -> &Part {
        &self.part
    }

    /// Does something at an application; what is to be sent is added to `wants`.
    pub(crate) fn at_application(
        &mut self,
        now: Time,
        name: &str,
        act: impl FnOnce(&mut tcu::Application, &mut Side<'_>),
        wants: &mut Vec<Transfer>,
    ) {
        let Some(application) = self.services.applications.of(name) else { return };
        let mut side = Side { transactions: &mut self.transactions, outs: &mut self.tcap_outs };
        act(application, &mut side);
        self.run(now, wants);
    }

    /// The applications.
    pub(crate) const fn applications(&self) -> &Applications {
        &self.services.applications
    }

    /// What applications want of their connections.
    pub(crate) fn take_application_wants(&mut self) -> Vec<Wanted> {
        let mut wanted = core::mem::take(&mut self.wanted);
        wanted.append(&mut self.services.applications.take_wanted());
        wanted
    }

    /// What is worth a line of a log.
    pub(crate) fn take_notices(&mut self) -> Vec<(String, tcu::Notice)> {
        self.services.applications.take_notices()
    }

    /// MTP-PAUSE, MTP-RESUME, MTP-STATUS; what is to be sent is added to `wants`.
    pub(crate) fn mtp(
        &mut self,
        now: Time,
        affected: Affected,
        what: Mtp,
        wants: &mut Vec<Transfer>,
    ) {
        let input = match what {
            Mtp::Pause => In::Pause(affected),
            Mtp::Resume => In::Resume(affected),
            Mtp::Status(cause) => In::Status(affected, cause),
        };
        self.step(now, input, wants);
    }
}

/// What applications are told of other nodes: N-STATE and N-PCSTATE.
fn management(indication: &Indication) -> Option<tcu::Indication> {
    let status = |point_code, status| Some(tcu::Indication::PointCode { point_code, status });
    match *indication {
        Indication::State(point_code, subsystem, in_service) => {
            Some(tcu::Indication::State { point_code, subsystem, in_service })
        }
        Indication::PointCode(at, true) => status(at, PointCodeStatus::Accessible),
        Indication::PointCode(at, false) => status(at, PointCodeStatus::Inaccessible),
        Indication::Sccp(at, true) => status(at, PointCodeStatus::SccpAvailable),
        Indication::Sccp(at, false) => status(at, PointCodeStatus::SccpUnavailable),
        Indication::Congested(at, level) => status(at, PointCodeStatus::Congested(level)),
        _ => None,
    }
}

/// The number of who has sent a message: its association and its point code; of this node itself
/// its subsystem, which it cannot choose.
pub(crate) fn source(by: Option<m3ua::PeerId>, from: Option<PointCode>, calling: &Address) -> u64 {
    let mut hasher = DefaultHasher::new();
    let subsystem = if from.is_none() { calling.subsystem } else { None };
    (by.filter(|_| from.is_some()), from, subsystem).hash(&mut hasher);
    hasher.finish()
}

/// What MTP3 tells of destinations.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mtp {
    Pause,
    Resume,
    Status(m3ua::Cause),
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;
    use tcap::codec::{TransactionId, Writer};

    #[test]
    fn a_shard_can_do_nothing_with_connections_that_it_does_not_have() {
        let text = "name = \"bsc\"\npoint_code_format = \"decimal\"\npoint_codes = [\"9\"]";
        let config: Sgc = toml::from_str(text).expect("a section");
        let seed = Seed { now: Time::ZERO, random: [7; 32], shard: 0, shards: 3 };
        let mut it = SccpNode::new(seed, &config);
        it.configure(Time::ZERO, None, &config);
        assert!(it.take_handed().all(|it| it.1 == Work::Born));
        let of = sccp::codec::LocalReference::truncated(5);
        let data =
            Work::Connection(sccp::ConnectionInput::Data(of, bytes::Bytes::from_static(b"x")));
        it.worked(Time::ZERO, 2, data, &mut Vec::new());
        let handed: Vec<_> = it.take_handed().collect();
        assert!(
            matches!(handed[..], [(2, Work::Event(it, sccp::ConnectionEvent::Disconnected { .. }))]
                if it == of),
            "{handed:?}"
        );
    }

    #[test]
    fn all_dialogues_that_time_out_at_once_are_broken_off() {
        const DIALOGUES: u32 = 1_000;
        let text = "name = \"hlr\"\npoint_code_format = \"decimal\"\npoint_codes = [\"9\"]\n\
                    subsystem = [{ name = \"hlr\", number = 6, user = \"tcap\" }]";
        let config: Sgc = toml::from_str(text).expect("a section");
        let seed = Seed { now: Time::ZERO, random: [7; 32], shard: 0, shards: 1 };
        let mut it = SccpNode::new(seed, &config);
        it.configure(Time::ZERO, None, &config);
        let at = |number, subsystem| Address::subsystem(PointCode::new(number), subsystem);
        for number in 0..DIALOGUES {
            let mut data = Vec::new();
            Writer::begin(TransactionId::of(number)).write(&mut data, |_| ());
            let unitdata = Unitdata {
                called: at(9, 6),
                calling: at(1, 8),
                class: Class { is_sequenced: false, returns: false },
                sls: 0,
                importance: None,
                data: data.into(),
            };
            let input = tcap::In::Unitdata(unitdata);
            it.transactions.step(Time::ZERO, input, &mut it.tcap_outs);
        }
        it.tcap_outs.clear();
        let (mut sent, mut wants) = (0, Vec::new());
        let mut now = Time::ZERO;
        while now < Time::ZERO + Duration::from_secs(900) {
            now += Duration::from_secs(30);
            assert!(it.tick(now, &mut wants));
            sent += core::mem::take(&mut wants).len();
        }
        assert_eq!(sent, DIALOGUES as usize);
    }
}
