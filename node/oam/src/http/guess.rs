//! Wrong tokens, counted by their source.

use super::connections::Source;
use machine::Time;
use machine::bucket::{Bucket, Rate};
use std::collections::HashMap;

/// Sources that are remembered at the same time.
const SOURCES_MAX: usize = 4096;
/// Wrong tokens that a source may send at once, and each second after that.
const BURST: u32 = 20;
const PER_S: f64 = 0.2;

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

#[cfg(test)]
mod tests {
    use super::*;
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
}
