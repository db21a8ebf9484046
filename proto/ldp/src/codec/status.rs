//! Status codes.

wire::rows! {
    /// Status codes, and whether they end the session.
    pub enum StatusCode: u32, pub is_fatal: bool {
        /// Nothing is wrong.
        Success = 0x0, "Success", false, "RFC 5036 §3.9";
        /// Another LDP identifier than that of the session.
        BadLdpIdentifier = 0x1, "Bad LDP Identifier", true, "RFC 5036 §3.5.1.2.1";
        /// Another version.
        BadVersion = 0x2, "Bad Protocol Version", true, "RFC 5036 §3.5.1.2.1";
        /// A PDU of a length that none may have.
        BadPduLength = 0x3, "Bad PDU Length", true, "RFC 5036 §3.5.1.2.1";
        /// A message of an unknown type.
        UnknownMessage = 0x4, "Unknown Message Type", false, "RFC 5036 §3.5.1.2.1";
        /// A message of a length that none may have.
        BadMessageLength = 0x5, "Bad Message Length", true, "RFC 5036 §3.5.1.2.1";
        /// An unknown TLV.
        UnknownTlv = 0x6, "Unknown TLV", false, "RFC 5036 §3.5.1.2.2";
        /// A TLV of a length that none may have.
        BadTlvLength = 0x7, "Bad TLV Length", true, "RFC 5036 §3.5.1.2.2";
        /// A TLV that cannot be read.
        MalformedTlv = 0x8, "Malformed TLV Value", true, "RFC 5036 §3.5.1.2.2";
        /// No hello came for too long.
        HoldExpired = 0x9, "Hold Timer Expired", true, "RFC 5036 §3.5.1.2.4";
        /// The speaker ends.
        Shutdown = 0xA, "Shutdown", true, "RFC 5036 §3.5.1.2.5";
        /// A loop.
        LoopDetected = 0xB, "Loop Detected", false, "RFC 5036 §3.4.5";
        /// An unknown FEC.
        UnknownFec = 0xC, "Unknown FEC", false, "RFC 5036 §3.4.1.1";
        /// There is no route.
        NoRoute = 0xD, "No Route", false, "RFC 5036 §3.5.8.1";
        /// There are no labels left.
        NoLabelResources = 0xE, "No Label Resources", false, "RFC 5036 §3.5.8.1";
        /// There are labels again.
        LabelResources = 0xF, "Label Resources / Available", false, "RFC 5036 §3.5.8.1";
        /// There is no adjacency.
        NoHello = 0x10, "Session Rejected/No Hello", true, "RFC 5036 §2.5.3";
        /// Labels are distributed in another way.
        BadMode = 0x11, "Session Rejected/Parameters Advertisement Mode", true, "RFC 5036 §3.5.3";
        /// A PDU's length is out of bounds.
        BadMaxPdu = 0x12, "Session Rejected/Parameters Max PDU Length", true, "RFC 5036 §3.5.3";
        /// Ranges of labels do not meet.
        BadLabelRange = 0x13, "Session Rejected/Parameters Label Range", true, "RFC 5036 §3.5.3";
        /// No message came for too long.
        KeepAliveExpired = 0x14, "KeepAlive Timer Expired", true, "RFC 5036 §3.5.1.2.3";
        /// A request is no more.
        RequestAborted = 0x15, "Label Request Aborted", false, "RFC 5036 §3.5.9.1";
        /// Something lacks.
        MissingParameters = 0x16, "Missing Message Parameters", false, "RFC 5036 §3.5.1.2.1";
        /// Another family of addresses.
        UnsupportedFamily = 0x17, "Unsupported Address Family", false, "RFC 5036 §3.4.1.1";
        /// A session that would live no time.
        BadKeepAlive = 0x18, "Session Rejected/Bad KeepAlive Time", true, "RFC 5036 §3.5.3";
        /// Something broke.
        InternalError = 0x19, "Internal Error", true, "RFC 5036 §3.5.1.2.7";
        /// A pseudowire's state.
        PwStatus = 0x28, "PW Status", false, "RFC 8077 §5.4.2";
        /// The connection has other addresses than were said.
        TransportMismatch = 0x32, "Transport Connection Mismatch", true, "RFC 7552 §6.2";
    }
}
