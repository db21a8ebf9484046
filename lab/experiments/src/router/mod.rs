//! The virtual service router's report: route reflection, and the packet plane.
//!
//! ```text
//!   this process, one thread: routes::Field, clients 127.16.x.y ──tcp──→ Tandem, or a peer
//! ```

pub mod denial_of_service;
pub mod reflection_evpn;
pub mod reflection_ipv4;
pub mod services;
mod stand;
pub mod throughput;

/// The peer's name.
fn linux_name() -> String {
    let host = crate::host::describe();
    format!("Linux {} forwarding", host["kernel"].as_str().unwrap_or_default())
}
