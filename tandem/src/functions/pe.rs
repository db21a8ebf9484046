//! Provider edges of a site: files of routes, the forwarder beside each, and `tandem forwarder`.

mod words;

pub use words::{awaited, forwarder_questions};

use super::{Kind, StartContext, Started, first_changed};
use crate::cli::Forwarder;
use crate::exit::Exit;
use config::keys::{self, Unusable};
use config::need::Wanted;
use config::{Doorway, Issue};
use forwarder::Launch;
use pe::{FileRoute, ForwarderStart, Pe, ProviderEdge, Settings};
use question::Question;
use runtime::{PortSpec, ShardSpec};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use supervise::{Nature, StartError, Supervised};

/// Routes of all files of a router at most.
const FILE_ROUTES_MAX: usize = 16_000_000;
/// Cells of packets of at most 1,850 octets; longer ones need larger cells.
const SHORT_FRAME_OCTETS: u16 = 1_850;

impl Kind for Pe {
    type Function = ProviderEdge;
    type Words = words::PeWords;

    fn questions() -> Vec<Question> {
        pe::questions()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<Doorway> {
        Vec::new()
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
        let mut issues: Vec<Issue> = unusable.into_iter().chain(unread).collect();
        issues.extend(self.load(directory).err().filter(|_| issues.is_empty()));
        issues
    }

    /// A forwarder of another user is controlled by both users, unless a key decides.
    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        let socket = directory.join(format!("{}.forwarder", self.name));
        let about = fs::metadata(&socket).ok().filter(|_| self.key_file.is_none());
        let Some(about) = about else { return Vec::new() };
        let (owner, mode) = (about.uid(), about.permissions().mode());
        if owner == driver::doorway::own_user() && mode & 0o066 == 0 {
            return Vec::new();
        }
        let what = format!(
            "no key says who controls its forwarder, whose socket is that of user {owner} \
             (mode {:o}): other users than this one may",
            mode & 0o777
        );
        vec![Issue::new("name", what, "give `key_file` here and `--key-file` to the forwarder")]
    }

    fn needs(&self) -> Vec<Wanted> {
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
        let launch = config.launch.clone();
        let hint = match context.starts_programs {
            true => "",
            false => "; a site that began without routers starts no program: restart it",
        };
        let prepare =
            Box::new(move || launch.ensure().map_err(|why| format!("forwarder: {why}{hint}")));
        let spec = ShardSpec { name: self.name.clone(), ..ShardSpec::default() };
        let nature = Nature { prepare, ..Nature::new(key, <Self as Kind>::questions()) };
        Ok(Supervised::start(nature, spec, Arc::new(config), ProviderEdge::new)?.into())
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
    let own = std::env::current_exe()
        .map_err(|error| Issue::new("", format!("this program: {error}"), ""))?;
    let socket = directory.join(format!("{}.forwarder", section.name));
    let mut command = vec![own.display().to_string(), "forwarder".to_owned()];
    let mut word = |name: &str, value: String| command.extend([format!("--{name}"), value]);
    word("socket", socket.display().to_string());
    word("workers", section.workers.to_string());
    section.cores.iter().for_each(|core| word("core", core.to_string()));
    word("packets", section.packets.to_string());
    word("frame-octets", section.frame_octets.to_string());
    if let Some(host) = &section.host {
        word("host", host.clone());
    }
    let mut keys = None;
    if let Some(name) = &section.key_file {
        keys = Some(keys::read(directory, name).map_err(|unusable| unusable.issue("key_file"))?);
        word("key-file", directory.join(name).display().to_string());
    }
    let log = directory.join(format!("{}.forwarder.log", section.name));
    let is_external = section.forwarder == ForwarderStart::External;
    let launch = Launch { socket, command, log, keys, is_external };
    let mut pe = section.clone();
    for name in pe.port.iter_mut().filter_map(|port| port.socket.as_mut()) {
        let path = keys::located(directory, name);
        *name = std::path::absolute(&path).unwrap_or(path).display().to_string();
    }
    Ok(Settings { pe, routes, launch })
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

/// `tandem forwarder`: forwards until a control says stop.
pub fn forwarder(asked: Forwarder) -> Result<(), Exit> {
    driver::privilege::keep_files();
    driver::privilege::keep_memory(false)?;
    tracing_to_standard_error()?;
    let stride = if asked.frame_octets <= SHORT_FRAME_OCTETS {
        forwarder::STRIDE
    } else {
        forwarder::STRIDE_JUMBO
    };
    let keys = asked.key_file.map(|file| keys::read(Path::new(""), &file));
    let keys = keys.transpose().map_err(|error| Exit::Failed(format!("--key-file: {error}")))?;
    let spec = forwarder::Spec {
        socket: asked.socket,
        workers: asked.workers,
        cores: asked.core,
        packets: asked.packets,
        stride,
        host: asked.host,
        keys,
        users: asked.allow_user,
    };
    forwarder::serve(&spec).map_err(|failed| Exit::Failed(failed.to_string()))
}

fn tracing_to_standard_error() -> Result<(), Exit> {
    oam::log::Levels::install(&oam::Section::default().log).map(drop).map_err(Exit::Failed)
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
