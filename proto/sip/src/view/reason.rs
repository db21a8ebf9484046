//! Reason (RFC 3326) and Retry-After (RFC 3261 §20.33).

use super::token_with_params;
use crate::octet::{self, DIGIT};
use crate::param;
use wire::Malformed;

/// Why a request was sent: a protocol, its cause and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason<'a> {
    /// `SIP`, `Q.850`, …
    pub protocol: &'a [u8],
    /// Parameters, from the first `;` on.
    pub params: &'a [u8],
}

impl<'a> Reason<'a> {
    /// Reads one Reason value.
    ///
    /// # Errors
    /// No protocol, or a bad parameter.
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let violation = Malformed::new(0, "Reason without a protocol", "RFC 3326 §2");
        token_with_params(value, violation).map(|(protocol, params)| Self { protocol, params })
    }

    /// The cause: a status for `SIP`, a cause value for `Q.850`.
    #[must_use]
    pub fn cause(&self) -> Option<u16> {
        octet::number(param::param(self.params, b"cause")?, u16::MAX.into())
    }

    /// The words, without quotes.
    #[must_use]
    pub fn text(&self) -> Option<&'a [u8]> {
        param::param(self.params, b"text").map(param::unquoted)
    }
}

/// When to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryAfter<'a> {
    /// Seconds to wait.
    pub delay_s: u32,
    /// What follows: a comment in brackets, then parameters.
    pub rest: &'a [u8],
}

impl<'a> RetryAfter<'a> {
    /// Reads a Retry-After value.
    ///
    /// # Errors
    /// No number of 32 bits at its head, a comment without its end, or a bad parameter.
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let end = octet::run(value, 0, DIGIT);
        let violation = Malformed::new(0, "Retry-After is not 0 to 2^32 - 1", "RFC 3261 §20.33");
        let delay_s = octet::number(&value[..end], u32::MAX.into()).ok_or(violation)?;
        let mut params = octet::skip_space(value, end);
        if value.get(params) == Some(&b'(') {
            let violation = Malformed::new(params, "comment without its end", "RFC 3261 §25.1");
            let close = memchr::memrchr(b')', &value[params..]).ok_or(violation)?;
            params = octet::skip_space(value, params + close + 1);
        }
        param::check(&value[params..]).map_err(|m| m.shifted(params))?;
        Ok(Self { delay_s, rest: octet::trim(&value[end..]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_gives_cause_and_words() {
        let reason = Reason::parse(b"Q.850 ;cause=16 ;text=\"Terminated\"").unwrap();
        assert_eq!(reason.protocol, b"Q.850");
        assert_eq!((reason.cause(), reason.text()), (Some(16), Some(&b"Terminated"[..])));
    }

    #[test]
    fn a_retry_after_may_have_a_comment_and_a_duration() {
        let retry = RetryAfter::parse(b"120 (I'm in a meeting);duration=3600").unwrap();
        assert_eq!(retry.delay_s, 120);
        assert_eq!(retry.rest, b"(I'm in a meeting);duration=3600");
        assert!(RetryAfter::parse(b"949302838503028349304023988").is_err());
        assert!(RetryAfter::parse(b"5 (open").is_err());
    }
}
