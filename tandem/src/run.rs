//! `tandem run`: start the functions of a site, supervise them, drain and end.

use crate::exposure::exposures;
use crate::functions::StartContext;
use crate::guardian;
use crate::probe::probe;
use crate::rights;
use crate::site::{REVISIONS, Site};
use crate::site_controller::{Functions, SiteController};
use crate::site_text::{self, LOCK};
use crate::token;
use client::Exit;
use config::keys::quoted;
use config::{Disk, Issue, Refused, Store};
use driver::unix_socket::own_user;
use local::ControlSocket;
use oam::http::stream::Owner;
use oam::log::Levels;
use oam::{Oam, Registry, notify};
use services::arbiter::Arbiter;
use services::pool::LicenceAgent;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use supervise::Unit;

/// Pause between two looks at signals and functions.
const LOOK: Duration = Duration::from_millis(50);
/// A drain that takes longer says what it waits for.
const WAITS: Duration = Duration::from_secs(1);
/// Looks at a lock that is held, before it is another site's.
const LOCK_TRIES: u32 = 5;
/// Name of the file in the site's directory with the URL of the API, while the site runs.
pub const ADDRESS: &str = "address";
/// Name of the file in the site's directory with the path of its control socket, while it runs.
pub const CONTROL: &str = "control";

/// What a drain that takes long was said to wait for.
struct Waits {
    after: Instant,
    words: Vec<String>,
}

impl Waits {
    /// Says it, and what else it waits for when that is another thing.
    fn say(&mut self, units: &[Arc<dyn Unit>]) {
        if Instant::now() < self.after {
            return;
        }
        let busy = units.iter().filter(|unit| !unit.is_idle());
        let words: Vec<String> =
            busy.map(|unit| format!("{}: {}", unit.name(), unit.waits_for())).collect();
        if words != self.words && !words.is_empty() {
            tracing::info!(target: "site", waits_for = words.join(", "), "not drained yet");
            (self.words, self.after) = (words, Instant::now() + WAITS);
        }
    }
}

/// What ends a run.
struct Wishes {
    /// Signals so far; one drains, two end at once.
    signals: Arc<AtomicUsize>,
    /// The wish to drain from the API.
    drain: Arc<AtomicBool>,
    /// The wish to read the site file again.
    reload: Arc<AtomicBool>,
}

impl Wishes {
    fn install() -> io::Result<Self> {
        let signals = Arc::new(AtomicUsize::new(0));
        let mut arriving = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
        let count = Arc::clone(&signals);
        let reload = Arc::new(AtomicBool::new(false));
        let again = Arc::clone(&reload);
        thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in arriving.forever() {
                if signal == SIGHUP {
                    again.store(true, Relaxed);
                } else {
                    count.fetch_add(1, Relaxed);
                }
            }
        })?;
        Ok(Self { signals, drain: Arc::default(), reload })
    }

    fn drains(&self) -> bool {
        self.signals.load(Relaxed) > 0 || self.drain.load(Relaxed)
    }

    fn ends_at_once(&self) -> bool {
        self.signals.load(Relaxed) + usize::from(self.drain.load(Relaxed)) > 1
    }
}

/// Runs a site until a signal or the API drains it.
pub fn run(file: &Path) -> Result<(), Exit> {
    driver::privilege::keep_files();
    let (text, site) = site_text::read(file)?;
    let directory = site.directory(file);
    let guarded = guardian::start(file, &site);
    rights::settle(file, &text, &site, &directory)?;
    let weak = rights::confine(&site);
    let _lock = lock(&directory, &site.site.name)?;
    site_text::refuse(file, &text, probe(&site, &directory, &[]))?;
    let levels = Levels::install(&site.oam.log).map_err(Exit::Failed)?;
    weak.iter().for_each(|what| tracing::warn!(target: "site", "{what}"));
    if let Err(error) = guarded {
        let what = "there is no guardian: nobody aborts SCTP associations if this process dies";
        tracing::warn!(target: "guardian", error, "{what}");
    }
    if site.site.memory_mb > 0 {
        let taken = driver::memory::take(site.site.memory_mb);
        let issue = |error: std::io::Error| {
            Issue::new("site.memory_mb", error.to_string(), "take less, or 0")
        };
        site_text::refuse(file, &text, taken.map_err(issue).err().into_iter().collect())?;
    }
    for found in exposures(file, &text, &site) {
        let (line, hint) = (found.line, &found.hint);
        tracing::warn!(target: "exposure", path = found.path, line, hint, "{}", found.what);
    }
    panics_to_log();
    let wishes = Wishes::install()?;
    let running = Running::start(file, &text, &site, levels, &wishes)?;
    rights::give_up(&site.site)?;
    guardian::watch();
    running.serve(&wishes)?;
    guardian::rest();
    Ok(())
}

/// What a text leaves open, once it runs as the site file `file`.
fn exposures_of(file: &Path) -> Box<oam::ExposuresFn> {
    let file = file.to_owned();
    Box::new(move |text| {
        let site = config::read::<Site>(text);
        site.map_or_else(|_| Vec::new(), |site| exposures(&file, text, &site))
    })
}

/// Panics go to the log with thread and place; what they cost is said where they are caught.
fn panics_to_log() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let words = panic.payload_as_str().unwrap_or("no words");
        let name = thread.name().unwrap_or_default();
        tracing::error!(target: "panic", thread = name, place, words, "a thread panicked");
    }));
}

/// Holds the site's directory for this process alone, and says in the lock which site that is.
fn lock(directory: &Path, name: &str) -> Result<File, Exit> {
    // What another process's site has written there stays.
    let mut opened = File::options();
    let opened = opened.write(true).create(true).truncate(false).open(directory.join(LOCK));
    let mut file = opened.map_err(|error| {
        let own = "its owner must be who runs the site: chown -R USER";
        let word = quoted(directory);
        Exit::Failed(format!("{}: {error}; {own} {word}", directory.display()))
    })?;
    let mut locked = file.try_lock();
    for _ in 0..LOCK_TRIES {
        if !matches!(locked, Err(TryLockError::WouldBlock)) {
            break;
        }
        // Who asks whether a site runs here holds the lock for a moment.
        thread::sleep(LOOK);
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => {
            file.set_len(0)?;
            writeln!(file, "{name}")?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let what = format!(
                "another process runs the site of {}; give each site on this machine its own \
                 `directory`, `name` and `[oam] listen`",
                directory.display()
            );
            Err(Exit::Conflict(what))
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Answers at a control socket, by which `tandem ctl` finds the site. A site runs without, too.
fn control(oam: &mut Oam, site: &str, directory: &Path) -> Option<(ControlSocket, PathBuf)> {
    let named = directory.join(CONTROL);
    // One that a crash has left names a place that may be somebody else's by now.
    let _ = fs::remove_file(&named);
    let opened = ControlSocket::open(site).and_then(|(socket, listener)| {
        let owner = Owner { user: own_user(), name: driver::privilege::acting() };
        oam.serve_local(listener, owner)?;
        config::write_atomic(&named, socket.path().as_os_str().as_encoded_bytes())?;
        Ok(socket)
    });
    match opened {
        Ok(socket) => {
            tracing::info!(target: "site", path = %socket.path().display(), "the control socket");
            if let Some(why) = local::doubt(socket.path()) {
                tracing::warn!(target: "site", "{why}");
            }
            Some((socket, named))
        }
        Err(error) => {
            tracing::warn!(target: "site", %error, "no control socket: ctl needs --site or --url");
            None
        }
    }
}

/// A started site.
struct Running {
    oam: Arc<Oam>,
    parts: Functions,
    address: PathBuf,
    /// The control socket, and the file that names it.
    control: Option<(ControlSocket, PathBuf)>,
}

impl Running {
    fn start(
        file: &Path,
        text: &str,
        site: &Site,
        levels: Levels,
        wishes: &Wishes,
    ) -> Result<Self, Exit> {
        let directory = site.directory(file);
        let registry = Registry::new();
        registry.describe(crate::functions::described());
        let pool = Arc::new(LicenceAgent::new(site.pool.as_ref(), &directory)?);
        let arbiter = site.arbiter.as_ref().map(|section| Arbiter::start(section, &directory));
        let context = StartContext {
            directory: directory.clone(),
            registry: Arc::clone(&registry),
            pool: Arc::clone(&pool),
            arbiter: arbiter.transpose()?.map(Arc::new),
            starts_programs: rights::starts_programs(site),
        };
        let slot = Arc::new(OnceLock::new());
        let refuse = |issues| site_text::refuse(file, text, issues);
        let controller = match SiteController::start(site, context, Arc::clone(&slot)) {
            Ok(controller) => controller,
            Err(issues) => return Err(refuse(issues).err().unwrap_or(Exit::Failed(String::new()))),
        };
        let parts = controller.parts();
        let listed = parts.clone();
        let listen = site.pool.as_ref().and_then(|own| own.listen);
        pool.run(listen, move || listed.units())?;
        let disk = Disk::open(&directory.join(REVISIONS), file)?;
        let store = Store::open(oam::clock::now(), text, controller, Box::new(disk))
            .map_err(|refused: Refused| Exit::Failed(refused.to_string()))?;
        let drain = Arc::clone(&wishes.drain);
        let spec = oam::Spec {
            name: site.site.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            token_file: site.token_file(&directory),
            tokens: token::of(&directory),
            registry,
            store: Arc::new(Mutex::new(store)),
            levels,
            limits: oam::http::connections::Limits::default(),
            exposures: exposures_of(file),
            drain: Box::new(move || drain.store(true, Relaxed)),
        };
        let mut oam = match Oam::start(spec, &site.oam) {
            Ok(oam) => oam,
            Err(error) => {
                refuse(vec![Issue::new("oam.listen", error.to_string(), "")])?;
                return Err(error.into());
            }
        };
        let control = control(&mut oam, &site.site.name, &directory);
        let oam = Arc::new(oam);
        // Set once, here.
        let _ = slot.set(Arc::downgrade(&oam));
        let address = directory.join(ADDRESS);
        Ok(Self { oam, parts, address, control })
    }

    /// Supervises until it is time to drain, then drains.
    fn serve(self, wishes: &Wishes) -> Result<(), Exit> {
        let core = Arc::clone(self.oam.core());
        // Whoever has waited for the site finds its address.
        let mut url = format!("http://{}", self.oam.address());
        config::write_atomic(&self.address, url.as_bytes())?;
        core.phase.serve();
        notify::ready("serving");
        tracing::info!(target: "site", name = core.name, "the site serves");
        while !wishes.drains() {
            let now = Instant::now();
            self.parts.units().iter().for_each(|unit| unit.watch(now));
            if wishes.reload.swap(false, Relaxed) {
                core.reload("SIGHUP");
            }
            let current = format!("http://{}", self.oam.address());
            if current != url {
                config::write_atomic(&self.address, current.as_bytes())?;
                url = current;
            }
            thread::sleep(LOOK);
        }
        core.phase.drain();
        notify::stopping();
        let ended = self.drain(wishes);
        // The address is of no use any more; the lock says so too.
        let _ = fs::remove_file(&self.address);
        if let Some((_, named)) = &self.control {
            let _ = fs::remove_file(named);
        }
        ended
    }

    fn drain(&self, wishes: &Wishes) -> Result<(), Exit> {
        let (units, drain_s) = (self.parts.units(), self.parts.drain_s());
        tracing::info!(target: "site", deadline_s = drain_s, "draining");
        units.iter().for_each(|unit| unit.drain());
        let until = Instant::now() + Duration::from_secs(u64::from(drain_s));
        let mut outcome = Ok(());
        let mut said = Waits { after: Instant::now() + WAITS, words: Vec::new() };
        while !units.iter().all(|unit| unit.is_idle()) {
            said.say(&units);
            if wishes.ends_at_once() {
                outcome = Err(Exit::Failed("ended before the site was drained".into()));
                break;
            }
            if Instant::now() >= until {
                tracing::warn!(target: "site", "the deadline has passed, calls are cut off");
                break;
            }
            thread::sleep(LOOK);
        }
        units.iter().for_each(|unit| unit.end());
        tracing::info!(target: "site", "ended");
        outcome
    }
}
