//! The lab before everything else on the machine: its scheduling group, its nice value, its core.

use rustix::process::{getpriority_process, setpriority_process, setsid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;

const AUTOGROUP: &str = "/proc/self/autogroup";
const HIGHEST: i32 = -20;

/// The lab's claim to the processor. Dropping it gives back what was there before.
///
/// With `sched_autogroup_enabled` a nice value only counts inside a session's own group, so that
/// a build elsewhere takes half of each core unless the group itself is raised.
#[derive(Debug)]
pub struct Priority {
    group_before: Option<String>,
    nice_before: Option<i32>,
    /// Whether the kernel granted it; only root is.
    pub granted: bool,
}

impl Priority {
    /// Claims the highest priority for this process and those it starts.
    #[must_use]
    pub fn claim() -> Self {
        // Fails when the shell made us the leader of a process group; then the shell's own
        // session is raised for as long as this handle lives.
        let _ = setsid();
        let group_before = fs::read_to_string(AUTOGROUP)
            .ok()
            .and_then(|text| text.split_once("nice ").map(|(_, nice)| nice.trim().to_owned()));
        let grouped = fs::write(AUTOGROUP, HIGHEST.to_string()).is_ok();
        let nice_before = getpriority_process(None).ok();
        let niced = setpriority_process(None, HIGHEST).is_ok();
        Self { group_before, nice_before, granted: grouped && niced }
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        if let Some(nice) = &self.group_before {
            // What root was granted, root gives back; anyone else had nothing.
            let _ = fs::write(AUTOGROUP, nice);
        }
        if let Some(nice) = self.nice_before {
            let _ = setpriority_process(None, nice);
        }
    }
}

/// Pins the calling thread, and those it starts, to one core.
///
/// # Errors
/// When there is no such core.
pub fn pin(core: usize) -> anyhow::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    Ok(sched_setaffinity(None, &cores)?)
}

/// Runs `run` in the calling thread, pinned to one core as long.
///
/// # Errors
/// When there is no such core.
pub fn pinned<T>(core: usize, run: impl FnOnce() -> T) -> anyhow::Result<T> {
    let before = sched_getaffinity(None)?;
    pin(core)?;
    let found = run();
    sched_setaffinity(None, &before)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_as_long_as_it_runs_what_it_is_given() {
        let cores = || sched_getaffinity(None).expect("of this thread");
        let before = cores();
        let core = (0..CpuSet::MAX_CPU).find(|it| before.is_set(*it)).expect("it runs on one");
        let within = pinned(core, cores).expect("there is such a core");
        assert!(within.is_set(core) && within.count() == 1, "{within:?}");
        assert_eq!(cores(), before);
    }
}
