//! Admission: who is let in when messages wait too long.
//!
//! ```text
//!            delay of new requests of a source, the least of a window
//!  Calm ──(above the target: three windows that do not fall, two that grow)──→ Overloaded
//!    ↑                                                                             │
//!    └──(no window above half of it for CALM)──────────────────────────────────────┘
//!
//!  captured whole: all ──(two windows in a row above half of it, not falling)──→ a quarter
//!                      ←──(a step at a time)── no window above half of it for CALM
//!                  none while Overloaded
//!
//!  admitted
//!   100 % ──────╲        ╲        ╲                 a class without a line: always
//!                ╲ queued ╲        ╲
//!     0 % ────────╲────────╲────────╲────→ delay of this very message
//!              ½ ··· 2   2 ··· 3   3 ··· 4  targets
//! ```
//! What is measured is what hurts: the time that a message waited before anybody looked at it, or
//! that the oldest request waits that was put off if that is longer (CoDel,
//! RFC 8289 §4: sojourn time, not queue length or processor load), and of a window the least: a
//! pause of the machine makes many wait long, but a queue that drains is no overload, unless it is
//! long and falls slowly ([`DRAINS`]).
//! What can be saved without refusing anybody is saved first: the copies that service assurance
//! gets of every message. Less and less is captured whole ([`Admission::whole`]).
//! The share that is admitted falls along a line with the delay of the message itself, so that
//! the queue stays short and never runs empty: no rate is guessed, capacity may change at any
//! time. Priority is the order of the lines, which the function's table gives ([`Class`]).
//!
//! What does not wait stands before what does, yet a storm of it must not stop all new work: of
//! every [`QUEUED_SHARE`] admitted under overload one queued request may come in, however late.

use machine::narrow::{at_most, micros};
use machine::{Duration, Time};

/// Sources, that is networks, whose delays are told apart; those beyond share.
const SOURCES_MAX: usize = 256;
/// Length of a window.
const WINDOW: Duration = Duration::from_millis(20);
/// Windows in a row above half of the target after which less is captured whole.
const WINDOWS_LONG: u8 = 2;
/// Windows in a row above the target after which requests are refused although the queue does not
/// grow: one more than [`WINDOWS_LONG`], as less capture may be enough.
const WINDOWS_HIGH: u8 = 3;
/// Targets that the least delay of a window may be while it falls, and by which part of the time
/// since it was longest it must have fallen.
const DRAINS: [(u32, u32); 2] = [(5, 100), (10, 10)];
/// Without a window above half a target for so long, the overload is over.
const CALM: Duration = Duration::from_millis(200);
/// Requests that do not wait, admitted under overload, for each queued one beyond its line.
const QUEUED_SHARE: u32 = 4;
/// Queued requests that may be saved up that way.
const CREDIT_MAX: u32 = 64;
/// All new work, of which some is captured whole.
pub const ALL: u16 = 256;
/// How many more of them after each [`WHOLE_STEP`] without a long queue.
const WHOLE_MORE: u16 = 8;
const WHOLE_STEP: Duration = Duration::from_millis(100);
/// A whole request in the accounts that share admissions out evenly.
const WHOLE: u32 = 1 << 16;

/// What a request is worth: a row of the table that a function gives, the most valuable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Its line; `None`: it is never refused.
    pub line: Option<Line>,
    /// Whether it is new work that waits in the [`crate::Queue`]: its delay is that of the queue
    /// as well, and what does not wait saves up admissions for it.
    pub is_queued: bool,
}

/// Where admission of a class falls, in halves of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Up to this delay everything is admitted.
    pub all_to: u32,
    /// From this delay on nothing is.
    pub none_from: u32,
}

impl Class {
    /// Part of work in progress, or worth everything.
    pub const HELD: Self = Self { line: None, is_queued: false };

    /// A class that is dealt with at once when it is admitted.
    #[must_use]
    pub const fn direct(all_to: u32, none_from: u32) -> Self {
        Self { line: Some(Line { all_to, none_from }), is_queued: false }
    }

    /// A class of new work that waits in the queue.
    #[must_use]
    pub const fn queued(all_to: u32, none_from: u32) -> Self {
        Self { line: Some(Line { all_to, none_from }), is_queued: true }
    }
}

/// When a request that is admitted is dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// After those that came before it.
    Next,
    /// At once: a queued one among those that do not wait.
    Now,
}

/// The delays of new requests of one source.
#[derive(Debug, Clone, Copy)]
struct Window {
    end: Time,
    least: Duration,
    /// The least of the window before.
    before: Duration,
    /// The longest least since the queue became long, and when that window ended.
    peak: Duration,
    peak_at: Time,
    /// How many in a row were above half the target and did not fall, and above the target.
    long: u8,
    high: u8,
}

impl Window {
    const EMPTY: Self = Self {
        end: Time::ZERO,
        least: Duration::MAX,
        before: Duration::ZERO,
        peak: Duration::ZERO,
        peak_at: Time::ZERO,
        long: 0,
        high: 0,
    };

    /// It ends, one of a row: counts what was too long.
    fn close(&mut self, now: Time, target: Duration) {
        let (least, since) = (self.least, now.since(self.peak_at));
        let is_long = least > target / 2;
        let drains = DRAINS
            .iter()
            .any(|&(targets, part)| least <= target * targets && least + since / part < self.peak);
        let more = |count: u8, is: bool| if is { count.saturating_add(1) } else { 0 };
        self.long = more(self.long, is_long && !drains);
        self.high = more(self.high, least > target && !drains);
        if self.high == WINDOWS_LONG && least > self.before + target / 2 {
            self.high = WINDOWS_HIGH;
        }
        if !is_long {
            self.peak = Duration::ZERO;
        } else if least >= self.peak {
            (self.peak, self.peak_at) = (least, now);
        }
        self.before = least;
    }
}

/// The controller of one shard.
#[derive(Debug)]
pub struct Admission {
    /// The function's table.
    classes: &'static [Class],
    /// Zero: off.
    target: Duration,
    /// How long the message that is looked at waited.
    delay: Duration,
    /// How long the oldest request waits that was put off.
    queue_delay: Duration,
    /// By source.
    windows: Box<[Window]>,
    overloaded_since: Option<Time>,
    /// When a window above half a target last ended.
    high_at: Time,
    /// How much of [`ALL`] is captured whole, and when there may be more of it.
    whole: u16,
    whole_at: Time,
    /// Shares of an admission saved up by each class.
    accounts: Box<[u32]>,
    credit: u32,
}

impl Admission {
    /// A controller of these classes that aims at `target`; zero admits everything.
    #[must_use]
    pub fn new(classes: &'static [Class], target: Duration) -> Self {
        Self {
            classes,
            target,
            delay: Duration::ZERO,
            queue_delay: Duration::ZERO,
            windows: vec![Window::EMPTY; SOURCES_MAX].into_boxed_slice(),
            overloaded_since: None,
            high_at: Time::ZERO,
            whole: ALL,
            whole_at: Time::ZERO,
            accounts: vec![0; classes.len()].into_boxed_slice(),
            credit: 0,
        }
    }

    /// Takes another target.
    pub const fn set_target(&mut self, target: Duration) {
        self.target = target;
        if target.is_zero() {
            (self.overloaded_since, self.whole) = (None, ALL);
        }
    }

    /// The messages that follow waited so long.
    #[inline]
    pub const fn waited(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// The oldest request that was put off waits so long; zero: none was.
    #[inline]
    pub const fn queue_waits(&mut self, delay: Duration) {
        self.queue_delay = delay;
    }

    /// The delay of the messages that are looked at.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// The delay of a queued request among them, or of one that came before it.
    #[must_use]
    pub fn queued_delay(&self) -> Duration {
        self.delay.max(self.queue_delay)
    }

    /// Since when there is too much to do.
    #[must_use]
    pub const fn overloaded_since(&self) -> Option<Time> {
        self.overloaded_since
    }

    /// How much of [`ALL`] new work is captured whole.
    pub fn whole(&mut self, now: Time) -> u16 {
        if self.whole < ALL && now >= self.whole_at {
            let steps = 1 + now.since(self.whole_at).as_millis() / WHOLE_STEP.as_millis();
            let more = WHOLE_MORE * u16::try_from(steps).unwrap_or(ALL).min(ALL / WHOLE_MORE);
            self.whole = (self.whole + more).min(ALL);
            self.whole_at = now + WHOLE_STEP;
        }
        self.whole
    }

    /// A request that may be refused came in from a source: keeps the account of delays; says
    /// whether there is too much to do, so that [`Admission::admits`] must be asked.
    #[inline]
    pub fn observe(&mut self, now: Time, source: usize) -> bool {
        if self.target.is_zero() {
            return false;
        }
        let at = source % SOURCES_MAX;
        if now >= self.windows[at].end {
            self.close_window(now, at);
        }
        let delay = self.queued_delay();
        let least = &mut self.windows[at].least;
        *least = delay.min(*least);
        self.overloaded_since.is_some()
    }

    fn close_window(&mut self, now: Time, at: usize) {
        let window = &mut self.windows[at];
        if now >= window.end + WINDOW {
            *window = Window::EMPTY; // nothing came for a whole window
        } else {
            window.close(now, self.target);
        }
        let Window { long, high, peak, .. } = *window;
        (window.least, window.end) = (Duration::MAX, now + WINDOW);
        if !peak.is_zero() {
            self.high_at = now;
        }
        if high >= WINDOWS_HIGH && self.overloaded_since.is_none() {
            self.overloaded_since = Some(now);
        }
        if now >= self.high_at + CALM {
            self.overloaded_since = None;
        }
        if self.overloaded_since.is_some() || long >= WINDOWS_LONG {
            self.whole = if self.overloaded_since.is_some() { 0 } else { self.whole / 4 };
            self.whole_at = now + CALM;
        }
    }

    /// Whether a request of this class, by its place in the table, is let in under overload with
    /// the delay that it had, and when it is dealt with; `None`: it is refused.
    pub fn admits(&mut self, class: usize) -> Option<Turn> {
        let Class { line, is_queued } = *self.classes.get(class)?;
        let Some(Line { all_to, none_from }) = line else { return Some(Turn::Now) };
        let delay = if is_queued { self.queued_delay() } else { self.delay };
        let half_us = (micros(self.target) / 2).max(1);
        let delay_us = micros(delay);
        let (all_us, none_us) = (half_us * u64::from(all_to), half_us * u64::from(none_from));
        let share = u64::from(WHOLE) * none_us.saturating_sub(delay_us) / (none_us - all_us);
        // An account instead of a die: of four at 25 % exactly one is admitted.
        let saved = &mut self.accounts[class];
        *saved += at_most(share, WHOLE).min(WHOLE);
        let is_due = *saved >= WHOLE;
        if is_due {
            *saved -= WHOLE;
        }
        match (is_queued, is_due) {
            (true, false) if self.credit >= QUEUED_SHARE => {
                self.credit -= QUEUED_SHARE;
                return Some(Turn::Now);
            }
            (false, true) => self.credit = (self.credit + 1).min(CREDIT_MAX * QUEUED_SHARE),
            _ => {}
        }
        is_due.then_some(Turn::Next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Duration = Duration::from_millis(10);
    const ACCESS: usize = 0;
    /// Four classes: what is held, two that do not wait, and new work that does.
    const CLASSES: [Class; 4] =
        [Class::HELD, Class::direct(6, 8), Class::direct(4, 6), Class::queued(1, 4)];
    const HELD: usize = 0;
    const SECOND: usize = 1;
    const FIRST: usize = 2;
    const QUEUED: usize = 3;

    fn at(ms: u64) -> Time {
        Time::from_millis(1_000 + ms)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A controller that has seen `delay` for a quarter of a second.
    fn under(delay: Duration) -> Admission {
        let mut admission = Admission::new(&CLASSES, TARGET);
        for step in 0..250 {
            admission.waited(delay);
            admission.observe(at(step), ACCESS);
        }
        admission
    }

    /// Of a thousand, how many are admitted.
    fn admitted(admission: &mut Admission, class: usize) -> usize {
        (0..1_000).filter(|_| admission.admits(class).is_some()).count()
    }

    #[test]
    fn a_pause_is_no_overload_and_a_standing_queue_is() {
        let mut admission = Admission::new(&CLASSES, TARGET);
        for step in 0..1_000 {
            // Each tenth of a second the machine pauses for 60 ms and catches up within five.
            let delay = if step % 100 < 5 { 60 } else { 1 };
            admission.waited(ms(delay));
            assert!(!admission.observe(at(step), ACCESS), "at {step} ms");
        }
        assert!(under(ms(12)).overloaded_since().is_some());
        assert!(under(ms(9)).overloaded_since().is_none());
    }

    #[test]
    fn a_queue_that_drains_slowly_is_no_overload_until_it_is_too_long() {
        let after_pause = |longest_us: u64, rise_us: u64| {
            let mut admission = Admission::new(&CLASSES, TARGET);
            (0..400).any(|step| {
                // A tenth of the machine is left for what a pause left behind.
                let left = (longest_us + step * rise_us).saturating_sub(step * 100);
                admission.waited(Duration::from_micros(if step < 25 { 1_000 } else { left }));
                admission.observe(at(step), ACCESS)
            })
        };
        assert!(!after_pause(45_000, 0));
        assert!(after_pause(75_000, 0), "half of it is still too long");
        assert!(after_pause(45_000, 101), "it grows, if slowly");
    }

    #[test]
    fn work_is_captured_in_brief_before_any_is_refused_and_whole_again_step_by_step() {
        let mut admission = Admission::new(&CLASSES, TARGET);
        let mut look = |from: u64, ms_on: u64, delay: fn(u64) -> u64| {
            for step in from..from + ms_on {
                admission.waited(Duration::from_micros(delay(step)));
                admission.observe(at(step), ACCESS);
                admission.whole(at(step));
            }
            (admission.whole, admission.overloaded_since().is_some())
        };
        // A queue that drains, be it as slowly as a fiftieth, is none.
        assert_eq!(look(0, 400, |step| 9_000 - step * 20), (ALL, false));
        let (whole, is_overloaded) = look(400, 100, |_| 7_000);
        assert!((1..ALL / 2).contains(&whole) && !is_overloaded, "{whole}");
        assert_eq!(look(500, 100, |_| 12_000), (0, true));
        let (whole, _) = look(600, 1_200, |_| 100);
        assert!((ALL / 4..ALL / 2).contains(&whole), "{whole}");
        assert_eq!(look(1_800, 3_000, |_| 100), (ALL, false));
        assert_eq!(look(4_800, 100, |_| 30_000), (0, true));
        assert_eq!(look(60_000, 1, |_| 100).0, ALL, "after a minute without a message");
    }

    #[test]
    fn one_busy_source_is_an_overload_and_calm_ends_it() {
        let mut admission = Admission::new(&CLASSES, TARGET);
        for step in 0..100 {
            admission.waited(ms(15));
            admission.observe(at(step), ACCESS);
            admission.waited(ms(1));
            admission.observe(at(step), 1);
        }
        assert!(admission.overloaded_since().is_some());
        for step in 100..600 {
            admission.waited(if step % 20 == 0 { ms(30) } else { ms(2) });
            admission.observe(at(step), ACCESS);
        }
        assert!(admission.overloaded_since().is_none());
    }

    #[test]
    fn what_is_worth_less_is_refused_first() {
        let classes = [QUEUED, FIRST, SECOND, HELD];
        for delay in 0..60 {
            let shares = classes.map(|class| admitted(&mut under(ms(delay)), class));
            assert!(shares.is_sorted(), "{shares:?} at {delay} ms");
            assert_eq!(shares[3], 1_000);
        }
        assert_eq!(admitted(&mut under(ms(5)), QUEUED), 1_000);
        assert_eq!(admitted(&mut under(ms(20)), QUEUED), 0);
        assert_eq!(admitted(&mut under(ms(20)), FIRST), 1_000);
        assert_eq!(admitted(&mut under(ms(30)), FIRST), 0);
        assert_eq!(admitted(&mut under(ms(40)), SECOND), 0);
    }

    #[test]
    fn admissions_are_shared_out_evenly() {
        let mut admission = under(Duration::from_micros(16_250));
        let pattern: Vec<bool> = (0..12).map(|_| admission.admits(QUEUED).is_some()).collect();
        assert_eq!(pattern.iter().filter(|&&is| is).count(), 3, "a quarter: {pattern:?}");
        assert!(pattern.windows(4).all(|four| four.iter().filter(|&&is| is).count() == 1));
    }

    #[test]
    fn a_storm_of_what_does_not_wait_does_not_stop_all_new_work() {
        let mut admission = under(ms(25));
        let (mut direct, mut queued) = (0, 0);
        for _ in 0..4_000 {
            direct += u32::from(admission.admits(FIRST).is_some());
            let turn = admission.admits(QUEUED);
            assert_ne!(turn, Some(Turn::Next), "its own line is passed");
            queued += u32::from(turn.is_some());
        }
        assert_eq!(direct, 2_000);
        assert_eq!(queued, direct / QUEUED_SHARE);
    }

    #[test]
    fn a_class_that_is_not_in_the_table_is_refused() {
        assert_eq!(under(ms(15)).admits(CLASSES.len()), None);
    }

    #[test]
    fn without_a_target_everything_is_admitted() {
        let mut admission = Admission::new(&CLASSES, Duration::ZERO);
        admission.waited(Duration::from_secs(10));
        assert!(!admission.observe(at(0), ACCESS));
    }
}
