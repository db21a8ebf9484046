//! Capabilities (RFC 5492 §4).

use wire::Malformed;

wire::rows! {
    /// The capabilities that are known.
    pub enum CapabilityCode: u8 {
        /// A family is spoken.
        Multiprotocol = 1, "Multiprotocol Extensions", "RFC 4760 §8";
        /// ROUTE-REFRESH is understood.
        RouteRefresh = 2, "Route Refresh", "RFC 2918 §2";
        /// IPv6 next hops for a family of IPv4.
        ExtendedNextHop = 5, "Extended Next Hop Encoding", "RFC 8950 §4";
        /// Messages of up to 65,535 octets.
        ExtendedMessage = 6, "Extended Message", "RFC 8654 §3";
        /// Several labels with a route.
        MultipleLabels = 8, "Multiple Labels", "RFC 8277 §2.1";
        /// What one is to the other.
        Role = 9, "BGP Role", "RFC 9234 §4.1";
        /// Routes outlive the session.
        GracefulRestart = 64, "Graceful Restart", "RFC 4724 §3";
        /// ASes of four octets.
        FourOctetAs = 65, "Four-Octet AS Number", "RFC 6793 §3";
        /// Several paths of a route.
        AddPath = 69, "ADD-PATH", "RFC 7911 §4";
        /// The beginning and the end of a refresh are marked.
        EnhancedRouteRefresh = 70, "Enhanced Route Refresh", "RFC 7313 §3.1";
        /// Routes outlive the session for long.
        LongLivedGracefulRestart = 71, "Long-Lived Graceful Restart", "RFC 9494 §3.1";
    }
}

impl CapabilityCode {
    /// Whether its value may have that many octets.
    pub(super) const fn takes(self, octets: usize) -> bool {
        match self {
            Self::Multiprotocol | Self::FourOctetAs => octets == 4,
            Self::RouteRefresh | Self::ExtendedMessage | Self::EnhancedRouteRefresh => octets == 0,
            Self::ExtendedNextHop => octets.is_multiple_of(6),
            Self::MultipleLabels | Self::AddPath => octets.is_multiple_of(4),
            Self::Role => octets == 1,
            Self::GracefulRestart => octets >= 2 && (octets - 2).is_multiple_of(4),
            Self::LongLivedGracefulRestart => octets.is_multiple_of(7),
        }
    }
}

/// A capability, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability<'a> {
    /// Its code.
    pub code: u8,
    /// Its offset in the parameter.
    pub at: usize,
    /// Its value.
    pub value: &'a [u8],
}

/// The capabilities of an optional parameter.
#[derive(Debug, Clone, Copy)]
pub struct Capabilities<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Capabilities<'a> {
    /// The capabilities of a parameter's value.
    #[must_use]
    pub const fn new(value: &'a [u8]) -> Self {
        Self { rest: value, at: 0 }
    }
}

impl<'a> Iterator for Capabilities<'a> {
    type Item = Result<Capability<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let at = self.at;
        let cut_off = Malformed::new(at, "the capability is cut off", "RFC 5492 §4");
        let [code, length, rest @ ..] = core::mem::take(&mut self.rest) else {
            return Some(Err(cut_off));
        };
        let Some((value, rest)) = rest.split_at_checked(usize::from(*length)) else {
            return Some(Err(cut_off));
        };
        self.rest = rest;
        self.at += 2 + value.len();
        Some(Ok(Capability { code: *code, at, value }))
    }
}
