//! What the management side needs to know of a running function, and the list of all of them.

use event::MetricCells;
use question::Question;
use runtime::{Ask, AskError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use utoipa::ToSchema;

/// Where a function is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its shards are being started.
    Starting,
    /// It serves.
    Running,
    /// It finishes what runs and takes nothing new.
    Draining,
    /// A shard crashed; the supervisor tries again.
    Failed,
}

/// A port as it is bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortRow {
    /// Its name: `access udp`.
    pub name: String,
    /// `udp`, `tcp` or `tls`.
    pub transport: String,
    /// The address as bound.
    pub address: String,
}

/// A running function as the management side sees it. The methods are called from any thread;
/// [`Managed::ask`] may take two seconds, the others must be quick.
pub trait Managed: Send + Sync {
    /// Name of the instance, unique in the site.
    fn name(&self) -> String;

    /// What it is: `ssc`, `sas`.
    fn kind(&self) -> &'static str;

    /// Where it is in its life.
    fn state(&self) -> State;

    /// Why it failed last and what is done about it, while [`State::Failed`].
    fn failure(&self) -> Option<String> {
        None
    }

    /// Whether one of its threads has not come back from its work for seconds: then the service
    /// manager is to start the process anew.
    fn hung(&self) -> bool {
        false
    }

    /// Number of shards.
    fn shards(&self) -> u16;

    /// When it was started, microseconds since the UNIX epoch.
    fn started_at_us(&self) -> u64;

    /// Its ports.
    fn ports(&self) -> Vec<PortRow>;

    /// The cells of each shard, the runtime's own included.
    fn cells(&self) -> Vec<(u16, Vec<MetricCells>)>;

    /// Answers a question.
    ///
    /// # Errors
    /// [`AskError`].
    fn ask(&self, ask: Ask) -> Result<serde_json::Value, AskError>;

    /// What it answers by [`Managed::ask`]: the API has no path that is not among them.
    fn questions(&self) -> Vec<Question>;
}

/// What the program may run, for the API's description: functions of these kinds answer there
/// whenever they run.
#[derive(Clone, Default)]
pub struct Described {
    /// Kinds of functions with their questions.
    pub kinds: Vec<(&'static str, Vec<Question>)>,
    /// Routes that functions bring along.
    pub routes: Vec<utoipa::openapi::OpenApi>,
}

impl Described {
    /// The paths of the routes that functions bring along.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &String> {
        self.routes.iter().flat_map(|it| it.paths.paths.keys())
    }
}

/// Routes that a function brings along, with their part of the API's description. The paths are
/// whole (`/api/v1/sas/trails`).
#[derive(Clone)]
pub struct Extra {
    /// First segment after `/api/v1/` of all its paths: `sas`.
    pub prefix: String,
    /// The routes.
    pub router: axum::Router,
    /// Their description.
    pub openapi: utoipa::openapi::OpenApi,
}

/// The functions of a site, as a commit changes them.
#[derive(Default)]
pub struct Registry {
    functions: RwLock<Vec<Arc<dyn Managed>>>,
    extras: RwLock<BTreeMap<String, Extra>>,
    described: OnceLock<Described>,
}

impl Registry {
    /// No function.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Says once what the program may run.
    pub fn describe(&self, described: Described) {
        let _ = self.described.set(described);
    }

    pub(crate) fn described(&self) -> Described {
        self.described.get().cloned().unwrap_or_default()
    }

    /// The functions, in the order of the site file.
    #[must_use]
    pub fn functions(&self) -> Vec<Arc<dyn Managed>> {
        self.functions.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The function called `name`.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<Arc<dyn Managed>> {
        self.functions().into_iter().find(|function| function.name() == name)
    }

    /// Replaces the list.
    pub fn set_functions(&self, functions: Vec<Arc<dyn Managed>>) {
        *self.functions.write().unwrap_or_else(PoisonError::into_inner) = functions;
    }

    /// Adds routes, in place of those with the same prefix.
    pub fn add_extra(&self, extra: Extra) {
        let mut extras = self.extras.write().unwrap_or_else(PoisonError::into_inner);
        extras.insert(extra.prefix.clone(), extra);
    }

    /// Takes routes away.
    pub fn remove_extra(&self, prefix: &str) {
        self.extras.write().unwrap_or_else(PoisonError::into_inner).remove(prefix);
    }

    pub(crate) fn extra(&self, prefix: &str) -> Option<Extra> {
        self.extras.read().unwrap_or_else(PoisonError::into_inner).get(prefix).cloned()
    }

    pub(crate) fn extras(&self) -> Vec<Extra> {
        self.extras.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
