//! What the shards of a gateway have to do with each other.
//!
//! ```text
//!   shard 0: links, M3UA, SCCP ── Unitdata, Notice, Told ──→ shards 1 …: TCAP, applications
//!            Spread: which one ←── Unitdata, Rank, Born ───
//!            SourceCounts      ←── Released ───────────────
//! ```
//! - A transaction identifier names its shard: what goes on finds it. What begins is shared out
//!   among the shards that have an instance of its application; without one, among all.
//! - A place where instances connect belongs to one shard, and the dialogues of its instances live
//!   there: what they say passes no other shard, an instance that dies finds its successor beside
//!   it, and nothing is known twice. An application that one shard cannot carry has several places.
//! - A shard that dies has cost its dialogues: peers hear P-Abort when they go on. The links stay.

mod owed;
mod sources;
mod spread;
mod work;

pub(crate) use owed::{AGAIN, Owed};
pub(crate) use sources::{Releases, SourceCounts};
pub(crate) use spread::{REFUSED, Spread};
pub(crate) use work::{Transit, Work};

use crate::Gateway;
use crate::config::Sgc;
use crate::metrics::Metric;
use machine::Time;
use runtime::{Effects, Seed};
use std::sync::Arc;

/// What a shard does.
#[derive(Debug)]
pub(crate) enum Part {
    /// Everything: it is the only one.
    Whole,
    /// The first of several: links, MTP3, SCCP.
    Links(Spread),
    /// Another one: TCAP dialogues and their applications.
    Dialogues,
}

impl Part {
    pub(crate) fn of(seed: &Seed) -> Self {
        match (seed.shards, seed.shard) {
            (..=1, _) => Self::Whole,
            (shards, 0) => Self::Links(Spread::new(shards)),
            _ => Self::Dialogues,
        }
    }

    /// Whether it has links and the SCCP node.
    pub(crate) const fn has_links(&self) -> bool {
        matches!(self, Self::Whole | Self::Links(_))
    }

    /// Whether it has dialogues.
    pub(crate) const fn has_dialogues(&self) -> bool {
        matches!(self, Self::Whole | Self::Dialogues)
    }
}

/// What of a configuration concerns a shard: one of dialogues has no peers.
pub(crate) fn concerning(shard: u16, config: Arc<Sgc>) -> Arc<Sgc> {
    match shard {
        0 => config,
        _ => Arc::new(config.without_links()),
    }
}

/// Another shard handed this over.
pub(crate) fn worked(gateway: &mut Gateway, now: Time, from: u16, work: &[u8]) {
    let Ok(work) = Work::read(work) else { return };
    let mut wants = Vec::new();
    let by = gateway.sccp.worked(now, from, work, &mut wants);
    gateway.undelivered(now, by);
    gateway.send(now, by, wants);
}

/// A shard did not take this: it has too much to do, or is no more.
pub(crate) fn handed_back(gateway: &mut Gateway, now: Time, to: u16, work: &[u8]) {
    let Ok(work) = Work::read(work) else { return };
    // What is said of it goes to where its sender may send, as an answer would.
    let by = work.by();
    if gateway.sccp.handed_back(now, to, work) {
        gateway.metrics.add(Metric::Unserved, 1);
    }
    let mut wants = Vec::new();
    gateway.sccp.run(now, &mut wants);
    gateway.send(now, by, wants);
}

/// What is for other shards leaves.
pub(crate) fn hand_over(gateway: &mut Gateway, out: &mut Effects) {
    for (shard, work) in gateway.sccp.take_handed() {
        out.hand(shard, |to| work.write(to));
    }
}
