//! The features of the plane, one row each: what a packet feature with state adds beside its
//! crate.

mod bridging;
mod labels;
mod marking;
mod notices;
mod protection;
mod queues;
mod sources;
mod traffic;

pub use bridging::KnownMac;
pub(crate) use bridging::{Bridging, bridge_number};
pub(crate) use queues::PortQueues;
pub(crate) use traffic::Traffic;

use labels::LabelTable;
use marking::ClassMaps;
use nodes::feature::{Row, row};
use protection::ControlProtection;
use sources::SourceChecks;

/// All features. Nodes are planned in this order, and features of one rank stand in it.
pub const FEATURES: &[Row] = &[
    row::<SourceChecks>,
    row::<LabelTable>,
    row::<Bridging>,
    row::<sampling::Sampler>,
    row::<ClassMaps>,
    row::<Traffic>,
    row::<PortQueues>,
    row::<ControlProtection>,
    row::<media::Media>,
    row::<detection::Detection>,
];
