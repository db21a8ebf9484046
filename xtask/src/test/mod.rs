//! `cargo xtask test`: lints and every test of the workspace, in two lanes.
//!
//! | lane | what stands in it | how it runs |
//! |---|---|---|
//! | first | the console's tests; test programs of the floors with IO | one after another |
//! | idle | clippy, examples of the docs, test programs of the floors without IO | `SCHED_IDLE` |
//!
//! The first lane mostly waits; the idle one has what it leaves of the cores. What that runs takes
//! no clock, so that it does not matter how long it waits. Tests of the first lane drive real
//! programs on real sockets, and a machine that is busy elsewhere for a second can end one: a few
//! failures are run once more, each by itself. What fails again fails the command, what passes is
//! named at the end, because a test that depends on its neighbours is to be mended.

mod job;
mod programs;

use anyhow::{Result, ensure};
use job::{Failed, Job};
use programs::{Lane, Program};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// Failures that are run again. More of them are no accident.
const AGAIN_MAX: usize = 4;

/// What has failed, of both lanes.
#[derive(Default)]
struct Failures {
    jobs: Vec<String>,
    tests: Vec<(Program, String)>,
}

/// Runs all, and those tests that failed again. `wanted`: only test programs whose names, as cargo
/// says them (`-p tandem-rr --test it`), have one of these words.
///
/// # Errors
/// When anything does not build, a lint speaks, or a test fails twice.
pub fn run(wanted: &[&str]) -> Result<()> {
    let began = Instant::now();
    println!("== test: building the test programs");
    let mut programs = programs::build()?;
    println!("== test: {} programs, built in {} s", programs.len(), began.elapsed().as_secs());
    programs.retain(|it| wanted.is_empty() || wanted.iter().any(|word| it.name.contains(word)));
    let is_all = wanted.is_empty();
    let (first, idle): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| program.lane == Lane::First);
    let failures = Mutex::new(Failures::default());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
    // Not `npm test`: it builds the console once more, and cargo then all that it is built into.
    let console = ["run", "--silent", "verify"];
    let console = Job::new("console", "npm").words(console).within(root.join("console"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let jobs = idle_jobs(root).into_iter().filter(|_| is_all);
            jobs.for_each(|job| run_job(&job.idle(), &failures));
            idle.iter().for_each(|program| run_program(program, &failures));
        });
        if is_all {
            run_job(&console, &failures);
        }
        first.iter().for_each(|program| run_program(program, &failures));
    });
    let Failures { jobs, tests } = failures.into_inner().expect("no lane panics");
    let verdict = again(&tests);
    println!("== test: {} s in all", began.elapsed().as_secs());
    ensure!(jobs.is_empty(), "failed: {}", jobs.join(", "));
    verdict
}

/// What is no test program, and can wait.
fn idle_jobs(root: &Path) -> [Job; 3] {
    let cargo = |name: &str| Job::new(name, programs::cargo()).within(root.to_owned());
    [
        cargo("clippy").words("clippy --quiet --workspace --all-targets -- -D warnings".split(' ')),
        cargo("examples of the documentation").words("test --quiet --workspace --doc".split(' ')),
        // What the compiler of this machine would miscompile (kit/machine/tests/miscompile.rs).
        cargo("release mode").words("test --quiet --release --package tandem-machine".split(' ')),
    ]
}

fn run_job(job: &Job, failures: &Mutex<Failures>) {
    if job.run().is_err() {
        failures.lock().expect("no lane panics").jobs.push(job.name.clone());
    }
}

fn run_program(program: &Program, failures: &Mutex<Failures>) {
    let job = program.job(&[]);
    let job = if program.lane == Lane::Idle { job.idle() } else { job };
    let Err(Failed { tests }) = job.run() else { return };
    let mut failures = failures.lock().expect("no lane panics");
    // A program that ended without the name of a test was killed.
    if tests.is_empty() {
        failures.jobs.push(program.name.clone());
    }
    failures.tests.extend(tests.into_iter().map(|test| (program.clone(), test)));
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
