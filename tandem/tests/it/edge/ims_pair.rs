//! Two session controllers as a pair, each in a namespace of its own, with phones of IMS and a home
//! network on one segment: whichever process is killed, a phone's call and its registration go on
//! at the other one by the same associations.

use super::{Host, LONG, Scene, words};
use handset::{Carrier, Config, Event, Handset, Home, Packet, Sockets, State, Subscriber};
use machine::Time;
use secagree::{Mode, Preference};
use serde_json::Value;
use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
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
[ssc.registrar]
enabled = true
[ssc.shield]
trusted = ["192.0.2.0/24"]
[ssc.replica]
node = "NAME"
listen = "192.0.2.1OWN:5999"
peer = "192.0.2.1OTHER:5999"
priority = PRIORITY
key_file = "pair.key"
addresses = ["192.0.2.1/24@eth0", "192.0.2.2/24@eth0"]
[[ssc.realm]]
name = "access"
side = "access"
listen = ["udp:192.0.2.1:5060"]
register_required = true
[ssc.realm.ipsec]
sets_max = 1000
[[ssc.realm]]
name = "core"
side = "core"
trusted = true
listen = ["udp:192.0.2.2:5060"]
[[ssc.next_hop]]
name = "scscf"
realm = "core"
targets = ["udp:192.0.2.9:5080"]
[[ssc.route]]
from = "access"
to = ["scscf"]
"#;

pub(super) const SDP: &str = "v=0\r\no=- 1 1 IN IP4 192.0.2.100\r\ns=-\r\n\
    c=IN IP4 192.0.2.100\r\nt=0 0\r\nm=audio 6000 RTP/AVP 0\r\n";

/// A session controller of the pair.
struct Node {
    name: &'static str,
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
        Self { name, host, running: None }
    }

    fn inside(&self, scene: &Scene, words: &[&str]) -> Command {
        let command = scene.inside(words);
        let place = self.host.namespace.name();
        let mut inside = Command::new(command.get_program());
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
        let log = scene.folder.path().join(format!("{}.log", self.name));
        let log = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = self.inside(scene, &["run", &self.file(scene)]);
        self.running = Some(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        self.ctl(scene, &["wait"]);
    }

    fn ctl(&self, scene: &Scene, arguments: &[&str]) -> String {
        let mut command =
            self.inside(scene, &["ctl", "--timeout", "60", "--site", &self.file(scene)]);
        let output = command.args(arguments).output().unwrap();
        let said = words(&output.stdout);
        assert!(output.status.success(), "{said}{}{}", words(&output.stderr), scene.logs());
        said
    }

    fn rows(&self, scene: &Scene, words: &[&str]) -> Vec<Value> {
        let said = self.ctl(scene, &[&["--output", "json"], words].concat());
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// Whether it serves, or follows and has everything.
    fn is(&self, scene: &Scene, role: &str) -> bool {
        let rows = self.rows(scene, &["replica"]);
        rows[0]["role"] == role && (role == "active" || rows[0]["synced"] == true)
    }

    fn kill(&mut self) {
        let mut child = self.running.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Private identities, states and indices of the agreements that it shows.
    fn agreements(&self, scene: &Scene) -> Vec<String> {
        let rows = self.rows(scene, &["ipsec", "sbc"]);
        let row = |row: &Value| {
            ["impi", "state", "ue", "algorithms", "spi_in", "spi_out", "own_ports"]
                .map(|name| row[name].to_string())
                .join(" ")
        };
        rows.iter().map(row).collect()
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

/// The core: a home network, and who answers calls. Its thread is where the test's is.
struct Core {
    socket: Arc<UdpSocket>,
    home: Arc<Mutex<Home>>,
    is_over: Arc<AtomicBool>,
}

impl Core {
    fn start(subscribers: Vec<Subscriber>) -> Self {
        let socket = UdpSocket::bind("192.0.2.9:5080").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let core = Self {
            socket: Arc::new(socket),
            home: Arc::new(Mutex::new(Home::new(subscribers, 5))),
            is_over: Arc::new(AtomicBool::new(false)),
        };
        let (socket, home, is_over) =
            (core.socket.clone(), core.home.clone(), core.is_over.clone());
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while !is_over.load(Relaxed) {
                let Ok((octets, from)) = socket.recv_from(&mut buffer) else { continue };
                let text = words(&buffer[..octets]);
                let answer = match text.split(' ').next() {
                    Some("INVITE") => Some(answer(&text).into_bytes()),
                    _ => home.lock().unwrap().receive(Time::ZERO, from, &buffer[..octets]),
                };
                if let Some(answer) = answer {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        core
    }

    fn accepted(&self) -> u64 {
        self.home.lock().unwrap().counts().accepted
    }

    /// Asks a phone something.
    fn asks(&self, impi: &str, number: u32) {
        let contact = self.home.lock().unwrap().contact(impi).expect("registered").to_vec();
        let contact = words(&contact);
        let uri = contact.split(['<', '>']).nth(1).expect("an address");
        let text = format!(
            "MESSAGE {uri} SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.9:5080;branch=z9hG4bKo{number}\r\n\
             Max-Forwards: 70\r\nFrom: <sip:core@x>;tag=1\r\nTo: <{uri}>\r\n\
             Call-ID: o{number}\r\nCSeq: 1 MESSAGE\r\nContent-Length: 0\r\n\r\n"
        );
        self.socket.send_to(text.as_bytes(), "192.0.2.2:5060").unwrap();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

/// What whoever is called answers.
pub(super) fn answer(request: &str) -> String {
    let mut text = "SIP/2.0 200 OK\r\n".to_owned();
    for line in request.lines().take_while(|line| !line.is_empty()) {
        let name = line.split(':').next().unwrap_or_default();
        if ["Via", "From", "To", "Call-ID", "CSeq", "Record-Route"].contains(&name) {
            text += line;
            text += if name == "To" && !line.contains(";tag=") { ";tag=b\r\n" } else { "\r\n" };
        }
    }
    let octets = SDP.len();
    format!(
        "{text}Contact: <sip:bob@192.0.2.9:5080>\r\nContent-Type: application/sdp\r\n\
         Content-Length: {octets}\r\n\r\n{SDP}"
    )
}

pub(super) fn value<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_default()
}

/// A phone, and the dialog of its call.
struct Phone {
    handset: Handset,
    sockets: Sockets,
    began: Instant,
    came: Vec<String>,
    /// Messages that left in the clear.
    clear: usize,
    dialog: Option<(String, String)>,
}

impl Phone {
    fn new(number: u64, address: IpAddr, mode: Mode) -> Self {
        let config = Config {
            subscriber: Subscriber::number(number),
            address,
            clear_port: 5_060,
            server_port: 6_100,
            client_port: 6_200,
            pcscf: SocketAddr::from(([192, 0, 2, 1], 5_060)),
            preference: Preference { modes: vec![mode], ..Preference::usual() },
            expires_s: 600,
            seed: number,
            number: u32::try_from(number).unwrap_or_default(),
        };
        Self {
            sockets: Sockets::open(&config).expect("raw sockets need CAP_NET_RAW"),
            handset: Handset::new(config),
            began: Instant::now(),
            came: Vec::new(),
            clear: 0,
            dialog: None,
        }
    }

    fn leave(&mut self, packets: &[Packet]) {
        self.clear += packets.iter().filter(|it| it.carrier == Carrier::Clear).count();
        self.sockets.send(packets);
    }

    fn act(&mut self, act: impl FnOnce(&mut Handset, Time, &mut Vec<Packet>)) {
        let (now, mut out) = (Time::ZERO + self.began.elapsed(), Vec::new());
        act(&mut self.handset, now, &mut out);
        self.leave(&out);
    }

    fn turn(&mut self) {
        let (mut came, mut out) = (Vec::new(), Vec::new());
        self.sockets.receive(&mut came).expect("the sockets stand");
        let now = Time::ZERO + self.began.elapsed();
        came.iter().for_each(|packet| self.handset.receive(now, packet, &mut out));
        self.handset.tick(now, &mut out);
        self.leave(&out);
        while let Some(event) = self.handset.event() {
            let Event::Came(bytes) = event else { continue };
            let text = words(&bytes);
            if !text.starts_with("SIP/2.0 ") {
                self.act(|handset, _, out| handset.answer(&bytes, 200, b"", out));
            }
            self.came.push(text);
        }
    }

    /// Runs until something holds of it.
    fn until(&mut self, scene: &Scene, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + LONG;
        while !holds(self) {
            assert!(Instant::now() < end, "{what}: {:?} {}", self.handset.state(), scene.logs());
            self.turn();
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn request(&self, method: &str, cseq: u32, body: &str) -> String {
        let (contact, impu) = (self.handset.contact(), &self.handset.config().subscriber.impu);
        let (tag, target) = self.dialog.clone().map_or_else(
            || (String::new(), "sip:bob@ims.example.org".to_owned()),
            |(tag, target)| (format!(";tag={tag}"), target),
        );
        let kind = if body.is_empty() { "" } else { "Content-Type: application/sdp\r\n" };
        format!(
            "{method} {target} SIP/2.0\r\n\
             Via: SIP/2.0/UDP {contact};branch=z9hG4bK{method}{cseq}\r\n\
             Max-Forwards: 70\r\nFrom: <{impu}>;tag=p\r\nTo: <sip:bob@ims.example.org>{tag}\r\n\
             Call-ID: call-{contact}\r\nCSeq: {cseq} {method}\r\nContact: <sip:p@{contact}>\r\n\
             {kind}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Sends a request again and again until it is answered with 200; the answer.
    fn asks(&mut self, scene: &Scene, method: &str, cseq: u32, body: &str) -> String {
        let text = self.request(method, cseq, body);
        let is_answer = |it: &&String| {
            it.starts_with("SIP/2.0 200") && value(it, "CSeq") == format!("{cseq} {method}")
        };
        let end = Instant::now() + LONG;
        loop {
            assert!(
                Instant::now() < end,
                "{method} has no answer: {:?} {}",
                self.came,
                scene.logs()
            );
            self.act(|handset, _, out| handset.send(text.as_bytes(), out));
            let pause = Instant::now() + Duration::from_millis(500);
            while Instant::now() < pause {
                self.turn();
                if let Some(answer) = self.came.iter().find(is_answer) {
                    return answer.clone();
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn calls(&mut self, scene: &Scene) {
        let answer = self.asks(scene, "INVITE", 1, SDP);
        let target = value(&answer, "Contact").split(['<', '>']).nth(1).expect("an address");
        let (_, tag) = value(&answer, "To").split_once(";tag=").expect("it has a tag");
        self.dialog = Some((tag.to_owned(), target.to_owned()));
        let ack = self.request("ACK", 1, "");
        self.act(|handset, _, out| handset.send(ack.as_bytes(), out));
    }
}

#[test]
fn phones_go_on_by_their_associations_at_the_other_node_whichever_is_killed() {
    let mut scene = Scene::new();
    scene.router.ip(&["link", "add", "name", "segment", "type", "bridge"]).unwrap();
    scene.router.ip(&["link", "set", "dev", "segment", "up"]).unwrap();
    let addresses = ["192.0.2.9/24", "192.0.2.101/24", "192.0.2.102/24"];
    let outside = scene.host("h", &addresses, &[]);
    scene.router.ip(&["link", "set", "dev", "h", "master", "segment"]).unwrap();
    let mut nodes = [Node::new(&scene, "a", ["1", "2"]), Node::new(&scene, "b", ["2", "1"])];
    nodes.iter_mut().for_each(|node| node.start(&scene));
    let [a, b] = &mut nodes;
    awaited(&scene, "nobody serves", || a.is(&scene, "active") || b.is(&scene, "active"));
    let (one, other) = if a.is(&scene, "active") { (a, b) } else { (b, a) };
    awaited(&scene, "the other one follows", || other.is(&scene, "standby"));

    attack::enter(outside.namespace.name()).unwrap();
    let core = Core::start((1..=2).map(Subscriber::number).collect());
    let mut phones: Vec<Phone> = (1..=2)
        .map(|number| {
            let address = IpAddr::from([192, 0, 2, 100 + number as u8]);
            Phone::new(number, address, Mode::Transport)
        })
        .collect();
    for phone in &mut phones {
        phone.act(Handset::register);
        phone.until(&scene, "it registers", |it| it.handset.state() == State::Registered);
        phone.calls(&scene);
    }
    let clear: Vec<usize> = phones.iter().map(|it| it.clear).collect();
    let stood = one.agreements(&scene);
    assert_eq!(stood.len(), 2, "{stood:?}");
    awaited(&scene, "the standby has them", || other.agreements(&scene) == stood);

    one.kill();
    for (number, phone) in (1..).zip(&mut phones) {
        phone.asks(&scene, "UPDATE", 2, "");
        let impi = phone.handset.config().subscriber.impi.clone();
        core.asks(&impi, number);
        phone.until(&scene, "the core reaches it", |it| {
            it.came.iter().any(|text| text.starts_with("MESSAGE "))
        });
    }
    assert!(other.is(&scene, "active"));
    assert_eq!(other.agreements(&scene), stood, "the same associations");

    // It comes back, follows, and serves again by a planned change.
    one.start(&scene);
    awaited(&scene, "it follows", || one.is(&scene, "standby"));
    assert_eq!(one.agreements(&scene), stood);
    other.ctl(&scene, &["switchover", "sbc"]);
    awaited(&scene, "it serves again", || one.is(&scene, "active"));
    for phone in &mut phones {
        phone.asks(&scene, "BYE", 3, "");
    }
    assert_eq!(core.accepted(), 2, "no phone has registered again");
    assert_eq!(phones.iter().map(|it| it.clear).collect::<Vec<_>>(), clear);
    scene.control = other.running.take();
}
