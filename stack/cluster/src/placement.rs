//! Where partitions shall be: what the coordinator makes of who is there, moving as few as it can.
//!
//! ```text
//!   active dead        the standby serves; without one whoever has least does, with nothing
//!   standby wanting    a node joins, is filled, and is the standby then
//!   one has too many   it moves one to who has too few: that one joins, and they change places
//! ```

use crate::node::{NodeId, NodeSet, Partition, PartitionSet};
use crate::table::{Row, Table};
use std::collections::BTreeMap;

/// Partitions that are on their way between nodes for balance, at most: each is filled once more.
const MOVES_MAX: usize = 4;

/// What the coordinator knows of a node that is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Member {
    /// Its share of the load; zero: it votes, and serves nothing.
    pub weight: u8,
    /// It is to serve nothing.
    pub drains: bool,
    /// Whether it acts by the table as it is, so that what follows holds of that.
    pub is_current: bool,
    /// Partitions that it serves.
    pub serving: PartitionSet,
    /// Those of them whose joining node has everything.
    pub filled: PartitionSet,
    /// Those of them whose standby or joining node does not follow.
    pub behind: PartitionSet,
    /// Partitions that the table gives to it from an earlier life, of which it has nothing.
    pub void: PartitionSet,
    /// Nodes that it hears.
    pub hears: NodeSet,
}

impl Member {
    const fn share(&self) -> u32 {
        if self.drains { 0 } else { self.weight as u32 }
    }
}

/// The nodes that are there.
pub type Members = BTreeMap<NodeId, Member>;

/// Changes the table to what it shall be; whether there was something to change. `is_settled`: the
/// table holds, so that partitions may move for more than need.
pub fn place(table: &mut Table, members: &Members, is_settled: bool) -> bool {
    let before = table.clone();
    for partition in Partition::all() {
        bury(table, partition, members);
    }
    if is_settled {
        for partition in Partition::all() {
            follow(table, partition, members);
        }
        for partition in Partition::all() {
            stand_by(table, partition, members);
        }
        balance(table, members);
    }
    *table != before
}

/// How many partitions a node serves, and for how many it stands by or will.
fn counts(table: &Table, node: NodeId) -> (u32, u32) {
    table.rows().fold((0, 0), |(active, standby), (_, row)| {
        let stands = row.joining.or(row.standby) == Some(node);
        (active + u32::from(row.active == Some(node)), standby + u32::from(stands))
    })
}

/// Who of those has least for its share, by what `count` counts.
fn least(
    table: &Table,
    of: impl Iterator<Item = (NodeId, Member)>,
    count: fn((u32, u32)) -> u32,
) -> Option<NodeId> {
    let load = |node, share: u32| u64::from(count(counts(table, node))) * 1_000 / u64::from(share);
    let with = of.filter(|it| it.1.share() > 0);
    with.min_by_key(|(node, it)| (load(*node, it.share()), *node)).map(|it| it.0)
}

fn all(members: &Members) -> impl Iterator<Item = (NodeId, Member)> {
    members.iter().map(|(node, it)| (*node, *it))
}

/// What dead nodes had.
fn bury(table: &mut Table, partition: Partition, members: &Members) {
    let has = |it: &Member| !it.void.has(partition);
    let is_there = |it: Option<NodeId>| it.filter(|node| members.get(node).is_some_and(has));
    let row = *table.row(partition);
    let mut next = Row {
        standby: is_there(row.standby),
        joining: is_there(row.joining),
        from: is_there(row.from),
        ..row
    };
    if is_there(row.active).is_none() {
        let heir = next.standby.or(next.joining);
        let heir = heir.or_else(|| least(table, all(members), |it| it.0));
        if let Some(heir) = heir {
            next.active = Some(heir);
            next.epoch = row.epoch.wrapping_add(1);
            let is_other = |it: &NodeId| *it != heir;
            next.standby = next.standby.filter(is_other);
            // Whoever was being filled has what a dead one told: it begins anew.
            (next.joining, next.from) = (None, None);
        }
    }
    *table.row_mut(partition) = next;
}

/// What nodes say of the partitions that they serve.
fn follow(table: &mut Table, partition: Partition, members: &Members) {
    let row = table.row_mut(partition);
    let Some(active) = row.active.and_then(|it| members.get(&it)) else { return };
    if !active.is_current {
        return;
    }
    if active.serving.has(partition) {
        row.from = None;
    }
    if active.behind.has(partition) {
        (row.standby, row.joining) = (None, None);
    }
    if active.filled.has(partition) && row.joining.is_some() {
        (row.standby, row.joining) = (row.joining, None);
        row.standby_fill = row.joining_fill;
    }
}

/// Somebody joins where nobody stands by, or who does shall serve nothing.
fn stand_by(table: &mut Table, partition: Partition, members: &Members) {
    let row = *table.row(partition);
    let Some((active, member)) = row.active.and_then(|it| Some((it, members.get(&it)?))) else {
        return;
    };
    let may_stay = |it: NodeId| members.get(&it).is_some_and(|it| it.share() > 0);
    if row.from.is_some() || row.joining.is_some() || row.standby.is_some_and(may_stay) {
        return;
    }
    let fits = |it: &(NodeId, Member)| {
        it.0 != active && Some(it.0) != row.standby && member.hears.has(it.0)
    };
    // Of what one node serves the standbys are many: what it leaves is shared by these.
    let order = |it: &(NodeId, Member)| {
        let stands = |row: &Row| row.joining.or(row.standby) == Some(it.0);
        let pair = table.rows().filter(|(_, row)| row.active == Some(active) && stands(row));
        let load = counts(table, it.0).1 * 1_000 / it.1.share();
        (pair.count() * 1_000 / it.1.share() as usize, load, it.0)
    };
    let able = all(members).filter(fits).filter(|it| it.1.share() > 0);
    let found = able.min_by_key(order).map(|it| it.0);
    if let Some(node) = found {
        table.row_mut(partition).join(node);
    }
}

/// How many partitions a node shall serve, at least and at most.
fn target(members: &Members, member: &Member) -> (u32, u32) {
    let sum: u32 = members.values().map(Member::share).sum();
    let all = u32::from(crate::PARTITIONS) * member.share();
    match sum {
        0 => (0, u32::MAX),
        _ => (all / sum, all.div_ceil(sum)),
    }
}

/// Moves a few partitions from who has too many to who has too few.
fn balance(table: &mut Table, members: &Members) {
    let is_settled = |row: &Row| row.joining.is_none() && row.from.is_none();
    for _ in 0..MOVES_MAX {
        let moving = table.rows().filter(|(_, row)| !is_settled(row)).count();
        if moving >= MOVES_MAX || !change_places(table, members) {
            break;
        }
    }
    if table.rows().all(|(_, row)| is_settled(row)) {
        balance_standbys(table, members);
    }
}

/// The node that is most beyond its target, and the one that is most below it.
fn uneven(table: &Table, members: &Members) -> Option<(NodeId, NodeId)> {
    let state = |node: NodeId, it: &Member| {
        let (least, most) = target(members, it);
        let has = counts(table, node).0;
        (has.saturating_sub(most), has.saturating_sub(least), least.saturating_sub(has), has)
    };
    let all = || members.iter().map(|(node, it)| (*node, state(*node, it), it.share()));
    let over = all().max_by_key(|it| (it.1.0, it.1.1, it.0))?;
    let under = all().filter(|it| it.2 > 0).max_by_key(|it| (it.1.2, u32::MAX - it.1.3))?;
    let is_uneven = over.1.0 > 0 || (over.1.1 > 0 && under.1.2 > 0);
    (is_uneven && over.0 != under.0).then_some((over.0, under.0))
}

/// Moves one partition, or prepares that; whether there was one to move.
fn change_places(table: &mut Table, members: &Members) -> bool {
    let Some((over, under)) = uneven(table, members) else { return false };
    let rows = || table.rows().filter(|(_, row)| row.active == Some(over) && row.from.is_none());
    let ready = rows().find(|(_, row)| row.standby == Some(under) && row.joining.is_none());
    if let Some(partition) = ready.map(|it| it.0) {
        let row = table.row_mut(partition);
        let epoch = row.epoch.wrapping_add(1);
        let (active, standby, from) = (Some(under), Some(over), Some(over));
        let standby_fill = row.next_fill();
        *row = Row { active, standby, joining: None, from, epoch, standby_fill, ..*row };
        return true;
    }
    // Those that are being filled at that node will change places then.
    let hears = members.get(&over).is_some_and(|it| it.hears.has(under));
    let is_coming = rows().any(|(_, row)| row.joining == Some(under));
    let next = rows().find(|(_, row)| row.joining.is_none());
    match next.map(|it| it.0).filter(|_| hears && !is_coming) {
        Some(partition) => {
            table.row_mut(partition).join(under);
            true
        }
        None => false,
    }
}

/// Who stands by for two more than another one leaves one to it.
fn balance_standbys(table: &mut Table, members: &Members) {
    let with = || members.iter().filter(|(_, it)| it.share() > 0);
    let load = |node: &NodeId, it: &Member| counts(table, *node).1 * 100 / it.share();
    let Some((over, most)) = with().map(|(n, it)| (*n, load(n, it))).max_by_key(|it| it.1) else {
        return;
    };
    let below = with().map(|(node, it)| (*node, load(node, it), 100 / it.share()));
    let below = below.filter(|(_, load, one)| load + one * 2 <= most);
    let Some((under, ..)) = below.min_by_key(|it| it.1) else { return };
    let fits = |row: &Row| {
        let hears = row.active.and_then(|it| members.get(&it)).is_some_and(|it| it.hears.has(under));
        row.standby == Some(over) && row.active != Some(under) && hears
    };
    let found = table.rows().find(|(_, row)| fits(row)).map(|it| it.0);
    if let Some(partition) = found {
        table.row_mut(partition).join(under);
    }
}
