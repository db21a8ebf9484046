//! What routing tables say of VPNs: distinguishers and targets (RFC 4364 §4.2, RFC 4360 §4).

use super::{Pe, Vrf};
use bgp::codec::{ExtendedCommunity, administered};
use bgp::family::RouteDistinguisher;
use config::Issue;
use dataplane::{Kind, Numbers};

/// What `routes_max` of a table may say.
const ROUTES_MAX: usize = 16_000_000;
/// Targets of one table and direction at most.
const TARGETS_MAX: usize = 64;

fn targets(texts: &[String]) -> Vec<ExtendedCommunity> {
    texts.iter().filter_map(|text| ExtendedCommunity::route_target(text)).collect()
}

impl Vrf {
    pub(crate) fn distinguisher(&self) -> Option<RouteDistinguisher> {
        let (kind, [a, b, c, d, e, f]) = administered(self.rd.as_ref()?)?;
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
    /// The labels of which a table has one, unless its section gives it another.
    fn label_range(&self, vrf: &Vrf) -> Option<[u32; 2]> {
        let range = self.bgp.as_ref().map(|it| it.vpn_labels);
        range.filter(|_| vrf.rd.is_some() && vrf.label.is_none())
    }

    /// The label of a table, if it has one.
    pub(crate) fn label_of(&self, vrf: &Vrf, numbers: &Numbers) -> Option<u32> {
        let of_range = || {
            let [first, last] = self.label_range(vrf)?;
            let label = first.checked_add(numbers.known(Kind::Label, &vrf.name)?)?;
            Some(label).filter(|label| *label <= last)
        };
        vrf.label.or_else(of_range)
    }

    /// The same of one that is given a label if it needs one: that of its number in the plane,
    /// where no other table has it or had it a while ago. Other edges may still send packets of
    /// that table with it.
    pub(crate) fn give_label(&self, vrf: &Vrf, number: u32, numbers: &mut Numbers) -> Option<u32> {
        if let Some([first, last]) = self.label_range(vrf) {
            numbers.of_range(Kind::Label, &vrf.name, number, last.saturating_sub(first));
        }
        self.label_of(vrf, numbers)
    }

    /// Tables that should have a label and have none: all of the range are given or rest.
    pub(crate) fn without_label(&self, numbers: &Numbers) -> impl Iterator<Item = &Vrf> {
        let wants = |it: &&Vrf| it.rd.is_some() && self.bgp.is_some();
        let without = self.vrf.iter().filter(wants);
        without.filter(|it| self.label_of(it, numbers).is_none())
    }

    pub(super) fn validate_vpns(&self, issues: &mut Vec<Issue>) {
        let hint = "write `65000:1`, `192.0.2.1:1` or `4200000000:1`";
        for (n, vrf) in self.vrf.iter().enumerate() {
            let at = |key: &str| format!("vrf[{n}].{key}");
            if let Some(rd) = &vrf.rd {
                if administered(rd).is_none() {
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
                for (m, text) in
                    list.iter().enumerate().filter(|(_, it)| administered(it).is_none())
                {
                    let what = format!("`{text}` is no route target");
                    issues.push(Issue::new(format!("{}[{m}]", at(key)), what, hint));
                }
                if !list.is_empty() && vrf.rd.is_none() {
                    let what = "a table without `rd` has no part in VPNs";
                    issues.push(Issue::new(at(key), what, "add `rd`, or remove it"));
                }
                if key == "import_targets" && !(1..=ROUTES_MAX).contains(&vrf.routes_max) {
                    let what = format!("{} is out of range", vrf.routes_max);
                    let hint = format!("use 1 to {ROUTES_MAX}");
                    issues.push(Issue::new(at("routes_max"), what, hint));
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
                routes_max: 1,
            };
            assert_eq!(vrf.distinguisher().map(|it| it.to_string()), Some(text.to_owned()));
        }
        for text in ["", "1", "65536:65536", "1:4294967296", "192.0.2.1:65536", "a:1", "1:b"] {
            assert_eq!(administered(text), None, "{text}");
        }
    }
}
