//! Two nodes with one peer each, joined by TCP connections and by SCTP over UDP, in virtual time.
#![allow(missing_docs, clippy::unwrap_used)]

mod sctp;
mod tcp;
mod world;
