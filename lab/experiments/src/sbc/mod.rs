//! The session border controller's report.

pub mod call_signalling;
pub mod ddos;
mod failover_ends;
mod failover_pair;
mod failover_scenes;
mod failover_stream;
pub mod generator;
pub mod header_manipulation;
mod measure;
pub mod overload;
mod registrants;
pub mod registration;
pub mod report;
pub mod service_assurance;
pub mod session_capacity;
pub mod softswitch_shielding;
pub mod ssc_failover;
mod topology;

pub(crate) use ddos::field as flood_field;
pub use measure::{Measured, Plan};
pub use topology::{Ground, Load, System};
pub(crate) use topology::{Shape, site};
