//! The functions of a site: a row for each kind, a file for each.
//!
//! A kind is what [`Kind`] says of its section in the site file. The rest of the program sees
//! sections ([`AnySection`]) and functions that run ([`Handle`]), whatever their kinds.

mod by_diameter;
mod described;
#[cfg(test)]
#[path = "tests/echo.rs"]
mod echo;
mod forwarder;
mod head;
mod ipsmgw;
mod msc;
mod passwords;
mod pe;
mod rr;
mod running;
mod sas;
mod sgc;
mod speaker;
mod ssc;

pub use described::{ROWS, Row, described};
pub use forwarder::forward as forwarder;
pub use head::Head;
pub use pe::{forwarder_away, forwarder_questions};
pub use running::{Handle, ReconfigureError, Started};

use crate::metrics::Part;
use client::{Client, Words};
use config::need::Wanted;
use config::{Issue, ListenAddress};
use oam::Registry;
use question::Question;
use runtime::{Function, PortSpec, ShardSpec};
use services::arbiter::Arbiter;
use services::pool::LicenceAgent;
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use supervise::StartError;

/// Hands the kinds to the macro `$then`: key in the site file, `Vec` or `Option`, type of the
/// section. Another kind is another row and its file.
macro_rules! functions {
    ($then:ident) => {
        $crate::functions::with_those_of_tests! { $then
            /// Signalling session controllers.
            ssc: Vec<ssc::config::Ssc>,
            /// Signalling gateways.
            sgc: Vec<sgc::config::Sgc>,
            /// Route reflectors.
            rr: Vec<rr::config::Rr>,
            /// Provider edge routers.
            pe: Vec<pe::config::Pe>,
            /// Media controllers.
            msc: Vec<msc::config::Msc>,
            /// IP short message gateways.
            ipsmgw: Vec<ipsmgw::config::Ipsmgw>,
            /// The service assurance server.
            sas: Option<sas::config::Sas>,
        }
    };
}
pub(crate) use functions;

/// Hands the kinds on as they are shipped.
#[cfg(not(test))]
macro_rules! with_those_of_tests {
    ($then:ident $($rows:tt)*) => { $then! { $($rows)* } };
}

/// Hands the kinds on with one that tests alone have: what a row brings, they hold with it.
#[cfg(test)]
macro_rules! with_those_of_tests {
    ($then:ident $($rows:tt)*) => {
        $then! {
            $($rows)*
            /// Functions that send back what they are sent.
            echo: Vec<echo::config::Echo>,
        }
    };
}
pub(crate) use with_those_of_tests;

/// What functions stand on.
#[derive(Clone)]
pub struct StartContext {
    /// The site's directory.
    pub directory: PathBuf,
    /// Where functions leave their routes.
    pub registry: Arc<Registry>,
    /// The pool of sessions.
    pub pool: Arc<LicenceAgent>,
    /// The arbiter, if the site has one.
    pub arbiter: Option<Arc<Arbiter>>,
    /// Whether the process may start programs.
    pub starts_programs: bool,
}

type ConfigOf<K> = <<K as Kind>::Function as Function>::Config;

/// A kind of network function, by its section of the site file.
pub trait Kind: Clone + PartialEq + Send + Sync + Sized + 'static {
    /// What runs.
    type Function: Function<Config: PartialEq>;
    /// What `tandem ctl` says to it.
    type Words: Words;
    /// Whether it may be one of a pair.
    const PAIRED: bool = false;
    /// Whether others connect to it as soon as they start.
    const STARTS_FIRST: bool = false;
    /// The question that lists its peers, and the key of a peer's name: what a shell completes.
    const PEERS: Option<(&'static str, &'static str)> = None;

    /// What may be asked of it, beside what its supervision and its pair answer.
    fn questions() -> Vec<Question>;

    /// Its routes beside those, as the API's description has them.
    fn routes() -> Option<oam::OpenApi> {
        None
    }

    /// Every metric that it can have, by the part that has it.
    fn metrics() -> Vec<Part>;

    /// Why a function of the kind that runs does not serve yet, asked of its site. `None`: it does,
    /// or may not be asked.
    fn awaited(_client: &Client, _function: &str) -> Option<String> {
        None
    }

    /// What its section says in the words of all kinds.
    fn head(&self) -> Head<'_>;

    /// Pushes what the types alone cannot refuse, by paths below the section.
    fn validate(&self, issues: &mut Vec<Issue>);

    /// The addresses that it binds, by paths below the section; that of its pair left out.
    fn listens(&self) -> Vec<ListenAddress>;

    /// Whether it starts programs: the forwarder of a router.
    fn starts_programs(&self) -> bool {
        false
    }

    /// Whether passwords stand in the section itself.
    fn holds_passwords(&self) -> bool {
        false
    }

    /// Files that it needs and that cannot be used, by paths below the section: those that
    /// [`Kind::load`] does not read, or of which it says only the first.
    fn unusable(&self, _directory: &Path) -> Vec<Issue> {
        Vec::new()
    }

    /// What it leaves open to others, or refuses though its author may not know, by paths below the
    /// section.
    fn exposures(&self, _directory: &Path) -> Vec<Issue> {
        Vec::new()
    }

    /// What its author may want to know though nothing is open, by paths below the section.
    fn advice(&self) -> Vec<Issue> {
        Vec::new()
    }

    /// What it needs of the machine and of who runs it, beside its files.
    fn needs(&self) -> Vec<Wanted> {
        Vec::new()
    }

    /// What the function runs with: the section, and what its files hold.
    ///
    /// # Errors
    /// What cannot be read, by its path below the section.
    fn load(&self, directory: &Path) -> Result<ConfigOf<Self>, Issue>;

    /// The section in what the function runs with.
    fn section(config: &ConfigOf<Self>) -> &Self;

    /// The ports that the runtime opens.
    fn ports(&self) -> Vec<PortSpec>;

    /// The first key that is another in `new` and changes only with a restart, those of a pair
    /// left out.
    fn fixed(&self, new: &Self) -> Option<&'static str>;

    /// What ends or begins again when a running function takes `new` in place of this section, by
    /// paths below `new`: a sentence each, and none of what goes on. Addresses that close are said
    /// of all kinds.
    fn interruptions(&self, _new: &Self) -> Vec<Issue> {
        Vec::new()
    }

    /// Starts the function; `key` is that of the row.
    ///
    /// # Errors
    /// What hinders.
    fn start(
        &self,
        key: &'static str,
        config: ConfigOf<Self>,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError>;

    /// What stands beside the shards of a running function takes the section that they have taken.
    ///
    /// # Errors
    /// What hinders.
    fn reconfigured(&self, _old: &Self, _spec: &ShardSpec) -> Result<(), StartError> {
        Ok(())
    }
}

/// A section of any kind. Methods without a comment are those of [`Kind`].
pub trait AnySection: Send + Sync {
    fn head(&self) -> Head<'_>;
    fn validate(&self, issues: &mut Vec<Issue>);
    /// All addresses that it binds.
    fn listens(&self) -> Vec<ListenAddress>;
    fn starts_programs(&self) -> bool;
    fn starts_first(&self) -> bool;
    fn holds_passwords(&self) -> bool;
    fn unusable(&self, directory: &Path) -> Vec<Issue>;
    fn exposures(&self, directory: &Path) -> Vec<Issue>;
    fn advice(&self) -> Vec<Issue>;
    fn needs(&self) -> Vec<Wanted>;

    /// Why a running function does not take `new` in place of this section: it is another kind, or
    /// a key of it changes only with a restart.
    fn refusal(&self, new: &dyn AnySection) -> Option<ReconfigureError>;

    /// With the addresses that close; nothing of another kind.
    fn interruptions(&self, new: &dyn AnySection) -> Vec<Issue>;

    /// Starts the function of this section; `key` is that of its row.
    ///
    /// # Errors
    /// What hinders.
    fn start(
        &self,
        key: &'static str,
        context: &StartContext,
    ) -> Result<Arc<dyn Handle>, ReconfigureError>;

    /// The section itself, for who knows its type.
    fn as_any(&self) -> &dyn Any;

    /// The function's name.
    fn name(&self) -> &str {
        self.head().name
    }
}

impl<K: Kind> AnySection for K {
    fn head(&self) -> Head<'_> {
        Kind::head(self)
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        Kind::validate(self, issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        Kind::head(self).listens().into_iter().chain(Kind::listens(self)).collect()
    }

    fn starts_programs(&self) -> bool {
        Kind::starts_programs(self)
    }

    fn starts_first(&self) -> bool {
        K::STARTS_FIRST
    }

    fn holds_passwords(&self) -> bool {
        Kind::holds_passwords(self)
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let mut issues = Kind::head(self).unusable(directory);
        issues.extend(Kind::unusable(self, directory));
        // What loading refuses may be said already.
        let is_new = |it: &Issue| issues.iter().all(|known| known.path != it.path);
        let refused = self.load(directory).err().filter(is_new);
        issues.extend(refused);
        issues
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        let mut issues = Kind::exposures(self, directory);
        issues.extend(Kind::head(self).exposures());
        issues
    }

    fn advice(&self) -> Vec<Issue> {
        Kind::advice(self)
    }

    fn needs(&self) -> Vec<Wanted> {
        let mut needs = Kind::needs(self);
        needs.extend(Kind::head(self).needs());
        needs
    }

    fn refusal(&self, new: &dyn AnySection) -> Option<ReconfigureError> {
        running::refusal(self, new)
    }

    fn interruptions(&self, new: &dyn AnySection) -> Vec<Issue> {
        let Some(new) = new.as_any().downcast_ref::<K>() else { return Vec::new() };
        let mut issues = Kind::interruptions(self, new);
        issues.extend(config::closing(&AnySection::listens(self), &AnySection::listens(new)));
        issues
    }

    fn start(
        &self,
        key: &'static str,
        context: &StartContext,
    ) -> Result<Arc<dyn Handle>, ReconfigureError> {
        let config = self.load(&context.directory).map_err(ReconfigureError::Load)?;
        let started = Kind::start(self, key, config, context)?;
        Ok(Arc::new(running::Running::new(started, context.directory.clone())))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A section and its place in the site file.
#[derive(Clone)]
pub struct Section<'s> {
    /// The key of its row: `ssc`.
    pub key: &'static str,
    /// Its path: `ssc[0]`.
    pub path: String,
    /// What stands there.
    pub inner: &'s dyn AnySection,
}

/// The sections of one row: `Vec` or `Option`.
pub trait Sections {
    /// Whether there are none.
    fn is_absent(&self) -> bool;

    /// Appends them.
    fn list<'s>(&'s self, key: &'static str, all: &mut Vec<Section<'s>>);
}

impl<K: Kind> Sections for Vec<K> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn list<'s>(&'s self, key: &'static str, all: &mut Vec<Section<'s>>) {
        let number =
            |(at, inner): (usize, &'s K)| Section { key, path: format!("{key}[{at}]"), inner };
        all.extend(self.iter().enumerate().map(number));
    }
}

impl<K: Kind> Sections for Option<K> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn list<'s>(&'s self, key: &'static str, all: &mut Vec<Section<'s>>) {
        all.extend(self.iter().map(|inner| Section { key, path: key.to_owned(), inner }));
    }
}

/// The first of the keys that is not the same.
pub fn first_changed<const N: usize>(keys: [(&'static str, bool); N]) -> Option<&'static str> {
    keys.into_iter().find(|(_, is_same)| !is_same).map(|(key, _)| key)
}

/// Reads `udp:127.0.0.1:5060`; what cannot be read, the section itself refuses.
pub fn listen(path: String, text: &str) -> Option<ListenAddress> {
    let (transport, address) = text.split_once(':')?;
    Some(ListenAddress { path, datagram: transport == "udp", address: address.parse().ok()? })
}
