//! OPEN: who speaks, and its optional parameters, extended or not (RFC 4271 §4.2, RFC 9072).

use super::capability::{Capabilities, CapabilityCode};
use super::header::{begin, end};
use super::{
    AS_TRANS_SHORT, Data, MessageType, Notice, Offer, OpenError, VERSION, Violation, be16, be32,
    octet, word,
};
use crate::family::{Family, FamilySet};
use wire::Malformed;

/// The parameter type of capabilities (RFC 5492 §4).
const PARAMETER_CAPABILITIES: u8 = 2;
/// Length and type that announce extended parameters (RFC 9072 §2).
const EXTENDED: u8 = 255;
/// Where the optional parameters begin.
const PARAMETERS_AT: usize = 29;

/// An OPEN, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// The field My Autonomous System: of two octets.
    pub my_as: u16,
    /// All it says.
    pub offer: Offer,
}

/// The optional parameters: type, value, offset in the message.
struct Parameters<'a> {
    rest: &'a [u8],
    at: usize,
    is_extended: bool,
}

impl<'a> Parameters<'a> {
    /// Finds them in a message.
    fn of(message: &'a [u8]) -> Result<Self, Violation> {
        let length = usize::from(message[28]);
        let unspecific = |at, what| {
            let notice = Notice::open(OpenError::Unspecific);
            Err(Violation::reset(notice, at, what, "RFC 9072 §2"))
        };
        let rest = &message[PARAMETERS_AT..];
        // RFC 9072 §2: a first parameter of type 255 announces them, whatever length is told.
        let is_extended = length > 0 && rest.first() == Some(&EXTENDED);
        if !is_extended {
            if length != rest.len() {
                return unspecific(28, "the parameters do not have the length that is told");
            }
            return Ok(Self { rest, at: PARAMETERS_AT, is_extended });
        }
        let Some([_, high, low]) = rest.first_chunk::<3>() else {
            return unspecific(PARAMETERS_AT, "the extended length is cut off");
        };
        if usize::from(u16::from_be_bytes([*high, *low])) != rest.len() - 3 {
            let what = "the parameters do not have the length that is told";
            return unspecific(PARAMETERS_AT + 1, what);
        }
        Ok(Self { rest: &rest[3..], at: PARAMETERS_AT + 3, is_extended })
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Result<(u8, usize, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let &kind = self.rest.first()?;
        let rest = core::mem::take(&mut self.rest);
        let (head, length) = match (self.is_extended, rest) {
            (false, [_, length, ..]) => (2, usize::from(*length)),
            (true, [_, high, low, ..]) => (3, usize::from(u16::from_be_bytes([*high, *low]))),
            _ => (rest.len(), 1),
        };
        let Some((whole, rest)) = rest.split_at_checked(head + length) else {
            let what = "the parameter is cut off";
            return Some(Err(Malformed::new(self.at, what, "RFC 4271 §4.2")));
        };
        let at = self.at + head;
        self.rest = rest;
        self.at += whole.len();
        Some(Ok((kind, at, &whole[head..])))
    }
}

impl Open {
    /// Reads a message that [`super::frame`] found.
    ///
    /// # Errors
    /// The violation with its NOTIFICATION (RFC 4271 §6.2). Whether the AS is the right one, and
    /// what else concerns both sides, the session knows.
    pub fn read(message: &[u8]) -> Result<Self, Violation> {
        let (my_as, hold_time_s) = (be16(message, 20), be16(message, 22));
        if message[19] != VERSION {
            let notice = Notice::open(OpenError::UnsupportedVersionNumber);
            let violation = Violation::reset(notice, 19, "the version is not 4", "RFC 4271 §6.2");
            return Err(violation.with(Data::Word(VERSION.into())));
        }
        let mut offer = Offer::plain(my_as.into(), be32(message, 24), hold_time_s);
        offer.families = FamilySet::EMPTY;
        let mut is_multiprotocol = false;
        for parameter in Parameters::of(message)? {
            let unspecific = |it: Malformed| {
                Violation::reset(Notice::open(OpenError::Unspecific), it.at, it.what, it.spec)
            };
            let (kind, at, value) = parameter.map_err(unspecific)?;
            if kind != PARAMETER_CAPABILITIES {
                let notice = Notice::open(OpenError::UnsupportedOptionalParameter);
                let what = "the parameter is not known";
                return Err(Violation::reset(notice, at, what, "RFC 4271 §6.2"));
            }
            for capability in Capabilities::new(value) {
                let capability = capability.map_err(|it| unspecific(it.shifted(at)))?;
                let Some(code) = CapabilityCode::of(capability.code) else { continue };
                if !code.takes(capability.value.len()) {
                    let what = "the capability does not have its length";
                    let malformed = Malformed::new(at + capability.at + 1, what, code.spec());
                    return Err(unspecific(malformed));
                }
                is_multiprotocol |= code == CapabilityCode::Multiprotocol;
                offer.take(code, capability);
            }
        }
        if !is_multiprotocol {
            offer.families.insert(Family::Ipv4Unicast);
        }
        Self { my_as, offer }.check()
    }

    /// What is wrong in any case.
    fn check(self) -> Result<Self, Violation> {
        let violation =
            |error, at, what, spec| Violation::reset(Notice::open(error), at, what, spec);
        if self.offer.asn == 0 {
            return Err(violation(OpenError::BadPeerAs, 20, "the AS is zero", "RFC 7607 §2"));
        }
        if matches!(self.offer.hold_time_s, 1 | 2) {
            let what = "the hold time is one or two seconds";
            return Err(violation(OpenError::UnacceptableHoldTime, 22, what, "RFC 4271 §6.2"));
        }
        if self.offer.identifier == 0 {
            let what = "the identifier is zero";
            return Err(violation(OpenError::BadBgpIdentifier, 24, what, "RFC 6286 §2.1"));
        }
        Ok(self)
    }
}

/// Appends an OPEN. Parameters are extended only if they must be (RFC 9072 §2).
pub fn write_open(offer: &Offer, out: &mut Vec<u8>) {
    let start = begin(MessageType::Open, out);
    let my_as = u16::try_from(offer.asn).unwrap_or(AS_TRANS_SHORT);
    out.push(VERSION);
    out.extend_from_slice(&my_as.to_be_bytes());
    out.extend_from_slice(&offer.hold_time_s.to_be_bytes());
    out.extend_from_slice(&offer.identifier.to_be_bytes());
    let mut capabilities = Vec::with_capacity(128);
    offer.write_capabilities(&mut capabilities);
    let length = capabilities.len();
    if length == 0 {
        out.push(0);
    } else if length + 2 < usize::from(EXTENDED) {
        out.extend_from_slice(&[octet(length + 2), PARAMETER_CAPABILITIES, octet(length)]);
    } else {
        let [high, low] = word(length).to_be_bytes();
        let [all_high, all_low] = word(length + 3).to_be_bytes();
        out.extend_from_slice(&[EXTENDED, EXTENDED, all_high, all_low]);
        out.extend_from_slice(&[PARAMETER_CAPABILITIES, high, low]);
    }
    out.extend_from_slice(&capabilities);
    end(start, out);
}
