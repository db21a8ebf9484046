//! The edge of an arbiter: a socket, a thread, and what it says of itself.

use crate::arbiter::{Arbiter, Declined, Served, Terms};
use crate::guard::Refusals;
use crate::metrics::ArbiterMetric;
use crate::node::lives;
use authentication::Refused;
use driver::Clock;
use event::{MetricCells, Metrics};
use machine::{Duration, Time};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Octets of the longest request, with its seal.
const REQUEST_MAX: usize = 512;
/// Longest wait of the thread.
const WAIT_MAX: Duration = Duration::from_millis(100);

struct Shared {
    clock: Clock,
    inner: Mutex<Inner>,
    is_ending: AtomicBool,
}

struct Inner {
    arbiter: Arbiter,
    metrics: Metrics<ArbiterMetric>,
    refusals: Refusals,
}

/// An arbiter that runs. Dropping it ends it.
pub struct ArbiterServer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Shared {
    fn now(&self) -> Time {
        Time::from_nanos(self.clock.now_ns())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, socket: &UdpSocket) {
        let mut buffer = [0; REQUEST_MAX];
        let mut answer = Vec::new();
        while !self.is_ending.load(Relaxed) {
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
            self.lock().take(self.now(), &buffer[..length], &mut answer);
            if !answer.is_empty() {
                // Who does not get it asks again.
                let _ = socket.send_to(&answer, from);
            }
        }
    }
}

impl Inner {
    fn take(&mut self, now: Time, bytes: &[u8], answer: &mut Vec<u8>) {
        let metric = match self.arbiter.step(now, bytes, answer) {
            Ok(Served::Known) => return,
            Ok(Served::Vote) => ArbiterMetric::Votes,
            Err(Declined::Given) => ArbiterMetric::Given,
            Err(Declined::Unreadable) => ArbiterMetric::Unreadable,
            Err(Declined::UnknownPair) => ArbiterMetric::UnknownPair,
            Err(Declined::LongPromise) => ArbiterMetric::LongPromise,
            Err(Declined::Full) => ArbiterMetric::Full,
            Err(Declined::Refused(Refused::Unproved)) => ArbiterMetric::Unproved,
            Err(Declined::Refused(Refused::Replayed)) => ArbiterMetric::Replayed,
            Err(Declined::Refused(Refused::Forged | Refused::Unsealed)) => ArbiterMetric::Forged,
        };
        self.metrics.add(metric, 1);
        let is_order =
            matches!(metric, ArbiterMetric::Votes | ArbiterMetric::Given | ArbiterMetric::Unproved);
        if !is_order {
            self.refusals.add(now, Refused::Forged);
        }
    }
}

impl ArbiterServer {
    /// Serves at a UDP address.
    ///
    /// # Errors
    /// The socket cannot be bound; no randomness; no thread.
    pub fn start(listen: SocketAddr, terms: &Terms) -> io::Result<Self> {
        let socket = UdpSocket::bind(listen)?;
        socket.set_read_timeout(Some(WAIT_MAX))?;
        let clock = Clock::start();
        let now = Time::from_nanos(clock.now_ns());
        // One random number for each link; the count keeps them apart.
        let ([first, ..], mut count) = (lives(&driver::random()?), 0u64);
        let arbiter = Arbiter::new(now, terms, || {
            count += 1;
            first ^ count << 40
        });
        let inner = Inner { arbiter, metrics: Metrics::new(), refusals: Refusals::default() };
        let is_ending = AtomicBool::new(false);
        let shared = Arc::new(Shared { clock, inner: Mutex::new(inner), is_ending });
        let own = Arc::clone(&shared);
        // At common priority: strangers write to it as fast as the network carries.
        let thread = std::thread::Builder::new().name("arbiter".into());
        let thread = thread.spawn(move || own.serve(&socket))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What it counts.
    #[must_use]
    pub fn cells(&self) -> MetricCells {
        let inner = self.shared.lock();
        inner.metrics.set(ArbiterMetric::Pairs, inner.arbiter.pairs() as u64);
        inner.metrics.cells()
    }

    /// Datagrams refused of late, if those are many.
    #[must_use]
    pub fn refuses(&self) -> Option<u64> {
        self.shared.lock().refusals.last(self.shared.now())
    }
}

impl Drop for ArbiterServer {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}
