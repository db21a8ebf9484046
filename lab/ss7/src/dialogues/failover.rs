//! `sgc-failover`: a cluster of two gateways, one of which stops serving amid its dialogues.
//!
//! ```text
//!   calls that stand ─┐                            ╔══ node 1 ─ HLR, gsmSCF    stops
//!   new questions ────┴─ Unix socket ─ gateway 4 ══╣     ║ cluster
//!   core 0                             core 0      ╚══ node 2 ─ HLR, gsmSCF    core 1
//! ```
//! Calls are answered and stand; questions begin and end beside them at a rate. Then a node dies,
//! or gives its partitions away. A standing call is lost when its release, reported in the end, is
//! not heard as that of a call.

use super::flow::{Answers, Counts, Flow, Heard};
use super::generator::{Found, Generator, Load, Pace, Span};
use super::nodes::{ANSWERING, ASKING, FAR, NEAR, Sctp, applications, core};
use application::{Address as Place, Program};
use m3ua::codec::PointCode;
use report::contract::{Options, Outcome, Row};
use report::host;
use report::progress::Progress;
use report::scratch::Scratch;
use report::site::{self, Site};
use report::site_file::SiteFile;
use sccp::codec::Address;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tcu::Hello;

/// For associations and partitions to be there.
const UP: Duration = Duration::from_secs(30);
/// For calls to stand.
const STANDING_MAX: Duration = Duration::from_secs(300);
/// Partitions of a cluster.
const PARTITIONS: usize = 48;
/// A question that was begun no longer ago is under way.
const UNDER_WAY: Duration = Duration::from_millis(200);
/// New dialogues may fail for so long, milliseconds.
const FAILS_BAR: f64 = 200.0;

/// What happens to node 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Killed,
    Drained,
}

impl Cause {
    const ALL: [Self; 2] = [Self::Killed, Self::Drained];

    const fn name(self) -> &'static str {
        match self {
            Self::Killed => "kill -9",
            Self::Drained => "planned",
        }
    }
}

/// How much of it.
#[derive(Debug, Clone, Copy)]
struct Size {
    calls: usize,
    per_s: f64,
    span: Span,
}

impl Size {
    fn of(options: &Options) -> Self {
        let span = |s| Span::steady(Duration::from_secs(1), Duration::from_secs(s));
        match (options.quick, options.plane.full) {
            (true, _) => Self { calls: 5_000, per_s: 1_000.0, span: span(5) },
            (false, false) => Self { calls: 60_000, per_s: 3_000.0, span: span(20) },
            (false, true) => Self { calls: 420_000, per_s: 6_000.0, span: span(60) },
        }
    }
}

/// Runs it once for each cause.
///
/// # Errors
/// When the gateways do not come up, or calls do not come to stand.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome {
        experiment: "sgc-failover",
        host: host::describe(),
        rows: Vec::new(),
        broken: Vec::new(),
    };
    let size = Size::of(options);
    let progress = Progress::new("sgc-failover", Cause::ALL.len() as u64);
    for cause in Cause::ALL {
        progress.say(cause.name());
        let trial = trial(options, size, cause)?;
        put(cause, size, &trial, &mut outcome);
        progress.step();
    }
    Ok(outcome)
}

/// What one trial found.
struct Trial {
    calls: Found,
    questions: Found,
    heard: Counts,
    happened: Instant,
}

impl Trial {
    /// Calls, of so many that should stand, whose release was not heard.
    const fn lost(&self, calls: usize) -> u64 {
        (calls as u64).saturating_sub(self.heard.released)
    }

    /// Whether dialogues failed before it happened that were not under way then.
    fn failed_before(&self) -> bool {
        let first = self.questions.failed_from.map(|[first, _]| first);
        first.is_some_and(|first| first + UNDER_WAY < self.happened)
    }

    /// For how long after it happened dialogues were begun that failed, milliseconds.
    fn fails_for_ms(&self) -> f64 {
        let last = self.questions.failed_from.map(|[_, last]| last);
        last.map_or(0.0, |last| last.saturating_duration_since(self.happened).as_secs_f64() * 1e3)
    }
}

fn trial(options: &Options, size: Size, cause: Cause) -> anyhow::Result<Trial> {
    let mut field = Field::start(&options.tandem)?;
    let heard = Arc::clone(&field.heard);
    let flow = Flow::Call(Duration::ZERO, Duration::ZERO);
    let span = Span::steady(Duration::ZERO, STANDING_MAX);
    let calls = Load { flow, pace: Pace::Standing(size.calls), span };
    let calls = Generator::new(&field.socket(), far(calls.flow), calls)?;
    let (stand, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let calls = scope.spawn(|| {
            let agrees = |said: &Counts| said.released <= heard.counts().released;
            let holds = || !is_over.load(Ordering::Relaxed);
            let mut stands = || stand.store(true, Ordering::Relaxed);
            peers::pinned(core(false), || calls.hold(size.per_s, &mut stands, &holds, &agrees))?
        });
        while !stand.load(Ordering::Relaxed) && !calls.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let questions = if calls.is_finished() { None } else { Some(field.questions(size, cause)) };
        is_over.store(true, Ordering::Relaxed);
        let calls = calls.join().map_err(|_| anyhow::anyhow!("the calls panicked"))??;
        let (questions, happened) = questions.unwrap_or_else(|| anyhow::bail!("no call stands"))?;
        Ok(Trial { calls, questions, heard: heard.counts(), happened })
    })
}

fn far(flow: Flow) -> Address {
    Address::subsystem(PointCode::new(FAR), flow.subsystem())
}

fn put(cause: Cause, size: Size, trial: &Trial, outcome: &mut Outcome) {
    let (lost, fails) = (trial.lost(size.calls), trial.fails_for_ms());
    let detail = json!({
        "standing": size.calls, "per_s": size.per_s, "released": trial.calls.counts.released,
        "heard": trial.heard.released, "why": trial.calls.why, "bar": 0,
    });
    outcome.rows.push(row(
        &format!("dialogues lost, {}", cause.name()),
        "dialogues",
        lost as f64,
        detail,
    ));
    let found = &trial.questions;
    let detail = json!({
        "failed": found.failed, "unbegun": found.unbegun, "answered": found.counts.answered,
        "why": found.why, "bar": FAILS_BAR,
    });
    let name = format!("new dialogues fail for, {}", cause.name());
    outcome.rows.push(row(&name, "ms", fails, detail));
    let mut broken = |what: String| outcome.broken.push(format!("{}: {what}", cause.name()));
    if lost > 0 {
        broken(format!("{lost} of {} dialogues that stood were lost", size.calls));
    }
    if trial.failed_before() {
        broken(format!("dialogues failed before anything happened: {:?}", found.why));
    }
    if fails >= FAILS_BAR {
        broken(format!("new dialogues failed for {fails:.0} ms"));
    }
    if cause == Cause::Drained && found.failed > 0 {
        broken(format!("{} new dialogues failed: {:?}", found.failed, found.why));
    }
    if found.counts.answered == 0 || found.unbegun > 0 {
        broken(format!("{} were answered, {} not begun", found.counts.answered, found.unbegun));
    }
}

fn row(scenario: &str, unit: &str, tandem: f64, detail: Value) -> Row {
    let mut row = Row::absent(scenario, unit, None, "");
    (row.tandem, row.detail) = (Some(tandem), detail);
    row
}

/// The gateway of those who ask, and the cluster of those who answer.
struct Field {
    near: Site,
    nodes: Vec<Site>,
    directory: PathBuf,
    heard: Arc<Heard>,
    _scratch: Scratch,
}

impl Field {
    fn start(tandem: &Path) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let here = [127, 0, 0, 1].into();
        let port = || -> anyhow::Result<u16> { Ok(peers::free_port(here)?.port()) };
        let ways = [
            Sctp { port: port()?, udp: port()? },
            Sctp { port: port()?, udp: port()? },
            Sctp { port: port()?, udp: port()? },
        ];
        let links = [port()?, port()?];
        let start = |name: &str, core: usize, section: String| -> anyhow::Result<Site> {
            let directory = scratch.path().join(name);
            std::fs::create_dir_all(directory.join("var"))?;
            let key = directory.join("var/cluster.key");
            std::fs::write(&key, "the key of this cluster, for one run\n")?;
            std::fs::set_permissions(&key, Permissions::from_mode(0o600))?;
            let api = site::address(here, 9_080)?;
            let mut spec = Site::spec(tandem, &directory);
            spec.core = Some(core);
            let text = SiteFile::new(name, &directory, api).with(section).text();
            Site::start(&spec, &text, api)
        };
        let mut nodes = Vec::new();
        for (node, way) in ways.into_iter().enumerate().skip(1) {
            let section = member(node, way, links);
            nodes.push(start(&format!("node{node}"), core(true), section)?);
        }
        let near = start("near", core(false), asking(ways))?;
        let directory = scratch.path().to_owned();
        let field = Self { near, nodes, directory, heard: Arc::default(), _scratch: scratch };
        for node in 1..=2 {
            for (application, _) in ANSWERING {
                field.answer(node, application);
            }
        }
        field.wait()?;
        Ok(field)
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("near/var/asks.sock")
    }

    /// An instance that answers at a node, until that ends.
    fn answer(&self, node: usize, name: &'static str) {
        let socket = self.directory.join(format!("node{node}/var/{name}.sock"));
        let heard = Arc::clone(&self.heard);
        std::thread::spawn(move || {
            if let Err(why) = peers::pin(core(true)) {
                return why;
            }
            let mut program = Program::new(Hello::new(name, "", "lab"));
            program.run(&Place::Unix(socket), &mut Answers(heard)).into()
        });
    }

    /// Until all associations are active, and each partition has both nodes.
    fn wait(&self) -> anyhow::Result<()> {
        let until = Instant::now() + UP;
        loop {
            let asps = |site: &Site, name: &str| {
                let path = format!("functions/{name}/m3ua/asps");
                site.get(&path).unwrap_or_default().to_string().matches("\"active\"").count()
            };
            let is_whole = |site: &Site| {
                let rows = site.get("functions/far/cluster/partitions").unwrap_or_default();
                let is_ours = |row: &&Value| {
                    row["here"] == true
                        && row["standbys"].as_array().is_some_and(|it| !it.is_empty())
                };
                rows.as_array().into_iter().flatten().filter(is_ours).count() == PARTITIONS / 2
            };
            let nodes = || self.nodes.iter();
            let is_up = asps(&self.near, "near") >= 2
                && nodes().all(|node| asps(node, "far") >= 1)
                && nodes().all(is_whole);
            if is_up {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < until, "{}", self.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn logs(&self) -> String {
        let mut text = "associations or partitions do not come".to_owned();
        for site in self.nodes.iter().chain([&self.near]) {
            let _ = write!(text, "\n{}", site.log_end());
        }
        text
    }

    /// New dialogues at a rate; after a third of the time it happens. What was found, and when it
    /// happened.
    fn questions(&mut self, size: Size, cause: Cause) -> anyhow::Result<(Found, Instant)> {
        let flow = Flow::Routing;
        let load = Load { flow, pace: Pace::PerSecond(size.per_s), span: size.span };
        let generator = Generator::new(&self.socket(), far(flow), load)?;
        std::thread::scope(|scope| {
            let found = scope.spawn(|| {
                peers::pinned(core(false), || generator.run(&mut || (), &|_: &Counts| true))?
            });
            std::thread::sleep(size.span.warm + size.span.measured / 3);
            let happened = Instant::now();
            let done = match cause {
                Cause::Killed => self.nodes[0].crash(),
                Cause::Drained => self.nodes[0].post("functions/far/cluster/drain").map(|_| ()),
            };
            let found = found.join().map_err(|_| anyhow::anyhow!("the questions panicked"))?;
            done?;
            Ok((found?, happened))
        })
    }
}

/// The section of who asks.
fn asking(ways: [Sctp; 3]) -> String {
    let peer = |at: usize| {
        let Sctp { port, udp } = ways[at];
        format!(
            "{{ name = \"node{at}\", role = \"ipsp\", transport = \"sctp\", addresses = \
             [\"127.0.0.1\"], port = {port}, connect = true, encapsulation_port = {udp} }}"
        )
    };
    format!(
        "\n[[sgc]]\nname = \"near\"\npoint_code_format = \"decimal\"\npoint_codes = [\"{NEAR}\"]\n\
         timers = {{ reconnect_ms = 100 }}\npeer = [{}, {}]\n\
         application_server = [{{ name = \"far\", peers = [\"node1\", \"node2\"], \
         traffic_mode = \"loadshare\", routing_context = 10, \
         destination = [{{ point_code = \"{FAR}\" }}] }}]\n{}{}",
        peer(1),
        peer(2),
        ways[0].section(),
        applications(ASKING),
    )
}

/// The section of a node of the cluster.
fn member(node: usize, own: Sctp, links: [u16; 2]) -> String {
    format!(
        "\n[[sgc]]\nname = \"far\"\npoint_code_format = \"decimal\"\npoint_codes = [\"{FAR}\"]\n\
         peer = [{{ name = \"near\", role = \"ipsp\", transport = \"sctp\", \
         addresses = [\"127.0.0.1\"] }}]\n\
         application_server = [{{ name = \"near\", peers = [\"near\"], \
         traffic_mode = \"loadshare\", routing_context = 10, \
         destination = [{{ point_code = \"{NEAR}\" }}] }}]\n{}{}\
         [sgc.cluster]\nnode = {node}\nkey_file = \"cluster.key\"\nnodes = [\
         {{ number = 1, address = \"127.0.0.1:{}\" }}, \
         {{ number = 2, address = \"127.0.0.1:{}\" }}]\n",
        own.section(),
        applications(ANSWERING),
        links[0],
        links[1],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial() -> Trial {
        let mut calls = Found::new();
        (calls.counts.answered, calls.counts.released) = (5_000, 5_000);
        let mut questions = Found::new();
        questions.counts.answered = 100;
        let heard = Counts { answered: 5_100, reported: 5_000, released: 5_000, wrong: 0 };
        Trial { calls, questions, heard, happened: Instant::now() }
    }

    fn broken(cause: Cause, trial: &Trial) -> Vec<String> {
        let mut outcome = Outcome {
            experiment: "sgc-failover",
            host: host::describe(),
            rows: Vec::new(),
            broken: Vec::new(),
        };
        let options = Options::of_this_executable(true).expect("it is known");
        put(cause, Size::of(&options), trial, &mut outcome);
        assert_eq!(outcome.rows.len(), 2);
        outcome.broken
    }

    #[test]
    fn a_release_that_is_not_heard_is_a_dialogue_lost() {
        let mut trial = trial();
        assert_eq!(broken(Cause::Killed, &trial), Vec::<String>::new());
        trial.heard.released -= 2;
        assert_eq!(trial.lost(5_000), 2);
        assert_eq!(broken(Cause::Killed, &trial).len(), 1);
        // One that was never reported is lost as well.
        (trial.heard.released, trial.calls.counts.released) = (4_999, 4_999);
        assert_eq!(broken(Cause::Killed, &trial).len(), 1);
    }

    #[test]
    fn new_dialogues_may_fail_for_a_while_after_a_death_and_not_where_it_was_planned() {
        let mut trial = trial();
        let late = |ms| trial.happened + Duration::from_millis(ms);
        (trial.questions.failed, trial.questions.failed_from) = (3, Some([late(0), late(50)]));
        assert!((trial.fails_for_ms() - 50.0).abs() < 1e-6);
        assert_eq!(broken(Cause::Killed, &trial), Vec::<String>::new());
        assert_eq!(broken(Cause::Drained, &trial).len(), 1);
        trial.questions.failed_from = Some([late(0), late(200)]);
        assert_eq!(broken(Cause::Killed, &trial).len(), 1);
        trial.happened += Duration::from_secs(1);
        assert_eq!(broken(Cause::Killed, &trial).len(), 1, "they failed before it happened");
        trial.questions.unbegun = 1;
        assert_eq!(broken(Cause::Killed, &trial).len(), 2);
    }
}
