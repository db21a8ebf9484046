//! Route reflectors of a site: their passwords in files, their recordings.

mod exposure;

use super::head::{Head, capture_key};
use super::{Kind, StartContext, Started, first_changed, passwords, speaker};
use crate::metrics::{Part, cells_of};
use config::{Issue, ListenAddress};
use question::Question;
use rr::config::Rr;
use runtime::{PortSpec, ShardSpec, StreamLimits};
use services::recording::Recording;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use supervise::{FunctionKind, StartError, Supervised};

/// Octets that may wait for a peer of a reflector before its session ends: what it is sent at once,
/// and the messages of the session itself. More waits in the tables only.
const QUEUE_OCTETS_MAX: usize = 64 << 20;

impl Kind for Rr {
    type Function = rr::Reflector;
    type Words = client::BgpWords;
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
        passwords::stand_in(&self.group, &self.peer)
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        let mut found = speaker::exposures(&self.speaker(), directory);
        exposure::feeds(self, &mut found);
        found
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        passwords::unusable(&self.group, &self.peer, directory)
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        section.capture.key = capture_key(self.capture.key_file.as_deref(), directory)?;
        passwords::read(&mut section.group, &mut section.peer, directory)?;
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
