//! Whole link-layer frames of one interface, in and out: `AF_PACKET`, `recvmmsg`, `sendmmsg`.
//!
//! A virtual interface hands over what its sender left to the hardware: frames of 64 KiB that are
//! to be cut into segments, and checksums that are to be finished. The [`Offload`] beside each
//! frame (`PACKET_VNET_HDR`, virtio 1.2 §5.1.6) says which; whoever sends the frame on hands it
//! back, or does that work and says so.

use crate::call::{check, octets_of, set, short};
use crate::control::{self, CONTROL_BYTES, Control};
use machine::narrow::{index, place};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Frames of one call.
pub const PACKETS_MAX: usize = 64;
/// Octets of an [`Offload`] on its way to the kernel.
const OFFLOAD_BYTES: usize = 10;
/// The largest joined frame, its offload, and a step to the side so that the slots' heads do not
/// all fall into the same set of the L1 cache.
const SLOT_BYTES: usize = 65_536 + 640;
/// Where a VLAN tag stands that the kernel took out of a frame: behind the two addresses.
const TAG_AT: usize = 12;
const TAG_BYTES: usize = 4;

/// What is left to be done to a frame (`struct virtio_net_hdr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// Bit 0: the checksum is to be finished.
    pub flags: u8,
    /// 0: one segment; 1: TCP over IPv4; 4: TCP over IPv6; 5: UDP; bit 7: with ECN.
    pub kind: u8,
    /// Octets of all headers, as a hint.
    pub header: u16,
    /// Payload octets of each segment but the last.
    pub segment: u16,
    /// Where the sum begins: the transport header.
    pub sum_from: u16,
    /// Where the sum is written, counted from there.
    pub sum_at: u16,
}

impl Offload {
    fn read(bytes: &[u8]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let (header, segment) = (word(2), word(4));
        let (sum_from, sum_at) = (word(6), word(8));
        Self { flags: bytes[0], kind: bytes[1], header, segment, sum_from, sum_at }
    }

    fn write(&self) -> [u8; OFFLOAD_BYTES] {
        let mut bytes = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [self.header, self.segment, self.sum_from, self.sum_at];
        for (place, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    /// The same for a frame with `octets` put in before the transport header.
    const fn moved(mut self, octets: u16) -> Self {
        if self.flags & 1 != 0 {
            self.sum_from = self.sum_from.saturating_add(octets);
        }
        if self.header > 0 {
            self.header = self.header.saturating_add(octets);
        }
        self
    }
}

/// A frame that was received.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// What is left to be done to it.
    pub offload: Offload,
    /// From the link-layer header on, up to a VLAN tag if it had one.
    pub head: &'a [u8],
    /// The tag, which the kernel keeps apart; stands between `head` and `tail`.
    pub tag: Option<[u8; TAG_BYTES]>,
    /// The rest.
    pub tail: &'a [u8],
    /// When the kernel took it, nanoseconds since the UNIX epoch by the system's date; compare
    /// with [`crate::Clock::date_ns`].
    pub arrived_ns: Option<u64>,
}

/// A socket for every frame that comes in by one interface, whomever it is addressed to, and for
/// frames that shall leave by it. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

impl PacketSocket {
    /// Opens it on an interface of the calling thread's network namespace, with room for
    /// `receive_bytes` that wait to be read (less where the system grants less). What this
    /// machine sends by the interface is not received.
    ///
    /// # Errors
    /// The kernel's: no such interface, not permitted.
    pub fn open(interface: &str, receive_bytes: i32) -> io::Result<Self> {
        let index = crate::link::interface(interface)? as libc::c_int;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone. Protocol 0
        // receives nothing before it is bound.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?) };
        let raw = fd.as_raw_fd();
        set(raw, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        set(raw, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
        set(raw, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        set(raw, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        crate::make_room(&fd, receive_bytes)?;
        // SAFETY: structures of integers, for which all-zero is a value.
        let (mut promiscuous, mut name): (libc::packet_mreq, libc::sockaddr_ll) =
            unsafe { std::mem::zeroed() };
        promiscuous.mr_ifindex = index;
        promiscuous.mr_type = short(libc::PACKET_MR_PROMISC);
        name.sll_family = short(libc::AF_PACKET);
        name.sll_protocol = short(libc::ETH_P_ALL).to_be();
        name.sll_ifindex = index;
        // SAFETY: the kernel reads both structures, with their true lengths, during the calls.
        unsafe {
            check(libc::setsockopt(
                raw,
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                (&raw const promiscuous).cast(),
                octets_of::<libc::packet_mreq>(),
            ))?;
            let length = octets_of::<libc::sockaddr_ll>();
            check(libc::bind(raw, (&raw const name).cast(), length))?;
        }
        Ok(Self { fd })
    }

    /// Frames that found the receive buffer full since this was asked last.
    ///
    /// # Errors
    /// The kernel's.
    pub fn missed(&self) -> io::Result<u32> {
        // SAFETY: a structure of integers, for which all-zero is a value.
        let mut counts: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut length = octets_of::<libc::tpacket_stats>();
        // SAFETY: the kernel writes at most `length` bytes into the structure.
        check(unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut length,
            )
        })?;
        Ok(counts.tp_drops)
    }

    /// Sends frames, at most [`PACKETS_MAX`]; returns how many the kernel took. A full queue is
    /// `Ok(0)`.
    ///
    /// # Errors
    /// The kernel's about the first frame: the interface is down, the frame is too long for it.
    pub fn send<'a>(&self, frames: impl Iterator<Item = (Offload, &'a [u8])>) -> io::Result<usize> {
        let mut heads = [[0u8; OFFLOAD_BYTES]; PACKETS_MAX];
        // SAFETY: integers and null pointers, for which all-zero is a value.
        let mut parts: [[libc::iovec; 2]; PACKETS_MAX] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; PACKETS_MAX] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        for (offload, frame) in frames.take(PACKETS_MAX) {
            heads[count] = offload.write();
            let [head, body] = &mut parts[count];
            (head.iov_base, head.iov_len) = (heads[count].as_mut_ptr().cast(), OFFLOAD_BYTES);
            (body.iov_base, body.iov_len) = (frame.as_ptr().cast_mut().cast(), frame.len());
            let header = &mut headers[count].msg_hdr;
            (header.msg_iov, header.msg_iovlen) = (parts[count].as_mut_ptr(), 2);
            count += 1;
        }
        let (raw, flags) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: each of the `count` headers points to its two parts, and these to an offload
        // and a frame with their true lengths; all outlive the call, which only reads them.
        let sent = unsafe { libc::sendmmsg(raw, headers.as_mut_ptr(), place(count), flags) };
        match check(sent) {
            Ok(sent) => Ok(sent as usize),
            Err(error) => match error.raw_os_error() {
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR) => Ok(0),
                _ => Err(error),
            },
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Room for one batch of frames.
pub struct PacketBatch {
    bytes: Vec<u8>,
    headers: Vec<libc::mmsghdr>,
    // The headers point into these; they are never resized.
    _iovecs: Vec<libc::iovec>,
    _controls: Vec<Control>,
    received: usize,
}

impl Default for PacketBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl PacketBatch {
    /// Room for [`PACKETS_MAX`] frames; the system gives pages only to what is used.
    #[must_use]
    pub fn new() -> Self {
        let mut bytes = vec![0u8; PACKETS_MAX * SLOT_BYTES];
        let mut controls = vec![Control([0; CONTROL_BYTES]); PACKETS_MAX];
        let mut iovecs: Vec<libc::iovec> = bytes
            .chunks_mut(SLOT_BYTES)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() })
            .collect();
        let headers = (0..PACKETS_MAX)
            .map(|slot| {
                // SAFETY: a header of integers and null pointers is a value.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                header.msg_hdr.msg_iov = &raw mut iovecs[slot];
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = controls[slot].0.as_mut_ptr().cast();
                header
            })
            .collect();
        Self { bytes, headers, _iovecs: iovecs, _controls: controls, received: 0 }
    }

    /// Receives what is there, at most one batch, without waiting; returns the number of frames.
    ///
    /// # Errors
    /// The kernel's: the interface went down, or a frame of a kind that cannot be handed over
    /// (`EINVAL`: one joined inside a tunnel), which is lost.
    pub fn receive(&mut self, socket: &PacketSocket) -> io::Result<usize> {
        for header in &mut self.headers {
            header.msg_hdr.msg_controllen = CONTROL_BYTES;
        }
        self.received = 0;
        // SAFETY: every header points to its own slot and control buffer with their true lengths;
        // all live in vectors of this value that are never resized.
        let count = unsafe {
            libc::recvmmsg(
                socket.fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                place(PACKETS_MAX),
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        match check(count) {
            Ok(count) => self.received = count as usize,
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
        Ok(self.received)
    }

    /// The frames of the last [`PacketBatch::receive`], in the order of arrival.
    pub fn frames(&self) -> impl Iterator<Item = Received<'_>> {
        (0..self.received).filter_map(|slot| {
            let header = &self.headers[slot];
            let length = (header.msg_len as usize).min(SLOT_BYTES);
            let bytes = &self.bytes[slot * SLOT_BYTES..slot * SLOT_BYTES + length];
            let (offload, frame) = bytes.split_at_checked(OFFLOAD_BYTES)?;
            // SAFETY: the header was filled by the last successful `recvmmsg`.
            let beside = unsafe { control::read(&header.msg_hdr) };
            let tag = beside.tag.filter(|_| frame.len() >= TAG_AT);
            let (head, tail) = frame.split_at(if tag.is_some() { TAG_AT } else { frame.len() });
            let offload = Offload::read(offload);
            let offload = if tag.is_some() { offload.moved(index(TAG_BYTES)) } else { offload };
            Some(Received { offload, head, tag, tail, arrived_ns: beside.arrived_ns })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offload_is_written_as_it_was_read_and_moves_with_a_tag() {
        let bytes: [u8; OFFLOAD_BYTES] = [1, 4, 2, 3, 4, 5, 6, 7, 8, 9];
        let offload = Offload::read(&bytes);
        assert_eq!(offload.write(), bytes);
        assert_eq!(offload.moved(4).sum_from, offload.sum_from + 4);
        assert_eq!(Offload::default().moved(4), Offload::default());
    }

    #[test]
    fn an_interface_that_is_not_there_cannot_be_opened() {
        assert!(PacketSocket::open("tandem-none0", 1 << 20).is_err());
    }

    /// Needs `CAP_NET_RAW`: without it it fails, unless `TANDEM_MAY_SKIP=1` leaves it out.
    #[test]
    fn a_frame_on_loopback_comes_with_its_time_of_arrival() {
        let socket = match PacketSocket::open("lo", 1 << 20) {
            Ok(socket) => socket,
            Err(why) => {
                let may_skip = std::env::var("TANDEM_MAY_SKIP").is_ok_and(|it| it == "1");
                assert!(may_skip, "{why}; TANDEM_MAY_SKIP=1 leaves this test out");
                return;
            }
        };
        let mark = b"a frame of its own, told from all others";
        let sender = std::net::UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        sender.send_to(mark, sender.local_addr().unwrap()).unwrap();
        let mut batch = PacketBatch::new();
        let mut found = false;
        for _ in 0..1_000 {
            batch.receive(&socket).unwrap();
            for frame in batch.frames().filter(|frame| frame.head.ends_with(mark)) {
                let age = crate::Clock::date_ns().saturating_sub(frame.arrived_ns.unwrap());
                found |= age < 60_000_000_000 && frame.tail.is_empty() && frame.tag.is_none();
            }
            if found {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("the frame did not come");
    }
}
