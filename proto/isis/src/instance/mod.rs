//! An instance of IS-IS: a machine; PDUs and time go in, PDUs and routes come out.
//!
//! ```text
//! In::Pdu → receive.rs → hello.rs · election.rs        adjacencies, designated system
//!                      → update.rs → flood.rs          fragments come, are installed, go on
//!                      → sequence.rs                   databases are compared
//! an operator → change.rs                              settings and circuits, live
//! every step: originate.rs (what we say) · age.rs (what is too old) · run.rs (SPF, routes)
//! ```

mod age;
mod change;
mod election;
mod flood;
mod hello;
mod originate;
mod restart;
mod run;
mod sequence;
mod update;

pub use change::Neighbouring;
pub use run::Ways;

use crate::address::{FragmentId, Level, Levels, LspId, NodeId, Snpa, SystemId};
use crate::adjacency::AdjacencyState;
use crate::circuit::Circuit;
use crate::discard::Discard;
use crate::doubt::HeardHello;
use crate::lsdb::Lsdb;
use crate::lsp::Content;
use crate::own::Own;
use crate::pdu::{Body, Means, Pdu, Summary};
use crate::restarting::Restarting;
use crate::routes::{Route, Table};
use crate::settings::{Advertised, BadSetting, CircuitSettings, Prefix, Settings};
use crate::topology::{LevelData, Topology};
use machine::{Duration, Machine, Time, Wheel};
use spf::Backoff;
use std::collections::BTreeMap;

/// What stands in front of every PDU in a frame (IEEE 802.2).
pub const LLC: [u8; 3] = [0xFE, 0xFE, 0x03];
/// Where systems of level 1 listen on a LAN.
pub const ALL_L1_IS: Snpa = Snpa([0x01, 0x80, 0xC2, 0x00, 0x00, 0x14]);
/// Where systems of level 2 listen on a LAN.
pub const ALL_L2_IS: Snpa = Snpa([0x01, 0x80, 0xC2, 0x00, 0x00, 0x15]);
/// Where both ends of a link of two listen (RFC 5309 §4.1).
pub const ALL_IS: Snpa = Snpa([0x09, 0x00, 0x2B, 0x00, 0x00, 0x05]);

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// A PDU came.
    Pdu {
        /// By which circuit.
        circuit: u32,
        /// From whom.
        source: Snpa,
        /// What follows [`LLC`].
        octets: Vec<u8>,
    },
    /// A circuit carries PDUs now.
    CircuitUp(u32),
    /// A circuit carries none any more.
    CircuitDown(u32),
    /// A neighbour is known to be gone, by BFD for one.
    NeighbourDown(u32, SystemId),
    /// A prefix is reached by us, besides those of the circuits; or has a SID, where it is one of
    /// theirs.
    Advertise(Prefix, Advertised),
    /// It is not any more.
    WithdrawAdvertised(Prefix),
    /// The label of an adjacency, or none any more (RFC 8667 §2.2).
    AdjacencySid(u32, SystemId, Option<u32>),
    /// Nothing shall pass through us, or again (ISO 10589 §7.2.8.1).
    Overload(bool),
    /// We are about to restart: neighbours are asked to bear it for so long (RFC 8706 §3.2.3).
    RestartAhead(Duration),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// A PDU leaves.
    Send {
        /// By which circuit.
        circuit: u32,
        /// To where.
        destination: Snpa,
        /// What follows [`LLC`].
        octets: Vec<u8>,
    },
    /// A route is this one now.
    Route(Prefix, Route),
    /// There is no route any more.
    Withdraw(Prefix),
    /// An adjacency's state is another one.
    Adjacency {
        /// Its circuit.
        circuit: u32,
        /// The neighbour.
        system: SystemId,
        /// Its levels.
        levels: Levels,
        /// Its state now.
        state: AdjacencyState,
    },
}

/// Counters of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs of SPF.
    pub runs: u64,
    /// Fragments of ours that others had said, and that we took back.
    pub fought_back: u64,
    /// Fragments that were installed.
    pub installed: u64,
    /// Fragments that were originated.
    pub originated: u64,
    /// Fragments that were purged.
    pub purged: u64,
    /// Designated systems that were elected.
    pub elected: u64,
}

/// The instance.
#[derive(Debug)]
pub struct Instance {
    settings: Settings,
    circuits: BTreeMap<u32, Circuit>,
    levels: [LevelData; 2],
    own: Own,
    restarting: Option<Restarting>,
    /// Until when neighbours are told that we will restart, and for how long.
    planned: Option<(Time, u16)>,
    routes: Table,
    backoff: Backoff,
    wheel: Wheel<FragmentId>,
    discards: [u64; Discard::ALL.len()],
    counts: Counts,
}

impl Instance {
    /// An instance without circuits.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn new(settings: Settings, now: Time) -> Result<Self, BadSetting> {
        settings.check()?;
        let level = || LevelData { lsdb: Lsdb::default(), topology: Topology::new(settings.style) };
        let restarting = settings.restart.map(|wait| Restarting::new(now, wait, settings.levels));
        Ok(Self {
            circuits: BTreeMap::new(),
            levels: [level(), level()],
            own: Own::default(),
            restarting,
            planned: None,
            routes: Table::new(),
            backoff: Backoff::new(settings.delays),
            wheel: Wheel::new(now),
            discards: [0; Discard::ALL.len()],
            counts: Counts::default(),
            settings,
        })
    }

    /// Adds a circuit, which is down.
    ///
    /// # Errors
    /// What is wrong with the settings, or that there is one of that number.
    pub fn add_circuit(&mut self, circuit: CircuitSettings) -> Result<(), BadSetting> {
        self.settings.check_circuit(&circuit)?;
        if self.circuits.contains_key(&circuit.index) {
            return Err(BadSetting::CircuitTaken);
        }
        let is_free = |id: &u8| self.circuits.values().all(|it| it.id != *id);
        // After a restart it has the one that it had: neighbours know its pseudonode by that.
        let own = u8::try_from(circuit.index).ok().filter(|id| *id != 0);
        let id = own.into_iter().chain(1..=u8::MAX).find(is_free);
        let id = id.ok_or(BadSetting::CircuitTaken)?;
        self.circuits.insert(circuit.index, Circuit::new(circuit, id, self.settings.levels));
        Ok(())
    }

    /// The routes.
    pub fn routes(&self) -> impl Iterator<Item = (&Prefix, &Route)> {
        self.routes.iter()
    }

    /// How many PDUs and fragments were discarded for a reason.
    #[must_use]
    pub const fn discarded(&self, why: Discard) -> u64 {
        self.discards[why as usize]
    }

    /// Counters.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Full and partial runs of SPF in a level.
    #[must_use]
    pub const fn runs(&self, level: Level) -> [u64; 2] {
        let topology = &self.levels[level.at()].topology;
        [topology.full_runs, topology.updates]
    }

    /// What a database has, in order.
    #[must_use]
    pub fn database(&self, level: Level, now: Time) -> Vec<Summary> {
        self.data(level).lsdb.iter().map(|(_, entry)| entry.summary(now)).collect()
    }

    /// What a fragment says.
    #[must_use]
    pub fn content(&self, level: Level, id: LspId) -> Option<Content> {
        self.data(level).lsdb.of(id).map(crate::lsdb::Entry::content)
    }

    /// The name of a system (RFC 5301), if it says one.
    #[must_use]
    pub fn hostname(&self, system: SystemId) -> Option<String> {
        let names = |level: Level| {
            let node = NodeId::of(system);
            self.data(level).lsdb.node(node).find_map(|entry| entry.content().hostname)
        };
        Level::ALL.into_iter().find_map(names)
    }

    /// States of a circuit's adjacencies.
    #[must_use]
    pub fn adjacencies(&self, circuit: u32) -> Vec<(SystemId, Levels, AdjacencyState)> {
        self.circuits.get(&circuit).map(Circuit::states).unwrap_or_default()
    }

    /// The pseudonode of a circuit's LAN, and whether it is ours.
    #[must_use]
    pub fn designated(&self, circuit: u32, level: Level) -> Option<(NodeId, bool)> {
        let state = self.circuits.get(&circuit)?.level(level);
        state.lan.map(|lan| (lan, state.is_designated))
    }

    /// Whether databases are learnt anew after a restart.
    #[must_use]
    pub const fn is_restarting(&self) -> bool {
        self.restarting.is_some()
    }

    const fn data(&self, level: Level) -> &LevelData {
        &self.levels[level.at()]
    }

    const fn data_mut(&mut self, level: Level) -> &mut LevelData {
        &mut self.levels[level.at()]
    }

    fn discard(&mut self, why: Discard) {
        self.discards[why as usize] += 1;
    }

    /// Others shall be told something else, perhaps, and routes may be others.
    fn changed(&mut self, now: Time) {
        self.own.is_stale = true;
        self.backoff.change(now);
    }

    fn elect_all(&mut self, now: Time) {
        let (own, csnp) = (self.settings.system, self.settings.periods.csnp);
        let elected = election::elect_all(&mut self.circuits, own, csnp, now);
        self.counts.elected += elected.own;
        if elected.has_changed {
            self.changed(now);
        }
    }

    /// What every step ends with.
    fn settle(&mut self, now: Time, out: &mut Vec<Out>) {
        self.elect_all(now);
        self.end_restart(now);
        self.originate_all(now);
        self.send_partials(now, out);
        self.send_complete(now, out);
        self.send_fragments(now, out);
        self.send_hellos(now, out);
    }

    /// A PDU comes: what of it may be looked at (ISO 10589 §7.3.15, §8.2.4.2, §8.4.2).
    fn receive(
        &mut self,
        now: Time,
        circuit: u32,
        source: Snpa,
        octets: &[u8],
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let it = self.circuits.get(&circuit).ok_or(Discard::Circuit)?;
        if !it.is_up || it.settings.is_passive {
            return Err(Discard::Circuit);
        }
        let pdu = Pdu::read(octets).map_err(|_| Discard::Malformed)?;
        let level = pdu.kind.level();
        let is_of_level = level.is_none_or(|level| it.active.has(level));
        if let Body::Hello(hello) = &pdu.body {
            let heard = match () {
                () if !is_of_level => Err(Discard::Level),
                () if !it.settings.authentication.verify(pdu.octets, pdu.tlvs_at(), false) => {
                    Err(Discard::Authentication)
                }
                () => self.hello(now, (circuit, source), hello, &pdu, out),
            };
            let of = HeardHello { source, hello, pdu: &pdu };
            if let Some(circuit) = self.circuits.get_mut(&circuit) {
                circuit.note_hello(now, &self.settings, &of, heard.err());
            }
            return heard;
        }
        let level = level.ok_or(Discard::Malformed)?;
        if !is_of_level {
            return Err(Discard::Level);
        }
        self.receive_sequenced(now, (circuit, source), level, &pdu)
    }

    /// What only adjacent systems may say.
    fn receive_sequenced(
        &mut self,
        now: Time,
        from: (u32, Snpa),
        level: Level,
        pdu: &Pdu<'_>,
    ) -> Result<(), Discard> {
        let it = self.circuits.get_mut(&from.0).ok_or(Discard::Circuit)?;
        it.sender(level, from.1).ok_or(Discard::Neighbour)?;
        let authentication = &self.settings.authentication[level.at()];
        let is_proven = authentication.verify(pdu.octets, pdu.tlvs_at(), pdu.kind.is_lsp());
        let refused = (!is_proven).then(|| {
            let there = Means::of(pdu);
            (there, authentication.means(there))
        });
        it.note_database(now, (level, from.1), pdu, refused);
        if !is_proven {
            return Err(Discard::Authentication);
        }
        match pdu.body {
            Body::Hello(_) => Err(Discard::Malformed),
            Body::Lsp(..) => self.fragment(now, from.0, pdu),
            Body::Csnp { start, end, .. } => self.complete(now, from, level, [start, end], pdu),
            Body::Psnp { .. } => self.partial(now, from.0, level, pdu),
        }
    }
}

impl Machine for Instance {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        if !matches!(input, In::Pdu { .. }) {
            self.own.paced_until = Time::ZERO;
        }
        match input {
            In::Pdu { circuit, source, octets } => {
                if let Err(why) = self.receive(now, circuit, source, &octets, out) {
                    self.discard(why);
                }
            }
            In::CircuitUp(index) => self.circuit_up(now, index),
            In::CircuitDown(index) => self.circuit_down(now, index, out),
            In::NeighbourDown(circuit, system) => self.neighbour_down(now, circuit, system, out),
            In::Advertise(prefix, advertised) => {
                self.own.advertised.insert(prefix, advertised);
                self.changed(now);
            }
            In::WithdrawAdvertised(prefix) => {
                if self.own.advertised.remove(&prefix).is_some() {
                    self.changed(now);
                }
            }
            In::AdjacencySid(circuit, system, label) => {
                if let Some(circuit) = self.circuits.get_mut(&circuit) {
                    match label {
                        Some(label) => drop(circuit.sids.insert(system, label)),
                        None => drop(circuit.sids.remove(&system)),
                    }
                    self.own.is_stale = true;
                }
            }
            In::Overload(is_overloaded) => {
                self.settings.is_overloaded = is_overloaded;
                self.own.is_stale = true;
            }
            In::RestartAhead(period) => self.plan_restart(now, period),
        }
        self.settle(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.end_holds(now, out);
        self.age(now);
        self.settle(now, out);
        if self.backoff.take(now) {
            self.run(out);
            self.settle(now, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        let circuits = self.circuits.values().map(Circuit::due).min();
        let circuits = circuits.filter(|at| *at != Time::MAX);
        let restarting = self.restarting.as_ref().map(|it| it.ends);
        let planned = self.planned.map(|it| it.0);
        let own = [circuits, self.own.due, self.backoff.due(), self.wheel.deadline()];
        own.into_iter().chain([restarting, planned]).flatten().min()
    }
}
