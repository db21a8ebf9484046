//! Any octets as a TPDU, as an RP message, as a user data header, or as the JSON of one: nothing
//! panics, and what is read comes back from octets and from JSON as it was.

use sms::rp::{self, Message};
use sms::{Cause, Kind, Tpdu, Value};

fn tpdu(kind: Kind, octets: &[u8]) {
    let read = match kind.read(octets) {
        Ok(read) => read,
        Err(violation) => return assert!(violation.at <= octets.len()),
    };
    let mut again = Vec::new();
    read.write(&mut again).expect("what was read is written");
    assert_eq!(kind.read(&again).as_ref(), Ok(&read), "and read the same");
    if let Some(data) = read.user_data() {
        let _ = (data.text(), data.body(), data.coding.indication(), data.coding.class());
        let _ = data.header().map(|it| (it.concatenation(), it.ports(), it.alphabet()));
    }
    let _ = read.validity().and_then(|it| it.seconds(1_795_737_882));
    let (mut text, mut of_text) = (String::new(), Vec::new());
    read.to_json(&mut text);
    assert_eq!(Kind::from_json(&text, &mut of_text), Ok(kind), "{text}");
    assert_eq!(of_text, again, "{text}");
    let _: Option<&Value<'_>> = Tpdu::new(kind).get(sms::Parameter::UserData);
}

fn message(octets: &[u8]) {
    let read = match Message::read(octets) {
        Ok(read) => read,
        Err(violation) => {
            let _ = (Cause::of_violation(&violation), rp::reference_of(octets));
            return assert!(violation.at <= octets.len());
        }
    };
    let mut again = Vec::new();
    read.write(&mut again).expect("what was read is written");
    assert_eq!(Message::read(&again).as_ref(), Ok(&read), "and read the same");
    let (mut text, mut of_text) = (String::new(), Vec::new());
    read.to_json(&mut text);
    assert_eq!(rp::from_json(&text, &mut of_text), Ok(read.kind), "{text}");
    assert_eq!(of_text, again, "{text}");
    if let (Some(kind), Some(inner)) = (read.tpdu_kind(), read.user_data) {
        tpdu(kind, inner);
    }
}

fn json(text: &str) {
    let mut octets = Vec::new();
    match Kind::from_json(text, &mut octets) {
        Ok(kind) => tpdu(kind, &octets),
        Err(violation) => assert!(violation.at <= text.len()),
    }
    octets.clear();
    match rp::from_json(text, &mut octets) {
        Ok(_) => message(&octets),
        Err(violation) => assert!(violation.at <= text.len()),
    }
}

/// Runs one input: an octet that chooses a TPDU, or an RP message, and the octets of it; behind
/// `{`, its JSON.
pub fn run(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    if *choice == b'{' {
        if let Ok(text) = core::str::from_utf8(bytes) {
            json(text);
        }
        return;
    }
    let index = usize::from(*choice) % (Kind::ALL.len() + 1);
    match Kind::ALL.get(index) {
        Some(kind) => tpdu(*kind, rest),
        None => message(rest),
    }
}
