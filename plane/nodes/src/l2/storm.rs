//! Storm control: how many flooded frames a member may send a second.

use machine::Time;

/// What a member may flood at once: a tenth of a second's frames, and this at least.
const BURST_MIN: u64 = 16;
const SECOND: u64 = 1_000_000_000;

/// One worker's state of every member: when its bucket would be full again, nanoseconds.
#[derive(Default)]
pub(crate) struct Storms {
    full_at: Vec<u64>,
}

impl Storms {
    /// Whether one more flooded frame of this port of the MAC table passes.
    pub(crate) fn passes(&mut self, port: u32, pps: u32, now: Time) -> bool {
        let Some(price) = SECOND.checked_div(u64::from(pps)) else { return true };
        let burst = (SECOND / 10).max(price * BURST_MIN);
        let at = port as usize;
        if self.full_at.len() <= at {
            self.full_at.resize(at + 1, 0);
        }
        let full_at = self.full_at[at].max(now.as_nanos());
        let passes = full_at + price <= now.as_nanos() + burst;
        if passes {
            self.full_at[at] = full_at + price;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_floods_its_burst_and_then_its_rate() {
        let mut storms = Storms::default();
        let second: usize =
            (0..20_000).filter(|n| storms.passes(7, 1_000, Time::from_nanos(n * 50_000))).count();
        assert!((1_095..=1_101).contains(&second), "{second}");
        assert!((0..1_000).all(|_| storms.passes(8, 0, Time::ZERO)), "no limit");
    }
}
