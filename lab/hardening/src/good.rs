//! Good traffic: so many a second, each answered or not.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Threads that ask at a time.
const THREADS: usize = 12;
/// After the time is over, what is still due waits so long for a thread.
const LATE_MAX: Duration = Duration::from_secs(1);

/// What was asked, and what of it was served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) asked: u64,
    pub(super) served: u64,
}

impl Served {
    pub(super) fn detail(self) -> Value {
        json!({ "asked": self.asked, "served": self.served })
    }
}

/// Asks `rate` times a second for a time, whatever becomes of the earlier ones; `ask` says whether
/// it was served. What no thread is free for is not served.
pub(super) fn paced(rate: f64, length: Duration, ask: impl Fn(u64) -> bool + Sync) -> Served {
    let asked = (rate * length.as_secs_f64()) as u64;
    let (next, served) = (AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    if number >= asked || begun.elapsed() > length + LATE_MAX {
                        return;
                    }
                    let due = Duration::from_secs_f64(number as f64 / rate);
                    std::thread::sleep(due.saturating_sub(begun.elapsed()));
                    served.fetch_add(u64::from(ask(number)), Relaxed);
                }
            });
        }
    });
    Served { asked, served: served.load(Relaxed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_asked_and_counted_whatever_becomes_of_them() {
        let third = |number: u64| number.is_multiple_of(3);
        let found = paced(1_000.0, Duration::from_millis(90), third);
        assert_eq!(found, Served { asked: 90, served: 30 });
    }
}
