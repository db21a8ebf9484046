//! Digits between realms whose ends have them in different ways, as `dtmf` says: events of RFC
//! 4733, INFO, tones in G.711. baresip sends events, takes events and INFO, plays tones and records
//! them; SIPp sends INFO; spandsp makes tones and finds them.

use super::phones::{ALICE, AT_ALICE, AT_BOB, BOB, DIAL, Phone, awaited, hang_up, two_hosts_with};
use super::sipp::{Sipp, description, send};
use super::web::{ENDS, PYTHON};
use super::{Scene, words};
use std::process::Command;
use std::thread;
use std::time::Duration;

const PRESSED: &str = "159#0";
const BACK: &str = "2*87";
const SOUND: &str = "m=audio 6000 RTP/AVP 8\na=rtpmap:8 PCMA/8000";

/// How media of a realm are whose ends have digits in that way.
fn with(dtmf: &str) -> String {
    format!("media = {{ anchor = true, dtmf = \"{dtmf}\" }}")
}

impl Phone<'_> {
    /// Each key is held for a while.
    fn press(&self, digits: &str) {
        for digit in digits.chars() {
            self.keys(&digit.to_string());
            thread::sleep(Duration::from_millis(200));
            // What lets go of a key, to baresip.
            self.keys("\\x04");
            thread::sleep(Duration::from_millis(150));
        }
    }

    /// Digits that came, in a line of its log each, behind `before` and before `behind`.
    fn took(&self, [before, behind]: [&str; 2]) -> String {
        let log = self.log();
        let lines = log.lines().filter(|line| line.contains(behind));
        lines.filter_map(|line| line.split_once(before)?.1.chars().next()).collect()
    }

    fn takes(&self, scene: &Scene, digits: &str, marks: [&str; 2]) {
        let what = format!("{digits} do not come as {}", marks[0]);
        awaited(scene, &what, || (self.took(marks) == digits).then_some(()));
    }

    /// Tones of these digits, and of no others, are in what it has recorded.
    fn records(&self, scene: &Scene, digits: &str) {
        awaited(scene, &format!("{digits} do not come as tones"), || {
            let recorded = self.recording()?.display().to_string();
            (tones(&["find", &recorded]) == digits).then_some(())
        });
    }
}

/// A digit that ended, as baresip hears it by RFC 4733 and by INFO.
const EVENT: [&str; 2] = ["received event: '", "(end=1)"];
const INFO: [&str; 2] = ["received DTMF: '", "duration"];

fn tones(arguments: &[&str]) -> String {
    let script = format!("{ENDS}/tones.py");
    let output = Command::new(PYTHON).args(["-B", &script]).args(arguments).output().unwrap();
    let errors = words(&output.stderr);
    assert!(output.status.success(), "spandsp (make setup): {errors}");
    words(&output.stdout).trim().to_owned()
}

/// A phone that plays a file with tones of these digits.
fn playing<'a>(
    scene: &Scene,
    host: &'a super::Host,
    [name, address, proxy]: [&str; 3],
    digits: &str,
) -> Phone<'a> {
    let file = scene.folder.path().join("tones.wav").display().to_string();
    tones(&["make", &file, digits]);
    Phone::playing(scene, host, [name, address, proxy, "", "PCMA"], &format!("aufile,{file}"))
}

/// Waits until the media controller transcodes, for tones are made there, and the session
/// controller has heard of it.
fn transcodes(scene: &Scene) {
    awaited(scene, "nothing transcodes", || {
        (scene.rows(&["media"]).pop()?["transcoder"] == "connected").then_some(())
    });
    thread::sleep(Duration::from_secs(2));
}

/// INFO requests of a scenario, one a digit, with headers of its own side.
fn infos(digits: &str, first: u32, head: impl Fn(u32) -> String) -> String {
    let info = |(digit, number): (char, u32)| {
        let body = format!("Signal={digit}\nDuration=160\n");
        send(&head(number), &body) + "<recv response=\"200\"/>\n<pause milliseconds=\"100\"/>\n"
    };
    digits.chars().zip(first..).map(info).collect()
}

/// Is called, sends digits by INFO, and is hung up on.
fn called(digits: &str) -> String {
    let keep = |header: &str, place: u8| {
        format!(
            "<ereg regexp=\".*\" search_in=\"hdr\" header=\"{header}\" check_it=\"true\" \
             assign_to=\"{place}\"/>"
        )
    };
    let uri = "<ereg regexp=\"sip:[^>]*\" search_in=\"hdr\" header=\"Contact:\" \
               check_it=\"true\" assign_to=\"3\"/>";
    let kept = [keep("From:", 1), keep("To:", 2), uri.to_owned()].concat();
    let taken = format!("<recv request=\"INVITE\"><action>{kept}</action></recv>\n");
    let answer = "SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:];tag=[pid]b\n\
                  [last_Call-ID:]\n[last_CSeq:]";
    let head = |number: u32| {
        format!(
            "INFO [$3] SIP/2.0\nVia: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]\n\
             From:[$2];tag=[pid]b\nTo:[$1]\nCall-ID: [call_id]\nCSeq: {number} INFO"
        )
    };
    let over =
        "SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:]\n[last_Call-ID:]\n[last_CSeq:]";
    [
        taken,
        send(answer, &description(SOUND)),
        "<recv request=\"ACK\"/>\n<pause milliseconds=\"500\"/>\n".to_owned(),
        infos(digits, 1, head),
        "<recv request=\"BYE\"/>\n".to_owned(),
        send(over, ""),
    ]
    .concat()
}

/// Calls, sends digits by INFO, and is hung up on.
fn caller(digits: &str) -> String {
    let request = |method: &str, uri: &str, tag: &str, number: u32| {
        format!(
            "{method} {uri} SIP/2.0\nVia: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]\n\
             From: <sip:alice@[local_ip]>;tag=[pid]a\nTo: <sip:bob@[remote_ip]>{tag}\n\
             Call-ID: [call_id]\nCSeq: {number} {method}"
        )
    };
    let tag = "[peer_tag_param]";
    let over =
        "SIP/2.0 200 OK\n[last_Via:]\n[last_From:]\n[last_To:]\n[last_Call-ID:]\n[last_CSeq:]";
    [
        send(&request("INVITE", "sip:bob@[remote_ip]:[remote_port]", "", 1), &description(SOUND)),
        "<recv response=\"100\" optional=\"true\"/>\n<recv response=\"180\" optional=\"true\"/>\n"
            .to_owned(),
        "<recv response=\"200\" rrs=\"true\"/>\n".to_owned(),
        send(&request("ACK", "[next_url]", tag, 1), ""),
        "<pause milliseconds=\"500\"/>\n".to_owned(),
        infos(digits, 2, |number| request("INFO", "[next_url]", tag, number)),
        "<recv request=\"BYE\"/>\n".to_owned(),
        send(over, ""),
    ]
    .concat()
}

#[test]
fn events_pass_from_one_phone_to_the_other_and_back() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 1, [&with("pass"), &with("rtp")]);
    let bob = Phone::start(&scene, &b, AT_BOB, BOB);
    let alice = Phone::start(&scene, &a, AT_ALICE, ALICE);
    alice.keys(DIAL);
    super::phones::talk(&scene, [&alice, &bob], "before digits");
    alice.press(PRESSED);
    bob.takes(&scene, PRESSED, EVENT);
    bob.press(BACK);
    alice.takes(&scene, BACK, EVENT);
    super::phones::talk(&scene, [&alice, &bob], "behind digits");
    hang_up(&scene, &alice);
}

#[test]
fn events_of_one_realm_are_info_in_the_other_and_back() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 1, [&with("rtp"), &with("info")]);
    let alice = Phone::start(&scene, &a, AT_ALICE, ALICE);
    let bob = Phone::start(&scene, &b, AT_BOB, BOB);
    alice.keys(DIAL);
    super::phones::talk(&scene, [&alice, &bob], "before digits");
    alice.press(PRESSED);
    bob.takes(&scene, PRESSED, INFO);
    assert_eq!(bob.took(EVENT), "", "no event comes beside");
    hang_up(&scene, &alice);
    drop((alice, bob));
    // baresip hears events beside sound alone: its own comes back.
    let sound = ["-rtp_echo", "-mi", AT_BOB[1]];
    let called = Sipp::start(&scene, &b, ["called", AT_BOB[1]], &called(BACK), &sound);
    let alice = Phone::start(&scene, &a, AT_ALICE, ALICE);
    alice.keys(DIAL);
    alice.takes(&scene, BACK, EVENT);
    hang_up(&scene, &alice);
    called.succeeds();
}

#[test]
fn events_of_one_realm_are_tones_in_the_other_and_back() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 1, [&with("rtp"), &with("tones")]);
    transcodes(&scene);
    let bob = playing(&scene, &b, AT_BOB, BACK);
    let alice = Phone::start(&scene, &a, AT_ALICE, ALICE);
    alice.keys(DIAL);
    alice.takes(&scene, BACK, EVENT);
    alice.press(PRESSED);
    bob.records(&scene, PRESSED);
    assert_eq!(bob.took(EVENT), "", "no event comes beside");
    hang_up(&scene, &alice);
}

#[test]
fn info_of_one_realm_is_tones_in_the_other_and_back() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 1, [&with("info"), &with("tones")]);
    transcodes(&scene);
    let bob = playing(&scene, &b, AT_BOB, BACK);
    let alice = Phone::start(&scene, &a, AT_ALICE, ALICE);
    alice.keys(DIAL);
    alice.takes(&scene, BACK, INFO);
    hang_up(&scene, &alice);
    drop(alice);
    let proxy = format!("{}:5060", AT_ALICE[2]);
    let caller = Sipp::start(&scene, &a, ["caller", AT_ALICE[1]], &caller(PRESSED), &[&proxy]);
    bob.records(&scene, PRESSED);
    hang_up(&scene, &bob);
    caller.succeeds();
}
