//! The report's nodes: gateways, each with a third of the subscribers, and the signalling gateway
//! that they and the SS7 network are applications of.

use anyhow::Context;
use peers::Usage;
use report::host;
use report::scratch::Scratch;
use report::site::{self, Site};
use report::site_file::SiteFile;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The domain of the subscribers.
pub(crate) const DOMAIN: &str = "ims.example.org";
/// The titles of the service centre and of the MSC.
pub(crate) const CENTRE: &str = "447800000009";
pub(crate) const MSC: &str = "447700000001";
/// Subsystems of the SS7 network; those of the gateways follow [`GATEWAY_SUBSYSTEM`].
pub(crate) const HLR_SUBSYSTEM: u8 = 6;
pub(crate) const CENTRE_SUBSYSTEM: u8 = 9;
pub(crate) const MSC_SUBSYSTEM: u8 = 10;
const GATEWAY_SUBSYSTEM: u8 = 20;
/// The title of a gateway, without the number of its node.
const GATEWAY: &str = "44770000009";
/// The translation type by which gateways find the HLR.
const HLR_TYPE: u8 = 9;
/// What numbers begin with, before that of the node, of those who get messages over IP and by
/// circuits alone.
const BY_IP: &str = "4477009";
const BY_CIRCUITS: &str = "4477008";
/// For links and stores to stand.
const UP: Duration = Duration::from_secs(30);

/// A subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subscriber {
    /// Whose node that is.
    pub node: usize,
    /// Messages go by an MSC.
    pub is_circuits: bool,
    pub number: u32,
}

impl Subscriber {
    /// The whole number.
    pub(crate) fn digits(&self) -> String {
        let begin = if self.is_circuits { BY_CIRCUITS } else { BY_IP };
        format!("{begin}{}{:06}", self.node, self.number)
    }
}

/// All of them; they end with it.
pub(crate) struct Nodes {
    gateways: Vec<Site>,
    signalling: Site,
    /// Where each gateway speaks SIP.
    pub sip: Vec<SocketAddr>,
    directory: PathBuf,
    _scratch: Scratch,
}

impl Nodes {
    /// Starts so many gateways; the S-CSCF is at `core`.
    pub(crate) fn start(tandem: &Path, count: usize, core: SocketAddr) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let here = [127, 0, 0, 1].into();
        let ports = |count: usize| -> anyhow::Result<Vec<SocketAddr>> {
            (0..count).map(|_| peers::free_port(here)).collect()
        };
        let (sip, links) = (ports(count)?, ports(count)?);
        let start = |name: &str, core: usize, sections: &str| -> anyhow::Result<Site> {
            let directory = scratch.path().join(name);
            let var = directory.join("var");
            fs::create_dir_all(&var)?;
            fs::write(var.join("link.key"), "0123456789abcdef\n")?;
            fs::set_permissions(var.join("link.key"), Permissions::from_mode(0o600))?;
            let api = site::address(here, 9_080)?;
            let mut spec = Site::spec(tandem, &directory);
            spec.core = Some(core.min(host::cores() - 1));
            let text = SiteFile::new(name, &directory, api).with(sections).text();
            Site::start(&spec, &text, api)
        };
        let signalling = start("stp", 0, &signalling(&links))?;
        let each = sip.iter().zip(&links).enumerate();
        let gateways = each.map(|(node, (sip, link))| {
            start(&format!("sms{node}"), 1, &gateway(node, *sip, *link, core))
        });
        let gateways = gateways.collect::<anyhow::Result<_>>()?;
        let directory = scratch.path().to_owned();
        Ok(Self { gateways, signalling, sip, directory, _scratch: scratch })
    }

    /// Where an application of the SS7 network connects.
    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        self.directory.join(format!("stp/var/{name}.sock"))
    }

    /// Until links and stores stand.
    pub(crate) fn wait(&self) -> anyhow::Result<()> {
        let until = Instant::now() + UP;
        loop {
            let has = |site: &Site, path: &str, word: &str| {
                let rows = site.get(&format!("functions/sms/{path}")).unwrap_or_default();
                rows.to_string().contains(word)
            };
            let stands =
                |it: &Site| has(it, "links", "\"standing\"") && has(it, "store", "\"open\"");
            if self.gateways.iter().all(stands) {
                return Ok(());
            }
            anyhow::ensure!(Instant::now() < until, "links do not stand: {}", self.logs());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn logs(&self) -> String {
        let all = self.gateways.iter().chain([&self.signalling]);
        all.map(Site::log_end).collect::<Vec<_>>().join("\n")
    }

    /// What each gateway has used so far, and the signalling gateway last.
    pub(crate) fn used(&self) -> Vec<Usage> {
        self.gateways.iter().chain([&self.signalling]).map(Site::usage).collect()
    }

    /// Messages of SIP and conditions of the first gateway that has any of these, for a failure.
    pub(crate) fn alarms(&self) -> anyhow::Result<String> {
        let mut found = String::new();
        for site in &self.gateways {
            let rows = site.get("alarms").context("alarms")?;
            if rows.as_array().is_some_and(|it| !it.is_empty()) {
                write!(found, "{rows}")?;
            }
        }
        Ok(found)
    }
}

/// The section of a gateway.
fn gateway(node: usize, sip: SocketAddr, link: SocketAddr, core: SocketAddr) -> String {
    let subsystem = usize::from(GATEWAY_SUBSYSTEM) + node;
    format!(
        "\n[[ipsmgw]]\nname = \"sms\"\nmode = \"gateway\"\nnumber = \"{GATEWAY}{node}\"\n\
         domain = \"{DOMAIN}\"\nlisten = [\"udp:{sip}\"]\nnext_hop = [{{ name = \"scscf\", \
         targets = [\"udp:{core}\"], probe_interval_s = 0 }}]\n\
         [[ipsmgw.link]]\nname = \"stp\"\naddress = \"tcp:{link}\"\n\
         application = \"sms{node}\"\nkey_file = \"link.key\"\n\
         [[ipsmgw.network]]\nname = \"ip\"\nnumbers = [\"{BY_IP}{node}\"]\n\
         hlr_translation_type = {HLR_TYPE}\ncentres = [\"4478\"]\n\
         [[ipsmgw.network]]\nname = \"circuits\"\nnumbers = [\"{BY_CIRCUITS}{node}\"]\n\
         hlr_translation_type = {HLR_TYPE}\ncentres = [\"4478\"]\ndelivery = \"cs-only\"\n\
         [ipsmgw.signalling]\nallowed = [\"4478\"]\ncorrelation_prefix = \"2341{node}\"\n\
         subsystem = {subsystem}\nhlr_subsystem = {HLR_SUBSYSTEM}\n\
         centre_subsystem = {CENTRE_SUBSYSTEM}\nmsc_subsystem = {MSC_SUBSYSTEM}\n"
    )
}

/// The section of the signalling gateway: applications of gateways, and of the SS7 network.
fn signalling(links: &[SocketAddr]) -> String {
    let mut text = "\n[[sgc]]\nname = \"stp\"\npoint_code_format = \"decimal\"\n\
        point_codes = [\"3\"]\n[sgc.tcap]\ndialogues_max = 2000000\n\
        dialogues_per_source_max = 2000000\n"
        .to_owned();
    let mut section = |name: &str, subsystem: usize, titles: &str, more: &str| {
        let written = write!(
            text,
            "[[sgc.subsystem]]\nname = \"{name}\"\nnumber = {subsystem}\nuser = \"tcap\"\n\
             [[sgc.application]]\nname = \"{name}\"\nsubsystem = \"{name}\"\n\
             titles = [{titles}]\ndialogues_max = 2000000\nqueue_octets_max = 67108864\n\
             held_octets_max = 1073741824\nabsent = \"refused\"\n{more}"
        );
        written.expect("a string takes everything");
    };
    let unix = |name: &str| format!("listen = [\"unix:{name}.sock\"]\n");
    for (name, subsystem, titles) in [
        ("hlr", HLR_SUBSYSTEM, ""),
        ("centre", CENTRE_SUBSYSTEM, "\"4478\""),
        ("msc", MSC_SUBSYSTEM, "\"447700000001\""),
    ] {
        section(name, subsystem.into(), titles, &unix(name));
    }
    for (node, link) in links.iter().enumerate() {
        let more = format!("listen = [\"tcp:{link}\"]\nkey_file = \"link.key\"\n");
        let subsystem = usize::from(GATEWAY_SUBSYSTEM) + node;
        section(&format!("sms{node}"), subsystem, &format!("\"{GATEWAY}{node}\""), &more);
    }
    let mut way = |name: &str, digits: &str, kind: u8, subsystem: usize| {
        let written = write!(
            text,
            "[[sgc.translation]]\nname = \"{name}\"\ndigits = \"{digits}\"\n\
             translation_type = {kind}\ntarget = [{{ subsystem = {subsystem} }}]\n"
        );
        written.expect("a string takes everything");
    };
    way("hlr", "44770", HLR_TYPE, HLR_SUBSYSTEM.into());
    way("centre", "4478", 0, CENTRE_SUBSYSTEM.into());
    way("msc", MSC, 0, MSC_SUBSYSTEM.into());
    for node in 0..links.len() {
        let subsystem = usize::from(GATEWAY_SUBSYSTEM) + node;
        for (name, begin) in [("own", GATEWAY), ("ip", BY_IP), ("circuits", BY_CIRCUITS)] {
            way(&format!("{name}{node}"), &format!("{begin}{node}"), 0, subsystem);
        }
    }
    text
}
