//! Attacks on what the nodes of a pair and their arbiter tell each other, beside calls. One node
//! runs, its peer does not: whoever speaks with the peer's address is the attacker.

use super::calls::{CALLS, calls};
use super::good::Served;
use super::raid::{Bench, Found, LOCAL, Raid, Target, make_key, panics};
use peers::free_port;
use report::site::Site;
use report::site_file::SiteFile;
use runtime::Transport;
use sbc::{Load, Shape, Topology, site};
use serde_json::json;
use sip_load::Ladder;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// The node that does not run.
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 32));
const SECTION: &str = "ssc.replica";
/// Time for a node to become active.
const ACTIVE_MAX: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);
/// Datagrams a second.
const BEATS_RATE: u32 = 1_000;
const REQUESTS_RATE: u32 = 1_000;
/// An arbiter that just started votes for nobody for so long.
const SILENCE: Duration = Duration::from_secs(2);

/// The site of the one node.
fn node(
    bench: &Bench,
    topology: &Topology,
    arbiter: Option<SocketAddr>,
) -> anyhow::Result<(SiteFile, SocketAddr)> {
    let listen = free_port(LOCAL)?;
    let peer = SocketAddr::new(PEER, listen.port());
    make_key(topology.directory(), "pair.key")?;
    let arbiter = arbiter.map(|at| format!("\narbiter = \"{at}\"")).unwrap_or_default();
    let text = site(topology, &Shape::default())
        .with(format_args!("[ssc.replica]\nnode = \"a\"\nlisten = \"{listen}\"\npeer = \"{peer}\""))
        .with(bench.line(SECTION, "key_file", "\"pair.key\""))
        .with(arbiter.trim());
    Ok((text, listen))
}

/// Waits until the node serves; whether it does.
fn is_active(site: &Site) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < ACTIVE_MAX {
        let rows = site.get("functions/ssc/replica");
        if rows.is_ok_and(|rows| rows[0]["role"] == "active") {
            return true;
        }
        std::thread::sleep(LOOK);
    }
    false
}

pub(super) fn replica(bench: &Bench) -> anyhow::Result<Found> {
    let topology = Topology::new()?;
    let (text, listen) = node(bench, &topology, None)?;
    let site = bench.site(topology.directory(), &text.text(), topology.api)?;
    anyhow::ensure!(is_active(&site), "a node without a peer does not become active");
    let load = Load::start_without_sink(&topology, Ladder::built_in("SIP")?, Transport::Udp)?;
    let raid = Raid { sources: format!("{PEER}/32"), ..Raid::new("replica", listen, BEATS_RATE) };
    let mut found = bench.hold(&Target::new(&site, topology.directory()), &raid, |length| {
        calls(&load, CALLS, length)
    })?;
    found.more = json!({ "key": bench.knows(SECTION, "key_file") });
    Ok(found)
}

/// A node that needs the arbiter's vote begins, and places calls once it serves.
fn take_over(
    bench: &Bench,
    raid: bool,
) -> anyhow::Result<(Served, Option<serde_json::Value>, Left)> {
    let topology = Topology::new()?;
    let directory = topology.directory().join("arbiter");
    make_key(&directory, "pair.key")?;
    let (vote, api) = (free_port(LOCAL)?, free_port(LOCAL)?);
    let text = SiteFile::new("arbiter", &directory, api)
        .with(format_args!("\n[arbiter]\nlisten = \"{vote}\""));
    let is_keyed = bench.knows(SECTION, "key_file");
    let text = if is_keyed {
        text.with("[[arbiter.pair]]\npair = 1\nkey_file = \"pair.key\"")
    } else {
        text
    };
    let arbiter = bench.site(&directory, &text.text(), api)?;
    let before = arbiter.usage().resident_bytes;
    let asked = Raid::new("arbiter", vote, REQUESTS_RATE);
    let attacker = raid.then(|| bench.attack(&asked, topology.directory())).transpose()?;
    std::thread::sleep(SILENCE);
    let (text, _) = node(bench, &topology, Some(vote))?;
    let site = bench.site(topology.directory(), &text.text(), topology.api)?;
    let served = if is_active(&site) {
        let load = Load::start_without_sink(&topology, Ladder::built_in("SIP")?, Transport::Udp)?;
        calls(&load, CALLS, bench.length)?
    } else {
        Served { asked: (CALLS * bench.length.as_secs_f64()) as u64, served: 0 }
    };
    let after = arbiter.usage().resident_bytes;
    let left = Left {
        grown_octets: i64::try_from(after)? - i64::try_from(before)?,
        panics: panics(&directory) + panics(topology.directory()),
        lives: after > 0 && site.get("counters").is_ok(),
    };
    Ok((served, attacker.map(super::raid::Attacker::end).transpose()?, left))
}

/// What is left of the processes.
struct Left {
    grown_octets: i64,
    panics: u64,
    lives: bool,
}

pub(super) fn arbiter(bench: &Bench) -> anyhow::Result<Found> {
    let (without, ..) = take_over(bench, false)?;
    let (beside, attack, left) = take_over(bench, true)?;
    let Left { grown_octets, panics, lives } = left;
    let more = json!({ "key": bench.knows(SECTION, "key_file") });
    let attack = attack.unwrap_or_default();
    Ok(Found { without, beside, attack, grown_octets, panics, lives, more })
}
