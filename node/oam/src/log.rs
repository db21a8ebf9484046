//! Structured logs: text or JSON on standard error, levels by target, changeable at run time.

use crate::section::{Format, Log};
use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt, reload};

/// The levels by name.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Reads levels by target: `info,ssc=debug`.
///
/// # Errors
/// A sentence that names the directive that is wrong.
pub fn filter(text: &str) -> Result<EnvFilter, String> {
    for directive in directives(text) {
        let level = directive.rsplit_once('=').map_or(directive, |(_, level)| level);
        if directive.contains('=') && !LEVELS.contains(&level.to_ascii_lowercase().as_str()) {
            return Err(format!("`{directive}` names no level ({})", LEVELS.join(", ")));
        }
    }
    EnvFilter::try_new(text).map_err(|error| error.to_string())
}

/// The directives of a filter.
fn directives(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// The levels that hold when `text` is set over `old`.
fn merged(old: &str, text: &str) -> String {
    let is_of_all = |it: &str| LEVELS.contains(&it.to_ascii_lowercase().as_str());
    if directives(text).any(is_of_all) {
        return text.to_owned();
    }
    fn target(directive: &str) -> &str {
        directive.rsplit_once('=').map_or(directive, |it| it.0)
    }
    let is_new = |old: &&str| !directives(text).any(|it| target(it) == target(old));
    let kept = directives(old).filter(is_new);
    kept.chain(directives(text)).collect::<Vec<_>>().join(",")
}

/// The switch of the process's log levels.
#[derive(Clone, Default)]
pub struct Levels {
    handle: Option<reload::Handle<EnvFilter, Registry>>,
    text: Arc<Mutex<String>>,
}

impl Levels {
    /// Installs the process's log; a second installation (tests) only keeps the text.
    ///
    /// # Errors
    /// A sentence that names the directive that is wrong.
    pub fn install(log: &Log) -> Result<Self, String> {
        let (filter, handle) = reload::Layer::new(filter(&log.filter)?);
        let lines = match log.format {
            Format::Text => {
                let colours = std::io::stderr().is_terminal();
                fmt::layer().with_ansi(colours).with_writer(std::io::stderr).boxed()
            }
            Format::Json => fmt::layer().json().with_writer(std::io::stderr).boxed(),
        };
        let installed = tracing_subscriber::registry().with(filter).with(lines).try_init().is_ok();
        let handle = installed.then_some(handle);
        Ok(Self { handle, text: Arc::new(Mutex::new(log.filter.clone())) })
    }

    /// The levels as they were set last.
    #[must_use]
    pub fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the levels of the targets that are named; with a level for all, all of them.
    ///
    /// # Errors
    /// A sentence that names the directive that is wrong; the levels stay as they were.
    pub fn adjust(&self, text: &str) -> Result<(), String> {
        self.set(&merged(&self.text(), text))
    }

    /// Sets the levels.
    ///
    /// # Errors
    /// As [`Levels::adjust`].
    pub fn set(&self, text: &str) -> Result<(), String> {
        let filter = filter(text)?;
        if let Some(handle) = &self.handle {
            handle.reload(filter).map_err(|error| error.to_string())?;
        }
        text.clone_into(&mut self.text.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}
