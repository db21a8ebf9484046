//! Applications of a gateway: instances over a connection answer dialogues that come by SCCP.

use super::SHARDS;
use crate::world::asp::point_code;
use crate::world::{Asp, Program, World, read};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::Duration;
use sccp::codec::{Address, Class, Digits, Form, Message, Title, Unit, Word};
use tcap::codec::{Code, MessageType, TransactionId, Writer};
use tcu::{ClientEvent, Echo, Hello, Indication, Portion, Request, Spelling};

const GATEWAY: &str = "10.0.0.1:2905";
const LISTENER: &str = "127.0.0.1:7700";
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
subsystem = [{ name = "hlr", number = 6, user = "tcap" }]
[[application]]
name = "hlr"
subsystem = "hlr"
listen = ["tcp:127.0.0.1:7700", "unix:hlr.sock"]
[[translation]]
name = "abroad"
digits = "44"
target = [{ point_code = "1", subsystem = 8 }]
[sccp]
concerned = ["1"]
"#;

const ABSENT: [&str; 2] = ["subsystem-prohibited hlr", "application-absent hlr"];

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn program(spelling: Spelling) -> Program {
    Program::new(LISTENER, Hello::new("hlr", "", "i"), spelling)
}

/// A gateway and the ASP of the point code 1.
fn site(text: &str) -> (World, usize, usize) {
    let mut world = World::on(SHARDS);
    let gateway = world.gateway(text);
    let asp = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(800));
    world.asp_of(asp).received.clear();
    (world, gateway, asp)
}

/// The node with the point code 1 sends a message of TCAP to the HLR.
fn send(world: &mut World, asp: usize, message: Vec<u8>) {
    let unit = Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: true, returns: true }),
        hops: 0,
        called: Address::subsystem(None, 6),
        calling: Address::subsystem(Some(point_code(1)), 8),
        segmentation: None,
        importance: None,
        data: &message,
    };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc, payload) = (point_code(1), point_code(9), Bytes::from(payload));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    world.at(asp, |asp, now| asp.tell(now, In::Transfer(msu)));
    world.pass(ms(60));
}

fn begin(world: &mut World, asp: usize, number: u32) {
    let mut message = Vec::new();
    Writer::begin(TransactionId::of(number))
        .request(&[4, 0, 0, 1, 0, 20, 3], &[])
        .write(&mut message, |out| out.invoke(1, None, Code::Local(45), Some(&[0x30, 0])));
    send(world, asp, message);
}

/// What came to the ASP: kinds of messages of TCAP, or return causes and management of SCCP.
fn came(world: &mut World, asp: usize) -> Vec<String> {
    let all = core::mem::take(&mut world.asp_of(asp).received);
    let shown = all.iter().map(|msu| {
        let message = Message::read(&msu.payload).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        match (unit.word, unit.called.subsystem) {
            (_, Some(1)) => format!("management {}", unit.data[0]),
            (Word::Service(cause), _) => format!("returned {cause}"),
            (Word::Data(_), _) => {
                let read = tcap::codec::Message::read(unit.data).unwrap();
                format!("{:?}", read.kind)
            }
        }
    });
    shown.collect()
}

fn without_application(text: &str) -> String {
    let start = text.find("[[application]]").unwrap();
    let end = text.find("[[translation]]").unwrap();
    format!("{}{}", &text[..start], &text[end..])
}

#[test]
fn the_dialogues_of_a_subsystem_are_its_application_s() {
    for spelling in [Spelling::Json, Spelling::Tagged] {
        let (mut world, gateway, asp) = site(SITE);
        // Nobody is there: the subsystem is prohibited, and what comes for it is returned.
        begin(&mut world, asp, 1);
        assert_eq!(came(&mut world, asp), ["management 2", "returned 3"]);
        assert_eq!(world.alarms(gateway), ABSENT);
        let one = world.program(program(spelling).doing(Echo));
        world.pass(ms(100));
        assert!(matches!(world.program_of(one).events[..], [ClientEvent::Welcome(_)]));
        assert_eq!(came(&mut world, asp), ["management 1"], "SSA");
        assert!(world.alarms(gateway).is_empty());
        begin(&mut world, asp, 2);
        world.pass(ms(50));
        assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::End)]);
        let sums = ["begun_there", "dialogues"].map(|it| world.sum(gateway, "applications", it));
        assert_eq!(sums, [1, 0]);
        let rows = world.ask(gateway, "applications/instances", &[]);
        assert_eq!((&rows[0]["name"], &rows[0]["state"]), (&"i".into(), &"ready".into()));
        // It goes: SSP.
        world.deafen(one);
        world.pass(ms(50));
        assert_eq!(came(&mut world, asp), ["management 2"]);
        assert_eq!(world.alarms(gateway), ABSENT);
    }
}

#[test]
fn an_instance_begins_a_dialogue_with_a_title_that_is_translated() {
    let (mut world, _, asp) = site(SITE);
    let one = world.program(program(Spelling::Json));
    world.pass(ms(100));
    came(&mut world, asp);
    let request = Request::Begin {
        reference: 1,
        called: Address::title(Title::e164(Digits::parse("447700").unwrap()), 8),
        calling: Address::subsystem(Some(point_code(9)), 6),
        state: None,
        portion: Portion {
            context: Some(Bytes::from_static(&[4, 0, 0, 1, 0, 20, 3])),
            ..Portion::default()
        },
    };
    world.at_program(one, |it| it.ask(&request));
    let told = world.program_of(one).take_told();
    assert!(matches!(told[..], [Indication::Begun { reference: 1, .. }]), "{told:?}");
    assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::Begin)]);
}

#[test]
fn an_instance_that_dies_leaves_its_dialogues_to_another() {
    let (mut world, gateway, asp) = site(SITE);
    let [one, other] = [Spelling::Json, Spelling::Tagged].map(|it| world.program(program(it)));
    world.pass(ms(100));
    begin(&mut world, asp, 1);
    let told = [one, other].map(|id| world.program_of(id).take_told().len());
    assert_eq!(told.iter().sum::<usize>(), 1);
    let (dies, lives) = if told[0] == 1 { (one, other) } else { (other, one) };
    world.deafen(dies);
    world.pass(ms(50));
    let told = world.program_of(lives).take_told();
    let [Indication::Begin { dialogue, is_again: true, .. }] = told[..] else { panic!("{told:?}") };
    let portion = Portion::default();
    world.at_program(lives, |it| {
        it.ask(&Request::End { dialogue, is_prearranged: false, portion });
    });
    assert!(came(&mut world, asp).contains(&format!("{:?}", MessageType::End)));
    assert_eq!(world.sum(gateway, "applications", "resumed"), 1);
}

#[test]
fn an_operator_s_block_holds_against_an_instance() {
    let (mut world, gateway, asp) = site(SITE);
    let one = world.program(program(Spelling::Json).doing(Echo));
    world.pass(ms(100));
    came(&mut world, asp);
    world.ask(gateway, "sccp/block", &[("subsystem", "hlr")]);
    world.pass(ms(20));
    assert_eq!(came(&mut world, asp), ["management 2"]);
    world.deafen(one);
    world.program(program(Spelling::Json).doing(Echo));
    world.pass(ms(100));
    begin(&mut world, asp, 1);
    assert!(came(&mut world, asp).contains(&"returned 3".to_owned()));
    world.ask(gateway, "sccp/unblock", &[("subsystem", "hlr")]);
    begin(&mut world, asp, 2);
    world.pass(ms(50));
    assert!(came(&mut world, asp).contains(&format!("{:?}", MessageType::End)));
    // Nor does a commit that takes the application away end it.
    world.ask(gateway, "sccp/block", &[("subsystem", "hlr")]);
    world.configure(gateway, &without_application(SITE));
    world.pass(ms(50));
    came(&mut world, asp);
    begin(&mut world, asp, 3);
    assert!(came(&mut world, asp).contains(&"returned 3".to_owned()));
}

#[test]
fn an_instance_speaks_in_the_name_of_its_own_subsystem_alone() {
    let titles = "titles = [\"4477\"]\nlisten = [\"tcp:127";
    let (mut world, _, asp) = site(&SITE.replace("listen = [\"tcp:127", titles));
    let one = world.program(program(Spelling::Json));
    world.pass(ms(100));
    came(&mut world, asp);
    let title = |digits: &str| Address::title(Title::e164(Digits::parse(digits).unwrap()), 6);
    let mut asks = |calling| {
        let called = Address::subsystem(Some(point_code(1)), 8);
        let (state, portion) = (None, Portion::default());
        let request = Request::Begin { reference: 1, called, calling, state, portion };
        world.at_program(one, |it| it.ask(&request));
        let told = world.program_of(one).take_told();
        (matches!(told[..], [Indication::Begun { .. }]), came(&mut world, asp).len())
    };
    for foreign in [
        Address::subsystem(Some(point_code(1)), 6),
        Address::subsystem(Some(point_code(9)), 8),
        title("447800"),
    ] {
        assert_eq!(asks(foreign), (false, 0), "{foreign:?}");
    }
    for own in [Address::subsystem(Some(point_code(9)), 6), title("44770")] {
        assert_eq!(asks(own), (true, 1), "{own:?}");
    }
}

#[test]
fn with_refused_the_subsystem_stays_in_service_and_refuses() {
    let text = SITE.replace("listen = [\"tcp:127", "absent = \"refused\"\nlisten = [\"tcp:127");
    let (mut world, gateway, asp) = site(&text);
    begin(&mut world, asp, 1);
    assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::Abort)]);
    // A commit takes the application away: its instances are told.
    let one = world.program(program(Spelling::Json));
    world.pass(ms(100));
    begin(&mut world, asp, 2);
    came(&mut world, asp);
    let without = without_application(&text);
    let said = read(&text).application_interruptions(&read(&without));
    let said: Vec<&str> = said.iter().map(|it| &*it.what).collect();
    assert_eq!(said, ["this application ends with its dialogues: hlr"]);
    assert!(read(&text).application_interruptions(&read(SITE)).is_empty());
    world.configure(gateway, &without);
    world.pass(ms(50));
    let it = world.program_of(one);
    let why = "the application is configured no more";
    assert!(matches!(&it.events[..], [_, ClientEvent::Bye(said)] if said == why));
    assert!(it.is_down);
    let kinds = came(&mut world, asp);
    assert!(kinds.contains(&format!("{:?}", MessageType::Abort)), "{kinds:?}");
    begin(&mut world, asp, 3);
    assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::Abort)], "as without one");
    // And back.
    world.configure(gateway, SITE);
    let again = world.program(program(Spelling::Tagged).doing(Echo));
    world.pass(ms(200));
    assert_eq!(world.program_of(again).events.len(), 1);
    begin(&mut world, asp, 4);
    world.pass(ms(50));
    assert!(came(&mut world, asp).contains(&format!("{:?}", MessageType::End)));
}

/// The node with the point code 1 goes on with a dialogue, or ends it.
fn goes_on(world: &mut World, asp: usize, writer: Writer<'_>) {
    let mut message = Vec::new();
    writer.write(&mut message, |out| out.invoke(2, None, Code::Local(45), Some(&[0x30, 0])));
    send(world, asp, message);
}

#[test]
fn under_overload_no_dialogue_begins_and_those_that_stand_go_on() {
    let (mut world, gateway, asp) = site(&SITE.replace(PLACES, "service = \"monitor\""));
    begin(&mut world, asp, 1);
    let theirs = {
        let all = core::mem::take(&mut world.asp_of(asp).received);
        let message = Message::read(&all[0].payload).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        let read = tcap::codec::Message::read(unit.data).unwrap();
        assert_eq!(read.kind, MessageType::Continue);
        read.otid.unwrap()
    };
    // What comes has waited for longer than a begin may, and not as long as an MSU may.
    let late = |world: &mut World, delay| {
        let now = world.now;
        for shard in &mut world.shards_of(gateway).all {
            runtime::Function::waited(shard, now, delay);
        }
    };
    late(&mut world, ms(101));
    begin(&mut world, asp, 2);
    let all = core::mem::take(&mut world.asp_of(asp).received);
    let message = Message::read(&all[0].payload).unwrap();
    let unit = Unit::of(&message).unwrap().unwrap();
    let read = tcap::codec::Message::read(unit.data).unwrap();
    let told = (all.len(), read.kind, read.dtid, read.p_abort);
    let cause = Some(tcap::codec::PAbortCause::ResourceLimitation.number().into());
    assert_eq!(told, (1, MessageType::Abort, Some(TransactionId::of(2)), cause));
    goes_on(&mut world, asp, Writer::go_on(TransactionId::of(1), theirs));
    assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::Continue)], "it is answered");
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 1);
    goes_on(&mut world, asp, Writer::end(theirs));
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 0);
    let mut shed = 0;
    for shard in &world.shards_of(gateway).all {
        for (row, reading) in runtime::Function::cells(shard).iter().flat_map(|it| it.samples()) {
            if let event::Sample::Value(count) = reading
                && row.name == "tcap_shed_late_total"
            {
                shed += count;
            }
        }
    }
    assert_eq!(shed, 1);
    late(&mut world, ms(100));
    begin(&mut world, asp, 3);
    assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::Continue)]);
}

const PLACES: &str = "listen = [\"tcp:127.0.0.1:7700\", \"unix:hlr.sock\"]";

#[test]
fn a_service_inside_answers_without_a_connection_and_gives_way_to_instances_live() {
    let inside = SITE.replace(PLACES, "service = \"echo\"");
    let (mut world, gateway, asp) = site(SITE);
    assert_eq!(world.alarms(gateway), ABSENT);
    world.configure(gateway, &inside);
    world.pass(ms(100));
    assert_eq!(came(&mut world, asp), ["management 1"], "SSA");
    assert!(world.alarms(gateway).is_empty());
    begin(&mut world, asp, 1);
    assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::End)]);
    let begun = world.sum(gateway, "applications", "begun_there");
    assert_eq!((begun, world.sum(gateway, "applications", "dialogues")), (1, 0));
    let rows = world.ask(gateway, "applications", &[]);
    assert_eq!(rows[0]["listens"], serde_json::json!(["inside"]));
    world.configure(gateway, SITE);
    world.pass(ms(100));
    assert_eq!(came(&mut world, asp), ["management 2"], "SSP: no instance is there");
    assert_eq!(world.alarms(gateway), ABSENT);
    world.program(program(Spelling::Tagged).doing(Echo));
    world.pass(ms(100));
    assert_eq!(came(&mut world, asp), ["management 1"]);
    world.configure(gateway, &SITE.replace(PLACES, "service = \"monitor\""));
    world.pass(ms(100));
    came(&mut world, asp);
    begin(&mut world, asp, 2);
    assert_eq!(came(&mut world, asp), [format!("{:?}", MessageType::Continue)], "a reject");
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 1);
}

#[test]
fn a_service_inside_has_what_it_reads_and_nothing_that_instances_have() {
    let refused = |to: &str| {
        let mut issues = Vec::new();
        read(&SITE.replace(PLACES, to)).validate(&mut issues);
        issues.iter().map(|it| format!("{}: {}", it.path, it.what)).collect::<Vec<_>>()
    };
    assert_eq!(refused("service = \"monitor\""), Vec::<String>::new());
    assert_eq!(refused(""), ["application[0].listen: no instance can connect"]);
    let lacks = [
        "application[0].allowed: nobody may ask this HLR",
        "application[0].file: the HLR has no subscribers",
    ];
    assert_eq!(refused("service = \"hlr\""), lacks);
    let hlr = "service = \"hlr\"\nfile = \"it.csv\"\nallowed = ";
    assert_eq!(refused(&format!("{hlr}[\"4478\", \"*\"]")), Vec::<String>::new());
    let wrong = ["application[0].allowed[0]: `x` is no title"];
    assert_eq!(refused(&format!("{hlr}[\"x\"]")), wrong);
    let unread = ["application[0].allowed: nobody is held against it"];
    assert_eq!(refused("service = \"echo\"\nallowed = [\"4478\"]"), unread);
    let unread = ["application[0].file: this service has no file"];
    assert_eq!(refused("service = \"echo\"\nfile = \"it.csv\""), unread);
    let unread = ["application[0].file: nobody reads this file"];
    assert_eq!(refused("listen = [\"unix:a.sock\"]\nfile = \"it.csv\""), unread);
    let both = "listen = [\"unix:a.sock\"]\ngroups = [\"a\"]\nservice = \"echo\"";
    let inside =
        ["listen", "groups"].map(|it| format!("application[0].{it}: the service is inside"));
    assert_eq!(refused(both), inside);
}

#[test]
fn lines_that_are_no_messages_are_told_and_counted() {
    let (mut world, gateway, _) = site(SITE);
    let one = world.program(program(Spelling::Json));
    world.pass(ms(100));
    world.at_program(one, |it| it.say(b"{\"tc\":\"n-state\",\"in_service\":true,\"more\":[]}\n"));
    let it = world.program_of(one);
    assert!(
        matches!(&it.events[..], [_, ClientEvent::Malformed(it)]
        if it.what.starts_with("no such member here") && it.at == 41),
        "{:?}",
        it.events
    );
    assert_eq!(world.sum(gateway, "applications", "malformed"), 1);
}

#[test]
fn what_would_let_strangers_in_or_leads_nowhere_is_refused_by_the_check() {
    let refused = |from: &str, to: &str| {
        let mut issues = Vec::new();
        read(&SITE.replace(from, to)).validate(&mut issues);
        issues.iter().map(|it| format!("{}: {}", it.path, it.what)).collect::<Vec<_>>()
    };
    let place = "\"tcp:127.0.0.1:7700\"";
    let far = ["application[0].listen[0]: whoever reaches this address could be the application"];
    assert_eq!(refused(place, "\"tcp:10.0.0.1:7700\""), far);
    assert_eq!(
        refused(place, "\"tls:127.0.0.1:7700\""),
        ["application[0].listen[0]: TLS has no keys"]
    );
    let without_roots = "\"tls:10.0.0.1:7700\"]\n\
        tls = { certificate = \"c\", key = \"k\", verify_clients = true } #";
    assert_eq!(
        refused(place, without_roots),
        ["application[0].listen[0]: nothing says which certificates are good"]
    );
    assert_eq!(
        refused(place, "\"udp:127.0.0.1:7700\""),
        ["application[0].listen[0]: `udp:127.0.0.1:7700` is no place to connect to"]
    );
    let place = "\"unix:hlr.sock\", \"unix:hlr.sock\"";
    let twice = ["application[0].listen[2]: this place stands here twice"];
    assert_eq!(refused("\"unix:hlr.sock\"", place), twice);
    assert_eq!(
        refused("subsystem = \"hlr\"", "subsystem = \"hrl\""),
        ["application[0].subsystem: there is no subsystem `hrl`"]
    );
    assert_eq!(
        refused("subsystem = \"hlr\"", "subsystem = \"hlr\"\ntitles = [\"44\", \"\", \"4g\"]"),
        ["application[0].titles[1]: `` is no title", "application[0].titles[2]: `4g` is no title"]
    );
    assert_eq!(
        refused("user = \"tcap\"", "user = \"tcap\", dialogues = \"echoed\""),
        ["application[0].subsystem: the subsystem `hlr` echoes its dialogues"]
    );
}
