//! The words of the protocol: states, diagnostics, kinds of authentication; and why packets were
//! discarded.

wire::rows! {
    /// The state of a session (bfd.SessionState).
    pub enum State: u8 {
        /// Put down by its operator.
        AdminDown = 0, "AdminDown", "RFC 5880 §4.1";
        /// The peer is not heard, or says so itself.
        Down = 1, "Down", "RFC 5880 §4.1";
        /// The peer is heard, and does not hear us yet.
        Init = 2, "Init", "RFC 5880 §4.1";
        /// Both hear each other.
        Up = 3, "Up", "RFC 5880 §4.1";
    }
}

wire::rows! {
    /// Why a session went down last (bfd.LocalDiag). Numbers without a row are read as none.
    pub enum Diagnostic: u8 {
        /// It did not.
        None = 0, "No Diagnostic", "RFC 5880 §4.1";
        /// Control packets stayed away.
        DetectionTimeExpired = 1, "Control Detection Time Expired", "RFC 5880 §4.1";
        /// Echo packets did not come back.
        EchoFailed = 2, "Echo Function Failed", "RFC 5880 §4.1";
        /// The peer said that it is down.
        NeighborDown = 3, "Neighbor Signaled Session Down", "RFC 5880 §4.1";
        /// The forwarding plane was reset.
        ForwardingReset = 4, "Forwarding Plane Reset", "RFC 5880 §4.1";
        /// What is known from elsewhere: the path is down.
        PathDown = 5, "Path Down", "RFC 5880 §4.1";
        /// A part of a concatenated path is down.
        ConcatenatedPathDown = 6, "Concatenated Path Down", "RFC 5880 §4.1";
        /// Put down by an operator.
        AdministrativelyDown = 7, "Administratively Down", "RFC 5880 §4.1";
        /// The path from the other side is down.
        ReverseConcatenatedPathDown = 8, "Reverse Concatenated Path Down", "RFC 5880 §4.1";
    }
}

wire::rows! {
    /// Kinds of authentication, and the octets of their sections; of a password with one of 16.
    pub enum AuthType: u8, pub octets: u8 {
        /// The password in clear.
        SimplePassword = 1, "Simple Password", 19, "RFC 5880 §4.2";
        /// MD5 over packet and key; numbers may stand still.
        KeyedMd5 = 2, "Keyed MD5", 24, "RFC 5880 §4.3";
        /// MD5; each packet has another number.
        MeticulousKeyedMd5 = 3, "Meticulous Keyed MD5", 24, "RFC 5880 §4.3";
        /// SHA1 over packet and key; numbers may stand still.
        KeyedSha1 = 4, "Keyed SHA1", 28, "RFC 5880 §4.4";
        /// SHA1; each packet has another number.
        MeticulousKeyedSha1 = 5, "Meticulous Keyed SHA1", 28, "RFC 5880 §4.4";
    }
}

impl AuthType {
    /// Whether each packet must have another number.
    #[must_use]
    pub const fn is_meticulous(self) -> bool {
        matches!(self, Self::MeticulousKeyedMd5 | Self::MeticulousKeyedSha1)
    }
}

wire::rows! {
    /// Why a packet was discarded.
    pub enum Discard {
        /// It is another version of the protocol.
        Version = "version", "RFC 5880 §6.8.6";
        /// It is shorter than a packet can be, or than it says.
        Length = "length", "RFC 5880 §6.8.6";
        /// Detect Mult is zero.
        DetectMult = "detect-mult", "RFC 5880 §6.8.6";
        /// The Multipoint bit is set.
        Multipoint = "multipoint", "RFC 5880 §6.8.6";
        /// My Discriminator is zero.
        MyDiscriminator = "my-discriminator", "RFC 5880 §6.8.6";
        /// No session has that Your Discriminator.
        YourDiscriminator = "your-discriminator", "RFC 5880 §6.8.6";
        /// Your Discriminator is that of our session before this one.
        Former = "former", "RFC 5880 §6.8.1";
        /// Your Discriminator is zero in a state in which the peer must know it.
        State = "state", "RFC 5880 §6.8.6";
        /// Nothing proves who sent it, while the session is up: Your Discriminator is zero, or My
        /// Discriminator is not the peer's.
        Unproven = "unproven", "RFC 5880 §6.8.6";
        /// No session is on the path that it came by.
        NoSession = "no-session", "RFC 5880 §6.8.6";
        /// Its session is on another path.
        Path = "path", "RFC 5881 §3";
        /// It passed more routers than it may have.
        Ttl = "ttl", "RFC 5881 §5";
        /// It is authenticated, and its session does not want that.
        AuthUnexpected = "auth-unexpected", "RFC 5880 §6.8.6";
        /// It is not authenticated, or in another way than its session wants.
        AuthMissing = "auth-missing", "RFC 5880 §6.7";
        /// The authentication section is malformed.
        AuthLength = "auth-length", "RFC 5880 §6.7";
        /// There is no such key.
        AuthKey = "auth-key", "RFC 5880 §6.7";
        /// Its number was used before, or is too far ahead.
        AuthSequence = "auth-sequence", "RFC 5880 §6.7.3";
        /// Password or digest is wrong.
        AuthDigest = "auth-digest", "RFC 5880 §6.7";
        /// Both Poll and Final are set.
        PollAndFinal = "poll-and-final", "RFC 5880 §4.1";
        /// Its session was put down by the operator.
        AdminDown = "admin-down", "RFC 5880 §6.8.6";
        /// An echo packet that was not sent by us.
        ForeignEcho = "foreign-echo", "RFC 5881 §4";
        /// An echo packet that is not awaited: its session is not up, or it came back twice.
        StrayEcho = "stray-echo", "RFC 5880 §6.8.8";
    }
}
