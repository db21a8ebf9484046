//! Addresses that others say are theirs while nobody controls this forwarder. Where the control has
//! given somebody a proof, nobody else is believed. Else one frame proves nothing, for anybody may
//! send it: who goes on saying it is believed (after RFC 5227 §2.4).

use machine::{Duration, Time};
use nodes::program::Mac;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// So often it is said, at least, …
const TIMES: u8 = 3;
/// … and from the first to the last time for so long. Who takes an address over says so five times
/// within three seconds.
const LASTS: Duration = Duration::from_millis(900);
/// Addresses that are looked at; own ones alone are claimed.
const CLAIMS_MAX: usize = 256;
/// Who may claim one of them at once; a further one takes the place of who has not said so for the
/// longest time.
const OF_ONE_MAX: usize = 8;

#[derive(Debug, Clone, Copy)]
struct Claim {
    mac: Mac,
    since: Time,
    last: Time,
    times: u8,
}

/// What is kept for the control that comes next.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// What the one before left.
    pub(crate) memo: Vec<u8>,
    /// Whether another system has taken an address since.
    pub(crate) is_taken: bool,
    /// The highest epoch that a control has led in.
    pub(crate) epoch: u64,
    pub(crate) claims: Claims,
}

impl Kept {
    /// A control leaves something else.
    pub(crate) fn keep(&mut self, memo: Vec<u8>) {
        (self.memo, self.is_taken) = (memo, false);
    }
}

/// What was claimed since a control stood.
#[derive(Debug, Default)]
pub(crate) struct Claims(BTreeMap<(u32, IpAddr), Vec<Claim>>);

impl Claims {
    /// A control stands: what was said before counts no more.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }

    /// Whether a claim is believed that was proved, or not, or for which there is no proof.
    pub(crate) fn is_believed(
        &mut self,
        of: (u32, IpAddr),
        mac: Mac,
        is_proved: Option<bool>,
        now: Time,
    ) -> bool {
        is_proved.unwrap_or_else(|| self.persists(of, mac, now))
    }

    /// Takes a claim; whether it has been made often enough by now.
    fn persists(&mut self, of: (u32, IpAddr), mac: Mac, now: Time) -> bool {
        if !self.0.contains_key(&of) && self.0.len() >= CLAIMS_MAX {
            return false;
        }
        let claims = self.0.entry(of).or_default();
        let at = claims.iter().position(|claim| claim.mac == mac).unwrap_or_else(|| {
            if claims.len() >= OF_ONE_MAX
                && let Some((oldest, _)) = claims.iter().enumerate().min_by_key(|(_, it)| it.last)
            {
                claims.swap_remove(oldest);
            }
            claims.push(Claim { mac, since: now, last: now, times: 0 });
            claims.len() - 1
        });
        let claim = &mut claims[at];
        claim.last = now;
        claim.times = claim.times.saturating_add(1);
        claim.times >= TIMES && now >= claim.since + LASTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_frame_takes_no_address_and_who_goes_on_saying_so_does() {
        let (mut claims, of) = (Claims::default(), (1, IpAddr::from([192, 0, 2, 1])));
        let mut claims_at =
            |mac: u8, ms: u64| claims.persists(of, [2, 0, 0, 0, 0, mac], Time::from_millis(ms));
        // As often as one likes, but at once.
        assert!((0..100).all(|at| !claims_at(1, at)));
        // Of two who say so in turn the one that goes on is believed, and not for the other's
        // frames.
        assert!(!claims_at(2, 950) && !claims_at(3, 960) && !claims_at(2, 970));
        assert!(claims_at(1, 980) && !claims_at(2, 990) && !claims_at(3, 2_000));
        // As a node announces that takes over.
        let announced = [2_020, 2_100, 2_500, 3_000].map(|at| claims_at(9, at));
        assert_eq!(announced, [false, false, false, true]);
        claims.forget();
        assert!(!claims.persists(of, [2, 0, 0, 0, 0, 1], Time::from_millis(5_000)));
    }

    #[test]
    fn who_goes_on_saying_so_takes_no_address_of_which_another_one_has_the_proof() {
        let (mut claims, of) = (Claims::default(), (1, IpAddr::from([192, 0, 2, 1])));
        let mut takes = |is_proved, ms| {
            claims.is_believed(of, [2, 0, 0, 0, 0, 1], is_proved, Time::from_millis(ms))
        };
        assert!((0..100).all(|at| !takes(Some(false), at * 100)));
        assert!(takes(Some(true), 20_000), "and that one at once");
        let without = [30_000, 30_500, 31_000].map(|at| takes(None, at));
        assert_eq!(without, [false, false, true], "where nobody has one");
    }
}
