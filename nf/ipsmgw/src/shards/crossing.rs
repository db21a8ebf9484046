//! What comes from another shard, or came back.

use super::{Part, Work};
use crate::effects::In as Input;
use crate::function::ShortMessageGateway;
use crate::wire::SipMetric;
use machine::Time;
use runtime::Effects;

impl ShortMessageGateway {
    /// Another shard handed this over.
    pub(crate) fn worked(&mut self, now: Time, from: u16, work: &[u8], out: &mut Effects) {
        let Ok(work) = Work::read(work) else { return };
        match (work, &mut self.own.part) {
            (Work::Registered(transaction, register), Part::First(_)) => {
                self.tell(now, Input::Register { transaction, register: *register }, out);
            }
            (Work::Came(transaction, mut message), Part::First(_)) => {
                let answered = message.in_reply_to.as_deref();
                if let Some(trail) = answered.and_then(|it| self.gateway.trail_of(it)) {
                    message.trail = trail;
                    out.hand(from, |to| Work::Trail(transaction, trail).write(to));
                }
                self.tell(now, Input::Message { transaction, message: *message }, out);
            }
            (Work::Answered(number, status), Part::First(first)) => {
                let is_awaited = first.is_awaited(number, from);
                if is_awaited {
                    self.tell(now, Input::Response { number, status }, out);
                }
            }
            (Work::NextHop, Part::First(_)) => self.told.push_back(Input::NextHop),
            (Work::Born, Part::First(first)) => {
                let failed = first.born(from);
                failed.into_iter().for_each(|it| self.unsent(it));
            }
            (Work::Send(sending), Part::Edge(_)) => self.send(now, *sending, out),
            (Work::Respond(transaction, status), Part::Edge(_)) => {
                self.answer_asked(now, transaction, status, out);
            }
            (Work::Trail(transaction, trail), Part::Edge(_)) => {
                if let Some(asked) = self.asked.get_mut(&transaction) {
                    asked.trail = trail;
                }
            }
            (Work::Anew, Part::Edge(edge)) => {
                edge.forget();
                self.leaving.clear();
                for transaction in self.asked.keys().copied().collect::<Vec<_>>() {
                    self.answer_asked(now, transaction, 503, out);
                }
            }
            // What is not said to such a shard.
            _ => {}
        }
    }

    /// A shard did not take this: a request is refused, a message has found no next hop, and what
    /// nobody would say again waits.
    pub(crate) fn handed_back(&mut self, now: Time, to: u16, octets: &[u8], out: &mut Effects) {
        let Ok(work) = Work::read(octets) else { return };
        match (&work, &mut self.own.part) {
            (Work::Registered(transaction, _) | Work::Came(transaction, _), Part::Edge(_)) => {
                self.wire.metrics.add(SipMetric::Overload, 1);
                self.answer_asked(now, *transaction, 503, out);
            }
            (_, Part::Edge(edge)) => edge.owe(now, &work, octets),
            (_, Part::First(first)) => {
                let failed = first.handed_back(now, to, &work);
                failed.into_iter().for_each(|it| self.unsent(it));
            }
            (_, Part::Whole) => {}
        }
    }
}
