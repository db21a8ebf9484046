//! A home network as a P-CSCF sees it: S-CSCF and HSS in one, for registrations.

use crate::notifier::Notifier;
use crate::passing;
use crate::text::{Draw, Subscriber, description, line};
use aka::digest::{Algorithm, Credentials, Qops, Refused, Request, Server};
use aka::{Amf, Generator, GeneratorState, Rand, Scheme, Vector};
use machine::Time;
use sip::{Header, Message, Method, NameAddr};
use std::collections::HashMap;
use std::net::SocketAddr;

/// Answers that are kept for copies of their requests.
const KEPT_MAX: usize = 4_096;

/// What a home network has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HomeCounts {
    /// Challenges.
    pub challenges: u64,
    /// Registrations that were accepted.
    pub accepted: u64,
    /// De-registrations that were.
    pub removed: u64,
    /// Responses that were wrong.
    pub refused: u64,
    /// Resynchronisations.
    pub resynchronised: u64,
    /// Responses that did not come under protection.
    pub unprotected: u64,
}

struct Card {
    subscriber: Subscriber,
    home: aka::Home,
    server: Option<Server>,
    /// The last vector.
    last: Option<Vector>,
    /// The contact that is registered.
    contact: Option<Vec<u8>>,
    /// What its P-Associated-URI says, where that is not its public identity alone.
    associated: Option<String>,
}

/// A home network.
pub struct Home {
    cards: HashMap<String, Card>,
    draw: Draw,
    kept: HashMap<Vec<u8>, Vec<u8>>,
    counts: HomeCounts,
    /// Whether a registration that came under protection is challenged again.
    challenges_again: bool,
    /// Whether right responses are refused.
    refuses: bool,
    algorithm: Algorithm,
    /// Whether the same challenge serves until a card does not take it any more.
    repeats: bool,
    /// Where calls are answered by itself.
    calls: Option<SocketAddr>,
    /// Whether calls to its own cards are passed on to them.
    passes_on: bool,
    /// What it passes on, each to where it goes.
    passed: Vec<(SocketAddr, Vec<u8>)>,
    /// Whom it tells of registrations.
    notifier: Notifier,
    /// Whether it tells anybody.
    knows_events: bool,
}

impl core::fmt::Debug for Home {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a home network of {} cards", self.cards.len())
    }
}

impl Home {
    /// A home network of these subscribers.
    #[must_use]
    pub fn new(subscribers: impl IntoIterator<Item = Subscriber>, seed: u64) -> Self {
        let card = |subscriber: Subscriber| {
            let generator = Generator::new(Scheme::Counter, 5, GeneratorState::default());
            let home = aka::Home::new(subscriber.algorithm(), Amf([0x80, 0]), generator);
            let impi = subscriber.impi.clone();
            let (server, last, contact, associated) = (None, None, None, None);
            (impi, Card { subscriber, home, server, last, contact, associated })
        };
        Self {
            cards: subscribers.into_iter().map(card).collect(),
            draw: Draw::new(seed),
            kept: HashMap::new(),
            counts: HomeCounts::default(),
            challenges_again: true,
            refuses: false,
            algorithm: Algorithm::named(b"AKAv1-MD5").expect("it is one"),
            repeats: false,
            calls: None,
            passes_on: false,
            passed: Vec::new(),
            notifier: Notifier::default(),
            knows_events: true,
        }
    }

    /// Whether registrations are challenged although they come under protection.
    pub const fn challenge_again(&mut self, on: bool) {
        self.challenges_again = on;
    }

    /// Whether a subscriber gets the challenge again that it had last, as no home network may do
    /// (RFC 3310 §3.2), until its card does not take it.
    pub const fn repeat_challenges(&mut self, on: bool) {
        self.repeats = on;
    }

    /// Calls to it are answered here, with a description; without it a call gets a bare 200.
    pub const fn answer_calls_at(&mut self, address: SocketAddr) {
        self.calls = Some(address);
    }

    /// Calls to its own cards go on to them, to the P-CSCF that they came from; others are answered
    /// here ([`Home::answer_calls_at`]).
    pub const fn pass_calls_on(&mut self) {
        self.passes_on = true;
    }

    /// Whether it refuses responses although they are right: the subscription is barred.
    pub const fn refuse(&mut self, on: bool) {
        self.refuses = on;
    }

    /// Whether it knows the event package reg (489 otherwise).
    pub const fn know_events(&mut self, on: bool) {
        self.knows_events = on;
    }

    /// What P-Associated-URI says of a subscriber from its next registration on: its implicit set,
    /// the default identity first, without those that are barred.
    pub fn associate(&mut self, impi: &str, identities: &str) {
        if let Some(card) = self.cards.get_mut(impi) {
            card.associated = Some(identities.to_owned());
        }
    }

    /// What it has seen.
    #[must_use]
    pub const fn counts(&self) -> HomeCounts {
        self.counts
    }

    /// The contact of a private identity.
    #[must_use]
    pub fn contact(&self, impi: &str) -> Option<&[u8]> {
        self.cards.get(impi)?.contact.as_deref()
    }

    /// Dies and begins anew: of registrations, of challenges under way and of who has subscribed to
    /// what it knows nothing more. The numbers of its cards are those of the HSS, which stands.
    pub fn crash(&mut self) {
        for card in self.cards.values_mut() {
            (card.server, card.last, card.contact) = (None, None, None);
        }
        self.kept.clear();
        self.passed.clear();
        self.notifier = Notifier::default();
    }

    /// Forgets the sequence numbers of a subscriber: its card wants to be resynchronised.
    pub fn forget_numbers(&mut self, impi: &str) {
        if let Some(card) = self.cards.get_mut(impi) {
            let generator = Generator::new(Scheme::Counter, 5, GeneratorState::default());
            card.home = aka::Home::new(card.subscriber.algorithm(), Amf([0x80, 0]), generator);
        }
    }

    /// A request of a call between its phones, as it goes on.
    fn passed_on(&self, message: &Message<'_>) -> Option<Vec<u8>> {
        let own = self.calls.filter(|_| self.passes_on)?;
        let may = matches!(message.method(), Method::Invite | Method::Ack | Method::Cancel);
        let is_route = |it: &[u8]| String::from_utf8_lossy(it).contains(&own.to_string());
        if message.header(Header::Route).is_some_and(is_route) {
            return Some(passing::onward(message, own, message.request_uri()?, false));
        }
        let user = message.uri().and_then(|it| it.user).filter(|_| may)?;
        let card = self.cards.values().find(|it| it.subscriber.user().as_bytes() == user)?;
        let contact = NameAddr::parse(card.contact.as_deref()?).ok()?;
        Some(passing::onward(message, own, contact.uri, message.method() == Method::Invite))
    }

    /// Answers a request that came from there; `None`: it is none, or wants no answer.
    pub fn receive(&mut self, _now: Time, from: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        let message = Message::parse(bytes).ok()?;
        if !message.is_request() {
            let back = passing::backward(&message);
            self.passed.extend(back.map(|back| (from, back)));
            return None;
        }
        if let Some(onward) = self.passed_on(&message) {
            self.passed.push((from, onward));
            return None;
        }
        if message.method() == Method::Ack {
            return None;
        }
        // Of another sender the same branch is another transaction (RFC 3261 §17.2.3): each
        // challenge has a vector of its own (RFC 3310 §3.2).
        let via = message.via();
        let mut name = via.branch.unwrap_or_default().to_vec();
        name.extend_from_slice(via.host);
        name.extend_from_slice(&via.port.unwrap_or(5_060).to_be_bytes());
        name.extend_from_slice(message.call_id());
        name.extend_from_slice(&message.cseq().number.to_be_bytes());
        if let Some(kept) = self.kept.get(&name) {
            return Some(kept.clone());
        }
        let answer = match message.method() {
            Method::Register => self.register(&message, from),
            Method::Invite if self.calls.is_some() => self.called(&message, from),
            Method::Subscribe => self.subscribed(&message, from),
            _ => head(&message, from, "200 OK", &self.draw.word(), &[]),
        };
        if self.kept.len() >= KEPT_MAX {
            self.kept.clear();
        }
        self.kept.insert(name, answer.clone());
        Some(answer)
    }

    /// Who subscribes to the registrations of a public user identity is told of them.
    fn subscribed(&mut self, message: &Message<'_>, from: SocketAddr) -> Vec<u8> {
        let tag = self.draw.word();
        if !self.knows_events {
            return head(message, from, "489 Bad Event", &tag, &[]);
        }
        let identity = match self.notifier.identity_of(message) {
            Some(identity) => identity,
            None => String::from_utf8_lossy(message.request_uri().unwrap_or_default()).into_owned(),
        };
        let card = self.cards.values().find(|card| card.subscriber.impu == identity);
        let Some(card) = card else { return head(message, from, "404 Not Found", &tag, &[]) };
        let contact = card.contact.clone();
        match self.notifier.subscribe(message, from, &identity, &tag) {
            Ok(lines) => {
                self.notifier.tell(&identity, contact.as_deref(), None);
                let tag = self.notifier.tag_of(message).unwrap_or(tag);
                head(message, from, "200 OK", &tag, &lines)
            }
            Err(status) => head(message, from, status, &tag, &[]),
        }
    }

    /// Ends the registration of a subscriber, and tells those who have subscribed to it why.
    /// `false`: there is none.
    pub fn deregister(&mut self, impi: &str, why: reginfo::Event) -> bool {
        let Some(card) = self.cards.get_mut(impi) else { return false };
        let Some(contact) = card.contact.take() else { return false };
        self.notifier.tell(&card.subscriber.impu, Some(&contact), Some(why));
        true
    }

    /// What it has to send of itself, each to where it goes.
    pub fn notifies(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut all = core::mem::take(&mut self.passed);
        all.append(&mut self.notifier.take());
        all
    }

    fn called(&mut self, message: &Message<'_>, from: SocketAddr) -> Vec<u8> {
        let own = self.calls.unwrap_or(from);
        let (body, tag) = (description(own.ip()), self.draw.word());
        let mut out = b"SIP/2.0 200 OK\r\n".to_vec();
        sip::write::response_head(&mut out, message, from, Some(tag.as_bytes()), b"");
        line(&mut out, "Contact", format!("<sip:network@{own}>").as_bytes());
        line(&mut out, "Content-Type", b"application/sdp");
        sip::write::content_length(&mut out, body.len());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&body);
        out
    }

    fn register(&mut self, message: &Message<'_>, from: SocketAddr) -> Vec<u8> {
        let tag = self.draw.word();
        let uri = message.request_uri().unwrap_or_default();
        let line = message.lines_of(Header::Authorization).next().map(|line| line.value);
        let credentials = line.and_then(|value| Credentials::read(value).ok());
        let impi =
            credentials.as_ref().map(|it| String::from_utf8_lossy(&it.username).into_owned());
        let card = impi.and_then(|impi| self.cards.get_mut(&impi));
        let (Some(credentials), Some(card)) = (credentials, card) else {
            return head(message, from, "403 Forbidden", &tag, &[]);
        };
        let protection = credentials.integrity_protected.as_deref();
        let is_protected = protection.is_some_and(|said| said == b"yes");
        if let Some(server) = &mut card.server
            && !credentials.nonce.is_empty()
        {
            match server.check(&credentials, uri, Request::REGISTER) {
                Ok(_) if self.refuses => {
                    self.counts.refused += 1;
                    card.server = None;
                    return head(message, from, "403 Forbidden", &tag, &[]);
                }
                Ok(_) if is_protected => {
                    card.server = None;
                    return accept(&mut self.counts, &mut self.notifier, card, message, from, &tag);
                }
                Ok(_) => self.counts.unprotected += 1,
                Err(Refused::Resynchronise(auts)) => {
                    let rand = *server.rand();
                    if card.home.resynchronise(&rand, &auts, 0).is_ok() {
                        self.counts.resynchronised += 1;
                    }
                }
                Err(Refused::Nonce) => {}
                Err(_) => {
                    self.counts.refused += 1;
                    card.server = None;
                    return head(message, from, "403 Forbidden", &tag, &[]);
                }
            }
        } else if is_protected && !self.challenges_again && card.contact.is_some() {
            return accept(&mut self.counts, &mut self.notifier, card, message, from, &tag);
        }
        let mut rand = [0; 16];
        rand[..8].copy_from_slice(&self.draw.number().to_be_bytes());
        rand[8..].copy_from_slice(&self.draw.number().to_be_bytes());
        let asks_again = credentials.auts.is_some();
        let repeated = card.last.take().filter(|_| self.repeats && !asks_again);
        let vector = repeated.or_else(|| card.home.vector(Rand(rand), 0).ok());
        let Some(vector) = vector else {
            return head(message, from, "500 Server Internal Error", &tag, &[]);
        };
        card.last = Some(vector.clone());
        self.counts.challenges += 1;
        let (impi, realm) = (card.subscriber.impi.as_bytes(), card.subscriber.realm.as_bytes());
        let server = Server::new(self.algorithm, impi, realm, Qops::AUTH, vector, &[]);
        let mut value = Vec::new();
        server.challenge(true).write(&mut value);
        card.server = Some(server);
        let lines = [("WWW-Authenticate", value)];
        head(message, from, "401 Unauthorized", &tag, &lines)
    }
}

fn accept(
    counts: &mut HomeCounts,
    notifier: &mut Notifier,
    card: &mut Card,
    message: &Message<'_>,
    from: SocketAddr,
    tag: &str,
) -> Vec<u8> {
    let contact = message.header(Header::Contact).unwrap_or_default().to_vec();
    let text = String::from_utf8_lossy(&contact).into_owned();
    let is_zero = |value: &str| value.trim() == "0";
    let header = message.header(Header::Expires).map(|it| String::from_utf8_lossy(it).into_owned());
    let param = text.split(';').find_map(|it| it.trim().strip_prefix("expires="));
    let removes = param.map_or(header.as_deref().is_some_and(is_zero), is_zero);
    if removes {
        counts.removed += 1;
        let contact = card.contact.take();
        notifier.tell(
            &card.subscriber.impu,
            contact.as_deref(),
            Some(reginfo::Event::Unregistered),
        );
        return head(message, from, "200 OK", tag, &[]);
    }
    counts.accepted += 1;
    card.contact = Some(contact.clone());
    notifier.tell(&card.subscriber.impu, Some(&contact), None);
    let expires = header.unwrap_or_else(|| "600".to_owned()).into_bytes();
    let own = || format!("<{}>", card.subscriber.impu);
    let associated = card.associated.clone().unwrap_or_else(own);
    let mut lines = vec![("Contact", contact), ("P-Associated-URI", associated.into_bytes())];
    if param.is_none() {
        lines.push(("Expires", expires));
    }
    head(message, from, "200 OK", tag, &lines)
}

fn head(
    message: &Message<'_>,
    from: SocketAddr,
    status: &str,
    tag: &str,
    lines: &[(&str, Vec<u8>)],
) -> Vec<u8> {
    let mut out = format!("SIP/2.0 {status}\r\n").into_bytes();
    sip::write::response_head(&mut out, message, from, Some(tag.as_bytes()), b"");
    for (name, value) in lines {
        line(&mut out, name, value);
    }
    sip::write::no_body(&mut out);
    out
}
