//! The buckets of a group: which member has which. A hash chooses a bucket; members have buckets
//! by their weights, and when one is lost or comes back, only its own buckets move.
//!
//! Seats are given by Sainte-Laguë's method: the next bucket goes to the member with the largest
//! weight / (2 held + 1). It never takes a seat from one member for another when a third goes.

/// One way out of a group, after groups within the group are taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// The hop whose line is used.
    pub(crate) hop: u32,
    /// Its part of the traffic.
    pub(crate) weight: u64,
    /// Whether it may be used.
    pub(crate) is_up: bool,
    /// The guard of who is there; 0: none.
    pub(crate) guard: u16,
}

/// Buckets of a group at least and at most.
const BUCKETS_MIN: usize = 64;
pub(crate) const BUCKETS_MAX: usize = 1024;
/// Buckets for each member at least, while the most are not reached.
const BUCKETS_PER_MEMBER: usize = 16;

/// Buckets for so many members.
pub(crate) fn buckets_for(members: usize) -> usize {
    let wanted = members.saturating_mul(BUCKETS_PER_MEMBER).next_power_of_two();
    wanted.clamp(BUCKETS_MIN, BUCKETS_MAX)
}

/// The same buckets with twice as many, or more: a hash finds the member it found before.
pub(crate) fn grow(buckets: &mut Vec<u32>, count: usize) {
    let before = buckets.len();
    if before == 0 {
        buckets.resize(count, NOBODY);
        return;
    }
    for at in before..count {
        buckets.push(buckets[at & (before - 1)]);
    }
}

/// A bucket that no member has.
const NOBODY: u32 = u32::MAX;

/// Gives the buckets to those members that are up; to `nobody` if none is.
pub(crate) fn assign(buckets: &mut [u32], shares: &[Share], nobody: u32) {
    let alive: Vec<Share> =
        shares.iter().copied().filter(|share| share.is_up && share.weight > 0).collect();
    if alive.is_empty() {
        buckets.fill(nobody);
        return;
    }
    let mut held = vec![0_u64; alive.len()];
    let mut owner = Vec::with_capacity(buckets.len());
    for bucket in buckets.iter() {
        let at = alive.iter().position(|share| share.hop == *bucket);
        at.into_iter().for_each(|at| held[at] += 1);
        owner.push(at);
    }
    for nobodys in owner.iter_mut().filter(|owner| owner.is_none()) {
        let next = richest_claim(&alive, &held);
        held[next] += 1;
        *nobodys = Some(next);
    }
    balance(&alive, &mut held, &mut owner);
    for (bucket, owner) in buckets.iter_mut().zip(owner) {
        *bucket = owner.map_or(nobody, |at| alive[at].hop);
    }
}

/// Moves buckets from who has too many to who has too few: after a member came, or weights
/// changed.
fn balance(alive: &[Share], held: &mut [u64], owner: &mut [Option<usize>]) {
    // Buckets are taken from all over the table, so that what moves is spread.
    let mut at = 0;
    for _ in 0..owner.len() {
        let to = richest_claim(alive, held);
        let from = poorest_holding(alive, held);
        let claim = u128::from(alive[to].weight) * u128::from((2 * held[from]).saturating_sub(1));
        if to == from || claim <= u128::from(alive[from].weight) * u128::from(2 * held[to] + 1) {
            return;
        }
        while owner[at % owner.len()] != Some(from) {
            at += 1;
        }
        owner[at % owner.len()] = Some(to);
        held[from] -= 1;
        held[to] += 1;
    }
}

/// Who gets the next bucket: the largest weight / (2 held + 1), the first of equals.
fn richest_claim(alive: &[Share], held: &[u64]) -> usize {
    let claim =
        |at: usize, other: usize| u128::from(alive[at].weight) * u128::from(2 * held[other] + 1);
    (1..alive.len()).fold(0, |best, at| if claim(at, best) > claim(best, at) { at } else { best })
}

/// Who loses a bucket first: the smallest weight / (2 held - 1) of those who hold one.
fn poorest_holding(alive: &[Share], held: &[u64]) -> usize {
    let last = |at: usize, other: usize| {
        u128::from(alive[at].weight) * u128::from((2 * held[other]).saturating_sub(1))
    };
    let holders = (0..alive.len()).filter(|at| held[*at] > 0);
    holders
        .reduce(|worst, at| if last(at, worst) < last(worst, at) { at } else { worst })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(weights: &[u64]) -> Vec<Share> {
        let share = |(at, weight): (usize, &u64)| Share {
            hop: at as u32 + 10,
            weight: *weight,
            is_up: true,
            guard: 0,
        };
        weights.iter().enumerate().map(share).collect()
    }

    fn held(buckets: &[u32], hop: u32) -> usize {
        buckets.iter().filter(|bucket| **bucket == hop).count()
    }

    #[test]
    fn members_have_buckets_by_their_weights() {
        let mut buckets = vec![NOBODY; 256];
        assign(&mut buckets, &shares(&[1, 2, 5]), 1);
        assert_eq!([10, 11, 12].map(|hop| held(&buckets, hop)), [32, 64, 160]);
        assign(&mut buckets, &shares(&[1, 1]), 1);
        assert_eq!([10, 11].map(|hop| held(&buckets, hop)), [128, 128]);
        assign(&mut buckets, &[], 1);
        assert_eq!(held(&buckets, 1), 256);
    }

    #[test]
    fn only_the_buckets_of_the_lost_member_move_and_they_are_spread_again() {
        for members in 2..=64 {
            let mut shares = shares(&vec![3; members]);
            let mut buckets = vec![NOBODY; buckets_for(members)];
            assign(&mut buckets, &shares, 1);
            let before = buckets.clone();
            shares[members / 2].is_up = false;
            assign(&mut buckets, &shares, 1);
            let lost = shares[members / 2].hop;
            for (old, new) in before.iter().zip(&buckets) {
                assert!(*new != lost && (old == new || *old == lost), "{members} members");
            }
            let counts = shares.iter().filter(|share| share.is_up);
            let counts: Vec<usize> = counts.map(|share| held(&buckets, share.hop)).collect();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{members} members: {counts:?}");
            shares[members / 2].is_up = true;
            let lost_before = held(&before, lost);
            let without = buckets.clone();
            assign(&mut buckets, &shares, 1);
            let moved = without.iter().zip(&buckets).filter(|(old, new)| old != new).count();
            assert!(moved <= lost_before, "{members} members: {moved} of {lost_before}");
        }
    }

    #[test]
    fn a_table_grows_without_moving_a_flow() {
        let mut buckets = Vec::new();
        grow(&mut buckets, 64);
        assign(&mut buckets, &shares(&[1, 1, 1]), 1);
        let before = buckets.clone();
        grow(&mut buckets, 256);
        assert!((0..256).all(|hash| buckets[hash] == before[hash & 63]));
        assert_eq!([1, 4, 5, 64, 200].map(buckets_for), [64, 64, 128, 1024, 1024]);
    }
}
