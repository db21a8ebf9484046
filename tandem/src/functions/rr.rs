//! Route reflectors of a site: their passwords in files, their recordings.

mod words;

use super::{Kind, StartContext, Started, first_changed};
use crate::record::Recording;
use crate::supervise::{Nature, RELOAD, StartError, Supervised};
use config::{Doorway, Issue};
use rr::config::{Group, Rr, Secret};
use runtime::{PortSpec, ShardSpec, StreamLimits};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Octets that may wait for a peer of a reflector before its session ends: what it is sent at once,
/// and the messages of the session itself. More waits in the tables only.
const QUEUE_OCTETS_MAX: usize = 64 << 20;
/// Octets of a file with a password at most.
const PASSWORD_FILE_OCTETS_MAX: u64 = 4_096;

impl Kind for Rr {
    type Function = rr::Reflector;
    type Words = words::RrWords;
    const ACTIONS: &'static [&'static str] =
        &["bgp/clear", "bgp/shutdown", "bgp/enable", "bgp/rpki-refresh", RELOAD];

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<Doorway> {
        let doorways = self.doorways().into_iter();
        doorways.map(|(path, address)| Doorway { path, datagram: false, address }).collect()
    }

    fn holds_passwords(&self) -> bool {
        self.group.iter().any(|group| group.password.is_some())
            || self.peer.iter().any(|peer| peer.password.is_some())
    }

    fn exposures(&self, _directory: &Path) -> Vec<Issue> {
        let what = "its sessions are neither signed (TCP-MD5) nor bound to near routers (GTSM)";
        let mend = "give `password_file`, or `ttl_security_hops` for a neighbour on the same link";
        let mut found = Vec::new();
        let is_proved = |group: &Group| {
            group.password.is_some()
                || group.password_file.is_some()
                || group.ttl_security_hops.is_some()
        };
        for (at, group) in self.group.iter().enumerate() {
            if !group.ranges.is_empty() && !is_proved(group) {
                found.push(Issue::new(format!("group[{at}].ranges"), what, mend));
            }
        }
        for (at, peer) in self.peer.iter().enumerate() {
            let group = self.group.iter().find(|group| Some(&group.name) == peer.group.as_ref());
            let own = peer.password.is_some()
                || peer.password_file.is_some()
                || peer.ttl_security_hops.is_some();
            if !own && !group.is_some_and(is_proved) && !peer.address.is_loopback() {
                found.push(Issue::new(format!("peer[{at}].address"), what, mend));
            }
        }
        let mend = "name a policy, or say `default_policy = \"accept\"`";
        let refused = self.refused_by_default().into_iter();
        found.extend(refused.map(|(at, what)| {
            Issue::new(format!("peer[{at}].name"), format!("{what} (RFC 8212)"), mend)
        }));
        found
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        if let Some(name) = &self.capture_key_file {
            let keys = crate::keys::passwords(directory, name);
            let keys = keys.map_err(|unusable| unusable.issue("capture_key_file"))?;
            section.capture_key = keys.into_iter().next().unwrap_or_default();
        }
        let groups = section.group.iter_mut().map(|it| (&mut it.password_file, &mut it.password));
        let peers = section.peer.iter_mut().map(|it| (&mut it.password_file, &mut it.password));
        for (file, password) in groups.chain(peers) {
            if let Some(name) = file.take() {
                let refuse = |why| Issue::new("", format!("password_file: {name}: {why}"), "");
                *password = Some(password_of(&directory.join(&name)).map_err(refuse)?);
            }
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
        let nature = Nature::new(key, Self::ACTIONS);
        let start = |mrt| Recording::start(mrt, context.directory.join(&mrt.directory));
        let recorder = self.mrt.as_ref().map(start).transpose().map_err(StartError::Prepare)?;
        let recorder = recorder.map(|it| Arc::new(it) as Arc<dyn rr::Recorder>);
        let make = move |seed, config| {
            let mut reflector = rr::Reflector::new(seed, config);
            recorder.iter().for_each(|recorder| reflector.record_by(Arc::clone(recorder)));
            reflector
        };
        Ok(Supervised::start(nature, spec, Arc::new(config), make)?.into())
    }
}

/// The first line of a file.
fn password_of(file: &Path) -> Result<Secret, String> {
    let mut text = String::new();
    let file = File::open(file).map_err(|error| error.to_string())?;
    let read = file.take(PASSWORD_FILE_OCTETS_MAX).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(Secret::new(line)),
        _ => Err("its first line is empty".to_owned()),
    }
}
