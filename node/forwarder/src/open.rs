//! From what a control says of a port to an open one.

use crate::wire::{Driver, PortSpec};
use driver::ports::Port;
use driver::ports::packet::{PacketPort, Spec};
use driver::ports::xdp::{ENTRIES, Redirect, Umem, XdpPort};
use graph::Pool;
use std::io;
use std::sync::Arc;

/// Which worker opens a port, and what all workers share of it.
pub(crate) struct Place {
    pub(crate) number: u16,
    pub(crate) workers: u16,
    pub(crate) redirect: Option<Arc<Redirect>>,
}

/// What all workers share of a port: opened before theirs.
///
/// # Errors
/// In words for the operator.
pub(crate) fn shared(spec: &PortSpec) -> Result<Option<Arc<Redirect>>, String> {
    match &spec.driver {
        Driver::AfXdp { device } => {
            Redirect::attach(device).map(Some).map_err(|error| format!("{device}: {error}"))
        }
        _ => Ok(None),
    }
}

/// Opens a worker's part of a port.
///
/// # Errors
/// In words for the operator.
pub(crate) fn port(
    spec: &PortSpec,
    place: &Place,
    pool: &mut Pool,
    umem: &mut Option<Umem>,
) -> Result<Port, String> {
    let words = |device: &str, error: io::Error| format!("{device}: {error}");
    match &spec.driver {
        Driver::AfPacket { device } => {
            let fanout = (place.workers > 1).then_some(spec.port + 1);
            let spec = Spec { fanout, offloads_off: true, ..Spec::new(device) };
            PacketPort::open(&spec).map(Port::Packet).map_err(|error| words(device, error))
        }
        Driver::AfXdp { device } => {
            let Some(redirect) = &place.redirect else { return Err("no program".to_owned()) };
            if umem.is_none() {
                *umem = Some(Umem::new(pool, false).map_err(|error| words(device, error))?);
            }
            let Some(umem) = umem else { return Err("no memory".to_owned()) };
            XdpPort::open(redirect, u32::from(place.number), ENTRIES, umem)
                .map(Port::Xdp)
                .map_err(|error| words(device, error))
        }
        Driver::Tap { .. } | Driver::Memif { .. } => {
            Err("this kind of port is not there yet".to_owned())
        }
    }
}

/// Opens the TUN device by which packets for the router's own addresses reach this machine's
/// kernel.
///
/// # Errors
/// The kernel's.
pub(crate) fn host(name: &str) -> io::Result<Port> {
    Err(io::Error::other(format!("{name}: there is no such device yet")))
}
