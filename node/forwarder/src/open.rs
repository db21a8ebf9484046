//! From what a control says of a port to an open one.

use crate::ipc::{Driver, PortSpec};
use driver::Redirect;
use graph::Pool;
use ports::packet::{PacketPort, Spec};
use ports::xdp::{ENTRIES, Umem, XdpPort};
use ports::{MemifPort, Port, TapPort, memif, tap};
use std::io;
use std::sync::Arc;

/// Entries of the longest rings before a port.
const LONG_ENTRIES: u32 = 8_192;

/// Which worker opens a port, and what all workers share of it.
pub(crate) struct Place {
    pub(crate) number: u16,
    pub(crate) workers: u16,
    pub(crate) shared: Option<Shared>,
}

/// What all workers share of a port.
#[derive(Clone)]
pub(crate) enum Shared {
    /// The program before an AF_XDP device.
    Xdp(Arc<Redirect>),
    /// The connection of a memif.
    Memif(Arc<memif::Hub>),
}

/// What so many workers share of a port: opened before theirs.
///
/// # Errors
/// In words for the operator.
pub(crate) fn shared(spec: &PortSpec, workers: usize) -> Result<Option<Shared>, String> {
    match &spec.driver {
        Driver::AfXdp { device } => {
            let redirect =
                Redirect::attach(device).map_err(|error| format!("{device}: {error}"))?;
            Ok(Some(Shared::Xdp(redirect)))
        }
        Driver::Memif { socket, id, master } => {
            let role = if *master { memif::Role::Master } else { memif::Role::Slave };
            let mac = spec.mac.unwrap_or(own_mac(spec.port));
            let (mtu, rings) = (usize::from(spec.mtu), (workers, workers));
            let own = memif::Spec::new(socket.as_ref(), *id, role, mac);
            Ok(Some(Shared::Memif(memif::Hub::new(&memif::Spec { mtu, rings, ..own }, workers))))
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
            let port = PacketPort::open(&spec).and_then(|port| {
                port.device().set_up(true)?;
                Ok(Port::Packet(port))
            });
            port.map_err(|error| words(device, error))
        }
        Driver::AfXdp { device } => {
            let Some(Shared::Xdp(redirect)) = &place.shared else {
                return Err("no program".to_owned());
            };
            if umem.is_none() {
                *umem = Some(Umem::new(pool, false).map_err(|error| words(device, error))?);
            }
            let Some(umem) = umem else { return Err("no memory".to_owned()) };
            let entries = entries(pool.slots());
            let port = XdpPort::open(redirect, u32::from(place.number), entries, umem);
            let port = port.and_then(|port| {
                port.device().set_up(true)?;
                port.device().set_promiscuous(true)?;
                Ok(Port::Xdp(port))
            });
            port.map_err(|error| words(device, error))
        }
        Driver::Tap { device } => {
            let has_queues = place.workers > 1;
            let (interface, mac) = (device.clone(), spec.mac.unwrap_or(own_mac(spec.port)));
            let tap = tap::Spec { interface, has_queues, mac, is_tun: false };
            let port = TapPort::open(&tap).and_then(|port| {
                port.device().set_up(true)?;
                Ok(Port::Tap(port))
            });
            port.map_err(|error| words(device, error))
        }
        Driver::Memif { socket, .. } => {
            let Some(Shared::Memif(hub)) = &place.shared else {
                return Err("no connection".to_owned());
            };
            let part = MemifPort::join(hub, usize::from(place.number));
            part.map(Port::Memif).map_err(|error| words(socket, error))
        }
    }
}

/// Entries of the rings before a port: an eighth of the worker's packets. A queue lasts as long as
/// a worker may be away from its core before packets are lost.
fn entries(packets: usize) -> u32 {
    let eighth = u32::try_from(packets / 8).unwrap_or(u32::MAX).max(1);
    (1 << eighth.ilog2()).clamp(ENTRIES, LONG_ENTRIES)
}

/// A locally administered address for a port whose device has none that others see.
pub(crate) fn own_mac(port: u16) -> [u8; 6] {
    let [high, low] = port.to_be_bytes();
    let [.., a, b, c] = std::process::id().to_be_bytes();
    [0x02, a, b, c, high, low]
}

/// Opens the TUN device by which packets for the router's own addresses reach this machine's
/// kernel.
///
/// # Errors
/// The kernel's.
pub(crate) fn host(name: &str) -> io::Result<Port> {
    let spec =
        tap::Spec { interface: name.to_owned(), has_queues: false, mac: [0; 6], is_tun: true };
    let port = TapPort::open(&spec)?;
    port.device().set_up(true)?;
    Ok(Port::Tap(port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_before_ports_grow_with_the_packets_of_a_worker() {
        let all = [0, 1, 16_384, 32_768, 40_000, 65_536, usize::MAX].map(entries);
        assert_eq!(all, [2_048, 2_048, 2_048, 4_096, 4_096, 8_192, 8_192]);
    }
}
