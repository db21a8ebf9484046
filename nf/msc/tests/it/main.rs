//! The controller against session controllers, NG and a forwarder whose every word a test says.

mod calls;
mod coded;
mod followed;
mod graph;
mod keyed;
mod pair;
mod seeds;
mod shards;
mod standing;
mod trails;

use anchor::row::{Envelope, Message, StreamId, read, write};
use anchor::{Action, Block, Codec, Dtmf, End, Flow as Carried, Guard, Kind, Local, Payload, Rtcp};
use anchor::{Side, Stream, Trace};
use authentication::Keys;
use core::net::{IpAddr, SocketAddr};
use dataplane::Numbers;
use forwarder::Launch;
use forwarder::ipc::{self, Reply, Request};
use machine::{Duration, Time};
use media::program::{Duty, FEATURE, FlowSaid, Name, Notice, Range, Said, Tokens};
use msc::config::{CONTROL_PORT, Msc, NG_PORT};
use msc::{CHANNELS, Certificate, Settings, TRANSCODER};
use nodes::Program;
use nodes::program::{Item, Removed};
use runtime::{
    Ask, ChannelEvent, ChannelOrder, ConnId, Effects, Flow, Function as _, In, Seed, Transport,
};
use sdp::Direction;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const SITE: &str = r#"
name = "msc1"
listen = "127.0.0.1:2970"
ng = "127.0.0.1:2223"
[[port]]
name = "ge0"
driver = "af_packet"
[[interface]]
name = "ge0"
addresses = ["192.0.2.1/24", "2001:db8::1/64"]
gateways = ["192.0.2.254"]
[[group]]
name = "access"
addresses = ["192.0.2.1", "2001:db8::1"]
ports = "20000-20255"
[[group]]
name = "core"
addresses = ["192.0.2.2"]
ports = "30000-30255"
[limits]
block_pairs = 32
session_controller_away_s = 60
quarantine_s = 10
"#;

fn section(text: &str) -> Msc {
    let msc: Msc = toml::from_str(text).expect("a section");
    let mut issues = Vec::new();
    msc.validate(&mut issues);
    assert_eq!(issues, [], "it is valid");
    msc
}

fn settings(text: &str, key: Option<&str>) -> Arc<Settings> {
    let made = dtls::Certificate::generate().expect("a certificate");
    let certificate = Some(Certificate { der: made.der().into(), key: made.expose_key().into() });
    let (socket, command, log) = ("/".into(), Vec::new(), "/".into());
    let launch = Launch { socket, command, log, ..Launch::default() };
    let keys = key.map(|text| Keys::parse(text).expect("a key"));
    let (socket, command, log) = ("/".into(), Vec::new(), "/".into());
    let transcoder = Some(transcoder::Launch { socket, command, log });
    Arc::new(Settings { msc: section(text), keys, launch, transcoder, certificate })
}

/// A forwarder as far as a control sees it.
#[derive(Debug, Default)]
struct Plane {
    items: BTreeMap<Vec<u8>, Vec<u8>>,
    /// What was said since `Begin`.
    said: Option<BTreeSet<Vec<u8>>>,
    memo: Vec<u8>,
    /// Whether another system took an address of it while nobody controlled it.
    is_taken: bool,
    tokens: Tokens,
    /// Addresses of interfaces, and how often a duty was said.
    addresses: BTreeSet<IpAddr>,
    duties: Vec<Duty>,
}

impl Plane {
    fn apply(&mut self, program: Program) {
        match program {
            Program::Begin { .. } => self.said = Some(BTreeSet::new()),
            Program::End { .. } => {
                if let Some(said) = self.said.take() {
                    self.items.retain(|key, _| said.contains(key));
                }
            }
            Program::Item(Item { feature, key, value }) => {
                assert_eq!(feature, FEATURE);
                Said::read(&key, &value).expect("it is taken");
                if let Some(said) = &mut self.said {
                    said.insert(key.clone());
                }
                if let Ok(Said::Duty(duty)) = Said::read(&key, &value) {
                    self.duties.push(duty);
                }
                if let Ok(Said::Tokens(tokens)) = Said::read(&key, &value) {
                    self.tokens = tokens;
                }
                self.items.insert(key, value);
            }
            Program::Address(it) => drop(self.addresses.insert(it.address)),
            Program::Remove(Removed::Address(_, address, _)) => {
                assert!(self.addresses.remove(&address), "nobody has it");
            }
            Program::Remove(Removed::Item(_, key)) => {
                assert!(self.items.remove(&key).is_some(), "nothing is there to be removed");
            }
            _ => {}
        }
    }

    /// What is said of ports and streams, and which of a pair it is.
    fn of_media(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut items = self.items.clone();
        items.remove(&Name::Tokens.key());
        items.remove(&Name::Followed.key());
        items
    }

    fn flows(&self) -> Vec<FlowSaid> {
        let said = self.items.iter().map(|(key, value)| Said::read(key, value).expect("said"));
        said.filter_map(|it| if let Said::Flow(flow) = it { Some(*flow) } else { None }).collect()
    }

    fn ranges(&self) -> Vec<Range> {
        let said = self.items.iter().map(|(key, value)| Said::read(key, value).expect("said"));
        said.filter_map(|it| if let Said::Range(range) = it { Some(range) } else { None }).collect()
    }
}

/// A controller, its forwarder, and the numbers of messages of its connections.
struct World {
    msc: shards::Shards,
    settings: Arc<Settings>,
    now: Time,
    out: Effects,
    plane: Plane,
    said: BTreeMap<u32, u64>,
    heard: BTreeMap<u32, Vec<Message>>,
    replies: Vec<Vec<u8>>,
    closed: BTreeSet<u32>,
    /// Packets that went down by the packet channel.
    sent: Vec<Vec<u8>>,
    /// What the transcoder was told.
    coded: Vec<u8>,
    /// What the other node of a pair is told, and whether that shall serve.
    deltas: Vec<Vec<u8>>,
    hands_over: bool,
    /// Marks of what that was told, and whether this node wants to be told all anew.
    marks: Vec<u64>,
    is_incomplete: bool,
}

impl World {
    fn new(text: &str, key: Option<&str>) -> Self {
        Self::with(settings(text, key), Plane::default(), Time::from_millis(1_000))
    }

    /// One whose forwarder is that.
    fn with(settings: Arc<Settings>, plane: Plane, now: Time) -> Self {
        // Two nodes of a pair draw apart.
        let node = settings.msc.replica.as_ref().and_then(|it| it.listen.bytes().last());
        let random = [now.as_millis() as u8 ^ node.unwrap_or(0); 32];
        let msc = shards::Shards::new(Arc::clone(&settings), random, now);
        let (said, heard, closed) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let (out, replies, sent) = (Effects::default(), Vec::new(), Vec::new());
        let coded = Vec::new();
        let (deltas, hands_over) = (Vec::new(), false);
        Self {
            msc,
            settings,
            now,
            out,
            plane,
            said,
            heard,
            replies,
            closed,
            sent,
            coded,
            deltas,
            hands_over,
            marks: Vec::new(),
            is_incomplete: false,
        }
    }

    fn adopted(text: &str) -> Self {
        let mut world = Self::new(text, None);
        world.adopt();
        world
    }

    /// The forwarder takes the control, and a transcoder comes.
    fn adopt(&mut self) {
        self.msc.tick(self.now, &mut self.out);
        self.channel(ChannelEvent::Up);
        let memo = self.plane.memo.clone();
        self.hears(&Reply::Welcome { ports: vec![], memo, is_taken: self.plane.is_taken });
        self.coder_comes();
    }

    fn channel(&mut self, event: ChannelEvent<'_>) {
        let input = In::Channel { port: CHANNELS.control, event };
        self.msc.step(self.now, input, &mut self.out);
        self.settle();
    }

    fn hears(&mut self, reply: &Reply) {
        let mut octets = Vec::new();
        ipc::write(reply, &mut octets).expect("it is short");
        self.channel(ChannelEvent::Message(&octets));
    }

    fn notices(&mut self, at: Local, notice: &Notice) {
        let place = self.msc.state().place(at).expect("it stands");
        let (feature, key) = (FEATURE.to_owned(), Name::Flow(place).key());
        self.hears(&Reply::Item(Item { feature, key, value: notice.value() }));
    }

    fn passes(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.msc.tick(self.now, &mut self.out);
            self.settle();
        }
    }

    /// Does what the controller wants done.
    fn settle(&mut self) {
        for (port, order) in std::mem::take(&mut self.out.channels) {
            let octets = match order {
                ChannelOrder::Write(octets) if port == TRANSCODER => {
                    self.coded.extend(octets);
                    continue;
                }
                ChannelOrder::Write(octets) => octets,
                ChannelOrder::Send(packets) => {
                    self.sent.extend(packets.iter().map(|(_, packet)| packet.to_vec()));
                    continue;
                }
                _ => continue,
            };
            let mut at = 0;
            while port == CHANNELS.control
                && let Some((request, used)) = ipc::read(&octets[at..]).expect("a message")
            {
                at += used;
                match request {
                    Request::Apply(programs) => {
                        programs.into_iter().for_each(|it| self.plane.apply(it));
                    }
                    Request::Keep(memo) => self.plane.memo = memo,
                    _ => {}
                }
            }
        }
        let sends: Vec<(Flow, Vec<u8>)> =
            self.out.sends().map(|(flow, octets)| (flow, octets.to_vec())).collect();
        for (flow, octets) in sends {
            if flow.port != CONTROL_PORT {
                self.replies.push(octets);
                continue;
            }
            let (envelope, used) = read(&octets).expect("a message").expect("whole");
            assert_eq!(used, octets.len());
            self.heard.entry(flow.conn.0).or_default().push(envelope.message);
        }
        self.deltas.extend(self.out.deltas().map(<[u8]>::to_vec));
        self.hands_over |= self.out.hands_over;
        self.marks.extend(self.out.marked());
        self.is_incomplete |= self.out.asks_for_all();
        self.closed.extend(self.out.closes.iter().map(|flow| flow.conn.0));
        self.out.clear();
    }

    fn connect(&mut self, conn: u32) {
        self.said.insert(conn, 0);
        self.msc.step(self.now, In::Up { flow: flow(conn) }, &mut self.out);
        self.settle();
    }

    fn disconnect(&mut self, conn: u32) {
        let input = In::Down { flow: flow(conn), why: "over" };
        self.msc.step(self.now, input, &mut self.out);
        self.settle();
    }

    fn says(&mut self, conn: u32, message: Message) {
        let number = self.said.entry(conn).or_default();
        *number += 1;
        let mut octets = Vec::new();
        write(&Envelope { number: *number, message }, &mut octets).expect("short");
        self.octets(conn, &octets);
    }

    fn octets(&mut self, conn: u32, bytes: &[u8]) {
        self.msc.step(self.now, In::Message { flow: flow(conn), bytes }, &mut self.out);
        self.settle();
    }

    /// What a connection was told since.
    fn told(&mut self, conn: u32) -> Vec<Message> {
        let all = self.heard.remove(&conn).unwrap_or_default();
        all.into_iter().filter(|it| !matches!(it, Message::Load(_) | Message::Ack { .. })).collect()
    }

    /// A session controller connects and says who it is.
    fn greets(&mut self, conn: u32, name: &str, epoch: u64) {
        self.connect(conn);
        self.says(conn, hello(name, epoch));
    }

    /// The blocks that one has after it said what it wants.
    fn leases(&mut self, conn: u32, group: &str, pairs: u32) -> Vec<Block> {
        self.told(conn);
        self.says(conn, Message::Lease { group: group.into(), pairs });
        let mut grants = self.told(conn).into_iter().filter_map(|it| match it {
            Message::Grant { is_v6: false, blocks, .. } => Some(blocks),
            _ => None,
        });
        grants.next_back().expect("a grant")
    }

    fn puts(&mut self, conn: u32, call: u64, generation: u32, what: &Stream) {
        let (stream, what) = (id(call), Box::new(what.clone()));
        self.says(conn, Message::Put { stream, generation, what });
    }

    fn removes(&mut self, conn: u32, call: u64, generation: u32) {
        self.says(conn, Message::Remove { stream: id(call), generation });
    }

    /// A command of NG; the reply without its cookie.
    fn commands(&mut self, cookie: &str, entries: &[(&str, &str)]) -> String {
        self.sends_command(cookie, entries);
        if self.replies.is_empty() {
            // It waits for figures of now.
            self.now += Duration::from_millis(200);
            self.msc.tick(self.now, &mut self.out);
            self.settle();
        }
        let reply = String::from_utf8(self.replies.pop().expect("a reply")).expect("text");
        reply.strip_prefix(&format!("{cookie} ")).expect("its cookie").to_owned()
    }

    /// Sends one.
    fn sends_command(&mut self, cookie: &str, entries: &[(&str, &str)]) {
        let mut entries = entries.to_vec();
        entries.sort_unstable();
        let mut text = format!("{cookie} d");
        for (key, value) in entries {
            // Lists are given as they are.
            let value = match value.strip_prefix("list:") {
                Some(list) => list.to_owned(),
                None => format!("{}:{value}", value.len()),
            };
            text += &format!("{}:{key}{value}", key.len());
        }
        text.push('e');
        let local = SocketAddr::from(([127, 0, 0, 1], 2_223));
        let flow = Flow::to(NG_PORT, Transport::Udp, local, ([127, 0, 0, 1], 9_000).into());
        let bytes = text.as_bytes();
        self.msc.step(self.now, In::Message { flow, bytes }, &mut self.out);
        self.settle();
    }

    fn asks(&mut self, path: &str, params: &[(&str, &str)]) -> serde_json::Value {
        let params = params.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned()));
        let ask = Ask { path: path.to_owned(), params: params.collect() };
        self.msc.ask(self.now, &ask, &mut Effects::default()).expect("an answer")
    }

    fn alarms(&self) -> Vec<String> {
        self.msc.state().alarms(self.now).into_iter().map(|it| it.name).collect()
    }
}

fn flow(conn: u32) -> Flow {
    let local = SocketAddr::from(([127, 0, 0, 1], 2_970));
    let remote = SocketAddr::from(([127, 0, 0, 1], 40_000));
    let port = CONTROL_PORT;
    Flow { port, transport: Transport::Tcp, conn: ConnId(conn), local, remote }
}

fn hello(name: &str, epoch: u64) -> Message {
    Message::Hello { version: 1, name: name.into(), epoch, fingerprint: None }
}

fn id(call: u64) -> StreamId {
    StreamId { call, line: 0 }
}

/// An end of plain RTP at a port.
fn end(local: Local, remote: &str) -> End {
    End {
        local,
        remote: Some(remote.parse().expect("a place")),
        rtcp: Rtcp::Apart(None),
        direction: Direction::SendRecv,
        latching: true,
        latching_anywhere: false,
        signaller: None,
        guard: Guard::None,
        checks: None,
        ssrcs: Vec::new(),
        police_bps: 0,
        dscp: Some(46),
        packet_ms: 0,
        dtmf: Dtmf::Pass,
        event: None,
        bundle: None,
        parameters: Box::default(),
    }
}

/// Speech between two ports.
fn stream(a: Local, b: Local) -> Stream {
    let payload = |from, number, becomes, codec| Payload {
        from,
        number,
        becomes,
        codec: Some(codec),
        clock: 8_000,
        channels: 1,
        action: Action::Pass,
    };
    Stream {
        kind: Kind::Audio,
        flow: Carried::Rtp,
        ends: [end(a, "198.51.100.1:4000"), end(b, "203.0.113.1:5000")],
        payloads: vec![
            payload(Side::A, 8, 8, Codec::Pcma),
            payload(Side::B, 8, 8, Codec::Pcma),
            payload(Side::A, 96, 101, Codec::TelephoneEvent),
            payload(Side::B, 101, 96, Codec::TelephoneEvent),
        ],
        timeout_s: 30,
        trace: Trace::default(),
    }
}

fn at(block: Block, pair: u16) -> Local {
    Local { address: block.address, port: block.first + 2 * pair }
}

#[test]
fn a_pair_notices_a_silence_before_what_its_standby_was_told_is_too_old() {
    let with = |heartbeat_ms: u32, detect_ms: u32| {
        let replica = "[replica]\nnode = \"a\"\nlisten = \"127.0.0.1:1\"\npeer = \"127.0.0.1:2\"\n";
        let own = SITE.replace("\"192.0.2.1/24\"", "\"192.0.2.9/24\"");
        let own = own.replace("\"2001:db8::1/64\"", "\"2001:db8::9/64\"");
        let times = format!("heartbeat_ms = {heartbeat_ms}\ndetect_ms = {detect_ms}\n");
        let msc: Msc = toml::from_str(&(own + replica + &times)).expect("a section");
        let mut issues = Vec::new();
        msc.validate(&mut issues);
        issues.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    for (heartbeat_ms, detect_ms) in [(10, 50), (10, 1_979), (399, 1_197 + 4)] {
        assert_eq!(with(heartbeat_ms, detect_ms), Vec::<String>::new());
    }
    for (heartbeat_ms, detect_ms) in [(10, 1_980), (10, 60_000), (500, 1_500), (1_000, 3_000)] {
        assert_eq!(with(heartbeat_ms, detect_ms), ["replica.detect_ms"]);
    }
}

#[test]
fn mistakes_are_named_with_their_place_and_their_hint() {
    let text = SITE
        .replace("listen = \"127.0.0.1:2970\"\n", "key_file = \"keys\"\n")
        .replace("\"192.0.2.254\"", "\"192.0.3.254\"")
        .replace("\"192.0.2.2\"", "\"192.0.2.1\", \"10.0.0.1\"")
        .replace("30000-30255", "30001-30001")
        .replace("block_pairs = 32", "block_pairs = 3");
    let msc: Msc = toml::from_str(&text).expect("a section");
    let mut issues = Vec::new();
    msc.validate(&mut issues);
    let found: Vec<String> = issues.iter().map(|it| format!("{}: {}", it.path, it.what)).collect();
    assert_eq!(
        found,
        [
            "key_file: it is of no use without `listen`",
            "interface[0].gateways[0]: 192.0.3.254 is in no subnet of this interface",
            "group[1].ports: `30001-30001` has no pair of ports",
            "group[1].addresses[0]: 192.0.2.1 is an address of `access` already",
            "group[1].addresses[1]: 10.0.0.1 is in no subnet of an interface",
            "limits.block_pairs: 3 is out of range",
        ]
    );
    assert_eq!(issues[2].hint, "write `20000-59999`");
    let turned = text.replace("30001-30001", "30255-30000");
    let msc: Msc = toml::from_str(&turned).expect("a section");
    let mut issues = Vec::new();
    msc.validate(&mut issues);
    assert_eq!(issues[2].hint, "write `30000-30255`");
}
