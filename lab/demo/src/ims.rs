//! `ims`: a phone with its own card registers with AKA at a P-CSCF, by IPsec, and calls and is
//! called through its security associations.
//!
//! ```text
//!   phone ── clear, then ESP ── SSC (P-CSCF) ── SIP ── home: S-CSCF, HSS, who is called
//!                                └─ HEP3 → SAS: the trail has the agreement, and no key
//! ```

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use anyhow::Context;
use handset::{Called, Config, Home, HomeServer, Subscriber, Terminal};
use report::site::Site;
use report::site_file::SiteFile;
use secagree::{Mode, Preference};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) const SCENE: Scene = Scene {
    name: "ims",
    line: "an IMS phone registers with AKA over IPsec, calls and is called",
    about: &[
        "A phone with a SIM of its own registers: the home challenges it (AKA), and phone and SSC",
        "agree on security (RFC 3329). From then on all goes in ESP: calls both ways.",
        "The ladder of its registration has the agreement; associations are shown without keys.",
    ],
    set,
};

const TRAIL_MAX: Duration = Duration::from_secs(30);
/// How long they talk.
const TALK: Duration = Duration::from_secs(1);
const TURN: Duration = Duration::from_secs(1);
/// The number of the subscription, and the seed of what is drawn at random.
const NUMBER: u64 = 1;
const EXPIRES_S: u32 = 600;
/// Protected ports of the phone.
const SERVER_PORT: u16 = 6_100;
const CLIENT_PORT: u16 = 6_200;

struct Ims {
    terminal: Terminal,
    site: Site,
    place: Place,
    /// The controller's address in the core, and the phone's.
    core: SocketAddr,
    /// The Call-ID of the registration.
    registration: String,
    calls: Vec<Called>,
    /// The agreement as the controller shows it.
    row: Value,
    /// Events of the agreement in the trail of the registration.
    events: Vec<String>,
    /// Messages in the trails of the calls.
    messages: u64,
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let api = place.address([127, 0, 0, 1], 8080)?;
    let collector = place.address([127, 0, 0, 1], 9060)?;
    let access = place.address([127, 0, 0, 41], 5060)?;
    let core = place.address([127, 0, 0, 42], 5060)?;
    let scscf = place.address([127, 0, 0, 43], 5060)?;
    let clear = place.address([127, 0, 0, 44], 5060)?;
    let port = |preferred| place.address([127, 0, 0, 41], preferred).map(|it| it.port());
    let [server, one, other, in_udp] = [port(5062)?, port(5064)?, port(5066)?, port(4500)?];
    let more = format!("encapsulation_port = {in_udp}, visited_network = \"visited.example.org\"");
    let text = SiteFile::new("demo", &place.directory, api)
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\", \"udp:{collector}\"]"))
        .with(format_args!("[[ssc]]\nname = \"ssc1\"\ncapture = \"tcp:{collector}\""))
        .with(format_args!("[ssc.registrar]\nclient_expires_s = {EXPIRES_S}"))
        .realm("access", "access", &[format!("udp:{access}")])
        .with("register_required = true")
        .with(format_args!(
            "ipsec = {{ server_port = {server}, client_ports = [{one}, {other}], {more} }}"
        ))
        .realm("core", "core", &[format!("udp:{core}")])
        .with("trusted = true")
        .next_hop("scscf", format_args!("udp:{scscf}"))
        .route("access", "scscf")
        .text();
    let config = Config {
        subscriber: Subscriber::number(NUMBER),
        address: clear.ip(),
        clear_port: clear.port(),
        server_port: SERVER_PORT,
        client_port: CLIENT_PORT,
        pcscf: access,
        preference: Preference { modes: vec![Mode::Transport], ..Preference::usual() },
        expires_s: EXPIRES_S,
        seed: u64::from(std::process::id()),
        number: 0,
    };
    let home = Home::new([config.subscriber.clone()], config.seed);
    let home = HomeServer::open(home, scscf).context("the home network")?;
    let terminal = Terminal::open(config, Some(home))
        .context("ESP needs raw sockets: root, or CAP_NET_RAW")?;
    let site = Site::start(&Site::spec(&place.tandem, &place.directory), &text, api)?;
    Ok(Box::new(Ims {
        terminal,
        site,
        place: place.clone(),
        core,
        registration: String::new(),
        calls: Vec::new(),
        row: Value::Null,
        events: Vec::new(),
        messages: 0,
    }))
}

impl Play for Ims {
    fn programme(&self) -> Programme {
        let phone = self.terminal.handset().config();
        Programme {
            look: "IMS phones and their associations; Calls: the ladder with the agreement".into(),
            tries: &[
                ["ipsec ssc1", "security agreements, with packets and without keys"],
                ["ims explain ssc1", "registrations that failed, and why"],
                ["registrations", "who is registered"],
            ],
            ..Programme::default()
        }
        .with("SSC, SAS", "P-CSCF, and the trails", phone.pcscf)
        .with("home", "S-CSCF and HSS, in this process", self.core)
        .with("phone", "AKA and ESP of its own, in this process", phone.address)
    }

    fn console(&self) -> String {
        self.site.console_at("/registrations?view=ims")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        screen.event("the phone registers in the clear; its home challenges it, with AKA")?;
        self.registration = self.terminal.handset().call_id().to_owned();
        self.terminal.register()?;
        self.row = self.agreement()?;
        let algorithms = self.row["algorithms"].as_str().unwrap_or("unknown").to_owned();
        screen.event(&format!("it is registered by four associations of ESP: {algorithms}"))?;
        screen.event("it calls by them, and is answered")?;
        let to = format!("sip:+4930200100@{}", self.terminal.handset().config().subscriber.realm);
        let called = self.terminal.call(&to, TALK)?;
        self.calls.push(called);
        screen.event("it is called by them, and answers")?;
        let called = self.terminal.be_called(self.core, TALK)?;
        self.calls.push(called);
        self.row = self.agreement()?;
        screen.event("the SAS is asked for the agreement and both calls")?;
        self.look_up()?;
        if self.place.stays {
            return Ok(());
        }
        self.terminal.deregister()?;
        screen.event("it de-registers: its associations end with that")?;
        Ok(())
    }

    fn goes_on(&self) -> &'static str {
        "the phone stands, and answers whoever calls"
    }

    fn go_on(&mut self, _: &mut Screen) -> anyhow::Result<()> {
        self.terminal.serve(TURN);
        Ok(())
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        let is_current = u64::from(self.row["state"] == "current");
        let packets = |way: &str| self.row[way].as_u64().unwrap_or_default();
        let (came, left) = (packets("packets_in"), packets("packets_out"));
        let taken = self.terminal.taken() as u64;
        let has = |name: &str| u64::from(self.events.iter().any(|it| it == name));
        let told = has("AgreementChosen") + has("AgreementEstablished");
        Ok(vec![
            Figure::all(is_current, 1, "phone registered with AKA, by IPsec"),
            Figure::all(self.calls.len() as u64, 2, "calls by its associations, one each way"),
            Figure::some(taken, "calls that it has answered"),
            Figure::some(came, "packets of ESP that the SSC opened"),
            Figure::some(left, "packets of ESP that it protected"),
            Figure::all(told, 2, "events of the agreement in the trail of the registration"),
            Figure::some(self.messages, "messages in the trails of the calls, in the clear"),
        ])
    }

    fn logs(&self) -> Vec<(String, String)> {
        vec![("the site".into(), self.site.log_end())]
    }
}

impl Ims {
    /// The agreement that is used, as the controller tells it.
    fn agreement(&self) -> anyhow::Result<Value> {
        let rows = self.site.get("functions/ssc1/ipsec")?;
        let current = |row: &&Value| row["state"] == "current";
        let row = rows.as_array().into_iter().flatten().find(current).cloned();
        row.context("the SSC shows no agreement")
    }

    /// Asks the SAS until it has all.
    fn look_up(&mut self) -> anyhow::Result<()> {
        let (site, place) = (&self.site, &self.place);
        let (mut events, mut messages) = (Vec::new(), 0);
        let (registration, calls) = (&self.registration, &self.calls);
        place.must("the trails of the registration and the calls", TRAIL_MAX, || {
            let Some(trail) = site.trail(registration)? else { return Ok(false) };
            let id = trail["id"].as_str().map_or_else(|| trail["id"].to_string(), str::to_owned);
            let detail = site.get(&format!("sas/trails/{id}"))?;
            let told = detail["events"].as_array().into_iter().flatten();
            let names = told.filter_map(|event| event["name"].as_str().map(str::to_owned));
            events = names.filter(|name| name.starts_with("Agreement")).collect();
            messages = 0;
            for call in calls {
                let Some(trail) = site.trail(&call.call_id)? else { return Ok(false) };
                if trail["outcome"] != "answered" {
                    return Ok(false);
                }
                messages += trail["messages"].as_u64().unwrap_or_default();
            }
            Ok(events.iter().any(|name| name == "AgreementEstablished"))
        })?;
        (self.events, self.messages) = (events, messages);
        Ok(())
    }
}
