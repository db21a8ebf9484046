//! Socket addresses between Rust's types and the kernel's.

use crate::call::{octets_of, short};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A `sockaddr` of either family, 28 bytes instead of `sockaddr_storage`'s 128.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union RawAddress {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

/// Room that the kernel may fill with a name.
pub(crate) const NAME_BYTES: libc::socklen_t = octets_of::<RawAddress>();

impl RawAddress {
    pub(crate) fn zeroed() -> Self {
        // SAFETY: both variants are plain integers, for which all-zero is a value.
        unsafe { std::mem::zeroed() }
    }

    /// Writes `address`; returns the length that the kernel wants with it.
    pub(crate) fn set(&mut self, address: &SocketAddr) -> libc::socklen_t {
        match address {
            SocketAddr::V4(a) => {
                self.v4 = libc::sockaddr_in {
                    sin_family: short(libc::AF_INET),
                    sin_port: a.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from(*a.ip()).to_be() },
                    sin_zero: [0; 8],
                };
                octets_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(a) => {
                self.v6 = libc::sockaddr_in6 {
                    sin6_family: short(libc::AF_INET6),
                    sin6_port: a.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: a.ip().octets() },
                    sin6_scope_id: a.scope_id(),
                };
                octets_of::<libc::sockaddr_in6>()
            }
        }
    }

    /// Reads the address back; `None` for another family (an unnamed peer).
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        // SAFETY: the family stands at the same place in both variants, and every bit pattern is
        // a value of either variant.
        unsafe {
            match i32::from(self.v4.sin_family) {
                libc::AF_INET => Some(SocketAddr::V4(SocketAddrV4::new(
                    Ipv4Addr::from(u32::from_be(self.v4.sin_addr.s_addr)),
                    u16::from_be(self.v4.sin_port),
                ))),
                libc::AF_INET6 => Some(SocketAddr::V6(SocketAddrV6::new(
                    Ipv6Addr::from(self.v6.sin6_addr.s6_addr),
                    u16::from_be(self.v6.sin6_port),
                    0,
                    self.v6.sin6_scope_id,
                ))),
                _ => None,
            }
        }
    }
}
