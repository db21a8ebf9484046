//! When packets leave: a rate as tokens, with time as an argument.

use machine::Time;

/// Packets at a rate from a moment on. What was due and not taken stays due.
#[derive(Debug, Clone)]
pub struct Schedule {
    start: Time,
    rate_pps: f64,
    end: u64,
    taken: u64,
}

impl Schedule {
    /// `rate_pps` packets a second from `start` on, `packets` in all.
    #[must_use]
    pub const fn new(start: Time, rate_pps: f64, packets: u64) -> Self {
        Self { start, rate_pps, end: packets, taken: 0 }
    }

    /// A rate for packets of `octets` in the mean, with frame check sequence, preamble and gap,
    /// that fill a line of `bits_per_s` (RFC 2544 app. B).
    #[must_use]
    pub fn line_rate(bits_per_s: f64, octets: f64) -> f64 {
        /// Preamble, start of frame and the gap between frames.
        const BETWEEN: f64 = 20.0;
        bits_per_s / 8.0 / (octets + BETWEEN)
    }

    /// Packets that are due at `now` and not taken yet.
    #[must_use]
    pub fn due(&self, now: Time) -> u64 {
        let seconds = now.since(self.start).as_secs_f64();
        // The first is due at once.
        let due = if now < self.start { 0 } else { (seconds * self.rate_pps) as u64 + 1 };
        due.min(self.end).saturating_sub(self.taken)
    }

    /// Takes up to `count` of those that are due at `now`; says how many.
    pub fn take(&mut self, now: Time, count: u64) -> u64 {
        let taken = self.due(now).min(count);
        self.taken += taken;
        taken
    }

    /// When the next one is due; `None` after the last.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let nanos = (self.taken as f64 / self.rate_pps * 1e9).ceil() as u64;
        (self.taken < self.end).then(|| self.start + core::time::Duration::from_nanos(nanos))
    }

    /// Packets taken so far.
    #[must_use]
    pub const fn taken(&self) -> u64 {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_due_at_their_rate_and_what_is_missed_stays_due() {
        let at = Time::from_nanos;
        let mut schedule = Schedule::new(at(1_000), 1e6, 10);
        assert_eq!((schedule.due(at(999)), schedule.due(at(1_000))), (0, 1));
        assert_eq!(schedule.take(at(4_000), 2), 2);
        assert_eq!(schedule.due(at(4_000)), 2);
        assert_eq!(schedule.deadline(), Some(at(3_000)));
        assert_eq!(schedule.take(at(1_000_000), 100), 8);
        assert_eq!((schedule.deadline(), schedule.taken()), (None, 10));
    }

    #[test]
    fn a_deadline_is_when_something_is_due() {
        let mut schedule = Schedule::new(Time::from_nanos(7), 14_880_952.0, 1_000);
        for _ in 0..1_000 {
            let deadline = schedule.deadline().unwrap();
            assert!(schedule.take(deadline, 1) == 1, "{deadline:?}");
        }
    }

    #[test]
    fn ten_gigabits_are_the_known_packets_a_second() {
        assert_eq!(Schedule::line_rate(10e9, 64.0).round(), 14_880_952.0);
        assert_eq!(Schedule::line_rate(10e9, 1_518.0).round(), 812_744.0);
    }
}
