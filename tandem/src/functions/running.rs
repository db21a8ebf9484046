//! A function that runs, whatever its kind, and how it takes another section.

use super::{AnySection, Kind};
use crate::paired::{self, Paired};
use config::Issue;
use replica::Node;
use runtime::RuntimeError;
use std::path::PathBuf;
use std::sync::Arc;
use supervise::{Read, StartError, Supervised, Unit};

/// What a kind has started.
pub struct Started<K: Kind> {
    /// The function and its shards.
    pub unit: Arc<Supervised<K::Function>>,
    /// What the management side sees of it: itself, or the node of a pair around it.
    pub face: Arc<dyn Unit>,
    /// Its node, where it is one of a pair.
    pub node: Option<Arc<Node>>,
    /// What is to be done when it has ended.
    pub ended: Option<Box<dyn Fn() + Send + Sync>>,
}

impl<K: Kind> From<Supervised<K::Function>> for Started<K> {
    fn from(unit: Supervised<K::Function>) -> Self {
        let unit = Arc::new(unit);
        Self { face: Arc::clone(&unit) as Arc<dyn Unit>, unit, node: None, ended: None }
    }
}

impl<K: Kind> Started<K> {
    /// The same as one of a pair, if there is a node.
    pub fn paired(self, node: Option<Arc<Node>>) -> Self {
        let Some(node) = node else { return self };
        let face = Paired::new(Arc::clone(&self.unit), Arc::clone(&node));
        Self { face: Arc::new(face), node: Some(node), ..self }
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
        let own = directory.clone();
        started.unit.reread_by(Box::new(move |present| {
            let config = K::section(present).load(&own);
            let config = config.map_err(|issue| match &*issue.hint {
                "" => issue.what,
                hint => format!("{}: {hint}", issue.what),
            })?;
            let ports = K::section(&config).ports();
            let is_new = config != *present;
            Ok(Read { config, ports, is_new })
        }));
        Self { started, directory }
    }
}

/// Why a function with the section `old` does not take `new`.
pub fn refusal<K: Kind>(old: &K, new: &dyn AnySection) -> Option<ReconfigureError> {
    let Some(new) = new.as_any().downcast_ref::<K>() else { return Some(ReconfigureError::Kind) };
    let fixed =
        paired::fixed(Kind::head(old).replica, Kind::head(new).replica).or_else(|| old.fixed(new));
    fixed.map(ReconfigureError::Restart)
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
        if let Some(refusal) = refusal(old, new) {
            return Err(refusal);
        }
        let config = new.load(&self.directory).map_err(ReconfigureError::Load)?;
        let ports = K::section(&config).ports();
        if *present == config && spec.ports == ports {
            return Ok(());
        }
        unit.configure(Arc::new(config), ports)?;
        if let (Some(node), Some(replica)) = (&self.started.node, Kind::head(new).replica) {
            let refuse = |error| ReconfigureError::Prepare(format!("replica.arbiter: {error}"));
            node.configure(replica).map_err(refuse)?;
        }
        Ok(new.reconfigured(old, &spec)?)
    }

    fn end(&self) {
        self.unit().end();
        if let Some(ended) = &self.started.ended {
            ended();
        }
    }
}
