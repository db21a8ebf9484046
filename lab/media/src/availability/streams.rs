//! The speech of calls, which follows what is described to their ends: the tester's part of it, and
//! that of who hears of descriptions.

use crate::book::Book;
use crate::calls::Calls;
use anyhow::Context;
use forwarder_bench::{Found, Tester};
use packet_load::{Plan, Trial};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// What is sent before a trial, and does not count.
const WARM: Trial = Trial::Rate { pps: 2_000.0, duration: Duration::from_millis(200) };
/// Whether it is over is looked at so often.
const LOOK: Duration = Duration::from_millis(50);

/// The way to the tester, which has a thread of its own.
pub(super) struct Trials {
    /// How long the next one is.
    pub(super) ask: Sender<Duration>,
    pub(super) found: Receiver<Found>,
}

/// The calls that speak, by their media controllers as they were set up.
pub(super) struct Followers {
    book: Arc<Book>,
    count: u32,
    parts: Vec<Vec<u32>>,
    /// What had been heard when the parts were made.
    known: u64,
    is_over: AtomicBool,
}

impl Followers {
    pub(super) fn new(book: Arc<Book>, count: u32, parts: Vec<Vec<u32>>) -> Self {
        let known = book.changes(0, Duration::ZERO);
        Self { book, count, parts, known, is_over: AtomicBool::new(false) }
    }

    /// What they say where they were told last to say it, and packets a second.
    ///
    /// # Errors
    /// When one of them was not described, or as nobody understands.
    pub(super) fn plan(&self) -> anyhow::Result<(Plan, f64)> {
        let parts = self.book.calls_of(self.count, &self.parts)?;
        let pps = parts.iter().map(|part| part.phones().pps()).sum();
        Ok((together(&parts)?, pps))
    }

    /// Sends the plan anew whenever an end hears something else, until that is over: a call whose
    /// media were agreed on anew goes on as its phone would. What nobody understands is told at the
    /// end by the calls themselves.
    pub(super) fn follow(&self, plans: &Sender<Plan>) {
        let mut known = self.known;
        while !self.is_over.load(Relaxed) {
            let changes = self.book.changes(known, LOOK);
            if core::mem::replace(&mut known, changes) == changes {
                continue;
            }
            if let Ok((plan, _)) = self.plan()
                && plans.send(plan).is_err()
            {
                return;
            }
        }
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }
}

/// The speech of all parts: each stream is named after its media controller, and all phones speak
/// at the same pace.
pub(super) fn together(parts: &[Calls]) -> anyhow::Result<Plan> {
    let mut whole: Option<Plan> = None;
    for (part, number) in parts.iter().zip(1..) {
        let mut plan = part.plan();
        for stream in &mut plan.streams {
            stream.name = format!("{}, msc{number}", stream.name);
        }
        match &mut whole {
            Some(whole) => whole.streams.extend(plan.streams),
            None => whole = Some(plan),
        }
    }
    let mut whole = whole.context("nobody speaks")?;
    let most = whole.streams.iter().map(|stream| stream.flows).max().unwrap_or(1);
    for stream in &mut whole.streams {
        let weight = u64::from(stream.flows) * 1_000 / u64::from(most.max(1));
        stream.weight = u32::try_from(weight.max(1)).unwrap_or(1);
    }
    Ok(whole)
}

/// Trials, as long as somebody asks for them.
pub(super) fn hear(
    tester: &mut Tester,
    pps: f64,
    asked: &Receiver<Duration>,
    tell: &Sender<Found>,
) {
    while let Ok(duration) = asked.recv() {
        // What was announced meanwhile is heard before.
        tester.trial(WARM);
        let found = tester.trial(Trial::Rate { pps, duration });
        if tell.send(found).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Access, Phones};
    use packet_load::Codec;

    #[test]
    fn phones_speak_at_one_pace_whichever_controller_has_them() {
        let phones = Phones {
            calls: 30,
            codec: Codec::G729,
            suppression: None,
            access: Access::Plain,
            is_v6: false,
            becomes: None,
        };
        let calls = Calls::by_itself(phones, 0);
        let parts = [calls.some(&[0, 3, 5], 0), calls.some(&[1, 2, 4, 6], 3)];
        let plan = together(&parts).unwrap();
        let told: Vec<_> = plan.streams.iter().map(|it| (&*it.name, it.flows, it.weight)).collect();
        assert_eq!(told[0], ("access, msc1", 3, 750));
        assert_eq!(told[3], ("core, msc2", 4, 1_000));
        assert!(plan.generator().is_ok());
        assert!(together(&[]).is_err());
    }
}
