//! DPDK's testpmd between two memifs: it rewrites the addresses of each frame and looks nothing up
//! (its mode `mac`), which is the least that a forwarder does.

use crate::testbed::{LEFT, RIGHT};
use anyhow::Context;
use peers::{Process, ProcessSpec};
use std::fs;
use std::path::Path;
use std::time::Duration;

const PROGRAM: &str = "dpdk-testpmd";
/// Time until it polls.
const READY_MAX: Duration = Duration::from_secs(15);
/// What it says then.
const READY: &str = "packet forwarding";
/// Packets that it takes at once.
const BURST: usize = 256;

/// A testpmd. Dropping it ends it.
pub struct Testpmd {
    _process: Process,
    /// Its name and version.
    pub name: String,
}

impl Testpmd {
    /// Starts it on a core, with a further one for its waiting.
    ///
    /// # Errors
    /// When it is not there, or does not begin.
    pub fn start(directory: &Path, cores: (usize, usize)) -> anyhow::Result<Self> {
        let (waiting_core, core) = cores;
        let mut spec = ProcessSpec::new("testpmd", PROGRAM, directory);
        spec = spec.with(["--no-huge", "-m", "512", "--no-pci", "--no-telemetry", "-v"]);
        let prefix = format!("--file-prefix=tandem{}", std::process::id());
        spec = spec.with([format!("--lcores=0@{waiting_core},1@{core}"), prefix]);
        for (number, name) in [LEFT, RIGHT].into_iter().enumerate() {
            let socket = directory.join(name);
            let socket = socket.display();
            spec = spec.with([format!(
                "--vdev=net_memif{number},role=server,id=0,socket={socket},socket-abstract=no"
            )]);
        }
        spec = spec.with(["--", "--forward-mode=mac", "--auto-start", "--nb-cores=1"]);
        spec = spec.with(["--no-mlockall", "--total-num-mbufs=32768", "--stats-period=3600"]);
        spec = spec.with([format!("--burst={BURST}")]);
        let log = directory.join("testpmd.log");
        let started = Process::start(&spec);
        let mut process = started.context("is it installed? Debian: dpdk-dev")?;
        let text = || fs::read_to_string(&log).unwrap_or_default();
        process.wait_until(READY_MAX, || text().contains(READY))?;
        // RTE Version: 'DPDK 22.11.11'
        let text = text();
        let version = text.split('\'').find(|word| word.starts_with("DPDK "));
        let name = format!("{} testpmd, no table", version.unwrap_or("DPDK"));
        Ok(Self { _process: process, name })
    }
}
