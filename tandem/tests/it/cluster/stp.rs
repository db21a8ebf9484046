//! osmo-stp, in a guest with a kernel of its own, between a cluster of two and a node beyond it, by
//! SCTP: a node is killed amid its dialogues, its guardian aborts its association, and they all go
//! on by the other one.

use super::instances::Instances;
use super::{LONG, Node, free_udp};
use m3ua::codec::PointCode;
use peers::{GUEST_CONTROL, Guest, HOST_CONTROL, Talk};
use sccp::codec::Address;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Dialogues of each side that stand.
const EACH: usize = 20;
const HLR: u8 = 6;
/// The port of osmo-stp, and the guest's for SCTP in UDP.
const STP: u16 = 2_905;
const UDP: u16 = 9_899;
/// Point codes of the cluster and of the node beyond, and routing contexts.
const CLUSTER: u32 = 3;
const FAR: u32 = 4;

/// The address of a node on the way to the guest: 1 and 2, and 3 beyond.
fn address(node: u8) -> Ipv4Addr {
    let [a, b, c, _] = HOST_CONTROL.octets();
    Ipv4Addr::new(a, b, c, 100 + node)
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn section(node: u8, own: u32, cluster: &str) -> String {
    let (address, context) = (address(node), own * 100);
    format!(
        r#"
[site]
name = "node{node}"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[sgc]]
name = "node"
point_code_format = "decimal"
point_codes = ["{own}"]
timers = {{ reconnect_ms = 200 }}
application_server = [
  {{ name = "own", served_by = "here", peers = ["stp"], routing_context = {context},
    traffic_mode = "loadshare", destination = [{{ point_code = "{own}" }}] }},
]
subsystem = [{{ name = "hlr", number = {HLR}, user = "tcap" }}]
application = [{{ name = "hlr", subsystem = "hlr", listen = ["unix:hlr.sock"] }}]
[sgc.sctp]
addresses = ["{address}"]
encapsulation_port = {UDP}
[[sgc.peer]]
name = "stp"
role = "sgp"
addresses = ["{GUEST_CONTROL}"]
port = {STP}
encapsulation_port = {UDP}
connect = true
{cluster}
"#
    )
}

/// osmo-stp with an Application Server for the cluster, of which each node is an ASP, and one for
/// the node beyond.
fn start(guest: &Guest) -> Talk {
    let asp = |node: u8| {
        format!(
            " asp node{node} 2905 {STP} m3ua\n  local-ip {GUEST_CONTROL}\n  remote-ip {}\n  \
             role sg\n  sctp-role server\n",
            address(node)
        )
    };
    let server = |name: &str, own: u32, asps: &str| {
        let mode = "  traffic-mode loadshare\n";
        format!(" as {name} m3ua\n{asps}  routing-key {} 0.0.{own}\n{mode}", own * 100)
    };
    let route = |name: &str, own: u32| format!("  update route 0.0.{own} 7.255.7 linkset {name}\n");
    let text = format!(
        "line vty\n bind 127.0.0.1\ncs7 instance 0\n{}{}{}{}{} route-table system\n{}{} \
         listen m3ua {STP}\n  local-ip {GUEST_CONTROL}\n",
        asp(1),
        asp(2),
        asp(3),
        server("cluster", CLUSTER, "  asp node1\n  asp node2\n"),
        server("far", FAR, "  asp node3\n"),
        route("cluster", CLUSTER),
        route("far", FAR),
    );
    guest.run(&format!("echo {UDP} >/proc/sys/net/sctp/udp_port")).unwrap();
    guest.run(&format!("cat >/tmp/stp.cfg <<'END'\n{text}\nEND")).unwrap();
    guest.talk("osmo-stp -c /tmp/stp.cfg").unwrap()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn ask(of: &Instances, at: usize, to: u32) {
    of.ask(at, "updateLocation", Address::subsystem(PointCode::new(to), HLR));
}

fn is_active(node: &Node) {
    node.until(&["m3ua", "asps", "node"], |rows| rows.iter().any(|it| it["state"] == "active"));
}

fn goes_on(guest: &Guest) {
    guest.enter().unwrap();
    (1..=3).for_each(|node| {
        run("ip", &["address", "add", &format!("{}/24", address(node)), "dev", "control"]);
    });
    let _stp = start(guest);
    let [first, second, vote] = free_udp();
    let arbiter = Node::start(&format!(
        "[site]\nname = \"vote\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
         [arbiter]\nlisten = \"127.0.0.1:{vote}\"\n"
    ));
    let cluster = |node: u8| {
        format!(
            "[sgc.cluster]\nnode = {node}\nheartbeat_ms = 50\ndetect_ms = 600\n\
             arbiter = \"127.0.0.1:{vote}\"\nnodes = [\n\
             {{ number = 1, address = \"127.0.0.1:{first}\" }},\n\
             {{ number = 2, address = \"127.0.0.1:{second}\" }},\n]\n"
        )
    };
    let node = |number: u8| Node::start(&section(number, CLUSTER, &cluster(number)));
    let mut nodes = [node(1), node(2)];
    let far = Node::start(&section(3, FAR, ""));
    let (here, there) = (Instances::new("hlr"), Instances::new("hlr"));
    nodes.iter().for_each(|it| it.serves(24, true));
    nodes.iter().chain([&far]).for_each(is_active);
    (0..2).for_each(|at| here.connect(at, nodes[at].folder.path()));
    there.connect(0, far.folder.path());
    for node in nodes.iter().chain([&far]) {
        node.until(&["applications", "node", "--instances"], |rows| {
            rows.iter().any(|it| it["state"] == "ready")
        });
    }

    // Each side has heard something in each dialogue of its own that it has not answered.
    here.hold();
    there.hold();
    for number in 0..EACH {
        ask(&here, number % 2, FAR);
        ask(&there, 0, CLUSTER);
    }
    until("all stand", || here.held() + there.held() == 2 * EACH);
    nodes[0].kill();
    far.until(&["m3ua", "asps", "node"], |rows| rows.iter().any(|it| it["state"] == "active"));
    nodes[1].serves(48, false);
    // The guardian has told osmo-stp long since.
    here.release();
    there.release();
    let (mut here, mut there) = (here, there);
    let end = Instant::now() + LONG;
    while (here.count("result updateLocation"), there.count("result updateLocation"))
        != (EACH, EACH)
    {
        let (a, b) = (here.lines().to_vec(), there.lines().to_vec());
        assert!(Instant::now() < end, "{a:#?} {b:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(arbiter);
}

#[test]
fn through_osmo_stp_the_dialogues_of_a_killed_node_go_on_by_the_other_one() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stp");
    std::fs::create_dir_all(&directory).unwrap();
    let guest = Guest::boot(&directory.join("packages"), &directory).unwrap();
    // What it starts is in the namespace of the guest's wires; the other tests are not.
    std::thread::scope(|scope| scope.spawn(|| goes_on(&guest)).join()).unwrap();
}
