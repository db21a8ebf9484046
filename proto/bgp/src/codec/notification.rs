//! NOTIFICATION: error codes, their subcodes, and the shutdown communication (RFC 4271 §4.5, §6;
//! RFC 4486, 6608, 7313, 8538, 9003, 9234, 9687).

use super::header::{begin, end};
use super::{HEADER_BYTES, MessageType, be16, be32, octet};
use crate::family::Family;
use core::fmt;

/// Octets of a shutdown communication at most (RFC 9003 §2).
pub const CEASE_COMMUNICATION_BYTES_MAX: usize = 255;

wire::rows! {
    /// The error codes.
    pub enum ErrorCode: u8 {
        /// No message begins there.
        MessageHeader = 1, "Message Header Error", "RFC 4271 §6.1";
        /// The OPEN is not acceptable.
        OpenMessage = 2, "OPEN Message Error", "RFC 4271 §6.2";
        /// The UPDATE is not acceptable.
        UpdateMessage = 3, "UPDATE Message Error", "RFC 4271 §6.3";
        /// Nothing came for the hold time.
        HoldTimerExpired = 4, "Hold Timer Expired", "RFC 4271 §6.5";
        /// A message came that the state does not take.
        FiniteStateMachine = 5, "Finite State Machine Error", "RFC 4271 §6.6";
        /// The session ends for another reason.
        Cease = 6, "Cease", "RFC 4271 §6.7";
        /// The ROUTE-REFRESH is not acceptable.
        RouteRefresh = 7, "ROUTE-REFRESH Message Error", "RFC 7313 §5";
        /// The peer took nothing for the send hold time.
        SendHoldTimerExpired = 8, "Send Hold Timer Expired", "RFC 9687 §3";
    }
}

wire::rows! {
    /// Subcodes of a Message Header Error.
    pub enum HeaderError: u8 {
        /// The marker is wrong.
        ConnectionNotSynchronized = 1, "Connection Not Synchronized", "RFC 4271 §6.1";
        /// The length is wrong.
        BadMessageLength = 2, "Bad Message Length", "RFC 4271 §6.1";
        /// The type is wrong.
        BadMessageType = 3, "Bad Message Type", "RFC 4271 §6.1";
    }
}

wire::rows! {
    /// Subcodes of an OPEN Message Error.
    pub enum OpenError: u8 {
        /// No subcode fits.
        Unspecific = 0, "Unspecific", "RFC 4271 §6.2";
        /// Not version 4.
        UnsupportedVersionNumber = 1, "Unsupported Version Number", "RFC 4271 §6.2";
        /// Not the AS that is configured.
        BadPeerAs = 2, "Bad Peer AS", "RFC 4271 §6.2";
        /// Zero, or our own inside of the AS.
        BadBgpIdentifier = 3, "Bad BGP Identifier", "RFC 6286 §2.2";
        /// Not the capabilities.
        UnsupportedOptionalParameter = 4, "Unsupported Optional Parameter", "RFC 4271 §6.2";
        /// One or two seconds, or less than is configured.
        UnacceptableHoldTime = 6, "Unacceptable Hold Time", "RFC 4271 §6.2";
        /// A capability that is needed lacks.
        UnsupportedCapability = 7, "Unsupported Capability", "RFC 5492 §5";
        /// The roles do not go together.
        RoleMismatch = 11, "Role Mismatch", "RFC 9234 §4.2";
    }
}

wire::rows! {
    /// Subcodes of an UPDATE Message Error.
    pub enum UpdateError: u8 {
        /// Lengths do not fit, or one of the multiprotocol attributes came twice.
        MalformedAttributeList = 1, "Malformed Attribute List", "RFC 4271 §6.3";
        /// A well-known attribute that nobody knows.
        UnrecognizedWellKnownAttribute = 2, "Unrecognized Well-known Attribute", "RFC 4271 §6.3";
        /// A mandatory attribute lacks.
        MissingWellKnownAttribute = 3, "Missing Well-known Attribute", "RFC 4271 §6.3";
        /// The flags are not those of the type.
        AttributeFlagsError = 4, "Attribute Flags Error", "RFC 4271 §6.3";
        /// The length is not that of the type.
        AttributeLengthError = 5, "Attribute Length Error", "RFC 4271 §6.3";
        /// An ORIGIN that does not exist.
        InvalidOriginAttribute = 6, "Invalid ORIGIN Attribute", "RFC 4271 §6.3";
        /// Not the address of a host.
        InvalidNextHopAttribute = 8, "Invalid NEXT_HOP Attribute", "RFC 4271 §6.3";
        /// The value of an optional attribute.
        OptionalAttributeError = 9, "Optional Attribute Error", "RFC 4271 §6.3";
        /// Prefixes that cannot be read.
        InvalidNetworkField = 10, "Invalid Network Field", "RFC 4271 §6.3";
        /// The AS_PATH cannot be read.
        MalformedAsPath = 11, "Malformed AS_PATH", "RFC 4271 §6.3";
    }
}

wire::rows! {
    /// Subcodes of a Finite State Machine Error.
    pub enum FsmError: u8 {
        /// In OpenSent.
        InOpenSent = 1, "Receive Unexpected Message in OpenSent State", "RFC 6608 §3";
        /// In OpenConfirm.
        InOpenConfirm = 2, "Receive Unexpected Message in OpenConfirm State", "RFC 6608 §3";
        /// In Established.
        InEstablished = 3, "Receive Unexpected Message in Established State", "RFC 6608 §3";
    }
}

wire::rows! {
    /// Subcodes of Cease.
    pub enum Cease: u8 {
        /// More prefixes than are allowed.
        MaximumPrefixes = 1, "Maximum Number of Prefixes Reached", "RFC 4486 §4";
        /// The operator ended the session.
        AdministrativeShutdown = 2, "Administrative Shutdown", "RFC 4486 §4";
        /// The peer is no longer configured.
        PeerDeconfigured = 3, "Peer De-configured", "RFC 4486 §4";
        /// The operator restarts the session.
        AdministrativeReset = 4, "Administrative Reset", "RFC 4486 §4";
        /// The connection is refused after it was accepted.
        ConnectionRejected = 5, "Connection Rejected", "RFC 4486 §4";
        /// The configuration changed.
        OtherConfigurationChange = 6, "Other Configuration Change", "RFC 4486 §4";
        /// There are two connections; the other one stays.
        ConnectionCollisionResolution = 7, "Connection Collision Resolution", "RFC 4486 §4";
        /// Memory or the like.
        OutOfResources = 8, "Out of Resources", "RFC 4486 §4";
        /// The session ends without graceful restart.
        HardReset = 9, "Hard Reset", "RFC 8538 §3.1";
        /// The path is down by BFD.
        BfdDown = 10, "BFD Down", "RFC 9384 §3";
    }
}

wire::rows! {
    /// Subcodes of a ROUTE-REFRESH Message Error.
    pub enum RefreshError: u8 {
        /// Not four octets.
        InvalidMessageLength = 1, "Invalid Message Length", "RFC 7313 §5";
    }
}

/// Code and subcode of a NOTIFICATION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Notice {
    /// The error code, also one that nobody knows.
    pub code: u8,
    /// Its subcode, zero for unspecific.
    pub subcode: u8,
}

impl Notice {
    /// Hold Timer Expired.
    pub const HOLD_TIMER_EXPIRED: Self = Self { code: 4, subcode: 0 };
    /// Send Hold Timer Expired (RFC 9687 §3).
    pub const SEND_HOLD_TIMER_EXPIRED: Self = Self { code: 8, subcode: 0 };

    /// A Message Header Error.
    #[must_use]
    pub const fn header(error: HeaderError) -> Self {
        Self { code: ErrorCode::MessageHeader.number(), subcode: error.number() }
    }

    /// An OPEN Message Error.
    #[must_use]
    pub const fn open(error: OpenError) -> Self {
        Self { code: ErrorCode::OpenMessage.number(), subcode: error.number() }
    }

    /// An UPDATE Message Error.
    #[must_use]
    pub const fn update(error: UpdateError) -> Self {
        Self { code: ErrorCode::UpdateMessage.number(), subcode: error.number() }
    }

    /// A Finite State Machine Error.
    #[must_use]
    pub const fn fsm(error: FsmError) -> Self {
        Self { code: ErrorCode::FiniteStateMachine.number(), subcode: error.number() }
    }

    /// Cease.
    #[must_use]
    pub const fn cease(cease: Cease) -> Self {
        Self { code: ErrorCode::Cease.number(), subcode: cease.number() }
    }

    /// A ROUTE-REFRESH Message Error.
    #[must_use]
    pub const fn refresh(error: RefreshError) -> Self {
        Self { code: ErrorCode::RouteRefresh.number(), subcode: error.number() }
    }

    /// Whether it is that Cease.
    #[must_use]
    pub fn is(self, cease: Cease) -> bool {
        self == Self::cease(cease)
    }

    /// The name of the code.
    #[must_use]
    pub fn name(self) -> &'static str {
        ErrorCode::of(self.code).map_or("Unknown Error", ErrorCode::name)
    }

    /// The name of the subcode, where it has one.
    #[must_use]
    pub fn detail(self) -> Option<&'static str> {
        match ErrorCode::of(self.code)? {
            ErrorCode::MessageHeader => HeaderError::of(self.subcode).map(HeaderError::name),
            ErrorCode::OpenMessage => OpenError::of(self.subcode).map(OpenError::name),
            ErrorCode::UpdateMessage => UpdateError::of(self.subcode).map(UpdateError::name),
            ErrorCode::FiniteStateMachine => FsmError::of(self.subcode).map(FsmError::name),
            ErrorCode::Cease => Cease::of(self.subcode).map(Cease::name),
            ErrorCode::RouteRefresh => RefreshError::of(self.subcode).map(RefreshError::name),
            ErrorCode::HoldTimerExpired | ErrorCode::SendHoldTimerExpired => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail() {
            Some(detail) => write!(f, "{}: {detail}", self.name()),
            None if self.subcode == 0 => write!(f, "{}", self.name()),
            None => write!(f, "{} {}/{}", self.name(), self.code, self.subcode),
        }
    }
}

/// A NOTIFICATION that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notification<'a> {
    /// Code and subcode.
    pub notice: Notice,
    /// The Data field.
    pub data: &'a [u8],
}

impl<'a> Notification<'a> {
    /// Reads a message that [`super::frame`] found. A NOTIFICATION is never answered, so there is
    /// nothing in it to offend.
    #[must_use]
    pub fn read(message: &'a [u8]) -> Option<Self> {
        let [code, subcode, data @ ..] = message.get(HEADER_BYTES..)? else { return None };
        Some(Self { notice: Notice { code: *code, subcode: *subcode }, data })
    }

    /// The notification inside of a Hard Reset (RFC 8538 §3.1).
    #[must_use]
    pub fn inside(&self) -> Option<Self> {
        let [code, subcode, data @ ..] = self.data else { return None };
        let notice = Notice { code: *code, subcode: *subcode };
        self.notice.is(Cease::HardReset).then_some(Self { notice, data })
    }

    /// What the operator wrote (RFC 9003 §2), also inside of a Hard Reset; `None` if nothing, if
    /// the length does not fit, or if it is not UTF-8. Control characters and marks of direction,
    /// which would steer who reads it (§4), became U+FFFD.
    #[must_use]
    pub fn communication(&self) -> Option<String> {
        let own = self.inside().unwrap_or(*self);
        let is_told = own.notice.is(Cease::AdministrativeShutdown)
            || own.notice.is(Cease::AdministrativeReset);
        let (length, text) = own.data.split_first().filter(|_| is_told)?;
        let text = text.get(..usize::from(*length)).filter(|text| !text.is_empty())?;
        let text = core::str::from_utf8(text).ok()?;
        Some(text.replace(steers, "\u{fffd}"))
    }

    /// The family and the upper bound that were exceeded (RFC 4486 §4).
    #[must_use]
    pub fn prefix_limit(&self) -> Option<(Option<Family>, u32)> {
        let is_told = self.notice.is(Cease::MaximumPrefixes) && self.data.len() >= 7;
        is_told.then(|| (Family::of(be16(self.data, 0), self.data[2]), be32(self.data, 3)))
    }
}

/// Whether a character steers whatever shows it.
fn steers(it: char) -> bool {
    let is_mark = matches!(it, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}');
    it.is_control() || is_mark || matches!(it, '\u{2066}'..='\u{2069}')
}

/// Appends a NOTIFICATION; data past `message_max` is cut.
pub fn write_notification(notice: Notice, data: &[u8], message_max: usize, out: &mut Vec<u8>) {
    let start = begin(MessageType::Notification, out);
    out.extend_from_slice(&[notice.code, notice.subcode]);
    let room = message_max.saturating_sub(HEADER_BYTES + 2);
    out.extend_from_slice(&data[..data.len().min(room)]);
    end(start, out);
}

/// Appends the Data field of a shutdown communication: what does not fit is cut between
/// characters (RFC 9003 §2).
pub fn write_communication(text: &str, out: &mut Vec<u8>) {
    let mut length = text.len().min(CEASE_COMMUNICATION_BYTES_MAX);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    out.push(octet(length));
    out.extend_from_slice(&text.as_bytes()[..length]);
}
