//! What a message that came in means to the call it belongs to: its turn in the ladder, a
//! repetition, or a violation.

use crate::end::End;
use crate::ladder::{Side, What};
use crate::leg::repeat;
use crate::report::{Cause, Moments, Tally};
use crate::scan::{Scan, tag};
use crate::script::{Voice, names, write_plain_ok};
use crate::template::Id;
use crate::watch::Became;
use machine::narrow::nanos;
use machine::{Duration, Time};
use runtime::{Effects, Flow};
use sip::Method;
use std::hash::{Hash, Hasher};

impl End {
    /// Takes one message. Answers to strays go to `out` at once, everything else waits for
    /// [`End::flush`].
    pub fn receive(
        &mut self,
        now: Time,
        flow: Flow,
        scan: &Scan<'_>,
        out: &mut Effects,
        tally: &mut Tally,
    ) {
        tally.report.messages_in += 1;
        let ours = if scan.status == 0 { scan.to } else { scan.from };
        let id = tag(ours.of(scan.bytes)).and_then(Id::read);
        let slot = id.and_then(|id| self.find(id));
        if self.script.offers_feedback
            && scan.status > 0
            && let Some(via) = scan.vias.iter().next()
        {
            self.restraint.hear(now, via.of(scan.bytes));
        }
        match (scan.status, slot) {
            (0, Some(slot)) if self.is_reinvite(slot, scan) => {
                self.on_reinvite(slot, scan, out, tally);
            }
            (0, Some(slot)) => self.on_request(now, slot, scan, tally),
            (0, None) if tag(ours.of(scan.bytes)).is_none() => {
                self.on_opening(now, flow, scan, out, tally);
            }
            (0, None) => self.on_stray(flow, scan, out, tally),
            (_, Some(slot)) if self.is_refusal(slot, scan) => {
                self.on_refusal(now, slot, scan, out, tally);
            }
            (_, Some(slot)) => self.on_response(now, slot, scan, tally),
            (_, None) => tally.report.late += 1,
        }
    }

    /// A request outside of any dialog.
    fn on_opening(
        &mut self,
        now: Time,
        flow: Flow,
        scan: &Scan<'_>,
        out: &mut Effects,
        tally: &mut Tally,
    ) {
        let opens = self.ladder.steps[0].method() == scan.method && self.side == Side::Answerer;
        if !opens {
            // A probe (OPTIONS), or what a failed call left behind.
            return self.on_stray(flow, scan, out, tally);
        }
        let call = hash(scan.call_id.of(scan.bytes));
        if let Some(&slot) = self.by_call.get(&call) {
            return self.on_repeated(slot, scan, tally);
        }
        let endpoint =
            self.endpoints.iter().position(|endpoint| endpoint.port == flow.port).unwrap_or(0);
        let Some(slot) = self.open(flow, endpoint) else {
            return tally.fail(self.side, Cause::Full, || "no slot for another call".into());
        };
        self.by_call.insert(call, slot);
        let leg = &mut self.legs[slot as usize];
        let id = Id { slot, generation: leg.generation };
        leg.call_hash = call;
        (leg.remote.last, leg.remote.invite) = (scan.cseq, scan.cseq);
        (leg.scheduled, leg.steps.seen, leg.at) = (now, 1, 1);
        leg.subscriber = callee(scan).unwrap_or_default();
        leg.dialog.learn_from_request(scan, id);
        let echo = self.ladder.steps.iter().find(|s| !s.echo.is_empty());
        let echo = echo.map_or(&[][..], |step| &step.echo);
        repeat(&mut leg.repeated.opening, scan, Some(id), echo);
        self.hear(slot, scan);
        self.settle(now, slot);
        self.advance(now, slot, tally);
    }

    /// Passes a description on to whoever describes media.
    pub(crate) fn hear(&self, slot: u32, scan: &Scan<'_>) {
        let Some(descriptions) = &self.script.descriptions else { return };
        let body = scan.body();
        if !body.is_empty() {
            descriptions.heard(self.side, self.legs[slot as usize].subscriber, body);
        }
    }

    /// A request that no running call knows: the far end repeats itself, or it probes us.
    fn on_stray(&mut self, flow: Flow, scan: &Scan<'_>, out: &mut Effects, tally: &mut Tally) {
        tally.report.late += 1;
        if scan.method != Method::Ack && scan.method != Method::Invite {
            let mut head = Vec::with_capacity(512);
            let id = Id { slot: u32::MAX, generation: 0 };
            repeat(&mut head, scan, Some(id), &[]);
            out.send(flow, |bytes| write_plain_ok(bytes, &head));
        }
    }

    /// The opening request again: our last answer to it was lost, or is on its way.
    fn on_repeated(&mut self, slot: u32, scan: &Scan<'_>, tally: &mut Tally) {
        tally.report.duplicates += 1;
        let leg = &self.legs[slot as usize];
        let answers = |step: &crate::ladder::Step| {
            step.sent_by(self.side) && matches!(step.what, What::Response(_, m) if m == scan.method)
        };
        let sent = self.ladder.steps[..leg.at as usize].iter().rposition(answers);
        if let Some(step) = sent {
            self.enqueue(slot, step as u8);
        }
    }

    /// A request inside a dialog.
    fn on_request(&mut self, now: Time, slot: u32, scan: &Scan<'_>, tally: &mut Tally) {
        let leg = &self.legs[slot as usize];
        let is_ack = scan.method == Method::Ack;
        let wanted = What::Request(scan.method);
        let theirs = |step: &&crate::ladder::Step| step.what == wanted && !step.sent_by(self.side);
        let known = self.ladder.steps.iter().any(|step| theirs(&step));
        if !known {
            let name = scan.method.name();
            return self.fail(slot, Cause::Unexpected, tally, || format!("{name} came"));
        }
        let cseq = scan.cseq;
        let repeated = !is_ack && cseq <= leg.remote.last;
        if is_ack && cseq != leg.remote.invite {
            let invite = leg.remote.invite;
            let words = || format!("ACK with CSeq {cseq} for the INVITE's {invite}");
            return self.fail(slot, Cause::Cseq, tally, words);
        }
        let found = (0..self.ladder.steps.len())
            .find(|&at| theirs(&&self.ladder.steps[at]) && (leg.steps.seen >> at & 1) == 0);
        match found {
            Some(at)
                if repeated && (leg.steps.skipped >> at & 1) == 0 && cseq < leg.remote.last =>
            {
                let words = || format!("CSeq {cseq} of step {} is below the last one's", at + 1);
                self.fail(slot, Cause::Cseq, tally, words);
            }
            Some(at) if !repeated || (leg.steps.skipped >> at & 1) == 1 => {
                self.on_turn_of_request(now, slot, at, scan, tally);
            }
            _ => self.repeat_answer(slot, scan, tally),
        }
    }

    fn on_turn_of_request(
        &mut self,
        now: Time,
        slot: u32,
        at: usize,
        scan: &Scan<'_>,
        tally: &mut Tally,
    ) {
        let leg = &self.legs[slot as usize];
        if scan.method == Method::Prack && scan.rack != leg.rseq {
            let (rack, rseq) = (scan.rack, leg.rseq);
            let words = || format!("RAck {rack} for RSeq {rseq}");
            return self.fail(slot, Cause::Unexpected, tally, words);
        }
        if !self.pass(slot, at, tally) {
            return;
        }
        self.settle(now, slot);
        let waited = self.waited;
        let leg = &mut self.legs[slot as usize];
        if scan.method != Method::Ack {
            leg.in_dialog.arrived = before(now, waited);
            leg.remote.last = scan.cseq;
            repeat(&mut leg.repeated.head, scan, None, &[]);
        }
        if scan.method == Method::Update {
            leg.dialog.refresh(scan);
        }
        self.hear(slot, scan);
        self.advance(now, slot, tally);
    }

    /// A request again: the same answer again.
    fn repeat_answer(&mut self, slot: u32, scan: &Scan<'_>, tally: &mut Tally) {
        tally.report.duplicates += 1;
        if scan.method == Method::Ack {
            return;
        }
        let leg = &mut self.legs[slot as usize];
        repeat(&mut leg.repeated.head, scan, None, &[]);
        let at = leg.at as usize;
        let answers = |step: &crate::ladder::Step| {
            step.sent_by(self.side) && matches!(step.what, What::Response(_, m) if m == scan.method)
        };
        if let Some(step) = self.ladder.steps[..at].iter().rposition(answers) {
            self.enqueue(slot, step as u8);
        }
    }

    /// Moves on to step `at`, which has come. False when that breaks the dialog's order.
    fn pass(&mut self, slot: u32, at: usize, tally: &mut Tally) -> bool {
        let leg = &mut self.legs[slot as usize];
        let turn = leg.at as usize;
        if at < turn {
            let words = || format!("step {} came after step {turn}", at + 1);
            self.fail(slot, Cause::Order, tally, words);
            return false;
        }
        let between = &self.ladder.steps[turn..at];
        if between.iter().any(|step| step.sent_by(self.side)) {
            let words = || format!("step {} came before step {}", at + 1, turn + 1);
            self.fail(slot, Cause::Order, tally, words);
            return false;
        }
        for (ahead, step) in between.iter().enumerate() {
            let expected = step.what != What::Hold && !step.optional;
            if expected && (step.side != Side::Hop || self.side == Side::Caller) {
                leg.steps.skipped |= 1 << (turn + ahead);
            }
        }
        leg.steps.seen |= 1 << at;
        (leg.at, leg.holding) = (at as u8 + 1, false);
        true
    }

    /// A response to one of our requests.
    fn on_response(&mut self, now: Time, slot: u32, scan: &Scan<'_>, tally: &mut Tally) {
        let leg = &self.legs[slot as usize];
        let wanted = What::Response(scan.status, scan.method);
        let steps = &self.ladder.steps;
        let fits = |at: usize| {
            let step = &steps[at];
            step.what == wanted && !step.sent_by(self.side) && step.number + 1 == scan.cseq
        };
        let repeated = scan.rseq != 0 && scan.rseq <= leg.rseq;
        let found = (0..steps.len()).find(|&at| fits(at) && (leg.steps.seen >> at & 1) == 0);
        match found {
            Some(at) if !repeated => self.on_turn_of_response(now, slot, at, scan, tally),
            _ if repeated || (0..steps.len()).any(fits) => self.on_old_response(slot, scan, tally),
            _ if scan.status == 100 => {}
            _ => self.on_unexpected_response(slot, scan, tally),
        }
    }

    fn on_turn_of_response(
        &mut self,
        now: Time,
        slot: u32,
        at: usize,
        scan: &Scan<'_>,
        tally: &mut Tally,
    ) {
        let leg = &self.legs[slot as usize];
        if self.ladder.steps[at].reliable && leg.rseq != 0 && scan.rseq != leg.rseq + 1 {
            let (rseq, last) = (scan.rseq, leg.rseq);
            let words = || format!("RSeq {rseq} after {last}");
            return self.fail(slot, Cause::Order, tally, words);
        }
        if !self.pass(slot, at, tally) {
            return;
        }
        let asked = self.legs[slot as usize].resending.step;
        self.settle(now, slot);
        let leg = &mut self.legs[slot as usize];
        if scan.status < 200 && scan.method != Method::Invite {
            // RFC 3261 §17.1.2.2: a non-INVITE request is sent on until final.
            leg.resending.step = asked;
        }
        if self.ladder.steps[at].reliable {
            leg.rseq = scan.rseq;
        }
        if scan.method == Method::Invite && scan.status > 100 {
            leg.dialog.learn_from_response(scan);
        } else if scan.method == Method::Update && scan.status < 300 {
            leg.dialog.refresh(scan);
        }
        self.hear(slot, scan);
        let leg = &self.legs[slot as usize];
        if scan.status >= 200 {
            let begun = if scan.method == Method::Invite { leg.scheduled } else { leg.sent };
            let us = now.since(begun).as_micros() as u64;
            tally.responded(scan.method, us);
            if scan.method != Method::Invite {
                let arrived = before(now, self.waited).max(leg.sent);
                tally.responded_within(&Moments {
                    due: leg.in_dialog.due,
                    sent: leg.sent,
                    arrived,
                    read: now,
                });
            }
            if self.side == Side::Caller && self.ladder.set_up() == Some(at) {
                tally.set_up(now.since(leg.scheduled).as_micros() as u64);
                self.note(slot, Became::Answered);
            }
        }
        self.advance(now, slot, tally);
    }

    /// Whether the element under test refuses the call: 503 or 486 to the INVITE that opens it,
    /// where the flow has no such answer.
    fn is_refusal(&self, slot: u32, scan: &Scan<'_>) -> bool {
        let is_opening = scan.method == Method::Invite && scan.cseq == 1;
        let wanted = What::Response(scan.status, scan.method);
        matches!(scan.status, 486 | 503)
            && is_opening
            && self.side == Side::Caller
            && self.ladder.steps[0].method() == Method::Invite
            && self.legs[slot as usize].dialog.target().is_empty()
            && !self.ladder.steps.iter().any(|step| step.what == wanted)
    }

    /// Acknowledges the refusal and ends the call, which counts as refused and not as failed.
    fn on_refusal(
        &mut self,
        now: Time,
        slot: u32,
        scan: &Scan<'_>,
        out: &mut Effects,
        tally: &mut Tally,
    ) {
        let leg = &self.legs[slot as usize];
        let voice =
            Voice { at: 0, names: names(leg, slot, &self.endpoint_names[leg.endpoint as usize]) };
        out.send(leg.flow, |bytes| self.script.write_ack_of(bytes, &voice, scan));
        tally.report.messages_out += 1;
        tally.reject(scan.status, now.since(leg.scheduled).as_micros() as u64);
        self.note(slot, Became::Refused(scan.status));
        self.release(slot);
    }

    /// A response again: a 2xx to an INVITE is acknowledged again (RFC 3261 §13.2.2.4).
    fn on_old_response(&mut self, slot: u32, scan: &Scan<'_>, tally: &mut Tally) {
        tally.report.duplicates += 1;
        let at = self.legs[slot as usize].at as usize;
        let acks = |step: &crate::ladder::Step| {
            step.sent_by(self.side) && step.what == What::Request(Method::Ack)
        };
        if scan.method != Method::Invite || scan.status < 200 {
            return;
        }
        if let Some(step) = self.ladder.steps[..at].iter().rposition(acks) {
            self.enqueue(slot, step as u8);
        }
    }

    fn on_unexpected_response(&mut self, slot: u32, scan: &Scan<'_>, tally: &mut Tally) {
        let (status, cseq, name) = (scan.status, scan.cseq, scan.method.name());
        let asked = self.ladder.steps.iter().any(|step| {
            step.sent_by(self.side)
                && step.what == What::Request(scan.method)
                && step.number + 1 == cseq
        });
        let cause = match status {
            _ if !asked => Cause::Cseq,
            503 => Cause::Shed,
            300.. => Cause::Status,
            _ => Cause::Unexpected,
        };
        self.fail(slot, cause, tally, || format!("{status} to {name} with CSeq {cseq}"));
    }
}

/// That time ago.
fn before(now: Time, ago: Duration) -> Time {
    Time::from_nanos(now.as_nanos().saturating_sub(nanos(ago)))
}

/// Which subscriber is called: the last digits of the request's user part.
fn callee(scan: &Scan<'_>) -> Option<u32> {
    let end = memchr::memchr(b'@', scan.bytes)?;
    let digits = &scan.bytes[end.checked_sub(7)?..end];
    core::str::from_utf8(digits).ok()?.parse().ok()
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
