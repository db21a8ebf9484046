//! Any octets as an SCCP message: nothing panics, and one that is written again is read as the
//! same.

use sccp::codec::{ConnectionMessage, Management, Message, Unit};

pub fn run(bytes: &[u8]) {
    let message = match Message::read(bytes) {
        Ok(message) => message,
        Err(violation) => return assert!(violation.at <= bytes.len()),
    };
    let unit = match Unit::of(&message) {
        Ok(Some(unit)) => unit,
        Ok(None) => return connection(&message, bytes),
        Err(violation) => return assert!(violation.at <= bytes.len()),
    };
    let _ = Management::read(unit.data);
    let mut again = Vec::new();
    if unit.write(&mut again).is_some() {
        let back = Message::read(&again).expect("what is written can be read");
        let back = Unit::of(&back).expect("its addresses too").expect("it is connectionless");
        assert_eq!((back.data, back.word), (unit.data, unit.word));
        assert_eq!((back.called, back.calling), (unit.called, unit.calling));
    }
}

fn connection(message: &Message<'_>, bytes: &[u8]) {
    let read = match ConnectionMessage::of(message) {
        Ok(read) => read.expect("it is one of a connection"),
        Err(violation) => return assert!(violation.at <= bytes.len()),
    };
    let mut again = Vec::new();
    if read.write(&mut again).is_some() {
        let back = Message::read(&again).expect("what is written can be read");
        assert_eq!(ConnectionMessage::of(&back), Ok(Some(read)));
    }
}
