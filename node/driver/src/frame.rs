//! Whole link-layer frames out of one interface: `AF_PACKET` and `sendmmsg`.

use crate::call::{check, octets_of, set, short};
use machine::narrow::place;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Frames of one call.
pub const FRAMES_MAX: usize = 64;

/// A socket that sends frames as they are given to it; it receives nothing. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct FrameSocket {
    fd: OwnedFd,
    name: libc::sockaddr_ll,
}

impl FrameSocket {
    /// Opens it on an interface of the calling thread's network namespace.
    ///
    /// # Errors
    /// The kernel's: no such interface, not permitted.
    pub fn open(interface: &str) -> io::Result<Self> {
        let named = CString::new(interface)?;
        // SAFETY: the name is a string that lives over the call.
        let index = unsafe { libc::if_nametoindex(named.as_ptr()) };
        if index == 0 {
            return Err(io::Error::last_os_error());
        }
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone. Protocol 0
        // receives nothing.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?) };
        // SAFETY: a structure of integers, for which all-zero is a value.
        let mut name: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        name.sll_family = short(libc::AF_PACKET);
        name.sll_ifindex = index as libc::c_int;
        // Without a queue of its own a veth loses nothing by this; kernels before 3.14 lack it.
        let _: io::Result<()> = set(fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1);
        Ok(Self { fd, name })
    }

    /// Sends the frames that stand one behind the other in `bytes`, each `length` octets long, at
    /// most [`FRAMES_MAX`]; returns how many the kernel took. A full queue is `Ok(0)`.
    ///
    /// # Errors
    /// The kernel's: the interface is down, a frame is too long.
    pub fn send(&self, bytes: &[u8], length: usize) -> io::Result<usize> {
        let mut name = self.name;
        // SAFETY: integers and null pointers, for which all-zero is a value.
        let mut headers: [libc::mmsghdr; FRAMES_MAX] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut parts: [libc::iovec; FRAMES_MAX] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for frame in bytes.chunks_exact(length.max(1)).take(FRAMES_MAX) {
            let part = &mut parts[count];
            (part.iov_base, part.iov_len) = (frame.as_ptr().cast_mut().cast(), frame.len());
            let header = &mut headers[count].msg_hdr;
            (header.msg_iov, header.msg_iovlen) = (&raw mut *part, 1);
            header.msg_name = (&raw mut name).cast();
            header.msg_namelen = octets_of::<libc::sockaddr_ll>();
            count += 1;
        }
        // SAFETY: each of the `count` headers points to a part of `bytes` with its true length
        // and to the name; all of them outlive the call, which only reads what they point to.
        let sent =
            unsafe { libc::sendmmsg(self.fd.as_raw_fd(), headers.as_mut_ptr(), place(count), 0) };
        match check(sent) {
            Ok(sent) => Ok(sent as usize),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => Ok(0),
                _ => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_cannot_be_opened() {
        assert!(FrameSocket::open("tandem-none0").is_err());
        assert!(FrameSocket::open("with\0zero").is_err());
    }
}
