//! A segment arrives (RFC 9293 §3.10.7).

use crate::connection::{Connection, INCOMING_MAX, State, Syn, Why, after, between, is_before};
use crate::segment::{Flags, Segment};
use machine::Time;

/// Acknowledgments of the same number that say that one segment was lost (RFC 5681 §3.2).
const DUPLICATES: u8 = 3;
/// Octets that probe a closed window.
pub(crate) const PROBE: usize = 1;

impl Connection {
    /// Takes a segment of this connection.
    pub fn receive(&mut self, now: Time, it: &Segment<'_>) {
        match self.state {
            State::Closed => {}
            State::SynSent => self.answered(now, it),
            _ => self.synchronized(now, it),
        }
    }

    /// Something comes after our SYN (§3.10.7.3).
    fn answered(&mut self, now: Time, it: &Segment<'_>) {
        let has_ack = it.flags.has(Flags::ACK);
        let is_ours =
            has_ack && is_before(self.out.una, it.ack) && !is_before(self.out.max, it.ack);
        if has_ack && !is_ours {
            if !it.flags.has(Flags::RST) {
                self.out.reset = Some(it.ack);
            }
            return;
        }
        if it.flags.has(Flags::RST) {
            if has_ack {
                self.over(Why::Reset);
            }
            return;
        }
        let is_syn = it.flags.has(Flags::SYN);
        match (is_syn, is_ours) {
            (true, true) => {
                self.begin(now, Syn::of(it), it.ack);
                self.in_.acks = true;
            }
            // Both have begun at once, or somebody says so: numbers are the far end's that
            // acknowledges ours, so that a stranger's SYN keeps nobody else away.
            (true, false) => self.in_.meets(now, Syn::of(it)),
            (false, true) => {
                let met = self.in_.met.filter(|syn| syn.seq.wrapping_add(1) == it.seq);
                if let Some(syn) = met {
                    self.begin(now, syn, it.ack);
                    self.synchronized(now, it);
                }
            }
            (false, false) => {}
        }
    }

    /// The far end has taken our SYN, and its own is known.
    fn begin(&mut self, now: Time, syn: Syn, ack: u32) {
        self.in_.nxt = syn.seq.wrapping_add(1);
        self.out.takes(syn.mss, self.own_mss());
        self.out.offered(syn.window, (syn.seq, ack));
        self.acknowledged(now, ack);
        self.advance(now, State::Established);
        self.in_.met = None;
    }

    /// Something comes when numbers are known (§3.10.7.4, RFC 5961).
    fn synchronized(&mut self, now: Time, it: &Segment<'_>) {
        if !self.fits(it) {
            if !it.flags.has(Flags::RST) {
                self.in_.answer(now);
            }
            let again = it.flags.has(Flags::SYN) && !it.flags.has(Flags::ACK);
            if self.state == State::SynReceived && again {
                (self.out.syn, self.out.nxt) = (true, self.out.una);
            }
            return;
        }
        if it.flags.has(Flags::RST) {
            match it.seq == self.in_.nxt {
                true => self.over(Why::Reset),
                false => self.in_.answer(now),
            }
            return;
        }
        if it.flags.has(Flags::SYN) {
            return self.in_.answer(now);
        }
        if !it.flags.has(Flags::ACK) {
            return;
        }
        let begins = self.state == State::SynReceived;
        if !self.may_acknowledge(it.ack, begins) {
            if self.knows_less(it.seq, it.ack) {
                self.out.reset = Some(it.ack);
                return self.over(Why::Aborted);
            }
            match begins {
                true => self.out.reset = Some(it.ack),
                false => self.in_.answer(now),
            }
            return;
        }
        if begins {
            self.advance(now, State::Established);
        }
        self.take_ack(now, it);
        self.confirmed(it.ack);
        if self.state != State::Closed {
            self.take_octets(now, it);
        }
    }

    /// Whether a number is one that the far end may acknowledge: what has left, and of before no
    /// more than it ever took at once (RFC 5961 §5); `begins`: our SYN at least.
    fn may_acknowledge(&self, ack: u32, begins: bool) -> bool {
        let out = &self.out;
        let is_old = !is_before(out.una, ack);
        let is_too_old = is_old && (begins || between(ack, out.una) > out.window.most);
        !is_too_old && !is_before(out.max, ack)
    }

    /// Whether something of a segment lies in the window (§3.4: the four cases).
    fn fits(&self, it: &Segment<'_>) -> bool {
        let (first, window) = (self.in_.nxt, INCOMING_MAX - self.in_.octets.len());
        let is_in = |number: u32| between(first, number) < window;
        match it.span() {
            0 => it.seq == first || is_in(it.seq),
            span => is_in(it.seq) || is_in(it.seq.wrapping_add(span - 1)),
        }
    }

    fn take_ack(&mut self, now: Time, it: &Segment<'_>) {
        let out = &mut self.out;
        let window = usize::from(it.window);
        if is_before(out.una, it.ack) {
            self.acknowledged(now, it.ack);
        } else if it.ack == out.una {
            if window == 0 {
                out.retries = 0; // somebody is there, if only with a closed window
            }
            let says_nothing = it.span() == 0 && window == out.window.octets && out.in_flight() > 0;
            out.duplicates = if says_nothing { out.duplicates.saturating_add(1) } else { 0 };
            if out.duplicates == DUPLICATES && !is_before(out.una, out.recovers) {
                self.lost();
            }
        }
        let out = &mut self.out;
        let (by, ack) = out.window.of;
        if is_before(by, it.seq) || by == it.seq && !is_before(it.ack, ack) {
            let opens = out.window.octets == 0 && window > 0 && it.ack == out.una;
            out.offered(it.window, (it.seq, it.ack));
            if opens && out.in_flight() == PROBE {
                // What has probed the window was not taken: it leaves again with what follows.
                out.nxt = out.una;
            }
        }
    }

    /// Everything before a number was taken.
    fn acknowledged(&mut self, now: Time, ack: u32) {
        let out = &mut self.out;
        let mut octets = between(out.una, ack);
        if !core::mem::replace(&mut out.begun, true) {
            (octets, out.syn) = (octets.saturating_sub(1), false);
        }
        let has_fin = out.fin.is_some_and(|fin| !is_before(fin, out.una) && is_before(fin, ack));
        octets = octets.saturating_sub(usize::from(has_fin));
        out.queue.drain(..octets.min(out.queue.len()));
        if out.queue.is_empty() {
            out.queue.shrink_to(0); // most connections are idle most of the time
        }
        out.timer.acknowledged(ack, now);
        out.una = ack;
        if is_before(out.nxt, ack) {
            out.nxt = ack;
        }
        (out.retries, out.duplicates, out.probes) = (0, 0, false);
        out.congestion += match out.congestion < out.threshold {
            true => octets.min(out.mss),
            false => (out.mss * out.mss / out.congestion.max(1)).max(1),
        };
        out.congestion = out.congestion.min(crate::QUEUE_MAX);
        out.again_at = (out.in_flight() > 0).then(|| now + out.timer.rto());
        self.passed = now;
        if has_fin {
            match self.state {
                State::FinWait1 => self.advance(now, State::FinWait2),
                State::Closing => self.advance(now, State::TimeWait),
                State::LastAck => self.over(Why::Ended),
                _ => {}
            }
        }
    }

    /// One segment was lost: everything behind it was dropped or is sent once more.
    fn lost(&mut self) {
        let out = &mut self.out;
        out.threshold = (out.in_flight() / 2).max(2 * out.mss);
        out.congestion = out.threshold;
        out.recovers = out.max;
        out.timer.sent_again();
        out.nxt = out.una;
    }

    fn take_octets(&mut self, now: Time, it: &Segment<'_>) {
        let takes = matches!(self.state, State::Established | State::FinWait1 | State::FinWait2);
        let fin = it.flags.has(Flags::FIN);
        if !takes {
            // What comes again is acknowledged again.
            self.in_.acks |= it.span() > 0;
            return;
        }
        if is_before(self.in_.nxt, it.seq) {
            self.in_.acks |= it.span() > 0;
            return;
        }
        let known = between(it.seq, self.in_.nxt).min(it.payload.len());
        let fresh = &it.payload[known..];
        let taken = fresh.len().min(INCOMING_MAX - self.in_.octets.len());
        self.in_.octets.extend_from_slice(&fresh[..taken]);
        self.in_.nxt = after(self.in_.nxt, taken);
        self.in_.acks |= it.span() > 0;
        if taken > 0 {
            self.passed = now;
        }
        let ends = after(it.seq, it.payload.len());
        if !fin || self.in_.nxt != ends {
            return;
        }
        self.in_.nxt = self.in_.nxt.wrapping_add(1);
        self.passed = now;
        match self.state {
            State::FinWait1 => self.advance(now, State::Closing),
            State::FinWait2 => self.advance(now, State::TimeWait),
            _ => self.advance(now, State::CloseWait),
        }
    }
}
