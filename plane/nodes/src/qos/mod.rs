//! Which packets may pass, how many, and how they are marked.

pub(crate) mod fields;
mod filter;
pub(crate) mod filtering;
pub(crate) mod marking;
mod policer;
pub(crate) mod policing;

pub(crate) use filter::{FilterNode, Stage};
pub(crate) use marking::{Classify, MarkOut};
pub(crate) use policer::PolicerNode;
