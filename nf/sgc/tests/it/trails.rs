//! What a gateway captures for the service assurance.

use crate::world::{START, checked};
use m3ua::codec::{Data, MessageType, PointCode, ProtocolData, RoutingContext, Tag, Writer};
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow, Function, In, PortId, Seed, Transport};
use sccp::codec::{Address, Class, Digits, Form, Title, Unit, Word};
use sgc::Gateway;
use std::collections::BTreeSet;
use std::sync::Arc;

const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
tcp = { listen = ["10.0.0.1:2905"] }
peer = [{ name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] }]
"#;
/// ASP Up (RFC 4666 §3.5.1) and its acknowledgement.
const ASP_UP: &[u8] = &[1, 0, 3, 1, 0, 0, 0, 8];
const ASP_UP_ACK: &[u8] = &[1, 0, 3, 4];

/// Who sent what, of the messages that left while an ASP came up.
fn captured(site: &str) -> Vec<(String, Vec<u8>)> {
    let seed = Seed { shard: 0, shards: 1, random: [7; 32], now: START };
    let config = checked(site);
    let port = config.ports().iter().find(|port| port.listens()).unwrap().id;
    let mut gateway = Gateway::simulated(seed, Arc::new(config));
    let (local, remote) = ("10.0.0.1:2905".parse().unwrap(), "10.0.1.1:50000".parse().unwrap());
    let flow = Flow { conn: ConnId(1), ..Flow::to(port, Transport::Tcp, local, remote) };
    let (mut captured, mut trails) = (Vec::new(), BTreeSet::new());
    let mut run = |now: Time, input: Option<In<'_>>| {
        let mut out = Effects::default();
        match input {
            Some(input) => gateway.step(now, input, &mut out),
            None => gateway.tick(now, &mut out),
        }
        for (_, bytes) in out.sends().filter(|(to, _)| to.remote.port() == 9060) {
            let packet = hep::Packet::parse(bytes).expect("a packet");
            assert!(matches!(packet.kind, hep::KIND_M3UA | hep::KIND_LOG));
            assert_eq!(packet.protocol, hep::TCP);
            assert_eq!(packet.correlation.len(), 16);
            trails.insert(packet.correlation.to_vec());
            captured.push((packet.source.to_string(), packet.payload.to_vec()));
        }
    };
    run(START, None);
    run(START, Some(In::Up { flow }));
    run(START, Some(In::Message { flow, bytes: ASP_UP }));
    run(START + Duration::from_secs(1), None);
    let lost = In::Down { flow, why: "the far end closed the connection" };
    run(START + Duration::from_secs(2), Some(lost));
    run(START + Duration::from_secs(3), None);
    assert!(trails.len() < 2, "of one association is one trail");
    captured
}

#[test]
fn messages_of_both_directions_are_captured_once_a_collector_is_named() {
    assert!(captured(SITE).is_empty());
    let captured = captured(&format!("capture = \"udp:127.0.0.1:9060\"\n{SITE}"));
    assert!(captured.contains(&("10.0.1.1:50000".to_owned(), ASP_UP.to_vec())), "{captured:?}");
    let is_ack = |(source, message): &(String, Vec<u8>)| {
        source == "10.0.0.1:2905" && message.starts_with(ASP_UP_ACK)
    };
    assert!(captured.iter().any(is_ack), "{captured:?}");
    let text = |n: usize| String::from_utf8_lossy(&captured[n].1).into_owned();
    assert_eq!(text(0), r#"{"event":"SessionEstablished","peer":"a","text":""}"#);
    let last = text(captured.len() - 1);
    assert!(last.starts_with(r#"{"event":"SessionEnded","peer":"a","text":""#), "{last}");
    assert!(last.contains("closed"), "why: {last}");
}

#[test]
fn a_collector_is_no_peer() {
    let config = checked(&format!("capture = \"tcp:127.0.0.1:9060\"\n{SITE}"));
    let port = config.ports().into_iter().find(|port| port.name == "capture").unwrap();
    assert!(!port.listens() && port.id != PortId(0));
    assert!(matches!(Gateway::frame(port.id, b"anything"), runtime::Frame::Skip(8)));
}

const WITH_SCCP: &str = r#"
capture = "udp:127.0.0.1:9060"
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
]
subsystem = [{ name = "hlr", number = 6, user = "tcap" }]
"#;

/// ASP Up, ASP Active, and an MSU of SCCP to a title that no rule knows.
fn lost_title() -> Vec<Vec<u8>> {
    let point_code = |number| PointCode::new(number).unwrap();
    let (mut up, mut active, mut data, mut payload) = Default::default();
    Writer::begin(&mut up, MessageType::AspUp).end();
    Writer::begin(&mut active, MessageType::AspActive).word(Tag::RoutingContext, 1).end();
    let unit = Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: false, returns: true }),
        hops: 0,
        called: Address::title(Title::e164(Digits::parse("4477").unwrap()), 6),
        calling: Address::subsystem(Some(point_code(1)), 8),
        segmentation: None,
        importance: None,
        data: b"x",
    };
    unit.write(&mut payload).unwrap();
    let protocol_data = ProtocolData {
        opc: point_code(1),
        dpc: point_code(9),
        si: 3,
        ni: 2,
        mp: 0,
        sls: 0,
        payload: &payload,
    };
    let routing_context = Some(RoutingContext(1));
    Data { network: None, routing_context, protocol_data, correlation: None }.write(&mut data);
    vec![up, active, data]
}

#[test]
fn what_sccp_cannot_deliver_is_an_event_on_the_trail_of_its_association() {
    let seed = Seed { shard: 0, shards: 1, random: [7; 32], now: START };
    let config = checked(&format!("{SITE}{WITH_SCCP}"));
    let port = config.ports().iter().find(|port| port.listens()).unwrap().id;
    let mut gateway = Gateway::simulated(seed, Arc::new(config));
    let (local, remote) = ("10.0.0.1:2905".parse().unwrap(), "10.0.1.1:50000".parse().unwrap());
    let flow = Flow { conn: ConnId(1), ..Flow::to(port, Transport::Tcp, local, remote) };
    let mut out = Effects::default();
    gateway.step(START, In::Up { flow }, &mut out);
    for bytes in &lost_title() {
        gateway.step(START, In::Message { flow, bytes }, &mut out);
    }
    gateway.tick(START + Duration::from_secs(1), &mut out);
    let packets = out.sends().filter(|(to, _)| to.remote.port() == 9060);
    let packets: Vec<_> = packets.map(|(_, it)| hep::Packet::parse(it).unwrap()).collect();
    let logs = packets.iter().filter(|it| it.kind == hep::KIND_LOG);
    let text = |of: &hep::Packet<'_>| String::from_utf8(of.payload.to_vec()).unwrap();
    let mut events = logs.filter(|it| text(it).contains("RequestRejected"));
    let event = events.next().expect("an event");
    let wanted = concat!(
        r#"{"event":"RequestRejected","status":0,"#,
        r#""text":"no translation for an address of such nature","#,
        r#""method":"SCCP","from":"1/8","to":"4477/6"}"#
    );
    assert_eq!(text(event), wanted);
    let message = packets.iter().find(|it| it.kind == hep::KIND_M3UA).expect("messages");
    assert_eq!(event.correlation, message.correlation);
    assert_eq!(event.source, remote);
}
