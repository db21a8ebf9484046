//! What SRTP needs to see of a packet (RFC 3550 §5.1, §6.4.1; RFC 3711 §3.1, §3.4) and why it may
//! not pass.

use core::fmt;

/// Octets of the head of RTP that is always there.
pub const RTP_HEAD: usize = 12;
/// Octets of RTCP that are never encrypted: the head of the first packet with its SSRC.
pub const RTCP_HEAD: usize = 8;
/// Octets of the word behind RTCP: whether it is encrypted, and its index.
pub const SRTCP_WORD: usize = 4;
/// The bit of that word that says that it is encrypted.
pub(crate) const ENCRYPTED: u32 = 1 << 31;

/// Why a packet does not pass. What it refuses is as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refused {
    /// It is no packet of RTP or RTCP, or shorter than what must be in it.
    Malformed,
    /// The buffer has no room for what is added, or ends before the packet does.
    NoRoom,
    /// There is no such stream in the batch's table.
    NoStream,
    /// This index came before, or was used before.
    Replayed,
    /// Its index is so old that nobody knows whether it came.
    Old,
    /// Its tag is wrong.
    Forged,
    /// It names a master key that is not there.
    UnknownMki,
    /// It is encrypted though that was not agreed, or not encrypted though it was.
    WrongEncryption,
    /// Its master key has no more packets to give, or its stream no more indices.
    Exhausted,
    /// One more SSRC would be more than a direction follows.
    TooManyStreams,
    /// It would be further ahead of what was told than whoever takes over goes.
    Untold,
}

impl Refused {
    /// Every reason, for counters.
    pub const ALL: [Self; 11] = [
        Self::Malformed,
        Self::NoRoom,
        Self::NoStream,
        Self::Replayed,
        Self::Old,
        Self::Forged,
        Self::UnknownMki,
        Self::WrongEncryption,
        Self::Exhausted,
        Self::TooManyStreams,
        Self::Untold,
    ];
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "it is no packet of RTP or RTCP",
            Self::NoRoom => "the buffer has no room for it",
            Self::NoStream => "there is no such stream",
            Self::Replayed => "its index came before",
            Self::Old => "its index is too old",
            Self::Forged => "its tag is wrong",
            Self::UnknownMki => "it names an unknown master key",
            Self::WrongEncryption => "it is encrypted or not as was not agreed",
            Self::Exhausted => "its master key is used up",
            Self::TooManyStreams => "the direction follows no more SSRCs",
            Self::Untold => "it is too far ahead of what a standby was told",
        })
    }
}

impl core::error::Error for Refused {}

/// The head of a packet of RTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RtpHead {
    /// Octets up to the payload: CSRCs and the header extension are part of the head.
    pub length: usize,
    pub sequence: u16,
    pub ssrc: u32,
}

impl RtpHead {
    pub fn read(packet: &[u8]) -> Result<Self, Refused> {
        let head: &[u8; RTP_HEAD] = packet.first_chunk().ok_or(Refused::Malformed)?;
        if head[0] >> 6 != 2 {
            return Err(Refused::Malformed);
        }
        let mut length = RTP_HEAD + usize::from(head[0] & 0x0f) * 4;
        if head[0] & 0x10 != 0 {
            let extension = packet.get(length..).and_then(|rest| rest.first_chunk::<4>());
            let extension = extension.ok_or(Refused::Malformed)?;
            length += 4 + usize::from(u16::from_be_bytes([extension[2], extension[3]])) * 4;
        }
        if length > packet.len() {
            return Err(Refused::Malformed);
        }
        let sequence = u16::from_be_bytes([head[2], head[3]]);
        let ssrc = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
        Ok(Self { length, sequence, ssrc })
    }
}

/// The SSRC of who sends RTCP.
pub(crate) fn rtcp_ssrc(packet: &[u8]) -> Result<u32, Refused> {
    let head: &[u8; RTCP_HEAD] = packet.first_chunk().ok_or(Refused::Malformed)?;
    if head[0] >> 6 != 2 {
        return Err(Refused::Malformed);
    }
    Ok(u32::from_be_bytes([head[4], head[5], head[6], head[7]]))
}

/// Whether a packet of a port that has both is RTCP (RFC 5761 §4): its type lies between 192 and
/// 223.
#[must_use]
pub fn is_rtcp(packet: &[u8]) -> bool {
    packet.get(1).is_some_and(|octet| (192..=223).contains(octet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_ends_behind_csrcs_and_extension() {
        let mut packet = vec![0x92, 0, 0x12, 0x34, 0, 0, 0, 0, 0xca, 0xfe, 0xba, 0xbe];
        packet.extend([1; 8]);
        packet.extend([0xbe, 0xde, 0, 1, 5, 5, 5, 5, 9]);
        let head = RtpHead::read(&packet).unwrap();
        assert_eq!((head.length, head.sequence, head.ssrc), (28, 0x1234, 0xcafe_babe));
        for cut in 0..28 {
            assert_eq!(RtpHead::read(&packet[..cut]), Err(Refused::Malformed));
        }
        packet[0] = 0x52;
        assert_eq!(RtpHead::read(&packet), Err(Refused::Malformed));
    }

    #[test]
    fn on_a_port_for_both_the_type_tells_them_apart() {
        assert!(is_rtcp(&[0x80, 200]) && is_rtcp(&[0x80, 192]) && is_rtcp(&[0x80, 223]));
        assert!(!is_rtcp(&[0x80, 0]) && !is_rtcp(&[0x80, 0x80 | 96]) && !is_rtcp(&[0x80]));
    }
}
