//! What somebody should look at: sessions that do not stand, peers with too many routes.

use crate::origins::Origins;
use crate::recording::Recording;
use crate::stations::Stations;
use bgp_stack::{Departed, Held, Peer, Speaker};
use machine::Time;
use question::Condition;
use rib::{PeerId, Rib};

/// Peers that are away with an alarm of their own, at most; the others have one together.
const AWAY_ALARMS_MAX: usize = 50;

/// Peers from ranges that are missed, those first that went first; `name` is the reflector's.
pub(crate) fn away(speaker: &mut Speaker, name: &str, now: Time) -> Vec<Condition> {
    speaker.forget_expired(now);
    let mut missed: Vec<&Departed> = speaker.missed().collect();
    missed.sort_by_key(|it| (it.at, it.address));
    let of = |it: &&Departed| {
        let Departed { name, group, why, .. } = it;
        let text = format!("{name}, which came from the ranges of {group}, is away: {why}");
        alarm("bgp-peer-away", name, "major", &text)
    };
    let mut rows: Vec<Condition> = missed.iter().take(AWAY_ALARMS_MAX).map(of).collect();
    if let Some(more) = missed.len().checked_sub(AWAY_ALARMS_MAX).filter(|more| *more > 0) {
        let text = format!("{more} more peers that came from ranges are away");
        rows.push(alarm("bgp-peers-away", name, "major", &text));
    }
    rows
}

impl Stations {
    /// Those that are not connected.
    pub(crate) fn alarms(&self) -> impl Iterator<Item = Condition> {
        let all = self.all.iter();
        all.filter(|station| station.sender.state() != bmp::State::Up).map(|station| {
            let name = &station.section.name;
            let why = station.ending.as_ref().map_or("it has not answered yet", |it| &it.text);
            let text = format!("the BMP station {name} is not connected: {why}");
            let is_starting = station.ending.is_none();
            alarm("bmp-station-lost", name, "minor", &text).starting(is_starting)
        })
    }
}

impl Recording {
    /// Why nothing is recorded; `name` is the reflector's.
    pub(crate) fn alarm(&self, name: &str) -> Option<Condition> {
        let fault = self.fault()?;
        let text = format!("what comes is not recorded: {fault}");
        Some(alarm("mrt-not-recorded", name, "major", &text))
    }
}

impl Origins {
    /// Caches that are lost, and prefixes that expired; `name` is the reflector's.
    pub(crate) fn alarms(&self, name: &str) -> Vec<Condition> {
        let mut rows = Vec::new();
        let (lost, has_another) = self.lost();
        for cache in lost {
            let remote = cache.target.remote;
            let why = cache.ending.as_ref().map_or("it does not answer", |it| &it.text);
            let (severity, rest) = match has_another {
                true => ("minor", "another cache answers"),
                false => ("major", "no other cache answers"),
            };
            let text = format!("the RPKI cache {remote} is lost: {why}; {rest}");
            rows.push(alarm("rpki-cache-lost", &remote.to_string(), severity, &text));
        }
        if self.has_expired {
            let text = "no RPKI cache confirmed the validated prefixes in time: they are gone, \
                        and every origin is not-found";
            rows.push(alarm("rpki-data-expired", name, "critical", text));
        }
        rows
    }
}

/// What is the matter with a peer that is there, or should be.
pub(crate) fn of_peer(rib: &Rib, id: PeerId, peer: &Peer) -> Vec<Condition> {
    let name = &peer.settings.name;
    let mut rows = Vec::new();
    if let Some(Held::Excess(restart)) = peer.held {
        let why = peer.ending.as_ref().map_or("too many routes", |it| &it.text);
        let next = match restart {
            Some(_) => "it comes back by itself",
            None => "`tandem ctl bgp enable` lets it back",
        };
        let text = format!("the session of {name} was ended: {why}; {next}");
        rows.push(alarm("prefix-limit-exceeded", name, "critical", &text));
    } else if peer.is_missed() {
        let why = match &peer.ending {
            Some(ending) => &*ending.text,
            None if peer.settings.target.is_some() => "it has not answered yet",
            None => "it has not come yet",
        };
        let text = format!("the session of {name} does not stand: {why}");
        let row = alarm("bgp-session-down", name, "major", &text);
        rows.push(row.starting(peer.is_starting()));
    }
    if let Some(text) = refused_by_default(peer) {
        rows.push(alarm("bgp-no-policy", name, "minor", &format!("{name}: {text}")));
    }
    for limit in &peer.settings.limits {
        if !peer.warned.has(limit.family) {
            continue;
        }
        let routes = rib.received(id, limit.family);
        let (family, max) = (limit.family, limit.max);
        let text = format!("{name} has {routes} routes of {family}, and may have {max}");
        let subject = format!("{name}/{family}");
        rows.push(alarm("prefix-limit-near", &subject, "minor", &text));
    }
    rows
}

/// What is refused of a peer's session since no policy is named (RFC 8212).
pub(crate) fn refused_by_default(peer: &Peer) -> Option<String> {
    let way = peer.settings.refused_by_default(peer.negotiated.as_ref()?.is_internal())?;
    Some(format!("{way} (RFC 8212); name one, or say default_policy = \"accept\""))
}

fn alarm(name: &str, subject: &str, severity: &str, text: &str) -> Condition {
    Condition::new(name, subject, severity, text.to_owned())
        .caused_by("communications-subsystem-failure")
}
