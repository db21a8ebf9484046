//! What nodes of a cluster post to each other: in order, once, for as long as both live.
//!
//! A way has one stream of them in each direction, numbered, acknowledged and sent again like the
//! changes of a group. What the other node has not acknowledged when another life of it is heard,
//! when it has made its way anew, or falls silent, is given back, with a word whether it has left:
//! that may have arrived, and comes neither later nor twice. So is what finds it silent, or its
//! queue full.

use crate::sink::Sink;
use crate::source::{Source, TakenBack};
use machine::{Duration, Time};

/// Octets of posts that wait for one node.
pub(super) const POST_BYTES_MAX: usize = 4 << 20;
/// Octets before what was written: the shard that posted it.
pub(super) const ORIGIN_BYTES: usize = 2;
/// The epoch of all streams: another life of either node begins anew.
const EPOCH: u64 = 1;

/// Both directions of a way.
#[derive(Debug)]
pub(super) struct Posts {
    pub source: Source,
    pub sink: Sink,
    pub is_ready: bool,
    pub is_dirty: bool,
    /// When what is not acknowledged is said again.
    resend: Duration,
}

/// The stream of that number.
fn stream(number: u64, resend: Duration) -> Source {
    let before = (0, number.saturating_sub(1));
    let mut source = Source::new(1, resend).with_log(POST_BYTES_MAX * 2).after(before);
    source.begin(Time::ZERO + Duration::from_secs(60), EPOCH);
    source
}

impl Posts {
    /// Nothing was posted yet. A stream of a higher number takes the place of one before. What
    /// comes is acknowledged once a heartbeat: `resend` is longer.
    pub fn new(number: u64, resend: Duration) -> Self {
        let (source, sink) = (stream(number, resend), Sink::default());
        Self { source, sink, is_ready: false, is_dirty: false, resend }
    }

    /// Begins what is told anew; what was not acknowledged of it so far.
    pub fn begin(&mut self, number: u64) -> Vec<TakenBack> {
        self.is_ready = false;
        let mut ended = core::mem::replace(&mut self.source, stream(number, self.resend));
        ended.take_back()
    }

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
        let begin = |out: &mut Vec<u8>| {
            at = super::datagram::piece(out, super::datagram::POSTS, stream, first)
        };
        let is_written = self.source.piece(datagram, octets, begin, crate::source::logged);
        if is_written {
            super::datagram::piece_end(datagram, at);
        }
        is_written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_is_said_again_when_its_time_to_be_acknowledged_is_over_and_not_before() {
        let at = |milliseconds: u64| Time::from_millis(60_000 + milliseconds);
        let mut posts = Posts::new(1, Duration::from_millis(100));
        posts.source.push(0, b"letter");
        let mut datagram = Vec::new();
        let mut says = |posts: &mut Posts, milliseconds: u64| {
            posts.tick(at(milliseconds));
            let before = datagram.len();
            posts.piece(at(milliseconds), &mut datagram, 1_000);
            datagram.len() > before
        };
        assert!(says(&mut posts, 1));
        assert!(!says(&mut posts, 51) && !says(&mut posts, 100));
        assert!(says(&mut posts, 101));
        posts.source.acknowledged(at(102), posts.source.stream, 1);
        assert!(!says(&mut posts, 300));
    }
}
