//! Tandem's forwarder as a process of its own in its namespace, told by this one what to do.

use crate::testbed::{IN, IN_MAC, LEFT, OUT, OUT_MAC, RIGHT, SUT_V4, Testbed};
use anyhow::Context;
use forwarder::Control;
use forwarder::ipc::{Driver, PortSpec, Reply};
use nodes::Program;
use peers::{Process, ProcessSpec, Usage};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for it to stand, and to do what it was told: a table of millions of routes.
const STAND_MAX: Duration = Duration::from_secs(10);
const DONE_MAX: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(1);
/// Packets that its worker holds: with an eighth of them before each port, a worker that is not
/// given its core for two ticks of the kernel's scheduler loses none at a million a second.
const PACKETS: usize = 65_536;
const MTU: u16 = 1_500;
/// The TUN device by which the kernel behind it has its address.
const HOST: &str = "router";

/// The forwarder. Dropping it ends it.
pub struct Edge {
    process: Process,
    control: Control,
    asked: u64,
}

impl Edge {
    /// Starts it on a core, with AF_XDP at both wires of the ground. The kernel of its namespace
    /// is its host: what is for its own address goes there.
    ///
    /// # Errors
    /// When it does not stand, or its ports cannot be opened.
    pub fn on_wires(tandem: &Path, ground: &Testbed, core: usize) -> anyhow::Result<Self> {
        let driver = |device: &str| Driver::AfXdp { device: device.to_owned() };
        let (namespace, drivers) = (Some(ground.sut.name()), [driver(IN), driver(OUT)]);
        let edge = Self::start(tandem, namespace, &ground.directory, core, drivers)?;
        let own = format!("{SUT_V4}/32");
        ground.sut.ip(&["address", "add", &own, "dev", HOST])?;
        ground.sut.ip(&["route", "replace", "default", "dev", HOST])?;
        Ok(edge)
    }

    /// Starts it on a core between two memifs, of which it is the master.
    ///
    /// # Errors
    /// When it does not stand, or its ports cannot be opened.
    pub fn on_memifs(tandem: &Path, directory: &Path, core: usize) -> anyhow::Result<Self> {
        let driver = |name: &str| {
            let socket = directory.join(name).display().to_string();
            Driver::Memif { socket, id: 0, master: true }
        };
        Self::start(tandem, None, directory, core, [LEFT, RIGHT].map(driver))
    }

    fn start(
        tandem: &Path,
        namespace: Option<&str>,
        directory: &Path,
        core: usize,
        drivers: [Driver; 2],
    ) -> anyhow::Result<Self> {
        let socket = directory.join("forwarder");
        let mut spec = ProcessSpec::new("forwarder", tandem, directory);
        spec.namespace = namespace.map(str::to_owned);
        let (core, packets) = (core.to_string(), PACKETS.to_string());
        let words = ["forwarder", "--workers", "1", "--core", &core, "--packets", &packets];
        let spec = spec.with(words).with(["--socket".as_ref(), socket.as_os_str()]);
        let spec = if namespace.is_some() { spec.with(["--host", HOST]) } else { spec };
        let mut process = Process::start(&spec)?;
        process.wait_until(STAND_MAX, || socket.exists())?;
        let control = Control::connect(&socket, None).context("the forwarder's socket")?;
        let mut edge = Self { process, control, asked: 0 };
        let names = [(IN, IN_MAC), (OUT, OUT_MAC)];
        for (port, (driver, (name, mac))) in (0..).zip(drivers.into_iter().zip(names)) {
            let (name, mac) = (name.to_owned(), Some(mac));
            edge.control.open(PortSpec { port, name, driver, mac, mtu: MTU })?;
        }
        // A memif has no link before somebody is at its other end.
        let begun = Instant::now();
        while namespace.is_some() && !edge.is_up()? {
            anyhow::ensure!(begun.elapsed() < STAND_MAX, "its ports do not come up");
            std::thread::sleep(PAUSE);
        }
        Ok(edge)
    }

    /// Whether both ports stand.
    fn is_up(&mut self) -> anyhow::Result<bool> {
        let ports = self.ask("ports")?;
        let ports = ports.as_array().context("the ports are a list")?;
        Ok(ports.len() == 2 && ports.iter().all(|port| port["up"] == true))
    }

    /// What it has used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// What its ports dropped so far, by port and reason.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn drops(&mut self) -> anyhow::Result<Vec<(String, u64)>> {
        let ports = self.ask("ports")?;
        let mut all = Vec::new();
        for port in ports.as_array().context("the ports are a list")? {
            let name = port["port"].as_str().unwrap_or_default();
            let rows = port.as_object().into_iter().flatten();
            let drops = rows.filter(|(key, _)| key.starts_with("not_"));
            all.extend(
                drops.map(|(key, count)| {
                    (format!("{name} {key}"), count.as_u64().unwrap_or_default())
                }),
            );
        }
        Ok(all)
    }

    /// Tells it programs and waits until they are done; how long that took.
    ///
    /// # Errors
    /// When it refuses one, or is gone.
    pub fn apply(&mut self, programs: &[Program]) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.control.apply(programs)?;
        self.ask("neighbours")?;
        Ok(begun.elapsed())
    }

    /// Asks; what was refused until then is an error.
    ///
    /// # Errors
    /// When something was refused, it does not answer in time, or is gone.
    pub fn ask(&mut self, path: &str) -> anyhow::Result<Value> {
        self.asked += 1;
        self.control.ask(self.asked, path, Vec::new())?;
        let begun = Instant::now();
        while begun.elapsed() < DONE_MAX {
            self.control.flush()?;
            for reply in self.control.replies()? {
                match reply {
                    Reply::Refused { what, why, .. } => anyhow::bail!("refused: {what}: {why}"),
                    Reply::Answer { id, answer } if id == self.asked => {
                        return answer.map_err(|why| anyhow::anyhow!("{path}: {why}"));
                    }
                    _ => {}
                }
            }
            std::thread::sleep(PAUSE);
        }
        anyhow::bail!("the forwarder does not answer within {DONE_MAX:?}")
    }
}
