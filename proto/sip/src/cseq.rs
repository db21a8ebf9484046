//! CSeq (RFC 3261 §20.16).

use crate::method::Method;
use crate::octet::{self, TOKEN};
use wire::Malformed;

const SPEC: &str = "RFC 3261 §20.16";
/// A CSeq number is less than 2^31 (RFC 3261 §8.1.1.5).
pub const CSEQ_MAX: u32 = (1 << 31) - 1;

/// Sequence number and method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CSeq<'a> {
    /// The number, below 2^31.
    pub number: u32,
    /// The method's row.
    pub method: Method,
    /// The method's name as written.
    pub name: &'a [u8],
}

impl<'a> CSeq<'a> {
    /// Reads a CSeq value.
    ///
    /// # Errors
    /// Anything but a number below 2^31 and a method.
    #[inline]
    pub fn parse(value: &'a [u8]) -> Result<Self, Malformed> {
        let (number, digits) = octet::digits(value, 0, u64::from(CSEQ_MAX));
        let Some(number) = number else {
            return Err(Malformed::new(0, "CSeq number is not below 2^31", "RFC 3261 §8.1.1.5"));
        };
        let start = octet::skip_space(value, digits);
        let end = octet::run(value, start, TOKEN);
        if start == digits || end == start || end != value.len() {
            return Err(Malformed::new(start, "CSeq is not a number and a method", SPEC));
        }
        let name = &value[start..end];
        Ok(Self { number, method: Method::parse(name), name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cseq_is_read_across_a_fold_and_with_leading_zeros() {
        let cseq = CSeq::parse(b"0009\r\n  INVITE").unwrap();
        assert_eq!((cseq.number, cseq.method), (9, Method::Invite));
    }

    #[test]
    fn a_number_of_two_to_the_31_is_refused() {
        assert_eq!(CSeq::parse(b"2147483647 ACK").unwrap().number, CSEQ_MAX);
        assert_eq!(CSeq::parse(b"2147483648 ACK").unwrap_err().spec, "RFC 3261 §8.1.1.5");
        for bad in [&b"1"[..], b"1 ", b"1ACK", b"1 A B", b"-1 ACK", b""] {
            assert!(CSeq::parse(bad).is_err(), "{bad:?}");
        }
    }
}
