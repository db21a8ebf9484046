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

impl Owner {
    /// Of an attribute.
    #[must_use]
    pub fn of(name: &[u8]) -> Self {
        match name {
            b"rtcp-fb" => Self::Format,
            b"rtpmap" | b"fmtp" | b"rtcp" | b"rtcp-mux" | b"rtcp-mux-only" | b"sendrecv"
            | b"sendonly" | b"recvonly" | b"inactive" | b"ptime" | b"ice-ufrag" | b"ice-pwd"
            | b"ice-lite" | b"ice-options" | b"ice-mismatch" | b"ice-pacing" | b"candidate"
            | b"remote-candidates" | b"end-of-candidates" | b"bundle-only" | b"mid" => Self::Own,
            b"crypto" | b"fingerprint" | b"setup" | b"tls-id" | b"connection" | b"key-mgmt" => {
                Self::Guard
            }
            _ if is_known(name) => Self::Passed,
            _ => Self::Unknown,
        }
    }
}

/// Attributes that are known to mean the same on the other side.
fn is_known(name: &[u8]) -> bool {
    name.starts_with(b"T38")
        || matches!(
            name,
            b"group"
                | b"maxptime"
                | b"label"
                | b"content"
                | b"lang"
                | b"sdplang"
                | b"framerate"
                | b"framesize"
                | b"quality"
                | b"type"
                | b"charset"
                | b"curr"
                | b"des"
                | b"conf"
                | b"ssrc"
                | b"ssrc-group"
                | b"msid"
                | b"msid-semantic"
                | b"extmap"
                | b"extmap-allow-mixed"
                | b"rtcp-rsize"
                | b"imageattr"
                | b"rid"
                | b"simulcast"
                | b"silenceSupp"
                | b"floorctrl"
                | b"confid"
                | b"userid"
                | b"floorid"
                | b"sctp-port"
                | b"sctpmap"
                | b"max-message-size"
                | b"path"
                | b"accept-types"
                | b"accept-wrapped-types"
                | b"max-size"
                | b"record"
                | b"recordpref"
                | b"cat"
                | b"keywds"
                | b"tool"
        )
}
