//! Correlation IMSIs that were given out: of whom, to which service centre, and who asked.

use crate::identity::{Imsi, Msisdn};
use crate::standing::Standing;
use machine::shares::Shares;
use machine::{Duration, Time};

/// For whom one is given out.
#[derive(Debug, Clone, Copy)]
pub struct For<'a> {
    /// The subscriber.
    pub msisdn: &'a Msisdn,
    /// The service centre that may deliver by it.
    pub centre: Option<&'a Msisdn>,
    /// Who asks, by the title of the dialogue.
    pub asker: &'a Msisdn,
}

impl For<'_> {
    fn key(&self) -> Key {
        (self.msisdn.clone(), self.centre.cloned())
    }
}

/// There is no room for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

type Key = (Msisdn, Option<Msisdn>);

/// Those that stand. Who asks has no more of them than are left for all others, whichever service
/// centres it names.
#[derive(Debug)]
pub struct Given {
    all: Standing<Key, (Imsi, Msisdn)>,
    askers: Shares<Msisdn>,
    max: usize,
}

impl Given {
    /// At most so many.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { all: Standing::new(max), askers: Shares::default(), max }
    }

    /// Takes another limit; what stands beyond it stands on.
    pub const fn configure(&mut self, max: usize) {
        self.max = max;
        self.all.configure(max);
    }

    /// The one that stands for the same; none: one may be drawn.
    ///
    /// # Errors
    /// There is no room for one more, or not for one more of who asks.
    pub fn known(&self, of: &For<'_>) -> Result<Option<Imsi>, Full> {
        let key = of.key();
        if let Some((imsi, _)) = self.all.at(&key) {
            return Ok(Some(imsi.clone()));
        }
        let left = self.max.saturating_sub(self.askers.sum());
        let has_room = self.all.has_room(&key) && self.askers.of(of.asker) < left;
        has_room.then_some(None).ok_or(Full)
    }

    /// One stands for so long from now on; it stays that of whom it was given to first.
    ///
    /// # Errors
    /// There is no room for one more of who asks.
    pub fn put(&mut self, now: Time, of: &For<'_>, imsi: Imsi, time: Duration) -> Result<(), Full> {
        let key = of.key();
        let holder = self.all.at(&key).map(|it| it.1.clone());
        if holder.is_none() && !self.askers.take(of.asker.clone(), 1, self.max) {
            return Err(Full);
        }
        let holder = holder.unwrap_or_else(|| of.asker.clone());
        self.all.put(now, &key, (imsi, holder), time);
        Ok(())
    }

    /// Whether one stands of a subscriber for a service centre.
    #[must_use]
    pub fn has(&self, msisdn: &Msisdn, centre: &Msisdn) -> bool {
        self.all.at(&(msisdn.clone(), Some(centre.clone()))).is_some()
    }

    /// Lets go of those whose time is over.
    pub fn tick(&mut self, now: Time) {
        self.all.tick(now, |(_, holder)| self.askers.give_back(&holder, 1));
    }

    /// When the next one's time is over.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.all.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_has_no_more_than_is_left_whatever_it_names_until_their_time_is_over() {
        let number = |n: u8| Msisdn::of(&format!("44{n}")).unwrap();
        let imsi = |n: u8| Imsi::of(&format!("23415{n}")).unwrap();
        let (mut given, now) = (Given::new(4), Time::from_millis(1));
        let (msisdn, one, other) = (number(1), number(2), number(3));
        let minute = Duration::from_secs(60);
        for n in 10..12 {
            let (centre, asker) = (number(n), &one);
            let of = For { msisdn: &msisdn, centre: Some(&centre), asker };
            assert_eq!(given.known(&of), Ok(None));
            assert_eq!(given.put(now, &of, imsi(n), minute), Ok(()));
            assert_eq!(given.known(&of), Ok(Some(imsi(n))));
        }
        let of = For { msisdn: &msisdn, centre: None, asker: &one };
        assert_eq!(
            (given.known(&of), given.put(now, &of, imsi(13), minute)),
            (Err(Full), Err(Full))
        );
        let others = For { asker: &other, ..of };
        assert_eq!(given.put(now, &others, imsi(13), minute), Ok(()));
        assert!(given.has(&msisdn, &number(10)) && !given.has(&msisdn, &number(13)));
        given.tick(now + minute);
        assert_eq!((given.known(&of), given.deadline()), (Ok(None), None));
    }
}
