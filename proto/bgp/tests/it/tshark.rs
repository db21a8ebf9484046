//! tshark decodes what the crate writes: every message by its type, every family by its numbers,
//! no complaint.

use crate::every;
use crate::tshark_run;
use bgp::family::Family;

#[test]
fn tshark_names_every_message_and_finds_no_fault() {
    let messages = every::messages();
    let bytes: Vec<&[u8]> = messages.iter().map(|(_, bytes)| &bytes[..]).collect();
    let reach = "bgp.update.path_attribute.mp_reach_nlri.safi";
    let unreach = "bgp.update.path_attribute.mp_unreach_nlri.safi";
    let wanted = ["bgp.type", "_ws.expert.message", "_ws.malformed", reach, unreach];
    let lines = tshark_run::fields(bgp::codec::PORT, &bytes, &[], &wanted);
    // What tshark 4.0 does not know or does not read as RFC 9552 §5.2 has it.
    let unknown = [Family::Ipv4SrPolicy, Family::Ipv6SrPolicy, Family::LinkStateVpn];
    let mut faults = Vec::new();
    for (line, (name, bytes)) in lines.iter().zip(&messages) {
        let fields: Vec<&str> = line.split('|').collect();
        assert_eq!(fields[0], bytes[18].to_string(), "{name}");
        let family = name.strip_prefix("update ").and_then(Family::named);
        // A remark of tshark's, not a fault.
        let remarks = fields[1].replace("IP Address: NOT INCLUDED", "");
        let is_known = family.is_none_or(|family| !unknown.contains(&family));
        if is_known && !(remarks.is_empty() && fields[2].is_empty()) {
            faults.push(format!("{name}: {line}"));
        }
        let safis = [fields[3], fields[4]].concat();
        if let Some(family) = family.filter(|_| !safis.is_empty()) {
            assert_eq!(safis, family.safi().to_string(), "{name}");
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
