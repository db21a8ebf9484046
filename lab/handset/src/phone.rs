//! What a phone does with registrations, agreements and messages; the endpoint of ESP that it uses
//! may be one of its own ([`crate::Handset`]) or that of many phones ([`crate::Fleet`]).

use crate::text::{Draw, Register, Subscriber, line, transport};
use aka::digest::{self, Challenge, SessionKeys};
use aka::{Card, Freshness};
use esp::{Inbound, Keys, Outbound, Udp};
use ipsec::{Associations, Endpoint, Lane, Path, Streams, Way};
use machine::slots::Key;
use machine::{Duration, Time};
use memchr::memmem;
use runtime::{Flow, PortId};
use secagree::{Agreement, End, Ipsec, List, Mode, Peer, Preference, Protocol};
use sip::view::Contact;
use sip::{Header, Message, Method};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Retransmission: first after T1, then doubled up to T2 (RFC 3261 §17.1.2).
const T1: Duration = Duration::from_millis(500);
const T2: Duration = Duration::from_secs(4);
const TIMER_F: Duration = Duration::from_secs(32);

/// Why a phone fails that finds the code of its challenge wrong: it says so by an empty response
/// (TS 24.229 §5.1.1.5.3).
pub const NOT_BELIEVED: &str = "the network was not believed: the MAC of its challenge is wrong \
                                (the home has another K or OPc than the card)";
/// A challenge came without associations, or none of them is of an algorithm that the phone has.
const NO_AGREEMENT: &str = "the challenge offers no agreement that fits: its Security-Server is \
                            missing, or names none of the phone's algorithms";

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
    /// Its number among the phones of its process: its branches begin with it.
    pub number: u32,
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

/// An agreement with its keys, for a kernel that does ESP.
#[derive(Debug, Clone)]
pub struct Agreed {
    /// Addresses, ports, indices, algorithms.
    pub agreement: Agreement,
    /// CK and IK.
    pub keys: SessionKeys,
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
    /// Whether it says that the challenge was not believed: whatever comes, this ends.
    is_disbelief: bool,
}

/// What a REGISTER asks for and offers.
struct Offer {
    expires_s: u32,
    client: List,
    key: Key,
    own: Ipsec,
}

/// The ports of ESP that a phone's packets leave by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub raw: PortId,
    pub in_udp: PortId,
}

/// A turn of a phone: the time, the endpoint of ESP, and what leaves.
pub(crate) struct Turn<'a> {
    pub now: Time,
    pub esp: &'a mut Endpoint,
    /// Connections of TCP inside of it, of a phone that may have some.
    pub streams: Option<&'a mut Streams>,
    pub out: &'a mut Vec<Packet>,
}

/// A phone without its endpoint.
#[derive(Debug)]
pub(crate) struct Phone {
    config: Config,
    ports: Ports,
    card: Card,
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
    /// Seconds that the network granted.
    granted_s: u32,
    /// Whether it speaks TCP inside of ESP.
    over_tcp: bool,
    is_emergency: bool,
    /// What a kernel needs that does ESP in its place, if one does.
    agreed: Option<VecDeque<Agreed>>,
    events: VecDeque<Event>,
}

impl Phone {
    /// A phone that is off.
    pub fn new(config: Config, ports: Ports, mut draw: Draw) -> Self {
        let card = Card::new(config.subscriber.algorithm(), Freshness::usual());
        Self {
            call_id: draw.word(),
            tag: draw.word(),
            draw,
            card,
            cseq: 0,
            client_port: config.client_port,
            config,
            ports,
            current: None,
            next: None,
            old: Vec::new(),
            waiting: None,
            state: State::Off,
            granted_s: 0,
            over_tcp: false,
            is_emergency: false,
            agreed: None,
            events: VecDeque::new(),
        }
    }

    /// How far it is.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Its configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What happened, in order.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether it registers for emergencies (TS 24.229 §5.1.6.2).
    pub const fn call_for_help(&mut self, on: bool) {
        self.is_emergency = on;
    }

    /// Whether it speaks TCP under protection, or UDP.
    pub const fn speak_tcp(&mut self, on: bool) {
        self.over_tcp = on;
    }

    /// Whether it does.
    pub const fn speaks_tcp(&self) -> bool {
        self.over_tcp
    }

    /// A kernel does its ESP from now on.
    pub fn leave_esp(&mut self) {
        self.agreed.get_or_insert_default();
    }

    /// The next agreement that the kernel must know.
    pub fn agreed(&mut self) -> Option<Agreed> {
        self.agreed.as_mut()?.pop_front()
    }

    /// The set by which a packet came that a kernel has opened.
    pub fn opened(&self, packet: &Packet) -> Option<Key> {
        let is_clear = packet.to.port() == self.config.clear_port;
        let set = self.next.as_ref().or(self.current.as_ref());
        set.filter(|_| self.agreed.is_some() && !is_clear).map(|set| set.key)
    }

    /// The agreement that is used.
    pub fn agreement(&self) -> Option<&Agreement> {
        self.current.as_ref().map(|set| &set.agreement)
    }

    /// The set that is used.
    pub fn set(&self) -> Option<Key> {
        self.current.as_ref().map(|set| set.key)
    }

    /// The Call-ID of its registrations.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Its address and server port, by which the network knows it.
    pub const fn contact(&self) -> SocketAddr {
        SocketAddr::new(self.config.address, self.config.server_port)
    }

    /// Seconds that the network granted its registration.
    pub const fn granted_s(&self) -> u32 {
        self.granted_s
    }

    /// What Security-Client said in the agreement that is used.
    pub fn client(&self) -> Option<&[u8]> {
        self.current.as_ref().map(|set| set.client.as_slice())
    }

    /// Registers, or registers again: in the clear where it has no agreement.
    pub fn register(&mut self, turn: &mut Turn<'_>) {
        self.begin(self.config.expires_s, turn);
    }

    /// De-registers.
    pub fn deregister(&mut self, turn: &mut Turn<'_>) {
        self.begin(0, turn);
    }

    /// Forgets all of its agreements, as one that was switched off and on.
    pub fn restart(&mut self, esp: &mut Endpoint) {
        let sets = self.old.drain(..).chain(self.current.take()).chain(self.next.take());
        sets.for_each(|set| esp.remove(set.key));
        if let Some(waiting) = self.waiting.take() {
            esp.remove(waiting.own.0);
        }
        self.state = State::Off;
        self.call_id = self.draw.word();
    }

    fn begin(&mut self, expires_s: u32, turn: &mut Turn<'_>) {
        self.give_up(turn.esp);
        let Some((key, [spi_c, spi_s])) = turn.esp.reserve() else { return };
        self.client_port = self.client_port.wrapping_add(1).max(1_024);
        let (alg, ealg) = self.config.preference.pairs[0];
        let mode = self.config.preference.modes[0];
        let (port_c, port_s) = (self.client_port, self.config.server_port);
        let protocol = Protocol::Esp;
        let own = Ipsec { alg, ealg, protocol, mode, spi_c, spi_s, port_c, port_s };
        let mut client = self.config.preference.list(&own, mode);
        client.0.iter_mut().for_each(|it| it.q = None);
        let by = self.current.as_ref().map(|set| set.key);
        self.send_register(None, Offer { expires_s, client, key, own }, by, turn);
    }

    /// What a REGISTER that failed leaves behind.
    fn give_up(&mut self, esp: &mut Endpoint) {
        if let Some(set) = self.next.take() {
            esp.remove(set.key);
        } else if let Some(waiting) = &self.waiting {
            esp.remove(waiting.own.0);
        }
        self.waiting = None;
    }

    fn send_register(
        &mut self,
        authorization: Option<Vec<u8>>,
        offer: Offer,
        by: Option<Key>,
        turn: &mut Turn<'_>,
    ) {
        let Offer { expires_s, client, key, own } = offer;
        let own = (key, own);
        self.cseq += 1;
        let mut text = Vec::new();
        client.write(&mut text);
        let port = if by.is_some() { self.config.server_port } else { self.config.clear_port };
        let branch = format!("{:08x}{}", self.config.number, self.draw.word());
        let verify = self.set_of(by).map(|set| set.server.clone());
        let bytes = Register {
            subscriber: &self.config.subscriber,
            via: SocketAddr::new(self.config.address, port),
            tcp: (self.over_tcp && by.is_some(), self.over_tcp),
            contact: self.contact(),
            is_emergency: self.is_emergency,
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
        let now = turn.now;
        let (next, interval, until) = (now + T1, T1, now + TIMER_F);
        self.state = State::Registering;
        let is_disbelief = false;
        self.waiting = Some(Waiting {
            bytes,
            by,
            next,
            interval,
            until,
            expires_s,
            client,
            own,
            is_disbelief,
        });
        self.resend(turn);
    }

    fn set_of(&self, key: Option<Key>) -> Option<&Set> {
        let key = key?;
        let sets = self.next.iter().chain(&self.current).chain(&self.old);
        sets.into_iter().find(|set| set.key == key)
    }

    fn resend(&self, turn: &mut Turn<'_>) {
        let Some(waiting) = &self.waiting else { return };
        match waiting.by {
            Some(key) => self.packet(key, &waiting.bytes, turn),
            None => turn.out.push(Packet {
                carrier: Carrier::Clear,
                from: SocketAddr::new(self.config.address, self.config.clear_port),
                to: self.config.pcscf,
                bytes: waiting.bytes.clone(),
            }),
        }
    }

    /// Sends by a set.
    fn packet(&self, key: Key, bytes: &[u8], turn: &mut Turn<'_>) {
        if self.agreed.is_some() {
            let (carrier, bytes) = (Carrier::Clear, bytes.to_vec());
            let made = self.ends(key).map(|(from, to)| Packet { carrier, from, to, bytes });
            return turn.out.extend(made);
        }
        if let Some(streams) = turn.streams.as_deref_mut().filter(|_| self.over_tcp) {
            let Some(ends) = self.ends(key) else { return };
            // A request goes by the connection that the phone opens, an answer by the one that
            // stands (TS 33.203 §7.1).
            let [own, other] = [Lane::First, Lane::Second].map(|lane| Way { set: key, lane });
            let is_answer = bytes.starts_with(b"SIP/2.0 ") && !streams.is_open(own);
            let way = if is_answer && streams.is_open(other) { other } else { own };
            streams.send(turn.now, turn.esp, way, ends, bytes);
            return;
        }
        let mut packet = Vec::new();
        let flow = self.protect(key, bytes, turn.esp, &mut packet);
        let Some(flow) = flow else { return };
        let carrier = if flow.port == self.ports.raw { Carrier::Esp } else { Carrier::InUdp };
        turn.out.push(Packet { carrier, from: flow.local, to: flow.remote, bytes: packet });
    }

    /// Protects a message by a set: from the phone's client port to the server port of the network.
    fn protect(
        &self,
        key: Key,
        bytes: &[u8],
        esp: &mut Endpoint,
        packet: &mut Vec<u8>,
    ) -> Option<Flow> {
        esp.protect(key, Lane::First, self.ends(key)?, bytes, packet)
    }

    /// The phone's client port, and the server port of the network.
    fn ends(&self, key: Key) -> Option<(SocketAddr, SocketAddr)> {
        let agreement = &self.set_of(Some(key))?.agreement;
        let (ue, pcscf) = (agreement.ue, agreement.pcscf);
        let own = SocketAddr::new(ue.address, ue.ipsec.port_c);
        Some((own, SocketAddr::new(pcscf.address, pcscf.ipsec.port_s)))
    }

    /// Writes a request or an answer of the caller's as the agreement that is used protects it;
    /// requests get what they must say (RFC 3329 §2.3.1). `text` is room for the message.
    pub fn write(
        &self,
        bytes: &[u8],
        text: &mut Vec<u8>,
        esp: &mut Endpoint,
        packet: &mut Vec<u8>,
    ) -> Option<Flow> {
        let set = self.current.as_ref()?;
        self.protect(set.key, verified(set, bytes, text), esp, packet)
    }

    /// Sends a request or an answer of the caller's under the agreement that is used.
    pub fn send(&self, bytes: &[u8], turn: &mut Turn<'_>) {
        let Some(set) = &self.current else { return };
        self.packet(set.key, verified(set, bytes, &mut Vec::new()), turn);
    }

    /// A request as it leaves under the agreement that is used.
    pub fn verified(&self, bytes: &[u8]) -> Vec<u8> {
        let set = self.current.as_ref();
        set.map_or_else(Vec::new, |set| verified(set, bytes, &mut Vec::new()).to_vec())
    }

    /// Sends octets as they are under the agreement that is used.
    pub fn say(&self, bytes: &[u8], turn: &mut Turn<'_>) {
        if let Some(set) = &self.current {
            self.packet(set.key, bytes, turn);
        }
    }

    /// Something came under protection that is no answer to a REGISTER.
    pub fn came(&mut self, bytes: Vec<u8>) {
        self.events.push_back(Event::Came(bytes));
    }

    /// An answer to a REGISTER, by a set or in the clear.
    pub fn answered(&mut self, by: Option<Key>, bytes: &[u8], turn: &mut Turn<'_>) {
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
        if waiting.is_disbelief {
            return self.fail(State::Failed(NOT_BELIEVED), turn.esp);
        }
        match status {
            401 => self.challenged(&message, turn),
            200..=299 => {
                self.granted_s = granted_s(&message, self.contact()).unwrap_or(waiting.expires_s);
                self.accepted(turn.esp);
            }
            _ => self.fail(State::Refused(status), turn.esp),
        }
    }

    fn fail(&mut self, state: State, esp: &mut Endpoint) {
        self.give_up(esp);
        self.state = state;
        self.events.push_back(Event::Failed(state));
    }

    fn challenged(&mut self, message: &Message<'_>, turn: &mut Turn<'_>) {
        let reserved = self.waiting.as_ref().map(|waiting| waiting.own.0);
        if let Err(why) = self.answer_challenge(message, turn) {
            reserved.into_iter().for_each(|key| turn.esp.remove(key));
            self.fail(State::Failed(why), turn.esp);
        }
    }

    fn answer_challenge(
        &mut self,
        message: &Message<'_>,
        turn: &mut Turn<'_>,
    ) -> Result<(), &'static str> {
        let Some(waiting) = self.waiting.take() else { return Ok(()) };
        let server = List::read(message.values(Header::SecurityServer)).unwrap_or_default();
        let value = message.lines_of(Header::WwwAuthenticate).next().map(|line| line.value);
        let challenge =
            value.and_then(|value| Challenge::read(value).ok()).ok_or("no challenge")?;
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
        answered.credentials.as_ref().ok_or("no AKA")?.write(&mut authorization);
        let is_disbelief = answered.outcome == digest::Outcome::WrongNetwork;
        let by = match answered.outcome {
            digest::Outcome::Answered(keys) => {
                let set = self.agree(&waiting, &server, &keys, turn.esp);
                let set = set.ok_or(NO_AGREEMENT)?;
                let by = Some(set.key);
                self.next = Some(set);
                by
            }
            digest::Outcome::Resynchronising | digest::Outcome::WrongNetwork => waiting.by,
            digest::Outcome::NoChallenge => return Err("the challenge is none of AKA"),
        };
        let (key, own) = waiting.own;
        let offer = Offer { expires_s: waiting.expires_s, client: waiting.client, key, own };
        self.send_register(Some(authorization), offer, by, turn);
        if let Some(waiting) = &mut self.waiting {
            waiting.is_disbelief = is_disbelief;
        }
        Ok(())
    }

    /// Makes the four associations.
    fn agree(
        &mut self,
        waiting: &Waiting,
        server: &List,
        keys: &SessionKeys,
        esp: &mut Endpoint,
    ) -> Option<Set> {
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
        if let Some(agreed) = &mut self.agreed {
            agreed.push_back(Agreed { agreement, keys: keys.clone() });
        }
        let (algorithm, keys) = (choice.of.algorithm()?, choice.of.keys(keys)?);
        let keys = Keys::new(algorithm, keys.material(), algorithm.is_legacy()).ok()?;
        let inbound = |it| Inbound::with_keys(agreement.parameters(&it, End::Ue)?, &keys).ok();
        let mut outbound = |it| {
            let mut seed = [0; 16];
            seed[..8].copy_from_slice(&self.draw.number().to_be_bytes());
            Outbound::with_keys(agreement.parameters(&it, End::Ue)?, &keys, seed).ok()
        };
        let number = if in_udp { Udp::PORT } else { 0 };
        let path = Path {
            port: if in_udp { self.ports.in_udp } else { self.ports.raw },
            local: SocketAddr::new(address, number),
            remote: SocketAddr::new(pcscf, number),
            in_udp,
        };
        let made = Associations {
            inbound: [Some(inbound(to_own_client)?), Some(inbound(to_own_server)?)],
            outbound: [Some(outbound(to_server)?), Some(outbound(to_client)?)],
            path,
            owner: self.config.number,
        };
        let (mut client_text, mut server_text) = (Vec::new(), Vec::new());
        waiting.client.write(&mut client_text);
        server.write(&mut server_text);
        esp.install(key, made).then_some(Set {
            key,
            agreement,
            client: client_text,
            server: server_text,
        })
    }

    fn accepted(&mut self, esp: &mut Endpoint) {
        let Some(waiting) = self.waiting.take() else { return };
        match self.next.take() {
            Some(set) => self.old.extend(self.current.replace(set)),
            None => esp.remove(waiting.own.0), // accepted without a challenge
        }
        while self.old.len() > 2 {
            let set = self.old.remove(0);
            esp.remove(set.key);
        }
        if waiting.expires_s == 0 {
            self.restart(esp);
            return self.events.push_back(Event::Deregistered);
        }
        self.state = State::Registered;
        self.events.push_back(Event::Registered);
    }

    /// Answers a request that came with `status`.
    pub fn answer(&self, request: &[u8], status: u16, body: &[u8], turn: &mut Turn<'_>) {
        let Ok(message) = Message::parse(request) else { return };
        if message.method() == Method::Ack || !message.is_request() {
            return;
        }
        let mut text = format!("SIP/2.0 {status} Answer\r\n").into_bytes();
        let from = self.config.pcscf;
        sip::write::response_head(&mut text, &message, from, Some(self.tag.as_bytes()), b"");
        let (user, transport) = (self.config.subscriber.user(), transport(self.over_tcp));
        let contact = format!("<sip:{user}@{}{transport}>", self.contact());
        line(&mut text, "Contact", contact.as_bytes());
        if body.is_empty() {
            sip::write::no_body(&mut text);
        } else {
            line(&mut text, "Content-Type", b"application/sdp");
            sip::write::content_length(&mut text, body.len());
            text.extend_from_slice(b"\r\n");
            text.extend_from_slice(body);
        }
        self.send(&text, turn);
    }

    /// Lets time pass.
    pub fn tick(&mut self, turn: &mut Turn<'_>) {
        let Some(waiting) = &mut self.waiting else { return };
        if waiting.until <= turn.now {
            return self.fail(State::Failed("nobody answers"), turn.esp);
        }
        if waiting.next <= turn.now {
            waiting.interval = (waiting.interval * 2).min(T2);
            waiting.next = turn.now + waiting.interval;
            if self.over_tcp && waiting.by.is_some() {
                return; // the connection sends it again (RFC 3261 §17.1.2.1)
            }
            self.resend(turn);
        }
    }

    /// When [`Phone::tick`] wants to be called.
    pub fn deadline(&self) -> Option<Time> {
        self.waiting.as_ref().map(|waiting| waiting.next.min(waiting.until))
    }
}

/// A request with what it must say under an agreement (RFC 3329 §2.3.1), in `text`; others as they
/// are.
fn verified<'a>(set: &Set, bytes: &'a [u8], text: &'a mut Vec<u8>) -> &'a [u8] {
    let is_request = !bytes.starts_with(b"SIP/2.0 ");
    if !is_request || bytes.starts_with(b"ACK ") || bytes.starts_with(b"CANCEL ") {
        return bytes;
    }
    let end = memmem::find(bytes, b"\r\n\r\n").map_or(bytes.len(), |end| end + 2);
    text.clear();
    text.extend_from_slice(&bytes[..end]);
    line(text, "Require", b"sec-agree");
    line(text, "Proxy-Require", b"sec-agree");
    line(text, "Security-Verify", &set.server);
    text.extend_from_slice(&bytes[end..]);
    text
}

/// Seconds that an answer grants to a contact (RFC 3261 §10.2.4).
fn granted_s(message: &Message<'_>, own: SocketAddr) -> Option<u32> {
    let own = own.to_string();
    let mut values = message.values(Header::Contact);
    let value = values.find(|value| memmem::find(value, own.as_bytes()).is_some())?;
    let header = message.header(Header::Expires);
    let header = header.and_then(|it| core::str::from_utf8(it).ok()?.trim().parse().ok());
    match Contact::parse(value) {
        Ok(Contact::Address(contact)) => contact.expires_s().or(header),
        _ => header,
    }
}

/// Whether it is an answer to a REGISTER.
pub(crate) fn is_answer_to_register(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SIP/2.0 ") && memmem::find(bytes, b" REGISTER\r\n").is_some()
}
