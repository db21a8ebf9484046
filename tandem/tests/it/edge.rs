//! Provider edges as real processes between hosts of this machine's kernel, each in a namespace
//! of its own: what they route, bridge and cross-connect, and what outlives their control.

mod bfd;
mod bgp;
mod bundle;
mod customers;
mod digits;
mod fax;
mod igp;
mod ims_pair;
mod isis;
mod keyed;
mod ldp;
mod media;
mod pair;
mod phones;
mod repair;
mod services;
mod shared;
mod sipp;
mod tracked;
mod vpn;
mod web;

use attack::Namespace;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);
/// Tests of one process run side by side: each has namespaces and devices of its own.
static NEXT: AtomicU32 = AtomicU32::new(0);

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A host: a namespace with one interface, `eth0`, whose other end is a router's device.
struct Host {
    namespace: Namespace,
}

impl Host {
    fn run(&self, command: &[&str]) -> Output {
        let inside = ["netns", "exec", self.namespace.name()];
        Command::new("ip").args(inside).args(command).output().unwrap()
    }

    /// Sends echo requests and says how many were answered.
    fn ping(&self, more: &[&str], to: &str) -> (bool, String) {
        let command = [&["ping", "-n", "-i", "0.05", "-W", "10"], more, &[to]].concat();
        let output = self.run(&command);
        (output.status.success(), words(&output.stdout) + &words(&output.stderr))
    }

    /// Leaves nothing to hardware that a veth does not have, as docs/pe.md says: AF_PACKET gets
    /// packets that the kernel joined as they are, and XDP does not say that a checksum is
    /// unfinished. TSO goes with the checksums.
    fn sends_whole_packets(&self) {
        let said = self.run(&["ethtool", "-K", "eth0", "tx", "off"]);
        assert!(said.status.success(), "{}", words(&said.stderr));
    }

    fn reaches(&self, to: &str) {
        let until = Instant::now() + LONG;
        let mut said = String::new();
        while Instant::now() < until {
            let (reached, text) = self.ping(&["-c", "1", "-W", "1"], to);
            if reached {
                return;
            }
            said = text;
        }
        panic!("{to} is not reached: {said}");
    }
}

/// Routers in a namespace, and the hosts around them.
struct Scene {
    router: Namespace,
    folder: tempfile::TempDir,
    control: Option<Child>,
    number: u32,
}

impl Scene {
    fn new() -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        let router = Namespace::new(&format!("edge{number}")).unwrap();
        // What the kernel of the routers' namespace hears on their devices is none of its business.
        router.set("net.ipv6.conf.default.disable_ipv6", "1").unwrap();
        Self { router, folder: tempfile::tempdir().unwrap(), control: None, number }
    }

    /// A host on the router's device `device`, with addresses and gateways.
    fn host(&self, device: &str, addresses: &[&str], gateways: &[&str]) -> Host {
        let namespace = Namespace::new(&format!("{device}{}", self.number)).unwrap();
        let peer = ["peer", "name", "eth0", "netns", namespace.name()];
        let link = [&["link", "add", "name", device, "type", "veth"][..], &peer].concat();
        self.router.ip(&link).unwrap();
        self.router.ip(&["link", "set", "dev", device, "up"]).unwrap();
        namespace.set("net.ipv6.conf.eth0.accept_dad", "0").unwrap();
        namespace.ip(&["link", "set", "eth0", "up"]).unwrap();
        for address in addresses {
            namespace.ip(&["address", "add", address, "dev", "eth0", "nodad"]).unwrap();
        }
        for gateway in gateways {
            namespace.ip(&["route", "add", "default", "via", gateway]).unwrap();
        }
        Host { namespace }
    }

    /// A wire between two devices of the routers.
    fn wire(&self, one: &str, other: &str) {
        self.router
            .ip(&["link", "add", "name", one, "type", "veth", "peer", "name", other])
            .unwrap();
        self.router.ip(&["link", "set", "dev", one, "up"]).unwrap();
        self.router.ip(&["link", "set", "dev", other, "up"]).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("site.toml")
    }

    fn write(&self, routers: &str) {
        let text = format!(
            "[site]\nname = \"test\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
             {routers}"
        );
        std::fs::write(self.file(), text).unwrap();
    }

    /// Makes other routers of those that run.
    fn change(&self, routers: &str) {
        self.write(routers);
        let file = self.file().display().to_string();
        self.ctl(&["config", "set-file", &file]);
        self.ctl(&["config", "commit"]);
    }

    fn inside(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.router.name(), TANDEM]).args(arguments);
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    fn start(&mut self, routers: &str) {
        self.write(routers);
        self.start_again();
    }

    fn start_again(&mut self) {
        let log = std::fs::File::create(self.folder.path().join("tandem.log")).unwrap();
        let file = self.file().display().to_string();
        let mut command = self.inside(&["run", &file]);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.control = Some(command.spawn().unwrap());
        self.ctl(&["wait"]);
    }

    fn logs(&self) -> String {
        let mut text = String::new();
        let folders = [self.folder.path().to_owned(), self.folder.path().join("var")];
        for entry in folders.iter().flat_map(|it| std::fs::read_dir(it).into_iter().flatten()) {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "log") {
                text += &format!("== {}\n", path.display());
                text += &std::fs::read_to_string(&path).unwrap_or_default();
            }
        }
        text
    }

    fn ctl(&self, arguments: &[&str]) -> String {
        let file = self.file().display().to_string();
        let mut command = self.inside(&["ctl", "--timeout", "60", "--site", &file]);
        let output = command.args(arguments).output().unwrap();
        let said = words(&output.stdout);
        assert!(output.status.success(), "{said}{}{}", words(&output.stderr), self.logs());
        said
    }

    fn rows(&self, arguments: &[&str]) -> Vec<Value> {
        let said = self.ctl(&[&["--output", "json"], arguments].concat());
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// Ends the control as a crash would.
    fn kill(&mut self) {
        let mut child = self.control.take().unwrap();
        // `ip netns exec` becomes the program: the number is the control's.
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn refusals(&self) -> Vec<Value> {
        self.rows(&["plane", "refusals"])
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if self.control.is_none() && !thread::panicking() {
            self.start_again();
        }
        if let Some(mut child) = self.control.take() {
            // In order, so that the forwarders end as well.
            let term = Command::new("kill").arg(child.id().to_string()).status();
            assert!(term.is_ok());
            let until = Instant::now() + LONG;
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        if thread::panicking() {
            eprintln!("{}", self.logs());
        }
    }
}

const TWO_HOSTS: &str = r#"
[[pe]]
name = "pe1"
[[pe.port]]
name = "a"
driver = "af_packet"
[[pe.port]]
name = "b"
driver = "af_packet"
[[pe.interface]]
name = "a"
addresses = ["10.1.0.1/24", "2001:db8:1::1/64"]
[[pe.interface]]
name = "b"
addresses = ["10.2.0.1/24", "2001:db8:2::1/64"]
mtu = 1400
"#;

fn two_hosts(scene: &Scene) -> (Host, Host) {
    let a = ["10.1.0.2/24", "2001:db8:1::2/64"];
    let b = ["10.2.0.2/24", "2001:db8:2::2/64"];
    let a = scene.host("a", &a, &["10.1.0.1", "2001:db8:1::1"]);
    let b = scene.host("b", &b, &["10.2.0.1", "2001:db8:2::1"]);
    (a, b)
}

#[test]
fn two_hosts_reach_one_another_and_the_router_whatever_the_size() {
    let mut scene = Scene::new();
    let (a, b) = two_hosts(&scene);
    scene.start(TWO_HOSTS);
    for to in ["10.1.0.1", "10.2.0.1", "10.2.0.2", "2001:db8:1::1", "2001:db8:2::2"] {
        a.reaches(to);
    }
    b.reaches("10.1.0.2");
    let (reached, said) = a.ping(&["-c", "3", "-s", "1472", "-M", "dont"], "10.2.0.2");
    assert!(reached, "1,500 octets are cut for a link of 1,400: {said}");
    let (reached, said) = a.ping(&["-c", "3", "-s", "5000", "-M", "dont"], "10.2.0.2");
    assert!(reached, "fragments of the sender go through: {said}");
    let (reached, said) = a.ping(&["-c", "2", "-s", "1700", "-M", "dont"], "10.1.0.1");
    assert!(reached, "the router puts fragments for itself together: {said}");
    let (reached, said) = a.ping(&["-c", "1", "-s", "1472", "-M", "do"], "10.2.0.2");
    assert!(!reached && said.contains("1400"), "the sender hears of the link's 1,400: {said}");
    let (reached, said) = a.ping(&["-c", "3", "-s", "1452"], "2001:db8:2::2");
    assert!(reached || said.contains("1400"), "packet too big: {said}");
    let (_, said) = a.ping(&["-c", "1", "-t", "1"], "10.2.0.2");
    assert!(said.contains("From 10.1.0.1") && said.contains("exceeded"), "{said}");
    let (_, said) = a.ping(&["-c", "1", "-t", "1"], "2001:db8:2::2");
    assert!(said.contains("2001:db8:1::1") && said.contains("exceeded"), "{said}");
    let (_, said) = a.ping(&["-c", "1"], "10.99.0.1");
    assert!(said.contains("From 10.1.0.1") && said.contains("nreachable"), "{said}");
    let (_, said) = a.ping(&["-c", "1", "-W", "20"], "10.2.0.77");
    assert!(said.contains("nreachable"), "nobody is there: {said}");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

/// An iperf3 server for one client; ends with it.
struct Iperf(Child);

impl Iperf {
    fn start(host: &Host) -> Self {
        let command =
            ["netns", "exec", host.namespace.name(), "iperf3", "-s", "-1", "--forceflush"];
        let mut command = Command::new("ip").args(command).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(command.stdout.take().unwrap()).lines();
        let server = Self(command);
        let listens = lines.any(|line| line.unwrap().contains("Server listening"));
        assert!(listens, "iperf3 is installed (make setup)");
        // What it says later goes nowhere, but is read: it must not wait for us.
        thread::spawn(move || lines.for_each(drop));
        server
    }
}

impl Drop for Iperf {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn streams_of_iperf_and_steps_of_traceroute_go_through_the_router() {
    let mut scene = Scene::new();
    let (a, b) = two_hosts(&scene);
    scene.start(TWO_HOSTS);
    a.sends_whole_packets();
    b.sends_whole_packets();
    a.reaches("10.2.0.2");
    a.reaches("2001:db8:2::2");
    for (near, far) in [("10.1.0.1", "10.2.0.2"), ("2001:db8:1::1", "2001:db8:2::2")] {
        let steps = a.run(&["traceroute", "-n", "-q", "1", "-N", "1", "-m", "4", far]);
        let steps = words(&steps.stdout);
        let hops: Vec<&str> =
            steps.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(hops, [near, far], "{steps}");
        for more in [&[][..], &["-R"], &["-u", "-b", "5M", "-l", "1200"]] {
            let _server = Iperf::start(&b);
            let client = a.run(&[&["iperf3", "-J", "-t", "1", "-c", far], more].concat());
            let said: Value = serde_json::from_slice(&client.stdout).unwrap();
            let end = &said["end"];
            let sum = end.get("sum_received").or_else(|| end.get("sum")).unwrap_or(end);
            assert!(sum["bytes"].as_u64() > Some(100_000), "{more:?}: {said}");
        }
    }
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn forwarding_goes_on_without_its_control_and_the_next_one_takes_over() {
    let mut scene = Scene::new();
    let (a, b) = two_hosts(&scene);
    scene.start(TWO_HOSTS);
    a.reaches("10.2.0.2");
    b.reaches("10.1.0.2");
    let name = a.namespace.name().to_owned();
    let flood = thread::spawn(move || {
        let command = ["netns", "exec", &name, "ping", "-n", "-i", "0.01", "-c", "600", "10.2.0.2"];
        words(&Command::new("ip").args(command).output().unwrap().stdout)
    });
    thread::sleep(Duration::from_millis(500));
    scene.kill();
    thread::sleep(Duration::from_millis(500));
    scene.start_again();
    let text = TWO_HOSTS.to_owned()
        + "[[pe.route]]\nprefix = \"10.9.0.0/16\"\nvia = [{ gateway = \"10.2.0.2\" }]\n";
    scene.change(&text);
    let said = flood.join().unwrap();
    assert!(said.contains("600 received, 0% packet loss"), "{said}");
    b.namespace.ip(&["address", "add", "10.9.0.1/32", "dev", "lo"]).unwrap();
    a.reaches("10.9.0.1");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn a_port_whose_device_is_not_there_says_why_it_was_refused() {
    let mut scene = Scene::new();
    scene.start(
        "[[pe]]\nname = \"pe1\"\n[[pe.port]]\nname = \"left\"\ndriver = \"af_packet\"\n\
         device = \"no-such\"\n",
    );
    let end = Instant::now() + LONG;
    loop {
        let ports = scene.rows(&["plane", "ports"]);
        let note = ports.first().and_then(|row| row["note"].as_str()).unwrap_or_default();
        if note.starts_with("refused: no-such: ") {
            return;
        }
        assert!(Instant::now() < end, "{ports:?}\n{}", scene.logs());
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_operator_sees_nodes_drops_ports_and_the_way_of_a_packet() {
    let mut scene = Scene::new();
    let (a, _b) = two_hosts(&scene);
    scene.start(TWO_HOSTS);
    a.reaches("10.2.0.2");
    scene.ctl(&[
        "plane",
        "trace",
        "pe1",
        "--packets",
        "1",
        "--port",
        "a",
        "--containing",
        "0a020002",
    ]);
    a.reaches("10.2.0.2");
    let steps = scene.rows(&["plane", "traced"]);
    let nodes: Vec<&str> = steps.iter().filter_map(|step| step["node"].as_str()).collect();
    assert_eq!((nodes.first(), nodes.last()), (Some(&"ethernet-input"), Some(&"interface-output")));
    let (_, _) = a.ping(&["-c", "1"], "10.99.0.1");
    let graph = scene.rows(&["plane", "graph"]);
    let dropped: Vec<&Value> = graph.iter().map(|node| &node["dropped"]).collect();
    assert!(graph.iter().any(|node| node["packets"].as_u64() > Some(0)), "{graph:?}");
    assert!(dropped.iter().any(|it| it.as_object().is_some_and(|it| !it.is_empty())), "{graph:?}");
    let ports = scene.rows(&["plane", "ports"]);
    assert!(ports.iter().all(|port| port["up"] == true && port["sent"].as_u64() > Some(0)));
    // Nobody has that address: what waited for its answer is told, and where.
    let (reached, _) = a.ping(&["-c", "1"], "10.2.0.99");
    let lost = scene.rows(&["plane", "drops"]);
    let is_it = |it: &&Value| it["reason"] == "held for its neighbour, which did not answer";
    let it = lost.iter().find(is_it).unwrap_or_else(|| panic!("{lost:?}"));
    assert_eq!((reached, &it["interface"], &it["packets"]), (false, &"b".into(), &1.into()));
    assert!(lost.iter().all(|it| it["reason"] != "arp heard"), "{lost:?}");
}

#[test]
fn the_first_packets_by_a_new_way_are_held_and_arrive() {
    let mut scene = Scene::new();
    let (a, b) = two_hosts(&scene);
    scene.start(TWO_HOSTS);
    a.reaches("10.2.0.2");
    // Another address of it, of which the forwarder knows no MAC address.
    b.namespace.ip(&["address", "add", "10.2.0.77/24", "dev", "eth0"]).unwrap();
    let (_, said) = a.ping(&["-i", "0.01", "-c", "20"], "10.2.0.77");
    assert!(said.contains("20 received, 0% packet loss"), "{said}");
}

const TAGGED: &str = r#"
[[pe]]
name = "pe1"
port = [{ name = "a", driver = "af_packet" }, { name = "b", driver = "af_packet" }]
[[pe.interface]]
name = "a7"
port = "a"
vlan = 7
addresses = ["10.7.0.1/24"]
[[pe.interface]]
name = "b89"
port = "b"
vlan = 8
inner_vlan = 9
addresses = ["10.8.0.1/24"]
[[pe.neighbour]]
interface = "a7"
address = "10.7.0.2"
mac = "02:00:00:00:07:02"
[[pe.neighbour]]
interface = "b89"
address = "10.8.0.2"
mac = "02:00:00:00:08:02"
"#;

/// Sends each of these frames of scapy's five times by `eth0`. One program sends all: scapy takes
/// seconds to begin.
const SEND: &str = "import sys\nfrom scapy.all import *\nfor frame in sys.argv[1:]:\n    \
    sendp(eval(frame), iface='eth0', count=5, inter=0.01, verbose=False)\n";

impl Host {
    fn send(&self, frames: &[&str]) {
        let said = self.run(&[&["/usr/bin/python3", "-c", SEND], frames].concat());
        assert!(said.status.success(), "scapy (make setup): {}", words(&said.stderr));
    }

    /// Sends a packet of IP to a MAC with each of these tags.
    fn send_tagged(&self, mac: &str, tags: &[&str], ip: &str) {
        let frame = |tags: &&str| format!("Ether(dst='{mac}')/{tags}{ip}");
        let frames: Vec<String> = tags.iter().map(frame).collect();
        self.send(&frames.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// What tshark says of the packets of a filter that come while `meanwhile` runs: these fields
    /// of each. As many as `wanted` are waited for.
    fn hears(
        &self,
        filter: &str,
        wanted: usize,
        fields: &[&str],
        meanwhile: impl FnOnce(),
    ) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = self.namespace.name();
        let path = file.path().display().to_string();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name, "tshark", "-q", "-i", "eth0", "-w", &path]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut capture = command.spawn().expect("tshark is installed (make setup)");
        let mut lines = BufReader::new(capture.stderr.take().unwrap()).lines();
        // It says so once the device is open.
        assert!(lines.any(|line| line.unwrap().contains("Capture started")));
        meanwhile();
        let read = || -> Vec<String> {
            let mut command = Command::new("tshark");
            command.args(["-n", "-o", "ip.check_checksum:TRUE", "-r", &path, "-Y", filter]);
            command.args(["-T", "fields"]);
            command.args(fields.iter().flat_map(|field| ["-e", field]));
            words(&command.output().unwrap().stdout).lines().map(str::to_owned).collect()
        };
        let until = Instant::now() + LONG / 4;
        while read().len() < wanted && Instant::now() < until {
            thread::sleep(Duration::from_millis(100));
        }
        // And what must not come.
        thread::sleep(Duration::from_millis(500));
        let end = Command::new("kill").args(["-INT", &capture.id().to_string()]).status();
        assert!(end.unwrap().success() && capture.wait().is_ok());
        read()
    }
}

/// Frames of scapy's at both ends, in the eyes of tshark: this kernel may know no VLANs.
#[test]
fn vlans_and_pairs_of_them_are_what_scapy_and_tshark_take_them_for() {
    let mut scene = Scene::new();
    let (a, b) = (scene.host("a", &[], &[]), scene.host("b", &[], &[]));
    for (host, mac) in [(&a, "02:00:00:00:07:02"), (&b, "02:00:00:00:08:02")] {
        host.namespace.ip(&["link", "set", "eth0", "address", mac]).unwrap();
    }
    scene.start(TAGGED);
    let until = Instant::now() + LONG;
    let is_up = |row: &&Value| row["up"] == true;
    let up = || scene.rows(&["plane", "ports"]).iter().filter(is_up).count();
    while up() < 2 && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
    let asks = "Ether(dst='ff:ff:ff:ff:ff:ff')/Dot1Q(vlan=7)\
         /ARP(hwsrc='02:00:00:00:07:02',psrc='10.7.0.2',pdst='10.7.0.1')";
    let fields = ["vlan.id", "arp.src.proto_ipv4"];
    let mut answers = Vec::new();
    while answers.is_empty() && Instant::now() < until {
        answers = a.hears("arp.opcode == 2", 1, &fields, || a.send(&[asks]));
    }
    assert!(!answers.is_empty() && answers.iter().all(|it| it == "7\t10.7.0.1"), "{answers:?}");
    let mac = |device: &str| {
        let path = format!("/sys/class/net/{device}/address");
        let inside = ["netns", "exec", scene.router.name(), "cat", &path];
        words(&Command::new("ip").args(inside).output().unwrap().stdout).trim().to_owned()
    };
    let fields =
        ["ieee8021ad.id", "ieee8021ad.priority", "vlan.id", "vlan.priority", "ip.ttl", "udp.port"];
    let fields = [&fields[..], &["ip.checksum.status", "_ws.malformed"]].concat();
    let heard = b.hears("udp", 5, &fields, || {
        let ip = "IP(src='10.7.0.2',dst='10.8.0.2')/UDP(sport=5,dport=4000)/'tagged'";
        // The last ones: nobody's VLAN, nobody's pair, and no tag at all.
        let tags =
            ["Dot1Q(vlan=7,prio=5)/", "Dot1Q(vlan=6,prio=5)/", "Dot1Q(vlan=7)/Dot1Q(vlan=9)/", ""];
        a.send_tagged(&mac("a"), &tags, ip);
    });
    // Priorities end with their link.
    assert_eq!(heard, ["8\t0\t9\t0\t63\t5,4000\t1\t"; 5]);
    let heard = a.hears("udp", 5, &fields, || {
        let ip = "IP(src='10.8.0.2',dst='10.7.0.2',ttl=9)/UDP(sport=6,dport=4001)/'tagged'";
        let outer = "Dot1AD(vlan=8,prio=3)/";
        let tags = ["Dot1Q(vlan=9)/", "Dot1Q(vlan=7)/", ""].map(|inner| format!("{outer}{inner}"));
        b.send_tagged(&mac("b"), &tags.each_ref().map(String::as_str), ip);
    });
    assert_eq!(heard, ["\t\t7\t0\t8\t6,4001\t1\t"; 5]);
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

/// Two edges and a wire between them; `ac` are the sides of the customers.
fn two_edges(services: [&str; 2]) -> String {
    let edge = |name: &str, customer: &str, core: &str, own: &str, rest: &str| {
        format!(
            "[[pe]]\nname = \"{name}\"\n\
             port = [{{ name = \"{customer}\", driver = \"af_packet\" }}, \
             {{ name = \"{core}\", driver = \"af_packet\", mtu = 1550 }}]\n\
             [[pe.interface]]\nname = \"{core}\"\naddresses = [\"{own}/24\"]\nmpls = true\n{rest}"
        )
    };
    edge("pe1", "a", "one", "192.0.2.1", services[0])
        + &edge("pe2", "b", "two", "192.0.2.2", services[1])
}

fn lan(scene: &Scene) -> (Host, Host) {
    scene.wire("one", "two");
    for device in ["one", "two"] {
        scene.router.ip(&["link", "set", "dev", device, "mtu", "1600"]).unwrap();
    }
    let a = scene.host("a", &["10.5.0.1/24", "2001:db8:5::1/64"], &[]);
    let b = scene.host("b", &["10.5.0.2/24", "2001:db8:5::2/64"], &[]);
    (a, b)
}

#[test]
fn a_cross_connect_carries_frames_between_two_edges_by_labels() {
    let mut scene = Scene::new();
    let (a, b) = lan(&scene);
    let side = |port: &str, label_in: u32, gateway: &str, label: u32| {
        format!(
            "[[pe.interface]]\nname = \"{port}\"\n[[pe.cross_connect]]\nname = \"wire\"\n\
             interface = \"{port}\"\npseudowire = {{ label_in = {label_in}, \
             via = {{ gateway = \"{gateway}\", labels = [{label}] }} }}\n"
        )
    };
    let services = [side("a", 100, "192.0.2.2", 200), side("b", 200, "192.0.2.1", 100)];
    scene.start(&two_edges([&services[0], &services[1]]));
    a.reaches("10.5.0.2");
    a.reaches("2001:db8:5::2");
    let (reached, said) = b.ping(&["-c", "2", "-s", "1472", "-M", "do"], "10.5.0.1");
    assert!(reached, "frames of full length go through: {said}");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn a_bridge_domain_spans_two_edges_and_learns() {
    let mut scene = Scene::new();
    let (a, b) = lan(&scene);
    let c = scene.host("c", &["10.5.0.3/24"], &[]);
    let side = |ports: &[&str], label_in: u32, gateway: &str, label: u32| {
        let interfaces: String =
            ports.iter().map(|port| format!("[[pe.interface]]\nname = \"{port}\"\n")).collect();
        let names: Vec<String> = ports.iter().map(|port| format!("\"{port}\"")).collect();
        format!(
            "{interfaces}[[pe.bridge]]\nname = \"lan\"\ninterfaces = [{}]\n\
             pseudowire = [{{ label_in = {label_in}, \
             via = {{ gateway = \"{gateway}\", labels = [{label}] }} }}]\n",
            names.join(", ")
        )
    };
    let more = "{ name = \"c\", driver = \"af_packet\" }, { name = \"one\"";
    let services = [side(&["a", "c"], 100, "192.0.2.2", 200), side(&["b"], 200, "192.0.2.1", 100)];
    let text = two_edges([&services[0], &services[1]]).replace("{ name = \"one\"", more);
    scene.start(&text);
    a.reaches("10.5.0.2");
    a.reaches("10.5.0.3");
    c.reaches("10.5.0.2");
    b.reaches("10.5.0.3");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn customers_with_the_same_addresses_do_not_meet_in_their_routing_tables() {
    let mut scene = Scene::new();
    scene.wire("one", "two");
    let a = scene.host("a", &["10.1.0.2/24"], &["10.1.0.1"]);
    let other = scene.host("c", &["10.1.0.2/24"], &["10.1.0.1"]);
    let b = scene.host("b", &["10.2.0.2/24"], &["10.2.0.1"]);
    let vrf = |name: &str, label: u32| format!("[[pe.vrf]]\nname = \"{name}\"\nlabel = {label}\n");
    let side = |port: &str, vrf: &str, own: &str, (to, gateway, label): (&str, &str, u32)| {
        format!(
            "[[pe.interface]]\nname = \"{port}\"\nvrf = \"{vrf}\"\naddresses = [\"{own}\"]\n\
             [[pe.route]]\nvrf = \"{vrf}\"\nprefix = \"{to}\"\n\
             via = [{{ gateway = \"{gateway}\", interface = \"CORE\", labels = [{label}] }}]\n"
        )
    };
    let there = ("10.2.0.0/24", "192.0.2.2", 200);
    let back = ("10.1.0.0/24", "192.0.2.1", 100);
    let blue = "[[pe.interface]]\nname = \"c\"\nvrf = \"blue\"\naddresses = [\"10.1.0.1/24\"]\n";
    let one = vrf("red", 100) + &vrf("blue", 101) + &side("a", "red", "10.1.0.1/24", there) + blue;
    let two = vrf("red", 200) + &side("b", "red", "10.2.0.1/24", back);
    let services = [one.replace("CORE", "one"), two.replace("CORE", "two")];
    let more = "{ name = \"c\", driver = \"af_packet\" }, { name = \"one\"";
    let text = two_edges([&services[0], &services[1]]).replace("{ name = \"one\"", more);
    scene.start(&text);
    a.reaches("10.2.0.2");
    b.reaches("10.1.0.2");
    other.reaches("10.1.0.1");
    let (reached, said) = other.ping(&["-c", "1"], "10.2.0.2");
    assert!(!reached && said.contains("nreachable"), "the blue table has no such route: {said}");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

/// A web server of this machine's Python in a namespace; killed when dropped.
struct Web(Child);

impl Web {
    fn start(namespace: &Namespace, folder: &std::path::Path, address: &str) -> Self {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace.name(), "python3", "-m", "http.server", "8000"]);
        command.args(["--bind", address, "--directory"]).arg(folder);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Fetches a file of `octets` and looks at every one of them.
fn fetches(host: &Host, url: &str, octets: &[u8]) {
    let until = Instant::now() + LONG;
    let mut said = String::new();
    while Instant::now() < until {
        let output = host.run(&["curl", "-sS", "--noproxy", "*", "--max-time", "60", url]);
        if output.status.success() {
            assert!(output.stdout == octets, "{} octets came", output.stdout.len());
            return;
        }
        said = words(&output.stderr);
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{url}: {said}");
}

#[test]
fn tcp_goes_through_every_kind_of_port_and_to_the_routers_own_address() {
    for driver in ["af_packet", "af_xdp"] {
        let mut scene = Scene::new();
        let (a, b) = two_hosts(&scene);
        a.sends_whole_packets();
        b.sends_whole_packets();
        let folder = tempfile::tempdir().unwrap();
        let octets: Vec<u8> =
            (0..3_000_000_u32).map(|n| ((n.wrapping_mul(n)) >> 7) as u8).collect();
        std::fs::write(folder.path().join("file"), &octets).unwrap();
        let host = "name = \"pe1\"\nhost = \"own0\"";
        let text = TWO_HOSTS.replace("name = \"pe1\"", host).replace("af_packet", driver);
        scene.start(&text);
        a.reaches("10.2.0.2");
        let _there = Web::start(&b.namespace, folder.path(), "10.2.0.2");
        fetches(&a, "http://10.2.0.2:8000/file", &octets);
        scene.router.ip(&["address", "add", "10.1.0.1/32", "dev", "own0"]).unwrap();
        scene.router.ip(&["route", "add", "default", "dev", "own0", "src", "10.1.0.1"]).unwrap();
        let _own = Web::start(&scene.router, folder.path(), "10.1.0.1");
        fetches(&b, "http://10.1.0.1:8000/file", &octets);
        assert_eq!(scene.refusals(), Vec::<Value>::new());
    }
}
