//! Where packets go from the node that holds them.

use crate::chains::{ArcId, Chains};
use crate::node::{Edge, Reason, VECTOR_MAX, Verdict};
use crate::pool::{Pool, Slot};

/// Nodes of a graph at most.
pub const NODES_MAX: usize = 256;

/// Nodes that have packets waiting: the lowest bit is the one to run next.
#[derive(Default)]
pub(crate) struct Ready([u64; NODES_MAX / 64]);

impl Ready {
    #[inline]
    pub(crate) fn set(&mut self, node: usize) {
        self.0[node / 64] |= 1 << (node % 64);
    }

    /// Takes out the first.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<usize> {
        let word = self.0.iter().position(|word| *word != 0)?;
        let bit = self.0[word].trailing_zeros() as usize;
        self.0[word] &= self.0[word] - 1;
        Some(word * 64 + bit)
    }
}

/// What waits before each node, and what was dropped.
pub(crate) struct Waiting {
    pub(crate) vectors: Vec<Vec<Slot>>,
    pub(crate) ready: Ready,
    pub(crate) dropped: Vec<(Slot, Reason)>,
}

/// A node's way to those that follow it.
pub struct Next<'a> {
    pub(crate) edges: &'a [u16],
    pub(crate) waiting: &'a mut Waiting,
    pub(crate) chains: &'a Chains,
}

impl Next<'_> {
    /// Hands one packet to a follower.
    #[inline]
    pub fn to(&mut self, edge: Edge, slot: Slot) {
        let node = usize::from(self.edges[usize::from(edge.0)]);
        self.waiting.vectors[node].push(slot);
        self.waiting.ready.set(node);
    }

    /// Hands a whole vector to one follower.
    #[inline]
    pub fn to_all(&mut self, edge: Edge, batch: &[Slot]) {
        if batch.is_empty() {
            return;
        }
        let node = usize::from(self.edges[usize::from(edge.0)]);
        self.waiting.vectors[node].extend_from_slice(batch);
        self.waiting.ready.set(node);
    }

    /// Hands each packet to its own follower; quick where all have the same.
    ///
    /// # Panics
    /// When there are not as many edges as packets.
    #[inline]
    pub fn scatter(&mut self, edges: &[Edge], batch: &[Slot]) {
        assert_eq!(edges.len(), batch.len(), "an edge for each packet");
        let Some(first) = edges.first() else { return };
        if edges.iter().fold(0, |odd, edge| odd | (edge.0 ^ first.0)) == 0 {
            return self.to_all(*first, batch);
        }
        for (edge, slot) in edges.iter().zip(batch) {
            self.to(*edge, *slot);
        }
    }

    /// Hands each packet on or drops it, as a node noted in a pass over its vector; quick where
    /// all have the same follower.
    ///
    /// # Panics
    /// When there are not as many verdicts as packets.
    #[inline]
    pub fn dispatch(&mut self, verdicts: &[Verdict], batch: &[Slot]) {
        assert_eq!(verdicts.len(), batch.len(), "a verdict for each packet");
        let Some(first) = verdicts.first() else { return };
        let odd = verdicts.iter().fold(0, |odd, verdict| odd | (verdict.0 ^ first.0));
        if odd == 0 && first.0 & Verdict::DROP == 0 {
            return self.to_all(Edge(first.0), batch);
        }
        for (verdict, slot) in verdicts.iter().zip(batch) {
            if verdict.0 & Verdict::DROP == 0 {
                self.to(Edge(verdict.0), *slot);
            } else {
                self.drop(*slot, Reason(verdict.0 & !Verdict::DROP));
            }
        }
    }

    /// Drops a packet for a reason, which is counted.
    #[inline]
    pub fn drop(&mut self, slot: Slot, reason: Reason) {
        self.waiting.dropped.push((slot, reason));
    }

    /// Sends a vector along an arc: each packet to the first feature that its interface has
    /// there, or to the arc's end.
    #[inline]
    pub fn start(&mut self, arc: ArcId, batch: &[Slot], packets: &mut Pool) {
        let Some(starts) = self.chains.starts(arc) else {
            let node = usize::from(self.chains.end(arc));
            if !batch.is_empty() {
                self.waiting.vectors[node].extend_from_slice(batch);
                self.waiting.ready.set(node);
            }
            return;
        };
        let others = u32::from(arc.0);
        let chains = self.chains;
        self.spread(batch, |slot| {
            let meta = packets.meta_mut(slot);
            let at = if arc.by_transmit() { meta.transmit } else { meta.interface };
            meta.cursor = starts.get(at as usize).copied().unwrap_or(others);
            chains.step(meta.cursor)
        });
    }

    /// Hands a packet from one feature of an arc to the following one, or to the arc's end.
    #[inline]
    pub fn onward(&mut self, slot: Slot, packets: &mut Pool) {
        let meta = packets.meta_mut(slot);
        meta.cursor += 1;
        let node = usize::from(self.chains.step(meta.cursor));
        self.waiting.vectors[node].push(slot);
        self.waiting.ready.set(node);
    }

    /// As [`Next::onward`], a vector of packets; quick where all have the same follower.
    #[inline]
    pub fn onward_all(&mut self, batch: &[Slot], packets: &mut Pool) {
        let chains = self.chains;
        self.spread(batch, |slot| {
            let meta = packets.meta_mut(slot);
            meta.cursor += 1;
            chains.step(meta.cursor)
        });
    }

    /// Hands each packet to the node that `node` finds for it.
    #[inline]
    fn spread(&mut self, batch: &[Slot], mut node: impl FnMut(Slot) -> u16) {
        for batch in batch.chunks(VECTOR_MAX) {
            let mut nodes = [0_u16; VECTOR_MAX];
            for (slot, place) in batch.iter().zip(&mut nodes) {
                *place = node(*slot);
            }
            let nodes = &nodes[..batch.len()];
            let odd = nodes.iter().fold(0, |odd, node| odd | (node ^ nodes[0]));
            if odd == 0 {
                let node = usize::from(nodes[0]);
                self.waiting.vectors[node].extend_from_slice(batch);
                self.waiting.ready.set(node);
                continue;
            }
            for (slot, node) in batch.iter().zip(nodes) {
                self.waiting.vectors[usize::from(*node)].push(*slot);
                self.waiting.ready.set(usize::from(*node));
            }
        }
    }
}
