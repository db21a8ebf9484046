//! What a protocol says of one of its messages, for the line of a ladder.

/// A line; what a protocol does not know of its message is empty.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// What its leg is called: a Call-ID, a transaction.
    pub(crate) leg: Option<String>,
    /// Method, name of a message, operations.
    pub(crate) method: Option<String>,
    /// Status and reason of a response.
    pub(crate) answer: Option<(u16, String)>,
    /// Number and method of CSeq.
    pub(crate) cseq: Option<(u32, String)>,
    pub(crate) has_sdp: bool,
    /// It tells a failure.
    pub(crate) failed: bool,
    /// What its sender calls itself.
    pub(crate) agent: Option<String>,
    /// The node that it is from, who may not be who sent it here.
    pub(crate) node: Option<String>,
    pub(crate) components: Vec<serde_json::Value>,
    /// In words, in front of its octets.
    pub(crate) text: Option<String>,
}
