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

/// What is used of a lifetime, which most have without an end.
#[derive(Debug)]
pub(crate) struct Meter {
    pub usage: Usage,
    ends: Option<Box<Ends>>,
}

#[derive(Debug)]
struct Ends {
    lifetime: Lifetime,
    stage: Stage,
}

impl Meter {
    pub fn new(lifetime: Lifetime, usage: Usage) -> Self {
        let ends = Ends { lifetime, stage: Stage::Fresh };
        Self { usage, ends: (lifetime != Lifetime::NONE).then(|| Box::new(ends)) }
    }

    pub fn is_expired(&self) -> bool {
        self.ends.as_ref().is_some_and(|it| it.lifetime.hard.is_reached(self.usage))
    }

    /// Octets on the heap.
    pub fn size(&self) -> usize {
        self.ends.as_ref().map_or(0, |_| size_of::<Ends>())
    }

    /// Counts a packet; the stage if it has come to a new one.
    pub fn count(&mut self, octets: usize) -> Option<Stage> {
        self.usage.packets += 1;
        self.usage.octets = self.usage.octets.saturating_add(octets as u64);
        let Ends { lifetime, stage: before } = &mut **self.ends.as_mut()?;
        let stage = match lifetime {
            Lifetime { hard, .. } if hard.is_reached(self.usage) => Stage::Hard,
            Lifetime { soft, .. } if soft.is_reached(self.usage) => Stage::Soft,
            _ => Stage::Fresh,
        };
        let is_new = stage > *before;
        *before = stage;
        is_new.then_some(stage)
    }
}
