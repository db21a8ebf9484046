//! What two peers may send to a node that relays between them too, message by message, before and
//! after the exchange of capabilities, answers to what was relayed among them, with time passing:
//! nothing panics, the deadline stays ahead, and nothing is left when all is over.

use diameter::codec::{Flags, Message, Writer};
use diameter::rows::{base, cx, sh};
use diameter::{Action, Connection, Dictionary, Hop, In, Indication, Node, Out, Parameters};
use diameter::{PeerSettings, Route, Settings};
use machine::{Duration, Machine, Time};
use std::sync::{Arc, LazyLock};

static DICTIONARY: LazyLock<Arc<Dictionary>> = LazyLock::new(Arc::default);

fn node(now: Time) -> Node {
    let settings = Settings {
        host: String::from("node.example"),
        realm: String::from("example"),
        product: String::from("Tandem"),
        vendor: 0,
        addresses: Vec::new(),
        origin_state: 1,
        applications: vec![sh::SH.id, cx::CX.id],
        relays: true,
        shard: 0,
        seed: 7,
        parameters: Parameters::default(),
    };
    let mut node = Node::new(settings, Arc::clone(&DICTIONARY), now).expect("they are valid");
    for host in ["peer.example", "other.example"] {
        let settings = PeerSettings { host: host.to_owned(), realm: None, connects: false };
        let peer = node.add_peer(now, settings).expect("there is room");
        let action = Action::Relay(vec![Hop { peer, priority: 0, weight: 1 }]);
        let realm = Some(host.to_owned());
        node.add_route(Route { realm, application: None, action }).expect("there is room");
    }
    node
}

fn cer(host: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::request(&mut octets, &base::CAPABILITIES_EXCHANGE, 0)
        .put(&base::ORIGIN_HOST, host)
        .put(&base::ORIGIN_REALM, "example");
    writer.avps().address(&base::HOST_IP_ADDRESS, [10, 0, 0, 1].into());
    let writer = writer
        .number(&base::VENDOR_ID, 0)
        .put(&base::PRODUCT_NAME, "fuzz")
        .number(&base::AUTH_APPLICATION_ID, base::RELAY);
    writer.end().expect("it is short");
    octets
}

/// A node, and what it was last heard to ask.
struct World {
    node: Node,
    now: Time,
    out: Vec<Out>,
    asked: Vec<u8>,
}

impl World {
    fn step(&mut self, input: In) {
        self.node.step(self.now, input, &mut self.out);
        self.follow();
        assert!(self.node.deadline().is_none_or(|at| at >= self.now));
    }

    fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.node.tick(self.now, &mut self.out);
        self.follow();
    }

    /// The application refuses whatever it is asked.
    fn follow(&mut self) {
        for effect in core::mem::take(&mut self.out) {
            match effect {
                Out::Indicate(Indication::Request(request, _, octets)) => {
                    let header = Message::read(&octets).expect("it was checked").header;
                    let mut answer = Vec::new();
                    let writer = Writer::answer(&mut answer, &header);
                    writer.number(&base::RESULT_CODE, 5012).end().expect("it is short");
                    self.node.step(self.now, In::Answer(request, answer), &mut Vec::new());
                }
                Out::Send(_, octets) => {
                    let message = Message::read(&octets).expect("what is sent can be read");
                    if message.is_request() {
                        self.asked = octets.to_vec();
                    }
                }
                _ => {}
            }
        }
    }

    /// The answer to what was asked last, with these AVPs.
    fn answer(&self, avps: &[u8]) -> Vec<u8> {
        let Ok(asked) = Message::read(&self.asked) else { return Vec::new() };
        let mut octets = Vec::new();
        let mut writer = Writer::answer(&mut octets, &asked.header);
        writer.avps().copy(avps);
        writer.end().expect("it is short");
        // Refusals of agents have the E bit.
        octets[4] |= avps.first().map_or(0, |it| it & Flags::ERROR);
        octets
    }
}

pub fn run(bytes: &[u8]) {
    let now = Time::from_millis(1_700_000_000_000);
    let mut world = World { node: node(now), now, out: Vec::new(), asked: Vec::new() };
    let Some((first, mut rest)) = bytes.split_first() else { return };
    for (way, host, bit) in [(1, "peer.example", 1), (2, "other.example", 2)] {
        world.step(In::Accepted(Connection(way), Vec::new()));
        if first & bit == 0 {
            world.step(In::Message(Connection(way), cer(host).into()));
        }
    }
    // Two octets in front of each message: its length, whether time passes, whether its connection
    // is another one, whose it is, and whether it is an answer.
    while let Some((head, more)) = rest.split_first_chunk::<2>() {
        let word = u16::from_be_bytes(*head);
        let length = usize::from(word & 0x0fff).min(more.len());
        let way = Connection(if word & 0x2000 == 0 { 1 } else { 2 });
        if word & 0x8000 != 0 {
            world.pass(9);
        }
        if word & 0x4000 != 0 {
            world.step(In::Lost(way, "it broke"));
            world.step(In::Accepted(way, Vec::new()));
        }
        let message = match word & 0x1000 {
            0 => more[..length].to_vec(),
            _ => world.answer(&more[..length]),
        };
        world.step(In::Message(way, message.into()));
        rest = &more[length..];
    }
    (0..4).for_each(|_| world.pass(100));
    let status = world.node.status();
    assert_eq!((status.requests, status.arrived, status.requests_octets), (0, 0, 0));
}
