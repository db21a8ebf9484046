//! What is wrong with a message, and how it is answered (RFC 7606 §2).

use super::Asn;
use super::notification::Notice;
use super::offer::write_multiprotocol;
use crate::family::{Family, FamilySet};
use wire::Malformed;

wire::rows! {
    /// Ways to answer a violation, the weakest first: with several violations the strongest way
    /// counts (RFC 7606 §3 h).
    pub enum Approach {
        /// The attribute is dropped, the rest of the message counts.
        AttributeDiscard = "attribute discard", "RFC 7606 §2";
        /// Every route of the message is taken for withdrawn.
        TreatAsWithdraw = "treat-as-withdraw", "RFC 7606 §2";
        /// All routes of the family go, and what comes for it is ignored until the session ends.
        DisableFamily = "AFI/SAFI disable", "RFC 7606 §2";
        /// NOTIFICATION and end of the session.
        SessionReset = "session reset", "RFC 7606 §2";
    }
}

/// What goes into the Data field of the NOTIFICATION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Nothing.
    None,
    /// These octets of the offending message: offset and length.
    Message(u16, u16),
    /// A number of 8 bits.
    Octet(u8),
    /// A number of 16 bits.
    Word(u16),
    /// The capabilities that say these families.
    Families(FamilySet),
    /// Nothing, of an OPEN of that AS: RFC 4271 §6.2 has no data for it.
    OfAs(Asn),
}

/// One violation of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// How it is answered.
    pub approach: Approach,
    /// The family that is disabled, for [`Approach::DisableFamily`].
    pub family: Option<Family>,
    /// What a NOTIFICATION would say.
    pub notice: Notice,
    /// What a NOTIFICATION would carry.
    pub data: Data,
    /// Offset in the message, violation and section.
    pub malformed: Malformed,
}

impl Violation {
    /// A violation that ends the session.
    #[must_use]
    pub const fn reset(notice: Notice, at: usize, what: &'static str, spec: &'static str) -> Self {
        let malformed = Malformed::new(at, what, spec);
        let approach = Approach::SessionReset;
        Self { approach, family: None, notice, data: Data::None, malformed }
    }

    /// The same violation, with data for the NOTIFICATION.
    #[must_use]
    pub const fn with(self, data: Data) -> Self {
        Self { data, ..self }
    }

    /// The same violation, answered in that way.
    #[must_use]
    pub const fn answered(self, approach: Approach) -> Self {
        Self { approach, ..self }
    }

    /// Appends the Data field of the NOTIFICATION about `message`.
    pub fn write_data(&self, message: &[u8], out: &mut Vec<u8>) {
        match self.data {
            Data::None | Data::OfAs(_) => {}
            Data::Message(at, length) => {
                let from = usize::from(at).min(message.len());
                let to = (from + usize::from(length)).min(message.len());
                out.extend_from_slice(&message[from..to]);
            }
            Data::Octet(octet) => out.push(octet),
            Data::Word(word) => out.extend_from_slice(&word.to_be_bytes()),
            Data::Families(families) => {
                families.iter().for_each(|family| write_multiprotocol(family, out));
            }
        }
    }
}
