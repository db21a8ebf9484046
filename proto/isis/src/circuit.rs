//! A circuit: its adjacencies, and for each level what it floods and who is designated.

use crate::address::{Level, Levels, LspId, NodeId, SystemId};
use crate::adjacency::{Adjacency, AdjacencyKey, AdjacencyState};
use crate::doubt::Doubted;
use crate::pdu::Summary;
use crate::settings::{CircuitSettings, LinkType};
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Fragments that leave at once.
const BURST: usize = 10;
/// Time between two of such bursts (minimumBroadcastLSPTransmissionInterval).
const BURST_PAUSE: Duration = Duration::from_millis(33);

/// What has to be sent by a circuit (SRMflags), and what was not acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Flooding {
    /// To be sent.
    fresh: BTreeSet<LspId>,
    /// Sent and not acknowledged: links of two.
    unacknowledged: BTreeSet<LspId>,
    /// When they are sent again; what was acknowledged in between may still stand there.
    again: VecDeque<(Time, LspId)>,
    /// When the next burst may leave.
    next: Time,
}

impl Flooding {
    pub(crate) fn set(&mut self, id: LspId) {
        self.unacknowledged.remove(&id);
        self.fresh.insert(id);
    }

    pub(crate) fn clear(&mut self, id: LspId) {
        self.unacknowledged.remove(&id);
        self.fresh.remove(&id);
    }

    pub(crate) fn reset(&mut self) {
        *self = Self { next: self.next, ..Self::default() };
    }

    /// Nothing leaves before then.
    pub(crate) fn hold(&mut self, until: Time) {
        self.next = self.next.max(until);
    }

    pub(crate) fn due(&self) -> Option<Time> {
        let fresh = (!self.fresh.is_empty()).then_some(self.next);
        let again = self.again.front().map(|it| it.0);
        fresh.into_iter().chain(again).min()
    }

    /// What leaves now. What is sent again later, if it is not acknowledged, is kept.
    pub(crate) fn take(&mut self, now: Time, retransmit: Option<Duration>) -> Vec<LspId> {
        while self.again.front().is_some_and(|it| it.0 <= now) {
            let Some((_, id)) = self.again.pop_front() else { break };
            if self.unacknowledged.remove(&id) {
                self.fresh.insert(id);
            }
        }
        if self.next > now {
            return Vec::new();
        }
        let mut taken = Vec::new();
        while taken.len() < BURST
            && let Some(id) = self.fresh.pop_first()
        {
            taken.push(id);
        }
        if !taken.is_empty() {
            self.next = now + BURST_PAUSE;
        }
        if let Some(wait) = retransmit {
            for &id in &taken {
                self.unacknowledged.insert(id);
                self.again.push_back((now + wait, id));
            }
        }
        taken
    }
}

/// LSPs that CSNPs were held against, and since when they are counted.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) since: Time,
    pub(crate) count: usize,
}

/// What a circuit has for a level.
#[derive(Debug)]
pub(crate) struct LevelState {
    pub(crate) flooding: Flooding,
    pub(crate) compared: Compared,
    /// What PSNPs will say, or ask for (SSNflags).
    pub(crate) partial: BTreeMap<LspId, Summary>,
    pub(crate) hello_at: Time,
    pub(crate) csnp_at: Time,
    /// When everything was told last.
    pub(crate) told_at: Option<Time>,
    pub(crate) psnp_at: Time,
    /// The pseudonode of the LAN, once somebody is designated.
    pub(crate) lan: Option<NodeId>,
    pub(crate) is_designated: bool,
    /// Who is designated is not looked at before (ISO 10589 §8.4.5).
    pub(crate) elects_at: Time,
    pub(crate) is_undecided: bool,
    /// A neighbour has all of our database, after a restart of ours.
    pub(crate) has_answer: bool,
}

/// Time between two tellings of everything, as far as neighbours have them said.
const TOLD_PAUSE: Duration = Duration::from_secs(1);

impl LevelState {
    /// A neighbour is to hear everything, at once, or soon where that was said just now: then what
    /// there is, is listed alone, and what it lacks it asks for. Whether it is at once.
    pub(crate) fn tell(&mut self, now: Time) -> bool {
        let earliest = self.told_at.map_or(now, |at| at + TOLD_PAUSE);
        self.csnp_at = now.max(earliest);
        earliest <= now
    }

    const fn new() -> Self {
        Self {
            flooding: Flooding {
                fresh: BTreeSet::new(),
                unacknowledged: BTreeSet::new(),
                again: VecDeque::new(),
                next: Time::ZERO,
            },
            compared: Compared { since: Time::ZERO, count: 0 },
            partial: BTreeMap::new(),
            hello_at: Time::MAX,
            csnp_at: Time::MAX,
            told_at: None,
            psnp_at: Time::MAX,
            lan: None,
            is_designated: false,
            elects_at: Time::MAX,
            is_undecided: false,
            has_answer: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Circuit {
    pub(crate) settings: CircuitSettings,
    /// Its number on a LAN, which its pseudonode has.
    pub(crate) id: u8,
    pub(crate) is_up: bool,
    /// When each neighbour has said a hello since it is up.
    pub(crate) heard_at: Time,
    /// Levels of both the circuit and the system.
    pub(crate) active: Levels,
    pub(crate) adjacencies: BTreeMap<AdjacencyKey, Adjacency>,
    pub(crate) levels: [LevelState; 2],
    /// What came last and was not believed, or is odd.
    pub(crate) doubted: Option<Doubted>,
    /// Labels of its adjacencies.
    pub(crate) sids: BTreeMap<SystemId, u32>,
}

impl Circuit {
    pub(crate) fn new(settings: CircuitSettings, id: u8, levels: Levels) -> Self {
        let active = settings.levels.and(levels);
        Self {
            settings,
            id,
            is_up: false,
            heard_at: Time::MAX,
            active,
            adjacencies: BTreeMap::new(),
            levels: [LevelState::new(), LevelState::new()],
            doubted: None,
            sids: BTreeMap::new(),
        }
    }

    pub(crate) fn is_lan(&self) -> bool {
        self.settings.link == LinkType::Broadcast
    }

    pub(crate) const fn level(&self, level: Level) -> &LevelState {
        &self.levels[level.at()]
    }

    pub(crate) const fn level_mut(&mut self, level: Level) -> &mut LevelState {
        &mut self.levels[level.at()]
    }

    /// Adjacencies that are up in a level.
    pub(crate) fn up(&self, level: Level) -> impl Iterator<Item = &Adjacency> {
        self.adjacencies.values().filter(move |it| it.is_up(level))
    }

    /// Those of a level, whatever their state is.
    pub(crate) fn count(&self, level: Level) -> usize {
        self.adjacencies.values().filter(|it| it.levels.has(level)).count()
    }

    /// From how many addresses a system is heard.
    pub(crate) fn places(&self, levels: Levels, system: SystemId) -> usize {
        let all = self.adjacencies.values().filter(|it| it.system == system);
        all.filter(|it| it.levels.and(levels) != Levels::NONE).count()
    }

    /// The neighbour that has not heard us for longest.
    pub(crate) fn oldest_initializing(&self, levels: Levels) -> Option<AdjacencyKey> {
        let all = self.adjacencies.iter().filter(|(_, it)| {
            it.state == AdjacencyState::Initializing && it.levels.and(levels) != Levels::NONE
        });
        all.min_by_key(|(_, it)| it.since).map(|(key, _)| *key)
    }

    /// Systems that are up in a level, each where it has been heard for longest: a hello of one
    /// that somebody sends from elsewhere is none of its own.
    pub(crate) fn systems(&self, level: Level) -> impl Iterator<Item = &Adjacency> {
        let mut first: BTreeMap<SystemId, &Adjacency> = BTreeMap::new();
        for it in self.up(level) {
            let known = first.entry(it.system).or_insert(it);
            if it.since < known.since {
                *known = it;
            }
        }
        first.into_values()
    }

    /// Whether there is anybody to flood to.
    pub(crate) fn floods(&self, level: Level) -> bool {
        self.is_up && self.active.has(level) && self.up(level).next().is_some()
    }

    /// After our restart nothing is said before the neighbours were heard: those that do not bear
    /// restarts (RFC 8706) do not notice, for the first hello names them. On a LAN that are all who
    /// speak within the time between two hellos.
    pub(crate) fn silent_until(&self) -> Option<Time> {
        let is_waited_for = self.is_lan() || self.adjacencies.is_empty();
        is_waited_for.then_some(self.heard_at)
    }

    /// The time between two hellos of a level.
    pub(crate) fn hello_every(&self, level: Level) -> Duration {
        let every = Duration::from_secs(self.settings.hello_s.into());
        // A designated system is missed earlier (ISO 10589 §8.4.5).
        if self.is_lan() && self.level(level).is_designated { every / 3 } else { every }
    }

    /// The adjacency that a PDU of a level comes from.
    pub(crate) fn sender(&self, level: Level, snpa: crate::address::Snpa) -> Option<&Adjacency> {
        let key =
            if self.is_lan() { AdjacencyKey::Lan(level, snpa) } else { AdjacencyKey::PointToPoint };
        self.adjacencies.get(&key).filter(|it| it.is_up(level))
    }

    /// When something of it is due.
    pub(crate) fn due(&self) -> Time {
        let holds = self.adjacencies.values().map(|it| it.hold_until);
        let levels = self.levels.iter().flat_map(|it| {
            let elects = if it.is_undecided { it.elects_at } else { Time::MAX };
            let floods = it.flooding.due().unwrap_or(Time::MAX);
            [it.hello_at, it.csnp_at, it.psnp_at, elects, floods]
        });
        holds.chain(levels).min().unwrap_or(Time::MAX)
    }

    /// States of its adjacencies.
    pub(crate) fn states(&self) -> Vec<(SystemId, Levels, AdjacencyState)> {
        self.adjacencies.values().map(|it| (it.system, it.levels, it.state)).collect()
    }
}
