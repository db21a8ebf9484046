//! What the core is told of a request or an answer of a phone: which network it is visiting, and by
//! which name records of charging know its dialog (RFC 7315 §4.3, §4.6).
//!
//! ```text
//! phone begins:  icid-value, icid-generated-at, orig-ioi ──→ core     within its dialog: the icid
//! core begins:   phone ←── icid-value, orig-ioi of the core
//!                its answer: the same, term-ioi ───────────→ core     within its dialog: the icid
//! ```

use crate::config::Ipsec;
use machine::KeyedHash;
use machine::identity::hex;
use sip::write::line;
use sip::{Header, HeaderSet, Method, Params};
use std::net::IpAddr;

/// What a P-CSCF alone says; of phones it goes nowhere.
pub(crate) const OWN: HeaderSet =
    HeaderSet::of(&[Header::PVisitedNetworkId, Header::PChargingVector]);
/// What a phone's answers, and its requests within dialogs, do not say themselves where this says
/// it.
pub const CHARGING: HeaderSet = HeaderSet::of(&[Header::PChargingVector]);

/// Octets of a vector that is looked at.
const VECTOR_OCTETS_MAX: usize = 512;
/// What is kept of a vector: the first two name its dialog.
const KEPT: [&str; 3] = ["icid-value", "icid-generated-at", "orig-ioi"];

/// Appends what a realm with that section says of a request.
pub(crate) fn write(section: &Ipsec, method: Method, own: IpAddr, secret: u128, out: &mut Vec<u8>) {
    if !section.visited_network.is_empty() && method == Method::Register {
        line(out, Header::PVisitedNetworkId.name(), &word(&section.visited_network));
    }
    if !section.charging.is_empty() {
        let mut value = icid(own, secret);
        value.extend_from_slice(b";orig-ioi=");
        value.extend_from_slice(&word(&section.charging));
        line(out, Header::PChargingVector.name(), &value);
    }
}

/// Appends what a request within a dialog says that was begun under that secret.
pub(crate) fn write_within(section: &Ipsec, own: IpAddr, secret: u128, out: &mut Vec<u8>) {
    if !section.charging.is_empty() {
        line(out, Header::PChargingVector.name(), &icid(own, secret));
    }
}

/// The name of a dialog in records of charging, and who has made it.
fn icid(own: IpAddr, secret: u128) -> Vec<u8> {
    // The secret leads to the names of both legs: of it nothing is said but what leads nowhere.
    let icid = KeyedHash::of_secret(secret);
    let halves = [icid.hash(b"icid, first half"), icid.hash(b"icid, second half")];
    let mut value = b"icid-value=".to_vec();
    halves.iter().for_each(|half| value.extend_from_slice(&hex(*half)));
    match own.to_canonical() {
        IpAddr::V4(ip) if !ip.is_unspecified() => {
            value.extend_from_slice(format!(";icid-generated-at={ip}").as_bytes());
        }
        IpAddr::V6(ip) if !ip.is_unspecified() => {
            value.extend_from_slice(format!(";icid-generated-at=[{ip}]").as_bytes());
        }
        _ => {}
    }
    value
}

/// What the vector of a request to a phone leads to; lines of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charged {
    /// What the phone's answers say: the same, and that this network has answered
    /// (TS 24.229 §5.2.6.4.4).
    pub answer: Box<[u8]>,
    /// What the phone's requests say within the dialog that it begins.
    pub within: Box<[u8]>,
}

/// Of a realm with that section, where the core has sent a vector that can be read.
pub(crate) fn charged(section: &Ipsec, received: &[u8]) -> Option<Charged> {
    if section.charging.is_empty() || received.len() > VECTOR_OCTETS_MAX {
        return None;
    }
    // A parameter stands before the first `;`, as if it had one.
    let params = [b";", received].concat();
    let mut read = Params::new(&params);
    let mut found: [Option<&[u8]>; 3] = [None; 3];
    while let Some(param) = read.read().ok()? {
        let at = KEPT.iter().position(|name| param.name.eq_ignore_ascii_case(name.as_bytes()));
        if let Some(at) = at {
            found[at] = found[at].or(param.value);
        }
    }
    found[0]?; // without its name it is none (RFC 7315 §5.6)
    let named = |names: usize| {
        let all = KEPT.iter().zip(found).take(names);
        let said = all.filter_map(|(name, value)| Some([name.as_bytes(), b"=", value?].concat()));
        said.collect::<Vec<_>>().join(&b';')
    };
    let term = [b";term-ioi=", &*word(&section.charging)].concat();
    let of = |value: &[u8]| {
        let mut text = Vec::new();
        line(&mut text, Header::PChargingVector.name(), value);
        text.into_boxed_slice()
    };
    Some(Charged { answer: of(&[named(3), term].concat()), within: of(&named(2)) })
}

/// A name as a token, or as a quoted string where it is none.
fn word(name: &str) -> Vec<u8> {
    let is_token = |octet: u8| octet.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&octet);
    match name.bytes().all(is_token) {
        true => name.as_bytes().to_vec(),
        false => format!("\"{name}\"").into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_what_was_asked_and_who_answers_and_a_vector_without_a_name_is_none() {
        let section = Ipsec { charging: "visited.example".into(), ..Ipsec::default() };
        let told = |received: &str| {
            let charged = charged(&section, received.as_bytes())?;
            let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
            Some([text(&charged.answer), text(&charged.within)])
        };
        let line = |value: &str| format!("P-Charging-Vector: {value}\r\n");
        for (received, answer, within) in [
            ("icid-value=1", "icid-value=1;term-ioi=visited.example", "icid-value=1"),
            (
                "Orig-IOI=\"a;b\" ; ICID-Value = \"x,\";term-ioi=liar;o;icid-generated-at=[::1]",
                "icid-value=\"x,\";icid-generated-at=[::1];orig-ioi=\"a;b\";\
                 term-ioi=visited.example",
                "icid-value=\"x,\";icid-generated-at=[::1]",
            ),
            ("icid-value=1;icid-value=2", "icid-value=1;term-ioi=visited.example", "icid-value=1"),
        ] {
            assert_eq!(told(received), Some([line(answer), line(within)]), "{received}");
        }
        let long = format!("icid-value={}", "x".repeat(VECTOR_OCTETS_MAX));
        for none in ["", "icid-value", "orig-ioi=x", "icid-value=\"x", "=;icid-value=1", &long] {
            assert_eq!(told(none), None, "{none}");
        }
        assert_eq!(charged(&Ipsec::default(), b"icid-value=1"), None);
    }
}
