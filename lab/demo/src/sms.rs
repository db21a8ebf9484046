//! `sms`: two terminals register for short messages, send them to one another and to one that is
//! away, and have reports; an operator sends a text.
//!
//! ```text
//!   Alice ─┐                       ┌─ stored on disk ─ acknowledged ─ delivered ─ reported
//!   Bob ───┴ S-CSCF ── SIP ── IPSMGW
//!            in this process       └─ HEP3 → SAS: all legs of a message are one trail
//! ```

use crate::place::Place;
use crate::scene::{Figure, Play, Programme, Scene};
use crate::screen::Screen;
use anyhow::Context;
use report::site::Site;
use report::site_file::SiteFile;
use sip::{Header, Message, Method, Writer};
use sms::rp::{self, Message as RpMessage};
use sms::{Address, Coding, Kind, Made, Parameter, RpAddress, Status, Tpdu, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

pub(crate) const SCENE: Scene = Scene {
    name: "sms",
    line: "short messages both ways, to one who is away, with reports",
    about: &[
        "Two terminals register through an S-CSCF for short messages, and send each other some.",
        "A message is acknowledged when it is on disk, delivered at once, reported to who asked.",
        "Bob goes away and comes back: what waited for him is delivered, in its order.",
    ],
    set,
};

const CENTRE: &str = "447700000099";
const ALICE: &str = "447700900123";
const BOB: &str = "447700900999";
const DOMAIN: &str = "ims.example.org";
const PATIENCE: Duration = Duration::from_secs(30);
const TURN: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_secs(1);
/// Messages that wait for Bob.
const AWAY: u8 = 3;

fn identity(number: &str) -> String {
    format!("sip:+{number}@{DOMAIN}")
}

/// The S-CSCF with both terminals.
struct Core {
    socket: UdpSocket,
    own: SocketAddr,
    gateway: SocketAddr,
    requests: u32,
    references: u8,
    /// Final responses, by the Call-ID of the request.
    answered: BTreeMap<String, u16>,
    /// Reports of the centre that it took a message, by the Call-ID of that.
    acknowledged: BTreeSet<String>,
    /// Texts that each terminal was sent.
    delivered: Vec<(String, String)>,
    /// Status reports that say that a message was delivered.
    reported: u64,
}

impl Core {
    fn open(own: SocketAddr, gateway: SocketAddr) -> anyhow::Result<Self> {
        let socket = UdpSocket::bind(own)?;
        socket.set_read_timeout(Some(TURN))?;
        let (answered, acknowledged) = (BTreeMap::new(), BTreeSet::new());
        let (requests, references, delivered, reported) = (0, 0, Vec::new(), 0);
        Ok(Self {
            socket,
            own,
            gateway,
            requests,
            references,
            answered,
            acknowledged,
            delivered,
            reported,
        })
    }

    /// Takes what has come.
    fn turn(&mut self) -> anyhow::Result<()> {
        let mut octets = vec![0; 65_535];
        while let Ok((length, _)) = self.socket.recv_from(&mut octets) {
            if let Ok(message) = Message::parse(octets.get(..length).unwrap_or_default()) {
                self.heard(&message)?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, message: &Message<'_>) -> anyhow::Result<()> {
        let call_id = String::from_utf8_lossy(message.call_id()).into_owned();
        if let Some(status) = message.status() {
            self.answered.insert(call_id, status);
            return Ok(());
        }
        let mut out = b"SIP/2.0 200 OK\r\n".to_vec();
        sip::write::response_head(&mut out, message, self.gateway, Some(&b"core"[..]), &[]);
        sip::write::no_body(&mut out);
        self.socket.send_to(&out, self.gateway)?;
        if message.method() != Method::Message {
            return Ok(());
        }
        let read = RpMessage::read(message.body()).ok();
        let answers = message.first(Header::InReplyTo);
        match (read, answers) {
            (Some(report), Some(answers)) if report.failure.is_none() => {
                self.acknowledged.insert(String::from_utf8_lossy(answers).into_owned());
            }
            (Some(data), None) => self.received(message, &data, &call_id)?,
            _ => {}
        }
        Ok(())
    }

    /// A terminal takes a message, and reports that.
    fn received(
        &mut self,
        message: &Message<'_>,
        data: &RpMessage<'_>,
        call_id: &str,
    ) -> anyhow::Result<()> {
        let user = message.uri().and_then(|it| it.user).unwrap_or_default();
        let number = String::from_utf8_lossy(user).trim_start_matches('+').to_owned();
        let octets = data.user_data.unwrap_or_default();
        if let Some(Ok(tpdu)) = data.tpdu_kind().map(|it| it.read(octets)) {
            match tpdu.status() {
                Some(status) => self.reported += u64::from(status == Status::Received),
                None => {
                    let text = tpdu.user_data().and_then(|it| it.text().ok().flatten());
                    self.delivered.push((number.clone(), text.unwrap_or_default()));
                }
            }
        }
        let mut body = Vec::new();
        data.answer(None, None).write(&mut body)?;
        let more = [(Header::InReplyTo, call_id.as_bytes().to_vec())];
        self.request("MESSAGE", &number, (rp::CONTENT_TYPE, &body), &more)?;
        Ok(())
    }

    /// Sends a request of a terminal's, as the S-CSCF passes it on; its Call-ID.
    fn request(
        &mut self,
        method: &str,
        number: &str,
        content: (&str, &[u8]),
        more: &[(Header, Vec<u8>)],
    ) -> anyhow::Result<String> {
        self.requests += 1;
        let (count, own, id) = (self.requests, self.own, std::process::id());
        let call_id = format!("{id}-{count}@core");
        let uri = format!("sip:+{CENTRE}@{DOMAIN}");
        let to = if method == "REGISTER" { identity(number) } else { uri.clone() };
        let from =
            if method == "REGISTER" { format!("sip:scscf.{DOMAIN}") } else { identity(number) };
        let mut out = Vec::new();
        let mut writer = Writer::request(&mut out, method.as_bytes(), uri.as_bytes());
        let via = format!("SIP/2.0/UDP {own};rport;branch=z9hG4bK{id}-{count}");
        writer.header(Header::Via, via.as_bytes());
        writer.number(Header::MaxForwards, 68);
        writer.header(Header::From, format!("<{from}>;tag={count}").as_bytes());
        writer.header(Header::To, format!("<{to}>").as_bytes());
        writer.header(Header::CallId, call_id.as_bytes());
        writer.header(Header::CSeq, format!("1 {method}").as_bytes());
        let asserted = format!("<{}>", identity(number));
        writer.header(Header::PAssertedIdentity, asserted.as_bytes());
        more.iter().for_each(|(header, value)| writer.header(*header, value));
        writer.body(Some(content.0.as_bytes()), content.1);
        self.socket.send_to(&out, self.gateway)?;
        Ok(call_id)
    }

    /// A third-party REGISTER; its Call-ID.
    fn register(&mut self, number: &str, expires_s: u32) -> anyhow::Result<String> {
        let info = format!(
            "<?xml version=\"1.0\"?><ims-3gpp version=\"1\"><service-info>{number}</service-info>\
             </ims-3gpp>"
        );
        let contact = format!("<sip:{}>;expires={expires_s}", self.own);
        let more = [(Header::Contact, contact.into_bytes())];
        let body = ("application/3gpp-ims+xml", info.as_bytes());
        self.request("REGISTER", number, body, &more)
    }

    /// A terminal sends a message; its Call-ID.
    fn submit(&mut self, from: &str, to: &str, text: &str) -> anyhow::Result<String> {
        self.references = self.references.wrapping_add(1);
        let reference = self.references;
        let address = Address::international(to).context("it is a number")?;
        let made = Made::text(Coding::GSM7, &[], text).context("it is short")?;
        let tpdu = Tpdu::new(Kind::Submit)
            .octet(Parameter::MessageReference, reference)
            .with(Parameter::DestinationAddress, Value::Address(address))
            .octet(Parameter::ProtocolIdentifier, 0)
            .octet(Parameter::DataCodingScheme, 0)
            .with(Parameter::StatusReportRequest, Value::Flag(true))
            .with(Parameter::UserData, Value::UserData(made.as_read(Coding::GSM7, false)));
        let (mut octets, mut body) = (Vec::new(), Vec::new());
        tpdu.write(&mut octets)?;
        let centre = RpAddress::international(CENTRE).context("it is a number")?;
        RpMessage::from_terminal(reference, centre, &octets).write(&mut body)?;
        self.request("MESSAGE", from, (rp::CONTENT_TYPE, &body), &[])
    }

    fn texts_of(&self, number: &str) -> usize {
        self.delivered.iter().filter(|it| it.0 == number).count()
    }
}

struct Sms {
    core: Core,
    site: Site,
    place: Place,
    submitted: Vec<String>,
    /// Messages that waited for Bob while he was away.
    waited: u64,
    /// Whether what waited came in its order.
    in_order: u64,
    /// Messages of SIP in the trail of the first message.
    messages: u64,
}

fn set(place: &Place) -> anyhow::Result<Box<dyn Play>> {
    let api = place.address([127, 0, 0, 1], 8080)?;
    let collector = place.address([127, 0, 0, 1], 9060)?;
    let gateway = place.address([127, 0, 0, 51], 5060)?;
    let own = place.address([127, 0, 0, 52], 5060)?;
    let text = SiteFile::new("demo", &place.directory, api)
        .with(format_args!("[sas]\nlisten = [\"tcp:{collector}\"]"))
        .with("[[ipsmgw]]\nname = \"sms1\"")
        .with(format_args!("number = \"{CENTRE}\"\ndomain = \"{DOMAIN}\""))
        .with(format_args!("listen = [\"udp:{gateway}\"]\ncapture = \"tcp:{collector}\""))
        .with("[[ipsmgw.next_hop]]\nname = \"scscf\"")
        .with(format_args!("targets = [\"udp:{own}\"]"))
        .text();
    let core = Core::open(own, gateway).context("the S-CSCF")?;
    let site = Site::start(&Site::spec(&place.tandem, &place.directory), &text, api)?;
    let (submitted, waited, in_order, messages) = (Vec::new(), 0, 0, 0);
    let place = place.clone();
    Ok(Box::new(Sms { core, site, place, submitted, waited, in_order, messages }))
}

impl Play for Sms {
    fn programme(&self) -> Programme {
        Programme {
            look: "Trails: the ladder of a message, with its report and its delivery".into(),
            tries: &[
                ["sms registrations", "who takes messages"],
                ["sms pending", "what waits, and why"],
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
    }

    fn console(&self) -> String {
        self.site.console_at("/calls")
    }

    fn act(&mut self, screen: &mut Screen) -> anyhow::Result<()> {
        screen.event("Alice and Bob register for short messages")?;
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
        let texts = self.core.delivered.iter().skip(before).map(|it| it.1.as_str());
        let wanted = (0..AWAY).map(|n| format!("Waiting {n}"));
        self.in_order = texts.zip(wanted).filter(|(text, wanted)| text == wanted).count() as u64;
        screen.event("an operator sends him a text")?;
        self.site.post(&format!("functions/sms1/sms/send?to={BOB}&from=Tandem&text=Welcome"))?;
        self.must("the text", |core| core.texts_of(BOB) == 2 + usize::from(AWAY))?;
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
