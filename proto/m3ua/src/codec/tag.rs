//! Parameters: tag, shape, section (RFC 4666 §3.2).

use super::code::numbers;
use super::{ErrorCode, LABEL_BYTES, Offence};

wire::rows! {
    /// The parameters of M3UA.
    pub enum Tag {
        /// Text for people.
        InfoString = "INFO String", "RFC 4666 §3.4.1";
        /// Which Application Servers.
        RoutingContext = "Routing Context", "RFC 4666 §3.3.1";
        /// The message that offended.
        DiagnosticInformation = "Diagnostic Information", "RFC 4666 §3.8.1";
        /// What comes back as it was sent.
        HeartbeatData = "Heartbeat Data", "RFC 4666 §3.5.5";
        /// How traffic is dealt.
        TrafficModeType = "Traffic Mode Type", "RFC 4666 §3.7.1";
        /// Why.
        ErrorCode = "Error Code", "RFC 4666 §3.8.1";
        /// What is told.
        Status = "Status", "RFC 4666 §3.8.2";
        /// Who.
        AspIdentifier = "ASP Identifier", "RFC 4666 §3.5.1";
        /// Which destinations.
        AffectedPointCode = "Affected Point Code", "RFC 4666 §3.4.1";
        /// Which MSU of its Application Server.
        CorrelationId = "Correlation ID", "RFC 4666 §3.3.1";
        /// Which SS7 network.
        NetworkAppearance = "Network Appearance", "RFC 4666 §3.3.1";
        /// Which user part, and why.
        UserCause = "User/Cause", "RFC 4666 §3.4.5";
        /// How congested.
        CongestionIndications = "Congestion Indications", "RFC 4666 §3.4.4";
        /// Whose traffic met the congestion.
        ConcernedDestination = "Concerned Destination", "RFC 4666 §3.4.4";
        /// What is registered.
        RoutingKey = "Routing Key", "RFC 4666 §3.6.1";
        /// What became of it.
        RegistrationResult = "Registration Result", "RFC 4666 §3.6.2";
        /// What became of it.
        DeregistrationResult = "Deregistration Result", "RFC 4666 §3.6.4";
        /// The asker's name of a key.
        LocalRoutingKeyIdentifier = "Local Routing Key Identifier", "RFC 4666 §3.6.1";
        /// Traffic to it belongs to the key.
        DestinationPointCode = "Destination Point Code", "RFC 4666 §3.6.1";
        /// Only these user parts.
        ServiceIndicators = "Service Indicators", "RFC 4666 §3.6.1";
        /// Only from these.
        OriginatingPointCodeList = "Originating Point Code List", "RFC 4666 §3.6.1";
        /// The MSU.
        ProtocolData = "Protocol Data", "RFC 4666 §3.3.1";
        /// Inside of a Registration Result.
        RegistrationStatus = "Registration Status", "RFC 4666 §3.6.2";
        /// Inside of a Deregistration Result.
        DeregistrationStatus = "Deregistration Status", "RFC 4666 §3.6.4";
    }
}

numbers!(Tag: u16 {
    InfoString = 0x0004,
    RoutingContext = 0x0006,
    DiagnosticInformation = 0x0007,
    HeartbeatData = 0x0009,
    TrafficModeType = 0x000b,
    ErrorCode = 0x000c,
    Status = 0x000d,
    AspIdentifier = 0x0011,
    AffectedPointCode = 0x0012,
    CorrelationId = 0x0013,
    NetworkAppearance = 0x0200,
    UserCause = 0x0204,
    CongestionIndications = 0x0205,
    ConcernedDestination = 0x0206,
    RoutingKey = 0x0207,
    RegistrationResult = 0x0208,
    DeregistrationResult = 0x0209,
    LocalRoutingKeyIdentifier = 0x020a,
    DestinationPointCode = 0x020b,
    ServiceIndicators = 0x020c,
    OriginatingPointCodeList = 0x020e,
    ProtocolData = 0x0210,
    RegistrationStatus = 0x0212,
    DeregistrationStatus = 0x0213,
});

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

    /// Checks the length of a value that stands in a parameter `at` octets into the message.
    pub(super) const fn check(self, at: usize, value: &[u8]) -> Result<(), Offence> {
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
        Err(Offence::new(code, at + 2, "the parameter has the wrong length", self.spec()))
    }
}
