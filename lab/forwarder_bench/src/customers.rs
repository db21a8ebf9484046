//! Customers of a provider edge in namespaces of their own, one of them hostile, and echoes that
//! answer from thousands of addresses.
//!
//! ```text
//!   good 10.1.0.2 ──near──┐     ┌──far── 10.2.0.2, and all of 10.2.16.0/20: echoes
//!                         ├─ pe ┤
//!   evil 10.3.0.2 hostile─┘     └─empty─ 10.4.0.0/16, where nobody is
//! ```

use anyhow::Context;
use attack::{Namespace, Veth};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// The router's link-layer address at the hostile customer.
pub const ROUTER_MAC: &str = "02:00:00:00:03:01";
/// The router's devices, and its addresses there.
pub const PORTS: [(&str, &str); 4] = [
    ("near", "10.1.0.1/24"),
    ("far", "10.2.0.1/16"),
    ("hostile", "10.3.0.1/16"),
    ("empty", "10.4.0.1/16"),
];
/// Where the router's namespace is reached from the good customer's, for its API.
pub const MANAGEMENT: Ipv4Addr = Ipv4Addr::new(10, 250, 0, 1);
const ECHO_PORT: u16 = 7;
/// The echoes' addresses.
const ECHOES: [u8; 2] = [10, 2];
const ECHOES_FIRST: u8 = 16;
const ECHOES_COUNT: u64 = 4_000;
const ECHOES_TEXT: &str = "10.2.16.0/20";
/// Between two looks at whether it is over.
const LOOK: Duration = Duration::from_millis(200);

/// Answers what comes, until it is dropped.
#[derive(Debug)]
struct Echo {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    fn start(place: &Namespace) -> Self {
        let (is_over, place) = (Arc::<AtomicBool>::default(), place.name().to_owned());
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let opened = attack::enter(&place)
                .and_then(|()| Ok(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, ECHO_PORT))?))
                .and_then(|it| Ok(it.set_read_timeout(Some(LOOK)).map(|()| it)?));
            // Without it no good packet is answered, which is seen.
            let Ok(socket) = opened else { return };
            let mut bytes = [0; 2_048];
            while !over.load(Relaxed) {
                if let Ok((length, from)) = socket.recv_from(&mut bytes) {
                    let _ = socket.send_to(&bytes[..length], from);
                }
            }
        });
        Self { is_over, thread: Some(thread) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The namespaces, and what stands in them.
#[derive(Debug)]
pub struct Customers {
    /// The provider edge's.
    pub router: Namespace,
    /// Where good packets come from.
    pub good: Namespace,
    _echoes: Namespace,
    /// Where the hostile customer is.
    pub evil: Namespace,
    _nobody: Namespace,
    _echo: Echo,
}

impl Customers {
    /// Makes them.
    ///
    /// # Errors
    /// Without root, network namespaces, ip(8) or ethtool(8).
    pub fn new() -> anyhow::Result<Self> {
        let place = |name| Namespace::new(name).context("needs root, network namespaces and ip(8)");
        let (router, good, evil) = (place("edge")?, place("near")?, place("evil")?);
        let (echoes, nobody) = (place("far")?, place("nobody")?);
        // What the kernel hears on the router's devices is none of its business.
        router.set("net.ipv6.conf.default.disable_ipv6", "1")?;
        let wires: [(&str, &str, &Namespace, &[&str], u8); 4] = [
            ("near", "02:00:00:00:01:01", &good, &["10.1.0.2/24"], 1),
            ("far", "02:00:00:00:02:01", &echoes, &["10.2.0.2/16"], 2),
            ("hostile", ROUTER_MAC, &evil, &["10.3.0.2/16"], 3),
            ("empty", "02:00:00:00:04:01", &nobody, &[], 4),
        ];
        for (device, mac, host, addresses, number) in wires {
            let own = format!("02:00:00:00:0{number}:02");
            Veth::pair(
                Veth { namespace: &router, interface: device, addresses: &[], mac },
                Veth { namespace: host, interface: "eth0", addresses, mac: &own },
            )?;
            // Checksums are finished before packets leave, as on a wire.
            let offloads = ["tx", "off", "tso", "off", "gso", "off"];
            let tool = ["netns", "exec", host.name(), "ethtool", "-K", "eth0"];
            attack::run_ip(&[&tool[..], &offloads].concat())?;
        }
        for (host, gateway) in [(&good, "10.1.0.1"), (&echoes, "10.2.0.1"), (&evil, "10.3.0.1")] {
            host.ip(&["route", "add", "default", "via", gateway])?;
        }
        echoes.ip(&["route", "add", "local", ECHOES_TEXT, "dev", "lo"])?;
        Veth::pair(
            Veth {
                namespace: &router,
                interface: "mgmt",
                addresses: &["10.250.0.1/24"],
                mac: "02:00:00:00:05:01",
            },
            Veth {
                namespace: &good,
                interface: "mgmt",
                addresses: &["10.250.0.2/24"],
                mac: "02:00:00:00:05:02",
            },
        )?;
        let _echo = Echo::start(&echoes);
        Ok(Self { router, good, _echoes: echoes, evil, _nobody: nobody, _echo })
    }
}

/// Whether a packet to an echo comes back, asked once for each wait; from where the calling thread
/// stands.
///
/// # Errors
/// When no socket can be opened.
pub fn echoed(to: Ipv4Addr, number: u64, waits: &[Duration]) -> std::io::Result<bool> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let mut bytes = [0; 64];
    for wait in waits {
        socket.set_read_timeout(Some(*wait))?;
        socket.send_to(&number.to_be_bytes(), (to, ECHO_PORT))?;
        // An error is an ICMP message: it may be reached the next time.
        if let Ok((length, _)) = socket.recv_from(&mut bytes) {
            return Ok(bytes[..length] == number.to_be_bytes());
        }
    }
    Ok(false)
}

/// One of 4,000 echoes; the same number gives the same one.
#[must_use]
pub fn echo(number: u64) -> Ipv4Addr {
    let [low, high, ..] = (1 + number % ECHOES_COUNT).to_le_bytes();
    Ipv4Addr::from([ECHOES[0], ECHOES[1], ECHOES_FIRST + high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_are_many_and_within_their_network() {
        let all: std::collections::BTreeSet<Ipv4Addr> = (0..ECHOES_COUNT).map(echo).collect();
        assert_eq!(all.len() as u64, ECHOES_COUNT);
        assert!(all.iter().all(|it| it.octets()[2] & 0xf0 == ECHOES_FIRST));
    }
}
