//! Media of calls: events of functions and RTCP of others make figures, which searches find.

use crate::bench::{Bench, CORE, Leg, SSC, UA};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use sas::config::{Keep, Sas as Config};
use sas::media::{Id, Side};
use sas::trail::Kind;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tower::ServiceExt as _;

const TOKEN: &str = "00000000000000ab";

/// What a media controller or its session controller tells.
fn event(bench: &mut Bench, correlation: &str, name: &str, fields: &Value) {
    let mut all = json!({});
    all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    // `event` comes first, as functions write it.
    let rest = all.to_string();
    let text = format!("{{\"event\":\"{name}\",{}", &rest[1..]);
    bench.captured(hep::KIND_LOG, SSC, SSC, text.as_bytes(), correlation);
}

fn report(leg: &str, mos: u16, loss: u32, jitter_us: u32) -> Value {
    json!({"leg": leg, "line": 0, "codec": "PCMA/8000", "packets": 250, "lost": loss / 4,
        "loss_permille": loss, "jitter_us": jitter_us, "r_tenths": mos * 2,
        "mos_hundredths": mos, "duration_ms": 5_000})
}

fn began(leg: &str, suite: &str) -> Value {
    json!({"leg": leg, "line": 0, "kind": "audio", "codec": "PCMA/8000", "suite": suite,
        "local": "192.0.2.9:20000", "remote": "198.51.100.7:4000", "controller": "msc1"})
}

/// An answered call with these reports of each end, and its end.
fn call(bench: &mut Bench, name: &str, token: &str, reports: &[(u16, u32, u32)]) {
    let leg = Leg::new("alice", "bob", name);
    bench.sip(UA, SSC, &leg.request("INVITE", 1), token);
    bench.sip(SSC, UA, &leg.response(200, 1, "INVITE"), token);
    event(bench, token, "StreamBegan", &began("a", "AES_CM_128_HMAC_SHA1_80"));
    event(bench, token, "StreamBegan", &began("b", "RTP"));
    for (mos, loss, jitter) in reports {
        bench.wait_ms(5_000);
        event(bench, token, "QualityReported", &report("a", *mos, *loss, *jitter));
        event(bench, token, "QualityReported", &report("b", 440, 0, 500));
    }
    bench.sip(UA, SSC, &leg.request("BYE", 2), token);
    bench.sip(SSC, UA, &leg.response(200, 2, "BYE"), token);
}

fn ids(bench: &Bench, query: &str) -> Vec<String> {
    let page = bench.search(&[("q", query)]);
    page.trails.iter().map(|trail| trail.call_ids[0].to_string()).collect()
}

#[test]
fn calls_are_found_by_what_their_media_were_like() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    call(&mut bench, "good", "00000000000000a1", &[(441, 0, 900), (439, 2, 1_100)]);
    call(&mut bench, "bad", "00000000000000a2", &[(441, 0, 1_000), (160, 120, 81_000)]);
    call(&mut bench, "fair", "00000000000000a3", &[(390, 15, 9_000)]);
    let one_way = Leg::new("carol", "bob", "silent");
    bench.sip(UA, SSC, &one_way.request("INVITE", 1), TOKEN);
    event(&mut bench, TOKEN, "OneWayDetected", &json!({"leg": "b", "line": 0}));
    // Once in memory, once on disk.
    for round in ["live", "kept"] {
        for (query, expected) in [
            ("MOS < 3.5", &["bad"][..]),
            ("mos <= 3.9", &["fair", "bad"]),
            ("MOS > 4", &["good"]),
            ("loss > 1", &["fair", "bad"]),
            ("loss > 1 MOS < 3.5 alice", &["bad"]),
            ("loss > 1 carol", &[]),
            ("jitter > 30", &["bad"]),
            ("codec pcma", &["fair", "bad", "good"]),
            ("codec opus", &[]),
            ("one-way", &["silent"]),
        ] {
            assert_eq!(ids(&bench, query), expected, "{query}, {round}");
        }
        bench.wait_ms(400_000);
    }
    assert_eq!(bench.metric("sas_trails_live"), 0);
}

#[test]
fn the_page_of_a_call_has_its_streams_over_time() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    call(&mut bench, "page", TOKEN, &[(441, 0, 900), (300, 40, 30_000)]);
    let latched = json!({"leg": "a", "line": 0, "remote": "203.0.113.80:61000"});
    event(&mut bench, TOKEN, "StreamLatched", &latched);
    let failed = json!({"leg": "a", "line": 0, "count": 12, "text": "authentication"});
    event(&mut bench, TOKEN, "SrtpFailed", &failed);
    let mut ended = report("a", 371, 20, 15_000);
    ended["text"] = "no packets".into();
    event(&mut bench, TOKEN, "StreamEnded", &ended);
    assert_eq!(ids(&bench, TOKEN), ["page"], "as a media controller names its streams");
    let trail = bench.only(&[("call_id", "page")]);
    let view = serde_json::to_value(trail.view()).unwrap();
    assert_eq!(view["media"]["mos_hundredths"], 371, "what counted the whole knows best");
    assert_eq!(view["media"]["mos_min_hundredths"], 300);
    assert_eq!(view["media"]["unprotected"], 12);
    assert_eq!(view["media"]["protected"], false, "the core side is not");
    let (page, entries) = bench.detail(trail.id);
    let page = serde_json::to_value(page).unwrap();
    assert_eq!(page["events"], json!([]), "what is said of media stands with the streams");
    let streams = page["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 2);
    let a = &streams[0];
    assert_eq!((&a["leg"], &a["line"], &a["heard_by"]), (&"a".into(), &0.into(), &Value::Null));
    assert_eq!(a["terms"]["suite"], "AES_CM_128_HMAC_SHA1_80");
    assert_eq!(a["terms"]["latched"], "203.0.113.80:61000");
    assert_eq!(a["terms"]["controller"], "msc1");
    assert_eq!(a["ended_by"], "no packets");
    let points = a["points"].as_array().unwrap();
    let of = |name: &str| points.iter().map(|point| point[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("mos_hundredths"), [441, 300]);
    assert_eq!(of("jitter_us"), [900, 30_000]);
    let marks: Vec<_> = a["marks"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(marks, ["StreamBegan", "StreamLatched", "SrtpFailed", "StreamEnded"]);
    let text = sas::ladder::draw(&bench.detail(trail.id).0, sas::ladder::Extent::Whole);
    let has =
        |words: &[&str]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(has(&["BEGAN", "MEDIA", "FROM", "CODEC", "SUITE", "LOSS", "JITTER", "MOS"]), "{text}");
    assert!(has(&["  a  ", "audio", "PCMA/8000", "AES_CM_128", "3.71"]), "{text}");
    // What happened stands among the messages, in the order of time.
    let times = text.lines().take_while(|line| !line.contains("BEGAN"));
    let times: Vec<f64> =
        times.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    assert!(times.is_sorted() && times.len() > 6, "{text}");
    assert!(has(&["= media 0 a: StreamLatched", "203.0.113.80"]), "{text}");
    // A file for Wireshark has the signalling, and no packet that never was.
    assert!(sas::pcapng::write(&entries).len() < 5_000);
}

#[test]
fn a_digit_is_kept_only_where_bodies_are() {
    let digit = json!({"leg": "a", "line": 0, "digit": "7", "duration_ms": 120, "way": "rtp"});
    for (keep, shown) in [(vec![], "<redacted 1 octets>"), (vec![Keep::Bodies], "7")] {
        let directory = tempfile::tempdir().unwrap();
        let config = Config { keep, ..Config::default() };
        let now = machine::Time::from_millis(1_800_000_000_000);
        let mut bench = Bench::with(directory.path(), config, now);
        event(&mut bench, TOKEN, "StreamBegan", &began("a", "RTP"));
        event(&mut bench, TOKEN, "DigitTyped", &digit);
        let trail = bench.search(&[]).trails.remove(0);
        let (page, entries) = bench.detail(trail.id);
        let mark = &page.streams[0].marks[1];
        assert_eq!((&*mark.name, mark.digit.as_deref()), ("DigitTyped", Some(shown)));
        assert_eq!(mark.text, "duration_ms 120, way rtp");
        let is_there = entries.iter().any(|it| it.payload.windows(3).any(|it| it == b"\"7\""));
        assert_eq!(is_there, shown == "7");
        assert_eq!(bench.metric("sas_redacted_messages_total"), u64::from(shown != "7"));
    }
}

fn rtcp(ssrc: u32, source: u32, fraction: u8, jitter: u32) -> String {
    format!(
        "{{\"sender_information\":{{\"packets\":1000}},\"ssrc\":{ssrc},\"type\":200,\
         \"report_count\":1,\"report_blocks\":[{{\"source_ssrc\":{source},\
         \"highest_seq_no\":1000,\"fraction_lost\":{fraction},\"ia_jitter\":{jitter},\
         \"packets_lost\":5,\"lsr\":0,\"dlsr\":0}}]}}"
    )
}

/// A leg with a description in its INVITE and its answer.
fn described(name: &str, offer: &str, answer: &str) -> (String, String) {
    let sdp = |place: &str, formats: &str| {
        let (ip, port) = place.split_once(':').unwrap();
        format!(
            "v=0\r\no=- 1 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\n\
             m=audio {port} RTP/AVP {formats}\r\na=rtpmap:96 opus/48000/2\r\n"
        )
    };
    let message = |text: String, body: String| {
        let head = text.split("\r\n\r\n").next().unwrap();
        let lines = head.split("\r\n").filter(|line| !line.starts_with("Content-"));
        let head = lines.collect::<Vec<_>>().join("\r\n");
        let length = body.len();
        format!("{head}\r\nContent-Type: application/sdp\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let leg = Leg::new("alice", "bob", name);
    (
        message(leg.request("INVITE", 1), sdp(offer, "96 8")),
        message(leg.response(200, 1, "INVITE"), sdp(answer, "8 101")),
    )
}

#[test]
fn rtcp_of_others_joins_by_call_id_and_knows_sides_and_codec() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (invite, answer) = described("rtcp", "198.51.100.7:4000", "203.0.113.9:6000");
    bench.sip(UA, SSC, &invite, TOKEN);
    bench.sip(SSC, UA, &answer, TOKEN);
    bench.wait_ms(5_000);
    let (alice, bob) = ("198.51.100.7:4001", "203.0.113.9:6001");
    bench.captured(hep::KIND_RTCP, alice, "192.0.2.1:20001", rtcp(1, 2, 0, 16).as_bytes(), "rtcp");
    bench.captured(hep::KIND_RTCP, bob, "192.0.2.1:20003", rtcp(2, 1, 64, 400).as_bytes(), "rtcp");
    let trail = bench.only(&[("q", "MOS < 3")]);
    assert_eq!((trail.kind, &*trail.call_ids[0]), (Kind::Call, "rtcp"));
    assert_eq!(trail.hosts.len(), 2, "ports of media are no hosts of the signalling");
    let [heard_by_alice, heard_by_bob] = &trail.media[..] else { panic!("two directions") };
    assert_eq!(heard_by_alice.from, Some(Side::B));
    assert_eq!(heard_by_bob.from, Some(Side::A));
    assert_eq!((&*heard_by_bob.codec, &*heard_by_bob.suite), ("PCMA/8000", "RTP"));
    let figures = heard_by_bob.figures();
    assert_eq!(figures.loss_permille, Some(250));
    assert_eq!(figures.jitter_us, Some(50_000), "400 ticks of 8,000 Hz");
    assert_eq!(figures.lost, Some(5));
    assert!(figures.mos_hundredths.unwrap() < 250, "{figures:?}");
    assert!(heard_by_alice.figures().mos_hundredths.unwrap() > 430);
    assert_eq!(heard_by_alice.figures().packets, Some(995), "of those that its source sent");
    let Id::Heard { at, ssrc } = heard_by_bob.id else { panic!("heard") };
    assert_eq!((at.to_string(), ssrc), (bob.to_owned(), 1));
    let (page, _) = bench.detail(trail.id);
    assert_eq!(page.messages.len(), 2, "reports are no messages");
    assert_eq!(page.streams[0].points.len(), 1);
}

#[test]
fn reports_that_come_first_or_late_begin_no_second_trail() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.captured(hep::KIND_RTCP, UA, CORE, rtcp(1, 2, 0, 16).as_bytes(), "early");
    bench.call("alice", "bob", "early", TOKEN);
    let (invite, answer) = described("first", "198.51.100.7:4000", "203.0.113.9:6000");
    bench.captured(hep::KIND_RTCP, UA, CORE, rtcp(1, 2, 0, 16).as_bytes(), "first");
    bench.sip(UA, SSC, &invite, "");
    bench.sip(SSC, UA, &answer, "");
    assert_eq!(bench.only(&[("call_id", "first")]).media.len(), 1);
    // A relay that goes on after the BYE keeps no call.
    let leg = Leg::new("alice", "bob", "first");
    bench.sip(UA, SSC, &leg.request("BYE", 2), "");
    for _ in 0..20 {
        bench.captured(hep::KIND_RTCP, UA, CORE, rtcp(1, 2, 0, 16).as_bytes(), "first");
        bench.wait_ms(1_000);
    }
    assert!(bench.only(&[("call_id", "first")]).ended_us > 0);
    assert!(bench.metric("sas_late_messages_total") >= 10);
}

#[test]
fn a_long_call_keeps_figures_of_all_reports_and_entries_of_some() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let leg = Leg::new("alice", "bob", "long");
    bench.sip(UA, SSC, &leg.request("INVITE", 1), TOKEN);
    bench.sip(SSC, UA, &leg.response(200, 1, "INVITE"), TOKEN);
    for _ in 0..8 * 720 {
        bench.wait_ms(5_000);
        event(&mut bench, TOKEN, "QualityReported", &report("a", 441, 4, 900));
        event(&mut bench, TOKEN, "QualityReported", &report("b", 441, 4, 900));
    }
    let trail = bench.only(&[("call_id", "long")]);
    assert_eq!(trail.media[0].figures().packets, Some(250 * 8 * 720));
    assert!(trail.places.len() < 1_000, "{}", trail.places.len());
    let (page, _) = bench.detail(trail.id);
    let points = page.streams[0].points.len();
    assert!((120..=240).contains(&points), "{points}");
    let thinned = bench.metric("sas_media_reports_thinned_total");
    assert_eq!(thinned + trail.places.len() as u64 - 2, 2 * 8 * 720);
}

#[test]
fn a_call_has_so_many_streams_and_a_restart_keeps_them() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let leg = Leg::new("alice", "bob", "many");
    bench.sip(UA, SSC, &leg.request("INVITE", 1), TOKEN);
    bench.sip(SSC, UA, &leg.response(200, 1, "INVITE"), TOKEN);
    for ssrc in 0..200 {
        let text = rtcp(9, ssrc, 0, 16);
        bench.captured(hep::KIND_RTCP, UA, CORE, text.as_bytes(), TOKEN);
    }
    let before = bench.only(&[("call_id", "many")]);
    assert_eq!(before.media.len(), sas::media::STREAMS_MAX);
    let now = bench.now;
    drop(bench);
    let bench = Bench::with(directory.path(), Config::default(), now);
    assert_eq!(bench.only(&[("call_id", "many")]).media, before.media);
}

#[tokio::test]
async fn the_worst_calls_are_listed_worst_first_from_memory_and_disk() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    for (at, mos) in [(1, 300u16), (2, 120), (3, 441), (4, 299), (5, 210)] {
        let token = format!("00000000000000b{at}");
        call(&mut bench, &format!("mos-{mos}"), &token, &[(mos, 10, 900)]);
    }
    bench.wait_ms(60_000);
    assert_eq!(bench.metric("sas_trails_live"), 0);
    let leg = Leg::new("alice", "bob", "mos-180");
    bench.sip(UA, SSC, &leg.request("INVITE", 1), TOKEN);
    event(&mut bench, TOKEN, "QualityReported", &report("a", 180, 90, 900));
    bench.call("alice", "bob", "no-media", "00000000000000ff");
    let from = bench.now.as_micros() - 600_000_000;
    let worst = |pairs: &[(&str, String)]| {
        let mut params: BTreeMap<_, _> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        params.entry("from_us".to_owned()).or_insert_with(|| from.to_string());
        let trails = sas::archive::worst(&bench.archive, &bench.ask, params).unwrap();
        trails.iter().map(|trail| trail.call_ids[0].to_string()).collect::<Vec<_>>()
    };
    let all = ["mos-120", "mos-180", "mos-210", "mos-299", "mos-300", "mos-441"];
    assert_eq!(worst(&[]), all);
    assert_eq!(worst(&[("limit", "3".into())]), all[..3]);
    assert_eq!(worst(&[("q", "MOS > 2".into())]), all[2..]);
    assert_eq!(worst(&[("q", "carol".into())]), [""; 0]);
    let (router, _) = sas::api::router(bench.archive.clone(), bench.ask.clone());
    for (query, status) in [("", 200), ("?limit=0", 400), ("?limit=101", 400), ("?cursor=1-1", 400)]
    {
        let uri = format!("/api/v1/sas/worst{query}");
        let request = Request::get(uri).body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::from_u16(status).unwrap(), "{query}");
    }
}
