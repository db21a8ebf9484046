//! The session border controller's report.

pub mod call_signalling;
pub mod generator;
mod measure;
mod registrants;
pub mod registration;
pub mod report;
pub mod service_assurance;
mod topology;

pub use measure::{Measured, Plan};
pub use topology::{Ground, Load, System, is_ready};
