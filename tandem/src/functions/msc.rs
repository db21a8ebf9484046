//! Media controllers of a site, with the forwarder beside each.

mod words;

use super::forwarder::{Wanted, absent, foreign, launch, locate_sockets, prepare};
use super::head::{Head, capture_key};
use super::{Kind, StartContext, Started, first_changed, forwarder_away};
use crate::exposure::{is_remote, private_key, readable};
use crate::metrics::{Part, cells_of};
use crate::paired;
use client::Client;
use config::keys::{self, Unusable};
use config::need;
use config::{Issue, ListenAddress};
use msc::config::{ForwarderStart, Msc, Tls, TranscoderStart};
use msc::{Certificate, Settings, Shard};
use question::Question;
use runtime::{PortSpec, ReplicationRef, ShardSpec, StreamLimits};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use supervise::{FunctionKind, StartError, Supervised};
use tls::Context;

/// Octets that wait for a session controller: all that it is told while it does not read.
const QUEUE_OCTETS_MAX: usize = 16 << 20;

impl Kind for Msc {
    type Function = Shard;
    type Words = words::MscWords;
    const PAIRED: bool = true;
    const STARTS_FIRST: bool = true;

    fn questions() -> Vec<Question> {
        msc::questions()
    }

    fn metrics() -> Vec<Part> {
        let mut own = vec![cells_of::<msc::Metric>()];
        own.extend(msc::empty_tables());
        vec![("Media controller", own)]
    }

    fn awaited(client: &Client, function: &str) -> Option<String> {
        forwarder_away(client, function, "media")
    }

    fn head(&self) -> Head<'_> {
        let head = Head::of(&self.name, &self.cores).captured(&self.capture);
        Head { replica: self.replica.as_ref(), ..head }
    }

    fn validate(&self, issues: &mut Vec<Issue>) {
        self.validate(issues);
    }

    fn listens(&self) -> Vec<ListenAddress> {
        let listen_address =
            |path: &str, datagram, address| ListenAddress { path: path.into(), datagram, address };
        let control = self.listen.map(|address| listen_address("listen", false, address));
        let ng = self.ng.into_iter().flat_map(|address| {
            [listen_address("ng", true, address), listen_address("ng", false, address)]
        });
        control.into_iter().chain(ng).collect()
    }

    fn starts_programs(&self) -> bool {
        let has_transcoder = self.transcoder.start == TranscoderStart::Own;
        has_transcoder || self.forwarder.start == ForwarderStart::Own
    }

    fn unusable(&self, directory: &Path) -> Vec<Issue> {
        let files =
            [("key_file", &self.key_file), ("forwarder.key_file", &self.forwarder.key_file)];
        let unread = files.into_iter().filter_map(|(key, name)| {
            let unusable = keys::read(directory, name.as_ref()?).err()?;
            Some(unusable.issue(key))
        });
        let mut issues: Vec<Issue> = unread.collect();
        if let Some(section) = &self.tls {
            issues.extend(unusable_tls(section, directory));
        }
        issues
    }

    fn exposures(&self, directory: &Path) -> Vec<Issue> {
        let has_key = self.forwarder.key_file.is_some();
        let mut found = foreign(&self.name, has_key, "name", "forwarder.key_file", directory);
        found.extend(absent(&self.port, self.forwarder.start));
        let is_open = |address: &std::net::SocketAddr| is_remote(&address.to_string());
        if self.listen.as_ref().is_some_and(is_open) && self.tls.is_none() {
            let what = "keys of SRTP travel in clear between machines";
            found.push(Issue::new("listen", what, "give `tls`, or keep the network private"));
        }
        if self.ng.as_ref().is_some_and(is_open) {
            let what = "whoever reaches it begins, moves and ends calls: NG proves nobody";
            let hint = "listen on 127.0.0.1, or keep the network to the proxies private";
            found.push(Issue::new("ng", what, hint));
        }
        if self.replica.as_ref().is_some_and(|pair| pair.arbiter.is_none()) {
            let what = "without `arbiter` both nodes serve while the link between them is cut, and \
                        SRTP of both leaves under the same keys and numbers: whoever has both can \
                        read it";
            let hint = "run an `[arbiter]` on a third machine and name it at both nodes";
            found.push(Issue::new("replica", what, hint));
        }
        if let Some(section) = &self.tls {
            found.extend(private_key(directory, "tls.key", &section.key));
            if section.verify_clients && section.roots.is_none() {
                let what = "any authority that this machine knows names session controllers";
                found.push(Issue::new("tls.verify_clients", what, "give `roots` of your own"));
            }
        }
        found
    }

    fn needs(&self) -> Vec<need::Wanted> {
        self.needs()
    }

    fn load(&self, directory: &Path) -> Result<Settings, Issue> {
        let mut msc = self.clone();
        msc.capture.key = capture_key(self.capture.key_file.as_deref(), directory)?;
        msc.tls.iter_mut().for_each(|section| locate_tls(section, directory));
        locate_sockets(&mut msc.port, directory);
        let proved = self.key_file.as_ref().map(|name| keys::read(directory, name)).transpose();
        let proved = proved.map_err(|unusable| unusable.issue("key_file"))?;
        let wanted = Wanted {
            name: &self.name,
            workers: self.forwarder.workers,
            cores: &self.forwarder.cores,
            packets: self.forwarder.packets,
            frame_octets: self.forwarder.frame_octets,
            host: None,
            key_file: self.forwarder.key_file.as_deref(),
            start: self.forwarder.start,
        };
        let launch = launch(&wanted, directory);
        let launch = launch.map_err(|unusable| unusable.issue("forwarder.key_file"))?;
        let certificate = certificate(&self.name, directory).map_err(|error| {
            let name = certificate_name(&self.name);
            Unusable::unread(directory, &name, &error, "").issue("name")
        })?;
        let transcoder = transcoder_launch(self, &launch.socket, directory);
        Ok(Settings { msc, keys: proved, launch, transcoder, certificate })
    }

    fn section(settings: &Settings) -> &Self {
        &settings.msc
    }

    fn ports(&self) -> Vec<PortSpec> {
        self.ports()
    }

    /// The keys that say how threads and the forwarder are started.
    fn fixed(&self, new: &Self) -> Option<&'static str> {
        let (old, next) = (&self.forwarder, &new.forwarder);
        first_changed([
            ("shards", self.shards == new.shards),
            ("cores", self.cores == new.cores),
            ("forwarder.workers", old.workers == next.workers),
            ("forwarder.cores", old.cores == next.cores),
            ("forwarder.packets", old.packets == next.packets),
            ("forwarder.frame_octets", old.frame_octets == next.frame_octets),
            ("forwarder.key_file", old.key_file == next.key_file),
            ("forwarder.start", old.start == next.start),
            ("transcoder", self.transcoder == new.transcoder),
        ])
    }

    fn interruptions(&self, new: &Self) -> Vec<Issue> {
        self.interruptions(new)
    }

    fn start(
        &self,
        key: &'static str,
        mut config: Settings,
        context: &StartContext,
    ) -> Result<Started<Self>, StartError> {
        if config.certificate.is_none() {
            let made = make_certificate(&self.name, &context.directory);
            config.certificate = Some(made.map_err(StartError::Prepare)?);
        }
        let prepare = prepare(config.launch.clone(), context);
        let node = paired::node(self.replica.as_ref(), self.shards, &context.directory)?;
        let spec = ShardSpec {
            name: self.name.clone(),
            shards: self.shards,
            cores: self.cores.clone(),
            ports: config.msc.ports(),
            mirror: node.clone().map(|node| ReplicationRef(node)),
            streams: StreamLimits {
                connections_max: 2 * msc::LINKS_MAX,
                queue_bytes_max: QUEUE_OCTETS_MAX,
                // Loads leave once a second: a peer that vanished is found by them.
                idle_timeout: Duration::MAX,
                ..StreamLimits::default()
            },
            ..ShardSpec::default()
        };
        let kind = FunctionKind { prepare, ..FunctionKind::new(key, <Self as Kind>::questions()) };
        let unit = Supervised::start(kind, spec, Arc::new(config), Shard::new, msc::start)?;
        Ok(Started::from(unit).paired(node))
    }
}

/// How the transcoder of a section is started; `None`: there is to be none.
fn transcoder_launch(msc: &Msc, forwarder: &Path, directory: &Path) -> Option<transcoder::Launch> {
    if msc.transcoder.start == TranscoderStart::None {
        return None;
    }
    // A program that is gone says so when it is started.
    let own = std::env::current_exe().unwrap_or_else(|_| "tandem".into());
    let socket = directory.join(format!("{}.transcoder", msc.name));
    let mut command = vec![own.display().to_string(), "transcoder".to_owned()];
    let mut word = |name: &str, value: String| command.extend([format!("--{name}"), value]);
    word("socket", socket.display().to_string());
    word("forwarder", forwarder.display().to_string());
    word("streams", msc.transcoder.streams_max.to_string());
    if let Some(core) = msc.transcoder.core {
        word("core", core.to_string());
    }
    if let Some(name) = &msc.forwarder.key_file {
        word("key-file", directory.join(name).display().to_string());
    }
    let log = directory.join(format!("{}.transcoder.log", msc.name));
    Some(transcoder::Launch { socket, command, log })
}

/// Makes the paths of TLS files whole ones of the site's directory.
fn locate_tls(section: &mut Tls, directory: &Path) {
    let roots = section.roots.as_mut();
    for name in [&mut section.certificate, &mut section.key].into_iter().chain(roots) {
        let path = keys::located(directory, name);
        *name = std::path::absolute(&path).unwrap_or(path).display().to_string();
    }
}

/// What hinders session controllers' port from taking its files.
fn unusable_tls(section: &Tls, directory: &Path) -> Option<Issue> {
    let files = [
        ("tls.certificate", Some(&section.certificate)),
        ("tls.key", Some(&section.key)),
        ("tls.roots", section.roots.as_ref()),
    ];
    for (at, name) in files.into_iter().filter_map(|(at, name)| Some((at, name?))) {
        if let Err(error) = fs::File::open(keys::located(directory, name)) {
            return Some(Unusable::unread(directory, name, &error, "").issue(at));
        }
    }
    let mut located = section.clone();
    locate_tls(&mut located, directory);
    let error = Context::load(&located.spec(), true).err()?;
    let hint = "give certificates and the private key in PEM form, and `roots` to verify clients";
    Some(Issue::new("tls", error.to_string(), hint))
}

/// The file of the certificate that DTLS shows, with its key: a length of four octets, the
/// certificate, the key, both in DER. Both nodes of a pair have the same.
fn certificate_name(name: &str) -> String {
    format!("{name}.dtls")
}

fn certificate(name: &str, directory: &Path) -> io::Result<Option<Certificate>> {
    let path = keys::located(directory, &certificate_name(name));
    let octets = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        octets => octets?,
    };
    if readable(&path).is_some() {
        return Err(io::Error::other("others than its owner may read it: chmod 600"));
    }
    let parts = octets.split_first_chunk::<4>().and_then(|(length, rest)| {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        rest.split_at_checked(length).filter(|(der, key)| !der.is_empty() && !key.is_empty())
    });
    let (der, key) = parts.ok_or_else(|| io::Error::other("it is cut off: remove it"))?;
    Ok(Some(Certificate { der: der.to_vec(), key: key.to_vec() }))
}

/// Makes a certificate and keeps it: descriptions of calls name it, and outlive this process.
fn make_certificate(name: &str, directory: &Path) -> Result<Certificate, String> {
    let made = dtls::Certificate::generate().map_err(|error| error.to_string())?;
    let (der, key) = (made.der().to_vec(), made.expose_key().to_vec());
    let length = u32::try_from(der.len()).map_err(|error| error.to_string())?;
    let octets = [&length.to_be_bytes()[..], &der, &key].concat();
    let path = keys::located(directory, &certificate_name(name));
    config::write_atomic(&path, &octets).map_err(|it| format!("{}: {it}", path.display()))?;
    Ok(Certificate { der, key })
}
