//! Two nodes of a pair in two namespaces on a bridge, with a link of their own between them.
//!
//! ```text
//!  tq-N-gen: br0 10.213.0.1 .2, fd00:213::1 ::2 ── eth0 of tq-N-a, -b: 10.213.0.21, .22
//!                                               tq-N-a eth1 ── eth1 tq-N-b: 10.214.0.1, .2
//! ```

use attack::Namespace;
use peers::{Process, ProcessSpec};
use report::site::Site;
use report::site_file::SiteFile;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for a node to come up, and for a pair to settle.
pub const READY_MAX: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);
const API_PORT: u16 = 8080;
const NODES: [&str; 2] = ["a", "b"];

/// Network namespaces of one run; dropping them removes them.
pub struct Network {
    /// The generator's, and those of the two nodes.
    places: [Namespace; 3],
}

/// Runs ip(8) in one of them.
fn ip(place: &Namespace, words: &str) -> anyhow::Result<()> {
    place.ip(&words.split(' ').collect::<Vec<_>>()).map(drop)
}

impl Network {
    /// Makes them.
    ///
    /// # Errors
    /// Without root or iproute2.
    pub fn new() -> anyhow::Result<Self> {
        let places = [Namespace::new("gen")?, Namespace::new("a")?, Namespace::new("b")?];
        let [hub, nodes @ ..] = &places;
        ip(hub, "link add br0 type bridge")?;
        for end in [1, 2] {
            ip(hub, &format!("addr add 10.213.0.{end}/24 dev br0"))?;
            ip(hub, &format!("addr add fd00:213::{end}/64 dev br0 nodad"))?;
        }
        ip(hub, "link set br0 up")?;
        for (node, at) in nodes.iter().zip(1..) {
            let name = node.name();
            ip(hub, &format!("link add p{at} type veth peer name eth0 netns {name}"))?;
            ip(hub, &format!("link set p{at} master br0 up"))?;
            ip(node, &format!("addr add 10.213.0.{}/24 dev eth0", 20 + at))?;
            ip(node, &format!("addr add fd00:213::{}/64 dev eth0 nodad", 20 + at))?;
            ip(node, "link set eth0 up")?;
        }
        let [one, two] = nodes;
        ip(one, &format!("link add eth1 type veth peer name eth1 netns {}", two.name()))?;
        for (node, end) in [(one, 1), (two, 2)] {
            ip(node, &format!("addr add 10.214.0.{end}/24 dev eth1"))?;
            ip(node, "link set eth1 up")?;
        }
        Ok(Self { places })
    }

    /// Cuts the link between the nodes, or mends it.
    ///
    /// # Errors
    /// When `ip` refuses.
    pub fn cut_pair(&self, is_cut: bool) -> anyhow::Result<()> {
        ip(&self.places[1], &format!("link set eth1 {}", if is_cut { "down" } else { "up" }))
    }

    /// Takes a node's port from the bridge, or gives it back.
    ///
    /// # Errors
    /// When `ip` refuses.
    pub fn cut_off(&self, node: usize, is_cut: bool) -> anyhow::Result<()> {
        let way = if is_cut { "down" } else { "up" };
        ip(&self.places[0], &format!("link set p{} {way}", node + 1))
    }

    /// Takes the interface down by which a node reaches the generator, or up.
    ///
    /// # Errors
    /// When `ip` refuses.
    pub fn take_down(&self, node: usize, is_down: bool) -> anyhow::Result<()> {
        let way = if is_down { "down" } else { "up" };
        ip(&self.places[node + 1], &format!("link set eth0 {way}"))
    }

    /// Moves the calling thread to where the generator is (0), or to a node (1, 2).
    ///
    /// # Errors
    /// When the kernel does not let it.
    pub fn enter(&self, which: usize) -> anyhow::Result<()> {
        attack::enter(self.places[which].name())
    }
}

/// One node of the pair: its process, its API.
pub struct Node {
    api: SocketAddr,
    spec: ProcessSpec,
    process: Option<Process>,
}

/// Where the key of a pair is, from the sites' own directories: beside the folders of its nodes.
pub const KEY_FILE: &str = "../../pair.key";

/// Makes the key of the pair one of whose nodes has `directory`, if there is none yet.
///
/// # Errors
/// When it cannot be written.
pub fn make_key(directory: &Path) -> anyhow::Result<()> {
    let path = directory.join("var").join(KEY_FILE);
    fs::create_dir_all(directory.join("var"))?;
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => Ok(writeln!(file, "a key of the laboratory, which is no secret")?),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Node {
    /// A node that does not run yet; `ssc` adds its controller to its site file.
    ///
    /// # Errors
    /// When its directory cannot be made.
    pub fn new(
        at: usize,
        network: &Network,
        directory: PathBuf,
        binary: &Path,
        ssc: impl Fn(usize, SiteFile) -> SiteFile,
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(&directory)?;
        make_key(&directory)?;
        let api = SocketAddr::from(([10, 213, 0, 21 + at as u8], API_PORT));
        let name = format!("failover-{}", NODES[at]);
        let site = SiteFile::new(&name, &directory, api).with("allow_remote = true");
        fs::write(directory.join("site.toml"), ssc(at, site).text())?;
        let mut spec = Site::spec(binary, &directory);
        spec.namespace = Some(network.places[at + 1].name().to_owned());
        Ok(Self { api, spec, process: None })
    }

    /// Starts it and waits for its API.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start(&mut self) -> anyhow::Result<()> {
        self.spawn()?;
        self.ready()
    }

    /// Starts the process.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(&mut self) -> anyhow::Result<()> {
        self.process = Some(Process::start(&self.spec)?);
        Ok(())
    }

    /// Waits until its API answers.
    ///
    /// # Errors
    /// When it ends first or takes too long.
    pub fn ready(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { anyhow::bail!("it was not started") };
        let ready = process.wait_until(READY_MAX, || self.ask("replica").is_ok());
        self.process = Some(process);
        ready
    }

    /// Kills it.
    pub fn kill(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill();
        }
    }

    /// Asks it to end (SIGTERM) and waits for that; how it ended.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.as_mut().and_then(Process::stop)
    }

    fn url(&self) -> String {
        format!("http://{}", self.api)
    }

    /// Runs `tandem ctl` on it; whether it succeeded.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn ctl(&self, arguments: &[&str]) -> anyhow::Result<bool> {
        let token = fs::read_to_string(self.spec.directory.join("var/token"))?;
        let mut command = Command::new(&self.spec.program);
        command.args(["ctl", "--url", &self.url(), "--token", token.trim()]).args(arguments);
        Ok(command.output()?.status.success())
    }

    /// Asks its controller, or has it do something.
    ///
    /// # Errors
    /// When it does not answer or refuses.
    pub fn call(&self, method: &str, about: &str) -> anyhow::Result<Value> {
        let token = fs::read_to_string(self.spec.directory.join("var/token"))?;
        let url = format!("{}/api/v1/functions/ssc/{about}", self.url());
        let bearer = format!("Bearer {}", token.trim());
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(20)))
            .http_status_as_error(false)
            .proxy(None)
            .build()
            .into();
        let mut answer = match method {
            "POST" => agent.post(&url).header("Authorization", bearer).send_json(json!({}))?,
            _ => agent.get(&url).header("Authorization", bearer).call()?,
        };
        let text = answer.body_mut().read_to_string()?;
        anyhow::ensure!(answer.status().is_success(), "{url}: {text}");
        Ok(serde_json::from_str(&text)?)
    }

    /// Asks its controller.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask(&self, about: &str) -> anyhow::Result<Value> {
        self.call("GET", about)
    }

    /// Whether it says that it is the active one.
    pub fn is_active(&self) -> bool {
        self.process.is_some() && self.ask("replica").is_ok_and(|rows| rows[0]["role"] == "active")
    }

    /// Whether it says that the standby has everything.
    pub fn is_synced(&self) -> bool {
        self.ask("replica").is_ok_and(|rows| rows[0]["synced"] == true)
    }

    /// The end of its log.
    pub fn log_end(&self) -> String {
        self.process.as_ref().map(Process::log_end).unwrap_or_default()
    }
}

/// Waits for something; how long it took, milliseconds.
///
/// # Errors
/// When it does not come.
pub fn wait(what: &str, until: impl Fn() -> bool) -> anyhow::Result<f64> {
    let begun = Instant::now();
    while begun.elapsed() < READY_MAX {
        if until() {
            return Ok(begun.elapsed().as_secs_f64() * 1_000.0);
        }
        thread::sleep(POLL);
    }
    anyhow::bail!("{what}: not within {READY_MAX:?}")
}

/// Waits until one of two nodes is active and the other follows it.
///
/// # Errors
/// When they do not; with the ends of their logs.
pub fn settle(nodes: &[Node; 2]) -> anyhow::Result<f64> {
    let settled = || nodes.iter().any(Node::is_active) && nodes.iter().all(Node::is_synced);
    wait("the pair has not settled", settled)
        .map_err(|error| error.context(nodes.each_ref().map(Node::log_end).join("\n")))
}

/// `[[ssc]]` of one node, with these lines of its own, up to its place in the pair; `link` are the
/// ends of the link between the nodes. `[ssc.replica]` is open.
#[must_use]
pub fn paired(at: usize, site: SiteFile, lines: &str, link: [&str; 2]) -> SiteFile {
    site.with(format_args!("[[ssc]]\nname = \"ssc\"\n{lines}"))
        .with(format_args!("[ssc.replica]\nnode = \"{}\"\npriority = {}", NODES[at], 1 - at))
        .with(format_args!("listen = \"{}\"\npeer = \"{}\"", link[at], link[1 - at]))
        .with(format_args!("key_file = \"{KEY_FILE}\""))
}
