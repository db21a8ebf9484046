//! The nonce (RFC 3310 §3.2): `base64(RAND · AUTN · what the server likes)`.

use crate::{Autn, Rand};
use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};

/// Base64 as others write it, with or without its padding.
pub(super) const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A nonce.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nonce {
    /// The challenge.
    pub rand: Rand,
    /// What proves the network.
    pub autn: Autn,
    /// What the server added for itself.
    pub server_data: Vec<u8>,
}

impl Nonce {
    /// Reads a nonce whose AUTN has a code of so many octets: 8, or what the card has. `None` if it
    /// is none.
    #[must_use]
    pub fn read(text: &[u8], mac_octets: usize) -> Option<Self> {
        let octets = LENIENT.decode(text).ok()?;
        let (rand, rest) = octets.split_first_chunk()?;
        let (autn, server_data) = rest.split_at_checked(8 + mac_octets)?;
        let (rand, autn) = (Rand(*rand), Autn::new(autn)?);
        Some(Self { rand, autn, server_data: server_data.to_vec() })
    }

    /// As it stands in a challenge.
    #[must_use]
    pub fn text(&self) -> String {
        STANDARD.encode([&self.rand.0, &self.autn.octets()[..], &self.server_data].concat())
    }
}
