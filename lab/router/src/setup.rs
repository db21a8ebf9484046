//! One reflector, Tandem's or another one's, and the field of clients around it.

use anyhow::Context;
use bgp::family::{Family, FamilySet};
use bgp_load::{Clients, Keys, Plan};
use peers::{Reflector, ReflectorKind, ReflectorSpec, Usage, free_port};
use report::contract::Options;
use report::scratch::Scratch;
use report::site::{self, Site};
use report::site_file::SiteFile;
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ASN: u32 = 65_000;
const CLUSTER: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const CLIENTS: &str = "127.16.0.0/12";
/// Time for all sessions.
const CONNECT_MAX: Duration = Duration::from_secs(60);
/// Time after which resident memory counts as standing.
const STANDING: Duration = Duration::from_secs(2);

/// Whose reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Tandem,
    Peer(ReflectorKind),
}

#[derive(Debug)]
enum Running {
    Tandem(Box<Site>),
    Peer(Box<Reflector>),
}

/// A reflector with its clients.
#[derive(Debug)]
pub(super) struct Setup {
    running: Running,
    pub(super) field: Clients,
    pub(super) plan: Plan,
    before: [Usage; 2],
    _scratch: Scratch,
}

impl Setup {
    /// Starts the reflector; `clients` of the field are not connected yet.
    pub(super) fn start(
        who: Who,
        options: &Options,
        families: &[Family],
        clients: usize,
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let listen = free_port(LOCAL)?;
        let running = match who {
            Who::Tandem => {
                let api = site::address(LOCAL, 8_080)?;
                let names: Vec<_> = families.iter().map(|family| family.name()).collect();
                let shards = report::host::cores().clamp(1, 2);
                let text = SiteFile::new("rr", scratch.path(), api)
                    .with(format_args!("\n[[rr]]\nname = \"rr1\"\nasn = {ASN}\nshards = {shards}"))
                    .with(format_args!("identifier = \"{CLUSTER}\"\nlisten = [\"{listen}\"]"))
                    .with("[[rr.group]]\nname = \"clients\"\nclient = true\npassive = true")
                    .with(format_args!("families = {names:?}\nranges = [\"{CLIENTS}\"]"))
                    .with(format_args!("peers_max = {}\nhold_time_s = 0", clients + 1))
                    .text();
                let spec = Site::spec(&options.tandem, scratch.path());
                Running::Tandem(Box::new(Site::start(&spec, &text, api)?))
            }
            Who::Peer(kind) => {
                let spec = ReflectorSpec {
                    kind,
                    listen,
                    asn: ASN,
                    cluster: CLUSTER,
                    clients: CLIENTS.into(),
                    clients_max: clients,
                    families: families.iter().map(|family| family.name().to_owned()).collect(),
                };
                Running::Peer(Box::new(Reflector::start(&spec, scratch.path())?))
            }
        };
        let hold_time_s = match who {
            Who::Tandem => 0,
            Who::Peer(kind) => kind.hold_time_s(),
        };
        let families: FamilySet = families.iter().copied().collect();
        let (cluster, asn) = (CLUSTER.to_bits(), ASN);
        let plan = Plan { reflector: listen, asn, cluster, families, hold_time_s, clients };
        let field = Clients::new(plan.clone(), Keys::new())?;
        let before = [Usage::default(); 2];
        Ok(Self { running, field, plan, before, _scratch: scratch })
    }

    /// Connects clients.
    pub(super) fn connect(&mut self, clients: std::ops::Range<usize>) -> anyhow::Result<()> {
        let connected = self.field.connect(clients, CONNECT_MAX);
        connected.with_context(|| self.log_end())
    }

    /// Processor time is counted from now on.
    pub(super) fn begin(&mut self) {
        self.before = [self.usage(), Usage::own()];
    }

    /// Processor time since [`Setup::begin`], of the reflector and of this process, seconds.
    pub(super) fn cpu(&self) -> [f64; 2] {
        let now = [self.usage(), Usage::own()];
        [0, 1].map(|at| now[at].cpu.saturating_sub(self.before[at].cpu).as_secs_f64())
    }

    /// The reflector's resident memory once it has come to rest, MB.
    pub(super) fn standing_mb(&mut self) -> anyhow::Result<f64> {
        self.field.run(STANDING)?;
        Ok(self.usage().resident_bytes as f64 / 1e6)
    }

    fn usage(&self) -> Usage {
        match &self.running {
            Running::Tandem(site) => site.usage(),
            Running::Peer(reflector) => reflector.usage(),
        }
    }

    pub(super) fn log_end(&self) -> String {
        match &self.running {
            Running::Tandem(site) => site.log_end(),
            Running::Peer(reflector) => reflector.log_end(),
        }
    }

    pub(super) fn name(&self) -> String {
        match &self.running {
            Running::Tandem(_) => "Tandem".into(),
            Running::Peer(reflector) => reflector.version.clone(),
        }
    }
}

/// The peer that was asked for.
pub(super) fn peer(options: &Options) -> anyhow::Result<Option<ReflectorKind>> {
    let Some(name) = &options.reflection.peer else { return Ok(None) };
    let kind = ReflectorKind::named(name);
    Ok(Some(kind.with_context(|| format!("no reflector is called `{name}`"))?))
}

/// A convergence with processor time and memory, as a row's detail has it.
pub(super) fn detail_of(found: &bgp_load::Convergence, cpu: [f64; 2], standing_mb: f64) -> Value {
    let round = |value: f64| (value * 1e3).round() / 1e3;
    json!({
        "clients": found.clients,
        "seconds": round(found.seconds),
        "updates": found.updates,
        "updates_per_s": found.rate().round(),
        "reflector_cpu_s": round(cpu[0]),
        "generator_cpu_s": round(cpu[1]),
        "standing_mb": standing_mb.round(),
        "different_streams": found.references,
        "decoded_alone": found.alone,
    })
}
