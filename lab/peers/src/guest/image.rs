//! The first and only file system of a guest: programs with their libraries, modules of the
//! kernel in the order of their need, and what runs first.

use super::archive::Archive;
use super::packages::run;
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs, by their path in the unpacked packages. They stand in `/debian`: busybox takes `ip`
/// and `tc` for its own wherever PATH leads.
const PROGRAMS: &[&str] = &[
    "bin/ip",
    "sbin/tc",
    "bin/ss",
    "usr/bin/socat",
    "usr/bin/checksctp",
    "usr/bin/sctp_darn",
    "usr/bin/sctp_test",
    "usr/bin/osmo-hlr",
    "usr/bin/osmo-msc",
    "usr/bin/osmo-stp",
];
/// Applets of busybox that are not to stand in the way of the programs above.
const SHADOWS: &[&str] = &["ip", "tc", "busybox"];
/// Modules that are needed; those that they need come along.
const MODULES: &[&str] = &[
    "virtio_pci",
    "virtio_net",
    "sctp",
    "sctp_diag",
    "sch_netem",
    "xfrm_user",
    "esp4",
    "sha512_generic",
    "jitterentropy_rng",
    "drbg",
    "authenc",
    "echainiv",
    "seqiv",
    "gcm",
    "ctr",
    "ghash_generic",
];
/// Modules at most.
const MODULES_MAX: usize = 64;
/// The loader of dynamic programs, in the guest as on the host.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// What programs and shared objects begin with.
const ELF: &[u8] = b"\x7fELF";
/// What of a module's file says which others it needs.
const DEPENDS: &[u8] = b"depends=";

/// The archive of a guest: `init` runs first, `tools` are static programs for `/bin`, `own` are
/// files of the host that stand where they stand there.
///
/// # Errors
/// When a file is not there, or the host's loader cannot be asked for libraries.
pub fn build(
    root: &Path,
    init: &str,
    tools: &[(&str, Vec<u8>)],
    own: &[&str],
) -> anyhow::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for directory in ["dev", "etc", "proc", "run", "sys", "tmp"] {
        archive.directory(directory);
    }
    archive.device("dev/console", (5, 1));
    archive.file("init", init.as_bytes());
    for (name, content) in tools {
        archive.file(&format!("bin/{name}"), content);
    }
    let busybox = root.join("bin/busybox");
    archive.file("bin/busybox", &read(&busybox)?);
    let applets = run(Command::new(&busybox).arg("--list"))?;
    for applet in applets.lines().filter(|applet| !SHADOWS.contains(applet)) {
        archive.link(&format!("bin/{applet}"), "busybox");
    }
    let mut libraries = BTreeSet::from([PathBuf::from(LOADER)]);
    for program in PROGRAMS {
        let path = root.join(program);
        let name = program.rsplit('/').next().unwrap_or(program);
        archive.file(&format!("debian/{name}"), &read(&path)?);
        libraries.extend(libraries_of(root, &path)?);
    }
    for path in own.iter().map(Path::new) {
        let content = read(path)?;
        archive.file(&path.to_string_lossy()[1..], &content);
        if content.starts_with(ELF) {
            libraries.extend(libraries_of(root, path)?);
        }
    }
    for library in &libraries {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        let place = if library == Path::new(LOADER) { "lib64" } else { "lib/x86_64-linux-gnu" };
        archive.file(&format!("{place}/{name}"), &read(library)?);
    }
    for (number, module) in modules(root)?.iter().enumerate() {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        archive.file(&format!("modules/{number:02}-{name}"), &read(module)?);
    }
    Ok(archive.finish())
}

/// The kernel's image.
///
/// # Errors
/// When there is none.
pub fn kernel(root: &Path) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(root.join("boot"))?.flatten().map(|entry| entry.path());
    let is_kernel = |path: &PathBuf| path.to_string_lossy().contains("vmlinuz-");
    entries.into_iter().find(is_kernel).context("the kernel's package has no kernel")
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

/// Libraries of a program: those that were unpacked, else those of the host.
fn libraries_of(root: &Path, program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let places = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|it| root.join(it));
    let places = std::env::join_paths(places)?;
    let mut loader = Command::new(LOADER);
    let list = run(loader.env("LD_LIBRARY_PATH", places).arg("--list").arg(program))?;
    let resolved = list.lines().filter_map(|line| line.split_once(" => "));
    let libraries = resolved.map(|(name, found)| {
        let path = found.split(" (").next().unwrap_or_default();
        anyhow::ensure!(path.starts_with('/'), "{} lacks {}", program.display(), name.trim());
        Ok(PathBuf::from(path))
    });
    libraries.collect()
}

/// Files of the modules, each behind those that it needs.
fn modules(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    find_modules(&root.join("lib/modules"), &mut found)?;
    let mut ordered = Vec::new();
    for name in MODULES {
        add_module(&found, name, &mut ordered)?;
    }
    Ok(ordered)
}

fn find_modules(directory: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)?.flatten() {
        if entry.file_type()?.is_dir() {
            find_modules(&entry.path(), found)?;
        } else if entry.path().extension().is_some_and(|it| it == "ko") {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn add_module(found: &[PathBuf], name: &str, ordered: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    // A file's name has `-` where the module's has `_`, or not.
    let is_it = |path: &&PathBuf| {
        path.file_stem().is_some_and(|stem| stem.to_string_lossy().replace('-', "_") == name)
    };
    let path = found.iter().find(is_it).with_context(|| format!("there is no module {name}"))?;
    if ordered.contains(path) {
        return Ok(());
    }
    anyhow::ensure!(ordered.len() < MODULES_MAX, "too many modules");
    for needed in needs(&read(path)?) {
        add_module(found, &needed, ordered)?;
    }
    if !ordered.contains(path) {
        ordered.push(path.clone());
    }
    Ok(())
}

/// Names of the modules that this one needs (`.modinfo`).
fn needs(module: &[u8]) -> Vec<String> {
    let at = module.windows(DEPENDS.len() + 1).position(|it| it[0] == 0 && &it[1..] == DEPENDS);
    let text = at.map(|at| &module[at + 1 + DEPENDS.len()..]).unwrap_or_default();
    let text = text.split(|octet| *octet == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(text).into_owned();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_names_those_that_it_needs() {
        assert_eq!(needs(b"x\0depends=a,b_c\0y"), ["a", "b_c"]);
        assert!(needs(b"x\0depends=\0y").is_empty() && needs(b"softdepends=a").is_empty());
    }
}
