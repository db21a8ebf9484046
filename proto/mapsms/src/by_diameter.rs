//! The same operations as commands of S6c and SGd (TS 29.338), with the results and errors that
//! they have in MAP: whoever asks and answers need not know which of both is spoken.
//!
//! ```text
//!   Argument ─→ ask ─→ SRR, RDR, ALR, OFR, TFR       SRA, RDA, ALA, OFA, TFA ─→ answer ─→ result
//!   Invoked ←─ serve ←─ SRR, RDR, TFR                SRA, RDA, TFA ←─ serve ←─ result, Refused
//! ```
//! ReadyForSM and AnyTimeModification have no counterpart.

pub mod answer;
pub mod ask;
mod errors;
pub mod names;
pub mod serve;
#[cfg(test)]
mod tests;

use crate::identity::Msisdn;
use diameter::codec::{Avps, Message};
use diameter::row::Row;
use diameter::rows::base::{EXPERIMENTAL_RESULT, EXPERIMENTAL_RESULT_CODE, RESULT_CODE};
use diameter::rows::s6c;

/// The version of MAP whose results and errors are meant.
pub const VERSION: u8 = 3;
/// Fills the last octet of an odd number of digits.
const FILLER: u8 = 0xf0;

/// What kind of node takes messages over SGd or Gdd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// An MME.
    Mme,
    /// An SGSN.
    Sgsn,
}

/// A node that has a number, and a name in Diameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// What it is.
    pub kind: NodeKind,
    /// Its number.
    pub number: Msisdn,
    /// Its host.
    pub host: String,
    /// Its realm.
    pub realm: String,
}

impl NodeKind {
    /// The AVPs of name, realm and number.
    const fn rows(self) -> [&'static Row; 3] {
        match self {
            Self::Mme => [&s6c::MME_NAME, &s6c::MME_REALM, &s6c::MME_NUMBER_FOR_MT_SMS],
            Self::Sgsn => [&s6c::SGSN_NAME, &s6c::SGSN_REALM, &s6c::SGSN_NUMBER],
        }
    }
}

/// Digits as TBCD (TS 29.002 §17.7.8), without a type of number in front.
fn tbcd(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().map(|it| it & 0xf).collect();
    digits.chunks(2).map(|it| it[0] | it.get(1).map_or(FILLER, |it| it << 4)).collect()
}

/// The number of TBCD digits.
fn number(octets: &[u8]) -> Option<Msisdn> {
    Msisdn::of(&sms::digits(octets).collect::<String>())
}

/// The groups of nodes that serve a user, in the order in which they are to be tried.
fn serving<'a>(message: &Message<'a>) -> impl Iterator<Item = Avps<'a>> {
    let avps = message.avps();
    let rows = [&s6c::SERVING_NODE, &s6c::ADDITIONAL_SERVING_NODE];
    rows.into_iter().filter_map(move |row| avps.find(row)).map(|it| it.group())
}

/// What an answer says came of it.
///
/// # Errors
/// It was not done; the value of Experimental-Result-Code, if there is one.
pub fn result(message: &Message<'_>) -> Result<(), Option<u32>> {
    let is_done = |code: &u32| (2_000..3_000).contains(code);
    let avps = message.avps();
    let code = avps.find(&RESULT_CODE).and_then(|it| it.unsigned32().ok());
    if code.is_some_and(|it| is_done(&it)) {
        return Ok(());
    }
    let experimental = avps.find(&EXPERIMENTAL_RESULT).map(|it| it.group());
    let own = experimental.and_then(|it| it.find(&EXPERIMENTAL_RESULT_CODE));
    match own.and_then(|it| it.unsigned32().ok()) {
        Some(code) if is_done(&code) => Ok(()),
        own => Err(own),
    }
}
