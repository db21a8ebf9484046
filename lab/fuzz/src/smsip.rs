//! Any octets as SIP of short messages, and as its records: what is read is written so that it is
//! read again as the same.

use sip::Message;
use smsip::{Received, Register, Sending, Sent};
use wire::Malformed;

fn again<T: PartialEq + core::fmt::Debug>(
    it: &T,
    write: impl Fn(&T, &mut Vec<u8>),
    read: impl Fn(&[u8]) -> Result<T, Malformed>,
) {
    let mut octets = Vec::new();
    write(it, &mut octets);
    assert_eq!(read(&octets).as_ref(), Ok(it));
}

/// Looks at the octets as a request, and as each kind of record.
pub fn run(octets: &[u8]) {
    if let Ok(message) = Message::parse(octets) {
        if let Some(it) = smsip::register(&message) {
            again(&it, Register::write, Register::read);
        }
        if let Some(it) = smsip::received(&message, 7) {
            again(&it, Received::write, Received::read);
        }
    }
    if let Ok(it) = Register::read(octets) {
        again(&it, Register::write, Register::read);
    }
    if let Ok(it) = Received::read(octets) {
        again(&it, Received::write, Received::read);
    }
    if let Ok(it) = Sending::read(octets) {
        again(&it, Sending::write, Sending::read);
    }
    if let Ok(it) = Sent::read(octets) {
        again(&it, |it, out| it.write(out), Sent::read);
    }
}
