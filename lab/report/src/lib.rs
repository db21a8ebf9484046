//! What every report's experiments share: what is asked and answered ([`Options`], [`Outcome`],
//! [`Row`]), the published figures, the page with its plots, and what a run stands on (the host, a
//! scratch directory, a site of Tandem, progress on standard error).
#![forbid(unsafe_code)]

pub mod contract;
mod experiment;
pub mod group;
pub mod host;
mod page;
pub mod progress;
pub mod published;
pub mod scratch;
pub mod site;
pub mod site_file;
mod spread;

pub use contract::{Asked, Options, Outcome, Peer, Plane, Reflection, Row, exact, thousands};
pub use experiment::{Experiment, Takes};
pub use spread::Spread;
