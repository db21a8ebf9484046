//! Why the nodes of media drop packets: their own reasons, those of [`crate::Reason`], and those
//! of SRTP, each with its counter in the graph.

use crate::flow::Reason;
use graph::Verdict;
use srtp::Refused;

/// Nothing is known of the port.
pub(crate) const NO_FLOW: Verdict = drop(0);
/// What comes there ends there, or its other side is not said yet.
pub(crate) const NO_OTHER: Verdict = drop(1);
/// The keys are not agreed yet.
pub(crate) const NO_KEYS: Verdict = drop(2);
/// A length of UDP that cannot be.
pub(crate) const LENGTH: Verdict = drop(3);
/// UDP over IPv6 without a checksum (RFC 8200 §8.1).
pub(crate) const NO_CHECKSUM: Verdict = drop(4);
/// A fragment: where it goes stands in another packet.
pub(crate) const FRAGMENT: Verdict = drop(5);
/// Headers and tags do not fit beside the payload.
pub(crate) const NO_ROOM: Verdict = drop(6);
/// It has passed as many routers as it may.
pub(crate) const NO_HOPS: Verdict = drop(7);
/// More frames to be transcoded than such an end sends.
pub(crate) const FRAMES: Verdict = drop(8);

const OWN: usize = 9;
/// Where the reasons of SRTP begin.
const SRTP: usize = OWN + FLOW;
/// Reasons of a flow.
const FLOW: usize = 12;
const _: () = assert!(Reason::ALL.len() == FLOW);

/// All of them as counters are named.
pub(crate) const REASONS: &[&str] = &[
    "media: no flow has the port",
    "media: no other side",
    "media: no keys yet",
    "media: length of UDP",
    "media: ip6 without a checksum of UDP",
    "media: fragment",
    "media: no room",
    "media: time to live",
    "media: beyond the rate of frames",
    "media: no media packet",
    "media: not what the port is for",
    "media: source is not the latched one",
    "media: source was not signalled",
    "media: direction is not active",
    "media: payload type was not agreed",
    "media: SSRC was not agreed",
    "media: beyond the agreed bandwidth",
    "media: malformed RTP or RTCP",
    "media: STUN is not wanted",
    "media: DTLS is not wanted",
    "media: beyond the rate of STUN and DTLS",
    "srtp: malformed",
    "srtp: no room",
    "srtp: no stream",
    "srtp: came before",
    "srtp: too old",
    "srtp: wrong tag",
    "srtp: unknown MKI",
    "srtp: encrypted otherwise than agreed",
    "srtp: key used up",
    "srtp: too many SSRCs",
    "srtp: ahead of what a standby was told",
];
const _: () = assert!(REASONS.len() == SRTP + Refused::ALL.len());

const fn drop(number: u8) -> Verdict {
    Verdict::drop(graph::Reason(number))
}

fn at(place: usize) -> Verdict {
    drop(u8::try_from(place).unwrap_or(0))
}

/// A reason of a flow.
pub(crate) fn of_flow(reason: Reason) -> Verdict {
    at(OWN + reason as usize)
}

/// A reason of SRTP.
pub(crate) fn of_srtp(refused: Refused) -> Verdict {
    at(SRTP + refused as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_counted_under_its_own_name() {
        for reason in Reason::ALL {
            assert_eq!(REASONS[OWN + *reason as usize], format!("media: {}", reason.name()));
        }
        for (place, refused) in Refused::ALL.iter().enumerate() {
            assert_eq!(*refused as usize, place);
        }
        let mut names = REASONS.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), REASONS.len());
    }
}
