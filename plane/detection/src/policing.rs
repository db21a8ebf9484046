//! Policing before any queue: what packets in a neighbour's name may take of its worker.
//!
//! ```text
//!   names its session:  the session ──────────────────┐
//!   others:             the session → the interface ──┴→ the interface's part of the worker's ring
//! ```
//! Who sees no packet of a session does not name it: a flood of such takes nothing of what names
//! it. Neither takes a place of what comes by other interfaces.

use crate::figures::Figures;
use machine::Time;
use nodes::bucket::{Rate, SharedBucket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What names a session: some forty times what the shortest interval has.
const NAMED: Rate = Rate { per_second: 10_000, burst: 500 };
/// What does not: first packets, and those of a neighbour that has not heard of this session yet.
const OTHERS: Rate = Rate { per_second: 200, burst: 100 };
/// All of them of an interface.
const OF_INTERFACE: Rate = Rate { per_second: 2_000, burst: 500 };

/// What packets of an interface have taken.
#[derive(Default)]
pub(crate) struct Link {
    others: SharedBucket,
    waiting: AtomicUsize,
}

/// What packets in a neighbour's name have taken.
pub(crate) struct Police {
    link: Arc<Link>,
    named: SharedBucket,
    others: SharedBucket,
}

/// A place in a worker's ring, until the packet is taken.
pub(crate) struct Place(Arc<Link>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

impl Police {
    pub fn new(link: Arc<Link>) -> Self {
        Self { link, named: SharedBucket::default(), others: SharedBucket::default() }
    }

    /// Whether a packet with that Your Discriminator may go on to its session.
    pub fn admits(&self, your_discriminator: u32, session: &Figures, now: Time) -> bool {
        if your_discriminator == session.discriminator() && your_discriminator != 0 {
            return self.named.take(NAMED, now);
        }
        self.others.take(OTHERS, now) && self.link.others.take(OF_INTERFACE, now)
    }

    /// A place among so many that packets of one interface may have in all rings.
    pub fn place(&self, most: usize) -> Option<Place> {
        let place = Place(Arc::clone(&self.link));
        (self.link.waiting.fetch_add(1, Relaxed) < most).then_some(place)
    }
}
