//! The threads of the pool: one takes reports and grants between the controllers of this process
//! and the keeper, one answers other processes if the keeper is here.

use super::licence_service::socket;
use super::{LicenceService, MESSAGE_BYTES_MAX, Section};
use authentication::Secret;
use config::keys;
use machine::Time;
use pool::message::{self, Message};
use pool::{Grant, Report};
use runtime::Ask;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use supervise::Unit;

/// The question that brings grants and takes reports.
const EXCHANGE: &str = "pool/exchange";
/// Pause between two rounds of a controller that has little left, and the longest wait for the
/// keeper's answers …
const SOON: Duration = Duration::from_millis(20);
/// … and of one that has enough.
const ROUND: Duration = Duration::from_millis(200);
/// Longest wait of the keeper's thread.
const WAIT: Duration = Duration::from_millis(100);

/// The pool in this process. Dropping it ends its threads.
pub struct LicenceAgent {
    section: Arc<Mutex<Option<Section>>>,
    keeping: Arc<LicenceService>,
    is_ending: Arc<AtomicBool>,
    secret: Option<Arc<Secret>>,
    service: Option<SocketAddr>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The secret in a file. The keeper makes it, the others must have been given it.
fn secret(directory: &Path, section: &Section) -> io::Result<Secret> {
    let path = directory.join(&section.secret_file);
    let said = |why: String| io::Error::other(format!("pool.secret_file: {why}"));
    let text = if section.listen.is_some() {
        let text = oam::token::read_or_make(&path);
        text.map_err(|error| said(format!("{}: {error}", path.display())))?
    } else {
        keys::text(directory, &section.secret_file)
            .map_err(|unusable| said(unusable.to_string()))?
    };
    Ok(Secret::new(text.trim()))
}

impl LicenceAgent {
    /// The pool of a site that starts; [`LicenceAgent::run`] begins.
    ///
    /// # Errors
    /// The secret cannot be read.
    pub fn new(section: Option<&Section>, directory: &Path) -> io::Result<Self> {
        let linked = section.filter(|own| own.is_linked());
        let secret = linked.map(|own| secret(directory, own)).transpose()?.map(Arc::new);
        let agent = Self {
            section: Arc::default(),
            keeping: LicenceService::new(section.and_then(|own| own.listen)),
            is_ending: Arc::default(),
            secret,
            service: section.and_then(|own| own.keeper),
            threads: Mutex::default(),
        };
        agent.configure(section);
        Ok(agent)
    }

    /// Takes the section of a commit.
    pub fn configure(&self, section: Option<&Section>) {
        self.keeping.configure(section);
        *self.section.lock().unwrap_or_else(PoisonError::into_inner) = section.cloned();
    }

    /// The keeper, where it is here.
    pub fn keeping(&self) -> Option<Arc<LicenceService>> {
        self.keeping.is_on().then(|| Arc::clone(&self.keeping))
    }

    /// Starts the threads; `units` lists the functions.
    ///
    /// # Errors
    /// The address cannot be bound; no thread.
    pub fn run(
        &self,
        listen: Option<SocketAddr>,
        units: impl Fn() -> Vec<Arc<dyn Unit>> + Send + 'static,
    ) -> io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(listen), Some(secret)) = (listen, self.secret.clone()) {
            let socket = socket(listen, WAIT)?;
            let (keeping, ending) = (Arc::clone(&self.keeping), Arc::clone(&self.is_ending));
            threads.push(thread::Builder::new().name("pool-keeper".into()).spawn(move || {
                while !ending.load(Relaxed) {
                    keeping.serve(&socket, &secret);
                }
            })?);
        }
        let line = match (self.service, self.secret.clone()) {
            (Some(keeper), Some(secret)) => Line::Remote(dial(keeper)?, secret),
            _ => Line::Here(Arc::clone(&self.keeping)),
        };
        let (section, ending) = (Arc::clone(&self.section), Arc::clone(&self.is_ending));
        threads.push(thread::Builder::new().name("pool".into()).spawn(move || {
            let mut rounds = Rounds { line, grants: BTreeMap::new(), due: BTreeMap::new() };
            while !ending.load(Relaxed) {
                let now = section.lock().unwrap_or_else(PoisonError::into_inner).clone();
                rounds.go(now.as_ref(), &units());
            }
        })?);
        Ok(())
    }
}

impl Drop for LicenceAgent {
    fn drop(&mut self) {
        self.is_ending.store(true, Relaxed);
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn dial(keeper: SocketAddr) -> io::Result<UdpSocket> {
    let any = match keeper {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = socket(any, SOON)?;
    socket.connect(keeper)?;
    Ok(socket)
}

/// The way to the keeper.
enum Line {
    Here(Arc<LicenceService>),
    Remote(UdpSocket, Arc<Secret>),
}

/// What the next round of each shard brings.
type Grants = BTreeMap<(String, u16), Grant>;

struct Rounds {
    line: Line,
    grants: Grants,
    /// By function: when it is asked next.
    due: BTreeMap<String, Instant>,
}

impl Rounds {
    /// Asks who is due, then waits a little for the keeper's answers.
    fn go(&mut self, section: Option<&Section>, units: &[Arc<dyn Unit>]) {
        let now = Instant::now();
        let controllers = units.iter().filter(|unit| unit.kind() == "ssc");
        let mut names = Vec::new();
        for unit in controllers {
            let name = unit.name();
            if self.due.get(&name).is_none_or(|due| *due <= now) {
                let is_low = self.exchange(section, unit.as_ref());
                self.due.insert(name.clone(), now + if is_low { SOON } else { ROUND });
            }
            names.push(name);
        }
        self.due.retain(|name, _| names.contains(name));
        self.listen();
    }

    /// Brings a controller its grants and takes its reports; whether it has little left.
    fn exchange(&mut self, section: Option<&Section>, unit: &dyn Unit) -> bool {
        let account = unit.account();
        let mut params = section.map(terms).unwrap_or_default();
        let own = self.grants.extract_if(.., |(name, _), _| *name == account);
        for ((_, shard), grant) in own {
            params.insert(shard.to_string(), words(&grant));
        }
        // One that does not answer now does at the next round.
        let Ok(answer) = unit.ask(Ask { path: EXCHANGE.into(), params }) else { return false };
        let mut is_low = false;
        for (shard, report, row_is_low) in answer.as_array().into_iter().flatten().filter_map(read)
        {
            is_low |= row_is_low;
            self.tell(&account, shard, report);
        }
        is_low
    }

    fn tell(&mut self, account: &str, shard: u16, report: Report) {
        match &self.line {
            Line::Here(keeping) => {
                let grant = keeping.take(account, shard, report);
                self.grants.extend(grant.map(|grant| ((account.to_owned(), shard), grant)));
            }
            Line::Remote(socket, secret) => {
                let mut bytes = Vec::with_capacity(MESSAGE_BYTES_MAX);
                message::write(&mut bytes, &Message::Report(account, shard, report));
                secret.seal(&mut bytes);
                // What is lost is said again in the next round.
                let _ = socket.send(&bytes);
            }
        }
    }

    /// Takes the keeper's answers for a little while.
    fn listen(&mut self) {
        let until = Instant::now() + SOON;
        let Line::Remote(socket, secret) = &self.line else { return thread::sleep(SOON) };
        let mut buffer = [0; MESSAGE_BYTES_MAX];
        while Instant::now() < until {
            let length = match socket.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The keeper's machine says that nobody is there.
                Err(_) => return thread::sleep(SOON),
            };
            let message = secret.open(&buffer[..length]).and_then(message::read);
            if let Some(Message::Grant(account, shard, grant)) = message {
                self.grants.insert((account.to_owned(), shard), grant);
            }
        }
    }
}

/// What holds for controllers, as parameters of the question.
fn terms(section: &Section) -> BTreeMap<String, String> {
    let numbers = [
        ("grace_s", section.grace_s),
        ("overdraft", section.overdraft.unwrap_or(u32::MAX)),
        ("status", section.status.into()),
    ];
    numbers.into_iter().map(|(key, number)| (key.to_owned(), number.to_string())).collect()
}

/// A grant as a parameter.
fn words(grant: &Grant) -> String {
    let Grant { keeper, life, stamp, serial, block, spare } = *grant;
    format!("{keeper} {life} {} {serial} {block} {spare}", stamp.as_nanos())
}

/// Reads a row of the answer: the shard, its report, whether it has little left.
fn read(row: &Value) -> Option<(u16, Report, bool)> {
    let number = |at: usize| row["report"].get(at)?.as_u64();
    let report = Report {
        keeper: number(0)?,
        life: number(1)?,
        stamp: Time::from_nanos(number(2)?),
        serial: number(3)?,
        held: number(4)? as u32,
        live: number(5)? as u32,
        short: number(6)? as u32,
    };
    Some((row["shard"].as_u64()? as u16, report, row["low"] == true))
}
