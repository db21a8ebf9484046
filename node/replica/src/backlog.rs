//! What shards of a standby could not take at once.

use runtime::Order;
use std::collections::{BTreeMap, VecDeque};

/// Orders that shards could not take yet, by shard, the first first: nothing of the stream may be
/// left out, since it is acknowledged by numbers. While there is any, what comes is not
/// acknowledged ([`crate::Pair::hold`]), so that the other node's window bounds it.
#[derive(Debug, Default)]
pub(crate) struct Backlog(BTreeMap<u16, VecDeque<Order>>);

impl Backlog {
    /// Gives an order behind those that wait.
    pub(crate) fn add(
        &mut self,
        shard: u16,
        order: Order,
        mut give: impl FnMut(u16, &Order) -> bool,
    ) {
        if let Some(waiting) = self.0.get_mut(&shard) {
            if order == Order::Forget {
                waiting.retain(|it| !matches!(it, Order::Delta(_)));
            }
            waiting.push_back(order);
        } else if !give(shard, &order) {
            self.0.insert(shard, VecDeque::from([order]));
        }
    }

    /// Gives as many as shards take.
    pub(crate) fn give(&mut self, mut give: impl FnMut(u16, &Order) -> bool) {
        self.0.retain(|shard, waiting| {
            while let Some(first) = waiting.pop_front() {
                if !give(*shard, &first) {
                    waiting.push_front(first);
                    return true;
                }
            }
            false
        });
    }

    /// Whether no shard is behind.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_order_is_left_out_and_none_overtakes_another_where_a_shard_takes_nothing() {
        let delta = |number: u8| Order::Delta(vec![number]);
        let (mut backlog, mut taken) = (Backlog::default(), Vec::new());
        backlog.add(0, delta(1), |_, _| false);
        backlog.add(0, delta(2), |_, _| true);
        backlog.add(1, delta(3), |shard, order| {
            taken.push((shard, order.clone()));
            true
        });
        assert_eq!(taken, [(1, delta(3))], "the others go on");
        backlog.add(0, Order::Activate { is_current: true }, |_, _| true);
        let (mut room, mut taken) = (2, Vec::new());
        let mut take = |_: u16, order: &Order| {
            let is_taken = room > 0;
            if is_taken {
                room -= 1;
                taken.push(order.clone());
            }
            is_taken
        };
        backlog.give(&mut take);
        assert_eq!(backlog.0.len(), 1);
        backlog.give(|_, _| true);
        assert_eq!((taken, backlog.0.len()), (vec![delta(1), delta(2)], 0));
        // Deltas of a stream that has ended need not be told.
        backlog.add(0, delta(1), |_, _| false);
        backlog.add(0, Order::Forget, |_, _| false);
        assert_eq!(backlog.0[&0], [Order::Forget]);
    }
}
