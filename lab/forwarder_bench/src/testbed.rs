//! Two namespaces with two wires between them, and Linux as the forwarder in one.

use anyhow::Context;
use attack::{Namespace, Veth, run_ip};
use packet_load::Route;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// The tester's end of the left wire.
pub const LEFT: &str = "left";
/// That of the right one.
pub const RIGHT: &str = "right";
/// That of what is tested, at the left wire.
pub const IN: &str = "in";
/// At the right one.
pub const OUT: &str = "out";
/// Link-layer addresses, as numbers and as ip(8) writes them.
pub const LEFT_MAC: [u8; 6] = [2, 0, 0, 0, 1, 2];
/// Of what is tested, at the left wire.
pub const IN_MAC: [u8; 6] = [2, 0, 0, 0, 1, 1];
pub(crate) const LEFT_TEXT: &str = "02:00:00:00:01:02";
/// At the right one.
pub const OUT_MAC: [u8; 6] = [2, 0, 0, 0, 2, 1];
/// Of whoever is next behind the right wire: nobody's, so that the tester's kernel drops what the
/// tester has seen.
pub const NEXT_MAC: [u8; 6] = [2, 0, 0, 0, 2, 0x99];
/// As ip(8) writes it.
pub const IN_MAC_TEXT: &str = "02:00:00:00:01:01";
/// As ip(8) writes it.
pub const OUT_MAC_TEXT: &str = "02:00:00:00:02:01";
const RIGHT_TEXT: &str = "02:00:00:00:02:02";
/// The next hop's: nobody's, so that the tester's kernel drops at once what the tester has seen.
const NEXT_TEXT: &str = "02:00:00:00:02:99";
/// The address of what is tested, at its end of the left wire.
pub const SUT_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 1, 1);
/// The address of whoever is next behind the right wire.
pub const NEXT_V4: Ipv4Addr = Ipv4Addr::new(10, 199, 2, 2);
pub const NEXT_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 2);

/// Who forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The kernel: its ends of the wires have addresses.
    Linux,
    /// Tandem's forwarder: the kernel's ends have none.
    Tandem,
}

/// The namespaces. Dropping it removes them.
#[derive(Debug)]
pub struct Testbed {
    /// The tester's.
    pub side: Namespace,
    /// That of what is tested.
    pub sut: Namespace,
    /// Where its files are.
    pub directory: PathBuf,
}

impl Testbed {
    /// Both namespaces and wires; what arrives in `sut` is handled by core `sut_core`, what arrives
    /// at the tester by core `side_core`. Its files are in `directory`.
    ///
    /// # Errors
    /// Without root, ip(8) or namespaces.
    pub fn new(who: Who, cores: (usize, usize), directory: &Path) -> anyhow::Result<Self> {
        let (side_core, sut_core) = cores;
        let (side, sut) = match who {
            Who::Linux => ("linux-side", "linux"),
            Who::Tandem => ("tandem-side", "tandem"),
        };
        let (side, sut) = (Namespace::new(side)?, Namespace::new(sut)?);
        let ground = Self { side, sut, directory: directory.to_owned() };
        let Self { side, sut, .. } = &ground;
        for namespace in [side, sut] {
            namespace.set("net.ipv6.conf.default.accept_dad", "0")?;
            namespace.set("net.ipv4.conf.all.rp_filter", "0")?;
            namespace.set("net.ipv4.conf.default.rp_filter", "0")?;
        }
        // Ends without addresses say nothing by themselves.
        side.set("net.ipv6.conf.default.disable_ipv6", "1")?;
        let (mut inner, mut outer): (&[&str], &[&str]) = (&[], &[]);
        match who {
            Who::Linux => {
                inner = &["10.199.1.1/24", "2001:db8:1::1/64"];
                outer = &["10.199.2.1/24", "2001:db8:2::1/64"];
            }
            Who::Tandem => sut.set("net.ipv6.conf.default.disable_ipv6", "1")?,
        }
        let end =
            |namespace, interface, addresses, mac| Veth { namespace, interface, addresses, mac };
        Veth::pair(end(side, LEFT, &[], LEFT_TEXT), end(sut, IN, inner, IN_MAC_TEXT))?;
        Veth::pair(end(side, RIGHT, &[], RIGHT_TEXT), end(sut, OUT, outer, OUT_MAC_TEXT))?;
        ground.steer(side, RIGHT, side_core)?;
        ground.steer(side, LEFT, side_core)?;
        ground.steer(sut, IN, sut_core)?;
        ground.steer(sut, OUT, sut_core)?;
        Ok(ground)
    }

    /// Lets a core handle what arrives at an interface (RPS), not the sender's.
    fn steer(&self, namespace: &Namespace, interface: &str, core: usize) -> anyhow::Result<()> {
        let mask = format!("{:x}", 1u64 << core);
        let line = format!("echo {mask} > /sys/class/net/{interface}/queues/rx-0/rps_cpus");
        run_ip(&["netns", "exec", namespace.name(), "sh", "-c", &line]).map(drop)
    }

    /// Makes Linux forward: routes by the right wire, and the neighbour there.
    ///
    /// # Errors
    /// What ip(8) says.
    pub fn forward(&self, v4: &[Route], v6: &[Route]) -> anyhow::Result<()> {
        let sut = &self.sut;
        sut.set("net.ipv4.ip_forward", "1")?;
        sut.set("net.ipv6.conf.all.forwarding", "1")?;
        let (next4, next6) = (NEXT_V4.to_string(), NEXT_V6.to_string());
        for next in [&next4, &next6] {
            sut.ip(&["neigh", "replace", next, "lladdr", NEXT_TEXT, "dev", OUT])?;
        }
        // Echo replies to the left have a neighbour too.
        let mut lines = String::new();
        for route in v4 {
            let network = Ipv4Addr::from_bits(route.network as u32);
            writeln!(lines, "route replace {network}/{} via {next4} dev {OUT}", route.length)?;
        }
        for route in v6 {
            let network = Ipv6Addr::from_bits(route.network);
            writeln!(lines, "route replace {network}/{} via {next6} dev {OUT}", route.length)?;
        }
        let file = self.directory.join("routes");
        fs::write(&file, lines)?;
        let path = file.to_str().context("a path of the lab is text")?;
        sut.ip(&["-batch", path]).context("the routes")?;
        // What leaves for the sources goes back to the left: replies, errors.
        let left = "10.199.1.2";
        sut.ip(&["neigh", "replace", left, "lladdr", LEFT_TEXT, "dev", IN])?;
        sut.ip(&["route", "replace", "198.18.0.0/15", "via", left, "dev", IN]).map(drop)
    }

    /// Packets that the kernel dropped so far at the ends of the wires.
    ///
    /// # Errors
    /// What ip(8) says.
    pub fn drops(&self) -> anyhow::Result<Vec<(String, u64)>> {
        let ends = [(&self.side, LEFT), (&self.side, RIGHT), (&self.sut, IN), (&self.sut, OUT)];
        let mut all = Vec::new();
        for (namespace, end) in ends {
            let text = namespace.ip(&["-s", "-j", "link", "show", "dev", end])?;
            let told: Value = serde_json::from_str(&text)?;
            for way in ["rx", "tx"] {
                let count = told[0]["stats64"][way]["dropped"].as_u64();
                let count = count.with_context(|| format!("no counters of {end}"))?;
                all.push((format!("wire {end} {way}"), count));
            }
        }
        Ok(all)
    }

    /// How many routes Linux has, of both versions.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn routes(&self) -> anyhow::Result<[usize; 2]> {
        let count = |version: &str| -> anyhow::Result<usize> {
            let all = self.sut.ip(&[version, "route", "show", "dev", OUT])?;
            Ok(all.lines().filter(|line| line.contains(" via ")).count())
        };
        Ok([count("-4")?, count("-6")?])
    }
}
