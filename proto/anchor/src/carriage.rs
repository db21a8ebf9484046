//! What carries a stream: the protocol of an `m=` line (RFC 8866 §5.14).

/// Protection of RTP as the profile names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// None: `RTP/AVP` (RFC 3551), `RTP/AVPF` (RFC 4585).
    Plain,
    /// SRTP: `RTP/SAVP` (RFC 3711), `RTP/SAVPF` (RFC 5124).
    Srtp,
    /// SRTP with keys by DTLS: `UDP/TLS/RTP/SAVP`, `UDP/TLS/RTP/SAVPF` (RFC 5764 §8).
    Dtls,
}

/// What carries a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carriage {
    /// RTP with RTCP.
    Rtp {
        /// How it is protected.
        security: Security,
        /// Whether RTCP feedback may be sent early (the profiles with an F).
        feedback: bool,
    },
    /// T.38 over UDPTL.
    Udptl,
    /// Datagrams that nobody looks into: `UDP`, `UDP/BFCP`, `UDP/DTLS/SCTP`.
    Datagrams,
    /// No datagrams: TCP, MSRP and what nobody knows.
    Other,
}

/// The six profiles of RTP.
const PROFILES: [(&str, Security, bool); 6] = [
    ("RTP/AVP", Security::Plain, false),
    ("RTP/AVPF", Security::Plain, true),
    ("RTP/SAVP", Security::Srtp, false),
    ("RTP/SAVPF", Security::Srtp, true),
    ("UDP/TLS/RTP/SAVP", Security::Dtls, false),
    ("UDP/TLS/RTP/SAVPF", Security::Dtls, true),
];

impl Carriage {
    /// Reads a protocol; case does not matter, since T.38 gateways write `udptl` and `UDPTL`.
    #[must_use]
    pub fn of(protocol: &[u8]) -> Self {
        for (name, security, feedback) in PROFILES {
            if protocol.eq_ignore_ascii_case(name.as_bytes()) {
                return Self::Rtp { security, feedback };
            }
        }
        if protocol.eq_ignore_ascii_case(b"udptl") {
            return Self::Udptl;
        }
        let is_udp = protocol.get(..3).is_some_and(|head| head.eq_ignore_ascii_case(b"udp"));
        if is_udp && matches!(protocol.get(3), None | Some(b'/')) {
            return Self::Datagrams;
        }
        Self::Other
    }

    /// The profile's name; empty for what is no RTP.
    #[must_use]
    pub fn name(self) -> &'static str {
        let Self::Rtp { security, feedback } = self else { return "" };
        let is = |row: &&(&str, Security, bool)| (row.1, row.2) == (security, feedback);
        PROFILES.iter().find(is).map_or("", |row| row.0)
    }

    /// Whether it is RTP.
    #[must_use]
    pub const fn is_rtp(self) -> bool {
        matches!(self, Self::Rtp { .. })
    }

    /// How it is protected.
    #[must_use]
    pub const fn security(self) -> Security {
        match self {
            Self::Rtp { security, .. } => security,
            _ => Security::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_read_in_any_case_and_the_profiles_are_written_as_they_are_read() {
        for (name, _, _) in PROFILES {
            assert_eq!(Carriage::of(name.as_bytes()).name(), name);
        }
        assert_eq!(Carriage::of(b"UDPTL"), Carriage::Udptl);
        assert_eq!(Carriage::of(b"UDP/BFCP"), Carriage::Datagrams);
        assert_eq!(Carriage::of(b"TCP/TLS/MSRP"), Carriage::Other);
        assert_eq!(Carriage::of(b"UDPX"), Carriage::Other);
    }
}
