//! What comes is recorded as MRT (RFC 6396 §4.4): UPDATEs, and sessions that come and go.

use crate::metrics::Metric;
use bgp::Negotiated;
use bgp::codec::{Asn, Update};
use bgp::family::Family;
use bgp_stack::{Ended, Established, Peer};
use core::fmt;
use event::Metrics;
use machine::Time;
use mrt::{Direction, Ends, FsmState, MessageForm, Stamp};
use std::net::IpAddr;
use std::sync::Arc;

/// Who keeps the records: never waited for.
pub trait Recorder: fmt::Debug + Send + Sync {
    /// Takes whole records; whether there was room.
    fn record(&self, now: Time, octets: Vec<u8>) -> bool;

    /// Why nothing can be kept at present, in words for a person.
    fn fault(&self) -> Option<String>;
}

/// The recorder, and records that it has not been given yet.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    recorder: Option<Arc<dyn Recorder>>,
    octets: Vec<u8>,
}

/// Seconds end in 2106, as those of MRT do (RFC 6396 §2).
pub(crate) fn stamp(now: Time) -> Stamp {
    let (seconds, microseconds) = seconds_of(now);
    Stamp { seconds, microseconds: Some(microseconds) }
}

/// Seconds since the UNIX epoch, and the microseconds beyond them.
#[allow(clippy::cast_possible_truncation, reason = "both protocols count seconds modulo 2^32")]
pub(crate) fn seconds_of(now: Time) -> (u32, u32) {
    let micros = now.as_micros();
    ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32)
}

/// The ends of a session between this node, of that AS, and a peer.
fn ends(asn: Asn, address: IpAddr, negotiated: &Negotiated, local: IpAddr) -> Ends {
    let (peer_as, peer) = (negotiated.peer.asn, address.to_canonical());
    Ends { peer_as, local_as: asn, interface: 0, peer, local }
}

/// Whether the routes of a message have path identifiers.
fn has_path_ids(peer: &Peer, message: &[u8]) -> bool {
    let Some(context) = peer.negotiated.as_ref().map(|it| it.context) else { return false };
    if context.add_path.is_empty() || context.families.without(context.add_path).is_empty() {
        return !context.add_path.is_empty();
    }
    let Ok(update) = Update::read(message, &context) else { return false };
    let reach = update.reach().map(|it| it.family);
    let unreach = update.unreach().map(|it| it.routes.family());
    context.add_path.has(reach.or(unreach).unwrap_or(Family::Ipv4Unicast))
}

impl Recording {
    pub(crate) fn by(&mut self, recorder: Arc<dyn Recorder>) {
        self.recorder = Some(recorder);
    }

    /// Why nothing can be kept at present.
    pub(crate) fn fault(&self) -> Option<String> {
        self.recorder.as_ref()?.fault()
    }

    /// An UPDATE of a peer came to this node, of that AS.
    pub(crate) fn update(&mut self, now: Time, asn: Asn, peer: Option<&Peer>, message: &[u8]) {
        if self.recorder.is_none() {
            return;
        }
        let Some(peer) = peer else { return };
        let Some((negotiated, local)) = peer.negotiated.as_ref().zip(peer.local) else { return };
        let ends = ends(asn, peer.settings.address, negotiated, local);
        let four_octet_as = negotiated.context.four_octet_as;
        let add_path = has_path_ids(peer, message);
        let form = MessageForm { direction: Direction::Received, four_octet_as, add_path };
        mrt::write_message(stamp(now), &ends, form, message, &mut self.octets);
    }

    /// The session of a peer came to stand.
    pub(crate) fn up(&mut self, now: Time, asn: Asn, session: &Established) {
        let Some(local) = session.local else { return };
        let ends = ends(asn, session.neighbour.address, &session.negotiated, local);
        self.state(now, &ends, FsmState::OpenConfirm, FsmState::Established);
    }

    /// The session of a peer ended.
    pub(crate) fn down(&mut self, now: Time, asn: Asn, session: &Ended) {
        let Some((negotiated, local)) = session.negotiated.as_ref().zip(session.local) else {
            return;
        };
        let ends = ends(asn, session.address, negotiated, local);
        self.state(now, &ends, FsmState::Established, FsmState::Idle);
    }

    fn state(&mut self, now: Time, ends: &Ends, from: FsmState, to: FsmState) {
        if self.recorder.is_some() {
            mrt::write_state_change(stamp(now), ends, from, to, &mut self.octets);
        }
    }

    /// Gives the recorder what came since the last time.
    pub(crate) fn flush(&mut self, now: Time, metrics: &Metrics<Metric>) {
        let Some(recorder) = &self.recorder else { return };
        if self.octets.is_empty() {
            return;
        }
        let octets = core::mem::take(&mut self.octets);
        let count = octets.len() as u64;
        let metric = match recorder.record(now, octets) {
            true => Metric::Recorded,
            false => Metric::RecordsLost,
        };
        metrics.add(metric, count);
    }
}
