//! The feature: what it is told becomes ranges, cells and senders, which its nodes read.
//!
//! ```text
//!   Program::Item ─→ Said ─┬ Range: slots of its ports, published
//!                          └ Flow: its cell ─ join ─ the cell of its other side, both ways
//!   tick ─→ Watch ─→ Out::Item: notices
//! ```

use crate::agreed::Agreed;
use crate::batch::Classes;
use crate::cell::{CLEAR, Extras, Known, NONE};
use crate::flow::{Flow, Use};
use crate::latch::Latch;
use crate::node::{MEDIA_SEND, MEDIA4, MEDIA6, MediaIn, MediaSend, Views};
use crate::program::{
    Branch, Duty, FEATURE, FlowSaid, Guard, LATE, Name, Place, Range, Said, Snapshot, Tokens,
};
use crate::rows::Rows;
use crate::senders::{Senders, Wanted, unusable};
use crate::table::{FLOWS_MAX, Ranges, Slots, Table};
use crate::watch::Watch;
use graph::Plan;
use machine::Time;
use nodes::arcs::{NAME_IP4_IN, NAME_IP6_IN, rank};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::program::{Interface, Mode, PacketClass, Program, Removed};
use nodes::{Out, Refused, Token};
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

/// The feature.
pub struct Media {
    table: Arc<Table>,
    rows: Rows,
    out: Publisher<Ranges>,
    is_changed: bool,
    agreed: Agreed,
    /// By the place where they leave: the flows that branch off there, and by flow those places.
    branched: BTreeMap<Place, BTreeSet<Place>>,
    branches: BTreeMap<Place, BTreeSet<Place>>,
    senders: Senders,
    /// By the number of a flow: what keys of DTLS are known by to whoever does not have them.
    associations: BTreeMap<u32, u64>,
    /// Interfaces whose packets may be media.
    interfaces: BTreeSet<u32>,
    watch: Watch,
    /// Which of a pair it is; `None`: there is no other one.
    duty: Option<Duty>,
    /// What who takes an address shows.
    tokens: Tokens,
    /// Up to which notice one that may take its place has applied all; `None`: nobody may.
    followed: Option<u64>,
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
        self.bound();
        if matches!(duty, Duty::Serves(_)) {
            self.senders.take_over(&self.table);
            self.watch.take_over(&self.table, now);
        }
    }

    /// Somebody follows this one as far as that, or nobody does.
    fn followed(&mut self, applied: Option<u64>) {
        // What was applied once stays so.
        self.followed = applied.map(|applied| applied.max(self.followed.unwrap_or(0)));
        self.watch.applied(self.followed);
        self.bound();
    }

    /// One of a pair goes no further than the other one knows, unless that one follows nobody.
    fn bound(&mut self) {
        let is_bounded = match self.duty {
            None => false,
            Some(Duty::Serves(_)) => self.followed.is_some(),
            Some(Duty::Leaves | Duty::StandsBy) => true,
        };
        self.senders.bound(&self.table, is_bounded);
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
        if self.rows.ranges().map(|(range, _)| range).any(|it| overlaps(&it)) {
            return Err(Refused::Conflict("two ranges have one port".to_owned()));
        }
        let known = self.rows.range(&range.start()).copied();
        if known == Some(range) {
            return Ok(());
        }
        let others = self.rows.ranges().map(|(other, _)| usize::from(other.ports));
        let before = known.map_or(0, |known| usize::from(known.ports));
        let ports = others.sum::<usize>() - before + usize::from(range.ports);
        if self.rows.ranges().count() >= RANGES_MAX || ports > PORTS_MAX {
            return Err(Refused::Full("ports of media"));
        }
        self.rows.insert_range(range);
        self.ranges_changed(change);
        Ok(())
    }

    fn remove_range(&mut self, start: &Place, change: &mut Change<'_>) {
        if self.rows.remove_range(start) {
            self.ranges_changed(change);
        }
    }

    /// Ports are media's, or no more: of interfaces' packets, and of those that flows send there.
    fn ranges_changed(&mut self, change: &mut Change<'_>) {
        self.is_changed = true;
        self.table.set_ranges(self.rows.ranges().map(|(range, _)| *range));
        for (from, to) in self.rows.ways() {
            self.table.turn(from, to);
        }
        self.branched.keys().for_each(|to| self.lead_there(to));
        self.join_all(change);
    }

    /// Packets of all interfaces pass the nodes while there is a range.
    fn join_all(&self, change: &mut Change<'_>) {
        self.interfaces.iter().for_each(|interface| self.join(*interface, change));
    }

    fn join(&self, interface: u32, change: &mut Change<'_>) {
        let on = self.rows.ranges().next().is_some();
        change.join(NAME_IP4_IN, interface, MEDIA4, on);
        change.join(NAME_IP6_IN, interface, MEDIA6, on);
    }

    fn flow(&mut self, said: &FlowSaid, now: Time) -> Result<(), Refused> {
        if self.rows.range_of(&said.at).is_none() {
            return Err(Refused::Conflict("no range has the flow's port".to_owned()));
        }
        if said.to == Some(said.at) {
            return Err(Refused::Conflict("a flow cannot be its own other side".to_owned()));
        }
        if said.settings.of == Use::Datagrams && !matches!(said.guard, Guard::None) {
            return Err(Refused::Conflict("SRTP protects nothing but RTP".to_owned()));
        }
        match self.rows.number(&said.at) {
            Some(number) => self.change(said, number, now),
            None => self.begin(said, now),
        }
    }

    /// A flow that is not there yet.
    fn begin(&mut self, said: &FlowSaid, now: Time) -> Result<(), Refused> {
        let number = self.rows.next();
        if number >= FLOWS_MAX {
            return Err(Refused::Full("flows of media"));
        }
        let resume = said.resume.as_ref();
        let receiver = match &said.guard {
            Guard::None | Guard::Dtls => None,
            Guard::Keys { receive, .. } => {
                let streams = resume.map_or(&[][..], |it| &it.receive);
                let receiver = Receiver::resume(receive.parameters, &receive.entries, streams);
                Some(Box::new(receiver.map_err(unusable)?))
            }
        };
        let sender = self.sender(said, None, now)?;
        let mut latch = Latch::new(said.expected);
        if let Some(source) = resume.and_then(|it| it.latched) {
            latch.resumed(now, source);
        }
        let mut flow = Flow::new(self.agreed.of(&said.settings), latch);
        flow.goes_up(said.stun, said.dtls);
        let known = Known {
            port: said.at.port,
            sender: leaves_by(&said.guard, sender),
            dscp: said.dscp,
            flow,
            receiver,
            comes_clear: matches!(said.guard, Guard::None),
            way: None,
            from: NONE,
            pair: NONE,
            special: self.agreed.special(said),
            extras: branching(said, None),
            is_noted: false,
        };
        *self.table.make(number).ok_or(Refused::Full("flows of media"))?.hold() = Some(known);
        self.rows.insert(number, said.at, sender);
        self.associate(number, said.association);
        self.watch.begin(number, said, now);
        self.rows.show(number);
        self.rows.came(number, said.at);
        self.relate(number, said.at, said.to);
        self.pair(number, &said.at, said.settings.of);
        self.branch_off(said.at, &said.branches);
        Ok(())
    }

    /// A flow that is there is another one: what came from, what was counted and how far indices
    /// are stays.
    fn change(&mut self, said: &FlowSaid, number: u32, now: Time) -> Result<(), Refused> {
        // What can be refused is before what changes anything.
        let receiver = match &said.guard {
            Guard::Keys { receive, .. } => {
                let receiver = Receiver::new(receive.parameters, &receive.entries);
                Some(receiver.map_err(unusable)?)
            }
            Guard::None | Guard::Dtls => None,
        };
        let (table, follows) = (Arc::clone(&self.table), self.follows());
        let cell = table.make(number).ok_or(Refused::Full("flows of media"))?;
        let before = self.rows.row(number).map(|row| row.sender).filter(|it| *it != NONE);
        let is_known = said.association.is_some()
            && said.association.as_ref() == self.associations.get(&number);
        let is_kept = said.guard == Guard::Dtls && is_known && before.is_some();
        let sender = if is_kept { before } else { self.sender(said, before, now)? };
        let (settings, special) = (self.agreed.of(&said.settings), self.agreed.special(said));
        if let Some(known) = cell.hold().as_mut() {
            if !is_kept {
                open(known, &said.guard, receiver);
            }
            known.flow.agreed(settings);
            known.flow.goes_up(said.stun, said.dtls);
            if !is_kept || said.expected.address.port() > 0 {
                known.flow.latch().signalled(said.expected);
            }
            if let Some(told) = said.resume.as_ref().filter(|_| follows) {
                resume(known, told, now);
            }
            known.sender = leaves_by(&said.guard, sender);
            known.dscp = said.dscp;
            known.special = special;
            known.extras = branching(said, known.extras.take());
        }
        self.rows.set_sender(number, sender);
        self.associate(number, said.association);
        self.watch.change(number, said);
        self.relate(number, said.at, said.to);
        self.pair(number, &said.at, said.settings.of);
        self.branch_off(said.at, &said.branches);
        if let Some(before) = before.filter(|before| Some(*before) != sender) {
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
    fn relate(&mut self, number: u32, at: Place, to: Option<Place>) {
        // From one side to another at once: no packet finds it without.
        match self.rows.relate(number, to).and_then(|to| Some((to, self.rows.row(to)?))) {
            Some((to, other)) => self.table.join(number, to, other.at),
            None => self.table.part(number),
        }
        for from in self.rows.froms(number) {
            self.table.join(from, number, at);
        }
    }

    /// Packets of a flow leave from other places, too; and from its own those that branch off
    /// there.
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
        let Some(number) = self.rows.number(to) else { return };
        let froms = self.branched.get(to).into_iter().flatten();
        for from in froms.filter_map(|from| self.rows.number(from)) {
            self.table.branch(from, number, *to);
        }
    }

    /// Of RTP and RTCP on ports of their own each knows the other (RFC 3550 §11).
    fn pair(&self, number: u32, at: &Place, of: Use) {
        let port = match of {
            Use::Rtp => at.port.checked_add(1),
            Use::Rtcp => at.port.checked_sub(1),
            Use::Muxed | Use::Datagrams => None,
        };
        let pair = port.and_then(|port| self.rows.number(&Place { port, ..*at })).unwrap_or(NONE);
        self.table.set_pair(number, pair);
        self.table.set_pair(pair, number);
    }

    fn remove_flow(&mut self, at: &Place, now: Time) {
        let Some(number) = self.rows.number(at) else { return };
        // Nothing leads to its cell and its sender any more before they are another's. The change
        // of branches comes first: it leads whoever branches off to this place once more.
        self.branch_off(*at, &[]);
        for from in self.rows.froms(number) {
            self.table.part(from);
        }
        for from in self.branched.get(at).into_iter().flatten() {
            if let Some(from) = self.rows.number(from) {
                self.table.cut(from, at);
            }
        }
        self.rows.hide(number);
        let known = self.table.cell(number).and_then(|cell| cell.hold().take());
        if let Some(known) = &known {
            self.table.set_pair(known.pair, NONE);
        }
        self.watch.end(number, *at, known, now);
        if let Some(sender) = self.rows.set_sender(number, None) {
            self.senders.give_back(&self.table, sender, at, now);
        }
        self.associate(number, None);
        self.rows.remove(number);
    }

    fn associate(&mut self, number: u32, association: Option<u64>) {
        match association {
            Some(association) => drop(self.associations.insert(number, association)),
            None => drop(self.associations.remove(&number)),
        }
    }
}

/// What few flows have, with the branches that are said.
fn branching(said: &FlowSaid, before: Option<Box<Extras>>) -> Option<Box<Extras>> {
    if said.branches.is_empty() && before.is_none() {
        return None;
    }
    let mut extras = before.unwrap_or_default();
    extras.branches.agreed(&said.branches);
    Some(extras)
}

/// Who protects what leaves from a flow's place.
fn leaves_by(guard: &Guard, sender: Option<u32>) -> u32 {
    match guard {
        Guard::None => CLEAR,
        Guard::Dtls | Guard::Keys { .. } => sender.unwrap_or(NONE),
    }
}

/// Goes on where another forwarder is now: of what came here since before that, nothing counts.
fn resume(known: &mut Known, told: &Snapshot, now: Time) {
    if let Some(source) = told.latched {
        known.flow.latch().resumed(now, source);
    }
    if let Some(own) = &mut known.receiver {
        own.advance(&told.receive);
    }
}

/// What opens packets from now on. Keys that stay change nothing. `receiver`: a new one of the
/// guard's keys, if it has some.
fn open(known: &mut Known, guard: &Guard, receiver: Option<Receiver>) {
    known.comes_clear = matches!(guard, Guard::None);
    match (guard, &mut known.receiver, receiver) {
        (Guard::Keys { receive, .. }, Some(own), Some(receiver)) => {
            // It takes whatever a new one takes.
            if own.rekey(receive.parameters, &receive.entries).is_err() {
                **own = receiver;
            }
        }
        (_, own, receiver) => *own = receiver.map(Box::new),
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
            rows: Rows::default(),
            out: Publisher::new(start.domain, Ranges::default()),
            is_changed: false,
            agreed: Agreed::default(),
            branched: BTreeMap::new(),
            branches: BTreeMap::new(),
            senders: Senders::default(),
            associations: BTreeMap::new(),
            interfaces: BTreeSet::new(),
            watch: Watch::default(),
            duty: None,
            leaves_at: None,
            tokens: Tokens::default(),
            followed: None,
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
            Said::Tokens(tokens) => self.tokens = tokens,
            Said::Followed(applied) => self.followed(Some(applied)),
        }
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused> {
        let Removed::Item(_, key) = removed else { return Ok(false) };
        match Name::read(key).map_err(refused)? {
            Name::Range(start) => self.remove_range(&start, change),
            Name::Flow(at) => self.remove_flow(&at, change.now()),
            Name::Tokens => self.tokens = Tokens::default(),
            Name::Followed => self.followed(None),
            Name::Duty => {
                (self.duty, self.leaves_at, self.is_changed) = (None, None, true);
                self.bound();
            }
        }
        Ok(true)
    }

    fn begun(&mut self) {
        self.watch.forget_reports();
        self.senders.lost(&self.table);
    }

    fn said(&self) -> Vec<Removed> {
        let name = |name: Name| Removed::Item(FEATURE.to_owned(), name.key());
        let flows = self.rows.all().map(|row| name(Name::Flow(row.at)));
        let ranges = self.rows.ranges().map(|(range, _)| name(Name::Range(range.start())));
        let duty = self.duty.map(|_| name(Name::Duty));
        let has_tokens = self.tokens != Tokens::default();
        let tokens = has_tokens.then(|| name(Name::Tokens));
        let followed = self.followed.map(|_| name(Name::Followed));
        flows.chain(ranges).chain(duty).chain(tokens).chain(followed).collect()
    }

    fn gives_way(&self, vrf: u32, address: IpAddr) -> bool {
        let is_its = |range: &Range| (range.vrf, range.address) == (vrf, address);
        self.duty.is_some() && self.rows.ranges().any(|(range, _)| is_its(range))
    }

    fn token(&self) -> Option<Token> {
        self.tokens.own
    }

    fn heir(&self) -> Option<Token> {
        self.tokens.heir
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
            let ranges = self.rows.ranges().map(|(range, own)| (range, slots(own)));
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
        for to in self.watch.tick(&self.table, &self.rows, now, out) {
            self.rows.froms(to).for_each(|from| self.table.turn(from, to));
            if let Some(row) = self.rows.row(to) {
                self.lead_there(&row.at);
            }
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
