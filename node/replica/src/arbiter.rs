//! The arbiter: the third vote of a pair, given to one node at a time.

use crate::election::Name;
use crate::guard::{End, Seal, Verifier, guard};
use crate::message::{self, Datagram};
use authentication::{Keys, Refused};
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Pairs that one arbiter serves.
pub const PAIRS_MAX: usize = 1024;

/// Whom an arbiter serves, and how.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The longest promise that is given. A longer one is refused, not cut: who asked would count
    /// on the whole.
    pub promise_max: Duration,
    /// The pairs and their keys. None at all: whoever asks is served, and nothing is sealed.
    pub pairs: Vec<(u64, Keys)>,
}

/// What a datagram got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// The vote.
    Vote,
    /// It made a node known, which is told that the arbiter is there.
    Known,
}

/// Why a datagram is not answered with a vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declined {
    /// It is no request.
    Unreadable,
    /// No such pair is known.
    UnknownPair,
    /// It is not sealed by the node that it names, or came before.
    Refused(Refused),
    /// It asks for a longer promise than is given.
    LongPromise,
    /// Unknown pairs have taken all places.
    Full,
    /// The other node has the vote, or an earlier life of this arbiter may have given it.
    Given,
}

/// The two links of a pair that is known.
type Verifiers = BTreeMap<(u64, Name), (Seal, Verifier)>;

/// Who has the vote of a pair.
#[derive(Debug, Clone, Copy)]
struct Vote {
    node: Name,
    until: Time,
    /// When another one had it, or nobody is known to have had it.
    since: Time,
}

/// Votes for at most one node of each pair at a time. It keeps nothing over a restart, so that
/// it votes for nobody until every promise of its last life has run out.
pub struct Arbiter {
    started: Time,
    promise_max: Duration,
    /// Empty: everybody is served.
    verifiers: Verifiers,
    votes: BTreeMap<u64, Vote>,
    plain: Vec<u8>,
}

impl Arbiter {
    /// An arbiter that starts now; `random` gives another number each time.
    pub fn new(now: Time, terms: &Terms, mut random: impl FnMut() -> u64) -> Self {
        let mut verifiers = Verifiers::new();
        for (pair, keys) in &terms.pairs {
            for name in [Name::A, Name::B] {
                let made = guard(Some(keys), *pair, End::Arbiter, End::Node(name), random());
                verifiers.insert((*pair, name), made);
            }
        }
        let (votes, plain) = (BTreeMap::new(), Vec::new());
        Self { started: now, promise_max: terms.promise_max, verifiers, votes, plain }
    }

    /// Pairs that are known, or have asked.
    #[must_use]
    pub fn pairs(&self) -> usize {
        if self.verifiers.is_empty() { self.votes.len() } else { self.verifiers.len() / 2 }
    }

    /// Takes a datagram. `answer` becomes what shall go back, which may be left empty.
    ///
    /// # Errors
    /// Why there is no vote.
    pub fn step(
        &mut self,
        now: Time,
        bytes: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<Served, Declined> {
        answer.clear();
        if self.verifiers.is_empty() {
            if let Some((pair, _, [])) = message::enveloped(bytes) {
                *answer = message::present(pair);
                return Ok(Served::Known);
            }
            let (pair, node, stamp, promise) = request(bytes)?;
            let held = self.vote(now, pair, node, promise)?;
            *answer = message::grant(pair, stamp, held);
            return Ok(Served::Vote);
        }
        let (pair, node, sealed) = message::enveloped(bytes).ok_or(Declined::Unreadable)?;
        let (seal, verifier) =
            self.verifiers.get_mut(&(pair, node)).ok_or(Declined::UnknownPair)?;
        let plain = verifier.open(now, sealed, answer).map_err(Declined::Refused)?;
        let seal = seal.clone();
        if plain.is_empty() {
            // A greeting of the channel goes first; the next one that comes is told.
            if answer.is_empty() {
                *answer = seal.seal(&message::present(pair)).into_owned();
            }
            return Ok(Served::Known);
        }
        self.plain.clear();
        self.plain.extend_from_slice(plain);
        let (named, by, stamp, promise) = request(&self.plain)?;
        if (named, by) != (pair, node) {
            return Err(Declined::Unreadable);
        }
        let held = self.vote(now, pair, node, promise)?;
        *answer = seal.seal(&message::grant(pair, stamp, held)).into_owned();
        Ok(Served::Vote)
    }

    /// Gives the vote; for how long nobody else has had it.
    fn vote(
        &mut self,
        now: Time,
        pair: u64,
        node: Name,
        promise: Duration,
    ) -> Result<Duration, Declined> {
        if promise > self.promise_max {
            return Err(Declined::LongPromise);
        }
        if now < self.started + promise {
            return Err(Declined::Given);
        }
        if self.votes.len() >= PAIRS_MAX {
            self.votes.retain(|_, vote| vote.until > now);
        }
        match self.votes.get(&pair) {
            None if self.votes.len() >= PAIRS_MAX => Err(Declined::Full),
            Some(vote) if vote.node != node && vote.until > now => Err(Declined::Given),
            vote => {
                let since = vote.filter(|vote| vote.node == node).map_or(now, |vote| vote.since);
                self.votes.insert(pair, Vote { node, until: now + promise, since });
                Ok(now.since(since))
            }
        }
    }
}

fn request(bytes: &[u8]) -> Result<(u64, Name, Time, Duration), Declined> {
    match message::read(bytes) {
        Some((pair, Datagram::Request { node, stamp, promise })) => {
            Ok((pair, node, stamp, promise))
        }
        _ => Err(Declined::Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(pairs: Vec<(u64, Keys)>) -> Terms {
        Terms { promise_max: Duration::from_secs(1), pairs }
    }

    #[test]
    fn the_vote_goes_to_one_node_until_its_promise_ran_out() {
        let promise = Duration::from_millis(50);
        let ask = |node, at| message::request(1, node, Time::from_millis(at), promise);
        let mut arbiter = Arbiter::new(Time::ZERO, &terms(Vec::new()), || 1);
        let mut asked = |node, at| {
            let mut answer = Vec::new();
            let given = arbiter.step(Time::from_millis(at), &ask(node, at), &mut answer).is_ok();
            assert_eq!(given, !answer.is_empty());
            given
        };
        assert!(!asked(Name::A, 10), "an arbiter that just started may have promised before");
        assert!(asked(Name::A, 60) && asked(Name::A, 80));
        assert!(!asked(Name::B, 120));
        assert!(asked(Name::B, 131) && !asked(Name::A, 140));
    }

    /// What a node with these keys has for the arbiter.
    struct Voter(Name, Seal, Verifier);

    impl Voter {
        fn new(keys: &str, name: Name, life: u64) -> Self {
            let keys = Keys::parse(keys).unwrap();
            let (seal, verifier) = guard(Some(&keys), 7, End::Node(name), End::Arbiter, life);
            Self(name, seal, verifier)
        }

        fn ask(&self, at: u64, promise_ms: u64) -> Vec<u8> {
            let promise = Duration::from_millis(promise_ms);
            let plain = message::request(7, self.0, Time::from_millis(at), promise);
            message::envelope(7, self.0, &self.1.seal(&plain))
        }
    }

    const KEY: &str = "the key of pair seven";
    const OTHER: &str = "the key of pair eight";

    #[test]
    fn only_the_nodes_of_a_known_pair_are_heard_once_and_for_a_bounded_promise() {
        let pairs = [(7, KEY), (8, OTHER)].map(|(n, key)| (n, Keys::parse(key).unwrap()));
        let mut lives = 1_000;
        let mut arbiter = Arbiter::new(Time::ZERO, &terms(pairs.to_vec()), || {
            lives += 1_000;
            lives
        });
        let mut voter = Voter::new(KEY, Name::A, 5);
        let mut answer = Vec::new();
        let mut step = |at: u64, bytes: &[u8], answer: &mut Vec<u8>| {
            arbiter.step(Time::from_millis(at), bytes, answer)
        };
        // What is not sealed, sealed by another pair, or for one that nobody knows.
        let plain = message::request(7, Name::B, Time::from_millis(1), Duration::from_secs(60));
        assert_eq!(step(2_000, &plain, &mut answer), Err(Declined::Unreadable));
        let forged = message::envelope(7, Name::B, &plain);
        assert_eq!(step(2_001, &forged, &mut answer), Err(Declined::Refused(Refused::Unsealed)));
        let stranger = Voter::new(OTHER, Name::B, 6).ask(2_000, 60_000);
        assert_eq!(step(2_002, &stranger, &mut answer), Err(Declined::Refused(Refused::Forged)));
        let unknown = message::envelope(9, Name::A, b"whatever");
        assert_eq!(step(2_003, &unknown, &mut answer), Err(Declined::UnknownPair));
        assert!(answer.is_empty());
        // A node that just started is greeted, then heard.
        let early = voter.ask(2_004, 50);
        assert_eq!(step(2_004, &early, &mut answer), Err(Declined::Refused(Refused::Unproved)));
        let _ = voter.2.open(Time::from_millis(2_005), &answer.clone(), &mut answer);
        let first = voter.ask(2_006, 50);
        assert_eq!(step(2_006, &first, &mut answer), Ok(Served::Vote));
        let (plain, mut back) = (answer.clone(), Vec::new());
        let grant = voter.2.open(Time::from_millis(2_006), &plain, &mut back).unwrap();
        assert!(matches!(
            message::read(grant),
            Some((7, Datagram::Grant { stamp, .. })) if stamp == Time::from_millis(2_006)
        ));
        // Played again it renews nothing; too long a promise is not given.
        for bytes in [&early, &first] {
            assert!(step(2_010, bytes, &mut answer).is_err() && answer.is_empty());
        }
        let long = voter.ask(2_011, 60_000);
        assert_eq!(step(2_011, &long, &mut answer), Err(Declined::LongPromise));
        let mut other = Voter::new(KEY, Name::B, 9);
        let _ = step(2_040, &other.ask(2_040, 50), &mut answer);
        let _ = other.2.open(Time::from_millis(2_040), &answer.clone(), &mut answer);
        assert_eq!(step(2_050, &other.ask(2_050, 50), &mut answer), Err(Declined::Given));
        let got = step(2_057, &other.ask(2_057, 50), &mut answer);
        assert_eq!(got, Ok(Served::Vote), "it ran out in time");
        // Who makes himself known is told that the arbiter is there, and gets no vote by it.
        let known = message::envelope(7, Name::A, &voter.1.seal(&[]));
        assert_eq!(step(2_060, &known, &mut answer), Ok(Served::Known));
        let told = voter.2.open(Time::from_millis(2_060), &answer, &mut back).unwrap();
        assert!(matches!(message::read(told), Some((7, message::Datagram::Present))));
    }

    #[test]
    fn pairs_that_were_invented_take_a_bounded_number_of_places() {
        let mut arbiter = Arbiter::new(Time::ZERO, &terms(Vec::new()), || 1);
        let mut answer = Vec::new();
        let now = Time::from_millis(5_000);
        for pair in 0..2_000 {
            let ask = message::request(pair, Name::A, now, Duration::from_millis(500));
            let given = arbiter.step(now, &ask, &mut answer).is_ok();
            assert_eq!(given, pair < PAIRS_MAX as u64);
        }
        assert_eq!(arbiter.pairs(), PAIRS_MAX);
    }
}
