//! Rules for global titles that a function embeds: those of its section, and those of files, by the
//! hundred thousand.
//!
//! ```text
//!   Translation (a section) ─┬─→ Node::validate ──→ what is wrong
//!   texts of files ──→ Filed ┴─→ sccp::Rules: what titles are looked up by
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod filed;
mod rule;
mod section;
mod validate;

pub use filed::Filed;
pub use rule::indicator;
pub use section::{TargetChoice, TargetRouting, Translation, TranslationOf, TranslationTarget};
pub use validate::{Node, SUBSYSTEMS};
