//! Network namespaces that the lab makes, told from all others by their name; gone with their
//! handle, and those of a lab that was killed before the next one makes any.

use anyhow::Context;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// What the names of the lab's namespaces begin with (test quarters).
pub const NAMESPACE_PREFIX: &str = "tq-";
/// Where ip(8) keeps named namespaces.
const NAMED: &str = "/run/netns";
/// The calling thread's namespace.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace. Dropping it removes it, and with it every interface in it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes `tq-PROCESS-PLACE` with loopback up.
    ///
    /// # Errors
    /// Without root, or when this process has one of that name.
    pub fn new(place: &str) -> anyhow::Result<Self> {
        remove(|owner| !Path::new(&format!("/proc/{owner}")).exists());
        let name = format!("{NAMESPACE_PREFIX}{}-{place}", std::process::id());
        run_ip(&["netns", "add", &name])?;
        let made = Self { name };
        made.ip(&["link", "set", "lo", "up"])?;
        Ok(made)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs ip(8) inside.
    ///
    /// # Errors
    /// When it fails; its words are quoted.
    pub fn ip(&self, arguments: &[&str]) -> anyhow::Result<String> {
        run_ip(&[&["-netns", &self.name], arguments].concat())
    }

    /// Sets a kernel parameter inside: `net.ipv4.conf.all.rp_filter`, `0`.
    ///
    /// # Errors
    /// When there is no such parameter.
    pub fn set(&self, parameter: &str, value: &str) -> anyhow::Result<()> {
        let assignment = format!("{parameter}={value}");
        run_ip(&["netns", "exec", &self.name, "sysctl", "-qw", &assignment]).map(drop)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What is gone already need not go again.
        let _ = run_ip(&["netns", "del", &self.name]);
    }
}

/// Removes the namespaces that processes of these numbers made, `tq-PROCESS-PLACE`.
pub fn remove(made_by: impl Fn(u32) -> bool) {
    for entry in fs::read_dir(NAMED).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let rest = name.strip_prefix(NAMESPACE_PREFIX).and_then(|rest| rest.split_once('-'));
        if rest.and_then(|(owner, _)| owner.parse().ok()).is_some_and(&made_by) {
            // Another lab may have removed it meanwhile.
            let _ = run_ip(&["netns", "del", &name]);
        }
    }
}

/// One end of a pair of virtual interfaces.
#[derive(Debug, Clone, Copy)]
pub struct Veth<'a> {
    /// Where it stands.
    pub namespace: &'a Namespace,
    /// Its name.
    pub interface: &'a str,
    /// Its addresses with their lengths: `10.0.0.1/24`.
    pub addresses: &'a [&'a str],
    /// Its link-layer address.
    pub mac: &'a str,
}

impl Veth<'_> {
    /// Makes a pair.
    ///
    /// # Errors
    /// What ip(8) says.
    pub fn pair(one: Self, two: Self) -> anyhow::Result<()> {
        let (names, places) = ((one.interface, two.interface), (one.namespace, two.namespace));
        let (first, second) = (places.0.name(), places.1.name());
        run_ip(&[
            "link", "add", names.0, "netns", first, "type", "veth", "peer", "name", names.1,
            "netns", second,
        ])?;
        one.raise()?;
        two.raise()
    }

    fn raise(&self) -> anyhow::Result<()> {
        let Self { namespace, interface, mac, .. } = self;
        namespace.ip(&["link", "set", interface, "address", mac])?;
        for address in self.addresses {
            namespace.ip(&["address", "add", address, "dev", interface])?;
        }
        namespace.ip(&["link", "set", interface, "up"]).map(drop)
    }
}

/// Moves the calling thread, and those it starts from now on, into a named namespace.
///
/// # Errors
/// Without root, or when there is none of that name.
pub fn enter(name: &str) -> anyhow::Result<()> {
    let file = File::open(format!("{NAMED}/{name}")).with_context(|| name.to_owned())?;
    Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Whether the calling thread is in a namespace that the lab made.
pub(crate) fn is_in_the_lab() -> anyhow::Result<bool> {
    let own = fs::metadata(OWN)?;
    let Ok(named) = fs::read_dir(NAMED) else { return Ok(false) };
    let ours = named
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(NAMESPACE_PREFIX));
    let same = |found: fs::Metadata| (found.dev(), found.ino()) == (own.dev(), own.ino());
    Ok(ours.filter_map(|entry| fs::metadata(entry.path()).ok()).any(same))
}

/// Runs ip(8) and returns what it printed.
///
/// # Errors
/// When it is not there or fails; its words are quoted.
pub fn run_ip(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("ip").args(arguments).output().context("ip(8) cannot be started")?;
    let words = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "ip {}: {}", arguments.join(" "), words.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
