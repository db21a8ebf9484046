//! `pe`: an edge router between two hosts, and a ping through it that goes on while its control
//! is killed and comes back.
//!
//! ```text
//!   host a ── port a ═ forwarder ═ port b ── host b      the ping
//!                          ↑
//!                       control: killed, started again, takes the forwarder over
//! ```

mod echo;
mod kernel;
mod memory;

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use echo::Echoes;
use kernel::Kernel;
use memory::Memory;
use report::site::Site;
use report::site_file::SiteFile;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

pub(crate) const SCENE: Scene = Scene {
    name: "pe",
    line: "an edge router that forwards while its control is killed and comes back",
    about: &[
        "A host pings another through an edge. The packets pass its forwarder, a process of its",
        "own, which was told by its control what to do. The control is killed (SIGKILL), and the",
        "ping goes on; the next control takes the forwarder over, and no packet is lost.",
    ],
    set,
};

const UP_MAX: Duration = Duration::from_secs(60);
/// How long the ping is watched: before, without a control, and after.
const WATCHED: Duration = Duration::from_secs(2);
const TURN: Duration = Duration::from_secs(1);
/// Echo requests: one every so often.
const INTERVAL: Duration = Duration::from_millis(20);

/// Two hosts with the edge between them.
enum Hosts {
    /// The kernel's, a namespace each.
    Kernel(Kernel),
    /// Two ends of shared memory in this process.
    Memory(Memory),
}

impl Hosts {
    /// Namespaces where they can be had; else why not.
    fn new(place: &Place) -> (Self, Option<String>) {
        let why = match Kernel::new(&place.directory) {
            Ok(kernel) => return (Self::Kernel(kernel), None),
            Err(why) => why,
        };
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        let why = if is_root { format!("{why:#}") } else { "that needs root".to_owned() };
        let why =
            format!("no network namespaces ({why}): the hosts are in this process, at memifs");
        (Self::Memory(Memory::new(&place.directory)), Some(why))
    }

    /// The sections of their ports, and of what is known of them.
    fn text(&self) -> String {
        match self {
            Self::Kernel(kernel) => kernel.text(),
            Self::Memory(memory) => memory.text(),
        }
    }

    fn ping(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Kernel(kernel) => kernel.ping(),
            Self::Memory(memory) => memory.ping(),
        }
    }

    fn echoes(&self) -> Echoes {
        match self {
            Self::Kernel(kernel) => kernel.echoes(),
            Self::Memory(memory) => memory.echoes(),
        }
    }

    const fn words(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "a network namespace, with ping(8)",
            Self::Memory(_) => "this process, by shared memory",
        }
    }
}

struct Edge {
    place: Place,
    note: Option<String>,
    text: String,
    api: SocketAddr,
    /// The last one is alive, or was just killed; what they started ends with them.
    controls: Vec<Site>,
    hosts: Hosts,
    /// Echo requests that were answered while nobody controlled the forwarder.
    alone: u64,
    took_over: Duration,
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let api = place.address([127, 0, 0, 1], 8080)?;
    let (hosts, note) = Hosts::new(place);
    let text = SiteFile::new("demo", &place.directory, api)
        .with("\n[[pe]]\nname = \"pe1\"")
        .with(hosts.text())
        .with("[[pe.interface]]\nname = \"a\"\naddresses = [\"198.18.1.1/24\"]")
        .with("[[pe.interface]]\nname = \"b\"\naddresses = [\"198.18.2.1/24\"]")
        .text();
    let (place, controls) = (place.clone(), Vec::new());
    let (alone, took_over) = (0, Duration::ZERO);
    let mut edge = Edge { place, note, text, api, controls, hosts, alone, took_over };
    edge.start()?;
    edge.hosts.ping()?;
    Ok(Box::new(edge))
}

impl Play for Edge {
    fn programme(&self) -> Programme {
        let id = self.controls.last().map_or(0, Site::id);
        Programme {
            note: self.note.clone(),
            look: format!("the metrics of pe1. `kill -9 {id}` kills the control once more"),
            tries: &[
                ["plane ports", "packets in and out, and what was dropped"],
                ["plane graph", "the way of packets: nodes, drops with their reason"],
                ["plane trace pe1 --packets 1", "trace the next packet …"],
                ["plane traced", "… and look at it, node by node"],
                ["plane neighbours", "who answered ARP"],
            ],
            ..Programme::default()
        }
        .with("pe1", "the edge's control, `tandem run`", "")
        .with("its forwarder", "a process of its own", "198.18.1.1, 198.18.2.1")
        .with("host a", self.hosts.words(), "198.18.1.2")
        .with("host b", self.hosts.words(), "198.18.2.2")
    }

    fn console(&self) -> String {
        self.control().console_at("/metrics")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        self.place.must(
            "an answer to the ping",
            UP_MAX,
            || Ok(self.hosts.echoes().answered > 0),
        )?;
        screen.event("host a pings host b through the edge, every 20 ms")?;
        self.place.pause(WATCHED);
        let before = self.hosts.echoes();
        if let Some(control) = self.controls.last_mut() {
            control.crash()?;
        }
        screen.event(&format!("{} answered; the control is killed (kill -9)", before.answered))?;
        self.place.pause(WATCHED);
        let without = self.hosts.echoes();
        self.alone = without.answered - before.answered;
        screen.event(&format!("{} more answered, and nobody is in control", self.alone))?;
        // Also when it is over: who controls the forwarder ends it.
        let begun = Instant::now();
        self.start()?;
        self.took_over = begun.elapsed();
        let time = self.took_over.as_millis();
        screen.event(&format!("the next control has taken the forwarder over, in {time} ms"))?;
        self.place.pause(WATCHED);
        let echoes = self.hosts.echoes();
        let (answered, lost) = (echoes.answered, echoes.sent - echoes.answered);
        screen.event(&format!("{answered} answered in all, {lost} lost"))?;
        Ok(())
    }

    fn goes_on(&self) -> &'static str {
        "the ping goes on; a control that is killed is started again"
    }

    fn go_on(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        self.place.pause(TURN);
        let has_ended = self.controls.last_mut().map(Site::has_ended).transpose()?;
        if has_ended != Some(true) {
            return Ok(());
        }
        let before = self.hosts.echoes().answered;
        screen.event("the control is dead; the next one starts in two seconds")?;
        self.place.pause(WATCHED);
        self.alone += self.hosts.echoes().answered - before;
        self.start()?;
        let id = self.control().id();
        Ok(screen.event(&format!("the next control has taken over, `kill -9 {id}`"))?)
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        let echoes = self.hosts.echoes();
        let ports = self.control().get("functions/pe1/plane/ports")?;
        let ports = ports.as_array().cloned().unwrap_or_default();
        let sent = ports.iter().filter_map(|port| port["sent"].as_u64()).sum();
        let took = self.took_over.as_millis() as u64;
        let round = format!("median of the round trips {} µs", echoes.median_us());
        Ok(vec![
            Figure::all(echoes.answered, echoes.sent, "echo requests answered").noting(round),
            Figure::some(self.alone, "of them answered without a control"),
            Figure::some(took, "ms for the next control to take over"),
            Figure::some(sent, "packets that the forwarder sent"),
        ])
    }

    fn logs(&self) -> Vec<(String, String)> {
        let log = self.place.directory.join("var/pe1.forwarder.log");
        let forwarder = std::fs::read_to_string(log).unwrap_or_default();
        let control = self.controls.last().map(Site::log_end).unwrap_or_default();
        vec![("the forwarder".into(), forwarder), ("the control".into(), control)]
    }
}

impl Edge {
    fn control(&self) -> &Site {
        self.controls.last().expect("the first is started with the scene")
    }

    /// Starts a control. Those before it are kept until the end, for the forwarder's sake.
    fn start(&mut self) -> anyhow::Result<()> {
        let mut spec = Site::spec(&self.place.tandem, &self.place.directory);
        spec.name = format!("control-{}", self.controls.len());
        self.controls.push(Site::start(&spec, &self.text, self.api)?);
        Ok(())
    }
}

impl Drop for Edge {
    /// The last control ends first, and its forwarder with it. Where none is left, nobody would end
    /// the forwarder: then there is one more.
    fn drop(&mut self) {
        let has_ended = self.controls.last_mut().map(Site::has_ended);
        if matches!(has_ended, Some(Ok(true))) {
            // Where it does not start the forwarder stays, as after any crash.
            let _ = self.start();
        }
        while let Some(control) = self.controls.pop() {
            drop(control);
        }
    }
}
