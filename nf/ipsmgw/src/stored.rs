//! What the store is asked, as octets, and what stood in it when it was opened.

use crate::effects::In as Input;
use crate::function::ShortMessageGateway;
use crate::store::{Flight, Key, Question, Row};
use crate::wire::DoorMetric;
use keyed::Promise;
use machine::{Machine as _, Time};
use mapsms::rows::{FLIGHTS, MESSAGES};
use runtime::Effects;
use std::collections::BTreeMap;

/// A question as the store takes it: a message counts as taken when it is on disk.
fn in_octets(now: Time, question: Question) -> keyed::Question {
    match question {
        Question::Get(key) => keyed::Question::Get(key.octets()),
        Question::Take(key) => keyed::Question::Take(key.octets()),
        Question::Put(key, row, time) => {
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
            self.wire.metrics.add(DoorMetric::RowsUnread, 1);
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

    /// The store is open, and this node serves: messages that stood in it wait again.
    pub(crate) fn restore(&mut self, now: Time, out: &mut Effects) {
        if self.is_restored || self.own.place.is_standby() || !self.store.status().is_open {
            return;
        }
        self.is_restored = true;
        let mut flights = self.flights(now);
        let mut wanted = Vec::new();
        let (gateway, metrics) = (&mut self.gateway, &self.wire.metrics);
        for (key, row, _) in self.store.beginning(now, MESSAGES) {
            match (Key::of(key), Row::of(row)) {
                (Some(Key::Message(number)), Some(Row::Message(stored))) => {
                    let flight = flights.remove(&number);
                    gateway.step(now, Input::Restored { number, stored, flight }, &mut wanted);
                }
                _ => metrics.add(DoorMetric::RowsUnread, 1),
            }
        }
        self.carry_out(now, wanted, out);
    }
}
