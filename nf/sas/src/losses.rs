//! What was not kept, on whichever shard: the first one tells of it.

use crate::sources::Sources;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The losses of all shards; only what goes wrong is written here.
#[derive(Debug, Default)]
pub(crate) struct Losses(Mutex<Lost>);

/// What was lost since the start.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// Messages that nobody had time for.
    pub(crate) shed: u64,
    /// When the last of them came.
    pub(crate) shed_us: Option<u64>,
    /// Packets without the key.
    pub(crate) unauthenticated: u64,
    /// Who sends them.
    pub(crate) strangers: Sources,
}

impl Losses {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Lost> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message is not kept.
    pub(crate) fn shed(&self, now_us: u64) {
        let mut lost = self.lock();
        lost.shed += 1;
        lost.shed_us = Some(now_us);
    }

    /// A packet from there has not the key.
    pub(crate) fn stranger(&self, now_us: u64, source: IpAddr) {
        let mut lost = self.lock();
        lost.unauthenticated += 1;
        lost.strangers.add(now_us, source);
    }
}
