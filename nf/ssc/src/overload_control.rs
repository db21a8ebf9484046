//! Overload control: who is let in when messages wait too long, what new calls wait for, and the
//! limits that calls are counted by.

use crate::config::Ssc;
use crate::limit::{Emergencies, Limits};
use crate::session_pool::LicenceShare;
use crate::shed::{CLASSES, Shed};
use crate::tally::Tally;
use machine::{Duration, Time};
use overload::{Admission, Queue};
use runtime::{Flow, Seed};
use sip::overload::Control;

/// What keeps a shard from doing more than it can.
pub(crate) struct OverloadControl {
    pub(crate) admission: Admission,
    pub(crate) waiting: Queue<Flow>,
    pub(crate) shed: Shed,
    pub(crate) feedback: Control,
    pub(crate) tally: Tally,
    pub(crate) limits: Limits,
    pub(crate) emergencies: Emergencies,
    pub(crate) share: LicenceShare,
}

impl OverloadControl {
    /// Of a validated configuration, for one shard of several.
    pub(crate) fn new(config: &Ssc, seed: &Seed, shed: Shed, emergencies: Emergencies) -> Self {
        Self {
            admission: Admission::new(CLASSES, target(config)),
            waiting: Queue::default(),
            shed,
            feedback: Control::default(),
            tally: Tally::default(),
            limits: Limits::new(config, seed.shard, seed.shards),
            emergencies,
            share: LicenceShare::new(seed.now),
        }
    }

    /// Takes another configuration; what is counted stays counted.
    pub(crate) fn configure(&mut self, config: &Ssc) {
        self.limits.configure(config);
        self.admission.set_target(target(config));
    }

    /// A connection ended: what came over it and waits does not begin.
    pub(crate) fn forget(&mut self, flow: &Flow) {
        if flow.transport.is_stream() {
            self.waiting.forget(flow);
        }
    }

    /// When waiting calls begin, or a tally is told.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.waiting.deadline().into_iter().chain(self.tally.deadline()).min()
    }
}

fn target(config: &Ssc) -> Duration {
    Duration::from_millis(config.overload.delay_target_ms.into())
}
