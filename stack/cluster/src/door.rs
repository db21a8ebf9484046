//! What stands before the machine: everything that leaves is sealed, and what comes is heard only
//! when the node that it says it is of has sealed it, once (`kit/authentication`). Each direction
//! between two nodes has a key of its own.

use crate::node::NodeId;
use authentication::{Keys, Opener, Refused, Sealer};
use machine::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The seals of a node; without keys everything leaves as it is, and all is heard.
pub struct Door {
    keys: Option<Keys>,
    cluster: String,
    own: NodeId,
    life: u64,
    links: BTreeMap<NodeId, (Arc<Sealer>, Opener)>,
    /// Datagrams that were not heard.
    refused: u64,
}

impl core::fmt::Debug for Door {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Door").field("own", &self.own).finish_non_exhaustive()
    }
}

impl Door {
    /// The door of a node. `life` is random, another one after each start.
    #[must_use]
    pub const fn new(keys: Option<Keys>, cluster: String, own: NodeId, life: u64) -> Self {
        Self { keys, cluster, own, life, links: BTreeMap::new(), refused: 0 }
    }

    fn link(&mut self, node: NodeId) -> Option<&mut (Arc<Sealer>, Opener)> {
        let keys = self.keys.as_ref()?;
        let (cluster, own) = (&self.cluster, self.own.number());
        let label = |from: u8, to: u8| format!("tandem cluster {cluster} {from}>{to}");
        let made = || {
            let (ours, theirs) = (label(own, node.number()), label(node.number(), own));
            authentication::channel(keys, ours.as_bytes(), theirs.as_bytes(), self.life)
        };
        Some(self.links.entry(node).or_insert_with(made))
    }

    /// A message as it leaves.
    #[must_use]
    pub fn seal(&mut self, to: NodeId, message: Vec<u8>) -> Vec<u8> {
        match self.link(to) {
            Some((sealer, _)) => sealer.seal(&message),
            None => message,
        }
    }

    /// The message of a datagram that says it is of that node; empty for what is said on the
    /// channel's own behalf. `answer` becomes what shall go back.
    ///
    /// # Errors
    /// Why it is not heard; it is counted.
    pub fn open(
        &mut self,
        now: Time,
        from: NodeId,
        datagram: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<Vec<u8>, Refused> {
        answer.clear();
        let opened = match self.link(from) {
            Some((_, opener)) => opener.open(now, datagram, answer).map(<[u8]>::to_vec),
            None => Ok(datagram.to_vec()),
        };
        // What is unproved begins every life.
        self.refused += u64::from(opened.as_ref().is_err_and(|why| *why != Refused::Unproved));
        opened
    }

    /// A datagram of nobody came.
    pub const fn stranger(&mut self) {
        self.refused += 1;
    }

    /// Datagrams that were not heard.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether anything is sealed.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.keys.is_some()
    }
}
