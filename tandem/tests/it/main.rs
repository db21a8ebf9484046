//! The binary, as processes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod applications;
mod asp;
mod binary;
mod changes;
mod check;
mod cluster;
mod demo;
mod diameter;
mod edge;
mod jss7;
mod lab;
mod link;
mod messages;
mod monitoring;
mod operator;
mod pages;
mod pool;
mod reference;
mod reflector;
mod sctp;
mod signalling;
mod start;
mod ways;
