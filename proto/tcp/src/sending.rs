//! What leaves, and what time does (RFC 9293 §3.8, RFC 5681).

use crate::connection::{
    Connection, INCOMING_MAX, State, TIME_WAIT, Why, after, between, is_before,
};
use crate::receiving::PROBE;
use crate::segment::{Flags, Segment};
use core::net::IpAddr;
use machine::{Duration, Time};

/// How often a segment is sent again: after the last, two minutes have passed (RFC 9293 §3.8.3: R2
/// is 100 s at least).
const RETRIES_MAX: u8 = 8;
/// A connection does not begin within 31 s: a request would not wait that long (RFC 3261
/// §17.1.1.2).
const SYN_RETRIES_MAX: u8 = 4;
/// What was closed here and not there ends when nothing has come for so long.
const CLOSED_MAX: Duration = Duration::from_secs(64);

impl Connection {
    /// The next segment that leaves, appended with its checksum between two addresses; `false`:
    /// none does. To be called until then after each other call.
    pub fn next(&mut self, now: Time, ends: (IpAddr, IpAddr), out: &mut Vec<u8>) -> bool {
        if let Some(seq) = self.out.reset.take() {
            let flags = Flags::RST.and(Flags::ACK);
            return self.segment(flags, seq, &[], None).write(ends, out);
        }
        self.in_.rest();
        match self.state {
            State::Closed => false,
            State::SynSent | State::SynReceived => self.next_syn(now, ends, out),
            _ => self.next_octets(now, ends, out),
        }
    }

    fn segment<'a>(
        &self,
        flags: Flags,
        seq: u32,
        payload: &'a [u8],
        mss: Option<u16>,
    ) -> Segment<'a> {
        let (source, destination) = self.ports();
        let acknowledged = self.acknowledges();
        // What is not acknowledged yet was taken all the same: the window ends behind it.
        let room = INCOMING_MAX - self.in_.octets.len();
        let window = between(acknowledged, self.in_.nxt) + room;
        let window = u16::try_from(window).unwrap_or(u16::MAX);
        let ack = if flags.has(Flags::ACK) { acknowledged } else { 0 };
        Segment { source, destination, seq, ack, flags, window, mss, payload }
    }

    fn next_syn(&mut self, now: Time, ends: (IpAddr, IpAddr), out: &mut Vec<u8>) -> bool {
        if core::mem::take(&mut self.out.syn) {
            self.in_.acks = false;
            let answers = self.state == State::SynReceived;
            let flags = if answers { Flags::SYN.and(Flags::ACK) } else { Flags::SYN };
            let syn = self.segment(flags, self.out.una, &[], Some(self.own_mss()));
            self.out.nxt = self.out.una.wrapping_add(1);
            if self.out.max == self.out.una {
                self.out.max = self.out.nxt;
                self.out.timer.left(self.out.nxt, now);
            }
            self.out.again_at = Some(now + self.out.timer.rto());
            return syn.write(ends, out);
        }
        let met = self.in_.met.filter(|_| core::mem::take(&mut self.in_.meets));
        if let Some(syn) = met {
            let mut answer = self.segment(Flags::SYN, self.out.una, &[], Some(self.own_mss()));
            (answer.flags, answer.ack) = (Flags::SYN.and(Flags::ACK), syn.seq.wrapping_add(1));
            return answer.write(ends, out);
        }
        let acks = core::mem::take(&mut self.in_.acks) && self.state == State::SynReceived;
        acks && self.segment(Flags::ACK, self.out.nxt, &[], None).write(ends, out)
    }

    fn next_octets(&mut self, now: Time, ends: (IpAddr, IpAddr), out: &mut Vec<u8>) -> bool {
        if self.asks() {
            self.out.again_at.get_or_insert(now + self.out.timer.rto());
            let known = self.out.una.wrapping_sub(1);
            return self.segment(Flags::ACK, known, &[], None).write(ends, out);
        }
        let unsent = self.out.unsent();
        let from = self.out.queue.len() - unsent;
        let may = self.released(unsent);
        let octets = self.leaving(may);
        let is_last = octets == unsent;
        let has_left = self.out.fin.is_some_and(|fin| fin.wrapping_add(1) == self.out.nxt);
        let closes = self.out.closes && is_last && !has_left;
        if octets == 0 && !closes {
            if may > 0 && self.out.in_flight() == 0 {
                // The window is closed: it is looked at again (§3.8.6.1).
                self.out.again_at.get_or_insert(now + self.out.timer.rto());
            }
            let acks = self.in_.acks && self.takes_news();
            self.in_.acks &= !acks;
            return acks && self.segment(Flags::ACK, self.out.nxt, &[], None).write(ends, out);
        }
        let payload: Vec<u8> = self.out.queue.range(from..from + octets).copied().collect();
        let mut flags = Flags::ACK;
        if is_last && octets > 0 {
            flags = flags.and(Flags::PSH);
        }
        if closes {
            flags = flags.and(Flags::FIN);
        }
        self.takes_news();
        let made = self.segment(flags, self.out.nxt, &payload, None);
        let is_made = made.write(ends, out);
        self.left(now, octets, closes);
        is_made
    }

    /// How many octets leave now. A window that opens by a few is not followed while others are on
    /// their way, whose acknowledgment may open it further (§3.8.6.2.1).
    fn leaving(&mut self, unsent: usize) -> usize {
        let out = &mut self.out;
        if core::mem::take(&mut out.probes) {
            return unsent.min(PROBE);
        }
        let in_flight = out.in_flight();
        let may = out.window.octets.min(out.congestion).saturating_sub(in_flight);
        let octets = unsent.min(may).min(out.mss);
        let is_few = octets < unsent && octets < out.mss.min(out.window.most / 2);
        if is_few && in_flight > 0 { 0 } else { octets }
    }

    /// So many octets have left, and a FIN with them.
    fn left(&mut self, now: Time, octets: usize, closes: bool) {
        self.in_.acks = false;
        let out = &mut self.out;
        if out.in_flight() == 0 {
            out.again_at = None;
        }
        out.nxt = after(out.nxt, octets);
        if closes {
            out.fin = Some(out.nxt);
            out.nxt = out.nxt.wrapping_add(1);
        }
        if is_before(out.max, out.nxt) {
            out.max = out.nxt;
            out.timer.left(out.nxt, now);
        }
        out.again_at.get_or_insert(now + out.timer.rto());
        if closes {
            match self.state {
                State::Established => self.advance(now, State::FinWait1),
                State::CloseWait => self.advance(now, State::LastAck),
                _ => {}
            }
        }
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time) {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        match self.state {
            State::Closed => return,
            State::TimeWait => return self.over(Why::Ended),
            State::FinWait2 if now >= self.passed + CLOSED_MAX => return self.abort(),
            _ => {}
        }
        if self.out.again_at.is_none_or(|at| now < at) {
            return;
        }
        let begins = matches!(self.state, State::SynSent | State::SynReceived);
        let is_short = begins || self.resumed.is_some();
        let most = if is_short { SYN_RETRIES_MAX } else { RETRIES_MAX };
        if self.out.retries >= most {
            self.out.reset = (!begins).then_some(self.out.nxt);
            return self.over(Why::Silence);
        }
        if let Some(it) = &mut self.resumed {
            it.asks = true;
        }
        let out = &mut self.out;
        out.retries += 1;
        let is_shut = out.window.octets == 0 && out.unsent() > 0 && !begins;
        if out.in_flight() > 0 && !is_shut && !begins {
            out.threshold = (out.in_flight() / 2).max(2 * out.mss);
            out.congestion = out.mss;
        }
        out.timer.back_off();
        out.recovers = out.max;
        out.duplicates = 0;
        // A FIN leaves again behind its octets, under the number that it has: the far end may have
        // it, and say so late.
        (out.nxt, out.syn) = (out.una, begins);
        out.probes = out.window.octets == 0 && !begins && out.unsent() > 0;
        out.again_at = Some(now + out.timer.rto());
    }

    /// When [`Connection::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            State::Closed => None,
            State::TimeWait => Some(self.since + TIME_WAIT),
            State::FinWait2 => Some(self.passed + CLOSED_MAX),
            _ => self.out.again_at,
        }
    }
}
