//! Which packets may pass, how many, and how they are marked.

pub mod fields;
mod filter;
pub mod filtering;
pub mod marking;
mod policer;
pub mod policing;
mod views;

pub use filter::{FilterNode, Stage};
pub use marking::{Classify, MarkOut};
pub use policer::PolicerNode;
pub use views::TrafficViews;
