//! `ipsmgw-failover`: two nodes of a gateway that is its own service centre, as a pair. The one
//! that serves is killed under load, comes back and follows; then both are killed at once. What was
//! answered is looked for.
//!
//! ```text
//!   S-CSCF with terminals ══ each request to both addresses ══ node a ⇄ node b
//!                            (as to one that moves)
//! ```

use crate::book::{Book, Core};
use crate::nodes::DOMAIN;
use anyhow::Context;
use peers::Priority;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use report::site::{self, Site};
use report::site_file::SiteFile;
use serde_json::{Value, json};
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const NAME: &str = "ipsmgw-failover";
/// The number of the gateway.
const GATEWAY: &str = "447700000090";
/// For a node to have its part.
const SETTLED_MAX: Duration = Duration::from_secs(90);
/// Sessions that end after this have failed.
const LEFT: Duration = Duration::from_secs(8);
/// Octets of a subscriber at most.
const OCTETS_MAX: f64 = 512.0;
/// Requests that wait for their answers while many register.
const AT_ONCE: usize = 256;

/// How much of it there is.
struct Size {
    subscribers: u32,
    per_s: f64,
    /// Before the node is killed, and after.
    part: Duration,
}

impl Size {
    fn of(options: &Options) -> Self {
        let of = |subscribers, per_s, seconds| Self {
            subscribers,
            per_s,
            part: Duration::from_secs(seconds),
        };
        match (options.quick, options.plane.full) {
            (true, _) => of(2_000, 200.0, 4),
            (false, false) => of(50_000, 500.0, 30),
            (false, true) => of(1_200_000, 1_000.0, 60),
        }
    }
}

/// The two nodes.
struct Pair {
    tandem: PathBuf,
    nodes: [Option<Site>; 2],
    texts: [String; 2],
    apis: [SocketAddr; 2],
    directories: [PathBuf; 2],
    sip: [SocketAddr; 2],
    _scratch: Scratch,
}

impl Pair {
    fn start(tandem: &Path, core: SocketAddr) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let port = |host: u8| peers::free_port([127, 0, 0, host].into());
        let (sip, link) = ([port(1)?, port(2)?], [port(1)?, port(2)?]);
        let apis = [site::address([127, 0, 0, 1].into(), 9_081)?, port(2)?];
        let directories = ["a", "b"].map(|it| scratch.path().join(it));
        let texts = [0, 1].map(|node| {
            let (name, directory) = (["a", "b"][node], &directories[node]);
            let section = section(name, sip[node], core, [link[node], link[1 - node]]);
            SiteFile::new(name, directory, apis[node]).with(section).text()
        });
        directories.iter().try_for_each(|it| fs::create_dir_all(it.join("var")))?;
        let tandem = tandem.to_owned();
        let nodes = [None, None];
        let mut pair = Self { tandem, nodes, texts, apis, directories, sip, _scratch: scratch };
        pair.run(0)?;
        pair.run(1)?;
        Ok(pair)
    }

    fn run(&mut self, node: usize) -> anyhow::Result<()> {
        let started =
            launch(&self.tandem, &self.directories[node], &self.texts[node], self.apis[node]);
        self.nodes[node] = Some(started?);
        Ok(())
    }

    /// Both at once.
    fn run_both(&mut self) -> anyhow::Result<()> {
        let (tandem, texts, apis, directories) =
            (&self.tandem, &self.texts, &self.apis, &self.directories);
        let both = std::thread::scope(|scope| {
            [0, 1]
                .map(|it| {
                    scope.spawn(move || launch(tandem, &directories[it], &texts[it], apis[it]))
                })
                .map(|it| it.join().expect("it does not panic"))
        });
        let [a, b] = both;
        self.nodes = [Some(a?), Some(b?)];
        Ok(())
    }

    fn site(&self, node: usize) -> anyhow::Result<&Site> {
        self.nodes[node].as_ref().context("it does not run")
    }

    /// Resident octets of both.
    fn resident(&self) -> anyhow::Result<[u64; 2]> {
        let [a, b] = [self.site(0)?, self.site(1)?].map(|it| it.usage().resident_bytes);
        Ok([a, b])
    }

    /// Octets that each subscriber takes, at the node that serves and at its standby.
    fn octets_of_each(
        &self,
        before: [u64; 2],
        serves: usize,
        subscribers: u32,
    ) -> anyhow::Result<[f64; 2]> {
        let after = self.resident()?;
        let of =
            |node: usize| after[node].saturating_sub(before[node]) as f64 / f64::from(subscribers);
        Ok([of(serves), of(1 - serves)])
    }

    fn role(&self, node: usize) -> anyhow::Result<(String, bool)> {
        let row = &self.site(node)?.get("functions/sms/replica")?[0];
        let role = row["role"].as_str().unwrap_or_default().to_owned();
        Ok((role, row["synced"] == true))
    }

    /// Waits until one serves and the other one has everything; which serves.
    fn settled(&self, core: &mut Core) -> anyhow::Result<usize> {
        let until = Instant::now() + SETTLED_MAX;
        loop {
            let roles = [self.role(0)?, self.role(1)?];
            let serves = roles.iter().position(|it| it.0 == "active");
            if let Some(serves) = serves.filter(|it| roles[1 - it] == ("standby".to_owned(), true))
            {
                return Ok(serves);
            }
            let logs = || [0, 1].map(|it| self.site(it).map(Site::log_end).unwrap_or_default());
            anyhow::ensure!(Instant::now() < until, "{roles:?}: {}", logs().join("\n"));
            core.turn(Duration::from_millis(50))?;
        }
    }

    fn serving(&self) -> anyhow::Result<&Site> {
        let is_active = |it: &usize| self.role(*it).is_ok_and(|it| it.0 == "active");
        self.site([0, 1].into_iter().find(is_active).context("nobody serves")?)
    }
}

fn launch(tandem: &Path, at: &Path, text: &str, api: SocketAddr) -> anyhow::Result<Site> {
    let mut spec = Site::spec(tandem, at);
    spec.core = Some(1.min(host::cores() - 1));
    Site::start(&spec, text, api)
}

fn section(name: &str, sip: SocketAddr, core: SocketAddr, link: [SocketAddr; 2]) -> String {
    let [own, other] = link;
    format!(
        "\n[[ipsmgw]]\nname = \"sms\"\nnumber = \"{GATEWAY}\"\ndomain = \"{DOMAIN}\"\n\
         listen = [\"udp:{sip}\"]\nnext_hop = [{{ name = \"scscf\", targets = [\"udp:{core}\"], \
         probe_interval_s = 0 }}]\nlimits = {{ sender_per_s = 1000 }}\n\
         [ipsmgw.centre]\nretries_s = [2]\n\
         [ipsmgw.replica]\nnode = \"{name}\"\nlisten = \"{own}\"\npeer = \"{other}\"\n"
    )
}

/// What was found of what had been answered.
struct Found {
    registrations_lost: usize,
    messages_lost: usize,
    twice: usize,
    twice_reported: usize,
}

/// Runs it.
///
/// # Errors
/// When the nodes do not come up, or subscribers do not register.
pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let size = Size::of(options);
    let _priority = Priority::claim();
    let progress = Progress::new(NAME, 5);
    progress.say("two nodes start");
    let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let mut pair = Pair::start(&options.tandem, socket.local_addr()?)?;
    let mut core = Core::new(socket, pair.sip, size.subscribers)?;
    pair.settled(&mut core)?;
    progress.step();
    progress.say(&format!("{} subscribers register", size.subscribers));
    let before = pair.resident()?;
    register(&mut core, size.subscribers)?;
    let serves = pair.settled(&mut core)?;
    let octets = pair.octets_of_each(before, serves, size.subscribers)?;
    progress.step();
    progress.say(&format!("{} sessions/s, and the node that serves is killed", size.per_s));
    core.load(size.per_s, size.part)?;
    let killed = Instant::now();
    pair.nodes[serves].take().context("it runs")?.kill();
    core.book.killed(killed);
    core.load(size.per_s, size.part)?;
    let pause = core.book.pause();
    pair.run(serves)?;
    pair.settled(&mut core)?;
    progress.step();
    progress.say("both are killed at once");
    core.load(size.per_s, size.part / 4)?;
    let again = killed_at_once(&mut pair, &mut core)?;
    pair.settled(&mut core)?;
    core.settle(LEFT)?;
    progress.step();
    progress.say("what was answered is looked for");
    let found = look(&pair, &mut core)?;
    progress.step();
    let mut rows = rows(&size, &core.book, &found, pause, &again);
    let mut broken = broken(&rows, &core.book);
    rows.extend(memory(octets, options.plane.full, &mut broken));
    Ok(Outcome { experiment: NAME, host: host::describe(), rows, broken })
}

fn register(core: &mut Core, count: u32) -> anyhow::Result<()> {
    for number in 0..count {
        core.register(number)?;
        while core.book.waiting() >= AT_ONCE {
            core.turn(Duration::from_millis(1))?;
        }
    }
    core.settle(LEFT)?;
    let stand = core.book.registered().count();
    anyhow::ensure!(stand == count as usize, "{stand} of {count} are registered");
    Ok(())
}

/// What was seen when both processes had been killed and were started again.
struct ServedAgain {
    /// How long nobody was served, from the start of the processes on.
    after: Duration,
    /// Rows that stood then.
    rows: u64,
}

fn killed_at_once(pair: &mut Pair, core: &mut Core) -> anyhow::Result<ServedAgain> {
    let serves = usize::from(pair.role(1)?.0 == "active");
    for node in [serves, 1 - serves] {
        pair.nodes[node].take().context("it runs")?.kill();
    }
    // What they had sent came before they were gone.
    core.turn(Duration::ZERO)?;
    core.book.killed(Instant::now());
    let begun = Instant::now();
    pair.run_both()?;
    let until = begun + SETTLED_MAX;
    let mut number = 0;
    while core.book.pause().is_none() {
        anyhow::ensure!(Instant::now() < until, "nobody serves after both were killed");
        core.register(number)?;
        number += 1;
        core.turn(Duration::from_millis(20))?;
    }
    let after = begun.elapsed();
    let rows = &pair.serving()?.get("functions/sms/store")?[0]["rows"];
    Ok(ServedAgain { after, rows: rows.as_u64().unwrap_or_default() })
}

/// Messages that wait are tried until none waits any more, and registrations are read.
fn look(pair: &Pair, core: &mut Core) -> anyhow::Result<Found> {
    let until = Instant::now() + SETTLED_MAX;
    loop {
        let serving = pair.serving()?;
        serving.post("functions/sms/sms/retry")?;
        core.settle(Duration::from_millis(500))?;
        let waits = serving.get("functions/sms/sms/pending")?;
        if waits.as_array().is_some_and(Vec::is_empty) || Instant::now() > until {
            break;
        }
    }
    let serving = pair.serving()?;
    let mut lost = Vec::new();
    let mut known: (String, Vec<String>) = Default::default();
    for digits in core.book.registered() {
        // A thousand numbers begin so.
        let begin = &digits[..digits.len() - 3];
        if known.0 != begin {
            let rows = serving.get(&format!("functions/sms/sms/registrations?number={begin}"))?;
            let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
            let numbers = rows.iter().filter_map(|it| Some(it["number"].as_str()?.to_owned()));
            known = (begin.to_owned(), numbers.collect());
        }
        if !known.1.contains(digits) {
            lost.push(digits.clone());
        }
    }
    let (twice, twice_reported) = core.book.twice();
    Ok(Found {
        registrations_lost: lost.len(),
        messages_lost: core.book.undelivered(),
        twice,
        twice_reported,
    })
}

fn rows(
    size: &Size,
    book: &Book,
    found: &Found,
    pause: Option<Duration>,
    again: &ServedAgain,
) -> Vec<Row> {
    let row = |scenario: &str, unit: &str, value: f64, detail: Value| {
        let mut row = Row::absent(scenario, unit, None, "");
        (row.tandem, row.detail) = (Some(value), detail);
        row
    };
    let answered = book.answered();
    let of = |what: &str, count: usize| json!({ "note": format!("of {count} {what}") });
    let reported = format!(
        "their report had been answered; {} more whose report was under way when a node died",
        found.twice - found.twice_reported
    );
    let ms = |it: Duration| it.as_secs_f64() * 1e3;
    let at = format!("at {:.0} sessions/s", size.per_s);
    let with_rows = format!("with {} rows, from the start on", again.rows);
    vec![
        row(
            "registrations lost",
            "registrations",
            found.registrations_lost as f64,
            of("that were answered", book.registered().count()),
        ),
        row(
            "acknowledged messages lost",
            "messages",
            found.messages_lost as f64,
            of("that were acknowledged", answered),
        ),
        row(
            "delivered twice",
            "messages",
            found.twice_reported as f64,
            json!({ "note": reported }),
        ),
        row("others fail for", "ms", pause.map_or(f64::INFINITY, ms), json!({ "note": at })),
        row(
            "all nodes killed: served again after",
            "ms",
            ms(again.after),
            json!({ "rows": again.rows, "note": with_rows }),
        ),
    ]
}

/// What a subscriber takes of each node. Few of them are not judged: what is under way counts too.
fn memory(octets: [f64; 2], is_full: bool, broken: &mut Vec<String>) -> Vec<Row> {
    let rows =
        [("a subscriber at its node", octets[0]), ("a subscriber at the standby", octets[1])];
    rows.into_iter()
        .map(|(scenario, octets)| {
            if is_full && octets > OCTETS_MAX {
                broken.push(format!("{scenario}: more than {OCTETS_MAX} octets"));
            }
            let mut row = Row::absent(scenario, "octets", None, "");
            (row.tandem, row.detail) = (Some(octets), json!({ "note": "from /proc" }));
            row
        })
        .collect()
}

/// What does not hold that is promised.
fn broken(rows: &[Row], book: &Book) -> Vec<String> {
    let most = [0.0, 0.0, 0.0, 200.0, 10_000.0];
    let beyond = rows.iter().zip(most).filter(|(row, most)| row.tandem.is_none_or(|it| it > *most));
    let mut broken: Vec<String> = beyond
        .map(|(row, most)| format!("{}: more than {most} {}", row.scenario, row.unit))
        .collect();
    if book.answered() == 0 {
        broken.push("no message was acknowledged".to_owned());
    }
    broken
}
