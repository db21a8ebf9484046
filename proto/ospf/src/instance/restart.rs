//! Graceful restart (RFC 3623): neighbours that restart are borne for a while (§3), and our own
//! (§2): what we said before stands until every adjacency of before is full again.

use super::{DbId, Instance, NeighbourId, Out};
use crate::interface::{Interface, InterfaceState};
use crate::lsa::{Grace, HEADER_OCTETS, Header, Key, Link, LinkKind, LsaType, MAX_AGE};
use crate::lsa::{Network, OpaqueType, Router, opaque_id};
use crate::neighbour::NeighbourState;
use crate::packet::Hello;
use machine::{Duration, Time};

/// Time between what asks for patience and the first hello.
const HELLO_AFTER: Duration = Duration::from_millis(100);

/// Whole seconds of a period, as a grace LSA has them.
pub(super) fn seconds(period: Duration) -> u32 {
    machine::narrow::at_most(period.as_secs(), u32::MAX)
}

impl Instance {
    /// Our restart is over: every adjacency of before is full again, or its time has passed
    /// (§2.2).
    pub(super) fn end_restart(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.own.grace.is_some_and(|until| until <= now) {
            (self.own.grace, self.own.grace_s) = (None, None);
            self.own.is_stale = true;
        }
        let Some(until) = self.own.restarting else { return };
        if until > now && !self.is_as_before(now) {
            return;
        }
        self.own.restarting = None;
        (self.own.grace, self.own.grace_s) = (None, None);
        // The table first (§2.3 (3)): without it, summaries of before would be withdrawn, and what
        // is said anew within MinLSArrival is not heard.
        self.run(now, out);
        self.own.is_stale = true;
        self.backoff.change(now);
    }

    /// Before the first hello on a link, neighbours to whom we are still full are asked for
    /// patience (§2.1, unplanned outages).
    pub(super) fn ask_for_patience(&mut self, now: Time, index: u32) {
        if self.own.restarting.is_none() {
            return;
        }
        self.originate_all(now);
        let router = self.settings.router;
        let id = opaque_id(OpaqueType::Grace, 0);
        let key = Key { kind: LsaType::OpaqueLink, id, router };
        self.outgoing.entry(index).or_default().insert((DbId::Link(index), key));
        // A hello that overtook it would end the adjacency.
        if let Some(interface) = self.interfaces.get_mut(&index) {
            interface.hello_at = interface.hello_at.max(now + HELLO_AFTER);
        }
    }

    /// Whether what we said before the restart is known, and its adjacencies are full.
    fn is_as_before(&self, now: Time) -> bool {
        let own = self.settings.router;
        let key = Key { kind: LsaType::Router, id: own, router: own };
        let up = self.interfaces.values().filter(|it| it.state != InterfaceState::Down);
        let mut up = up.peekable();
        // Whoever has not begun to speak has heard nothing.
        if up.peek().is_none() {
            return false;
        }
        let has_heard = |area: u32| {
            let entry = self.entry(DbId::Area(area), key).filter(|it| !it.is_max_age(now));
            entry.and_then(|entry| Router::read(entry.body()).ok())
        };
        up.all(|interface| {
            let Some(said) = has_heard(interface.settings.area) else { return false };
            let address = u32::from(interface.settings.address);
            let mut links = said.links.iter().filter(|link| link.data == address);
            links.all(|link| self.is_full_again(interface, link, now))
        })
    }

    fn is_full_again(&self, interface: &Interface, link: &Link, now: Time) -> bool {
        let full = |router: u32| {
            let mut all = interface.neighbours.values();
            all.any(|it| it.router == router && it.state == NeighbourState::Full)
        };
        match link.kind {
            LinkKind::PointToPoint => full(link.id),
            LinkKind::Transit if link.id == u32::from(interface.settings.address) => {
                let own = self.settings.router;
                let key = Key { kind: LsaType::Network, id: link.id, router: own };
                let entry = self.entry(DbId::Area(interface.settings.area), key);
                let network = entry.filter(|it| !it.is_max_age(now));
                let network = network.and_then(|it| Network::read(it.body()).ok());
                network.is_some_and(|it| it.routers.iter().all(|id| *id == own || full(*id)))
            }
            LinkKind::Transit => {
                let chief = interface.neighbours.get(&link.id.into());
                chief.is_some_and(|it| it.state == NeighbourState::Full)
            }
            LinkKind::Stub | LinkKind::Virtual => true,
        }
    }

    /// A neighbour says that we are designated router, or backup: as before the restart (§2.1).
    pub(super) fn resume_part(&mut self, index: u32, hello: &Hello, out: &mut Vec<Out>) {
        let is_restarting = self.own.restarting.is_some();
        let Some(interface) = self.interfaces.get_mut(&index) else { return };
        if !is_restarting || interface.state != InterfaceState::Waiting {
            return;
        }
        let own = interface.settings.address;
        interface.state = match () {
            () if hello.designated == own => InterfaceState::Designated,
            () if hello.backup == own => InterfaceState::Backup,
            () if !hello.designated.is_unspecified() => InterfaceState::Other,
            () => return,
        };
        (interface.designated, interface.backup) = (hello.designated, hello.backup);
        interface.wait_at = Time::MAX;
        interface.is_undecided = true;
        out.push(Out::Interface { interface: index, state: interface.state });
    }

    /// A grace LSA came, or went.
    pub(super) fn notice_grace(
        &mut self,
        now: Time,
        from: NeighbourId,
        header: Header,
        octets: &[u8],
    ) {
        let is_grace = header.key.id >> 24 == u32::from(OpaqueType::Grace.number());
        let Some(body) = octets.get(HEADER_OCTETS..).filter(|_| is_grace) else { return };
        let router = header.key.router;
        let Some(interface) = self.interfaces.get(&from.0) else { return };
        let Ok(grace) = Grace::read(body) else { return };
        // Of a router itself, or of who floods for the link.
        let is_its = interface.neighbours.get(&from.1).is_some_and(|it| it.router == router);
        let is_chief = from.1 == interface.designated || from.1 == interface.backup;
        if !(is_its || interface.is_broadcast() && is_chief) {
            return;
        }
        let named = grace.address.filter(|_| interface.is_broadcast());
        let it = interface
            .neighbours
            .values()
            .find(|it| it.router == router && named.is_none_or(|address| address == it.address));
        let Some(id) = it.map(|it| (from.0, it.address)) else { return };
        if header.age >= MAX_AGE {
            return self.grace_withdrawn(now, id);
        }
        let left = u64::from(grace.period_s).saturating_sub(header.age.into());
        let left = Duration::from_secs(left);
        let most = self.settings.grace_max;
        let may = left <= most && !left.is_zero();
        if let Some(it) = self.neighbour_mut(id)
            && may
            && (it.state == NeighbourState::Full || it.grace.is_some())
        {
            // However often it asks again, it is borne so long in all.
            let since = if it.grace.is_some() { it.borne_since } else { now };
            it.borne_since = since;
            it.grace = Some((now + left).min(since + most));
        }
    }

    /// A neighbour says that its restart is over. It may be full with us before we are with it:
    /// then it is borne for a dead interval more.
    fn grace_withdrawn(&mut self, now: Time, id: NeighbourId) {
        let dead_s = self.interfaces.get(&id.0).map_or(0, |it| it.settings.dead_s);
        let Some(it) = self.neighbour_mut(id) else { return };
        if it.state == NeighbourState::Full || it.grace.is_none() {
            return self.end_grace(now, id, true);
        }
        let until = now + Duration::from_secs(dead_s.into());
        it.grace = it.grace.map(|at| at.min(until));
    }

    /// The grace of a neighbour ends: with its time, or because it is back.
    pub(super) fn end_grace(&mut self, now: Time, id: NeighbourId, is_over: bool) {
        let Some(it) = self.neighbour_mut(id) else { return };
        let is_over = is_over || it.grace.is_some_and(|until| until <= now);
        if it.grace.is_some() && is_over {
            it.grace = None;
            // Its silence was borne: it is dead now.
            if it.dead_at == Time::MAX {
                it.dead_at = now + Duration::from_millis(1);
            }
            self.own.is_stale = true;
        }
    }

    /// The network changed: who restarts would be told late, so that nobody is borne any more
    /// (§3.2 (3)). What the restarting router says itself is no change.
    pub(super) fn end_all_graces(&mut self, now: Time, key: Key) {
        let is_topology = matches!(
            key.kind,
            LsaType::Router
                | LsaType::Network
                | LsaType::Summary
                | LsaType::AsbrSummary
                | LsaType::External
                | LsaType::Nssa
        );
        if !is_topology {
            return;
        }
        let all = self.interfaces.iter().flat_map(|(index, interface)| {
            let borne = interface.neighbours.values().filter(|it| it.grace.is_some());
            borne.map(|it| (*index, it.address, it.router))
        });
        let ended: Vec<NeighbourId> = all
            .filter(|(.., router)| *router != key.router && key.router != self.settings.router)
            .map(|(index, address, _)| (index, address))
            .collect();
        ended.into_iter().for_each(|id| self.end_grace(now, id, true));
    }
}
