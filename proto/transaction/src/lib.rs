//! SIP transactions (RFC 3261 §17 with the corrections of RFC 6026): the four machines, and the
//! table that owns them with their keys, stored bytes and timers.
//!
//! How to use [`Transactions`]:
//! - **A request out**: [`Transactions::reserve`] gives an id and the branch to write into the
//!   Via; send the request yourself, then [`Transactions::start_client`] with the same bytes.
//!   A branch that is not used after all is given back by [`Transactions::release`].
//!   A request that another table has sent is taken on under its branch: [`Transactions::adopt`].
//! - **Whatever comes in**: [`Transactions::receive`] classifies it and answers retransmissions.
//!   An INVITE wants its 100 from you at once (§17.2.1).
//! - **A response out**: send it yourself, then [`Transactions::respond`] with the same bytes.
//!   What of them the request says already need not be kept: [`Transactions::respond_without`].
//!   Such a response to a request that comes again is yours to write: [`Arrival::Repeated`].
//! - **The ACK for a 2xx** is yours (§13.2.2.4); its branch comes from
//!   [`Transactions::loose_branch`]. So are the retransmissions of a 2xx (§13.3.1.4).
//!   ACKs for other final responses and CANCELs are made here.
//! - Time: call [`Transactions::tick`] at [`Transactions::deadline`].
//!
//! Every [`Out::Send`] carries its bytes, shared with the table, not copied.
//!
//! What it costs: a client transaction is found by the index inside its branch; a server
//! transaction by one seeded hash and one comparison; one timer entry stands in the wheel for
//! each transaction, however often its timers move; the only allocation is that of the stored
//! bytes, which are given back at the first 2xx (INVITE) or final response (others, client), and
//! at the ACK (server).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod act;
mod branch;
mod client;
mod clients;
mod clock;
mod follow_up;
pub mod invite_client;
pub mod invite_server;
mod key;
pub mod merged;
pub mod non_invite_client;
pub mod non_invite_server;
mod places;
mod server;
mod servers;
mod slab;
pub mod timers;

pub use branch::{BRANCH_BYTES, Branch, ClientId, ServerId, has_cookie, shard_of};
pub use servers::Kept;
pub use timers::Timers;

use branch::Mint;
use client::{ClientSlot, NONE};
use core::hash::Hash;
use key::Probe;
use machine::{KeyedHash, Time, Wheel};
use places::Places;
use server::Server;
use sip::Message;
use slab::Slab;
use std::collections::HashMap;
use std::sync::Arc;

/// How many transactions may live at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Client transactions, reserved ones included.
    pub clients_max: u32,
    /// Server transactions.
    pub servers_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { clients_max: 4 << 20, servers_max: 4 << 20 }
    }
}

/// No table is larger than this, whatever its limits say: one bit of an index names the side.
const ENTRIES_MAX: u32 = (1 << 31) - 1;
/// Buckets of far ends from which responses are awaited.
const FLOW_BUCKETS: usize = 4096;

/// What a message that came in is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival<U> {
    /// A request that began a server transaction.
    Request(ServerId),
    /// A CANCEL that began a server transaction of its own: answer it with 200 and end the
    /// INVITE with 487, or answer 481 when there is no such INVITE (§9.2).
    Cancel {
        /// The CANCEL itself.
        id: ServerId,
        /// The INVITE that it cancels and that INVITE's user. Present also when the INVITE has
        /// its final response already; then the CANCEL has no effect but is answered with 200.
        invite: Option<(ServerId, U)>,
    },
    /// An ACK that no transaction knows: it belongs to a dialog's 2xx.
    Ack2xx,
    /// The ACK for a final response other than 2xx; it ends the user's part.
    AckNon2xx(U),
    /// A response for the user. Its transaction may be over already.
    Response {
        /// The transaction.
        id: ClientId,
        /// Its user.
        user: U,
    },
    /// A retransmission; dealt with.
    Absorbed,
    /// A retransmission to be answered with [`Transactions::repeated`] around the lines that a
    /// response copies from its request.
    Repeated(ServerId),
    /// A response to nothing that lives here; to be dropped (RFC 6026 §8.9).
    StrayResponse,
    /// The table is full: nothing was kept. A request may be answered 503, statelessly.
    Overload,
}

/// What the table wants done.
#[derive(Debug, Clone)]
pub enum Out<F, U> {
    /// Send `bytes` to `to`.
    Send {
        /// The far end.
        to: F,
        /// The whole message.
        bytes: Arc<[u8]>,
    },
    /// No final response came (timers B and F, or none to a CANCEL); the transaction is over and
    /// counts as answered with 408 (§8.1.3.1).
    Timeout {
        /// The transaction.
        id: ClientId,
        /// Its user.
        user: U,
    },
    /// The request could not be delivered; the transaction is over and counts as answered with
    /// 503 (§8.1.3.1).
    TransportError {
        /// The transaction.
        id: ClientId,
        /// Its user.
        user: U,
    },
    /// No ACK came for a final response other than 2xx (timer H); the transaction is over.
    AckMissing {
        /// The transaction.
        id: ServerId,
        /// Its user.
        user: U,
    },
}

/// Every transaction of one shard. `F` is a far end (a flow), `U` the transaction's user.
#[derive(Debug)]
pub struct Transactions<F, U> {
    timers: Timers,
    mint: Mint,
    hash: KeyedHash,
    /// A second secret: what is stored of a server transaction's key.
    proof: KeyedHash,
    /// How many branches without a transaction were made.
    loose: u32,
    wheel: Wheel<WheelKey>,
    due: Vec<WheelKey>,
    clients: Slab<ClientSlot<F, U>>,
    /// First of the clients that await a response, by bucket of far ends.
    flows: Box<[u32]>,
    /// What tells the bucket of a far end.
    flow_secrets: [u64; 2],
    /// Clients whose branch another table made; see [`Transactions::adopt`].
    adopted: HashMap<Branch, ClientId>,
    servers: Slab<Server<F, U>>,
    /// Where the servers are, by the hash of their keys.
    places: Places,
    probe: Probe,
}

/// A transaction as the wheel knows it: its index, a server's with the upper bit set.
#[derive(Debug, Clone, Copy)]
struct WheelKey {
    place: u32,
    generation: u32,
}

/// The bit that tells the index of a server from that of a client.
const SERVERS: u32 = ENTRIES_MAX + 1;

impl WheelKey {
    const fn client(index: u32, generation: u32) -> Self {
        Self { place: index, generation }
    }

    const fn server(index: u32, generation: u32) -> Self {
        Self { place: index | SERVERS, generation }
    }
}

impl<F: Copy + Eq + Hash, U: Copy> Transactions<F, U> {
    /// An empty table. `seed` is secret and new at each start; `shard` is written into branches.
    #[must_use]
    pub fn new(timers: Timers, limits: Limits, seed: [u8; 32], shard: u16, now: Time) -> Self {
        let (one, two) = seed.split_at(16);
        let hash = |half: &[u8]| KeyedHash::new(half.try_into().expect("half a seed is 16 bytes"));
        let third = [b"k0", b"k1"].map(|name| hash(two).hash(name).to_le_bytes());
        Self {
            timers,
            mint: Mint::new(shard, hash(one)),
            hash: hash(two),
            proof: hash(third.as_flattened()),
            loose: 0,
            wheel: Wheel::new(now),
            due: Vec::new(),
            clients: Slab::new(limits.clients_max.min(ENTRIES_MAX)),
            flows: vec![NONE; FLOW_BUCKETS].into(),
            flow_secrets: [b"f0", b"f1"].map(|name| hash(two).hash(name) | 1),
            adopted: HashMap::new(),
            servers: Slab::new(limits.servers_max.min(ENTRIES_MAX)),
            places: Places::new(),
            probe: Probe::default(),
        }
    }

    /// Classifies a message that came in from `from` over a transport that is `reliable` or not;
    /// answers retransmissions through `out`.
    pub fn receive(
        &mut self,
        now: Time,
        from: F,
        reliable: bool,
        message: &Message<'_>,
        out: &mut Vec<Out<F, U>>,
    ) -> Arrival<U> {
        match message.status() {
            Some(status) => self.receive_response(now, status, message, out),
            None => self.receive_request(now, from, reliable, message, out),
        }
    }

    /// Lets time pass: every timer due at `now` fires.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Out<F, U>>) {
        let mut due = core::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for WheelKey { place, generation } in due.drain(..) {
            match place.checked_sub(SERVERS) {
                None => self.fire_client(now, ClientId(place, generation), out),
                Some(index) => self.fire_server(now, ServerId(index, generation), out),
            }
        }
        self.due = due;
    }

    /// When [`Transactions::tick`] wants to be called next; nothing fires before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// Forgets every transaction: nothing is sent, nobody is told. Their branches stay used.
    pub fn clear(&mut self, now: Time) {
        for index in 0..self.clients.slots() {
            self.clients.remove(index);
        }
        for index in 0..self.servers.slots() {
            self.servers.remove(index);
        }
        self.flows.fill(NONE);
        self.adopted.clear();
        self.places.clear();
        self.wheel = Wheel::new(now);
    }

    /// Takes new timer values; transactions that run keep what is set already.
    pub const fn set_timers(&mut self, timers: Timers) {
        self.timers = timers;
    }

    /// Number of transactions alive, client and server, reserved ones included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.clients.len() + self.servers.len()
    }

    /// Whether no transaction is alive.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of client transactions alive, reserved ones included.
    #[must_use]
    pub const fn clients(&self) -> usize {
        self.clients.len()
    }

    /// Number of server transactions alive.
    #[must_use]
    pub const fn servers(&self) -> usize {
        self.servers.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_small_whatever_a_flow_is() {
        type Flow = [u64; 10];
        type User = (u32, u32, bool);
        let entries = [Slab::<Server<Flow, User>>::ENTRY, Slab::<ClientSlot<Flow, User>>::ENTRY];
        assert!(entries.iter().all(|&octets| octets <= 88), "{entries:?}");
        assert_eq!(size_of::<WheelKey>(), 8);
    }
}
