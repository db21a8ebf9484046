//! The end-to-end run: every scene of the demo by itself, SIPp at rate through the SSC, Chromium on
//! the console.

use crate::site::Site;
use crate::{installed, live_change, package};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const CALLS: u32 = 20;
const STEP_MAX: Duration = Duration::from_secs(240);

/// Runs every step; the first failure ends it.
pub fn run(binary: &Path) -> Result<()> {
    let binary = binary.canonicalize().with_context(|| format!("{}", binary.display()))?;
    for scene in ["sbc", "rr", "pe", "ss7", "sbc"] {
        let name = format!("tandem demo {scene}, without a terminal");
        step(&name, || command(&binary, &["demo", scene]))?;
    }
    // A rate that the program of the tests reaches beside whatever else the machine does; the
    // experiment itself has 1,000 calls/s too.
    step("SIPp through the SSC at 200 calls/s with 2 % lost, every call in the SAS", || {
        command(&binary, &["lab", "run", "sipp", "--quick", "--scenario", "uac/uas, 2 % lost"])
    })?;
    step("limits, rules and realms change under calls that stand", || live_change::run(&binary))?;
    step("the console in Chromium, against a live site", || console(&binary))?;
    packages(&binary)
}

/// The packages of this binary, and of the static one where `cargo xtask package` left it.
fn packages(binary: &Path) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let fixed = binary.with_file_name(package::STATIC_NAME);
    let mut words = vec![Path::new("--binary"), binary, Path::new("--output"), folder.path()];
    if fixed.exists() {
        words.extend([Path::new("--static-binary"), fixed.as_path()]);
    } else {
        println!("   -- no image: `make package` builds the static binary, and runs its image");
    }
    let words: Option<Vec<&str>> = words.into_iter().map(Path::to_str).collect();
    package::run(&words.context("a path is no text")?)?;
    installed::run(folder.path())
}

/// Says what is done, and how long it took.
pub fn step(name: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("   -- {name}");
    let started = Instant::now();
    body().with_context(|| name.to_owned())?;
    println!("      ok, {:.1} s", started.elapsed().as_secs_f32());
    Ok(())
}

/// Runs a command without a terminal; its output is shown when it fails.
pub fn command(program: &Path, words: &[&str]) -> Result<()> {
    finish(Command::new(program).args(words))
}

/// Runs a command to its end; its output is shown when it fails.
pub fn finish(command: &mut Command) -> Result<()> {
    static STEPS: AtomicU32 = AtomicU32::new(0);
    let number = STEPS.fetch_add(1, Ordering::Relaxed);
    let log = std::env::temp_dir().join(format!("tandem-step-{}-{number}", std::process::id()));
    let file = std::fs::File::create(&log)?;
    let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
    let ended = await_end(child);
    let output = std::fs::read_to_string(&log).unwrap_or_default();
    std::fs::remove_file(&log)?;
    let status = ended.with_context(|| output.clone())?;
    ensure!(status.success(), "ended with {status}:\n{output}");
    Ok(())
}

fn await_end(mut child: Child) -> Result<std::process::ExitStatus> {
    let until = Instant::now() + STEP_MAX;
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    anyhow::bail!("not finished after {STEP_MAX:?}, ended")
}

/// SIPp where the site sends calls of the core side.
pub fn answerer(site: &Site) -> Result<Child> {
    let (host, port) = site.core.split_once(':').context("an address has a port")?;
    Command::new("sipp")
        .args(["-sn", "uas", "-i", host, "-p", port, "-nostdin"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("sipp (Debian: sip-tester)")
}

fn console(binary: &Path) -> Result<()> {
    let site = Site::start(binary)?;
    let mut answerer = answerer(&site)?;
    let calls = CALLS.to_string();
    let placed = finish(Command::new("sipp").args([
        "-sn",
        "uac",
        "-i",
        "127.0.0.1",
        "-s",
        "15550100",
        "-r",
        "10",
        "-d",
        "100",
        "-m",
        &calls,
        "-nostdin",
        "-timeout",
        "60s",
        "-timeout_error",
        &site.access,
    ]));
    let shown = placed.and_then(|()| {
        finish(
            Command::new("npm")
                .args(["run", "--silent", "e2e:site"])
                .current_dir("console")
                .env("TANDEM_URL", &site.url)
                .env("TANDEM_TOKEN", site.token()?),
        )
    });
    answerer.kill()?;
    answerer.wait()?;
    shown?;
    site.stop()
}
