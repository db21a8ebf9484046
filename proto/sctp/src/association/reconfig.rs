//! Streams are reset and added while the association lives (RFC 6525). One request of ours is on
//! its way at a time; a request of the peer's is answered once and the answer is kept for its
//! repetitions.
//!
//! While a reset of our outgoing streams is on its way no new data leaves: the TSN that ends the
//! old numbers stands in the request (RFC 6525 §5.1.2).

use super::received::{Received, WINDOW};
use super::{Association, State};
use crate::codec::{Chunk, List, Parameter, Parameters, Reset, Response};
use crate::effects::{Context, Indication, Reconfiguration};
use crate::id::{low32, origin, unwrap32};
use machine::Time;
use std::collections::VecDeque;

/// Requests that wait for the one before at most.
const REQUESTS_MAX: usize = 16;
/// Results (RFC 6525 §4.4).
const NOTHING_TO_DO: u32 = 0;
const PERFORMED: u32 = 1;
const DENIED: u32 = 2;
const WRONG_SSN: u32 = 3;
const BAD_SEQUENCE_NUMBER: u32 = 5;
const IN_PROGRESS: u32 = 6;

/// What one side asks of the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Numbers of our outgoing streams begin anew; none listed: all of them.
    ResetOutgoing(Vec<u16>),
    /// Numbers of the peer's outgoing streams begin anew; none listed: all of them.
    ResetIncoming(Vec<u16>),
    /// So many more outgoing streams.
    AddOutgoing(u16),
    /// So many more incoming streams.
    AddIncoming(u16),
    /// Numbers of all streams of both sides, and the TSNs, begin anew.
    ResetAssociation,
}

/// Our request that is on its way.
#[derive(Debug)]
struct Pending {
    request: Request,
    number: u32,
    /// The peer's request that it answers.
    response: u32,
    last_tsn: u32,
    until: Time,
}

/// What is going on in both directions.
#[derive(Debug)]
pub(crate) struct Reconfig {
    waiting: VecDeque<(Request, u32)>,
    pending: Option<Pending>,
    /// The number of our next request.
    next: u32,
    /// The number of the peer's next request.
    expected: u32,
    /// Our answer to the peer's last request.
    answer: Option<Response>,
    /// Sender's and Receiver's Next TSN for the answer at hand.
    next_tsns: Option<(u32, u32)>,
    /// The peer resets the association: no new data leaves before.
    pub(crate) hold_until: Option<Time>,
}

impl Reconfig {
    pub(crate) const fn new(local_tsn: u32, peer_tsn: u32) -> Self {
        Self {
            waiting: VecDeque::new(),
            pending: None,
            next: local_tsn,
            expected: peer_tsn,
            answer: None,
            next_tsns: None,
            hold_until: None,
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.pending.as_ref().map(|pending| pending.until)
    }

    /// Whether new data must wait.
    pub(crate) fn holds_data(&self) -> bool {
        let is_reset = |request: &Request| {
            matches!(request, Request::ResetOutgoing(_) | Request::ResetAssociation)
        };
        self.hold_until.is_some()
            || self.pending.as_ref().is_some_and(|pending| is_reset(&pending.request))
            || self.waiting.front().is_some_and(|(request, _)| is_reset(request))
    }

    /// Whether the peer may have reset the association without our knowing yet.
    pub(crate) fn is_resetting(&self) -> bool {
        let pending = self.pending.as_ref();
        pending.is_some_and(|pending| pending.request == Request::ResetAssociation)
    }
}

impl Association {
    /// The user wants a change.
    pub(crate) fn reconfigure(&mut self, cx: &mut Context<'_>, request: Request) {
        let is_open = self.state == State::Established && self.agreed.reconfiguration;
        if !is_open || self.reconfig.waiting.len() >= REQUESTS_MAX {
            let refused = Reconfiguration::Refused(request);
            return cx.indicate(Indication::Reconfigured(refused));
        }
        self.reconfig.waiting.push_back((request, 0));
        self.flush(cx);
    }

    /// Sends the next request when nothing is on its way. A reset waits until the message that
    /// has begun has left in full.
    pub(super) fn request_next(&mut self, cx: &mut Context<'_>) {
        if self.reconfig.pending.is_some() || self.state != State::Established {
            return;
        }
        let is_reset = self.reconfig.holds_data();
        if is_reset && self.outbound.queue.has_begun() {
            return;
        }
        let is_whole =
            matches!(self.reconfig.waiting.front(), Some((Request::ResetAssociation, _)));
        if is_whole && !self.outbound.ring.is_empty() {
            return; // with everything acknowledged nothing is lost
        }
        let Some((request, response)) = self.reconfig.waiting.pop_front() else { return };
        let number = self.reconfig.next;
        self.reconfig.next = number.wrapping_add(1);
        let last_tsn = low32(self.outbound.next_tsn() - 1);
        let until = cx.now + self.paths[self.paths.for_data()].rto;
        self.reconfig.pending = Some(Pending { request, number, response, last_tsn, until });
        self.send_request();
    }

    fn send_request(&mut self) {
        let path = self.paths.for_data();
        let Some(Pending { request, number, response, last_tsn, .. }) = &self.reconfig.pending
        else {
            return;
        };
        let octets = |streams: &[u16]| -> Vec<u8> {
            streams.iter().flat_map(|stream| stream.to_be_bytes()).collect()
        };
        let mut out = Vec::new();
        match request {
            Request::ResetOutgoing(streams) => {
                let (request, response, last_tsn) = (*number, *response, *last_tsn);
                let streams = octets(streams);
                let streams = List::new(&streams);
                let reset = Reset { request, response, last_tsn, streams };
                Parameter::OutgoingSsnReset(reset).write(&mut out);
            }
            Request::ResetIncoming(streams) => {
                let streams = octets(streams);
                Parameter::IncomingSsnReset(*number, List::new(&streams)).write(&mut out);
            }
            Request::ResetAssociation => Parameter::SsnTsnReset(*number).write(&mut out),
            Request::AddOutgoing(count) => {
                Parameter::AddOutgoingStreams(*number, *count).write(&mut out);
            }
            Request::AddIncoming(count) => {
                Parameter::AddIncomingStreams(*number, *count).write(&mut out);
            }
        }
        self.control(path, &Chunk::ReConfig(Parameters::new(&out)));
    }

    /// No answer came in time: once more.
    pub(super) fn request_expired(&mut self, cx: &mut Context<'_>) {
        let path = self.paths.for_data();
        self.paths[path].back_off();
        self.time_out(cx, path, true);
        if self.state != State::Closed {
            self.repeat_request(cx.now);
        }
    }

    fn repeat_request(&mut self, now: Time) {
        let rto = self.paths[self.paths.for_data()].rto;
        if let Some(pending) = &mut self.reconfig.pending {
            pending.until = now + rto;
            self.send_request();
        }
    }

    /// A RE-CONFIG came (RFC 6525 §5.2).
    pub(super) fn re_config(&mut self, cx: &mut Context<'_>, from: usize, list: Parameters<'_>) {
        for parameter in list.iter().filter_map(Result::ok).take(2) {
            match parameter {
                Parameter::Response(response) => self.answered_request(cx, response),
                Parameter::OutgoingSsnReset(reset) => {
                    // It may answer a request of ours for exactly this.
                    self.asked(cx, from, reset.request, |it, cx| it.reset_incoming(cx, &reset));
                    self.settle_incoming(reset.response);
                }
                Parameter::IncomingSsnReset(number, streams) => {
                    let streams: Vec<u16> = streams.iter().collect();
                    self.asked(cx, from, number, |it, _| {
                        it.queue_answer(Request::ResetOutgoing(streams), number)
                    });
                }
                Parameter::SsnTsnReset(number) => {
                    self.asked(cx, from, number, Self::reset_association);
                }
                Parameter::AddOutgoingStreams(number, count) => {
                    self.asked(cx, from, number, |it, cx| it.add_incoming(cx, count));
                }
                Parameter::AddIncomingStreams(number, count) => {
                    self.asked(cx, from, number, |it, _| {
                        it.queue_answer(Request::AddOutgoing(count), number)
                    });
                }
                _ => {}
            }
        }
    }

    /// The peer asks: answered when the number is the next one, from memory when it is the last.
    fn asked(
        &mut self,
        cx: &mut Context<'_>,
        from: usize,
        number: u32,
        perform: impl FnOnce(&mut Self, &mut Context<'_>) -> u32,
    ) {
        let expected = self.reconfig.expected;
        let is_repeated = number == expected.wrapping_sub(1);
        let is_unfinished = self.reconfig.answer.is_some_and(|answer| answer.result == IN_PROGRESS);
        let answer = if number == expected || (is_repeated && is_unfinished) {
            self.reconfig.expected = number.wrapping_add(1);
            let result = perform(self, cx);
            Response { response: number, result, next_tsns: self.reconfig.next_tsns.take() }
        } else {
            let wrong = Response { response: number, result: BAD_SEQUENCE_NUMBER, next_tsns: None };
            match self.reconfig.answer {
                Some(answer) if is_repeated => answer,
                _ => return self.respond(from, wrong),
            }
        };
        self.reconfig.answer = Some(answer);
        self.respond(from, answer);
    }

    fn respond(&mut self, from: usize, answer: Response) {
        let mut out = Vec::new();
        Parameter::Response(answer).write(&mut out);
        self.control(from, &Chunk::ReConfig(Parameters::new(&out)));
    }

    /// Our own request will do what the peer wants (RFC 6525 §5.2.3, §5.2.6).
    fn queue_answer(&mut self, request: Request, number: u32) -> u32 {
        let is_wrong = match &request {
            Request::ResetOutgoing(list) => list.iter().any(|it| *it >= self.outbound.streams),
            Request::AddOutgoing(count) => self.outbound.streams.checked_add(*count).is_none(),
            _ => false,
        };
        let is_full = self.reconfig.waiting.len() >= REQUESTS_MAX;
        match (is_wrong, is_full || self.state != State::Established) {
            (true, _) => WRONG_SSN,
            (false, true) => DENIED,
            (false, false) => {
                self.reconfig.waiting.push_back((request, number));
                PERFORMED
            }
        }
    }

    /// The peer's outgoing streams begin anew, once everything before has come (RFC 6525 §5.2.2).
    fn reset_incoming(&mut self, cx: &mut Context<'_>, reset: &Reset<'_>) -> u32 {
        if reset.streams.iter().any(|stream| stream >= self.inbound.streams) {
            return WRONG_SSN;
        }
        let cumulative = self.inbound.received.cumulative();
        if unwrap32(cumulative, reset.last_tsn) > cumulative {
            return IN_PROGRESS;
        }
        let streams: Vec<u16> = reset.streams.iter().collect();
        self.inbound.reassembly.reset(&streams);
        cx.indicate(Indication::Reconfigured(Reconfiguration::IncomingReset(streams)));
        PERFORMED
    }

    /// TSNs and numbers of both sides begin anew, once nothing is on its way in either direction
    /// (RFC 6525 §5.2.4). Ours go on where they are; the peer's jump by half of the numbers, so
    /// that nothing old is taken for new.
    fn reset_association(&mut self, cx: &mut Context<'_>) -> u32 {
        const HALF: u32 = 1 << 31;
        self.reconfig.hold_until = Some(cx.now + 2 * self.paths[self.paths.for_data()].rto);
        let is_sending = !self.outbound.ring.is_empty() || self.outbound.queue.has_begun();
        if is_sending || self.inbound.received.has_gaps() || !self.inbound.reassembly.is_empty() {
            return IN_PROGRESS;
        }
        let next = low32(self.inbound.received.cumulative()).wrapping_add(1).wrapping_add(HALF);
        self.inbound.received = Received::new(origin(next) - 1);
        self.reconfig.next_tsns = Some((low32(self.outbound.next_tsn()), next));
        self.begin_numbers_anew(cx);
        PERFORMED
    }

    fn begin_numbers_anew(&mut self, cx: &mut Context<'_>) {
        self.inbound.reassembly.reset(&[]);
        self.outbound.reset(&[]);
        cx.indicate(Indication::Reconfigured(Reconfiguration::AssociationReset));
    }

    /// The peer has reset the association as we asked (RFC 6525 §5.2.7).
    fn follow_reset(&mut self, cx: &mut Context<'_>, theirs: u32, ours: u32) {
        let cumulative = self.inbound.received.cumulative();
        let last = unwrap32(cumulative, theirs) - 1;
        if last > cumulative && last <= cumulative + WINDOW {
            self.inbound.received.skip_to(last);
        }
        self.outbound.begin_at(ours);
        self.outbound.advanced = self.outbound.first - 1;
        self.outbound.recovery.exit = None;
        self.outbound.recovery.gaps_to = 0;
        self.paths.iter_mut().for_each(|path| path.timed = None);
        self.begin_numbers_anew(cx);
    }

    fn add_incoming(&mut self, cx: &mut Context<'_>, count: u16) -> u32 {
        if count == 0 {
            return NOTHING_TO_DO;
        }
        let Some(total) = self.inbound.streams.checked_add(count) else { return DENIED };
        if total > self.parameters.inbound_streams {
            return DENIED;
        }
        self.inbound.streams = total;
        cx.indicate(Indication::Reconfigured(Reconfiguration::IncomingStreams(total)));
        PERFORMED
    }

    /// The peer's own request has done what ours asked for.
    fn settle_incoming(&mut self, response: u32) {
        let is_it = self.reconfig.pending.as_ref().is_some_and(|pending| {
            pending.number == response && matches!(pending.request, Request::ResetIncoming(_))
        });
        if is_it {
            self.reconfig.pending = None;
        }
    }

    /// The answer to our request (RFC 6525 §5.2.7).
    fn answered_request(&mut self, cx: &mut Context<'_>, response: Response) {
        let number = self.reconfig.pending.as_ref().map(|pending| pending.number);
        if number != Some(response.response) {
            return;
        }
        if response.result == IN_PROGRESS {
            let until = cx.now + self.paths[self.paths.for_data()].rto;
            if let Some(pending) = &mut self.reconfig.pending {
                pending.until = until; // the same request again when the timer expires
            }
            self.paths.errors = 0;
            return;
        }
        let Some(pending) = self.reconfig.pending.take() else { return };
        if !matches!(response.result, PERFORMED | NOTHING_TO_DO) {
            let refused = Reconfiguration::Refused(pending.request);
            return cx.indicate(Indication::Reconfigured(refused));
        }
        match pending.request {
            Request::ResetOutgoing(streams) => {
                self.outbound.reset(&streams);
                cx.indicate(Indication::Reconfigured(Reconfiguration::OutgoingReset(streams)));
            }
            Request::AddOutgoing(count) => {
                self.outbound.streams = self.outbound.streams.saturating_add(count);
                let total = Reconfiguration::OutgoingStreams(self.outbound.streams);
                cx.indicate(Indication::Reconfigured(total));
            }
            Request::ResetAssociation => match response.next_tsns {
                Some((theirs, ours)) => self.follow_reset(cx, theirs, ours),
                None => {
                    let refused = Reconfiguration::Refused(Request::ResetAssociation);
                    cx.indicate(Indication::Reconfigured(refused));
                }
            },
            // The peer's own request follows and is told of.
            Request::ResetIncoming(_) | Request::AddIncoming(_) => {}
        }
    }
}
