//! Who ends what the lab started when the lab is gone, however it ended.

use anyhow::Context as _;
use rustix::process::{Pid, Signal, getpgrp, kill_process_group};
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Reads what nobody writes until the lab's end of the pipe closes; then ends its group, in peace
/// first (the pause is that of a process that is stopped).
const SCRIPT: &str = "trap '' TERM INT HUP; read -r _; kill -TERM 0; sleep 3; kill -KILL 0";

/// The pause of [`SCRIPT`].
const GRACE: Duration = Duration::from_secs(3);
/// The word by which this program does what [`SCRIPT`] does, where there is no shell: an image with
/// nothing else in it. Its `main` calls [`reap`] then.
const REAP: &str = "reap";

/// What the leader of a group does instead of a shell: does not return before the lab is gone.
///
/// # Errors
/// When a signal cannot be ignored.
pub fn reap() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        // Nobody reads it: the signal is caught, and ends nothing.
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    // However it ends, the lab is gone.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let group = getpgrp();
    // Others may have ended already.
    let _ = kill_process_group(group, Signal::TERM);
    std::thread::sleep(GRACE);
    let _ = kill_process_group(group, Signal::KILL);
    Ok(())
}

/// A process group with a shell that leads it and outlives the lab for a moment. What is started
/// into the group, and all that this forks, is gone when the handle is dropped, and when the lab
/// is killed.
#[derive(Debug)]
pub struct Reaper {
    /// Its standard input is the pipe; a program's copy of it closes when that is executed.
    leader: Child,
}

impl Reaper {
    /// Makes the group.
    ///
    /// # Errors
    /// When neither a shell nor this program itself can be started.
    pub fn start() -> anyhow::Result<Self> {
        let start = |program: &str, words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        };
        let leader = match start("sh", &["-c", SCRIPT]) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                start("/proc/self/exe", &[REAP])
            }
            started => started,
        };
        Ok(Self { leader: leader.context("nobody to end what is started")? })
    }

    /// The group's number, which is its leader's.
    #[must_use]
    pub fn group(&self) -> u32 {
        self.leader.id()
    }

    /// Sends a signal to all of the group; its leader heeds [`Signal::KILL`] only.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.group()).ok().and_then(Pid::from_raw) {
            // All of it may have ended already.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.leader.wait();
    }
}
