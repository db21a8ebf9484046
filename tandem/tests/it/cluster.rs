//! A cluster of two signalling gateways as real processes, an ASP at each, an application at both:
//! one of them is killed amid its dialogues, and all of them go on.

mod instances;
mod members;
mod standing;
mod stp;

use crate::asp::{Asp, point_code};
use bytes::Bytes;
use m3ua::{In, Transfer};
use sccp::codec::{Address, Class, Form, Message, Unit, Word};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tcap::codec::{Code, MessageType, TransactionId, Writer};
use tcu::{Client, ClientEvent, Hello, Indication, Portion, Request, Spelling};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const LONG: Duration = Duration::from_secs(60);
const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];
/// Dialogues that stand when a node is killed.
const DIALOGUES: u32 = 200;

/// The section of a node that listens there; the nodes of its cluster, each with its port.
fn section(node: u8, tcp: u16, nodes: &[(u8, u16)]) -> String {
    let nodes = nodes
        .iter()
        .map(|(number, port)| format!("{{ number = {number}, address = \"127.0.0.1:{port}\" }}"));
    let nodes = nodes.collect::<Vec<_>>().join(", ");
    format!(
        r#"
[site]
name = "node{node}"
directory = "var"
[oam]
listen = "127.0.0.1:0"
[[sgc]]
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
tcp = {{ listen = ["127.0.0.1:{tcp}"] }}
peer = [{{ name = "a", role = "asp", transport = "tcp", addresses = ["127.0.0.1"] }}]
application_server = [
  {{ name = "one", peers = ["a"], routing_context = 1, destination = [{{ point_code = "1" }}] }},
]
subsystem = [{{ name = "hlr", number = 6, user = "tcap" }}]
application = [{{ name = "hlr", subsystem = "hlr", listen = ["unix:hlr.sock"] }}]
[sgc.cluster]
node = {node}
key_file = "cluster.key"
heartbeat_ms = 50
detect_ms = 600
rebalance_s = 1
nodes = [{nodes}]
"#
    )
}

fn spawn(folder: &Path) -> Child {
    let mut command = Command::new(TANDEM);
    command.args(["run", "site.toml"]).current_dir(folder).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// UDP ports of the loopback that nobody has just now.
fn free_udp<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    held.each_ref().map(|it| it.local_addr().unwrap().port())
}

/// TCP ports of it.
fn free_tcp<const N: usize>() -> [u16; N] {
    [(); N].map(|()| peers::free_port([127, 0, 0, 1].into()).unwrap().port())
}

/// A node of the cluster; killed when dropped.
struct Node {
    folder: tempfile::TempDir,
    child: Child,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Node {
    fn start(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let var = folder.path().join("var");
        std::fs::create_dir(&var).unwrap();
        let key = var.join("cluster.key");
        std::fs::write(&key, "0123456789abcdef0123456789abcdef\n").unwrap();
        std::fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        std::fs::write(folder.path().join("site.toml"), text).unwrap();
        let node = Self { child: spawn(folder.path()), folder };
        node.wait();
        node
    }

    fn wait(&self) {
        let waited = self.ctl(&["wait"]);
        assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    }

    /// Another configuration, by a commit.
    fn commit(&self, text: &str) {
        let file = self.folder.path().join("next.toml");
        std::fs::write(&file, text).unwrap();
        for words in [&["config", "load", file.to_str().unwrap()][..], &["config", "commit"]] {
            let done = self.ctl(words);
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// It was killed, and comes back.
    fn revive(&mut self) {
        self.child = spawn(self.folder.path());
        self.wait();
    }

    fn ctl(&self, words: &[&str]) -> Output {
        let mut command = Command::new(TANDEM);
        for name in ["TANDEM_URL", "TANDEM_TOKEN", "TANDEM_SITE", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        let file = self.folder.path().join("site.toml");
        command.args(["ctl", "--site", file.to_str().unwrap(), "--timeout", "60"]);
        command.args(words).stdin(Stdio::null()).output().unwrap()
    }

    /// Waits until what a command shows is as it should be.
    fn until(&self, words: &[&str], holds: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + LONG;
        loop {
            let output = self.ctl(&[&["-o", "json"], words].concat());
            let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let rows = rows.as_array().cloned().unwrap_or_default();
            if holds(&rows) {
                return rows;
            }
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(Instant::now() < end, "{words:?}: {rows:?} {said}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A counter, as it is now.
    fn count(&self, name: &str) -> u64 {
        let output = self.ctl(&["-o", "json", "counters", "--all", "--name", name]);
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let is_it = |row: &&Value| row["name"] == name;
        let row = rows.as_array().into_iter().flatten().find(is_it);
        row.and_then(|it| it["value"].as_u64()).unwrap_or_else(|| panic!("{name}: {rows}"))
    }

    /// Waits until it serves so many partitions, each with its standby if there is another node.
    fn serves(&self, count: usize, is_followed: bool) {
        self.until(&["cluster", "partitions"], |rows| {
            let here = || rows.iter().filter(|it| it["here"] == true);
            let followed =
                || here().all(|it| it["standbys"].as_array().is_some_and(|it| it.len() == 1));
            here().count() == count && (!is_followed || followed())
        });
    }

    /// An instance of the application: it goes on with what begins, and ends what goes on.
    fn application(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.path().join("var/hlr.sock")).unwrap();
        let mut own = stream.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut client = Client::new(Hello::new("hlr", "", "one"), Spelling::Tagged, None);
            let (mut octets, mut out) = (vec![0; 65_536], client.greeting());
            while own.write_all(&out).is_ok() {
                let Ok(length @ 1..) = own.read(&mut octets) else { return };
                let mut wants = Vec::new();
                let mut told = |event| wants.extend(answer(event));
                out = client.received(&octets[..length], &mut told).unwrap();
                wants.iter().for_each(|it| client.write(it, &mut out));
            }
        });
        self.until(&["applications", "stp", "--instances"], |rows| {
            rows.iter().any(|it| it["state"] == "ready")
        });
        stream
    }
}

fn answer(event: ClientEvent) -> Option<Request> {
    let portion = Portion::default();
    match event {
        ClientEvent::Indication(Indication::Begin { dialogue, .. }) => {
            Some(Request::Continue { dialogue, state: None, portion })
        }
        ClientEvent::Indication(Indication::Continue { dialogue, .. }) => {
            Some(Request::End { dialogue, is_prearranged: false, portion })
        }
        _ => None,
    }
}

fn send(asp: &mut Asp, message: &[u8]) {
    let unit = Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: true, returns: true }),
        hops: 0,
        called: Address::subsystem(None, 6),
        calling: Address::subsystem(Some(point_code(1)), 8),
        segmentation: None,
        importance: None,
        data: message,
    };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc, payload) = (point_code(1), point_code(9), Bytes::from(payload));
    asp.tell(In::Transfer(Transfer {
        network: None,
        opc,
        dpc,
        si: 3,
        ni: 2,
        mp: 0,
        sls: 5,
        payload,
    }));
}

fn begin(asp: &mut Asp, number: u32) {
    let mut message = Vec::new();
    Writer::begin(TransactionId::of(number))
        .request(CONTEXT, &[])
        .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&[0x30, 0])));
    send(asp, &message);
}

fn go_on(asp: &mut Asp, number: u32, to: TransactionId) {
    let mut message = Vec::new();
    Writer::go_on(TransactionId::of(number), to).write(&mut message, |out| {
        out.invoke(2, None, Code::Local(45), Some(&[0x30, 0]));
    });
    send(asp, &message);
}

/// What came, by the numbers of dialogues: its kind, and the transaction at the gateway.
fn came(asps: &mut [Asp]) -> BTreeMap<u32, (MessageType, Option<TransactionId>)> {
    let mut all = BTreeMap::new();
    for msu in asps.iter_mut().flat_map(|it| core::mem::take(&mut it.came)) {
        let message = Message::read(&msu.payload).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        if let (Word::Data(_), Ok(it)) = (unit.word, tcap::codec::Message::read(unit.data)) {
            let number = it.dtid.and_then(TransactionId::number).unwrap();
            assert!(all.insert(number, (it.kind, it.otid)).is_none(), "{number} twice");
        }
    }
    all
}

#[test]
fn a_node_that_is_killed_costs_none_of_the_dialogues_that_stand() {
    let [first, second] = free_udp();
    let nodes = [(1, first), (2, second)];
    let tcp = free_tcp::<2>();
    let first = Node::start(&section(1, tcp[0], &nodes));
    let second = Node::start(&section(2, tcp[1], &nodes));
    first.serves(24, true);
    second.serves(24, true);
    let _instances = [first.application(), second.application()];
    let mut asps = tcp.map(Asp::connect);

    for number in 0..DIALOGUES {
        begin(&mut asps[number as usize % 2], number);
    }
    let half = (DIALOGUES / 2) as usize;
    asps.iter_mut().for_each(|it| it.wait("CONTINUE", |it| it.came.len() >= half));
    let standing: BTreeMap<u32, TransactionId> = came(&mut asps)
        .into_iter()
        .map(|(number, (kind, here))| {
            assert_eq!(kind, MessageType::Continue, "{number}");
            (number, here.unwrap())
        })
        .collect();
    assert_eq!(standing.len(), DIALOGUES as usize);
    let identifiers: std::collections::BTreeSet<_> =
        standing.values().map(|it| it.number()).collect();
    assert_eq!(identifiers.len(), standing.len(), "none has two owners");

    // Each goes on by the other node, which has it or passes it on.
    for number in 0..20 {
        go_on(&mut asps[1 - number as usize % 2], number, standing[&number]);
    }
    asps.iter_mut().for_each(|it| it.wait("END", |it| it.came.len() >= 10));
    assert!(came(&mut asps).values().all(|it| it.0 == MessageType::End));
    // Those that were served elsewhere have crossed; nothing was lost, nor sealed by nobody.
    let crossed = first.count("sgc_cluster_crossed_total");
    assert!(crossed + second.count("sgc_cluster_crossed_total") > 0);
    assert_eq!(second.count("sgc_cluster_came_total"), crossed);
    for name in ["sgc_cluster_unserved_total", "sgc_cluster_lost_total", "cluster_forged_total"] {
        assert_eq!([first.count(name), second.count(name)], [0, 0], "{name}");
    }

    let killed = Instant::now();
    // Nothing had failed until now: what was only starting has raised no alarm.
    for node in [&first, &second] {
        let raised = node.until(&["alarms", "--history"], |_| true);
        let raised = raised.iter().filter(|it| it["severity"] != "warning");
        let raised: Vec<_> = raised.map(|it| (&it["name"], &it["text"])).collect();
        assert!(raised.iter().all(|it| !it.0.to_string().contains("cluster-")), "{raised:?}");
    }
    drop(first);
    second.serves(48, false);
    eprintln!("all partitions are served, and were asked for, after {:?}", killed.elapsed());
    let alarms = second.until(&["alarms"], |rows| {
        ["cluster-node-lost", "cluster-no-standby", "cluster-partition-moved"]
            .iter()
            .all(|name| rows.iter().any(|it| it["name"] == *name))
    });
    assert!(alarms.iter().all(|it| it["name"] != "cluster-partition-unserved"), "{alarms:?}");
    let left = DIALOGUES as usize - 20;
    for number in 20..DIALOGUES {
        go_on(&mut asps[1], number, standing[&number]);
    }
    asps[1].wait("END of all that stand", |it| it.came.len() >= left);
    let ended = came(&mut asps[1..]);
    assert!(ended.values().all(|it| it.0 == MessageType::End), "{ended:?}");
    assert_eq!(ended.len(), left);

    // New ones begin in all partitions, and have identifiers that the dead node never gave.
    for number in 1_000..1_100 {
        begin(&mut asps[1], number);
    }
    asps[1].wait("CONTINUE of new ones", |it| it.came.len() >= 100);
    for (number, (kind, here)) in came(&mut asps[1..]) {
        assert_eq!(kind, MessageType::Continue, "{number}");
        assert!(!identifiers.contains(&here.unwrap().number()), "{number}");
    }
}
