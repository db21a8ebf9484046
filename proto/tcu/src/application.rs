//! The gateway's end of an application: the instances that connected, and the dialogues of each.
//!
//! ```text
//!   TCAP ──Indication──→ choose an instance ─→ queue: in progress │ new ─→ connection
//!        ←──Request───── held until the instance says anything ←────────── connection
//!                           └ instance lost: another is told what was held, by BEGIN or RESUME
//! ```
//! - A new dialogue goes to the instance of the first group that can take it which has the fewest.
//! - What an instance was told is held until it says something in that dialogue. When it is lost, a
//!   dialogue that it had not answered begins again at another one, and one with a state is resumed
//!   there; any other is aborted.
//! - A service of the node itself is an instance without a connection ([`inside`]).
//! - What waits for an instance is bounded. Dialogues in progress leave first; new ones that wait
//!   too long are aborted.

mod connections;
mod dialogue;
mod greeting;
mod inside;
mod instance;
mod notice;
mod orphans;
mod queue;
mod replica;
mod requests;
mod settings;
mod status;
mod tally;

pub use connections::Network;
pub use greeting::GREETING_MAX;
pub use notice::{Happened, Notice};
pub use replica::application_of;
pub use settings::{Count, Settings};
pub use status::{InstanceStatus, Status};
pub use tally::{Failures, Operations, Tally};

use crate::frame::MESSAGE_OCTETS_MAX;
use crate::message::ToApplication;
use crate::names::Speech;
use crate::network::NetworkIndication;
use crate::primitive::{Indication, Portion, Request};
use crate::service::{Service, carry_out};
use authentication::Keys;
use bytes::Bytes;
use dialogue::Record;
use instance::Instance;
use machine::Time;
use queue::Of;
use std::collections::{BTreeMap, HashMap, VecDeque};
use tcap::{Out, PAbort, Transactions};

/// Names a connection of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(pub u64);

/// The transactions that an application's dialogues stand in, and what these want.
#[derive(Debug)]
pub struct Side<'a> {
    /// The dialogues.
    pub transactions: &'a mut Transactions,
    /// What TCAP wants is added here.
    pub outs: &'a mut Vec<Out>,
}

/// What an application's end wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Octets to send.
    Send(InstanceId, Bytes),
    /// A connection is to be closed, once what was sent is out; nothing is known of it any more.
    Close(InstanceId),
}

/// An application. Numbers of dialogues are those of the transactions, so its table needs no seed
/// against who would choose them.
#[derive(Debug)]
pub struct Application {
    settings: Settings,
    instances: BTreeMap<InstanceId, Instance>,
    /// A service of this node.
    inside: Option<inside::Inside>,
    dialogues: HashMap<u64, Record, Numbered>,
    /// Dialogues whose instance was lost and that no other has taken yet: until when they wait.
    orphans: VecDeque<(Time, u64)>,
    /// Dialogues whose instance was lost and that end: since when.
    doomed: VecDeque<(Time, u64)>,
    /// Dialogues that another node has served, and that have no instance here yet; and those that
    /// only their own one can go on with: until when they wait.
    restored: Vec<u64>,
    homeless: VecDeque<(Time, u64)>,
    /// Whose those were there.
    homes: HashMap<u64, replica::Home, Numbered>,
    /// Dialogues of which something was too long to be said: they end.
    unsaid: Vec<u64>,
    /// The instance that was given a dialogue last.
    last: InstanceId,
    held_octets: usize,
    /// What is held next, while it is written.
    spelled: Vec<u8>,
    /// Those of a subsystem without TCAP.
    connections: connections::Connections,
    /// Challenges are made with it, and nothing else.
    secret: Keys,
    challenges: u64,
    counts: Count,
    tally: Tally,
    notices: Vec<Notice>,
    wanted: Vec<Wanted>,
}

/// Hashes numbers of dialogues, which the transactions choose: nobody else can make them collide.
type Numbered = core::hash::BuildHasherDefault<Mixed>;

/// A number, mixed.
#[derive(Debug, Default, Clone, Copy)]
struct Mixed(u64);

impl core::hash::Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = machine::identity::mix(self.0 ^ u64::from(*octet));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = machine::identity::mix(number);
    }
}

impl Application {
    /// An application without instances. The secret is drawn for it alone: challenges come from it
    /// by HMAC-SHA-256, so that they tell nothing of it, nor of each other.
    #[must_use]
    pub fn new(settings: Settings, secret: Keys) -> Self {
        Self {
            settings,
            instances: BTreeMap::new(),
            inside: None,
            dialogues: HashMap::default(),
            orphans: VecDeque::new(),
            doomed: VecDeque::new(),
            restored: Vec::new(),
            homeless: VecDeque::new(),
            homes: HashMap::default(),
            unsaid: Vec::new(),
            last: InstanceId(0),
            held_octets: 0,
            spelled: Vec::new(),
            connections: connections::Connections::default(),
            secret,
            challenges: 0,
            counts: Count::default(),
            tally: Tally::default(),
            notices: Vec::new(),
            wanted: Vec::new(),
        }
    }

    /// Other limits, groups and keys; dialogues that stand go on, and so do instances, but those by
    /// TCP whose key is none any more.
    pub fn set_settings(&mut self, now: Time, settings: Settings, side: &mut Side<'_>) {
        let has_others = settings.keys != self.settings.keys;
        self.settings = settings;
        if has_others {
            self.prove_again(now, side);
        }
    }

    /// What it is.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a dialogue is one of its own.
    #[must_use]
    pub fn has(&self, dialogue: u64) -> bool {
        self.dialogues.contains_key(&dialogue)
    }

    /// Dialogues that stand.
    #[must_use]
    pub fn dialogues(&self) -> usize {
        self.dialogues.len()
    }

    /// Whether an instance is there that takes new dialogues.
    #[must_use]
    pub fn is_available(&self) -> bool {
        let groups = &self.settings.groups;
        let is_configured = |it: &&Instance| groups.is_empty() || groups.contains(&it.group);
        self.instances.values().filter(is_configured).any(Instance::takes_new)
    }

    /// What was counted of its operations.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The place of the first group that has an instance which takes new dialogues; without groups
    /// all instances are one. None: no instance does.
    #[must_use]
    pub fn first_group(&self) -> Option<usize> {
        let has = |group: Option<&String>| {
            let mut of =
                self.instances.values().filter(|it| group.is_none_or(|of| it.group == *of));
            of.any(Instance::takes_new)
        };
        match self.settings.groups.is_empty() {
            true => has(None).then_some(0),
            false => self.settings.groups.iter().position(|group| has(Some(group))),
        }
    }

    /// What it wants, in order.
    pub fn take_wanted(&mut self) -> Vec<Wanted> {
        core::mem::take(&mut self.wanted)
    }

    /// TCAP tells something of a dialogue of this application, or of one that begins for it.
    pub fn indicated(&mut self, now: Time, it: Indication, side: &mut Side<'_>) {
        match it {
            Indication::Begin { .. } => self.begun(now, it, side),
            Indication::Uni { .. } => self.uni(now, it),
            other => self.goes_on(now, other, side),
        }
        self.run_inside(now, side);
        self.end_unsaid(now, side);
    }

    /// N-STATE and N-PCSTATE, for every instance.
    pub fn tell(&mut self, now: Time, it: &Indication) {
        for id in self.ready() {
            self.push(now, id, it, Speech::Unknown);
        }
    }

    fn ready(&self) -> Vec<InstanceId> {
        let ready = self.instances.iter().filter(|(_, it)| it.is_ready());
        ready.map(|(id, _)| *id).collect()
    }

    /// A dialogue begins.
    fn begun(&mut self, now: Time, it: Indication, side: &mut Side<'_>) {
        let (Some(dialogue), Some(portion)) = (it.dialogue(), it.portion()) else { return };
        let speech = Speech::of(portion.context.as_deref(), &portion.components);
        // A copy: the message that it came in is not kept as long as the dialogue.
        let context = portion.context.as_deref().map(Bytes::copy_from_slice);
        self.owe(dialogue, portion, speech, side);
        if self.dialogues.len() >= self.settings.dialogues_max as usize {
            self.counts.shed_full += 1;
            return self.refuse(now, dialogue, context, side);
        }
        let Some(to) = self.choose() else {
            match self.is_available() {
                true => self.counts.shed_slow += 1,
                false => self.counts.absent += 1,
            }
            return self.refuse(now, dialogue, context, side);
        };
        self.counts.begun_there += 1;
        self.tally.heard(&it, speech);
        self.dialogues.insert(dialogue, Record::new(speech, context.as_deref()));
        self.give(to, dialogue);
        self.hold(dialogue, &it);
        self.push_new(now, to, dialogue, &it, speech);
    }

    /// The peer's operations that will be answered: until then another one with the same identifier
    /// is rejected.
    fn owe(&self, dialogue: u64, portion: &Portion, speech: Speech, side: &mut Side<'_>) {
        let Some(id) = side.transactions.numbered(dialogue) else { return };
        for component in &portion.components {
            if let crate::Component::Invoke { id: invoke, code, .. } = component
                && speech.expects(code).0 != tcap::OperationClass::Four
            {
                // The dialogue stands: it was just told of.
                let _ = side.transactions.owe(id, *invoke);
            }
        }
    }

    /// A message without a dialogue: to one of the instances, whichever has room.
    fn uni(&mut self, now: Time, it: Indication) {
        let Some(portion) = it.portion() else { return };
        let speech = Speech::of(portion.context.as_deref(), &portion.components);
        match self.choose() {
            Some(to) => {
                self.last = to;
                self.tally.heard(&it, speech);
                self.push(now, to, &it, speech);
            }
            None => self.counts.absent += 1,
        }
    }

    /// Something happened in a dialogue of this application.
    fn goes_on(&mut self, now: Time, it: Indication, side: &mut Side<'_>) {
        let Some(dialogue) = it.dialogue() else { return };
        let Some(record) = self.dialogues.get(&dialogue) else { return };
        let (speech, instance, is_new) = (record.speech, record.instance, record.is_new);
        self.tally.heard(&it, speech);
        if let Some(portion) = it.portion().filter(|_| !it.is_last()) {
            self.owe(dialogue, portion, speech, side);
        }
        // Of a dialogue whose BEGIN still waits nothing may pass it.
        let queue = instance.filter(|_| is_new).and_then(|id| self.instances.get_mut(&id));
        let waits = match queue {
            Some(of) if it.is_last() => of.queue.withdraw(dialogue),
            Some(of) => of.queue.has_new(dialogue),
            None => false,
        };
        if it.is_last() {
            self.forget(dialogue);
        } else {
            self.hold(dialogue, &it);
        }
        match instance {
            // Its instance has never heard of it.
            Some(_) if waits && it.is_last() => {}
            Some(to) if waits => self.push_new(now, to, dialogue, &it, speech),
            Some(to) => self.push(now, to, &it, speech),
            None => {}
        }
    }

    /// The instance that a new dialogue goes to.
    fn choose(&self) -> Option<InstanceId> {
        let of = |group: Option<&String>| {
            let fits = |it: &(&InstanceId, &Instance)| {
                it.1.takes_new()
                    && group.is_none_or(|group| it.1.group == *group)
                    && it.1.has_room_for_new(&self.settings)
            };
            // The fewest; among equals the next in turn. Who reads slowly comes last.
            let order = |it: &(&InstanceId, &Instance)| {
                let has = it.1.dialogues.len() + self.connections.of(*it.0);
                (it.1.is_slow, has, *it.0 <= self.last, *it.0)
            };
            self.instances.iter().filter(fits).min_by_key(order).map(|(id, _)| *id)
        };
        match self.settings.groups.is_empty() {
            true => of(None),
            false => self.settings.groups.iter().find_map(|group| of(Some(group))),
        }
    }

    /// A dialogue is an instance's from now on.
    fn give(&mut self, to: InstanceId, dialogue: u64) {
        self.last = to;
        if let (Some(instance), Some(record)) =
            (self.instances.get_mut(&to), self.dialogues.get_mut(&dialogue))
        {
            instance.dialogues.insert(dialogue);
            record.instance = Some(to);
        }
    }

    /// A dialogue is over.
    fn forget(&mut self, dialogue: u64) {
        let Some(record) = self.dialogues.remove(&dialogue) else { return };
        self.homes.remove(&dialogue);
        self.held_octets -= record.held_octets();
        if let Some(instance) = record.instance.and_then(|id| self.instances.get_mut(&id)) {
            instance.dialogues.remove(&dialogue);
        }
    }

    /// A dialogue that nobody takes: its peer is told.
    fn refuse(&mut self, now: Time, dialogue: u64, context: Option<Bytes>, side: &mut Side<'_>) {
        self.forget(dialogue);
        let portion = Portion { context, ..Portion::default() };
        let request = Request::UAbort { dialogue, portion };
        // It may be over already.
        let _ = carry_out(now, side.transactions, &request, Speech::Unknown, side.outs);
    }

    fn send(&mut self, now: Time, to: InstanceId, message: &ToApplication, speech: Speech) {
        let Some(octets) = self.spelled(to, message, speech) else { return };
        let of = match message {
            ToApplication::Indication(Indication::Network(
                NetworkIndication::Data { connection, .. }
                | NetworkIndication::Expedited { connection, .. },
            )) => Of::Connection(*connection),
            ToApplication::Indication(it) if dialogue::is_held(it) => {
                it.dialogue().map_or(Of::Nothing, Of::Dialogue)
            }
            _ => Of::Nothing,
        };
        if let Some(instance) = self.instances.get_mut(&to) {
            instance.queue.push(of, octets);
            if let Of::Dialogue(dialogue) = of {
                self.waits(dialogue);
            }
        }
        self.pump(now, to);
    }

    /// A message as its instance reads it; none for one that is to be closed. What would be longer
    /// than a message may be is not said: its dialogue ends.
    fn spelled(&mut self, to: InstanceId, it: &ToApplication, speech: Speech) -> Option<Bytes> {
        let instance = self.instances.get(&to).filter(|it| it.over_since.is_none())?;
        let mut octets = Vec::with_capacity(256);
        let point_codes = self.settings.shown;
        instance.spelling().write_with(point_codes, it, speech, &mut octets);
        if octets.len() <= MESSAGE_OCTETS_MAX {
            return Some(octets.into());
        }
        self.counts.too_long += 1;
        let ToApplication::Indication(it) = it else { return None };
        let dialogue = it.dialogue()?;
        self.unsaid.push(dialogue);
        if matches!(it, Indication::Begin { .. } | Indication::Resume { .. }) {
            return None;
        }
        let it = Indication::PAbort { dialogue, cause: PAbort::AbnormalDialogue };
        octets.clear();
        instance.spelling().write(&ToApplication::Indication(it), speech, &mut octets);
        Some(octets.into())
    }

    /// Ends the dialogues of which something was too long to be said.
    fn end_unsaid(&mut self, now: Time, side: &mut Side<'_>) {
        while let Some(dialogue) = self.unsaid.pop() {
            let context = self.dialogues.get(&dialogue).and_then(|it| it.context());
            self.refuse(now, dialogue, context, side);
        }
    }

    /// Something for an instance, of a dialogue in progress.
    fn push(&mut self, now: Time, to: InstanceId, it: &Indication, speech: Speech) {
        if self.leave_inside(now, to, it) {
            return;
        }
        self.send(now, to, &ToApplication::Indication(it.clone()), speech);
    }

    /// A dialogue that begins, for an instance.
    fn push_new(
        &mut self,
        now: Time,
        to: InstanceId,
        dialogue: u64,
        it: &Indication,
        speech: Speech,
    ) {
        if self.leave_inside(now, to, it) {
            return;
        }
        let message = ToApplication::Indication(it.clone());
        let Some(octets) = self.spelled(to, &message, speech) else { return };
        if let Some(instance) = self.instances.get_mut(&to) {
            instance.queue.push_new(now, dialogue, octets);
            self.waits(dialogue);
        }
        self.pump(now, to);
    }

    /// Something that is held of a dialogue waits in a queue.
    fn waits(&mut self, of: u64) {
        if let Some(record) = self.dialogues.get_mut(&of) {
            record.unsent += 1;
        }
    }

    /// A service of this node takes the dialogues; `None`: it is one no more, and its dialogues end
    /// unless an instance takes them over. Another one goes on with the dialogues of the one
    /// before.
    pub fn serve_inside(
        &mut self,
        now: Time,
        service: Option<Box<dyn Service + Send>>,
        side: &mut Side<'_>,
    ) {
        let Some(service) = service else {
            if self.inside.take().is_some() {
                self.lost(now, inside::INSIDE, side);
            }
            return;
        };
        match &mut self.inside {
            Some(inside) => inside.service = service,
            None => {
                let (waiting, since, wants) = (VecDeque::new(), None, Vec::new());
                self.inside = Some(inside::Inside { service, waiting, since, wants });
                self.instances.insert(inside::INSIDE, Instance::inside(inside::NAME));
                self.counts.welcomed += 1;
                self.welcomed(now, inside::INSIDE, side);
                self.take_over(now, side);
                self.run_inside(now, side);
            }
        }
    }

    /// Whether a service of this node takes the dialogues.
    #[must_use]
    pub const fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Leaves something for the service, if it is that which is to be told; whether it is.
    fn leave_inside(&mut self, now: Time, to: InstanceId, it: &Indication) -> bool {
        let Some(inside) = self.inside.as_mut().filter(|_| to == inside::INSIDE) else {
            return false;
        };
        inside.since.get_or_insert(now);
        inside.waiting.push_back(it.clone());
        true
    }

    /// Tells the service what waits, and carries out what it wants.
    fn run_inside(&mut self, now: Time, side: &mut Side<'_>) {
        for _ in 0..inside::TURN_MAX {
            let Some(inside) = &mut self.inside else { return };
            let Some(it) = inside.waiting.pop_front() else {
                inside.since = None;
                return;
            };
            let mut wants = core::mem::take(&mut inside.wants);
            inside.service.indicated(now, it, &mut wants);
            for request in wants.drain(..) {
                self.asked(now, inside::INSIDE, &request, side);
            }
            if let Some(inside) = &mut self.inside {
                inside.wants = wants; // keeps the allocation
            }
        }
    }

    /// Since when something waits for the service: it is told by [`Application::tick`].
    fn inside_waits(&self) -> Option<Time> {
        self.inside.as_ref().and_then(|it| it.since)
    }
}
