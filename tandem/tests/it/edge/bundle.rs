//! A browser's sound and pictures share a port (RFC 9143) while a phone has them on two, with RTCP
//! beside each: what the browser sends is parted by payload types, and its reports by sources. The
//! test carries their descriptions by SIP through a session controller.

use super::Scene;
use super::phones::{AT_ALICE, AT_BOB, CORE, awaited, two_hosts_with};
use super::web::{End, line};
use std::net::UdpSocket;
use std::thread;

const BUNDLED: &str =
    r#"media = { anchor = true, srtp = "optional", dtls = true, ice = "accept", bundle = true }"#;

/// A user agent that says what it is told.
struct Agent {
    socket: UdpSocket,
    address: &'static str,
}

impl Agent {
    /// One at port 5060 of a host.
    fn new(namespace: &str, address: &'static str) -> Self {
        let bind = || {
            attack::enter(namespace).unwrap();
            UdpSocket::bind((address, 5060)).unwrap()
        };
        let socket = thread::scope(|scope| scope.spawn(bind).join().unwrap());
        socket.set_read_timeout(Some(super::LONG)).unwrap();
        Self { socket, address }
    }

    fn send(&self, to: &str, head: &str, body: &str) {
        let content = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
        let contact = format!("Contact: <sip:{}>\r\n", self.address);
        let message =
            format!("{head}{contact}{content}Content-Length: {}\r\n\r\n{body}", body.len());
        self.socket.send_to(message.as_bytes(), to).unwrap();
    }

    /// The next message whose first line has that; its headers and its body.
    fn takes(&self, scene: &Scene, what: &str) -> (String, String) {
        let mut room = vec![0; 65_535];
        loop {
            let length = self.socket.recv(&mut room);
            let length = length.unwrap_or_else(|_| panic!("no {what} comes: {}", scene.logs()));
            let text = String::from_utf8_lossy(&room[..length]).into_owned();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            if head.lines().next().unwrap().contains(what) {
                return (head.to_owned(), body.to_owned());
            }
        }
    }
}

/// Headers of a request that its answer has as well.
fn kept(head: &str) -> String {
    let names = ["Via:", "From:", "Call-ID:", "CSeq:", "Record-Route:"];
    let kept = head.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    kept.map(|line| format!("{line}\r\n")).collect()
}

/// The browser's offer goes to the phone and the answer back.
fn call(scene: &Scene, agents: [&Agent; 2], browser: &mut End<'_>, phone: &mut End<'_>) -> String {
    let [alice, bob] = agents;
    let [own, controller] = [AT_ALICE[1], AT_ALICE[2]];
    let head = |method: &str, to_tag: &str| {
        format!(
            "{method} sip:bob@{controller} SIP/2.0\r\n\
             Via: SIP/2.0/UDP {own}:5060;branch=z9hG4bK{method}\r\nMax-Forwards: 70\r\n\
             From: <sip:alice@{own}>;tag=a\r\nTo: <sip:bob@{controller}>{to_tag}\r\n\
             Call-ID: one\r\nCSeq: 1 {method}\r\n"
        )
    };
    let place = format!("{controller}:5060");
    alice.send(&place, &head("INVITE", ""), &browser.offer());
    let (invite, offer) = bob.takes(scene, "INVITE ");
    let to = line(&invite, "To: ");
    let answer = phone.answer(&offer);
    let ok = format!("SIP/2.0 200 OK\r\n{}To: {to};tag=b\r\n", kept(&invite));
    bob.send(&format!("{}:5060", AT_BOB[2]), &ok, &answer);
    let (ok, answer) = alice.takes(scene, " 200 ");
    let tag = line(&ok, "To: ").split_once(';').map_or("", |it| it.1);
    alice.send(&place, &head("ACK", &format!(";{tag}")), "");
    browser.take(&answer);
    answer
}

#[test]
fn sound_and_pictures_of_a_browser_on_one_port_are_two_streams_of_a_phone() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 2, [BUNDLED, CORE]);
    let agents = [(&a, AT_ALICE), (&b, AT_BOB)];
    let [alice, bob] = agents.map(|(host, at)| Agent::new(host.namespace.name(), at[1]));
    let mut browser = End::chromium(&scene, &a, &["video"]);
    let mut phone = End::phone(&scene, &b, AT_BOB[1]);
    let answer = call(&scene, [&alice, &bob], &mut browser, &mut phone);
    assert!(answer.contains("a=group:BUNDLE 0 1\r\n"), "{answer}");
    let port = |kind: &str| line(&answer, kind).split(' ').next().unwrap().to_owned();
    assert_eq!(port("m=audio "), port("m=video "), "{answer}");
    browser.and_phone_talk(&phone);
    browser.sees();
    let streams = scene.rows(&["streams"]);
    let local = |at: usize, end: usize| streams[at]["ends"][end]["local"].clone();
    assert_eq!((streams.len(), local(0, 0)), (2, local(1, 0)), "{streams:?}");
    assert_ne!(local(0, 1), local(1, 1), "{streams:?}");
    awaited(&scene, "no report comes to the phone", || {
        let both = ["reports", "video.reports"].map(|it| !phone.lines(it).is_empty());
        (both == [true; 2]).then_some(())
    });
}
