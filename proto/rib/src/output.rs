//! What is to be sent: octets that several peers share.

use crate::PeerId;
use crate::peers::Peers;
use bytes::Bytes;
use std::collections::VecDeque;

/// Whole UPDATEs for one peer.
#[derive(Debug, Clone)]
pub struct Sending {
    /// To whom.
    pub peer: PeerId,
    /// The messages.
    pub bytes: Bytes,
    /// How many.
    pub updates: u32,
}

/// What waits to be taken by the owner.
#[derive(Debug, Default)]
pub(crate) struct Output {
    queue: VecDeque<Sending>,
}

impl Output {
    pub(crate) fn push(&mut self, peers: &mut Peers, sending: Sending) {
        if let Some(peer) = peers.find_mut(sending.peer) {
            peer.waiting += sending.bytes.len() as u64;
            peer.counters.updates_sent += u64::from(sending.updates);
            self.queue.push_back(sending);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Sending> {
        self.queue.pop_front()
    }

    /// The peer is gone: nothing is sent to it any more.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.queue.retain(|sending| sending.peer != peer);
    }
}

/// How many messages stand in `octets`, which are whole ones.
pub(crate) fn messages(octets: &[u8]) -> u32 {
    let (mut at, mut count) = (0, 0);
    while let Some(head) = octets.get(at + 16..at + 18) {
        at += usize::from(u16::from_be_bytes([head[0], head[1]])).max(1);
        count += 1;
    }
    count
}
