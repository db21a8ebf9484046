//! Micro-loop prevention by a local delay (RFC 8333): after a link of its own went down, and
//! nothing else happened, a router tells others at once and changes its own forwarding late. Until
//! then the repair carries the packets, and nobody loops who converges earlier.

use machine::{Duration, Time};

/// What shall be done with the routes that a run of SPF gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They go to the forwarding table now.
    Install,
    /// They wait; [`MicroloopDelay::deadline`] says until when.
    Hold,
}

/// The timer ULOOP_DELAY_DOWN_TIMER and the conditions under which it runs (§3).
#[derive(Debug, Clone)]
pub struct MicroloopDelay {
    delay: Duration,
    /// The neighbour that was lost, and when the delay ends.
    running: Option<(u32, Time)>,
    /// An event other than a local link's end came since the last run.
    is_disturbed: bool,
    aborted: u64,
}

impl MicroloopDelay {
    /// With a delay, which should be longer than the slowest router of the network takes to
    /// converge; zero switches it off.
    #[must_use]
    pub const fn new(delay: Duration) -> Self {
        Self { delay, running: None, is_disturbed: false, aborted: 0 }
    }

    /// A local link to `neighbour` went down. A second one makes it a failure that is not simple:
    /// the delay ends.
    pub fn link_down(&mut self, now: Time, neighbour: u32) {
        if self.delay.is_zero() {
            return;
        }
        match self.running {
            None if !self.is_disturbed => self.running = Some((neighbour, now + self.delay)),
            None => {}
            Some((known, _)) if known == neighbour => {}
            Some(_) => self.disturb(),
        }
    }

    /// Something else changed in the network. The same failure, as its far end tells it, is not
    /// something else: the caller leaves it out.
    pub fn disturb(&mut self) {
        self.is_disturbed = true;
        self.aborted += u64::from(self.running.take().is_some());
    }

    /// A run of SPF has given routes: may they be installed?
    pub fn computed(&mut self, now: Time) -> Verdict {
        self.is_disturbed = false;
        match self.running {
            Some((_, until)) if now < until => Verdict::Hold,
            _ => {
                self.running = None;
                Verdict::Install
            }
        }
    }

    /// Whether the delay is over now: what was held is installed.
    pub fn expire(&mut self, now: Time) -> bool {
        let is_over = self.running.is_some_and(|(_, until)| now >= until);
        if is_over {
            self.running = None;
        }
        is_over
    }

    /// When the delay is over.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.running.map(|(_, until)| until)
    }

    /// Delays that other events ended.
    #[must_use]
    pub const fn aborted(&self) -> u64 {
        self.aborted
    }
}
