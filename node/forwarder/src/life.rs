//! A worker's life as the main thread watches it: its rounds, its deaths, and what is left of it.
//!
//! ```text
//!   forwards ─panic→ dead ─at once, or after a rest→ forwards
//!   forwards ─no round for 5 s→ hung: a thread cannot be ended, so the process does
//! ```

use crate::ipc::WorkerState;
use crate::worker::Order;
use crossbeam_channel::Receiver;
use machine::{Duration, Time};
use ports::Port;
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Time between two looks at the rounds of all workers.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// Looks in a row without a round in between that make a worker hung: 4.5 to 5 s. Looks are
/// counted, not time: a process that was stopped, or a machine that slept, is not hung.
const SILENT_LOOKS_MAX: u32 = 9;
/// Looks without a round after which a worker is not asked for what it has counted.
const SILENT_LOOKS_ASKED_MAX: u32 = 1;
/// As many while a worker opens or closes a port: a device may take its time to come up.
const SILENT_LOOKS_OPENING_MAX: u32 = 120;
/// A death this long after the last one is the first again.
const FORGIVEN: Duration = Duration::from_secs(60);
/// The rest after a second death within that time, in milliseconds; it doubles with each further
/// one …
const REST_MS: u64 = 500;
/// … up to this.
const REST_MS_MAX: u64 = 60_000;

/// Where a worker says that it turns.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    rounds: AtomicU64,
    is_opening: AtomicBool,
}

impl Pulse {
    /// One more round; of one thread only.
    #[inline]
    pub(crate) fn beat(&self) {
        self.rounds.store(self.rounds.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Whether it is in the middle of that.
    pub(crate) fn is_opening(&self) -> bool {
        self.is_opening.load(Ordering::Relaxed)
    }

    /// Whether it asks the kernel for a port now.
    pub(crate) fn opening(&self, is_opening: bool) {
        self.is_opening.store(is_opening, Ordering::Relaxed);
    }
}

/// What the main thread knows of a worker's life.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// Rounds at the last look, and looks since they changed.
    seen: (u64, u32),
    last_death: Option<Time>,
    in_a_row: u32,
    /// Panics so far.
    pub(crate) deaths: u64,
    /// The last one's words.
    pub(crate) why: Option<String>,
    pub(crate) state: WorkerState,
    /// When a dead one begins anew.
    pub(crate) rests_until: Time,
}

impl Life {
    /// Looks at the rounds of a living worker; whether it just turned out to be hung, or not to
    /// be any more.
    pub(crate) fn look(&mut self, pulse: &Pulse) -> bool {
        let rounds = pulse.rounds.load(Ordering::Relaxed);
        let silent = if rounds == self.seen.0 { self.seen.1.saturating_add(1) } else { 0 };
        self.seen = (rounds, silent);
        let most = if pulse.is_opening() { SILENT_LOOKS_OPENING_MAX } else { SILENT_LOOKS_MAX };
        let state = if silent >= most { WorkerState::Hung } else { WorkerState::Forwards };
        self.state != WorkerState::Dead && std::mem::replace(&mut self.state, state) != state
    }

    /// Whether it forwards, and made a round lately.
    pub(crate) fn turns(&self) -> bool {
        self.state == WorkerState::Forwards && self.seen.1 <= SILENT_LOOKS_ASKED_MAX
    }

    /// Takes account of a death.
    pub(crate) fn die(&mut self, now: Time, why: String) {
        let is_again = self.last_death.is_some_and(|last| now.since(last) < FORGIVEN);
        self.in_a_row = if is_again { self.in_a_row + 1 } else { 0 };
        self.last_death = Some(now);
        self.deaths += 1;
        self.why = Some(why);
        self.state = WorkerState::Dead;
        self.rests_until = now
            + Duration::from_millis(match self.in_a_row {
                0 => 0,
                again => (REST_MS << (again - 1).min(16)).min(REST_MS_MAX),
            });
    }

    /// Whether the last death was not the first within a minute: its ports are then not trusted.
    pub(crate) fn dies_again(&self) -> bool {
        self.in_a_row > 0
    }

    /// Its thread runs again.
    pub(crate) fn begin_anew(&mut self) {
        self.state = WorkerState::Forwards;
        self.seen.1 = 0;
    }
}

/// What a dead worker leaves to the one in its place.
pub(crate) struct Remains {
    /// Orders that it had not done.
    pub(crate) orders: Receiver<Order>,
    /// Open ports by number, and whether their link was there. Those that share memory with its
    /// packets (AF_XDP) went with it.
    pub(crate) ports: Vec<(u16, Port, bool)>,
    /// The device of the router's own addresses.
    pub(crate) host: Option<Port>,
    /// MetricCells that held packets, or stood with a device: what was in them is lost.
    pub(crate) cells_lost: usize,
}

/// The words of a panic.
pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no words").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_death_costs_no_rest_and_those_within_a_minute_ever_more() {
        let (mut life, mut now) = (Life::default(), Time::from_millis(1));
        let mut rests = Vec::new();
        for _ in 0..10 {
            life.die(now, "so".to_owned());
            rests.push(life.rests_until.since(now).as_millis());
            life.begin_anew();
            now += Duration::from_secs(1);
        }
        assert_eq!(rests, [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert!(life.dies_again());
        life.die(now + FORGIVEN, "so".to_owned());
        assert!(!life.dies_again() && life.rests_until == now + FORGIVEN);
    }

    #[test]
    fn who_makes_no_round_for_five_seconds_is_hung_and_who_opens_a_port_has_a_minute() {
        let (mut life, pulse) = (Life::default(), Pulse::default());
        pulse.beat();
        assert!(!life.look(&pulse));
        let looks = (1_u32..).find(|_| life.look(&pulse)).unwrap();
        assert!(
            u64::from(looks + 1) * u64::try_from(LOOK.as_millis()).unwrap() <= 5_000,
            "seen within 5 s"
        );
        assert_eq!(life.state, WorkerState::Hung);
        pulse.beat();
        assert!(life.look(&pulse) && life.state == WorkerState::Forwards);
        pulse.opening(true);
        assert_eq!((1..).find(|_| life.look(&pulse)), Some(SILENT_LOOKS_OPENING_MAX));
    }
}
