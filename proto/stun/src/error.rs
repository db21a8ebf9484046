//! Why a request is refused (RFC 8489 §14.8).

use crate::attribute::{Attribute, AttributeType};
use wire::{Cursor, Malformed};

wire::rows! {
    /// The codes.
    pub enum ErrorCode: u16 {
        /// Ask another server.
        TryAlternate = 300, "Try Alternate", "RFC 8489 §14.8";
        /// The request is malformed, or says not who asks.
        BadRequest = 400, "Bad Request", "RFC 8489 §14.8";
        /// Who asks does not know the password.
        Unauthenticated = 401, "Unauthenticated", "RFC 8489 §14.8";
        /// Attributes were not understood.
        UnknownAttribute = 420, "Unknown Attribute", "RFC 8489 §14.8";
        /// The nonce is too old.
        StaleNonce = 438, "Stale Nonce", "RFC 8489 §14.8";
        /// Both ends have the same role.
        RoleConflict = 487, "Role Conflict", "RFC 8445 §16.2";
        /// Try again.
        ServerError = 500, "Server Error", "RFC 8489 §14.8";
    }
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// The code, 300 to 699, of which [`ErrorCode`] has those that are known.
    pub code: u16,
    /// The reason for people, UTF-8.
    pub reason: &'a [u8],
}

impl<'a> Refusal<'a> {
    pub(crate) fn read(attribute: &Attribute<'a>) -> Result<Self, Malformed> {
        let mut cursor =
            Cursor::new(attribute.value, attribute.at + 4, AttributeType::ErrorCode.spec());
        let [_, _, class, number] = cursor.array("the code is cut off")?;
        let class = class & 0x07;
        if !(3..=6).contains(&class) || number > 99 {
            return Err(Malformed::new(
                attribute.at + 4,
                "there is no such code",
                "RFC 8489 §14.8",
            ));
        }
        let code = u16::from(class) * 100 + u16::from(number);
        Ok(Self { code, reason: cursor.rest() })
    }
}
