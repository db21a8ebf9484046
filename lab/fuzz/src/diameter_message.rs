//! Any octets as a Diameter message, as a stream of them and as JSON: nothing panics, and what is
//! shown is read back as the same octets but for the zeros between AVPs.

use diameter::Dictionary;
use diameter::codec::{Framing, MESSAGE_OCTETS_MAX, Message, frame};
use std::sync::LazyLock;

static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(Dictionary::default);

pub fn run(bytes: &[u8]) {
    if let Framing::Message(length) = frame(bytes) {
        assert!((20..=MESSAGE_OCTETS_MAX).contains(&length));
    }
    if let Ok(text) = core::str::from_utf8(bytes) {
        let _ = DICTIONARY.from_json(text);
    }
    let message = match Message::read(bytes) {
        Ok(message) => message,
        Err(violation) => return assert!(violation.malformed.at <= bytes.len()),
    };
    let checked = DICTIONARY.check(&message);
    if let Err(violation) = &checked {
        assert!(violation.malformed.at <= bytes.len());
        assert!(violation.failed.len() <= bytes.len() + 64);
    }
    let mut json = String::new();
    if DICTIONARY.to_json(&message, &mut json).is_err() {
        return;
    }
    let back = DICTIONARY.from_json(&json).expect("what is shown is read");
    let again = Message::read(&back).expect("what is written is read");
    let mut shown = String::new();
    DICTIONARY.to_json(&again, &mut shown).expect("and shown");
    assert_eq!(shown, json);
}
