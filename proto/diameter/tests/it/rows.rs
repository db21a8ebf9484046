//! The rows hang together, and another application is rows and nothing else.

use crate::random::random;
use diameter::codec::{Message, ResultCode, Writer};
use diameter::row::Kind::{Enumerated, Grouped, Utf8String};
use diameter::row::Mandatory::{Must, MustNot};
use diameter::row::{Application, fixed, many, maybe, one};
use diameter::rows::base::{ORIGIN_HOST, ORIGIN_REALM, RESULT_CODE, SESSION_ID};
use diameter::{Dictionary, rows};
use std::collections::BTreeMap;

#[test]
fn no_two_rows_have_one_code_or_one_name() {
    let dictionary = Dictionary::default();
    let (mut codes, mut names) = (BTreeMap::new(), BTreeMap::new());
    for row in dictionary.rows() {
        assert!(codes.insert((row.vendor, row.code), row.name).is_none(), "{}", row.name);
        assert!(names.insert(row.name, row.code).is_none(), "{}", row.name);
        assert!(core::ptr::eq(dictionary.row(row.vendor, row.code).unwrap(), row));
        assert!(row.spec.contains('§'), "{}", row.name);
    }
    assert!(codes.len() > 240, "{}", codes.len());
}

#[test]
fn every_avp_that_is_declared_is_in_the_dictionary() {
    let dictionary = Dictionary::default();
    let all = [rows::base::AVPS, rows::cx::AVPS, rows::sh::AVPS, rows::s6c::AVPS, rows::sgd::AVPS];
    for row in all.into_iter().chain([rows::ro::AVPS, rows::ro::AVPS_3GPP]).flatten() {
        let found = dictionary.row(row.vendor, row.code);
        assert!(found.is_some_and(|it| core::ptr::eq(it, *row)), "{}", row.name);
    }
}

#[test]
fn every_command_is_made_up_checked_and_read_as_it_was_written() {
    let dictionary = Dictionary::default();
    for application in dictionary.applications() {
        for command in application.commands {
            for (seed, is_request) in (0..40).flat_map(|seed| [(seed, true), (seed, false)]) {
                let mut octets = Vec::new();
                command.sample(application.id, is_request, &mut random(seed), &mut octets).unwrap();
                let message = Message::read(&octets).unwrap();
                let found = dictionary.check(&message);
                let name = if is_request { command.request } else { command.answer };
                assert!(found.is_ok_and(|it| core::ptr::eq(it, *command)), "{name} {seed}");
            }
        }
    }
}

diameter::avps! {
    /// What Gx might have.
    pub TOY_AVPS, rows::VENDOR_3GPP, {
        TOY_NAME = 1005, "Charging-Rule-Name", Must, Utf8String, "TS 29.212 §5.3.6";
        TOY_ACTION = 9001, "Toy-Action", MustNot, Enumerated(&[(0, "NONE"), (3, "ALL")]), "TOY §1";
        TOY_INSTALL = 1001, "Charging-Rule-Install", Must,
            Grouped(&[many(&TOY_NAME), maybe(&TOY_ACTION)]), "TS 29.212 §5.3.2";
    }
}
diameter::commands! {
    TOY_COMMAND = 272, "Toy-Control", "TCR", "TCA",
        &[fixed(&SESSION_ID), one(&ORIGIN_HOST), one(&ORIGIN_REALM), many(&TOY_INSTALL)],
        &[fixed(&SESSION_ID), one(&RESULT_CODE), one(&ORIGIN_HOST), one(&ORIGIN_REALM)],
        true, "TOY §2";
}
static TOY: Application = Application {
    id: 16_777_238,
    vendor: rows::VENDOR_3GPP,
    name: "Toy",
    is_accounting: false,
    commands: &[&TOY_COMMAND],
    results: &[(5999, "TOY_ERROR", "TOY §3")],
    spec: "TOY",
};

#[test]
fn another_application_is_rows_and_nothing_else() {
    let dictionary = Dictionary::new(&[&TOY]);
    let mut octets = Vec::new();
    let writer = Writer::request(&mut octets, &TOY_COMMAND, TOY.id)
        .put(&SESSION_ID, "a;1;2")
        .put(&ORIGIN_HOST, "a.example")
        .put(&ORIGIN_REALM, "example")
        .group(&TOY_INSTALL, |out| {
            out.put(&TOY_NAME, "all");
            out.integer(&TOY_ACTION, 3);
        });
    writer.end().unwrap();
    let message = Message::read(&octets).unwrap();
    assert_eq!(dictionary.check(&message).unwrap().request, "TCR");
    let mut json = String::new();
    dictionary.to_json(&message, &mut json).unwrap();
    let install =
        r#"{"Charging-Rule-Install":[{"Charging-Rule-Name":"all"},{"Toy-Action":"ALL"}]}"#;
    assert!(json.contains(install), "{json}");
    assert!(json.starts_with(r#"{"command":"TCR","application":"Toy","flags":"RP""#), "{json}");
    assert_eq!(dictionary.from_json(&json).unwrap(), octets);
    assert_eq!(dictionary.experimental_result(TOY.id, 5999), Some("TOY_ERROR"));
    assert!(dictionary.tables().contains("| Toy TCR | 272 |"));
    let known = Dictionary::default().check(&message);
    assert_eq!(known.unwrap_err().code, ResultCode::ApplicationUnsupported);
}
