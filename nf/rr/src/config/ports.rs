//! The ports of a reflector: those of its speaker, and those by which caches, stations and the
//! collector are reached.

use super::Rr;
use bgp_stack::config::PORTS;
use runtime::{PortId, PortSpec};
use std::net::SocketAddr;

/// The ports of the speaker.
pub(super) const BGP: PortId = PortId(0);
/// Connections with caches of validated prefixes.
pub(super) const RPKI_IPV4: PortId = PortId(PORTS);
pub(super) const RPKI_IPV6: PortId = PortId(PORTS + 1);
/// Connections with monitoring stations.
pub(super) const BMP_IPV4: PortId = PortId(PORTS + 2);
pub(super) const BMP_IPV6: PortId = PortId(PORTS + 3);
/// Captured messages and events leave by it.
pub(crate) const CAPTURE_PORT: PortId = PortId(PORTS + 4);

/// What is spoken behind a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortProtocol {
    Bgp,
    Rpki,
    Bmp,
}

impl PortProtocol {
    pub(crate) fn of(port: PortId) -> Self {
        match port {
            RPKI_IPV4 | RPKI_IPV6 => Self::Rpki,
            BMP_IPV4 | BMP_IPV6 => Self::Bmp,
            _ => Self::Bgp,
        }
    }
}

impl Rr {
    /// The ports that the runtime shall open.
    #[must_use]
    pub fn ports(&self) -> Vec<PortSpec> {
        let mut ports = self.speaker().ports();
        ports.extend(self.feeds());
        ports.extend(self.capture_settings().flow.iter().map(trail::port_of));
        ports
    }

    /// What the capture takes of the section.
    #[must_use]
    pub fn capture_settings(&self) -> trail::Settings {
        self.capture.settings(CAPTURE_PORT)
    }

    /// Addresses that are bound, each with its path in the section.
    #[must_use]
    pub fn listen_addresses(&self) -> Vec<(String, SocketAddr)> {
        self.speaker().listen_addresses()
    }
}
