//! Frames out of an interface by `sendmmsg`, past the queueing discipline.

use super::bind;
use crate::counters::{Counters, SendDrop};
use driver::call::{check, set};
use graph::{Pool, Slot};
use machine::narrow::place;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Frames of one call.
const BATCH: usize = 256;
/// Octets on their way that the kernel holds for this socket.
const SEND_BUFFER: i32 = 8 << 20;

/// A socket that sends only, and room for one call.
pub(super) struct Out {
    fd: OwnedFd,
    headers: Box<[libc::mmsghdr]>,
    parts: Box<[libc::iovec]>,
}

// SAFETY: the pointers in headers and parts are written before each call and not used after it.
unsafe impl Send for Out {}

impl std::fmt::Debug for Out {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Out").field(&self.fd).finish()
    }
}

impl Out {
    pub fn open(index: libc::c_int) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?) };
        bind(&fd, index, 0)?;
        let raw = fd.as_raw_fd();
        set(raw, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        set(raw, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER)
            .or_else(|_| set(raw, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER))?;
        // SAFETY: integers and null pointers, for which all-zero is a value.
        let (header, part): (libc::mmsghdr, libc::iovec) = unsafe { std::mem::zeroed() };
        Ok(Self {
            fd,
            headers: vec![header; BATCH].into_boxed_slice(),
            parts: vec![part; BATCH].into_boxed_slice(),
        })
    }

    /// Sends what the kernel takes of `slots` and counts all of them. A packet that it refuses
    /// for itself is passed over; a full queue or a link that is down ends the vector.
    pub fn send(&mut self, pool: &Pool, slots: &[Slot], counters: &mut Counters) {
        let mut rest = slots;
        while !rest.is_empty() {
            match self.call(pool, rest) {
                Ok(count) => {
                    for &slot in &rest[..count] {
                        counters.sent.add(usize::from(pool.meta(slot).length));
                    }
                    rest = &rest[count..];
                }
                Err(why) => {
                    let ends = matches!(why, SendDrop::QueueFull | SendDrop::Down);
                    let count = if ends { rest.len() } else { 1 };
                    counters.drop_sent(why, count as u64);
                    rest = &rest[count..];
                }
            }
        }
    }

    /// One call for the front of `slots`: how many the kernel took, at least one.
    fn call(&mut self, pool: &Pool, slots: &[Slot]) -> Result<usize, SendDrop> {
        let count = slots.len().min(BATCH);
        for (at, &slot) in slots[..count].iter().enumerate() {
            let bytes = pool.bytes(slot);
            let part = &mut self.parts[at];
            (part.iov_base, part.iov_len) = (bytes.as_ptr().cast_mut().cast(), bytes.len());
            let header = &mut self.headers[at].msg_hdr;
            (header.msg_iov, header.msg_iovlen) = (&raw mut *part, 1);
        }
        let (raw, flags) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT);
        let headers = self.headers.as_mut_ptr();
        // SAFETY: each of the `count` headers points to its part, and that to a packet with its
        // true length; all outlive the call, which only reads what they point to.
        let sent = unsafe { libc::sendmmsg(raw, headers, place(count), flags) };
        let error = match check(sent) {
            Ok(0) => return Err(SendDrop::QueueFull),
            Ok(sent) => return Ok(sent as usize),
            Err(error) => error,
        };
        Err(match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR | libc::ENOMEM) => SendDrop::QueueFull,
            Some(libc::EMSGSIZE) => SendDrop::TooLong,
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => SendDrop::Down,
            _ => SendDrop::Refused,
        })
    }
}
