//! RTCP that nobody here wrote: rtpengine relays a call's media and tells a SAS on a real shard
//! what its ends reported (`--homer`). Without rtpengine on the machine there is nothing to test.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use runtime::{PortId, PortSpec, ShardSpec};
use sas::media::Side;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const CALL_ID: &str = "seen-by-rtpengine";

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    socket
}

/// Two sockets whose ports follow each other, for RTP and RTCP.
fn pair() -> [UdpSocket; 2] {
    for _ in 0..100 {
        let first = socket();
        let port = first.local_addr().unwrap().port();
        if port.is_multiple_of(2)
            && let Ok(second) = UdpSocket::bind(("127.0.0.1", port + 1))
        {
            return [first, second];
        }
    }
    panic!("no two ports follow each other");
}

fn sdp(port: u16) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n\
         m=audio {port} RTP/AVP 8\r\na=rtpmap:8 PCMA/8000\r\n"
    )
}

/// The port of the first stream in an answer of rtpengine.
fn port_in(answer: &str) -> u16 {
    let rest = answer.split("m=audio ").nth(1).expect("a stream");
    rest.split(' ').next().unwrap().parse().unwrap()
}

/// Asks until there is an answer.
fn ng(socket: &UdpSocket, at: SocketAddr, command: &str, tags: &str, sdp: &str) -> String {
    let text = |text: &str| format!("{}:{text}", text.len());
    let dictionary = format!(
        "1_{command} d{}{}{}{}{tags}{}{}e",
        text("command"),
        text(command),
        text("call-id"),
        text(CALL_ID),
        text("sdp"),
        text(sdp)
    );
    let until = Instant::now() + Duration::from_secs(60);
    let mut answer = [0; 8_000];
    while Instant::now() < until {
        socket.send_to(dictionary.as_bytes(), at).unwrap();
        if let Ok(length) = socket.recv(&mut answer) {
            return String::from_utf8_lossy(&answer[..length]).into_owned();
        }
    }
    panic!("rtpengine answers");
}

/// A sender report with one block (RFC 3550 §6.4.1).
fn report(ssrc: u32, source: u32, fraction: u8, jitter: u32) -> Vec<u8> {
    let mut out = vec![0x81, 200, 0, 12];
    let words = [ssrc, 0xeeb2_0000, 0, 9_600, 60, 9_600];
    let block = [source, u32::from(fraction) << 24 | 6, 60, jitter, 0, 0];
    words.into_iter().chain(block).for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
    out
}

fn sip(to: SocketAddr, start: &str, tag: &str, body: &str, ends: [&str; 2]) -> Vec<u8> {
    let text = format!(
        "{start}\r\nVia: SIP/2.0/UDP 127.0.0.1:5062;branch=z9hG4bKr1\r\n\
         From: <sip:alice@example.org>;tag=ft\r\nTo: <sip:bob@example.org>{tag}\r\n\
         Call-ID: {CALL_ID}\r\nCSeq: 1 INVITE\r\nMax-Forwards: 70\r\n\
         Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut packet = Vec::new();
    hep::Packet {
        protocol: hep::UDP,
        source: ends[0].parse().unwrap(),
        destination: ends[1].parse().unwrap(),
        seconds: now.as_secs() as u32,
        micros: now.subsec_micros(),
        kind: hep::KIND_SIP,
        capture_id: 1,
        correlation: b"",
        auth_key: b"",
        tags: b"",
        payload: text.as_bytes(),
    }
    .write(&mut packet);
    socket().send_to(&packet, to).unwrap();
    packet
}

#[test]
fn what_the_ends_of_a_call_told_rtpengine_is_found() {
    if Command::new("rtpengine").arg("--version").output().is_err() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let config = Arc::new(sas::config::Sas::default());
    let archive = sas::Archive::open(&config, directory.path()).unwrap();
    let port = PortSpec { name: "hep".to_owned(), ..PortSpec::default() };
    let spec = ShardSpec { name: "sas".into(), ports: vec![port], ..ShardSpec::default() };
    let making = Arc::clone(&archive);
    let make = move |seed: runtime::Seed, config| making.function(&seed, config);
    let running = Arc::new(runtime::start::<sas::Sas>(spec, config, make).unwrap());
    let asked = Arc::clone(&running);
    let ask: sas::AskFn = Arc::new(move |ask| asked.ask(ask));
    let collector = running.local_addr(PortId(0));

    let control = socket();
    let listen = socket().local_addr().unwrap();
    let child = Command::new("rtpengine")
        .args(["--foreground", "--log-stderr", "--table=-1", "--interface=127.0.0.1"])
        .args(["--port-min=39500", "--port-max=39560", "--homer-id=77"])
        .arg(format!("--listen-ng={listen}"))
        .arg(format!("--homer={collector}"))
        .arg(format!("--pidfile={}", directory.path().join("pid").display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _rtpengine = Killed(child);
    let [alice, alice_rtcp] = pair();
    let [bob, bob_rtcp] = pair();
    let place = |socket: &UdpSocket| socket.local_addr().unwrap().port();
    let offer = sdp(place(&alice));
    let towards_bob = ng(&control, listen, "offer", "8:from-tag2:ft", &offer);
    let answer = sdp(place(&bob));
    let towards_alice = ng(&control, listen, "answer", "8:from-tag2:ft6:to-tag2:tt", &answer);
    let (for_bob, for_alice) = (port_in(&towards_bob), port_in(&towards_alice));
    let (phone, switch) = ("127.0.0.1:5062", "127.0.0.1:5060");
    sip(collector, "INVITE sip:bob@example.org SIP/2.0", "", &offer, [phone, switch]);
    sip(collector, "SIP/2.0 200 OK", ";tag=tt", &answer, [switch, phone]);

    let until = Instant::now() + Duration::from_secs(60);
    let trail = loop {
        assert!(Instant::now() < until, "the trail has its media");
        for (socket, to, ssrc) in [(&alice, for_alice, 0x1111u32), (&bob, for_bob, 0x2222)] {
            let mut packet = vec![0x80, 8, 0, 1, 0, 0, 0, 160];
            packet.extend_from_slice(&ssrc.to_be_bytes());
            packet.resize(172, 0xd5);
            socket.send_to(&packet, ("127.0.0.1", to)).unwrap();
        }
        let one = report(0x1111, 0x2222, 0, 12);
        alice_rtcp.send_to(&one, ("127.0.0.1", for_alice + 1)).unwrap();
        let other = report(0x2222, 0x1111, 51, 400);
        bob_rtcp.send_to(&other, ("127.0.0.1", for_bob + 1)).unwrap();
        let params = [("q".to_owned(), "MOS < 3.5".to_owned())].into();
        let page = sas::archive::search(&archive, &ask, params).unwrap();
        // How many packets an end sent is known from its report after that of the other one.
        let is_whole = |trail: &sas::trail::Trail| {
            let counted = trail.media.iter().filter(|it| it.figures().packets.is_some());
            counted.count() == 2
        };
        match page.trails.into_iter().next() {
            Some(trail) if is_whole(&trail) => break trail,
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    assert_eq!(&*trail.call_ids[0], CALL_ID, "by the Call-ID that rtpengine gives");
    let heard = |from| trail.media.iter().find(|it| it.from == Some(from)).expect("a direction");
    let (from_alice, from_bob) = (heard(Side::A), heard(Side::B));
    assert_eq!((&*from_alice.codec, &*from_bob.codec), ("PCMA/8000", "PCMA/8000"));
    // Six of the sixty that she says she sent.
    assert_eq!(from_alice.figures().loss_permille, Some(100));
    assert_eq!(from_alice.figures().jitter_us, Some(50_000));
    assert!(from_bob.figures().mos_hundredths.unwrap() > 400);
    let id = sas::trail::Trail::id_text(trail.id);
    let (page, _) = sas::archive::read(&archive, &ask, &id).unwrap();
    assert_eq!((page.messages.len(), page.streams.len()), (2, 2));
    assert!(!page.streams[0].points.is_empty());
}
