//! The signalling gateway in a simulated world, and its carriers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::duplicate_mod, reason = "the same tests on one shard and on three")]

mod carriers;
mod cluster_connections;
mod cluster_members;
mod cluster_segments;
mod clusters;
mod filed;
mod metrics;
#[path = "../../../../stack/sctp/tests/it/namespace/mod.rs"]
mod namespace;
mod operator;
mod relay;
mod shards;
mod trails;
mod world;

/// What is SCCP's and the applications', on one shard.
#[path = "."]
mod on_one {
    const SHARDS: u16 = 1;
    #[path = "applications.rs"]
    mod applications;
    #[path = "connection_seeds.rs"]
    mod connection_seeds;
    #[path = "connections.rs"]
    mod connections;
    #[path = "rules.rs"]
    mod rules;
    #[path = "sccp.rs"]
    mod sccp;
}

/// The same on three.
#[path = "."]
mod on_three {
    const SHARDS: u16 = 3;
    #[path = "applications.rs"]
    mod applications;
    #[path = "connection_seeds.rs"]
    mod connection_seeds;
    #[path = "connections.rs"]
    mod connections;
    #[path = "rules.rs"]
    mod rules;
    #[path = "sccp.rs"]
    mod sccp;
}
