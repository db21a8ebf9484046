//! What becomes of a message of a phone, and how it is refused.

use crate::metrics::Metric;
use secagree::List;

/// Seconds after which a source with too many registrations under way may try again.
const RETRY_AFTER_S: u64 = 30;

/// What shall become of a message of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    Passes,
    /// It goes on as it was written.
    Changed,
    /// It was refused: the answer was written.
    Refused,
    /// It is not answered.
    Dropped,
}

/// Why a message is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub status: u16,
    pub metric: Metric,
    pub why: String,
    /// The answer asks for an agreement, or says what the network can.
    pub requires: bool,
    pub server: Option<List>,
    pub retry_after_s: Option<u64>,
}

impl Refusal {
    pub fn new(status: u16, metric: Metric, why: &str) -> Self {
        let (requires, server, retry_after_s) = (false, None, None);
        Self { status, metric, why: why.to_owned(), requires, server, retry_after_s }
    }

    pub fn of_source(why: &str) -> Self {
        let refusal = Self::new(503, Metric::OfSource, why);
        Self { retry_after_s: Some(RETRY_AFTER_S), ..refusal }
    }
}
