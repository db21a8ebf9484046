//! The gateway as a machine: which flow an input belongs to, and the tables that flows share.
//!
//! ```text
//!   In::Register, Message ──→ a new flow            In::Stored, Response, Network ──→ its flow
//!   a report (In-Reply-To) ─→ the flow that sent    BEGIN of a peer ──→ a new flow
//! ```

use crate::centre::Pending;
use crate::effects::{In, Out, Received, Register, Written};
use crate::flow::{Flow, key, number};
use crate::handing::Handing;
use crate::metrics::Metric;
use crate::notice::Notice;
use crate::peers;
use crate::registration::Registration;
use crate::settings::Settings;
use crate::shared::{Event, Role, Shared, abort};
use crate::step::{NOBODY, Step};
use crate::store::{Correlation, Done, Flight, Submitted};
use crate::submission::Submission;
use crate::text::Text;
use event::Metrics;
use machine::shares::Shares;
use machine::slots::{Key, Slots};
use machine::{KeyedHash, Machine, Time};
use mapsms::asking::{Asking, Reply, Silence, reply_of};
use mapsms::given::For;
use mapsms::identity::{Correlations, Imsi, Msisdn, canonical};
use mapsms::informed::MwStatus;
use mapsms::senders::{Asked, Known};
use mapsms::silent::Whom;
use smsdiameter::is_by_diameter;
use std::collections::BTreeMap;
use tcu::{Component, Indication, Portion, Request};

/// Octets of an RP message, with room to spare (TS 24.011 §7.3, §8.2.5).
const RP_OCTETS_MAX: usize = 1_024;
/// Octets of UTF-8 that one message of a text has: 160 characters of the default alphabet.
const PART_OCTETS_MAX: usize = 4 * 160;

/// Seeds of a gateway: secret, and new at each start.
#[derive(Debug, Clone, Copy)]
pub struct Seeds {
    /// Of Call-IDs and sums.
    pub proofs: [u8; 16],
    /// Of correlation IMSIs.
    pub correlations: [u8; 16],
    /// This one among as many gateways that give out correlation IMSIs.
    pub share: (u16, u16),
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    pub(crate) shared: Shared,
    pub(crate) flows: Slots<Flow>,
    /// What of the flows each terminal and each peer has, and whose a flow is.
    shares: Shares<String>,
    holders: BTreeMap<u64, String>,
    due: Vec<Key>,
}

impl Gateway {
    /// One without flows, not connected yet.
    #[must_use]
    pub fn new(settings: Settings, seeds: Seeds, now: Time) -> Self {
        let flows = Slots::new(settings.flows_max, now);
        let prefix = settings.correlation_prefix.clone();
        let correlations = Correlations::new(&prefix, &seeds.correlations, seeds.share);
        let shared = Shared::new(settings, KeyedHash::new(&seeds.proofs), correlations);
        let (shares, holders) = (Shares::default(), BTreeMap::new());
        Self { shared, flows, shares, holders, due: Vec::new() }
    }

    /// What it counts.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics<Metric> {
        &self.shared.metrics
    }

    /// Flows under way, dialogues of them, and subscribers to whom something is under way.
    #[must_use]
    pub fn under_way(&self) -> (usize, usize, usize) {
        let subscribers = self.shared.subscribers.count() + self.shared.rows.count();
        (self.flows.len(), self.shared.dialogues.len(), subscribers)
    }

    /// Whether there is room for a flow: registrations leave room to messages of terminals, and
    /// those to deliveries and to what others ask.
    fn has_room(&self, flow: &Flow) -> bool {
        let most = self.shared.settings.flows_max as usize;
        let eighths = match flow {
            Flow::Registration(_) => 5,
            Flow::Submission(_) | Flow::Text(_) => 6,
            Flow::Notice(it) if it.is_of_terminal() => 6,
            Flow::Handing(_) => 7,
            _ => 8,
        };
        self.flows.len() < most - most / 8 * (8 - eighths)
    }

    /// A new flow; false if there is no room.
    fn begin(&mut self, flow: Flow, event: Event) -> bool {
        let room = self.has_room(&flow).then(|| self.flows.take());
        let Some((key, place)) = room.flatten() else {
            self.shared.metrics.add(Metric::Overload, 1);
            return false;
        };
        *place = flow;
        self.shared.events.push_back((number(key), event));
        true
    }

    /// The same of a terminal or a peer: nobody has more flows than are left for all others.
    fn begin_for(&mut self, holder: String, flow: Flow, event: Event) -> bool {
        let most = self.shared.settings.flows_max as usize;
        if !self.shares.take(holder.clone(), 1, most) {
            self.shared.metrics.add(Metric::Overload, 1);
            return false;
        }
        if !self.begin(flow, event) {
            self.shares.give_back(&holder, 1);
            return false;
        }
        if let Some((flow, _)) = self.shared.events.back() {
            self.holders.insert(*flow, holder);
        }
        true
    }

    fn registered(&mut self, transaction: u64, register: Register, out: &mut Vec<Out>) {
        let flow = Flow::Registration(Box::new(Registration::new(transaction, register)));
        if !self.begin(flow, Event::Begin) {
            out.push(Out::Respond { transaction, status: 503 });
        }
    }

    /// A MESSAGE: a report belongs to its flow, everything else begins one.
    fn received(&mut self, transaction: u64, message: Received, out: &mut Vec<Out>) {
        let is_rp = sms::rp::is_content_type(&message.content_type);
        let is_text = self.shared.settings.local.is_some() && is_text(&message.content_type);
        if !is_rp && !is_text {
            return out.push(Out::Respond { transaction, status: 415 });
        }
        if message.body.len() > self.body_max(is_rp) {
            return out.push(Out::Respond { transaction, status: 413 });
        }
        if message.asserted.is_empty() {
            return out.push(Out::Respond { transaction, status: 403 });
        }
        if self.shared.sent_of(&message.call_id).is_some() {
            // What was sent from here came back.
            return out.push(Out::Respond { transaction, status: 482 });
        }
        let holder = message.asserted.first().map(|it| canonical(it)).unwrap_or_default();
        if is_text {
            let flow = Flow::Text(Box::new(Text::of_terminal(transaction, message)));
            if !self.begin_for(holder, flow, Event::Begin) {
                out.push(Out::Respond { transaction, status: 503 });
            }
            return;
        }
        let is_report = matches!(message.body.first().map(|it| it & 7), Some(2 | 4));
        if is_report {
            return self.reported(transaction, message, out);
        }
        let flow = match message.body.first().map(|it| it & 7) {
            Some(6) => Flow::Notice(Box::new(Notice::memory(transaction, message))),
            _ => Flow::Submission(Box::new(Submission::new(transaction, message))),
        };
        if !self.begin_for(holder, flow, Event::Begin) {
            out.push(Out::Respond { transaction, status: 503 });
        }
    }

    /// A delivery report. One that ends a delivery of the own centre's is answered when that end
    /// stands, also at the other node of a pair: whoever serves next does not deliver it again.
    fn reported(&mut self, transaction: u64, message: Received, out: &mut Vec<Out>) {
        let sent = message.in_reply_to.as_deref().and_then(|it| self.shared.sent_of(it));
        let flow = sent.and_then(|it| Some((it.flow, self.flows.at(key(it.flow))?)));
        let Received { body, asserted, .. } = message;
        let event = match flow {
            Some((flow, Flow::Handing(it))) if it.awaits_report() => {
                (flow, Event::ReportedIn(transaction, body, asserted))
            }
            // One that comes too late is taken, and changes nothing.
            other => {
                out.push(Out::Respond { transaction, status: 202 });
                let Some((flow, _)) = other else { return };
                (flow, Event::Reported(body, asserted))
            }
        };
        self.shared.events.push_back(event);
    }

    /// Octets of a body that is looked at: flows keep them.
    fn body_max(&self, is_rp: bool) -> usize {
        let parts = self.shared.settings.local.as_ref().map_or(0, |it| it.parts_max);
        if is_rp { RP_OCTETS_MAX } else { parts.saturating_mul(PART_OCTETS_MAX) }
    }

    /// The signalling gateway told something.
    fn indicated(&mut self, it: Indication, out: &mut Vec<Out>) {
        match it {
            Indication::Begin { dialogue, calling, portion, .. } => {
                self.peer_begins(dialogue, &calling, &portion, out);
            }
            Indication::Begun { reference, dialogue } => self.begun(reference, dialogue, out),
            Indication::Continue { dialogue, portion } => self.continued(dialogue, portion, out),
            Indication::End { dialogue, portion } => {
                self.informed(dialogue, &portion.components);
                let reply = reply_of(&portion.components);
                let reply = reply.unwrap_or_else(|| self.ended(dialogue));
                self.over(dialogue, reply);
            }
            Indication::UAbort { dialogue, refused, portion } => {
                let context = portion.context.filter(|_| refused.is_some());
                self.broken(dialogue, context.as_ref(), None, out);
            }
            Indication::PAbort { dialogue, cause } => {
                self.broken(dialogue, None, Some(cause), out);
            }
            Indication::Notice { dialogue, .. } => {
                self.given_up(dialogue, Silence::Undelivered, out);
            }
            Indication::Cancel { dialogue, .. } => {
                self.given_up(dialogue, Silence::Timeout, out);
            }
            Indication::LocalReject { dialogue, .. } => {
                self.given_up(dialogue, Silence::Aborted, out);
            }
            Indication::Refused { reference: Some(reference), .. } => {
                let reply = Reply::Silence(Silence::Undelivered);
                let flow = self.shared.begins.remove(&reference);
                flow.into_iter().for_each(|it| {
                    self.shared.events.push_back((it, Event::Replied(reply.clone())))
                });
            }
            Indication::Refused { dialogue: Some(dialogue), .. } => {
                self.over(dialogue, Reply::Silence(Silence::Undelivered));
            }
            Indication::Resume { dialogue, .. } => {
                // Of a process that is gone: nothing is known of it here.
                out.push(abort(dialogue, Portion::default()));
            }
            _ => {}
        }
    }

    /// A dialogue that was asked for stands. One that nobody wants any more is broken off.
    fn begun(&mut self, reference: u64, dialogue: u64, out: &mut Vec<Out>) {
        let flow = self.shared.begins.remove(&reference);
        let at = flow.and_then(|it| self.flows.at_mut(key(it)));
        let asking = at.and_then(Flow::asking).and_then(Option::as_mut);
        match (flow, asking.filter(|it| it.reference == reference)) {
            (Some(flow), Some(asking)) => {
                asking.dialogue = Some(dialogue);
                self.shared.dialogues.insert(dialogue, (flow, Role::Own));
            }
            _ => out.push(abort(dialogue, Portion::default())),
        }
    }

    fn continued(&mut self, dialogue: u64, portion: Portion, out: &mut Vec<Out>) {
        let Some(&(flow, role)) = self.shared.dialogues.get(&dialogue) else {
            return out.push(abort(dialogue, Portion::default()));
        };
        if role == Role::Peer {
            return self.shared.events.push_back((flow, Event::Continued(portion.components)));
        }
        self.informed(dialogue, &portion.components);
        let reply = reply_of(&portion.components);
        let at = self.flows.at_mut(key(flow)).and_then(Flow::asking).and_then(Option::as_mut);
        let delayed = at.and_then(Asking::accepted);
        match (reply, delayed) {
            (Some(reply), _) => {
                let end =
                    Request::End { dialogue, is_prearranged: false, portion: Portion::default() };
                out.push(Out::Request(Box::new(end)));
                self.over(dialogue, reply);
            }
            (None, Some(components)) => {
                let portion = Portion::of(components);
                let request = Request::Continue { dialogue, state: None, portion };
                out.push(Out::Request(Box::new(request)));
            }
            // Something else of the peer's: the answer is still to come.
            (None, None) => {}
        }
    }

    /// What is told beside an answer of the messages that wait.
    fn informed(&mut self, dialogue: u64, components: &[Component]) {
        let flow = self.shared.dialogues.get(&dialogue).filter(|it| it.1 == Role::Own);
        if let Some((status, (flow, _))) = MwStatus::of_components(components).zip(flow.copied()) {
            self.shared.events.push_back((flow, Event::Informed(status)));
        }
    }

    /// What an end without a component says: an operation that has no result was taken, any other
    /// one was not answered.
    fn ended(&mut self, dialogue: u64) -> Reply {
        let flow = self.shared.dialogues.get(&dialogue).map(|it| it.0);
        let at = flow.and_then(|it| self.flows.at_mut(key(it))).and_then(Flow::asking);
        match at.and_then(|it| it.as_ref()).is_some_and(Asking::has_no_result) {
            true => Reply::Result(None),
            false => Reply::Silence(Silence::Aborted),
        }
    }

    /// A dialogue is over.
    fn over(&mut self, dialogue: u64, reply: Reply) {
        match self.shared.dialogues.remove(&dialogue) {
            Some((flow, Role::Own)) => {
                // Who broke it off answered in no version.
                if !matches!(reply, Reply::Silence(_)) {
                    self.learn(flow);
                }
                self.shared.events.push_back((flow, Event::Replied(reply)));
            }
            Some((flow, Role::Peer)) => self.shared.events.push_back((flow, Event::Lost)),
            None => {}
        }
    }

    /// A dialogue was broken off: another version is tried, if that is why.
    fn broken(
        &mut self,
        dialogue: u64,
        context: Option<&bytes::Bytes>,
        provider: Option<tcap::PAbort>,
        out: &mut Vec<Out>,
    ) {
        let Some(&(flow, role)) = self.shared.dialogues.get(&dialogue) else { return };
        let at = self.flows.at_mut(key(flow)).and_then(Flow::asking).and_then(Option::as_mut);
        let again = at.filter(|_| role == Role::Own);
        if again.is_some_and(|it| it.refused(context, provider)) {
            self.shared.dialogues.remove(&dialogue);
            return self.begin_again(flow, out);
        }
        self.over(dialogue, Reply::Silence(Silence::Aborted));
    }

    /// Asks for a dialogue of the version that is to be tried now.
    fn begin_again(&mut self, flow: u64, out: &mut Vec<Out>) {
        let (reference, octets_max) =
            (self.shared.reference(flow), self.shared.settings.begin_octets_max);
        let at = self.flows.at_mut(key(flow)).and_then(Flow::asking).and_then(Option::as_mut);
        if let Some(asking) = at {
            let begin = asking.begin(reference, octets_max);
            self.shared.request(flow, begin, out);
        }
    }

    /// Nothing more is waited for in a dialogue that stands.
    fn given_up(&mut self, dialogue: u64, why: Silence, out: &mut Vec<Out>) {
        if self.shared.dialogues.contains_key(&dialogue) {
            out.push(abort(dialogue, Portion::default()));
            self.over(dialogue, Reply::Silence(why));
        }
    }

    /// Remembers which version a peer answered in.
    fn learn(&mut self, flow: u64) {
        let asking = self.flows.at_mut(key(flow)).and_then(Flow::asking).and_then(Option::as_mut);
        let Some(asking) = asking else { return };
        let (context, highest) = asking.argument().context();
        let (peer, version) = asking.peer();
        let (peer, version) = (*peer, (version != highest).then_some(version));
        self.shared.known.versions.learn(&peer, context, version);
    }

    /// Takes the dialogue of a peer with that title for a flow, which answers by then.
    pub(crate) fn adopt(
        &mut self,
        dialogue: u64,
        title: &Msisdn,
        flow: Flow,
        latest: Option<Time>,
    ) -> bool {
        let is_begun = self.begin_for(title.digits().to_owned(), flow, Event::Begin);
        if let Some(flow) = self.shared.events.back().map(|it| it.0).filter(|_| is_begun) {
            self.shared.dialogues.insert(dialogue, (flow, Role::Peer));
            self.shared.answer_by(flow, latest);
        }
        is_begun
    }

    /// Tells flows what there is for them, until nothing is left.
    fn settle(&mut self, now: Time, out: &mut Vec<Out>) {
        loop {
            // Those without room wait until a flow is over: their centres count on it.
            while let Some((msisdn, centre)) = self.shared.alerts.front().cloned() {
                let flow = Flow::Notice(Box::new(Notice::alert(msisdn, centre)));
                if !self.has_room(&flow) || !self.begin(flow, Event::Begin) {
                    break;
                }
                self.shared.alerts.pop_front();
            }
            if self.shared.events.is_empty() {
                self.hand_out(now);
            }
            let Some((flow, event)) = self.shared.events.pop_front() else { break };
            self.tell(now, flow, event, out);
        }
        let wide = |it| u64::try_from(it).unwrap_or(u64::MAX);
        let (messages, receivers) = self.shared.centre.len();
        self.shared.metrics.set(Metric::Waiting, wide(messages));
        self.shared.metrics.set(Metric::WaitingSubscribers, wide(receivers));
        self.shared.metrics.set(Metric::Flows, wide(self.flows.len()));
    }

    /// Begins what the gateway's own centre has due.
    fn hand_out(&mut self, now: Time) {
        while let Some(number) = self.shared.centre.expired(now) {
            let Some(stored) = self.shared.centre.at(number).cloned() else { continue };
            let flow = Flow::Handing(Box::new(Handing::expired(number, stored)));
            if !self.begin(flow, Event::Begin) {
                self.shared.centre.expires_later(number, now);
            }
        }
        while let Some(to) = self.shared.centre.ready(now) {
            let first = self.shared.centre.first(&to).map(|(number, it)| (number, it.clone()));
            let Some((number, stored)) = first else { continue };
            let flow = Flow::Handing(Box::new(Handing::new(number, stored)));
            if !self.begin(flow, Event::Begin) {
                self.shared.centre.crowded(&to, now);
            }
        }
    }

    /// Another node has sent a message, and is gone.
    fn resume(&mut self, now: Time, number: u64, flight: Flight) {
        let Some(stored) = self.shared.centre.at(number).cloned() else { return };
        if !self.shared.centre.resume(number) {
            return;
        }
        let to = stored.to.clone();
        let flow = Flow::Handing(Box::new(Handing::resumed(number, stored, flight)));
        if !self.begin(flow, Event::Begin) {
            self.shared.centre.crowded(&to, now);
        }
    }

    /// Nothing is under way any more, and nothing waits; what was counted counts on.
    pub fn begin_anew(&mut self, seeds: Seeds, now: Time) {
        let fresh = Self::new(self.shared.settings.clone(), seeds, now);
        let before = core::mem::replace(self, fresh);
        self.shared.metrics = before.shared.metrics;
    }

    /// Who of the network does not answer, and how many questions.
    pub fn silent(&self, now: Time) -> impl Iterator<Item = (&Whom, u32)> {
        self.shared.known.silent.rows(now)
    }

    /// No message that waits is begun for a while.
    pub(crate) fn pause(&mut self, now: Time) {
        self.shared.centre.pause(now);
    }

    /// Flows with which no other node could go on.
    pub(crate) fn unsettled(&self) -> usize {
        self.flows.iter().filter(|(_, it)| !it.goes_on()).count()
    }

    /// The trail of the flow that sent the MESSAGE of this Call-ID.
    #[must_use]
    pub fn trail_of(&self, call_id: &str) -> Option<u64> {
        let sent = self.shared.sent_of(call_id)?;
        self.trail_of_flow(sent.flow)
    }

    /// The trail of the flow whose dialogue that is.
    #[must_use]
    pub fn trail_of_dialogue(&self, dialogue: u64) -> Option<u64> {
        self.shared.dialogues.get(&dialogue).and_then(|it| self.trail_of_flow(it.0))
    }

    /// The trail of the flow that asked for a dialogue which is not begun yet.
    #[must_use]
    pub fn trail_of_begin(&self, reference: u64) -> Option<u64> {
        self.shared.begins.get(&reference).and_then(|it| self.trail_of_flow(*it))
    }

    /// The trail of a flow.
    pub(crate) fn trail_of_flow(&self, flow: u64) -> Option<u64> {
        let at = self.flows.at(key(flow))?;
        Some(at.trail().unwrap_or_else(|| self.shared.trail(flow)))
    }

    /// Messages of the gateway's own centre that wait.
    pub fn pending(&self) -> impl Iterator<Item = Pending<'_>> {
        self.shared.centre.pending()
    }

    /// How many those are, and for how many receivers.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        self.shared.centre.len()
    }

    /// Takes other settings; what is under way goes on as it began.
    pub fn configure(&mut self, settings: Settings) {
        self.shared.configure(settings);
    }

    /// An operator sends a text.
    fn operator(
        &mut self,
        ticket: u64,
        to: Msisdn,
        from: Option<sms::Address>,
        text: Written,
        out: &mut Vec<Out>,
    ) {
        let trail = self.shared.trail_of_text(ticket);
        let flow = Flow::Text(Box::new(Text::of_operator(ticket, to, from, text, trail)));
        let is_local = self.shared.settings.local.is_some();
        if !is_local || !self.begin(flow, Event::Begin) {
            let why = if is_local { "too much is under way" } else { "there is no own centre" };
            out.push(Out::Taken { ticket, trail, outcome: Err(why) });
        }
    }

    /// A correlation stands that was given out before: it counts for whoever asked for it.
    fn given(&mut self, now: Time, imsi: Imsi, of: &Correlation, until: Time) {
        let Some(asker) = of.asker.as_ref().or(of.centre.as_ref()) else { return };
        let of = For { msisdn: &of.msisdn, centre: of.centre.as_ref(), asker };
        // What stands beyond the limits stands all the same, and is not given out again.
        let _ = self.shared.given.put(now, &of, imsi, until.since(now));
    }

    /// A service centre was asked to take a message by whoever had the rows before.
    fn submitted(&mut self, now: Time, sum: u64, it: Submitted) {
        let asked = Asked { is_debited: it.is_debited };
        let known = it.report.map_or(Known::Asked(asked), Known::Reported);
        self.shared.senders.remember(now, sum, it.received, known);
    }

    /// A step of no flow.
    fn nobodys<'a>(&'a mut self, now: Time, out: &'a mut Vec<Out>) -> Step<'a> {
        Step { now, flow: NOBODY, trail: 0, shared: &mut self.shared, out }
    }

    fn retry(&mut self, now: Time, to: Option<&Msisdn>, out: &mut Vec<Out>) {
        let Some(to) = to else {
            return self.nobodys(now, out).retry_all();
        };
        if self.shared.settings.local.is_some() {
            return self.nobodys(now, out).reachable(to);
        }
        let flow = Flow::Notice(Box::new(Notice::reachable(to.clone())));
        self.begin(flow, Event::Begin);
    }

    fn tell(&mut self, now: Time, flow: u64, event: Event, out: &mut Vec<Out>) {
        let Some(place) = self.flows.at_mut(key(flow)) else { return };
        let mut taken = core::mem::take(place);
        if let Event::Replied(reply) = &event
            && let Some(asking) = taken.asking().and_then(Option::take)
        {
            let Shared { known, settings, is_connected, .. } = &mut self.shared;
            // Without a link nobody was asked.
            if *is_connected || *reply != Reply::Silence(Silence::Undelivered) {
                let network = |it: &Msisdn| Some(settings.network(it)?.name.clone());
                known.silent.replied(now, asking.argument(), reply, network);
            }
        }
        let time = self.shared.settings.flow_time;
        let trail = taken.trail().unwrap_or_else(|| self.shared.trail(flow));
        let mut step = Step { now, flow, trail, shared: &mut self.shared, out };
        if matches!(event, Event::Begin) {
            step.arm(time);
        }
        let is_over = match &mut taken {
            Flow::Idle => true,
            Flow::Registration(it) => it.on(event, &mut step),
            Flow::Submission(it) => it.on(event, &mut step),
            Flow::Routing(it) => it.on(event, &mut step),
            Flow::Delivery(it) => it.on(event, &mut step),
            Flow::Notice(it) => it.on(event, &mut step),
            Flow::Text(it) => it.on(event, &mut step),
            Flow::Handing(it) => it.on(event, &mut step),
        };
        for (flow, at) in self.shared.dues.arms.drain(..) {
            self.flows.arm(key(flow), at);
        }
        if !is_over {
            if let Some(place) = self.flows.at_mut(key(flow)) {
                *place = taken;
            }
            return;
        }
        // What it still asked of the network is of no use to anybody.
        let left = taken.asking().and_then(Option::take);
        self.shared.drop_asking(left, out);
        self.shared.release(flow);
        self.shared.answer_by(flow, None);
        if let Some(holder) = self.holders.remove(&flow) {
            self.shares.give_back(&holder, 1);
        }
        self.flows.give_back(key(flow));
    }

    /// The signalling gateway is there, or is not: then no dialogue stands.
    fn connected(&mut self, is_connected: bool) {
        self.shared.is_connected = is_connected;
        if is_connected {
            return;
        }
        let is_lost = |number: &u64| !is_by_diameter(*number);
        let begins = self.shared.begins.extract_if(.., |it, _| is_lost(it));
        for flow in begins.map(|it| it.1).collect::<Vec<_>>() {
            let reply = Reply::Silence(Silence::Undelivered);
            self.shared.events.push_back((flow, Event::Replied(reply)));
        }
        let dialogues = self.shared.dialogues.extract_if(.., |it, _| is_lost(it));
        for (flow, role) in dialogues.map(|it| it.1).collect::<Vec<_>>() {
            let event = match role {
                Role::Own => Event::Replied(Reply::Silence(Silence::Undelivered)),
                Role::Peer => Event::Lost,
            };
            self.shared.events.push_back((flow, event));
        }
    }
}

impl Machine for Gateway {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Register { transaction, register } => self.registered(transaction, register, out),
            In::Message { transaction, message } => self.received(transaction, message, out),
            In::Response { number, status } => {
                self.shared
                    .events
                    .push_back((number.flow, Event::Response(number.attempt, status)));
            }
            In::Network(it) => self.indicated(it, out),
            In::Connected(is_connected) => self.connected(is_connected),
            In::Remembered(Done { sum, received }) => {
                self.shared.senders.was_taken(now, sum, received);
            }
            In::Submitted(sum, it) => self.submitted(now, sum, it),
            In::Used(limit, whose, until) => {
                self.shared.buckets(limit).restore(now, whose, until);
            }
            In::Given(imsi, it, until) => self.given(now, imsi, &it, until),
            In::Awaited(msisdn, until) => {
                self.shared.waiting.put(now, &msisdn, (), until.since(now));
            }
            In::Restored { number, stored, flight, retry } => {
                self.shared.senders.was_taken(now, stored.sum, stored.received);
                self.shared.centre.restore(number, stored, now, retry);
                flight.into_iter().for_each(|it| self.resume(now, number, it));
            }
            In::Retry(to) => self.retry(now, to.as_ref(), out),
            In::NextHop => self.nobodys(now, out).next_hop(),
            In::Operator { ticket, to, from, text } => {
                self.operator(ticket, to, from, text, out);
            }
            In::Home { ticket, answer } => {
                self.shared.events.push_back((ticket, Event::Home(answer)));
            }
            In::Charged { ticket, charged } => {
                self.shared.events.push_back((ticket, Event::Charged(charged)));
            }
            In::PeerReplied { reference, reply, names, informed } => {
                self.peer_replied(reference, reply, names, informed);
            }
            In::PeerAsks { dialogue, title, operation, invoked } => {
                let asked = peers::asked(dialogue, operation);
                self.peer_asks(now, asked, invoked, title, out);
            }
            In::Stored { ticket, answer } => {
                self.shared.events.push_back((ticket, Event::Stored(answer)));
            }
        }
        self.settle(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.shared.tick(now);
        let mut due = core::mem::take(&mut self.due);
        self.flows.expire(now, &mut due);
        due.drain(..).for_each(|key| self.shared.events.push_back((number(key), Event::Due)));
        self.due = due;
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.flows.deadline().into_iter().chain(self.shared.deadline()).min()
    }
}

/// Whether a body is text that the gateway's own centre takes (RFC 3428 §8).
fn is_text(content_type: &str) -> bool {
    let mut parts = content_type.split(';');
    let name = parts.next().unwrap_or_default().trim();
    let charset = parts.find_map(|it| it.trim().split_once('='));
    let is_known = charset.is_none_or(|(name, value)| {
        let value = value.trim_matches('"');
        !name.eq_ignore_ascii_case("charset")
            || ["utf-8", "us-ascii"].iter().any(|it| value.eq_ignore_ascii_case(it))
    });
    name.eq_ignore_ascii_case("text/plain") && is_known
}
