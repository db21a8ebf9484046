//! Shards, ports and the contract of a function.
//!
//! A *shard* is one pinned thread that owns a function's machines, timers, random source and
//! port queues. Shards share nothing and talk by rings. Production binds a port to a driver
//! (UDP, TCP, TLS); simulation binds it to a link.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod bind;
mod changes;
mod channel;
mod completion;
mod connection;
mod control;
mod crowd;
mod datagram;
mod deferred;
mod dns;
mod ending;
mod engine;
mod error;
mod function;
mod group;
mod grouped;
mod guard;
mod handshake;
mod helper_threads;
mod io;
mod metrics;
mod news;
mod port;
mod queue;
mod reading;
mod rebirth;
mod replication;
mod ring;
mod running;
mod shard;
mod spec;
mod stream;
mod table;
mod term;
mod work;

pub use ::channel::{Absent, Came, Channel, Connect, PacketRecord, PacketTo, Packets};
pub use changes::{Post, Sliced};
pub use control::{Crashes, ShardState};
pub use deferred::{DEFERRED_MAX, DEFERRED_TIME};
pub use driver::Why;
pub use driver::guard::{knows_authentication_option, knows_md5};
pub use ending::ENDED_THERE;
pub use error::RuntimeError;
pub use function::{
    Answer, Answered, Ask, AskError, ChannelEvent, ChannelOrder, Diverted, Effects, Frame,
    Function, In, Mirrored, Query, Ticket,
};
pub use grouped::{Authority, GROUPS_MAX, GroupId, GroupOrder, Grouped, NODES_MAX, NodeId, Pace};
pub use guard::{GUARDS_MAX, Guard, Secret, guard_for};
pub use metrics::RuntimeMetric;
pub use port::{Address, ConnId, Flow, PortId, Transport};
pub use replication::{ORDERS_MAX, Order, Orders, Replication, ReplicationRef};
pub use running::{Make, Running, start};
pub use spec::{Carrier, DnsSpec, PortSpec, SHARDS_MAX, Seed, ShardSpec, StreamLimits, StreamSpec};
pub use term::Term;
pub use tls::{ClientAuth, TlsSpec};
