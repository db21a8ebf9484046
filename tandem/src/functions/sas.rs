//! The service assurance server of a site, its archive and its routes.

mod words;

use super::{Head, Kind, StartContext, Started, first_changed, listen};
use crate::exposure::is_remote;
use crate::metrics::{Part, cells_of};
use authentication::KEY_CHARACTERS_MIN;
use config::keys;
use config::{Issue, ListenAddress};
use machine::narrow::index;
use oam::Extra;
use question::Question;
use runtime::{Ask, AskError, Carrier, PortId, PortSpec, ShardSpec, StreamSpec};
use sas::Archive;
use sas::config::{Keep, Sas};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use supervise::{FunctionKind, StartError, Supervised};

/// First segment of its routes after `/api/v1/`.
const PREFIX: &str = "sas";

impl Kind for Sas {
    type Function = sas::Sas;
    type Words = words::SasWords;
    const STARTS_FIRST: bool = true;

    fn questions() -> Vec<Question> {
        sas::questions()
    }

    fn metrics() -> Vec<Part> {
        let own = [
            cells_of::<sas::Metric>(),
            cells_of::<sas::SearchMetric>(),
            cells_of::<store::Metric>(),
        ];
        vec![("Service assurance", own.into())]
    }

    fn routes() -> Option<oam::OpenApi> {
        Some(sas::api::description())
    }

    fn head(&self) -> Head<'_> {
        Head::of(&self.name, &self.cores)
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        let listens = self.listen.iter().enumerate();
        listens.filter_map(|(n, text)| listen(format!("listen[{n}]"), text)).collect()
    }

    fn holds_passwords(&self) -> bool {
        self.auth_key.is_some()
    }

    fn exposures(&self, _directory: &Path) -> Vec<Issue> {
        let mut found = Vec::new();
        let has_key = self.auth_key.is_some() || self.auth_key_file.is_some();
        if !has_key && self.listen.iter().any(|listen| is_remote(listen)) {
            let what =
                "whoever reaches this port writes into the trails: HEP is taken without a key";
            let hint = "give `auth_key_file`, or listen on 127.0.0.1";
            found.push(Issue::new("listen", what, hint));
        }
        if self.auth_key.as_ref().is_some_and(|key| key.len() < KEY_CHARACTERS_MIN) {
            let what = format!("a key with fewer than {KEY_CHARACTERS_MIN} characters is guessed");
            let hint = "give `auth_key_file` with a line of `openssl rand -base64 32`";
            found.push(Issue::new("auth_key", what, hint));
        }
        if !self.keep.is_empty() {
            let word = |keep: &Keep| match keep {
                Keep::Credentials => "proofs of passwords",
                Keep::Keys => "keys of media",
                Keep::Bodies => "texts of people",
            };
            let words = self.keep.iter().map(word).collect::<Vec<_>>().join(", ");
            let what = format!("stored as they came, for every operator to read: {words}");
            found.push(Issue::new("keep", what, "leave it out but to look for a fault"));
        }
        found
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        if let Some(name) = &self.auth_key_file {
            let keys = keys::passwords(directory, name);
            section.auth_keys = keys.map_err(|unusable| unusable.issue("auth_key_file"))?;
        }
        Ok(section)
    }

    fn section(config: &Self) -> &Self {
        config
    }

    fn ports(&self) -> Vec<PortSpec> {
        let port = |(n, (transport, listen))| PortSpec {
            id: PortId(index(n)),
            name: format!("hep {}", format!("{transport:?}").to_lowercase()),
            listen,
            carrier: Carrier::of(transport, true, StreamSpec::default()),
            ..PortSpec::default()
        };
        self.listen_addresses().into_iter().enumerate().map(port).collect()
    }

    fn fixed(&self, new: &Self) -> Option<&'static str> {
        first_changed([
            ("directory", self.directory == new.directory),
            ("shards", self.shards == new.shards),
            ("cores", self.cores == new.cores),
        ])
    }

    fn start(
        &self,
        key: &'static str,
        config: Self,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let slot = Slot::default();
        let unit = Arc::new(OnceLock::new());
        let prepare = {
            let (section, context) = (self.clone(), context.clone());
            let (slot, unit) = (Arc::clone(&slot), Arc::clone(&unit));
            Box::new(move || open_archive(&section, &context, &slot, &unit))
        };
        let kind = FunctionKind { prepare, ..FunctionKind::new(key, <Self as Kind>::questions()) };
        let spec = ShardSpec {
            name: self.name.clone(),
            shards: self.shards,
            cores: self.cores.clone(),
            ports: self.ports(),
            ..ShardSpec::default()
        };
        let make = move |seed, config| {
            let archive = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
            archive.expect("the archive is opened before each start").function(&seed, config)
        };
        let started: Started<Self> =
            Supervised::start(kind, spec, Arc::new(config), make, sas::start)?.into();
        // Set once, here.
        let _ = unit.set(Arc::downgrade(&started.unit));
        let registry = Arc::clone(&context.registry);
        let ended = move || registry.remove_extra(PREFIX);
        Ok(Started { ended: Some(Box::new(ended)), ..started })
    }
}

type Slot = Arc<Mutex<Option<Arc<Archive>>>>;

/// Opens the store for the next start: an archive is filled by one function only. The old one is
/// closed first.
fn open_archive(
    section: &Sas,
    context: &StartContext,
    slot: &Slot,
    unit: &Arc<OnceLock<Weak<Supervised<sas::Sas>>>>,
) -> Result<(), String> {
    context.registry.remove_extra(PREFIX);
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    *slot = None;
    let archive = Archive::open(section, &context.directory);
    let archive = archive.map_err(|error| format!("the store does not open: {error}"))?;
    let unit = Arc::clone(unit);
    let ask = move |ask: Ask| {
        let unit = unit.get().and_then(Weak::upgrade).ok_or(AskError::Unreachable)?;
        oam::Managed::ask(&*unit, ask)
    };
    let (router, openapi) = sas::api::router(Arc::clone(&archive), Arc::new(ask));
    context.registry.add_extra(Extra { prefix: PREFIX.into(), router, openapi });
    *slot = Some(archive);
    Ok(())
}
