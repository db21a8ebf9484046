//! The pair of each component that the other side chose.

use super::effects::Pair;
use machine::{Duration, Time};

/// Components of an agent.
pub const COMPONENTS_MAX: u8 = 2;
/// A pair that was not checked for so long gives way to one of a lower priority: two checks of
/// consent and their spread are lost (RFC 7675 §5.1).
pub const STALE_AFTER: Duration = Duration::from_secs(15);

/// A pair that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) pair: Pair,
    priority: u64,
    checked: Time,
}

/// What was chosen, by component.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    chosen: [Option<Chosen>; COMPONENTS_MAX as usize],
}

/// The priority of a pair (RFC 8445 §6.1.2.3), of those of the controlling and the controlled side.
pub(super) fn priority(controlling: u32, controlled: u32) -> u64 {
    let (less, more) = (controlling.min(controlled), controlling.max(controlled));
    (u64::from(less) << 32) + 2 * u64::from(more) + u64::from(controlling > controlled)
}

impl Pairs {
    fn slot(&mut self, component: u8) -> Option<&mut Option<Chosen>> {
        self.chosen.get_mut(usize::from(component.checked_sub(1)?))
    }

    /// A pair was checked; if it is the one that was chosen, it is fresh.
    pub(super) fn checked(&mut self, now: Time, pair: Pair) {
        if let Some(Some(chosen)) = self.slot(pair.component)
            && chosen.pair == pair
        {
            chosen.checked = now;
        }
    }

    /// The other side chooses a pair; whether it is another one than before. One of a lower
    /// priority is not taken while the one that stands is checked: a side that chooses several
    /// means the best of them (RFC 8445 §8.1.1, RFC 5245 §8.1.1.2).
    pub(super) fn choose(&mut self, now: Time, pair: Pair, priority: u64) -> bool {
        let Some(slot) = self.slot(pair.component) else { return false };
        let (is_same, stays) = match slot {
            Some(it) => {
                let is_stale = now.since(it.checked) > STALE_AFTER;
                (it.pair == pair, it.priority > priority && !is_stale)
            }
            None => (false, false),
        };
        if is_same || !stays {
            *slot = Some(Chosen { pair, priority, checked: now });
        }
        !is_same && !stays
    }

    pub(super) fn chosen(&self, component: u8) -> Option<Pair> {
        let at = usize::from(component.checked_sub(1)?);
        self.chosen.get(at)?.map(|it| it.pair)
    }

    /// Nobody wants what is sent there any more.
    pub(super) fn forget(&mut self, pair: Pair) {
        if let Some(slot) = self.slot(pair.component)
            && slot.is_some_and(|it| it.pair == pair)
        {
            *slot = None;
        }
    }

    pub(super) fn clear(&mut self) {
        self.chosen = [None; COMPONENTS_MAX as usize];
    }
}
