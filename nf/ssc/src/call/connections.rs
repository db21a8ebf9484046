//! Which calls a connection carries, and which connections ended.

use super::Call;
use machine::slots::{Key, Slots};
use runtime::{ConnId, Flow};
use std::collections::{HashMap, HashSet};

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
            list.shrink_to((2 * list.len()).max(LIST_LEAST));
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
    /// Far ends to which none could be opened.
    pub(super) unopened: HashSet<Flow>,
}

impl Lost {
    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.unopened.is_empty()
    }
}
