//! `policer-in`, `policer-out`: packets of an interface pass the policer of their class.

use super::policing::Bank;
use super::views::TrafficViews;
use crate::program::Direction;
use graph::{Context, Node, Pool, Reason, Row, Slot, VECTOR_MAX};
use std::sync::PoisonError;

const RED: Reason = Reason(0);

/// The node of one direction.
pub struct PolicerNode {
    views: TrafficViews,
    direction: Direction,
}

impl PolicerNode {
    /// The node of one worker.
    pub fn new(views: TrafficViews, direction: Direction) -> Self {
        Self { views, direction }
    }
}

impl Node for PolicerNode {
    fn row(&self) -> Row {
        let name = match self.direction {
            Direction::In => "policer-in",
            Direction::Out => "policer-out",
        };
        Row::of(name, &[], &["beyond the policed rate"])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let policers = self.views.policers.read(cx.reader);
        // Nobody else holds it meanwhile: the nodes of a worker run one after the other.
        let mut bank = self.views.bank.lock().unwrap_or_else(PoisonError::into_inner);
        let bank: &mut Bank = &mut bank;
        bank.follow(policers, cx.now);
        let (mut passed, mut count) = ([Slot(0); VECTOR_MAX], 0);
        for slot in batch {
            let (meta, cell) = cx.packets.parts(*slot);
            let interface = match self.direction {
                Direction::In => meta.interface,
                Direction::Out => meta.transmit,
            };
            let policer = policers.used(self.direction, interface, meta.class);
            if policer == 0 || bank.police(policer, cx.now, meta, cell) {
                passed[count % VECTOR_MAX] = *slot;
                count += 1;
            } else {
                cx.next.drop(*slot, RED);
            }
        }
        cx.next.onward_all(&passed[..count], cx.packets);
    }

    fn trace(&self, packets: &Pool, slot: Slot, note: &mut String) {
        note.push_str(["green", "yellow", "red"][usize::from(packets.meta(slot).colour.min(2))]);
    }
}
