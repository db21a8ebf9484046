//! What an element under test asks of its neighbour by overload control feedback (RFC 7339 §7):
//! not to send a share of the new requests.

use machine::{Duration, Time};

/// What holds unless the feedback says otherwise (§4.3), milliseconds.
const VALIDITY_MS: u64 = 500;

/// What is obeyed now.
#[derive(Debug, Default)]
pub struct Restraint {
    /// Requests of a hundred that are not sent.
    loss: u32,
    until: Time,
    seq: f64,
    saved: u32,
    /// The parameters that were read last.
    heard: Vec<u8>,
}

impl Restraint {
    /// Takes the parameters of the top Via of a response; what came before it is passed over.
    pub fn hear(&mut self, now: Time, via: &[u8]) {
        let Some(at) = memchr::memmem::find(via, b";oc=") else { return };
        if self.heard == via[at..] {
            return; // most say the same
        }
        self.heard = via[at..].to_vec();
        let Ok(via) = core::str::from_utf8(via) else { return };
        let value = |wanted: &str| {
            let mut params = via.split(';').filter_map(|param| param.split_once('='));
            params.find(|(name, _)| *name == wanted).map(|(_, value)| value.trim())
        };
        let number = |name: &str| value(name).and_then(|text| text.parse::<u64>().ok());
        let seq = value("oc-seq").and_then(|text| text.parse::<f64>().ok());
        let (Some(loss), Some(seq)) = (number("oc"), seq) else { return };
        if value("oc-algo") != Some("\"loss\"") || seq < self.seq {
            return;
        }
        self.seq = seq;
        self.loss = loss.min(100) as u32;
        self.until = now + Duration::from_millis(number("oc-validity").unwrap_or(VALIDITY_MS));
    }

    /// Whether the next call is not to be placed.
    pub fn withholds(&mut self, now: Time) -> bool {
        if now >= self.until {
            return false;
        }
        self.saved += self.loss;
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
        restraint.hear(Time::ZERO, &via(";oc=90;oc-algo=\"rate\";oc-validity=200;oc-seq=8.1"));
        restraint.hear(Time::ZERO, &via(";oc;oc-algo=\"loss\""));
        assert_eq!((withheld(&mut restraint, 199), withheld(&mut restraint, 200)), (30, 0));
        restraint.hear(Time::ZERO, &via(";oc=40;oc-algo=\"loss\";oc-seq=7.2"));
        assert_eq!((withheld(&mut restraint, 499), withheld(&mut restraint, 500)), (40, 0));
    }
}
