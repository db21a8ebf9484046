//! What routing tables say of VPNs: distinguishers and targets (RFC 4364 §4.2, RFC 4360 §4).

use super::{Pe, Vrf};
use bgp::codec::ExtendedCommunity;
use bgp::family::RouteDistinguisher;
use config::Issue;
use std::net::Ipv4Addr;

/// The subtype of a route target.
const ROUTE_TARGET: u8 = 2;
/// Targets of one table and direction at most.
const TARGETS_MAX: usize = 64;

/// Reads `65000:1`, `192.0.2.1:1` or `4200000000:1`: the type, and six octets.
fn read(text: &str) -> Option<(u8, [u8; 6])> {
    let (administrator, number) = text.split_once(':')?;
    let mut octets = [0; 6];
    let four = |octets: &mut [u8; 6], first: u32, number: &str| -> Option<()> {
        octets[..4].copy_from_slice(&first.to_be_bytes());
        octets[4..].copy_from_slice(&number.parse::<u16>().ok()?.to_be_bytes());
        Some(())
    };
    if let Ok(address) = administrator.parse::<Ipv4Addr>() {
        four(&mut octets, address.to_bits(), number)?;
        return Some((1, octets));
    }
    if let Ok(asn) = administrator.parse::<u16>() {
        octets[..2].copy_from_slice(&asn.to_be_bytes());
        octets[2..].copy_from_slice(&number.parse::<u32>().ok()?.to_be_bytes());
        return Some((0, octets));
    }
    four(&mut octets, administrator.parse().ok()?, number)?;
    Some((2, octets))
}

fn targets(texts: &[String]) -> Vec<ExtendedCommunity> {
    let read = texts.iter().filter_map(|text| read(text));
    let each = read.map(|(kind, [a, b, c, d, e, f])| {
        ExtendedCommunity([kind, ROUTE_TARGET, a, b, c, d, e, f])
    });
    each.collect()
}

impl Vrf {
    pub(crate) fn distinguisher(&self) -> Option<RouteDistinguisher> {
        let (kind, [a, b, c, d, e, f]) = read(self.rd.as_ref()?)?;
        Some(RouteDistinguisher([0, kind, a, b, c, d, e, f]))
    }

    pub(crate) fn imports(&self) -> Vec<ExtendedCommunity> {
        targets(&self.import_targets)
    }

    pub(crate) fn exports(&self) -> Vec<ExtendedCommunity> {
        targets(&self.export_targets)
    }
}

impl Pe {
    /// The label of a table, whose number in the plane is that.
    pub(crate) fn label_of(&self, vrf: &Vrf, number: u32) -> Option<u32> {
        let of_range = || {
            vrf.rd.as_ref()?;
            let [first, last] = self.bgp.as_ref()?.vpn_labels;
            Some(first.checked_add(number)?).filter(|label| *label <= last)
        };
        vrf.label.or_else(of_range)
    }

    pub(super) fn validate_vpns(&self, issues: &mut Vec<Issue>) {
        let hint = "write `65000:1`, `192.0.2.1:1` or `4200000000:1`";
        for (n, vrf) in self.vrf.iter().enumerate() {
            let at = |key: &str| format!("vrf[{n}].{key}");
            if let Some(rd) = &vrf.rd {
                if read(rd).is_none() {
                    issues.push(Issue::new(at("rd"), format!("`{rd}` is no distinguisher"), hint));
                } else if self.vrf[..n].iter().any(|it| it.distinguisher() == vrf.distinguisher()) {
                    let what = "another table has it: their routes would be taken for each other's";
                    issues.push(Issue::new(at("rd"), what, "give each table its own"));
                }
                if self.bgp.is_none() {
                    let what = "there is no BGP that tells its routes";
                    issues.push(Issue::new(at("rd"), what, "add `[pe.bgp]`, or remove it"));
                }
            }
            let lists =
                [("import_targets", &vrf.import_targets), ("export_targets", &vrf.export_targets)];
            for (key, list) in lists {
                for (m, text) in list.iter().enumerate().filter(|(_, it)| read(it).is_none()) {
                    let what = format!("`{text}` is no route target");
                    issues.push(Issue::new(format!("{}[{m}]", at(key)), what, hint));
                }
                if !list.is_empty() && vrf.rd.is_none() {
                    let what = "a table without `rd` has no part in VPNs";
                    issues.push(Issue::new(at(key), what, "add `rd`, or remove it"));
                }
                if list.len() > TARGETS_MAX {
                    let what = format!("more than {TARGETS_MAX} route targets");
                    issues.push(Issue::new(at(key), what, ""));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishers_and_targets_are_shown_as_they_were_written() {
        for text in ["65000:1", "192.0.2.1:7", "4200000000:65535", "0:4294967295"] {
            let [target] = targets(&[text.to_owned()])[..] else { panic!("{text}") };
            assert_eq!(target.to_string(), format!("rt:{text}"));
            let vrf = Vrf {
                name: "x".to_owned(),
                label: None,
                tunnel: super::super::Tunnel::default(),
                rd: Some(text.to_owned()),
                import_targets: Vec::new(),
                export_targets: Vec::new(),
            };
            assert_eq!(vrf.distinguisher().map(|it| it.to_string()), Some(text.to_owned()));
        }
        for text in ["", "1", "65536:65536", "1:4294967296", "192.0.2.1:65536", "a:1", "1:b"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
