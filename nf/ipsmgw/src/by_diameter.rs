//! Diameter in a gateway: the node with its peers, and what of the flows goes to them.
//!
//! ```text
//!   Out::AskHome ─→ ask ─→ UDR, SNR ─→ Peers ─→ HSS
//!   In::Home ←─ told ←─ ended ←─ UDA, SNA ←─┘ │
//!   In::Retry ←─ told ←─ notified ←─ PNR ─────┘
//! ```
//! What short messages are by S6c and SGd is in `messages.rs`.

mod askers;
pub mod charging;
pub(crate) mod debit;
pub mod destinations;
pub mod home;
pub mod keys;
mod legs;
mod messages;
pub mod metrics;
mod sh;
mod show;
mod xml;

use crate::config::Ipsmgw;
use crate::effects::In as Input;
use crate::wire::Wire;
use askers::Askers;
use diameter::codec::{Message, ResultCode};
use diameter::rows::sh as rows;
use diameter::{DisconnectCause, Indication, SessionIds};
use diameter_stack::Peers;
use event::Metrics;
use legs::Legs;
use machine::Time;
use mapsms::watches::Watches;
use messages::Dialogues;
use metrics::HomeMetric;
use question::Condition;
use runtime::{Effects, In, Seed};
use sh::Pending;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trail::Seen;

/// The least by which two messages of a ladder are told apart.
const MICROSECOND_NS: u64 = 1_000;

/// Diameter in a gateway.
#[derive(Debug)]
pub(crate) struct ByDiameter {
    /// Where the section has Diameter.
    pub(crate) peers: Option<Peers>,
    sessions: Option<SessionIds>,
    metrics: Metrics<HomeMetric>,
    pending: BTreeMap<u64, Pending>,
    watches: Watches,
    origin: sh::Origin,
    askers: Askers,
    dialogues: Dialogues,
    legs: Legs,
    tokens: u64,
    /// What the gateway is to be told.
    told: VecDeque<Input>,
    seed: Seed,
}

impl ByDiameter {
    /// The node of a section that was checked.
    pub(crate) fn new(config: &Ipsmgw, seed: Seed) -> Self {
        let mut it = Self {
            peers: None,
            sessions: None,
            metrics: Metrics::new(),
            pending: BTreeMap::new(),
            watches: Watches::default(),
            origin: sh::Origin::default(),
            askers: Askers::default(),
            dialogues: Dialogues::default(),
            legs: Legs::new(&seed.random),
            tokens: 0,
            told: VecDeque::new(),
            seed,
        };
        it.begin(seed.now, config);
        it
    }

    fn begin(&mut self, now: Time, config: &Ipsmgw) {
        // No two nodes draw alike.
        self.seed.random[31] = self.seed.random[31].wrapping_add(1);
        self.seed.now = now;
        self.origin = sh::Origin::of(config);
        self.askers = Askers::of(config);
        self.dialogues.forget();
        let section = config.diameter_section();
        self.peers = section.and_then(|it| Peers::new(&it, Arc::default(), self.seed).ok());
        self.want_legs(config);
        let seconds = now.as_millis() / 1_000;
        self.sessions = config.diameter.as_ref().map(|it| SessionIds::new(&it.host, seconds));
    }

    /// Whether the service assurance is told what passes.
    fn want_legs(&mut self, config: &Ipsmgw) {
        if let Some(peers) = &mut self.peers {
            peers.want_passed(config.capture.is_some());
        }
    }

    /// Takes another section: peers that are written as before keep their connections.
    pub(crate) fn configure(&mut self, now: Time, config: &Ipsmgw, out: &mut Effects) {
        match (&mut self.peers, config.diameter_section()) {
            (Some(peers), Some(section)) if peers.continues(&section) => {
                self.origin = sh::Origin::of(config);
                self.askers = Askers::of(config);
                peers.configure(now, &section, out);
                return self.want_legs(config);
            }
            (Some(peers), _) => peers.abandon(now, out),
            (None, None) => return,
            (None, Some(_)) => {}
        }
        let pending = core::mem::take(&mut self.pending);
        pending.into_values().for_each(|it| self.ended(it, &diameter::Outcome::Expired));
        self.begin(now, config);
    }

    /// Takes what happened on a port of Diameter; false: it is another one's.
    pub(crate) fn takes(&mut self, now: Time, input: &In<'_>, out: &mut Effects) -> bool {
        let port = match input {
            In::Message { flow, .. }
            | In::Up { flow }
            | In::Proved { flow, .. }
            | In::Down { flow, .. }
            | In::Returned { flow, .. }
            | In::Written { flow, .. } => flow.port,
            In::Ready { port } => *port,
            _ => return false,
        };
        let is_own = keys::owns(port);
        if let Some(peers) = self.peers.as_mut().filter(|_| is_own) {
            peers.step(now, input, out);
        }
        is_own
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        self.watches.tick(now);
        if let Some(peers) = &mut self.peers {
            peers.tick(now, out);
        }
    }

    /// When [`ByDiameter::tick`] wants to be called next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let peers = self.peers.as_ref().and_then(Peers::deadline);
        peers.into_iter().chain(self.watches.deadline()).min()
    }

    /// What the gateway is to be told next.
    pub(crate) fn input(&mut self, now: Time, out: &mut Effects) -> Option<Input> {
        while let Some(indication) = self.peers.as_mut().and_then(Peers::indication) {
            match indication {
                Indication::Request(request, peer, octets) => {
                    if !self.serve(now, (request, peer), &octets, out)
                        && let Ok(message) = Message::read(&octets)
                    {
                        self.asked(now, request, peer, &message, out);
                    }
                }
                Indication::Answer(token, outcome) => {
                    let pending = self.pending.remove(&token);
                    pending.into_iter().for_each(|it| self.ended(it, &outcome));
                }
                Indication::PeerUp(_) | Indication::PeerDown(..) => {}
                Indication::Complaint(_, violation) => {
                    tracing::debug!(target: "diameter", %violation, "a peer has sent what offends");
                }
            }
        }
        self.told.pop_front()
    }

    fn asked(
        &mut self,
        now: Time,
        request: diameter::RequestId,
        peer: diameter::PeerId,
        message: &Message<'_>,
        out: &mut Effects,
    ) {
        let header = message.header;
        if (header.application, header.command) == (rows::SH.id, rows::PUSH_NOTIFICATION.code) {
            return self.notified(now, request, peer, message, out);
        }
        let Some(peers) = &mut self.peers else { return };
        let mut octets = Vec::new();
        let writer = peers.answer_to(message, &mut octets, true);
        if writer.result(ResultCode::CommandUnsupported).end().is_ok() {
            peers.answer(now, request, octets, out);
        }
    }

    /// Packets out.
    pub(crate) fn flush(&mut self, out: &mut Effects) {
        if let Some(peers) = &mut self.peers {
            peers.flush(out);
        }
    }

    /// Ends every connection in order.
    pub(crate) fn close(&mut self, now: Time, out: &mut Effects) {
        if let Some(peers) = &mut self.peers {
            peers.close(now, DisconnectCause::Rebooting, out);
        }
    }

    /// Whether no connection stands.
    pub(crate) fn is_closed(&self) -> bool {
        self.peers.as_ref().is_none_or(Peers::is_closed)
    }

    /// The conditions that stand.
    pub(crate) fn alarms(&self) -> Vec<Condition> {
        self.peers.as_ref().map(Peers::alarms).unwrap_or_default()
    }

    /// Brings what is counted up to date.
    pub(crate) fn publish(&self) {
        self.metrics.set(HomeMetric::Watched, self.watches.count() as u64);
        if let Some(peers) = &self.peers {
            peers.publish();
        }
    }

    /// Tells the service assurance what passed in this step.
    pub(crate) fn capture(&mut self, now: Time, wire: &mut Wire) {
        let Some(peers) = &mut self.peers else { return };
        while let Some(passed) = peers.passed() {
            let trail = Some(self.legs.trail_of(&passed));
            let (own, far) = passed.ends;
            let (source, destination) = if passed.is_sent { (own, far) } else { (far, own) };
            let (protocol, bytes) = (passed.protocol, &passed.octets[..]);
            let seen = Seen { source, destination, protocol, trail, bytes };
            // What came stands before what the step sent: its trail is known only now, at the end.
            let before = if passed.is_sent { 0 } else { MICROSECOND_NS };
            let at = Time::from_nanos(now.as_nanos().saturating_sub(before));
            wire.capture.message_of(at, hep::KIND_DIAMETER, &seen, |_| true);
        }
    }

    /// The request of a peer whose dialogue that is is a leg of that trail.
    pub(crate) fn is_leg(&mut self, dialogue: u64, trail: u64) {
        if let Some(octets) = self.dialogues.octets_of(dialogue) {
            self.legs.is_of(&octets, false, trail);
        }
    }

    pub(crate) fn cells(&self) -> Vec<event::MetricCells> {
        let peers = self.peers.iter().flat_map(Peers::cells);
        core::iter::once(self.metrics.cells()).chain(peers).collect()
    }
}
