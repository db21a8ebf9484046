//! Rules: what they say, in which order, and what is said of those that are wrong.

use crate::build::{
    FRENCH, From, GERMAN, JAPANESE, OWN_IMSI, SPANISH, ask, begin, code, context, own, refused_by,
    rules, with_imsi,
};
use screening::config::RuleFile;
use screening::{Action, Screen, Subject, Way, abort, answer};
use tcap::codec::{Dialogue, Message, MessageType, Payload, TransactionId};

fn update() -> Vec<u8> {
    let oid = context("networkLocUpContext", 3);
    begin(Some(&oid), &[(code("updateLocation"), &with_imsi(OWN_IMSI))])
}

fn faults(text: &str) -> Vec<String> {
    let file: RuleFile = toml::from_str(text).expect("rules");
    let faults = Screen::new(&file, &own(), &|_| None).expect_err("they are wrong");
    faults.into_iter().map(|it| format!("{}: {}; {}", it.at, it.what, it.hint)).collect()
}

#[test]
fn the_first_rule_that_holds_decides() {
    let screen = rules(
        r#"
        [[rule]]
        name = "partner"
        calling = ["336"]
        action = "pass"
        [[rule]]
        name = "updates"
        operations = ["updateLocation"]
        [[rule]]
        name = "spain"
        calling = ["34"]
        "#,
    );
    let by = |calling: &str| {
        let verdict = ask(&screen, &From::vlr_to_hlr(calling), &update()).expect("it is read");
        verdict.rule.and_then(|it| screen.rule(it)).map(|it| (it.0.to_owned(), it.1))
    };
    assert_eq!(by(FRENCH), Some(("partner".to_owned(), Action::Pass)));
    assert_eq!(by(SPANISH), Some(("updates".to_owned(), Action::Discard)));
}

#[test]
fn rules_that_count_leave_the_word_to_others() {
    let screen = rules(
        r#"
        [[rule]]
        name = "seen"
        action = "count"
        operations = ["updateLocation"]
        [[rule]]
        name = "france"
        calling = ["33"]
        [[rule]]
        name = "late"
        action = "count"
        "#,
    );
    let verdict = |calling: &str| {
        let verdict = ask(&screen, &From::vlr_to_hlr(calling), &update()).expect("it is read");
        (verdict.rule, verdict.counted().collect::<Vec<_>>())
    };
    assert_eq!(verdict(FRENCH), (Some(1), vec![0]));
    assert_eq!(verdict(SPANISH), (None, vec![0, 2]));
}

#[test]
fn titles_are_matched_by_beginnings_choices_and_ranges() {
    let cases = [
        ("33", FRENCH, true),
        ("336?9", FRENCH, true),
        ("3[3-4]6", SPANISH, true),
        ("3360..3369", FRENCH, true),
        ("3361..3369", FRENCH, false),
        ("34", FRENCH, false),
    ];
    for (pattern, calling, wanted) in cases {
        let screen = rules(&format!("[[rule]]\nname = \"it\"\ncalling = [\"{pattern}\"]\n"));
        let by = refused_by(&screen, &From::vlr_to_hlr(calling), &update());
        assert_eq!(by.is_some(), wanted, "{pattern} {calling}");
    }
}

#[test]
fn every_condition_counts() {
    let conditions = [
        ("operations = [\"map:2\"]", true),
        ("operations = [\"cap:initialDP\", \"unknown\", \"none\"]", false),
        ("contexts = [\"networkLocUpContext/3\"]", true),
        ("contexts = [\"networkLocUpContext/2\", \"none\", \"unknown\"]", false),
        ("called = [\"49171\"]", true),
        ("called = [\"49172\"]", false),
        ("calling_subsystems = [7]", true),
        ("called_subsystems = [7]", false),
        ("originating = [\"1..7\"]", true),
        ("originating = [\"8\"]", false),
        ("originating = [\"8..2000\"]", false),
        ("destinations = [\"9\"]", true),
        ("destinations = [\"1..8\"]", false),
        ("imsi = [\"26201\"]", true),
        ("imsi = [\"26202\"]", false),
        ("subscriber = \"own\"", true),
        ("subscriber = \"foreign\"", false),
        ("subscriber = \"untold\"", false),
        ("calling_network = \"foreign\"", true),
        ("calling_network = \"of_subscriber\"", false),
        ("calling_network = \"not_of_subscriber\"", true),
        ("called_network = \"own\"", true),
        ("called_network = \"foreign\"", false),
        ("location = \"elsewhere\"", false),
    ];
    for (condition, wanted) in conditions {
        // Alone, and with a title under which the rule stands.
        for more in ["", "calling = [\"33\"]"] {
            let screen = rules(&format!("[[rule]]\nname = \"it\"\n{condition}\n{more}\n"));
            let by = refused_by(&screen, &From::vlr_to_hlr(FRENCH), &update());
            assert_eq!(by.is_some(), wanted, "{condition} {more}");
        }
    }
}

#[test]
fn words_that_are_none_are_refused_with_what_was_meant() {
    let said = faults(
        r#"
        [[rule]]
        name = "a"
        operations = ["updateLokation", "cap:initialPD"]
        contexts = ["networkLocUpContex/3"]
        calling = ["49*"]
        originating = ["x"]
        [[rule]]
        name = "a"
        action = "error"
        error = "systemFailur"
        [[rule]]
        name = "b"
        error = "systemFailure"
        return_cause = 3
        [[rule]]
        name = "c"
        action = "return"
        return_cause = 200
        "#,
    );
    let wanted = [
        ("rule[0].operations[0]", "did you mean `updateLocation`?"),
        ("rule[0].operations[1]", "did you mean `initialDP`?"),
        ("rule[0].contexts[0]", "did you mean `networkLocUpContext`?"),
        ("rule[0].calling[0]", "4470..4479"),
        ("rule[0].originating[0]", "point_code_format"),
        ("rule[1].name", "a name of its own"),
        ("rule[1].error", "did you mean `systemFailure`?"),
        ("rule[2].error", "leave it out"),
        ("rule[2].return_cause", "leave it out"),
        ("rule[3].return_cause", "0 to 127"),
    ];
    for (at, hint) in wanted {
        assert!(said.iter().any(|it| it.starts_with(at) && it.contains(hint)), "{at}: {said:#?}");
    }
    assert_eq!(said.len(), wanted.len(), "{said:#?}");
}

#[test]
fn rules_that_never_decide_are_found() {
    let screen = rules(
        r#"
        [[rule]]
        name = "wide"
        operations = ["updateLocation", "purgeMS"]
        calling = ["33"]
        [[rule]]
        name = "narrow"
        operations = ["updateLocation"]
        calling = ["336"]
        subscriber = "own"
        [[rule]]
        name = "other-operation"
        operations = ["cancelLocation"]
        calling = ["336"]
        [[rule]]
        name = "wider"
        operations = ["updateLocation"]
        calling = ["3"]
        [[rule]]
        name = "counts"
        action = "count"
        [[rule]]
        name = "all"
        [[rule]]
        name = "behind-all"
        calling = ["81"]
        "#,
    );
    assert_eq!(screen.unreachable(), [(1, 0), (6, 5)]);
    let by = refused_by(&screen, &From::vlr_to_hlr(JAPANESE), &update());
    assert_eq!(by.as_deref(), Some("all"));
}

#[test]
fn a_beginning_is_answered_with_an_end_and_what_follows_with_aborts() {
    let (called, calling) = (crate::build::title(GERMAN, 6), crate::build::title(FRENCH, 7));
    let way = Way { opc: 1, dpc: 2, called: &called, calling: &calling };
    let begin = update();
    let subject = Subject::read(way, &begin).expect("it is read");
    let said = answer(Action::Error(36), &subject, Some(0)).expect("an answer");
    let end = Message::read(&said).expect("a message");
    assert_eq!((end.kind, end.dtid), (MessageType::End, Some(TransactionId::of(0x1122_3344))));
    let dialogue = Dialogue::read(&end.dialogue.expect("a dialogue portion"));
    assert!(matches!(dialogue, Ok(Dialogue::Response { is_refused: false, .. })));
    let error = end.components().next().expect("a component").expect("it is read");
    assert!(matches!(error.payload, Payload::ReturnError { .. }) && error.invoke_id == Some(0));
    let reject = answer(Action::Reject, &subject, Some(0)).expect("an answer");
    let reject = Message::read(&reject).expect("a message");
    let reject = reject.components().next().expect("a component").expect("it is read");
    assert!(matches!(reject.payload, Payload::Reject(_)));
    for silent in [Action::Pass, Action::Count, Action::Discard, Action::Return(7)] {
        assert_eq!(answer(silent, &subject, Some(0)), None);
    }
    let next = crate::build::go_on(&[(code("purgeMS"), &with_imsi(OWN_IMSI))]);
    let subject = Subject::read(way, &next).expect("it is read");
    let said = answer(Action::Error(36), &subject, Some(0));
    assert_eq!(said, Some(abort(TransactionId::of(0x1122_3344))));
}

#[test]
fn networks_that_are_none_or_two_are_refused() {
    let said = faults(
        r#"
        [velocity]
        subscribers_max = 4294967295
        [[operator]]
        name = "a"
        imsi = ["262"]
        titles = ["49", "4[3-5]"]
        at = [91.0, 10.0]
        [[operator]]
        name = "a"
        imsi = ["262"]
        titles = ["44"]
        at = [nan, 10.0]
        "#,
    );
    let wanted = [
        ("velocity.subscribers_max", "at most"),
        ("operator[0].at", "degrees"),
        ("operator[1].name", "a name of its own"),
        ("operator[1].at", "degrees"),
        ("operator[1].imsi", "one of them"),
        ("operator[1].titles", "one of them"),
    ];
    for (at, hint) in wanted {
        assert!(said.iter().any(|it| it.starts_with(at) && it.contains(hint)), "{at}: {said:#?}");
    }
    assert_eq!(said.len(), wanted.len(), "{said:#?}");
}

#[test]
fn a_file_of_wrong_words_is_not_read_to_its_end() {
    let rule = |n| format!("[[rule]]\nname = \"{n}\"\noperations = [\"updateLokation\"]\n");
    let text: String = (0..5_000).map(rule).collect();
    assert_eq!(faults(&text).len(), 100);
}

#[test]
fn the_longest_beginning_of_a_title_says_whose_it_is() {
    // The far one has more digits than the form; the near one as many, and no form.
    let screen = rules(
        r#"
        [[operator]]
        name = "near"
        titles = ["81"]
        at = [50.0, 10.0]
        [[operator]]
        name = "form"
        titles = ["336?"]
        at = [51.0, 10.0]
        [[operator]]
        name = "far"
        titles = ["33609"]
        at = [37.6, 138.0]
        [[rule]]
        name = "fast"
        location = "implausible"
        "#,
    );
    let mut places = screen.last_places(1);
    let mut by = |calling: &str| {
        let (now, from) = (machine::Time::from_millis(1), From::vlr_to_hlr(calling));
        let verdict = crate::build::ask_at(now, &screen, &mut places, &from, &update());
        verdict.expect("it is read").action
    };
    assert_eq!(by(JAPANESE), Action::Pass);
    assert_eq!(by(FRENCH), Action::Discard, "from Germany to Japan at once");
}

#[test]
fn rules_that_only_count_do_not_make_a_message_unreadable() {
    let screen = rules("[[rule]]\nname = \"it\"\nsubscriber = \"own\"\naction = \"count\"\n");
    let argument = crate::build::element(0x30, &crate::build::element(0x04, &[0x62, 0xa0]));
    let data =
        begin(Some(&context("networkLocUpContext", 3)), &[(code("updateLocation"), &argument)]);
    assert_eq!(refused_by(&screen, &From::vlr_to_hlr(FRENCH), &data), None);
}
