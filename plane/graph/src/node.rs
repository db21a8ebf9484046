//! What a node is: a name, the names of those that follow, the reasons for which it drops, and
//! what it does to a vector of packets.

use crate::next::Next;
use crate::outbox::Outbox;
use crate::pool::{Pool, Slot};
use machine::Time;
use std::borrow::Cow;
use table::epoch::Reader;

/// Packets that a node is handed at once, at most.
pub const VECTOR_MAX: usize = 256;

/// A node's own number for one of those that may follow it: the place in [`Row::next`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge(pub u8);

/// A node's own number for a reason to drop: the place in [`Row::reasons`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason(pub u8);

/// What becomes of one packet of a vector: a follower, or a reason to drop; one octet, so that a
/// vector's verdicts are compared at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict(pub(crate) u8);

impl Verdict {
    pub(crate) const DROP: u8 = 0x80;

    /// It goes to a follower; edges are below 128.
    #[must_use]
    pub const fn to(edge: Edge) -> Self {
        Self(edge.0 & !Self::DROP)
    }

    /// It is dropped; reasons are below 128.
    #[must_use]
    pub const fn drop(reason: Reason) -> Self {
        Self(reason.0 | Self::DROP)
    }
}

/// A node as it declares itself.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name in the graph, e.g. `ip4-input`.
    pub name: Cow<'static, str>,
    /// The nodes that may follow, in the order of its [`Edge`]s.
    pub next: Cow<'static, [&'static str]>,
    /// Why it drops packets, in the order of its [`Reason`]s.
    pub reasons: &'static [&'static str],
}

impl Row {
    /// A row of constants.
    #[must_use]
    pub const fn of(
        name: &'static str,
        next: &'static [&'static str],
        reasons: &'static [&'static str],
    ) -> Self {
        Self { name: Cow::Borrowed(name), next: Cow::Borrowed(next), reasons }
    }
}

/// What a node works with besides its vector. The fields are apart so that a node may hold one
/// of them while it uses another.
pub struct Context<'a> {
    /// The worker's packets.
    pub packets: &'a mut Pool,
    /// Where packets go from here.
    pub next: Next<'a>,
    /// What leaves the graph.
    pub out: &'a mut Outbox,
    /// The right to read tables.
    pub reader: &'a Reader,
    /// The time of this vector.
    pub now: Time,
}

/// One step of a packet's way.
///
/// A node hands every packet of its vector on exactly once: to a [`Next`], to the [`Outbox`], or
/// to [`Next::drop`]. Workers have instances of their own, so what a node counts or remembers for
/// itself needs no lock; what workers share is in tables.
pub trait Node: Send {
    /// Its name, its followers, its reasons. Asked once.
    fn row(&self) -> Row;

    /// Takes up to [`VECTOR_MAX`] packets.
    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>);

    /// Does what is due, and makes packets of its own; called when [`Node::deadline`] is over.
    fn tick(&mut self, _cx: &mut Context<'_>) {}

    /// When [`Node::tick`] wants to be called; asked before and after every run of the graph.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// Whether it has a clock at all: the others are not asked. Asked once.
    fn has_deadlines(&self) -> bool {
        false
    }

    /// Notes of a traced packet that it has just processed, e.g. `10.1.2.3 → 10.4.5.6 ttl 63`.
    fn trace(&self, _packets: &Pool, _slot: Slot, _note: &mut String) {}
}
