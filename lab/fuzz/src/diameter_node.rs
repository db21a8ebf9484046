//! What a peer may send to a node that relays too, message by message, before and after the
//! exchange of capabilities, with time passing: nothing panics, the deadline stays ahead, and
//! nothing is left when all is over.

use diameter::codec::{Message, Writer};
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

fn cer() -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::request(&mut octets, &base::CAPABILITIES_EXCHANGE, 0)
        .put(&base::ORIGIN_HOST, "peer.example")
        .put(&base::ORIGIN_REALM, "example");
    writer.avps().address(&base::HOST_IP_ADDRESS, [10, 0, 0, 1].into());
    let writer = writer
        .number(&base::VENDOR_ID, 0)
        .put(&base::PRODUCT_NAME, "fuzz")
        .number(&base::AUTH_APPLICATION_ID, base::RELAY);
    writer.end().expect("it is short");
    octets
}

/// The application refuses whatever it is asked.
fn answer(node: &mut Node, now: Time, out: &mut Vec<Out>) {
    for effect in core::mem::take(out) {
        match effect {
            Out::Indicate(Indication::Request(request, _, octets)) => {
                let header = Message::read(&octets).expect("it was checked").header;
                let mut answer = Vec::new();
                let writer = Writer::answer(&mut answer, &header);
                writer.number(&base::RESULT_CODE, 5012).end().expect("it is short");
                node.step(now, In::Answer(request, answer), &mut Vec::new());
            }
            Out::Send(_, octets) => {
                Message::read(&octets).expect("what is sent can be read");
            }
            _ => {}
        }
    }
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let mut now = Time::from_millis(1_700_000_000_000);
    let (mut node, mut out) = (node(now), Vec::new());
    let Some((first, mut rest)) = bytes.split_first() else { return };
    node.step(now, In::Accepted(Connection(1), None), &mut out);
    if first & 1 == 0 {
        node.step(now, In::Message(Connection(1), cer().into()), &mut out);
    }
    // Two octets in front of each message: its length, and whether time passes.
    while let Some((head, more)) = rest.split_first_chunk::<2>() {
        let word = u16::from_be_bytes(*head);
        let length = usize::from(word & 0x0fff).min(more.len());
        if word & 0x8000 != 0 {
            now += Duration::from_secs(9);
            node.tick(now, &mut out);
        }
        if word & 0x4000 != 0 {
            node.step(now, In::Lost(Connection(1), "it broke"), &mut out);
            node.step(now, In::Accepted(Connection(1), None), &mut out);
        }
        let message = more[..length].to_vec().into();
        node.step(now, In::Message(Connection(1), message), &mut out);
        answer(&mut node, now, &mut out);
        assert!(node.deadline().is_none_or(|at| at >= now));
        rest = &more[length..];
    }
    for _ in 0..4 {
        now += Duration::from_secs(100);
        node.tick(now, &mut out);
    }
    let status = node.status();
    assert_eq!((status.requests, status.arrived, status.requests_octets), (0, 0, 0));
}
