//! What the store is asked, as octets, and what stood in it when it was opened.

use crate::centre::Retry;
use crate::effects::{In as Input, Out as Output};
use crate::function::ShortMessageGateway;
use crate::store::{Flight, Key, Question, Row, Submitted};
use crate::wire::SipMetric;
use keyed::Promise;
use machine::{Machine as _, Time};
use mapsms::identity::Msisdn;
use mapsms::rows::{CORRELATIONS, FLIGHTS, LIMITS, MESSAGES, RETRIES, SUBMISSIONS, WAITING};
use runtime::Effects;
use std::collections::BTreeMap;

/// A question as the store takes it: a message counts as taken when it is on disk.
fn in_octets(now: Time, question: Question) -> keyed::Question {
    match question {
        Question::Get(key) => keyed::Question::Get(key.octets()),
        Question::Take(key) => keyed::Question::Take(key.octets()),
        Question::Put(key, row, time) => {
            // That it is dealt with, too: it is said to the terminal behind that.
            let is_message = matches!(key, Key::Message(_));
            let promise = if is_message { Promise::Disk } else { Promise::Memory };
            let (key, row, until) = (key.octets(), row.octets(), now + time);
            keyed::Question::Put { key, row, until, promise }
        }
    }
}

impl ShortMessageGateway {
    /// Asks the store; the answer has that ticket.
    pub(crate) fn ask_store(&mut self, now: Time, ticket: u64, question: Question) {
        self.store.ask(now, ticket, in_octets(now, question));
    }

    pub(crate) fn row(&self, octets: &[u8]) -> Option<Row> {
        let row = Row::of(octets);
        if row.is_none() {
            self.wire.metrics.add(SipMetric::RowsUnread, 1);
        }
        row
    }

    /// How messages were sent by another node whose reports are to come.
    fn flights(&self, now: Time) -> BTreeMap<u64, Flight> {
        let rows = self.store.beginning(now, FLIGHTS);
        let flights = rows.filter_map(|(key, row, _)| match (Key::of(key), Row::of(row)) {
            (Some(Key::Flight(number)), Some(Row::Flight(flight))) => Some((number, flight)),
            _ => None,
        });
        flights.collect()
    }

    /// How often receivers were tried in vain by another node.
    fn retries(&self, now: Time) -> BTreeMap<Msisdn, Retry> {
        let rows = self.store.beginning(now, RETRIES);
        let retries = rows.filter_map(|(key, row, _)| match (Key::of(key), Row::of(row)) {
            (Some(Key::Retry(to)), Some(Row::Retry(retry))) => Some((to, retry)),
            _ => None,
        });
        retries.collect()
    }

    /// What terminals have sent by another node, in the order in which it came.
    fn submissions(&self, now: Time) -> Vec<(u64, Submitted)> {
        let rows = self.store.beginning(now, SUBMISSIONS);
        let submissions = rows.filter_map(|(key, row, _)| match (Key::of(key), Row::of(row)) {
            (Some(Key::Submission(sum)), Some(Row::Submission(it))) => Some((sum, it)),
            _ => None,
        });
        let mut submissions: Vec<_> = submissions.collect();
        submissions.sort_by_key(|it| it.1.received);
        submissions
    }

    /// What counts for the limits of those who ask and send, and whose correlations are known.
    fn restore_limits(&mut self, now: Time, wanted: &mut Vec<Output>) {
        let gateway = &mut self.gateway;
        for (key, row, until) in self.store.beginning(now, CORRELATIONS) {
            if let (Some(Key::Correlation(imsi)), Some(Row::Correlation(row))) =
                (Key::of(key), Row::of(row))
            {
                gateway.step(now, Input::Given(imsi, row, until), wanted);
            }
        }
        for (key, _, until) in self.store.beginning(now, WAITING) {
            if let Some(Key::Waiting(msisdn)) = Key::of(key) {
                gateway.step(now, Input::Awaited(msisdn, until), wanted);
            }
        }
        for (key, row, _) in self.store.beginning(now, LIMITS) {
            if let (Some(Key::Used(limit, whose)), Some(Row::Used(until))) =
                (Key::of(key), Row::of(row))
            {
                gateway.step(now, Input::Used(limit, whose, until), wanted);
            }
        }
    }

    /// The store is open, and this node serves: messages that stood in it wait again.
    pub(crate) fn restore(&mut self, now: Time, out: &mut Effects) {
        if self.is_restored || self.own.place.is_standby() || !self.store.status().is_open {
            return;
        }
        self.is_restored = true;
        let (mut flights, retries) = (self.flights(now), self.retries(now));
        let mut wanted = Vec::new();
        self.restore_limits(now, &mut wanted);
        for (sum, it) in self.submissions(now) {
            self.gateway.step(now, Input::Submitted(sum, it), &mut wanted);
        }
        let (gateway, metrics) = (&mut self.gateway, &self.wire.metrics);
        for (key, row, _) in self.store.beginning(now, MESSAGES) {
            match (Key::of(key), Row::of(row)) {
                (Some(Key::Message(number)), Some(Row::Message(stored))) => {
                    let flight = flights.remove(&number);
                    let retry = retries.get(&stored.to).copied();
                    let input = Input::Restored { number, stored, flight, retry };
                    gateway.step(now, input, &mut wanted);
                }
                (Some(Key::Message(_)), Some(Row::Done(done))) => {
                    gateway.step(now, Input::Remembered(done), &mut wanted);
                }
                _ => metrics.add(SipMetric::RowsUnread, 1),
            }
        }
        if self.own.part.has_flows() {
            // Those who waited for a next hop elsewhere need not do so here.
            self.told.push_back(Input::NextHop);
        }
        self.carry_out(now, wanted, out);
    }
}
