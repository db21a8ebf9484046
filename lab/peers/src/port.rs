//! Ports to listen on, and whether someone answers there.

use anyhow::Context;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, Instant};

/// Tries to find a port that is free for both transports.
const TRIES_MAX: usize = 64;

/// A port of `address` on which nobody listens, neither UDP nor TCP.
///
/// # Errors
/// When none is found.
pub fn free_port(address: IpAddr) -> anyhow::Result<SocketAddr> {
    for _ in 0..TRIES_MAX {
        let udp = UdpSocket::bind((address, 0)).with_context(|| format!("{address}"))?;
        let chosen = udp.local_addr()?;
        if TcpListener::bind(chosen).is_ok() {
            return Ok(chosen);
        }
    }
    anyhow::bail!("no free port on {address}")
}

/// Whether an OPTIONS over UDP is answered, in at most `limit`. Sent from a port of its own, to
/// the user `ready`.
#[must_use]
pub fn wait_for_sip(to: SocketAddr, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
    let Ok(socket) = UdpSocket::bind((any, 0)) else { return false };
    // The address of ours that leads there.
    if socket.connect(to).is_err() {
        return false;
    }
    let Ok(from) = socket.local_addr() else { return false };
    let patience = Duration::from_millis(100);
    if socket.set_read_timeout(Some(patience)).is_err() {
        return false;
    }
    let mut answer = [0; 2_048];
    let mut number = 0;
    while Instant::now() < until {
        number += 1;
        let sent = socket.send(options(to, from, number).as_bytes());
        let heard = socket.recv(&mut answer);
        if sent.is_ok() && heard.is_ok_and(|length| answer[..length].starts_with(b"SIP/2.0 ")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn options(to: SocketAddr, from: SocketAddr, number: u32) -> String {
    format!(
        "OPTIONS sip:ready@{to} SIP/2.0\r\nVia: SIP/2.0/UDP {from};branch=z9hG4bKready{number}\r\n\
        Max-Forwards: 70\r\nFrom: <sip:lab@{from}>;tag=ready\r\nTo: <sip:ready@{to}>\r\n\
        Call-ID: ready{number}@{from}\r\nCSeq: {number} OPTIONS\r\nContent-Length: 0\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_port_is_none_that_someone_holds() {
        let held = UdpSocket::bind("127.0.0.1:0").unwrap();
        let chosen = free_port([127, 0, 0, 1].into()).unwrap();
        assert_ne!(chosen, held.local_addr().unwrap());
    }

    #[test]
    fn a_silent_port_is_not_ready_although_it_was_asked() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let chosen = silent.local_addr().unwrap();
        assert!(!wait_for_sip(chosen, Duration::from_millis(200)));
        let mut bytes = [0; 2_048];
        let (length, _) = silent.recv_from(&mut bytes).unwrap();
        assert!(bytes[..length].starts_with(b"OPTIONS sip:ready@"));
    }
}
