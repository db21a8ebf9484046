//! What the types alone cannot refuse.
//!
//! What remains after the plain checks is given to an M3UA process, as it would be when the
//! function starts: what that refuses is refused here.

use super::{ApplicationServer, PeerRole, ServedBy, Sgc};
use config::{Issue, meant};
use m3ua::{Process, Refused};
use m3ua_stack::config::validate_name;
use machine::Time;
use std::collections::BTreeMap;

/// Point codes of one node at most.
pub(crate) const POINT_CODES_MAX: usize = 256;
/// Shards at most: a transaction identifier names one of so many.
const SHARDS_MAX: u16 = 7;
/// The highest Service Indicator: four bits.
const SERVICE_INDICATOR_MAX: u8 = 15;

impl Sgc {
    /// Pushes what the types alone cannot refuse; paths are relative to the section.
    pub fn validate(&self, issues: &mut Vec<Issue>) {
        let before = issues.len();
        if self.name.is_empty()
            || !self.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        {
            let hint = "use letters, digits and hyphens";
            issues.push(Issue::new("name", format!("`{}` is not a name", self.name), hint));
        }
        if let Some((what, hint)) = self.capture.objection() {
            issues.push(Issue::new("capture", what, hint));
        }
        self.validate_own(issues);
        self.validate_numbers(issues);
        self.links().validate(issues);
        for (n, peer) in self.peer.iter().enumerate() {
            self.validate_screening(peer, &format!("peer[{n}]"), issues);
        }
        self.validate_servers(issues);
        self.validate_sccp(issues);
        self.validate_applications(issues);
        let peers: Vec<&str> = self.peer.iter().map(|it| it.name.as_str()).collect();
        let codes = |text: &str| self.point_code_format.read_range(text);
        screening_stack::config::validate(&self.screening, &peers, &codes, issues);
        self.validate_cluster(issues);
        if issues.len() == before {
            self.rehearse(issues);
        }
    }

    fn validate_cluster(&self, issues: &mut Vec<Issue>) {
        let Some(cluster) = &self.cluster else { return };
        cluster.validate(issues);
        if self.shards != 1 {
            let what = "a node of a cluster has one shard";
            issues.push(Issue::new("shards", what, "set 1, and run more nodes"));
        }
    }

    fn validate_own(&self, issues: &mut Vec<Issue>) {
        if !(1..=SHARDS_MAX).contains(&self.shards) {
            let what = format!("a gateway has 1 to {SHARDS_MAX} shards");
            issues.push(Issue::new("shards", what, "set 1"));
        }
        if self.cores.len() > usize::from(self.shards.max(1)) {
            let what = format!("more cores than shards, of which there are {}", self.shards);
            issues.push(Issue::new("cores", what, "name one for each shard, or none"));
        }
        if self.point_codes.len() > POINT_CODES_MAX {
            let what = format!("{} point codes", self.point_codes.len());
            issues.push(Issue::new("point_codes", what, format!("use {POINT_CODES_MAX} or fewer")));
        }
        for (n, text) in self.point_codes.iter().enumerate() {
            self.validate_point_code(text, format!("point_codes[{n}]"), issues);
        }
        for (n, indicator) in self.echo_service_indicators.iter().enumerate() {
            validate_indicator(*indicator, format!("echo_service_indicators[{n}]"), issues);
        }
    }

    fn validate_point_code(&self, text: &str, at: String, issues: &mut Vec<Issue>) {
        if self.point_code_format.read(text).is_none() {
            let what = format!("`{text}` is no point code");
            issues.push(Issue::new(at, what, self.point_code_format.example()));
        }
    }

    fn validate_numbers(&self, issues: &mut Vec<Issue>) {
        let (t, l) = (&self.timers, &self.limits);
        let pending = u32::try_from(m3ua::PENDING_MESSAGES_MAX).unwrap_or(u32::MAX);
        let checks = [
            ("timers.t_ack_ms", t.t_ack_ms, 10, 3_600_000),
            ("timers.t_refused_ms", t.t_refused_ms, 10, 3_600_000),
            ("timers.t_r_ms", t.t_r_ms, 10, 3_600_000),
            ("timers.t_beat_ms", t.t_beat_ms, 0, 3_600_000),
            ("timers.t_audit_ms", t.t_audit_ms, 0, 3_600_000),
            ("timers.reconnect_ms", t.reconnect_ms, 10, 3_600_000),
            ("limits.application_servers_max", l.application_servers_max, 1, 65_536),
            ("limits.pending_messages_max", l.pending_messages_max, 0, pending),
            ("limits.pending_octets_max", l.pending_octets_max, 0, 1 << 30),
            ("limits.pending_total_octets_max", l.pending_total_octets_max, 0, 1 << 30),
            ("limits.delay_max_ms", l.delay_max_ms, 0, 60_000),
        ];
        for (path, value, least, most) in checks {
            if !(least..=most).contains(&value) {
                let what = format!("{value} is out of range");
                issues.push(Issue::new(path, what, format!("use {least} to {most}")));
            }
        }
        for (path, value) in
            [("timers.t_beat_ms", t.t_beat_ms), ("timers.t_audit_ms", t.t_audit_ms)]
        {
            if (1..10).contains(&value) {
                issues.push(Issue::new(path, "shorter than 10", "use 10 or more, or 0 for none"));
            }
        }
    }

    fn validate_servers(&self, issues: &mut Vec<Issue>) {
        let mut seen = BTreeMap::new();
        for (n, server) in self.application_server.iter().enumerate() {
            let at = format!("application_server[{n}]");
            validate_name(&server.name, seen.insert(&server.name, n).is_some(), &at, issues);
            self.validate_members(server, &at, issues);
            self.validate_key(server, &at, issues);
            if server.registers && server.served_by == ServedBy::Peers {
                let hint = "peers register by themselves: see policy.registration";
                let what = "this node registers only what it serves";
                issues.push(Issue::new(format!("{at}.registers"), what, hint));
            }
        }
    }

    fn validate_members(&self, server: &ApplicationServer, at: &str, issues: &mut Vec<Issue>) {
        for (n, name) in server.peers.iter().enumerate() {
            let at = format!("{at}.peers[{n}]");
            let Some(peer) = self.peer.iter().find(|peer| peer.name == *name) else {
                let known = self.peer.iter().map(|peer| &*peer.name);
                let hint = meant(name, known, "add [[sgc.peer]] with that name");
                issues.push(Issue::new(at, format!("there is no peer `{name}`"), hint));
                continue;
            };
            if server.peers[..n].contains(name) {
                issues.push(Issue::new(at, "the peer stands here twice", "remove it once"));
                continue;
            }
            let (what, hint) = match (server.served_by, peer.role) {
                (ServedBy::Peers, PeerRole::Sgp) => (
                    "an SGP serves nothing: it is asked for traffic",
                    "set served_by = \"here\" or choose another peer",
                ),
                (ServedBy::Here, PeerRole::Asp | PeerRole::Ipsp) => (
                    "an ASP, or an IPSP of a single exchange, is asked for nothing",
                    "set served_by = \"peers\" or choose another peer",
                ),
                _ => continue,
            };
            issues.push(Issue::new(at, what, hint));
        }
    }

    fn validate_key(&self, server: &ApplicationServer, at: &str, issues: &mut Vec<Issue>) {
        if server.destination.is_empty() {
            let what = "the Routing Key has no destination";
            let hint = "add [[sgc.application_server.destination]] with a point_code";
            issues.push(Issue::new(format!("{at}.destination"), what, hint));
        }
        for (n, destination) in server.destination.iter().enumerate() {
            let at = format!("{at}.destination[{n}]");
            self.validate_point_code(&destination.point_code, format!("{at}.point_code"), issues);
            for (m, text) in destination.originating.iter().enumerate() {
                self.validate_point_code(text, format!("{at}.originating[{m}]"), issues);
            }
            for (m, indicator) in destination.service_indicators.iter().enumerate() {
                validate_indicator(*indicator, format!("{at}.service_indicators[{m}]"), issues);
            }
            let own = self.own_point_codes();
            let dpc = self.point_code_format.read(&destination.point_code);
            let is_own = dpc.is_some_and(|dpc| own.contains(&dpc));
            let same = server.network_appearance.or(self.network_appearance);
            if is_own && server.served_by == ServedBy::Peers && same == self.network_appearance {
                let what = "this point code is the node's own: its traffic never leaves";
                let hint = "remove it here or in point_codes";
                issues.push(Issue::new(format!("{at}.point_code"), what, hint));
            }
        }
    }

    /// Configures a process as the function will, without telling anybody.
    fn rehearse(&self, issues: &mut Vec<Issue>) {
        let Ok(mut process) = Process::new(self.settings()) else {
            return issues.push(Issue::new("timers", "the M3UA process refuses them", ""));
        };
        let mut peers = BTreeMap::new();
        for peer in &self.peer {
            if let Ok(id) = process.add_peer(peer.settings()) {
                peers.insert(&peer.name, id);
            }
        }
        for (n, server) in self.application_server.iter().enumerate() {
            let at = format!("application_server[{n}]");
            let Some(settings) = self.server_settings(server) else { continue };
            let id = match process.add_server(settings) {
                Ok(id) => id,
                Err(refused) => {
                    issues.push(refusal(&at, refused));
                    continue;
                }
            };
            for (m, name) in server.peers.iter().enumerate() {
                let Some(peer) = peers.get(name) else { continue };
                let assigned = process.assign(Time::ZERO, id, *peer, &mut Vec::new());
                if let Err(refused) = assigned {
                    issues.push(refusal(&format!("{at}.peers[{m}]"), refused));
                }
            }
        }
    }
}

fn refusal(at: &str, refused: Refused) -> Issue {
    let (key, what, hint) = match refused {
        Refused::Full => ("", "there are too many", "raise limits.application_servers_max"),
        Refused::Key => (
            ".destination",
            "the Routing Key is too long",
            "use at most 256 destinations, and 256 entries in each list",
        ),
        Refused::Overlap => (
            ".destination",
            "some traffic of this Routing Key belongs to another Application Server too",
            "tell them apart by destination, Service Indicator or origin",
        ),
        Refused::RoutingContext => (
            "",
            "the Routing Context is taken, or one is needed to tell the peer's servers apart",
            "give each Application Server a routing_context of its own",
        ),
        Refused::Side | Refused::Unknown | Refused::Exists => {
            ("", "the peer cannot be an ASP of this Application Server", "choose another peer")
        }
    };
    Issue::new(format!("{at}{key}"), what, hint)
}

fn validate_indicator(indicator: u8, at: String, issues: &mut Vec<Issue>) {
    if indicator > SERVICE_INDICATOR_MAX {
        let what = format!("{indicator} is no Service Indicator");
        issues.push(Issue::new(at, what, "use 0 to 15: 3 is SCCP, 5 ISUP"));
    }
}
