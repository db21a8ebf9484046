//! Which calls a connection carries, and which connections ended.

use super::Call;
use machine::slots::{Key, Slots};
use machine::{Duration, Time};
use runtime::{ConnId, Flow};
use sip_stack::source::{Connection, connection};
use std::collections::HashMap;
use std::ops::Range;

/// The calls that connections carry, so that the end of one costs a look at those alone.
///
/// A call stands under each connection that one of its legs was on, until that ends. Those that
/// have gone are cleared out when the list of a connection has doubled.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    calls: HashMap<Connection, Vec<Key>>,
}

/// Lists shorter than this are not cleared out.
const LIST_LEAST: usize = 8;

impl Connections {
    /// A leg of the call came to be on `flow`.
    #[inline]
    pub(super) fn note(&mut self, call: Key, flow: &Flow, table: &Slots<Call>) {
        if flow.conn != ConnId(0) {
            self.list(call, connection(flow), table);
        }
    }

    #[cold]
    fn list(&mut self, call: Key, conn: Connection, table: &Slots<Call>) {
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

    /// The calls of a connection that ended.
    pub(super) fn take(&mut self, flow: &Flow) -> Option<Vec<Key>> {
        self.calls.remove(&connection(flow))
    }

    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}

fn is_on(call: &Call, conn: Connection) -> bool {
    [&call.a, &call.b].into_iter().chain(&call.forks).any(|leg| connection(&leg.flow) == conn)
}

/// What ended since the calls of it were last looked for.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// Connections, and the calls that they carried.
    pub(super) connections: Vec<(Flow, Vec<Key>)>,
    /// Far ends to which none could be opened, and when that was last.
    pub(super) unopened: HashMap<Flow, Time>,
    /// Those that calls are looked through for now, and where to go on.
    sought: HashMap<Flow, Time>,
    next: u32,
    /// When it may go on.
    look_at: Time,
}

/// So many places of calls are looked at for them, this often: a look at all would take as long as
/// there are many, and whoever has addresses that refuse connections causes it.
const PLACES_A_LOOK: u32 = 4_096;
const LOOKS_EVERY: Duration = Duration::from_millis(10);

impl Lost {
    pub(super) fn deadline(&self) -> Option<Time> {
        match (self.connections.is_empty(), self.next == 0 && self.unopened.is_empty()) {
            (true, true) => None,
            (true, false) => Some(self.look_at),
            (false, _) => Some(Time::ZERO),
        }
    }

    /// The places of calls to look at now, of so many, and for which far ends.
    pub(super) fn look(&mut self, now: Time, places: u32) -> (Range<u32>, &HashMap<Flow, Time>) {
        if now < self.look_at || self.next == 0 && self.unopened.is_empty() {
            return (0..0, &self.sought);
        }
        if self.next == 0 {
            self.sought = core::mem::take(&mut self.unopened);
        }
        self.look_at = now + LOOKS_EVERY;
        let (from, to) = (self.next, self.next.saturating_add(PLACES_A_LOOK));
        self.next = if to < places { to } else { 0 };
        (from..to.min(places), &self.sought)
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
            let before = connections.calls.get(&connection(&flow)).map_or(0, Vec::len);
            connections.note(key, &flow, table);
            let list = &connections.calls[&connection(&flow)];
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
            let (places, sought) = lost.look(now, 1);
            looked.extend(Some(sought.len()).filter(|_| !places.is_empty()));
        }
        assert_eq!(looked, [1, 10, 10, 10, 10, 10, 10, 10, 10, 10]);
        looked.push(lost.look(Time::from_millis(1_100), 1).1.len());
        assert_eq!((looked.iter().sum(), lost.deadline()), (100, None));
    }
}
