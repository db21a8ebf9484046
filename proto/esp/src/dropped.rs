//! Why a packet was dropped, and how often.

wire::rows! {
    /// Why a packet was dropped.
    pub enum Dropped {
        /// It is no packet of IP, or is cut off.
        Malformed = "malformed", "RFC 791 §3.1";
        /// It does not fit into its room, or would be longer than a packet can be.
        NoRoom = "no room", "RFC 791 §3.1";
        /// There is no such association.
        NoAssociation = "no association", "RFC 4303 §3.4.2";
        /// It is a fragment: ESP takes whole packets.
        Fragment = "fragment", "RFC 4303 §3.4.1";
        /// No selector of the association lets it pass.
        Policy = "policy", "RFC 4301 §5.2";
        /// There is no ESP in it, or in UDP where the association has none, or the other way round.
        Encapsulation = "encapsulation", "RFC 3948 §2.1";
        /// It is of another SPI than the association.
        OtherSpi = "other SPI", "RFC 4303 §3.4.2";
        /// It is too short for number, IV, trailer and ICV, or has no whole number of blocks.
        Short = "short", "RFC 4303 §2";
        /// Its number came before.
        Replayed = "replayed", "RFC 4303 §3.4.3";
        /// Its number is left of the window.
        Old = "old", "RFC 4303 §3.4.3";
        /// Its ICV is wrong.
        Forged = "forged", "RFC 4303 §3.4.4.1";
        /// Its padding is not what padding is.
        Padding = "padding", "RFC 4303 §2.4";
        /// What the next header says is not inside.
        NextHeader = "next header", "RFC 4303 §2.6";
        /// It met congestion, and its inner packet cannot say so.
        Congested = "congested", "RFC 6040 §4.2";
        /// The numbers are used up.
        Exhausted = "numbers exhausted", "RFC 4303 §3.3.3";
        /// No further number was granted yet.
        NotGranted = "number not granted", "RFC 4303 §3.3.3";
        /// A hard lifetime has passed.
        Expired = "expired", "RFC 4301 §4.4.2.1";
    }
}

impl core::fmt::Display for Dropped {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} ({})", self.name(), self.spec())
    }
}

impl core::error::Error for Dropped {}

/// What passed and what did not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that passed.
    pub packets: u64,
    /// Their octets as they are afterwards.
    pub octets: u64,
    /// Dummy packets (RFC 4303 §2.6), which are among those that passed.
    pub dummies: u64,
    dropped: [u64; Dropped::ALL.len()],
}

impl Counters {
    /// Packets that were dropped for this reason.
    #[must_use]
    pub const fn dropped(&self, why: Dropped) -> u64 {
        self.dropped[why as usize]
    }

    pub(crate) const fn drop(&mut self, why: Dropped) {
        self.dropped[why as usize] += 1;
    }
}
