//! The S-CSCF of the scene with both terminals, over UDP.

use super::{BOB, CENTRE, DOMAIN};
use anyhow::Context;
use sip::{Header, Message, Method, Writer};
use sms::rp::{self, Message as RpMessage};
use sms::{Address, Coding, Kind, Made, Parameter, RpAddress, Status, Tpdu, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

const TURN: Duration = Duration::from_millis(20);

/// The user of Bob's identity, which has no number in it.
const USER: &str = "bob";

/// The public identity of a terminal.
pub(super) fn identity(number: &str) -> String {
    match number {
        BOB => format!("sip:{USER}@{DOMAIN}"),
        _ => format!("sip:+{number}@{DOMAIN}"),
    }
}

/// The number of the user of an identity.
fn number_of(user: &[u8]) -> String {
    match String::from_utf8_lossy(user).trim_start_matches('+') {
        USER => BOB.to_owned(),
        number => number.to_owned(),
    }
}

/// The S-CSCF with both terminals.
pub(super) struct Core {
    socket: UdpSocket,
    pub(super) own: SocketAddr,
    pub(super) gateway: SocketAddr,
    /// Whether Bob's phone is registered and does not answer.
    pub(super) is_silent: bool,
    requests: u32,
    references: u8,
    /// Final responses, by the Call-ID of the request.
    pub(super) answered: BTreeMap<String, u16>,
    /// Reports of the centre that it took a message, by the Call-ID of that.
    pub(super) acknowledged: BTreeSet<String>,
    /// Texts that each terminal was sent.
    pub(super) delivered: Vec<(String, String)>,
    /// Status reports that say that a message was delivered.
    pub(super) reported: u64,
}

impl Core {
    pub(super) fn open(own: SocketAddr, gateway: SocketAddr) -> anyhow::Result<Self> {
        let socket = UdpSocket::bind(own)?;
        socket.set_read_timeout(Some(TURN))?;
        let (answered, acknowledged) = (BTreeMap::new(), BTreeSet::new());
        let (requests, references, delivered, reported) = (0, 0, Vec::new(), 0);
        Ok(Self {
            socket,
            own,
            gateway,
            is_silent: false,
            requests,
            references,
            answered,
            acknowledged,
            delivered,
            reported,
        })
    }

    /// Takes what has come.
    pub(super) fn turn(&mut self) -> anyhow::Result<()> {
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
        let number = number_of(user);
        let answers = message.first(Header::InReplyTo);
        let is_message = message.method() == Method::Message;
        let is_silent = self.is_silent && is_message && answers.is_none() && number == BOB;
        let status = if is_silent { "480 Temporarily Unavailable" } else { "200 OK" };
        let mut out = format!("SIP/2.0 {status}\r\n").into_bytes();
        sip::write::response_head(&mut out, message, self.gateway, Some(&b"core"[..]), &[]);
        sip::write::no_body(&mut out);
        self.socket.send_to(&out, self.gateway)?;
        if !is_message || is_silent {
            return Ok(());
        }
        let read = RpMessage::read(message.body()).ok();
        match (read, answers) {
            (Some(report), Some(answers)) if report.failure.is_none() => {
                self.acknowledged.insert(String::from_utf8_lossy(answers).into_owned());
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
                    self.delivered.push((number.to_owned(), text.unwrap_or_default()));
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
    pub(super) fn register(&mut self, number: &str, expires_s: u32) -> anyhow::Result<String> {
        // Of Bob the S-CSCF says who he is, and not which number he has.
        let info = match number {
            BOB => String::new(),
            _ => format!("<service-info>{number}</service-info>"),
        };
        let info = format!("<?xml version=\"1.0\"?><ims-3gpp version=\"1\">{info}</ims-3gpp>");
        let contact = format!("<sip:{}>;expires={expires_s}", self.own);
        let more = [(Header::Contact, contact.into_bytes())];
        let body = ("application/3gpp-ims+xml", info.as_bytes());
        self.request("REGISTER", number, body, &more)
    }

    /// A terminal sends a message; its Call-ID.
    pub(super) fn submit(&mut self, from: &str, to: &str, text: &str) -> anyhow::Result<String> {
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

    pub(super) fn texts_of(&self, number: &str) -> usize {
        self.delivered.iter().filter(|it| it.0 == number).count()
    }
}
