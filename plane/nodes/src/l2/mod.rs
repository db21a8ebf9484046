//! Frames that are not routed: cross-connects (VPWS) and bridge domains (VPLS, RFC 4762).

pub mod bridge;
mod bridge_input;
mod cross_connect;
pub(crate) mod frame;
mod storm;
pub(crate) mod tags;

pub use bridge_input::BridgeInput;
pub use cross_connect::CrossConnect;
