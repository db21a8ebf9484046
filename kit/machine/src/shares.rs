//! Room that many share: nobody has more of it than is left for all others, so that the sum keeps
//! its limit and a newcomer finds some, until a dozen have halved what was left (Choudhury and
//! Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
//! Transactions on Networking 6(2), 1998, with a factor of 1).

use std::collections::BTreeMap;

/// What each holder has, in any unit.
#[derive(Debug)]
pub struct Shares<K> {
    held: BTreeMap<K, usize>,
    sum: usize,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Self { held: BTreeMap::new(), sum: 0 }
    }
}

impl<K: Ord> Shares<K> {
    /// Takes so much of `max`; false when the holder would have more than is left.
    pub fn take(&mut self, holder: K, amount: usize, max: usize) -> bool {
        let left = max.saturating_sub(self.sum);
        let held = self.of(&holder).saturating_add(amount);
        if held > left {
            return false;
        }
        self.held.insert(holder, held);
        self.sum += amount;
        true
    }

    /// Gives so much back, of what the holder has.
    pub fn give_back(&mut self, holder: &K, amount: usize) {
        let Some(held) = self.held.get_mut(holder) else { return };
        let amount = amount.min(*held);
        *held -= amount;
        self.sum -= amount;
        if *held == 0 {
            self.held.remove(holder);
        }
    }

    /// All give back all.
    pub fn clear(&mut self) {
        self.held.clear();
        self.sum = 0;
    }

    /// What a holder has.
    pub fn of(&self, holder: &K) -> usize {
        self.held.get(holder).copied().unwrap_or(0)
    }

    /// Who has most, and how much.
    #[must_use]
    pub fn most(&self) -> Option<(&K, usize)> {
        self.held.iter().map(|(holder, &held)| (holder, held)).max_by_key(|it| it.1)
    }

    /// What all have together.
    #[must_use]
    pub const fn sum(&self) -> usize {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fills_the_room_leaves_as_much_to_others_as_it_has() {
        let mut shares = Shares::default();
        let fill = |shares: &mut Shares<u8>, holder| {
            (0..).take_while(|_| shares.take(holder, 1, 1_000)).count()
        };
        assert_eq!(fill(&mut shares, 1), 500);
        assert_eq!(fill(&mut shares, 2), 250);
        assert!(shares.take(3, 125, 1_000) && !shares.take(4, 126, 1_000));
        assert_eq!(shares.sum(), 875);
        assert_eq!((shares.most(), shares.of(&2), shares.of(&9)), (Some((&1, 500)), 250, 0));
        shares.give_back(&1, 400);
        assert!(shares.take(4, 260, 1_000), "what is given back is others'");
    }

    #[test]
    fn what_comes_back_is_never_more_than_what_was_taken() {
        let mut shares = Shares::default();
        assert!(shares.take("a", 10, 100));
        shares.give_back(&"b", 5);
        shares.give_back(&"a", 50);
        assert_eq!(shares.sum(), 0);
        assert!(shares.take("a", 50, 100) && !shares.take("b", usize::MAX, 100));
        shares.clear();
        assert_eq!(shares.sum(), 0);
    }
}
