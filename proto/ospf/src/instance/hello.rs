//! Hellos, and what becomes of neighbours by them (RFC 2328 §9, §10.3, §10.5).

use super::{ALL_SPF_ROUTERS, Instance, NeighbourId, Out};
use crate::discard::Discard;
use crate::interface::{Interface, InterfaceState};
use crate::lsa::{OPTION_EXTERNAL, OPTION_NSSA, OPTION_OPAQUE};
use crate::neighbour::{Exchange, Neighbour, NeighbourState};
use crate::packet::{Hello, PacketType, Writer};
use machine::{Duration, Time};
use std::net::Ipv4Addr;

/// After an election others hear of it so soon.
const SOON: Duration = Duration::from_millis(1);

impl Instance {
    pub(super) fn neighbour(&self, id: NeighbourId) -> Option<&Neighbour> {
        self.interfaces.get(&id.0)?.neighbours.get(&id.1)
    }

    pub(super) fn neighbour_mut(&mut self, id: NeighbourId) -> Option<&mut Neighbour> {
        self.interfaces.get_mut(&id.0)?.neighbours.get_mut(&id.1)
    }

    pub(super) fn options(&self, area: u32) -> u8 {
        self.areas.get(&area).map_or(OPTION_EXTERNAL, |it| it.kind.options())
    }

    pub(super) fn interface_up(&mut self, now: Time, index: u32, out: &mut Vec<Out>) {
        let Some(interface) = self.interfaces.get_mut(&index) else { return };
        if interface.state != InterfaceState::Down {
            return;
        }
        let settings = &interface.settings;
        interface.hello_at = if settings.is_passive { Time::MAX } else { now };
        interface.state = match () {
            () if !interface.is_broadcast() => InterfaceState::PointToPoint,
            () if settings.priority == 0 || settings.is_passive => InterfaceState::Other,
            () => {
                interface.wait_at = now + Duration::from_secs(settings.dead_s.into());
                InterfaceState::Waiting
            }
        };
        out.push(Out::Interface { interface: index, state: interface.state });
        (self.own.is_stale, self.own.has_moved) = (true, true);
        self.ask_for_patience(now, index);
    }

    pub(super) fn interface_down(&mut self, index: u32, out: &mut Vec<Out>) {
        let Some(interface) = self.interfaces.get(&index) else { return };
        if interface.state == InterfaceState::Down {
            return;
        }
        let addresses: Vec<Ipv4Addr> = interface.neighbours.keys().copied().collect();
        addresses.into_iter().for_each(|address| self.kill((index, address), out));
        if let Some(interface) = self.interfaces.get_mut(&index) {
            let numbers = core::mem::take(&mut interface.numbers);
            *interface = Interface { numbers, ..Interface::new(interface.settings.clone()) };
        }
        self.links.insert(index, crate::lsdb::Lsdb::default());
        self.outgoing.remove(&index);
        out.push(Out::Interface { interface: index, state: InterfaceState::Down });
        (self.own.is_stale, self.own.has_moved) = (true, true);
    }

    /// A hello came.
    pub(super) fn hear(
        &mut self,
        now: Time,
        from: NeighbourId,
        router: u32,
        hello: &Hello,
        out: &mut Vec<Out>,
    ) -> Result<(), Discard> {
        self.check_hello(from.0, hello)?;
        let interface = self.interfaces.get(&from.0).ok_or(Discard::Interface)?;
        let known = interface.neighbours.get(&from.1);
        // On a link of two, another router or another address is another neighbour.
        let is_other = known.is_some_and(|it| it.router != router);
        let others: Vec<Ipv4Addr> = if interface.is_broadcast() {
            Vec::new()
        } else {
            interface.neighbours.keys().copied().filter(|address| *address != from.1).collect()
        };
        if known.is_none() && interface.neighbours.len() >= self.settings.limits.neighbours {
            return Err(Discard::Neighbours);
        }
        others.into_iter().for_each(|address| self.kill((from.0, address), out));
        if is_other {
            self.kill(from, out);
        }
        let own = self.settings.router;
        let Some(interface) = self.interfaces.get_mut(&from.0) else { return Ok(()) };
        let dead_at = now + Duration::from_secs(interface.settings.dead_s.into());
        let neighbours = &mut interface.neighbours;
        let it = neighbours.entry(from.1).or_insert_with(|| Neighbour::new(router, from.1));
        it.dead_at = dead_at;
        let is_new = it.state == NeighbourState::Down;
        let before = (it.priority, it.designated, it.backup);
        it.priority = hello.priority;
        // One that restarts does not know yet what part it had.
        if it.grace.is_none() || !hello.designated.is_unspecified() {
            (it.designated, it.backup) = (hello.designated, hello.backup);
        }
        let is_borne = it.grace.is_some();
        // Only descriptions tell whether it understands opaque LSAs.
        it.options = it.options & OPTION_OPAQUE | hello.options & !OPTION_OPAQUE;
        if is_new {
            self.set_state(from, NeighbourState::Init, out);
        }
        if hello.neighbours.contains(&own) {
            self.two_way(now, from, out);
        } else {
            self.one_way(from, out);
        }
        self.resume_part(from.0, hello, out);
        if !is_borne {
            self.notice_claims(from, hello, before, is_new);
        }
        Ok(())
    }

    fn check_hello(&self, index: u32, hello: &Hello) -> Result<(), Discard> {
        let interface = self.interfaces.get(&index).ok_or(Discard::Interface)?;
        let settings = &interface.settings;
        let bits = OPTION_EXTERNAL | OPTION_NSSA;
        match () {
            () if interface.is_broadcast() && hello.mask != settings.prefix().mask() => {
                Err(Discard::Mask)
            }
            () if hello.interval_s != settings.hello_s || hello.dead_s != settings.dead_s => {
                Err(Discard::Intervals)
            }
            () if (hello.options ^ self.options(settings.area)) & bits != 0 => {
                Err(Discard::Options)
            }
            () => Ok(()),
        }
    }

    /// What a neighbour says of who is designated router.
    fn notice_claims(
        &mut self,
        from: NeighbourId,
        hello: &Hello,
        before: (u8, Ipv4Addr, Ipv4Addr),
        is_new: bool,
    ) {
        let Some(interface) = self.interfaces.get_mut(&from.0) else { return };
        if !interface.is_broadcast() {
            return;
        }
        let claims = |who: Ipv4Addr| who == from.1;
        let is_alone = claims(hello.designated) && hello.backup.is_unspecified();
        if interface.state == InterfaceState::Waiting {
            // BackupSeen: somebody has been elected already.
            let is_two_way = interface
                .neighbours
                .get(&from.1)
                .is_some_and(|it| it.state >= NeighbourState::TwoWay);
            if is_two_way && (claims(hello.backup) || is_alone) {
                interface.wait_at = Time::ZERO;
            }
            return;
        }
        let (priority, designated, backup) = before;
        interface.is_undecided |= !is_new
            && (priority != hello.priority
                || claims(designated) != claims(hello.designated)
                || claims(backup) != claims(hello.backup));
    }

    fn two_way(&mut self, now: Time, from: NeighbourId, out: &mut Vec<Out>) {
        if self.neighbour(from).is_none_or(|it| it.state >= NeighbourState::TwoWay) {
            return;
        }
        self.set_state(from, NeighbourState::TwoWay, out);
        if let Some(interface) = self.interfaces.get_mut(&from.0) {
            interface.is_undecided |= interface.is_broadcast();
        }
        self.adjacency_wanted(now, from, out);
    }

    fn one_way(&mut self, from: NeighbourId, out: &mut Vec<Out>) {
        if self.neighbour(from).is_some_and(|it| it.state >= NeighbourState::TwoWay) {
            self.forget_exchange(from);
            self.set_state(from, NeighbourState::Init, out);
            let is_borne = self.neighbour(from).is_some_and(|it| it.grace.is_some());
            if let Some(interface) = self.interfaces.get_mut(&from.0) {
                interface.is_undecided |= interface.is_broadcast() && !is_borne;
            }
        }
    }

    pub(super) fn forget_exchange(&mut self, id: NeighbourId) {
        self.forget_awaited(id);
        if let Some(it) = self.neighbour_mut(id) {
            it.exchange = Exchange::default();
            (it.resend_at, it.lsas_at, it.stuck_at) = (Time::MAX, Time::MAX, Time::MAX);
        }
    }

    /// A neighbour is gone.
    pub(super) fn kill(&mut self, id: NeighbourId, out: &mut Vec<Out>) {
        let Some(&Neighbour { router, .. }) = self.neighbour(id) else { return };
        if let Some(it) = self.neighbour_mut(id) {
            it.grace = None;
        }
        self.set_state(id, NeighbourState::Down, out);
        self.forget_awaited(id);
        self.own.is_stale = true;
        if let Some(interface) = self.interfaces.get_mut(&id.0) {
            interface.neighbours.remove(&id.1);
            interface.is_undecided |= interface.is_broadcast();
            if !interface.settings.keeps_numbers {
                interface.numbers.forget(router);
            }
        }
    }

    /// A neighbour's state is another one; where others are told of it, what we say changes.
    pub(super) fn set_state(&mut self, id: NeighbourId, state: NeighbourState, out: &mut Vec<Out>) {
        let Some(it) = self.neighbour_mut(id) else { return };
        if it.state == state {
            return;
        }
        let was_announced = it.is_announced();
        it.state = state;
        let (router, is_announced) = (it.router, it.is_announced());
        self.own.is_stale |= was_announced != is_announced;
        self.own.has_moved |= was_announced != is_announced || state == NeighbourState::Down;
        out.push(Out::Neighbour { interface: id.0, address: id.1, router, state });
    }

    /// Elections that are due, and the adjacencies that follow from them.
    pub(super) fn elect_all(&mut self, now: Time, out: &mut Vec<Out>) {
        let own = self.settings.router;
        for (&index, interface) in &mut self.interfaces {
            let is_over = interface.state == InterfaceState::Waiting && interface.wait_at <= now;
            let is_decided =
                matches!(interface.state, InterfaceState::Waiting | InterfaceState::Down);
            if !is_over && (is_decided || !interface.is_undecided) {
                continue;
            }
            interface.wait_at = Time::MAX;
            interface.is_undecided = false;
            let before = interface.state;
            if interface.elect(own) {
                interface.hello_at = interface.hello_at.min(now + SOON);
                self.own.is_stale = true;
                if interface.state != before {
                    out.push(Out::Interface { interface: index, state: interface.state });
                }
            }
            let neighbours: Vec<Ipv4Addr> = interface.neighbours.keys().copied().collect();
            // Read by what follows: its adjacencies are looked at.
            interface.is_undecided = !neighbours.is_empty();
        }
        self.adjust_adjacencies(now, out);
    }

    /// AdjOK? of every neighbour of interfaces where an election was.
    fn adjust_adjacencies(&mut self, now: Time, out: &mut Vec<Out>) {
        let mut all: Vec<NeighbourId> = Vec::new();
        for (&index, interface) in &mut self.interfaces {
            let is_settled = interface.state != InterfaceState::Waiting;
            if is_settled && core::mem::take(&mut interface.is_undecided) {
                all.extend(interface.neighbours.keys().map(|address| (index, *address)));
            }
        }
        all.into_iter().for_each(|id| self.adjacency_wanted(now, id, out));
    }

    fn adjacency_wanted(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        let Some(interface) = self.interfaces.get(&id.0) else { return };
        let Some(neighbour) = interface.neighbours.get(&id.1) else { return };
        let is_settled = interface.state != InterfaceState::Waiting;
        let is_wanted = interface.wants(neighbour) && is_settled;
        match neighbour.state {
            NeighbourState::TwoWay if is_wanted => self.begin_exchange(now, id, out),
            state if state > NeighbourState::TwoWay && !is_wanted => {
                self.forget_exchange(id);
                self.set_state(id, NeighbourState::TwoWay, out);
            }
            _ => {}
        }
    }

    /// Timers of interfaces and neighbours.
    pub(super) fn tick_interfaces(&mut self, now: Time, out: &mut Vec<Out>) {
        let indices: Vec<u32> = self.interfaces.keys().copied().collect();
        for index in indices {
            if self.interfaces.get(&index).is_none_or(|it| it.due() > now) {
                continue;
            }
            self.say_hello(now, index, out);
            self.flush_acknowledgments(now, index, out);
            let Some(interface) = self.interfaces.get(&index) else { continue };
            let due = interface.neighbours.values().filter(|it| it.due() <= now);
            let due: Vec<NeighbourId> = due.map(|it| (index, it.address)).collect();
            due.into_iter().for_each(|id| self.tick_neighbour(now, id, out));
        }
    }

    fn tick_neighbour(&mut self, now: Time, id: NeighbourId, out: &mut Vec<Out>) {
        self.end_grace(now, id, false);
        let Some(it) = self.neighbour_mut(id) else { return };
        if it.dead_at <= now {
            if it.grace.is_none() {
                return self.kill(id, out);
            }
            // It is borne while it restarts: the grace has its own end.
            it.dead_at = Time::MAX;
        }
        if it.stuck_at <= now {
            self.is_stuck(now, id, out);
        }
        let Some(it) = self.neighbour(id) else { return };
        let (repeats, resends) = (it.resend_at <= now, it.lsas_at <= now);
        if repeats {
            self.resend(now, id, out);
        }
        if resends {
            self.resend_lsas(now, id, out);
        }
        self.pay(now, id, out);
    }

    fn say_hello(&mut self, now: Time, index: u32, out: &mut Vec<Out>) {
        let Some(interface) = self.interfaces.get_mut(&index) else { return };
        if interface.hello_at > now {
            return;
        }
        interface.hello_at = now + Duration::from_secs(interface.settings.hello_s.max(1).into());
        let interface = &self.interfaces[&index];
        let settings = &interface.settings;
        let hello = Hello {
            mask: settings.prefix().mask(),
            interval_s: settings.hello_s,
            options: self.options(settings.area),
            priority: settings.priority,
            dead_s: settings.dead_s,
            designated: interface.designated,
            backup: interface.backup,
            neighbours: interface.neighbours.values().map(|it| it.router).collect(),
        };
        let writer = Writer::new(PacketType::Hello, self.settings.router, settings.area);
        self.send(now, index, ALL_SPF_ROUTERS, writer.hello(&hello), out);
    }

    /// Sends a packet.
    pub(super) fn send(
        &self,
        now: Time,
        index: u32,
        destination: Ipv4Addr,
        writer: Writer,
        out: &mut Vec<Out>,
    ) {
        let Some(interface) = self.interfaces.get(&index) else { return };
        let octets = writer.finish(&interface.settings.authentication, Self::sequence(now));
        out.extend(octets.map(|octets| Out::Send { interface: index, destination, octets }));
    }

    /// Options of descriptions: opaque LSAs are understood.
    pub(super) fn description_options(&self, area: u32) -> u8 {
        self.options(area) & !OPTION_NSSA | OPTION_OPAQUE
    }
}
