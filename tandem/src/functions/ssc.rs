//! Signalling session controllers of a site.

mod exposure;
pub(super) mod tls;
mod words;

use super::{Kind, StartContext, Started, first_changed, listen};
use crate::paired;
use config::keys;
use config::need::{BPF, NET_ADMIN, NET_RAW, Need, Wanted};
use config::{Doorway, Issue};
use media_stack::config::Tls as MediaTls;
use policing::kernel::{FilterRef, KernelFilter};
use question::Question;
use replica::Replica;
use runtime::{MirrorRef, PortSpec, ShardSpec, StreamLimits};
use ssc::config::{Kernel, Ssc};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use supervise::{Nature, StartError, Supervised};

impl Kind for Ssc {
    type Function = ssc::Controller;
    type Words = words::SscWords;
    const PAIRED: bool = true;

    fn questions() -> Vec<Question> {
        ssc::questions()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<Doorway> {
        let replica = self.replica.iter();
        let replica =
            replica.filter_map(|it| listen("replica.listen".into(), &format!("udp:{}", it.listen)));
        let realms = self.realm.iter().enumerate().flat_map(|(r, realm)| {
            let listens = realm.listen.iter().enumerate();
            listens.filter_map(move |(n, text)| listen(format!("realm[{r}].listen[{n}]"), text))
        });
        let ipsec = self.ipsec_listens().into_iter().map(|(r, address)| Doorway {
            path: format!("realm[{r}].ipsec"),
            datagram: true,
            address,
        });
        replica.chain(realms).chain(ipsec).collect()
    }

    fn awaits(&self, address: IpAddr) -> bool {
        self.holds(address)
    }

    fn replica(&self) -> Option<&Replica> {
        self.replica.as_ref()
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let realms = self.realm.iter().enumerate();
        let unread = realms.flat_map(|(r, realm)| {
            let issues = realm.tls.iter().flat_map(|tls| tls::unusable(tls, directory));
            issues.map(move |issue| issue.under(&format!("realm[{r}].tls")))
        });
        let mut issues: Vec<_> = unread.collect();
        let key_file = self.replica.as_ref().and_then(|replica| replica.key_file.as_ref());
        let unusable = key_file.and_then(|name| keys::read(directory, name).err());
        issues.extend(unusable.map(|it| it.issue("replica.key_file")));
        for (at, controller) in self.media.controller.iter().enumerate() {
            let own = controller.tls.iter().flat_map(|tls| tls::unusable_media(tls, directory));
            issues.extend(own.map(|it| it.under(&format!("media.controller[{at}].tls"))));
        }
        issues.extend(self.load(directory).err());
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
        if self.replica.as_ref().is_some_and(|pair| !pair.addresses.is_empty()) {
            let reason = "the active node takes the addresses of the pair";
            needs.push(("replica.addresses", Need::Capability(NET_ADMIN), reason));
        }
        if self.replica.as_ref().is_some_and(Replica::asks_gateways) {
            let reason = "gateways are asked by raw sockets";
            needs.push(("replica.track", Need::Capability(NET_RAW), reason));
        }
        if self.realm.iter().any(|realm| realm.ipsec.is_some()) {
            let reason = "ESP of phones comes and leaves by raw sockets";
            needs.push(("realm.ipsec", Need::Capability(NET_RAW), reason));
        }
        if self.shield.kernel == Kernel::Require {
            let reason = "the kernel drops for the shield (XDP)";
            let rights = [NET_ADMIN, NET_RAW, BPF].map(Need::Capability);
            needs.extend(rights.map(|need| ("shield.kernel", need, reason)));
        }
        needs
    }

    fn cores(&self) -> &[usize] {
        &self.cores
    }

    fn capture(&self) -> Option<&str> {
        self.capture.as_deref()
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        if let Some(name) = &self.capture_key_file {
            let keys = keys::passwords(directory, name);
            let keys = keys.map_err(|unusable| unusable.issue("capture_key_file"))?;
            section.capture_key = keys.into_iter().next().unwrap_or_default();
        }
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
        issues.extend(config::closing(&self.listens(), &new.listens()));
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
            mirror: node.clone().map(|node| MirrorRef(node)),
            kernel_filter: Some(FilterRef(Arc::new(filter))),
            streams: connections(self),
            ..ShardSpec::default()
        };
        let nature = Nature::new(key, <Self as Kind>::questions());
        let unit =
            Supervised::start(nature, spec, Arc::new(config), ssc::Controller::new, ssc::start)?;
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
