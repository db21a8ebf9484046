//! The tokens of a challenge: AUTN (TS 33.102 §6.3.2) and AUTS (§6.3.3).

use crate::{Amf, Secret, Sqn};

/// Octets of MAC-A and MAC-S in TS 33.102; TUAK may have 16 or 32.
pub const MAC_OCTETS: usize = 8;

fn is_mac(octets: usize) -> bool {
    matches!(octets, 8 | 16 | 32)
}

/// `SQN ⊕ AK 6 · AMF 2 · MAC-A`: proves the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Autn {
    pub(crate) concealed: [u8; 6],
    pub(crate) amf: Amf,
    pub(crate) mac: Secret,
}

impl Autn {
    /// Reads a token of 16 octets, or of 24 or 40 with a longer code of TUAK; `None`: another
    /// length.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let (concealed, rest) = octets.split_first_chunk()?;
        let (amf, mac) = rest.split_first_chunk()?;
        let mac = Secret::new(mac).filter(|_| is_mac(mac.len()))?;
        Some(Self { concealed: *concealed, amf: Amf(*amf), mac })
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        [&self.concealed, &self.amf.0[..], self.mac.expose()].concat()
    }

    /// The management field.
    #[must_use]
    pub const fn amf(&self) -> Amf {
        self.amf
    }

    /// The sequence number.
    pub(crate) fn sqn(&self, ak: &Secret) -> Sqn {
        Sqn::from(Sqn::concealed(self.concealed, ak))
    }
}

/// `SQN_MS ⊕ AK* 6 · MAC-S`: by what a card asks for resynchronisation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Auts {
    pub(crate) concealed: [u8; 6],
    pub(crate) mac: Secret,
}

impl Auts {
    /// Reads a token of 14 octets, or of 22 or 38 with a longer code of TUAK; `None`: another
    /// length.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let (concealed, mac) = octets.split_first_chunk()?;
        let mac = Secret::new(mac).filter(|_| is_mac(mac.len()))?;
        Some(Self { concealed: *concealed, mac })
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        [&self.concealed, self.mac.expose()].concat()
    }

    pub(crate) fn sqn(&self, ak: &Secret) -> Sqn {
        Sqn::from(Sqn::concealed(self.concealed, ak))
    }
}
