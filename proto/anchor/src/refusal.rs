//! Why a description is not taken, as a SIP response says it.

use wire::Malformed;

wire::rows! {
    /// Reasons for a refusal, and the status of the response.
    pub enum Reason: u8, pub status: u16 {
        /// The text is no description.
        Description = 1, "bad description", 488, "RFC 8866 §5";
        /// No address, a name, or one of many receivers.
        Address = 2, "bad media address", 488, "RFC 8866 §5.7";
        /// A port that nobody can be reached at.
        Port = 3, "bad media port", 488, "RFC 8866 §5.14";
        /// More bandwidth than the policy has, or an unreadable one.
        Bandwidth = 4, "bandwidth not available", 488, "RFC 8866 §5.8";
        /// Keys of what is protected lack, are unusable, or are of a kind that the policy forbids.
        Keys = 5, "media keys not acceptable", 488, "RFC 4568 §6.1";
        /// No codec that both sides and the policy have.
        Codec = 6, "no codec in common", 488, "RFC 3264 §6.1";
        /// Kinds of media that the policy forbids, and no other.
        Kind = 7, "media type not allowed", 488, "RFC 3264 §6";
        /// Streams vanished, or an answer has more than its offer.
        Lines = 8, "streams do not fit", 488, "RFC 3264 §8";
        /// More streams than a call may have.
        Many = 9, "too many streams", 488, "RFC 8866 §5.14";
        /// No port is free, or none of that address family.
        Room = 10, "no media port free", 503, "RFC 3261 §21.5.4";
        /// The other side's offer waits for its answer.
        Glare = 11, "an offer of the other side is pending", 491, "RFC 3261 §14.2";
        /// This side's offer waits for its answer.
        Pending = 12, "an offer is pending", 500, "RFC 3261 §14.2";
        /// Nothing was offered.
        Unasked = 13, "an answer without an offer", 488, "RFC 3264 §5";
        /// An address of another family than the port that the side was given, or will be.
        Family = 14, "media address of another family", 488, "RFC 6157 §3";
        /// An address of one host or one link alone, or a port of this very stream.
        Place = 15, "media address not reachable", 488, "RFC 1122 §3.2.1.3";
        /// Nothing of an offer is protected, and the policy wants that.
        Unprotected = 16, "the realm requires SRTP, the offer has RTP", 488, "RFC 3711 §1";
        /// Nothing of an answer is protected, and the policy wants that.
        UnprotectedAnswer = 17, "the realm requires SRTP, the answer has RTP", 488, "RFC 3711 §1";
        /// An offer is protected, and the policy has no protection.
        Protected = 18, "the realm takes no SRTP, the offer has it", 488, "RFC 3711 §1";
    }
}

/// A description that was not taken. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The stream, counted from zero, if one is meant.
    pub line: Option<u8>,
    /// The violation, where the text is malformed.
    pub violation: Option<Malformed>,
}

impl Refusal {
    /// The status of a SIP response.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.reason.status()
    }

    /// Words for a Reason or Warning header.
    #[must_use]
    pub const fn words(&self) -> &'static str {
        self.reason.name()
    }

    /// For stream `line`.
    pub(crate) fn at(reason: Reason, line: usize) -> Self {
        Self { reason, line: u8::try_from(line).ok(), violation: None }
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self { reason, line: None, violation: None }
    }
}

impl From<Malformed> for Refusal {
    fn from(violation: Malformed) -> Self {
        Self { reason: Reason::Description, line: None, violation: Some(violation) }
    }
}
