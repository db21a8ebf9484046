//! The registration topology: subscribers and core on one core, the system under test on another.
//!
//! ```text
//!   core 1: subscribers ──udp/tls──→ core 0: SSC ──udp──→ core 1: the core, which says 200
//!           subscribers ──udp/tls──→ core 0: Kamailio as registrar
//! ```

use super::topology::{self, Shape, System, Topology};
use anyhow::Context;
use peers::{Kamailio, free_port};
use report::site_file::SiteFile;
use runtime::{Ask, PortId, PortSpec, Running, ShardSpec, Transport};
use sip_load::{Endpoint, Registrants, RegistrantsConfig, Report, Trial};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);
/// Kept TLS connections that the subscribers share.
pub const TLS_CONNECTIONS: u16 = 16;
/// Seconds that subscribers ask for and the SSC grants: longer than any run.
const EXPIRES_S: u32 = 3_000;
/// What the SSC tells whom it refuses, unless a storm wants another.
const RETRY_AFTER_S: u32 = 5;
const CORE: PortId = PortId(0);
const FIRST_CLIENT: u16 = 1;

/// The subscribers and the core they belong to, on the generator's processor core.
pub struct Subscribers {
    running: Running<Registrants>,
}

impl Subscribers {
    /// Starts them. `transport` is theirs; the core speaks UDP.
    ///
    /// # Errors
    /// When a port cannot be bound.
    pub fn start(topology: &Topology, transport: Transport) -> anyhow::Result<Self> {
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        let mut ports = vec![PortSpec {
            id: CORE,
            name: "core".into(),
            listen: topology.answerer,
            ..PortSpec::default()
        }];
        let mut clients = Vec::new();
        let is_tls = transport == Transport::Tls;
        let remote = if is_tls { topology.access_tls } else { topology.access };
        let count = if transport.is_stream() { TLS_CONNECTIONS } else { 1 };
        for number in 0..count {
            let id = PortId(FIRST_CLIENT + number);
            let address = free_port(local)?;
            ports.push(PortSpec {
                id,
                name: "client".into(),
                listen: address,
                carrier: topology.outward(transport),
                ..PortSpec::default()
            });
            clients.push(Endpoint { port: id, transport, local: address, remote });
        }
        let config = RegistrantsConfig { clients, core: Some(CORE), expires_s: EXPIRES_S };
        let (_, core) = Topology::cores();
        let name = "subscribers".into();
        let spec = ShardSpec { name, cores: vec![core], ports, ..Default::default() };
        let running = Registrants::launch(spec, Arc::new(config))?;
        Ok(Self { running })
    }

    fn ask(&self, ask: Ask) -> anyhow::Result<Report> {
        let answer = self.running.ask(ask).context("the generator does not answer")?;
        Ok(serde_json::from_value(answer)?)
    }

    /// Starts a trial and leaves it running.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn begin(&self, trial: Trial) -> anyhow::Result<()> {
        self.ask(trial.ask()).map(drop)
    }

    /// What happened so far.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn report(&self) -> anyhow::Result<Report> {
        self.ask(Ask { path: "trial".into(), ..Ask::default() })
    }

    /// Runs one trial to its end; what is unanswered `drain` after the last REGISTER is a failure.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn run(&self, trial: Trial, drain: Duration) -> anyhow::Result<Report> {
        self.begin(trial)?;
        let until = Instant::now() + trial.length + drain;
        std::thread::sleep(trial.length);
        while Instant::now() < until {
            let report = self.report()?;
            if !report.running {
                return Ok(report);
            }
            std::thread::sleep(POLL);
        }
        self.ask(Ask { path: "trial/abandon".into(), ..Ask::default() })
    }
}

/// Starts a site with one SSC of one shard that answers refreshes from its cache.
///
/// # Errors
/// When the binary does not come up.
pub fn tandem(topology: &Topology, binary: &Path) -> anyhow::Result<System> {
    System::of(topology, binary, &site(topology, RETRY_AFTER_S).text())
}

/// The same, with a realm of its own for calls, and `[ssc.limits] retry_after_s`.
///
/// # Errors
/// When the binary does not come up.
pub fn tandem_with_calls(
    topology: &Topology,
    binary: &Path,
    calls: &Topology,
    retry_after_s: u32,
) -> anyhow::Result<System> {
    let text = site(topology, retry_after_s)
        .realm("calls", "access", &[format!("udp:{}", calls.access)])
        .next_hop("answerers", format_args!("udp:{}", calls.answerer))
        .route("calls", "answerers")
        .text();
    System::of(topology, binary, &text)
}

/// Starts Kamailio as a registrar, one worker a socket, bindings in memory.
///
/// # Errors
/// When it is not installed or does not come up.
pub fn kamailio(topology: &Topology, tls: bool) -> anyhow::Result<System> {
    Ok(System::Kamailio(Kamailio::start_registrar(&topology.kamailio(tls), topology.directory())?))
}

/// Bindings that stand in the SSC, as its metrics tell.
#[must_use]
pub fn standing(topology: &Topology) -> Option<u64> {
    let mut answer = ureq::get(format!("http://{}/metrics", topology.api)).call().ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    let lines = text.lines().filter(|line| line.starts_with("tandem_ssc_bindings_live"));
    let lines = lines.chain(text.lines().filter(|line| line.starts_with("ssc_bindings_live")));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.reduce(|a, b| a + b).map(|value| value as u64)
}

fn site(topology: &Topology, retry_after_s: u32) -> SiteFile {
    let limits = format!(
        "relays_max = 1000000\ntransactions_max = 4000000\nbindings_max = 24000000\n\
        retry_after_s = {retry_after_s}"
    );
    let shape = Shape { oam: "metrics_open = true", ssc: "", limits: &limits };
    let expires = format!("client_expires_s = {EXPIRES_S}\ncore_expires_s = 7200");
    topology::site(topology, &shape).with(format_args!("[ssc.registrar]\n{expires}"))
}
