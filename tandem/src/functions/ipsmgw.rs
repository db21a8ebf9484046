//! IP short message gateways of a site.

mod words;

use super::head::{Head, capture_key};
use super::ssc::tls;
use super::{Kind, StartContext, Started, first_changed, listen};
use crate::exposure::is_remote;
use crate::metrics::{Part, cells_of};
use config::{Issue, ListenAddress};
use ipsmgw::ShortMessageGateway;
use ipsmgw::config::Ipsmgw;
use question::Question;
use runtime::{PortSpec, ShardSpec, StreamLimits};
use std::path::Path;
use std::sync::Arc;
use supervise::{Nature, StartError, Supervised};

impl Kind for Ipsmgw {
    type Function = ShortMessageGateway;
    type Words = words::IpsmgwWords;

    fn questions() -> Vec<Question> {
        ipsmgw::questions()
    }

    fn metrics() -> Vec<Part> {
        let own = vec![cells_of::<ipsmgw::Fact>(), cells_of::<ipsmgw::DoorFact>()];
        vec![("IP short message gateway", own)]
    }

    fn head(&self) -> Head<'_> {
        let key_file = self.capture_key_file.as_deref();
        let head = Head::of(&self.name, &self.cores);
        Head { capture: self.capture.as_deref(), capture_key_file: key_file, ..head }
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        let listens = self.listen.iter().enumerate();
        listens.filter_map(|(n, text)| listen(format!("listen[{n}]"), text)).collect()
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let own = self.tls.iter().flat_map(|it| tls::unusable(it, directory));
        own.map(|it| it.under("tls")).collect()
    }

    fn exposures(&self, _directory: &Path) -> Vec<Issue> {
        let mut found = Vec::new();
        let is_open = |it: &&String| it.starts_with("udp:") && is_remote(it);
        if let Some(at) = self.listen.iter().position(|it| is_open(&it)) {
            let what = "whoever forges an address of a next hop sends messages in anybody's name";
            let hint = "keep the network to the core private, or listen on TCP or TLS alone";
            found.push(Issue::new(format!("listen[{at}]"), what, hint));
        }
        if !self.store.journal {
            let what = "messages are acknowledged though they are lost with the process";
            found.push(Issue::new("store.journal", what, "leave it out but for a trial"));
        }
        found
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        section.capture_key = capture_key(self.capture_key_file.as_deref(), directory)?;
        section.tls.iter_mut().for_each(|it| tls::locate(it, directory));
        let journal = self.store_directory();
        section.journal = journal.map(|it| tls::located(directory, &it).into());
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
            ("cores", self.cores == new.cores),
            ("store.journal", self.store.journal == new.store.journal),
            ("store.directory", self.store.directory == new.store.directory),
            ("limits.flows_max", self.limits.flows_max == new.limits.flows_max),
            (
                "limits.transactions_max",
                self.limits.transactions_max == new.limits.transactions_max,
            ),
            ("limits.connections_max", self.limits.connections_max == new.limits.connections_max),
            (
                "limits.connection_idle_s",
                self.limits.connection_idle_s == new.limits.connection_idle_s,
            ),
        ])
    }

    fn start(
        &self,
        key: &'static str,
        config: Self,
        _context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let seconds = |seconds: u32| machine::Duration::from_secs(seconds.into());
        let spec = ShardSpec {
            name: self.name.clone(),
            cores: self.cores.clone(),
            ports: config.ports(),
            streams: StreamLimits {
                connections_max: self.limits.connections_max as usize,
                idle_timeout: seconds(self.limits.connection_idle_s),
                ..StreamLimits::default()
            },
            ..ShardSpec::default()
        };
        let nature = Nature::new(key, <Self as Kind>::questions());
        let config = Arc::new(config);
        let unit =
            Supervised::start(nature, spec, config, ShortMessageGateway::new, ipsmgw::start)?;
        Ok(unit.into())
    }
}
