//! A shell on a machine of its own, on which a page's commands run.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A box ends within this time.
const BOX_MAX: Duration = Duration::from_secs(180);
/// Before the status of a box, and before a command that failed in it.
const END: char = '\u{1}';
pub const FAILED: char = '\u{2}';
/// Programs that the shell finds before those of the machine. Packages are there: `make setup` has
/// installed them. An editor writes one line.
const PROGRAMS: [(&str, &str); 2] = [
    ("apt-get", "#!/bin/sh\nshift 3\nexec dpkg-query -W \"$@\"\n"),
    ("editor", "#!/bin/sh\necho '# edited' >>\"$1\"\n"),
];

/// A shell in namespaces of its own: network, mounts, processes.
pub struct Shell {
    child: Child,
    to: ChildStdin,
    lines: Receiver<String>,
    /// The file from which the shell reads the commands of a box.
    commands: PathBuf,
}

impl Drop for Shell {
    fn drop(&mut self) {
        // All that the page has started ends with the namespace of its processes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shell {
    pub fn new(folder: &Path) -> Self {
        let programs = folder.join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tandem"), programs.join("tandem")).unwrap();
        for (name, text) in PROGRAMS {
            std::fs::write(programs.join(name), text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(programs.join(name), mode).unwrap();
        }
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["bash", "--noprofile", "--norc"]);
        command.current_dir(folder).env("PATH", path).env("NO_COLOR", "1");
        command.env("EDITOR", "editor").env_remove("VISUAL");
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "TANDEM_RUN", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        let mut shell = Self { child, to, lines, commands: programs.join("box") };
        // Sites of other tests have their control sockets in /run.
        shell.run(&format!(
            "exec 2>&1; mount -t tmpfs none /run; mkdir /run/netns; ip link set lo up\n\
             trap 'echo \"{FAILED}$BASH_COMMAND\"' ERR"
        ));
        shell
    }

    /// What commands print, whose input is empty.
    pub fn run(&mut self, commands: &str) -> String {
        std::fs::write(&self.commands, commands).unwrap();
        writeln!(self.to, ". '{}' </dev/null\necho; echo '{END}'", self.commands.display())
            .unwrap();
        let end = Instant::now() + BOX_MAX;
        let mut printed = String::new();
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) if line.starts_with(END) => return printed,
                Ok(line) => writeln!(printed, "{line}").unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("no end of: {commands}\n{printed}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the shell ended: {printed}"),
            }
        }
    }

    /// Runs what must not fail.
    pub fn done(&mut self, commands: &str) -> String {
        let printed = self.run(commands);
        assert!(!printed.contains(FAILED), "a command failed: {commands}\n{printed}");
        printed
    }
}
