//! How a function's shards and the other node of a pair meet.
//!
//! ```text
//! flush: deltas ──→ Replication::publish ──→ the other node   then, while Replication::may_speak:
//!        messages ──→ the network                           connections it closes at any time
//! Replication ──Order──→ shard ──→ Function::replicate
//! ```

use crate::function::Effects;
use crate::grouped::{GroupId, GroupOrder, Pace};
use crate::ring::Mailbox;
use crate::term::Term;
use crossbeam_channel::{Receiver, Sender, bounded};
use machine::narrow::index;
use std::fmt;
use std::sync::Arc;

/// Orders that wait for one shard; a mirror that gets no more in keeps what follows to itself.
pub const ORDERS_MAX: usize = 1 << 16;

/// What a shard is told by its mirror; see [`crate::Mirrored`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Serve.
    Activate {
        /// Whether what was replicated, or is remembered, is of the last term.
        is_current: bool,
    },
    /// Keep still, then tell [`Replication::quiet`].
    Deactivate,
    /// Forget what was replicated.
    Forget,
    /// A change that the active node made.
    Delta(Vec<u8>),
    /// Tell everything that stands.
    Snapshot(u64),
    /// The standby has applied all up to this mark, or nobody follows.
    Followed(Option<u64>),
    /// Whether it keeps up.
    Paced(Pace),
    /// How recent the state is.
    Term(Term),
    /// What a cluster wants; see [`crate::Grouped`].
    Group(GroupOrder),
}

/// The other node of a pair, or the cluster, as the runtime sees it. All methods are called by
/// shards and must not wait.
pub trait Replication: Send + Sync {
    /// The function starts (again): here its shards take orders. Until told to serve they keep
    /// still.
    fn attach(&self, orders: Orders);

    /// What a shard changed, and perhaps the end of its snapshot.
    fn publish(&self, shard: u16, effects: &Effects);

    /// Whether this node may send; asked before each flush.
    fn may_speak(&self) -> bool;

    /// A shard keeps still after [`Order::Deactivate`].
    fn quiet(&self, shard: u16);

    /// A shard keeps still for a group after [`GroupOrder::Deactivate`].
    fn quiet_for(&self, _group: GroupId) {}

    /// A shard cannot serve any more: the other node shall, if it can
    /// ([`crate::Effects::hands_over`]).
    fn hand_over(&self) {}

    /// A shard lost what it knew and began anew; it keeps still until it is told to serve.
    fn crashed(&self, shard: u16);

    /// A shard of the standby cannot read what it is told ([`crate::Effects::cannot_read`]).
    fn unreadable(&self, shard: u16) {
        self.crashed(shard);
    }
}

/// A mirror in a [`crate::ShardSpec`]; two are equal when they are the same one.
#[derive(Clone)]
pub struct ReplicationRef(pub Arc<dyn Replication>);

impl fmt::Debug for ReplicationRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplicationRef")
    }
}

impl PartialEq for ReplicationRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ReplicationRef {}

/// Where orders for the shards of a function go; by default there are none.
#[derive(Default)]
pub struct Orders {
    senders: Vec<Sender<Order>>,
    mailboxes: Arc<[Mailbox]>,
}

impl fmt::Debug for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Orders({})", self.senders.len())
    }
}

impl Orders {
    /// Orders for as many shards as there are mailboxes, and the receiving ends.
    pub(crate) fn new(mailboxes: &Arc<[Mailbox]>) -> (Self, Vec<Receiver<Order>>) {
        let (senders, receivers) = mailboxes.iter().map(|_| bounded(ORDERS_MAX)).unzip();
        (Self { senders, mailboxes: Arc::clone(mailboxes) }, receivers)
    }

    /// Number of shards.
    #[must_use]
    pub fn shards(&self) -> u16 {
        index(self.senders.len())
    }

    /// Orders one shard; `false` when its queue is full or it has ended.
    pub fn give(&self, shard: u16, order: Order) -> bool {
        let Some(sender) = self.senders.get(usize::from(shard)) else { return false };
        let given = sender.try_send(order).is_ok();
        self.mailboxes[usize::from(shard)].waker.wake();
        given
    }

    /// Whether every shard still runs.
    #[must_use]
    pub fn are_alive(&self) -> bool {
        self.mailboxes.iter().all(|mailbox| mailbox.open.load(std::sync::atomic::Ordering::Relaxed))
    }
}
