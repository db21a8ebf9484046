//! bpf(2): maps and links by their descriptors.

use crate::call::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_DELETE: libc::c_int = 3;
const MAP_NEXT_KEY: libc::c_int = 4;
const LINK_CREATE: libc::c_int = 28;
const LINK_DETACH: libc::c_int = 34;
const ATTACH_XDP: u32 = 37;
/// `union bpf_attr`: what is used of it.
pub(super) const ATTRIBUTES: usize = 72;
/// `BPF_ANY`, `BPF_NOEXIST`.
pub(crate) const ANY: u64 = 0;
pub(crate) const NEW: u64 = 1;

pub(super) fn put(attributes: &mut [u8; ATTRIBUTES], at: usize, value: u32) {
    attributes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

pub(super) fn put_pointer<T: ?Sized>(
    attributes: &mut [u8; ATTRIBUTES],
    at: usize,
    value: *const T,
) {
    attributes[at..at + 8].copy_from_slice(&(value.cast::<u8>() as u64).to_ne_bytes());
}

/// # Errors
/// The kernel's.
pub(super) fn bpf(
    command: libc::c_int,
    attributes: &mut [u8; ATTRIBUTES],
) -> io::Result<libc::c_int> {
    let (start, octets) = (attributes.as_mut_ptr(), attributes.len());
    // SAFETY: the kernel reads and writes the attributes and what they point to, all of which the
    // callers keep alive over the call, with the lengths that the kernel knows of its objects.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, start, octets) };
    check(libc::c_int::try_from(result).unwrap_or(-1))
}

/// A map with keys of `K` octets and values of `V`.
#[derive(Debug)]
pub(crate) struct Map<const K: usize, const V: usize>(pub(super) OwnedFd);

impl<const K: usize, const V: usize> Map<K, V> {
    fn call(
        &self,
        command: libc::c_int,
        key: *const [u8; K],
        value: *const u8,
        flags: u64,
    ) -> io::Result<()> {
        let mut attributes = [0; ATTRIBUTES];
        put(&mut attributes, 0, self.0.as_raw_fd() as u32);
        put_pointer(&mut attributes, 8, key);
        put_pointer(&mut attributes, 16, value);
        attributes[24..32].copy_from_slice(&flags.to_ne_bytes());
        bpf(command, &mut attributes).map(drop)
    }

    pub(crate) fn insert(&self, key: &[u8; K], value: &[u8; V], flags: u64) -> io::Result<()> {
        self.call(MAP_UPDATE, key, value.as_ptr(), flags)
    }

    pub(crate) fn remove(&self, key: &[u8; K]) -> io::Result<()> {
        self.call(MAP_DELETE, key, std::ptr::null(), 0)
    }

    pub(crate) fn get(&self, key: &[u8; K]) -> io::Result<[u8; V]> {
        let mut value = [0; V];
        self.call(MAP_LOOKUP, key, value.as_mut_ptr(), 0).map(|()| value)
    }

    /// The entries now; one that another process changes meanwhile may be left out.
    pub(crate) fn entries(&self) -> Vec<([u8; K], [u8; V])> {
        let (mut all, mut before, mut next) = (Vec::new(), std::ptr::null(), [0; K]);
        let mut key;
        while self.call(MAP_NEXT_KEY, before, next.as_mut_ptr(), 0).is_ok() {
            key = next;
            before = &raw const key;
            all.extend(self.get(&key).map(|value| (key, value)));
        }
        all
    }

    /// The sum over all cores, of a map that has a number for each of so many.
    pub(crate) fn sum(&self, key: &[u8; K], cores: usize) -> io::Result<u64> {
        let mut values = vec![0u64; cores];
        self.call(MAP_LOOKUP, key, values.as_mut_ptr().cast(), 0)?;
        Ok(values.iter().sum())
    }
}

/// Puts a program before an interface, in the mode of `XDP_FLAGS_…`.
pub(super) fn link(program: BorrowedFd<'_>, interface: u32, mode: u32) -> io::Result<OwnedFd> {
    let mut attributes = [0; ATTRIBUTES];
    let values = [program.as_raw_fd() as u32, interface, ATTACH_XDP, mode];
    for (at, value) in values.into_iter().enumerate() {
        put(&mut attributes, at * 4, value);
    }
    // SAFETY: this command returns a descriptor that is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(bpf(LINK_CREATE, &mut attributes)?) })
}

/// Takes it away, whoever else has a descriptor of the link.
pub(super) fn detach(link: &impl AsFd) {
    let mut attributes = [0; ATTRIBUTES];
    put(&mut attributes, 0, link.as_fd().as_raw_fd() as u32);
    // The interface may be gone, and the link with it.
    let _: io::Result<_> = bpf(LINK_DETACH, &mut attributes);
}
