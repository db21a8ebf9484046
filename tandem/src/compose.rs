//! What a section of the site file becomes: a function, its shards and its ports.

use crate::site::Section;
use crate::supervise::{Supervised, Unit};
use runtime::{RuntimeError, ShardSpec};
use ssc::config::Ssc;
use std::sync::Arc;

/// Questions to a controller that change something.
const SSC_ACTIONS: &[&str] = &["calls/terminate"];

/// A function of the site, by its kind, so that it can take a new section of that kind.
#[derive(Clone)]
pub enum Part {
    /// A signalling session controller.
    Ssc(Arc<Supervised<ssc::Controller>>),
}

/// A change that a running function cannot take.
#[derive(Debug, thiserror::Error)]
pub enum Hindrance {
    /// The runtime refuses.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The section became one of another kind under the same name.
    #[error("a function cannot become another kind: give it another name")]
    Kind,
    /// Shards are threads with state of their own.
    #[error("`shards` and `cores` change only with a restart of the site")]
    Shards,
}

impl Part {
    /// Starts the function of a section.
    pub fn start(section: &Section) -> Result<Self, RuntimeError> {
        match section {
            Section::Ssc(section) => {
                let make = |seed, config| ssc::Controller::new(seed, config);
                let config = Arc::new(section.clone());
                let spec = ssc_spec(section);
                let unit = Supervised::start("ssc", SSC_ACTIONS, spec, config, make)?;
                Ok(Self::Ssc(Arc::new(unit)))
            }
            Section::Sas(_) => Err(RuntimeError::Failed),
        }
    }

    /// Takes a new section without a restart.
    pub fn configure(&self, section: &Section) -> Result<(), Hindrance> {
        match (self, section) {
            (Self::Ssc(unit), Section::Ssc(section)) => {
                let (old, spec) = unit.present();
                if (old.shards, &old.cores) != (section.shards, &section.cores) {
                    return Err(Hindrance::Shards);
                }
                if *old == *section && spec.ports == section.ports() {
                    return Ok(());
                }
                Ok(unit.configure(Arc::new(section.clone()), section.ports())?)
            }
            (Self::Ssc(_), Section::Sas(_)) => Err(Hindrance::Kind),
        }
    }

    /// The function, whatever it is.
    pub fn unit(&self) -> Arc<dyn Unit> {
        match self {
            Self::Ssc(unit) => Arc::clone(unit) as Arc<dyn Unit>,
        }
    }
}

fn ssc_spec(section: &Ssc) -> ShardSpec {
    ShardSpec {
        name: section.name.clone(),
        shards: section.shards,
        cores: section.cores.clone(),
        ports: section.ports(),
        ..ShardSpec::default()
    }
}
