//! The sockets of a phone: its port in the clear, raw ones for ESP, the port of ESP in UDP.

use crate::{Carrier, Config, Packet};
use driver::{DatagramSocket, ReceiveBatch, SendBatch, SocketOptions};
use esp::Udp;
use std::io;
use std::net::SocketAddr;

/// The sockets of one phone on an address of this machine.
pub struct Sockets {
    sockets: Vec<(Carrier, DatagramSocket)>,
    receive: ReceiveBatch,
    send: SendBatch,
}

impl core::fmt::Debug for Sockets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} sockets of a phone", self.sockets.len())
    }
}

impl Sockets {
    /// Opens those that a phone needs; raw ones need `CAP_NET_RAW`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(config: &Config) -> io::Result<Self> {
        let options = SocketOptions::default();
        let at = |port| SocketAddr::new(config.address, port);
        let clear = DatagramSocket::bind(at(config.clear_port), &options)?;
        let esp = match config.preference.modes[0] {
            secagree::Mode::UdpTunnel => {
                (Carrier::InUdp, DatagramSocket::bind(at(Udp::PORT), &options)?)
            }
            _ => {
                let raw = DatagramSocket::raw(config.address, ipsec::PROTOCOL, &options)?;
                (Carrier::Esp, raw)
            }
        };
        Ok(Self {
            sockets: vec![(Carrier::Clear, clear), esp],
            receive: ReceiveBatch::new(),
            send: SendBatch::new(),
        })
    }

    /// Sends packets; one that the kernel does not take is lost, as on any wire.
    pub fn send(&mut self, packets: &[Packet]) {
        for packet in packets {
            let of = self.sockets.iter().find(|(carrier, _)| *carrier == packet.carrier);
            let Some((_, socket)) = of else { continue };
            let mut batch = self.send.fill();
            batch.push(&packet.to, None, 0, std::iter::once(packet.bytes.as_slice()));
            let _ = batch.send(socket, 0);
        }
    }

    /// Takes what has come, without waiting.
    ///
    /// # Errors
    /// The kernel's.
    pub fn receive(&mut self, packets: &mut Vec<Packet>) -> io::Result<()> {
        for (carrier, socket) in &self.sockets {
            match self.receive.receive(socket) {
                Ok(_) => {}
                // What the network says of packets that were sent: they are lost.
                Err(error) if is_of_network(&error) => {
                    socket.errors(64, &mut Vec::new());
                    continue;
                }
                Err(error) => return Err(error),
            }
            for datagram in self.receive.datagrams() {
                packets.push(Packet {
                    carrier: *carrier,
                    from: datagram.remote,
                    to: socket.local(),
                    bytes: datagram.bytes.to_vec(),
                });
            }
        }
        Ok(())
    }
}

/// Whether an error is what a host or a router has answered to something that was sent (ICMP):
/// port, protocol, host or network are not reached.
fn is_of_network(error: &io::Error) -> bool {
    /// ENOPROTOOPT: nobody there takes the protocol.
    const PROTOCOL_UNREACHABLE: i32 = 92;
    let kinds = [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::HostUnreachable,
        io::ErrorKind::NetworkUnreachable,
    ];
    kinds.contains(&error.kind()) || error.raw_os_error() == Some(PROTOCOL_UNREACHABLE)
}
