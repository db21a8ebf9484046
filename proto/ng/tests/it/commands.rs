//! Commands one by one.

use crate::controller::{Controller, Says, write};
use anchor::Side;
use ng::Effect;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

pub const OFFER: &str = "v=0\r\no=alice 1 1 IN IP4 192.0.2.1\r\ns=call\r\n\
    c=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\n\
    a=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-16\r\n";
pub const ANSWER: &str = "v=0\r\no=bob 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\n\
    t=0 0\r\nm=audio 6000 RTP/AVP 8\r\n";

type Entries = Vec<(&'static str, Says)>;

fn entries(command: &'static str, more: &[(&'static str, Says)]) -> Entries {
    let head = [
        ("command", Says::Text(command)),
        ("call-id", Says::Text("call")),
        ("from-tag", Says::Text("a")),
    ];
    head.into_iter().chain(more.iter().cloned()).collect()
}

fn call(controller: &mut Controller) {
    let told = controller.ask(&entries("offer", &[("sdp", Says::Text(OFFER))]));
    assert_eq!(told.text("result").as_deref(), Some("ok"));
    let sdp = ("sdp", Says::Text(ANSWER));
    let told = controller.ask(&entries("answer", &[("to-tag", Says::Text("b")), sdp]));
    assert_eq!(told.text("result").as_deref(), Some("ok"), "{:?}", told.text("error-reason"));
}

#[test]
fn a_call_stands_and_ends_and_gives_its_ports_back() {
    let mut controller = Controller::new();
    call(&mut controller);
    assert_eq!(controller.effects, [Effect::Put(1, 0)]);
    assert!(controller.engine.stream(1, 0).is_some());
    assert_eq!(controller.place.taken.len(), 2);
    let told = controller.ask(&entries("query", &[]));
    let text = String::from_utf8_lossy(&told.0).into_owned();
    for word in ["10:local port", "7:address9:192.0.2.9", "4:porti6000e", "7:packetsi3e"] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let listed = controller.ask(&entries("list", &[]));
    assert!(String::from_utf8_lossy(&listed.0).contains("5:callsl4:calle"));
    controller.ask(&entries("delete", &[]));
    assert_eq!(controller.effects[1..], [Effect::Remove(1, 0)]);
    assert!(controller.place.taken.is_empty() && controller.engine.is_empty());
    let again = controller.ask(&entries("delete", &[]));
    assert_eq!(again.text("result").as_deref(), Some("ok"));
    assert!(again.text("warning").is_some());
}

#[test]
fn a_command_that_comes_again_is_done_once_and_answered_twice() {
    let mut controller = Controller::new();
    let offer = write("7_1", &entries("offer", &[("sdp", Says::Text(OFFER))]));
    let first = controller.take(&offer);
    let held = controller.place.taken.clone();
    assert_eq!(controller.take(&offer), first);
    assert_eq!(controller.place.taken, held);
    let other = controller.take(&write("7_2", &entries("offer", &[("sdp", Says::Text(OFFER))])));
    assert_eq!(other.len(), first.len(), "an offer may come anew");
}

#[test]
fn what_is_no_bencode_is_answered_so_if_it_has_a_cookie() {
    let mut controller = Controller::new();
    let told = String::from_utf8(controller.take(b"7_9 {\"command\":\"ping\"}")).unwrap();
    assert!(told.starts_with("7_9 d12:error-reason35:Could not decode"), "{told}");
    assert!(controller.take(b"ping").is_empty(), "nobody could tell whose reply it is");
}

#[test]
fn media_and_digits_are_blocked_and_played() {
    let mut controller = Controller::new();
    call(&mut controller);
    controller.effects.clear();
    controller.ask(&entries("block media", &[]));
    controller.ask(&entries("unblock media", &[("flags", Says::List(&["all"]))]));
    controller.ask(&entries("block DTMF", &[]));
    let play = [("code", Says::Text("1#")), ("duration", Says::Number(100))];
    controller.ask(&entries("play DTMF", &play));
    let expected = [
        Effect::BlockMedia(1, Side::A, true),
        Effect::BlockMedia(1, Side::A, false),
        Effect::BlockMedia(1, Side::B, false),
        Effect::BlockDtmf(1, Side::A, true),
        Effect::Play { call: 1, from: Side::A, digits: vec![1, 11], ms: 100, pause_ms: 100 },
    ];
    assert_eq!(controller.effects, expected);
    let wrong = controller.ask(&entries("play DTMF", &[("code", Says::Text("x"))]));
    assert_eq!(wrong.text("error-reason").as_deref(), Some("Out of range 'code' specified"));
}

#[test]
fn a_side_may_have_an_interface_an_address_and_a_source_of_its_own() {
    let mut controller = Controller::new();
    let more = [
        ("direction", Says::List(&["inside", "outside"])),
        ("media-address", Says::Text("203.0.113.9")),
        ("received-from", Says::List(&["IP4", "198.51.100.7"])),
        ("flags", Says::List(&["SIP source address"])),
        ("sdp", Says::Text(OFFER)),
    ];
    let told = controller.ask(&entries("offer", &more));
    let sdp = told.text("sdp").expect("it is taken");
    assert!(sdp.contains("c=IN IP4 203.0.113.9\r\n"), "{sdp}");
    let numbers: Vec<u16> = controller.place.taken.iter().map(|local| local.address).collect();
    assert_eq!(numbers, [0, 2]);
    let sdp = ("sdp", Says::Text(ANSWER));
    controller.ask(&entries("answer", &[("to-tag", Says::Text("b")), sdp]));
    let (stream, _) = controller.engine.stream(1, 0).expect("it stands");
    assert_eq!(stream.end(Side::A).remote, "198.51.100.7:4000".parse().ok());
    let unknown = [("direction", Says::List(&["x", "y"])), ("sdp", Says::Text(OFFER))];
    let told = controller.ask(&entries("offer", &unknown));
    assert_eq!(told.text("error-reason").as_deref(), Some("Unknown interface"));
}

#[test]
fn an_offer_that_is_refused_leaves_no_call() {
    let mut controller = Controller::new();
    let secure = OFFER.replace("RTP/AVP", "RTP/SAVP");
    let told = controller.ask(&entries("offer", &[("sdp", Says::Long(secure))]));
    assert_eq!(told.text("error-reason").as_deref(), Some("media keys not acceptable"));
    assert!(controller.engine.is_empty() && controller.place.taken.is_empty());
}

#[test]
fn no_message_breaks_the_engine() {
    let all = [
        write("c", &entries("offer", &[("sdp", Says::Text(OFFER))])),
        write("c", &entries("answer", &[("to-tag", Says::Text("b")), ("sdp", Says::Text(ANSWER))])),
        write("c", &entries("delete", &[])),
        write("c", &entries("play DTMF", &[("code", Says::Text("1"))])),
    ];
    let mut controller = Controller::new();
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut answered = 0;
    for round in 0..20_000 {
        let mut message = all[round % all.len()].clone();
        message[0] = b'a' + (random.next_u32() % 26) as u8;
        message.insert(0, b'a' + (random.next_u32() % 26) as u8);
        for _ in 0..random.next_u32() % 3 {
            let at = random.next_u32() as usize % message.len();
            message[at] = random.next_u32() as u8;
        }
        answered += usize::from(!controller.take(&message).is_empty());
    }
    assert!(answered > 10_000, "{answered}");
}

/// Hosts that packets of A and B may come from, beside those of their descriptions; and whether
/// anyone's may.
fn latches(flags: &'static [&'static str]) -> [(Option<String>, bool); 2] {
    let mut controller = Controller::new();
    let from = ("received-from", Says::List(&["IP4", "203.0.113.7"]));
    let flags = ("flags", Says::List(flags));
    let sdp = ("sdp", Says::Text(OFFER));
    controller.ask(&entries("offer", &[flags.clone(), from.clone(), sdp]));
    let sdp = ("sdp", Says::Text(ANSWER));
    controller.ask(&entries("answer", &[flags, from, ("to-tag", Says::Text("b")), sdp]));
    let stream = controller.engine.stream(1, 0).expect("it stands").0;
    stream.ends.each_ref().map(|end| {
        let signaller = end.signaller.map(|ip| ip.to_string());
        (signaller, end.latching_anywhere)
    })
}

#[test]
fn media_latch_to_anyone_unless_the_driver_says_where_they_are() {
    let host = Some("203.0.113.7".to_owned());
    assert_eq!(latches(&[]), [(host.clone(), true), (host.clone(), true)]);
    for flag in [&["strict source"][..], &["trust-address"]] {
        assert_eq!(latches(flag), [(host.clone(), false), (host.clone(), false)], "{flag:?}");
    }
}
