//! A command whose output is shown when it has ended, in one piece: two lanes share the terminal.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// A job that takes longer hangs, and is ended.
const SECONDS_MAX: &str = "1200";

/// What is run.
pub struct Job {
    pub name: String,
    program: OsString,
    words: Vec<OsString>,
    folder: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    is_idle: bool,
}

/// It failed; a test program has named these tests.
#[derive(Debug, PartialEq, Eq)]
pub struct Failed {
    pub tests: Vec<String>,
}

impl Job {
    pub fn new(name: &str, program: impl AsRef<OsStr>) -> Self {
        Self {
            name: name.to_owned(),
            program: program.as_ref().to_owned(),
            words: Vec::new(),
            folder: PathBuf::from("."),
            variables: Vec::new(),
            is_idle: false,
        }
    }

    pub fn words<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.words.extend(words.into_iter().map(OsString::from));
        self
    }

    pub fn within(mut self, folder: PathBuf) -> Self {
        self.folder = folder;
        self
    }

    pub fn variable(mut self, name: &'static str, value: &OsStr) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    /// Runs on what others leave of the cores (`sched(7)`, `SCHED_IDLE`).
    pub fn idle(mut self) -> Self {
        self.is_idle = true;
        self
    }

    /// Runs it and says how it went: how many tests passed, 0 where it has none.
    pub fn run(&self) -> Result<usize, Failed> {
        let began = Instant::now();
        let output = self.command().output();
        let seconds = began.elapsed().as_secs_f32();
        let (is_success, text) = match output {
            Ok(Output { status, stdout, stderr }) => {
                let text = [stdout, stderr].concat();
                let text = String::from_utf8_lossy(&text).into_owned();
                let is_success = status.success();
                (is_success, if is_success { text } else { format!("{text}\n{status}\n") })
            }
            Err(error) => (false, format!("{error}\n")),
        };
        let count = passed(&text);
        // One write: the other lane prints too.
        let line = if is_success {
            format!("== test: {}: {count} passed, {seconds:.1} s\n", self.name)
        } else {
            format!("{text}== test: {}: FAILED, {seconds:.1} s\n", self.name)
        };
        let _ = std::io::stdout().write_all(line.as_bytes());
        if is_success { Ok(count) } else { Err(Failed { tests: failures(&text) }) }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", SECONDS_MAX]);
        if self.is_idle {
            command.args(["chrt", "--idle", "0"]);
        }
        command.arg(&self.program).args(&self.words).current_dir(&self.folder);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }
}

/// Tests that passed, in all results of an output.
fn passed(output: &str) -> usize {
    let results = output.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    results.filter_map(|rest| rest.split(' ').next()?.parse::<usize>().ok()).sum()
}

/// The failed tests in the output of a test program, which lists them under its last `failures:`.
fn failures(output: &str) -> Vec<String> {
    let mut tests = Vec::new();
    let mut is_list = false;
    for line in output.lines() {
        if line == "failures:" {
            // The list with the tests' outputs comes first, the one of names only last.
            is_list = true;
            tests.clear();
        } else if is_list && let Some(test) = line.strip_prefix("    ") {
            tests.push(test.to_owned());
        } else if !line.is_empty() {
            is_list = false;
        }
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 70 tests
.....
away::every_change --- FAILED
..
failures:

---- away::every_change stdout ----

thread 'away::every_change' (2062) panicked at nf/rr/tests/it/away.rs:237:50:
10.1.0.1: [
    \"message=the session stands\",
]

failures:
    away::every_change
    sessions::one

test result: FAILED. 69 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
";

    #[test]
    fn failed_tests_are_found_by_name() {
        assert_eq!(failures(OUTPUT), ["away::every_change", "sessions::one"]);
        assert_eq!(failures("error: could not compile `tandem-rr` (lib)"), [""; 0]);
    }

    #[test]
    fn passed_tests_are_counted_over_all_results() {
        let results = "test result: ok. 25 passed; 0 failed\n\ntest result: ok. 3 passed; 0 failed";
        assert_eq!((passed(results), passed(OUTPUT)), (28, 0));
    }

    #[test]
    fn a_job_that_fails_says_so_and_one_that_passes_counts() {
        let echo = Job::new("echo", "echo").words(["test result: ok. 2 passed; 0 failed"]);
        assert_eq!(echo.idle().run(), Ok(2));
        assert_eq!(Job::new("false", "false").run(), Err(Failed { tests: Vec::new() }));
    }
}
