//! The testbed of a flood: three namespaces, two virtual wires.
//!
//! ```text
//!   tq-N-good  10.199.1.2 ──veth── 10.199.1.1  tq-N-sut  10.199.2.1 ──veth── tq-N-evil
//!   generator, registrar           SSC, default route ───→                   attacker
//! ```

use super::super::topology::Topology;
use anyhow::Context;
use attack::{Namespace, Veth};
use peers::{Duty, Kamailio};
use report::site::Site;
use report::site_file::SiteFile;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

const GOOD: Ipv4Addr = Ipv4Addr::new(10, 199, 1, 2);
const SUT: Ipv4Addr = Ipv4Addr::new(10, 199, 1, 1);
const GATEWAY: &str = "10.199.2.2";
/// Link-layer address of the system under test on the attacker's wire.
pub const SUT_MAC: &str = "02:00:00:00:02:01";
const EVIL_MAC: &str = "02:00:00:00:02:02";
/// The attacker's interface.
pub const EVIL: &str = "evil";
const WIRE: &str = "good";
/// Attempts to register the callers' address, and the patience of each.
const TRIES_MAX: usize = 30;
const PATIENCE: Duration = Duration::from_millis(200);
const MESSAGE_BYTES_MAX: usize = 4_096;

/// Namespaces and wires, gone when it is dropped.
pub struct Testbed {
    /// Where the system under test stands.
    pub sut: Namespace,
    /// Where the generator stands.
    pub good: Namespace,
    /// Where the attacker stands.
    pub evil: Namespace,
}

impl Testbed {
    /// Makes them.
    ///
    /// # Errors
    /// Without root or without ip(8).
    pub fn new() -> anyhow::Result<Self> {
        let testbed = Self {
            sut: Namespace::new("sut")?,
            good: Namespace::new("good")?,
            evil: Namespace::new("evil")?,
        };
        let end =
            |namespace, interface, addresses, mac| Veth { namespace, interface, addresses, mac };
        Veth::pair(
            end(&testbed.sut, WIRE, &["10.199.1.1/24"], "02:00:00:00:01:01"),
            end(&testbed.good, WIRE, &["10.199.1.2/24"], "02:00:00:00:01:02"),
        )?;
        Veth::pair(
            end(&testbed.sut, EVIL, &["10.199.2.1/24"], SUT_MAC),
            end(&testbed.evil, EVIL, &["10.199.2.2/24"], EVIL_MAC),
        )?;
        let sut = &testbed.sut;
        sut.ip(&["neigh", "replace", GATEWAY, "lladdr", EVIL_MAC, "dev", EVIL])?;
        // What answers the flood goes back where it came from and ends there.
        sut.ip(&["route", "add", "default", "via", GATEWAY, "dev", EVIL])?;
        for interface in ["all", "default", WIRE, EVIL] {
            sut.set(&format!("net.ipv4.conf.{interface}.rp_filter"), "0")?;
        }
        Ok(testbed)
    }
}

/// What is flooded.
pub enum Target {
    /// The SSC.
    Tandem(Site),
    /// The peer.
    Peer(Kamailio),
}

impl Target {
    /// What the shield shows: the shard's row and the kernel's; of the peer nothing.
    ///
    /// # Errors
    /// When the API does not answer.
    pub fn policing(&self) -> anyhow::Result<Value> {
        match self {
            Self::Tandem(site) => site.get("functions/ssc/shield"),
            Self::Peer(_) => Ok(Value::Null),
        }
    }

    /// Processor time used so far.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        match self {
            Self::Tandem(site) => site.usage().cpu,
            Self::Peer(kamailio) => kamailio.usage().cpu,
        }
    }
}

/// Starts a site with one SSC that takes calls from registered callers only; `kernel` is what its
/// shield says of XDP. The calling thread stands in the generator's namespace.
///
/// # Errors
/// When it does not come up.
pub fn tandem(
    testbed: &Testbed,
    topology: &Topology,
    binary: &Path,
    kernel: &str,
) -> anyhow::Result<Target> {
    let mut spec = Site::spec(binary, topology.directory());
    spec.namespace = Some(testbed.sut.name().to_owned());
    spec.core = Some(Topology::cores().0);
    Ok(Target::Tandem(Site::start(&spec, &site(topology, kernel), topology.api)?))
}

/// Kamailio in the place of the SSC: it serves the callers' address, and holds others off.
///
/// # Errors
/// When it is not installed or does not come up.
pub fn kamailio(testbed: &Testbed, topology: &Topology) -> anyhow::Result<Kamailio> {
    let mut spec = topology.kamailio(false);
    spec.namespace = Some(testbed.sut.name().to_owned());
    spec.duty = Duty::Shield(GOOD.into());
    Kamailio::start(&spec, topology.directory())
}

/// Addresses on the wire between generator and SSC.
///
/// # Errors
/// When there is no room for files.
pub fn topology() -> anyhow::Result<Topology> {
    let at = |ip: Ipv4Addr, port| SocketAddr::new(IpAddr::V4(ip), port);
    let mut topology = Topology::new()?;
    (topology.access, topology.core, topology.api) = (at(SUT, 5060), at(SUT, 5070), at(SUT, 8080));
    (topology.caller, topology.answerer) = (Some(at(GOOD, 5060)), at(GOOD, 5070));
    Ok(topology)
}

const REGISTRAR: SocketAddr = SocketAddr::new(IpAddr::V4(GOOD), 5090);

/// The core's registrar: it accepts whatever comes. Dropping it ends it.
pub struct Registrar {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Registrar {
    /// Starts it.
    ///
    /// # Errors
    /// When its port is taken.
    pub fn start() -> anyhow::Result<Self> {
        let socket = UdpSocket::bind(REGISTRAR)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            let (mut bytes, mut count) = ([0; MESSAGE_BYTES_MAX], 0);
            while !flag.load(Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
                let text = String::from_utf8_lossy(&bytes[..length]);
                count += u64::from(text.starts_with("REGISTER "));
                // Who asks again is answered again.
                let _ = socket.send_to(accept(&text).as_bytes(), from);
            }
            count
        });
        Ok(Self { ended, thread: Some(thread) })
    }

    /// Ends it; how many REGISTERs it got.
    #[must_use]
    pub fn stop(mut self) -> u64 {
        self.ended.store(true, Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Registrar {
    fn drop(&mut self) {
        self.ended.store(true, Relaxed);
    }
}

fn accept(request: &str) -> String {
    let mut answer = String::from("SIP/2.0 200 OK\r\n");
    for line in request.lines().take_while(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default();
        match name {
            "Via" | "From" | "Call-ID" | "CSeq" => answer += &format!("{line}\r\n"),
            "To" => answer += &format!("{line};tag=core\r\n"),
            "Contact" => answer += &format!("{line};expires=3600\r\n"),
            _ => {}
        }
    }
    answer + "Content-Length: 0\r\n\r\n"
}

/// Registers the address that all good calls come from.
///
/// # Errors
/// When the SSC does not accept it.
pub fn register(topology: &Topology) -> anyhow::Result<()> {
    let caller = topology.caller.context("the callers have an address")?;
    let phone = UdpSocket::bind(caller)?;
    phone.set_read_timeout(Some(PATIENCE))?;
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    let mut last = String::new();
    for number in 1..=TRIES_MAX {
        let request = format!(
            "REGISTER sip:{to} SIP/2.0\r\n\
            Via: SIP/2.0/UDP {caller};rport;branch=z9hG4bKgood{number}\r\nMax-Forwards: 70\r\n\
            From: <sip:good@lab>;tag=good\r\nTo: <sip:good@lab>\r\nCall-ID: good\r\n\
            CSeq: {number} REGISTER\r\nContact: <sip:good@{caller}>\r\nExpires: 3600\r\n\
            Content-Length: 0\r\n\r\n",
            to = topology.access,
        );
        phone.send_to(request.as_bytes(), topology.access)?;
        let Ok((length, _)) = phone.recv_from(&mut bytes) else { continue };
        last = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if last.starts_with("SIP/2.0 200 ") {
            return Ok(());
        }
    }
    anyhow::bail!("the callers cannot register: {last}")
}

fn site(topology: &Topology, kernel: &str) -> String {
    let Topology { access, core, answerer, api, .. } = topology;
    let under_test = Topology::cores().0;
    SiteFile::new("lab", topology.directory(), *api)
        .with("allow_remote = true")
        .with(format_args!("[[ssc]]\nname = \"ssc\"\ncores = [{under_test}]"))
        .with("[ssc.registrar]\nclient_expires_s = 3600\ncore_expires_s = 7200")
        .with(format_args!("[ssc.shield]\nkernel = \"{kernel}\""))
        .with(format_args!("kernel_interfaces = [\"{WIRE}\", \"{EVIL}\"]"))
        .realm("access", "access", &[format!("udp:{access}"), format!("tcp:{access}")])
        .with("register_required = true")
        .realm("core", "core", &[format!("udp:{core}")])
        .with("trusted = true")
        .next_hop("far-end", format_args!("udp:{answerer}"))
        .next_hop("registrar", format_args!("udp:{REGISTRAR}"))
        .route("access", "registrar")
        .with("method = [\"REGISTER\"]")
        .route("access", "far-end")
        .text()
}
