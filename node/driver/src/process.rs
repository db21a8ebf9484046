//! Threads and randomness.

use std::io;

/// Niceness of threads that stand back (19 is the least share of a core).
const BACKGROUND_NICE: i32 = 15;

/// The cores that the calling thread may run on.
#[must_use]
pub fn cores() -> Vec<usize> {
    // SAFETY: `cpu_set_t` is a plain bit set; the kernel writes at most its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return Vec::new();
        }
        set
    };
    let bits = 8 * size_of::<libc::cpu_set_t>();
    // SAFETY: every index is below the number of bits of the set.
    (0..bits).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
}

/// Pins the calling thread to one core.
///
/// # Errors
/// The kernel's, when there is no such core or it is not ours to use.
pub fn pin(core: usize) -> io::Result<()> {
    if core >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: the index was checked against the set's size; the set lives over the call.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the calling thread run on any of `cores`. A core that is not there is left out by the
/// kernel.
///
/// # Errors
/// The kernel's, when none of the cores is ours to use.
pub fn keep_to(cores: &[usize]) -> io::Result<()> {
    let bits = 8 * size_of::<libc::cpu_set_t>();
    // SAFETY: every index is below the number of bits of the set, which lives over the call.
    let failed = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &core in cores.iter().filter(|&&core| core < bits) {
            libc::CPU_SET(core, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets the calling thread run on any of `cores`, and behind every thread that keeps its priority:
/// what it does never takes a core from a shard that has work.
///
/// # Errors
/// Those of [`keep_to`].
pub fn stand_back(cores: &[usize]) -> io::Result<()> {
    keep_to(cores)?;
    // SAFETY: plain numbers; on Linux 0 names the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, BACKGROUND_NICE) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// 32 bytes from the kernel's random source.
///
/// # Errors
/// The kernel's (no random source: no service).
pub fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0u8; 32];
    // SAFETY: the kernel writes at most 32 bytes into the array.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == bytes.len() as isize { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_can_be_pinned_to_a_core_that_the_process_has_and_to_no_other() {
        let core = *cores().first().expect("a process runs somewhere");
        std::thread::spawn(move || {
            pin(core).expect("our own core");
            assert_eq!(cores(), vec![core]);
            assert!(pin(100_000).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_stands_back_leaves_the_core_that_it_was_born_on() {
        let all = cores();
        let first = all[0];
        let there = std::thread::spawn(move || {
            pin(first).expect("our own core");
            stand_back(&all).expect("our own cores");
            (all, cores())
        });
        let (all, there) = there.join().unwrap();
        assert_eq!(there, all);
    }

    #[test]
    fn two_seeds_differ() {
        assert_ne!(random().unwrap(), random().unwrap());
    }
}
