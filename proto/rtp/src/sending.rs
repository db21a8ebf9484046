//! What a sender knows of its own stream, for its reports (RFC 3550 §6.4.1).

use crate::clock::{ClockRate, Ntp};
use crate::rtcp::SenderInfo;
use machine::Time;

/// A stream that is sent from here. 24 octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    rate: ClockRate,
    packets: u32,
    octets: u32,
    timestamp: u32,
    at: Time,
}

impl Sending {
    /// A stream of which nothing was sent yet.
    #[must_use]
    pub const fn new(rate: ClockRate) -> Self {
        Self { rate, packets: 0, octets: 0, timestamp: 0, at: Time::ZERO }
    }

    /// A packet left: its timestamp, and how many octets of payload it has.
    #[inline]
    pub fn packet(&mut self, now: Time, timestamp: u32, payload_octets: u16) {
        self.packets = self.packets.wrapping_add(1);
        self.octets = self.octets.wrapping_add(u32::from(payload_octets));
        (self.timestamp, self.at) = (timestamp, now);
    }

    /// What a report says at `now`; `None` before the first packet. The timestamp is what the
    /// stream's clock shows then, which is later than the last packet's.
    #[must_use]
    pub fn report(&self, now: Time) -> Option<SenderInfo> {
        let since = self.rate.ticks(now).wrapping_sub(self.rate.ticks(self.at));
        (self.packets > 0).then(|| SenderInfo {
            ntp: Ntp::of(now),
            timestamp: self.timestamp.wrapping_add(since),
            packets: self.packets,
            octets: self.octets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_left_and_what_the_clock_shows() {
        let mut sending = Sending::new(ClockRate::TELEPHONY);
        assert_eq!(sending.report(Time::ZERO), None);
        let start = Time::from_millis(1_000_000);
        sending.packet(start, u32::MAX - 79, 160);
        sending.packet(Time::from_millis(1_000_020), 80, 160);
        let report = sending.report(Time::from_millis(1_000_070)).unwrap();
        assert_eq!((report.packets, report.octets, report.timestamp), (2, 320, 480));
        assert_eq!(report.ntp, Ntp::of(Time::from_millis(1_000_070)));
    }
}
