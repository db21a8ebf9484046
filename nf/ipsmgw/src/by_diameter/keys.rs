//! The keys of Diameter in the section of a gateway, and their checks.

use crate::config::{Ipsmgw, Mode};
use config::Issue;
use diameter::rows::ro::RO;
use diameter::rows::s6c::S6C;
use diameter::rows::sgd::SGD;
use diameter::rows::sh::SH;
use diameter_stack::config::{SCTP_PORTS, Section};
use machine::Duration;
use runtime::{PortId, PortSpec};
use sip_stack::realm::PORTS_MAX;
use smsdiameter::SERVICE_CONTEXT;

/// The first port of Diameter.
const FIRST: PortId = PortId(PORTS_MAX + 256);
/// Ports of Diameter: those of streams, then those of SCTP.
const COUNT: u16 = SCTP_PORTS + 64;
/// What a flow is to be over before the node gives its answer up, milliseconds.
const ANSWER_SPARE_MS: u32 = 500;
/// Applications that are spoken.
const APPLICATIONS: &[u32] = &[SH.id, S6C.id, SGD.id, RO.id];

/// Whether a port is one of Diameter's.
pub(crate) const fn owns(port: PortId) -> bool {
    port.0 >= FIRST.0 && port.0 < FIRST.0 + COUNT
}

impl Ipsmgw {
    /// What the stack of Diameter is lent; none where the section has no Diameter.
    #[must_use]
    pub fn diameter_section(&self) -> Option<Section<'_>> {
        Some(Section {
            key: "ipsmgw",
            name: &self.name,
            node: self.diameter.as_ref()?,
            peer: &self.diameter_peer,
            route: &self.diameter_route,
            applications: APPLICATIONS,
            first_port: FIRST,
        })
    }

    pub(crate) fn diameter_ports(&self) -> Vec<PortSpec> {
        self.diameter_section().map(|it| it.ports()).unwrap_or_default()
    }

    /// How long a flow may take that answers a peer: what comes later is lost, and the peer says it
    /// once more.
    pub(crate) fn peers_answer_time(&self) -> Option<Duration> {
        let answer_ms = self.diameter.as_ref()?.timers.answer_ms;
        Some(Duration::from_millis(answer_ms.saturating_sub(ANSWER_SPARE_MS).into()))
    }

    /// Paths of the stack's section as they are in this one.
    #[must_use]
    pub fn diameter_path(path: &str) -> String {
        for (own, key) in [("peer", "diameter_peer"), ("route", "diameter_route")] {
            match path.strip_prefix(own) {
                Some(rest) if rest.is_empty() || rest.starts_with('[') => {
                    return format!("{key}{rest}");
                }
                _ => {}
            }
        }
        format!("diameter.{path}")
    }

    /// Finds what is wrong with the keys of Diameter.
    pub(crate) fn validate_diameter(&self, issues: &mut Vec<Issue>) {
        let Some(section) = self.diameter_section() else {
            return self.validate_absence(issues);
        };
        let mut found = Vec::new();
        section.validate(&mut found);
        let moved = found.into_iter().map(|it| Issue { path: Self::diameter_path(&it.path), ..it });
        issues.extend(moved);
        self.validate_idle(issues);
        self.validate_destinations(&section, issues);
        self.validate_charging(&section, issues);
        let Some(home) = &self.hss else { return };
        let realm = self.by_diameter().home_realm().unwrap_or_default();
        if !is_served(&section, realm, SH.id) {
            let what = format!("nobody is asked for Sh of {realm}");
            let hint = "add applications = [\"Sh\"] to an [[ipsmgw.diameter_peer]] of that realm";
            issues.push(Issue::new("hss", what, hint));
        }
        if !(60..=31 * 86_400).contains(&home.reachability_s) {
            let what = format!("{} is out of range", home.reachability_s);
            issues.push(Issue::new("hss.reachability_s", what, "use 60 to 2678400"));
        }
    }

    fn validate_absence(&self, issues: &mut Vec<Issue>) {
        let given = [
            ("diameter_peer", !self.diameter_peer.is_empty()),
            ("diameter_route", !self.diameter_route.is_empty()),
            ("hss", self.hss.is_some()),
            ("charging", self.charging.is_some()),
            ("diameter_destination", !self.diameter_destination.is_empty()),
        ];
        for (key, _) in given.into_iter().filter(|it| it.1) {
            let hint = "add [ipsmgw.diameter] with host and realm";
            issues.push(Issue::new(key, "this node has no name of its own in Diameter", hint));
        }
    }

    fn validate_destinations(&self, section: &Section<'_>, issues: &mut Vec<Issue>) {
        for (n, it) in self.diameter_destination.iter().enumerate() {
            let at = format!("diameter_destination[{n}]");
            if self.mode == Mode::Local {
                let what = "the gateway is the service centre itself: nothing goes on";
                issues.push(Issue::new(at.clone(), what, "set mode = \"gateway\""));
            }
            let is_digits =
                |it: &String| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
            if it.numbers.is_empty() || !it.numbers.iter().all(is_digits) {
                let hint = "write what they begin with, as in [\"4478\"]";
                issues.push(Issue::new(format!("{at}.numbers"), "they are no numbers", hint));
            }
            let (name, id) = match it.role.application() {
                id if id == S6C.id => ("S6c", id),
                id => ("SGd", id),
            };
            if !is_served(section, &it.realm, id) {
                let what = format!("nobody is asked for {name} of {}", it.realm);
                let hint =
                    "add it to the applications of an [[ipsmgw.diameter_peer]] of that realm";
                issues.push(Issue::new(format!("{at}.realm"), what, hint));
            }
        }
        self.validate_answers(issues);
    }

    /// Finds what is wrong with the keys of charging.
    fn validate_charging(&self, section: &Section<'_>, issues: &mut Vec<Issue>) {
        let Some(keys) = &self.charging else { return };
        if !is_served(section, &keys.realm, RO.id) {
            let what = format!("nobody is asked for Ro of {}", keys.realm);
            let hint = "add applications = [\"Ro\"] to an [[ipsmgw.diameter_peer]] of that realm";
            issues.push(Issue::new("charging.realm", what, hint));
        }
        if keys.service_context.is_empty() {
            let hint = format!("write it as in {SERVICE_CONTEXT}");
            issues.push(Issue::new("charging.service_context", "it is empty", hint));
        }
    }

    /// A message is answered when its terminal has reported: the node has to wait for that.
    fn validate_answers(&self, issues: &mut Vec<Issue>) {
        let answer_ms = self.diameter.as_ref().map_or(0, |it| it.timers.answer_ms);
        let least_ms = self.timers.report_s.saturating_mul(1_000).saturating_add(5_000);
        if !self.diameter_destination.is_empty() && answer_ms < least_ms {
            let what = "messages of Diameter peers would be answered before terminals report";
            let hint = format!("use {least_ms} or more, or lower timers.report_s");
            issues.push(Issue::new("diameter.timers.answer_ms", what, hint));
        }
    }

    /// Connections without a word are closed: the watchdog has to speak before that.
    fn validate_idle(&self, issues: &mut Vec<Issue>) {
        let watchdog_ms = self.diameter.as_ref().map_or(0, |it| it.timers.watchdog_ms);
        let least_s = watchdog_ms.saturating_mul(2) / 1_000 + 4;
        if !self.diameter_peer.is_empty() && self.limits.connection_idle_s < least_s {
            let what = "connections with Diameter peers would be closed between two watchdogs";
            let hint = format!("use {least_s} or more, or lower diameter.timers.watchdog_ms");
            issues.push(Issue::new("limits.connection_idle_s", what, hint));
        }
    }
}

/// Whether requests of an application for a realm have a way.
fn is_served(section: &Section<'_>, realm: &str, application: u32) -> bool {
    section.routes().iter().any(|it| {
        let is_realm = it.realm.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(realm));
        is_realm && it.application.is_none_or(|id| id == application)
    })
}
