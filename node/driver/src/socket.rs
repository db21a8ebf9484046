//! Sockets and their options, for datagrams and streams alike.

use crate::address::{NAME_BYTES, RawAddress};
use crate::call::{check, get, set};
use machine::narrow::place;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// How a socket is made.
#[derive(Debug, Clone, Default)]
pub struct SocketOptions {
    /// Wanted receive buffer in bytes; 0 keeps the system's. Above `rmem_max` only with
    /// `CAP_NET_ADMIN`.
    pub receive_buffer_bytes: usize,
    /// Wanted send buffer in bytes; 0 keeps the system's.
    pub send_buffer_bytes: usize,
    /// Network device to bind to.
    pub device: Option<String>,
    /// `SO_REUSEPORT`: the kernel deals arrivals out to all sockets that share the address.
    pub share: bool,
    /// `IP_FREEBIND`: the address may be one that this machine does not have yet.
    pub ahead: bool,
    /// Datagrams travel whole or not at all (DF), whatever the kernel believes of the path.
    pub whole: bool,
}

/// A non-blocking socket of the address's family.
pub(crate) fn open(
    address: &SocketAddr,
    kind: libc::c_int,
    protocol: libc::c_int,
) -> io::Result<OwnedFd> {
    let domain = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain system call; a descriptor that it returns is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(domain, kind, protocol))?)) }
}

/// Applies `options`. Buffers past the system's limit are forced where that is allowed, and
/// otherwise as large as the system grants.
pub(crate) fn apply(fd: &OwnedFd, options: &SocketOptions) -> io::Result<()> {
    let fd = fd.as_raw_fd();
    let buffers = [
        (options.receive_buffer_bytes, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (options.send_buffer_bytes, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ];
    for (bytes, force, ask) in buffers {
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX / 2);
        if bytes > 0 && set(fd, libc::SOL_SOCKET, force, bytes).is_err() {
            set(fd, libc::SOL_SOCKET, ask, bytes)?;
        }
    }
    if options.share {
        set(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    }
    if options.ahead {
        // Works on sockets of either family (ip(7)).
        set(fd, libc::SOL_IP, libc::IP_FREEBIND, 1)?;
    }
    if let Some(device) = &options.device {
        bind_to_device(fd, device)?;
    }
    Ok(())
}

/// Gives a socket of the standard library `bytes` for what arrives, beyond the system's limit
/// where that is allowed, and otherwise as many as the system grants.
///
/// # Errors
/// The kernel's.
pub fn make_room(socket: &impl AsRawFd, bytes: i32) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes))
}

fn bind_to_device(fd: RawFd, device: &str) -> io::Result<()> {
    // SAFETY: the kernel reads `device.len()` bytes of a string that lives over the call.
    check(unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            device.as_ptr().cast(),
            place(device.len()),
        )
    })
    .map(drop)
}

/// Binds. IPv6 sockets take IPv6 only, so that `0.0.0.0` and `[::]` stand side by side; raw ones
/// do so by nature and may not be told.
pub(crate) fn bind(fd: &OwnedFd, address: &SocketAddr) -> io::Result<()> {
    if address.is_ipv6() && get(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TYPE)? != libc::SOCK_RAW
    {
        set(fd.as_raw_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
    }
    let mut raw = RawAddress::zeroed();
    let length = raw.set(address);
    // SAFETY: the address and its length belong together and live over the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const raw).cast(), length) }).map(drop)
}

/// Starts to connect; `true` when the connection stands at once.
pub(crate) fn connect(fd: &OwnedFd, address: &SocketAddr) -> io::Result<bool> {
    let mut raw = RawAddress::zeroed();
    let length = raw.set(address);
    // SAFETY: the address and its length belong together and live over the call.
    match check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const raw).cast(), length) }) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The address that the kernel gave the socket.
pub(crate) fn local(fd: &OwnedFd) -> io::Result<SocketAddr> {
    let mut raw = RawAddress::zeroed();
    let mut length = NAME_BYTES;
    // SAFETY: the kernel writes at most `length` bytes, which is the union's size.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut raw).cast(), &raw mut length) })?;
    raw.address().ok_or_else(|| io::Error::from_raw_os_error(libc::EAFNOSUPPORT))
}
