//! IP protocol 132 by a raw socket of the host's kernel.

use driver::{DatagramSocket, ReceiveBatch, SendBatch, SocketOptions};
use sctp::{Packet, Transmit};
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};

const SCTP: u8 = 132;

thread_local! {
    /// Room for packets, which cannot go from thread to thread.
    static BATCHES: RefCell<(ReceiveBatch, SendBatch)> =
        RefCell::new((ReceiveBatch::new(), SendBatch::new()));
}

/// One address.
pub struct RawSocket {
    pub address: IpAddr,
    socket: DatagramSocket,
}

impl RawSocket {
    /// In the calling thread's namespace.
    pub fn open(address: IpAddr) -> Self {
        let options = SocketOptions { whole: true, ..SocketOptions::default() };
        let socket = DatagramSocket::raw(address, SCTP, &options).expect("raw sockets need root");
        Self { address, socket }
    }

    pub fn send(&self, sent: &Transmit) {
        let to = SocketAddr::new(sent.destination.ip(), 0);
        BATCHES.with_borrow_mut(|(_, batch)| {
            let mut filling = batch.fill();
            assert!(filling.push(&to, None, 0, [&sent.bytes[..]].into_iter()));
            // What the kernel does not take is lost, as on any network.
            drop(filling.send(&self.socket, 0));
        });
    }

    pub fn receive(&self) -> Vec<Packet> {
        BATCHES.with_borrow_mut(|(batch, _)| {
            batch.receive(&self.socket).unwrap();
            let packet = |it: driver::Datagram<'_>| Packet {
                source: SocketAddr::new(it.remote.ip(), 0),
                destination: self.address,
                bytes: bytes::Bytes::copy_from_slice(it.bytes),
            };
            batch.datagrams().map(packet).collect()
        })
    }
}
