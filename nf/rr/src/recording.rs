//! What comes is recorded as MRT (RFC 6396 §4.4): UPDATEs, and sessions that come and go.

use crate::Reflector;
use crate::facts::Fact;
use crate::peers::Peer;
use bgp::codec::Update;
use bgp::family::Family;
use core::fmt;
use machine::Time;
use mrt::{Direction, Ends, FsmState, MessageForm, Stamp};
use rib::PeerId;
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
    pub(crate) recorder: Option<Arc<dyn Recorder>>,
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

fn ends(asn: u32, peer: &Peer) -> Option<Ends> {
    Some(Ends {
        peer_as: peer.negotiated.as_ref()?.peer.asn,
        local_as: asn,
        interface: 0,
        peer: peer.speaker.address.to_canonical(),
        local: peer.here?,
    })
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

impl Reflector {
    /// From now on what comes is recorded.
    pub fn record_by(&mut self, recorder: Arc<dyn Recorder>) {
        self.recording.recorder = Some(recorder);
    }

    /// An UPDATE of a peer came.
    pub(crate) fn record_update(&mut self, now: Time, id: PeerId, message: &[u8]) {
        if self.recording.recorder.is_none() {
            return;
        }
        let Some(peer) = self.peers.get(id) else { return };
        let Some(ends) = ends(self.config.asn, peer) else { return };
        let four_octet_as = peer.negotiated.as_ref().is_some_and(|it| it.context.four_octet_as);
        let add_path = has_path_ids(peer, message);
        let form = MessageForm { direction: Direction::Received, four_octet_as, add_path };
        mrt::write_message(stamp(now), &ends, form, message, &mut self.recording.octets);
    }

    /// The session of a peer came to stand, or ends.
    pub(crate) fn record_state(&mut self, now: Time, id: PeerId, is_up: bool) {
        if self.recording.recorder.is_none() {
            return;
        }
        let ends = self.peers.get(id).and_then(|peer| ends(self.config.asn, peer));
        let Some(ends) = ends else { return };
        let (from, to) = match is_up {
            true => (FsmState::OpenConfirm, FsmState::Established),
            false => (FsmState::Established, FsmState::Idle),
        };
        mrt::write_state_change(stamp(now), &ends, from, to, &mut self.recording.octets);
    }

    /// Gives the recorder what came since the last time.
    pub(crate) fn flush_records(&mut self, now: Time) {
        let Some(recorder) = &self.recording.recorder else { return };
        if self.recording.octets.is_empty() {
            return;
        }
        let octets = core::mem::take(&mut self.recording.octets);
        let count = octets.len() as u64;
        let fact = match recorder.record(now, octets) {
            true => Fact::Recorded,
            false => Fact::RecordsLost,
        };
        self.facts.add(fact, count);
    }
}
