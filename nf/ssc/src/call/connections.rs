//! Which calls a connection carries, and which connections ended.

use super::Call;
use machine::slots::{Key, Slots};
use machine::{Duration, Time};
use runtime::{ConnId, Flow};
use std::collections::HashMap;

/// The calls that connections carry, so that the end of one costs a look at those alone.
///
/// A call stands under each connection that one of its legs was on, until that ends. Those that
/// have gone are cleared out when the list of a connection has doubled.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(super) calls: HashMap<ConnId, Vec<Key>>,
}

/// Lists shorter than this are not cleared out.
const LIST_LEAST: usize = 8;

impl Connections {
    /// A leg of the call came to be on `flow`.
    #[inline]
    pub(super) fn note(&mut self, call: Key, flow: &Flow, table: &Slots<Call>) {
        if flow.conn != ConnId(0) {
            self.list(call, flow.conn, table);
        }
    }

    #[cold]
    fn list(&mut self, call: Key, conn: ConnId, table: &Slots<Call>) {
        let list = self.calls.entry(conn).or_default();
        if list.last() == Some(&call) {
            return;
        }
        if list.len() >= LIST_LEAST && list.len() == list.capacity() {
            list.sort_unstable_by_key(|key| (key.index, key.generation));
            list.dedup();
            list.retain(|&key| table.at(key).is_some_and(|call| is_on(call, conn)));
            // Room for as many again, so that the next time comes after as many notes.
            list.shrink_to((2 * list.len()).max(LIST_LEAST));
            list.reserve(list.len());
        }
        list.push(call);
    }

    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}

fn is_on(call: &Call, conn: ConnId) -> bool {
    [&call.a, &call.b].into_iter().chain(&call.forks).any(|leg| leg.flow.conn == conn)
}

/// What ended since the calls of it were last looked for.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// Connections, and the calls that they carried.
    pub(super) connections: Vec<(Flow, Vec<Key>)>,
    /// Far ends to which none could be opened, and when that was last.
    pub(super) unopened: HashMap<Flow, Time>,
    /// When all calls may be looked through for those again.
    look_at: Time,
}

/// All calls are looked through no more often than this.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

impl Lost {
    pub(super) fn deadline(&self) -> Option<Time> {
        match (self.connections.is_empty(), self.unopened.is_empty()) {
            (true, true) => None,
            (true, false) => Some(self.look_at),
            (false, _) => Some(Time::ZERO),
        }
    }

    /// The far ends to look through all calls for at this time.
    pub(super) fn take_unopened(&mut self, now: Time) -> HashMap<Flow, Time> {
        if self.unopened.is_empty() || now < self.look_at {
            return HashMap::new();
        }
        self.look_at = now + LOOKS_EVERY;
        core::mem::take(&mut self.unopened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::narrow::half;

    #[test]
    fn a_full_connection_is_cleared_out_once_in_as_many_calls_as_it_has() {
        const CALLS: usize = 1_023; // one less than a list grows to
        let flow = Flow { conn: ConnId(7), ..Flow::NOWHERE };
        let mut table = Slots::<Call>::new(4_000, Time::ZERO);
        let mut connections = Connections::default();
        let mut begin = |table: &mut Slots<Call>| {
            let (key, call) = table.take().unwrap();
            call.a.flow = flow;
            let before = connections.calls.get(&flow.conn).map_or(0, Vec::len);
            connections.note(key, &flow, table);
            let list = &connections.calls[&flow.conn];
            assert!(list.contains(&key) && list.len() <= 4 * CALLS);
            (key, list.len() <= before)
        };
        let mut live: Vec<Key> = (0..CALLS).map(|_| begin(&mut table).0).collect();
        let mut cleared = 0;
        for n in 0..10 * CALLS {
            table.give_back(live[n % CALLS]);
            let (key, was_cleared) = begin(&mut table);
            live[n % CALLS] = key;
            cleared += usize::from(was_cleared);
        }
        assert!((1..=12).contains(&cleared), "{cleared}");
    }

    #[test]
    fn far_ends_that_cannot_be_reached_are_looked_for_so_often_and_none_is_forgotten() {
        let mut lost = Lost::default();
        let flow = |conn| Flow { conn: ConnId(conn), ..Flow::NOWHERE };
        let mut looked = Vec::new();
        for ms in 1_000..1_100 {
            let now = Time::from_millis(ms);
            lost.unopened.insert(flow(half(ms)), now);
            assert!(lost.deadline().is_some_and(|at| at <= now + LOOKS_EVERY));
            looked.extend(Some(lost.take_unopened(now).len()).filter(|&found| found > 0));
        }
        assert_eq!(looked, [1, 50]);
        looked.push(lost.take_unopened(Time::from_millis(1_100)).len());
        assert_eq!((looked.iter().sum(), lost.deadline()), (100, None));
    }
}
