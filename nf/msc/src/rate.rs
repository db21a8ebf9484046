//! Packets a second over the last few seconds: of one of many flows the forwarder tells what passed
//! every five seconds, so that in most seconds it tells nothing.

/// Seconds that a rate is of: two tellings of every flow.
const SECONDS: usize = 10;

/// What passed in each of the last seconds.
#[derive(Debug, Default)]
pub(crate) struct PacketRate {
    passed: [u64; SECONDS],
    /// Seconds since it began.
    seconds: usize,
}

impl PacketRate {
    /// A second is over in which so many were told of.
    pub fn add(&mut self, packets: u64) {
        self.passed[self.seconds % SECONDS] = packets;
        self.seconds += 1;
    }

    /// Packets a second; of the time since it began, while that is shorter.
    pub fn per_s(&self) -> u64 {
        let seconds = self.seconds.clamp(1, SECONDS) as u64;
        self.passed.iter().sum::<u64>() / seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_every_five_seconds_is_a_rate_in_each_of_them() {
        let mut rate = PacketRate::default();
        assert_eq!(rate.per_s(), 0);
        for second in 1..=60_u64 {
            rate.add(if second.is_multiple_of(5) { 250 } else { 0 });
            assert!(second < 10 || rate.per_s() == 50, "{second}");
        }
        (0..10).for_each(|_| rate.add(0));
        assert_eq!(rate.per_s(), 0, "the call is over");
    }
}
