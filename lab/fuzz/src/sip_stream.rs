//! Any octets as a stream: cutting it always ends, and every piece lies inside the limits.

use sip::{Framing, Message, frame};

pub fn run(bytes: &[u8]) {
    let mut at = 0;
    while at < bytes.len() {
        match frame(&bytes[at..]) {
            Framing::Skip(length) => {
                assert!(length > 0);
                at += length;
            }
            Framing::Message(length) => {
                assert!(length > 0 && length <= sip::MESSAGE_BYTES_MAX);
                let end = at + length;
                if end > bytes.len() {
                    return;
                }
                if let Ok(message) = Message::parse(&bytes[at..end]) {
                    assert!(message.raw().len() <= length);
                }
                at = end;
            }
            Framing::Partial | Framing::Broken(_) => return,
        }
    }
}
