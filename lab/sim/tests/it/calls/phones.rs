//! Phones as the two ends of calls: SIP over what loses datagrams, SRTP at the access and RTP at
//! the core. What is not answered is sent again (RFC 3261 §17.1); a 2xx is sent again until its
//! ACK, and who never gets one hangs up (§13.3.1.4).

use super::sections::{ACCESS, CORE};
use machine::{Duration, Time};
use rtp::{Header, Packet};
use srtp::sdes::{Crypto, InlineKey, SessionParameters, read_all};
use srtp::{MasterKey, Receiver, Refused, Sender, Suite};
use std::collections::BTreeMap;
use std::net::SocketAddr;

const SUITE: Suite = Suite::AesCm128HmacSha1_80;
const T1: Duration = Duration::from_millis(500);
const T2: Duration = Duration::from_secs(4);
/// 64 × T1.
const LONG: Duration = Duration::from_secs(32);
/// A callee that is never answered after all.
const SETUP_MAX: Duration = Duration::from_secs(40);
/// Octets of sound in a packet: whose they are and their number, and more.
const SOUND: usize = 20;

/// Something that is sent again until it is answered.
struct Waiting {
    text: String,
    next: Time,
    interval: Duration,
    until: Time,
}

impl Waiting {
    fn new(text: &str, now: Time) -> Self {
        Self { text: text.to_owned(), next: now + T1, interval: T1, until: now + LONG }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its INVITE waits for an answer.
    Calls,
    /// It was answered, or has answered.
    Stands,
    /// A BYE went or came.
    Ended,
    /// It never stood.
    Failed,
}

/// One end of a call.
pub(super) struct End {
    pub stage: Stage,
    call_id: String,
    own: String,
    other: String,
    target: String,
    cseq: u32,
    request: Option<Waiting>,
    answer: Option<Waiting>,
    version: u32,
    media: Media,
}

/// What an end sends and hears.
struct Media {
    number: u32,
    port: u16,
    to: Option<SocketAddr>,
    key: Option<MasterKey>,
    tag: u32,
    out: Option<Sender>,
    sequence: u16,
    counter: u32,
    /// By their keys: what opened packets that came, whenever that was.
    ins: BTreeMap<Vec<u8>, Receiver>,
    /// The last number that came of the other end.
    last: Option<u32>,
}

/// A host with many ends.
pub(super) struct Host {
    is_caller: bool,
    pub ends: BTreeMap<String, End>,
    /// What it says by SIP.
    pub said: Vec<String>,
    /// Packets that came, and where calls did not hear one another any more.
    pub heard: u64,
    pub last_heard: BTreeMap<u32, Time>,
}

fn header<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().take_while(|line| !line.is_empty()).find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then(|| value.trim())
    });
    found.unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

fn uri(contact: &str) -> String {
    contact.split('<').nth(1).unwrap().split('>').next().unwrap().to_owned()
}

fn body(text: &str) -> &str {
    text.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

impl End {
    /// The number of its call.
    pub const fn number(&self) -> u32 {
        self.media.number
    }
}

impl Media {
    /// Of a call, by a port of its own.
    fn new(number: u32, port: u16, is_caller: bool) -> Self {
        let key = is_caller.then(|| {
            let mut octets = vec![9; MasterKey::octets_of(SUITE)];
            octets[..4].copy_from_slice(&number.to_be_bytes());
            MasterKey::of(SUITE, &octets).unwrap()
        });
        Self {
            number,
            port,
            to: None,
            key,
            tag: 1,
            out: None,
            sequence: (number * 7_919) as u16,
            counter: 0,
            ins: BTreeMap::new(),
            last: None,
        }
    }

    fn crypto(&self) -> Option<Crypto> {
        let keys = vec![InlineKey::alone(self.key.clone()?)];
        Some(Crypto { tag: self.tag, suite: SUITE, keys, session: SessionParameters::default() })
    }

    fn description(&self, host: &str, version: u32) -> String {
        let (profile, crypto) = match self.crypto() {
            Some(crypto) => {
                let mut line = b"a=crypto:".to_vec();
                crypto.write(&mut line);
                ("RTP/SAVP", String::from_utf8(line).unwrap() + "\r\n")
            }
            None => ("RTP/AVP", String::new()),
        };
        format!(
            "v=0\r\no=- 1 {version} IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\n\
             m=audio {} {profile} 8\r\na=rtpmap:8 PCMA/8000\r\n{crypto}",
            self.port
        )
    }

    /// What the other side says of itself.
    fn take(&mut self, text: &str) {
        let host = text.lines().find_map(|line| line.strip_prefix("c=IN IP4 ")).unwrap();
        let media = text.lines().find_map(|line| line.strip_prefix("m=audio ")).unwrap();
        let port: u16 = media.split(' ').next().unwrap().parse().unwrap();
        self.to = (port > 0).then(|| SocketAddr::new(host.parse().unwrap(), port));
        let Some(own) = self.crypto() else { return };
        let lines = text.lines().filter_map(|line| line.strip_prefix("a=crypto:"));
        let theirs = read_all(lines.map(str::as_bytes)).unwrap();
        let Some(theirs) = theirs.lines().iter().find(|it| it.suite == SUITE) else { return };
        self.tag = theirs.tag;
        let name = theirs.keys[0].key.expose().to_vec();
        self.ins
            .entry(name)
            .or_insert_with(|| Receiver::new(theirs.parameters(), &theirs.entries()).unwrap());
        if self.out.is_none() {
            self.out = Some(Sender::new(own.parameters(), &own.entries()).unwrap());
        }
    }

    /// The next packet, if there is anybody to hear it.
    fn speak(&mut self) -> Option<(u16, SocketAddr, Vec<u8>)> {
        let to = self.to?;
        self.sequence = self.sequence.wrapping_add(1);
        self.counter += 1;
        let ssrc = self.number * 2 + u32::from(self.key.is_some());
        let timestamp = self.counter * 160;
        let sequence = self.sequence;
        let header = Header { payload_type: 8, sequence, timestamp, ssrc, marker: false };
        let mut sound = [0; SOUND];
        sound[..4].copy_from_slice(&self.number.to_be_bytes());
        sound[4..8].copy_from_slice(&self.counter.to_be_bytes());
        let mut packet = Vec::new();
        Packet { header, payload: &sound, ..Packet::default() }.write(&mut packet);
        if self.key.is_some() {
            let out = self.out.as_mut()?;
            let length = packet.len();
            packet.resize(length + out.overhead(), 0);
            out.protect(&mut packet, length).unwrap();
        }
        Some((self.port, to, packet))
    }

    /// A packet came: of the other end of this call, later than those before, and, where it is
    /// protected, with an index that its key never had. Whether it is one that is understood.
    fn hear(&mut self, packet: &[u8], what: &str) -> bool {
        let mut plain = packet.to_vec();
        if self.key.is_some() {
            let mut opened = None;
            for receiver in self.ins.values_mut() {
                let mut octets = packet.to_vec();
                match receiver.unprotect(&mut octets) {
                    Ok(length) => opened = Some(octets[..length].to_vec()),
                    Err(Refused::Forged) => {}
                    Err(why) => panic!("{what}: {why:?}: an index came twice under one key"),
                }
            }
            // Of keys that this end was not told of yet, or of none at all.
            let Some(octets) = opened else { return false };
            plain = octets;
        }
        let sound = &plain[plain.len() - SOUND..];
        let number = |at: usize| u32::from_be_bytes(sound[at..at + 4].try_into().unwrap());
        assert_eq!(number(0), self.number, "{what}: sound of another call");
        let counter = number(4);
        assert!(self.last < Some(counter), "{what}: {counter} behind {:?}", self.last);
        self.last = Some(counter);
        true
    }
}

impl Host {
    pub fn new(is_caller: bool) -> Self {
        Self {
            is_caller,
            ends: BTreeMap::new(),
            said: Vec::new(),
            heard: 0,
            last_heard: BTreeMap::new(),
        }
    }

    const fn ip(&self) -> &'static str {
        if self.is_caller { "192.0.2.50" } else { "198.51.100.50" }
    }

    pub fn at(&self) -> SocketAddr {
        SocketAddr::new(self.ip().parse().unwrap(), 5_060)
    }

    /// Where its requests go.
    pub fn proxy(&self) -> SocketAddr {
        if self.is_caller { ACCESS } else { CORE }.parse().unwrap()
    }

    fn request(&self, end: &End, method: &str, cseq: u32, body: &str) -> String {
        let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
        let ip = self.ip();
        format!(
            "{method} {} SIP/2.0\r\nVia: SIP/2.0/UDP {ip}:5060;branch=z9hG4bK{method}{cseq}{}\r\n\
             Max-Forwards: 70\r\nFrom: {}\r\nTo: {}\r\nCall-ID: {}\r\nCSeq: {cseq} {method}\r\n\
             Contact: <sip:{ip}:5060>\r\n{kind}Content-Length: {}\r\n\r\n{body}",
            end.target,
            end.call_id.replace('@', "."),
            end.own,
            end.other,
            end.call_id,
            body.len()
        )
    }

    /// Call number `number` begins.
    pub fn calls(&mut self, now: Time, number: u32) {
        let mut end = End {
            stage: Stage::Calls,
            call_id: format!("call{number}@here"),
            own: format!("<sip:alice{number}@192.0.2.50>;tag=a{number}"),
            other: "<sip:bob@example.org>".to_owned(),
            target: "sip:bob@example.org".to_owned(),
            cseq: 1,
            request: None,
            answer: None,
            version: 1,
            media: Media::new(number, 4_000 + 2 * number as u16, true),
        };
        let description = end.media.description(self.ip(), 1);
        let invite = self.request(&end, "INVITE", 1, &description);
        end.request = Some(Waiting::new(&invite, now));
        self.said.push(invite);
        self.ends.insert(end.call_id.clone(), end);
    }

    /// Hangs up where a call stands.
    pub fn hang_up(&mut self, now: Time, call_id: &str) {
        let Some(mut end) = self.ends.remove(call_id) else { return };
        if end.stage == Stage::Stands {
            end.cseq += 1;
            let bye = self.request(&end, "BYE", end.cseq, "");
            end.stage = Stage::Ended;
            end.answer = None;
            end.request = Some(Waiting::new(&bye, now));
            self.said.push(bye);
        }
        self.ends.insert(call_id.to_owned(), end);
    }

    fn respond(&mut self, request: &str, status: &str, tag: &str, body: &str) -> String {
        let mut text = format!("SIP/2.0 {status}\r\n");
        for line in request.lines().take_while(|line| !line.is_empty()) {
            match line.split(':').next().unwrap() {
                "Via" | "From" | "Call-ID" | "CSeq" | "Record-Route" => {
                    text += &format!("{line}\r\n");
                }
                "To" if line.contains(";tag=") => text += &format!("{line}\r\n"),
                "To" => text += &format!("{line};tag={tag}\r\n"),
                _ => {}
            }
        }
        let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
        let length = body.len();
        text += &format!("Contact: <sip:{}:5060>\r\n{kind}", self.ip());
        text += &format!("Content-Length: {length}\r\n\r\n{body}");
        self.said.push(text.clone());
        text
    }

    /// A message came.
    pub fn receive(&mut self, now: Time, text: &str) {
        let call_id = header(text, "Call-ID").to_owned();
        if let Some(rest) = text.strip_prefix("SIP/2.0 ") {
            let status: u16 = rest[..3].parse().unwrap();
            return self.answered(now, &call_id, status, text);
        }
        let method = text.split(' ').next().unwrap();
        match method {
            "INVITE" => self.invited(now, &call_id, text),
            "ACK" => {
                if let Some(end) = self.ends.get_mut(&call_id) {
                    let number =
                        |text: &str| header(text, "CSeq").split(' ').next().map(str::to_owned);
                    if end.answer.as_ref().is_some_and(|it| number(&it.text) == number(text)) {
                        end.answer = None;
                        if !body(text).is_empty() {
                            end.media.take(body(text));
                        }
                    }
                }
            }
            "BYE" => {
                match self.ends.get_mut(&call_id) {
                    Some(end) => {
                        end.stage = Stage::Ended;
                        (end.request, end.answer) = (None, None);
                        self.respond(text, "200 OK", "x", "");
                    }
                    None => drop(self.respond(text, "481 No", "x", "")),
                };
            }
            _ => drop(self.respond(text, "200 OK", "x", "")),
        }
    }

    fn invited(&mut self, now: Time, call_id: &str, text: &str) {
        let cseq = |text: &str| header(text, "CSeq").to_owned();
        let Some(mut end) = self.ends.remove(call_id) else {
            if self.is_caller {
                return drop(self.respond(text, "481 No", "x", ""));
            }
            let from = header(text, "From");
            let own = format!("{};tag=b", header(text, "To"));
            let number = from.split("alice").nth(1).unwrap().split('@').next().unwrap();
            let number = number.parse().unwrap();
            let port = 6_000 + 2 * self.ends.len() as u16;
            let mut end = End {
                stage: Stage::Stands,
                call_id: call_id.to_owned(),
                own,
                other: from.to_owned(),
                target: uri(header(text, "Contact")),
                cseq: 0,
                request: None,
                answer: None,
                version: 1,
                media: Media::new(number, port, false),
            };
            end.media.take(body(text));
            let description = end.media.description(self.ip(), 1);
            let answer = self.respond(text, "200 OK", "b", &description);
            end.answer = Some(Waiting::new(&answer, now));
            self.ends.insert(call_id.to_owned(), end);
            return;
        };
        match &end.answer {
            // Its own retransmissions go on.
            Some(answer) if cseq(&answer.text) == cseq(text) => {}
            _ if end.stage != Stage::Stands => drop(self.respond(text, "481 No", "b", "")),
            _ => {
                end.version += 1;
                if !body(text).is_empty() {
                    end.media.take(body(text));
                }
                end.target = uri(header(text, "Contact"));
                let description = end.media.description(self.ip(), end.version);
                let answer = self.respond(text, "200 OK", "b", &description);
                end.answer = Some(Waiting::new(&answer, now));
            }
        }
        self.ends.insert(call_id.to_owned(), end);
    }

    fn answered(&mut self, now: Time, call_id: &str, status: u16, text: &str) {
        let Some(mut end) = self.ends.remove(call_id) else { return };
        let cseq = header(text, "CSeq");
        let is_mine = |it: &Waiting| header(&it.text, "CSeq") == cseq;
        if status < 200 {
            if let Some(request) = end.request.as_mut().filter(|it| is_mine(it)) {
                request.next = Time::MAX;
                request.until = now + SETUP_MAX;
            }
        } else if cseq.ends_with("INVITE") {
            let number = cseq.split(' ').next().unwrap().parse().unwrap();
            if status < 300 {
                let is_late = end.stage == Stage::Failed;
                if is_late || end.stage == Stage::Calls {
                    end.stage = Stage::Stands;
                    end.other = header(text, "To").to_owned();
                    end.target = uri(header(text, "Contact"));
                    end.media.take(body(text));
                }
                let mut ack = self.request(&end, "ACK", number, "");
                ack = ack.replacen("z9hG4bKACK", "z9hG4bKACK2xx", 1);
                self.said.push(ack);
                if is_late {
                    // It was given up before: whoever answers has to be told.
                    self.ends.insert(call_id.to_owned(), end);
                    return self.hang_up(now, call_id);
                }
            } else {
                let to = header(text, "To").to_owned();
                let other = std::mem::replace(&mut end.other, to);
                let ack = self.request(&end, "ACK", number, "");
                self.said.push(ack.replacen("z9hG4bKACK", "z9hG4bKINVITE", 1));
                end.other = other;
                if end.stage == Stage::Calls {
                    end.stage = Stage::Failed;
                }
            }
            if end.request.as_ref().is_some_and(is_mine) {
                end.request = None;
            }
        } else if end.request.as_ref().is_some_and(is_mine) {
            end.request = None;
        }
        self.ends.insert(call_id.to_owned(), end);
    }

    /// Time passes: what is due is sent again, and who waits in vain ends.
    pub fn tick(&mut self, now: Time) {
        let mut unheard = Vec::new();
        for end in self.ends.values_mut() {
            for waiting in [&mut end.request, &mut end.answer].into_iter().flatten() {
                if waiting.next <= now {
                    waiting.interval = (waiting.interval * 2).min(T2);
                    waiting.next = now + waiting.interval;
                    self.said.push(waiting.text.clone());
                }
            }
            if end.request.as_ref().is_some_and(|it| it.until <= now) {
                end.request = None;
                if end.stage == Stage::Calls {
                    end.stage = Stage::Failed;
                }
            }
            if end.answer.as_ref().is_some_and(|it| it.until <= now) {
                end.answer = None;
                unheard.push(end.call_id.clone());
            }
        }
        for call_id in unheard {
            self.hang_up(now, &call_id);
        }
    }

    /// All that stand say something: from which port, where to, what.
    pub fn speak(&mut self) -> Vec<(u16, SocketAddr, Vec<u8>)> {
        let standing = self.ends.values_mut().filter(|it| it.stage == Stage::Stands);
        standing.filter_map(|end| end.media.speak()).collect()
    }

    /// A packet came to a port.
    pub fn hear(&mut self, now: Time, port: u16, packet: &[u8]) {
        let is_caller = self.is_caller;
        let Some(end) = self.ends.values_mut().find(|it| it.media.port == port) else { return };
        let what =
            format!("{} of the {}", end.call_id, if is_caller { "caller" } else { "callee" });
        if end.media.hear(packet, &what) {
            self.heard += 1;
            self.last_heard.insert(end.media.number, now);
        }
    }

    /// Nothing waits, and no call stands.
    pub fn is_at_rest(&self) -> bool {
        let waits = |it: &End| it.request.is_some() || it.answer.is_some();
        !self.ends.values().any(|it| waits(it) || matches!(it.stage, Stage::Calls | Stage::Stands))
    }

    pub fn standing(&self) -> usize {
        self.ends.values().filter(|it| it.stage == Stage::Stands).count()
    }
}
