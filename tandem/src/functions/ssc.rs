//! Signalling session controllers of a site.

mod exposure;
pub(super) mod tls;
mod words;

use super::head::{Head, capture_key};
use super::{Kind, StartContext, Started, first_changed, listen};
use crate::metrics::{Part, cells_of};
use crate::paired;
use config::keys;
use config::need::{BPF, NET_ADMIN, NET_RAW, Need, Wanted};
use config::{Issue, ListenAddress};
use media_stack::config::Tls as MediaTls;
use policing::kernel::{FilterRef, KernelFilter};
use question::Question;
use runtime::{PortSpec, ReplicationRef, ShardSpec, StreamLimits};
use ssc::config::{Kernel, Ssc};
use std::path::Path;
use std::sync::Arc;
use supervise::{FunctionKind, StartError, Supervised};

impl Kind for Ssc {
    type Function = ssc::Controller;
    type Words = words::SscWords;
    const PAIRED: bool = true;

    fn questions() -> Vec<Question> {
        ssc::questions()
    }

    fn metrics() -> Vec<Part> {
        let own = vec![
            cells_of::<ssc::Metric>(),
            ssc::next_hop_table().cells(),
            cells_of::<media_stack::MediaMetric>(),
        ];
        let access = vec![
            cells_of::<ims::Metric>(),
            cells_of::<ims::RegEventMetric>(),
            cells_of::<ipsec::Metric>(),
        ];
        vec![
            ("Signalling session controller", own),
            ("IMS access of a signalling session controller", access),
        ]
    }

    fn head(&self) -> Head<'_> {
        let head = Head::of(&self.name, &self.cores).captured(&self.capture);
        Head { replica: self.replica.as_ref(), ..head }
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        let realms = self.realm.iter().enumerate().flat_map(|(r, realm)| {
            let listens = realm.listen.iter().enumerate();
            listens.filter_map(move |(n, text)| listen(format!("realm[{r}].listen[{n}]"), text))
        });
        let ipsec = self.ipsec_listens().into_iter().map(|(r, address)| ListenAddress {
            path: format!("realm[{r}].ipsec"),
            datagram: true,
            address,
        });
        realms.chain(ipsec).collect()
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let realms = self.realm.iter().enumerate();
        let unread = realms.flat_map(|(r, realm)| {
            let issues = realm.tls.iter().flat_map(|tls| tls::unusable(tls, directory));
            issues.map(move |issue| issue.under(&format!("realm[{r}].tls")))
        });
        let mut issues: Vec<_> = unread.collect();
        for (at, controller) in self.media.controller.iter().enumerate() {
            let own = controller.tls.iter().flat_map(|tls| tls::unusable_media(tls, directory));
            issues.extend(own.map(|it| it.under(&format!("media.controller[{at}].tls"))));
        }
        issues
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        exposure::exposures(self, directory)
    }

    fn advice(&self) -> Vec<Issue> {
        exposure::advice(self)
    }

    fn needs(&self) -> Vec<Wanted> {
        let mut needs = Vec::new();
        if self.realm.iter().any(|realm| realm.ipsec.is_some()) {
            let reason = "ESP of phones comes and leaves by raw sockets";
            needs.push(("realm.ipsec", Need::Capability(NET_RAW), reason));
        }
        if self.realm.iter().any(|realm| realm.ipsec.as_ref().is_some_and(|ipsec| ipsec.bypass)) {
            let reason = "ESP of phones goes past the kernel's IP (AF_XDP)";
            let rights = [NET_ADMIN, BPF].map(Need::Capability);
            needs.extend(rights.map(|need| ("realm.ipsec.bypass", need, reason)));
        }
        if self.shield.kernel == Kernel::Require {
            let reason = "the kernel drops for the shield (XDP)";
            let rights = [NET_ADMIN, NET_RAW, BPF].map(Need::Capability);
            needs.extend(rights.map(|need| ("shield.kernel", need, reason)));
        }
        needs
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        section.capture.key = capture_key(self.capture.key_file.as_deref(), directory)?;
        section.realm.iter_mut().filter_map(|realm| realm.tls.as_mut()).for_each(|tls| {
            tls::locate(tls, directory);
        });
        for (at, controller) in section.media.controller.iter_mut().enumerate() {
            if let Some(name) = &controller.key_file {
                let path = format!("media.controller[{at}].key_file");
                let keys = keys::read(directory, name).map_err(|it| it.issue(path))?;
                controller.keys = Some(keys);
            }
            controller.tls.iter_mut().flat_map(MediaTls::files).for_each(|name| {
                *name = tls::located(directory, name);
            });
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
            ("limits of connections", connections(self) == connections(new)),
        ])
    }

    fn interruptions(&self, new: &Self) -> Vec<Issue> {
        let is_gone = |name: &str| new.realm.iter().all(|it| it.name != name);
        let gone = self.realm.iter().filter(|it| is_gone(&it.name)).map(|it| {
            let what = format!(
                "calls with a leg in the realm {} end, and its registrations are forgotten",
                it.name
            );
            Issue::new("name", what, "")
        });
        let mut issues: Vec<Issue> = gone.collect();
        issues.extend(self.ipsec_interruptions(new));
        let is_left = |name: &str| new.media.controller.iter().any(|it| it.name == name);
        let left = self.media.controller.iter().filter(|it| !is_left(&it.name));
        issues.extend(left.map(|it| {
            let what = format!("calls with media at {} go to another media controller", it.name);
            Issue::new("media.controller", what, "")
        }));
        if let (Some(old), Some(replica)) = (&self.replica, &new.replica) {
            let given = old.addresses.iter().filter(|it| !replica.addresses.contains(it));
            issues.extend(given.map(|it| {
                let what = format!("the address {it} leaves the active node, with what came to it");
                Issue::new("replica.addresses", what, "")
            }));
            if old.peer != replica.peer {
                let pair = replica.pair;
                let what = format!(
                    "calls of pair {pair} are not protected until the node at {} has them all",
                    replica.peer
                );
                issues.push(Issue::new("replica.peer", what, ""));
            }
        }
        issues
    }

    fn start(
        &self,
        key: &'static str,
        config: Self,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let filter = KernelFilter::start(self.kernel_filter()).map_err(refused)?;
        let node = paired::node(self.replica.as_ref(), self.shards, &context.directory)?;
        let spec = ShardSpec {
            name: self.name.clone(),
            shards: self.shards,
            cores: self.cores.clone(),
            ports: config.ports(),
            mirror: node.clone().map(|node| ReplicationRef(node)),
            kernel_filter: Some(FilterRef(Arc::new(filter))),
            streams: connections(self),
            ..ShardSpec::default()
        };
        let kind = FunctionKind::new(key, <Self as Kind>::questions());
        let unit =
            Supervised::start(kind, spec, Arc::new(config), ssc::Controller::new, ssc::start)?;
        Ok(Started::from(unit).paired(node))
    }

    fn reconfigured(&self, old: &Self, spec: &ShardSpec) -> Result<(), StartError> {
        match &spec.kernel_filter {
            Some(FilterRef(standing)) if old.kernel_filter() != self.kernel_filter() => {
                standing.configure(self.kernel_filter()).map_err(refused)
            }
            _ => Ok(()),
        }
    }
}

/// The kernel's part of the shield does not stand where it must.
fn refused(why: String) -> StartError {
    StartError::Prepare(format!("shield.kernel: {why}"))
}

/// How many connections a controller has, and for how long.
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
