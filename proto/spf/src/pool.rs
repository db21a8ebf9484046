//! Adjacency lists in one piece of memory: a run reads them from the front to the end.

use crate::graph::{EdgeId, Node};

/// One end of an edge, as the other end sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arc {
    /// The node at the far end.
    pub other: Node,
    /// What the edge costs.
    pub cost: u32,
    /// The edge.
    pub edge: EdgeId,
}

const NOTHING: Arc = Arc { other: Node(u32::MAX), cost: 0, edge: EdgeId(u32::MAX) };

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    start: usize,
    len: usize,
    room: usize,
}

/// The lists of all nodes. One that grows past its room moves to the end; when half of the memory
/// is holes, everything is packed again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    arcs: Vec<Arc>,
    blocks: Vec<Block>,
    holes: usize,
}

impl Pool {
    pub(crate) fn add_node(&mut self) {
        self.blocks.push(Block::default());
    }

    #[inline]
    pub(crate) fn of(&self, node: Node) -> &[Arc] {
        let Some(block) = self.blocks.get(node.0 as usize) else { return &[] };
        &self.arcs[block.start..block.start + block.len]
    }

    pub(crate) fn push(&mut self, node: Node, arc: Arc) {
        let block = self.blocks[node.0 as usize];
        if block.len == block.room {
            self.enlarge(node);
        }
        let block = &mut self.blocks[node.0 as usize];
        self.arcs[block.start + block.len] = arc;
        block.len += 1;
    }

    fn enlarge(&mut self, node: Node) {
        let block = self.blocks[node.0 as usize];
        self.holes += block.room;
        let room = (block.room * 2).max(2);
        let start = self.arcs.len();
        self.arcs.extend_from_within(block.start..block.start + block.len);
        self.arcs.resize(start + room, NOTHING);
        self.blocks[node.0 as usize] = Block { start, len: block.len, room };
        if self.holes * 2 > self.arcs.len() && self.holes > 1_024 {
            self.pack();
        }
    }

    fn pack(&mut self) {
        let mut arcs = Vec::with_capacity(self.arcs.len() - self.holes);
        for block in &mut self.blocks {
            let start = arcs.len();
            arcs.extend_from_slice(&self.arcs[block.start..block.start + block.room]);
            block.start = start;
        }
        (self.arcs, self.holes) = (arcs, 0);
    }

    pub(crate) fn remove(&mut self, node: Node, edge: EdgeId) {
        let block = &mut self.blocks[node.0 as usize];
        let list = &mut self.arcs[block.start..block.start + block.len];
        if let Some(at) = list.iter().position(|arc| arc.edge == edge) {
            list.swap(at, block.len - 1);
            block.len -= 1;
        }
    }

    pub(crate) fn set_cost(&mut self, node: Node, edge: EdgeId, cost: u32) {
        let block = self.blocks[node.0 as usize];
        let list = &mut self.arcs[block.start..block.start + block.len];
        if let Some(arc) = list.iter_mut().find(|arc| arc.edge == edge) {
            arc.cost = cost;
        }
    }
}
