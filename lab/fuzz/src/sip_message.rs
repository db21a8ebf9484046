//! Any octets as a message: no panic, and what is accepted is made of its lines.

use sip::Message;

pub fn run(bytes: &[u8]) {
    match Message::parse(bytes) {
        Ok(message) => {
            let lines: usize = message.lines().map(|line| line.raw.len()).sum();
            assert_eq!(message.start_line().len() + lines, message.head_end());
            assert_eq!(message.head_end() + 2 + message.body().len(), message.raw().len());
            for line in message.lines() {
                assert!(message.named(line.name).any(|value| value == line.value));
                message.values(line.header).for_each(drop);
            }
            let _ = message.check();
        }
        Err(violation) => {
            assert!(violation.at <= bytes.len());
            let _ = sip::refuse(bytes, &violation, b"t", &mut Vec::new());
        }
    }
}
