//! The thread that looks at what a node tracks.

use crate::locking::lock;
use crate::track::{ASK_EVERY, Track};
use driver::reach::Prober;
use machine::{Duration, Time};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Between two looks.
const LOOK: std::time::Duration = std::time::Duration::from_millis(10);
/// An answer to a request that lies further back says nothing of now.
const LATE_MAX: u16 = 3;

/// Looks at interfaces and asks gateways until the node ends; `mark` is random. `fit` hears when
/// the node is fit no more, or again.
pub(crate) fn run(
    track: &Mutex<Track>,
    is_ending: &AtomicBool,
    mark: u64,
    clock: impl Fn() -> Time,
    mut fit: impl FnMut(bool),
) {
    let mut prober = Prober::new(mark.to_be_bytes());
    let (mut sequence, mut ask_at) = (0u16, Time::ZERO);
    while !is_ending.load(Relaxed) {
        let now = clock();
        let interfaces: Vec<String> = lock(track).interfaces().map(str::to_owned).collect();
        if now >= ask_at {
            ask_at = now + ASK_EVERY;
            sequence = sequence.wrapping_add(1);
            for gateway in lock(track).ask(now) {
                // Who cannot be asked does not answer, and an alarm says so.
                let _ = prober.ask(gateway, sequence);
            }
        }
        // What the kernel does not say is not held against an interface.
        let looked = interfaces.iter().map(|name| driver::link::is_up(name).unwrap_or(true));
        let looked: Vec<bool> = looked.collect();
        let mut known = lock(track);
        for (name, is_up) in interfaces.iter().zip(looked) {
            known.looked(now, name, is_up);
        }
        let answers = prober.answers().into_iter();
        for (gateway, _) in answers.filter(|(_, it)| sequence.wrapping_sub(*it) <= LATE_MAX) {
            known.answered(now, gateway);
        }
        let (changed, failed) = (known.changed(now), known.failed());
        drop(known);
        if let Some(is_fit) = changed {
            fit(is_fit);
            match is_fit {
                true => tracing::info!(target: "replica", "all that is tracked is good again"),
                false => tracing::warn!(target: "replica", failed, "what is tracked has failed"),
            }
        }
        std::thread::sleep(LOOK);
    }
}

impl Track {
    /// What has failed, in words.
    pub(crate) fn failed(&self) -> String {
        let failed = self.rows().filter(|row| !row.is_good).map(|row| row.name);
        failed.collect::<Vec<_>>().join(", ")
    }
}

/// How long what failed must be good before it counts as that.
pub(crate) fn recover(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}
