//! `cargo xtask test`: set-up, lints, every test of the workspace and the end-to-end run, in two
//! lanes.
//!
//! | lane | what stands in it | how it runs |
//! |---|---|---|
//! | first | set-up, the console's tests, test programs of floors with IO, end to end | in turn |
//! | idle | build, clippy, examples of the docs, programs of floors without IO | `SCHED_IDLE` |
//!
//! The first lane mostly waits; the idle one has what it leaves of the cores. What that runs takes
//! no clock, so that it does not matter how long it waits. A test program of the first lane runs as
//! soon as it is built, beside the build of the others. Tests of the first lane drive real
//! programs on real sockets, and a machine that is busy elsewhere for a second can end one: a few
//! failures are run once more, each by itself. What fails again fails the command, what passes is
//! named at the end, because a test that depends on its neighbours is to be mended.

mod job;
mod programs;

use crate::end_to_end;
use anyhow::{Result, ensure};
use job::{Failed, Job};
use programs::{Lane, Program};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

/// Failures that are run again. More of them are no accident.
const AGAIN_MAX: usize = 4;

/// What has failed, of both lanes.
#[derive(Default)]
struct Failures {
    jobs: Vec<String>,
    tests: Vec<(Program, String)>,
}

/// What both lanes look at.
struct Run<'a> {
    root: &'a Path,
    /// Parts of the names of what is wanted; none wants everything.
    wanted: &'a [&'a str],
    failures: Mutex<Failures>,
    /// The program that people run, when all is built; nothing where something did not compile.
    tandem: OnceLock<Option<PathBuf>>,
}

/// Runs all, and those tests that failed again. `wanted`: only test programs whose names, as cargo
/// says them (`-p tandem-rr --test it`), have one of these words.
///
/// # Errors
/// When anything does not build, a lint speaks, or a test fails twice.
pub fn run(wanted: &[&str]) -> Result<()> {
    let began = Instant::now();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
    let (failures, tandem) = (Mutex::default(), OnceLock::new());
    let run = Run { root, wanted, failures, tandem };
    let (send, built) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| run.idle_lane(send));
        run.first_lane(&built);
    });
    let Failures { jobs, tests } = run.failures.into_inner().expect("no lane panics");
    let verdict = again(&tests);
    println!("== test: {} s in all", began.elapsed().as_secs());
    ensure!(jobs.is_empty(), "failed: {}", jobs.join(", "));
    verdict
}

impl Run<'_> {
    fn is_all(&self) -> bool {
        self.wanted.is_empty()
    }

    fn wants(&self, program: &Program) -> bool {
        self.is_all() || self.wanted.iter().any(|word| program.name.contains(word))
    }

    /// What waits for real programs. `built` ends when all programs are there.
    fn first_lane(&self, built: &Receiver<Program>) {
        if self.is_all() {
            println!("== test: set-up of the peers, beside the build");
            // Beside the build, which needs none of these packages: they take minutes to arrive.
            let words = ["--no-print-directory", "setup", "setup-python"];
            if !self.job(&Job::new("set-up", "make").words(words).within(self.root.to_owned())) {
                return;
            }
            // Not `npm test`: it builds the console once more, and cargo all that it is part of.
            let console = Job::new("console", "npm").words(["run", "--silent", "verify"]);
            self.job(&console.within(self.root.join("console")));
        }
        for program in built.iter().take_while(|_| !matches!(self.tandem.get(), Some(None))) {
            self.program(&program);
        }
        if let (true, Some(Some(tandem))) = (self.is_all(), self.tandem.get()) {
            println!("== test: end to end, with SIPp, Chromium and the program of the tests");
            if let Err(error) = end_to_end::run(tandem) {
                println!("== test: end to end: FAILED: {error:#}");
                self.failed("end to end");
            }
        }
    }

    /// What takes no clock: it builds, then looks at what was built.
    fn idle_lane(&self, first: Sender<Program>) {
        let began = Instant::now();
        let (mut count, mut idle) = (0, Vec::new());
        println!("== test: building the test programs");
        let tandem = programs::build(|program| {
            count += 1;
            match program.lane {
                _ if !self.wants(&program) => {}
                Lane::Idle => idle.push(program),
                // The first lane ends after this one.
                Lane::First => first.send(program).expect("the first lane takes it"),
            }
        });
        let tandem = tandem.inspect_err(|error| {
            println!("== test: the build: FAILED: {error:#}");
            self.failed("the build");
        });
        let is_built = tandem.is_ok();
        self.tandem.set(tandem.ok()).expect("it is built once");
        drop(first);
        if is_built {
            println!("== test: {count} programs, built in {} s", began.elapsed().as_secs());
            let jobs = idle_jobs(self.root).into_iter().filter(|_| self.is_all());
            for job in jobs {
                self.job(&job.idle());
            }
            idle.iter().for_each(|program| self.program(program));
        }
    }

    fn failed(&self, name: &str) {
        self.failures.lock().expect("no lane panics").jobs.push(name.to_owned());
    }

    /// Runs it and says whether all went well.
    fn job(&self, job: &Job) -> bool {
        let is_well = job.run().is_ok();
        if !is_well {
            self.failed(&job.name);
        }
        is_well
    }

    fn program(&self, program: &Program) {
        let job = program.job(&[]);
        let job = if program.lane == Lane::Idle { job.idle() } else { job };
        let Err(Failed { tests }) = job.run() else { return };
        // A program that ended without the name of a test was killed.
        if tests.is_empty() {
            self.failed(&program.name);
        }
        let mut failures = self.failures.lock().expect("no lane panics");
        failures.tests.extend(tests.into_iter().map(|test| (program.clone(), test)));
    }
}

/// What is no test program, and can wait.
fn idle_jobs(root: &Path) -> [Job; 2] {
    let cargo = |name: &str| Job::new(name, programs::cargo()).within(root.to_owned());
    [
        cargo("clippy").words("clippy --quiet --workspace --all-targets -- -D warnings".split(' ')),
        cargo("examples of the documentation").words("test --quiet --workspace --doc".split(' ')),
    ]
}

/// Runs failed tests once more, each by itself.
fn again(tests: &[(Program, String)]) -> Result<()> {
    ensure!(tests.len() <= AGAIN_MAX, "{} tests failed", tests.len());
    for (program, test) in tests {
        println!("== test: {test} failed; once more, by itself");
        let passed = program.job(&["--exact", test]).run();
        ensure!(passed.is_ok_and(|count| count == 1), "{test} ({}) failed twice", program.name);
    }
    for (program, test) in tests {
        println!("== test: UNSTABLE, passed only by itself: {test} ({})", program.name);
    }
    Ok(())
}
