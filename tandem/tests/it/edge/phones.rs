//! A session controller, a media controller and two phones (baresip): speech both ways, plain and
//! with SRTP at one side, held and taken up again, with another codec at each side, while the media
//! controller's control, its forwarder and its transcoder die. The session controller is a site of
//! its own. What is captured of both is one trail.

use super::{Host, LONG, Scene, words};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const SESSION_CONTROLLER: &str = r#"
[site]
name = "sessions"
directory = "sessions"
[oam]
listen = "127.0.0.1:0"
[[ssc]]
name = "ssc1"
capture = "tcp:127.0.0.1:9060"
[ssc.media]
pairs_min = 64
[[ssc.media.controller]]
name = "msc1"
address = "127.0.0.1:2970"
[[ssc.realm]]
name = "access"
side = "access"
listen = ["udp:10.1.0.1:5060"]
media = { anchor = true, srtp = "optional" }
[[ssc.realm]]
name = "core"
side = "core"
listen = ["udp:10.2.0.1:5060"]
media = { anchor = true }
[[ssc.next_hop]]
name = "bob"
realm = "core"
targets = ["udp:198.51.100.100:5060"]
probe_interval_s = 0
[[ssc.route]]
from = "access"
to = ["bob"]
"#;

const MEDIA_CONTROLLER: &str = r#"
[[msc]]
name = "msc1"
shards = SHARDS
listen = "127.0.0.1:2970"
capture = "tcp:127.0.0.1:9060"
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
[sas]
listen = ["tcp:127.0.0.1:9060"]
"#;

/// How media of Alice's realm are.
const ACCESS: &str = r#"media = { anchor = true, srtp = "optional" }"#;
/// And of Bob's.
pub(super) const CORE: &str = "media = { anchor = true }";
/// Alice's realm where checks are answered.
const WITH_CHECKS: &str = r#"media = { anchor = true, srtp = "optional", ice = "accept" }"#;

/// Alice hears Bob's tone, and Bob hers. Hertz.
pub(super) const ALICE: u32 = 440;
pub(super) const BOB: u32 = 880;

/// What came in: samples of one channel, and how many of them a second has.
#[derive(Default)]
pub(super) struct Recording {
    rate: usize,
    samples: Vec<f64>,
}

impl Recording {
    /// Of a file of RIFF with 16 bits a sample, its header of 44 octets.
    fn read(octets: &[u8]) -> Self {
        let Some((head, sound)) = octets.split_first_chunk::<44>() else { return Self::default() };
        let channels = usize::from(u16::from_le_bytes([head[22], head[23]])).max(1);
        let rate = u32::from_le_bytes([head[24], head[25], head[26], head[27]]) as usize;
        Self::of(sound, rate, channels)
    }

    /// Of samples of 16 bits, the lower octet first; of several channels the first one.
    pub fn of(sound: &[u8], rate: usize, channels: usize) -> Self {
        let frames = sound.chunks_exact(2 * channels);
        let samples = frames.map(|it| f64::from(i16::from_le_bytes([it[0], it[1]]))).collect();
        Self { rate, samples }
    }
}

/// baresip in a host's namespace: a sine goes out, what comes in is recorded.
pub(super) struct Phone<'a> {
    host: &'a Host,
    program: Child,
    folder: PathBuf,
}

impl<'a> Phone<'a> {
    /// `more` are parameters of the account, as `;mediaenc=srtp-mand`.
    pub fn start(
        scene: &Scene,
        host: &'a Host,
        [name, address, proxy]: [&str; 3],
        tone: u32,
    ) -> Self {
        Self::with(scene, host, [name, address, proxy, ""], tone)
    }

    fn with(
        scene: &Scene,
        host: &'a Host,
        [name, address, proxy, more]: [&str; 4],
        tone: u32,
    ) -> Self {
        Self::speaking(scene, host, [name, address, proxy, more, "PCMA"], tone)
    }

    /// One that has this codec and no other.
    fn speaking(scene: &Scene, host: &'a Host, account: [&str; 5], tone: u32) -> Self {
        Self::playing(scene, host, account, &format!("ausine,{tone}"))
    }

    /// One whose sound is a module's: its name, and what it makes it of.
    pub fn playing(
        scene: &Scene,
        host: &'a Host,
        [name, address, proxy, more, codec]: [&str; 5],
        sound: &str,
    ) -> Self {
        let folder = scene.folder.path().join(name);
        // Another one stood there before.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let module = match codec {
            "G722" => "g722.so",
            "AMR" => "amr.so",
            "opus" => "opus.so",
            _ => "g711.so",
        };
        let place = folder.display();
        // A file is played as it is.
        let is_file = sound.starts_with("aufile");
        let (rate, channels) = if is_file { (8_000, 1) } else { (48_000, 2) };
        let text = format!(
            "sip_listen {address}:5060\naudio_source {sound}\nausrc_srate {rate}\n\
             ausrc_channels {channels}\naudio_player aubridge,none\nauplay_srate 8000\n\
             auplay_channels 1\nmodule_path /usr/lib/baresip/modules\nmodule {module}\n\
             module ausine.so\nmodule aufile.so\nmodule aubridge.so\n\
             module sndfile.so\nsnd_path {place}\nmodule srtp.so\nmodule ice.so\n\
             module_tmp uuid.so\nmodule_tmp account.so\nmodule_app menu.so\nmodule_app cons.so\n\
             cons_listen 127.0.0.1:5555\nringback_disabled yes\nmenu_bell no\n"
        );
        fs::write(folder.join("config"), text).unwrap();
        fs::write(folder.join("contacts"), "").unwrap();
        let account = format!(
            "<sip:{name}@{address}>;regint=0;outbound=\"sip:{proxy}:5060\";answermode=auto;\
             audio_codecs={codec}{more}\n"
        );
        fs::write(folder.join("accounts"), account).unwrap();
        let log = fs::File::create(scene.folder.path().join(format!("{name}.log"))).unwrap();
        let mut program = Command::new("ip");
        program.args(["netns", "exec", host.namespace.name(), "baresip", "-4", "-v", "-s", "-f"]);
        program.arg(&folder).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let phone = Self { host, program: program.spawn().unwrap(), folder };
        awaited(scene, "baresip is installed (make setup) and ready", || {
            phone.log().contains("baresip is ready").then_some(())
        });
        phone
    }

    /// Keys and commands of its console, by UDP.
    pub fn keys(&self, keys: &str) {
        let send = "printf '%b' \"$0\" > /dev/udp/127.0.0.1/5555";
        assert!(self.host.run(&["bash", "-c", send, keys]).status.success());
    }

    /// The newest recording of what comes in.
    pub fn recording(&self) -> Option<PathBuf> {
        let files = fs::read_dir(&self.folder).unwrap().flatten().map(|entry| entry.path());
        files.filter(|path| path.to_string_lossy().ends_with("-dec.wav")).max()
    }

    /// What it has said of itself.
    pub fn log(&self) -> String {
        words(&fs::read(self.folder.with_extension("log")).unwrap_or_default())
    }

    /// Samples that came in so far, in the newest recording.
    fn heard(&self) -> Recording {
        let octets = self.recording().map(|path| fs::read(path).unwrap()).unwrap_or_default();
        Recording::read(&octets)
    }

    fn hears(&self, scene: &Scene, hertz: u32, when: &str) {
        hears(scene, || self.heard(), hertz, when);
    }
}

impl Drop for Phone<'_> {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// Waits until a further half second has come in that is a tone of `hertz` and nothing else.
pub(super) fn hears(scene: &Scene, heard: impl Fn() -> Recording, hertz: u32, when: &str) {
    let mut from = heard().samples.len();
    awaited(scene, &format!("{hertz} Hz are not heard {when}"), || {
        let Recording { rate, samples } = heard();
        let new = samples.get(from..from + rate / 2).filter(|new| !new.is_empty())?;
        from += rate / 10;
        is_tone(new, rate, hertz).then_some(())
    });
}

/// Whether nearly all of the power is at this frequency (Goertzel's sum, at its definition).
fn is_tone(samples: &[f64], rate: usize, hertz: u32) -> bool {
    let turn = std::f64::consts::TAU * f64::from(hertz) / rate as f64;
    let part = |of: fn(f64) -> f64| -> f64 {
        samples.iter().enumerate().map(|(at, it)| it * of(turn * at as f64)).sum()
    };
    let power: f64 = samples.iter().map(|it| it * it).sum();
    let at_tone = part(f64::cos).hypot(part(f64::sin)).powi(2) * 2.0 / samples.len() as f64;
    power > 0.0 && at_tone > 0.8 * power
}

pub(super) fn awaited<T>(scene: &Scene, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what}: {}", scene.logs());
        thread::sleep(Duration::from_millis(50));
    }
}

/// Waits for 25 packets of PCMA (RFC 3551) from an address, as its host sees them arrive.
const ARRIVING: &str = r"
import socket, sys
packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x800))
packets.bind(('eth0', 0))
seen = 0
while seen < 25:
    packet, (_, _, kind, _, _) = packets.recvfrom(2048)
    came = kind != 4 and packet[12:16] == socket.inet_aton(sys.argv[1])
    seen += came and packet[9] == 17 and packet[28] == 0x80 and packet[29] & 0x7f == 8
";

/// A host whose media pass `device`; its signalling reaches `controller` by a wire of its own.
fn host(scene: &Scene, device: &str, address: &str, controller: &str) -> Host {
    let host = scene.host(device, &[&format!("{address}/24")], &[]);
    host.sends_whole_packets();
    let wire = format!("s{device}");
    let (inside, name) = (&scene.router, host.namespace.name());
    let peer = ["type", "veth", "peer", "name", "eth1", "netns", name];
    inside.ip(&[&["link", "add", "name", &wire][..], &peer].concat()).unwrap();
    inside.ip(&["link", "set", "dev", &wire, "up"]).unwrap();
    host.namespace.ip(&["link", "set", "eth1", "up"]).unwrap();
    inside.ip(&["address", "add", &format!("{controller}/32"), "dev", &wire]).unwrap();
    let (near, far) = (format!("{address}/32"), format!("{controller}/32"));
    inside.ip(&["route", "add", &near, "dev", &wire, "src", controller]).unwrap();
    host.namespace.ip(&["route", "add", &far, "dev", "eth1", "src", address]).unwrap();
    host
}

/// Both hear one another.
pub(super) fn talk(scene: &Scene, [alice, bob]: [&Phone; 2], when: &str) {
    alice.hears(scene, BOB, when);
    bob.hears(scene, ALICE, when);
}

/// The only stream that stands, once it is `wanted`.
pub(super) fn stream(scene: &Scene, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    awaited(scene, what, || scene.rows(&["streams"]).pop().filter(&wanted))
}

/// Alice hangs up: nothing stands, and the pairs are given back.
pub(super) fn hang_up(scene: &Scene, alice: &Phone) {
    alice.keys("/hangup\\n");
    awaited(scene, "the stream does not end", || scene.rows(&["streams"]).is_empty().then_some(()));
}

pub(super) const AT_ALICE: [&str; 3] = ["alice", "192.0.2.100", "10.1.0.1"];
pub(super) const AT_BOB: [&str; 3] = ["bob", "198.51.100.100", "10.2.0.1"];
pub(super) const DIAL: &str = "/dial sip:bob@10.1.0.1\\n";

/// The streams of the trail of the only call, from A's end and from B's, when both have ended.
fn trail(scene: &Scene) -> [Value; 2] {
    let ended = |stream: &Value| marks(stream).contains(&"StreamEnded".to_owned());
    awaited(scene, "its media are not in its trail", || {
        let found: Value =
            serde_json::from_str(&scene.ctl(&["--output", "json", "trails"])).ok()?;
        let found = found["trails"].as_array().or(found.as_array())?.clone();
        assert!(found.len() <= 1, "one call is one trail: {found:?}");
        let id = found.first()?["id"].as_str()?.to_owned();
        let trail = scene.ctl(&["--output", "json", "trail", &id]);
        let trail: Value = serde_json::from_str(&trail).unwrap();
        let invites = trail.to_string().matches("INVITE").count();
        assert!(invites > 1, "{trail}");
        let [a, b] = ["a", "b"]
            .map(|leg| trail["streams"].as_array()?.iter().find(|it| it["leg"] == leg).cloned());
        Some([a?, b?]).filter(|both| both.iter().all(ended))
    })
}

fn marks(stream: &Value) -> Vec<String> {
    let marks = stream["marks"].as_array().into_iter().flatten();
    marks.map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

/// What is known of an end over the whole.
fn assert_measured(stream: &Value) {
    let figures = &stream["figures"];
    assert!(figures["packets"].as_u64() > Some(40), "{stream}");
    assert!(figures["lost"].as_u64().is_some(), "{stream}");
    assert!(figures["jitter_us"].as_u64().is_some(), "{stream}");
    assert!(figures["mos_hundredths"].as_u64() > Some(380), "{stream}");
    assert_ne!(stream["points"].as_array().unwrap().len(), 0, "{stream}");
}

/// The session controller's process, ended with its scope.
pub(super) struct Sessions(Child);

impl Sessions {
    /// How media are in its realms `access` and `core`.
    fn start(scene: &Scene, [access, core]: [&str; 2]) -> Self {
        let file = scene.folder.path().join("sessions.toml");
        let text = SESSION_CONTROLLER.replace(CORE, core).replace(ACCESS, access);
        fs::write(&file, text).unwrap();
        let log = fs::File::create(scene.folder.path().join("sessions.log")).unwrap();
        let file = file.display().to_string();
        let mut command = scene.inside(&["run", &file]);
        command.current_dir(scene.folder.path());
        let running = Self(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let waited =
            scene.inside(&["ctl", "--timeout", "60", "--site", &file, "wait"]).output().unwrap();
        assert!(waited.status.success(), "{}{}", words(&waited.stderr), scene.logs());
        running
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn two_hosts(scene: &mut Scene) -> ([Host; 2], Sessions) {
    two_hosts_with(scene, 1, [ACCESS, CORE])
}

/// A media controller of so many shards, and a session controller whose realms `access` and `core`
/// say this of media.
pub(super) fn two_hosts_with(
    scene: &mut Scene,
    shards: u16,
    media: [&str; 2],
) -> ([Host; 2], Sessions) {
    let a = host(scene, "a", AT_ALICE[1], AT_ALICE[2]);
    let b = host(scene, "b", AT_BOB[1], AT_BOB[2]);
    scene.start(&MEDIA_CONTROLLER.replace("SHARDS", &shards.to_string()));
    a.reaches("192.0.2.1");
    b.reaches("198.51.100.1");
    let sessions = Sessions::start(scene, media);
    awaited(scene, "the session controller does not lease ports", || {
        let row = scene.rows(&["media"]).pop()?;
        let leases = row["leases"].as_array()?;
        let is_leased = leases.iter().all(|it| it["leased"].as_u64() > Some(0));
        (is_leased && !leases.is_empty()).then_some(())
    });
    ([a, b], sessions)
}

#[test]
fn phones_hear_one_another_plain_held_and_taken_up() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts(&mut scene);
    let bob = Phone::start(&scene, &b, AT_BOB, BOB);
    let alice = Phone::start(&scene, &a, AT_ALICE, ALICE);
    let phones = [&alice, &bob];
    alice.keys(DIAL);
    talk(&scene, phones, "in a plain call");
    let call = stream(&scene, "it is counted", |it| it["ends"][1]["packets"].as_u64() > Some(20));
    let local = |end: usize| call["ends"][end]["local"].as_str().unwrap();
    assert!(local(0).starts_with("192.0.2.1:2"), "{call}");
    assert!(local(1).starts_with("198.51.100.1:3"), "{call}");
    assert_eq!(call["ends"][0]["codec"], "PCMA/8000", "{call}");
    hold_and_resume(&scene, &alice, [&a, &b]);
    hang_up(&scene, &alice);
    for stream in trail(&scene) {
        assert_measured(&stream);
        let wanted = ["StreamBegan", "StreamChanged", "StreamChanged", "StreamEnded"];
        assert_eq!(marks(&stream), wanted, "{stream}");
    }
}

/// Alice holds Bob and takes him up again: packets come to both.
fn hold_and_resume(scene: &Scene, alice: &Phone, [a, b]: [&Host; 2]) {
    alice.keys("x");
    awaited(scene, "Bob is not held", || {
        let said = fs::read(scene.folder.path().join("bob.log")).unwrap();
        words(&said).contains("a=sendonly").then_some(())
    });
    alice.keys("X");
    // Behind a re-INVITE baresip 1.0 does not record any more: its packets are looked for.
    for (host, from) in [(a, "192.0.2.1"), (b, "198.51.100.1")] {
        let seen = host.run(&["timeout", "60", "python3", "-c", ARRIVING, from]);
        assert!(seen.status.success(), "nothing comes from {from}: {}", scene.logs());
    }
}

#[test]
fn a_phone_with_ice_and_one_without_hear_one_another() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 4, [WITH_CHECKS, CORE]);
    let bob = Phone::start(&scene, &b, AT_BOB, BOB);
    let [name, address, proxy] = AT_ALICE;
    let alice = Phone::with(&scene, &a, [name, address, proxy, ";medianat=ice"], ALICE);
    alice.keys(DIAL);
    talk(&scene, [&alice, &bob], "with ICE at one side");
    hold_and_resume(&scene, &alice, [&a, &b]);
    hang_up(&scene, &alice);
}

#[test]
fn a_call_of_a_second_has_its_media_in_its_trail() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts(&mut scene);
    let _bob = Phone::start(&scene, &b, AT_BOB, BOB);
    let alice = Phone::start(&scene, &a, AT_ALICE, ALICE);
    alice.keys(DIAL);
    let call = stream(&scene, "it is counted", |it| it["ends"][1]["packets"].as_u64() > Some(40));
    assert_ne!(call["call_id"], Value::Null, "{call}");
    hang_up(&scene, &alice);
    for stream in trail(&scene) {
        assert_measured(&stream);
        assert_eq!(marks(&stream), ["StreamBegan", "StreamEnded"], "{stream}");
    }
}

#[test]
fn srtp_at_one_side_goes_on_while_control_and_forwarder_die() {
    let mut scene = Scene::new();
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 2, [ACCESS, CORE]);
    let bob = Phone::start(&scene, &b, AT_BOB, BOB);
    let [name, address, proxy] = AT_ALICE;
    let secure = [name, address, proxy, ";mediaenc=srtp-mand"];
    let alice = Phone::with(&scene, &a, secure, ALICE);
    let phones = [&alice, &bob];
    alice.keys(DIAL);
    talk(&scene, phones, "with SRTP at one side");
    let call = stream(&scene, "it is counted", |it| it["ends"][1]["packets"].as_u64() > Some(20));
    let suite = |end: usize| call["ends"][end]["suite"].clone();
    assert_eq!([suite(0), suite(1)], ["AES_CM_128_HMAC_SHA1_80", "RTP"], "{call}");
    scene.kill();
    talk(&scene, phones, "without a control");
    scene.start_again();
    let stands = |it: &Value| it["ends"][0]["suite"] == "AES_CM_128_HMAC_SHA1_80";
    stream(&scene, "the next control hears of the stream", stands);
    talk(&scene, phones, "with the next control");
    let forwarder = scene.folder.path().join("var/msc1.forwarder");
    assert!(ends("forwarder", &forwarder.display().to_string()), "{}", scene.logs());
    talk(&scene, phones, "with the next forwarder");
    hang_up(&scene, &alice);
}

/// Kills the process that has this socket; whether there is one.
fn ends(program: &str, socket: &str) -> bool {
    let pattern = format!("{program} --socket {socket} ");
    let found = Command::new("pgrep").args(["-f", &pattern]).output().unwrap();
    let id = words(&found.stdout).trim().to_owned();
    !id.is_empty() && Command::new("kill").args(["-KILL", &id]).status().unwrap().success()
}

/// What Bob speaks, as his realm is offered it and as rows show it.
const CODECS: [(&str, &str); 3] =
    [("G722", "G722/8000"), ("AMR", "AMR/8000"), ("opus", "opus/48000/2")];

#[test]
fn phones_without_a_codec_in_common_hear_one_another_while_the_transcoder_dies() {
    let mut scene = Scene::new();
    let codecs = r#"["G722", "AMR;octet-align=1", "opus"]"#;
    let core = &format!("media = {{ anchor = true, codecs = {{ transcode = {codecs} }} }}");
    let ([a, b], _sessions) = two_hosts_with(&mut scene, 1, [ACCESS, core]);
    awaited(&scene, "nothing transcodes", || {
        let row = scene.rows(&["media"]).pop()?;
        (row["transcoder"] == "connected").then_some(())
    });
    // The session controller hears of it within a second.
    thread::sleep(Duration::from_secs(2));
    let transcoder = scene.folder.path().join("var/msc1.transcoder").display().to_string();
    for (number, (codec, shown)) in CODECS.into_iter().enumerate() {
        let [name, address, proxy] = AT_BOB;
        let bob = Phone::speaking(&scene, &b, [name, address, proxy, "", codec], BOB);
        let [name, address, proxy] = AT_ALICE;
        let more = if number == 0 { ";mediaenc=srtp-mand" } else { "" };
        let alice = Phone::speaking(&scene, &a, [name, address, proxy, more, "PCMU"], ALICE);
        let phones = [&alice, &bob];
        alice.keys(DIAL);
        talk(&scene, phones, &format!("as {codec}"));
        let call = stream(&scene, "it stands", |_| true);
        let codec_of = |end: usize| call["ends"][end]["codec"].clone();
        assert_eq!([codec_of(0), codec_of(1)], ["PCMU/8000", shown], "{call}");
        if number == 0 {
            assert_eq!(call["ends"][0]["suite"], "AES_CM_128_HMAC_SHA1_80", "{call}");
            assert!(ends("transcoder", &transcoder), "{}", scene.logs());
            talk(&scene, phones, "with the next transcoder");
            scene.kill();
            talk(&scene, phones, "without a control");
            scene.start_again();
            let stands = |it: &Value| it["ends"][1]["codec"] == shown;
            stream(&scene, "the next control hears of the stream", stands);
            talk(&scene, phones, "with the next control");
        }
        let row = scene.rows(&["media"]).pop().unwrap();
        assert_eq!(row["transcoded"], 1, "{row}");
        hang_up(&scene, &alice);
    }
}
