//! Causes (Q.713 §3.12, §3.14, §3.15).

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
    /// Why a connection is refused, as far as this node refuses one.
    pub enum RefusalCause: u8 {
        /// No rule for the digits, or no way.
        DestinationUnknown = 4, "destination address unknown", "Q.713 §3.15";
        /// The quality of service is not there and will not be.
        NoService = 6, "QOS not available/permanent", "Q.713 §3.15";
        /// The subsystem is out of service.
        SubsystemFailure = 10, "subsystem failure", "Q.713 §3.15";
        /// No other.
        Unqualified = 15, "unqualified", "Q.713 §3.15";
        /// There is no such subsystem.
        UnequippedUser = 19, "unequipped user", "Q.713 §3.15";
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
