//! The two spellings of what goes over a connection.

use crate::frame::MARK;
use crate::json::{Out, PointCodes};
use crate::message::{Named, ToApplication, ToGateway};
use crate::names::Speech;
use crate::{json, tagged};
use wire::Malformed;

/// How an application writes and reads; it begins, and the gateway answers alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Fields with tags and lengths.
    Tagged,
    /// Lines of JSON, with the names of ASN.1.
    Json,
}

impl Spelling {
    /// That of a message.
    #[must_use]
    pub fn of(message: &[u8]) -> Self {
        if message.first() == Some(&MARK) { Self::Tagged } else { Self::Json }
    }

    /// Appends a message, framed. `speech` names what is in it.
    pub fn write(self, message: &ToApplication, speech: Speech, out: &mut Vec<u8>) {
        self.write_with(PointCodes::Numbers, message, speech, out);
    }

    /// The same, with point codes written so.
    pub fn write_with(
        self,
        point_codes: PointCodes,
        message: &ToApplication,
        speech: Speech,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::Tagged => tagged::write_to_application(message, out),
            Self::Json => {
                json::write_to_application(message, speech, &mut Out { octets: out, point_codes });
            }
        }
    }

    /// Appends a message to the gateway, framed.
    pub fn write_request(self, message: &ToGateway, speech: Speech, out: &mut Vec<u8>) {
        match self {
            Self::Tagged => tagged::write_to_gateway(message, out),
            Self::Json => {
                let point_codes = PointCodes::Numbers;
                json::write_to_gateway(message, speech, &mut Out { octets: out, point_codes });
            }
        }
    }

    /// What a framed message to the gateway is of, as far as it can be read.
    #[must_use]
    pub fn named(self, message: &[u8]) -> Named {
        match self {
            Self::Tagged => tagged::named(message),
            Self::Json => json::named(message),
        }
    }

    /// Reads a framed message to the gateway; `speech` says what the dialogue of a number speaks.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read_request(
        self,
        message: &[u8],
        speech: &dyn Fn(u64) -> Speech,
    ) -> Result<ToGateway, Malformed> {
        match self {
            Self::Tagged => tagged::read_to_gateway(message),
            Self::Json => json::read_to_gateway(message, speech),
        }
    }

    /// Reads a framed message to an application.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(
        self,
        message: &[u8],
        speech: &dyn Fn(u64) -> Speech,
    ) -> Result<ToApplication, Malformed> {
        match self {
            Self::Tagged => tagged::read_to_application(message),
            Self::Json => json::read_to_application(message, speech),
        }
    }
}
