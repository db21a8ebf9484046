//! The speaker: its state, and how what happens is handed to connections and sessions.

use crate::clock::Clock;
use crate::config::{Resolved, Section};
use crate::departed::{Departed, DepartedPeers};
use crate::effects::{Counts, In, Out};
use crate::peers::Peers;
use crate::policy_table::{PolicyTable, Validate};
use crate::received::Received;
use crate::refusals::Refusals;
use bgp::codec::Cease;
use machine::{Duration, Time};
use policy::PolicyConfig;
use rib::PeerId;
use runtime::{Effects, Seed};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

/// A BGP speaker: its peers, their connections and sessions, and the policies of the sessions that
/// stand. It owns no routes.
///
/// Whoever calls [`Speaker::step`], [`Speaker::tick`] or another verb then takes everything from
/// [`Speaker::next`].
#[derive(Debug)]
pub struct Speaker {
    pub(crate) resolved: Resolved,
    pub(crate) peers: Peers,
    /// Peers from ranges that are missed.
    pub(crate) departed: DepartedPeers,
    pub(crate) refusals: Refusals,
    pub(crate) policies: Arc<PolicyTable>,
    pub(crate) policy_configs: Vec<PolicyConfig>,
    pub(crate) clock: Clock,
    pub(crate) counts: Counts,
    /// Seed of the session that was made last.
    seed: u64,
    /// Until then nobody is told anything.
    pub(crate) deferral: Option<Time>,
    /// Until then peers may still tell routes that stood before a start.
    pub(crate) recovery: Option<Time>,
    pub(crate) is_draining: bool,
    /// What the owner has not taken yet.
    pub(crate) events: VecDeque<Out<'static>>,
    /// What a session wants for octets that came, as far as it was not done yet.
    pub(crate) received: Received,
}

impl Speaker {
    /// A speaker whose sessions begin with the first tick; those of further shards have no peers.
    /// `deferral` is the time for which nobody is told anything (RFC 4724 §4.1); `validation` says
    /// what policies ask of origin validation.
    #[must_use]
    pub fn new(
        seed: &Seed,
        section: &Section<'_>,
        deferral: Duration,
        validation: Option<Arc<dyn Validate>>,
    ) -> Self {
        let octets = core::array::from_fn(|n| seed.random[n]);
        let deferral = (!deferral.is_zero()).then(|| seed.now + deferral);
        let mut it = Self {
            resolved: section.resolve(),
            peers: Peers::default(),
            departed: DepartedPeers::default(),
            refusals: Refusals::default(),
            policies: Arc::new(PolicyTable::new(section.policies(), validation)),
            policy_configs: section.policy.to_vec(),
            clock: Clock::new(seed.now),
            counts: Counts::default(),
            seed: u64::from_le_bytes(octets),
            deferral,
            recovery: deferral,
            is_draining: false,
            events: VecDeque::new(),
            received: Received::default(),
        };
        if seed.shard == 0 {
            it.join(seed.now);
        }
        it
    }

    /// A seed that no other session has.
    pub(crate) const fn next_seed(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.seed
    }

    /// Takes what happened to a connection.
    pub fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Connected(flow) => self.connected(now, flow, out),
            In::Lost(flow, why) => self.lost(now, flow, why, out),
            In::Octets(flow, bytes) => self.octets(now, flow, bytes, out),
            In::Written(flow, octets, left) => self.written(now, flow, octets, left, out),
            In::Refused(address, why) => self.refuse(now, address, why),
        }
    }

    /// Lets the sessions act whose time has come.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        self.recovery = self.recovery.filter(|until| now < *until);
        for (id, serial) in self.clock.expire(now) {
            self.fire(now, id, serial, out);
        }
    }

    /// When [`Speaker::tick`] wants to be called next, or [`Speaker::is_deferring`] be asked.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.clock.deadline().into_iter().chain(self.deferral).chain(self.recovery).min()
    }

    /// What the owner is to do next. `bytes` are those of the [`In::Octets`] that was stepped last,
    /// nothing after anything else.
    pub fn next<'b>(&mut self, now: Time, bytes: &'b [u8], out: &mut Effects) -> Option<Out<'b>> {
        loop {
            // What follows from the last UPDATE comes before the next one.
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if let Some((id, message)) = self.next_update(bytes) {
                return Some(Out::Update(id, message));
            }
            let (id, wanted) = self.received.next()?;
            match wanted {
                Some(wanted) => self.carry_out(now, id, wanted, out),
                None => self.settle(id),
            }
        }
    }

    /// Ends every session in order (RFC 4486, 9003), and begins none any more.
    pub fn drain(&mut self, now: Time, text: Option<&str>, out: &mut Effects) {
        self.is_draining = true;
        for id in self.peers.ids() {
            let stop = bgp::In::Stop(Cease::AdministrativeShutdown, text.map(str::to_owned));
            self.tell(now, id, stop, out);
        }
    }

    /// The peers.
    #[must_use]
    pub const fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Peers from ranges that were away for as long as they are remembered are forgotten.
    pub fn forget_expired(&mut self, now: Time) {
        self.departed.expire(now, &self.resolved);
    }

    /// Peers from ranges whose session has stood and ended, and that have neither come back nor
    /// been forgotten.
    pub fn missed(&self) -> impl Iterator<Item = &Departed> {
        self.departed.missed(&self.peers)
    }

    /// Those of them that are not even connected: they are no peers any more.
    pub fn away(&self) -> impl Iterator<Item = &Departed> {
        self.departed.away(&self.peers)
    }

    /// Forgets a peer from a range that is away, or all of them; how many there were.
    pub fn forget(&mut self, address: Option<IpAddr>) -> usize {
        self.departed.forget(address)
    }

    /// The policies of the sessions that stand, as tables ask them.
    #[must_use]
    pub const fn policies(&self) -> &Arc<PolicyTable> {
        &self.policies
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether no peer has a connection.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.peers.iter().all(|(_, peer)| peer.connections.is_empty())
    }

    /// The name of a peer, `own` for this speaker itself; empty when there is none of that number.
    #[must_use]
    pub fn name_of(&self, id: PeerId) -> &str {
        let unnamed = if id == PeerId::OWN { "own" } else { "" };
        self.peers.get(id).map_or(unnamed, |peer| &peer.settings.name)
    }
}
