//! The feature: what it is told becomes ranges, cells and senders, which its nodes read.
//!
//! ```text
//!   Program::Item ─→ Said ─┬ Range: slots of its ports, published
//!                          └ Flow: its cell ─ join ─ the cell of its other side, both ways
//!   tick ─→ Watch ─→ Out::Item: notices
//! ```

use crate::batch::Classes;
use crate::cell::{CLEAR, Extras, Known, NONE, Opening, Own};
use crate::flow::{Flow, PayloadTypes};
use crate::latch::Latch;
use crate::node::{MEDIA_SEND, MEDIA4, MEDIA6, MediaIn, MediaSend, Views};
use crate::program::{
    Branch, Duty, FEATURE, FlowSaid, Guard, LATE, Name, Place, Range, Said, Snapshot,
};
use crate::senders::{Senders, Wanted, unusable};
use crate::table::{FLOWS_MAX, Ranges, Slots, Table};
use crate::watch::Watch;
use graph::Plan;
use machine::Time;
use nodes::arcs::{NAME_IP4_IN, NAME_IP6_IN, rank};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::program::{Interface, Mode, PacketClass, Program, Removed};
use nodes::{Out, Refused};
use srtp::Receiver;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use table::epoch::Publisher;

/// Ranges at most.
pub const RANGES_MAX: usize = 4_096;
/// Ports of all ranges at most: four octets each.
pub const PORTS_MAX: usize = 1 << 22;
/// Classes of packets that go up, in the order of their numbers.
const CLASSES: [PacketClass; 3] = [
    PacketClass { name: "stun", down: None },
    PacketClass { name: "dtls", down: None },
    PacketClass { name: "frames", down: Some(MEDIA_SEND) },
];

/// What is known of a flow beside its cell.
#[derive(Debug, Clone, Copy)]
struct Row {
    number: u32,
    to: Option<Place>,
    sender: Option<u32>,
}

/// The feature.
pub struct Media {
    table: Arc<Table>,
    ranges: BTreeMap<Place, (Range, Slots)>,
    out: Publisher<Ranges>,
    is_changed: bool,
    flows: BTreeMap<Place, Row>,
    /// By the other side: the flows that go on there.
    towards: BTreeMap<Place, BTreeSet<Place>>,
    /// By the place where they leave: the flows that branch off there, and by flow those places.
    branched: BTreeMap<Place, BTreeSet<Place>>,
    branches: BTreeMap<Place, BTreeSet<Place>>,
    senders: Senders,
    free: Vec<u32>,
    next: u32,
    /// Interfaces whose packets may be media.
    interfaces: BTreeSet<u32>,
    watch: Watch,
    /// Which of a pair it is; `None`: there is no other one.
    duty: Option<Duty>,
    /// When it stands by that leaves.
    leaves_at: Option<Time>,
}

impl Media {
    /// Which of a pair this is, from now on.
    fn duty(&mut self, duty: Duty, now: Time) {
        let before = self.duty.replace(duty);
        if before == Some(duty) {
            return;
        }
        self.leaves_at = (duty == Duty::Leaves).then(|| now + LATE);
        self.is_changed = true;
        if matches!(duty, Duty::Serves(_)) {
            self.senders.take_over(&self.table);
            self.watch.take_over(&self.table, now);
        }
    }

    /// Whether another forwarder has the packets.
    const fn follows(&self) -> bool {
        matches!(self.duty, Some(Duty::Leaves | Duty::StandsBy))
    }

    fn range(&mut self, range: Range, change: &mut Change<'_>) -> Result<(), Refused> {
        change.vrf(range.vrf)?;
        let end = |range: &Range| u32::from(range.first) + u32::from(range.ports);
        let overlaps = |other: &&Range| {
            (other.vrf, other.address) == (range.vrf, range.address)
                && other.first != range.first
                && u32::from(other.first) < end(&range)
                && u32::from(range.first) < end(other)
        };
        if self.ranges.values().map(|(range, _)| range).any(|it| overlaps(&it)) {
            return Err(Refused::Conflict("two ranges have one port".to_owned()));
        }
        let known = self.ranges.get(&range.start()).map(|(known, _)| *known);
        if known == Some(range) {
            return Ok(());
        }
        let others = self.ranges.values().map(|(other, _)| usize::from(other.ports));
        let before = known.map_or(0, |known| usize::from(known.ports));
        let ports = others.sum::<usize>() - before + usize::from(range.ports);
        if self.ranges.len() >= RANGES_MAX || ports > PORTS_MAX {
            return Err(Refused::Full("ports of media"));
        }
        let slots = Slots::new(range.ports);
        let first = range.start();
        for (place, row) in self.flows.range(first..).take_while(|(it, _)| range.has(it)) {
            slots.set(place.port - range.first, row.number);
        }
        self.ranges.insert(range.start(), (range, slots));
        self.ranges_changed(change);
        Ok(())
    }

    fn remove_range(&mut self, start: &Place, change: &mut Change<'_>) {
        if self.ranges.remove(start).is_some() {
            self.ranges_changed(change);
        }
    }

    /// Ports are media's, or no more: of interfaces' packets, and of those that flows send there.
    fn ranges_changed(&mut self, change: &mut Change<'_>) {
        self.is_changed = true;
        self.table.set_ranges(self.ranges.values().map(|(range, _)| *range));
        for (to, froms) in &self.towards {
            let Some(to) = self.flows.get(to) else { continue };
            let froms = froms.iter().filter_map(|from| self.flows.get(from));
            froms.for_each(|from| self.table.turn(from.number, to.number));
        }
        self.branched.keys().for_each(|to| self.lead_there(to));
        self.join_all(change);
    }

    /// Packets of all interfaces pass the nodes while there is a range.
    fn join_all(&self, change: &mut Change<'_>) {
        self.interfaces.iter().for_each(|interface| self.join(*interface, change));
    }

    fn join(&self, interface: u32, change: &mut Change<'_>) {
        let on = !self.ranges.is_empty();
        change.join(NAME_IP4_IN, interface, MEDIA4, on);
        change.join(NAME_IP6_IN, interface, MEDIA6, on);
    }

    /// The range of a place.
    fn range_of(&self, place: &Place) -> Option<&(Range, Slots)> {
        let (_, row) = self.ranges.range(..=*place).next_back()?;
        row.0.has(place).then_some(row)
    }

    fn flow(&mut self, said: &FlowSaid, now: Time) -> Result<(), Refused> {
        if self.range_of(&said.at).is_none() {
            return Err(Refused::Conflict("no range has the flow's port".to_owned()));
        }
        if said.to == Some(said.at) {
            return Err(Refused::Conflict("a flow cannot be its own other side".to_owned()));
        }
        match self.flows.get(&said.at).copied() {
            Some(row) => self.change(said, row, now),
            None => self.begin(said, now),
        }
    }

    /// A flow that is not there yet.
    fn begin(&mut self, said: &FlowSaid, now: Time) -> Result<(), Refused> {
        let number = self.free.last().copied().unwrap_or(self.next);
        if number >= FLOWS_MAX {
            return Err(Refused::Full("flows of media"));
        }
        let resume = said.resume.as_ref();
        let opening = match &said.guard {
            Guard::None => Opening::Clear,
            Guard::Dtls => Opening::Waiting,
            Guard::Keys { receive, .. } => {
                let streams = resume.map_or(&[][..], |it| &it.receive);
                let receiver = Receiver::resume(receive.parameters, &receive.entries, streams);
                Opening::Receiver(Box::new(receiver.map_err(unusable)?))
            }
        };
        let sender = self.sender(said, None, now)?;
        let mut latch = Latch::new(said.expected);
        if let Some(source) = resume.and_then(|it| it.latched) {
            latch.resumed(now, source);
        }
        let mut flow = Flow::new(said.settings, latch);
        flow.goes_up(said.stun, said.dtls);
        let known = Known {
            own: own(said, number, sender),
            flow,
            opening,
            way: None,
            from: NONE,
            extras: extras(said, None),
            unprotected: 0,
            is_noted: false,
        };
        *self.table.make(number).ok_or(Refused::Full("flows of media"))?.hold() = Some(known);
        self.free.pop();
        self.next = self.next.max(number + 1);
        self.flows.insert(said.at, Row { number, to: said.to, sender });
        self.watch.begin(number, said, now);
        if let Some((range, slots)) = self.range_of(&said.at) {
            slots.set(said.at.port - range.first, number);
        }
        self.relate(said.at, None, said.to);
        self.branch_off(said.at, &said.branches);
        Ok(())
    }

    /// A flow that is there is another one: what came from, what was counted and how far indices
    /// are stays.
    fn change(&mut self, said: &FlowSaid, row: Row, now: Time) -> Result<(), Refused> {
        // What can be refused is before what changes anything.
        let receiver = match &said.guard {
            Guard::Keys { receive, .. } => {
                let receiver = Receiver::new(receive.parameters, &receive.entries);
                Some(receiver.map_err(unusable)?)
            }
            Guard::None | Guard::Dtls => None,
        };
        let (table, follows) = (Arc::clone(&self.table), self.follows());
        let cell = table.make(row.number).ok_or(Refused::Full("flows of media"))?;
        let sender = self.sender(said, row.sender, now)?;
        if let Some(known) = cell.hold().as_mut() {
            open(known, &said.guard, receiver);
            known.flow.agreed(said.settings);
            known.flow.goes_up(said.stun, said.dtls);
            known.flow.latch().signalled(said.expected);
            if let Some(told) = said.resume.as_ref().filter(|_| follows) {
                resume(known, told, now);
            }
            known.own = own(said, row.number, sender);
            known.extras = extras(said, known.extras.take());
        }
        self.flows.insert(said.at, Row { to: said.to, sender, ..row });
        self.watch.change(row.number, said);
        self.relate(said.at, row.to, said.to);
        self.branch_off(said.at, &said.branches);
        if let Some(before) = row.sender.filter(|before| Some(*before) != sender) {
            self.senders.give_back(&self.table, before, &said.at, now);
        }
        Ok(())
    }

    /// Who protects what leaves from a flow's place.
    fn sender(
        &mut self,
        said: &FlowSaid,
        before: Option<u32>,
        now: Time,
    ) -> Result<Option<u32>, Refused> {
        let Guard::Keys { send, .. } = &said.guard else { return Ok(None) };
        let (resume, follows) = (said.resume.as_ref(), self.follows());
        let wanted = Wanted { at: said.at, keys: send, before, resume, follows };
        self.senders.take(&self.table, wanted, now).map(Some)
    }

    /// Joins a flow to its other side, and to it those that go on there: whatever of them changed
    /// is true for the packets from now on.
    fn relate(&mut self, at: Place, before: Option<Place>, to: Option<Place>) {
        let Some(row) = self.flows.get(&at).copied() else { return };
        if let Some(before) = before.filter(|_| before != to) {
            self.untie(at, before);
        }
        if let Some(to) = to {
            self.towards.entry(to).or_default().insert(at);
        }
        // From one side to another at once: no packet finds it without.
        match to.and_then(|to| self.flows.get(&to)) {
            Some(other) => self.table.join(row.number, other.number),
            None => self.table.part(row.number),
        }
        for from in self.towards.get(&at).into_iter().flatten() {
            if let Some(from) = self.flows.get(from) {
                self.table.join(from.number, row.number);
            }
        }
    }

    /// Packets of a flow leave from other places, too; and from its own those that branch off there.
    fn branch_off(&mut self, at: Place, branches: &[Branch]) {
        let after: BTreeSet<Place> = branches.iter().map(|branch| branch.to).collect();
        for gone in self.branches.remove(&at).unwrap_or_default().difference(&after) {
            if let Some(all) = self.branched.get_mut(gone) {
                all.remove(&at);
                if all.is_empty() {
                    self.branched.remove(gone);
                }
            }
        }
        for to in &after {
            self.branched.entry(*to).or_default().insert(at);
            self.lead_there(to);
        }
        if !after.is_empty() {
            self.branches.insert(at, after);
        }
        self.lead_there(&at);
    }

    /// What branches off to a place leaves from there as that is now.
    fn lead_there(&self, to: &Place) {
        let Some(row) = self.flows.get(to) else { return };
        let froms = self.branched.get(to).into_iter().flatten();
        for from in froms.filter_map(|from| self.flows.get(from)) {
            self.table.branch(from.number, row.number);
        }
    }

    /// A flow goes on there no more.
    fn untie(&mut self, at: Place, to: Place) {
        if let Some(all) = self.towards.get_mut(&to) {
            all.remove(&at);
            if all.is_empty() {
                self.towards.remove(&to);
            }
        }
    }

    fn remove_flow(&mut self, at: &Place, now: Time) {
        let Some(row) = self.flows.remove(at) else { return };
        if let Some((range, slots)) = self.range_of(at) {
            slots.set(at.port - range.first, NONE);
        }
        // Nothing leads to its cell and its sender any more before they are another's.
        for from in self.towards.get(at).into_iter().flatten() {
            if let Some(from) = self.flows.get(from) {
                self.table.part(from.number);
            }
        }
        if let Some(to) = row.to {
            self.untie(*at, to);
        }
        for from in self.branched.get(at).into_iter().flatten() {
            if let Some(from) = self.flows.get(from) {
                self.table.cut(from.number, at);
            }
        }
        self.branch_off(*at, &[]);
        let known = self.table.cell(row.number).and_then(|cell| cell.hold().take());
        self.watch.end(row.number, known, now);
        if let Some(sender) = row.sender {
            self.senders.give_back(&self.table, sender, at, now);
        }
        self.free.push(row.number);
    }
}

/// How packets leave from a flow's place.
fn own(said: &FlowSaid, number: u32, sender: Option<u32>) -> Own {
    let sender = match said.guard {
        Guard::None => CLEAR,
        Guard::Dtls => NONE,
        Guard::Keys { .. } => sender.unwrap_or(NONE),
    };
    Own { number, at: said.at, sender, dscp: said.dscp }
}

fn extras(said: &FlowSaid, before: Option<Box<Extras>>) -> Option<Box<Extras>> {
    let none = PayloadTypes::default();
    let is_usual = said.becomes.is_empty() && said.branches.is_empty();
    if is_usual && said.up == none && said.digits == none {
        return None;
    }
    let mut extras = before.unwrap_or_default();
    extras.becomes.clone_from(&said.becomes);
    extras.branches.agreed(&said.branches);
    (extras.up, extras.digits) = (said.up, said.digits);
    Some(extras)
}

/// Goes on where another forwarder is now: of what came here since before that, nothing counts.
fn resume(known: &mut Known, told: &Snapshot, now: Time) {
    if let Some(source) = told.latched {
        known.flow.latch().resumed(now, source);
    }
    if let Opening::Receiver(own) = &mut known.opening {
        own.advance(&told.receive);
    }
}

/// What opens packets from now on. Keys that stay change nothing. `receiver`: a new one of the
/// guard's keys, if it has some.
fn open(known: &mut Known, guard: &Guard, receiver: Option<Receiver>) {
    match (guard, &mut known.opening, receiver) {
        (Guard::None, opening, _) => *opening = Opening::Clear,
        (Guard::Keys { receive, .. }, Opening::Receiver(own), Some(receiver)) => {
            // It takes whatever a new one takes.
            if own.rekey(receive.parameters, &receive.entries).is_err() {
                **own = receiver;
            }
        }
        (Guard::Keys { .. }, opening, Some(receiver)) => {
            *opening = Opening::Receiver(Box::new(receiver));
        }
        (Guard::Dtls | Guard::Keys { .. }, opening, _) => *opening = Opening::Waiting,
    }
}

/// What an item says, or why it says nothing.
fn refused(why: wire::Malformed) -> Refused {
    Refused::Conflict(why.to_string())
}

impl Feature for Media {
    fn new(start: &Start<'_>) -> Self {
        Self {
            table: Table::new(),
            ranges: BTreeMap::new(),
            out: Publisher::new(start.domain, Ranges::default()),
            is_changed: false,
            flows: BTreeMap::new(),
            towards: BTreeMap::new(),
            branched: BTreeMap::new(),
            branches: BTreeMap::new(),
            senders: Senders::default(),
            free: Vec::new(),
            next: 0,
            interfaces: BTreeSet::new(),
            watch: Watch::default(),
            duty: None,
            leaves_at: None,
        }
    }

    fn name(&self) -> &'static str {
        FEATURE
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Program::Item(item) = program else { return Ok(false) };
        let said = Said::read(&item.key, &item.value).map_err(|why| {
            if let Ok(Name::Flow(at)) = Name::read(&item.key) {
                self.remove_flow(&at, change.now());
            }
            refused(why)
        })?;
        match said {
            Said::Range(range) => self.range(range, change)?,
            Said::Flow(said) => {
                if let Err(why) = self.flow(&said, change.now()) {
                    // What was agreed before holds no more, and what holds now cannot be.
                    self.remove_flow(&said.at, change.now());
                    return Err(why);
                }
            }
            Said::Duty(duty) => self.duty(duty, change.now()),
        }
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Item(_, key) = removed else { return Ok(false) };
        match Name::read(key).map_err(refused)? {
            Name::Range(start) => self.remove_range(&start, change),
            Name::Flow(at) => self.remove_flow(&at, change.now()),
            Name::Duty => {
                (self.duty, self.leaves_at, self.is_changed) = (None, None, true);
            }
        }
        Ok(true)
    }

    fn begun(&mut self) {
        self.watch.forget_reports();
    }

    fn said(&self) -> Vec<Removed> {
        let name = |name: Name| Removed::Item(FEATURE.to_owned(), name.key());
        let flows = self.flows.keys().map(|at| name(Name::Flow(*at)));
        let ranges = self.ranges.keys().map(|start| name(Name::Range(*start)));
        let duty = self.duty.map(|_| name(Name::Duty));
        flows.chain(ranges).chain(duty).collect()
    }

    fn gives_way(&self, vrf: u32, address: IpAddr) -> bool {
        let is_its = |start: &Place| (start.vrf, start.address) == (vrf, address);
        self.duty.is_some() && self.ranges.keys().any(is_its)
    }

    fn gave_way(&mut self, now: Time) {
        self.duty(Duty::Leaves, now);
    }

    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        change: &mut Change<'_>,
    ) -> Result<(), Refused> {
        let is_routed =
            |it: &&Interface| matches!(it.mode, Mode::Routed { .. } | Mode::BridgeRouted { .. });
        if let Some(before) = before {
            self.interfaces.remove(&before.index);
        }
        if let Some(after) = after.filter(is_routed) {
            self.interfaces.insert(after.index);
            self.join(after.index, change);
        }
        Ok(())
    }

    fn publish(&mut self, _: &BTreeMap<u32, Interface>) {
        if std::mem::take(&mut self.is_changed) {
            let none = Slots::none();
            let is_silent = self.duty == Some(Duty::StandsBy);
            let slots = |own| if is_silent { &none } else { own };
            let ranges = self.ranges.values().map(|(range, own)| (range, slots(own)));
            self.out.publish(Ranges::of(ranges));
        }
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.leaves_at.is_some_and(|at| at <= now) {
            self.duty(Duty::StandsBy, now);
        }
        if self.follows() {
            return;
        }
        // The worker that took a source has turned the one flow that most have.
        for at in self.watch.tick(&self.table, now, out) {
            let froms = self.towards.get(&at).into_iter().flatten();
            if let Some(to) = self.flows.get(&at) {
                let froms = froms.filter_map(|from| self.flows.get(from));
                froms.for_each(|from| self.table.turn(from.number, to.number));
            }
            self.lead_there(&at);
        }
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        let first = worker.first_class;
        let views = Views {
            table: Arc::clone(&self.table),
            ranges: self.out.published(),
            classes: Classes { stun: first, dtls: first + 1, frames: first + 2 },
        };
        plan.node(MediaIn::new(views.clone(), false))
            .node(MediaIn::new(views.clone(), true))
            .node(MediaSend::new(views))
    }

    fn classes(&self) -> Vec<PacketClass> {
        CLASSES.to_vec()
    }

    fn joins(&self) -> Vec<Join> {
        // Behind the rules, before the rates of interfaces: a flow has a rate of its own.
        let on = |arc, node| Join::On { arc, node, rank: rank::FILTER + 5 };
        vec![on(NAME_IP4_IN, MEDIA4), on(NAME_IP6_IN, MEDIA6)]
    }
}
