//! Codecs: order, allowed and denied ones, transcoding, digits.

use crate::call::{Call, PHONE, at, streams};
use anchor::{Action, Codec, CodecName, Codecs, Dtmf, Policy, Reason, Side};

fn names(list: &[&str]) -> Vec<CodecName> {
    list.iter().map(|name| CodecName::read(name.as_bytes()).expect("a name")).collect()
}

fn with(codecs: Codecs) -> Policy {
    Policy { codecs, ..Policy::default() }
}

#[test]
fn a_side_gets_what_it_may_have_in_its_order() {
    let b = with(Codecs { deny: names(&["PCMU"]), ..Codecs::default() });
    let mut call = Call::new(Policy::default(), b);
    assert!(call.offer(Side::A, &at("192.0.2.1", PHONE)).contains("RTP/AVP 8 101\r\n"));
    let b = with(Codecs { order: names(&["PCMA"]), ..Codecs::default() });
    let mut call = Call::new(Policy::default(), b);
    assert!(call.offer(Side::A, &at("192.0.2.1", PHONE)).contains("RTP/AVP 8 0 101\r\n"));
    let b = with(Codecs { allow: names(&["G729"]), ..Codecs::default() });
    let mut call = Call::new(Policy::default(), b);
    let refused = call.try_offer(Side::A, &at("192.0.2.1", PHONE)).expect_err("none is left");
    assert_eq!((refused.reason, refused.words()), (Reason::Codec, "no codec in common"));
}

#[test]
fn an_answer_with_nothing_of_the_offer_is_refused() {
    let mut call = Call::new(Policy::default(), Policy::default());
    call.offer(Side::A, &at("192.0.2.1", PHONE));
    let refused = call.try_answer(Side::B, 0, &at("192.0.2.9", "m=audio 6000 RTP/AVP 9\n"));
    assert_eq!(refused.expect_err("G.722").reason, Reason::Codec);
}

#[test]
fn a_codec_is_added_and_transcoded_if_it_is_chosen() {
    let b = with(Codecs { transcode: names(&["G722", "opus"]), ..Codecs::default() });
    let mut call = Call::new(Policy::default(), b);
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert!(
        told.contains("RTP/AVP 0 8 9 96 97 101\r\n") && told.contains("a=rtpmap:96 opus/48000/2")
    );
    let answer = "m=audio 6000 RTP/AVP 96 101\na=rtpmap:96 opus/48000/2\n\
                  a=rtpmap:101 telephone-event/8000\n";
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", answer));
    assert!(
        streams(&heard).starts_with("m=audio 20000 RTP/AVP 0 101\na=rtpmap:0 PCMU/8000\n"),
        "{heard}"
    );
    let (stream, _) = call.session.stream(0).expect("it stands");
    assert!(stream.is_transcoded());
    let coded: Vec<_> = stream
        .payloads
        .iter()
        .filter_map(|it| match it.action {
            Action::Transcode(to) => Some((it.from, it.number, it.becomes, to.codec)),
            _ => None,
        })
        .collect();
    assert_eq!(coded, [(Side::A, 0, 96, Codec::Opus), (Side::B, 96, 0, Codec::Pcmu)]);
    let (_, _) = call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert!(!call.session.stream(0).expect("it stands").0.is_transcoded());
    call.end();
}

#[test]
fn a_masked_codec_is_a_source_of_transcoding() {
    let b = with(Codecs {
        mask: names(&["PCMU", "PCMA"]),
        transcode: names(&["AMR"]),
        ..Codecs::default()
    });
    let mut call = Call::new(Policy::default(), b);
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert!(told.contains("RTP/AVP 96 101\r\n"), "{told}");
    let (heard, _) =
        call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 96\na=rtpmap:96 AMR/8000\n"));
    assert!(heard.contains("RTP/AVP 0\r\n"), "{heard}");
}

#[test]
fn what_the_media_plane_does_not_code_is_neither_offered_nor_a_source_of_it() {
    let b = with(Codecs {
        transcode: names(&["G722", "opus"]),
        deny: names(&["PCMU"]),
        ..Codecs::default()
    });
    for (codecs, offered) in [
        (1_u32 << Codec::Pcmu.number() | 1 << Codec::G722.number(), "RTP/AVP 8 9 101\r\n"),
        (1 << Codec::G722.number() | 1 << Codec::Opus.number(), "RTP/AVP 8 101\r\n"),
        (0, "RTP/AVP 8 101\r\n"),
    ] {
        let mut call = Call::new(Policy::default(), b.clone());
        call.ports.codecs = codecs;
        let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
        assert!(told.contains(offered), "{codecs:b}: {told}");
    }
    let nothing =
        with(Codecs { transcode: names(&["G722"]), allow: names(&["G722"]), ..Codecs::default() });
    let mut call = Call::new(Policy::default(), nothing);
    call.ports.codecs = 0;
    let refused = call.try_offer(Side::A, &at("192.0.2.1", PHONE)).expect_err("nobody codes it");
    assert_eq!((refused.reason, refused.status()), (Reason::Codec, 488));
}

#[test]
fn ends_say_the_parameters_of_what_is_coded() {
    let b =
        with(Codecs { transcode: names(&["AMR;octet-align=1", "AMR-WB"]), ..Codecs::default() });
    let mut call = Call::new(Policy::default(), b);
    let told = call.offer(Side::A, &at("192.0.2.1", PHONE));
    assert!(told.contains("a=rtpmap:96 AMR/8000\r\na=fmtp:96 octet-align=1\r\n"), "{told}");
    assert!(told.contains("a=rtpmap:97 AMR-WB/16000\r\n") && !told.contains("a=fmtp:97"));
    let answer = "m=audio 6000 RTP/AVP 96\na=rtpmap:96 AMR/8000\n\
                  a=fmtp:96 octet-align=1; mode-set=0,7\n";
    call.answer(Side::B, &at("192.0.2.9", answer));
    let (stream, _) = call.session.stream(0).expect("it stands");
    assert_eq!(&*stream.end(Side::B).parameters, b"octet-align=1; mode-set=0,7");
    assert_eq!(&*stream.end(Side::A).parameters, b"", "PCMU has none");
    let (mut octets, mut again) = (Vec::new(), Vec::new());
    anchor::row::write_stream(stream, &mut octets);
    let read = anchor::row::read_stream(&octets).expect("it was written");
    assert_eq!(&read, stream);
    let long = anchor::End { parameters: [b'x'; 201].into(), ..stream.ends[0].clone() };
    let long = anchor::Stream { ends: [long, stream.ends[1].clone()], ..stream.clone() };
    anchor::row::write_stream(&long, &mut again);
    assert!(anchor::row::read_stream(&again).is_err());
    call.end();
}

#[test]
fn digits_change_their_way_between_the_sides() {
    let info = Policy { dtmf: Dtmf::Info, ..Policy::default() };
    let events = Policy { dtmf: Dtmf::Events, ..Policy::default() };
    let mut call = Call::new(Policy::default(), info.clone());
    assert!(call.offer(Side::A, &at("192.0.2.1", PHONE)).contains("RTP/AVP 0 8\r\n"));
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", "m=audio 6000 RTP/AVP 8\n"));
    assert!(
        heard.contains("RTP/AVP 8 101\r\n") && heard.contains("a=fmtp:101 0-16\r\n"),
        "{heard}"
    );
    let digit = |call: &Call, side: Side| {
        let (stream, _) = call.session.stream(0).expect("it stands");
        let takes = |it: &&anchor::Payload| it.from == side && it.action == Action::Digit;
        (stream.payloads.iter().find(takes).map(|it| it.number), stream.end(side).event.is_some())
    };
    assert_eq!(digit(&call, Side::A), (Some(101), true));
    let mut call = Call::new(info, events);
    let told = call.offer(Side::A, &at("192.0.2.1", "m=audio 4000 RTP/AVP 8\n"));
    assert!(told.contains("RTP/AVP 8 96\r\n") && told.contains("a=rtpmap:96 telephone-event/8000"));
    let answer = "m=audio 6000 RTP/AVP 8 96\na=rtpmap:96 telephone-event/8000\n";
    let (heard, _) = call.answer(Side::B, &at("192.0.2.9", answer));
    assert!(heard.contains("RTP/AVP 8\r\n"), "{heard}");
    assert_eq!(digit(&call, Side::B), (Some(96), true));
}

#[test]
fn the_packet_time_of_a_policy_stands_for_that_of_the_other_side() {
    let b = Policy { packet_ms: Some(30), ..Policy::default() };
    let mut call = Call::new(Policy::default(), b);
    assert!(call.offer(Side::A, &at("192.0.2.1", PHONE)).contains("a=ptime:30\r\n"));
}
