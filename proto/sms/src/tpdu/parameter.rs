//! The parameters of TPDUs (TS 23.040 §9.2.3).

/// What the value of a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A bit of the first octet.
    Flag,
    /// An octet.
    Octet,
    /// An octet of [`FailureCause`](crate::FailureCause).
    FailureCause,
    /// An octet of [`Status`](crate::Status).
    Status,
    /// An octet of [`Command`](crate::Command).
    Command,
    /// An address.
    Address,
    /// Seven octets of semi-octets.
    Time,
    /// An octet or seven, or none: two bits of the first octet say it (TP-VPF).
    Validity,
    /// An octet that says what follows, and any after it.
    Indicator,
    /// TP-UDL and TP-UD.
    UserData,
    /// TP-CDL and TP-CD.
    CommandData,
}

wire::rows! {
    /// A parameter of a TPDU. Lengths (TP-UDL, TP-CDL) stand with what they measure, the message
    /// type with [`Kind`](crate::Kind), TP-VPF with TP-VP. The numbers are of no protocol.
    pub enum Parameter: u8, pub shape: Shape {
        /// Set where no more messages wait.
        MoreMessages = 0, "TP-MMS", Shape::Flag, "TS 23.040 §9.2.3.2";
        /// Set where the message was forwarded or spawned already.
        LoopPrevention = 1, "TP-LP", Shape::Flag, "TS 23.040 §9.2.3.28";
        /// Another one to the same address replaces none that is stored.
        RejectDuplicates = 2, "TP-RD", Shape::Flag, "TS 23.040 §9.2.3.25";
        /// The sender asked for a report.
        StatusReportIndication = 3, "TP-SRI", Shape::Flag, "TS 23.040 §9.2.3.4";
        /// A report is asked for.
        StatusReportRequest = 4, "TP-SRR", Shape::Flag, "TS 23.040 §9.2.3.5";
        /// The report is of a command.
        StatusReportQualifier = 5, "TP-SRQ", Shape::Flag, "TS 23.040 §9.2.3.26";
        /// User data begin with a header.
        HeaderIndicator = 6, "TP-UDHI", Shape::Flag, "TS 23.040 §9.2.3.23";
        /// There is a reply path.
        ReplyPath = 7, "TP-RP", Shape::Flag, "TS 23.040 §9.2.3.17";
        /// Which message, of its sender's.
        MessageReference = 8, "TP-MR", Shape::Octet, "TS 23.040 §9.2.3.6";
        /// Whose message it is.
        OriginatingAddress = 9, "TP-OA", Shape::Address, "TS 23.040 §9.2.3.7";
        /// Whom it is for.
        DestinationAddress = 10, "TP-DA", Shape::Address, "TS 23.040 §9.2.3.8";
        /// Whom it was for.
        RecipientAddress = 11, "TP-RA", Shape::Address, "TS 23.040 §9.2.3.14";
        /// Why it failed.
        FailureCause = 12, "TP-FCS", Shape::FailureCause, "TS 23.040 §9.2.3.22";
        /// Which optional parameters follow.
        Indicator = 13, "TP-PI", Shape::Indicator, "TS 23.040 §9.2.3.27";
        /// The protocol above.
        ProtocolIdentifier = 14, "TP-PID", Shape::Octet, "TS 23.040 §9.2.3.9";
        /// How user data are coded.
        DataCodingScheme = 15, "TP-DCS", Shape::Octet, "TS 23.040 §9.2.3.10";
        /// When the centre received it.
        ServiceCentreTime = 16, "TP-SCTS", Shape::Time, "TS 23.040 §9.2.3.11";
        /// When it was delivered, or last tried.
        DischargeTime = 17, "TP-DT", Shape::Time, "TS 23.040 §9.2.3.13";
        /// What became of it.
        Status = 18, "TP-ST", Shape::Status, "TS 23.040 §9.2.3.15";
        /// How long it is good.
        ValidityPeriod = 19, "TP-VP", Shape::Validity, "TS 23.040 §9.2.3.12";
        /// What the centre is to do.
        CommandType = 20, "TP-CT", Shape::Command, "TS 23.040 §9.2.3.19";
        /// With which message.
        MessageNumber = 21, "TP-MN", Shape::Octet, "TS 23.040 §9.2.3.18";
        /// What the command needs.
        CommandData = 22, "TP-CD", Shape::CommandData, "TS 23.040 §9.2.3.21";
        /// What it is all about.
        UserData = 23, "TP-UD", Shape::UserData, "TS 23.040 §9.2.3.24";
    }
}
