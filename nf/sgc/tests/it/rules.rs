//! Rules for what peers send: refused, answered, counted, told; what passes, passes.

use super::SHARDS;
use crate::world::asp::point_code;
use crate::world::{Asp, World, checked, read};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::Duration;
use sccp::codec::{
    Address, Class, Digits, Form, Message, ReturnCause, Segmentation, Title, Unit, Word,
};
use screening::config::RuleFile;
use sgc::config::Sgc;
use tcap::codec::{Code, MessageType, TransactionId, Writer};

const GATEWAY: &str = "10.0.0.1:2905";
const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 100 }
peer = [
  { name = "abroad", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] },
  { name = "hlr", role = "asp", transport = "tcp", addresses = ["10.0.2.1"] },
]
application_server = [
  { name = "one", peers = ["abroad"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["hlr"], routing_context = 2, destination = [{ point_code = "2" }] },
]
subsystem = [{ name = "here", number = 6, user = "tcap", dialogues = "echoed" }]
translation = [
  { name = "hlr", digits = "491711", target = [{ point_code = "2", subsystem = 6 }] },
  { name = "here", digits = "491712", target = [{ subsystem = 6 }] },
  { name = "back", digits = "33", target = [{ point_code = "1" }] },
]
[[screening]]
name = "interconnect"
peers = ["abroad"]
own = { imsi = ["26201"], titles = ["49171"] }
rule = [
  { name = "silent", operations = ["anyTimeInterrogation"], action = "discard" },
  { name = "error", operations = ["sendIMSI"], action = "error", error = "unexpectedDataValue" },
  { name = "reject", operations = ["checkIMEI"], action = "reject" },
  { name = "abort", operations = ["sendRoutingInfo"], action = "abort" },
  { name = "return", operations = ["sendIdentification"], action = "return", return_cause = 7 },
  { name = "count", operations = ["updateLocation"], action = "count" },
]
"#;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A gateway, and the nodes 1 (abroad) and 2 (the HLR).
fn site(text: &str) -> (World, usize, [usize; 2]) {
    site_of(checked(text))
}

fn site_of(section: Sgc) -> (World, usize, [usize; 2]) {
    let mut world = World::on(SHARDS);
    let gateway = world.gateway_of_section(section);
    let asps = [("10.0.1.1", 1), ("10.0.2.1", 2)];
    let asps = asps.map(|(ip, number)| world.asp(Asp::of(ip, GATEWAY, number, number)));
    world.pass(ms(800));
    asps.into_iter().for_each(|asp| world.asp_of(asp).received.clear());
    (world, gateway, asps)
}

fn title(digits: &str, subsystem: u8) -> Address {
    Address::title(Title::e164(Digits::parse(digits).unwrap()), subsystem)
}

fn begin(operation: i64) -> Vec<u8> {
    let mut data = Vec::new();
    let writer = Writer::begin(TransactionId::of(77)).request(&[4, 0, 0, 1, 0, 1, 3], &[]);
    writer.write(&mut data, |out| out.invoke(1, None, Code::Local(operation), None));
    data
}

fn go_on(operation: i64) -> Vec<u8> {
    let mut data = Vec::new();
    let writer = Writer::go_on(TransactionId::of(77), TransactionId::of(5));
    writer.write(&mut data, |out| out.invoke(1, None, Code::Local(operation), None));
    data
}

fn unit<'a>(called: &str, data: &'a [u8]) -> Unit<'a> {
    Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: false, returns: true }),
        hops: 15,
        called: title(called, 6),
        calling: title("33609000001", 7),
        segmentation: None,
        importance: None,
        data,
    }
}

fn send(world: &mut World, from: usize, unit: &Unit<'_>) {
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let payload = Bytes::from(payload);
    let (opc, dpc) = (point_code(if from == 1 { 1 } else { 2 }), point_code(9));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    world.at(from, |asp, now| asp.tell(now, In::Transfer(msu)));
    world.pass(ms(50));
}

/// What came to a node: its TCAP type, or the cause that it came back with.
fn came(world: &mut World, asp: usize) -> Vec<Result<(MessageType, usize), u8>> {
    let all = core::mem::take(&mut world.asp_of(asp).received);
    let read = |msu: &Transfer| {
        let message = Message::read(&msu.payload).unwrap();
        let unit = Unit::of(&message).unwrap().unwrap();
        match unit.word {
            Word::Service(cause) => Err(cause),
            Word::Data(_) => {
                let message = tcap::codec::Message::read(unit.data).unwrap();
                Ok((message.kind, message.components().count()))
            }
        }
    };
    all.iter().map(read).collect()
}

const HLR: &str = "4917110001";
const HERE: &str = "4917120001";

#[test]
fn each_action_does_what_it_says_wherever_the_message_goes() {
    for called in [HLR, HERE] {
        let (mut world, gateway, [abroad, hlr]) = site(SITE);
        let mut ask = |operation: i64| {
            send(&mut world, abroad, &unit(called, &begin(operation)));
            assert_eq!(came(&mut world, hlr), [], "{operation} goes nowhere");
            came(&mut world, abroad)
        };
        assert_eq!(ask(71), [], "silent");
        assert_eq!(ask(58), [Ok((MessageType::End, 1))], "an error");
        assert_eq!(ask(43), [Ok((MessageType::End, 1))], "a reject");
        assert_eq!(ask(22), [Ok((MessageType::Abort, 0))]);
        assert_eq!(ask(55), [Err(ReturnCause::Unqualified.number())]);
        assert_eq!(world.metric(gateway, "sgc_screening_refused_total"), 5);
        assert_eq!(world.metric(gateway, "sgc_screening_judged_total"), 5);
        assert!(world.alarms(gateway).contains(&"screening-hit interconnect".to_owned()));
    }
}

#[test]
fn what_is_only_counted_goes_on_and_what_no_rule_names_too() {
    let (mut world, gateway, [abroad, hlr]) = site(SITE);
    for operation in [2, 56] {
        send(&mut world, abroad, &unit(HLR, &begin(operation)));
        assert_eq!(came(&mut world, hlr), [Ok((MessageType::Begin, 1))]);
    }
    send(&mut world, abroad, &unit(HERE, &begin(2)));
    assert_eq!(came(&mut world, abroad), [Ok((MessageType::End, 1))], "it is echoed");
    let rows = world.ask(gateway, "screening/hits", &[]);
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!((&rows[0]["rule"], &rows[0]["hits"]), (&"count".into(), &2.into()));
    let rows = world.ask(gateway, "screening/hits", &[("all", "yes"), ("set", "interconnect")]);
    assert_eq!(rows.as_array().unwrap().len(), 6);
    let sets = world.ask(gateway, "screening/sets", &[]);
    assert_eq!((&sets[0]["rules"], &sets[0]["judged"]), (&6.into(), &3.into()));
    assert!(!world.alarms(gateway).contains(&"screening-hit interconnect".to_owned()));
    assert_eq!(world.metric(gateway, "sgc_screening_hits_total"), 2, "at the HLR, and here");
}

/// An update of location of an own subscriber.
fn update_location() -> Vec<u8> {
    const IMSI: [u8; 10] = [4, 8, 0x62, 0x02, 0x11, 0x32, 0x54, 0x76, 0x98, 0xf0];
    const MSC: [u8; 9] = [0x81, 7, 0x91, 0x33, 0x06, 0x09, 0, 0, 0x10];
    let vlr = [&[4], &MSC[1..]].concat();
    let argument = [&[0x30, 28], &IMSI[..], &MSC, &vlr].concat();
    let mut data = Vec::new();
    let writer = Writer::begin(TransactionId::of(77)).request(&[4, 0, 0, 1, 0, 1, 3], &[]);
    writer.write(&mut data, |out| out.invoke(1, None, Code::Local(2), Some(&argument)));
    data
}

/// The site with a rule about places; the networks that have them stand in a file.
fn with_places() -> Sgc {
    let far = "{ name = \"far\", operations = [\"updateLocation\"], location = \"implausible\", \
               action = \"discard\" },\n  { name = \"count\"";
    let mut section = checked(&SITE.replace("{ name = \"count\"", far));
    // The quickest of all: half a minute to Japan.
    let networks = r#"
        [velocity]
        speed_kmh = 1000000
        [[operator]]
        name = "France"
        titles = ["33"]
        at = [46.6, 2.4]
        radius_km = 600
        [[operator]]
        name = "Japan"
        titles = ["81"]
        at = [36.5, 138.0]
        radius_km = 1500
    "#;
    let file: RuleFile = toml::from_str(networks).expect("networks");
    let codes = |text: &str| section.point_code_format.read_range(text);
    let compiled = section.screening[0].compile(&codes, Some(file)).expect("rules");
    section.screening[0].compiled = compiled;
    section
}

#[test]
fn where_a_subscriber_is_is_known_from_what_has_passed() {
    let (mut world, gateway, [abroad, hlr]) = site_of(with_places());
    assert_eq!(world.metric(gateway, "sgc_screening_places"), 0);
    let data = update_location();
    send(&mut world, abroad, &unit(HLR, &data));
    assert_eq!(came(&mut world, hlr).len(), 1);
    assert_eq!(world.metric(gateway, "sgc_screening_places"), 1);
    let far = Unit { calling: title("819012345678", 7), ..unit(HLR, &data) };
    send(&mut world, abroad, &far);
    assert_eq!(came(&mut world, hlr), [], "nobody is in Japan a moment later");
    let sets = world.ask(gateway, "screening/sets", &[]);
    assert_eq!((&sets[0]["places"], &sets[0]["refused"]), (&1.into(), &1.into()));
    world.pass(Duration::from_secs(40));
    send(&mut world, abroad, &far);
    assert_eq!(came(&mut world, hlr).len(), 1, "later he may be");
}

#[test]
fn what_a_later_set_refuses_teaches_an_earlier_one_nothing() {
    let mut section = with_places();
    let later = "[[screening]]\nname = \"later\"\nrule = [{ name = \"all\" }]\n";
    let more = checked(&SITE.replace("[[screening]]", &format!("{later}[[screening]]")));
    section.screening.push(more.screening[0].clone());
    let (mut world, gateway, [abroad, hlr]) = site_of(section);
    send(&mut world, abroad, &unit(HLR, &update_location()));
    assert_eq!(came(&mut world, hlr), []);
    assert_eq!(world.metric(gateway, "sgc_screening_places"), 0);
}

#[test]
fn a_subsystem_that_a_title_does_not_lead_to_hides_no_operation() {
    let (mut world, _, [abroad, hlr]) = site(SITE);
    // 71 is an operation of CAP as well: by its title it is led to the HLR all the same.
    for data in [begin_bare(71), go_on(71)] {
        let called = title(HLR, 146);
        send(&mut world, abroad, &Unit { called, ..unit(HLR, &data) });
        assert_eq!(came(&mut world, hlr), []);
    }
    let text = SITE.replace(
        "{ name = \"silent\", operations = [\"anyTimeInterrogation\"]",
        "{ name = \"silent\", called_subsystems = [6]",
    );
    let (mut world, _, [abroad, hlr]) = site(&text);
    let data = begin(56);
    send(&mut world, abroad, &Unit { called: title(HLR, 0), ..unit(HLR, &data) });
    assert_eq!(came(&mut world, hlr), []);
}

/// A beginning without a dialogue portion.
fn begin_bare(operation: i64) -> Vec<u8> {
    let mut data = Vec::new();
    let writer = Writer::begin(TransactionId::of(77));
    writer.write(&mut data, |out| out.invoke(1, None, Code::Local(operation), None));
    data
}

#[test]
fn in_the_middle_of_a_dialogue_both_sides_hear_an_abort() {
    let (mut world, _, [abroad, hlr]) = site(SITE);
    send(&mut world, abroad, &unit(HLR, &go_on(58)));
    assert_eq!(came(&mut world, abroad), [Ok((MessageType::Abort, 0))]);
    assert_eq!(came(&mut world, hlr), [Ok((MessageType::Abort, 0))]);
    send(&mut world, abroad, &unit(HLR, &go_on(71)));
    assert_eq!((came(&mut world, abroad), came(&mut world, hlr)), (vec![], vec![]), "silent");
}

#[test]
fn other_peers_are_not_concerned() {
    let (mut world, gateway, [_, hlr]) = site(SITE);
    send(&mut world, hlr, &unit("33609000009", &begin(71)));
    assert_eq!(world.metric(gateway, "sgc_screening_judged_total"), 0);
    assert_eq!(world.metric(gateway, "sccp_translated_total"), 1);
}

/// A message in two segments.
fn segments<'a>(called: &str, data: &'a [u8]) -> [Unit<'a>; 2] {
    let (head, rest) = data.split_at(data.len() / 2);
    [(head, true, 1), (rest, false, 0)].map(|(data, is_first, remaining)| {
        let segmentation = Segmentation { is_first, is_sequenced: false, remaining, reference: 7 };
        let word = Word::Data(Class { is_sequenced: true, returns: true });
        let segmentation = Some(segmentation);
        Unit { form: Form::Extended, word, segmentation, data, ..unit(called, data) }
    })
}

#[test]
fn what_ends_here_in_segments_is_screened_when_it_is_whole() {
    let (mut world, gateway, [abroad, _]) = site(SITE);
    for (operation, wanted) in
        [(58, vec![Ok((MessageType::End, 1))]), (71, vec![]), (2, vec![Ok((MessageType::End, 1))])]
    {
        let data = begin(operation);
        segments(HERE, &data).iter().for_each(|it| send(&mut world, abroad, it));
        assert_eq!(came(&mut world, abroad), wanted, "{operation}");
    }
    assert_eq!(world.metric(gateway, "sgc_screening_refused_total"), 2);
    assert_eq!(world.metric(gateway, "sgc_screening_segments_total"), 0);
}

#[test]
fn segments_that_go_on_are_refused_unless_they_may_pass() {
    for (key, passed) in [("", 0), ("segments = \"pass\"", 2)] {
        let text =
            SITE.replace("peers = [\"abroad\"]\nown", &format!("peers = [\"abroad\"]\n{key}\nown"));
        let (mut world, gateway, [abroad, hlr]) = site(&text);
        let data = begin(2);
        segments(HLR, &data).iter().for_each(|it| send(&mut world, abroad, it));
        assert_eq!(world.asp_of(hlr).received.len(), passed, "{key}");
        assert_eq!(world.metric(gateway, "sgc_screening_segments_total"), 2);
        world.asp_of(hlr).received.clear();
        // One that is whole is no segment of another, whatever it says of itself.
        let segmentation =
            Segmentation { is_first: true, is_sequenced: false, remaining: 0, reference: 9 };
        let bad = begin(71);
        let whole =
            Unit { form: Form::Extended, segmentation: Some(segmentation), ..unit(HLR, &bad) };
        send(&mut world, abroad, &whole);
        assert_eq!(world.asp_of(hlr).received.len(), 0, "{key}");
    }
}

#[test]
fn what_is_not_well_formed_is_refused_unless_it_may_pass() {
    for (key, passed) in [("", 0), ("unreadable = \"pass\"", 1)] {
        let text =
            SITE.replace("peers = [\"abroad\"]\nown", &format!("peers = [\"abroad\"]\n{key}\nown"));
        let (mut world, gateway, [abroad, hlr]) = site(&text);
        send(&mut world, abroad, &unit(HLR, b"\x62\x03abc"));
        assert_eq!(world.asp_of(hlr).received.len(), passed, "{key}");
        assert_eq!(world.metric(gateway, "sgc_screening_unreadable_total"), 1);
    }
}

#[test]
fn rules_change_while_traffic_runs_and_counts_of_those_that_stay_go_on() {
    let (mut world, gateway, [abroad, hlr]) = site(SITE);
    send(&mut world, abroad, &unit(HLR, &begin(71)));
    send(&mut world, abroad, &unit(HLR, &begin(2)));
    let next = SITE.replace(
        "{ name = \"silent\", operations = [\"anyTimeInterrogation\"]",
        "{ name = \"silent\", operations = [\"purgeMS\"]",
    );
    world.configure(gateway, &next);
    world.asp_of(hlr).received.clear();
    send(&mut world, abroad, &unit(HLR, &begin(71)));
    assert_eq!(came(&mut world, hlr).len(), 1, "it passes now");
    send(&mut world, abroad, &unit(HLR, &begin(67)));
    assert_eq!(came(&mut world, hlr).len(), 0);
    let rows = world.ask(gateway, "screening/hits", &[]);
    let hits: Vec<_> =
        rows.as_array().unwrap().iter().map(|it| (&it["rule"], &it["hits"])).collect();
    assert_eq!(hits, [(&"silent".into(), &2.into()), (&"count".into(), &1.into())]);
    world.configure(gateway, SITE.split("[[screening]]").next().unwrap());
    send(&mut world, abroad, &unit(HLR, &begin(67)));
    assert_eq!(came(&mut world, hlr).len(), 1);
    assert_eq!(world.metric(gateway, "sgc_screening_refused_total"), 2, "nothing is uncounted");
}

#[test]
fn a_section_says_what_is_wrong_with_its_rules() {
    let said = |text: &str| {
        let mut issues = Vec::new();
        read(text).validate(&mut issues);
        issues.into_iter().map(|it| (it.path, it.hint)).collect::<Vec<_>>()
    };
    assert_eq!(said(SITE), []);
    let wrong = SITE
        .replace("\"anyTimeInterrogation\"", "\"anyTimeInterogation\"")
        .replace("peers = [\"abroad\"]\nown", "peers = [\"abraod\"]\nown");
    assert_eq!(
        said(&wrong),
        [
            ("screening[0].peers[0]".to_owned(), "did you mean `abroad`?".to_owned()),
            (
                "screening[0].rule[0].operations[0]".to_owned(),
                "did you mean `anyTimeInterrogation`?".to_owned(),
            ),
        ]
    );
}

#[test]
fn what_is_no_sccp_is_refused_on_its_way_to_another_node() {
    let (mut world, gateway, [abroad, hlr]) = site(SITE);
    let payload = Bytes::from_static(&[9, 0, 3, 200, 201]);
    let (opc, dpc) = (point_code(1), point_code(2));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    world.at(abroad, |asp, now| asp.tell(now, In::Transfer(msu.clone())));
    world.pass(ms(50));
    assert_eq!(world.asp_of(hlr).received.len(), 0);
    assert_eq!(world.metric(gateway, "sgc_screening_unreadable_total"), 1);
    // Of another user there is nothing to screen.
    let msu = Transfer { si: 5, ..msu };
    world.at(abroad, |asp, now| asp.tell(now, In::Transfer(msu)));
    world.pass(ms(50));
    assert_eq!(world.asp_of(hlr).received.len(), 1);
}
