//! Overload control feedback (RFC 7339): what the top Via offers in a request, and what it asks
//! for in a response.
//!
//! ```text
//! request    Via: …;oc;oc-algo="loss"
//! response   Via: …;oc=75;oc-algo="loss";oc-validity=500;oc-seq=1700000000.100
//! ```
//! Only the algorithm that everybody must know, `loss`: a share of the new requests is not to be
//! sent (§7).

mod control;

pub use control::Control;

use crate::{Params, octet, unquoted};

/// What a client appends to its Via (§4.1, §4.2).
pub const OFFER: &[u8] = b";oc;oc-algo=\"loss\"";
/// How long a share holds that does not say (§4.3), milliseconds.
pub const VALIDITY_MS: u32 = 500;
const LOSS: &[u8] = b"loss";
/// Decimals of a sequence number at most (§6).
const DECIMALS: u32 = 5;

/// What a server asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Feedback {
    /// New requests of a hundred that shall not be sent.
    pub loss: u8,
    /// How long that holds, milliseconds.
    pub validity_ms: u32,
    /// What has a lower one is older: seconds and hundred thousandths.
    pub seq: (u64, u32),
}

/// Whether the sender of a request with these Via parameters takes feedback of `loss`.
#[must_use]
pub fn is_offered(params: &[u8]) -> bool {
    let mut at = 0;
    let is_near = loop {
        let Some(semicolon) = octet::find_near(params, at, b';') else { break false };
        at = octet::skip_space(params, semicolon + 1);
        if matches!(params[at..], [b'o' | b'O', b'c' | b'C', ..]) {
            break true;
        }
    };
    if !is_near {
        return false; // nearly all
    }
    let (mut has_oc, mut has_loss) = (false, false);
    for param in Params::new(params) {
        has_oc |= param.name.eq_ignore_ascii_case(b"oc") && param.value.is_none();
        let algorithms = unquoted(param.value.unwrap_or_default()).split(|&b| b == b',');
        let is_algo = param.name.eq_ignore_ascii_case(b"oc-algo");
        has_loss |= is_algo && algorithms.map(<[u8]>::trim_ascii).any(|name| name == LOSS);
    }
    has_oc && has_loss
}

/// A Via value without what it offers: the answer takes its place.
#[must_use]
pub fn unasked(via: &[u8]) -> Vec<u8> {
    let is_offer = |param: &&[u8]| {
        let name = param.split(|&b| b == b'=').next().unwrap_or_default().trim_ascii();
        name.eq_ignore_ascii_case(b"oc") || name.len() > 3 && name[..3].eq_ignore_ascii_case(b"oc-")
    };
    let parts: Vec<&[u8]> = via.split(|&b| b == b';').filter(|param| !is_offer(param)).collect();
    parts.join(&b';')
}

impl Feedback {
    /// Reads the Via parameters of a response; `None` without feedback, or with that of another
    /// algorithm.
    #[must_use]
    pub fn read(params: &[u8]) -> Option<Self> {
        memchr::memmem::find(params, b"oc=")?;
        let (mut loss, mut validity_ms, mut seq, mut is_loss) = (None, VALIDITY_MS, None, true);
        for param in Params::new(params) {
            let value = core::str::from_utf8(param.value.unwrap_or_default()).ok()?;
            match param.name {
                b"oc" => loss = value.parse::<u32>().ok(),
                b"oc-validity" => validity_ms = value.parse().ok()?,
                b"oc-seq" => seq = sequence(value),
                b"oc-algo" => is_loss = unquoted(value.as_bytes()) == LOSS,
                _ => {}
            }
        }
        let loss = loss.filter(|_| is_loss)?.min(100) as u8;
        Some(Self { loss, validity_ms, seq: seq? })
    }

    /// Appends the Via parameters of a response.
    pub fn write(&self, out: &mut Vec<u8>) {
        let Self { loss, validity_ms, seq: (s, part) } = self;
        let text =
            format!(";oc={loss};oc-algo=\"loss\";oc-validity={validity_ms};oc-seq={s}.{part:05}");
        out.extend_from_slice(text.as_bytes());
    }
}

/// Seconds and hundred thousandths of `1282321615.782`.
fn sequence(text: &str) -> Option<(u64, u32)> {
    let (seconds, part) = text.split_once('.')?;
    let scale = 10u32.pow(DECIMALS.checked_sub(u32::try_from(part.len()).ok()?)?);
    Some((seconds.parse().ok()?, part.parse::<u32>().ok()? * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_offers_are_told_from_answers() {
        let feedback = Feedback { loss: 20, validity_ms: 500, seq: (1_282_321_615, 78_200) };
        let mut text = b";branch=z9hG4bK2d4790.1;received=192.0.2.111".to_vec();
        feedback.write(&mut text);
        assert_eq!(Feedback::read(&text), Some(feedback));
        assert!(!is_offered(&text));
        assert!(text.ends_with(b";oc-seq=1282321615.78200"));
        let offer = [b";branch=z9hG4bKoc", OFFER].concat();
        assert!(is_offered(&offer) && Feedback::read(&offer).is_none());
        assert!(is_offered(b";oc;oc-algo=\"rate, loss\""));
        for other in [&b";oc;oc-algo=\"rate\""[..], b";ocean;oc-algo=\"loss\"", b";oc", b""] {
            assert!(!is_offered(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn the_offer_gives_way_to_the_answer() {
        let left = unasked(b"SIP/2.0/TCP a.example.com:5060;oc;branch=z9hG4bK1;oc-algo=\"loss\"");
        assert_eq!(left, b"SIP/2.0/TCP a.example.com:5060;branch=z9hG4bK1");
    }

    #[test]
    fn sequence_numbers_are_decimals_and_what_is_odd_is_no_feedback() {
        let seq = |text: &str| {
            let params = format!(";oc=150;oc-algo=\"loss\";oc-seq={text}");
            Feedback::read(params.as_bytes()).map(|feedback| feedback.seq)
        };
        assert!(seq("7.2") > seq("7.199") && seq("8.0") > seq("7.99999"));
        for odd in ["7", "7.", "7.123456", "x.1", "-1.1", ""] {
            assert_eq!(seq(odd), None, "{odd}");
        }
        let read = |params: &[u8]| Feedback::read(params).map(|f| (f.loss, f.validity_ms));
        assert_eq!(read(b";oc=150;oc-seq=1.0"), Some((100, VALIDITY_MS)));
        assert_eq!(read(b";oc=10;oc-algo=\"rate\";oc-seq=1.0"), None);
        assert_eq!(read(b";oc=10;oc-validity=-1;oc-seq=1.0"), None);
        assert_eq!(read(b";oc=x;oc-seq=1.0"), None);
    }
}
