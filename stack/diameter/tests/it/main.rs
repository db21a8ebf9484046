//! Nodes with peers, joined by TCP connections and by SCTP over UDP, in virtual time.
#![allow(missing_docs, clippy::unwrap_used)]

mod config;
mod documentation;
mod sctp;
mod tcp;
mod world;
