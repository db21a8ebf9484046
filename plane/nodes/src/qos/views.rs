//! What the nodes of rules and rates share.

use super::filtering::Filters;
use super::policing::{Bank, Policers};
use std::sync::{Arc, Mutex};
use table::epoch::Published;

/// What the nodes of rules and rates of one worker read.
#[derive(Clone)]
pub struct TrafficViews {
    /// Filters, and who passes them.
    pub filters: Arc<Published<Filters>>,
    /// Policers, and who passes them.
    pub policers: Arc<Published<Policers>>,
    /// The worker's buckets, which its nodes share.
    pub bank: Arc<Mutex<Bank>>,
    /// The worker's number.
    pub worker: usize,
}
