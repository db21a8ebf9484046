//! How master and slave find each other: several may talk with a master until one of them agrees
//! with it; who takes too long is let go.

use super::message::{self, Message, SECRET};
use super::queue::Queue;
use super::talk::Talk;
use crate::bell::Bell;
use crate::shared::{Ring, SEGMENT_MAX};
use driver::call::{check, short};
use machine::narrow;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rings each way at most.
pub const RINGS_MAX: usize = 64;
/// Descriptors of a ring at most, as a power of two.
pub const LOG2_SIZE_MAX: u8 = 14;
/// Octets of the smallest buffer.
pub(super) const BUFFER_OCTETS_MIN: usize = 64;
/// Octets of a buffer of other programs, as long as nobody tells them otherwise.
const BUFFER_OCTETS_USUAL: usize = 2_048;
/// Slaves that wait to be accepted.
const BACKLOG: libc::c_int = 4;
/// Others that are talked with at once; one more takes the oldest one's place.
const TALKS_MAX: usize = 4;
/// Time for two ends to agree.
const AGREE: Duration = Duration::from_secs(5);

/// The pause after the first connection; each is twice the one before, …
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// … up to this one: whatever a connection costs, it does not cost at every turn.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// One that stood so long begins with the first pause again.
const STEADY: Duration = Duration::from_secs(10);
/// The pause after one that was [`SLOW`].
pub(super) const SLOW_PAUSE: Duration = Duration::from_secs(10);
/// It takes too long to wake the other end.
pub(super) const SLOW: &str = "takes too long to be woken";

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
            && (BUFFER_OCTETS_MIN..=65_536).contains(&(self.buffer_octets as usize))
            && self.buffer_octets.is_multiple_of(64)
            && u32::try_from(self.octets(self.rings.0 + self.rings.1)).is_ok()
    }

    /// Octets that a slave may share with a master: what as many rings as the master takes can
    /// need, each as long as it can be, with buffers of the length that is usual or this end's.
    pub(super) fn octets_max(&self) -> u64 {
        let buffer = (self.buffer_octets as usize).max(BUFFER_OCTETS_USUAL);
        let ring = Ring::octets(LOG2_SIZE_MAX) + (buffer << LOG2_SIZE_MAX);
        (((self.rings.0 + self.rings.1) * ring) as u64).min(SEGMENT_MAX)
    }

    /// Octets that a slave shares for so many rings and their buffers.
    pub(super) fn octets(&self, rings: usize) -> usize {
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

/// The control socket: who talks, and who agreed.
#[derive(Debug)]
pub(super) struct Control {
    spec: Spec,
    bell: Arc<Bell>,
    listener: Option<OwnedFd>,
    talks: Vec<Talk>,
    /// Of the connection that stands.
    socket: Option<OwnedFd>,
    since: Option<Instant>,
    /// Whom nobody meets before then, and the last pause.
    pause: (Option<Instant>, Duration),
    /// Another one whenever there is something else to wait at.
    changes: u64,
}

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
        let (spec, bell) = (spec.clone(), Arc::new(Bell::new()?));
        let (talks, pause) = (Vec::new(), (None, Duration::ZERO));
        Ok(Self { spec, bell, listener, talks, socket: None, since: None, pause, changes: 0 })
    }

    /// The descriptors to wait at. Once a connection stands that is its socket alone: a second
    /// slave waits until the first is gone, and its knock must not keep the worker awake.
    pub fn descriptors(&self) -> Vec<&OwnedFd> {
        match &self.socket {
            Some(socket) => vec![socket],
            None => {
                let listener = self.listener.iter().filter(|_| self.pause.0.is_none());
                listener.chain(self.talks.iter().map(|it| &it.socket)).collect()
            }
        }
    }

    /// Changes with [`Control::descriptors`].
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a connection stands.
    pub fn stands(&self) -> bool {
        self.socket.is_some()
    }

    /// Ends the connection, and all talks.
    pub fn hang_up(&mut self, reason: &str) {
        let talks = self.talks.drain(..).map(|talk| talk.socket);
        talks.chain(self.socket.take()).for_each(|socket| dismiss(&socket, reason));
        self.changes += 1;
    }

    /// The same; nobody else is met for a while, `pause` at least.
    pub fn end(&mut self, reason: &str, now: Instant, pause: Duration) {
        self.hang_up(reason);
        self.rest(now, pause);
    }

    fn rest(&mut self, now: Instant, pause: Duration) {
        let stood = self.since.take().map_or(Duration::ZERO, |it| now.duration_since(it));
        let before = if stood >= STEADY { Duration::ZERO } else { self.pause.1 };
        let doubled = (2 * before).clamp(PAUSE_MIN, PAUSE_MAX);
        self.pause = (Some(now + doubled.max(pause)), doubled);
    }

    /// Meets other ends and reads what they say; a connection, as soon as one stands.
    pub fn turn(&mut self, now: Instant) -> Option<Connection> {
        if let Some(socket) = &self.socket {
            match message::receive(socket) {
                Ok(None) => {}
                Ok(Some((Message::Disconnect { .. }, _))) => {
                    self.end("as you wish", now, Duration::ZERO)
                }
                Ok(Some(_)) => self.end("Unexpected message", now, Duration::ZERO),
                Err(_) => self.end("not understood", now, Duration::ZERO),
            }
            return None;
        }
        self.meet(now);
        for at in (0..self.talks.len()).rev() {
            let done = self.talks[at].turn();
            let late = now.saturating_duration_since(self.talks[at].since) >= AGREE;
            let refusal = match done {
                Ok(Some(connection)) => {
                    self.socket = Some(self.talks.swap_remove(at).socket);
                    self.since = Some(now);
                    self.changes += 1;
                    self.talks.drain(..).for_each(|talk| dismiss(&talk.socket, "taken"));
                    return Some(connection);
                }
                Ok(None) if late => "too late",
                Ok(None) => continue,
                Err(refusal) => refusal,
            };
            let talk = self.talks.remove(at);
            dismiss(&talk.socket, refusal);
            self.changes += 1;
            if talk.is_greeted {
                // It has the secret, and its memory was mapped: others wait as after a connection.
                let pause = if refusal == SLOW { SLOW_PAUSE } else { Duration::ZERO };
                self.rest(now, pause);
            }
        }
        None
    }

    /// Takes who knocks, or knocks.
    fn meet(&mut self, now: Instant) {
        if self.pause.0.is_some_and(|until| now < until) {
            return;
        }
        if self.pause.0.take().is_some() {
            self.changes += 1;
        }
        for _ in 0..TALKS_MAX {
            let socket = match &self.listener {
                Some(listener) => accept(listener),
                None if self.talks.is_empty() => connect(&self.spec.socket).ok(),
                None => None,
            };
            let Some(socket) = socket else { return };
            if self.talks.len() == TALKS_MAX {
                dismiss(&self.talks.remove(0).socket, "others wait");
            }
            self.talks.push(Talk::begin(&self.spec, &self.bell, socket, now));
            self.changes += 1;
        }
    }
}

/// Tells the other end why it is over; it may be gone, then it knows.
fn dismiss(socket: &OwnedFd, reason: &str) {
    let _ = message::send(socket, &Message::Disconnect { reason: reason.to_owned() }, None);
}

fn accept(listener: &OwnedFd) -> Option<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let none = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: no address is asked for; a descriptor that it returns is ours alone.
    unsafe {
        let fd = libc::accept4(listener.as_raw_fd(), none.0, none.1, flags);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
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
    address.sun_family = short(libc::AF_UNIX);
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
    Ok((address, narrow::place(length)))
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

#[cfg(test)]
mod tests {
    use super::super::message::{VERSION, receive, send};
    use super::*;

    fn spec(name: &str) -> Spec {
        let name = format!("tandem-memif-control-{}-{name}", std::process::id());
        Spec::new(&std::env::temp_dir().join(name), 3, Role::Master, [2; 6])
    }

    #[test]
    fn who_says_nothing_is_let_go_and_keeps_nobody_out_meanwhile() {
        let (spec, now) = (spec("silent"), Instant::now());
        let mut master = Control::open(&spec).unwrap();
        let silent: Vec<_> = (0..3).map(|_| connect(&spec.socket).unwrap()).collect();
        assert!(master.turn(now).is_none());
        let mut slave = Control::open(&Spec { role: Role::Slave, ..spec.clone() }).unwrap();
        let agrees = |master: &mut Control, slave: &mut Control| {
            (0..100).any(|_| master.turn(now).is_some() | slave.turn(now).is_some())
        };
        assert!(agrees(&mut master, &mut slave), "beside three that are silent");
        let said = |socket: &OwnedFd| {
            std::iter::from_fn(|| receive(socket).ok().flatten()).last().map(|(said, _)| said)
        };
        let taken = Message::Disconnect { reason: "taken".to_owned() };
        assert!(silent.iter().all(|socket| said(socket) == Some(taken.clone())));
        drop(slave);
        master.turn(now);
        let (silent, now) = (connect(&spec.socket).unwrap(), now + PAUSE_MIN);
        master.turn(now);
        assert_eq!(master.talks.len(), 1);
        master.turn(now + AGREE);
        assert_eq!(master.talks.len(), 0);
        assert_eq!(said(&silent), Some(Message::Disconnect { reason: "too late".to_owned() }));
    }

    #[test]
    fn connections_that_come_and_go_are_met_ever_later() {
        let (spec, mut now) = (spec("often"), Instant::now());
        let mut master = Control::open(&spec).unwrap();
        let slave = Spec { role: Role::Slave, ..spec };
        let mut pauses = Vec::new();
        for stood in [Duration::ZERO; 9].into_iter().chain([STEADY, Duration::ZERO]) {
            let mut slave = Control::open(&slave).unwrap();
            let began = now;
            while !master.stands() {
                slave.turn(now);
                master.turn(now);
                now += Duration::from_millis(1);
            }
            pauses.push(now.duration_since(began).as_millis());
            now += stood;
            drop(slave);
            while master.stands() {
                master.turn(now);
            }
            assert!(master.descriptors().is_empty(), "a knock keeps no worker awake");
        }
        let least = [0, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000, 10];
        let of = pauses.iter().zip(least);
        assert!(of.clone().all(|(it, least)| *it >= least && *it < least + 20), "{pauses:?}");
    }

    #[test]
    fn what_is_no_eventfd_is_no_interrupt() {
        let (spec, now) = (spec("no-eventfd"), Instant::now());
        let mut master = Control::open(&spec).unwrap();
        let slave = connect(&spec.socket).unwrap();
        let (id, secret, version) = (spec.id, spec.secret, VERSION);
        send(&slave, &Message::Init { version, id, mode: 0, secret }, None).unwrap();
        let about = message::AddRing {
            is_to_master: true,
            index: 0,
            region: 0,
            offset: 0,
            log2_size: 4,
            private_octets: 0,
        };
        let (_, pipe) = std::io::pipe().unwrap();
        send(&slave, &Message::AddRing(about), Some(pipe.as_raw_fd())).unwrap();
        master.turn(now);
        let said: Vec<_> =
            std::iter::from_fn(|| receive(&slave).ok().flatten()).map(|(said, _)| said).collect();
        let reason = "Invalid interrupt fd".to_owned();
        assert_eq!(said.last(), Some(&Message::Disconnect { reason }));
    }

    #[test]
    fn a_slave_shares_no_more_than_its_rings_can_need() {
        let (spec, now) = (spec("much"), Instant::now());
        let mut master = Control::open(&spec).unwrap();
        let most = spec.octets_max();
        assert!(most < 70 << 20, "{most}: a ring each way");
        // Files with holes: none of it is there yet, and all of it may be written by who reads.
        for (sizes, is_taken) in [(vec![most], true), (vec![most / 2 + 1; 2], false)] {
            let slave = connect(&spec.socket).unwrap();
            let (id, secret, version) = (spec.id, spec.secret, VERSION);
            send(&slave, &Message::Init { version, id, mode: 0, secret }, None).unwrap();
            for (index, octets) in (0..).zip(sizes) {
                let size = usize::try_from(octets).unwrap();
                let (_, fd) = crate::shared::Segment::create(size).unwrap();
                let region = Message::AddRegion { index, octets };
                send(&slave, &region, Some(fd.as_raw_fd())).unwrap();
            }
            master.turn(now);
            let said: Vec<_> = std::iter::from_fn(|| receive(&slave).ok().flatten()).collect();
            let reason = "Too much memory".to_owned();
            let is_refused =
                said.iter().any(|(it, _)| *it == Message::Disconnect { reason: reason.clone() });
            assert_eq!(is_refused, !is_taken, "{said:?}");
        }
    }
}
