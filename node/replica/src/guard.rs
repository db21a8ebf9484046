//! What stands before the machines of a pair: everything that leaves is sealed, and what comes is
//! heard only when the other end has sealed it, once (`kit/authentication`).
//!
//! Each direction of each pair has a key of its own: what one node said is nothing that it hears,
//! nor anything for another pair or for the arbiter.

use crate::election::Name;
use authentication::{Keys, Opener, Refused, Sealer};
use machine::{Duration, Time};
use runtime::NodeId;
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

/// Time over which refusals are counted.
const SLOT: Duration = Duration::from_secs(10);
/// Refusals in that time that are an alarm: a few are left over from a restart.
const MANY: u64 = 10;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A node of the pair.
    Node(Name),
    /// A node of a cluster.
    Member(NodeId),
    /// The arbiter.
    Arbiter,
}

fn label(pair: u64, from: End, to: End) -> Vec<u8> {
    let word = |end| -> String {
        match end {
            End::Node(Name::A) => "a".into(),
            End::Node(Name::B) => "b".into(),
            End::Member(node) => format!("member {node}"),
            End::Arbiter => "arbiter".into(),
        }
    };
    format!("tandem replica {pair} {}>{}", word(from), word(to)).into_bytes()
}

/// Seals what leaves; without keys it leaves as it is.
#[derive(Clone)]
pub struct Seal(Option<Arc<Sealer>>);

/// Opens what comes; without keys everything is heard.
pub struct Verifier(Option<Opener>);

/// Both for one link of a pair. `life` is random, another one after each start.
#[must_use]
pub fn guard(
    keys: Option<&Keys>,
    pair: u64,
    ours: End,
    theirs: End,
    life: u64,
) -> (Seal, Verifier) {
    let Some(keys) = keys else { return (Seal(None), Verifier(None)) };
    let (out, into) = (label(pair, ours, theirs), label(pair, theirs, ours));
    let (sealer, opener) = authentication::channel(keys, &out, &into, life);
    // An arbiter is asked, and answers, from one thread: nothing need be taken that is overtaken.
    let is_ordered = [ours, theirs].contains(&End::Arbiter);
    let opener = if is_ordered { opener.in_order() } else { opener };
    (Seal(Some(sealer)), Verifier(Some(opener)))
}

impl Seal {
    /// The message as it leaves.
    #[must_use]
    pub fn seal<'a>(&self, message: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.0 {
            Some(sealer) => Cow::Owned(sealer.seal(message)),
            None => Cow::Borrowed(message),
        }
    }

    /// Whether anything is sealed.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.0.is_some()
    }
}

impl Verifier {
    /// The message of a datagram, or why it is not heard. `answer` becomes what shall go back.
    ///
    /// # Errors
    /// Why it is not heard.
    pub fn open<'a>(
        &'a mut self,
        now: Time,
        datagram: &'a [u8],
        answer: &mut Vec<u8>,
    ) -> Result<&'a [u8], Refused> {
        match &mut self.0 {
            Some(opener) => opener.open(now, datagram, answer),
            None => {
                answer.clear();
                Ok(datagram)
            }
        }
    }
}

/// How many datagrams were refused of late: whether somebody keeps trying.
#[derive(Debug, Default)]
pub struct Refusals {
    since: Time,
    count: u64,
    before: u64,
    stranger: Option<(IpAddr, Time)>,
}

impl Refusals {
    /// One more. What is unproved begins every life and is not counted here.
    pub fn add(&mut self, now: Time, why: Refused) {
        self.turn(now);
        self.count += u64::from(why != Refused::Unproved);
    }

    /// Something came from an address that is not the other node's.
    pub fn note_stranger(&mut self, now: Time, from: IpAddr) {
        self.stranger = Some((from, now));
    }

    /// Who spoke so last, of late.
    #[must_use]
    pub fn stranger(&self, now: Time) -> Option<IpAddr> {
        self.stranger.filter(|(_, at)| now < *at + SLOT).map(|(from, _)| from)
    }

    fn turn(&mut self, now: Time) {
        if now < self.since + SLOT {
            return;
        }
        self.before = if now < self.since + SLOT * 2 { self.count } else { 0 };
        (self.since, self.count) = (now, 0);
    }

    /// Refused in the last 10 to 20 seconds, if those are many.
    pub fn last(&mut self, now: Time) -> Option<u64> {
        self.turn(now);
        let all = self.before + self.count;
        (all >= MANY).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_an_alarm_when_they_are_many_and_none_when_they_are_over() {
        let (mut refusals, at) =
            (Refusals::default(), |s: u64| Time::from_millis(100_000 + s * 1_000));
        for _ in 0..50 {
            refusals.add(at(0), Refused::Unproved);
        }
        (1..10).for_each(|_| refusals.add(at(1), Refused::Forged));
        assert_eq!(refusals.last(at(1)), None);
        refusals.add(at(2), Refused::Replayed);
        assert_eq!((refusals.last(at(2)), refusals.last(at(11))), (Some(10), Some(10)));
        assert_eq!(refusals.last(at(31)), None);
    }
}
