//! Site files of media and session controllers.

use report::site_file::SiteFile;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

/// More than any run fills.
const LIMITS: &str = "[ssc.limits]\ncalls_max = 4000000\nrelays_max = 4000000\n\
    transactions_max = 16000000";

/// A side of a media controller: its port, and addresses of it.
#[derive(Debug, Clone)]
pub struct MediaSide {
    /// The group, which its routing table is called after.
    pub name: &'static str,
    /// Lines of `[[msc.port]]` but for the name: the driver and what it wants.
    pub driver: String,
    /// The interface's own address, of a network of 256.
    pub own: Ipv4Addr,
    /// By whom phones are reached.
    pub gateway: Ipv4Addr,
    /// Addresses that ports are leased from.
    pub group: Vec<Ipv4Addr>,
}

/// A media controller with a forwarder of one worker.
#[derive(Debug, Clone)]
pub struct MediaSite {
    /// Of site and function.
    pub name: String,
    /// Where its API is.
    pub api: SocketAddr,
    /// Lines of `[[msc]]`: who speaks with it.
    pub lines: String,
    /// The worker's core.
    pub core: usize,
    /// Packets that the worker holds.
    pub packets: u32,
    /// The first and the last port of media.
    pub ports: (u16, u16),
    /// Access and core.
    pub sides: [MediaSide; 2],
}

impl MediaSite {
    /// The site file of one whose files are in `directory`.
    #[must_use]
    pub fn file(&self, directory: &Path) -> SiteFile {
        self.add(SiteFile::new(&self.name, directory, self.api))
    }

    /// Adds it to a site. Each side has a routing table of its own, as both have their phones
    /// behind a router.
    #[must_use]
    pub fn add(&self, site: SiteFile) -> SiteFile {
        let Self { name, lines, core, packets, ports, sides, .. } = self;
        let site = site
            .with(format_args!("\n[[msc]]\nname = \"{name}\"\n{lines}"))
            .with(format_args!("[msc.forwarder]\ncores = [{core}]\npackets = {packets}"));
        sides.iter().fold(site, |site, side| {
            let MediaSide { name, driver, own, gateway, group } = side;
            let group: Vec<_> = group.iter().map(|address| format!("\"{address}\"")).collect();
            site.with(format_args!("\n[[msc.vrf]]\nname = \"{name}\""))
                .with(format_args!("[[msc.port]]\nname = \"{name}\"\n{driver}"))
                .with(format_args!("[[msc.interface]]\nname = \"{name}\"\nvrf = \"{name}\""))
                .with(format_args!("addresses = [\"{own}/24\"]\ngateways = [\"{gateway}\"]"))
                .with(format_args!("[[msc.group]]\nname = \"{name}\"\nvrf = \"{name}\""))
                .with(format_args!("addresses = [{}]", group.join(", ")))
                .with(format_args!("ports = \"{}-{}\"", ports.0, ports.1))
        })
    }
}

/// A session controller that anchors all calls at media controllers.
#[derive(Debug, Clone)]
pub struct SessionSite {
    /// Where calls come in, go out to, and are answered.
    pub access: SocketAddr,
    /// Its address at the core.
    pub core: SocketAddr,
    /// The next hop.
    pub answerer: SocketAddr,
    /// Lines of `[[ssc]]`.
    pub lines: String,
    /// Lines of `[ssc.media]`.
    pub media: String,
    /// The media controllers: name, address, and further lines.
    pub controllers: Vec<(String, SocketAddr, String)>,
    /// How the access is protected: words of a realm's `media`.
    pub protection: &'static str,
}

impl SessionSite {
    /// Adds it to a site.
    #[must_use]
    pub fn add(&self, site: SiteFile) -> SiteFile {
        let Self { access, core, answerer, lines, media, controllers, protection } = self;
        let site = site.with(format_args!("\n[[ssc]]\nname = \"ssc\"\n{lines}\n{LIMITS}"));
        let site = site.with(format_args!("[ssc.media]\n{media}"));
        let site = controllers.iter().fold(site, |site, (name, address, more)| {
            site.with(format_args!("[[ssc.media.controller]]\nname = \"{name}\""))
                .with(format_args!("address = \"{address}\"\n{more}"))
        });
        site.realm("access", "access", &[format!("udp:{access}")])
            .with(format_args!("media = {{ anchor = true{protection} }}"))
            .realm("core", "core", &[format!("udp:{core}")])
            .with("trusted = true\nmedia = { anchor = true }")
            .next_hop("far-end", format_args!("udp:{answerer}"))
            .route("access", "far-end")
    }
}
