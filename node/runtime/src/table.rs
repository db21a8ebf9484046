//! The connections of a shard, found by number or by far end; and the far ends that did not
//! answer of late.

use crate::connection::{Connection, Phase};
use crate::crowd::{self, Census, Member, Source};
use crate::port::{ConnId, Flow, PortId};
use crate::spec::StreamLimits;
use machine::narrow;
use machine::{Duration, Time};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

/// Bits of a connection's number: `shard | generation | place + 1`.
const PLACE_BITS: u32 = 20;
const GENERATION_BITS: u32 = 6;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
/// Connections that numbers can name.
const PLACES_MAX: usize = (1 << PLACE_BITS) - 1;
/// A place rests until so many others have been free before it: with its generations, the number
/// of a connection that ended comes again after tens of thousands at the soonest.
const RESTING: usize = 1_024;
/// Further addresses of one connection's far end.
const ALIASES_MAX: usize = 4;
/// Far ends remembered as silent; when full, all are forgotten.
const COLD_MAX: usize = 4_096;
/// Of a table this part is for connections that are opened here, whoever fills the rest.
const OPENED_SHARE: usize = 8;
/// After a look for room that found little, there is none for this long: looking costs as much as
/// accepting hundreds.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A port and a far end behind it.
pub(crate) type Far = (PortId, SocketAddr);

#[derive(Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

/// A far end that did not answer.
#[derive(Debug, Clone, Copy)]
struct Cold {
    until: Time,
    wait: Duration,
    why: &'static str,
}

/// All connections of one shard.
pub(crate) struct Table {
    shard: u16,
    limits: StreamLimits,
    slots: Vec<Slot>,
    /// The one that was left first is taken first.
    free: VecDeque<u32>,
    live: usize,
    /// Of those that live, the ones that were opened here.
    opened: usize,
    by_far: HashMap<Far, ConnId>,
    cold: HashMap<Far, Cold>,
    /// The accepted ones.
    census: Census,
    /// Nobody looks for room before.
    look_at: Time,
}

impl ConnId {
    /// The shard whose connection it is; `None` for "none yet".
    pub(crate) fn shard(self) -> Option<u16> {
        (self.0 != 0).then_some((self.0 >> (PLACE_BITS + GENERATION_BITS)) as u16)
    }

    fn place(self) -> usize {
        (self.0 as usize & PLACES_MAX).wrapping_sub(1)
    }

    fn generation(self) -> u32 {
        (self.0 >> PLACE_BITS) & GENERATION_MASK
    }
}

impl Table {
    pub(crate) fn new(shard: u16, limits: StreamLimits) -> Self {
        Self {
            shard,
            limits,
            slots: Vec::new(),
            free: VecDeque::new(),
            live: 0,
            opened: 0,
            by_far: HashMap::new(),
            cold: HashMap::new(),
            census: Census::default(),
            look_at: Time::ZERO,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.live
    }

    fn room(&self) -> usize {
        self.limits.connections_max.min(PLACES_MAX)
    }

    /// Whether there is room for one more.
    pub(crate) fn has_room(&self) -> bool {
        self.live < self.room()
    }

    /// Connections that make room for one from that source: accepted ones, by source. What is
    /// opened here finds some as long as it has less than its part.
    pub(crate) fn victims(&mut self, now: Time, newcomer: Source, most: usize) -> Vec<ConnId> {
        let victims = self.above_share(now, newcomer, most);
        let left = (self.room() / OPENED_SHARE).max(1).saturating_sub(self.opened);
        if newcomer == Source::HERE && victims.is_empty() && left > 0 {
            return self.idlest(most.min(left));
        }
        victims
    }

    /// The accepted connections on which nothing moved for longest.
    fn idlest(&self, most: usize) -> Vec<ConnId> {
        let mut idle: Vec<_> = self.members().map(|member| (member.active, member.key)).collect();
        idle.sort_unstable();
        idle.truncate(most);
        idle.into_iter().map(|(_, id)| id).collect()
    }

    /// Those that may lose their place.
    fn members(&self) -> impl Iterator<Item = Member<ConnId>> {
        let connections = self.slots.iter().filter_map(|slot| slot.connection.as_deref());
        connections.filter(|it| it.accepted).map(|it| Member {
            key: it.flow.conn,
            source: Source::of(it.flow.remote.ip()),
            spoke: it.spoke,
            active: it.active,
        })
    }

    fn above_share(&mut self, now: Time, newcomer: Source, most: usize) -> Vec<ConnId> {
        if now < self.look_at || !self.census.has_victims(newcomer) {
            return Vec::new();
        }
        let victims = crowd::victims(self.members().collect(), newcomer, most);
        if victims.len() < most {
            self.look_at = now + LOOK_AGAIN;
        }
        victims
    }

    /// A connection has said something whole.
    pub(crate) fn spoke(&mut self, id: ConnId) {
        let Some(connection) = self.find(id) else { return };
        let is_first = !std::mem::replace(&mut connection.spoke, true);
        if connection.accepted && is_first {
            self.census.heard();
        }
    }

    /// Takes a connection and gives it its number.
    pub(crate) fn insert(&mut self, mut connection: Connection) -> ConnId {
        let is_rested = self.free.len() >= RESTING || self.slots.len() >= PLACES_MAX;
        let rested = if is_rested { self.free.pop_front() } else { None };
        let place = rested.unwrap_or_else(|| {
            self.slots.push(Slot::default());
            narrow::place(self.slots.len() - 1)
        });
        let slot = &mut self.slots[place as usize];
        let shard = u32::from(self.shard) << (PLACE_BITS + GENERATION_BITS);
        let id = ConnId(shard | slot.generation << PLACE_BITS | (place + 1));
        connection.flow.conn = id;
        self.by_far.insert((connection.flow.port, connection.flow.remote), id);
        self.live += 1;
        if connection.accepted {
            self.census.add(Source::of(connection.flow.remote.ip()));
        } else {
            self.opened += 1;
        }
        slot.connection = Some(Box::new(connection));
        id
    }

    pub(crate) fn find(&mut self, id: ConnId) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(id.place())?;
        if slot.generation != id.generation() {
            return None;
        }
        slot.connection.as_deref_mut()
    }

    /// The connection to a far end.
    pub(crate) fn to(&self, far: &Far) -> Option<ConnId> {
        self.by_far.get(far).copied()
    }

    pub(crate) fn remove(&mut self, id: ConnId) -> Option<Box<Connection>> {
        self.find(id)?;
        let slot = &mut self.slots[id.place()];
        let connection = slot.connection.take()?;
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        self.free.push_back(narrow::place(id.place()));
        self.live -= 1;
        if connection.accepted {
            self.census.remove(Source::of(connection.flow.remote.ip()), connection.spoke);
        } else {
            self.opened -= 1;
        }
        let port = connection.flow.port;
        for remote in connection.aliases.iter().copied().chain([connection.flow.remote]) {
            self.hide(id, &(port, remote));
        }
        Some(connection)
    }

    /// What goes to `remote` goes over the flow's connection from now on, unless another one to
    /// that address stands.
    pub(crate) fn alias(&mut self, flow: Flow, remote: SocketAddr) {
        let far = (flow.port, remote);
        let ours = flow.conn.shard() == Some(self.shard);
        if !ours || remote == flow.remote || self.by_far.contains_key(&far) {
            return;
        }
        let Some(connection) = self.find(flow.conn) else { return };
        if connection.phase != Phase::Open || connection.aliases.len() >= ALIASES_MAX {
            return;
        }
        connection.aliases.push(remote);
        self.by_far.insert(far, flow.conn);
    }

    /// No new message shall find this connection by any address.
    pub(crate) fn hide_all(&mut self, id: ConnId) {
        let Some(connection) = self.find(id) else { return };
        let port = connection.flow.port;
        let mut remotes = std::mem::take(&mut connection.aliases);
        remotes.push(connection.flow.remote);
        for remote in remotes {
            self.hide(id, &(port, remote));
        }
    }

    fn hide(&mut self, id: ConnId, far: &Far) {
        if self.by_far.get(far) == Some(&id) {
            self.by_far.remove(far);
        }
    }

    /// Every connection.
    pub(crate) fn all(&self) -> Vec<ConnId> {
        let connections = self.slots.iter().filter_map(|slot| slot.connection.as_ref());
        connections.map(|connection| connection.flow.conn).collect()
    }

    /// Moves the connections of each port to its new number; those of ports that are gone (`None`)
    /// are returned.
    pub(crate) fn relabel(&mut self, moved: impl Fn(PortId) -> Option<PortId>) -> Vec<ConnId> {
        let mut gone = Vec::new();
        self.by_far.clear();
        for slot in &mut self.slots {
            let Some(connection) = &mut slot.connection else { continue };
            let flow = &mut connection.flow;
            match moved(flow.port) {
                Some(port) => {
                    flow.port = port;
                    self.by_far.insert((port, flow.remote), flow.conn);
                    for &alias in &connection.aliases {
                        self.by_far.insert((port, alias), flow.conn);
                    }
                }
                None => gone.push(flow.conn),
            }
        }
        self.cold.clear();
        gone
    }

    /// Why nothing is tried towards this far end now.
    pub(crate) fn cold(&self, far: &Far, now: Time) -> Option<&'static str> {
        self.cold.get(far).filter(|cold| cold.until > now).map(|cold| cold.why)
    }

    /// A far end could not be reached: nothing is tried for a while, longer each time.
    pub(crate) fn cool(&mut self, far: Far, now: Time, why: &'static str) {
        // One that answered for a while since starts anew.
        let recent = |cold: &&Cold| now.since(cold.until) < self.limits.backoff_max * 2;
        let last = self.cold.get(&far).filter(recent).map(|cold| cold.wait * 2);
        let wait = last.unwrap_or(self.limits.backoff).min(self.limits.backoff_max);
        if self.cold.len() >= COLD_MAX {
            self.cold.clear();
        }
        self.cold.insert(far, Cold { until: now + wait, wait, why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Transport;

    fn flow(port: u16) -> Flow {
        let local = "127.0.0.1:1".parse().unwrap();
        let remote = SocketAddr::from(([127, 0, 0, 1], port));
        Flow::to(PortId(0), Transport::Tcp, local, remote)
    }

    fn insert(table: &mut Table, port: u16) -> ConnId {
        table.insert(Connection::new(flow(port), Phase::Open, None, Time::ZERO))
    }

    #[test]
    fn a_number_names_its_connection_until_that_is_gone_and_none_after() {
        let mut table = Table::new(5, StreamLimits::default());
        let first = insert(&mut table, 1);
        assert_eq!(first.shard(), Some(5));
        assert!(table.remove(first).is_some() && table.remove(first).is_none());
        let second = insert(&mut table, 2);
        assert_ne!(first, second);
        assert!(table.find(first).is_none() && table.find(second).is_some());
        assert_eq!(ConnId(0).shard(), None);
        assert!(table.find(ConnId(0)).is_none());
    }

    #[test]
    fn a_number_comes_again_after_tens_of_thousands_of_others_at_the_soonest() {
        let mut table = Table::new(0, StreamLimits::default());
        let first = insert(&mut table, 1);
        table.remove(first).unwrap();
        for n in 0..60_000 {
            let next = insert(&mut table, 1);
            assert!(next != first && table.remove(next).is_some(), "after {n}");
        }
    }

    #[test]
    fn what_is_opened_here_has_its_part_of_a_table_that_others_filled_with_one_each() {
        let limits = StreamLimits { connections_max: 16, ..StreamLimits::default() };
        let mut table = Table::new(0, limits);
        let accept = |table: &mut Table, host: u8| {
            let remote = SocketAddr::from(([127, 0, 1, host], 5060));
            let now = Time::from_millis(u64::from(host));
            let mut it = Connection::new(flow(1), Phase::Open, None, now);
            (it.flow.remote, it.accepted) = (remote, true);
            let id = table.insert(it);
            table.spoke(id);
            id
        };
        let accepted: Vec<_> = (0..16).map(|host| accept(&mut table, host)).collect();
        let stranger = Source::of([192, 0, 2, 1].into());
        assert!(table.victims(Time::ZERO, stranger, 4).is_empty());
        assert_eq!(table.victims(Time::ZERO, Source::HERE, 4), accepted[..2], "the idle longest");
        for (port, id) in (7..).zip(&accepted[..2]) {
            table.remove(*id).unwrap();
            insert(&mut table, port);
        }
        assert!(!table.has_room() && table.victims(Time::ZERO, Source::HERE, 4).is_empty());
    }

    #[test]
    fn a_silent_far_end_is_left_alone_for_longer_each_time() {
        let mut table = Table::new(0, StreamLimits::default());
        let far = (PortId(0), flow(1).remote);
        let mut now = Time::ZERO;
        let mut waits = Vec::new();
        for _ in 0..6 {
            table.cool(far, now, "refused");
            let start = now;
            while table.cold(&far, now).is_some() {
                now += Duration::from_millis(500);
            }
            waits.push(now.since(start).as_millis());
        }
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
        now += StreamLimits::default().backoff_max * 3;
        table.cool(far, now, "refused");
        assert!(table.cold(&far, now + Duration::from_millis(500)).is_none());
    }

    #[test]
    fn an_alias_leads_to_its_connection_until_that_is_gone_and_takes_nobodys_place() {
        let mut table = Table::new(0, StreamLimits::default());
        let first = insert(&mut table, 1);
        let second = insert(&mut table, 2);
        let of = |id: ConnId, port: u16| Flow { conn: id, ..flow(port) };
        let (theirs, other) = (flow(5061).remote, flow(2).remote);
        table.alias(of(first, 1), theirs);
        table.alias(of(second, 2), theirs);
        table.alias(of(first, 1), other);
        assert_eq!(table.to(&(PortId(0), theirs)), Some(first), "the first one keeps it");
        assert_eq!(table.to(&(PortId(0), other)), Some(second));
        assert!(table.relabel(Some).is_empty());
        assert_eq!(table.to(&(PortId(0), theirs)), Some(first));
        assert!(table.remove(first).is_some());
        assert_eq!(table.to(&(PortId(0), theirs)), None);
    }

    #[test]
    fn connections_follow_their_port_to_its_new_number_and_those_of_a_gone_port_are_named() {
        let mut table = Table::new(0, StreamLimits::default());
        let stays = insert(&mut table, 1);
        assert!(table.relabel(|_| Some(PortId(9))).is_empty());
        assert_eq!(table.to(&(PortId(9), flow(1).remote)), Some(stays));
        assert_eq!(table.to(&(PortId(0), flow(1).remote)), None);
        assert_eq!(table.relabel(|_| None), [stays]);
    }
}
