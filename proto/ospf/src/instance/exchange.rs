//! Databases are described, and what lacks is asked for (RFC 2328 §10.6 to §10.9).

use super::{ALL_SPF_ROUTERS, DbId, Instance, NeighbourId, Out};
use crate::discard::Discard;
use crate::doubt::Doubt;
use crate::lsa::{self, Header, Key, LsaType, MAX_AGE, OPTION_OPAQUE, Scope};
use crate::neighbour::{LastDescription, Neighbour, NeighbourState};
use crate::packet::{self, DD_INIT, DD_MASTER, DD_MORE, Description, PacketType, Writer};
use core::cmp::Ordering;
use core::ops::Bound;
use machine::{Duration, Time};
use std::net::Ipv4Addr;

/// Octets of an IP header.
const IP_OCTETS: usize = 20;
/// LSAs that are asked for at once.
const ASKED_MAX: usize = 64;
/// So often the same is asked for.
const ASKED_TIMES: u8 = 12;
/// A neighbour that answers none of so many retransmissions begins anew.
const RETRANSMISSIONS_MAX: u32 = 24;
/// Others wait so long for a neighbour that learns the database (§14).
pub(super) const LOADING_MAX: Duration = Duration::from_secs(600);
/// LSAs that one neighbour has asked for at once; for the rest it asks again.
const OWED_MAX: usize = 8_192;
/// Octets of LSAs to one neighbour at once, and what lies between two such times.
const SENT_OCTETS: usize = 65_536;
const PACE: Duration = Duration::from_millis(10);
/// Unacknowledged LSAs that are looked at at once.
const LOOKED_AT_MAX: usize = 256;

impl Instance {
    /// Octets that the body of a packet may have on an interface.
    pub(super) fn room(&self, index: u32) -> usize {
        let settings = self.interfaces.get(&index).map(|it| &it.settings);
        settings.map_or(0, |it| {
            let taken = IP_OCTETS + packet::HEADER_OCTETS + it.authentication.octets();
            usize::from(it.mtu).saturating_sub(taken).max(576 - taken)
        })
    }

    /// Where packets to one neighbour go.
    fn destination(&self, id: NeighbourId) -> Ipv4Addr {
        let is_broadcast = self.interfaces.get(&id.0).is_some_and(|it| it.is_broadcast());
        if is_broadcast { id.1 } else { ALL_SPF_ROUTERS }
    }

    fn retransmit_at(&self, now: Time, index: u32) -> Time {
        let settings = self.interfaces.get(&index).map(|it| it.settings.retransmit_s);
        now + Duration::from_secs(settings.unwrap_or(5).max(1).into())
    }

    /// ExStart: we say that we are the master.
    pub(super) fn begin_exchange(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        self.forget_exchange(id);
        self.set_state(id, NeighbourState::ExStart, out);
        // Another one than that of an exchange that failed.
        let first = machine::narrow::half(now.as_millis());
        let Some(it) = self.neighbour_mut(id) else { return };
        it.exchange.is_master = true;
        it.exchange.sequence = first;
        self.describe(now, id, DD_INIT | DD_MORE | DD_MASTER, Vec::new(), out);
        let at = self.retransmit_at(now, id.0);
        self.rearm(id, at);
    }

    pub(super) fn rearm(&mut self, id: NeighbourId, at: Time) {
        if let Some(it) = self.neighbour_mut(id) {
            it.resend_at = it.resend_at.min(at);
        }
    }

    fn describe(
        &mut self,
        now: Time,
        id: NeighbourId,
        flags: u8,
        headers: Vec<Header>,
        out: &mut Vec<Out>,
    ) {
        let Some(interface) = self.interfaces.get(&id.0) else { return };
        let options = self.description_options(interface.settings.area);
        let mtu = interface.settings.mtu;
        let Some(it) = self.neighbour_mut(id) else { return };
        let sequence = it.exchange.sequence;
        let description = Description { mtu, options, flags, sequence, headers };
        it.exchange.sent = Some(description);
        self.repeat_description(now, id, out);
    }

    /// Sends the last description, again.
    fn repeat_description(&self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let Some(interface) = self.interfaces.get(&id.0) else { return };
        let sent = interface.neighbours.get(&id.1).and_then(|it| it.exchange.sent.as_ref());
        let Some(description) = sent else { return };
        let area = interface.settings.area;
        let writer = Writer::new(PacketType::Description, self.settings.router, area);
        self.send(now, id.0, self.destination(id), writer.description(description), out);
    }

    /// A description came.
    pub(super) fn described(
        &mut self,
        now: Time,
        from: NeighbourId,
        description: &Description,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
        let settings = &interface.settings;
        let [there, here] = [description.mtu, settings.mtu];
        let is_borne = settings.ignores_mtu || there == here;
        // A smaller one is taken here, and ours perhaps not there.
        let why = (!is_borne).then_some(Doubt::Mtu(there, here));
        self.doubt_mtu(now, from, why);
        if there > here && !is_borne {
            return Err(Discard::Mtu);
        }
        let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
        let it = interface.neighbours.get(&from.1).ok_or(Discard::NeighbourState)?;
        match it.state {
            NeighbourState::Init => {
                // The peer hears us, else it would not describe.
                if let Some(interface) = self.interfaces.get_mut(&from.0) {
                    interface.is_undecided |= interface.is_broadcast();
                }
                self.set_state(from, NeighbourState::TwoWay, out);
                let wanted = self.interfaces.get(&from.0);
                let wanted = wanted.filter(|it| !it.is_broadcast()).is_some();
                if wanted {
                    self.begin_exchange(now, from, out);
                    return self.negotiate(now, from, description, out);
                }
                Err(Discard::NeighbourState)
            }
            NeighbourState::Down | NeighbourState::TwoWay => Err(Discard::NeighbourState),
            NeighbourState::ExStart => self.negotiate(now, from, description, out),
            NeighbourState::Exchange => self.go_on(now, from, description, out),
            NeighbourState::Loading | NeighbourState::Full => {
                self.described_again(now, from, description, out)
            }
        }
    }

    /// Who is master (§10.6, ExStart).
    fn negotiate(
        &mut self,
        now: Time,
        from: NeighbourId,
        description: &Description,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let own = self.settings.router;
        let it = self.neighbour_mut(from).ok_or(Discard::NeighbourState)?;
        let all = DD_INIT | DD_MORE | DD_MASTER;
        let is_greater = it.router > own;
        let is_first = description.flags == all && description.headers.is_empty();
        let is_answer = description.flags & (DD_INIT | DD_MASTER) == 0
            && description.sequence == it.exchange.sequence;
        if is_first && is_greater {
            it.exchange.is_master = false;
            it.exchange.sequence = description.sequence;
        } else if !is_answer || is_greater {
            return Err(Discard::Sequence);
        }
        it.options = description.options;
        let takes_opaque = it.options & OPTION_OPAQUE != 0;
        let all = self.summary(from.0, takes_opaque);
        let (dead, live): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(db, key)| self.is_dead(now, *db, *key));
        let soon = now + Duration::from_millis(1);
        let it = self.neighbour_mut(from).ok_or(Discard::NeighbourState)?;
        it.exchange.summary = live.into_iter().map(|(_, key)| key).collect();
        // What is dead is not described but sent: it must not come back from there.
        it.unacknowledged.extend(dead.into_iter().map(|(_, key)| (key, soon)));
        if !it.unacknowledged.is_empty() {
            it.lsas_at = it.lsas_at.min(soon);
        }
        it.exchange.last = Some(LastDescription::of(description));
        it.loads_until.get_or_insert(now + LOADING_MAX);
        self.set_state(from, NeighbourState::Exchange, out);
        self.moved(now, from);
        self.take_headers(now, from, description, out)?;
        self.answer(now, from, description, out);
        Ok(())
    }

    fn is_dead(&self, now: Time, db: DbId, key: Key) -> bool {
        self.entry(db, key).is_none_or(|entry| entry.is_max_age(now))
    }

    /// What our database has for a neighbour.
    fn summary(&self, index: u32, takes_opaque: bool) -> Vec<(DbId, Key)> {
        let Some(interface) = self.interfaces.get(&index) else { return Vec::new() };
        let area = interface.settings.area;
        let takes_domain = self.areas.get(&area).is_some_and(|it| it.kind.is_normal());
        let mut dbs = vec![DbId::Area(area), DbId::Link(index)];
        if takes_domain {
            dbs.push(DbId::Domain);
        }
        let dbs = dbs.into_iter().filter_map(|id| Some((id, self.db(id)?)));
        let all = dbs.flat_map(|(id, db)| db.iter().map(move |(key, _)| (id, *key)));
        all.filter(|(_, key)| takes_opaque || !is_opaque(key.kind)).collect()
    }

    /// The next description in turn (§10.6, Exchange).
    fn go_on(
        &mut self,
        now: Time,
        from: NeighbourId,
        description: &Description,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let it = self.neighbour(from).ok_or(Discard::NeighbourState)?;
        let exchange = &it.exchange;
        let is_again = exchange.last == Some(LastDescription::of(description));
        if is_again {
            if !exchange.is_master {
                self.repeat_description(now, from, out);
            }
            return Ok(());
        }
        let claims_master = description.flags & DD_MASTER != 0;
        let expected = exchange.sequence.wrapping_add(u32::from(!exchange.is_master));
        let is_in_turn = claims_master != exchange.is_master
            && description.flags & DD_INIT == 0
            && exchange.last.is_none_or(|last| last.options == description.options)
            && description.sequence == expected;
        if !is_in_turn {
            self.begin_anew(now, from, out);
            return Err(Discard::Sequence);
        }
        let it = self.neighbour_mut(from).ok_or(Discard::NeighbourState)?;
        it.exchange.last = Some(LastDescription::of(description));
        it.exchange.sequence = expected;
        self.moved(now, from);
        self.take_headers(now, from, description, out)?;
        self.answer(now, from, description, out);
        Ok(())
    }

    /// SeqNumberMismatch or BadLSReq: everything begins anew.
    pub(super) fn begin_anew(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        self.counts.restarted += 1;
        self.begin_exchange(now, id, out);
    }

    fn described_again(
        &mut self,
        now: Time,
        from: NeighbourId,
        description: &Description,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let it = self.neighbour(from).ok_or(Discard::NeighbourState)?;
        if it.exchange.last == Some(LastDescription::of(description)) {
            if !it.exchange.is_master {
                self.repeat_description(now, from, out);
            }
            return Ok(());
        }
        self.begin_anew(now, from, out);
        Err(Discard::Sequence)
    }

    /// What the peer has and we lack.
    fn take_headers(
        &mut self,
        now: Time,
        from: NeighbourId,
        description: &Description,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let all = self.interfaces.values().flat_map(|it| it.neighbours.values());
        let mut asked: usize = all.map(|it| it.exchange.request.len()).sum();
        let limit = self.settings.limits.lsas;
        let mut passed_over = 0;
        for header in &description.headers {
            let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
            let Some(db) = self.db_of(header.key.kind, interface) else {
                self.begin_anew(now, from, out);
                return Err(Discard::LsaScope);
            };
            let own = self.entry(db, header.key).map(|entry| entry.header(now));
            let lacks = own.is_none_or(|own| header.newness(&own) == Ordering::Greater);
            let it = self.neighbour_mut(from).ok_or(Discard::NeighbourState)?;
            if !lacks || it.exchange.request.contains_key(&header.key) {
                continue;
            }
            // What one neighbour has is no more than what is left then for all others.
            if it.exchange.request.len() < limit.saturating_sub(asked) {
                it.exchange.request.insert(header.key, *header);
                asked += 1;
            } else {
                it.exchange.is_cut = true;
                passed_over += 1;
            }
        }
        (0..passed_over).for_each(|_| self.discard(Discard::DatabaseFull));
        Ok(())
    }

    /// The answer to a description: the slave's, or the master's next.
    fn answer(&mut self, now: Time, from: NeighbourId, heard: &Description, out: &mut Vec<Out>) {
        let Some(it) = self.neighbour(from) else { return };
        let has_more = heard.flags & DD_MORE != 0;
        let is_master = it.exchange.is_master;
        let has_said_all = it.exchange.summary.is_empty()
            && it.exchange.sent.as_ref().is_some_and(|sent| sent.flags & DD_MORE == 0);
        if is_master && has_said_all && !has_more {
            return self.exchange_done(now, from, out);
        }
        let headers = self.next_headers(now, from);
        let Some(it) = self.neighbour_mut(from) else { return };
        let more = if it.exchange.summary.is_empty() { 0 } else { DD_MORE };
        let master = if is_master { DD_MASTER } else { 0 };
        if is_master {
            it.exchange.sequence = it.exchange.sequence.wrapping_add(1);
        }
        self.describe(now, from, master | more, headers, out);
        if is_master {
            let at = self.retransmit_at(now, from.0);
            self.rearm(from, at);
        } else if more == 0 && !has_more {
            self.exchange_done(now, from, out);
        } else {
            self.ask(now, from, out);
        }
    }

    fn next_headers(&mut self, now: Time, id: NeighbourId) -> Vec<Header> {
        let count = (self.room(id.0).saturating_sub(8) / lsa::HEADER_OCTETS).max(1);
        let Some(interface) = self.interfaces.get_mut(&id.0) else { return Vec::new() };
        let Some(it) = interface.neighbours.get_mut(&id.1) else { return Vec::new() };
        let from = it.exchange.summary.len().saturating_sub(count);
        let keys = it.exchange.summary.split_off(from);
        let Some(interface) = self.interfaces.get(&id.0) else { return Vec::new() };
        let found = keys.into_iter().filter_map(|key| {
            let db = self.db_of(key.kind, interface)?;
            self.entry(db, key).map(|entry| entry.header(now))
        });
        found.collect()
    }

    fn exchange_done(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let Some(it) = self.neighbour_mut(id) else { return };
        it.exchange.has_heard_all = true;
        it.exchange.summary = Vec::new();
        if it.exchange.request.is_empty() {
            return self.loading_done(now, id, out);
        }
        self.set_state(id, NeighbourState::Loading, out);
        self.ask(now, id, out);
    }

    /// Asks for the next of what lacks, when nothing is asked for.
    pub(super) fn ask(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let room = (self.room(id.0) / 12).min(ASKED_MAX);
        let Some(it) = self.neighbour_mut(id) else { return };
        if !it.exchange.asked.is_empty() || it.exchange.request.is_empty() {
            return;
        }
        it.exchange.asked = it.exchange.request.keys().copied().take(room).collect();
        it.exchange.tries = 0;
        self.send_request(now, id, out);
    }

    fn send_request(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let next = self.retransmit_at(now, id.0);
        let Some(it) = self.neighbour_mut(id) else { return };
        it.exchange.asks_at = next;
        it.resend_at = it.resend_at.min(next);
        let keys: Vec<Key> = it.exchange.asked.iter().copied().collect();
        let area = self.interfaces[&id.0].settings.area;
        let writer = Writer::new(PacketType::Request, self.settings.router, area);
        self.send(now, id.0, self.destination(id), writer.request(&keys), out);
    }

    /// An LSA that was asked for came, or one as new.
    pub(super) fn got(&mut self, now: Time, id: NeighbourId, key: Key, out: &mut Vec<Out>) {
        let Some(it) = self.neighbour_mut(id) else { return };
        it.exchange.asked.remove(&key);
        if it.exchange.request.remove(&key).is_some() {
            it.exchange.tries = 0;
            self.moved(now, id);
        }
        self.ask_on(now, id, out);
    }

    /// Asks for what lacks still; without anything, both are full.
    fn ask_on(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let is_done =
            |it: &Neighbour| it.state == NeighbourState::Loading && it.exchange.request.is_empty();
        if self.neighbour(id).is_some_and(is_done) {
            self.loading_done(now, id, out);
        } else {
            self.ask(now, id, out);
        }
    }

    /// What was passed over lacks still: it is not full, and begins anew once it is stuck.
    fn loading_done(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        if self.neighbour(id).is_some_and(|it| it.exchange.is_cut) {
            return self.set_state(id, NeighbourState::Loading, out);
        }
        if let Some(it) = self.neighbour_mut(id) {
            it.exchange.request.clear();
            it.exchange.asked.clear();
            it.loads_until = None;
        }
        self.set_state(id, NeighbourState::Full, out);
        self.moved(now, id);
    }

    /// Until when a neighbour has to answer something.
    pub(super) fn patience(&self, now: Time, index: u32) -> Time {
        let settings = self.interfaces.get(&index).map(|it| it.settings.retransmit_s);
        let each = Duration::from_secs(settings.unwrap_or(5).max(1).into());
        now + each * RETRANSMISSIONS_MAX
    }

    fn moved(&mut self, now: Time, id: NeighbourId) {
        let until = self.patience(now, id.0);
        if let Some(it) = self.neighbour_mut(id) {
            it.moved(until);
        }
    }

    /// A neighbour owes something, and gave nothing of it for long: nobody waits for it any more.
    /// One that does not become full begins anew; a full one stays, for an LSA that it refuses may
    /// be anybody's, and only LSAs that die do not wait for it.
    pub(super) fn is_stuck(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        self.moved(now, id);
        let Some(it) = self.neighbour_mut(id) else { return };
        // One that restarts answers when it is back.
        if it.stuck_at == Time::MAX || it.grace.is_some() {
            return;
        }
        let is_loading = it.is_loading();
        it.loads_until = it.loads_until.map(|_| now);
        self.discard(Discard::Unanswered);
        if is_loading {
            self.begin_anew(now, id, out);
        } else {
            self.forget_dying(id);
        }
    }

    /// LSAs are asked for (§10.7).
    pub(super) fn requested(
        &mut self,
        now: Time,
        from: NeighbourId,
        keys: &[Key],
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        let it = self.neighbour(from).ok_or(Discard::NeighbourState)?;
        if it.state < NeighbourState::Exchange {
            return Err(Discard::NeighbourState);
        }
        let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
        let find = |key: &Key| {
            let db = self.db_of(key.kind, interface)?;
            self.entry(db, *key).map(|_| (db, *key))
        };
        let Some(found) = keys.iter().map(find).collect::<Option<Vec<_>>>() else {
            self.begin_anew(now, from, out);
            return Err(Discard::Request);
        };
        self.owe(now, from, &found, out);
        Ok(())
    }

    /// LSAs that a neighbour is to get: each once, and all of them at a pace, for it takes few
    /// octets to ask for many.
    pub(super) fn owe(
        &mut self,
        now: Time,
        id: NeighbourId,
        lsas: &[(DbId, Key)],
        out: &mut Vec<Out>,
    ) {
        let Some(it) = self.neighbour_mut(id) else { return };
        let room = OWED_MAX.saturating_sub(it.exchange.owed.len());
        it.exchange.owed.extend(lsas.iter().take(room));
        self.pay(now, id, out);
    }

    /// Sends what a neighbour is to get, when it is time.
    pub(super) fn pay(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let Some(it) = self.neighbour_mut(id) else { return };
        if it.exchange.owed.is_empty() || it.exchange.pays_at > now {
            return;
        }
        it.exchange.pays_at = now + PACE;
        let mut owed = core::mem::take(&mut it.exchange.owed);
        let (mut lsas, mut octets) = (Vec::new(), 0);
        while octets < SENT_OCTETS
            && let Some((db, key)) = owed.pop_first()
        {
            octets += self.entry(db, key).map_or(0, |it| it.octets.len());
            lsas.push((db, key));
        }
        self.send_lsas(now, id.0, self.destination(id), lsas, out);
        if let Some(it) = self.neighbour_mut(id) {
            it.exchange.owed = owed;
        }
    }

    /// Describes and asks again where there was no answer.
    pub(super) fn resend(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let next = self.retransmit_at(now, id.0);
        let Some(it) = self.neighbour_mut(id) else { return };
        it.resend_at = Time::MAX;
        if it.exchange.has_heard_all {
            self.ask_on(now, id, out);
        }
        let Some(it) = self.neighbour(id) else { return };
        let describes = it.state == NeighbourState::ExStart
            || it.state == NeighbourState::Exchange && it.exchange.is_master;
        if describes {
            self.repeat_description(now, id, out);
        }
        if describes {
            self.rearm(id, next);
        }
        self.ask_again(now, id, out);
    }

    /// Asks again for what did not come, and for the next when that was in vain too often: an LSA
    /// that does not pass keeps nobody from the others.
    fn ask_again(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let Some(it) = self.neighbour_mut(id) else { return };
        if it.exchange.asked.is_empty() {
            return;
        }
        if it.exchange.asks_at > now {
            it.resend_at = it.resend_at.min(it.exchange.asks_at);
            return;
        }
        it.exchange.tries += 1;
        if it.exchange.tries <= ASKED_TIMES {
            return self.send_request(now, id, out);
        }
        for key in core::mem::take(&mut it.exchange.asked) {
            it.exchange.request.remove(&key);
        }
        self.discard(Discard::Unanswered);
        self.ask_on(now, id, out);
    }

    /// Sends LSAs that were not acknowledged again, at a pace.
    pub(super) fn resend_lsas(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let next = self.retransmit_at(now, id.0);
        let Some(interface) = self.interfaces.get(&id.0) else { return };
        let Some(it) = interface.neighbours.get(&id.1) else { return };
        let after = it.resent.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = it.resent.map_or(Bound::Unbounded, Bound::Included);
        let later = it.unacknowledged.range((after, Bound::Unbounded));
        let earlier = it.resent.map(|_| it.unacknowledged.range((Bound::Unbounded, rest)));
        let all = later.chain(earlier.into_iter().flatten());
        let (mut resent, mut due, mut found, mut octets) = (None, Vec::new(), Vec::new(), 0);
        for (key, at) in all.take(LOOKED_AT_MAX) {
            if octets >= SENT_OCTETS {
                break;
            }
            resent = Some(*key);
            if *at > now {
                continue;
            }
            due.push(*key);
            let db = self.db_of(key.kind, interface);
            if let Some((db, entry)) = db.and_then(|db| Some((db, self.entry(db, *key)?))) {
                octets += entry.octets.len();
                found.push((db, *key));
            }
        }
        let is_all = it.unacknowledged.len() <= LOOKED_AT_MAX && octets < SENT_OCTETS;
        self.send_lsas(now, id.0, self.destination(id), found, out);
        let Some(it) = self.neighbour_mut(id) else { return };
        it.resent = resent;
        it.unacknowledged.extend(due.into_iter().map(|key| (key, next)));
        let first = || it.unacknowledged.values().min().copied().unwrap_or(Time::MAX);
        it.lsas_at = if is_all { first() } else { now + PACE };
    }

    /// Sends LSAs in as many updates as it takes.
    pub(super) fn send_lsas(
        &self,
        now: Time,
        index: u32,
        destination: Ipv4Addr,
        lsas: Vec<(DbId, Key)>,
        out: &mut Vec<Out>,
    ) {
        let Some(interface) = self.interfaces.get(&index) else { return };
        let (room, delay) = (self.room(index).saturating_sub(4), interface.settings.delay_s);
        let area = interface.settings.area;
        let (mut part, mut octets): (Vec<(u16, &[u8])>, usize) = (Vec::new(), 0);
        let mut send = |part: &mut Vec<(u16, &[u8])>| {
            if !part.is_empty() {
                let writer = Writer::new(PacketType::Update, self.settings.router, area);
                self.send(now, index, destination, writer.update(part), out);
                part.clear();
            }
        };
        for (db, key) in lsas {
            let Some(entry) = self.entry(db, key) else { continue };
            if octets + entry.octets.len() > room {
                send(&mut part);
                octets = 0;
            }
            octets += entry.octets.len();
            let age = entry.age(now).saturating_add(delay).min(MAX_AGE);
            part.push((age, &entry.octets));
        }
        send(&mut part);
    }
}

/// Whether an LSA is opaque.
pub(super) fn is_opaque(kind: LsaType) -> bool {
    matches!(kind, LsaType::OpaqueLink | LsaType::OpaqueArea | LsaType::OpaqueDomain)
        || kind.scope() == Scope::Link
}
