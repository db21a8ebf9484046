//! What a datagram is that came to a port where several protocols meet (RFC 7983 §7, RFC 5761 §4,
//! RFC 9443 §2).
//!
//! ```text
//!   first octet    0..=3  16..=19  20..=63  64..=79       128..=191
//!                  STUN   ZRTP     DTLS     TURN channel  second octet 192..=223: RTCP, else RTP
//! ```

use crate::packet::HEADER_BYTES;

/// The second octets of RTCP: packet types 192 to 223, which as RTP would be the payload types 64
/// to 95 with the marker, and those are not given out (RFC 5761 §4).
const RTCP_TYPES: core::ops::RangeInclusive<u8> = 192..=223;
/// Octets of the shortest RTCP packet, a BYE of nobody.
const RTCP_BYTES_MIN: usize = 4;

wire::rows! {
    /// What came.
    pub enum Datagram {
        /// STUN.
        Stun = "STUN", "RFC 7983 §7";
        /// ZRTP.
        Zrtp = "ZRTP", "RFC 7983 §7";
        /// DTLS.
        Dtls = "DTLS", "RFC 7983 §7";
        /// Data of a TURN channel.
        TurnChannel = "TURN channel", "RFC 7983 §7";
        /// RTP, or SRTP.
        Rtp = "RTP", "RFC 7983 §7";
        /// RTCP, or SRTCP.
        Rtcp = "RTCP", "RFC 5761 §4";
        /// None of them, or too short to be one.
        Unknown = "unknown", "RFC 7983 §7";
    }
}

impl Datagram {
    /// What a datagram is, by its first two octets and its length. Nothing else was looked at.
    #[inline]
    #[must_use]
    pub fn of(datagram: &[u8]) -> Self {
        match datagram {
            [128..=191, second, ..] if RTCP_TYPES.contains(second) => {
                if datagram.len() < RTCP_BYTES_MIN { Self::Unknown } else { Self::Rtcp }
            }
            [128..=191, ..] if datagram.len() >= HEADER_BYTES => Self::Rtp,
            [0..=3, ..] => Self::Stun,
            [16..=19, ..] => Self::Zrtp,
            [20..=63, ..] => Self::Dtls,
            [64..=79, ..] => Self::TurnChannel,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: u8, second: u8, length: usize) -> Datagram {
        let mut datagram = vec![0; length];
        datagram[..2].copy_from_slice(&[first, second]);
        Datagram::of(&datagram)
    }

    #[test]
    fn the_first_octet_says_the_protocol() {
        for (range, expected) in [
            (0..=3, Datagram::Stun),
            (4..=15, Datagram::Unknown),
            (16..=19, Datagram::Zrtp),
            (20..=63, Datagram::Dtls),
            (64..=79, Datagram::TurnChannel),
            (80..=127, Datagram::Unknown),
            (128..=191, Datagram::Rtp),
            (192..=255, Datagram::Unknown),
        ] {
            for first in range {
                assert_eq!(of(first, 0, 20), expected, "{first}");
            }
        }
    }

    #[test]
    fn the_second_octet_parts_rtcp_from_rtp() {
        for second in 0..=255 {
            let expected =
                if (192..=223).contains(&second) { Datagram::Rtcp } else { Datagram::Rtp };
            assert_eq!(of(0x80, second, 20), expected, "{second}");
        }
    }

    #[test]
    fn what_is_too_short_is_nothing() {
        assert_eq!(Datagram::of(&[]), Datagram::Unknown);
        assert_eq!(Datagram::of(&[0x80]), Datagram::Unknown);
        assert_eq!(of(0x80, 0, 11), Datagram::Unknown);
        assert_eq!((of(0x80, 203, 3), of(0x80, 203, 4)), (Datagram::Unknown, Datagram::Rtcp));
    }
}
