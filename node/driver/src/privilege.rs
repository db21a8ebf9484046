//! What a process keeps from others (files, memory, cores), and the rights that it gives up: from
//! root to a user of its own, capabilities, system calls.

mod account;
mod calls;

pub use account::{Account, Rights, acting, became, drop_all, give_up, is_root, owners};
pub use calls::refuse as refuse_calls;

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Files that are made from now on are their owner's alone, whatever the shell's umask says.
pub fn keep_files() {
    // SAFETY: sets a number of the process; it cannot fail.
    unsafe { libc::umask(0o077) };
}

/// Whether the process, as the user that it acts as, could write a file or make files in a folder.
#[must_use]
pub fn may_write(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the kernel reads a string that lives over the call.
    let found =
        unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK, libc::AT_EACCESS) };
    found == 0
}

/// Keys and passwords in memory leave by no core file, and no other process of the same user reads
/// them (`ptrace`, `/proc/PID/mem`), unless they `may_leave`. Children inherit the limit of cores,
/// not the rest. A change of user says no as well, so that this is called after it.
///
/// # Errors
/// The kernel's; each of the two is tried.
pub fn keep_memory(may_leave: bool) -> io::Result<()> {
    if may_leave {
        return set_dumpable(true);
    }
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads one `rlimit`, which lives over the call.
    let limited = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    let limited = if limited == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    limited.and(set_dumpable(false))
}

fn set_dumpable(is_dumpable: bool) -> io::Result<()> {
    let (how, none) = (libc::c_ulong::from(is_dumpable), 0 as libc::c_ulong);
    // SAFETY: plain numbers.
    let set = unsafe { libc::prctl(libc::PR_SET_DUMPABLE, how, none, none, none) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn files_are_the_owners_and_memory_leaves_by_no_core() {
        keep_files();
        let name = format!("tandem-privilege-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, "secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(may_write(&path) && !may_write(&path.join("none")) && !acting().is_empty());
        fs::remove_file(&path).unwrap();
        keep_memory(false).unwrap();
        let limits = fs::read_to_string("/proc/self/limits").unwrap();
        let cores = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        let numbers: Vec<&str> = cores.split_whitespace().skip(4).take(2).collect();
        assert_eq!(numbers, ["0", "0"]);
        // SAFETY: asks for a number.
        assert_eq!(unsafe { libc::prctl(libc::PR_GET_DUMPABLE) }, 0);
    }
}
