//! LSAs arrive (RFC 2328 §13).

use super::{DbId, Instance, NeighbourId, Out};
use crate::discard::Discard;
use crate::interface::InterfaceState;
use crate::lsa::{Header, Key, LsaType, MAX_AGE, MAX_SEQUENCE, Read};
use crate::neighbour::NeighbourState;
use crate::topology::Vertex;
use core::cmp::Ordering;
use machine::Time;
use wire::Malformed;

impl Instance {
    /// An update came.
    pub(super) fn updated(
        &mut self,
        now: Time,
        from: NeighbourId,
        lsas: Vec<Result<Read<'_>, Malformed>>,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let it = self.neighbour(from).ok_or(Discard::NeighbourState)?;
        if it.state < NeighbourState::Exchange {
            return Err(Discard::NeighbourState);
        }
        let mut at_once = Vec::new();
        for lsa in lsas {
            let taken = match lsa {
                Ok(lsa) => self.take(now, from, &lsa, out),
                Err(_) => Err(Discard::BadLsa),
            };
            match taken {
                Ok(is_at_once) => at_once.extend(is_at_once),
                Err(why) => self.discard(why),
            }
            // A neighbour that begins anew has nothing more to say.
            if self.neighbour(from).is_none_or(|it| it.state < NeighbourState::Exchange) {
                break;
            }
        }
        if !at_once.is_empty() {
            self.acknowledge(now, from, &at_once, out);
        }
        Ok(())
    }

    /// One LSA (§13 (3) to (8)). What must be acknowledged at once.
    fn take(
        &mut self,
        now: Time,
        from: NeighbourId,
        lsa: &Read<'_>,
        out: &mut Vec<Out>,
    ) -> Result<Option<Header>, Discard> {
        let header = lsa.header;
        let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
        let db = self.db_of(header.key.kind, interface).ok_or(Discard::LsaScope)?;
        let present = self.entry(db, header.key).map(|entry| (entry.header(now), entry.at));
        let Some((own, at)) = present else {
            if header.age >= MAX_AGE && !self.is_anyone_loading(now) {
                return Ok(Some(header));
            }
            return self.take_newer(now, from, db, lsa, out);
        };
        match header.newness(&own) {
            Ordering::Greater => {
                let is_asked =
                    self.neighbour(from).is_some_and(|it| it.exchange.asked.contains(&header.key));
                if now.since(at) < self.settings.ls_arrival && !is_asked {
                    return Err(Discard::LsaTooSoon);
                }
                self.take_newer(now, from, db, lsa, out)
            }
            Ordering::Equal => self.take_same(now, from, header, out),
            Ordering::Less => {
                self.take_older(now, from, [header, own], db, out);
                Ok(None)
            }
        }
    }

    /// Whether a neighbour still learns the database. One that takes too long holds up nobody, nor
    /// do many, each of which begins before the one before has ended.
    pub(super) fn is_anyone_loading(&self, now: Time) -> bool {
        if self.own.loads_until.is_some_and(|until| until <= now) {
            return false;
        }
        let mut all = self.interfaces.values().flat_map(|it| it.neighbours.values());
        all.any(|it| it.is_loading() && it.loads_until.is_some_and(|until| now < until))
    }

    /// §13 (5): a newer instance.
    fn take_newer(
        &mut self,
        now: Time,
        from: NeighbourId,
        db: DbId,
        lsa: &Read<'_>,
        out: &mut Vec<Out>,
    ) -> Result<Option<Header>, Discard> {
        let header = lsa.header;
        let limits = self.settings.limits;
        let octets = lsa.octets.len();
        let has_room = |it: &crate::lsdb::Lsdb| it.has_room(header.key, octets, from, &limits);
        if !self.db(db).is_some_and(has_room) {
            // What is asked for in vain is not asked for again and again.
            self.got(now, from, header.key, out);
            return Err(Discard::DatabaseFull);
        }
        self.forget_unacknowledged(db, header.key);
        self.install(now, db, header, lsa.octets, Some(from));
        let went_back = self.flood(now, db, &header, Some(from));
        self.got(now, from, header.key, out);
        let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
        let is_backup = interface.state == InterfaceState::Backup;
        if !went_back && (!is_backup || from.1 == interface.designated) {
            self.acknowledge_later(now, from.0, header);
        }
        // While we restart, what we said before stands.
        let is_of_now = self.own.restarting.is_none() || header.key.kind == LsaType::OpaqueLink;
        if self.is_own(header.key) && is_of_now {
            self.counts.fought_back += 1;
            self.say_anew(now);
        }
        if header.key.kind == LsaType::OpaqueLink {
            self.notice_grace(now, from, header, lsa.octets);
        }
        Ok(None)
    }

    /// Whether we say that LSA, or did once (§13.4).
    pub(super) fn is_own(&self, key: Key) -> bool {
        let is_address =
            |id: u32| self.interfaces.values().any(|it| u32::from(it.settings.address) == id);
        key.router == self.settings.router || key.kind == LsaType::Network && is_address(key.id)
    }

    /// §13 (7): the same instance: an acknowledgment, or one that got lost.
    fn take_same(
        &mut self,
        now: Time,
        from: NeighbourId,
        header: Header,
        out: &mut Vec<Out>,
    ) -> Result<Option<Header>, Discard> {
        // §13 (6): who describes what it does not send is asked for everything again.
        let it = self.neighbour_mut(from).ok_or(Discard::NeighbourState)?;
        if let Some(wanted) = it.exchange.request.get(&header.key).copied() {
            if header.newness(&wanted) == Ordering::Less {
                self.begin_anew(now, from, out);
                return Err(Discard::Request);
            }
            self.got(now, from, header.key, out);
        }
        let is_implied = self.has_acknowledged(now, from, header.key);
        let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
        if !is_implied {
            return Ok(Some(header));
        }
        if interface.state == InterfaceState::Backup && from.1 == interface.designated {
            self.acknowledge_later(now, from.0, header);
        }
        Ok(None)
    }

    /// §13 (8): what we have is newer, and goes back.
    fn take_older(
        &mut self,
        now: Time,
        from: NeighbourId,
        headers: [Header; 2],
        db: DbId,
        out: &mut Vec<Out>,
    ) {
        let [theirs, own] = headers;
        let it = self.neighbour(from);
        let is_asked = it.is_some_and(|it| it.exchange.request.contains_key(&theirs.key));
        if is_asked {
            self.got(now, from, theirs.key, out);
        }
        let is_at_its_end = own.age >= MAX_AGE && own.sequence == MAX_SEQUENCE;
        let arrival = self.settings.ls_arrival;
        let entry = self.db_mut(db).and_then(|it| it.of_mut(own.key));
        if let Some(entry) = entry.filter(|_| !is_at_its_end)
            && entry.sent_back.is_none_or(|at| now.since(at) >= arrival)
        {
            entry.sent_back = Some(now);
            self.owe(now, from, &[(db, own.key)], out);
        }
    }

    fn forget_unacknowledged(&mut self, db: DbId, key: Key) {
        let area = match db {
            DbId::Area(area) => Some(area),
            _ => None,
        };
        for (index, interface) in &mut self.interfaces {
            let is_meant = match db {
                DbId::Link(link) => link == *index,
                _ => area.is_none_or(|area| area == interface.settings.area),
            };
            if is_meant {
                interface.neighbours.values_mut().for_each(|it| {
                    it.unacknowledged.remove(&key);
                });
            }
        }
    }

    /// Installs an LSA; where its contents are others, routes are found anew (§13.2).
    pub(super) fn install(
        &mut self,
        now: Time,
        db: DbId,
        header: Header,
        octets: &[u8],
        from: Option<NeighbourId>,
    ) {
        let Some(lsdb) = self.db_mut(db) else { return };
        let was = lsdb.install(header, octets, from, now);
        let body = |octets: &[u8]| octets.get(crate::lsa::HEADER_OCTETS..).map(<[u8]>::to_vec);
        let is_same = was.is_some_and(|was| {
            was.header.options == header.options
                && was.is_max_age(now) == (header.age >= MAX_AGE)
                && body(&was.octets) == body(octets)
        });
        self.counts.installed += 1;
        if header.age >= MAX_AGE {
            self.dying.insert(db, header.key);
        } else {
            self.dying.remove(db, header.key);
            self.arm(now, db, header.key);
        }
        if !is_same {
            self.contents_changed(now, db, header.key);
        }
    }

    /// What the routes depend on is another thing.
    pub(super) fn contents_changed(&mut self, now: Time, db: DbId, key: Key) {
        let area = match db {
            DbId::Area(area) => self.areas.get_mut(&area),
            _ => None,
        };
        if let Some((area, vertex)) = area.zip(Vertex::of(key)) {
            area.topology.change(vertex);
        }
        let is_opaque = super::exchange::is_opaque(key.kind);
        if !is_opaque {
            self.backoff.change(now);
            self.end_all_graces(now, key);
        }
    }
}
