//! Which trail a message of Diameter is a leg of: that of the flow that asks or answers, so that
//! SIP, MAP and Diameter stand on one ladder.
//!
//! ```text
//!   ask, ask_peer, charge ─→ (Session-Id, trail of the flow) ─┐
//!   Event::Asked ─→ is_leg ─→ (Session-Id, trail of the flow) ┴─→ trail_of ─→ Capture
//! ```
//! What is no flow's has a trail of its own, by its session; what only keeps a connection up has
//! that of the connection.

use diameter::codec::Message;
use diameter::rows::base::{BASE, SESSION_ID};
use diameter_stack::Passed;
use machine::KeyedHash;
use std::collections::{BTreeMap, VecDeque};

/// Sessions whose trail is known at once; of more the oldest are trails of their own.
const SESSIONS_MAX: usize = 65_536;

/// A session, and whether it began here: nobody names a session of ours.
type Session = (bool, Vec<u8>);

/// The trails of sessions under way.
#[derive(Debug)]
pub(crate) struct Legs {
    trails: BTreeMap<Session, u64>,
    /// In the order in which they were known; those that are over stay until their turn.
    order: VecDeque<Session>,
    hash: KeyedHash,
}

fn session<'a>(message: &Message<'a>) -> &'a [u8] {
    message.avps().find(&SESSION_ID).map(|it| it.data).unwrap_or_default()
}

impl Legs {
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        let seed: [u8; 16] = core::array::from_fn(|n| seed[n] ^ 0x5a);
        let (trails, order) = (BTreeMap::new(), VecDeque::new());
        Self { trails, order, hash: KeyedHash::new(&seed) }
    }

    /// A request is a leg of that trail, and its answer will be.
    pub(crate) fn is_of(&mut self, octets: &[u8], is_own: bool, trail: u64) {
        let Ok(message) = Message::read(octets) else { return };
        let key = (is_own, session(&message).to_vec());
        if self.trails.insert(key.clone(), trail).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > SESSIONS_MAX
            && let Some(first) = self.order.pop_front()
        {
            self.trails.remove(&first);
        }
    }

    /// The trail of a message that passed, and whether that is of a session.
    pub(crate) fn trail_of(&mut self, passed: &Passed) -> u64 {
        let Ok(message) = Message::read(&passed.octets) else {
            return self.hash.hash(&passed.connection.to_be_bytes());
        };
        if message.header.application == BASE.id {
            return self.hash.hash(&passed.connection.to_be_bytes());
        }
        let is_own = passed.is_sent == message.is_request();
        let key = (is_own, session(&message).to_vec());
        let known = match message.is_request() {
            true => self.trails.get(&key).copied(),
            false => self.trails.remove(&key),
        };
        known.unwrap_or_else(|| self.hash.hash(&key.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use diameter::codec::Writer;
    use diameter::row::{Application, Command};
    use diameter::rows::{base, sgd};

    fn message(of: (&Application, &Command), name: &str, is_request: bool) -> Vec<u8> {
        let mut octets = Vec::new();
        Writer::request(&mut octets, of.1, of.0.id).put(&SESSION_ID, name).end().unwrap();
        if !is_request {
            let header = Message::read(&octets).unwrap().header;
            octets.clear();
            Writer::answer(&mut octets, &header).put(&SESSION_ID, name).end().unwrap();
        }
        octets
    }

    fn passed(octets: &[u8], is_sent: bool, connection: u64) -> Passed {
        let end = "192.0.2.1:3868".parse().unwrap();
        let octets = octets.to_vec().into();
        Passed { is_sent, ends: (end, end), protocol: hep::TCP, connection, octets }
    }

    #[test]
    fn both_ways_of_a_session_are_a_leg_of_the_flow_that_has_it_and_nobody_elses() {
        let of = (&sgd::SGD, &sgd::MO_FORWARD_SHORT_MESSAGE);
        let [asked, answered] = [true, false].map(|it| message(of, "sms1;1;2", it));
        let mut legs = Legs::new(&[7; 32]);
        legs.is_of(&asked, true, 5);
        legs.is_of(&message(of, "sc1;1;1", true), false, 6);
        assert_eq!(legs.trail_of(&passed(&asked, true, 1)), 5);
        // A peer that names a session of ours comes into none of our trails.
        assert_ne!(legs.trail_of(&passed(&asked, false, 1)), 5);
        assert_eq!(legs.trail_of(&passed(&answered, false, 2)), 5);
        let served = message(of, "sc1;1;1", false);
        assert_eq!(legs.trail_of(&passed(&served, true, 1)), 6);
        // It is over: what comes once more has a trail of its own, each time the same.
        let again = legs.trail_of(&passed(&answered, false, 2));
        assert_ne!(again, 5);
        assert_eq!(legs.trail_of(&passed(&answered, false, 3)), again);
    }

    #[test]
    fn what_keeps_a_connection_up_is_of_the_connection_and_sessions_are_bounded() {
        let watchdog = message((&base::BASE, &base::DEVICE_WATCHDOG), "", true);
        let mut legs = Legs::new(&[7; 32]);
        let [one, other] = [1, 2].map(|it| legs.trail_of(&passed(&watchdog, true, it)));
        assert_ne!(one, other);
        assert_eq!(legs.trail_of(&passed(&watchdog, false, 1)), one);
        let of = (&sgd::SGD, &sgd::MO_FORWARD_SHORT_MESSAGE);
        for n in 0..=SESSIONS_MAX {
            legs.is_of(&message(of, &n.to_string(), true), true, 9);
        }
        assert_eq!((legs.trails.len(), legs.order.len()), (SESSIONS_MAX, SESSIONS_MAX));
    }
}
