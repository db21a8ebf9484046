//! One INVITE at a time in a dialog (RFC 3261 §14): who may start one, what glare is answered
//! with, and how long to wait after a 491.

use machine::Duration;

/// The INVITE transaction that runs in a dialog, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InviteUsage {
    /// None.
    #[default]
    Free,
    /// One that we sent, until its final response.
    Ours,
    /// One that we received, until its final response.
    Theirs,
}

/// Whether an INVITE may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayInvite {
    /// It may, and has begun.
    Now,
    /// Ours runs. Theirs is glare: answer 491 (§14.2). Another of ours waits.
    OursRuns,
    /// Theirs runs. Another of theirs is answered 500 with a Retry-After of 0 to 10 s (§14.2);
    /// one of ours waits (§14.1).
    TheirsRuns,
}

impl InviteUsage {
    /// We want to send an INVITE.
    pub const fn send(&mut self) -> MayInvite {
        self.begin(Self::Ours)
    }

    /// An INVITE came.
    pub const fn receive(&mut self) -> MayInvite {
        self.begin(Self::Theirs)
    }

    const fn begin(&mut self, by: Self) -> MayInvite {
        match self {
            Self::Free => {
                *self = by;
                MayInvite::Now
            }
            Self::Ours => MayInvite::OursRuns,
            Self::Theirs => MayInvite::TheirsRuns,
        }
    }

    /// The INVITE that ran has its final response.
    pub const fn end(&mut self) {
        *self = Self::Free;
    }
}

/// How long to wait after a 491 before the INVITE is sent again (§14.1): 2.1 to 4 s for the side
/// that chose the Call-ID, 0 to 2 s for the other, in steps of 10 ms.
#[must_use]
pub const fn glare_delay(owns_call_id: bool, random: u32) -> Duration {
    const STEP_MS: u64 = 10;
    let (first, steps) = if owns_call_id { (210, 191) } else { (0, 201) };
    Duration::from_millis((first + random as u64 % steps) * STEP_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invites_that_cross_are_glare_and_a_second_of_theirs_comes_too_soon() {
        let mut usage = InviteUsage::default();
        assert_eq!(usage.send(), MayInvite::Now);
        assert_eq!(usage.receive(), MayInvite::OursRuns);
        usage.end();
        assert_eq!(usage.receive(), MayInvite::Now);
        assert_eq!(usage.receive(), MayInvite::TheirsRuns);
        assert_eq!(usage.send(), MayInvite::TheirsRuns);
    }

    #[test]
    fn the_two_sides_never_wait_equally_long() {
        let range = |owner: bool| {
            let waits = (0..1_000).map(|random| glare_delay(owner, random).as_millis());
            (waits.clone().min().unwrap(), waits.max().unwrap())
        };
        assert_eq!((range(true), range(false)), ((2_100, 4_000), (0, 2_000)));
    }
}
