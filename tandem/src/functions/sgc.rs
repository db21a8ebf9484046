//! Signalling gateways of a site.

mod files;
mod rules;
mod words;

use super::head::{Head, capture_key};
use super::{Kind, StartContext, Started, first_changed};
use crate::exposure::private_key;
use crate::metrics::{Part, cells_of};
use config::need::Wanted;
use config::{Issue, ListenAddress};
use question::Question;
use replica::Groups;
use replica::groups::Members;
use runtime::{Address, PortSpec, ReplicationRef, ShardSpec, StreamLimits, Transport};
use sgc::config::{PeerRole, Registration, Sgc};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use supervise::{FunctionKind, StartError, Supervised};

/// An association over TCP may be silent for ever; T(beat) is what finds a peer that vanished.
const IDLE: Duration = Duration::from_secs(10 * 365 * 86_400);

impl Kind for Sgc {
    type Function = sgc::Gateway;
    type Words = words::SgcWords;
    const PEERS: Option<(&'static str, &'static str)> = Some(("m3ua/asps", "name"));

    fn questions() -> Vec<Question> {
        sgc::questions()
    }

    fn metrics() -> Vec<Part> {
        let own = vec![
            cells_of::<sgc::Metric>(),
            m3ua_stack::peer_table().cells(),
            cells_of::<m3ua::Metric>(),
            cells_of::<sctp_stack::AssociationMetric>(),
        ];
        let mut upper = vec![cells_of::<sccp::Metric>(), cells_of::<tcap::Metric>()];
        upper.extend(sgc::empty_tables());
        vec![("Signalling gateway", own), ("SCCP and TCAP of a signalling gateway", upper)]
    }

    fn head(&self) -> Head<'_> {
        Head::of(&self.name, &self.cores).captured(&self.capture)
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        let addresses = self.listening().into_iter();
        addresses
            .map(|(path, datagram, address)| ListenAddress { path, datagram, address })
            .collect()
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        let mut found = Vec::new();
        open_listeners(self, &mut found);
        rules::doubts(self, directory, &mut found);
        self.doubts(&mut found);
        if self.policy.registration == Registration::Open {
            let what = "a peer makes itself an Application Server for any Routing Key, and draws \
                its traffic";
            let hint = "leave it out: `provisioned` lets peers register what is configured";
            found.push(Issue::new("policy.registration", what, hint));
        }
        applications(self, directory, &mut found);
        if self.cluster.as_ref().is_some_and(|it| it.nodes.len() == 2 && it.arbiter.is_none()) {
            let what = "two nodes without a third vote both serve while the link between them is \
                        cut: a dialogue may go on at both";
            let hint = "name an `arbiter`, or a third node with `weight = 0`";
            found.push(Issue::new("cluster.nodes", what, hint));
        }
        // Who is named wrongly there is meant there.
        let is_peer = |name: &String| self.peer.iter().any(|peer| peer.name == *name);
        let mut named = self.application_server.iter().flat_map(|it| &it.peers);
        let is_misspelt = named.any(|name| !is_peer(name));
        for (at, peer) in self.peer.iter().enumerate() {
            let is_near =
                !peer.addresses.is_empty() && peer.addresses.iter().all(IpAddr::is_loopback);
            if peer.addresses.is_empty() {
                let what = "whoever reaches the gateway may be this peer: it has no addresses";
                found.push(Issue::new(format!("peer[{at}].name"), what, "give `addresses`"));
            }
            let has_any = peer.screening.originating.iter().flatten().any(|code| code == "any");
            if has_any && !is_near {
                let what = "this peer may send in the name of any point code";
                let hint = "write the point codes that lie behind it";
                found.push(Issue::new(format!("peer[{at}].screening.originating"), what, hint));
            }
            let serves = self.application_server.iter().any(|it| it.peers.contains(&peer.name));
            let is_left_out = !serves && !is_misspelt;
            if peer.role == PeerRole::Asp && is_left_out && peer.screening.originating.is_none() {
                let what = "it is of no Application Server: it may send in the name of every point \
                    code that none here has";
                let hint = "name it in `peers` of its Application Server, or write `screening`";
                found.push(Issue::new(format!("peer[{at}].name"), what, hint));
            }
        }
        found
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        files::translations(&mut self.clone(), directory)
    }

    fn needs(&self) -> Vec<Wanted> {
        self.needs()
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        section.capture.key = capture_key(self.capture.key_file.as_deref(), directory)?;
        rules::load(&mut section, directory)?;
        let refused = files::translations(&mut section, directory).into_iter().next();
        refused.map_or(Ok(()), Err)?;
        if let Some(cluster) = &mut section.cluster
            && let Some(name) = &cluster.key_file
        {
            let read = config::keys::read(directory, name);
            cluster.keys = Some(read.map_err(|unusable| unusable.issue("cluster.key_file"))?);
        }
        for (n, application) in section.application.iter_mut().enumerate() {
            if let Some(name) = &application.key_file {
                let at = format!("application[{n}].key_file");
                let read = config::keys::read(directory, name);
                application.keys = Some(read.map_err(|unusable| unusable.issue(&at))?);
            }
            if let Some(name) = &application.file {
                let at = format!("application[{n}].file");
                application.subscribers = Arc::new(files::subscribers(directory, name, &at)?);
            }
            let paths = application.unix_paths().map(|path| whole(directory, path));
            application.sockets = paths.collect();
            if let Some(tls) = &mut application.tls {
                let roots = tls.roots.as_mut();
                for name in [&mut tls.certificate, &mut tls.key].into_iter().chain(roots) {
                    *name = whole(directory, name).display().to_string();
                }
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
            ("cluster", fixed_cluster(self) == fixed_cluster(new)),
            ("cluster.nodes", votes_apart(self, new) <= 1),
        ])
    }

    fn interruptions(&self, new: &Self) -> Vec<Issue> {
        let mut issues = self.interruptions(new);
        issues.extend(self.application_interruptions(new));
        issues
    }

    fn start(
        &self,
        key: &'static str,
        config: Self,
        _context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let groups =
            config.cluster.as_ref().map(|it| Groups::start(&it.members(), it.keys.as_ref()));
        let refuse = |error| StartError::Prepare(format!("cluster.nodes: {error}"));
        let groups = groups.transpose().map_err(refuse)?.map(Arc::new);
        let spec = ShardSpec {
            name: self.name.clone(),
            shards: self.shards,
            cores: self.cores.clone(),
            ports: config.ports(),
            streams: StreamLimits { idle_timeout: IDLE, ..StreamLimits::default() },
            mirror: groups.clone().map(|groups| ReplicationRef(groups)),
            ..ShardSpec::default()
        };
        let make = move |seed, config| {
            let it = sgc::Gateway::new(seed, config);
            match &groups {
                Some(groups) => it.of_groups(Arc::clone(groups)),
                None => it,
            }
        };
        let kind = FunctionKind::new(key, <Self as Kind>::questions());
        Ok(Supervised::start(kind, spec, Arc::new(config), make, sgc::start)?.into())
    }
}

/// What of a cluster's section changes with a restart alone.
fn fixed_cluster(section: &Sgc) -> Option<Members> {
    let of = section.cluster.as_ref()?.members();
    Some(Members { member: Vec::new(), arbiter: None, track: Vec::new(), track_recover_s: 0, ..of })
}

/// How many changes of votes lead from one section to another. While nodes of a cluster have either
/// of the two, majorities meet only if that is one.
fn votes_apart(old: &Sgc, new: &Sgc) -> usize {
    let roster = |it: &Sgc| it.cluster.as_ref().map(|it| it.members().roster());
    roster(old).zip(roster(new)).map_or(0, |(old, new)| old.steps(&new))
}

/// A path of the site's directory as a whole one.
fn whole(directory: &Path, name: &str) -> PathBuf {
    let path = config::keys::located(directory, name);
    std::path::absolute(&path).unwrap_or(path)
}

/// Where an application is let in without a key, and where what is said can be read.
fn applications(section: &Sgc, directory: &Path, found: &mut Vec<Issue>) {
    for (n, application) in section.application.iter().enumerate() {
        if application.allowed.iter().any(|it| it == "*") {
            let what = "anybody in SS7 is told the IMSIs of subscribers, and where they are";
            let hint = "write what titles of those begin with who may ask";
            found.push(Issue::new(format!("application[{n}].allowed"), what, hint));
        }
        let key = application.tls.as_ref().map(|tls| &tls.key);
        let at = format!("application[{n}].tls.key");
        found.extend(key.and_then(|name| private_key(directory, at, name)));
        for (m, text) in application.listen.iter().enumerate() {
            let Ok(address) = text.parse::<Address>() else { continue };
            let is_far = !address.socket.ip().is_loopback();
            let (what, hint) = match (address.transport, is_far) {
                (Transport::Tcp, true) => (
                    "the key proves who connects; what is said then can be read and changed on the \
                     way",
                    "use tls:",
                ),
                (_, false) if application.key_file.is_none() => {
                    ("every user of this machine can be the application", "use unix:, or key_file")
                }
                _ => continue,
            };
            found.push(Issue::new(format!("application[{n}].listen[{m}]"), what, hint));
        }
    }
}

/// M3UA proves nothing: what it listens at is an address of the signalling network.
fn open_listeners(section: &Sgc, found: &mut Vec<Issue>) {
    let sctp = section.sctp.iter().flat_map(|sctp| sctp.addresses.iter().enumerate());
    let sctp = sctp.map(|(n, ip)| (format!("sctp.addresses[{n}]"), *ip));
    let tcp = section.tcp.listen.iter().enumerate();
    let tcp = tcp.map(|(n, at)| (format!("tcp.listen[{n}]"), at.ip()));
    for (at, _) in sctp.chain(tcp).filter(|(_, ip)| ip.is_unspecified()) {
        let what = "M3UA is taken at every address of this machine, and proves nobody";
        found.push(Issue::new(at, what, "write the address in the signalling network"));
    }
}
