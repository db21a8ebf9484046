//! Links and a gateway that is played by hand.
#![allow(missing_docs, clippy::unwrap_used)]

mod config;
mod links;
