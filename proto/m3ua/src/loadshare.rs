//! Which ASP gets which flow: every value of SLS has an owner (RFC 4666 §1.4.2.4, §4.3.4.3).
//!
//! Owners are even within each sixteen values in a row, so that networks with four bits of SLS
//! share as evenly as those with eight. When an ASP comes or goes, only as many flows change
//! their owner as must: the order within the others is not at stake.

const FLOWS: usize = 256;
/// Values that a network with four bits of SLS uses.
const ROW: usize = 16;
const NOBODY: u16 = u16::MAX;

/// The owner of each flow, as an index into the members of an Application Server.
#[derive(Debug, Clone)]
pub(crate) struct Flows {
    owners: [u16; FLOWS],
}

/// A member as an owner; no Application Server has so many that it could be `NOBODY`.
fn owner(member: usize) -> u16 {
    u16::try_from(member).unwrap_or(NOBODY)
}

/// How many flows each of `active` has, in a row and in all rows before it.
struct Shares {
    row: Vec<usize>,
    all: Vec<usize>,
}

impl Flows {
    pub(crate) const fn new() -> Self {
        Self { owners: [NOBODY; FLOWS] }
    }

    #[inline]
    pub(crate) fn owner(&self, sls: u8) -> Option<usize> {
        let owner = self.owners[usize::from(sls)];
        (owner != NOBODY).then_some(usize::from(owner))
    }

    /// The member at `index` is taken out of the list: those behind it move up.
    pub(crate) fn forget(&mut self, index: usize) {
        for owner in &mut self.owners {
            match usize::from(*owner) {
                same if same == index => *owner = NOBODY,
                behind if behind > index && *owner != NOBODY => *owner -= 1,
                _ => {}
            }
        }
    }

    /// Deals the flows to the members that are active now, given by their indexes.
    pub(crate) fn deal(&mut self, active: &[usize]) {
        for owner in &mut self.owners {
            if !active.contains(&usize::from(*owner)) {
                *owner = NOBODY;
            }
        }
        if active.is_empty() {
            return;
        }
        for row in 0..FLOWS / ROW {
            self.deal_orphans(row, active);
            self.level(row, active);
        }
    }

    fn shares(&self, row: usize, active: &[usize]) -> Shares {
        let count = |owners: &[u16]| {
            let has = |who: &usize| owners.iter().filter(|at| usize::from(**at) == *who).count();
            active.iter().map(has).collect()
        };
        Shares {
            row: count(&self.owners[row * ROW..(row + 1) * ROW]),
            all: count(&self.owners[..row * ROW]),
        }
    }

    /// Flows without an owner go to whoever has the fewest.
    fn deal_orphans(&mut self, row: usize, active: &[usize]) {
        let mut shares = self.shares(row, active);
        for flow in row * ROW..(row + 1) * ROW {
            if self.owners[flow] == NOBODY {
                let to = shares.poorest();
                shares.row[to] += 1;
                self.owners[flow] = owner(active[to]);
            }
        }
    }

    /// Moves flows from the richest to the poorest until the row is even, and all as even as
    /// that allows.
    fn level(&mut self, row: usize, active: &[usize]) {
        let mut shares = self.shares(row, active);
        for _ in 0..ROW {
            let (from, to) = (shares.richest(), shares.poorest());
            let gap = shares.row[from] - shares.row[to];
            let evens_all = gap == 1 && shares.all[from] > shares.all[to] + 1;
            if gap < 2 && !evens_all {
                return;
            }
            let rich = active[from];
            let mut flows = row * ROW..(row + 1) * ROW;
            let Some(flow) = flows.find(|flow| usize::from(self.owners[*flow]) == rich) else {
                return;
            };
            self.owners[flow] = owner(active[to]);
            shares.row[from] -= 1;
            shares.row[to] += 1;
            if evens_all {
                return;
            }
        }
    }
}

impl Shares {
    fn poorest(&self) -> usize {
        let key = |index: &usize| (self.row[*index], self.all[*index], *index);
        (0..self.row.len()).min_by_key(key).unwrap_or(0)
    }

    fn richest(&self) -> usize {
        let key = |index: &usize| (self.row[*index], self.all[*index], usize::MAX - *index);
        (0..self.row.len()).max_by_key(key).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(flows: &Flows, active: &[usize], values: usize) -> usize {
        let has = |who: &usize| {
            flows.owners[..values].iter().filter(|at| usize::from(**at) == *who).count()
        };
        let counts: Vec<usize> = active.iter().map(has).collect();
        counts.iter().max().unwrap() - counts.iter().min().unwrap()
    }

    #[test]
    fn flows_are_even_for_four_bits_of_sls_and_for_eight() {
        for asps in 1..=20 {
            let active: Vec<usize> = (0..asps).collect();
            let mut flows = Flows::new();
            for upto in 1..=asps {
                flows.deal(&active[..upto]);
            }
            assert!(spread(&flows, &active, 16) <= 1, "{asps} ASPs, 16 values");
            assert!(spread(&flows, &active, 256) <= 2, "{asps} ASPs, 256 values");
        }
    }

    #[test]
    fn when_an_asp_goes_only_its_flows_move() {
        let mut flows = Flows::new();
        flows.deal(&[0, 1, 2, 3]);
        let before = flows.clone();
        flows.deal(&[0, 1, 3]);
        for (was, is) in before.owners.iter().zip(flows.owners) {
            assert!(*was == is || *was == 2, "a flow of {was} moved to {is}");
        }
        assert!(spread(&flows, &[0, 1, 3], 256) <= 2);
    }

    #[test]
    fn a_member_taken_out_of_the_list_leaves_the_others_their_flows() {
        let mut flows = Flows::new();
        flows.deal(&[0, 1, 2]);
        let of_two = (0..=255).filter(|sls| flows.owner(*sls) == Some(2)).count();
        flows.forget(1);
        let now_one = (0..=255).filter(|sls| flows.owner(*sls) == Some(1)).count();
        assert_eq!(of_two, now_one);
        assert!((0..=255).any(|sls| flows.owner(sls).is_none()));
    }
}
