//! A connection as the main thread has it, and what one that controls nothing may keep here.

use crate::control_listener::Challenge;
use crate::ipc::{Broken, LENGTH_OCTETS, Request};
use crate::stream::{Lost, Stream};
use driver::Interest;
use machine::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Octets of answers that wait for who only asks, past which no question of his is taken.
const ANSWERS_OCTETS_MAX: usize = 1 << 20;
/// Octets of a message of whoever does not control: questions and proofs are short.
const QUESTION_OCTETS_MAX: usize = 64 << 10;

/// Time for a newcomer to prove the key, in which others of its user give way before it.
const GRACE: Duration = Duration::from_secs(1);

/// A connection.
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) is_control: bool,
    /// Of a control that leads by one, and of its packet channels.
    pub(crate) epoch: Option<u64>,
    /// Whose process it was that connected.
    pub(crate) user: u32,
    /// Of the forwarder's own user, or of root.
    pub(crate) is_own: bool,
    /// When it came.
    pub(crate) since: Time,
    pub(crate) challenge: Option<Challenge>,
}

impl Connection {
    /// Whether so much waits for the other side that nothing is taken from it until it reads.
    pub(crate) fn is_full(&self) -> bool {
        !self.is_control && self.stream.waiting() > ANSWERS_OCTETS_MAX
    }

    /// Whether a whole message waits: nothing more is read before it had its turn.
    pub(crate) fn has_turn(&self) -> bool {
        self.stream.has_message()
    }

    /// The next message that may be taken.
    ///
    /// # Errors
    /// When it is none, or longer than somebody may say who does not control.
    pub(crate) fn next(&mut self) -> Result<Option<Request>, Lost> {
        if !self.is_control && self.stream.is_slow() {
            return Err(Lost::Costly);
        }
        if self.is_full() {
            return Ok(None);
        }
        let octets = self.stream.next_octets();
        if !self.is_control && octets > QUESTION_OCTETS_MAX + LENGTH_OCTETS {
            return Err(Broken::Long(octets).into());
        }
        self.stream.next()
    }

    /// What the poll is to wait for.
    pub(crate) fn interest(&self) -> Interest {
        if self.is_full() {
            Interest::Write
        } else if self.stream.waiting() > 0 || self.has_turn() {
            // What is whole and waits for its turn is no reason to sleep.
            Interest::ReadWrite
        } else {
            Interest::Read
        }
    }
}

/// Brings what is ready into the order in which it is served: the control first, others after the
/// one that was served last.
pub(crate) fn in_turn(ready: &mut [u64], control: Option<u64>, served: u64) {
    ready.sort_unstable_by_key(|it| (Some(*it) != control, *it <= served, *it));
}

/// Which connection gives way to a newcomer, so that nobody who may open the socket keeps a control
/// out by holding all places: none that controls or has a packet channel, one that has proved
/// nothing if there is any, of the user who holds most, the oldest that had time to prove.
pub(crate) fn gives_way<T>(
    connections: &BTreeMap<u64, Connection>,
    channels: &BTreeMap<u64, T>,
    now: Time,
) -> Option<u64> {
    let others = connections.iter();
    let others = others.filter(|(number, it)| !it.is_control && !channels.contains_key(number));
    let is_proven = |it: &Connection| it.challenge.as_ref().is_some_and(Challenge::is_proven);
    let mut held: BTreeMap<u32, usize> = BTreeMap::new();
    others.clone().for_each(|(_, it)| *held.entry(it.user).or_default() += 1);
    let key = |(number, it): &(&u64, &Connection)| {
        let is_new = it.challenge.is_some() && now < it.since + GRACE;
        (is_proven(it), Reverse(held[&it.user]), it.user, is_new, **number)
    };
    others.min_by_key(key).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn connection(user: u32, since: u64) -> Connection {
        let (socket, _) = UnixStream::pair().unwrap();
        let (stream, since) = (Stream::new(socket).unwrap(), Time::from_millis(1_000 * since));
        let challenge = Some(Challenge::default());
        let (is_control, epoch, is_own) = (false, None, false);
        Connection { stream, is_control, epoch, user, is_own, since, challenge }
    }

    #[test]
    fn who_holds_most_gives_way_first_and_who_just_came_last() {
        // The first is of another user, the third has a packet channel, the fifth controls.
        let users = [7, 8, 8, 8, 8, 8];
        let mut all: BTreeMap<u64, Connection> =
            (0..).zip(users).map(|(number, user)| (number, connection(user, number))).collect();
        all.get_mut(&4).unwrap().is_control = true;
        let channels = BTreeMap::from([(2, ())]);
        let at = |second: u64| Time::from_millis(1_000 * second);
        let goes = |all: &BTreeMap<_, _>, second| gives_way(all, &channels, at(second));
        assert_eq!(goes(&all, 10), Some(1), "not the oldest of all");
        all.get_mut(&1).unwrap().since = at(10);
        assert_eq!(goes(&all, 10), Some(3), "it may yet prove the key");
        assert_eq!(goes(&all, 11), Some(1));
        all.retain(|number, _| [0, 2, 4].contains(number));
        assert_eq!(goes(&all, 11), Some(0));
        all.remove(&0);
        assert_eq!(goes(&all, 11), None);
    }

    #[test]
    fn the_control_is_served_first_and_others_in_turn() {
        let in_turn = |served| {
            let mut ready = [3, 1, 9, 4, 7];
            in_turn(&mut ready, Some(7), served);
            ready
        };
        assert_eq!(in_turn(3), [7, 4, 9, 1, 3]);
        assert_eq!(in_turn(9), [7, 1, 3, 4, 9]);
    }
}
