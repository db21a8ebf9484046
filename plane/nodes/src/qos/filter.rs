//! `ip4-filter`, `ip6-filter`, `l2-filter`, `filter-out`: the first rule that matches decides.

use super::fields::set_dscp;
use super::filtering::{Compiled, Filters, Headers, Outcome, UNMATCHED};
use super::views::TrafficViews;
use crate::header::{ICMP6, IP6};
use crate::program::{Direction, Family, Verdict};
use graph::meta::LINK_SCOPED;
use graph::{Context, Edge, Meta, Node, Pool, Reason, Row, Slot, VECTOR_MAX};
use std::sync::{Arc, PoisonError};

/// By [`Outcome`].
const REASONS: &[&str] = &[
    "denied by a rule",
    "no rule permits it",
    "beyond a rule's rate",
    "fragment or header chain hides what a rule looks at",
];

const TO_REDIRECT: Edge = Edge(0);

/// Which packets a node filters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Those of one family that come in.
    In(Family),
    /// All that leave.
    Out,
}

/// The node of one stage.
pub struct FilterNode {
    views: TrafficViews,
    stage: Stage,
    headers: Headers,
}

impl FilterNode {
    /// The node of one worker.
    pub fn new(views: TrafficViews, stage: Stage) -> Self {
        Self { views, stage, headers: Headers::default() }
    }

    /// The filter of a packet; 0 is none.
    #[inline]
    fn filter_of(&self, filters: &Filters, meta: &Meta, packets: &Pool, slot: Slot) -> u16 {
        match self.stage {
            Stage::In(family) => filters.used(Direction::In, family, meta.interface),
            Stage::Out => filters.used(Direction::Out, leaving(meta, packets, slot), meta.transmit),
        }
    }
}

/// What kind of packet leaves: its network header tells, if it has one.
fn leaving(meta: &Meta, packets: &Pool, slot: Slot) -> Family {
    let first = packets.cell(slot).get(usize::from(meta.l3)).copied();
    match first.filter(|_| meta.l3 != 0).map(|first| first >> 4) {
        Some(4) => Family::Ip4,
        Some(6) => Family::Ip6,
        _ => Family::Ethernet,
    }
}

impl Node for FilterNode {
    fn row(&self) -> Row {
        match self.stage {
            Stage::In(Family::Ip4) => Row::of("ip4-filter", &["ip4-redirect"], REASONS),
            Stage::In(Family::Ip6) => Row::of("ip6-filter", &["ip6-redirect"], REASONS),
            Stage::In(Family::Ethernet) => Row::of("l2-filter", &[], REASONS),
            Stage::Out => Row::of("filter-out", &[], REASONS),
        }
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let filters = Arc::clone(&self.views.filters);
        let filters = filters.read(cx.reader);
        if let Some(number) = self.one_filter(filters, batch, cx.packets) {
            return self.run(number, filters, batch, cx);
        }
        let mut numbers = [0_u16; VECTOR_MAX];
        for (slot, number) in batch.iter().zip(&mut numbers) {
            *number = self.filter_of(filters, cx.packets.meta(*slot), cx.packets, *slot);
        }
        let numbers = &numbers[..batch.len()];
        let first = numbers.first().copied().unwrap_or(0);
        if numbers.iter().fold(0, |odd, number| odd | (number ^ first)) == 0 {
            return self.run(first, filters, batch, cx);
        }
        // Packets of several filters: each filter's at once, so that its lookups overlap. Those
        // of one interface, and so of one flow, stay in their order.
        let mut done = [false; VECTOR_MAX];
        let mut same = [Slot(0); VECTOR_MAX];
        for at in 0..batch.len() {
            if done[at] {
                continue;
            }
            let mut count = 0;
            for later in at..batch.len() {
                if numbers[later] == numbers[at] {
                    done[later] = true;
                    same[count] = batch[later];
                    count += 1;
                }
            }
            self.run(numbers[at], filters, &same[..count], cx);
        }
    }
}

impl FilterNode {
    /// The filter of all packets, if they came in by one interface.
    #[inline]
    fn one_filter(&self, filters: &Filters, batch: &[Slot], packets: &Pool) -> Option<u16> {
        let Stage::In(family) = self.stage else { return None };
        let interface = packets.meta(*batch.first()?).interface;
        let is_one = batch.iter().all(|slot| packets.meta(*slot).interface == interface);
        is_one.then(|| filters.used(Direction::In, family, interface))
    }

    /// Packets of one filter.
    fn run(&mut self, number: u16, filters: &Filters, batch: &[Slot], cx: &mut Context<'_>) {
        let Some(filter) = filters.filter(number) else {
            return cx.next.onward_all(batch, cx.packets);
        };
        let mut rules = [UNMATCHED; VECTOR_MAX];
        let rules = &mut rules[..batch.len()];
        self.headers.classify(filter, cx.packets, batch, rules);
        let (mut passed, mut dropped) = ([Slot(0); VECTOR_MAX], [(Slot(0), 0_u8); VECTOR_MAX]);
        let (mut passes, mut drops) = (0, 0);
        let tally = filter.tally(self.views.worker);
        for (slot, rule) in batch.iter().zip(rules) {
            let octets = u64::from(cx.packets.meta(*slot).length);
            let mut outcome = tally.count(*rule, octets);
            if outcome == Outcome::Act {
                outcome = self.act(*rule, *slot, filter, cx);
            }
            // Without a branch: whom a rule lets pass is anybody's guess.
            passed[passes % VECTOR_MAX] = *slot;
            dropped[drops % VECTOR_MAX] = (*slot, outcome as u8);
            passes += usize::from(outcome == Outcome::Pass);
            drops += usize::from(outcome < Outcome::Pass);
        }
        cx.next.onward_all(&passed[..passes], cx.packets);
        for (slot, outcome) in &dropped[..drops] {
            cx.next.drop(*slot, Reason(*outcome));
        }
    }

    /// Does what a rule says that neither just permits nor denies.
    #[inline(never)]
    fn act(&self, rule: u32, slot: Slot, filter: &Compiled, cx: &mut Context<'_>) -> Outcome {
        let Some(verdict) = filter.verdicts.get(rule as usize) else {
            let is_in = self.stage != Stage::Out;
            let is_needed = is_in && is_discovery(cx.packets.meta(slot), cx.packets.bytes(slot));
            return if is_needed { Outcome::Pass } else { Outcome::NoRule };
        };
        let (meta, cell) = cx.packets.parts(slot);
        let end = usize::from(meta.offset) + usize::from(meta.length);
        match *verdict {
            Verdict::Class(class) => meta.class = class & 7,
            Verdict::Mark(dscp) if meta.l3 != 0 => {
                if let Some(packet) = cell.get_mut(usize::from(meta.l3)..end) {
                    set_dscp(packet, dscp & 63);
                }
            }
            Verdict::Police(policer) => {
                let policers = self.views.policers.read(cx.reader);
                let mut bank = self.views.bank.lock().unwrap_or_else(PoisonError::into_inner);
                bank.follow(policers, cx.now);
                if !bank.police(policer, cx.now, meta, cell) {
                    return Outcome::Red;
                }
            }
            Verdict::Redirect(hop)
                if self.stage != Stage::Out && filter.family != Family::Ethernet =>
            {
                meta.hop = hop;
                cx.next.to(TO_REDIRECT, slot);
                return Outcome::Act;
            }
            _ => {}
        }
        Outcome::Pass
    }
}

/// Neighbour discovery of the link: where no rule says anything of it it passes, because without
/// it nothing that the rules permit would come in either.
fn is_discovery(meta: &Meta, packet: &[u8]) -> bool {
    let is_of_link = meta.flags & LINK_SCOPED != 0 && packet.get(7) == Some(&u8::MAX);
    is_of_link && packet.get(6) == Some(&ICMP6) && matches!(packet.get(IP6), Some(133..=136))
}
