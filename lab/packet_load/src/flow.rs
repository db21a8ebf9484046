//! What came of one flow: which numbers were there, in which order (RFC 4737, RFC 5236).

/// How far behind the next expected packet one may come and still be told from a duplicate; what
/// is further behind counts as lost, and as too late.
pub const WINDOW: u32 = 64;

/// What was received of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flow {
    /// Which of the last [`WINDOW`] numbers were there; the lowest bit is the latest.
    window: u64,
    /// The next number in order (RFC 4737 §3.3: NextExp).
    next: u32,
    /// Different packets.
    pub(crate) received: u32,
}

/// How a packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// As the next, or a later one after so many that are missing.
    InOrder { missing: u32 },
    /// After one with a higher number; it is this far behind the next expected one.
    Reordered { behind: u32 },
    /// Once more.
    Duplicate,
    /// Further behind than what is kept.
    TooLate,
}

impl Flow {
    #[inline]
    pub(crate) fn arrive(&mut self, sequence: u32) -> Arrival {
        let ahead = sequence.wrapping_sub(self.next);
        if ahead < 1 << 31 {
            let shift = ahead.saturating_add(1);
            self.window = if shift >= WINDOW { 1 } else { self.window << shift | 1 };
            self.next = sequence.wrapping_add(1);
            self.received += 1;
            return Arrival::InOrder { missing: ahead };
        }
        let behind = self.next.wrapping_sub(sequence);
        if behind > WINDOW {
            return Arrival::TooLate;
        }
        let bit = 1 << (behind - 1);
        if self.window & bit != 0 {
            return Arrival::Duplicate;
        }
        self.window |= bit;
        self.received += 1;
        Arrival::Reordered { behind }
    }

    /// Of so many that were sent, those behind the last in order.
    pub(crate) const fn missing_behind(&self, sent: u32) -> u32 {
        sent.saturating_sub(self.next)
    }

    /// For the processor to fetch it.
    #[inline]
    pub(crate) const fn touch(&self) -> u32 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_counts_once_whatever_the_order() {
        let mut flow = Flow::default();
        let arrivals = [0, 1, 4, 2, 2, 4, 3].map(|sequence| flow.arrive(sequence));
        let wanted = [
            Arrival::InOrder { missing: 0 },
            Arrival::InOrder { missing: 0 },
            Arrival::InOrder { missing: 2 },
            Arrival::Reordered { behind: 3 },
            Arrival::Duplicate,
            Arrival::Duplicate,
            Arrival::Reordered { behind: 2 },
        ];
        assert_eq!((arrivals, flow.received), (wanted, 5));
    }

    #[test]
    fn what_is_too_far_behind_is_said_so() {
        let mut flow = Flow::default();
        assert_eq!(flow.arrive(100), Arrival::InOrder { missing: 100 });
        assert_eq!(flow.arrive(101 - WINDOW), Arrival::Reordered { behind: WINDOW });
        assert_eq!(flow.arrive(100 - WINDOW), Arrival::TooLate);
        assert_eq!(flow.received, 2);
    }

    #[test]
    fn numbers_go_on_after_the_last() {
        let mut flow = Flow { next: u32::MAX, ..Flow::default() };
        assert_eq!(flow.arrive(u32::MAX), Arrival::InOrder { missing: 0 });
        assert_eq!(flow.arrive(0), Arrival::InOrder { missing: 0 });
        assert_eq!(flow.arrive(u32::MAX), Arrival::Duplicate);
    }
}
