//! Posts on their way between functions and [`super::posts`].

use super::Cluster;
use super::datagram::{Ack, Piece};
use super::link::Traffic;
use super::out::Out;
use super::posts::{ORIGIN_BYTES, POST_BYTES_MAX};
use crate::sink::{Change, Sink};
use crate::source::TakenBack;
use machine::Time;
use runtime::{GroupOrder, NodeId};

impl Cluster {
    /// Posts to the same function at another node; [`Cluster::flush`] sends it. What finds no way
    /// is given back at once. `shards` are the one that posts, and that which it is for.
    pub fn post(
        &mut self,
        now: Time,
        to: NodeId,
        shards: (u16, u16),
        bytes: &[u8],
        out: &mut Vec<Out>,
    ) {
        let (from, shard) = shards;
        let is_alive = self.links.get(&to).is_some_and(|link| link.is_alive(now, &self.params));
        let way = self
            .ways
            .get_mut(&to)
            .filter(|way| is_alive && way.posts.source.waiting() + bytes.len() <= POST_BYTES_MAX);
        let fits = bytes.len() + ORIGIN_BYTES <= crate::DELTA_BYTES_MAX;
        match way.filter(|_| fits) {
            Some(way) => {
                let letter = [&from.to_be_bytes()[..], bytes].concat();
                way.posts.source.push(shard, &letter);
                way.posts.is_ready = true;
            }
            None => {
                let bytes = bytes.to_vec();
                let order = GroupOrder::Returned { to, bytes, has_left: false };
                out.push(Out::ToShard(from, order));
            }
        }
    }

    /// A node knows nothing any more of what was posted to it. Neither does this one of what it
    /// posts, if another life of it is heard; else that stream is there to be taken, or the next.
    pub(super) fn begin_posts(&mut self, node: NodeId, is_reborn: bool, out: &mut Vec<Out>) {
        let Some(way) = self.ways.get_mut(&node) else { return };
        self.made += 1;
        Self::return_posts(node, way, self.made, out);
        if is_reborn {
            way.dirty.clear();
            way.posts.sink = Sink::default();
        }
    }

    /// Another life of a node is heard, it has made its way anew, or it is of the cluster no more:
    /// what it did not acknowledge is given back, and a stream of that number begins.
    pub(super) fn return_posts(to: NodeId, way: &mut Traffic, number: u64, out: &mut Vec<Out>) {
        Self::give_back(to, way.posts.begin(number), out);
    }

    /// Gives posts back to those that have posted them.
    pub(super) fn give_back(to: NodeId, letters: Vec<TakenBack>, out: &mut Vec<Out>) {
        for TakenBack { has_left, octets } in letters {
            if let Some((from, bytes)) = octets.split_first_chunk() {
                let (shard, bytes) = (u16::from_be_bytes(*from), bytes.to_vec());
                let order = GroupOrder::Returned { to, bytes, has_left };
                out.push(Out::ToShard(shard, order));
            }
        }
    }

    pub(super) fn posts_heard(&mut self, from: NodeId, piece: Piece<'_>, out: &mut Vec<Out>) {
        let Some(way) = self.ways.get_mut(&from) else { return };
        let mut changes = Vec::new();
        way.posts.sink.take(piece.stream, piece.first, piece.fields, &mut changes);
        (way.posts.is_dirty, way.taken) = (true, way.taken + 1);
        for change in changes {
            if let Change::Apply(shard, letter) = change
                && let Some(bytes) = letter.get(ORIGIN_BYTES..)
            {
                out.push(Out::ToShard(shard, GroupOrder::Post { from, bytes: bytes.to_vec() }));
            }
        }
    }

    pub(super) fn posts_acknowledged(&mut self, now: Time, from: NodeId, ack: Ack) {
        if let Some(way) = self.ways.get_mut(&from) {
            way.posts.source.acknowledged(now, ack.stream, ack.applied);
            way.posts.is_ready = way.posts.source.lag() > 0;
        }
    }
}
