//! RSeq and RAck (RFC 3262 §7).

use crate::method::Method;
use crate::octet::{self, DIGIT, TOKEN};
use wire::Malformed;

/// The option tag of reliable provisional responses (RFC 3262 §8.1).
pub const OPTION_RELIABLE: &[u8] = b"100rel";

/// Reads an RSeq value: 1 to 2^32 - 1.
///
/// # Errors
/// Anything else.
pub fn rseq(value: &[u8]) -> Result<u32, Malformed> {
    octet::number(value, u32::MAX.into()).filter(|&number: &u32| number > 0).ok_or(Malformed::new(
        0,
        "RSeq is not 1 to 2^32 - 1",
        "RFC 3262 §7.1",
    ))
}

/// Which reliable provisional response a PRACK acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RAck {
    /// Its RSeq.
    pub rseq: u32,
    /// The CSeq number of its request.
    pub cseq: u32,
    /// The method of its request.
    pub method: Method,
}

impl RAck {
    /// Reads a RAck value.
    ///
    /// # Errors
    /// Anything but two numbers and a method.
    pub fn parse(value: &[u8]) -> Result<Self, Malformed> {
        let violation =
            |at| Malformed::new(at, "RAck is not two numbers and a method", "RFC 3262 §7.2");
        let number = |at: usize| {
            let end = octet::run(value, at, DIGIT);
            let number = octet::number(&value[at..end], u32::MAX.into()).ok_or(violation(at))?;
            let next = octet::skip_space(value, end);
            if next == end { Err(violation(end)) } else { Ok((number, next)) }
        };
        let (rseq, at) = number(0)?;
        let (cseq, at) = number(at)?;
        let end = octet::run(value, at, TOKEN);
        if end == at || end != value.len() {
            return Err(violation(end));
        }
        Ok(Self { rseq, cseq, method: Method::parse(&value[at..]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rack_names_response_and_request() {
        let rack = RAck::parse(b"776656 1 INVITE").unwrap();
        assert_eq!(rack, RAck { rseq: 776_656, cseq: 1, method: Method::Invite });
        for bad in ["", "1", "1 2", "1 2 ", "1 x INVITE", "1 2 INVITE x", "4294967296 1 INVITE"] {
            assert!(RAck::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_rseq_begins_at_one() {
        assert_eq!(rseq(b"988789"), Ok(988_789));
        assert!(rseq(b"0").is_err());
        assert!(rseq(b"4294967296").is_err());
    }
}
