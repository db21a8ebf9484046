//! The forwarder beside a function: how it is started, who may control it, and `tandem forwarder`.

use super::StartContext;
use crate::cli::Forwarder;
use client::Exit;
use config::keys::{self, Unusable};
use config::{Issue, meant};
use dataplane::section::{Driver, ForwarderStart, Port};
use forwarder::Launch;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use supervise::Prepare;

/// MetricCells of packets of at most 1,850 octets; longer ones need larger cells.
const SHORT_FRAME_OCTETS: u16 = 1_850;
/// What the kernel says of a device that it does not have (errno(3), ENODEV).
const NO_DEVICE: i32 = 19;

/// What a section says of its forwarder.
pub struct Wanted<'a> {
    pub name: &'a str,
    pub workers: u16,
    pub cores: &'a [usize],
    pub packets: u32,
    pub frame_octets: u16,
    pub host: Option<&'a str>,
    pub key_file: Option<&'a str>,
    pub start: ForwarderStart,
}

/// How it is started. What it opens is located here, for it may have been started elsewhere.
///
/// # Errors
/// Its key file cannot be used.
pub fn launch(wanted: &Wanted<'_>, directory: &Path) -> Result<Launch, Unusable> {
    // A program that is gone says so when it is started.
    let own = std::env::current_exe().unwrap_or_else(|_| "tandem".into());
    let socket = directory.join(format!("{}.forwarder", wanted.name));
    let mut command = vec![own.display().to_string(), "forwarder".to_owned()];
    let mut word = |name: &str, value: String| command.extend([format!("--{name}"), value]);
    word("socket", socket.display().to_string());
    word("workers", wanted.workers.to_string());
    wanted.cores.iter().for_each(|core| word("core", core.to_string()));
    word("packets", wanted.packets.to_string());
    word("frame-octets", wanted.frame_octets.to_string());
    if let Some(host) = wanted.host {
        word("host", host.to_owned());
    }
    let mut proved = None;
    if let Some(name) = wanted.key_file {
        proved = Some(keys::read(directory, name)?);
        word("key-file", directory.join(name).display().to_string());
    }
    let log = directory.join(format!("{}.forwarder.log", wanted.name));
    let is_external = wanted.start == ForwarderStart::External;
    Ok(Launch { socket, command, log, keys: proved, is_external, epoch: None })
}

/// Network devices that ports are opened on and that this machine does not have: such a port stays
/// down. Of a forwarder that somebody else starts nothing is known: its devices may be elsewhere.
pub fn absent(ports: &[Port], start: ForwarderStart) -> Vec<Issue> {
    let opens = |port: &&Port| matches!(port.driver, Driver::AfXdp | Driver::AfPacket);
    let ports = ports.iter().enumerate().filter(|(_, port)| opens(port));
    let ports = ports.filter(|_| start == ForwarderStart::Own);
    ports
        .filter_map(|(at, port)| {
            let (key, name) = match &port.device {
                Some(device) => ("device", device),
                None => ("name", &port.name),
            };
            let is_absent = driver::link::interface(name)
                .is_err_and(|error| error.raw_os_error() == Some(NO_DEVICE));
            let hint = || {
                let devices = devices();
                meant(name, devices.iter().map(String::as_str), "make it, or name another driver")
            };
            let what = format!("this machine has no network device `{name}`: the port stays down");
            is_absent.then(|| Issue::new(format!("port[{at}].{key}"), what, hint()))
        })
        .collect()
}

/// The network devices of this network namespace but the loopback (proc(5), `net/dev`).
fn devices() -> Vec<String> {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    names.filter(|name| name != "lo").collect()
}

/// Makes the paths of memif sockets those of the site's directory.
pub fn locate_sockets(ports: &mut [Port], directory: &Path) {
    for name in ports.iter_mut().filter_map(|port| port.socket.as_mut()) {
        let path = keys::located(directory, name);
        *name = std::path::absolute(&path).unwrap_or(path).display().to_string();
    }
}

/// Sees to it that the forwarder stands.
pub fn prepare(launch: Launch, context: &StartContext) -> Prepare {
    let hint = match context.starts_programs {
        true => "",
        false => "; a site that began without a forwarder starts no program: restart it",
    };
    Box::new(move || launch.ensure().map_err(|why| format!("forwarder: {why}{hint}")))
}

/// A forwarder of another user is controlled by both users, unless a key decides.
pub fn foreign(name: &str, has_key: bool, at: &str, key: &str, directory: &Path) -> Vec<Issue> {
    let socket = directory.join(format!("{name}.forwarder"));
    let about = fs::metadata(&socket).ok().filter(|_| !has_key);
    let Some(about) = about else { return Vec::new() };
    let (owner, mode) = (about.uid(), about.permissions().mode());
    if owner == driver::unix_socket::own_user() && mode & 0o066 == 0 {
        return Vec::new();
    }
    let what = format!(
        "no key says who controls its forwarder, whose socket is that of user {owner} \
         (mode {:o}): other users than this one may",
        mode & 0o777
    );
    let hint = format!("give `{key}` here and `--key-file` to the forwarder");
    vec![Issue::new(at, what, hint)]
}

/// `tandem forwarder`: forwards until a control says stop.
pub fn forward(asked: Forwarder) -> Result<(), Exit> {
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
