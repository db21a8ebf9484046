//! Signalling session controllers of a site.

mod words;

use super::{Kind, StartContext, Started, first_changed, listen};
use crate::exposure::{is_remote, readable};
use crate::keys;
use crate::paired::{self, HAND_OVER};
use crate::pool::EXCHANGE;
use crate::supervise::{Nature, RELOAD, StartError, Supervised};
use config::{Doorway, Issue};
use replica::Replica;
use runtime::gate::{Gate, GateRef};
use runtime::{MirrorRef, PortSpec, ShardSpec, StreamLimits};
use ssc::config::{Realm, Ssc};
use ssc::realm::{InDialogSource, Side};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

impl Kind for Ssc {
    type Function = ssc::Controller;
    type Words = words::SscWords;
    const ACTIONS: &'static [&'static str] = &["calls/terminate", "blacklist/clear", RELOAD];
    const INTERNAL: &'static [&'static str] = &[HAND_OVER, EXCHANGE];

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
        replica.chain(realms).collect()
    }

    fn awaits(&self, address: IpAddr) -> bool {
        self.holds(address)
    }

    fn replica(&self) -> Option<&Replica> {
        self.replica.as_ref()
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let realms = self.realm.iter().enumerate();
        let mut issues: Vec<_> = realms.flat_map(|(r, realm)| unreadable(r, realm)).collect();
        let key_file = self.replica.as_ref().and_then(|replica| replica.key_file.as_ref());
        let unusable = key_file.and_then(|name| keys::read(directory, name).err());
        issues.extend(unusable.map(|it| it.issue("replica.key_file")));
        issues.extend(self.load(directory).err());
        issues
    }

    fn exposures(&self, _directory: &Path) -> Vec<Issue> {
        let mut found = Vec::new();
        for (r, realm) in self.realm.iter().enumerate() {
            exposures_of(realm, &format!("realm[{r}]"), &mut found);
        }
        found
    }

    fn load(&self, directory: &Path) -> Result<Self, Issue> {
        let mut section = self.clone();
        if let Some(name) = &self.capture_key_file {
            let keys = keys::passwords(directory, name);
            let keys = keys.map_err(|unusable| unusable.issue("capture_key_file"))?;
            section.capture_key = keys.into_iter().next().unwrap_or_default();
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

    fn start(
        &self,
        key: &'static str,
        config: Self,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let gate = Gate::start(self.gate()).map_err(refused)?;
        let node = paired::node(self.replica.as_ref(), self.shards, &context.directory)?;
        let spec = ShardSpec {
            name: self.name.clone(),
            shards: self.shards,
            cores: self.cores.clone(),
            ports: self.ports(),
            mirror: node.clone().map(|node| MirrorRef(node)),
            gate: Some(GateRef(Arc::new(gate))),
            streams: connections(self),
            ..ShardSpec::default()
        };
        let nature = Nature { internal: Self::INTERNAL, ..Nature::new(key, Self::ACTIONS) };
        let unit = Supervised::start(nature, spec, Arc::new(config), ssc::Controller::new)?;
        Ok(Started::from(unit).paired(node))
    }

    fn reconfigured(&self, old: &Self, spec: &ShardSpec) -> Result<(), StartError> {
        match &spec.gate {
            Some(GateRef(standing)) if old.gate() != self.gate() => {
                standing.configure(self.gate()).map_err(refused)
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

/// Files of TLS that cannot be read.
fn unreadable(r: usize, realm: &Realm) -> Vec<Issue> {
    let Some(tls) = &realm.tls else { return Vec::new() };
    let files = [
        ("certificate", Some(&tls.certificate)),
        ("key", Some(&tls.key)),
        ("roots", tls.roots.as_ref()),
    ];
    let unreadable = files.into_iter().filter_map(|(key, file)| {
        let (file, error) = (file?, std::fs::File::open(file?).err()?);
        let what = format!("{file} cannot be read: {error}");
        Some(Issue::new(format!("realm[{r}].tls.{key}"), what, "give the path of a PEM file"))
    });
    unreadable.collect()
}

fn exposures_of(realm: &Realm, path: &str, found: &mut Vec<Issue>) {
    let has_remote = realm.listen.iter().any(|at| is_remote(at));
    if realm.side == Side::Access && !realm.register_required && has_remote {
        let what = "whoever reaches this realm makes calls: nobody has to be registered";
        let mend = "add `register_required = true`, or keep the network private";
        found.push(Issue::new(format!("{path}.listen"), what, mend));
    }
    if realm.in_dialog_source() == InDialogSource::Realm && !realm.trusted && has_remote {
        let what = "whoever is in this realm and has read the names of a call ends or \
            moves it: its requests may come from anywhere";
        let mend = "leave it out, or write `in_dialog_source = \"address\"`";
        found.push(Issue::new(format!("{path}.in_dialog_source"), what, mend));
    }
    if !realm.pass_headers.is_empty() && !realm.trusted {
        let names = realm.pass_headers.join(", ");
        let what = format!("what anybody writes into {names} passes as if it were true");
        let mend = "leave it out, or remove by [[ssc.rule]] what must not pass";
        found.push(Issue::new(format!("{path}.pass_headers"), what, mend));
    }
    let Some(tls) = &realm.tls else { return };
    if !tls.verify_servers {
        let what = "certificates of servers are not checked: anybody may be the next hop";
        let at = format!("{path}.tls.verify_servers");
        found.push(Issue::new(at, what, "leave it out, and give `roots`"));
    }
    if let Some(what) = readable(Path::new(&tls.key)) {
        let mend = format!("chmod 600 {}", tls.key);
        found.push(Issue::new(format!("{path}.tls.key"), what, mend));
    }
}
