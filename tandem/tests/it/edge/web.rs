//! Programs that are not ours speak through a media controller: one end of a call is aiortc,
//! GStreamer or Chromium with ICE and DTLS-SRTP, the other a phone of plain RTP. The test is the
//! proxy between them: it carries their descriptions, and drives the controller by NG.

use super::phones::{Recording, awaited, hears};
use super::{Host, LONG, Scene, words};
use peers::{Ng, Says};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;

const MEDIA_CONTROLLER: &str = r#"
[[msc]]
name = "msc1"
shards = SHARDS
ng = "127.0.0.1:2223"
[[msc.port]]
name = "a"
driver = "af_packet"
[[msc.port]]
name = "b"
driver = "af_packet"
[[msc.interface]]
name = "a"
addresses = ["192.0.2.1/24"]
[[msc.interface]]
name = "b"
addresses = ["198.51.100.1/24"]
[[msc.group]]
name = "access"
addresses = ["192.0.2.1"]
ports = "20000-23999"
[[msc.group]]
name = "core"
addresses = ["198.51.100.1"]
ports = "30000-33999"
"#;

pub(super) const ENDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/edge/ends");
/// Debian's, which has Debian's modules.
pub(super) const PYTHON: &str = "/usr/bin/python3";
/// What the end at `access` sounds like, and the one at `core`. Hertz.
const NEAR: u32 = 440;
const FAR: u32 = 880;

/// A program that offers, answers, sends a tone and writes what it hears.
pub(super) struct End<'a> {
    scene: &'a Scene,
    name: &'static str,
    program: Child,
    input: ChildStdin,
    said: mpsc::Receiver<String>,
    file: PathBuf,
}

impl<'a> End<'a> {
    /// `{file}` in the words of its command is where it writes samples to.
    pub fn start(scene: &'a Scene, host: &Host, name: &'static str, command: &[&str]) -> Self {
        let file = scene.folder.path().join(format!("{name}.s16"));
        let log = fs::File::create(scene.folder.path().join(format!("{name}.log"))).unwrap();
        let mut program = Command::new("ip");
        program.args(["netns", "exec", host.namespace.name()]);
        let path = file.display().to_string();
        program.args(command.iter().map(|word| if *word == "{file}" { &path } else { *word }));
        let console = concat!(env!("CARGO_MANIFEST_DIR"), "/../console");
        program.env("CONSOLE", console).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut program = program.spawn().unwrap();
        let (input, output) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
        let (tell, said) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.for_each(|line| _ = tell.send(line));
        });
        Self { scene, name, program, input, said, file }
    }

    /// A phone of plain RTP at that address.
    pub fn phone(scene: &'a Scene, host: &Host, address: &str) -> Self {
        let (script, tone) = (format!("{ENDS}/phone.py"), FAR.to_string());
        let phone = [PYTHON, "-B", &script, address, "4000", &tone, "{file}"];
        Self::start(scene, host, "phone", &phone)
    }

    /// Chromium; `words` are said to it.
    pub fn chromium(scene: &'a Scene, host: &Host, words: &[&str]) -> Self {
        let (script, tone) = (format!("{ENDS}/chromium_end.mjs"), NEAR.to_string());
        let browser = [&["node", &script, &tone, "{file}"][..], words].concat();
        Self::start(scene, host, "browser", &browser)
    }

    pub fn tell(&mut self, what: impl std::fmt::Display) {
        writeln!(self.input, "{what}").unwrap();
    }

    /// The next line that it says.
    pub fn says(&self) -> Value {
        let line = self.said.recv_timeout(LONG);
        let line = line.unwrap_or_else(|_| panic!("{} says nothing: {}", self.name, self.logs()));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn description(&mut self, what: &Value) -> String {
        self.tell(what);
        self.says()["sdp"].as_str().unwrap().to_owned()
    }

    pub fn offer(&mut self) -> String {
        self.description(&json!({ "offer": true }))
    }

    pub fn answer(&mut self, offer: &str) -> String {
        self.description(&json!({ "answer": offer }))
    }

    pub fn take(&mut self, answer: &str) {
        self.tell(json!({ "take": answer }));
    }

    fn hears(&self, hertz: u32) {
        let sound = || fs::read(&self.file).unwrap_or_default();
        let heard = || Recording::of(&sound(), 8_000, 1);
        hears(self.scene, heard, hertz, &format!("by {}", self.name));
    }

    /// It hears the phone, and the phone hears it.
    pub fn and_phone_talk(&self, phone: &End<'_>) {
        phone.hears(NEAR);
        self.hears(FAR);
    }

    /// Pictures come.
    pub fn sees(&self) {
        awaited(self.scene, &format!("no picture comes to {}", self.name), || {
            (self.lines("pictures").len() > 10).then_some(())
        });
    }

    /// The lines of a file beside that of its samples.
    pub fn lines(&self, extension: &str) -> Vec<String> {
        let path = format!("{}.{extension}", self.file.display());
        fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn logs(&self) -> String {
        let said = fs::read(self.file.with_extension("log")).unwrap_or_default();
        words(&said) + &self.scene.logs()
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// What a proxy says beside the names of a call.
type Flags<'a> = &'a [(&'a str, Says<'a>)];

const TO_CORE: (&str, Says<'_>) = ("direction", Says::List(&["access", "core"]));
const TO_ACCESS: (&str, Says<'_>) = ("direction", Says::List(&["core", "access"]));
const PLAIN: Flags<'_> = &[
    TO_CORE,
    ("transport-protocol", Says::Text("RTP/AVP")),
    ("ICE", Says::Text("remove")),
    ("rtcp-mux", Says::List(&["demux"])),
];
const WEB: Flags<'_> = &[
    TO_ACCESS,
    ("transport-protocol", Says::Text("UDP/TLS/RTP/SAVPF")),
    ("ICE", Says::Text("force")),
    ("rtcp-mux", Says::List(&["offer"])),
];

/// Has the controller rewrite a description.
fn order(scene: &Scene, command: &str, sdp: &str, flags: Flags<'_>) -> String {
    let names = [("call-id", Says::Text("call")), ("from-tag", Says::Text("a"))];
    let other = [("to-tag", Says::Text("b"))];
    let other = if command == "answer" { &other[..] } else { &[] };
    let entries = [&names, other, &[("sdp", Says::Text(sdp))], flags].concat();
    let reply =
        inside(scene, || Ng::new("127.0.0.1:2223".parse().unwrap())?.order(command, &entries));
    let reply = reply.unwrap_or_else(|why| panic!("{command}: {why}\n{sdp}{}", scene.logs()));
    reply.text("sdp").unwrap()
}

/// Ends the call; then nothing stands.
fn delete(scene: &Scene) {
    let names = [("call-id", Says::Text("call")), ("from-tag", Says::Text("a"))];
    inside(scene, || Ng::new("127.0.0.1:2223".parse().unwrap())?.order("delete", &names)).unwrap();
    awaited(scene, "the stream does not end", || scene.rows(&["streams"]).is_empty().then_some(()));
}

/// Runs something in the namespace of the controller.
fn inside<T: Send>(scene: &Scene, work: impl FnOnce() -> T + Send) -> T {
    let name = scene.router.name();
    let entered = move || {
        attack::enter(name).unwrap();
        work()
    };
    thread::scope(|scope| scope.spawn(entered).join().unwrap())
}

/// A controller of so many shards between two hosts.
fn two_hosts(scene: &mut Scene, shards: u16) -> [Host; 2] {
    let a = scene.host("a", &["192.0.2.2/24"], &["192.0.2.1"]);
    let b = scene.host("b", &["198.51.100.2/24"], &["198.51.100.1"]);
    [&a, &b].into_iter().for_each(Host::sends_whole_packets);
    scene.start(&MEDIA_CONTROLLER.replace("SHARDS", &shards.to_string()));
    a.reaches("192.0.2.1");
    b.reaches("198.51.100.1");
    [a, b]
}

/// `caller` calls `callee`; `flags` are those of the offer, `both` are said with the answer, too.
fn call([caller, callee]: [&mut End<'_>; 2], flags: Flags<'_>, both: Flags<'_>) {
    let scene = caller.scene;
    let offer = order(scene, "offer", &caller.offer(), &[flags, both].concat());
    let answer = order(scene, "answer", &callee.answer(&offer), both);
    caller.take(&answer);
}

/// Tones and reports pass both ways, protected on the side of the browser alone.
fn talk(scene: &Scene, browser: &End<'_>, phone: &End<'_>) {
    browser.and_phone_talk(phone);
    awaited(scene, "no report comes to the phone", || {
        phone.lines("reports").iter().any(|it| matches!(&**it, "200" | "201")).then_some(())
    });
    let streams = scene.rows(&["streams"]);
    let said = format!("{streams:?}");
    assert_eq!(streams.len(), 1, "{said}");
    let ends = streams[0]["ends"].as_array().unwrap();
    let mut suites: Vec<&str> = ends.iter().map(|it| it["suite"].as_str().unwrap()).collect();
    suites.sort_unstable();
    assert_eq!(suites, ["DTLS", "RTP"], "{said}");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

/// A browser calls a phone, then the phone another browser, through a controller of several shards:
/// those beyond the first answer checks and shake hands.
fn calls_both_ways(command: &[&str], flags: Flags<'_>, shards: u16) {
    calls(command, flags, shards, &[true, false]);
}

fn calls(command: &[&str], flags: Flags<'_>, shards: u16, browser_calls: &[bool]) {
    let mut scene = Scene::new();
    let [a, b] = two_hosts(&mut scene, shards);
    let scene = &scene;
    assert_eq!(scene.rows(&["media", "handshakes"]).len(), usize::from(shards));
    for browser_calls in browser_calls {
        let mut browser = End::start(scene, &a, "browser", command);
        let mut phone = End::phone(scene, &b, "198.51.100.2");
        match browser_calls {
            true => call([&mut browser, &mut phone], PLAIN, flags),
            false => call([&mut phone, &mut browser], WEB, flags),
        }
        talk(scene, &browser, &phone);
        delete(scene);
    }
}

#[test]
fn aiortc_and_a_phone_hear_one_another() {
    let script = format!("{ENDS}/aiortc_end.py");
    // It reads no `a=rtcp` without an address, which RFC 3605 §2.1 leaves out where it is known.
    let flags = [("flags", Says::List(&["no-rtcp-attribute"]))];
    calls_both_ways(&[PYTHON, "-B", &script, &NEAR.to_string(), "{file}"], &flags, 2);
}

#[test]
fn gstreamer_and_a_phone_hear_one_another() {
    let script = format!("{ENDS}/gstreamer_end.py");
    // Called, webrtcbin of 1.22 makes no answer as this script asks for one.
    calls(&[PYTHON, "-B", &script, &NEAR.to_string(), "{file}"], &[], 1, &[true]);
}

#[test]
fn chromium_and_a_phone_hear_one_another() {
    let script = format!("{ENDS}/chromium_end.mjs");
    calls_both_ways(&["node", &script, &NEAR.to_string(), "{file}"], &[], 4);
}

#[test]
fn chromium_sees_its_own_pictures_that_a_phone_sends_back() {
    let mut scene = Scene::new();
    let [a, b] = two_hosts(&mut scene, 1);
    let mut browser = End::chromium(&scene, &a, &["video"]);
    let mut phone = End::phone(&scene, &b, "198.51.100.2");
    call([&mut browser, &mut phone], PLAIN, &[]);
    browser.and_phone_talk(&phone);
    browser.sees();
    let kinds: Vec<Value> = scene.rows(&["streams"]).iter().map(|it| it["kind"].clone()).collect();
    assert_eq!(kinds, ["audio", "video"]);
    delete(&scene);
}

/// A stream of ffmpeg's at a host, which it sends from there or takes there.
fn ffmpeg(host: &str, port: u16, profile: &str, more: &str) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 {host}\r\ns=-\r\nc=IN IP4 {host}\r\nt=0 0\r\n\
         m=audio {port} {profile} 8\r\n{more}"
    )
}

/// The line of a description that begins so, without that.
pub(super) fn line<'a>(sdp: &'a str, head: &str) -> &'a str {
    let found = sdp.lines().find_map(|line| line.strip_prefix(head));
    found.unwrap_or_else(|| panic!("{head} is not in {sdp}"))
}

/// ffmpeg speaks at `a` and listens at `b`: SRTP with keys of the description at one of them.
fn ffmpeg_to_ffmpeg(sender_is_secure: bool) {
    const SUITE: &str = "AES_CM_128_HMAC_SHA1_80";
    const KEY: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkw";
    let mut scene = Scene::new();
    let [a, b] = two_hosts(&mut scene, 1);
    let (plain, secure) = ("RTP/AVP", "RTP/SAVP");
    let profiles = if sender_is_secure { [secure, plain] } else { [plain, secure] };
    let crypto = |tag: &str| format!("a=crypto:{tag} {SUITE} inline:{KEY}\r\n");
    let keys = if sender_is_secure { crypto("1") } else { String::new() };
    let offer = ffmpeg("192.0.2.2", 4100, profiles[0], &(keys + "a=sendonly\r\n"));
    let flags = [TO_CORE, ("transport-protocol", Says::Text(profiles[1]))];
    let heard = order(&scene, "offer", &offer, &flags);
    // Of the suites that are offered ffmpeg has this one.
    let offered = heard.lines().find(|it| it.starts_with("a=crypto:") && it.contains(SUITE));
    let keys = offered.map(|it| crypto(&it["a=crypto:".len()..it.find(' ').unwrap()]));
    let answer = keys.unwrap_or_default() + "a=recvonly\r\n";
    let answer = ffmpeg("198.51.100.2", 4000, profiles[1], &answer);
    let told = order(&scene, "answer", &answer, &[]);

    let reader = offered.map(|it| format!("{it}\r\n")).unwrap_or_default();
    let reader = ffmpeg("198.51.100.2", 4000, profiles[1], &reader);
    let file = scene.folder.path().join("reader.sdp");
    fs::write(&file, reader).unwrap();
    let file = file.display().to_string();
    let input = ["-protocol_whitelist", "file,udp,rtp,srtp,crypto", "-i", &file];
    let quick = ["ffmpeg", "-nostdin", "-y", "-fflags", "nobuffer", "-analyzeduration", "0"];
    let output = ["-flush_packets", "1", "-f", "s16le", "-ar", "8000", "-ac", "1", "{file}"];
    let listens = End::start(&scene, &b, "reader", &[&quick[..], &input, &output].concat());

    let place = format!(
        "192.0.2.1:{}?localrtpport=4100",
        line(&told, "m=audio ").split(' ').next().unwrap()
    );
    let url = if sender_is_secure { format!("srtp://{place}") } else { format!("rtp://{place}") };
    let tone = format!("sine=frequency={NEAR}:sample_rate=8000");
    let input = ["ffmpeg", "-nostdin", "-re", "-f", "lavfi", "-i", &tone, "-c:a", "pcm_alaw"];
    let keys = ["-srtp_out_suite", SUITE, "-srtp_out_params", KEY];
    let keys = if sender_is_secure { &keys[..] } else { &[] };
    let output = ["-f", "rtp", &url];
    let _speaks = End::start(&scene, &a, "sender", &[&input[..], keys, &output].concat());
    listens.hears(NEAR);
    delete(&scene);
}

#[test]
fn srtp_of_ffmpeg_is_rtp_to_ffmpeg() {
    ffmpeg_to_ffmpeg(true);
}

#[test]
fn rtp_of_ffmpeg_is_srtp_to_ffmpeg() {
    ffmpeg_to_ffmpeg(false);
}
