//! Pauses of the machine in a live run, and which of them spoil it. They are seen by clocks alone:
//! who wanted to go on at a time and did so later. What the run found has no part in it.
//!
//! | who looks | how |
//! |---|---|
//! | a thread on every core, before all others | sleeps 1 ms and looks how long that was |
//! | each endpoint | how much later than it had asked for the kernel let it go on |
//! | who makes the cut | how long that took |
//!
//! ```text
//!          cut         time-out 0         time-out 1              time-out p
//!   ───[────┼────]──────[──┼────]──────────[──┼────]────── … ──────[──┼────]──────────
//!      -2 D   2 D
//! ```
//! | when | too long | because |
//! |---|---|---|
//! | in brackets | 5 ms | it adds to the time, or holds back the SACK that starts T3-rtx |
//! | in the second before the cut | half of RTO.Min above the round trip | RTO may grow |
//! | at any time | half of what data stays on a dead path | an MSU may wait longer by it |

use crate::arithmetic::time_outs;
use crate::course::Case;
use crate::live_end::Shared;
use machine::{Duration, Time};
use sctp::PathParameters;
use serde::Serialize;

/// A longer one spoils a run at the cut and where a time-out may be.
const NEAR_MAX: Duration = Duration::from_millis(5);
/// What RTO has learnt from a pause before the cut is forgotten after so long.
const LEAD: Duration = Duration::from_secs(1);
/// How often somebody looks on every core.
const TICK: Duration = Duration::from_millis(1);
/// Pauses that are told apart; beyond, the last one lasts on.
const PAUSES_MAX: usize = 4_096;

/// Somebody wanted to go on, and did so later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pause {
    due: Time,
    at: Time,
}

impl Pause {
    fn length(self) -> Duration {
        self.at.since(self.due)
    }
}

/// Those longer than 5 ms that somebody has seen.
#[derive(Debug, Default)]
pub struct Pauses(Vec<Pause>);

impl Pauses {
    /// Who wanted to go on at `due` does so at `at`.
    pub fn note(&mut self, due: Time, at: Time) {
        let pause = Pause { due, at };
        if pause.length() <= NEAR_MAX {
            return;
        }
        match self.0.get_mut(PAUSES_MAX - 1) {
            Some(last) => last.at = at,
            None => self.0.push(pause),
        }
    }

    /// Looks on one core until a time.
    pub fn on_core(core: usize, until: Time, shared: &Shared) -> Self {
        // What is not allowed leaves it one among others, which sees more pauses and none less.
        let _ = driver::pin(core);
        let _ = driver::link::urgent();
        let mut pauses = Self::default();
        let mut now = shared.now();
        while now < until {
            std::thread::sleep(TICK);
            let due = now + TICK;
            now = shared.now();
            pauses.note(due, now);
        }
        pauses
    }
}

/// Why a run is not to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spoilt {
    /// Length of the pause.
    pub pause_ms: f64,
    /// When it began, from the cut on.
    pub after_cut_ms: f64,
}

/// The longest pause that spoils a run with its cut at that time; `None`: none does.
pub fn spoilt<'a>(
    case: &Case,
    cut_at: Time,
    pauses: impl IntoIterator<Item = &'a Pauses>,
) -> Option<Spoilt> {
    let spans = spans(case, cut_at);
    let spoils = |pause: &&Pause| spans.iter().any(|span| span.is_spoilt(**pause));
    let all = pauses.into_iter().flat_map(|seen| &seen.0);
    let longest = all.filter(spoils).max_by_key(|pause| pause.length())?;
    let ms = |nanos: f64| nanos / 1e6;
    Some(Spoilt {
        pause_ms: ms(longest.length().as_nanos() as f64),
        after_cut_ms: ms(longest.due.as_nanos() as f64 - cut_at.as_nanos() as f64),
    })
}

/// A time in which no pause may be longer than that.
struct Span {
    between: [Time; 2],
    longest: Duration,
}

impl Span {
    fn is_spoilt(&self, pause: Pause) -> bool {
        let [from, to] = self.between;
        pause.due <= to && pause.at >= from && pause.length() > self.longest
    }
}

/// When which pause matters: as the path is cut, and as time-outs are due by RFC 9260's
/// arithmetic, with what was sent again and its SACK on their way; before it; and at all.
fn spans(case: &Case, cut_at: Time) -> Vec<Span> {
    let path = &case.parameters.path;
    let (gap, round_trip) = (case.load.gap(), case.delay * 2);
    let before = |at: Time, time: Duration| {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Time::from_nanos(at.as_nanos().saturating_sub(nanos))
    };
    let near = |from, to| Span { between: [from, to], longest: NEAR_MAX };
    let mut spans = vec![
        near(before(cut_at, round_trip), cut_at + round_trip + gap),
        Span {
            between: [before(cut_at, LEAD), cut_at],
            longest: path.rto_min.saturating_sub(round_trip) / 2,
        },
        Span { between: [Time::ZERO, Time::MAX], longest: stay(path) / 2 },
    ];
    for (number, after) in (1u32..).zip(time_outs(path)) {
        let at = cut_at + after;
        spans.push(near(before(at, gap * 2), at + round_trip + gap * (number + 1)));
    }
    spans
}

/// How long data stays on a path that is cut; the longest transfer is at least that.
fn stay(path: &PathParameters) -> Duration {
    let all = time_outs(path);
    let leaves = path.potentially_failed_max_retrans.map_or(usize::MAX, usize::from);
    all.get(leaves).or(all.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;
    use crate::course::Load;

    const CUT: Time = Time::from_millis(34_000);

    /// Whether a pause of so many ms, from so many after the cut on, spoils a run at 10 ms.
    fn spoils(configuration: Configuration, length: u64, after_cut: i64) -> bool {
        let due = Time::from_millis(34_000u64.saturating_add_signed(after_cut));
        let mut pauses = Pauses::default();
        pauses.note(due, due + Duration::from_millis(length));
        spoilt(&Case::of(&(configuration, 10), Load::REPORT, 1), CUT, [&pauses]).is_some()
    }

    #[test]
    fn a_pause_spoils_a_run_at_the_cut_and_at_a_time_out_from_6_ms_on() {
        let telecom = || Configuration::telecom(2);
        for (length, after_cut, expected) in [
            (6, 0, true),
            (5, 0, false),
            (6, -20, true),
            (6, -30, false),
            (31, -900, true),
            (29, -900, false),
            (31, -1_100, false),
            (6, 45, false),
            (60, 40, true),
            (6, 75, true),
            (6, 375, true),
            (6, 430, false),
            (189, 10_000, false),
            (191, 10_000, true),
        ] {
            assert_eq!(spoils(telecom(), length, after_cut), expected, "{length} at {after_cut}");
        }
    }

    #[test]
    fn a_second_between_time_outs_is_nothing_to_rfc_2960_and_much_to_tandem() {
        assert!(!spoils(Configuration::rfc2960(), 1_000, 20_000));
        assert!(spoils(Configuration::rfc2960(), 6, 63_000));
        assert!(spoils(Configuration::tandem(), 40, 20_000));
    }

    #[test]
    fn pauses_beyond_those_that_are_kept_make_the_last_one_longer() {
        let mut pauses = Pauses::default();
        let at = |number: u64| Time::from_millis(number * 20);
        for number in 0..PAUSES_MAX as u64 + 10 {
            pauses.note(at(number), at(number) + Duration::from_millis(10));
        }
        assert_eq!(pauses.0.len(), PAUSES_MAX);
        assert!(pauses.0[PAUSES_MAX - 1].length() > Duration::from_millis(200));
    }
}
