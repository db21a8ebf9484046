//! Overload control: who is let in when messages wait too long, what new calls wait for, and the
//! limits that calls are counted by.

use crate::class::CLASSES;
use crate::emergency::Emergencies;
use crate::limits::{Limits, Settings};
use crate::protected::Protected;
use crate::refused::Refused;
use crate::share::LicenceShare;
use crate::tally::Tally;
use machine::Time;
use overload::{Admission, Queue};
use runtime::{Flow, Seed};
use sip::overload::Control;

/// What keeps a shard from doing more than it can.
pub struct OverloadControl {
    /// Who is let in while messages wait too long.
    pub admission: Admission,
    /// How long what comes by associations waits.
    pub protected: Protected,
    /// New calls that wait while there is work for calls in progress.
    pub waiting: Queue<Flow>,
    /// What is remembered of refusals.
    pub refused: Refused,
    /// What neighbours are told (RFC 7339).
    pub feedback: Control,
    /// Refusals of this second.
    pub tally: Tally,
    /// What calls are counted by.
    pub limits: Limits,
    /// Emergency calls by source.
    pub emergencies: Emergencies,
    /// What the shard has of the site's pool.
    pub share: LicenceShare,
}

impl OverloadControl {
    /// Of checked settings, for one shard of several.
    #[must_use]
    pub fn new(
        settings: &Settings<'_>,
        seed: &Seed,
        refused: Refused,
        emergencies: Emergencies,
    ) -> Self {
        Self {
            admission: Admission::new(CLASSES, settings.delay_target),
            protected: Protected::default(),
            waiting: Queue::default(),
            refused,
            feedback: Control::default(),
            tally: Tally::default(),
            limits: Limits::new(settings, seed.shard, seed.shards),
            emergencies,
            share: LicenceShare::new(seed.now),
        }
    }

    /// Takes other settings; what is counted stays counted.
    pub fn configure(&mut self, settings: &Settings<'_>) {
        self.limits.configure(settings);
        self.admission.set_target(settings.delay_target);
    }

    /// A connection ended: what came over it and waits does not begin.
    pub fn forget(&mut self, flow: &Flow) {
        if flow.transport.is_stream() {
            self.waiting.forget(flow);
        }
    }

    /// When waiting calls begin, or a tally is told.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.waiting.deadline().into_iter().chain(self.tally.deadline()).min()
    }
}
