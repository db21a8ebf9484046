//! What a section of the site file becomes: a function, its shards and its ports.

use crate::arbiter::Arbiter;
use crate::edge;
use crate::keys;
use crate::paired::Paired;
use crate::pool::{EXCHANGE, Steward};
use crate::site::Section;
use crate::supervise::{Nature, RELOAD, StartError, Supervised, Unit};
use oam::{Extra, Registry};
use replica::Node;
use rr::config::{Rr, Secret};
use runtime::gate::{Gate, GateRef};
use runtime::{Ask, AskError, MirrorRef, PortId, PortSpec, RuntimeError, ShardSpec, StreamLimits};
use sas::Archive;
use sas::config::Sas;
use sgc::config::Sgc;
use ssc::config::Ssc;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Questions to a controller that change something.
const SSC_ACTIONS: &[&str] = &["calls/terminate", "blacklist/clear", "hand-over", RELOAD, EXCHANGE];
/// Questions to a gateway that change something.
const SGC_ACTIONS: &[&str] =
    &["m3ua/audit", "m3ua/block", "m3ua/unblock", "m3ua/activate", "m3ua/deactivate", RELOAD];
/// Questions to a reflector that change something.
const RR_ACTIONS: &[&str] =
    &["bgp/clear", "bgp/shutdown", "bgp/enable", "bgp/rpki-refresh", RELOAD];
/// Octets that may wait for a peer of a reflector before its session ends: what it is sent at once,
/// and the messages of the session itself. More waits in the tables only.
const RR_QUEUE_OCTETS_MAX: usize = 64 << 20;
/// Octets of a file with a password at most.
const PASSWORD_FILE_OCTETS_MAX: u64 = 4_096;
/// An association over TCP may be silent for ever; T(beat) is what finds a peer that vanished.
const SGC_IDLE: Duration = Duration::from_secs(10 * 365 * 86_400);
/// First segment of the SAS's routes after `/api/v1/`.
const SAS_PREFIX: &str = "sas";

/// What functions stand on.
#[derive(Clone)]
pub struct Ground {
    /// The site's directory.
    pub directory: PathBuf,
    /// Where functions leave their routes.
    pub registry: Arc<Registry>,
    /// The pool of sessions.
    pub pool: Arc<Steward>,
    /// The arbiter, if the site has one.
    pub arbiter: Option<Arc<Arbiter>>,
    /// Whether the process may start programs.
    pub starts_programs: bool,
}

/// A function of the site, by its kind, so that it can take a new section of that kind.
#[derive(Clone)]
pub enum Part {
    /// A signalling session controller.
    Ssc(Arc<Supervised<ssc::Controller>>),
    /// One of a pair.
    Pair(Arc<Paired>),
    /// A signalling gateway.
    Sgc(Arc<Supervised<sgc::Gateway>>),
    /// A route reflector, and where its files are.
    Rr(Arc<Supervised<rr::Reflector>>, PathBuf),
    /// A provider edge router, and where its files are.
    Pe(Arc<Supervised<pe::ProviderEdge>>, PathBuf),
    /// The service assurance server.
    Sas(Arc<Supervised<sas::Sas>>, Arc<Registry>),
}

/// A change that a running function cannot take.
#[derive(Debug, thiserror::Error)]
pub enum Hindrance {
    /// The runtime refuses.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// What the function stands on does not.
    #[error("{0}")]
    Prepare(String),
    /// The section became one of another kind under the same name.
    #[error("a function cannot become another kind: give it another name")]
    Kind,
    /// These keys say how the function is started.
    #[error("`{0}` changes only with a restart of the site")]
    Restart(&'static str),
}

impl From<StartError> for Hindrance {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Runtime(error) => Self::Runtime(error),
            StartError::Prepare(why) => Self::Prepare(why),
        }
    }
}

impl Part {
    /// Starts the function of a section.
    pub fn start(section: &Section, ground: &Ground) -> Result<Self, StartError> {
        match section {
            Section::Ssc(section) => start_ssc(section, ground),
            Section::Sgc(section) => start_sgc(section),
            Section::Rr(section) => start_rr(section, ground),
            Section::Pe(section) => edge::start(section, ground),
            Section::Sas(section) => start_sas(section, ground),
        }
    }

    /// Takes a new section without a restart.
    pub fn configure(&self, section: &Section) -> Result<(), Hindrance> {
        match (self, section) {
            (Self::Ssc(_) | Self::Pair(_), Section::Ssc(new)) => {
                let unit = match self {
                    Self::Pair(paired) => &paired.unit,
                    Self::Ssc(unit) => unit,
                    Self::Sas(..) | Self::Sgc(_) | Self::Rr(..) | Self::Pe(..) => {
                        return Err(Hindrance::Kind);
                    }
                };
                let (old, spec) = unit.present();
                if old.replica != new.replica {
                    return Err(Hindrance::Restart("replica"));
                }
                if old.shards != new.shards {
                    return Err(Hindrance::Restart("shards"));
                }
                if old.cores != new.cores {
                    return Err(Hindrance::Restart("cores"));
                }
                if connections(&old) != connections(new) {
                    return Err(Hindrance::Restart("limits of connections"));
                }
                let ports = new.ports();
                if *old == **new && spec.ports == ports {
                    return Ok(());
                }
                unit.configure(Arc::new((**new).clone()), ports)?;
                match &spec.gate {
                    Some(GateRef(standing)) if old.gate() != new.gate() => {
                        Ok(standing.configure(new.gate()).map_err(refused)?)
                    }
                    _ => Ok(()),
                }
            }
            (Self::Sgc(unit), Section::Sgc(new)) => {
                let (old, spec) = unit.present();
                if old.cores != new.cores {
                    return Err(Hindrance::Restart("cores"));
                }
                let ports = new.ports();
                if *old == **new && spec.ports == ports {
                    return Ok(());
                }
                Ok(unit.configure(Arc::new((**new).clone()), ports)?)
            }
            (Self::Rr(unit, directory), Section::Rr(new)) => configure_rr(unit, directory, new),
            (Self::Pe(unit, directory), Section::Pe(new)) => edge::configure(unit, directory, new),
            (Self::Sas(unit, _), Section::Sas(new)) => {
                let (old, spec) = unit.present();
                if old.directory != new.directory {
                    return Err(Hindrance::Restart("directory"));
                }
                if old.cores != new.cores {
                    return Err(Hindrance::Restart("cores"));
                }
                let ports = sas_ports(new);
                if *old == **new && spec.ports == ports {
                    return Ok(());
                }
                Ok(unit.configure(Arc::new((**new).clone()), ports)?)
            }
            _ => Err(Hindrance::Kind),
        }
    }

    /// The function, whatever it is.
    pub fn unit(&self) -> Arc<dyn Unit> {
        match self {
            Self::Ssc(unit) => Arc::clone(unit) as Arc<dyn Unit>,
            Self::Pair(paired) => Arc::clone(paired) as Arc<dyn Unit>,
            Self::Sgc(unit) => Arc::clone(unit) as Arc<dyn Unit>,
            Self::Rr(unit, _) => Arc::clone(unit) as Arc<dyn Unit>,
            Self::Pe(unit, _) => Arc::clone(unit) as Arc<dyn Unit>,
            Self::Sas(unit, _) => Arc::clone(unit) as Arc<dyn Unit>,
        }
    }

    /// Ends the function at once and takes its routes away.
    pub fn end(&self) {
        self.unit().end();
        if let Self::Sas(_, registry) = self {
            registry.remove_extra(SAS_PREFIX);
        }
    }
}

/// The kernel's part of the shield does not stand where it must.
fn refused(why: String) -> StartError {
    StartError::Prepare(format!("shield.kernel: {why}"))
}

fn start_ssc(section: &Ssc, ground: &Ground) -> Result<Part, StartError> {
    let gate = Gate::start(section.gate()).map_err(refused)?;
    let node = match &section.replica {
        None => None,
        Some(replica) => {
            let keys = replica.key_file.as_ref().map(|name| keys::read(&ground.directory, name));
            let refuse = |error| StartError::Prepare(format!("replica.key_file: {error}"));
            let keys = keys.transpose().map_err(refuse)?;
            let node = Node::start(replica, keys.as_ref(), section.shards);
            let refuse = |error| StartError::Prepare(format!("replica.listen: {error}"));
            Some(Arc::new(node.map_err(refuse)?))
        }
    };
    let spec = ShardSpec {
        name: section.name.clone(),
        shards: section.shards,
        cores: section.cores.clone(),
        ports: section.ports(),
        mirror: node.clone().map(|node| MirrorRef(node)),
        gate: Some(GateRef(Arc::new(gate))),
        streams: connections(section),
        ..ShardSpec::default()
    };
    let nature = Nature { kind: "ssc", actions: SSC_ACTIONS, prepare: Box::new(|| Ok(())) };
    let make = |seed, config| ssc::Controller::new(seed, config);
    let unit = Supervised::start(nature, spec, Arc::new(section.clone()), make)?;
    let unit = Arc::new(unit);
    Ok(match node {
        Some(node) => Part::Pair(Arc::new(Paired::new(unit, node))),
        None => Part::Ssc(unit),
    })
}

/// How many connections a signalling controller has, and for how long.
fn connections(section: &Ssc) -> StreamLimits {
    let limits = &section.limits;
    let seconds = |seconds: u32| machine::Duration::from_secs(seconds.into());
    StreamLimits {
        connections_max: limits.connections_max as usize,
        handshakes_max: limits.handshakes_max as usize,
        first_message_timeout: Some(seconds(limits.first_message_s)),
        idle_timeout: seconds(limits.connection_idle_s),
        ..StreamLimits::default()
    }
}

fn start_sgc(section: &Sgc) -> Result<Part, StartError> {
    let spec = ShardSpec {
        name: section.name.clone(),
        cores: section.cores.clone(),
        ports: section.ports(),
        streams: StreamLimits { idle_timeout: SGC_IDLE, ..StreamLimits::default() },
        ..ShardSpec::default()
    };
    let nature = Nature { kind: "sgc", actions: SGC_ACTIONS, prepare: Box::new(|| Ok(())) };
    let unit = Supervised::start(nature, spec, Arc::new(section.clone()), sgc::Gateway::new)?;
    Ok(Part::Sgc(Arc::new(unit)))
}

fn start_rr(section: &Rr, ground: &Ground) -> Result<Part, StartError> {
    let directory = ground.directory.clone();
    let section = with_passwords(section, &directory).map_err(StartError::Prepare)?;
    let spec = ShardSpec {
        name: section.name.clone(),
        shards: section.shards,
        cores: section.cores.clone(),
        ports: section.ports(),
        streams: StreamLimits {
            queue_bytes_max: RR_QUEUE_OCTETS_MAX,
            // The timers of the sessions find peers that vanished or read nothing.
            idle_timeout: Duration::MAX,
            stall_timeout: Duration::MAX,
            ..StreamLimits::default()
        },
        ..ShardSpec::default()
    };
    let nature = Nature { kind: "rr", actions: RR_ACTIONS, prepare: Box::new(|| Ok(())) };
    let start = |mrt| crate::record::Recording::start(mrt, directory.join(&mrt.directory));
    let recorder = section.mrt.as_ref().map(start).transpose().map_err(StartError::Prepare)?;
    let recorder = recorder.map(|it| Arc::new(it) as Arc<dyn rr::Recorder>);
    let make = move |seed, config| {
        let mut reflector = rr::Reflector::new(seed, config);
        recorder.iter().for_each(|recorder| reflector.record_by(Arc::clone(recorder)));
        reflector
    };
    let unit = Supervised::start(nature, spec, Arc::new(section), make)?;
    Ok(Part::Rr(Arc::new(unit), directory))
}

fn configure_rr(
    unit: &Supervised<rr::Reflector>,
    directory: &Path,
    section: &Rr,
) -> Result<(), Hindrance> {
    let (old, spec) = unit.present();
    if old.shards != section.shards {
        return Err(Hindrance::Restart("shards"));
    }
    if old.cores != section.cores {
        return Err(Hindrance::Restart("cores"));
    }
    if old.mrt != section.mrt {
        return Err(Hindrance::Restart("mrt"));
    }
    let new = with_passwords(section, directory).map_err(Hindrance::Prepare)?;
    let ports = new.ports();
    if *old == new && spec.ports == ports {
        return Ok(());
    }
    Ok(unit.configure(Arc::new(new), ports)?)
}

/// The section with the passwords of its files.
fn with_passwords(section: &Rr, directory: &Path) -> Result<Rr, String> {
    let mut section = section.clone();
    let groups = section.group.iter_mut().map(|it| (&mut it.password_file, &mut it.password));
    let peers = section.peer.iter_mut().map(|it| (&mut it.password_file, &mut it.password));
    for (file, password) in groups.chain(peers) {
        if let Some(name) = file.take() {
            *password = Some(
                password_of(&directory.join(&name))
                    .map_err(|why| format!("password_file: {name}: {why}"))?,
            );
        }
    }
    Ok(section)
}

/// The first line of a file.
fn password_of(file: &Path) -> Result<Secret, String> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = std::fs::File::open(file).map_err(|error| error.to_string())?;
    let read = file.take(PASSWORD_FILE_OCTETS_MAX).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret::new(line)),
        _ => Err("its first line is empty".to_owned()),
    }
}

type Slot = Arc<Mutex<Option<Arc<Archive>>>>;

fn start_sas(section: &Sas, ground: &Ground) -> Result<Part, StartError> {
    let slot = Slot::default();
    let unit = Arc::new(OnceLock::new());
    let prepare = {
        let (section, ground) = (section.clone(), ground.clone());
        let (slot, unit) = (Arc::clone(&slot), Arc::clone(&unit));
        Box::new(move || open_archive(&section, &ground, &slot, &unit))
    };
    let nature = Nature { kind: "sas", actions: &[], prepare };
    let spec = ShardSpec {
        name: section.name.clone(),
        cores: section.cores.clone(),
        ports: sas_ports(section),
        ..ShardSpec::default()
    };
    let make = move |seed, config| {
        let archive = slot.lock().unwrap_or_else(PoisonError::into_inner).clone();
        archive.expect("the archive is opened before each start").function(&seed, config)
    };
    let supervised = Arc::new(Supervised::start(nature, spec, Arc::new(section.clone()), make)?);
    // Set once, here.
    let _ = unit.set(Arc::downgrade(&supervised));
    Ok(Part::Sas(supervised, Arc::clone(&ground.registry)))
}

/// Opens the store for the next start: an archive is filled by one function only. The old one is
/// closed first.
fn open_archive(
    section: &Sas,
    ground: &Ground,
    slot: &Slot,
    unit: &Arc<OnceLock<Weak<Supervised<sas::Sas>>>>,
) -> Result<(), String> {
    ground.registry.remove_extra(SAS_PREFIX);
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    *slot = None;
    let archive = Archive::open(section, Path::new(&ground.directory));
    let archive = archive.map_err(|error| format!("the store does not open: {error}"))?;
    let unit = Arc::clone(unit);
    let ask = move |ask: Ask| {
        let unit = unit.get().and_then(Weak::upgrade).ok_or(AskError::Unreachable)?;
        oam::Managed::ask(&*unit, ask)
    };
    let (router, openapi) = sas::api::router(Arc::clone(&archive), Arc::new(ask));
    ground.registry.add_extra(Extra { prefix: SAS_PREFIX.into(), router, openapi });
    *slot = Some(archive);
    Ok(())
}

fn sas_ports(section: &Sas) -> Vec<PortSpec> {
    let port = |(n, (transport, listen))| PortSpec {
        id: PortId(n as u16),
        name: format!("hep {}", format!("{transport:?}").to_lowercase()),
        transport,
        listen,
        ..PortSpec::default()
    };
    section.doorways().into_iter().enumerate().map(port).collect()
}
