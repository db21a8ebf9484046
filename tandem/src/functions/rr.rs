//! Route reflectors of a site: their passwords in files, their recordings.

mod exposure;
mod words;

use super::head::{Head, capture_key};
use super::{Kind, StartContext, Started, first_changed};
use crate::metrics::{Part, cells_of};
use config::keys::{self, Unusable};
use config::{Issue, ListenAddress};
use question::Question;
use rr::config::{Rr, Secret};
use runtime::{PortSpec, ShardSpec, StreamLimits};
use services::recording::Recording;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use supervise::{FunctionKind, StartError, Supervised};

/// Octets that may wait for a peer of a reflector before its session ends: what it is sent at once,
/// and the messages of the session itself. More waits in the tables only.
const QUEUE_OCTETS_MAX: usize = 64 << 20;
/// Octets of a file with a password at most.
const PASSWORD_FILE_OCTETS_MAX: u64 = 4_096;

impl Kind for Rr {
    type Function = rr::Reflector;
    type Words = words::RrWords;
    const PEERS: Option<(&'static str, &'static str)> = Some(("bgp/summary", "peer"));

    fn questions() -> Vec<Question> {
        rr::questions()
    }

    fn metrics() -> Vec<Part> {
        vec![("Route reflector", vec![cells_of::<rr::Metric>(), bgp_stack::peer_table().cells()])]
    }

    fn head(&self) -> Head<'_> {
        Head::of(&self.name, &self.cores).captured(&self.capture)
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        let addresses = self.listen_addresses().into_iter();
        addresses.map(|(path, address)| ListenAddress { path, datagram: false, address }).collect()
    }

    fn holds_passwords(&self) -> bool {
        self.group.iter().any(|group| group.password.is_some())
            || self.peer.iter().any(|peer| peer.password.is_some())
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        exposure::exposures(self, directory)
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let unusable = password_files(self).filter_map(|(at, name)| {
            password_of(directory, name).err().map(|unusable| unusable.issue(at))
        });
        unusable.collect()
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        section.capture.key = capture_key(self.capture.key_file.as_deref(), directory)?;
        for (n, group) in section.group.iter_mut().enumerate() {
            let password =
                read_password(directory, &group.password_file, || password_key("group", n))?;
            group.password = password.or(group.password.take());
        }
        for (n, peer) in section.peer.iter_mut().enumerate() {
            let password =
                read_password(directory, &peer.password_file, || password_key("peer", n))?;
            peer.password = password.or(peer.password.take());
        }
        Ok(section)
    }

    fn section(config: &Self) -> &Self {
        config
    }

    fn ports(&self) -> Vec<PortSpec> {
        self.ports()
    }

    fn fixed(&self, new: &Self) -> Option<&'static str> {
        first_changed([
            ("shards", self.shards == new.shards),
            ("cores", self.cores == new.cores),
            ("mrt", self.mrt == new.mrt),
        ])
    }

    fn interruptions(&self, new: &Self) -> Vec<Issue> {
        self.interruptions(new)
    }

    fn start(
        &self,
        key: &'static str,
        config: Self,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let spec = ShardSpec {
            name: self.name.clone(),
            shards: self.shards,
            cores: self.cores.clone(),
            ports: config.ports(),
            streams: StreamLimits {
                queue_bytes_max: QUEUE_OCTETS_MAX,
                // The timers of the sessions find peers that vanished or read nothing.
                idle_timeout: Duration::MAX,
                stall_timeout: Duration::MAX,
                ..StreamLimits::default()
            },
            ..ShardSpec::default()
        };
        let kind = FunctionKind::new(key, <Self as Kind>::questions());
        let start = |mrt| Recording::start(mrt, context.directory.join(&mrt.directory));
        let recorder = self.mrt.as_ref().map(start).transpose().map_err(StartError::Prepare)?;
        let recorder = recorder.map(|it| Arc::new(it) as Arc<dyn rr::Recorder>);
        let make = move |seed, config| {
            let mut reflector = rr::Reflector::new(seed, config);
            recorder.iter().for_each(|recorder| reflector.record_by(Arc::clone(recorder)));
            reflector
        };
        Ok(Supervised::start(kind, spec, Arc::new(config), make, rr::start)?.into())
    }
}

fn password_key(row: &str, number: usize) -> String {
    format!("{row}[{number}].password_file")
}

/// Every file with a password, with the path of its key.
fn password_files(section: &Rr) -> impl Iterator<Item = (String, &String)> {
    let groups = section.group.iter().enumerate();
    let groups = groups.map(|(n, it)| (password_key("group", n), &it.password_file));
    let peers = section.peer.iter().enumerate();
    let peers = peers.map(|(n, it)| (password_key("peer", n), &it.password_file));
    groups.chain(peers).filter_map(|(at, name)| Some((at, name.as_ref()?)))
}

fn read_password(
    directory: &Path,
    name: &Option<String>,
    at: impl FnOnce() -> String,
) -> Result<Option<Secret>, Issue> {
    let read = name.as_ref().map(|name| password_of(directory, name)).transpose();
    read.map_err(|unusable| unusable.issue(at()))
}

/// The first line of a file.
fn password_of(directory: &Path, name: &str) -> Result<Secret, Unusable> {
    let unread = |error: io::Error| Unusable::unread(directory, name, &error, "cat");
    let mut text = String::new();
    let file = File::open(keys::located(directory, name)).map_err(unread)?;
    file.take(PASSWORD_FILE_OCTETS_MAX).read_to_string(&mut text).map_err(unread)?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret::new(line)),
        _ => Err(unread(io::Error::other("its first line is empty"))),
    }
}
