//! `cluster`: three signalling gateways with one point code share dialogues of TCAP; one of them is
//! killed amid them, and none is lost.
//!
//! ```text
//!             ┌ tcp ─ node-1 ══╗  48 partitions of the dialogues: each active at one node,
//!   callers ──┼ tcp ─ node-2 ══╬  standby at another
//!   (ASPs)    └ tcp ─ node-3 ══╝  an instance of the application at each
//! ```

mod application;
mod callers;

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use crate::start::Start;
use anyhow::Context;
use application::Instance;
use callers::Callers;
use report::site::Site;
use report::site_file::SiteFile;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub(crate) const SCENE: Scene = Scene {
    name: "cluster",
    line: "three signalling gateways with one point code: one dies, no dialogue is lost",
    about: &[
        "Three gateways share a point code and the dialogues of TCAP to it. Of each dialogue",
        "that stands another node has a copy. One node is killed (SIGKILL): the others serve",
        "what it had, and every dialogue goes on. Then it comes back, and has its share again.",
    ],
    set,
};

const NAMES: [&str; NODES] = ["node-1", "node-2", "node-3"];
const NODES: usize = 3;
/// The one that is killed.
const LOST: usize = 1;
const PARTITIONS: u64 = 48;
const SHARE: u64 = PARTITIONS / NODES as u64;
/// Dialogues that stand when it is killed, and while it comes back.
const DIALOGUES: u64 = 300;
const RETURNING: u64 = 60;
/// Dialogues of which something is under way at a time.
const WINDOW: u64 = 20;
/// A silence after which a node is dead: all share this machine with whatever else it does.
const DETECT_MS: u32 = 1_000;
const UP_MAX: Duration = Duration::from_secs(60);
/// What goes on.
const TURN: u64 = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// Where the nodes listen: for their peers, and for each other.
struct Addresses {
    tcp: [SocketAddr; NODES],
    links: [SocketAddr; NODES],
    collector: SocketAddr,
}

struct Cluster {
    place: Place,
    /// Before the callers: nodes that stand while their ASPs leave raise alarms about that.
    nodes: [Site; NODES],
    starts: [Start; NODES],
    callers: Callers,
    instances: [Option<Instance>; NODES],
    addresses: Addresses,
    /// Dialogues that the node had when it was killed, and until all partitions were served again.
    had: u64,
    took: Duration,
    /// Dialogues that ended after its death, and those that stood while it came back.
    after: u64,
    returned: u64,
    /// Partitions that it has again.
    back: u64,
    since: u64,
}

fn address(node: usize, port: u16, place: &Place) -> anyhow::Result<SocketAddr> {
    let last = u8::try_from(61 + node).context("few nodes")?;
    place.address([127, 0, 0, last], port)
}

fn all<T>(of: impl Fn(usize) -> anyhow::Result<T>) -> anyhow::Result<[T; NODES]> {
    Ok([of(0)?, of(1)?, of(2)?])
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let addresses = Addresses {
        tcp: all(|node| address(node, 2905, place))?,
        links: all(|node| address(node, 5990, place))?,
        collector: place.address([127, 0, 0, 1], 9060)?,
    };
    let start = |node: usize| {
        let text = |site: SiteFile| section(site, node, &addresses);
        match node {
            0 => Start::own(place, NAMES[node], text),
            _ => Start::beside(place, NAMES[node], text),
        }
    };
    let starts = all(start)?;
    let nodes = all(|node| starts[node].start(place))?;
    let instances = all(|node| Instance::connect(&starts[node].file(application::SOCKET)))?;
    let callers = Callers::connect(&addresses.tcp)?;
    let scene = Cluster {
        place: place.clone(),
        nodes,
        starts,
        callers,
        instances: instances.map(Some),
        addresses,
        had: 0,
        took: Duration::ZERO,
        after: 0,
        returned: 0,
        back: 0,
        since: 0,
    };
    for node in 0..NODES {
        scene.ready(node)?;
    }
    Ok(Box::new(scene))
}

/// A node's site; the first one has the trails of all.
fn section(site: SiteFile, node: usize, addresses: &Addresses) -> String {
    let Addresses { tcp, links, collector } = addresses;
    let trails = format!("[sas]\nlisten = [\"tcp:{collector}\"]\n");
    let trails = if node == 0 { trails.as_str() } else { "" };
    let (own, hlr) = (tcp[node], callers::HLR);
    let (name, socket) = (application::NAME, application::SOCKET);
    let peer = "{ name = \"msc\", role = \"asp\", transport = \"tcp\", \
                addresses = [\"127.0.0.1\"] }";
    let served = "{ name = \"msc\", peers = [\"msc\"], routing_context = 1, \
                  destination = [{ point_code = \"2-100-1\" }] }";
    let site = site
        .with(format_args!("{trails}[[sgc]]\nname = \"stp\""))
        .with(format_args!("point_codes = [\"2-100-5\"]\ncapture = \"tcp:{collector}\""))
        .with(format_args!("tcp = {{ listen = [\"{own}\"] }}"))
        .with(format_args!("peer = [{peer}]\napplication_server = [{served}]"))
        // No MSU waits too long where a busy machine is what keeps it waiting.
        .with("limits = { delay_max_ms = 0 }")
        .with(format_args!("subsystem = [{{ name = \"hlr\", number = {hlr}, user = \"tcap\" }}]"))
        .with(format_args!("[[sgc.application]]\nname = \"{name}\"\nsubsystem = \"hlr\""))
        .with(format_args!("listen = [\"unix:{socket}\"]"))
        .with(format_args!("[sgc.cluster]\nnode = {}\nheartbeat_ms = 100", node + 1))
        .with(format_args!("detect_ms = {DETECT_MS}\nrebalance_s = 1\nnodes = ["));
    let line = |site: SiteFile, (number, address): (usize, &SocketAddr)| {
        site.with(format_args!("  {{ number = {}, address = \"{address}\" }},", number + 1))
    };
    links.iter().enumerate().fold(site, line).with("]").text()
}

impl Play for Cluster {
    fn programme(&self) -> Programme {
        let programme = Programme {
            look: "SS7, Cluster: nodes, links and partitions on one screen, while node-2 dies and \
                   comes back; the alarms; Dialogues: each as a ladder, by which node it went on"
                .into(),
            tries: &[
                ["cluster", "the nodes: who is heard, what each serves"],
                ["cluster partitions", "who serves each, who stands by, how many dialogues"],
                ["cluster links", "who hears whom"],
                ["cluster drain", "node-1 gives its partitions away; `cluster undrain` ends that"],
                ["applications --instances", "who answers the dialogues"],
                ["alarms --history", "what was raised when node-2 died, and when it ended"],
            ],
            ..Programme::default()
        };
        let what = "a node of the gateway, `tandem run`";
        let with =
            |it: Programme, (name, address): (&&str, &SocketAddr)| it.with(name, what, address);
        NAMES
            .iter()
            .zip(&self.addresses.tcp)
            .fold(programme, with)
            .with("callers", "point code 2-100-1, an ASP at each node, over TCP", "127.0.0.1")
            .with("hlr", "an application, in this process", "a Unix socket of each node")
    }

    fn console(&self) -> String {
        self.nodes[0].console_at("/ss7?view=cluster")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        screen.event(&format!(
            "three nodes serve {PARTITIONS} partitions, {SHARE} each; each has a copy elsewhere"
        ))?;
        self.begin(DIALOGUES)?;
        self.had = self.dialogues(LOST)?;
        let name = NAMES[LOST];
        screen.event(&format!("{DIALOGUES} dialogues stand, {} of them at {name}", self.had))?;
        self.lose()?;
        let ms = self.took.as_millis();
        screen
            .event(&format!("{name} was killed (kill -9): all are served again after {ms} ms"))?;
        screen.event(&format!("the page and the alarms say: {}", self.alarm()?))?;
        self.after = self.end()?;
        screen.event(&format!("{} dialogues went on at the other two, and ended", self.after))?;
        self.begin(RETURNING)?;
        screen.event(&format!("{RETURNING} new ones stand; {name} is started again"))?;
        self.come_back()?;
        screen.event(&format!("it has {} partitions again, and nobody noticed", self.back))?;
        self.returned = self.end()?;
        screen
            .event(&format!("{} dialogues went on while they moved, and ended", self.returned))?;
        Ok(())
    }

    fn goes_on(&self) -> &'static str {
        "ten dialogues a second go on"
    }

    fn go_on(&mut self, _: &mut Screen) -> anyhow::Result<()> {
        // Who tries things may drain a node: what waits is looked for again in the next turn.
        self.callers.begin(TURN)?;
        let (callers, place) = (&mut self.callers, &self.place);
        place.until(PAUSE, || callers.turn().map(|()| false))?;
        let before = self.callers.ended;
        self.callers.go_on(u64::MAX)?;
        let (callers, place) = (&mut self.callers, &self.place);
        place.until(PAUSE, || callers.turn().map(|()| callers.standing() == 0))?;
        self.since += self.callers.ended - before;
        Ok(())
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        let crossed = self.crossed();
        let took = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        let detects = format!("a node is dead after {DETECT_MS} ms of silence here (detect_ms)");
        let had = format!("{} of them were at {} when it died", self.had, NAMES[LOST]);
        let mut figures = vec![
            Figure::all(self.after, DIALOGUES, "dialogues that stood, went on and ended")
                .noting(had),
            Figure::some(took, "ms until all partitions were served again").noting(detects),
            Figure::all(self.back, SHARE, "partitions that it has since it came back"),
            Figure::all(self.returned, RETURNING, "dialogues that stood while they moved back"),
            Figure::some(crossed, "messages that crossed from node to node"),
        ];
        if self.since > 0 {
            figures.push(Figure::some(self.since, "dialogues since"));
        }
        Ok(figures)
    }

    fn logs(&self) -> Vec<(String, String)> {
        let nodes = NAMES.iter().zip(&self.nodes);
        nodes.map(|(name, site)| ((*name).to_owned(), site.log_end())).collect()
    }
}

impl Cluster {
    fn rows(&self, node: usize, question: &str) -> anyhow::Result<Vec<Value>> {
        let rows = self.nodes[node].get(&format!("functions/stp/{question}"))?;
        Ok(rows.as_array().cloned().unwrap_or_default())
    }

    /// Waits until a node has its share of the partitions with a copy of each elsewhere, and an
    /// instance of the application.
    fn ready(&self, node: usize) -> anyhow::Result<()> {
        self.place.must(&format!("{}, whole", NAMES[node]), UP_MAX, || {
            let rows = self.rows(node, "cluster/partitions")?;
            let here: Vec<_> = rows.iter().filter(|it| it["here"] == true).collect();
            let has_copy = |it: &&Value| it["standbys"].as_array().is_some_and(|it| !it.is_empty());
            let instances = self.rows(node, "applications/instances")?;
            Ok(here.len() as u64 == SHARE
                && here.iter().all(has_copy)
                && instances.iter().any(|it| it["state"] == "ready"))
        })
    }

    /// Dialogues that stand at a node.
    fn dialogues(&self, node: usize) -> anyhow::Result<u64> {
        let rows = self.rows(node, "cluster/partitions")?;
        let here = rows.iter().filter(|it| it["here"] == true);
        Ok(here.filter_map(|it| it["dialogues"].as_u64()).sum())
    }

    /// Begins dialogues, and waits until all stand.
    fn begin(&mut self, count: u64) -> anyhow::Result<()> {
        let (callers, place) = (&mut self.callers, &self.place);
        while callers.standing() < count {
            let more = WINDOW.min(count - callers.standing());
            let wanted = callers.standing() + more;
            callers.begin(more)?;
            place.must("dialogues that stand", UP_MAX, || {
                callers.turn()?;
                Ok(callers.standing() == wanted)
            })?;
        }
        Ok(())
    }

    /// Lets all that stand go on to their ends; how many ended.
    fn end(&mut self) -> anyhow::Result<u64> {
        let (callers, place) = (&mut self.callers, &self.place);
        let before = callers.ended;
        while callers.standing() > 0 {
            let left = callers.standing().saturating_sub(WINDOW);
            callers.go_on(WINDOW)?;
            place.must("the ends of all that stood", UP_MAX, || {
                callers.turn()?;
                Ok(callers.standing() == left)
            })?;
        }
        Ok(callers.ended - before)
    }

    /// Kills a node, and waits until the others serve all that it had.
    fn lose(&mut self) -> anyhow::Result<()> {
        self.nodes[LOST].crash()?;
        let begun = Instant::now();
        self.callers.leave(LOST);
        self.instances[LOST] = None;
        let lost = LOST as u64 + 1;
        // All of them know: what one still passes on to the dead node is lost.
        self.place.must("all partitions at the others", UP_MAX, || {
            for node in (0..NODES).filter(|it| *it != LOST) {
                let rows = self.rows(node, "cluster/partitions")?;
                let served = rows.iter().filter_map(|it| it["active"].as_u64());
                if served.filter(|it| *it != lost).count() as u64 != PARTITIONS {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        self.took = begun.elapsed();
        Ok(())
    }

    /// What the first node raises about the one that is not heard.
    fn alarm(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        self.place.must("the alarm of the loss", UP_MAX, || {
            let rows = self.nodes[0].get("alarms")?;
            let mut rows = rows.as_array().into_iter().flatten();
            let row = rows.find(|it| it["name"] == "cluster-node-lost");
            text = row.and_then(|it| it["text"].as_str()).unwrap_or_default().to_owned();
            Ok(!text.is_empty())
        })?;
        Ok(text)
    }

    /// Starts the node again, and waits until it has its share.
    fn come_back(&mut self) -> anyhow::Result<()> {
        self.nodes[LOST] = self.starts[LOST].start(&self.place)?;
        let socket = self.starts[LOST].file(application::SOCKET);
        self.instances[LOST] = Some(Instance::connect(&socket)?);
        self.ready(LOST)?;
        self.callers.come(LOST, self.addresses.tcp[LOST])?;
        let rows = self.rows(LOST, "cluster/partitions")?;
        self.back = rows.iter().filter(|it| it["here"] == true).count() as u64;
        Ok(())
    }

    /// Messages that the nodes which are there have passed to each other.
    fn crossed(&self) -> u64 {
        let counters = self.nodes.iter().map(|it| it.counter("sgc_cluster_crossed_total"));
        counters.filter_map(Result::ok).sum()
    }
}
