//! Start, change and end of the management side.

use crate::core::{Core, Parts};
use crate::http::connections::{self, Limits};
use crate::http::stream::{Listener, Owner};
use crate::log::Levels;
use crate::managed::Registry;
use crate::section::Section;
use crate::token::{Authenticator, Tokens};
use crate::{notify, ticker, token};
use config::Store;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Threads that answer requests.
const WORKERS: usize = 2;
/// Threads for answers that have to wait (asks, commits).
const BLOCKING_MAX: usize = 64;
/// Time for open requests to end when the process stops.
const STOP_GRACE: Duration = Duration::from_secs(1);

pub use crate::core::ExposuresFn;

/// What a management side is started with.
pub struct Spec {
    /// Name of the site.
    pub name: String,
    /// Version of the program.
    pub version: &'static str,
    /// Where the first token is kept.
    pub token_file: PathBuf,
    /// Where the other tokens are.
    pub tokens: Tokens,
    /// The functions.
    pub registry: Arc<Registry>,
    /// The configuration.
    pub store: Arc<Mutex<Store>>,
    /// The log levels.
    pub levels: Levels,
    /// What one peer may take of the API.
    pub limits: Limits,
    /// What the text of a site file leaves open to others.
    pub exposures: Box<ExposuresFn>,
    /// What `POST /api/v1/drain` does.
    pub drain: Box<dyn Fn() + Send + Sync>,
}

struct ApiListener {
    /// As written in the site file, port 0 included.
    wanted: SocketAddr,
    bound: SocketAddr,
    /// Dropped: the server takes no new connection.
    _stop: watch::Sender<()>,
}

/// The running management side.
pub struct Oam {
    core: Arc<Core>,
    runtime: Option<Runtime>,
    listener: Mutex<ApiListener>,
    /// Dropped: the socket of this machine takes no new connection.
    local: Option<watch::Sender<()>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What all parts of a management side share, for who asks [`crate::http::router`] without a
/// socket. `token` is the first one.
#[must_use]
pub fn assemble(spec: Spec, section: &Section, token: &str) -> Arc<Core> {
    Arc::new(Core::new(Parts {
        name: spec.name,
        version: spec.version,
        registry: spec.registry,
        store: spec.store,
        levels: spec.levels,
        authenticator: Authenticator::new(token, spec.tokens),
        metrics_open: section.metrics_open,
        hosts: section.hosts.clone(),
        limits: spec.limits,
        exposures: spec.exposures,
        drain: spec.drain,
    }))
}

impl Oam {
    /// Binds the address, reads or makes the token, starts serving.
    ///
    /// # Errors
    /// What the kernel or the disk says, with the address or the file.
    pub fn start(spec: Spec, section: &Section) -> io::Result<Self> {
        let wanted = address(section)?;
        let listener = bind(wanted)?;
        let path = spec.token_file.clone();
        let token = token::read_or_make(&path).map_err(|error| {
            io::Error::new(error.kind(), format!("token {}: {error}", path.display()))
        })?;
        let core = assemble(spec, section, &token);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(BLOCKING_MAX)
            .thread_name("oam")
            .enable_all()
            .build()?;
        let listener = Mutex::new(open(&runtime, &core, wanted, listener)?);
        let stop = Arc::new(AtomicBool::new(false));
        let threads = ticker::start(&core, &stop)?;
        if let Some(interval) = notify::watchdog_interval() {
            runtime.spawn(watchdog(Arc::clone(&core), interval));
        }
        Ok(Self { core, runtime: Some(runtime), listener, local: None, stop, threads })
    }

    /// Answers at a socket of this machine as well, without a token: root and the owner of the
    /// process, as the kernel names them, with the rights of an administrator.
    ///
    /// # Errors
    /// The kernel's.
    pub fn serve_local(
        &mut self,
        listener: std::os::unix::net::UnixListener,
        owner: Owner,
    ) -> io::Result<()> {
        let Some(runtime) = &self.runtime else { return Ok(()) };
        listener.set_nonblocking(true)?;
        let _inside = runtime.enter();
        let listener = Listener::Local(tokio::net::UnixListener::from_std(listener)?, owner);
        let (stop, stopped) = watch::channel(());
        runtime.spawn(connections::serve(Arc::clone(&self.core), listener, stopped));
        self.local = Some(stop);
        Ok(())
    }

    /// What all parts share.
    #[must_use]
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    fn listener(&self) -> MutexGuard<'_, ApiListener> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address as bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener().bound
    }

    /// Whether [`Oam::configure`] could bind the section's address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn check(&self, section: &Section) -> io::Result<()> {
        let wanted = address(section)?;
        if wanted == self.listener().wanted { Ok(()) } else { bind(wanted).map(drop) }
    }

    /// Takes a new section: binds a new address before it leaves the old one.
    ///
    /// # Errors
    /// What the kernel says; nothing changed then.
    pub fn configure(&self, section: &Section) -> io::Result<()> {
        let wanted = address(section)?;
        let mut listener = self.listener();
        if wanted != listener.wanted
            && let Some(runtime) = &self.runtime
        {
            *listener = open(runtime, &self.core, wanted, bind(wanted)?)?;
        }
        self.core.metrics_open.store(section.metrics_open, Relaxed);
        self.core.set_hosts(section.hosts.clone());
        if self.core.levels.text() != section.log.filter {
            self.core.levels.set(&section.log.filter).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Ends: no new request, a moment for those under way.
    pub fn stop(&mut self) {
        self.stop.store(true, Relaxed);
        drop(self.local.take());
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!(target: "oam", "a thread of the ticker panicked");
            }
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(STOP_GRACE);
        }
    }
}

impl Drop for Oam {
    fn drop(&mut self) {
        self.stop();
    }
}

fn address(section: &Section) -> io::Result<SocketAddr> {
    let what = || format!("oam.listen: `{}` is not an address", section.listen);
    let address =
        section.address().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, what()))?;
    if !address.ip().is_loopback() && !section.allow_remote {
        let what = format!("oam.listen: {address} needs allow_remote = true");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(address)
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
    let listener = TcpListener::bind(address).map_err(named)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn open(
    runtime: &Runtime,
    core: &Arc<Core>,
    wanted: SocketAddr,
    listener: TcpListener,
) -> io::Result<ApiListener> {
    let bound = listener.local_addr()?;
    let _inside = runtime.enter();
    let listener = Listener::Tcp(tokio::net::TcpListener::from_std(listener)?);
    let (stop, stopped) = watch::channel(());
    runtime.spawn(connections::serve(Arc::clone(core), listener, stopped));
    tracing::info!(target: "oam", address = %bound, "API and console are served");
    Ok(ApiListener { wanted, bound, _stop: stop })
}

/// Tells the service manager that we live, as long as the ticker does.
async fn watchdog(core: Arc<Core>, interval: Duration) {
    let mut ticks = tokio::time::interval(interval);
    loop {
        ticks.tick().await;
        if core.is_alive() {
            notify::watchdog();
        }
    }
}
