//! Who looks after the main thread: a thread of its own that ends the process when the main thread
//! makes no round and somebody is there who starts another.

use crate::ipc::WorkerState;
use crate::life::{LOOK, Life, Pulse};
use driver::{Interest, Poll};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What the main thread lets its guard see.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) pulse: Pulse,
    has_control: AtomicBool,
    is_over: AtomicBool,
}

impl Watched {
    /// One more round, with a control or without.
    pub(crate) fn turn(&self, has_control: bool) {
        self.pulse.beat();
        self.has_control.store(has_control, Ordering::Relaxed);
    }

    /// There is nothing to be watched any more.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Watches until the watched thread is over; `end` is what becomes of the process when it hangs.
/// Without a control, and as long as nobody knocks, the workers forward on.
pub(crate) fn watch(
    watched: &Arc<Watched>,
    listener: UnixListener,
    end: impl FnOnce() + Send + 'static,
) {
    let watched = Arc::clone(watched);
    let guard = thread::Builder::new().name("guard".to_owned());
    let started = guard.spawn(move || {
        let mut life = Life::default();
        while !watched.is_over.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
            let has_changed = life.look(&watched.pulse);
            let hangs = life.state == WorkerState::Hung;
            if has_changed {
                let state = life.state.name();
                tracing::error!(target: "forwarder", state, "the main thread");
            }
            if hangs && (watched.has_control.load(Ordering::Relaxed) || knocks(&listener)) {
                tracing::error!(target: "forwarder", "it ends, so that another is started");
                return end();
            }
        }
    });
    if let Err(error) = started {
        tracing::error!(target: "forwarder", %error, "the main thread has no guard");
    }
}

/// Whether somebody waits to be let in.
fn knocks(listener: &UnixListener) -> bool {
    let ready = Poll::new().and_then(|mut poll| {
        poll.add(listener, 0, Interest::Read)?;
        Ok(!poll.wait(Some(std::time::Duration::ZERO))?.is_empty())
    });
    ready.unwrap_or(false)
}
