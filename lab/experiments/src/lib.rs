//! The published tables, rerun.
