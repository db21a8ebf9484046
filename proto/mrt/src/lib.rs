//! MRT (RFC 6396, RFC 8050): routing tables and BGP messages as records of a file.
//!
//! ```text
//!   octets ──→ Records ──→ Record ──→ Body::{PeerIndexTable, Rib, StateChange, Message, TableDump}
//!      └─────→ RibEntries ──→ RibEntry: route, peer, attributes, of every kind of table dump
//!   write_peer_index_table, RibRecord, write_message, write_state_change ──→ octets
//! ```
//! - Reading borrows. A file is mapped or read whole, or in pieces: [`Records::piece`] ends before
//!   a record that is cut off, [`Records::rest`] is what has to come again with more behind it.
//! - What is wrong is a [`wire::Malformed`] with its offset in the file. A record that is malformed
//!   inside is told and passed over; one whose length cannot be trusted ends the reading.
//! - [`RibEntry::attributes`] are the same whoever wrote the file: ASes of four octets, and
//!   MP_REACH_NLRI as RFC 6396 §4.3.4 shortens it.
//!
//! ```
//! use bgp::family::{Family, Ipv4Prefix};
//! use mrt::{Path, Peer, RibEntries, RibRecord, write_peer_index_table};
//!
//! let peer = Peer { identifier: 1, address: [192, 0, 2, 1].into(), asn: 65_001 };
//! let mut file = Vec::new();
//! write_peer_index_table(0, 7, "view", &[peer], &mut file)?;
//! let attributes = [0x40, 1, 1, 0, 0x40, 2, 0, 0x40, 3, 4, 192, 0, 2, 1];
//! let mut record = RibRecord::begin(0, 0, Family::Ipv4Unicast, false, &[8, 10], &mut file);
//! let path = Path { peer: 0, originated_s: 0, id: 0, next_hop: None, attributes: &attributes };
//! record.path(&path)?;
//! record.finish();
//! let entry = RibEntries::new(&file).next().expect("one entry")?;
//! assert_eq!(entry.ipv4(), Ipv4Prefix::new([10, 0, 0, 0].into(), 8));
//! assert_eq!((entry.peer, entry.next_hop()), (peer, Some(&[192, 0, 2, 1][..])));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod attributes;
mod entries;
mod messages;
mod peers;
mod records;
mod rib;
mod table_dump;
mod write;

pub use attributes::{canonical, short_next_hop};
pub use entries::{RibEntries, RibEntry};
pub use messages::{Direction, Ends, FsmState, Message, StateChange};
pub use peers::{PEER_BYTES_MAX, Peer, PeerIndexTable, Peers};
pub use records::{
    Body, HEADER_BYTES, Kind, MessageSubtype, RECORD_BYTES_MAX, Record, Records, TableSubtype,
};
pub use rib::{Entries, Entry, Rib};
pub use table_dump::TableDump;
pub use write::{
    Full, MessageForm, Path, RibRecord, Stamp, write_message, write_peer_index_table,
    write_state_change,
};
