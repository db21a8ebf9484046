//! A service inside the gateway: an instance without a connection. It is told what instances are,
//! at once and in the same turn, and what it wants is carried out as theirs is; so nothing waits
//! for it, and nothing is held: another node goes on with a dialogue that it has answered.

use super::instance::Instance;
use super::{Application, InstanceId, Side};
use crate::primitive::{Indication, Request};
use crate::service::Service;
use core::fmt;
use machine::Time;
use std::collections::VecDeque;

/// Its number: no port has so high ones.
const INSIDE: InstanceId = InstanceId(u64::MAX);
/// Its name, the same at every node of a cluster.
const NAME: &str = "inside";
/// Indications that it is told in one turn, at most: what follows from its own requests waits for
/// the next one.
const TURN_MAX: usize = 4_096;

/// The service, and what it is to be told.
pub(super) struct Inside {
    service: Box<dyn Service + Send>,
    waiting: VecDeque<Indication>,
    /// Since when that waits.
    since: Option<Time>,
    /// What it wants, while it is carried out.
    wants: Vec<Request>,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Application {
    /// A service of this node takes the dialogues; `None`: it is one no more, and its dialogues end
    /// unless an instance takes them over. Another one goes on with the dialogues of the one before.
    pub fn serve_inside(
        &mut self,
        now: Time,
        service: Option<Box<dyn Service + Send>>,
        side: &mut Side<'_>,
    ) {
        let Some(service) = service else {
            if self.inside.take().is_some() {
                self.lost(now, INSIDE, side);
            }
            return;
        };
        match &mut self.inside {
            Some(inside) => inside.service = service,
            None => {
                let (waiting, since, wants) = (VecDeque::new(), None, Vec::new());
                self.inside = Some(Inside { service, waiting, since, wants });
                self.instances.insert(INSIDE, Instance::inside(NAME));
                self.counts.welcomed += 1;
                self.welcomed(now, INSIDE, side);
                self.take_over(now, side);
                self.run_inside(now, side);
            }
        }
    }

    /// Whether a service of this node takes the dialogues.
    #[must_use]
    pub const fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Leaves something for the service, if it is that which is to be told; whether it is.
    pub(super) fn leave_inside(&mut self, now: Time, to: InstanceId, it: &Indication) -> bool {
        let Some(inside) = self.inside.as_mut().filter(|_| to == INSIDE) else { return false };
        inside.since.get_or_insert(now);
        inside.waiting.push_back(it.clone());
        true
    }

    /// Tells the service what waits, and carries out what it wants.
    pub(super) fn run_inside(&mut self, now: Time, side: &mut Side<'_>) {
        for _ in 0..TURN_MAX {
            let Some(inside) = &mut self.inside else { return };
            let Some(it) = inside.waiting.pop_front() else {
                inside.since = None;
                return;
            };
            let mut wants = core::mem::take(&mut inside.wants);
            inside.service.indicated(now, it, &mut wants);
            for request in wants.drain(..) {
                self.asked(now, INSIDE, &request, side);
            }
            if let Some(inside) = &mut self.inside {
                inside.wants = wants; // keeps the allocation
            }
        }
    }

    /// Since when something waits for the service: it is told by [`Application::tick`].
    pub(super) fn inside_waits(&self) -> Option<Time> {
        self.inside.as_ref().and_then(|it| it.since)
    }
}
