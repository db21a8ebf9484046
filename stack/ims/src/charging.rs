//! What the core is told of a request of a phone: which network it is visiting, and by which name
//! records of charging know the request (RFC 7315 §4.3, §4.6).

use crate::access::Access;
use config::Issue;
use machine::KeyedHash;
use machine::identity::hex;
use runtime::PortId;
use sip::write::line;
use sip::{Header, HeaderSet, Method};
use std::net::IpAddr;

/// What a P-CSCF alone says; of phones it goes nowhere.
pub(crate) const OWN: HeaderSet =
    HeaderSet::of(&[Header::PVisitedNetworkId, Header::PChargingVector]);
/// Octets of a name of a network.
const NAME_OCTETS_MAX: usize = 255;

impl Access {
    /// Appends what the core is told of a REGISTER, or of a request that begins a dialog or stands
    /// alone, that came by the port `from` and leaves from `own` (TS 24.229 §5.2.2, §5.2.6.3).
    /// `secret` is the request's own: copies of it get the same names. Gives the headers that the
    /// request itself must not have then.
    pub fn tell_core(
        &self,
        from: PortId,
        method: Method,
        own: IpAddr,
        secret: u128,
        out: &mut Vec<u8>,
    ) -> HeaderSet {
        let Some((realm, _)) = self.row(from) else { return HeaderSet::default() };
        let section = &self.rows[realm].realm.section;
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
        OWN
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

/// Pushes what is wrong with the name of a network in the configuration.
pub(crate) fn validate(path: &str, name: &str, issues: &mut Vec<Issue>) {
    let is_text = |octet: u8| matches!(octet, b' '..=b'~') && !matches!(octet, b'"' | b'\\');
    if name.len() > NAME_OCTETS_MAX || !name.bytes().all(is_text) {
        let what = "it is no name of a network";
        let hint = "use up to 255 printable characters of ASCII but \" and \\";
        issues.push(Issue::new(path, what, hint));
    }
}
