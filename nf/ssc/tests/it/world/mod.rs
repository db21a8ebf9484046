//! A controller between scripted endpoints in virtual time.

pub mod ends;
pub mod pair;

use machine::{Duration, Time};
use runtime::{Effects, Flow, Function, In, PortId, Seed, Transport};
use ssc::{Controller, config};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

pub const ACCESS: &str = "127.0.0.1:5060";
pub const CORE: &str = "127.0.0.1:5070";
pub const ALICE: &str = "10.0.0.1:5062";
pub const BOB: &str = "10.0.1.1:5080";
pub const BACKUP: &str = "10.0.1.2:5080";

pub const SITE: &str = r#"
name = "ssc1"
[[realm]]
name = "access"
listen = ["udp:127.0.0.1:5060", "tcp:127.0.0.1:5060"]
[[realm]]
name = "core"
side = "core"
listen = ["udp:127.0.0.1:5070", "tcp:127.0.0.1:5070"]
trusted = true
[[next_hop]]
name = "switch"
realm = "core"
targets = ["udp:10.0.1.1:5080", "udp:10.0.1.2:5080"]
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
"#;

/// A datagram that the controller sent.
#[derive(Debug, Clone)]
pub struct Sent {
    pub to: SocketAddr,
    pub text: String,
}

pub struct World {
    pub controller: Controller,
    pub now: Time,
    pub sent: VecDeque<Sent>,
    pub config: config::Ssc,
    /// What the controller asked of the DNS.
    pub queries: Vec<(u64, runtime::Query)>,
    /// Addresses that shall lead to a connection, and names that certificates must carry.
    pub aliases: Vec<(Flow, SocketAddr)>,
    pub names: Vec<(SocketAddr, String)>,
    /// What it told its standby.
    pub deltas: Vec<Vec<u8>>,
    /// What it told media controllers, and connections to them that it opens and closes.
    pub rows: Vec<(Flow, Vec<u8>)>,
    pub opens: Vec<Flow>,
    pub closes: Vec<Flow>,
    raw: Vec<(SocketAddr, Vec<u8>)>,
    out: Effects,
}

impl World {
    pub fn new(site: &str) -> Self {
        Self::seeded(site, 0)
    }

    /// A controller with secrets of its own.
    pub fn seeded(site: &str, life: u8) -> Self {
        let config: config::Ssc = toml::from_str(site).expect("the site is well-formed");
        let mut issues = Vec::new();
        config.validate(&mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        let now = Time::from_millis(1_700_000_000_000);
        let seed = Seed { shard: 0, shards: 1, random: [7 ^ life; 32], now };
        let controller = Controller::new(seed, Arc::new(config.clone()));
        Self {
            controller,
            now,
            sent: VecDeque::new(),
            config,
            queries: Vec::new(),
            aliases: Vec::new(),
            names: Vec::new(),
            deltas: Vec::new(),
            rows: Vec::new(),
            opens: Vec::new(),
            closes: Vec::new(),
            raw: Vec::new(),
            out: Effects::default(),
        }
    }

    pub fn port(&self, local: &str, transport: Transport) -> PortId {
        let local: SocketAddr = local.parse().unwrap();
        let ports = self.config.ports();
        ports.iter().find(|p| p.listen == local && p.transport() == transport).unwrap().id
    }

    /// `text` comes from `from` to the listener at `to`, over UDP.
    pub fn receive(&mut self, from: &str, to: &str, text: &str) {
        let local = to.parse().unwrap();
        let port = self.port(to, Transport::Udp);
        let flow = Flow::to(port, Transport::Udp, local, from.parse().unwrap());
        self.receive_on(flow, text);
    }

    pub fn receive_on(&mut self, flow: Flow, text: &str) {
        let input = In::Message { flow, bytes: text.as_bytes() };
        self.controller.step(self.now, input, &mut self.out);
        self.collect();
    }

    /// A call of Alice's that stands, Bob's tag is `b1`; the INVITE as Bob got it.
    pub fn call(&mut self, call_id: &str) -> (Caller, String) {
        let mut alice = Caller::new(call_id);
        let invite = self.invite(&alice);
        alice.learn(&self.expect(ALICE, "SIP/2.0 200"));
        self.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        self.expect(BOB, "ACK");
        (alice, invite)
    }

    /// Alice changes a call.
    pub fn change(&mut self, alice: &mut Caller) {
        alice.cseq += 1;
        self.invite(alice);
        self.expect(ALICE, "SIP/2.0 200");
        self.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        self.expect(BOB, "ACK");
    }

    /// Alice's INVITE, answered by Bob; as he got it.
    fn invite(&mut self, alice: &Caller) -> String {
        self.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        self.expect(ALICE, "SIP/2.0 100");
        let invite = self.expect(BOB, "INVITE");
        self.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
        invite
    }

    /// Alice ends a call. After a takeover its ACK goes first: whether that had come before is not
    /// kept.
    pub fn end(&mut self, alice: &mut Caller) {
        alice.cseq += 1;
        self.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
        if self.sent.front().is_some_and(|sent| sent.text.starts_with("ACK")) {
            self.sent.pop_front();
        }
        self.answer_bye(BOB, CORE, ALICE);
    }

    /// The BYE that has reached one end is answered by it.
    pub fn answer_bye(&mut self, at: &str, listener: &str, other: &str) {
        let bye = self.expect(at, "BYE");
        self.receive(at, listener, &respond(&bye, "200 OK", "", "", ""));
        self.expect(other, "SIP/2.0 200");
    }

    /// New requests of the access realm have waited long for a while: three OPTIONS, of which the
    /// last one is refused.
    pub fn overload(&mut self) {
        for n in 0..4 {
            self.controller.waited(self.now, Duration::from_millis(200));
            let mut probe = Caller::new(&format!("probe{n}"));
            probe.target = format!("sip:{ACCESS}");
            self.receive(ALICE, ACCESS, &probe.request("OPTIONS", "", ""));
            self.pass(Duration::from_millis(21));
        }
        self.sent.clear();
    }

    pub fn step(&mut self, input: In<'_>) {
        self.controller.step(self.now, input, &mut self.out);
        self.collect();
    }

    pub fn ask(&mut self, path: &str, params: &[(&str, &str)]) -> serde_json::Value {
        let params = params.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let ask = runtime::Ask { path: path.to_owned(), params };
        let answer = self.controller.ask(self.now, &ask, &mut self.out).unwrap();
        self.collect();
        answer
    }

    pub fn configure(&mut self, site: &str) {
        let config: config::Ssc = toml::from_str(site).expect("the site is well-formed");
        self.config = config.clone();
        self.controller.configure(self.now, Arc::new(config), &mut self.out);
        self.collect();
    }

    fn collect(&mut self) {
        for (flow, bytes) in self.out.sends() {
            if flow.port == ssc::config::CAPTURE_PORT {
                self.raw.push((flow.remote, bytes.to_vec()));
                continue;
            }
            if flow.port >= ssc::config::MEDIA_PORT {
                self.rows.push((flow, bytes.to_vec()));
                continue;
            }
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.sent.push_back(Sent { to: flow.remote, text });
        }
        self.deltas.extend(self.out.deltas().map(<[u8]>::to_vec));
        self.queries.append(&mut self.out.queries);
        self.aliases.append(&mut self.out.aliases);
        self.names.append(&mut self.out.names);
        self.opens.append(&mut self.out.opens);
        self.closes.append(&mut self.out.closes);
        self.out.clear();
    }

    /// What was sent to the collector, as bytes.
    pub fn raw_to(&mut self, to: &str) -> Vec<u8> {
        let to: SocketAddr = to.parse().unwrap();
        self.raw.drain(..).filter(|(at, _)| *at == to).flat_map(|(_, bytes)| bytes).collect()
    }

    /// Fires what is due now, as a shard does at the end of a turn.
    pub fn tick(&mut self) {
        if self.controller.deadline().is_some_and(|at| at <= self.now) {
            self.controller.tick(self.now, &mut self.out);
            self.collect();
        }
    }

    /// Lets time pass, every timer at its time; how often something was due.
    pub fn pass(&mut self, time: Duration) -> u32 {
        let end = self.now + time;
        let mut guard = 0;
        while let Some(at) = self.controller.deadline().filter(|&at| at <= end) {
            guard += 1;
            assert!(guard < 1_000_000, "the deadline must advance");
            self.now = self.now.max(at);
            self.controller.tick(self.now, &mut self.out);
            self.collect();
        }
        self.now = end;
        guard
    }

    /// The next message sent, which must go to `to` and begin with `start`.
    #[track_caller]
    pub fn expect(&mut self, to: &str, start: &str) -> String {
        let sent = self.sent.pop_front().unwrap_or_else(|| panic!("nothing sent, wanted {start}"));
        assert!(
            sent.text.starts_with(start),
            "wanted {start}, sent to {}:\n{}",
            sent.to,
            sent.text
        );
        assert_eq!(sent.to, to.parse().unwrap(), "{}", sent.text);
        sent.text
    }

    #[track_caller]
    pub fn expect_nothing(&self) {
        assert!(self.sent.is_empty(), "{:#?}", self.sent);
    }

    /// Every transaction, relay and call ends within a few minutes.
    #[track_caller]
    pub fn expect_idle(&mut self) {
        self.pass(Duration::from_secs(400));
        assert!(self.controller.is_idle(), "calls or relays are left");
        assert_eq!(self.metric("ssc_transactions_live"), 0, "transactions are left");
        assert_eq!(self.metric("ssc_requests_octets"), 0, "memory of requests is left");
    }

    pub fn metric(&mut self, name: &str) -> u64 {
        let _ = self.ask("realms", &[]);
        let cells = self.controller.cells();
        let found = cells.iter().flat_map(event::MetricCells::samples);
        let found = found.into_iter().find(|(row, _)| row.name == name);
        match found.unwrap_or_else(|| panic!("no metric {name}")).1 {
            event::Sample::Value(value) => value,
            event::Sample::Histogram { count, .. } => count,
        }
    }
}

/// The value of a header's first line.
pub fn header<'a>(text: &'a str, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    text.lines()
        .find_map(|line| line.strip_prefix(prefix.as_str()))
        .unwrap_or_else(|| panic!("no {name} in\n{text}"))
}

/// The tag of From or To.
pub fn tag<'a>(text: &'a str, name: &str) -> &'a str {
    let value = header(text, name);
    value.split_once(";tag=").map_or("", |(_, tag)| tag)
}

pub const SDP: &str = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 10.0.0.1\r\nt=0 0\r\n\
    m=audio 6000 RTP/AVP 0\r\n";

/// A caller at ALICE.
#[derive(Debug, Clone)]
pub struct Caller {
    pub call_id: String,
    pub cseq: u32,
    pub to_tag: String,
    pub target: String,
    pub at: &'static str,
    pub listener: &'static str,
}

impl Caller {
    pub fn new(call_id: &str) -> Self {
        Self {
            call_id: call_id.to_owned(),
            cseq: 1,
            to_tag: String::new(),
            target: String::from("sip:bob@example.org"),
            at: ALICE,
            listener: ACCESS,
        }
    }

    pub fn request(&self, method: &str, more: &str, body: &str) -> String {
        let to_tag =
            if self.to_tag.is_empty() { String::new() } else { format!(";tag={}", self.to_tag) };
        let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
        format!(
            "{method} {} SIP/2.0\r\nVia: SIP/2.0/UDP {};rport;branch=z9hG4bK{}{}{}\r\n\
             Max-Forwards: 70\r\nFrom: \"Alice\" <sip:alice@example.com>;tag=a-{}\r\n\
             To: <sip:bob@example.org>{to_tag}\r\nCall-ID: {}\r\nCSeq: {} {method}\r\n\
             Contact: <sip:alice@{}>\r\n{more}{kind}Content-Length: {}\r\n\r\n{body}",
            self.target,
            self.at,
            method,
            self.call_id,
            self.cseq,
            self.call_id,
            self.call_id,
            self.cseq,
            self.at,
            body.len()
        )
    }

    /// Takes dialog state from a response.
    pub fn learn(&mut self, response: &str) {
        self.to_tag = tag(response, "To").to_owned();
        let contact = header(response, "Contact");
        self.target = contact.trim_start_matches('<').split('>').next().unwrap().to_owned();
    }
}

/// A response to a request as an agent at `contact` writes it.
pub fn respond(request: &str, status: &str, tag: &str, more: &str, body: &str) -> String {
    let mut text = format!("SIP/2.0 {status}\r\n");
    for line in request.lines().take_while(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap();
        match name {
            "Via" | "From" | "Call-ID" | "CSeq" | "Record-Route" => {
                text += line;
                text += "\r\n";
            }
            "To" => {
                text += line;
                if !tag.is_empty() && !line.contains(";tag=") {
                    text += &format!(";tag={tag}");
                }
                text += "\r\n";
            }
            _ => {}
        }
    }
    let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
    text + more + kind + &format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Contact of Bob.
pub const BOB_CONTACT: &str = "Contact: <sip:bob@10.0.1.1:5080>\r\n";

/// A request inside the dialog as Bob sends it: `invite` is the INVITE he got.
pub fn from_bob(invite: &str, tag_: &str, method: &str, cseq: u32, more: &str) -> String {
    let contact = header(invite, "Contact");
    let target = contact.trim_start_matches('<').split('>').next().unwrap();
    format!(
        "{method} {target} SIP/2.0\r\n\
         Via: SIP/2.0/UDP {BOB};rport;branch=z9hG4bKb{method}{cseq}{tag_}\r\n\
         Max-Forwards: 70\r\nFrom: {};tag={tag_}\r\nTo: {}\r\n\
         Call-ID: {}\r\nCSeq: {cseq} {method}\r\n\
         {BOB_CONTACT}{more}Content-Length: 0\r\n\r\n",
        header(invite, "To"),
        header(invite, "From"),
        header(invite, "Call-ID"),
    )
}
