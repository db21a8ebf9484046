//! Any interface of this kernel by `AF_PACKET`: received from a ring of blocks that the kernel
//! fills (`TPACKET_V3`, packet(7)), sent by `sendmmsg`.
//!
//! | the kernel leaves | here |
//! |---|---|
//! | a VLAN tag apart from its packet | put back behind the addresses |
//! | a checksum for hardware to finish | finished |
//! | packets joined or to be cut (GRO, GSO) | dropped and counted; [`Spec::offloads_off`] |
//! | blocks that are not full | handed over after a millisecond: so long a packet may wait |

mod blocks;
mod out;

use super::counters::{Counters, ReceiveDrop};
use super::device::{Device, Link};
use super::{VECTOR, checksum};
use blocks::{Blocks, Frame};
use driver::call::{check, octets_of, set, short};
use graph::{Pool, Slot, room};
use machine::narrow::index;
use out::Out;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Where a VLAN tag stands: behind the two addresses.
const TAG_AT: usize = 12;
/// Octets of a VLAN tag.
const TAG: usize = 4;
/// `virtio_net_hdr.flags`: the checksum is to be finished.
const NEEDS_SUM: u8 = 1;

/// How a port is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The interface, in the network namespace of the calling thread.
    pub interface: String,
    /// Whether it takes what is addressed to others; a router with addresses of its own or a
    /// bridge needs it.
    pub promiscuous: bool,
    /// Several workers share what comes in: ports of the same number on the same interface get
    /// each flow's packets in order (`PACKET_FANOUT_HASH`).
    pub fanout: Option<u16>,
    /// Whether offloads of the interface are switched off ([`Device::set_offloads_off`]).
    pub offloads_off: bool,
    /// MiB of packets that wait to be received.
    pub receive_mib: usize,
}

impl Spec {
    /// The whole of an interface, promiscuous, offloads as they are, 4 MiB that wait.
    #[must_use]
    pub fn new(interface: &str) -> Self {
        let interface = interface.to_owned();
        Self { interface, promiscuous: true, fanout: None, offloads_off: false, receive_mib: 4 }
    }
}

/// A port on an interface of this kernel. Needs `CAP_NET_RAW`.
#[derive(Debug)]
pub struct PacketPort {
    fd: OwnedFd,
    blocks: Blocks,
    out: Out,
    device: Device,
    link: Link,
    counters: Counters,
}

impl PacketPort {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel's: no such interface, not permitted, no memory for the ring.
    pub fn open(spec: &Spec) -> io::Result<Self> {
        let device = Device::open(&spec.interface)?;
        if spec.offloads_off {
            device.set_offloads_off()?;
        }
        let index = device.index() as libc::c_int;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone. Protocol 0
        // receives nothing before it is bound.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?) };
        let raw = fd.as_raw_fd();
        set(raw, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        set(raw, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        let blocks = Blocks::new(&fd, spec.receive_mib)?;
        bind(&fd, index, short(libc::ETH_P_ALL))?;
        if spec.promiscuous {
            promiscuous(&fd, index)?;
        }
        if let Some(group) = spec.fanout {
            let how = i32::from(group) | (libc::PACKET_FANOUT_HASH as i32) << 16;
            set(raw, libc::SOL_PACKET, libc::PACKET_FANOUT, how)?;
        }
        let out = Out::open(index)?;
        let link = device.link()?;
        Ok(Self { fd, blocks, out, device, link, counters: Counters::default() })
    }

    pub(super) fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Slot>) -> usize {
        let start = into.len();
        let wanted = VECTOR.min(pool.free_slots());
        while into.len() - start < wanted {
            let Some(frame) = self.blocks.next() else { break };
            match put(&frame, pool) {
                Ok(slot) => {
                    self.counters.received.add(usize::from(pool.meta(slot).length));
                    into.push(slot);
                }
                Err(why) => self.counters.drop_received(why, 1),
            }
        }
        into.len() - start
    }

    pub(super) fn send(&mut self, pool: &mut Pool, slots: &mut Vec<Slot>) {
        self.out.send(pool, slots, &mut self.counters);
        pool.free_all(slots);
        slots.clear();
    }

    pub(super) fn attend(&mut self, _: &mut Pool) {
        if let Ok(missed) = self.missed() {
            self.counters.drop_received(ReceiveDrop::QueueFull, u64::from(missed));
        }
        match self.device.link() {
            Ok(link) => self.link = link,
            Err(_) => self.link.is_up = false,
        }
    }

    /// Packets that found the blocks full since this was asked last.
    fn missed(&self) -> io::Result<u32> {
        // SAFETY: a structure of integers, for which all-zero is a value.
        let mut counts: libc::tpacket_stats_v3 = unsafe { std::mem::zeroed() };
        let mut length = octets_of::<libc::tpacket_stats_v3>();
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

    /// The interface, to set it up or to ask it.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn doze(&mut self) -> bool {
        !self.blocks.is_waiting()
    }

    pub(super) fn rise(&mut self) {}

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) fn mac(&self) -> [u8; 6] {
        self.link.mac
    }

    pub(super) fn mtu(&self) -> usize {
        self.link.mtu
    }

    pub(super) fn is_up(&self) -> bool {
        self.link.is_up
    }

    pub(super) fn close(self, _: &mut Pool) -> usize {
        0
    }
}

/// Copies a frame into a cell and does what its sender left to hardware.
fn put(frame: &Frame<'_>, pool: &mut Pool) -> Result<Slot, ReceiveDrop> {
    if frame.segments != 0 {
        return Err(ReceiveDrop::Joined);
    }
    let tag = frame.tag.filter(|_| frame.bytes.len() >= TAG_AT);
    let added = if tag.is_some() { TAG } else { 0 };
    let length = frame.bytes.len() + added;
    if frame.length != frame.bytes.len() || length > room(pool.stride()) {
        return Err(ReceiveDrop::TooLong);
    }
    let slot = pool.take().ok_or(ReceiveDrop::NoCell)?;
    pool.meta_mut(slot).length = index(length);
    let bytes = pool.bytes_mut(slot);
    match tag {
        None => bytes.copy_from_slice(frame.bytes),
        Some(tag) => {
            let (head, rest) = frame.bytes.split_at(TAG_AT);
            bytes[..TAG_AT].copy_from_slice(head);
            bytes[TAG_AT..TAG_AT + TAG].copy_from_slice(&tag);
            bytes[TAG_AT + TAG..].copy_from_slice(rest);
        }
    }
    let (from, at) = (usize::from(frame.sum_from) + added, usize::from(frame.sum_at));
    if frame.flags & NEEDS_SUM != 0 && !checksum::finish(bytes, from, at) {
        pool.free(slot);
        return Err(ReceiveDrop::Malformed);
    }
    Ok(slot)
}

/// Binds a packet socket to an interface; `protocol` 0 receives nothing.
fn bind(fd: &OwnedFd, index: libc::c_int, protocol: u16) -> io::Result<()> {
    // SAFETY: a structure of integers, for which all-zero is a value.
    let mut name: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    name.sll_family = short(libc::AF_PACKET);
    name.sll_protocol = protocol.to_be();
    name.sll_ifindex = index;
    let length = octets_of::<libc::sockaddr_ll>();
    // SAFETY: the kernel reads the structure, with its true length, during the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const name).cast(), length) }).map(drop)
}

/// Promiscuous for as long as the socket lives.
fn promiscuous(fd: &OwnedFd, index: libc::c_int) -> io::Result<()> {
    // SAFETY: a structure of integers, for which all-zero is a value.
    let mut request: libc::packet_mreq = unsafe { std::mem::zeroed() };
    request.mr_ifindex = index;
    request.mr_type = short(libc::PACKET_MR_PROMISC);
    // SAFETY: the kernel reads the structure, with its true length, during the call.
    check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            (&raw const request).cast(),
            octets_of::<libc::packet_mreq>(),
        )
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::STRIDE;

    fn frame(bytes: &[u8]) -> Frame<'_> {
        let length = bytes.len();
        Frame { bytes, length, tag: None, flags: 0, segments: 0, sum_from: 0, sum_at: 0 }
    }

    #[test]
    fn a_tag_is_put_back_and_the_sum_behind_it_finished() {
        let mut bytes = [7; 60];
        bytes[20..28].fill(0);
        let mut tagged = frame(&bytes);
        tagged.tag = Some([0x81, 0, 0, 5]);
        (tagged.flags, tagged.sum_from, tagged.sum_at) = (NEEDS_SUM, 20, 2);
        let mut pool = Pool::new(2, STRIDE);
        let slot = put(&tagged, &mut pool).unwrap();
        let got = pool.bytes(slot);
        assert_eq!((got.len(), &got[12..16]), (64, &[0x81, 0, 0, 5][..]));
        // 32 octets of 7 add up to 16 words of 0x0707.
        assert_eq!(got[26..28], (!0x7070u16).to_be_bytes());
    }

    #[test]
    fn joined_cut_and_endless_frames_are_refused_with_their_reasons() {
        let mut pool = Pool::new(2, STRIDE);
        let bytes = [0; STRIDE];
        let mut joined = frame(&bytes[..60]);
        joined.segments = 1;
        assert_eq!(put(&joined, &mut pool), Err(ReceiveDrop::Joined));
        assert_eq!(put(&frame(&bytes), &mut pool), Err(ReceiveDrop::TooLong));
        let mut cut = frame(&bytes[..60]);
        cut.length = 61;
        assert_eq!(put(&cut, &mut pool), Err(ReceiveDrop::TooLong));
        let mut sum = frame(&bytes[..60]);
        (sum.flags, sum.sum_from, sum.sum_at) = (NEEDS_SUM, 50, 16);
        assert_eq!(put(&sum, &mut pool), Err(ReceiveDrop::Malformed));
        assert_eq!(pool.free_slots(), 2);
    }
}
