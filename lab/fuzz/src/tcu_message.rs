//! Any octets as a message of an application, or to one: what is read is written and read again,
//! the same, in both spellings.
//!
//! ```text
//! input = direction (1) │ message
//! ```

use tcu::{Cut, Request, Speech, Spelling, ToGateway, cut};

/// 0.4.0.0.1.0.20.3.
const SHORT_MESSAGES: &[u8] = &[4, 0, 0, 1, 0, 20, 3];

pub fn run(bytes: &[u8]) {
    let Some((direction, message)) = bytes.split_first() else { return };
    if let Cut::Message(length) = cut(message) {
        assert!(length > 0);
    }
    let known = |_: u64| Speech::of_context(SHORT_MESSAGES);
    let spelling = Spelling::of(message);
    if direction & 1 == 0 {
        let Ok(read) = spelling.read_request(message, &known) else { return };
        let speech = match &read {
            ToGateway::Request(Request::Begin { portion, .. } | Request::Uni { portion, .. }) => {
                Speech::of(portion.context.as_deref(), &portion.components)
            }
            _ => known(0),
        };
        let mut again = Vec::new();
        spelling.write_request(&read, speech, &mut again);
        let second = spelling.read_request(&again, &known).expect("what is written is read");
        let mut third = Vec::new();
        spelling.write_request(&second, speech, &mut third);
        assert_eq!(again, third);
    } else if let Ok(read) = spelling.read(message, &known) {
        let mut again = Vec::new();
        spelling.write(&read, Speech::Unknown, &mut again);
        assert_eq!(cut(&again), Cut::Message(again.len()));
    }
}
