//! Wrong tokens, counted by their source, and the lines in the log for requests that nobody answers
//! for: bounded, since anybody may cause them.

use super::limits::Source;
use machine::Time;
use machine::bucket::{Bucket, Rate};
use std::collections::HashMap;

/// Sources that are remembered at the same time.
const SOURCES_MAX: usize = 4096;
/// Wrong tokens that a source may send at once, and each second after that.
const BURST: u32 = 20;
const PER_S: f64 = 0.2;
/// Sources that are remembered for their lines in the log at the same time.
const LOGGED_MAX: usize = 1024;
/// Lines of one source at once, and each second after that.
const OF_SOURCE: (f64, u32) = (0.2, 5);
/// The same of all sources together.
const OF_ALL: (f64, u32) = (5.0, 50);

/// What is kept of those who show no right token.
#[derive(Debug, Default)]
pub struct Strangers {
    /// Their guesses.
    pub guesses: Guesses,
    /// What the log said of them.
    pub lines: Lines,
}

/// How many wrong tokens came from where. A right token is taken whatever stands here: nobody
/// locks others out by sending wrong ones, through a proxy or on this machine.
#[derive(Debug, Default)]
pub struct Guesses(HashMap<Source, Bucket>);

impl Guesses {
    /// Counts a wrong token of `source`; whether it is within the budget.
    pub fn take(&mut self, now: Time, source: Source) -> bool {
        if self.0.len() >= SOURCES_MAX {
            self.0.retain(|_, bucket| !bucket.is_rested(now));
        }
        if self.0.len() >= SOURCES_MAX && !self.0.contains_key(&source) {
            return false;
        }
        let (bucket, rate) = (self.0.entry(source).or_default(), Rate::new(PER_S, Some(BURST)));
        let has_room = bucket.has_room(now, rate);
        if has_room {
            bucket.take(now, rate);
        }
        has_room
    }
}

/// What was logged of whom.
#[derive(Debug, Default)]
pub struct Lines {
    sources: HashMap<Source, Bucket>,
    all: Bucket,
    unsaid: u64,
}

impl Lines {
    /// One more of `source`. Whether a line says so, with how many had none since the last one.
    pub fn take(&mut self, now: Time, source: Option<Source>) -> Option<u64> {
        let [of_source, of_all] =
            [OF_SOURCE, OF_ALL].map(|(per_s, at_once)| Rate::new(per_s, Some(at_once)));
        let is_full = self.sources.len() >= LOGGED_MAX;
        if is_full {
            self.sources.retain(|_, bucket| !bucket.is_rested(now));
        }
        let mut has_room = self.all.has_room(now, of_all);
        if let Some(source) = source {
            let is_new = !self.sources.contains_key(&source);
            if is_new && self.sources.len() >= LOGGED_MAX {
                has_room = false;
            } else if has_room {
                let bucket = self.sources.entry(source).or_default();
                has_room = bucket.has_room(now, of_source);
                if has_room {
                    bucket.take(now, of_source);
                }
            }
        }
        if !has_room {
            self.unsaid += 1;
            return None;
        }
        self.all.take(now, of_all);
        Some(std::mem::take(&mut self.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;
    use std::net::{Ipv4Addr, SocketAddr};

    #[test]
    fn a_source_has_a_burst_of_wrong_tokens_and_others_their_own() {
        let source = |n: u32| Source::from(SocketAddr::from((Ipv4Addr::from(n), 1)));
        let mut guesses = Guesses::default();
        let now = Time::from_millis(7);
        let passed = (0..100).filter(|_| guesses.take(now, source(1))).count();
        assert_eq!(passed, BURST as usize);
        assert!(guesses.take(now, source(2)));
        assert!(guesses.take(now + machine::Duration::from_secs(5), source(1)));
        for n in 0..100_000 {
            guesses.take(now, source(n));
        }
        assert_eq!(guesses.0.len(), SOURCES_MAX);
    }

    fn named(n: u32) -> Option<Source> {
        Some(Source::from(SocketAddr::from((Ipv4Addr::from(n), 1))))
    }

    #[test]
    fn a_source_has_a_few_lines_and_the_next_one_counts_what_had_none() {
        let (mut lines, now) = (Lines::default(), Time::from_millis(7));
        let said = (0..100).filter(|_| lines.take(now, named(1)).is_some()).count();
        assert_eq!(said, 5);
        assert_eq!(lines.take(now, named(2)), Some(95), "another one is heard");
        assert_eq!(lines.take(now + Duration::from_secs(5), named(1)), Some(0));
    }

    #[test]
    fn all_together_have_a_bounded_number_of_lines_and_places() {
        let (mut lines, now) = (Lines::default(), Time::from_millis(7));
        let said = (0..100_000).filter(|&n| lines.take(now, named(n)).is_some()).count();
        assert_eq!(said, 50);
        assert!(lines.sources.len() <= LOGGED_MAX);
    }
}
