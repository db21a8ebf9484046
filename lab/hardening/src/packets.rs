//! Attacks on a router's own tables, beside packets of its customers ([`Customers`]), of whom the
//! attacker is one.

use super::good::{Served, paced};
use super::raid::{Bench, Found, Raid, Target};
use anyhow::Context;
use forwarder_bench::{Customers, MANAGEMENT, PORTS, ROUTER_MAC, echo, echoed};
use report::scratch::Scratch;
use report::site_file::SiteFile;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

/// Where the router is for the good host, and for the attacker.
const NEAR: &str = "10.1.0.1";
const OWN: &str = "10.3.0.1:9";
const NOBODY: &str = "10.4.0.1:9";
/// Packets to new neighbours a second, to a known one, fragmented ones.
const NEW: f64 = 50.0;
const KNOWN: f64 = 500.0;
const FRAGMENTED: f64 = 20.0;
/// Octets of a packet that is sent in two pieces.
const LONG: &str = "1700";
/// What the attacker sends a second.
const SCAN_RATE: u32 = 20_000;
const FRAGMENTS_RATE: u32 = 2_000;
/// Waits for an answer: the first packet to a new neighbour may have to come again.
const NEW_WAITS: &[Duration] = &[Duration::from_millis(300); 3];
const KNOWN_WAITS: &[Duration] = &[Duration::from_millis(300)];
const FORGED: &str = "198.18.0.0/15";

fn text(scratch: &Scratch, api: SocketAddr) -> String {
    let site = SiteFile::new("pe", scratch.path(), api)
        .with("allow_remote = true\n\n[[pe]]\nname = \"pe1\"");
    let site = PORTS.into_iter().fold(site, |site, (name, _)| {
        site.with(format_args!("[[pe.port]]\nname = \"{name}\"\ndriver = \"af_packet\""))
    });
    let site = PORTS.into_iter().fold(site, |site, (name, address)| {
        let head = format!("[[pe.interface]]\nname = \"{name}\"");
        site.with(format_args!("{head}\naddresses = [\"{address}\"]"))
    });
    site.text()
}

/// Good traffic of a customer beside an attack, in a thread that stands where that customer is.
fn hold(
    bench: &Bench,
    kind: &'static str,
    to: &str,
    rate: u32,
    good: impl FnMut(Duration) -> anyhow::Result<Served> + Send,
) -> anyhow::Result<Found> {
    let (customers, scratch) = (Customers::new()?, Scratch::new("tandem-lab-")?);
    let api = SocketAddr::new(MANAGEMENT.into(), 8_080);
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| -> anyhow::Result<Found> {
            let Customers { router, good: place, evil, .. } = &customers;
            attack::enter(place.name())?;
            let directory = scratch.path();
            let site = bench.site_in(Some(router), directory, &text(&scratch, api), api)?;
            let interface = ("--interface", "eth0".to_owned());
            let raid = Raid {
                sources: FORGED.to_owned(),
                more: vec![interface, ("--mac", ROUTER_MAC.to_owned())],
                namespace: Some(evil.name().to_owned()),
                ..Raid::new(kind, to.parse()?, rate)
            };
            bench.hold(&Target { site: &site, directory, namespace: Some(router) }, &raid, good)
        });
        inside.join().unwrap_or_else(|_| anyhow::bail!("the measuring thread failed"))
    })
}

pub(super) fn neighbour_scan(bench: &Bench) -> anyhow::Result<Found> {
    let mut first = 0;
    hold(bench, "neighbour-scan", NOBODY, SCAN_RATE, move |length| {
        let served = paced(NEW, length, |number| {
            let number = first + number;
            echoed(echo(number), number, NEW_WAITS).unwrap_or(false)
        });
        first += served.asked;
        Ok(served)
    })
}

pub(super) fn neighbour_scan_known(bench: &Bench) -> anyhow::Result<Found> {
    hold(bench, "neighbour-scan", NOBODY, SCAN_RATE, |length| {
        let known = |number| echoed(echo(0), number, KNOWN_WAITS).unwrap_or(false);
        Ok(paced(KNOWN, length, known))
    })
}

pub(super) fn fragments(bench: &Bench) -> anyhow::Result<Found> {
    hold(bench, "fragments", OWN, FRAGMENTS_RATE, |length| {
        let asked = (FRAGMENTED * length.as_secs_f64()) as u64;
        let (count, pause) = (asked.to_string(), (1.0 / FRAGMENTED).to_string());
        let words = ["-n", "-q", "-W", "1", "-s", LONG, "-c", &count, "-i", &pause, NEAR];
        let said = Command::new("ping").args(words).output().context("ping(8)")?;
        let served = received(&String::from_utf8_lossy(&said.stdout));
        Ok(Served { asked, served: served.context("ping(8) does not count")? })
    })
}

/// How many answers ping(8) has counted.
fn received(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains(" packets transmitted, "))?;
    line.split(", ").nth(1)?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ping_counts_is_read() {
        let said = "PING 10.1.0.1\n\n--- statistics ---\n\
            40 packets transmitted, 12 received, 70% packet loss, time 4ms\n";
        assert_eq!(received(said), Some(12));
        assert_eq!(received("ping: no route"), None);
    }
}
