//! Octets that nobody shall see.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// Most octets of a secret: K, RES, CK and IK of TUAK (TS 35.231 §5).
pub const SECRET_MAX: usize = 32;

/// A key, an answer or a code, up to [`SECRET_MAX`] octets. Comparing takes as long wherever two
/// differ, its memory is overwritten when it is dropped, and `Debug` shows its length alone.
#[derive(Clone)]
pub struct Secret {
    octets: [u8; SECRET_MAX],
    len: u8,
}

impl Secret {
    /// These octets; `None` if they are more than [`SECRET_MAX`].
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut secret = Self { octets: [0; SECRET_MAX], len: u8::try_from(octets.len()).ok()? };
        secret.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(secret)
    }

    /// The first octets; [`SECRET_MAX`] at most.
    pub(crate) fn cut(octets: &[u8]) -> Self {
        Self::new(&octets[..octets.len().min(SECRET_MAX)]).expect("it is cut")
    }

    /// The octets.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.octets[..usize::from(self.len)]
    }

    /// How many octets it has.
    #[must_use]
    pub fn octets(&self) -> usize {
        usize::from(self.len)
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose().ct_eq(other.expose()).into()
    }
}

impl Eq for Secret {}

impl Drop for Secret {
    fn drop(&mut self) {
        self.octets.zeroize();
    }
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} octets", self.len)
    }
}
