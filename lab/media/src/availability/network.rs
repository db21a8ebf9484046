//! Where the nodes stand: a namespace each, on a bridge of signalling and two of media.
//!
//! ```text
//!   hub: br0 10.213.0.1 .2 ── eth0 of ssc-a .21, ssc-b .22, arbiter .29, media controllers .31 …
//!        access, core ────── access, core of every media controller; left, right of the tester
//! ```

use attack::{Namespace, run_ip};
use forwarder_bench::{LEFT, RIGHT, Testbed};
use report::site::Site;
use report::site_file::SiteFile;
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The bridges of the hub, and the interface of a node at each.
const BRIDGES: [(&str, &str); 3] = [("br0", "eth0"), ("access", "access"), ("core", "core")];
/// Where the key of a pair is, from the directories of sites.
const KEY_FILE: &str = "../../pair.key";
const REPLICA_PORT: u16 = 5_999;
const ARBITER_PORT: u16 = 5_998;
const API_PORT: u16 = 8_080;
/// Time for what is waited for.
const READY_MAX: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// A node's name and the last octet of its address of signalling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) last: u8,
}

impl Host {
    /// The third vote of pairs.
    pub(super) fn arbiter() -> Self {
        Self { name: "arbiter".to_owned(), last: 29 }
    }

    fn has_media(&self) -> bool {
        self.name.starts_with("msc")
    }
}

/// The program that all nodes run, and the core of its control.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program<'a> {
    pub(super) binary: &'a Path,
    pub(super) core: usize,
}

/// The namespaces. Dropping them removes them.
pub(super) struct Network {
    /// The tester's, and the hub in the place of what is tested.
    pub(super) ground: Testbed,
    places: Vec<(String, Namespace)>,
}

impl Network {
    /// With a place for each of these nodes, of which media controllers have a part in media.
    ///
    /// # Errors
    /// Without root, ip(8) or namespaces.
    pub(super) fn new(nodes: &[Host], directory: &Path) -> anyhow::Result<Self> {
        let (side, sut) = (Namespace::new("side")?, Namespace::new("hub")?);
        let ground = Testbed { side, sut, directory: directory.to_owned() };
        let hub = &ground.sut;
        for namespace in [&ground.side, hub] {
            namespace.set("net.ipv6.conf.default.disable_ipv6", "1")?;
        }
        for (bridge, _) in BRIDGES {
            hub.ip(&["link", "add", bridge, "type", "bridge"])?;
            hub.ip(&["link", "set", bridge, "up"])?;
        }
        for end in [1, 2] {
            hub.ip(&["address", "add", &format!("10.213.0.{end}/24"), "dev", "br0"])?;
        }
        for (bridge, end) in [("access", LEFT), ("core", RIGHT)] {
            wire(hub, &format!("p-{end}"), bridge, &ground.side, end)?;
        }
        let mut places = Vec::new();
        for host in nodes {
            let Host { name, last } = host;
            let place = Namespace::new(name)?;
            place.set("net.ipv6.conf.default.disable_ipv6", "1")?;
            let count = if host.has_media() { BRIDGES.len() } else { 1 };
            for (bridge, device) in &BRIDGES[..count] {
                wire(hub, &port(name, device), bridge, &place, device)?;
            }
            place.ip(&["address", "add", &format!("10.213.0.{last}/24"), "dev", "eth0"])?;
            places.push((name.clone(), place));
        }
        Ok(Self { ground, places })
    }

    /// Takes a node from all bridges.
    ///
    /// # Errors
    /// What ip(8) says.
    pub(super) fn cut_off(&self, name: &str) -> anyhow::Result<()> {
        BRIDGES.iter().try_for_each(|(_, device)| {
            self.ground.sut.ip(&["link", "set", &port(name, device), "down"]).map(drop)
        })
    }

    /// Gives it back.
    ///
    /// # Errors
    /// What ip(8) says.
    pub(super) fn give_back(&self, name: &str) -> anyhow::Result<()> {
        BRIDGES.iter().try_for_each(|(_, device)| {
            self.ground.sut.ip(&["link", "set", &port(name, device), "up"]).map(drop)
        })
    }

    fn place(&self, name: &str) -> Option<String> {
        let place = self.places.iter().find(|(other, _)| other == name);
        place.map(|(_, namespace)| namespace.name().to_owned())
    }
}

/// The hub's end of a node's wire.
fn port(name: &str, device: &str) -> String {
    // Fifteen octets at most.
    format!("{name}-{}", &device[..1])
}

fn wire(
    hub: &Namespace,
    end: &str,
    bridge: &str,
    place: &Namespace,
    device: &str,
) -> anyhow::Result<()> {
    let far = ["type", "veth", "peer", "name", device, "netns", place.name()];
    run_ip(&[&["link", "add", end, "netns", hub.name()][..], &far].concat())?;
    hub.ip(&["link", "set", end, "master", bridge, "up"])?;
    place.ip(&["link", "set", device, "up"]).map(drop)
}

/// A node.
pub(super) struct Node {
    /// Its name, and that of its function.
    pub(super) name: String,
    function: String,
    spec: peers::ProcessSpec,
    text: String,
    api: SocketAddr,
    site: Option<Site>,
}

impl Node {
    /// One that does not run yet; `more` adds its function to its site.
    ///
    /// # Errors
    /// When its directory cannot be made.
    pub(super) fn new(
        network: &Network,
        host: &Host,
        function: &str,
        program: Program<'_>,
        more: impl FnOnce(SiteFile) -> SiteFile,
    ) -> anyhow::Result<Self> {
        let Host { name, last } = host;
        let directory: PathBuf = network.ground.directory.join(name);
        fs::create_dir_all(directory.join("var"))?;
        make_key(&directory.join("var").join(KEY_FILE))?;
        let api = SocketAddr::from(([10, 213, 0, *last], API_PORT));
        let site = SiteFile::new(name, &directory, api).with("allow_remote = true");
        let mut spec = Site::spec(program.binary, &directory);
        (spec.namespace, spec.core) = (network.place(name), Some(program.core));
        let (name, function) = (name.clone(), function.to_owned());
        let text = more(site).text();
        Ok(Self { name, function, spec, text, api, site: None })
    }

    /// Starts it and waits for its API.
    ///
    /// # Errors
    /// When it does not come up.
    pub(super) fn start(&mut self) -> anyhow::Result<()> {
        self.site = Some(Site::start_node(&self.spec, &self.text, self.api)?);
        Ok(())
    }

    /// Its site.
    ///
    /// # Errors
    /// When it does not run.
    pub(super) fn site(&self) -> anyhow::Result<&Site> {
        self.site.as_ref().ok_or_else(|| anyhow::anyhow!("{} does not run", self.name))
    }

    /// Kills it and all that it started.
    pub(super) fn kill(&mut self) {
        if let Some(mut site) = self.site.take() {
            site.kill();
        }
    }

    /// Kills its site alone: a forwarder goes on.
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub(super) fn crash(&mut self) -> anyhow::Result<()> {
        self.site.take().map_or(Ok(()), |mut site| site.crash())
    }

    /// Kills its forwarder alone.
    ///
    /// # Errors
    /// When it has none.
    pub(super) fn kill_forwarder(&self) -> anyhow::Result<()> {
        let forwarder = self.site()?.forwarders().into_iter().next();
        forwarder.ok_or_else(|| anyhow::anyhow!("no forwarder of {}", self.name))?.kill()
    }

    /// Asks its function.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) fn ask(&self, about: &str) -> anyhow::Result<serde_json::Value> {
        self.site()?.get(&format!("functions/{}/{about}", self.function))
    }

    /// Hands over to the other node of its pair.
    ///
    /// # Errors
    /// When it refuses.
    pub(super) fn switch_over(&self) -> anyhow::Result<()> {
        self.site()?.post(&format!("functions/{}/switchover", self.function)).map(drop)
    }

    /// Whether it is the active node of its pair.
    pub(super) fn is_active(&self) -> bool {
        self.ask("replica").is_ok_and(|rows| rows[0]["role"] == "active")
    }

    /// Whether it says that the other node has everything.
    pub(super) fn is_synced(&self) -> bool {
        self.ask("replica").is_ok_and(|rows| rows[0]["synced"] == true)
    }

    /// The end of its log.
    pub(super) fn log_end(&self) -> String {
        let end = self.site.as_ref().map(Site::log_end).unwrap_or_default();
        format!("{}:\n{end}", self.name)
    }
}

fn make_key(path: &Path) -> anyhow::Result<()> {
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => Ok(writeln!(file, "a key of the laboratory, which is no secret")?),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A node's place in its pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Half<'a> {
    /// The function's section.
    pub(super) of: &'a str,
    /// Number of the pair.
    pub(super) pair: u32,
    /// Whether it is node `a` (0) or `b` (1).
    pub(super) at: usize,
    /// Last octet of the address of signalling of node `a`, which that of `b` follows.
    pub(super) first: u8,
    /// Whether an arbiter has the third vote.
    pub(super) has_arbiter: bool,
}

impl Half<'_> {
    /// Its lines of a site.
    pub(super) fn text(&self) -> String {
        let Self { of, pair, at, first, has_arbiter } = *self;
        let address = |at: usize| format!("10.213.0.{}:{REPLICA_PORT}", usize::from(first) + at);
        let arbiter =
            if has_arbiter { format!("\narbiter = \"{}\"", arbiter()) } else { String::new() };
        format!(
            "[{of}.replica]\npair = {pair}\nnode = \"{}\"\npriority = {}\nlisten = \"{}\"\n\
            peer = \"{}\"\nkey_file = \"{KEY_FILE}\"{arbiter}",
            ["a", "b"][at],
            1 - at,
            address(at),
            address(1 - at)
        )
    }
}

fn arbiter() -> SocketAddr {
    SocketAddr::from(([10, 213, 0, Host::arbiter().last], ARBITER_PORT))
}

/// The arbiter of these pairs, for a site.
pub(super) fn arbitration(site: SiteFile, pairs: impl Iterator<Item = u32>) -> SiteFile {
    let site = site.with(format_args!("[arbiter]\nlisten = \"{}\"", arbiter()));
    pairs.fold(site, |site, pair| {
        let key = format!("key_file = \"{KEY_FILE}\"");
        site.with(format_args!("[[arbiter.pair]]\npair = {pair}\n{key}"))
    })
}

/// Waits for something.
///
/// # Errors
/// When it does not come.
pub(super) fn wait(what: &str, until: impl Fn() -> bool) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !until() {
        anyhow::ensure!(begun.elapsed() < READY_MAX, "{what}: not within {READY_MAX:?}");
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Waits until one of two nodes is active and the other follows it.
///
/// # Errors
/// When they do not; with the ends of their logs.
pub(super) fn settle(nodes: &[Node]) -> anyhow::Result<()> {
    let settled = || nodes.iter().any(Node::is_active) && nodes.iter().all(Node::is_synced);
    let logs = || nodes.iter().map(Node::log_end).collect::<Vec<_>>().join("\n");
    wait("the pair has not settled", settled).map_err(|error| error.context(logs()))
}
