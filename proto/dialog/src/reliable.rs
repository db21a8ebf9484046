//! Reliable provisional responses (RFC 3262), one machine for each role.

use machine::Time;
use sip::view::RAck;
use sip::{Message, Method};
use std::sync::Arc;
use transaction::Timers;

/// The side that sends them (§3): each is sent again, doubling from T1, until its PRACK comes.
#[derive(Debug, Clone)]
pub struct ReliableSender {
    /// RSeq of the response sent last.
    rseq: u32,
    cseq: u32,
    unacknowledged: Option<Unacknowledged>,
}

#[derive(Debug, Clone)]
struct Unacknowledged {
    bytes: Arc<[u8]>,
    resend: Time,
    give_up: Time,
    tries: u8,
}

/// What is due at the sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resend {
    /// Nothing yet.
    Nothing,
    /// Send this response again.
    Again(Arc<[u8]>),
    /// No PRACK within 64 * T1: answer the INVITE with a 5xx (§3).
    GiveUp,
}

/// What a PRACK is to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrackVerdict {
    /// It acknowledges the outstanding response: answer it with 2xx.
    Acknowledged,
    /// It acknowledges nothing: answer it with 481.
    Unknown,
}

/// The first RSeq is chosen below this, so that it never wraps (§3).
const FIRST_RSEQ_MAX: u32 = (1 << 31) - 1;

impl ReliableSender {
    /// For the INVITE with that CSeq number; the first RSeq follows from `random` (§3).
    #[must_use]
    pub const fn new(cseq: u32, random: u32) -> Self {
        Self { rseq: random % FIRST_RSEQ_MAX, cseq, unacknowledged: None }
    }

    /// The RSeq of the next response; `None` while one is unacknowledged (§3 forbids a second
    /// one before the first is acknowledged, and we never send two at once).
    #[must_use]
    pub const fn next_rseq(&self) -> Option<u32> {
        if self.unacknowledged.is_some() { None } else { Some(self.rseq + 1) }
    }

    /// The response with [`ReliableSender::next_rseq`] was sent.
    pub fn sent(&mut self, now: Time, bytes: &[u8], timers: &Timers) {
        self.rseq += 1;
        self.unacknowledged = Some(Unacknowledged {
            bytes: bytes.into(),
            resend: now + timers.t1,
            give_up: now + timers.patience(),
            tries: 1,
        });
    }

    /// A PRACK came.
    pub fn prack(&mut self, rack: RAck) -> PrackVerdict {
        let fits = rack.rseq == self.rseq && rack.cseq == self.cseq;
        if !fits || rack.method != Method::Invite || self.unacknowledged.is_none() {
            return PrackVerdict::Unknown;
        }
        self.unacknowledged = None;
        PrackVerdict::Acknowledged
    }

    /// Whether a response waits for its PRACK. A 2xx to the INVITE must wait with it if that
    /// response carried a session description (§3).
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.unacknowledged.is_some()
    }

    /// When [`ReliableSender::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.unacknowledged.as_ref().map(|waiting| waiting.resend.min(waiting.give_up))
    }

    /// What is due at `now`.
    pub fn tick(&mut self, now: Time, timers: &Timers) -> Resend {
        let Some(waiting) = &mut self.unacknowledged else { return Resend::Nothing };
        if waiting.give_up <= now {
            self.unacknowledged = None;
            return Resend::GiveUp;
        }
        if waiting.resend > now {
            return Resend::Nothing;
        }
        waiting.resend = now + timers.t1 * (1 << waiting.tries.min(6));
        waiting.tries += 1;
        Resend::Again(Arc::clone(&waiting.bytes))
    }
}

/// The side that receives them (§4), one for each early dialog.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReliableReceiver {
    last: Option<u32>,
}

/// What a reliable provisional response is to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RseqVerdict {
    /// The next one: use it and send a PRACK.
    Next,
    /// Seen before: drop it.
    Again,
    /// One before it is missing: drop it, it comes again (§4).
    Gap,
}

impl ReliableReceiver {
    /// A response with that RSeq came.
    pub const fn receive(&mut self, rseq: u32) -> RseqVerdict {
        match self.last {
            Some(last) if rseq <= last => RseqVerdict::Again,
            Some(last) if rseq != last + 1 => RseqVerdict::Gap,
            _ => {
                self.last = Some(rseq);
                RseqVerdict::Next
            }
        }
    }

    /// Appends the RAck value of the PRACK for `response`.
    pub fn write_rack(out: &mut Vec<u8>, rseq: u32, response: &Message<'_>) {
        let cseq = response.cseq();
        sip::decimal(out, rseq.into());
        out.push(b' ');
        sip::decimal(out, cseq.number.into());
        out.push(b' ');
        out.extend_from_slice(cseq.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;

    const T0: Time = Time::from_millis(1_000);

    fn sender() -> ReliableSender {
        let mut sender = ReliableSender::new(7, 41);
        assert_eq!(sender.next_rseq(), Some(42));
        sender.sent(T0, b"SIP/2.0 183 x", &Timers::default());
        sender
    }

    #[test]
    fn a_response_is_sent_again_doubling_from_t1_until_64_t1() {
        let timers = Timers::default();
        let mut sender = sender();
        let mut times = Vec::new();
        while let Some(at) = sender.deadline() {
            let due = sender.tick(at, &timers);
            times.push(((at - T0).as_millis(), due == Resend::GiveUp));
        }
        let expected = [500, 1500, 3500, 7500, 15_500, 31_500].map(|ms| (ms, false));
        assert_eq!(times[..6], expected);
        assert_eq!(times[6..], [(32_000, true)]);
    }

    #[test]
    fn only_the_right_prack_acknowledges() {
        let mut sender = sender();
        let rack = |rseq, cseq, method| RAck { rseq, cseq, method };
        assert_eq!(sender.next_rseq(), None);
        for wrong in [(41, 7, Method::Invite), (42, 8, Method::Invite), (42, 7, Method::Update)] {
            assert_eq!(sender.prack(rack(wrong.0, wrong.1, wrong.2)), PrackVerdict::Unknown);
        }
        let right = rack(42, 7, Method::Invite);
        assert_eq!(sender.prack(right), PrackVerdict::Acknowledged);
        assert_eq!(sender.prack(right), PrackVerdict::Unknown);
        assert_eq!((sender.next_rseq(), sender.deadline()), (Some(43), None));
    }

    #[test]
    fn nothing_is_due_early() {
        let mut sender = sender();
        let early = T0 + Duration::from_millis(499);
        assert_eq!(sender.tick(early, &Timers::default()), Resend::Nothing);
    }

    #[test]
    fn responses_are_taken_in_their_order_whatever_the_first_number() {
        let mut receiver = ReliableReceiver::default();
        let verdicts = [900, 900, 902, 901, 902, 899].map(|rseq| receiver.receive(rseq));
        use RseqVerdict::{Again, Gap, Next};
        assert_eq!(verdicts, [Next, Again, Gap, Next, Next, Again]);
    }
}
