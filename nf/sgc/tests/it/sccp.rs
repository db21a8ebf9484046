//! SCCP and TCAP of a gateway: titles are translated, subsystems answer, and the operator sees why.

use super::SHARDS;
use crate::world::asp::point_code;
use crate::world::{Asp, World, read};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::Duration;
use sccp::codec::{
    Address, Class, Digits, Form, Management, ManagementType, Message, ReturnCause, Routing, Title,
    Unit, Word,
};
use serde_json::{Value, json};
use tcap::codec::{Code, Diagnostic, Dialogue, MessageType, Payload, TransactionId, Writer};

const GATEWAY: &str = "10.0.0.1:2905";
const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9", "10"]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 100 }
peer = [
  { name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] },
  { name = "b", role = "asp", transport = "tcp", addresses = ["10.0.2.1"] },
  { name = "c", role = "asp", transport = "tcp", addresses = ["10.0.3.1"] },
]
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["b"], routing_context = 2, destination = [{ point_code = "2" }] },
  { name = "three", peers = ["c"], routing_context = 3, destination = [{ point_code = "3" }] },
]
subsystem = [
  { name = "hlr", number = 6, user = "tcap", dialogues = "echoed" },
  { name = "msc", number = 8, user = "tcap" },
  { name = "test", number = 200, user = "echo" },
]
[[translation]]
name = "all-of-44"
digits = "44"
target = [{ point_code = "3" }]
[[translation]]
name = "hlr-of-447"
digits = "447"
target = [{ point_code = "2", subsystem = 6 }, { point_code = "3", subsystem = 6 }]
[[translation]]
name = "here"
digits = "49"
target = [{ subsystem = 6 }]
[[translation]]
name = "on-to-the-next"
digits = "33"
strip = 2
prepend = "0033"
new_nature_of_address = 3
target = [{ point_code = "2", routing = "title" }]
[sccp]
concerned = ["1"]
"#;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A gateway and the ASPs of the point codes 1, 2 and 3.
fn site(text: &str) -> (World, usize, [usize; 3]) {
    let mut world = World::on(SHARDS);
    let gateway = world.gateway(text);
    let asps = [("10.0.1.1", 1), ("10.0.2.1", 2), ("10.0.3.1", 3)];
    let asps = asps.map(|(ip, number)| world.asp(Asp::of(ip, GATEWAY, number, number)));
    world.pass(ms(800));
    asps.into_iter().for_each(|asp| world.asp_of(asp).received.clear());
    (world, gateway, asps)
}

fn title(digits: &str) -> Address {
    Address::title(Title::e164(Digits::parse(digits).unwrap()), 6)
}

fn at(number: u32, subsystem: u8) -> Address {
    Address::subsystem(Some(point_code(number)), subsystem)
}

fn unit(called: Address, data: &[u8]) -> Unit<'_> {
    Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: true, returns: true }),
        hops: 0,
        called,
        calling: at(1, 8),
        segmentation: None,
        importance: None,
        data,
    }
}

/// The node with the point code 1 sends a message to the gateway at `dpc`.
fn send(world: &mut World, from: usize, dpc: u32, unit: &Unit<'_>) {
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let payload = Bytes::from(payload);
    let (opc, dpc) = (point_code(1), point_code(dpc));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    world.at(from, |asp, now| asp.tell(now, In::Transfer(msu)));
    world.pass(ms(50));
}

/// What came to a node since this was asked last, as text: origin, what it is, addresses.
fn came(world: &mut World, asp: usize) -> Vec<(u32, Transfer)> {
    let all = core::mem::take(&mut world.asp_of(asp).received);
    all.into_iter().map(|msu| (msu.opc.number(), msu)).collect()
}

fn unit_of(msu: &Transfer) -> Unit<'_> {
    let message = Message::read(&msu.payload).unwrap();
    Unit::of(&message).unwrap().unwrap()
}

fn cause_of(msu: &Transfer) -> ReturnCause {
    match unit_of(msu).word {
        Word::Service(cause) => ReturnCause::of(cause).unwrap(),
        Word::Data(_) => panic!("it does not come back"),
    }
}

#[test]
fn a_title_leads_to_the_node_of_the_rule_with_the_most_digits() {
    let (mut world, gateway, [a, b, c]) = site(SITE);
    send(&mut world, a, 9, &unit(title("4477001"), b"one"));
    let all = came(&mut world, b);
    let [(9, msu)] = &all[..] else { panic!("{all:?}") };
    let got = unit_of(msu);
    assert_eq!((got.called.routing, got.called.subsystem), (Routing::Subsystem, Some(6)));
    assert_eq!(got.called.point_code, Some(point_code(2)));
    assert_eq!((got.calling, got.data, msu.sls), (at(1, 8), &b"one"[..], 5));
    send(&mut world, a, 10, &unit(title("4520"), b"two"));
    send(&mut world, a, 10, &unit(title("4420"), b"two"));
    let all = came(&mut world, c);
    assert_eq!(all.iter().map(|it| it.0).collect::<Vec<_>>(), [10], "from where it came to");
    // One with other digits behind it is translated again by the next node.
    send(&mut world, a, 9, &unit(title("3312"), b"three"));
    let all = came(&mut world, b);
    let called = unit_of(&all[0].1).called;
    let title = called.title.unwrap();
    assert_eq!((called.routing, title.nature), (Routing::Title, 3));
    assert_eq!(title.digits.to_string(), "003312");
    assert_eq!((unit_of(&all[0].1).form, unit_of(&all[0].1).hops), (Form::Extended, 15));
    assert_eq!(world.metric(gateway, "sccp_translated_total"), 3);
}

#[test]
fn what_cannot_be_delivered_comes_back_with_its_cause() {
    let (mut world, gateway, [a, b, _]) = site(SITE);
    let other =
        |address: Address| Unit { calling: Address::subsystem(None, 8), ..unit(address, b"x") };
    let table = [
        (title("1"), ReturnCause::NoTranslationAddress),
        (at(9, 77), ReturnCause::UnequippedUser),
        (Address { title: None, ..title("1") }, ReturnCause::NoTranslationNature),
    ];
    for (called, cause) in table {
        send(&mut world, a, 9, &other(called));
        let all = came(&mut world, a);
        let [(9, msu)] = &all[..] else { panic!("{cause:?}: {all:?}") };
        assert_eq!((cause_of(msu), unit_of(msu).data), (cause, &b"x"[..]));
    }
    let silent = Word::Data(Class { is_sequenced: false, returns: false });
    send(&mut world, a, 9, &Unit { word: silent, ..other(title("1")) });
    assert!(came(&mut world, a).is_empty(), "it did not ask for it");
    assert_eq!(world.metric(gateway, "sccp_returned_total"), 3);
    assert_eq!(world.metric(gateway, "sccp_untranslated_total"), 3);
    // A node that is gone is no way, and what was on its way there comes back.
    world.deafen(b);
    world.pass(ms(500));
    send(&mut world, a, 9, &unit(title("3312"), b"y"));
    let all = came(&mut world, a);
    assert_eq!(cause_of(&all[0].1), ReturnCause::MtpFailure);
    let alarms = world.alarms(gateway);
    assert!(alarms.contains(&"destination-unavailable 2".to_owned()), "{alarms:?}");
    assert_eq!(world.ask(gateway, "sccp/remotes", &[])[0]["state"], "unavailable");
    world.hear(b);
    world.pass(ms(2_500));
    assert!(!world.alarms(gateway).contains(&"destination-unavailable 2".to_owned()));
    send(&mut world, a, 9, &unit(title("3312"), b"z"));
    assert_eq!(came(&mut world, b).len(), 1);
}

#[test]
fn a_udt_stays_one_where_the_next_node_reads_nothing_else() {
    let text = SITE.replace("[sccp]", "[sccp]\nrelay_extended = false");
    let (mut world, _, [a, b, _]) = site(&text);
    send(&mut world, a, 9, &unit(title("3312"), b"x"));
    let all = came(&mut world, b);
    assert_eq!(unit_of(&all[0].1).form, Form::Basic);
}

#[test]
fn a_node_that_was_never_there_is_no_way_either() {
    let mut world = World::on(SHARDS);
    let gateway = world.gateway(SITE);
    let a = world.asp(Asp::of("10.0.1.1", GATEWAY, 1, 1));
    world.pass(ms(800));
    // It is concerned: it hears of three subsystems at two point codes as soon as it is there.
    assert_eq!(came(&mut world, a).len(), 6);
    send(&mut world, a, 9, &unit(title("3312"), b"x"));
    let all = came(&mut world, a);
    let [(9, msu)] = &all[..] else { panic!("{all:?}") };
    assert_eq!((cause_of(msu), unit_of(msu).data), (ReturnCause::MtpFailure, &b"x"[..]));
    assert_eq!(world.metric(gateway, "sgc_msus_no_route_total"), 0);
    let row = world.ask(gateway, "gtt/translate", &[("digits", "3312")]);
    assert_eq!(row["targets"][0]["state"], "no ASP of the Application Server two is active");
    let rows = world.ask(gateway, "alarms", &[]);
    let rows = rows.as_array().unwrap().iter();
    let mut rows = rows.filter(|it| it["name"] == "destination-unavailable");
    assert!(rows.all(|it| it["starting"] == true), "it has yet to come");
}

#[test]
fn what_a_peer_may_not_send_sccp_does_not_send_for_it() {
    let narrow = "addresses = [\"10.0.1.1\"], screening = { destinations = [\"9\", \"2\"] }";
    let nowhere = "[[translation]]\nname = \"nowhere\"\ndigits = \"7\"\n\
                   target = [{ point_code = \"5\" }]\n[sccp]";
    let narrow = narrow.replace("\"2\"", "\"2\", \"5\"");
    let text = SITE.replace("addresses = [\"10.0.1.1\"]", &narrow).replace("[sccp]", nowhere);
    let (mut world, gateway, [a, b, c]) = site(&text);
    let screened = |world: &mut World| {
        let why = ["own", "origin", "destination"];
        why.map(|why| world.metric(gateway, &format!("sgc_msus_screened_{why}_total")))
    };
    // To where it may send, and back.
    send(&mut world, a, 9, &unit(title("4477001"), b"x"));
    assert_eq!(came(&mut world, b).len(), 1);
    send(&mut world, a, 9, &unit(title("1"), b"x"));
    assert_eq!(cause_of(&came(&mut world, a)[0].1), ReturnCause::NoTranslationAddress);
    assert_eq!(screened(&mut world), [0, 0, 0]);
    // Where a rule leads it may not send.
    send(&mut world, a, 9, &unit(title("4420"), b"x"));
    assert_eq!((came(&mut world, c).len(), screened(&mut world)), (0, [0, 0, 1]));
    let wanted = ["destination-unavailable 5", "point-code-screened a"];
    assert_eq!(world.alarms(gateway), wanted);
    // In the name of a node that another peer serves, and of this one.
    send(&mut world, a, 9, &Unit { calling: at(3, 8), ..unit(title("1"), b"x") });
    send(&mut world, a, 9, &Unit { calling: at(10, 8), ..unit(title("4477"), b"x") });
    assert_eq!(screened(&mut world), [1, 1, 1]);
    // For one behind it, it may relay: to 2, and nothing comes back to there by way of others.
    send(&mut world, a, 9, &Unit { calling: at(77, 8), ..unit(title("4477"), b"x") });
    send(&mut world, a, 9, &Unit { calling: at(77, 8), ..unit(title("1"), b"x") });
    assert_eq!((came(&mut world, b).len(), came(&mut world, c).len()), (1, 0));
    assert_eq!(screened(&mut world), [1, 1, 2]);
    // Nor does what found no way.
    send(&mut world, a, 9, &Unit { calling: at(77, 8), ..unit(title("71"), b"x") });
    assert_eq!(screened(&mut world), [1, 1, 3]);
}

#[test]
fn a_point_code_that_nobody_serves_brings_back_what_was_sent_there() {
    let nowhere = "name = \"nowhere\"\ndigits = \"7\"\ntarget = [{ point_code = \"5\" }]";
    let site_with = SITE.replace("[sccp]", &format!("[[translation]]\n{nowhere}\n[sccp]"));
    let (mut world, gateway, [a, ..]) = site(&site_with);
    for calling in [at(1, 8), Address::subsystem(None, 8), title("4420")] {
        world.asp_of(a).received.clear();
        send(&mut world, a, 9, &Unit { calling, ..unit(title("71"), b"x") });
        let all = came(&mut world, a);
        let came_back = all.iter().filter(|it| cause_of(&it.1) == ReturnCause::MtpFailure);
        assert_eq!(
            came_back.count(),
            usize::from(calling.title.is_none()),
            "or to where the title leads"
        );
    }
    assert_eq!(world.metric(gateway, "sccp_returned_total"), 3);
}

/// A rule whose first target is the point code 5, the second one 3.
fn site_with_backup() -> String {
    let rule = "name = \"nowhere\"\ndigits = \"7\"\n\
                target = [{ point_code = \"5\" }, { point_code = \"3\" }]";
    SITE.replace("[sccp]", &format!("[[translation]]\n{rule}\n[sccp]"))
}

#[test]
fn a_target_that_no_route_leads_to_is_passed_over_and_an_alarm_says_why() {
    let (mut world, gateway, [a, _, c]) = site(&site_with_backup());
    send(&mut world, a, 9, &unit(title("71"), b"x"));
    assert_eq!(came(&mut world, c).len(), 1, "its backup takes over");
    let why = "no route: no Application Server has it, and there is no gateway";
    let row = world.ask(gateway, "gtt/translate", &[("digits", "71")]);
    assert_eq!((&row["to"], &row["targets"][0]["state"]), (&json!("3"), &json!(why)));
    let row = json!([{ "point_code": "5", "subsystem": null, "state": "unavailable", "why": why }]);
    assert_eq!(world.ask(gateway, "sccp/remotes", &[]), row);
    let rows = world.ask(gateway, "alarms", &[]);
    let text = format!("there is no way to 5, where global titles lead to: {why}");
    assert_eq!(rows[0]["text"], json!(text), "{rows}");
    // A commit brings such a rule as well, and takes it away.
    world.configure(gateway, SITE);
    assert!(world.alarms(gateway).is_empty());
    world.configure(gateway, &site_with_backup());
    assert_eq!(world.alarms(gateway), ["destination-unavailable 5"]);
}

#[test]
fn a_target_behind_a_gateway_is_passed_over_until_the_gateway_takes_traffic() {
    let with_gateway = site_with_backup()
        .replace(
            "peer = [",
            "peer = [\n  { name = \"sg\", role = \"sgp\", transport = \"tcp\", \
             addresses = [\"10.0.4.1\"] },",
        )
        .replace(
            "application_server = [",
            "application_server = [\n  { name = \"own\", served_by = \"here\", peers = [\"sg\"], \
             routing_context = 9, follows = false, destination = [{ point_code = \"9\" }] },",
        );
    let (mut world, gateway, [a, _, c]) = site(&with_gateway);
    let to = |world: &mut World| world.ask(gateway, "gtt/translate", &[("digits", "71")]);
    let why = json!("no gateway has a way");
    let row = to(&mut world);
    assert_eq!((&row["to"], &row["targets"][0]["state"]), (&json!("3"), &why));
    let rows = world.ask(gateway, "alarms", &[]);
    let mut rows = rows.as_array().unwrap().iter();
    let row = rows.find(|it| it["name"] == "destination-unavailable").unwrap();
    assert_eq!((&row["subject"], &row["starting"]), (&json!("5"), &json!(true)));
    let mut sg = Asp::new("10.0.4.1");
    sg.connects(m3ua::Role::Sgp, GATEWAY, 0);
    sg.serves(m3ua::Side::There, Some(9), 9, &[0]);
    let sg = world.asp(sg);
    world.pass(ms(1_500));
    assert_eq!(to(&mut world)["to"], "5");
    send(&mut world, a, 9, &unit(title("71"), b"x"));
    assert_eq!((came(&mut world, sg).len(), came(&mut world, c).len()), (1, 0));
    world.deafen(sg);
    world.pass(ms(500));
    let row = to(&mut world);
    assert_eq!((&row["to"], &row["targets"][0]["state"]), (&json!("3"), &why));
    world.hear(sg);
    world.pass(ms(2_500));
    assert_eq!(to(&mut world)["to"], "5");
    // Without the gateway there is no route.
    world.configure(gateway, &site_with_backup());
    world.pass(ms(100));
    assert_eq!(to(&mut world)["to"], "3");
    world.configure(gateway, &with_gateway);
    world.pass(ms(2_500));
    assert_eq!(to(&mut world)["to"], "5");
}

#[test]
fn a_target_that_is_gone_is_passed_over() {
    let (mut world, _, [a, b, c]) = site(SITE);
    world.deafen(b);
    world.pass(ms(500));
    send(&mut world, a, 9, &unit(title("4477001"), b"x"));
    assert_eq!(came(&mut world, c).len(), 1);
    world.hear(b);
    world.pass(ms(2_500));
    send(&mut world, a, 9, &unit(title("4477001"), b"x"));
    assert_eq!((came(&mut world, b).len(), came(&mut world, c).len()), (1, 0));
}

#[test]
fn an_echo_gives_back_what_asks_for_it_and_two_of_them_do_not_keep_each_other_busy() {
    let (mut world, gateway, [a, ..]) = site(SITE);
    send(&mut world, a, 10, &unit(at(10, 200), b"hello"));
    let all = came(&mut world, a);
    let [(10, msu)] = &all[..] else { panic!("{all:?}") };
    let got = unit_of(msu);
    assert_eq!((got.called, got.calling, got.data), (at(1, 8), at(10, 200), &b"hello"[..]));
    assert_eq!(got.word, Word::Data(Class { is_sequenced: true, returns: false }));
    send(&mut world, a, 10, &Unit { word: got.word, ..unit(at(10, 200), b"hello") });
    send(&mut world, a, 10, &Unit { calling: at(10, 200), ..unit(at(10, 200), b"hello") });
    assert!(came(&mut world, a).is_empty());
    assert_eq!(world.metric(gateway, "sgc_msus_circular_total"), 0);
}

/// The octets of a BEGIN with two operations.
fn begin(context: Option<&[u8]>) -> Vec<u8> {
    let mut octets = Vec::new();
    let writer = Writer::begin(TransactionId::of(7));
    let writer = match context {
        Some(context) => writer.request(context, &[]),
        None => writer,
    };
    writer.write(&mut octets, |out| {
        out.invoke(1, None, Code::Local(45), Some(&[0x30, 3, 0x80, 1, 9]));
        out.invoke(2, None, Code::Local(46), None);
    });
    octets
}

const CONTEXT: &[u8] = &[4, 0, 0, 1, 0, 20, 3];

#[test]
fn dialogues_end_with_what_they_ask_for_or_are_refused() {
    let (mut world, gateway, [a, ..]) = site(SITE);
    send(&mut world, a, 9, &unit(title("4915"), &begin(Some(CONTEXT))));
    let all = came(&mut world, a);
    let [(9, msu)] = &all[..] else { panic!("{all:?}") };
    let message = tcap::codec::Message::read(unit_of(msu).data).unwrap();
    assert_eq!((message.kind, message.dtid), (MessageType::End, Some(TransactionId::of(7))));
    let answers = message.components().map(|it| it.unwrap());
    let answers = answers.map(|it| match it.payload {
        Payload::ReturnResult { is_last: true, result: Some((code, parameter)) } => {
            (it.invoke_id, code, parameter.map(|it| it.whole().to_vec()))
        }
        other => panic!("{other:?}"),
    });
    let wanted = [
        (Some(1), Code::Local(45), Some(vec![0x30, 3, 0x80, 1, 9])),
        (Some(2), Code::Local(46), None),
    ];
    assert_eq!(answers.collect::<Vec<_>>(), wanted);
    for context in [Some(CONTEXT), None] {
        send(&mut world, a, 9, &unit(at(9, 8), &begin(context)));
        let all = came(&mut world, a);
        let message = tcap::codec::Message::read(unit_of(&all[0].1).data).unwrap();
        assert_eq!(message.kind, MessageType::Abort);
        let dialogue = message.dialogue.map(|it| Dialogue::read(&it).unwrap());
        let is_refused = matches!(
            dialogue,
            Some(Dialogue::Response { is_refused: true, diagnostic: Diagnostic::User(1), .. })
        );
        assert_eq!(is_refused, context.is_some());
    }
    let sums = ["begun_there", "dialogues"].map(|it| world.sum(gateway, "tcap/dialogues", it));
    assert_eq!(sums, [3, 0]);
}

#[test]
fn a_subsystem_is_taken_out_of_service_and_those_concerned_are_told() {
    let (mut world, gateway, [a, ..]) = site(SITE);
    let told = |world: &mut World| -> Vec<(ManagementType, u32, u8)> {
        let all = came(world, a);
        let units = all.iter().filter_map(|(_, msu)| {
            let management = Management::read(unit_of(msu).data).ok()?;
            Some((management.kind, management.point_code.number(), management.subsystem))
        });
        units.collect()
    };
    world.ask(gateway, "sccp/block", &[("subsystem", "hlr")]);
    world.pass(ms(50));
    let (p, a_of) = (ManagementType::Prohibited, ManagementType::Allowed);
    assert_eq!(told(&mut world), [(p, 9, 6), (p, 10, 6)]);
    assert_eq!(world.alarms(gateway), ["subsystem-prohibited hlr"]);
    let again = world.ask(gateway, "sccp/block", &[("subsystem", "6")]);
    let state = |changed, told: &[&str], not_told: &[&str]| {
        json!([{ "subsystem": "hlr", "state": "prohibited", "changed": changed, "told": told,
            "not_told": not_told }])
    };
    assert_eq!(again, state(false, &[], &[]));
    send(&mut world, a, 9, &unit(at(9, 6), b"x"));
    let all = came(&mut world, a);
    assert_eq!(cause_of(&all[1].1), ReturnCause::SubsystemFailure);
    // A commit leaves it as the operator put it.
    world.configure(gateway, &SITE.replace("t_r_ms = 100", "t_r_ms = 200"));
    assert_eq!(world.ask(gateway, "sccp/subsystems", &[])[0]["state"], "prohibited");
    world.ask(gateway, "sccp/unblock", &[("subsystem", "hlr")]);
    world.pass(ms(50));
    assert_eq!(told(&mut world), [(a_of, 9, 6), (a_of, 10, 6)]);
    assert!(world.alarms(gateway).is_empty());
    let wrong = world.try_ask(gateway, "sccp/block", &[("subsystem", "hlrr")]).unwrap_err();
    assert!(wrong.to_string().ends_with("subsystem hlrr; did you mean `hlr`?"), "{wrong}");
    // Whoever cannot be told hears of it later.
    assert_eq!(world.ask(gateway, "sccp/block", &[("subsystem", "hlr")]), state(true, &["1"], &[]));
    world.ask(gateway, "sccp/unblock", &[("subsystem", "hlr")]);
    world.deafen(a);
    world.pass(ms(500));
    assert_eq!(world.ask(gateway, "sccp/block", &[("subsystem", "hlr")]), state(true, &[], &["1"]));
}

#[test]
fn a_subsystem_that_is_not_enabled_is_out_of_service_from_the_start_and_by_a_commit() {
    let disabled = SITE.replace("number = 6,", "number = 6, enabled = false,");
    let (mut world, gateway, [a, ..]) = site(&disabled);
    let state = |world: &mut World| world.ask(gateway, "sccp/subsystems", &[])[0].clone();
    let row = state(&mut world);
    assert_eq!(row["state"], "prohibited");
    assert_eq!(row["why"], "`enabled = false` in the configuration");
    send(&mut world, a, 9, &unit(at(9, 6), b"x"));
    let all = came(&mut world, a);
    assert!(all.iter().any(|(_, msu)| matches!(unit_of(msu).word, Word::Service(_))), "{all:?}");
    world.configure(gateway, SITE);
    assert_eq!(state(&mut world)["state"], "allowed");
    world.ask(gateway, "sccp/block", &[("subsystem", "hlr")]);
    assert_eq!(state(&mut world)["why"], "blocked until `sccp unblock` or a restart of the site");
    world.configure(gateway, &disabled);
    world.configure(gateway, SITE);
    assert_eq!(state(&mut world)["state"], "allowed", "the key has changed");
    let said = read(SITE).interruptions(&read(&disabled));
    assert_eq!(said[0].what, "this subsystem goes out of service: hlr");
}

#[test]
fn rules_that_are_for_other_titles_are_shown_with_what_is_other() {
    let more = r#"
[[translation]]
name = "two"
digits = "7"
indicator = 2
translation_type = 9
target = [{ point_code = "3" }]
[[translation]]
name = "e214"
digits = "70"
numbering_plan = 7
target = [{ point_code = "3" }]
[[translation]]
name = "own"
of = "calling"
digits = "262"
numbering_plan = 7
strip = 3
prepend = "49"
new_numbering_plan = 1
"#;
    let (mut world, gateway, _) = site(&SITE.replace("[sccp]", &format!("{more}\n[sccp]")));
    let ask =
        |world: &mut World, params: &[(&str, &str)]| world.ask(gateway, "gtt/translate", params);
    let row = ask(&mut world, &[("digits", "701")]);
    let hint = "no rule is for titles of GTI 4 TT 0 NP 1 NAI 4: e214 is for NP 7, not 1";
    assert_eq!((&row["rule"], &row["hint"]), (&json!(null), &json!(hint)));
    let rules: Vec<&str> =
        row["rules"].as_array().unwrap().iter().map(|it| it["why"].as_str().unwrap()).collect();
    let wanted = ["for titles of NP 7, not 1", "for titles of GTI 2, not 4; TT 9, not 0"];
    assert_eq!(rules, wanted);
    let row = ask(&mut world, &[("digits", "701"), ("indicator", "2"), ("translation_type", "9")]);
    assert_eq!((&row["rule"], &row["hint"]), (&json!("two"), &json!(null)));
    assert_eq!(row["rules"][1]["why"], "for titles of NP 7, which one of GTI 2 has not");
    assert_eq!(
        ask(&mut world, &[("digits", "6")])["hint"],
        "no rule has digits that it begins with"
    );
    // The title of who calls.
    let row = ask(
        &mut world,
        &[("digits", "26217"), ("of", "calling"), ("numbering_plan", "7"), ("subsystem", "8")],
    );
    assert_eq!((&row["verdict"], &row["rule"]), (&json!("changed"), &json!("own")));
    assert_eq!(row["becomes"], "4917 TT 0 NP 1 NAI 4");
    let row = ask(&mut world, &[("digits", "26217"), ("of", "calling")]);
    let hint = "no rule is for titles of GTI 4 TT 0 NP 1 NAI 4: own is for NP 7, not 1";
    assert_eq!((&row["verdict"], &row["hint"]), (&json!("unchanged"), &json!(hint)));
    assert!(world.try_ask(gateway, "gtt/translate", &[("digits", "1"), ("of", "x")]).is_err());
}

#[test]
fn a_subsystem_elsewhere_that_is_out_of_service_is_an_alarm_until_it_says_so() {
    let (mut world, gateway, [a, ..]) = site(SITE);
    let say = |world: &mut World, kind| {
        let (point_code, multiplicity, congestion) = (point_code(1), 0, 0);
        let said = Management { kind, subsystem: 7, point_code, multiplicity, congestion };
        let mut data = Vec::new();
        said.write(&mut data);
        let calling = at(1, 1);
        send(world, a, 9, &Unit { calling, ..unit(at(9, 1), &data) });
    };
    say(&mut world, ManagementType::Prohibited);
    assert_eq!(world.alarms(gateway), ["subsystem-prohibited 1/7"]);
    let row = json!([{ "point_code": "1", "subsystem": 7, "state": "prohibited", "why": "" }]);
    assert_eq!(world.ask(gateway, "sccp/remotes", &[]), row);
    came(&mut world, a);
    world.pass(ms(10_500));
    let all = came(&mut world, a);
    let test = Management::read(unit_of(&all[0].1).data).unwrap();
    assert_eq!((test.kind, test.subsystem), (ManagementType::StatusTest, 7));
    say(&mut world, ManagementType::Allowed);
    assert!(world.alarms(gateway).is_empty());
}

#[test]
fn the_operator_sees_where_a_number_goes_and_by_which_rules() {
    let (mut world, gateway, [_, b, _]) = site(SITE);
    let ask =
        |world: &mut World, params: &[(&str, &str)]| world.ask(gateway, "gtt/translate", params);
    let digits = [("digits", "4477001"), ("subsystem", "8")];
    let row = ask(&mut world, &digits);
    let of = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (of("verdict"), of("rule"), of("to")),
        ("translated".into(), "hlr-of-447".into(), "2".into())
    );
    assert_eq!((of("title"), &row["subsystem"]), ("4477001 TT 0 NP 1 NAI 4".into(), &json!(6)));
    let rules: Vec<&Value> = row["rules"].as_array().unwrap().iter().map(|it| &it["why"]).collect();
    assert_eq!(rules, ["its digits are the longest", "another one has more digits"]);
    world.deafen(b);
    world.pass(ms(500));
    let row = ask(&mut world, &digits);
    let why = json!("no ASP of the Application Server two is active");
    assert_eq!((&row["to"], &row["targets"][0]["state"]), (&json!("3"), &why));
    assert_eq!(world.ask(gateway, "sccp/remotes", &[])[0]["why"], why);
    assert_eq!(row["targets"][1]["chosen"], json!(true));
    let row = ask(&mut world, &[("digits", "3312")]);
    assert_eq!((&row["verdict"], &row["cause"]), (&json!("returned"), &json!("MTP failure")));
    let row = ask(&mut world, &[("digits", "7")]);
    let cause = "no translation for this specific address";
    assert_eq!((&row["cause"], &row["rule"]), (&json!(cause), &json!(null)));
    let row = ask(&mut world, &[("digits", "4915"), ("indicator", "2"), ("translation_type", "9")]);
    assert_eq!((&row["to"], &row["becomes"]), (&json!("this node"), &json!("4915 TT 9")));
    let row = ask(&mut world, &[("digits", "+4915")]);
    assert_eq!(row["title"], json!("4915 TT 0 NP 1 NAI 4"), "a plus is left out");
    assert!(world.try_ask(gateway, "gtt/translate", &[("digits", "x")]).is_err());
    assert!(world.try_ask(gateway, "gtt/translate", &[("digits", "1"), ("sls", "999")]).is_err());
    let rules = world.ask(gateway, "gtt/rules", &[]);
    assert_eq!(rules[3]["change"], "strip 2 NAI 3 prepend 0033");
    assert_eq!(rules[1]["to"], json!(["2/6", "3/6"]));
}

#[test]
fn of_two_rules_with_the_same_digits_the_one_that_says_more_holds_then_the_later_one() {
    let more = r#"
[[translation]]
name = "national"
digits = "447"
nature_of_address = 4
target = [{ point_code = "3" }]
[[translation]]
name = "later"
digits = "44"
target = [{ point_code = "2" }]
"#;
    let (mut world, gateway, _) = site(&SITE.replace("[sccp]", &format!("{more}\n[sccp]")));
    for (digits, rule, to) in [("4477", "national", "3"), ("4480", "later", "2")] {
        let row = world.ask(gateway, "gtt/translate", &[("digits", digits)]);
        assert_eq!((&row["rule"], &row["to"]), (&json!(rule), &json!(to)), "{row}");
    }
}

#[test]
fn rules_subsystems_and_limits_change_while_traffic_runs() {
    let (mut world, gateway, [a, b, c]) = site(SITE);
    let next =
        SITE.replace("point_code = \"2\", subsystem = 6", "point_code = \"3\", subsystem = 7");
    let next = next.replace("{ name = \"msc\", number = 8", "{ name = \"vlr\", number = 7");
    world.configure(gateway, &next);
    send(&mut world, a, 9, &unit(title("4477001"), b"x"));
    assert_eq!((came(&mut world, b).len(), came(&mut world, c).len()), (0, 1));
    let all = came(&mut world, a);
    assert_eq!(all.len(), 4, "two point codes tell of one that is gone and one that is new");
    send(&mut world, a, 9, &unit(at(9, 8), b"x"));
    assert_eq!(cause_of(&came(&mut world, a)[0].1), ReturnCause::UnequippedUser);
    // Without any, SCCP is nobody's.
    let lines = SITE.split("subsystem = [").next().unwrap();
    world.configure(gateway, lines);
    came(&mut world, a);
    send(&mut world, a, 9, &unit(at(9, 6), b"x"));
    assert!(came(&mut world, a).is_empty());
    assert_eq!(world.metric(gateway, "sgc_msus_no_user_total"), 1);
    assert_eq!(world.ask(gateway, "sccp/subsystems", &[]), json!([]));
}

#[test]
fn what_is_wrong_with_subsystems_and_translations_is_named_with_its_path() {
    let wrong = r#"
name = "stp"
point_code_format = "ansi"
point_codes = ["1-1-1", "0-1-1"]
echo_service_indicators = [3]
subsystem = [
  { name = "a", number = 6, user = "echo", dialogues = "echoed" },
  { name = "a", number = 6, user = "tcap" },
  { name = "c", number = 1, user = "tcap" },
]
[[translation]]
name = "x"
digits = "4x"
numbering_plan = 16
indicator = 2
nature_of_address = 4
prepend = "+44"
[[translation]]
name = "y"
indicator = 5
target = [
  { routing = "title" },
  { point_code = "0-1-1", routing = "title" },
  { subsystem = 0 }, { subsystem = 1 }, { subsystem = 9 },
]
[sccp]
hops = 16
concerned = ["1-0-0", "0-1-1"]
[tcap]
t_idle_ms = 3
"#;
    let mut issues = Vec::new();
    read(wrong).validate(&mut issues);
    let paths: Vec<&str> = issues.iter().map(|issue| issue.path.as_str()).collect();
    let expected = [
        "sccp.hops",
        "tcap.t_idle_ms",
        "sccp.concerned[0]",
        "sccp.concerned[1]",
        "echo_service_indicators[0]",
        "point_codes[0]",
        "subsystem[0].dialogues",
        "subsystem[1].name",
        "subsystem[1].number",
        "subsystem[2].number",
        "translation[0].digits",
        "translation[0].prepend",
        "translation[0].numbering_plan",
        "translation[0].nature_of_address",
        "translation[0].numbering_plan",
        "translation[0].target",
        "translation[1].indicator",
        "translation[1].target[0].routing",
        "translation[1].target[1].routing",
        "translation[1].target[2].subsystem",
        "translation[1].target[3].subsystem",
        "translation[1].target[4].subsystem",
    ];
    assert_eq!(paths, expected);
    let hint = |path: &str| &*issues.iter().find(|issue| issue.path == path).unwrap().hint;
    assert_eq!(hint("translation[1].target[4].subsystem"), "there are: 6 (a), 6 (a), 1 (c)");
    let plus = "write `44`: that it is international says the nature of address, 4";
    assert_eq!(hint("translation[0].prepend"), plus);
    assert!(issues.iter().all(|issue| !issue.hint.is_empty()));
}

#[test]
fn what_leads_nowhere_or_says_nothing_is_doubted_with_its_path() {
    let more = r#"
[[translation]]
name = "again"
digits = "447"
target = [{ point_code = "7" }, { point_code = "3", weight = 2 }]
[[translation]]
name = "short"
digits = "31"
strip = 3
choice = "share"
target = [{ point_code = "3", weight = 2 }, { point_code = "9", subsystem = 6 }]
"#;
    let own = "  { name = \"own\", served_by = \"here\", peers = [], \
               destination = [{ point_code = \"9\" }, { point_code = \"3\" }, \
               { point_code = \"8\" }] },\n]\nsubsystem = [";
    let text = SITE.replace("]\nsubsystem = [", own);
    let text = text.replace("[sccp]", &format!("{more}\n[sccp]"));
    let doubts = |text: &str| {
        let mut found = Vec::new();
        read(text).doubts(&mut found);
        assert!(found.iter().all(|issue| !issue.hint.is_empty()));
        found.into_iter().map(|issue| issue.path).collect::<Vec<String>>()
    };
    let wanted = [
        "application_server[3].destination[2].point_code",
        "translation[4].digits",
        "translation[4].target[0].point_code",
        "translation[4].target[1].weight",
        "translation[5].strip",
    ];
    assert_eq!(doubts(&text), wanted);
    assert_eq!(doubts(SITE), [""; 0]);
}

/// A relay and a node behind it, which is an ASP of the relay.
fn relay_and_node() -> (World, [usize; 2]) {
    let mut world = World::on(SHARDS);
    let relay = world.gateway(&SITE.replace("concerned = [\"1\"]", "concerned = [\"2\"]"));
    let node = world.gateway(
        r#"
name = "hlr"
point_code_format = "decimal"
point_codes = ["2"]
tcp = { listen = ["10.0.2.1:2905"] }
timers = { reconnect_ms = 200 }
peer = [
  { name = "stp", role = "sgp", transport = "tcp", addresses = ["10.0.0.1"], connect = true },
]
application_server = [
  { name = "own", served_by = "here", peers = ["stp"], routing_context = 2,
    destination = [{ point_code = "2" }] },
]
subsystem = [
  { name = "hlr", number = 6, user = "tcap" },
  { name = "spare", number = 7, user = "tcap", enabled = false },
]
"#,
    );
    (world, [relay, node])
}

#[test]
fn a_node_is_asked_whether_its_sccp_and_a_subsystem_are_there() {
    let (mut world, [relay, _]) = relay_and_node();
    let ping = |world: &mut World, params: &[(&str, &str)]| -> Value {
        let now = world.question(relay, "sccp/ping", params);
        now.unwrap_or_else(|| {
            world.pass(ms(1_600));
            world.answers.remove(0).1
        })
        .unwrap()
    };
    let why = "no ASP of the Application Server two is active";
    let row = json!([{ "point_code": "2", "subsystem": 1, "state": "unreachable", "rtt_us": null,
        "why": why }]);
    assert_eq!(ping(&mut world, &[("point_code", "2")]), row);
    world.pass(ms(2_000));
    let row = ping(&mut world, &[("point_code", "2"), ("subsystem", "6")]);
    let states: Vec<_> = row.as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["answers", "answers"], "{row}");
    assert_eq!(row[1]["rtt_us"], json!(10_000), "there and back");
    let row = ping(&mut world, &[("point_code", "2"), ("subsystem", "7")]);
    assert_eq!((&row[0]["state"], &row[1]["state"]), (&json!("answers"), &json!("silent")));
    let why = "its SCCP answers, and not for this one: out of service, or none";
    assert_eq!(row[1]["why"], why);
    // The node itself, and what is wrong.
    let row = ping(&mut world, &[("point_code", "9"), ("subsystem", "6")]);
    assert_eq!(row[1]["state"], "answers", "{row}");
    for wrong in [&[("point_code", "x")][..], &[("point_code", "2"), ("subsystem", "0")], &[]] {
        assert!(world.question(relay, "sccp/ping", wrong).unwrap().is_err(), "{wrong:?}");
    }
    assert!(world.answers.is_empty());
}

#[test]
fn ways_to_choose_have_a_limit_in_all_rules() {
    let rules = |count: usize| {
        let rule = |n| {
            format!(
                "[[translation]]\nname = \"r{n}\"\ndigits = \"44[0-9][0-9][0-9]\"\n\
                 target = [{{ point_code = \"0-0-1\" }}]\n"
            )
        };
        let text: String = (0..count).map(rule).collect();
        let mut issues = Vec::new();
        read(&format!("name = \"stp\"\n{text}")).validate(&mut issues);
        let wrong = issues.into_iter().filter(|it| it.path.ends_with("digits"));
        wrong.map(|it| it.path).collect::<Vec<_>>()
    };
    assert!(rules(100).is_empty());
    assert_eq!(rules(2_100), ["translation[2097].digits"]);
}
