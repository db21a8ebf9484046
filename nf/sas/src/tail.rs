//! The live tail: trails as they begin, change and end, at most so many a second.

use crate::trail::{Trail, TrailView};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Changes shown a second.
pub const CHANGES_PER_S: u32 = 20;
/// Changes that a slow reader may lag behind.
const BACKLOG: usize = 64;

/// A change as readers get it.
#[derive(Debug, Clone)]
pub struct Change {
    /// The trail as it is now.
    pub trail: Arc<TrailView>,
    /// Changes left out since the tail began.
    pub dropped: u64,
}

/// The end that the shard writes to; readers subscribe.
#[derive(Debug)]
pub struct Tail {
    sender: broadcast::Sender<Change>,
    second: u64,
    shown: u32,
    dropped: u64,
}

/// Where readers subscribe.
pub type Subscribe = broadcast::Sender<Change>;

/// A new tail and where readers subscribe to it.
#[must_use]
pub fn channel() -> Subscribe {
    broadcast::channel(BACKLOG).0
}

impl Tail {
    /// Writes to the readers of `sender`.
    #[must_use]
    pub const fn new(sender: Subscribe) -> Self {
        Self { sender, second: 0, shown: 0, dropped: 0 }
    }

    /// Shows a trail if someone looks and there were not too many this second; returns whether
    /// it was left out.
    pub fn show(&mut self, now_us: u64, trail: &Trail) -> bool {
        if self.sender.receiver_count() == 0 {
            return false;
        }
        let second = now_us / 1_000_000;
        if second != self.second {
            (self.second, self.shown) = (second, 0);
        }
        if self.shown >= CHANGES_PER_S {
            self.dropped += 1;
            return true;
        }
        self.shown += 1;
        let change = Change { trail: Arc::new(trail.view()), dropped: self.dropped };
        // The last reader may have left since it was counted.
        let _ = self.sender.send(change);
        false
    }
}
