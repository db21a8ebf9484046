//! The keeper as a function of the site: it answers processes over UDP and its own controllers
//! directly, counts, and raises the alarm when the pool runs low.

use super::{MESSAGE_BYTES_MAX, POOL, Section};
use authentication::Secret;
use event::{MetricCells, Metrics};
use machine::Time;
use oam::{Managed, PortRow, State};
use pool::message::{self, Message};
use pool::{Grant, LEASE, LeaseServer, Level, Report};
use question::{Condition, Either, Question, questions};
use runtime::{Ask, AskError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

event::metrics! {
    /// What the keeper counts.
    pub enum PoolMetric {
        /// Sessions of the site's pool.
        Sessions = Gauge, "pool_sessions";
        /// Sessions leased to controllers.
        Held = Gauge, "pool_sessions_held";
        /// Sessions that run, as controllers report them.
        Live = Gauge, "pool_sessions_live";
        /// Shards of controllers that hold a lease.
        Drawers = Gauge, "pool_drawers";
        /// Reports of controllers.
        Reports = Counter, "pool_reports_total";
        /// Messages to the keeper that no process of the site has sealed, or that are old.
        Rejected = Counter, "pool_messages_rejected_total";
    }
}

struct Inner {
    keeper: Option<LeaseServer>,
    metrics: Metrics<PoolMetric>,
}

/// The keeper, if this process has it.
pub struct LicenceService {
    listen: Option<SocketAddr>,
    /// The clock: its time at the start, and when that was.
    started: (Time, Instant),
    inner: Mutex<Inner>,
}

impl LicenceService {
    /// No keeper until it is configured.
    pub fn new(listen: Option<SocketAddr>) -> Arc<Self> {
        let inner = Mutex::new(Inner { keeper: None, metrics: Metrics::new() });
        Arc::new(Self { listen, started: (oam::clock::now(), Instant::now()), inner })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time that never goes back.
    fn now(&self) -> Time {
        self.started.0 + self.started.1.elapsed()
    }

    /// Keeps what the section says.
    pub fn configure(&self, section: Option<&Section>) {
        let mut inner = self.lock();
        let Some((section, sessions)) = section.and_then(|own| Some((own, own.sessions?))) else {
            inner.keeper = None;
            return;
        };
        // Without an address to listen at nobody else can hold anything from before.
        let fresh = || LeaseServer::new(self.now(), sessions, self.listen.is_none());
        inner.keeper.get_or_insert_with(fresh).configure(sessions, section.shares());
    }

    /// Whether this process keeps the pool.
    pub fn is_on(&self) -> bool {
        self.lock().keeper.is_some()
    }

    /// Takes a report and answers it.
    pub fn take(&self, function: &str, shard: u16, report: Report) -> Option<Grant> {
        let mut inner = self.lock();
        let grant = inner.keeper.as_mut()?.take(self.now(), function, shard, report);
        inner.metrics.add(PoolMetric::Reports, 1);
        if grant.is_none() {
            inner.metrics.add(PoolMetric::Rejected, 1);
        }
        grant
    }

    /// Answers what comes to the socket until it was silent for its timeout.
    pub fn serve(&self, socket: &UdpSocket, secret: &Secret) {
        let mut buffer = [0; MESSAGE_BYTES_MAX];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let report = match secret.open(&buffer[..length]).and_then(message::read) {
                Some(Message::Report(function, shard, report)) => Some((function, shard, report)),
                _ => None,
            };
            let Some((function, shard, report)) = report else {
                self.lock().metrics.add(PoolMetric::Rejected, 1);
                continue;
            };
            let Some(grant) = self.take(function, shard, report) else { continue };
            let mut answer = Vec::with_capacity(MESSAGE_BYTES_MAX);
            message::write(&mut answer, &Message::Grant(function, shard, grant));
            secret.seal(&mut answer);
            // Who does not get it reports again.
            let _ = socket.send_to(&answer, from);
        }
    }

    fn show(&self) -> Vec<Either<KeeperRow, ShareRow>> {
        let (now, inner) = (self.now(), self.lock());
        let Some(keeper) = &inner.keeper else { return Vec::new() };
        let (held, live) = keeper.held();
        let whole = KeeperRow {
            drawer: "",
            keeper: if keeper.is_learning(now) { "learns" } else { "keeps" },
            sessions: keeper.sessions(),
            held,
            live,
            free: u64::from(keeper.sessions()).saturating_sub(held),
        };
        let rows = keeper.rows().map(|row| ShareRow {
            drawer: format!("{}/{}", row.function, row.shard),
            held: row.held,
            live: row.live,
            spare: row.spare,
            lease_left_s: (row.heard + LEASE).since(now).as_secs(),
        });
        [Either::A(whole)].into_iter().chain(rows.map(Either::B)).collect()
    }

    fn alarms(&self) -> Vec<Condition> {
        let mut inner = self.lock();
        let now = self.now();
        let Some(keeper) = &mut inner.keeper else { return Vec::new() };
        keeper.tick(now);
        let (severity, percent) = match keeper.level() {
            Level::Calm => return Vec::new(),
            Level::High => ("minor", 80),
            Level::Full => ("major", 95),
        };
        let (live, sessions) = (keeper.held().1, keeper.sessions());
        let text = format!("{live} of {sessions} sessions run: more than {percent} %");
        let row = Condition::new("pool-nearly-used", POOL, severity, text);
        vec![row.caused_by("threshold-crossed")]
    }
}

/// The pool as a whole.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeeperRow {
    drawer: &'static str,
    /// `keeps`, or `learns` after its start.
    keeper: &'static str,
    sessions: u32,
    held: u64,
    live: u64,
    free: u64,
}

/// What one shard draws from the pool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ShareRow {
    /// Function and shard.
    drawer: String,
    held: u32,
    live: u32,
    spare: u32,
    lease_left_s: u64,
}

type Serve = fn(&LicenceService, &Ask) -> Result<Value, AskError>;

questions! {
    /// What a keeper answers.
    const QUESTIONS: Serve;
    /// The pool of sessions as a whole, then what each shard draws from it.
    Ask "pool" [] -> Vec<Either<KeeperRow, ShareRow>>, |it, _| Ok(it.show());
    /// The conditions that stand.
    Ask "alarms" [] -> Vec<Condition>, |it, _| Ok(it.alarms());
}

/// What a keeper may be asked.
pub fn questions() -> Vec<Question> {
    question::listed(QUESTIONS).collect()
}

impl Managed for LicenceService {
    fn name(&self) -> String {
        POOL.to_owned()
    }

    fn kind(&self) -> &'static str {
        POOL
    }

    fn state(&self) -> State {
        State::Running
    }

    fn shards(&self) -> u16 {
        1
    }

    fn started_at_us(&self) -> u64 {
        self.started.0.as_micros()
    }

    fn ports(&self) -> Vec<PortRow> {
        let row = |at: &SocketAddr| PortRow {
            name: "keeper".to_owned(),
            transport: "udp".to_owned(),
            address: at.to_string(),
        };
        self.listen.iter().map(row).collect()
    }

    fn cells(&self) -> Vec<(u16, Vec<MetricCells>)> {
        let mut inner = self.lock();
        let now = self.now();
        let Inner { keeper, metrics } = &mut *inner;
        if let Some(keeper) = keeper {
            keeper.tick(now);
            let (held, live) = keeper.held();
            metrics.set(PoolMetric::Sessions, keeper.sessions().into());
            metrics.set(PoolMetric::Held, held);
            metrics.set(PoolMetric::Live, live);
            metrics.set(PoolMetric::Drawers, keeper.rows().count() as u64);
        }
        vec![(0, vec![metrics.cells()])]
    }

    fn ask(&self, ask: Ask) -> Result<Value, AskError> {
        let serve = question::find(QUESTIONS, &ask.path);
        serve.ok_or_else(|| AskError::NotFound(ask.path.clone()))?(self, &ask)
    }

    fn questions(&self) -> Vec<Question> {
        questions()
    }
}

/// A socket that gives up waiting after `wait`.
pub fn socket(at: SocketAddr, wait: Duration) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(at)?;
    socket.set_read_timeout(Some(wait))?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use event::Sample;

    fn section(sessions: u32) -> Section {
        serde_json::from_value(serde_json::json!({ "sessions": sessions })).unwrap()
    }

    fn report(keeping: &LicenceService, stamp: u64, keeper: u64, serial: u64, live: u32) -> Grant {
        let stamp = Time::from_nanos(stamp);
        let held = if serial == 0 { 0 } else { live };
        let report = Report { keeper, life: 1, stamp, serial, held, live, short: 0 };
        keeping.take("ssc1", 0, report).unwrap()
    }

    #[test]
    fn its_metrics_move_and_the_alarm_rises_with_the_level() {
        let keeping = LicenceService::new(None);
        keeping.configure(Some(&section(20)));
        let greeting = report(&keeping, 1, 0, 0, 0);
        let first = report(&keeping, 2, greeting.keeper, 0, 10);
        assert_eq!((greeting.serial, first.block), (0, 15), "and half of what is unused");
        assert_eq!(keeping.alarms(), []);
        for (n, live, severity) in [(0, 16, "minor"), (1, 19, "major")] {
            report(&keeping, 3 + n, greeting.keeper, 1 + n, live);
            assert_eq!(keeping.alarms()[0].severity, severity);
        }
        let old = Report {
            keeper: greeting.keeper,
            life: 1,
            stamp: Time::from_nanos(1),
            serial: 1,
            held: 0,
            live: 0,
            short: 0,
        };
        assert!(keeping.take("ssc1", 0, old).is_none());
        for (row, reading) in keeping.cells()[0].1[0].samples() {
            assert!(matches!(reading, Sample::Value(1..)), "{} never moved", row.name);
        }
        assert_eq!(question::value(keeping.show())[1]["live"], 19);
        keeping.configure(None);
        assert!(!keeping.is_on());
    }

    #[test]
    fn what_nobody_sealed_is_not_answered() {
        let wait = Duration::from_millis(50);
        let any = || socket("127.0.0.1:0".parse().unwrap(), wait).unwrap();
        let (server, client) = (any(), any());
        client.connect(server.local_addr().unwrap()).unwrap();
        let keeping = LicenceService::new(Some(server.local_addr().unwrap()));
        keeping.configure(Some(&section(20)));
        let stamp = Time::from_nanos(1);
        let report = Report { keeper: 0, life: 1, stamp, serial: 0, held: 0, live: 0, short: 0 };
        let mut bytes = Vec::new();
        message::write(&mut bytes, &Message::Report("ssc1", 0, report));
        let mut answer = [0; MESSAGE_BYTES_MAX];
        for (secret, is_answered) in [("other", false), ("ours", true)] {
            let mut bytes = bytes.clone();
            Secret::new(secret).seal(&mut bytes);
            client.send(&bytes).unwrap();
            keeping.serve(&server, &Secret::new("ours"));
            assert_eq!(client.recv(&mut answer).is_ok(), is_answered, "{secret}");
        }
    }
}
