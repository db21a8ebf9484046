//! Repairs of an area (TI-LFA, RFC 9855) in OSPF's own words: routers and link data in place of the
//! graph's nodes and edges.

use crate::routes::NextHop;
use crate::settings::Prefix;
use crate::topology::{FirstHop, Topology, Vertex};
use spf::ti_lfa::{self, Segment};
use spf::{EdgeId, Failure, Graph, Node};

/// What is expected to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Our link.
    Link,
    /// That router at its other end.
    Router(u32),
}

/// A segment of a repair (RFC 8665).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterSegment {
    /// To that router: one of its node SIDs.
    Node(u32),
    /// By an adjacency SID.
    Adjacency {
        /// Whose it is.
        router: u32,
        /// The link data of its link.
        data: u32,
        /// To whom it leads.
        neighbour: u32,
    },
}

/// How packets to a router go on when what is expected fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterRepair {
    /// The router that is the destination.
    pub router: u32,
    /// How packets leave.
    pub hop: NextHop,
    /// Segments in front of the packet's own.
    pub segments: Vec<RouterSegment>,
}

/// The edge of a link of ours, and its twin: where there are several between the same two, the
/// one whose address is on the link.
fn link(topology: &Topology, graph: &Graph, own: u32, prefix: Prefix) -> Option<(EdgeId, Failure)> {
    let root = topology.node_of(Vertex::Router(own))?;
    let mut out = graph.out(root).iter();
    let arc = out.find(|arc| prefix.has(topology.data_of(arc.edge)))?;
    let back: Vec<_> = graph.back(root).iter().filter(|it| it.other == arc.other).collect();
    let on_link = back.iter().find(|it| prefix.has(topology.data_of(it.edge)));
    let twin = on_link.or_else(|| back.first()).map(|it| it.edge);
    Some((arc.edge, Failure::link(arc.edge, twin)))
}

/// Repairs of the routers that are reached over the link on `prefix`.
pub(crate) fn repairs(
    topology: &Topology,
    own: u32,
    prefix: Prefix,
    protection: Protection,
    next_hop: impl Fn(&FirstHop) -> Option<NextHop>,
) -> Vec<RouterRepair> {
    let (graph, Some(tree)) = topology.paths() else { return Vec::new() };
    let failure = match protection {
        Protection::Link => link(topology, graph, own, prefix).map(|it| it.1),
        Protection::Router(id) => {
            topology.node_of(Vertex::Router(id)).map(|node| Failure::node(graph, node))
        }
    };
    let Some(failure) = failure else { return Vec::new() };
    let router = |node: Node| match topology.vertex_of(node) {
        Some(Vertex::Router(id)) => Some(id),
        _ => None,
    };
    let segment = |segment: &Segment| match *segment {
        Segment::Node(node) => router(node).map(RouterSegment::Node),
        Segment::Adjacency(hop) => {
            let from = graph.ends(hop.edge)?[0];
            let (from, neighbour) = (router(from)?, router(hop.via)?);
            let data = topology.data_of(hop.edge);
            Some(RouterSegment::Adjacency { router: from, data, neighbour })
        }
    };
    let found = ti_lfa::repairs(graph, tree, &failure).into_iter();
    let found = found.filter_map(|(node, repair)| {
        let hop = next_hop(&topology.first_hop(&repair.hop)?)?;
        let segments: Option<Vec<RouterSegment>> = repair.segments.iter().map(segment).collect();
        Some(RouterRepair { router: router(node)?, hop, segments: segments? })
    });
    found.collect()
}
