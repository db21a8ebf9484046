//! What real phones and gateways write, and what the other side gets.

use crate::call::{Call, PHONE, at, streams, version};
use anchor::{
    Action, Change, Flow, Guard, Ice, Kinds, Policy, Protection, Reason, Rtcp, Side, Srtp,
};

#[test]
fn a_call_between_two_phones_goes_through_the_media_controller() {
    let mut call = Call::new(Policy::default(), Policy::default());
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert_eq!(
        streams(&told),
        "m=audio 20000 RTP/AVP 0 8 101\n\
         a=rtpmap:0 PCMU/8000\na=rtpmap:8 PCMA/8000\na=rtpmap:101 telephone-event/8000\n\
         a=fmtp:101 0-16\na=sendrecv\na=rtcp:20001\na=ptime:20\n"
    );
    assert!(told.contains("\r\nc=IN IP4 203.0.113.1\r\n") && !told.contains("192.0.2.1"));
    let (heard, changes) = call.answer(
        Side::B,
        &at("192.0.2.9", "m=audio 6000 RTP/AVP 8 96\na=rtpmap:96 telephone-event/8000\n"),
    );
    assert_eq!(
        streams(&heard),
        "m=audio 20000 RTP/AVP 8 101\n\
         a=rtpmap:8 PCMA/8000\na=rtpmap:101 telephone-event/8000\na=sendrecv\na=rtcp:20001\n"
    );
    assert!(heard.contains("c=IN IP4 198.51.100.1") && !heard.contains("192.0.2.9"));
    assert_eq!(changes, [Change::Added(0)]);
    let (stream, _) = call.session.stream(0).expect("it stands");
    assert_eq!(stream.end(Side::A).remote, "192.0.2.1:4000".parse().ok());
    assert_eq!(stream.end(Side::B).remote, "192.0.2.9:6000".parse().ok());
    assert_eq!(stream.end(Side::B).rtcp, Rtcp::Apart("192.0.2.9:6001".parse().ok()));
    let map: Vec<_> = stream.payloads.iter().map(|it| (it.from, it.number, it.becomes)).collect();
    assert_eq!(
        map,
        [
            (Side::A, 8, 8),
            (Side::B, 8, 8),
            (Side::A, 101, 96),
            (Side::B, 101, 101),
            (Side::B, 96, 101)
        ]
    );
    call.end();
}

#[test]
fn a_re_offer_that_changes_nothing_keeps_version_and_ports() {
    let mut call = Call::new(Policy::default(), Policy::default());
    let first = call.offer(Side::A, &at("192.0.2.1", PHONE));
    let (answered, _) = call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    call.settle(0);
    let second = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert_eq!(first, second);
    let (again, changes) = call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert_eq!((again, changes), (answered, vec![]));
    let third =
        call.offer(Side::A, &at("192.0.2.1", &PHONE.replace("a=ptime", "a=sendonly\na=ptime")));
    assert_eq!(version(&third), version(&second) + 1);
    call.reject();
    let (_, back) = call.session.streams().next().expect("it stands");
    assert!(back.passes(Side::A) && back.passes(Side::B));
    call.end();
}

#[test]
fn streams_are_added_refused_and_revived_in_their_places() {
    let mut call = Call::new(Policy::default(), Policy::default());
    let video = "m=video 5000 RTP/AVP 97\na=rtpmap:97 H264/90000\na=rtcp-fb:97 nack pli\n";
    let both = format!("{PHONE}{video}");
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    call.settle(0);
    let told = call.offer(Side::B, &at("192.0.2.9", &both));
    assert!(
        told.contains("m=video 20002 RTP/AVP 97\r\n") && told.contains("a=rtcp-fb:97 nack pli")
    );
    let no_video = "m=audio 4000 RTP/AVP 0\nm=video 0 RTP/AVP 97\n";
    let (heard, changes) = call.answer(Side::A, &at("192.0.2.1", no_video));
    assert!(heard.ends_with("m=video 0 RTP/AVP 97\r\n"));
    assert_eq!((changes, call.ports.taken.len()), (vec![Change::Changed(0)], 2));
    call.offer(Side::A, &at("192.0.2.1", &both));
    let both_answered = "m=audio 6000 RTP/AVP 8\nm=video 6002 RTP/AVP 97\n";
    let (_, changes) = call.answer(Side::B, &at("192.0.2.9", both_answered));
    assert_eq!(changes, [Change::Changed(0), Change::Added(1)]);
    let fewer = call.try_offer(Side::A, &at("192.0.2.1", PHONE)).expect_err("a stream vanished");
    assert_eq!((fewer.reason, fewer.status()), (Reason::Lines, 488));
    let ended = format!("{PHONE}m=video 0 RTP/AVP 97\n");
    call.offer(Side::A, &at("192.0.2.1", &ended));
    let (_, changes) = call.answer(Side::B, &at("192.0.2.9", no_video));
    assert_eq!(
        (changes, call.ports.taken.len()),
        (vec![Change::Changed(0), Change::Removed(1)], 2)
    );
    call.end();
}

#[test]
fn a_fax_takes_the_place_of_the_voice() {
    let mut call = Call::new(Policy::default(), Policy::default());
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    call.settle(0);
    let fax = "m=image 6000 udptl t38\na=T38FaxVersion:0\na=T38MaxBitRate:14400\n\
               a=T38FaxUdpEC:t38UDPRedundancy\n";
    let told = call.offer(Side::B, &at("192.0.2.9", fax));
    assert!(streams(&told).starts_with("m=image 20000 udptl t38\na=T38FaxVersion:0\n"), "{told}");
    assert!(!told.contains("rtcp"));
    call.answer(Side::A, &at("192.0.2.1", "m=image 4000 UDPTL t38\n"));
    let (stream, _) = call.session.stream(0).expect("it stands");
    assert_eq!((stream.flow, stream.payloads.len()), (Flow::Udptl, 0));
    assert_eq!(stream.end(Side::A).rtcp, Rtcp::None);
    call.end();
}

#[test]
fn an_ims_phone_with_evs_and_amr_meets_one_with_other_numbers() {
    let offer = "
m=audio 49152 RTP/AVP 110 104 102 105 100
b=AS:65
b=RS:0
b=RR:2000
a=rtpmap:110 EVS/16000/1
a=fmtp:110 br=5.9-24.4;bw=nb-swb;max-red=0
a=rtpmap:104 AMR-WB/16000/1
a=fmtp:104 mode-change-capability=2;max-red=0
a=rtpmap:102 AMR/8000/1
a=fmtp:102 mode-change-capability=2;max-red=0
a=rtpmap:105 telephone-event/16000/1
a=fmtp:105 0-15
a=rtpmap:100 telephone-event/8000/1
a=fmtp:100 0-15
a=curr:qos local none
a=curr:qos remote none
a=des:qos mandatory local sendrecv
a=des:qos optional remote sendrecv
a=ptime:20
a=maxptime:240
";
    let answer = "
m=audio 50000 RTP/AVP 97 98
b=AS:41
a=rtpmap:97 AMR-WB/16000
a=fmtp:97 mode-set=0,1,2;mode-change-capability=2
a=rtpmap:98 telephone-event/16000
a=fmtp:98 0-15
a=curr:qos local sendrecv
a=ptime:20
a=maxptime:20
";
    let bandwidth = anchor::Bandwidth { police: true, kbps_max: None };
    let mut call = Call::new(Policy::default(), Policy { bandwidth, ..Policy::default() });
    let told = call.offer(Side::A, &at("2001:db8:7::1", offer));
    assert!(told.contains("c=IN IP6 2001:db8:1::1\r\n"));
    for line in ["a=curr:qos local none", "a=maxptime:240", "b=RR:2000", "a=rtpmap:110 EVS/16000"] {
        assert!(told.contains(&format!("{line}\r\n")), "{line}");
    }
    let (heard, _) = call.answer(Side::B, &at("2001:db8:9::1", answer));
    let expected = "m=audio 20000 RTP/AVP 104 105
b=AS:41
a=curr:qos local sendrecv
a=maxptime:20
a=rtpmap:104 AMR-WB/16000
a=fmtp:104 mode-set=0,1,2;mode-change-capability=2
a=rtpmap:105 telephone-event/16000
a=fmtp:105 0-15
a=sendrecv
a=rtcp:20001
a=ptime:20
";
    assert_eq!(streams(&heard), expected);
    let (stream, _) = call.session.stream(0).expect("it stands");
    assert!(stream.payloads.iter().all(|payload| payload.action == Action::Pass));
    // B may send what A asked for, and a quarter more with headers.
    assert_eq!(stream.end(Side::B).police_bps, 65_000 * 5 / 4 + 32_000);
    assert_eq!(stream.end(Side::B).event.map(|event| (event.receive, event.send)), Some((105, 98)));
    call.end();
}

/// As Chromium offers audio and video, shortened.
const CHROMIUM: &str = "v=0
o=- 4611731400430051336 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1
a=extmap-allow-mixed
a=msid-semantic: WMS stream
m=audio 9 UDP/TLS/RTP/SAVPF 111 63 0 110
c=IN IP4 0.0.0.0
a=rtcp:9 IN IP4 0.0.0.0
a=ice-ufrag:VxNR
a=ice-pwd:zVxQbFq0r1dTUqNMyGHcMc0L
a=ice-options:trickle
a=fingerprint:{print}
a=setup:actpass
a=mid:0
a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
a=sendrecv
a=msid:stream track
a=rtcp-mux
a=rtcp-rsize
a=rtpmap:111 opus/48000/2
a=rtcp-fb:111 transport-cc
a=fmtp:111 minptime=10;useinbandfec=1
a=rtpmap:63 red/48000/2
a=fmtp:63 111/111
a=rtpmap:0 PCMU/8000
a=rtpmap:110 telephone-event/48000
a=ssrc:1001 cname:x
m=video 9 UDP/TLS/RTP/SAVPF 96 97
c=IN IP4 0.0.0.0
a=ice-ufrag:VxNR
a=ice-pwd:zVxQbFq0r1dTUqNMyGHcMc0L
a=fingerprint:{print}
a=setup:actpass
a=mid:1
a=sendrecv
a=rtcp-mux
a=rtpmap:96 VP8/90000
a=rtpmap:97 rtx/90000
a=fmtp:97 apt=96
";

fn chromium() -> String {
    let print = format!("sha-256 {}", vec!["1F"; 32].join(":"));
    CHROMIUM.replace('\n', "\r\n").replace("{print}", &print)
}

fn browser() -> Policy {
    Policy {
        srtp: Srtp {
            protection: Protection::Required,
            sdes: srtp::sdes::Policy::of(vec![]),
            dtls: true,
            ..Srtp::default()
        },
        ice: Ice::Accept,
        bundle: true,
        ..Policy::default()
    }
}

#[test]
fn a_browser_calls_a_phone() {
    let phone = Policy { kinds: Kinds { video: false, ..Kinds::default() }, ..Policy::default() };
    let mut call = Call::new(browser(), Policy { feedback: anchor::Feedback::Off, ..phone });
    let told = call.offer(Side::A, &chromium());
    let lines = streams(&told);
    assert!(
        lines.starts_with("m=audio 20000 RTP/AVP 111 63 0 110\nc=IN IP4 203.0.113.1\n"),
        "{told}"
    );
    for gone in ["ice", "candidate", "fingerprint", "setup", "BUNDLE", "crypto"] {
        assert!(!told.contains(gone), "{gone} in {told}");
    }
    assert!(lines.contains("m=video 0 UDP/TLS/RTP/SAVPF 96 97\n"));
    let phone = "m=audio 6000 RTP/AVP 0\nm=video 0 RTP/AVP 96\n";
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", phone));
    let lines = streams(&heard);
    assert!(heard.contains("a=ice-lite\r\n") && heard.contains("a=group:BUNDLE 0\r\n"), "{heard}");
    assert!(lines.starts_with("m=audio 20000 UDP/TLS/RTP/SAVPF 0\n"), "{heard}");
    for line in ["a=setup:passive", "a=mid:0", "a=rtcp-mux", "a=rtcp:20000"] {
        assert!(lines.contains(&format!("{line}\n")), "{line} in {lines}");
    }
    assert_eq!(lines.matches("a=candidate:").count(), 1);
    let (stream, _) = call.session.stream(0).expect("it stands");
    let end = stream.end(Side::A);
    assert!(matches!(end.guard, Guard::Dtls { .. }) && end.rtcp == Rtcp::Mux);
    assert!(end.checks.is_some() && end.remote.is_none() && stream.passes(Side::B));
    assert_eq!(end.ssrcs, [1_001]);
    call.end();
}

#[test]
fn streams_of_a_browsers_group_share_a_port() {
    let mut call = Call::new(browser(), Policy::default());
    call.offer(Side::A, &chromium());
    let answer = "m=audio 6000 RTP/AVPF 111\na=rtpmap:111 opus/48000/2\n\
                  m=video 6002 RTP/AVPF 98 99\na=rtpmap:98 VP8/90000\na=rtpmap:99 rtx/90000\n\
                  a=fmtp:99 apt=98\n";
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", answer));
    assert!(heard.contains("a=group:BUNDLE 0 1\r\n"), "{heard}");
    assert!(heard.contains("m=video 20000 UDP/TLS/RTP/SAVPF 96 97\r\n"), "{heard}");
    assert!(heard.contains("a=fmtp:97 apt=96\r\n"), "{heard}");
    let ends: Vec<_> = call.session.streams().map(|(_, it)| it.end(Side::A).clone()).collect();
    assert_eq!(ends[0].local, ends[1].local);
    assert_eq!(
        ends[1].bundle.as_ref().map(|bundle| (bundle.lead, &*bundle.mid)),
        Some((0, &b"1"[..]))
    );
    call.end();
}

#[test]
fn messages_and_data_are_refused_or_pass_as_the_policy_says() {
    let lines = format!("{PHONE}m=message 9 TCP/MSRP *\na=path:msrp://192.0.2.1:9/x;tcp\n");
    let mut call = Call::new(Policy::default(), Policy::default());
    let told = call.offer(Side::A, &at("192.0.2.1", &lines));
    assert!(told.ends_with("m=message 0 TCP/MSRP *\r\n"), "{told}");
    call.reject();
    let passing = Policy { other: true, ..Policy::default() };
    call.policies = [passing.clone(), passing];
    let told = call.offer(Side::A, &at("192.0.2.1", &lines));
    assert!(told.contains("m=message 9 TCP/MSRP *\r\nc=IN IP4 192.0.2.1\r\n"), "{told}");
    call.end();
}

#[test]
fn what_cannot_be_met_is_refused_with_its_reason() {
    let v4 = |lines: &str| at("192.0.2.1", lines);
    let table = [
        ("v=0\r\n".to_owned(), Reason::Description),
        (at("224.0.0.1", "m=audio 4000 RTP/AVP 0\n"), Reason::Address),
        (at("phone.example", "m=audio 4000 RTP/AVP 0\n"), Reason::Address),
        (v4("m=audio 65535 RTP/AVP 0\n"), Reason::Port),
        (v4("m=audio 4000/2 RTP/AVP 0\n"), Reason::Port),
        (v4("m=audio 4000 RTP/AVP 0\na=rtcp:70000\n"), Reason::Port),
        (v4("m=audio 4000 RTP/AVP 0\nb=AS:x\n"), Reason::Bandwidth),
        (v4("m=audio 4000 RTP/AVP 0\nb=AS:2000\n"), Reason::Bandwidth),
        (v4("m=audio 4000 RTP/AVP 0\nb=AS:18446744073709551615\n"), Reason::Bandwidth),
        (v4("m=audio 4000 RTP/SAVP 0\n"), Reason::Protected),
        (v4("m=audio 4000 RTP/AVP 101\na=rtpmap:101 telephone-event/8000\n"), Reason::Codec),
        (v4("m=audio 4000 TCP/RTP/AVP 0\n"), Reason::Kind),
        (v4(&"m=audio 4000 RTP/AVP 0\n".repeat(33)), Reason::Many),
    ];
    for (text, reason) in table {
        let bandwidth = anchor::Bandwidth { kbps_max: Some(1_000), police: false };
        let limited = Policy { bandwidth, ..Policy::default() };
        let mut call = Call::new(limited, Policy::default());
        let refusal = call.try_offer(Side::A, &text).expect_err(&text);
        assert_eq!((refusal.reason, refusal.status()), (reason, 488), "{text}");
        assert!(call.ports.taken.is_empty());
    }
}

#[test]
fn no_room_is_503_and_takes_nothing() {
    let mut call = Call::new(Policy::default(), Policy::default());
    let lines = "m=audio 4000 RTP/AVP 0\n".repeat(20);
    call.ports = crate::call::Ports::new(19);
    let refusal = call.try_offer(Side::A, &at("192.0.2.1", &lines)).expect_err("too many");
    assert_eq!((refusal.reason, refusal.status()), (Reason::Room, 503));
    assert!(call.ports.taken.is_empty());
    call.ports = crate::call::Ports::new(19);
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    let glare = call.try_offer(Side::B, &at("192.0.2.9", PHONE)).expect_err("glare");
    assert_eq!(glare.status(), 491);
    call.end();
}

#[test]
fn ipv4_meets_ipv6() {
    let v6 = Policy { family: anchor::Family::V6, ..Policy::default() };
    let mut call = Call::new(Policy::default(), v6);
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert!(told.contains("c=IN IP6 2001:db8:1::1\r\n"));
    let (heard, _) = call.answer(Side::B, &at("2001:db8:9::9", "m=audio 6000 RTP/AVP 8\n"));
    assert!(heard.contains("c=IN IP4 198.51.100.1\r\n"));
    call.end();
}

#[test]
fn bypass_changes_nothing() {
    let bypass = Policy { anchor: false, ..Policy::default() };
    let mut call = Call::new(bypass.clone(), bypass);
    let text = at("192.0.2.1", PHONE);
    assert_eq!(call.offer(Side::A, &text), text);
    assert_eq!(call.answer(Side::B, &text), (text, vec![]));
}
