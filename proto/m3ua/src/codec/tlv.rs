//! Tag, length, value: the walk over parameters (RFC 4666 §3.2).

use super::{ErrorCode, PARAMETERS_MAX, TLV_BYTES, Violation, be16, padded};

const SPEC: &str = "RFC 4666 §3.2";

/// One parameter as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Offset of its tag from the start of the message, octets.
    pub at: usize,
    /// Its tag, known or not.
    pub tag: u16,
    /// Its value without padding.
    pub value: &'a [u8],
}

/// Parameters one after the other, each padded to four octets; the last one's padding may lack.
/// After a violation nothing more comes.
#[derive(Debug, Clone)]
pub struct Parameters<'a> {
    at: usize,
    rest: &'a [u8],
    seen: usize,
}

impl<'a> Parameters<'a> {
    /// Those in `bytes`, which begin `at` octets into the message.
    #[must_use]
    pub const fn new(at: usize, bytes: &'a [u8]) -> Self {
        Self { at, rest: bytes, seen: 0 }
    }

    #[inline]
    fn read(&mut self) -> Result<Parameter<'a>, Violation> {
        let (at, rest) = (self.at, core::mem::take(&mut self.rest));
        let violation =
            |at, what| Err(Violation::new(ErrorCode::ParameterFieldError, at, what, SPEC));
        if rest.len() < TLV_BYTES {
            return violation(at, "tag and length are cut off");
        }
        let length = usize::from(be16(rest, 2));
        if length < TLV_BYTES {
            return violation(at + 2, "the parameter length is less than four");
        }
        if length > rest.len() {
            return violation(at + 2, "the parameter length points past the end");
        }
        if self.seen == PARAMETERS_MAX {
            return violation(at, "there are too many parameters");
        }
        self.seen += 1;
        let step = padded(length).min(rest.len());
        self.rest = &rest[step..];
        self.at += step;
        Ok(Parameter { at, tag: be16(rest, 0), value: &rest[TLV_BYTES..length] })
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Result<Parameter<'a>, Violation>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() { None } else { Some(self.read()) }
    }
}
