//! A directory for one run, gone at its end, also when the run is interrupted; so are the network
//! namespaces of the run then.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

/// Directories of runs that are under way.
static KEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

/// A temporary directory. Dropping it removes it.
#[derive(Debug)]
pub struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    /// A new directory whose name begins with `prefix`. From now on an interrupted process
    /// removes it and ends; programs that it started end with it.
    ///
    /// # Errors
    /// When there is no room.
    pub fn new(prefix: &str) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix(prefix).tempdir()?;
        WATCH.call_once(watch);
        kept(|list| list.push(directory.path().to_owned()));
        Ok(Self { directory })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        kept(|list| list.retain(|path| path != self.directory.path()));
    }
}

fn kept<T>(act: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    act(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

fn watch() {
    let signals = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
    let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) else { return };
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            for path in kept(std::mem::take) {
                // What cannot be removed now is the system's to clean.
                let _ = fs::remove_dir_all(path);
            }
            attack::remove(|owner| owner == std::process::id());
            std::process::exit(128 + signal);
        }
    });
}
