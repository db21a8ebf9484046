//! An area: its database and its graph.

use crate::lsdb::Lsdb;
use crate::settings::AreaKind;
use crate::topology::Topology;

#[derive(Debug)]
pub(crate) struct Area {
    pub(crate) kind: AreaKind,
    pub(crate) lsdb: Lsdb,
    pub(crate) topology: Topology,
}

impl Area {
    pub(crate) fn new(kind: AreaKind) -> Self {
        Self { kind, lsdb: Lsdb::default(), topology: Topology::new() }
    }
}
