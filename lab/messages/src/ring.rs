//! `ipsmgw-ring`: gateways that are their own service centres and share a ring of three nodes of
//! Apache Cassandra. One of those is killed under load, and brought back. Then another driver reads
//! what was acknowledged.
//!
//! ```text
//!   S-CSCF with terminals ══ each request to one ══ gateway 1, 2 ══ CQL ══ 127.0.0.1, .2, .3
//! ```

use crate::book::{Book, Core};
use crate::nodes::DOMAIN;
use anyhow::Context;
use peers::{Cassandra, CassandraSpec};
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use report::site::{self, Site};
use report::site_file::SiteFile;
use serde_json::json;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const NAME: &str = "ipsmgw-ring";
const GATEWAY: &str = "447700000090";
/// Nodes of the ring, and gateways.
const NODES: u8 = 3;
const GATEWAYS: usize = 2;
/// Sessions a second.
const PER_S: f64 = 100.0;
const KEYSPACE: &str = "tandem";
/// How long a gateway waits for the ring, and how much later than the kill a session may begin and
/// fail: the driver's own time.
const ANSWER: Duration = Duration::from_secs(2);
/// For stores to open, and for what waits to be delivered.
const PATIENCE: Duration = Duration::from_secs(120);
/// Sessions that end after this have failed.
const LEFT: Duration = Duration::from_secs(8);

struct Size {
    subscribers: u32,
    /// Before a node is killed, while it is away, and after.
    part: Duration,
}

impl Size {
    fn of(options: &Options) -> Self {
        let (subscribers, seconds) = match (options.quick, options.plane.full) {
            (true, _) => (200, 10),
            (false, false) => (1_000, 30),
            (false, true) => (5_000, 120),
        };
        Self { subscribers, part: Duration::from_secs(seconds) }
    }
}

fn ring() -> anyhow::Result<Vec<Cassandra>> {
    let address = |node: u8| IpAddr::from([127, 0, 0, node]);
    let [port, storage_port] = [peers::free_port(address(1))?, peers::free_port(address(1))?];
    let nodes = (1..=NODES).map(|node| {
        Cassandra::start(&CassandraSpec {
            address: address(node),
            port: port.port(),
            storage_port: storage_port.port(),
            seed: address(1),
            has_users: false,
            tls: None,
        })
    });
    nodes.collect()
}

fn section(node: usize, sip: SocketAddr, core: SocketAddr, ring: &[Cassandra]) -> String {
    let nodes: Vec<String> = ring.iter().map(|it| format!("\"{}\"", it.at)).collect();
    format!(
        "\n[[ipsmgw]]\nname = \"sms\"\nnumber = \"{GATEWAY}\"\ndomain = \"{DOMAIN}\"\n\
         listen = [\"udp:{sip}\"]\nnext_hop = [{{ name = \"scscf\", targets = [\"udp:{core}\"], \
         probe_interval_s = 0 }}]\nlimits = {{ sender_per_s = 1000 }}\n\
         [ipsmgw.centre]\nretries_s = [2]\n\
         [ipsmgw.store]\nbackend = \"cassandra\"\nnodes = [{}]\nkeyspace = \"{KEYSPACE}\"\n\
         replication = {NODES}\ndatacenter = \"datacenter1\"\nowner = \"sms{node}\"\n\
         answer_ms = {}\n",
        nodes.join(", "),
        ANSWER.as_millis()
    )
}

/// Runs it.
///
/// # Errors
/// When ring or gateways do not come up, or subscribers do not register.
pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let size = Size::of(options);
    let progress = Progress::new(NAME, 5);
    progress.say("a ring of three nodes starts, 1 GB each");
    let mut ring = ring()?;
    progress.step();
    let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let gateways = Gateways::start(options, socket.local_addr()?, &ring)?;
    let mut core = Core::spread(socket, gateways.sip.clone(), size.subscribers)?;
    progress.say(&format!("{} subscribers register", size.subscribers));
    for number in 0..size.subscribers {
        core.register(number)?;
        core.turn(Duration::from_millis(5))?;
    }
    core.settle(LEFT)?;
    let stand = core.book.registered().count();
    anyhow::ensure!(stand == size.subscribers as usize, "{stand} are registered");
    progress.step();
    progress.say(&format!("{PER_S:.0} sessions/s, and a node of the ring is killed"));
    core.load(PER_S, size.part)?;
    let killed = Instant::now();
    ring.last_mut().context("there is one")?.kill();
    core.load(PER_S, size.part)?;
    ring.last_mut().context("there is one")?.begin_again()?;
    core.load(PER_S, size.part)?;
    progress.step();
    progress.say("it is back, and what waits is delivered");
    ring.last_mut().context("there is one")?.wait_again()?;
    core.settle(LEFT)?;
    let until = Instant::now() + PATIENCE;
    while core.book.undelivered() > 0 && Instant::now() < until {
        core.settle(Duration::from_millis(500))?;
    }
    progress.step();
    progress.say("another driver reads what was acknowledged");
    let keys = ring[0].keys(KEYSPACE, "shared_rows")?;
    let of = |digits: &String| [b"s", digits.as_bytes()].concat();
    let missing = core.book.registered().filter(|it| !keys.contains(&of(it))).count();
    progress.step();
    let rows = rows(&core.book, killed, missing);
    let broken = rows.iter().filter(|it| it.tandem != Some(0.0));
    let mut broken: Vec<String> = broken.map(|it| format!("{}: not 0", it.scenario)).collect();
    if core.book.answered() == 0 {
        broken.push("no message was acknowledged".to_owned());
    }
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

/// The gateways; they end with it.
struct Gateways {
    sip: Vec<SocketAddr>,
    _sites: Vec<Site>,
    _scratch: Scratch,
}

impl Gateways {
    fn start(options: &Options, core: SocketAddr, ring: &[Cassandra]) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let (mut sites, mut sip) = (Vec::new(), Vec::new());
        for node in 0..GATEWAYS {
            let directory = scratch.path().join(format!("sms{node}"));
            fs::create_dir_all(directory.join("var"))?;
            let here = [127, 0, 0, 1].into();
            let (own, api) = (peers::free_port(here)?, site::address(here, 9_080)?);
            let text = SiteFile::new("sms", &directory, api).with(section(node, own, core, ring));
            let site = Site::start(&Site::spec(&options.tandem, &directory), &text.text(), api)?;
            opens(&site)?;
            sites.push(site);
            sip.push(own);
        }
        Ok(Self { sip, _sites: sites, _scratch: scratch })
    }
}

fn rows(book: &Book, killed: Instant, missing: usize) -> Vec<Row> {
    let row = |scenario: &str, unit: &str, value: usize, note: String| {
        let mut row = Row::absent(scenario, unit, None, "");
        (row.tandem, row.detail) = (Some(value as f64), json!({ "note": note }));
        row
    };
    let (before, _) = book.failed(killed);
    let (excused, failed) = book.failed(killed + ANSWER);
    let note = format!(
        "at {PER_S:.0} sessions/s, one of {NODES} nodes killed and brought back; {} more that \
         began within {} s of the kill",
        excused - before,
        ANSWER.as_secs()
    );
    let registered = format!("of {}", book.registered().count());
    let answered = format!("of {}", book.answered());
    let lost = book.undelivered();
    vec![
        row("sessions failed after the driver's time", "sessions", failed + before, note),
        row("registrations that another driver does not find", "rows", missing, registered),
        row("acknowledged messages lost", "messages", lost, answered),
    ]
}

/// Until the store of a gateway is open.
fn opens(site: &Site) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let rows = site.get("functions/sms/store").unwrap_or_default();
        if rows[0]["state"] == "open" {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < until, "{rows}: {}", site.log_end());
        std::thread::sleep(Duration::from_millis(200));
    }
}
