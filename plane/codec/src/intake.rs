//! Packets of one direction back in order: what is early is kept, what lacks is given up in time.
//!
//! ```text
//!   Follow  in order: passed on as it comes          out of order: kept until what lacks came, or
//!           (the receiver evens out the network)      until twice the jitter and 10 ms have passed
//!   Even    every packet is passed on at its time: the shortest way so far, and three times the
//!           jitter behind it
//! ```
//! The clock is that of arrival, an argument. At most [`WINDOW`] packets are kept.

use machine::{Duration, Time};
use rtp::Header;

/// Packets that are kept at most.
pub const WINDOW: u16 = 32;
/// A packet so far behind is late (RFC 3550 §A.1); further ones begin a stream anew, if the next
/// one follows on them.
const MISORDER_MAX: u16 = 100;
/// How long what lacks is waited for, at least and at most.
const WAIT_LEAST: Duration = Duration::from_millis(10);
const WAIT_MOST: Duration = Duration::from_millis(60);

/// When packets are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Playout {
    /// As they come, if they come in order.
    #[default]
    Follow,
    /// Evenly, with a delay that follows the jitter.
    Even {
        /// The longest delay, in milliseconds.
        most_ms: u16,
    },
}

/// What becomes of a packet that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is next: it is to be played now, and [`Intake::next`] is to be asked behind it.
    Next,
    /// It was kept: [`Intake::next`] is to be asked.
    Kept,
    /// It is the first of another stream: what was kept is gone. It is to be played now.
    Restarted,
    /// It came too late, twice, or from nowhere: nothing is to be done.
    Dropped,
}

/// A packet that was kept.
#[derive(Debug, Clone, Default)]
struct Slot {
    header: Header,
    payload: Vec<u8>,
    /// When it came; `None`: the slot is free.
    since: Option<Time>,
    /// When it is to be played, where that is so.
    due: Option<Time>,
}

/// What is played next.
#[derive(Debug, PartialEq, Eq)]
pub struct Played<'a> {
    /// Its header.
    pub header: Header,
    /// Its payload.
    pub payload: &'a [u8],
    /// Packets before it that are given up.
    pub lost: u16,
}

/// The order of one direction.
#[derive(Debug)]
pub struct Intake {
    playout: Playout,
    /// Ticks a millisecond of the payload's clock.
    ticks_per_ms: u32,
    ssrc: Option<u32>,
    /// The sequence number that is played next.
    expected: u16,
    slots: Vec<Slot>,
    kept: u16,
    /// The number behind one that was far off.
    restart: Option<u16>,
    timing: Timing,
}

/// What is known of the way of packets. Nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Timing {
    /// The timestamp and the arrival of the last packet.
    last: Option<(u32, Time)>,
    /// The time of the last packet by its sender's clock, from an epoch of this direction's.
    sent: i64,
    /// The shortest way so far: arrival less sending.
    shortest: i64,
    /// RFC 3550 §6.4.1.
    jitter: i64,
}

impl Intake {
    /// Nothing came yet.
    #[must_use]
    pub fn new(playout: Playout, clock_hz: u32) -> Self {
        Self {
            playout,
            ticks_per_ms: (clock_hz / 1_000).max(1),
            ssrc: None,
            expected: 0,
            slots: Vec::new(),
            kept: 0,
            restart: None,
            timing: Timing::default(),
        }
    }

    /// A packet came. It is copied only if it is kept.
    pub fn packet(&mut self, now: Time, header: Header, payload: &[u8]) -> Verdict {
        if self.ssrc != Some(header.ssrc) {
            return self.begin(now, header, payload);
        }
        let ahead = header.sequence.wrapping_sub(self.expected);
        match ahead {
            0 if self.playout == Playout::Follow => {
                self.timing.packet(now, header.timestamp, self.ticks_per_ms);
                self.step();
                Verdict::Next
            }
            ahead if ahead < WINDOW => {
                self.timing.packet(now, header.timestamp, self.ticks_per_ms);
                self.keep(now, header, payload)
            }
            ahead if ahead > u16::MAX - MISORDER_MAX => Verdict::Dropped,
            _ if self.restart == Some(header.sequence) => self.begin(now, header, payload),
            _ => {
                self.restart = Some(header.sequence.wrapping_add(1));
                Verdict::Dropped
            }
        }
    }

    fn begin(&mut self, now: Time, header: Header, payload: &[u8]) -> Verdict {
        self.slots.iter_mut().for_each(|slot| slot.since = None);
        (self.kept, self.restart) = (0, None);
        (self.ssrc, self.expected) = (Some(header.ssrc), header.sequence);
        self.timing = Timing::default();
        self.timing.packet(now, header.timestamp, self.ticks_per_ms);
        match self.playout {
            Playout::Follow => {
                self.step();
                Verdict::Restarted
            }
            Playout::Even { .. } => self.keep(now, header, payload),
        }
    }

    fn step(&mut self) {
        self.expected = self.expected.wrapping_add(1);
        self.restart = None;
    }

    fn keep(&mut self, now: Time, header: Header, payload: &[u8]) -> Verdict {
        if self.slots.is_empty() {
            // Only a direction that needs it has the room.
            self.slots.resize_with(usize::from(WINDOW), Slot::default);
        }
        let due = match self.playout {
            Playout::Follow => None,
            Playout::Even { most_ms } => {
                Some(self.timing.due(Duration::from_millis(most_ms.into())))
            }
        };
        let slot = &mut self.slots[usize::from(header.sequence % WINDOW)];
        if slot.since.is_some() {
            return Verdict::Dropped;
        }
        slot.payload.clear();
        slot.payload.extend_from_slice(payload);
        (slot.header, slot.since, slot.due) = (header, Some(now), due);
        self.kept += 1;
        Verdict::Kept
    }

    /// What is to be played now, if something is.
    pub fn next(&mut self, now: Time) -> Option<Played<'_>> {
        let (lost, at, due) = self.first()?;
        if now < due {
            return None;
        }
        self.expected = self.expected.wrapping_add(lost);
        self.step();
        self.kept -= 1;
        let slot = &mut self.slots[at];
        slot.since = None;
        Some(Played { header: slot.header, payload: &slot.payload, lost })
    }

    /// When [`Intake::next`] has something.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.first().map(|(.., due)| due)
    }

    /// The first that is kept: packets that lack before it, its slot, and when it is due.
    fn first(&self) -> Option<(u16, usize, Time)> {
        if self.kept == 0 {
            return None;
        }
        let slot = |ahead: &u16| usize::from(self.expected.wrapping_add(*ahead) % WINDOW);
        let lost = (0..WINDOW).find(|ahead| self.slots[slot(ahead)].since.is_some())?;
        let kept = &self.slots[slot(&lost)];
        let since = kept.since?;
        let due = match (kept.due, lost) {
            (Some(due), _) => due,
            (None, 0) => since,
            (None, _) => since + self.timing.patience(),
        };
        Some((lost, slot(&lost), due))
    }

    /// The jitter of arrival.
    #[must_use]
    pub fn jitter(&self) -> Duration {
        Duration::from_nanos(self.timing.jitter.unsigned_abs())
    }
}

impl Timing {
    fn packet(&mut self, now: Time, timestamp: u32, ticks_per_ms: u32) {
        let Some((before, at)) = self.last else {
            self.last = Some((timestamp, now));
            self.sent = 0;
            self.shortest = way(now, 0);
            return;
        };
        let ticks = i64::from(timestamp.wrapping_sub(before).cast_signed());
        let step = ticks * 1_000_000 / i64::from(ticks_per_ms);
        if step.abs() > 10_000_000_000 {
            // Another clock: everything begins anew.
            *self = Self { last: Some((timestamp, now)), shortest: way(now, 0), ..Self::default() };
            return;
        }
        let spent = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
            - i64::try_from(at.as_nanos()).unwrap_or(i64::MAX);
        let off = (spent - step).abs().min(1_000_000_000);
        self.jitter += (off - self.jitter) / 16;
        self.sent += step;
        self.last = Some((timestamp, now));
        let way = way(now, self.sent);
        // The clocks drift: what is longer is believed slowly.
        self.shortest = way.min(self.shortest + (way - self.shortest).max(0) / 1_024);
    }

    /// How long what lacks is waited for.
    fn patience(&self) -> Duration {
        let twice = Duration::from_nanos(2 * self.jitter.unsigned_abs());
        (WAIT_LEAST + twice).min(WAIT_MOST)
    }

    /// When the last packet is to be played.
    fn due(&self, most: Duration) -> Time {
        let most = i64::try_from(most.as_nanos()).unwrap_or(i64::MAX);
        let at = self.sent + self.shortest + (3 * self.jitter).min(most);
        Time::from_nanos(u64::try_from(at).unwrap_or(0))
    }
}

/// Arrival less sending.
fn way(now: Time, sent: i64) -> i64 {
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX) - sent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u16) -> Header {
        let timestamp = u32::from(sequence).wrapping_mul(160);
        Header { sequence, timestamp, ssrc: 7, ..Header::default() }
    }

    fn at(ms: u64) -> Time {
        Time::from_millis(1_000_000 + ms)
    }

    fn played(intake: &mut Intake, now: Time) -> Vec<(u16, u16)> {
        let mut out = Vec::new();
        while let Some(it) = intake.next(now) {
            assert_eq!(it.payload, it.header.sequence.to_be_bytes());
            out.push((it.header.sequence, it.lost));
        }
        out
    }

    fn put(intake: &mut Intake, ms: u64, sequence: u16) -> Verdict {
        intake.packet(at(ms), header(sequence), &sequence.to_be_bytes())
    }

    #[test]
    fn what_comes_in_order_passes_and_what_overtakes_waits_for_what_it_overtook() {
        let mut intake = Intake::new(Playout::Follow, 8_000);
        assert_eq!(put(&mut intake, 0, 65_535), Verdict::Restarted);
        assert_eq!(put(&mut intake, 20, 0), Verdict::Next, "across the end of the numbers");
        assert_eq!(put(&mut intake, 40, 2), Verdict::Kept);
        assert_eq!(played(&mut intake, at(41)), []);
        assert_eq!(put(&mut intake, 42, 1), Verdict::Next);
        assert_eq!(played(&mut intake, at(42)), [(2, 0)]);
        assert_eq!(put(&mut intake, 43, 1), Verdict::Dropped, "it came already");
        assert_eq!(intake.deadline(), None);
    }

    #[test]
    fn what_is_lost_is_given_up_after_a_time_that_follows_the_jitter() {
        let mut intake = Intake::new(Playout::Follow, 8_000);
        put(&mut intake, 0, 10);
        put(&mut intake, 60, 13);
        put(&mut intake, 80, 14);
        let deadline = intake.deadline().expect("something waits");
        assert!(deadline >= at(70) && deadline <= at(120), "{deadline:?}");
        assert_eq!(played(&mut intake, at(120)), [(13, 2), (14, 0)]);
        assert_eq!(put(&mut intake, 121, 12), Verdict::Dropped, "too late");
    }

    #[test]
    fn a_stream_that_begins_anew_is_believed_when_a_second_packet_follows() {
        let mut intake = Intake::new(Playout::Follow, 8_000);
        put(&mut intake, 0, 10);
        assert_eq!(put(&mut intake, 20, 30_000), Verdict::Dropped);
        assert_eq!(put(&mut intake, 20, 11), Verdict::Next, "one alone was a stray");
        assert_eq!(put(&mut intake, 40, 30_001), Verdict::Dropped);
        assert_eq!(put(&mut intake, 60, 30_002), Verdict::Restarted);
        let other = Header { ssrc: 8, ..header(5) };
        assert_eq!(intake.packet(at(80), other, &[]), Verdict::Restarted);
    }

    #[test]
    fn evenly_played_packets_come_at_their_times_and_no_later_than_is_allowed() {
        let mut intake = Intake::new(Playout::Even { most_ms: 40 }, 8_000);
        let delays = [0, 12, 3, 25, 1, 18, 7, 0, 22, 5];
        let mut arrivals: Vec<(u64, u16)> =
            (0..200).map(|it| (20 * u64::from(it) + delays[usize::from(it % 10)], it)).collect();
        arrivals.sort_unstable();
        let (mut out, mut next) = (Vec::new(), 0);
        for ms in 0..4_100 {
            while let Some(&(_, sequence)) = arrivals.get(next).filter(|it| it.0 == ms) {
                put(&mut intake, ms, sequence);
                next += 1;
            }
            out.extend(played(&mut intake, at(ms)).iter().map(|it| (ms, it.0)));
        }
        assert!(out.len() >= 198, "{}: the jitter is learned within few packets", out.len());
        for &(ms, sequence) in &out[50..] {
            let delay = ms - 20 * u64::from(sequence);
            assert!(delay <= 41, "{sequence}: {delay}");
        }
        let spread = |range: &[(u64, u16)]| {
            let delays = range.iter().map(|(ms, sequence)| ms - 20 * u64::from(*sequence));
            delays.clone().max().unwrap() - delays.min().unwrap()
        };
        assert!(spread(&out[100..]) <= 12, "{}: less than half of what came", spread(&out[100..]));
    }

    #[test]
    fn whatever_comes_no_more_is_kept_than_the_window_has() {
        let mut intake = Intake::new(Playout::Follow, 8_000);
        let mut number = 1_u32;
        for ms in 0..20_000 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let sequence = (number >> 20) as u16 % 80;
            put(&mut intake, ms / 8, sequence);
            assert!(intake.kept <= WINDOW);
            if number & 0x300 == 0 {
                played(&mut intake, at(ms / 8));
            }
            assert!(intake.slots.iter().filter(|it| it.since.is_some()).count() <= 32);
        }
    }
}
