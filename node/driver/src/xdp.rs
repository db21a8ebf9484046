//! The program before interfaces (XDP, `bpf/interface.c`): one for all functions of a network
//! namespace, whichever process they are in.
//!
//! ```text
//!   Filter ─────────┐             ┌─ listeners, rules, sources   the program, its maps and its
//!   Redirect ──────┼─ Owner ─────┼─ routes, sockets by queue     links live as long as anybody's
//!   … of another ──┘  (a number) └─ a socket that says: alive    descriptors of them
//!     process: share
//! ```
//! What is committed as `bpf/interface.o` is loaded: no clang is needed. `cargo xtask bpf` makes it
//! anew.

pub(crate) mod bpf;
mod redirect;
mod share;

use crate::call::check;
use aya::maps::Map as Loaded;
use aya::programs::{ProgramError, Xdp};
use aya::{EbpfLoader, VerifierLogLevel};
pub use redirect::Redirect;

use bpf::{ANY, Map, NEW};
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Queues of an interface at most (`QUEUES`).
pub const QUEUES_MAX: u32 = 64;
/// Filters and ports of a network namespace (`OWNERS_MAX`).
const OWNERS_MAX: u32 = 64;
const OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/interface.o");
const NAME: &str = "interface";
/// The maps that are written from here, in the order of [`Maps`].
const NAMES: [&str; 12] = [
    "USED",
    "OWNERS",
    "SOCKETS",
    "ROUTES",
    "WHOLE",
    "LISTENERS",
    "RULES",
    "SHARED_BUCKETS",
    "TRUSTED",
    "KNOWN_SOURCES",
    "BLACKLIST",
    "COUNTS",
];
/// `XDP_FLAGS_DRV_MODE`, `XDP_FLAGS_SKB_MODE`.
const NATIVE: u32 = 1 << 2;
const GENERIC: u32 = 1 << 1;
/// How often an interface that is taken is asked for, and the pause in between: who leaves it may
/// still be about to.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);
/// How often the kernel is given the program: a signal that comes while it is checked ends the
/// check.
const LOADS: usize = 1_000;
/// Letters of the kernel's reason for a refusal.
const REASON_MAX: usize = 300;

/// The programs of this process, one for each network namespace that its threads are in.
static PROGRAMS: Mutex<Vec<Weak<Program>>> = Mutex::new(Vec::new());

/// How the program stands before an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// In the driver, before there is a buffer for the frame.
    Native = 1,
    /// In the kernel's own path, for any driver; it costs a buffer for each frame.
    Generic = 2,
}

impl Mode {
    fn numbered(number: u8) -> Option<Self> {
        [Self::Native, Self::Generic].into_iter().find(|mode| *mode as u8 == number)
    }
}

/// Where a frame goes to, as the program looks it up (`struct target`).
pub(crate) type Target = [u8; 24];

/// What the program goes by.
#[derive(Debug)]
pub(crate) struct Maps {
    used: Map<4, 4>,
    owners: Map<4, 4>,
    sockets: Map<4, 4>,
    routes: Map<24, 4>,
    whole: Map<4, 4>,
    pub listeners: Map<24, 4>,
    pub rules: Map<4, 40>,
    pub shared_buckets: Map<4, 24>,
    pub trusted: Map<24, 4>,
    pub known: Map<16, 8>,
    pub blacklist: Map<16, 8>,
    pub counts: Map<4, 8>,
}

/// The program in the kernel.
#[derive(Debug)]
pub(crate) struct Program {
    namespace: u64,
    id: [u8; 8],
    program: OwnedFd,
    pub maps: Maps,
    links: Mutex<BTreeMap<u32, Weak<Link>>>,
    listener: Option<Arc<UnixListener>>,
}

/// It before an interface; gone from there with the last descriptor.
#[derive(Debug)]
pub(crate) struct Link {
    fd: OwnedFd,
    pub mode: Mode,
    is_shared: AtomicBool,
}

impl Link {
    fn shared(fd: OwnedFd, mode: Mode) -> Self {
        Self { fd, mode, is_shared: true.into() }
    }

    /// The descriptor, for another process.
    fn share(&self) -> RawFd {
        self.is_shared.store(true, Relaxed);
        self.fd.as_raw_fd()
    }
}

impl Drop for Link {
    /// A child process holds the descriptor too between its fork and its exec, so that closing it
    /// here need not be the end of the link.
    fn drop(&mut self) {
        if !*self.is_shared.get_mut() {
            bpf::detach(&self.fd);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells programs apart (FNV-1a of the object).
fn version() -> [u8; 8] {
    let step = |sum: u64, octet: &u8| (sum ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
    OBJECT.iter().fold(0xcbf2_9ce4_8422_2325, step).to_ne_bytes()
}

/// Loads it: the program and its maps.
fn load() -> io::Result<Vec<OwnedFd>> {
    let mut loader = EbpfLoader::new();
    // aya asks again for the reason of a refusal. Without any level that is EINVAL, whatever the
    // first one was; with this one the check is not written down step by step.
    loader.verifier_log_level(VerifierLogLevel::STATS);
    let mut ebpf = loader.load(OBJECT).map_err(words)?;
    let program: &mut Xdp =
        ebpf.program_mut(NAME).and_then(|it| it.try_into().ok()).ok_or(io::ErrorKind::NotFound)?;
    let mut left = LOADS;
    while let Err(error) = program.load() {
        left -= 1;
        if left == 0 || !is_interrupted(&error) {
            return Err(words(error));
        }
    }
    let mut all = vec![program.fd().map_err(words)?.as_fd().try_clone_to_owned()?];
    for name in NAMES {
        let map = ebpf.take_map(name).ok_or(io::ErrorKind::NotFound)?;
        let (Loaded::Array(data)
        | Loaded::PerCpuArray(data)
        | Loaded::HashMap(data)
        | Loaded::LpmTrie(data)
        | Loaded::XskMap(data)) = map
        else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        all.push(data.fd().as_fd().try_clone_to_owned()?);
    }
    Ok(all)
}

/// Whether the kernel was only interrupted (EAGAIN of `BPF_PROG_LOAD`: a signal was pending).
fn is_interrupted(error: &ProgramError) -> bool {
    matches!(error, ProgramError::LoadError { io_error, .. }
        if io_error.kind() == io::ErrorKind::WouldBlock)
}

impl Program {
    /// That of the calling thread's network namespace: of this process, of another one, or a new
    /// one.
    fn here() -> io::Result<Arc<Self>> {
        let namespace = std::fs::metadata("/proc/thread-self/ns/net")?.ino();
        let mut programs = lock(&PROGRAMS);
        programs.retain(|program| program.strong_count() > 0);
        let mut ours = programs.iter().filter_map(Weak::upgrade);
        if let Some(program) = ours.find(|program| program.namespace == namespace) {
            return Ok(program);
        }
        let _alone = share::alone()?;
        let found = share::ask(0).0.into_iter().next();
        let (id, all) = match found {
            Some(shared) => (shared.id, shared.all),
            None => (*crate::random()?.first_chunk().expect("there are 16"), load()?),
        };
        let listener = share::listen().map(Arc::new);
        let program = Arc::new(Self::of(namespace, id, all, listener)?);
        if let Some(listener) = program.listener.clone() {
            let weak = Arc::downgrade(&program);
            let thread = thread::Builder::new().name("xdp".to_owned());
            thread.spawn(move || share::serve(&listener, &weak))?;
        }
        programs.push(Arc::downgrade(&program));
        Ok(program)
    }

    fn of(
        namespace: u64,
        id: [u8; 8],
        all: Vec<OwnedFd>,
        listener: Option<Arc<UnixListener>>,
    ) -> io::Result<Self> {
        let all: [OwnedFd; NAMES.len() + 1] =
            all.try_into().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        let [program, used, owners, sockets, routes, whole, listeners, rest @ ..] = all;
        let [rules, shared_buckets, trusted, known, blacklist, counts] = rest;
        let maps = Maps {
            used: Map(used),
            owners: Map(owners),
            sockets: Map(sockets),
            routes: Map(routes),
            whole: Map(whole),
            listeners: Map(listeners),
            rules: Map(rules),
            shared_buckets: Map(shared_buckets),
            trusted: Map(trusted),
            known: Map(known),
            blacklist: Map(blacklist),
            counts: Map(counts),
        };
        Ok(Self { namespace, id, program, maps, links: Mutex::default(), listener })
    }

    /// The program and the maps, in the order of [`NAMES`].
    fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let it = &self.maps;
        let (program, used, owners) = (&self.program, &it.used.0, &it.owners.0);
        let routes = [&it.sockets.0, &it.routes.0, &it.whole.0, &it.listeners.0, &it.rules.0];
        let sources =
            [&it.shared_buckets.0, &it.trusted.0, &it.known.0, &it.blacklist.0, &it.counts.0];
        [program, used, owners].into_iter().chain(routes).chain(sources).map(AsFd::as_fd)
    }

    fn link_of(&self, interface: u32) -> Option<Arc<Link>> {
        lock(&self.links).get(&interface).and_then(Weak::upgrade)
    }

    /// Puts it before an interface, unless it stands there: natively or, where the driver cannot,
    /// in the kernel's generic way.
    fn stand(&self, interface: u32) -> io::Result<Arc<Link>> {
        let _ours = lock(&PROGRAMS);
        let _alone = share::alone()?;
        let mut tries = TRIES;
        let link = loop {
            if let Some(link) = self.link_of(interface) {
                return Ok(link);
            }
            let (found, why) = share::ask(interface);
            let mut ours = found.into_iter().filter(|shared| shared.id == self.id);
            if let Some(link) = ours.find_map(|shared| shared.link) {
                break link;
            }
            match self.hang(interface) {
                Ok(link) => break link,
                Err(error) if error.kind() != io::ErrorKind::ResourceBusy => return Err(error),
                Err(error) if tries == 0 => return Err(why.map_or(error, io::Error::other)),
                Err(_) => thread::sleep(PAUSE),
            }
            tries -= 1;
        };
        let link = Arc::new(link);
        lock(&self.links).insert(interface, Arc::downgrade(&link));
        Ok(link)
    }

    fn hang(&self, interface: u32) -> io::Result<Link> {
        let hang = |flags| bpf::link(self.program.as_fd(), interface, flags);
        let (fd, mode) = match hang(NATIVE) {
            Ok(fd) => (fd, Mode::Native),
            Err(native) => {
                let both = |generic: io::Error| {
                    let taken = [&native, &generic].map(io::Error::raw_os_error);
                    if taken.iter().any(|it| matches!(it, Some(libc::EBUSY | libc::EEXIST))) {
                        let words = "another XDP program stands before it";
                        return io::Error::new(io::ErrorKind::ResourceBusy, words);
                    }
                    let words = format!("native: {native}; generic: {generic}");
                    io::Error::new(generic.kind(), words)
                };
                (hang(GENERIC).map_err(both)?, Mode::Generic)
            }
        };
        Ok(Link { fd, mode, is_shared: false.into() })
    }

    /// Takes away what an owner has.
    fn purge(&self, number: u32) {
        let Maps { routes, whole, listeners, trusted, known, blacklist, .. } = &self.maps;
        let own = number.to_ne_bytes();
        purge(routes, |_, value| owner_of(value) == number);
        purge(whole, |_, value| owner_of(value) == number);
        purge(listeners, |_, value| owner_of(value) == number);
        purge(trusted, |key, _| key[4..8] == own);
        purge(known, |key, _| key[8..12] == own);
        purge(blacklist, |key, _| key[8..12] == own);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            // SAFETY: a plain system call; its thread sees the end.
            unsafe { libc::shutdown(listener.as_raw_fd(), libc::SHUT_RDWR) };
        }
    }
}

/// The owner in a value of routes and listeners.
fn owner_of(value: &[u8; 4]) -> u32 {
    u32::from_ne_bytes(*value) >> 8
}

/// Takes away entries.
pub(crate) fn purge<const K: usize, const V: usize>(
    map: &Map<K, V>,
    is_meant: impl Fn(&[u8; K], &[u8; V]) -> bool,
) {
    let entries = map.entries();
    // What is not there need not go.
    entries.iter().filter(|it| is_meant(&it.0, &it.1)).for_each(|it| drop(map.remove(&it.0)));
}

/// A filter or a port in the program: a number of its own, and what stands under it. The kernel
/// lets go of its token when the process ends, however that happens; then nothing of it counts.
#[derive(Debug)]
pub(crate) struct Owner {
    program: Arc<Program>,
    number: u32,
    token: OwnedFd,
}

impl Owner {
    /// A new one, in the calling thread's network namespace.
    ///
    /// # Errors
    /// In words: not permitted, no number is left, what the kernel does not like.
    pub(crate) fn new() -> io::Result<Self> {
        let program = Program::here()?;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call; a descriptor that it returns is ours alone.
        let token = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_XDP, kind, 0))?) };
        let mut owner = Self { program, number: 0, token };
        while let Err(error) = owner.claim(owner.number) {
            owner.number += 1;
            if error.raw_os_error() != Some(libc::EEXIST) || owner.number == OWNERS_MAX {
                // Nothing of another's is ours to take away.
                owner.number = OWNERS_MAX;
                return Err(error);
            }
        }
        owner.program.purge(owner.number);
        Ok(owner)
    }

    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn maps(&self) -> &Maps {
        &self.program.maps
    }

    /// Puts the program before an interface.
    ///
    /// # Errors
    /// In words: not permitted, another program stands there, why it is not shared.
    pub(crate) fn stand(&self, interface: u32) -> io::Result<Arc<Link>> {
        self.program.stand(interface)
    }

    fn claim(&self, number: u32) -> io::Result<()> {
        let token = (self.token.as_raw_fd() as u32).to_ne_bytes();
        self.maps().owners.insert(&number.to_ne_bytes(), &token, NEW)
    }

    /// Puts what one owner alone can have; false when another one has it, who is there.
    fn put<const K: usize>(&self, map: &Map<K, 4>, key: &[u8; K], kind: u32) -> io::Result<bool> {
        let value = (self.number << 8 | kind).to_ne_bytes();
        match map.insert(key, &value, NEW) {
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
            done => return done.map(|()| true),
        }
        let Ok(holder) = map.get(key).map(|held| owner_of(&held)) else { return Ok(false) };
        if holder != self.number {
            if self.claim(holder).is_err() {
                return Ok(false);
            }
            self.program.purge(holder);
            self.maps().owners.remove(&holder.to_ne_bytes())?;
        }
        map.insert(key, &value, ANY).map(|()| true)
    }

    /// Puts a listener of a kind.
    pub(crate) fn put_listener(&self, listener: &Target, kind: u32) -> io::Result<bool> {
        self.maps().used.insert(&0u32.to_ne_bytes(), &1u32.to_ne_bytes(), ANY)?;
        self.put(&self.maps().listeners, listener, kind)
    }

    /// Routes a target to this owner's sockets.
    pub(crate) fn put_route(&self, target: &Target) -> io::Result<bool> {
        self.maps().used.insert(&1u32.to_ne_bytes(), &1u32.to_ne_bytes(), ANY)?;
        self.put(&self.maps().routes, target, 0)
    }

    /// Routes all that nobody else has of an interface to this owner's sockets.
    pub(crate) fn put_whole(&self, interface: u32) -> io::Result<bool> {
        self.put(&self.maps().whole, &interface.to_ne_bytes(), 0)
    }

    /// Hands what comes in by a queue to a socket, as long as that lives.
    pub(crate) fn put_socket(&self, queue: u32, socket: RawFd) -> io::Result<()> {
        let place = self.number * QUEUES_MAX + queue;
        let socket = (socket as u32).to_ne_bytes();
        self.maps().sockets.insert(&place.to_ne_bytes(), &socket, ANY)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.number < OWNERS_MAX {
            // First what stands under the number, then the number itself: it may be another's at
            // once.
            self.program.purge(self.number);
            let _ = self.maps().owners.remove(&self.number.to_ne_bytes());
        }
    }
}

/// An error and its causes in one line.
fn words(error: impl Error) -> io::Error {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        cause = error.source();
    }
    let text = text.lines().collect::<Vec<_>>().join(" ");
    io::Error::other(text.chars().take(REASON_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_RUN: libc::c_int = 10;

    impl Owner {
        /// What the program returns for a frame (`BPF_PROG_TEST_RUN`).
        pub(crate) fn run(&self, frame: &[u8]) -> io::Result<u32> {
            let mut attributes = [0; bpf::ATTRIBUTES];
            bpf::put(&mut attributes, 0, self.program.program.as_raw_fd() as u32);
            bpf::put(&mut attributes, 8, frame.len() as u32);
            bpf::put_pointer(&mut attributes, 16, frame.as_ptr());
            bpf::bpf(TEST_RUN, &mut attributes)?;
            Ok(u32::from_ne_bytes(attributes[4..8].try_into().unwrap()))
        }
    }
}
