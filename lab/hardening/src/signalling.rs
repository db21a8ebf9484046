//! Attacks on a signalling gateway, beside MSUs: an ASP over TCP on one side, an echo behind SCTP
//! in UDP on the other.
//!
//! ```text
//!   this process ──tcp──→ west 127.0.0.11 ──sctp/udp── east 127.0.0.21: every MSU comes back
//!                          ↑ INIT from 127.66.0.x that names 127.0.0.21; INITs alone; another
//!                            ASP in our name; connections from our address
//! ```

use super::good::Served;
use super::raid::{Bench, Found, LOCAL, Raid, Target};
use failover::{Asp, ECHOED};
use peers::free_port;
use report::scratch::Scratch;
use report::site::Site;
use report::site_file::SiteFile;
use serde_json::json;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const WEST: &str = "127.0.0.11";
const EAST: &str = "127.0.0.21";
/// MSUs a second, and the last one's time to come back.
const MSUS: f64 = 500.0;
const DRAIN: Duration = Duration::from_secs(1);
/// Time for everything to stand.
const UP_MAX: Duration = Duration::from_secs(20);
/// An ASP that may be there, and does harm.
const STRANGE: &str = "127.66.0.1";
/// Hosts that greet and never come back.
const MANY: &str = "127.66.0.0/16";
/// What the attackers send a second.
const INIT_RATE: u32 = 20;
const FLOOD_RATE: u32 = 20_000;
const MSU_RATE: u32 = 20_000;
const CLAIM_RATE: u32 = 500;

fn west(site: SiteFile, tcp: SocketAddr, udp: u16) -> String {
    let tcp = format!(
        "\n[[sgc]]\nname = \"west\"\npoint_code_format = \"decimal\"\n\
        tcp = {{ listen = [\"{tcp}\"] }}"
    );
    site.with(tcp)
        .with("peer = [")
        .with("{ name = \"a\", role = \"asp\", transport = \"tcp\", addresses = [\"127.0.0.1\"] },")
        .with(format_args!("{{ name = \"east\", role = \"asp\", addresses = [\"{EAST}\"] }},"))
        .with("{ name = \"c\", role = \"asp\", transport = \"tcp\",")
        .with(format_args!("  addresses = [\"{STRANGE}\"] }},\n]"))
        .with("application_server = [")
        .with("{ name = \"one\", peers = [\"a\"], routing_context = 1,")
        .with("  destination = [{ point_code = \"1\" }] },")
        .with("{ name = \"two\", peers = [\"east\"], routing_context = 2,")
        .with("  destination = [{ point_code = \"2\" }] },")
        .with("{ name = \"three\", peers = [\"c\"], routing_context = 3,")
        .with("  destination = [{ point_code = \"3\" }] },\n]")
        .with(format_args!("[sgc.sctp]\naddresses = [\"{WEST}\"]\nencapsulation_port = {udp}"))
        .with("preset = \"telecom(2)\"")
        .text()
}

fn east(site: SiteFile, own: u16, udp: u16) -> String {
    site.with("\n[[sgc]]\nname = \"east\"\npoint_code_format = \"decimal\"\npoint_codes = [\"2\"]")
        .with(format_args!("echo_service_indicators = [{ECHOED}]"))
        .with("timers = { reconnect_ms = 200 }\napplication_server = [")
        .with("{ name = \"own\", served_by = \"here\", peers = [\"west\"], routing_context = 2,")
        .with("  destination = [{ point_code = \"2\" }] },\n]")
        .with(format_args!("[sgc.sctp]\naddresses = [\"{EAST}\"]\nencapsulation_port = {own}"))
        .with("preset = \"telecom(2)\"\n[[sgc.peer]]\nname = \"west\"\nrole = \"sgp\"")
        .with(format_args!("addresses = [\"{WEST}\"]\nencapsulation_port = {udp}\nconnect = true"))
        .text()
}

/// MSUs to the echo at a rate, and how many came back.
fn echo(asp: &mut Asp, length: Duration) -> anyhow::Result<Served> {
    let (asked, served) = asp.echo(MSUS, length, DRAIN)?;
    Ok(Served { asked, served })
}

/// West and east, and the ASP between which and east MSUs go.
struct Stand {
    scratch: Scratch,
    site: Site,
    _east: Site,
    asp: Asp,
    /// Where west listens, by TCP and by SCTP in UDP, and where east does.
    tcp: SocketAddr,
    west: SocketAddr,
    east: SocketAddr,
}

impl Stand {
    fn new(bench: &Bench) -> anyhow::Result<Self> {
        let scratch = Scratch::new("tandem-lab-")?;
        let [near, far] = ["west", "east"].map(|name| scratch.path().join(name));
        let (tcp, udp, own) =
            (free_port(LOCAL)?, free_port(LOCAL)?.port(), free_port(LOCAL)?.port());
        let apis = [free_port(LOCAL)?, free_port(LOCAL)?];
        let text = west(SiteFile::new("west", &near, apis[0]), tcp, udp);
        let site = bench.site(&near, &text, apis[0])?;
        let text = east(SiteFile::new("east", &far, apis[1]), own, udp);
        let east = bench.site(&far, &text, apis[1])?;
        let mut asp = Asp::connect(tcp, UP_MAX)?;
        let begun = Instant::now();
        while echo(&mut asp, Duration::from_millis(100))?.served == 0 {
            anyhow::ensure!(begun.elapsed() < UP_MAX, "no MSU comes back");
        }
        let at = |host: &str, port| Ok::<_, anyhow::Error>(SocketAddr::new(host.parse()?, port));
        let (west, far) = (at(WEST, udp)?, at(EAST, own)?);
        Ok(Self { scratch, site, _east: east, asp, tcp, west, east: far })
    }

    /// MSUs beside an attack; one that came and that was not sent there is a fault.
    fn hold(mut self, bench: &Bench, raid: &Raid) -> anyhow::Result<Found> {
        let near = self.scratch.path().join("west");
        let target = Target::new(&self.site, &near);
        let mut found = bench.hold(&target, raid, |length| echo(&mut self.asp, length))?;
        let others = self.asp.others();
        found.more = json!({ "others": others });
        if others > 0 {
            found.more["fault"] = json!(format!("{others} MSUs in another's name came through"));
        }
        Ok(found)
    }
}

pub(super) fn init(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let mut raid = Raid::new("init", stand.west, INIT_RATE);
    raid.more.push(("--other", stand.east.to_string()));
    stand.hold(bench, &raid)
}

pub(super) fn init_flood(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let mut raid = Raid::new("init-flood", stand.west, FLOOD_RATE);
    MANY.clone_into(&mut raid.sources);
    stand.hold(bench, &raid)
}

pub(super) fn forged_msus(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let mut raid = Raid::new("forged-msu", stand.tcp, MSU_RATE);
    raid.sources = format!("{STRANGE}/32");
    stand.hold(bench, &raid)
}

pub(super) fn claims(bench: &Bench) -> anyhow::Result<Found> {
    let stand = Stand::new(bench)?;
    let mut raid = Raid::new("idle-connections", stand.tcp, CLAIM_RATE);
    raid.sources = format!("{LOCAL}/32");
    stand.hold(bench, &raid)
}
