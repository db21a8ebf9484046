//! When a call ends that nobody ends.

use crate::call::Call;
use crate::world::Counters;
use core::time::Duration;
use machine::Time;

/// When a call ends that nobody ends. What is looked at by hand, or dies without a `delete`, would
/// keep its ports for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// A call whose offer nobody has answered; an offer of a call that stands is withdrawn then.
    pub offer: Duration,
    /// A call with streams that pass packets, of which none came from either side.
    pub media: Duration,
    /// A call whose streams are all held, or refused.
    pub held: Duration,
}

impl Default for Timeouts {
    /// Ten minutes for an answer: a phone may ring longer than timer C (RFC 3261 §16.6), which
    /// provisional responses begin anew. A minute without media and an hour on hold, as rtpengine.
    fn default() -> Self {
        Self {
            offer: Duration::from_secs(600),
            media: Duration::from_secs(60),
            held: Duration::from_secs(3_600),
        }
    }
}

/// What is due of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// The call is over.
    End,
    /// An offer of it can be answered no more.
    Withdraw,
    /// The dialog that the streams follow is the one that stays.
    Settle,
}

impl Timeouts {
    /// Looks at a call.
    pub(crate) fn look(&self, now: Time, call: &mut Call, counters: &dyn Counters) -> Due {
        let is_old = now.since(call.signalled) >= self.offer;
        if call.current.is_none() {
            return if is_old { Due::End } else { Due::Nothing };
        }
        let mut packets = 0_u64;
        let mut passes = false;
        for (line, stream) in call.session.streams() {
            let counted = counters.of(call.number, line);
            packets = counted.iter().fold(packets, |sum, one| sum.wrapping_add(one.packets));
            passes |= anchor::Side::BOTH.into_iter().any(|side| stream.passes(side));
        }
        if packets != call.packets {
            (call.packets, call.heard) = (packets, now);
        }
        let silent = now.since(call.heard.max(call.signalled));
        if silent >= if passes { self.media } else { self.held } {
            return Due::End;
        }
        match call.session.pending() {
            Some(_) if is_old => Due::Withdraw,
            None if is_old => Due::Settle,
            _ => Due::Nothing,
        }
    }
}
