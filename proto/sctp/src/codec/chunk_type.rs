//! The table of chunk types, and what to do with those that are not in it (RFC 9260 §3.2).

/// What the high bits of an unknown type ask for (RFC 9260 §3.2 for chunks, §3.2.1 for
/// parameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown {
    /// What follows is processed all the same.
    pub is_skipped: bool,
    /// The sender is told.
    pub is_reported: bool,
}

impl Unknown {
    /// By the highest two bits, given in the lowest two.
    #[must_use]
    pub const fn of(bits: u8) -> Self {
        Self { is_skipped: bits & 2 != 0, is_reported: bits & 1 != 0 }
    }
}

/// A set of chunk types, those included that this codec does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkTypes([u64; 4]);

impl ChunkTypes {
    /// No type.
    pub const NONE: Self = Self([0; 4]);

    /// The set with one more type.
    #[must_use]
    pub const fn with(mut self, kind: u8) -> Self {
        self.0[kind as usize / 64] |= 1 << (kind % 64);
        self
    }

    /// Whether the type is in the set.
    #[must_use]
    pub const fn contains(&self, kind: u8) -> bool {
        self.0[kind as usize / 64] & 1 << (kind % 64) != 0
    }

    /// The types, in order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<u8> for ChunkTypes {
    fn from_iter<T: IntoIterator<Item = u8>>(kinds: T) -> Self {
        kinds.into_iter().fold(Self::NONE, Self::with)
    }
}

wire::rows! {
    /// A chunk type that this codec knows.
    pub enum ChunkType: u8 {
        /// User data.
        Data = 0x00, "DATA", "RFC 9260 §3.3.1";
        /// Begins an association.
        Init = 0x01, "INIT", "RFC 9260 §3.3.2";
        /// Answers an INIT.
        InitAck = 0x02, "INIT ACK", "RFC 9260 §3.3.3";
        /// Acknowledges user data.
        Sack = 0x03, "SACK", "RFC 9260 §3.3.4";
        /// Probes a path.
        Heartbeat = 0x04, "HEARTBEAT", "RFC 9260 §3.3.5";
        /// Answers a probe.
        HeartbeatAck = 0x05, "HEARTBEAT ACK", "RFC 9260 §3.3.6";
        /// Ends an association at once.
        Abort = 0x06, "ABORT", "RFC 9260 §3.3.7";
        /// Ends an association in order.
        Shutdown = 0x07, "SHUTDOWN", "RFC 9260 §3.3.8";
        /// Answers a SHUTDOWN.
        ShutdownAck = 0x08, "SHUTDOWN ACK", "RFC 9260 §3.3.9";
        /// Tells of an error.
        Error = 0x09, "ERROR", "RFC 9260 §3.3.10";
        /// Brings the state cookie back.
        CookieEcho = 0x0A, "COOKIE ECHO", "RFC 9260 §3.3.11";
        /// The cookie was good.
        CookieAck = 0x0B, "COOKIE ACK", "RFC 9260 §3.3.12";
        /// Reserved for Explicit Congestion Notification Echo.
        Ecne = 0x0C, "ECNE", "RFC 9260 §3.2";
        /// Reserved for Congestion Window Reduced.
        Cwr = 0x0D, "CWR", "RFC 9260 §3.2";
        /// Ends the shutdown.
        ShutdownComplete = 0x0E, "SHUTDOWN COMPLETE", "RFC 9260 §3.3.13";
        /// Authenticates what follows.
        Auth = 0x0F, "AUTH", "RFC 4895 §4.1";
        /// User data that may be interleaved.
        IData = 0x40, "I-DATA", "RFC 8260 §2.1";
        /// Answers an ASCONF.
        AsconfAck = 0x80, "ASCONF-ACK", "RFC 5061 §4.1.2";
        /// Resets or adds streams.
        ReConfig = 0x82, "RE-CONFIG", "RFC 6525 §3.1";
        /// Fills a packet.
        Pad = 0x84, "PAD", "RFC 4820 §3";
        /// Moves the cumulative TSN on.
        ForwardTsn = 0xC0, "FORWARD-TSN", "RFC 3758 §3.2";
        /// Changes addresses.
        Asconf = 0xC1, "ASCONF", "RFC 5061 §4.1.1";
        /// Moves the cumulative TSN on, for I-DATA.
        IForwardTsn = 0xC2, "I-FORWARD-TSN", "RFC 8260 §2.3.1";
    }
}
