//! The memory of a pool, known to the kernel (a UMEM), and the sockets that share it.

use super::rings::{Consumer, Producer, Which};
use driver::call::{check, octets_of, set, short};
use graph::{Pool, Region};
use machine::narrow::place;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Octets of a cell at most: the kernel takes no more than a page.
pub const STRIDE_MAX: usize = 4_096;
/// Octets of packets on their way that the kernel holds for one socket.
const SEND_BUFFER: i32 = 16 << 20;
/// How often a queue that is busy is asked for, and the pause in between.
const BIND_TRIES: usize = 500;
const BIND_PAUSE: Duration = Duration::from_millis(4);
/// `XDP_MAX_TX_SKB_BUDGET`: packets of one call to send in copy mode (Linux 6.17; 32 before).
const SEND_BUDGET: libc::c_int = 9;
/// `MADV_COLLAPSE` (Linux 6.1).
const COLLAPSE: libc::c_int = 25;

/// The memory of one worker's pool for all its `AF_XDP` ports, so that what comes in by one leaves
/// by another without a copy.
///
/// The cells are "unaligned chunks" to the kernel (`XDP_UMEM_UNALIGNED_CHUNK_FLAG`): aligned ones
/// have to be 2,048 or 4,096 octets, with all headers of neighbours in few sets of the first cache.
#[derive(Debug)]
pub struct Umem {
    region: Arc<Region>,
    stride: usize,
    slots: usize,
    copy_only: bool,
    /// Any of these that still lives lets another share.
    sockets: Vec<Weak<OwnedFd>>,
}

/// A socket with its four rings, bound to a queue.
#[derive(Debug)]
pub(super) struct Socket {
    pub fd: Arc<OwnedFd>,
    pub receive: Consumer<libc::xdp_desc>,
    pub send: Producer<libc::xdp_desc>,
    pub fill: Producer<u64>,
    pub completion: Consumer<u64>,
    pub is_zero_copy: bool,
}

impl Umem {
    /// Makes the pool's memory known once its first port is opened. `copy_only`: even where a
    /// NIC could write into it by itself; all ports of a pool must do alike.
    ///
    /// # Errors
    /// When the pool's cells are longer than [`STRIDE_MAX`]: jumbo frames go by other ports.
    pub fn new(pool: &Pool, copy_only: bool) -> io::Result<Self> {
        if pool.stride() > STRIDE_MAX {
            let words = "AF_XDP takes cells of at most 4096 octets: use a packet port";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        let region = Arc::clone(pool.region());
        // A NIC that writes by itself wants cells in contiguous memory; and huge pages are easier
        // on the translation of addresses. Without them it works too, by copying.
        for advice in [libc::MADV_HUGEPAGE, COLLAPSE] {
            // SAFETY: advice about memory that the region owns changes nothing in it.
            unsafe { libc::madvise(region.start().as_ptr().cast(), region.octets(), advice) };
        }
        let (stride, slots) = (pool.stride(), pool.slots());
        Ok(Self { region, stride, slots, copy_only, sockets: Vec::new() })
    }

    pub(super) fn region(&self) -> &Arc<Region> {
        &self.region
    }

    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// A socket bound to a queue, with rings of `count` entries.
    pub(super) fn socket(
        &mut self,
        interface: u32,
        queue: u32,
        count: u32,
        copy: bool,
    ) -> io::Result<Socket> {
        self.sockets.retain(|socket| socket.strong_count() > 0);
        let first = self.sockets.iter().find_map(Weak::upgrade);
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_XDP, kind, 0))?) };
        let fd = Arc::new(fd);
        if first.is_none() {
            self.register(&fd)?;
        }
        let fill = Producer::new(&fd, Which::Fill, count)?;
        let completion = Consumer::new(&fd, Which::Completion, count)?;
        let receive = Consumer::new(&fd, Which::Receive, count)?;
        let send = Producer::new(&fd, Which::Send, count)?;
        let flags = match (&first, copy || self.copy_only) {
            (Some(_), _) => libc::XDP_SHARED_UMEM,
            (None, true) => libc::XDP_USE_NEED_WAKEUP | libc::XDP_COPY,
            (None, false) => libc::XDP_USE_NEED_WAKEUP,
        };
        let name = libc::sockaddr_xdp {
            sxdp_family: short(libc::AF_XDP),
            sxdp_flags: flags,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: first.as_ref().map_or(0, |first| first.as_raw_fd() as u32),
        };
        bind(&fd, &name)?;
        let raw = fd.as_raw_fd();
        set(raw, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER)
            .or_else(|_| set(raw, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER))?;
        // Kernels without it send 32 packets a call.
        let _: io::Result<()> = set(raw, libc::SOL_XDP, SEND_BUDGET, count as libc::c_int);
        let options = driver::call::get(raw, libc::SOL_XDP, libc::XDP_OPTIONS)?;
        let is_zero_copy = options as u32 & libc::XDP_OPTIONS_ZEROCOPY != 0;
        self.sockets.push(Arc::downgrade(&fd));
        Ok(Socket { fd, receive, send, fill, completion, is_zero_copy })
    }

    fn register(&self, fd: &OwnedFd) -> io::Result<()> {
        // SAFETY: a structure of integers, for which all-zero is a value.
        let mut request: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        request.addr = self.region.start().as_ptr() as u64;
        request.len = (self.slots * self.stride) as u64;
        request.chunk_size = place(self.stride);
        request.flags = libc::XDP_UMEM_UNALIGNED_CHUNK_FLAG;
        // SAFETY: the kernel reads the structure, with its true length, during the call. It writes
        // into the memory as long as a socket lives that was made with it, and each of them holds
        // on to the region.
        check(unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_XDP,
                libc::XDP_UMEM_REG,
                (&raw const request).cast(),
                octets_of::<libc::xdp_umem_reg>(),
            )
        })
        .map(drop)
    }
}

/// Binds. The kernel lets go of a queue a moment after its socket was closed, and not before a
/// child process that was forked meanwhile has begun its program: a queue that is busy is asked for
/// again.
fn bind(fd: &OwnedFd, name: &libc::sockaddr_xdp) -> io::Result<()> {
    let length = octets_of::<libc::sockaddr_xdp>();
    let mut tries = BIND_TRIES;
    loop {
        tries -= 1;
        // SAFETY: the kernel reads the structure, with its true length, during the call.
        match check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const *name).cast(), length) }) {
            Ok(_) => return Ok(()),
            Err(error) if tries == 0 || error.raw_os_error() != Some(libc::EBUSY) => {
                return Err(error);
            }
            Err(_) => std::thread::sleep(BIND_PAUSE),
        }
    }
}
