//! Where partitions are: evenly, and moved no more than needed.

use cluster::placement::{Member, Members, place};
use cluster::{NodeId, NodeSet, Partition, PartitionSet, Table};

fn members(weights: &[u8]) -> Members {
    let node = |at: usize| NodeId::new(at as u8 + 1).unwrap();
    let hears: NodeSet = (0..16).map(node).collect();
    let member = |weight: &u8| Member { weight: *weight, is_current: true, hears, ..Member::default() };
    weights.iter().enumerate().map(|(at, it)| (node(at), member(it))).collect()
}

/// Places until nothing changes; nodes do at once what they are told. How many changed owner.
fn rest(table: &mut Table, members: &mut Members) -> usize {
    let before = table.clone();
    for _ in 0..500 {
        for (node, member) in members.iter_mut() {
            let of = |wanted: fn(&cluster::Row) -> bool| -> PartitionSet {
                let rows = table.rows().filter(|(_, it)| it.active == Some(*node) && wanted(it));
                rows.map(|it| it.0).collect()
            };
            member.serving = of(|_| true);
            member.filled = of(|it| it.joining.is_some());
        }
        if !place(table, members, true) {
            let moved = |it: &Partition| table.row(*it).active != before.row(*it).active;
            return Partition::all().filter(moved).count();
        }
    }
    panic!("it does not come to rest");
}

fn counts(table: &Table, members: &Members) -> Vec<usize> {
    let of = |node: &NodeId| table.rows().filter(|it| it.1.active == Some(*node)).count();
    members.keys().map(of).collect()
}

#[test]
fn shares_follow_the_weights() {
    for weights in [&[1, 1][..], &[1, 1, 1], &[2, 1], &[1, 1, 0], &[3, 2, 1], &[1; 16]] {
        let (mut table, mut members) = (Table::default(), members(weights));
        rest(&mut table, &mut members);
        let sum: usize = weights.iter().map(|it| usize::from(*it)).sum();
        for (count, weight) in counts(&table, &members).iter().zip(weights) {
            assert_eq!(*count, 48 * usize::from(*weight) / sum, "{weights:?}");
        }
    }
}

#[test]
fn a_node_that_comes_gets_its_share_and_nothing_else_moves() {
    for count in 1..16 {
        let (mut table, mut few) = (Table::default(), members(&vec![1; count]));
        rest(&mut table, &mut few);
        let mut more = members(&vec![1; count + 1]);
        let moved = rest(&mut table, &mut more);
        assert!(moved <= 48_usize.div_ceil(count + 1), "{count}: {moved}");
    }
}

#[test]
fn a_node_that_dies_moves_what_it_had_and_nothing_else() {
    let (mut table, mut all) = (Table::default(), members(&[1; 6]));
    rest(&mut table, &mut all);
    all.remove(&NodeId::new(2).unwrap());
    assert!(rest(&mut table, &mut all) <= 8 + 4);
}
