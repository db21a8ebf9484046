//! What a worker shows of a session, in plain cells that the writer reads.

use crate::program::Notice;
use bfd::{Diagnostic, State, Summary};
use machine::Time;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The cells of one session. Each is written by its worker alone.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    /// State, diagnostic, the neighbour's state and whether it is lost, an octet each; they belong
    /// together.
    standing: AtomicU32,
    discriminators: [AtomicU32; 2],
    interval_us: AtomicU32,
    detection_us: AtomicU32,
    downs: AtomicU32,
    misnamed: AtomicU32,
    down_at_ms: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

fn us(time: machine::Duration) -> u32 {
    machine::narrow::at_most(machine::narrow::micros(time), u32::MAX)
}

impl Figures {
    /// Shows what a session is; whether its state is another one.
    pub fn show(&self, it: &Summary, is_lost: bool) -> bool {
        let octets =
            [it.state.number(), it.diagnostic.number(), it.remote_state.number(), is_lost.into()];
        let standing = u32::from_be_bytes(octets);
        let before = self.standing.load(Relaxed);
        self.discriminators[0].store(it.discriminator, Relaxed);
        self.discriminators[1].store(it.remote_discriminator, Relaxed);
        self.interval_us.store(us(it.interval), Relaxed);
        self.detection_us.store(us(it.detection_time), Relaxed);
        self.downs.store(it.downs, Relaxed);
        self.misnamed.store(it.misnamed, Relaxed);
        self.standing.store(standing, Relaxed);
        standing != before
    }

    /// Our discriminator of it; 0: its worker has not begun it.
    pub fn discriminator(&self) -> u32 {
        self.discriminators[0].load(Relaxed)
    }

    pub fn received(&self) {
        self.received.store(self.received.load(Relaxed) + 1, Relaxed);
    }

    pub fn sent(&self) {
        self.sent.store(self.sent.load(Relaxed) + 1, Relaxed);
    }

    /// It left the state Up.
    pub fn went_down(&self, now: Time) {
        self.down_at_ms.store(now.as_millis(), Relaxed);
    }

    /// All of it.
    pub fn notice(&self, turn: u32) -> Notice {
        let [state, diagnostic, remote_state, is_lost] = self.standing.load(Relaxed).to_be_bytes();
        Notice {
            turn,
            state: State::of(state),
            diagnostic: Diagnostic::of(diagnostic),
            remote_state: State::of(remote_state),
            is_lost: is_lost != 0,
            discriminators: [0, 1].map(|end| self.discriminators[end].load(Relaxed)),
            interval_us: self.interval_us.load(Relaxed),
            detection_us: self.detection_us.load(Relaxed),
            downs: self.downs.load(Relaxed),
            misnamed: self.misnamed.load(Relaxed),
            down_at_ms: self.down_at_ms.load(Relaxed),
            received: self.received.load(Relaxed),
            sent: self.sent.load(Relaxed),
        }
    }
}
