//! `cargo xtask package`: a Debian package and an OCI image of Tandem, the same to the octet from
//! the same binary, wherever and whenever they are made.
//!
//! ```text
//! binary ──→ elf: line tables apart ──→ tree (files, owners, modes) ─┬→ debian: ar of tar.xz
//! binary man, binary completion, packaging/, Cargo.lock's licences ──┘
//! static binary ──→ elf ──→ tree ──→ image: layer, configuration, manifest, index
//! ```

mod date;
mod debian;
mod documents;
mod elf;
mod image;
mod licences;
mod tree;

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "usage: cargo xtask package [--binary PATH] [--static-binary PATH] \
    [--output FOLDER]";
/// Where the packages go, below the root.
const OUTPUT: &str = "target/package";
/// The name of the static binary beside the other.
pub const STATIC_NAME: &str = "tandem-static";
/// The image has none of the programs that experiments compare with: it does without these.
const WITHOUT_EXPERIMENTS: &str = "--no-default-features";
/// What makes a binary that needs no library of the system; of the last step alone, so that
/// both binaries are made of the same crates.
const STATIC: &[&str] = &["-Ctarget-feature=+crt-static"];
/// What makes it smaller by some megabytes, where LLD links (rustc's own choice on x86-64):
/// relocations are packed, and of functions with the same code one is kept.
const SMALL: &[&str] = if cfg!(target_arch = "x86_64") {
    &["-Clink-arg=-Wl,-z,pack-relative-relocs", "-Clink-arg=-Wl,--icf=all"]
} else {
    &[]
};

/// What is said on the command line.
#[derive(Default)]
struct Options {
    /// The binary of the Debian package.
    binary: Option<PathBuf>,
    /// The binary of the image, which finds no library there.
    static_binary: Option<PathBuf>,
    output: Option<PathBuf>,
}

/// What all packages have in common.
struct Release {
    /// The root of the repository.
    root: PathBuf,
    /// That of the workspace.
    version: String,
    /// Seconds since 1970 that stand for the time of everything.
    epoch: u64,
}

/// Makes the packages of the binaries that are given, or of all that it builds where none is.
pub fn run(words: &[&str]) -> Result<()> {
    let mut options = read(words)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.context("xtask stands in the root")?.to_owned();
    if options.binary.is_none() && options.static_binary.is_none() {
        ensure!(
            root.join("console/dist/index.html").exists(),
            "the console is not built: `make package` builds it first"
        );
        let (binary, static_binary) = build(&root)?;
        (options.binary, options.static_binary) = (Some(binary), Some(static_binary));
    }
    let output = options.output.unwrap_or_else(|| root.join(OUTPUT));
    fs::create_dir_all(&output).with_context(|| format!("{}", output.display()))?;
    let release =
        Release { version: env!("CARGO_PKG_VERSION").to_owned(), epoch: epoch(&root)?, root };
    if let Some(binary) = options.binary {
        report(&debian::write(&release, &binary, &output)?)?;
    }
    if let Some(binary) = options.static_binary {
        report(&image::write(&release, &binary, &output)?)?;
    }
    Ok(())
}

fn read(words: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let place = match word {
            "--binary" => &mut options.binary,
            "--static-binary" => &mut options.static_binary,
            "--output" => &mut options.output,
            _ => bail!(USAGE),
        };
        *place = Some(PathBuf::from(words.next().context(USAGE)?));
    }
    Ok(options)
}

/// Builds both binaries. Cargo puts them in the same place: the static one is moved away first.
fn build(root: &Path) -> Result<(PathBuf, PathBuf)> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let made = root.join(folder).join("release/tandem");
    let kept = made.with_file_name(STATIC_NAME);
    let cargo = |words: &[&str]| -> Result<()> {
        let status = Command::new("cargo").args(words).current_dir(root).status()?;
        ensure!(status.success(), "tandem does not build");
        Ok(())
    };
    let words = ["--release", "--locked", "--quiet", "--package", "tandem", "--bin", "tandem"];
    println!("== package: building tandem (release, static)");
    cargo(&[&["rustc"][..], &words, &[WITHOUT_EXPERIMENTS, "--"], STATIC, SMALL].concat())?;
    fs::copy(&made, &kept)?;
    println!("== package: building tandem (release)");
    cargo(&[&["build"][..], &words].concat())?;
    Ok((made, kept))
}

/// The time of everything in a package: `SOURCE_DATE_EPOCH`
/// (reproducible-builds.org/specs/source-date-epoch), else that of the last commit.
fn epoch(root: &Path) -> Result<u64> {
    if let Ok(said) = std::env::var("SOURCE_DATE_EPOCH") {
        return said.parse().context("SOURCE_DATE_EPOCH is a number of seconds");
    }
    let words = ["log", "-1", "--format=%ct"];
    let said = Command::new("git").args(words).current_dir(root).output();
    let said = said.ok().filter(|said| said.status.success());
    let said = said.context("there is no last commit: give SOURCE_DATE_EPOCH")?;
    Ok(String::from_utf8(said.stdout)?.trim().parse()?)
}

fn report(files: &[PathBuf]) -> Result<()> {
    for file in files {
        println!("{:>12} octets  {}", fs::metadata(file)?.len(), file.display());
    }
    Ok(())
}

/// Runs a program to its end; what it said.
fn said(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} does not start"))?;
    let why = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} ended with {}:\n{why}", output.status);
    Ok(output.stdout)
}
