//! usrsctp's `tsctp`, a release build: Debian's own is a debug build and ten times too slow.
//!
//! The first use builds it from Debian's source package with apt-get, cmake and a C compiler, and
//! keeps it with the user's caches; `TANDEM_TSCTP` names another one.

use anyhow::Context;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "deb-src http://deb.debian.org/debian bookworm main\n";
const PACKAGE: &str = "libusrsctp";
/// Octets of a failed command's words that are quoted.
const QUOTE_MAX: usize = 1_000;

/// The program, built if it is not there yet.
///
/// # Errors
/// When it cannot be built, with the last words of the step that failed.
pub fn tsctp() -> anyhow::Result<PathBuf> {
    if let Some(named) = env::var_os("TANDEM_TSCTP") {
        let named = PathBuf::from(named);
        anyhow::ensure!(named.exists(), "TANDEM_TSCTP: {} is not there", named.display());
        return Ok(named);
    }
    let kept = cache()?.join("tandem").join(PACKAGE);
    let program = kept.join("tsctp");
    if !program.exists() {
        build(&kept).context("usrsctp cannot be built; TANDEM_TSCTP may name a tsctp")?;
    }
    Ok(program)
}

fn cache() -> anyhow::Result<PathBuf> {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home).context("there is no HOME")
}

/// Builds it in a directory of its own and moves it to its place when it is whole.
fn build(kept: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(kept)?;
    let work = tempfile::Builder::new().prefix("build-").tempdir_in(kept)?;
    let work = work.path();
    for directory in ["lists/partial", "cache/archives/partial", "source", "build"] {
        fs::create_dir_all(work.join(directory))?;
    }
    fs::write(work.join("sources.list"), SOURCES)?;
    let at = |part: &str| work.join(part).display().to_string();
    let options = [
        format!("Dir::Etc::sourcelist={}", at("sources.list")),
        "Dir::Etc::sourceparts=/dev/null".into(),
        format!("Dir::State::lists={}", at("lists")),
        format!("Dir::Cache={}", at("cache")),
        "APT::Sandbox::User=root".into(),
    ];
    let options: Vec<&str> = options.iter().flat_map(|option| ["-o", option.as_str()]).collect();
    let source = work.join("source");
    run(work, "apt-get", &[&options[..], &["update"]].concat())?;
    run(&source, "apt-get", &[&options[..], &["source", PACKAGE]].concat())?;
    let unpacked = fs::read_dir(&source)?.flatten().map(|entry| entry.path());
    let unpacked = unpacked.into_iter().find(|path| path.is_dir()).context("nothing unpacked")?;
    let tree = unpacked.display().to_string();
    let made = work.join("build");
    let release = ["-DCMAKE_BUILD_TYPE=Release", "-Dsctp_debug=0", "-Dsctp_werror=0"];
    run(&made, "cmake", &[&release[..], &[tree.as_str()]].concat())?;
    run(&made, "make", &["tsctp"])?;
    fs::rename(made.join("programs/tsctp"), kept.join("tsctp"))?;
    Ok(())
}

fn run(directory: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(arguments).current_dir(directory).output();
    let output = output.with_context(|| format!("{program} cannot be started"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = [output.stdout, output.stderr].concat();
    let end = String::from_utf8_lossy(&words[words.len().saturating_sub(QUOTE_MAX)..]).into_owned();
    anyhow::bail!("{program} {}: {end}", arguments.last().unwrap_or(&""))
}
