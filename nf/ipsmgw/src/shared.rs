//! What flows share: who is under way to whom, dialogues, and what is to be told within a step.

use crate::calls::Calls;
use crate::centre::{Centre, Plan};
use crate::effects::{Out, Sent};
use crate::known::Known;
use crate::metrics::Metric;
use crate::settings::Settings;
use crate::store::{Answer, Limit};
use event::Metrics;
use machine::{KeyedHash, Time};
use map::Context;
use mapsms::asking::{Asking, Reply, Silence};
use mapsms::buckets::Buckets;
use mapsms::given::Given;
use mapsms::identity::{Correlations, Msisdn};
use mapsms::informed::MwStatus;
use mapsms::senders::Senders;
use mapsms::standing::Standing;
use mapsms::subscribers::{Subscribers, Turn};
use sccp::codec::Address;
use smsdiameter::{Charged, HomeAnswer, by_diameter};
use std::collections::{BTreeMap, VecDeque};
use tcu::{Component, Portion, Request};

/// Alerts that wait for room.
const ALERTS_MAX: usize = 65_536;
/// Flows that wait for their turn at a row.
const HELD_MAX: usize = 64;

/// Whose dialogue it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The flow began it.
    Own,
    /// A peer did, and the flow answers.
    Peer,
}

/// A row that flows about one number change one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Who is registered.
    Registration,
    /// Who waits.
    Waiting,
    /// What correlates.
    Correlation,
}

impl Held {
    const fn name(self) -> &'static [u8] {
        match self {
            Self::Registration => b"registration",
            Self::Waiting => b"waiting",
            Self::Correlation => b"correlation",
        }
    }
}

/// What a flow is told.
#[derive(Debug)]
pub enum Event {
    /// It begins.
    Begin,
    /// The store answered.
    Stored(Answer),
    /// The network tells of the messages that wait, before it answers.
    Informed(MwStatus),
    /// The network answered.
    Replied(Reply),
    /// The home subscriber server answered.
    Home(HomeAnswer),
    /// The online charging system answered.
    Charged(Charged),
    /// A MESSAGE had its final response.
    Response(u8, u16),
    /// A terminal reported: the RP message, and the identities that the network asserts.
    Reported(Vec<u8>, Vec<String>),
    /// The same, and that transaction is to be answered when what follows of it stands.
    ReportedIn(u64, Vec<u8>, Vec<String>),
    /// A peer's dialogue goes on.
    Continued(Vec<Component>),
    /// A peer's dialogue is lost.
    Lost,
    /// It is the flow's turn.
    Turn,
    /// Its time is over.
    Due,
}

/// When flows are due.
#[derive(Debug, Default)]
pub struct Dues {
    /// Those that were armed within a step.
    pub(crate) arms: Vec<(u64, Time)>,
    /// Those that answer a peer whose node waits no longer than until then.
    latest: BTreeMap<u64, Time>,
}

/// What flows share.
#[derive(Debug)]
pub struct Shared {
    pub(crate) settings: Settings,
    pub(crate) metrics: Metrics<Metric>,
    pub(crate) senders: Senders,
    pub(crate) subscribers: Subscribers,
    pub(crate) correlations: Correlations,
    /// Messages of the gateway's own centre that wait.
    pub(crate) centre: Centre,
    pub(crate) calls: Calls,
    pub(crate) dialogues: BTreeMap<u64, (u64, Role)>,
    /// Dialogues that were asked for and are not begun yet: by their reference, whose.
    pub(crate) begins: BTreeMap<u64, u64>,
    references: u64,
    pub(crate) known: Known,
    /// Whose turn it is at rows, and what each flow waits for or has.
    pub(crate) rows: Subscribers,
    held: BTreeMap<u64, (Msisdn, Held)>,
    /// Correlations that were given out.
    pub(crate) given: Given,
    /// Of whom service centres wait to hear, and how often each began to.
    pub(crate) waiting: Standing<Msisdn, ()>,
    pub(crate) waiters: Buckets,
    /// What flows are told within a step.
    pub(crate) events: VecDeque<(u64, Event)>,
    /// When flows are due.
    pub(crate) dues: Dues,
    pub(crate) alerts: VecDeque<(Msisdn, Msisdn)>,
    pub(crate) is_connected: bool,
}

impl Shared {
    /// Nothing is under way, and nothing connected.
    pub(crate) fn new(settings: Settings, hash: KeyedHash, correlations: Correlations) -> Self {
        Self {
            metrics: Metrics::new(),
            senders: Senders::new(settings.sender_rate, settings.duplicate_time),
            subscribers: Subscribers::default(),
            correlations,
            centre: Centre::new(plan_of(&settings)),
            calls: Calls::new(hash),
            dialogues: BTreeMap::new(),
            begins: BTreeMap::new(),
            references: 0,
            known: Known::default(),
            rows: Subscribers::default(),
            held: BTreeMap::new(),
            given: Given::new(settings.shares.correlations_max),
            waiting: Standing::new(settings.shares.waiting_max),
            waiters: Buckets::new(settings.shares.waiting_rate),
            events: VecDeque::new(),
            dues: Dues::default(),
            alerts: VecDeque::new(),
            is_connected: false,
            settings,
        }
    }

    pub(crate) fn known_version(&self, peer: &Address, context: Context) -> Option<u8> {
        self.known.versions.at(peer, context)
    }

    /// Asks the signalling gateway to begin a dialogue, if it is connected.
    pub(crate) fn request(&mut self, flow: u64, request: Request, out: &mut Vec<Out>) {
        if self.is_connected {
            return out.push(Out::Request(Box::new(request)));
        }
        if let Request::Begin { reference, .. } = request {
            self.begins.remove(&reference);
        }
        let reply = Reply::Silence(Silence::Undelivered);
        self.events.push_back((flow, Event::Replied(reply)));
    }

    pub(crate) fn forget(&mut self, dialogue: u64) {
        self.dialogues.remove(&dialogue);
    }

    pub(crate) fn arm(&mut self, flow: u64, at: Time) {
        self.dues.arms.push((flow, at));
    }

    /// A flow is to have answered by then; none: whenever.
    pub(crate) fn answer_by(&mut self, flow: u64, latest: Option<Time>) {
        match latest {
            Some(latest) => self.dues.latest.insert(flow, latest),
            None => self.dues.latest.remove(&flow),
        };
    }

    /// When a flow is to have answered.
    pub(crate) fn latest(&self, flow: u64) -> Option<Time> {
        self.dues.latest.get(&flow).copied()
    }

    /// A service centre is to be alerted, once there is room for the flow.
    pub(crate) fn alert(&mut self, msisdn: Msisdn, centre: Msisdn) {
        if self.alerts.len() >= ALERTS_MAX {
            return self.metrics.add(Metric::SharesRefused, 1);
        }
        self.alerts.push_back((msisdn, centre));
    }

    /// A flow wants to change a row of a number: whether it is its turn.
    pub(crate) fn hold(&mut self, flow: u64, msisdn: &Msisdn, what: Held) -> Turn {
        self.release(flow);
        let turn = self.rows.join(msisdn, what.name(), flow, HELD_MAX);
        if turn != Turn::Full {
            self.held.insert(flow, (msisdn.clone(), what));
        }
        turn
    }

    /// A flow is done with its row: the next one has its turn.
    pub(crate) fn release(&mut self, flow: u64) {
        let Some((msisdn, what)) = self.held.remove(&flow) else { return };
        let next = self.rows.leave(&msisdn, what.name(), flow);
        next.into_iter().for_each(|it| self.turn(it));
    }

    /// Takes other settings.
    pub(crate) fn configure(&mut self, settings: Settings) {
        self.centre.configure(plan_of(&settings));
        self.senders.configure(settings.sender_rate, settings.duplicate_time);
        self.given.configure(settings.shares.correlations_max);
        self.waiting.configure(settings.shares.waiting_max);
        self.waiters.configure(settings.shares.waiting_rate);
        self.settings = settings;
    }

    /// Lets go of what was remembered long enough.
    pub(crate) fn tick(&mut self, now: Time) {
        self.senders.tick(now);
        self.given.tick(now);
        self.waiting.tick(now, drop);
    }

    /// When [`Shared::tick`] wants to be called next, or the centre has something due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let all = [
            self.senders.deadline(),
            self.given.deadline(),
            self.waiting.deadline(),
            self.centre.deadline(),
        ];
        all.into_iter().flatten().min()
    }

    /// What is used of limits of that kind.
    pub(crate) const fn buckets(&mut self, limit: Limit) -> &mut Buckets {
        match limit {
            Limit::Sender => self.senders.buckets(),
            Limit::Waiter => &mut self.waiters,
        }
    }

    /// It is that flow's turn.
    pub(crate) fn turn(&mut self, flow: u64) {
        self.events.push_back((flow, Event::Turn));
    }

    /// The trail of a flow to which no message brought one.
    pub(crate) fn trail(&self, flow: u64) -> u64 {
        self.calls.sum(&[&b"trail"[..], &flow.to_be_bytes()].concat())
    }

    /// The trail of an operator's text.
    pub(crate) fn trail_of_text(&self, ticket: u64) -> u64 {
        self.calls.sum(&[&b"text"[..], &ticket.to_be_bytes()].concat())
    }

    /// The MESSAGE that a Call-ID names, if it is one of ours.
    pub(crate) fn sent_of(&self, call_id: &str) -> Option<Sent> {
        self.calls.sent_of(call_id)
    }

    /// A reference for the next dialogue of a flow.
    pub(crate) fn reference(&mut self, flow: u64) -> u64 {
        self.references = self.references.wrapping_add(1);
        self.begins.insert(self.references, flow);
        self.references
    }

    /// The same for a question that goes by Diameter.
    pub(crate) fn reference_by_diameter(&mut self, flow: u64) -> u64 {
        self.references = self.references.wrapping_add(1);
        let reference = by_diameter(self.references);
        self.begins.insert(reference, flow);
        reference
    }

    /// An operation is not waited for any more: its dialogue is broken off, now or when it stands.
    pub(crate) fn drop_asking(&mut self, asking: Option<Asking>, out: &mut Vec<Out>) {
        let Some(asking) = asking else { return };
        self.begins.remove(&asking.reference);
        let dialogue = asking.dialogue.filter(|it| self.dialogues.remove(it).is_some());
        dialogue.into_iter().for_each(|it| out.push(abort(it, Portion::default())));
    }
}

/// What a centre of the gateway's own does; nothing where there is none.
pub(crate) fn plan_of(settings: &Settings) -> Plan {
    let local = settings.local.as_ref().map(|it| it.plan.clone());
    let none = Plan { messages_max: 0, messages_per_receiver_max: 0, retries: Vec::new() };
    local.unwrap_or(none)
}

/// Breaks a dialogue off.
pub(crate) fn abort(dialogue: u64, portion: Portion) -> Out {
    Out::Request(Box::new(Request::UAbort { dialogue, portion }))
}
