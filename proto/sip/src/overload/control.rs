//! The server's side: which share its neighbours are told not to send. What can be served of what
//! they have to send is what they sent and was not refused, of late; they are asked for a little
//! more than that, so that the queue never runs empty and more is served as soon as more can be.

use super::{Feedback, VALIDITY_MS, is_offered};
use crate::Via;
use machine::{Duration, Time};

/// How often the share is set.
const WINDOW: Duration = Duration::from_millis(100);
/// How long after that what comes was still sent by the share before: not counted.
const SETTLE: Duration = Duration::from_millis(50);
/// How long a share holds without another one.
const VALIDITY: Duration = Duration::from_millis(VALIDITY_MS as u64);
/// What neighbours shall send of what can be served.
const EXCESS: f64 = 1.06;
/// What a window counts in the next one: a pause of the machine has many refused at once, and the
/// queue before the controller takes and gives.
const MEMORY: f64 = 0.9;
/// How fast the share grows once the queue was empty for a window, twice as fast for two, and how
/// fast at most.
const GROWTH: f64 = 0.02;
const GROWTH_MAX: f64 = 0.1;
/// Who waits shorter than this found the queue empty.
const EMPTY: Duration = Duration::from_millis(1);
/// What is left of the share at least from window to window: when a load begins at once, all of a
/// window may be refused while what came before is served.
const FALL: f64 = 0.5;
/// The least share.
const SHARE_MIN: f64 = 0.02;

/// What listening neighbours are told (RFC 7339 §7).
#[derive(Debug)]
pub struct Control {
    /// Of their new requests that they may send.
    share: f64,
    /// End of the window.
    end: Time,
    /// New requests of theirs in the window, and how many of them were refused.
    seen: u32,
    refused: u32,
    /// The shortest that one of them waited.
    least: Duration,
    /// New requests that they had to send in the windows of late, and that were served.
    offered: f64,
    served: f64,
    /// How fast the share grows when the queue is empty.
    growth: f64,
    /// What is written into their Via; empty for nothing.
    params: Vec<u8>,
    /// Until when that holds.
    until: Time,
}

impl Default for Control {
    fn default() -> Self {
        let (end, until) = (Time::ZERO, Time::ZERO);
        Self {
            share: 1.0,
            end,
            seen: 0,
            refused: 0,
            least: Duration::MAX,
            offered: 0.0,
            served: 0.0,
            growth: GROWTH,
            params: Vec::new(),
            until,
        }
    }
}

impl Control {
    /// A listening neighbour sent a request that may be refused; it waited for `delay`.
    pub fn count(&mut self, now: Time, delay: Duration, is_refused: bool) {
        if now >= self.end {
            self.set(now);
        }
        if now + (WINDOW - SETTLE) >= self.end {
            self.seen += 1;
            self.refused += u32::from(is_refused);
            self.least = self.least.min(delay);
        }
    }

    /// Sets the share by what the windows have seen.
    fn set(&mut self, now: Time) {
        if now >= self.end + VALIDITY {
            // What was said before holds no more, what was seen then says nothing.
            (self.share, self.seen, self.refused) = (1.0, 0, 0);
        }
        if self.share >= 1.0 {
            (self.offered, self.served) = (0.0, 0.0);
        }
        let served = f64::from(self.seen - self.refused);
        self.offered = self.offered * MEMORY + f64::from(self.seen) / self.share;
        self.served = self.served * MEMORY + served;
        if self.refused == 0 && (self.seen == 0 || self.least <= EMPTY) {
            self.served *= 1.0 + self.growth;
            self.share *= 1.0 + self.growth;
            self.growth = (self.growth * 2.0).min(GROWTH_MAX);
        } else {
            self.served = self.served.max(self.offered * self.share * FALL / EXCESS);
            self.share = EXCESS * self.served / self.offered;
            self.growth = GROWTH;
        }
        self.share = self.share.clamp(SHARE_MIN, 1.0);
        (self.end, self.seen, self.refused) = (now + WINDOW, 0, 0);
        self.least = Duration::MAX;
        self.tell(now);
    }

    /// Writes down what neighbours are told; of the end they are told while the last share holds.
    fn tell(&mut self, now: Time) {
        let loss = self.loss();
        if loss > 0 {
            self.until = now + VALIDITY;
        } else if now >= self.until {
            return self.params.clear();
        }
        let seq = (now.as_millis() / 1_000, (now.as_millis() % 1_000) as u32 * 100);
        let validity_ms = if loss > 0 { VALIDITY_MS } else { 0 };
        self.params.clear();
        Feedback { loss, validity_ms, seq }.write(&mut self.params);
    }

    /// Requests of a hundred that shall not be sent.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a share is 0 to 1")]
    pub fn loss(&self) -> u8 {
        ((1.0 - self.share) * 100.0) as u8
    }

    /// What the sender of a request with this Via is told, as parameters; empty for nothing.
    #[must_use]
    pub fn answer(&self, now: Time, via: &Via<'_>) -> &[u8] {
        let is_current = !self.params.is_empty() && now < self.until;
        let is_told = is_current && is_offered(via.params);
        if is_told { &self.params } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Time = Time::from_millis(1_700_000_000_000);
    const SECOND: u64 = 1_000;

    /// A neighbour that obeys, 20 ms late, has `offered` requests a millisecond, of which `served`
    /// can be; how many it sends in each second.
    fn live(control: &mut Control, from: u64, seconds: u64, offered: u32, served: u32) -> Vec<u32> {
        let mut losses = std::collections::VecDeque::from(vec![control.loss(); 20]);
        let mut saved = 0;
        let mut second = |control: &mut Control, at: u64| {
            let mut sent = 0;
            for ms in at..at + SECOND {
                let loss = losses.pop_front().unwrap_or_default();
                saved += offered * u32::from(100 - loss);
                let now = START + Duration::from_millis(ms);
                for n in 0..saved / 100 {
                    control.count(now, EMPTY, n >= served);
                }
                sent += saved / 100;
                saved %= 100;
                losses.push_back(control.loss());
            }
            sent
        };
        (0..seconds).map(|n| second(control, from + n * SECOND)).collect()
    }

    #[test]
    fn a_neighbour_that_obeys_sends_a_little_more_than_can_be_served() {
        for offered in [45, 80, 160, 800] {
            let mut control = Control::default();
            let sent = live(&mut control, 0, 8, offered, 40);
            for &sent in &sent[4..] {
                // A hundredth of what is offered is the finest step.
                let most = 40_000 * 110 / 100 + offered * 10;
                assert!((40_000 * 98 / 100..=most).contains(&sent), "{offered}: {sent} of {most}");
            }
        }
        let mut control = Control::default();
        assert_eq!(live(&mut control, 0, 2, 40, 40), [40_000; 2]);
        assert!(control.params.is_empty());
    }

    #[test]
    fn more_is_asked_for_as_soon_as_more_can_be_served_and_silence_ends_it() {
        let via = via("SIP/2.0/UDP h:5060;branch=z9hG4bK1;oc;oc-algo=\"A,loss\"");
        let mut control = Control::default();
        let _ = live(&mut control, 0, 4, 160, 40);
        let now = START + Duration::from_millis(4 * SECOND);
        assert!(control.answer(now, &via).starts_with(b";oc=7"));
        let late = now + VALIDITY;
        assert_eq!(control.answer(late, &via), b"");
        let sent = live(&mut control, 4 * SECOND, 4, 160, 160);
        assert_eq!((control.loss(), sent[3]), (0, 160_000));
        let _ = live(&mut control, 8 * SECOND, 2, 160, 40);
        assert!(control.loss() > 60);
        control.count(START + Duration::from_secs(11), EMPTY, true);
        assert_eq!(control.loss(), 0, "nothing came for a second");
    }

    fn via(text: &str) -> Via<'_> {
        Via::parse(text.as_bytes()).expect("a Via")
    }
}
