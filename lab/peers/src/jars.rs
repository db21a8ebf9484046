//! Jars of peers in Java, fetched with Maven the first time and kept with the user's caches.

use anyhow::Context;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Octets of a failed command's words that are quoted.
const QUOTE_MAX: usize = 1_000;

/// The folder with the jars of that name, fetched as its `pom.xml` says if they are not there yet.
pub(crate) fn jars(name: &str, pom: &str) -> anyhow::Result<PathBuf> {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    let all = cache.context("there is no HOME")?.join("tandem/java");
    let kept = all.join(name);
    if !kept.exists() {
        fs::create_dir_all(&all)?;
        let work = tempfile::Builder::new().prefix("fetch-").tempdir_in(&all)?;
        fs::write(work.path().join("pom.xml"), pom)?;
        let to = format!("-DoutputDirectory={}", work.path().join("jars").display());
        let words = ["--batch-mode", "--quiet", "dependency:copy-dependencies", &to];
        run(work.path(), "mvn", &words).with_context(|| format!("the jars of {name}"))?;
        // Another process may have been sooner.
        let moved = fs::rename(work.path().join("jars"), &kept);
        anyhow::ensure!(moved.is_ok() || kept.exists(), "{} cannot be made", kept.display());
    }
    Ok(kept)
}

/// Runs a program to its end.
pub(crate) fn run(folder: &Path, program: &str, words: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(program).args(words).current_dir(folder).output();
    let output = output.with_context(|| format!("{program} (Debian: maven, openjdk-17-jdk)"))?;
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    let from = said.len().saturating_sub(QUOTE_MAX);
    let end = said.get(from..).unwrap_or(&said);
    anyhow::ensure!(output.status.success(), "{program} ended with {}: {end}", output.status);
    Ok(())
}
