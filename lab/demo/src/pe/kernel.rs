//! Hosts of this machine's kernel, a network namespace each, and ping(8).

use super::INTERVAL;
use super::echo::Echoes;
use anyhow::Context;
use attack::{Namespace, run_ip};
use peers::{Process, ProcessSpec};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two namespaces. Dropping it removes them, and with them the edge's devices.
pub(super) struct Kernel {
    ping: Option<Process>,
    a: Namespace,
    _b: Namespace,
    devices: [String; 2],
    directory: PathBuf,
}

impl Kernel {
    /// Both namespaces with their wires to the edge.
    ///
    /// # Errors
    /// Without root, namespaces, ip(8) or ping(8).
    pub(super) fn new(directory: &Path) -> anyhow::Result<Self> {
        let ping = Command::new("ping").arg("-V").output();
        ping.context("ping(8), Debian: iputils-ping")?;
        let (a, b) = (Namespace::new("demo-a")?, Namespace::new("demo-b")?);
        // Fifteen octets at most.
        let devices = ["a", "b"].map(|end| format!("td{}{end}", std::process::id()));
        let sides = [(&a, &devices[0], 1), (&b, &devices[1], 2)];
        for (namespace, device, net) in sides {
            wire(namespace, device, net).context("a wire between the edge and a namespace")?;
        }
        let directory = directory.to_owned();
        Ok(Self { ping: None, a, _b: b, devices, directory })
    }

    pub(super) fn text(&self) -> String {
        let port = |name, device| {
            let driver = "driver = \"af_packet\"";
            format!("[[pe.port]]\nname = \"{name}\"\n{driver}\ndevice = \"{device}\"\n")
        };
        port("a", &self.devices[0]) + &port("b", &self.devices[1])
    }

    /// Host a pings host b from now on. What is counted begins with the answer to another request:
    /// a kernel drops what it sends over a wire for up to a second after the wire came up, and the
    /// edge holds one packet for a neighbour that it asks for.
    pub(super) fn ping(&mut self) -> anyhow::Result<()> {
        let first = ["-n", "-q", "-c", "1", "-i", "0.2", "-w", "10", "198.18.2.2"];
        run_ip(&[&["netns", "exec", self.a.name(), "ping"][..], &first].concat())
            .context("no answer through the edge")?;
        let interval = format!("{:.3}", INTERVAL.as_secs_f64());
        let mut spec = ProcessSpec::new("ping", "ping", &self.directory);
        spec.namespace = Some(self.a.name().to_owned());
        self.ping = Some(Process::start(&spec.with(["-n", "-i", &interval, "198.18.2.2"]))?);
        Ok(())
    }

    pub(super) fn echoes(&self) -> Echoes {
        let mut echoes = Echoes::default();
        let said = fs::read_to_string(self.directory.join("ping.log")).unwrap_or_default();
        for (sequence, round_trip_us) in said.lines().filter_map(answer) {
            echoes.add(sequence, round_trip_us);
        }
        echoes
    }
}

/// A pair of virtual devices: the edge's end stands beside this process, and its kernel has nothing
/// to do with it.
fn wire(namespace: &Namespace, device: &str, net: u8) -> anyhow::Result<()> {
    let (name, address) = (namespace.name(), format!("198.18.{net}.2/24"));
    let peer = ["peer", "name", "eth0", "netns", name];
    run_ip(&[&["link", "add", "name", device, "type", "veth"][..], &peer].concat())?;
    for (version, key, value) in
        [("ipv6", "disable_ipv6", "1"), ("ipv4", "forwarding", "0"), ("ipv4", "arp_ignore", "8")]
    {
        let path = format!("/proc/sys/net/{version}/conf/{device}/{key}");
        // A kernel without IPv6 has nothing to switch off.
        if Path::new(&path).exists() {
            fs::write(&path, value).with_context(|| path.clone())?;
        }
    }
    run_ip(&["link", "set", "dev", device, "up"])?;
    namespace.ip(&["link", "set", "eth0", "up"])?;
    namespace.ip(&["address", "add", &address, "dev", "eth0"])?;
    namespace.ip(&["route", "add", "default", "via", &format!("198.18.{net}.1")])?;
    Ok(())
}

/// Sequence number and round trip of a line of ping(8):
/// `64 bytes from 198.18.2.2: icmp_seq=17 ttl=63 time=0.056 ms`.
fn answer(line: &str) -> Option<(u16, u64)> {
    let word = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name));
    let (sequence, time) = (word("icmp_seq=")?, word("time=")?);
    let milliseconds: f64 = time.parse().ok()?;
    Some((sequence.parse().ok()?, (milliseconds * 1_000.0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_errors_are_none() {
        let line = "64 bytes from 198.18.2.2: icmp_seq=17 ttl=63 time=0.056 ms";
        assert_eq!(answer(line), Some((17, 56)));
        assert_eq!(answer("From 198.18.1.1 icmp_seq=1 Destination Host Unreachable"), None);
    }
}
