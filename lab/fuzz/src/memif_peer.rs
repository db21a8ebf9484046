//! A memif peer that says and writes anything: messages, descriptors beside them, rings and
//! buffers. Nothing panics, no cell is lost, and nothing outside of the shared memory is touched.
#![allow(unsafe_code, reason = "it plays a peer that shares memory and passes descriptors")]

use graph::{Pool, STRIDE};
use ports::memif::{Role, Spec};
use ports::{MemifPort, Port};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

/// Octets of a message.
const MESSAGE: usize = 128;
/// Octets that the peer shares: two rings of 8, then a buffer of 128 for each descriptor.
const SHARED: usize = 4_096;
const LOG2_SIZE: u8 = 3;
const RING: u32 = 256;
const COOKIE: u32 = 0x03e3_1f20;
const CELLS: usize = 64;
/// Rounds in which both ends look at what the other said.
const ROUNDS: usize = 10;

/// Octets, zeros when they are over.
struct Octets<'a>(&'a [u8]);

impl Octets<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

/// Memory that the peer shares, mapped.
struct Shared(*mut u8, usize);

impl Shared {
    fn map(fd: &OwnedFd, octets: usize) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let raw = fd.as_raw_fd();
        // SAFETY: a new mapping, unmapped by `Drop`.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), octets, access, libc::MAP_SHARED, raw, 0) };
        (at != libc::MAP_FAILED).then_some(Self(at.cast(), octets))
    }

    fn write(&self, at: usize, octets: &[u8]) {
        for (nth, octet) in octets.iter().enumerate() {
            // SAFETY: inside the mapping.
            unsafe { self.0.add((at + nth) % self.1).write_volatile(*octet) };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping of `map`.
        unsafe { libc::munmap(self.0.cast(), self.1) };
    }
}

fn check(result: i32) -> i32 {
    assert!(result >= 0, "{}", std::io::Error::last_os_error());
    result
}

fn owned(result: i32) -> OwnedFd {
    // SAFETY: a descriptor that the kernel has just made.
    unsafe { OwnedFd::from_raw_fd(check(result)) }
}

fn socket() -> OwnedFd {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers.
    owned(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })
}

fn event() -> OwnedFd {
    // SAFETY: takes numbers.
    owned(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })
}

/// A sealed file of the peer's memory with two rings in it.
fn memory() -> (OwnedFd, Shared) {
    let flags = libc::MFD_ALLOW_SEALING | libc::MFD_CLOEXEC;
    // SAFETY: the name ends with a zero.
    let fd = owned(unsafe { libc::memfd_create(c"fuzz".as_ptr(), flags) });
    // SAFETY: take numbers.
    unsafe {
        check(libc::ftruncate(fd.as_raw_fd(), SHARED as i64));
        check(libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK));
    }
    let shared = Shared::map(&fd, SHARED).expect("it is mapped");
    for ring in 0..2 {
        shared.write((ring * RING) as usize, &COOKIE.to_ne_bytes());
        for number in 0..8_u32 {
            let mut descriptor = [0; 16];
            descriptor[4..8].copy_from_slice(&128_u32.to_ne_bytes());
            let buffer = 2 * RING + (ring * 8 + number) * 128;
            descriptor[8..12].copy_from_slice(&buffer.to_ne_bytes());
            shared.write((ring * RING + 128 + number * 16) as usize, &descriptor);
        }
    }
    // The slave offers all buffers of the ring to it.
    shared.write((RING + 6) as usize, &8_u16.to_ne_bytes());
    (fd, shared)
}

fn message(kind: u16, parts: &[&[u8]]) -> [u8; MESSAGE] {
    let mut octets = kind.to_ne_bytes().to_vec();
    parts.iter().for_each(|part| octets.extend_from_slice(part));
    octets.resize(MESSAGE, 0);
    std::array::from_fn(|at| octets[at])
}

fn ring(to_master: u16, offset: u32) -> [u8; MESSAGE] {
    let head = [to_master, 0, 0].map(u16::to_ne_bytes).concat();
    message(5, &[&head, &offset.to_ne_bytes(), &[LOG2_SIZE, 0, 0]])
}

/// Sends a message as the octets change it: `None` is one without a descriptor.
fn say(to: &OwnedFd, mut octets: [u8; MESSAGE], beside: Option<RawFd>, draw: &mut Octets<'_>) {
    let how = draw.next();
    if how & 3 == 3 {
        for _ in 0..how >> 5 {
            let (at, octet) = (usize::from(draw.next()) % 48, draw.next());
            octets[at] = octet;
        }
    }
    let (times, length) = match how & 31 {
        0x10 => (0, MESSAGE),
        0x14 => (2, MESSAGE),
        0x18 => (1, usize::from(draw.next()) % MESSAGE),
        _ => (1, MESSAGE),
    };
    let beside = if how & 31 == 0x1c { None } else { beside };
    for _ in 0..times {
        send(to, &mut octets[..length], beside);
    }
}

fn send(to: &OwnedFd, octets: &mut [u8], beside: Option<RawFd>) {
    let mut part = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    let mut room = [0_u64; 3];
    // SAFETY: header, part and control live over the call with their true lengths; the one
    // control message stands in `room`.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
        if let Some(fd) = beside {
            header.msg_control = room.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(4) as usize;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(4) as usize;
            libc::CMSG_DATA(first).cast::<RawFd>().write_unaligned(fd);
        }
        // Who has hung up hears nothing.
        libc::sendmsg(to.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL);
    }
}

/// A message that came, and the descriptor beside it.
fn hear(from: &OwnedFd) -> Option<([u8; MESSAGE], Option<OwnedFd>)> {
    let mut octets = [0; MESSAGE];
    let mut part = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: MESSAGE };
    let mut room = [0_u64; 3];
    // SAFETY: as in `send`; a descriptor that the kernel put there is this process's.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
        (header.msg_control, header.msg_controllen) = (room.as_mut_ptr().cast(), 24);
        if libc::recvmsg(from.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) <= 0 {
            return None;
        }
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        let beside = (!first.is_null())
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(first).cast::<RawFd>().read_unaligned()));
        Some((octets, beside))
    }
}

struct End {
    port: Port,
    pool: Pool,
    socket: OwnedFd,
}

impl End {
    fn new(role: Role) -> Self {
        let name = format!("tandem-fuzz-{}-{role:?}", std::process::id());
        let place = PathBuf::from(format!("@{name}"));
        let spec = Spec { log2_size: LOG2_SIZE, ..Spec::new(&place, 7, role, [2; 6]) };
        let socket = socket();
        let (about, length) = abstract_address(name.as_bytes());
        let open = || Port::Memif(MemifPort::open(&spec).expect("it is opened"));
        // SAFETY: the kernel reads the address, with its true length.
        let port = unsafe {
            if role == Role::Slave {
                check(libc::bind(socket.as_raw_fd(), (&raw const about).cast(), length));
                check(libc::listen(socket.as_raw_fd(), 4));
                open()
            } else {
                let port = open();
                check(libc::connect(socket.as_raw_fd(), (&raw const about).cast(), length));
                port
            }
        };
        Self { port, pool: Pool::new(CELLS, STRIDE), socket }
    }

    /// The peer is a slave, which has the memory.
    fn slave(&mut self, draw: &mut Octets<'_>) -> (Option<Shared>, Vec<OwnedFd>) {
        let (file, shared) = memory();
        let events = [event(), event()];
        self.port.attend(&mut self.pool);
        let init = message(3, &[&[0, 2, 7, 0, 0, 0, 0]]);
        say(&self.socket, init, None, draw);
        let region = message(4, &[&[0, 0], &(SHARED as u64).to_ne_bytes()]);
        say(&self.socket, region, Some(file.as_raw_fd()), draw);
        for (to_master, event) in [1, 0].into_iter().zip(&events) {
            let offset = u32::from(1 - to_master) * RING;
            say(&self.socket, ring(to_master, offset), Some(event.as_raw_fd()), draw);
        }
        say(&self.socket, message(6, &[]), None, draw);
        self.port.attend(&mut self.pool);
        (Some(shared), events.into())
    }

    /// The peer is the master; the memory is that of the port.
    fn master(&mut self, draw: &mut Octets<'_>) -> (Option<Shared>, Vec<OwnedFd>) {
        let (mut shared, mut events) = (None, Vec::new());
        self.port.attend(&mut self.pool);
        let null = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: no address is asked for.
        let met = unsafe { libc::accept(self.socket.as_raw_fd(), null.0, null.1) };
        if met < 0 {
            return (shared, events);
        }
        let met = owned(met);
        let name = [0; 32];
        let hello = [0x0200_u16, 0x0200, 0, 0, 0].map(u16::to_ne_bytes).concat();
        say(&met, message(2, &[&name, &hello, &[14]]), None, draw);
        for _ in 0..ROUNDS {
            self.port.attend(&mut self.pool);
            let Some((octets, beside)) = hear(&met) else { break };
            match (octets[0], beside) {
                (4, Some(file)) => {
                    let octets = std::array::from_fn(|at| octets[4 + at]);
                    shared = Shared::map(&file, u64::from_ne_bytes(octets) as usize);
                }
                (_, Some(event)) => events.push(event),
                _ => {}
            }
            let answer = if octets[0] == 6 { 7 } else { 1 };
            say(&met, message(answer, &[]), None, draw);
        }
        self.port.attend(&mut self.pool);
        events.push(met);
        (shared, events)
    }

    /// Both write and read; the peer anything anywhere.
    fn traffic(&mut self, shared: Option<&Shared>, draw: &mut Octets<'_>) {
        let mut got = Vec::new();
        while !draw.0.is_empty() {
            match (draw.next() % 8, shared) {
                (0..=2, Some(shared)) => {
                    let place = usize::from(draw.next()) << 2;
                    let octets: [u8; 4] = std::array::from_fn(|_| draw.next());
                    shared.write(place, &octets);
                }
                (3, Some(shared)) => {
                    // Head or tail of the first or the second ring.
                    let (which, to) = (draw.next(), draw.next());
                    let at = usize::from(which & 1) * RING as usize;
                    let to = u16::from(to).wrapping_sub(u16::from(which >> 7) * 16);
                    shared.write(at + if which & 2 == 0 { 6 } else { 64 }, &to.to_ne_bytes());
                }
                (4, _) => {
                    let packet = vec![7; usize::from(draw.next()) * 8];
                    let mut slots: Vec<_> =
                        (0..draw.next() % 12).filter_map(|_| self.pool.put(&packet)).collect();
                    self.port.send(&mut self.pool, &mut slots);
                }
                (5, _) => {
                    self.port.doze();
                    self.port.rise();
                }
                (6, _) => self.port.attend(&mut self.pool),
                _ => {
                    self.port.receive(&mut self.pool, &mut got);
                    for slot in got.drain(..) {
                        std::hint::black_box(self.pool.bytes(slot));
                        self.pool.free(slot);
                    }
                }
            }
        }
        assert_eq!(self.pool.free_slots(), CELLS, "no cell is lost");
    }
}

fn abstract_address(name: &[u8]) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: integers.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (place, octet) in address.sun_path[1..].iter_mut().zip(name) {
        *place = *octet as libc::c_char;
    }
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    (address, length as libc::socklen_t)
}

pub fn run(octets: &[u8]) {
    let mut draw = Octets(octets);
    let role = if draw.next() & 1 == 0 { Role::Master } else { Role::Slave };
    let mut end = End::new(role);
    let (shared, _events) = match role {
        Role::Master => end.slave(&mut draw),
        Role::Slave => end.master(&mut draw),
    };
    end.traffic(shared.as_ref(), &mut draw);
}
