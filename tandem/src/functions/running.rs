//! A function that runs, whatever its kind, and how it takes another section.

use super::{AnySection, Kind};
use crate::supervise::{StartError, Supervised, Unit};
use config::Issue;
use runtime::RuntimeError;
use std::path::PathBuf;
use std::sync::Arc;

/// What a kind has started.
pub struct Started<K: Kind> {
    /// The function and its shards.
    pub unit: Arc<Supervised<K::Function>>,
    /// What the management side sees of it: itself, or the node of a pair around it.
    pub face: Arc<dyn Unit>,
    /// What is to be done when it has ended.
    pub ended: Option<Box<dyn Fn() + Send + Sync>>,
}

impl<K: Kind> From<Supervised<K::Function>> for Started<K> {
    fn from(unit: Supervised<K::Function>) -> Self {
        let unit = Arc::new(unit);
        Self { face: Arc::clone(&unit) as Arc<dyn Unit>, unit, ended: None }
    }
}

/// A function that runs.
pub trait Handle: Send + Sync {
    /// The function, whatever it is.
    fn unit(&self) -> Arc<dyn Unit>;

    /// Takes a new section without a restart.
    ///
    /// # Errors
    /// What hinders; it runs on with its old section then.
    fn configure(&self, section: &dyn AnySection) -> Result<(), ReconfigureError>;

    /// Ends the function at once and takes its routes away.
    fn end(&self);
}

/// A change that a running function cannot take, or why one does not start.
#[derive(Debug, thiserror::Error)]
pub enum ReconfigureError {
    /// The runtime refuses.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// What the function stands on does not.
    #[error("{0}")]
    Prepare(String),
    /// A file of the section cannot be used.
    #[error("{}", .0.what)]
    Load(Issue),
    /// The section became one of another kind under the same name.
    #[error("a function cannot become another kind: give it another name")]
    Kind,
    /// These keys say how the function is started.
    #[error("`{0}` changes only with a restart of the site")]
    Restart(&'static str),
}

impl From<StartError> for ReconfigureError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Runtime(error) => Self::Runtime(error),
            StartError::Prepare(why) => Self::Prepare(why),
        }
    }
}

/// A started function, and where its files are.
pub struct Running<K: Kind> {
    started: Started<K>,
    directory: PathBuf,
}

impl<K: Kind> Running<K> {
    pub fn new(started: Started<K>, directory: PathBuf) -> Self {
        Self { started, directory }
    }
}

impl<K: Kind> Handle for Running<K> {
    fn unit(&self) -> Arc<dyn Unit> {
        Arc::clone(&self.started.face)
    }

    fn configure(&self, section: &dyn AnySection) -> Result<(), ReconfigureError> {
        let unit = &self.started.unit;
        let new: &K = section.as_any().downcast_ref().ok_or(ReconfigureError::Kind)?;
        let (present, spec) = unit.present();
        let old = K::section(&present);
        if let Some(key) = old.fixed(new) {
            return Err(ReconfigureError::Restart(key));
        }
        let config = new.load(&self.directory).map_err(ReconfigureError::Load)?;
        let ports = K::section(&config).ports();
        if *present == config && spec.ports == ports {
            return Ok(());
        }
        unit.configure(Arc::new(config), ports)?;
        Ok(new.reconfigured(old, &spec)?)
    }

    fn end(&self) {
        self.unit().end();
        if let Some(ended) = &self.started.ended {
            ended();
        }
    }
}
