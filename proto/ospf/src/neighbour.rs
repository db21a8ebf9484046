//! A neighbour on a link, and how far the exchange of databases with it has come (RFC 2328 §10).

use crate::lsa::{Header, Key};
use crate::lsdb::DbId;
use crate::packet::Description;
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

wire::rows! {
    /// The state of a neighbour.
    pub enum NeighbourState {
        /// It was not heard for long.
        Down = "Down", "RFC 2328 §10.1";
        /// It was heard.
        Init = "Init", "RFC 2328 §10.1";
        /// Both hear each other, and need no adjacency.
        TwoWay = "2-Way", "RFC 2328 §10.1";
        /// Who is master is found out.
        ExStart = "ExStart", "RFC 2328 §10.1";
        /// Databases are described.
        Exchange = "Exchange", "RFC 2328 §10.1";
        /// What lacks is asked for.
        Loading = "Loading", "RFC 2328 §10.1";
        /// Databases are the same.
        Full = "Full", "RFC 2328 §10.1";
    }
}

/// What a neighbour's last description was, so that a second one of the same is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastDescription {
    pub(crate) flags: u8,
    pub(crate) options: u8,
    pub(crate) sequence: u32,
}

impl LastDescription {
    pub(crate) const fn of(description: &Description) -> Self {
        let Description { flags, options, sequence, .. } = *description;
        Self { flags, options, sequence }
    }
}

/// The exchange of databases.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// We are the master.
    pub(crate) is_master: bool,
    pub(crate) sequence: u32,
    /// What we have not described yet.
    pub(crate) summary: Vec<Key>,
    pub(crate) last: Option<LastDescription>,
    /// The packet that we sent last.
    pub(crate) sent: Option<Description>,
    /// What we lack, with the instance that was described.
    pub(crate) request: BTreeMap<Key, Header>,
    /// It described LSAs for which there was no room.
    pub(crate) is_cut: bool,
    /// What we have asked for and not got.
    pub(crate) asked: BTreeSet<Key>,
    /// How often that was done without an answer, and when it is done again.
    pub(crate) tries: u8,
    pub(crate) asks_at: Time,
    /// The peer has described everything.
    pub(crate) has_heard_all: bool,
    /// What it has asked for and not got, or has older than we.
    pub(crate) owed: BTreeSet<(DbId, Key)>,
    /// When the next of that leaves.
    pub(crate) pays_at: Time,
}

/// A neighbour.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) router: u32,
    pub(crate) address: Ipv4Addr,
    pub(crate) state: NeighbourState,
    pub(crate) priority: u8,
    pub(crate) designated: Ipv4Addr,
    pub(crate) backup: Ipv4Addr,
    pub(crate) options: u8,
    pub(crate) exchange: Exchange,
    /// What it has not acknowledged, and when that is sent again.
    pub(crate) unacknowledged: BTreeMap<Key, Time>,
    /// After which of them the next are sent again.
    pub(crate) resent: Option<Key>,
    /// When it counts as dead.
    pub(crate) dead_at: Time,
    /// When descriptions or requests are sent again.
    pub(crate) resend_at: Time,
    /// When LSAs are sent again.
    pub(crate) lsas_at: Time,
    /// When it counts as stuck, unless what it owes becomes less.
    pub(crate) stuck_at: Time,
    /// Others wait so long for it to learn the database, since it was full last.
    pub(crate) loads_until: Option<Time>,
    /// It restarts, and is borne until then (RFC 3623).
    pub(crate) grace: Option<Time>,
    /// Since when.
    pub(crate) borne_since: Time,
}

impl Neighbour {
    pub(crate) fn new(router: u32, address: Ipv4Addr) -> Self {
        Self {
            router,
            address,
            state: NeighbourState::Down,
            priority: 0,
            designated: Ipv4Addr::UNSPECIFIED,
            backup: Ipv4Addr::UNSPECIFIED,
            options: 0,
            exchange: Exchange::default(),
            unacknowledged: BTreeMap::new(),
            resent: None,
            dead_at: Time::MAX,
            resend_at: Time::MAX,
            lsas_at: Time::MAX,
            stuck_at: Time::MAX,
            loads_until: None,
            grace: None,
            borne_since: Time::ZERO,
        }
    }

    /// Whether others are told that it is adjacent.
    pub(crate) fn is_announced(&self) -> bool {
        self.state == NeighbourState::Full || self.grace.is_some()
    }

    /// Whether it learns the database, or we learn its.
    pub(crate) fn is_loading(&self) -> bool {
        matches!(self.state, NeighbourState::Exchange | NeighbourState::Loading)
    }

    /// It went on; while it owes us something it is to do so again until then.
    pub(crate) fn moved(&mut self, until: Time) {
        let owes = self.is_loading() || !self.unacknowledged.is_empty();
        self.stuck_at = if owes { until } else { Time::MAX };
    }

    /// Whether LSAs are flooded to it.
    pub(crate) fn takes_floods(&self) -> bool {
        self.state >= NeighbourState::Exchange
    }

    /// When something of it is due.
    pub(crate) fn due(&self) -> Time {
        let timers = self.dead_at.min(self.resend_at).min(self.lsas_at).min(self.stuck_at);
        let pays_at = if self.exchange.owed.is_empty() { Time::MAX } else { self.exchange.pays_at };
        timers.min(pays_at).min(self.grace.unwrap_or(Time::MAX))
    }
}
