//! What somebody should look at: sessions that do not stand, peers with too many routes.

use crate::{Departed, Held, Peer, Speaker};
use machine::Time;
use question::Condition;
use rib::{NEXT_HOPS_OF_PEER_MAX, PeerId, Rib};

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

/// What is the matter with a peer that is there, or should be; `why` its session does not stand.
pub(crate) fn of_peer(rib: &Rib, id: PeerId, peer: &Peer, why: Option<String>) -> Vec<Condition> {
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
        let why = why.unwrap_or_else(|| match peer.settings.target {
            Some(_) => "it has not answered yet".to_owned(),
            None => "it has not come yet".to_owned(),
        });
        let text = format!("the session of {name} does not stand: {why}");
        let row = alarm("bgp-session-down", name, "major", &text);
        rows.push(row.starting(peer.is_starting()));
    }
    if let Some(text) = refused_by_default(peer) {
        rows.push(alarm("bgp-no-policy", name, "minor", &format!("{name}: {text}")));
    }
    let excess = rib.excess_next_hops(id);
    if excess > 0 {
        let text = format!(
            "{name} has {NEXT_HOPS_OF_PEER_MAX} next hops of a family, as many as it may: {excess} \
             sets of attributes with others are not reached"
        );
        rows.push(alarm("bgp-next-hops-exceeded", name, "major", &text));
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
fn refused_by_default(peer: &Peer) -> Option<String> {
    let way = peer.settings.refused_by_default(peer.negotiated.as_ref()?.is_internal())?;
    Some(format!("{way} (RFC 8212); name one, or say default_policy = \"accept\""))
}

/// A condition of a speaker, or of what stands beside it.
#[must_use]
pub fn alarm(name: &str, subject: &str, severity: &str, text: &str) -> Condition {
    Condition::new(name, subject, severity, text.to_owned())
        .caused_by("communications-subsystem-failure")
}
