//! Whom a dialogue is about: identities among the parameters of its operations.

use super::words::Talk;
use crate::keys;
use crate::live::{Live, text};
use ber::Element;
use tcap::codec::{Code, Message, Payload};
use tcap::operation::{Parameter, check};

/// How the digits of an identity stand in its octets.
#[derive(Debug, Clone, Copy)]
enum Digits {
    /// TBCD (TS 29.002 §17.7.8, TBCD-STRING).
    Tbcd,
    /// TBCD behind an octet of nature and plan (AddressString).
    Address,
    /// As in ISUP, behind two octets (Q.763 §3.9, §3.10).
    Isup,
}

/// Parameters by their names in ASN.1, at any depth.
const IDENTITIES: &[(&str, Digits)] = &[
    ("imsi", Digits::Tbcd),
    ("iMSI", Digits::Tbcd),
    ("msisdn", Digits::Address),
    ("mSISDN", Digits::Address),
    ("storedMSISDN", Digits::Address),
    ("roamingNumber", Digits::Address),
    ("calledPartyBCDNumber", Digits::Address),
    ("destinationSubscriberNumber", Digits::Address),
    ("callingPartyNumber", Digits::Isup),
    ("calledPartyNumber", Digits::Isup),
];

/// Adds the identities in a message to what a trail is found by; the first one is whom it is about.
pub(super) fn learn(live: &mut Live, octets: &[u8], talk: &Talk) {
    let Ok(message) = Message::read(octets) else { return };
    for component in message.components().flatten() {
        let (parameter, kind) = match &component.payload {
            Payload::Invoke { code: Code::Local(code), parameter: Some(it), .. } => {
                (it, talk.speech().argument(*code))
            }
            Payload::ReturnResult { result: Some((Code::Local(code), Some(it))), .. } => {
                (it, talk.speech().result(*code))
            }
            _ => continue,
        };
        of_parameter(live, parameter, kind);
    }
}

fn of_parameter(live: &mut Live, parameter: &Element<'_>, kind: Option<Parameter>) {
    let Some(kind) = kind.filter(|it| check(Some(*it), Some(parameter), "").is_ok()) else {
        return;
    };
    let mut found = Vec::new();
    let visited = kind.kind.visit(parameter, &mut |field, value| {
        let row = IDENTITIES.iter().find(|(known, _)| *known == field.name);
        if let (Some((_, how)), Ok(octets)) = (row, value.octets()) {
            found.extend(read(*how, &octets.iter().collect::<Vec<u8>>()));
        }
    });
    debug_assert!(visited.is_ok(), "it was checked");
    for digits in found {
        keys::add_digits(&mut live.keys, &digits);
        if live.trail.subscriber.is_empty() {
            live.trail.subscriber = text(digits.as_bytes());
        }
    }
}

/// The digits; none where there are none.
fn read(how: Digits, octets: &[u8]) -> Option<String> {
    let (octets, is_odd) = match how {
        Digits::Tbcd => (octets, false),
        Digits::Address => (octets.get(1..)?, false),
        Digits::Isup => (octets.get(2..)?, octets.first()? & 0x80 != 0),
    };
    let mut digits: String = octets
        .iter()
        .flat_map(|octet| [octet & 0x0f, octet >> 4])
        .take_while(|digit| *digit < 10)
        .map(|digit| char::from(b'0' + digit))
        .collect();
    if is_odd && digits.len() == octets.len() * 2 {
        digits.pop();
    }
    (!digits.is_empty()).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_each_identity_has_them() {
        let imsi = [0x32, 0x14, 0x05, 0x00, 0x00, 0x00, 0x00, 0xf1];
        assert_eq!(read(Digits::Tbcd, &imsi).unwrap(), "234150000000001");
        assert_eq!(read(Digits::Address, &[0x91, 0x44, 0x77, 0xf0]).unwrap(), "44770");
        assert_eq!(read(Digits::Isup, &[0x84, 0x90, 0x21, 0x03]).unwrap(), "123");
        assert_eq!(read(Digits::Isup, &[0x04, 0x90, 0x21, 0x43]).unwrap(), "1234");
        assert_eq!((read(Digits::Address, &[]), read(Digits::Tbcd, &[])), (None, None));
    }
}
