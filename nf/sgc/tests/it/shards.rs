//! A gateway on several shards: dialogues live on all but the first, and a shard that dies costs
//! its own alone.

use crate::world::asp::point_code;
use crate::world::{Asp, Program, World, checked, read};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::identity::mix;
use machine::{Duration, Time};
use sccp::codec::{Address, Class, Form, Message, Unit, Word};
use std::collections::BTreeMap;
use tcap::codec::{MessageType, TransactionId, Writer};
use tcu::{ClientEvent, Hello, Indication, Portion, Request, Service, Spelling};

const GATEWAY: &str = "10.0.0.1:2905";
const LISTENERS: [&str; 3] = ["127.0.0.1:7700", "127.0.0.1:7701", "127.0.0.1:7702"];
const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 100 }
peer = [{ name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] }]
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
]
subsystem = [
  { name = "hlr", number = 6, user = "tcap" },
  { name = "echo", number = 7, user = "tcap", dialogues = "echoed" },
]
sccp = { concerned = ["1"] }
[[application]]
name = "hlr"
subsystem = "hlr"
listen = ["tcp:127.0.0.1:7700", "tcp:127.0.0.1:7701", "tcp:127.0.0.1:7702"]
"#;

/// Only of a paced connection the first shard hears that it stands, whichever the kernel gave it
/// to.
#[test]
fn connections_of_links_are_told_to_the_first_shard_of_several() {
    for (shards, paced) in [(1, false), (3, true)] {
        let mut config = checked(SITE);
        config.shards = shards;
        let ports = config.ports();
        let link = ports.iter().find(|port| port.listen == "10.0.0.1:2905".parse().unwrap());
        let runtime::Carrier::Stream(stream) = &link.unwrap().carrier else { unreachable!() };
        assert_eq!(stream.paced, paced, "{shards}");
    }
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Answers what begins, and ends when its peer goes on.
struct Holds;

impl Service for Holds {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        let portion = Portion::default();
        match it {
            Indication::Begin { dialogue, .. } => {
                wants.push(Request::Continue { dialogue, portion, state: None });
            }
            Indication::Continue { dialogue, .. } => {
                wants.push(Request::End { dialogue, is_prearranged: false, portion });
            }
            _ => {}
        }
    }
}

fn program(listener: usize, name: &str) -> Program {
    Program::new(LISTENERS[listener], Hello::new("hlr", "", name), Spelling::Tagged).doing(Holds)
}

/// A gateway of so many shards, and the ASP of the point code 1.
fn site(shards: u16) -> (World, usize, usize) {
    site_of(SITE, shards)
}

fn site_of(text: &str, shards: u16) -> (World, usize, usize) {
    let mut world = World::on(shards);
    let gateway = world.gateway(text);
    let asp = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(800));
    world.asp_of(asp).received.clear();
    (world, gateway, asp)
}

/// The node with the point code 1 sends a message of TCAP.
fn send(world: &mut World, asp: usize, subsystem: u8, message: &[u8]) {
    let unit = Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: true, returns: true }),
        hops: 0,
        called: Address::subsystem(None, subsystem),
        calling: Address::subsystem(Some(point_code(1)), 8),
        segmentation: None,
        importance: None,
        data: message,
    };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc, payload) = (point_code(1), point_code(9), Bytes::from(payload));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    world.at(asp, |asp, now| asp.tell(now, In::Transfer(msu)));
    world.pass(ms(60));
}

fn begin(world: &mut World, asp: usize, subsystem: u8, number: u32) {
    let mut message = Vec::new();
    Writer::begin(TransactionId::of(number)).write(&mut message, |_| ());
    send(world, asp, subsystem, &message);
}

fn go_on(world: &mut World, asp: usize, number: u32, at: TransactionId) {
    let mut message = Vec::new();
    Writer::go_on(TransactionId::of(number), at).write(&mut message, |_| ());
    send(world, asp, 6, &message);
}

/// What came for a dialogue of the ASP: its number, the kind of message, the transaction there.
type Came = (u32, String, Option<TransactionId>);

fn came(world: &mut World, asp: usize) -> Vec<Came> {
    let all = core::mem::take(&mut world.asp_of(asp).received);
    let shown = all.iter().filter_map(|msu| {
        let message = Message::read(&msu.payload).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        if unit.called.subsystem == Some(1) {
            return None;
        }
        let read = tcap::codec::Message::read(unit.data).unwrap();
        Some(match unit.word {
            Word::Service(cause) => {
                (read.otid?.number().unwrap(), format!("returned {cause}"), None)
            }
            Word::Data(_) => (read.dtid?.number().unwrap(), format!("{:?}", read.kind), read.otid),
        })
    });
    shown.collect()
}

/// What of management came: SSA is 1, SSP is 2.
fn management(world: &mut World, asp: usize) -> Vec<u8> {
    let all = core::mem::take(&mut world.asp_of(asp).received);
    let of = |msu: &Transfer| {
        let message = Message::read(&msu.payload).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        (unit.called.subsystem == Some(1)).then(|| unit.data[0])
    };
    all.iter().filter_map(of).collect()
}

fn kind(of: MessageType) -> String {
    format!("{of:?}")
}

/// The shard that a transaction of the gateway names.
fn shard_of(at: TransactionId) -> u16 {
    let mut octets = Vec::new();
    Writer::go_on(TransactionId::of(1), at).write(&mut octets, |_| ());
    let message = tcap::codec::Message::read(&octets).unwrap();
    tcap::Transactions::shard_of(&message).unwrap()
}

/// A dialogue that its instance holds: where it is.
fn held(world: &mut World, asp: usize, number: u32) -> TransactionId {
    begin(world, asp, 6, number);
    let all = came(world, asp);
    let [(of, _, Some(at))] = all[..] else { panic!("{all:?}") };
    assert_eq!(of, number);
    at
}

#[test]
fn what_begins_is_shared_out_among_the_shards_that_have_an_instance() {
    let (mut world, gateway, asp) = site(4);
    for (listener, name) in ["i-0", "i-1", "i-2"].into_iter().enumerate() {
        world.program(program(listener, name));
    }
    world.pass(ms(100));
    came(&mut world, asp);
    let mut shards = BTreeMap::new();
    for number in 0..12 {
        let at = held(&mut world, asp, number);
        *shards.entry(shard_of(at)).or_insert(0) += 1;
    }
    assert_eq!(shards, BTreeMap::from([(1, 4), (2, 4), (3, 4)]));
    let rows = world.ask(gateway, "tcap/dialogues", &[]);
    let counts = rows.as_array().unwrap().iter().map(|it| it["dialogues"].as_u64().unwrap());
    assert_eq!(counts.collect::<Vec<_>>(), [4, 4, 4], "the first shard has links alone");
    let rows = world.ask(gateway, "applications/instances", &[]);
    assert_eq!(rows.as_array().unwrap().len(), 3);
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 12);
}

#[test]
fn a_subsystem_is_in_service_while_any_shard_has_an_instance() {
    let (mut world, gateway, asp) = site(4);
    begin(&mut world, asp, 6, 1);
    assert_eq!(came(&mut world, asp), [(1, "returned 3".to_owned(), None)]);
    let [one, other] = [0, 1].map(|listener| world.program(program(listener, "i")));
    world.pass(ms(100));
    assert_eq!(management(&mut world, asp), [1], "SSA once");
    world.deafen(one);
    world.pass(ms(50));
    assert_eq!(management(&mut world, asp), [0_u8; 0]);
    held(&mut world, asp, 2);
    world.ask(gateway, "sccp/block", &[("subsystem", "hlr")]);
    world.pass(ms(20));
    assert_eq!(management(&mut world, asp), [2]);
    world.ask(gateway, "sccp/unblock", &[("subsystem", "hlr")]);
    world.pass(ms(20));
    assert_eq!(management(&mut world, asp), [1]);
    world.deafen(other);
    world.pass(ms(50));
    assert_eq!(management(&mut world, asp), [2], "SSP with the last one");
}

#[test]
fn a_source_has_its_share_once_wherever_its_dialogues_are() {
    let limited = SITE.replace("sccp = ", "tcap = { dialogues_per_source_max = 6 }\nsccp = ");
    for listeners in [1, 3] {
        let (mut world, gateway, asp) = site_of(&limited, 4);
        for listener in 0..listeners {
            world.program(program(listener, "i"));
        }
        world.pass(ms(100));
        came(&mut world, asp);
        let all: Vec<_> = (0..6).map(|number| held(&mut world, asp, number)).collect();
        begin(&mut world, asp, 6, 7);
        assert_eq!(came(&mut world, asp), [(7, kind(MessageType::Abort), None)]);
        go_on(&mut world, asp, 0, all[0]);
        assert_eq!(came(&mut world, asp), [(0, kind(MessageType::End), None)]);
        held(&mut world, asp, 8);
        begin(&mut world, asp, 6, 9);
        assert_eq!(came(&mut world, asp), [(9, kind(MessageType::Abort), None)]);
        if listeners == 1 {
            continue;
        }
        // What a shard had is nobody's any more.
        let dies = shard_of(all[1]);
        let lost = 1 + all[2..].iter().filter(|at| shard_of(**at) == dies).count();
        world.crash(gateway, dies);
        world.pass(ms(50));
        came(&mut world, asp);
        for number in 20..20 + u32::try_from(lost).unwrap() {
            held(&mut world, asp, number);
        }
    }
}

#[test]
fn a_shard_that_dies_costs_its_dialogues_and_the_links_stay() {
    let (mut world, gateway, asp) = site(3);
    for (listener, name) in ["i-0", "i-1"].into_iter().enumerate() {
        world.program(program(listener, name));
    }
    world.pass(ms(100));
    came(&mut world, asp);
    let held: Vec<TransactionId> = (1..5).map(|it| held(&mut world, asp, it)).collect();
    let dies = shard_of(held[0]);
    world.crash(gateway, dies);
    world.pass(ms(50));
    assert_eq!(management(&mut world, asp), [0_u8; 0], "the other shard serves on");
    for (number, at) in (1..5).zip(&held) {
        go_on(&mut world, asp, number, *at);
        let expected = match shard_of(*at) == dies {
            true => MessageType::Abort,
            false => MessageType::End,
        };
        assert_eq!(came(&mut world, asp), [(number, kind(expected), None)]);
    }
    // What begins goes to where an instance is.
    for number in 10..14 {
        begin(&mut world, asp, 6, number);
        let all = came(&mut world, asp);
        assert!(matches!(all[..], [(_, _, Some(at))] if shard_of(at) != dies), "{all:?}");
    }
    let rows = world.ask(gateway, "m3ua/asps", &[]);
    assert_eq!(rows[0]["state"], "active");
}

#[test]
fn the_first_shard_dies_and_the_dialogues_of_others_go_on() {
    let (mut world, gateway, asp) = site(3);
    let one = world.program(program(0, "i"));
    world.pass(ms(100));
    came(&mut world, asp);
    let at = held(&mut world, asp, 1);
    world.crash(gateway, 0);
    world.pass(ms(3_000));
    world.asp_of(asp).received.clear();
    assert!(!world.program_of(one).is_down);
    go_on(&mut world, asp, 1, at);
    assert_eq!(came(&mut world, asp), [(1, kind(MessageType::End), None)]);
    held(&mut world, asp, 2);
}

#[test]
fn a_shard_that_takes_no_work_is_passed_over_and_without_another_one_dialogues_are_aborted() {
    let (mut world, gateway, asp) = site(3);
    world.shards_of(gateway).full.insert(2);
    for number in 0..6 {
        begin(&mut world, asp, 7, number);
        assert_eq!(came(&mut world, asp), [(number, kind(MessageType::End), None)]);
    }
    assert_eq!(world.metric(gateway, "sgc_dialogue_messages_unserved_total"), 0);
    world.shards_of(gateway).full.insert(1);
    begin(&mut world, asp, 7, 9);
    assert_eq!(came(&mut world, asp), [(9, kind(MessageType::Abort), None)]);
    assert_eq!(world.metric(gateway, "sgc_dialogue_messages_unserved_total"), 1);
    // Of one that stands its peer hears as well.
    world.shards_of(gateway).full.clear();
    world.program(program(0, "i"));
    world.pass(ms(700));
    came(&mut world, asp);
    let at = held(&mut world, asp, 10);
    world.shards_of(gateway).full.extend([1, 2]);
    go_on(&mut world, asp, 10, at);
    assert_eq!(came(&mut world, asp), [(10, kind(MessageType::Abort), None)]);
    // Its application hears when its shard takes work again.
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 1);
    world.pass(ms(300));
    world.shards_of(gateway).full.clear();
    world.pass(ms(300));
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 0);
    assert_eq!(came(&mut world, asp), []);
}

#[test]
fn what_the_first_shard_did_not_take_is_told_again() {
    let (mut world, gateway, asp) = site(3);
    world.shards_of(gateway).full.insert(0);
    world.program(program(0, "i"));
    world.pass(ms(300));
    assert_eq!(management(&mut world, asp), [0_u8; 0]);
    world.shards_of(gateway).full.clear();
    world.pass(ms(300));
    assert_eq!(management(&mut world, asp), [1]);
    held(&mut world, asp, 1);
}

/// Some of what happens to a gateway, by seed: each message of the ASP is answered, and what an
/// instance or a shard has lost is aborted.
fn lives(seed: u64, shards: u16) {
    let mut state = seed;
    let mut draw = |below: u64| {
        state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        state % below
    };
    let (mut world, gateway, asp) = site(shards);
    let mut programs = vec![world.program(program(0, "first"))];
    world.pass(ms(100));
    came(&mut world, asp);
    let mut open: BTreeMap<u32, TransactionId> = BTreeMap::new();
    for number in 0..60 {
        match draw(12) {
            0 => {
                let name = format!("i-{number}");
                let listener = usize::try_from(draw(3)).unwrap();
                programs.push(world.program(program(listener, &name)));
                world.pass(ms(60));
            }
            1 if !programs.is_empty() => {
                let at = usize::try_from(draw(programs.len() as u64)).unwrap();
                world.deafen(programs.swap_remove(at));
                // Nobody takes them over: they had been answered, and have no state.
                world.pass(ms(60));
            }
            2 if shards > 1 => {
                let shard = 1 + u16::try_from(draw(u64::from(shards - 1))).unwrap();
                world.crash(gateway, shard);
                programs.retain(|it| !world.program_of(*it).is_down);
                world.pass(ms(60));
                programs.retain(|it| !world.program_of(*it).is_down);
            }
            3..=5 if !open.is_empty() => {
                let at = usize::try_from(draw(open.len() as u64)).unwrap();
                let (number, transaction) = open.iter().nth(at).map(|it| (*it.0, *it.1)).unwrap();
                open.remove(&number);
                go_on(&mut world, asp, number, transaction);
                let all = came(&mut world, asp);
                let mine: Vec<_> = all.iter().filter(|it| it.0 == number).collect();
                assert!(matches!(mine[..], [(_, kind, None)] if kind != "Continue"), "{all:?}");
            }
            6 | 7 => {
                begin(&mut world, asp, 7, number);
                let end = (number, kind(MessageType::End), None);
                assert!(came(&mut world, asp).contains(&end), "seed {seed}");
            }
            _ => {
                begin(&mut world, asp, 6, number);
                let all = came(&mut world, asp);
                let mine: Vec<_> = all.iter().filter(|it| it.0 == number).collect();
                match mine[..] {
                    [(_, _, Some(at))] => drop(open.insert(number, *at)),
                    [(_, kind, None)] => assert!(programs.is_empty(), "seed {seed}: {kind}"),
                    _ => panic!("seed {seed}: {all:?}"),
                }
            }
        }
        for (number, _, at) in came(&mut world, asp) {
            assert_eq!(at, None, "what comes by itself is an abort");
            open.remove(&number);
        }
    }
    assert!(
        programs
            .iter()
            .all(|it| { matches!(world.program_of(*it).events[..], [ClientEvent::Welcome(_)]) })
    );
}

#[test]
fn by_seed_every_message_is_answered_whatever_dies() {
    for seed in 0..24 {
        lives(seed, 1 + u16::try_from(seed % 7).unwrap());
    }
}

#[test]
fn a_gateway_has_one_to_seven_shards_and_a_place_stays_where_it_is() {
    let issues = |text: &str| {
        let mut issues = Vec::new();
        read(text).validate(&mut issues);
        issues.iter().map(|it| format!("{}: {}", it.path, it.what)).collect::<Vec<_>>()
    };
    let with = |key: &str| SITE.replacen("name", &format!("{key}\nname"), 1);
    assert_eq!(issues(&with("shards = 0")), ["shards: a gateway has 1 to 7 shards"]);
    assert_eq!(issues(&with("shards = 8")), ["shards: a gateway has 1 to 7 shards"]);
    let cores = "shards = 2\ncores = [0, 1, 2]";
    assert_eq!(issues(&with(cores)), ["cores: more cores than shards, of which there are 2"]);
    checked(&with("shards = 2\ncores = [0, 1]"));
}
