//! Repairs of a level (TI-LFA, RFC 9855) in IS-IS's own words: systems and numbers of links in
//! place of the graph's nodes and edges.

use crate::address::{Level, NodeId, SystemId};
use crate::circuit::Circuit;
use crate::routes::{NextHop, Sources};
use crate::topology::Topology;
use spf::ti_lfa::{self, Segment};
use spf::{EdgeId, Failure, Graph, Node};

/// What is expected to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Our link.
    Link,
    /// That system at its other end.
    System(SystemId),
}

/// A segment of a repair (RFC 8667).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemSegment {
    /// To that system: one of its node SIDs.
    Node(SystemId),
    /// By an adjacency SID.
    Adjacency {
        /// Whose it is.
        system: SystemId,
        /// Its number of the link; 0 where it says none.
        link: u32,
        /// To whom it leads.
        neighbour: SystemId,
    },
}

/// How packets to a system go on when what is expected fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRepair {
    /// The system that is the destination.
    pub system: SystemId,
    /// How packets leave.
    pub hop: NextHop,
    /// Segments in front of the packet's own.
    pub segments: Vec<SystemSegment>,
}

/// The link of a circuit: what fails with it.
fn link(
    topology: &Topology,
    graph: &Graph,
    own: SystemId,
    level: Level,
    circuit: &Circuit,
) -> Option<Failure> {
    let root = topology.node_of(NodeId::of(own))?;
    let index = circuit.settings.index;
    let (far, number) = if circuit.is_lan() {
        (circuit.level(level).lan?, 0)
    } else {
        let neighbour = circuit.up(level).next()?;
        (NodeId::of(neighbour.system), neighbour.circuit)
    };
    let far = topology.node_of(far)?;
    let is_it = |edge: EdgeId, number: u32| [0, number].contains(&topology.link_of(edge));
    let mut out = graph.out(root).iter().filter(|arc| arc.other == far);
    let edge = out.find(|arc| is_it(arc.edge, index))?.edge;
    let back: Vec<_> = graph.back(root).iter().filter(|arc| arc.other == far).collect();
    // Of several links between the same two, the twin has the neighbour's number.
    let twin = back.iter().find(|arc| topology.link_of(arc.edge) == number).or(back.first());
    Some(Failure::link(edge, twin.map(|arc| arc.edge)))
}

/// Repairs of the systems that are reached over a circuit.
pub(crate) fn repairs(
    sources: &Sources<'_>,
    level: Level,
    circuit: &Circuit,
    protection: Protection,
) -> Vec<SystemRepair> {
    let topology = &sources.levels[level.at()].topology;
    let (graph, Some(tree)) = topology.paths() else { return Vec::new() };
    let failure = match protection {
        Protection::Link => link(topology, graph, sources.settings.system, level, circuit),
        Protection::System(id) => {
            topology.node_of(NodeId::of(id)).map(|node| Failure::node(graph, node))
        }
    };
    let Some(failure) = failure else { return Vec::new() };
    let system = |node: Node| topology.id_of(node).filter(|it| it.pseudonode == 0);
    let system = |node: Node| system(node).map(|it| it.system);
    let segment = |segment: &Segment| match *segment {
        Segment::Node(node) => system(node).map(SystemSegment::Node),
        Segment::Adjacency(hop) => Some(SystemSegment::Adjacency {
            system: system(graph.ends(hop.edge)?[0])?,
            link: topology.link_of(hop.edge),
            neighbour: system(hop.via)?,
        }),
    };
    let found = ti_lfa::repairs(graph, tree, &failure).into_iter();
    let found = found.filter_map(|(node, repair)| {
        let first = topology.first_hop(&repair.hop)?;
        let ipv4 = sources.next_hops(level, &[first], false);
        let hops = if ipv4.is_empty() { sources.next_hops(level, &[first], true) } else { ipv4 };
        let segments: Option<Vec<SystemSegment>> = repair.segments.iter().map(segment).collect();
        let hop = hops.into_iter().next()?;
        Some(SystemRepair { system: system(node)?, hop, segments: segments? })
    });
    found.collect()
}
