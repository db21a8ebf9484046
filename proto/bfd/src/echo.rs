//! The payload of our echo packets: a local matter (RFC 5880 §5). It names the session and its own
//! number, and carries a keyed hash of both, so that nobody else can pretend that a path works.

use machine::KeyedHash;

/// Octets of an echo packet's payload.
pub const ECHO_OCTETS: usize = 16;

/// An echo packet's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Our discriminator.
    pub discriminator: u32,
    /// Which of the session's echoes.
    pub sequence: u32,
}

impl Echo {
    fn hash(self, secret: &KeyedHash) -> u64 {
        let number = u64::from(self.discriminator) << 32 | u64::from(self.sequence);
        secret.hash(&number.to_be_bytes())
    }

    pub(crate) fn write(self, secret: &KeyedHash) -> [u8; ECHO_OCTETS] {
        let mut octets = [0; ECHO_OCTETS];
        octets[..4].copy_from_slice(&self.discriminator.to_be_bytes());
        octets[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        octets[8..].copy_from_slice(&self.hash(secret).to_be_bytes());
        octets
    }

    pub(crate) fn read(octets: &[u8], secret: &KeyedHash) -> Option<Self> {
        let whole: &[u8; ECHO_OCTETS] = octets.try_into().ok()?;
        let [a, b, c, d, e, f, g, h, ref hash @ ..] = *whole;
        let discriminator = u32::from_be_bytes([a, b, c, d]);
        let echo = Self { discriminator, sequence: u32::from_be_bytes([e, f, g, h]) };
        (echo.hash(secret).to_be_bytes() == *hash).then_some(echo)
    }
}
