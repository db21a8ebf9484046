//! The XDP program that hands an interface's packets to the sockets of its queues, by bpf(2).
//!
//! ```text
//!   r2 = context.rx_queue_index
//!   r1 = the map of sockets
//!   r3 = XDP_PASS, for a queue without a socket
//!   return bpf_redirect_map(r1, r2, r3)
//! ```
//! Before it may stand a filter: what is not a whole packet of one protocol to one address, without
//! options, goes on to the kernel.

use crate::socket::check;
use machine::narrow::place;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Queues of an interface at most.
pub const QUEUES_MAX: u32 = 64;

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const LINK_DETACH: libc::c_int = 34;
const MAP_OF_XDP_SOCKETS: u32 = 17;
const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `XDP_FLAGS_DRV_MODE`, `XDP_FLAGS_SKB_MODE`.
const NATIVE: u32 = 1 << 2;
const GENERIC: u32 = 1 << 1;
/// `union bpf_attr`: what is used of it.
const ATTRIBUTES: usize = 72;
/// Instructions (Documentation/bpf/standardization/instruction-set.rst).
const LOAD_WORD: u8 = 0x61;
const LOAD_WIDE: u8 = 0x18;
const LOAD_HALF: u8 = 0x69;
const LOAD_OCTET: u8 = 0x71;
const MOVE: u8 = 0xb7;
const MOVE_REGISTER: u8 = 0xbf;
const ADD: u8 = 0x07;
const AND: u8 = 0x57;
const JUMP_GREATER: u8 = 0x2d;
/// Of 32 bits, so that no value is extended by its sign.
const JUMP_UNEQUAL: u8 = 0x56;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const MAP_BY_DESCRIPTOR: u8 = 1;
const REDIRECT_MAP: i32 = 51;
const XDP_PASS: i32 = 2;
/// Where `struct xdp_md` has the queue's number.
const QUEUE_AT: i16 = 16;
/// The kernel looks at the licence of programs that trace; any will do.
const LICENCE: &[u8] = b"Apache-2.0\0";

/// The program before one interface; gone from there when the last holder lets go, or the process
/// ends.
#[derive(Debug)]
pub struct Redirect {
    link: OwnedFd,
    map: OwnedFd,
    interface: String,
    is_native: bool,
}

impl Redirect {
    /// Loads it and puts it before an interface, natively or, where the driver cannot, in the
    /// kernel's generic way. Packets of queues without a port go on to the kernel.
    ///
    /// # Errors
    /// The kernel's for the generic way: not permitted, another program stands there.
    pub fn attach(interface: &str) -> io::Result<Arc<Self>> {
        Self::attach_behind(interface, Vec::new())
    }

    /// The same for whole packets of one protocol to one address only, without IP options; all
    /// others go on to the kernel.
    ///
    /// # Errors
    /// As [`Redirect::attach`].
    pub fn attach_for(interface: &str, address: IpAddr, protocol: u8) -> io::Result<Arc<Self>> {
        Self::attach_behind(interface, filter(address, protocol))
    }

    fn attach_behind(interface: &str, filter: Vec<[u8; 8]>) -> io::Result<Arc<Self>> {
        let index = crate::link::interface(interface)?;
        let map = make_map()?;
        let program = load(&map, filter)?;
        let native = link(&program, index, NATIVE);
        let is_native = native.is_ok();
        let link = native.or_else(|_| link(&program, index, GENERIC))?;
        Ok(Arc::new(Self { link, map, interface: interface.to_owned(), is_native }))
    }

    /// The interface.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Whether it runs in the driver; otherwise the kernel has made a buffer of each packet first.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.is_native
    }

    /// Hands what comes in by a queue to a socket, as long as that lives.
    pub(super) fn steer(&self, queue: u32, socket: RawFd) -> io::Result<()> {
        let (key, value) = (queue, socket as u32);
        let mut attributes = [0; ATTRIBUTES];
        put(&mut attributes, 0, self.map.as_raw_fd() as u32);
        put_pointer(&mut attributes, 8, (&raw const key).cast());
        put_pointer(&mut attributes, 16, (&raw const value).cast());
        bpf(MAP_UPDATE, &attributes).map(drop)
    }
}

impl Drop for Redirect {
    /// A child process holds the descriptor too between its fork and its exec, so that closing it
    /// here need not be the end of the link.
    fn drop(&mut self) {
        let mut attributes = [0; ATTRIBUTES];
        put(&mut attributes, 0, self.link.as_raw_fd() as u32);
        let _: io::Result<_> = bpf(LINK_DETACH, &attributes);
    }
}

fn put(attributes: &mut [u8; ATTRIBUTES], at: usize, value: u32) {
    attributes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

fn put_pointer(attributes: &mut [u8; ATTRIBUTES], at: usize, value: *const u8) {
    attributes[at..at + 8].copy_from_slice(&(value as u64).to_ne_bytes());
}

fn bpf(command: libc::c_int, attributes: &[u8; ATTRIBUTES]) -> io::Result<libc::c_int> {
    // SAFETY: the kernel reads the attributes and what they point to, all of which the callers
    // keep alive over the call, with the lengths that they state.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), attributes.len()) };
    check(libc::c_int::try_from(result).unwrap_or(-1))
}

/// The same for commands that return a descriptor.
fn bpf_descriptor(command: libc::c_int, attributes: &[u8; ATTRIBUTES]) -> io::Result<OwnedFd> {
    // SAFETY: these commands return a descriptor that is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(bpf(command, attributes)?) })
}

fn make_map() -> io::Result<OwnedFd> {
    let mut attributes = [0; ATTRIBUTES];
    for (at, value) in [MAP_OF_XDP_SOCKETS, 4, 4, QUEUES_MAX].into_iter().enumerate() {
        put(&mut attributes, at * 4, value);
    }
    bpf_descriptor(MAP_CREATE, &attributes)
}

/// `struct bpf_insn`.
fn instruction(code: u8, registers: u8, offset: i16, value: i32) -> [u8; 8] {
    let [a, b] = offset.to_ne_bytes();
    let [c, d, e, f] = value.to_ne_bytes();
    [code, registers, a, b, c, d, e, f]
}

/// Instructions of the program itself.
const PROGRAM: usize = 6;

fn program(map: RawFd) -> [[u8; 8]; PROGRAM] {
    [
        instruction(LOAD_WORD, 2 | 1 << 4, QUEUE_AT, 0),
        instruction(LOAD_WIDE, 1 | MAP_BY_DESCRIPTOR << 4, 0, map),
        instruction(0, 0, 0, 0),
        instruction(MOVE, 3, 0, XDP_PASS),
        instruction(CALL, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0),
    ]
}

/// A comparison of what stands at a place in the packet.
struct Test {
    load: u8,
    at: usize,
    mask: Option<u32>,
    value: u32,
}

/// Where an Ethernet header has its type, and where it ends.
const TYPE_AT: usize = 12;
const IP_AT: usize = 14;

/// The comparisons that a packet has to pass.
fn tests(address: IpAddr, protocol: u8) -> (usize, Vec<Test>) {
    let half = |at, bytes: [u8; 2]| {
        let value = u16::from_ne_bytes(bytes).into();
        Test { load: LOAD_HALF, at, mask: None, value }
    };
    let octet = |at, value: u8| Test { load: LOAD_OCTET, at, mask: None, value: value.into() };
    let words = |at: usize, octets: &[u8]| -> Vec<Test> {
        let words = octets.chunks_exact(4).enumerate();
        let word = |(number, word): (usize, &[u8])| {
            let value = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
            Test { load: LOAD_WORD, at: at + number * 4, mask: None, value }
        };
        words.map(word).collect()
    };
    match address {
        IpAddr::V4(ip) => {
            let more_or_offset = u16::from_ne_bytes([0x3f, 0xff]).into();
            let fragment = half(IP_AT + 6, [0; 2]);
            let mut all = vec![half(TYPE_AT, [0x08, 0x00]), octet(IP_AT, 0x45)];
            all.push(Test { mask: Some(more_or_offset), ..fragment });
            all.push(octet(IP_AT + 9, protocol));
            all.extend(words(IP_AT + 16, &ip.octets()));
            (IP_AT + 20, all)
        }
        IpAddr::V6(ip) => {
            let version = Test { mask: Some(0xf0), ..octet(IP_AT, 0x60) };
            let mut all = vec![half(TYPE_AT, [0x86, 0xdd]), version];
            all.push(octet(IP_AT + 6, protocol));
            all.extend(words(IP_AT + 24, &ip.octets()));
            (IP_AT + 40, all)
        }
    }
}

/// The filter, to stand before the program and its [`pass`]: leaves `r1` as it was.
#[allow(clippy::cast_possible_truncation, reason = "dozens of instructions, the first octets")]
fn filter(address: IpAddr, protocol: u8) -> Vec<[u8; 8]> {
    let (octets, tests) = tests(address, protocol);
    let masks = tests.iter().filter(|test| test.mask.is_some()).count();
    let pass = 5 + 2 * tests.len() + masks + PROGRAM;
    let mut all = vec![
        instruction(LOAD_WORD, 2 | 1 << 4, 0, 0), // r2 = data
        instruction(LOAD_WORD, 3 | 1 << 4, 4, 0), // r3 = data_end
        instruction(MOVE_REGISTER, 4 | 2 << 4, 0, 0),
        instruction(ADD, 4, 0, octets as i32),
    ];
    let jump = |all: &Vec<_>| (pass - all.len() - 1) as i16;
    all.push(instruction(JUMP_GREATER, 4 | 3 << 4, jump(&all), 0));
    for test in tests {
        all.push(instruction(test.load, 5 | 2 << 4, test.at as i16, 0));
        if let Some(mask) = test.mask {
            all.push(instruction(AND, 5, 0, mask as i32));
        }
        all.push(instruction(JUMP_UNEQUAL, 5, jump(&all), test.value as i32));
    }
    all
}

/// Where the filter sends what it is not for.
fn pass() -> [[u8; 8]; 2] {
    [instruction(MOVE, 0, 0, XDP_PASS), instruction(EXIT, 0, 0, 0)]
}

fn load(map: &OwnedFd, filter: Vec<[u8; 8]>) -> io::Result<OwnedFd> {
    let mut program = [filter, program(map.as_raw_fd()).to_vec()].concat();
    if program.len() > PROGRAM {
        program.extend(pass());
    }
    let mut attributes = [0; ATTRIBUTES];
    put(&mut attributes, 0, PROGRAM_XDP);
    put(&mut attributes, 4, place(program.len()));
    put_pointer(&mut attributes, 8, program.as_ptr().cast());
    put_pointer(&mut attributes, 16, LICENCE.as_ptr());
    attributes[48..55].copy_from_slice(b"to_port");
    put(&mut attributes, 68, ATTACH_XDP);
    bpf_descriptor(PROGRAM_LOAD, &attributes)
}

fn link(program: &OwnedFd, interface: u32, mode: u32) -> io::Result<OwnedFd> {
    let mut attributes = [0; ATTRIBUTES];
    let values = [program.as_raw_fd() as u32, interface, ATTACH_XDP, mode];
    for (at, value) in values.into_iter().enumerate() {
        put(&mut attributes, at * 4, value);
    }
    bpf_descriptor(LINK_CREATE, &attributes)
}
