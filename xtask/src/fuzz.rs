//! `cargo xtask fuzz [--seconds N] [--keep] [TARGET…]`: every target of `lab/fuzz` under libFuzzer,
//! built with the stable compiler. New inputs are collected below `target/`; `--keep` reduces them
//! to those that reach code which no other reaches, and puts the smallest into `fuzz/corpus`. What
//! breaks a target is kept in `fuzz/findings`, where every `make test` runs it again.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Octets of an input: what an UDP datagram or a BGP message can have.
const INPUT_OCTETS_MAX: usize = 65_535;
/// Inputs of a target that are kept.
const KEPT_MAX: usize = 48;
/// Octets of an input that is kept.
const KEPT_OCTETS_MAX: u64 = 4_096;
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// Coverage for libFuzzer, and the pass that `.cargo/config.toml` switches off.
const FLAGS: &str = "--cfg fuzzing -Zmir-enable-passes=-SimplifyComparisonIntegral \
    -Cpasses=sancov-module -Ccodegen-units=1 \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

struct Options {
    seconds: u64,
    keep: bool,
    targets: Vec<String>,
}

/// What a run of one target came to.
#[derive(Default)]
struct Figures {
    executions: u64,
    /// Edges that the corpus reached, and that were reached in the end.
    covered: (u64, u64),
    found: Vec<PathBuf>,
}

/// Runs the targets and prints a row for each.
pub fn run(words: &[&str]) -> Result<()> {
    let options = read(words)?;
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands in the root")?;
    println!("== fuzz: building the targets with coverage");
    let binary = build(root)?;
    println!("{:<22} {:>12} {:>9} {:>9}  found", "target", "executions", "edges", "new");
    let mut found = Vec::new();
    for target in names(root, &options)? {
        let mut figures = fuzz(root, &binary, &target, options.seconds)?;
        if options.keep {
            keep(root, &binary, &target)?;
        }
        let (before, after) = figures.covered;
        println!(
            "{target:<22} {:>12} {after:>9} {:>9}  {}",
            figures.executions,
            after.saturating_sub(before),
            figures.found.len()
        );
        found.append(&mut figures.found);
    }
    ensure!(found.is_empty(), "found, kept in fuzz/findings: {found:#?}");
    Ok(())
}

fn read(words: &[&str]) -> Result<Options> {
    let mut options = Options { seconds: 60, keep: false, targets: Vec::new() };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--keep" => options.keep = true,
            "--seconds" => {
                let number = words.next().context("--seconds wants a number")?;
                options.seconds = number.parse().context("--seconds wants a number")?;
            }
            _ if word.starts_with('-') => bail!("usage: cargo xtask fuzz [--seconds N] [--keep]"),
            name => options.targets.push(name.to_owned()),
        }
    }
    Ok(options)
}

fn build(root: &Path) -> Result<PathBuf> {
    let folder = root.join("target/fuzz");
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--target", TRIPLE, "--target-dir"])
        .arg(&folder)
        .current_dir(root.join("fuzz"))
        .env("RUSTFLAGS", FLAGS)
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    ensure!(status.success(), "the targets do not build");
    Ok(folder.join(TRIPLE).join("debug/fuzzer"))
}

/// The names in the table of `lab/fuzz`, in its order.
fn names(root: &Path, options: &Options) -> Result<Vec<String>> {
    let table = fs::read_to_string(root.join("lab/fuzz/src/lib.rs"))?;
    let lines = table.lines().filter_map(|line| line.trim().strip_prefix("target(\""));
    let all = lines.filter_map(|rest| rest.split_once('"')).map(|(name, _)| name.to_owned());
    let all: Vec<String> = all.collect();
    if let Some(unknown) = options.targets.iter().find(|name| !all.contains(name)) {
        bail!("there is no target {unknown}; there are {}", all.join(", "));
    }
    let is_wanted = |name: &String| options.targets.is_empty() || options.targets.contains(name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

fn collected(root: &Path, target: &str) -> PathBuf {
    root.join("target/fuzz/corpus").join(target)
}

fn fuzz(root: &Path, binary: &Path, target: &str, seconds: u64) -> Result<Figures> {
    let kept = root.join("fuzz/corpus").join(target);
    let findings = root.join("fuzz/findings").join(target);
    let collected = collected(root, target);
    let before = files(&findings);
    for folder in [&kept, &collected, &findings] {
        fs::create_dir_all(folder)?;
    }
    let output = Command::new(binary)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_OCTETS_MAX}"))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .args(["-print_final_stats=1", "-timeout=20", "-rss_limit_mb=4096"])
        .args([&collected, &kept, &findings])
        .env("TANDEM_FUZZ_TARGET", target)
        .stdout(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let found: Vec<PathBuf> =
        files(&findings).into_iter().filter(|path| !before.contains(path)).collect();
    if !output.status.success() {
        let tail: Vec<&str> = text.lines().rev().take(30).collect();
        eprintln!("{target}:\n{}", tail.into_iter().rev().collect::<Vec<_>>().join("\n"));
        ensure!(!found.is_empty(), "{target} ended with {} and left nothing", output.status);
    }
    let _ = fs::remove_dir(&findings); // goes only where it is empty
    Ok(Figures { found, ..figures(&text) })
}

/// What libFuzzer says in the end: `#1234 INITED cov: 77 …`, `stat::number_of_executed_units: 5`.
fn figures(text: &str) -> Figures {
    let number = |line: &str, word: &str| -> Option<u64> {
        line.split_once(word)?.1.split_whitespace().next()?.parse().ok()
    };
    let mut figures = Figures::default();
    for line in text.lines() {
        if let Some(count) = number(line, "stat::number_of_executed_units:") {
            figures.executions = count;
        }
        let Some(edges) = number(line, " cov: ") else { continue };
        if line.contains("INITED") {
            figures.covered.0 = edges;
        }
        figures.covered.1 = edges;
    }
    figures
}

/// The smallest of those inputs that together reach what all of them reach.
fn keep(root: &Path, binary: &Path, target: &str) -> Result<()> {
    let kept = root.join("fuzz/corpus").join(target);
    let merged = root.join("target/fuzz/merged").join(target);
    let _ = fs::remove_dir_all(&merged);
    fs::create_dir_all(&merged)?;
    let status = Command::new(binary)
        .args(["-merge=1", &format!("-max_len={INPUT_OCTETS_MAX}")])
        .args([&merged, &kept, &collected(root, target)])
        .env("TANDEM_FUZZ_TARGET", target)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "{target}: its inputs cannot be merged");
    let size = |path: &PathBuf| fs::metadata(path).map_or(u64::MAX, |data| data.len());
    let mut chosen: Vec<PathBuf> = files(&merged);
    chosen.retain(|path| (1..=KEPT_OCTETS_MAX).contains(&size(path)));
    chosen.sort_by_key(size);
    // Small and large ones alike: each n-th in the order of their sizes.
    let step = chosen.len().div_ceil(KEPT_MAX).max(1);
    fs::remove_dir_all(&kept)?;
    fs::create_dir_all(&kept)?;
    for path in chosen.iter().step_by(step) {
        let name = path.file_name().context("a file has a name")?;
        fs::copy(path, kept.join(name))?;
    }
    Ok(())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(list) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = list.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libfuzzer_prints_is_read() {
        let text = "#3\tINITED cov: 77 ft: 78 corp: 1/1b\n\
            #900\tNEW    cov: 91 ft: 120 corp: 9/30b\n\
            stat::number_of_executed_units: 1204\n";
        let figures = figures(text);
        assert_eq!((figures.executions, figures.covered), (1_204, (77, 91)));
    }
}
