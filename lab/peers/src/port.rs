//! Ports to listen on, and whether someone answers there.

use anyhow::Context;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{self as unix, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first port that is given, and how many: below those that the kernel gives to whoever asks
/// for any (`ip_local_port_range`, from 32,768), who would else get one before its user binds it.
const FIRST: u16 = 10_000;
const PORTS: u32 = 20_000;
/// Ports between those that two processes begin with.
const APART: u32 = 71;
/// Tries to find a port that is free for both transports.
const TRIES_MAX: usize = 1_000;

/// What this process has claimed, until it ends.
static CLAIMED: Mutex<Vec<UnixDatagram>> = Mutex::new(Vec::new());

/// A port of `address` on which nobody listens, neither UDP nor TCP, and that no process that lives
/// has been given before.
///
/// # Errors
/// When none is found, or the address is not this machine's.
pub fn free_port(address: IpAddr) -> anyhow::Result<SocketAddr> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    TcpListener::bind((address, 0)).with_context(|| format!("{address}"))?;
    let begin = std::process::id().wrapping_mul(APART);
    for _ in 0..TRIES_MAX {
        let number = begin.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let chosen = SocketAddr::new(address, FIRST + number as u16);
        if is_free(chosen) && claim(chosen.port()) && is_free(chosen) {
            return Ok(chosen);
        }
    }
    anyhow::bail!("no free port on {address}")
}

fn is_free(at: SocketAddr) -> bool {
    UdpSocket::bind(at).is_ok() && TcpListener::bind(at).is_ok()
}

/// Tells the other processes that ask here that the port is given: whoever was given it binds it
/// later. The name is one of the network namespace, as the port is, and ends with this process.
fn claim(port: u16) -> bool {
    let name = format!("tandem-lab-port-{port}");
    let claimed =
        unix::SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name));
    let Ok(claimed) = claimed else { return false };
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner).push(claimed);
    true
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
    fn a_free_port_is_none_that_someone_holds_or_the_kernel_may_give_meanwhile() {
        let here = IpAddr::from([127, 0, 0, 1]);
        let first = free_port(here).unwrap();
        let next = SocketAddr::new(here, first.port() + 1);
        let _held = (UdpSocket::bind(next), TcpListener::bind(next));
        let chosen = free_port(here).unwrap();
        assert!(chosen != first && chosen != next, "{first} {chosen}");
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let lowest: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
        // Where somebody has widened the kernel's range downwards there is nothing outside of it.
        assert!(chosen.port() < lowest || lowest <= FIRST, "{chosen} of {range}");
        assert!(free_port([192, 0, 2, 1].into()).is_err());
    }

    #[test]
    fn a_port_that_another_process_was_given_and_has_not_bound_yet_is_not_given() {
        let here = IpAddr::from([127, 0, 0, 1]);
        let next = free_port(here).unwrap().port() + 1;
        // As another process: the kernel tells no difference.
        assert!(claim(next), "nobody has it");
        assert!(!claim(next));
        assert_ne!(free_port(here).unwrap().port(), next);
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
