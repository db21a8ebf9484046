//! The ring of blocks (`TPACKET_V3`): the kernel fills a block with frames and hands it over; it
//! gets it back when all of them are read.

use driver::call::{check, octets_of};
use machine::narrow::place;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Octets of a block: several joined frames of 64 KiB.
const BLOCK: usize = 256 << 10;
/// What the kernel is told of frames; with this version it matters for the sums only.
const FRAME: usize = 2_048;
/// MiB of a ring at most.
const MIB_MAX: usize = 256;
/// Milliseconds until a block that is not full is handed over; there are no shorter ones.
const RETIRE_MS: u32 = 1;
/// `struct tpacket_block_desc`: status, frames, offset of the first.
const STATUS: usize = 8;
const FRAMES: usize = 12;
const FIRST: usize = 16;
/// `struct tpacket3_hdr`.
const HEADER: usize = 48;
/// `struct virtio_net_hdr`, in front of each frame.
const OFFLOAD: usize = 10;
const TAG_VALID: u32 = libc::TP_STATUS_VLAN_VALID;
const TYPE_VALID: u32 = libc::TP_STATUS_VLAN_TPID_VALID;
/// The type of a tag whose type is not said.
const CUSTOMER_TAG: u16 = 0x8100;

/// A frame in a block.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// As much of it as fitted.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub length: usize,
    /// A VLAN tag, type and all, that is not among the octets.
    pub tag: Option<[u8; 4]>,
    /// `virtio_net_hdr`: flags, kind of segments to be cut, where a sum begins, where it goes.
    pub flags: u8,
    pub segments: u8,
    pub sum_from: u16,
    pub sum_at: u16,
}

/// The ring and where it is read.
#[derive(Debug)]
pub(super) struct Blocks {
    map: NonNull<u8>,
    count: usize,
    /// The block that is read or the next one.
    at: usize,
    /// Where in it the next frame stands.
    place: usize,
    /// Frames of it that are not read yet.
    left: u32,
    is_ours: bool,
}

// SAFETY: the mapping is reached through this value alone.
unsafe impl Send for Blocks {}

impl Blocks {
    /// Asks the kernel for a ring of so many MiB and maps it.
    pub fn new(socket: &OwnedFd, mib: usize) -> io::Result<Self> {
        let count = mib.clamp(1, MIB_MAX) * ((1 << 20) / BLOCK);
        let raw = socket.as_raw_fd();
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        driver::call::set(raw, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        let request = libc::tpacket_req3 {
            tp_block_size: place(BLOCK),
            tp_block_nr: place(count),
            tp_frame_size: place(FRAME),
            tp_frame_nr: place(count * BLOCK / FRAME),
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        // SAFETY: the kernel reads the structure, with its true length, during the call.
        check(unsafe {
            libc::setsockopt(
                raw,
                libc::SOL_PACKET,
                libc::PACKET_RX_RING,
                (&raw const request).cast(),
                octets_of::<libc::tpacket_req3>(),
            )
        })?;
        // SAFETY: a new mapping of as many octets as were asked for above.
        let map = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let how = libc::MAP_SHARED | libc::MAP_POPULATE;
            libc::mmap(std::ptr::null_mut(), count * BLOCK, access, how, raw, 0)
        };
        let found = NonNull::new(map.cast::<u8>()).filter(|_| map != libc::MAP_FAILED);
        let map = found.ok_or_else(io::Error::last_os_error)?;
        Ok(Self { map, count, at: 0, place: 0, left: 0, is_ours: false })
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: inside the mapping and aligned; the kernel and this process change it atomically.
        unsafe { AtomicU32::from_ptr(self.map.add(self.at * BLOCK + STATUS).as_ptr().cast()) }
    }

    /// Whether a frame can be read.
    pub fn is_waiting(&self) -> bool {
        self.left > 0 || self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    fn block(&self) -> &[u8] {
        debug_assert!(self.is_ours);
        // SAFETY: inside the mapping; the kernel does not write into a block that is ours, and it
        // stays ours as long as this borrow lasts.
        unsafe { std::slice::from_raw_parts(self.map.add(self.at * BLOCK).as_ptr(), BLOCK) }
    }

    /// Opens the next block; gives the one that was read back.
    fn turn(&mut self) -> bool {
        if self.is_ours {
            self.is_ours = false;
            self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.at = (self.at + 1) % self.count;
        }
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        self.is_ours = true;
        self.left = word(self.block(), FRAMES);
        self.place = word(self.block(), FIRST) as usize;
        true
    }

    /// The next frame, if there is one.
    #[inline]
    pub fn next(&mut self) -> Option<Frame<'_>> {
        // An empty block is handed over too now and then.
        let mut blocks = 0;
        while self.left == 0 {
            if blocks == self.count || !self.turn() {
                return None;
            }
            blocks += 1;
        }
        self.left -= 1;
        let place = self.place;
        self.place += word(self.block().get(place..place + HEADER)?, 0) as usize;
        parse(self.block(), place)
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`; nothing borrows it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.count * BLOCK) };
    }
}

/// The frame whose header stands at `place`.
fn parse(block: &[u8], place: usize) -> Option<Frame<'_>> {
    let header = block.get(place..place + HEADER)?;
    let (snapped, length) = (word(header, 12) as usize, word(header, 16) as usize);
    let status = word(header, 20);
    let start = place + usize::from(half(header, 24));
    let offload = block.get(start.checked_sub(OFFLOAD)?..start)?;
    let kind = if status & TYPE_VALID != 0 { half(header, 36) } else { CUSTOMER_TAG };
    let [a, b] = kind.to_be_bytes();
    let [c, d] = ((word(header, 32) & 0xffff) as u16).to_be_bytes();
    Some(Frame {
        bytes: block.get(start..start + snapped)?,
        length,
        tag: (status & TAG_VALID != 0).then_some([a, b, c, d]),
        flags: offload[0],
        segments: offload[1],
        sum_from: half(offload, 6),
        sum_at: half(offload, 8),
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}
