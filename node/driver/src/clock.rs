//! The one clock: UNIX time at the start, monotonic since.

use machine::Patience;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the UNIX epoch that never go back, whatever the operator does to the date.
/// Copies agree with each other, so that all shards of a function share one.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    unix_ns: u64,
}

impl Clock {
    /// Reads the date once.
    #[must_use]
    pub fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            started: Instant::now(),
            unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2),
        }
    }

    /// The system's date, nanoseconds since the UNIX epoch: what the kernel stamps arrivals with.
    /// It jumps when the operator sets it, so that only short differences mean something.
    #[must_use]
    pub fn date_ns() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2)
    }

    /// Nanoseconds since the UNIX epoch.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.unix_ns + u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(0)
    }
}

/// Calls into the kernel that take as long as another process likes, in whatever threads.
#[derive(Debug, Default)]
pub struct Timed(Mutex<Patience>);

impl Timed {
    /// Makes a call, and notes what it took.
    pub fn call<T>(&self, call: impl FnOnce() -> T) -> T {
        let measures = self.patience(|it| it.measures());
        let (since, spent) = (Instant::now(), measures.then(thread_time));
        let done = call();
        let spent = spent.map(|before| thread_time().saturating_sub(before));
        self.patience(|it| it.note(since.elapsed(), spent));
        done
    }

    /// Whether they take too long on the average.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.patience(|it| it.is_over())
    }

    fn patience<T>(&self, with: impl FnOnce(&mut Patience) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The time that this thread has run.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
