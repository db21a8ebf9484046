//! All calls of one end: the caller's or the answerer's side of a ladder.
//!
//! A message only marks which step is to be sent next; [`End::flush`] writes everything that
//! gathered, step by step, so that messages of one kind and one length leave in one run.

use crate::description::Descriptions;
use crate::ladder::{Ladder, STEPS_MAX, Side, What};
use crate::leg::{Leg, NONE};
use crate::report::{Cause, Tally};
use crate::restraint::Restraint;
use crate::script::{Script, Voice, names};
use crate::template::Id;
use crate::watch::{Became, Moment};
use machine::{Duration, Time, Wheel};
use runtime::{Effects, Flow, PortId, Transport};
use sip::Method;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Calls of one end at once.
pub const LEGS_MAX: usize = 4 << 20;
/// RFC 3261 Table 4.
const T1_MS: u32 = 500;
/// RFC 3261 Table 4.
const T2_MS: u32 = 4_000;
/// Timers B, F and H: 64 x T1.
const PATIENCE: Duration = Duration::from_millis(64 * T1_MS as u64);

/// An address that an end speaks from.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The runtime's port.
    pub port: PortId,
    /// What carries the messages.
    pub transport: Transport,
    /// Our address.
    pub local: SocketAddr,
    /// Where calls are sent; for an answerer the same as `local`.
    pub remote: SocketAddr,
}

impl Endpoint {
    fn flow(&self) -> Flow {
        Flow::to(self.port, self.transport, self.local, self.remote)
    }
}

/// A slot and its generation: what stays meaningful when the slot is used again.
type Key = (u32, u32);

/// One end of all calls.
#[derive(Debug)]
pub struct End {
    pub(crate) side: Side,
    pub(crate) ladder: Arc<Ladder>,
    pub(crate) script: Script,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) endpoint_names: Vec<Vec<u8>>,
    pub(crate) legs: Vec<Leg>,
    free: Vec<u32>,
    ready: Vec<Vec<Key>>,
    waiting: usize,
    wheel: Wheel<Key>,
    due: Vec<Key>,
    pub(crate) by_call: HashMap<u64, u32>,
    first_generation: u32,
    /// What is asked of it by feedback.
    pub(crate) restraint: Restraint,
    /// How long an answered call stands.
    pub hold: Duration,
    /// How long the message that comes now has waited to be read.
    pub(crate) waited: Duration,
    /// Calls that run.
    pub live: u64,
    /// What became of calls, where somebody follows them.
    moments: Option<Vec<Moment>>,
}

impl End {
    /// An end without calls. `endpoints` all have one transport. `first_generation` tells this
    /// process's identities from those of the one before.
    ///
    /// # Errors
    /// When the ladder's header lines hold a brace that names nothing.
    pub fn new(
        side: Side,
        ladder: Arc<Ladder>,
        endpoints: Vec<Endpoint>,
        first_generation: u32,
        now: Time,
    ) -> Result<Self, crate::FlowError> {
        let transport = endpoints.first().map_or(Transport::Udp, |endpoint| endpoint.transport);
        let script = Script::new(&ladder, side, transport)?;
        Ok(Self {
            side,
            script,
            endpoint_names: endpoints.iter().map(|d| d.local.to_string().into_bytes()).collect(),
            endpoints,
            legs: Vec::new(),
            free: Vec::new(),
            ready: (0..ladder.steps.len().min(STEPS_MAX)).map(|_| Vec::new()).collect(),
            waiting: 0,
            wheel: Wheel::new(now),
            due: Vec::new(),
            by_call: HashMap::new(),
            ladder,
            first_generation,
            restraint: Restraint::default(),
            hold: Duration::ZERO,
            waited: Duration::ZERO,
            live: 0,
            moments: None,
        })
    }

    /// The same with media that somebody describes.
    #[must_use]
    pub fn describing(mut self, descriptions: Option<Arc<dyn Descriptions>>) -> Self {
        self.script.descriptions = descriptions;
        self
    }

    /// The same, whose calls are followed one by one ([`End::take_moments`]).
    #[must_use]
    pub fn followed(mut self) -> Self {
        self.moments = Some(Vec::new());
        self
    }

    /// What became of calls since this was asked last.
    pub fn take_moments(&mut self) -> Vec<Moment> {
        self.moments.as_mut().map(core::mem::take).unwrap_or_default()
    }

    pub(crate) fn note(&mut self, slot: u32, became: Became) {
        let generation = self.legs[slot as usize].generation;
        if let Some(moments) = &mut self.moments {
            moments.push(Moment { call: Id { slot, generation }.number(), became });
        }
    }

    /// Takes overload control feedback from now on, or takes none.
    pub fn obey(&mut self, obeys: bool) {
        self.script.offers_feedback = obeys;
        self.restraint = Restraint::default();
    }

    /// Whether something waits to be written.
    #[must_use]
    pub const fn has_work(&self) -> bool {
        self.waiting > 0
    }

    /// When time acts next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// Places a call that was due at `scheduled`; its number, unless there is no room.
    pub fn call(
        &mut self,
        now: Time,
        scheduled: Time,
        subscriber: u32,
        tally: &mut Tally,
    ) -> Option<u64> {
        let endpoint = subscriber as usize % self.endpoints.len();
        let flow = self.endpoints[endpoint].flow();
        let Some(slot) = self.open(flow, endpoint) else {
            tally.fail(self.side, Cause::Full, || format!("{LEGS_MAX} calls run already"));
            return None;
        };
        let leg = &mut self.legs[slot as usize];
        (leg.subscriber, leg.scheduled) = (subscriber, scheduled);
        let id = Id { slot, generation: leg.generation };
        self.advance(now, slot, tally);
        Some(id.number())
    }

    /// Ends the hold time of that call, if it stands.
    pub fn hang_up_call(&mut self, now: Time, call: u64, tally: &mut Tally) {
        let slot = self.find(Id::of(call)).filter(|slot| self.legs[*slot as usize].holding);
        if let Some(slot) = slot {
            self.advance(now, slot, tally);
        }
    }

    /// The Call-IDs of every call that this end has placed since it was made; `None` with several
    /// endpoints, for then a leg that was used again no longer says through which it went.
    #[must_use]
    pub fn call_ids(&self) -> Option<Vec<String>> {
        let [local] = self.endpoint_names.as_slice() else { return None };
        let local = String::from_utf8_lossy(local);
        let first = self.first_generation;
        let legs = self.legs.iter().enumerate();
        let ids = legs.flat_map(|(slot, leg)| {
            let uses = leg.generation.wrapping_sub(first) + u32::from(leg.live);
            (0..uses).map(move |n| Id { slot: slot as u32, generation: first.wrapping_add(n) })
        });
        let text = |id: Id| format!("{}@{local}", String::from_utf8_lossy(&id.digits()));
        Some(ids.map(text).collect())
    }

    /// Takes a free slot for a call whose far end is behind `flow`.
    pub(crate) fn open(&mut self, flow: Flow, endpoint: usize) -> Option<u32> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.legs.len() < LEGS_MAX => {
                let mut leg = Leg::new(flow);
                leg.generation = self.first_generation;
                self.legs.push(leg);
                (self.legs.len() - 1) as u32
            }
            None => return None,
        };
        let leg = &mut self.legs[slot as usize];
        leg.open(flow);
        leg.endpoint = endpoint as u16;
        self.live += 1;
        Some(slot)
    }

    /// The running call that an identity names.
    pub(crate) fn find(&self, id: Id) -> Option<u32> {
        let leg = self.legs.get(id.slot as usize)?;
        (leg.live && leg.generation == id.generation).then_some(id.slot)
    }

    /// Ends a call and frees its slot.
    pub(crate) fn release(&mut self, slot: u32) {
        let leg = &mut self.legs[slot as usize];
        leg.live = false;
        leg.generation = leg.generation.wrapping_add(1);
        if self.side == Side::Answerer {
            self.by_call.remove(&leg.call_hash);
        }
        self.free.push(slot);
        self.live -= 1;
    }

    /// Counts the failure and forgets the call.
    pub(crate) fn fail(
        &mut self,
        slot: u32,
        cause: Cause,
        tally: &mut Tally,
        words: impl FnOnce() -> String,
    ) {
        let leg = &self.legs[slot as usize];
        let id = Id { slot, generation: leg.generation }.digits();
        let step = leg.at;
        tally.fail(self.side, cause, || {
            format!("{} at step {}: {}", String::from_utf8_lossy(&id), step + 1, words())
        });
        self.note(slot, Became::Failed(cause));
        self.release(slot);
    }

    /// Forgets every call; those that still ran are told as failed.
    pub fn abandon(&mut self, tally: &mut Tally) {
        for slot in 0..self.legs.len() {
            if self.legs[slot].live {
                self.fail(slot as u32, Cause::Timeout, tally, || "the run ended first".into());
            }
        }
        self.ready.iter_mut().for_each(Vec::clear);
        self.waiting = 0;
    }

    /// The connection `flow` is gone: calls that use it fail.
    pub fn lost(&mut self, flow: &Flow, why: &str, tally: &mut Tally) {
        for slot in 0..self.legs.len() {
            let leg = &self.legs[slot];
            if leg.live && leg.flow.port == flow.port && leg.flow.remote == flow.remote {
                self.fail(slot as u32, Cause::Transport, tally, || why.to_owned());
            }
        }
    }

    /// Goes on through the ladder: sends what is ours until the other end has to speak.
    pub(crate) fn advance(&mut self, now: Time, slot: u32, tally: &mut Tally) {
        let ladder = Arc::clone(&self.ladder);
        while let Some(step) = ladder.steps.get(self.legs[slot as usize].at as usize) {
            let ours = self.keeps_hold(slot);
            let leg = &mut self.legs[slot as usize];
            if step.what == What::Hold {
                if ours && !self.hold.is_zero() && !leg.holding {
                    leg.holding = true;
                    return self.wait(slot, now + self.hold);
                }
                (leg.holding, leg.at) = (false, leg.at + 1);
                if !ours {
                    self.wait(slot, now + self.hold + PATIENCE);
                }
            } else if step.sent_by(self.side) {
                let at = leg.at;
                leg.at += 1;
                leg.in_dialog.due = now;
                self.enqueue(slot, at);
            } else if step.side == Side::Hop && self.side == Side::Answerer {
                leg.at += 1;
            } else {
                return;
            }
        }
        if self.legs[slot as usize].queued == 0 {
            self.complete(slot, tally);
        }
    }

    /// Ends the hold time, which was due then, of the first call at or behind `slot` that stands;
    /// the slot behind it, or `None` when no more stand.
    pub fn hang_up(&mut self, now: Time, due: Time, slot: u32, tally: &mut Tally) -> Option<u32> {
        let rest = self.legs.get(slot as usize..)?;
        let found = slot + rest.iter().position(|leg| leg.live && leg.holding)? as u32;
        self.advance(now, found, tally);
        self.legs[found as usize].in_dialog.due = due;
        Some(found + 1)
    }

    /// Whether our message ends the hold time.
    fn keeps_hold(&self, slot: u32) -> bool {
        let next = self.legs[slot as usize].at as usize + 1;
        self.ladder.steps.get(next).is_some_and(|step| step.sent_by(self.side))
    }

    fn complete(&mut self, slot: u32, tally: &mut Tally) {
        let missing = u64::from(self.legs[slot as usize].steps.skipped.count_ones());
        tally.report.missing += missing;
        match self.side {
            Side::Answerer => tally.report.answered += 1,
            Side::Caller | Side::Hop => tally.report.completed += 1,
        }
        self.note(slot, Became::Over);
        self.release(slot);
    }

    /// The step will be written at the next [`End::flush`].
    pub(crate) fn enqueue(&mut self, slot: u32, step: u8) {
        let leg = &mut self.legs[slot as usize];
        leg.queued = leg.queued.saturating_add(1);
        self.ready[step as usize].push((slot, leg.generation));
        self.waiting += 1;
    }

    /// Time acts on the leg at `at`.
    pub(crate) fn wait(&mut self, slot: u32, at: Time) {
        let leg = &mut self.legs[slot as usize];
        leg.due = at;
        if at < leg.armed {
            leg.armed = at;
            self.wheel.arm(at, (slot, leg.generation));
        }
    }

    /// What was sent was answered: nothing is sent again; the other end has its patience.
    pub(crate) fn settle(&mut self, now: Time, slot: u32) {
        self.legs[slot as usize].resending.step = NONE;
        self.wait(slot, now + PATIENCE);
    }

    /// Fires what is due.
    pub fn expire(&mut self, now: Time, tally: &mut Tally) {
        let mut due = core::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for (slot, generation) in due.drain(..) {
            let leg = &mut self.legs[slot as usize];
            if !leg.live || leg.generation != generation {
                continue;
            }
            leg.armed = Time::MAX;
            if leg.due > now {
                let at = leg.due;
                self.wait(slot, at);
            } else {
                self.on_time(now, slot, tally);
            }
        }
        self.due = due;
    }

    fn on_time(&mut self, now: Time, slot: u32, tally: &mut Tally) {
        let leg = &mut self.legs[slot as usize];
        if leg.holding {
            let due = leg.due;
            self.advance(now, slot, tally);
            self.legs[slot as usize].in_dialog.due = due;
            return;
        }
        if leg.queued > 0 {
            // An older time that came together with the one that had this message written: the
            // message's own time begins when it leaves.
            return self.wait(slot, now + Duration::from_millis(u64::from(T1_MS)));
        }
        if leg.resending.step == NONE || now.since(leg.sent) >= PATIENCE {
            return self.fail(slot, Cause::Timeout, tally, || "nothing came".into());
        }
        let step = leg.resending.step;
        tally.report.retransmissions += 1;
        self.enqueue(slot, step);
        let interval_ms = self.next_interval_ms(slot);
        let leg = &mut self.legs[slot as usize];
        leg.resending.interval_ms = interval_ms;
        let patience = leg.sent + PATIENCE;
        self.wait(slot, patience.min(now + Duration::from_millis(u64::from(interval_ms))));
    }

    /// Doubled; at most T2 but for an INVITE (RFC 3261 §17.1.1.2) and a reliable provisional
    /// response (RFC 3262 §3).
    fn next_interval_ms(&self, slot: u32) -> u32 {
        let leg = &self.legs[slot as usize];
        let step = &self.ladder.steps[leg.resending.step as usize];
        let unlimited = step.what == What::Request(Method::Invite) || step.reliable;
        let doubled = leg.resending.interval_ms.saturating_mul(2);
        if unlimited { doubled } else { doubled.min(T2_MS) }
    }

    /// Writes everything that gathered, step by step.
    pub fn flush(&mut self, now: Time, out: &mut Effects, tally: &mut Tally) {
        if self.waiting == 0 {
            return;
        }
        for step in 0..self.ready.len() {
            let mut keys = core::mem::take(&mut self.ready[step]);
            self.waiting -= keys.len();
            for &(slot, generation) in &keys {
                let leg = &self.legs[slot as usize];
                if leg.live && leg.generation == generation {
                    self.write(slot, step, out);
                    tally.report.messages_out += 1;
                    self.sent(now, slot, step, tally);
                }
            }
            keys.clear();
            self.ready[step] = keys;
        }
    }

    fn write(&self, slot: u32, at: usize, out: &mut Effects) {
        let leg = &self.legs[slot as usize];
        let names = names(leg, slot, &self.endpoint_names[leg.endpoint as usize]);
        let voice = Voice { at, names };
        let step = &self.ladder.steps[at];
        out.send(leg.flow, |bytes| match step.what {
            What::Response(_, method) => {
                let opening = method == self.ladder.steps[0].method();
                let head = if opening { &leg.repeated.opening } else { &leg.repeated.head };
                self.script.write_response(bytes, &voice, head);
            }
            What::Request(_) if at == 0 => self.script.write_opening(bytes, &voice),
            What::Request(Method::Ack) if self.refused_before(at) => {
                self.script.write_refusal_ack(bytes, &voice, 0, leg.dialog.remote());
            }
            What::Request(Method::Prack) => self.script.write_prack(bytes, &voice, leg),
            What::Request(_) => self.script.write_request(bytes, &voice, leg),
            What::Hold => {}
        });
    }

    /// Whether the final response before this ACK is a refusal.
    fn refused_before(&self, at: usize) -> bool {
        let before = self.ladder.steps[..at].iter().rev();
        let finals = before.filter_map(|step| match step.what {
            What::Response(status, Method::Invite) if status >= 200 => Some(status),
            _ => None,
        });
        finals.take(1).any(|status| status >= 300)
    }

    /// Keeps the time, and what is sent again until it is answered.
    fn sent(&mut self, now: Time, slot: u32, at: usize, tally: &mut Tally) {
        let step = &self.ladder.steps[at];
        let awaited = match step.what {
            What::Request(method) => method != Method::Ack,
            What::Response(status, method) => {
                step.reliable || (method == Method::Invite && status >= 200)
            }
            What::Hold => false,
        };
        if step.reliable {
            self.legs[slot as usize].rseq = crate::script::RSEQ_FIRST + step.reliable_number;
        }
        let leg = &mut self.legs[slot as usize];
        if let What::Response(200.., method) = step.what
            && method != Method::Invite
        {
            tally.answered_within(now.since(leg.in_dialog.arrived));
        }
        leg.queued -= 1;
        let again = leg.resending.step as usize == at;
        if awaited && !again && leg.at as usize > at {
            leg.sent = now;
            leg.resending.interval_ms = T1_MS;
            // Streams lose nothing, but a 2xx is its core's to repeat over any transport
            // (RFC 3261 §13.3.1.4); over a stream that is of no use to a measurement.
            let stream = leg.flow.transport.is_stream();
            leg.resending.step = if stream { NONE } else { at as u8 };
            let wait = if stream { PATIENCE } else { Duration::from_millis(u64::from(T1_MS)) };
            self.wait(slot, now + wait);
        }
        let leg = &self.legs[slot as usize];
        if leg.queued == 0 && leg.at as usize >= self.ladder.steps.len() {
            self.complete(slot, tally);
        }
    }
}
