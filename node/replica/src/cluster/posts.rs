//! What nodes of a cluster post to each other: in order, once, for as long as both live.
//!
//! A way has one stream of them in each direction, numbered, acknowledged and sent again like the
//! changes of a group. What the other node has not acknowledged when another life of it is heard is
//! given back, and so is what finds it silent, or its queue full.

use super::Cluster;
use super::link::Traffic;
use super::out::Out;
use super::wire::{Ack, Piece};
use crate::sink::{Change, Sink};
use crate::source::Source;
use machine::Time;
use runtime::NodeId;

/// Octets of posts that wait for one node.
const POST_BYTES_MAX: usize = 4 << 20;
/// Octets before what was written: the shard that posted it.
const ORIGIN_BYTES: usize = 2;
/// The number of the only stream: another life of either node begins it anew.
const STREAM: (u64, u64) = (1, 1);

/// Both directions of a way.
#[derive(Debug)]
pub(super) struct Posts {
    source: Source,
    sink: Sink,
    pub is_ready: bool,
    pub is_dirty: bool,
}

impl Default for Posts {
    fn default() -> Self {
        let heartbeats = machine::Duration::from_millis(20);
        let mut source = Source::new(1, heartbeats).with_log(POST_BYTES_MAX * 2).after((0, 0));
        source.begin(Time::ZERO + machine::Duration::from_secs(60), STREAM.0);
        Self { source, sink: Sink::default(), is_ready: false, is_dirty: false }
    }
}

impl Posts {
    /// How far the other node's posts have come.
    pub const fn applied(&self) -> ((u64, u64), u64) {
        (self.sink.stream, self.sink.applied)
    }

    /// Goes back to what is not acknowledged when nothing has moved.
    pub fn tick(&mut self, now: Time) {
        self.source.tick(now);
        self.is_ready |= self.source.lag() > 0;
    }

    /// Appends what the window allows.
    pub fn piece(&mut self, now: Time, datagram: &mut Vec<u8>, octets: usize) -> bool {
        self.source.awake(now);
        let (stream, first) = (self.source.stream, self.source.next());
        let mut at = 0;
        let begin =
            |out: &mut Vec<u8>| at = super::wire::piece(out, super::wire::POSTS, stream, first);
        let is_written = self.source.piece(datagram, octets, begin, crate::message::logged);
        if is_written {
            super::wire::piece_end(datagram, at);
        }
        is_written
    }
}

impl Cluster {
    /// Posts to the same function at another node; [`Cluster::flush`] sends it. What finds no way is
    /// given back at once. `shards` are the one that posts, and that which it is for.
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
            None => out.push(Out::Returned { to, shard: from, bytes: bytes.to_vec() }),
        }
    }

    /// Another life of a node is heard, or it is of the cluster no more: what it did not acknowledge
    /// is given back.
    pub(super) fn return_posts(to: NodeId, way: &mut Traffic, out: &mut Vec<Out>) {
        let posts = core::mem::take(&mut way.posts);
        for (_, letter) in posts.source.into_entries() {
            if let Some((from, bytes)) = letter.split_first_chunk() {
                let shard = u16::from_be_bytes(*from);
                out.push(Out::Returned { to, shard, bytes: bytes.to_vec() });
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
                out.push(Out::Post { from, shard, bytes: bytes.to_vec() });
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
