//! Parameters: tag, shape, section (RFC 4666 §3.2).

use super::{ErrorCode, LABEL_BYTES, Violation};

wire::rows! {
    /// The parameters of M3UA.
    pub enum Tag: u16 {
        /// Text for people.
        InfoString = 0x0004, "INFO String", "RFC 4666 §3.4.1";
        /// Which Application Servers.
        RoutingContext = 0x0006, "Routing Context", "RFC 4666 §3.3.1";
        /// The message that offended.
        DiagnosticInformation = 0x0007, "Diagnostic Information", "RFC 4666 §3.8.1";
        /// What comes back as it was sent.
        HeartbeatData = 0x0009, "Heartbeat Data", "RFC 4666 §3.5.5";
        /// How traffic is dealt.
        TrafficModeType = 0x000b, "Traffic Mode Type", "RFC 4666 §3.7.1";
        /// Why.
        ErrorCode = 0x000c, "Error Code", "RFC 4666 §3.8.1";
        /// What is told.
        Status = 0x000d, "Status", "RFC 4666 §3.8.2";
        /// Who.
        AspIdentifier = 0x0011, "ASP Identifier", "RFC 4666 §3.5.1";
        /// Which destinations.
        AffectedPointCode = 0x0012, "Affected Point Code", "RFC 4666 §3.4.1";
        /// Which MSU of its Application Server.
        CorrelationId = 0x0013, "Correlation ID", "RFC 4666 §3.3.1";
        /// Which SS7 network.
        NetworkAppearance = 0x0200, "Network Appearance", "RFC 4666 §3.3.1";
        /// Which user part, and why.
        UserCause = 0x0204, "User/Cause", "RFC 4666 §3.4.5";
        /// How congested.
        CongestionIndications = 0x0205, "Congestion Indications", "RFC 4666 §3.4.4";
        /// Whose traffic met the congestion.
        ConcernedDestination = 0x0206, "Concerned Destination", "RFC 4666 §3.4.4";
        /// What is registered.
        RoutingKey = 0x0207, "Routing Key", "RFC 4666 §3.6.1";
        /// What became of it.
        RegistrationResult = 0x0208, "Registration Result", "RFC 4666 §3.6.2";
        /// What became of it.
        DeregistrationResult = 0x0209, "Deregistration Result", "RFC 4666 §3.6.4";
        /// The asker's name of a key.
        LocalRoutingKeyIdentifier = 0x020a, "Local Routing Key Identifier", "RFC 4666 §3.6.1";
        /// Traffic to it belongs to the key.
        DestinationPointCode = 0x020b, "Destination Point Code", "RFC 4666 §3.6.1";
        /// Only these user parts.
        ServiceIndicators = 0x020c, "Service Indicators", "RFC 4666 §3.6.1";
        /// Only from these.
        OriginatingPointCodeList = 0x020e, "Originating Point Code List", "RFC 4666 §3.6.1";
        /// The MSU.
        ProtocolData = 0x0210, "Protocol Data", "RFC 4666 §3.3.1";
        /// Inside of a Registration Result.
        RegistrationStatus = 0x0212, "Registration Status", "RFC 4666 §3.6.2";
        /// Inside of a Deregistration Result.
        DeregistrationStatus = 0x0213, "Deregistration Status", "RFC 4666 §3.6.4";
    }
}

/// What the value of a parameter looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One number of 32 bits.
    Word,
    /// One or more numbers of 32 bits.
    Words,
    /// One or more octets, up to so many.
    Octets(usize),
    /// Any number of octets, none included, up to so many.
    Free(usize),
    /// Routing label, SI, NI, MP and SLS, then the user's data.
    Labelled,
    /// Parameters.
    Group,
}

/// Octets of an INFO String at most (RFC 4666 §3.4.1).
const INFO_BYTES_MAX: usize = 255;
const ANY: usize = u16::MAX as usize;

impl Tag {
    /// The shape of its value.
    #[must_use]
    pub const fn shape(self) -> Shape {
        match self {
            Self::InfoString => Shape::Free(INFO_BYTES_MAX),
            Self::DiagnosticInformation | Self::HeartbeatData => Shape::Free(ANY),
            Self::RoutingContext | Self::AffectedPointCode | Self::OriginatingPointCodeList => {
                Shape::Words
            }
            Self::ServiceIndicators => Shape::Octets(ANY),
            Self::ProtocolData => Shape::Labelled,
            Self::RoutingKey | Self::RegistrationResult | Self::DeregistrationResult => {
                Shape::Group
            }
            _ => Shape::Word,
        }
    }

    /// Whether it changes nothing of what a message says: in one that does not list it, it is
    /// passed
    /// over as parameters to come are.
    #[must_use]
    pub const fn is_harmless(self) -> bool {
        matches!(
            self,
            Self::InfoString
                | Self::RoutingContext
                | Self::DiagnosticInformation
                | Self::HeartbeatData
                | Self::TrafficModeType
                | Self::AspIdentifier
                | Self::CorrelationId
                | Self::NetworkAppearance
        )
    }

    /// Checks the length of a value that stands in a parameter `at` octets into the message.
    pub(super) const fn check(self, at: usize, value: &[u8]) -> Result<(), Violation> {
        let length = value.len();
        let fits = match self.shape() {
            Shape::Word => length == 4,
            Shape::Words => length >= 4 && length.is_multiple_of(4),
            Shape::Octets(max) => length >= 1 && length <= max,
            Shape::Free(max) => length <= max,
            Shape::Labelled => length >= LABEL_BYTES,
            Shape::Group => true,
        };
        if fits {
            return Ok(());
        }
        let code = ErrorCode::ParameterFieldError;
        Err(Violation::new(code, at + 2, "the parameter has the wrong length", self.spec()))
    }
}
