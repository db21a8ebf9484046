//! What whoever serves next is told beside the rows that stand anyway, where there is a standby:
//! how a message was sent, how receivers are tried, what came already, what of limits is used.

use crate::centre::{Retry, Stored};
use crate::effects::{Out, Sent};
use crate::metrics::Metric;
use crate::step::{KEPT_BEYOND, NOBODY, Step};
use crate::store::{Done, Flight, Key, Limit, Question, Row, Submitted};
use machine::Time;
use mapsms::identity::Msisdn;
use mapsms::senders::Asked;

impl Step<'_> {
    /// Has a row changed; nobody waits for that.
    fn tell(&mut self, question: Question) {
        self.out.push(Out::Ask { ticket: NOBODY, question });
    }

    /// Whether one more passes of what somebody may do, which is counted then: also by whoever
    /// serves next, but for one that comes alone.
    pub fn admit(&mut self, limit: Limit, whose: &Msisdn) -> bool {
        let now = self.now;
        let buckets = self.shared.buckets(limit);
        if !buckets.admit(now, whose) {
            return false;
        }
        let used = buckets.used_until(now, whose).filter(|_| self.settings().has_standby);
        if let Some(until) = used {
            let key = Key::Used(limit, whose.clone());
            self.tell(Question::Put(key, Row::Used(until), until.since(now)));
        }
        true
    }

    /// The same of a sender; too many are counted.
    pub fn may_send(&mut self, sender: &Msisdn) -> bool {
        let may = self.admit(Limit::Sender, sender);
        if !may {
            self.count(Metric::Limited);
        }
        may
    }

    pub(crate) fn retry(&self, to: &Msisdn) -> Option<Retry> {
        self.shared.centre.retry(to)
    }

    /// Whoever serves next goes on with the plan of a receiver where it is now.
    pub(crate) fn tell_retry(&mut self, to: &Msisdn, before: Option<Retry>) {
        let after = self.retry(to);
        if !self.settings().has_standby || before == after {
            return;
        }
        let key = Key::Retry(to.clone());
        self.tell(match after {
            Some(retry) => {
                let time = retry.due.since(self.now) + KEPT_BEYOND;
                Question::Put(key, Row::Retry(retry), time)
            }
            None => Question::Take(key),
        });
    }

    /// The plans of these receivers begin anew, there too.
    pub(crate) fn tell_begun(&mut self, receivers: Vec<Msisdn>) {
        if self.settings().has_standby {
            receivers.into_iter().for_each(|it| self.tell(Question::Take(Key::Retry(it))));
        }
    }

    /// A message is sent, and its report to come: whoever goes on with it elsewhere is told how.
    /// False: nobody may have to.
    pub fn depart(&mut self, number: u64, reference: u8, identity: &str, is_debited: bool) -> bool {
        let has_standby = self.settings().has_standby;
        if has_standby {
            let sent = Sent { flow: self.flow, attempt: 0 };
            let proof = self.shared.calls.proof(sent);
            let identity = identity.to_owned();
            let flow = self.flow;
            let flight = Row::Flight(Flight { flow, proof, reference, identity, is_debited });
            let time = self.settings().report_time + KEPT_BEYOND;
            self.tell(Question::Put(Key::Flight(number), flight, time));
        }
        has_standby
    }

    /// Has stored in the place of a message that it is dealt with, so that whoever serves next
    /// knows it when it comes again. False: nobody may have to, or it is too old to come again.
    pub fn mark_done(&mut self, number: u64, stored: &Stored) -> bool {
        let until = stored.received + self.settings().duplicate_time;
        if !self.settings().has_standby || stored.sum == 0 || until <= self.now {
            return false;
        }
        let done = Row::Done(Done { sum: stored.sum, received: stored.received });
        self.store(Question::Put(Key::Message(number), done, until.since(self.now)));
        true
    }

    /// A service centre is asked to take a message of a terminal that came now: whoever serves next
    /// knows that, should it come again. When it came, if anybody may have to know.
    pub fn mark_asked(&mut self, sum: u64, is_debited: bool) -> Option<Time> {
        let received = self.now;
        let row = Submitted { received, is_debited, report: None };
        let time = self.settings().duplicate_time;
        self.settings().has_standby.then(|| {
            self.tell(Question::Put(Key::Submission(sum), Row::Submission(row), time));
            received
        })
    }

    /// A message of which that was told is being reported. False: it is too old to come again.
    pub fn mark_reported(&mut self, sum: u64, received: Time, report: &[u8]) -> bool {
        let until = received + self.settings().duplicate_time;
        if until <= self.now {
            return false;
        }
        let row = Submitted { received, is_debited: false, report: Some(report.to_vec()) };
        let time = until.since(self.now);
        self.store(Question::Put(Key::Submission(sum), Row::Submission(row), time));
        true
    }

    /// The service centre has not answered of such a message.
    pub fn mark_unanswered(&mut self, sum: u64, received: Time, asked: Asked) {
        let until = received + self.settings().duplicate_time;
        let row = Submitted { received, is_debited: asked.is_debited, report: None };
        let time = until.since(self.now);
        self.tell(Question::Put(Key::Submission(sum), Row::Submission(row), time));
    }

    /// A message of which that was told is new when it comes again.
    pub fn unmark(&mut self, sum: u64) {
        self.tell(Question::Take(Key::Submission(sum)));
    }
}
