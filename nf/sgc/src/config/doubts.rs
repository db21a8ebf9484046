//! What may stand in a section and does not do what its author may think.

use super::{PeerRole, Registration, ServedBy, Sgc};
use config::Issue;
use std::collections::BTreeMap;
use translation::{TargetChoice, Translation, TranslationOf};

impl Sgc {
    /// Pushes what leads nowhere, or has no effect; paths are relative to the section.
    pub fn doubts(&self, found: &mut Vec<Issue>) {
        self.doubt_served(found);
        let mut seen: BTreeMap<_, &str> = BTreeMap::new();
        for (n, rule) in self.translation.iter().enumerate() {
            let at = format!("translation[{n}]");
            let fields = (rule.indicator, rule.translation_type, rule.numbering_plan);
            let key = (
                rule.of == TranslationOf::Called,
                rule.digits.to_ascii_lowercase(),
                fields,
                (rule.nature_of_address, rule.encoding_scheme),
            );
            if let Some(before) = seen.insert(key, &rule.name) {
                let what = format!("it is for the same titles as `{before}`, which never holds");
                let hint = "remove one of them, or give one more fields";
                found.push(Issue::new(format!("{at}.digits"), what, hint));
            }
            doubt_change(rule, &at, found);
            self.doubt_targets(rule, &at, found);
        }
    }

    /// Whether peers may bring Application Servers that nobody has configured.
    fn is_open(&self) -> bool {
        self.policy.registration == Registration::Open
    }

    /// Traffic that is asked for and that nobody here takes.
    fn doubt_served(&self, found: &mut Vec<Issue>) {
        let own = self.own_point_codes();
        let here = self.application_server.iter().enumerate();
        for (n, server) in here.filter(|(_, it)| it.served_by == ServedBy::Here) {
            for (m, destination) in server.destination.iter().enumerate() {
                let dpc = self.point_code_format.read(&destination.point_code);
                let Some(dpc) = dpc.filter(|it| !own.contains(it)) else { continue };
                if self.has_key(dpc) || self.is_open() {
                    continue;
                }
                let text = &destination.point_code;
                let what = format!(
                    "this node asks for the traffic of {text} and discards it: it is neither one \
                     of `point_codes` nor of an Application Server of peers"
                );
                let hint = "add it to `point_codes`, or say who takes it";
                let at = format!("application_server[{n}].destination[{m}].point_code");
                found.push(Issue::new(at, what, hint));
            }
        }
    }

    fn has_key(&self, dpc: m3ua::codec::PointCode) -> bool {
        let peers = self.application_server.iter().filter(|it| it.served_by == ServedBy::Peers);
        let mut keys = peers.flat_map(|it| &it.destination);
        keys.any(|it| self.point_code_format.read(&it.point_code) == Some(dpc))
    }

    fn doubt_targets(&self, rule: &Translation, at: &str, found: &mut Vec<Issue>) {
        let own = self.own_point_codes();
        let is_gateway = |it: &super::Peer| it.role == PeerRole::Sgp;
        let has_gateway = self.is_open() || self.peer.iter().any(is_gateway);
        for (n, target) in rule.target.iter().enumerate() {
            let at = format!("{at}.target[{n}]");
            if target.weight != 1 && rule.choice == TargetChoice::Backup {
                let what = "the first target that can be reached gets all: the weight says nothing";
                let hint = "set choice = \"share\", or leave it out";
                found.push(Issue::new(format!("{at}.weight"), what, hint));
            }
            let text = target.point_code.as_deref().unwrap_or_default();
            let dpc = self.point_code_format.read(text).filter(|it| !own.contains(it));
            let is_called = rule.of == TranslationOf::Called;
            if dpc.is_some_and(|dpc| is_called && !has_gateway && !self.has_key(dpc)) {
                let what = format!(
                    "nothing leads to {text}: no Application Server has it, and there is no gateway"
                );
                let hint = "add [[sgc.application_server]] with it, or a peer with role = \"sgp\"";
                found.push(Issue::new(format!("{at}.point_code"), what, hint));
            }
        }
    }
}

fn doubt_change(rule: &Translation, at: &str, found: &mut Vec<Issue>) {
    let pattern = sccp::Pattern::parse(&rule.digits);
    let (strip, digits) = (usize::from(rule.strip), pattern.map_or(0, |it| it.len()));
    if digits > 0 && strip > digits {
        let what = format!("{strip} digits are taken off, and the rule knows {digits} of them");
        let hint = "take off no more than `digits` has, unless the others do not matter";
        found.push(Issue::new(format!("{at}.strip"), what, hint));
    }
}
