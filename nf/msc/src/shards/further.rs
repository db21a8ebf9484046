//! A further shard: the checks and handshakes of its ends.

use super::AGAIN;
use super::work::{Packet, Stands, Work};
use crate::Settings;
use crate::ask::MediaHandshakesRow;
use crate::metrics::Metric;
use anchor::Local;
use event::Metrics;
use handshake::{Came, Change, Ends, Received, What};
use machine::Time;
use packet::datagram::Datagram;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng as _;
use runtime::{Effects, In, Mirrored, Seed};
use std::collections::BTreeMap;

/// A further shard.
pub struct Further {
    shard: u16,
    ends: Ends,
    metrics: Metrics<Metric>,
    /// Whether the first one was told that this one has begun.
    has_said: bool,
    /// What the first one has not taken, of each end: where it is, and its keys.
    owed: BTreeMap<(Local, bool), Vec<u8>>,
    /// When that is said again.
    again: Option<Time>,
}

impl Further {
    /// One without ends; the first shard tells of them.
    pub(crate) fn new(seed: &Seed, settings: &Settings) -> Self {
        let random = ChaCha12Rng::from_seed(seed.random);
        let certificate = settings.certificate.clone();
        let certificate = certificate.map(|it| dtls::Certificate::of(it.der, it.key));
        Self {
            shard: seed.shard,
            ends: Ends::new(seed.now, certificate, random),
            metrics: Metrics::new(),
            has_said: false,
            owed: BTreeMap::new(),
            again: Some(seed.now),
        }
    }

    pub(crate) fn step(&mut self, now: Time, input: &In<'_>, out: &mut Effects) {
        match input {
            In::Work { work, .. } => self.worked(now, work, out),
            In::HandedBack { work, .. } => self.handed_back(now, work),
            _ => {}
        }
    }

    fn worked(&mut self, now: Time, work: &[u8], out: &mut Effects) {
        let came = match Work::read(work) {
            Ok(Work::Anew) => {
                self.owed.clear();
                return self.ends.clear();
            }
            Ok(Work::ForgetAll) => {
                self.owed.clear();
                return self.ends.forget_all();
            }
            Ok(Work::Forget(local)) => {
                self.disown(local);
                return self.ends.forget(local);
            }
            Ok(Work::Stands(it)) => {
                let Stands { end, place, known } = *it;
                self.ends.stands(now, &end, place, known)
            }
            Ok(Work::Packet(it)) => {
                let Packet { of: Stands { end, place, known }, class, is_rtcp, from, to, payload } =
                    *it;
                let Some(place) = place else { return };
                let datagram = &Datagram { from, to, payload: &payload };
                let received = Received { class, datagram, end: &end, place, is_rtcp, known };
                self.ends.packet(now, &received)
            }
            // Nothing else is said to a further one.
            Ok(_) | Err(_) => return,
        };
        self.say(came, out);
    }

    /// Tells the first shard what came of an end. What that counts is counted here.
    fn say(&mut self, came: Came, out: &mut Effects) {
        let Came { sends, changes, failures, unsuited, postponed } = came;
        self.metrics.add(Metric::DtlsFailed, failures);
        self.metrics.add(Metric::DtlsUnsuited, unsuited);
        self.metrics.add(Metric::PacketsPostponed, postponed);
        for it in sends {
            out.hand(0, |to| Work::Send(it).write(to));
        }
        for it in changes {
            // What was agreed on before is of no use any more.
            self.owed.remove(&name(&it));
            out.hand(0, |to| Work::Agreed(it).write(to));
        }
    }

    fn disown(&mut self, local: Local) {
        for is_key in [false, true] {
            self.owed.remove(&(local, is_key));
        }
    }

    /// The first shard did not take this. A datagram is lost, as on its way; what was agreed on is
    /// said again.
    fn handed_back(&mut self, now: Time, work: &[u8]) {
        match Work::read(work) {
            Ok(Work::Born) => self.has_said = false,
            Ok(Work::Agreed(it)) => drop(self.owed.insert(name(&it), work.to_vec())),
            Ok(Work::Send(_)) => return self.metrics.add(Metric::PacketsPostponed, 1),
            Ok(_) | Err(_) => return,
        }
        self.again.get_or_insert(now + AGAIN);
    }

    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        if self.again.is_some_and(|at| at <= now) {
            self.again = None;
            if !std::mem::replace(&mut self.has_said, true) {
                out.hand(0, |to| Work::Born.write(to));
            }
            for (_, work) in std::mem::take(&mut self.owed) {
                out.hand(0, |to| to.extend_from_slice(&work));
            }
        }
        let came = self.ends.tick(now);
        self.say(came, out);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        [self.ends.deadline(), self.again].into_iter().flatten().min()
    }

    /// The first shard has all that a pair tells: this one has nothing to add.
    pub(crate) fn mirrored(input: Mirrored<'_>, out: &mut Effects) {
        if let Mirrored::Snapshot(number) = input {
            out.snapshot_ended = Some(number);
        }
    }

    /// What goes on here.
    pub(crate) fn handshakes(&self) -> MediaHandshakesRow {
        MediaHandshakesRow::of(self.shard, self.ends.len())
    }

    pub(crate) fn metrics(&self) -> &Metrics<Metric> {
        &self.metrics
    }
}

/// By what it is known that something was agreed on: the port of its end, and whether it is keys.
fn name(it: &Change) -> (Local, bool) {
    (it.end.local, matches!(it.what, What::Keys(_)))
}
