//! Labels, classes and frames of provider edges, with tshark as the witness of what is on the
//! wire.

use super::{Host, LONG, Scene, TWO_HOSTS, lan, two_edges, two_hosts, words};
use attack::Namespace;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What passes a device of the routers; ended when dropped.
pub struct Capture {
    child: Child,
    file: PathBuf,
}

impl Capture {
    /// Captures what the device receives from now on: what ports send passes no tap.
    pub fn start(scene: &Scene, device: &str) -> Self {
        Self::inside(scene, &scene.router, device)
    }

    /// As [`Capture::start`], in a namespace.
    pub fn inside(scene: &Scene, namespace: &Namespace, device: &str) -> Self {
        let file = scene.folder.path().join(format!("{}-{device}.pcapng", namespace.name()));
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace.name(), "dumpcap", "-i", device, "-w"]);
        command.arg(&file).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(said.any(|line| line.is_ok_and(|line| line.starts_with("File:"))), "it captures");
        // It goes on to speak of packets; nobody listens.
        thread::spawn(move || said.count());
        Self { child, file }
    }

    /// Waits until the filter holds of a frame, and says what `fields` are there.
    pub fn sees(&self, decode: &[&str], filter: &str, fields: &[&str]) -> Vec<String> {
        let until = Instant::now() + LONG;
        let mut said = String::new();
        while Instant::now() < until {
            let mut command = Command::new("tshark");
            command.args(["-n", "-T", "fields", "-Y", filter]).args(decode).arg("-r");
            command.arg(&self.file);
            fields.iter().for_each(|field| {
                command.args(["-e", field]);
            });
            let output = command.output().unwrap();
            // The last frame of a file that is being written may be cut.
            if let Some(line) = words(&output.stdout).lines().next() {
                return line.split('\t').map(str::to_owned).collect();
            }
            said = words(&output.stderr);
            thread::sleep(Duration::from_millis(200));
        }
        panic!("no frame with {filter}: {said}");
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_pseudowire_has_a_control_word_and_a_flow_label_until_a_commit_takes_them_away() {
    let mut scene = Scene::new();
    let (a, _b) = lan(&scene);
    let side = |port: &str, label_in: u32, gateway: &str, (label, more): (u32, &str)| {
        format!(
            "[[pe.interface]]\nname = \"{port}\"\n[[pe.cross_connect]]\nname = \"wire\"\n\
             interface = \"{port}\"\npseudowire = {{ label_in = {label_in}, {more}\
             via = {{ gateway = \"{gateway}\", labels = [{label}] }} }}\n"
        )
    };
    let text = |more: &str| {
        let one = side("a", 100, "192.0.2.2", (200, more));
        two_edges([&one, &side("b", 200, "192.0.2.1", (100, more))])
    };
    let capture = Capture::start(&scene, "two");
    scene.start(&text("control_word = true, flow_label = true, "));
    a.reaches("10.5.0.2");
    // Label, traffic class, bottom of the stack, time to live of both; then the control word.
    let labels = ["mpls.label", "mpls.bottom", "mpls.ttl", "frame.len"];
    let found = capture.sees(&[], "mpls.label == 200 && frame.len == 124", &labels);
    let flow = found[0].strip_prefix("200,").expect("the flow's label is inside").to_owned();
    assert_eq!(found[1..3], ["0,1", "255,1"]);
    let with_word = format!("mpls.label=={flow},pwethcw");
    let inside = "mpls.label == 200 && icmp.type == 8 && ip.dst == 10.5.0.2 && pweth.cw";
    let found = capture.sees(&["-d", &with_word], inside, &["pweth.cw.sequence_number"]);
    assert_eq!(found, ["0"]);
    scene.change(&text(""));
    a.reaches("10.5.0.2");
    let bare = "mpls.label == 200 && mpls.bottom == 1 && frame.len == 116 && icmp.type == 8";
    let found = capture.sees(&["-d", "mpls.label==200,pwethnocw"], bare, &["mpls.label"]);
    assert_eq!(found, ["200"]);
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn a_uniform_tunnel_shows_its_hops_and_an_entropy_label_its_flow() {
    let mut scene = Scene::new();
    scene.wire("one", "two");
    let a = scene.host("a", &["10.1.0.2/24"], &["10.1.0.1"]);
    let b = scene.host("b", &["10.2.0.2/24"], &["10.2.0.1"]);
    let side = |port: &str, own: u32, (core, gateway, other): (&str, &str, u32)| {
        format!(
            "[[pe.vrf]]\nname = \"red\"\nlabel = {own}00\ntunnel = \"uniform\"\n\
             [[pe.interface]]\nname = \"{port}\"\nvrf = \"red\"\n\
             addresses = [\"10.{own}.0.1/24\"]\n[[pe.route]]\nvrf = \"red\"\n\
             prefix = \"10.{other}.0.0/24\"\nvia = [{{ gateway = \"{gateway}\", \
             interface = \"{core}\", labels = [{other}00], tunnel = \"uniform\", \
             entropy = true }}]\n"
        )
    };
    let one = side("a", 1, ("one", "192.0.2.2", 2));
    let two = side("b", 2, ("two", "192.0.2.1", 1));
    let (capture, back) = (Capture::start(&scene, "two"), Capture::start(&scene, "one"));
    scene.start(&two_edges([&one, &two]));
    a.reaches("10.2.0.2");
    let there = "mpls.label == 200 && icmp.type == 8";
    let found = capture.sees(&[], there, &["mpls.label", "mpls.ttl"]);
    let labels: Vec<&str> = found[0].split(',').collect();
    assert_eq!((labels[0], labels[1], labels.len()), ("200", "7", 3), "indicator, then the flow");
    assert!(found[1].starts_with("63,"), "the packet's own time to live: {found:?}");
    let back = back.sees(&[], "mpls.label == 100 && icmp.type == 0", &["mpls.ttl"]);
    assert!(back[0].starts_with("63,"), "{back:?}");
    let (_, said) = b.ping(&["-c", "1"], "10.1.0.2");
    assert!(said.contains("ttl=62"), "each edge took one off: {said}");
    let (_, said) = a.ping(&["-c", "1", "-t", "2"], "10.2.0.2");
    assert!(said.contains("exceeded"), "the far edge is a hop: {said}");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

/// Waits until a command of a host says something (or does not any more).
fn says(host: &Host, command: &[&str], wanted: &str, is_said: bool) {
    let until = Instant::now() + LONG;
    let mut said = String::new();
    while Instant::now() < until {
        said = words(&host.run(command).stdout);
        if said.contains(wanted) == is_said {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("`{wanted}` of {command:?}, wanted {is_said}: {said}");
}

#[test]
fn code_points_change_by_class_and_samples_reach_their_collector() {
    let mut scene = Scene::new();
    let (a, b) = two_hosts(&scene);
    let capture = Capture::inside(&scene, &b.namespace, "eth0");
    let marking = "[[pe.marking]]\nname = \"edge\"\ndscp_in = [{ dscp = [10], class = 5 }]\n\
                   dscp_out = [{ class = [5], dscp = 46 }]\n";
    let text = TWO_HOSTS
        .replace("name = \"a\"\naddresses", "name = \"a\"\nmarking = \"edge\"\naddresses")
        .replace("name = \"b\"\naddresses", "name = \"b\"\nmarking = \"edge\"\naddresses")
        + marking;
    scene.start(&text);
    a.reaches("10.2.0.2");
    a.ping(&["-c", "1", "-Q", "0x28"], "10.2.0.2");
    capture.sees(&[], "icmp.type == 8 && ip.dsfield.dscp == 46", &["frame.number"]);
    let sampled = text.replace("marking = \"edge\"\n", "marking = \"edge\"\nsample_one_in = 1\n")
        + "[pe.collector]\naddress = \"10.2.0.2\"\n";
    scene.change(&sampled.replace("dscp = 46", "dscp = 34"));
    a.ping(&["-c", "1", "-Q", "0x28"], "10.2.0.2");
    capture.sees(&[], "icmp.type == 8 && ip.dsfield.dscp == 34", &["frame.number"]);
    let (_, said) = a.ping(&["-c", "30"], "10.2.0.2");
    assert!(said.contains(" 0% packet loss"), "{said}");
    let records = "cflow.template_id == 259 && ip.src == 10.1.0.1";
    capture.sees(&["-d", "udp.port==4739,cflow"], records, &["frame.number"]);
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn hosts_of_a_bridge_reach_others_by_its_routed_side_and_make_their_addresses_of_its_prefix() {
    let mut scene = Scene::new();
    let a = scene.host("a", &["10.5.0.1/24"], &["10.5.0.254"]);
    let c = scene.host("c", &["10.5.0.3/24"], &["10.5.0.254"]);
    let b = scene.host("b", &["10.2.0.2/24", "2001:db8:2::2/64"], &["10.2.0.1", "2001:db8:2::1"]);
    let port = |name: &str| format!("[[pe.port]]\nname = \"{name}\"\ndriver = \"af_packet\"\n");
    let advertise = "advertise = { interval_s = 4, preference = \"high\" }\n";
    let text = "[[pe]]\nname = \"pe1\"\n".to_owned()
        + &["a", "b", "c"].map(port).concat()
        + "[[pe.interface]]\nname = \"a\"\n[[pe.interface]]\nname = \"c\"\n\
           [[pe.interface]]\nname = \"b\"\naddresses = [\"10.2.0.1/24\", \"2001:db8:2::1/64\"]\n\
           [[pe.bridge]]\nname = \"lan\"\ninterfaces = [\"a\", \"c\"]\n\
           [[pe.interface]]\nname = \"irb\"\nbridge = \"lan\"\nmac = \"02:00:00:00:05:fe\"\n\
           addresses = [\"10.5.0.254/24\", \"2001:db8:5::fe/64\"]\n"
        + advertise;
    scene.start(&text);
    a.reaches("10.5.0.3");
    a.reaches("10.5.0.254");
    a.reaches("10.2.0.2");
    b.reaches("10.5.0.3");
    let (_, said) = c.ping(&["-c", "1", "-t", "1"], "10.2.0.2");
    assert!(said.contains("From 10.5.0.254") && said.contains("exceeded"), "{said}");
    let addresses = ["ip", "-6", "address", "show", "dev", "eth0", "scope", "global"];
    let routes = ["ip", "-6", "route", "show", "default"];
    for host in [&a, &c] {
        says(host, &addresses, "2001:db8:5:0:", true);
        says(host, &routes, "via fe80::ff:fe00:5fe dev eth0 proto ra", true);
        says(host, &routes, "pref high", true);
        host.reaches("2001:db8:2::2");
    }
    scene.change(&text.replace(advertise, ""));
    says(&a, &routes, "via fe80", false);
    a.reaches("2001:db8:5::fe");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn an_address_that_moves_too_often_and_one_too_many_are_told_and_raise_alarms() {
    let mut scene = Scene::new();
    let a = scene.host("a", &["10.5.0.1/24"], &[]);
    let c = scene.host("c", &["10.5.0.3/24"], &[]);
    let port = |name: &str, more: &str| {
        format!(
            "[[pe.port]]\nname = \"{name}\"\ndriver = \"af_packet\"\n\
             [[pe.interface]]\nname = \"{name}\"\n{more}"
        )
    };
    let text = "[[pe]]\nname = \"pe1\"\n".to_owned()
        + &port("a", "")
        + &port("c", "macs_max = 1\n")
        + "[[pe.bridge]]\nname = \"lan\"\ninterfaces = [\"a\", \"c\"]\nmoves_max = 2\n";
    scene.start(&text);
    a.reaches("10.5.0.3");
    let told = |event: &str, at: &str| {
        let events = scene.rows(&["plane", "events"]);
        events.iter().any(|it| it["event"] == event && it["at"] == at && it["bridge"] == "lan")
    };
    let alarmed = |name: &str| {
        let alarms = scene.rows(&["alarms"]);
        alarms.iter().any(|it| it["name"] == name && it["subject"] == "lan")
    };
    let until = |what: &dyn Fn() -> bool, act: &dyn Fn()| {
        let until = Instant::now() + 2 * LONG;
        while !what() {
            assert!(Instant::now() < until, "{:?}", scene.rows(&["plane", "events"]));
            act();
            thread::sleep(Duration::from_millis(300));
        }
    };
    c.namespace.ip(&["link", "set", "eth0", "address", "02:00:00:00:77:01"]).unwrap();
    until(&|| told("the member is full", "c") && alarmed("mac-limit"), &|| {
        c.ping(&["-c", "1", "-W", "1"], "10.5.0.99");
    });
    // Two hosts with one address: it is where it was heard last, until it moved too often.
    scene.change(&text.replace("macs_max = 1\n", ""));
    a.namespace.ip(&["link", "set", "eth0", "address", "02:00:00:00:77:01"]).unwrap();
    until(&|| told("frozen", "a") || told("frozen", "c"), &|| {
        a.ping(&["-c", "1", "-W", "1"], "10.5.0.98");
        c.ping(&["-c", "1", "-W", "1"], "10.5.0.99");
    });
    assert!(told("moved", "a") || told("moved", "c"));
    until(&|| alarmed("mac-frozen"), &|| {});
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn filters_of_frames_drop_by_ethertype_until_a_commit_lets_them_pass() {
    let mut scene = Scene::new();
    let a = scene.host("a", &["10.5.0.1/24", "2001:db8:5::1/64"], &[]);
    let _b = scene.host("b", &["10.5.0.2/24", "2001:db8:5::2/64"], &[]);
    let text = |denied: &str| {
        format!(
            "[[pe]]\nname = \"pe1\"\nport = [{{ name = \"a\", driver = \"af_packet\" }}, \
             {{ name = \"b\", driver = \"af_packet\" }}]\n\
             [[pe.interface]]\nname = \"a\"\nfilter_in = [\"frames\"]\n\
             [[pe.interface]]\nname = \"b\"\n\
             [[pe.bridge]]\nname = \"lan\"\ninterfaces = [\"a\", \"b\"]\n\
             [[pe.filter]]\nname = \"frames\"\nethernet = true\n\
             rule = [{{ action = \"deny\", ethertypes = [\"{denied}\"] }}, \
             {{ action = \"permit\" }}]\n"
        )
    };
    scene.start(&text("ipv4"));
    a.reaches("2001:db8:5::2");
    let (reached, said) = a.ping(&["-c", "2", "-W", "1"], "10.5.0.2");
    assert!(!reached, "{said}");
    scene.change(&text("0x88cc"));
    a.reaches("10.5.0.2");
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}

#[test]
fn packets_that_a_filter_redirects_reach_another_than_their_destination() {
    let mut scene = Scene::new();
    let (a, _b) = two_hosts(&scene);
    let c = scene.host("c", &["10.3.0.2/24"], &["10.3.0.1"]);
    let capture = Capture::inside(&scene, &c.namespace, "eth0");
    let text = TWO_HOSTS.to_owned()
        + "[[pe.port]]\nname = \"c\"\ndriver = \"af_packet\"\n\
           [[pe.interface]]\nname = \"c\"\naddresses = [\"10.3.0.1/24\"]\n";
    scene.start(&text);
    a.reaches("10.2.0.2");
    a.reaches("10.3.0.2");
    let aside = text
        .replace("name = \"a\"\naddresses", "name = \"a\"\nfilter_in = [\"aside\"]\naddresses")
        + "[[pe.filter]]\nname = \"aside\"\nrule = [\
           { action = \"redirect\", via = { gateway = \"10.3.0.2\" }, protocol = \"icmp\", \
           destination = \"10.2.0.0/24\" }, { action = \"permit\" }]\n";
    scene.change(&aside);
    a.ping(&["-c", "3", "-W", "1"], "10.2.0.2");
    capture.sees(&[], "icmp.type == 8 && ip.dst == 10.2.0.2 && ip.ttl == 63", &["frame.number"]);
    assert_eq!(scene.refusals(), Vec::<Value>::new());
}
