//! The signalling topology: the generator on one core, the system under test on another.
//!
//! ```text
//!   core 1: caller ──udp/tls──→ core 0: SSC or Kamailio ──udp──→ core 1: answerer
//!           capture sink ←──────tcp (HEP3)─── SSC
//! ```

use anyhow::Context;
use media_lab::{MediaSide, MediaSite};
use peers::{
    Duty, Kamailio, KamailioSpec, Ng, Rtpengine, RtpengineSpec, TlsFiles, Usage, free_port,
};
use report::host::cores;
use report::scratch::Scratch;
use report::site::Site;
use report::site_file::SiteFile;
use runtime::{Ask, Carrier, PortId, PortSpec, Running, ShardSpec, StreamSpec, TlsSpec, Transport};
use sip_load::{Endpoint, Generator, Ladder, LoadConfig, Phones, Report, Trial};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);
/// How often a trial that must hold is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Captures may lag behind the calls by this much.
const CAPTURES_MAX: Duration = Duration::from_millis(400);
/// Kept TLS connections that the callers share.
const TLS_CONNECTIONS: u16 = 16;
pub(crate) const ANSWERER: PortId = PortId(0);
pub(crate) const CAPTURE: PortId = PortId(1);
pub(crate) const FIRST_CALLER: u16 = 2;

/// More than any run fills.
pub(crate) const LIMITS: &str = "calls_max = 4000000\nrelays_max = 4000000\n\
    transactions_max = 16000000\ncapture_octets_max = 67108864";

/// Taken ahead: a short trial would measure how fast the machine hands out memory.
pub const MEMORY: &str = "memory_mb = 1024\n";

/// Ports of so many calls as stand at once or stood a second ago: the pairs that a shard has at
/// hand and at most, and the second that they rest.
const ANCHORED: &str = "pairs_min = 65536\npairs_max = 1048576\nquarantine_s = 1";
const LEASED_MIN: u64 = 65_536;
const STREAMS: &str = "{ streams_max = 1000000, stream_octets_max = 2147483647 }";
/// Addresses of each side, each with these ports.
const ADDRESSES: u8 = 16;
const PORTS_FIRST: u16 = 10_000;
const PORTS_LAST: u16 = 64_999;
/// Where the peer's media would be: of the loopback, and nobody else's.
const PEERS_MEDIA: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Time for media controllers to come up and give ports.
const READY_MAX: Duration = Duration::from_secs(10);

/// Addresses and files of one run.
#[derive(Debug)]
pub struct Topology {
    /// Where the system under test takes calls over UDP.
    pub access: SocketAddr,
    /// The same over TLS.
    pub access_tls: SocketAddr,
    /// Where it speaks to the core, if that is another address.
    pub core: SocketAddr,
    /// Where calls come from, if that shall be a certain port.
    pub caller: Option<SocketAddr>,
    /// Where calls are answered.
    pub answerer: SocketAddr,
    /// Where captures go.
    pub capture: SocketAddr,
    /// The site's API.
    pub api: SocketAddr,
    /// Whether runs of datagrams travel as one, at the generator's ends and the SSC's.
    pub udp_runs: bool,
    /// Certificate and key of the system under test; the certificate is its own authority.
    pub tls: TlsFiles,
    directory: Scratch,
}

impl Topology {
    /// Chooses ports of 127.0.0.1 and makes a certificate.
    ///
    /// # Errors
    /// When there is no free port or no room for files.
    pub fn new() -> anyhow::Result<Self> {
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        let directory = Scratch::new("tandem-lab-")?;
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let certificate = directory.path().join("certificate.pem");
        let key = directory.path().join("key.pem");
        fs::write(&certificate, made.cert.pem())?;
        fs::write(&key, made.signing_key.serialize_pem())?;
        Ok(Self {
            access: free_port(local)?,
            access_tls: free_port(local)?,
            core: free_port(local)?,
            caller: None,
            answerer: free_port(local)?,
            capture: free_port(local)?,
            api: free_port(local)?,
            udp_runs: true,
            tls: TlsFiles { certificate, key },
            directory,
        })
    }

    /// Where files may be kept until the run ends.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Kamailio in the place of the system under test.
    #[must_use]
    pub fn kamailio(&self, tls: bool) -> KamailioSpec {
        KamailioSpec {
            tls: tls.then(|| (self.access_tls, self.tls.clone())),
            core: Some(Self::cores().0),
            ..KamailioSpec::new(self.access, self.answerer)
        }
    }

    /// How the generator's ends speak to the system under test.
    #[must_use]
    pub fn outward(&self, transport: Transport) -> Carrier {
        let trust = TlsSpec {
            roots: Some(self.tls.certificate.clone()),
            peer_name: Some("127.0.0.1".into()),
            ..TlsSpec::default()
        };
        let tls = Some(Arc::new(trust));
        let stream = StreamSpec { tls, connect_only: true, ..StreamSpec::default() };
        Carrier::of(transport, self.udp_runs, stream)
    }

    /// The core of the system under test, and that of the generator.
    #[must_use]
    pub fn cores() -> (usize, usize) {
        (0, 1.min(cores() - 1))
    }
}

/// What runs on the generator's core.
pub enum Runs {
    /// Callers and answerers.
    Calls(Running<Generator>),
    /// Phones of IMS, their home, their calls and who answers those.
    Phones(Running<Phones>),
}

impl Runs {
    fn ask(&self, ask: Ask) -> anyhow::Result<serde_json::Value> {
        let answer = match self {
            Self::Calls(running) => running.ask(ask),
            Self::Phones(running) => running.ask(ask),
        };
        answer.context("the generator does not answer")
    }
}

/// The generator on its core.
pub struct Load {
    runs: Runs,
    ladder: Arc<Ladder>,
}

impl Load {
    /// Starts it. `transport` is that of the callers.
    ///
    /// # Errors
    /// When a port cannot be bound.
    pub fn start(
        topology: &Topology,
        ladder: Ladder,
        transport: Transport,
    ) -> anyhow::Result<Self> {
        let sink = PortSpec {
            id: CAPTURE,
            name: "capture".into(),
            listen: topology.capture,
            carrier: Carrier::Stream(StreamSpec::default()),
            ..PortSpec::default()
        };
        Self::start_with(topology, ladder, transport, Some(sink))
    }

    /// Starts it where captures go elsewhere: to a SAS.
    ///
    /// # Errors
    /// When a port cannot be bound.
    pub fn start_without_sink(
        topology: &Topology,
        ladder: Ladder,
        transport: Transport,
    ) -> anyhow::Result<Self> {
        Self::start_with(topology, ladder, transport, None)
    }

    fn start_with(
        topology: &Topology,
        ladder: Ladder,
        transport: Transport,
        sink: Option<PortSpec>,
    ) -> anyhow::Result<Self> {
        let local = topology.answerer.ip();
        let capture = sink.as_ref().map(|sink| sink.id);
        let mut ports = vec![PortSpec {
            id: ANSWERER,
            name: "answerer".into(),
            listen: topology.answerer,
            carrier: topology.outward(Transport::Udp),
            ..PortSpec::default()
        }];
        ports.extend(sink);
        let count = if transport == Transport::Udp { 1 } else { TLS_CONNECTIONS };
        let remote =
            if transport == Transport::Tls { topology.access_tls } else { topology.access };
        let mut callers = Vec::new();
        for number in 0..count {
            let id = PortId(FIRST_CALLER + number);
            let address = match topology.caller {
                Some(caller) if number == 0 => caller,
                _ => free_port(local)?,
            };
            ports.push(PortSpec {
                id,
                name: "caller".into(),
                listen: address,
                carrier: topology.outward(transport),
                ..PortSpec::default()
            });
            callers.push(Endpoint { port: id, transport, local: address, remote });
        }
        let answerer = Endpoint {
            port: ANSWERER,
            transport: Transport::Udp,
            local: topology.answerer,
            remote: topology.answerer,
        };
        let config = LoadConfig {
            ladder: Arc::new(ladder),
            callers,
            answerers: vec![answerer],
            capture,
            descriptions: None,
        };
        let (_, core) = Topology::cores();
        let spec =
            ShardSpec { name: "load".into(), cores: vec![core], ports, ..Default::default() };
        let ladder = Arc::clone(&config.ladder);
        Ok(Self::of(Runs::Calls(Generator::launch(spec, Arc::new(config))?), ladder))
    }

    /// What runs, whose calls follow this flow.
    pub(crate) const fn of(runs: Runs, ladder: Arc<Ladder>) -> Self {
        Self { runs, ladder }
    }

    /// What happened so far.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn report(&self) -> anyhow::Result<Report> {
        self.ask(Ask { path: "trial".into(), ..Ask::default() })
    }

    /// The Call-IDs of every call placed so far, in all trials.
    ///
    /// # Errors
    /// When the calls went through several endpoints, or the generator does not answer.
    pub fn call_ids(&self) -> anyhow::Result<Vec<String>> {
        let answer = self.runs.ask(Ask { path: "call-ids".into(), ..Ask::default() })?;
        Ok(serde_json::from_value(answer)?)
    }

    pub(crate) fn ask(&self, ask: Ask) -> anyhow::Result<Report> {
        Ok(serde_json::from_value(self.runs.ask(ask)?)?)
    }

    /// Runs one trial to its end; `drain` after the last call was due to end, what still runs is
    /// a failure. `captures` are those of each call that the sink waits for a moment longer.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn run(&self, trial: Trial, drain: Duration, captures: u64) -> anyhow::Result<Report> {
        self.ask(trial.ask())?;
        std::thread::sleep(trial.length);
        self.finish(Instant::now() + trial.hold + drain, captures)
    }

    /// The same, but the first failed or refused call ends the trial: what is left over is
    /// forgotten and counts neither as completed nor as failed.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn run_while_held(
        &self,
        trial: Trial,
        drain: Duration,
        captures: u64,
    ) -> anyhow::Result<Report> {
        self.ask(trial.ask())?;
        let placed = Instant::now() + trial.length;
        while Instant::now() < placed {
            let report = self.report()?;
            if report.failed() + report.refused() > 0 {
                self.ask(Ask { path: "trial/abandon".into(), ..Ask::default() })?;
                return Ok(report);
            }
            std::thread::sleep(LOOK.min(placed.saturating_duration_since(Instant::now())));
        }
        self.finish(placed + trial.hold + drain, captures)
    }

    /// Waits until the calls of a trial have ended, at most until then.
    fn finish(&self, until: Instant, captures: u64) -> anyhow::Result<Report> {
        while Instant::now() < until {
            let report = self.report()?;
            if !report.running {
                return self.captured(report, captures);
            }
            std::thread::sleep(POLL);
        }
        self.ask(Ask { path: "trial/abandon".into(), ..Ask::default() })
    }

    /// Starts a trial and leaves it running.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn begin(&self, trial: Trial) -> anyhow::Result<()> {
        self.ask(trial.ask()).map(drop)
    }

    /// Releases the calls that stand, `rate` per second.
    ///
    /// # Errors
    /// When the generator's shard does not answer.
    pub fn release(&self, rate: f64) -> anyhow::Result<()> {
        let params = [("rate".to_owned(), rate.to_string())].into();
        self.ask(Ask { path: "trial/release".into(), params }).map(drop)
    }

    /// The report once all captures of its calls have come, or no more come.
    fn captured(&self, mut report: Report, captures: u64) -> anyhow::Result<Report> {
        let until = Instant::now() + CAPTURES_MAX;
        while report.captured < captures * report.started && Instant::now() < until {
            std::thread::sleep(POLL);
            report = self.report()?;
        }
        Ok(report)
    }

    /// The flow of its calls.
    #[must_use]
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }
}

/// A system under test.
#[derive(Debug)]
pub enum System {
    /// Tandem's SSC in a site of its own.
    Tandem(Site),
    /// The peer.
    Kamailio(Kamailio),
    /// The peer, with the rtpengine that anchors its media.
    Anchored(Kamailio, Rtpengine),
}

impl System {
    /// Starts a site with one SSC of one shard, capture on.
    ///
    /// # Errors
    /// When the binary does not come up.
    pub fn tandem(topology: &Topology, binary: &Path) -> anyhow::Result<Self> {
        Self::tandem_with(topology, binary, &[])
    }

    /// The same; in the site file each text is replaced by the other one.
    ///
    /// # Errors
    /// When a text does not stand in the site file, or the binary does not come up.
    pub fn tandem_with(
        topology: &Topology,
        binary: &Path,
        changes: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let capture = format!("capture = \"tcp:{}\"", topology.capture);
        let shape = Shape { ssc: &capture, limits: LIMITS, ..Shape::default() };
        let mut text = site(topology, &shape).text();
        text = text.replacen("[site]\n", &format!("[site]\n{MEMORY}"), 1);
        for (from, to) in changes {
            anyhow::ensure!(text.contains(from), "the site file does not hold `{from}`");
            text = text.replacen(from, to, 1);
        }
        Self::of(topology, binary, &text)
    }

    /// Starts the site of this text on the core of the system under test.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn of(topology: &Topology, binary: &Path, text: &str) -> anyhow::Result<Self> {
        let mut spec = Site::spec(binary, topology.directory());
        spec.core = Some(Topology::cores().0);
        Ok(Self::Tandem(Site::start(&spec, text, topology.api)?))
    }

    /// Starts Kamailio, one worker a socket.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn kamailio(topology: &Topology, tls: bool) -> anyhow::Result<Self> {
        Self::kamailio_with(topology, tls, Duty::None)
    }

    /// The same with a duty beside forwarding.
    ///
    /// # Errors
    /// When it is not installed or does not come up.
    pub fn kamailio_with(topology: &Topology, tls: bool, duty: Duty) -> anyhow::Result<Self> {
        let spec = KamailioSpec { duty, ..topology.kamailio(tls) };
        Ok(Self::Kamailio(Kamailio::start(&spec, topology.directory())?))
    }

    /// Starts a site with one SSC of one shard, capture on, that anchors all media at the media
    /// controller of the same site and core. Nobody sends packets.
    ///
    /// # Errors
    /// When the binary does not come up.
    pub fn tandem_anchored(topology: &Topology, binary: &Path) -> anyhow::Result<Self> {
        let capture = format!("capture = \"tcp:{}\"", topology.capture);
        let shape = Shape { ssc: &capture, limits: LIMITS, ..Shape::default() };
        let control = free_port(topology.access.ip())?;
        let file = media(topology, control).add(site(topology, &shape));
        let mut text = file.text();
        let controller = format!(
            "[ssc.media]\n{ANCHORED}\n[[ssc.media.controller]]\nname = \"msc\"\n\
            address = \"{control}\"\n[ssc.limits]\n"
        );
        let anchor = |side: &str| {
            let side = format!("side = \"{side}\"\n");
            (side.clone(), format!("{side}media = {{ anchor = true }}\n"))
        };
        let memory = ("[site]\n".to_owned(), format!("[site]\n{MEMORY}"));
        let limits = ("[ssc.limits]\n".to_owned(), controller);
        for (from, to) in [memory, limits, anchor("access"), anchor("core")] {
            anyhow::ensure!(text.contains(&from), "the site file does not hold `{from}`");
            text = text.replacen(&from, &to, 1);
        }
        let system = Self::of(topology, binary, &text)?;
        if let Self::Tandem(site) = &system {
            until_leased(site)?;
        }
        Ok(system)
    }

    /// Starts Kamailio, one worker a socket, and an rtpengine on the same core.
    ///
    /// # Errors
    /// When one of them is not installed or does not come up.
    pub fn kamailio_anchored(topology: &Topology) -> anyhow::Result<Self> {
        let ng = free_port(topology.access.ip())?;
        let spec = RtpengineSpec {
            interfaces: vec![("media".into(), PEERS_MEDIA)],
            ng,
            ports: (PORTS_FIRST, PORTS_LAST),
            core: Some(Topology::cores().0),
            namespace: None,
        };
        let rtpengine = Rtpengine::start(&spec, topology.directory())?;
        anyhow::ensure!(Ng::new(ng)?.is_there(READY_MAX), "rtpengine takes no commands");
        let spec = KamailioSpec { duty: Duty::Anchor(ng), ..topology.kamailio(false) };
        let kamailio = Kamailio::start(&spec, topology.directory())?;
        Ok(Self::Anchored(kamailio, rtpengine))
    }

    /// Name and version.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Tandem(_) => format!("tandem {}", env!("CARGO_PKG_VERSION")),
            Self::Kamailio(kamailio) => kamailio.version.clone(),
            Self::Anchored(kamailio, media) => {
                format!("{} with {}", kamailio.version, media.version)
            }
        }
    }

    /// What it has used so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        match self {
            Self::Tandem(site) => site.usage(),
            Self::Kamailio(kamailio) => kamailio.usage(),
            Self::Anchored(kamailio, media) => {
                let (one, other) = (kamailio.usage(), media.usage());
                let resident_bytes = one.resident_bytes + other.resident_bytes;
                Usage { cpu: one.cpu + other.cpu, resident_bytes }
            }
        }
    }

    /// Captured messages that each call of a flow makes: both legs, but the SSC's own 100 and the
    /// answerer's are one.
    #[must_use]
    pub fn captures(&self, ladder: &Ladder) -> u64 {
        match self {
            Self::Tandem(_) => 2 * ladder.messages() as u64 - 1,
            Self::Kamailio(_) | Self::Anchored(..) => 0,
        }
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log_end(&self) -> String {
        match self {
            Self::Tandem(site) => site.log_end(),
            Self::Kamailio(kamailio) => kamailio.log_end(),
            Self::Anchored(kamailio, media) => kamailio.log_end() + &media.log_end(),
        }
    }
}

/// A media controller whose ports nobody is at the other end of.
fn media(topology: &Topology, control: SocketAddr) -> MediaSite {
    let side = |name: &'static str, net: u8| {
        let socket = topology.directory().join(name);
        let own = Ipv4Addr::new(10, 199, net, 1);
        let group = (1..=ADDRESSES).map(|at| Ipv4Addr::new(10, 199, net, 15 + at)).collect();
        let driver = format!("driver = \"memif\"\nsocket = {socket:?}\nmaster = true");
        MediaSide { name, driver, own, gateway: Ipv4Addr::new(10, 199, net, 2), group }
    };
    let (core, _) = Topology::cores();
    MediaSite {
        name: "msc".to_owned(),
        api: topology.api,
        lines: format!("listen = \"{control}\"\ncores = [{core}]\nlimits = {STREAMS}"),
        core,
        packets: 1_024,
        ports: (PORTS_FIRST, PORTS_LAST),
        sides: [side("access", 1), side("core", 2)],
    }
}

/// Waits until a session controller has ports on both sides.
fn until_leased(site: &Site) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let media = site.get("functions/msc/media")?;
        let leases = media[0]["leases"].as_array().into_iter().flatten();
        let many = |lease: &&serde_json::Value| lease["leased"].as_u64() >= Some(LEASED_MIN);
        if leases.filter(many).count() >= 2 {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < READY_MAX, "too few ports are leased: {media}");
        std::thread::sleep(POLL);
    }
}

/// What differs between the sites of the experiments: lines of `[oam]`, of `[[ssc]]` and of
/// `[ssc.limits]`.
#[derive(Debug, Default)]
pub struct Shape<'a> {
    /// Lines of `[oam]`.
    pub oam: &'a str,
    /// Lines of `[[ssc]]`.
    pub ssc: &'a str,
    /// Lines of `[ssc.limits]`.
    pub limits: &'a str,
}

/// A site with one SSC of one shard between subscribers and one far end.
#[must_use]
pub fn site(topology: &Topology, shape: &Shape<'_>) -> SiteFile {
    let Topology { access, access_tls, core, answerer, api, udp_runs, .. } = topology;
    let TlsFiles { certificate, key } = &topology.tls;
    let (under_test, _) = Topology::cores();
    SiteFile::new("lab", topology.directory(), *api)
        .with(shape.oam)
        .with(format_args!("[[ssc]]\nname = \"ssc\"\ncores = [{under_test}]"))
        .with(format_args!("udp_runs = {udp_runs}\n{}", shape.ssc))
        .with(format_args!("[ssc.limits]\n{}", shape.limits))
        .realm("access", "access", &[format!("udp:{access}"), format!("tls:{access_tls}")])
        .with(format_args!("tls = {{ certificate = {certificate:?}, key = {key:?} }}"))
        .realm("core", "core", &[format!("udp:{core}")])
        .with("trusted = true")
        .next_hop("far-end", format_args!("udp:{answerer}"))
        .route("access", "far-end")
}
