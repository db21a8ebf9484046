//! Questions whose answer the function gives later, because it has to ask another process first.

use crate::control::Reply;
use crate::function::{AskError, Ticket};
use crossbeam_channel::Sender;
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Deferred questions of one shard at once.
pub const DEFERRED_MAX: usize = 64;
/// Time for a deferred answer; whoever asked waits no longer either.
pub const DEFERRED_TIME: Duration = Duration::from_secs(2);

/// Where the answer of a shard goes.
pub(crate) type ReplyTo = Sender<(u16, Reply)>;

/// Those that wait. Tickets grow, and all have the same time: the first one is due first.
#[derive(Default)]
pub(crate) struct Deferred {
    own: u16,
    next: u64,
    waiting: BTreeMap<Ticket, (Time, ReplyTo)>,
}

impl Deferred {
    /// Those of this shard.
    pub(crate) fn new(own: u16) -> Self {
        Self { own, ..Self::default() }
    }

    /// A ticket that no question had before.
    pub(crate) fn ticket(&mut self) -> Ticket {
        self.next += 1;
        Ticket(self.next)
    }

    /// Keeps a question, unless too many are kept.
    pub(crate) fn wait(&mut self, now: Time, ticket: Ticket, to: ReplyTo) {
        if self.waiting.len() >= DEFERRED_MAX {
            return give(self.own, &to, Err(AskError::Unreachable));
        }
        self.waiting.insert(ticket, (now + DEFERRED_TIME, to));
    }

    /// Gives an answer to whoever waits for it.
    pub(crate) fn answer(&mut self, ticket: Ticket, answer: Reply) {
        if let Some((_, to)) = self.waiting.remove(&ticket) {
            give(self.own, &to, answer);
        }
    }

    /// When the next question is given up.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.waiting.first_key_value().map(|(_, (until, _))| *until)
    }

    /// Gives up questions whose time is over.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some(first) = self.waiting.first_entry()
            && first.get().0 <= now
        {
            let (_, to) = first.remove();
            give(self.own, &to, Err(AskError::Unreachable));
        }
    }

    /// The function that was to answer is gone.
    pub(crate) fn begin_anew(&mut self) {
        for (_, to) in std::mem::take(&mut self.waiting).into_values() {
            give(self.own, &to, Err(AskError::Unreachable));
        }
    }
}

/// Whoever asked may have given up waiting.
pub(crate) fn give(own: u16, to: &ReplyTo, answer: Reply) {
    let _ = to.send((own, answer));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;

    #[test]
    fn deferred_answers_are_bounded_in_number_and_in_time() {
        let (to, answers) = unbounded();
        let mut deferred = Deferred::new(3);
        let now = Time::from_millis(1);
        let tickets: Vec<Ticket> = (0..=DEFERRED_MAX).map(|_| deferred.ticket()).collect();
        tickets.iter().for_each(|&ticket| deferred.wait(now, ticket, to.clone()));
        assert_eq!(answers.try_recv(), Ok((3, Err(AskError::Unreachable))), "one too many");
        deferred.answer(tickets[7], Ok(serde_json::json!(7)));
        assert_eq!(answers.try_recv(), Ok((3, Ok(serde_json::json!(7)))));
        deferred.answer(tickets[7], Ok(serde_json::json!(8)));
        let due = deferred.deadline().unwrap();
        assert_eq!((due, answers.len()), (now + DEFERRED_TIME, 0), "an answer is given once");
        deferred.expire(due);
        let gone: Vec<_> = answers.try_iter().collect();
        assert_eq!(gone.len(), DEFERRED_MAX - 1);
        assert!(gone.iter().all(|(_, answer)| *answer == Err(AskError::Unreachable)));
        assert_eq!(deferred.deadline(), None);
    }
}
