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
/// Of how many it is known: terminals name service centres.
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
                if self.all.len() >= KNOWN_MAX && !self.all.contains_key(&whom) {
                    self.all.retain(|_, it| now < it.last + SAID);
                }
                if self.all.len() < KNOWN_MAX || self.all.contains_key(&whom) {
                    let it = self.all.entry(whom).or_insert(Unanswered { count: 0, last: now });
                    *it = Unanswered { count: it.count.saturating_add(1), last: now };
                }
            }
        }
    }

    /// Who does not answer, and how many questions.
    pub fn rows(&self, now: Time) -> impl Iterator<Item = (&Whom, u32)> {
        let is_silent = move |it: &Unanswered| it.count >= SILENCES && now < it.last + SAID;
        self.all.iter().filter(move |it| is_silent(it.1)).map(|(whom, it)| (whom, it.count))
    }
}
