//! From what a control says of a port to an open one.

use crate::wire::{Driver, PortSpec};
use driver::ports::Port;
use driver::ports::packet::{PacketPort, Spec};
use graph::Pool;

/// Opens a port for worker `number` of `workers`.
///
/// # Errors
/// In words for the operator.
pub(crate) fn port(
    spec: &PortSpec,
    (_number, workers): (u16, u16),
    _pool: &mut Pool,
) -> Result<Port, String> {
    match &spec.driver {
        Driver::AfPacket { device } => {
            let fanout = (workers > 1).then_some(spec.port + 1);
            let spec = Spec { fanout, offloads_off: true, ..Spec::new(device) };
            let port = PacketPort::open(&spec).map_err(|error| format!("{device}: {error}"))?;
            Ok(Port::Packet(port))
        }
        Driver::AfXdp { .. } | Driver::Tap { .. } | Driver::Memif { .. } => {
            Err("this kind of port is not there yet".to_owned())
        }
    }
}

/// Opens the TUN device by which packets for the router's own addresses reach this machine's
/// kernel.
///
/// # Errors
/// The kernel's.
pub(crate) fn host(name: &str) -> std::io::Result<Port> {
    Err(std::io::Error::other(format!("{name}: there is no such device yet")))
}
