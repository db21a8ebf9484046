//! A UDP socket as a carrier wants it.

use crate::address::{NAME_BYTES, RawAddress};
use crate::control::{self, CONTROL_BYTES, Control};
use crate::socket::{self, SocketOptions};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A bound, unconnected, non-blocking UDP socket: joined receives (`UDP_GRO`), our own address
/// beside each datagram when bound to a wildcard, the time of arrival, a count of what the kernel
/// dropped, and ICMP errors by [`UdpSocket::errors`].
#[derive(Debug)]
pub struct UdpSocket {
    fd: OwnedFd,
    local: SocketAddr,
}

/// A destination that the network could not reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreachable {
    /// Where the lost datagram was sent.
    pub remote: SocketAddr,
    /// The kernel's reading of the ICMP message (`ECONNREFUSED`, `EHOSTUNREACH` …).
    pub errno: i32,
}

impl UdpSocket {
    /// Binds to `address`; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// The kernel's: address in use, not ours, no such device, not permitted.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let fd = socket::open(&address, libc::SOCK_DGRAM)?;
        socket::apply(&fd, options)?;
        let raw = fd.as_raw_fd();
        let (level, info, errors) = if address.is_ipv4() {
            (libc::IPPROTO_IP, libc::IP_PKTINFO, libc::IP_RECVERR)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, libc::IPV6_RECVERR)
        };
        if address.ip().is_unspecified() {
            socket::set(raw, level, info, 1)?;
        }
        socket::set(raw, level, errors, 1)?;
        socket::set(raw, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        socket::set(raw, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        socket::bind(&fd, &address)?;
        let local = socket::local(&fd)?;
        let made = Self { fd, local };
        made.join_runs(true);
        Ok(made)
    }

    /// Whether the kernel may join datagrams of one sender that come as a run (`UDP_GRO`).
    pub fn join_runs(&self, on: bool) {
        // Kernels before 5.0 do not know it; then every datagram comes alone.
        let _: io::Result<()> =
            socket::set(self.raw(), libc::SOL_UDP, libc::UDP_GRO, libc::c_int::from(on));
    }

    /// The address that it is bound to.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// The receive buffer that the kernel granted, in bytes as the kernel counts them (twice
    /// what was asked, for its own bookkeeping).
    ///
    /// # Errors
    /// The kernel's.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        let bytes = socket::get(self.raw(), libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    /// Takes up to `limit` errors that came back from the network. Those that do not mean
    /// "unreachable" (a smaller path MTU) are dropped here: the kernel fragments by itself.
    pub fn errors(&self, limit: usize, into: &mut Vec<Unreachable>) {
        for _ in 0..limit {
            match self.error() {
                Ok(Some(found)) => into.push(found),
                Ok(None) => {}
                Err(_) => return, // empty
            }
        }
    }

    fn error(&self) -> io::Result<Option<Unreachable>> {
        let mut name = RawAddress::zeroed();
        let mut control = Control([0; CONTROL_BYTES]);
        // SAFETY: a header of integers and null pointers is a value; every pointer set below
        // outlives the call, with its true length.
        let beside = unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_name = (&raw mut name).cast();
            header.msg_namelen = NAME_BYTES;
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_BYTES;
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            if libc::recvmsg(self.raw(), &raw mut header, flags) < 0 {
                return Err(io::Error::last_os_error());
            }
            control::read(&header)
        };
        let errno = beside.errno.filter(|&errno| errno != libc::EMSGSIZE);
        Ok(name.address().zip(errno).map(|(remote, errno)| Unreachable { remote, errno }))
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
