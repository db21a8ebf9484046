//! A site in a test: one toy function, a toy configuration, the real management side.

use config::{Archive, Diagnostic, Disk, Issue, ListenAddress, Reconfigure, Store};
use event::{MetricCells, Metrics};
use oam::http::connections::Limits;
use oam::log::Levels;
use oam::token::{Role, Tokens};
use oam::{Managed, Oam, PortRow, Registry, Section, Spec, State};
use question::{Parameter, Question};
use runtime::{Ask, AskError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

event::metrics! {
    /// What the toy reports.
    pub enum Toy {
        /// A ball was thrown.
        Thrown = Counter, "toy_thrown_total";
        /// Time in the air.
        Flight = Histogram, "toy_flight_us";
    }
}

/// A function whose answers the test writes.
pub struct Player {
    pub metrics: Mutex<Metrics<Toy>>,
    pub state: Mutex<State>,
    pub alarms: Mutex<Value>,
    pub answers: AtomicBool,
}

impl Managed for Player {
    fn name(&self) -> String {
        "toy1".into()
    }
    fn kind(&self) -> &'static str {
        "toy"
    }
    fn state(&self) -> State {
        *self.state.lock().unwrap()
    }
    fn failure(&self) -> Option<String> {
        Some("shard 0: it fell".into())
    }
    fn shards(&self) -> u16 {
        1
    }
    fn started_at_us(&self) -> u64 {
        oam::clock::now().as_micros()
    }
    fn ports(&self) -> Vec<PortRow> {
        let word = str::to_owned;
        vec![PortRow { name: word("a"), transport: word("udp"), address: word("127.0.0.1:1") }]
    }
    fn cells(&self) -> Vec<(u16, Vec<MetricCells>)> {
        vec![(0, vec![self.metrics.lock().unwrap().cells()])]
    }
    fn ask(&self, ask: Ask) -> Result<Value, AskError> {
        if !self.answers.load(Relaxed) {
            return Err(AskError::Unreachable);
        }
        match ask.path.as_str() {
            "alarms" => Ok(self.alarms.lock().unwrap().clone()),
            "balls" => Ok(json!([{"id": 1, "colour": ask.params.get("colour")}])),
            "balls/take-away" => Ok(json!({"taken": true})),
            "balls/throw" => match ask.params.get("id").map(String::as_str) {
                Some("1") => Ok(json!({"thrown": 1})),
                _ => Err(AskError::BadParameter("id is missing".into())),
            },
            // It answers what is in no row as well: the API asks it no such thing.
            _ => Ok(json!([])),
        }
    }
    fn questions(&self) -> Vec<Question> {
        QUESTIONS.to_vec()
    }
}

const QUESTIONS: [Question; 4] = [
    question::question! {
        /// Conditions.
        Ask "alarms" [] -> Vec<question::Condition>
    },
    question::question! {
        /// Balls.
        Ask "balls" [Parameter::text("colour", "of this colour")] -> Vec<Ball>
    },
    question::question! {
        /// Throws one.
        Act "balls/throw" [Parameter::text("id", "which").required()] -> Thrown
    },
    question::question! {
        /// Takes one away.
        Internal "balls/take-away" [] -> Thrown
    },
];

/// A ball.
#[derive(JsonSchema, Serialize)]
#[allow(dead_code, reason = "its fields say what stands in an answer")]
struct Ball {
    id: u64,
    colour: Option<String>,
}

/// A ball that flies.
#[derive(JsonSchema, Serialize)]
#[allow(dead_code, reason = "its fields say what stands in an answer")]
struct Thrown {
    thrown: u64,
}

/// A site file with a number.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToySite {
    #[serde(default)]
    number: u32,
}

impl config::Site for ToySite {
    fn validate(&self, _: &mut Vec<Issue>) {}
    fn listen_addresses(&self) -> Vec<ListenAddress> {
        Vec::new()
    }
}

/// What runs a site, and refuses the number 13.
struct Toys;

impl Reconfigure<ToySite> for Toys {
    fn check(&self, site: &ToySite) -> Vec<Issue> {
        if site.number == 13 { vec![Issue::new("number", "unlucky", "take 14")] } else { vec![] }
    }
    fn interruptions(&self, _: &ToySite) -> Vec<Issue> {
        vec![Issue::new("number", "the ball is dropped", "")]
    }
    fn apply(&mut self, _: &ToySite) -> Result<(), Vec<Issue>> {
        Ok(())
    }
}

/// What a toy site leaves open: whatever begins with 7.
fn open(text: &str) -> Vec<Diagnostic> {
    let issue = Issue::new("number", "everybody knows this number", "take another");
    let found = if text.contains("= 7") { vec![issue] } else { Vec::new() };
    config::locate(&config::Source::parse(text).unwrap(), found)
}

/// The site.
pub struct Site {
    pub oam: Oam,
    pub player: Arc<Player>,
    pub registry: Arc<Registry>,
    pub token: String,
    pub drained: Arc<AtomicBool>,
    pub folder: tempfile::TempDir,
}

/// An answer: status, headers, body.
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

fn spec(
    folder: &Path,
    registry: &Arc<Registry>,
    drained: &Arc<AtomicBool>,
    limits: Limits,
) -> Spec {
    let file = folder.join("site.toml");
    std::fs::write(&file, "number = 1\n").unwrap();
    let archive: Box<dyn Archive> = Box::new(Disk::open(&folder.join("config"), &file).unwrap());
    let store = Store::open::<ToySite>(oam::clock::now(), "number = 1\n", Toys, archive).unwrap();
    let drained = Arc::clone(drained);
    Spec {
        name: "test".into(),
        version: "1.2.3",
        token_file: folder.join("token"),
        tokens: Tokens::new(folder.join("tokens")),
        registry: Arc::clone(registry),
        store: Arc::new(Mutex::new(store)),
        levels: Levels::default(),
        limits,
        exposures: Box::new(open),
        drain: Box::new(move || drained.store(true, Relaxed)),
    }
}

impl Site {
    pub fn start() -> Self {
        Self::with(|section| section)
    }

    pub fn with(change: impl FnOnce(Section) -> Section) -> Self {
        Self::made(change, Limits::default())
    }

    /// With few places, and time-outs that a test can wait for.
    pub fn hasty() -> Self {
        let short = Duration::from_millis(300);
        let limits = Limits { connections_max: 64, head: short, body: short, stall: short };
        Self::made(|section| section, limits)
    }

    fn made(change: impl FnOnce(Section) -> Section, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (registry, drained) = (Registry::new(), Arc::new(AtomicBool::new(false)));
        let player = Arc::new(Player {
            metrics: Mutex::new(Metrics::new()),
            state: Mutex::new(State::Running),
            alarms: Mutex::new(json!([])),
            answers: AtomicBool::new(true),
        });
        registry.set_functions(vec![Arc::clone(&player) as Arc<dyn Managed>]);
        let section = Section { listen: "127.0.0.1:0".into(), ..Section::default() };
        let spec = spec(folder.path(), &registry, &drained, limits);
        let oam = Oam::start(spec, &change(section)).unwrap();
        oam.core().phase.serve();
        let token = std::fs::read_to_string(folder.path().join("token")).unwrap();
        Self { oam, player, registry, token: token.trim().into(), drained, folder }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.oam.address())
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        let agent: ureq::Agent = config.into();
        let mut request = ureq::http::Request::builder().method(method).uri(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = agent.run(request.body(body.to_owned()).unwrap()).unwrap();
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.body_mut().read_to_string().unwrap(),
        }
    }

    /// The other tokens of the site.
    pub fn tokens(&self) -> Tokens {
        Tokens::new(self.folder.path().join("tokens"))
    }

    /// A new token, as a header.
    pub fn bearer(&self, name: &str, role: Role) -> String {
        format!("Bearer {}", self.tokens().make(0, name, role).unwrap())
    }

    /// With the token, JSON.
    pub fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.send(method, path, &headers, body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", path, "")
    }
}

/// Waits until `what` holds.
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(20));
    }
}
