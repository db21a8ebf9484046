//! What a flow can do in a step: everything it wants of others passes here.

use crate::centre::Stored;
use crate::effects::{Body, Out, Record, Route, Sending, Sent};
use crate::metrics::Metric;
use crate::settings::{Hlr, Settings};
use crate::shared::{Held, Shared};
use crate::store::{Key, Limit, Question, Row, Waiting};
use bytes::Bytes;
use machine::{Duration, Time};
use map::Operation;
use mapsms::argument::Argument;
use mapsms::asking::Asking;
use mapsms::identity::Msisdn;
use mapsms::informed::MwStatus;
use mapsms::invoked::Refused;
use mapsms::subscribers::Turn;
use sccp::codec::{Address, Digits, Title};
use smsdiameter::{Charge, HomeQuestion, PeerQuestion};
use tcu::{Code, Component, Portion, Request};

/// No flow: nobody waits for that answer.
pub(crate) const NOBODY: u64 = u64::MAX;
/// What has less time is not begun: it would be cut off, and whoever was asked might have done it.
const TRIED_LEAST: Duration = Duration::from_secs(5);
/// A message stays in the store beyond its validity until its end is dealt with.
pub(crate) const KEPT_BEYOND: Duration = Duration::from_secs(86_400);

/// The operation of a peer that is answered, in a dialogue of the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The dialogue.
    pub dialogue: u64,
    /// Version of its context.
    pub version: u8,
    /// The invoke.
    pub invoke: i8,
    /// The operation.
    pub operation: Operation,
}

/// A step of one flow.
pub struct Step<'a> {
    /// Now.
    pub now: Time,
    /// The flow.
    pub flow: u64,
    /// Its trail in the service assurance.
    pub trail: u64,
    /// Everything else.
    pub shared: &'a mut Shared,
    /// What shall be done.
    pub out: &'a mut Vec<Out>,
}

impl Step<'_> {
    /// How the gateway is set up.
    pub const fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Counts.
    pub fn count(&self, metric: Metric) {
        self.shared.metrics.add(metric, 1);
    }

    /// Answers a request of SIP.
    pub fn respond(&mut self, transaction: u64, status: u16) {
        self.out.push(Out::Respond { transaction, status });
    }

    /// Asks the store.
    pub fn store(&mut self, question: Question) {
        self.out.push(Out::Ask { ticket: self.flow, question });
    }

    /// Asks the home subscriber server.
    pub fn ask_home(&mut self, question: HomeQuestion) {
        self.out.push(Out::AskHome { ticket: self.flow, question });
    }

    /// Has messages debited.
    pub fn charge(&mut self, charge: Charge) {
        self.out.push(Out::Charge { ticket: self.flow, charge, is_refund: false });
    }

    /// Has messages refunded that were debited.
    pub fn refund(&mut self, charge: Charge) {
        self.out.push(Out::Charge { ticket: self.flow, charge, is_refund: true });
    }

    /// Wants messages for a subscriber tried when the terminal of that identity can be reached.
    pub fn watch(&mut self, identity: &str, msisdn: &Msisdn) {
        if self.settings().home.reachability {
            let (identity, msisdn) = (identity.to_owned(), msisdn.clone());
            let question = HomeQuestion::Reachability { identity, msisdn };
            self.out.push(Out::AskHome { ticket: NOBODY, question });
        }
    }

    /// The flow is due after that time, or when whoever asked is to be answered at the latest.
    pub fn arm(&mut self, time: Duration) {
        let latest = self.shared.latest(self.flow);
        let at = latest.map_or(self.now + time, |it| it.min(self.now + time));
        self.shared.arm(self.flow, at);
    }

    /// Whether one more thing may be tried before whoever asked is to be answered.
    pub fn may_try(&self) -> bool {
        self.shared.latest(self.flow).is_none_or(|it| self.now + TRIED_LEAST <= it)
    }

    /// Asks the network.
    pub fn ask(&mut self, argument: Argument, to: Address) -> Asking {
        self.ask_for(None, argument, to)
    }

    /// Asks the network; a node for a subscriber, whose home subscriber server may have named it.
    pub fn ask_for(&mut self, of: Option<&Msisdn>, argument: Argument, to: Address) -> Asking {
        let from = self.settings().address;
        let place = self.shared.known.place(&self.shared.settings, &argument, &to, of);
        if let Some(place) = place {
            let reference = self.shared.reference_by_diameter(self.flow);
            let mut asking = Asking::new(argument.clone(), to, from, None);
            asking.reference = reference;
            let question = PeerQuestion { reference, argument, place };
            self.out.push(Out::AskPeer(Box::new(question)));
            return asking;
        }
        let known = self.shared.known_version(&to, argument.context().0);
        let mut asking = Asking::new(argument, to, from, known);
        let reference = self.shared.reference(self.flow);
        let begin = asking.begin(reference, self.settings().begin_octets_max);
        self.shared.request(self.flow, begin, self.out);
        asking
    }

    /// The HLR of a subscriber; none where it is never asked.
    pub fn hlr(&self, msisdn: &Msisdn) -> Option<Address> {
        match &self.settings().network(msisdn)?.hlr {
            Hlr::Suppressed => None,
            Hlr::Address(address) => Some(**address),
            Hlr::Number(translation_type) => {
                let title = Title::e164(Digits::parse(msisdn.digits())?);
                let title = Title { translation_type: *translation_type, ..title };
                Some(Address::title(title, self.settings().subsystems.hlr))
            }
        }
    }

    /// Whoever has that number.
    pub fn titled(number: &Msisdn, subsystem: u8) -> Option<Address> {
        Some(Address::title(Title::e164(Digits::parse(number.digits())?), subsystem))
    }

    /// Sends a MESSAGE.
    pub fn send(&mut self, attempt: u8, to: &str, route: Route, answers: Option<&str>, body: Body) {
        let number = Sent { flow: self.flow, attempt };
        let call_id = self.shared.calls.call_id(number);
        let in_reply_to = answers.map(ToOwned::to_owned);
        let to = to.to_owned();
        let trail = self.trail;
        let sending = Sending { number, to, route, call_id, in_reply_to, body, trail };
        self.out.push(Out::Send(Box::new(sending)));
    }

    /// Answers an operation of a peer, and ends its dialogue.
    pub fn answer(&mut self, asked: Asked, answer: Result<Option<Bytes>, Refused>) {
        self.answer_and_tell(asked, answer, None);
    }

    /// The same, with what the service centre is told of the messages that wait (TS 29.002 §12.6).
    pub fn answer_and_tell(
        &mut self,
        asked: Asked,
        answer: Result<Option<Bytes>, Refused>,
        told: Option<&MwStatus>,
    ) {
        let code = Code::Local(asked.operation.code());
        let component = match answer {
            Ok(value) => Component::Result {
                id: asked.invoke,
                is_last: true,
                result: value.map(|it| (code, Some(it))),
            },
            Err(refused) => refused.component(asked.invoke),
        };
        // Version 1 knows nothing of that.
        let told = told.filter(|_| asked.version > 1).map(MwStatus::component);
        let portion = Portion::of(told.into_iter().chain([component]).collect());
        self.shared.forget(asked.dialogue);
        let end = Request::End { dialogue: asked.dialogue, is_prearranged: false, portion };
        self.out.push(Out::Request(Box::new(end)));
    }

    /// Answers an operation of a peer, whose dialogue goes on.
    pub fn answer_on(&mut self, asked: Asked, value: Option<Bytes>) {
        let code = Code::Local(asked.operation.code());
        let result = value.map(|it| (code, Some(it)));
        let portion =
            Portion::of(vec![Component::Result { id: asked.invoke, is_last: true, result }]);
        let request = Request::Continue { dialogue: asked.dialogue, state: None, portion };
        self.out.push(Out::Request(Box::new(request)));
    }

    /// Wants to change a row of a number: whether it is this flow's turn. It is released when the
    /// flow is over, or holds another one.
    pub fn hold(&mut self, msisdn: &Msisdn, what: Held) -> Turn {
        self.shared.hold(self.flow, msisdn, what)
    }

    /// Is done with the row that it holds.
    pub fn release(&mut self) {
        self.shared.release(self.flow);
    }

    /// Whether a service centre may wait to hear of a subscriber of whom these do already, as one
    /// with that title says.
    pub fn may_wait(
        &mut self,
        asker: &Msisdn,
        msisdn: &Msisdn,
        centre: &Msisdn,
        waiting: &Waiting,
    ) -> bool {
        let is_known = waiting.centres.contains(centre);
        let may = is_known
            || self.settings().is_allowed(centre.digits())
                && self.shared.waiting.has_room(msisdn)
                && self.admit(Limit::Waiter, asker);
        if !may {
            self.count(Metric::SharesRefused);
        }
        may
    }

    /// Has stored who waits to hear of a subscriber.
    pub fn keep_waiting(&mut self, msisdn: &Msisdn, waiting: Waiting) {
        let time = self.settings().waiting_time;
        self.shared.waiting.put(self.now, msisdn, (), time);
        self.store(Question::Put(Key::Waiting(msisdn.clone()), Row::Waiting(waiting), time));
    }

    /// Nobody waits to hear of a subscriber any more.
    pub fn taken(&mut self, msisdn: &Msisdn) {
        self.shared.waiting.take(msisdn);
    }

    /// Takes a dialogue of a peer whose operation is to come.
    pub fn accept(&mut self, dialogue: u64) {
        let portion = Portion::default();
        let request = Request::Continue { dialogue, state: None, portion };
        self.out.push(Out::Request(Box::new(request)));
    }

    /// Says what became of a message.
    pub fn record(&mut self, record: Record) {
        self.out.push(Out::Record(Box::new(record)));
    }

    /// Begins another flow, which alerts a service centre.
    pub fn alert(&mut self, msisdn: &Msisdn, centre: &Msisdn) {
        self.shared.alert(msisdn.clone(), centre.clone());
    }

    /// A place at the centre for one more message of a sender for a receiver.
    pub fn reserve(&mut self, to: &Msisdn, sender: Option<&Msisdn>) -> Option<u64> {
        let number = self.shared.centre.reserve(to, sender, self.now);
        if number.is_none() {
            self.count(Metric::Full);
        }
        number
    }

    /// Has a message stored that has a place.
    pub fn keep(&mut self, number: u64, stored: &Stored) {
        let time = stored.until.since(self.now) + KEPT_BEYOND;
        self.store(Question::Put(Key::Message(number), Row::Message(stored.clone()), time));
    }

    /// A message is stored: it waits for its turn.
    pub fn insert(&mut self, number: u64, stored: Stored) {
        let to = stored.to.clone();
        let before = self.retry(&to);
        self.shared.centre.insert(number, stored, self.now);
        self.tell_retry(&to, before);
    }

    /// A message that has a place is not to be kept, whatever the store has of it.
    pub fn give_up(&mut self, number: u64, stored: &Stored) {
        self.shared.centre.release(&stored.to, stored.sender.as_ref());
        let question = Question::Take(Key::Message(number));
        self.out.push(Out::Ask { ticket: NOBODY, question });
    }

    /// A row that was put is not to stand.
    pub fn undo(&mut self, key: Key) {
        self.out.push(Out::Ask { ticket: NOBODY, question: Question::Take(key) });
    }

    /// A message is dealt with to its end.
    pub fn done(&mut self, number: u64) {
        let Some(to) = self.shared.centre.at(number).map(|it| it.to.clone()) else { return };
        let before = self.retry(&to);
        self.shared.centre.done(number, self.now);
        self.tell_retry(&to, before);
    }

    /// A message was not delivered this time.
    pub fn postponed(&mut self, to: &Msisdn, why: &'static str) {
        let before = self.retry(to);
        self.shared.centre.postponed(to, self.now, why);
        self.tell_retry(to, before);
    }

    /// Whether more than one message of a receiver wait.
    pub fn has_more(&self, to: &Msisdn) -> bool {
        self.shared.centre.has_more(to)
    }

    /// A receiver can be reached.
    pub fn reachable(&mut self, to: &Msisdn) {
        let before = self.retry(to);
        self.shared.centre.reachable(to, self.now);
        self.tell_retry(to, before);
    }

    /// All receivers are to be tried.
    pub fn retry_all(&mut self) {
        let begun = self.shared.centre.retry_all(self.now);
        self.tell_begun(begun);
    }

    /// A next hop takes messages: those that found none are tried.
    pub fn next_hop(&mut self) {
        let begun = self.shared.centre.next_hop(self.now);
        self.tell_begun(begun);
    }
}
