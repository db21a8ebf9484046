//! A media controller that Kamailio drives by its own rtpengine module, SIPp calling: its forwarder
//! carries the call's RTP between two ends, at ports that nobody else may use.

use super::{Host, LONG, Scene};
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const CONTROLLER: &str = r#"
[[msc]]
name = "msc1"
shards = SHARDS
ng = "127.0.0.1:2223"
[[msc.port]]
name = "a"
driver = "af_packet"
[[msc.interface]]
name = "a"
addresses = ["192.0.2.1/24"]
[[msc.group]]
name = "access"
addresses = ["192.0.2.1"]
ports = "20000-20999"
[[msc.group]]
name = "core"
addresses = ["192.0.2.2"]
ports = "30000-30999"
"#;

const PROXY: &str = r#"#!KAMAILIO
debug=0
log_stderror=yes
fork=yes
children=1
auto_aliases=no
dns=no
rev_dns=no
listen=udp:127.0.0.1:5060
disable_tcp=yes
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "siputils.so"
loadmodule "textops.so"
loadmodule "rtpengine.so"
modparam("rtpengine", "rtpengine_sock", "udp:127.0.0.1:2223")
request_route {
    if (has_totag()) {
        if (is_method("BYE")) { rtpengine_delete(); }
        # SIPp's caller follows no route.
        $du = "sip:127.0.0.1:5080";
        t_relay();
        exit;
    }
    if (is_method("INVITE")) {
        record_route();
        if (!rtpengine_offer("FLAGS replace-origin direction=access direction=core")) {
            sl_send_reply("500", "No media");
            exit;
        }
        t_on_reply("ANSWERED");
    }
    $du = "sip:127.0.0.1:5080";
    t_relay();
}
onreply_route[ANSWERED] {
    if (has_body("application/sdp")) { rtpengine_answer("replace-origin"); }
}
"#;

/// Sends RTP from one port of the host to the other through the controller, both ways, and prints
/// what came and from where.
const TALK: &str = r#"
import socket, struct, sys
host, a, b, to_a, to_b = sys.argv[1:]
def at(text):
    address, port = text.rsplit(':', 1)
    return address, int(port)
def end(port):
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    it.bind((host, int(port)))
    it.settimeout(60)
    return it
one, other = end(a), end(b)
def packet(number, ssrc):
    return struct.pack('!BBHII', 0x80, 0, number, number * 160, ssrc) + b'x' * 160
for number in range(20):
    for out, into, to, ssrc in ((one, other, to_a, 7), (other, one, to_b, 9)):
        out.sendto(packet(number, ssrc), at(to))
        text, source = into.recvfrom(2048)
        print(number, ssrc, text == packet(number, ssrc), '%s:%d' % source)
"#;

/// A program in the routers' namespace, ended with its scope.
struct Running(Child);

impl Running {
    fn start(scene: &Scene, command: &[&str]) -> Self {
        let log = fs::File::create(scene.folder.path().join(format!("{}.log", command[0])));
        let (log, errors) = log.map(|it| (it.try_clone().unwrap(), it)).unwrap();
        let mut program = Command::new("ip");
        program.args(["netns", "exec", scene.router.name(), command[1]]).args(&command[2..]);
        program.current_dir(scene.folder.path()).stdin(Stdio::null());
        Self(program.stdout(log).stderr(errors).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // SIGTERM, so that what it has started ends with it.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

fn awaited<T>(scene: &Scene, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what}: {}", scene.logs());
        thread::sleep(Duration::from_millis(50));
    }
}

/// The streams, with both of their ends.
fn streams(scene: &Scene) -> Vec<Value> {
    scene.rows(&["streams"])
}

fn talked(host: &Host, locals: [&str; 2]) -> String {
    let ends = ["192.0.2.100", "4000", "5000"];
    let command = [&["python3", "-c", TALK][..], &ends, &locals].concat();
    let output = host.run(&command);
    assert!(output.status.success(), "{}", super::words(&output.stderr));
    super::words(&output.stdout)
}

/// Speech of one codec from one port of the host, and of another from the other one, as two ends
/// speak; prints what came where, and from where.
const CODED: &str = r"
import collections, select, socket, struct, sys, time
host, a, b, to_a, to_b = sys.argv[1:]
def at(text):
    address, port = text.rsplit(':', 1)
    return address, int(port)
def end(port):
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    it.bind((host, int(port)))
    return it
ends = {end(a): (to_a, 0, 7), end(b): (to_b, 9, 9)}
came = collections.Counter()
for number in range(100):
    for out, (to, kind, ssrc) in ends.items():
        head = struct.pack('!BBHII', 0x80, kind, number, number * 160, ssrc)
        out.sendto(head + bytes(160), at(to))
    until = time.monotonic() + 0.02
    while (left := until - time.monotonic()) > 0:
        for into in select.select(list(ends), [], [], left)[0]:
            text, source = into.recvfrom(2048)
            came[(into.getsockname()[1], text[1] & 0x7f, len(text), '%s:%d' % source)] += 1
for (port, kind, octets, source), count in came.items():
    print(port, kind, octets, source, count > 50)
";

/// A site with a media controller of so many shards, Kamailio before it, and SIPp on both sides of
/// that: programs that run as long as this does.
fn call_by_kamailio(
    scene: &mut Scene,
    host: &Host,
    shards: u16,
    [flags, answers]: [&str; 2],
) -> [Running; 3] {
    host.sends_whole_packets();
    // SIPp opens sockets at the address that it says, though the call's ends are the host's.
    scene.router.ip(&["address", "add", "192.0.2.100/32", "dev", "lo"]).unwrap();
    scene.start(&CONTROLLER.replace("SHARDS", &shards.to_string()));
    host.reaches("192.0.2.2");
    // Without it a description is refused that wants codecs changed.
    awaited(scene, "nothing transcodes", || {
        (scene.rows(&["media"])[0]["transcoder"] == "connected").then_some(())
    });
    let folder = scene.folder.path();
    fs::write(folder.join("kamailio.cfg"), PROXY.replace("FLAGS ", flags)).unwrap();
    let described = Command::new("sipp").args(["-sd", "uas"]).output().expect("sipp is installed");
    let described = super::words(&described.stdout).replace("RTP/AVP 0", answers);
    let called = described.replace("rtpmap:0 PCMU/8000", "rtpmap:9 G722/8000");
    let called = if answers == "RTP/AVP 9" { called } else { described };
    fs::write(folder.join("called.xml"), called).unwrap();
    let options = "-DD -E -x fm -m 256 -M 64 -f kamailio.cfg -Y .";
    let proxy: Vec<&str> = options.split(' ').collect();
    let proxy = [&["kamailio", "/usr/sbin/kamailio"], &proxy[..]].concat();
    let proxy = Running::start(scene, &proxy);
    let sipp = |more: &[&'static str]| {
        let usual = ["-i", "127.0.0.1", "-mi", "192.0.2.100", "-nostdin", "-m", "1"];
        [more, &usual].concat()
    };
    let called = ["called", "sipp", "-sf", "called.xml", "-p", "5080", "-mp", "5000"];
    let called = Running::start(scene, &sipp(&called));
    // Kamailio asks its media controller before it takes calls: SIPp tries again until it does.
    let calls = ["calls", "sipp", "-sn", "uac", "127.0.0.1:5060", "-p", "5070", "-mp", "4000"];
    let calls = sipp(&[&calls[..], &["-d", "8000"]].concat());
    [proxy, called, Running::start(scene, &calls)]
}

#[test]
fn kamailio_has_a_call_transcoded_by_its_flags() {
    let mut scene = Scene::new();
    let host = scene.host("a", &["192.0.2.100/24"], &[]);
    let flags = "codec-mask-PCMU codec-transcode-G722 codec-transcode-G729 ";
    let _programs = call_by_kamailio(&mut scene, &host, 1, [flags, "RTP/AVP 9"]);
    let call = awaited(&scene, "no stream", || streams(&scene).pop());
    let local = |end: usize| call["ends"][end]["local"].as_str().unwrap();
    let codec = |end: usize| &call["ends"][end]["codec"];
    assert_eq!([codec(0), codec(1)], [&Value::from("PCMU/8000"), &"G722/8000".into()], "{call}");
    assert_eq!(scene.rows(&["media"])[0]["transcoded"], 1);
    let ends = ["192.0.2.100", "4000", "5000", local(0), local(1)];
    let output = host.run(&[&["python3", "-c", CODED][..], &ends].concat());
    assert!(output.status.success(), "{}", super::words(&output.stderr));
    let came = super::words(&output.stdout);
    for (port, kind, from) in [(5_000, 9, local(1)), (4_000, 0, local(0))] {
        assert!(came.contains(&format!("{port} {kind} 172 {from} True")), "{came}");
    }
    // What its flags ask for and nobody does is told, for Kamailio says nothing of it.
    let refusals = scene.rows(&["media", "refusals"]);
    assert_eq!(refusals[0]["why"], "not done: codec-transcode-G729", "{refusals:?}");
}

#[test]
fn kamailio_has_a_call_of_sipps_forwarded_as_by_rtpengine() {
    forwarded(1);
}

#[test]
fn several_shards_forward_a_call_as_one_does() {
    forwarded(4);
}

fn forwarded(shards: u16) {
    let mut scene = Scene::new();
    let host = scene.host("a", &["192.0.2.100/24"], &[]);
    let _programs = call_by_kamailio(&mut scene, &host, shards, ["", "RTP/AVP 0"]);
    let call = awaited(&scene, "no stream", || streams(&scene).pop());
    let local = |end: usize| call["ends"][end]["local"].as_str().unwrap();
    assert!(local(0).starts_with("192.0.2.1:20") && local(1).starts_with("192.0.2.2:30"), "{call}");
    assert_eq!(call["ends"][0]["codec"], "PCMU/8000");
    let talk = talked(&host, [local(0), local(1)]);
    for number in 0..20 {
        // What A sent leaves from the port that B was given, and the other way round.
        for (ssrc, from) in [(7, local(1)), (9, local(0))] {
            assert!(talk.contains(&format!("{number} {ssrc} True {from}\n")), "{talk}");
        }
    }
    let counted = awaited(&scene, "nothing is counted", || {
        streams(&scene).pop().filter(|it| it["ends"][1]["packets"].as_u64() >= Some(20))
    });
    assert_eq!(
        (&counted["ends"][0]["lost"], &counted["ends"][0]["state"]),
        (&0.into(), &"speaks".into())
    );
    awaited(&scene, "the call does not end", || streams(&scene).is_empty().then_some(()));
    let media = scene.rows(&["media"]).remove(0);
    assert_eq!((&media["forwarder"], &media["ng_calls"]), (&"controlled".into(), &0.into()));
}
