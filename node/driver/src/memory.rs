//! Memory taken ahead.
//!
//! A page that is touched for the first time costs a fault, and in a virtual machine often one of
//! its host too: a process that grows under load pays with pauses of milliseconds.

use std::fs;
use std::io;

/// Octets of a piece: larger than what the allocator keeps for small objects.
const PIECE: usize = 1 << 20;
/// `mi_option_purge_delay` of mimalloc 3: milliseconds until free memory goes back to the kernel.
const PURGE_DELAY: i32 = 15;

/// Takes `mib` MiB from the kernel, touches them and leaves them with mimalloc, which must be the
/// process's allocator and gives nothing back from now on.
///
/// # Errors
/// When the machine has not as much left.
pub fn take(mib: u32) -> io::Result<()> {
    let left = available().unwrap_or(u64::MAX);
    if u64::from(mib) > left {
        return Err(io::Error::other(format!("the machine has {left} MiB left")));
    }
    // SAFETY: sets a number that mimalloc reads atomically.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, -1) };
    let pieces: Vec<Vec<u8>> = (0..mib).map(|_| vec![1; PIECE]).collect();
    drop(std::hint::black_box(pieces));
    Ok(())
}

/// MiB that the machine has left.
fn available() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_machine_has_is_refused() {
        let words = take(u32::MAX).unwrap_err().to_string();
        assert!(words.ends_with("MiB left"), "{words}");
        assert!(available().is_some_and(|mib| mib > 0));
    }

    #[test]
    fn what_is_taken_stays_with_the_process() {
        // SAFETY: reads a number.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
        assert_eq!(delay(), 1_000, "the default of mimalloc 3, by which its option is known");
        take(1).unwrap();
        assert_eq!(delay(), -1);
    }
}
