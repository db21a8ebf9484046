//! Sources as those of whom anything is counted, and connections as what tells them apart.

use machine::narrow::halves;
use runtime::{ConnId, Flow};
use std::net::{IpAddr, SocketAddr};

/// A connection. Its number may come again, for another far end.
pub type Connection = (ConnId, SocketAddr);

/// The connection of a flow.
#[must_use]
pub const fn connection(flow: &Flow) -> Connection {
    (flow.conn, flow.remote)
}

/// A number for an IPv4 address or an IPv6 /56.
#[must_use]
pub fn source_number(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => halves(address.to_bits())[1] >> 8,
    }
}
