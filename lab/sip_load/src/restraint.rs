//! What an element under test asks of its neighbour by overload control feedback (RFC 7339 §7):
//! not to send a share of the new requests.

use machine::{Duration, Time};
use sip::overload::Feedback;

/// What is obeyed now.
#[derive(Debug, Default)]
pub struct Restraint {
    feedback: Feedback,
    until: Time,
    /// What is left of a call that is not placed, in hundredths.
    saved: u32,
    /// What was read last.
    heard: Vec<u8>,
}

impl Restraint {
    /// Takes the top Via of a response; what came before the last one is passed over.
    pub fn hear(&mut self, now: Time, via: &[u8]) {
        let Some(at) = memchr::memmem::find(via, b";oc=") else { return };
        if self.heard == via[at..] {
            return; // most say the same
        }
        self.heard = via[at..].to_vec();
        let params = memchr::memchr(b';', via).map_or(&[][..], |at| &via[at..]);
        let feedback = Feedback::read(params).filter(|new| new.seq >= self.feedback.seq);
        if let Some(feedback) = feedback {
            self.feedback = feedback;
            self.until = now + Duration::from_millis(feedback.validity_ms.into());
        }
    }

    /// Whether the next call is not to be placed.
    pub fn withholds(&mut self, now: Time) -> bool {
        if now >= self.until {
            return false;
        }
        self.saved += u32::from(self.feedback.loss);
        let is_withheld = self.saved >= 100;
        self.saved -= if is_withheld { 100 } else { 0 };
        is_withheld
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_withheld_while_it_holds_and_older_ones_are_passed_over() {
        let mut restraint = Restraint::default();
        let withheld = |restraint: &mut Restraint, ms| {
            (0..100).filter(|_| restraint.withholds(Time::from_millis(ms))).count()
        };
        let via = |rest: &str| format!("SIP/2.0/UDP h;branch=z9hG4bK1{rest}").into_bytes();
        restraint.hear(Time::ZERO, &via(";oc=30;oc-algo=\"loss\";oc-validity=200;oc-seq=7.100"));
        restraint.hear(Time::ZERO, &via(";oc=90;oc-algo=\"loss\";oc-validity=200;oc-seq=7.009"));
        restraint.hear(Time::ZERO, &via(";oc;oc-algo=\"loss\""));
        assert_eq!((withheld(&mut restraint, 199), withheld(&mut restraint, 200)), (30, 0));
        restraint.hear(Time::ZERO, &via(";oc=40;oc-algo=\"loss\";oc-seq=7.2"));
        assert_eq!((withheld(&mut restraint, 499), withheld(&mut restraint, 500)), (40, 0));
    }
}
