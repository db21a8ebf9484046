//! The eBPF object that the repository has: made by `cargo xtask bpf` (clang and llvm-strip), which
//! writes beside it what it was made of. Nobody needs clang to build Tandem.

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "node/driver/bpf";
const SOURCE: &str = "interface.c";
const OBJECT: &str = "interface.o";
/// As sha256sum(1) writes it, with the compiler as a comment.
const SUMS: &str = "interface.sum";

fn folder() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the root");
    root.join(FOLDER)
}

/// Makes object and sums anew.
pub fn run() -> anyhow::Result<()> {
    let folder = folder();
    let object = compile(&folder)?;
    fs::write(folder.join(OBJECT), &object)?;
    let sums = sums(&clang()?, &fs::read(folder.join(SOURCE))?, &object);
    fs::write(folder.join(SUMS), sums)?;
    println!("{FOLDER}/{OBJECT}: {} octets", object.len());
    Ok(())
}

/// The first line of `clang --version`; an error where one of the tools is not there.
fn clang() -> anyhow::Result<String> {
    Command::new("llvm-strip").arg("--version").output().context("llvm-strip")?;
    let output = Command::new("clang").arg("--version").output().context("clang")?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(words.lines().next().unwrap_or_default().trim().to_owned())
}

/// Compiles the source of a folder: the same octets wherever that lies.
fn compile(folder: &Path) -> anyhow::Result<Vec<u8>> {
    let made = tempfile::NamedTempFile::new()?;
    let here = format!("-ffile-prefix-map={}=.", folder.display());
    // Debian keeps the kernel's headers of an architecture in a folder of its own.
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let how = ["-O2", "-g", "-Wall", "-Werror", "-target", "bpfel", "-mcpu=v3", &headers, &here];
    let mut clang = Command::new("clang");
    clang.current_dir(folder).args(how).args(["-c", SOURCE, "-o"]).arg(made.path());
    // Types of the maps stay (BTF); what only a debugger reads goes.
    let mut strip = Command::new("llvm-strip");
    strip.arg("-g").arg(made.path());
    for command in [&mut clang, &mut strip] {
        let output = command.output().with_context(|| format!("{command:?}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{command:?}: {said}");
    }
    Ok(fs::read(made.path())?)
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut sum, octet| {
        let _ = write!(sum, "{octet:02x}");
        sum
    })
}

fn sums(compiler: &str, source: &[u8], object: &[u8]) -> String {
    let line = |bytes, name| format!("{}  {name}\n", sum(bytes));
    format!("# {compiler}\n{}{}", line(source, SOURCE), line(object, OBJECT))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGAIN: &str = "cargo xtask bpf makes it anew";

    #[test]
    fn the_object_is_made_of_the_source() {
        let folder = folder();
        let [source, object] = [SOURCE, OBJECT].map(|name| fs::read(folder.join(name)).unwrap());
        let written = fs::read_to_string(folder.join(SUMS)).unwrap();
        let compiler = written.lines().next().unwrap().trim_start_matches("# ");
        assert_eq!(sums(compiler, &source, &object), written, "{AGAIN}");
        let paths = ["/home/", "/root/", "/usr/"];
        let text = String::from_utf8_lossy(&object);
        assert!(!paths.iter().any(|path| text.contains(path)), "a path of a machine");
        match clang() {
            Ok(here) if here == compiler => {}
            other => {
                eprintln!(
                    "NOT COMPARED with what clang makes: {compiler} made it; here: {other:?}"
                );
                return;
            }
        }
        let elsewhere = tempfile::tempdir().unwrap();
        fs::copy(folder.join(SOURCE), elsewhere.path().join(SOURCE)).unwrap();
        for place in [&folder, elsewhere.path()] {
            assert!(compile(place).unwrap() == object, "{}: {AGAIN}", place.display());
        }
    }

    #[test]
    fn another_source_or_object_has_other_sums() {
        let [one, two, three] = [("a", "b"), ("a", "c"), ("d", "b")]
            .map(|(source, object)| sums("clang", source.as_bytes(), object.as_bytes()));
        assert!(one != two && one != three && two != three);
    }
}
