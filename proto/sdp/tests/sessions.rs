//! Session descriptions: read, refused with the place, written back byte for byte.
#![allow(clippy::unwrap_used, reason = "a test may stop here")]

use proptest::prelude::*;
use sdp::{Direction, Mismatch, Part, Reach, Session, Strength, fits};

const CALL: &str = "v=0\r\n\
    o=alice 2890844526 2890844527 IN IP4 host.atlanta.example.com\r\n\
    s=-\r\n\
    c=IN IP4 192.0.2.1\r\n\
    t=0 0\r\n\
    a=recvonly\r\n\
    m=audio 49170 RTP/AVP 0 8 97\r\n\
    a=rtpmap:0 PCMU/8000\r\n\
    a=rtpmap:97 iLBC/8000\r\n\
    a=sendrecv\r\n\
    m=video 51372/2 RTP/AVP 31\r\n\
    c=IN IP6 ff1e::1/3\r\n\
    a=rtcp:53020 IN IP4 192.0.2.9\r\n\
    m=text 0 RTP/AVP 98\r\n";

fn parsed(text: &str) -> Session<'_> {
    Session::parse(text.as_bytes()).unwrap()
}

/// A call with one audio stream and these lines behind it.
fn audio(port: u16, lines: &str) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP 0\r\n{lines}"
    )
}

#[test]
fn a_session_gives_its_origin_and_its_streams() {
    let session = parsed(CALL);
    let origin = session.origin();
    assert_eq!((origin.session_id, origin.version), (2_890_844_526, 2_890_844_527));
    assert_eq!(origin.address, b"host.atlanta.example.com");
    assert_eq!(session.name(), b"-");
    let streams: Vec<_> = session.media().collect();
    assert_eq!(streams.len(), 3);
    let [audio, video, text] = &streams[..] else { panic!("three streams") };
    assert_eq!((audio.kind, audio.port, audio.formats), (&b"audio"[..], 49_170, &b"0 8 97"[..]));
    assert_eq!(audio.format_list().count(), 3);
    assert_eq!(audio.direction(), Direction::SendRecv);
    assert_eq!(audio.connection().unwrap().address, b"192.0.2.1");
    assert_eq!(audio.values(b"rtpmap").nth(1), Some(&b"97 iLBC/8000"[..]));
    assert_eq!(audio.rtcp_port(), Some(49_171));
    assert_eq!((video.port, video.port_count), (51_372, 2));
    assert_eq!(video.direction(), Direction::RecvOnly);
    let group = video.connection().unwrap();
    assert_eq!((group.address, group.suffix), (&b"ff1e::1"[..], &b"/3"[..]));
    assert_eq!(video.rtcp_port(), Some(53_020));
    assert!(text.is_refused() && text.rtcp_port().is_none());
}

#[test]
fn every_violation_is_refused_at_its_place() {
    let cases = [
        ("", 0),
        ("x=0\r\n", 0),
        ("v=1\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0 0\r\n", 0),
        ("v=0\r\n", 5),
        ("v=0\r\no=- 1 IN IP4 h\r\ns=-\r\nt=0 0\r\n", 5),
        ("v=0\r\no=- x 1 IN IP4 h\r\ns=-\r\nt=0 0\r\n", 5),
        ("v=0\r\no=- 1 1 IN IP4 h\r\nt=0 0\r\n", 23),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\n", 28),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0\r\n", 28),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0 0\r\nv=0\r\n", 35),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0 0\r\nnonsense\r\n", 35),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0 0\r\nm=audio x RTP/AVP 0\r\n", 35),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0 0\r\nm=audio 70000 RTP/AVP 0\r\n", 35),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0 0\r\nm=audio 1 RTP/AVP\r\n", 35),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nt=0 0\r\nc=IN IP4\r\n", 35),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=-\r\nm=audio 1 RTP/AVP 0\r\nt=0 0\r\n", 28),
        ("v=0\r\no=- 1 1 IN IP4 h\r\ns=\0\r\nt=0 0\r\n", 25),
    ];
    for (text, at) in cases {
        let violation = Session::parse(text.as_bytes()).unwrap_err();
        assert_eq!(violation.at, at, "{text:?}: {violation}");
        assert!(violation.spec.starts_with("RFC 8866 §"));
    }
}

#[test]
fn unknown_letters_and_bare_line_feeds_are_put_up_with() {
    let session = parsed("v=0\no=- 1 1 IN IP4 h\ns=-\nx=what\nt=0 0\nm=audio 4 RTP/AVP 0");
    assert_eq!(session.media().next().map(|media| media.port), Some(4));
}

#[test]
fn a_stream_is_on_hold_by_direction_by_port_and_by_the_null_address() {
    let hold = |text: &str| parsed(text).is_on_hold();
    assert!(!hold(&audio(4000, "")));
    assert!(!hold(&audio(4000, "a=recvonly\r\n")));
    assert!(hold(&audio(4000, "a=sendonly\r\n")));
    assert!(hold(&audio(4000, "a=inactive\r\n")));
    assert!(hold(&audio(4000, "c=IN IP4 0.0.0.0\r\n")));
    assert!(hold(&audio(0, "")));
}

#[test]
fn an_answer_has_the_streams_of_its_offer_and_gives_no_more() {
    let check = |offer: &str, answer: &str| fits(&parsed(offer), &parsed(answer));
    let (both, none) = (audio(4000, ""), audio(0, ""));
    assert_eq!(check(&both, &both), Ok(()));
    assert_eq!(check(&both, &none), Ok(()));
    assert_eq!(check(&none, &both), Err(Mismatch::Port(0)));
    assert_eq!(check(&both, CALL), Err(Mismatch::StreamCount));
    let video = both.replace("m=audio", "m=video");
    assert_eq!(check(&both, &video), Err(Mismatch::Kind(0)));
    let sending = audio(4000, "a=sendonly\r\n");
    assert_eq!(check(&sending, &both), Err(Mismatch::Direction(0)));
    assert_eq!(check(&sending, &audio(4000, "a=recvonly\r\n")), Ok(()));
}

#[test]
fn preconditions_are_visible_and_known_to_be_met_or_not() {
    let wanted = "a=curr:qos local none\r\na=curr:qos remote none\r\n\
        a=des:qos mandatory local sendrecv\r\na=des:qos optional remote sendrecv\r\n\
        a=conf:qos remote sendrecv\r\n";
    let text = audio(4000, wanted);
    let media = parsed(&text).media().next().unwrap();
    let all: Vec<_> = media.preconditions().collect();
    assert_eq!(all.len(), 5);
    assert_eq!((all[0].part, all[0].reach, all[0].direction), (Part::Current, Reach::Local, None));
    assert_eq!(all[2].strength, Some(Strength::Mandatory));
    assert_eq!(all[4].part, Part::Confirm);
    assert!(!media.is_ready());
    let met = audio(4000, &wanted.replace("curr:qos local none", "curr:qos local sendrecv"));
    assert!(parsed(&met).media().next().unwrap().is_ready());
    let half = audio(4000, &wanted.replace("curr:qos local none", "curr:qos local send"));
    assert!(!parsed(&half).media().next().unwrap().is_ready());
}

proptest! {
    /// Whatever is accepted is made of its lines, and its streams read without a surprise.
    #[test]
    fn what_is_accepted_is_the_sum_of_its_lines(
        extra in prop::collection::vec("[a-z]=[ -~]{0,20}\r?\n", 0..8),
    ) {
        let text = CALL.to_owned() + &extra.concat();
        if let Ok(session) = Session::parse(text.as_bytes()) {
            let raw: Vec<u8> = session.lines().flat_map(|line| line.raw.to_vec()).collect();
            prop_assert_eq!(raw, text.as_bytes());
            let streams = session.lines().filter(|line| line.kind == sdp::Kind::Media).count();
            prop_assert_eq!(session.media().count(), streams);
        }
    }

    /// No byte sequence makes the reader panic, and violations lie inside the text.
    #[test]
    fn no_mutation_panics(at in 0usize..400, byte: u8, cut in 0usize..400) {
        let mut bytes = CALL.as_bytes().to_vec();
        let place = at % bytes.len();
        bytes[place] = byte;
        bytes.truncate(cut.max(1));
        match Session::parse(&bytes) {
            Ok(session) => {
                for media in session.media() {
                    let _ = (media.is_on_hold(), media.is_ready(), media.rtcp_port());
                }
            }
            Err(violation) => prop_assert!(violation.at <= bytes.len()),
        }
    }
}
