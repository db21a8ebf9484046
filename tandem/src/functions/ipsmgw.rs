//! IP short message gateways of a site.

mod words;

use super::head::{Head, capture_key};
use super::ssc::tls;
use super::{Kind, StartContext, Started, by_diameter, first_changed, listen};
use crate::exposure::{is_remote, private_key};
use crate::metrics::{Part, cells_of};
use crate::paired;
use config::need::Wanted;
use config::{Issue, ListenAddress, keys};
use ipsmgw::ShortMessageGateway;
use ipsmgw::config::{Ipsmgw, Mode};
use question::Question;
use runtime::{PortSpec, ReplicationRef, ShardSpec, StreamLimits};
use std::path::Path;
use std::sync::Arc;
use supervise::{FunctionKind, StartError, Supervised};

impl Kind for Ipsmgw {
    type Function = ShortMessageGateway;
    type Words = words::IpsmgwWords;
    const PAIRED: bool = true;
    const PEERS: Option<(&'static str, &'static str)> = Some(("diameter/peers", "peer"));

    fn questions() -> Vec<Question> {
        ipsmgw::questions()
    }

    fn metrics() -> Vec<Part> {
        let own = vec![
            cells_of::<ipsmgw::Metric>(),
            cells_of::<ipsmgw::SipMetric>(),
            cells_of::<ipsmgw::HomeMetric>(),
            cells_of::<ipsmgw::RecordMetric>(),
            ipsmgw::outcomes().cells(),
        ];
        let diameter = diameter_stack::empty_tables();
        vec![("IP short message gateway", own), ("Diameter of a function", diameter)]
    }

    fn head(&self) -> Head<'_> {
        let key_file = self.capture_key_file.as_deref();
        let head = Head::of(&self.name, &self.cores);
        let (capture, replica) = (self.capture.as_deref(), self.replica.as_ref());
        Head { capture, capture_key_file: key_file, replica, ..head }
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        let listens = self.listen.iter().enumerate();
        let sip = listens.filter_map(|(n, text)| listen(format!("listen[{n}]"), text));
        let section = self.diameter_section();
        let diameter = section.iter().flat_map(|it| by_diameter::listens(it, Self::diameter_path));
        sip.chain(diameter).collect()
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let own = self.tls.iter().flat_map(|it| tls::unusable(it, directory));
        let mut issues: Vec<Issue> = own.map(|it| it.under("tls")).collect();
        issues.extend(self.store.unusable(directory).into_iter().map(|it| it.under("store")));
        let node = self.diameter.iter().flat_map(|it| by_diameter::unusable(it, directory));
        issues.extend(node.map(|it| it.under("diameter")));
        for (n, link) in self.link.iter().enumerate() {
            let found = link.tls.iter().flat_map(|it| tls::unusable_link(it, directory));
            issues.extend(found.map(|it| it.under(&format!("link[{n}].tls"))));
        }
        issues
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        let mut found = Vec::new();
        let is_open = |it: &&String| it.starts_with("udp:") && is_remote(it);
        if let Some(at) = self.listen.iter().position(|it| is_open(&it)) {
            let what = "whoever forges an address of a next hop sends messages in anybody's name";
            let hint = "keep the network to the core private, or listen on TCP or TLS alone";
            found.push(Issue::new(format!("listen[{at}]"), what, hint));
        }
        if !self.store.outlives() && self.mode == Mode::Local {
            let what = match self.replica {
                None => "messages are acknowledged though they are lost with the process",
                Some(_) => "messages are acknowledged though they are lost with both nodes",
            };
            found.push(Issue::new("store.journal", what, "leave it out but for a trial"));
        }
        if self.store.is_open() {
            let what = "rows of subscribers and messages can be read and changed on the way";
            found.push(Issue::new("store.nodes", what, "write tls_roots"));
        }
        let section = self.diameter_section();
        let diameter = section.iter().flat_map(by_diameter::exposures);
        found.extend(diameter.map(|it| Issue { path: Self::diameter_path(&it.path), ..it }));
        for (n, _) in self.link.iter().enumerate().filter(|it| it.1.is_open()) {
            let what = "messages and identities of subscribers can be read and changed on the way";
            found.push(Issue::new(format!("link[{n}].address"), what, "use tls:"));
        }
        if self.mode == Mode::Gateway && self.signalling.allowed.iter().any(|it| it == "*") {
            let what = "anybody in SS7 is told where subscribers are, and delivers to them";
            let hint = "write what titles of service centres begin with";
            found.push(Issue::new("signalling.allowed", what, hint));
        }
        found.extend(read_by_others(self, directory));
        found
    }

    fn advice(&self) -> Vec<Issue> {
        let pair = self.replica.iter().filter(|pair| pair.arbiter.is_none());
        let what = "the pair has no arbiter: while the link between its nodes is cut, both are \
                    active, and what one of them takes then is lost where the other one serves on";
        let hint = "name an `arbiter` on a third machine, or give the link two paths";
        pair.map(|_| Issue::new("replica.node", what, hint)).collect()
    }

    fn needs(&self) -> Vec<Wanted> {
        let sctp = self.diameter.as_ref().and_then(|it| it.sctp.as_ref());
        sctp.map(|it| it.needs("diameter.sctp.carrier")).unwrap_or_default()
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        section.capture_key = capture_key(self.capture_key_file.as_deref(), directory)?;
        section.tls.iter_mut().for_each(|it| tls::locate(it, directory));
        section.diameter.iter_mut().for_each(|it| by_diameter::locate(it, directory));
        for (n, link) in section.link.iter_mut().enumerate() {
            if let Some(name) = &link.key_file {
                let read = keys::read(directory, name);
                let at = format!("link[{n}].key_file");
                link.keys = Some(read.map_err(|unusable| unusable.issue(at))?);
            }
            let files = link.tls.iter_mut().flat_map(|it| it.files());
            files.for_each(|(_, name)| *name = tls::located(directory, name));
        }
        let backend = self.store.backend(&self.name, &[ipsmgw::MESSAGES], directory);
        section.backend = backend.map_err(|issue| issue.under("store"))?;
        let records = self.cdr_directory();
        section.cdr_folder = records.map(|it| tls::located(directory, &it).into());
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
            ("mode", self.mode == new.mode),
            (
                "signalling.correlation_prefix",
                self.signalling.correlation_prefix == new.signalling.correlation_prefix,
            ),
            ("store", self.store.is_where(&new.store)),
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

    fn interruptions(&self, new: &Self) -> Vec<Issue> {
        let both = self.diameter_section().zip(new.diameter_section());
        let diameter = both.map(|(old, new)| old.interruptions(&new)).unwrap_or_default();
        let moved = diameter.into_iter();
        let moved = moved.map(|it| Issue { path: Self::diameter_path(&it.path), ..it });
        let gone = self.link.iter().filter(|it| !new.link.contains(it)).map(|it| it.name.clone());
        let gone: Vec<String> = gone.collect();
        let said = config::interrupted("link", "links", "end with their dialogues", &gone);
        moved.chain(said.into_iter().map(|what| Issue::new("link", what, ""))).collect()
    }

    fn start(
        &self,
        key: &'static str,
        config: Self,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let seconds = |seconds: u32| machine::Duration::from_secs(seconds.into());
        let refuse = |error| StartError::Prepare(format!("store.directory: {error}"));
        let recalled = config.recall().map_err(refuse)?;
        let replica = self.replica.as_ref();
        let node = paired::recalling(replica, self.shards, &context.directory, recalled)?;
        let spec = ShardSpec {
            mirror: node.clone().map(|node| ReplicationRef(node)),
            name: self.name.clone(),
            shards: self.shards,
            cores: self.cores.clone(),
            ports: config.ports(),
            streams: StreamLimits {
                connections_max: self.limits.connections_max as usize,
                idle_timeout: seconds(self.limits.connection_idle_s),
                ..StreamLimits::default()
            },
            ..ShardSpec::default()
        };
        let kind = FunctionKind::new(key, <Self as Kind>::questions());
        let config = Arc::new(config);
        let unit = Supervised::start(kind, spec, config, ShortMessageGateway::new, ipsmgw::start)?;
        Ok(Started::from(unit).paired(node))
    }
}

/// Private keys of TLS that others read.
fn read_by_others(section: &Ipsmgw, directory: &Path) -> Vec<Issue> {
    let sip = section.tls.iter().map(|tls| (String::from("tls.key"), &tls.key));
    let diameter = section.diameter.iter().flat_map(|node| &node.tls);
    let diameter = diameter.map(|tls| (String::from("diameter.tls.key"), &tls.key));
    let links = section.link.iter().enumerate();
    let links = links.filter_map(|(n, link)| {
        let key = link.tls.as_ref()?.key.as_ref()?;
        Some((format!("link[{n}].tls.key"), key))
    });
    let all = sip.chain(diameter).chain(links);
    all.filter_map(|(at, name)| private_key(directory, at, name)).collect()
}
