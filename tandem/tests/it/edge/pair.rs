//! Two media controllers as a pair, each with a forwarder, on one segment with a host: whichever of
//! them ends, and however, the stream of a call goes on at the other one.

use super::{Host, LONG, Scene, words};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const NODE: &str = r#"
[site]
name = "NAME"
directory = "NAME"
[oam]
listen = "127.0.0.1:0"
[[msc]]
name = "msc1"
shards = SHARDS
ng = "127.0.0.1:222OWN"
[msc.replica]
node = "NAME"
listen = "127.0.0.1:599OWN"
peer = "127.0.0.1:599OTHER"
priority = PRIORITY
[[msc.port]]
name = "NAME"
driver = "af_packet"
[[msc.interface]]
name = "NAME"
addresses = ["192.0.2.1OWN/24", "2001:db8::1OWN/64"]
[[msc.group]]
name = "access"
addresses = ["192.0.2.1", "2001:db8::1"]
ports = "20000-20999"
"#;

/// Asks by NG, which proves nobody: offers and answers one call.
const CALL: &str = r#"
import socket, sys
it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
it.settimeout(10)
it.connect(('127.0.0.1', int(sys.argv[1])))
def text(value):
    return b'%d:%s' % (len(value), value)
def says(cookie, **entries):
    pairs = sorted((k.replace('_', '-').encode(), v.encode()) for k, v in entries.items())
    body = b''.join(text(k) + text(v) for k, v in pairs)
    it.send(b'%d d%se' % (cookie, body))
    reply = it.recv(4096)
    assert b'2:ok' in reply, reply
def sdp(port):
    return ('v=0\r\no=- 1 1 IN IP4 192.0.2.100\r\ns=-\r\nc=IN IP4 192.0.2.100\r\nt=0 0\r\n'
            'm=audio %d RTP/AVP 8\r\n' % port)
says(1, command='offer', call_id='c', from_tag='a', sdp=sdp(4000))
says(2, command='answer', call_id='c', from_tag='a', to_tag='b', sdp=sdp(5000))
"#;

/// Speaks both ways, 50 packets a second each, for as long as it is told; then says of each way how
/// many were sent, how many of them did not come, and the longest time without one, ms.
const TALK: &str = r#"
import select, socket, struct, sys, time
a, b = [(it.rsplit(':', 1)[0], int(it.rsplit(':', 1)[1])) for it in sys.argv[1:3]]
packets = int(float(sys.argv[3]) * 50)
def end(port):
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    it.bind(('192.0.2.100', port))
    it.setblocking(False)
    return it
ends = [end(4000), end(5000)]
came, last, gap = [set(), set()], [0, 0], [0, 0]
first = time.monotonic()
sent = 0
while True:
    now = time.monotonic()
    due = first + sent * 0.02
    if sent == packets and now > due + 1:
        break
    if sent < packets and now >= due:
        for it, to, ssrc in zip(ends, (a, b), (7, 9)):
            it.sendto(struct.pack('!BBHII', 0x80, 8, sent, sent * 160, ssrc) + b'x' * 160, to)
        sent += 1
        continue
    for it in select.select(ends, [], [], max(0.001, min(due - now, 0.02)))[0]:
        at = ends.index(it)
        number = struct.unpack('!H', it.recv(2048)[2:4])[0]
        came[at].add(number)
        now = time.monotonic()
        if last[at]:
            gap[at] = max(gap[at], now - last[at])
        last[at] = now
for at in (0, 1):
    print(sent, sent - len(came[at]), int(gap[at] * 1000))
"#;

struct Node {
    name: &'static str,
    folder: PathBuf,
    running: Option<Child>,
}

impl Node {
    fn new(scene: &Scene, name: &'static str, [own, other]: [&str; 2]) -> Self {
        // Its device is one end of a wire whose other end is on the segment.
        let wire = format!("w{name}");
        scene.wire(name, &wire);
        scene.router.ip(&["link", "set", "dev", &wire, "master", "segment"]).unwrap();
        let text = NODE.replace("NAME", name).replace("OWN", own).replace("OTHER", other);
        // Nodes may have different numbers of shards.
        let (priority, shards) = if name == "a" { ("9", "1") } else { ("1", "4") };
        let text = text.replace("PRIORITY", priority).replace("SHARDS", shards);
        fs::write(scene.folder.path().join(format!("{name}.toml")), text).unwrap();
        Self { name, folder: scene.folder.path().join(name), running: None }
    }

    fn file(&self, scene: &Scene) -> String {
        scene.folder.path().join(format!("{}.toml", self.name)).display().to_string()
    }

    fn start(&mut self, scene: &Scene) {
        let log = scene.folder.path().join(format!("{}.log", self.name));
        let log = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = scene.inside(&["run", &self.file(scene)]);
        command.current_dir(scene.folder.path());
        self.running = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        self.ctl(scene, &["wait"]);
    }

    fn ctl(&self, scene: &Scene, arguments: &[&str]) -> String {
        let mut command = scene.inside(&["ctl", "--site", &self.file(scene)]);
        let output = command.args(arguments).output().unwrap();
        let said = words(&output.stdout);
        assert!(output.status.success(), "{said}{}{}", words(&output.stderr), scene.logs());
        said
    }

    fn row(&self, scene: &Scene, question: &str) -> Value {
        let said = self.ctl(scene, &["--output", "json", question]);
        let rows: Vec<Value> = serde_json::from_str(&said).unwrap();
        rows.into_iter().next().unwrap_or_default()
    }

    /// Waits until it serves, or follows and has everything.
    fn is(&self, scene: &Scene, role: &str) {
        awaited(scene, &format!("{} is not {role}", self.name), || {
            let (pair, media) = (self.row(scene, "replica"), self.row(scene, "media"));
            let has_all = role == "active" || pair["synced"] == true;
            let is = pair["role"] == role && media["role"] == role && has_all;
            (is && media["forwarder"] == "controlled").then_some(())
        });
    }

    fn kill(&mut self) {
        let mut child = self.running.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Kills its forwarder.
    fn kill_forwarder(&self) -> bool {
        let socket = self.folder.join("msc1.forwarder ");
        let pattern = format!("forwarder --socket {}", socket.display());
        let found = Command::new("pgrep").args(["-f", &pattern]).output().unwrap();
        let id = words(&found.stdout).trim().to_owned();
        !id.is_empty() && Command::new("kill").args(["-KILL", &id]).status().unwrap().success()
    }

    /// Ends it in order, with its forwarder.
    fn end(&mut self) {
        let Some(mut child) = self.running.take() else { return };
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        let until = Instant::now() + LONG;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if thread::panicking() {
            self.end();
            self.kill_forwarder();
        }
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

fn spawned(host: &Host, command: &[&str]) -> Child {
    let mut program = Command::new("ip");
    program.args(["netns", "exec", host.namespace.name()]).args(command);
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// A stream both ways while something happens; packets that did not come, of the worse way.
fn lost_while(scene: &Scene, host: &Host, locals: [&str; 2], what: impl FnOnce()) -> u32 {
    let talk = spawned(host, &["python3", "-c", TALK, locals[0], locals[1], "6"]);
    thread::sleep(Duration::from_secs(2));
    what();
    let said = words(&talk.wait_with_output().unwrap().stdout);
    let ways: Vec<Vec<u32>> = said
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
        .collect();
    assert_eq!((ways.len(), ways[0][0]), (2, 300), "{said}{}", scene.logs());
    eprintln!("lost and longest gap, ms: {:?} {:?}", &ways[0][1..], &ways[1][1..]);
    ways[0][1].max(ways[1][1])
}

/// Packets of 20 ms: what is lost is a pause, and the stream comes back.
const PAUSE: u32 = 50;

#[test]
fn a_stream_goes_on_at_the_other_node_whatever_ends() {
    let mut scene = Scene::new();
    scene.router.ip(&["link", "add", "name", "segment", "type", "bridge"]).unwrap();
    scene.router.ip(&["link", "set", "dev", "segment", "up"]).unwrap();
    let host = scene.host("h", &["192.0.2.100/24", "2001:db8::100/64"], &[]);
    host.sends_whole_packets();
    scene.router.ip(&["link", "set", "dev", "h", "master", "segment"]).unwrap();
    let mut nodes = [Node::new(&scene, "a", ["1", "2"]), Node::new(&scene, "b", ["2", "1"])];
    nodes.iter_mut().for_each(|node| node.start(&scene));
    let [a, b] = &mut nodes;
    let is_active = |node: &Node| node.row(&scene, "replica")["role"] == "active";
    let first =
        awaited(&scene, "nobody serves", || [&*a, &*b].iter().position(|node| is_active(node)));
    let (one, other) = if first == 0 { (a, b) } else { (b, a) };
    one.is(&scene, "active");
    other.is(&scene, "standby");
    host.reaches("192.0.2.1");
    let ng = if first == 0 { "2221" } else { "2222" };
    let mut call = Command::new("ip");
    let call = call.args(["netns", "exec", scene.router.name(), "python3", "-c", CALL, ng]);
    let call = call.output().unwrap();
    assert!(call.status.success(), "{}{}", words(&call.stderr), scene.logs());
    let row = one.row(&scene, "streams");
    let local = |end: usize| row["ends"][end]["local"].as_str().unwrap().to_owned();
    let locals = [local(0), local(1)];
    let locals = [&*locals[0], &*locals[1]];
    assert_eq!(lost_while(&scene, &host, locals, || {}), 0, "nothing happens");

    // The whole node dies.
    let heard = spawned(
        &host,
        &[
            "timeout",
            "15",
            "tshark",
            "-l",
            "-i",
            "eth0",
            "-Y",
            "arp.isgratuitous == 1 || (icmpv6.type == 136 && icmpv6.nd.na.flag.s == 0)",
            "-T",
            "fields",
            "-e",
            "eth.src",
            "-e",
            "arp.src.proto_ipv4",
            "-e",
            "icmpv6.nd.na.target_address",
            "-e",
            "icmpv6.nd.na.flag.o",
            "-e",
            "_ws.expert.message",
        ],
    );
    thread::sleep(Duration::from_secs(3));
    let lost = lost_while(&scene, &host, locals, || {
        assert!(one.kill_forwarder());
        one.kill();
    });
    assert!(lost <= PAUSE, "{lost}: {}", scene.logs());
    other.is(&scene, "active");
    let row = awaited(&scene, "its packets are counted", || {
        let row = other.row(&scene, "streams");
        (row["ends"][1]["packets"].as_u64() > Some(20)).then_some(row)
    });
    assert_eq!(row["ends"][0]["local"], locals[0], "{row}");
    let heard = words(&heard.wait_with_output().unwrap().stdout);
    assert!(heard.contains("\t192.0.2.1\t\t"), "announced by ARP: {heard}");
    assert!(heard.contains("\t2001:db8::1\t"), "announced by ND: {heard}");

    // It comes back and follows; the nodes change places in order.
    one.start(&scene);
    one.is(&scene, "standby");
    other.is(&scene, "active");
    let lost = lost_while(&scene, &host, locals, || {
        other.ctl(&scene, &["switchover", "msc1"]);
    });
    assert!(lost <= PAUSE, "{lost}: {}", scene.logs());
    one.is(&scene, "active");
    other.is(&scene, "standby");

    // Its control dies, its forwarder does not.
    let lost = lost_while(&scene, &host, locals, || one.kill());
    assert!(lost <= PAUSE, "{lost}: {}", scene.logs());
    other.is(&scene, "active");
    one.start(&scene);
    one.is(&scene, "standby");
    other.is(&scene, "active");

    // Its forwarder dies, its control does not.
    let lost = lost_while(&scene, &host, locals, || assert!(other.kill_forwarder()));
    assert!(lost <= PAUSE, "{lost}: {}", scene.logs());
    one.is(&scene, "active");
    other.is(&scene, "standby");
    assert!(scene.logs().contains("the forwarder has gone"), "{}", scene.logs());

    // The active one is ended in order.
    let lost = lost_while(&scene, &host, locals, || one.end());
    assert!(lost <= PAUSE, "{lost}: {}", scene.logs());
    other.is(&scene, "active");
    scene.control = other.running.take();
}
