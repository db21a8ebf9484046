//! Subscribers whose reachability was asked for: who is told of, by the identity that was asked
//! for.

use crate::identity::Msisdn;
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Subscribers at most.
const WATCHES_MAX: usize = 100_000;

/// Whose reachability is waited for.
#[derive(Debug, Default)]
pub struct Watches {
    all: BTreeMap<String, (Msisdn, Time)>,
    due: BTreeSet<(Time, String)>,
}

/// What becomes of one more.
#[derive(Debug, PartialEq, Eq)]
pub enum Watched {
    /// The home subscriber server is to be asked.
    New,
    /// It was asked.
    Already,
    /// There is no room.
    Full,
}

impl Watches {
    /// One more, until then.
    pub fn add(&mut self, identity: &str, msisdn: Msisdn, until: Time) -> Watched {
        if self.all.contains_key(identity) {
            return Watched::Already;
        }
        if self.all.len() >= WATCHES_MAX {
            return Watched::Full;
        }
        self.all.insert(identity.to_owned(), (msisdn, until));
        self.due.insert((until, identity.to_owned()));
        Watched::New
    }

    /// One less: whose it was.
    pub fn take(&mut self, identity: &str) -> Option<Msisdn> {
        let (msisdn, until) = self.all.remove(identity)?;
        self.due.remove(&(until, identity.to_owned()));
        Some(msisdn)
    }

    /// Lets go of those that were waited for long enough.
    pub fn tick(&mut self, now: Time) {
        while self.due.first().is_some_and(|it| it.0 <= now)
            && let Some((_, identity)) = self.due.pop_first()
        {
            self.all.remove(&identity);
        }
    }

    /// When the next one is let go.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.due.first().map(|it| it.0)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;

    #[test]
    fn one_is_waited_for_once_and_until_its_time_is_over() {
        let number = || Msisdn::of("447700900123").unwrap();
        let (mut watches, now) = (Watches::default(), Time::from_millis(1));
        let until = now + Duration::from_secs(60);
        assert_eq!(watches.add("sip:a@x", number(), until), Watched::New);
        assert_eq!(watches.add("sip:a@x", number(), until), Watched::Already);
        assert_eq!(watches.take("sip:a@x"), Some(number()));
        assert_eq!((watches.take("sip:a@x"), watches.deadline()), (None, None));
        watches.add("sip:a@x", number(), until);
        assert_eq!(watches.deadline(), Some(until));
        watches.tick(until);
        assert_eq!(watches.count(), 0);
        for n in 0..WATCHES_MAX {
            watches.add(&format!("sip:{n}@x"), number(), until);
        }
        assert_eq!(watches.add("sip:a@x", number(), until), Watched::Full);
    }
}
