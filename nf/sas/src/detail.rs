//! One trail in full: its messages, who sent them, which became which on the other leg.

use crate::answer::unhex;
use crate::entry::{Entry, MALFORMED, RETRANSMISSION};
use crate::line::Line;
use crate::media::{self, StreamView};
use crate::protocol;
use crate::protocol::dialogue::words::Talk;
use crate::trail::{Kind, Trail, TrailView, printable};
use serde::Serialize;
use sip::Method;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use trail::Event;
use utoipa::ToSchema;

/// Longest time between a message and what it became on the other leg, microseconds.
const PAIR_MAX_US: u64 = 2_000_000;
/// Lines of a dialogue that may be the same one before they left a relay, at most.
const RELAYED_MAX: usize = 64;
/// Octets of text on one page, in about; what comes behind them is left out.
const PAGE_BYTES_MAX: usize = 32 << 20;
/// Octets that a component takes beside its text, in about.
const COMPONENT_BYTES: usize = 512;

/// A stored message, owned.
#[derive(Debug, Clone)]
pub struct Read {
    /// As [`Entry`].
    pub at_us: u64,
    /// As [`Entry`].
    pub protocol: u8,
    /// As [`Entry`].
    pub kind: u8,
    /// As [`Entry`].
    pub flags: u8,
    /// As [`Entry`].
    pub source: SocketAddr,
    /// As [`Entry`].
    pub destination: SocketAddr,
    /// As [`Entry`].
    pub tags: Vec<u8>,
    /// As [`Entry`].
    pub payload: Vec<u8>,
}

impl Read {
    /// Reads what [`Entry::encode`] wrote.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        Entry::decode(bytes).map(|entry| Self::from(&entry))
    }

    /// Its tags as one line of text.
    #[must_use]
    pub fn said(&self) -> String {
        printable(&self.tags).replace(char::is_control, " ")
    }
}

impl From<&Entry<'_>> for Read {
    fn from(entry: &Entry<'_>) -> Self {
        Self {
            at_us: entry.at_us,
            protocol: entry.protocol,
            kind: entry.kind,
            flags: entry.flags,
            source: entry.source,
            destination: entry.destination,
            tags: entry.tags.to_vec(),
            payload: entry.payload.to_vec(),
        }
    }
}

/// A trail in full.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Detail {
    /// The summary.
    pub trail: TrailView,
    /// Who took part, in the order of appearance.
    pub hosts: Vec<Host>,
    /// The messages, in the order of time.
    pub messages: Vec<MessageView>,
    /// What functions said about it.
    pub events: Vec<EventView>,
    /// Its media, each direction of a stream by itself.
    pub streams: Vec<StreamView>,
    /// Messages that are not shown: deleted by age or size, or too many octets.
    pub left_out: usize,
}

/// Someone who sent or received.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Host {
    /// `address:port`.
    pub address: String,
    /// What it calls itself (User-Agent, Server); its address when it does not say.
    pub label: String,
    /// `access` or `core` where an event tells, else null.
    pub side: Option<String>,
    /// Whether it stands between the legs.
    #[serde(rename = "self")]
    pub is_self: bool,
}

/// A message of a trail.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MessageView {
    /// Its position in the list, from 0.
    pub n: usize,
    /// Microseconds since the UNIX epoch.
    pub at_us: u64,
    /// Index of the sending host.
    pub from: usize,
    /// Index of the receiving host.
    pub to: usize,
    /// `udp`, `tcp`, `tls`, `sctp` or `other`.
    pub transport: &'static str,
    /// What its agent said of it: of a message inside of ESP the associations that it came or left
    /// by; empty: nothing.
    pub tags: String,
    /// Its Call-ID; empty when it is not SIP.
    pub call_id: String,
    /// Index of its Call-ID in the trail's list.
    pub leg: usize,
    /// Method of a SIP request, name of an M3UA or BGP message; of a dialogue its message with
    /// operations, errors and problems.
    pub method: Option<String>,
    /// Status of a response.
    pub status: Option<u16>,
    /// Reason of a response.
    pub reason: Option<String>,
    /// Number of its CSeq.
    pub cseq: Option<u32>,
    /// Method of its CSeq.
    pub cseq_method: Option<String>,
    /// The message that this one repeats.
    pub retransmission_of: Option<usize>,
    /// The message on the other leg that this one became, or came from.
    pub pair: Option<usize>,
    /// Whether it carries a session description.
    pub has_sdp: bool,
    /// Whether it tells a failure: of a dialogue an error, a reject, an abort, what came back.
    pub failed: bool,
    /// The components of a message of a dialogue, parameters by their names in ASN.1.
    pub components: Vec<serde_json::Value>,
    /// The message; of a protocol whose messages are octets its name and they, in hexadecimal.
    pub text: String,
}

/// What a function said about a trail.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EventView {
    /// Microseconds since the UNIX epoch.
    pub at_us: u64,
    /// Past tense: `CallAnswered`.
    pub name: String,
    /// The rest in words.
    pub text: String,
    /// The leg it is about.
    pub leg: Option<usize>,
    /// Index of the host that said it.
    pub host: Option<usize>,
}

/// Puts a trail's page together. `entries` come in any order and go out in that of the page.
#[must_use]
pub fn build(trail: &Trail, mut entries: Vec<Read>, mut left_out: usize) -> (Detail, Vec<Read>) {
    entries.sort_by_key(|entry| entry.at_us);
    let mut page = Page::new(trail);
    let is_media = |entry: &&Read| media::is_media(entry.kind, &entry.payload);
    let is_event =
        |entry: &&Read| entry.kind == hep::KIND_LOG && session_message_of(entry).is_none();
    let (logs, messages): (Vec<&Read>, Vec<&Read>) =
        entries.iter().filter(|entry| !is_media(entry)).partition(is_event);
    for entry in messages {
        if page.bytes > PAGE_BYTES_MAX {
            left_out += 1;
            continue;
        }
        match session_message_of(entry) {
            Some((is_ours, said)) => page.session_message(entry, is_ours, &said),
            None => page.message(entry),
        }
    }
    page.pair();
    logs.into_iter().for_each(|entry| page.event(entry));
    let Page { hosts, messages, events, .. } = page;
    let streams = media::lanes(&trail.media, &entries);
    (Detail { trail: trail.view(), hosts, messages, events, streams, left_out }, entries)
}

struct Page<'t> {
    trail: &'t Trail,
    /// What was said in its dialogue.
    talk: Talk,
    /// Nodes whose messages a host got: it passes them on.
    passes: Vec<(usize, String)>,
    /// Octets of what was made of messages.
    bytes: usize,
    hosts: Vec<Host>,
    addresses: Vec<SocketAddr>,
    messages: Vec<MessageView>,
    events: Vec<EventView>,
    first_of: HashMap<(usize, usize, Vec<u8>), usize>,
}

impl<'t> Page<'t> {
    fn new(trail: &'t Trail) -> Self {
        Self {
            trail,
            talk: Talk::reassembling(),
            passes: Vec::new(),
            bytes: 0,
            hosts: Vec::new(),
            addresses: Vec::new(),
            messages: Vec::new(),
            events: Vec::new(),
            first_of: HashMap::new(),
        }
    }

    fn host(&mut self, address: SocketAddr) -> usize {
        if let Some(at) = self.addresses.iter().position(|known| *known == address) {
            return at;
        }
        self.addresses.push(address);
        self.hosts.push(Host {
            address: address.to_string(),
            label: address.to_string(),
            side: None,
            is_self: false,
        });
        self.hosts.len() - 1
    }

    fn message(&mut self, entry: &Read) {
        let (from, to) = (self.host(entry.source), self.host(entry.destination));
        let n = self.messages.len();
        let first = *self.first_of.entry((from, to, entry.payload.clone())).or_insert(n);
        let repeats = entry.flags & RETRANSMISSION != 0 && first != n;
        let view = MessageView {
            n,
            at_us: entry.at_us,
            from,
            to,
            transport: transport(entry.protocol),
            tags: entry.said(),
            call_id: String::new(),
            leg: 0,
            method: None,
            status: None,
            reason: None,
            cseq: None,
            cseq_method: None,
            retransmission_of: repeats.then_some(first),
            pair: None,
            has_sdp: false,
            failed: false,
            components: Vec::new(),
            text: match hep::signalling(entry.kind) {
                Some(protocol) => octets(protocol, &entry.payload),
                None => printable(&entry.payload),
            },
        };
        self.messages.push(view);
        if entry.flags & MALFORMED == 0
            && let Some(row) = protocol::row(entry.kind)
        {
            let line = (row.describe)(&entry.payload, &mut self.talk);
            self.describe(line);
        }
        if let Some(view) = self.messages.last() {
            self.bytes += view.text.len() + view.components.len() * COMPONENT_BYTES;
        }
    }

    /// Says what the line that was added last is.
    fn describe(&mut self, line: Line) {
        let Some(view) = self.messages.last_mut() else { return };
        if let Some(leg) = line.leg {
            let known = self.trail.call_ids.iter().position(|known| **known == *leg);
            (view.leg, view.call_id) = (known.unwrap_or(0), leg);
        }
        view.method = line.method;
        (view.status, view.reason) = line.answer.unzip();
        (view.cseq, view.cseq_method) = line.cseq.unzip();
        (view.has_sdp, view.failed) = (line.has_sdp, line.failed);
        view.components = line.components;
        if let Some(text) = line.text {
            view.text = format!("{text}\n{}", view.text);
        }
        let (from, to) = (view.from, view.to);
        let mut name = line.agent;
        if let Some(node) = line.node {
            // A relay sends what another node has sent: it is none that would be called so.
            let passes = self.passes.contains(&(from, node.clone()));
            name = Some(node.clone()).filter(|_| !passes);
            self.passes.push((to, node));
        }
        let host = &mut self.hosts[from];
        if let Some(name) = name.filter(|_| host.label == host.address) {
            host.label = name;
        }
    }

    /// A message of a session, or a primitive of TCAP, that a function tells as an event: HEP has
    /// no number for BGP, nor for what an application says to a signalling gateway.
    fn session_message(&mut self, entry: &Read, is_ours: bool, said: &serde_json::Value) {
        // An agent tells its own address as the destination.
        let (ours, theirs) = (entry.destination, entry.source);
        let (source, destination) = if is_ours { (ours, theirs) } else { (theirs, ours) };
        self.message(&Read { source, destination, payload: Vec::new(), ..entry.clone() });
        let word = |key: &str| said[key].as_str().unwrap_or_default();
        let own = self.host(ours);
        let far = self.host(theirs);
        self.hosts[own].is_self = true;
        let is_operation = matches!(
            Event::of(&entry.payload),
            Some(Event::OperationSent | Event::OperationReceived)
        );
        let text = if is_operation {
            // The far end is the signalling gateway, whoever is behind it.
            said.as_object().map(sentence).unwrap_or_default()
        } else {
            self.hosts[far].label = word("peer").to_owned();
            unhex(word("text")).map_or_else(|| word("text").into(), |it| octets("bgp", &it))
        };
        if let Some(view) = self.messages.last_mut() {
            view.method = Some(word("message").to_owned());
            view.text = text;
        }
    }

    /// Finds for each message the one on another leg that it came from: the oldest one of the
    /// same kind that is not taken. What ends at each hop (100, the answer to CANCEL, the ACK of
    /// a failure) has none.
    fn pair(&mut self) {
        let mut waiting: Vec<usize> = Vec::new();
        for n in 0..self.messages.len() {
            if !self.is_end_to_end(n) {
                continue;
            }
            let now_us = self.messages[n].at_us;
            waiting.retain(|&at| now_us - self.messages[at].at_us <= PAIR_MAX_US);
            let found = waiting.iter().position(|&at| self.became(at, n));
            if let Some(at) = found {
                let earlier = waiting.remove(at);
                self.messages[earlier].pair = Some(n);
                self.messages[n].pair = Some(earlier);
                let (receiver, sender) = (self.messages[earlier].to, self.messages[n].from);
                self.hosts[receiver].is_self = true;
                self.hosts[sender].is_self = true;
            } else {
                waiting.push(n);
            }
        }
    }

    fn became(&self, earlier: usize, later: usize) -> bool {
        let (a, b) = (&self.messages[earlier], &self.messages[later]);
        if self.trail.kind == Kind::Dialogue {
            // Through a relay a message stays what it is.
            return a.to == b.from && (&a.method, a.leg) == (&b.method, b.leg);
        }
        a.leg != b.leg
            && a.from != b.from
            && a.to != b.to
            && (&a.method, a.status, &a.cseq_method) == (&b.method, b.status, &b.cseq_method)
    }

    fn is_end_to_end(&self, n: usize) -> bool {
        let message = &self.messages[n];
        if self.trail.kind == Kind::Dialogue {
            return message.retransmission_of.is_none() && n < RELAYED_MAX;
        }
        let of = |method: Method| message.cseq_method.as_deref() == Some(method.name());
        if message.retransmission_of.is_some() || message.cseq.is_none() {
            return false;
        }
        match (&message.method, message.status) {
            (_, Some(100)) => false,
            (_, Some(_)) => !of(Method::Cancel),
            (Some(_), _) if of(Method::Ack) => !self.messages[..n].iter().any(|earlier| {
                (earlier.leg, earlier.cseq) == (message.leg, message.cseq)
                    && earlier.status.is_some_and(|status| status >= 300)
            }),
            (Some(_), _) => true,
            (None, None) => false,
        }
    }

    fn event(&mut self, entry: &Read) {
        // An agent tells its own address as the destination.
        let host = self.addresses.iter().position(|known| *known == entry.destination);
        if let Some(host) = host {
            self.hosts[host].is_self = true;
        }
        let json: serde_json::Value = serde_json::from_slice(&entry.payload).unwrap_or_default();
        let word = |key: &str| json.get(key).and_then(serde_json::Value::as_str);
        if let (Some(side), Some(other)) = (word("side"), self.peer(entry.source)) {
            self.hosts[other].side = Some(side.to_owned());
        }
        let leg = match word("leg") {
            Some("a") => Some(0),
            Some("b") => Some(1),
            Some(number) => number.parse().ok(),
            None => {
                let leg = json.get("leg").and_then(serde_json::Value::as_u64);
                leg.and_then(|leg| usize::try_from(leg).ok())
            }
        };
        let name = word("event").or(word("name")).unwrap_or("Log").to_owned();
        let text = match json.as_object() {
            Some(fields) => sentence(fields),
            None => printable(&entry.payload),
        };
        self.events.push(EventView { at_us: entry.at_us, name, text, leg, host });
    }

    fn peer(&self, address: SocketAddr) -> Option<usize> {
        self.addresses.iter().position(|known| *known == address)
    }
}

/// The fields of an event in words: its text first, then the others.
pub(crate) fn sentence(fields: &serde_json::Map<String, serde_json::Value>) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(fields.get("text").and_then(|text| text.as_str()).map(str::to_owned));
    let rest = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "event" | "name" | "text"));
    parts.extend(rest.map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key} {text}"),
        None => format!("{key} {value}"),
    }));
    parts.join(", ")
}

/// Whether an event tells a message that was sent, or one that was received; and the event.
fn session_message_of(entry: &Read) -> Option<(bool, serde_json::Value)> {
    let is_ours = match Event::of(&entry.payload).filter(|_| entry.kind == hep::KIND_LOG)? {
        Event::SessionMessageSent | Event::OperationSent => true,
        Event::SessionMessageReceived | Event::OperationReceived => false,
        _ => return None,
    };
    let said: serde_json::Value = serde_json::from_slice(&entry.payload).ok()?;
    said["message"].is_string().then_some((is_ours, said))
}

/// A message that is no text: sixteen octets a line after the name of its protocol.
fn octets(protocol: &str, payload: &[u8]) -> String {
    let mut out = protocol.to_uppercase();
    for line in payload.chunks(16) {
        out.push('\n');
        for (at, octet) in line.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            let _ = write!(out, "{space}{octet:02x}");
        }
    }
    out
}

/// The name of what carried a message.
#[must_use]
pub const fn transport(protocol: u8) -> &'static str {
    match protocol {
        hep::UDP => "udp",
        hep::TLS => "tls",
        hep::TCP => "tcp",
        hep::SCTP => "sctp",
        _ => "other",
    }
}
