//! The report's two nodes: a gateway at each point code with an application, and what leads from
//! one to the other.

use super::flow::{Answers, Counts, Heard, subscribers};
use application::{Address, Program};
use peers::Usage;
use report::scratch::Scratch;
use report::site::{self, Site};
use report::site_file::SiteFile;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tcu::Hello;

/// The point codes of who asks and who answers.
pub(super) const NEAR: u32 = 4;
pub(super) const FAR: u32 = 3;
/// The application of who asks, and its subsystem.
pub(super) const NAME: &str = "asks";
pub(super) const ASKS: u8 = 8;
/// For the association to be there.
const UP: Duration = Duration::from_secs(20);

/// What carries M3UA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carrier {
    /// Our SCTP in UDP, with the report's parameters.
    Sctp,
    /// As jSS7 does here.
    Tcp,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answering {
    /// An application in the lab's process.
    Apart,
    /// Services inside the gateway.
    Inside,
}

/// Both gateways; they and the application that answers end with it.
pub(super) struct Nodes {
    near: Site,
    far: Site,
    directory: PathBuf,
    answering: Answering,
    heard: Arc<Heard>,
    _scratch: Scratch,
}

/// What both have used: the one that asks first.
pub(super) type Used = [Usage; 2];

impl Nodes {
    /// Starts them, and waits until dialogues can pass.
    pub(super) fn start(
        tandem: &Path,
        carrier: Carrier,
        answering: Answering,
    ) -> anyhow::Result<Self> {
        Self::start_with(tandem, carrier, answering, "", &[])
    }

    /// The same with keys more of who asks, and files that these name.
    pub(super) fn start_with(
        tandem: &Path,
        carrier: Carrier,
        answering: Answering,
        near: &str,
        files: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let here = [127, 0, 0, 1].into();
        let port = peers::free_port(here)?;
        let udp = [peers::free_port(here)?, peers::free_port(here)?];
        let start = |name: &str, is_far: bool| -> anyhow::Result<Site> {
            let directory = scratch.path().join(name);
            std::fs::create_dir_all(directory.join("var"))?;
            let own = [(SUBSCRIBERS, subscribers())];
            for (name, text) in own.iter().chain(files) {
                std::fs::write(directory.join("var").join(name), text)?;
            }
            let api = site::address(here, 9_080)?;
            let mut spec = Site::spec(tandem, &directory);
            spec.core = Some(core(is_far));
            let text = SiteFile::new(name, &directory, api);
            let served = match (is_far, answering) {
                (false, _) => applications(ASKING),
                (true, Answering::Apart) => applications(ANSWERING),
                (true, Answering::Inside) => services(ANSWERING),
            };
            let more = if is_far { "" } else { near };
            let text = text.with(gateway(is_far, carrier, port, udp, more) + &served).text();
            Site::start(&spec, &text, api)
        };
        let (far, near) = (start("far", true)?, start("near", false)?);
        let (directory, heard) = (scratch.path().to_owned(), Arc::default());
        let nodes = Self { near, far, directory, answering, heard, _scratch: scratch };
        for (application, _) in ANSWERING.iter().filter(|_| answering == Answering::Apart) {
            nodes.answer(application);
        }
        nodes.wait()?;
        Ok(nodes)
    }

    /// Where who asks connects.
    pub(super) fn socket(&self) -> PathBuf {
        self.directory.join("near/var/asks.sock")
    }

    /// The one of who asks, and its directory.
    pub(super) const fn near(&self) -> &Site {
        &self.near
    }

    pub(super) fn near_directory(&self) -> PathBuf {
        self.directory.join("near")
    }

    /// What both have used so far.
    pub(super) fn used(&self) -> Used {
        [self.near.usage(), self.far.usage()]
    }

    /// What who answers has counted so far. Services inside count operations alone, and what they
    /// answered by an error.
    pub(super) fn heard(&self) -> Counts {
        let counter = |name| self.far.counter(name).unwrap_or_default();
        match self.answering {
            Answering::Apart => self.heard.counts(),
            Answering::Inside => Counts {
                answered: counter("sgc_operation_asked_there_total"),
                wrong: counter("sgc_failures_said_here_total"),
                ..Counts::default()
            },
        }
    }

    /// What who answers should count of what who asks has.
    pub(super) const fn should_hear(&self, said: Counts) -> Counts {
        match self.answering {
            Answering::Apart => said,
            Answering::Inside => Counts {
                answered: said.answered + said.reported + said.released,
                reported: 0,
                released: 0,
                wrong: said.wrong,
            },
        }
    }

    /// An application that answers, until its gateway ends; it shares the core of the gateway.
    fn answer(&self, name: &'static str) {
        let socket = self.directory.join(format!("far/var/{name}.sock"));
        let heard = Arc::clone(&self.heard);
        std::thread::spawn(move || {
            if let Err(why) = peers::pin(core(true)) {
                return why;
            }
            let mut program = Program::new(Hello::new(name, "", "lab"));
            program.run(&Address::Unix(socket), &mut Answers(heard)).into()
        });
    }

    fn wait(&self) -> anyhow::Result<()> {
        let until = Instant::now() + UP;
        loop {
            let is_up =
                [(&self.near, "near"), (&self.far, "far")].into_iter().all(|(site, name)| {
                    let path = format!("functions/{name}/m3ua/asps");
                    site.get(&path).unwrap_or_default().to_string().contains("\"active\"")
                });
            if is_up {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < until, "the association does not come");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The core of a gateway and of its application, as jSS7 has both in one process.
pub(super) fn core(is_far: bool) -> usize {
    usize::from(is_far).min(report::host::cores() - 1)
}

/// An end of our SCTP, in UDP.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sctp {
    pub(super) port: u16,
    pub(super) udp: u16,
}

impl Sctp {
    /// Its section, with the report's parameters.
    pub(super) fn section(self) -> String {
        let Self { port, udp } = self;
        format!(
            "[sgc.sctp]\naddresses = [\"127.0.0.1\"]\nencapsulation_port = {udp}\n\
             port = {port}\n[sgc.sctp.parameters]\nrto_min_ms = 80\nsack_delay_ms = 70\n\
             send_buffer_bytes = 2048000\nreceive_buffer_bytes = 2048000\n"
        )
    }
}

/// An application, and the number of its subsystem.
pub(super) type Served = (&'static str, u8);

/// Those of who asks.
pub(super) const ASKING: &[Served] = &[(NAME, ASKS)];
/// Those of who answers: an HLR and a gsmSCF.
pub(super) const ANSWERING: &[Served] = &[("hlr", 6), ("scf", 146)];
/// The file of the HLR inside.
const SUBSCRIBERS: &str = "subscribers.csv";

/// The subsystems, and how many dialogues there may be.
fn subsystems(all: &[Served]) -> String {
    let subsystems = all.iter().map(|(name, number)| {
        format!("[[sgc.subsystem]]\nname = \"{name}\"\nnumber = {number}\nuser = \"tcap\"\n")
    });
    let tcap = "[sgc.tcap]\ndialogues_max = 2000000\ndialogues_per_source_max = 2000000\n";
    subsystems.chain([tcap.to_owned()]).collect()
}

/// The same of services inside: an HLR of [`SUBSCRIBERS`], and a gsmSCF that monitors.
fn services(all: &[Served]) -> String {
    let service = |name: &str| match name {
        "hlr" => format!("service = \"hlr\"\nfile = \"{SUBSCRIBERS}\"\nallowed = [\"*\"]"),
        _ => "service = \"monitor\"".to_owned(),
    };
    let inside = all.iter().map(|(name, _)| {
        format!(
            "[[sgc.application]]\nname = \"{name}\"\nsubsystem = \"{name}\"\n{}\n\
             dialogues_max = 2000000\n",
            service(name),
        )
    });
    [subsystems(all)].into_iter().chain(inside).collect()
}

/// The sections of applications: queues and tables as wide as a load needs.
pub(super) fn applications(all: &[Served]) -> String {
    let listens = all.iter().map(|(name, _)| {
        format!(
            "[[sgc.application]]\nname = \"{name}\"\nsubsystem = \"{name}\"\n\
             listen = [\"unix:{name}.sock\"]\ndialogues_max = 2000000\n\
             queue_octets_max = 67108864\nheld_octets_max = 1073741824\nabsent = \"refused\"\n"
        )
    });
    [subsystems(all)].into_iter().chain(listens).collect()
}

/// The section of a gateway.
fn gateway(
    is_far: bool,
    carrier: Carrier,
    port: SocketAddr,
    udp: [SocketAddr; 2],
    more: &str,
) -> String {
    let (own, other) = if is_far { (FAR, NEAR) } else { (NEAR, FAR) };
    let (name, port) = (if is_far { "far" } else { "near" }, port.port());
    let [udp_own, udp_other] = if is_far { [udp[1], udp[0]] } else { udp };
    let (udp_own, udp_other) = (udp_own.port(), udp_other.port());
    let connect = if is_far { String::new() } else { format!(", port = {port}, connect = true") };
    let sctp = Sctp { port: if is_far { port } else { port + 1 }, udp: udp_own };
    let (transport, top, sections) = match carrier {
        Carrier::Tcp if is_far => {
            ("tcp", format!("tcp = {{ listen = [\"127.0.0.1:{port}\"] }}"), String::new())
        }
        Carrier::Tcp => ("tcp", String::new(), String::new()),
        Carrier::Sctp => ("sctp", String::new(), sctp.section()),
    };
    let connect = match carrier {
        Carrier::Sctp if !is_far => format!("{connect}, encapsulation_port = {udp_other}"),
        _ => connect,
    };
    format!(
        "\n[[sgc]]\nname = \"{name}\"\npoint_code_format = \"decimal\"\npoint_codes = [\"{own}\"]\n\
         timers = {{ reconnect_ms = 100 }}\n{top}\n{more}\
         peer = [{{ name = \"other\", role = \"ipsp\", transport = \"{transport}\", \
         addresses = [\"127.0.0.1\"]{connect} }}]\n\
         application_server = [{{ name = \"other\", peers = [\"other\"], routing_context = 10, \
         destination = [{{ point_code = \"{other}\" }}] }}]\n{sections}\n"
    )
}
