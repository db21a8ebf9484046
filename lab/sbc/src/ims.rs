//! Phones of IMS before the system under test: its address takes ESP, theirs are beside it.
//!
//! ```text
//!   core 1: phones ──REGISTER, clear──→ core 0: SSC ──udp──→ core 1: home (S-CSCF, HSS), answerer
//!           phones ══ESP═════════════→                ──tcp (HEP3)─→ capture sink
//! ```
//! The addresses are of the loopback, and a process has its own: a raw socket gets the packets of
//! all others that name its address.

use super::topology::{ANSWERER, CAPTURE, FIRST_CALLER, LIMITS, Load, MEMORY, Runs, Topology};
use super::topology::{Shape, System, site};
use handset::{FleetConfig, Station};
use peers::free_port;
use runtime::{Ask, Carrier, PortId, PortSpec, ShardSpec, StreamSpec};
use secagree::{Mode, Preference};
use sip_load::{Act, Ladder, Phones, PhonesConfig, Report, Trial};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Phones at one address.
const PHONES_OF_ADDRESS: u32 = 25_000;
/// Addresses of phones at most.
const ADDRESSES_MAX: u32 = 8;
const CLEAR_PORT: u16 = 5_060;
/// The number of the first phone's subscription; those before it are nobody's phone.
const FIRST: u64 = 20_001;
/// Seconds of registration: longer than any run.
const EXPIRES_S: u32 = 7_200;
const REGISTRAR: &str = "[ssc.registrar]\nclient_expires_s = 7000\ncore_expires_s = 7200";
/// More than any run has: what sources may do is another experiment's question.
const LIMITS_OF_SOURCES: &str = ", sets_max = 524288, under_way_max = 1048576, \
    under_way_of_source_max = 1048576, sets_of_source_max = 524288";
const POLL: Duration = Duration::from_millis(20);
/// What is not answered so long after the last phone has acted has failed.
const DRAIN: Duration = Duration::from_secs(3);
/// Phones that attach before calls: at this rate, or at less when that is too much.
const ATTACH_RATES: [f64; 3] = [2_000.0, 800.0, 300.0];

/// A topology with an address that takes ESP.
#[derive(Debug)]
pub struct ImsGround {
    /// The topology.
    pub topology: Topology,
    /// Ports: protected server, protected clients, ESP in UDP.
    ports: [u16; 4],
    phones: u32,
    /// Keys of `[ssc.realm.ipsec]` beside the ports.
    pub limits: String,
}

impl ImsGround {
    /// Chooses addresses and ports for so many phones.
    ///
    /// # Errors
    /// When there is no free port or no room for files.
    pub fn new(phones: u32) -> anyhow::Result<Self> {
        let mut topology = Topology::new()?;
        let ip = address(1);
        topology.access = free_port(ip)?;
        let mut ports = [0; 4];
        for port in &mut ports {
            *port = free_port(ip)?.port();
        }
        let most = PHONES_OF_ADDRESS * ADDRESSES_MAX;
        Ok(Self { topology, ports, phones: phones.min(most), limits: LIMITS_OF_SOURCES.to_owned() })
    }

    /// How many phones there are.
    #[must_use]
    pub const fn phones(&self) -> u32 {
        self.phones
    }

    /// Numbers of the subscriptions of its phones.
    #[must_use]
    pub fn numbers(&self) -> Range<u64> {
        FIRST..FIRST + u64::from(self.phones)
    }

    /// Starts phones, and a home that has their cards and so many before them. Captures go to a
    /// sink of theirs where `captures` says so.
    ///
    /// # Errors
    /// When a port cannot be bound: raw sockets need `CAP_NET_RAW`.
    pub fn load(&self, ladder: Ladder, more: u64, captures: bool) -> anyhow::Result<Load> {
        let count = self.phones.div_ceil(PHONES_OF_ADDRESS).max(1);
        let clear = (0..count).map(|at| SocketAddr::new(address(10 + at as u8), CLEAR_PORT));
        let around = Around {
            phones: clear.collect(),
            pcscf: self.topology.access,
            server_port: self.ports[0],
            core: self.topology.answerer,
            capture: captures.then_some(self.topology.capture),
            udp_runs: self.topology.udp_runs,
        };
        around.load(ladder, self.phones, more)
    }

    /// The text of a site with one SSC of one shard: P-CSCF of these phones. It captures where
    /// `captures` says so.
    ///
    /// # Errors
    /// Never in a tree whose tests pass: the site file has no access realm.
    pub fn site(&self, captures: bool) -> anyhow::Result<String> {
        let capture = format!("capture = \"tcp:{}\"", self.topology.capture);
        let ssc = if captures { capture.as_str() } else { "" };
        let limits = format!("{LIMITS}\nbindings_max = 2000000");
        let shape = Shape { oam: "metrics_open = true", ssc, limits: &limits };
        let text = site(&self.topology, &shape).with(REGISTRAR).text();
        let [server, one, other, in_udp] = self.ports;
        let section = format!(
            "register_required = true\nipsec = {{ server_port = {server}, client_ports = [{one}, \
            {other}], encapsulation_port = {in_udp}{} }}\n",
            self.limits
        );
        let side = "side = \"access\"\n";
        anyhow::ensure!(text.contains(side), "the site file has no access realm");
        Ok(text.replacen(side, &format!("{side}{section}"), 1))
    }

    /// Starts that site.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn system(&self, binary: &Path, captures: bool) -> anyhow::Result<System> {
        let text = self.site(captures)?;
        let text = if captures { text.replacen("[site]\n", &memory(), 1) } else { text };
        System::of(&self.topology, binary, &text)
    }
}

/// What phones have around them.
#[derive(Debug)]
pub struct Around {
    /// Their addresses, with the port in the clear.
    pub phones: Vec<SocketAddr>,
    /// The P-CSCF, and its protected server port.
    pub pcscf: SocketAddr,
    pub server_port: u16,
    /// Where home and answerer are.
    pub core: SocketAddr,
    /// Where captures go, to be thrown away.
    pub capture: Option<SocketAddr>,
    /// Whether datagrams in the clear travel in runs.
    pub udp_runs: bool,
}

impl Around {
    /// Starts so many phones, and a home that has their cards and so many before them.
    ///
    /// # Errors
    /// When a port cannot be bound.
    pub fn load(self, ladder: Ladder, phones: u32, more: u64) -> anyhow::Result<Load> {
        let stations: Vec<Station> = (0u16..)
            .zip(&self.phones)
            .map(|(at, clear)| Station {
                clear: *clear,
                clear_port: PortId(FIRST_CALLER + 2 * at),
                raw: PortId(FIRST_CALLER + 2 * at + 1),
            })
            .collect();
        let ports = self.ports(&stations);
        let ladder = Arc::new(ladder);
        let config = PhonesConfig {
            fleet: FleetConfig {
                stations,
                phones,
                first: FIRST,
                pcscf: self.pcscf,
                preference: Preference { modes: vec![Mode::Transport], ..Preference::usual() },
                expires_s: EXPIRES_S,
                seed: 1,
            },
            server_port: self.server_port,
            cards: FIRST.saturating_sub(more)..FIRST + u64::from(phones),
            core: (ANSWERER, self.core),
            ladder: Arc::clone(&ladder),
            capture: self.capture.map(|_| CAPTURE),
        };
        let (_, core) = Topology::cores();
        let name = "phones".to_owned();
        let spec = ShardSpec { name, cores: vec![core], ports, ..ShardSpec::default() };
        Ok(Load::of(Runs::Phones(Phones::launch(spec, Arc::new(config))?), ladder))
    }

    fn ports(&self, stations: &[Station]) -> Vec<PortSpec> {
        let port = |id, name: &str, listen, carrier| {
            let name = name.to_owned();
            PortSpec { id, name, listen, carrier, ..PortSpec::default() }
        };
        let udp = Carrier::Udp { whole: false, runs: self.udp_runs };
        let raw = Carrier::Raw { protocol: ipsec::PROTOCOL, bypass: false };
        let mut ports = vec![port(ANSWERER, "core", self.core, udp.clone())];
        let sink = || Carrier::Stream(StreamSpec::default());
        ports.extend(self.capture.map(|at| port(CAPTURE, "capture", at, sink())));
        for it in stations {
            let address = SocketAddr::new(it.clear.ip(), 0);
            ports.push(port(it.clear_port, "phones", it.clear, udp.clone()));
            ports.push(port(it.raw, "phones, esp", address, raw.clone()));
        }
        ports
    }
}

fn memory() -> String {
    format!("[site]\n{MEMORY}")
}

/// An address of the loopback that is this process's own.
fn address(last: u8) -> IpAddr {
    let own = std::process::id();
    let [.., high, low] = own.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, 128 | (high & 0x7f), low.max(1), last))
}

/// Phones in a trial.
impl Load {
    /// What phones have done so far.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn phones(&self) -> anyhow::Result<Report> {
        self.ask(Ask { path: "phones".into(), ..Ask::default() })
    }

    /// Has phones act and leaves them to it.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn begin_phones(&self, act: Act, trial: &Trial) -> anyhow::Result<()> {
        self.ask(act.ask(trial)).map(drop)
    }

    /// Has phones act to the end; what is not answered `drain` after the last one is a failure.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn run_phones(&self, act: Act, trial: &Trial, drain: Duration) -> anyhow::Result<Report> {
        self.begin_phones(act, trial)?;
        std::thread::sleep(trial.length);
        self.phones_ended(drain)
    }

    /// Waits until phones have acted; what is not answered until then is a failure.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn phones_ended(&self, drain: Duration) -> anyhow::Result<Report> {
        let until = Instant::now() + drain;
        while Instant::now() < until {
            let report = self.phones()?;
            if !report.running {
                return Ok(report);
            }
            std::thread::sleep(POLL);
        }
        self.ask(Ask { path: "phones/abandon".into(), ..Ask::default() })
    }

    /// The next `count` phones attach, each once, slowly enough for every system.
    ///
    /// # Errors
    /// When they cannot.
    pub fn attach(&self, count: u32) -> anyhow::Result<Report> {
        let mut last = String::new();
        for rate in ATTACH_RATES {
            let length = Duration::from_secs_f64((f64::from(count) - 0.5).max(0.5) / rate);
            let trial = Trial { rate, length, ..Trial::default() };
            let report = self.run_phones(Act::Attach, &trial, DRAIN)?;
            if report.failed() == 0 && report.completed == u64::from(count) {
                return Ok(report);
            }
            last = report.examples.first().cloned().unwrap_or_default();
        }
        anyhow::bail!("{count} phones cannot attach: {last}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_of_phones_has_one_realm_with_ipsec_and_addresses_of_its_own() {
        let ims = ImsGround::new(10).unwrap();
        let text = ims.site(true).unwrap();
        assert_eq!(text.matches("ipsec = {").count(), 1);
        assert!(text.contains("capture = ") && !ims.site(false).unwrap().contains("capture = "));
        assert!(ims.topology.access.ip().is_loopback() && address(1) != address(2));
        assert_eq!(ims.numbers(), FIRST..FIRST + 10);
    }
}
