//! Who of the network does not answer: an HLR, a service centre.
//!
//! ```text
//!   question ─→ no answer ─→ no answer ─→ no answer: it is silent ─→ an answer, or nobody asks
//! ```

use crate::argument::Argument;
use crate::asking::{Reply, Silence};
use crate::identity::Msisdn;
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Questions in a row without an answer.
const SILENCES: u32 = 3;
/// How long after the last one it is said.
const SAID: Duration = Duration::from_secs(3_600);
/// Of how many service centres it is known: terminals name them. HLRs are of configured networks.
const KNOWN_MAX: usize = 64;

/// Somebody who is asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    /// The HLR of the network of that name.
    Hlr(String),
    /// The service centre of that number.
    Centre(String),
}

impl Whom {
    /// Who is asked by an operation; none: somebody of whom that is not told, as of an MSC.
    fn of(argument: &Argument, network: impl Fn(&Msisdn) -> Option<String>) -> Option<Self> {
        let hlr = |msisdn: &Msisdn| network(msisdn).map(Self::Hlr);
        match argument {
            Argument::Routing { msisdn, .. }
            | Argument::Report { msisdn, .. }
            | Argument::Registration { msisdn, .. } => hlr(msisdn),
            Argument::Submit { centre, .. } => {
                let centre = Msisdn::of_address_string(centre.octets())?;
                Some(Self::Centre(centre.digits().to_owned()))
            }
            Argument::Alert { centre, .. } => Some(Self::Centre(centre.digits().to_owned())),
            Argument::Deliver { .. } | Argument::Ready { .. } => None,
        }
    }
}

/// Questions that somebody has not answered since the last answer.
#[derive(Debug, Clone, Copy)]
struct Unanswered {
    count: u32,
    last: Time,
}

/// Who has not answered.
#[derive(Debug, Default)]
pub struct Silent {
    all: BTreeMap<Whom, Unanswered>,
}

impl Silent {
    /// What came of a question; `network` names that of a subscriber. One that was not delivered
    /// says nothing of a service centre: a terminal may have made its number up.
    pub fn replied(
        &mut self,
        now: Time,
        argument: &Argument,
        reply: &Reply,
        network: impl Fn(&Msisdn) -> Option<String>,
    ) {
        let Some(whom) = Whom::of(argument, network) else { return };
        match (reply, &whom) {
            (Reply::Result(_) | Reply::Error(..), _) => {
                self.all.remove(&whom);
            }
            (Reply::Silence(Silence::Undelivered), Whom::Centre(_)) => {}
            (Reply::Silence(_), _) => {
                if !self.all.contains_key(&whom) {
                    self.make_way(now);
                }
                let it = self.all.entry(whom).or_insert(Unanswered { count: 0, last: now });
                *it = Unanswered { count: it.count.saturating_add(1), last: now };
            }
        }
    }

    /// Of too many centres the one makes way that was asked least in vain, the longest ago.
    fn make_way(&mut self, now: Time) {
        self.all.retain(|_, it| now < it.last + SAID);
        let centres = || self.all.iter().filter(|it| matches!(it.0, Whom::Centre(_)));
        if centres().count() >= KNOWN_MAX
            && let Some((least, _)) = centres().min_by_key(|(_, it)| (it.count, it.last))
        {
            let least = least.clone();
            self.all.remove(&least);
        }
    }

    /// Who does not answer, and how many questions.
    pub fn rows(&self, now: Time) -> impl Iterator<Item = (&Whom, u32)> {
        let is_silent = move |it: &Unanswered| it.count >= SILENCES && now < it.last + SAID;
        self.all.iter().filter(move |it| is_silent(it.1)).map(|(whom, it)| (whom, it.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_that_a_terminal_makes_up_keep_nobody_out() {
        let (mut silent, number) = (Silent::default(), |it: u64| Msisdn::of(&it.to_string()));
        let mut asked = |s: u64, centre: Option<u64>| {
            let (msisdn, now) = (number(44).unwrap(), Time::from_millis(s * 1_000));
            let argument = match centre {
                Some(it) => Argument::Alert { msisdn, centre: number(it).unwrap() },
                None => {
                    let (gateway, is_registered) = (number(44).unwrap(), true);
                    Argument::Registration { msisdn, gateway, is_registered }
                }
            };
            let reply = Reply::Silence(Silence::Timeout);
            silent.replied(now, &argument, &reply, |_| Some("own".into()));
        };
        (0..200).for_each(|it| asked(it, Some(4_470_000 + it)));
        for s in 200..203 {
            asked(s, None);
            asked(s, Some(4_478));
            asked(s, Some(4_480_000 + s));
        }
        assert_eq!(silent.all.len(), KNOWN_MAX + 1);
        let rows: Vec<_> = silent.rows(Time::from_millis(203_000)).collect();
        let wanted = [Whom::Hlr("own".into()), Whom::Centre("4478".into())];
        assert_eq!(rows, wanted.each_ref().map(|it| (it, SILENCES)));
    }
}
