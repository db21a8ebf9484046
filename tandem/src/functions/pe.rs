//! Provider edges of a site: files of routes, and the forwarder beside each.

mod igp;
mod words;

pub use words::{forwarder_away, forwarder_questions};

use super::forwarder::{Wanted, absent, foreign, launch, locate_sockets, prepare};
use super::{Head, Kind, StartContext, Started, first_changed, passwords, speaker};
use crate::metrics::{Part, cells_of};
use ::igp::Protocol;
use ::igp::config::{BfdAuthentication, Isis, KeyChain, KeyChains, Ospf};
use client::Client;
use config::keys::{self, Unusable};
use config::need;
use config::{Issue, ListenAddress};
use pe::{FileRoute, ForwarderStart, Pe, ProviderEdge, Settings};
use question::Question;
use runtime::{PortSpec, ShardSpec};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use supervise::{FunctionKind, StartError, Supervised};

/// Routes of all files of a router at most.
const FILE_ROUTES_MAX: usize = 16_000_000;

impl Kind for Pe {
    type Function = ProviderEdge;
    type Words = words::PeWords;
    const PEERS: Option<(&'static str, &'static str)> = Some(("bgp/summary", "peer"));

    fn questions() -> Vec<Question> {
        pe::questions()
    }

    fn metrics() -> Vec<Part> {
        let mut own = vec![cells_of::<pe::Metric>()];
        own.extend(dataplane::empty_tables());
        let (igp, ldp) = (::igp::empty_tables(), ldp_stack::empty_tables());
        let bgp = vec![cells_of::<pe::BgpMetric>(), bgp_stack::peer_table().cells()];
        vec![("Provider edge", own), ("OSPF and IS-IS", igp), ("LDP", ldp), ("BGP", bgp)]
    }

    fn awaited(client: &Client, function: &str) -> Option<String> {
        forwarder_away(client, function, "pe/summary")
    }

    fn head(&self) -> Head<'_> {
        Head::of(&self.name, &self.cores)
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        Vec::new()
    }

    fn holds_passwords(&self) -> bool {
        self.bgp.as_ref().is_some_and(|it| passwords::stand_in(&it.group, &it.peer))
    }

    fn starts_programs(&self) -> bool {
        self.forwarder == ForwarderStart::Own
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let unusable = self.key_file.as_ref().and_then(|name| keys::read(directory, name).err());
        let unusable = unusable.map(|it| it.issue("key_file"));
        let files = self.route_files.iter().enumerate();
        let unread = files.filter_map(|(n, name)| {
            let error = File::open(keys::located(directory, name)).err()?;
            let unread = Unusable::unread(directory, name, &error, "");
            Some(unread.issue(format!("route_files[{n}]")))
        });
        let keys = key_files(self).filter_map(|file| igp_keys(directory, file).err());
        let of_bfd = bfd_key_files(self).filter_map(|it| bfd_keys(directory, it.0, it.1).err());
        let keys = keys.chain(of_bfd);
        let bgp = self.bgp.iter().flat_map(|it| {
            let issues = passwords::unusable(&it.group, &it.peer, directory);
            issues.into_iter().map(|it| it.under("bgp"))
        });
        unusable.into_iter().chain(unread).chain(keys).chain(bgp).collect()
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        let mut found = foreign(&self.name, self.key_file.is_some(), "name", "key_file", directory);
        found.extend(absent(&self.port, self.forwarder));
        found.extend(self.ospf.iter().flat_map(Ospf::exposures).map(|it| it.under("ospf")));
        if let Some(bgp) = &self.bgp {
            let listens = bgp.listens();
            let open = speaker::exposures(&bgp.speaker(&listens, &self.vrf), directory);
            found.extend(open.into_iter().map(|it| it.under("bgp")));
        }
        found
    }

    fn advice(&self) -> Vec<Issue> {
        self.advice()
    }

    fn needs(&self) -> Vec<need::Wanted> {
        self.needs()
    }

    fn load(&self, directory: &Path) -> Result<Settings, Issue> {
        settings(self, directory)
    }

    fn section(config: &Settings) -> &Self {
        &config.pe
    }

    fn ports(&self) -> Vec<PortSpec> {
        Vec::new()
    }

    /// The keys that say how the forwarder is started.
    fn fixed(&self, new: &Self) -> Option<&'static str> {
        first_changed([
            ("workers", self.workers == new.workers),
            ("cores", self.cores == new.cores),
            ("packets", self.packets == new.packets),
            ("frame_octets", self.frame_octets == new.frame_octets),
            ("host", self.host == new.host),
            ("key_file", self.key_file == new.key_file),
            ("forwarder", self.forwarder == new.forwarder),
        ])
    }

    fn interruptions(&self, new: &Self) -> Vec<Issue> {
        self.interruptions(new)
    }

    fn start(
        &self,
        key: &'static str,
        config: Settings,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        let prepare = prepare(config.launch.clone(), context);
        let spec = ShardSpec { name: self.name.clone(), ..ShardSpec::default() };
        let kind = FunctionKind { prepare, ..FunctionKind::new(key, <Self as Kind>::questions()) };
        Ok(Supervised::start(kind, spec, Arc::new(config), ProviderEdge::new, pe::start)?.into())
    }
}

/// What the router runs with: files are read, and what the forwarder opens is located, for it may
/// have been started elsewhere.
fn settings(section: &Pe, directory: &Path) -> Result<Settings, Issue> {
    let mut routes = Vec::new();
    for (n, name) in section.route_files.iter().enumerate() {
        let known = |vrf: &str| section.vrf.iter().any(|it| it.name == vrf);
        let at = || format!("route_files[{n}]");
        let file = File::open(keys::located(directory, name));
        let file =
            file.map_err(|error| Unusable::unread(directory, name, &error, "").issue(at()))?;
        read_routes(file, known, &mut routes)
            .map_err(|why| Issue::new(at(), format!("{name}: {why}"), ""))?;
    }
    let wanted = Wanted {
        name: &section.name,
        workers: section.workers,
        cores: &section.cores,
        packets: section.packets,
        frame_octets: section.frame_octets,
        host: section.host.as_deref(),
        key_file: section.key_file.as_deref(),
        start: section.forwarder,
    };
    let launch = launch(&wanted, directory).map_err(|unusable| unusable.issue("key_file"))?;
    let mut pe = section.clone();
    locate_sockets(&mut pe.port, directory);
    if let Some(bgp) = &mut pe.bgp {
        passwords::read(&mut bgp.group, &mut bgp.peer, directory).map_err(|it| it.under("bgp"))?;
    }
    let (mut ospf_keys, mut isis_keys) = (KeyChains::new(), KeyChains::new());
    for file in key_files(section) {
        let (of, name) = (file.0, file.2.to_owned());
        let chain = igp_keys(directory, file)?;
        match of {
            Protocol::Ospf => ospf_keys.insert(name, chain),
            Protocol::Isis => isis_keys.insert(name, chain),
        };
    }
    let of_bfd = bfd_key_files(section).map(|file| {
        let name = file.1.to_owned();
        bfd_keys(directory, file.0, file.1).map(|keys| (name, keys))
    });
    let bfd_keys = of_bfd.collect::<Result<_, Issue>>()?;
    Ok(Settings { pe, routes, ospf_keys, isis_keys, bfd_keys, launch })
}

/// Files of keys of OSPF and IS-IS: whose, where they are named, their names.
fn key_files(section: &Pe) -> impl Iterator<Item = (Protocol, String, &str)> {
    let ospf = section.ospf.iter().flat_map(Ospf::key_files);
    let ospf = ospf.map(|(at, name)| (Protocol::Ospf, at, name));
    let isis = section.isis.iter().flat_map(Isis::key_files);
    ospf.chain(isis.map(|(at, name)| (Protocol::Isis, at, name)))
}

/// The keys of a file: a line each, which none but its owner may read; or what is wrong, and what
/// to do.
fn igp_keys(directory: &Path, file: (Protocol, String, &str)) -> Result<KeyChain, Issue> {
    let (of, at, name) = file;
    let at = format!("{}.{at}", of.name());
    let text = keys::text(directory, name).map_err(|unusable| {
        let issue = unusable.issue(at.clone());
        let make = "openssl rand -base64 32";
        Issue::new(at.clone(), issue.what, issue.hint.replace(make, "echo 1 hmac-sha-256 SECRET"))
    })?;
    let hint = "write `ID ALGORITHM SECRET` a line, the key that is sent with first";
    KeyChain::read(of, &text).map_err(|why| Issue::new(at, format!("{name}: {why}"), hint))
}

/// Files of keys of BFD: where they are named, their names.
fn bfd_key_files(section: &Pe) -> impl Iterator<Item = (String, &str)> {
    let ospf = section.ospf.iter().flat_map(Ospf::bfd_key_files);
    let ospf = ospf.map(|(at, name)| (format!("ospf.{at}"), name));
    let isis = section.isis.iter().flat_map(Isis::bfd_key_files);
    ospf.chain(isis.map(|(at, name)| (format!("isis.{at}"), name)))
}

/// The keys of a file of BFD, likewise.
fn bfd_keys(directory: &Path, at: String, name: &str) -> Result<BfdAuthentication, Issue> {
    let text = keys::text(directory, name).map_err(|unusable| {
        let issue = unusable.issue(at.clone());
        let make = "openssl rand -base64 32";
        let own = "echo 1 meticulous-sha1 SECRET";
        Issue::new(at.clone(), issue.what, issue.hint.replace(make, own))
    })?;
    let hint = "write `ID ALGORITHM SECRET` a line, the key that is sent with first";
    let read = ::igp::config::bfd_keys(&text);
    read.map_err(|why| Issue::new(at, format!("{name}: {why}"), hint))
}

/// Lines of `[vrf] prefix gateway`; empty ones and those that begin with `#` say nothing.
fn read_routes(
    file: File,
    known: impl Fn(&str) -> bool,
    routes: &mut Vec<FileRoute>,
) -> Result<(), String> {
    let lines = BufReader::new(file).lines();
    for (n, line) in lines.enumerate() {
        let line = line.map_err(|error| error.to_string())?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let (vrf, prefix, gateway) = match words[..] {
            [] => continue,
            [first, ..] if first.starts_with('#') => continue,
            [prefix, gateway] => ("", prefix, gateway),
            [vrf, prefix, gateway] => (vrf, prefix, gateway),
            _ => return Err(format!("line {}: write `[vrf] prefix gateway`", n + 1)),
        };
        let read =
            route(vrf, prefix, gateway).ok_or_else(|| format!("line {}: `{line}`", n + 1))?;
        if !vrf.is_empty() && !known(vrf) {
            return Err(format!("line {}: there is no routing table `{vrf}`", n + 1));
        }
        if routes.len() == FILE_ROUTES_MAX {
            return Err(format!("more than {FILE_ROUTES_MAX} routes"));
        }
        routes.push(read);
    }
    Ok(())
}

fn route(vrf: &str, prefix: &str, gateway: &str) -> Option<FileRoute> {
    let (address, length) = prefix.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let length: u8 = length.parse().ok()?;
    let gateway: IpAddr = gateway.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let is_route = length <= width && address.is_ipv4() == gateway.is_ipv4();
    is_route.then(|| FileRoute { vrf: vrf.to_owned(), prefix: (address, length), gateway })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_of_a_memif_is_one_of_the_sites_directory() {
        let text = "[site]\nname = \"x\"\ndirectory = \"var\"\n[[pe]]\nname = \"pe1\"\n\
            [[pe.port]]\nname = \"a\"\ndriver = \"memif\"\nsocket = \"vpp.sock\"\n\
            [[pe.port]]\nname = \"b\"\ndriver = \"memif\"\nsocket = \"/run/b\"\n";
        let section = config::shape::<crate::site::Site>(text).unwrap().pe.remove(0);
        let sockets = |section: &Pe| -> Vec<String> {
            let settings = settings(section, Path::new("/var/lib/tandem")).unwrap();
            settings.pe.port.into_iter().filter_map(|port| port.socket).collect()
        };
        assert_eq!(sockets(&section), ["/var/lib/tandem/vpp.sock", "/run/b"]);
    }
}
