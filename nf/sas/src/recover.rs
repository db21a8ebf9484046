//! Taking up the trails that ran when the last process ended: their open records, and what the
//! journal holds of them since.

use crate::correlator::Correlator;
use crate::entry::Entry;
use crate::live::Live;
use crate::metrics::Metric;
use crate::protocol::{self, Signal};
use crate::trail::{Kind, Trail};
use machine::Time;
use std::collections::BTreeMap;
use store::{Place, Record, Recovery, Replayed};

impl Correlator {
    /// Replays the journal; the trails go on as if nothing had happened, their patience begins
    /// anew.
    pub(crate) fn recover(&mut self, now: Time, recovery: Recovery) {
        let now_us = now.as_micros();
        let mut slots = BTreeMap::new();
        let outcome = recovery.replay(|item| match item {
            Replayed::Open(record) => {
                if let Some(index) = self.resume(now_us, record) {
                    slots.insert(record.head.id, index);
                }
            }
            Replayed::Entry { place, id, body } => {
                let Some(entry) = Entry::decode(body) else { return };
                let begin = || self.table.insert(Live::new(id, entry.at_us, now_us)).index;
                let index = *slots.entry(id).or_insert_with(begin);
                self.replay(now_us, index, place, &entry);
            }
        });
        if let Err(error) = outcome {
            tracing::error!(%error, "trails that ran before could not all be taken up");
        }
        self.metrics.add(Metric::Recovered, slots.len() as u64);
        self.metrics.set(Metric::Live, self.table.len() as u64);
        for index in slots.into_values() {
            self.arm(index);
        }
    }

    fn resume(&mut self, now_us: u64, record: &Record) -> Option<u32> {
        let trail = Trail::decode(&record.body)?;
        let texts = trail.call_ids.iter().map(|call_id| call_id.as_bytes());
        let legs = texts.map(|it| match trail.kind {
            Kind::Dialogue => self.table.hash_of_dialogue(it),
            _ => self.table.hash(it),
        });
        let legs = legs.collect();
        let mut live = Live::resumed(trail, record.keys.clone(), now_us);
        live.legs = legs;
        Some(self.table.resume(live))
    }

    fn replay(&mut self, now_us: u64, index: u32, place: Place, entry: &Entry<'_>) {
        protocol::read(entry.kind, entry.payload, &mut |message| {
            self.replayed(now_us, index, place, entry, message);
        });
    }

    fn replayed(
        &mut self,
        now_us: u64,
        index: u32,
        place: Place,
        entry: &Entry<'_>,
        message: Option<&dyn Signal>,
    ) {
        self.adopt(index, entry, message);
        let Some(live) = self.table.at(index) else { return };
        live.recognise(entry.payload, entry.source, entry.destination, entry.capture_id);
        if live.trail.places.contains(&place) {
            return;
        }
        live.trail.places.push(place);
        live.trail.retransmissions += u32::from(entry.is_retransmission());
        self.learn(now_us, index, entry, message);
    }
}
