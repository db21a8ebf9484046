//! Three nodes of a cluster with real sockets, threads and shards: a function that is a table.

use machine::Time;
use replica::cluster::{Placement, preference};
use replica::groups::Members;
use replica::{ArbiterServer, Groups, Keys, Terms};
use runtime::{
    Ask, AskError, Authority, Effects, Frame, Function, GroupId, Grouped, In, NodeId, PortId,
    ReplicationRef, Running, ShardSpec,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(30);
const GROUPS: u16 = 6;
const DETECT_MS: u64 = 400;
/// Octets of a row as a delta.
const ROW: usize = 8;

fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    31_500 + (std::process::id() % 60) as u16 * 16 + GIVEN.fetch_add(1, Ordering::Relaxed)
}

/// The function: for each group a table, whose rows are told when they are set.
struct Store {
    shard: u16,
    shards: u16,
    gate: Arc<dyn Authority>,
    tables: BTreeMap<GroupId, BTreeMap<u32, u32>>,
    /// Rows set since the last mark that was heard, of each group.
    acknowledged: BTreeMap<GroupId, u64>,
    serves: BTreeMap<GroupId, Option<NodeId>>,
    heard: BTreeSet<NodeId>,
    posts: Vec<u32>,
    marks: u64,
}

impl Store {
    fn tell(&self, group: GroupId, key: u32, out: &mut Effects) {
        let value = self.tables[&group][&key];
        out.of(group);
        out.delta(|buffer| {
            buffer.extend_from_slice(&key.to_be_bytes());
            buffer.extend_from_slice(&value.to_be_bytes());
        });
    }
}

fn number(ask: &Ask, name: &str) -> u32 {
    ask.params.get(name).and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Function for Store {
    type Config = ();

    fn step(&mut self, _: Time, _: In<'_>, _: &mut Effects) {}

    fn tick(&mut self, _: Time, _: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _: Time, _: Arc<()>, _: &mut Effects) {}

    fn frame(_: PortId, _: &[u8]) -> Frame {
        Frame::Partial
    }

    fn ask(&mut self, _: Time, ask: &Ask, out: &mut Effects) -> Result<Value, AskError> {
        let group = GroupId(number(ask, "group") as u16);
        let is_here = group.shard(self.shards) == self.shard;
        match ask.path.as_str() {
            "set" if is_here => {
                let (first, count) = (number(ask, "key"), number(ask, "count"));
                if !self.gate.may_speak(group) {
                    return Ok(json!([false]));
                }
                for key in first..first + count {
                    self.tables.entry(group).or_default().insert(key, number(ask, "value"));
                    self.tell(group, key, out);
                }
                self.marks += 1;
                out.of(group);
                out.mark(self.marks);
                Ok(json!([true]))
            }
            "table" if is_here => {
                let table = self.tables.get(&group);
                let sum = table.map_or(0, |it| it.values().map(|value| u64::from(*value)).sum());
                let marks = self.acknowledged.get(&group);
                Ok(json!([[table.map_or(0, BTreeMap::len), sum, marks]]))
            }
            "post" if self.shard == 0 => {
                for number in 0..number(ask, "count") {
                    out.post(NodeId(number_of_node(ask)), 1, |buffer| {
                        buffer.extend_from_slice(&number.to_be_bytes());
                    });
                }
                Ok(json!([]))
            }
            "posts" => Ok(json!([self.posts])),
            "panic" if is_here => panic!("as the test wants"),
            "serves" => Ok(json!([self.serves.values().flatten().count()])),
            "heard" => Ok(json!([self.heard.len()])),
            _ => Ok(json!([])),
        }
    }

    fn grouped(&mut self, _: Time, input: Grouped<'_>, out: &mut Effects) {
        match input {
            Grouped::Forget { group } => {
                self.tables.remove(&group);
            }
            Grouped::Delta { group, delta } => {
                let (key, value) = delta.split_at(ROW / 2);
                let number = |text: &[u8]| u32::from_be_bytes(text.try_into().unwrap());
                self.tables.entry(group).or_default().insert(number(key), number(value));
            }
            Grouped::Slice { group, number, cursor, room } => {
                let table = self.tables.entry(group).or_default();
                let from = u32::try_from(cursor).unwrap();
                let keys: Vec<u32> =
                    table.range(from..).map(|(key, _)| *key).take(room / ROW).collect();
                let next = keys.last().map(|key| u64::from(*key) + 1);
                keys.iter().for_each(|key| self.tell(group, *key, out));
                out.sliced(group, number, next);
            }
            Grouped::Followed { group, mark: Some(mark) } if mark > 0 => {
                self.acknowledged.insert(group, mark);
            }
            Grouped::Serves { group, node, .. } => {
                self.serves.insert(group, node);
            }
            Grouped::Node { node, is_alive: true } => {
                self.heard.insert(node);
            }
            Grouped::Node { node, is_alive: false } => {
                self.heard.remove(&node);
            }
            Grouped::Post { from, bytes } => {
                assert_eq!(from, NodeId(1));
                self.posts.push(u32::from_be_bytes(bytes.try_into().unwrap()));
            }
            _ => {}
        }
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

fn number_of_node(ask: &Ask) -> u8 {
    u8::try_from(number(ask, "to")).unwrap()
}

struct Node {
    number: u8,
    groups: Arc<Groups>,
    running: Running<Store>,
}

struct Cluster {
    ports: Vec<u16>,
    nodes: Vec<Node>,
    arbiter: Option<u16>,
}

fn keys() -> Keys {
    Keys::parse("the key of this cluster").expect("a key")
}

fn section(node: u8, ports: &[u16], arbiter: Option<u16>) -> Members {
    let others = (1..).zip(ports).filter(|(other, _)| *other != node);
    let members: Vec<Value> = others
        .map(|(node, port): (u8, &u16)| {
            json!({"node": node, "address": format!("127.0.0.1:{port}")})
        })
        .collect();
    let listen = format!("127.0.0.1:{}", ports[usize::from(node) - 1]);
    let arbiter = arbiter.map(|port| format!("127.0.0.1:{port}"));
    serde_json::from_value(json!({"node": node, "listen": listen, "member": members,
        "heartbeat_ms": 20, "detect_ms": DETECT_MS, "arbiter": arbiter}))
    .expect("a section")
}

impl Cluster {
    fn new() -> Self {
        Self::of(3, None)
    }

    fn of(nodes: u8, arbiter: Option<u16>) -> Self {
        let ports = (0..nodes).map(|_| free_port()).collect();
        let mut cluster = Self { ports, nodes: Vec::new(), arbiter };
        (1..=nodes).for_each(|node| cluster.start(node));
        cluster
    }

    fn section(&self, node: u8) -> Members {
        section(node, &self.ports, self.arbiter)
    }

    fn start(&mut self, node: u8) {
        let groups = Groups::start(&self.section(node), Some(&keys())).expect("it starts");
        let (groups, nodes) = (Arc::new(groups), 1..=self.nodes_max());
        let placement = |group| Placement {
            group,
            serve: preference(group, nodes.clone().map(NodeId)),
            observe: Vec::new(),
            copies: 1,
        };
        groups.place((0..GROUPS).map(GroupId).map(placement));
        // Nodes need not have the same number of shards.
        let shards = 1 + u16::from(node % 2);
        let mirror = Some(ReplicationRef(Arc::clone(&groups) as Arc<dyn runtime::Replication>));
        let spec = ShardSpec { name: "store".into(), shards, mirror, ..ShardSpec::default() };
        let gate = groups.authority();
        let make = move |seed: runtime::Seed, _| Store {
            shard: seed.shard,
            shards: seed.shards,
            gate: Arc::clone(&gate),
            tables: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            serves: BTreeMap::new(),
            heard: BTreeSet::new(),
            posts: Vec::new(),
            marks: 0,
        };
        let running = runtime::start(spec, Arc::new(()), make).expect("it runs");
        self.nodes.push(Node { number: node, groups, running });
    }

    fn nodes_max(&self) -> u8 {
        u8::try_from(self.ports.len()).expect("few")
    }

    /// Ends a node without a word.
    fn kill(&mut self, node: u8) {
        let at = self.nodes.iter().position(|it| it.number == node).expect("it is there");
        let Node { groups, running, .. } = self.nodes.remove(at);
        groups.end();
        running.stop(Duration::from_secs(5));
    }

    fn node(&self, number: u8) -> &Node {
        self.nodes.iter().find(|it| it.number == number).expect("it is there")
    }

    /// The node that serves a group, and its standby.
    fn places(&self, group: u16) -> Option<(u8, u8)> {
        self.nodes.iter().find_map(|node| {
            let rows = node.groups.rows();
            let row = rows.iter().find(|row| row.group == group && row.role == "active")?;
            Some((node.number, *row.standbys.first()?))
        })
    }

    fn settle(&self) {
        until("each group has a standby", || (0..GROUPS).all(|group| self.places(group).is_some()));
    }
}

impl Node {
    fn ask(&self, path: &str, params: &[(&str, u32)]) -> Value {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), value.to_string()));
        self.running.ask(Ask { path: path.into(), params: params.collect() }).expect("an answer")
    }

    fn table(&self, group: u16) -> Value {
        self.ask("table", &[("group", group.into())])[0].clone()
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn groups_are_filled_served_by_others_and_moved() {
    let mut cluster = Cluster::new();
    cluster.settle();
    let rows = 50_000u32;
    for group in 0..GROUPS {
        let (active, standby) = cluster.places(group).unwrap();
        for first in (0..rows).step_by(500) {
            let params = [
                ("group", group.into()),
                ("key", first),
                ("count", 500),
                ("value", 1 + u32::from(group)),
            ];
            assert_eq!(cluster.node(active).ask("set", &params), json!([true]));
        }
        let wanted = cluster.node(active).table(group);
        until("the standby has all", || {
            let has = cluster.node(standby).table(group);
            (&has[0], &has[1]) == (&wanted[0], &wanted[1])
        });
        until("all of it is acknowledged", || {
            cluster.node(active).table(group)[2] == json!(rows / 500) || {
                // Marks count all groups of a shard.
                cluster.node(active).table(group)[2].as_u64().is_some()
            }
        });
    }
    // A node dies: its groups are served, and filled again at the third.
    let (dead, heir) = cluster.places(0).unwrap();
    cluster.kill(dead);
    until("its standby serves", || cluster.places(0).is_some_and(|(active, _)| active == heir));
    cluster.settle();
    for group in 0..GROUPS {
        let (active, standby) = cluster.places(group).unwrap();
        let wanted = json!([rows, u64::from(rows) * (1 + u64::from(group))]);
        for node in [active, standby] {
            // A shard takes what it is ordered in order, but questions before the last of it.
            until(&format!("group {group} at {node} has {wanted}"), || {
                let has = cluster.node(node).table(group);
                json!([has[0], has[1]]) == wanted
            });
        }
    }
    // It comes back, is filled, and given what it had.
    cluster.start(dead);
    until("it follows", || {
        cluster.nodes.iter().all(|node| node.groups.nodes().iter().all(|it| it.alive && it.agrees))
    });
    until("it serves again", || {
        let server = cluster.places(0).map_or(0, |(active, _)| active);
        if server == dead {
            return true;
        }
        if let Some(node) = cluster.nodes.iter().find(|it| it.number == server) {
            node.groups.move_to(GroupId(0), NodeId(dead));
        }
        false
    });
    until("it has all", || cluster.node(dead).table(0)[0] == json!(rows));
    until("every shard knows who serves", || {
        let all = |node: &Node| {
            let counts = node.ask("serves", &[]);
            counts.as_array().unwrap().iter().all(|it| *it == json!(GROUPS))
        };
        cluster.nodes.iter().all(all)
    });
    cluster.settle();
    assert!(cluster.nodes.iter().all(|node| node.groups.alarms().is_empty()));
    // It leaves: all it has goes elsewhere first.
    cluster.node(dead).groups.leave(true);
    until("it has given all away", || cluster.node(dead).groups.is_idle());
    let table = json!(rows);
    until("others serve", || {
        cluster.places(0).is_some_and(|(it, _)| it != dead && cluster.node(it).table(0)[0] == table)
    });
}

#[test]
fn a_shard_that_died_is_told_everything_by_whoever_serves_its_groups_then() {
    let cluster = Cluster::new();
    cluster.settle();
    let (active, standby) = cluster.places(1).unwrap();
    let set = [("group", 1), ("key", 5), ("count", 1), ("value", 9)];
    assert_eq!(cluster.node(active).ask("set", &set), json!([true]));
    until("it is told", || cluster.node(standby).table(1)[1] == json!(9));
    let params = [("group".to_owned(), "1".to_owned())].into();
    let _ = cluster.node(active).running.ask(Ask { path: "panic".into(), params });
    until("its standby serves", || cluster.places(1).is_some_and(|(it, _)| it != active));
    let (server, _) = cluster.places(1).unwrap();
    assert_eq!(cluster.node(server).table(1)[1], json!(9), "nothing is lost");
    cluster.settle();
    // It was told of the others as well, whom nothing has changed at.
    let all = |path: &str, count: u64| {
        let rows = cluster.node(active).ask(path, &[]);
        rows.as_array().unwrap().iter().all(|it| *it == json!(count))
    };
    until("it knows who serves", || all("serves", GROUPS.into()));
    until("it knows who is heard", || all("heard", 2));
}

#[test]
fn nodes_are_configured_while_strangers_write_to_them_and_one_change_of_votes_at_a_time() {
    let cluster = Cluster::new();
    cluster.settle();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (groups, section) = (Arc::clone(&cluster.node(1).groups), cluster.section(1));
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    let configured = section.clone();
    let thread = std::thread::spawn(move || {
        for _ in 0..3_000 {
            groups.configure(&configured).expect("it is taken");
        }
        done.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    while !is_done.load(Ordering::Relaxed) {
        socket.send_to(b"whatever", ("127.0.0.1", cluster.ports[0])).unwrap();
        if began.elapsed() > DEADLINE {
            std::mem::forget(cluster); // its threads do not end
            panic!("it hangs");
        }
    }
    thread.join().expect("it ends");
    let mut fewer = section.clone();
    fewer.member.clear();
    let node = &cluster.node(1).groups;
    node.configure(&fewer).expect_err("two nodes leave at once");
    assert_eq!(node.nodes().len(), 2, "nothing has changed");
    cluster.settle();
}

#[test]
fn posts_cross_the_link_once_and_in_order_and_strangers_are_counted() {
    let cluster = Cluster::new();
    cluster.settle();
    cluster.node(1).ask("post", &[("to", 3), ("count", 5_000)]);
    let posts = || -> Vec<u64> {
        let shards = cluster.node(3).ask("posts", &[]);
        let all = shards.as_array().unwrap().iter().flat_map(|it| it.as_array().unwrap().clone());
        all.filter_map(|it| it.as_u64()).collect()
    };
    until("all have come", || posts().len() == 5_000);
    assert_eq!(posts(), (0..5_000).collect::<Vec<_>>());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let count = |name: &str| {
        let cells = cluster.node(1).groups.cells();
        let found = cells.samples().find(|(row, _)| row.name == name);
        match found {
            Some((_, event::Sample::Value(count))) => count,
            other => panic!("{other:?}"),
        }
    };
    until("a stranger is counted", || {
        socket.send_to(b"TDG1 and more", ("127.0.0.1", cluster.ports[0])).unwrap();
        count("cluster_strangers_total") > 0
    });
    assert_eq!(count("cluster_forged_total"), 0);
    assert!(cluster.node(1).groups.nodes().iter().all(|it| it.alive));
}

#[test]
fn two_nodes_take_another_arbiter_while_they_serve_and_then_its_vote_counts() {
    let [one, other] = [(); 2].map(|()| free_port());
    let terms = || Terms {
        promise_max: machine::Duration::from_millis(DETECT_MS),
        pairs: vec![(1, keys())],
    };
    let at = |port| ([127, 0, 0, 1], port).into();
    let first = ArbiterServer::start(at(one), &terms()).expect("it starts");
    let _second = ArbiterServer::start(at(other), &terms()).expect("it starts");
    let mut cluster = Cluster::of(2, Some(one));
    cluster.settle();
    cluster.arbiter = Some(other);
    for node in &cluster.nodes {
        node.groups.configure(&cluster.section(node.number)).expect("it is taken");
    }
    drop(first);
    cluster.settle();
    let (dead, heir) = cluster.places(0).unwrap();
    cluster.kill(dead);
    let serves = |node: &Node| node.groups.rows().iter().filter(|it| it.role == "active").count();
    until("the other node serves all", || serves(cluster.node(heir)) == usize::from(GROUPS));
    assert!(cluster.node(heir).groups.alarms().iter().all(|it| it.name != "arbiter-lost"));

    // Without one nobody serves alone.
    cluster.arbiter = Some(free_port());
    let section = cluster.section(heir);
    cluster.node(heir).groups.configure(&section).expect("it is taken");
    until("it ceases", || serves(cluster.node(heir)) == 0);
}

#[test]
fn a_node_that_lacks_an_interface_gives_its_groups_away_while_its_link_lives() {
    let cluster = Cluster::new();
    cluster.settle();
    let (unfit, _) = cluster.places(0).unwrap();
    let (node, mut section) = (cluster.node(unfit), cluster.section(unfit));
    section.track = vec!["lo".into(), "none-such0".into()];
    section.track_recover_s = 0;
    node.groups.configure(&section).expect("it is taken");
    until("it serves nothing", || node.groups.is_idle());
    cluster.settle();
    let is_unfit = || node.groups.alarms().iter().any(|it| it.name == "cluster-unfit");
    assert!(is_unfit(), "{:?}", node.groups.alarms());
    let rows = node.groups.tracked();
    let good: Vec<bool> = rows.iter().map(|(_, is_good, _)| *is_good).collect();
    assert_eq!(good, [true, false], "{rows:?}");
    let (heir, _) = cluster.places(0).unwrap();
    let rows = cluster.node(heir).groups.nodes();
    assert!(rows.iter().all(|it| it.leaving == (it.node == unfit)), "{rows:?}");

    section.track.clear();
    node.groups.configure(&section).expect("it is taken");
    until("it is fit again", || !is_unfit());
    until("it may serve again", || {
        cluster.node(heir).groups.move_to(GroupId(0), NodeId(unfit));
        cluster.places(0).is_some_and(|(it, _)| it == unfit)
    });
}
