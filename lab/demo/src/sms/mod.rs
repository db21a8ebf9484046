//! `sms`: two terminals register for short messages, send them to one another and to one that is
//! away, and have reports; an operator sends a text. A home subscriber server is asked by Diameter.
//!
//! ```text
//!   Alice ─┐                       ┌─ stored on disk ─ acknowledged ─ delivered ─ reported
//!   Bob ───┴ S-CSCF ── SIP ── IPSMGW ── Diameter (Sh) ── HSS, in this process
//!            in this process       └─ HEP3 → SAS: all legs of a message are one trail
//! ```

mod home;

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use anyhow::Context;
use home::Home;
use report::site::Site;
use report::site_file::SiteFile;
use std::time::Duration;
use terminal::{Core, Names};

pub(crate) const SCENE: Scene = Scene {
    name: "sms",
    line: "short messages both ways, to one who is away, with reports; an HSS asked by Diameter",
    about: &[
        "Two terminals register through an S-CSCF for short messages, and send each other some.",
        "A message is acknowledged when it is on disk, delivered at once, reported to who asked.",
        "Bob goes away and comes back: what waited for him is delivered, in its order. His number",
        "is the HSS's (Diameter, Sh), which tells when a phone that was silent can be reached.",
    ],
    set,
};

/// Numbers of the centre and of the two terminals. Bob's is in no identity of his: the home
/// subscriber server has it.
const CENTRE: &str = "447700000099";
const ALICE: &str = "447700900123";
const BOB: &str = "447700900999";
const DOMAIN: &str = "ims.example.org";
/// The gateway in Diameter.
const HOST: &str = "sms1.ims.example.org";
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);
/// Messages that wait for Bob.
const AWAY: u8 = 3;

/// What the network calls itself and Bob.
fn names() -> Names {
    let users = [(BOB.to_owned(), "bob".to_owned())].into();
    Names { centre: CENTRE.to_owned(), domain: DOMAIN.to_owned(), users }
}

struct Sms {
    core: Core,
    /// Before the home subscriber server: it says goodbye to it.
    site: Site,
    home: Home,
    place: Place,
    submitted: Vec<String>,
    /// Messages that waited for Bob while he was away.
    waited: u64,
    /// Whether what waited came in its order.
    in_order: u64,
    /// Times that the gateway was told that Bob's phone can be reached.
    told: u64,
    /// Messages of SIP in the trail of the first message.
    messages: u64,
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let api = place.address([127, 0, 0, 1], 8080)?;
    let collector = place.address([127, 0, 0, 1], 9060)?;
    let gateway = place.address([127, 0, 0, 51], 5060)?;
    let own = place.address([127, 0, 0, 52], 5060)?;
    let home = Home::start(place.address([127, 0, 0, 53], 3868)?).context("the HSS")?;
    let text = SiteFile::new("demo", &place.directory, api)
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\"]"))
        .with("[[ipsmgw]]\nname = \"sms1\"")
        .with(format_args!("number = \"{CENTRE}\"\ndomain = \"{DOMAIN}\""))
        .with(format_args!("listen = [\"udp:{gateway}\"]\ncapture = \"tcp:{collector}\""))
        .with("[[ipsmgw.next_hop]]\nname = \"scscf\"")
        .with(format_args!("targets = [\"udp:{own}\"]"))
        .with(home.section())
        .text();
    let core = Core::open(own, gateway, names()).context("the S-CSCF")?;
    let site = Site::start(&Site::spec(&place.tandem, &place.directory), &text, api)?;
    let scene = Sms {
        core,
        site,
        home,
        place: place.clone(),
        submitted: Vec::new(),
        waited: 0,
        in_order: 0,
        told: 0,
        messages: 0,
    };
    scene.home_is_there()?;
    Ok(Box::new(scene))
}

impl Play for Sms {
    fn programme(&self) -> Programme {
        Programme {
            look: "Trails: the ladder of a message, with its report and its delivery".into(),
            tries: &[
                ["sms registrations", "who takes messages"],
                ["sms pending", "what waits, and why"],
                ["diameter peers", "the HSS: state, watchdog"],
                ["diameter trace", "what was asked and told by Sh"],
                ["sms send 447700900999 Hello", "a text of your own, for Bob"],
                ["store", "what outlives a restart"],
            ],
            ..Programme::default()
        }
        .with(
            "IPSMGW, SAS",
            "the gateway with its service centre, and the trails",
            self.core.gateway,
        )
        .with("core", "S-CSCF with Alice and Bob, in this process", self.core.own)
        .with("HSS", "by Diameter (Sh), in this process", self.home.at)
    }

    fn console(&self) -> String {
        self.site.console_at("/calls")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        screen
            .event("Alice and Bob register for short messages; the HSS is asked for his number")?;
        self.register(ALICE, 600)?;
        self.register(BOB, 600)?;
        screen
            .event("Alice sends Bob a message: it is on disk, then acknowledged, then delivered")?;
        self.send(ALICE, BOB, "Hello Bob")?;
        self.must("the message and its report", |core| {
            core.texts_of(BOB) == 1 && core.reported == 1
        })?;
        screen.event("Bob answers")?;
        self.send(BOB, ALICE, "Hello Alice")?;
        self.must("the answer", |core| core.texts_of(ALICE) == 1)?;
        screen.event("Bob goes away; what Alice sends him waits")?;
        self.register(BOB, 0)?;
        for n in 0..AWAY {
            self.send(ALICE, BOB, &format!("Waiting {n}"))?;
        }
        self.waited = self.pending()?;
        screen.event("he comes back, and has them in their order")?;
        let before = self.core.delivered.len();
        self.register(BOB, 600)?;
        self.must("what waited", |core| core.texts_of(BOB) == 1 + usize::from(AWAY))?;
        let texts = self.core.delivered.iter().skip(before).map(|it| it.text.as_str());
        let wanted = (0..AWAY).map(|n| format!("Waiting {n}"));
        self.in_order = texts.zip(wanted).filter(|(text, wanted)| text == wanted).count() as u64;
        screen.event("an operator sends him a text")?;
        self.site.post(&format!("functions/sms1/sms/send?to={BOB}&from=Tandem&text=Welcome"))?;
        self.must("the text", |core| core.texts_of(BOB) == 2 + usize::from(AWAY))?;
        screen.event("his phone does not answer; the gateway asks the HSS to tell when it can")?;
        self.silence()?;
        screen.event("the HSS tells, and he has what was sent meanwhile")?;
        screen.event("the SAS is asked for the first message")?;
        self.look_up()
    }

    fn goes_on(&self) -> &'static str {
        "Alice and Bob send a message a second"
    }

    fn go_on(&mut self, _: &mut Screen) -> anyhow::Result<()> {
        self.send(ALICE, BOB, "Still there?")?;
        self.send(BOB, ALICE, "Still here.")?;
        let (core, place) = (&mut self.core, &self.place);
        place.until(PAUSE, || core.turn().map(|()| false))?;
        Ok(())
    }

    fn figures(&mut self) -> anyhow::Result<Vec<Figure>> {
        self.core.turn()?;
        let sent = self.submitted.len() as u64;
        let taken = self.submitted.iter().filter(|it| self.core.acknowledged.contains(*it)).count();
        let away = u64::from(AWAY);
        Ok(vec![
            Figure::all(taken as u64, sent, "messages acknowledged, all of them on disk before"),
            Figure::some(self.core.delivered.len() as u64, "messages delivered"),
            Figure::some(self.core.reported, "status reports that say so"),
            Figure::all(self.waited, away, "messages that waited while Bob was away"),
            Figure::all(self.in_order, away, "of them that came in their order once he was back"),
            Figure::some(self.home.asked()?, "questions that the HSS was asked by Sh")
                .noting("Bob's number, and word of when he can be reached"),
            Figure::all(self.told, 1, "word of the HSS that he can be reached, and he had it"),
            Figure::some(self.messages, "SIP messages in the trail of the first one"),
        ])
    }

    fn logs(&self) -> Vec<(String, String)> {
        vec![("the site".into(), self.site.log_end())]
    }
}

impl Sms {
    /// Serves the core until something holds.
    fn must(&mut self, what: &str, holds: impl Fn(&Core) -> bool) -> anyhow::Result<()> {
        let (core, place) = (&mut self.core, &self.place);
        place.must(what, PATIENCE, || {
            core.turn()?;
            Ok(holds(core))
        })
    }

    fn register(&mut self, number: &str, expires_s: u32) -> anyhow::Result<()> {
        let call_id = self.core.register(number, expires_s)?;
        self.must("the registration", |core| core.answered.get(&call_id) == Some(&200))
    }

    fn send(&mut self, from: &str, to: &str, text: &str) -> anyhow::Result<()> {
        let call_id = self.core.submit(from, to, text)?;
        self.submitted.push(call_id.clone());
        self.must("the submit report", |core| core.acknowledged.contains(&call_id))
    }

    /// Waits until the gateway and the home subscriber server have found each other.
    fn home_is_there(&self) -> anyhow::Result<()> {
        self.place.must("the HSS, connected", PATIENCE, || {
            let rows = self.site.get("functions/sms1/diameter/peers")?;
            Ok(rows.as_array().into_iter().flatten().any(|it| it["state"] == "open"))
        })
    }

    /// Bob's phone is silent, which Alice's message finds out; then the home subscriber server
    /// tells that it can be reached.
    fn silence(&mut self) -> anyhow::Result<()> {
        let before = self.core.texts_of(BOB);
        self.core.silent = Some(BOB.to_owned());
        self.send(ALICE, BOB, "Are you there?")?;
        let (core, home, place) = (&mut self.core, &self.home, &self.place);
        let mut told = 0;
        place.must("the gateway's wish to be told", PATIENCE, || {
            core.turn()?;
            told = home.tell(&names().identity(BOB))?;
            Ok(told > 0)
        })?;
        // What comes from now on he takes: nothing is read before.
        self.core.silent = None;
        self.told = told;
        self.must("what was sent meanwhile", |core| core.texts_of(BOB) == before + 1)
    }

    fn pending(&self) -> anyhow::Result<u64> {
        let rows = self.site.get("functions/sms1/sms/pending")?;
        Ok(rows.as_array().map_or(0, Vec::len) as u64)
    }

    /// Asks the SAS until it has all of the first message.
    fn look_up(&mut self) -> anyhow::Result<()> {
        let first = self.submitted.first().cloned().unwrap_or_default();
        let (site, place, core) = (&self.site, &self.place, &mut self.core);
        let mut messages = 0;
        place.must("the trail of the first message", PATIENCE, || {
            core.turn()?;
            let trail = site.trail(&first)?.unwrap_or_default();
            messages = trail["messages"].as_u64().unwrap_or_default();
            Ok(messages >= 8)
        })?;
        self.messages = messages;
        Ok(())
    }
}
