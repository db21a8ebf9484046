//! `ip4-filter`, `ip6-filter`, `l2-filter`, `filter-out`: the first rule that matches decides.

use super::fields::set_dscp;
use super::filtering::{Compiled, Filters, Headers, UNMATCHED};
use crate::program::{Direction, Family, Verdict};
use crate::services::Views;
use graph::{Context, Edge, Meta, Node, Pool, Reason, Row, Slot, VECTOR_MAX};
use std::sync::{Arc, PoisonError};

const DENIED: Reason = Reason(0);
const NO_RULE: Reason = Reason(1);
const RED: Reason = Reason(2);
const REASONS: &[&str] = &["denied by a rule", "no rule permits it", "beyond a rule's rate"];

const TO_REDIRECT: Edge = Edge(0);

/// Which packets a node filters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Those of one family that come in.
    In(Family),
    /// All that leave.
    Out,
}

/// The node of one stage.
pub(crate) struct FilterNode {
    views: Views,
    stage: Stage,
    headers: Headers,
}

impl FilterNode {
    pub(crate) fn new(views: Views, stage: Stage) -> Self {
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

/// A packet from where its filter looks at it.
#[inline]
fn looked_at(packets: &Pool, slot: Slot, family: Family) -> &[u8] {
    let meta = packets.meta(slot);
    if family == Family::Ethernet || meta.l3 == 0 {
        return packets.bytes(slot);
    }
    let end = usize::from(meta.offset) + usize::from(meta.length);
    packets.cell(slot).get(usize::from(meta.l3)..end).unwrap_or(&[])
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
    /// Packets of one filter.
    fn run(&mut self, number: u16, filters: &Filters, batch: &[Slot], cx: &mut Context<'_>) {
        let Some(filter) = filters.filter(number) else {
            for slot in batch {
                cx.next.onward(*slot, cx.packets);
            }
            return;
        };
        let mut rules = [UNMATCHED; VECTOR_MAX];
        let rules = &mut rules[..batch.len()];
        let packets = &*cx.packets;
        let packet = |at: usize| looked_at(packets, batch[at], filter.family);
        self.headers.classify(filter, packet, rules);
        for (slot, rule) in batch.iter().zip(rules) {
            let octets = u64::from(cx.packets.meta(*slot).length);
            filter.count(self.views.worker, *rule, octets);
            match filter.verdicts.get(*rule as usize) {
                Some(Verdict::Permit) => cx.next.onward(*slot, cx.packets),
                Some(Verdict::Deny) => cx.next.drop(*slot, DENIED),
                Some(verdict) => self.act(*verdict, *slot, filter, cx),
                None => cx.next.drop(*slot, NO_RULE),
            }
        }
    }

    #[inline(never)]
    fn act(&self, verdict: Verdict, slot: Slot, filter: &Compiled, cx: &mut Context<'_>) {
        let (meta, cell) = cx.packets.parts(slot);
        let end = usize::from(meta.offset) + usize::from(meta.length);
        match verdict {
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
                    return cx.next.drop(slot, RED);
                }
            }
            Verdict::Redirect(hop)
                if self.stage != Stage::Out && filter.family != Family::Ethernet =>
            {
                meta.hop = hop;
                return cx.next.to(TO_REDIRECT, slot);
            }
            _ => {}
        }
        cx.next.onward(slot, cx.packets);
    }
}
