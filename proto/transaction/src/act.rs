//! What a transaction machine asks of the table that owns it.

use core::fmt;
use core::ops::BitOr;

/// A set of actions; the table carries them out in the order of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Act(u8);

impl Act {
    /// Nothing to do.
    pub const NOTHING: Self = Self(0);
    /// Pass what came to the transaction user.
    pub const PASS: Self = Self(1);
    /// Send the stored message again.
    pub const RESEND: Self = Self(2);
    /// Send an ACK for a final response other than 2xx (§17.1.1.3).
    pub const ACK: Self = Self(4);
    /// Keep the bytes that the user sent, for retransmission.
    pub const STORE: Self = Self(8);
    /// Forget the stored bytes.
    pub const FORGET: Self = Self(16);
    /// Tell the user that nobody answered.
    pub const TIMEOUT: Self = Self(32);
    /// Tell the user that the transport failed.
    pub const ERROR: Self = Self(64);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::PASS, "pass"),
        (Self::RESEND, "resend"),
        (Self::ACK, "ack"),
        (Self::STORE, "store"),
        (Self::FORGET, "forget"),
        (Self::TIMEOUT, "timeout"),
        (Self::ERROR, "error"),
    ];

    /// Whether all of `other` is asked for.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Act {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (act, name) in Self::NAMES {
            if self.has(act) {
                write!(f, "{between}{name}")?;
                between = "+";
            }
        }
        if self.0 == 0 { f.write_str("-") } else { Ok(()) }
    }
}
