//! Route reflectors that others wrote: BIRD, FRR, GoBGP and OpenBGPD from Debian, each with all of
//! its peers as clients that it does not know before they come.
//!
//! A reflector stands in a directory of its own: nothing of the system's services is read,
//! started or stopped.

mod bird;
mod frr;
mod gobgp;
mod openbgpd;

use crate::process::{Process, ProcessSpec, Usage};
use anyhow::Context;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const READY_MAX: Duration = Duration::from_secs(10);

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReflectorKind {
    /// BIRD 2.
    Bird,
    /// FRR's bgpd, without zebra.
    Frr,
    /// GoBGP.
    Gobgp,
    /// OpenBGPD. It needs root.
    Openbgpd,
}

impl ReflectorKind {
    /// Every program.
    pub const ALL: [Self; 4] = [Self::Bird, Self::Frr, Self::Gobgp, Self::Openbgpd];

    /// Its name, as people write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bird => "bird",
            Self::Frr => "frr",
            Self::Gobgp => "gobgp",
            Self::Openbgpd => "openbgpd",
        }
    }

    /// The program with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether it speaks a family (`ipv4-unicast`, `evpn`, `route-target`).
    #[must_use]
    pub fn speaks(self, family: &str) -> bool {
        match self {
            Self::Bird | Self::Openbgpd => family == "ipv4-unicast",
            Self::Frr => matches!(family, "ipv4-unicast" | "evpn"),
            Self::Gobgp => matches!(family, "ipv4-unicast" | "evpn" | "route-target"),
        }
    }

    /// The hold time that it is to be offered, seconds: none, so that no KEEPALIVE stands between
    /// UPDATEs, or where that is not understood the longest.
    #[must_use]
    pub const fn hold_time_s(self) -> u16 {
        match self {
            Self::Gobgp => u16::MAX,
            Self::Bird | Self::Frr | Self::Openbgpd => 0,
        }
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Bird => "/usr/sbin/bird",
            Self::Frr => "/usr/lib/frr/bgpd",
            Self::Gobgp => "/usr/bin/gobgpd",
            Self::Openbgpd => "/usr/sbin/bgpd",
        }
    }

    const fn package(self) -> &'static str {
        match self {
            Self::Bird => "bird2",
            Self::Frr => "frr",
            Self::Gobgp => "gobgpd",
            Self::Openbgpd => "openbgpd",
        }
    }

    /// How it tells its version.
    const fn version_option(self) -> &'static str {
        match self {
            Self::Openbgpd => "-V",
            _ => "--version",
        }
    }

    /// Name and version: `BIRD version 2.0.12`.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn version(self) -> anyhow::Result<String> {
        let output = Command::new(self.program()).arg(self.version_option()).output();
        let output = output.with_context(|| {
            format!("{} is not installed (Debian: {})", self.program(), self.package())
        })?;
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        Ok(if self == Self::Frr { line.replace("bgpd version", "FRR") } else { line })
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct ReflectorSpec {
    /// The program.
    pub kind: ReflectorKind,
    /// Where clients come in; an IPv4 address.
    pub listen: SocketAddr,
    /// The AS of all.
    pub asn: u32,
    /// Its identifier, and that of its cluster.
    pub cluster: Ipv4Addr,
    /// Where clients come from, as a prefix: `127.16.0.0/12`.
    pub clients: String,
    /// Clients at most.
    pub clients_max: usize,
    /// The families by name.
    pub families: Vec<String>,
}

/// A running reflector. Dropping it ends it.
#[derive(Debug)]
pub struct Reflector {
    process: Process,
    /// Name and version.
    pub version: String,
}

impl Reflector {
    /// Writes its configuration into `directory`, starts it there and waits until it listens.
    ///
    /// # Errors
    /// When it is not installed, does not speak a family, or does not come up.
    pub fn start(spec: &ReflectorSpec, directory: &Path) -> anyhow::Result<Self> {
        let version = spec.kind.version()?;
        if let Some(family) = spec.families.iter().find(|family| !spec.kind.speaks(family)) {
            anyhow::bail!("{version} does not speak {family}");
        }
        let arguments = match spec.kind {
            ReflectorKind::Bird => bird::prepare(spec, directory)?,
            ReflectorKind::Frr => frr::prepare(spec, directory)?,
            ReflectorKind::Gobgp => gobgp::prepare(spec, directory)?,
            ReflectorKind::Openbgpd => openbgpd::prepare(spec, directory)?,
        };
        let process =
            ProcessSpec::new(spec.kind.name(), spec.kind.program(), directory).with(arguments);
        let mut process = Process::start(&process)?;
        process.wait_until(READY_MAX, || TcpStream::connect(spec.listen).is_ok())?;
        Ok(Self { process, version })
    }

    /// What its processes have used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_end(&self) -> String {
        self.process.log_end()
    }
}
