//! What somebody should look at: associations, paths, Application Servers.

use crate::Gateway;
use crate::filling;
use crate::screening::Screened;
use m3ua::codec::ServerState;
use m3ua::{ServerStatus, Side};
use m3ua_stack::{Link, State, Way};
use machine::Time;
use question::Condition;
use screening_stack::{Refused, Set};
use sctp::PathState;

impl Gateway {
    pub(crate) fn show_alarms(&self, now: Time) -> Vec<Condition> {
        let mut rows = Vec::new();
        if !self.sccp.part().has_links() {
            self.sccp.dialogue_alarms(&mut rows);
            self.application_alarms(&mut rows);
            return rows;
        }
        let endpoint = self.links.sctp();
        if let Some(why) = endpoint.and_then(sctp_stack::SctpEndpoint::failure) {
            rows.push(alarm("sctp-unavailable", "sctp", "critical", why));
        }
        for (id, link) in self.links.iter() {
            let is_blocked = self.process.peer_status(id).is_some_and(|it| it.is_blocked);
            if is_blocked {
                rows.push(peer_blocked(link));
            }
            if link.state != State::Up && !is_blocked {
                rows.push(association_down(link));
            }
            if link.congestion > 0 {
                let name = &link.config.name;
                let text = format!("the association of {name} takes no more: messages are shed");
                rows.push(alarm("association-congested", name, "major", &text));
            }
            self.path_alarms(link, &mut rows);
        }
        for id in self.process.servers() {
            let Some(status) = self.process.server_status(id) else { continue };
            let row = server_alarm(&self.server_name(id), &status);
            // What a node that ends takes leave of is no failure of others.
            let is_expected = self.is_draining || !self.served.contains(&id);
            rows.extend(row.map(|row| row.starting(is_expected)));
        }
        self.sccp.alarms(&self.config, |dpc| self.no_way_in_words(dpc), &mut rows);
        self.application_alarms(&mut rows);
        if let Some(of) = &self.sccp.clustered {
            of.alarms(&mut rows);
        }
        filling::filling(self, &mut rows);
        filling::congested(self, &mut rows);
        let offenders = self.screening.offenders(now);
        rows.extend(offenders.map(|(peer, of)| self.screened_alarm(self.peer_name(peer), of)));
        rows.extend(self.sccp.rules.alarms(now).map(|(set, last)| ruled_alarm(set, last)));
        rows
    }

    fn screened_alarm(&self, name: &str, of: Screened) -> Condition {
        let format = self.config.point_code_format;
        let (opc, dpc) = (format.show(of.opc), format.show(of.dpc));
        let (count, words) = (of.count, of.why.words());
        let text =
            format!("{name} sent an MSU {words}, {opc} to {dpc}: {count} discarded since it came");
        alarm("point-code-screened", name, "major", &text)
    }

    fn path_alarms(&self, link: &Link, rows: &mut Vec<Condition>) {
        let (Some(Way::Association(id)), Some(endpoint)) = (link.way, self.links.sctp()) else {
            return;
        };
        let status = endpoint.status(id).filter(|_| link.state == State::Up);
        for path in status.into_iter().flat_map(|status| status.paths) {
            let (severity, what) = match path.state {
                PathState::Inactive => ("major", "inactive"),
                PathState::PotentiallyFailed => ("minor", "potentially failed"),
                PathState::Active | PathState::Unconfirmed => continue,
            };
            let name = &link.config.name;
            let text = format!("the path to {} of {name} is {what}", path.address);
            let subject = format!("{name}/{}", path.address);
            rows.push(alarm("path-inactive", &subject, severity, &text));
        }
    }
}

/// Somebody has sent what rules refuse.
fn ruled_alarm(set: &Set, last: &Refused) -> Condition {
    let Refused { by, operation, calling, called, .. } = last;
    let count = set.counts.refused;
    let text = format!("{by} refused {operation} of {calling} to {called}: {count} since it began");
    alarm("screening-hit", &set.name, "major", &text)
}

/// No fault, but easily forgotten.
fn peer_blocked(link: &Link) -> Condition {
    let name = &link.config.name;
    let text = format!("{name} is kept out: {}", blocked_why(link));
    Condition::new("peer-blocked", name, "warning", text).caused_by("operator")
}

/// Why a peer is blocked, and what ends that.
pub(crate) const fn blocked_why(link: &Link) -> &'static str {
    match link.config.enabled {
        true => "blocked until `m3ua unblock`",
        false => "blocked: `enabled = false` in the configuration",
    }
}

fn association_down(link: &Link) -> Condition {
    let name = &link.config.name;
    let why = match (link.why, link.config.connect) {
        ("", true) => "it has not answered yet",
        ("", false) => "it has not come yet",
        (why, _) => why,
    };
    let text = format!("the association of {name} does not stand: {why}");
    alarm("association-down", name, "major", &text).starting(link.why.is_empty())
}

fn server_alarm(name: &str, status: &ServerStatus<'_>) -> Option<Condition> {
    let active = status.members.iter().filter(|member| member.is_active).count();
    let needed = usize::from(status.settings.asps_min);
    let at = |kind, severity, text: &str| Some(alarm(kind, name, severity, text));
    match status.state {
        ServerState::Pending => {
            let text = format!("{name} has lost its last ASP: {} MSUs wait", status.waiting);
            at("as-pending", "critical", &text)
        }
        ServerState::Down | ServerState::Inactive => {
            let state = status.state.name();
            let text = match status.settings.side {
                Side::There => format!("{name} is {state}: its destinations are unavailable"),
                Side::Here => format!("this node does not serve {name} at any peer ({state})"),
            };
            at("as-down", "critical", &text)
        }
        ServerState::Active if status.settings.side == Side::There && active < needed => {
            let text = format!("{name} has {active} active ASPs and needs {needed}");
            at("as-short", "minor", &text)
        }
        ServerState::Active => None,
    }
}

fn alarm(name: &str, subject: &str, severity: &str, text: &str) -> Condition {
    Condition::new(name, subject, severity, text.to_owned())
        .caused_by("communications-subsystem-failure")
}
