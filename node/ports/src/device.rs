//! An interface of this kernel: up and down, MTU, address, promiscuous, offloads (netdevice(7),
//! `SIOCETHTOOL`).

use driver::call::{check, short};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Octets of the longest interface name (`IFNAMSIZ` without the closing zero).
pub const NAME_MAX: usize = libc::IFNAMSIZ - 1;

const ETHTOOL_SET_RECEIVE_SUM: u32 = 0x15;
const ETHTOOL_SET_SEND_SUM: u32 = 0x17;
const ETHTOOL_SET_SCATTER: u32 = 0x19;
const ETHTOOL_SET_TSO: u32 = 0x1f;
const ETHTOOL_SET_GSO: u32 = 0x24;
const ETHTOOL_SET_GRO: u32 = 0x2c;
const ETHTOOL_GET_CHANNELS: u32 = 0x3c;
const ETHTOOL_GET_FLAGS: u32 = 0x25;
const ETHTOOL_SET_FLAGS: u32 = 0x26;
/// `ETH_FLAG_TXVLAN`, `ETH_FLAG_RXVLAN`, `ETH_FLAG_LRO`.
const FLAGS_OFF: u32 = 1 << 7 | 1 << 8 | 1 << 15;

/// What `SIOCETHTOOL` reads and writes (`struct ethtool_value`).
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    send: u32,
    other: u32,
    both: u32,
}

/// An interface by its name, in the network namespace of the thread that opened it; asked from
/// any thread later.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    name: String,
    index: u32,
}

/// What a port says of its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Link {
    pub mac: [u8; 6],
    pub mtu: usize,
    pub is_up: bool,
}

impl Device {
    /// Finds it.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn open(name: &str) -> io::Result<Self> {
        let index = driver::link::interface(name)?;
        if name.len() > NAME_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_UNIX, kind, 0))?) };
        Ok(Self { fd, name: name.to_owned(), index })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: integers and null pointers, for which all-zero is a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, octet) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *place = octet as libc::c_char;
        }
        request
    }

    fn call(&self, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
        // SAFETY: the kernel reads and writes one request, which lives over the call.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), what as _, &raw mut *request) }).map(drop)
    }

    fn flags(&self) -> io::Result<libc::c_int> {
        let mut request = self.request();
        self.call(libc::SIOCGIFFLAGS as _, &mut request)?;
        // SAFETY: the kernel has written this field of the union.
        Ok(libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags }))
    }

    fn set_flag(&self, flag: libc::c_int, on: bool) -> io::Result<()> {
        let flags = self.flags()?;
        let mut request = self.request();
        let flags = if on { flags | flag } else { flags & !flag };
        request.ifr_ifru.ifru_flags = short(flags & 0xffff).cast_signed();
        self.call(libc::SIOCSIFFLAGS as _, &mut request)
    }

    /// Whether it is up and its link too.
    ///
    /// # Errors
    /// The kernel's: it is gone.
    pub fn is_up(&self) -> io::Result<bool> {
        let both = libc::IFF_UP | libc::IFF_RUNNING;
        Ok(self.flags()? & both == both)
    }

    /// Sets it up or down.
    ///
    /// # Errors
    /// The kernel's: not permitted, it is gone.
    pub fn set_up(&self, up: bool) -> io::Result<()> {
        self.set_flag(libc::IFF_UP, up)
    }

    /// Lets it take what is addressed to others, or not.
    ///
    /// # Errors
    /// The kernel's: not permitted, it is gone.
    pub fn set_promiscuous(&self, on: bool) -> io::Result<()> {
        self.set_flag(libc::IFF_PROMISC, on)
    }

    /// Octets of its longest packet, without the Ethernet header.
    ///
    /// # Errors
    /// The kernel's: it is gone.
    pub fn mtu(&self) -> io::Result<usize> {
        let mut request = self.request();
        self.call(libc::SIOCGIFMTU as _, &mut request)?;
        // SAFETY: the kernel has written this field of the union.
        Ok(unsafe { request.ifr_ifru.ifru_mtu } as usize)
    }

    /// Sets it.
    ///
    /// # Errors
    /// The kernel's: not permitted, out of the interface's range.
    pub fn set_mtu(&self, octets: usize) -> io::Result<()> {
        let mut request = self.request();
        let octets = libc::c_int::try_from(octets).map_err(|_| io::ErrorKind::InvalidInput)?;
        request.ifr_ifru.ifru_mtu = octets;
        self.call(libc::SIOCSIFMTU as _, &mut request)
    }

    /// Its Ethernet address.
    ///
    /// # Errors
    /// The kernel's: it is gone.
    pub fn mac(&self) -> io::Result<[u8; 6]> {
        let mut request = self.request();
        self.call(libc::SIOCGIFHWADDR as _, &mut request)?;
        // SAFETY: the kernel has written this field of the union.
        let data = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
        Ok(std::array::from_fn(|at| data[at] as u8))
    }

    /// Sets it.
    ///
    /// # Errors
    /// The kernel's: not permitted, a group address, the interface must be down for it.
    pub fn set_mac(&self, mac: [u8; 6]) -> io::Result<()> {
        let mut request = self.request();
        // SAFETY: this field of the union is written whole before it is read.
        let address = unsafe { &mut request.ifr_ifru.ifru_hwaddr };
        address.sa_family = libc::ARPHRD_ETHER;
        for (place, octet) in address.sa_data.iter_mut().zip(mac) {
            *place = octet as libc::c_char;
        }
        self.call(libc::SIOCSIFHWADDR as _, &mut request)
    }

    pub(super) fn link(&self) -> io::Result<Link> {
        Ok(Link { mac: self.mac()?, mtu: self.mtu()?, is_up: self.is_up()? })
    }

    /// Switches off what leaves work to hardware that is not there: checksums, joined packets, VLAN
    /// tags apart from their packet. On a veth it is the far end's work that reaches this one: do
    /// it there. What the interface cannot switch is left as it is.
    ///
    /// # Errors
    /// The kernel's: not permitted, it is gone.
    pub fn set_offloads_off(&self) -> io::Result<()> {
        for command in [
            ETHTOOL_SET_TSO,
            ETHTOOL_SET_GSO,
            ETHTOOL_SET_GRO,
            ETHTOOL_SET_SCATTER,
            ETHTOOL_SET_SEND_SUM,
            ETHTOOL_SET_RECEIVE_SUM,
        ] {
            self.set_value(Value { command, data: 0 })?;
        }
        let mut value = Value { command: ETHTOOL_GET_FLAGS, data: 0 };
        if self.ethtool(&mut value).is_ok() {
            let data = value.data & !FLAGS_OFF;
            self.set_value(Value { command: ETHTOOL_SET_FLAGS, data })?;
        }
        Ok(())
    }

    fn set_value(&self, mut value: Value) -> io::Result<()> {
        match self.ethtool(&mut value) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => {
                Ok(())
            }
            other => other,
        }
    }

    /// Queues that packets come in by; 1 where the interface does not say.
    #[must_use]
    pub fn queues(&self) -> u32 {
        let mut channels = Channels { command: ETHTOOL_GET_CHANNELS, ..Channels::default() };
        match self.ethtool(&mut channels) {
            Ok(()) => (channels.receive + channels.both).max(1),
            Err(_) => 1,
        }
    }

    /// `T`: what the command in its first word reads and writes.
    fn ethtool<T>(&self, what: &mut T) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = (&raw mut *what).cast();
        self.call(libc::SIOCETHTOOL as _, &mut request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_says_what_it_is() {
        let device = Device::open("lo").unwrap();
        assert_eq!((device.name(), device.mac().unwrap()), ("lo", [0; 6]));
        assert!(device.mtu().unwrap() >= 1_280 && device.index() > 0);
        assert!(Device::open("tandem-none0").is_err());
    }
}
