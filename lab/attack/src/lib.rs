//! What an attacker sends, at a set rate, for a set time, and only inside a network namespace that
//! the lab made, or on loopback.
//!
//! ```text
//!   Place (refuses anything but a veth in a `tq-` namespace, or lo)
//!     └→ Frame (Ethernet · IPv4 · UDP/TCP/ICMP, a new source each) ×64 ─→ FrameSocket
//!   SocketAttack (refuses all but loopback outside of such a namespace)
//!     ├→ connections: idle, half TLS greetings, answers that nobody reads
//!     ├→ datagrams from many addresses: replica, arbiter, hep, strangers, aka
//!     ├→ raw sockets: esp
//!     └→ a talk: init (SCTP), msu (M3UA), oversized (SIP), widening (BGP)
//! ```
//! What is sent is written here octet by octet, without the codecs of what is attacked: those would
//! refuse to write some of it. Tests read it with them.
#![forbid(unsafe_code)]

mod aka;
mod arbiter;
mod by_sockets;
mod connections;
mod datagrams;
mod esp;
mod frame;
mod hep;
mod init;
mod media;
mod msu;
mod namespace;
mod oversized;
mod place;
mod replica;
mod sockets;
mod strangers;
mod widening;

pub use aka::SUBSCRIPTIONS;
pub use by_sockets::run_by_sockets;
pub use frame::{Kind, Sources};
pub use namespace::{NAMESPACE_PREFIX, Namespace, Veth, enter, remove, run_ip};
pub use place::Place;
pub use sockets::{SocketAttack, SocketKind};

use driver::{FRAMES_MAX, FrameSocket};
use frame::Frame;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest flood.
pub const TIME_MAX: Duration = Duration::from_secs(600);
/// The highest rate, frames a second.
pub const RATE_MAX: u32 = 5_000_000;
/// A pause while the next frames are not yet due.
const PAUSE: Duration = Duration::from_micros(100);

/// A flood.
#[derive(Debug, Clone)]
pub struct Attack {
    /// What it consists of.
    pub kind: Kind,
    /// Where it goes.
    pub target: SocketAddrV4,
    /// How many ports of media from the target's on are meant, each even one; else one.
    pub ports: u16,
    /// Where it claims to come from.
    pub sources: Sources,
    /// Frames a second; at most [`RATE_MAX`].
    pub rate: u32,
    /// How long; at most [`TIME_MAX`].
    pub time: Duration,
}

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// When the first frame left, microseconds since 1970.
    pub began_at_us: u64,
    /// Frames, datagrams, requests, connections, dialogs or sessions that left, whatever the attack
    /// counts.
    pub frames: u64,
    /// Their octets; of frames with link-layer headers.
    pub octets: u64,
    /// Time it took.
    pub seconds: f64,
    /// The same a second.
    pub frames_per_s: f64,
    /// Megabits a second.
    pub mbit_s: f64,
}

/// Set once a signal has asked for the end.
static ENDED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on SIGINT and SIGTERM end an attack before its time, and it reports.
///
/// # Errors
/// When the kernel does not let signals be handled.
pub fn end_at_signals() -> io::Result<()> {
    let flag = ENDED.get_or_init(Arc::default);
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

pub(crate) fn is_ended() -> bool {
    ENDED.get().is_some_and(|flag| flag.load(Relaxed))
}

/// Carries a flood out.
///
/// # Errors
/// When the limits are passed or the kernel refuses.
pub fn run(attack: &Attack, place: &Place) -> anyhow::Result<Report> {
    anyhow::ensure!(attack.rate > 0 && attack.rate <= RATE_MAX, "1 to {RATE_MAX} frames a second");
    anyhow::ensure!(attack.time <= TIME_MAX, "at most {} s", TIME_MAX.as_secs());
    place.allows(attack)?;
    let socket = FrameSocket::open(place.interface())?;
    let mut frame = Frame::new(attack, place);
    let length = frame.length();
    let mut batch = vec![0; FRAMES_MAX * length];
    let wall = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros() as u64;
    let begun = Instant::now();
    let mut frames = 0u64;
    while begun.elapsed() < attack.time && !is_ended() {
        let due = (begun.elapsed().as_secs_f64() * f64::from(attack.rate)) as u64;
        let count = due.saturating_sub(frames).min(FRAMES_MAX as u64) as usize;
        if count == 0 {
            std::thread::sleep(PAUSE);
            continue;
        }
        for slot in batch.chunks_exact_mut(length).take(count) {
            frame.write(slot);
        }
        let mut sent = 0;
        while sent < count && begun.elapsed() < attack.time {
            sent += socket.send(&batch[sent * length..count * length], length)?;
        }
        frames += sent as u64;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let octets = frames * length as u64;
    Ok(Report {
        began_at_us: wall,
        frames,
        octets,
        seconds,
        frames_per_s: frames as f64 / seconds,
        mbit_s: octets as f64 * 8.0 / seconds / 1e6,
    })
}
