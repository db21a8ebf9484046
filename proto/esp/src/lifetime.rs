//! Lifetimes in octets and packets (RFC 4301 §4.4.2.1). Those in time are the caller's.

/// What may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Packets.
    pub packets: u64,
    /// Octets that are encrypted or, without encryption, authenticated as payload.
    pub octets: u64,
}

impl Limit {
    /// Any number.
    pub const NONE: Self = Self { packets: u64::MAX, octets: u64::MAX };

    const fn is_reached(&self, usage: Usage) -> bool {
        usage.packets >= self.packets || usage.octets >= self.octets
    }
}

/// When to make other keys, and when to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lifetime {
    /// What is told once.
    pub soft: Limit,
    /// Behind which nothing passes.
    pub hard: Limit,
}

impl Lifetime {
    /// Without an end.
    pub const NONE: Self = Self { soft: Limit::NONE, hard: Limit::NONE };
}

/// What has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Packets.
    pub packets: u64,
    /// Octets.
    pub octets: u64,
}

/// How far a lifetime has gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stage {
    Fresh,
    Soft,
    Hard,
}

/// A lifetime and what is used of it.
#[derive(Debug)]
pub(crate) struct Meter {
    pub usage: Usage,
    lifetime: Lifetime,
    stage: Stage,
}

impl Meter {
    pub const fn new(lifetime: Lifetime, usage: Usage) -> Self {
        Self { usage, lifetime, stage: Stage::Fresh }
    }

    pub const fn is_expired(&self) -> bool {
        self.lifetime.hard.is_reached(self.usage)
    }

    /// Counts a packet; the stage if it has come to a new one.
    pub fn count(&mut self, octets: usize) -> Option<Stage> {
        self.usage.packets += 1;
        self.usage.octets = self.usage.octets.saturating_add(octets as u64);
        let stage = match self.lifetime {
            Lifetime { hard, .. } if hard.is_reached(self.usage) => Stage::Hard,
            Lifetime { soft, .. } if soft.is_reached(self.usage) => Stage::Soft,
            _ => Stage::Fresh,
        };
        let is_new = stage > self.stage;
        self.stage = stage;
        is_new.then_some(stage)
    }
}
