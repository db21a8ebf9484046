//! Causes (Q.713 §3.11 to §3.15).

wire::rows! {
    /// Why a message is returned.
    pub enum ReturnCause: u8 {
        /// No rule for such a title.
        NoTranslationNature = 0, "no translation for an address of such nature", "Q.713 §3.12";
        /// No rule for these digits.
        NoTranslationAddress = 1, "no translation for this specific address", "Q.713 §3.12";
        /// The subsystem has too much to do.
        SubsystemCongestion = 2, "subsystem congestion", "Q.713 §3.12";
        /// The subsystem is out of service.
        SubsystemFailure = 3, "subsystem failure", "Q.713 §3.12";
        /// There is no such subsystem.
        UnequippedUser = 4, "unequipped user", "Q.713 §3.12";
        /// There is no way to the point code.
        MtpFailure = 5, "MTP failure", "Q.713 §3.12";
        /// The way is congested.
        NetworkCongestion = 6, "network congestion", "Q.713 §3.12";
        /// No other.
        Unqualified = 7, "unqualified", "Q.713 §3.12";
        /// A segment lacks.
        ErrorInTransport = 8, "error in message transport", "Q.713 §3.12";
        /// This node failed.
        ErrorInProcessing = 9, "error in local processing", "Q.713 §3.12";
        /// There is no room.
        NoReassembly = 10, "destination cannot perform reassembly", "Q.713 §3.12";
        /// The SCCP there is out of service.
        SccpFailure = 11, "SCCP failure", "Q.713 §3.12";
        /// Too many translations.
        HopCounterViolation = 12, "hop counter violation", "Q.713 §3.12";
        /// Segments are not understood.
        NoSegmentation = 13, "segmentation not supported", "Q.713 §3.12";
        /// Segments cannot be made.
        SegmentationFailure = 14, "segmentation failure", "Q.713 §3.12";
    }
}

wire::rows! {
    /// Why a connection is refused.
    pub enum RefusalCause: u8 {
        /// The end user said no.
        EndUserOriginated = 0, "end user originated", "Q.713 §3.15";
        /// The end user has too much to do.
        EndUserCongestion = 1, "end user congestion", "Q.713 §3.15";
        /// The end user failed.
        EndUserFailure = 2, "end user failure", "Q.713 §3.15";
        /// The user of SCCP said no.
        UserOriginated = 3, "SCCP user originated", "Q.713 §3.15";
        /// No rule for the digits, or none that leads to a node.
        DestinationUnknown = 4, "destination address unknown", "Q.713 §3.15";
        /// There is no way to the point code.
        DestinationInaccessible = 5, "destination inaccessible", "Q.713 §3.15";
        /// The quality of service is not there and will not be.
        NoService = 6, "QOS not available/non-transient", "Q.713 §3.15";
        /// There is no room now.
        NoServiceNow = 7, "QOS not available/transient", "Q.713 §3.15";
        /// The access failed.
        AccessFailure = 8, "access failure", "Q.713 §3.15";
        /// The access has too much to do.
        AccessCongestion = 9, "access congestion", "Q.713 §3.15";
        /// The subsystem is out of service.
        SubsystemFailure = 10, "subsystem failure", "Q.713 §3.15";
        /// The subsystem has too much to do.
        SubsystemCongestion = 11, "subsystem congestion", "Q.713 §3.15";
        /// No answer within T(conn est).
        Expired = 12, "expiration of the connection establishment timer", "Q.713 §3.15";
        /// The data do not fit.
        IncompatibleData = 13, "incompatible user data", "Q.713 §3.15";
        /// No other.
        Unqualified = 15, "unqualified", "Q.713 §3.15";
        /// Too many translations.
        HopCounterViolation = 16, "hop counter violation", "Q.713 §3.15";
        /// The SCCP there is out of service.
        SccpFailure = 17, "SCCP failure", "Q.713 §3.15";
        /// No rule for such a title.
        NoTranslationNature = 18, "no translation for an address of such nature", "Q.713 §3.15";
        /// There is no such subsystem.
        UnequippedUser = 19, "unequipped user", "Q.713 §3.15";
    }
}

wire::rows! {
    /// Why a connection is released.
    pub enum ReleaseCause: u8 {
        /// The end user wants it.
        EndUserOriginated = 0, "end user originated", "Q.713 §3.11";
        /// The end user has too much to do.
        EndUserCongestion = 1, "end user congestion", "Q.713 §3.11";
        /// The end user failed.
        EndUserFailure = 2, "end user failure", "Q.713 §3.11";
        /// The user of SCCP wants it.
        UserOriginated = 3, "SCCP user originated", "Q.713 §3.11";
        /// The other node broke the protocol.
        RemoteProcedureError = 4, "remote procedure error", "Q.713 §3.11";
        /// The two nodes know different things of it.
        InconsistentData = 5, "inconsistent connection data", "Q.713 §3.11";
        /// The access failed.
        AccessFailure = 6, "access failure", "Q.713 §3.11";
        /// The access has too much to do.
        AccessCongestion = 7, "access congestion", "Q.713 §3.11";
        /// The subsystem is out of service.
        SubsystemFailure = 8, "subsystem failure", "Q.713 §3.11";
        /// The subsystem has too much to do.
        SubsystemCongestion = 9, "subsystem congestion", "Q.713 §3.11";
        /// There is no way to the point code.
        MtpFailure = 10, "MTP failure", "Q.713 §3.11";
        /// There is no room for its data.
        NetworkCongestion = 11, "network congestion", "Q.713 §3.11";
        /// A reset was not confirmed within T(reset).
        ResetExpired = 12, "expiration of reset timer", "Q.713 §3.11";
        /// Nothing came for T(iar).
        InactivityExpired = 13, "expiration of receive inactivity timer", "Q.713 §3.11";
        /// No other.
        Unqualified = 15, "unqualified", "Q.713 §3.11";
        /// The SCCP there is out of service.
        SccpFailure = 16, "SCCP failure", "Q.713 §3.11";
    }
}

wire::rows! {
    /// Why a connection is reset.
    pub enum ResetCause: u8 {
        /// The end user wants it.
        EndUserOriginated = 0, "end user originated", "Q.713 §3.13";
        /// The user of SCCP wants it.
        UserOriginated = 1, "SCCP user originated", "Q.713 §3.13";
        /// A message lacks.
        IncorrectSend = 2, "message out of order - incorrect P(S)", "Q.713 §3.13";
        /// What was not sent is acknowledged.
        IncorrectReceive = 3, "message out of order - incorrect P(R)", "Q.713 §3.13";
        /// More came than there was credit for.
        OutOfWindow = 4, "remote procedure error - message out of window", "Q.713 §3.13";
        /// The first message is not number 0.
        IncorrectFirst = 5,
            "remote procedure error - incorrect P(S) after (re)initialization",
            "Q.713 §3.13";
        /// The other node broke the protocol.
        RemoteProcedureError = 6, "remote procedure error - general", "Q.713 §3.13";
        /// The end user there is back.
        RemoteOperational = 7, "remote end user operational", "Q.713 §3.13";
        /// The network is back.
        NetworkOperational = 8, "network operational", "Q.713 §3.13";
        /// The access is back.
        AccessOperational = 9, "access operational", "Q.713 §3.13";
        /// The network has too much to do.
        NetworkCongestion = 10, "network congestion", "Q.713 §3.13";
        /// No other.
        Unqualified = 12, "unqualified", "Q.713 §3.13";
    }
}

wire::rows! {
    /// What is wrong with a message of a connection.
    pub enum ErrorCause: u8 {
        /// The reference is of no connection.
        UnassignedReference = 0, "LRN mismatch - unassigned destination LRN", "Q.713 §3.14";
        /// The source reference is another.
        InconsistentReference = 1, "LRN mismatch - inconsistent source LRN", "Q.713 §3.14";
        /// The point code is another.
        PointCodeMismatch = 2, "point code mismatch", "Q.713 §3.14";
        /// The class is another.
        ClassMismatch = 3, "service class mismatch", "Q.713 §3.14";
        /// No other.
        Unqualified = 4, "unqualified", "Q.713 §3.14";
    }
}
