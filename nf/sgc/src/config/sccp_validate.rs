//! What the types of the keys of SCCP and TCAP alone cannot refuse.

use super::Sgc;
use super::sccp::{Dialogues, SubsystemUser};
use config::Issue;
use m3ua_stack::config::validate_name;
use sccp::codec::SERVICE_INDICATOR;
use std::collections::BTreeMap;
use translation::SUBSYSTEMS;

impl Sgc {
    pub(super) fn validate_sccp(&self, issues: &mut Vec<Issue>) {
        self.validate_sccp_numbers(issues);
        let node = self.translating();
        for (n, text) in self.sccp.concerned.iter().enumerate() {
            let at = format!("sccp.concerned[{n}]");
            if node.is_own(text) {
                let what = format!("`{text}` is this node: it tells others of its subsystems");
                issues.push(Issue::new(at, what, "name the point codes of other nodes"));
                continue;
            }
            node.validate_point_code(text, at, issues);
        }
        if !self.has_sccp() {
            return;
        }
        let taken = self.echo_service_indicators.iter().position(|it| *it == SERVICE_INDICATOR);
        if let Some(n) = taken {
            let hint = "remove it here: subsystems and translations make SCCP its user";
            let at = format!("echo_service_indicators[{n}]");
            issues.push(Issue::new(at, "Service Indicator 3 is that of SCCP", hint));
        }
        if self.point_codes.is_empty() {
            let hint = "say which point codes are those of this node";
            issues.push(Issue::new("point_codes", "SCCP has no point code", hint));
        }
        for (n, text) in self.point_codes.iter().enumerate() {
            node.validate_point_code(text, format!("point_codes[{n}]"), issues);
        }
        self.validate_subsystems(issues);
        node.validate(&self.translation, self.translation_files.len(), issues);
    }

    fn validate_sccp_numbers(&self, issues: &mut Vec<Issue>) {
        let (s, t, c) = (&self.sccp, &self.tcap, &self.sccp.connections);
        let checks = [
            ("sccp.network_indicator", u32::from(s.network_indicator), 0, 3),
            ("sccp.message_octets_max", s.message_octets_max, 100, 4_000),
            ("sccp.hops", u32::from(s.hops), 1, 15),
            ("sccp.t_reassembly_ms", s.t_reassembly_ms, 100, 60_000),
            ("sccp.t_status_ms", s.t_status_ms, 1_000, 60_000),
            ("sccp.t_status_max_ms", s.t_status_max_ms, s.t_status_ms, 3_600_000),
            ("sccp.reassembly_octets_max", s.reassembly_octets_max, 65_536, 1 << 30),
            ("sccp.destinations_max", s.destinations_max, 16, 65_536),
            ("sccp.connections.t_conn_est_ms", c.t_conn_est_ms, 1_000, 600_000),
            ("sccp.connections.t_ias_ms", c.t_ias_ms, 1_000, 3_600_000),
            ("sccp.connections.t_iar_ms", c.t_iar_ms, c.t_ias_ms, 86_400_000),
            ("sccp.connections.t_rel_ms", c.t_rel_ms, 1_000, 60_000),
            ("sccp.connections.t_int_ms", c.t_int_ms, 1_000, 600_000),
            ("sccp.connections.t_reset_ms", c.t_reset_ms, 1_000, 60_000),
            ("sccp.connections.credit_max", c.credit_max.into(), 1, 127),
            ("sccp.connections.references_max", c.references_max, 16, 1 << 22),
            ("sccp.connections.waiting_octets_max", c.waiting_octets_max, 65_536, 1 << 30),
            ("tcap.dialogues_max", t.dialogues_max, 1, 2_000_000),
            ("tcap.dialogues_per_source_max", t.dialogues_per_source_max, 1, 2_000_000),
            ("tcap.t_idle_ms", t.t_idle_ms, 1_000, 86_400_000),
            ("tcap.begin_delay_max_ms", t.begin_delay_max_ms, 0, 60_000),
        ];
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
    }

    fn validate_subsystems(&self, issues: &mut Vec<Issue>) {
        let (mut names, mut numbers) = (BTreeMap::new(), BTreeMap::new());
        for (n, subsystem) in self.subsystem.iter().enumerate() {
            let at = format!("subsystem[{n}]");
            let is_twice = names.insert(&subsystem.name, n).is_some();
            validate_name(&subsystem.name, is_twice, &at, issues);
            if !SUBSYSTEMS.contains(&subsystem.number) {
                let what = format!("{} is no subsystem of a user", subsystem.number);
                issues.push(Issue::new(format!("{at}.number"), what, "use 2 to 254"));
            } else if numbers.insert(subsystem.number, n).is_some() {
                let what = format!("another subsystem has the number {}", subsystem.number);
                issues.push(Issue::new(format!("{at}.number"), what, "choose another one"));
            }
            let is_served = self.application.iter().any(|it| it.subsystem == subsystem.name);
            if subsystem.user == SubsystemUser::Sccp && !is_served {
                let what = format!("no application takes what comes for `{}`", subsystem.name);
                let hint = "add [[sgc.application]] with this subsystem";
                issues.push(Issue::new(format!("{at}.user"), what, hint));
            }
            if subsystem.user != SubsystemUser::Tcap && subsystem.dialogues != Dialogues::default()
            {
                let what = "without TCAP there are no dialogues";
                issues.push(Issue::new(format!("{at}.dialogues"), what, "set user = \"tcap\""));
            }
        }
    }
}
