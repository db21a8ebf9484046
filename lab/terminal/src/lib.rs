//! Terminals that take short messages in RP (`application/vnd.3gpp.sms`, TS 24.341), and the S-CSCF
//! before them, over UDP: for a short message gateway to be tried with.
//!
//! ```text
//!   terminals ─ in this process ─ S-CSCF ── third-party REGISTER, MESSAGE with RP-DATA ──→ gateway
//!                                        ←── MESSAGE with RP-DATA or RP-ACK ─────────────
//! ```
#![forbid(unsafe_code)]

use anyhow::Context;
use sip::{Header, Message, Method, NameAddr, Writer};
use sms::rp::{self, Message as RpMessage};
use sms::{Address, Coding, Kind, Made, Parameter, RpAddress, Status, Tpdu, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

const TURN: Duration = Duration::from_millis(20);

/// What the network calls itself and its terminals.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The number of the service centre.
    pub centre: String,
    /// The home domain.
    pub domain: String,
    /// Numbers that stand in no identity, and the users of those; of them the core says who they
    /// are, and not which number they have.
    pub users: BTreeMap<String, String>,
}

impl Names {
    /// The public identity of a terminal.
    #[must_use]
    pub fn identity(&self, number: &str) -> String {
        let domain = &self.domain;
        match self.users.get(number) {
            Some(user) => format!("sip:{user}@{domain}"),
            None => format!("sip:+{number}@{domain}"),
        }
    }

    /// The number of the user of an identity.
    fn number_of(&self, user: &[u8]) -> String {
        let user = String::from_utf8_lossy(user);
        let known = self.users.iter().find(|it| *it.1 == *user).map(|it| it.0.clone());
        known.unwrap_or_else(|| user.trim_start_matches('+').to_owned())
    }
}

/// A text that a terminal was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The terminal's number.
    pub to: String,
    /// Who wrote it.
    pub from: String,
    /// The text.
    pub text: String,
    /// Whether it came as `text/plain` and not as a short message in RP.
    pub is_plain: bool,
}

/// The S-CSCF with its terminals.
#[derive(Debug)]
pub struct Core {
    socket: UdpSocket,
    /// Its address.
    pub own: SocketAddr,
    /// The gateway's.
    pub gateway: SocketAddr,
    names: Names,
    /// The number of one that is registered and does not answer.
    pub silent: Option<String>,
    requests: u32,
    references: u8,
    /// Final responses, by the Call-ID of the request.
    pub answered: BTreeMap<String, u16>,
    /// Reports of the centre that it took a message, by the Call-ID of that.
    pub acknowledged: BTreeSet<String>,
    /// Reports of the centre that it did not, with their RP-Cause in words.
    pub refused: BTreeMap<String, String>,
    /// Texts that terminals were sent.
    pub delivered: Vec<Delivered>,
    /// Status reports that say that a message was delivered.
    pub reported: u64,
}

/// Whether a MESSAGE is a text as people of SIP send it (RFC 3428).
fn is_plain_text(message: &Message<'_>) -> bool {
    let kind = message.first(Header::ContentType).unwrap_or_default();
    kind.get(..10).is_some_and(|it| it.eq_ignore_ascii_case(b"text/plain"))
}

impl Core {
    /// Binds its address.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(own: SocketAddr, gateway: SocketAddr, names: Names) -> anyhow::Result<Self> {
        let socket = UdpSocket::bind(own)?;
        socket.set_read_timeout(Some(TURN))?;
        Ok(Self {
            socket,
            own,
            gateway,
            names,
            silent: None,
            requests: 0,
            references: 0,
            answered: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            refused: BTreeMap::new(),
            delivered: Vec::new(),
            reported: 0,
        })
    }

    /// What the network is called.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// Takes what has come, and waits a moment for it.
    ///
    /// # Errors
    /// The kernel's; what cannot be written.
    pub fn turn(&mut self) -> anyhow::Result<()> {
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
        let user = message.uri().and_then(|it| it.user).unwrap_or_default();
        let number = self.names.number_of(user);
        let answers = message.first(Header::InReplyTo);
        let is_message = message.method() == Method::Message;
        let is_silent = is_message && answers.is_none() && self.silent.as_deref() == Some(&*number);
        let status = if is_silent { "480 Temporarily Unavailable" } else { "200 OK" };
        let mut out = format!("SIP/2.0 {status}\r\n").into_bytes();
        sip::write::response_head(&mut out, message, self.gateway, Some(&b"core"[..]), &[]);
        sip::write::no_body(&mut out);
        self.socket.send_to(&out, self.gateway)?;
        if !is_message || is_silent {
            return Ok(());
        }
        if is_plain_text(message) {
            let from = message.first(Header::PAssertedIdentity).or(message.first(Header::From));
            let from = from.and_then(|it| NameAddr::parse(it).ok()?.parse_uri().ok()?.user);
            let from = from.unwrap_or_default();
            let (to, from) = (number, self.names.number_of(from));
            let text = String::from_utf8_lossy(message.body()).into_owned();
            self.delivered.push(Delivered { to, from, text, is_plain: true });
            return Ok(());
        }
        let read = RpMessage::read(message.body()).ok();
        match (read, answers) {
            (Some(report), Some(answers)) => {
                let answers = String::from_utf8_lossy(answers).into_owned();
                match report.failure {
                    None => {
                        self.acknowledged.insert(answers);
                    }
                    Some(failure) => {
                        let number = failure.octet & 0x7f;
                        let name = failure.cause().map_or("", |it| it.name());
                        self.refused.insert(answers, format!("RP-Cause {number} {name}"));
                    }
                }
            }
            (Some(data), None) => self.received(&number, &data, &call_id)?,
            _ => {}
        }
        Ok(())
    }

    /// A terminal takes a message, and reports that.
    fn received(
        &mut self,
        number: &str,
        data: &RpMessage<'_>,
        call_id: &str,
    ) -> anyhow::Result<()> {
        let octets = data.user_data.unwrap_or_default();
        if let Some(Ok(tpdu)) = data.tpdu_kind().map(|it| it.read(octets)) {
            match tpdu.status() {
                Some(status) => self.reported += u64::from(status == Status::Received),
                None => {
                    let text = tpdu.user_data().and_then(|it| it.text().ok().flatten());
                    let from = tpdu.address().map(Address::text).unwrap_or_default();
                    let (to, text) = (number.to_owned(), text.unwrap_or_default());
                    self.delivered.push(Delivered { to, from, text, is_plain: false });
                }
            }
        }
        let mut body = Vec::new();
        data.answer(None, None).write(&mut body)?;
        let more = [(Header::InReplyTo, call_id.as_bytes().to_vec())];
        self.request("MESSAGE", number, (rp::CONTENT_TYPE, &body), &more)?;
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
        let Names { centre, domain, .. } = &self.names;
        let (uri, identity) = (format!("sip:+{centre}@{domain}"), self.names.identity(number));
        let is_register = method == "REGISTER";
        let to = if is_register { identity.clone() } else { uri.clone() };
        let from = if is_register { format!("sip:scscf.{domain}") } else { identity.clone() };
        let mut out = Vec::new();
        let mut writer = Writer::request(&mut out, method.as_bytes(), uri.as_bytes());
        let via = format!("SIP/2.0/UDP {own};rport;branch=z9hG4bK{id}-{count}");
        writer.header(Header::Via, via.as_bytes());
        writer.number(Header::MaxForwards, 68);
        writer.header(Header::From, format!("<{from}>;tag={count}").as_bytes());
        writer.header(Header::To, format!("<{to}>").as_bytes());
        writer.header(Header::CallId, call_id.as_bytes());
        writer.header(Header::CSeq, format!("1 {method}").as_bytes());
        let asserted = format!("<{identity}>");
        writer.header(Header::PAssertedIdentity, asserted.as_bytes());
        more.iter().for_each(|(header, value)| writer.header(*header, value));
        writer.body(Some(content.0.as_bytes()), content.1);
        self.socket.send_to(&out, self.gateway)?;
        Ok(call_id)
    }

    /// A third-party REGISTER; its Call-ID.
    ///
    /// # Errors
    /// The kernel's.
    pub fn register(&mut self, number: &str, expires_s: u32) -> anyhow::Result<String> {
        let info = match self.names.users.contains_key(number) {
            true => String::new(),
            false => format!("<service-info>{number}</service-info>"),
        };
        let info = format!("<?xml version=\"1.0\"?><ims-3gpp version=\"1\">{info}</ims-3gpp>");
        // What the terminal has sent is passed on, and says that it takes short messages
        // (TS 24.341 §5.3.2.2).
        let identity = self.names.identity(number);
        let inner = format!(
            "REGISTER sip:{} SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1\r\n\
             From: <{identity}>;tag=1\r\nTo: <{identity}>\r\nCall-ID: 1@terminal\r\n\
             CSeq: 1 REGISTER\r\nMax-Forwards: 70\r\n\
             Contact: <sip:{number}@192.0.2.1>;+g.3gpp.smsip;expires={expires_s}\r\n\
             Content-Length: 0\r\n\r\n",
            self.names.domain
        );
        let part = |of: (&str, &str)| format!("--b\r\nContent-Type: {}\r\n\r\n{}\r\n", of.0, of.1);
        let parts = [("message/sip", inner.as_str()), ("application/3gpp-ims+xml", info.as_str())];
        let body = parts.map(part).concat() + "--b--\r\n";
        let contact = format!("<sip:{}>;expires={expires_s}", self.own);
        let more = [(Header::Contact, contact.into_bytes())];
        let body = ("multipart/mixed;boundary=b", body.as_bytes());
        self.request("REGISTER", number, body, &more)
    }

    /// A terminal sends a message; its Call-ID.
    ///
    /// # Errors
    /// No number, a text that is too long for one message; the kernel's.
    pub fn submit(&mut self, from: &str, to: &str, text: &str) -> anyhow::Result<String> {
        self.references = self.references.wrapping_add(1);
        let reference = self.references;
        let address = Address::international(to).with_context(|| format!("{to} is no number"))?;
        let made = Made::text(Coding::GSM7, &[], text)
            .context("the text does not fit into one message")?;
        let tpdu = Tpdu::new(Kind::Submit)
            .octet(Parameter::MessageReference, reference)
            .with(Parameter::DestinationAddress, Value::Address(address))
            .octet(Parameter::ProtocolIdentifier, 0)
            .octet(Parameter::DataCodingScheme, 0)
            .with(Parameter::StatusReportRequest, Value::Flag(true))
            .with(Parameter::UserData, Value::UserData(made.as_read(Coding::GSM7, false)));
        let (mut octets, mut body) = (Vec::new(), Vec::new());
        tpdu.write(&mut octets)?;
        let centre =
            RpAddress::international(&self.names.centre).context("the centre has no number")?;
        RpMessage::from_terminal(reference, centre, &octets).write(&mut body)?;
        self.request("MESSAGE", from, (rp::CONTENT_TYPE, &body), &[])
    }

    /// How many texts a terminal was sent.
    #[must_use]
    pub fn texts_of(&self, number: &str) -> usize {
        self.delivered.iter().filter(|it| it.to == number).count()
    }
}
