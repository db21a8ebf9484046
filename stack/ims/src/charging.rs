//! What the core is told of a request of a phone: which network it is visiting, and by which name
//! records of charging know the request (RFC 7315 §4.3, §4.6).

use crate::config::Ipsec;
use machine::KeyedHash;
use machine::identity::hex;
use sip::write::line;
use sip::{Header, HeaderSet, Method};
use std::net::IpAddr;

/// What a P-CSCF alone says; of phones it goes nowhere.
pub(crate) const OWN: HeaderSet =
    HeaderSet::of(&[Header::PVisitedNetworkId, Header::PChargingVector]);

/// Appends what a realm with that section says of a request.
pub(crate) fn write(section: &Ipsec, method: Method, own: IpAddr, secret: u128, out: &mut Vec<u8>) {
    if !section.visited_network.is_empty() && method == Method::Register {
        line(out, Header::PVisitedNetworkId.name(), &word(&section.visited_network));
    }
    if !section.charging.is_empty() {
        // The secret leads to the names of both legs: of it nothing is said but what leads
        // nowhere.
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
        value.extend_from_slice(b";orig-ioi=");
        value.extend_from_slice(&word(&section.charging));
        line(out, Header::PChargingVector.name(), &value);
    }
}

/// A name as a token, or as a quoted string where it is none.
fn word(name: &str) -> Vec<u8> {
    let is_token = |octet: u8| octet.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(&octet);
    match name.bytes().all(is_token) {
        true => name.as_bytes().to_vec(),
        false => format!("\"{name}\"").into_bytes(),
    }
}
