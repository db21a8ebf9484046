//! A flow as a value of a delta. A connection does not outlive its process: the next request on
//! it opens another one.

use crate::field::{self, Fields};
use machine::narrow::at_most;
use runtime::{ConnId, Flow, PortId, Transport};
use std::net::SocketAddr;

mod tag {
    pub const PORT: u8 = 1;
    pub const TRANSPORT: u8 = 2;
    pub const LOCAL: u8 = 3;
    pub const REMOTE: u8 = 4;
}

/// Appends an address: its port, then its octets.
pub fn write_address(out: &mut Vec<u8>, address: SocketAddr) {
    out.extend_from_slice(&address.port().to_be_bytes());
    match address {
        SocketAddr::V4(v4) => out.extend_from_slice(&v4.ip().octets()),
        SocketAddr::V6(v6) => out.extend_from_slice(&v6.ip().octets()),
    }
}

/// Reads what [`write_address`] wrote; `None` for another length.
#[must_use]
pub fn read_address(value: &[u8]) -> Option<SocketAddr> {
    let (port, ip) = value.split_first_chunk()?;
    let port = u16::from_be_bytes(*port);
    match ip.len() {
        4 => Some(SocketAddr::from((<[u8; 4]>::try_from(ip).ok()?, port))),
        16 => Some(SocketAddr::from((<[u8; 16]>::try_from(ip).ok()?, port))),
        _ => None,
    }
}

/// Appends a flow.
pub fn write(out: &mut Vec<u8>, flow: &Flow) {
    field::number(out, tag::PORT, flow.port.0.into());
    field::number(out, tag::TRANSPORT, flow.transport as u64);
    field::nested(out, tag::LOCAL, |out| write_address(out, flow.local));
    field::nested(out, tag::REMOTE, |out| write_address(out, flow.remote));
}

/// Reads a flow; what is missing leads nowhere.
#[must_use]
pub fn read(fields: &[u8]) -> Flow {
    let mut flow = Flow::NOWHERE;
    for (tag, value) in Fields::new(fields) {
        match tag {
            tag::PORT => flow.port = PortId(at_most(field::read(value), u16::MAX)),
            tag::TRANSPORT => {
                let number = field::read(value);
                let all = [Transport::Udp, Transport::Tcp, Transport::Tls];
                let found = all.into_iter().find(|&transport| transport as u64 == number);
                flow.transport = found.unwrap_or(Transport::Udp);
            }
            tag::LOCAL => flow.local = read_address(value).unwrap_or(flow.local),
            tag::REMOTE => flow.remote = read_address(value).unwrap_or(flow.remote),
            _ => {}
        }
    }
    flow.conn = ConnId(0);
    flow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_read_as_it_was_written_but_for_its_connection() {
        for (transport, remote) in
            [(Transport::Udp, "192.0.2.1:5060"), (Transport::Tls, "[2001:db8::1]:5061")]
        {
            let (local, remote) = ("192.0.2.9:5060".parse().unwrap(), remote.parse().unwrap());
            let flow = Flow { conn: ConnId(7), ..Flow::to(PortId(3), transport, local, remote) };
            let mut text = Vec::new();
            write(&mut text, &flow);
            assert_eq!(read(&text), Flow { conn: ConnId(0), ..flow });
        }
        assert_eq!(read(&[]), Flow { conn: ConnId(0), ..Flow::NOWHERE });
        assert_eq!(read_address(&[1, 2, 3]), None);
    }
}
