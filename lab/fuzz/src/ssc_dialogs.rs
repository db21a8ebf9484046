//! Alice and Bob on both sides of a controller with header rules: calls that begin, change and end,
//! registrations, answers of any status, each with one header as long as the script says, and any
//! octets between. Nothing panics, the deadline advances, and what leaves is well-formed.

use crate::script::Script;
use machine::{Duration, Time};
use runtime::{Effects, Flow, Function, In, Seed, Transport};
use sip::Message;
use ssc::{Controller, config};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

const SITE: &str = r#"
name = "ssc1"
[[realm]]
name = "access"
listen = ["udp:127.0.0.1:5060"]
[[realm]]
name = "core"
side = "core"
listen = ["udp:127.0.0.1:5070"]
trusted = true
[[next_hop]]
name = "switch"
realm = "core"
targets = ["udp:10.0.1.1:5080"]
probe_interval_s = 0
[[next_hop]]
name = "subscribers"
realm = "access"
targets = ["udp:10.0.0.1:5062"]
probe_interval_s = 0
[[route]]
from = "access"
to = ["switch"]
[[route]]
from = "core"
to = ["subscribers"]
[[rule]]
message = "any"
[[rule.do]]
add = "X-Border"
value = "crossed"
[[rule]]
direction = "out"
[[rule.do]]
set = "User-Agent"
value = "another/2.0"
"#;

/// Octets of a datagram, at most.
const DATAGRAM_MAX: usize = 65_507;
/// Steps of one script.
const STEPS_MAX: usize = 64;
/// Ticks until everything must have ended.
const TICKS_MAX: usize = 100_000;
const METHODS: [&str; 14] = [
    "INVITE",
    "ACK",
    "BYE",
    "UPDATE",
    "CANCEL",
    "PRACK",
    "INFO",
    "REFER",
    "OPTIONS",
    "MESSAGE",
    "NOTIFY",
    "SUBSCRIBE",
    "REGISTER",
    "PUBLISH",
];
const STATUSES: [&str; 12] = [
    "100 Trying",
    "180 Ringing",
    "183 Progress",
    "200 OK",
    "202 Accepted",
    "302 Moved",
    "401 Unauthorized",
    "422 Interval",
    "481 Gone",
    "491 Pending",
    "503 Unavailable",
    "603 No",
];
const SDP: &str = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\n\
    m=audio 6000 RTP/AVP 0\r\n";

static CONFIG: LazyLock<Arc<config::Ssc>> =
    LazyLock::new(|| Arc::new(toml::from_str(SITE).expect("the site is well-formed")));

/// An end of the call, and what it knows of the dialog.
struct End {
    address: SocketAddr,
    flow: Flow,
    tag: &'static str,
    remote_tag: Vec<u8>,
    call_id: Vec<u8>,
    target: Vec<u8>,
    cseq: u32,
    /// The request that came last.
    request: Vec<u8>,
}

/// Where a header is longer than it need be, and by how many octets.
#[derive(Clone, Copy)]
struct Pad {
    place: u8,
    octets: usize,
}

impl Pad {
    fn at(self, place: u8) -> String {
        if self.place == place { "x".repeat(self.octets) } else { String::new() }
    }
}

struct World {
    controller: Controller,
    ends: [End; 2],
    now: Time,
    out: Effects,
    branches: u32,
    /// What came last was malformed.
    refuses: bool,
}

fn end(of: usize) -> End {
    let (address, local) =
        [("10.0.0.1:5062", "127.0.0.1:5060"), ("10.0.1.1:5080", "127.0.0.1:5070")][of];
    let (address, local) = (address.parse().expect("ours"), local.parse().expect("ours"));
    let ports = CONFIG.ports();
    let port = ports.iter().find(|port| port.listen == local).expect("the realm listens").id;
    End {
        address,
        flow: Flow::to(port, Transport::Udp, local, address),
        tag: ["a1", "b1"][of],
        remote_tag: Vec::new(),
        call_id: b"call".to_vec(),
        target: b"sip:bob@example.org".to_vec(),
        cseq: 1,
        request: Vec::new(),
    }
}

impl World {
    fn new() -> Self {
        let now = Time::from_millis(1_700_000_000_000);
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        let controller = Controller::new(seed, Arc::clone(&CONFIG));
        let ends = [end(0), end(1)];
        Self { controller, ends, now, out: Effects::default(), branches: 0, refuses: false }
    }

    fn request(&mut self, from: usize, method: &str, pad: Pad, more: &[u8], body: &str) -> Vec<u8> {
        self.branches += 1;
        let end = &mut self.ends[from];
        if !matches!(method, "ACK" | "CANCEL") {
            end.cseq += 1;
        }
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let remote = match text(&end.remote_tag) {
            tag if tag.is_empty() => tag,
            tag => format!(";tag={tag}"),
        };
        let routes = match pad.place {
            5 => format!("Record-Route: <sip:{};lr>\r\n", pad.at(5)),
            6 => format!("Subject: {}\r\n", pad.at(6)),
            _ => String::new(),
        };
        let mut message = format!(
            "{method} {} SIP/2.0\r\nVia: SIP/2.0/UDP {};rport;branch=z9hG4bK{}{}\r\n\
             Max-Forwards: 70\r\nFrom: \"{}\" <sip:u{}@example.com>;tag={}\r\n\
             To: \"{}\" <sip:v@example.org>{remote}\r\nCall-ID: {}{}\r\nCSeq: {} {method}\r\n\
             Contact: <sip:{}@{}>\r\n{routes}",
            text(&end.target),
            end.address,
            self.branches,
            pad.at(7),
            pad.at(1),
            from,
            end.tag,
            pad.at(2),
            text(&end.call_id),
            pad.at(3),
            end.cseq,
            pad.at(4),
            end.address,
        )
        .into_bytes();
        message.extend_from_slice(more);
        message.extend_from_slice(rest(body).as_bytes());
        message
    }

    /// An answer to the request that came last.
    fn answer(&self, from: usize, status: &str, pad: Pad, more: &[u8], body: &str) -> Vec<u8> {
        let end = &self.ends[from];
        let Ok(request) = Message::parse(&end.request) else { return Vec::new() };
        let mut text = format!("SIP/2.0 {status}\r\n").into_bytes();
        for line in request.lines() {
            let name = line.name.to_ascii_lowercase();
            match name.as_slice() {
                b"via" | b"v" | b"from" | b"f" | b"call-id" | b"i" | b"cseq" | b"record-route" => {
                    text.extend_from_slice(line.raw);
                }
                b"to" | b"t" => {
                    text.extend_from_slice(line.raw.trim_ascii_end());
                    if !line.value.windows(5).any(|part| part == b";tag=") {
                        text.extend_from_slice(format!(";tag={}", end.tag).as_bytes());
                    }
                    text.extend_from_slice(b"\r\n");
                }
                _ => {}
            }
        }
        let contact = format!("Contact: <sip:{}@{}>\r\n", pad.at(4), end.address);
        text.extend_from_slice(contact.as_bytes());
        text.extend_from_slice(more);
        text.extend_from_slice(rest(body).as_bytes());
        text
    }

    fn send(&mut self, from: usize, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(DATAGRAM_MAX)];
        let input = In::Message { flow: self.ends[from].flow, bytes };
        self.controller.step(self.now, input, &mut self.out);
        self.refuses = Message::parse(bytes).is_err();
        self.collect();
        self.refuses = false;
    }

    fn collect(&mut self) {
        for (flow, bytes) in self.out.sends() {
            let message = match Message::parse(bytes) {
                Ok(message) => message,
                // A refusal carries what was malformed back, as it came (RFC 4475 §3.3.1).
                Err(_) if self.refuses && bytes.starts_with(b"SIP/2.0") => continue,
                Err(why) => {
                    let text = String::from_utf8_lossy(bytes);
                    panic!("what leaves is malformed, {why:?}: {text}")
                }
            };
            let Some(end) = self.ends.iter_mut().find(|end| end.address == flow.remote) else {
                continue;
            };
            let from_us = bytes.starts_with(b"SIP/2.0");
            let far = if from_us { "To" } else { "From" };
            let tag = message.named(far.as_bytes()).next().and_then(tag_of);
            if let Some(tag) = tag {
                end.remote_tag = tag.to_vec();
            }
            if !from_us {
                end.request = bytes.to_vec();
                end.call_id = message.named(b"Call-ID").next().unwrap_or_default().to_vec();
            }
            if let Some(target) = message.named(b"Contact").next().and_then(uri_of) {
                end.target = target.to_vec();
            }
        }
        self.out.clear();
    }

    /// Fires what is due until `end`.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        let mut ticks = 0;
        while let Some(at) = self.controller.deadline().filter(|&at| at <= end) {
            ticks += 1;
            assert!(ticks < TICKS_MAX, "the deadline advances");
            self.now = self.now.max(at);
            self.controller.tick(self.now, &mut self.out);
            self.collect();
        }
        self.now = end;
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let what = script.octet();
        let from = usize::from(what >> 7);
        match what & 7 {
            0 => self.send(from, script.piece()),
            1 => self.pass(Duration::from_millis(50 * u64::from(script.octet()))),
            2 => {
                self.ends[0].remote_tag.clear();
                self.ends[0].target = b"sip:bob@example.org".to_vec();
                let message = self.request(0, "INVITE", pad(script), script.piece(), SDP);
                self.send(0, &message);
            }
            3 | 4 => {
                let body = if what & 16 == 0 { "" } else { SDP };
                let status = script.pick(&STATUSES);
                let message = self.answer(from, status, pad(script), script.piece(), body);
                self.send(from, &message);
            }
            _ => {
                let body = if what & 16 == 0 { "" } else { SDP };
                let method = script.pick(&METHODS);
                let message = self.request(from, method, pad(script), script.piece(), body);
                self.send(from, &message);
            }
        }
    }
}

fn pad(script: &mut Script<'_>) -> Pad {
    let place = script.octet() % 8;
    Pad { place, octets: if place == 0 { 0 } else { script.number() } }
}

/// The end of a message with this body.
fn rest(body: &str) -> String {
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    format!("{kind}Content-Length: {}\r\n\r\n{body}", body.len())
}

fn tag_of(value: &[u8]) -> Option<&[u8]> {
    let at = value.windows(5).rposition(|part| part == b";tag=")?;
    value[at + 5..].split(|&octet| octet == b';').next()
}

fn uri_of(value: &[u8]) -> Option<&[u8]> {
    let begin = value.iter().position(|&octet| octet == b'<')? + 1;
    let length = value[begin..].iter().position(|&octet| octet == b'>')?;
    Some(&value[begin..begin + length])
}

pub fn run(input: &[u8]) {
    let (mut world, mut script) = (World::new(), Script::new(input));
    for _ in 0..STEPS_MAX {
        if script.is_over() {
            break;
        }
        world.step(&mut script);
    }
    world.controller.ask(world.now, &ask(), &mut world.out).expect("calls can be listed");
    world.pass(Duration::from_secs(400));
}

fn ask() -> runtime::Ask {
    runtime::Ask { path: "calls".to_owned(), params: Default::default() }
}
