//! What a message offends against, and the result code that answers it (RFC 6733 §7).

use wire::Malformed;

wire::rows! {
    /// Values of Result-Code (RFC 6733 §7.1, RFC 8506 §9).
    pub enum ResultCode: u32 {
        /// Another round of authentication is expected.
        MultiRoundAuth = 1001, "DIAMETER_MULTI_ROUND_AUTH", "RFC 6733 §7.1.1";
        /// The request was done.
        Success = 2001, "DIAMETER_SUCCESS", "RFC 6733 §7.1.2";
        /// It was done, and more processing is needed.
        LimitedSuccess = 2002, "DIAMETER_LIMITED_SUCCESS", "RFC 6733 §7.1.2";
        /// The application has no such command here.
        CommandUnsupported = 3001, "DIAMETER_COMMAND_UNSUPPORTED", "RFC 6733 §7.1.3";
        /// No peer takes the message.
        UnableToDeliver = 3002, "DIAMETER_UNABLE_TO_DELIVER", "RFC 6733 §7.1.3";
        /// The realm is not known.
        RealmNotServed = 3003, "DIAMETER_REALM_NOT_SERVED", "RFC 6733 §7.1.3";
        /// The server cannot provide the service now.
        TooBusy = 3004, "DIAMETER_TOO_BUSY", "RFC 6733 §7.1.3";
        /// The message was here before.
        LoopDetected = 3005, "DIAMETER_LOOP_DETECTED", "RFC 6733 §7.1.3";
        /// The request goes to Redirect-Host.
        RedirectIndication = 3006, "DIAMETER_REDIRECT_INDICATION", "RFC 6733 §7.1.3";
        /// The application is not supported.
        ApplicationUnsupported = 3007, "DIAMETER_APPLICATION_UNSUPPORTED", "RFC 6733 §7.1.3";
        /// Bits of the header do not go with the command.
        InvalidHdrBits = 3008, "DIAMETER_INVALID_HDR_BITS", "RFC 6733 §7.1.3";
        /// Bits of an AVP do not go with its definition.
        InvalidAvpBits = 3009, "DIAMETER_INVALID_AVP_BITS", "RFC 6733 §7.1.3";
        /// A CER of a peer that is not known.
        UnknownPeer = 3010, "DIAMETER_UNKNOWN_PEER", "RFC 6733 §7.1.3";
        /// The user is not authenticated.
        AuthenticationRejected = 4001, "DIAMETER_AUTHENTICATION_REJECTED", "RFC 6733 §7.1.4";
        /// Accounting found no room.
        OutOfSpace = 4002, "DIAMETER_OUT_OF_SPACE", "RFC 6733 §7.1.4";
        /// The other connection with this peer stays.
        ElectionLost = 4003, "DIAMETER_ELECTION_LOST", "RFC 6733 §7.1.4";
        /// The service is denied for now.
        EndUserServiceDenied = 4010, "DIAMETER_END_USER_SERVICE_DENIED", "RFC 8506 §9.1";
        /// The service needs no credit control.
        CreditControlNotApplicable = 4011, "DIAMETER_CREDIT_CONTROL_NOT_APPLICABLE",
            "RFC 8506 §9.1";
        /// The account has not enough.
        CreditLimitReached = 4012, "DIAMETER_CREDIT_LIMIT_REACHED", "RFC 8506 §9.1";
        /// An AVP with the M bit is not known.
        AvpUnsupported = 5001, "DIAMETER_AVP_UNSUPPORTED", "RFC 6733 §7.1.5";
        /// There is no such session.
        UnknownSessionId = 5002, "DIAMETER_UNKNOWN_SESSION_ID", "RFC 6733 §7.1.5";
        /// The user is not authorised.
        AuthorizationRejected = 5003, "DIAMETER_AUTHORIZATION_REJECTED", "RFC 6733 §7.1.5";
        /// A value is out of range.
        InvalidAvpValue = 5004, "DIAMETER_INVALID_AVP_VALUE", "RFC 6733 §7.1.5";
        /// An AVP lacks that the command needs.
        MissingAvp = 5005, "DIAMETER_MISSING_AVP", "RFC 6733 §7.1.5";
        /// The user has all the resources that he may have.
        ResourcesExceeded = 5006, "DIAMETER_RESOURCES_EXCEEDED", "RFC 6733 §7.1.5";
        /// Two AVPs contradict each other.
        ContradictingAvps = 5007, "DIAMETER_CONTRADICTING_AVPS", "RFC 6733 §7.1.5";
        /// An AVP that must not be there.
        AvpNotAllowed = 5008, "DIAMETER_AVP_NOT_ALLOWED", "RFC 6733 §7.1.5";
        /// An AVP stands there more often than it may.
        AvpOccursTooManyTimes = 5009, "DIAMETER_AVP_OCCURS_TOO_MANY_TIMES", "RFC 6733 §7.1.5";
        /// Two peers have no application in common.
        NoCommonApplication = 5010, "DIAMETER_NO_COMMON_APPLICATION", "RFC 6733 §7.1.5";
        /// The version is not spoken.
        UnsupportedVersion = 5011, "DIAMETER_UNSUPPORTED_VERSION", "RFC 6733 §7.1.5";
        /// The request is refused for a reason of its own.
        UnableToComply = 5012, "DIAMETER_UNABLE_TO_COMPLY", "RFC 6733 §7.1.5";
        /// A bit of the header that is reserved is set.
        InvalidBitInHeader = 5013, "DIAMETER_INVALID_BIT_IN_HEADER", "RFC 6733 §7.1.5";
        /// The length of an AVP is wrong.
        InvalidAvpLength = 5014, "DIAMETER_INVALID_AVP_LENGTH", "RFC 6733 §7.1.5";
        /// The length of a message is wrong.
        InvalidMessageLength = 5015, "DIAMETER_INVALID_MESSAGE_LENGTH", "RFC 6733 §7.1.5";
        /// Bits of an AVP that do not go together.
        InvalidAvpBitCombo = 5016, "DIAMETER_INVALID_AVP_BIT_COMBO", "RFC 6733 §7.1.5";
        /// Two peers have no security in common.
        NoCommonSecurity = 5017, "DIAMETER_NO_COMMON_SECURITY", "RFC 6733 §7.1.5";
        /// The user is not known to the credit-control server.
        UserUnknown = 5030, "DIAMETER_USER_UNKNOWN", "RFC 8506 §9.2";
        /// The service cannot be rated.
        RatingFailed = 5031, "DIAMETER_RATING_FAILED", "RFC 8506 §9.2";
    }
}

impl ResultCode {
    /// Whether answers with it have the E bit (RFC 6733 §7.1.3).
    #[must_use]
    pub const fn is_protocol_error(self) -> bool {
        self.number() / 1_000 == 3
    }
}

/// Octets that do not follow their specification, with what the answer has to say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The Result-Code of the answer.
    pub code: ResultCode,
    /// Where, what, and the section.
    pub malformed: Malformed,
    /// What the Failed-AVP of the answer holds (RFC 6733 §7.5): the AVP that offends, within the
    /// groups it stands in, or an example of the one that lacks. Empty: there is none.
    pub failed: Vec<u8>,
}

impl Violation {
    pub(crate) const fn new(
        code: ResultCode,
        at: usize,
        what: &'static str,
        spec: &'static str,
    ) -> Self {
        Self { code, malformed: Malformed::new(at, what, spec), failed: Vec::new() }
    }

    pub(crate) fn with(self, failed: &[u8]) -> Self {
        Self { failed: failed.to_vec(), ..self }
    }
}

impl core::fmt::Display for Violation {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.malformed)
    }
}

impl core::error::Error for Violation {}
