//! The node with its peers, and what of the flows goes to them.
//!
//! ```text
//!   HomeQuestion ─→ ask ─→ UDR, SNR ─→ Peers ─→ HSS
//!   Event::Home ←─ ended ←─ UDA, SNA ←─┘ │
//!   Event::Reachable ←─ notified ←─ PNR ─┘
//! ```
//! What short messages are by S6c and SGd is in `messages.rs`.

use crate::askers::Askers;
use crate::charging::{Charged, ChargingKeys};
use crate::home::HomeAnswer;
use crate::legs::Legs;
use crate::messages::Dialogues;
use crate::metrics::HomeMetric;
use crate::section::Section;
use crate::sh::{self, Pending};
use diameter::codec::{Message, ResultCode};
use diameter::rows::sh as rows;
use diameter::{DisconnectCause, Indication, SessionIds};
use diameter_stack::Peers;
use event::Metrics;
use machine::{Duration, Time};
use map::Operation;
use mapsms::asking::Reply;
use mapsms::by_diameter::Named;
use mapsms::identity::Msisdn;
use mapsms::informed::MwStatus;
use mapsms::invoked::Invoked;
use mapsms::watches::Watches;
use question::Condition;
use runtime::{Effects, In, Seed};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trail::{Capture, Seen};

/// The least by which two messages of a ladder are told apart.
const MICROSECOND_NS: u64 = 1_000;

/// What came of a question, or what a peer says.
#[derive(Debug, Clone)]
pub enum Event {
    /// The home subscriber server answered.
    Home {
        /// Whose question it was.
        ticket: u64,
        /// The answer.
        answer: HomeAnswer,
    },
    /// The home subscriber server says that a subscriber can be reached who was watched.
    Reachable(Msisdn),
    /// The online charging system answered.
    Charged {
        /// Whose charge it was.
        ticket: u64,
        /// What it said.
        charged: Charged,
    },
    /// A peer was asked by S6c or SGd, and what came of it.
    Replied {
        /// Which question.
        reference: u64,
        /// What came.
        reply: Reply,
        /// Nodes that the answer told with their names.
        names: Vec<Named>,
        /// What it told of the messages that wait.
        informed: Option<MwStatus>,
    },
    /// A peer that may ask does, by S6c or SGd.
    Asked {
        /// Comes back with the answer, [`Applications::give`].
        dialogue: u64,
        /// The number of the service centre in whose name it asks.
        title: Msisdn,
        /// The operation.
        operation: Operation,
        /// What it asks.
        invoked: Invoked,
    },
}

/// The applications of a node that deals with short messages.
#[derive(Debug)]
pub struct Applications {
    /// Where the section has Diameter.
    pub(crate) peers: Option<Peers>,
    pub(crate) sessions: Option<SessionIds>,
    pub(crate) metrics: Metrics<HomeMetric>,
    pub(crate) pending: BTreeMap<u64, Pending>,
    pub(crate) watches: Watches,
    pub(crate) origin: sh::Origin,
    pub(crate) charging: Option<(ChargingKeys, Duration)>,
    pub(crate) askers: Askers,
    pub(crate) dialogues: Dialogues,
    pub(crate) legs: Legs,
    pub(crate) tokens: u64,
    pub(crate) events: VecDeque<Event>,
    seed: Seed,
}

impl Applications {
    /// The node of a section that was checked.
    #[must_use]
    pub fn new(section: &Section<'_>, seed: Seed) -> Self {
        let mut it = Self {
            peers: None,
            sessions: None,
            metrics: Metrics::new(),
            pending: BTreeMap::new(),
            watches: Watches::default(),
            origin: sh::Origin::default(),
            charging: None,
            askers: Askers::default(),
            dialogues: Dialogues::default(),
            legs: Legs::new(&seed.random),
            tokens: 0,
            events: VecDeque::new(),
            seed,
        };
        it.begin(seed.now, section);
        it
    }

    fn begin(&mut self, now: Time, section: &Section<'_>) {
        // No two nodes draw alike.
        self.seed.random[31] = self.seed.random[31].wrapping_add(1);
        self.seed.now = now;
        self.dialogues.forget();
        self.peers =
            section.diameter.and_then(|it| Peers::new(&it, Arc::default(), self.seed).ok());
        self.take(section);
        let seconds = now.as_millis() / 1_000;
        self.sessions = section.diameter.map(|it| SessionIds::new(&it.node.host, seconds));
    }

    /// What of a section is no peer's.
    fn take(&mut self, section: &Section<'_>) {
        self.origin = sh::Origin::of(section);
        self.charging = section.charging.map(|it| (it.clone(), section.charging_time()));
        self.askers = Askers::of(section);
        if let Some(peers) = &mut self.peers {
            peers.want_passed(section.is_captured);
        }
    }

    /// Takes another section: peers that are written as before keep their connections.
    pub fn configure(&mut self, now: Time, section: &Section<'_>, out: &mut Effects) {
        match (&mut self.peers, section.diameter) {
            (Some(peers), Some(own)) if peers.continues(&own) => {
                peers.configure(now, &own, out);
                return self.take(section);
            }
            (Some(peers), _) => peers.abandon(now, out),
            (None, None) => return,
            (None, Some(_)) => {}
        }
        let pending = core::mem::take(&mut self.pending);
        pending.into_values().for_each(|it| self.ended(it, &diameter::Outcome::Expired));
        self.begin(now, section);
    }

    /// Takes what happened on a port of Diameter.
    pub fn step(&mut self, now: Time, input: &In<'_>, out: &mut Effects) {
        if let Some(peers) = &mut self.peers {
            peers.step(now, input, out);
        }
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        self.watches.tick(now);
        if let Some(peers) = &mut self.peers {
            peers.tick(now, out);
        }
    }

    /// When [`Applications::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let peers = self.peers.as_ref().and_then(Peers::deadline);
        peers.into_iter().chain(self.watches.deadline()).min()
    }

    /// What has happened next.
    pub fn event(&mut self, now: Time, out: &mut Effects) -> Option<Event> {
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
        self.events.pop_front()
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
    pub fn flush(&mut self, out: &mut Effects) {
        if let Some(peers) = &mut self.peers {
            peers.flush(out);
        }
    }

    /// Ends every connection in order.
    pub fn close(&mut self, now: Time, out: &mut Effects) {
        if let Some(peers) = &mut self.peers {
            peers.close(now, DisconnectCause::Rebooting, out);
        }
    }

    /// Whether no connection stands.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.peers.as_ref().is_none_or(Peers::is_closed)
    }

    /// The conditions that stand.
    #[must_use]
    pub fn alarms(&self) -> Vec<Condition> {
        self.peers.as_ref().map(Peers::alarms).unwrap_or_default()
    }

    /// Brings what is counted up to date.
    pub fn publish(&self) {
        self.metrics.set(HomeMetric::Watched, self.watches.count() as u64);
        if let Some(peers) = &self.peers {
            peers.publish();
        }
    }

    /// Tells the service assurance what passed in this step.
    pub fn capture(&mut self, now: Time, capture: &mut Capture) {
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
            capture.message_of(at, hep::KIND_DIAMETER, &seen, |_| true);
        }
    }

    /// The request of a peer whose dialogue that is is a leg of that trail.
    pub fn is_leg(&mut self, dialogue: u64, trail: u64) {
        if let Some(octets) = self.dialogues.octets_of(dialogue) {
            self.legs.is_of(&octets, false, trail);
        }
    }

    /// What is counted, of the applications and of the node.
    #[must_use]
    pub fn cells(&self) -> Vec<event::MetricCells> {
        let peers = self.peers.iter().flat_map(Peers::cells);
        core::iter::once(self.metrics.cells()).chain(peers).collect()
    }
}
