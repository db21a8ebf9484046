//! What a step changed for the standby, and what it posts to other nodes of a cluster.

use crate::function::Effects;
use crate::grouped::{GroupId, NodeId};
use machine::narrow::place;

/// A piece of a snapshot that was told to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sliced {
    /// Whose.
    pub group: GroupId,
    /// Of which snapshot.
    pub number: u64,
    /// Where the next piece begins; `None`: everything was told.
    pub next: Option<u64>,
}

/// A message for the same function at another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Post<'a> {
    /// The node.
    pub to: NodeId,
    /// Its shard, modulo the number that it has.
    pub shard: u16,
    /// What was written.
    pub bytes: &'a [u8],
}

/// Changes for the standby.
#[derive(Debug, Default)]
pub(crate) struct Deltas {
    octets: Vec<u8>,
    /// Whose each is, and where it begins and ends.
    places: Vec<(GroupId, u32, u32)>,
    group: GroupId,
    mark: Option<u64>,
    /// Marks of groups; the last one of each flush counts.
    marks: Vec<(GroupId, u64)>,
    slices: Vec<Sliced>,
    lost: Vec<GroupId>,
    letters: Vec<u8>,
    /// Node, shard, begin and end of each post.
    posts: Vec<(NodeId, u16, u32, u32)>,
    lacks_some: bool,
    cannot_read: bool,
}

impl Effects {
    /// Deltas and marks that follow in this step belong to that group of a cluster. A function that
    /// is one of a pair has no need of it.
    pub const fn of(&mut self, group: GroupId) {
        self.deltas.group = group;
    }

    /// Tells the standby what `write` appends: a change of durable state. Deltas leave before the
    /// messages of the same flush.
    pub fn delta(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.deltas.octets.len();
        write(&mut self.deltas.octets);
        let end = self.deltas.octets.len();
        if end > start {
            self.deltas.places.push((self.deltas.group, place(start), place(end)));
        }
    }

    /// The changes for the standby, in order.
    pub fn deltas(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        let Deltas { octets, places, .. } = &self.deltas;
        places.iter().map(|&(_, start, end)| &octets[start as usize..end as usize])
    }

    /// The changes for the standbys, in order, and whose each is.
    pub fn group_deltas(&self) -> impl ExactSizeIterator<Item = (GroupId, &[u8])> + '_ {
        let Deltas { octets, places, .. } = &self.deltas;
        places.iter().map(|&(group, start, end)| (group, &octets[start as usize..end as usize]))
    }

    /// Says by [`crate::Mirrored::Followed`], or [`crate::Grouped::Followed`] of the group, when
    /// the standby has applied the deltas so far.
    pub fn mark(&mut self, mark: u64) {
        let Deltas { group, marks, .. } = &mut self.deltas;
        match marks.iter_mut().find(|(it, _)| it == group) {
            Some((_, last)) => *last = mark,
            None => marks.push((*group, mark)),
        }
        self.deltas.mark = Some(mark);
    }

    /// The last mark.
    #[must_use]
    pub const fn marked(&self) -> Option<u64> {
        self.deltas.mark
    }

    /// The last mark of each group that has one.
    pub fn group_marks(&self) -> impl Iterator<Item = (GroupId, u64)> + '_ {
        self.deltas.marks.iter().copied()
    }

    /// The piece that [`crate::Grouped::Slice`] asked for was told, as deltas of that group.
    pub fn sliced(&mut self, group: GroupId, number: u64, next: Option<u64>) {
        self.deltas.slices.push(Sliced { group, number, next });
    }

    /// The pieces that were told.
    #[must_use]
    pub fn slices(&self) -> &[Sliced] {
        &self.deltas.slices
    }

    /// This shard has lost what it knew of a group: its standby shall serve, if there is one.
    pub fn lost(&mut self, group: GroupId) {
        self.deltas.lost.push(group);
    }

    /// The groups that were lost.
    #[must_use]
    pub fn losses(&self) -> &[GroupId] {
        &self.deltas.lost
    }

    /// Tells the same function at another node what `write` appends, after the deltas of the same
    /// flush: it comes there as [`crate::Grouped::Post`], once and in order for as long as both
    /// nodes live, or back here as [`crate::Grouped::Returned`].
    pub fn post(&mut self, to: NodeId, shard: u16, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.deltas.letters.len();
        write(&mut self.deltas.letters);
        let end = self.deltas.letters.len();
        if end > start {
            self.deltas.posts.push((to, shard, place(start), place(end)));
        }
    }

    /// What is posted, in order.
    pub fn posts(&self) -> impl ExactSizeIterator<Item = Post<'_>> + '_ {
        let Deltas { letters, posts, .. } = &self.deltas;
        posts.iter().map(|&(to, shard, start, end)| Post {
            to,
            shard,
            bytes: &letters[start as usize..end as usize],
        })
    }

    /// This standby could not take all that it was told: it wants to be told everything anew.
    pub const fn ask_for_all(&mut self) {
        self.deltas.lacks_some = true;
    }

    /// Whether it does; once.
    pub const fn asks_for_all(&mut self) -> bool {
        core::mem::replace(&mut self.deltas.lacks_some, false)
    }

    /// This standby cannot read what it is told: it has nothing of it, and wants to be told no more
    /// for a while.
    pub const fn cannot_read(&mut self) {
        self.deltas.cannot_read = true;
    }

    /// Whether it cannot; once.
    pub const fn is_unreadable(&mut self) -> bool {
        core::mem::replace(&mut self.deltas.cannot_read, false)
    }

    /// Whether a standby, or another node, has something to be told.
    pub(crate) fn has_deltas(&self) -> bool {
        let Deltas { places, slices, lost, posts, mark, .. } = &self.deltas;
        !(places.is_empty() && slices.is_empty() && lost.is_empty() && posts.is_empty())
            || self.snapshot_ended.or(*mark).is_some()
    }

    /// Forgets the changes, once they were told.
    pub fn clear_deltas(&mut self) {
        self.deltas.octets.clear();
        self.deltas.places.clear();
        self.deltas.marks.clear();
        self.deltas.slices.clear();
        self.deltas.lost.clear();
        self.deltas.letters.clear();
        self.deltas.posts.clear();
        (self.snapshot_ended, self.deltas.mark) = (None, None);
        self.deltas.group = GroupId::default();
    }

    /// Whether the function asked for all.
    pub(crate) const fn lacks_some(&self) -> bool {
        self.deltas.lacks_some
    }

    /// Octets of the changes and of what is posted.
    pub(crate) fn delta_bytes(&self) -> usize {
        self.deltas.octets.len() + self.deltas.letters.len()
    }

    /// Forgets the changes, and that all was asked for.
    pub(crate) fn drop_deltas(&mut self) {
        self.clear_deltas();
        self.deltas.lacks_some = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_step_tells_belongs_to_the_group_that_was_named_before() {
        let (one, two, node) = (GroupId(1), GroupId(2), NodeId(7));
        let mut out = Effects::default();
        assert!(!out.has_deltas());
        out.of(two);
        out.delta(|b| b.push(20));
        out.mark(5);
        out.of(one);
        out.delta(|b| b.push(10));
        out.delta(|_| {});
        out.mark(6);
        out.mark(7);
        out.sliced(one, 3, Some(9));
        out.lost(two);
        out.post(node, 4, |b| b.push(1));
        out.post(node, 4, |_| {});
        let deltas: Vec<_> = out.group_deltas().collect();
        assert_eq!(deltas, [(two, &[20][..]), (one, &[10])]);
        assert_eq!(out.group_marks().collect::<Vec<_>>(), [(two, 5), (one, 7)]);
        assert_eq!(out.slices(), [Sliced { group: one, number: 3, next: Some(9) }]);
        assert_eq!(out.losses(), [two]);
        assert_eq!(out.posts().collect::<Vec<_>>(), [Post { to: node, shard: 4, bytes: &[1] }]);
        assert!(out.has_deltas());
        out.clear_deltas();
        assert!(!out.has_deltas() && out.posts().len() == 0 && out.losses().is_empty());
        out.delta(|b| b.push(1));
        assert_eq!(out.group_deltas().next(), Some((GroupId(0), &[1][..])));
    }
}
