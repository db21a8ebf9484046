//! Octets whose values have names: causes, statuses, commands.

wire::rows! {
    /// TP-FCS: why a message was not taken (TS 23.040 §9.2.3.22).
    pub enum FailureCause: u8 {
        /// TP-PID errors.
        TelematicInterworking = 0x80, "telematic interworking not supported", "TS 23.040 §9.2.3.22";
        /// A message that is not shown.
        Type0NotSupported = 0x81, "short message type 0 not supported", "TS 23.040 §9.2.3.22";
        /// What it would replace is not there.
        CannotReplace = 0x82, "cannot replace short message", "TS 23.040 §9.2.3.22";
        /// Another.
        UnspecifiedPid = 0x8f, "unspecified TP-PID error", "TS 23.040 §9.2.3.22";
        /// TP-DCS errors.
        CodingNotSupported =
            0x90, "data coding scheme (alphabet) not supported", "TS 23.040 §9.2.3.22";
        /// A class.
        ClassNotSupported = 0x91, "message class not supported", "TS 23.040 §9.2.3.22";
        /// Another.
        UnspecifiedDcs = 0x9f, "unspecified TP-DCS error", "TS 23.040 §9.2.3.22";
        /// TP-Command errors.
        CommandCannotBeActioned = 0xa0, "command cannot be actioned", "TS 23.040 §9.2.3.22";
        /// A command.
        CommandUnsupported = 0xa1, "command unsupported", "TS 23.040 §9.2.3.22";
        /// Another.
        UnspecifiedCommand = 0xaf, "unspecified TP-Command error", "TS 23.040 §9.2.3.22";
        /// The TPDU.
        TpduNotSupported = 0xb0, "TPDU not supported", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        ScBusy = 0xc0, "SC busy", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        NoScSubscription = 0xc1, "no SC subscription", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        ScSystemFailure = 0xc2, "SC system failure", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        InvalidSmeAddress = 0xc3, "invalid SME address", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        DestinationSmeBarred = 0xc4, "destination SME barred", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        DuplicateRejected = 0xc5, "SM rejected, duplicate SM", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        VpfNotSupported = 0xc6, "TP-VPF not supported", "TS 23.040 §9.2.3.22";
        /// Of the centre.
        VpNotSupported = 0xc7, "TP-VP not supported", "TS 23.040 §9.2.3.22";
        /// Of the terminal.
        StorageFull = 0xd0, "(U)SIM SMS storage full", "TS 23.040 §9.2.3.22";
        /// Of the terminal.
        NoStorage = 0xd1, "no SMS storage capability in (U)SIM", "TS 23.040 §9.2.3.22";
        /// Of the terminal.
        ErrorInMs = 0xd2, "error in MS", "TS 23.040 §9.2.3.22";
        /// Of the terminal.
        MemoryCapacityExceeded = 0xd3, "memory capacity exceeded", "TS 23.040 §9.2.3.22";
        /// Of the terminal.
        ToolkitBusy = 0xd4, "(U)SIM application toolkit busy", "TS 23.040 §9.2.3.22";
        /// Of the terminal.
        DataDownloadError = 0xd5, "(U)SIM data download error", "TS 23.040 §9.2.3.22";
        /// Another.
        Unspecified = 0xff, "unspecified error cause", "TS 23.040 §9.2.3.22";
    }
}

wire::rows! {
    /// TP-ST: what became of a message (TS 23.040 §9.2.3.15).
    pub enum Status: u8 {
        /// Over.
        Received = 0x00, "received by the SME", "TS 23.040 §9.2.3.15";
        /// Over.
        Forwarded = 0x01, "forwarded, unable to confirm delivery", "TS 23.040 §9.2.3.15";
        /// Over.
        Replaced = 0x02, "replaced by the SC", "TS 23.040 §9.2.3.15";
        /// Tried again.
        Congestion = 0x20, "congestion, still trying", "TS 23.040 §9.2.3.15";
        /// Tried again.
        SmeBusy = 0x21, "SME busy, still trying", "TS 23.040 §9.2.3.15";
        /// Tried again.
        NoResponse = 0x22, "no response from SME, still trying", "TS 23.040 §9.2.3.15";
        /// Tried again.
        ServiceRejected = 0x23, "service rejected, still trying", "TS 23.040 §9.2.3.15";
        /// Tried again.
        QualityNotAvailable =
            0x24, "quality of service not available, still trying", "TS 23.040 §9.2.3.15";
        /// Tried again.
        ErrorInSme = 0x25, "error in SME, still trying", "TS 23.040 §9.2.3.15";
        /// For good.
        RemoteProcedureError = 0x40, "remote procedure error", "TS 23.040 §9.2.3.15";
        /// For good.
        IncompatibleDestination = 0x41, "incompatible destination", "TS 23.040 §9.2.3.15";
        /// For good.
        RejectedBySme = 0x42, "connection rejected by SME", "TS 23.040 §9.2.3.15";
        /// For good.
        NotObtainable = 0x43, "not obtainable", "TS 23.040 §9.2.3.15";
        /// For good.
        QualityNotAvailableEver = 0x44, "quality of service not available", "TS 23.040 §9.2.3.15";
        /// For good.
        NoInterworking = 0x45, "no interworking available", "TS 23.040 §9.2.3.15";
        /// For good.
        ValidityExpired = 0x46, "validity period expired", "TS 23.040 §9.2.3.15";
        /// For good.
        DeletedBySme = 0x47, "deleted by originating SME", "TS 23.040 §9.2.3.15";
        /// For good.
        DeletedByAdministration = 0x48, "deleted by SC administration", "TS 23.040 §9.2.3.15";
        /// For good.
        DoesNotExist = 0x49, "does not exist", "TS 23.040 §9.2.3.15";
        /// Not tried again.
        CongestionEnded = 0x60, "congestion", "TS 23.040 §9.2.3.15";
        /// Not tried again.
        SmeBusyEnded = 0x61, "SME busy", "TS 23.040 §9.2.3.15";
        /// Not tried again.
        NoResponseEnded = 0x62, "no response from SME", "TS 23.040 §9.2.3.15";
        /// Not tried again.
        ServiceRejectedEnded = 0x63, "service rejected", "TS 23.040 §9.2.3.15";
        /// Not tried again.
        QualityNotAvailableEnded =
            0x64, "quality of service not available, ended", "TS 23.040 §9.2.3.15";
        /// Not tried again.
        ErrorInSmeEnded = 0x65, "error in SME", "TS 23.040 §9.2.3.15";
    }
}

wire::rows! {
    /// TP-CT: what the centre is to do (TS 23.040 §9.2.3.19).
    pub enum Command: u8 {
        /// Ask.
        Enquiry = 0, "enquiry relating to previously submitted short message",
            "TS 23.040 §9.2.3.19";
        /// No more reports.
        CancelStatusReport =
            1, "cancel status report request relating to previously submitted short message",
            "TS 23.040 §9.2.3.19";
        /// Delete.
        Delete = 2, "delete previously submitted short message", "TS 23.040 §9.2.3.19";
        /// Reports.
        EnableStatusReport =
            3, "enable status report request relating to previously submitted short message",
            "TS 23.040 §9.2.3.19";
    }
}

wire::rows! {
    /// RP-Cause: why a message was not relayed (TS 24.011 §8.2.5.4, tables 8.4 and 8.5).
    pub enum Cause: u8 {
        /// To a terminal.
        UnassignedNumber = 1, "unassigned (unallocated) number", "TS 24.011 §E.2";
        /// To a terminal.
        OperatorBarring = 8, "operator determined barring", "TS 24.011 §E.2";
        /// To a terminal.
        CallBarred = 10, "call barred", "TS 24.011 §E.2";
        /// To a terminal.
        Reserved = 11, "reserved", "TS 24.011 §E.2";
        /// To a terminal.
        TransferRejected = 21, "short message transfer rejected", "TS 24.011 §E.2";
        /// From a terminal.
        MemoryCapacityExceeded = 22, "memory capacity exceeded", "TS 24.011 §E.3";
        /// To a terminal.
        DestinationOutOfOrder = 27, "destination out of order", "TS 24.011 §E.2";
        /// To a terminal.
        UnidentifiedSubscriber = 28, "unidentified subscriber", "TS 24.011 §E.2";
        /// To a terminal.
        FacilityRejected = 29, "facility rejected", "TS 24.011 §E.2";
        /// To a terminal.
        UnknownSubscriber = 30, "unknown subscriber", "TS 24.011 §E.2";
        /// To a terminal.
        NetworkOutOfOrder = 38, "network out of order", "TS 24.011 §E.2";
        /// To a terminal.
        TemporaryFailure = 41, "temporary failure", "TS 24.011 §E.2";
        /// To a terminal.
        Congestion = 42, "congestion", "TS 24.011 §E.2";
        /// To a terminal.
        ResourcesUnavailable = 47, "resources unavailable, unspecified", "TS 24.011 §E.2";
        /// To a terminal.
        NotSubscribed = 50, "requested facility not subscribed", "TS 24.011 §E.2";
        /// To a terminal.
        NotImplemented = 69, "requested facility not implemented", "TS 24.011 §E.2";
        /// Both ways.
        InvalidReference =
            81, "invalid short message transfer reference value", "TS 24.011 §E.2, §E.3";
        /// Both ways.
        SemanticallyIncorrect = 95, "semantically incorrect message", "TS 24.011 §E.2, §E.3";
        /// Both ways.
        InvalidMandatory = 96, "invalid mandatory information", "TS 24.011 §E.2, §E.3";
        /// Both ways.
        TypeNonExistent =
            97, "message type non-existent or not implemented", "TS 24.011 §E.2, §E.3";
        /// Both ways.
        NotCompatible = 98, "message not compatible with short message protocol state",
            "TS 24.011 §E.2, §E.3";
        /// Both ways.
        ElementNonExistent =
            99, "information element non-existent or not implemented", "TS 24.011 §E.2, §E.3";
        /// Both ways.
        ProtocolError = 111, "protocol error, unspecified", "TS 24.011 §E.2, §E.3";
        /// To a terminal.
        Interworking = 127, "interworking, unspecified", "TS 24.011 §E.2";
    }
}
