//! A service inside the gateway: an instance without a connection. It is told what instances are,
//! at once and in the same turn, and what it wants is carried out as theirs is; so nothing waits
//! for it, and nothing is held: another node goes on with a dialogue that it has answered.

use super::InstanceId;
use crate::primitive::{Indication, Request};
use crate::service::Service;
use core::fmt;
use machine::Time;
use std::collections::VecDeque;

/// Its number: no port has so high ones.
pub(super) const INSIDE: InstanceId = InstanceId(u64::MAX);
/// Its name, the same at every node of a cluster.
pub(super) const NAME: &str = "inside";
/// Indications that it is told in one turn, at most: what follows from its own requests waits for
/// the next one.
pub(super) const TURN_MAX: usize = 4_096;

/// The service, and what it is to be told.
pub(super) struct Inside {
    pub(super) service: Box<dyn Service + Send>,
    pub(super) waiting: VecDeque<Indication>,
    /// Since when that waits.
    pub(super) since: Option<Time>,
    /// What it wants, while it is carried out.
    pub(super) wants: Vec<Request>,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
