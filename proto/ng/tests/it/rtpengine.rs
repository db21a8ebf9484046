//! The same commands to rtpengine (Debian's `rtpengine-daemon`) and to us: the same descriptions
//! but for ports, addresses and keys. Where we mean to differ, [`DIFFERENCES`] says why.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the world outside")]

use crate::commands::{ANSWER, OFFER};
use crate::controller::{Controller, Reply, Says, write};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What we write otherwise than rtpengine 10.5, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("a=crypto", "keys of a side are the media controller's own: none passes from the other side"),
    ("a=crypto", "F8 and NULL are not offered"),
    ("a=crypto", "keys are not shown in a description beside a profile of DTLS (RFC 5764 §8)"),
    ("a=ptime", "an answer says what the answerer said, not what the offerer had asked for"),
    ("a=ice-lite", "the media controller is a lite end, and says so (RFC 8445 §2.5)"),
    ("a=rtcp-mux-only", "`require` is said as RFC 8858 says it"),
    ("c=", "the session's own address is not shown where every stream has another one"),
    ("a=candidate", "foundations are short, and names and passwords of another length"),
    ("m=… 0", "a refused stream has no lines: rtpengine leaves its connection"),
    ("error", "a description that is none is refused; rtpengine passes it"),
    ("error", "an answer that is not protected as it was offered is refused; rtpengine takes it"),
    ("a=sendrecv", "an answer gives no more than was offered (RFC 3264 §6.1)"),
    ("o=", "`replace=username`, `session-name` and `sdp-version` change nothing"),
];

/// The daemon; it ends with the test.
pub struct Daemon {
    child: Child,
    socket: UdpSocket,
    serial: u32,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    socket.local_addr().expect("bound").port()
}

impl Daemon {
    pub fn start() -> Self {
        let ng = format!("127.0.0.1:{}", free_port());
        let child = Command::new("rtpengine")
            .args(["--config-file=none", "--foreground", "--log-stderr", "--log-level=0"])
            .args(["--table=-1", "--interface=127.0.0.1", "--num-threads=1"])
            .args(["--port-min=40000", "--port-max=44000", "--no-fallback"])
            .arg(format!("--listen-ng={ng}"))
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("rtpengine: Debian's package rtpengine-daemon is needed");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
        socket.connect(&ng).expect("an address");
        let mut daemon = Self { child, socket, serial: 0 };
        let answers =
            (0..400).any(|_| daemon.try_ask(&[("command", Says::Text("ping"))]).is_some());
        assert!(answers, "rtpengine does not answer");
        daemon
    }

    fn try_ask(&mut self, entries: &[(&str, Says)]) -> Option<Reply> {
        self.serial += 1;
        let cookie = format!("x{}", self.serial);
        self.socket.send(&write(&cookie, entries)).ok()?;
        let mut room = vec![0; 65_535];
        // Replies to what was asked before may be first.
        for _ in 0..10 {
            let Ok(length) = self.socket.recv(&mut room) else {
                // Nobody listens yet: the next try is not at once.
                std::thread::sleep(Duration::from_millis(50));
                return None;
            };
            if room.starts_with(format!("{cookie} ").as_bytes()) {
                return Some(Reply(room[..length].to_vec()));
            }
        }
        None
    }

    pub fn ask(&mut self, entries: &[(&str, Says)]) -> Reply {
        (0..5).find_map(|_| self.try_ask(entries)).expect("rtpengine answers")
    }
}

/// A description without what may differ.
fn plain(sdp: &str, ours: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_dtls = false;
    let mut is_refused = false;
    let mut port: u16 = 0;
    for line in sdp.lines() {
        if let Some(media) = line.strip_prefix("m=") {
            let mut words: Vec<&str> = media.split(' ').collect();
            is_refused = words[1] == "0";
            is_dtls = words[2].starts_with("UDP/TLS");
            if words[1] != "9" && words[1] != "0" {
                port = words[1].parse().expect("a port");
                assert!(!ours || port.is_multiple_of(2), "{line}");
                words[1] = "PORT";
            }
            lines.push(format!("m={}", words.join(" ")));
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        match name {
            _ if is_refused => {}
            "a=ice-lite" | "a=rtcp-mux-only" if ours => {}
            "a=crypto" => {
                let suite = value.split(' ').nth(1).expect("a suite");
                let is_other = suite.starts_with("F8") || suite.starts_with("NULL");
                if !is_other && !is_dtls {
                    lines.push(format!("a=crypto:{suite}"));
                }
            }
            "a=fingerprint" => lines.push("a=fingerprint:sha-256".to_owned()),
            "a=ice-ufrag" | "a=ice-pwd" => lines.push(name.to_owned()),
            "a=candidate" => {
                let words: Vec<&str> = value.split(' ').collect();
                lines.push(format!("a=candidate:{} {} {}", words[1], words[3], words[4]));
            }
            "a=rtcp" => {
                let rtcp: u16 = value.parse().expect("a port");
                lines.push(format!("a=rtcp: {} behind", rtcp - port));
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// Another command of a call: who offered, who the other one is, and the description.
#[derive(Clone)]
struct Step {
    command: &'static str,
    tags: [&'static str; 2],
    text: String,
    flags: Vec<(&'static str, Says)>,
}

/// One exchange.
#[derive(Clone)]
struct Case {
    name: &'static str,
    offer: String,
    flags: Vec<(&'static str, Says)>,
    answer: String,
    answer_flags: Vec<(&'static str, Says)>,
    /// What comes after.
    more: Vec<Step>,
    /// Attributes that are left out of the comparison; the table above says why.
    without: &'static [&'static str],
}

fn case(name: &'static str, offer: &str, answer: &str) -> Case {
    let (offer, answer) = (offer.to_owned(), answer.to_owned());
    Case { name, offer, flags: vec![], answer, answer_flags: vec![], more: vec![], without: &[] }
}

impl Case {
    fn with(mut self, flags: &[(&'static str, Says)]) -> Self {
        self.flags = flags.to_vec();
        self
    }

    fn answered_with(mut self, flags: &[(&'static str, Says)]) -> Self {
        self.answer_flags = flags.to_vec();
        self
    }

    fn then(mut self, command: &'static str, tags: [&'static str; 2], text: &str) -> Self {
        self.more.push(Step { command, tags, text: text.to_owned(), flags: vec![] });
        self
    }

    fn steps(&self) -> Vec<Step> {
        let step = |command, text: &str, flags: &[(&'static str, Says)]| Step {
            command,
            tags: ["a", "b"],
            text: text.to_owned(),
            flags: flags.to_vec(),
        };
        let mut steps = vec![
            step("offer", &self.offer, &self.flags),
            step("answer", &self.answer, &self.answer_flags),
        ];
        steps.extend(self.more.iter().cloned());
        steps
    }

    fn without(mut self, names: &'static [&'static str]) -> Self {
        self.without = names;
        self
    }
}

const KEY: &str = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
const OTHER_KEY: &str = "QVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";

fn crypto(tag: u8, suite: &str, key: &str) -> String {
    format!("a=crypto:{tag} {suite} inline:{key}\r\n")
}

fn secure(text: &str, profile: &str) -> String {
    text.replace("RTP/AVP", profile)
}

fn security_cases() -> Vec<Case> {
    let suite = "AES_CM_128_HMAC_SHA1_80";
    let offered = secure(OFFER, "RTP/SAVP") + &crypto(1, suite, KEY);
    let answered = |tag| secure(ANSWER, "RTP/SAVP") + &crypto(tag, suite, OTHER_KEY);
    let print = format!("a=fingerprint:sha-256 {}\r\n", vec!["AB"; 32].join(":"));
    let dtls = secure(OFFER, "UDP/TLS/RTP/SAVPF") + "a=setup:actpass\r\n" + &print;
    let by = |protocol| [("transport-protocol", Says::Text(protocol))];
    let with = |protocol, key, words| {
        [("transport-protocol", Says::Text(protocol)), (key, Says::List(words))]
    };
    vec![
        case("SRTP becomes RTP", &offered, ANSWER).with(&by("RTP/AVP")),
        case("RTP becomes SRTP", OFFER, &answered(7)).with(&by("RTP/SAVP")),
        case("RTP becomes SRTP with feedback", OFFER, &secure(&answered(7), "RTP/SAVPF"))
            .with(&by("RTP/SAVPF")),
        case("a suite is not wanted", OFFER, &answered(6)).with(&with(
            "RTP/SAVP",
            "SDES",
            &["no-AEAD_AES_256_GCM"],
        )),
        case("DTLS is not wanted", OFFER, &answered(7))
            .with(&[("transport-protocol", Says::Text("RTP/SAVP")), ("DTLS", Says::Text("off"))]),
        case(
            "keys by DTLS alone",
            OFFER,
            &(secure(ANSWER, "UDP/TLS/RTP/SAVP") + "a=setup:active\r\n" + &print),
        )
        .with(&with("UDP/TLS/RTP/SAVP", "SDES", &["off"])),
        case("a browser calls a phone", &dtls, ANSWER).with(&by("RTP/AVP")),
        case(
            "a phone calls a browser",
            OFFER,
            &(secure(ANSWER, "UDP/TLS/RTP/SAVPF") + "a=setup:active\r\n" + &print),
        )
        .with(&by("UDP/TLS/RTP/SAVPF")),
    ]
}

fn mux_cases() -> Vec<Case> {
    let offer = OFFER.to_owned() + "a=rtcp-mux\r\n";
    let answer = ANSWER.to_owned() + "a=rtcp-mux\r\n";
    let mux = |words| [("rtcp-mux", Says::List(words))];
    let bare = [("flags", Says::List(&["no-rtcp-attribute"]))];
    vec![
        case("mux is passed", &offer, &answer),
        case("mux is not taken", &offer, ANSWER),
        case("mux is taken apart", &offer, ANSWER).with(&mux(&["demux"])),
        case("mux is taken here", &offer, ANSWER).with(&mux(&["accept"])),
        case("mux is offered", OFFER, &answer).with(&mux(&["offer"])),
        case("mux is demanded", OFFER, &answer).with(&mux(&["require"])),
        case("RTCP goes without saying", OFFER, ANSWER).with(&bare).answered_with(&bare),
        case("mux goes without saying where", &offer, &answer).with(&bare).answered_with(&bare),
    ]
}

/// The flags of commands, in their other spellings and together.
fn flag_cases() -> Vec<Case> {
    let suite = "AES_CM_128_HMAC_SHA1_32";
    let print = format!("a=fingerprint:sha-256 {}\r\n", vec!["CD"; 32].join(":"));
    let answered = |tag| secure(ANSWER, "RTP/SAVP") + &crypto(tag, suite, OTHER_KEY);
    let browser = |text: &str, setup| secure(text, "UDP/TLS/RTP/SAVPF") + setup + &print;
    let ice = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n\
        a=candidate:1 1 UDP 2130706431 192.0.2.1 4000 typ host\r\n";
    let flags = |words| [("flags", Says::List(words))];
    let keyed =
        |words| [("transport-protocol", Says::Text("RTP/SAVP")), ("SDES", Says::List(words))];
    let web = [
        ("transport-protocol", Says::Text("UDP/TLS/RTP/SAVPF")),
        ("DTLS", Says::Text("passive")),
        ("ICE", Says::Text("force")),
        ("rtcp-mux", Says::List(&["require"])),
    ];
    let g722 = ANSWER.replace(" 8\r\n", " 9\r\n");
    let opus = ANSWER.replace(" 8\r\n", " 96\r\na=rtpmap:96 opus/48000/2\r\n");
    vec![
        case("suites are taken out one by one", OFFER, &answered(5)).with(&keyed(&[
            "no-AEAD_AES_256_GCM",
            "no-AEAD_AES_128_GCM",
            "no-AES_CM_128_HMAC_SHA1_80",
        ])),
        case(
            "a phone calls a browser with ICE",
            OFFER,
            &(browser(ANSWER, "a=setup:active\r\n") + ice + "a=rtcp-mux\r\n"),
        )
        .with(&web),
        case(
            "a browser with ICE calls a phone",
            &(browser(OFFER, "a=setup:actpass\r\n") + ice),
            ANSWER,
        )
        .with(&[("transport-protocol", Says::Text("RTP/AVP")), ("ICE", Says::Text("remove"))]),
        case("a codec is stripped by a flag", OFFER, ANSWER).with(&flags(&["codec-strip-PCMU"])),
        case("all but one are stripped by flags", OFFER, ANSWER)
            .with(&flags(&["codec-strip-all", "codec-except-PCMA"])),
        case("a codec stands for all others by flags", OFFER, &g722)
            .with(&flags(&["codec-mask-all", "codec-transcode-G722"])),
        case("one codec is masked by a flag of the older form", OFFER, &g722)
            .with(&flags(&["codec-mask-PCMA", "transcode-G722"])),
        case("options of a codec add none", OFFER, ANSWER).with(&flags(&["codec-set-G722"])),
        case("a codec is taken for what is transcoded", OFFER, &g722)
            .with(&flags(&["codec-accept-PCMU", "codec-transcode-G722"])),
        case("two are added, and the second is taken", OFFER, &opus)
            .with(&flags(&["codec-transcode-opus", "codec-transcode-G722"])),
    ]
}

fn codec_cases() -> Vec<Case> {
    let codec = |lists| [("codec", Says::Lists(lists))];
    let opus = ANSWER.replace(" 8\r\n", " 96\r\na=rtpmap:96 opus/48000/2\r\n");
    let g722 = ANSWER.replace(" 8\r\n", " 9\r\n");
    vec![
        case("a codec is stripped", OFFER, ANSWER).with(&codec(&[("strip", &["PCMU"])])),
        case("all but one are stripped", OFFER, ANSWER)
            .with(&codec(&[("strip", &["all"]), ("except", &["PCMA"])])),
        case("all are stripped, one is offered", OFFER, ANSWER)
            .with(&codec(&[("strip", &["all"]), ("offer", &["PCMA"])])),
        case("a codec is added and not taken", OFFER, ANSWER)
            .with(&codec(&[("transcode", &["G722"])])),
        case("a codec is added and taken", OFFER, &opus).with(&codec(&[("transcode", &["opus"])])),
        case("a codec stands for all others", OFFER, &g722)
            .with(&codec(&[("mask", &["all"]), ("transcode", &["G722"])])),
        case(
            "packet time",
            &(OFFER.to_owned() + "a=ptime:20\r\n"),
            &(ANSWER.to_owned() + "a=ptime:20\r\n"),
        )
        .with(&[("ptime", Says::Number(40))])
        .without(&["a=ptime"]),
        case(
            "packet time passes",
            &(OFFER.to_owned() + "a=ptime:20\r\n"),
            &(ANSWER.to_owned() + "a=ptime:20\r\n"),
        ),
    ]
}

fn ice_cases() -> Vec<Case> {
    let ice = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n\
        a=candidate:1 1 UDP 2130706431 192.0.2.1 4000 typ host\r\n\
        a=candidate:1 2 UDP 2130706430 192.0.2.1 4001 typ host\r\n";
    let (offer, answer) = (OFFER.to_owned() + ice, ANSWER.to_owned() + ice);
    let ice = |word| [("ICE", Says::Text(word))];
    vec![
        case("ICE is passed", &offer, &answer),
        case("ICE is removed", &offer, ANSWER).with(&ice("remove")),
        case("ICE is offered", OFFER, &answer).with(&ice("force")),
        case("ICE on both sides", &offer, &answer).with(&ice("force")),
    ]
}

fn shape_cases() -> Vec<Case> {
    let head = "v=0\r\no=a 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n";
    let fax =
        format!("{head}m=image 4000 udptl t38\r\na=T38FaxVersion:0\r\na=T38MaxBitRate:14400\r\n");
    let more =
        "a=mid:0\r\na=x-foo:bar\r\na=ssrc:1 cname:x\r\na=extmap:1 urn:x\r\na=maxptime:40\r\n";
    let group = OFFER.replace("m=audio", "a=group:BUNDLE 0\r\na=label:5\r\nm=audio") + more;
    let video = "m=video 5000 RTP/AVP 97\r\na=rtpmap:97 H264/90000\r\na=rtcp-fb:97 nack pli\r\n\
        a=fmtp:97 profile-level-id=42e01f\r\nb=AS:512\r\n";
    let two = OFFER.to_owned() + video;
    let two_taken = ANSWER.to_owned() + "m=video 7000 RTP/AVP 97\r\na=rtpmap:97 H264/90000\r\n";
    let one_taken = ANSWER.to_owned() + "m=video 0 RTP/AVP 97\r\n";
    let own = OFFER.replace(
        "m=audio 4000 RTP/AVP 0 8 101\r\n",
        "m=audio 4000 RTP/AVP 0 8 101\r\nc=IN IP4 192.0.2.77\r\nb=AS:80\r\n",
    );
    let msrp = OFFER.to_owned() + "m=message 9 TCP/MSRP *\r\na=path:msrp://192.0.2.1:9/x;tcp\r\n";
    let msrp_refused = ANSWER.to_owned() + "m=message 0 TCP/MSRP *\r\n";
    let named = OFFER.replace("m=audio", "a=sendonly\r\nm=audio");
    let feedback = OFFER.replace("RTP/AVP", "RTP/AVPF") + "a=rtcp-fb:8 nack\r\n";
    vec![
        case("two phones", OFFER, ANSWER),
        case("formats without names", &format!("{head}m=audio 4000 RTP/AVP 0 8\r\n"), ANSWER),
        case("a fax", &fax, &fax),
        case(
            "a group and what nobody knows",
            &group,
            &(ANSWER.to_owned() + "a=mid:0\r\na=x-bar:1\r\n"),
        ),
        case("voice and video", &two, &two_taken),
        case("voice without video", &two, &one_taken),
        case("a connection of its own", &own, ANSWER).without(&["c="]),
        case("messages pass", &msrp, &msrp_refused),
        case(
            "hold",
            &(OFFER.to_owned() + "a=sendonly\r\n"),
            &(ANSWER.to_owned() + "a=recvonly\r\n"),
        ),
        case("hold of the session", &named, &(ANSWER.to_owned() + "a=recvonly\r\n")),
        case(
            "hold at the null address",
            &(OFFER.replace("c=IN IP4 192.0.2.1", "c=IN IP4 0.0.0.0") + "a=sendonly\r\n"),
            &(ANSWER.to_owned() + "a=recvonly\r\n"),
        ),
        case("feedback", &feedback, &secure(ANSWER, "RTP/AVPF")),
        case("feedback is taken out", &feedback, ANSWER)
            .with(&[("transport-protocol", Says::Text("RTP/AVP"))]),
        case("an origin of ours", OFFER, ANSWER)
            .with(&[("replace", Says::List(&["origin", "session-connection"]))])
            .answered_with(&[("replace", Says::List(&["origin", "session-connection"]))]),
        case("an end behind a translator", OFFER, ANSWER)
            .with(&[("flags", Says::List(&["trust-address", "symmetric"]))]),
    ]
}

/// The entries of a step's command.
fn entries(number: usize, step: &Step, is_first: bool) -> Vec<(&'static str, Says)> {
    let mut list = vec![
        ("command", Says::Text(step.command)),
        ("call-id", Says::Long(format!("call-{number}"))),
        ("from-tag", Says::Text(step.tags[0])),
        ("sdp", Says::Long(step.text.clone())),
    ];
    if !is_first {
        list.push(("to-tag", Says::Text(step.tags[1])));
    }
    list.extend(step.flags.iter().cloned());
    list
}

fn compared(reply: &Reply, case: &Case, ours: bool) -> Read {
    let sdp = reply.text("sdp").ok_or_else(|| reply.text("error-reason").unwrap_or_default())?;
    let lines = plain(&sdp, ours);
    let is_kept = |line: &String| !case.without.iter().any(|name| line.starts_with(name));
    Ok(lines.into_iter().filter(is_kept).collect())
}

fn longer_cases() -> Vec<Case> {
    let hold = OFFER.to_owned() + "a=sendonly\r\n";
    let held = ANSWER.to_owned() + "a=recvonly\r\n";
    let video = "m=video 5000 RTP/AVP 97\r\na=rtpmap:97 VP8/90000\r\n";
    let fax = "m=image 6000 udptl t38\r\na=T38FaxVersion:0\r\n";
    let as_fax = |text: &str| text[..text.find("m=").expect("a stream")].to_owned() + fax;
    let other = ANSWER.replace("192.0.2.9", "192.0.2.19");
    let suite = "AES_CM_128_HMAC_SHA1_80";
    let secured = secure(OFFER, "RTP/SAVP") + &crypto(1, suite, KEY);
    let plain = [("transport-protocol", Says::Text("RTP/AVP"))];
    let keyed = [("transport-protocol", Says::Text("RTP/SAVP"))];
    let mut back = case("SRTP is held by the other side", &secured, ANSWER)
        .with(&plain)
        .then("offer", ["b", "a"], &held)
        .then("answer", ["b", "a"], &(secured.clone() + "a=sendonly\r\n"));
    back.more[0].flags = keyed.to_vec();
    let unsaid = case("SRTP is kept without saying so", &secured, ANSWER)
        .with(&plain)
        .then("offer", ["b", "a"], ANSWER)
        .then("answer", ["b", "a"], &secured);
    vec![
        unsaid,
        case("hold and back", OFFER, ANSWER)
            .then("offer", ["a", "b"], &hold)
            .then("answer", ["a", "b"], &held)
            .then("offer", ["a", "b"], OFFER)
            .then("answer", ["a", "b"], ANSWER),
        case("the other side offers", OFFER, ANSWER)
            .then("offer", ["b", "a"], &ANSWER.replace(" 8\r\n", " 8 0\r\n"))
            .then("answer", ["b", "a"], OFFER),
        case("a stream is added and ended", OFFER, ANSWER)
            .then("offer", ["a", "b"], &(OFFER.to_owned() + video))
            .then("answer", ["a", "b"], &(ANSWER.to_owned() + video))
            .then("offer", ["a", "b"], &(OFFER.to_owned() + &video.replace("5000", "0")))
            .then("answer", ["a", "b"], &(ANSWER.to_owned() + &video.replace("5000", "0"))),
        case("a fax in a call", OFFER, ANSWER).then("offer", ["b", "a"], &as_fax(ANSWER)).then(
            "answer",
            ["b", "a"],
            &as_fax(OFFER),
        ),
        case("two forks", OFFER, ANSWER).then("answer", ["a", "c"], &other).then(
            "answer",
            ["a", "b"],
            ANSWER,
        ),
        back,
    ]
}

type Read = Result<Vec<String>, String>;

/// The lines that only one of the two has; all, if they have the same ones in another order.
fn difference(theirs: &Read, ours: &Read) -> String {
    let (Ok(theirs), Ok(ours)) = (theirs, ours) else {
        return format!("theirs {theirs:?} ours {ours:?}");
    };
    let only = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|line| !other.contains(line)).cloned().collect()
    };
    let (more, less) = (only(theirs, ours), only(ours, theirs));
    if more.is_empty() && less.is_empty() {
        return format!("theirs {theirs:?} ours {ours:?}");
    }
    format!("theirs {more:?} ours {less:?}")
}

#[test]
fn rtpengine_and_we_write_the_same_descriptions() {
    let mut daemon = Daemon::start();
    let mut controller = Controller::new();
    let cases = [
        security_cases(),
        mux_cases(),
        codec_cases(),
        ice_cases(),
        shape_cases(),
        longer_cases(),
        flag_cases(),
    ];
    let cases = cases.concat();
    let mut failures = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        for (at, step) in case.steps().iter().enumerate() {
            let entries = entries(number, step, at == 0);
            let theirs = compared(&daemon.ask(&entries), case, false);
            let ours = compared(&controller.ask(&entries), case, true);
            if theirs != ours {
                let difference = difference(&theirs, &ours);
                failures.push(format!("{} ({at} {}): {difference}", case.name, step.command));
            }
        }
    }
    assert!(!DIFFERENCES.is_empty());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn rtpengine_and_we_refuse_with_the_same_words() {
    let mut daemon = Daemon::start();
    let mut controller = Controller::new();
    let call = ("call-id", Says::Text("none"));
    let sdp = ("sdp", Says::Text(OFFER));
    let table: [&[(&str, Says)]; 6] = [
        &[("command", Says::Text("ping"))],
        &[("command", Says::Text("nonsense"))],
        &[("command", Says::Text("query")), call.clone()],
        &[("command", Says::Text("offer")), call.clone(), sdp.clone()],
        &[("command", Says::Text("offer")), ("from-tag", Says::Text("a")), sdp.clone()],
        &[("command", Says::Text("offer")), call, ("from-tag", Says::Text("a"))],
    ];
    for entries in table {
        let [theirs, ours] = [daemon.ask(entries), controller.ask(entries)];
        for key in ["result", "error-reason"] {
            assert_eq!(theirs.text(key), ours.text(key), "{entries:?}");
        }
    }
}
