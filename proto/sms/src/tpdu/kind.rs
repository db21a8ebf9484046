//! Which TPDUs there are, and where the parameters of each stand.

use super::Parameter::{self, *};

/// Which way a TPDU goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From a terminal to a service centre.
    FromTerminal,
    /// From a service centre to a terminal.
    ToTerminal,
}

/// Where a parameter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// That bit of the first octet.
    Bit(u8),
    /// Behind the one before it.
    Always,
    /// Likewise, if there are octets.
    IfMore,
    /// Likewise, if that bit of TP-PI is set.
    Indicated(u8),
}

/// A parameter of a TPDU, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Which one.
    pub parameter: Parameter,
    /// Where.
    pub place: Place,
}

const fn bit(parameter: Parameter, number: u8) -> Field {
    Field { parameter, place: Place::Bit(number) }
}

const fn has(parameter: Parameter) -> Field {
    Field { parameter, place: Place::Always }
}

const UDHI: Field = bit(HeaderIndicator, 6);
/// What TP-PI announces, in its order.
const PID: Field = Field { parameter: ProtocolIdentifier, place: Place::Indicated(0) };
const DCS: Field = Field { parameter: DataCodingScheme, place: Place::Indicated(1) };
const UD: Field = Field { parameter: UserData, place: Place::Indicated(2) };

const DELIVER: &[Field] = &[
    bit(MoreMessages, 2),
    bit(LoopPrevention, 3),
    bit(StatusReportIndication, 5),
    UDHI,
    bit(ReplyPath, 7),
    has(OriginatingAddress),
    has(ProtocolIdentifier),
    has(DataCodingScheme),
    has(ServiceCentreTime),
    has(UserData),
];

const SUBMIT: &[Field] = &[
    bit(RejectDuplicates, 2),
    bit(StatusReportRequest, 5),
    UDHI,
    bit(ReplyPath, 7),
    has(MessageReference),
    has(DestinationAddress),
    has(ProtocolIdentifier),
    has(DataCodingScheme),
    has(ValidityPeriod),
    has(UserData),
];

const STATUS_REPORT: &[Field] = &[
    bit(MoreMessages, 2),
    bit(LoopPrevention, 3),
    bit(StatusReportQualifier, 5),
    UDHI,
    has(MessageReference),
    has(RecipientAddress),
    has(ServiceCentreTime),
    has(DischargeTime),
    has(Status),
    Field { parameter: Indicator, place: Place::IfMore },
    PID,
    DCS,
    UD,
];

const COMMAND: &[Field] = &[
    bit(StatusReportRequest, 5),
    UDHI,
    has(MessageReference),
    has(ProtocolIdentifier),
    has(CommandType),
    has(MessageNumber),
    has(DestinationAddress),
    has(CommandData),
];

const DELIVER_REPORT_ERROR: &[Field] = &[UDHI, has(FailureCause), has(Indicator), PID, DCS, UD];
const DELIVER_REPORT: &[Field] = &[UDHI, has(Indicator), PID, DCS, UD];
const SUBMIT_REPORT_ERROR: &[Field] =
    &[UDHI, has(FailureCause), has(Indicator), has(ServiceCentreTime), PID, DCS, UD];
const SUBMIT_REPORT: &[Field] = &[UDHI, has(Indicator), has(ServiceCentreTime), PID, DCS, UD];

wire::rows! {
    /// A TPDU, by its parameters. The numbers are of no protocol: TP-MTI is
    /// [`Kind::message_type`].
    pub enum Kind: u8, pub fields: &'static [Field] {
        /// A message to a terminal.
        Deliver = 0, "SMS-DELIVER", DELIVER, "TS 23.040 §9.2.2.1";
        /// The terminal did not take it.
        DeliverReportError =
            1, "SMS-DELIVER-REPORT for RP-ERROR", DELIVER_REPORT_ERROR, "TS 23.040 §9.2.2.1a";
        /// The terminal took it.
        DeliverReport = 2, "SMS-DELIVER-REPORT for RP-ACK", DELIVER_REPORT, "TS 23.040 §9.2.2.1a";
        /// A message from a terminal.
        Submit = 3, "SMS-SUBMIT", SUBMIT, "TS 23.040 §9.2.2.2";
        /// The centre did not take it.
        SubmitReportError =
            4, "SMS-SUBMIT-REPORT for RP-ERROR", SUBMIT_REPORT_ERROR, "TS 23.040 §9.2.2.2a";
        /// The centre took it.
        SubmitReport = 5, "SMS-SUBMIT-REPORT for RP-ACK", SUBMIT_REPORT, "TS 23.040 §9.2.2.2a";
        /// What became of a message.
        StatusReport = 6, "SMS-STATUS-REPORT", STATUS_REPORT, "TS 23.040 §9.2.2.3";
        /// What a centre is to do.
        Command = 7, "SMS-COMMAND", COMMAND, "TS 23.040 §9.2.2.4";
    }
}

impl Kind {
    /// TP-MTI (TS 23.040 §9.2.3.1).
    #[must_use]
    pub const fn message_type(self) -> u8 {
        match self {
            Self::Deliver | Self::DeliverReport | Self::DeliverReportError => 0,
            Self::Submit | Self::SubmitReport | Self::SubmitReportError => 1,
            Self::StatusReport | Self::Command => 2,
        }
    }

    /// Which way it goes.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::Deliver | Self::SubmitReport | Self::SubmitReportError | Self::StatusReport => {
                Direction::ToTerminal
            }
            _ => Direction::FromTerminal,
        }
    }

    /// What the user data of an RP-DATA that goes that way are.
    #[must_use]
    pub const fn in_data(direction: Direction, octets: &[u8]) -> Option<Self> {
        match (direction, message_type(octets)) {
            (Direction::ToTerminal, Some(0)) => Some(Self::Deliver),
            (Direction::FromTerminal, Some(1)) => Some(Self::Submit),
            (Direction::ToTerminal, Some(2)) => Some(Self::StatusReport),
            (Direction::FromTerminal, Some(2)) => Some(Self::Command),
            _ => None,
        }
    }

    /// What the user data of an RP-ACK that goes that way are, or of an RP-ERROR.
    #[must_use]
    pub const fn in_report(direction: Direction, is_error: bool) -> Self {
        match (direction, is_error) {
            (Direction::FromTerminal, true) => Self::DeliverReportError,
            (Direction::FromTerminal, false) => Self::DeliverReport,
            (Direction::ToTerminal, true) => Self::SubmitReportError,
            (Direction::ToTerminal, false) => Self::SubmitReport,
        }
    }

    /// Octets of TP-UD or TP-CD, at most: what the sections say, and what fits 164 octets of all.
    #[must_use]
    pub const fn data_octets_max(self) -> usize {
        match self {
            Self::Deliver | Self::Submit => 140,
            Self::DeliverReportError => 158,
            Self::DeliverReport => 159,
            Self::SubmitReportError => 151,
            Self::SubmitReport => 152,
            Self::StatusReport => 131,
            Self::Command => 157,
        }
    }
}

/// TP-MTI.
const fn message_type(octets: &[u8]) -> Option<u8> {
    match octets {
        [first, ..] => Some(*first & 3),
        [] => None,
    }
}
