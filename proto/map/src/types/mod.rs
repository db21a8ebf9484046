//! The types of TS 29.002, release 16 (modules of version 19), a declaration each.
//!
//! They are those of the highest version of each application context; `v2` has what versions 1 and
//! 2 write otherwise.

mod authentication;
mod call_handling;
mod camel;
mod dialogue;
mod errors;
mod group_call;
mod handover;
mod identities;
mod information;
mod location;
mod location_service;
mod packet;
mod short_message;
mod subscription;
mod supplementary;
mod tracing;

pub use authentication::*;
pub use call_handling::*;
pub use camel::*;
pub use dialogue::*;
pub use errors::*;
pub use group_call::*;
pub use handover::*;
pub use identities::*;
pub use information::*;
pub use location::*;
pub use location_service::*;
pub use packet::*;
pub use short_message::*;
pub use subscription::*;
pub use supplementary::*;
pub use tracing::*;
