//! Why attaches failed, of late.

use machine::Time;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Failures that are remembered.
const FAILURES_MAX: usize = 1_024;

/// A failure.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub at: Time,
    pub impi: Box<[u8]>,
    pub source: SocketAddr,
    pub why: String,
}

/// The last ones.
#[derive(Debug, Default)]
pub(crate) struct Failures(VecDeque<Failure>);

impl Failures {
    pub fn note(&mut self, at: Time, impi: &[u8], source: SocketAddr, why: impl Into<String>) {
        if self.0.len() == FAILURES_MAX {
            self.0.pop_front();
        }
        let impi = impi[..impi.len().min(crate::set::IMPI_OCTETS_MAX)].into();
        self.0.push_back(Failure { at, impi, source, why: why.into() });
    }

    /// The newest first.
    pub fn iter(&self) -> impl Iterator<Item = &Failure> {
        self.0.iter().rev()
    }
}
