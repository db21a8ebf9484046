//! Labels of what is learnt: LDP of an edge, its part of the plane's label table, and what routes
//! push.
//!
//! ```text
//!   igp::Router ─ routes ─→ ldp_stack::Labels ─ labels of prefixes ─→ Learnt: pushes of routes,
//!   own subnets ──────────────────↑                                   what becomes of our labels
//! ```

use crate::Settings;
use crate::config::{Pe, network, prefix};
use crate::hops::{Editing, Hops};
use crate::leading::Lead;
use dataplane::{Dataplane, Edit, PacketChannel, Rank};
use forwarder::ToPackets;
use igp::{Link, Repair, Route, Router, Way};
use ldp_stack::{Forward, IMPLICIT_NULL, LabelHop, Labels, NextHop, Prefix, Shown, Start};
use machine::{Duration, Time};
use nodes::Program;
use nodes::program::{LabelAction, Removed, Tunnel};
use runtime::{ChannelEvent, Effects, PortId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The port of its packet channel.
pub(crate) const LABELS_CHANNEL: PortId = PortId(3);
/// Time between two tellings of labels that changed by themselves, and beyond it for each of them:
/// whoever says others each time has the last one told, and no more than a few thousand a second.
const PACE: Duration = Duration::from_millis(50);
const PACE_OF_EACH: Duration = Duration::from_micros(200);
/// The note by which the next control knows which half of the labels is in use.
const NOTE: &str = "ldp";
const UPPER: &str = "upper";
const LOWER: &str = "lower";

/// A prefix as LDP has it.
pub(crate) fn of_ldp(it: igp::Prefix) -> Prefix {
    Prefix::new(it.address, it.length)
}

/// A prefix as routes have it.
pub(crate) fn of_igp(it: Prefix) -> igp::Prefix {
    igp::Prefix::new(it.address, it.length)
}

/// Prefixes whose labels are others than the plane was told, and when it is told.
#[derive(Default)]
struct Waiting {
    changed: BTreeSet<Prefix>,
    due: Time,
    /// When repairs are looked at again.
    repairs: Time,
}

impl Waiting {
    /// Those of prefixes whose routes are others as well, and all where they are due.
    fn take(&mut self, now: Time, routes: &BTreeSet<igp::Prefix>) -> BTreeSet<igp::Prefix> {
        let is_due = now >= self.due;
        let told = self.changed.extract_if(.., |it| is_due || routes.contains(&of_igp(*it)));
        let told: BTreeSet<igp::Prefix> = told.map(of_igp).collect();
        if is_due && !told.is_empty() {
            self.due = rested(now, told.len());
        }
        told
    }
}

/// When as many may be told again.
fn rested(now: Time, told: usize) -> Time {
    let count = machine::narrow::at_most(told as u64, u32::MAX);
    now + PACE + PACE_OF_EACH * count
}

/// Labels in the plane: those of prefixes, and whose each is. One that a prefix gives up may be
/// another's before that is said.
#[derive(Default)]
struct InPlane {
    labels: BTreeMap<Prefix, u32>,
    owners: BTreeMap<u32, Prefix>,
}

impl InPlane {
    /// A prefix has another label, or none; the one that it had, where it is nobody's now.
    fn set(&mut self, prefix: Prefix, label: Option<u32>) -> Option<u32> {
        let before = match label {
            Some(label) => self.labels.insert(prefix, label),
            None => self.labels.remove(&prefix),
        };
        let gone = before.filter(|it| label != Some(*it) && self.owners.get(it) == Some(&prefix));
        if let Some(label) = gone {
            self.owners.remove(&label);
        }
        self.owners.extend(label.map(|it| (it, prefix)));
        gone
    }
}

/// LDP of an edge.
pub(crate) struct Labelled {
    pub(crate) labels: Option<Labels>,
    /// Own subnets, as LDP was told them.
    own: BTreeSet<Prefix>,
    told: InPlane,
    waiting: Waiting,
    /// How often neighbours had said something when that was looked at.
    heard: u64,
    /// LDP has ended, and the plane was not told yet.
    pub(crate) has_ended: bool,
    random: [u8; 32],
    shown: Shown,
}

impl Labelled {
    pub(crate) fn new(random: [u8; 32]) -> Self {
        let (own, told) = (BTreeSet::new(), InPlane::default());
        let shown = Shown::default();
        let waiting = Waiting::default();
        Self { labels: None, own, told, waiting, heard: 0, has_ended: false, random, shown }
    }

    /// The section as it is from now on, of a forwarder that was told everything.
    pub(crate) fn configure(
        &mut self,
        now: Time,
        settings: &Settings,
        links: Vec<Link>,
        dataplane: &mut Dataplane,
        out: &mut Effects,
    ) {
        let Some(ldp) = &settings.pe.ldp else { return self.end(now, dataplane, out) };
        let section = Arc::new(ldp.clone());
        if self.labels.is_none() {
            let to = ToPackets::of(&settings.launch, ldp_stack::classes());
            // Labels of a control before this one are on their way, perhaps.
            let is_upper = dataplane.numbers().note(NOTE) == Some(LOWER);
            let (random, function) = (self.random, settings.pe.name.clone());
            let start = Start { now, random, function, is_upper };
            let channel = PacketChannel::new(now, LABELS_CHANNEL, to);
            self.labels = Some(Labels::new(start, section.clone(), channel));
        }
        let Some(labels) = &mut self.labels else { return };
        labels.configure(now, section, links, out);
        self.own = subnets(&settings.pe);
        let half = if labels.is_upper() { UPPER } else { LOWER };
        if dataplane.numbers_mut().set_note(NOTE, Some(half.to_owned())) {
            dataplane.keep(out);
        }
    }

    /// There is no LDP any more.
    fn end(&mut self, now: Time, dataplane: &mut Dataplane, out: &mut Effects) {
        if let Some(mut labels) = self.labels.take() {
            labels.end(now, out);
            self.has_ended = true;
        }
        if dataplane.numbers_mut().set_note(NOTE, None) {
            dataplane.keep(out);
        }
    }

    /// Links may be others than they were.
    pub(crate) fn links(&mut self, now: Time, is_up: impl Fn(&str) -> bool, out: &mut Effects) {
        if let Some(labels) = &mut self.labels {
            labels.links(now, is_up, out);
        }
    }

    pub(crate) fn step(
        &mut self,
        now: Time,
        port: PortId,
        event: ChannelEvent<'_>,
        out: &mut Effects,
    ) {
        if let Some(labels) = &mut self.labels {
            labels.step(now, port, event, out);
        }
    }

    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        if let Some(labels) = &mut self.labels {
            labels.tick(now, out);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let labels = self.labels.as_ref()?;
        labels.deadline().into_iter().chain(self.due()).min()
    }

    pub(crate) fn drain(&mut self, now: Time, out: &mut Effects) {
        if let Some(labels) = &mut self.labels {
            labels.drain(now, out);
        }
    }

    /// Whether an interface costs the most in OSPF and IS-IS (RFC 5443).
    pub(crate) fn is_dear(&self, interface: u32) -> bool {
        self.labels.as_ref().is_some_and(|it| it.is_dear(interface))
    }

    /// Whether that is another thing than it was for some interface.
    pub(crate) fn take_synchronized(&mut self) -> bool {
        self.labels.as_mut().is_some_and(Labels::take_synchronized)
    }

    /// Tells LDP all routes there are.
    pub(crate) fn learn_all(&mut self, now: Time, router: Option<&Router>, out: &mut Effects) {
        let Some(labels) = &mut self.labels else { return };
        let learnt = router.into_iter().flat_map(Router::routes);
        let mut all: BTreeMap<Prefix, Vec<NextHop>> =
            learnt.map(|(prefix, it)| (of_ldp(prefix), next_hops(&it.ways))).collect();
        all.extend(self.own.iter().map(|it| (*it, Vec::new())));
        let gone: Vec<Prefix> = labels.routed().filter(|it| !all.contains_key(it)).collect();
        let gone = gone.into_iter().map(|prefix| (prefix, None));
        let all = all.into_iter().map(|(prefix, ways)| (prefix, Some(ways)));
        labels.routes(now, gone.chain(all), out);
    }

    /// Tells LDP the routes of prefixes where they are others, and says whose labels are: those of
    /// these prefixes, and of all others where they are due.
    pub(crate) fn learn(
        &mut self,
        now: Time,
        router: Option<&Router>,
        changed: &BTreeSet<igp::Prefix>,
        out: &mut Effects,
    ) -> BTreeSet<igp::Prefix> {
        let Some(labels) = &mut self.labels else { return BTreeSet::new() };
        let others = changed.iter().filter(|it| !self.own.contains(&of_ldp(**it)));
        let others = others.map(|prefix| {
            let route = router.and_then(|it| it.route(*prefix));
            (of_ldp(*prefix), route.map(|it| next_hops(&it.ways)))
        });
        labels.routes(now, others, out);
        self.waiting.changed.append(&mut labels.take_changed());
        self.waiting.take(now, changed)
    }

    /// Whether labels are others than the plane was told, and it may be told.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.due().is_some_and(|at| now >= at)
    }

    fn due(&self) -> Option<Time> {
        let has_changed = self.labels.as_ref().is_some_and(Labels::has_changed);
        let waits = has_changed || !self.waiting.changed.is_empty();
        let has_heard = self.heard != self.heard_by_now();
        let dues = [waits.then_some(self.waiting.due), has_heard.then_some(self.waiting.repairs)];
        dues.into_iter().flatten().min()
    }

    fn heard_by_now(&self) -> u64 {
        self.labels.as_ref().map_or(0, Labels::heard)
    }

    /// No forwarder is told anything now: the next one is told all.
    pub(crate) fn forget_changed(&mut self) {
        self.waiting.changed.clear();
        self.heard = self.heard_by_now();
        if let Some(labels) = &mut self.labels {
            labels.take_changed();
        }
    }

    /// Routes whose repairs go by labels that are in use nowhere else, where neighbours have said
    /// anything since then, as often as changed labels are told.
    pub(crate) fn take_heard(&mut self, now: Time, router: Option<&Router>) -> Vec<igp::Prefix> {
        let heard = self.heard_by_now();
        if heard == self.heard || now < self.waiting.repairs {
            return Vec::new();
        }
        self.heard = heard;
        let repaired: Vec<igp::Prefix> = router.into_iter().flat_map(Router::repaired).collect();
        self.waiting.repairs = rested(now, repaired.len());
        repaired
    }

    /// Ways of a prefix with the labels of the next routers.
    pub(crate) fn ways(&self, to: igp::Prefix, ways: &[Way]) -> Vec<(Way, Option<u32>)> {
        let forward = self.labels.as_ref().and_then(|it| it.forward(of_ldp(to)));
        let hops = forward.map_or(&[][..], |it| &it.hops);
        let label = |way: &Way| {
            let found = hops.iter().find(|it| way_of(it) == *way);
            found.and_then(|it| it.label)
        };
        ways.iter().map(|way| (*way, label(way))).collect()
    }

    /// Where packets to a prefix go: ways with the labels of the next routers, and what stands in
    /// for the only one.
    pub(crate) fn lead(&self, to: igp::Prefix, route: &Route) -> Lead {
        let backup = route.repair.and_then(|it| Some((it.way, self.carried(to, &it)?)));
        Lead {
            ways: self.ways(to, &route.ways),
            guard: route.is_guarded.then_some(route.protocol),
            backup,
        }
    }

    /// The labels behind which a repair carries packets to a prefix; none where it cannot.
    pub(crate) fn carried(&self, to: igp::Prefix, repair: &Repair) -> Option<Vec<u32>> {
        match repair.tunnel {
            None => Some(self.advertised(to, repair).into_iter().collect()),
            // Whoever wants none is the end itself, or sends packets on as they are.
            Some(end) => {
                self.advertised(end, repair).filter(|it| *it != IMPLICIT_NULL).map(|it| vec![it])
            }
        }
    }

    /// The label that the next router of a repair has told for a prefix.
    fn advertised(&self, to: igp::Prefix, repair: &Repair) -> Option<u32> {
        self.labels.as_ref()?.advertised(of_ldp(to), &next_hop(&repair.way))
    }

    /// Where packets with our label of a prefix go: nowhere as long as no next router has told one.
    /// They have no way in a tunnel, whose end has told none.
    fn crossing(&self, to: igp::Prefix, forward: &Forward, router: Option<&Router>) -> Lead {
        let known = forward.hops.iter().filter(|hop| hop.label.is_some());
        let ways: Vec<_> = known.map(|hop| (way_of(hop), hop.label)).collect();
        let route = router.and_then(|it| it.route(to)).filter(|it| it.is_guarded);
        let repair = route.as_ref().and_then(|it| it.repair).filter(|it| it.tunnel.is_none());
        let backup = repair.filter(|_| ways.len() == 1);
        let backup = backup.and_then(|it| Some((it.way, vec![self.advertised(to, &it)?])));
        Lead { ways, guard: route.map(|it| it.protocol), backup }
    }

    /// Says what becomes of our label of a prefix, where that is another thing than it was.
    pub(crate) fn say(
        &mut self,
        to: igp::Prefix,
        router: Option<&Router>,
        edit: &mut Edit<'_>,
        made: &mut usize,
    ) {
        let prefix = of_ldp(to);
        let forward = self.labels.as_ref().and_then(|it| it.forward(prefix));
        let mut editing = Editing(&mut *edit, &mut *made);
        let said = forward.and_then(|it| self.action(to, it, router, &mut editing));
        if let Some(gone) = self.told.set(prefix, said.as_ref().map(|it| it.0)) {
            edit.remove(Rank::Tool, Removed::Label(gone));
        }
        if let Some((label, action)) = said {
            edit.put(Rank::Tool, Removed::Label(label), Program::Label { label, action });
        }
    }

    /// What becomes of all labels, where everything is said.
    pub(crate) fn actions(
        &self,
        router: Option<&Router>,
        hops: &mut impl Hops,
    ) -> Vec<(Prefix, u32, LabelAction)> {
        let all = self.labels.iter().flat_map(Labels::forwards);
        let said = all.filter_map(|(prefix, it)| {
            let (label, action) = self.action(of_igp(prefix), it, router, hops)?;
            Some((prefix, label, action))
        });
        said.collect()
    }

    /// What becomes of packets with our label: it is swapped for those of the next routers, or
    /// taken off where they want none; nothing as long as none of them has told one.
    fn action(
        &self,
        to: igp::Prefix,
        forward: &Forward,
        router: Option<&Router>,
        hops: &mut impl Hops,
    ) -> Option<(u32, LabelAction)> {
        let lead = self.crossing(to, forward, router);
        if lead.ways.is_empty() {
            return None;
        }
        let hop = lead.hop(router, hops);
        Some((forward.label, LabelAction::Forward { hop, tunnel: Tunnel::Uniform }))
    }

    /// That was said.
    pub(crate) fn said(&mut self, told: BTreeMap<Prefix, u32>) {
        self.told = InPlane::default();
        for (prefix, label) in told {
            self.told.set(prefix, Some(label));
        }
        self.forget_changed();
    }

    pub(crate) fn show(&mut self) {
        self.shown.show(self.labels.as_ref());
    }

    pub(crate) fn cells(&self) -> Vec<event::MetricCells> {
        self.shown.cells()
    }
}

fn next_hops(ways: &[Way]) -> Vec<NextHop> {
    ways.iter().map(next_hop).collect()
}

const fn next_hop(way: &Way) -> NextHop {
    NextHop { interface: way.interface, gateway: way.gateway }
}

fn way_of(it: &LabelHop) -> Way {
    Way { interface: it.interface, gateway: it.gateway }
}

/// Subnets of the global table.
fn subnets(pe: &Pe) -> BTreeSet<Prefix> {
    let routed = pe.interface.iter();
    let routed = routed.filter(|it| it.vrf.is_none() && !pe.carries_frames(&it.name));
    let all = routed.flat_map(|it| &it.addresses).filter_map(|text| prefix(text).map(network));
    all.map(|(address, length)| Prefix::new(address, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_that_another_prefix_has_just_got_is_not_taken_away() {
        let prefix = |last: u8| Prefix::new(std::net::Ipv4Addr::new(10, 0, 0, last).into(), 32);
        let mut told = InPlane::default();
        assert_eq!(told.set(prefix(9), Some(100)), None);
        // The lower prefix is said first.
        assert_eq!(told.set(prefix(1), Some(100)), None);
        assert_eq!(told.set(prefix(9), Some(101)), None, "it is the other's");
        assert_eq!(told.set(prefix(9), Some(101)), None);
        assert_eq!(told.set(prefix(1), None), Some(100));
        assert_eq!(told.set(prefix(9), Some(100)), Some(101));
    }

    #[test]
    fn labels_that_change_all_the_time_are_told_at_a_pace_and_with_their_routes_at_once() {
        let prefix = |number: u32| Prefix::new(std::net::Ipv4Addr::from(number << 8).into(), 24);
        let (mut waiting, none) = (Waiting::default(), BTreeSet::new());
        let (mut tellings, mut told) = (0, 0);
        for millisecond in 0..1_000 {
            let now = Time::from_millis(10_000 + millisecond);
            waiting.changed.extend((0..1_000).map(prefix));
            let some = waiting.take(now, &none);
            tellings += usize::from(!some.is_empty());
            told += some.len();
        }
        assert_eq!((tellings, told), (4, 4_000), "each 50 ms, and 200 us for each");
        waiting.changed.insert(prefix(7));
        let routes = BTreeSet::from([of_igp(prefix(7))]);
        assert_eq!(waiting.take(Time::from_millis(10_999), &routes), routes);
    }
}
