//! Connections of classes 2 and 3 through a gateway: of an application, and coupled between peers.

use super::SHARDS;
use crate::world::asp::point_code;
use crate::world::{Asp, Program, World, read};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::Duration;
use sccp::codec::{
    Address, Class, ConnectionClass, ConnectionMessage, ConnectionRequest, Digits, Form,
    LocalReference, Message, RefusalCause, ReleaseCause, Title, Unit, Word,
};
use serde_json::json;
use tcu::{
    Hello, Indication, NetworkIndication as Told, NetworkRequest as Ask, Refusal, Request, Spelling,
};

const GATEWAY: &str = "10.0.0.1:2905";
const LISTENER: &str = "127.0.0.1:7700";
const SITE: &str = r#"
name = "bsc"
point_code_format = "decimal"
point_codes = ["9"]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 100 }
peer = [
  { name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] },
  { name = "b", role = "asp", transport = "tcp", addresses = ["10.0.2.1"] },
]
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["b"], routing_context = 2, destination = [{ point_code = "2" }] },
]
subsystem = [{ name = "bssap", number = 254, user = "sccp" }]
application = [{ name = "bssap", subsystem = "bssap", listen = ["tcp:127.0.0.1:7700"] }]
translation = [
  { name = "msc", digits = "44", target = [{ point_code = "2", subsystem = 254 }] },
]
[sccp]
connections = { coupled = true, references_max = 64 }
"#;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

const fn reference(number: u32) -> LocalReference {
    LocalReference::truncated(number)
}

fn program(spelling: Spelling) -> Program {
    Program::new(LISTENER, Hello::new("bssap", "", "i"), spelling)
}

fn site() -> (World, usize, [usize; 2]) {
    let mut world = World::on(SHARDS);
    let gateway = world.gateway(SITE);
    let asps = [1, 2].map(|it| world.asp(Asp::of(&format!("10.0.{it}.1"), GATEWAY, it, it)));
    world.pass(ms(800));
    for it in asps {
        world.asp_of(it).received.clear();
    }
    (world, gateway, asps)
}

fn at(number: u32) -> Address {
    Address::subsystem(Some(point_code(number)), 254)
}

fn transfer(world: &mut World, asp: usize, opc: u32, payload: Vec<u8>) {
    let (opc, dpc, payload) = (point_code(opc), point_code(9), Bytes::from(payload));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    world.at(asp, |asp, now| asp.tell(now, In::Transfer(msu)));
    world.pass(ms(60));
}

fn send(world: &mut World, asp: usize, opc: u32, message: &ConnectionMessage<'_>) {
    let mut payload = Vec::new();
    message.write(&mut payload).unwrap();
    transfer(world, asp, opc, payload);
}

/// A CR of the connection 77 of the ASP.
fn request(called: Address, data: &[u8]) -> ConnectionMessage<'_> {
    ConnectionMessage::Request(ConnectionRequest {
        source: reference(77),
        class: ConnectionClass::Basic,
        called,
        credit: None,
        calling: None,
        hops: None,
        importance: None,
        data: Some(data),
    })
}

/// What came to an ASP, message by message, given to `look`.
fn came(world: &mut World, asp: usize, mut look: impl FnMut(&ConnectionMessage<'_>)) -> usize {
    let all = core::mem::take(&mut world.asp_of(asp).received);
    let mut count = 0;
    for msu in &all {
        let message = Message::read(&msu.payload).unwrap();
        if let Some(message) = ConnectionMessage::of(&message).unwrap() {
            look(&message);
            count += 1;
        }
    }
    count
}

fn told(world: &mut World, program: usize) -> Vec<Told> {
    let all = world.program_of(program).take_told();
    let network = all.into_iter().filter_map(|it| match it {
        Indication::Network(it) => Some(it),
        _ => None,
    });
    network.collect()
}

fn ask(world: &mut World, program: usize, it: Ask) {
    world.at_program(program, |program| program.ask(&Request::Network(it)));
    world.pass(ms(30));
}

/// A connection that an application has opened to the node 2: its number, and the reference there.
fn opened(world: &mut World, one: usize, b: usize) -> (u32, LocalReference) {
    let (called, calling) = (at(2), at(9));
    let data = Bytes::from_static(b"complete layer 3");
    ask(world, one, Ask::Connect { reference: 1, called, calling, class: 2, data });
    let mut source = None;
    let count = came(world, b, |it| {
        let ConnectionMessage::Request(it) = it else { panic!("{it:?}") };
        assert_eq!((it.called.subsystem, it.data), (Some(254), Some(&b"complete layer 3"[..])));
        source = Some(it.source);
    });
    assert_eq!(count, 1);
    let destination = source.unwrap();
    let (called, credit, importance, data) = (None, None, None, None);
    let (source, class) = (reference(5), ConnectionClass::Basic);
    let confirm =
        ConnectionMessage::Confirm { destination, source, class, credit, called, importance, data };
    send(world, b, 2, &confirm);
    let all = told(world, one);
    let [Told::Connecting { reference: 1, connection }, Told::Connected { class: 2, .. }] = all[..]
    else {
        panic!("{all:?}")
    };
    assert_eq!(destination.number(), connection);
    (connection, destination)
}

#[test]
fn an_application_opens_a_connection_and_both_sides_speak() {
    for spelling in [Spelling::Json, Spelling::Tagged] {
        let (mut world, gateway, [_, b]) = site();
        let one = world.program(program(spelling));
        world.pass(ms(100));
        let (connection, destination) = opened(&mut world, one, b);
        let data = ConnectionMessage::Data1 { destination, more: false, data: b"accept" };
        send(&mut world, b, 2, &data);
        let whole = Told::Data { connection, data: Bytes::from_static(b"accept") };
        assert_eq!(told(&mut world, one), [whole]);
        ask(&mut world, one, Ask::Data { connection, data: Bytes::from_static(b"complete") });
        let count = came(&mut world, b, |it| {
            let is = matches!(it, ConnectionMessage::Data1 { destination, data: b"complete", .. }
                if *destination == reference(5));
            assert!(is, "{it:?}");
        });
        assert_eq!(count, 1);
        let rows = world.ask(gateway, "sccp/connections", &[]);
        assert_eq!(rows[0]["state"], "active");
        assert_eq!((&rows[0]["point_code"], &rows[0]["subsystem"]), (&json!("2"), &json!(254)));
        let (source, importance, data) = (reference(5), None, None);
        let cause = ReleaseCause::UserOriginated.number();
        let message = ConnectionMessage::Released { destination, source, cause, importance, data };
        send(&mut world, b, 2, &message);
        let all = told(&mut world, one);
        assert!(
            matches!(all[..], [Told::Disconnect { connection: Some(it), is_refused: false, .. }]
                if it == connection),
            "{all:?}"
        );
        assert_eq!(world.ask(gateway, "sccp/connections", &[]), json!([]));
        // It is over: nothing more can be said on it.
        ask(&mut world, one, Ask::Data { connection, data: Bytes::from_static(b"x") });
        assert_eq!(told(&mut world, one), [Told::NotSent { connection }]);
    }
}

#[test]
fn an_application_is_asked_accepts_and_its_death_releases() {
    let (mut world, gateway, [a, _]) = site();
    // Nobody is there.
    send(&mut world, a, 1, &request(at(9), b"cl3"));
    let refused = RefusalCause::SubsystemFailure.number();
    came(&mut world, a, |it| {
        let is = matches!(it, ConnectionMessage::Refused { cause, .. } if *cause == refused);
        assert!(is, "{it:?}");
    });
    let one = world.program(program(Spelling::Json));
    world.pass(ms(100));
    world.asp_of(a).received.clear();
    send(&mut world, a, 1, &request(at(9), b"cl3"));
    let all = told(&mut world, one);
    let [Told::Connect { connection, class: 2, .. }] = all[..] else { panic!("{all:?}") };
    ask(&mut world, one, Ask::Accept { connection, class: None, data: Bytes::new() });
    let count = came(&mut world, a, |it| {
        let is = matches!(it, ConnectionMessage::Confirm { destination, source, .. }
            if (*destination, source.number()) == (reference(77), connection));
        assert!(is, "{it:?}");
    });
    assert_eq!(count, 1);
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 1);
    // Its instance dies: the peer hears so.
    world.deafen(one);
    world.pass(ms(50));
    let cause = ReleaseCause::SubsystemFailure.number();
    let mut releases = 0;
    came(&mut world, a, |it| {
        releases += usize::from(matches!(it, ConnectionMessage::Released { cause: it, .. }
            if *it == cause));
    });
    assert_eq!(releases, 1);
}

#[test]
fn what_is_another_s_cannot_be_had_or_said() {
    let (mut world, _, [a, b]) = site();
    let [one, other] = [Spelling::Json, Spelling::Tagged].map(|it| world.program(program(it)));
    world.pass(ms(100));
    let (connection, _) = opened(&mut world, one, b);
    ask(&mut world, other, Ask::Data { connection, data: Bytes::from_static(b"x") });
    assert_eq!(told(&mut world, other), [Told::NotSent { connection }]);
    let (called, data) = (at(2), Bytes::new());
    let calling = at(1);
    ask(&mut world, other, Ask::Connect { reference: 9, called, calling, class: 2, data });
    let refused = world.program_of(other).take_told();
    let why = Refusal::Calling;
    assert_eq!(refused, [Indication::Refused { reference: Some(9), dialogue: None, why }]);
    assert_eq!(came(&mut world, b, |_| ()), 0);
    // Nor by a peer from elsewhere.
    let destination = reference(connection);
    let data = ConnectionMessage::Data1 { destination, more: false, data: b"x" };
    send(&mut world, a, 1, &data);
    assert!(told(&mut world, one).is_empty());
}

#[test]
fn unitdata_reach_the_application_and_what_cannot_be_delivered_comes_back() {
    let (mut world, _, [a, _]) = site();
    let one = world.program(program(Spelling::Json));
    world.pass(ms(100));
    world.asp_of(a).received.clear();
    let unit = Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: false, returns: false }),
        hops: 0,
        called: at(9),
        calling: at(1),
        segmentation: None,
        importance: None,
        data: b"reset",
    };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    transfer(&mut world, a, 1, payload);
    let (called, calling) = (at(9), at(1));
    let reset = Told::Unitdata { called, calling, data: Bytes::from_static(b"reset") };
    assert_eq!(told(&mut world, one), [reset]);
    let data = Bytes::from_static(b"reset ack");
    let (called, calling, returns) = (at(1), at(9), true);
    ask(&mut world, one, Ask::Unitdata { called, calling, class: 0, returns, data: data.clone() });
    let all = core::mem::take(&mut world.asp_of(a).received);
    let message = Message::read(&all[0].payload).unwrap();
    assert_eq!(Unit::of(&message).unwrap().unwrap().data, b"reset ack");
    let called = at(7);
    ask(&mut world, one, Ask::Unitdata { called, calling, class: 0, returns, data: data.clone() });
    assert_eq!(told(&mut world, one), [Told::Notice { called, calling, cause: 5, data }]);
}

#[test]
fn a_relay_couples_two_peers_and_the_loss_of_one_releases_the_other() {
    let (mut world, gateway, [a, b]) = site();
    let title = Address::title(Title::e164(Digits::parse("447700").unwrap()), 254);
    send(&mut world, a, 1, &request(title, b"cl3"));
    let mut onward = None;
    assert_eq!(
        came(&mut world, b, |it| {
            let ConnectionMessage::Request(it) = it else { panic!("{it:?}") };
            assert_eq!(it.data, Some(&b"cl3"[..]));
            assert_ne!(it.source, reference(77), "a reference of the relay's own");
            onward = Some(it.source);
        }),
        1
    );
    let destination = onward.unwrap();
    let confirm = ConnectionMessage::Confirm {
        destination,
        source: reference(5),
        class: ConnectionClass::Basic,
        credit: None,
        called: None,
        importance: None,
        data: Some(b"yes"),
    };
    send(&mut world, b, 2, &confirm);
    let mut near = None;
    assert_eq!(
        came(&mut world, a, |it| {
            let ConnectionMessage::Confirm { destination, source, data, .. } = it else {
                panic!("{it:?}")
            };
            assert_eq!((*destination, *data), (reference(77), Some(&b"yes"[..])));
            near = Some(*source);
        }),
        1
    );
    let data = ConnectionMessage::Data1 { destination: near.unwrap(), more: true, data: b"a part" };
    send(&mut world, a, 1, &data);
    assert_eq!(
        came(&mut world, b, |it| {
            let is = matches!(it, ConnectionMessage::Data1 { more: true, data: b"a part", .. });
            assert!(is, "{it:?}");
        }),
        1
    );
    let rows = world.ask(gateway, "sccp/connections", &[]);
    let coupled = rows.as_array().unwrap().iter().filter(|it| !it["coupled"].is_null());
    assert_eq!(coupled.count(), 2);
    assert_eq!(world.metric(gateway, "sccp_connections_coupled_total"), 1);
    world.deafen(b);
    world.pass(ms(500));
    let cause = ReleaseCause::MtpFailure.number();
    assert_eq!(
        came(&mut world, a, |it| {
            assert!(matches!(it, ConnectionMessage::Released { cause: it, .. } if *it == cause));
        }),
        1
    );
}

#[test]
fn a_peer_has_no_more_references_than_its_share() {
    let (mut world, gateway, [a, _]) = site();
    world.program(program(Spelling::Json));
    world.pass(ms(100));
    world.asp_of(a).received.clear();
    for number in 0..80 {
        let ConnectionMessage::Request(it) = request(at(9), b"cl3") else { unreachable!() };
        let source = reference(1_000 + number);
        send(&mut world, a, 1, &ConnectionMessage::Request(ConnectionRequest { source, ..it }));
    }
    let full = RefusalCause::NoServiceNow.number();
    let refused = came(&mut world, a, |it| {
        assert!(matches!(it, ConnectionMessage::Refused { cause, .. } if *cause == full));
    });
    assert!(refused >= 40, "{refused} of 80 found no room among 64");
    let rows = world.ask(gateway, "sccp/connections", &[]);
    assert_eq!(rows.as_array().unwrap().len(), 80 - refused);
}

#[test]
fn a_shard_that_dies_releases_its_connections() {
    let (mut world, gateway, [_, b]) = site();
    if SHARDS == 1 {
        return;
    }
    let one = world.program(program(Spelling::Tagged));
    world.pass(ms(100));
    opened(&mut world, one, b);
    for shard in (1..7).take_while(|it| *it < SHARDS) {
        world.crash(gateway, shard);
    }
    world.pass(ms(50));
    let cause = ReleaseCause::SubsystemFailure.number();
    let count = came(&mut world, b, |it| {
        assert!(matches!(it, ConnectionMessage::Released { cause: it, .. } if *it == cause));
    });
    assert_eq!(count, 1);
    // The first one dies: its applications hear that no connection is left.
    let again = world.program(program(Spelling::Json));
    world.pass(ms(100));
    world.asp_of(b).received.clear();
    let (connection, _) = opened(&mut world, again, b);
    world.crash(gateway, 0);
    world.pass(ms(100));
    let all = told(&mut world, again);
    assert!(
        matches!(all[..], [Told::Disconnect { connection: Some(it), .. }] if it == connection),
        "{all:?}"
    );
}

/// Releases that came to an ASP.
fn released(world: &mut World, asp: usize) -> usize {
    let mut releases = 0;
    came(world, asp, |it| {
        releases += usize::from(matches!(it, ConnectionMessage::Released { .. }))
    });
    releases
}

/// The application hears that a connection is no more, and nothing else.
fn is_over(world: &mut World, program: usize, of: u32) {
    let all = told(world, program);
    assert!(
        matches!(all[..], [Told::Disconnect { connection: Some(it), is_refused: false, .. }]
            if it == of),
        "{all:?}"
    );
}

/// Shards take work again, and what they did not take is said again.
fn take_work(world: &mut World, gateway: usize) {
    world.shards_of(gateway).full.clear();
    world.pass(ms(300));
}

#[test]
fn what_a_shard_did_not_take_of_a_connection_ends_it_on_both_sides() {
    if SHARDS == 1 {
        return;
    }
    let (mut world, gateway, [_, b]) = site();
    let one = world.program(program(Spelling::Tagged));
    world.pass(ms(100));
    // Data of the peer.
    let (connection, destination) = opened(&mut world, one, b);
    world.shards_of(gateway).full.extend(1..SHARDS);
    send(&mut world, b, 2, &ConnectionMessage::Data1 { destination, more: false, data: b"lost" });
    assert_eq!((released(&mut world, b), told(&mut world, one)), (1, Vec::new()));
    take_work(&mut world, gateway);
    is_over(&mut world, one, connection);
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 0);
    // Its end.
    let (connection, destination) = opened(&mut world, one, b);
    world.shards_of(gateway).full.extend(1..SHARDS);
    let (source, importance, data, cause) = (reference(5), None, None, 3);
    let message = ConnectionMessage::Released { destination, source, cause, importance, data };
    send(&mut world, b, 2, &message);
    assert_eq!(told(&mut world, one), []);
    take_work(&mut world, gateway);
    is_over(&mut world, one, connection);
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 0);
    // Data of the application.
    world.asp_of(b).received.clear();
    let (connection, _) = opened(&mut world, one, b);
    world.shards_of(gateway).full.insert(0);
    ask(&mut world, one, Ask::Data { connection, data: Bytes::from_static(b"lost") });
    is_over(&mut world, one, connection);
    assert_eq!(released(&mut world, b), 0);
    take_work(&mut world, gateway);
    assert_eq!(released(&mut world, b), 1);
    // Its end.
    let (connection, _) = opened(&mut world, one, b);
    world.shards_of(gateway).full.insert(0);
    ask(&mut world, one, Ask::Disconnect { connection, cause: 3, data: Bytes::new() });
    assert_eq!(released(&mut world, b), 0);
    take_work(&mut world, gateway);
    assert_eq!((released(&mut world, b), told(&mut world, one)), (1, Vec::new()));
}

#[test]
fn a_connection_that_begins_while_its_shard_takes_nothing_is_refused_to_its_application() {
    if SHARDS == 1 {
        return;
    }
    let (mut world, gateway, [_, b]) = site();
    let one = world.program(program(Spelling::Tagged));
    world.pass(ms(100));
    world.shards_of(gateway).full.extend(1..SHARDS);
    let (called, calling, data) = (at(2), at(9), Bytes::new());
    ask(&mut world, one, Ask::Connect { reference: 1, called, calling, class: 2, data });
    assert_eq!(told(&mut world, one), []);
    take_work(&mut world, gateway);
    let all = told(&mut world, one);
    assert!(
        matches!(all[..], [Told::Disconnect { reference: Some(1), is_refused: true, .. }]),
        "{all:?}"
    );
    assert_eq!(world.sum(gateway, "applications", "dialogues"), 0);
    world.asp_of(b).received.clear();
    opened(&mut world, one, b);
}

#[test]
fn a_shard_that_begins_anew_says_so_until_it_is_taken() {
    if SHARDS == 1 {
        return;
    }
    let (mut world, gateway, [_, b]) = site();
    let one = world.program(program(Spelling::Tagged));
    world.pass(ms(100));
    let (connection, _) = opened(&mut world, one, b);
    world.shards_of(gateway).full.extend(1..SHARDS);
    world.crash(gateway, 0);
    world.pass(ms(3_000));
    assert_eq!(told(&mut world, one), []);
    take_work(&mut world, gateway);
    is_over(&mut world, one, connection);
    world.asp_of(b).received.clear();
    opened(&mut world, one, b);
    world.shards_of(gateway).full.insert(0);
    (1..SHARDS).for_each(|shard| world.crash(gateway, shard));
    world.pass(ms(50));
    assert_eq!(released(&mut world, b), 0);
    take_work(&mut world, gateway);
    assert_eq!(released(&mut world, b), 1);
}

#[test]
fn a_subsystem_without_tcap_has_an_application() {
    let without = SITE.replace("application = [{", "# [{");
    let mut issues = Vec::new();
    read(&without).validate(&mut issues);
    let said: Vec<String> = issues.iter().map(|it| format!("{}: {}", it.path, it.what)).collect();
    assert_eq!(said, ["subsystem[0].user: no application takes what comes for `bssap`"]);
}
