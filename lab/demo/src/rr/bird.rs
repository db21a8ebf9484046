//! BIRD as a client of the reflector, where it is installed.

use anyhow::Context;
use peers::{Process, ProcessSpec, ReflectorKind};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it speaks from.
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 1);
const BIRD: &str = "/usr/sbin/bird";
const BIRDC: &str = "/usr/sbin/birdc";

/// BIRD, running.
pub(super) struct Bird {
    process: Process,
    directory: PathBuf,
    pub(super) version: String,
}

impl Bird {
    /// Starts it as a client of a reflector; `None`: it is not installed.
    ///
    /// # Errors
    /// When it is installed and does not start.
    pub(super) fn start(
        reflector: SocketAddr,
        asn: u32,
        directory: &Path,
    ) -> anyhow::Result<Option<Self>> {
        let Ok(version) = ReflectorKind::Bird.version() else { return Ok(None) };
        let (host, port) = (reflector.ip(), reflector.port());
        let text = format!(
            "log stderr {{ error, fatal, bug, auth }};\n\
            router id 10.1.0.1;\n\
            protocol device {{ }}\n\
            protocol bgp reflector {{\n\
            \x20 local {ADDRESS} port {port} as {asn};\n\
            \x20 neighbor {host} port {port} as {asn};\n\
            \x20 strict bind yes;\n\
            \x20 connect retry time 1; connect delay time 1; error wait time 1, 2;\n\
            \x20 ipv4 {{ import all; export none; }};\n\
            }}\n"
        );
        fs::write(directory.join("bird.conf"), text)?;
        let words = ["-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"];
        let spec = ProcessSpec::new("bird", BIRD, directory).with(words);
        let process = Process::start(&spec)?;
        Ok(Some(Self { process, directory: directory.to_owned(), version }))
    }

    /// The routes that it holds, as it says.
    ///
    /// # Errors
    /// When its client cannot be started.
    pub(super) fn routes(&self) -> anyhow::Result<u64> {
        let mut birdc = Command::new(BIRDC);
        birdc.args(["-s", "bird.ctl", "show", "route", "count"]).current_dir(&self.directory);
        let output = birdc.output().context(BIRDC)?;
        Ok(count(&String::from_utf8_lossy(&output.stdout)))
    }

    pub(super) fn log_end(&self) -> String {
        self.process.log_end()
    }
}

/// The first number of `21000 of 21000 routes for 21000 networks in table master4`.
fn count(said: &str) -> u64 {
    let line = said.lines().find(|line| line.contains("master4"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routes_that_bird_holds_are_read() {
        let said = "BIRD 2.0.12 ready.\n\
            21000 of 21001 routes for 21000 networks in table master4\n\
            0 of 0 routes for 0 networks in table master6\nTotal: 21000 of 21000\n";
        assert_eq!((count(said), count("Unable to connect")), (21_000, 0));
    }
}
