//! Non-blocking TCP: listening, accepting, connecting.

use crate::call::{self, check};
use crate::control::{self, CONTROL_BYTES, Control};
use crate::socket::{self, SocketOptions};
use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

/// Connections that wait for [`accept`] in the kernel.
const BACKLOG: libc::c_int = 4_096;

/// Listens on `address`; port 0 lets the kernel choose. `guard` sets what the socket demands of
/// its far ends before the first of them can come.
///
/// # Errors
/// The kernel's: address in use, not ours, no such device, not permitted; those of `guard`.
pub fn listen(
    address: SocketAddr,
    options: &SocketOptions,
    guard: impl FnOnce(&OwnedFd) -> io::Result<()>,
) -> io::Result<TcpListener> {
    let fd = socket::open(&address, libc::SOCK_STREAM, 0)?;
    call::set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    socket::apply(&fd, options)?;
    socket::bind(&fd, &address)?;
    guard(&fd)?;
    // SAFETY: a plain system call on an open descriptor.
    check(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
    Ok(TcpListener::from(fd))
}

/// Accepts one connection, non-blocking and without Nagle's delay; `None` when none waits.
///
/// # Errors
/// The kernel's; out of descriptors is the one to expect.
pub fn accept(listener: &TcpListener) -> io::Result<Option<(TcpStream, SocketAddr)>> {
    match listener.accept() {
        Ok((stream, remote)) => {
            stream.set_nonblocking(true)?;
            // A connection that was reset meanwhile refuses the option; reading will tell.
            let _: io::Result<()> = stream.set_nodelay(true);
            let _ = call::set(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
            Ok(Some((stream, remote)))
        }
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionAborted => Ok(None),
            _ => Err(error),
        },
    }
}

/// Lets no more than about so many octets wait unsent in the kernel (`TCP_NOTSENT_LOWAT`): what is
/// on top waits with its writer, who can share it between connections.
///
/// # Errors
/// The kernel's.
pub fn limit_unsent(stream: &TcpStream, octets: u32) -> io::Result<()> {
    let octets = i32::try_from(octets).unwrap_or(i32::MAX);
    call::set(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, octets)
}

/// Starts to connect from `source` (its address; the port too when it is not 0) to `remote`.
/// The stream becomes writable when that succeeded or failed; [`outcome`] says which. `guard` sets
/// what the socket demands of its far end before it speaks.
///
/// # Errors
/// The kernel's, when it knows at once; those of `guard`.
pub fn connect(
    source: Option<SocketAddr>,
    remote: SocketAddr,
    options: &SocketOptions,
    guard: impl FnOnce(&OwnedFd) -> io::Result<()>,
) -> io::Result<TcpStream> {
    let fd = socket::open(&remote, libc::SOCK_STREAM, 0)?;
    socket::apply(&fd, options)?;
    call::set(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    call::set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    if let Some(source) = source {
        // The port is chosen when the remote is known, so that one can serve many remotes.
        call::set(fd.as_raw_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        socket::bind(&fd, &source)?;
    }
    guard(&fd)?;
    socket::connect(&fd, &remote)?;
    Ok(TcpStream::from(fd))
}

/// How a connection attempt ended, once the stream is writable: our address, or why not.
///
/// # Errors
/// Why the connection could not be opened.
pub fn outcome(stream: &TcpStream) -> io::Result<SocketAddr> {
    match stream.take_error()? {
        Some(error) => Err(error),
        None => {
            stream.peer_addr()?; // not connected yet is an error too
            stream.local_addr()
        }
    }
}

/// Reads what is there: `Ok(None)` when nothing is, `Ok(Some(0))` at the end of the stream.
///
/// # Errors
/// The connection is lost.
pub fn read(stream: &TcpStream, into: &mut [u8]) -> io::Result<Option<usize>> {
    let mut stream = stream;
    settle(stream.read(into))
}

/// The same, and when the kernel took the last of the octets: nanoseconds since the UNIX epoch.
///
/// # Errors
/// The connection is lost.
pub fn read_stamped(
    stream: &TcpStream,
    into: &mut [u8],
) -> io::Result<Option<(usize, Option<u64>)>> {
    let mut control = Control([0; CONTROL_BYTES]);
    let mut part = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: a header of integers and null pointers is a value; every pointer set below outlives
    // the call, with its true length.
    let (count, beside) = unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.0.as_mut_ptr().cast();
        header.msg_controllen = CONTROL_BYTES;
        let count = libc::recvmsg(stream.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT);
        if count < 0 {
            return Ok(settle(Err(io::Error::last_os_error()))?.map(|count| (count, None)));
        }
        (count, control::read(&header))
    };
    Ok(Some((count.cast_unsigned(), beside.arrived_ns)))
}

/// Writes as much as the kernel takes; `Ok(None)` when it takes nothing now.
///
/// # Errors
/// The connection is lost.
pub fn write(stream: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
    let mut stream = stream;
    settle(stream.write_vectored(parts))
}

fn settle(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}

/// Says that nothing more will be written.
pub fn finish(stream: &TcpStream) {
    // Already reset by the far end: nothing left to say.
    let _: io::Result<()> = stream.shutdown(Shutdown::Write);
}
