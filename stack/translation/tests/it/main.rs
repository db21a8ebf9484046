//! Rules of a section and of files together: which ones a title meets, and what stands in between.
#![allow(missing_docs, clippy::unwrap_used)]

use m3ua_stack::config::PointCodeFormat;
use sccp::codec::{Digits, Title};
use translation::{Filed, Node, Translation, TranslationOf};

const SECTION: &str = r#"
name = "all"
digits = "44"
target = [{ point_code = "2", subsystem = 8 }]
"#;

fn node() -> Node {
    let format = PointCodeFormat::Decimal;
    let own = vec![format.read("9").unwrap()];
    Node { key: "stp", format, own, subsystems: vec![(6, "hlr".into())] }
}

fn file(text: &str) -> Vec<(String, String)> {
    vec![("titles.csv".into(), text.into())]
}

#[test]
fn rules_of_files_stand_behind_those_of_the_section() {
    let own: [Translation; 1] = [toml::from_str(SECTION).unwrap()];
    let mut filed = Filed::default();
    assert!(!filed.is_read());
    let text = "digits,targets\n4477,here/6\n49,2/8\n44[1-3],2\n";
    assert!(filed.take(file(text), &own, &node()).is_empty());
    assert!(filed.is_read());
    let title = Title::e164(Digits::parse("447700900123").unwrap());
    let met = filed.beginning(&own, TranslationOf::Called, &title);
    let met: Vec<(usize, String)> = met.map(|(at, it)| (at, it.name.clone())).collect();
    assert_eq!(met, [(0, "all".to_owned()), (1, "titles.csv:2".to_owned())]);
    assert_eq!(filed.all(&own).count(), 4);
    assert_eq!(filed.beginning(&own, TranslationOf::Calling, &title).count(), 0);
}

#[test]
fn what_a_rule_may_not_say_is_told_with_the_key_of_its_function() {
    let mut own: [Translation; 1] = [toml::from_str(SECTION).unwrap()];
    own[0].target.clear();
    let mut issues = Vec::new();
    node().validate(&own, 0, &mut issues);
    assert_eq!(issues[0].path, "translation[0].target");
    assert!(issues[0].hint.contains("[[stp.translation.target]]"), "{}", issues[0].hint);
    let before = Filed::default();
    let mut filed = before.clone();
    assert_eq!(filed.take(file("digits,targets\n44,here/7\n"), &own, &node()).len(), 1);
    assert_eq!((filed == before, filed.is_read()), (true, false));
}
