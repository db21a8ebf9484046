//! An interface that this process makes: what the kernel sends there comes in here, and the other
//! way round (Documentation/networking/tuntap.rst). Its packets are Ethernet frames (TAP), or
//! IP packets (TUN).
//!
//! The interface's own address is the kernel's end; this end has one of its own. Checksums and
//! segments are finished by the kernel (no `IFF_VNET_HDR`, `TUNSETOFFLOAD` 0). One call a packet:
//! the path to the control plane and to guests, not for millions of packets.

use super::counters::{Counters, ReceiveDrop, SendDrop};
use super::device::{Device, Link, NAME_MAX};
use super::{LINK_OCTETS, VECTOR};
use driver::call::{check, short};
use graph::{Pool, Slot, room};
use machine::narrow::index;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The shortest packet: an Ethernet header, or as much of an IP header as says its version.
const SHORTEST: [usize; 2] = [14, 1];

/// How an interface is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its name, at most [`NAME_MAX`] octets; made unless another queue of it is open.
    pub interface: String,
    /// Whether there will be more queues, each a port of the same name for another worker; all
    /// of them say so. The kernel keeps each flow in one queue.
    pub has_queues: bool,
    /// The address of this end.
    pub mac: [u8; 6],
    /// Its packets have no Ethernet header.
    pub is_tun: bool,
}

/// One queue of an interface that this process made; the interface goes with the last of them.
/// Needs `CAP_NET_ADMIN`.
#[derive(Debug)]
pub struct TapPort {
    file: File,
    device: Device,
    mac: [u8; 6],
    shortest: usize,
    link: Link,
    counters: Counters,
}

impl TapPort {
    /// Makes the interface or one more queue of it; it is down at first, see [`TapPort::device`].
    ///
    /// # Errors
    /// The kernel's: not permitted, the name is another interface's. `InvalidInput`: the name is
    /// empty or too long.
    pub fn open(spec: &Spec) -> io::Result<Self> {
        if spec.interface.is_empty() || spec.interface.len() > NAME_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let file = options.open("/dev/net/tun")?;
        // SAFETY: integers and null pointers, for which all-zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, octet) in request.ifr_name.iter_mut().zip(spec.interface.bytes()) {
            *place = octet as libc::c_char;
        }
        let queues = if spec.has_queues { libc::IFF_MULTI_QUEUE } else { 0 };
        let kind = if spec.is_tun { libc::IFF_TUN } else { libc::IFF_TAP };
        let flags = kind | libc::IFF_NO_PI | queues;
        request.ifr_ifru.ifru_flags = short(flags).cast_signed();
        let raw = file.as_raw_fd();
        // SAFETY: the kernel reads and writes one request, which lives over the call; the second
        // call takes a number.
        unsafe {
            check(libc::ioctl(raw, libc::TUNSETIFF, &raw mut request))?;
            check(libc::ioctl(raw, libc::TUNSETOFFLOAD, 0))?;
        }
        let device = Device::open(&spec.interface)?;
        let link = device.link()?;
        let shortest = SHORTEST[usize::from(spec.is_tun)];
        Ok(Self { file, device, mac: spec.mac, shortest, link, counters: Counters::default() })
    }

    /// The interface, to set it up or to ask it.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Slot>) -> usize {
        let start = into.len();
        while into.len() - start < VECTOR {
            let Some(slot) = pool.take() else { break };
            let longest = room(pool.stride());
            pool.meta_mut(slot).length = index(longest);
            let Ok(length) = self.file.read(pool.bytes_mut(slot)) else {
                // Nothing more, or the interface is down.
                pool.free(slot);
                break;
            };
            // What does not fit is cut: a cell that is full to the last octet may be one such.
            if length == longest {
                self.counters.drop_received(ReceiveDrop::TooLong, 1);
                pool.free(slot);
                continue;
            }
            pool.meta_mut(slot).length = index(length);
            self.counters.received.add(length);
            into.push(slot);
        }
        into.len() - start
    }

    pub(super) fn send(&mut self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        let mut ended = (!self.link.is_up).then_some(SendDrop::Down);
        for &slot in slots.iter() {
            let why = ended.map_or_else(|| self.write(pool.bytes(slot)), Some);
            if let Some(why) = why {
                self.counters.drop_sent(why, 1);
                ended = matches!(why, SendDrop::QueueFull | SendDrop::Down).then_some(why);
            }
        }
        pool.free_all(slots);
        slots.clear();
    }

    /// Sends one packet; why not, otherwise.
    fn write(&mut self, packet: &[u8]) -> Option<SendDrop> {
        if packet.len() > self.link.mtu + LINK_OCTETS {
            return Some(SendDrop::TooLong);
        }
        if packet.len() < self.shortest {
            return Some(SendDrop::Refused);
        }
        match self.file.write(packet) {
            // A packet is written whole or not at all.
            Ok(octets) => {
                self.counters.sent.add(octets);
                None
            }
            Err(error) => Some(match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => {
                    SendDrop::QueueFull
                }
                Some(libc::EIO | libc::EBADFD | libc::ENETDOWN) => SendDrop::Down,
                _ => SendDrop::Refused,
            }),
        }
    }

    pub(super) fn attend(&mut self, _: &mut Pool) {
        match self.device.link() {
            Ok(link) => self.link = link,
            Err(_) => self.link.is_up = false,
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(super) fn doze(&mut self) -> bool {
        // The descriptor is readable for as long as something waits.
        true
    }

    pub(super) fn rise(&mut self) {}

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn mac(&self) -> [u8; 6] {
        self.mac
    }

    pub(super) fn mtu(&self) -> usize {
        self.link.mtu
    }

    pub(super) fn is_up(&self) -> bool {
        self.link.is_up
    }

    pub(super) fn close(self, _: &mut Pool) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_interface_can_have_is_refused() {
        for interface in ["", "sixteen-letters-"] {
            let interface = interface.to_owned();
            let spec = Spec { interface, has_queues: false, mac: [2; 6], is_tun: false };
            let error = TapPort::open(&spec).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{}", spec.interface);
        }
    }
}
