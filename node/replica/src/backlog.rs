//! What shards of a standby could not take at once.

use machine::{Duration, Time};
use runtime::Order;
use std::collections::{BTreeMap, VecDeque};

/// A shard that takes nothing for so long is stuck: a snapshot of a big table takes less.
pub(crate) const STUCK: Duration = Duration::from_secs(5);

/// Orders that shards could not take yet, by shard, the first first: nothing of the stream may be
/// left out, since it is acknowledged by numbers. While there is any, what comes is not
/// acknowledged ([`crate::Pair::hold`]), so that the other node's window bounds it.
#[derive(Debug, Default)]
pub(crate) struct Backlog(BTreeMap<u16, Waiting>);

/// What waits for a shard.
#[derive(Debug)]
struct Waiting {
    orders: VecDeque<Order>,
    /// When the shard took something last, or when the first of these came.
    since: Time,
    /// Whether it was said that the shard is stuck.
    is_told: bool,
}

/// A shard that takes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stuck {
    pub(crate) shard: u16,
    pub(crate) since: Time,
    /// Orders that wait for it.
    pub(crate) orders: usize,
}

impl Backlog {
    /// Gives an order behind those that wait.
    pub(crate) fn add(
        &mut self,
        now: Time,
        shard: u16,
        order: Order,
        mut give: impl FnMut(u16, &Order) -> bool,
    ) {
        if let Some(Waiting { orders, .. }) = self.0.get_mut(&shard) {
            if order == Order::Forget {
                orders.retain(|it| !matches!(it, Order::Delta(_)));
            }
            orders.push_back(order);
        } else if !give(shard, &order) {
            let orders = VecDeque::from([order]);
            self.0.insert(shard, Waiting { orders, since: now, is_told: false });
        }
    }

    /// Gives as many as shards take.
    pub(crate) fn give(&mut self, now: Time, mut give: impl FnMut(u16, &Order) -> bool) {
        self.0.retain(|shard, waiting| {
            while let Some(first) = waiting.orders.pop_front() {
                if !give(*shard, &first) {
                    waiting.orders.push_front(first);
                    return true;
                }
                (waiting.since, waiting.is_told) = (now, false);
            }
            false
        });
    }

    /// Whether no shard is behind.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Orders that wait.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(|waiting| waiting.orders.len()).sum()
    }

    /// Shards that have taken nothing for [`STUCK`].
    pub(crate) fn stuck(&self, now: Time) -> impl Iterator<Item = Stuck> {
        let stuck = self.0.iter().filter(move |(_, it)| now >= it.since + STUCK);
        stuck.map(|(shard, it)| Stuck { shard: *shard, since: it.since, orders: it.orders.len() })
    }

    /// Those of them of which this was not said before.
    pub(crate) fn newly_stuck(&mut self, now: Time) -> Vec<Stuck> {
        let stuck: Vec<Stuck> = self.stuck(now).collect();
        let is_new = |it: &Stuck| {
            let waiting = self.0.get_mut(&it.shard);
            waiting.is_some_and(|waiting| !core::mem::replace(&mut waiting.is_told, true))
        };
        stuck.into_iter().filter(is_new).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Time = Time::from_millis(1_000);

    fn delta(number: u8) -> Order {
        Order::Delta(vec![number])
    }

    #[test]
    fn no_order_is_left_out_and_none_overtakes_another_where_a_shard_takes_nothing() {
        let (mut backlog, mut taken) = (Backlog::default(), Vec::new());
        backlog.add(BEGIN, 0, delta(1), |_, _| false);
        backlog.add(BEGIN, 0, delta(2), |_, _| true);
        backlog.add(BEGIN, 1, delta(3), |shard, order| {
            taken.push((shard, order.clone()));
            true
        });
        assert_eq!(taken, [(1, delta(3))], "the others go on");
        backlog.add(BEGIN, 0, Order::Activate { is_current: true }, |_, _| true);
        let (mut room, mut taken) = (2, Vec::new());
        let mut take = |_: u16, order: &Order| {
            let is_taken = room > 0;
            if is_taken {
                room -= 1;
                taken.push(order.clone());
            }
            is_taken
        };
        backlog.give(BEGIN, &mut take);
        assert_eq!((backlog.0.len(), backlog.len()), (1, 1));
        backlog.give(BEGIN, |_, _| true);
        assert_eq!((taken, backlog.0.len()), (vec![delta(1), delta(2)], 0));
        // Deltas of a stream that has ended need not be told.
        backlog.add(BEGIN, 0, delta(1), |_, _| false);
        backlog.add(BEGIN, 0, Order::Forget, |_, _| false);
        assert_eq!(backlog.0[&0].orders, [Order::Forget]);
    }

    #[test]
    fn a_shard_that_takes_nothing_for_long_is_stuck_and_this_is_said_once() {
        let mut backlog = Backlog::default();
        backlog.add(BEGIN, 3, delta(1), |_, _| false);
        backlog.add(BEGIN, 3, delta(2), |_, _| false);
        let almost = BEGIN + (STUCK - Duration::from_millis(1));
        backlog.give(almost, |_, _| false);
        assert_eq!(backlog.stuck(almost).count(), 0, "it is behind");
        let stuck = Stuck { shard: 3, since: BEGIN, orders: 2 };
        assert_eq!(backlog.newly_stuck(BEGIN + STUCK), [stuck]);
        assert_eq!(backlog.newly_stuck(BEGIN + STUCK), [], "it was said");
        assert_eq!(backlog.stuck(BEGIN + STUCK).collect::<Vec<_>>(), [stuck], "and stands");
        // One that takes something is behind.
        let (later, mut room) = (BEGIN + STUCK * 2, 1);
        backlog.give(later, |_, _| core::mem::replace(&mut room, 0) > 0);
        assert_eq!(backlog.stuck(later).count(), 0);
        let stuck = Stuck { shard: 3, since: later, orders: 1 };
        assert_eq!(backlog.newly_stuck(later + STUCK), [stuck]);
    }
}
