//! `cargo xtask test`: every test of the workspace. Many of them drive real programs on real
//! sockets, and a machine that is busy elsewhere for a second can end one. A few failures are
//! therefore run once more, each by itself: what fails again fails the command, what passes is
//! named at the end, because a test that depends on its neighbours is to be mended.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Failures that are run again. More of them are no accident.
const AGAIN_MAX: usize = 4;

/// The failed tests of one test program.
#[derive(Debug, PartialEq)]
struct Failed {
    /// The words that select the program, as cargo prints them: `-p tandem-rr --test it`.
    program: String,
    tests: Vec<String>,
}

/// Runs all tests, and those that failed again.
pub fn run() -> Result<()> {
    let (output, passed) = cargo(&["--workspace", "--no-fail-fast"])?;
    if passed {
        return Ok(());
    }
    let failed = failures(&output);
    let count = failed.iter().map(|program| program.tests.len()).sum::<usize>();
    // A program that ended without the name of a test was killed, or did not compile.
    let is_named = !failed.is_empty() && failed.iter().all(|program| !program.tests.is_empty());
    ensure!(is_named, "the tests failed");
    ensure!(count <= AGAIN_MAX, "{count} tests failed");
    for Failed { program, tests } in &failed {
        for test in tests {
            println!("== test: {test} failed; once more, by itself");
            // Of the whole workspace: one package alone has other features, and builds anew.
            let target = program.split_whitespace().skip_while(|word| !word.starts_with("--"));
            let words = ["--workspace"].into_iter().chain(target);
            let words = words.chain(["--", "--exact", test.as_str()]);
            let (output, passed) = cargo(&words.collect::<Vec<_>>())?;
            ensure!(passed, "{test} ({program}) failed twice");
            ensure!(output.contains("1 passed"), "{test} ({program}) was not found again");
        }
    }
    for Failed { program, tests } in &failed {
        for test in tests {
            println!("== test: UNSTABLE, passed only by itself: {test} ({program})");
        }
    }
    Ok(())
}

/// `cargo test` with these words: what it printed, which is shown as it comes, and whether it
/// passed. Both outputs share a pipe, so that cargo's lines keep their place among the tests'.
fn cargo(words: &[&str]) -> Result<(String, bool)> {
    let (reader, writer) = std::io::pipe()?;
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(["test", "--quiet"]).args(words).stdin(Stdio::null());
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command holds the writing end: the reader would wait for it forever.
    drop(command);
    let mut output = String::new();
    let mut stdout = std::io::stdout().lock();
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).context("the tests' output")? > 0 {
        stdout.write_all(&line)?;
        output.push_str(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let status = child.wait()?;
    if status.code().is_none() {
        bail!("cargo test ended with {status}");
    }
    Ok((output, status.success()))
}

/// The failed tests in an output of `cargo test --no-fail-fast`: a program lists its own under
/// `failures:`, and cargo then says how to select it.
fn failures(output: &str) -> Vec<Failed> {
    const SELECT: &str = "error: test failed, to rerun pass `";
    const SELECT_DOCS: &str = "error: doctest failed, to rerun pass `";
    let mut failed = Vec::new();
    let mut tests = Vec::new();
    let mut is_list = false;
    for line in output.lines() {
        let select = line.strip_prefix(SELECT).or_else(|| line.strip_prefix(SELECT_DOCS));
        if let Some(program) = select.and_then(|rest| rest.strip_suffix('`')) {
            failed.push(Failed { program: program.to_owned(), tests: std::mem::take(&mut tests) });
            is_list = false;
        } else if line == "failures:" {
            // The list with the tests' outputs comes first, the one of names only last.
            is_list = true;
            tests.clear();
        } else if is_list && let Some(test) = line.strip_prefix("    ") {
            tests.push(test.to_owned());
        } else if !line.is_empty() {
            is_list = false;
        }
    }
    failed
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

error: test failed, to rerun pass `-p tandem-rr --test it`

running 25 tests
.........................
test result: ok. 25 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out

error: test failed, to rerun pass `-p tandem-xtask --lib`

Caused by:
  process didn't exit successfully (signal: 9, SIGKILL: kill)
error: 2 targets failed:
    `-p tandem-rr --test it`
    `-p tandem-xtask --lib`
";

    #[test]
    fn failed_tests_are_found_with_their_programs() {
        let rr = Failed {
            program: "-p tandem-rr --test it".into(),
            tests: vec!["away::every_change".into(), "sessions::one".into()],
        };
        let killed = Failed { program: "-p tandem-xtask --lib".into(), tests: Vec::new() };
        assert_eq!(failures(OUTPUT), [rr, killed]);
        assert_eq!(failures("error: could not compile `tandem-rr` (lib)"), []);
    }
}
