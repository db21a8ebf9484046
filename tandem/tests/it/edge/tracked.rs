//! Two session controllers as a pair whose link has an interface of its own: while that lives, what
//! the active node needs beside it fails, and the other one takes its calls over.
//!
//! ```text
//!  caller, callee, gateways ── segment ──┬─ eth0 of a ─ a ─ eth1
//!                                        └─ eth0 of b ─ b ─ eth1 ── the link of the pair
//! ```

use super::ims_pair::{SDP, answer, value};
use super::{Host, LONG, Scene, words};
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const NODE: &str = r#"
[site]
name = "NAME"
directory = "NAME"
[oam]
listen = "127.0.0.1:0"
[[ssc]]
name = "sbc"
[ssc.shield]
trusted = ["192.0.2.0/24"]
[ssc.replica]
node = "NAME"
listen = "198.51.100.OWN:5999"
peer = "198.51.100.OTHER:5999"
priority = PRIORITY
key_file = "pair.key"
addresses = ["192.0.2.1/24@eth0", "192.0.2.2/24@eth0"]
track = ["eth0", "192.0.2.8OWN"]
track_recover_s = 1
[[ssc.realm]]
name = "access"
side = "access"
listen = ["udp:192.0.2.1:5060"]
[[ssc.realm]]
name = "core"
side = "core"
trusted = true
listen = ["udp:192.0.2.2:5060"]
[[ssc.next_hop]]
name = "callee"
realm = "core"
targets = ["udp:192.0.2.9:5080"]
[[ssc.route]]
from = "access"
to = ["callee"]
"#;

/// A session controller of the pair.
struct Node {
    name: &'static str,
    /// The gateway that it tracks, on the host outside.
    gateway: String,
    host: Host,
    running: Option<Child>,
}

impl Node {
    fn new(scene: &Scene, name: &'static str, [own, other]: [&str; 2]) -> Self {
        let host = scene.host(name, &[&format!("192.0.2.1{own}/24")], &[]);
        scene.router.ip(&["link", "set", "dev", name, "master", "segment"]).unwrap();
        let text = NODE.replace("NAME", name).replace("OWN", own).replace("OTHER", other);
        let text = text.replace("PRIORITY", if name == "a" { "9" } else { "1" });
        fs::write(scene.folder.path().join(format!("{name}.toml")), text).unwrap();
        let folder = scene.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let key = folder.join("pair.key");
        fs::write(&key, "a key of a test, which is no secret").unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        Self { name, gateway: format!("192.0.2.8{own}/24"), host, running: None }
    }

    fn ip(&self, words: &[&str]) {
        self.host.namespace.ip(words).unwrap();
    }

    fn inside(&self, scene: &Scene, words: &[&str]) -> Command {
        let command = scene.inside(words);
        let mut inside = Command::new(command.get_program());
        let place = self.host.namespace.name();
        inside.args(["netns", "exec", place]).args(command.get_args().skip(3));
        inside.stdin(Stdio::null()).current_dir(scene.folder.path());
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
            inside.env_remove(name);
        }
        inside
    }

    fn file(&self, scene: &Scene) -> String {
        scene.folder.path().join(format!("{}.toml", self.name)).display().to_string()
    }

    fn start(&mut self, scene: &Scene) {
        let log = fs::File::create(scene.folder.path().join(format!("{}.log", self.name))).unwrap();
        let mut command = self.inside(scene, &["run", &self.file(scene)]);
        self.running = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        self.rows(scene, &["wait"]);
    }

    fn rows(&self, scene: &Scene, asked: &[&str]) -> Vec<Value> {
        let file = self.file(scene);
        let head = ["ctl", "--timeout", "60", "--site", &file, "--output", "json"];
        let output = self.inside(scene, &[&head[..], asked].concat()).output().unwrap();
        let said = words(&output.stdout);
        assert!(output.status.success(), "{said}{}{}", words(&output.stderr), scene.logs());
        serde_json::from_str(&said).unwrap_or_default()
    }

    fn row(&self, scene: &Scene) -> Value {
        self.rows(scene, &["replica"]).swap_remove(0)
    }

    /// What it tracks that is not good.
    fn failed(&self, scene: &Scene) -> Vec<String> {
        let rows = self.rows(scene, &["track"]);
        assert_eq!(rows.len(), 2, "{rows:?}");
        let bad = rows.iter().filter(|row| row["good"] == false);
        bad.map(|row| row["target"].as_str().unwrap().to_owned()).collect()
    }

    fn has_alarm(&self, scene: &Scene) -> bool {
        self.rows(scene, &["alarms"]).iter().any(|row| row["name"] == "replica-unfit")
    }

    /// It serves, and the other one follows and is fit, as this one is.
    fn serves(&self, scene: &Scene) -> bool {
        let row = self.row(scene);
        ["fit", "peer_fit", "synced"].iter().all(|it| row[it] == true) && row["role"] == "active"
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.running.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn awaited(scene: &Scene, what: &str, mut look: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !look() {
        assert!(Instant::now() < until, "{what}: {}", scene.logs());
        thread::sleep(Duration::from_millis(50));
    }
}

/// Who is called: answers everything with 200.
struct Callee(Arc<AtomicBool>);

impl Callee {
    fn start() -> Self {
        let socket = UdpSocket::bind("192.0.2.9:5080").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while !ends.load(Relaxed) {
                let Ok((octets, from)) = socket.recv_from(&mut buffer) else { continue };
                let text = words(&buffer[..octets]);
                if !text.starts_with("ACK ") && !text.starts_with("SIP/2.0 ") {
                    let _ = socket.send_to(answer(&text).as_bytes(), from);
                }
            }
        });
        Self(is_over)
    }
}

impl Drop for Callee {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A call, as its caller sees it.
struct Call {
    socket: UdpSocket,
    id: &'static str,
    cseq: u32,
    /// Tag and address of the far end.
    dialog: Option<(String, String)>,
}

impl Call {
    fn new(socket: &UdpSocket, id: &'static str) -> Self {
        Self { socket: socket.try_clone().unwrap(), id, cseq: 0, dialog: None }
    }

    fn request(&self, method: &str, body: &str) -> String {
        let Self { id, cseq, .. } = self;
        let (tag, target) = self.dialog.clone().map_or_else(
            || (String::new(), "sip:bob@192.0.2.1".to_owned()),
            |(tag, target)| (format!(";tag={tag}"), target),
        );
        let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
        format!(
            "{method} {target} SIP/2.0\r\n\
             Via: SIP/2.0/UDP 192.0.2.9:5070;branch=z9hG4bK{id}{method}{cseq}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:alice@192.0.2.9>;tag=a\r\n\
             To: <sip:bob@192.0.2.1>{tag}\r\nCall-ID: {id}\r\nCSeq: {cseq} {method}\r\n\
             Contact: <sip:alice@192.0.2.9:5070>\r\n{kind}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Sends a request again and again until it is answered with 200; the answer.
    fn asks(&mut self, scene: &Scene, method: &str, body: &str) -> String {
        self.cseq += 1;
        let text = self.request(method, body);
        let wanted = format!("{} {method}", self.cseq);
        let (end, mut buffer) = (Instant::now() + LONG, vec![0; 65_536]);
        let mut last = String::new();
        while Instant::now() < end {
            let _ = self.socket.send_to(text.as_bytes(), "192.0.2.1:5060");
            let pause = Instant::now() + Duration::from_millis(500);
            while Instant::now() < pause {
                let Ok((octets, _)) = self.socket.recv_from(&mut buffer) else { continue };
                let said = words(&buffer[..octets]);
                let is_of_it = value(&said, "CSeq") == wanted && value(&said, "Call-ID") == self.id;
                if is_of_it && said.starts_with("SIP/2.0 200") {
                    return said;
                }
                last = said;
            }
        }
        panic!("{method} has no answer: {last} {}", scene.logs());
    }

    fn begins(mut self, scene: &Scene) -> Self {
        let answer = self.asks(scene, "INVITE", SDP);
        let target = value(&answer, "Contact").split(['<', '>']).nth(1).expect("an address");
        let (_, tag) = value(&answer, "To").split_once(";tag=").expect("it has a tag");
        self.dialog = Some((tag.to_owned(), target.to_owned()));
        self.socket.send_to(self.request("ACK", "").as_bytes(), "192.0.2.1:5060").unwrap();
        self
    }
}

#[test]
fn what_a_node_tracks_fails_while_the_link_of_the_pair_lives_and_its_calls_go_on_at_the_other() {
    let mut scene = Scene::new();
    scene.router.ip(&["link", "add", "name", "segment", "type", "bridge"]).unwrap();
    scene.router.ip(&["link", "set", "dev", "segment", "up"]).unwrap();
    let outside = scene.host("h", &["192.0.2.9/24", "192.0.2.81/24", "192.0.2.82/24"], &[]);
    scene.router.ip(&["link", "set", "dev", "h", "master", "segment"]).unwrap();
    let mut nodes = [Node::new(&scene, "a", ["1", "2"]), Node::new(&scene, "b", ["2", "1"])];
    let place = nodes[1].host.namespace.name().to_owned();
    nodes[0].ip(&["link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns", &place]);
    for (node, address) in nodes.iter().zip(["198.51.100.1/24", "198.51.100.2/24"]) {
        node.ip(&["address", "add", address, "dev", "eth1"]);
        node.ip(&["link", "set", "eth1", "up"]);
    }
    nodes.iter_mut().for_each(|node| node.start(&scene));
    let [a, b] = &mut nodes;
    awaited(&scene, "nobody serves", || a.serves(&scene) || b.serves(&scene));
    let (one, other) = if a.serves(&scene) { (a, b) } else { (b, a) };

    attack::enter(outside.namespace.name()).unwrap();
    let _callee = Callee::start();
    let socket = UdpSocket::bind("192.0.2.9:5070").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut call = Call::new(&socket, "stands").begins(&scene);
    assert!(one.failed(&scene).is_empty() && !one.has_alarm(&scene));

    // Its gateway answers no more.
    outside.namespace.ip(&["address", "delete", &one.gateway, "dev", "eth0"]).unwrap();
    awaited(&scene, "the gateway moves it", || other.row(&scene)["role"] == "active");
    assert_eq!(one.row(&scene)["role"], "standby");
    let gateway = one.gateway.trim_end_matches("/24");
    assert_eq!(one.failed(&scene), [gateway]);
    awaited(&scene, "it says so", || one.has_alarm(&scene));
    assert!(!other.has_alarm(&scene));
    assert_eq!(other.row(&scene)["peer_fit"], false);
    call.asks(&scene, "UPDATE", "");
    let mut second = Call::new(&socket, "second").begins(&scene);

    // It comes back, and takes nothing back; then the other one's interface is taken down.
    outside.namespace.ip(&["address", "add", &one.gateway, "dev", "eth0"]).unwrap();
    awaited(&scene, "it is fit again", || other.serves(&scene));
    other.ip(&["link", "set", "eth0", "down"]);
    awaited(&scene, "the interface moves it", || one.row(&scene)["role"] == "active");
    assert!(other.failed(&scene).contains(&"eth0".to_owned()));
    call.asks(&scene, "BYE", "");
    second.asks(&scene, "UPDATE", "");

    // Where both lack something, who serves goes on.
    outside.namespace.ip(&["address", "delete", &one.gateway, "dev", "eth0"]).unwrap();
    awaited(&scene, "it hears of its gateway", || one.has_alarm(&scene));
    assert_eq!(one.row(&scene)["role"], "active");
    second.asks(&scene, "BYE", "");
    scene.control = one.running.take();
}
