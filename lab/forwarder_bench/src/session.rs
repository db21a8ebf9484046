//! A control session beside other traffic: TCP to the router's own address, at the port of BGP, a
//! KEEPALIVE (RFC 4271 §4.4) there and back every few milliseconds.
//!
//! ```text
//!   client ─ TAP ─→ Tester ─ left ══ in ─→ router ─ its kernel ─→ server, which sends it back
//! ```

use crate::testbed::{IN, IN_MAC_TEXT, LEFT_TEXT, SUT_V4, Testbed, Who};
use anyhow::Context;
use ports::{Device, Port, TapPort, tap};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The port of BGP, by which the router knows the class of its packets.
const PORT: u16 = 179;
/// A KEEPALIVE: sixteen octets of ones, length, type.
const MESSAGE: [u8; 19] = {
    let mut message = [0xff; 19];
    (message[16], message[17], message[18]) = (0, 19, 4);
    message
};
/// A session whose messages stay away so long is down: the shortest hold time (RFC 4271 §4.2).
const HOLD: Duration = Duration::from_secs(3);
/// Between two messages.
const PAUSE: Duration = Duration::from_millis(5);
/// Time to come up.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The client's interface, and its address.
const GUEST: &str = "guest";
const GUEST_V4: &str = "10.199.1.2/24";

/// What became of a session that stayed up.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// Messages that went there and back.
    pub messages: u64,
    /// The longest that one took.
    pub longest: Duration,
}

/// A session under way.
pub struct Session {
    is_over: Arc<AtomicBool>,
    is_up: Arc<AtomicBool>,
    client: JoinHandle<anyhow::Result<Held>>,
    server: JoinHandle<anyhow::Result<()>>,
}

impl Session {
    /// Its client's way to the tester, made in the tester's namespace, where the caller is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn guest(ground: &Testbed) -> anyhow::Result<Port> {
        let interface = GUEST.to_owned();
        let spec = tap::Spec { interface, has_queues: false, mac: [0; 6], is_tun: false };
        let port = TapPort::open(&spec).context(GUEST)?;
        let (router, side) = (SUT_V4.to_string(), &ground.side);
        side.ip(&["link", "set", GUEST, "address", LEFT_TEXT, "up"])?;
        side.ip(&["address", "add", GUEST_V4, "dev", GUEST])?;
        side.ip(&["neigh", "replace", &router, "lladdr", IN_MAC_TEXT, "dev", GUEST])?;
        Ok(Port::Tap(port))
    }

    /// Starts both ends. It comes up while the tester works.
    #[must_use]
    pub fn start(ground: &Testbed, who: Who) -> Self {
        let (is_over, is_up) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (over, place) = (Arc::clone(&is_over), ground.sut.name().to_owned());
        let server = std::thread::spawn(move || serve(&place, who, &over));
        let (over, up) = (Arc::clone(&is_over), Arc::clone(&is_up));
        let place = ground.side.name().to_owned();
        let client = std::thread::spawn(move || talk(&place, &over, &up));
        Self { is_over, is_up, client, server }
    }

    /// Whether messages come back.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.is_up.load(Relaxed)
    }

    /// Whether it has ended by itself.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.client.is_finished() || self.server.is_finished()
    }

    /// The message on its way is the last one.
    pub fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// What became of it.
    ///
    /// # Errors
    /// When it did not come up, was broken, or a message stayed away longer than the hold time.
    pub fn held(self) -> anyhow::Result<Held> {
        self.end();
        let failed = |_| anyhow::anyhow!("an end of the session failed");
        let held = self.client.join().map_err(failed)?;
        self.server.join().map_err(failed)?.context("the router's end")?;
        held
    }
}

fn talk(place: &str, is_over: &AtomicBool, is_up: &AtomicBool) -> anyhow::Result<Held> {
    attack::enter(place)?;
    let to = SocketAddr::from((SUT_V4, PORT));
    let mut stream = TcpStream::connect_timeout(&to, CONNECT_MAX).context("no session")?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(HOLD))?;
    let (mut held, mut answer) = (Held::default(), [0; MESSAGE.len()]);
    while !is_over.load(Relaxed) {
        let begun = Instant::now();
        stream.write_all(&MESSAGE).context("the session is broken")?;
        stream.read_exact(&mut answer).context("the session is down")?;
        anyhow::ensure!(answer == MESSAGE, "another message came back");
        held.messages += 1;
        held.longest = held.longest.max(begun.elapsed());
        is_up.store(true, Relaxed);
        std::thread::sleep(PAUSE);
    }
    Ok(held)
}

fn serve(place: &str, who: Who, is_over: &AtomicBool) -> anyhow::Result<()> {
    attack::enter(place)?;
    if who == Who::Linux {
        // No hardware behind its end finishes checksums.
        Device::open(IN)?.set_offloads_off()?;
    }
    let listener = TcpListener::bind((SUT_V4, PORT)).context("its address")?;
    listener.set_nonblocking(true)?;
    let mut stream = loop {
        match listener.accept() {
            Ok((stream, _)) => break stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if is_over.load(Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    };
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(HOLD))?;
    let mut message = [0; MESSAGE.len()];
    loop {
        match stream.read_exact(&mut message) {
            Ok(()) => stream.write_all(&message)?,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error).context("nothing more came"),
        }
    }
}
