//! Receiving datagrams by the batch: `recvmmsg` with `UDP_GRO`.

use crate::address::{NAME_BYTES, RawAddress};
use crate::control::{self, CONTROL_BYTES, Control};
use crate::datagram::DatagramSocket;
use machine::narrow::place;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Buffers of one batch. With joined receives each may hold many datagrams.
pub const RECEIVE_SLOTS: usize = 64;
/// The largest joined receive, and a step to the side so that the slots' heads do not all fall
/// into the same set of the L1 cache.
const SLOT_BYTES: usize = 65_536 + 640;

/// Room for one batch, made once per shard.
pub struct ReceiveBatch {
    bytes: Vec<u8>,
    headers: Vec<libc::mmsghdr>,
    // The headers point into these; they are never resized.
    _iovecs: Vec<libc::iovec>,
    names: Vec<RawAddress>,
    _controls: Vec<Control>,
    received: usize,
    /// The datagrams begin with an IPv4 header.
    has_header: bool,
}

/// One received buffer: one datagram, or several of one sender joined by the kernel.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// The sender.
    pub remote: SocketAddr,
    /// Our address that it was sent to, when the socket is bound to a wildcard.
    pub local: Option<IpAddr>,
    /// The bytes of all segments.
    pub bytes: &'a [u8],
    /// Bytes of each segment but the last, which may be shorter.
    pub segment: usize,
    /// Datagrams that the socket lost since it was made, when it lost any.
    pub lost: Option<u32>,
    /// When the kernel took it, nanoseconds since the UNIX epoch by the system's date; compare
    /// with [`crate::Clock::date_ns`].
    pub arrived_ns: Option<u64>,
}

impl<'a> Datagram<'a> {
    /// The datagrams as they were sent.
    pub fn segments(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.chunks(self.segment)
    }
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl ReceiveBatch {
    /// Room for [`RECEIVE_SLOTS`] buffers; the system gives pages only to what is used.
    #[must_use]
    pub fn new() -> Self {
        let mut bytes = vec![0u8; RECEIVE_SLOTS * SLOT_BYTES];
        let mut names = vec![RawAddress::zeroed(); RECEIVE_SLOTS];
        let mut controls = vec![Control([0; CONTROL_BYTES]); RECEIVE_SLOTS];
        let mut iovecs: Vec<libc::iovec> = bytes
            .chunks_mut(SLOT_BYTES)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() })
            .collect();
        let headers = (0..RECEIVE_SLOTS)
            .map(|slot| {
                // SAFETY: a header of integers and null pointers is a value.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                header.msg_hdr.msg_iov = &raw mut iovecs[slot];
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_name = (&raw mut names[slot]).cast();
                header.msg_hdr.msg_control = controls[slot].0.as_mut_ptr().cast();
                header
            })
            .collect();
        Self {
            bytes,
            headers,
            _iovecs: iovecs,
            names,
            _controls: controls,
            received: 0,
            has_header: false,
        }
    }

    /// Receives what is there, at most one batch, without waiting; returns the number of
    /// buffers filled. Nothing there is `Ok(0)`.
    ///
    /// # Errors
    /// The kernel's: an ICMP error that came back (fetch it with [`DatagramSocket::errors`]).
    pub fn receive(&mut self, socket: &DatagramSocket) -> io::Result<usize> {
        for header in &mut self.headers {
            header.msg_hdr.msg_namelen = NAME_BYTES;
            header.msg_hdr.msg_controllen = CONTROL_BYTES;
        }
        self.received = 0;
        self.has_header = socket.has_header();
        // SAFETY: every header points to its own slot, name and control buffer with their true
        // lengths; all live in vectors of this value that are never resized.
        let count = unsafe {
            libc::recvmmsg(
                socket.fd(),
                self.headers.as_mut_ptr(),
                place(RECEIVE_SLOTS),
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        }
        self.received = count as usize;
        Ok(self.received)
    }

    /// The buffers of the last [`ReceiveBatch::receive`], in the order of arrival.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        (0..self.received).filter_map(|slot| {
            let header = &self.headers[slot];
            let start = slot * SLOT_BYTES;
            let length = (header.msg_len as usize).min(SLOT_BYTES);
            let bytes = &self.bytes[start..start + length];
            // SAFETY: the header was filled by the last successful `recvmmsg`.
            let beside = unsafe { control::read(&header.msg_hdr) };
            let (bytes, local) = if self.has_header {
                let (local, bytes) = behind_header(bytes)?;
                (bytes, Some(local))
            } else {
                (bytes, beside.local)
            };
            let length = bytes.len();
            Some(Datagram {
                remote: self.names[slot].address()?,
                local,
                bytes,
                segment: beside.segment.unwrap_or(length).max(1),
                lost: beside.lost,
                arrived_ns: beside.arrived_ns,
            })
        })
    }
}

/// What stands behind an IPv4 header, and the address that the packet was sent to
/// (RFC 791 §3.1).
fn behind_header(packet: &[u8]) -> Option<(IpAddr, &[u8])> {
    let destination: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    let bytes = packet.get(usize::from(packet[0] & 15) * 4..)?;
    (!bytes.is_empty()).then(|| (destination.into(), bytes))
}
