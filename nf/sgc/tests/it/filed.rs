//! Rules for global titles that stand in files: a line each, by the hundred thousand, committed
//! while messages pass.

use crate::world::asp::point_code;
use crate::world::{Asp, World, checked};
use bytes::Bytes;
use m3ua::{In, Transfer};
use machine::Duration;
use sccp::codec::{Address, Class, Digits, Form, Indicator, Message, Title, Unit, Word};
use sgc::config::Sgc;
use std::fmt::Write as _;

const GATEWAY: &str = "10.0.0.1:2905";
const SITE: &str = r#"
name = "stp"
point_code_format = "decimal"
point_codes = ["9"]
tcp = { listen = ["10.0.0.1:2905"] }
timers = { t_r_ms = 100 }
peer = [
  { name = "a", role = "asp", transport = "tcp", addresses = ["10.0.1.1"] },
  { name = "b", role = "asp", transport = "tcp", addresses = ["10.0.1.2"] },
]
application_server = [
  { name = "one", peers = ["a"], routing_context = 1, destination = [{ point_code = "1" }] },
  { name = "two", peers = ["b"], routing_context = 2, destination = [{ point_code = "2" }] },
]
translation_files = ["titles.csv"]
subsystem = [{ name = "hlr", number = 6, user = "tcap" }]
"#;

/// The section with that file, and what is wrong with it.
fn with(text: &str) -> (Sgc, Vec<String>) {
    let mut section = checked(SITE);
    let issues = section.take_rules(vec![("titles.csv".into(), text.into())]);
    (section, issues.into_iter().map(|it| format!("{}: {}", it.path, it.what)).collect())
}

fn good(text: &str) -> Sgc {
    let (section, issues) = with(text);
    assert_eq!(issues, Vec::<String>::new());
    section
}

/// A gateway with these rules, and the ASPs of the point codes 1 and 2.
fn world(text: &str) -> (World, usize, [usize; 2]) {
    let mut world = World::new();
    let gateway = world.gateway_of_section(good(text));
    let asps = [(1, "10.0.1.1"), (2, "10.0.1.2")]
        .map(|(number, address)| world.asp(Asp::of(address, GATEWAY, number, number)));
    world.pass(Duration::from_millis(800));
    asps.iter().for_each(|asp| world.asp_of(*asp).received.clear());
    (world, gateway, asps)
}

/// The first ASP sends data to a title.
fn send(world: &mut World, asp: usize, digits: &str) {
    let title = Title {
        indicator: Indicator::TypePlanNature,
        translation_type: 0,
        plan: 1,
        nature: 4,
        encoding: 1,
        digits: Digits::parse(digits).unwrap(),
    };
    let unit = Unit {
        form: Form::Basic,
        word: Word::Data(Class { is_sequenced: false, returns: true }),
        hops: 0,
        called: Address::title(title, 8),
        calling: Address::subsystem(Some(point_code(1)), 8),
        segmentation: None,
        importance: None,
        data: b"data",
    };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    let (opc, dpc, payload) = (point_code(1), point_code(9), Bytes::from(payload));
    let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
    world.at(asp, |asp, now| asp.tell(now, In::Transfer(msu)));
}

/// How much came as data, and how much came back.
fn came(world: &mut World, asp: usize) -> (usize, usize) {
    let all = core::mem::take(&mut world.asp_of(asp).received);
    let is_data = |msu: &Transfer| {
        let message = Message::read(&msu.payload).unwrap();
        matches!(Unit::of(&message).unwrap().unwrap().word, Word::Data(_))
    };
    let data = all.iter().filter(|it| is_data(it)).count();
    (data, all.len() - data)
}

#[test]
fn a_rule_of_a_file_translates_and_is_shown_with_its_line() {
    let text = "digits,nature_of_address,targets,strip,prepend,choice,name\n\
                4477,4,2/8,,,,\n\n49[12]?,,2:title here/6,2,0,share,germany\n";
    let (mut world, gateway, [a, b]) = world(text);
    send(&mut world, a, "447700900123");
    world.pass(Duration::from_millis(60));
    assert_eq!((came(&mut world, b), came(&mut world, a)), ((1, 0), (0, 0)));
    let ask = |world: &mut World, digits: &str| {
        world.ask(gateway, "gtt/translate", &[("digits", digits), ("subsystem", "8")])
    };
    let row = ask(&mut world, "4477009");
    assert_eq!((&row["rule"], &row["to"]), (&"titles.csv:2".into(), &"2".into()), "{row}");
    let row = ask(&mut world, "49170");
    assert_eq!(
        (&row["rule"], &row["becomes"]),
        (&"germany".into(), &"0170 TT 0 NP 1 NAI 4".into())
    );
    assert_eq!(row["targets"].as_array().map(Vec::len), Some(2), "{row}");
    let row =
        world.ask(gateway, "gtt/translate", &[("digits", "4477"), ("nature_of_address", "3")]);
    assert!(row["hint"].as_str().unwrap().contains("titles.csv:2 is for NAI 4"), "{row}");
    let rows = world.ask(gateway, "gtt/rules", &[]);
    assert_eq!((&rows[1]["name"], &rows[1]["choice"]), (&"germany".into(), &"share".into()));
}

#[test]
fn each_line_that_cannot_be_used_is_told_and_then_none_is_taken() {
    let at = "translation_files[0]: titles.csv, line";
    for (text, wanted) in [
        ("", vec!["1: column 1 is none of a rule"]),
        ("targets\n", vec!["1: there is no column `digits`"]),
        ("digits,target\n", vec!["1: column 2 is none of a rule"]),
        (
            "digits,targets\n44x,2/8\n44,\n44\n44,2/8,7\n44,2/8\n44,77777/8\n",
            vec![
                "2: digits: `44x` is more than digits",
                "3: target: the rule leads nowhere",
                "4: `targets` is missing",
                "5: `7` is in no column",
                "7: target[0].point_code: `77777` is beyond the 14 bits of SCCP",
            ],
        ),
        (
            "digits,targets,strip,choice\n1,here/7,,\n2,2/999,,\n3,2,x,\n4,2,,both\n",
            vec![
                "2: target[0].subsystem: this node has no subsystem 7",
                "3: targets: `2/999` cannot be read",
                "4: strip: `x` cannot be read",
                "5: choice: `both` cannot be read",
            ],
        ),
    ] {
        let (section, issues) = with(text);
        let wanted: Vec<String> = wanted.iter().map(|it| format!("{at} {it}")).collect();
        assert_eq!(issues, wanted, "{text:?}");
        assert_eq!(section, checked(SITE), "nothing is taken");
    }
    let many = format!("digits,targets\n{}", "x,2\n".repeat(30));
    let issues = with(&many).1;
    assert_eq!(issues.len(), 21);
    assert!(issues[20].ends_with("10 more lines cannot be used"), "{}", issues[20]);
}

#[test]
fn a_hundred_thousand_rules_are_committed_while_messages_pass_and_none_is_lost() {
    let (mut world, gateway, [a, b]) = world("digits,targets\n4477,2/8\n");
    let mut text = "digits,targets\n4477,2/8\n".to_owned();
    for number in 0..100_000 {
        writeln!(text, "88{number:06},1/6").unwrap();
    }
    for turn in 0..20 {
        for number in 0..10 {
            send(&mut world, a, &format!("4477009{turn:02}{number:02}"));
        }
        match turn {
            5 => world.configure_section(gateway, good(&text)),
            15 => world.configure_section(gateway, good("digits,targets\n4477,2/8\n")),
            _ => {}
        }
        world.pass(Duration::from_millis(5));
        if turn == 10 {
            let row = world.ask(gateway, "gtt/translate", &[("digits", "88099999")]);
            assert_eq!((&row["rule"], &row["to"]), (&"titles.csv:100002".into(), &"1".into()));
        }
    }
    world.pass(Duration::from_millis(60));
    assert_eq!((came(&mut world, b), came(&mut world, a)), ((200, 0), (0, 0)));
}
