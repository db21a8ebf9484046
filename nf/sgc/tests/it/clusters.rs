//! Nodes with one point code: a dialogue is served by one of them, wherever its messages come,
//! and goes on at another when that one dies. By seed: nodes that die at every step and come
//! back, links that are cut, partitions that move.

mod ways;

use crate::world::asp::point_code;
use crate::world::{Asp, Program, World};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::Duration;
use runtime::Function as _;
use sccp::codec::{
    Address, Class, ConnectionClass, ConnectionMessage, Form, LocalReference, Message, Unit, Word,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tcap::codec::{Code, MessageType, TransactionId, Writer};
use tcu::{
    Component, Hello, Indication, NetworkIndication as Told, NetworkRequest as Ask, Portion,
    Request, Service, Spelling,
};

pub(crate) const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];

pub(crate) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The section of a node of that many.
pub(crate) fn section(node: u8, nodes: u8, more: &str) -> String {
    section_of(node, &(1..=nodes).collect::<Vec<_>>(), more)
}

/// The section of a node of a cluster of those.
pub(crate) fn section_of(node: u8, nodes: &[u8], more: &str) -> String {
    let all =
        nodes.iter().map(|it| format!("{{ number = {it}, address = \"127.0.0.{it}:5990\" }}"));
    let all = all.collect::<Vec<_>>().join(", ");
    format!(
        r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
tcp = {{ listen = ["10.0.0.{node}:2905"] }}
timers = {{ t_r_ms = 100 }}
peer = [{{ name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.{node}"] }}]
application_server = [
  {{ name = "one", peers = ["a"], routing_context = 1, destination = [{{ point_code = "1" }}] }},
]
subsystem = [{{ name = "hlr", number = 6, user = "tcap" }}]
[[application]]
name = "hlr"
subsystem = "hlr"
listen = ["tcp:127.0.0.{node}:7700"]
[cluster]
node = {node}
heartbeat_ms = 20
detect_ms = 100
rebalance_s = 2
nodes = [{all}]
{more}
"#
    )
}

/// Goes on with what begins, and ends what goes on.
struct Talks;

impl Service for Talks {
    fn indicated(&mut self, _: machine::Time, it: Indication, wants: &mut Vec<Request>) {
        match it {
            // The ninth operation is the only one.
            Indication::Begin { dialogue, portion, .. } if is_last(&portion) => {
                let portion = Portion::default();
                wants.push(Request::End { dialogue, is_prearranged: false, portion });
            }
            Indication::Begin { dialogue, .. } => {
                let portion = Portion::default();
                wants.push(Request::Continue { dialogue, state: None, portion });
            }
            Indication::Continue { dialogue, .. } => {
                let portion = Portion::default();
                wants.push(Request::End { dialogue, is_prearranged: false, portion });
            }
            _ => {}
        }
    }
}

fn is_last(portion: &Portion) -> bool {
    matches!(portion.components[..], [Component::Invoke { id: 9, .. }])
}

pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) gateways: Vec<usize>,
    pub(crate) asps: Vec<usize>,
    pub(crate) programs: Vec<usize>,
}

pub(crate) fn program(node: u8) -> Program {
    let hello = Hello::new("hlr", "", "i");
    Program::new(&format!("127.0.0.{node}:7700"), hello, Spelling::Tagged).doing(Talks)
}

impl Site {
    fn new() -> Self {
        Self::of(2, "")
    }

    pub(crate) fn of(nodes: u8, more: &str) -> Self {
        Self::configured(nodes, |node| section(node, nodes, more))
    }

    pub(crate) fn configured(nodes: u8, section: impl Fn(u8) -> String) -> Self {
        Self::with(nodes, section, program)
    }

    pub(crate) fn with(
        nodes: u8,
        section: impl Fn(u8) -> String,
        program: impl Fn(u8) -> Program,
    ) -> Self {
        let mut world = World::on(1);
        let gateways = (1..=nodes).map(|it| world.gateway(&section(it))).collect();
        let asp = |it: u8| Asp::of(&format!("10.0.1.{it}"), &format!("10.0.0.{it}:2905"), 1, 1);
        let asps: Vec<usize> = (1..=nodes).map(|it| world.asp(asp(it))).collect();
        let programs = (1..=nodes).map(|it| world.program(program(it))).collect();
        world.pass(ms(4_000));
        asps.iter().for_each(|it| world.asp_of(*it).received.clear());
        Self { world, gateways, asps, programs }
    }

    /// Partitions as a node sees them.
    pub(crate) fn partitions(&mut self, at: usize) -> Vec<Value> {
        let rows = self.world.ask(self.gateways[at], "cluster/partitions", &[]);
        rows.as_array().unwrap().clone()
    }

    /// The peer sends a message of TCAP by the association of that node.
    pub(crate) fn send(&mut self, by: usize, message: &[u8]) {
        self.send_from(self.asps[by], 1, message);
    }

    /// The peer with that point code sends a message of TCAP.
    fn send_from(&mut self, asp: usize, from: u32, message: &[u8]) {
        let unit = Unit {
            form: Form::Basic,
            word: Word::Data(Class { is_sequenced: true, returns: true }),
            hops: 0,
            called: Address::subsystem(None, 6),
            calling: Address::subsystem(Some(point_code(from)), 8),
            segmentation: None,
            importance: None,
            data: message,
        };
        let mut payload = Vec::new();
        unit.write(&mut payload).unwrap();
        let (opc, dpc, payload) = (point_code(from), point_code(9), Bytes::from(payload));
        let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
        self.world.at(asp, |asp, now| asp.tell(now, In::Transfer(msu)));
    }

    fn begin(&mut self, by: usize, number: u32) {
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(number))
            .request(CONTEXT, &[])
            .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&[0x30, 0])));
        self.send(by, &message);
        self.world.pass(ms(150));
    }

    fn go_on(&mut self, by: usize, number: u32, to: TransactionId) {
        let mut message = Vec::new();
        Writer::go_on(TransactionId::of(number), to).write(&mut message, |out| {
            out.invoke(2, None, Code::Local(45), Some(&[0x30, 0]));
        });
        self.send(by, &message);
        self.world.pass(ms(150));
    }

    /// Kinds of messages of TCAP that came by that node, with their transactions there.
    pub(crate) fn came(&mut self, by: usize) -> Vec<(MessageType, Option<TransactionId>)> {
        let all = core::mem::take(&mut self.world.asp_of(self.asps[by]).received);
        let read = all.iter().filter_map(|msu| {
            let message = Message::read(&msu.payload).unwrap();
            let unit = Unit::of(&message).unwrap().unwrap();
            let read = tcap::codec::Message::read(unit.data).ok()?;
            matches!(unit.word, Word::Data(_)).then_some((read.kind, read.otid))
        });
        read.collect()
    }

    /// A dialogue that stands, and its transaction here.
    fn standing(&mut self, by: usize, number: u32) -> TransactionId {
        self.begin(by, number);
        let came = self.came(by);
        let [(MessageType::Continue, Some(here))] = came[..] else { panic!("{came:?}") };
        here
    }

    fn told(&mut self, node: usize) -> Vec<Indication> {
        self.world.program_of(self.programs[node]).take_told()
    }
}

#[test]
fn two_nodes_share_the_partitions_each_with_the_other_as_standby() {
    let mut site = Site::new();
    for at in 0..2 {
        let rows = site.partitions(at);
        let of = |node: u64| rows.iter().filter(|it| it["active"] == node).count();
        assert_eq!((rows.len(), of(1), of(2)), (48, 24, 24));
        let own = rows.iter().filter(|it| it["here"] == true);
        let other = serde_json::json!([2 - at]);
        assert!(own.clone().all(|it| it["standbys"] == other), "{rows:?}");
        assert_eq!(own.count(), 24);
        let alarms = site.world.alarms(site.gateways[at]);
        assert!(alarms.iter().all(|it| !it.starts_with("cluster")), "{alarms:?}");
        let nodes = site.world.ask(site.gateways[at], "cluster", &[]);
        assert!(nodes.as_array().unwrap().iter().all(|it| it["serving"] == 24), "{nodes}");
        let links = site.world.ask(site.gateways[at], "cluster/links", &[]);
        assert!(links.as_array().unwrap().iter().all(|it| it["up"] == true), "{links}");
    }
}

#[test]
fn what_has_not_failed_yet_is_starting_and_what_nobody_serves_any_more_is_not() {
    let mut world = World::on(1);
    let gateways: Vec<_> = (1..=3).map(|it| world.gateway(&section(it, 3, ""))).collect();
    let raised = |world: &mut World, at: usize, is_starting: bool| -> Vec<String> {
        let rows = world.ask(gateways[at], "alarms", &[]);
        let rows = rows.as_array().cloned().unwrap_or_default();
        let is_meant = |it: &&Value| it["severity"] != "warning" && it["starting"] == is_starting;
        let names = rows.iter().filter(is_meant).map(|it| it["name"].as_str().unwrap_or_default());
        names.filter(|it| it.starts_with("cluster-")).map(str::to_owned).collect()
    };
    let unserved = "cluster-partition-unserved".to_owned();
    assert!(raised(&mut world, 0, true).contains(&unserved), "nobody serves them yet");
    for _ in 0..300 {
        let rows: Vec<_> = (0..3).flat_map(|at| raised(&mut world, at, false)).collect();
        assert!(rows.is_empty(), "{rows:?}");
        world.pass(ms(10));
    }
    world.kill(gateways[1]);
    world.kill(gateways[2]);
    world.pass(ms(1_000));
    let rows = raised(&mut world, 0, false);
    assert!(rows.contains(&unserved) && rows.contains(&"cluster-node-lost".into()), "{rows:?}");
}

#[test]
fn what_arrives_at_the_other_node_crosses_to_where_its_dialogue_is() {
    let mut site = Site::new();
    let here = site.standing(0, 7);
    site.told(0);
    site.go_on(1, 7, here);
    assert!(matches!(site.told(0)[..], [Indication::Continue { .. }]));
    assert_eq!(site.came(0), [(MessageType::End, None)], "by the node that serves it");
    assert!(site.came(1).is_empty());
    assert_eq!(site.world.metric(site.gateways[1], "sgc_cluster_crossed_total"), 1);
    assert_eq!(site.world.metric(site.gateways[0], "sgc_cluster_came_total"), 1);
}

#[test]
fn a_dialogue_of_begin_and_end_costs_no_change_unless_all_are_replicated() {
    for (more, costs) in [("", 0), ("replicate = \"all\"", 3)] {
        let mut site = Site::of(2, more);
        let count = |site: &mut Site| -> u64 {
            let gateways = site.gateways.clone();
            gateways.iter().map(|it| site.world.metric(*it, "sgc_cluster_changes_out_total")).sum()
        };
        let before = count(&mut site);
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(5))
            .request(CONTEXT, &[])
            .write(&mut message, |out| out.invoke(9, None, Code::Local(45), Some(&[0x30, 0])));
        site.send(0, &message);
        site.world.pass(ms(150));
        assert_eq!(site.came(0), [(MessageType::End, None)]);
        // Begun, what its instance was told, over.
        let told = count(&mut site) - before;
        assert!(if costs == 0 { told == 0 } else { (2..=costs).contains(&told) }, "{told}");
    }
}

#[test]
fn a_node_that_dies_costs_no_dialogue_that_stands() {
    let mut site = Site::new();
    let dialogues: Vec<_> = (0..40).map(|it| (it, site.standing(0, it))).collect();
    site.world.kill(site.gateways[0]);
    site.world.pass(ms(1_000));
    let resumed = site.told(1);
    let resumes = resumed.iter().filter(|it| matches!(it, Indication::Resume { .. })).count();
    assert_eq!(resumes, 40, "the instance hears where they are now");
    let alarms = site.world.alarms(site.gateways[1]);
    for alarm in ["node-lost node 1", "no-standby partitions", "partition-moved partitions"] {
        assert!(alarms.contains(&format!("cluster-{alarm}")), "{alarm}: {alarms:?}");
    }
    for (number, here) in dialogues {
        site.go_on(1, number, here);
        assert_eq!(site.came(1), [(MessageType::End, None)], "{number}");
    }
    // New ones begin, and no identifier comes back.
    site.standing(1, 99);
}

#[test]
fn timers_of_a_dialogue_run_on_at_the_standby() {
    let mut site = Site::of(2, "[tcap]\nt_idle_ms = 10000");
    site.standing(0, 1);
    site.world.pass(ms(3_000));
    site.world.kill(site.gateways[0]);
    site.world.pass(ms(3_000));
    let rows = |site: &mut Site| site.world.sum(site.gateways[1], "cluster", "dialogues");
    assert_eq!(rows(&mut site), 1);
    assert!(site.came(1).is_empty());
    // Since it stands it has been idle for ten seconds, whoever served it.
    site.world.pass(ms(5_000));
    assert_eq!(rows(&mut site), 0);
    assert_eq!(site.came(1), [(MessageType::Abort, None)]);
}

#[test]
fn a_node_that_is_drained_loses_nothing() {
    let mut site = Site::new();
    let dialogues: Vec<_> = (0..10).map(|it| (it, site.standing(0, it))).collect();
    site.world.ask(site.gateways[0], "cluster/drain", &[]);
    site.world.pass(ms(3_000));
    let rows = site.partitions(1);
    assert!(rows.iter().all(|it| it["active"] == 2), "{rows:?}");
    for (number, here) in dialogues {
        // By either association.
        site.go_on(number as usize % 2, number, here);
        let came = [site.came(0), site.came(1)].concat();
        assert_eq!(came, [(MessageType::End, None)], "{number}");
    }
}

#[test]
fn a_drain_says_which_applications_have_no_instance_elsewhere() {
    let here_alone = |node: u8| program(if node == 1 { 1 } else { 9 });
    let mut site = Site::with(2, |node| section(node, 2, ""), here_alone);
    let alone = |site: &mut Site, at: usize, act: &str| {
        site.world.ask(site.gateways[at], act, &[])[0]["alone"].to_string()
    };
    assert_eq!(alone(&mut site, 0, "cluster/drain"), "[\"hlr\"]");
    assert_eq!(alone(&mut site, 0, "cluster/undrain"), "[]");
    assert_eq!(alone(&mut site, 1, "cluster/drain"), "[]", "it has none itself");
    let mut site = Site::new();
    assert_eq!(alone(&mut site, 0, "cluster/drain"), "[]");
    site.world.pass(ms(3_000));
    assert_eq!(alone(&mut site, 1, "cluster/drain"), "[\"hlr\"]", "the other one leaves");
}

#[test]
fn nodes_that_all_leave_do_not_wait_for_each_other() {
    let mut site = Site::of(3, "");
    (0..3).for_each(|at| site.world.drain(site.gateways[at]));
    site.world.pass(ms(3_000));
    let gateways = site.gateways.clone();
    assert!(gateways.iter().all(|it| site.world.gateway_of(*it).is_idle()));
}

#[test]
fn a_node_that_comes_back_gets_its_partitions_again() {
    let mut site = Site::new();
    site.world.kill(site.gateways[0]);
    site.world.pass(ms(1_000));
    let here = site.standing(1, 3);
    site.world.revive(site.gateways[0]);
    site.world.pass(ms(8_000));
    for at in 0..2 {
        let rows = site.partitions(at);
        assert_eq!(rows.iter().filter(|it| it["active"] == 1).count(), 24, "{rows:?}");
    }
    site.came(1);
    site.go_on(1, 3, here);
    assert_eq!([site.came(0), site.came(1)].concat(), [(MessageType::End, None)]);
}

/// A node with a second peer, which may send to no other point code.
fn screened(node: u8) -> String {
    let text = section(node, 2, "");
    let first = format!("addresses = [\"10.0.1.{node}\"] }}");
    let second = format!(
        "{{ name = \"b\", role = \"asp\", transport = \"tcp\", addresses = [\"10.0.2.{node}\"], \
         screening = {{ destinations = [\"9\"] }} }}"
    );
    let server = "{ name = \"two\", peers = [\"b\"], routing_context = 2, \
                  destination = [{ point_code = \"2\" }] }";
    let first_server = "destination = [{ point_code = \"1\" }] },";
    let text = text.replace(&first, &format!("{first},\n  {second}"));
    text.replace(first_server, &format!("{first_server}\n  {server},"))
}

#[test]
fn an_answer_goes_by_the_screen_of_no_other_peer() {
    let mut site = Site::configured(2, screened);
    let second = site.world.asp(Asp::of("10.0.2.1", "10.0.0.1:2905", 2, 2));
    site.world.pass(ms(2_000));
    let here = site.standing(0, 7);
    let mut message = Vec::new();
    Writer::begin(TransactionId::of(8))
        .request(CONTEXT, &[])
        .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&[0x30, 0])));
    site.send_from(second, 2, &message);
    site.world.pass(ms(150));
    let answers = |site: &mut Site| -> usize {
        let all = core::mem::take(&mut site.world.asp_of(second).received);
        let is_data = |msu: &&Transfer| {
            let message = Message::read(&msu.payload).unwrap();
            matches!(Unit::of(&message).unwrap().map(|it| it.word), Some(Word::Data(_)))
        };
        all.iter().filter(is_data).count()
    };
    assert_eq!(answers(&mut site), 1);
    // The last MSU at the first node was the second peer's.
    site.go_on(1, 7, here);
    assert_eq!(site.came(0), [(MessageType::End, None)]);
}

#[test]
fn dialogues_go_on_at_a_node_with_another_name_and_other_keys() {
    let named = |node: u8| section(node, 2, "").replace("\"stp\"", &format!("\"stp{node}\""));
    let mut site = Site::configured(2, named);
    let dialogues: Vec<_> = (0..10).map(|it| (it, site.standing(0, it))).collect();
    site.world.kill(site.gateways[0]);
    site.world.pass(ms(1_000));
    for (number, here) in dialogues {
        site.go_on(1, number, here);
        assert_eq!(site.came(1), [(MessageType::End, None)], "{number}");
    }
}

#[test]
fn nodes_that_disagree_do_not_give_partitions_to_each_other() {
    let mut site = Site::new();
    let other =
        section(1, 2, "").replace("number = 2, address", "number = 2, weight = 15, address");
    assert!(other.contains("weight"));
    site.world.configure(site.gateways[0], &other);
    let taken = |site: &mut Site| -> u64 {
        let gateways = site.gateways.clone();
        gateways.iter().map(|it| site.world.metric(*it, "sgc_cluster_partitions_taken_total")).sum()
    };
    let before = taken(&mut site);
    site.world.pass(ms(20_000));
    assert_eq!(taken(&mut site) - before, 0);
    // When both know the same, the shares are those.
    let other =
        section(2, 2, "").replace("number = 2, address", "number = 2, weight = 15, address");
    site.world.configure(site.gateways[1], &other);
    site.world.pass(ms(20_000));
    let rows = site.partitions(0);
    assert_eq!(rows.iter().filter(|it| it["active"] == 2).count(), 45, "{rows:?}");
}

#[test]
fn nodes_that_are_configured_differently_say_so() {
    let mut site = Site::new();
    let other =
        section(1, 2, "").replace("name = \"hlr\", number = 6", "name = \"hlr\", number = 7");
    site.world.configure(site.gateways[0], &other);
    site.world.pass(ms(2_500));
    let alarms = site.world.alarms(site.gateways[1]);
    assert!(alarms.contains(&"cluster-nodes-differ node 1".to_owned()), "{alarms:?}");
}

/// A node of a cluster whose application has connections.
fn connected(node: u8) -> String {
    let text = section(node, 2, "");
    let text = text.replace(
        "name = \"hlr\", number = 6, user = \"tcap\"",
        "name = \"hlr\", number = 254, user = \"sccp\"",
    );
    assert!(text.contains("254"));
    text
}

#[test]
fn a_message_of_a_connection_finds_the_node_that_has_it() {
    let mut world = World::on(1);
    let gateways: Vec<usize> = (1..=2).map(|it| world.gateway(&connected(it))).collect();
    let asp = |it: u8| Asp::of(&format!("10.0.1.{it}"), &format!("10.0.0.{it}:2905"), 1, 1);
    let asps: Vec<usize> = (1..=2).map(|it| world.asp(asp(it))).collect();
    let own = Program::new("127.0.0.2:7700", Hello::new("hlr", "", "i"), Spelling::Tagged);
    let own = world.program(own);
    world.pass(ms(4_000));
    world.asp_of(asps[1]).received.clear();
    let tell = |world: &mut World, by: usize, message: &ConnectionMessage<'_>| {
        let mut payload = Vec::new();
        message.write(&mut payload).unwrap();
        let (opc, dpc, payload) = (point_code(1), point_code(9), Bytes::from(payload));
        let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
        world.at(by, |asp, now| asp.tell(now, In::Transfer(msu)));
        world.pass(ms(100));
    };
    // The node 2 asks for a connection; who answers does so by the node 1.
    let at = |number: u32| Address::subsystem(Some(point_code(number)), 254);
    let (called, calling, data) = (at(1), at(9), Bytes::from_static(b"complete layer 3"));
    let ask = Ask::Connect { reference: 1, called, calling, class: 2, data };
    world.at_program(own, |program| program.ask(&Request::Network(ask)));
    world.pass(ms(100));
    let all = core::mem::take(&mut world.asp_of(asps[1]).received);
    let requests = all.iter().filter_map(|msu| {
        let message = Message::read(&msu.payload).unwrap();
        match ConnectionMessage::of(&message).unwrap() {
            Some(ConnectionMessage::Request(it)) => Some(it.source),
            _ => None,
        }
    });
    let requests: Vec<LocalReference> = requests.collect();
    let [destination] = requests[..] else { panic!("{requests:?}") };
    let partition = u64::from(destination.number() >> 18);
    let rows = world.ask(gateways[1], "cluster/partitions", &[]);
    let row = rows.as_array().unwrap().iter().find(|it| it["partition"] == partition);
    assert_eq!(row.unwrap()["active"], 2, "its leading bits name its partition");
    let (called, credit, importance, data) = (None, None, None, None);
    let (source, class) = (LocalReference::truncated(5), ConnectionClass::Basic);
    let confirm =
        ConnectionMessage::Confirm { destination, source, class, credit, called, importance, data };
    tell(&mut world, asps[0], &confirm);
    let data = ConnectionMessage::Data1 { destination, more: false, data: b"accept" };
    tell(&mut world, asps[0], &data);
    let told = world.program_of(own).take_told();
    let accept = b"accept".as_slice();
    let data = |it: &Indication| {
        let Indication::Network(Told::Data { data, .. }) = it else { return false };
        data[..] == *accept
    };
    assert!(told.iter().any(data), "{told:?}");
    assert_eq!(world.metric(gateways[0], "sgc_cluster_crossed_total"), 2);
}

/// What the peer knows of its dialogues.
#[derive(Default)]
pub(crate) struct Peer {
    /// Those that stand, and their transactions at the gateway.
    pub(crate) standing: BTreeMap<u32, TransactionId>,
    /// Those whose message may have been lost with its node.
    pub(crate) unsure: BTreeSet<u32>,
    ended: BTreeSet<u32>,
    pub(crate) next: u32,
}

impl Peer {
    /// A message of the gateway came.
    pub(crate) fn hear(&mut self, seed: u64, message: &tcap::codec::Message<'_>) {
        let number = message.dtid.and_then(TransactionId::number).unwrap();
        match (message.kind, message.otid) {
            (MessageType::Continue, Some(here)) => {
                let owner = self.standing.iter().find(|it| *it.1 == here).map(|it| *it.0);
                assert!(owner.is_none(), "{seed}: {here:?} has two owners: {owner:?}, {number}");
                assert!(!self.ended.contains(&number), "{seed}: {number} goes on after its end");
                let before = self.standing.insert(number, here);
                assert!(before.is_none(), "{seed}: {number} is served twice: {before:?}, {here:?}");
            }
            (MessageType::End, None) => {
                assert!(self.ended.insert(number), "{seed}: {number} ends twice");
                self.standing.remove(&number);
                self.unsure.remove(&number);
            }
            // What had not gone on yet may be lost with its node.
            (MessageType::Abort, None) if !self.standing.contains_key(&number) => {}
            (MessageType::Abort, None) if self.unsure.contains(&number) => {
                // Its end was lost on the way.
                self.standing.remove(&number);
                self.unsure.remove(&number);
                self.ended.insert(number);
            }
            other => panic!("{seed}: {number} of {:?}: {other:?}", self.standing.keys()),
        }
    }
}

/// A world by seed: three nodes, of which at most one is dead or cut off at a time.
struct Walk {
    seed: u64,
    drawn: u64,
    site: Site,
    peer: Peer,
    dead: Option<usize>,
    cut: Option<(u8, u8)>,
    drained: Option<usize>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let (peer, site) = (Peer::default(), Site::of(3, ""));
        Self { seed, drawn: 0, site, peer, dead: None, cut: None, drained: None }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.drawn += 1;
        machine::identity::mix(self.seed << 20 | self.drawn) % below
    }

    fn living(&mut self) -> usize {
        loop {
            let at = self.draw(3) as usize;
            if self.dead != Some(at) {
                return at;
            }
        }
    }

    fn hear(&mut self) {
        for at in 0..3 {
            let asp = self.site.asps[at];
            for msu in core::mem::take(&mut self.site.world.asp_of(asp).received) {
                let message = Message::read(&msu.payload).unwrap();
                let unit = Unit::of(&message).unwrap().unwrap();
                if let (Word::Data(_), Ok(it)) = (unit.word, tcap::codec::Message::read(unit.data))
                {
                    self.peer.hear(self.seed, &it);
                }
            }
        }
    }

    fn pass(&mut self, most: u64) {
        let time = self.draw(most) + 1;
        self.site.world.pass(ms(time));
        self.hear();
    }

    fn begin(&mut self) {
        let (by, number) = (self.living(), self.peer.next);
        self.peer.next += 1;
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(number))
            .request(CONTEXT, &[])
            .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&[0x30, 0])));
        self.site.send(by, &message);
    }

    /// One that stands goes on, and ends by that.
    fn go_on(&mut self) {
        let all: Vec<_> = self.peer.standing.iter().map(|it| (*it.0, *it.1)).collect();
        if all.is_empty() {
            return;
        }
        let (number, here) = all[self.draw(all.len() as u64) as usize];
        if self.peer.unsure.insert(number) {
            let by = self.living();
            let mut message = Vec::new();
            Writer::go_on(TransactionId::of(number), here).write(&mut message, |out| {
                out.invoke(2, None, Code::Local(45), Some(&[0x30, 0]));
            });
            self.site.send(by, &message);
        }
    }

    fn is_calm(&self) -> bool {
        self.dead.is_none() && self.cut.is_none() && self.drained.is_none()
    }

    /// Something fails, or is good again and settles.
    fn fail(&mut self) {
        if !self.is_calm() {
            return self.mend();
        }
        let at = self.draw(3) as usize;
        match self.draw(3) {
            0 => {
                self.site.world.kill(self.site.gateways[at]);
                self.dead = Some(at);
            }
            1 => {
                let (a, b) = [(1, 2), (2, 3), (1, 3)][at];
                self.site.world.cut_link(a, b, true);
                self.cut = Some((a, b));
            }
            _ => {
                self.site.world.ask(self.site.gateways[at], "cluster/drain", &[]);
                self.drained = Some(at);
            }
        }
    }

    fn mend(&mut self) {
        if let Some(at) = self.dead.take() {
            // Its partitions are served before another node may die.
            self.pass(1_000);
            self.site.world.pass(ms(1_500));
            self.site.world.revive(self.site.gateways[at]);
            let node = u8::try_from(at + 1).unwrap();
            self.site.programs[at] = self.site.world.program(program(node));
        }
        if let Some((a, b)) = self.cut.take() {
            self.site.world.cut_link(a, b, false);
        }
        if let Some(at) = self.drained.take() {
            self.site.world.ask(self.site.gateways[at], "cluster/undrain", &[]);
        }
        self.site.world.pass(ms(6_000));
        self.hear();
    }

    /// No two nodes may speak for a partition.
    fn check_owners(&mut self) {
        let mut owners = BTreeMap::new();
        for at in (0..3).filter(|at| self.dead != Some(*at)) {
            let gateway = self.site.gateways[at];
            let home = self.site.world.shards_of(gateway).home.clone().unwrap();
            home.at(self.site.world.now);
            for group in home.speaks() {
                let before = owners.insert(group, at);
                assert!(before.is_none(), "{}: {group}: {before:?} and {at}", self.seed);
            }
        }
    }

    fn run(mut self) {
        for _ in 0..60 {
            match self.draw(10) {
                0..=3 => self.begin(),
                4..=6 => self.go_on(),
                7 => self.fail(),
                _ => self.pass(200),
            }
            self.pass(20);
            self.check_owners();
        }
        self.mend();
        self.rest();
    }

    /// Everything is good: what stands goes on, by any node, and each ends once.
    fn rest(&mut self) {
        let seed = self.seed;
        self.site.world.pass(ms(8_000));
        self.hear();
        for at in 0..3 {
            let rows = self.site.partitions(at);
            for row in &rows {
                assert_eq!(row["active"], row["first"], "{seed}: partitions settle: {rows:?}");
            }
            let alarms = self.site.world.alarms(self.site.gateways[at]);
            assert!(alarms.iter().all(|it| !it.starts_with("cluster")), "{seed}: {alarms:?}");
        }
        for number in self.peer.standing.keys().copied().collect::<Vec<_>>() {
            let here = self.peer.standing[&number];
            let by = self.living();
            let mut message = Vec::new();
            Writer::go_on(TransactionId::of(number), here).write(&mut message, |out| {
                out.invoke(3, None, Code::Local(45), Some(&[0x30, 0]));
            });
            self.site.send(by, &message);
            self.site.world.pass(ms(200));
            self.hear();
        }
        assert!(self.peer.standing.is_empty(), "{seed}: {:?} are lost", self.peer.standing);
    }
}

pub(crate) fn seeds() -> core::ops::Range<u64> {
    let most = std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok());
    0..most.unwrap_or(24)
}

#[test]
fn no_dialogue_is_lost_or_doubled_and_no_identifier_has_two_owners_whatever_fails() {
    seeds().for_each(|seed| Walk::new(seed).run());
}
