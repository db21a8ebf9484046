//! A world: phones, a pair of session controllers of which one serves, a core.
//!
//! ```text
//! Handset … ══ bad network ══ active │ Controller │ ── core: Home, and who answers calls
//!                                       │ ↑ deltas, marks · what was applied: in order, late
//!                                    standby │ Controller │
//! ```

use crate::world::Phone;
use handset::{Carrier, Event, Handset, Home, Packet};
use machine::{Duration, Time};
use runtime::{Ask, Effects, Flow, Function, In, Mirrored, PortId, Seed, Transport};
use sim::{Link, LinkSpec};
use ssc::Controller;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

pub const SITE: &str = r#"
name = "sbc"
[registrar]
enabled = true
client_expires_s = 600
[[realm]]
name = "access"
side = "access"
listen = ["udp:192.0.2.1:5060"]
register_required = true
[realm.ipsec]
sets_max = 1000
[[realm]]
name = "core"
side = "core"
trusted = true
listen = ["udp:192.0.2.2:5060"]
[[next_hop]]
name = "scscf"
realm = "core"
targets = ["udp:192.0.2.9:5080"]
probe_interval_s = 0
[[route]]
from = "access"
to = ["scscf"]
"#;

/// The port of a collector of captures, where a site has one.
pub const COLLECTOR: u16 = 9_060;
const ACCESS: [u8; 4] = [192, 0, 2, 1];
const SDP: &str = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\n\
    m=audio 6000 RTP/AVP 0\r\n";
/// From a node's death until the other one serves.
const DETECTED: Duration = Duration::from_millis(150);

fn begin() -> Time {
    Time::from_millis(1_700_000_000_000)
}

/// Something that happens later.
enum Later {
    ToCore(Vec<u8>),
    FromCore(Vec<u8>),
    /// The core asks again what nobody has answered.
    Again(String, Duration),
    Delta(Vec<u8>),
    Marked(u64),
    Applied(u64),
    TakesOver,
    /// A node that begins anew follows.
    Follows,
}

impl Later {
    /// Whether it is between the two nodes.
    const fn is_of_pair(&self) -> bool {
        matches!(self, Self::Delta(_) | Self::Marked(_) | Self::Applied(_))
    }
}

/// A request of a phone that waits for its answer.
struct Asked {
    text: Vec<u8>,
    next: Time,
    interval: Duration,
}

/// A phone, and its call.
struct Caller {
    phone: Phone,
    asked: Option<Asked>,
    call: u32,
    /// Tag and target of the other side, while a call stands.
    dialog: Option<(String, String)>,
    /// Calls that were answered and ended; requests of the core that came.
    ended: u32,
    requests: Vec<String>,
    /// Whether it was registered: it has no reason to speak in the clear from now on.
    was_registered: bool,
}

pub struct World {
    pub now: Time,
    nodes: [Option<Box<Controller>>; 2],
    active: usize,
    lives: u8,
    ports: Vec<runtime::PortSpec>,
    config: Arc<ssc::config::Ssc>,
    callers: Vec<Caller>,
    pub home: Home,
    link: Link<u8>,
    flying: Vec<Packet>,
    pub air: Vec<Packet>,
    later: BTreeMap<(Time, u64), Later>,
    count: u64,
    random: u64,
    /// What the core asks, by Call-ID, until it is answered.
    open: BTreeMap<String, Vec<u8>>,
    /// Numbers that have left: by the set that they left by, index and number.
    numbers: BTreeSet<(String, [u8; 8])>,
    /// How many packets have left by each set of the active node.
    counted: BTreeMap<String, u64>,
    /// How late the pair's link is, ms, at most.
    lag_ms: u64,
    /// Steps of the active node so far, and after which one it dies.
    pub steps: u32,
    pub dies_after: Option<u32>,
    /// Whether what is on its way to the standby is lost with the node.
    pub loses: bool,
    /// Whether who takes over was told all until lately.
    pub is_current: bool,
    /// Whether the standby is told of no agreement.
    pub lacks_agreements: bool,
    /// What has come to the core so far, after how much of it the S-CSCF dies, and for how long.
    pub core_steps: u32,
    pub core_dies_after: Option<u32>,
    pub core_dies_for: Duration,
    core_is_back: Time,
    /// After which step of the active node the NAT of each phone behind one has moved.
    pub nats_move_after: Option<u32>,
    /// Phones that spoke in the clear though they were registered.
    pub clear: u32,
    /// The SUBSCRIBE that the core has answered last.
    pub subscribed: Option<String>,
    /// What has reached the core, but for REGISTER.
    pub reached: Vec<String>,
    /// What the collector of captures has got.
    pub captured: Vec<Vec<u8>>,
    /// What was written to channels.
    pub keys: Vec<u8>,
    /// All deltas of who served.
    pub told: Vec<Vec<u8>>,
    out: Effects,
}

impl World {
    pub fn new(seed: u64, phones: Vec<Phone>, spec: LinkSpec) -> Self {
        Self::of(SITE, seed, phones, spec)
    }

    pub fn of(site: &str, seed: u64, phones: Vec<Phone>, spec: LinkSpec) -> Self {
        let config: ssc::config::Ssc = toml::from_str(site).expect("it is a section");
        let subscribers = phones.iter().map(|it| it.handset.config().subscriber.clone());
        let caller = |phone| Caller {
            phone,
            asked: None,
            call: 0,
            dialog: None,
            ended: 0,
            requests: Vec::new(),
            was_registered: false,
        };
        let mut world = Self {
            now: begin(),
            nodes: [None, None],
            active: 0,
            lives: 0,
            ports: config.ports(),
            config: Arc::new(config),
            home: Home::new(subscribers, seed),
            callers: phones.into_iter().map(caller).collect(),
            link: Link::new(seed, spec),
            flying: Vec::new(),
            air: Vec::new(),
            later: BTreeMap::new(),
            count: 0,
            random: machine::identity::mix(seed),
            open: BTreeMap::new(),
            numbers: BTreeSet::new(),
            counted: BTreeMap::new(),
            lag_ms: 1 + seed % 40,
            steps: 0,
            dies_after: None,
            loses: false,
            is_current: true,
            lacks_agreements: false,
            core_steps: 0,
            core_dies_after: None,
            core_dies_for: Duration::ZERO,
            core_is_back: Time::ZERO,
            nats_move_after: None,
            clear: 0,
            subscribed: None,
            reached: Vec::new(),
            captured: Vec::new(),
            keys: Vec::new(),
            told: Vec::new(),
            out: Effects::default(),
        };
        world.nodes[0] = Some(world.begins());
        world.mirror(0, Mirrored::Activate { is_current: true });
        world.follow();
        world
    }

    /// A node that begins: it stands by.
    fn begins(&mut self) -> Box<Controller> {
        self.lives += 1;
        let seed = Seed { shard: 0, shards: 1, random: [self.lives; 32], now: self.now };
        let mut controller = Box::new(Controller::new(seed, self.config.clone()));
        controller.replicate(self.now, Mirrored::Deactivate, &mut Effects::default());
        controller
    }

    /// Another node begins, and is told everything.
    pub fn follow(&mut self) {
        let node = 1 - self.active;
        self.nodes[node] = Some(self.begins());
        self.later.retain(|_, it| !it.is_of_pair());
        self.mirror(node, Mirrored::Forget);
        self.mirror(self.active, Mirrored::Snapshot(u64::from(self.lives)));
    }

    fn draw(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(1);
        machine::identity::mix(self.random) % limit
    }

    fn later(&mut self, after: Duration, what: Later) {
        self.count += 1;
        let mut at = self.now + after;
        if what.is_of_pair() {
            // In order.
            let others = self.later.iter().filter(|(_, it)| it.is_of_pair());
            at = others.map(|((at, _), _)| *at).fold(at, Time::max);
        }
        self.later.insert((at, self.count), what);
    }

    fn mirror(&mut self, node: usize, input: Mirrored<'_>) {
        let mut out = core::mem::take(&mut self.out);
        if let Some(controller) = &mut self.nodes[node] {
            controller.replicate(self.now, input, &mut out);
        }
        self.out = out;
        self.collect(node);
    }

    /// What a node wants done.
    fn collect(&mut self, node: usize) {
        let mut out = core::mem::take(&mut self.out);
        if node == self.active {
            let is_told = |it: &&[u8]| !self.lacks_agreements || it[0] != ims::KIND;
            let told: Vec<_> = out.deltas().filter(is_told).map(<[u8]>::to_vec).collect();
            self.told.extend(told.iter().cloned());
            for delta in told {
                let late = Duration::from_millis(self.draw(self.lag_ms));
                self.later(late, Later::Delta(delta));
            }
            if let Some(mark) = out.marked() {
                self.later(Duration::ZERO, Later::Marked(mark));
            }
        }
        for (_, order) in &out.channels {
            if let runtime::ChannelOrder::Write(octets) = order {
                self.keys.extend(octets);
            }
        }
        let sends: Vec<_> = out.sends().map(|(flow, bytes)| (flow, bytes.to_vec())).collect();
        assert!(node == self.active || sends.is_empty(), "who stands by says nothing");
        for (flow, bytes) in sends {
            if flow.remote.port() == COLLECTOR {
                self.captured.push(bytes);
                continue;
            }
            let port = self.ports.iter().find(|it| it.id == flow.port).expect("one of its own");
            if port.listen.ip() != IpAddr::from(ACCESS) {
                self.later(Duration::from_millis(3), Later::ToCore(bytes));
                continue;
            }
            let carrier = match (&port.carrier, port.listen.port()) {
                (runtime::Carrier::Raw { .. }, _) => Carrier::Esp,
                (_, 4_500) => Carrier::InUdp,
                _ => Carrier::Clear,
            };
            if carrier != Carrier::Clear {
                self.left(bytes[..8].try_into().unwrap());
            }
            self.fly(Packet { carrier, from: flow.local, to: flow.remote, bytes });
        }
        out.clear();
        self.out = out;
    }

    /// A packet has left by one of the sets that have its index: of two the one that counts more
    /// than before. A phone may use an index again with other keys.
    fn left(&mut self, head: [u8; 8]) {
        let [a, b, c, d, ..] = head;
        let index = u32::from_be_bytes([a, b, c, d]);
        let rows = self.rows(false);
        let is_of = |row: &&serde_json::Value| {
            row["spi_out"].as_array().unwrap().iter().any(|spi| *spi == index)
        };
        for row in rows.iter().filter(is_of) {
            let (set, count) = (name(row), row["packets_out"].as_u64().unwrap());
            let before = self.counted.entry(set.clone()).or_default();
            if *before < count {
                *before += 1;
                assert!(self.numbers.insert((set.clone(), head)), "{head:x?} twice by {set}");
                return;
            }
        }
        panic!("{head:x?} left by no set: {rows:#?}");
    }

    fn fly(&mut self, packet: Packet) {
        let to = u8::from(packet.to.ip() != IpAddr::from(ACCESS));
        let number = (self.flying.len() as u32).to_be_bytes();
        self.air.push(packet.clone());
        self.flying.push(packet);
        self.link.send(self.now, &number, to);
    }

    /// The active node takes something; it may be the last thing it does.
    fn step(&mut self, flow: Flow, bytes: &[u8]) {
        let mut out = core::mem::take(&mut self.out);
        let Some(controller) = &mut self.nodes[self.active] else { return self.out = out };
        controller.step(self.now, In::Message { flow, bytes }, &mut out);
        self.out = out;
        self.collect(self.active);
        self.steps += 1;
        if self.nats_move_after == Some(self.steps) {
            self.nats_move();
        }
        if self.dies_after == Some(self.steps) {
            self.dies();
        }
    }

    /// The active node dies, and the other one sees it.
    pub fn dies(&mut self) {
        self.nodes[self.active] = None;
        // What was sent arrives, but where the link loses it.
        let lost = if self.loses { self.draw(40) } else { 0 };
        let from = self.now + Duration::from_millis(self.lag_ms.saturating_sub(lost));
        let loses = self.loses;
        self.later.retain(|(at, _), it| !it.is_of_pair() || !loses || *at < from);
        self.later(DETECTED, Later::TakesOver);
    }

    /// The S-CSCF dies, and begins anew after a while: registrations, calls and what it was saying
    /// are lost.
    fn core_dies(&mut self) {
        self.home.crash();
        self.open.clear();
        self.later.retain(|_, it| !matches!(it, Later::FromCore(_)));
        self.core_is_back = self.now + self.core_dies_for;
    }

    /// NATs give their phones other ports, every other time at another address: what is on its way
    /// to the ones before reaches nobody.
    pub fn nats_move(&mut self) {
        for caller in &mut self.callers {
            if let Some((IpAddr::V4(address), shift)) = &mut caller.phone.nat {
                let [a, b, c, d] = address.octets();
                *address = [a, b, c, d ^ u8::from(*shift % 2 == 0)].into();
                *shift = shift.wrapping_add(101);
            }
        }
    }

    /// The operator has the other node serve.
    pub fn switch_over(&mut self) {
        self.mirror(self.active, Mirrored::Deactivate);
        self.later(Duration::from_millis(50), Later::TakesOver);
    }

    fn happens(&mut self, what: Later) {
        match what {
            Later::Delta(delta) => self.mirror(1 - self.active, Mirrored::Delta(&delta)),
            Later::Marked(mark) => self.later(Duration::from_millis(2), Later::Applied(mark)),
            Later::Applied(mark) => self.mirror(self.active, Mirrored::Followed(Some(mark))),
            Later::TakesOver => {
                self.active = 1 - self.active;
                let count =
                    |row: &serde_json::Value| Some((name(row), row["packets_out"].as_u64()?));
                self.counted = self.rows(false).iter().filter_map(count).collect();
                let is_current = self.is_current;
                self.mirror(self.active, Mirrored::Activate { is_current });
                self.later(Duration::from_millis(500), Later::Follows);
            }
            Later::Follows => self.follow(),
            Later::Again(name, interval) => {
                let Some(text) = self.open.get(&name).cloned() else { return };
                self.later(Duration::ZERO, Later::FromCore(text));
                if interval < Duration::from_secs(16) {
                    self.later(interval, Later::Again(name, interval * 2));
                }
            }
            Later::ToCore(_) if self.now < self.core_is_back => {}
            Later::ToCore(bytes) => {
                self.core_steps += 1;
                if self.core_dies_after == Some(self.core_steps) {
                    return self.core_dies(); // with what has just come
                }
                let from = SocketAddr::from(([192, 0, 2, 2], 5_060));
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if !text.starts_with("REGISTER ") {
                    self.reached.push(text.clone());
                }
                if text.starts_with("SIP/2.0 2") {
                    self.open.remove(value(&text, "Call-ID"));
                }
                let answer = match text.split(' ').next() {
                    Some("INVITE") => Some(answer(&text, "200 OK", SDP).into_bytes()),
                    Some("ACK") => None,
                    Some("SUBSCRIBE") => {
                        let ok = answer(&text, "200 OK", "");
                        self.subscribed = Some(text);
                        Some(ok.replacen("Contact:", "Expires: 600\r\nContact:", 1).into_bytes())
                    }
                    _ => self.home.receive(self.now, from, &bytes),
                };
                if let Some(answer) = answer {
                    self.later(Duration::from_millis(3), Later::FromCore(answer));
                }
            }
            Later::FromCore(bytes) => {
                let local = SocketAddr::from(([192, 0, 2, 2], 5_060));
                let remote = SocketAddr::from(([192, 0, 2, 9], 5_080));
                let port = self.port(local);
                self.step(Flow::to(port, Transport::Udp, local, remote), &bytes);
            }
        }
    }

    fn port(&self, listen: SocketAddr) -> PortId {
        let is_it = |it: &&runtime::PortSpec| {
            let is_raw = matches!(it.carrier, runtime::Carrier::Raw { .. });
            it.listen == listen && is_raw == (listen.port() == 0)
        };
        self.ports.iter().find(is_it).expect("it listens there").id
    }

    /// A packet of a phone comes to the pair.
    fn arrives(&mut self, packet: &Packet) {
        let number = match packet.carrier {
            Carrier::Esp => 0,
            Carrier::InUdp => 4_500,
            Carrier::Clear => packet.to.port(),
        };
        let local = SocketAddr::new(packet.to.ip(), number);
        let port = self.port(local);
        self.step(Flow::to(port, Transport::Udp, local, packet.from), &packet.bytes);
    }

    /// Somebody who is no phone of this world says something in the clear; what that one has heard.
    pub fn stranger(&mut self, from: &str, text: &str) -> Vec<String> {
        let (from, to) = (from.parse().unwrap(), SocketAddr::from((ACCESS, 5_060)));
        let bytes = text.as_bytes().to_vec();
        self.fly(Packet { carrier: Carrier::Clear, from, to, bytes });
        let before = self.air.len();
        self.run(Duration::from_millis(200));
        let heard = self.air[before..].iter().filter(|it| it.to == from);
        heard.map(|it| String::from_utf8_lossy(&it.bytes).into_owned()).collect()
    }

    /// A phone does something.
    pub fn act(&mut self, phone: usize, act: impl FnOnce(&mut Handset, Time, &mut Vec<Packet>)) {
        let mut out = Vec::new();
        let caller = &mut self.callers[phone];
        act(&mut caller.phone.handset, self.now, &mut out);
        self.leave(phone, out);
    }

    fn leave(&mut self, phone: usize, sent: Vec<Packet>) {
        for packet in sent {
            let caller = &mut self.callers[phone];
            self.clear += u32::from(packet.carrier == Carrier::Clear && caller.was_registered);
            let packet = caller.phone.outside(packet);
            self.fly(packet);
        }
    }

    /// A phone asks for something, again and again until it is answered.
    fn ask(&mut self, phone: usize, text: String) {
        let interval = Duration::from_millis(500);
        let (text, next) = (text.into_bytes(), self.now + interval);
        let bytes = text.clone();
        self.callers[phone].asked = Some(Asked { text, next, interval });
        self.act(phone, |handset, _, out| handset.send(&bytes, out));
    }

    /// A request of a phone in its call.
    pub fn request(&self, phone: usize, method: &str, cseq: u32, body: &str) -> String {
        let caller = &self.callers[phone];
        let config = caller.phone.handset.config();
        let (contact, impu) = (caller.phone.handset.contact(), &config.subscriber.impu);
        let dialog = caller.dialog.clone();
        let (tag, target) = dialog.unwrap_or((String::new(), "sip:bob@ims.example.org".to_owned()));
        let tag = if tag.is_empty() { tag } else { format!(";tag={tag}") };
        let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
        let call = caller.call;
        format!(
            "{method} {target} SIP/2.0\r\n\
             Via: SIP/2.0/UDP {contact};branch=z9hG4bK{method}{call}p{phone}\r\n\
             Max-Forwards: 70\r\nFrom: <{impu}>;tag=p{phone}\r\n\
             To: <sip:bob@ims.example.org>{tag}\r\nCall-ID: call{call}p{phone}\r\n\
             CSeq: {cseq} {method}\r\nContact: <sip:p@{contact}>\r\n{kind}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// A phone calls.
    pub fn call(&mut self, phone: usize) {
        self.callers[phone].call += 1;
        let invite = self.request(phone, "INVITE", 1, SDP);
        self.ask(phone, invite);
    }

    /// A phone ends its call.
    pub fn hang_up(&mut self, phone: usize) {
        let bye = self.request(phone, "BYE", 2, "");
        self.ask(phone, bye);
    }

    /// The BYE of a phone as it would leave under its agreement.
    pub fn bye(&self, phone: usize) -> Vec<u8> {
        let bye = self.request(phone, "BYE", 2, "");
        self.callers[phone].phone.handset.verified(bye.as_bytes())
    }

    /// Whether a phone's call stands.
    pub fn is_in_call(&self, phone: usize) -> bool {
        self.callers[phone].dialog.is_some()
    }

    /// How many calls of a phone were ended.
    pub fn ended(&self, phone: usize) -> u32 {
        self.callers[phone].ended
    }

    /// Whether a request of the core has come to a phone.
    pub fn has_come(&self, phone: usize) -> bool {
        !self.callers[phone].requests.is_empty()
    }

    /// Requests of the core that have come to a phone.
    pub fn requests(&self, phone: usize) -> &[String] {
        &self.callers[phone].requests
    }

    /// The address and server port of a phone.
    pub fn contact(&self, phone: usize) -> SocketAddr {
        self.callers[phone].phone.handset.contact()
    }

    pub fn state(&self, phone: usize) -> handset::State {
        self.callers[phone].phone.handset.state()
    }

    /// A phone subscribes to what becomes of its registration (RFC 3680).
    pub fn subscribe(&mut self, phone: usize) {
        let impu = self.callers[phone].phone.handset.config().subscriber.impu.clone();
        let contact = self.callers[phone].phone.handset.contact();
        let text = format!(
            "SUBSCRIBE {impu} SIP/2.0\r\nVia: SIP/2.0/UDP {contact};branch=z9hG4bKs{phone}\r\n\
             Max-Forwards: 70\r\nFrom: <{impu}>;tag=s{phone}\r\nTo: <{impu}>\r\n\
             Call-ID: s{phone}\r\nCSeq: 1 SUBSCRIBE\r\nEvent: reg\r\nExpires: 600\r\n\
             Contact: <sip:p@{contact}>\r\nContent-Length: 0\r\n\r\n"
        );
        self.act(phone, |handset, _, out| handset.send(text.as_bytes(), out));
    }

    /// The core says what became of a registration to whoever has subscribed.
    pub fn notify(&mut self, body: &str) {
        let asked = self.subscribed.clone().expect("somebody has subscribed");
        let target = value(&asked, "Contact").split(['<', '>']).nth(1).expect("an address");
        let (from, to) = (value(&asked, "To"), value(&asked, "From"));
        let number = self.count + 2;
        let text = format!(
            "NOTIFY {target} SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.9:5080;branch=z9hG4bKn{number}\r\n\
             Max-Forwards: 70\r\nFrom: {from};tag=b\r\nTo: {to}\r\nCall-ID: {}\r\n\
             CSeq: {number} NOTIFY\r\nContact: <sip:bob@192.0.2.9:5080>\r\nEvent: reg\r\n\
             Subscription-State: active;expires=600\r\nContent-Type: application/reginfo+xml\r\n\
             Content-Length: {}\r\n\r\n{body}",
            value(&asked, "Call-ID"),
            body.len()
        );
        self.later(Duration::ZERO, Later::FromCore(text.into_bytes()));
    }

    /// The core asks a phone something, once.
    pub fn core_asks(&mut self, phone: usize, number: u32) {
        self.core_asks_saying(phone, number, "");
    }

    /// The same, with further lines.
    pub fn core_asks_saying(&mut self, phone: usize, number: u32, more: &str) {
        let impi = self.callers[phone].phone.handset.config().subscriber.impi.clone();
        let Some(contact) = self.home.contact(&impi) else { return };
        let contact = String::from_utf8_lossy(contact).into_owned();
        let uri = contact.split(['<', '>']).nth(1).expect("an address").to_owned();
        let text = format!(
            "MESSAGE {uri} SIP/2.0\r\n\
             Via: SIP/2.0/UDP 192.0.2.9:5080;branch=z9hG4bKo{number}p{phone}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:core@x>;tag=1\r\nTo: <{uri}>\r\n\
             Call-ID: o{number}p{phone}\r\nCSeq: 1 MESSAGE\r\n{more}Content-Length: 0\r\n\r\n"
        );
        let name = format!("o{number}p{phone}");
        self.open.insert(name.clone(), text.into_bytes());
        self.later(Duration::ZERO, Later::Again(name, Duration::from_millis(500)));
    }

    /// What came to a phone.
    fn hears(&mut self, phone: usize, event: &Event) {
        match event {
            Event::Registered => self.callers[phone].was_registered = true,
            Event::Deregistered | Event::Failed(_) => self.callers[phone].was_registered = false,
            Event::Came(bytes) => {
                let text = String::from_utf8_lossy(bytes).into_owned();
                if !text.starts_with("SIP/2.0 ") {
                    self.callers[phone].requests.push(text);
                    let request = bytes.clone();
                    self.act(phone, |it, _, out| it.answer(&request, 200, b"", out));
                } else if !text.starts_with("SIP/2.0 1") {
                    self.answered(phone, &text);
                }
            }
        }
    }

    /// A final answer to a phone.
    fn answered(&mut self, phone: usize, text: &str) {
        let of = |name| value(text, name);
        let caller = &mut self.callers[phone];
        let is_ours = of("Call-ID") == format!("call{}p{phone}", caller.call);
        let is_accepted = text.starts_with("SIP/2.0 200");
        match of("CSeq") {
            "1 INVITE" if is_ours && is_accepted => {
                let target = of("Contact").split(['<', '>']).nth(1).expect("an address");
                let (_, tag) = of("To").split_once(";tag=").expect("it has a tag");
                caller.dialog = Some((tag.to_owned(), target.to_owned()));
                caller.asked.take_if(|it| it.text.starts_with(b"INVITE"));
                let ack = self.request(phone, "ACK", 1, "");
                self.act(phone, |handset, _, out| handset.send(ack.as_bytes(), out));
            }
            "1 INVITE" if is_ours => {
                caller.asked.take_if(|it| it.text.starts_with(b"INVITE"));
                let ack = self.request(phone, "ACK", 1, "").replacen("bKACK", "bKINVITE", 1);
                self.act(phone, |handset, _, out| handset.send(ack.as_bytes(), out));
            }
            "2 BYE" if is_ours && caller.dialog.is_some() => {
                caller.dialog = None;
                caller.asked = None;
                // That the call is over everywhere is as good.
                let is_over = is_accepted || text.starts_with("SIP/2.0 481");
                caller.ended += u32::from(is_over);
            }
            _ => {}
        }
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..1_000_000 {
            let active = self.nodes[self.active].as_ref();
            let deadlines = self.callers.iter().filter_map(|it| it.phone.handset.deadline());
            let deadlines = deadlines
                .chain(self.callers.iter().filter_map(|it| it.asked.as_ref().map(|it| it.next)))
                .chain(self.link.deadline())
                .chain(self.later.keys().next().map(|(at, _)| *at))
                .chain(active.and_then(|it| it.deadline()));
            let next = deadlines.min().unwrap_or(Time::MAX).max(self.now);
            if next > end {
                return self.now = end;
            }
            self.now = next;
            self.turn();
        }
        panic!("the world does not come to rest");
    }

    fn turn(&mut self) {
        while let Some(((at, number), _)) = self.later.first_key_value() {
            let key = (*at, *number);
            if key.0 > self.now {
                break;
            }
            let what = self.later.remove(&key).expect("it is there");
            self.happens(what);
        }
        while let Some((to, number)) = self.link.deliver(self.now) {
            let number = u32::from_be_bytes(number.try_into().unwrap()) as usize;
            let packet = self.flying[number].clone();
            if to == 0 {
                self.arrives(&packet);
                continue;
            }
            for phone in 0..self.callers.len() {
                let caller = &mut self.callers[phone].phone;
                let Some(packet) = caller.inside(&packet) else { continue };
                let mut sent = Vec::new();
                caller.handset.receive(self.now, &packet, &mut sent);
                self.after(phone, sent);
            }
        }
        for phone in 0..self.callers.len() {
            let mut sent = Vec::new();
            self.callers[phone].phone.handset.tick(self.now, &mut sent);
            self.after(phone, sent);
            self.asks_again(phone);
        }
        let mut out = core::mem::take(&mut self.out);
        if let Some(controller) = &mut self.nodes[self.active] {
            controller.tick(self.now, &mut out);
        }
        self.out = out;
        self.collect(self.active);
    }

    fn after(&mut self, phone: usize, sent: Vec<Packet>) {
        self.leave(phone, sent);
        while let Some(event) = self.callers[phone].phone.handset.event() {
            self.hears(phone, &event);
        }
    }

    fn asks_again(&mut self, phone: usize) {
        let now = self.now;
        let Some(asked) = &mut self.callers[phone].asked else { return };
        if asked.next > now {
            return;
        }
        asked.interval = (asked.interval * 2).min(Duration::from_secs(4));
        asked.next = now + asked.interval;
        let text = asked.text.clone();
        self.act(phone, |handset, _, out| handset.send(&text, out));
    }

    /// What a node shows of security agreements, but for what it alone has counted.
    pub fn agreements(&mut self, standby: bool) -> Vec<serde_json::Value> {
        let mut rows = self.rows(standby);
        for row in &mut rows {
            let own = ["packets_in", "packets_out", "replayed", "forged", "octets"];
            own.iter().for_each(|name| drop(row.as_object_mut().unwrap().remove(*name)));
        }
        // What the core has not challenged is not told.
        rows.retain(|row| row["state"] != "offered");
        rows
    }

    fn rows(&mut self, standby: bool) -> Vec<serde_json::Value> {
        let node = if standby { 1 - self.active } else { self.active };
        let Some(controller) = &mut self.nodes[node] else { return Vec::new() };
        let ask = Ask { path: "ipsec".to_owned(), ..Ask::default() };
        let answer = controller.ask(self.now, &ask, &mut Effects::default()).expect("it answers");
        answer.as_array().cloned().unwrap_or_default()
    }

    /// How many registrations the active node has.
    pub fn bindings(&mut self) -> usize {
        let Some(controller) = &mut self.nodes[self.active] else { return 0 };
        let ask = Ask { path: "registrations".to_owned(), ..Ask::default() };
        let answer = controller.ask(self.now, &ask, &mut Effects::default()).expect("it answers");
        answer.as_array().map_or(0, Vec::len)
    }

    /// Both ends of a phone's agreement have the same indices.
    pub fn is_agreed(&mut self, phone: usize) -> bool {
        let handset = &self.callers[phone].phone.handset;
        let impi = handset.config().subscriber.impi.clone();
        let Some(own) = handset.indices() else { return false };
        let own = own.map(|spi| spi.0);
        self.agreements(false).iter().any(|row| {
            let is = |name: &str, own: &[u32]| row[name] == serde_json::json!(own);
            row["impi"] == impi.as_str()
                && row["state"] == "current"
                && is("spi_in", &own[..2])
                && is("spi_out", &own[2..])
        })
    }

    /// Sets of associations that the active node has, and that phones have which are off.
    pub fn sets(&self) -> (u64, u64) {
        let cells = self.cells();
        let samples = cells.iter().flat_map(|it| it.samples());
        let found = samples.filter(|(row, _)| row.name == "ipsec_sets");
        let own = found.map(|(_, sample)| match sample {
            event::Sample::Value(value) => value,
            _ => 0,
        });
        (own.sum(), self.sets_of_phones())
    }

    /// Sets of phones that have de-registered.
    fn sets_of_phones(&self) -> u64 {
        let all = self.callers.iter().map(|it| &it.phone.handset);
        all.filter(|it| it.state() == handset::State::Off).map(Handset::sets).sum()
    }

    /// The cells of the active node.
    pub fn cells(&self) -> Vec<event::MetricCells> {
        self.nodes[self.active].as_ref().map(|it| it.cells()).unwrap_or_default()
    }
}

/// A set by its indices and ports: each index alone comes again after a few sets of one slot.
fn name(row: &serde_json::Value) -> String {
    format!("{} {} {}", row["spi_in"], row["spi_out"], row["ue_ports"])
}

/// The value of a header field.
pub fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_default()
}

/// What whoever is called answers.
fn answer(request: &str, status: &str, body: &str) -> String {
    let mut text = format!("SIP/2.0 {status}\r\n");
    for line in request.lines().take_while(|line| !line.is_empty()) {
        let kept = ["Via", "From", "To", "Call-ID", "CSeq", "Record-Route"];
        let name = line.split(':').next().unwrap_or_default();
        if kept.contains(&name) {
            text += line;
            text += if name == "To" && !line.contains(";tag=") { ";tag=b\r\n" } else { "\r\n" };
        }
    }
    format!(
        "{text}Contact: <sip:bob@192.0.2.9:5080>\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
