//! Locks that heartbeats and shards share.

use machine::{Duration, Time};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Between two looks at a lock that a shard holds.
const LOCK_LOOK: std::time::Duration = std::time::Duration::from_micros(100);
/// A shard that holds the lock for longer is stuck: other nodes may take over.
const STUCK_MAX: Duration = Duration::from_millis(500);

/// Locks; a panic of another holder does not spoil plain data.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock, for the heartbeats' thread. A shard that holds it may wait for a core: meanwhile
/// `pulse` sends the last heartbeats again, so that nobody takes that for a death.
pub(crate) fn patient<T>(
    mutex: &Mutex<T>,
    heartbeat: Duration,
    clock: impl Fn() -> Time,
    pulse: impl Fn(),
) -> MutexGuard<'_, T> {
    let began = clock();
    let mut next = began + heartbeat;
    loop {
        match mutex.try_lock() {
            Ok(inner) => return inner,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_LOOK),
        }
        let now = clock();
        if now >= next && now < began + STUCK_MAX {
            next = now + heartbeat;
            pulse();
        }
    }
}
