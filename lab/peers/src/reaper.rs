//! Who ends what the lab started when the lab is gone, however it ended.

use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Reads what nobody writes until the lab's end of the pipe closes; then ends its group, in peace
/// first (the pause is that of a process that is stopped).
const SCRIPT: &str = "trap '' TERM INT HUP; read -r _; kill -TERM 0; sleep 3; kill -KILL 0";

/// A process group with a shell that leads it and outlives the lab for a moment. What is started
/// into the group, and all that this forks, is gone when the handle is dropped, and when the lab
/// is killed.
#[derive(Debug)]
pub struct Reaper {
    /// Its standard input is the pipe; a program's copy of it closes when that is executed.
    shell: Child,
}

impl Reaper {
    /// Makes the group.
    ///
    /// # Errors
    /// When there is no shell.
    pub fn start() -> anyhow::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT]).process_group(0);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { shell: command.spawn()? })
    }

    /// The group's number, which is the shell's.
    #[must_use]
    pub fn group(&self) -> u32 {
        self.shell.id()
    }

    /// Sends a signal to all of the group; the shell heeds [`Signal::KILL`] only.
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
        let _ = self.shell.wait();
    }
}
