//! The cluster as its function sees it: [`replica::Groups`], or that of a simulated world.

use question::Condition;
use replica::Groups;
use replica::cluster::Placement;
use replica::groups::{GroupRow, MemberRow, Members};
use runtime::{Authority, GroupId, NodeId};

/// What the function of a node asks of its cluster. None of it waits for another node.
pub trait Nodes: Authority {
    /// Which nodes shall have which partitions.
    fn place(&self, placements: Vec<Placement>);
    /// Other nodes.
    fn configure(&self, members: &Members);
    /// Another node shall serve a group, that is served here.
    fn move_to(&self, group: GroupId, node: NodeId);
    /// This node gives its groups away, or takes part again.
    fn leave(&self, is_leaving: bool);
    /// The groups, as this node sees them.
    fn groups(&self) -> Vec<GroupRow>;
    /// The other nodes.
    fn members(&self) -> Vec<MemberRow>;
    /// The alarms that stand.
    fn alarms(&self) -> Vec<Condition>;
    /// What it counts.
    fn cells(&self) -> Option<event::MetricCells>;
}

/// The cluster of this process.
pub struct Joined {
    groups: std::sync::Arc<Groups>,
    gate: std::sync::Arc<dyn Authority>,
}

impl Joined {
    /// A node of it.
    #[must_use]
    pub fn new(groups: std::sync::Arc<Groups>) -> Self {
        Self { gate: groups.authority(), groups }
    }
}

impl Authority for Joined {
    fn may_speak(&self, group: GroupId) -> bool {
        self.gate.may_speak(group)
    }
}

impl Nodes for Joined {
    fn place(&self, placements: Vec<Placement>) {
        self.groups.place(placements);
    }

    fn configure(&self, members: &Members) {
        if let Err(error) = self.groups.configure(members) {
            tracing::error!(%error, "the nodes of the cluster stay as they were");
        }
    }

    fn move_to(&self, group: GroupId, node: NodeId) {
        self.groups.move_to(group, node);
    }

    fn leave(&self, is_leaving: bool) {
        self.groups.leave(is_leaving);
    }

    fn groups(&self) -> Vec<GroupRow> {
        self.groups.rows()
    }

    fn members(&self) -> Vec<MemberRow> {
        self.groups.nodes()
    }

    fn alarms(&self) -> Vec<Condition> {
        self.groups.alarms()
    }

    fn cells(&self) -> Option<event::MetricCells> {
        Some(self.groups.cells())
    }
}
