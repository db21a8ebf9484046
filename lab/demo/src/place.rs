//! Where a scene plays: its directory, its addresses, and whether it is to end.

use report::site::address;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(20);

/// A scene's place.
#[derive(Debug, Clone)]
pub struct Place {
    /// The `tandem` binary.
    pub tandem: PathBuf,
    /// Where its files are; gone with it.
    pub directory: PathBuf,
    /// Whether it goes on once it is played.
    pub stays: bool,
    is_over: Arc<AtomicBool>,
}

impl Place {
    /// A place that is over when this process is asked to end.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn new(tandem: &Path, directory: &Path, stays: bool) -> anyhow::Result<Self> {
        let is_over = Arc::<AtomicBool>::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&is_over))?;
        }
        let (tandem, directory) = (tandem.to_owned(), directory.to_owned());
        Ok(Self { tandem, directory, stays, is_over })
    }

    /// An address of 127.0.0.0/8: with the port that people expect where somebody is to use it,
    /// with any free one else.
    ///
    /// # Errors
    /// When no port is free.
    pub fn address(&self, host: [u8; 4], preferred: u16) -> anyhow::Result<SocketAddr> {
        let host = IpAddr::from(host);
        if self.stays { address(host, preferred) } else { peers::free_port(host) }
    }

    /// Whether this process was asked to end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// Waits, unless it is over before.
    pub fn pause(&self, time: Duration) {
        self.until(time, || Ok(false)).unwrap_or_default();
    }

    /// Waits until something holds, at most `limit`; whether it does.
    ///
    /// # Errors
    /// Those of `holds`, and never another.
    pub fn until(
        &self,
        limit: Duration,
        mut holds: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let begun = Instant::now();
        loop {
            if holds()? {
                return Ok(true);
            }
            if self.is_over() || begun.elapsed() >= limit {
                return Ok(false);
            }
            std::thread::sleep(LOOK.min(limit));
        }
    }

    /// The same; that it does not hold in time is an error.
    ///
    /// # Errors
    /// Those of `holds`, and that `what` has not come.
    pub fn must(
        &self,
        what: &str,
        limit: Duration,
        holds: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        anyhow::ensure!(self.until(limit, holds)?, "{what}: not within {limit:?}");
        Ok(())
    }

    /// The site's file, for `tandem ctl`.
    #[must_use]
    pub fn site_file(&self) -> PathBuf {
        self.directory.join("site.toml")
    }
}
