//! The router as its function has it: its packet channel, BFD of its neighbours, and
//! the protocols that learn its routes.

use crate::around::{LinkState, Protocol, Sections, Start, Surroundings};
use crate::by_isis::IsisRouter;
use crate::by_ospf::{OspfRouter, narrow, wide};
use crate::config::{Isis, Ospf};
use crate::fragments::Fragments;
use crate::frame;
use crate::ip4::Packet;
use crate::repairs::Repairs;
use crate::route::{Guard, Repair, Route, Way};
use crate::watch::Watch;
use crate::wishes::{Watched, Wishes};
use dataplane::{PacketChannel, PacketChannelEvent};
use detection::program::{Name, Notice, Said};
use isis::Prefix;
use machine::{Machine as _, Time};
use nodes::program::Class;
use runtime::{ChannelEvent, Effects, PacketRecord, PortId};
use std::collections::BTreeSet;

/// Packets of all protocols.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrived {
    pub(crate) received: u64,
    pub(crate) unread: u64,
}

/// The routing protocols of one function.
pub struct Router {
    pub(crate) function: String,
    restarts: Vec<Protocol>,
    channel: PacketChannel,
    /// The packet channel is that of these classes.
    classes: Vec<(String, u16)>,
    /// The packet channel has been open.
    has_channel: bool,
    pub(crate) watch: Watch,
    pub(crate) arrived: Arrived,
    fragments: Fragments,
    /// Prefixes that a protocol of before had routes to.
    gone: BTreeSet<Prefix>,
    pub(crate) repairs: Repairs,
    pub(crate) ospf: Option<OspfRouter>,
    pub(crate) isis: Option<IsisRouter>,
}

impl Router {
    /// A router that speaks by a packet channel from its first [`Router::configure`] on.
    #[must_use]
    pub fn new(start: Start, classes: Vec<(String, u16)>, channel: PacketChannel) -> Self {
        Self {
            function: start.function,
            restarts: start.restarts,
            channel,
            classes,
            has_channel: false,
            watch: Watch::default(),
            arrived: Arrived::default(),
            fragments: Fragments::default(),
            gone: BTreeSet::new(),
            repairs: Repairs::new(),
            ospf: None,
            isis: None,
        }
    }

    /// The classes of its packet channel.
    #[must_use]
    pub fn classes(&self) -> &[(String, u16)] {
        &self.classes
    }

    /// Packets come and go by another packet channel, that of other classes.
    pub fn reopen(
        &mut self,
        classes: Vec<(String, u16)>,
        channel: PacketChannel,
        out: &mut Effects,
    ) {
        self.channel.close(out);
        (self.classes, self.channel) = (classes, channel);
    }

    /// Other sections, other surroundings. What stays goes on.
    pub fn configure(
        &mut self,
        now: Time,
        sections: &Sections,
        around: &Surroundings,
        out: &mut Effects,
    ) {
        self.watch.set_keys(&sections.bfd);
        let restarts = std::mem::take(&mut self.restarts);
        match &sections.ospf {
            Some((section, keys)) => {
                let is_open = self.has_channel;
                let (function, of) = (&*self.function, Protocol::Ospf);
                let ospf = self.ospf.get_or_insert_with(|| {
                    OspfRouter::new(now, function, section.clone(), restarts.contains(&of))
                });
                ospf.configure(now, section.clone(), keys.clone(), around);
                self.repairs.set_delay(of, section.microloop_delay());
                if is_open {
                    ospf.open(now);
                }
            }
            None => self.end_ospf(now),
        }
        match &sections.isis {
            Some((section, keys)) => {
                let is_open = self.has_channel;
                let (function, of) = (&*self.function, Protocol::Isis);
                let isis = self.isis.get_or_insert_with(|| {
                    IsisRouter::new(now, function, section.clone(), restarts.contains(&of))
                });
                isis.configure(now, section.clone(), keys.clone(), around);
                self.repairs.set_delay(of, section.microloop_delay());
                if is_open {
                    isis.open(now);
                }
            }
            None => self.end_isis(now),
        }
        self.settle(now, out);
    }

    /// There is no OSPF any more.
    fn end_ospf(&mut self, now: Time) {
        let Some(ospf) = self.ospf.take() else { return };
        self.gone.extend(ospf.routes().map(|(prefix, _)| wide(prefix)));
        self.watch.forget(now, Protocol::Ospf);
        self.repairs.forget(Protocol::Ospf);
    }

    /// There is no IS-IS any more.
    fn end_isis(&mut self, now: Time) {
        let Some(isis) = self.isis.take() else { return };
        self.gone.extend(isis.routes().map(|(prefix, _)| prefix));
        self.watch.forget(now, Protocol::Isis);
        self.repairs.forget(Protocol::Isis);
    }

    /// How links stand is another thing than it was: `stands` says it of each by its name.
    pub fn links(&mut self, now: Time, stands: impl Fn(&str) -> LinkState, out: &mut Effects) {
        if let Some(ospf) = &mut self.ospf {
            ospf.links(now, &stands);
        }
        if let Some(isis) = &mut self.isis {
            isis.links(now, &stands);
        }
        self.settle(now, out);
    }

    /// Takes what happened on a channel; that of another number is passed over.
    pub fn step(&mut self, now: Time, port: PortId, event: ChannelEvent<'_>, out: &mut Effects) {
        match self.channel.step(now, port, event) {
            Some(PacketChannelEvent::Packet(record, packet)) => self.arrive(now, record, packet),
            Some(PacketChannelEvent::Closed(why)) => {
                let function = &*self.function;
                tracing::debug!(target: "igp", function, why, "the packet channel is closed");
            }
            Some(PacketChannelEvent::Opened) => {
                self.has_channel = true;
                if let Some(ospf) = &mut self.ospf {
                    ospf.open(now);
                }
                if let Some(isis) = &mut self.isis {
                    isis.open(now);
                }
            }
            None => {}
        }
        self.settle(now, out);
    }

    /// A packet came up.
    fn arrive(&mut self, now: Time, record: PacketRecord, octets: &[u8]) {
        self.arrived.received += 1;
        let interface = record.interface;
        if self.is_of_isis(record.class) {
            match frame::read(octets).zip(self.isis.as_mut()) {
                Some(((source, pdu), isis)) => isis.arrive(now, interface, source, pdu),
                None => self.arrived.unread += 1,
            }
            return;
        }
        let joined = match Fragments::is_one(octets) {
            true => match self.fragments.take(interface, octets) {
                Some(joined) => Some(joined),
                None => return,
            },
            false => None,
        };
        let octets = joined.as_deref().unwrap_or(octets);
        let Some(packet) = Packet::read(octets) else {
            self.arrived.unread += 1;
            return;
        };
        match &mut self.ospf {
            Some(ospf) if packet.protocol == ospf::PROTOCOL => {
                ospf.arrive(now, interface, &packet);
            }
            _ => self.arrived.unread += 1,
        }
    }

    /// The forwarder says how a session of BFD stands.
    pub fn hear(&mut self, now: Time, name: &Name, notice: Notice, out: &mut Effects) {
        let Some(id) = self.watch.hear(now, name, notice) else { return };
        if let Some(ospf) = &mut self.ospf {
            ospf.lost(now, id);
        }
        if let Some(isis) = &mut self.isis {
            isis.lost(now, id);
        }
        self.settle(now, out);
    }

    /// Sessions of BFD that are others than they were, or are no more, since this was called last;
    /// their hops are the function's.
    pub fn take_watched(&mut self) -> Vec<(Name, Option<Said>)> {
        self.watch.take_changed()
    }

    /// All sessions of BFD that there shall be.
    pub fn watched(&self) -> impl Iterator<Item = Said> + '_ {
        self.watch.all_said()
    }

    /// Whether a class of the packet channel is that of IS-IS.
    fn is_of_isis(&self, class: u8) -> bool {
        let name = Class::ALL[Class::Isis as usize].0;
        self.classes.get(usize::from(class)).is_some_and(|(of, _)| of == name)
    }

    /// Lets time pass: timers of the packet channel, of BFD and of the protocols.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        self.channel.tick(now, out);
        self.watch.tick(now);
        if let Some(ospf) = &mut self.ospf {
            ospf.tick(now);
        }
        if let Some(isis) = &mut self.isis {
            isis.tick(now);
        }
        self.settle(now, out);
        self.repairs.tick(now);
    }

    /// When [`Router::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let ospf = self.ospf.as_ref().and_then(|it| it.instance.deadline());
        let isis = self.isis.as_ref().and_then(|it| it.instance.deadline());
        let repairs = self.repairs.deadline();
        let all = [self.channel.deadline(), self.watch.deadline(), ospf, isis, repairs];
        all.into_iter().flatten().min()
    }

    /// Does what the protocols and BFD want.
    fn settle(&mut self, now: Time, out: &mut Effects) {
        let ospf = self.ospf.as_mut().map(|it| (Protocol::Ospf, std::mem::take(&mut it.wishes)));
        let isis = self.isis.as_mut().map(|it| (Protocol::Isis, std::mem::take(&mut it.wishes)));
        for (of, Wishes { packets, watches, events }) in ospf.into_iter().chain(isis) {
            events.into_iter().for_each(|event| self.repairs.note(now, of, event));
            for (to, octets) in packets {
                self.channel.send(out, to, |into| into.extend_from_slice(&octets));
            }
            for Watched { id, local, times } in watches {
                self.watch.want(now, (of, id), local, times);
            }
        }
    }

    /// The site ends in order: neighbours are asked to bear a control that comes back beside a
    /// forwarder that goes on (`keeps`).
    pub fn drain(&mut self, now: Time, keeps: bool, out: &mut Effects) {
        if keeps && let Some(ospf) = &mut self.ospf {
            ospf.drain(now);
        }
        if keeps && let Some(isis) = &mut self.isis {
            isis.drain(now);
        }
        self.settle(now, out);
    }

    /// Prefixes whose route is another one, or gone, since this was called last. Those that wait
    /// behind their repairs come later.
    pub fn take_changed(&mut self) -> BTreeSet<Prefix> {
        let mut changed = std::mem::take(&mut self.gone);
        if let Some(ospf) = &mut self.ospf {
            changed.extend(ospf.take_changed().into_iter().map(wide));
        }
        if let Some(isis) = &mut self.isis {
            changed.append(&mut isis.take_changed());
        }
        let changed = self.repairs.sift(changed);
        for prefix in &changed {
            let route = self.route(*prefix);
            self.repairs.note_route(*prefix, route.as_ref());
        }
        changed
    }

    /// Everything was told, as it is now.
    pub fn said(&mut self) {
        self.gone.clear();
        self.watch.take_changed();
        if let Some(ospf) = &mut self.ospf {
            ospf.take_changed();
        }
        if let Some(isis) = &mut self.isis {
            isis.take_changed();
        }
        let all: Vec<(Prefix, Route)> = self.routes().collect();
        self.repairs.note_all(all.into_iter());
    }

    /// Whether there is something for [`Router::take_changed`] or [`Router::take_moved`].
    #[must_use]
    pub fn has_changed(&self) -> bool {
        !self.gone.is_empty()
            || self.repairs.has_due()
            || self.watch.has_changed()
            || self.ospf.as_ref().is_some_and(OspfRouter::has_changed)
            || self.isis.as_ref().is_some_and(IsisRouter::has_changed)
    }

    /// Neighbours that went (`false`) or came back, since this was called last: to be told before
    /// any route.
    pub fn take_moved(&mut self) -> Vec<(Guard, bool)> {
        self.repairs.take_moved()
    }

    /// Whether a neighbour is away.
    #[must_use]
    pub fn is_away(&self, guard: &Guard) -> bool {
        self.repairs.is_away(guard)
    }

    /// Prefixes whose routes have repairs.
    pub fn repaired(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.repairs.prefixes()
    }

    /// The route to a prefix that holds, where one leads to other routers.
    #[must_use]
    pub fn route(&self, prefix: Prefix) -> Option<Route> {
        let ospf = self.ospf.as_ref().and_then(|it| {
            let route = it.route(narrow(prefix)?)?;
            Some(by_ospf(&it.section, route))
        });
        let isis = self.isis.as_ref().and_then(|it| {
            let route = it.route(prefix)?;
            Some(by_isis(&it.section, route))
        });
        ospf.into_iter().chain(isis).min_by_key(|it| (it.distance, it.protocol))
    }

    /// All routes that hold and lead to other routers.
    pub fn routes(&self) -> impl Iterator<Item = (Prefix, Route)> {
        let ospf = self.ospf.iter().flat_map(|it| it.routes().map(|(prefix, _)| wide(prefix)));
        let isis = self.isis.iter().flat_map(|it| it.routes().map(|(prefix, _)| prefix));
        let all: BTreeSet<Prefix> = ospf.chain(isis).collect();
        all.into_iter().filter_map(|prefix| Some((prefix, self.route(prefix)?)))
    }

    /// Whether routes of a control before this one are still to stand.
    #[must_use]
    pub fn is_restarting(&self) -> bool {
        self.ospf.as_ref().is_some_and(|it| it.instance.is_restarting())
            || self.isis.as_ref().is_some_and(|it| it.instance.is_restarting())
    }

    /// Whether nothing is to be waited for: no restart, and no run of SPF.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.ospf.as_ref().is_none_or(OspfRouter::is_settled)
            && self.isis.as_ref().is_none_or(IsisRouter::is_settled)
    }

    /// Whether packets come and go, and how many found no way to the forwarder.
    pub(crate) fn channel(&self) -> (bool, u64) {
        (self.channel.is_open(), self.channel.tally().shed)
    }

    /// Ends it: the packet channel is closed.
    pub fn end(&self, out: &mut Effects) {
        self.channel.close(out);
    }
}

pub(crate) fn by_ospf(section: &Ospf, route: &ospf::Route) -> Route {
    let way =
        |hop: &ospf::NextHop| Some(Way { interface: hop.interface, gateway: hop.gateway?.into() });
    let repair = route
        .repair
        .and_then(|it| Some(Repair { way: way(&it.hop)?, tunnel: it.tunnel.map(wide) }));
    Route {
        protocol: Protocol::Ospf,
        distance: section.distance,
        cost: route.cost,
        ways: route.hops.iter().filter_map(way).collect(),
        repair,
        is_guarded: section.repair.is_some(),
    }
}

pub(crate) fn by_isis(section: &Isis, route: &isis::Route) -> Route {
    let way = |hop: &isis::NextHop| Way { interface: hop.circuit, gateway: hop.gateway };
    let repair = route.repair.map(|it| Repair { way: way(&it.hop), tunnel: it.tunnel });
    Route {
        protocol: Protocol::Isis,
        distance: section.distance,
        cost: route.cost,
        ways: route.hops.iter().map(way).collect(),
        repair,
        is_guarded: section.repair.is_some(),
    }
}
