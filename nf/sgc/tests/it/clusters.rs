//! Two nodes with one point code: a dialogue is served by one of them, wherever its messages come,
//! and goes on at the other when that one dies.

use crate::world::asp::point_code;
use crate::world::{Asp, Program, World};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::Duration;
use sccp::codec::{Address, Class, Form, Message, Unit, Word};
use tcap::codec::{Code, MessageType, TransactionId, Writer};
use tcu::{Hello, Indication, Portion, Request, Service, Spelling};

const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The section of a node.
fn section(node: u8) -> String {
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
nodes = [
  {{ number = 1, address = "127.0.0.1:5990" }},
  {{ number = 2, address = "127.0.0.2:5990" }},
]
"#
    )
}

/// Goes on with what begins, and ends what goes on.
struct Talks;

impl Service for Talks {
    fn indicated(&mut self, _: machine::Time, it: Indication, wants: &mut Vec<Request>) {
        match it {
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

struct Site {
    world: World,
    gateways: [usize; 2],
    asps: [usize; 2],
    programs: [usize; 2],
}

impl Site {
    fn new() -> Self {
        let mut world = World::on(1);
        let gateways = [1, 2].map(|it| world.gateway(&section(it)));
        let asp = |it: u8| Asp::of(&format!("10.0.1.{it}"), &format!("10.0.0.{it}:2905"), 1, 1);
        let asps = [1, 2].map(|it| world.asp(asp(it)));
        let programs = [1, 2].map(|it| {
            let hello = Hello::new("hlr", "", "i");
            let to = format!("127.0.0.{it}:7700");
            world.program(Program::new(&to, hello, Spelling::Tagged).doing(Talks))
        });
        world.pass(ms(4_000));
        asps.iter().for_each(|it| world.asp_of(*it).received.clear());
        Self { world, gateways, asps, programs }
    }

    /// The peer sends a message of TCAP by the association of that node.
    fn send(&mut self, by: usize, message: &[u8]) {
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
        let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
        self.world.at(self.asps[by], |asp, now| asp.tell(now, In::Transfer(msu)));
        self.world.pass(ms(150));
    }

    fn begin(&mut self, by: usize, number: u32) {
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(number))
            .request(CONTEXT, &[])
            .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&[0x30, 0])));
        self.send(by, &message);
    }

    fn go_on(&mut self, by: usize, number: u32, to: TransactionId) {
        let mut message = Vec::new();
        Writer::go_on(TransactionId::of(number), to).write(&mut message, |out| {
            out.invoke(2, None, Code::Local(45), Some(&[0x30, 0]));
        });
        self.send(by, &message);
    }

    /// Kinds of messages of TCAP that came by that node, with their transactions there.
    fn came(&mut self, by: usize) -> Vec<(MessageType, Option<TransactionId>)> {
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
    for gateway in site.gateways {
        let rows = site.world.ask(gateway, "cluster/partitions", &[]);
        let rows = rows.as_array().unwrap().clone();
        let of = |node: u64| rows.iter().filter(|it| it["active"] == node).count();
        assert_eq!((rows.len(), of(1), of(2)), (48, 24, 24));
        assert!(rows.iter().all(|it| it["standby"].is_number() && it["standby"] != it["active"]));
        let alarms = site.world.alarms(gateway);
        assert!(alarms.iter().all(|it| !it.starts_with("cluster")), "{alarms:?}");
    }
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
    assert_eq!(site.world.fact(site.gateways[1], "sgc_cluster_crossed_total") > 0, true);
}

#[test]
fn a_node_that_dies_costs_no_dialogue_that_stands() {
    let mut site = Site::new();
    let dialogues: Vec<_> = (0..40).map(|it| (it, site.standing(0, it))).collect();
    site.world.kill(site.gateways[0]);
    site.world.pass(ms(600));
    let resumed = site.told(1);
    let resumes = resumed.iter().filter(|it| matches!(it, Indication::Resume { .. })).count();
    assert_eq!(resumes, 40, "the instance hears where they are now");
    assert!(site.world.alarms(site.gateways[1]).contains(&"cluster-node-lost node 1".to_owned()));
    for (number, here) in dialogues {
        site.go_on(1, number, here);
        assert_eq!(site.came(1), [(MessageType::End, None)], "{number}");
    }
    // New ones begin, and no identifier comes back.
    site.standing(1, 99);
}

#[test]
fn a_node_that_is_drained_loses_nothing() {
    let mut site = Site::new();
    let dialogues: Vec<_> = (0..10).map(|it| (it, site.standing(0, it))).collect();
    site.world.ask(site.gateways[0], "cluster/drain", &[]);
    site.world.pass(ms(3_000));
    let rows = site.world.ask(site.gateways[1], "cluster/partitions", &[]);
    assert!(rows.as_array().unwrap().iter().all(|it| it["active"] == 2), "{rows}");
    for (number, here) in dialogues {
        // By either association.
        site.go_on(number as usize % 2, number, here);
        let came = [site.came(0), site.came(1)].concat();
        assert_eq!(came, [(MessageType::End, None)], "{number}");
    }
}
