//! A phone.

use crate::text::{Draw, Register, Subscriber, line};
use aka::digest::{self, Challenge, SessionKeys};
use aka::{Card, Freshness};
use esp::{Inbound, Outbound, Spi, Udp};
use ipsec::{Address, Associations, Endpoint, Lane, Path, Settings};
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::{Flow, PortId, Transport};
use secagree::{Agreement, End, Ipsec, List, Mode, Peer, Preference, Protocol};
use sip::{Header, Message, Method};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

const RAW: PortId = PortId(1);
const IN_UDP: PortId = PortId(2);
/// Retransmission: first after T1, then doubled up to T2 (RFC 3261 §17.1.2).
const T1: Duration = Duration::from_millis(500);
const T2: Duration = Duration::from_secs(4);
const TIMER_F: Duration = Duration::from_secs(32);

/// What a packet travels in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// A datagram of SIP in the clear.
    Clear,
    /// ESP, IP protocol 50.
    Esp,
    /// ESP in UDP.
    InUdp,
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// What it travels in.
    pub carrier: Carrier,
    /// Who sends it; of ESP the port is 0.
    pub from: SocketAddr,
    /// To whom.
    pub to: SocketAddr,
    /// The datagram, or what stands behind the IP header.
    pub bytes: Vec<u8>,
}

/// What a phone knows before it speaks.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who it is.
    pub subscriber: Subscriber,
    /// Its address as it knows it.
    pub address: IpAddr,
    /// Its port in the clear.
    pub clear_port: u16,
    /// Its protected server port; the client port changes with each agreement.
    pub server_port: u16,
    /// The first of its protected client ports.
    pub client_port: u16,
    /// The P-CSCF.
    pub pcscf: SocketAddr,
    /// What it can, the best first.
    pub preference: Preference,
    /// Seconds of registration that it asks for.
    pub expires_s: u32,
    /// What its random numbers begin with.
    pub seed: u64,
}

/// How far a phone is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing was sent, or it was de-registered.
    Off,
    /// A REGISTER waits for its answer.
    Registering,
    /// It is registered.
    Registered,
    /// It was refused.
    Refused(u16),
    /// Nobody answers, or the network was not believed.
    Failed(&'static str),
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It is registered, by these indices of the network.
    Registered,
    /// It is registered no more.
    Deregistered,
    /// Something came under protection that is no answer to a REGISTER.
    Came(Vec<u8>),
    /// A registration failed.
    Failed(State),
}

/// An agreement as the phone has it.
#[derive(Debug)]
struct Set {
    key: Key,
    agreement: Agreement,
    client: Vec<u8>,
    server: Vec<u8>,
}

/// A REGISTER under way.
#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    /// By which set it was sent; `None`: in the clear.
    by: Option<Key>,
    next: Time,
    interval: Duration,
    until: Time,
    expires_s: u32,
    client: List,
    own: (Key, Ipsec),
}

/// What a REGISTER asks for and offers.
struct Offer {
    expires_s: u32,
    client: List,
    key: Key,
    own: Ipsec,
}

/// A phone.
#[derive(Debug)]
pub struct Handset {
    config: Config,
    card: Card,
    esp: Endpoint,
    draw: Draw,
    call_id: String,
    tag: String,
    cseq: u32,
    client_port: u16,
    /// The set that is used, those before it, and one that waits for its 200.
    current: Option<Set>,
    next: Option<Set>,
    old: Vec<Set>,
    waiting: Option<Waiting>,
    state: State,
    events: VecDeque<Event>,
}

impl Handset {
    /// A phone that is off.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut draw = Draw::new(config.seed);
        let address = Address { ip: config.address, raw: RAW, in_udp: Some((IN_UDP, Udp::PORT)) };
        let settings = Settings { addresses: vec![address], sets_max: 16 };
        let card = Card::new(config.subscriber.algorithm(), Freshness::usual());
        Self {
            esp: Endpoint::new(settings, 0, draw.number(), Time::ZERO),
            call_id: draw.word(),
            tag: draw.word(),
            draw,
            card,
            cseq: 0,
            client_port: config.client_port,
            config,
            current: None,
            next: None,
            old: Vec::new(),
            waiting: None,
            state: State::Off,
            events: VecDeque::new(),
        }
    }

    /// How far it is.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What happened, in order.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The indices of the network by which it sends and its own by which it receives, of the set
    /// that it uses.
    #[must_use]
    pub fn indices(&self) -> Option<[Spi; 4]> {
        let agreement = self.current.as_ref()?.agreement;
        let (ue, pcscf) = (agreement.ue.ipsec, agreement.pcscf.ipsec);
        Some([pcscf.spi_s, pcscf.spi_c, ue.spi_c, ue.spi_s])
    }

    /// Its address and server port, by which the network knows it.
    #[must_use]
    pub fn contact(&self) -> SocketAddr {
        SocketAddr::new(self.config.address, self.config.server_port)
    }

    /// Registers, or registers again: in the clear where it has no agreement.
    pub fn register(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.begin(now, self.config.expires_s, out);
    }

    /// De-registers.
    pub fn deregister(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.begin(now, 0, out);
    }

    /// Forgets all of its agreements, as one that was switched off and on.
    pub fn restart(&mut self) {
        let sets = self.old.drain(..).chain(self.current.take()).chain(self.next.take());
        sets.for_each(|set| self.esp.remove(set.key));
        if let Some(waiting) = self.waiting.take() {
            self.esp.remove(waiting.own.0);
        }
        self.state = State::Off;
        self.call_id = self.draw.word();
    }

    fn begin(&mut self, now: Time, expires_s: u32, out: &mut Vec<Packet>) {
        self.give_up();
        let Some((key, [spi_c, spi_s])) = self.esp.reserve() else { return };
        self.client_port = self.client_port.wrapping_add(1).max(1_024);
        let (alg, ealg) = self.config.preference.pairs[0];
        let mode = self.config.preference.modes[0];
        let (port_c, port_s) = (self.client_port, self.config.server_port);
        let protocol = Protocol::Esp;
        let own = Ipsec { alg, ealg, protocol, mode, spi_c, spi_s, port_c, port_s };
        let mut client = self.config.preference.list(&own, mode);
        client.0.iter_mut().for_each(|it| it.q = None);
        let by = self.current.as_ref().map(|set| set.key);
        self.send_register(now, None, Offer { expires_s, client, key, own }, by, out);
    }

    /// What a REGISTER that failed leaves behind.
    fn give_up(&mut self) {
        if let Some(set) = self.next.take() {
            self.esp.remove(set.key);
        } else if let Some(waiting) = &self.waiting {
            self.esp.remove(waiting.own.0);
        }
        self.waiting = None;
    }

    fn send_register(
        &mut self,
        now: Time,
        authorization: Option<Vec<u8>>,
        offer: Offer,
        by: Option<Key>,
        out: &mut Vec<Packet>,
    ) {
        let Offer { expires_s, client, key, own } = offer;
        let own = (key, own);
        self.cseq += 1;
        let mut text = Vec::new();
        client.write(&mut text);
        let port = if by.is_some() { self.config.server_port } else { self.config.clear_port };
        let branch = self.draw.word();
        let verify = self.set_of(by).map(|set| set.server.clone());
        let bytes = Register {
            subscriber: &self.config.subscriber,
            via: SocketAddr::new(self.config.address, port),
            contact: self.contact(),
            branch: &branch,
            tag: &self.tag,
            call_id: &self.call_id,
            cseq: self.cseq,
            expires_s,
            authorization: authorization.as_deref(),
            client: &text,
            verify: verify.as_deref(),
        }
        .write();
        let (next, interval, until) = (now + T1, T1, now + TIMER_F);
        self.state = State::Registering;
        self.waiting = Some(Waiting { bytes, by, next, interval, until, expires_s, client, own });
        self.resend(out);
    }

    fn set_of(&self, key: Option<Key>) -> Option<&Set> {
        let key = key?;
        let sets = self.next.iter().chain(&self.current).chain(&self.old);
        sets.into_iter().find(|set| set.key == key)
    }

    fn resend(&mut self, out: &mut Vec<Packet>) {
        let Some(waiting) = &self.waiting else { return };
        let (bytes, by) = (waiting.bytes.clone(), waiting.by);
        match by {
            Some(key) => self.protect(key, &bytes, out),
            None => out.push(Packet {
                carrier: Carrier::Clear,
                from: SocketAddr::new(self.config.address, self.config.clear_port),
                to: self.config.pcscf,
                bytes,
            }),
        }
    }

    /// Sends by a set: from its client port to the server port of the network.
    fn protect(&mut self, key: Key, bytes: &[u8], out: &mut Vec<Packet>) {
        let Some(agreement) = self.set_of(Some(key)).map(|set| set.agreement) else { return };
        let (ue, pcscf) = (agreement.ue, agreement.pcscf);
        let ends = (
            SocketAddr::new(ue.address, ue.ipsec.port_c),
            SocketAddr::new(pcscf.address, pcscf.ipsec.port_s),
        );
        let mut packet = Vec::new();
        let flow = self.esp.protect(key, Lane::First, ends, bytes, &mut packet);
        if let Some(flow) = flow {
            let carrier = if flow.port == RAW { Carrier::Esp } else { Carrier::InUdp };
            out.push(Packet { carrier, from: flow.local, to: flow.remote, bytes: packet });
        }
    }

    /// Sends a request or an answer of the caller's under the agreement that is used; requests get
    /// what they must say (RFC 3329 §2.3.1).
    pub fn send(&mut self, bytes: &[u8], out: &mut Vec<Packet>) {
        let Some(set) = &self.current else { return };
        let (key, server) = (set.key, set.server.clone());
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").unwrap_or(bytes.len());
        let is_request = !bytes.starts_with(b"SIP/2.0 ");
        if !is_request || bytes.starts_with(b"ACK ") || bytes.starts_with(b"CANCEL ") {
            return self.protect(key, bytes, out);
        }
        let mut text = bytes[..(end + 2).min(bytes.len())].to_vec();
        line(&mut text, "Require", b"sec-agree");
        line(&mut text, "Proxy-Require", b"sec-agree");
        line(&mut text, "Security-Verify", &server);
        text.extend_from_slice(&bytes[(end + 2).min(bytes.len())..]);
        self.protect(key, &text, out);
    }

    /// Takes a packet that came.
    pub fn receive(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) {
        if packet.carrier == Carrier::Clear {
            return self.answered(now, None, &packet.bytes, out);
        }
        let port = if packet.carrier == Carrier::Esp { RAW } else { IN_UDP };
        let local = SocketAddr::new(self.config.address, packet.to.port());
        let flow = Flow::to(port, Transport::Udp, local, packet.from);
        let Some(arrived) = self.esp.unprotect(now, &flow, &packet.bytes) else { return };
        let bytes = self.esp.octets()[arrived.payload.clone()].to_vec();
        if is_answer_to_register(&bytes) {
            return self.answered(now, Some(arrived.set), &bytes, out);
        }
        self.events.push_back(Event::Came(bytes));
    }

    /// An answer to a REGISTER, by a set or in the clear.
    fn answered(&mut self, now: Time, by: Option<Key>, bytes: &[u8], out: &mut Vec<Packet>) {
        let Ok(message) = Message::parse(bytes) else { return };
        let Some(waiting) = &self.waiting else { return };
        let is_ours =
            message.cseq().number == self.cseq && message.call_id() == self.call_id.as_bytes();
        // What was sent under protection is answered so.
        let is_as_sent = waiting.by.is_none() == by.is_none();
        let status = message.status().unwrap_or_default();
        if !is_ours || !is_as_sent || status < 200 {
            return;
        }
        match status {
            401 => self.challenged(now, &message, out),
            200..=299 => self.accepted(),
            _ => self.fail(State::Refused(status)),
        }
    }

    fn fail(&mut self, state: State) {
        self.give_up();
        self.state = state;
        self.events.push_back(Event::Failed(state));
    }

    fn challenged(&mut self, now: Time, message: &Message<'_>, out: &mut Vec<Packet>) {
        let Some(waiting) = self.waiting.take() else { return };
        let server = List::read(message.values(Header::SecurityServer)).unwrap_or_default();
        let value = message.lines_of(Header::WwwAuthenticate).next().map(|line| line.value);
        let challenge = value.and_then(|value| Challenge::read(value).ok());
        let Some(challenge) = challenge else { return self.fail(State::Failed("no challenge")) };
        assert!(challenge.keys.is_none(), "the keys came to the phone");
        let uri = format!("sip:{}", self.config.subscriber.realm);
        let (cnonce, impi) = (self.draw.word(), self.config.subscriber.impi.clone());
        let answered = digest::answer(
            &mut self.card,
            &challenge,
            impi.as_bytes(),
            uri.as_bytes(),
            cnonce.as_bytes(),
            digest::Request::REGISTER,
        );
        let mut authorization = Vec::new();
        let Some(credentials) = &answered.credentials else {
            return self.fail(State::Failed("no AKA"));
        };
        credentials.write(&mut authorization);
        let (key, own) = waiting.own;
        let expires_s = waiting.expires_s;
        match answered.outcome {
            digest::Outcome::Answered(keys) => {
                let Some(set) = self.agree(&waiting, &server, &keys) else {
                    return self.fail(State::Failed("nothing of the network's list fits"));
                };
                let by = Some(set.key);
                self.next = Some(set);
                let offer = Offer { expires_s, client: waiting.client, key, own };
                self.send_register(now, Some(authorization), offer, by, out);
            }
            digest::Outcome::Resynchronising => {
                let offer = Offer { expires_s, client: waiting.client, key, own };
                self.send_register(now, Some(authorization), offer, waiting.by, out);
            }
            _ => self.fail(State::Failed("the network was not believed")),
        }
    }

    /// Makes the four associations.
    fn agree(&mut self, waiting: &Waiting, server: &List, keys: &SessionKeys) -> Option<Set> {
        let choice = secagree::choose_server(server, &self.config.preference)?;
        let (key, own) = waiting.own;
        let (alg, ealg) = choice.pair;
        let own = Ipsec { alg, ealg, ..own };
        let in_udp = own.mode == Mode::UdpTunnel;
        let (address, pcscf) = (self.config.address, self.config.pcscf.ip());
        let outside = |address| in_udp.then_some((address, Udp::PORT));
        let agreement = Agreement {
            ue: Peer { address, outside: outside(address), ipsec: own },
            pcscf: Peer { address: pcscf, outside: outside(pcscf), ipsec: choice.of },
            transport: secagree::Transport::Any,
        };
        let [to_server, to_own_client, to_own_server, to_client] = agreement.associations()?;
        let keys = choice.of.keys(keys)?;
        let inbound = |it| Inbound::new(agreement.parameters(&it, End::Ue)?, keys.material()).ok();
        let mut outbound = |it| {
            let mut seed = [0; 16];
            seed[..8].copy_from_slice(&self.draw.number().to_be_bytes());
            Outbound::new(agreement.parameters(&it, End::Ue)?, keys.material(), seed).ok()
        };
        let number = if in_udp { Udp::PORT } else { 0 };
        let path = Path {
            port: if in_udp { IN_UDP } else { RAW },
            local: SocketAddr::new(address, number),
            remote: SocketAddr::new(pcscf, number),
            in_udp,
        };
        let made = Associations {
            inbound: [Some(inbound(to_own_client)?), Some(inbound(to_own_server)?)],
            outbound: [Some(outbound(to_server)?), Some(outbound(to_client)?)],
            path,
            owner: 0,
        };
        let (mut client_text, mut server_text) = (Vec::new(), Vec::new());
        waiting.client.write(&mut client_text);
        server.write(&mut server_text);
        self.esp.install(key, made).then_some(Set {
            key,
            agreement,
            client: client_text,
            server: server_text,
        })
    }

    fn accepted(&mut self) {
        let Some(waiting) = self.waiting.take() else { return };
        match self.next.take() {
            Some(set) => self.old.extend(self.current.replace(set)),
            None => self.esp.remove(waiting.own.0), // accepted without a challenge
        }
        while self.old.len() > 2 {
            let set = self.old.remove(0);
            self.esp.remove(set.key);
        }
        if waiting.expires_s == 0 {
            self.restart();
            return self.events.push_back(Event::Deregistered);
        }
        self.state = State::Registered;
        self.events.push_back(Event::Registered);
    }

    /// What Security-Client said in the agreement that is used.
    #[must_use]
    pub fn client(&self) -> Option<&[u8]> {
        self.current.as_ref().map(|set| set.client.as_slice())
    }

    /// Answers a request that came ([`Event::Came`]) with `status`.
    pub fn answer(&mut self, request: &[u8], status: u16, body: &[u8], out: &mut Vec<Packet>) {
        let Ok(message) = Message::parse(request) else { return };
        if message.method() == Method::Ack || !message.is_request() {
            return;
        }
        let mut text = format!("SIP/2.0 {status} Answer\r\n").into_bytes();
        let tag = self.tag.clone();
        let from = self.config.pcscf;
        sip::write::response_head(&mut text, &message, from, Some(tag.as_bytes()), b"");
        let contact = format!("<sip:{}@{}>", self.config.subscriber.user(), self.contact());
        line(&mut text, "Contact", contact.as_bytes());
        if body.is_empty() {
            sip::write::no_body(&mut text);
        } else {
            line(&mut text, "Content-Type", b"application/sdp");
            sip::write::content_length(&mut text, body.len());
            text.extend_from_slice(b"\r\n");
            text.extend_from_slice(body);
        }
        self.send(&text, out);
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Packet>) {
        let Some(waiting) = &mut self.waiting else { return };
        if waiting.until <= now {
            return self.fail(State::Failed("nobody answers"));
        }
        if waiting.next <= now {
            waiting.interval = (waiting.interval * 2).min(T2);
            waiting.next = now + waiting.interval;
            self.resend(out);
        }
    }

    /// When [`Handset::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.waiting.as_ref().map(|waiting| waiting.next.min(waiting.until))
    }
}

fn is_answer_to_register(bytes: &[u8]) -> bool {
    const CSEQ: &[u8] = b" REGISTER\r\n";
    bytes.starts_with(b"SIP/2.0 ") && bytes.windows(CSEQ.len()).any(|it| it == CSEQ)
}
