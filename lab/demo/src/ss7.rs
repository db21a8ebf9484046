//! `ss7`: a signalling relay between an ASP over TCP and two ASPs over SCTP that share a point
//! code; one of the two is killed under traffic, and comes back.
//!
//! ```text
//!   asp (point code 0-0-1) ──tcp── relay ──sctp/udp── hlr-1 ┐ point code 0-0-2, loadshare:
//!                                        ──sctp/udp── hlr-2 ┘ each sends back what it gets
//! ```

use crate::hlr::{self, Hlr};
use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use crate::start::Start;
use failover::{Asp, ECHOED};
use report::site::Site;
use report::site_file::SiteFile;
use serde_json::Value;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const SCENE: Scene = Scene {
    name: "ss7",
    line: "a signalling relay (M3UA over SCTP), and an ASP of two that is lost under traffic",
    about: &[
        "MSUs of an ASP over TCP pass a relay, go over SCTP to two ASPs that share the load of a",
        "point code, and come back. One of the two is killed (SIGKILL): the relay finds out, and",
        "the other takes all. Then it comes back. Beside it an HLR in Python, an application on",
        "TCAP, answers an SMSC where its subscribers are.",
    ],
    set,
};

const RELAY: [u8; 4] = [127, 0, 0, 11];
/// One of those that share point code 0-0-2.
#[derive(Clone, Copy)]
struct Sharing {
    name: &'static str,
    host: [u8; 4],
}

const SHARING: [Sharing; 2] = [
    Sharing { name: "hlr-1", host: [127, 0, 0, 21] },
    Sharing { name: "hlr-2", host: [127, 0, 0, 22] },
];
/// The one that is killed.
const LOST: usize = 0;
/// MSUs a second, how long at a time, and the last one's time to come back.
const RATE: f64 = 500.0;
const SPELL: Duration = Duration::from_secs(2);
/// How long those are waited for that are still on their way, where none is lost, and where some
/// are.
const DRAIN_MAX: Duration = Duration::from_secs(30);
const DRAIN: Duration = Duration::from_millis(500);
/// What goes on.
const TURN: Duration = Duration::from_secs(1);
const TURN_RATE: f64 = 50.0;
const UP_MAX: Duration = Duration::from_secs(60);
const TOLD_MAX: Duration = Duration::from_secs(60);

/// MSUs that were sent, and those that came back.
#[derive(Default)]
struct Spell {
    sent: u64,
    back: u64,
}

struct Ss7 {
    place: Place,
    /// Before its ASPs: fields are dropped in this order, and a relay that stands while they leave
    /// raises critical alarms about that.
    relay: Site,
    asp: Asp,
    sharing: [Site; 2],
    starts: [Start; 2],
    tcp: SocketAddr,
    calm: Spell,
    troubled: Spell,
    /// With the other one alone, and with both again.
    after: Spell,
    since: Spell,
    told: Duration,
    lost: u64,
    hlr: Option<Hlr>,
    /// Answers of the HLR that were right.
    answers: u64,
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let local = [127, 0, 0, 1];
    let api = place.address(local, 8080)?;
    let collector = place.address(local, 9060)?;
    let tcp = place.address(local, 2905)?;
    let udp = peers::free_port(RELAY.into())?.port();
    let hlr = place.address([127, 0, 0, 31], 2905)?;
    let text = relay(SiteFile::new("demo", &place.directory, api), [collector, tcp], udp)
        + &hlr::sections(hlr, collector);
    let relay = Site::start(&Site::spec(&place.tandem, &place.directory), &text, api)?;
    let [one, other] = SHARING.map(|who| start_of(place, who, udp));
    let starts = [one?, other?];
    let sharing = [starts[0].start(place)?, starts[1].start(place)?];
    let asp = Asp::connect(tcp, UP_MAX)?;
    let (hlr, place) = (Hlr::start(place)?, place.clone());
    let mut scene = Ss7 {
        place,
        asp,
        relay,
        sharing,
        starts,
        tcp,
        calm: Spell::default(),
        troubled: Spell::default(),
        after: Spell::default(),
        since: Spell::default(),
        told: Duration::ZERO,
        lost: 0,
        hlr,
        answers: 0,
    };
    scene.both_active()?;
    Ok(Box::new(scene))
}

fn start_of(place: &Place, who: Sharing, udp: u16) -> anyhow::Result<Start> {
    let Sharing { name, host } = who;
    let own = peers::free_port(host.into())?.port();
    Start::beside(place, name, |site| sharing(site, host, [own, udp]))
}

fn dotted(host: [u8; 4]) -> String {
    std::net::Ipv4Addr::from(host).to_string()
}

fn relay(site: SiteFile, [collector, tcp]: [SocketAddr; 2], udp: u16) -> String {
    let own = dotted(RELAY);
    let site = site
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\"]"))
        .with("\n[[sgc]]\nname = \"relay\"")
        .with(format_args!("capture = \"tcp:{collector}\"\ntcp = {{ listen = [\"{tcp}\"] }}"))
        .with("peer = [")
        .with("  { name = \"asp\", role = \"asp\", transport = \"tcp\",")
        .with("    addresses = [\"127.0.0.1\"] },");
    let peer = |site: SiteFile, who: Sharing| {
        let (name, host) = (who.name, dotted(who.host));
        let line = format!("{{ name = \"{name}\", role = \"asp\", addresses = [\"{host}\"] }},");
        site.with(format_args!("  {line}"))
    };
    SHARING
        .into_iter()
        .fold(site, peer)
        .with("]\napplication_server = [")
        .with("  { name = \"vlr\", peers = [\"asp\"], routing_context = 1,")
        .with("    destination = [{ point_code = \"0-0-1\" }] },")
        .with("  { name = \"hlr\", peers = [\"hlr-1\", \"hlr-2\"], routing_context = 2,")
        .with("    traffic_mode = \"loadshare\", destination = [{ point_code = \"0-0-2\" }] },\n]")
        .with(format_args!("[sgc.sctp]\naddresses = [\"{own}\"]\nencapsulation_port = {udp}"))
        .with("preset = \"telecom(2)\"\nparameters = { hb_interval_ms = 500 }")
        .text()
}

fn sharing(site: SiteFile, host: [u8; 4], [own, udp]: [u16; 2]) -> String {
    let (host, relay) = (dotted(host), dotted(RELAY));
    site.with("\n[[sgc]]\nname = \"hlr\"\npoint_codes = [\"0-0-2\"]")
        .with(format_args!("echo_service_indicators = [{ECHOED}]"))
        .with("timers = { reconnect_ms = 200 }\napplication_server = [")
        .with("  { name = \"own\", served_by = \"here\", peers = [\"relay\"], routing_context = 2,")
        .with("    traffic_mode = \"loadshare\", destination = [{ point_code = \"0-0-2\" }] },\n]")
        .with(format_args!("[sgc.sctp]\naddresses = [\"{host}\"]\nencapsulation_port = {own}"))
        .with("preset = \"telecom(2)\"\n[[sgc.peer]]\nname = \"relay\"\nrole = \"sgp\"")
        .with(format_args!("addresses = [\"{relay}\"]\nencapsulation_port = {udp}\nconnect = true"))
        .text()
}

impl Play for Ss7 {
    fn programme(&self) -> Programme {
        let shares = "shares point code 0-0-2, `tandem run`, over SCTP";
        let [one, other] = SHARING.map(|who| dotted(who.host));
        let ways = format!("{}, {}", self.tcp, dotted(RELAY));
        Programme {
            look: "SS7: the dialogues with the HLR, each as a ladder with its operations; where a \
                number goes, and by which rules; the trails: one for each association; and the \
                alarms, while one is lost"
                .into(),
            tries: &[
                ["m3ua", "the peers: association, state"],
                ["trails --kind dialogue", "what the HLR was asked; `trail ID` is the ladder"],
                ["gtt translate hlr 447700900001", "where a number goes, and by which rules"],
                ["applications", "the HLR in Python: an application on TCAP, and its instances"],
                ["m3ua servers", "Application Servers and their ASPs"],
                ["sctp paths", "round trip and state of each path"],
                ["m3ua block relay hlr-2", "lock an ASP out; `m3ua unblock relay hlr-2` ends that"],
                ["counters --name sgc_", "MSUs relayed, and every one that was not, by reason"],
            ],
            ..Programme::default()
        }
        .with("relay", "signalling gateway and SAS, `tandem run`", ways)
        .with("asp", "an ASP of the lab, over TCP, point code 0-0-1", "127.0.0.1")
        .with(SHARING[0].name, shares, one)
        .with(SHARING[1].name, shares, other)
    }

    fn console(&self) -> String {
        self.relay.console_at("/ss7?view=dialogues")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        let name = SHARING[LOST].name;
        screen.event("500 MSUs a second, there and back, shared by both")?;
        self.calm = echo(&mut self.asp, RATE, SPELL)?;
        let [one, other] = self.taken()?;
        screen.event(&format!(
            "{} of {} came back: {one} by hlr-1, {other} by hlr-2",
            self.calm.back, self.calm.sent
        ))?;
        if self.place.is_over() {
            return Ok(());
        }
        self.lose()?;
        let ms = self.told.as_millis();
        let Spell { sent, back } = self.troubled;
        screen.event(&format!("{name} was killed (kill -9): the relay knew after {ms} ms"))?;
        screen.event(&format!("{back} of {sent} came back meanwhile; the flows of one moved"))?;
        let alone = echo(&mut self.asp, RATE, SPELL / 2)?;
        screen.event(&format!("{} of {} by the other one alone", alone.back, alone.sent))?;
        self.sharing[LOST] = self.starts[LOST].start(&self.place)?;
        self.both_active()?;
        screen.event(&format!("{name} is started again, and active"))?;
        let both = echo(&mut self.asp, RATE, SPELL / 2)?;
        screen.event(&format!("{} of {} by both", both.back, both.sent))?;
        self.after = Spell { sent: alone.sent + both.sent, back: alone.back + both.back };
        self.lost = self.relay.counter("sgc_messages_lost_total")?;
        if let Some(hlr) = &self.hlr {
            let (said, answers) = hlr.ask(&self.place)?;
            self.answers = answers;
            screen.event(&format!("an HLR in Python, asked by its title, says: {said}"))?;
            let seen = self.dialogues()?;
            screen.event(&format!("the SAS has the {seen} dialogues: console, SS7, Dialogues"))?;
        }
        Ok(())
    }

    fn goes_on(&self) -> &'static str {
        "50 MSUs a second go on"
    }

    fn go_on(&mut self, _: &mut Screen) -> anyhow::Result<()> {
        let turn = echo(&mut self.asp, TURN_RATE, TURN)?;
        self.since.sent += turn.sent;
        self.since.back += turn.back;
        Ok(())
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        let relayed = self.relay.counter("sgc_msus_relayed_total")?;
        let trails = self.relay.get("sas/trails?limit=500")?;
        let trails = trails["trails"].as_array().map_or(0, Vec::len) as u64;
        let Spell { sent, back } = self.troubled;
        let missing = format!("of {sent}; {} counted as lost with the association", self.lost);
        let told = u64::try_from(self.told.as_micros()).unwrap_or(u64::MAX);
        let mut figures = vec![
            Figure::all(self.calm.back, self.calm.sent, "MSUs back before the loss"),
            Figure::some(back, "MSUs back in the two seconds of the loss").noting(missing),
            Figure::some(told, "µs until the relay knew")
                .noting("by the guardian of hlr-1, which aborts its association"),
            Figure::all(self.after.back, self.after.sent, "MSUs back after it"),
            Figure::some(relayed, "MSUs relayed, both ways"),
            Figure::some(trails, "trails in the SAS"),
        ];
        if self.hlr.is_some() {
            let what = "answers of the HLR in Python, one of them unknownSubscriber";
            figures.push(Figure::all(self.answers, Hlr::questions(), what));
        }
        if self.since.sent > 0 {
            let of = format!("of {}", self.since.sent);
            figures.push(Figure::some(self.since.back, "MSUs back since").noting(of));
        }
        Ok(figures)
    }

    fn logs(&self) -> Vec<(String, String)> {
        let sharing = SHARING.iter().zip(&self.sharing);
        let sharing = sharing.map(|(who, site)| (who.name.to_owned(), site.log_end()));
        sharing.chain([("the relay".to_owned(), self.relay.log_end())]).collect()
    }
}

/// MSUs there and back.
fn echo(asp: &mut Asp, rate: f64, length: Duration) -> anyhow::Result<Spell> {
    let (sent, back) = asp.echo(rate, length, DRAIN_MAX)?;
    Ok(Spell { sent, back })
}

impl Ss7 {
    /// Whether an ASP of those that share is active, by its name at the relay.
    fn is_active(&self, name: &str) -> anyhow::Result<bool> {
        let rows = self.relay.get("functions/relay/m3ua/asps")?;
        let rows: Vec<Value> = rows.as_array().cloned().unwrap_or_default();
        Ok(rows.iter().any(|row| row["name"] == name && row["state"] == "active"))
    }

    /// Dialogues with the HLR that the SAS has.
    fn dialogues(&self) -> anyhow::Result<u64> {
        let trails = self.relay.get("sas/trails?kind=dialogue&q=447700900001")?;
        let first = trails["trails"].as_array().map_or(0, Vec::len);
        let trails = self.relay.get("sas/trails?kind=dialogue&method=sendRoutingInfoForSM")?;
        let all = trails["trails"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(first > 0, "the SAS has no dialogue about 447700900001");
        Ok(all as u64)
    }

    fn both_active(&mut self) -> anyhow::Result<()> {
        self.place.must("both ASPs active", UP_MAX, || {
            Ok(self.is_active(SHARING[0].name)? && self.is_active(SHARING[1].name)?)
        })
    }

    /// MSUs that each of those that share has taken so far.
    fn taken(&self) -> anyhow::Result<[u64; 2]> {
        let taken = |site: &Site| site.counter("sgc_msus_local_total");
        Ok([taken(&self.sharing[0])?, taken(&self.sharing[1])?])
    }

    /// Kills one of the two under traffic, and waits until the relay knows.
    fn lose(&mut self) -> anyhow::Result<()> {
        self.sharing[LOST].crash()?;
        let begun = Instant::now();
        let Self { asp, relay, place, .. } = self;
        let name = SHARING[LOST].name;
        let is_gone = || -> anyhow::Result<bool> {
            let rows = relay.get("functions/relay/m3ua/asps")?;
            let mut rows = rows.as_array().into_iter().flatten();
            Ok(rows.any(|row| row["name"] == name && row["state"] != "active"))
        };
        let (troubled, told) = thread::scope(|scope| {
            let echoing = scope.spawn(|| asp.echo(RATE, SPELL, DRAIN));
            let told = place.must("the relay's word of the loss", TOLD_MAX, is_gone);
            let told = told.map(|()| begun.elapsed());
            let troubled = echoing.join().unwrap_or_else(|_| anyhow::bail!("the ASP failed"));
            (troubled.map(|(sent, back)| Spell { sent, back }), told)
        });
        (self.troubled, self.told) = (troubled?, told?);
        Ok(())
    }
}
