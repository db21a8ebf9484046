//! `cargo xtask installed FOLDER`: the packages in a folder, in the hands of the tools that will
//! install them: lintian and dpkg with a root of their own, and podman with crun.

use crate::end_to_end::{finish, step};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the installed program in its root, with the libraries of this machine: as root, which
/// becomes the user to whom the site belongs.
const CHECK: &str = r#"set -e
cd "$0"
ln -s usr/lib lib
for folder in lib64 usr/lib/$(uname -m)-linux-gnu; do
    mkdir -p $folder
    mount --bind /$folder $folder
done
exec chroot . /usr/bin/tandem check /etc/tandem/example/site.toml
"#;
/// Runs podman where no control group is needed: crun refuses a machine that has both versions.
const PODMAN: &str = r#"umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup || mount -t tmpfs none /sys/fs/cgroup
exec podman --storage-driver=vfs --runtime=crun --cgroup-manager=cgroupfs "$@"
"#;
/// A container without network, control group and limits that this user may not set.
const RUN: &[&str] = &[
    "run",
    "--rm",
    "--network=none",
    "--cgroups=disabled",
    "--log-driver=k8s-file",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=1024:1024",
];

/// A site that runs in a container.
const SITE: &str = r#"[site]
name = "contained"
directory = "/var/lib/tandem"
[oam]
listen = "127.0.0.1:8080"
"#;

/// Looks at every package that is there.
pub fn run(folder: &Path) -> Result<()> {
    let mut packages = files(folder, "deb")?;
    packages.sort();
    for package in &packages {
        step(&format!("lintian reads {}", name(package)), || lintian(package))?;
    }
    for package in packages.iter().filter(|path| name(path).starts_with("tandem_")) {
        let root = tempfile::tempdir()?;
        let at = root.path();
        step("the Debian package is installed, its example checked", || install(package, at))?;
        step("the installed program plays its first scene", || play(at))?;
    }
    let images = files(folder, "tar")?;
    for image in &images {
        step("the image is loaded and run", || contain(image))?;
    }
    ensure!(!packages.is_empty() || !images.is_empty(), "{}: no package", folder.display());
    Ok(())
}

fn files(folder: &Path, end: &str) -> Result<Vec<PathBuf>> {
    let names = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let paths = names.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == end)).collect())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn lintian(package: &Path) -> Result<()> {
    let words = ["--allow-root", "--fail-on=error,warning", "--tag-display-limit=0"];
    finish(Command::new("lintian").args(words).arg(package))
}

/// An empty root that dpkg installs into.
fn empty_root(folder: &Path) -> Result<()> {
    for name in ["etc", "var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(folder.join(name))?;
    }
    fs::write(folder.join("var/lib/dpkg/status"), "")?;
    Ok(())
}

fn install(package: &Path, root: &Path) -> Result<()> {
    empty_root(root)?;
    let mut dpkg = Command::new("dpkg");
    dpkg.arg(format!("--root={}", root.display()));
    dpkg.args(["--force-not-root", "--force-script-chrootless", "--force-depends", "-i"]);
    finish(dpkg.arg(package))?;
    let users = fs::read_to_string(root.join("etc/passwd"))?;
    ensure!(users.contains("tandem:x:"), "there is no user tandem:\n{users}");
    let mut check = Command::new("unshare");
    finish(check.args(["--mount", "sh", "-c", CHECK]).arg(root))
}

/// The calls of `tandem demo sbc`, which SIPp makes.
fn play(root: &Path) -> Result<()> {
    finish(Command::new(root.join("usr/bin/tandem")).args(["demo", "sbc"]))
}

/// Loads an image into a storage of its own, and runs its default command, one that writes, a scene
/// that needs no other program, and the check of a site in a folder of this machine.
fn contain(image: &Path) -> Result<()> {
    let storage = tempfile::tempdir()?;
    let at = |name: &str| storage.path().join(name).display().to_string();
    let podman = |words: &[&str]| {
        let mut podman = Command::new("unshare");
        podman.args(["--mount", "sh", "-c", PODMAN, "podman"]);
        podman.args(["--root", &at("root"), "--runroot", &at("run")]);
        podman.args(words);
        podman
    };
    finish(podman(&["load", "--input"]).arg(image))?;
    let tag = format!("localhost/tandem:{}", env!("CARGO_PKG_VERSION"));
    let said = podman(RUN).arg(&tag).output()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let why = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success() && text.contains("Usage: tandem"), "it says {text}\n{why}");
    let shell = ["completion", "bash"];
    finish(podman(RUN).args(["--read-only", "--cap-drop=all", &tag]).args(shell))?;
    finish(podman(RUN).args(["--cap-drop=all", &tag, "demo", "sms"]))?;
    let site = storage.path().join("site");
    fs::create_dir(&site)?;
    fs::write(site.join("site.toml"), SITE)?;
    let mounted = format!("--volume={}:/etc/tandem:ro", site.display());
    let check = [&tag, "check", "/etc/tandem/site.toml"];
    // A site writes into its directory, so that the container may be written.
    finish(podman(RUN).args(["--cap-drop=all", &mounted]).args(check))
}
