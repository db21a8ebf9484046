//! LSAs go on and come back acknowledged (RFC 2328 §13.3, §13.5, §13.7); they age, are refreshed
//! and die (§12.4, §14).

use super::exchange::is_opaque;
use super::{ALL_D_ROUTERS, ALL_SPF_ROUTERS, DbId, Instance, NeighbourId, Out};
use crate::discard::Discard;
use crate::interface::{Interface, InterfaceState};
use crate::lsa::{self, Header, Key, LsaType, MAX_AGE, OPTION_OPAQUE};
use crate::neighbour::NeighbourState;
use crate::packet::{PacketType, Writer};
use core::cmp::Ordering;
use machine::{Duration, Time};
use std::net::Ipv4Addr;

/// Acknowledgments wait for others so long.
const ACKNOWLEDGE_AFTER: Duration = Duration::from_millis(500);

/// The age at which own LSAs are said again, seconds (LSRefreshTime).
const REFRESH: u16 = 1_800;

/// When a neighbour that lacks nothing any more is looked at.
const SOON: Duration = Duration::from_millis(1);

impl Instance {
    /// Whether an LSA of a database goes out by an interface.
    fn goes_by(&self, db: DbId, kind: LsaType, interface: &Interface) -> bool {
        interface.state != InterfaceState::Down
            && !interface.settings.is_passive
            && self.db_of(kind, interface) == Some(db)
    }

    /// Sends an LSA that was installed on its way, except to where it came from. Whether it went
    /// back out by the interface that it came by.
    pub(super) fn flood(
        &mut self,
        now: Time,
        db: DbId,
        header: &Header,
        from: Option<NeighbourId>,
    ) -> bool {
        let mut went_back = false;
        let indices: Vec<u32> = self.interfaces.keys().copied().collect();
        for index in indices {
            let interface = &self.interfaces[&index];
            if !self.goes_by(db, header.key.kind, interface) {
                continue;
            }
            let (came_by, state) = (from.filter(|it| it.0 == index), interface.state);
            let by_chief =
                came_by.is_some_and(|it| it.1 == interface.designated || it.1 == interface.backup);
            let is_wanted = self.list(now, index, header, came_by.map(|it| it.1));
            // Whoever is designated sends it to the others (§13.3 (3), (4)).
            let is_done = came_by.is_some() && (by_chief || state == InterfaceState::Backup);
            if is_wanted && !is_done {
                self.outgoing.entry(index).or_default().insert((db, header.key));
                went_back |= came_by.is_some();
            }
        }
        went_back
    }

    /// Puts an LSA onto the lists of the neighbours of an interface. Whether any wants it.
    fn list(&mut self, now: Time, index: u32, header: &Header, from: Option<Ipv4Addr>) -> bool {
        let until = self.patience(now, index);
        let Some(interface) = self.interfaces.get_mut(&index) else { return false };
        let next = now + Duration::from_secs(interface.settings.retransmit_s.max(1).into());
        let mut is_wanted = false;
        for it in interface.neighbours.values_mut().filter(|it| it.takes_floods()) {
            if is_opaque(header.key.kind) && it.options & OPTION_OPAQUE == 0 {
                continue;
            }
            if it.state < NeighbourState::Full
                && let Some(wanted) = it.exchange.request.get(&header.key)
            {
                let newness = header.newness(wanted);
                if newness == Ordering::Less {
                    continue;
                }
                // From itself, the answer to the request is taken off elsewhere.
                if from != Some(it.address) {
                    it.exchange.request.remove(&header.key);
                    it.exchange.asked.remove(&header.key);
                    it.resend_at = it.resend_at.min(now + SOON);
                }
                if newness == Ordering::Equal {
                    continue;
                }
            }
            if from == Some(it.address) {
                continue;
            }
            let is_first = it.unacknowledged.is_empty();
            it.unacknowledged.insert(header.key, next);
            if is_first {
                it.moved(until);
            }
            it.lsas_at = it.lsas_at.min(next);
            is_wanted = true;
        }
        is_wanted
    }

    /// Everything that the step made to be flooded leaves.
    pub(super) fn flush_outgoing(&mut self, now: Time, out: &mut Vec<Out>) {
        for (index, lsas) in core::mem::take(&mut self.outgoing) {
            let Some(interface) = self.interfaces.get(&index) else { continue };
            let is_chief = interface.state >= InterfaceState::Backup;
            let to_all = !interface.is_broadcast() || is_chief;
            let destination = if to_all { ALL_SPF_ROUTERS } else { ALL_D_ROUTERS };
            self.send_lsas(now, index, destination, lsas.into_iter().collect(), out);
        }
    }

    /// An acknowledgment that waits for others.
    pub(super) fn acknowledge_later(&mut self, now: Time, index: u32, header: Header) {
        let room = self.room(index) / lsa::HEADER_OCTETS;
        let Some(interface) = self.interfaces.get_mut(&index) else { return };
        interface.acknowledgments.push(header);
        let is_full = interface.acknowledgments.len() >= room;
        let at = if is_full { now } else { now + ACKNOWLEDGE_AFTER };
        interface.acknowledge_at = interface.acknowledge_at.min(at);
    }

    /// Acknowledges to one neighbour at once.
    pub(super) fn acknowledge(
        &self,
        now: Time,
        to: NeighbourId,
        headers: &[Header],
        out: &mut Vec<Out>,
    ) {
        let Some(interface) = self.interfaces.get(&to.0) else { return };
        let destination = if interface.is_broadcast() { to.1 } else { ALL_SPF_ROUTERS };
        self.send_acknowledgments(now, to.0, destination, headers, out);
    }

    fn send_acknowledgments(
        &self,
        now: Time,
        index: u32,
        destination: Ipv4Addr,
        headers: &[Header],
        out: &mut Vec<Out>,
    ) {
        let count = (self.room(index) / lsa::HEADER_OCTETS).max(1);
        let area = self.interfaces.get(&index).map_or(0, |it| it.settings.area);
        for part in headers.chunks(count) {
            let writer = Writer::new(PacketType::Acknowledgment, self.settings.router, area);
            self.send(now, index, destination, writer.headers(part), out);
        }
    }

    pub(super) fn flush_acknowledgments(&mut self, now: Time, index: u32, out: &mut Vec<Out>) {
        let Some(interface) = self.interfaces.get_mut(&index) else { return };
        if interface.acknowledge_at > now {
            return;
        }
        interface.acknowledge_at = Time::MAX;
        let headers = core::mem::take(&mut interface.acknowledgments);
        let is_chief = interface.state >= InterfaceState::Backup;
        let to_all = !interface.is_broadcast() || is_chief;
        let destination = if to_all { ALL_SPF_ROUTERS } else { ALL_D_ROUTERS };
        self.send_acknowledgments(now, index, destination, &headers, out);
    }

    /// Acknowledgments came (§13.7).
    pub(super) fn acknowledged(
        &mut self,
        now: Time,
        from: NeighbourId,
        headers: &[Header],
    ) -> Result<(), Discard> {
        let it = self.neighbour(from).ok_or(Discard::NeighbourState)?;
        if it.state < NeighbourState::Exchange {
            return Err(Discard::NeighbourState);
        }
        for header in headers {
            let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
            let db = self.db_of(header.key.kind, interface);
            let sent = db.and_then(|db| self.entry(db, header.key));
            // A live instance is another one than the same that died since.
            let is_it =
                sent.is_some_and(|sent| header.newness(&sent.header(now)) == Ordering::Equal);
            if is_it {
                self.has_acknowledged(now, from, header.key);
            } else {
                self.discard(Discard::Acknowledgment);
            }
        }
        Ok(())
    }

    /// A neighbour has an LSA; whether that was awaited.
    pub(super) fn has_acknowledged(&mut self, now: Time, from: NeighbourId, key: Key) -> bool {
        let until = self.patience(now, from.0);
        let Some(it) = self.neighbour_mut(from) else { return false };
        let was_awaited = it.unacknowledged.remove(&key).is_some();
        if was_awaited {
            it.moved(until);
            let db = self.interfaces.get(&from.0).and_then(|it| self.db_of(key.kind, it));
            db.into_iter().for_each(|db| self.dying.touch(db, key));
        }
        was_awaited
    }

    /// Sees to it that an LSA is looked at when it is old.
    pub(super) fn arm(&mut self, now: Time, db: DbId, key: Key) {
        let is_own = self.is_own(key);
        let Some(entry) = self.db_mut(db).and_then(|it| it.of_mut(key)) else { return };
        let age = if is_own { REFRESH } else { MAX_AGE };
        let at = entry.reaches(age).max(now);
        if at < entry.armed {
            entry.armed = at;
            self.wheel.arm(at, (db, key));
        }
    }

    /// What has become old.
    pub(super) fn age(&mut self, now: Time) {
        let mut due = Vec::new();
        self.wheel.expire(now, &mut due);
        for (db, key) in due {
            let is_own = self.is_own(key);
            let Some(entry) = self.db_mut(db).and_then(|it| it.of_mut(key)) else { continue };
            if entry.armed > now {
                continue;
            }
            entry.armed = Time::MAX;
            let age = entry.age(now);
            if age >= MAX_AGE {
                self.flush(now, db, key);
            } else if is_own && age >= REFRESH {
                self.own.is_stale = true;
                self.refresh(now, db, key);
            } else {
                self.arm(now, db, key);
            }
        }
    }

    /// An LSA gets the greatest age, and everybody is told (§14.1).
    pub(super) fn flush(&mut self, now: Time, db: DbId, key: Key) {
        let Some(entry) = self.entry(db, key) else { return };
        let header = Header { age: MAX_AGE, ..entry.header };
        let (mut octets, from) = (entry.octets.to_vec(), entry.from);
        octets[..2].copy_from_slice(&MAX_AGE.to_be_bytes());
        self.install(now, db, header, &octets, from);
        self.flood(now, db, &header, None);
    }

    /// Those that everybody knows to be dead go.
    pub(super) fn remove_dead(&mut self, now: Time) {
        self.dying.due = None;
        if self.dying.is_quiet() || self.is_anyone_loading(now) {
            return;
        }
        for (db, key) in self.dying.take() {
            if self.is_awaited(db, key) {
                continue;
            }
            self.dying.remove(db, key);
            let is_dead = self.entry(db, key).is_none_or(|entry| entry.is_max_age(now));
            if is_dead && let Some(lsdb) = self.db_mut(db) {
                lsdb.remove(key);
                // Where we still want to say it, it begins anew.
                if self.is_own(key) {
                    self.say_anew(now);
                }
            }
        }
        self.dying.due = (!self.dying.is_quiet()).then(|| now + SOON);
    }

    /// Whether a neighbour has not acknowledged an LSA.
    fn is_awaited(&self, db: DbId, key: Key) -> bool {
        self.interfaces.values().any(|interface| {
            let is_its = self.db_of(key.kind, interface) == Some(db);
            let mut neighbours = interface.neighbours.values();
            is_its
                && neighbours.any(|it| {
                    it.state >= NeighbourState::Exchange && it.unacknowledged.contains_key(&key)
                })
        })
    }

    /// A neighbour is not waited for any more.
    pub(super) fn forget_awaited(&mut self, id: NeighbourId) {
        let Some(interface) = self.interfaces.get_mut(&id.0) else { return };
        let Some(it) = interface.neighbours.get_mut(&id.1) else { return };
        let keys = core::mem::take(&mut it.unacknowledged);
        let Some(interface) = self.interfaces.get(&id.0) else { return };
        for (key, _) in keys {
            if let Some(db) = self.db_of(key.kind, interface) {
                self.dying.touch(db, key);
            }
        }
    }

    /// LSAs that die do not wait for a neighbour.
    pub(super) fn forget_dying(&mut self, id: NeighbourId) {
        let Some(interface) = self.interfaces.get(&id.0) else { return };
        let Some(it) = interface.neighbours.get(&id.1) else { return };
        let all = it.unacknowledged.keys();
        let all = all.filter_map(|key| Some((self.db_of(key.kind, interface)?, *key)));
        let dying: Vec<(DbId, Key)> = all.filter(|it| self.dying.has(it.0, it.1)).collect();
        for (db, key) in dying {
            self.neighbour_mut(id).map(|it| it.unacknowledged.remove(&key));
            self.dying.touch(db, key);
        }
    }

    /// What others say in our name is answered at once, and then once an interval: whoever says it
    /// without end does not have all that we say made anew each time (§13.4 with MinLSInterval).
    pub(super) fn say_anew(&mut self, now: Time) {
        let own = &mut self.own;
        let at = match own.fought {
            Some(planned) if planned > now => planned,
            Some(last) => now.max(last + self.settings.ls_interval),
            None => now,
        };
        own.fought = Some(at);
        if at == now {
            own.is_stale = true;
        } else {
            own.due = Some(own.due.map_or(at, |due| due.min(at)));
        }
    }
}
