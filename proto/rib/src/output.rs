//! What is to be sent: octets that several peers share.

use crate::PeerId;
use crate::peers::{Peer, Peers};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What is shorter is copied by a transport that cannot take it at once, for each peer.
const COPIED_BYTES: usize = 512;

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
    /// Octets that somebody has yet to take, shared ones once.
    held: Arc<AtomicU64>,
    /// Octets that wait as copies.
    copied: u64,
}

/// Octets that count until nobody holds them any more.
struct Shared {
    octets: Box<[u8]>,
    held: Arc<AtomicU64>,
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.octets
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.held.fetch_sub(self.octets.len() as u64, Relaxed);
    }
}

impl Output {
    /// Octets that several peers may be sent.
    pub(crate) fn share(&self, octets: &[u8]) -> Bytes {
        self.held.fetch_add(octets.len() as u64, Relaxed);
        Bytes::from_owner(Shared { octets: octets.into(), held: Arc::clone(&self.held) })
    }

    /// Octets that somebody has yet to take, shared ones once.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Relaxed) + self.copied
    }

    pub(crate) fn push(&mut self, peers: &mut Peers, sending: Sending) {
        if let Some(peer) = peers.find_mut(sending.peer) {
            let octets = sending.bytes.len() as u64;
            peer.waiting += octets;
            if sending.bytes.len() < COPIED_BYTES {
                peer.copied += octets;
                self.copied += octets;
            }
            peer.counters.updates_sent += u64::from(sending.updates);
            self.queue.push_back(sending);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Sending> {
        self.queue.pop_front()
    }

    /// The transport took so many octets of what waits for a peer.
    pub(crate) fn written(&mut self, peer: &mut Peer, octets: u64) {
        peer.waiting = peer.waiting.saturating_sub(octets);
        let copied = peer.copied.min(peer.waiting);
        self.copied -= peer.copied - copied;
        peer.copied = copied;
    }

    /// The peer is gone: nothing is sent to it any more.
    pub(crate) fn forget(&mut self, number: PeerId, peer: &Peer) {
        self.copied -= peer.copied;
        self.queue.retain(|sending| sending.peer != number);
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
