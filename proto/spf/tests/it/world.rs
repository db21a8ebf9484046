//! Graphs by seed: random ones, grids, rings and trees, with networks and shared risks.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use spf::{EdgeId, Graph, Kind, Limits, Node};

pub struct World {
    pub graph: Graph,
    pub routers: Vec<Node>,
    /// Each link: there and back.
    pub links: Vec<[EdgeId; 2]>,
    random: ChaCha8Rng,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Random,
    Grid,
    Ring,
    Tree,
}

pub const SHAPES: [Shape; 4] = [Shape::Random, Shape::Grid, Shape::Ring, Shape::Tree];

impl World {
    /// A connected graph; `symmetric`: both directions of a link cost the same.
    pub fn new(seed: u64, shape: Shape, routers: usize, symmetric: bool) -> Self {
        let mut graph = Graph::new(Limits::default());
        let nodes = (0..routers).map(|_| graph.add_node(Kind::Router).unwrap()).collect();
        let random = ChaCha8Rng::seed_from_u64(seed);
        let mut world = Self { graph, routers: nodes, links: Vec::new(), random };
        let costs = 1 + world.below(9);
        let pairs = world.pairs(shape);
        for [one, two] in pairs {
            let there = 1 + world.below(costs) as u32;
            let back = if symmetric { there } else { 1 + world.below(costs) as u32 };
            world.link(one, two, [there, back]);
        }
        world
    }

    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.random.next_u64() % end as u64) as usize }
    }

    pub fn link(&mut self, one: usize, two: usize, costs: [u32; 2]) {
        let (one, two) = (self.routers[one], self.routers[two]);
        let there = self.graph.add_edge(one, two, costs[0]).unwrap();
        let back = self.graph.add_edge(two, one, costs[1]).unwrap();
        self.links.push([there, back]);
    }

    /// Puts some routers on a network.
    pub fn network(&mut self, members: &[usize], cost: u32) -> Node {
        let network = self.graph.add_node(Kind::Network).unwrap();
        for &member in members {
            let router = self.routers[member];
            let there = self.graph.add_edge(router, network, cost).unwrap();
            let back = self.graph.add_edge(network, router, 0).unwrap();
            self.links.push([there, back]);
        }
        network
    }

    fn pairs(&mut self, shape: Shape) -> Vec<[usize; 2]> {
        let count = self.routers.len();
        match shape {
            Shape::Ring => (0..count).map(|at| [at, (at + 1) % count]).collect(),
            Shape::Tree => (1..count).map(|at| [at, self.below(at)]).collect(),
            Shape::Grid => {
                let width = count.isqrt();
                let right = (0..count).filter(|at| at % width + 1 < width && at + 1 < count);
                let down = (0..count).filter(|at| at + width < count);
                right.map(|at| [at, at + 1]).chain(down.map(|at| [at, at + width])).collect()
            }
            Shape::Random => {
                let mut pairs: Vec<_> = (1..count).map(|at| [at, self.below(at)]).collect();
                for _ in 0..count + self.below(count) {
                    let (one, two) = (self.below(count), self.below(count));
                    if one != two {
                        pairs.push([one, two]);
                    }
                }
                pairs
            }
        }
    }

    pub fn twin(&self, edge: EdgeId) -> Option<EdgeId> {
        self.links.iter().find_map(|&[there, back]| match edge {
            _ if edge == there => Some(back),
            _ if edge == back => Some(there),
            _ => None,
        })
    }
}
