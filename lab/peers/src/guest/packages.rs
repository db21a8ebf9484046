//! Debian packages for a guest, unpacked into a directory: nothing is installed on the host.

use anyhow::Context;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the kernel's package.
const KERNEL: &str = "linux-image-cloud-amd64";
/// Programs of the guest; their libraries come along.
const PROGRAMS: &[&str] =
    &["busybox-static", "iproute2", "lksctp-tools", "osmo-hlr", "osmo-msc", "osmo-stp", "socat"];
/// What these depend on and a guest does not need; the C library is the host's.
const LEFT_OUT: &[&str] =
    &["cdebconf", "debconf", "dpkg", "gcc-12-base", "install-info", "libc6", "tar"];
/// Packages that belong to the programs, at most.
const PACKAGES_MAX: usize = 200;

/// The packages, unpacked below `cache`; what is there already is taken.
///
/// # Errors
/// When a package cannot be found, downloaded or unpacked; what apt(8) said is quoted.
pub fn unpack(cache: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(cache).with_context(|| format!("{} cannot be made", cache.display()))?;
    let lock = File::create(cache.join("lock"))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let (root, done) = (cache.join("root"), cache.join("packages"));
    let wanted = PROGRAMS.join(" ");
    if fs::read_to_string(&done).is_ok_and(|text| text.lines().next() == Some(&wanted)) {
        return Ok(root);
    }
    let names = match names() {
        Ok(names) => names,
        // An image without lists, as containers often are.
        Err(_) if rustix::process::geteuid().is_root() => {
            run(Command::new("apt-get").args(["update", "-qq"]))?;
            names()?
        }
        Err(error) => return Err(error),
    };
    let archives = cache.join("archives");
    for directory in [&archives, &root] {
        // From a set-up that was interrupted.
        let _ = fs::remove_dir_all(directory);
        fs::create_dir_all(directory)?;
    }
    let mut download = Command::new("apt-get");
    download.args(["-qq", "-o", "APT::Sandbox::User=root", "download"]).args(&names);
    run(download.current_dir(&archives))?;
    for archive in fs::read_dir(&archives)? {
        run(Command::new("dpkg-deb").arg("--extract").arg(archive?.path()).arg(&root))?;
    }
    fs::remove_dir_all(&archives)?;
    fs::write(&done, format!("{wanted}\n{}\n", names.join("\n")))?;
    Ok(root)
}

/// The packages of the guest, with those that they depend on.
fn names() -> anyhow::Result<Vec<String>> {
    let kernel = run(Command::new("apt-cache").args(["depends", "--important", KERNEL]))?;
    let kernel = kernel.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    let kernel = kernel.with_context(|| format!("apt does not know {KERNEL}"))?;
    let mut depends = Command::new("apt-cache");
    depends.args(["depends", "--recurse", "--important"]).args(PROGRAMS);
    let all = run(&mut depends)?;
    // Lines that are not set in name a package, those in angle brackets one that does not exist.
    let named = all.lines().filter(|line| line.starts_with(|it: char| it.is_ascii_lowercase()));
    let mut names: BTreeSet<&str> = named.filter(|name| !LEFT_OUT.contains(name)).collect();
    names.insert(kernel);
    anyhow::ensure!(names.len() <= PACKAGES_MAX, "{} packages are too many", names.len());
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Runs a command; returns what it printed.
///
/// # Errors
/// When it cannot be started or fails; its words are quoted.
pub fn run(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be started"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{name} ended with {}: {words}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
