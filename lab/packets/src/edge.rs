//! Tandem's forwarder as a process of its own in its namespace, told by this one what to do.

use crate::ground::{Ground, IN, IN_MAC, OUT, OUT_MAC};
use anyhow::Context;
use forwarder::Control;
use forwarder::wire::{Driver, PortSpec, Reply};
use nodes::Program;
use peers::{Process, ProcessSpec};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for it to stand, and to do what it was told: a table of millions of routes.
const STAND_MAX: Duration = Duration::from_secs(10);
const DONE_MAX: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(1);
/// Packets that its worker holds.
const PACKETS: usize = 16_384;
const MTU: u16 = 1_500;

/// The forwarder. Dropping it ends it.
pub struct Edge {
    _process: Process,
    control: Control,
    asked: u64,
}

impl Edge {
    /// Starts it on a core, with AF_XDP at both wires of the ground.
    ///
    /// # Errors
    /// When it does not stand, or its ports cannot be opened.
    pub fn start(tandem: &Path, ground: &Ground, core: usize) -> anyhow::Result<Self> {
        let directory = &ground.directory;
        let socket = directory.join("forwarder");
        let mut spec = ProcessSpec::new("forwarder", tandem, directory);
        spec.namespace = Some(ground.sut.name().to_owned());
        let (core, packets) = (core.to_string(), PACKETS.to_string());
        let words = ["forwarder", "--workers", "1", "--core", &core, "--packets", &packets];
        let spec = spec.with(words).with(["--socket".as_ref(), socket.as_os_str()]);
        let mut process = Process::start(&spec)?;
        process.wait_until(STAND_MAX, || socket.exists())?;
        let control = Control::connect(&socket).context("the forwarder's socket")?;
        let mut edge = Self { _process: process, control, asked: 0 };
        for (port, device, mac) in [(0, IN, IN_MAC), (1, OUT, OUT_MAC)] {
            let driver = Driver::AfXdp { device: device.to_owned() };
            let (name, mac) = (device.to_owned(), Some(mac));
            edge.control.open(PortSpec { port, name, driver, mac, mtu: MTU })?;
        }
        let begun = Instant::now();
        while !edge.is_up()? {
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
                    Reply::Refused { what, why } => anyhow::bail!("refused: {what}: {why}"),
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
