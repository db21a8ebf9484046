//! docs/start.md as a stranger follows it: each path in a network of its own, each file saved under
//! the name that the page says, each box of commands run in one shell, and what the page shows
//! below a box found in what its last line prints. Needs root.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const PAGE: &str = include_str!("../../../docs/start.md");
/// A box ends within this time.
const BOX_MAX: Duration = Duration::from_secs(90);
/// A person looks again for so long.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Before the status of a box, and before a command that failed in it.
const END: char = '\u{1}';
const FAILED: char = '\u{2}';

/// What is to be done.
enum Step<'a> {
    Save { name: &'a str, text: &'a str },
    Run { commands: &'a str, shows: Option<&'a str> },
}

/// The steps of the path with this heading.
fn steps(heading: &str) -> Vec<Step<'static>> {
    let path = PAGE.split("\n## ").find(|part| part.starts_with(heading));
    let path = path.unwrap_or_else(|| panic!("the page has no path `{heading}`"));
    let mut steps = Vec::new();
    let mut before = "";
    for (at, part) in path.split("```").enumerate() {
        if at % 2 == 0 {
            before = part;
            continue;
        }
        let (kind, text) = part.split_once('\n').unwrap();
        match kind {
            "sh" => steps.push(Step::Run { commands: text, shows: None }),
            "text" => match steps.last_mut() {
                Some(Step::Run { shows, .. }) => *shows = Some(text),
                _ => panic!("{heading}: shown without a command: {text}"),
            },
            _ => {
                let name = before.split('`').rev().nth(1).unwrap_or_default();
                assert!(name.ends_with(kind), "{heading}: where to save a {kind}: `{name}`");
                steps.push(Step::Save { name, text });
            }
        }
    }
    steps
}

/// A shell in namespaces of its own: network, mounts, processes.
struct Shell {
    child: Child,
    to: ChildStdin,
    lines: Receiver<String>,
}

impl Drop for Shell {
    fn drop(&mut self) {
        // All that the path has started ends with the namespace of its processes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Shell {
    fn new(folder: &Path) -> Self {
        let programs = folder.join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tandem"), programs.join("tandem")).unwrap();
        // Packages are there: `make setup` has installed them.
        let apt = "#!/bin/sh\nshift 3\nexec dpkg-query -W \"$@\"\n";
        std::fs::write(programs.join("apt-get"), apt).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(programs.join("apt-get"), mode).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["bash", "--noprofile", "--norc"]);
        command.current_dir(folder).env("PATH", path).env("NO_COLOR", "1");
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
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
        let mut shell = Self { child, to, lines };
        shell.run(&format!(
            "exec 2>&1; mkdir -p /run/netns; mount -t tmpfs none /run/netns; ip link set lo up\n\
             trap 'echo \"{FAILED}$BASH_COMMAND\"' ERR"
        ));
        shell
    }

    /// What a box prints.
    fn run(&mut self, commands: &str) -> String {
        write!(self.to, "{commands}\necho; echo '{END}'\n").unwrap();
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
}

/// Whether some line has these words in this order; commas and brackets around them do not count.
fn has(printed: &str, expected: &str) -> bool {
    let bare = |word: &'_ str| word.trim_matches([',', '[', ']', '(', ')']).to_owned();
    printed.lines().any(|line| {
        let mut words = line.split_whitespace();
        expected.split_whitespace().all(|wanted| words.any(|word| bare(word) == bare(wanted)))
    })
}

fn follow(heading: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Shell::new(folder.path());
    let mut looked_at = 0;
    for step in steps(heading) {
        let (commands, shows) = match step {
            Step::Save { name, text } => {
                std::fs::write(folder.path().join(name), text).unwrap();
                continue;
            }
            Step::Run { commands, shows } => (commands, shows),
        };
        let mut printed = shell.run(commands);
        let is_shown =
            |printed: &str| shows.is_none_or(|shows| shows.lines().all(|line| has(printed, line)));
        let until = Instant::now() + LOOK_AGAIN;
        while !is_shown(&printed) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(300));
            printed = shell.run(commands.trim_end().lines().last().unwrap());
        }
        assert!(
            is_shown(&printed),
            "{heading}: {commands}must show\n{}\n{printed}",
            shows.unwrap()
        );
        assert!(!printed.contains(FAILED), "{heading}: a command failed:\n{printed}");
        looked_at += usize::from(shows.is_some());
    }
    assert!(looked_at > 1, "{heading}: the page shows what must be seen");
}

#[test]
fn a_stranger_takes_the_path_of_the_session_border_controller() {
    follow("A session border controller");
}

#[test]
fn a_stranger_takes_the_path_of_the_route_reflector() {
    follow("A route reflector");
}

#[test]
fn a_stranger_takes_the_path_of_the_provider_edge() {
    follow("A provider edge");
}

#[test]
fn a_stranger_takes_the_path_of_the_signalling_gateway() {
    follow("A signalling gateway");
}

#[test]
fn every_path_of_the_page_is_taken_by_a_test() {
    let paths = PAGE.split("\n## ").skip(1).map(|path| path.lines().next().unwrap());
    let tests = include_str!("start.rs");
    for path in paths {
        assert!(tests.contains(&format!("follow(\"{path}\")")), "no test follows `{path}`");
    }
}
