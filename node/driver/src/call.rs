//! What system calls have in common: their errors, lengths of structures, options of sockets.

use std::io;
use std::os::fd::RawFd;

/// Turns the -1 of a system call into its error.
///
/// # Errors
/// That of the call.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Octets of a structure, as the kernel is told them.
#[must_use]
pub const fn octets_of<T>() -> libc::socklen_t {
    const { assert!(size_of::<T>() <= u16::MAX as usize, "no structure of the kernel's") };
    #[allow(clippy::cast_possible_truncation, reason = "asserted")]
    let octets = size_of::<T>() as libc::socklen_t;
    octets
}

/// A constant of the kernel's that structures have in 16 bits: a family, a protocol.
///
/// # Panics
/// Where it has more.
#[must_use]
pub const fn short(constant: libc::c_int) -> u16 {
    assert!(constant >= 0 && constant <= u16::MAX as libc::c_int, "it has 16 bits");
    #[allow(clippy::cast_possible_truncation, reason = "asserted")]
    let constant = constant as u16;
    constant
}

/// Sets one integer option.
///
/// # Errors
/// The kernel's.
pub fn set(fd: RawFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the kernel reads four bytes of an integer that lives over the call.
    check(unsafe {
        libc::setsockopt(fd, level, name, (&raw const value).cast(), octets_of::<libc::c_int>())
    })
    .map(drop)
}

/// Reads one integer option.
///
/// # Errors
/// The kernel's.
pub fn get(fd: RawFd, level: i32, name: i32) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    let mut length = octets_of::<libc::c_int>();
    // SAFETY: the kernel writes at most `length` bytes into the integer.
    check(unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &raw mut length) })?;
    Ok(value)
}
