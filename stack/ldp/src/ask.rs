//! What the management side may ask, and what somebody should look at.

use crate::labels::Labels;
use dataplane::section::prefix;
use ldp::{IMPLICIT_NULL, Prefix, SessionState};
use machine::Time;
use question::{Condition, Page, rows};
use runtime::{Ask, AskError};
use std::net::IpAddr;

/// Rows of one answer at most, and unless `limit` asks for fewer.
const ROWS_MAX: usize = 1_000;
const ROWS: usize = 100;
/// Alarms of lost sessions at most.
const LOST_ALARMS_MAX: usize = 50;

rows! {
    /// How LDP stands.
    pub struct LdpRow {
        router_id: String,
        transport: String,
        interfaces: usize,
        neighbours: usize,
        /// Sessions that stand.
        sessions: usize,
        connections: usize,
        /// Prefixes that have a label here, and those whose next routers have told theirs.
        bindings: usize,
        labelled: usize,
        /// Whether packets come and go.
        door_open: bool,
    }

    /// A neighbour.
    pub struct LdpNeighbourRow {
        /// Its number and label space: `192.0.2.1:0`.
        peer: String,
        /// Where its sessions end.
        transport: IpAddr,
        /// Interfaces by which it is heard.
        interfaces: Vec<String>,
        state: &'static str,
        /// Seconds since the session stands.
        state_s: Option<u64>,
        /// Prefixes that it has told labels of.
        bindings: usize,
        /// Octets that wait to be sent to it.
        waiting: usize,
    }

    /// A label that a neighbour has told.
    pub struct LdpRemoteRow {
        peer: String,
        /// A number, or `imp-null`.
        label: String,
        /// Packets go to it with that label.
        in_use: bool,
    }

    /// A prefix and its labels.
    pub struct LdpBindingRow {
        prefix: String,
        /// Ours: a number, or `imp-null`.
        local: Option<String>,
        remote: Vec<LdpRemoteRow>,
    }
}

fn shown(label: u32) -> String {
    if label == IMPLICIT_NULL { "imp-null".to_owned() } else { label.to_string() }
}

const fn name_of(state: SessionState) -> &'static str {
    match state {
        SessionState::NonExistent => "NonExistent",
        SessionState::Initialized => "Initialized",
        SessionState::OpenSent => "OpenSent",
        SessionState::OpenReceived => "OpenReceived",
        SessionState::Operational => "Operational",
    }
}

fn number(ask: &Ask, key: &str, otherwise: usize) -> Result<usize, AskError> {
    match ask.params.get(key) {
        None => Ok(otherwise),
        Some(text) => {
            let why = || AskError::BadParameter(format!("{key}: a number from 0"));
            text.parse().map_err(|_| why())
        }
    }
}

impl Labels {
    /// How it stands.
    #[must_use]
    pub fn summary(&self) -> Vec<LdpRow> {
        let is_used = |it: &&crate::Forward| it.hops.iter().any(|hop| hop.label.is_some());
        vec![LdpRow {
            router_id: self.section.router_id.to_string(),
            transport: self.section.transport().to_string(),
            interfaces: self.section.interface.len(),
            neighbours: self.speaker.sessions().count(),
            sessions: self.since.len(),
            connections: self.streams.len(),
            bindings: self.speaker.bindings().count(),
            labelled: self.forwards.values().filter(is_used).count(),
            door_open: self.channel.is_open(),
        }]
    }

    /// The neighbours.
    #[must_use]
    pub fn neighbours(&self, now: Time) -> Vec<LdpNeighbourRow> {
        let all = self.speaker.sessions().map(|(peer, state)| {
            let heard: Vec<_> =
                self.speaker.adjacencies().filter(|(_, of, _)| *of == peer).collect();
            let names = heard.iter().filter_map(|(index, ..)| self.links.get(&(*index)?));
            let stream = self.speaker.connection(peer).and_then(|it| self.streams.shown(it));
            LdpNeighbourRow {
                peer: format!("{}:{}", peer.router, peer.space),
                transport: heard.first().map_or(peer.router.into(), |it| it.2),
                interfaces: names.map(|it| it.name.clone()).collect(),
                state: name_of(state),
                state_s: self.since.get(&peer).map(|at| now.since(*at).as_secs()),
                bindings: self.speaker.remote(peer).len(),
                waiting: stream.map_or(0, |it| it.1),
            }
        });
        all.collect()
    }

    /// Prefixes and their labels, those `within` a prefix; a page.
    ///
    /// # Errors
    /// A parameter that cannot be.
    pub fn binding_rows(&self, ask: &Ask) -> Result<Page<LdpBindingRow>, AskError> {
        let wrong = |why: &str| AskError::BadParameter(why.to_owned());
        let within = match ask.params.get("within") {
            None => None,
            Some(text) => {
                let read = prefix(text).ok_or_else(|| wrong("within: a prefix, as 10.0.0.0/8"))?;
                Some(Prefix::new(read.0, read.1))
            }
        };
        let is_wanted = |it: &Prefix| {
            within
                .is_none_or(|of| of.length <= it.length && Prefix::new(it.address, of.length) == of)
        };
        let mut all = std::collections::BTreeMap::new();
        for (prefix, label) in self.speaker.bindings().filter(|it| is_wanted(&it.0)) {
            all.insert(prefix, (Some(label), Vec::new()));
        }
        for (peer, _) in self.speaker.sessions() {
            let told = self.speaker.remote(peer).into_iter();
            for (prefix, label) in told.filter(|it| is_wanted(&it.0)) {
                all.entry(prefix).or_insert((None, Vec::new())).1.push((peer, label));
            }
        }
        let skip = number(ask, "skip", 0)?;
        let limit = number(ask, "limit", ROWS)?.min(ROWS_MAX);
        let mut rest = all.into_iter().skip(skip);
        let rows: Vec<LdpBindingRow> = rest
            .by_ref()
            .take(limit)
            .map(|(prefix, (local, told))| {
                let remote = told.into_iter().map(|(peer, label)| LdpRemoteRow {
                    peer: format!("{}:{}", peer.router, peer.space),
                    label: shown(label),
                    in_use: self
                        .forward(prefix)
                        .is_some_and(|it| it.hops.iter().any(|hop| hop.label == Some(label))),
                });
                let remote = remote.collect();
                LdpBindingRow { prefix: prefix.to_string(), local: local.map(shown), remote }
            })
            .collect();
        let next = rest.next().map(|_| skip + rows.len());
        Ok(Page { rows, next, total: None })
    }

    /// Alarms that stand.
    #[must_use]
    pub fn alarms(&self) -> Vec<Condition> {
        let lost = self.lost.keys().take(LOST_ALARMS_MAX).map(|peer| {
            let text = format!("{} has no session any more: its labels are gone", peer.router);
            Condition::new("ldp-session-lost", peer.router.to_string(), "major", text)
                .caused_by("communications-subsystem-failure")
        });
        let lacking = self.speaker.lacking();
        let lacks = (lacking > 0).then(|| {
            let text = format!("{lacking} prefixes have no label: all of `labels` are given");
            Condition::new("ldp-labels-used-up", self.function.clone(), "major", text)
                .caused_by("resource-at-or-nearing-capacity")
        });
        lost.chain(lacks).collect()
    }
}
