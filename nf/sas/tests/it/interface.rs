//! The pages of a trail, its files as other programs read them, and the HTTP routes.

use crate::bench::{Bench, Leg, SSC, SSC_CORE, UA};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use sas::ladder::Extent;
use sas::{import, ladder, pcapng};
use serde_json::Value;
use std::process::Command;
use tower::ServiceExt as _;

#[test]
fn a_page_shows_hosts_legs_and_what_became_of_each_message() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.call("alice", "bob", "page", "dd");
    let event = br#"{"event":"CallAnswered","leg":"b","text":"first answer wins"}"#;
    bench.captured(hep::KIND_LOG, UA, SSC, event, "dd");
    let (page, _) = bench.detail(bench.only(&[("call_id", "page-a")]).id);
    assert_eq!(page.messages.len(), 14);
    let words: Vec<_> = page
        .messages
        .iter()
        .map(|m| {
            let word = m.method.clone().or(m.status.map(|s| s.to_string())).unwrap();
            format!("{word}{}", m.leg)
        })
        .collect();
    assert_eq!(
        words.join(" "),
        "INVITE0 1000 INVITE1 1001 1801 1800 2001 2000 ACK0 ACK1 BYE0 BYE1 2001 2000"
    );
    let pairs: Vec<_> = page.messages.iter().map(|m| m.pair).collect();
    let expected = [
        Some(2),
        None,
        Some(0),
        None,
        Some(5),
        Some(4),
        Some(7),
        Some(6),
        Some(9),
        Some(8),
        Some(11),
        Some(10),
        Some(13),
        Some(12),
    ];
    assert_eq!(pairs, expected);
    let selves: Vec<_> = page.hosts.iter().filter(|h| h.is_self).map(|h| &*h.address).collect();
    assert_eq!(selves, [SSC, SSC_CORE]);
    assert_eq!(page.hosts[0].label, "Phone/1");
    assert!(page.messages[0].has_sdp && !page.messages[1].has_sdp);
    assert_eq!(page.events[0].leg, Some(1));
    assert_eq!(page.events[0].text, "first answer wins, leg b");
    let text = ladder::draw(&page, Extent::Whole);
    let row = |word: &str| text.lines().find(|line| line.contains(word)).unwrap().to_owned();
    assert!(row("INVITE SDP").contains("->|"), "{text}");
    assert!(row("180 Ringing").contains('<'), "{text}");
    assert!(text.contains("Call-ID: page-b"));
    let ladder = ladder::draw(&page, Extent::Ladder);
    assert!(text.starts_with(&ladder) && !ladder.contains("Call-ID:"), "{ladder}");
}

/// What tshark says of a file: one line of the given fields per packet.
pub fn tshark(path: &std::path::Path, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    command.args(["-o", "tcp.check_checksum:TRUE", "-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let out = command.arg("-r").arg(path).output();
    let out = out.expect("tshark is not installed (Debian: tshark; `make setup` installs it)");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn a_pcapng_is_what_tshark_reads_and_what_we_read_back() {
    let directory = tempfile::tempdir().unwrap();
    for (protocol, name) in [(hep::UDP, "udp"), (hep::TCP, "tcp"), (hep::TLS, "tls")] {
        let mut bench = Bench::new(&directory.path().join(name));
        bench.protocol = protocol;
        bench.call("alice", "bob", name, "dd");
        let v6 = Leg::new("alice", "bob", &format!("{name}-b"));
        bench.sip("[2001:db8::1]:5060", "[2001:db8::2]:5060", &v6.request("BYE", 3), "dd");
        let (page, entries) = bench.detail(bench.only(&[("call_id", &format!("{name}-a"))]).id);
        let bytes = pcapng::write(&entries);
        let again = import::read(&bytes).unwrap();
        let texts = |page: &sas::detail::Detail| {
            page.messages
                .iter()
                .map(|m| (m.at_us, page.hosts[m.from].address.clone(), m.text.clone()))
                .collect::<Vec<_>>()
        };
        // Without the agent's correlation the legs are two trails.
        let mut read: Vec<_> = again.iter().flat_map(texts).collect();
        let mut kept = texts(&page);
        read.sort();
        kept.sort();
        assert_eq!(read, kept, "{name}");
        let file = directory.path().join(format!("{name}.pcapng"));
        std::fs::write(&file, bytes).unwrap();
        let fields = [
            "sip.Call-ID",
            "sip.CSeq",
            "_ws.malformed",
            "udp.checksum.status",
            "tcp.checksum.status",
            "ip.checksum.status",
            "tcp.analysis.flags",
        ];
        let lines = tshark(&file, &fields);
        assert_eq!(lines.len(), 15, "{name}");
        for line in lines {
            let mut columns = line.split('\t');
            assert!(columns.next().unwrap().starts_with(name), "{name}: {line}");
            assert!(columns.next().unwrap().ends_with(char::is_alphabetic), "{name}: {line}");
            assert_eq!(columns.next(), Some(""), "{name}: malformed: {line}");
            for status in columns.clone().take(3) {
                assert!(status.is_empty() || status.starts_with('1'), "{name}: checksum: {line}");
            }
            assert_eq!(columns.nth(3), Some(""), "{name}: tcp analysis: {line}");
        }
    }
}

#[test]
fn a_message_inside_of_esp_names_its_associations_in_pages_texts_and_files() {
    const NAME: &str = "ESP null/aes-gcm trans, SPIs in 257/258 out 1000/1001";
    let directory = tempfile::tempdir().unwrap();
    for (protocol, name) in [(hep::UDP, "udp"), (hep::TCP, "tcp")] {
        let mut bench = Bench::new(&directory.path().join(name));
        bench.protocol = protocol;
        let leg = Leg::new("alice", "bob", name);
        bench.tags = NAME.as_bytes();
        bench.sip(UA, SSC, &leg.request("INVITE", 1), "dd");
        bench.tags = b"";
        bench.sip(SSC_CORE, "10.0.1.1:5060", &leg.request("INVITE", 1), "dd");
        let (page, entries) = bench.detail(bench.only(&[("call_id", name)]).id);
        let said: Vec<&str> = page.messages.iter().map(|it| it.tags.as_str()).collect();
        assert_eq!(said, [NAME, ""]);
        assert!(page.messages[0].text.starts_with("INVITE "), "in the clear");
        let text = ladder::draw(&page, Extent::Whole);
        assert_eq!(text.matches(&format!("({name}), {NAME}\n")).count(), 1, "{text}");
        let file = directory.path().join(format!("{name}.pcapng"));
        std::fs::write(&file, pcapng::write(&entries)).unwrap();
        let lines = tshark(&file, &["sip.Method", "frame.comment", "_ws.malformed"]);
        assert_eq!(lines, [format!("INVITE\t{NAME}\t"), "INVITE\t\t".to_owned()]);
    }
}

/// A classic pcap file with these packets on `link`.
fn pcap(link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for (n, packet) in packets.iter().enumerate() {
        for word in [1_800_000_000, n as u32, packet.len() as u32, packet.len() as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(packet);
    }
    out
}

/// IPv4 around a payload: protocol, identification, fragment field.
fn ipv4(protocol: u8, id: u16, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let total = (payload.len() as u16 + 20).to_be_bytes();
    let (id, fragment) = (id.to_be_bytes(), fragment.to_be_bytes());
    let mut out = vec![0x45, 0, total[0], total[1], id[0], id[1], fragment[0], fragment[1]];
    out.extend_from_slice(&[64, protocol, 0, 0, 198, 51, 100, 7, 192, 0, 2, 1]);
    out.extend_from_slice(payload);
    out
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 8).to_be_bytes();
    let mut out = vec![0x13, 0xc6, 0x13, 0xc4, length[0], length[1], 0, 0];
    out.extend_from_slice(payload);
    out
}

fn tcp(sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0x13, 0xc6, 0x13, 0xc4];
    out.extend_from_slice(&sequence.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend_from_slice(payload);
    out
}

fn framed(head: &[u8], packet: &[u8]) -> Vec<u8> {
    [head, packet].concat()
}

#[test]
fn capture_files_of_every_link_are_read() {
    let invite = Leg::new("alice", "bob", "read").request("INVITE", 1);
    let packet = ipv4(17, 1, 0, &udp(invite.as_bytes()));
    let ethernet = [&[2; 12][..], &[8, 0]].concat();
    let vlan = [&[2; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat();
    let cooked = [&[0, 0, 0, 1, 0, 6][..], &[0; 8], &[8, 0]].concat();
    let cooked2 = [&[8, 0][..], &[0; 18]].concat();
    for (name, link, head) in [
        ("ethernet", 1, ethernet),
        ("vlan", 1, vlan),
        ("cooked", 113, cooked),
        ("cooked 2", 276, cooked2),
        ("raw", 101, Vec::new()),
        ("loopback", 0, vec![2, 0, 0, 0]),
    ] {
        let file = pcap(link, &[framed(&head, &packet)]);
        let pages = import::read(&file).unwrap();
        assert_eq!(pages[0].messages[0].text, invite, "{name}");
        assert_eq!(pages[0].hosts[0].address, "198.51.100.7:5062");
    }
}

#[test]
fn fragments_and_streams_are_put_together() {
    let mut leg = Leg::new("alice", "bob", "pieces");
    leg.extra = format!("X-Long: {}\r\n", "x".repeat(2_000));
    let invite = leg.request("INVITE", 1);
    let datagram = udp(invite.as_bytes());
    let fragments =
        [ipv4(17, 9, 0x2000, &datagram[..1_480]), ipv4(17, 9, 1_480 / 8, &datagram[1_480..])];
    assert_eq!(import::read(&pcap(101, &fragments)).unwrap()[0].messages[0].text, invite);

    let cancel = leg.request("CANCEL", 1);
    let stream = format!("\r\n\r\n{invite}{cancel}");
    let bytes = stream.as_bytes();
    let first = u32::MAX - 700;
    let at = |from: usize, to: usize| {
        let payload = &bytes[from..to];
        ipv4(6, 1, 0, &tcp(first.wrapping_add(from as u32), payload))
    };
    let end = bytes.len();
    // In order, one again, one early, one that overlaps.
    let segments = [at(0, 600), at(0, 600), at(1_200, 1_900), at(600, 1_200), at(1_000, end)];
    let pages = import::read(&pcap(101, &segments)).unwrap();
    let texts: Vec<_> = pages[0].messages.iter().map(|m| &*m.text).collect();
    assert_eq!(texts, [&*invite, &*cancel]);
    assert_eq!(pages[0].messages[0].transport, "tcp");
}

#[test]
fn files_that_hold_nothing_are_refused_and_none_makes_it_panic() {
    for bytes in [&b""[..], b"GIF89a", &[0x0a, 0x0d, 0x0d, 0x0a, 0, 0], &pcap(1, &[])] {
        assert!(import::read(bytes).is_err());
    }
    let invite = Leg::new("alice", "bob", "cut").request("INVITE", 1);
    let rtp = ipv4(17, 1, 0, &udp(&[0x80, 8, 0, 1, 0, 0, 0, 0]));
    let whole = pcap(101, &[rtp, ipv4(17, 1, 0, &udp(invite.as_bytes()))]);
    assert_eq!(import::read(&whole).unwrap()[0].messages.len(), 1);
    let mut noise = 1u64;
    for round in 0..3_000 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
            let at = (noise >> 33) as usize % bytes.len();
            bytes[at] = noise as u8;
        }
        bytes.truncate(24 + (noise >> 20) as usize % whole.len());
        let _ = import::read(&bytes);
    }
}

async fn fetch(router: &axum::Router, request: Request<Body>) -> (StatusCode, Vec<u8>) {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status();
    (status, axum::body::to_bytes(response.into_body(), 64 << 20).await.unwrap().to_vec())
}

fn at(path: &str) -> Request<Body> {
    Request::get(format!("/api/v1/sas/{path}")).body(Body::empty()).unwrap()
}

#[tokio::test]
async fn the_routes_answer_as_described() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.call("+4930111222", "bob", "route", "dd");
    let (router, openapi) = sas::api::router(bench.archive.clone(), bench.ask.clone());
    for path in ["trails", "trails/{id}", "trails/{id}/{format}", "tail", "status", "read"] {
        assert!(openapi.paths.paths.contains_key(&format!("/api/v1/sas/{path}")), "{path}");
    }
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let (status, body) = fetch(&router, at("trails?number=0111222&limit=5")).await;
    assert_eq!(status, StatusCode::OK);
    let page = json(&body);
    let trail = &page["trails"][0];
    assert_eq!((&trail["kind"], &trail["outcome"]), (&"call".into(), &"answered".into()));
    assert_eq!((&trail["messages"], &trail["post_dial_delay_ms"]), (&14.into(), &120.into()));
    assert_eq!(page["next"], Value::Null);
    let id = trail["id"].as_str().unwrap();
    let (_, body) = fetch(&router, at(&format!("trails/{id}"))).await;
    let detail = json(&body);
    assert_eq!(detail["hosts"][1]["self"], true);
    assert_eq!(detail["messages"][0]["pair"], 2);
    for (format, start) in
        [("pcapng", &b"\x0a\x0d\x0d\x0a"[..]), ("json", b"{"), ("text", id.as_bytes())]
    {
        let (status, body) = fetch(&router, at(&format!("trails/{id}/{format}"))).await;
        assert_eq!(status, StatusCode::OK);
        assert!(body.starts_with(start), "{format}");
    }
    for (path, expected) in [
        ("trails?limit=0", 400),
        ("trails?status=fine", 400),
        ("trails/0000000000000000", 404),
        ("trails/nonsense", 404),
        (&format!("trails/{id}/gif"), 404),
        ("status", 200),
    ] {
        let (status, body) = fetch(&router, at(path)).await;
        assert_eq!(status.as_u16(), expected, "{path}");
        assert_eq!(json(&body)["error"].is_object(), expected != 200, "{path}");
    }
    let file = fetch(&router, at(&format!("trails/{id}/pcapng"))).await.1;
    let post = Request::post("/api/v1/sas/read").body(Body::from(file)).unwrap();
    let (status, body) = fetch(&router, post).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(json(&body)["trails"].as_array().unwrap().len(), 2);
    let post = Request::post("/api/v1/sas/read").body(Body::from("nonsense")).unwrap();
    assert_eq!(fetch(&router, post).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(bench.metric("sas_searches_total"), 1);
    assert_eq!(bench.metric("sas_search_us"), 1);
}

#[tokio::test]
async fn the_tail_shows_trails_as_they_change_and_counts_what_it_leaves_out() {
    use futures_util::StreamExt as _;
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (router, _) = sas::api::router(bench.archive.clone(), bench.ask.clone());
    let response = router.clone().oneshot(at("tail")).await.unwrap();
    let mut stream = response.into_body().into_data_stream();
    for n in 0..30 {
        let leg = Leg::new("alice", "bob", &format!("tail-{n}"));
        bench.sip(UA, SSC, &leg.request("INVITE", 1), "");
    }
    bench.wait_ms(1_100);
    let leg = Leg::new("alice", "bob", "tail-0");
    bench.sip(SSC, UA, &leg.response(486, 1, "INVITE"), "");
    let mut text = String::new();
    while !text.contains("busy") {
        let chunk = tokio::time::timeout(std::time::Duration::from_secs(20), stream.next());
        text.push_str(std::str::from_utf8(&chunk.await.unwrap().unwrap().unwrap()).unwrap());
    }
    assert_eq!(text.matches("event: trail").count(), 21);
    assert!(text.contains("\"dropped\":10"));
    assert_eq!(bench.metric("sas_tail_dropped_total"), 10);
}

#[test]
fn what_the_disk_cannot_take_is_counted_and_raises_an_alarm() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    bench.sip(UA, SSC, &Leg::new("alice", "bob", "first").request("OPTIONS", 1), "");
    bench.archive.store().stop();
    let big = "x".repeat(50_000);
    for n in 0..400 {
        let mut leg = Leg::new("alice", "bob", &format!("shed-{n}"));
        leg.extra = format!("X-Big: {big}\r\n");
        bench.sip(UA, SSC, &leg.request("MESSAGE", 1), "");
    }
    let shed = bench.metric("sas_shed_messages_total");
    assert!(shed > 0);
    assert_eq!(bench.metric("sas_messages_total") + shed, 401);
    let ask = runtime::Ask { path: "alarms".to_owned(), ..runtime::Ask::default() };
    bench.ask = {
        let (sas, now_us) = (bench.sas.clone(), bench.now);
        std::sync::Arc::new(move |ask| {
            use runtime::Function as _;
            sas.lock().unwrap().ask(now_us, &ask, &mut runtime::Effects::default())
        })
    };
    let alarms = (bench.ask)(ask).unwrap();
    assert_eq!(alarms[0]["name"], "sas-shedding");
    assert_eq!(alarms[0]["severity"], "major");
}

#[test]
fn messages_of_m3ua_and_bgp_are_in_a_pcapng_that_tshark_reads() {
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(directory.path());
    let (asp, gateway) = ("10.0.1.1:2905", "10.0.0.1:2905");
    bench.protocol = hep::SCTP;
    bench.captured(hep::KIND_M3UA, asp, gateway, &[1, 0, 3, 1, 0, 0, 0, 8], "00000000000000aa");
    bench.captured(hep::KIND_M3UA, gateway, asp, &[1, 0, 3, 4, 0, 0, 0, 8], "00000000000000aa");
    let keepalive = "ff".repeat(16) + "001304";
    let route_refresh = "ff".repeat(16) + "00170500010001";
    for (event, octets, text) in [
        ("SessionMessageReceived", 19, &keepalive),
        ("SessionMessageSent", 23, &route_refresh),
        ("SessionMessageSent", 300, &keepalive),
    ] {
        let event = format!(
            r#"{{"event":"{event}","peer":"a","message":"X","octets":{octets},"text":"{text}"}}"#
        );
        let (peer, own) = ("10.0.2.1:179", "10.0.0.1:40000");
        bench.captured(hep::KIND_LOG, peer, own, event.as_bytes(), "00000000000000bb");
    }
    bench.wait_ms(60_000);
    let trails = bench.search(&[("kind", "session")]).trails;
    assert_eq!(trails.len(), 2);
    let ladders: Vec<String> =
        trails.iter().map(|it| ladder::draw(&bench.detail(it.id).0, Extent::Ladder)).collect();
    let m3ua = ladders.iter().find(|it| it.contains("10.0.1.1:2905")).unwrap();
    assert!(m3ua.contains(" ASPUP -") && m3ua.contains(" ASPUP ACK -"), "{m3ua}");
    assert_eq!(m3ua.matches("10.0.1.1:2905").count(), 1, "a host is named once: {m3ua}");
    let bgp = ladders.iter().find(|it| it.contains("10.0.2.1:179")).unwrap();
    assert!(bgp.lines().any(|it| it.trim_start().starts_with("0.000  ")), "{bgp}");
    assert!(bgp.contains(" X -") && !bgp.contains("ffff"), "{bgp}");
    let mut bytes = Vec::new();
    trails.iter().for_each(|trail| bytes.extend(pcapng::write(&bench.detail(trail.id).1)));
    let file = directory.path().join("both.pcapng");
    std::fs::write(&file, bytes).unwrap();
    let mut lines = tshark(&file, &["m3ua.message_type", "bgp.type", "ip.src", "_ws.malformed"]);
    lines.sort();
    // What an event tells only in part is no message.
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("1\t")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("\t4\t")), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("\t5\t")), "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with('\t')), "malformed: {lines:?}");
}
