//! An interface: its state, its neighbours, and who is designated router (RFC 2328 §9).

use crate::doubt::{Doubt, Doubted};
use crate::lsa::Header;
use crate::neighbour::{Neighbour, NeighbourState};
use crate::numbers::Numbers;
use crate::packet::Hello;
use crate::settings::{InterfaceSettings, LinkType};
use machine::Time;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

wire::rows! {
    /// The state of an interface.
    pub enum InterfaceState {
        /// Nothing passes.
        Down = "Down", "RFC 2328 §9.1";
        /// Who is designated router is not known yet.
        Waiting = "Waiting", "RFC 2328 §9.1";
        /// One neighbour.
        PointToPoint = "Point-to-point", "RFC 2328 §9.1";
        /// Neither of both.
        Other = "DR Other", "RFC 2328 §9.1";
        /// The backup.
        Backup = "Backup", "RFC 2328 §9.1";
        /// The designated router.
        Designated = "DR", "RFC 2328 §9.1";
    }
}

/// The numbers of the routers that a designated router may be elected from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    address: Ipv4Addr,
    router: u32,
    priority: u8,
    designated: Ipv4Addr,
    backup: Ipv4Addr,
}

/// An interface.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) settings: InterfaceSettings,
    pub(crate) state: InterfaceState,
    pub(crate) designated: Ipv4Addr,
    pub(crate) backup: Ipv4Addr,
    pub(crate) neighbours: BTreeMap<Ipv4Addr, Neighbour>,
    /// When the next hello leaves.
    pub(crate) hello_at: Time,
    /// When waiting for a designated router ends.
    pub(crate) wait_at: Time,
    /// Acknowledgments that wait, and until when.
    pub(crate) acknowledgments: Vec<Header>,
    pub(crate) acknowledge_at: Time,
    /// The neighbours changed: somebody else may be designated router.
    pub(crate) is_undecided: bool,
    /// What digests said last; it outlives neighbours, and the link's loss.
    pub(crate) numbers: Numbers,
    /// What came last and was not believed.
    pub(crate) doubted: Option<Doubted>,
}

impl Interface {
    pub(crate) fn new(settings: InterfaceSettings) -> Self {
        Self {
            settings,
            state: InterfaceState::Down,
            designated: Ipv4Addr::UNSPECIFIED,
            backup: Ipv4Addr::UNSPECIFIED,
            neighbours: BTreeMap::new(),
            hello_at: Time::MAX,
            wait_at: Time::MAX,
            acknowledgments: Vec::new(),
            acknowledge_at: Time::MAX,
            is_undecided: false,
            numbers: Numbers::default(),
            doubted: None,
        }
    }

    pub(crate) fn is_broadcast(&self) -> bool {
        self.settings.link == LinkType::Broadcast
    }

    /// Whether an adjacency is wanted with a neighbour (§10.4).
    pub(crate) fn wants(&self, neighbour: &Neighbour) -> bool {
        let is_chief = matches!(self.state, InterfaceState::Designated | InterfaceState::Backup);
        !self.is_broadcast()
            || is_chief
            || neighbour.address == self.designated
            || neighbour.address == self.backup
    }

    /// Whether a neighbour whose hello was believed takes the link for one of another kind: there a
    /// designated router is named, or never one although the databases are the same.
    pub(crate) fn misunderstood(&self, source: Ipv4Addr, hello: &Hello) -> Option<Doubt> {
        let names_one = !hello.designated.is_unspecified();
        let is_full = |it: &Neighbour| it.state == NeighbourState::Full && it.grace.is_none();
        match self.is_broadcast() {
            false => names_one.then_some(Doubt::Broadcast),
            true => {
                let is_settled = self.neighbours.get(&source).is_some_and(is_full);
                (is_settled && !names_one).then_some(Doubt::PointToPoint)
            }
        }
    }

    /// Whether a router is there with another address, or another router has that address: while
    /// a neighbour lives, nobody else who holds a digest of its link is it, and on a link of two
    /// there is no other one.
    pub(crate) fn is_elsewhere(&self, router: u32, source: Ipv4Addr) -> bool {
        self.neighbours.values().any(|it| {
            let is_same = [it.router == router, it.address == source];
            is_same != [true; 2] && (!self.is_broadcast() || is_same.contains(&true))
        })
    }

    /// Neighbours that others are told of.
    pub(crate) fn announced(&self) -> impl Iterator<Item = &Neighbour> {
        self.neighbours.values().filter(|it| it.is_announced())
    }

    /// Elects designated router and backup (§9.4). Whether either is another one, or our part is.
    pub(crate) fn elect(&mut self, own: u32) -> bool {
        let before = (self.designated, self.backup, self.state);
        self.elect_once(own);
        let part = self.part();
        if part != before.2 && [part, before.2].iter().any(|it| *it > InterfaceState::Other) {
            self.elect_once(own);
        }
        self.state = self.part();
        (self.designated, self.backup, self.state) != before
    }

    fn part(&self) -> InterfaceState {
        match self.settings.address {
            own if own == self.designated => InterfaceState::Designated,
            own if own == self.backup => InterfaceState::Backup,
            _ => InterfaceState::Other,
        }
    }

    fn elect_once(&mut self, own: u32) {
        let settings = &self.settings;
        let us = Candidate {
            address: settings.address,
            router: own,
            priority: settings.priority,
            designated: self.designated,
            backup: self.backup,
        };
        let heard = self
            .neighbours
            .values()
            .filter(|it| it.state >= NeighbourState::TwoWay || it.grace.is_some());
        let heard = heard.map(|it| Candidate {
            address: it.address,
            router: it.router,
            priority: it.priority,
            designated: it.designated,
            backup: it.backup,
        });
        let all: Vec<Candidate> =
            heard.chain(core::iter::once(us)).filter(|it| it.priority > 0).collect();
        let rank = |it: &&Candidate| (it.priority, it.router);
        let plain = || all.iter().filter(|it| it.designated != it.address);
        let claims = plain().filter(|it| it.backup == it.address).max_by_key(rank);
        let backup = claims.or_else(|| plain().max_by_key(rank)).map(|it| it.address);
        let chief = all.iter().filter(|it| it.designated == it.address).max_by_key(rank);
        let nobody = Ipv4Addr::UNSPECIFIED;
        self.backup = backup.unwrap_or(nobody);
        self.designated = chief.map_or(self.backup, |it| it.address);
    }

    /// When something of it is due.
    pub(crate) fn due(&self) -> Time {
        let own = self.hello_at.min(self.wait_at).min(self.acknowledge_at);
        self.neighbours.values().map(Neighbour::due).fold(own, Time::min)
    }
}
