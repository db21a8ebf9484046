//! A socket for datagrams as a carrier wants it: UDP, or the packets of one IP protocol.

use crate::address::{NAME_BYTES, RawAddress};
use crate::call;
use crate::control::{self, CONTROL_BYTES, Control};
use crate::socket::{self, SocketOptions};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Octets of a datagram of ours that an error quotes, at most.
const QUOTED_MAX: usize = 128;
/// `ee_code` of an ICMPv6 Parameter Problem: the next header is not known (RFC 4443 §3.4).
const UNRECOGNIZED_NEXT_HEADER: u8 = 1;

/// A bound, unconnected, non-blocking socket: joined receives (`UDP_GRO`), our own address
/// beside each datagram when bound to a wildcard, the time of arrival, a count of what the kernel
/// dropped, and ICMP errors by [`DatagramSocket::errors`].
#[derive(Debug)]
pub struct DatagramSocket {
    fd: OwnedFd,
    local: SocketAddr,
    /// The kernel hands the IPv4 header over with each packet.
    has_header: bool,
}

/// A datagram that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// Where the lost datagram was sent.
    pub remote: SocketAddr,
    /// The kernel's reading of the ICMP message (`ECONNREFUSED`, `EHOSTUNREACH` …).
    pub errno: i32,
    /// Why.
    pub why: Why,
    /// The beginning of what was sent, as far as it is quoted.
    pub quoted: Vec<u8>,
}

/// Why a datagram came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It has more octets than this, IP header included.
    TooBig(u16),
    /// The host has nobody for that port or protocol.
    Nobody,
    /// It cannot be reached, for now at least.
    Unreachable,
}

impl DatagramSocket {
    /// A UDP socket on `address`; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// The kernel's: address in use, not ours, no such device, not permitted.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> io::Result<Self> {
        let fd = socket::open(&address, libc::SOCK_DGRAM, 0)?;
        let made = Self::prepare(fd, &address, options, false)?;
        made.join_runs(true);
        Ok(made)
    }

    /// A socket for the packets of an IP protocol that come to `address`, whatever the kernel does
    /// with them beside. Ports mean nothing and are 0. Needs `CAP_NET_RAW`.
    ///
    /// # Errors
    /// The kernel's: address not ours, no such device, not permitted.
    pub fn raw(address: IpAddr, protocol: u8, options: &SocketOptions) -> io::Result<Self> {
        let address = SocketAddr::new(address, 0);
        let fd = socket::open(&address, libc::SOCK_RAW, protocol.into())?;
        Self::prepare(fd, &address, options, address.is_ipv4())
    }

    fn prepare(
        fd: OwnedFd,
        address: &SocketAddr,
        options: &SocketOptions,
        has_header: bool,
    ) -> io::Result<Self> {
        socket::apply(&fd, options)?;
        let raw = fd.as_raw_fd();
        let (level, info, errors) = if address.is_ipv4() {
            (libc::IPPROTO_IP, libc::IP_PKTINFO, libc::IP_RECVERR)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, libc::IPV6_RECVERR)
        };
        if address.ip().is_unspecified() && !has_header {
            call::set(raw, level, info, 1)?;
        }
        call::set(raw, level, errors, 1)?;
        call::set(raw, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        call::set(raw, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        socket::bind(&fd, address)?;
        let mut local = socket::local(&fd)?;
        if has_header {
            local.set_port(0); // the kernel shows the protocol there
        }
        let made = Self { fd, local, has_header };
        if options.whole {
            made.keep_whole(true)?;
        }
        Ok(made)
    }

    /// Whether the kernel may join datagrams of one sender that come as a run (`UDP_GRO`).
    pub fn join_runs(&self, on: bool) {
        // Kernels before 5.0 do not know it; then every datagram comes alone.
        let _: io::Result<()> =
            call::set(self.fd.as_raw_fd(), libc::SOL_UDP, libc::UDP_GRO, libc::c_int::from(on));
    }

    /// Whether datagrams travel whole (DF) or not at all, whatever the kernel believes of the
    /// path; else IP may fragment them, here and on their way.
    ///
    /// # Errors
    /// The kernel's; none in normal life.
    pub fn keep_whole(&self, on: bool) -> io::Result<()> {
        let raw = self.fd.as_raw_fd();
        if self.local.is_ipv4() {
            let mode = if on { libc::IP_PMTUDISC_PROBE } else { libc::IP_PMTUDISC_DONT };
            return call::set(raw, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, mode);
        }
        let mode = if on { libc::IPV6_PMTUDISC_PROBE } else { libc::IPV6_PMTUDISC_DONT };
        call::set(raw, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, mode)?;
        call::set(raw, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, libc::c_int::from(on))
    }

    /// The address that it is bound to.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether each datagram comes with an IPv4 header before it.
    pub(crate) const fn has_header(&self) -> bool {
        self.has_header
    }

    /// The receive buffer that the kernel granted, in bytes as the kernel counts them (twice
    /// what was asked, for its own bookkeeping).
    ///
    /// # Errors
    /// The kernel's.
    pub fn receive_buffer_bytes(&self) -> io::Result<usize> {
        let bytes = call::get(self.fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    /// Takes up to `limit` errors that came back from the network.
    pub fn errors(&self, limit: usize, into: &mut Vec<Returned>) {
        for _ in 0..limit {
            match self.error() {
                Ok(Some(found)) => into.push(found),
                Ok(None) => {}
                Err(_) => return, // empty
            }
        }
    }

    fn error(&self) -> io::Result<Option<Returned>> {
        let mut name = RawAddress::zeroed();
        let mut control = Control([0; CONTROL_BYTES]);
        let mut quoted = [0u8; QUOTED_MAX];
        let mut part = libc::iovec { iov_base: quoted.as_mut_ptr().cast(), iov_len: QUOTED_MAX };
        // SAFETY: a header of integers and null pointers is a value; every pointer set below
        // outlives the call, with its true length.
        let (length, beside) = unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_name = (&raw mut name).cast();
            header.msg_namelen = NAME_BYTES;
            header.msg_control = control.0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL_BYTES;
            header.msg_iov = &raw mut part;
            header.msg_iovlen = 1;
            let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
            let length = libc::recvmsg(self.fd.as_raw_fd(), &raw mut header, flags);
            if length < 0 {
                return Err(io::Error::last_os_error());
            }
            (length as usize, control::read(&header))
        };
        let Some((remote, error)) = name.address().zip(beside.error) else { return Ok(None) };
        let why = match error.errno {
            libc::EMSGSIZE => Why::TooBig(u16::try_from(error.info).unwrap_or(u16::MAX)),
            libc::ECONNREFUSED | libc::ENOPROTOOPT => Why::Nobody,
            libc::EPROTO if error.code == UNRECOGNIZED_NEXT_HEADER => Why::Nobody,
            _ => Why::Unreachable,
        };
        let quoted = quoted[..length.min(QUOTED_MAX)].to_vec();
        Ok(Some(Returned { remote, errno: error.errno, why, quoted }))
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
