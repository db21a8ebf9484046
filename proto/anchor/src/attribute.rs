//! Attributes of a description, and what becomes of each on its way to the other side.

/// Whose business an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The media controller writes its own, or none.
    Own,
    /// It belongs to a payload type: passed with it, under its new number (RFC 4585 §4.2).
    Format,
    /// It protects: the media controller's own, unless keys pass from end to end.
    Guard,
    /// It passes as it is.
    Passed,
    /// Nobody here knows it: passed if the policy says so.
    Unknown,
}

/// Attributes that the media controller writes itself, or leaves out.
const OWN: &[&str] = &[
    "rtpmap",
    "fmtp",
    "rtcp",
    "rtcp-mux",
    "rtcp-mux-only",
    "sendrecv",
    "sendonly",
    "recvonly",
    "inactive",
    "ptime",
    "ice-ufrag",
    "ice-pwd",
    "ice-lite",
    "ice-options",
    "ice-mismatch",
    "ice-pacing",
    "candidate",
    "remote-candidates",
    "end-of-candidates",
    "bundle-only",
    "mid",
];
/// Those of keys.
const GUARD: &[&str] = &["crypto", "fingerprint", "setup", "tls-id", "connection", "key-mgmt"];
/// Those that are known to mean the same on the other side.
const PASSED: &[&str] = &[
    "group",
    "maxptime",
    "label",
    "content",
    "lang",
    "sdplang",
    "framerate",
    "framesize",
    "quality",
    "type",
    "charset",
    "curr",
    "des",
    "conf",
    "ssrc",
    "ssrc-group",
    "msid",
    "msid-semantic",
    "extmap",
    "extmap-allow-mixed",
    "rtcp-rsize",
    "imageattr",
    "rid",
    "simulcast",
    "silenceSupp",
    "T38FaxVersion",
    "T38MaxBitRate",
    "T38FaxFillBitRemoval",
    "T38FaxTranscodingMMR",
    "T38FaxTranscodingJBIG",
    "T38FaxRateManagement",
    "T38FaxMaxBuffer",
    "T38FaxMaxDatagram",
    "T38FaxUdpEC",
    "T38FaxMaxIFP",
    "T38VendorInfo",
    "floorctrl",
    "confid",
    "userid",
    "floorid",
    "sctp-port",
    "sctpmap",
    "max-message-size",
    "path",
    "accept-types",
    "accept-wrapped-types",
    "max-size",
    "record",
    "recordpref",
    "cat",
    "keywds",
    "tool",
];

impl Owner {
    /// Of an attribute.
    #[must_use]
    pub fn of(name: &[u8]) -> Self {
        let is_in = |list: &[&str]| list.iter().any(|it| it.as_bytes() == name);
        if name == b"rtcp-fb" {
            Self::Format
        } else if is_in(OWN) {
            Self::Own
        } else if is_in(GUARD) {
            Self::Guard
        } else if is_in(PASSED) {
            Self::Passed
        } else {
            Self::Unknown
        }
    }
}
