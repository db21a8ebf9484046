//! Parameters (Q.713 §3, table 2).

wire::rows! {
    /// Parameters and the octets that a fixed one has; zero: it has a length.
    pub enum Parameter: u8, pub octets: usize {
        /// Ends the optional part.
        End = 0, "end of optional parameters", 0, "Q.713 §3.1";
        /// The connection at who gets the message.
        DestinationReference = 1, "destination local reference", 3, "Q.713 §3.2";
        /// The connection at who sends it.
        SourceReference = 2, "source local reference", 3, "Q.713 §3.3";
        /// Where to.
        Called = 3, "called party address", 0, "Q.713 §3.4";
        /// Where from.
        Calling = 4, "calling party address", 0, "Q.713 §3.5";
        /// Class, and what becomes of a message that cannot be delivered.
        Class = 5, "protocol class", 1, "Q.713 §3.6";
        /// Whether more data follow, class 2.
        More = 6, "segmenting/reassembling", 1, "Q.713 §3.7";
        /// P(R), class 3.
        ReceiveSequence = 7, "receive sequence number", 1, "Q.713 §3.8";
        /// P(S), P(R) and whether more data follow, class 3.
        Sequencing = 8, "sequencing/segmenting", 2, "Q.713 §3.9";
        /// The window, class 3.
        Credit = 9, "credit", 1, "Q.713 §3.10";
        /// Why a connection is released.
        ReleaseCause = 10, "release cause", 1, "Q.713 §3.11";
        /// Why a message comes back.
        ReturnCause = 11, "return cause", 1, "Q.713 §3.12";
        /// Why a connection is reset.
        ResetCause = 12, "reset cause", 1, "Q.713 §3.13";
        /// What was wrong.
        ErrorCause = 13, "error cause", 1, "Q.713 §3.14";
        /// Why a connection is refused.
        RefusalCause = 14, "refusal cause", 1, "Q.713 §3.15";
        /// The user's data.
        Data = 15, "data", 0, "Q.713 §3.16";
        /// Which segment of which message.
        Segmentation = 16, "segmentation", 4, "Q.713 §3.17";
        /// Translations that are left.
        Hops = 17, "hop counter", 1, "Q.713 §3.18";
        /// Who goes first under congestion.
        Importance = 18, "importance", 1, "Q.713 §3.19";
        /// The user's data, long ones.
        LongData = 19, "long data", 0, "Q.713 §3.20";
    }
}

/// Rows of the table.
pub(crate) const PARAMETERS: usize = Parameter::ALL.len();
