//! Frames that are not routed: cross-connects (VPWS) and bridge domains (VPLS, RFC 4762).

pub(crate) mod bridge;
mod bridge_input;
mod cross_connect;
pub(crate) mod frame;
mod notice;
mod storm;
pub(crate) mod tags;

pub(crate) use bridge_input::BridgeInput;
pub(crate) use cross_connect::CrossConnect;
pub(crate) use notice::Notices;
