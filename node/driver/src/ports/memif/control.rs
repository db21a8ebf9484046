//! How master and slave find each other and agree on memory and rings.
//!
//! ```text
//!   slave  → connects                    master → Hello: what it takes
//!          → Init, AddRegion, AddRing …         → Ack for each
//!          → Connect                            → Connected
//! ```
//! The slave makes the memory; it sends its next message when the one before is acknowledged.

use super::message::{self, AddRing, Hello, Message, SECRET, VERSION};
use super::queue::{Buffers, Queue};
use super::shared::{Ring, Segment};
use crate::socket::check;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rings each way at most.
pub const RINGS_MAX: usize = 64;
/// Descriptors of a ring at most, as a power of two.
pub const LOG2_SIZE_MAX: u8 = 14;
/// Pieces of memory of one slave.
const REGIONS_MAX: usize = 256;
/// Messages that are looked at in one go.
const MESSAGES_MAX: usize = 256;
/// Slaves that wait to be accepted.
const BACKLOG: libc::c_int = 4;
/// Ethernet, not IP.
const MODE_ETHERNET: u8 = 0;

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Listens at the socket and uses the memory that the other makes.
    Master,
    /// Connects to the socket and makes memory and rings.
    Slave,
}

/// How a port is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The control socket; one that begins with `@` has no place in the file system.
    pub socket: PathBuf,
    /// Which interface of that socket.
    pub id: u32,
    /// Which end.
    pub role: Role,
    /// Both ends know it; all zero: none.
    pub secret: [u8; SECRET],
    /// Rings to the master and to the slave. A slave makes so many (or as many as the master
    /// takes), a master takes no more.
    pub rings: (usize, usize),
    /// Descriptors of each ring that a slave makes, as a power of two.
    pub log2_size: u8,
    /// Octets of each buffer that a slave makes; longer packets take several.
    pub buffer_octets: u32,
    /// The address of this end.
    pub mac: [u8; 6],
    /// Octets of the longest packet behind the Ethernet header.
    pub mtu: usize,
}

impl Spec {
    /// One ring of 1,024 each way, buffers of 2,048 octets, no secret, an MTU of 1,500.
    #[must_use]
    pub fn new(socket: &Path, id: u32, role: Role, mac: [u8; 6]) -> Self {
        Self {
            socket: socket.to_owned(),
            id,
            role,
            secret: [0; SECRET],
            rings: (1, 1),
            log2_size: 10,
            buffer_octets: 2_048,
            mac,
            mtu: 1_500,
        }
    }

    fn is_sound(&self) -> bool {
        self.rings.0.max(self.rings.1) <= RINGS_MAX
            && self.log2_size <= LOG2_SIZE_MAX
            && (64..=65_536).contains(&self.buffer_octets)
            && self.buffer_octets.is_multiple_of(64)
            && u32::try_from(self.octets(self.rings.0 + self.rings.1)).is_ok()
    }

    /// Octets that a slave shares for so many rings and their buffers.
    fn octets(&self, rings: usize) -> usize {
        let buffers = (self.buffer_octets as usize) << self.log2_size;
        (rings * (Ring::octets(self.log2_size) + buffers)).max(1)
    }
}

/// The rings of a connection that stands.
#[derive(Debug)]
pub(super) struct Connection {
    pub receive: Vec<Queue>,
    pub send: Vec<Queue>,
}

/// A ring that the slave has told of.
#[derive(Debug)]
struct Told {
    about: AddRing,
    interrupt: OwnedFd,
}

/// The control socket and how far the two ends are.
#[derive(Debug)]
pub(super) struct Control {
    spec: Spec,
    listener: Option<OwnedFd>,
    socket: Option<OwnedFd>,
    is_greeted: bool,
    segments: Vec<Arc<Segment>>,
    rings: Vec<Told>,
    /// What a slave has to say yet, and the descriptor beside it.
    to_say: VecDeque<(Message, Option<OwnedFd>)>,
}

/// Why a connection ends, as the other side is told.
type Refusal = &'static str;

impl Control {
    /// Listens, or tries to connect at the first [`Control::turn`].
    pub fn open(spec: &Spec) -> io::Result<Self> {
        if !spec.is_sound() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let listener = match spec.role {
            Role::Master => Some(listen(&spec.socket)?),
            Role::Slave => None,
        };
        Ok(Self {
            spec: spec.clone(),
            listener,
            socket: None,
            is_greeted: false,
            segments: Vec::new(),
            rings: Vec::new(),
            to_say: VecDeque::new(),
        })
    }

    /// The descriptors to wait at.
    pub fn descriptors(&self) -> [Option<&OwnedFd>; 2] {
        [self.listener.as_ref(), self.socket.as_ref()]
    }

    /// Whether there is a connection, agreed on or not.
    pub fn is_met(&self) -> bool {
        self.socket.is_some()
    }

    /// Ends the connection.
    pub fn hang_up(&mut self, reason: &str) {
        if let Some(socket) = self.socket.take() {
            let reason = reason.to_owned();
            // The other end may be gone: then it knows.
            let _ = message::send(&socket, &Message::Disconnect { reason }, None);
        }
        self.is_greeted = false;
        self.segments.clear();
        self.rings.clear();
        self.to_say.clear();
    }

    /// Meets the other end and reads what it says; the connection, as soon as it stands.
    pub fn turn(&mut self) -> Option<Connection> {
        if self.socket.is_none() {
            self.socket = self.meet();
            if let (Some(socket), Role::Master) = (&self.socket, self.spec.role) {
                // A slave that is gone at once shows when its messages are read.
                let _ = message::send(socket, &Message::Hello(self.hello()), None);
            }
        }
        for _ in 0..MESSAGES_MAX {
            let (message, beside) = match message::receive(self.socket.as_ref()?) {
                Ok(Some(got)) => got,
                Ok(None) => return None,
                Err(_) => {
                    self.hang_up("not understood");
                    return None;
                }
            };
            match self.hear(message, beside) {
                Ok(None) => {}
                Ok(Some(connection)) => return Some(connection),
                Err(reason) => {
                    self.hang_up(reason);
                    return None;
                }
            }
        }
        None
    }

    fn meet(&self) -> Option<OwnedFd> {
        match &self.listener {
            Some(listener) => {
                let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
                let none = (std::ptr::null_mut(), std::ptr::null_mut());
                // SAFETY: no address is asked for; a descriptor that it returns is ours alone.
                unsafe {
                    let fd = libc::accept4(listener.as_raw_fd(), none.0, none.1, flags);
                    (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
                }
            }
            None => connect(&self.spec.socket).ok(),
        }
    }

    fn hello(&self) -> Hello {
        let last = |count: usize| count.max(1) as u16 - 1;
        Hello {
            versions: (VERSION, VERSION),
            region_max: REGIONS_MAX as u16 - 1,
            to_slave_max: last(self.spec.rings.1),
            to_master_max: last(self.spec.rings.0),
            log2_size_max: LOG2_SIZE_MAX,
        }
    }

    fn hear(
        &mut self,
        message: Message,
        beside: Option<OwnedFd>,
    ) -> Result<Option<Connection>, Refusal> {
        match (self.spec.role, message) {
            (_, Message::Disconnect { .. }) => return Err("as you wish"),
            (Role::Slave, Message::Hello(hello)) => self.prepare(&hello)?,
            (Role::Slave, Message::Ack) => {}
            (Role::Slave, Message::Connected) => return self.connection().map(Some),
            (Role::Master, Message::Init { version, id, mode, secret }) => {
                self.check_init(version, id, mode, &secret)?;
            }
            (Role::Master, Message::AddRegion { index, octets }) if self.is_greeted => {
                self.add_region(index, octets, beside.ok_or("Missing region fd")?)?;
            }
            (Role::Master, Message::AddRing(about)) if self.is_greeted => {
                self.add_ring(about, beside.ok_or("Missing interrupt fd")?)?;
            }
            (Role::Master, Message::Connect) if self.is_greeted => {
                let connection = self.connection()?;
                self.say(&Message::Connected, None)?;
                return Ok(Some(connection));
            }
            _ => return Err("Unexpected message"),
        }
        match self.spec.role {
            Role::Master => self.say(&Message::Ack, None)?,
            Role::Slave => {
                if let Some((message, beside)) = self.to_say.pop_front() {
                    self.say(&message, beside.as_ref().map(AsRawFd::as_raw_fd))?;
                }
            }
        }
        Ok(None)
    }

    fn say(&self, message: &Message, beside: Option<RawFd>) -> Result<(), Refusal> {
        let socket = self.socket.as_ref().ok_or("gone")?;
        message::send(socket, message, beside).map_err(|_| "cannot send")
    }

    fn check_init(
        &mut self,
        version: u16,
        id: u32,
        mode: u8,
        secret: &[u8; SECRET],
    ) -> Result<(), Refusal> {
        match () {
            () if version != VERSION => Err("Incompatible memif version"),
            () if id != self.spec.id => Err("ID not found"),
            () if mode != MODE_ETHERNET => Err("Only ethernet mode supported"),
            () if self.spec.secret != [0; SECRET] && *secret != self.spec.secret => {
                Err("Incorrect secret")
            }
            () => {
                self.is_greeted = true;
                Ok(())
            }
        }
    }

    fn add_region(&mut self, index: u16, octets: u64, fd: OwnedFd) -> Result<(), Refusal> {
        if usize::from(index) != self.segments.len() || self.segments.len() == REGIONS_MAX {
            return Err("Invalid region index");
        }
        let segment = Segment::map(&fd, octets).map_err(|_| "Invalid region")?;
        self.segments.push(Arc::new(segment));
        Ok(())
    }

    fn add_ring(&mut self, about: AddRing, interrupt: OwnedFd) -> Result<(), Refusal> {
        let most = if about.is_to_master { self.spec.rings.0 } else { self.spec.rings.1 };
        let known = |told: &Told| {
            (told.about.is_to_master, told.about.index) == (about.is_to_master, about.index)
        };
        if usize::from(about.index) >= most || self.rings.iter().any(known) {
            return Err("Invalid ring index");
        }
        if about.log2_size > LOG2_SIZE_MAX || about.private_octets != 0 {
            return Err("Invalid ring");
        }
        self.rings.push(Told { about, interrupt });
        Ok(())
    }

    /// The slave's side of the agreement: its memory and what to say of it.
    fn prepare(&mut self, hello: &Hello) -> Result<(), Refusal> {
        if !(hello.versions.0..=hello.versions.1).contains(&VERSION) || self.is_greeted {
            return Err("Incompatible memif version");
        }
        self.is_greeted = true;
        let to_master = self.spec.rings.0.min(usize::from(hello.to_master_max) + 1);
        let to_slave = self.spec.rings.1.min(usize::from(hello.to_slave_max) + 1);
        self.spec.log2_size = self.spec.log2_size.min(hello.log2_size_max);
        let octets = self.spec.octets(to_master + to_slave);
        let (segment, fd) = Segment::create(octets).map_err(|_| "no memory")?;
        let Spec { id, secret, log2_size, .. } = self.spec;
        self.to_say
            .push_back((Message::Init { version: VERSION, id, mode: MODE_ETHERNET, secret }, None));
        let region = Message::AddRegion { index: 0, octets: octets as u64 };
        self.to_say.push_back((region, Some(fd)));
        let all = (0..to_master).map(|n| (true, n)).chain((0..to_slave).map(|n| (false, n)));
        for (number, (is_to_master, index)) in all.enumerate() {
            let about = AddRing {
                is_to_master,
                index: index as u16,
                region: 0,
                offset: (number * Ring::octets(log2_size)) as u32,
                log2_size,
                private_octets: 0,
            };
            let interrupt = event().map_err(|_| "no descriptors")?;
            let beside = interrupt.try_clone().map_err(|_| "no descriptors")?;
            self.to_say.push_back((Message::AddRing(about), Some(beside)));
            Ring::format(&segment, about.offset);
            self.rings.push(Told { about, interrupt });
        }
        self.to_say.push_back((Message::Connect, None));
        self.segments.push(Arc::new(segment));
        Ok(())
    }

    /// Makes queues of what was agreed on.
    fn connection(&mut self) -> Result<Connection, Refusal> {
        let is_slave = self.spec.role == Role::Slave;
        let all: Arc<[Arc<Segment>]> = self.segments.iter().map(Arc::clone).collect();
        let mut rings = std::mem::take(&mut self.rings);
        let behind = rings.len() * Ring::octets(self.spec.log2_size);
        rings.sort_by_key(|told| (!told.about.is_to_master, told.about.index));
        let mut connection = Connection { receive: Vec::new(), send: Vec::new() };
        for (number, Told { about, interrupt }) in rings.into_iter().enumerate() {
            let segment = all.get(usize::from(about.region)).ok_or("Invalid ring region")?;
            let ring = Ring::at(segment, about.offset, about.log2_size, interrupt);
            let ring = ring.filter(Ring::is_ring).ok_or("Wrong cookie or place")?;
            let octets = self.spec.buffer_octets;
            let own = behind + (number << about.log2_size) * octets as usize;
            let buffers = if is_slave {
                Buffers::Own { segment: Arc::clone(segment), start: own as u32, octets }
            } else {
                Buffers::Told(Arc::clone(&all))
            };
            let mut queue = Queue::new(ring, buffers);
            if about.is_to_master == is_slave {
                connection.send.push(queue);
                continue;
            }
            if is_slave {
                queue.offer();
            }
            queue.ring.want_interrupts(false);
            connection.receive.push(queue);
        }
        Ok(connection)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.hang_up("closed");
        if self.listener.is_some() {
            // A path that is gone already needs no more.
            let _ = std::fs::remove_file(&self.spec.socket);
        }
    }
}

fn event() -> io::Result<OwnedFd> {
    let flags = libc::EFD_NONBLOCK | libc::EFD_CLOEXEC;
    // SAFETY: a plain system call; a descriptor that it returns is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::eventfd(0, flags))?)) }
}

fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a plain system call; a descriptor that it returns is ours alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(libc::AF_UNIX, kind, 0))?)) }
}

/// The socket's address; a name that begins with `@` is abstract (unix(7)).
fn address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: integers, for which all-zero is a value.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let octets = path.as_os_str().as_bytes();
    if octets.is_empty() || octets.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (place, octet) in address.sun_path.iter_mut().zip(octets) {
        *place = *octet as libc::c_char;
    }
    let is_abstract = octets[0] == b'@';
    if is_abstract {
        address.sun_path[0] = 0;
    }
    let closing = usize::from(!is_abstract);
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + octets.len() + closing;
    Ok((address, length as libc::socklen_t))
}

fn connect(path: &Path) -> io::Result<OwnedFd> {
    let (address, length) = address(path)?;
    let fd = socket()?;
    // SAFETY: the kernel reads the address, with its true length, during the call.
    check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(fd)
}

/// Listens. A socket that a process left behind is taken over; one where somebody listens is not.
fn listen(path: &Path) -> io::Result<OwnedFd> {
    let (address, length) = address(path)?;
    let fd = socket()?;
    // SAFETY: the kernel reads the address, with its true length, during the call.
    let bind = || check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) });
    if let Err(error) = bind() {
        let is_left = error.raw_os_error() == Some(libc::EADDRINUSE)
            && connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
        if !is_left {
            return Err(error);
        }
        std::fs::remove_file(path)?;
        bind()?;
    }
    // SAFETY: takes numbers.
    check(unsafe { libc::listen(fd.as_raw_fd(), BACKLOG) })?;
    Ok(fd)
}
