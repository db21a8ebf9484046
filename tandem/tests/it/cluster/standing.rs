//! jSS7 before clusters of two and three nodes, connecting and connected to: dialogues of MAP and
//! CAP that either side has begun stand while nodes are killed and partitions move, and jSS7 sees
//! none of them end. tshark reads all that passed.

use super::instances::Instances;
use super::{LONG, Node, free_tcp, free_udp};
use crate::jss7::sequence::{self, Seen};
use crate::jss7::wire;
use m3ua::codec::PointCode;
use peers::{Jss7, Jss7Spec};
use sccp::codec::Address;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Dialogues of each kind that stand.
const EACH: usize = 20;
const PARTITIONS: usize = 48;
const HLR: u8 = 6;
const SCF: u8 = 146;
const SRI_ANSWER: &str = "message sendRoutingInfoForSM_Response";
const USSD_ANSWER: &str = "message processUnstructuredSSRequest_Response";
const LOCATION_ANSWER: &str = "message updateLocation_Response";
const REPORT: &str = "message eventReportBCSM_Request";

fn section(node: usize, jss7: (bool, u16), cluster: &str) -> String {
    let (tcp, peer) = match jss7 {
        (true, port) => (format!("tcp = {{ listen = [\"127.0.0.1:{port}\"] }}"), String::new()),
        (false, port) => (String::new(), format!(", port = {port}, connect = true")),
    };
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
point_codes = ["3"]
timers = {{ reconnect_ms = 100 }}
{tcp}
peer = [
  {{ name = "far", role = "ipsp", transport = "tcp", addresses = ["127.0.0.1"]{peer} }},
]
application_server = [
  {{ name = "far", peers = ["far"], routing_context = 10, traffic_mode = "loadshare",
    destination = [{{ point_code = "4" }}] }},
]
subsystem = [
  {{ name = "hlr", number = {HLR}, user = "tcap" }},
  {{ name = "scf", number = {SCF}, user = "tcap" }},
]
application = [
  {{ name = "hlr", subsystem = "hlr", listen = ["unix:hlr.sock"] }},
  {{ name = "scf", subsystem = "scf", listen = ["unix:scf.sock"] }},
]
[sgc.cluster]
node = {node}
heartbeat_ms = 50
detect_ms = 600
rebalance_s = 1
{cluster}
"#
    )
}

/// jSS7, the nodes before it, and an application at all of them.
struct Site {
    nodes: Vec<Node>,
    jss7: Jss7,
    jss7_connects: bool,
    hlr: Instances,
    scf: Instances,
    _arbiter: Option<Node>,
}

impl Site {
    /// Two nodes have an arbiter, three a key.
    fn start<const N: usize>(jss7_connects: bool) -> Self {
        let udp = free_udp::<N>();
        let [vote] = free_udp();
        let nodes = (1..).zip(udp).map(|(number, port)| {
            format!("{{ number = {number}, address = \"127.0.0.1:{port}\" }}")
        });
        let nodes = nodes.collect::<Vec<_>>().join(", ");
        let more = match N {
            2 => format!("arbiter = \"127.0.0.1:{vote}\""),
            _ => "key_file = \"cluster.key\"".to_owned(),
        };
        let cluster = format!("{more}\nnodes = [{nodes}]");
        let arbiter = (N == 2).then(|| {
            Node::start(&format!(
                "[site]\nname = \"vote\"\ndirectory = \"var\"\n[oam]\nlisten = \"127.0.0.1:0\"\n\
                 [arbiter]\nlisten = \"127.0.0.1:{vote}\"\n"
            ))
        });
        let ports = free_tcp::<N>().to_vec();
        let spec = Jss7Spec { connects: jss7_connects, ports, own: 4, far: 3, context: 10 };
        let (ports, starting) = (spec.ports.clone(), std::thread::spawn(|| Jss7::start(spec)));
        let start = |(at, port): (usize, &u16)| {
            Node::start(&section(at + 1, (jss7_connects, *port), &cluster))
        };
        let nodes: Vec<Node> = ports.iter().enumerate().map(start).collect();
        let jss7 = starting.join().unwrap().unwrap();
        let (hlr, scf) = (Instances::new("hlr"), Instances::new("scf"));
        let site = Self { nodes, jss7, jss7_connects, hlr, scf, _arbiter: arbiter };
        site.nodes.iter().for_each(|it| it.serves(PARTITIONS / N, true));
        (0..N).for_each(|it| site.connect(it));
        site
    }

    /// A node has its instances and its association.
    fn connect(&self, at: usize) {
        let node = &self.nodes[at];
        self.hlr.connect(at, node.folder.path());
        self.scf.connect(at, node.folder.path());
        node.until(&["m3ua", "asps", "stp"], |rows| rows.iter().any(|it| it["state"] == "active"));
        node.until(&["applications", "stp", "--instances"], |rows| {
            rows.iter().filter(|it| it["state"] == "ready").count() == 2
        });
    }

    /// jSS7 says this so often.
    fn says(&mut self, what: &str, count: usize) {
        (0..count).for_each(|_| self.jss7.talk.say(what).unwrap());
    }

    /// Lines of jSS7 that begin so. None of them tells of a dialogue that has failed.
    fn told(&mut self, beginning: &str) -> usize {
        let known = ["message ", "begin ", "end", "ready", "up ", "down "];
        // An operation without a result was carried out if nothing came.
        let is_known = |it: &str| known.iter().any(|word| it.starts_with(word));
        let said = self.jss7.talk.heard();
        let strange = said.iter().find(|it| !is_known(it) && *it != "onInvokeTimeout");
        assert_eq!(strange, None);
        said.iter().filter(|it| it.starts_with(beginning)).count()
    }

    fn until(&mut self, what: &str, holds: impl Fn(&mut Self) -> bool) {
        let end = Instant::now() + LONG;
        while !holds(self) {
            assert!(Instant::now() < end, "{what}: {:#?}", self.seen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How often which line was said, by jSS7 and to the applications; what the nodes count.
    fn seen(&mut self) -> BTreeMap<String, usize> {
        let said = self.jss7.talk.heard().to_vec();
        let lines = said.iter().chain(self.hlr.lines()).chain(self.scf.lines());
        let mut seen = BTreeMap::new();
        for line in lines {
            let words: Vec<&str> = line.split(' ').take(2).collect();
            *seen.entry(words.join(" ")).or_default() += 1;
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let output = node.ctl(&["counters", "--all", "--name", "cluster_"]);
            seen.insert(format!("{at}: {}", String::from_utf8_lossy(&output.stdout)), 0);
        }
        seen
    }

    fn ask(&self, at: usize, operation: &str) {
        let subsystem = if operation == "initialDP" { SCF } else { HLR };
        let called = Address::subsystem(PointCode::new(4), subsystem);
        let of = if subsystem == SCF { &self.scf } else { &self.hlr };
        of.ask(at, operation, called);
    }

    /// Dialogues of each kind stand: what each side was told last waits for its answer.
    fn stand(&mut self, has_locations: bool) {
        self.hlr.hold();
        self.scf.hold();
        let count = self.nodes.len();
        for at in 0..EACH {
            self.ask(at % count, "initialDP");
            if has_locations {
                self.ask(at % count, "updateLocation");
                self.says("location", 1);
            }
        }
        let locations = if has_locations { 2 * EACH } else { 0 };
        self.until("what we hold", |it| (it.hlr.held(), it.scf.held()) == (locations, EACH));
        self.says("hold", 1);
        self.says("ussd", EACH);
        self.says("call", EACH);
        self.until("what jSS7 holds", |it| {
            it.told("message unstructuredSSRequest_Request") == EACH
                && it.told("message continue_Request") == EACH
        });
        let dialogues = |it: &Node| -> u64 {
            let rows = it.until(&["cluster", "partitions"], |rows| !rows.is_empty());
            rows.iter()
                .filter(|it| it["here"] == true)
                .filter_map(|it| it["dialogues"].as_u64())
                .sum()
        };
        let all: Vec<u64> = self.nodes.iter().map(dialogues).collect();
        let stand = 3 * EACH + locations;
        assert_eq!(all.iter().sum::<u64>(), stand as u64, "{all:?}");
        assert!(all.iter().all(|it| *it > 0), "{all:?}");
    }

    /// A node is killed, and jSS7 knows that its association is no more.
    fn kill(&mut self, at: usize) {
        let downs = self.told(&format!("down far{at}"));
        self.nodes[at].kill();
        self.until("its end", |it| it.told(&format!("down far{at}")) > downs);
        // A little later it sends nothing there any more.
        std::thread::sleep(Duration::from_millis(500));
    }

    /// All partitions are served by those that run, each with its standby.
    fn settles(&self, running: &[usize]) {
        let end = Instant::now() + LONG;
        loop {
            let here = |at: &usize| {
                let rows = self.nodes[*at].until(&["cluster", "partitions"], |it| !it.is_empty());
                let here = rows.into_iter().filter(|it| it["here"] == true);
                let has_standby = |it: &Value| it["standbys"].as_array().unwrap().len() == 1;
                here.filter(has_standby).count()
            };
            if running.iter().map(here).sum::<usize>() == PARTITIONS {
                return;
            }
            assert!(Instant::now() < end, "{running:?} do not serve all");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Everybody answers what waited: every dialogue ends as it should.
    fn go_on(&mut self, has_locations: bool) {
        self.says("go", 1);
        self.hlr.release();
        self.scf.release();
        let locations = if has_locations { EACH } else { 0 };
        let told = [
            (USSD_ANSWER, EACH),
            (LOCATION_ANSWER, locations),
            (REPORT, 2 * EACH),
            ("end", EACH + locations),
        ];
        self.until("all go on", |it| {
            told.iter().all(|(line, count)| it.told(line) == *count)
                && it.hlr.count("result updateLocation") == locations
                && it.scf.count("invoke eventReportBCSM") == 2 * EACH
        });
        for of in [&mut self.hlr, &mut self.scf] {
            let known = ["invoke ", "result ", "end", "Cancel "];
            let is_known = |it: &&String| known.iter().any(|word| it.starts_with(word));
            assert_eq!(of.lines().iter().find(|it| !is_known(it)), None);
        }
    }

    /// New dialogues begin, whichever way they take.
    fn begins(&mut self) {
        let before = self.told(SRI_ANSWER);
        self.says("sri", EACH);
        self.until("new dialogues", |it| it.told(SRI_ANSWER) == before + EACH);
    }

    /// tshark reads everything that passed; no dialogue was broken off.
    fn read(&self) -> Seen {
        let messages = wire::messages(self.jss7.passed().unwrap());
        let rows = wire::dissect(&messages, self.nodes[0].folder.path());
        let seen = sequence::check(&rows, !self.jss7_connects);
        assert_eq!(seen.aborts, 0, "{rows:#?}");
        seen
    }
}

#[test]
fn of_two_nodes_that_jss7_connects_to_one_is_killed_and_none_of_its_dialogues_ends() {
    let mut site = Site::start::<2>(true);
    site.stand(true);
    site.kill(0);
    // What crosses to a node whose death nobody has noticed yet is lost, and that is said of it.
    site.nodes[1].serves(PARTITIONS, false);
    site.go_on(true);
    site.begins();
    assert_eq!(site.read().begun(), 6 * EACH);
}

#[test]
fn of_three_nodes_that_connect_to_jss7_two_are_killed_one_after_the_other() {
    let mut site = Site::start::<3>(false);
    site.stand(false);
    site.kill(0);
    site.settles(&[1, 2]);
    site.nodes[0].revive();
    site.connect(0);
    site.nodes.iter().for_each(|it| it.serves(PARTITIONS / 3, true));
    site.kill(1);
    site.settles(&[0, 2]);
    site.go_on(false);
    site.begins();
    assert_eq!(site.read().begun(), 4 * EACH);
}

/// Dialogues that begin while partitions move.
#[derive(Default)]
struct Flow {
    rounds: usize,
}

impl Flow {
    /// One of each kind.
    fn round(&mut self, site: &mut Site) {
        ["sri", "ussd", "location", "call"].iter().for_each(|it| site.says(it, 1));
        let at = self.rounds % site.nodes.len();
        site.ask(at, "updateLocation");
        site.ask(at, "initialDP");
        self.rounds += 1;
        std::thread::sleep(Duration::from_millis(20));
    }

    /// Goes on until a node serves so many.
    fn until(&mut self, site: &mut Site, at: usize, count: usize) {
        let end = Instant::now() + LONG;
        loop {
            self.round(site);
            let output = site.nodes[at].ctl(&["-o", "json", "cluster", "partitions"]);
            let rows: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            let rows = rows.as_array().cloned().unwrap_or_default();
            if rows.iter().filter(|it| it["here"] == true).count() == count {
                return;
            }
            assert!(Instant::now() < end, "{count}: {rows:?}");
        }
    }
}

#[test]
fn while_partitions_move_no_dialogue_with_jss7_ends_and_tshark_sees_no_identifier_twice() {
    let mut site = Site::start::<2>(true);
    let mut flow = Flow::default();
    for at in [0, 1] {
        let other = 1 - at;
        assert!(site.nodes[at].ctl(&["cluster", "drain"]).status.success());
        flow.until(&mut site, other, PARTITIONS);
        assert!(site.nodes[at].ctl(&["cluster", "undrain"]).status.success());
        flow.until(&mut site, at, PARTITIONS / 2);
    }
    let rounds = flow.rounds;
    let told = [
        (SRI_ANSWER, rounds),
        (USSD_ANSWER, rounds),
        (LOCATION_ANSWER, rounds),
        (REPORT, 2 * rounds),
        ("end", 3 * rounds),
    ];
    site.until("all have ended", |it| {
        told.iter().all(|(line, count)| it.told(line) == *count)
            && it.hlr.count("result updateLocation") >= rounds
            && it.scf.count("invoke eventReportBCSM") >= 2 * rounds
    });
    assert_eq!(site.read().begun(), 6 * rounds);
}
