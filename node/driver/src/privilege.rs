//! What a process keeps from others: files, memory, cores.

use std::io;

/// Files that are made from now on are their owner's alone, whatever the shell's umask says.
pub fn keep_files() {
    // SAFETY: sets a number of the process; it cannot fail.
    unsafe { libc::umask(0o077) };
}

/// Keys and passwords in memory leave by no core file, and no other process of the same user reads
/// them (`ptrace`, `/proc/PID/mem`). Children inherit the limit of cores, not the rest.
///
/// # Errors
/// The kernel's; each of the two is tried.
pub fn keep_memory() -> io::Result<()> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads one `rlimit`, which lives over the call.
    let limited = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    let limited = if limited == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    let no: libc::c_ulong = 0;
    // SAFETY: plain numbers.
    let hidden = unsafe { libc::prctl(libc::PR_SET_DUMPABLE, no, no, no, no) };
    let hidden = if hidden == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    limited.and(hidden)
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
        fs::remove_file(&path).unwrap();
        keep_memory().unwrap();
        let limits = fs::read_to_string("/proc/self/limits").unwrap();
        let cores = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        let numbers: Vec<&str> = cores.split_whitespace().skip(4).take(2).collect();
        assert_eq!(numbers, ["0", "0"]);
        // SAFETY: asks for a number.
        assert_eq!(unsafe { libc::prctl(libc::PR_GET_DUMPABLE) }, 0);
    }
}
